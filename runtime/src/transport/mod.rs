//! Transports: how bytes and atomic operations reach another PE.
//!
//! [`Transport`] says what one must do, and [`suite`] is the test that all of them pass. Operations do not
//! go through trait objects: a context knows its transports by type, so that a put to a PE on the same
//! host compiles to a store.

mod shm;
#[doc(hidden)]
pub mod suite;

pub use shm::Shm;

use crate::memory::Segment;

/// A place in symmetric memory: an offset on a PE. Whoever makes one has checked that it is in bounds.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The symmetric memory.
    pub segment: &'a Segment,
    /// The PE.
    pub pe: usize,
    /// Bytes from the segment's start.
    pub offset: usize,
}

impl Place<'_> {
    /// The address in this process. For PEs of this host.
    #[inline(always)]
    pub fn address(&self) -> *mut u8 {
        self.segment.address_unchecked(self.pe, self.offset)
    }
}

/// What a signal does to its word (`OpenSHMEM 1.6 §9.8`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// The word becomes this value: `SHMEM_SIGNAL_SET`.
    Set(u64),
    /// This is added to the word, wrapping: `SHMEM_SIGNAL_ADD`.
    Add(u64),
}

/// An atomic operation on a word of 4 or 8 bytes. All of them return the word's value before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atomic<W> {
    /// Reads.
    Fetch,
    /// Stores. What it returns is unspecified.
    Set(W),
    /// Stores, and returns what was there.
    Swap(W),
    /// Stores `value` if the word is `cond`.
    CompareSwap {
        /// What the word must be.
        cond: W,
        /// What it becomes.
        value: W,
    },
    /// Adds, wrapping.
    Add(W),
    /// Bitwise and.
    And(W),
    /// Bitwise or.
    Or(W),
    /// Bitwise exclusive or.
    Xor(W),
}

/// A word that atomic operations work on.
pub trait AtomicWord: Copy + Eq + Send + 'static {
    /// Performs `operation` on the word at `address`, atomically towards every PE.
    ///
    /// # Safety
    /// `address` must be aligned to the word and mapped.
    unsafe fn apply(address: *mut u8, operation: Atomic<Self>) -> Self;
}

/// How bytes and atomic operations reach other PEs.
///
/// Put, signal and atomics on one PE may become visible in any order until a [`fence`](Self::fence). Each
/// of these calls wakes its target if it sleeps.
///
/// # Safety
/// An implementation must touch only the bytes it was given.
pub unsafe trait Transport: Send + Sync {
    /// The name that `SHMEM_TRANSPORT` and `shmem-info` know it by.
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
