//! The PEs that a job has lost, in which the others go on.
//!
//! The launcher numbers losses: each number is a *view* of the job. All PEs learn of them in that
//! order.

use std::{
    collections::HashMap,
    sync::Arc,
    task::{Context, Poll},
};

use oxshmem_base::{
    sync::{AtomicU64, Mutex, Ordering, lock},
    wakes::StoredWaker,
};

/// A PE that its job has lost.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// Which.
    pub pe: usize,
    /// How many the job had lost by then, this one included.
    pub view: u64,
    /// How it ended.
    pub how: Arc<str>,
}

impl Loss {
    /// The loss of PE `pe`, by which the job had lost `view`.
    pub fn new(pe: usize, view: u64, how: &str) -> Self {
        Self { pe, view, how: how.into() }
    }
}

/// A replacement of a PE that was lost.
#[derive(Clone, Debug)]
pub struct Rejoined {
    /// Which.
    pub pe: usize,
    /// What it gave in each of the exchanges by which it has joined; nothing if this PE has joined
    /// after it.
    pub given: Arc<[Vec<u8>]>,
}

/// All of them that this PE knows of.
#[derive(Default)]
pub struct Losses {
    /// How many there were.
    view: AtomicU64,
    /// How many PEs are lost and have no replacement that this PE has let in: before the view shows
    /// it, since operations fail with them from then on.
    missing: AtomicU64,
    /// How many all PEs know of.
    settled: AtomicU64,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    losses: Vec<Loss>,
    /// Which PEs have had replacements, one after the other, and the last of each.
    rejoined: Vec<usize>,
    replacements: HashMap<usize, Rejoined>,
    missing: HashMap<usize, Loss>,
    /// By the numbers of their watches.
    waiting: Vec<(u64, StoredWaker)>,
    watches: u64,
    calls: Vec<Call>,
    first_calls: Vec<Arc<dyn Fn() + Send + Sync>>,
}

/// What is done about each loss.
type Call = Arc<dyn Fn(&Loss) + Send + Sync>;

impl Losses {
    /// How many PEs the job has lost.
    #[inline]
    pub fn view(&self) -> u64 {
        // Acquire: a thread that sees a loss sees what was done about it.
        self.view.load(Ordering::Acquire)
    }

    /// The loss of a PE, if it is lost.
    #[inline]
    pub fn of(&self, pe: usize) -> Option<Loss> {
        // Relaxed: the mutex orders the rest.
        if self.missing.load(Ordering::Relaxed) == 0 {
            return None;
        }
        lock(&self.known).missing.get(&pe).cloned()
    }

    /// Whether no PE is lost.
    pub fn is_whole(&self) -> bool {
        self.missing.load(Ordering::Acquire) == 0
    }

    /// The losses behind that view.
    pub fn since(&self, view: u64) -> Vec<Loss> {
        lock(&self.known).losses.get(view as usize..).unwrap_or_default().to_vec()
    }

    /// Has `call` run for each loss, on the thread that learns of it: for those that are known
    /// already now.
    pub fn when_lost(&self, call: impl Fn(&Loss) + Send + Sync + 'static) {
        let known = {
            let mut known = lock(&self.known);
            known.calls.push(Arc::new(call));
            (known.losses.clone(), known.calls.last().cloned())
        };
        if let (losses, Some(call)) = known {
            losses.iter().for_each(|loss| call(loss));
        }
    }

    /// Has `call` run when a PE is lost, before any thread can know of that. It may run without a
    /// loss.
    pub fn before_lost(&self, call: impl Fn() + Send + Sync + 'static) {
        lock(&self.known).first_calls.push(Arc::new(call));
    }

    /// A PE is lost. The launcher's number is that of the next loss, or of one that is known.
    pub fn add(&self, loss: Loss) {
        let first = lock(&self.known).first_calls.clone();
        first.iter().for_each(|call| call());
        let calls = {
            let mut known = lock(&self.known);
            if loss.view != known.losses.len() as u64 + 1 {
                return;
            }
            known.losses.push(loss.clone());
            known.missing.insert(loss.pe, loss.clone());
            self.missing.store(known.missing.len() as u64, Ordering::Release);
            known.calls.clone()
        };
        // Before it is announced: what it does ends what a thread would begin in vain.
        calls.iter().for_each(|call| call(&loss));
        self.advance(&self.view, loss.view);
    }

    /// A PE has a replacement.
    pub fn add_rejoined(&self, rejoined: Rejoined) {
        let waiting = {
            let mut known = lock(&self.known);
            known.rejoined.push(rejoined.pe);
            known.replacements.insert(rejoined.pe, rejoined);
            std::mem::take(&mut known.waiting)
        };
        waiting.into_iter().for_each(|(_, waker)| waker.wake());
    }

    /// The replacements of PEs that are lost, the last of each.
    pub fn replacements(&self) -> Vec<Rejoined> {
        let known = lock(&self.known);
        known.missing.keys().filter_map(|pe| known.replacements.get(pe).cloned()).collect()
    }

