//! The UCX worker of a PE, and everything that is done with it.

use std::{
    collections::{HashSet, VecDeque},
    ffi::c_void,
    fmt,
    hash::Hasher,
    ptr::{self, NonNull},
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use oxshmem_base::{
    Error, Result,
    panics::Panics,
    sync::{Mutex, MutexGuard, lock},
};
use oxshmem_job::Placement;
use oxshmem_memory::Segment;
use oxshmem_progress::{
    completion::{self, Completion, complete},
    executor::{self, Executor},
    failure::Failure,
};
use slab::Slab;
use ucx_sys::*;

use super::{
    batches::{Gate, Gathered},
    directory::Directory,
    messages::Messages,
    open::{HEAD, Interfaces, Opening, check, is_tcp, open_context, published, to_words},
    operation::{Kind, Operation, WORDS, outcome},
    strangers::Strangers,
};
use crate::net::Listener;

/// Operations under way. A thread that adds one beyond that first makes progress.
const MOST_UNDER_WAY: usize = 4096;
/// Whoever starts so many operations makes progress once.
const STARTS: u32 = 32;
/// Who finds messages so often while the helper thread sleeps on the descriptor wakes it.
const BESIDE: u32 = 4;
/// Looks for messages while the lock is held.
const LOOKS: u32 = 4;
/// How long after the end of a connection its PE may still turn out to have left in peace: what it said may come over
/// another connection.
const BENEFIT_OF_DOUBT: Duration = Duration::from_secs(2);
/// How long the end of a PE takes to become known to its launcher, which then ends the others.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// Buffers that are kept for the next operation.
const SPARE: usize = 64;

/// A PE's UCX context and worker, its connections, and its memory as others reach it.
pub(super) struct Worker {
    pub(super) ucx: &'static Ucx,
    /// Used by whoever holds the lock of `inner`, while that is open.
    pub(super) handle: ucp_worker_h,
    pub(super) me: usize,
    /// PEs of the job.
    pub(super) n_pes: usize,
    /// This PE's block in `memory`.
    pub(super) block: usize,
    /// Keeps the memory mapped that UCX has registered.
    pub(super) memory: Segment,
    /// What the collectives keep for themselves, which batches reach alone.
    pub(super) scratch: Segment,
    pub(super) published: Vec<u8>,
    pub(super) directory: OnceLock<Arc<Directory>>,
    pub(super) strangers: Strangers,
    /// Itself, for what is to be done later.
    pub(super) this: Weak<Self>,
    /// UCX's own, which whoever holds the lock may use.
    pub(super) inner: Mutex<Inner>,
    /// What UCX has ended, until somebody has told those who wait; and what it still holds.
    pub(super) ends: Mutex<Ends>,
    /// Whether UCX has ended an operation within the call that started it. Written and read under the lock of `inner`.
    ended_at_once: AtomicBool,
    /// Whether there may be something to be told, or to be answered.
    has_news: AtomicBool,
    /// Some of it is that other PEs wait for something. Set before `has_news`.
    owes: AtomicBool,
    /// Whether anything was sent of which the data may come later.
    pub(super) has_offered: AtomicBool,
    pub(super) gate: Mutex<Gate>,
    pub(super) messages: Mutex<Messages>,
    pub(super) gathered: Mutex<Gathered>,
    /// Who hears what other PEs say.
    pub(super) listener: OnceLock<Weak<dyn Listener>>,
    /// Whether there is anything in it.
    pub(super) gathering: AtomicBool,
    /// Whether the helper thread sleeps until it is woken.
    pub(super) asleep: AtomicBool,
    /// How often others have found messages since.
    found_beside: AtomicU32,
    pub(super) executor: Weak<Executor>,
    pub(super) descriptor: i32,
    /// The type of data `WORDS`.
    pub(super) words: ucp_datatype_t,
    /// How often others than the helper thread have polled.
    pub(super) polls: AtomicU64,
    /// Whether they have gone to sleep, and the helper thread has not seen it.
    pub(super) rests: AtomicBool,
    pub(super) closing: AtomicBool,
}

// SAFETY: `handle` is used under the lock of `inner`.
unsafe impl Send for Worker {}
// SAFETY: as above; everything else is behind locks, atomic, or constant.
unsafe impl Sync for Worker {}

pub(super) struct Inner {
    pub(super) context: ucp_context_h,
    pub(super) registered: ucp_mem_h,
    /// Until it is closed.
    pub(super) open: bool,
    /// How many operations were started.
    pub(super) started: u32,
    /// Nothing for PEs that were never talked to.
    pub(super) peers: Vec<Option<Box<Peer>>>,
    /// Buffers that nobody uses.
    pub(super) spare: Vec<Vec<u8>>,
}

// SAFETY: UCX's objects are used under the lock that this is behind, by one thread at a time.
unsafe impl Send for Inner {}

/// A PE that was talked to.
pub(super) struct Peer {
    pub(super) endpoint: ucp_ep_h,
    pub(super) rkey: ucp_rkey_h,
    /// The address of its memory, there.
    pub(super) base: u64,
    /// What messages to it end with.
    pub(super) secret: u64,
    /// How many operations were started that UCX has to flush, and how many it is known to have flushed.
    pub(super) started: u64,
    pub(super) flushed: u64,
    pub(super) failed: Option<ucs_status_t>,
    /// Whether a put is better a message that the target applies, since UCX would make one of it anyway.
    pub(super) by_message: bool,
    /// Shared, as UCX has its address, and a box would be nobody else's where it is moved.
    link: Arc<Link>,
}

/// What UCX is given to name an endpoint that it gives up.
struct Link {
    worker: NonNull<Worker>,
    pe: usize,
}

// SAFETY: the worker is used where it is alive, and as others use it, by reference.
unsafe impl Send for Link {}
// SAFETY: as above.
unsafe impl Sync for Link {}

#[derive(Default)]
pub(super) struct Ends {
    /// What is to be told, the oldest first.
    news: VecDeque<News>,
    /// Each knows its place.
    pub(super) under_way: Slab<Lent>,
    /// PEs that have said that they leave.
    pub(super) left: HashSet<usize>,
    /// PEs to which the connection broke, and when, before they said anything.
    suspects: Vec<(usize, ucs_status_t, Instant)>,
}

/// What has happened inside of UCX, where nobody can be told.
pub(super) enum News {
    /// UCX has ended an operation.
    Ended(Box<Operation>, ucs_status_t),
    /// Something that no operation of UCX stands for is over.
    Over(Completion),
    /// A message was received, of so many bytes.
    Received(Completion<usize>, Result<usize>),
    /// The value has come that somebody asked for.
    Answered(Completion<u64>, u64),
    /// UCX has given up the endpoint of a PE.
    Broken(usize, ucs_status_t),
    /// Something else is to be done.
    Later(Box<dyn FnOnce() + Send>),
}

/// For addresses and numbers of PEs, which nobody chooses to do harm.
#[derive(Default)]
pub(super) struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_usize(byte.into()));
    }

    fn write_usize(&mut self, address: usize) {
        self.write_u64(address as u64);
    }

    fn write_u64(&mut self, number: u64) {
        // Fibonacci hashing: all bits of the product's upper half depend on all of the number.
        self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
    }
}

