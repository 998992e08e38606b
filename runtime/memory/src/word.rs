//! What is done to a word of symmetric memory, and where: the vocabulary that all ways to memory
//! share.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::Segment;

/// A place in symmetric memory: an offset on a PE. The maker has checked that it is in bounds.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The symmetric memory.
    pub segment: &'a Segment,
    /// The PE's number among those of its host, which is where its memory is.
    pub local_pe: usize,
    /// Bytes from the segment's start.
    pub offset: usize,
}

impl Place<'_> {
    /// The address in this process. For PEs of this host.
    #[inline(always)]
    pub fn address(&self) -> *mut u8 {
        self.segment.address_unchecked(self.local_pe, self.offset)
    }
}

/// A word's size in atomic operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 4 bytes. Operands and results are in the lower half of a `u64`.
    Four = 4,
    /// 8 bytes.
    Eight = 8,
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
    /// This operation with its operands as 8 bytes.
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

impl From<Signal> for Atomic<u64> {
    #[inline(always)]
    fn from(update: Signal) -> Self {
        match update {
            Signal::Set(value) => Self::Set(value),
            Signal::Add(value) => Self::Add(value),
        }
    }
}

impl Atomic<u64> {
    /// Its number, its operand and its condition: how it travels, and how kernels ask for it.
    pub fn encode(self) -> [u64; 3] {
        match self {
            Self::Fetch => [0, 0, 0],
            Self::Set(value) => [1, value, 0],
            Self::Swap(value) => [2, value, 0],
            Self::CompareSwap { cond, value } => [3, value, cond],
            Self::Add(value) => [4, value, 0],
            Self::And(value) => [5, value, 0],
            Self::Or(value) => [6, value, 0],
            Self::Xor(value) => [7, value, 0],
        }
    }

    /// What [`encode`](Self::encode) has made these of, if there is such an operation.
    pub fn decode([number, value, cond]: [u64; 3]) -> Option<Self> {
        Some(match number {
            0 => Self::Fetch,
            1 => Self::Set(value),
            2 => Self::Swap(value),
            3 => Self::CompareSwap { cond, value },
            4 => Self::Add(value),
            5 => Self::And(value),
            6 => Self::Or(value),
            7 => Self::Xor(value),
            _ => return None,
        })
    }

    /// The operation with its operands as 4 bytes, their lower halves.
    fn narrowed(self) -> Atomic<u32> {
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

    /// Performs it on the word of this width at `address`, and returns the value before.
    ///
    /// # Safety
    /// `address` must be aligned to the word and mapped.
    pub unsafe fn apply(self, address: *mut u8, width: Width) -> u64 {
        // SAFETY: passed on to the caller.
        unsafe {
            match width {
                Width::Four => u32::apply(address, self.narrowed()).into(),
                Width::Eight => u64::apply(address, self),
            }
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

mod sealed {
    pub trait Sealed {}
}

macro_rules! atomic_word {
    ($word:ty, $atomic:ty, $width:ident) => {
        impl sealed::Sealed for $word {}

        // What applies an operation believes the width and the alignment.
        const _: () = {
            let size = Width::$width as usize;
            assert!(size_of::<$word>() == size && size_of::<$atomic>() == size);
            assert!(align_of::<$word>() == size && align_of::<$atomic>() == size);
        };

        impl AtomicWord for $word {
            const WIDTH: Width = Width::$width;

            #[inline(always)]
            fn to_u64(self) -> u64 {
                self.into()
            }

            #[inline(always)]
            fn from_u64(bits: u64) -> Self {
                bits as Self
            }

            #[inline(always)]
            unsafe fn apply(address: *mut u8, operation: Atomic<Self>) -> Self {
                // SAFETY: aligned and mapped by the caller's word; PEs only ever access it
                // atomically or by copies that tolerate races.
                let word = unsafe { <$atomic>::from_ptr(address.cast()) };
                // AcqRel: an atomic operation that sees another's result sees what came before that
                // one.
                match operation {
                    Atomic::Fetch => word.load(Ordering::Acquire),
                    Atomic::Set(value) => {
                        word.store(value, Ordering::Release);
                        value
                    }
                    Atomic::Swap(value) => word.swap(value, Ordering::AcqRel),
                    Atomic::CompareSwap { cond, value } => word
                        .compare_exchange(cond, value, Ordering::AcqRel, Ordering::Acquire)
                        .unwrap_or_else(|before| before),
                    Atomic::Add(value) => word.fetch_add(value, Ordering::AcqRel),
                    Atomic::And(value) => word.fetch_and(value, Ordering::AcqRel),
                    Atomic::Or(value) => word.fetch_or(value, Ordering::AcqRel),
                    Atomic::Xor(value) => word.fetch_xor(value, Ordering::AcqRel),
                }
            }
        }
    };
}

atomic_word!(u32, AtomicU32, Four);
atomic_word!(u64, AtomicU64, Eight);
