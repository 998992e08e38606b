//! Device memory of other hosts, which no net reaches: the PE that has it does what others ask for.
//!
//! What is started on host memory is left to the net below. For the rest, this PE is the
//! `client` of the PE that has the memory. It sends requests to it, as notifications; that
//! PE is the `server`, whose device does what they ask for, by way of buffers on the host:
//!
//! | request | with | answer |
//! |---|---|---|
//! | batch | operations, put and update, in their order | over |
//! | put | its head, and a part of some bytes | over |
//! | pull | where a long part is in the client's memory, from where the server gets it | over |
//! | get | its head | a part of some bytes, or where a long one is ready, which the client gets |
//! | atomic operation | its head | the value before |
//!
//! Long parts are in [`pieces`] of symmetric memory, which the net below reaches and which devices
//! copy to and from by themselves. A PE has some for what it serves and others for its own
//! transfers, so that PEs that transfer to each other do not wait for each other's.
//!
//! A client numbers its requests, of which `client::WINDOW` bytes at most may be under way: that
//! is how much room the server has for each client, and a request needs nothing there but that, so
//! that two PEs that put to each other cannot stop each other. The server takes them up in the
//! order of their numbers, whichever came first; its device keeps that order, and nothing but pulls
//! is taken up while a part is being pulled, so that a PE that reads sees what it has written
//! before. Answers may come in any order. A flush waits for the
//! answers to all requests before it.

mod client;
mod net;
pub mod pieces;
mod server;
#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    ptr,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
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
    op::{Address, Op, Spot, Verb},
};
use oxshmem_net::{Batch, Listener, Net, Words, batch::encode, unless_lost};
use oxshmem_progress::{
    completion::{self, AllParts, Completion, complete, no_value},
    executor::Executor,
    failure::Failure,
};

pub(crate) use self::pieces::ROOM;
pub use self::pieces::{Piece, Pieces};
use self::{
    client::{Awaited, Client, Done, Ended, Leaving, Request},
    net::Staged,
    pieces::offset_in,
    server::Server,
};
use crate::device::AnyDevice;

// The kinds of notifications, in the first word; the second is the request's number.
const BATCH: u64 = 1;
const OP: u64 = 2;
const PULL: u64 = 3;
const OVER: u64 = 4;
const BYTES: u64 = 5;
const VALUE: u64 = 6;
const FAILED: u64 = 7;
const READY: u64 = 8;
/// The client has what was ready.
const TAKEN: u64 = 9;

/// Copied bytes that wait for their turn. A thread that adds more first makes progress, for so
/// long.
const MOST_COPIED: usize = 4 << 20;
const PAUSE: Duration = Duration::from_millis(1);

/// What a PE has that others use.
pub(crate) struct Owner {
    device: AnyDevice,
    block: usize,
    /// Host memory, for operations that are in a batch with some on device memory.
    segments: [Segment; 2],
    /// For what it serves.
    pieces: Arc<Pieces>,
    executor: Weak<Executor>,
}

impl Owner {
    /// The PE in `block`, with what batches reach of its host memory, in the first segment of which
    /// there is room for pieces at an offset.
    pub(crate) fn new(
        device: &AnyDevice,
        block: usize,
        segments: [Segment; 2],
        pieces: usize,
        executor: &Arc<Executor>,
    ) -> Self {
        let pieces = Pieces::new(&segments[0], block, pieces);
        Self { device: Arc::clone(device), block, segments, pieces, executor: Arc::downgrade(executor) }
    }

    /// Where `len` bytes are in this PE's symmetric memory, if they are there.
    fn offset_of(&self, at: Address, len: usize) -> Option<usize> {
        offset_in(&self.segments[0], self.block, at, len)
    }

