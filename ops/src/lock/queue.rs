//! The queue of the PEs at one lock: how a PE enters it, tries to, and leaves it.
//!
//! The algorithm is that of Mellor-Crummey and Scott, on two words of 32 bits. `tail`, on the
//! lock's home PE, names the last PE of the queue. `node`, on every PE, has that PE's successor and
//! whether the lock is its own ([`MINE`]). A PE is named by its number plus one, so that 0 names
//! none and zeroed memory is a free lock.
//!
//! Nothing here knows of threads, wakers or cancellation. So the tests below run it in every
//! interleaving.

use oxshmem_base::Result;

/// In a PE's node: the lock is its own.
pub(super) const MINE: u32 = 1 << 31;

/// The words of one lock, as one PE reaches them.
pub(super) trait Words: Send + Sync {
    /// This PE's name.
    fn name(&self) -> u32;
    /// Names the last PE of the queue, and returns the one before.
    fn swap_tail(&self, name: u32) -> impl Future<Output = Result<u32>> + Send;
    /// Names the last PE of the queue if that is `cond`, and returns the one before.
    fn compare_swap_tail(&self, cond: u32, name: u32) -> impl Future<Output = Result<u32>> + Send;
    /// Sets bits in the node of the PE of this name.
    fn or_node(&self, bits: u32, name: u32) -> impl Future<Output = Result<()>> + Send;
    /// This PE's node.
    fn fetch_node(&self) -> impl Future<Output = Result<u32>> + Send;
    /// Makes it 0.
    fn clear_node(&self) -> impl Future<Output = Result<()>> + Send;
    /// Ready when the lock is this PE's own, which has come right behind the PE of this name.
    fn wait_turn(&self, before: u32) -> impl Future<Output = Result<()>> + Send;
    /// This PE's node, once it is another than `node`: that of a PE which has the lock, and
    /// learns which PE comes behind it.
    fn wait_next(&self, node: u32) -> impl Future<Output = Result<u32>> + Send;
}

/// Queues up, and returns when the lock is this PE's. The swap decides the order.
pub(super) async fn enter(words: &impl Words) -> Result<()> {
    let name = words.name();
    match words.swap_tail(name).await? {
        0 => words.or_node(MINE, name).await,
        before => {
            // With `or`, as the other half of that node may be set at the same time.
            words.or_node(name, before).await?;
            words.wait_turn(before).await
        }
    }
}

/// Takes the lock if no PE has it. Whether it did.
pub(super) async fn try_enter(words: &impl Words) -> Result<bool> {
    let name = words.name();
    let free = words.compare_swap_tail(0, name).await? == 0;
    if free {
        words.or_node(MINE, name).await?;
    }
    Ok(free)
}

/// Passes the lock on to the next PE, or leaves it free if there is none.
pub(super) async fn leave(words: &impl Words) -> Result<()> {
    let name = words.name();
    let mut node = words.fetch_node().await?;
    if node & !MINE == 0 {
        if words.compare_swap_tail(name, 0).await? == name {
            return words.clear_node().await;
        }
        // Another PE has come, and is about to name itself.
        node = words.wait_next(node).await?;
    }
    // The next PE first, for it waits. No other PE writes to our node any more: the predecessor and
    // the successor have both done their part, and another can only find us once we have come
    // again.
    words.or_node(MINE, node & !MINE).await?;
    words.clear_node().await
}

#[cfg(test)]
mod tests {
    use std::{
        future::poll_fn,
        sync::Mutex,
        task::{Context, Poll, Waker},
    };

    use super::{super::explore::explore, *};
    use crate::wait::Cmp;

    /// What a PE does next to the memory of the model.
    enum Access {
        Tail { cond: Option<u32>, name: u32 },
        Or { bits: u32, name: u32 },
        Fetch,
        Clear,
        Wait { cmp: Cmp, value: u32 },
    }

    #[derive(Default)]
    struct Memory {
        tail: u32,
        nodes: Vec<u32>,
        /// The order in which PEs queued up, and in which they got the lock.
        came: Vec<u32>,
        got: Vec<u32>,
        holder: u32,
    }

