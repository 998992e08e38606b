//! Clusters that go on without PEs that are lost: what the table does about a loss.

use std::{
    fmt,
    future::poll_fn,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use oxshmem_base::{Error, Result};

use super::{Group, Round};
use crate::{
    losses::{Loss, LossWatch, Losses},
    wire::TeamRound,
};

/// Has a PE know of a loss.
pub type News = Box<dyn FnOnce() + Send>;

/// Brings news to a PE: runs it, at once or later, and that of one PE in its order.
pub type Courier = Box<dyn Fn(usize, News) + Send + Sync>;

/// What the PEs know of losses.
pub(super) struct Survival {
    pes: Box<[PeLosses]>,
    courier: OnceLock<Courier>,
}

#[derive(Default)]
struct PeLosses {
    losses: Arc<Losses>,
    /// How many of them the PE may know of.
    view: AtomicU64,
}

impl Survival {
    pub(super) fn new(n_pes: usize) -> Self {
        Self { pes: (0..n_pes).map(|_| PeLosses::default()).collect(), courier: OnceLock::new() }
    }

    pub(super) fn losses_of(&self, pe: usize) -> &Arc<Losses> {
        &self.pes[pe].losses
    }

    pub(super) fn bring_by(&self, courier: Courier) {
        // The first is there for all.
        let _ = self.courier.set(courier);
    }
}

impl fmt::Debug for Survival {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the losses of {} PEs", self.pes.len())
    }
}

/// The PEs that are lost, and the rounds of members of teams that some member has not joined yet.
#[derive(Debug, Default)]
pub(super) struct Lost {
    losses: Vec<Loss>,
    rounds: Vec<OpenTeamRound>,
}

/// How many PEs were lost when a round was over, and what each member gave.
type Regrouped = (u64, Arc<[Vec<u8>]>);

#[derive(Debug)]
struct OpenTeamRound {
    key: [u64; 2],
    members: Vec<usize>,
    given: Vec<Option<Vec<u8>>>,
    round: Arc<Round<Regrouped>>,
}

impl Lost {
    pub(super) fn view(&self) -> u64 {
        self.losses.len() as u64
    }

    /// An error if PE `pe` is lost.
    pub(super) fn check(&self, pe: usize) -> Result<()> {
        let Some(loss) = self.losses.iter().find(|loss| loss.pe == pe) else { return Ok(()) };
        Err(Error::PeLost { pe, view: loss.view, how: loss.how.to_string() })
    }

    /// Wakes what waits in rounds.
    pub(super) fn wake(&self) {
        self.rounds.iter().for_each(|open| open.round.wake());
    }

    /// Takes out the rounds in which no PE is missing that is not lost.
    fn take_complete(&mut self) -> Vec<(Arc<Round<Regrouped>>, Regrouped)> {
        let view = self.view();
        let Self { losses, rounds } = self;
        let is_lost = |pe: usize| losses.iter().any(|loss| loss.pe == pe);
        let is_over = |open: &mut OpenTeamRound| {
            open.members.iter().zip(&open.given).all(|(&pe, given)| given.is_some() || is_lost(pe))
        };
        let complete = rounds.extract_if(.., is_over).map(|open| {
            // What one that was lost since has given is of no use any more.
            let of_living = |(pe, given): (usize, Option<Vec<u8>>)| given.filter(|_| !is_lost(pe));
            let all = open.members.into_iter().zip(open.given).map(|one| of_living(one).unwrap_or_default());
            (open.round, (view, all.collect()))
        });
        complete.collect()
    }
}

impl Group {
    /// PE `pe` is lost, in a cluster that goes on: it joins nothing any more. It has stopped before
    /// the others know.
    pub(super) fn lose(self: &Arc<Self>, pe: usize, how: &str) {
        let Some(survival) = &self.survival else { return };
        let (view, left, exchanges, rounds) = {
            let mut state = self.lock();
            if state.end.is_some() || state.lost.check(pe).is_err() {
                return;
            }
            let view = state.lost.view() + 1;
            state.lost.losses.push(Loss::new(pe, view, how));
            let left = (0..survival.pes.len()).filter(|&pe| state.lost.check(pe).is_ok());
            let left = left.collect::<Vec<_>>();
            for exchange in state.exchanges.iter_mut().filter(|exchange| exchange.given[pe].is_none()) {
                exchange.missing -= 1;
            }
            // What it waits for itself is looked at again.
            state.exchanges.iter().for_each(|exchange| exchange.round.wake());
            state.lost.wake();
            let exchanges: Vec<_> = std::iter::from_fn(|| state.complete()).collect();
            (view, left, exchanges, state.lost.take_complete())
        };
        self.learn(pe, view);
        for other in left {
            let group = Arc::downgrade(self);
            let news = move || {
                if let Some(group) = group.upgrade() {
                    group.learn(other, view);
                }
            };
            match survival.courier.get() {
                Some(courier) => courier(other, Box::new(news)),
                None => news(),
            }
        }
        exchanges.into_iter().for_each(super::Completed::finish);
        rounds.into_iter().for_each(|(round, outcome)| round.finish(outcome));
    }

