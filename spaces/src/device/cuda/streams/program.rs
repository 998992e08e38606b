//! Streams and events of the program.
//!
//! What is appended to a stream of the program has an event behind it at once, as the program goes
//! on to use the stream. Each such stream has a queue while something is under way in it. An event
//! of the program, and a copy that comes after one, have a queue with a stream of ours.
//!
//! The driver may wait, in any call that makes or starts something, for a stream that waits for the
//! program. So no lock is held over such a call that a thread needs that ends the wait.

use std::sync::{
    Arc,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

use oxshmem_base::{
    Error, Result,
    sync::{Mutex, lock},
};
use oxshmem_memory::{copy, op::Verb, word::Width};
use oxshmem_progress::completion::Completion;

use super::{
    super::{
        driver::{Context, Outcome, Stream},
        gpu::Command,
    },
    Streams,
    queue::{Queue, State},
};
use crate::device::{
    End,
    ready::Ready,
    stream::{EventRef, Held, InStream, StreamRef},
};

/// Queues with a stream of ours that each PE has from the beginning. The driver makes no more while
/// a stream waits.
const READY: usize = 2;

/// The queues of the program's streams and events.
#[derive(Default)]
pub(super) struct Program {
    /// Held while something is appended, so that events stand in queues as they do in streams. The
    /// engine does not take it.
    appending: Mutex<()>,
    busy: Mutex<Vec<Busy>>,
    /// How many are busy, as a hint for threads that poll.
    count: AtomicUsize,
    /// Those with a stream of ours, to be used again, by the local PE whose device they are of.
    free: Mutex<Vec<(usize, Arc<Queue>)>>,
}

/// A queue in which something is under way.
struct Busy {
    /// The local PE whose device it is of.
    by: usize,
    /// The stream of the program, if it is for one.
    stream: Option<usize>,
    queue: Arc<Queue>,
}

impl Program {
    /// With queues for events of the program on the devices of local PEs.
    pub(super) fn new<'a>(
        contexts: impl Iterator<Item = &'a Arc<Context>>,
        ready: &Arc<Ready>,
    ) -> Outcome<Self> {
        let mut free = Vec::new();
        for (by, context) in contexts.enumerate() {
            for _ in 0..READY {
                free.push((by, Arc::new(Queue::new(Stream::waiting(context)?, ready))));
            }
        }
        Ok(Self { free: Mutex::new(free), ..Self::default() })
    }

    /// A queue that is busy, with the local PE whose device it is of.
    pub(super) fn busy(&self, at: usize) -> Option<(usize, Arc<Queue>)> {
        // Relaxed: a hint. A thread that has appended something wakes the helper.
        if self.count.load(Ordering::Relaxed) == 0 {
            return None;
        }
        lock(&self.busy).get(at).map(|busy| (busy.by, Arc::clone(&busy.queue)))
    }

    /// Frees the queues in which nothing is under way any more.
    pub(super) fn tidy(&self) {
        let mut busy = lock(&self.busy);
        let (still, over) =
            std::mem::take(&mut *busy).into_iter().partition(|it| it.queue.count.load(Ordering::Acquire) > 0);
        *busy = still;
        self.count.store(busy.len(), Ordering::Relaxed);
        drop(busy);
        let over: Vec<Busy> = over;
        let ours = over.into_iter().filter(|it| it.stream.is_none());
        lock(&self.free).extend(ours.map(|it| (it.by, it.queue)));
    }
}

impl Streams {
    /// A stream of the program, of the primary context of a local PE's device.
    fn of_program(&self, by: usize, stream: StreamRef<'_>) -> Result<Stream> {
        let context = self.queues[by].stream.context();
        let _entered = context.enter()?;
        // SAFETY: the reference says that it exists.
        let found = unsafe { Stream::of_program(context, stream.as_raw().cast()) }?;
        found.ok_or_else(|| Error::Unsupported {
            what:
                "the stream is of another device or context than the PE's own, or does not exist; make it in \
                   the primary context of the device that the PE's memory is on"
                    .to_owned(),
        })
    }

    pub(in super::super) fn is_captured(&self, by: usize, stream: StreamRef<'_>) -> Result<bool> {
        let stream = self.of_program(by, stream)?;
        let _entered = stream.context().enter()?;
        Ok(stream.is_captured()?)
    }

    /// # Safety
    /// As for [`ProgramStreams::append`](crate::device::stream::ProgramStreams::append).
    pub(in super::super) unsafe fn append(
        self: &Arc<Self>,
        by: usize,
        stream: StreamRef<'_>,
        what: &[InStream],
        done: Completion,
    ) {
        let its = match self.of_program(by, stream) {
            Ok(its) => its,
            Err(error) => return done(Err(error)),
        };
        let appending = lock(&self.program.appending);
        let begun = its.context().enter().and_then(|_entered| {
            let event = self.gpu(by).event()?;
            let given = what.iter().try_for_each(|&what| self.give(by, &its, what));
            if let Err(failed) = given.and_then(|()| its.record(&event)) {
                // What was begun uses the caller's memory.
                let _ = its.synchronize();
                return Err(failed);
            }
            Ok(event)
        });
        match begun {
            Ok(event) => {
                let key = Some(stream.as_raw().addr());
                let queue = || Arc::new(Queue::new(its, &self.ready));
                self.note(by, key, queue, |state| state.push_with(event, done));
            }
            Err(failed) => {
                drop(appending);
                done(Err(failed.into()));
            }
        }
    }

