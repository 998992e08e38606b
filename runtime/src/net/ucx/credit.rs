//! How much of a PE's messages another one keeps before somebody waits for them.
//!
//! Each PE counts what it has sent another, and that one tells it now and then how much of that was taken. Beyond some bytes that were
//! not, a message is only promised, and sent when it is asked for: so a PE that is late has little to keep, and none waits for room that
//! only later messages make.

use std::{collections::HashMap, hash::BuildHasherDefault};

use super::worker::NumberHasher;

/// Bytes that a PE keeps for each other one, and so of the longest message that is sent unasked.
pub(super) const CREDIT: u64 = 4 << 20;
/// After so many it says what it has taken.
const OFTEN: u64 = CREDIT / 4;

#[derive(Default)]
pub(super) struct Credit {
    accounts: HashMap<usize, Account, BuildHasherDefault<NumberHasher>>,
    /// Who is to be told what was taken of its messages.
    untold: Vec<usize>,
}

/// What went between this PE and another.
#[derive(Default)]
struct Account {
    /// Bytes sent there, and taken there as far as is known here.
    sent: u64,
    spent: u64,
    /// Bytes from there that were taken here, and of which it was told.
    taken: u64,
    told: u64,
}

impl Credit {
    /// Whether so many bytes may be sent to `pe` unasked. Then they are counted.
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

    /// Whether there is somebody to be told.
    pub(super) fn has_untold(&self) -> bool {
        !self.untold.is_empty()
    }

    /// So many bytes that `pe` has sent unasked were taken. Whether it is to be told.
    pub(super) fn take(&mut self, pe: usize, len: usize) -> bool {
        let account = self.accounts.entry(pe).or_default();
        account.taken += len as u64;
        let tell = account.taken - account.told >= OFTEN;
        if tell {
            account.told = account.taken;
            self.untold.push(pe);
        }
        tell
    }

    /// Who is to be told, and how much was taken.
    pub(super) fn untold(&mut self) -> Vec<(usize, u64)> {
        let pes = std::mem::take(&mut self.untold);
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
        let told: Vec<bool> = (0..16).map(|_| receiver.take(3, len)).collect();
        assert_eq!(told.iter().filter(|&&told| told).count(), 4);
        let all = receiver.untold();
        assert!(all.iter().all(|&(pe, taken)| (pe, taken) == (3, CREDIT)) && receiver.untold().is_empty());
        sender.was_taken(7, CREDIT);
        // Of what comes late, the larger number counts.
        sender.was_taken(7, CREDIT / 4);
        assert!((0..16).all(|_| sender.spend(7, len)) && !sender.spend(7, 1));
        assert!(!sender.spend(9, CREDIT as usize + 1));
    }
}
