//! A team runs its collectives one after the other, in the order of their calls.
//!
//! A collective lives in its team's queue, not in the future that its caller holds: the future only watches. So
//! a caller who drops it, or loses a `select!`, leaves nobody waiting: the collective goes on, woken by
//! the executor like any other, and the next one of the team waits its turn.

use std::{
    cell::RefCell,
    collections::VecDeque,
    fmt,
    future::poll_fn,
    pin::Pin,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence},
    },
    task::{Context as TaskContext, Poll, Wake, Waker},
};

use oxshmem_ops::{Cmp, Context, ContextOptions, Wait};
use oxshmem_runtime::{Error, Pe, Result, flight::Flight, settings::SyncAlgorithm};
use oxshmem_spaces::{SymRef, SymSlice, SymView, allocation::Allocation};

use tracing::Instrument;

use crate::sync::{Sync, choose};

/// Words between two flags: each is on a pair of cache lines of its own.
const FLAG_STRIDE: usize = 16;
/// Rounds of dissemination that 2³² PEs need.
const ROUNDS: usize = 32;
/// Flags before the scratch bytes.
const FLAGS: usize = 64;
/// Bytes of scratch that one collective may use at a time.
pub(crate) const SCRATCH_BYTES: usize = 32 << 10;

/// A word through which PEs of a team signal each other. All only grow.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Flag {
    /// Dissemination, round by round.
    Round(u32),
    /// The counter of a sync.
    Counter,
    /// The release of a sync.
    Release,
    /// Children that have come to a sync.
    Arrived,
    /// Chunks of broadcasts that have arrived.
    Chunk,
    /// Chunks of broadcasts that this child has taken.
    Taken(usize),
    /// Proposals of this child that have arrived.
    Proposal(usize),
    /// Verdicts that have arrived.
    Verdict,
}

impl Flag {
    #[inline(always)]
    fn index(self) -> usize {
        match self {
            Self::Round(round) => round as usize,
            Self::Counter => ROUNDS,
            Self::Release => ROUNDS + 1,
            Self::Arrived => ROUNDS + 2,
            Self::Chunk => ROUNDS + 3,
            Self::Verdict => ROUNDS + 4,
            Self::Taken(child) => ROUNDS + 8 + child,
            Self::Proposal(child) => ROUNDS + 16 + child,
        }
    }
}

/// The PEs of a team, as its collectives see them.
#[derive(Debug)]
pub struct Group {
    context: Context,
    flags: SymSlice<u64>,
    scratch: SymSlice<u8>,
    sync_algorithm: SyncAlgorithm,
    /// How many syncs have begun. Collectives begin under the lock of their team's queue.
    syncs: AtomicU64,
    /// How many chunks have been broadcast, and how many agreements made; likewise.
    pub(crate) chunks: AtomicU64,
    pub(crate) agreements: AtomicU64,
    /// Whose broadcast was the last.
    pub(crate) last_root: AtomicUsize,
    pe: Arc<Pe>,
}

impl Group {
    /// The number of the sync that begins now.
    #[inline(always)]
    pub(crate) fn next_sync(&self) -> u64 {
        // Relaxed, and no read-modify-write: the queue's lock keeps others away.
        let number = self.syncs.load(Ordering::Relaxed) + 1;
        self.syncs.store(number, Ordering::Relaxed);
        number
    }

    pub(crate) fn me(&self) -> usize {
        self.pe.me()
    }

    pub(crate) fn n(&self) -> usize {
        self.pe.n_pes()
    }

    pub(crate) fn sync_algorithm(&self) -> SyncAlgorithm {
        self.sync_algorithm
    }

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    /// This PE's instance of a flag.
    #[inline(always)]
    pub(crate) fn flag(&self, flag: Flag) -> SymRef<'_, u64> {
        self.flags.at(flag.index() * FLAG_STRIDE)
    }

    /// Bytes for the collective that is under way.
    pub(crate) fn scratch(&self) -> SymView<'_, u8> {
        self.scratch.view()
    }

    #[inline(always)]
    pub(crate) fn set(&self, flag: Flag, value: u64, pe: usize) -> Result<()> {
        now(self.context.signal_set(self.flag(flag), value, pe))
    }

    #[inline(always)]
    pub(crate) fn add(&self, flag: Flag, value: u64, pe: usize) -> Result<()> {
        now(self.context.signal_add(self.flag(flag), value, pe))
    }

    #[inline(always)]
    pub(crate) fn fetch_add(&self, flag: Flag, value: u64, pe: usize) -> Result<u64> {
        now(self.context.fetch_add(self.flag(flag), value, pe))
    }
}

