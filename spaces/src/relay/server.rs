//! The server: requests of other PEs are taken up in their order, and answered when the device has
//! done them.

use std::{collections::BTreeMap, sync::Arc};

use oxshmem_base::{Error, Result, sync::lock};
use oxshmem_memory::word::{Atomic, Width};
use oxshmem_net::{
    Words, apply,
    batch::{Entry, Location, decode, first_entry, malformed},
};
use oxshmem_progress::completion::{AllParts, Completion};

use super::{
    BATCH, BYTES, Core, FAILED, FETCH, GET, OVER, PULL, PUT, READY, VALUE,
    client::{MOST, PART},
    pieces::{PIECE, Piece},
};
use crate::device::{DevicePlace, End};

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
            PUT => self.put(from, number, a as usize, bytes),
            PULL => self.pull(from, number, a as usize, b as usize, c),
            GET if b > PART as u64 => self.make_ready(from, number, a as usize, b as usize),
            GET => self.get(from, number, a as usize, b as usize),
            FETCH => self.fetch(from, number, [a, b, c]),
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

    fn put(self: &Arc<Self>, from: usize, number: u64, offset: usize, bytes: Vec<u8>) -> Result<()> {
        let (at, len, start) = (self.place(offset, bytes.len(), 1)?, bytes.len(), bytes.as_ptr());
        let answer = self.written(from, number);
        let done = Box::new(move |copied: Result<()>| {
            drop(bytes);
            answer(copied);
        });
        // SAFETY: the place is in bounds, and `done` holds the bytes.
        unsafe { self.owner.device.copy(End::Host(start.cast_mut()), End::Device(at), len, done) };
        Ok(())
    }

    /// Gets a part of a put from the client's memory.
    fn pull(self: &Arc<Self>, from: usize, number: u64, offset: usize, len: usize, there: u64) -> Result<()> {
        let source = self.owner.spot(from, there, len).filter(|_| len <= PIECE).ok_or_else(malformed)?;
        let (at, core) = (self.place(offset, len, 1)?, Arc::downgrade(self));
        if let Some(server) = lock(&self.servers).get_mut(&from) {
            server.pulled += 1;
        }
        self.owner.pieces.take(move |piece| {
            let Some(this) = core.upgrade() else { return };
            let start = piece.start();
            let then = move |got: Result<()>| {
                let Some(core) = core.upgrade() else { return };
                let (start, answer) = (End::Host(piece.start()), core.written(from, number));
                let done: Completion = Box::new(move |copied| {
                    drop(piece);
                    answer(copied);
                });
                match got {
                    // SAFETY: the place is in bounds, and `done` holds the piece.
                    Ok(()) => unsafe { core.owner.device.copy(start, End::Device(at), len, done) },
                    Err(_) => done(got),
                }
                if let Some(server) = lock(&core.servers).get_mut(&from) {
                    server.pulled -= 1;
                }
                core.serve(from);
            };
            // SAFETY: a piece has room for `len` bytes, and `then` holds it.
            unsafe { this.below.get(source, start, len, Box::new(then)) };
        });
        Ok(())
    }

    /// Copies a long part of a get to where the client gets it.
    fn make_ready(self: &Arc<Self>, from: usize, number: u64, offset: usize, len: usize) -> Result<()> {
        let at = self.place(offset, len, 1)?;
        if len > PIECE {
            return Err(malformed());
        }
        let core = Arc::downgrade(self);
        self.owner.pieces.take(move |piece| {
            let Some(this) = core.upgrade() else { return };
            let (start, ready) = (piece.start(), piece.offset() as u64);
            let done = Box::new(move |copied: Result<()>| {
                let Some(core) = core.upgrade() else { return };
                if copied.is_err() {
                    return core.answer(from, number)(copied);
                }
                if let Some(server) = lock(&core.servers).get_mut(&from) {
                    server.ready.insert(number, piece);
                }
                core.notify_words(from, [READY, number, ready, 0, 0], |_| {});
            });
            // SAFETY: the place is in bounds, a piece has room for `len` bytes, and `done` holds
            // it.
            unsafe { this.owner.device.copy(End::Device(at), End::Host(start), len, done) };
        });
        Ok(())
    }

    /// A client has what was ready.
    pub(super) fn taken(&self, from: usize, number: u64) {
        let piece = lock(&self.servers).get_mut(&from).and_then(|server| server.ready.remove(&number));
        // Without the lock: something may wait for it.
        drop(piece);
    }

    fn get(self: &Arc<Self>, from: usize, number: u64, offset: usize, len: usize) -> Result<()> {
        let at = self.place(offset, len, 1)?;
        let mut bytes = vec![0u8; len];
        let start = bytes.as_mut_ptr();
        let core = Arc::downgrade(self);
        let done = Box::new(move |copied: Result<()>| {
            let Some(core) = core.upgrade() else { return };
            if copied.is_err() {
                return core.answer(from, number)(copied);
            }
            let start = bytes.as_ptr();
            // A PE that is gone needs no answer.
            let sent = Box::new(move |_| drop(bytes));
            // SAFETY: `sent` holds the bytes.
            unsafe { core.below.notify(from, [BYTES, number, 0, 0, 0], start, len, sent) };
        });
        // SAFETY: the place is in bounds, and `done` holds the bytes.
        unsafe { self.owner.device.copy(End::Device(at), End::Host(start), len, done) };
        Ok(())
    }

    fn fetch(self: &Arc<Self>, from: usize, number: u64, question: [u64; 3]) -> Result<()> {
        let (width, operation) = decode(question)?;
        let core = Arc::downgrade(self);
        self.atomic(Location::of(question[0])?.offset, width, operation, move |before| {
            let Some(core) = core.upgrade() else { return };
            if !matches!(operation, Atomic::Fetch) {
                core.owner.ring_device();
            }
            match before {
                Ok(before) => core.notify_words(from, [VALUE, number, before, 0, 0], |_| {}),
                Err(error) => core.answer(from, number)(Err(error)),
            }
        })
    }

    /// Performs a batch from where it is. False if it goes on later.
    fn run(self: &Arc<Self>, mut run: Run) -> bool {
        while run.at < run.words.len() {
            let entry = first_entry(&run.words[run.at..]);
            let (started, len) = match entry {
                Err(error) => (Err(error), 0),
                Ok((place, entry, len)) if place.on_device() => {
                    run.behind_device = true;
                    (self.start(&run, place.offset, entry), len)
                }
                Ok(_) if run.behind_device => {
                    run.behind_device = false;
                    return self.run_later(run);
                }
                Ok((_, _, len)) => {
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
        let nothing = std::ptr::dangling_mut::<u64>().cast();
        // SAFETY: where this PE's own memory of the device begins.
        let here = unsafe { DevicePlace::new(self.owner.block, 0) };
        let done = Box::new(move |over: Result<()>| {
            let Some(core) = core.upgrade() else { return };
            let from = run.from;
            let goes_on = match over {
                Ok(()) => !core.run(run),
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
        unsafe { self.owner.device.copy(End::Host(nothing), End::Device(here), 0, done) };
        false
    }

    /// Starts an entry of a batch.
    fn start(self: &Arc<Self>, run: &Run, offset: usize, entry: Entry) -> Result<()> {
        let part = run.last.part();
        match entry {
            Entry::Put(len) => {
                let at = self.place(offset, len, 1)?;
                // Behind the entry's head.
                let start = run.words[run.at + 2..].as_ptr().cast_mut().cast();
                let words = Arc::clone(&run.words);
                let done = Box::new(move |copied: Result<()>| {
                    drop(words);
                    part(copied);
                });
                // SAFETY: the place is in bounds, and `done` holds the words, of which the entry
                // has as many.
                unsafe { self.owner.device.copy(End::Host(start), End::Device(at), len, done) };
                Ok(())
            }
            Entry::Update(width, operation) => {
                self.atomic(offset, width, operation, move |before| part(before.map(drop)))
            }
        }
    }

    fn atomic(
        self: &Arc<Self>,
        offset: usize,
        width: Width,
        operation: Atomic<u64>,
        done: impl FnOnce(Result<u64>) + Send + 'static,
    ) -> Result<()> {
        let at = self.place(offset, width as usize, width as usize)?;
        // SAFETY: the word is in bounds and aligned, as just checked.
        unsafe { self.owner.device.atomic(at, width, operation, Box::new(done)) };
        Ok(())
    }

    /// Device memory of this PE, if `len` bytes there are in bounds and aligned to `align`.
    fn place(&self, offset: usize, len: usize, align: usize) -> Result<DevicePlace> {
        let room = self.owner.device.segment().len();
        let inside = offset.checked_add(len).is_some_and(|end| end <= room);
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
