//! PEs as tasks of one process: the bootstrap of a `LocalCluster`.
//!
//! All PEs of a cluster hold one table of *rounds*. A PE's k-th exchange joins round k; the PE that
//! completes it publishes one result, to which all get a reference, so that an exchange
//! among 4,096 PEs copies nothing. Waiting needs no runtime.
//!
//! In a cluster that goes on without lost PEs this table is the arbiter, as `oshrun` is among
//! processes: it numbers losses, and rounds end without those that are lost.

mod replacing;
mod survival;

use std::{
    any::Any,
    collections::VecDeque,
    future::poll_fn,
    mem,
    os::fd::OwnedFd,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    task::Poll,
};

use async_trait::async_trait;
use oxshmem_base::{
    Error, Hosts, Result,
    sync::{Mutex, MutexGuard, lock},
    wakes::StoredWaker,
};

pub use self::survival::{Courier, News};
use self::{replacing::Kept, survival::Survival};
use super::{Bootstrap, Common, Losses, Offer, Placement, TeamRound, host_name};

/// One PE of a cluster inside this process.
#[derive(Debug)]
pub struct Local {
    placement: Placement,
    /// The number of its host.
    host: usize,
    group: Arc<Group>,
    shares: AtomicU64,
    /// Of a cluster that goes on: what this PE knows of losses.
    losses: Option<Arc<Losses>>,
    /// How many were here before it, which are lost.
    coming: u64,
}

/// A `global_exit` that a PE of a [`Local`] cluster asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aborted {
    /// The PE that asked.
    pub pe: usize,
    /// The status it gave.
    pub status: i32,
    /// The reason it gave.
    pub why: String,
}

impl Local {
    /// `n` PEs that know each other, in the order of their numbers.
    pub fn cluster(n: usize) -> Vec<Self> {
        Self::cluster_on(Hosts::one(n))
    }

    /// PEs that know each other, in the order of their numbers, on several hosts. What they share,
    /// they share with the PEs of their host.
    ///
    /// ```
    /// use oxshmem_job::{Bootstrap, Local};
    /// use oxshmem_base::Hosts;
    ///
    /// let pes = Local::cluster_on(Hosts::even(5, 2));
    /// assert_eq!(*pes[4].placement().local, [3, 4]);
    /// assert!(pes[3].placement().is_leader());
    /// ```
    pub fn cluster_on(hosts: impl Into<Arc<Hosts>>) -> Vec<Self> {
        Self::members(hosts.into(), false)
    }

    /// [`cluster_on`](Self::cluster_on), of PEs that go on without those that are lost.
    ///
    /// ```
    /// use oxshmem_job::{Bootstrap, Local};
    /// use oxshmem_base::Hosts;
    ///
    /// let pes = Local::surviving_cluster_on(Hosts::one(3));
    /// pes[1].fail(1, "it is an example");
    /// let loss = pes[2].losses().unwrap().of(1).unwrap();
    /// assert_eq!((loss.view, &*loss.how), (1, "it is an example"));
    /// ```
    pub fn surviving_cluster_on(hosts: impl Into<Arc<Hosts>>) -> Vec<Self> {
        Self::members(hosts.into(), true)
    }

    fn members(hosts: Arc<Hosts>, goes_on: bool) -> Vec<Self> {
        let machine = host_name();
        // One list of PEs for all of a host.
        let placement_on = |host| {
            let name = hosts.simulated_name(&machine, host);
            Placement::new(hosts.leader_of(host), Arc::clone(&hosts), name)
        };
        let n = hosts.n_pes();
        let there = (0..hosts.n_hosts().min(n)).map(placement_on).collect::<Vec<_>>();
        let survival = goes_on.then(|| Survival::new(n));
        let state = Mutex::new(State::new(n));
        let group = Arc::new(Group { hosts, state, common: Common::default(), survival });
        let member = |pe| {
            let host = group.hosts.host_of(pe);
            Self {
                placement: Placement { pe, ..there[host].clone() },
                host,
                losses: group.survival.as_ref().map(|survival| survival.losses_of(pe)),
                group: Arc::clone(&group),
                shares: AtomicU64::new(0),
                coming: 0,
            }
        };
        (0..n).map(member).collect()
    }

    /// The `global_exit` that ended the cluster, if one did.
    pub fn aborted(&self) -> Option<Aborted> {
        match &self.group.lock().end {
            Some(End::Aborted(aborted)) => Some(aborted.clone()),
            _ => None,
        }
    }

    /// Declares PE `pe` lost: what the others wait for, now or later, fails with [`Error::PeLost`].
    /// Only the first end of a cluster counts. One that goes on does so.
    pub fn fail(&self, pe: usize, how: impl Into<String>) {
        match &self.group.survival {
            Some(_) => self.group.lose(self.group.there(pe), &how.into()),
            None => self.group.end(End::Lost { pe, how: how.into() }),
        }
    }