    /// The replacement of PE `pe`, which was lost up to that view, takes part from now on.
    pub fn let_in(&self, pe: usize, view: u64) {
        let mut known = lock(&self.known);
        if known.missing.get(&pe).is_some_and(|loss| loss.view <= view) {
            known.missing.remove(&pe);
        }
        self.missing.store(known.missing.len() as u64, Ordering::Release);
    }

    /// All PEs know of the losses up to this view.
    pub fn settle(&self, view: u64) {
        self.advance(&self.settled, view);
    }

    fn advance(&self, count: &AtomicU64, view: u64) {
        let waiting = {
            let mut known = lock(&self.known);
            // Release: see `view`.
            count.fetch_max(view, Ordering::Release);
            std::mem::take(&mut known.waiting)
        };
        waiting.into_iter().for_each(|(_, waker)| waker.wake());
    }
}

/// Waits for losses behind a view.
#[derive(Debug)]
pub struct LossWatch {
    losses: Arc<Losses>,
    view: u64,
    number: u64,
}

impl LossWatch {
    /// Losses up to `view` do not matter.
    pub fn new(losses: &Arc<Losses>, view: u64) -> Self {
        let number = {
            let mut known = lock(&losses.known);
            known.watches += 1;
            known.watches
        };
        Self { losses: Arc::clone(losses), view, number }
    }

    /// The next loss, which it waits for.
    pub fn poll_next(&mut self, cx: &Context<'_>) -> Poll<Loss> {
        let next = self.poll(cx, |losses, known| {
            known.losses.get(self.view as usize).filter(|loss| loss.view <= losses.view()).cloned()
        });
        next.map(|loss| {
            self.view = loss.view;
            loss
        })
    }

    /// The replacement that is the next behind this many, which it waits for.
    pub fn poll_rejoined(&self, count: usize, cx: &Context<'_>) -> Poll<usize> {
        self.poll(cx, |_, known| known.rejoined.get(count).copied())
    }

    /// Ready when all PEs know of the losses up to `view`.
    pub fn poll_settled(&self, view: u64, cx: &Context<'_>) -> Poll<()> {
        // Acquire: what was done about the losses elsewhere is over.
        self.poll(cx, |losses, _| (losses.settled.load(Ordering::Acquire) >= view).then_some(()))
    }

    fn poll<T>(&self, cx: &Context<'_>, look: impl FnOnce(&Losses, &Known) -> Option<T>) -> Poll<T> {
        let waker = StoredWaker::of(cx.waker());
        let mut known = lock(&self.losses.known);
        if let Some(seen) = look(&self.losses, &known) {
            return Poll::Ready(seen);
        }
        match known.waiting.iter_mut().find(|(number, _)| *number == self.number) {
            Some((_, stored)) => *stored = waker,
            None => known.waiting.push((self.number, waker)),
        }
        Poll::Pending
    }
}

impl Drop for LossWatch {
    fn drop(&mut self) {
        lock(&self.losses.known).waiting.retain(|(number, _)| *number != self.number);
    }
}

impl std::fmt::Debug for Losses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} losses", self.view())
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::AtomicUsize,
        task::{Wake, Waker},
    };

    use super::*;

    #[test]
    fn a_watch_waits_for_its_own_and_leaves_no_waker() {
        let losses = Arc::<Losses>::default();
        let flag = Arc::new(Flag::default());
        let waker = Waker::from(Arc::clone(&flag));
        let cx = Context::from_waker(&waker);
        let (mut watch, settled) = (LossWatch::new(&losses, 0), LossWatch::new(&losses, 0));
        assert!(watch.poll_next(&cx).is_pending() && settled.poll_settled(1, &cx).is_pending());
        losses.add(Loss::new(3, 1, "killed"));
        assert_eq!(flag.0.load(Ordering::Relaxed), 2);
        assert!(matches!(watch.poll_next(&cx), Poll::Ready(loss) if loss.pe == 3));
        assert!(watch.poll_next(&cx).is_pending() && settled.poll_settled(1, &cx).is_pending());
        drop(watch);
        losses.settle(1);
        assert_eq!(flag.0.load(Ordering::Relaxed), 3);
        assert!(settled.poll_settled(1, &cx).is_ready() && settled.poll_settled(2, &cx).is_pending());
        drop(settled);
        drop(waker);
        assert_eq!(Arc::strong_count(&flag), 1);
    }

    #[derive(Default)]
    struct Flag(AtomicUsize);

    impl Wake for Flag {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn losses_are_known_once_and_in_their_order() {
        let losses = Losses::default();
        let seen = Arc::new(AtomicUsize::new(0));
        losses.add(Loss::new(3, 1, "killed"));
        let count = Arc::clone(&seen);
        losses.when_lost(move |_| _ = count.fetch_add(1, Ordering::Relaxed));
        losses.add(Loss::new(3, 1, "killed"));
        losses.add(Loss::new(5, 3, "too early"));
        losses.add(Loss::new(0, 2, "stopped"));
        assert_eq!((losses.view(), seen.load(Ordering::Relaxed)), (2, 2));
        assert_eq!(losses.of(0).map(|loss| loss.view), Some(2));
        assert_eq!((losses.of(5), losses.since(1).len()), (None, 1));
    }
}
