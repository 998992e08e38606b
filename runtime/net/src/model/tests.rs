use std::{
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Wake, Waker},
    time::Instant,
};

use oxshmem_base::{settings::FenceSide, sync::lock};
use oxshmem_memory::{
    Extent, Segment, SegmentId,
    word::{Atomic, Width},
};
use oxshmem_progress::{
    activity::Place,
    executor::{Fired, Probe, ProbedWord, Reader},
    wait::WaitPolicy,
};

use super::*;
use crate::{
    outcome::{outcome, put, update, wait},
    suite::{self, End, Job, MEMORY},
};

/// A PE with all that it needs.
struct Host {
    fabric: Arc<Fabric>,
    executor: Arc<Executor>,
    net: Arc<Model>,
    pe: usize,
    block: usize,
}

impl Host {
    fn end(&self) -> End {
        let memory = Segment::new(SegmentId::Heap, Arc::clone(&self.fabric.heap), 0, MEMORY);
        let (net, engine) = (Arc::clone(&self.net) as Arc<dyn Net>, Arc::clone(&self.executor));
        End { pe: self.pe, net, memory, block: self.block, engine }
    }

    fn fetch(&self, at: Spot, operation: Atomic<u64>, width: Width, done: Completion<u64>) {
        // SAFETY: the model checks the place.
        unsafe { self.net.start(Op::atomic(at, operation, width), done) };
    }

    fn put_eager(&self, to: Spot, bytes: &[u8]) -> Result<()> {
        put(&*self.net, to, bytes)
    }

    fn word(&self, offset: usize) -> u64 {
        let memory = self.end().memory;
        // SAFETY: the address is in bounds, and the callers' offsets are multiples of 8.
        unsafe { oxshmem_memory::copy::load(memory.address(self.block, offset, 8).unwrap().cast()) }
    }
}

/// PEs 0 and 2 are on one host, PE 1 is on another.
fn three(link: Link) -> [Host; 3] {
    let wires = Arc::new(Wires::new(3, link));
    let fabrics = [2, 1].map(|n| Arc::new(Fabric::new(n, MEMORY, true).unwrap()));
    [(0, 0, 0), (1, 1, 0), (2, 0, 1)].map(|(pe, host, block)| {
        let fabric = Arc::clone(&fabrics[host]);
        let policy = WaitPolicy::new(Duration::ZERO, 0, false);
        let executor = Executor::new(&fabric, block, FenceSide::Writer, policy);
        fabric.bell(block).attach(&executor);
        let net = Arc::new(Model::join(Arc::clone(&wires), pe, block, &fabric, &executor).unwrap());
        Host { fabric, executor, net, pe, block }
    })
}

fn slow() -> Link {
    let (latency, jitter) = (Duration::from_micros(5), Duration::from_micros(100));
    Link { latency, jitter, bandwidth: 20_000_000_000, seed: 1, ..Link::default() }
}

fn spot(pe: usize, offset: usize) -> Spot {
    Spot { pe, segment: SegmentId::Heap, offset }
}

/// Waits for it, and says what went wrong.
fn error_of<T>(slot: &OnceLock<Result<T>>) -> String {
    match wait(slot) {
        Ok(_) => panic!("it went well"),
        Err(error) => error.to_string(),
    }
}

fn passes(link: Link) {
    let ends = three(link).map(|host| host.end());
    suite::check(&Job { ends: &ends, progress: &|| (), cpu_atomics: true });
}

#[test]
fn the_model_is_driven_by_the_engine_alone() {
    suite::check_by_the_engine(crate::ways(), || Some(three(slow()).map(|host| host.end()).into()));
}

#[test]
fn the_model_passes_the_suite_of_all_nets() {
    passes(Link::default());
}

#[test]
fn the_model_passes_the_suite_when_operations_overtake_each_other() {
    passes(slow());
}

#[test]
fn the_model_passes_the_suite_when_messages_keep_the_processor() {
    let micro = Duration::from_micros(1);
    passes(Link { overhead: micro, receipt: 3 * micro, ..slow() });
}

#[test]
fn the_model_passes_the_suite_in_virtual_time() {
    let day = Duration::from_secs(86400);
    let hosts =
        three(Link { overhead: day, receipt: day, latency: day, virtual_time: true, ..Link::default() });
    let wires = Arc::clone(&hosts[0].net.wires);
    let ends = hosts.map(|host| host.end());
    suite::check(&Job { ends: &ends, progress: &|| _ = wires.advance(), cpu_atomics: true });
    assert!(wires.delivery.clock().now() > day);
}

