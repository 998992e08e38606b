//! Device memory of other hosts, which no net reaches: the PE that has it does what others ask for.
//!
//! What is started on host memory is left to the net below. For the rest, this PE says to the owner what is to be done,
//! which its device then does, by way of buffers on the host:
//!
//! | request | with | answer |
//! |---|---|---|
//! | batch | operations, put and update, in their order | over |
//! | put | a part of some bytes | over |
//! | get | – | a part of some bytes |
//! | fetch | an atomic operation | the value before |
//!
//! A [line](line) leads to each PE. It numbers its requests, of which [so many](line::WINDOW) bytes may be under way: that is
//! how much room the owner has for each other PE, and a request needs nothing there but that, so that two PEs that put to each other
//! cannot stop each other. The owner's [desk](desk) takes them up in the order of their numbers, whichever came first; its device
//! keeps that order, so that who reads sees what it has written before. Answers may come in any order. A flush
//! waits for the answers to all requests before it.

mod desk;
mod line;
#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use oxshmem_base::{
    Error, Result,
    sync::{Mutex, lock},
};
use oxshmem_memory::{
    Segment, SegmentId,
    copy::copy,
    word::{Atomic, Signal, Width},
};
use oxshmem_progress::{
    completion::{self, AllParts, Completion, complete},
    executor::Executor,
    failure::Failure,
    source::Source,
};

use self::{
    desk::Desk,
    line::{Awaited, Ended, Leaving, Line, PART, Request},
};
use crate::{
    device::AnyDevice,
    net::{
        Batch, Listener, Net, Shape, Spot, Words,
        batch::{Entry, first_entry, question},
        get_each,
    },
};

// What is said, in the first word; the second is the request's number.
const BATCH: u64 = 1;
const PUT: u64 = 2;
const GET: u64 = 3;
const FETCH: u64 = 4;
const OVER: u64 = 5;
const BYTES: u64 = 6;
const VALUE: u64 = 7;
const FAILED: u64 = 8;

/// Copied bytes that wait for their turn, beyond which whoever adds some first makes progress, for so long.
const MOST_COPIED: usize = 4 << 20;
const PAUSE: Duration = Duration::from_millis(1);

/// What a PE has for others to use.
pub(crate) struct Owner {
    device: AnyDevice,
    block: usize,
    /// Host memory, which operations come for that are in a batch with some on device memory.
    segments: [Segment; 2],
    executor: Weak<Executor>,
}

impl Owner {
    /// The PE in `block`, with what batches reach of its host memory.
    pub(crate) fn new(
        device: &AnyDevice,
        block: usize,
        segments: [Segment; 2],
        executor: &Arc<Executor>,
    ) -> Self {
        Self { device: Arc::clone(device), block, segments, executor: Arc::downgrade(executor) }
    }
}

/// A net over `below` that reaches device memory too. Nothing may be started on it before all PEs have theirs.
pub(crate) fn over(below: Arc<dyn Net>, owner: Owner) -> Arc<dyn Net> {
    Arc::new(Staged(listening(below, owner)))
}

/// What such a net is made of.
fn listening(below: Arc<dyn Net>, owner: Owner) -> Arc<Core> {
    let core = Arc::new(Core {
        below,
        owner,
        lines: Mutex::default(),
        desks: Mutex::default(),
        serving: AtomicUsize::new(0),
        closed: AtomicBool::new(false),
    });
    let listener: Weak<dyn Listener> = Arc::downgrade(&core) as _;
    core.below.listen(listener);
    core
}

/// A net that reaches device memory.
struct Staged(Arc<Core>);

struct Core {
    below: Arc<dyn Net>,
    owner: Owner,
    /// To the PEs that something was asked of.
    lines: Mutex<HashMap<usize, Line>>,
    /// For the PEs that have asked for something.
    desks: Mutex<HashMap<usize, Desk>>,
    /// What the device has under way for others.
    serving: AtomicUsize,
    closed: AtomicBool,
}

/// An address on its way to another thread.
#[derive(Clone, Copy)]
struct Address(*mut u8);

// SAFETY: it is only a number. Who reads or writes there has its own reason that this is allowed.
unsafe impl Send for Address {}

impl Address {
    fn get(self) -> *mut u8 {
        self.0
    }
}

