//! What a team's queue holds: the collectives under way, and what waits for them.

use std::{
    collections::VecDeque,
    sync::Arc,
    task::{Context as TaskContext, Poll, Waker},
};

use oxshmem_base::{Error, Result, wakes::StoredWaker};
use oxshmem_progress::activity::Place;
use oxshmem_spaces::allocation::Allocation;

use super::running::{Running, Use};
use crate::{
    algorithm::{
        direct::collect,
        exchange::{Buffers, Exchange},
    },
    check::call_log::CallLog,
    group::Group,
};

/// Watchers from this number on are no collective's: these wait until a team is idle.
pub(super) const IDLE: u64 = 1 << 63;

/// A task that watches the queue. Its waker is made without the queue's lock, since that runs code
/// of the program, and only where it is wanted.
pub(super) struct Watcher<'a> {
    waker: &'a Waker,
    stored: Option<StoredWaker>,
    is_wanted: bool,
}

impl<'a> Watcher<'a> {
    /// One whose waker is not made yet.
    pub(super) fn unmade(cx: &TaskContext<'a>) -> Self {
        Self { waker: cx.waker(), stored: None, is_wanted: false }
    }

    pub(super) fn of(cx: &TaskContext<'a>) -> Self {
        Self { stored: Some(StoredWaker::of(cx.waker())), ..Self::unmade(cx) }
    }

    /// Whether the queue has something to wait for, but no waker: it must be looked at again with
    /// one.
    pub(super) fn is_wanted(&self) -> bool {
        self.is_wanted
    }
}

/// Collectives under way, in the order of their calls.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// How many have ended.
    pub(super) ended: u64,
    /// The one whose turn it is. Apart from the others, so that it is made in place.
    pub(super) front: Option<Running>,
    pub(super) behind: VecDeque<Running>,
    /// What to wake when something has ended: the future of that number's collective, or the task
    /// that waits until the team is [idle](IDLE).
    pub(super) watchers: Vec<(u64, StoredWaker)>,
    /// How many have waited for that.
    pub(super) idlers: u64,
    /// The task at the front is to be polled, as soon as the queue is unlocked; or again, if
    /// a thread is at it.
    pub(super) due: bool,
    pub(super) buffers: Buffers,
    /// Where it says what the one at the front waits for.
    pub(super) noted: Option<Place>,
    /// What was called, for the neighbours.
    pub(super) call_log: CallLog,
    /// Errors of collectives that have ended, for their futures.
    pub(super) failures: Vec<(u64, Error)>,
    /// How many had ended when the team was revoked, if it is.
    pub(super) revoked_at: Option<u64>,
    /// PEs called different things from this one on: the two calls.
    pub(super) broken: Option<(u64, [(usize, String); 2])>,
}

impl Queue {
    pub(super) fn len(&self) -> u64 {
        u64::from(self.front.is_some()) + self.behind.len() as u64
    }

    /// The number of a collective that is called now.
    #[inline(always)]
    pub(super) fn next(&self) -> u64 {
        self.ended + self.len() + 1
    }

    /// What a collective that is called now uses of `memory`: the one whose turn it is only borrows
    /// it.
    #[inline(always)]
    pub(super) fn lend(&self, memory: [&Arc<Allocation>; 2]) -> Use {
        let mut used = Use::of(memory);
        if self.front.is_some() {
            used.owned = Some(Box::new(memory.map(Arc::clone)));
        }
        used
    }

    /// A collective has ended well that was never in the queue, in which there is nothing. Returns
    /// its ticket, or 0 if its future need not ask.
    #[inline(always)]
    pub(super) fn pass(&mut self) -> u64 {
        self.ended += 1;
        if self.failures.is_empty() && self.broken.is_none() { 0 } else { self.ended }
    }

    /// The collective at the front has to wait: if it is a quick exchange, it does so as a common
    /// one.
    #[cold]
    pub(super) fn slow_down(&mut self) {
        if let Some(Running::Quick(quick, used)) = &mut self.front {
            self.front = Some(Running::Exchange(Exchange::of(*quick), std::mem::take(used)));
        }
    }

    /// Whether the collective at the front may go on as another.
    #[inline(always)]
    pub(super) fn may_go_on(&self) -> bool {
        matches!(&self.front, Some(Running::Exchange(exchange, _)) if exchange.is_collect())
    }

    /// Whether the collective at the front goes on as another, which then has its place.
    #[cold]
    pub(super) fn follow_up(&mut self, group: &Arc<Group>) -> Result<bool> {
        let Some(Running::Exchange(exchange, used)) = &mut self.front else { return Ok(false) };
        let Some((call, start)) = exchange.follow_up(group)? else { return Ok(false) };
        let (group, used) = (Arc::clone(group), std::mem::take(used));
        let direct = Box::pin(async move { collect(&group, &call, start).await });
        self.front = Some(Running::Direct(direct, call.signature, used));
        Ok(true)
    }

    /// The collective at the front has ended.
    pub(super) fn end(&mut self, group: &Group, outcome: Result<()>) {
        if let Some(front) = &self.front
            && front.signature().is_broadcast()
        {
            self.call_log.remember(self.ended + 1, front.signature());
        }
        // In place, as what is in it is large.
        self.front = None;
        if !self.behind.is_empty() {
            self.front = self.behind.pop_front();
        }
        if let Some(place) = self.noted.take() {
            group.pe().board().take(place);
        }
        self.ended += 1;
        match outcome {
            Ok(()) => {}
            Err(Error::CollectiveMismatch { pe_a, call_a, pe_b, call_b }) => {
                self.broken.get_or_insert((self.ended, [(pe_a, call_a), (pe_b, call_b)]));
            }
            Err(error) => self.failures.push((self.ended, error)),
        }
        // They run as soon as the queue is unlocked.
        self.watchers.drain(..).for_each(|(_, waker)| waker.wake());
    }

    /// Whether the collective with that ticket has ended. If not, the watcher is woken when one
    /// has; it replaces an older one with that key.
    pub(super) fn look(&mut self, ticket: u64, key: u64, watcher: &mut Watcher<'_>) -> Poll<()> {
        if self.ended >= ticket {
            return Poll::Ready(());
        }
        let known = self.watchers.iter_mut().find(|(watched, _)| *watched == key);
        match (known, watcher.stored.take()) {
            (Some((_, known)), _) if known.will_wake(watcher.waker) => {}
            (_, None) => watcher.is_wanted = true,
            (Some((_, known)), Some(stored)) => *known = stored,
            (None, Some(stored)) => self.watchers.push((key, stored)),
        }
        Poll::Pending
    }

    /// Looks for the future of the collective with that ticket, which is its own key, and returns
    /// its outcome.
    pub(super) fn poll(&mut self, ticket: u64, watcher: &mut Watcher<'_>) -> Poll<Result<()>> {
        self.look(ticket, ticket, watcher).map(|()| self.outcome(ticket))
    }

    /// The outcome of a collective that has ended.
    pub(super) fn outcome(&mut self, ticket: u64) -> Result<()> {
        if let Some(at) = self.failures.iter().position(|&(failed, _)| failed == ticket) {
            return Err(self.failures.swap_remove(at).1);
        }
        match &self.broken {
            Some((since, [(pe_a, call_a), (pe_b, call_b)])) if ticket >= *since => {
                let (pe_a, call_a, pe_b, call_b) = (*pe_a, call_a.clone(), *pe_b, call_b.clone());
                Err(Error::CollectiveMismatch { pe_a, call_a, pe_b, call_b })
            }
            _ => Ok(()),
        }
    }
}
