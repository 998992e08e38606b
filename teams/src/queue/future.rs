//! The futures of collectives: they watch the queue, and look at the last number themselves.

use std::{
    fmt,
    marker::PhantomData,
    pin::Pin,
    sync::{Arc, Weak},
    task::{Context as TaskContext, Poll},
};

use oxshmem_base::{Error, Result};
use oxshmem_progress::flight::Flight;

use super::{Core, running::Then, state::Watcher};
use crate::group::Group;

/// A collective that was called. It goes on if this is dropped.
///
/// ```
/// # use oxshmem::prelude::*;
/// # LocalCluster::run(2, |world| async move {
/// let sum = world.alloc::<u64>(1).await?;
/// sum.at(0).store(world.my_pe() as u64 + 1);
/// let team = world.team();
/// let summing = team.sum_reduce(&sum, &sum); // this PE has given its value
/// summing.await?; // and has the sum
/// assert_eq!(sum.at(0).load(), 3);
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[must_use = "the result is there once this is awaited"]
pub struct Collective<'a>(Inner<'a>);

enum Inner<'a> {
    /// The ticket of a collective in the queue; 0 is one that has ended well.
    Called(&'a Core, u64, PhantomData<&'a mut ()>),
    /// Behind a pointer, so that the others stay in two registers.
    Other(Box<Other<'a>>),
}

enum Other<'a> {
    Failed(Option<Error>),
    /// Several in a row, which fail if one of them does.
    Row(&'a Core, Vec<u64>),
}

impl<'a> Collective<'a> {
    #[inline(always)]
    pub(super) fn new(core: &'a Core, ticket: u64) -> Self {
        Self(Inner::Called(core, ticket, PhantomData))
    }

    #[cold]
    pub(crate) fn failed(error: Error) -> Self {
        Self(Inner::Other(Box::new(Other::Failed(Some(error)))))
    }

    /// All that have these tickets, the last of which is that of the last.
    #[cold]
    pub(crate) fn staged(core: &'a Core, tickets: Vec<u64>) -> Self {
        Self(Inner::Other(Box::new(Other::Row(core, tickets))))
    }

    /// Its ticket, if it was called well.
    pub(crate) fn ticket(self) -> Result<u64> {
        match self.0 {
            Inner::Called(_, ticket, _) => Ok(ticket),
            Inner::Other(other) => match *other {
                Other::Failed(error) => error.map_or(Ok(0), Err),
                Other::Row(_, tickets) => Ok(tickets.last().copied().unwrap_or(0)),
            },
        }
    }
}

impl Collective<'_> {
    /// Its ticket, if it was called well, on that team.
    pub(super) fn ticket_in(self, team: &Core) -> Result<u64> {
        match &self.0 {
            Inner::Called(core, ..) if !std::ptr::eq(*core, team) => Err(another_team()),
            Inner::Other(other) => match &**other {
                Other::Row(core, _) if !std::ptr::eq(*core, team) => Err(another_team()),
                _ => self.ticket(),
            },
            Inner::Called(..) => self.ticket(),
        }
    }
}

#[cold]
fn another_team() -> Error {
    Error::Unsupported {
        what: "the collective in a stream is another team's than the one that was to run it".to_owned(),
    }
}

impl Future for Collective<'_> {
    type Output = Result<()>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let (core, ticket) = match &mut self.0 {
            Inner::Called(_, 0, _) => return Poll::Ready(Ok(())),
            Inner::Called(core, ticket, _) => (*core, *ticket),
            Inner::Other(other) => return other.poll(cx),
        };
        let mut has_come = false;
        if let Some((awaited, then)) = core.last_wait.get(ticket) {
            has_come = core.look_for(awaited);
            if has_come && then == Then::Over {
                core.record_end(ticket);
                return Poll::Ready(Ok(()));
            }
        }
        let mut watcher = Watcher::unmade(cx);
        let looked = core.with_queue(|queue| {
            if has_come {
                core.finish(queue, ticket);
            }
            if queue.ended < ticket {
                core.advance(queue);
            }
            // A task at the front is polled when the queue is unlocked.
            if queue.due { None } else { Some(queue.poll(ticket, &mut watcher)) }
        });
        let polled = match looked {
            Some(polled) if !watcher.is_wanted() => polled,
            _ => {
                let mut watcher = Watcher::of(cx);
                core.with_queue(|queue| queue.poll(ticket, &mut watcher))
            }
        };
        if polled.is_pending() {
            core.check_awaited("a collective")?;
        } else {
            core.record_end(ticket);
        }
        polled
    }
}