/// The outcome of an operation on the PEs of one host, which is there at the first poll.
#[inline(always)]
fn now<T>(mut operation: impl Future<Output = Result<T>> + Unpin) -> Result<T> {
    match Pin::new(&mut operation).poll(&mut TaskContext::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => Err(Error::bootstrap("collective", "a flag did not reach its PE at once")),
    }
}

/// A team of PEs. For now there is one, the world (`OpenSHMEM 1.6 §9.4`).
///
/// ```
/// # use std::sync::Arc;
/// # use oxshmem_runtime::{Pe, bootstrap::Local, settings::Settings};
/// # use oxshmem_teams::Team;
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// # let mut cluster = Local::cluster(2).into_iter().map(Arc::new);
/// # let (a, b) = (cluster.next().unwrap(), cluster.next().unwrap());
/// # let (a, b) = tokio::try_join!(Pe::join(a, Settings::default()), Pe::join(b, Settings::default()))?;
/// let (a, b) = (Team::world(&a), Team::world(&b)); // one on each PE
/// assert_eq!((a.my_pe(), b.my_pe(), b.n_pes()), (0, 1, 2));
/// tokio::try_join!(a.sync(), b.sync())?;
/// # Ok::<(), oxshmem_runtime::Error>(())
/// # })?;
/// # Ok::<(), oxshmem_runtime::Error>(())
/// ```
#[derive(Debug)]
pub struct Team {
    group: Arc<Group>,
    /// Held for a poll at the longest. Unlocking is a plain store, which halves the price of a sync.
    queue: spin::mutex::SpinMutex<Queue, spin::Yield>,
    /// Whether the other PEs are in this process, so that what we do may wake this very team on this thread.
    in_process: bool,
    last_wait: LastWait,
    /// Somebody wants the queue looked at, and found it locked.
    poked: AtomicBool,
    this: Weak<Self>,
}

/// What the youngest sync waits for, if that is the last thing it does: its future looks at it without the queue.
///
/// Whoever reads while another thread begins the next sync may see that one's value, which is larger, and so
/// come too late but never too early.
#[derive(Debug, Default)]
struct LastWait {
    ticket: AtomicU64,
    flag: AtomicUsize,
    value: AtomicU64,
}

impl LastWait {
    #[inline(always)]
    fn set(&self, ticket: u64, flag: Flag, value: u64) {
        self.flag.store(flag.index() * FLAG_STRIDE, Ordering::Relaxed);
        self.value.store(value, Ordering::Relaxed);
        // Release: with the ticket come its flag and value, or later ones.
        self.ticket.store(ticket, Ordering::Release);
    }

    /// The flag's place and what it must come to, for the sync with that ticket.
    #[inline(always)]
    fn get(&self, ticket: u64) -> Option<(usize, u64)> {
        let same = self.ticket.load(Ordering::Acquire) == ticket;
        same.then(|| (self.flag.load(Ordering::Relaxed), self.value.load(Ordering::Relaxed)))
    }
}

/// Collectives under way, in the order of their calls.
#[derive(Debug, Default)]
struct Queue {
    /// How many have ended.
    ended: u64,
    waiting: VecDeque<Running>,
    /// Who to wake when something has ended, by the number of their collective.
    watchers: Vec<(u64, Waker)>,
    /// Who is to be woken as soon as the queue is unlocked.
    woken: Vec<Waker>,
    failure: Option<String>,
}

enum Running {
    /// A sync that has not had its turn yet.
    Called,
    Sync(Sync),
    Task(Pin<Box<dyn Future<Output = ()> + Send>>),
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Called => "called",
            Self::Sync(_) => "sync",
            Self::Task(_) => "task",
        })
    }
}

