//! What every way to other hosts must do, as one test that any of them can be given.

mod engine;
mod messages;
mod operations;
mod way;

use std::{
    cell::Cell,
    fmt::Debug,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

pub use engine::check_by_the_engine;
pub use way::Reach;

use super::{
    Batch, Completion, Net,
    outcome::{put, update},
    start,
};
use oxshmem_base::{
    Result,
    sync::{Mutex, lock},
};
use oxshmem_memory::{
    Segment, copy,
    op::{Blocks, Op, Spot},
    word::{Atomic, AtomicWord, Signal, Width},
};
use oxshmem_progress::{completion::any_value, executor::Executor};

/// Bytes of memory that each PE must have.
pub const MEMORY: usize = 4 << 20;

/// How long anything may take.
const LIMIT: Duration = Duration::from_secs(60);

/// A PE that takes part.
#[derive(Debug)]
pub struct End {
    /// Its number in the world.
    pub pe: usize,
    /// Its way to the others.
    pub net: Arc<dyn Net>,
    /// The memory that is written and read, of [`MEMORY`] bytes at least, zeroed, mapped by this
    /// process.
    pub memory: Segment,
    /// Where in it the PE's memory is.
    pub block: usize,
    /// What its net is a source of.
    pub engine: Arc<Executor>,
}

/// What the suite runs over.
pub struct Job<'a> {
    /// Two PEs or more, each of which reaches all others by its net.
    pub ends: &'a [End],
    /// Makes progress on all nets that need it. Called from several threads.
    pub progress: &'a (dyn Fn() + Sync),
    /// Whether the nets' atomic operations and the processor's are atomic towards each other.
    pub cpu_atomics: bool,
}

impl Debug for Job<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.ends.fmt(f)
    }
}

/// Runs the suite and closes the nets. Panics at the first promise that is broken.
pub fn check(job: &Job<'_>) {
    let suite = Suite { job, tally: Arc::default() };
    assert!(job.ends.len() >= 2);
    for (i, end) in job.ends.iter().enumerate() {
        assert!(end.memory.len() >= MEMORY);
        let next = &job.ends[(i + 1) % job.ends.len()];
        Reach { way: &*end.net, at: &|offset| next.spot(offset), progress: &|| (job.progress)() }.check();
        suite.bytes_arrive_and_come_back(end, next);
        suite.a_read_sees_what_its_pe_has_written_before(end, next);
        suite.a_signal_comes_after_the_bytes_before_it(end, next);
        suite.updates_change_what_is_there(end, next);
        suite.batches_are_applied_in_order(end, next);
        suite.a_flush_makes_visible_what_was_started(end, next);
        suite.many_operations_go_on_together(end, next);
        suite.messages_match_by_sender_and_tag(end, next);
        suite.completions_do_not_nest(end, next);
        suite.blocks_arrive_packed(end, next);
    }
    suite.a_flush_of_all_reaches_every_pe();
    let [a, b, ..] = job.ends else { unreachable!("there are two") };
    suite.what_is_flushed_comes_before_what_follows(a, b);
    suite.concurrent_adds_are_not_lost();
    suite.messages_cross_each_other();
    suite.nothing_goes_on_after_close();
    suite.every_completion_ran_once();
}

struct Suite<'a> {
    job: &'a Job<'a>,
    tally: Arc<Tally>,
}

/// How many operations were given a `done`, and what became of it.
#[derive(Debug, Default)]
struct Tally {
    started: AtomicUsize,
    ran: AtomicUsize,
    dropped: AtomicUsize,
}

/// Notices that a `done` is dropped without having run.
struct Watch {
    tally: Arc<Tally>,
    ran: bool,
}

