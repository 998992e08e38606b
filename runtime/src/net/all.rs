//! Several operations that are one.

use std::{fmt, sync::Arc};

use oxshmem_base::{
    Error, Result,
    sync::{Mutex, lock},
};

use super::{Done, completions::complete};

/// Tells when all of its parts are over, which is when nobody holds it any more, and an error if one of them had one.
pub struct All {
    done: Mutex<Option<Done>>,
    failed: Mutex<Option<Error>>,
}

impl All {
    /// Tells `done` when the last reference is dropped.
    pub fn new(done: Done) -> Arc<Self> {
        Arc::new(Self { done: Mutex::new(Some(done)), failed: Mutex::default() })
    }

    /// One of them.
    pub fn part(self: &Arc<Self>) -> Done {
        let all = Arc::clone(self);
        Box::new(move |outcome| all.note(outcome))
    }

    /// The outcome of one of them.
    pub fn note(&self, outcome: Result<()>) {
        if let Err(error) = outcome {
            *lock(&self.failed) = Some(error);
        }
    }
}

impl fmt::Debug for All {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("All").field("failed", &self.failed).finish_non_exhaustive()
    }
}

impl Drop for All {
    fn drop(&mut self) {
        let (done, failed) = (lock(&self.done).take(), lock(&self.failed).take());
        if let Some(done) = done {
            complete(done, failed.map_or(Ok(()), Err));
        }
    }
}
