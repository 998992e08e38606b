//! What was sent to a PE and came from it, counted, so that a flush knows when all of it was applied.
//!
//! A target that told of every batch would have its sender take as many messages as it sends. So a batch says whether it is to be
//! told of: where the sender has lately waited for single ones, it will wait for this one too, and hears of it without having asked.
//! Else it asks when it waits.

use std::collections::{BTreeMap, BTreeSet};

use oxshmem_progress::completion::Completion;

/// Flushes of so few batches let it be supposed that those of the next one are as few.
const FEW: u64 = 2;

/// Who sends a batch, which of those to the same PE it is, and whether the sender is to be told when it was applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp(u64);

impl Stamp {
    /// Numbers of PEs have fewer bits.
    const TELL: u64 = 1 << 31;

    fn new(from: usize, number: u64, tell: bool) -> Self {
        let from = from as u64 & (Self::TELL - 1);
        Self(from | if tell { Self::TELL } else { 0 } | number << u32::BITS)
    }

    pub(super) fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    pub(super) fn bits(self) -> u64 {
        self.0
    }

    pub(super) fn from(self) -> usize {
        (self.0 & (Self::TELL - 1)) as usize
    }

    /// The lower half of its number.
    fn number(self) -> u32 {
        (self.0 >> u32::BITS) as u32
    }

    fn tells(self) -> bool {
        self.0 & Self::TELL != 0
    }
}

/// What is counted for a PE.
#[derive(Default)]
pub(super) struct Line {
    /// Batches sent there, and applied there as far as is known.
    sent: u64,
    applied: u64,
    /// Up to which the other PE tells of them.
    asked: u64,
    /// How many were sent when somebody waited for them last, and whether few were since the time before.
    awaited: u64,
    was_few: bool,
    /// How many were sent with the last of which the data may come later.
    long: u64,
    /// By how many batches they wait for.
    waiting: BTreeMap<u64, Vec<Completion>>,
    failed: bool,
    /// All batches from there below this number were applied here, and so were these above it.
    performed: u64,
    early: BTreeSet<u64>,
    /// Of how many the other PE wants to be told, and was told.
    wanted: u64,
    told: u64,
}

impl Line {
    /// Counts a batch of this PE, `me`, that is about to be sent. Of one that takes long to send, the sender is told in any case.
    pub(super) fn announce(&mut self, me: usize, is_long: bool, is_cheap_to_tell: bool) -> Stamp {
        let number = self.sent;
        self.sent += 1;
        if is_long {
            self.long = self.sent;
        }
        let tell = is_long || is_cheap_to_tell || (self.was_few && self.sent - self.awaited <= FEW);
        if tell {
            self.asked = self.sent;
        }
        Stamp::new(me, number, tell)
    }

    /// How many batches the other PE has to apply in all, if it has not.
    pub(super) fn unapplied(&self) -> Option<u64> {
        (self.applied < self.sent).then_some(self.sent)
    }

    /// How many it has to apply before what was offered to it has come, if it has not.
    pub(super) fn unapplied_long(&self) -> Option<u64> {
        (self.applied < self.long && !self.failed).then_some(self.long)
    }

    /// Keeps `done` until it has applied `count` batches, and returns whether it is to be asked for that; gives `done` back if there is
    /// nothing to wait for.
    pub(super) fn wait(&mut self, count: u64, done: Completion) -> Result<bool, Completion> {
        self.was_few = self.sent - self.awaited <= FEW;
        self.awaited = self.sent;
        if self.applied >= count || self.failed {
            return Err(done);
        }
        self.waiting.entry(count).or_default().push(done);
        let asks = self.asked < count;
        self.asked = self.asked.max(count);
        Ok(asks)
    }

    /// The other PE has applied `count` batches. Whom to tell.
    pub(super) fn applied(&mut self, count: u64) -> Vec<Completion> {
        // No more than were sent, whatever it says.
        self.applied = self.applied.max(count.min(self.sent));
        let later = self.waiting.split_off(&(self.applied + 1));
        std::mem::replace(&mut self.waiting, later).into_values().flatten().collect()
    }

