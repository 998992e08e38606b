//! The heap: what is live, what is free, and the rules by which one becomes the other.

use std::collections::BTreeMap;

use super::{
    Block, Exhausted, HeapError, LINE, Layout, MAX_ALIGN, Realloc,
    free_set::{Fit, FreeSet},
};

/// Two lines that adjacent-line prefetchers fetch together.
const LINE_PAIR: usize = 2 * LINE;

impl Layout {
    /// The bytes to reserve and their alignment. The former is `None` where it exceeds `usize`.
    pub(super) fn reservation(&self) -> Result<(Option<usize>, usize), HeapError> {
        if self.bytes == 0 {
            return Err(HeapError::ZeroBytes);
        }
        if !self.align.is_power_of_two() || self.align > MAX_ALIGN {
            return Err(HeapError::InvalidAlignment { align: self.align });
        }
        let grain = if self.hints.is_empty() { LINE } else { LINE_PAIR };
        Ok((self.bytes.checked_next_multiple_of(grain), self.align.max(grain)))
    }
}

/// Hands out offsets in a segment of symmetric memory.
///
/// An allocation goes to the smallest free block that has room for it, the one with the lowest
/// offset of several, and to the lowest offset in it that its alignment allows. What it leaves on
/// either side stays free, and free neighbours are always joined. All calls take O(log n) steps in
/// the number of blocks, but for alignments above a line where the heap is nearly exhausted.
///
/// The caller makes the calls collective and copies what a resized block held.
///
/// ```
/// use oxshmem_spaces::heap::{Heap, Layout};
///
/// let mut heap = Heap::new(1 << 20);
/// let first = heap.alloc(Layout::new(100))?;
/// let second = heap.alloc(Layout { align: 4096, ..Layout::new(1) })?;
/// assert_eq!((first.offset, first.size, second.offset), (0, 128, 4096));
/// heap.free(first.offset)?;
/// assert_eq!(heap.usage().used, 64);
/// # Ok::<(), oxshmem_spaces::heap::HeapError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Heap {
    /// Where it begins: offsets are from the start of its segment.
    pub(super) start: usize,
    pub(super) size: usize,
    pub(super) free: FreeSet,
    pub(super) live: BTreeMap<usize, Block>,
    pub(super) offset_of: BTreeMap<u64, usize>,
    pub(super) first_id: u64,
    pub(super) next_id: u64,
    pub(super) peak_used: usize,
    pub(super) high_water: usize,
    pub(super) frees: u64,
    pub(super) reallocations: u64,
}

/// What a heap holds. Sizes are in bytes and count what blocks take, in whole lines.
///
/// ```
/// # use oxshmem_spaces::heap::*;
/// let mut heap = Heap::new(1 << 20);
/// heap.alloc(Layout::new(100))?;
/// let usage = heap.usage();
/// assert_eq!((usage.blocks, usage.used), (1, 128)); // in whole lines
/// assert_eq!(usage.used + usage.free, usage.size);
/// # Ok::<(), HeapError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeapUse {
    /// All there is: `used` and `free`.
    pub size: usize,
    /// In live blocks.
    pub used: usize,
    /// In free blocks.
    pub free: usize,
    /// In the largest free block.
    pub largest_free: usize,
    /// Live blocks.
    pub blocks: usize,
    /// Free blocks. No two of them touch.
    pub free_blocks: usize,
    /// The most that was ever `used`; while a block moves, both its places count.
    pub peak_used: usize,
    /// Calls of `alloc` that succeeded.
    pub allocations: u64,
    /// Calls of `free` that succeeded.
    pub frees: u64,
    /// Calls of `realloc` that succeeded.
    pub reallocations: u64,
    /// The end of the highest block there ever was, from the start of the heap. What lies beyond
    /// was never handed out.
    pub high_water: usize,
}

