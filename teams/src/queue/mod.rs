//! A team runs its collectives one after the other, in the order of their calls.
//!
//! A collective lives in its team's queue, not in the future that its caller holds: the future only
//! watches. So a caller that drops it, or loses a `select!`, leaves no PE waiting: the collective
//! goes on, woken by the executor like any other, and the next one of the team waits its turn.
//!
//! What this library does in a collective runs with the queue locked. A task is polled with it
//! unlocked: a user's future may call the team, or drop its last handle.
//!
//! The one at the front does not own the memory it works on, since that would cost two locked
//! instructions a slice. Its future borrows the memory; should that be forgotten,
//! [`Core::blocks_in_use`] keeps what it uses from being allocated to others. Those that wait
//! behind it own theirs.
//!
//! | module | what it offers |
//! |---|---|
//! | `state` | what the queue holds, and what waits for it |
//! | `running` | a collective in the queue |
//! | `tasks` | those that run with the queue unlocked, and what polls them |
//! | `future` | the futures that callers hold |
//! | `last_wait` | what they look at without the queue |
//! | `on_stream` | collectives in the order of CUDA streams |
//! | `record` | what is recorded of them |

mod future;
mod last_wait;
#[cfg(all(test, oxshmem_loom))]
mod loom_tests;
mod on_stream;
mod record;
mod refusal;
pub(crate) mod registry;
mod running;
mod state;
mod tasks;

use std::{
    sync::{Arc, Weak},
    task::{Context as TaskContext, Poll, Waker},
};

use oxshmem_base::{
    Error, Result,
    sync::{AtomicBool, Mutex, MutexGuard, Ordering, lock},
    wakes::Hold,
};
use oxshmem_ops::context::ContextHandles;
use oxshmem_progress::{
    activity::{Activity, Call, Count, Place},
    run_flag::RunFlag,
};
use oxshmem_spaces::{Loss, allocation::Allocation};

pub(crate) use self::{future::Idle, running::Shown};
pub use self::{
    future::{Collective, Outcome},
    on_stream::Ended,
};
use self::{
    last_wait::LastWait,
    record::Recorded,
    registry::Registry,
    running::{Begun, Running, Use, begin_sync, broadcast_begun, takes},
    state::{IDLE, Queue},
};
use crate::{
    algorithm::{
        called::Called,
        direct::direct,
        exchange::{Exchange, Quick},
        sync::Sync,
        tree_broadcast::{ToRoot, TreeBroadcast},
    },
    group::Group,
    hosts::sync::sync_in,
    memory::staging::Staging,
    signature::Signature,
};

/// What a team is made for (`OpenSHMEM 1.6 §9.4.3`).
///
/// ```
/// # use oxshmem::prelude::*;
/// # LocalCluster::run(2, |world| async move {
/// let config = TeamConfig { num_contexts: 2 };
/// let team = world.team().split_strided_with(0, 1, 2, config).await?.expect("both PEs are in it");
/// assert_eq!(team.config().num_contexts, 2);
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TeamConfig {
    /// How many contexts are going to exist at a time. Contexts cost so little that this is not a
    /// limit.
    pub num_contexts: usize,
}

/// What all handles of a team on one PE share.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) group: Arc<Group>,
    /// Held for a poll at the longest.
    queue: Mutex<Queue>,
    /// Whether the other PEs are in this process, so that what we do may wake this very team on
    /// this thread.
    in_process: bool,
    last_wait: LastWait,
    /// A thread wants the queue looked at, and found it locked.
    wakes: RunFlag,
    recorded: Recorded,
    pub(crate) registry: Arc<Registry>,
    /// The place of its scratch memory.
    pub(crate) place: usize,
    /// The name of a predefined team.
    pub(crate) predefined: Option<&'static str>,
    pub(crate) config: TeamConfig,
    pub(crate) staging: Staging,
    pub(crate) contexts: Mutex<ContextHandles>,
    destroyed: AtomicBool,
    this: Weak<Self>,
}

impl Drop for Core {
    fn drop(&mut self) {
        self.set_destroyed();
    }
}

impl Core {
    pub(crate) fn new(
        group: Group,
        place: usize,
        predefined: Option<&'static str>,
        config: TeamConfig,
        registry: &Arc<Registry>,
    ) -> Arc<Self> {
        let core = Arc::new_cyclic(|this| Self {
            in_process: group.pe().in_process(),
            group: Arc::new(group),
            queue: Mutex::default(),
            last_wait: LastWait::default(),
            wakes: RunFlag::default(),
            recorded: Recorded::default(),
            registry: Arc::clone(registry),
            place,
            predefined,
            config,
            staging: Staging::default(),
            contexts: Mutex::default(),
            destroyed: AtomicBool::new(false),
            this: this.clone(),
        });
        registry.add(&core);
        core.group.pe().board().changed(Count::Teams, 1);
        core
    }