    /// The other PE will apply nothing any more. Whom to tell.
    pub(super) fn fail(&mut self) -> Vec<Completion> {
        self.failed = true;
        std::mem::take(&mut self.waiting).into_values().flatten().collect()
    }

    /// Its batch of this stamp was applied here. One whose data UCX has offered comes after later ones, and whoever has sent it must not
    /// be told before it has.
    pub(super) fn perform(&mut self, stamp: Stamp) {
        let ahead = u64::from(stamp.number().wrapping_sub(self.performed as u32));
        if stamp.tells() {
            self.wanted = self.wanted.max(self.performed + ahead + 1);
        }
        if ahead > 0 {
            self.early.insert(self.performed + ahead);
            return;
        }
        self.performed += 1;
        while self.early.remove(&self.performed) {
            self.performed += 1;
        }
    }

    /// The other PE wants to be told when so many were applied.
    pub(super) fn want(&mut self, count: u64) {
        self.wanted = self.wanted.max(count);
    }

    /// Whether it is to be told, now, how many were applied.
    pub(super) fn owes(&self) -> bool {
        self.wanted > self.told && self.performed > self.told
    }

    /// It is told now that so many were.
    pub(super) fn tell(&mut self) -> u64 {
        self.told = self.performed;
        self.told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers the batches of a test from here on.
    const BASE: u64 = u32::MAX as u64 - 1;

    fn line() -> Line {
        Line {
            sent: BASE,
            applied: BASE,
            asked: BASE,
            awaited: BASE,
            performed: BASE,
            told: BASE,
            ..Line::default()
        }
    }

    #[test]
    fn a_batch_that_comes_late_keeps_those_after_it_from_being_told_of() {
        for tell in [false, true] {
            let mut line = line();
            let mut told = |number: u64| {
                line.perform(Stamp::new(7, BASE + number, tell));
                let owes = line.owes();
                assert!(tell || !owes);
                if owes { line.tell() - BASE } else { line.performed - BASE }
            };
            assert_eq!([0, 2, 4, 3, 1, 5].map(&mut told), [1, 1, 1, 1, 5, 6]);
        }
    }

    #[test]
    fn whoever_asks_is_told_once_the_last_has_come() {
        let mut line = line();
        line.want(BASE + 3);
        assert!(!line.owes());
        for number in [0, 2] {
            line.perform(Stamp::new(7, BASE + number, false));
        }
        // Of what is there, and, as that is not all, again.
        assert!(line.owes());
        assert_eq!(line.tell(), BASE + 1);
        assert!(!line.owes());
        line.perform(Stamp::new(7, BASE + 1, false));
        assert!(line.owes());
        assert_eq!(line.tell(), BASE + 3);
        line.perform(Stamp::new(7, BASE + 3, false));
        assert!(!line.owes());
        // Nor is an answer lost to who asks for what it was told of.
        line.want(BASE + 3);
        assert!(!line.owes());
        line.want(BASE + 4);
        assert!(line.owes());
    }

    #[test]
    fn a_stamp_says_who_and_which() {
        for (from, number, tell) in [(0, 0, false), (0x7fff_ffff, 5, true), (3, u64::from(u32::MAX), false)] {
            let stamp = Stamp::from_bits(Stamp::new(from, number, tell).bits());
            assert_eq!((stamp.from(), stamp.number(), stamp.tells()), (from, number as u32, tell));
        }
    }

    #[test]
    fn batches_that_are_awaited_one_by_one_need_no_question() {
        let mut line = line();
        let done = || Box::new(|_| ()) as Completion;
        let asks = |line: &mut Line, batches: u64| {
            let stamps: Vec<_> = (0..batches).map(|_| line.announce(1, false, false)).collect();
            let count = line.unapplied().expect("they were not applied");
            let asks = line.wait(count, done()).ok().expect("they were not applied");
            assert_eq!(asks, !stamps.last().expect("one at least").tells());
            assert_eq!(line.applied(count).len(), 1);
            asks
        };
        assert_eq!(
            [1, 1, 2, 100, 1, 1].map(|batches| asks(&mut line, batches)),
            [true, false, false, true, true, false]
        );
        // What takes long is told of in any case.
        assert!(line.announce(1, true, false).tells());
        assert!(line.wait(BASE, done()).is_err());
    }
}
