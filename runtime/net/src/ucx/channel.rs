//! The channel to a PE: the batches that went there and came from there, counted, so that a flush
//! knows when all of them were applied. Threads may send them in another order than they are
//! counted in.
//!
//! If a target reported every batch, the sender would get as many messages as it sends. So a batch
//! says whether it is to be reported: where the sender has lately waited for single ones, it will
//! wait for this one too, and gets a report without having asked. Else it asks when it waits.

use std::collections::{BTreeMap, BTreeSet};

use oxshmem_progress::completion::Completion;

/// After a flush of so few batches the next one is taken to be of as few.
const FEW: u64 = 2;

/// The sender of a batch, its number among those to the same PE, and whether the target reports
/// that it was applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp(u64);

impl Stamp {
    /// Numbers of PEs have fewer bits.
    const REPORTED: u64 = 1 << 31;

    fn new(from: usize, number: u64, tell: bool) -> Self {
        let from = from as u64 & (Self::REPORTED - 1);
        Self(from | if tell { Self::REPORTED } else { 0 } | number << u32::BITS)
    }

    pub(super) fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    pub(super) fn bits(self) -> u64 {
        self.0
    }

    pub(super) fn from(self) -> usize {
        (self.0 & (Self::REPORTED - 1)) as usize
    }

    /// The lower half of its number.
    fn number(self) -> u32 {
        (self.0 >> u32::BITS) as u32
    }

    fn is_reported(self) -> bool {
        self.0 & Self::REPORTED != 0
    }
}

/// What is counted for a PE.
#[derive(Default)]
pub(super) struct Channel {
    /// Batches sent there, and applied there as far as is known.
    sent: u64,
    applied: u64,
    /// Up to which the other PE reports them.
    asked: u64,
    /// How many were sent at the last flush, and whether they were few since the one before.
    awaited: u64,
    was_few: bool,
    /// Flushes, by how many batches they wait for.
    waiting: BTreeMap<u64, Vec<Completion>>,
    failed: bool,
    /// All batches from there below this number were applied here, and so were these above it.
    performed: u64,
    early: BTreeSet<u64>,
    /// How many the other PE wants reported, and how many were reported to it.
    wanted: u64,
    reported: u64,
}

impl Channel {
    /// Counts a batch of this PE, `me`, that is about to be sent.
    pub(super) fn announce(&mut self, me: usize) -> Stamp {
        let number = self.sent;
        self.sent += 1;
        let tell = self.was_few && self.sent - self.awaited <= FEW;
        if tell {
            self.asked = self.sent;
        }
        Stamp::new(me, number, tell)
    }

    /// How many batches the other PE has to apply in all, if it has not.
    pub(super) fn unapplied(&self) -> Option<u64> {
        (self.applied < self.sent).then_some(self.sent)
    }

    /// Keeps `done` until the other PE has applied `count` batches, and returns whether to ask for
    /// a report; gives `done` back if there is nothing to wait for.
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

    /// The other PE has applied `count` batches. Returns what completes.
    pub(super) fn applied(&mut self, count: u64) -> Vec<Completion> {
        // No more than were sent, whatever it says.
        self.applied = self.applied.max(count.min(self.sent));
        let later = self.waiting.split_off(&(self.applied + 1));
        std::mem::replace(&mut self.waiting, later).into_values().flatten().collect()
    }

    /// The other PE will apply nothing any more. Returns what fails.
    pub(super) fn fail(&mut self) -> Vec<Completion> {
        self.failed = true;
        std::mem::take(&mut self.waiting).into_values().flatten().collect()
    }

    /// Its batch of this stamp was applied here. Later ones that came before are not reported until
    /// it was.
    pub(super) fn perform(&mut self, stamp: Stamp) {
        let ahead = u64::from(stamp.number().wrapping_sub(self.performed as u32));
        if stamp.is_reported() {
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

    /// The other PE wants a report when this many were applied.
    pub(super) fn want(&mut self, count: u64) {
        self.wanted = self.wanted.max(count);
    }

    /// Whether it is owed a report now.
    pub(super) fn owes(&self) -> bool {
        self.wanted > self.reported && self.performed > self.reported
    }

    /// How many were applied, which is reported now.
    pub(super) fn report(&mut self) -> u64 {
        self.reported = self.performed;
        self.reported
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers the batches of a test from here on.
    const BASE: u64 = u32::MAX as u64 - 1;

    fn channel() -> Channel {
        Channel {
            sent: BASE,
            applied: BASE,
            asked: BASE,
            awaited: BASE,
            performed: BASE,
            reported: BASE,
            ..Channel::default()
        }
    }

    #[test]
    fn a_batch_that_comes_late_keeps_those_after_it_from_being_reported() {
        for tell in [false, true] {
            let mut channel = channel();
            let mut applied = |number: u64| {
                channel.perform(Stamp::new(7, BASE + number, tell));
                let owes = channel.owes();
                assert!(tell || !owes);
                if owes { channel.report() - BASE } else { channel.performed - BASE }
            };
            assert_eq!([0, 2, 4, 3, 1, 5].map(&mut applied), [1, 1, 1, 1, 5, 6]);
        }
    }

    #[test]
    fn a_report_that_is_wanted_comes_once_the_last_has_come() {
        let mut channel = channel();
        channel.want(BASE + 3);
        assert!(!channel.owes());
        for number in [0, 2] {
            channel.perform(Stamp::new(7, BASE + number, false));
        }
        // Of what is there, and, as that is not all, again.
        assert!(channel.owes());
        assert_eq!(channel.report(), BASE + 1);
        assert!(!channel.owes());
        channel.perform(Stamp::new(7, BASE + 1, false));
        assert!(channel.owes());
        assert_eq!(channel.report(), BASE + 3);
        channel.perform(Stamp::new(7, BASE + 3, false));
        assert!(!channel.owes());
        // What was reported is not reported again.
        channel.want(BASE + 3);
        assert!(!channel.owes());
        channel.want(BASE + 4);
        assert!(channel.owes());
    }

    #[test]
    fn a_stamp_names_the_sender_and_the_batch() {
        for (from, number, tell) in [(0, 0, false), (0x7fff_ffff, 5, true), (3, u64::from(u32::MAX), false)] {
            let stamp = Stamp::from_bits(Stamp::new(from, number, tell).bits());
            assert_eq!((stamp.from(), stamp.number(), stamp.is_reported()), (from, number as u32, tell));
        }
    }

    #[test]
    fn batches_that_are_awaited_one_by_one_need_no_question() {
        let mut channel = channel();
        let done = || Box::new(|_| ()) as Completion;
        let asks = |channel: &mut Channel, batches: u64| {
            let stamps: Vec<_> = (0..batches).map(|_| channel.announce(1)).collect();
            let count = channel.unapplied().expect("they were not applied");
            let asks = channel.wait(count, done()).ok().expect("they were not applied");
            assert_eq!(asks, !stamps.last().expect("one at least").is_reported());
            assert_eq!(channel.applied(count).len(), 1);
            asks
        };
        assert_eq!(
            [1, 1, 2, 100, 1, 1].map(|batches| asks(&mut channel, batches)),
            [true, false, false, true, true, false]
        );
        assert!(channel.wait(BASE, done()).is_err());
    }
}