    /// The place of `len` bytes in the symmetric memory of `pe`, which that has named.
    fn spot(&self, pe: usize, offset: u64, len: usize) -> Option<Spot> {
        let offset = usize::try_from(offset).ok()?;
        let inside = offset.checked_add(len).is_some_and(|end| end <= self.segments[0].len());
        inside.then_some(Spot { pe, segment: SegmentId::Heap, offset })
    }

    /// Something was written to the PE's device memory, which wakes what waits for it.
    fn ring_device(&self) {
        if let Some(executor) = self.executor.upgrade() {
            executor.device_words_changed();
        }
    }
}

/// A net over `below` that reaches device memory too. Nothing may be started on it before all PEs
/// have theirs.
pub(crate) fn over(below: Arc<dyn Net>, owner: Owner) -> Arc<dyn Net> {
    Arc::new(Staged(listening(below, owner)))
}

/// What such a net is made of.
fn listening(below: Arc<dyn Net>, owner: Owner) -> Arc<Core> {
    let core = Arc::new(Core {
        below,
        owner,
        clients: Mutex::default(),
        servers: Mutex::default(),
        closed: AtomicBool::new(false),
    });
    let listener: Weak<dyn Listener> = Arc::downgrade(&core) as _;
    core.below.listen(listener);
    core
}

struct Core {
    below: Arc<dyn Net>,
    owner: Owner,
    /// This PE as the client of each PE that it has asked for something.
    clients: Mutex<HashMap<usize, Client>>,
    /// This PE as the server of each PE that has asked it for something.
    servers: Mutex<HashMap<usize, Server>>,
    closed: AtomicBool,
}