impl HeapUse {
    /// The share of free memory that is outside of the largest free block: 0 where one allocation
    /// could have it all, near 1 where it is in many small pieces.
    ///
    /// ```
    /// # use oxshmem_spaces::heap::*;
    /// let mut heap = Heap::new(4096);
    /// let first = heap.alloc(Layout::new(1024))?;
    /// heap.alloc(Layout::new(2048))?;
    /// assert_eq!(heap.usage().fragmentation(), 0.0);
    /// heap.free(first.offset)?;
    /// assert_eq!(heap.usage().fragmentation(), 0.5); // two blocks of 1024 bytes
    /// # Ok::<(), HeapError>(())
    /// ```
    pub fn fragmentation(&self) -> f64 {
        if self.free == 0 { 0.0 } else { 1.0 - self.largest_free as f64 / self.free as f64 }
    }
}

impl Heap {
    /// An empty heap of `size` bytes, rounded down to whole lines.
    ///
    /// ```
    /// # use oxshmem_spaces::heap::*;
    /// assert_eq!(Heap::new(1000).usage().size, 960);
    /// ```
    pub fn new(size: usize) -> Self {
        Self::at(0, size, 1)
    }

    /// An empty heap of `size` bytes, rounded down to whole lines, from offset `start` on, which is
    /// a multiple of a [`LINE`]. Its blocks are numbered from `first_id` on: so that heaps of one
    /// segment number theirs differently.
    ///
    /// ```
    /// # use oxshmem_spaces::heap::*;
    /// let mut heap = Heap::at(1 << 20, 4096, 100);
    /// let block = heap.alloc(Layout::new(64))?;
    /// assert_eq!((block.offset, block.id), (1 << 20, 100));
    /// assert_eq!((heap.usage().size, heap.usage().high_water), (4096, 64));
    /// # Ok::<(), HeapError>(())
    /// ```
    ///
    /// # Panics
    /// If `start` is inside of a line.
    pub fn at(start: usize, size: usize, first_id: u64) -> Self {
        assert!(start.is_multiple_of(LINE), "a heap begins with a line");
        let size = size - size % LINE;
        Self {
            start,
            size,
            free: FreeSet::new(start, size),
            live: BTreeMap::new(),
            offset_of: BTreeMap::new(),
            first_id,
            next_id: first_id,
            peak_used: 0,
            high_water: start,
            frees: 0,
            reallocations: 0,
        }
    }

    /// Allocates a block.
    ///
    /// # Errors
    /// [`HeapError::ZeroBytes`], [`HeapError::InvalidAlignment`] or [`HeapError::Exhausted`]; the
    /// heap is unchanged.
    ///
    /// ```
    /// # use oxshmem_spaces::heap::*;
    /// let mut heap = Heap::new(256);
    /// assert_eq!(heap.alloc(Layout::new(100))?.offset, 0);
    /// assert_eq!(heap.alloc(Layout::new(100))?.offset, 128);
    /// assert!(matches!(heap.alloc(Layout::new(1)), Err(HeapError::Exhausted(_))));
    /// # Ok::<(), HeapError>(())
    /// ```
    pub fn alloc(&mut self, layout: Layout) -> Result<Block, HeapError> {
        let block = self.place(layout, self.next_id)?;
        self.next_id += 1;
        self.live.insert(block.offset, block);
        self.offset_of.insert(block.id, block.offset);
        Ok(block)
    }

    /// Frees the block that starts at `offset`, and returns what it was.
    ///
    /// # Errors
    /// [`HeapError::NotAllocated`] where no live block starts there; the heap is unchanged.
    ///
    /// ```
    /// # use oxshmem_spaces::heap::*;
    /// let mut heap = Heap::new(256);
    /// let block = heap.alloc(Layout::new(100))?;
    /// assert_eq!(heap.free(block.offset)?, block);
    /// assert!(matches!(heap.free(block.offset), Err(HeapError::NotAllocated { .. })));
    /// # Ok::<(), HeapError>(())
    /// ```
    pub fn free(&mut self, offset: usize) -> Result<Block, HeapError> {
        let block = self.live.remove(&offset).ok_or_else(|| self.not_allocated(offset))?;
        self.offset_of.remove(&block.id);
        self.free.insert(block.offset, block.size);
        self.frees += 1;
        Ok(block)
    }