impl Team {
    /// The team of all PEs.
    pub fn world(pe: &Arc<Pe>) -> Arc<Self> {
        let segment = pe.scratch();
        let flag_bytes = FLAGS * FLAG_STRIDE * size_of::<u64>();
        let flags = Allocation::unowned(Arc::clone(pe), segment.clone(), 0, flag_bytes);
        let scratch = Allocation::unowned(Arc::clone(pe), segment, flag_bytes, SCRATCH_BYTES);
        let group = Arc::new(Group {
            context: Context::new(Arc::clone(pe), ContextOptions::new()),
            flags: SymSlice::new(flags, FLAGS * FLAG_STRIDE),
            scratch: SymSlice::new(scratch, SCRATCH_BYTES),
            sync_algorithm: choose(pe),
            syncs: AtomicU64::new(0),
            chunks: AtomicU64::new(0),
            agreements: AtomicU64::new(0),
            last_root: AtomicUsize::new(0),
            pe: Arc::clone(pe),
        });
        Arc::new_cyclic(|this| Self {
            group,
            queue: spin::mutex::SpinMutex::default(),
            in_process: pe.in_process(),
            last_wait: LastWait::default(),
            poked: AtomicBool::new(false),
            this: this.clone(),
        })
    }

    /// This PE's number in the team.
    pub fn my_pe(&self) -> usize {
        self.group.me()
    }

    /// How many PEs the team has.
    pub fn n_pes(&self) -> usize {
        self.group.n()
    }