impl Core {
    /// Does something with the line to a PE, if that can be reached.
    fn on_line<T>(&self, pe: usize, act: impl FnOnce(&mut Line) -> T) -> Result<T> {
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::Finalized { call: "net" });
        }
        let mut lines = lock(&self.lines);
        let line = lines.entry(pe).or_default();
        match line.failed() {
            None => Ok(act(line)),
            Some(error) => Err(error.clone()),
        }
    }

    /// Sends what may leave for `pe`, unless another thread, or this one further up, is about to.
    fn depart(self: &Arc<Self>, pe: usize) {
        loop {
            let leaving = lock(&self.lines).get_mut(&pe).and_then(Line::leave);
            let Some((number, leaving)) = leaving else { return };
            self.send(pe, number, leaving);
            if let Some(line) = lock(&self.lines).get_mut(&pe) {
                line.left();
            }
        }
    }

    fn send(self: &Arc<Self>, pe: usize, number: u64, leaving: Leaving) {
        let core = Arc::downgrade(self);
        // What cannot be sent is never answered.
        let sent = move |outcome: &Result<()>| {
            if let (Err(error), Some(core)) = (outcome, core.upgrade()) {
                core.lost(Some(pe), &|| error.clone());
            }
        };
        match leaving {
            Leaving::Batch { batch, after } => {
                let words = batch.into_words();
                let (from, len) = (words.as_ptr().cast(), size_of_val(&*words));
                let done = Box::new(move |outcome| {
                    drop(words);
                    sent(&outcome);
                });
                // SAFETY: `done` holds the words.
                unsafe { self.below.notify(pe, [BATCH, number, after.into(), 0, 0], from, len, done) };
            }
            Leaving::Put { offset, from, len, free } => {
                let done = Box::new(move |outcome: Result<()>| {
                    sent(&outcome);
                    free.note(outcome);
                });
                let words = [PUT, number, offset as u64, 0, 0];
                // SAFETY: whoever made the request keeps `from` until `free` says so.
                unsafe { self.below.notify(pe, words, from.get(), len, done) };
            }
            Leaving::Get { offset, len } => {
                self.notify_words(pe, [GET, number, offset as u64, len as u64, 0], sent);
            }
            Leaving::Fetch([first, operand, cond]) => {
                self.notify_words(pe, [FETCH, number, first, operand, cond], sent);
            }
        }
    }

    fn notify_words(&self, pe: usize, words: Words, sent: impl FnOnce(&Result<()>) + Send + 'static) {
        let done = Box::new(move |outcome| sent(&outcome));
        // SAFETY: there are no bytes.
        unsafe { self.below.notify(pe, words, std::ptr::null(), 0, done) };
    }

    /// Adds operations for `pe`, some of which are on device memory, and some on host memory if that is said.
    fn write(self: &Arc<Self>, pe: usize, batch: Batch, on_host: bool) -> Result<()> {
        let parts = cut(batch, on_host)?;
        let copied = self.on_line(pe, |line| {
            parts.into_iter().for_each(|part| line.add(part));
            if on_host {
                line.mix();
            }
            line.copied()
        })?;
        self.depart(pe);
        // Progress inside of a completion would run others inside of it.
        if copied > MOST_COPIED && !completion::is_busy() {
            self.keep_up(pe);
        }
        Ok(())
    }

    /// Makes progress for a moment, so that who writes faster than the other PE takes it is slowed down.
    #[cold]
    fn keep_up(&self, pe: usize) {
        let until = Instant::now() + PAUSE;
        while self.on_line(pe, |line| line.copied() > MOST_COPIED).unwrap_or(false) && Instant::now() < until
        {
            if !self.poll() {
                thread::yield_now();
            }
        }
    }

    /// A long transfer: `part` makes the request for each, by its place and length.
    fn transfer(
        self: &Arc<Self>,
        spot: Spot,
        len: usize,
        done: Completion,
        part: impl Fn(usize, usize, Arc<AllParts>) -> Request,
    ) {
        let all = AllParts::new(done);
        let added = self.on_line(spot.pe, |line| {
            for at in (0..len).step_by(PART) {
                line.add(part(at, PART.min(len - at), Arc::clone(&all)));
            }
        });
        match added {
            Ok(()) => self.depart(spot.pe),
            Err(error) => all.note(Err(error)),
        }
    }

    /// Tells `done` when all requests to `pe` up to a number are over; `upto` says which, and none if there is nothing to wait for.
    fn when_over(&self, pe: usize, done: Completion, upto: impl FnOnce(&Line) -> Option<u64>) {
        let over = {
            let mut lines = lock(&self.lines);
            match lines.get_mut(&pe).and_then(|line| Some((upto(line)?, line))) {
                Some((upto, line)) => line.wait(upto, done),
                None => Some((done, Ok(()))),
            }
        };
        if let Some((done, outcome)) = over {
            complete(done, outcome);
        }
    }

    /// Has `then` happen when host memory of `pe` is as the batches before leave it.
    fn after_batches(&self, pe: usize, then: impl FnOnce(Result<()>) + Send + 'static) {
        self.when_over(pe, Box::new(then), Line::mixed);
    }

    fn flush(&self, pe: usize, done: Completion) {
        if !lock(&self.lines).get(&pe).is_some_and(Line::is_waited_for) {
            return self.below.flush(pe, done);
        }
        let both = AllParts::new(done);
        self.below.flush(pe, both.part());
        self.when_over(pe, both.part(), |line| Some(line.given()));
    }

    fn flush_all(&self, done: Completion) {
        let all = AllParts::new(done);
        let pes: Vec<usize> = {
            let lines = lock(&self.lines);
            lines.iter().filter(|(_, line)| line.is_waited_for()).map(|(&pe, _)| pe).collect()
        };
        for pe in pes {
            self.when_over(pe, all.part(), |line| Some(line.given()));
        }
        self.below.flush_all(all.part());
    }

    fn end(&self) {
        self.closed.store(true, Ordering::Release);
        self.lost(None, &|| Error::Finalized { call: "net" });
    }

    fn poll(&self) -> bool {
        // Relaxed: a hint. Somebody else polls the device too.
        let served = self.serving.load(Ordering::Relaxed) > 0 && self.owner.device.poll();
        self.below.poll() || served
    }

    /// `pe` has answered a request.
    fn answered(self: &Arc<Self>, pe: usize, [kind, number, value, ..]: Words, bytes: &[u8]) {
        let Some(awaited) = lock(&self.lines).get_mut(&pe).and_then(|line| line.answered(number)) else {
            return;
        };
        let failed = || Error::Device { what: format!("on PE {pe}: {}", String::from_utf8_lossy(bytes)) };
        let odd =
            || Error::bootstrap("net", format!("PE {pe} has given another answer than it was asked for"));
        let mut spoilt = None;
        match (kind, awaited) {
            (OVER, Awaited::Nothing) => {}
            (BYTES, Awaited::Bytes { to, len, got }) if bytes.len() == len => {
                // SAFETY: `got` was not told, so that whoever made the request keeps room for `len` bytes.
                unsafe { copy(to.get(), bytes.as_ptr(), len) };
                drop(got);
            }
            (VALUE, Awaited::Value(done)) => complete(done, Ok(value)),
            (kind, awaited) => {
                let error = if kind == FAILED { failed() } else { odd() };
                spoilt = awaited.fail(error);
            }
        }
        let over = lock(&self.lines).get_mut(&pe).map(|line| line.over(number, spoilt));
        for (done, outcome) in over.unwrap_or_default() {
            complete(done, outcome);
        }
        self.depart(pe);
    }
}

