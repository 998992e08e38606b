//! Descriptors as tokio knows them, where there is a tokio runtime that can watch them.

use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

use tokio::io::{Interest, unix::AsyncFd};

/// A descriptor that stays open, and stays the same one, for as long as this value lives.
#[derive(Debug)]
pub(crate) struct Open(OwnedFd);

impl AsRawFd for Open {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

impl AsFd for Open {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Has the current tokio runtime watch `fd` for something to read. `None` outside of a runtime, and in
/// one whose I/O is disabled, which tokio tells by nothing but a panic.
pub(crate) fn watch(fd: OwnedFd) -> Option<AsyncFd<Open>> {
    tokio::runtime::Handle::try_current().ok()?;
    // SAFETY: an `Open` owns its descriptor and never gives it away.
    let register = || unsafe { AsyncFd::register_with_interest(Open(fd), Interest::READABLE).ok() };
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(register)).ok().flatten()
}