    /// # Safety
    /// As for `ProgramStreams::append_captured`.
    pub(in super::super) unsafe fn append_captured(
        &self,
        by: usize,
        stream: StreamRef<'_>,
        what: &[InStream],
    ) -> Result<()> {
        let its = self.of_program(by, stream)?;
        let _entered = its.context().enter()?;
        Ok(what.iter().try_for_each(|&what| self.give(by, &its, what))?)
    }

    /// Appends to a stream whose context is entered.
    fn give(&self, by: usize, stream: &Stream, what: InStream) -> Outcome<()> {
        let op = match what {
            InStream::Op(op) => op,
            InStream::Wait { at, equal, value } => {
                // SAFETY: the caller of `append` vouches for the word.
                return unsafe { stream.wait_value(self.memory.at(at), equal, value) };
            }
        };
        let (there, len) = (self.memory.at(op.there), op.blocks.len);
        let here = |end| match end {
            End::Host(address) => address.get().expose_provenance() as u64,
            End::Device(place) => self.memory.at(place),
        };
        let update = |at, operation| {
            let command = self.gpu(by).amo(at, Width::Eight, operation, self.sink.shown);
            self.tell(stream, &command)
        };
        // SAFETY: the caller of `append` vouches for both ends.
        unsafe {
            match op.verb {
                Verb::Put(from) => stream.copy(here(from), there, len)?,
                Verb::Get(to) => stream.copy(there, here(to), len)?,
                Verb::Atomic(operation, _) => update(there, operation)?,
            }
        }
        match op.then {
            Some((at, signal)) => update(self.memory.at(at), signal.into()),
            None => Ok(()),
        }
    }

    /// Something more is under way in the queue of a stream of the program, or in one that `make`
    /// gives.
    fn note(
        &self,
        by: usize,
        stream: Option<usize>,
        make: impl FnOnce() -> Arc<Queue>,
        push: impl FnOnce(&mut State),
    ) {
        let mut busy = lock(&self.program.busy);
        let known = stream.and_then(|_| busy.iter().find(|it| it.by == by && it.stream == stream));
        let queue = match known {
            Some(known) => Arc::clone(&known.queue),
            None => {
                let queue = make();
                busy.push(Busy { by, stream, queue: Arc::clone(&queue) });
                queue
            }
        };
        // SeqCst: the helper sees it, or is woken.
        self.under_way.fetch_add(1, Ordering::SeqCst);
        queue.count.fetch_add(1, Ordering::Release);
        push(&mut lock(&queue.state));
        self.program.count.store(busy.len(), Ordering::Relaxed);
        drop(busy);
        self.helper_waker.issue();
    }

    /// A queue with a stream of ours.
    fn free_queue(&self, by: usize) -> Outcome<Arc<Queue>> {
        let free = {
            let mut free = lock(&self.program.free);
            let at = free.iter().position(|(of, _)| *of == by);
            at.map(|at| free.swap_remove(at).1)
        };
        free.map_or_else(
            || {
                let stream = Stream::waiting(self.queues[by].stream.context())?;
                Ok(Arc::new(Queue::new(stream, &self.ready)))
            },
            Ok,
        )
    }

    pub(in super::super) fn hold(&self, by: usize, stream: StreamRef<'_>) -> Result<Held> {
        let stream = self.of_program(by, stream)?;
        let slot = self.holds.take_or_make()?;
        let word = slot.start().cast::<u64>();
        // SAFETY: the slot is ours. A stream that waited for an earlier value of the word may still
        // look at it, and finds this one or the next.
        let value = unsafe { copy::load(word) }.wrapping_add(1);
        let _entered = stream.context().enter()?;
        // SAFETY: the slot's memory exists for as long as the device.
        unsafe { stream.wait_value(slot.shown, false, value) }?;
        Ok(Held::new(move || {
            // SAFETY: as above. Release: what comes before the end of the wait is visible to what
            // the stream does then.
            unsafe { AtomicU64::from_ptr(slot.start().cast()) }.store(value, Ordering::Release);
        }))
    }

    /// Completes `done` when an event of the program is over and then a command is, which starts on
    /// the device of a local PE.
    pub(in super::super) fn after(
        self: &Arc<Self>,
        by: usize,
        event: EventRef<'_>,
        command: &Command,
        done: Completion,
    ) {
        let begun = self.free_queue(by).and_then(|queue| {
            let entered = queue.stream.context().enter()?;
            // SAFETY: the reference says that the event exists.
            unsafe { queue.stream.wait_for(event.as_raw().cast()) }?;
            if let Err(failed) = self.tell(&queue.stream, command) {
                // What was begun uses the caller's memory.
                let _ = queue.stream.synchronize();
                return Err(failed);
            }
            drop(entered);
            Ok(queue)
        });
        match begun {
            Ok(queue) => self.note(by, None, || queue, |state| state.push(done)),
            Err(failed) => done(Err(failed.into())),
        }
    }
}
