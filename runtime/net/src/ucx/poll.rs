//! Progress: what UCX has ended is completed, and what other PEs ask for is answered.

use std::sync::atomic::Ordering;

use oxshmem_base::panics::Panics;
use oxshmem_progress::completion::{self, complete};
use ucx_sys::*;

use super::{Event, Worker};

/// A thread that finds messages so often while the helper thread sleeps on the descriptor wakes it.
const BESIDE: u32 = 4;

impl Worker {
    /// Makes progress, unless another thread does.
    pub(super) fn poll(&self) -> bool {
        self.show_life();
        if self.is_gathering() {
            // The thread that polls waits, perhaps for the answer to this.
            self.send_gathered(None);
        }
        self.progress()
    }

    /// The same for the helper thread.
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
            if self.asleep.load(Ordering::Relaxed) {
                self.found_beside_helper();
            }
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
    /// no lock held. Inside of a completion it leaves that to the caller of that completion, which
    /// goes on when it has returned.
    pub(super) fn complete_events(&self) {
        // Relaxed: a look before the exchange, which nearly always can be left out.
        if !self.has_events.load(Ordering::Relaxed) {
            return;
        }
        let Some(serving) = completion::serve() else {
            // Or to the helper thread: that completion may be another worker's, or never return.
            return self.wake_helper();
        };
        let mut panics = Panics::default();
        while self.has_events.load(Ordering::Relaxed) && self.has_events.swap(false, Ordering::AcqRel) {
            if self.owes.load(Ordering::Relaxed) && self.owes.swap(false, Ordering::AcqRel) {
                self.reply();
            }
            while let Some((event, is_last)) = self.next_event() {
                // A completion that panics does so when the others have run.
                panics.run(|| self.complete_event(event));
                if is_last {
                    // What adds to them announces it.
                    break;
                }
            }
        }
        drop(serving);
        panics.resume();
    }

    fn complete_event(&self, event: Event) {
        match event {
            Event::Ended(operation, status) => {
                // Where nothing waits for it, a flush fails as well.
                let _ = self.end(*operation, status);
            }
            Event::Over(done) => complete(done, Ok(())),
            Event::Received(done, outcome) => complete(done, outcome),
            Event::Answered(done, value) => complete(done, Ok(value)),
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

    /// Prepares the worker for its event descriptor to be slept on. False if there is something to
    /// do instead.
    pub(super) fn arm(&self) -> bool {
        let inner = self.inner();
        // SAFETY: as above.
        inner.open && unsafe { self.ucx.ucp_worker_arm(self.handle) } == UCS_OK
    }

    /// Wakes the thread that sleeps on the event descriptor.
    pub(super) fn signal(&self) {
        let inner = self.inner();
        if inner.open {
            // SAFETY: as above. It fails only if the descriptor is readable already.
            unsafe { self.ucx.ucp_worker_signal(self.handle) };
        }
    }

    /// The helper thread goes to sleep, or is awake again.
    pub(super) fn set_asleep(&self, asleep: bool) {
        // Relaxed: an estimate, for which a lost count is no harm.
        self.found_beside.store(0, Ordering::Relaxed);
        // SeqCst, and an exchange: see `wake_helper`. What the thread there before us has left is
        // seen after this.
        self.asleep.swap(asleep, Ordering::SeqCst);
    }

    /// Has the helper thread, which sleeps, look for what there is to do.
    fn wake_helper(&self) {
        // SeqCst: either we see that the helper sleeps, or it sees what we have left for it before
        // it does.
        if self.asleep.swap(false, Ordering::SeqCst) {
            self.signal();
        }
    }

    /// Another thread has found messages while the helper thread sleeps on the descriptor.
    ///
    /// The kernel wakes that for each of them, finds that there is nothing left for it to see, and
    /// lets it sleep on: two changes of thread on the processor of the one that waits for the
    /// message. Where more follow, it is to leave the descriptor, and to look now and then.
    fn found_beside_helper(&self) {
        let found = self.found_beside.load(Ordering::Relaxed) + 1;
        self.found_beside.store(found, Ordering::Relaxed);
        if found == BESIDE {
            self.wake_helper();
        }
    }

    /// Something was gathered, which the helper thread sends if no other thread does. Called after
    /// the lock of what was gathered is given back.
    pub(super) fn gathering_began(&self) {
        self.wake_helper();
    }

    /// Looks after the futures of this PE, whose memory others may have changed. A waker may run
    /// its task at once, which may start operations: so this is done as a completion is.
    fn scan(&self) {
        if let Some(executor) = self.executor.upgrade() {
            completion::run(move || executor.scan());
        }
    }

    /// Whether the threads of this PE have just gone to sleep until something comes.
    pub(super) fn rests(&self) -> bool {
        self.rests.swap(false, Ordering::Acquire) && self.is_idle()
    }

    /// Whether the threads of this PE sleep until something comes.
    pub(super) fn is_idle(&self) -> bool {
        self.executor.upgrade().is_some_and(|executor| executor.is_asleep())
    }

    /// Whether one of the PE's threads waits, awake.
    pub(super) fn is_driven(&self) -> bool {
        self.executor.upgrade().is_some_and(|executor| executor.is_driven())
    }
}
