//! Sharing out the copies of a broadcast: each PE takes what comes to itself, and the root what
//! others have not taken yet.
//!
//! For each other PE there is a word in the root's scratch memory: which broadcast it is of, and
//! how much of it is taken. A PE takes a part first. So a PE that is late finds
//! everything there, the root works instead of waiting, and nothing is copied twice.
//!
//! The root writes the words before it signals that it has come, and begins its next broadcast
//! after all of this one is taken. A PE that comes even later finds another broadcast's number, and
//! nothing to take.

use std::ops::Range;

use oxshmem_progress::shares;

use crate::{
    group::Group,
    memory::{
        scratch::{self, LINE},
        span::Span,
        words,
    },
};

/// The most other PEs that a root helps.
const MOST: usize = 64;
/// Where their words are in the general scratch memory.
const WORDS_AT: usize = 20 << 10;
/// Bytes that are counted: what is taken is a multiple of them, or the rest.
const UNIT: usize = 64;
/// The fewest units that are taken at a time: copying them takes longer than taking them.
const FEWEST: u64 = 512;

/// One broadcast, shared out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    number: u64,
    len: usize,
}

impl Share {
    /// Of `len` bytes. Every PE of the group makes the same. None where there are too many PEs, or
    /// bytes, for the words.
    pub(crate) fn new(group: &Group, len: usize) -> Option<Self> {
        let fits =
            group.n() <= MOST.min(group.choices.tuning.helped_pes) && len.div_ceil(UNIT) <= u32::MAX as usize;
        fits.then(|| Self { number: group.state.shares.begun.next(), len })
    }

    /// What there is to copy for one PE.
    pub(crate) fn units(self) -> u64 {
        self.len.div_ceil(UNIT) as u64
    }

    /// Nothing is taken yet. Called by the root, before it signals that it has come.
    pub(crate) fn begin(self, group: &Group) {
        for pe in 0..group.n() {
            // A PE that sees the word that signals that the root has come, which is a release, sees
            // these.
            shares::begin(words::word(group.own_words(), place(pe)), self.number);
        }
    }

    /// Copies for `pe` until everything is taken, and returns how many units these were. `taken` is
    /// called with those of each part.
    pub(crate) fn copy(
        self,
        group: &Group,
        [root, pe]: [usize; 2],
        [source, dest]: [Span; 2],
        mut taken: impl FnMut(u64),
    ) -> u64 {
        let mut units = 0;
        while let Some((part, count)) = self.take(group, root, pe) {
            let (from, to) = (source.part(part.clone()), dest.part(part));
            group.memory.copy(to, group.block(pe), from, group.block(root));
            units += count;
            taken(count);
        }
        units
    }

    /// A part for `pe` that no other PE copies: its bytes, and how many units these are.
    fn take(self, group: &Group, root: usize, pe: usize) -> Option<(Range<usize>, u64)> {
        group.count_message();
        let word = words::word(group.words_of(root).0, place(pe));
        let (from, count) = shares::take(word, self.number, self.units(), FEWEST)?;
        let start = from as usize * UNIT;
        Some((start..(start + count as usize * UNIT).min(self.len), count))
    }
}

fn place(pe: usize) -> usize {
    scratch::general(WORDS_AT + pe * LINE..WORDS_AT + (pe + 1) * LINE).start
}

const _: () = assert!(WORDS_AT + MOST * LINE <= scratch::GENERAL - LINE);
