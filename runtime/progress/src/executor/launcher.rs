//! The way to the launcher, for a PE that waits.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use oxshmem_job::Bootstrap;

use crate::failure::Failure;

/// The way to the launcher, where that asks PEs to end.
pub(super) struct Launcher {
    pub(super) bootstrap: Arc<dyn Bootstrap>,
    pub(super) hung_up: AtomicBool,
}

impl Launcher {
    /// Whether it has said its last word. Relaxed: at worst a thread that sleeps looks once more.
    pub(super) fn has_hung_up(&self) -> bool {
        self.hung_up.load(Ordering::Relaxed)
    }

    /// It has: why, as far as this thread is the first to see it.
    pub(super) fn hang_up(&self) -> Option<Failure> {
        self.hung_up.store(true, Ordering::Relaxed);
        self.bootstrap.global_exit().map(|(pe, status)| Failure::GlobalExit { pe, status })
    }
}

impl std::fmt::Debug for Launcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Launcher")
    }
}
