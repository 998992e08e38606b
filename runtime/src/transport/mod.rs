//! Transports: how bytes and atomic operations reach another PE.
//!
//! [`Transport`] says what one must do, and `suite` is the test that all of them pass. Operations do not
//! go through trait objects: a context knows its transports by type, so that a put to a PE on the same
//! host compiles to a store.

mod shm;
#[cfg(test)]
pub mod suite;

pub use shm::Shm;

use crate::memory::word::{Atomic, AtomicWord, Place, Signal};

/// How bytes and atomic operations reach other PEs.
///
/// Put, signal and atomics on one PE may become visible in any order until a [`fence`](Self::fence). Each
/// of these calls wakes its target if it sleeps.
///
/// # Safety
/// An implementation must touch only the bytes it was given.
pub unsafe trait Transport: Send + Sync {
    /// The name that `shmem-info` and errors give it.
    fn name(&self) -> &'static str;

    /// Copies `len` bytes from `from` to `to`. On return `from` may be reused.
    ///
    /// # Safety
    /// `to` must be in bounds for `len` bytes, `from` readable for them.
    unsafe fn put(&self, to: Place<'_>, from: *const u8, len: usize);

    /// Copies `len` bytes from `from` to `to`. On return they have arrived.
    ///
    /// # Safety
    /// `from` must be in bounds for `len` bytes, `to` writable for them.
    unsafe fn get(&self, from: Place<'_>, to: *mut u8, len: usize);

    /// Performs an atomic operation and returns the word's value before it.
    ///
    /// # Safety
    /// `at` must be in bounds and aligned for a `W`.
    unsafe fn atomic<W: AtomicWord>(&self, at: Place<'_>, operation: Atomic<W>) -> W;

    /// [`put`](Self::put), then updates the signal word `signal` on the same PE, which becomes visible after
    /// the data.
    ///
    /// # Safety
    /// As for `put`; `signal` must be in bounds and aligned for a `u64`.
    unsafe fn put_signal(
        &self,
        to: Place<'_>,
        from: *const u8,
        len: usize,
        signal: Place<'_>,
        update: Signal,
    );

    /// What was put to a PE before becomes visible there before what is put to it after.
    fn fence(&self);

    /// What was put to any PE before is visible to all PEs on return.
    fn quiet(&self);
}