    /// An error if the team is no more, or the job cannot go on.
    #[inline(always)]
    pub(crate) fn check(&self, call: &'static str) -> Result<()> {
        // Relaxed: a flag for mistakes, not for synchronisation.
        if self.destroyed.load(Ordering::Relaxed) {
            return Err(Error::TeamDestroyed { call });
        }
        self.group.pe().check(call)
    }

    /// An error also if PEs have called different things before, after which nothing begins any
    /// more.
    #[inline(always)]
    pub(crate) fn check_turn(&self, call: &'static str) -> Result<()> {
        self.group.pe().home().check(self.group.pe().me(), call)?;
        self.check(call)?;
        self.group.check()
    }

    /// From now on the team is no more. False if it was not before.
    pub(crate) fn set_destroyed(&self) -> bool {
        let first = !self.destroyed.swap(true, Ordering::Relaxed);
        if first {
            self.group.pe().board().changed(Count::Teams, 1_usize.wrapping_neg());
        }
        first
    }

    /// A member is lost: everything that was called fails, and all that is called later.
    pub(crate) fn revoke(&self, loss: &Loss) {
        if !self.group.set_revoked(loss) {
            return;
        }
        self.registry.set_revoked(self.place);
        self.with_queue(|queue| {
            self.retire(queue);
            queue.revoked_at = Some(queue.ended);
            match queue.front {
                // It ends when it is polled, or has been.
                Some(Running::Task(..)) => queue.due = true,
                _ => self.advance(queue),
            }
        });
    }

    /// How many had ended when the team was revoked, if it is.
    pub(crate) fn revoked_at(&self) -> Option<u64> {
        self.with_queue(|queue| queue.revoked_at)
    }

    /// How many have ended.
    pub(crate) fn ended(&self) -> u64 {
        self.with_queue(|queue| {
            self.retire(queue);
            queue.ended
        })
    }

