//! For tests: a completion, the wait for its outcome, and operations that have none.

use std::{
    sync::{Arc, OnceLock},
    thread,
    time::{Duration, Instant},
};

use oxshmem_base::Result;
use oxshmem_memory::{
    op::{Op, Spot},
    word::{Atomic, Width},
};

use super::{Completion, Net, put_copied};

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

/// Puts a copy of `bytes`.
pub fn put(net: &dyn Net, to: Spot, bytes: &[u8]) -> Result<()> {
    // SAFETY: a slice is readable.
    unsafe { put_copied(net, &Op::put(to, bytes.as_ptr(), bytes.len())) }
}

/// Performs an atomic operation whose value before is not fetched.
pub fn update(net: &dyn Net, at: Spot, operation: Atomic<u64>, width: Width) -> Result<()> {
    // SAFETY: it has no source.
    unsafe { put_copied(net, &Op::atomic(at, operation, width)) }
}
