//! Where PEs outnumber processors: whether a PE that waits keeps the one it waits for from running.
//!
//! Who gives its processor away gets it back when all others have had their turns, a microsecond for each or more. If what it waits
//! for comes from another processor meanwhile, that is late; but if the PE that it waits for is to run on this very
//! processor, everything else is later. So each PE says to which meeting of its team it has come, and on which processor; and
//! who waits looks whether somebody is missing that was on its own one. That is a hint: of one that is wrong nothing suffers
//! but time, and no more of that than a turn. Where all are bound to processors, [crews](crate::crew) know, and nobody says anything.

use std::sync::atomic::{
    AtomicU64, AtomicUsize,
    Ordering::{AcqRel, Relaxed},
};

use crate::{
    crew::Crew,
    group::{Flag, Group},
    words,
};

/// Bits of a processor's number in the flag [`Come`](Flag::Come).
const PROCESSOR_BITS: u32 = 16;
/// One in so many looks is at all PEs, to see who has moved.
const OFTEN: u64 = 16;
/// The most PEs of which it is kept who shares a processor with whom.
pub(crate) const MOST_TO_SHARE: usize = 64;

/// How a crew counts meetings.
const COUNTERS: [Flag; 3] = [Flag::Come, Flag::CrewCounter, Flag::CrewGathered];

/// Whom a PE waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum For {
    /// All others, who come to the same meeting.
    All,
    /// The root of a broadcast, or whoever has it from that.
    Root,
    /// Those who are at work, none of them on this processor.
    Elsewhere,
    /// One of which nothing is known.
    Other,
}

/// What a PE of a team knows of that.
#[derive(Debug)]
pub(crate) struct Processors {
    /// Whether PEs of different processes share them.
    shared: bool,
    /// Who shares this PE's, if that is known for certain.
    crew: Option<Crew>,
    /// To how many meetings this PE has come with its crew, by how that counts them, and how it counts the last.
    counted: [AtomicU64; 3],
    counter: AtomicUsize,
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
    pub(crate) fn new(shared: bool, crew: Option<Crew>) -> Self {
        Self {
            shared,
            crew,
            counted: Default::default(),
            counter: AtomicUsize::new(0),
            meetings: AtomicU64::new(0),
            roots: AtomicU64::new(0),
            looks: AtomicU64::new(0),
            here: AtomicU64::new(u64::MAX),
            beside: AtomicU64::new(0),
        }
    }

    /// The crew of this PE.
    #[inline(always)]
    pub(crate) fn crew(&self) -> Option<&Crew> {
        self.crew.as_ref()
    }

    /// This PE comes to a meeting with its crew, which counts that by one of the [`COUNTERS`]. Says how often somebody has come before.
    pub(crate) fn come_in_crew(&self, group: &Group, crew: &Crew, counter: Flag) -> u64 {
        let index = COUNTERS.iter().position(|flag| flag.place() == counter.place()).unwrap_or_default();
        // Only this PE's collectives, one at a time, write these.
        self.counted[index].store(self.counted[index].load(Relaxed) + 1, Relaxed);
        self.counter.store(index, Relaxed);
        // What this PE has written before is seen by the last of the crew, and what that has seen by whomever it tells.
        count(group, crew, counter).fetch_add(1, AcqRel)
    }

    /// This PE comes to a meeting. If it is one that crews count, it says so when it [arrives](Self::come_in_crew) there.
    #[inline(always)]
    pub(crate) fn come(&self, group: &Group, arrives: bool) {
        if !self.shared {
            return;
        }
        match &self.crew {
            Some(crew) if !arrives => _ = self.come_in_crew(group, crew, Flag::Come),
            Some(_) => {}
            None => {
                // Only this PE's collectives, one at a time, write it.
                self.meetings.store(self.meetings.load(Relaxed) + 1, Relaxed);
                self.tell(group);
            }
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
            For::Elsewhere => false,
            For::Other => true,
        }
    }

