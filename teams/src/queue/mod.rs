//! A team runs its collectives one after the other, in the order of their calls.
//!
//! A collective lives in its team's queue, not in the future that its caller holds: the future only watches. So
//! a caller who drops it, or loses a `select!`, leaves nobody waiting: the collective goes on, woken by
//! the executor like any other, and the next one of the team waits its turn.
//!
//! The one at the front does not own the memory it works on, since that would cost two locked instructions a slice.
//! Its future borrows the memory; should that be forgotten, [`Core::blocks_in_use`] keeps what it uses from
//! being allocated to others. Those that wait behind it own theirs.

mod future;
mod running;

use std::{
    cell::RefCell,
    collections::VecDeque,
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
    },
    task::{Context as TaskContext, Poll, Wake, Waker},
};

use oxshmem_ops::context::ContextHandle;
use oxshmem_runtime::{
    Error, Result,
    activity::{Activity, Call, Place},
    biased::{BiasedLock, Guard, this_thread},
    flight::Flight,
    settings::FenceSide,
    turns::{Turns, in_turn},
    wakes::{Hold, wake_all},
};
use oxshmem_spaces::allocation::Allocation;

pub(crate) use self::future::Idle;
use self::future::Landing;
pub use self::future::{Collective, Outcome};
pub(crate) use self::running::Told;
use self::running::{Begun, Running, Task, Then, Use, begin_sync, stream_begun, takes};
use tracing::Instrument;

use crate::{
    choice::Mode,
    direct::Direct,
    exchange::{Buffers, Deal, Exchange, Quick},
    group::{Awaited, Group},
    ledger::Ledger,
    operands::Operands,
    processors::For,
    registry::Registry,
    signature::Signature,
    staged::Image,
    stream::Stream,
    sync::{Sync, sync_in},
    team::TeamConfig,
    wide,
};

/// What all handles of a team on one PE share.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) group: Arc<Group>,
    /// Held for a poll at the longest. It is most of the price of a sync, so that it favours the thread that has it.
    queue: BiasedLock<Queue>,
    /// Whether the other PEs are in this process, so that what we do may wake this very team on this thread.
    in_process: bool,
    /// Whether PEs share processors, so that whoever pauses keeps others from going on.
    crowded: bool,
    last_wait: LastWait,
    /// For how many pauses to leave the awaited word alone.
    pauses: AtomicU32,
    /// Somebody wants the queue looked at, and found it locked.
    poked: AtomicBool,
    /// The thread that polls the task at the front, as [`this_thread`] names it, and whether the task wakes itself meanwhile.
    polled_by: AtomicUsize,
    wakes_itself: AtomicBool,
    pub(crate) registry: Arc<Registry>,
    /// The place of its scratch memory.
    pub(crate) place: usize,
    /// The name of a predefined team.
    pub(crate) predefined: Option<&'static str>,
    pub(crate) config: TeamConfig,
    pub(crate) image: Image,
    pub(crate) contexts: Mutex<Vec<ContextHandle>>,
    destroyed: AtomicBool,
    this: Weak<Self>,
}

/// What the youngest collective waits for, if that is the last thing it does: its future looks at it without the
/// queue.
///
/// Whoever reads while another thread begins the next one may see parts of that one's, and with them look at any words of the
/// scratch memory. This one has ended then, so that whatever it finds there is right, or is found out in the queue.
#[derive(Debug, Default)]
struct LastWait {
    ticket: AtomicU64,
    place: AtomicUsize,
    row: AtomicUsize,
    number: AtomicU64,
}

impl LastWait {
    #[inline(always)]
    fn set(&self, ticket: u64, awaited: Awaited, then: Then) {
        self.place.store(awaited.place | then as usize, Ordering::Relaxed);
        self.row.store(awaited.row, Ordering::Relaxed);
        self.number.store(awaited.number, Ordering::Relaxed);
        // Release: with the ticket comes what it waits for, or what later ones do.
        self.ticket.store(ticket, Ordering::Release);
    }