/// An operation that UCX holds.
pub(super) struct Lent {
    pub(super) operation: *mut Operation,
}

// SAFETY: the address is that of an operation, which is `Send`.
unsafe impl Send for Lent {}

impl Worker {
    /// Opens UCX for the PE of `placement`, whose symmetric memory is its block of `memory`. Batches reach its `scratch` too.
    pub(super) fn open(
        ucx: &'static Ucx,
        placement: &Placement,
        interfaces: &Interfaces,
        memory: Segment,
        scratch: Segment,
        executor: &Arc<Executor>,
    ) -> Result<Arc<Self>> {
        let block = placement.hosts.block_of(placement.pe);
        let mut opening = Opening {
            ucx,
            context: open_context(ucx, placement, interfaces)?,
            worker: ptr::null_mut(),
            registered: ptr::null_mut(),
        };
        let params = ucp_worker_params_t {
            field_mask: UCP_WORKER_PARAM_FIELD_THREAD_MODE.into(),
            thread_mode: UCS_THREAD_MODE_SERIALIZED,
            ..Default::default()
        };
        // SAFETY: the context is open, and the parameters say which of them count.
        let made = unsafe { ucx.ucp_worker_create(opening.context, &params, &mut opening.worker) };
        check(ucx, "create a worker", made)?;
        let mut mode =
            ucp_worker_attr_t { field_mask: UCP_WORKER_ATTR_FIELD_THREAD_MODE.into(), ..Default::default() };
        // SAFETY: the worker is open.
        check(ucx, "query its worker", unsafe { ucx.ucp_worker_query(opening.worker, &mut mode) })?;
        if mode.thread_mode == UCS_THREAD_MODE_SINGLE {
            return Err(Error::Unsupported {
                what: "this UCX does not let threads take turns with a worker; use a build with --enable-mt"
                    .into(),
            });
        }
        let mut descriptor = -1;
        // SAFETY: as above.
        check(ucx, "get a descriptor", unsafe { ucx.ucp_worker_get_efd(opening.worker, &mut descriptor) })?;

        let base = memory.address_unchecked(block, 0);
        let params = ucp_mem_map_params_t {
            field_mask: (UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH).into(),
            address: base.cast(),
            length: memory.len(),
            ..Default::default()
        };
        // SAFETY: the block is mapped for as long as `memory` exists, which the worker holds.
        let registered = unsafe { ucx.ucp_mem_map(opening.context, &params, &mut opening.registered) };
        check(ucx, "register the symmetric heap", registered)?;
        let strangers = Strangers::new()?;
        let published = published(&opening, base.addr() as u64, strangers.secret())?;
        let mut words = 0;
        // SAFETY: the functions do what UCX asks of them.
        let typed = unsafe { ucx.ucp_dt_create_generic(&WORDS, ptr::null_mut(), &mut words) };
        check(ucx, "make a type of data", typed)?;

        let made = Arc::new_cyclic(|this| Self {
            this: Weak::clone(this),
            ucx,
            handle: opening.worker,
            me: placement.pe,
            n_pes: placement.n_pes,
            block,
            memory,
            scratch,
            published,
            directory: OnceLock::new(),
            strangers,
            inner: Mutex::new(Inner {
                context: opening.context,
                registered: opening.registered,
                open: true,
                started: 0,
                peers: (0..placement.n_pes).map(|_| None).collect(),
                spare: Vec::new(),
            }),
            ends: Mutex::default(),
            ended_at_once: AtomicBool::new(false),
            has_news: AtomicBool::new(false),
            owes: AtomicBool::new(false),
            has_offered: AtomicBool::new(false),
            gate: Mutex::default(),
            messages: Mutex::default(),
            gathered: Mutex::default(),
            listener: OnceLock::new(),
            gathering: AtomicBool::new(false),
            asleep: AtomicBool::new(false),
            found_beside: AtomicU32::new(0),
            executor: Arc::downgrade(executor),
            descriptor,
            words,
            polls: AtomicU64::new(0),
            rests: AtomicBool::new(false),
            closing: AtomicBool::new(false),
        });
        // From here on it is closed with the worker.
        std::mem::forget(opening);
        made.accept_messages()?;
        Ok(made)
    }