    /// Whether PEs share processors, and are few enough to know who is beside whom.
    pub(crate) fn are_few_to_share(&self, group: &Group) -> bool {
        self.shared && group.n() <= MOST_TO_SHARE
    }

    /// The PEs that were on this one's processor when they last said where they are: a bit for each, or none where there are too many. Of a crew, all
    /// of it.
    pub(crate) fn beside(&self, group: &Group) -> Set {
        if let Some(crew) = &self.crew {
            return crew.members;
        }
        if !self.are_few_to_share(group) {
            return Set(0);
        }
        self.look_beside(group, self.tell(group))
    }

    /// Whether a PE was on this one's processor when this one looked the last time.
    pub(crate) fn is_beside(&self, pe: usize) -> bool {
        let beside = self.crew.as_ref().map_or_else(|| self.beside.load(Relaxed), |crew| crew.members.0);
        pe < MOST_TO_SHARE && beside >> pe & 1 == 1
    }

    /// Whether the next broadcast is another PE's, if the roots go on as before.
    pub(crate) fn next_is_another(&self, group: &Group) -> bool {
        self.next_root(group.n()).is_some_and(|root| root != group.me())
    }

    fn are_needed_by_others(&self, group: &Group) -> bool {
        if let Some(crew) = &self.crew {
            let index = self.counter.load(Relaxed);
            let all = self.counted[index].load(Relaxed) * crew.members.len();
            return count(group, crew, COUNTERS[index]).load(Relaxed) < all;
        }
        let come = self.tell(group);
        let is_held_up = |pe: usize| is_held_up(come_to(group, pe), come);
        if group.n() > MOST_TO_SHARE {
            return (0..group.n()).filter(|&pe| pe != group.me()).any(is_held_up);
        }
        self.look_beside(group, come).any(is_held_up)
    }

    /// Who is beside this PE, which has come to `come`.
    fn look_beside(&self, group: &Group, come: u64) -> Set {
        // Only this PE's collectives, one at a time, write these.
        let looks = self.looks.load(Relaxed);
        self.looks.store(looks + 1, Relaxed);
        let here = come % (1 << PROCESSOR_BITS);
        let moved = self.here.load(Relaxed) != here;
        self.here.store(here, Relaxed);
        if looks.is_multiple_of(OFTEN) || moved {
            let others = (0..group.n()).filter(|&pe| pe != group.me());
            let bit = |pe: usize| u64::from(is_beside(come_to(group, pe), come)) << pe;
            self.beside.store(others.map(bit).sum(), Relaxed);
        }
        Set(self.beside.load(Relaxed))
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

/// Some PEs of a few, from the lowest number on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Set(u64);

impl Set {
    /// With one more.
    pub(crate) fn with(self, pe: usize) -> Self {
        debug_assert!(pe < MOST_TO_SHARE);
        Self(self.0 | 1 << pe)
    }

    /// How many these are.
    pub(crate) fn len(self) -> u64 {
        u64::from(self.0.count_ones())
    }
}

impl Iterator for Set {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let pe = self.0.trailing_zeros() as usize;
        self.0 &= self.0.wrapping_sub(1);
        (pe < MOST_TO_SHARE).then_some(pe)
    }
}

impl DoubleEndedIterator for Set {
    fn next_back(&mut self) -> Option<usize> {
        let pe = self.0.checked_ilog2()?;
        self.0 ^= 1 << pe;
        Some(pe as usize)
    }
}

/// How many times somebody of a crew has come to a meeting.
#[inline(always)]
fn count<'a>(group: &'a Group, crew: &Crew, counter: Flag) -> &'a AtomicU64 {
    words::word(group.words_of(crew.head).0, counter.place())
}

/// What a PE has come to, and where.
#[inline(always)]
fn come_to(group: &Group, pe: usize) -> u64 {
    words::word(group.words_of(pe).0, Flag::Come.place()).load(Relaxed)
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
            let processors = Processors::new(true, None);
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
