//! Operations under way: a lane for the memory of each PE of the host, with a stream and the events
//! behind its operations.
//!
//! The engine polls them. The helper thread naps at first while something is under way, then has
//! the driver call back behind what was started, and sleeps until that shows.
//!
//! A *worker* thread starts what keeps the thread that starts it: copies of memory that the driver
//! must copy first, and those between devices that do not reach each other. While a lane has such
//! operations to come, what is started on it after them goes to the worker too, so that order is
//! kept.

use std::{
    borrow::Borrow,
    collections::{BTreeMap, VecDeque},
    ffi::c_void,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering, fence},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use cudarc::driver::sys::{CUdevice, CUdeviceptr};
use oxshmem_base::{
    Result,
    panics::survive,
    sync::{Condvar, Mutex, lock},
};
use oxshmem_memory::HostMap;
use oxshmem_progress::{completion::Completion, nudge::Nudge, source::Armed};

use super::{
    driver::{Event, Outcome, Stream},
    gpu::{Command, Gpu},
    host::{Registered, Slot, Slots},
    memory::Memory,
};
use crate::device::ready::Ready;

/// Bytes and number of the pieces of host memory through which short copies go.
const SLOTS: (usize, usize) = (64 << 10, 64);
/// Of those that results of atomic operations come to.
const WORDS: (usize, usize) = (64, 256);
/// Bytes that go through host memory at a time, between devices that do not reach each other.
const THROUGH: usize = 4 << 20;
/// How long the helper naps, and for how long in all, before it has the driver call back: a call
/// takes longer than a short operation.
const NAP: Duration = Duration::from_micros(20);
const NAPS: Duration = Duration::from_micros(200);
/// How long it naps where the driver refuses to call.
const REFUSED: Duration = Duration::from_millis(1);

/// The operations on the memory of one PE.
struct Lane {
    device: CUdevice,
    stream: Stream,
    /// How many are under way, as a hint for who polls.
    count: AtomicUsize,
    state: Mutex<State>,
    call: Arc<Call>,
}

/// A call of the driver behind what was started on a lane.
struct Call {
    /// Whether it is to come.
    to_come: AtomicBool,
    ready: Arc<Ready>,
}

/// What the driver calls, with an [`Arc`] of a [`Call`].
///
/// # Safety
/// The reference must be the callee's.
unsafe extern "C" fn called(call: *mut c_void) {
    // SAFETY: passed on to the caller.
    let call = unsafe { Arc::from_raw(call.cast::<Call>().cast_const()) };
    // Release: a thread that asks for another call sees that this one is over.
    call.to_come.store(false, Ordering::Release);
    call.ready.set();
}

#[derive(Default)]
struct State {
    under_way: VecDeque<(Event, Completion)>,
    /// What the worker has still to start.
    to_come: usize,
}

/// What the worker is to start.
struct Job {
    block: usize,
    command: Command,
    done: Completion,
}

/// All lanes of a process, and its helpers.
pub(super) struct Lanes {
    lanes: Vec<Lane>,
    gpus: BTreeMap<CUdevice, Gpu>,
    slots: Arc<Slots>,
    words: Arc<Slots>,
    host: Registered,
    /// Held by the one thread that polls, so that ends are told in their order.
    polling: Mutex<()>,
    /// Operations that are not over.
    under_way: AtomicUsize,
    /// When the helper first found that nothing was over, since something was.
    waits_since: Mutex<Option<Instant>>,
    ready: Arc<Ready>,
    nudge: Arc<Nudge>,
    worker: Mutex<Worker>,
    to_work: Condvar,
    /// The last to be dropped.
    _memory: Arc<Memory>,
}

#[derive(Default)]
struct Worker {
    jobs: VecDeque<Job>,
    thread: Option<JoinHandle<()>>,
    closed: bool,
}