    /// Nobody's future is ready before every PE has called this (`OpenSHMEM 1.6 §9.10.3`). Completes no
    /// operations: see `quiet`. Collective; the call itself says that this PE has come.
    ///
    /// # Errors
    /// [`Error::PeLost`], [`Error::GlobalExit`] and [`Error::Finalized`], when it can end no more.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use oxshmem_runtime::{Pe, bootstrap::Local, settings::Settings};
    /// # use oxshmem_teams::Team;
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    /// # runtime.block_on(async {
    /// # let mut cluster = Local::cluster(2).into_iter().map(Arc::new);
    /// # let (a, b) = (cluster.next().unwrap(), cluster.next().unwrap());
    /// # let (a, b) = tokio::try_join!(Pe::join(a, Settings::default()), Pe::join(b, Settings::default()))?;
    /// let (a, b) = (Team::world(&a), Team::world(&b)); // one on each PE
    /// let sync = a.sync(); // PE 0 has come
    /// b.sync().await?;
    /// sync.await?;
    /// # Ok::<(), oxshmem_runtime::Error>(())
    /// # })?;
    /// # Ok::<(), oxshmem_runtime::Error>(())
    /// ```
    #[inline]
    pub fn sync(&self) -> SyncFuture<'_> {
        tracing::trace!(target: "oxshmem", call = "sync");
        let ticket = self.with_queue(|queue| {
            let alone = queue.waiting.len() == 1;
            // The sync before is still there if its future has seen the end of it by itself. It is used again in
            // place: moving it about would cost more than all the rest.
            let begun = match queue.waiting.front_mut() {
                Some(Running::Sync(sync)) if alone && sync.is_over(&self.group) => {
                    queue.ended += 1;
                    self.group.pe.check("sync").and_then(|()| sync.begin(&self.group))
                }
                _ => {
                    queue.waiting.push_back(Running::Called);
                    if alone || queue.waiting.len() > 1 {
                        return queue.ended + queue.waiting.len() as u64;
                    }
                    self.start(queue);
                    Ok(())
                }
            };
            if let Err(error) = begun {
                queue.end(Err(error));
                return queue.ended;
            }
            let ticket = queue.ended + queue.waiting.len() as u64;
            if let Some(Running::Sync(sync)) = queue.waiting.front() {
                if sync.owes(&self.group) {
                    // Others depend on what this PE sends later, even if nobody ever polls the future.
                    self.advance(queue);
                } else if let Some((flag, value)) = sync.waits_for() {
                    self.last_wait.set(ticket, flag, value);
                }
            }
            ticket
        });
        SyncFuture { team: self, ticket }
    }

    /// Runs `collective`, which `call` names to those who trace, when its turn comes. It sees the team's
    /// group, and may [`sync`](sync_in) in it.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use oxshmem_runtime::{Pe, bootstrap::Local, settings::Settings};
    /// # use oxshmem_teams::Team;
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    /// # runtime.block_on(async {
    /// # let mut cluster = Local::cluster(2).into_iter().map(Arc::new);
    /// # let (a, b) = (cluster.next().unwrap(), cluster.next().unwrap());
    /// # let (a, b) = tokio::try_join!(Pe::join(a, Settings::default()), Pe::join(b, Settings::default()))?;
    /// use oxshmem_teams::team::sync_in;
    ///
    /// let (a, b) = (Team::world(&a), Team::world(&b)); // one on each PE
    /// let [a, b] = [a, b].map(|team| {
    ///     team.run("meet", |group| async move {
    ///         sync_in(&group).await?;
    ///         Ok("met")
    ///     })
    /// });
    /// assert_eq!(tokio::try_join!(a, b)?, ("met", "met"));
    /// # Ok::<(), oxshmem_runtime::Error>(())
    /// # })?;
    /// # Ok::<(), oxshmem_runtime::Error>(())
    /// ```
    pub fn run<T, F>(
        &self,
        call: &'static str,
        collective: impl FnOnce(Arc<Group>) -> F + Send + 'static,
    ) -> Collective<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let flight = Arc::new(Flight::default());
        let landing = Arc::clone(&flight);
        let group = Arc::clone(&self.group);
        let task = async move {
            let outcome = match group.pe.check("a collective") {
                Ok(()) => collective(group).await,
                Err(error) => Err(error),
            };
            landing.land(outcome);
        };
        // One span from its turn to its end; nothing while nobody listens at TRACE.
        let task = Box::pin(task.instrument(tracing::trace_span!(target: "oxshmem", "collective", call)));
        self.with_queue(|queue| {
            queue.waiting.push_back(Running::Task(task));
            self.advance(queue);
        });
        Collective { flight, team: self.this.clone() }
    }

    /// Runs the queue as far as it goes.
    fn advance(&self, queue: &mut Queue) {
        let waker = || self.this.upgrade().map_or_else(|| Waker::noop().clone(), Waker::from);
        loop {
            let outcome = match queue.waiting.front_mut() {
                None => return,
                Some(Running::Called) => {
                    self.start(queue);
                    continue;
                }
                Some(Running::Sync(sync)) => sync.poll(&self.group, waker),
                Some(Running::Task(task)) => {
                    task.as_mut().poll(&mut TaskContext::from_waker(&waker())).map(Ok)
                }
            };
            match outcome {
                Poll::Pending => return,
                Poll::Ready(outcome) => queue.end(outcome),
            }
        }
    }

    /// Lets the sync at the front of the queue begin.
    fn start(&self, queue: &mut Queue) {
        let mut sync = Sync::default();
        match self.group.pe.check("sync").and_then(|()| sync.begin(&self.group)) {
            Ok(()) => queue.waiting[0] = Running::Sync(sync),
            Err(error) => queue.end(Err(error)),
        }
    }

    /// Locks the queue for `work`, and wakes whom it set free afterwards.
    #[inline(always)]
    fn with_queue<R>(&self, work: impl FnOnce(&mut Queue) -> R) -> R {
        let mut queue = self.queue.lock();
        let result = work(&mut queue);
        self.unlock(queue);
        result
    }

    #[inline(always)]
    fn unlock(&self, mut queue: spin::mutex::SpinMutexGuard<'_, Queue>) {
        if queue.woken.is_empty() {
            drop(queue);
        } else {
            let woken = std::mem::take(&mut queue.woken);
            drop(queue);
            woken.into_iter().for_each(Waker::wake);
        }
        if self.in_process {
            // With the fence in `poke`: either we see the poke, or who poked finds the queue unlocked.
            fence(Ordering::SeqCst);
            if self.poked.load(Ordering::Relaxed) {
                self.poke();
            }
        }
    }

    /// Runs the queue, unless somebody is at it, perhaps this very thread, who then does so again.
    #[cold]
    fn poke(&self) {
        self.poked.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if !self.poked.load(Ordering::Relaxed) {
            return;
        }
        if let Some(mut queue) = self.queue.try_lock() {
            self.poked.store(false, Ordering::Relaxed);
            self.advance(&mut queue);
            self.unlock(queue);
        }
    }
}

impl Queue {
    /// The collective at the front has ended.
    fn end(&mut self, outcome: Result<()>) {
        if let Err(error) = outcome {
            self.failure.get_or_insert_with(|| error.to_string());
        }
        self.waiting.pop_front();
        self.ended += 1;
        self.woken.extend(self.watchers.drain(..).map(|(_, waker)| waker));
    }
}

