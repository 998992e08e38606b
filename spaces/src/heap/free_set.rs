//! The free blocks of a heap: which there are, and which is best for an allocation.
//!
//! They are kept twice, by offset to join neighbours and by size to find the best fit. No two of
//! them touch.

use std::collections::{BTreeMap, BTreeSet};

use super::LINE;

/// How many blocks that are large enough, but start where an alignment wastes too much of them, are
/// looked at before one that fits wherever it starts.
const SEARCH: usize = 32;

/// Free blocks. All offsets and sizes are multiples of a line.
#[derive(Clone, Debug, Default)]
pub(super) struct FreeSet {
    by_offset: BTreeMap<usize, usize>,
    by_size: BTreeSet<(usize, usize)>,
    total: usize,
}

/// Where in which free block an allocation goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fit {
    /// The offset of the free block.
    pub(super) free: usize,
    /// The offset of the allocation.
    pub(super) start: usize,
}

impl FreeSet {
    /// One free block of `size` bytes at `offset`, or none where that is 0.
    pub(super) fn new(offset: usize, size: usize) -> Self {
        let mut set = Self::default();
        set.insert(offset, size);
        set
    }

    /// Bytes in all free blocks.
    pub(super) fn total(&self) -> usize {
        self.total
    }

    /// How many free blocks there are.
    pub(super) fn len(&self) -> usize {
        self.by_offset.len()
    }

    /// Bytes in the largest free block, 0 where there is none.
    pub(super) fn largest(&self) -> usize {
        self.by_size.last().map_or(0, |&(size, _)| size)
    }

    /// Bytes in the free block that starts at `offset`, 0 where there is none.
    pub(super) fn size_at(&self, offset: usize) -> usize {
        self.by_offset.get(&offset).copied().unwrap_or(0)
    }

    /// Free blocks as (offset, size), in the order of their offsets.
    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.by_offset.iter().map(|(&offset, &size)| (offset, size))
    }

    /// Adds `size` bytes at `offset`, none of them free, and joins them with their neighbours.
    pub(super) fn insert(&mut self, mut offset: usize, mut size: usize) {
        if size == 0 {
            return;
        }
        let before = self.by_offset.range(..offset).next_back().map(|(&at, &len)| (at, len));
        if let Some((at, len)) = before.filter(|(at, len)| at + len == offset) {
            self.forget(at, len);
            offset = at;
            size += len;
        }
        let after = self.size_at(offset + size);
        if after > 0 {
            self.forget(offset + size, after);
            size += after;
        }
        self.by_offset.insert(offset, size);
        self.by_size.insert((size, offset));
        self.total += size;
    }

    /// Takes `size` bytes at `place` out. What is left of its block on either side stays free.
    /// The place must come from [`find`](Self::find), or start a block of at least `size` bytes.
    pub(super) fn take(&mut self, place: Fit, size: usize) {
        let have = self.size_at(place.free);
        let (end, taken_end) = (place.free + have, place.start + size);
        debug_assert!(place.free <= place.start && taken_end <= end, "{place:?} + {size} of {have}");
        self.forget(place.free, have);
        self.insert(place.free, place.start - place.free);
        self.insert(taken_end, end - taken_end);
    }

    /// The best place for `size` bytes at a multiple of `align`: in the smallest block that has
    /// room for them, the one with the lowest offset of several, at the lowest offset in it.
    ///
    /// Takes O(log n) steps, and a bounded number more where `align` exceeds a line: then blocks
    /// large enough can still lack room, and after [`SEARCH`] of them one is taken that is so large
    /// that it cannot. Only where there is none of those either, all others are tried before giving
    /// up.
    pub(super) fn find(&self, size: usize, align: usize) -> Option<Fit> {
        for (tried, &(have, free)) in self.by_size.range((size, 0)..).enumerate() {
            let place = fit(free, have, size, align);
            if place.is_some() {
                return place;
            }
            if tried == SEARCH
                && let Some(certain) = size.checked_add(align - LINE)
                && let Some(&(have, free)) = self.by_size.range((certain, 0)..).next()
            {
                return fit(free, have, size, align);
            }
        }
        None
    }

    /// Removes a block as it is.
    fn forget(&mut self, offset: usize, size: usize) {
        self.by_offset.remove(&offset);
        self.by_size.remove(&(size, offset));
        self.total -= size;
    }
}

/// The first place for `size` bytes at a multiple of `align` in a free block of `have` bytes at
/// `free`.
fn fit(free: usize, have: usize, size: usize, align: usize) -> Option<Fit> {
    let start = free.checked_next_multiple_of(align)?;
    let room = have.checked_sub(start - free)?;
    (room >= size).then_some(Fit { free, start })
}