impl Lanes {
    pub(super) fn new(memory: &Arc<Memory>, host: &Arc<HostMap>, nudge: &Arc<Nudge>) -> Result<Arc<Self>> {
        let ready = Arc::new(Ready::new()?);
        let gpus =
            memory.contexts().iter().map(|(&device, context)| Ok((device, Gpu::new(device, context)?)));
        let gpus: BTreeMap<CUdevice, Gpu> = gpus.collect::<Outcome<_>>()?;
        let lanes = (0..memory.count()).map(|block| {
            let device = memory.device(block);
            let stream = Stream::new(&memory.contexts()[&device])?;
            let call = Arc::new(Call { to_come: AtomicBool::new(false), ready: Arc::clone(&ready) });
            Ok(Lane { device, stream, count: AtomicUsize::new(0), state: Mutex::default(), call })
        });
        let lanes: Vec<Lane> = lanes.collect::<Outcome<_>>()?;
        // There is a PE, so there is a device.
        let context = &memory.contexts()[&memory.device(0)];
        Ok(Arc::new(Self {
            lanes,
            gpus,
            slots: Slots::new(context, SLOTS.0, SLOTS.1)?,
            words: Slots::new(context, WORDS.0, WORDS.1)?,
            host: Registered::new(host, context),
            polling: Mutex::default(),
            under_way: AtomicUsize::new(0),
            waits_since: Mutex::default(),
            ready,
            nudge: Arc::clone(nudge),
            worker: Mutex::default(),
            to_work: Condvar::new(),
            _memory: Arc::clone(memory),
        }))
    }

    /// The device that has a PE's memory.
    pub(super) fn gpu(&self, block: usize) -> &Gpu {
        &self.gpus[&self.lanes[block].device]
    }

    pub(super) fn host(&self) -> &Registered {
        &self.host
    }

    /// Host memory for a short copy, if there is some.
    pub(super) fn slot(&self, len: usize) -> Option<Slot> {
        if len > self.slots.size() {
            return None;
        }
        // What is over has some that nobody has given back yet.
        self.slots.take().or_else(|| if self.poll() { self.slots.take() } else { None })
    }

    /// Host memory for a result.
    pub(super) fn word(&self) -> Outcome<Slot> {
        self.words.take_or_make()
    }

    /// Starts a command on the memory of a PE; `done` is told when it is over.
    pub(super) fn start(self: &Arc<Self>, block: usize, command: Command, done: Completion) {
        self.start_with(block, command, done, false);
    }

    /// The same for one that may keep the thread.
    pub(super) fn start_slowly(self: &Arc<Self>, block: usize, command: Command, done: Completion) {
        self.start_with(block, command, done, true);
    }

    fn start_with(self: &Arc<Self>, block: usize, command: Command, done: Completion, slow: bool) {
        let lane = &self.lanes[block];
        // SeqCst: the helper sees it, or is woken.
        self.under_way.fetch_add(1, Ordering::SeqCst);
        let failed = {
            let mut state = lock(&lane.state);
            if slow || state.to_come > 0 {
                state.to_come += 1;
                // Under the lane's lock, for its order.
                self.give_work(Job { block, command, done });
                None
            } else {
                match self.issue(block, &lane.stream, &command) {
                    Ok(event) => {
                        state.under_way.push_back((event, done));
                        lane.count.fetch_add(1, Ordering::Release);
                        None
                    }
                    Err(failed) => Some((failed, done)),
                }
            }
        };
        match failed {
            None => self.nudge.nudge(),
            Some((failed, done)) => {
                self.under_way.fetch_sub(1, Ordering::SeqCst);
                done(Err(failed.into()));
            }
        }
    }

    /// Runs a command, and returns when it is over. It does not wait for what is under way.
    pub(super) fn run(&self, block: usize, command: &Command) -> Outcome<()> {
        if let Command::Through { source, from, to, len } = *command {
            // With no lock in between, as another thread may copy in the other direction.
            let bring =
                |at: usize, from, len| self.run(block, &Command::In { from, to: to + at as u64, len });
            return self.through(source, len, bring, from);
        }
        self.run_all(block, [command])
    }

    /// Runs commands, none of which goes through the host, and returns when all are over.
    pub(super) fn run_all(
        &self,
        block: usize,
        commands: impl IntoIterator<Item = impl Borrow<Command>>,
    ) -> Outcome<()> {
        let gpu = self.gpu(block);
        let stream = lock(&gpu.now);
        let _entered = stream.context().enter()?;
        let told = commands.into_iter().try_for_each(|command| self.tell(&stream, command.borrow()));
        // Even if a part of it failed: what was begun uses the caller's memory.
        let over = stream.synchronize();
        told.and(over)
    }

