//! Locks among PEs: set, test and clear (`OpenSHMEM 1.6 §9.13`).
//!
//! A lock is one symmetric `u64`, zero on every PE at the start. PEs get it in the order in which
//! they come. They stand in a queue in which each PE knows its successor only, and waits on its own
//! instance of the word:
//!
//! | bytes | name | on | what |
//! |---|---|---|---|
//! | 0 to 3 | `tail` | the lock's home PE | which PE is last in the queue |
//! | 4 to 7 | `node` | each PE | which PE is next, and bit 31: the lock is this PE's |
//!
//! Both halves are accessed as `u32`s, so it does not matter in which order a machine keeps the
//! bytes of a `u64`. The home PE follows from the lock's offset, so that many locks have many
//! homes. Without competition, setting and clearing are one atomic each on the home PE, and some on
//! the PE's own node.
//!
//! | module | |
//! |---|---|
//! | `queue` | the protocol among PEs |
//! | `lasting` | that of a job that goes on when a PE is lost, with other words |
//! | `local` | the tasks of one PE that share its place in the queue |
//! | `words` | its words, as one PE reaches them |
//! | `shown` | what the PE's activity board shows of a lock |

#[cfg(test)]
mod explore;
mod lasting;
mod local;
mod queue;
mod shown;
mod words;

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context as TaskContext, Poll},
};

use oxshmem_base::{Error, Result};
use oxshmem_progress::{activity::Call, opset::OpSet, record::Pending};
use oxshmem_spaces::SymRef;

use self::local::{Holder, LocalLock, Outcome};
use crate::{
    context::Context,
    quiet::Quiet,
    trace::{trace_operation, waiting},
};

/// A lock that one task of one PE at a time can have.
///
/// The word is a symmetric `u64` that is 0 on all PEs before the first use, and touched by nothing
/// else. Each PE makes a handle of its own; handles are cheap to clone, and all those of a PE to
/// one word are the same lock.
///
/// *Order.* PEs get the lock in the order in which they called [`lock`](Self::lock) or
/// [`set`](Self::set): when the call returns the PE is in the queue, unless another thread of it is
/// at the lock just then, which sees to it next. Several tasks of one PE share the PE's place: the
/// first of them gets the lock with it, and for the next the PE queues up again. A task that goes
/// away leaves the place to the next one of its PE, or, if there is none, passes the lock on as
/// soon as it comes. A task that has the lock and asks for it again waits for itself.
///
/// *Memory.* A holder of the lock sees what the holders before it put and stored: leaving a lock
/// quiets the context that the handle was made with. Operations on other contexts need a `quiet` of
/// their own.
///
/// A waiting task sleeps. All calls fail once the world is finalized or the job has lost a PE.
///
/// *Lost PEs.* In a job that goes on, a lock that a lost PE had goes to another, whose guard
/// [says so](LockGuard::was_abandoned), once all PEs know of the loss: nothing that the lost PE has
/// put can arrive any more. PEs that wait then queue up again, in any order. The word of each lock
/// has a home among the PEs; if that one is lost, all calls fail with [`Error::PeLost`].
///
/// ```
/// # use oxshmem::prelude::*;
/// # LocalCluster::run(4, |world| async move {
/// let word = world.alloc_zeroed::<u64>(1).await?;
/// let total = world.alloc_zeroed::<u64>(1).await?;
/// let lock = Lock::new(world.context(), word.at(0))?;
/// for _ in 0..10 {
///     let guard = lock.lock().await?;
///     let before = world.context().g(total.at(0), 0).await?; // get and put are two operations,
///     world.context().p(total.at(0), before + 1, 0).await?;
///     guard.unlock().await?; // but no other PE comes in between
/// }
/// world.barrier_all().await?;
/// assert_eq!(world.context().g(total.at(0), 0).await?, 40);
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[derive(Clone)]
pub struct Lock {
    local: Arc<LocalLock>,
    /// What leaving it quiets.
    ops: Arc<OpSet>,
}

