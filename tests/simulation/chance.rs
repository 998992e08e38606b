//! Chance decides what happens next: which PE is polled, and when one is lost. It is the same
//! chance for the same seed.

use std::{
    collections::{BTreeMap, hash_map::DefaultHasher},
    future::Future,
    hash::{Hash, Hasher},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use oxshmem::{Error, LocalCluster, Result, World};
use oxshmem_base::wakes::StoredWaker;

use crate::{
    common::Random,
    locks::LockState,
    plan::{LOCKS, Plan, When},
    play::{self, Stop},
};

/// By then every program has ended, in virtual time and in polls.
const LIMIT: (Duration, u64) = (Duration::from_secs(3600), 1_000_000);

/// What happens in a simulation.
pub(crate) struct Course {
    state: Mutex<State>,
}

struct State {
    random: Random,
    /// Whether a PE that could go on may have to wait.
    shuffled: bool,
    trace: DefaultHasher,
    /// How often each PE was polled since its program began.
    polls: Vec<Option<u64>>,
    /// Those that are lost, in that order.
    lost: Vec<usize>,
    /// How often each PE has begun, and whether the last of these is lost.
    comings: Vec<(usize, bool)>,
    locks: [LockState; LOCKS],
    /// Where the block is that was allocated in a view and a step.
    blocks: BTreeMap<(u64, usize), usize>,
    /// What should not be.
    wrong: Option<String>,
}

/// What became of a simulation.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Trace {
    /// Of all that was polled, and when.
    pub(crate) hash: u64,
    /// How often each PE was.
    pub(crate) polls: Vec<u64>,
    /// How many PEs were lost.
    pub(crate) lost: usize,
}

