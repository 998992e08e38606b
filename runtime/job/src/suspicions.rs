//! PEs of a job that goes on which cannot reach each other, while `oshrun` reaches both.
//!
//! Each reports the others that it does not reach, and when it does again. What a PE is in with one
//! that it does not reach waits. If that lasts, one of the two has to end: the one that more others
//! do not reach, or of two alike the one with the higher number. So where a network falls into two
//! parts, the PEs of the smaller one end.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

/// For how many leases PEs may be out of each other's reach after the report.
const LEASES: u32 = 10;

/// All that were reported, and are not over.
pub struct Suspicions {
    patience: Duration,
    pairs: Vec<Pair>,
}

/// A PE does not reach another.
struct Pair {
    from: usize,
    to: usize,
    since: Instant,
}

impl Suspicions {
    /// For a job whose hosts have leases of this length.
    pub fn new(lease: Duration) -> Self {
        Self { patience: lease * LEASES, pairs: Vec::new() }
    }

    /// PE `from` does not reach PE `to`, or does again.
    pub fn report(&mut self, from: usize, to: usize, out_of_reach: bool, now: Instant) {
        let known = self.pairs.iter().position(|pair| (pair.from, pair.to) == (from, to));
        match (known, out_of_reach) {
            (None, true) => self.pairs.push(Pair { from, to, since: now }),
            (Some(at), false) => drop(self.pairs.remove(at)),
            _ => {}
        }
    }

    /// PE `pe` is in the job no more.
    pub fn forget(&mut self, pe: usize) {
        self.pairs.retain(|pair| pair.from != pe && pair.to != pe);
    }

    /// The job has stood still.
    pub fn begin_again(&mut self, now: Instant) {
        self.pairs.iter_mut().for_each(|pair| pair.since = now);
    }

    /// When a PE is to end, unless it is reached by then.
    pub fn due(&self) -> Option<Instant> {
        self.pairs.iter().map(|pair| pair.since + self.patience).min()
    }

    /// The PE that is to end now, and why. It is not the one that is `spared`.
    pub fn decide(&mut self, now: Instant, spared: Option<usize>) -> Option<(usize, String)> {
        if self.due().is_none_or(|due| now < due) {
            return None;
        }
        let others = |pe: usize| -> BTreeSet<usize> {
            let of = |pair: &Pair| match pe {
                _ if pair.from == pe => Some(pair.to),
                _ if pair.to == pe => Some(pair.from),
                _ => None,
            };
            self.pairs.iter().filter_map(of).collect()
        };
        let pes: BTreeSet<usize> = self.pairs.iter().flat_map(|pair| [pair.from, pair.to]).collect();
        let pes = pes.into_iter().filter(|&pe| Some(pe) != spared);
        let pe = pes.max_by_key(|&pe| (others(pe).len(), pe))?;
        let others: Vec<String> = others(pe).iter().map(usize::to_string).collect();
        let (pes, others) = (if others.len() == 1 { "PE" } else { "PEs" }, others.join(", "));
        self.forget(pe);
        let why =
            format!("was out of reach of {pes} {others} for more than {} s", self.patience.as_secs_f64());
        Some((pe, why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(2);

    fn reported(pairs: &[(usize, usize)]) -> (Suspicions, Instant) {
        let (mut suspicions, now) = (Suspicions::new(LEASE), Instant::now());
        pairs.iter().for_each(|&(from, to)| suspicions.report(from, to, true, now));
        (suspicions, now)
    }

    /// The PEs that end if nothing is reached again.
    fn ended((mut suspicions, now): (Suspicions, Instant), spared: Option<usize>) -> Vec<usize> {
        let later = now + LEASE * LEASES;
        assert_eq!(suspicions.decide(later - Duration::from_millis(1), None), None, "it is too early");
        std::iter::from_fn(|| suspicions.decide(later, spared).map(|(pe, _)| pe)).collect()
    }

    #[test]
    fn the_smaller_part_of_a_network_ends_and_of_two_alike_the_second() {
        assert_eq!(ended(reported(&[(0, 2), (3, 0), (2, 1), (1, 3)]), None), [3, 2]);
        assert_eq!(ended(reported(&[(1, 0), (0, 2), (3, 0)]), None), [0]);
        assert_eq!(ended(reported(&[(1, 0), (0, 2), (3, 0)]), Some(0)), [3, 2, 1]);
        assert_eq!(ended(reported(&[(1, 4), (4, 1)]), None), [4]);
        assert_eq!(reported(&[]).0.due(), None);
    }

    #[test]
    fn a_pe_that_is_reached_again_is_left_alone() {
        let (mut suspicions, now) = reported(&[(0, 1), (0, 2)]);
        suspicions.report(0, 1, false, now);
        suspicions.forget(2);
        assert_eq!(suspicions.due(), None);
        suspicions.report(0, 1, true, now + LEASE);
        suspicions.report(0, 1, true, now + 2 * LEASE);
        assert_eq!(suspicions.due(), Some(now + LEASE + LEASE * LEASES));
        suspicions.begin_again(now + 3 * LEASE);
        let due = now + 3 * LEASE + LEASE * LEASES;
        let why = "was out of reach of PE 0 for more than 20 s".to_owned();
        assert_eq!(suspicions.decide(due, None), Some((1, why)));
    }
}
