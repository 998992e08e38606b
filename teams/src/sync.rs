//! Sync: nobody leaves before everybody has come (`OpenSHMEM 1.6 §9.10.3`).
//!
//! Four algorithms, all with flags that only grow, so that no flag is ever reset:
//!
//! - *dissemination*: log₂ n rounds, in round r PE i signals PE i + 2ʳ. The fastest where each PE has a processor.
//! - *flat*: everybody signals everybody, so that a PE needs one turn on its processor, and nobody's after it. For few PEs.
//! - *counter*: everybody adds to one counter, the last one releases all. Two turns on a processor a PE, which
//!   counts where PEs share processors. Those bound to one processor count themselves first, and add once.
//! - *tree*: up and down a tree of radix 4. No PE sends more than five messages, and there are 2(n − 1) in all.
//!
//! Among the PEs of several hosts it is a collective of its own, in `wide`.

use std::{
    future::poll_fn,
    task::{Poll, Waker},
};

use oxshmem_base::{Result, settings::SyncAlgorithm};

use crate::{
    group::{Awaited, Flag, Group, NumberWait},
    processors::For,
    tree::Tree,
};

/// One sync under way, from its first message to its last wait.
#[derive(Debug, Default)]
pub(crate) struct Sync {
    /// Whether everybody looks at its own memory only, whatever algorithm is chosen.
    on_own_words: bool,
    /// How many syncs the team began before, plus 1: what the flags come to.
    number: u64,
    step: Step,
    wait: NumberWait,
}

#[derive(Clone, Copy, Debug, Default)]
enum Step {
    /// Waiting for the signal of this round.
    Round(u32),
    /// Waiting for the PE that is so far before this one.
    From(u32),
    /// Waiting for the children in the tree.
    Children,
    /// Waiting to be released; then releasing the children, if there is a tree.
    Release { tree: bool },
    /// It has not begun.
    #[default]
    Called,
    /// It is over.
    Done,
}

impl Sync {
    /// Comes to the team's next sync: sends what can be sent without waiting.
    #[inline(always)]
    pub(crate) fn begin(&mut self, group: &Group) -> Result<()> {
        let algorithm = if self.on_own_words { SyncAlgorithm::Dissemination } else { group.choices.sync };
        let number = group.next_sync(algorithm == SyncAlgorithm::Counter);
        self.number = number;
        self.step = Step::Done;
        if group.n() == 1 {
            return Ok(());
        }
        self.step = match algorithm {
            SyncAlgorithm::Counter => {
                if group.arrive(Flag::Counter)? {
                    group.release(Flag::Release, number);
                    Step::Done
                } else {
                    Step::Release { tree: false }
                }
            }
            SyncAlgorithm::Tree => {
                if is_leaf(group) {
                    self.rise(group)
                } else {
                    Step::Children
                }
            }
            SyncAlgorithm::Flat => {
                group.set_each(group.others(), number, |pe| self.round(group.distance_to(pe) as u32));
                Step::From(1)
            }
            SyncAlgorithm::Auto | SyncAlgorithm::Dissemination => {
                self.signal(group, 0);
                Step::Round(0)
            }
        };
        Ok(())
    }

    /// What it waits for now, if nothing is to be done after it: otherwise others may depend on its going on.
    #[inline(always)]
    pub(crate) fn last_wait(&self, group: &Group) -> Option<Awaited> {
        let one = |flag: Flag| Awaited::one(flag.place(), self.number);
        match self.step {
            Step::Round(round) => ((2usize << round) >= group.n()).then(|| one(self.round(round))),
            Step::From(distance) if distance as usize + 1 == group.n() => Some(one(self.round(distance))),
            // Flags by distance, of which there is none at 0.
            Step::From(_) => {
                let [first, next] = [0, 1].map(|distance| self.round(distance).place());
                Some(Awaited::row(first, next - first, group.n(), 0, self.number))
            }
            Step::Release { tree: false } => Some(Awaited::one(group.released(Flag::Release), self.number)),
            Step::Release { tree: true } => is_leaf(group).then(|| one(Flag::Release)),
            Step::Called | Step::Children | Step::Done => None,
        }
    }

    /// Whether its last wait is over, nothing watches for it, and nothing is to be done after it.
    #[inline(always)]
    pub(crate) fn is_over(&self, group: &Group) -> bool {
        let ended = matches!(self.step, Step::Done);
        self.wait.is_unwatched()
            && (ended || self.last_wait(group).is_some_and(|awaited| group.have_come(awaited)))
    }