    fn member(&self) -> (usize, u64) {
        (self.placement.pe, self.coming)
    }

    /// Has `courier` bring the news of losses to the PEs, which they have at once without one. For
    /// a cluster that goes on, once.
    pub fn bring_news_by(&self, courier: Courier) {
        if let Some(survival) = &self.group.survival {
            survival.bring_by(courier);
        }
    }
}

impl super::sealed::Sealed for Local {}

#[async_trait]
impl Bootstrap for Local {
    fn placement(&self) -> &Placement {
        &self.placement
    }

    async fn exchange(&self, mine: Vec<u8>) -> Result<Arc<[Vec<u8>]>> {
        let round = self.group.give(self.member(), mine)?;
        round.wait(&self.group, self.member()).await
    }

    fn is_one_machine(&self) -> bool {
        true
    }

    fn in_process(&self) -> bool {
        true
    }

    fn common(&self) -> Option<&Common> {
        Some(&self.group.common)
    }

    async fn share_raw(&self, offer: Option<Offer>) -> Result<Offer> {
        if offer.is_some() != self.placement.is_leader() {
            return Err(Error::bootstrap("share", "the host's leader offers, the other PEs do not"));
        }
        // Relaxed: the number is only for this PE's own order; the table's lock orders the rest.
        let number = self.shares.fetch_add(1, Relaxed);
        if let Some(kept) = self.group.kept_for(self.member(), number)? {
            return kept.into_offer();
        }
        let round = self.group.visit(self.host, self.member(), number, offer.map(Handed::from))?;
        round.wait(&self.group, self.member()).await?.into_offer()
    }

    fn finalized(&self) {
        self.group.left(self.placement.pe);
    }

    fn abandoned(&self, how: &str) {
        self.group.lose(self.member(), how);
    }

    async fn regroup(&self, round: TeamRound) -> Result<(u64, Vec<Vec<u8>>)> {
        self.group.regroup(self.member(), round).await
    }

    fn losses(&self) -> Option<&Arc<Losses>> {
        self.losses.as_ref()
    }

    fn survives(&self) {
        self.group.survives(self.member());
    }

    fn abort(&self, status: i32, why: &str) {
        let why = why.to_owned();
        self.group.end(End::Aborted(Aborted { pe: self.placement.pe, status, why }));
    }
}

/// What the PEs of a cluster have in common.
#[derive(Debug)]
struct Group {
    hosts: Arc<Hosts>,
    state: Mutex<State>,
    common: Common,
    /// Of a cluster that goes on without lost PEs.
    survival: Option<Survival>,
}

/// The rounds that some PE has joined and not all have left. Rounds finish in order, because every
/// PE joins them in order, so that each table is a queue whose front has the number `first`.
#[derive(Debug)]
struct State {
    end: Option<End>,
    exchanges: VecDeque<Exchange>,
    first_exchange: u64,
    /// How many exchanges each PE has joined.
    joined: Vec<u64>,
    lost: survival::Lost,
    /// The offers of each host, up to the last that has shared anything.
    shares: Vec<Shares>,
    /// What replacements join by, if there are to be any.
    kept: Option<Kept>,
}

/// The offers of one host's leader.
#[derive(Debug, Default)]
struct Shares {
    open: VecDeque<Share>,
    first: u64,
}

/// What each PE gave to an exchange.
type Given = Arc<[Vec<u8>]>;

#[derive(Debug)]
struct Exchange {
    given: Vec<Option<Vec<u8>>>,
    missing: usize,
    round: Arc<Round<Given>>,
}

#[derive(Debug)]
struct Share {
    missing: usize,
    round: Arc<Round<Handed>>,
}

#[derive(Debug)]
enum End {
    Aborted(Aborted),
    Lost { pe: usize, how: String },
}

impl Group {
    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    fn give(&self, member: (usize, u64), mine: Vec<u8>) -> Result<Arc<Round<Given>>> {
        let mut state = self.lock();
        state.going_on(member)?;
        let (pe, _) = member;
        let n_pes = self.hosts.n_pes();
        if let Some(given) = state.kept.as_mut().and_then(|kept| kept.exchange(pe, n_pes, &mine)) {
            // The others have not let it in, and do not wait for it.
            let round = Arc::<Round<Given>>::default();
            round.finish(given);
            return Ok(round);
        }
        let index = (state.joined[pe] - state.first_exchange) as usize;
        state.joined[pe] += 1;
        while state.exchanges.len() <= index {
            let given = vec![None; n_pes];
            let missing = state.lost.rounds.living();
            state.exchanges.push_back(Exchange { given, missing, round: Arc::default() });
        }
        let exchange = &mut state.exchanges[index];
        exchange.given[pe] = Some(mine);
        exchange.missing -= 1;
        let round = Arc::clone(&exchange.round);
        if let Some(completed) = state.complete() {
            drop(state);
            completed.finish();
        }
        Ok(round)
    }