impl Listener for Core {
    fn notified(self: Arc<Self>, from: usize, words: Words, bytes: Vec<u8>) {
        match words[0] {
            BATCH | PUT | GET | FETCH => {
                let taken = lock(&self.desks).entry(from).or_default().take_in(words, bytes);
                match (taken, self.owner.executor.upgrade()) {
                    (Ok(()), _) => self.serve(from),
                    (Err(error), Some(executor)) => {
                        executor.fail(Failure::PeLost { pe: from, how: error.to_string() });
                    }
                    (Err(_), None) => {}
                }
            }
            _ => self.answered(from, words, &bytes),
        }
    }

    fn lost(&self, pe: Option<usize>, why: &dyn Fn() -> Error) {
        let ended: Vec<Ended> = {
            let mut lines = lock(&self.lines);
            if let Some(pe) = pe {
                lines.entry(pe).or_default();
            }
            let lost = lines.iter_mut().filter(|(at, _)| pe.is_none_or(|pe| pe == **at));
            lost.map(|(_, line)| line.fail(why())).collect()
        };
        ended.into_iter().for_each(|ended| ended.tell(why));
    }
}

/// Whether a batch has operations on device memory, and whether it has others.
fn kinds(batch: &Batch) -> Result<[bool; 2]> {
    let (mut kinds, mut words) = ([false; 2], batch.words());
    while !words.is_empty() {
        let (place, _, len) = first_entry(words)?;
        kinds[usize::from(!place.on_device())] = true;
        words = &words[len..];
    }
    Ok(kinds)
}

