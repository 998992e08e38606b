//! Descriptors as tokio knows them, where there is a tokio runtime that can watch them.

use std::{
    os::fd::{AsFd, AsRawFd, OwnedFd, RawFd},
    sync::{Mutex, PoisonError},
};

use tokio::io::{Interest, unix::AsyncFd};

/// A descriptor that stays open, and stays the same one, for as long as this value lives.
#[derive(Debug)]
pub struct Open(OwnedFd);

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

/// Has the current tokio runtime watch `fd` for something to read. `None` outside of a runtime, and
/// in one whose I/O is disabled.
///
/// Tokio tells the latter by nothing but a panic, whose message appears on standard error. So that
/// it appears once, the runtime is remembered.
pub fn watch(fd: OwnedFd) -> Option<AsyncFd<Open>> {
    static WITHOUT_IO: Mutex<Option<tokio::runtime::Id>> = Mutex::new(None);
    let runtime = tokio::runtime::Handle::try_current().ok()?.id();
    let mut without_io = WITHOUT_IO.lock().unwrap_or_else(PoisonError::into_inner);
    if *without_io == Some(runtime) {
        return None;
    }
    // SAFETY: an `Open` owns its descriptor and never gives it away.
    let register = || unsafe { AsyncFd::register_with_interest(Open(fd), Interest::READABLE).ok() };
    let registered = std::panic::catch_unwind(std::panic::AssertUnwindSafe(register));
    if registered.is_err() {
        *without_io = Some(runtime);
    }
    registered.ok().flatten()
}