    /// Goes on as far as possible. `waker` is asked for only when there is something to wait for.
    pub(crate) fn poll(&mut self, group: &Group, waker: impl Fn() -> Waker) -> Poll<Result<()>> {
        loop {
            let (place, value) = match self.step {
                Step::Done => return Poll::Ready(Ok(())),
                Step::Called => {
                    self.begin(group)?;
                    continue;
                }
                Step::Round(round) | Step::From(round) => (self.round(round).place(), self.number),
                Step::Children => {
                    let children = Tree::new(group.me(), group.n(), 0).children().count();
                    (Flag::Arrived.place(), self.number * children as u64)
                }
                Step::Release { tree: true } => (Flag::Release.place(), self.number),
                Step::Release { tree: false } => (group.released(Flag::Release), self.number),
            };
            match self.wait.poll_for(For::All, group, place, value, &waker) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(came) => came?,
            }
            self.step = self.next(group);
        }
    }

    /// What follows the wait that has just ended.
    fn next(&self, group: &Group) -> Step {
        match self.step {
            Step::Round(round) => {
                let round = round + 1;
                if 1usize << round < group.n() {
                    self.signal(group, round);
                    Step::Round(round)
                } else {
                    Step::Done
                }
            }
            Step::From(distance) if distance as usize + 1 < group.n() => Step::From(distance + 1),
            Step::Children => self.rise(group),
            Step::Release { tree: true } => self.fall(group),
            Step::From(_) | Step::Release { tree: false } | Step::Called | Step::Done => Step::Done,
        }
    }

    /// The flag of a round, or of the PE at that distance.
    #[inline(always)]
    fn round(&self, round: u32) -> Flag {
        Flag::Round(round, !self.number.is_multiple_of(2))
    }

    /// Signals the PE of this round, and prepares for the next time.
    #[inline(always)]
    fn signal(&self, group: &Group, round: u32) {
        let pe = group.after(1 << round);
        group.set(self.round(round), self.number, pe);
        group.prepare(Flag::Round(round, self.number.is_multiple_of(2)).place(), pe);
        group.settle();
    }

    /// Everybody below has come: tells the parent, or, at the root, everybody.
    fn rise(&self, group: &Group) -> Step {
        match Tree::new(group.me(), group.n(), 0).parent() {
            Some((parent, _)) => {
                group.add(Flag::Arrived, 1, parent);
                Step::Release { tree: true }
            }
            None => self.fall(group),
        }
    }

    fn fall(&self, group: &Group) -> Step {
        group.set_each(Tree::new(group.me(), group.n(), 0).children(), self.number, |_| Flag::Release);
        Step::Done
    }
}

/// Whether nobody is below this PE in the tree.
fn is_leaf(group: &Group) -> bool {
    Tree::new(group.me(), group.n(), 0).children().next().is_none()
}

/// Waits inside of a [`Team::run`](crate::Team::run) for every PE to come to the same point.
///
/// ```
/// # use std::sync::Arc;
/// # use oxshmem_runtime::Pe;
/// # use oxshmem_job::Local;
/// # use oxshmem_base::settings::Settings;
/// # use oxshmem_teams::Team;
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// # let mut cluster = Local::cluster(2).into_iter().map(Arc::new);
/// # let (a, b) = (cluster.next().unwrap(), cluster.next().unwrap());
/// # let (a, b) = tokio::try_join!(Pe::join(a, Settings::default()), Pe::join(b, Settings::default()))?;
/// use oxshmem_teams::sync::sync_in;
///
/// let (a, b) = (Team::world(&a), Team::world(&b)); // one on each PE
/// let a = a.run("meet", |group| async move { sync_in(&group).await });
/// let b = b.run("meet", |group| async move { sync_in(&group).await });
/// assert!(tokio::try_join!(a, b).is_ok());
/// # Ok::<(), oxshmem_base::Error>(())
/// # })?;
/// # Ok::<(), oxshmem_base::Error>(())
/// ```
pub async fn sync_in(group: &Group) -> Result<()> {
    match group.wide() {
        None => sync_here(group).await,
        Some(wide) => wide.sync(group).await,
    }
}

/// The last sync of a team: when it is over here, no PE looks at the scratch memory of this one any more, or writes there.
pub(crate) async fn sync_last(group: &Group) -> Result<()> {
    sync_in(group).await?;
    match group.processors.crew() {
        // Whoever of a crew has not run since it was let go has yet to look at its head's word. It comes here when it has.
        Some(_) => whole(group, Sync { on_own_words: true, ..Sync::default() }).await,
        None => Ok(()),
    }
}

/// The same as [`sync_in`] for the PEs of this host only.
pub(crate) async fn sync_here(group: &Group) -> Result<()> {
    whole(group, Sync::default()).await
}

async fn whole(group: &Group, mut sync: Sync) -> Result<()> {
    sync.begin(group)?;
    poll_fn(|cx| sync.poll(group, || cx.waker().clone())).await
}
