//! Waiting without an async runtime: the calling thread polls the future, and drives while it waits.

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
};

use super::Executor;
use crate::fabric::Bell;

impl Executor {
    /// Runs `future` to its end on this thread.
    ///
    /// A future that is ready at once costs its poll and little more. Otherwise this thread does the driver's
    /// work, if no other thread is at it, and sleeps on the PE's doorbell.
    pub fn block_on<F: Future>(self: &Arc<Self>, future: F) -> F::Output {
        let mut future = pin!(future);
        // The role before each poll, so that a watch registered in it does not start a helper thread.
        let mut role = self.try_role();
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return output;
        }
        let signal = Arc::new(Signal {
            set: AtomicBool::new(false),
            thread: thread::current(),
            bell: Arc::clone(&self.bell),
        });
        let waker = Waker::from(Arc::clone(&signal));
        let mut cx = Context::from_waker(&waker);
        loop {
            signal.set.store(false, Ordering::SeqCst);
            role = role.or_else(|| self.try_role());
            if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
                return output;
            }
            if role.is_some() {
                self.drive_blocking(|| signal.is_set());
            }
            role = None;
            while !signal.is_set() {
                thread::park();
            }
        }
    }
}

/// Wakes a thread that may sleep in `park` or on the PE's doorbell.
struct Signal {
    set: AtomicBool,
    thread: Thread,
    bell: Arc<Bell>,
}

impl Signal {
    fn is_set(&self) -> bool {
        self.set.load(Ordering::SeqCst)
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // SeqCst: the thread looks at `set` after it has announced its sleep, and before it sleeps.
        self.set.store(true, Ordering::SeqCst);
        // Woken by its own scan the thread is awake already.
        if thread::current().id() != self.thread.id() {
            self.thread.unpark();
            self.bell.ring_process();
        }
    }
}
