//! The index of many watches: which of them are about words in which lines of memory.
//!
//! It is there while a PE has more watches than are looked at in a moment. Lines are those of
//! [`notes`](crate::notes), by their bits.

use std::collections::BTreeSet;

use oxshmem_memory::{Extent, SegmentId};

use crate::notes::bits_of;

/// A watch of words in more lines than that is looked at each time.
const LINES: usize = 8;
/// In the place of a line, for watches that are looked at each time.
const EACH: usize = usize::MAX;

/// Watches, by their slots, for each line.
#[derive(Debug, Default)]
pub(super) struct Index(BTreeSet<(usize, usize)>);

/// The lines of words in `extent`, if they are in the heap and few.
fn lines(extent: Extent) -> impl Iterator<Item = usize> {
    let few = extent.segment == SegmentId::Heap && bits_of(extent.offset, extent.len).nth(LINES).is_none();
    let lines = few.then(|| bits_of(extent.offset, extent.len));
    lines.into_iter().flatten().chain((!few).then_some(EACH))
}

impl Index {
    pub(super) fn insert(&mut self, extent: Extent, slot: usize) {
        self.0.extend(lines(extent).map(|line| (line, slot)));
    }

    pub(super) fn remove(&mut self, extent: Extent, slot: usize) {
        for line in lines(extent) {
            self.0.remove(&(line, slot));
        }
    }

    /// The watches of words in these lines, and those that are looked at each time. One of words in
    /// several lines may come more than once.
    pub(super) fn of(&self, changed: &[usize]) -> Vec<usize> {
        let lines = changed.iter().copied().chain([EACH]);
        lines.flat_map(|line| self.0.range((line, 0)..=(line, usize::MAX)).map(|&(_, slot)| slot)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heap(offset: usize, len: usize) -> Extent {
        Extent { segment: SegmentId::Heap, offset, len }
    }

    #[test]
    fn watches_are_found_by_the_lines_of_their_words() {
        let mut index = Index::default();
        index.insert(heap(64, 8), 0);
        index.insert(heap(72, 8), 1);
        index.insert(heap(120, 16), 2); // in two lines
        index.insert(heap(0, 10_000), 3); // in many
        index.insert(Extent { segment: SegmentId::Scratch, offset: 64, len: 8 }, 4);
        assert_eq!(index.of(&[1]), [0, 1, 2, 3, 4]);
        assert_eq!(index.of(&[2]), [2, 3, 4]);
        assert_eq!(index.of(&[]), [3, 4]);
        index.remove(heap(120, 16), 2);
        index.remove(heap(0, 10_000), 3);
        assert_eq!(index.of(&[1, 2]), [0, 1, 4]);
    }
}
