//! Progress: what UCX has ended is completed, and what other PEs ask for is answered.

use std::{os::fd::AsFd, sync::atomic::Ordering, time::Duration};

use oxshmem_progress::{
    completion::{self, complete},
    source::Armed,
};
use ucx_sys::*;

use super::{Event, Worker};

/// How long operations are gathered at the most while their PE computes.
const GATHERING: Duration = Duration::from_micros(200);

impl Worker {
    /// Makes progress, unless another thread does.
    pub(super) fn progress(&self) -> bool {
        let Some(inner) = self.inner.try_lock() else { return false };
        if !inner.open {
            return false;
        }
        // SAFETY: the worker is open, and ours while we hold the lock.
        let progressed = unsafe { self.ucx.ucp_worker_progress(self.handle) } != 0;
        drop(inner);
        self.complete_events();
        if progressed {
            // Other PEs may have put something here.
            self.scan();
        }
        progressed
    }

    /// Announces that there is something to be sent to other PEs. Called after that was noted.
    pub(super) fn must_reply(&self) {
        // Release: the thread that replies sees what was noted.
        self.owes.store(true, Ordering::Release);
        self.has_events();
    }

    /// Whether there are events that a completion on another thread has left to the helper.
    pub(super) fn has_events_left(&self) -> bool {
        self.has_events.load(Ordering::Acquire)
    }

    /// Announces events. Called after they were noted.
    pub(super) fn has_events(&self) {
        // Release: the thread that takes the events sees what was noted.
        self.has_events.store(true, Ordering::Release);
    }

    /// Notes an event, to be seen to outside of UCX.
    pub(super) fn note(&self, event: Event) {
        self.ends().events.push_back(event);
        self.has_events();
    }

    /// Completes operations that have ended, and does what messages that came ask for. Called with
    /// no lock held.
    pub(super) fn complete_events(&self) {
        completion::complete_noted(&self.has_events, &self.helper_waker, |panics| {
            if self.owes.load(Ordering::Relaxed) && self.owes.swap(false, Ordering::AcqRel) {
                self.reply();
            }
            while let Some((event, is_last)) = self.next_event() {
                panics.run(|| self.complete_event(event));
                if is_last {
                    // What adds to them announces it.
                    break;
                }
            }
        });
    }

    fn complete_event(&self, event: Event) {
        match event {
            Event::Ended(operation, status) => {
                // Where nothing waits for it, a flush fails as well.
                let _ = self.end(*operation, status);
            }
            Event::Over(done) => complete(done, Ok(())),
            Event::Received(done, outcome) => complete(done, outcome),
            Event::Answered(done, before) => complete(done, Ok(before)),
            Event::Broken(pe, status) => self.lost(pe, status),
            Event::Later(later) => completion::run(later),
        }
    }

    /// The next event, and whether it is the last. No lock is held when it returns.
    fn next_event(&self) -> Option<(Event, bool)> {
        let mut ends = self.ends();
        let event = ends.events.pop_front()?;
        Some((event, ends.events.is_empty()))
    }

    /// How the helper thread sleeps.
    pub(super) fn arm(&self) -> Armed<'_> {
        if self.is_closed() {
            return Armed::IDLE;
        }
        if let Some(age) = self.gathering_for() {
            // More of it may come.
            match GATHERING.checked_sub(age) {
                Some(left) if !left.is_zero() => {
                    return Armed::Asleep { descriptor: None, limit: Some(left) };
                }
                _ => self.send_gathered(None),
            }
        }
        let limit = self.judge();
        if self.has_events_left() || !self.arm_descriptor() {
            return Armed::Ready;
        }
        Armed::Asleep { descriptor: Some(self.descriptor.as_fd()), limit }
    }

    /// Prepares the worker for its event descriptor to be slept on. False if there is something to
    /// do instead.
    fn arm_descriptor(&self) -> bool {
        let inner = self.inner();
        // SAFETY: as above.
        inner.open && unsafe { self.ucx.ucp_worker_arm(self.handle) } == UCS_OK
    }

    /// Something was gathered, which the helper thread sends if no other thread does. Called after
    /// the lock of what was gathered is given back.
    pub(super) fn gathering_began(&self) {
        self.helper_waker.notify();
    }

    /// Looks after the futures of this PE, whose memory others may have changed. A waker may run
    /// its task at once, which may start operations: so this is done as a completion is.
    fn scan(&self) {
        if let Some(executor) = self.executor.upgrade() {
            completion::run(move || executor.scan());
        }
    }
}
