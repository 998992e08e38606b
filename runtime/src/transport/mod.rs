//! Transports: how bytes and atomic operations reach another PE.
//!
//! [`Transport`] says what one must do, and `suite` is the test that all of them pass. Operations do not
//! go through trait objects: a context knows its transports by type, so that a put to a PE on the same
//! host compiles to a store.

mod shm;
#[cfg(test)]
pub mod suite;

pub use shm::Shm;

use crate::{memory::Segment, net::Width};

/// A place in symmetric memory: an offset on a PE. Whoever makes one has checked that it is in bounds.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The symmetric memory.
    pub segment: &'a Segment,
    /// The PE's number among those of its host, which is where its memory is.
    pub block: usize,
    /// Bytes from the segment's start.
    pub offset: usize,
}

impl Place<'_> {
    /// The address in this process. For PEs of this host.
    #[inline(always)]
    pub fn address(&self) -> *mut u8 {
        self.segment.address_unchecked(self.block, self.offset)
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

impl<W: AtomicWord> Atomic<W> {
    /// The same with its operands as 8 bytes.
    pub fn widened(self) -> Atomic<u64> {
        match self {
            Self::Fetch => Atomic::Fetch,
            Self::Set(value) => Atomic::Set(value.to_u64()),
            Self::Swap(value) => Atomic::Swap(value.to_u64()),
            Self::CompareSwap { cond, value } => {
                Atomic::CompareSwap { cond: cond.to_u64(), value: value.to_u64() }
            }
            Self::Add(value) => Atomic::Add(value.to_u64()),
            Self::And(value) => Atomic::And(value.to_u64()),
            Self::Or(value) => Atomic::Or(value.to_u64()),
            Self::Xor(value) => Atomic::Xor(value.to_u64()),
        }
    }
}

impl Atomic<u64> {
    /// The same with its operands as 4 bytes, their lower halves.
    pub fn narrowed(self) -> Atomic<u32> {
        match self {
            Self::Fetch => Atomic::Fetch,
            Self::Set(value) => Atomic::Set(value as u32),
            Self::Swap(value) => Atomic::Swap(value as u32),
            Self::CompareSwap { cond, value } => {
                Atomic::CompareSwap { cond: cond as u32, value: value as u32 }
            }
            Self::Add(value) => Atomic::Add(value as u32),
            Self::And(value) => Atomic::And(value as u32),
            Self::Or(value) => Atomic::Or(value as u32),
            Self::Xor(value) => Atomic::Xor(value as u32),
        }
    }
}

/// A word that atomic operations work on.
pub trait AtomicWord: Copy + Eq + Send + sealed::Sealed + 'static {
    /// Its size.
    const WIDTH: Width;

    /// Its bits.
    fn to_u64(self) -> u64;

    /// The word with these bits, as far as it has room.
    fn from_u64(bits: u64) -> Self;

    /// Performs `operation` on the word at `address`, atomically towards every PE.
    ///
    /// # Safety
    /// `address` must be aligned to the word and mapped.
    unsafe fn apply(address: *mut u8, operation: Atomic<Self>) -> Self;
}

pub(crate) mod sealed {
    pub trait Sealed {}
}

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
