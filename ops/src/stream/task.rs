//! A future that runs by itself: whatever wakes it polls it.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
};

use oxshmem_base::{Error, Result, sync::Mutex};
use oxshmem_progress::{completion::Completion, run_flag::RunFlag};

/// What runs.
type Work = Pin<Box<dyn Future<Output = Result<()>> + Send>>;

/// A future on its way, and what completes with its outcome.
struct Task {
    rest: Mutex<Option<(Work, Completion)>>,
    polls: RunFlag,
}

/// Polls a future, now and whenever it is woken, on whichever thread wakes it. `done` completes
/// with its outcome.
pub(super) fn run(work: Work, done: Completion) {
    Arc::new(Task { rest: Mutex::new(Some((work, done))), polls: RunFlag::default() }).poll();
}

impl Task {
    fn poll(self: &Arc<Self>) {
        let mut over = None;
        self.polls.request(
            || self.rest.try_lock(),
            |mut rest| {
                if let Some((work, _)) = &mut *rest {
                    let waker = Waker::from(Arc::clone(self));
                    let mut cx = Context::from_waker(&waker);
                    let polled = catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(&mut cx)));
                    let polled = polled.unwrap_or(Poll::Ready(Err(Error::Panicked { call: "on_stream" })));
                    if let Poll::Ready(outcome) = polled {
                        over = rest.take().map(|(work, done)| (work, done, outcome));
                    }
                }
            },
        );
        if let Some((work, done, outcome)) = over {
            drop(work);
            done(outcome);
        } else if self.polls.is_left() {
            self.poll();
        }
    }
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.poll();
    }
}
