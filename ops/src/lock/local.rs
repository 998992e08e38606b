//! One lock as one PE sees it: which of its tasks want it, which has it, and the machine that moves
//! the PE through the queue.
//!
//! A PE has one node in the queue, so its tasks wait in a queue of their own before it. The machine
//! is a coroutine that makes one move at a time (enter, try, leave) for the first of them. It
//! belongs to no task: a task that has given it something to do polls it, and where it waits, the
//! engine wakes it like any waiter. So a task may go away at any time. If the PE gets the lock
//! and no task wants it, the machine passes it on. No drop ever waits.

use std::{
    cell::RefCell,
    collections::{HashMap, VecDeque},
    fmt,
    future::poll_fn,
    mem,
    pin::Pin,
    sync::{Arc, Weak},
    task::{Context as TaskContext, Poll, Wake, Waker},
};

use oxshmem_base::{
    Error, Result,
    local::thread_local,
    sync::{Mutex, MutexGuard, lock},
    turns::{Drives, Turns, in_turn},
    wakes::{Hold, StoredWaker},
};
use oxshmem_memory::Extent;
use oxshmem_progress::activity::{self as board, Activity, Ahead, Call};
use oxshmem_spaces::{Pe, SymRef, SymSlice};

use super::{
    lasting,
    queue::{self, MINE},
    shown::ShownWait,
};
use crate::{
    context::{Context, ContextOptions},
    quiet::Quiet,
    trace::waiting,
    wait::{Cmp, Wait, WordWatch, look},
};

/// The locks that a PE has handles to, by segment and offset, so that all handles to a lock share
/// its state.
#[derive(Debug, Default)]
struct Registry(Mutex<HashMap<(u32, usize), Weak<LocalLock>>>);

impl Registry {
    fn locks(&self) -> MutexGuard<'_, HashMap<(u32, usize), Weak<LocalLock>>> {
        lock(&self.0)
    }
}

/// One lock, on one PE.
pub(super) struct LocalLock {
    seat: Arc<Seat>,
    machine: Mutex<Pin<Box<dyn Future<Output = ()> + Send>>>,
    drives: Drives,
    registry: Arc<Registry>,
    key: (u32, usize),
}

/// What the machine works on.
pub(super) struct Seat {
    pub(super) context: Context,
    /// The lock's word: `tail` and `node`, or what [`lasting`] has there.
    pub(super) halves: SymSlice<u32>,
    /// Both halves.
    pub(super) word: SymSlice<u64>,
    pub(super) home: usize,
    pub(super) pe: Arc<Pe>,
    state: Mutex<LockState>,
}

struct LockState {
    position: Position,
    waiters: VecDeque<Waiter>,
    last_ticket: u64,
    /// The lock is to be left, after this.
    release: Option<Option<Quiet>>,
    /// How often it was left.
    left: u64,
    leaving: Vec<StoredWaker>,
    /// A PE that had the lock was lost, and no task has learned of it.
    abandoned: bool,
    failure: Option<Error>,
    wait: ShownWait,
}

/// Where the PE is in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    Out,
    /// On its way in or out.
    Moving,
    In(Holder),
}

/// How a request ended.
pub(super) enum Outcome {
    /// It has got the lock, which a lost PE may have had.
    Got {
        abandoned: bool,
    },
    Refused,
}

/// What in this PE has the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holder {
    /// The request of this ticket, or the guard that came of it.
    Ticket(u64),
    /// A caller of `set` or `test`.
    Set,
}

struct Waiter {
    ticket: u64,
    /// Does not wait if another PE has the lock.
    tries: bool,
    waker: StoredWaker,
}

enum Move {
    Enter,
    Try,
    /// When that is over.
    Leave(Option<Quiet>),
}

/// How a move ended.
enum Moved {
    In { abandoned: bool },
    Refused,
    Out,
}

