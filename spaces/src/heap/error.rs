//! Why a heap refuses a call. Every PE that made the same calls gets the same refusal.

use std::{error::Error, fmt};

use super::{Block, MAX_ALIGN};

/// Why a heap refuses a call. The heap is as it was before.
///
/// ```
/// # use oxshmem_spaces::heap::*;
/// let error = Heap::new(1 << 20).free(64).unwrap_err();
/// assert_eq!(error, HeapError::NotAllocated { offset: 64, within: None });
/// assert!(error.to_string().starts_with("nothing is allocated at offset 64"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HeapError {
    /// No free block is large enough.
    Exhausted(Exhausted),
    /// Nothing was asked for. What that means (a null pointer, a free) is up to the caller.
    ZeroBytes,
    /// An alignment that is no power of two, or beyond [`MAX_ALIGN`].
    InvalidAlignment {
        /// The alignment asked for, in bytes.
        align: usize,
    },
    /// No block starts at an offset: its block was freed already, or there never was one.
    NotAllocated {
        /// The offset given.
        offset: usize,
        /// The live block that it points into, if any.
        within: Option<Block>,
    },
}

/// What was asked of a heap that has no room for it, and what it has.
///
/// ```
/// use oxshmem_spaces::heap::{Exhausted, Heap, HeapError, Layout};
///
/// let layout = Layout { bytes: 4097, align: 8, hints: oxshmem_spaces::Hints::NONE };
/// let error = Heap::new(4096).alloc(layout).unwrap_err();
/// assert!(matches!(error, HeapError::Exhausted(Exhausted { asked: 4097, free: 4096, size: 4096, .. })));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted {
    /// Bytes asked for.
    pub asked: usize,
    /// Alignment asked for, in bytes.
    pub align: usize,
    /// Bytes free in all.
    pub free: usize,
    /// Bytes in the largest free block.
    pub largest: usize,
    /// Bytes in the heap.
    pub size: usize,
}

impl fmt::Display for HeapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exhausted(Exhausted { asked, align, free, largest, size }) => write!(
                f,
                "no room for {asked} bytes aligned to {align}: {free} of {size} bytes are free, \
                 the largest free block has {largest}"
            ),
            Self::ZeroBytes => f.write_str("an allocation has at least 1 byte"),
            Self::InvalidAlignment { align } => {
                write!(f, "an alignment of {align} bytes is not a power of two of at most {MAX_ALIGN}")
            }
            Self::NotAllocated { offset, within: Some(block) } => write!(
                f,
                "offset {offset} is inside the allocation of {} bytes at offset {}, not at its start",
                block.bytes, block.offset
            ),
            Self::NotAllocated { offset, within: None } => {
                write!(f, "nothing is allocated at offset {offset}: it was freed already, or never allocated")
            }
        }
    }
}

impl Error for HeapError {}