    /// What the collective with that ticket waits for.
    #[inline(always)]
    fn get(&self, ticket: u64) -> Option<(Awaited, Then)> {
        if self.ticket.load(Ordering::Acquire) != ticket {
            return None;
        }
        let (place, row) = (self.place.load(Ordering::Relaxed), self.row.load(Ordering::Relaxed));
        let awaited = Awaited { place: place & !THEN, number: self.number.load(Ordering::Relaxed), row };
        let then = match place & THEN {
            0 => Then::Over,
            1 => Then::Take,
            _ => Then::TakeOneOfMany,
        };
        Some((awaited, then))
    }
}

/// How often in a row a task that wakes itself is polled before whoever watches for its end is asked to do so.
const MOST_BY_ITSELF: u32 = 16;
/// The most pauses before the first look: less than a microsecond.
const MOST_PAUSES: u32 = 24;
/// Watchers from this number on are no collective's: these wait until a team is idle.
const IDLE: u64 = 1 << 63;
/// Where in the place of a [`LastWait`] it says what is left to do then.
const THEN: usize = 0b11;
const _: () =
    assert!(THEN < align_of::<u64>() && Then::TakeOneOfMany as usize <= THEN && Then::Over as usize == 0);

/// Collectives under way, in the order of their calls.
#[derive(Debug, Default)]
struct Queue {
    /// How many have ended.
    ended: u64,
    /// The one whose turn it is. Apart from the others, so that it is made in place.
    front: Option<Running>,
    behind: VecDeque<Running>,
    /// Who to wake when something has ended: the future of that number's collective, or whoever waits until the team is [idle](IDLE).
    watchers: Vec<(u64, Waker)>,
    /// How many have waited for that.
    idlers: u64,
    /// The task at the front is to be polled, as soon as the queue is unlocked; or again, if somebody is at it.
    due: bool,
    /// Who is to be woken as soon as the queue is unlocked.
    woken: Vec<Waker>,
    buffers: Buffers,
    /// What the last one in the memory of all PEs was in, for the next.
    spare: Option<Box<Direct>>,
    /// Where it says what the one at the front waits for.
    noted: Option<Place>,
    /// What was called, for the neighbours.
    ledger: Ledger,
    /// Errors of collectives that have ended, for their futures.
    failures: Vec<(u64, Error)>,
    /// PEs called different things from this one on: the two calls.
    broken: Option<(u64, [(usize, String); 2])>,
}

