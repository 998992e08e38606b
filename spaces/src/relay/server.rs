//! The server: requests of other PEs are taken up in their order, and answered when the device has
//! done them.

use std::{collections::BTreeMap, sync::Arc};

use oxshmem_base::{Error, Result, sync::lock};
use oxshmem_memory::{
    op::{Op, Verb},
    word::Atomic,
};
use oxshmem_net::{
    Words, apply,
    batch::{Location, decode, first_entry, malformed},
};
use oxshmem_progress::completion::{AllParts, Completion};

use super::{
    BATCH, BYTES, Core, FAILED, OP, OVER, PULL, READY, VALUE,
    client::{MOST, PART},
    pieces::{PIECE, Piece},
};
use crate::device::{DeviceOp, DevicePlace};

/// An operation that another PE asks for.
type Remote = Op<Location, ()>;

/// This PE as the server of another: the requests of that PE.
#[derive(Default)]
pub(super) struct Server {
    /// The number of the next to be taken up.
    next: u64,
    /// What has come, by its number.
    waiting: BTreeMap<u64, (Words, Vec<u8>)>,
    /// Whether one is being taken up.
    busy: bool,
    /// How many parts are being pulled.
    pulled: usize,
    /// What is ready for the client, by the numbers of its requests.
    ready: BTreeMap<u64, Piece>,
}

impl Server {
    /// A request has come. An error if it is beyond those that a PE may have under way, or has come
    /// before.
    pub(super) fn take_in(&mut self, words: Words, bytes: Vec<u8>) -> Result<()> {
        let ahead = words[1].checked_sub(self.next).filter(|&ahead| ahead < MOST as u64);
        match ahead.is_some() && !self.waiting.contains_key(&words[1]) {
            true => drop(self.waiting.insert(words[1], (words, bytes))),
            false => return Err(malformed()),
        }
        Ok(())
    }

    /// The next request, if it is there and its turn has come. [`free`](Self::free) must follow.
    fn next(&mut self) -> Option<(Words, Vec<u8>)> {
        if self.busy {
            return None;
        }
        let ([kind, ..], _) = self.waiting.get(&self.next)?;
        if self.pulled > 0 && *kind != PULL {
            return None;
        }
        let request = self.waiting.remove(&self.next)?;
        self.next += 1;
        self.busy = true;
        Some(request)
    }

    fn free(&mut self) {
        self.busy = false;
    }

    /// Whether no piece is with the client.
    #[cfg(test)]
    pub(super) fn has_nothing_ready(&self) -> bool {
        self.ready.is_empty()
    }
}

/// A batch that is being performed.
struct Run {
    from: usize,
    words: Arc<[u64]>,
    /// The entry that comes next.
    at: usize,
    /// Whether the device may have something under way that must come before what follows on the
    /// host.
    behind_device: bool,
    /// Completes when all of it is over.
    last: Arc<AllParts>,
}

impl Core {
    /// Takes up what `from` has asked, unless another thread, or this one further up, is about to.
    pub(super) fn serve(self: &Arc<Self>, from: usize) {
        loop {
            let request = lock(&self.servers).get_mut(&from).and_then(Server::next);
            let Some((words, bytes)) = request else { return };
            if !self.perform(from, words, bytes) {
                // It goes on later.
                return;
            }
            self.free_server(from);
        }
    }

    fn free_server(&self, from: usize) {
        if let Some(server) = lock(&self.servers).get_mut(&from) {
            server.free();
        }
    }

    /// Starts what a request asks for. False if the next must not be taken up yet.
    fn perform(self: &Arc<Self>, from: usize, [kind, number, a, b, c]: Words, bytes: Vec<u8>) -> bool {
        let started = match kind {
            OP => decode([a, b, c, 1]).and_then(|op| self.begin(from, number, op, bytes)),
            PULL => decode([a, b, 0, 1]).and_then(|op| self.pull(from, number, op, c)),
            BATCH => {
                let words: Arc<[u64]> =
                    bytes.as_chunks().0.iter().map(|&word| u64::from_ne_bytes(word)).collect();
                let last = AllParts::new(self.written(from, number));
                return self.run(Run { from, words, at: 0, behind_device: a != 0, last });
            }
            _ => Err(malformed()),
        };
        if let Err(error) = started {
            self.answer(from, number)(Err(error));
        }
        true
    }

    /// Starts an operation, of which a put comes with its bytes.
    fn begin(self: &Arc<Self>, from: usize, number: u64, op: Remote, bytes: Vec<u8>) -> Result<()> {
        match op.verb {
            Verb::Put(()) => self.put(from, number, op, bytes),
            Verb::Get(()) if op.blocks.len > PART => self.make_ready(from, number, op),
            Verb::Get(()) => self.get(from, number, op),
            Verb::Atomic(operation, _) => {
                let core = Arc::downgrade(self);
                self.atomic(op, move |before| {
                    let Some(core) = core.upgrade() else { return };
                    if operation != Atomic::Fetch {
                        core.owner.ring_device();
                    }
                    match before {
                        Ok(before) => core.notify_words(from, [VALUE, number, before, 0, 0], |_| {}),
                        Err(error) => core.answer(from, number)(Err(error)),
                    }
                })
            }
        }
    }

