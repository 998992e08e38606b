//! What `try_lock` and each lock that was taken have in common, for loom alone: it has threads take
//! turns where they access the same thing, and the end of a lock is no access.

#[cfg(oxshmem_loom)]
use loom::sync::atomic::{AtomicBool, Ordering};

/// Has loom run `try_lock` while another thread has the lock. Nothing without loom.
#[derive(Debug, Default)]
pub(super) struct Taken(#[cfg(oxshmem_loom)] AtomicBool);

impl Taken {
    #[cfg(not(oxshmem_loom))]
    pub(super) const fn new() -> Self {
        Self()
    }

    #[cfg(oxshmem_loom)]
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// A thread is about to try the lock: a write, which what was read inside of it comes before or
    /// after.
    #[inline(always)]
    pub(super) fn tried(&self) {
        // Relaxed: an access for its own sake, which orders nothing. So is the other one.
        #[cfg(oxshmem_loom)]
        self.0.swap(true, Ordering::Relaxed);
    }

    /// A thread has just taken the lock: a read, so that threads which only lock have no more turns
    /// to take.
    #[inline(always)]
    pub(super) fn taken(&self) {
        #[cfg(oxshmem_loom)]
        self.0.load(Ordering::Relaxed);
    }
}