impl Lock {
    /// The lock at `word`. Not collective. What a holder has issued on `ctx`, usually the default
    /// context, is complete before the next holder comes.
    ///
    /// # Errors
    /// [`Error::ForeignMemory`] if the word is not of the context's PE; [`Error::Finalized`] and
    /// the other ends of a job.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let words = world.alloc_zeroed::<u64>(100).await?; // a hundred locks
    /// let seventh = Lock::new(world.context(), words.at(7))?;
    /// let eighth = Lock::new(world.context(), words.at(8))?;
    /// let _both = (seventh.lock().await?, eighth.lock().await?);
    /// # drop(_both);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn new(ctx: &Context, word: SymRef<'_, u64>) -> Result<Self> {
        ctx.pe().check("Lock::new")?;
        if !Arc::ptr_eq(ctx.pe(), word.as_view().pe()) {
            return Err(Error::ForeignMemory { call: "Lock::new" });
        }
        if word.as_view().domain().is_device() {
            let what = "Lock::new: the word is in device memory, where PEs cannot queue; allocate it in the CPU space";
            return Err(Error::Unsupported { what: what.to_owned() });
        }
        Ok(Self { local: LocalLock::of(word)?, ops: Arc::clone(ctx.ops()) })
    }

    /// Gets the lock: `shmem_set_lock`. The call itself queues up, and its future is ready with a
    /// guard when the lock is this task's. Dropping the future gives the place up.
    ///
    /// # Errors
    /// [`Error::PeLost`], [`Error::GlobalExit`] and [`Error::Finalized`].
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// # let word = world.alloc_zeroed::<u64>(1).await?;
    /// let lock = Lock::new(world.context(), word.at(0))?;
    /// let patience = std::time::Duration::from_millis(1);
    /// match tokio::time::timeout(patience, lock.lock()).await {
    ///     Ok(guard) => drop(guard?),
    ///     Err(_) => println!("another PE has it for longer"),
    /// }
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline]
    pub fn lock(&self) -> Locking {
        Locking(self.request("lock", false))
    }

    /// Gets the lock if no PE and no task has it or waits for it: `shmem_test_lock`. Otherwise
    /// `None`. Not fair: a task that only tries is never in the queue.
    ///
    /// # Errors
    /// The errors of [`lock`](Self::lock).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// # let word = world.alloc_zeroed::<u64>(1).await?;
    /// let lock = Lock::new(world.context(), word.at(0))?;
    /// let guard = lock.try_lock().await?.expect("it is free");
    /// assert!(lock.try_lock().await?.is_none());
    /// guard.unlock().await?;
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline]
    pub fn try_lock(&self) -> TryLocking {
        TryLocking(self.request("try_lock", true))
    }

    /// Sets the lock, without a guard: `shmem_set_lock`. It stays set until [`clear`](Self::clear),
    /// whatever becomes of the handle. If the future is dropped before it is ready, the lock is not
    /// set.
    ///
    /// # Errors
    /// The errors of [`lock`](Self::lock).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// # let word = world.alloc_zeroed::<u64>(1).await?;
    /// Lock::new(world.context(), word.at(0))?.set().await?;
    /// Lock::new(world.context(), word.at(0))?.clear().await?; // in another place of the program
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn set(&self) -> impl Future<Output = Result<()>> + Send + use<> {
        let locking = self.lock();
        async move { locking.await.map(LockGuard::keep) }
    }

    /// Sets the lock if no PE and no task has it or waits for it, without a guard:
    /// `shmem_test_lock`. True if it is set now; C returns the opposite.
    ///
    /// # Errors
    /// The errors of [`lock`](Self::lock).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// # let word = world.alloc_zeroed::<u64>(1).await?;
    /// let lock = Lock::new(world.context(), word.at(0))?;
    /// while !lock.test().await? {
    ///     tokio::task::yield_now().await; // something else to do
    /// }
    /// lock.clear().await?;
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn test(&self) -> impl Future<Output = Result<bool>> + Send + use<> {
        let locking = self.try_lock();
        async move { Ok(locking.await?.map(LockGuard::keep).is_some()) }
    }

    /// Clears a lock that this PE has set with [`set`](Self::set) or [`test`](Self::test):
    /// `shmem_clear_lock`. Quiets the context first. If the future is dropped while it does that,
    /// the lock is still set.
    ///
    /// # Errors
    /// [`Error::LockNotHeld`]; the errors of [`quiet`](Context::quiet), with which the lock is
    /// cleared nevertheless; those of [`lock`](Self::lock).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// # let word = world.alloc_zeroed::<u64>(1).await?;
    /// let lock = Lock::new(world.context(), word.at(0))?;
    /// let error = lock.clear().await.unwrap_err();
    /// assert!(matches!(error, oxshmem::Error::LockNotHeld { .. }));
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub async fn clear(&self) -> Result<()> {
        self.local.pe().check("clear")?;
        let why = match self.local.holder() {
            Some(Holder::Set) => {
                Quiet::of(self.local.pe(), &self.ops).completed().await;
                match self.local.release(Holder::Set, None) {
                    Some(number) => {
                        self.local.left(number).await?;
                        return self.ops.take_failed(None);
                    }
                    None => "another task has cleared it at the same time",
                }
            }
            Some(Holder::Ticket(_)) => "a guard in this PE does; drop that instead",
            None => "set it first",
        };
        self.local.check("clear")?;
        let (pe, offset) = (self.local.pe().me(), self.local.offset());
        Err(Error::LockNotHeld { call: "clear", pe, offset, why })
    }

    fn request(&self, call: &'static str, tries: bool) -> LockRequest {
        trace_operation(call, size_of::<u64>(), self.local.home());
        let stage = match self.local.check(call) {
            Err(error) => Stage::Failed(error),
            Ok(()) => match self.local.request(tries) {
                Some(ticket) => Stage::Queued(LockGuard { lock: self.clone(), ticket, abandoned: false }),
                None => Stage::Over,
            },
        };
        LockRequest { call, stage, record: None }
    }
}

