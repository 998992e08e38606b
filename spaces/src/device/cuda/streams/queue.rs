//! What is under way in one stream, in its order.

use std::{
    collections::VecDeque,
    ffi::c_void,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use oxshmem_base::sync::{Mutex, lock};
use oxshmem_progress::completion::Completion;

use super::super::{
    driver::{Event, Outcome, Stream},
    gpu::Gpu,
};
use crate::device::ready::Ready;

/// This many events of a queue are in its stream at a time. An event stands for everything that was
/// started since the one before it.
const EVENTS: usize = 2;

/// What is under way in a stream.
pub(super) struct Queue {
    /// Where it happens: a stream of ours or of the program.
    pub(super) stream: Stream,
    /// How many operations are under way, as a hint for threads that poll.
    pub(super) count: AtomicUsize,
    pub(super) state: Mutex<State>,
    call: Arc<Call>,
}

/// A call of the driver behind what was started.
struct Call {
    /// Whether it is to come.
    to_come: AtomicBool,
    ready: Arc<Ready>,
}

/// What the driver calls, with an [`Arc`] of a [`Call`].
///
/// # Safety
/// The reference must be the callee's.
unsafe extern "C" fn called(call: *mut c_void) {
    // SAFETY: passed on to the caller.
    let call = unsafe { Arc::from_raw(call.cast::<Call>().cast_const()) };
    // Release: a thread that asks for another call sees that this one is over.
    call.to_come.store(false, Ordering::Release);
    call.ready.set();
}

#[derive(Default)]
pub(super) struct State {
    /// What completes the operations, in their order.
    completions: VecDeque<Completion>,
    /// Events in the stream, and for how many operations each stands.
    events: VecDeque<(Event, usize)>,
    /// How many of the last operations have no event behind them yet.
    open: usize,
    /// What the worker has still to start.
    pub(super) to_come: usize,
}

impl State {
    /// An operation has been started.
    pub(super) fn push(&mut self, done: Completion) {
        self.completions.push_back(done);
        self.open += 1;
    }

    /// An operation has been started, with an event behind it.
    pub(super) fn push_with(&mut self, event: Event, done: Completion) {
        self.completions.push_back(done);
        self.events.push_back((event, 1));
    }
}

impl Queue {
    pub(super) fn new(stream: Stream, ready: &Arc<Ready>) -> Self {
        let call = Call { to_come: AtomicBool::new(false), ready: Arc::clone(ready) };
        Self { stream, count: AtomicUsize::new(0), state: Mutex::default(), call: Arc::new(call) }
    }

    /// Takes out the operations that are over, and how they ended, into `over`.
    pub(super) fn take_over(&self, gpu: &Gpu, over: &mut Vec<(Completion, Outcome<()>)>) {
        // Acquire: pairs with the count's growing, though the lock is what orders.
        if self.count.load(Ordering::Acquire) == 0 {
            return;
        }
        // A thread that has the lock starts something just now, and the next look sees what is
        // over.
        let Some(mut state) = self.state.try_lock() else { return };
        let state = &mut *state;
        let looked = self.stream.context().enter().and_then(|_entered| {
            while state.open > 0 && state.events.len() < EVENTS {
                let event = gpu.event()?;
                self.stream.record(&event)?;
                state.events.push_back((event, std::mem::take(&mut state.open)));
            }
            while let Some((event, _)) = state.events.front() {
                if !event.is_over()? {
                    break;
                }
                if let Some((event, count)) = state.events.pop_front() {
                    lock(&gpu.events).push(event);
                    over.extend(state.completions.drain(..count).map(|done| (done, Ok(()))));
                }
            }
            Ok(())
        });
        if let Err(failed) = looked {
            // Nothing in the stream will end well any more.
            state.events.clear();
            state.open = 0;
            over.extend(state.completions.drain(..).map(|done| (done, Err(failed))));
        }
    }

    /// Asks the driver to set what the helper sleeps on when what is under way is over. False if it
    /// refuses, or is not asked: what the program appends to its own stream next would wait for
    /// the call.
    pub(super) fn arm(&self) -> bool {
        // Acquire: pairs with the count's growing.
        if self.count.load(Ordering::Acquire) == 0 {
            return true;
        }
        if !self.stream.is_ours() {
            return false;
        }
        // Acquire: pairs with the store in `called`.
        if self.call.to_come.swap(true, Ordering::Acquire) {
            return true;
        }
        let data = Arc::into_raw(Arc::clone(&self.call));
        let asked = self.stream.context().enter().and_then(|_entered| {
            // SAFETY: the function takes the reference, and calls nothing of the driver's.
            unsafe { self.stream.call_back(called, data.cast_mut().cast()) }
        });
        if asked.is_err() {
            // SAFETY: the driver has not taken it.
            drop(unsafe { Arc::from_raw(data) });
            self.call.to_come.store(false, Ordering::Release);
        }
        asked.is_ok()
    }
}
