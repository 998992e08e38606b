//! Clusters that go on without PEs that are lost: what the table does about a loss.

use std::{
    fmt,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use oxshmem_base::{
    Error, Result,
    sync::{Mutex, MutexGuard, lock},
};

use super::{Completed, Group, Round, State};
use crate::{
    losses::{Loss, Losses},
    rounds::TeamRounds,
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
    /// What the PE knows, or its replacement.
    losses: Mutex<Arc<Losses>>,
    /// How many of them the PE may know of.
    view: AtomicU64,
}

impl Survival {
    pub(super) fn new(n_pes: usize) -> Self {
        Self { pes: (0..n_pes).map(|_| PeLosses::default()).collect(), courier: OnceLock::new() }
    }

    pub(super) fn losses_of(&self, pe: usize) -> Arc<Losses> {
        Arc::clone(&lock(&self.pes[pe].losses))
    }

    /// A replacement of PE `pe` knows what these know.
    pub(super) fn replace(&self, pe: usize, losses: &Arc<Losses>) {
        *lock(&self.pes[pe].losses) = Arc::clone(losses);
    }

    pub(super) fn bring_by(&self, courier: Courier) {
        // The first is there for all.
        let _ = self.courier.set(courier);
    }

    /// Brings news to a PE.
    pub(super) fn bring(&self, pe: usize, news: impl FnOnce() + Send + 'static) {
        match self.courier.get() {
            Some(courier) => courier(pe, Box::new(news)),
            None => news(),
        }
    }
}

impl fmt::Debug for Survival {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the losses of {} PEs", self.pes.len())
    }
}

/// The PEs that are lost, and the rounds of members of teams that some member has not joined yet.
#[derive(Debug)]
pub(super) struct Lost {
    pub(super) losses: Vec<Loss>,
    pub(super) rounds: TeamRounds<Arc<Round<Regrouped>>>,
    /// How often each PE was replaced, and whether it is there, or its last replacement.
    pub(super) comings: Vec<(u64, bool)>,
}

/// How many PEs were lost when a round was over, and what each member gave.
type Regrouped = (u64, Arc<[Vec<u8>]>);

/// The answer of a round to a PE.
type Answer = (usize, Arc<Round<Regrouped>>, Regrouped);

impl Lost {
    pub(super) fn new(n_pes: usize) -> Self {
        Self { losses: Vec::new(), rounds: TeamRounds::new(n_pes), comings: vec![(0, true); n_pes] }
    }

    /// An error if the PE is lost that came as that replacement.
    pub(super) fn check(&self, (pe, coming): (usize, u64)) -> Result<()> {
        if self.comings[pe] == (coming, true) {
            return Ok(());
        }
        let loss = self.losses.iter().rfind(|loss| loss.pe == pe);
        let (view, how) = loss.map_or((0, ""), |loss| (loss.view, &*loss.how));
        Err(Error::PeLost { pe, view, how: how.to_owned() })
    }

    /// Wakes what waits in rounds.
    pub(super) fn wake(&self) {
        self.rounds.waiting().for_each(|round| round.wake());
    }
}

impl State {
    /// Takes out the rounds in which no PE is missing that is not lost.
    fn take_over(&mut self) -> Vec<Answer> {
        let mut answers = Vec::new();
        while let Some(over) = self.lost.rounds.next_over() {
            let outcome: Regrouped = (over.view, over.given.into());
            answers.extend(over.waiting.into_iter().map(|(pe, round)| (pe, round, outcome.clone())));
            over.let_in.into_iter().for_each(|pe| self.let_in(pe));
        }
        answers
    }
}

