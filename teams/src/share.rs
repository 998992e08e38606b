//! Sharing out the copies of a broadcast: each PE takes what comes to itself, and the root what others have not taken yet.
//!
//! For each other PE there is a word in the root's scratch memory: which broadcast it is of, and how much of it is taken. Whoever
//! wants to copy takes a part first. So a PE that is late finds everything there, the root works instead of waiting, and
//! nothing is copied twice.
//!
//! The root writes the words before it says that it has come, and begins its next broadcast after all of this one is taken.
//! Who comes even later finds another broadcast's number, and nothing to take.
//!
//! Between two PEs with a processor each, to take a part is a way there and back, and as long as it takes to copy some ten kilobytes. What
//! is not much more is [halved](Halves) without asking: the root writes the first half, and the other PE reads the second.

use std::ops::Range;

use crate::{
    group::{Flag, Group},
    scratch::{self, LINE},
    span::Span,
    sweep::Sweep,
};

/// The most other PEs that a root helps.
const MOST: usize = 64;
/// Where their words are in the general scratch memory.
const WORDS_AT: usize = 20 << 10;
/// Bytes that are counted: what is taken is a multiple of them, or the rest.
const UNIT: usize = 64;
/// The fewest units that are taken at a time: copying them takes longer than taking them.
const FEWEST: u64 = 512;

/// Bytes of a half that are copied at a time.
const HALF_PIECE: usize = 16 << 10;

/// One broadcast, shared out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    number: u64,
    len: usize,
}

impl Share {
    /// Of so many bytes. Every PE of the group makes the same. None where there are too many PEs, or bytes, for the words.
    pub(crate) fn new(group: &Group, len: usize) -> Option<Self> {
        let fits = group.n() <= MOST && len.div_ceil(UNIT) <= u32::MAX as usize;
        fits.then(|| Self { number: group.next_share(), len })
    }

    /// What there is to copy for one PE.
    pub(crate) fn units(self) -> u64 {
        self.len.div_ceil(UNIT) as u64
    }

    /// Nothing is taken yet. Called by the root, before it says that it has come.
    pub(crate) fn begin(self, group: &Group) {
        for pe in 0..group.n() {
            // Whoever sees the word that says that the root has come, which is a release, sees these.
            group.word(place(pe)).store(self.word(0));
        }
    }

    /// Copies for `pe` until everything is taken, and tells how many units these were. `taken` is told of each part.
    pub(crate) fn copy(
        self,
        group: &Group,
        root: usize,
        pe: usize,
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

    /// A part for `pe` that nobody else copies: its bytes, and how many units these are.
    fn take(self, group: &Group, root: usize, pe: usize) -> Option<(Range<usize>, u64)> {
        let all = self.units();
        // A guess, which costs nothing where nobody has taken anything.
        let mut seen = self.word(0);
        loop {
            let from = seen.wrapping_sub(self.word(0));
            if from >= all {
                return None;
            }
            // Half of what is left: few messages, and everybody is ready at about the same time.
            let count = (all - from).div_ceil(2).max(FEWEST).min(all - from);
            let before = group.compare_swap(place(pe), seen, seen + count, root);
            if before == seen {
                let start = from as usize * UNIT;
                return Some((start..(start + count as usize * UNIT).min(self.len), count));
            }
            seen = before;
        }
    }

    /// The word when so much is taken. Numbers repeat after 2³¹ broadcasts, and stay clear of the highest bit.
    fn word(self, taken: u64) -> u64 {
        (self.number & 0x7fff_ffff) << 32 | taken
    }
}

/// A broadcast of two PEs in two halves, each of which is one's to copy. If the other one is late, the root claims and copies both: it does
/// not wait for who has taken nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Halves {
    number: u64,
    len: usize,
    root: usize,
    spans: [Span; 2],
    /// Whether the ones before were the same root's.
    again: bool,
}

/// What ends a broadcast in halves at one of the two: a flag that comes to a number.
pub(crate) type End = (Flag, u64);

impl Halves {
    /// Of what is to be copied to the other PE than `root`, if it is better halved than shared out. Both make the same.
    pub(crate) fn new(group: &Group, root: usize, spans: [Span; 2]) -> Option<Self> {
        let len = spans[0].len();
        let fits = group.n() == 2 && len <= group.choices.halved;
        fits.then(|| Self { number: group.next_share(), len, root, spans, again: group.halves_again(root) })
    }

    /// Copies this PE's half, if the root has not copied both, and tells the other PE.
    pub(crate) fn copy(self, group: &Group) -> End {
        let half = 2 * self.number;
        if group.me() == self.root {
            self.copy_half(group, true);
            group.set(Flag::HalfGiven, half, 1 - self.root);
            return (Flag::HalfTaken, half);
        }
        if !self.claim(group) {
            return (Flag::HalfGiven, half + 1);
        }
        self.copy_half(group, false);
        group.set(Flag::HalfTaken, half, self.root);
        (Flag::HalfGiven, half)
    }

    /// The root copies the other half too, if the other PE has not begun to. Whether it has.
    pub(crate) fn take_over(self, group: &Group) -> bool {
        let is_left = group.me() == self.root && self.claim(group);
        if is_left {
            self.copy_half(group, false);
            group.set(Flag::HalfGiven, 2 * self.number + 1, 1 - self.root);
        }
        is_left
    }

    /// Whether the second half is left to this PE. The word is where it costs the other PE nothing to ask; the root asks only if that
    /// is late. A root that is ahead may have claimed a later broadcast's.
    fn claim(self, group: &Group) -> bool {
        let mut seen = 0;
        loop {
            let before = group.compare_swap(Flag::HalfClaimed.place(), seen, self.number, 1 - self.root);
            if before == seen {
                return true;
            }
            if before >= self.number {
                return false;
            }
            seen = before;
        }
    }

    fn copy_half(self, group: &Group, first: bool) {
        let [source, dest] = self.spans;
        let half = half(self.len, first);
        // Another root's are other bytes.
        let piece = if self.again { HALF_PIECE } else { half.len().max(1) };
        for piece in Sweep::of(self.number).pieces(half, piece) {
            let (from, to) = (source.part(piece.clone()), dest.part(piece));
            group.memory.copy(to, group.block(1 - self.root), from, group.block(self.root));
        }
    }
}

/// The first half of so many bytes, or the second.
fn half(len: usize, first: bool) -> Range<usize> {
    let middle = (len / 2).next_multiple_of(UNIT).min(len);
    if first { 0..middle } else { middle..len }
}

fn place(pe: usize) -> usize {
    scratch::general(WORDS_AT + pe * LINE..WORDS_AT + (pe + 1) * LINE).start
}

const _: () = assert!(WORDS_AT + MOST * LINE <= scratch::GENERAL - LINE);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_halves_are_the_whole() {
        for len in [0, 1, 63, 64, 65, 127, 128, 129, 4096, 70_001, 262_144] {
            let [first, second] = [true, false].map(|first| half(len, first));
            assert!(first.start == 0 && first.end == second.start && second.end == len, "{len}");
            assert!(first.len().abs_diff(second.len()) <= 2 * UNIT, "{len}");
        }
    }
}
