//! Operations under way: a queue for the memory of each PE of the host, with a stream of its own,
//! and queues for streams and events of the program.
//!
//! The engine polls them. The helper thread sleeps for moments at first while something is under
//! way, then has the driver call back behind what was started, and sleeps until that shows.
//!
//! | module | what it offers |
//! |---|---|
//! | `queue` | what is under way in one stream |
//! | `program` | streams and events of the program |
//! | `worker` | the thread that starts what keeps the thread that starts it |

mod program;
mod queue;
mod worker;

use std::{
    borrow::Borrow,
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering, fence},
    },
    thread,
    time::{Duration, Instant},
};

use cudarc::driver::sys::{CUdevice, CUdeviceptr};
use oxshmem_base::{
    Result,
    panics::survive,
    sync::{Mutex, lock},
};
use oxshmem_memory::HostMap;
use oxshmem_progress::{completion::Completion, helper_waker::HelperWaker, source::Armed};

use self::{
    program::Program,
    queue::Queue,
    worker::{StagedCommand, Worker},
};
use super::{
    driver::{Outcome, Stream},
    gpu::{Command, Gpu},
    host::{Registered, Slot, Slots},
    memory::Memory,
};
use crate::device::ready::Ready;

/// Bytes and number of the pieces of host memory through which short copies go.
const SLOTS: (usize, usize) = (64 << 10, 64);
/// Of those that results of atomic operations come to, and of those that streams wait for.
const WORDS: (usize, usize) = (64, 256);
/// Bytes that go through host memory at a time, between devices that do not reach each other.
const THROUGH: usize = 4 << 20;
/// How long the helper sleeps at a time, and for how long in all, before it has the driver call
/// back: a call takes longer than a short operation.
const SLEEP: Duration = Duration::from_micros(20);
const SLEEPS: Duration = Duration::from_micros(200);
/// How long it sleeps at most where the driver does not call, and which part of the time that it
/// has waited so far.
const LONGEST_SLEEP: Duration = Duration::from_millis(1);
const SLEEP_PART: u32 = 16;

/// All streams of a process, and its worker.
pub(super) struct Streams {
    /// Of each PE of the host.
    queues: Vec<Queue>,
    /// The device of each PE.
    devices: Vec<CUdevice>,
    program: Program,
    gpus: BTreeMap<CUdevice, Gpu>,
    slots: Arc<Slots>,
    words: Arc<Slots>,
    holds: Arc<Slots>,
    /// Where results go that nothing is to read.
    sink: Slot,
    host: Registered,
    /// Held by the one thread that polls, so that operations complete in their order.
    polling: Mutex<()>,
    /// Operations that are not over.
    under_way: AtomicUsize,
    /// When the helper first found that nothing was over, since something was.
    waits_since: Mutex<Option<Instant>>,
    ready: Arc<Ready>,
    helper_waker: Arc<HelperWaker>,
    worker: Worker,
    /// The last to be dropped.
    memory: Arc<Memory>,
}

impl Streams {
    pub(super) fn new(
        memory: &Arc<Memory>,
        host: &Arc<HostMap>,
        helper_waker: &Arc<HelperWaker>,
    ) -> Result<Arc<Self>> {
        let ready = Arc::new(Ready::new()?);
        let gpus =
            memory.contexts().iter().map(|(&device, context)| Ok((device, Gpu::new(device, context)?)));
        let gpus: BTreeMap<CUdevice, Gpu> = gpus.collect::<Outcome<_>>()?;
        let devices: Vec<CUdevice> = (0..memory.count()).map(|local_pe| memory.device(local_pe)).collect();
        let queue = |device| Ok(Queue::new(Stream::new(&memory.contexts()[device])?, &ready));
        let queues: Vec<Queue> = devices.iter().map(queue).collect::<Outcome<_>>()?;
        let program = Program::new(queues.iter().map(|queue| queue.stream.context()), &ready)?;
        // There is a PE, so there is a device.
        let context = &memory.contexts()[&memory.device(0)];
        let words = Slots::new(context, WORDS.0, WORDS.1)?;
        let sink = words.take_or_make()?;
        Ok(Arc::new(Self {
            queues,
            devices,
            program,
            gpus,
            slots: Slots::new(context, SLOTS.0, SLOTS.1)?,
            words,
            holds: Slots::new(context, WORDS.0, WORDS.1)?,
            sink,
            host: Registered::new(host, context),
            polling: Mutex::default(),
            under_way: AtomicUsize::new(0),
            waits_since: Mutex::default(),
            ready,
            helper_waker: Arc::clone(helper_waker),
            worker: Worker::default(),
            memory: Arc::clone(memory),
        }))
    }

    /// The device that has a PE's memory.
    pub(super) fn gpu(&self, block: usize) -> &Gpu {
        &self.gpus[&self.devices[block]]
    }

    pub(super) fn host(&self) -> &Registered {
        &self.host
    }

    /// Host memory for a short copy, if there is some.
    pub(super) fn slot(&self, len: usize) -> Option<Slot> {
        if len > self.slots.size() {
            return None;
        }
        // What is over has some that no thread has given back yet.
        self.slots.take().or_else(|| if self.poll() { self.slots.take() } else { None })
    }