#[test]
fn virtual_time_advances_to_the_next_event_and_no_further() {
    let micro = Duration::from_micros(1);
    let link = Link { latency: 5 * micro, overhead: micro, receipt: 2 * micro, ..Link::default() };
    let [a, b, c] = three(Link { virtual_time: true, ..link });
    let wires = Arc::clone(&a.net.wires);
    let (from_a, from_c) = (receive(&b, 0, 1), receive(&b, 2, 1));
    wait(&send(&a, 1, 1, 8)).as_ref().unwrap();
    wait(&send(&c, 1, 1, 8)).as_ref().unwrap();
    a.put_eager(spot(1, 0), &7_u64.to_ne_bytes()).unwrap();
    let came = || (from_a.get().is_some(), from_c.get().is_some(), b.word(0));
    let mut seen = vec![(Duration::ZERO, came())];
    while wires.advance() {
        seen.push((wires.delivery.clock().now(), came()));
    }
    let expected = [
        (0, (false, false, 0)),
        (6, (false, false, 0)), // both are there, and keep the processor
        (7, (false, false, 7)), // which the put goes past
        (8, (true, false, 7)),
        (10, (true, true, 7)),
    ];
    assert_eq!(seen, expected.map(|(time, came)| (time * micro, came)));
}

#[test]
fn what_is_on_its_way_arrives_when_a_job_in_virtual_time_is_over() {
    let hosts = three(Link { latency: Duration::from_secs(1), virtual_time: true, ..Link::default() });
    let fabric = Arc::clone(&hosts[1].fabric);
    hosts[0].put_eager(spot(1, 0), &7_u64.to_ne_bytes()).unwrap();
    drop(hosts);
    let memory = Segment::new(SegmentId::Heap, Arc::clone(&fabric.heap), 0, MEMORY);
    // SAFETY: the address is in bounds and aligned.
    assert_eq!(unsafe { oxshmem_memory::copy::load(memory.address(0, 0, 8).unwrap().cast::<u64>()) }, 7);
}

#[test]
fn eager_puts_overtake_each_other_unless_flushed() {
    let [a, b, _c] = three(slow());
    let mut overtaken = 0;
    for _ in 0..200 {
        for value in [1_u64, 2] {
            a.put_eager(spot(1, 0), &value.to_ne_bytes()).unwrap();
        }
        let (flushed, done) = outcome();
        a.net.flush(Some(1), done);
        wait(&flushed).as_ref().unwrap();
        overtaken += usize::from(b.word(0) == 1);
    }
    assert!((1..200).contains(&overtaken), "{overtaken} of 200");
}

#[test]
fn what_is_sent_takes_its_time() {
    let link = Link { latency: Duration::from_millis(20), bandwidth: 1_000_000, ..Link::default() };
    let [a, b, _c] = three(link);
    let start = Instant::now();
    a.put_eager(spot(1, 0), &[1; 10_000]).unwrap();
    assert_eq!(b.word(0), 0);
    let (flushed, done) = outcome();
    a.net.flush(Some(1), done);
    wait(&flushed).as_ref().unwrap();
    assert!(start.elapsed() >= Duration::from_millis(50), "10 to send, 20 there, 20 back");
    assert_ne!(b.word(0), 0);
}

#[test]
fn whatever_is_stored_wakes_the_pe_that_waits_for_it() {
    struct Count(AtomicUsize);
    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    for link in [Link::default(), slow()] {
        let [a, b, _c] = three(link);
        let operations: [&dyn Fn() -> Result<()>; 5] = [
            &|| a.put_eager(spot(1, 64), &[1; 8]),
            &|| update(&*a.net, spot(1, 64), Atomic::Add(1), Width::Eight),
            &|| {
                let mut batch = Batch::default();
                batch.put(spot(1, 64), &[1; 8]);
                a.net.apply(1, batch)
            },
            &|| {
                a.fetch(spot(1, 64), Atomic::Swap(1), Width::Eight, Box::new(drop));
                Ok(())
            },
            &|| {
                static SENT: [u8; 8] = [1; 8];
                // SAFETY: a static can be read forever.
                unsafe { a.net.start(Op::put(spot(1, 64), SENT.as_ptr(), 8), Box::new(drop)) };
                Ok(())
            },
        ];
        for operation in operations {
            let memory = b.end().memory;
            let address = memory.address(0, 64, 8).unwrap();
            // SAFETY: in bounds and aligned; the watch keeps the map.
            let word = unsafe {
                oxshmem_memory::copy::store(address.cast::<u64>(), 0);
                ProbedWord::new(Reader::Processor(address), 8, false, [true, false, true], 0)
            };
            let count = Arc::new(Count(AtomicUsize::new(0)));
            let waker = Waker::from(Arc::clone(&count));
            let extent = Extent { segment: SegmentId::Heap, offset: 64, len: 8 };
            let keepalive = Arc::clone(memory.map());
            let key = b.executor.register(Probe::Word(word), extent, keepalive, &waker, Place::NONE);
            operation().unwrap();
            let start = Instant::now();
            while count.0.load(Ordering::SeqCst) == 0 {
                assert!(start.elapsed() < Duration::from_secs(30), "it was not woken");
                std::thread::yield_now();
            }
            assert!(matches!(b.executor.check(&key, &waker), Some(Fired::Satisfied(_))));
            b.executor.unregister(key);
        }
    }
}