    /// One PE's way to it. Each access is one step: announced by a pending poll, done when the PE
    /// is polled next.
    struct Pe<'a> {
        name: u32,
        memory: &'a Mutex<Memory>,
        next: Mutex<Option<Access>>,
        seen: Mutex<Vec<u32>>,
    }

    impl<'a> Pe<'a> {
        fn new(name: u32, memory: &'a Mutex<Memory>) -> Self {
            Self { name, memory, next: Mutex::default(), seen: Mutex::default() }
        }

        async fn step(&self, access: Access) -> Result<u32> {
            let mut access = Some(access);
            poll_fn(|_| match access.take() {
                Some(access) => {
                    *self.next.lock().unwrap() = Some(access);
                    Poll::Pending
                }
                None => Poll::Ready(()),
            })
            .await;
            let access = self.next.lock().unwrap().take().expect("announced");
            let mut memory = self.memory.lock().unwrap();
            let me = self.name as usize;
            let value = match access {
                Access::Tail { cond, name } => {
                    let before = memory.tail;
                    if cond.is_none_or(|cond| cond == before) {
                        memory.tail = name;
                        if name != 0 {
                            memory.came.push(name);
                        }
                    }
                    before
                }
                Access::Or { bits, name } => {
                    let node = &mut memory.nodes[name as usize];
                    assert_eq!(*node & bits, 0, "bits are set once");
                    *node |= bits;
                    0
                }
                Access::Fetch | Access::Wait { .. } => memory.nodes[me],
                Access::Clear => std::mem::take(&mut memory.nodes[me]),
            };
            self.seen.lock().unwrap().push(value);
            Ok(value)
        }

        /// Whether its next step can be made.
        fn may_step(&self) -> bool {
            match *self.next.lock().unwrap() {
                Some(Access::Wait { cmp, value }) => {
                    cmp.holds(self.memory.lock().unwrap().nodes[self.name as usize], value)
                }
                _ => true,
            }
        }

        /// Enters and leaves this many times; a round that is tried may come to nothing.
        async fn live(&self, rounds: &[bool]) {
            for &tries in rounds {
                if tries {
                    if !try_enter(self).await.unwrap() {
                        continue;
                    }
                } else {
                    enter(self).await.unwrap();
                }
                {
                    let mut memory = self.memory.lock().unwrap();
                    assert_eq!(memory.holder, 0, "two PEs hold the lock");
                    memory.holder = self.name;
                    memory.got.push(self.name);
                }
                // Others take steps while it is held, at the first step of `leave`.
                self.step(Access::Fetch).await.unwrap();
                self.memory.lock().unwrap().holder = 0;
                leave(self).await.unwrap();
            }
        }
    }

    impl Words for Pe<'_> {
        fn name(&self) -> u32 {
            self.name
        }

        async fn swap_tail(&self, name: u32) -> Result<u32> {
            self.step(Access::Tail { cond: None, name }).await
        }

        async fn compare_swap_tail(&self, cond: u32, name: u32) -> Result<u32> {
            self.step(Access::Tail { cond: Some(cond), name }).await
        }

        async fn or_node(&self, bits: u32, name: u32) -> Result<()> {
            self.step(Access::Or { bits, name }).await.map(drop)
        }

        async fn fetch_node(&self) -> Result<u32> {
            self.step(Access::Fetch).await
        }

        async fn clear_node(&self) -> Result<()> {
            self.step(Access::Clear).await.map(drop)
        }

        async fn wait_turn(&self, _before: u32) -> Result<()> {
            self.step(Access::Wait { cmp: Cmp::Ge, value: MINE }).await.map(drop)
        }

        async fn wait_next(&self, node: u32) -> Result<u32> {
            self.step(Access::Wait { cmp: Cmp::Ne, value: node }).await
        }
    }

    /// All that decides how a run goes on: the memory, and what each PE has read.
    type Reached = (u32, Vec<u32>, Vec<u32>, Vec<Vec<u32>>);

    /// Runs the PEs along `choices`: of those that can go on, which does. Returns where that leads,
    /// and how many can go on from there.
    fn run(pes: &[&[bool]], choices: &[usize]) -> (Reached, usize) {
        let memory = Mutex::new(Memory { nodes: vec![0; pes.len() + 1], ..Memory::default() });
        let doers: Vec<_> = (1..=pes.len() as u32).map(|name| Pe::new(name, &memory)).collect();
        let lives = doers.iter().zip(pes).map(|(pe, rounds)| pe.live(rounds));
        let mut lives: Vec<_> = lives.map(|life| Some(Box::pin(life))).collect();
        let mut poll = |i: usize| {
            let life = lives[i].as_mut().expect("able to go on");
            if life.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
                lives[i] = None;
            }
            lives[i].is_some()
        };
        // The first poll of each only says what its first step is.
        let mut alive: Vec<_> = (0..pes.len()).filter(|&i| poll(i)).collect();
        let able =
            |alive: &[usize]| alive.iter().copied().filter(|&i| doers[i].may_step()).collect::<Vec<_>>();
        for &choice in choices {
            let chosen = able(&alive)[choice];
            if !poll(chosen) {
                alive.retain(|&i| i != chosen);
            }
        }
        let able = able(&alive).len();
        let memory = memory.lock().unwrap();
        assert!(memory.came.starts_with(&memory.got), "the lock went to PEs in another order than they came");
        assert!(able > 0 || alive.is_empty(), "no PE can go on after {choices:?}");
        if alive.is_empty() {
            assert_eq!(memory.came, memory.got);
            assert_eq!((memory.tail, memory.nodes.iter().sum::<u32>()), (0, 0), "a free lock is zero");
        }
        let seen = doers.iter().map(|pe| pe.seen.lock().unwrap().clone()).collect();
        ((memory.tail, memory.nodes.clone(), memory.got.clone(), seen), able)
    }

    const SET: bool = false;
    const TEST: bool = true;

    #[test]
    fn one_pe_at_a_time_in_the_order_of_their_coming_in_every_interleaving() {
        for pes in [
            &[&[SET, SET][..], &[SET, SET]][..],
            &[&[SET, TEST, SET], &[TEST, SET, TEST]],
            &[&[SET, SET], &[SET], &[SET]],
            &[&[SET, SET], &[TEST], &[SET]],
            &[&[SET], &[SET], &[SET], &[TEST]],
        ] {
            assert!(explore(|path| run(pes, path)) > 1000, "PEs meet at many points");
        }
    }
}
