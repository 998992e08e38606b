//! Has operations take their effect later, in the order of their times: by a thread, or, where time
//! is virtual, when the thread that runs the PEs says that none of them can go on.

use std::{cmp::Ordering, collections::BinaryHeap, future::poll_fn, sync::Arc};

use oxshmem_base::{
    panics::survive,
    sync::{Condvar, Mutex, lock},
};

use oxshmem_progress::flight::Flight;

use super::{
    clock::{Clock, Moment},
    port::Port,
};

/// What is on the way, and the thread that brings it, which starts with the first and ends when the
/// job is gone and nothing is on the way any more. In virtual time there is no thread, and a PE
/// [advances](Self::advance) it.
pub(super) struct Delivery {
    clock: Arc<Clock>,
    /// Locked by the thread that advances a virtual clock: steps take their effect one after the
    /// other.
    advancing: Mutex<()>,
    state: Mutex<Schedule>,
    changed: Condvar,
}

/// What happens on arrival.
pub(super) enum Step {
    /// It happens even if the origin has left.
    Eager(Box<dyn FnOnce() + Send>),
    /// It only happens, `true`, if the origin is still there; otherwise `false` has it fail.
    Awaited(Box<dyn FnOnce(bool) + Send>),
}

#[derive(Default)]
struct Schedule {
    steps: BinaryHeap<ScheduledStep>,
    number: u64,
    /// The last moment at which anything was to happen so far.
    horizon: Moment,
    running: bool,
    ended: bool,
}

/// One step on its way. The earliest is the greatest, and of equal ones that which was sent first.
struct ScheduledStep {
    due: Moment,
    number: u64,
    /// None if no PE is to be there.
    origin: Option<Arc<Port>>,
    step: Step,
}

impl Delivery {
    pub(super) fn new(clock: &Arc<Clock>) -> Self {
        let clock = Arc::clone(clock);
        Self { clock, advancing: Mutex::default(), state: Mutex::default(), changed: Condvar::new() }
    }

    pub(super) fn clock(&self) -> &Arc<Clock> {
        &self.clock
    }

    /// Has `step`, on an operation that `origin` started, happen at `due`, after those that were
    /// due before or are due at that moment already.
    pub(super) fn at(self: &Arc<Self>, due: Moment, origin: &Arc<Port>, step: Step) {
        self.schedule(due, Some(origin), step);
    }

    /// Ready when it is `until`, as `origin` waits for, or something that is no PE.
    pub(super) async fn wait(self: &Arc<Self>, until: Moment, origin: Option<&Arc<Port>>) {
        let flight = Arc::new(Flight::default());
        let landing = Arc::clone(&flight);
        self.schedule(until, origin, Step::Eager(Box::new(move || landing.land(()))));
        poll_fn(|cx| flight.poll(cx)).await;
    }

    fn schedule(self: &Arc<Self>, due: Moment, origin: Option<&Arc<Port>>, step: Step) {
        let mut state = lock(&self.state);
        let number = state.number;
        state.number += 1;
        state.horizon = state.horizon.max(due);
        state.steps.push(ScheduledStep { due, number, origin: origin.cloned(), step });
        if !self.clock.is_virtual() && !std::mem::replace(&mut state.running, true) {
            let this = Arc::clone(self);
            let run = move || this.run();
            if let Err(e) = std::thread::Builder::new().name("oxshmem-model".into()).spawn(run) {
                panic!("oxshmem cannot start the thread of its model of a network: {e}");
            }
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Has `step` happen when it is `due`, or now, and even if `origin` has left by then.
    pub(super) fn eager(
        self: &Arc<Self>,
        due: Option<Moment>,
        origin: &Arc<Port>,
        step: impl FnOnce() + Send + 'static,
    ) {
        match due {
            None => step(),
            Some(due) => self.at(due, origin, Step::Eager(Box::new(step))),
        }
    }

    /// Fails what a PE awaits.
    pub(super) fn withdraw(&self, port: &Arc<Port>) {
        let mut withdrawn = Vec::new();
        {
            let mut state = lock(&self.state);
            let steps = std::mem::take(&mut state.steps).into_vec();
            let is_its = |a: &ScheduledStep| {
                a.origin.as_ref().is_some_and(|origin| Arc::ptr_eq(origin, port))
                    && matches!(a.step, Step::Awaited(_))
            };
            let (its, others): (Vec<_>, Vec<_>) = steps.into_iter().partition(is_its);
            state.steps = others.into();
            withdrawn.extend(its);
        }
        withdrawn.sort_unstable_by(|a, b| b.cmp(a));
        withdrawn.into_iter().for_each(ScheduledStep::take_effect);
    }

    /// The job is gone: what is on the way still arrives.
    pub(super) fn end(&self) {
        lock(&self.state).ended = true;
        self.changed.notify_one();
        while self.advance() {}
    }

    /// Sets a virtual clock to when something happens next, and has happen what does at that
    /// moment. False if nothing is on the way, time is real, or another thread does so already.
    pub(super) fn advance(&self) -> bool {
        if !self.clock.is_virtual() {
            return false;
        }
        let Some(_advancing) = self.advancing.try_lock() else { return false };
        let mut moment = None;
        loop {
            let mut state = lock(&self.state);
            let Some(next) = state.steps.peek().map(|next| next.due.max(self.clock.now())) else {
                return moment.is_some();
            };
            if moment.is_some_and(|moment| next > moment) {
                return true;
            }
            self.clock.set(next);
            moment = Some(next);
            let step = state.steps.pop();
            drop(state);
            step.into_iter().for_each(ScheduledStep::take_effect);
        }
    }

    /// The last moment at which anything is to happen, as far as is known.
    pub(super) fn horizon(&self) -> Moment {
        lock(&self.state).horizon.max(self.clock.now())
    }

    fn run(&self) {
        let mut state = lock(&self.state);
        loop {
            let now = self.clock.now();
            let Some(due) = state.steps.peek().map(|next| next.due) else {
                if state.ended {
                    return;
                }
                state = self.changed.wait(state);
                continue;
            };
            if due > now {
                state = self.changed.wait_timeout(state, due - now).0;
                continue;
            }
            let step = state.steps.pop();
            drop(state);
            step.into_iter().for_each(|next| survive(|| next.take_effect()));
            state = lock(&self.state);
        }
    }
}

impl ScheduledStep {
    fn take_effect(self) {
        match self.step {
            Step::Eager(step) => step(),
            Step::Awaited(step) => step(!self.origin.is_some_and(|origin| origin.is_closed())),
        }
    }
}

impl Ord for ScheduledStep {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.due, other.number).cmp(&(self.due, self.number))
    }
}

impl PartialOrd for ScheduledStep {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for ScheduledStep {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for ScheduledStep {}
