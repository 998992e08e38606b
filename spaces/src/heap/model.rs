//! A heap that is slow and plain: a sorted list of free intervals, searched from one end to the
//! other. Tests compare the real one with it.

use super::{HeapError, Hints, LINE, Layout};

/// A heap with the rules of [`Heap`](super::Heap), on lists.
#[derive(Clone, Debug)]
pub(super) struct Model {
    /// Bytes of the segment.
    size: usize,
    /// Free (offset, size), by offset.
    free: Vec<(usize, usize)>,
    /// Blocks that are looked at before one that fits wherever it starts; all of them for an exact
    /// best fit.
    search: usize,
    pub(super) high_water: usize,
    pub(super) used: usize,
    pub(super) peak_used: usize,
}

/// A block of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) offset: usize,
    pub(super) size: usize,
    pub(super) layout: Layout,
}

impl Model {
    pub(super) fn new(size: usize, search: usize) -> Self {
        let size = size / LINE * LINE;
        let free = if size == 0 { Vec::new() } else { vec![(0, size)] };
        Self { size, free, search, high_water: 0, used: 0, peak_used: 0 }
    }

    pub(super) fn free_blocks(&self) -> &[(usize, usize)] {
        &self.free
    }

    pub(super) fn largest(&self) -> usize {
        self.free.iter().map(|&(_, size)| size).max().unwrap_or(0)
    }

    /// The new block, or `None` where there is no room.
    pub(super) fn alloc(&mut self, layout: Layout) -> Option<Held> {
        let (size, align) = reserve(layout);
        // The segment's base is aligned to no more than its size.
        let offset = self.best(size, align).filter(|_| align <= self.size)?;
        self.take(offset, size);
        Some(Held { offset, size, layout })
    }

    pub(super) fn free(&mut self, held: Held) {
        self.give(held.offset, held.size);
    }

    /// The block as it is afterwards, or `None` where there is no room.
    pub(super) fn realloc(&mut self, held: Held, bytes: usize) -> Option<Held> {
        let layout = Layout { bytes, ..held.layout };
        let (size, _) = reserve(layout);
        let end = held.offset + held.size;
        let follows = self.free.iter().find(|&&(offset, _)| offset == end).map_or(0, |&(_, size)| size);
        if size <= held.size {
            self.give(held.offset + size, held.size - size);
        } else if follows >= size - held.size {
            self.take(end, size - held.size);
        } else {
            let moved = self.alloc(layout)?;
            self.free(held);
            return Some(moved);
        }
        Some(Held { size, layout, ..held })
    }

    fn best(&self, size: usize, align: usize) -> Option<usize> {
        let fits = |&(offset, have): &(usize, usize)| {
            let start = offset.div_ceil(align) * align;
            (start + size <= offset + have).then_some((have, offset, start))
        };
        let lacking = self.free.iter().filter(|block| block.1 >= size && fits(block).is_none());
        let best = self.free.iter().filter_map(fits).min()?;
        let smaller = lacking.filter(|&&(offset, have)| (have, offset) < (best.0, best.1)).count();
        let certain = self.free.iter().filter(|&&(_, have)| have >= size + align - LINE);
        let certain = certain.filter_map(fits).min().filter(|_| smaller > self.search);
        Some(certain.unwrap_or(best).2)
    }

    fn take(&mut self, start: usize, size: usize) {
        let at =
            self.free.iter().position(|&(offset, have)| offset <= start && start + size <= offset + have);
        let at = at.unwrap();
        let (offset, have) = self.free[at];
        let pieces = [(offset, start - offset), (start + size, offset + have - start - size)];
        self.free.splice(at..=at, pieces.into_iter().filter(|&(_, size)| size > 0));
        self.used += size;
        self.peak_used = self.peak_used.max(self.used);
        self.high_water = self.high_water.max(start + size);
    }

    fn give(&mut self, start: usize, size: usize) {
        if size == 0 {
            return;
        }
        self.used -= size;
        let at = self.free.partition_point(|&(offset, _)| offset < start);
        self.free.insert(at, (start, size));
        if at + 1 < self.free.len() && self.free[at].0 + self.free[at].1 == self.free[at + 1].0 {
            self.free[at].1 += self.free.remove(at + 1).1;
        }
        if at > 0 && self.free[at - 1].0 + self.free[at - 1].1 == self.free[at].0 {
            self.free[at - 1].1 += self.free.remove(at).1;
        }
    }
}

/// Bytes that a block takes, and its alignment.
fn reserve(layout: Layout) -> (usize, usize) {
    let grain = if layout.hints == Hints::NONE { 64 } else { 128 };
    (layout.bytes.div_ceil(grain) * grain, layout.align.max(grain))
}

/// Whether a heap says that it has no room.
pub(super) fn is_exhausted<T>(result: &Result<T, HeapError>) -> bool {
    matches!(result, Err(HeapError::Exhausted(_)))
}
