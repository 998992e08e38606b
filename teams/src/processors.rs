//! Where PEs outnumber processors: whether a PE that waits keeps the one it waits for from running.
//!
//! Who gives its processor away gets it back when all others have had their turns, a microsecond for each or more. If what it waits
//! for comes from another processor meanwhile, that is late; but if the PE that it waits for is to run on this very
//! processor, everything else is later. So each PE says to which meeting of its team it has come, and on which processor; and
//! who waits looks whether somebody is missing that was on its own one. That is a hint: of one that is wrong nothing suffers
//! but time, and no more of that than a turn.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::{
    group::{Flag, Group},
    words,
};

/// Bits of a processor's number in the flag [`Come`](Flag::Come).
const PROCESSOR_BITS: u32 = 16;
/// One in so many looks is at all PEs, to see who has moved.
const OFTEN: u64 = 16;
/// The most PEs of which is kept who was here.
const KEPT: usize = 64;

/// Whom a PE waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum For {
    /// All others, who come to the same meeting.
    All,
    /// The root of a broadcast, or whoever has it from that.
    Root,
    /// One of which nothing is known.
    Other,
}

/// What a PE of a team knows of that.
#[derive(Debug)]
pub(crate) struct Processors {
    /// Whether PEs of different processes share them.
    shared: bool,
    /// To how many meetings this PE has come, if so.
    meetings: AtomicU64,
    /// The roots of the last two broadcasts, the last one's in the lower half.
    roots: AtomicU64,
    /// How many times this PE has looked for the others, and the processor that it was on the last time.
    looks: AtomicU64,
    here: AtomicU64,
    /// Who was on that one too when it looked at all: a bit for each. To look at what PEs elsewhere have written would fetch their lines, each
    /// of them as long as a message takes.
    beside: AtomicU64,
}

impl Processors {
    pub(crate) fn new(shared: bool) -> Self {
        Self {
            shared,
            meetings: AtomicU64::new(0),
            roots: AtomicU64::new(0),
            looks: AtomicU64::new(0),
            here: AtomicU64::new(u64::MAX),
            beside: AtomicU64::new(0),
        }
    }

    /// This PE comes to a meeting.
    #[inline(always)]
    pub(crate) fn come(&self, group: &Group) {
        if self.shared {
            // Only this PE's collectives, one at a time, write it.
            self.meetings.store(self.meetings.load(Relaxed) + 1, Relaxed);
            self.tell(group);
        }
    }

    /// A broadcast of `root` begins.
    #[inline(always)]
    pub(crate) fn led_by(&self, root: usize) {
        if self.shared {
            // As above.
            self.roots.store(self.roots.load(Relaxed) << 32 | root as u64, Relaxed);
        }
    }

    /// Whether what this PE waits for may need its processor.
    pub(crate) fn are_needed(&self, group: &Group, by: For) -> bool {
        match by {
            For::All => self.are_needed_by_others(group),
            // Who is the next root keeps others waiting.
            For::Root => self.next_root(group.n()) != Some(group.me()),
            For::Other => true,
        }
    }

    fn are_needed_by_others(&self, group: &Group) -> bool {
        let come = self.tell(group);
        let word = |pe: usize| words::word(group.words_of(pe).0, Flag::Come.place()).load(Relaxed);
        // Only this PE's collectives, one at a time, write these.
        let looks = self.looks.load(Relaxed);
        self.looks.store(looks + 1, Relaxed);
        let here = come % (1 << PROCESSOR_BITS);
        let moved = self.here.load(Relaxed) != here;
        self.here.store(here, Relaxed);
        if group.n() > KEPT || looks.is_multiple_of(OFTEN) || moved {
            let others = (0..group.n()).filter(|&pe| pe != group.me());
            let (mut beside, mut needed) = (0, false);
            for (pe, theirs) in others.map(|pe| (pe, word(pe))) {
                beside |= u64::from(is_beside(theirs, come)) << (pe % KEPT);
                needed |= is_held_up(theirs, come);
            }
            self.beside.store(beside, Relaxed);
            return needed;
        }
        let mut beside = self.beside.load(Relaxed);
        while beside != 0 {
            let pe = beside.trailing_zeros() as usize;
            if is_held_up(word(pe), come) {
                return true;
            }
            beside &= beside - 1;
        }
        false
    }

    /// Says where this PE is, and to which meeting it has come.
    fn tell(&self, group: &Group) -> u64 {
        let come = come(self.meetings.load(Relaxed), group.pe().processor());
        words::word(group.own_words(), Flag::Come.place()).store(come, Relaxed);
        come
    }

    /// Who is the root of the next broadcast, if the roots go on as before.
    fn next_root(&self, n: usize) -> Option<usize> {
        let roots = self.roots.load(Relaxed);
        let [before, last] = [(roots >> 32) as usize, roots as u32 as usize];
        (before != last).then(|| (2 * last + n - before) % n)
    }
}

/// A meeting that a PE has come to, and where.
#[inline(always)]
fn come(meeting: u64, processor: u64) -> u64 {
    (meeting << PROCESSOR_BITS) | (processor % (1 << PROCESSOR_BITS))
}

/// Whether what two have come to was on the same processor.
#[inline(always)]
fn is_beside(last: u64, now: u64) -> bool {
    (last ^ now).is_multiple_of(1 << PROCESSOR_BITS)
}

/// Whether one of whom it is known where it has `last` come to waits for the processor of one that has come to `now`.
#[inline(always)]
fn is_held_up(last: u64, now: u64) -> bool {
    last < now && is_beside(last, now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_not_come_and_was_on_the_same_processor_is_held_up() {
        for processor in [0, 1, 7, (1 << PROCESSOR_BITS) - 1] {
            let now = come(9, processor);
            assert!(is_held_up(come(8, processor), now));
            assert!(is_held_up(come(1, processor), now));
            for theirs in [9, 10, 99] {
                assert!(!is_held_up(come(theirs, processor), now), "it has come");
            }
            for meeting in 0..12 {
                assert!(!is_held_up(come(meeting, processor ^ 1), now), "it is somewhere else");
            }
        }
    }

    #[test]
    fn the_next_root_is_as_far_from_the_last_as_that_was_from_the_one_before() {
        let next = |roots: &[usize], n: usize| {
            let processors = Processors::new(true);
            roots.iter().for_each(|&root| processors.led_by(root));
            processors.next_root(n)
        };
        assert_eq!(next(&[], 4), None);
        assert_eq!(next(&[0, 1], 4), Some(2));
        assert_eq!(next(&[2, 3], 4), Some(0));
        assert_eq!(next(&[1, 0], 4), Some(3));
        assert_eq!(next(&[7, 1, 3], 8), Some(5));
        assert_eq!(next(&[3, 3], 4), None, "the root stays the same");
        assert_eq!(next(&[0, 5], 6), Some(4));
    }
}