    fn visit(
        &self,
        host: usize,
        member: (usize, u64),
        number: u64,
        offer: Option<Handed>,
    ) -> Result<Arc<Round<Handed>>> {
        let mut state = self.lock();
        state.going_on(member)?;
        if let (Some(kept), Some(offer)) = (&mut state.kept, &offer) {
            kept.offer(host, offer);
        }
        if state.shares.len() <= host {
            state.shares.resize_with(host + 1, Shares::default);
        }
        let shares = &mut state.shares[host];
        let index = (number - shares.first) as usize;
        while shares.open.len() <= index {
            let missing = self.hosts.n_pes_of(host);
            shares.open.push_back(Share { missing, round: Arc::default() });
        }
        let share = &mut shares.open[index];
        share.missing -= 1;
        let round = Arc::clone(&share.round);
        if share.missing == 0 {
            shares.open.pop_front();
            shares.first += 1;
        }
        drop(state);
        if let Some(offer) = offer {
            round.finish(offer);
        }
        Ok(round)
    }

    /// Records how the cluster ended, if nothing ended it before, and wakes all that wait.
    fn end(&self, end: End) {
        let mut state = self.lock();
        state.end.get_or_insert(end);
        let _kept = state.kept.take();
        // They are woken when the lock is free.
        state.exchanges.iter().for_each(|exchange| exchange.round.wake());
        state.shares.iter().flat_map(|shares| &shares.open).for_each(|share| share.round.wake());
        state.lost.wake();
    }
}

/// An exchange that all have joined.
struct Completed {
    given: Given,
    round: Arc<Round<Given>>,
}

impl Completed {
    fn finish(self) {
        self.round.finish(self.given);
    }
}

impl State {
    fn new(n_pes: usize) -> Self {
        Self {
            end: None,
            exchanges: VecDeque::new(),
            first_exchange: 0,
            joined: vec![0; n_pes],
            lost: survival::Lost::new(n_pes),
            shares: Vec::new(),
            kept: None,
        }
    }

    /// Takes out the first exchange, if no PE is missing in it.
    fn complete(&mut self) -> Option<Completed> {
        self.exchanges.front().filter(|first| first.missing == 0)?;
        let Exchange { given, round, .. } = self.exchanges.pop_front()?;
        self.first_exchange += 1;
        let given: Given = given.into_iter().map(Option::unwrap_or_default).collect();
        self.kept.iter_mut().for_each(|kept| kept.keep(&given));
        Some(Completed { given, round })
    }

    /// An error if the cluster has ended, or the PE is lost that came as that
    /// replacement.
    fn going_on(&self, member: (usize, u64)) -> Result<()> {
        match &self.end {
            None => self.lost.check(member),
            Some(End::Aborted(Aborted { pe, status, .. })) => {
                Err(Error::GlobalExit { pe: *pe, status: *status })
            }
            Some(End::Lost { pe, how }) => Err(Error::PeLost { pe: *pe, view: 0, how: how.clone() }),
        }
    }
}

/// One collective call, and what it will return to all that joined it.
#[derive(Debug)]
struct Round<T> {
    outcome: OnceLock<T>,
    waiting: Mutex<Vec<StoredWaker>>,
}

impl<T> Default for Round<T> {
    fn default() -> Self {
        Self { outcome: OnceLock::new(), waiting: Mutex::default() }
    }
}

impl<T: Clone> Round<T> {
    fn finish(&self, outcome: T) {
        // A round has one PE that completes it, so that this is the only call.
        let _ = self.outcome.set(outcome);
        self.wake();
    }

    /// What a PE waits for.
    async fn wait(&self, group: &Group, member: (usize, u64)) -> Result<T> {
        poll_fn(|cx| {
            // Waiting starts before the look at the outcome, so that no change falls between.
            let waker = StoredWaker::of(cx.waker());
            {
                let mut waiting = lock(&self.waiting);
                if !waiting.iter().any(|known| known.will_wake(cx.waker())) {
                    waiting.push(waker);
                }
            }
            if let Some(outcome) = self.outcome.get() {
                return Poll::Ready(Ok(outcome.clone()));
            }
            group.lock().going_on(member).map_or_else(|error| Poll::Ready(Err(error)), |()| Poll::Pending)
        })
        .await
    }
}