    /// A sync.
    #[inline]
    pub(crate) fn sync(&self) -> Collective<'_> {
        self.sync_as(Call::Sync)
    }

    /// A sync that is recorded as `call`.
    #[inline]
    pub(crate) fn sync_as(&self, call: Call) -> Collective<'_> {
        tracing::trace!(target: "oxshmem", call = "sync");
        if let Err(error) = self.check_turn("sync") {
            return Collective::failed(error);
        }
        if self.group.wide().is_some() {
            return self.sync_wide(call);
        }
        let (called, mut number) = (self.called(), 0);
        let ticket = self.with_queue(|queue| {
            number = queue.next();
            // The sync before is still there if its future has seen the end of it by itself. It is
            // used again in place: moving it about would cost more than all the rest.
            if queue.behind.is_empty()
                && let Some(Running::Sync(sync)) = queue.front.as_mut()
                && sync.is_over(&self.group)
            {
                queue.ended += 1;
                let begun = begin_sync(sync, &self.group);
                return self.begun(queue, begun);
            }
            self.push(queue, Running::Sync(Sync::default()))
        });
        self.record(called, number, ticket, || Activity::new(call));
        Collective::new(self, ticket)
    }

    #[cold]
    fn sync_wide(&self, call: Call) -> Collective<'_> {
        let group = Arc::clone(&self.group);
        self.task(Shown::As(Activity::new(call)), Signature::named("sync"), async move {
            group.check()?;
            sync_in(&group).await
        })
    }

    /// Calls a collective: `push` puts the one with its number into the queue, and returns its
    /// ticket.
    #[inline(always)]
    fn call(&self, signature: Signature, push: impl FnOnce(&mut Queue, u64) -> u64) -> Collective<'_> {
        let (called, mut number) = (self.called(), 0);
        let ticket = self.with_queue(|queue| {
            self.retire(queue);
            number = queue.next();
            push(queue, number)
        });
        self.record(called, number, ticket, || signature.activity());
        Collective::new(self, ticket)
    }

    /// A collective that is an exchange through slots.
    #[inline]
    pub(crate) fn exchange<'a>(
        &'a self,
        mut call: Called,
        memory: [&'a Arc<Allocation>; 2],
    ) -> Collective<'a> {
        self.call(call.signature, |queue, number| {
            call.signature = call.signature.numbered(number);
            if queue.front.is_none()
                && let Some(begun) = Quick::begin(&self.group, &call)
            {
                return self.begun_quickly(queue, begun, memory);
            }
            self.push_exchange(queue, Exchange::new(&self.group, call), memory)
        })
    }

    /// Apart from what is quick, so that this keeps to the registers.
    #[inline(never)]
    fn push_exchange(&self, queue: &mut Queue, exchange: Exchange, memory: [&Arc<Allocation>; 2]) -> u64 {
        let used = queue.lend(memory);
        self.push(queue, Running::Exchange(exchange, used))
    }

    /// A broadcast that goes down a tree, from destination to destination.
    #[inline(always)]
    pub(crate) fn broadcast_in_tree<'a>(
        &'a self,
        call: &Called,
        root: usize,
        to_root: ToRoot,
        memory: [&'a Arc<Allocation>; 2],
    ) -> Collective<'a> {
        self.call(call.signature, |queue, number| {
            let signature = call.signature.numbered(number);
            let mut broadcast = TreeBroadcast::pushed(signature, root, [call.source, call.dest], to_root);
            if queue.front.is_some() {
                let used = queue.lend(memory);
                return self.push_behind(queue, Running::Broadcast(broadcast, used));
            }
            // A root that need not wait for room, or a message that has come already: it is over
            // before it is in the queue.
            let begun = broadcast.begin(&self.group);
            if begun.is_ok() && broadcast.is_over() && queue.watchers.is_empty() {
                queue.call_log.remember(queue.ended + 1, signature);
                return queue.pass();
            }
            let begun = begun.map(|()| broadcast_begun(&broadcast, &self.group));
            queue.front = Some(Running::Broadcast(broadcast, Use::of(memory)));
            self.begun(queue, begun)
        })
    }

    /// A collective in the memory of all PEs.
    pub(crate) fn direct<'a>(&'a self, call: Called, memory: [&'a Arc<Allocation>; 2]) -> Collective<'a> {
        self.call(call.signature, |queue, _| {
            let (task, used) = (direct(Arc::clone(&self.group), call), queue.lend(memory));
            self.push(queue, Running::Direct(task, call.signature, used))
        })
    }

    /// The blocks of the heap, by number, that the collective at the front uses without owning
    /// them.
    pub(crate) fn blocks_in_use(&self) -> Vec<u64> {
        let blocks = self.with_queue(|queue| match queue.front.as_ref() {
            Some(
                Running::Quick(_, used)
                | Running::Exchange(_, used)
                | Running::Broadcast(_, used)
                | Running::Direct(.., used),
            ) => used.blocks,
            Some(Running::Sync(_) | Running::Task(..)) | None => [0; 2],
        });
        blocks.into_iter().filter_map(|block| block.checked_sub(1)).collect()
    }

    /// Ready when everything that was called on this team before has ended, well or not. What goes
    /// on behind all calls of the program is not waited for, as others may never come to it.
    pub(crate) fn idle(&self) -> Idle<'_> {
        self.with_queue(|queue| {
            self.retire(queue);
            queue.idlers += 1;
            let running = queue.front.iter().chain(&queue.behind).rev();
            let called = queue.len() - running.take_while(|running| running.is_background()).count() as u64;
            Idle { core: self, ticket: queue.ended + called, key: IDLE + queue.idlers }
        })
    }

    /// Removes a sync whose future has seen the end of it.
    #[inline(always)]
    fn retire(&self, queue: &mut Queue) {
        if queue.behind.is_empty()
            && let Some(Running::Sync(sync)) = queue.front.as_ref()
            && sync.is_over(&self.group)
        {
            queue.front = None;
            queue.ended += 1;
        }
    }

    /// Appends a collective, and begins it if it is its turn. Returns its ticket, or 0 if it has
    /// ended well.
    #[inline(always)]
    fn push(&self, queue: &mut Queue, running: Running) -> u64 {
        if queue.front.is_some() {
            return self.push_behind(queue, running);
        }
        let begun = queue.front.insert(running).begin(&self.group, &mut queue.buffers);
        self.begun(queue, begun)
    }

    #[cold]
    fn push_behind(&self, queue: &mut Queue, running: Running) -> u64 {
        queue.behind.push_back(running);
        let ticket = queue.ended + queue.len();
        self.advance(queue);
        ticket
    }

    /// The only collective has begun, and is a quick one. If the others were first it is over
    /// before it is in the queue.
    #[inline(always)]
    fn begun_quickly(&self, queue: &mut Queue, quick: Quick, memory: [&Arc<Allocation>; 2]) -> u64 {
        let nobody_watches = queue.watchers.is_empty();
        let awaited = quick.last_wait(&self.group);
        let begun = match nobody_watches && self.group.have_come(awaited) {
            false => Ok(takes(awaited)),
            true => match quick.take(&self.group) {
                Ok(()) => return queue.pass(),
                Err(differs) => Err(differs),
            },
        };
        queue.front = Some(Running::Quick(quick, Use::of(memory)));
        self.begun(queue, begun)
    }

    /// The only collective has begun. Returns its ticket, or 0 if it has ended well.
    #[inline(always)]
    fn begun(&self, queue: &mut Queue, begun: Result<Begun>) -> u64 {
        let ticket = queue.ended + 1;
        match begun {
            Ok(Begun::Waits(awaited, then)) => {
                self.last_wait.set(ticket, awaited, then);
                return ticket;
            }
            Ok(Begun::Ended) => queue.end(&self.group, Ok(())),
            Ok(Begun::Owes) => self.advance(queue),
            Err(error) => {
                queue.end(&self.group, Err(error));
                return ticket;
            }
        }
        let well = queue.ended >= ticket && queue.failures.is_empty() && queue.broken.is_none();
        if well { 0 } else { ticket }
    }

    /// The last message of the collective with that ticket has come: ends it, if it is the only
    /// one, and needs nothing else. Nothing is sent then, so no task is to be woken but those that
    /// wait for this one.
    #[inline(always)]
    fn finish(&self, queue: &mut Queue, ticket: u64) {
        let Queue { front, buffers, behind, .. } = queue;
        if queue.ended + 1 != ticket || !behind.is_empty() || self.group.is_broken() {
            return;
        }
        let outcome = match front {
            Some(Running::Quick(quick, _)) => Poll::Ready(quick.take(&self.group)),
            Some(Running::Exchange(exchange, _)) if exchange.last_wait(&self.group).is_some() => {
                exchange.poll(&self.group, buffers, &|| Waker::noop().clone())
            }
            Some(Running::Broadcast(broadcast, _)) if broadcast.last_wait(&self.group).is_some() => {
                broadcast.poll(&self.group, &|| Waker::noop().clone())
            }
            _ => return,
        };
        if let Poll::Ready(outcome) = outcome {
            queue.end(&self.group, outcome);
        }
    }

    /// Runs the queue as far as it goes without polling a task. What is set free by the way is
    /// woken when it is unlocked, and then a task at the front is polled too.
    fn advance(&self, queue: &mut Queue) {
        let waker: &dyn Fn() -> Waker =
            &|| self.this.upgrade().map_or_else(|| Waker::noop().clone(), Waker::from);
        loop {
            let Queue { front, buffers, .. } = queue;
            let outcome = match front {
                None => return,
                Some(Running::Quick(..)) => {
                    queue.slow_down();
                    continue;
                }
                // Messages of a collective that begins now would undo the poison.
                Some(running) if !matches!(running, Running::Task(..)) && self.group.is_broken() => {
                    Poll::Ready(self.group.check())
                }
                Some(Running::Sync(sync)) => sync.poll(&self.group, waker),
                Some(Running::Exchange(exchange, _)) => exchange.poll(&self.group, buffers, waker),
                Some(Running::Broadcast(broadcast, _)) => broadcast.poll(&self.group, waker),
                Some(Running::Direct(task, ..)) => task.as_mut().poll(&mut TaskContext::from_waker(&waker())),
                // What it does may come back to this very team, which must not be locked then. A
                // thread that is at it goes on by itself.
                Some(Running::Task(task, ..)) => {
                    queue.due |= task.is_some();
                    return;
                }
            };
            match outcome {
                Poll::Pending if self.note(queue) => {}
                Poll::Pending => return,
                Poll::Ready(Ok(())) if queue.may_go_on() => match queue.follow_up(&self.group) {
                    Ok(true) => {}
                    ended => queue.end(&self.group, ended.map(drop)),
                },
                Poll::Ready(outcome) => queue.end(&self.group, outcome),
            }
        }
    }

    /// What the collective at the front waits for may have come.
    fn look_again(&self, queue: &mut Queue) {
        match queue.front {
            // A thread is at it, and may have looked already.
            Some(Running::Task(None, ..)) => queue.due = true,
            _ => self.advance(queue),
        }
    }

    /// The collective at the front waits for others: notes it, if it has not. True if it is to be
    /// looked at again, as a neighbour waits in another.
    fn note(&self, queue: &mut Queue) -> bool {
        if queue.noted.is_none()
            && let Some(front) = queue.front.as_ref()
        {
            let activity = front.activity(&self.group, queue.ended + 1);
            queue.noted =
                Some(activity.map_or(Place::NONE, |activity| self.group.pe().board().put(&activity)));
            return queue.call_log.compare(&self.group, queue.ended + 1, front.signature());
        }
        false
    }

    /// Locks the queue for `work`, and wakes afterwards what it set free.
    #[inline(always)]
    fn with_queue<R>(&self, work: impl FnOnce(&mut Queue) -> R) -> R {
        let mut queue = lock(&self.queue);
        let result = work(&mut queue);
        self.unlock(queue);
        result
    }

    #[inline(always)]
    fn unlock<'a>(&'a self, mut queue: MutexGuard<'a, Queue>) {
        if queue.due {
            queue = self.poll_task(queue);
        }
        if self.in_process {
            // Tasks that it set free are woken after this, as they may run at once, and wait for
            // the thread that has asked for it.
            let _hold = Hold::begin();
            drop(queue);
            if self.wakes.is_left() {
                self.drive();
            }
        }
    }
}
