//! What PE 0 decides in a job that goes on when a PE is lost: which PEs are, in which order, and
//! what all know of. Logic without I/O.
//!
//! A PE is lost when its connection is closed, which its kernel does when no thread of its process
//! runs any more. If there is any other doubt, its lease has to be over first.

use std::time::{Duration, Instant};

use crate::{
    lease::{Grants, now},
    losses::Loss,
    suspicions::Suspicions,
};

/// The state of all PEs, PE 0 among them.
pub(super) struct Arbiter {
    pes: Vec<PeState>,
    was_whole: bool,
    losses: Vec<Loss>,
    /// How many losses all PEs know of.
    settled: u64,
    grants: Grants,
    suspicions: Suspicions,
}

#[derive(Clone, Default)]
struct PeState {
    /// Whether its init is over.
    survives: bool,
    has_left: bool,
    is_lost: bool,
    /// How many losses it knows of.
    knows: u64,
}

impl Arbiter {
    pub(super) fn new(n_pes: usize, lease: Duration) -> Self {
        Self {
            pes: vec![PeState::default(); n_pes],
            was_whole: false,
            losses: Vec::new(),
            settled: 0,
            grants: Grants::new(lease, n_pes),
            suspicions: Suspicions::new(lease),
        }
    }

    /// Init is over on PE `pe`, which has a lease from now on.
    pub(super) fn survives(&mut self, pe: usize) {
        self.pes[pe].survives = true;
        if pe > 0 {
            self.grants.begin(pe, now());
        }
        self.was_whole |= self.pes.iter().all(|state| state.survives);
    }

    /// Whether the job goes on without a PE that is lost now: once init is over on all PEs.
    pub(super) fn goes_on(&self) -> bool {
        self.was_whole
    }

    /// Whether a beat of PE `pe` is acknowledged.
    pub(super) fn acknowledges(&mut self, pe: usize) -> bool {
        self.grants.acknowledges(pe, now())
    }

    /// PE `pe` does not reach another, or does again.
    pub(super) fn report(&mut self, pe: usize, other: usize, out_of_reach: bool) {
        if self.pes.get(other).is_some_and(|other| !other.is_lost && !other.has_left) {
            self.suspicions.report(pe, other, out_of_reach, Instant::now());
        }
    }

    /// PE `pe` is to end, and is lost when it is sure to have ended. It knows of nothing more.
    pub(super) fn give_up(&mut self, pe: usize, how: &str) {
        self.grants.give_up(pe, how, now());
    }

    /// The PEs that have ended by now, and how. Those that give no sign of life are given up.
    pub(super) fn dead(&mut self) -> Vec<(usize, String)> {
        let now = now();
        for pe in self.grants.silent(now) {
            let how = format!("gave no sign of life for {} s", self.grants.term().as_secs_f64());
            self.grants.give_up(pe, &how, now);
        }
        // PE 0 does not end for others: the job would.
        while let Some((pe, why)) = self.suspicions.decide(Instant::now(), Some(0)) {
            self.grants.give_up(pe, &why, now);
        }
        self.grants.dead(now)
    }

    /// PE `pe` is lost. None if it was, or has left.
    pub(super) fn lose(&mut self, pe: usize, how: &str) -> Option<Loss> {
        let how = self.grants.why(pe).unwrap_or(how).to_owned();
        self.grants.over(pe);
        self.suspicions.forget(pe);
        let state = &mut self.pes[pe];
        if state.is_lost || state.has_left {
            return None;
        }
        state.is_lost = true;
        let loss = Loss::new(pe, self.losses.len() as u64 + 1, &how);
        self.losses.push(loss.clone());
        Some(loss)
    }

    /// PE `pe` has left in good order.
    pub(super) fn left(&mut self, pe: usize) {
        self.pes[pe].has_left = true;
        self.grants.over(pe);
        self.suspicions.forget(pe);
    }

    /// PE `pe` knows of this number of losses.
    pub(super) fn knows(&mut self, pe: usize, view: u64) {
        self.pes[pe].knows = view;
    }

    /// How many losses all know of, if that is news.
    pub(super) fn newly_settled(&mut self) -> Option<u64> {
        let view = self.staying().map(|pe| self.pes[pe].knows).min()?;
        (view > self.settled).then(|| {
            self.settled = view;
            view
        })
    }

    /// The PEs that have neither left nor are lost.
    pub(super) fn staying(&self) -> impl Iterator<Item = usize> {
        let pes = self.pes.iter().enumerate();
        pes.filter(|(_, state)| !state.has_left && !state.is_lost).map(|(pe, _)| pe)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_numbered_and_settled_once_all_that_stay_know_of_them() {
        let mut arbiter = Arbiter::new(4, Duration::from_secs(3600));
        (0..3).for_each(|pe| arbiter.survives(pe));
        assert!(!arbiter.goes_on(), "the init of one is not over");
        assert!(!arbiter.acknowledges(3), "it has no lease yet");
        arbiter.survives(3);
        assert!(arbiter.goes_on() && arbiter.acknowledges(3));
        // What it was given up for counts, however it ends.
        arbiter.give_up(3, "it is a test");
        assert!(!arbiter.acknowledges(3) && arbiter.dead().is_empty());
        assert_eq!(arbiter.lose(3, "it ended"), Some(Loss::new(3, 1, "it is a test")));
        assert_eq!(arbiter.lose(3, "again"), None);
        assert_eq!(arbiter.lose(1, "it ended"), Some(Loss::new(1, 2, "it ended")));
        arbiter.knows(0, 2);
        assert_eq!(arbiter.newly_settled(), None, "PE 2 knows of none");
        arbiter.knows(2, 1);
        assert_eq!((arbiter.newly_settled(), arbiter.newly_settled()), (Some(1), None));
        arbiter.left(2);
        assert_eq!(arbiter.newly_settled(), Some(2));
        assert_eq!(arbiter.lose(2, "it has left"), None);
        assert_eq!(arbiter.staying().collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn a_pe_that_gives_no_sign_of_life_is_dead_after_its_lease_and_half_of_it() {
        let mut arbiter = Arbiter::new(3, Duration::from_millis(100));
        (0..3).for_each(|pe| arbiter.survives(pe));
        let begin = Instant::now();
        let dead = loop {
            assert!(arbiter.acknowledges(1), "it gives signs of life");
            let dead = arbiter.dead();
            if !dead.is_empty() {
                break dead;
            }
        };
        assert_eq!(dead, [(2, "gave no sign of life for 0.1 s".to_owned())]);
        assert!(begin.elapsed() >= Duration::from_millis(149), "{:?}", begin.elapsed());
    }
}
