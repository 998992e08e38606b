//! For tests: an end that an operation is given, and the wait for what it is told.

use std::{
    sync::{Arc, OnceLock},
    thread,
    time::{Duration, Instant},
};

use oxshmem_base::Result;

use super::Done;

/// Where an outcome comes.
pub(super) type Slot<T> = Arc<OnceLock<Result<T>>>;

/// A `done`, and what it was told.
pub(super) fn told<T: Send + Sync + 'static>() -> (Slot<T>, Done<T>) {
    let slot = Arc::new(OnceLock::new());
    let told = Arc::clone(&slot);
    (slot, Box::new(move |result| assert!(told.set(result).is_ok())))
}

pub(super) fn wait<T>(slot: &OnceLock<Result<T>>) -> &Result<T> {
    let start = Instant::now();
    loop {
        if let Some(result) = slot.get() {
            return result;
        }
        assert!(start.elapsed() < Duration::from_secs(30), "it does not come");
        thread::yield_now();
    }
}