/// Cuts a batch into some that are short. Where operations on the host are among them, those after the first come after
/// everything before.
fn cut(batch: Batch, on_host: bool) -> Result<Vec<Request>> {
    if batch.bytes() <= 2 * PART {
        return Ok(vec![Request::Batch { batch, after: false }]);
    }
    let (mut parts, mut part, mut words) = (Vec::new(), Batch::default(), batch.words());
    while !words.is_empty() {
        let (place, entry, len) = first_entry(words)?;
        let all = match entry {
            Entry::Put(bytes) => bytes,
            Entry::Update(..) => 1,
        };
        for at in (0..all).step_by(PART) {
            if part.bytes() >= PART {
                parts.push(std::mem::take(&mut part));
            }
            match entry {
                Entry::Put(bytes) => {
                    let to = Spot { pe: 0, segment: place.segment, offset: place.offset + at };
                    let from = words[2..].as_ptr().cast::<u8>().wrapping_add(at);
                    // SAFETY: `first_entry` has seen that the entry has as many bytes.
                    unsafe { part.put_from(to, from, PART.min(bytes - at)) };
                }
                Entry::Update(width, operation) => {
                    part.update(
                        Spot { pe: 0, segment: place.segment, offset: place.offset },
                        width,
                        operation,
                    );
                }
            }
        }
        words = &words[len..];
    }
    parts.push(part);
    let request = |(i, batch)| Request::Batch { batch, after: on_host && i > 0 };
    Ok(parts.into_iter().enumerate().map(request).collect())
}

impl Source for Staged {
    fn poll(&self) -> bool {
        self.0.poll()
    }

    fn wants_polling(&self) -> bool {
        self.0.below.wants_polling()
    }

    fn rest(&self) {
        self.0.below.rest();
    }

    fn is_pending(&self) -> bool {
        true
    }
}

// SAFETY: on host memory, operations are those of the net below. On device memory, `Request`s hold what is told when they are over,
// and name the bytes that the caller keeps until then.
unsafe impl Net for Staged {
    fn eager_limit(&self) -> usize {
        self.0.below.eager_limit()
    }

    unsafe fn put_eager(&self, to: Spot, from: *const u8, len: usize) -> Result<()> {
        if to.segment != SegmentId::Gpu {
            // SAFETY: passed on to the caller.
            return unsafe { self.0.below.put_eager(to, from, len) };
        }
        for at in (0..len).step_by(PART) {
            let part = PART.min(len - at);
            let mut batch = Batch::with_capacity(part + 32);
            // SAFETY: the caller's `from` is readable.
            unsafe { batch.put_from(Spot { offset: to.offset + at, ..to }, from.wrapping_add(at), part) };
            self.0.write(to.pe, batch, false)?;
        }
        Ok(())
    }

    unsafe fn put(&self, to: Spot, from: *const u8, len: usize, done: Completion) {
        if to.segment != SegmentId::Gpu {
            // SAFETY: passed on to the caller.
            return unsafe { self.0.below.put(to, from, len, done) };
        }
        let from = Address(from.cast_mut());
        self.0.transfer(to, len, done, |at, len, free| {
            let from = Address(from.get().wrapping_add(at));
            Request::Put { offset: to.offset + at, from, len, free }
        });
    }

    unsafe fn put_signal(
        &self,
        to: Spot,
        from: *const u8,
        len: usize,
        at: Spot,
        update: Signal,
        done: Completion,
    ) -> Option<Completion> {
        if to.segment == SegmentId::Gpu || at.segment == SegmentId::Gpu {
            return Some(done);
        }
        // SAFETY: passed on to the caller.
        unsafe { self.0.below.put_signal(to, from, len, at, update, done) }
    }