    /// Host memory for a result.
    pub(super) fn word(&self) -> Outcome<Slot> {
        self.words.take_or_make()
    }

    /// Starts a command on the memory of a PE; `done` is given when it is over.
    pub(super) fn start(self: &Arc<Self>, block: usize, command: Command, done: Completion) {
        self.start_with(block, command, done, false);
    }

    /// Starts a command that may keep the thread.
    pub(super) fn start_slowly(self: &Arc<Self>, block: usize, command: Command, done: Completion) {
        self.start_with(block, command, done, true);
    }

    fn start_with(self: &Arc<Self>, local_pe: usize, command: Command, done: Completion, slow: bool) {
        let queue = &self.queues[local_pe];
        // SeqCst: the helper sees it, or is woken.
        self.under_way.fetch_add(1, Ordering::SeqCst);
        let failed = {
            let mut state = lock(&queue.state);
            if slow || state.to_come > 0 {
                state.to_come += 1;
                // Under the queue's lock, for its order.
                self.give_work(StagedCommand { local_pe, command, done });
                None
            } else {
                match self.issue(&queue.stream, &command) {
                    Ok(()) => {
                        state.push(done);
                        queue.count.fetch_add(1, Ordering::Release);
                        None
                    }
                    Err(failed) => Some((failed, done)),
                }
            }
        };
        match failed {
            None => self.helper_waker.issue(),
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
        let given = commands.into_iter().try_for_each(|command| self.tell(&stream, command.borrow()));
        // Even if a part of it failed: what was begun uses the caller's memory.
        let over = stream.synchronize();
        given.and(over)
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

    /// Gives a command to a stream.
    fn issue(&self, stream: &Stream, command: &Command) -> Outcome<()> {
        let _entered = stream.context().enter()?;
        let given = self.tell(stream, command);
        if given.is_err() {
            // What was begun uses the caller's memory.
            let _ = stream.synchronize();
        }
        given
    }

    /// Gives a command to a stream whose context is entered.
    fn tell(&self, stream: &Stream, command: &Command) -> Outcome<()> {
        match *command {
            Command::In { from, to, len } => {
                for (at, len) in self.host.pieces(from, len) {
                    // SAFETY: the maker of the command vouches for both ends.
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
                // SAFETY: the arguments were made for the kernel, and the maker of the command
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
                        let given = unsafe { stream.copy_in(between, to + at as u64, part) };
                        stream.synchronize()?;
                        given
                    },
                    from,
                )
            }
            Command::Nothing => Ok(()),
        }
    }

    /// Completes the operations that are over.
    pub(super) fn poll(&self) -> bool {
        let Some(polling) = self.polling.try_lock() else { return false };
        let (mut any, mut programs) = (false, false);
        let mut over = Vec::new();
        for (local_pe, queue) in self.queues.iter().enumerate() {
            any |= self.complete(queue, self.gpu(local_pe), &mut over);
        }
        let mut at = 0;
        while let Some((by, queue)) = self.program.busy(at) {
            programs |= self.complete(&queue, self.gpu(by), &mut over);
            at += 1;
        }
        if programs {
            self.program.tidy();
        }
        any |= programs;
        drop(polling);
        if any {
            *lock(&self.waits_since) = None;
        }
        any
    }

    /// Completes what is over in one queue. `over` is room for that.
    fn complete(&self, queue: &Queue, gpu: &Gpu, over: &mut Vec<(Completion, Outcome<()>)>) -> bool {
        queue.take_over(gpu, over);
        if over.is_empty() {
            return false;
        }
        queue.count.fetch_sub(over.len(), Ordering::Release);
        // SeqCst: what the device has written is visible to all before any thread learns that it
        // is.
        fence(Ordering::SeqCst);
        for (done, outcome) in over.drain(..) {
            self.under_way.fetch_sub(1, Ordering::SeqCst);
            survive(|| done(outcome.map_err(Into::into)));
        }
        true
    }

    /// How the helper sleeps.
    pub(super) fn arm(&self) -> Armed<'_> {
        if !self.is_pending() {
            return Armed::IDLE;
        }
        let since = *lock(&self.waits_since).get_or_insert_with(Instant::now);
        let waited = since.elapsed();
        if waited < SLEEPS {
            return Armed::Asleep { descriptor: None, limit: Some(SLEEP) };
        }
        self.ready.clear();
        let mut armed = self.queues.iter().all(Queue::arm);
        let mut at = 0;
        while let Some((_, queue)) = self.program.busy(at) {
            armed &= queue.arm();
            at += 1;
        }
        let limit = if armed { None } else { Some((waited / SLEEP_PART).clamp(SLEEP, LONGEST_SLEEP)) };
        Armed::Asleep { descriptor: Some(self.ready.descriptor()), limit }
    }

    /// Waits until everything that was started is over, and completes it.
    pub(super) fn finish(&self) {
        while self.is_pending() {
            self.poll();
            thread::sleep(SLEEP);
        }
        for queue in &self.queues {
            // The driver's calls are part of the stream, which may not go before they are over.
            let _ = queue.stream.context().enter().and_then(|_entered| queue.stream.synchronize());
        }
    }

    /// Whether something is under way.
    pub(super) fn is_pending(&self) -> bool {
        self.under_way.load(Ordering::Relaxed) > 0
    }
}
