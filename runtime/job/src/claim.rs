//! A process is one PE at a time.

use std::sync::atomic::{AtomicBool, Ordering};

use oxshmem_base::{Error, Result};

/// Whether some bootstrap has the launcher. Global, because what it guards is: the environment, and
/// with it the way to the launcher, belong to the process, not to a `World`.
static CLAIMED: AtomicBool = AtomicBool::new(false);

/// The right to use the process's way to its launcher.
#[derive(Debug)]
pub(super) struct Claim(());

impl Claim {
    /// Takes it for PE `pe`.
    ///
    /// # Errors
    /// [`Error::AlreadyInitialized`] while it is taken.
    pub(super) fn take(pe: usize) -> Result<Self> {
        // Acquire, and release below: the thread that takes it over sees all that was done with it
        // before.
        if CLAIMED.swap(true, Ordering::Acquire) {
            return Err(Error::AlreadyInitialized { pe });
        }
        Ok(Self(()))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        CLAIMED.store(false, Ordering::Release);
    }
}
