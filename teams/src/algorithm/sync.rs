//! Sync: no PE leaves before all have come (`OpenSHMEM 1.6 §9.10.3`).
//!
//! Two algorithms, both with flags that only grow, so that no flag is ever reset:
//!
//! - *dissemination*: log₂ n rounds, in round r PE i signals PE i + 2ʳ. The fastest where each PE
//!   has a processor.
//! - *counter*: each PE adds to one counter, and the last one releases all. Two turns on a
//!   processor a PE, which counts where PEs share processors.
//!
//! Among the PEs of several hosts it is a collective of its own, in [`hosts`](crate::hosts).

use std::{
    future::poll_fn,
    task::{Poll, Waker},
};

use oxshmem_base::{Result, settings::SyncAlgorithm};

use crate::{
    check::NumberWait,
    group::{Awaited, Flag, Group},
};

/// One sync under way, from its first message to its last wait.
#[derive(Debug, Default)]
pub(crate) struct Sync {
    /// How many syncs the team began before, plus 1: what the flags come to.
    number: u64,
    step: SyncStep,
    wait: NumberWait,
}

#[derive(Clone, Copy, Debug, Default)]
enum SyncStep {
    /// Waiting for the signal of this round.
    Round(u32),
    /// Waiting to be released.
    Release,
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
        let algorithm = group.choices.sync;
        let number = group.state.next_sync();
        self.number = number;
        self.step = SyncStep::Done;
        if group.n() == 1 {
            return Ok(());
        }
        self.step = match algorithm {
            SyncAlgorithm::Counter => {
                if group.arrive(Flag::Counter)? {
                    group.set_others(Flag::Release, number);
                    SyncStep::Done
                } else {
                    SyncStep::Release
                }
            }
            SyncAlgorithm::Auto | SyncAlgorithm::Dissemination => {
                self.signal(group, 0);
                SyncStep::Round(0)
            }
        };
        Ok(())
    }

    /// What it waits for now, if nothing is to be done after it: otherwise others may depend on its
    /// going on.
    #[inline(always)]
    pub(crate) fn last_wait(&self, group: &Group) -> Option<Awaited> {
        let one = |flag: Flag| Awaited::one(flag.place(), self.number);
        match self.step {
            SyncStep::Round(round) => ((2usize << round) >= group.n()).then(|| one(self.round(round))),
            SyncStep::Release => Some(one(Flag::Release)),
            SyncStep::Called | SyncStep::Done => None,
        }
    }

    /// Whether its last wait is over, nothing watches for it, and nothing is to be done after it.
    #[inline(always)]
    pub(crate) fn is_over(&self, group: &Group) -> bool {
        let ended = matches!(self.step, SyncStep::Done);
        self.wait.is_unwatched()
            && (ended || self.last_wait(group).is_some_and(|awaited| group.have_come(awaited)))
    }

    /// Goes on as far as possible. `waker` is asked for only when there is something to wait for.
    pub(crate) fn poll(&mut self, group: &Group, waker: &dyn Fn() -> Waker) -> Poll<Result<()>> {
        loop {
            let flag = match self.step {
                SyncStep::Done => return Poll::Ready(Ok(())),
                SyncStep::Called => {
                    self.begin(group)?;
                    continue;
                }
                SyncStep::Round(round) => self.round(round),
                SyncStep::Release => Flag::Release,
            };
            match self.wait.poll(group, flag.place(), self.number, waker) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(came) => came?,
            }
            self.step = self.next(group);
        }
    }

    /// What follows the wait that has just ended.
    fn next(&self, group: &Group) -> SyncStep {
        match self.step {
            SyncStep::Round(round) => {
                let round = round + 1;
                if 1usize << round < group.n() {
                    self.signal(group, round);
                    SyncStep::Round(round)
                } else {
                    SyncStep::Done
                }
            }
            SyncStep::Release | SyncStep::Called | SyncStep::Done => SyncStep::Done,
        }
    }

    /// The flag of a round.
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
}

/// Waits for every PE of this host to come to the same point.
#[inline(always)]
pub(crate) fn sync_here(group: &Group) -> impl Future<Output = Result<()>> {
    let mut sync = Sync::default();
    poll_fn(move |cx| sync.poll(group, &|| cx.waker().clone()))
}