impl LocalLock {
    /// The state of the lock at `word`, which is one for all handles of this PE.
    pub(super) fn of(word: SymRef<'_, u64>) -> Result<Arc<Self>> {
        let view = word.as_view();
        let (pe, extent) = (view.pe(), view.extent());
        if pe.losses().is_some() && pe.n_pes() > lasting::MAX_PES {
            let most = lasting::MAX_PES;
            let what =
                format!("Lock::new: in a job that goes on when a PE is lost, locks are for {most} PEs");
            return Err(Error::Unsupported { what });
        }
        let (word, halves) = (view.to_owned(), view.cast::<u32>()?.to_owned());
        let registry = pe.kept::<Registry>();
        let key = (extent.segment as u32, extent.offset);
        let mut locks = registry.locks();
        if let Some(local) = locks.get(&key).and_then(Weak::upgrade) {
            return Ok(local);
        }
        let home = home(extent.offset, pe.n_pes());
        let held = match (pe.losses().is_some(), home == pe.me()) {
            (false, _) => halves.at(1).test(Cmp::Ge, MINE),
            (true, true) => lasting::is_owner(look(word.at(0)), lasting_name(home)),
            (true, false) => look(halves.at(0)) & lasting::HELD != 0,
        };
        let seat = Arc::new(Seat {
            context: Context::new(Arc::clone(pe), ContextOptions::new()),
            home,
            pe: Arc::clone(pe),
            state: Mutex::new(LockState::new(held)),
            halves,
            word,
        });
        let local = Arc::new(Self {
            machine: Mutex::new(Box::pin(Arc::clone(&seat).serve())),
            seat,
            drives: Drives::default(),
            registry: Arc::clone(&registry),
            key,
        });
        locks.insert(key, Arc::downgrade(&local));
        drop(locks);
        Ok(local)
    }

    pub(super) fn pe(&self) -> &Arc<Pe> {
        &self.seat.pe
    }

    pub(super) fn home(&self) -> usize {
        self.seat.home
    }

    pub(super) fn extent(&self) -> Extent {
        self.seat.extent()
    }

    /// An error if the job has ended, or if the lock is lost with its home.
    pub(super) fn check(&self, call: &'static str) -> Result<()> {
        self.pe().check(call)?;
        self.pe().check_there(self.home())
    }

    pub(super) fn offset(&self) -> usize {
        self.key.1
    }

    /// Queues up a request, or refuses one that only tries and would have to wait.
    pub(super) fn request(self: &Arc<Self>, tries: bool) -> Option<u64> {
        let ticket = {
            let mut state = self.seat.state();
            let is_out = state.position == Position::Out && state.waiters.is_empty();
            if tries && !is_out && state.failure.is_none() {
                return None;
            }
            state.last_ticket += 1;
            let ticket = state.last_ticket;
            state.waiters.push_back(Waiter { ticket, tries, waker: StoredWaker::default() });
            state.show(&self.seat.pe);
            ticket
        };
        self.drive();
        Some(ticket)
    }

    /// How a request ended; `None` until that is decided.
    pub(super) fn outcome(&self, ticket: u64, call: &'static str, waker: &Waker) -> Option<Result<Outcome>> {
        // Made, and what it replaces dropped, without the lock.
        let mut stored = StoredWaker::of(waker);
        let mut state = self.seat.state();
        if state.position == Position::In(Holder::Ticket(ticket)) {
            return Some(Ok(Outcome::Got { abandoned: mem::take(&mut state.abandoned) }));
        }
        let has_failed = state.failure.is_some();
        match state.waiters.iter_mut().find(|waiter| waiter.ticket == ticket) {
            Some(waiter) if !has_failed => {
                mem::swap(&mut waiter.waker, &mut stored);
                None
            }
            _ => {
                state.waiters.retain(|waiter| waiter.ticket != ticket);
                Some(state.check(&self.seat.pe, call).map(|()| Outcome::Refused))
            }
        }
    }

    /// Ends a request that is not awaited any more. If it has got the lock, that goes on to the
    /// next.
    pub(super) fn abandon(self: &Arc<Self>, ticket: u64) {
        {
            let mut state = self.seat.state();
            let waiting = state.waiters.len();
            state.waiters.retain(|waiter| waiter.ticket != ticket);
            if state.waiters.len() < waiting {
                state.show(&self.seat.pe);
                return;
            }
        }
        self.release(Holder::Ticket(ticket), None);
    }

    /// The guard of this ticket goes, and the lock is set from now on. If it is `abandoned`, that
    /// is for the next guard to say.
    pub(super) fn set(&self, ticket: u64, abandoned: bool) {
        let mut state = self.seat.state();
        if state.position == Position::In(Holder::Ticket(ticket)) {
            state.position = Position::In(Holder::Set);
            state.abandoned |= abandoned;
        }
    }

    /// What has the lock in this PE.
    pub(super) fn holder(&self) -> Option<Holder> {
        match self.seat.state().position {
            Position::In(holder) => Some(holder),
            Position::Out | Position::Moving => None,
        }
    }