    pub(super) fn ucx(&self) -> &'static Ucx {
        self.ucx
    }

    /// What others need to reach this PE.
    pub(super) fn published(&self) -> &[u8] {
        &self.published
    }

    /// How the others are reached.
    pub(super) fn learn(&self, directory: Arc<Directory>) {
        // A PE joins once.
        let _ = self.directory.set(directory);
    }

    pub(super) fn text(&self, status: ucs_status_t) -> String {
        self.ucx.status_text(status)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    pub(super) fn descriptor(&self) -> i32 {
        self.descriptor
    }

    /// How often others than the helper thread have polled.
    pub(super) fn polls(&self) -> u64 {
        self.polls.load(Ordering::Relaxed)
    }

    pub(super) fn handle(&self) -> ucp_worker_h {
        self.handle
    }

    pub(super) fn gate(&self) -> MutexGuard<'_, Gate> {
        lock(&self.gate)
    }

    pub(super) fn gathered(&self) -> MutexGuard<'_, Gathered> {
        lock(&self.gathered)
    }

    /// Whether anything was gathered that was not sent.
    #[inline]
    pub(super) fn is_gathering(&self) -> bool {
        // Relaxed: whoever gathers sees its own, and the helper thread looks again.
        self.gathering.load(Ordering::Relaxed)
    }

    /// Called with the lock of what is gathered held.
    pub(super) fn set_gathering(&self, gathering: bool) {
        self.gathering.store(gathering, Ordering::Relaxed);
    }

    /// The helper thread goes to sleep, or is awake again.
    pub(super) fn set_asleep(&self, asleep: bool) {
        // Relaxed: an estimate, for which a lost count is no harm.
        self.found_beside.store(0, Ordering::Relaxed);
        // SeqCst, and an exchange: see `wake_helper`. What the thread there before us has left is seen after this.
        self.asleep.swap(asleep, Ordering::SeqCst);
    }

    /// Has the helper thread, which sleeps, look for what there is to do.
    fn wake_helper(&self) {
        // SeqCst: either we see that the helper sleeps, or it sees what we have left for it before it does.
        if self.asleep.swap(false, Ordering::SeqCst) {
            self.signal();
        }
    }

    /// Another thread has found messages while the helper thread sleeps on the descriptor.
    ///
    /// The kernel wakes that for each of them, finds that there is nothing left for it to see, and lets it sleep on: two
    /// changes of the thread on the processor of whoever waits for the message. Where more follow, it is to leave the
    /// descriptor, and to look now and then.
    fn found_beside_helper(&self) {
        let found = self.found_beside.load(Ordering::Relaxed) + 1;
        self.found_beside.store(found, Ordering::Relaxed);
        if found == BESIDE {
            self.wake_helper();
        }
    }

    /// Something was gathered, which the helper thread has to see to if nobody else does. Called behind the lock of what was
    /// gathered.
    pub(super) fn gathering_began(&self) {
        self.wake_helper();
    }

    pub(super) fn inner(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }

    pub(super) fn ends(&self) -> MutexGuard<'_, Ends> {
        lock(&self.ends)
    }

    /// Makes progress, unless another thread is at it.
    pub(super) fn poll(&self) -> bool {
        self.show_life();
        if self.is_gathering() {
            // Whoever polls waits, perhaps for the answer to this.
            self.send_gathered(None);
        }
        self.progress()
    }

    /// The same for the helper thread.
    pub(super) fn progress(&self) -> bool {
        let Some(inner) = self.inner.try_lock() else { return false };
        if !inner.open {
            return false;
        }
        let mut progressed = false;
        // A few looks at a time, since everything around them takes as long as one; but no more once somebody is to be told
        // of something.
        for _ in 0..LOOKS {
            // SAFETY: the worker is open, and ours while we hold the lock.
            let found = unsafe { self.ucx.ucp_worker_progress(self.handle) } != 0;
            if found && self.has_news.load(Ordering::Relaxed) {
                progressed = true;
                // Relaxed: set inside of the call above, if there is something to be answered.
                if self.owes.load(Ordering::Relaxed) {
                    self.answer(&inner);
                }
                break;
            }
            if progressed && !found {
                break;
            }
            progressed |= found;
        }
        drop(inner);
        self.tell();
        if progressed {
            if self.asleep.load(Ordering::Relaxed) {
                self.found_beside_helper();
            }
            // Others may have put something here, whoever makes the progress.
            self.scan();
        }
        progressed
    }

    /// There is something to be sent to other PEs. Called after that was noted.
    pub(super) fn must_reply(&self) {
        // Release: who pays sees what was noted.
        self.owes.store(true, Ordering::Release);
        self.has_news();
    }

    /// Whether there is news that a completion on another thread has left to the helper.
    pub(super) fn has_left_news(&self) -> bool {
        self.has_news.load(Ordering::Acquire)
    }

    /// There is something to be told. Called after that was noted.
    fn has_news(&self) {
        // Release: who takes the news sees what was noted.
        self.has_news.store(true, Ordering::Release);
    }

    /// Has somebody told when that may be done. Called inside of UCX.
    pub(super) fn note(&self, news: News) {
        self.ends().news.push_back(news);
        self.has_news();
    }

    /// Prepares the worker for its event descriptor to be slept on. False if there is something to do instead.
    pub(super) fn arm(&self) -> bool {
        let inner = self.inner();
        // SAFETY: as above.
        inner.open && unsafe { self.ucx.ucp_worker_arm(self.handle) } == UCS_OK
    }

    /// Wakes whoever sleeps on the event descriptor.
    pub(super) fn signal(&self) {
        let inner = self.inner();
        if inner.open {
            // SAFETY: as above. It fails only if the descriptor is readable already.
            unsafe { self.ucx.ucp_worker_signal(self.handle) };
        }
    }

    /// Looks after the futures of this PE, whose memory others may have changed. A waker may run its task at once, which may start
    /// operations: so this is done as a completion is.
    fn scan(&self) {
        if let Some(executor) = self.executor.upgrade() {
            completion::run(move || executor.scan());
        }
    }

    /// Whether the threads of this PE have just gone to sleep until something comes.
    pub(super) fn rests(&self) -> bool {
        self.rests.swap(false, Ordering::Acquire) && self.is_idle()
    }

    /// Whether the threads of this PE sleep until something comes.
    pub(super) fn is_idle(&self) -> bool {
        self.executor.upgrade().is_some_and(|executor| executor.is_asleep())
    }

    /// Whether one of them waits, awake.
    pub(super) fn is_driven(&self) -> bool {
        self.executor.upgrade().is_some_and(|executor| executor.is_driven())
    }

    /// Something was started for whose end somebody may wait.
    pub(super) fn began(&self) {
        if !executor::will_drive()
            && let Some(executor) = self.executor.upgrade()
        {
            executor.began();
        }
    }

    /// Whether there is anything of whose end somebody was not told.
    pub(super) fn is_awaited(&self) -> bool {
        !self.ends().under_way.is_empty() || self.gate().is_awaited() || self.messages().is_awaited()
    }

    /// This PE cannot go on.
    pub(super) fn fail(&self, failure: Failure) {
        if let Some(executor) = self.executor.upgrade() {
            executor.fail(failure);
        }
    }

    /// UCX has ended an operation. Called inside of UCX, so that nobody is told yet.
    pub(super) fn ended(&self, request: *mut c_void, operation: Box<Operation>, status: ucs_status_t) {
        if !request.is_null() {
            // SAFETY: the request is over, and freed once.
            unsafe { self.ucx.ucp_request_free(request) };
        }
        let mut ends = self.ends();
        match operation.place {
            Some(place) => drop(ends.under_way.try_remove(place)),
            // Relaxed: read by the same thread, when the call returns.
            None => self.ended_at_once.store(true, Ordering::Relaxed),
        }
        ends.news.push_back(News::Ended(operation, status));
        drop(ends);
        self.has_news();
    }

    /// Completes operations that have ended, and does what messages that came ask for. Called with no lock held. Inside of a
    /// completion it leaves that to the caller of that completion, which goes on when it has returned.
    pub(super) fn tell(&self) {
        // Relaxed: a look before the exchange, which nearly always can be left out.
        if !self.has_news.load(Ordering::Relaxed) {
            return;
        }
        let Some(serving) = completion::serve() else {
            // Or to the helper thread: that completion may be another worker's, or never return.
            return self.wake_helper();
        };
        let mut panics = Panics::default();
        while self.has_news.load(Ordering::Relaxed) && self.has_news.swap(false, Ordering::AcqRel) {
            if self.owes.load(Ordering::Relaxed) && self.owes.swap(false, Ordering::AcqRel) {
                self.reply();
            }
            while let Some((news, is_last)) = self.next_news() {
                // A completion that panics does so when the others have run.
                panics.run(|| self.tell_of(news));
                if is_last {
                    // Whoever adds to them says so.
                    break;
                }
            }
        }
        drop(serving);
        panics.resume();
    }

    fn tell_of(&self, news: News) {
        match news {
            News::Ended(operation, UCS_OK) if matches!(operation.kind, Kind::Copied(_)) => {
                self.inner().spare(*operation);
            }
            News::Ended(operation, status) => {
                // Where nobody waits for it, a flush fails as well.
                let _ = self.end(*operation, status);
            }
            News::Over(done) => complete(done, Ok(())),
            News::Received(done, outcome) => complete(done, outcome),
            News::Answered(done, value) => complete(done, Ok(value)),
            News::Broken(pe, status) => self.lost(pe, status),
            News::Later(later) => completion::run(later),
        }
    }

    /// The next of them, and whether it is the last. Whoever is told of it holds no lock.
    fn next_news(&self) -> Option<(News, bool)> {
        let mut ends = self.ends();
        let news = ends.news.pop_front()?;
        Some((news, ends.news.is_empty()))
    }

    /// A PE cannot be reached any more: what waits for it fails, and so does what is started later.
    fn lost(&self, pe: usize, status: ucs_status_t) {
        {
            let mut inner = self.inner();
            let Inner { peers, .. } = &mut *inner;
            let Some(Some(peer)) = peers.get_mut(pe) else { return };
            if peer.failed.replace(status).is_some() {
                return;
            }
            let force = ucp_request_param_t {
                op_attr_mask: UCP_OP_ATTR_FIELD_FLAGS,
                flags: UCP_EP_CLOSE_FLAG_FORCE,
                ..Default::default()
            };
            let endpoint = std::mem::replace(&mut peer.endpoint, ptr::null_mut());
            // SAFETY: the endpoint is open, and nobody finds it any more. Its remote key goes first.
            let closing = unsafe {
                self.ucx.ucp_rkey_destroy(std::mem::replace(&mut peer.rkey, ptr::null_mut()));
                self.ucx.ucp_ep_close_nbx(endpoint, &force)
            };
            if UCS_PTR_IS_PTR(closing) {
                // SAFETY: a request without a callback, freed once; UCX goes on without it.
                unsafe { self.ucx.ucp_request_free(closing) };
            }
        }
        if !self.is_closed() {
            self.ends().suspects.push((pe, status, Instant::now()));
        }
        let (mut failed, asked) = {
            let mut gate = self.gate();
            let mut failed = gate.fail(pe);
            failed.extend(gate.gets.fail(Some(pe)));
            (failed, gate.fetches.asked.fail(Some(pe)))
        };
        let awaited = {
            let mut messages = self.messages();
            failed.append(&mut messages.break_promises(Some(pe)));
            messages.fail(Some(pe))
        };
        for done in awaited {
            complete(done, outcome(self, pe, status).map(|()| 0));
        }
        for done in failed {
            complete(done, outcome(self, pe, status));
        }
        for done in asked {
            complete(done, outcome(self, pe, status).map(|()| 0));
        }
        if let Some(listener) = self.listener() {
            listener.lost(Some(pe), &|| match outcome(self, pe, status) {
                Err(error) => error,
                Ok(()) => Error::Finalized { call: "net" },
            });
        }
    }

    /// Ends the job of this PE if another was lost: who only waits for it would never know. How long there is to wait for
    /// that, if there is a doubt. Called by the helper thread.
    pub(super) fn judge(&self) -> Option<Duration> {
        let (lost, next) = {
            let Ends { suspects, left, .. } = &mut *self.ends();
            suspects.retain(|(pe, ..)| !left.contains(pe));
            let lost = suspects.iter().position(|(.., since)| since.elapsed() >= BENEFIT_OF_DOUBT);
            let lost = lost.map(|at| suspects.swap_remove(at));
            let oldest =
                suspects.iter().map(|(.., since)| BENEFIT_OF_DOUBT.saturating_sub(since.elapsed())).min();
            (lost, oldest)
        };
        if let Some((pe, status, _)) = lost {
            self.fail(Failure::PeLost { pe, how: format!("UCX says: {}", self.text(status)) });
        }
        next
    }

    /// Starts something on `pe`: `start` hands it to UCX by its address. An operation for which somebody waits is told
    /// whatever happens; for others, what went wrong at once is returned.
    pub(super) fn start(
        &self,
        pe: usize,
        operation: Box<Operation>,
        start: impl FnOnce(&'static Ucx, &mut Peer, *mut Operation) -> ucs_status_ptr_t,
    ) -> Result<()> {
        let mut inner = self.inner();
        self.show_life();
        inner.started = inner.started.wrapping_add(1);
        let looks = inner.started.is_multiple_of(STARTS);
        let known = matches!(inner.peers.get(pe), Some(Some(_)));
        let peer = match self.peer(&mut inner, pe) {
            Ok(peer) => peer,
            Err(error) => {
                drop(inner);
                if let (false, Error::PeLost { pe, how }) = (known, &error) {
                    // There never was a connection, and others wait for what this PE cannot send. If that PE has just ended,
                    // the launcher is about to say why, and to end this one too: that is what people should read.
                    if self.executor.upgrade().is_some_and(|executor| executor.check_failure().is_ok()) {
                        std::thread::sleep(LAST_WORDS);
                    }
                    self.fail(Failure::PeLost { pe: *pe, how: how.clone() });
                }
                return operation.end(Err(error));
            }
        };
        let lent = operation.lend(self, pe);
        let status = start(self.ucx, peer, lent);
        match self.lent(lent, status) {
            None => {
                drop(inner);
                if looks {
                    self.keep_up();
                }
                Ok(())
            }
            Some((operation, UCS_OK)) if matches!(operation.kind, Kind::Copied(_)) => {
                inner.spare(*operation);
                drop(inner);
                if looks && !completion::is_busy() {
                    self.progress();
                }
                Ok(())
            }
            Some((operation, status)) => {
                drop(inner);
                self.end(*operation, status)
            }
        }
    }

    /// Keeps the helper thread from the lock that this thread takes again and again.
    fn show_life(&self) {
        // Relaxed, and not one addition: a sign of life, which may be lost now and then.
        self.polls.store(self.polls.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// Takes an operation back that UCX has ended at once; the others are noted. Called with the lock held.
    pub(super) fn lent(
        &self,
        lent: *mut Operation,
        status: ucs_status_ptr_t,
    ) -> Option<(Box<Operation>, ucs_status_t)> {
        if UCS_PTR_IS_PTR(status) {
            // UCX may have ended it within the call all the same. Relaxed: written by this thread, if it was.
            if !self.ended_at_once.load(Ordering::Relaxed) {
                let place = Some(self.ends().under_way.insert(Lent { operation: lent }));
                // SAFETY: UCX passes it on to `ended` alone, which whoever has the lock that is held calls; what UCX reads of it is
                // another field.
                unsafe { (*lent).place = place };
            }
            self.ended_at_once.store(false, Ordering::Relaxed);
            return None;
        }
        // SAFETY: `lend` made it, and UCX has not kept it.
        Some((unsafe { Box::from_raw(lent) }, UCS_PTR_STATUS(status)))
    }

    /// Tells whoever waits that an operation has ended. Called with no lock held.
    pub(super) fn end(&self, operation: Operation, status: ucs_status_t) -> Result<()> {
        let pe = operation.pe;
        let outcome = outcome(self, pe, status);
        match operation.kind {
            Kind::Flush { upto, .. } if outcome.is_ok() => {
                if let Some(Some(peer)) = self.inner().peers.get_mut(pe) {
                    peer.flushed = peer.flushed.max(upto);
                }
            }
            Kind::Arriving { stamp, ref words } if outcome.is_ok() => {
                self.perform(stamp, words);
            }
            _ => {}
        }
        operation.end(outcome)
    }

    /// Makes progress for a thread that starts many operations. If the target is slower, that waits until it has caught
    /// up, rather than collect operations without limit. Not inside of a completion: progress would run others inside of it.
    fn keep_up(&self) {
        if completion::is_busy() {
            return;
        }
        self.progress();
        if self.n_under_way() <= MOST_UNDER_WAY {
            return;
        }
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.n_under_way() > MOST_UNDER_WAY / 2 && Instant::now() < deadline {
            if !self.progress() {
                std::thread::yield_now();
            }
        }
    }

    /// How many operations UCX holds, wait for an answer or for what comes before them, or have ended and not completed.
    fn n_under_way(&self) -> usize {
        let ends = self.ends();
        let here = ends.under_way.len() + ends.news.len();
        drop(ends);
        here + self.gate().n_waiting()
    }

    /// So many operations wait for an answer, or for what comes before them, the last of which was just started.
    pub(super) fn keep_up_with(&self, waiting: usize) {
        if waiting.is_multiple_of(STARTS as usize) {
            self.keep_up();
        }
    }

    /// The connection to `pe`, made if there is none.
    fn peer<'a>(&self, inner: &'a mut Inner, pe: usize) -> Result<&'a mut Peer> {
        if !inner.open {
            return Err(Error::Finalized { call: "net" });
        }
        if matches!(inner.peers.get(pe), Some(None)) {
            inner.peers[pe] = Some(self.connect(pe)?);
        }
        let peer = inner.peers.get_mut(pe).and_then(Option::as_mut);
        let peer = peer.ok_or_else(|| Error::bootstrap("net", format!("there is no PE {pe}")))?;
        match peer.failed {
            None => Ok(peer),
            Some(status) => Err(Error::PeLost { pe, how: format!("UCX says: {}", self.text(status)) }),
        }
    }

    /// Whether short puts to `pe` go as messages.
    pub(super) fn puts_by_message(&self, pe: usize) -> bool {
        self.peer(&mut self.inner(), pe).is_ok_and(|peer| peer.by_message)
    }

    #[cold]
    fn connect(&self, pe: usize) -> Result<Box<Peer>> {
        let malformed = || Error::bootstrap("net", format!("what PE {pe} has published makes no sense"));
        let lost = |error: Error| Error::PeLost { pe, how: format!("it cannot be reached: {error}") };
        let published = self.directory.get().ok_or_else(malformed)?.of(pe)?;
        let (head, rest) = published.split_at_checked(HEAD).ok_or_else(malformed)?;
        let word = |at: usize| head[at..at + 8].iter().rev().fold(0, |n, &byte| n << 8 | u64::from(byte));
        let (address, rkey) = rest.split_at_checked(word(0) as usize).ok_or_else(malformed)?;
        if rkey.len() as u64 != word(8) {
            return Err(malformed());
        }
        // Aligned as UCX's own buffers are.
        let (address, key) = (to_words(address), to_words(rkey));
        let mut peer = Box::new(Peer {
            endpoint: ptr::null_mut(),
            rkey: ptr::null_mut(),
            base: word(16),
            secret: word(24),
            started: 0,
            flushed: 0,
            failed: None,
            by_message: false,
            link: Arc::new(Link { worker: NonNull::from(self), pe }),
        });
        let params = ucp_ep_params_t {
            field_mask: (UCP_EP_PARAM_FIELD_REMOTE_ADDRESS
                | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE
                | UCP_EP_PARAM_FIELD_ERR_HANDLER)
                .into(),
            address: address.as_ptr().cast(),
            err_mode: UCP_ERR_HANDLING_MODE_PEER,
            err_handler: ucp_err_handler { cb: Some(broke), arg: Arc::as_ptr(&peer.link).cast_mut().cast() },
            ..Default::default()
        };
        // SAFETY: the worker is open and ours; the address and the key are what the PE has published. What the error
        // handler is given stays with the peer until the worker is destroyed.
        unsafe {
            check(self.ucx, "connect", self.ucx.ucp_ep_create(self.handle, &params, &mut peer.endpoint))
                .map_err(lost)?;
            let unpacked = self.ucx.ucp_ep_rkey_unpack(peer.endpoint, key.as_ptr().cast(), &mut peer.rkey);
            if let Err(error) = check(self.ucx, "unpack a key", unpacked) {
                // The endpoint stays as long as the worker does, and may still break.
                Box::leak(peer);
                return Err(lost(error));
            }
        }
        peer.by_message = is_tcp(self.ucx, peer.endpoint) && !is_other_network();
        Ok(peer)
    }
}