    fn put(self: &Arc<Self>, from: usize, number: u64, op: Remote, bytes: Vec<u8>) -> Result<()> {
        let at = self.place(op.there, bytes.len(), 1)?;
        let (put, answer) = (Op::put(at, bytes.as_ptr(), bytes.len()), self.written(from, number));
        // SAFETY: the place is in bounds, and `done` holds the bytes.
        unsafe { self.start_holding(put, bytes, answer) };
        Ok(())
    }

    /// Starts an operation that needs what `held` has until it is over.
    ///
    /// # Safety
    /// As for [`start`](oxshmem_net::Way::start).
    unsafe fn start_holding(&self, op: DeviceOp, held: impl Send + 'static, done: Completion) {
        let done = Box::new(move |over: Result<u64>| {
            drop(held);
            done(over.map(drop));
        });
        // SAFETY: passed on to the caller.
        unsafe { self.owner.device.start(op, done) };
    }

    /// Gets a part of a put from the client's memory.
    fn pull(self: &Arc<Self>, from: usize, number: u64, op: Remote, there: u64) -> Result<()> {
        let len = op.blocks.len;
        let source = self.owner.spot(from, there, len).filter(|_| len <= PIECE).ok_or_else(malformed)?;
        let (at, core) = (self.place(op.there, len, 1)?, Arc::downgrade(self));
        if let Some(server) = lock(&self.servers).get_mut(&from) {
            server.pulled += 1;
        }
        self.owner.pieces.take(move |piece| {
            let Some(this) = core.upgrade() else { return };
            let start = piece.start();
            let then = move |got: Result<u64>| {
                let Some(core) = core.upgrade() else { return };
                let (put, answer) = (Op::put(at, piece.start(), len), core.written(from, number));
                match got {
                    // SAFETY: the place is in bounds, and the piece is held.
                    Ok(_) => unsafe { core.start_holding(put, piece, answer) },
                    Err(error) => answer(Err(error)),
                }
                if let Some(server) = lock(&core.servers).get_mut(&from) {
                    server.pulled -= 1;
                }
                core.serve(from);
            };
            // SAFETY: a piece has room for `len` bytes, and `then` holds it.
            unsafe { this.below.start(Op::get(source, start, len), Box::new(then)) };
        });
        Ok(())
    }

    /// Copies a long part of a get to where the client gets it.
    fn make_ready(self: &Arc<Self>, from: usize, number: u64, op: Remote) -> Result<()> {
        let len = op.blocks.len;
        let at = self.place(op.there, len, 1)?;
        if len > PIECE {
            return Err(malformed());
        }
        let core = Arc::downgrade(self);
        self.owner.pieces.take(move |piece| {
            let Some(this) = core.upgrade() else { return };
            let (start, ready) = (piece.start(), piece.offset() as u64);
            let done = Box::new(move |copied: Result<u64>| {
                let Some(core) = core.upgrade() else { return };
                if let Err(error) = copied {
                    return core.answer(from, number)(Err(error));
                }
                if let Some(server) = lock(&core.servers).get_mut(&from) {
                    server.ready.insert(number, piece);
                }
                core.notify_words(from, [READY, number, ready, 0, 0], |_| {});
            });
            // SAFETY: the place is in bounds, a piece has room for `len` bytes, and `done` holds
            // it.
            unsafe { this.owner.device.start(Op::get(at, start, len), done) };
        });
        Ok(())
    }

    /// A client has what was ready.
    pub(super) fn taken(&self, from: usize, number: u64) {
        let piece = lock(&self.servers).get_mut(&from).and_then(|server| server.ready.remove(&number));
        // Without the lock: something may wait for it.
        drop(piece);
    }

    fn get(self: &Arc<Self>, from: usize, number: u64, op: Remote) -> Result<()> {
        let len = op.blocks.len;
        let at = self.place(op.there, len, 1)?;
        let mut bytes = vec![0u8; len];
        let start = bytes.as_mut_ptr();
        let core = Arc::downgrade(self);
        let done = Box::new(move |copied: Result<u64>| {
            let Some(core) = core.upgrade() else { return };
            if let Err(error) = copied {
                return core.answer(from, number)(Err(error));
            }
            let start = bytes.as_ptr();
            // A PE that is gone needs no answer.
            let sent = Box::new(move |_| drop(bytes));
            // SAFETY: `sent` holds the bytes.
            unsafe { core.below.notify(from, [BYTES, number, 0, 0, 0], start, len, sent) };
        });
        // SAFETY: the place is in bounds, and `done` holds the bytes.
        unsafe { self.owner.device.start(Op::get(at, start, len), done) };
        Ok(())
    }

