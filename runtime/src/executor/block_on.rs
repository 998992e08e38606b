//! Waiting without an async runtime: the calling thread polls the future, and drives while it waits.

use std::{
    cell::Cell,
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
        let polled = {
            let _will_drive = WillDrive::on_this_thread();
            future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
        };
        if let Poll::Ready(output) = polled {
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
            let polled = {
                let _will_drive = WillDrive::on_this_thread();
                future.as_mut().poll(&mut cx)
            };
            if let Poll::Ready(output) = polled {
                // What it registered and left behind is somebody else's to look after now.
                self.kick_if_needed();
                return output;
            }
            match self.try_role() {
                Some(_role) => self.drive_blocking(|| signal.is_set()),
                // Whoever has the role wakes us.
                None => {}
            }
            while !signal.is_set() {
                thread::park();
            }
        }
    }
}

thread_local! {
    /// Whether this thread is in a poll after which it drives by itself, so that what it registers meanwhile
    /// needs no helper.
    static WILL_DRIVE: Cell<bool> = const { Cell::new(false) };
}

/// Marks a poll in `block_on`.
struct WillDrive(bool);

impl WillDrive {
    fn on_this_thread() -> Self {
        Self(WILL_DRIVE.replace(true))
    }
}

impl Drop for WillDrive {
    fn drop(&mut self) {
        WILL_DRIVE.set(self.0);
    }
}

/// Whether this thread is about to drive.
pub(super) fn will_drive() -> bool {
    WILL_DRIVE.get()
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
