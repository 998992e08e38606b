//! What every way to other hosts must do, as one test that any of them can be given.

use std::{
    cell::Cell,
    fmt::Debug,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use oxshmem_base::{
    Result,
    sync::{Mutex, lock},
};
use oxshmem_memory::{
    Segment, copy,
    word::{Atomic, AtomicWord, Signal, Width},
};

use super::{Batch, Completion, Net, Shape, Spot};

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
        suite.bytes_arrive_and_come_back(end, next);
        suite.who_reads_sees_what_it_has_written_before(end, next);
        suite.a_signal_comes_after_the_bytes_before_it(end, next);
        suite.atomics_return_what_was_there(end, next);
        suite.batches_are_applied_in_order(end, next);
        suite.a_flush_makes_visible_what_was_started(end, next);
        suite.many_operations_go_on_together(end, next);
        suite.messages_match_by_sender_and_tag(end, next);
        suite.completions_do_not_nest(end, next);
        suite.blocks_arrive_packed(end, next);
    }
    suite.a_flush_of_all_reaches_everybody();
    let [a, b, ..] = job.ends else { unreachable!("there are two") };
    suite.what_is_flushed_comes_before_what_follows(a, b);
    suite.concurrent_adds_are_not_lost();
    suite.messages_cross_each_other();
    suite.nothing_goes_on_after_close();
    suite.everything_was_told_once();
}

struct Suite<'a> {
    job: &'a Job<'a>,
    tally: Arc<Tally>,
}

/// How many operations were given a `done`, and what became of it.
#[derive(Debug, Default)]
struct Tally {
    started: AtomicUsize,
    told: AtomicUsize,
    dropped: AtomicUsize,
}

/// Notices that a `done` is dropped without having run.
struct Telling {
    tally: Arc<Tally>,
    told: bool,
}

impl Telling {
    fn tell(&mut self) {
        self.told = true;
    }
}