impl fmt::Debug for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.local.fmt(f)
    }
}

/// A request for a lock.
struct LockRequest {
    call: &'static str,
    stage: Stage,
    /// What is recorded, once it waits.
    record: Option<Pending>,
}

enum Stage {
    /// What will be the guard.
    Queued(LockGuard),
    Failed(Error),
    /// Refused, or given to its caller.
    Over,
}

impl LockRequest {
    fn poll(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<Option<LockGuard>>> {
        let mut guard = match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Queued(guard) => guard,
            Stage::Failed(error) => return Poll::Ready(Err(error)),
            Stage::Over => return Poll::Ready(Ok(None)),
        };
        let local = &guard.lock.local;
        let mut outcome = local.outcome(guard.ticket, self.call, cx.waker());
        if outcome.is_none() {
            // It goes on by itself; looking once more saves a turn through the engine.
            local.drive();
            outcome = local.outcome(guard.ticket, self.call, cx.waker());
        }
        match outcome {
            Some(Ok(Outcome::Got { abandoned })) => {
                guard.abandoned = abandoned;
                Poll::Ready(Ok(Some(guard)))
            }
            Some(refused) => {
                guard.defuse();
                Poll::Ready(refused.map(|_| None))
            }
            None => {
                if self.record.is_none() {
                    self.record = waiting(local.pe(), Call::SetLock, Some(local.extent()));
                }
                self.stage = Stage::Queued(guard);
                Poll::Pending
            }
        }
    }
}

impl Drop for LockRequest {
    fn drop(&mut self) {
        if let Stage::Queued(guard) = std::mem::replace(&mut self.stage, Stage::Over) {
            guard.lock.local.abandon(guard.ticket);
            guard.defuse();
        }
    }
}

impl fmt::Debug for LockRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.stage {
            Stage::Queued(guard) => write!(f, "{} (under way) of {:?}", self.call, guard.lock),
            Stage::Failed(_) => write!(f, "{} (failed)", self.call),
            Stage::Over => write!(f, "{} (over)", self.call),
        }
    }
}

/// A task's wait for a [`Lock`]. Dropping it gives the place up; forgetting it keeps the lock set
/// once it comes.
///
/// ```
/// # use oxshmem::prelude::*;
/// # LocalCluster::run(1, |world| async move {
/// # let word = world.alloc_zeroed::<u64>(1).await?;
/// let lock = Lock::new(world.context(), word.at(0))?;
/// let (first, second) = (lock.lock(), lock.lock()); // both are in the queue now
/// drop(first);
/// let guard = second.await?;
/// # drop(guard);
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[must_use = "a lock is held while its guard lives"]
#[derive(Debug)]
pub struct Locking(LockRequest);

impl Future for Locking {
    type Output = Result<LockGuard>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        self.0.poll(cx).map(|outcome| match outcome? {
            Some(guard) => Ok(guard),
            None => panic!("a lock's future was polled after it had completed"),
        })
    }
}