#[test]
fn a_long_message_waits_for_its_receive_and_a_short_one_does_not() {
    for link in [Link::default(), slow()] {
        let [a, b, _c] = three(link);
        let bytes = Arc::new(vec![5_u8; EAGER + 1]);
        let sends = [EAGER, EAGER + 1].map(|len| {
            let (sent, done) = outcome();
            // SAFETY: the bytes outlive the operations, which the test waits for.
            unsafe { a.net.send(1, len as u64, bytes.as_ptr(), len, done) };
            sent
        });
        assert!(wait(&sends[0]).is_ok());
        std::thread::sleep(Duration::from_millis(5));
        assert!(sends[1].get().is_none());
        let mut room = vec![0; EAGER + 1];
        let (received, done) = outcome();
        // SAFETY: there is room until it runs, which the test waits for.
        unsafe { b.net.receive(0, EAGER as u64 + 1, room.as_mut_ptr(), room.len(), done) };
        assert_eq!(*wait(&received).as_ref().unwrap(), EAGER + 1);
        assert!(wait(&sends[1]).is_ok() && room == *bytes);
    }
}

/// A receive of 8 bytes whose room is never given back.
fn receive(to: &Host, from: usize, tag: u64) -> Arc<OnceLock<Result<usize>>> {
    let room = Box::leak(Box::new([0_u8; 8]));
    let (received, done) = outcome();
    // SAFETY: the room is there forever.
    unsafe { to.net.receive(from, tag, room.as_mut_ptr(), room.len(), done) };
    received
}

/// A message whose bytes are there forever.
fn send(from: &Host, to: usize, tag: u64, len: usize) -> Arc<OnceLock<Result<()>>> {
    let bytes = vec![1_u8; len].leak();
    let (sent, done) = outcome();
    // SAFETY: the bytes are there forever.
    unsafe { from.net.send(to, tag, bytes.as_ptr(), len, done) };
    sent
}

#[test]
fn a_pe_that_leaves_delivers_what_it_has_sent_and_fails_the_rest() {
    for link in [Link::default(), slow()] {
        let [a, b, c] = three(link);
        wait(&send(&a, 1, 1, 8)).as_ref().unwrap();
        a.put_eager(spot(1, 0), &7_u64.to_ne_bytes()).unwrap();
        let (lent, from_b) = (send(&a, 1, 2, 1 << 20), send(&b, 0, 3, 1 << 20));
        let (own, never) = (receive(&a, 1, 9), receive(&b, 0, 9));
        a.net.close();
        assert!(error_of(&own).contains("finalized"));
        assert!(error_of(&lent).contains("finalized"));
        assert!(error_of(&from_b).contains("PE 0 is lost"), "{}", error_of(&from_b));
        assert!(error_of(&never).contains("PE 0 is lost"));
        assert_eq!(*wait(&receive(&b, 0, 1)).as_ref().unwrap(), 8, "it was sent before");
        assert!(error_of(&receive(&b, 0, 1)).contains("PE 0 is lost"));
        let start = Instant::now();
        while b.word(0) != 7 {
            assert!(start.elapsed() < Duration::from_secs(30));
        }
        let lost = b.put_eager(spot(0, 0), &[1]).unwrap_err().to_string();
        assert!(lost.contains("PE 0 is lost"), "{lost}");
        // Those that stay go on.
        let received = receive(&c, 1, 4);
        wait(&send(&b, 2, 4, 8)).as_ref().unwrap();
        wait(&received).as_ref().unwrap();
        assert!(b.net.flush_all_now().is_ok());
    }
}

