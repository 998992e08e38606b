//! Waiting for the threads of a PE that has left.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use oxshmem_progress::{executor::Executor, watchdog::Watchdog};

/// How long a thread may take that has nothing to do but to end.
const ENDING: Duration = Duration::from_secs(1);

/// Threads of a PE that has left the job, which end once its last handle is gone: see
/// [`Pe::helpers`](super::Pe::helpers).
#[derive(Debug)]
pub struct Helpers {
    pub(super) engine: Arc<Executor>,
    pub(super) watchdog: Option<Arc<Watchdog>>,
}

impl Helpers {
    /// Waits until they have ended, but not for long: a handle of the PE may be left after all.
    /// Called by a thread that is none of them.
    pub fn join(self) {
        let begin = Instant::now();
        let ended = || self.engine.has_no_helper() && self.watchdog.as_ref().is_none_or(|it| it.has_ended());
        while !ended() && begin.elapsed() < ENDING {
            std::thread::sleep(Duration::from_micros(50));
        }
    }
}