    /// Resizes the block that starts at `offset` to `new_bytes`. Its number, alignment and hints
    /// stay. It stays where it is if it shrinks, or if what follows it is free and large enough;
    /// otherwise it moves, which needs room for both places at once.
    ///
    /// # Errors
    /// [`HeapError::NotAllocated`] where no live block starts there, [`HeapError::ZeroBytes`] or
    /// [`HeapError::Exhausted`]; the block and the heap are unchanged.
    ///
    /// ```
    /// # use oxshmem_spaces::heap::*;
    /// let mut heap = Heap::new(1 << 20);
    /// let block = heap.alloc(Layout::new(100))?;
    /// assert!(matches!(heap.realloc(block.offset, 1000)?, Realloc::InPlace { .. }));
    /// heap.alloc(Layout::new(100))?; // behind it
    /// assert!(matches!(heap.realloc(block.offset, 2000)?, Realloc::Moved { from: 0, copy: 1000, .. }));
    /// # Ok::<(), HeapError>(())
    /// ```
    pub fn realloc(&mut self, offset: usize, new_bytes: usize) -> Result<Realloc, HeapError> {
        let old = *self.get(offset).ok_or_else(|| self.not_allocated(offset))?;
        let layout = Layout { bytes: new_bytes, align: old.align, hints: old.hints };
        let (Some(size), _) = layout.reservation()? else { return Err(self.exhausted(layout)) };
        let done = if size <= old.size {
            self.free.insert(old.offset + size, old.size - size);
            self.resized(old, new_bytes, size)
        } else if self.free.size_at(old.end()) >= size - old.size {
            self.free.take(Fit { free: old.end(), start: old.end() }, size - old.size);
            self.resized(old, new_bytes, size)
        } else {
            let block = self.place(layout, old.id)?;
            self.live.remove(&old.offset);
            self.free.insert(old.offset, old.size);
            Realloc::Moved { from: old.offset, copy: old.bytes.min(new_bytes), block }
        };
        let block = *done.block();
        self.live.insert(block.offset, block);
        self.offset_of.insert(block.id, block.offset);
        self.reallocations += 1;
        Ok(done)
    }

    /// The live block that starts at `offset`.
    ///
    /// ```
    /// # use oxshmem_spaces::heap::*;
    /// let mut heap = Heap::new(1 << 20);
    /// let block = heap.alloc(Layout::new(100))?;
    /// assert_eq!((heap.get(block.offset), heap.get(64)), (Some(&block), None));
    /// # Ok::<(), HeapError>(())
    /// ```
    pub fn get(&self, offset: usize) -> Option<&Block> {
        self.live.get(&offset)
    }

    /// The live block that the byte at `offset` belongs to.
    ///
    /// ```
    /// # use oxshmem_spaces::heap::*;
    /// let mut heap = Heap::new(1 << 20);
    /// let block = heap.alloc(Layout::new(100))?;
    /// assert_eq!((heap.containing(64), heap.containing(128)), (Some(&block), None));
    /// # Ok::<(), HeapError>(())
    /// ```
    pub fn containing(&self, offset: usize) -> Option<&Block> {
        let (_, block) = self.live.range(..=offset).next_back()?;
        (offset < block.end()).then_some(block)
    }

    /// Where the live block with a number starts.
    ///
    /// ```
    /// # use oxshmem_spaces::heap::*;
    /// let mut heap = Heap::new(1 << 20);
    /// let block = heap.alloc(Layout::new(100))?;
    /// assert_eq!((heap.offset_of(block.id), heap.offset_of(7)), (Some(block.offset), None));
    /// # Ok::<(), HeapError>(())
    /// ```
    pub fn offset_of(&self, id: u64) -> Option<usize> {
        self.offset_of.get(&id).copied()
    }