    /// PE `pe` knows of the losses up to that view.
    fn learn(&self, pe: usize, view: u64) {
        let Some(known) = self.survival.as_ref().and_then(|survival| survival.pes.get(pe)) else { return };
        // A thread that is at it sees this, or this one sees what that has done: either way locks
        // the losses after it.
        known.view.fetch_max(view, Ordering::AcqRel);
        loop {
            let before = known.losses.view();
            if before >= known.view.load(Ordering::Acquire) {
                return;
            }
            let Some(next) = self.lock().lost.losses.get(before as usize).cloned() else { return };
            known.losses.add(next);
            if known.losses.view() == before {
                return;
            }
            self.settle();
        }
    }

    /// Has all PEs know how many losses all of those that are left know of.
    fn settle(&self) {
        let Some(survival) = &self.survival else { return };
        let left: Vec<&PeLosses> = {
            let lost = &self.lock().lost;
            let pes = survival.pes.iter().enumerate();
            pes.filter(|&(pe, _)| lost.check(pe).is_ok()).map(|(_, pe)| pe).collect()
        };
        let view = left.iter().map(|pe| pe.losses.view()).min().unwrap_or_default();
        left.iter().for_each(|pe| pe.losses.settle(view));
    }

    /// PE `pe` joins a round of the members of a team that are left.
    pub(super) async fn regroup(
        &self,
        pe: usize,
        TeamRound { key, members, given, .. }: TeamRound,
    ) -> Result<(u64, Vec<Vec<u8>>)> {
        let Some(survival) = &self.survival else {
            return Err(Error::Unsupported { what: "the cluster ends when a PE is lost".to_owned() });
        };
        let (round, complete) = {
            let mut state = self.lock();
            state.going_on(pe)?;
            let Some(me) = members.iter().position(|&member| member == pe) else {
                return Err(Error::bootstrap("survivors", "the PE is no member of the team"));
            };
            let rounds = &mut state.lost.rounds;
            let is_it = |open: &OpenTeamRound| open.key == key && open.members == members;
            let at = rounds.iter().position(is_it).unwrap_or(rounds.len());
            if at == rounds.len() {
                let nothing = vec![None; members.len()];
                rounds.push(OpenTeamRound { key, members, given: nothing, round: Arc::default() });
            }
            rounds[at].given[me] = Some(given);
            (Arc::clone(&rounds[at].round), state.lost.take_complete())
        };
        complete.into_iter().for_each(|(round, outcome)| round.finish(outcome));
        let (view, all) = round.wait(self, pe).await?;
        if let Some(before) = view.checked_sub(1) {
            // The news of what the answer counts on comes before it.
            let mut losses = LossWatch::new(&survival.pes[pe].losses, before);
            poll_fn(|cx| losses.poll_next(cx)).await;
        }
        Ok((view, all.to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::Mutex,
        task::{Context, Waker},
    };

    use oxshmem_base::Hosts;

    use super::*;
    use crate::{Bootstrap, Local, suite};

    fn round(key: [u64; 2], members: &[usize], given: Vec<u8>) -> TeamRound {
        TeamRound { key, view: 0, members: members.to_vec(), given }
    }

    fn lost<T: fmt::Debug>(outcome: Result<T>) -> (usize, u64) {
        match outcome {
            Err(Error::PeLost { pe, view, .. }) => (pe, view),
            other => panic!("a PE is lost, and here is {other:?}"),
        }
    }

    #[test]
    fn rounds_end_without_those_that_are_lost() {
        suite::on_all(Local::surviving_cluster_on(Hosts::even(4, 2)), |pe| async move {
            let me = pe.placement().pe;
            if me == 2 {
                tokio::task::yield_now().await;
                pe.abandoned("it is a test");
                pe.abandoned("twice");
                assert_eq!(lost(pe.barrier().await), (2, 1));
                assert_eq!(lost(pe.regroup(round([0, 1], &[1, 2], vec![])).await), (2, 1));
                return;
            }
            let all = pe.exchange(vec![me as u8]).await.unwrap();
            assert_eq!(*all, [vec![0], vec![1], vec![], vec![3]]);
            assert_eq!(pe.losses().unwrap().since(0), [Loss::new(2, 1, "it is a test")]);
            let (view, all) = pe.regroup(round([7, 0], &[3, 2, 1, 0], vec![me as u8])).await.unwrap();
            assert_eq!((view, all), (1, vec![vec![3], vec![], vec![1], vec![0]]));
            pe.barrier().await.unwrap();
        });
    }

    #[test]
    fn a_round_is_over_for_a_pe_when_it_knows_of_the_losses_that_it_counts() {
        let pes = Local::surviving_cluster_on(Hosts::one(3));
        let kept = Arc::new(Mutex::new(Vec::<News>::new()));
        let keep = Arc::clone(&kept);
        pes[0].bring_news_by(Box::new(move |pe, news| match pe {
            0 => keep.lock().unwrap().push(news),
            _ => news(),
        }));
        pes[1].fail(1, "first");
        pes[2].abandoned("second");
        assert_eq!(pes[0].losses().unwrap().view(), 0);
        // A lost one knows of itself, and of those before it.
        assert_eq!(pes[2].losses().unwrap().view(), 2);
        let runtime = suite::runtime();
        runtime.block_on(async {
            let mut round = Box::pin(pes[0].regroup(round([1, 1], &[0, 1, 2], vec![5])));
            for known in 0..2 {
                let polled = round.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                assert!(polled.is_pending(), "it knows of {known}");
                let news = kept.lock().unwrap().remove(0);
                news();
            }
            assert_eq!(round.await.unwrap(), (2, vec![vec![5], vec![], vec![]]));
        });
    }
}