/// Whether tests want TCP to be taken for a network on which UCX knows best.
fn is_other_network() -> bool {
    #[cfg(test)]
    return super::tests::OTHER_NETWORK.load(Ordering::Relaxed);
    #[cfg(not(test))]
    false
}

impl Inner {
    /// The connection to `pe`, if there is one.
    pub(super) fn peer_of(&self, pe: usize) -> Option<&Peer> {
        self.peers.get(pe)?.as_deref().filter(|peer| peer.failed.is_none())
    }

    /// Keeps the buffer of an operation for the next.
    pub(super) fn spare(&mut self, operation: Operation) {
        if let Kind::Copied(buffer) = operation.kind
            && self.spare.len() < SPARE
            && buffer.capacity() <= 2 * super::EAGER
        {
            self.spare.push(buffer);
        }
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UCX {} of PE {}", self.ucx.version(), self.me)
    }
}

/// UCX has given up an endpoint.
unsafe extern "C" fn broke(link: *mut c_void, _endpoint: ucp_ep_h, status: ucs_status_t) {
    // SAFETY: UCX passes what `connect` gave it, which lives as long as the endpoint, and so does the worker.
    let (worker, pe) = unsafe {
        let link = &*link.cast::<Link>();
        (link.worker.as_ref(), link.pe)
    };
    worker.note(News::Broken(pe, status));
}