    /// The live blocks in the order of their numbers, which is the same on all PEs.
    ///
    /// ```
    /// # use oxshmem_spaces::heap::*;
    /// let mut heap = Heap::new(1 << 20);
    /// let first = heap.alloc(Layout::new(100))?;
    /// heap.alloc(Layout::new(100))?;
    /// heap.free(first.offset)?;
    /// heap.alloc(Layout::new(100))?; // where the first was
    /// assert!(heap.live().map(|block| block.id).eq([2, 3]));
    /// # Ok::<(), HeapError>(())
    /// ```
    pub fn live(&self) -> impl Iterator<Item = &Block> + '_ {
        self.offset_of.values().filter_map(|offset| self.live.get(offset))
    }

    /// What the heap holds.
    ///
    /// ```
    /// # use oxshmem_spaces::heap::*;
    /// let mut heap = Heap::new(1 << 20);
    /// let block = heap.alloc(Layout::new(64))?;
    /// heap.free(block.offset)?;
    /// assert_eq!((heap.usage().used, heap.usage().peak_used), (0, 64));
    /// # Ok::<(), HeapError>(())
    /// ```
    pub fn usage(&self) -> HeapUse {
        HeapUse {
            size: self.size,
            used: self.size - self.free.total(),
            free: self.free.total(),
            largest_free: self.free.largest(),
            blocks: self.live.len(),
            free_blocks: self.free.len(),
            peak_used: self.peak_used,
            allocations: self.next_id - self.first_id,
            frees: self.frees,
            reallocations: self.reallocations,
            high_water: self.high_water - self.start,
        }
    }

    /// Free blocks as (offset, size), in the order of their offsets.
    #[cfg(test)]
    pub(super) fn free_blocks(&self) -> Vec<(usize, usize)> {
        self.free.iter().collect()
    }

    /// Takes room for a block out of the free ones.
    fn place(&mut self, layout: Layout, id: u64) -> Result<Block, HeapError> {
        let (size, align) = layout.reservation()?;
        // The segment begins at a multiple of what fits into it, and of no more: there is no
        // address for such a block.
        let fits = align <= self.start.saturating_add(self.size);
        let found = size.filter(|_| fits).and_then(|size| Some((size, self.free.find(size, align)?)));
        let (size, place) = found.ok_or_else(|| self.exhausted(layout))?;
        self.free.take(place, size);
        let Layout { bytes, hints, .. } = layout;
        let fresh_from = self.reach(place.start, size);
        Ok(Block { id, offset: place.start, bytes, size, align, hints, fresh_from })
    }

    /// A block that has got another size where it is.
    fn resized(&mut self, old: Block, bytes: usize, size: usize) -> Realloc {
        let fresh_from = self.reach(old.offset, size);
        Realloc::InPlace { block: Block { bytes, size, fresh_from, ..old } }
    }

    /// Records that `size` bytes at `offset` are handed out. Returns from where on they never were
    /// before.
    fn reach(&mut self, offset: usize, size: usize) -> usize {
        let end = offset + size;
        let fresh_from = self.high_water.clamp(offset, end);
        self.high_water = self.high_water.max(end);
        self.peak_used = self.peak_used.max(self.size - self.free.total());
        fresh_from
    }

    fn exhausted(&self, layout: Layout) -> HeapError {
        HeapError::Exhausted(Exhausted {
            asked: layout.bytes,
            align: layout.align,
            free: self.free.total(),
            largest: self.free.largest(),
            size: self.size,
        })
    }

    fn not_allocated(&self, offset: usize) -> HeapError {
        HeapError::NotAllocated { offset, within: self.containing(offset).copied() }
    }
}