    /// Takes memory of PE `source` to the host, part by part: `bring` takes each on, by its offset,
    /// address and length.
    fn through(
        &self,
        source: usize,
        len: usize,
        bring: impl Fn(usize, *const u8, usize) -> Outcome<()>,
        from: CUdeviceptr,
    ) -> Outcome<()> {
        let mut between = vec![0u8; THROUGH.min(len)];
        let mut at = 0;
        while at < len {
            let part = THROUGH.min(len - at);
            self.run(source, &Command::Out { from: from + at as u64, to: between.as_mut_ptr(), len: part })?;
            bring(at, between.as_ptr(), part)?;
            at += part;
        }
        Ok(())
    }

    /// Tells a stream, and returns the event behind the command.
    fn issue(&self, block: usize, stream: &Stream, command: &Command) -> Outcome<Event> {
        let _entered = stream.context().enter()?;
        let gpu = self.gpu(block);
        let told = self.tell(stream, command).and_then(|()| {
            let event = gpu.event()?;
            stream.record(&event)?;
            Ok(event)
        });
        if told.is_err() {
            // What was begun uses the caller's memory.
            let _ = stream.synchronize();
        }
        told
    }

    /// Tells a stream, whose context is entered.
    fn tell(&self, stream: &Stream, command: &Command) -> Outcome<()> {
        match *command {
            Command::In { from, to, len } => {
                for (at, len) in self.host.pieces(from, len) {
                    // SAFETY: whoever made the command vouches for both ends.
                    unsafe { stream.copy_in(from.wrapping_add(at), to + at as u64, len) }?;
                }
                Ok(())
            }
            Command::Out { from, to, len } => {
                for (at, len) in self.host.pieces(to, len) {
                    // SAFETY: as above.
                    unsafe { stream.copy_out(from + at as u64, to.wrapping_add(at), len) }?;
                }
                Ok(())
            }
            // SAFETY: as above.
            Command::Within { from, to, len } => unsafe { stream.copy_within(from, to, len) },
            // SAFETY: as above.
            Command::Fill { at, byte, len } => unsafe { stream.fill(at, byte, len) },
            Command::Launch { kernel, shape, ref arguments } => {
                let (mut pointers, count) = arguments.pointers();
                // SAFETY: the arguments were made for the kernel, and whoever made the command
                // vouches for the addresses.
                unsafe { stream.launch(kernel, shape, &mut pointers[..count]) }
            }
            Command::Through { source, from, to, len } => {
                self.through(
                    source,
                    len,
                    |at, between, part| {
                        // SAFETY: the buffer is there until `synchronize` says that the copy is
                        // over.
                        let told = unsafe { stream.copy_in(between, to + at as u64, part) };
                        stream.synchronize()?;
                        told
                    },
                    from,
                )
            }
            Command::Nothing => Ok(()),
        }
    }

    /// Tells those whose operations are over.
    pub(super) fn poll(&self) -> bool {
        let Some(polling) = self.polling.try_lock() else { return false };
        let mut any = false;
        for lane in &self.lanes {
            // Acquire: pairs with the count's growing, though the lock is what orders.
            while lane.count.load(Ordering::Acquire) > 0 {
                let Some((event, done, over)) = lane.next_over() else { break };
                lane.count.fetch_sub(1, Ordering::Release);
                if over.is_ok() {
                    lock(&self.gpus[&lane.device].events).push(event);
                }
                // SeqCst: what the device has written is visible to all before anybody learns that
                // it is.
                fence(Ordering::SeqCst);
                self.under_way.fetch_sub(1, Ordering::SeqCst);
                survive(|| done(over.map_err(Into::into)));
                any = true;
            }
        }
        drop(polling);
        if any {
            *lock(&self.waits_since) = None;
        }
        any
    }