impl Drop for Telling {
    fn drop(&mut self) {
        let count = if self.told { &self.tally.told } else { &self.tally.dropped };
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
        let mut telling = Telling { tally: Arc::clone(&self.tally), told: false };
        let slot = Arc::new(Mutex::new(None));
        let outcome = Arc::clone(&slot);
        let done = move |result| {
            telling.tell();
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

    fn put(&self, from: &End, to: Spot, bytes: Vec<u8>) -> Awaited<(Result<()>, Vec<u8>)> {
        let (address, len) = (bytes.as_ptr(), bytes.len());
        let (awaited, done) = self.awaited(bytes);
        // SAFETY: `done` keeps the bytes until it runs.
        unsafe { from.net.put(to, address, len, done) };
        awaited
    }

    fn get(&self, to: &End, from: Spot, len: usize) -> Awaited<(Result<()>, Vec<u8>)> {
        let mut bytes = vec![0; len];
        let address = bytes.as_mut_ptr();
        let (awaited, done) = self.awaited(bytes);
        // SAFETY: `done` keeps the buffer until it runs.
        unsafe { to.net.get(from, address, len, done) };
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
        from.net.fetch(at, width, operation, done);
        self.succeed("what was fetched", &awaited).0
    }

    fn flush(&self, from: &End, pe: usize) {
        let (awaited, done) = self.awaited(());
        from.net.flush(pe, done);
        self.succeed("the end of a flush", &awaited);
    }

    fn bytes_arrive_and_come_back(&self, a: &End, b: &End) {
        const BASE: usize = 4096;
        for len in [0, 1, 3, 8, 17, 64, 1000, 4096, 8192, 8193, 60_000, 61_441, 1 << 20, 5 << 19] {
            for offset in [0, 1, 7, 64] {
                for eager in [false, true] {
                    if len > 1 << 20 && (eager || offset != 1) {
                        continue;
                    }
                    let sent: Vec<u8> =
                        (0..len).map(|i| (i * 31 + offset + usize::from(eager)) as u8).collect();
                    let to = b.spot(BASE + offset);
                    b.fill(BASE + offset - 1, len + 2, 0xee);
                    if eager {
                        let mut reused = sent.clone();
                        succeeds("an eager put", put_eager(a, to, &reused));
                        reused.fill(0xdd);
                    } else {
                        let put = self.put(a, to, sent.clone());
                        let (_, mut reused) = self.succeed("a put's buffer", &put);
                        reused.fill(0xdd);
                    }
                    self.flush(a, b.pe);
                    let what = format!("{len} bytes at {offset}, eager: {eager}");
                    assert!(b.load(BASE + offset, len) == sent, "{what}");
                    assert_eq!(b.load(BASE + offset - 1, 1), [0xee], "before {what}");
                    assert_eq!(b.load(BASE + offset + len, 1), [0xee], "behind {what}");
                    let (_, back) = self.succeed("a get", &self.get(a, to, len));
                    assert!(back == sent, "{what}, back");
                }
            }
        }
    }

    fn who_reads_sees_what_it_has_written_before(&self, a: &End, b: &End) {
        const BASE: usize = 8192;
        for round in 0..20_u8 {
            let longest = if round % 5 == 0 { 5 << 19 } else { 1 << 20 };
            for len in [8, 5000, 40_000, 70_000, longest] {
                let to = b.spot(BASE + 8 * usize::from(round % 2));
                b.fill(BASE, len + 8, 0xee);
                let put = if round % 3 == 0 {
                    let mut batch = Batch::with_capacity(len + 64);
                    // SAFETY: the vector is readable.
                    unsafe { batch.put_from(to, vec![round; len].as_ptr(), len) };
                    succeeds("a batch", a.net.apply(b.pe, batch));
                    None
                } else {
                    Some(self.put(a, to, vec![round; len]))
                };
                let got = self.get(a, to, len);
                let last = Spot { offset: to.offset + len - 8, ..to };
                let word = self.fetch(a, last, Width::Eight, Atomic::Swap(u64::MAX));
                let (_, got) = self.succeed("a get behind a put", &got);
                let what = format!("{len} bytes in round {round}");
                // The swap may come before the get.
                assert!(got[..len - 8].iter().all(|&byte| byte == round), "{what}");
                assert_eq!(word, u64::from_ne_bytes([round; 8]), "{what}");
                if let Some(put) = put {
                    self.succeed("a put's buffer", &put);
                }
                self.flush(a, b.pe);
            }
        }
    }

    fn a_signal_comes_after_the_bytes_before_it(&self, a: &End, b: &End) {
        const BASE: usize = 8192;
        let at = b.spot(256);
        b.cpu(at.offset, Atomic::Set(0_u64));
        let mut sum = 0;
        for round in 1..=30_u64 {
            let longest = if round % 10 == 0 { 5 << 19 } else { 1 << 20 };
            for len in [0, 100, 40_000, 70_000, longest] {
                let bytes = vec![round as u8; len];
                let from = bytes.as_ptr();
                let (awaited, done) = self.awaited(bytes);
                let update = if round % 2 == 0 { Signal::Set(sum + round) } else { Signal::Add(round) };
                // SAFETY: `done` keeps the bytes until it runs.
                let back = unsafe { a.net.put_signal(b.spot(BASE), from, len, at, update, done) };
                if let Some(done) = back {
                    // This net takes two steps for it.
                    done(Ok(()));
                    continue;
                }
                sum += round;
                self.until("a signal", || b.cpu::<u64>(at.offset, Atomic::Fetch) == sum);
                assert!(
                    b.load(BASE, len).iter().all(|&byte| byte == round as u8),
                    "{len} bytes, round {round}"
                );
                self.succeed("a put's buffer", &awaited);
                self.flush(a, b.pe);
            }
        }
    }

    fn atomics_return_what_was_there(&self, a: &End, b: &End) {
        let at = b.spot(256);
        for width in [Width::Four, Width::Eight] {
            let ones = if width == Width::Four { u64::from(u32::MAX) } else { u64::MAX };
            b.cpu(256, Atomic::Set(0x7777_7777_0000_0000_u64));
            self.fetch(a, at, width, Atomic::Swap(5));
            let steps = [
                (Atomic::Fetch, 5),
                (Atomic::Add(ones), 5),
                (Atomic::Swap(0b1100), 4),
                (Atomic::CompareSwap { cond: 1, value: 9 }, 0b1100),
                (Atomic::CompareSwap { cond: 0b1100, value: 0b1010 }, 0b1100),
                (Atomic::And(0b0110), 0b1010),
                (Atomic::Or(0b1001), 0b0010),
                (Atomic::Xor(0b1111), 0b1011),
                (Atomic::Fetch, 0b0100),
            ];
            for (operation, before) in steps {
                assert_eq!(self.fetch(a, at, width, operation), before, "{operation:?} of {width:?}");
            }
            let steps = [
                (Atomic::Set(ones), ones),
                (Atomic::Add(4), 3),
                (Atomic::Or(0b1000), 0b1011),
                (Atomic::And(0b1110), 0b1010),
                (Atomic::Xor(0b1111), 0b0101),
            ];
            for (operation, after) in steps {
                succeeds("an update", a.net.update(at, width, operation));
                self.flush(a, b.pe);
                assert_eq!(self.fetch(a, at, width, Atomic::Fetch), after, "{operation:?} of {width:?}");
            }
            if width == Width::Four {
                assert_eq!(
                    b.cpu::<u64>(256, Atomic::Fetch) >> 32,
                    0x7777_7777,
                    "the neighbour is left alone"
                );
            }
        }
    }

    fn batches_are_applied_in_order(&self, a: &End, b: &End) {
        b.fill(0, 4096, 0);
        let mut batch = Batch::default();
        for value in 1..=50_u64 {
            batch.put(b.spot(64), &value.to_ne_bytes());
            batch.update(b.spot(72), Width::Eight, Atomic::Xor(value));
            batch.update(b.spot(84), Width::Four, Atomic::Add(u64::from(u32::MAX)));
            batch.signal(b.spot(88), if value % 2 == 0 { Signal::Set(value) } else { Signal::Add(1) });
        }
        batch.put(b.spot(1001), &[7; 2001]);
        succeeds("a batch", a.net.apply(b.pe, batch.take()));
        self.flush(a, b.pe);
        let word = |offset| b.cpu::<u64>(offset, Atomic::Fetch);
        assert_eq!((word(64), word(72)), (50, (1..=50).fold(0, |x, y| x ^ y)));
        assert_eq!((word(80), word(88)), (u64::from(u32::MAX - 49) << 32, 50));
        assert_eq!(b.load(1000, 2003), [&[0][..], &[7; 2001], &[0]].concat());
        succeeds("an empty batch", a.net.apply(b.pe, batch));
        self.flush(a, b.pe);
    }

    fn a_flush_makes_visible_what_was_started(&self, a: &End, b: &End) {
        for round in 1..=50_u64 {
            let mut puts = Vec::new();
            for slot in 0..20 {
                let spot = b.spot(4096 + slot * 8);
                let value = round * 1000 + slot as u64;
                match slot % 3 {
                    0 => succeeds("a put", put_eager(a, spot, &value.to_ne_bytes())),
                    1 => succeeds("an update", a.net.update(spot, Width::Eight, Atomic::Set(value))),
                    _ => puts.push(self.put(a, spot, value.to_ne_bytes().to_vec())),
                }
            }
            self.flush(a, b.pe);
            for slot in 0..20 {
                let value = b.cpu::<u64>(4096 + slot * 8, Atomic::Fetch);
                assert_eq!(value, round * 1000 + slot as u64, "slot {slot} in round {round}");
            }
            puts.iter().for_each(|put| drop(self.succeed("a put's buffer", put)));
        }
    }

    fn a_flush_of_all_reaches_everybody(&self) {
        let [a, others @ ..] = self.job.ends else { return };
        for round in 1..=50_u64 {
            for end in others {
                succeeds("a put", put_eager(a, end.spot(512), &round.to_ne_bytes()));
            }
            let (awaited, done) = self.awaited(());
            a.net.flush_all(done);
            self.succeed("the end of a flush of all", &awaited);
            for end in others {
                assert_eq!(end.cpu::<u64>(512, Atomic::Fetch), round);
            }
        }
    }

    fn many_operations_go_on_together(&self, a: &End, b: &End) {
        const BYTES: usize = 5000;
        let bytes = |i: usize| vec![i as u8 + 1; BYTES];
        let spot = |i: usize| b.spot(4096 + i * BYTES);
        let puts: Vec<_> = (0..100).map(|i| self.put(a, spot(i), bytes(i))).collect();
        self.flush(a, b.pe);
        let gets: Vec<_> = (0..100).map(|i| self.get(a, spot(i), BYTES)).collect();
        for (i, get) in gets.iter().enumerate().rev() {
            assert!(self.succeed("a get", get).1 == bytes(i), "get {i}");
        }
        puts.iter().for_each(|put| drop(self.succeed("a put's buffer", put)));
    }

    fn what_is_flushed_comes_before_what_follows(&self, a: &End, b: &End) {
        const ROUNDS: u64 = 2000;
        let (data, signal, answer) = (8192, 264, 272);
        b.cpu(signal, Atomic::Set(0_u64));
        a.cpu(answer, Atomic::Set(0_u64));
        std::thread::scope(|scope| {
            // The reader is no PE: it only looks at the memory of one.
            scope.spawn(|| {
                for round in 1..=ROUNDS {
                    self.until("a signal", || b.cpu::<u64>(signal, Atomic::Fetch) >= round);
                    let got = b.load(data, 1024);
                    assert!(got.iter().all(|&byte| byte == round as u8), "stale data in round {round}");
                    a.cpu(answer, Atomic::Set(round));
                }
            });
            for round in 1..=ROUNDS {
                let sent = [round as u8; 512];
                succeeds("a put", put_eager(a, b.spot(data), &sent));
                let put = self.put(a, b.spot(data + 512), sent.to_vec());
                self.flush(a, b.pe);
                let update = if round % 2 == 0 { Atomic::Set(round) } else { Atomic::Add(1) };
                succeeds("a signal", a.net.update(b.spot(signal), Width::Eight, update));
                self.until("an answer", || a.cpu::<u64>(answer, Atomic::Fetch) >= round);
                self.succeed("a put's buffer", &put);
            }
        });
    }

    fn concurrent_adds_are_not_lost(&self) {
        const EACH: u64 = 1000;
        let [target, others @ ..] = self.job.ends else { return };
        target.cpu(320, Atomic::Set(0_u64));
        let threads = std::thread::scope(|scope| {
            let mut threads = 0;
            for end in others {
                threads += 2;
                scope.spawn(move || {
                    for _ in 0..EACH {
                        self.fetch(end, target.spot(320), Width::Eight, Atomic::Add(1));
                    }
                });
                scope.spawn(move || {
                    for _ in 0..EACH {
                        let update = end.net.update(target.spot(320), Width::Eight, Atomic::Add(1));
                        succeeds("an add", update);
                    }
                    self.flush(end, target.pe);
                });
            }
            if self.job.cpu_atomics {
                threads += 1;
                scope.spawn(|| {
                    for _ in 0..EACH {
                        target.cpu(320, Atomic::Add(1_u64));
                    }
                });
            }
            threads
        });
        assert_eq!(target.cpu::<u64>(320, Atomic::Fetch), threads * EACH);
    }

    fn messages_match_by_sender_and_tag(&self, a: &End, b: &End) {
        let long: Vec<u8> = (0..1 << 20).map(|i| (i * 7) as u8).collect();
        // Unexpected at first, and received in another order than they were sent.
        let early: Vec<_> =
            [(1, 1), (1, 2), (2, 3)].map(|(tag, byte)| self.send(a, b.pe, tag, vec![byte; 10])).into();
        for (tag, byte) in [(2, 3), (1, 1), (1, 2)] {
            assert_eq!(self.message("a message", &self.receive(b, a.pe, tag, 10)), [byte; 10]);
        }
        early.iter().for_each(|send| drop(self.succeed("a sent buffer", send)));
        // Expected, and answered in the order of the receives.
        let receives = [5, 6, 5].map(|tag| self.receive(b, a.pe, tag, 100));
        for (tag, byte) in [(6, 1), (5, 2), (5, 3)] {
            self.succeed("a sent buffer", &self.send(a, b.pe, tag, vec![byte; 9]));
        }
        let got = receives.each_ref().map(|receive| self.message("a message", receive));
        assert_eq!(got, [[2; 9], [1; 9], [3; 9]]);
        // Of no length, and long, in both orders; the largest tag.
        let tag = (1 << super::TAG_BITS) - 1;
        for bytes in [Vec::new(), long] {
            let send = self.send(a, b.pe, tag, bytes.clone());
            assert!(self.message("a message", &self.receive(b, a.pe, tag, bytes.len() + 1)) == bytes);
            self.succeed("a sent buffer", &send);
            let receive = self.receive(b, a.pe, tag, bytes.len());
            let send = self.send(a, b.pe, tag, bytes.clone());
            assert!(self.message("a message", &receive) == bytes);
            self.succeed("a sent buffer", &send);
        }
        // Several of one tag at once, long and short, of which some are received when some of it
        // has come.
        let pattern: Vec<u8> = (0..4 << 20).map(|i: u32| (i * 13) as u8 ^ (i >> 8) as u8).collect();
        for looks in [0, 1, 2, 4, 8, 16, 32] {
            let lens = [3 << 20, 70_000, 10, 3 << 20, 0, 61_441];
            let bytes = |at: usize| pattern[at * 1000 + looks..][..lens[at]].to_vec();
            let expected = looks % lens.len();
            let mut receives: Vec<_> = (0..expected).map(|at| self.receive(b, a.pe, tag, lens[at])).collect();
            let sends = [0, 1, 2, 3, 4, 5].map(|at| self.send(a, b.pe, tag, bytes(at)));
            (0..looks).for_each(|_| (self.job.progress)());
            receives.extend((expected..lens.len()).map(|at| self.receive(b, a.pe, tag, lens[at])));
            for (at, receive) in receives.iter().enumerate() {
                assert!(
                    self.message("one of several messages", receive) == bytes(at),
                    "{at} after {looks} looks"
                );
            }
            sends.iter().for_each(|send| drop(self.succeed("a sent buffer", send)));
        }
        // A message that is too long is an error, whichever side comes first, and spoils nothing
        // that follows.
        for len in [9, 20_000, 100_000] {
            for expected in [false, true] {
                let early = expected.then(|| self.receive(b, a.pe, 7, 8));
                let send = self.send(a, b.pe, 7, vec![1; len]);
                let receive = early.unwrap_or_else(|| self.receive(b, a.pe, 7, 8));
                assert!(self.wait("a truncated message", &receive).0.is_err(), "{len} bytes into 8");
                // Whether the sender gets the error is the net's business.
                drop(self.wait("a sent buffer", &send));
                let send = self.send(a, b.pe, 7, vec![2; 8]);
                assert_eq!(self.message("a message", &self.receive(b, a.pe, 7, 8)), [2; 8]);
                self.succeed("a sent buffer", &send);
            }
        }
    }

    fn blocks_arrive_packed(&self, a: &End, b: &End) {
        const BASE: usize = 4096;
        let shapes = [(8, 16, 1000), (1, 1, 1), (1, 2, 777), (3, 7, 100), (1000, 1003, 40), (8, 4000, 600)];
        let few = [(8, 0, 1), (5, 3000, 0), (0, 8, 3)];
        let pattern: Vec<u8> = (0..5 << 19).map(|i: usize| (i * 31 + (i >> 11)) as u8).collect();
        for (round, (block, stride, count)) in shapes.into_iter().chain(few).enumerate() {
            let blocks = Shape { block, stride, count };
            let span = blocks.bytes().map_or(0, |(_, span)| span);
            let there = pattern[round..].to_vec();
            // What is long is behind what comes later, unless a net sees to it.
            let put = self.put(a, b.spot(BASE), there.clone());
            let mut bytes = vec![0; block * count];
            let address = bytes.as_mut_ptr();
            let (awaited, done) = self.awaited(bytes);
            // SAFETY: `done` keeps the buffer until it runs.
            unsafe { a.net.get_packed(b.spot(BASE), blocks, address, done) };
            let (_, got) = self.succeed("packed blocks", &awaited);
            let expected: Vec<u8> =
                (0..count).flat_map(|i| there[i * stride..][..block].iter().copied()).collect();
            assert!(got == expected, "{blocks:?} over {span} bytes");
            self.succeed("a put's buffer", &put);
            self.flush(a, b.pe);
        }
    }

    /// Each completion starts the next operation, in chains for which the stack has no room where
    /// that is ready at once.
    fn completions_do_not_nest(&self, a: &End, b: &End) {
        const N: usize = 300;
        self.chain(a, b, 100_000, |net, at, next| net.flush(at.pe, next));
        self.chain(a, b, N, |net, _, next| net.flush_all(next));
        self.chain(a, b, N, |net, at, next| {
            succeeds("an update", net.update(at, Width::Eight, Atomic::Add(1)));
            net.flush(at.pe, next);
        });
        self.chain(a, b, N, |net, at, next| {
            let fetched = Box::new(|before: Result<u64>| next(before.map(drop)));
            net.fetch(at, Width::Eight, Atomic::Add(1), fetched);
        });
        // SAFETY: what is put is there for ever.
        self.chain(a, b, N, |net, at, next| unsafe { net.put(at, CHAINED.as_ptr(), CHAINED.len(), next) });
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

    /// Every PE sends to every other with the same tag, from threads of their own.
    fn messages_cross_each_other(&self) {
        const ROUNDS: u64 = 200;
        std::thread::scope(|scope| {
            for end in self.job.ends {
                scope.spawn(move || {
                    let others: Vec<_> = self.job.ends.iter().filter(|other| other.pe != end.pe).collect();
                    for round in 0..ROUNDS {
                        let len = if round % 20 == 0 { 20_000 } else { 8 + round as usize };
                        let bytes =
                            |from: &End, to: &End| vec![(from.pe * 16 + to.pe) as u8 ^ round as u8; len];
                        let sends: Vec<_> =
                            others.iter().map(|to| self.send(end, to.pe, 9, bytes(end, to))).collect();
                        for from in &others {
                            let receive = self.receive(end, from.pe, 9, len);
                            assert!(self.message("a message", &receive) == bytes(from, end), "round {round}");
                        }
                        sends.iter().for_each(|send| drop(self.succeed("a sent buffer", send)));
                    }
                });
            }
        });
    }

    fn nothing_goes_on_after_close(&self) {
        let [a, b, ..] = self.job.ends else { return };
        let pending = self.receive(a, b.pe, 1000, 8);
        assert!(!pending.is_there());
        a.net.close();
        a.net.close();
        assert!(self.wait("a receive that never comes", &pending).0.is_err());
        assert!(put_eager(a, b.spot(0), &[1]).is_err());
        assert!(a.net.update(b.spot(0), Width::Eight, Atomic::Set(1)).is_err());
        assert!(a.net.apply(b.pe, Batch::default()).is_err());
        assert!(self.wait("a put after close", &self.put(a, b.spot(0), vec![1])).0.is_err());
        assert!(self.wait("a get after close", &self.get(a, b.spot(0), 1)).0.is_err());
        assert!(self.wait("a send after close", &self.send(a, b.pe, 1, vec![1])).0.is_err());
        assert!(self.wait("a receive after close", &self.receive(a, b.pe, 1, 1)).0.is_err());
        let (fetch, done) = self.awaited(());
        a.net.fetch(b.spot(0), Width::Eight, Atomic::Add(1), done);
        assert!(self.wait("a fetch after close", &fetch).0.is_err());
        let (flush, done) = self.awaited(());
        a.net.flush(b.pe, done);
        assert!(self.wait("a flush after close", &flush).0.is_err());
        let (flush, done) = self.awaited(());
        a.net.flush_all(done);
        assert!(self.wait("a flush of all after close", &flush).0.is_err());
        self.job.ends.iter().for_each(|end| end.net.close());
    }

    fn everything_was_told_once(&self) {
        let Tally { started, told, dropped } = &*self.tally;
        let started = started.load(Ordering::Relaxed);
        // The last completion may be running just now.
        self.until("the last answer", || told.load(Ordering::Relaxed) == started);
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

fn put_eager(from: &End, to: Spot, bytes: &[u8]) -> Result<()> {
    // SAFETY: the bytes are there until the call returns.
    unsafe { from.net.put_eager(to, bytes.as_ptr(), bytes.len()) }
}

fn succeeds(what: &str, result: Result<()>) {
    if let Err(error) = result {
        panic!("{what}: {error}");
    }
}
