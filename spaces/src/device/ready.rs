//! What a device shows that something is over by.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use oxshmem_base::{Error, Result};
use rustix::event::{EventfdFlags, eventfd};

/// A descriptor that is readable from when it is set to when it is cleared.
#[derive(Debug)]
pub(super) struct Ready(OwnedFd);

impl Ready {
    pub(super) fn new() -> Result<Self> {
        let descriptor = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        Ok(Self(descriptor.map_err(|e| Error::system("eventfd", e))?))
    }

    /// May be called from anywhere.
    pub(super) fn set(&self) {
        // It fails when the counter is full: then it is readable in any case.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    pub(super) fn clear(&self) {
        // The counter is not blocking.
        let _ = rustix::io::read(&self.0, &mut [0u8; 8]);
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
