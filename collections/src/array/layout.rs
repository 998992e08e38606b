//! Which PE has which element of an array.

/// How the elements of an [`Array`](super::Array) are distributed over the PEs of its team.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Each PE has one block of elements that follow each other. All have as many, but for the
    /// last.
    #[default]
    Blocks,
    /// PEs take turns: PE 0 has the first element, PE 1 the second.
    Cyclic,
    /// PEs take turns, with blocks of this many elements each, which is at least 1.
    BlockCyclic(usize),
}

/// A layout of some elements on some PEs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Placement {
    pub(super) len: usize,
    pub(super) n_pes: usize,
    /// Elements of a block.
    block: usize,
}

impl Placement {
    /// # Panics
    /// If blocks are to have no elements.
    pub(super) fn new(layout: Layout, len: usize, n_pes: usize) -> Self {
        let block = match layout {
            Layout::Blocks => len.div_ceil(n_pes).max(1),
            Layout::Cyclic => 1,
            Layout::BlockCyclic(block) => block,
        };
        assert!(block > 0, "blocks of an array have at least one element");
        Self { len, n_pes, block }
    }

    /// How many elements each PE has room for.
    pub(super) fn room(&self) -> usize {
        let blocks = self.len.div_ceil(self.block);
        match blocks <= self.n_pes {
            // Even one that is longer than the array.
            true => self.block.min(self.len),
            false => blocks.div_ceil(self.n_pes) * self.block,
        }
    }

    /// Which PE has an element, and at which of its places.
    pub(super) fn place(&self, index: usize) -> (usize, usize) {
        let Self { len, n_pes, block } = *self;
        assert!(index < len, "element {index} of an array of {len}");
        let (nth, within) = (index / block, index % block);
        (nth % n_pes, nth / n_pes * block + within)
    }

    /// How many elements a PE has.
    pub(super) fn count(&self, pe: usize) -> usize {
        let Self { len, n_pes, block } = *self;
        let (whole, rest) = (len / block, len % block);
        let partly = if whole % n_pes == pe { rest } else { 0 };
        (whole / n_pes + usize::from(pe < whole % n_pes)) * block + partly
    }

    /// The index of a PE's element at that place.
    pub(super) fn index(&self, pe: usize, place: usize) -> usize {
        let (nth, within) = (place / self.block, place % self.block);
        (nth * self.n_pes + pe) * self.block + within
    }

    /// How many elements from a place on follow each other in the array, at the most.
    pub(super) fn run(&self, place: usize) -> usize {
        self.block - place % self.block
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn layouts() -> impl Strategy<Value = Layout> {
        prop_oneof![Just(Layout::Blocks), Just(Layout::Cyclic), (1_usize..9).prop_map(Layout::BlockCyclic),]
    }

    proptest! {
        #[test]
        fn each_element_has_a_place_of_its_own(layout in layouts(), len in 0_usize..200, n in 1_usize..9) {
            let placement = Placement::new(layout, len, n);
            let mut places: Vec<_> = (0..len).map(|index| placement.place(index)).collect();
            for (index, &(pe, place)) in places.iter().enumerate() {
                prop_assert!(pe < n && place < placement.count(pe));
                prop_assert_eq!(placement.index(pe, place), index);
            }
            let counts: Vec<_> = (0..n).map(|pe| placement.count(pe)).collect();
            prop_assert!(counts.iter().all(|&count| count <= placement.room()));
            prop_assert_eq!(counts.into_iter().sum::<usize>(), len);
            places.sort_unstable();
            places.dedup();
            prop_assert_eq!(places.len(), len);
        }
    }
}
