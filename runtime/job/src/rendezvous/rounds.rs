//! The exchanges that some PEs have joined and not all: which contributions belong together.

use std::{collections::VecDeque, sync::Arc};

use crate::wire::pack;

/// The exchanges under way, in order. A PE's k-th contribution belongs to the k-th exchange.
#[derive(Debug)]
pub(super) struct Rounds {
    open: VecDeque<Gathering>,
    /// How many are over.
    over: u64,
    /// How many each PE has contributed to.
    given: Vec<u64>,
}

#[derive(Debug)]
struct Gathering {
    contributions: Vec<Vec<u8>>,
    /// By PE: the ticket under which it waits, and whether it wants the contributions.
    waiting: Vec<Option<(u64, bool)>>,
    missing: usize,
}

/// An exchange that all PEs have joined.
#[derive(Debug)]
pub(super) struct Gathered {
    /// All contributions, for those that want them.
    pub(super) packed: Arc<[u8]>,
    /// By PE: its ticket, and whether it wants them.
    pub(super) waiting: Vec<(u64, bool)>,
}

impl Rounds {
    pub(super) fn new(n_pes: usize) -> Self {
        Self { open: VecDeque::new(), over: 0, given: vec![0; n_pes] }
    }

    /// Takes a PE's next contribution, for which it waits under a ticket. The exchange that this
    /// completes, if it does.
    pub(super) fn give(&mut self, pe: usize, waits: (u64, bool), mine: Vec<u8>) -> Option<Gathered> {
        let n = self.given.len();
        let index = (self.given[pe] - self.over) as usize;
        self.given[pe] += 1;
        while self.open.len() <= index {
            self.open.push_back(Gathering {
                contributions: vec![Vec::new(); n],
                waiting: vec![None; n],
                missing: n,
            });
        }
        let round = &mut self.open[index];
        round.contributions[pe] = mine;
        round.waiting[pe] = Some(waits);
        round.missing -= 1;
        // PEs contribute in order, so that it is the first.
        if self.open.front()?.missing > 0 {
            return None;
        }
        let done = self.open.pop_front()?;
        self.over += 1;
        let packed = pack(&done.contributions).into();
        Some(Gathered { packed, waiting: done.waiting.into_iter().flatten().collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::unpack;

    #[test]
    fn contributions_are_matched_in_order_whichever_pe_is_ahead() {
        let mut rounds = Rounds::new(3);
        for round in 0..4 {
            assert!(rounds.give(2, (round, false), vec![2, round as u8]).is_none());
        }
        assert!(rounds.give(0, (70, true), vec![0]).is_none());
        for round in 0..4 {
            let early = rounds.give(1, (10 + round, true), vec![1]);
            if round > 0 {
                assert!(early.is_none());
                let done = rounds.give(0, (70 + round, true), vec![0]).expect("the last to come");
                assert_eq!(done.waiting, [(70 + round, true), (10 + round, true), (round, false)]);
                let all = unpack(&done.packed, 3).expect("well packed");
                assert_eq!(*all, [vec![0], vec![1], vec![2, round as u8]]);
            } else {
                assert!(early.is_some());
            }
        }
    }
}