impl Course {
    pub(crate) fn new(plan: &Plan) -> Arc<Self> {
        let state = State {
            random: Random::new(plan.seed ^ 0xc0de),
            shuffled: plan.shuffled,
            trace: DefaultHasher::new(),
            polls: vec![None; plan.n()],
            lost: Vec::new(),
            comings: vec![(0, false); plan.n()],
            locks: Default::default(),
            blocks: BTreeMap::new(),
            wrong: None,
        };
        Arc::new(Self { state: Mutex::new(state) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A PE's program begins, and it may be lost from now on.
    pub(crate) fn begins(&self, pe: usize) {
        self.state().polls[pe] = Some(0);
    }

    /// The PE by whose loss there were that many.
    pub(crate) fn lost_in(&self, view: u64) -> Option<usize> {
        let before = usize::try_from(view).ok()?.checked_sub(1)?;
        self.state().lost.get(before).copied()
    }

    /// What is so of a lock.
    pub(crate) fn with_lock<T>(&self, which: usize, look: impl FnOnce(&mut LockState) -> T) -> T {
        look(&mut self.state().locks[which])
    }

    /// Where the block of that view and step is, if a PE has it there: the same on all.
    pub(crate) fn place_of_block(&self, of: (u64, usize), offset: usize) -> usize {
        *self.state().blocks.entry(of).or_insert(offset)
    }

    /// Something is as it should not be.
    pub(crate) fn is_wrong(&self, what: String) {
        self.state().wrong.get_or_insert(what);
    }

    /// What became of it.
    pub(crate) fn end(&self) -> std::result::Result<Trace, String> {
        let state = self.state();
        if let Some(wrong) = &state.wrong {
            return Err(wrong.clone());
        }
        let polls = state.polls.iter().map(|polls| polls.unwrap_or_default()).collect();
        Ok(Trace { hash: state.trace.finish(), polls, lost: state.lost.len() })
    }

    /// Whether a PE is lost, and its last replacement with it.
    pub(crate) fn is_gone(&self, pe: usize) -> bool {
        self.state().comings[pe].1
    }

    /// Whether each PE has had a replacement: none may be left that has allocated anything.
    pub(crate) fn are_all_new(&self) -> bool {
        self.state().comings.iter().all(|&(comings, _)| comings > 1)
    }

    pub(crate) fn was_lost(&self, pe: usize) -> bool {
        self.state().lost.contains(&pe)
    }

    /// Whether the PE is polled now. Otherwise others are before it.
    fn is_next(&self, pe: usize, now: Duration) -> bool {
        let mut state = self.state();
        if state.shuffled && state.random.below(3) == 0 {
            return false;
        }
        (pe, now).hash(&mut state.trace);
        if let Some(polls) = &mut state.polls[pe] {
            *polls += 1;
        }
        true
    }
}

type Part<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A PE's program, as chance lets it go on, and ends it.
pub(crate) struct Player {
    world: World,
    course: Arc<Course>,
    program: Option<Part<std::result::Result<(), Stop>>>,
    lost_after: Option<u64>,
    lost_at: Option<Part<()>>,
    limit: Part<()>,
}

impl Player {
    pub(crate) fn new(world: World, plan: &Arc<Plan>, course: &Arc<Course>) -> Self {
        let me = world.my_pe();
        let simulation = world.simulation().expect("it is in virtual time, on several hosts");
        let limit = Box::pin(async move { simulation.sleep(LIMIT.0).await });
        let (mut lost_after, mut lost_at) = (None, None::<Part<()>>);
        let coming = {
            let mut state = course.state();
            let (comings, is_gone) = &mut state.comings[me];
            (*comings, *is_gone) = (*comings + 1, false);
            let coming = *comings - 1;
            state.polls[me] = None;
            coming
        };
        let losses = plan.losses.iter().filter(|(pe, _)| *pe == me);
        let (skipped, most) = if plan.replaced { (coming, 1) } else { (0, 2) };
        let loss = losses.skip(skipped).take(most);
        for (_, when) in loss {
            match *when {
                When::Poll(polls) => lost_after = Some(polls),
                When::At(nanos) => {
                    let simulation = world.simulation().expect("as before");
                    let alarm = async move { simulation.sleep(Duration::from_nanos(nanos)).await };
                    lost_at = Some(Box::pin(alarm));
                }
            }
        }
        let program =
            Some(Box::pin(play::play(world.clone(), Arc::clone(plan), Arc::clone(course))) as Part<_>);
        Self { world, course: Arc::clone(course), program, lost_after, lost_at, limit }
    }

    fn has_begun(&self) -> Option<u64> {
        self.course.state().polls[self.world.my_pe()]
    }

    /// The PE is lost, with all that it has begun.
    fn lose(&mut self) -> Poll<Result<()>> {
        let me = self.world.my_pe();
        // Before any PE can know.
        {
            let mut state = self.course.state();
            state.lost.push(me);
            state.comings[me].1 = true;
            state.locks.iter_mut().for_each(|lock| lock.lose(me));
        }
        let view = || self.world.pe().losses().map(|losses| losses.view());
        let before = view();
        LocalCluster::lose(&self.world, "it is a simulation").expect("it goes on");
        if self.world.is_replacement() && view() == before {
            // The others had not let it in.
            self.course.state().lost.pop();
        }
        self.program = None;
        Poll::Ready(Ok(()))
    }
}

impl Future for Player {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let me = self.world.my_pe();
        let now = self.world.simulation().map(|simulation| simulation.now()).unwrap_or_default();
        if !self.course.is_next(me, now) {
            StoredWaker::of(cx.waker()).wake();
            return Poll::Pending;
        }
        if let Some(polls) = self.has_begun() {
            if self.lost_after.is_some_and(|after| polls > after) {
                return self.lose();
            }
            if self.lost_at.as_mut().is_some_and(|alarm| alarm.as_mut().poll(cx).is_ready()) {
                return self.lose();
            }
            if polls > LIMIT.1 {
                self.course.is_wrong(format!("PE {me} is polled for ever"));
            }
        }
        if self.limit.as_mut().poll(cx).is_ready() {
            self.course.is_wrong(format!("PE {me} does not end"));
        }
        if let Err(wrong) = self.course.end() {
            // The others have nothing to find any more.
            return Poll::Ready(Err(Error::Unsupported { what: wrong }));
        }
        let Some(program) = &mut self.program else { return Poll::Ready(Ok(())) };
        match program.as_mut().poll(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(())) => Poll::Ready(Ok(())),
            Poll::Ready(Err(stop)) => {
                let what = stop.to_string();
                self.course.is_wrong(format!("PE {me}: {what}"));
                Poll::Ready(Err(Error::Unsupported { what }))
            }
        }
    }
}