impl Core {
    /// Does something with the client of a PE, if that can be reached.
    fn on_client<T>(&self, pe: usize, act: impl FnOnce(&mut Client) -> T) -> Result<T> {
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::Finalized { call: "net" });
        }
        let mut clients = lock(&self.clients);
        let client = clients.entry(pe).or_default();
        match client.failed() {
            None => Ok(act(client)),
            Some(error) => Err(error.clone()),
        }
    }

    /// Sends what may leave for `pe`, unless another thread, or this one further up, is about to.
    fn depart(self: &Arc<Self>, pe: usize) {
        loop {
            let leaving = lock(&self.clients).get_mut(&pe).and_then(Client::leave);
            let Some((number, leaving)) = leaving else { return };
            self.send(pe, number, leaving);
            if let Some(client) = lock(&self.clients).get_mut(&pe) {
                client.left();
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
            Leaving::Op { op, pulled: Some(there), .. } => {
                let [what, len, ..] = encode(&op);
                self.notify_words(pe, [PULL, number, what, len, there as u64], sent);
            }
            Leaving::Op { op, free, .. } => {
                let [what, a, b, _] = encode(&op);
                let (from, len) = match op.verb {
                    Verb::Put(from) => (from.get().cast_const(), op.blocks.len),
                    Verb::Get(_) | Verb::Atomic(..) => (ptr::null(), 0),
                };
                let done = Box::new(move |outcome: Result<()>| {
                    sent(&outcome);
                    if let Some(free) = free {
                        free.complete(outcome.map(|()| 0));
                    }
                });
                // SAFETY: the maker of the request keeps `from` until `free` completes.
                unsafe { self.below.notify(pe, [OP, number, what, a, b], from, len, done) };
            }
        }
    }

    fn notify_words(&self, pe: usize, words: Words, sent: impl FnOnce(&Result<()>) + Send + 'static) {
        let done = Box::new(move |outcome| sent(&outcome));
        // SAFETY: there are no bytes.
        unsafe { self.below.notify(pe, words, ptr::null(), 0, done) };
    }

    /// Adds operations for `pe`, some of which are on device memory, and some on host memory if
    /// `on_host`.
    fn write(self: &Arc<Self>, pe: usize, batch: Batch, on_host: bool) -> Result<()> {
        let parts = Request::cut(batch, on_host)?;
        let copied = self.on_client(pe, |client| {
            parts.into_iter().for_each(|part| client.add(part));
            if on_host {
                client.mix();
            }
            client.copied()
        })?;
        self.depart(pe);
        // Progress inside of a completion would run others inside of it.
        if copied > MOST_COPIED && !completion::is_busy() {
            self.keep_up(pe);
        }
        Ok(())
    }

    /// Makes progress for a moment: this slows a thread down that writes faster than the other PE
    /// takes it.
    #[cold]
    fn keep_up(&self, pe: usize) {
        let until = Instant::now() + PAUSE;
        while self.on_client(pe, |client| client.copied() > MOST_COPIED).unwrap_or(false)
            && Instant::now() < until
        {
            if !self.poll() {
                thread::yield_now();
            }
        }
    }

    /// Adds a transfer in parts of `step` bytes, or an atomic operation. The server pulls a put
    /// from that offset of this PE's memory, if it is given.
    fn add(self: &Arc<Self>, op: Op, step: usize, pulled: Option<usize>, done: Completion<u64>) {
        let pe = op.there.pe;
        let mut requests = match op.verb {
            Verb::Atomic(..) => vec![Request::Op { op, pulled, done: Done::Value(done) }],
            Verb::Put(_) | Verb::Get(_) => {
                let all = AllParts::new(no_value(done));
                let part = |(i, op)| {
                    let pulled = pulled.map(|there| there + i * step);
                    Request::Op { op, pulled, done: Done::Part(Arc::clone(&all)) }
                };
                op.pieces(step).enumerate().map(part).collect()
            }
        };
        match self.on_client(pe, |client| requests.drain(..).for_each(|request| client.add(request))) {
            Ok(()) => self.depart(pe),
            Err(error) => requests.into_iter().for_each(|request| request.fail(error.clone())),
        }
    }

    /// Runs `done` when all requests to `pe` up to a number are over; `upto` says which, and none
    /// if there is nothing to wait for.
    fn when_over(&self, pe: usize, done: Completion, upto: impl FnOnce(&Client) -> Option<u64>) {
        let over = {
            let mut clients = lock(&self.clients);
            match clients.get_mut(&pe).and_then(|client| Some((upto(client)?, client))) {
                Some((upto, client)) => client.wait(upto, done),
                None => Some((done, Ok(()))),
            }
        };
        if let Some((done, outcome)) = over {
            complete(done, outcome);
        }
    }

    /// Has `then` happen when host memory of `pe` is as the batches before leave it.
    fn after_batches(&self, pe: usize, then: impl FnOnce(Result<()>) + Send + 'static) {
        self.when_over(pe, Box::new(then), Client::mixed);
    }

    fn flush(&self, pe: usize, done: Completion) {
        if !lock(&self.clients).get(&pe).is_some_and(Client::is_waited_for) {
            return self.below.flush(Some(pe), done);
        }
        let both = AllParts::new(done);
        self.below.flush(Some(pe), both.part());
        self.when_over(pe, both.part(), |client| Some(client.given()));
    }

    fn flush_all(&self, done: Completion) {
        let all = AllParts::new(done);
        let pes: Vec<usize> = {
            let clients = lock(&self.clients);
            clients.iter().filter(|(_, client)| client.is_waited_for()).map(|(&pe, _)| pe).collect()
        };
        for pe in pes {
            self.when_over(pe, unless_lost(all.part()), |client| Some(client.given()));
        }
        self.below.flush(None, all.part());
    }

    fn end(&self) {
        self.closed.store(true, Ordering::Release);
        self.lost(None, &|| Error::Finalized { call: "net" });
    }

    fn poll(&self) -> bool {
        self.below.poll()
    }

    /// `pe` has answered a request.
    fn answered(self: &Arc<Self>, pe: usize, [kind, number, value, ..]: Words, bytes: &[u8]) {
        let Some(awaited) = lock(&self.clients).get_mut(&pe).and_then(|client| client.answered(number))
        else {
            return;
        };
        let failed = || Error::Device { what: format!("on PE {pe}: {}", String::from_utf8_lossy(bytes)) };
        let odd = || {
            Error::bootstrap(
                "net",
                format!(
                    "PE {pe} has answered something else than it was asked for: do all run the same build?"
                ),
            )
        };
        let mut spoilt = None;
        match (kind, awaited) {
            (OVER, Awaited::Nothing) => {}
            (OVER, Awaited::Op { op: Op { verb: Verb::Put(_), .. }, done }) => done.complete(Ok(0)),
            (READY, Awaited::Op { op: Op { verb: Verb::Get(to), blocks, .. }, done }) => {
                match self.owner.spot(pe, value, blocks.len) {
                    Some(from) => return self.take(number, Op::get(from, to, blocks.len), done),
                    None => done.complete(Err(odd())),
                }
            }
            (BYTES, Awaited::Op { op: Op { verb: Verb::Get(to), blocks, .. }, done })
                if bytes.len() == blocks.len =>
            {
                // SAFETY: `done` is not complete, so the maker of the request keeps room for as
                // many bytes.
                unsafe { copy(to.get(), bytes.as_ptr(), bytes.len()) };
                done.complete(Ok(0));
            }
            (VALUE, Awaited::Op { op: Op { verb: Verb::Atomic(..), .. }, done }) => done.complete(Ok(value)),
            (kind, awaited) => {
                let error = if kind == FAILED { failed() } else { odd() };
                spoilt = awaited.fail(error);
            }
        }
        self.end_request(pe, number, spoilt);
    }

    /// Gets what is ready in a piece of the server.
    fn take(self: &Arc<Self>, number: u64, get: Op, done: Done) {
        let (core, pe) = (Arc::downgrade(self), get.there.pe);
        let taken = move |taken: Result<u64>| {
            done.complete(taken);
            if let Some(core) = core.upgrade() {
                core.notify_words(pe, [TAKEN, number, 0, 0, 0], |_| {});
                core.end_request(pe, number, None);
            }
        };
        // SAFETY: `done` is not complete before, so the maker of the request keeps room for the
        // bytes.
        unsafe { self.below.start(get, Box::new(taken)) };
    }

    /// A request is over.
    fn end_request(self: &Arc<Self>, pe: usize, number: u64, spoilt: Option<Error>) {
        let over = lock(&self.clients).get_mut(&pe).map(|client| client.over(number, spoilt));
        for (done, outcome) in over.unwrap_or_default() {
            complete(done, outcome);
        }
        self.depart(pe);
    }
}