impl<T> Round<T> {
    fn wake(&self) {
        let waiting = mem::take(&mut *lock(&self.waiting));
        waiting.into_iter().for_each(StoredWaker::wake);
    }
}

/// An [`Offer`] that every PE can have a copy of.
#[derive(Clone, Debug)]
enum Handed {
    Descriptors(Arc<[OwnedFd]>),
    Object(Arc<dyn Any + Send + Sync>),
}

impl From<Offer> for Handed {
    fn from(offer: Offer) -> Self {
        match offer {
            Offer::Descriptors(descriptors) => Self::Descriptors(descriptors.into()),
            Offer::Object(object) => Self::Object(object),
        }
    }
}

impl Handed {
    fn into_offer(self) -> Result<Offer> {
        match self {
            Self::Object(object) => Ok(Offer::Object(object)),
            Self::Descriptors(descriptors) => descriptors
                .iter()
                .map(OwnedFd::try_clone)
                .collect::<Result<_, _>>()
                .map(Offer::Descriptors)
                .map_err(|error| Error::system("share", error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite;

    #[test]
    fn passes_the_suite() {
        for n in [1, 2, 3, 7, 64] {
            suite::run_cluster(Local::cluster(n));
        }
    }

    #[test]
    fn passes_the_suite_on_several_hosts() {
        for hosts in [
            Hosts::even(2, 2),
            Hosts::even(5, 2),
            Hosts::blocks([1, 4, 2]),
            Hosts::cyclic(7, 3),
            Hosts::from_labels([0, 1, 1, 0, 2, 1, 0]),
            Hosts::even(64, 64),
        ] {
            suite::run_cluster(Local::cluster_on(hosts));
        }
    }

    #[test]
    fn an_abort_reaches_a_pe_that_waits_for_the_leader_of_another_host() {
        suite::on_all(Local::cluster_on(Hosts::even(4, 2)), |pe| async move {
            match pe.placement().pe {
                // Until both wait.
                0 => {
                    tokio::task::yield_now().await;
                    pe.abort(3, "");
                }
                1 | 3 => {
                    let error = pe.share_raw(None).await.unwrap_err();
                    assert!(matches!(error, Error::GlobalExit { pe: 0, status: 3 }), "{error}");
                }
                _ => {}
            }
        });
    }

    #[test]
    fn four_thousand_pes_exchange_without_copies() {
        let results = suite::on_all(Local::cluster(4096), |pe| async move {
            pe.barrier().await.unwrap();
            pe.exchange(vec![1; 8]).await.unwrap()
        });
        assert!(results.iter().all(|result| Arc::ptr_eq(result, &results[0])));
    }

    #[test]
    fn an_abort_wakes_all_that_wait_and_is_recorded() {
        let ends = suite::on_all(Local::cluster(3), |pe| async move {
            if pe.placement().pe == 1 {
                pe.abort(7, "enough");
                pe.abort(8, "too late");
            }
            let error = pe.exchange(Vec::new()).await.unwrap_err();
            assert!(matches!(error, Error::GlobalExit { pe: 1, status: 7 }), "{error}");
            pe.aborted()
        });
        let expected = Aborted { pe: 1, status: 7, why: "enough".to_owned() };
        assert!(ends.into_iter().all(|end| end.as_ref() == Some(&expected)));
    }

    #[test]
    fn a_lost_pe_fails_pending_and_later_calls() {
        suite::on_all(Local::cluster(3), |pe| async move {
            if pe.placement().pe == 2 {
                pe.fail(2, "its task panicked");
                return;
            }
            for _ in 0..2 {
                let error = pe.barrier().await.unwrap_err();
                assert!(matches!(error, Error::PeLost { pe: 2, .. }), "{error}");
            }
            let offer = pe.placement().is_leader().then(|| Offer::Object(Arc::new(())));
            assert!(matches!(pe.share_raw(offer).await, Err(Error::PeLost { pe: 2, .. })));
            assert_eq!(pe.aborted(), None);
        });
    }

    #[test]
    fn an_exchange_dropped_midway_still_counts() {
        let mut pes = Local::cluster(2).into_iter();
        let (a, b) = (pes.next().unwrap(), pes.next().unwrap());
        let runtime = suite::runtime();
        runtime.block_on(async {
            let mut dropped = Box::pin(a.exchange(vec![1]));
            assert!(futures_poll_once(&mut dropped).await.is_none());
            drop(dropped);
            assert_eq!(*b.exchange(vec![2]).await.unwrap(), [vec![1], vec![2]]);
        });
    }

    async fn futures_poll_once<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
        use std::{pin::Pin, task::Poll};
        std::future::poll_fn(|cx| match Pin::new(&mut *future).poll(cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending => Poll::Ready(None),
        })
        .await
    }
}