impl Watch {
    fn note_run(&mut self) {
        self.ran = true;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let count = if self.ran { &self.tally.ran } else { &self.tally.dropped };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

/// What an operation will bring.
struct Awaited<T>(Arc<Mutex<Option<T>>>);

impl<T> Awaited<T> {
    fn is_there(&self) -> bool {
        lock(&self.0).is_some()
    }
}

impl End {
    fn spot(&self, offset: usize) -> Spot {
        Spot { pe: self.pe, segment: self.memory.id(), offset }
    }

    fn address(&self, offset: usize, len: usize) -> *mut u8 {
        match self.memory.address(self.block, offset, len) {
            Some(address) => address,
            None => panic!("{len} bytes at {offset} are beyond the suite's memory"),
        }
    }

    /// An atomic operation by the processor.
    fn cpu<W: AtomicWord>(&self, offset: usize, operation: Atomic<W>) -> W {
        assert!(offset.is_multiple_of(size_of::<W>()));
        // SAFETY: `address` checks the bounds, the line above the alignment; the memory is mapped.
        unsafe { W::apply(self.address(offset, size_of::<W>()), operation) }
    }

    fn load(&self, offset: usize, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        // SAFETY: `address` checks the bounds of one side, the other is as long.
        unsafe { copy::copy(bytes.as_mut_ptr(), self.address(offset, len), len) };
        bytes
    }

    fn fill(&self, offset: usize, len: usize, byte: u8) {
        // SAFETY: `address` checks the bounds.
        unsafe { copy::fill(self.address(offset, len), byte, len) };
    }
}

impl Suite<'_> {
    /// A `done` that keeps `buffer` until it runs and then hands it over with the result.
    fn awaited<T: Send + 'static, B: Send + 'static>(
        &self,
        buffer: B,
    ) -> (Awaited<(Result<T>, B)>, Completion<T>) {
        self.tally.started.fetch_add(1, Ordering::Relaxed);
        let mut watch = Watch { tally: Arc::clone(&self.tally), ran: false };
        let slot = Arc::new(Mutex::new(None));
        let outcome = Arc::clone(&slot);
        let done = move |result| {
            watch.note_run();
            *lock(&outcome) = Some((result, buffer));
        };
        (Awaited(slot), Box::new(done))
    }

    fn until(&self, what: &str, mut ready: impl FnMut() -> bool) {
        let start = Instant::now();
        while !ready() {
            (self.job.progress)();
            assert!(start.elapsed() < LIMIT, "{what} does not come");
            std::thread::yield_now();
        }
    }

    fn wait<T>(&self, what: &str, awaited: &Awaited<T>) -> T {
        let mut outcome = None;
        self.until(what, || {
            outcome = lock(&awaited.0).take();
            outcome.is_some()
        });
        match outcome {
            Some(outcome) => outcome,
            None => unreachable!("`until` has seen it"),
        }
    }

    /// The outcome, which is to be no error, and the buffer.
    fn succeed<T, B>(&self, what: &str, awaited: &Awaited<(Result<T>, B)>) -> (T, B) {
        match self.wait(what, awaited) {
            (Ok(value), buffer) => (value, buffer),
            (Err(error), _) => panic!("{what}: {error}"),
        }
    }

    fn put(&self, from: &End, to: Spot, bytes: Vec<u8>) -> Awaited<(Result<u64>, Vec<u8>)> {
        let (address, len) = (bytes.as_ptr(), bytes.len());
        let (awaited, done) = self.awaited(bytes);
        // SAFETY: `done` keeps the bytes until it runs.
        unsafe { from.net.start(Op::put(to, address, len), done) };
        awaited
    }

    fn get(&self, to: &End, from: Spot, len: usize) -> Awaited<(Result<u64>, Vec<u8>)> {
        let mut bytes = vec![0; len];
        let address = bytes.as_mut_ptr();
        let (awaited, done) = self.awaited(bytes);
        // SAFETY: `done` keeps the buffer until it runs.
        unsafe { to.net.start(Op::get(from, address, len), done) };
        awaited
    }

    fn send(&self, from: &End, pe: usize, tag: u64, bytes: Vec<u8>) -> Awaited<(Result<()>, Vec<u8>)> {
        let (address, len) = (bytes.as_ptr(), bytes.len());
        // Every other one at once, where that is possible.
        let is_even = self.tally.started.load(Ordering::Relaxed).is_multiple_of(2);
        let sent = is_even.then(|| from.net.send_short(pe, tag, &bytes)).flatten();
        let (awaited, done) = self.awaited(bytes);
        match sent {
            Some(sent) => done(sent),
            // SAFETY: `done` keeps the bytes until it runs.
            None => unsafe { from.net.send(pe, tag, address, len, done) },
        }
        awaited
    }

    fn receive(&self, to: &End, pe: usize, tag: u64, room: usize) -> Awaited<(Result<usize>, Vec<u8>)> {
        let mut bytes = vec![0; room];
        let address = bytes.as_mut_ptr();
        let (awaited, done) = self.awaited(bytes);
        // SAFETY: `done` keeps the buffer until it runs.
        unsafe { to.net.receive(pe, tag, address, room, done) };
        awaited
    }

    /// The bytes of a message that is to come.
    fn message(&self, what: &str, receive: &Awaited<(Result<usize>, Vec<u8>)>) -> Vec<u8> {
        let (len, mut bytes) = self.succeed(what, receive);
        bytes.truncate(len);
        bytes
    }

    fn fetch(&self, from: &End, at: Spot, width: Width, operation: Atomic<u64>) -> u64 {
        let (awaited, done) = self.awaited(());
        // SAFETY: the word is in bounds and aligned.
        unsafe { from.net.start(Op::atomic(at, operation, width), done) };
        self.succeed("what was fetched", &awaited).0
    }

    fn flush(&self, from: &End, pe: usize) {
        let (awaited, done) = self.awaited(());
        from.net.flush(Some(pe), done);
        self.succeed("the end of a flush", &awaited);
    }

    /// Each completion starts the next operation, in chains for which the stack has no room where
    /// that is ready at once.
    fn completions_do_not_nest(&self, a: &End, b: &End) {
        const N: usize = 300;
        self.chain(a, b, 100_000, |net, at, next| net.flush(Some(at.pe), next));
        self.chain(a, b, N, |net, _, next| net.flush(None, next));
        self.chain(a, b, N, |net, at, next| {
            succeeds("an update", update(net, at, Atomic::Add(1), Width::Eight));
            net.flush(Some(at.pe), next);
        });
        self.chain(a, b, N, |net, at, next| {
            // SAFETY: the word is in bounds and aligned.
            unsafe { net.start(Op::atomic(at, Atomic::Add(1), Width::Eight), any_value(next)) };
        });
        self.chain(a, b, N, |net, at, next| {
            // SAFETY: what is put is there for ever.
            unsafe { net.start(Op::put(at, CHAINED.as_ptr(), CHAINED.len()), any_value(next)) }
        });
        self.chain(a, b, N, |net, at, next| {
            // SAFETY: what is sent is there for ever.
            unsafe { net.send(at.pe, 21, CHAINED.as_ptr(), CHAINED.len(), next) }
        });
        for _ in 0..N {
            let receive = self.receive(b, a.pe, 21, CHAINED.len());
            assert_eq!(self.message("a message of a chain", &receive), CHAINED);
        }
        self.flush(a, b.pe);
    }

    fn chain(&self, a: &End, b: &End, left: usize, start: Start) {
        let (awaited, done) = self.awaited(());
        go_on(Chain { net: Arc::clone(&a.net), at: b.spot(4096), start, left, done });
        self.succeed("the end of a chain", &awaited);
    }

    fn nothing_goes_on_after_close(&self) {
        let [a, b, ..] = self.job.ends else { return };
        let pending = self.receive(a, b.pe, 1000, 8);
        assert!(!pending.is_there());
        a.net.close();
        a.net.close();
        assert!(self.wait("a receive that never comes", &pending).0.is_err());
        assert!(put(&*a.net, b.spot(0), &[1]).is_err());
        assert!(update(&*a.net, b.spot(0), Atomic::Set(1), Width::Eight).is_err());
        assert!(a.net.apply(b.pe, Batch::default()).is_err());
        assert!(self.wait("a put after close", &self.put(a, b.spot(0), vec![1])).0.is_err());
        assert!(self.wait("a get after close", &self.get(a, b.spot(0), 1)).0.is_err());
        assert!(self.wait("a send after close", &self.send(a, b.pe, 1, vec![1])).0.is_err());
        assert!(self.wait("a receive after close", &self.receive(a, b.pe, 1, 1)).0.is_err());
        let (fetch, done) = self.awaited(());
        // SAFETY: as above.
        unsafe { a.net.start(Op::atomic(b.spot(0), Atomic::Add(1), Width::Eight), done) };
        assert!(self.wait("a fetch after close", &fetch).0.is_err());
        let (flush, done) = self.awaited(());
        a.net.flush(Some(b.pe), done);
        assert!(self.wait("a flush after close", &flush).0.is_err());
        let (flush, done) = self.awaited(());
        a.net.flush(None, done);
        assert!(self.wait("a flush of all after close", &flush).0.is_err());
        self.job.ends.iter().for_each(|end| end.net.close());
    }

    fn every_completion_ran_once(&self) {
        let Tally { started, ran, dropped } = &*self.tally;
        let started = started.load(Ordering::Relaxed);
        // The last completion may be running just now.
        self.until("the last answer", || ran.load(Ordering::Relaxed) == started);
        assert_eq!(dropped.load(Ordering::Relaxed), 0, "operations that were given up without an answer");
    }
}

/// What is put and sent in chains.
static CHAINED: [u8; 64] = [7; 64];

/// Operations, each of which is started by the completion of the one before.
struct Chain {
    net: Arc<dyn Net>,
    at: Spot,
    start: Start,
    left: usize,
    done: Completion,
}

/// Starts the operation, and what it is to complete.
type Start = fn(&dyn Net, Spot, Completion);

thread_local! {
    /// Whether this thread runs a completion of a chain.
    static IN_COMPLETION: Cell<bool> = const { Cell::new(false) };
}

fn go_on(mut chain: Chain) {
    if chain.left == 0 {
        return (chain.done)(Ok(()));
    }
    chain.left -= 1;
    let (net, at, start) = (Arc::clone(&chain.net), chain.at, chain.start);
    let next = Box::new(move |outcome| {
        succeeds("an operation of a chain", outcome);
        assert!(!IN_COMPLETION.replace(true), "a completion ran inside of another");
        go_on(chain);
        IN_COMPLETION.set(false);
    });
    start(&*net, at, next);
}

fn succeeds(what: &str, result: Result<()>) {
    if let Err(error) = result {
        panic!("{what}: {error}");
    }
}