/// Woken by the executor when a word that the front of the queue waits for has changed.
impl Wake for Team {
    fn wake(self: Arc<Self>) {
        if !self.in_process {
            // The executor wakes from outside of any team's lock.
            self.with_queue(|queue| self.advance(queue));
            return;
        }
        thread_local! {
            /// Teams that this thread was asked to look at while it looked at another.
            static WOKEN: RefCell<Option<VecDeque<Arc<Team>>>> = const { RefCell::new(None) };
        }
        // In one process a step of one PE wakes the next PE within this very call. Taking turns instead of
        // nesting keeps the stack flat however many there are.
        let first = WOKEN.with_borrow_mut(|woken| match woken {
            Some(woken) => {
                woken.push_back(Arc::clone(&self));
                false
            }
            None => {
                *woken = Some(VecDeque::new());
                true
            }
        });
        if !first {
            return;
        }
        let mut next = Some(self);
        while let Some(team) = next {
            team.poke();
            next = WOKEN.with_borrow_mut(|woken| {
                let team = woken.as_mut().and_then(VecDeque::pop_front);
                if team.is_none() {
                    *woken = None;
                }
                team
            });
        }
    }
}

/// Waits inside of a [`Team::run`] for every PE to come to the same point.
///
/// ```
/// # use std::sync::Arc;
/// # use oxshmem_runtime::{Pe, bootstrap::Local, settings::Settings};
/// # use oxshmem_teams::Team;
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// # let mut cluster = Local::cluster(2).into_iter().map(Arc::new);
/// # let (a, b) = (cluster.next().unwrap(), cluster.next().unwrap());
/// # let (a, b) = tokio::try_join!(Pe::join(a, Settings::default()), Pe::join(b, Settings::default()))?;
/// use oxshmem_teams::team::sync_in;
///
/// let (a, b) = (Team::world(&a), Team::world(&b)); // one on each PE
/// let a = a.run("meet", |group| async move { sync_in(&group).await });
/// let b = b.run("meet", |group| async move { sync_in(&group).await });
/// assert!(tokio::try_join!(a, b).is_ok());
/// # Ok::<(), oxshmem_runtime::Error>(())
/// # })?;
/// # Ok::<(), oxshmem_runtime::Error>(())
/// ```
pub async fn sync_in(group: &Group) -> Result<()> {
    let mut sync = Sync::default();
    sync.begin(group)?;
    poll_fn(|cx| sync.poll(group, || cx.waker().clone())).await
}

/// A sync: see [`Team::sync`]. It goes on if this is dropped.
#[must_use = "the other PEs have come once this is awaited"]
#[derive(Debug)]
pub struct SyncFuture<'a> {
    team: &'a Team,
    ticket: u64,
}

impl Future for SyncFuture<'_> {
    type Output = Result<()>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let team = self.team;
        if let Some((flag, value)) = team.last_wait.get(self.ticket) {
            let flag = team.group.flags.at(flag);
            if flag.test(Cmp::Ge, value) || team.group.pe.executor().spin_until(|| flag.test(Cmp::Ge, value))
            {
                return Poll::Ready(Ok(()));
            }
        }
        let outcome = team.with_queue(|queue| {
            if queue.ended < self.ticket {
                team.advance(queue);
            }
            if queue.ended < self.ticket {
                match queue.watchers.iter_mut().find(|(ticket, _)| *ticket == self.ticket) {
                    Some((_, waker)) => waker.clone_from(cx.waker()),
                    None => queue.watchers.push((self.ticket, cx.waker().clone())),
                }
                Poll::Pending
            } else {
                Poll::Ready(queue.failure.clone())
            }
        });
        outcome.map(|failure| match failure {
            None => Ok(()),
            Some(failure) => {
                team.group.pe.check("sync")?;
                Err(Error::bootstrap("sync", failure))
            }
        })
    }
}

/// A collective: see [`Team::run`]. It goes on if this is dropped.
#[must_use = "the other PEs have come once this is awaited"]
pub struct Collective<T> {
    flight: Arc<Flight<Result<T>>>,
    team: Weak<Team>,
}

impl<T> Future for Collective<T> {
    type Output = Result<T>;

    fn poll(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        // It goes on by itself; looking once more saves a turn through the executor. Whoever has the queue
        // locked is at it already.
        if let Some(team) = self.team.upgrade()
            && let Some(mut queue) = team.queue.try_lock()
        {
            team.advance(&mut queue);
            team.unlock(queue);
        }
        self.flight.poll(cx)
    }
}

impl<T> fmt::Debug for Collective<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Collective")
    }
}
