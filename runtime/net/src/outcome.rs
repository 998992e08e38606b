//! For tests: a completion, and the wait for its outcome.

use std::{
    sync::{Arc, OnceLock},
    thread,
    time::{Duration, Instant},
};

use oxshmem_base::Result;

use super::Completion;

/// Where an outcome comes.
pub type Slot<T> = Arc<OnceLock<Result<T>>>;

/// A completion, and where its outcome comes.
pub fn outcome<T: Send + Sync + 'static>() -> (Slot<T>, Completion<T>) {
    let slot = Arc::new(OnceLock::new());
    let filled = Arc::clone(&slot);
    (slot, Box::new(move |result| assert!(filled.set(result).is_ok())))
}

/// Waits for the outcome.
pub fn wait<T>(slot: &OnceLock<Result<T>>) -> &Result<T> {
    let start = Instant::now();
    loop {
        if let Some(result) = slot.get() {
            return result;
        }
        assert!(start.elapsed() < Duration::from_secs(30), "it does not come");
        thread::yield_now();
    }
}