/// A task's try to get a [`Lock`].
///
/// ```
/// # use oxshmem::prelude::*;
/// # LocalCluster::run(1, |world| async move {
/// # let word = world.alloc_zeroed::<u64>(1).await?;
/// let lock = Lock::new(world.context(), word.at(0))?;
/// let trying = lock.try_lock();
/// if let Some(guard) = trying.await? {
///     guard.unlock().await?;
/// }
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[must_use = "a lock is held while its guard lives"]
#[derive(Debug)]
pub struct TryLocking(LockRequest);

impl Future for TryLocking {
    type Output = Result<Option<LockGuard>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        self.0.poll(cx)
    }
}

/// Has a [`Lock`] until it is dropped.
///
/// Dropping it never waits: the context's `quiet`, and a successor that is just coming, are waited
/// for by the lock itself, and then the next holder gets it. [`unlock`](Self::unlock) is the same
/// with a future that says when that is over, and whether `quiet` found errors. A guard that is
/// forgotten leaves the lock set for good.
///
/// ```
/// # use oxshmem::prelude::*;
/// # LocalCluster::run(2, |world| async move {
/// # let word = world.alloc_zeroed::<u64>(1).await?;
/// let log = world.alloc_zeroed::<u64>(8).await?;
/// let lock = Lock::new(world.context(), word.at(0))?;
/// {
///     let _guard = lock.lock().await?;
///     world.context().put_nbi(&log, vec![world.my_pe() as u64; 8], 0);
/// } // the next holder finds all of it
/// let guard = lock.lock().await?;
/// let seen = world.context().get(&log, 0).await?;
/// assert!(seen.iter().all(|&pe| pe == seen[0]));
/// drop(guard);
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[must_use = "a lock is held while its guard lives"]
pub struct LockGuard {
    lock: Lock,
    /// 0 once it holds nothing.
    ticket: u64,
    abandoned: bool,
}

impl LockGuard {
    /// Quiets the context, gives the lock to the next, and returns when that is done:
    /// `shmem_clear_lock`. Goes on if the future is dropped.
    ///
    /// # Errors
    /// The errors of [`quiet`](Context::quiet), with which the lock is cleared nevertheless, and of
    /// [`lock`](Lock::lock).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// # let word = world.alloc_zeroed::<u64>(1).await?;
    /// let lock = Lock::new(world.context(), word.at(0))?;
    /// let guard = lock.lock().await?;
    /// guard.unlock().await?;
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub async fn unlock(mut self) -> Result<()> {
        Quiet::of(self.lock.local.pe(), &self.lock.ops).completed().await;
        let holder = Holder::Ticket(std::mem::take(&mut self.ticket));
        if let Some(number) = self.lock.local.release(holder, None) {
            self.lock.local.left(number).await?;
        }
        self.lock.ops.take_failed(None)
    }

    /// Whether a PE that had the lock was lost before it left it, in a job that goes on: what the
    /// lock protects may be half changed. The first guard after that says so, and no other.
    /// An extension: the specification has no lost PEs.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// # let word = world.alloc_zeroed::<u64>(1).await?;
    /// # let total = world.alloc_zeroed::<u64>(1).await?;
    /// let guard = Lock::new(world.context(), word.at(0))?.lock().await?;
    /// if guard.was_abandoned() {
    ///     world.context().p(total.at(0), 0, 0).await?; // begin again
    /// }
    /// # drop(guard);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn was_abandoned(&self) -> bool {
        self.abandoned
    }

    /// The lock that it holds.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// # let word = world.alloc_zeroed::<u64>(1).await?;
    /// let guard = Lock::new(world.context(), word.at(0))?.lock().await?;
    /// let lock = guard.lock().clone();
    /// drop(guard);
    /// let again = lock.lock().await?;
    /// # drop(again);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn lock(&self) -> &Lock {
        &self.lock
    }

    /// The lock stays set without it.
    fn keep(self) {
        self.lock.local.set(self.ticket, self.abandoned);
        self.defuse();
    }

    /// It holds nothing, and its end is no release.
    fn defuse(mut self) {
        self.ticket = 0;
    }
}

impl Drop for LockGuard {
    fn drop(&mut self) {
        if self.ticket != 0 {
            let local = &self.lock.local;
            let quiet = Quiet::of(local.pe(), &self.lock.ops);
            local.release(Holder::Ticket(self.ticket), Some(quiet));
        }
    }
}

impl fmt::Debug for LockGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "guard of {:?}", self.lock)
    }
}
