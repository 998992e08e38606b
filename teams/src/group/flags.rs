//! The words through which PEs of a team signal each other, and what is awaited of them.

use crate::{memory::scratch, tuning::RADIX};

/// A word through which PEs of a team signal each other. All only grow.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Flag {
    /// Dissemination, round by round, and for every second sync another.
    Round(u32, bool),
    /// The counter of a sync.
    Counter,
    /// The release of a sync.
    Release,
    /// PEs that have read the memory of this one, in broadcasts; or how much they have read, where
    /// it helps them.
    Taken,
    /// How much of what is to come to this PE its helpers have written, in broadcasts.
    Given,
    /// Verdicts that have arrived.
    Verdict,
    /// Chunks of byte broadcasts that have arrived.
    Chunk,
    /// Chunks of byte broadcasts that this child has taken.
    ChunkTaken(usize),
    /// Proposals of this child that have arrived.
    Proposal(usize),
    /// That PEs have called different things. No PE sets it to anything else, and none looks at
    /// another PE's.
    Broken,
}

/// Flags of the rounds of dissemination that 2²⁴ PEs need.
const ROUNDS: usize = 2 * 24;

impl Flag {
    #[inline(always)]
    fn index(self) -> usize {
        match self {
            Self::Round(round, odd) => 2 * round as usize + usize::from(odd),
            Self::Counter => ROUNDS,
            Self::Release => ROUNDS + 1,
            Self::Taken => ROUNDS + 2,
            Self::Given => ROUNDS + 3,
            Self::Verdict => ROUNDS + 4,
            Self::Chunk => ROUNDS + 5,
            Self::ChunkTaken(child) => ROUNDS + 6 + child,
            Self::Proposal(child) => ROUNDS + 6 + RADIX + child,
            Self::Broken => ROUNDS + 6 + 2 * RADIX,
        }
    }

    /// Where it is in the team's scratch memory.
    #[inline(always)]
    pub(crate) fn place(self) -> usize {
        scratch::flag(self.index())
    }
}

const _: () = assert!(ROUNDS + 6 + 2 * RADIX < scratch::FLAGS);

/// Words of a PE's scratch memory that come to a number, and all of it is over then: one, or a row
/// of which one is left out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Awaited {
    /// Where the first is.
    pub(crate) place: usize,
    pub(crate) number: u64,
    /// From the lowest bit: how many there are, 0 for one alone, which is left out, and bytes from
    /// one to the next.
    pub(crate) row: usize,
}

impl Awaited {
    /// The word at a place.
    #[inline(always)]
    pub(crate) fn one(place: usize, number: u64) -> Self {
        Self { place, number, row: 0 }
    }

    /// `n` words from `place` on, that many bytes apart, without one.
    #[inline(always)]
    pub(crate) fn row(place: usize, step: usize, n: usize, without: usize, number: u64) -> Self {
        debug_assert!(n < 1 << 16 && without < 1 << 16);
        Self { place, number, row: n | without << 16 | step << 32 }
    }

    /// The places of all.
    #[inline(always)]
    pub(super) fn places(self) -> impl Iterator<Item = usize> {
        let (n, without, step) = (self.row & 0xffff, self.row >> 16 & 0xffff, self.row >> 32);
        (0..n).filter(move |&i| i != without).map(move |i| self.place + i * step)
    }
}