impl Group {
    /// A PE is lost, in a cluster that goes on: it joins nothing any more. It has stopped before
    /// the others know.
    pub(super) fn lose(self: &Arc<Self>, member: (usize, u64), how: &str) {
        let Some(survival) = &self.survival else { return };
        let pe = member.0;
        let (view, others, exchanges, answers) = {
            let mut state = self.lock();
            if state.going_on(member).is_err() {
                return;
            }
            state.lost.comings[pe].1 = false;
            if state.lost.rounds.is_lost(pe) {
                return self.lose_again(state, pe);
            }
            state.lost.rounds.lost(pe);
            let view = state.lost.rounds.view();
            state.lost.losses.push(Loss::new(pe, view, how));
            for exchange in state.exchanges.iter_mut().filter(|exchange| exchange.given[pe].is_none()) {
                exchange.missing -= 1;
            }
            // What it waits for itself is looked at again.
            state.exchanges.iter().for_each(|exchange| exchange.round.wake());
            state.lost.wake();
            let exchanges: Vec<_> = std::iter::from_fn(|| state.complete()).collect();
            let answers = state.take_over();
            state.keep_while_any_is_there();
            (view, state.those_there(), exchanges, answers)
        };
        self.learn(pe, view);
        for other in others {
            let group = Arc::downgrade(self);
            survival.bring(other, move || {
                if let Some(group) = group.upgrade() {
                    group.learn(other, view);
                }
            });
        }
        exchanges.into_iter().for_each(Completed::finish);
        self.answer(answers);
    }

    /// A replacement is lost that the others have not let in.
    fn lose_again(&self, mut state: MutexGuard<'_, State>, pe: usize) {
        state.kept.iter_mut().for_each(|kept| kept.joins_no_more(pe));
        let waiting = state.lost.rounds.gone(pe);
        let answers = state.take_over();
        drop(state);
        waiting.iter().for_each(|round| round.wake());
        self.answer(answers);
    }

    /// Brings answers, behind the news of what they count on.
    fn answer(&self, answers: Vec<Answer>) {
        let Some(survival) = &self.survival else { return };
        for (pe, round, outcome) in answers {
            survival.bring(pe, move || round.finish(outcome));
        }
    }

    /// PE `pe` knows of the losses up to that view.
    fn learn(&self, pe: usize, view: u64) {
        let Some(known) = self.survival.as_ref().and_then(|survival| survival.pes.get(pe)) else { return };
        // A thread that is at it sees this, or this one sees what that has done: either way locks
        // the losses after it.
        known.view.fetch_max(view, Ordering::AcqRel);
        let losses = Arc::clone(&lock(&known.losses));
        loop {
            let before = losses.view();
            if before >= known.view.load(Ordering::Acquire) {
                return;
            }
            let Some(next) = self.lock().lost.losses.get(before as usize).cloned() else { return };
            losses.add(next);
            if losses.view() == before {
                return;
            }
            self.settle();
        }
    }

    /// Has all PEs know how many losses all of those that are left know of.
    pub(super) fn settle(&self) {
        let Some(survival) = &self.survival else { return };
        let left: Vec<Arc<Losses>> = {
            let state = self.lock();
            let there = state.those_there().into_iter();
            there.map(|pe| survival.losses_of(pe)).collect()
        };
        let view = left.iter().map(|losses| losses.view()).min().unwrap_or_default();
        left.iter().for_each(|losses| losses.settle(view));
    }

    /// PE `pe` has left in good order.
    pub(super) fn left(&self, pe: usize) {
        let answers = {
            let mut state = self.lock();
            state.lost.rounds.left(pe);
            state.keep_while_any_is_there();
            state.take_over()
        };
        self.answer(answers);
    }

    /// A PE joins a round of the members of a team that are left.
    pub(super) async fn regroup(
        &self,
        member: (usize, u64),
        team_round: TeamRound,
    ) -> Result<(u64, Vec<Vec<u8>>)> {
        if self.survival.is_none() {
            return Err(Error::Unsupported { what: "the cluster ends when a PE is lost".to_owned() });
        }
        let round = Arc::<Round<Regrouped>>::default();
        let answers = {
            let mut state = self.lock();
            state.going_on(member)?;
            let joined = state.lost.rounds.join(member.0, Arc::clone(&round), team_round);
            joined.map_err(|what| Error::bootstrap("survivors", what))?;
            state.take_over()
        };
        self.answer(answers);
        let (view, all) = round.wait(self, member).await?;
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
            for known in 0..3 {
                let polled = round.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                assert!(polled.is_pending(), "it has {known} news");
                let news = kept.lock().unwrap().remove(0);
                news();
            }
            assert_eq!(round.await.unwrap(), (2, vec![vec![5], vec![], vec![]]));
        });
    }
}
