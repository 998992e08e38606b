//! A heap as bytes, for a PE that has missed some of the calls that the others have made.

use std::collections::BTreeMap;

use super::{Block, Heap, Hints, LINE, free_set::FreeSet};

/// Words before the blocks, and of each block.
const HEAD: usize = 5;
const OF_BLOCK: usize = 7;

impl Heap {
    /// All that the next calls depend on.
    pub fn encode(&self) -> Vec<u8> {
        let head = [
            self.next_id,
            self.frees,
            self.reallocations,
            self.peak_used as u64,
            (self.high_water - self.start) as u64,
        ];
        let blocks = self.live().flat_map(|block| {
            let Block { id, offset, bytes, size, align, hints, fresh_from } = *block;
            let places = [offset, bytes, size, align, fresh_from].map(|it| it as u64);
            [id].into_iter().chain(places).chain([hints.bits() as u64])
        });
        head.into_iter().chain(blocks).flat_map(u64::to_le_bytes).collect()
    }

    /// The heap of the same place that `bytes` are of; `None` if they are of none.
    pub fn decoded(&self, bytes: &[u8]) -> Option<Self> {
        let (words, []) = bytes.as_chunks() else { return None };
        let words: Vec<u64> = words.iter().map(|&word| u64::from_le_bytes(word)).collect();
        let (head, blocks) = words.split_at_checked(HEAD)?;
        let (blocks, []) = blocks.as_chunks::<OF_BLOCK>() else { return None };
        let mut heap = Self {
            free: FreeSet::default(),
            live: BTreeMap::new(),
            offset_of: BTreeMap::new(),
            next_id: head[0],
            frees: head[1],
            reallocations: head[2],
            peak_used: usize::try_from(head[3]).ok()?,
            high_water: self.start.checked_add(usize::try_from(head[4]).ok()?)?,
            ..*self
        };
        for &[id, places @ .., hints] in blocks {
            let mut usable = [0; OF_BLOCK - 2];
            for (usable, place) in usable.iter_mut().zip(places) {
                *usable = usize::try_from(place).ok()?;
            }
            let [offset, bytes, size, align, fresh_from] = usable;
            let hints = Hints::from_bits(hints as i64);
            heap.live.insert(offset, Block { id, offset, bytes, size, align, hints, fresh_from });
            heap.offset_of.insert(id, offset);
        }
        // What lies between them is free.
        let mut end = self.start;
        for block in heap.live.values() {
            let is_whole = block.size > 0 && block.size.is_multiple_of(LINE);
            let gap = block.offset.checked_sub(end).filter(|_| is_whole)?;
            heap.free.insert(end, gap);
            end = block.offset.checked_add(block.size)?;
        }
        heap.free.insert(end, (self.start + self.size).checked_sub(end)?);
        Some(heap)
    }
}