#[test]
fn what_is_on_its_way_when_its_origin_leaves_fails_at_once_or_arrives() {
    let [a, b, _c] = three(Link { latency: Duration::from_millis(50), ..Link::default() });
    let start = Instant::now();
    a.put_eager(spot(1, 0), &7_u64.to_ne_bytes()).unwrap();
    let (fetched, done) = outcome();
    a.fetch(spot(1, 8), Atomic::Add(1), Width::Eight, done);
    let (flushed, done) = outcome();
    a.net.flush(Some(1), done);
    a.net.close();
    assert!(error_of(&fetched).contains("finalized") && error_of(&flushed).contains("finalized"));
    assert!(start.elapsed() < Duration::from_millis(50));
    drop(a);
    while b.word(0) != 7 {
        assert!(start.elapsed() < Duration::from_secs(30));
    }
    assert_eq!(b.word(8), 0);
}

#[test]
fn a_failed_job_ends_all_waiting() {
    let [a, b, c] = three(Link::default());
    let waiting = [receive(&a, 1, 1), receive(&b, 0, 1), receive(&c, 1, 1)];
    let lent = send(&a, 1, 2, 1 << 20);
    a.net.wires.fail(&Failure::PeLost { pe: 2, how: "it failed".into() });
    a.net.wires.fail(&Failure::PeLost { pe: 1, how: "it followed".into() });
    for receive in &waiting {
        assert!(error_of(receive).contains("PE 2 is lost"));
    }
    assert!(error_of(&lent).contains("PE 2 is lost"));
    assert!(error_of(&receive(&b, 0, 3)).contains("PE 2 is lost"));
    assert!(error_of(&send(&b, 0, 3, 1 << 20)).contains("PE 2 is lost"));
    assert!(b.executor.check_failure().is_err());
    // What follows from it does not hide it.
    a.net.close();
    assert!(b.put_eager(spot(0, 0), &[1]).unwrap_err().to_string().contains("PE 2 is lost"));
    assert!(error_of(&receive(&b, 0, 4)).contains("PE 2 is lost"));
}

#[test]
fn messages_and_bytes_are_counted() {
    let [a, b, _c] = three(Link::default());
    a.put_eager(spot(1, 0), &[1; 100]).unwrap();
    update(&*a.net, spot(1, 0), Atomic::Add(1), Width::Four).unwrap();
    a.fetch(spot(1, 0), Atomic::Add(1), Width::Eight, Box::new(drop));
    let room = Box::leak(Box::new([0_u8; 50]));
    // SAFETY: the room is there forever.
    unsafe { a.net.start(Op::get(spot(1, 0), room.as_mut_ptr(), 50), Box::new(drop)) };
    assert!(a.net.flush_all_now().is_ok());
    assert_eq!(a.net.wires.sent(0), Sent { messages: 4, bytes: 144 });
    assert_eq!(b.net.wires.sent(1), Sent { messages: 2, bytes: 58 });
    assert_eq!(b.net.wires.sent(2), Sent::default());
}

#[test]
fn an_answer_that_starts_the_next_operation_needs_no_stack() {
    fn count(net: &Arc<Model>, left: u32, over: Completion) {
        if left == 0 {
            return over(Ok(()));
        }
        let next = Arc::clone(net);
        let done = Box::new(move |_: Result<u64>| count(&next, left - 1, over));
        // SAFETY: the word is in bounds and aligned.
        unsafe { net.start(Op::atomic(spot(1, 0), Atomic::Add(1), Width::Eight), done) };
    }
    let [a, b, _c] = three(Link::default());
    let (over, done) = outcome();
    count(&a.net, 100_000, done);
    assert!(wait(&over).is_ok());
    assert_eq!(b.word(0), 100_000);
}