impl Other<'_> {
    #[cold]
    fn poll(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<()>> {
        match self {
            Self::Failed(error) => Poll::Ready(error.take().map_or(Ok(()), Err)),
            Self::Row(core, tickets) => {
                let last = tickets.iter().copied().max().unwrap_or(0);
                core.with_queue(|queue| {
                    if queue.ended < last {
                        core.advance(queue);
                    }
                });
                let mut watcher = Watcher::of(cx);
                let polled = core.with_queue(|queue| {
                    // All of them are asked, so that none leaves an error behind.
                    queue.look(last, last, &mut watcher).map(|()| {
                        let outcomes: Vec<_> = tickets.iter().map(|&ticket| queue.outcome(ticket)).collect();
                        outcomes.into_iter().collect()
                    })
                });
                if polled.is_pending() {
                    core.check_awaited("a collective")?;
                } else {
                    core.record_end(last);
                }
                polled
            }
        }
    }
}

impl fmt::Debug for Collective<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Inner::Called(_, 0, _) => f.write_str("Collective(ended)"),
            Inner::Called(_, ticket, _) => write!(f, "Collective({ticket})"),
            Inner::Other(other) => match &**other {
                Other::Failed(error) => write!(f, "Collective({error:?})"),
                Other::Row(_, tickets) => write!(f, "Collective({tickets:?})"),
            },
        }
    }
}

/// Ready when all that a team was in when this was made has ended. It takes no collective's
/// outcome.
#[must_use = "the team is idle once this is awaited"]
pub(crate) struct Idle<'a> {
    pub(super) core: &'a Core,
    pub(super) ticket: u64,
    /// Its own among the watchers of the queue.
    pub(super) key: u64,
}

impl Future for Idle<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<()> {
        let Self { core, ticket, key } = *self;
        core.with_queue(|queue| {
            if queue.ended < ticket {
                core.advance(queue);
            }
        });
        let mut watcher = Watcher::of(cx);
        core.with_queue(|queue| queue.look(ticket, key, &mut watcher))
    }
}

/// Where the outcome of a collective lands, even if it never ends.
pub(super) struct Landing<T> {
    group: Arc<Group>,
    flight: Arc<Flight<Result<T>>>,
    call: &'static str,
    has_landed: bool,
}

impl<T> Landing<T> {
    pub(super) fn new(flight: &Arc<Flight<Result<T>>>, group: &Arc<Group>, call: &'static str) -> Self {
        Self { group: Arc::clone(group), flight: Arc::clone(flight), call, has_landed: false }
    }

    pub(super) fn land(mut self, outcome: Result<T>) {
        self.has_landed = true;
        self.flight.land(outcome);
    }
}

impl<T> Drop for Landing<T> {
    fn drop(&mut self) {
        if !self.has_landed {
            // The team is no more, or revoked. A task that awaits it is not to wait for ever.
            let revoked = self.group.revoked().and_then(|_| self.group.check().err());
            self.flight.land(Err(revoked.unwrap_or(Error::Finalized { call: self.call })));
        }
    }
}

/// A collective with a result: see [`Team::run`](crate::Team::run). It goes on if this is dropped.
///
/// ```
/// # use oxshmem::prelude::*;
/// # LocalCluster::run(2, |world| async move {
/// let bytes = (world.my_pe() == 0).then(|| vec![1, 2, 3]);
/// let outcome: oxshmem::Outcome<Vec<u8>> = world.broadcast_bytes(bytes, 0);
/// assert_eq!(outcome.await?, [1, 2, 3]);
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[must_use = "the other PEs have come once this is awaited"]
pub struct Outcome<T> {
    pub(super) flight: Arc<Flight<Result<T>>>,
    pub(super) core: Weak<Core>,
}

impl<T> Future for Outcome<T> {
    type Output = Result<T>;

    fn poll(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        // It goes on by itself; looking once more saves a turn through the executor. A thread that
        // has the queue locked is at it already.
        let core = self.core.upgrade();
        if let Some(core) = &core
            && let Some(mut queue) = core.queue.try_lock()
        {
            core.advance(&mut queue);
            core.unlock(queue);
        }
        let polled = self.flight.poll(cx);
        if polled.is_pending()
            && let Some(core) = &core
        {
            core.check_awaited("a collective")?;
        }
        polled
    }
}

impl<T> fmt::Debug for Outcome<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Outcome")
    }
}