    /// Leaves the lock once `first` is over, if `holder` has it. Returns what to ask
    /// [`left`](Self::left) for.
    pub(super) fn release(self: &Arc<Self>, holder: Holder, first: Option<Quiet>) -> Option<u64> {
        let number = {
            let mut state = self.seat.state();
            if state.position != Position::In(holder) {
                return None;
            }
            state.position = Position::Moving;
            state.release = Some(first);
            state.left + 1
        };
        self.drive();
        Some(number)
    }

    /// Ready when the lock has been left this many times.
    pub(super) async fn left(&self, number: u64) -> Result<()> {
        poll_fn(|cx| {
            let stored = StoredWaker::of(cx.waker());
            let mut state = self.seat.state();
            if state.left >= number {
                return Poll::Ready(Ok(()));
            }
            if let Err(error) = state.check(&self.seat.pe, "unlock") {
                return Poll::Ready(Err(error));
            }
            if !state.leaving.iter().any(|known| known.will_wake(cx.waker())) {
                state.leaving.push(stored);
            }
            Poll::Pending
        })
        .await
    }

    /// Has the machine do what there is to do, on this thread unless another is at it.
    pub(super) fn drive(self: &Arc<Self>) {
        let waker = Waker::from(Arc::clone(self));
        // Tasks that it sets free are woken when other threads can poll the machine: they may run
        // at once, and wait for it.
        let _hold = Hold::begin();
        self.drives.drive(|| {
            // This lock is free: one thread at a time drives the machine, which never ends.
            let _ = lock(&self.machine).as_mut().poll(&mut TaskContext::from_waker(&waker));
        });
    }
}

impl Wake for LocalLock {
    fn wake(self: Arc<Self>) {
        // A PE that passes the lock on wakes the next within this very call, and that one may pass
        // it on at once.
        thread_local! {
            static WOKEN: Turns<Arc<LocalLock>> = const { RefCell::new(None) };
        }
        in_turn(&WOKEN, self, |local| local.drive());
    }
}

impl Drop for LocalLock {
    fn drop(&mut self) {
        let mut locks = self.registry.locks();
        // Another may have taken its place.
        if locks.get(&self.key).is_some_and(|local| local.strong_count() == 0) {
            locks.remove(&self.key);
        }
    }
}

impl fmt::Debug for LocalLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.seat.state();
        let waiting = state.waiters.len();
        write!(f, "lock at offset {:#x}: {:?}, {waiting} waiting", self.key.1, state.position)
    }
}

impl Seat {
    /// The machine.
    async fn serve(self: Arc<Self>) {
        loop {
            let moved = match self.next_move().await {
                Ok(Move::Enter) => self.enter(false).await,
                Ok(Move::Try) => self.enter(true).await,
                Ok(Move::Leave(first)) => {
                    if let Some(quiet) = first {
                        // Others wait for the lock whether or not all went well. The next `quiet`
                        // reports what did not.
                        quiet.completed().await;
                    }
                    self.leave().await.map(|()| Moved::Out)
                }
                Err(error) => Err(error),
            };
            self.arrive(moved);
        }
    }

    async fn enter(&self, tries: bool) -> Result<Moved> {
        if self.pe.losses().is_some() {
            let got = lasting::enter(self, tries).await?;
            if got.is_some() {
                self.hold(true).await?;
            }
            return Ok(got.map_or(Moved::Refused, |got| Moved::In { abandoned: got.abandoned }));
        }
        let got =
            if tries { queue::try_enter(self).await? } else { queue::enter(self).await.map(|()| true)? };
        Ok(if got { Moved::In { abandoned: false } } else { Moved::Refused })
    }

    async fn leave(&self) -> Result<()> {
        let _record = waiting(&self.pe, Call::ClearLock, Some(self.extent()));
        if self.pe.losses().is_some() {
            let is_known = !self.state().abandoned;
            let left = lasting::leave(self, is_known).await;
            // If the home PE is lost, this PE does not have the lock any more either.
            self.hold(false).await?;
            return left;
        }
        queue::leave(self).await
    }