impl Listener for Core {
    fn notified(self: Arc<Self>, from: usize, words: Words, bytes: Vec<u8>) {
        match words[0] {
            BATCH | OP | PULL => {
                let taken = lock(&self.servers).entry(from).or_default().take_in(words, bytes);
                match (taken, self.owner.executor.upgrade()) {
                    (Ok(()), _) => self.serve(from),
                    (Err(error), Some(executor)) => {
                        executor.fail(Failure::PeLost { pe: from, how: error.to_string() });
                    }
                    (Err(_), None) => {}
                }
            }
            TAKEN => self.taken(from, words[1]),
            _ => self.answered(from, words, &bytes),
        }
    }

    fn lost(&self, pe: Option<usize>, why: &dyn Fn() -> Error) {
        let ended: Vec<Ended> = {
            let mut clients = lock(&self.clients);
            if let Some(pe) = pe {
                clients.entry(pe).or_default();
            }
            let lost = clients.iter_mut().filter(|(at, _)| pe.is_none_or(|pe| pe == **at));
            lost.map(|(_, client)| client.fail(why())).collect()
        };
        ended.into_iter().for_each(|ended| ended.tell(why));
        // Without the lock: pieces that it has may be waited for.
        let server = pe.and_then(|pe| lock(&self.servers).remove(&pe));
        drop(server);
    }
}