#[test]
fn operations_that_leave_their_memory_are_refused() {
    let [a, _b, _c] = three(Link::default());
    static SENT: [u8; 8] = [1; 8];
    let refused = |result: Result<()>| result.unwrap_err().to_string();
    for offset in [a.fabric.heap.stride() - 7, usize::MAX] {
        let (sent, done) = outcome();
        // SAFETY: a static can be read forever, and the model checks the place.
        unsafe { a.net.start(Op::put(spot(1, offset), SENT.as_ptr(), 8), done) };
        assert!(error_of(&sent).contains("no memory of PE 1"));
    }
    assert!(refused(a.put_eager(spot(1, a.fabric.heap.stride() - 7), &SENT)).contains("make sense"));
    assert!(refused(a.put_eager(spot(3, 0), &[1])).contains("not joined"));
    assert!(refused(update(&*a.net, spot(1, 4), Atomic::Add(1), Width::Eight)).contains("make sense"));
    let (fetched, done) = outcome();
    a.fetch(spot(1, 2), Atomic::Fetch, Width::Four, done);
    assert!(error_of(&fetched).contains("aligned to 4"));
}

#[test]
fn a_batch_that_is_refused_later_fails_the_flush() {
    let [a, _b, _c] = three(slow());
    let mut batch = Batch::default();
    batch.put(spot(1, a.fabric.heap.stride()), &[1]);
    a.net.apply(1, batch).unwrap();
    assert!(a.net.flush_all_now().is_err());
    assert!(a.net.flush_all_now().is_ok());
}

impl Model {
    fn flush_all_now(&self) -> Result<()> {
        let slot = Arc::new(oxshmem_base::sync::Mutex::new(None));
        let slot_of_it = Arc::clone(&slot);
        self.flush(None, Box::new(move |result| *lock(&slot_of_it) = Some(result)));
        let start = Instant::now();
        loop {
            if let Some(result) = lock(&slot).take() {
                return result;
            }
            assert!(start.elapsed() < Duration::from_secs(30), "the flush does not end");
            std::thread::yield_now();
        }
    }
}

#[test]
fn what_is_for_a_lost_pe_is_over_when_its_origin_knows_of_the_loss() {
    for link in [Link::default(), slow()] {
        let [a, b, c] = three(link);
        let (mut to, from) = ([0_u8; 9000], [7_u8; 9000]);
        // PE 1 is lost, and knows alone.
        b.net.lose(1, 1, "it is a test");
        let (got, got_done) = outcome();
        a.fetch(spot(1, 0), Atomic::Fetch, Width::Eight, got_done);
        let (sent, sent_done) = outcome();
        // SAFETY: it is over before `from` ends, as is waited for below.
        unsafe { a.net.send(1, 5, from.as_ptr(), from.len(), sent_done) };
        a.put_eager(spot(1, 8), &[3; 8]).unwrap();
        let (flushed, flushed_done) = outcome();
        a.net.flush(Some(1), flushed_done);
        let (received, received_done) = outcome();
        // SAFETY: as above, of `to`.
        unsafe { a.net.receive(1, 6, to.as_mut_ptr(), to.len(), received_done) };
        std::thread::sleep(Duration::from_millis(2));
        assert!(got.get().is_none() && sent.get().is_none());
        assert!(flushed.get().is_none() && received.get().is_none());
        assert_eq!(b.word(8), 0);
        // What it would do itself fails at once.
        assert!(matches!(b.put_eager(spot(0, 0), &[1; 8]), Err(Error::PeLost { pe: 1, view: 1, .. })));

        a.net.lose(1, 1, "it is a test");
        let errors = [error_of(&got), error_of(&sent), error_of(&flushed), error_of(&received)];
        assert!(errors.iter().all(|error| error.contains("it is a test")), "{errors:?}");
        assert!(matches!(a.put_eager(spot(1, 0), &[1; 8]), Err(Error::PeLost { pe: 1, view: 1, .. })));
        // The others are untouched, and all together are flushed without the lost one.
        let (all, all_done) = outcome();
        a.net.flush(None, all_done);
        wait(&all).as_ref().unwrap();
        c.net.lose(1, 1, "it is a test");
        for host in [a, b, c] {
            host.net.close();
        }
    }
}

#[test]
fn what_a_lost_pe_has_sent_has_its_effect_until_its_loss_is_known() {
    let late = Link { latency: Duration::from_millis(20), ..Link::default() };
    for known in [false, true] {
        let [a, b, _] = three(late);
        b.put_eager(spot(0, 0), &[5; 8]).unwrap();
        b.net.lose(1, 1, "it is a test");
        if known {
            a.net.lose(1, 1, "it is a test");
        }
        let begin = Instant::now();
        while !known && a.word(0) == 0 && begin.elapsed() < Duration::from_secs(20) {
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_millis(if known { 60 } else { 0 }));
        assert_eq!(a.word(0), if known { 0 } else { u64::from_ne_bytes([5; 8]) });
    }
}
