//! What is asked of a heap, and what it gives.

use std::{fmt, ops::BitOr};

use super::LINE;

/// What a block of symmetric memory is for (`OpenSHMEM 1.6 §9.3.5`). A block with any hint has
/// pairs of cache lines to itself, so that neighbours do not slow down what PEs contend for.
///
/// ```
/// # use oxshmem_spaces::heap::*;
/// let hints = Hints::ATOMICS_REMOTE | Hints::SIGNAL_REMOTE;
/// assert_eq!(format!("{hints:?}"), "Hints(ATOMICS_REMOTE | SIGNAL_REMOTE)");
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Hints(u32);

impl Hints {
    /// No hint.
    pub const NONE: Self = Self(0);
    /// Mostly remote atomics: `SHMEM_MALLOC_ATOMICS_REMOTE`.
    pub const ATOMICS_REMOTE: Self = Self(1);
    /// Signals: `SHMEM_MALLOC_SIGNAL_REMOTE`.
    pub const SIGNAL_REMOTE: Self = Self(2);

    const KNOWN: [(Self, &'static str); 2] =
        [(Self::ATOMICS_REMOTE, "ATOMICS_REMOTE"), (Self::SIGNAL_REMOTE, "SIGNAL_REMOTE")];

    /// The hints in a C bit array. Bits that mean nothing here are dropped, as a hint may be.
    ///
    /// ```
    /// # use oxshmem_spaces::heap::*;
    /// assert_eq!(Hints::from_bits(1), Hints::ATOMICS_REMOTE);
    /// assert_eq!(Hints::from_bits(1 << 40), Hints::NONE);
    /// ```
    pub const fn from_bits(bits: i64) -> Self {
        Self((bits & 3) as u32)
    }

    /// The hints as a C bit array.
    ///
    /// ```
    /// # use oxshmem_spaces::heap::*;
    /// assert_eq!(Hints::SIGNAL_REMOTE.bits(), 2);
    /// ```
    pub const fn bits(self) -> i64 {
        self.0 as i64
    }

    /// Whether all of `other` are among these.
    ///
    /// ```
    /// # use oxshmem_spaces::heap::*;
    /// let both = Hints::ATOMICS_REMOTE | Hints::SIGNAL_REMOTE;
    /// assert!(both.contains(Hints::SIGNAL_REMOTE) && !Hints::SIGNAL_REMOTE.contains(both));
    /// ```
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether there is none.
    ///
    /// ```
    /// # use oxshmem_spaces::heap::*;
    /// assert!(Hints::NONE.is_empty() && !Hints::SIGNAL_REMOTE.is_empty());
    /// ```
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl BitOr for Hints {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Debug for Hints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Self::KNOWN.iter().filter(|(hint, _)| self.contains(*hint));
        let names: Vec<_> = names.map(|&(_, name)| name).collect();
        write!(f, "Hints({})", names.join(" | "))
    }
}

/// What an allocation asks for. Every PE asks for the same.
///
/// ```
/// # use oxshmem_spaces::heap::*;
/// let mut heap = Heap::new(1 << 20);
/// let flag = Layout { align: 4096, hints: Hints::SIGNAL_REMOTE, ..Layout::new(8) };
/// let block = heap.alloc(flag)?;
/// assert_eq!((block.offset % 4096, block.size), (0, 128)); // a pair of lines to itself
/// # Ok::<(), HeapError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Bytes, at least 1.
    pub bytes: usize,
    /// What the block's offset must be a multiple of: a power of two of at most
    /// [`MAX_ALIGN`](super::MAX_ALIGN). Less than a [`LINE`] counts as one.
    pub align: usize,
    /// What the block is for.
    pub hints: Hints,
}

impl Layout {
    /// `bytes`, aligned for any type and without hints.
    ///
    /// ```
    /// # use oxshmem_spaces::heap::*;
    /// assert_eq!(Layout::new(8), Layout { bytes: 8, align: LINE, hints: Hints::NONE });
    /// ```
    pub const fn new(bytes: usize) -> Self {
        Self { bytes, align: LINE, hints: Hints::NONE }
    }
}

/// A live allocation.
///
/// ```
/// # use oxshmem_spaces::heap::*;
/// let block = Heap::new(1 << 20).alloc(Layout::new(100))?;
/// assert_eq!((block.id, block.offset, block.bytes, block.size), (1, 0, 100, 128));
/// assert_eq!(block.fresh_from, block.offset); // all of it is zero
/// # Ok::<(), HeapError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its number: 1 for the first allocation of a heap, unless the caller set another, and one
    /// more for each that follows. A block keeps it when it is resized.
    pub id: u64,
    /// Where it starts, in bytes from the start of the heap's segment. A multiple of `align`.
    pub offset: usize,
    /// Bytes that were asked for.
    pub bytes: usize,
    /// Bytes that it takes: `bytes` rounded up to whole lines, or to pairs of lines where it has
    /// hints.
    pub size: usize,
    /// What its offset is kept a multiple of when it is resized.
    pub align: usize,
    /// What it is for.
    pub hints: Hints,
    /// The offset from which on its bytes belonged to no block before the call
    /// that made it this size. They are still what the mapping began as: zero. From `offset` to
    /// `end()`.
    pub fresh_from: usize,
}

impl Block {
    /// The offset behind its last byte.
    ///
    /// ```
    /// # use oxshmem_spaces::heap::*;
    /// let block = Heap::new(1 << 20).alloc(Layout::new(100))?;
    /// assert_eq!(block.end(), 128);
    /// # Ok::<(), HeapError>(())
    /// ```
    pub const fn end(&self) -> usize {
        self.offset + self.size
    }
}

/// How a block was resized.
///
/// ```
/// # use oxshmem_spaces::heap::*;
/// let mut heap = Heap::new(1 << 20);
/// let mut held = vec![7; 1 << 20]; // what the heap is about
/// let block = heap.alloc(Layout::new(100))?;
/// # heap.alloc(Layout::new(1))?;
/// if let Realloc::Moved { from, copy, block } = heap.realloc(block.offset, 1000)? {
///     held.copy_within(from..from + copy, block.offset);
///     assert_eq!((from, copy, block.bytes), (0, 100, 1000));
/// }
/// # Ok::<(), HeapError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Realloc {
    /// It is where it was, and what it held is there still.
    InPlace {
        /// The block as it is now.
        block: Block,
    },
    /// It is elsewhere, and the caller must copy what it held before the next call that changes the
    /// heap. The two places do not overlap.
    Moved {
        /// Offset to copy from: where the block was. That place is free already.
        from: usize,
        /// Bytes to copy, to the new block's offset.
        copy: usize,
        /// The block as it is now.
        block: Block,
    },
}

impl Realloc {
    /// The block as it is now.
    ///
    /// ```
    /// # use oxshmem_spaces::heap::*;
    /// let mut heap = Heap::new(1 << 20);
    /// let block = heap.alloc(Layout::new(100))?;
    /// assert_eq!(heap.realloc(block.offset, 10)?.block().bytes, 10);
    /// # Ok::<(), HeapError>(())
    /// ```
    pub const fn block(&self) -> &Block {
        match self {
            Self::InPlace { block } | Self::Moved { block, .. } => block,
        }
    }
}