    /// What to do next. What adds something to do drives the machine, so that no waker is needed
    /// for it.
    async fn next_move(&self) -> Result<Move> {
        let node = self.halves.at(1);
        let (mut end, mut shown) = (WordWatch::new(&self.pe), false);
        let next = poll_fn(|cx| {
            let waiting = {
                let mut state = self.state();
                if state.failure.is_some() {
                    return Poll::Pending;
                }
                if let Some(first) = state.release.take() {
                    return Poll::Ready(Ok(Move::Leave(first)));
                }
                match state.waiters.front() {
                    None => false,
                    Some(first) if state.position == Position::Out => {
                        let next = if first.tries { Move::Try } else { Move::Enter };
                        state.position = Position::Moving;
                        return Poll::Ready(Ok(next));
                    }
                    Some(_) => true,
                }
            };
            if waiting {
                // For a task that holds the lock in this PE, so no word will change. But the job
                // may end, and the task may be the very one that waits.
                let show = || {
                    shown = true;
                    self.waits(Call::SetLock, Ahead::ThisPe)
                };
                // No word of a lock is that.
                let ended = if self.pe.losses().is_some() && self.is_home() {
                    end.wait.watch_as(self.word.at(0), Cmp::Eq, u64::MAX, cx.waker(), show).map_ok(drop)
                } else {
                    end.wait.watch_as(node, Cmp::Eq, u32::MAX, cx.waker(), show).map_ok(drop)
                };
                ended.map_ok(|()| Move::Leave(None))
            } else {
                end.wait.end(node);
                Poll::Pending
            }
        })
        .await;
        drop(end);
        if shown {
            self.waits_no_more();
        }
        next
    }

    /// A move has ended.
    fn arrive(&self, moved: Result<Moved>) {
        let mut state = self.state();
        let state = &mut *state;
        match moved {
            Ok(Moved::In { abandoned }) => {
                state.abandoned = abandoned;
                match state.waiters.pop_front() {
                    Some(waiter) => {
                        state.position = Position::In(Holder::Ticket(waiter.ticket));
                        waiter.waker.wake();
                    }
                    // All its tasks have gone away.
                    None => state.release = Some(None),
                }
            }
            Ok(Moved::Refused) => {
                state.position = Position::Out;
                // It may have gone away, and another have come.
                let tried = state.waiters.front().is_some_and(|first| first.tries);
                if tried && let Some(refused) = state.waiters.pop_front() {
                    refused.waker.wake();
                }
            }
            Ok(Moved::Out) => {
                state.position = Position::Out;
                state.left += 1;
                state.leaving.drain(..).for_each(StoredWaker::wake);
            }
            Err(error) => {
                state.failure = Some(error);
                state.waiters.drain(..).for_each(|waiter| waiter.waker.wake());
                state.leaving.drain(..).for_each(StoredWaker::wake);
            }
        }
    }

    /// The machine is about to wait for the lock. The board shows it at no place that is the wait's
    /// own.
    pub(super) fn waits(&self, call: Call, ahead: Ahead) -> board::Place {
        self.show(Some(Activity::lock(call, self.extent(), ahead)));
        board::Place::NONE
    }

    pub(super) fn waits_no_more(&self) {
        self.show(None);
    }

    fn show(&self, wait: Option<Activity>) {
        let mut state = self.state();
        state.wait.set(wait);
        state.show(&self.pe);
    }

    fn state(&self) -> MutexGuard<'_, LockState> {
        lock(&self.state)
    }
}

impl LockState {
    fn new(held: bool) -> Self {
        Self {
            position: if held { Position::In(Holder::Set) } else { Position::Out },
            waiters: VecDeque::new(),
            last_ticket: 0,
            release: None,
            left: 0,
            leaving: Vec::new(),
            abandoned: false,
            failure: None,
            wait: ShownWait::default(),
        }
    }

    /// Shows on the PE's board what its tasks wait for.
    fn show(&mut self, pe: &Pe) {
        self.wait.show(pe.board(), !self.waiters.is_empty());
    }

    /// An error if the lock can be waited for no more.
    fn check(&self, pe: &Pe, call: &'static str) -> Result<()> {
        match &self.failure {
            None => Ok(()),
            Some(failure) => {
                pe.check(call)?;
                match failure {
                    // The lock's home.
                    Error::PeLost { .. } => Err(failure.clone()),
                    _ => Err(Error::bootstrap(call, failure)),
                }
            }
        }
    }
}

/// What [`lasting`] calls a PE.
pub(super) fn lasting_name(pe: usize) -> u16 {
    // No PE has a larger number than fits: `LocalLock::of`.
    pe as u16 + 1
}

/// The PE that keeps the tail of the lock at this offset: another for each, whatever the distance
/// between them.
fn home(offset: usize, n_pes: usize) -> usize {
    // Multiplicative hashing: the upper bits depend on all of the word's number.
    let hash = (offset as u64 / 8).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((u128::from(hash) * n_pes as u128) >> 64) as usize
}