impl Core {
    pub(crate) fn new(
        group: Group,
        place: usize,
        predefined: Option<&'static str>,
        config: TeamConfig,
        registry: &Arc<Registry>,
    ) -> Arc<Self> {
        let leans = group.pe().fence_side() == FenceSide::Sleeper;
        let core = Arc::new_cyclic(|this| Self {
            in_process: group.pe().in_process(),
            crowded: group.pe().is_crowded(),
            group: Arc::new(group),
            queue: BiasedLock::new(Queue::default(), leans),
            last_wait: LastWait::default(),
            pauses: AtomicU32::new(0),
            poked: AtomicBool::new(false),
            polled_by: AtomicUsize::new(0),
            wakes_itself: AtomicBool::new(false),
            registry: Arc::clone(registry),
            place,
            predefined,
            config,
            image: Image::default(),
            contexts: Mutex::default(),
            destroyed: AtomicBool::new(false),
            this: this.clone(),
        });
        registry.add(&core);
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

    /// An error also if PEs have called different things before, after which nothing begins any more.
    #[inline(always)]
    pub(crate) fn check_turn(&self, call: &'static str) -> Result<()> {
        self.check(call)?;
        self.group.check()
    }

    /// From now on the team is no more. False if it was not before.
    pub(crate) fn set_destroyed(&self) -> bool {
        !self.destroyed.swap(true, Ordering::Relaxed)
    }

    /// A sync.
    #[inline]
    pub(crate) fn sync(&self) -> Collective<'_> {
        tracing::trace!(target: "oxshmem", call = "sync");
        if let Err(error) = self.check_turn("sync") {
            return Collective::failed(error);
        }
        if self.group.wide().is_some() {
            return self.sync_wide();
        }
        let ticket = self.with_queue(|queue| {
            // The sync before is still there if its future has seen the end of it by itself. It is used again in
            // place: moving it about would cost more than all the rest.
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
        Collective::new(self, ticket)
    }

    #[cold]
    fn sync_wide(&self) -> Collective<'_> {
        let group = Arc::clone(&self.group);
        self.task(Told::As(Activity::new(Call::Sync)), Signature::named("sync"), async move {
            group.check()?;
            sync_in(&group).await
        })
    }

    /// An exchange of what was called with.
    #[inline]
    pub(crate) fn exchange<'a>(
        &'a self,
        mode: Mode,
        deal: Deal,
        signature: Signature,
        call: &Operands<'a>,
    ) -> Collective<'a> {
        let ticket = self.with_queue(|queue| {
            self.retire(queue);
            let signature = signature.numbered(queue.next());
            let spans = [call.source, call.dest];
            if queue.front.is_none()
                && let Some(quick) = Quick::begin(&self.group, mode, &deal, signature, spans)
            {
                return self.begun_quickly(queue, quick, call);
            }
            self.push_exchange(
                queue,
                Exchange::new(mode, deal, signature, call.source, call.dest),
                call.memory,
            )
        });
        Collective::new(self, ticket)
    }

    /// Apart from what is quick, so that this keeps to the registers.
    #[inline(never)]
    fn push_exchange(&self, queue: &mut Queue, exchange: Exchange, memory: [&Arc<Allocation>; 2]) -> u64 {
        let used = queue.lend(memory);
        self.push(queue, Running::Exchange(exchange, used))
    }

    /// A message from a root to all, of what was called with: what `of` makes of the call's signature.
    #[inline(always)]
    pub(crate) fn stream<'a>(
        &'a self,
        signature: Signature,
        call: &Operands<'a>,
        of: impl FnOnce(Signature) -> Stream,
    ) -> Collective<'a> {
        let ticket = self.with_queue(|queue| {
            self.retire(queue);
            let signature = signature.numbered(queue.next());
            let mut stream = of(signature);
            if queue.front.is_some() {
                let used = queue.lend(call.memory);
                return self.push_behind(queue, Running::Stream(stream, used));
            }
            // A root that need not wait for room, or a message that has come already: it is over before it is in the queue.
            let begun = stream.begin(&self.group);
            if begun.is_ok() && stream.is_over() && queue.watchers.is_empty() {
                queue.ledger.remember(queue.ended + 1, signature);
                return queue.pass();
            }
            let begun = begun.map(|()| stream_begun(&stream, &self.group));
            queue.front = Some(Running::Stream(stream, Use::of(call.memory)));
            self.begun(queue, begun)
        });
        Collective::new(self, ticket)
    }

    /// A collective in the memory of all PEs.
    pub(crate) fn direct<'a>(&'a self, direct: Direct, memory: [&'a Arc<Allocation>; 2]) -> Collective<'a> {
        let ticket = self.with_queue(|queue| {
            self.retire(queue);
            let used = queue.lend(memory);
            let direct = match queue.spare.take() {
                Some(mut spare) => {
                    *spare = direct;
                    spare
                }
                None => Box::new(direct),
            };
            self.push(queue, Running::Direct(direct, used))
        });
        Collective::new(self, ticket)
    }

    /// Any other collective. It owns what it works on.
    pub(crate) fn task(
        &self,
        told: Told,
        signature: Signature,
        task: impl Future<Output = Result<()>> + Send + 'static,
    ) -> Collective<'_> {
        if self.group.wide().is_none() {
            return self.push_task(told, signature, Box::pin(task));
        }
        // In memory of its own at once, as moving it takes longer than that.
        let (group, task) = (Arc::clone(&self.group), Box::pin(task));
        let task = async move { wide::guarded(&group, signature, task).await };
        self.push_task(told, signature, Box::pin(task))
    }

    /// Leaves something to a task, when its turn comes, that concerns no other PE. Returns its ticket.
    pub(crate) fn local(
        &self,
        activity: Activity,
        signature: Signature,
        task: impl Future<Output = Result<()>> + Send + 'static,
    ) -> u64 {
        self.enqueue(Told::As(activity), signature, Box::pin(task))
    }

    fn push_task(&self, told: Told, signature: Signature, task: Task) -> Collective<'_> {
        Collective::new(self, self.enqueue(told, signature, task))
    }

    /// Appends a task and returns its ticket. The same code for all of them: with the queue's, which is part of it, each
    /// would be a hundred kilobytes in a debug build.
    #[inline(never)]
    fn enqueue(&self, told: Told, signature: Signature, task: Task) -> u64 {
        self.with_queue(|queue| {
            self.retire(queue);
            self.push(queue, Running::Task(Some(task), told, signature))
        })
    }

    /// Any other collective with a result, which `call` names to those who trace.
    pub(crate) fn run<T, F>(
        &self,
        call: &'static str,
        activity: Activity,
        collective: impl FnOnce(Arc<Group>) -> F + Send + 'static,
    ) -> Outcome<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        if let Err(error) = self.check_turn(call) {
            return self.failed_run(error);
        }
        let flight = Arc::new(Flight::default());
        let landing = Landing::new(&flight, call);
        let (group, signature) = (Arc::clone(&self.group), Signature::named(call));
        let task = async move {
            let whole = async {
                group.pe().check(call)?;
                group.check()?;
                if group.wide().is_none() {
                    return collective(Arc::clone(&group)).await;
                }
                let begin = || async {
                    group.check()?;
                    collective(Arc::clone(&group)).await
                };
                wide::guarded(&group, signature, Box::pin(begin())).await
            };
            let mut whole = pin!(whole);
            let outcome = poll_fn(|cx| {
                let polled = catch_unwind(AssertUnwindSafe(|| whole.as_mut().poll(cx)));
                polled.unwrap_or(Poll::Ready(Err(Error::Panicked { call })))
            });
            landing.land(outcome.await);
            Ok(())
        };
        // One span from its turn to its end; nothing while nobody listens at TRACE.
        let task = task.instrument(tracing::trace_span!(target: "oxshmem", "collective", call));
        let ticket = self.enqueue(Told::As(activity), signature, Box::pin(task));
        Outcome { flight, core: self.this.clone(), ticket }
    }

    /// One that has failed before its turn came.
    pub(crate) fn failed_run<T>(&self, error: Error) -> Outcome<T> {
        let flight = Flight::default();
        flight.land(Err(error));
        Outcome { flight: Arc::new(flight), core: self.this.clone(), ticket: 0 }
    }

    /// The blocks of the heap, by number, that the collective at the front uses without owning them.
    pub(crate) fn blocks_in_use(&self) -> Vec<u64> {
        let blocks = self.with_queue(|queue| match queue.front.as_ref() {
            Some(Running::Exchange(_, used) | Running::Stream(_, used) | Running::Direct(_, used)) => {
                used.blocks
            }
            Some(Running::Sync(_) | Running::Task(..)) | None => [0; 2],
        });
        blocks.into_iter().filter_map(|block| block.checked_sub(1)).collect()
    }

    /// Ready when everything that was called on this team before has ended, well or not. What goes on behind all calls of the program is
    /// not waited for, as others may never come to it.
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

    /// Appends a collective, and begins it if it is its turn. Returns its ticket, or 0 if it has ended well.
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

    /// The only collective has begun, and is a quick one. If the others were first it is over before it is in the queue.
    #[inline(always)]
    fn begun_quickly(&self, queue: &mut Queue, quick: Quick, call: &Operands<'_>) -> u64 {
        let awaited = quick.last_wait(&self.group);
        let outcome = if queue.watchers.is_empty() && self.group.have_come(awaited) {
            match quick.take(&self.group) {
                Ok(()) => return queue.pass(),
                differs => differs,
            }
        } else {
            Ok(())
        };
        queue.front = Some(Running::Exchange(Exchange::of(quick), Use::of(call.memory)));
        self.begun(queue, outcome.map(|()| takes(awaited)))
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

    /// The last message of the collective with that ticket has come: ends it, if it is the only one, and needs nothing
    /// else. Nothing is sent then, so nobody is to be woken but those who wait for this one.
    #[inline(always)]
    fn finish(&self, queue: &mut Queue, ticket: u64) {
        let Queue { front, buffers, behind, .. } = queue;
        if queue.ended + 1 != ticket || !behind.is_empty() || self.group.is_broken() {
            return;
        }
        let outcome = match front {
            Some(Running::Exchange(exchange, _)) => match exchange.as_quick(&self.group) {
                Some(quick) => Poll::Ready(quick.take(&self.group)),
                None if exchange.last_wait(&self.group).is_some() => {
                    exchange.poll(&self.group, buffers, || Waker::noop().clone())
                }
                None => return,
            },
            Some(Running::Stream(stream, _)) if stream.last_wait(&self.group).is_some() => {
                stream.poll(&self.group, || Waker::noop().clone())
            }
            _ => return,
        };
        if let Poll::Ready(outcome) = outcome {
            queue.end(&self.group, outcome);
        }
    }

    /// Runs the queue as far as it goes without polling a task. Whoever is set free by the way is woken when it is unlocked, and
    /// then a task at the front is polled too.
    fn advance(&self, queue: &mut Queue) {
        let hold = Hold::begin();
        self.run_steps(queue);
        queue.woken.append(&mut hold.end());
    }

    fn run_steps(&self, queue: &mut Queue) {
        let waker = || self.this.upgrade().map_or_else(|| Waker::noop().clone(), Waker::from);
        loop {
            let Queue { front, buffers, .. } = queue;
            let outcome = match front {
                None => return,
                // Messages of a collective that begins now would undo the poison.
                Some(running) if !matches!(running, Running::Task(..)) && self.group.is_broken() => {
                    Poll::Ready(self.group.check())
                }
                Some(Running::Sync(sync)) => sync.poll(&self.group, waker),
                Some(Running::Exchange(exchange, _)) => exchange.poll(&self.group, buffers, waker),
                Some(Running::Stream(stream, _)) => stream.poll(&self.group, waker),
                Some(Running::Direct(direct, _)) => direct.poll(&self.group, buffers, waker),
                // What it does may come back to this very team, which must not be locked then. Who is at it goes on by itself.
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
            // Somebody is at it, and may have looked already.
            Some(Running::Task(None, ..)) => queue.due = true,
            _ => self.advance(queue),
        }
    }

    /// The collective at the front waits for others: says so, if it has not. True if it is to be looked at again, as a
    /// neighbour waits in another.
    fn note(&self, queue: &mut Queue) -> bool {
        if queue.noted.is_none()
            && let Some(front) = queue.front.as_ref()
        {
            let activity = front.activity(&self.group, queue.ended + 1);
            queue.noted =
                Some(activity.map_or(Place::NONE, |activity| self.group.pe().board().put(&activity)));
            return queue.ledger.compare(&self.group, queue.ended + 1, front.signature());
        }
        false
    }

    /// Looks for what is awaited for as long as a wait may spin; whether it has come.
    #[inline(always)]
    fn look_for(&self, awaited: Awaited, then: Then) -> bool {
        match then {
            // It was looked for when the collective began.
            Then::Take => self.go_on_looking(awaited, For::All).0,
            Then::Over => self.group.have_come(awaited) || self.go_on_looking(awaited, For::All).0,
            Then::TakeOneOfMany => self.look_for_one_of_many(awaited),
        }
    }

    /// Leaves the line alone at first, so that several messages come with it: the first look comes when, by the time that the
    /// last ones took, the message should have come.
    #[inline(always)]
    fn look_for_one_of_many(&self, awaited: Awaited) -> bool {
        let pauses = self.pauses.load(Ordering::Relaxed);
        if !self.crowded {
            for _ in 0..pauses {
                std::hint::spin_loop();
            }
        }
        if self.group.have_come(awaited) {
            self.pauses.store(pauses.saturating_sub(1), Ordering::Relaxed);
            return true;
        }
        let (came, looks) = self.go_on_looking(awaited, For::Root);
        self.pauses.store((pauses + looks / 2).min(MOST_PAUSES), Ordering::Relaxed);
        came
    }

    /// Also how often it has looked.
    fn go_on_looking(&self, awaited: Awaited, whom: For) -> (bool, u32) {
        let mut looks = 0;
        let looked = || {
            looks += 1;
            self.group.have_come(awaited)
        };
        let needs = || self.group.processors.are_needed(&self.group, whom);
        let came = self.group.pe().executor().spin_until_needed(looked, needs);
        (came, looks)
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
    fn unlock<'a>(&'a self, mut queue: Guard<'a, Queue>) {
        if queue.due {
            queue = self.poll_task(queue);
        }
        let woken = if queue.woken.is_empty() { Vec::new() } else { std::mem::take(&mut queue.woken) };
        drop(queue);
        if self.in_process {
            // With the fence in `poke`: either we see the poke, or who poked finds the queue unlocked.
            fence(Ordering::SeqCst);
            if self.poked.load(Ordering::Relaxed) {
                self.poke();
            }
        }
        // At the end, as one of them may panic.
        if !woken.is_empty() {
            wake_all(woken);
        }
    }

    /// Polls the task at the front, with the queue unlocked meanwhile: what a task does, and what is dropped with it, may be another
    /// call on this team. Whoever wakes it while somebody is at it leaves it to them to poll it again. If it does nothing but wake itself, others
    /// of their thread are to have their turn.
    #[cold]
    #[inline(never)]
    fn poll_task<'a>(&'a self, mut queue: Guard<'a, Queue>) -> Guard<'a, Queue> {
        let waker = self.this.upgrade().map_or_else(|| Waker::noop().clone(), Waker::from);
        let mut by_itself = 0;
        while queue.due {
            if by_itself > MOST_BY_ITSELF {
                let before = queue.woken.len();
                let Queue { watchers, woken, .. } = &mut *queue;
                // It may watch itself, by a future of the team that it polls.
                let others = watchers.extract_if(.., |(_, watcher)| !watcher.will_wake(&waker));
                woken.extend(others.map(|(_, waker)| waker));
                if queue.woken.len() > before {
                    queue.due = false;
                    break;
                }
            }
            let Some(Running::Task(place, ..)) = &mut queue.front else {
                queue.due = false;
                break;
            };
            // Somebody is at it.
            let Some(mut task) = place.take() else { break };
            queue.due = false;
            let number = queue.ended;
            drop(queue);

            let hold = Hold::begin();
            // Relaxed: only this thread looks for its own name, and says that it was found.
            self.polled_by.store(this_thread(), Ordering::Relaxed);
            let polled =
                catch_unwind(AssertUnwindSafe(|| task.as_mut().poll(&mut TaskContext::from_waker(&waker))));
            self.polled_by.store(0, Ordering::Relaxed);
            let again = self.wakes_itself.swap(false, Ordering::Relaxed);
            by_itself = if again { by_itself + 1 } else { 0 };
            let (outcome, task) = match polled {
                Ok(Poll::Pending) => (Poll::Pending, Some(task)),
                over => {
                    // It may drop the last handle of a team.
                    let dropped = catch_unwind(AssertUnwindSafe(|| drop(task)));
                    let ended = over.ok().filter(|_| dropped.is_ok());
                    // Whoever waits for it has been told of a panic by its end.
                    (ended.unwrap_or(Poll::Ready(Err(Error::Panicked { call: "a collective" }))), None)
                }
            };
            let mut woken = hold.end();

            queue = self.queue.lock();
            debug_assert_eq!(queue.ended, number, "it is at the front until it ends");
            queue.woken.append(&mut woken);
            match outcome {
                Poll::Pending => {
                    if let Some(Running::Task(place, ..)) = &mut queue.front {
                        *place = task;
                    }
                    queue.due |= again;
                    // Unless it is to be polled again at once.
                    if !queue.due && self.note(&mut queue) {
                        queue.due = true;
                    }
                }
                Poll::Ready(outcome) => {
                    queue.due = false;
                    queue.end(&self.group, outcome);
                    self.advance(&mut queue);
                }
            }
        }
        queue
    }

    /// Runs the queue, unless somebody is at it, perhaps this very thread, who then does so again.
    #[cold]
    fn poke(&self) {
        // Release: with the poke comes what it is about.
        self.poked.store(true, Ordering::Release);
        fence(Ordering::SeqCst);
        if !self.poked.load(Ordering::Relaxed) {
            return;
        }
        if let Some(mut queue) = self.queue.try_lock() {
            // AcqRel: what follows is looked at after this, so that a poke which this takes back is seen to.
            self.poked.swap(false, Ordering::AcqRel);
            self.look_again(&mut queue);
            self.unlock(queue);
        }
    }
}

impl Queue {
    fn len(&self) -> u64 {
        u64::from(self.front.is_some()) + self.behind.len() as u64
    }

    /// The number of a collective that is called now.
    #[inline(always)]
    fn next(&self) -> u64 {
        self.ended + self.len() + 1
    }

    /// What a collective that is called now uses of `memory`: the one whose turn it is only borrows it.
    #[inline(always)]
    fn lend(&self, memory: [&Arc<Allocation>; 2]) -> Use {
        let mut used = Use::of(memory);
        if self.front.is_some() {
            used.owned = Some(Box::new(memory.map(Arc::clone)));
        }
        used
    }

    /// A collective has ended well that was never in the queue, in which there is nothing. Returns its ticket, or 0 if nothing
    /// is to be told of it.
    #[inline(always)]
    fn pass(&mut self) -> u64 {
        self.ended += 1;
        if self.failures.is_empty() && self.broken.is_none() { 0 } else { self.ended }
    }

    /// Whether the collective at the front may go on as another.
    #[inline(always)]
    fn may_go_on(&self) -> bool {
        matches!(&self.front, Some(Running::Exchange(exchange, _)) if exchange.is_collect())
    }

    /// Whether the collective at the front goes on as another, which then has its place.
    #[cold]
    fn follow_up(&mut self, group: &Group) -> Result<bool> {
        let Some(Running::Exchange(exchange, _)) = &self.front else { return Ok(false) };
        let Some(direct) = exchange.follow_up(group)? else { return Ok(false) };
        if let Some(Running::Exchange(_, used)) = self.front.take() {
            self.front = Some(Running::Direct(Box::new(direct), used));
        }
        Ok(true)
    }

    /// The collective at the front has ended.
    fn end(&mut self, group: &Group, outcome: Result<()>) {
        if let Some(front) = &self.front
            && front.signature().is_broadcast()
        {
            self.ledger.remember(self.ended + 1, front.signature());
        }
        if matches!(self.front, Some(Running::Direct(..))) {
            if let Some(Running::Direct(over, _)) = self.front.take() {
                self.spare = Some(over);
            }
        } else {
            // In place, as what is in it is large.
            self.front = None;
        }
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
        if !self.watchers.is_empty() {
            self.woken.extend(self.watchers.drain(..).map(|(_, waker)| waker));
        }
    }

    /// Whether so many have ended. If not, the waker is woken when one has; it replaces an older one with that key.
    fn look(&mut self, ticket: u64, key: u64, cx: &TaskContext<'_>) -> Poll<()> {
        if self.ended >= ticket {
            return Poll::Ready(());
        }
        match self.watchers.iter_mut().find(|(watched, _)| *watched == key) {
            Some((_, waker)) => waker.clone_from(cx.waker()),
            None => self.watchers.push((key, cx.waker().clone())),
        }
        Poll::Pending
    }

    /// The same for the future of the collective with that ticket, which is its own: with its outcome.
    fn poll(&mut self, ticket: u64, cx: &TaskContext<'_>) -> Poll<Result<()>> {
        self.look(ticket, ticket, cx).map(|()| self.outcome(ticket))
    }

    /// The outcome of a collective that has ended.
    fn outcome(&mut self, ticket: u64) -> Result<()> {
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

/// Woken by the executor when a word that the front of the queue waits for has changed.
impl Wake for Core {
    fn wake(self: Arc<Self>) {
        if self.polled_by.load(Ordering::Relaxed) == this_thread() {
            self.wakes_itself.store(true, Ordering::Relaxed);
            return;
        }
        if !self.in_process {
            self.with_queue(|queue| self.look_again(queue));
            return;
        }
        // A step of one PE wakes the next PE within this very call.
        thread_local!(static WOKEN: Turns<Arc<Core>> = const { RefCell::new(None) });
        in_turn(&WOKEN, self, |core| core.poke());
    }
}
