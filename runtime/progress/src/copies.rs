//! The copy engine: a helper thread that performs large nonblocking copies while the PE goes on.
//!
//! Off unless `SHMEM_OFFLOAD_THRESHOLD` says from which size on it is used. The thread starts with
//! the first job and ends with the PE, after its last job.

use std::{sync::mpsc, thread};

use oxshmem_base::{
    panics::survive,
    sync::{Mutex, lock},
};

/// One copy, with everything it needs to stay alive.
pub type Job = Box<dyn FnOnce() + Send>;

/// Runs jobs one after the other on a thread of its own.
#[derive(Debug)]
pub struct CopyEngine {
    threshold: usize,
    queue: Mutex<Option<mpsc::Sender<Job>>>,
}

impl CopyEngine {
    /// For copies of `threshold` bytes or more; for none without a threshold.
    pub fn new(threshold: Option<usize>) -> Self {
        Self { threshold: threshold.unwrap_or(usize::MAX), queue: Mutex::new(None) }
    }

    /// Whether a nonblocking copy of this many bytes is the engine's.
    #[inline(always)]
    pub fn takes(&self, bytes: usize) -> bool {
        bytes >= self.threshold
    }

    /// From how many bytes on.
    pub fn threshold(&self) -> usize {
        self.threshold
    }

    /// Runs `job` soon, after those submitted before it. It runs on this thread if the engine's
    /// cannot start.
    pub fn submit(&self, job: Job) {
        let mut queue = lock(&self.queue);
        let sender = queue.get_or_insert_with(|| {
            let (sender, jobs) = mpsc::channel::<Job>();
            // If the thread cannot start, `jobs` is dropped here, and sending tells.
            let _ = thread::Builder::new()
                .name("oxshmem-copy".into())
                .spawn(move || jobs.into_iter().for_each(survive));
            sender
        });
        if let Err(mpsc::SendError(job)) = sender.send(job) {
            drop(queue);
            job();
        }
    }
}