    unsafe fn get(&self, from: Spot, to: *mut u8, len: usize, done: Completion) {
        let to = Address(to);
        if from.segment != SegmentId::Gpu {
            let below = Arc::clone(&self.0.below);
            return self.0.after_batches(from.pe, move |before| match before {
                // SAFETY: passed on to the caller.
                Ok(()) => unsafe { below.get(from, to.get(), len, done) },
                Err(error) => complete(done, Err(error)),
            });
        }
        self.0.transfer(from, len, done, |at, len, got| {
            let to = Address(to.get().wrapping_add(at));
            Request::Get { offset: from.offset + at, to, len, got }
        });
    }

    unsafe fn get_packed(&self, from: Spot, blocks: Shape, to: *mut u8, done: Completion) {
        let to = Address(to);
        if from.segment != SegmentId::Gpu {
            let below = Arc::clone(&self.0.below);
            return self.0.after_batches(from.pe, move |before| match before {
                // SAFETY: passed on to the caller.
                Ok(()) => unsafe { below.get_packed(from, blocks, to.get(), done) },
                Err(error) => complete(done, Err(error)),
            });
        }
        // SAFETY: passed on to the caller.
        unsafe { get_each(self, from, blocks, to.get(), done) }
    }

    fn update(&self, at: Spot, width: Width, operation: Atomic<u64>) -> Result<()> {
        if at.segment != SegmentId::Gpu {
            return self.0.below.update(at, width, operation);
        }
        let mut batch = Batch::with_capacity(size_of::<[u64; 2]>());
        batch.update(at, width, operation);
        self.0.write(at.pe, batch, false)
    }

    fn fetch(&self, at: Spot, width: Width, operation: Atomic<u64>, done: Completion<u64>) {
        if at.segment != SegmentId::Gpu {
            let below = Arc::clone(&self.0.below);
            return self.0.after_batches(at.pe, move |before| match before {
                Ok(()) => below.fetch(at, width, operation, done),
                Err(error) => complete(done, Err(error)),
            });
        }
        let mut done = Some(done);
        let question = question(at, width, operation);
        let added = self.0.on_line(at.pe, |line| {
            if let Some(done) = done.take() {
                line.add(Request::Fetch { question, done });
            }
        });
        match (added, done) {
            (Err(error), Some(done)) => complete(done, Err(error)),
            _ => self.0.depart(at.pe),
        }
    }

    fn apply(&self, pe: usize, batch: Batch) -> Result<()> {
        match kinds(&batch)? {
            [false, _] => self.0.below.apply(pe, batch),
            [true, on_host] => self.0.write(pe, batch, on_host),
        }
    }

    fn gather(&self, pe: usize, room: usize, add: &mut dyn FnMut(&mut Batch)) -> Result<()> {
        let mut batch = Batch::default();
        add(&mut batch);
        match kinds(&batch)? {
            // Lines gather by themselves.
            [true, on_host] => self.0.write(pe, batch, on_host),
            [false, _] => self.0.below.gather(pe, room, &mut |all| all.append(std::mem::take(&mut batch))),
        }
    }

    fn send_gathered(&self) {
        self.0.below.send_gathered();
    }

    fn flush(&self, pe: usize, done: Completion) {
        self.0.flush(pe, done);
    }

    fn flush_all(&self, done: Completion) {
        self.0.flush_all(done);
    }

    unsafe fn send(&self, pe: usize, tag: u64, from: *const u8, len: usize, done: Completion) {
        // SAFETY: passed on to the caller.
        unsafe { self.0.below.send(pe, tag, from, len, done) }
    }

    fn send_short(&self, pe: usize, tag: u64, bytes: &[u8]) -> Option<Result<()>> {
        self.0.below.send_short(pe, tag, bytes)
    }

    unsafe fn receive(&self, pe: usize, tag: u64, to: *mut u8, len: usize, done: Completion<usize>) {
        // SAFETY: passed on to the caller.
        unsafe { self.0.below.receive(pe, tag, to, len, done) }
    }

    unsafe fn notify(&self, pe: usize, words: Words, from: *const u8, len: usize, done: Completion) {
        // SAFETY: passed on to the caller.
        unsafe { self.0.below.notify(pe, words, from, len, done) }
    }

    fn listen(&self, listener: Weak<dyn Listener>) {
        self.0.below.listen(listener);
    }

    fn close(&self) {
        // It serves others for as long as they may want something.
        self.0.below.close();
        self.0.end();
    }

    fn abandon(&self) {
        self.0.below.abandon();
        self.0.end();
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        self.abandon();
    }
}

impl fmt::Debug for Staged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}, and {:?} by way of the host", self.0.below, self.0.owner.device)
    }
}