    /// Performs a batch from where it is. False if it goes on later.
    fn run(self: &Arc<Self>, mut run: Run) -> bool {
        while run.at < run.words.len() {
            let entry = first_entry(&run.words[run.at..]);
            let (started, len) = match entry {
                Err(error) => (Err(error), 0),
                Ok((op, len)) if op.there.on_device() => {
                    run.behind_device = true;
                    (self.start(&run, op), len)
                }
                Ok(_) if run.behind_device => {
                    run.behind_device = false;
                    return self.run_later(run);
                }
                Ok((_, len)) => {
                    let [heap, scratch] = &self.owner.segments;
                    let words = &run.words[run.at..run.at + len];
                    // SAFETY: both are this PE's memory, which is mapped for as long as it has a
                    // net.
                    let applied = unsafe { apply(words, self.owner.block, &[heap, scratch]) };
                    if let Some(executor) = self.owner.executor.upgrade() {
                        executor.scan_host();
                    }
                    (applied, len)
                }
            };
            if let Err(error) = started {
                run.last.note(Err(error));
                return true;
            }
            run.at += len;
        }
        true
    }

    /// Goes on with a batch when what the device has under way on this PE's memory is over.
    fn run_later(self: &Arc<Self>, run: Run) -> bool {
        let core = Arc::downgrade(self);
        let nothing = std::ptr::dangling::<u64>().cast::<u8>();
        // SAFETY: where this PE's own memory of the device begins.
        let here = unsafe { DevicePlace::new(self.owner.block, 0) };
        let done = Box::new(move |over: Result<u64>| {
            let Some(core) = core.upgrade() else { return };
            let from = run.from;
            let goes_on = match over {
                Ok(_) => !core.run(run),
                Err(error) => {
                    run.last.note(Err(error));
                    false
                }
            };
            if !goes_on {
                core.free_server(from);
                core.serve(from);
            }
        });
        // SAFETY: there are no bytes. It comes after what was started on this PE's memory before.
        unsafe { self.owner.device.start(Op::put(here, nothing, 0), done) };
        false
    }

    /// Starts an entry of a batch.
    fn start(self: &Arc<Self>, run: &Run, op: Remote) -> Result<()> {
        let Verb::Put(()) = op.verb else { return self.atomic(op, run.last.part()) };
        let at = self.place(op.there, op.blocks.len, 1)?;
        // Behind the entry's head.
        let start = run.words[run.at + 2..].as_ptr().cast::<u8>();
        let put = Op::put(at, start, op.blocks.len);
        // SAFETY: the place is in bounds, and the words are held, of which the entry has as many.
        unsafe { self.start_holding(put, Arc::clone(&run.words), run.last.part()) };
        Ok(())
    }

    fn atomic(self: &Arc<Self>, op: Remote, done: impl FnOnce(Result<u64>) + Send + 'static) -> Result<()> {
        let Verb::Atomic(operation, width) = op.verb else { return Err(malformed()) };
        let at = self.place(op.there, width as usize, width as usize)?;
        // SAFETY: the word is in bounds and aligned, as just checked.
        unsafe { self.owner.device.start(Op::atomic(at, operation, width), Box::new(done)) };
        Ok(())
    }

    /// Device memory of this PE, if `len` bytes there are in bounds and aligned to `align`.
    fn place(&self, at: Location, len: usize, align: usize) -> Result<DevicePlace> {
        let (offset, room) = (at.offset, self.owner.device.segment().len());
        let inside = at.on_device() && offset.checked_add(len).is_some_and(|end| end <= room);
        match inside && offset.is_multiple_of(align) {
            // SAFETY: just checked, of this PE's own memory.
            true => Ok(unsafe { DevicePlace::new(self.owner.block, offset) }),
            false => Err(malformed()),
        }
    }

    /// Answers the PE that has asked for something that has written to device memory.
    fn written(self: &Arc<Self>, from: usize, number: u64) -> Completion {
        let (core, answer) = (Arc::downgrade(self), self.answer(from, number));
        Box::new(move |outcome: Result<()>| {
            if let Some(core) = core.upgrade() {
                core.owner.ring_device();
            }
            answer(outcome);
        })
    }

    /// Answers the PE that has asked: it is over, and how it ended.
    fn answer(self: &Arc<Self>, from: usize, number: u64) -> Completion {
        let core = Arc::downgrade(self);
        Box::new(move |outcome: Result<()>| {
            let Some(core) = core.upgrade() else { return };
            match outcome {
                Ok(()) => core.notify_words(from, [OVER, number, 0, 0, 0], |_| {}),
                Err(error) => core.say_why(from, number, &error),
            }
        })
    }

    #[cold]
    fn say_why(&self, from: usize, number: u64, error: &Error) {
        let why = match error {
            Error::Device { what } => what.clone().into_bytes(),
            other => other.to_string().into_bytes(),
        };
        let (start, len) = (why.as_ptr(), why.len());
        // SAFETY: the completion holds the bytes.
        unsafe {
            self.below.notify(from, [FAILED, number, 0, 0, 0], start, len, Box::new(move |_| drop(why)));
        }
    }
}