    /// How the helper sleeps.
    pub(super) fn arm(&self) -> Armed<'_> {
        if !self.is_pending() {
            return Armed::IDLE;
        }
        let since = *lock(&self.waits_since).get_or_insert_with(Instant::now);
        if since.elapsed() < NAPS {
            return Armed::Asleep { descriptor: None, limit: Some(NAP) };
        }
        self.ready.clear();
        let mut limit = None;
        for lane in &self.lanes {
            // Acquire: pairs with the store in `called`, and with the count's growing.
            if lane.count.load(Ordering::Acquire) > 0 && !lane.call.to_come.swap(true, Ordering::Acquire) {
                let data = Arc::into_raw(Arc::clone(&lane.call));
                // SAFETY: the function takes the reference, and calls nothing of the driver's.
                let asked =
                    lane.stream.context().enter().and_then(|_entered| unsafe {
                        lane.stream.call_back(called, data.cast_mut().cast())
                    });
                if asked.is_err() {
                    // SAFETY: the driver has not taken it.
                    drop(unsafe { Arc::from_raw(data) });
                    lane.call.to_come.store(false, Ordering::Release);
                    limit = Some(REFUSED);
                }
            }
        }
        Armed::Asleep { descriptor: Some(self.ready.descriptor()), limit }
    }

    /// Waits until everything that was started is over, and completes it.
    pub(super) fn finish(&self) {
        while self.is_pending() {
            self.poll();
            thread::sleep(NAP);
        }
        for lane in &self.lanes {
            // The driver's calls are part of the stream, which may not go before they are over.
            let _ = lane.stream.context().enter().and_then(|_entered| lane.stream.synchronize());
        }
    }

    /// Whether something is under way.
    pub(super) fn is_pending(&self) -> bool {
        self.under_way.load(Ordering::Relaxed) > 0
    }

    fn give_work(self: &Arc<Self>, job: Job) {
        let mut worker = lock(&self.worker);
        worker.jobs.push_back(job);
        if worker.thread.is_none() {
            let lanes = Arc::clone(self);
            let thread = thread::Builder::new().name("oxshmem-staging".into());
            match thread.spawn(move || lanes.work()) {
                Ok(thread) => worker.thread = Some(thread),
                // Nothing that was begun would ever end.
                Err(e) => panic!("oxshmem cannot start the thread that copies for devices: {e}"),
            }
        }
        drop(worker);
        self.to_work.notify_one();
    }

    /// What the worker does.
    fn work(&self) {
        while let Some(Job { block, command, done }) = self.next_job() {
            let lane = &self.lanes[block];
            if let Command::In { from, len, .. } = command {
                self.host.make_ready(from, len);
            }
            if let Command::Out { to, len, .. } = command {
                self.host.make_ready(to, len);
            }
            // Without the lane's lock: nobody else issues on the lane while something is to come.
            let issued = self.issue(block, &lane.stream, &command);
            let failed = {
                let mut state = lock(&lane.state);
                state.to_come -= 1;
                match issued {
                    Ok(event) => {
                        state.under_way.push_back((event, done));
                        lane.count.fetch_add(1, Ordering::Release);
                        None
                    }
                    Err(failed) => Some((failed, done)),
                }
            };
            match failed {
                None => self.nudge.nudge(),
                Some((failed, done)) => {
                    self.under_way.fetch_sub(1, Ordering::SeqCst);
                    survive(|| done(Err(failed.into())));
                }
            }
        }
    }

    fn next_job(&self) -> Option<Job> {
        let mut worker = lock(&self.worker);
        loop {
            if let Some(job) = worker.jobs.pop_front() {
                return Some(job);
            }
            if worker.closed {
                return None;
            }
            worker = self.to_work.wait(worker);
        }
    }

    /// Ends the worker, which has started everything. It must not be what lets go of the device:
    /// the process may end meanwhile, and the driver with it.
    pub(super) fn close(&self) {
        let thread = {
            let mut worker = lock(&self.worker);
            worker.closed = true;
            worker.thread.take()
        };
        self.to_work.notify_one();
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != thread::current().id()) {
            let _ = thread.join();
        }
    }
}

impl Lane {
    /// The first operation, if it is over, and how it ended.
    fn next_over(&self) -> Option<(Event, Completion, Outcome<()>)> {
        let mut state = lock(&self.state);
        let (event, _) = state.under_way.front()?;
        let over = match self.stream.context().enter().and_then(|_entered| event.is_over()) {
            Ok(false) => return None,
            Ok(true) => Ok(()),
            Err(failed) => Err(failed),
        };
        state.under_way.pop_front().map(|(event, done)| (event, done, over))
    }
}
