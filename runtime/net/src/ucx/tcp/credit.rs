//! How much of a PE's messages another one keeps before it receives them.
//!
//! Each PE counts what it has sent another, and that one reports now and then how much of it was
//! taken. Beyond some bytes that were not, a message is only promised, and sent when it is asked
//! for: so a PE that is late has little to keep, and none waits for room that only later messages
//! make.

use std::{collections::HashMap, hash::BuildHasherDefault};

use super::super::NumberHasher;

/// Bytes that a PE keeps for each other one, and so of the longest message that is sent unasked.
pub(super) const CREDIT: u64 = 4 << 20;
/// After this many bytes it reports what it has taken.
const OFTEN: u64 = CREDIT / 4;

#[derive(Default)]
pub(super) struct Credit {
    accounts: HashMap<usize, Account, BuildHasherDefault<NumberHasher>>,
    /// The PEs that a report is owed to.
    owed: Vec<usize>,
}

/// What went between this PE and another.
#[derive(Default)]
struct Account {
    /// Bytes sent there, and taken there as far as is known here.
    sent: u64,
    spent: u64,
    /// Bytes from there that were taken here, and that were reported.
    taken: u64,
    reported: u64,
}

impl Credit {
    /// Whether `len` bytes may be sent to `pe` unasked. Then they are counted.
    pub(super) fn spend(&mut self, pe: usize, len: usize) -> bool {
        let account = self.accounts.entry(pe).or_default();
        let kept = account.sent.saturating_sub(account.spent);
        let may = kept.saturating_add(len as u64) <= CREDIT;
        account.sent += if may { len as u64 } else { 0 };
        may
    }

    /// `pe` has taken so much in all.
    pub(super) fn was_taken(&mut self, pe: usize, taken: u64) {
        let account = self.accounts.entry(pe).or_default();
        // No more than was sent, whatever it says.
        account.spent = account.spent.max(taken.min(account.sent));
    }

    /// Whether a report is owed.
    pub(super) fn owes(&self) -> bool {
        !self.owed.is_empty()
    }

    /// `len` bytes that `pe` has sent unasked were taken. Whether a report is owed to it now.
    pub(super) fn take(&mut self, pe: usize, len: usize) -> bool {
        let account = self.accounts.entry(pe).or_default();
        account.taken += len as u64;
        let reports = account.taken - account.reported >= OFTEN;
        if reports {
            account.reported = account.taken;
            self.owed.push(pe);
        }
        reports
    }

    /// The PEs that a report is owed to, and how much of their messages was taken.
    pub(super) fn reports(&mut self) -> Vec<(usize, u64)> {
        let pes = std::mem::take(&mut self.owed);
        pes.into_iter().filter_map(|pe| Some((pe, self.accounts.get(&pe)?.taken))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_limited_and_what_was_taken_makes_room() {
        let (mut sender, mut receiver) = (Credit::default(), Credit::default());
        let len = (CREDIT / 16) as usize;
        assert!((0..16).all(|_| sender.spend(7, len)));
        assert!(!sender.spend(7, 1) && sender.spend(8, 1));
        let reported: Vec<bool> = (0..16).map(|_| receiver.take(3, len)).collect();
        assert_eq!(reported.iter().filter(|&&reported| reported).count(), 4);
        let all = receiver.reports();
        assert!(all.iter().all(|&(pe, taken)| (pe, taken) == (3, CREDIT)) && receiver.reports().is_empty());
        sender.was_taken(7, CREDIT);
        // Of what comes late, the larger number counts.
        sender.was_taken(7, CREDIT / 4);
        assert!((0..16).all(|_| sender.spend(7, len)) && !sender.spend(7, 1));
        assert!(!sender.spend(9, CREDIT as usize + 1));
    }
}
