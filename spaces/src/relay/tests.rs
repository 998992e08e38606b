//! Over the model of a network, on the emulated device.

use oxshmem_base::settings::FenceSide;
use oxshmem_memory::{
    SegmentId,
    word::{Atomic, Width},
};
use oxshmem_net::{
    Link, Model, Wires,
    model::wires,
    outcome::{outcome, update, wait},
    suite::{self, End, Job, MEMORY},
};
use oxshmem_progress::{fabric::Fabric, failure::Failure, source::Source, wait::WaitPolicy};

use super::*;
use crate::device::emulated::Emulated;

/// What an operation of the device takes.
const LATENCY: Duration = Duration::from_micros(50);

/// Three PEs, of which the first and the last are on one host, by their nets and device memory.
fn three(link: Link, latency: Duration) -> (Arc<Wires>, [End; 3]) {
    let (wires, ends) = three_with_cores(link, latency);
    (wires, ends.map(|(end, _)| end))
}

/// [`three`] PEs, with what their nets are made of.
fn three_with_cores(link: Link, latency: Duration) -> (Arc<Wires>, [(End, Arc<Core>); 3]) {
    let wires = wires(3, link);
    let fabrics = [2, 1].map(|n| Arc::new(Fabric::new(n, 2 * MEMORY + ROOM, true).unwrap()));
    let devices = fabrics.each_ref().map(|fabric| -> AnyDevice {
        Arc::new(Emulated::new(&fabric.heap, MEMORY, MEMORY, latency, fabric.helper_waker()).unwrap())
    });
    let ends = [(0, 0, 0), (1, 1, 0), (2, 0, 1)].map(|(pe, host, block)| {
        let fabric = &fabrics[host];
        let policy = WaitPolicy::new(Duration::ZERO, 0, false);
        let engine = Executor::new(fabric, block, FenceSide::Writer, policy);
        fabric.bell(block).attach(&engine);
        let model = Model::join(Arc::clone(&wires), pe, block, fabric, &engine).unwrap();
        let heap = Segment::new(SegmentId::Heap, Arc::clone(&fabric.heap), 0, 2 * MEMORY + ROOM);
        let segments = [heap, fabric.control.scratch()];
        let owner = Owner::new(&devices[host], block, segments, 2 * MEMORY, &engine);
        let memory = Segment::new(SegmentId::Gpu, Arc::clone(&fabric.heap), MEMORY, MEMORY);
        let core = listening(Arc::new(model), owner);
        let net: Arc<dyn Net> = Arc::new(Staged(Arc::clone(&core)));
        let sources = [Arc::clone(&net) as Arc<dyn Source>, Arc::clone(&devices[host]) as Arc<dyn Source>];
        engine.attach_sources(sources.into()).unwrap();
        (End { pe, net, memory, block, engine }, core)
    });
    (wires, ends)
}

fn jittered() -> Link {
    let (latency, jitter) = (Duration::from_micros(5), Duration::from_micros(100));
    Link { latency, jitter, bandwidth: 20_000_000_000, seed: 3, ..Link::default() }
}

fn on_device(pe: usize, offset: usize) -> Spot {
    Spot { pe, segment: SegmentId::Gpu, offset }
}

fn on_host(pe: usize, offset: usize) -> Spot {
    Spot { pe, segment: SegmentId::Heap, offset }
}

fn flushed(end: &End, pe: usize) {
    let (slot, done) = outcome();
    end.net.flush(Some(pe), done);
    wait(&slot).as_ref().unwrap();
}

fn value(end: &End, at: Spot) -> u64 {
    let (slot, done) = outcome();
    // SAFETY: the word is in bounds and aligned.
    unsafe { end.net.start(Op::atomic(at, Atomic::Fetch, Width::Eight), done) };
    *wait(&slot).as_ref().unwrap()
}

#[test]
fn device_memory_of_other_hosts_passes_the_suite_of_all_nets() {
    for (link, latency) in [(Link::default(), Duration::ZERO), (jittered(), LATENCY)] {
        let (_, ends) = three(link, latency);
        suite::check(&Job { ends: &ends, progress: &|| (), cpu_atomics: true });
    }
}

#[test]
fn device_memory_of_other_hosts_is_driven_by_the_engine_alone() {
    suite::check_by_the_engine(crate::ways(), || Some(three(jittered(), LATENCY).1.into()));
}

#[test]
fn operations_on_host_and_device_memory_in_one_batch_keep_their_order() {
    let (_wires, ends) = three(jittered(), LATENCY);
    let from = &ends[0];
    // Beyond what one message takes, so that it is cut, and its parts overtake each other on the
    // way.
    for len in [8, 5 * client::PART + 24] {
        for round in 1..=4u64 {
            let bytes = vec![round as u8; len];
            let mut batch = Batch::default();
            batch.put(on_device(1, 0), &bytes);
            batch.update(on_host(1, 0), Atomic::Set(round), Width::Eight);
            batch.put(on_host(1, 64), &bytes);
            batch.update(on_device(1, MEMORY - 8), Atomic::Set(round), Width::Eight);
            from.net.apply(1, batch).unwrap();
            // A PE that reads sees what it has written, in either memory.
            assert_eq!((value(from, on_host(1, 0)), value(from, on_device(1, MEMORY - 8))), (round, round));
            for spot in [on_device(1, 0), on_host(1, 64)] {
                let mut there = vec![0; len];
                let (slot, done) = outcome();
                // SAFETY: the bytes are there until the end of the block, which waits for it.
                unsafe { from.net.start(Op::get(spot, there.as_mut_ptr(), len), done) };
                wait(&slot).as_ref().unwrap();
                assert!(there == bytes, "{spot:?} {len} {round}");
            }
        }
    }
    flushed(from, 1);
}

#[test]
fn what_is_beyond_the_device_is_an_error_at_the_pe_that_asked() {
    let (_wires, ends) = three(Link::default(), Duration::ZERO);
    let from = &ends[0];
    let (slot, done) = outcome();
    // SAFETY: the server checks the place.
    unsafe { from.net.start(Op::atomic(on_device(1, MEMORY), Atomic::Fetch, Width::Eight), done) };
    let error = wait(&slot).as_ref().unwrap_err().to_string();
    assert!(error.contains("on PE 1"), "{error}");
    update(&*from.net, on_device(1, 4), Atomic::Add(1), Width::Eight).unwrap();
    let (slot, done) = outcome();
    from.net.flush(None, done);
    assert!(wait(&slot).is_err());
    assert_eq!(value(from, on_device(1, 0)), 0);
    flushed(from, 1);
}

#[test]
fn what_is_under_way_when_the_job_fails_fails_too() {
    let link = Link { latency: Duration::from_millis(300), ..Link::default() };
    let (wires, ends) = three(link, Duration::ZERO);
    let from = &ends[0];
    let mut bytes = vec![0u8; 2 * client::WINDOW];
    let (put, sent) = outcome();
    let (got, arrived) = outcome();
    let (before, fetched) = outcome::<u64>();
    // SAFETY: the bytes are there until the end of the test, which waits for both.
    unsafe {
        from.net.start(Op::put(on_device(1, 0), bytes.as_ptr(), bytes.len()), sent);
        from.net.start(Op::get(on_device(1, 0), bytes.as_mut_ptr(), 8), arrived);
        from.net.start(Op::atomic(on_device(1, 0), Atomic::Fetch, Width::Eight), fetched);
    }
    let (flush, over) = outcome();
    from.net.flush(Some(1), over);
    wires.fail(&Failure::PeLost { pe: 1, how: "it is a test".into() });
    for outcome in [&put, &got, &before].map(|slot| wait(slot).clone()) {
        assert!(matches!(outcome, Err(Error::PeLost { pe: 1, .. })), "{outcome:?}");
    }
    assert!(matches!(wait(&flush), Err(Error::PeLost { pe: 1, .. })));
    assert!(update(&*from.net, on_device(1, 0), Atomic::Add(1), Width::Eight).is_err());
}

#[test]
fn requests_and_answers_are_taken_or_refused_whatever_is_sent() {
    let (_wires, [(_end, core), _, _]) = three_with_cores(Link::default(), Duration::ZERO);
    let words_and = |words: Words, bytes: &[u8]| {
        let mut all: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        all.extend(bytes);
        all
    };
    let nothing = std::ptr::null_mut::<u8>();
    let head = |kind, op: Op| {
        let [what, a, ..] = encode(&op);
        [kind, 0, what, a, 4096]
    };
    let mut real = vec![
        words_and(head(OP, Op::put(on_device(0, 64), nothing, 100)), &[1; 100]),
        words_and(head(OP, Op::get(on_device(0, 64), nothing, 100)), &[]),
        words_and(head(OP, Op::get(on_device(0, 64), nothing, 100_000)), &[]),
        words_and(head(PULL, Op::put(on_device(0, 64), nothing, 100_000)), &[]),
        words_and([READY, 0, 4096, 0, 0], &[]),
        words_and([TAKEN, 0, 0, 0, 0], &[]),
        words_and([OVER, 0, 0, 0, 0], &[]),
        words_and([BYTES, 0, 0, 0, 0], &[1; 100]),
        words_and([VALUE, 0, 7, 0, 0], &[]),
        words_and([FAILED, 0, 0, 0, 0], b"why"),
    ];
    real.extend(
        oxshmem_net::fuzz::batches()
            .iter()
            .map(|batch| words_and([BATCH, 0, 0, 0, 0], &oxshmem_base::fuzz::bytes_of(batch))),
    );
    real.extend(oxshmem_net::fuzz::heads().iter().map(|&[a, b, c, _]| words_and([OP, 0, a, b, c], &[])));
    let next = std::cell::Cell::new(0);
    oxshmem_base::fuzz::mutated(&real, |bytes| {
        let (words, bytes) = bytes.split_at_checked(size_of::<Words>()).unwrap_or_default();
        let Some(&[kind, number, a, b, c]) = oxshmem_base::fuzz::words_of(words).first_chunk() else {
            return;
        };
        // A request of the number that comes next, unless that was changed too.
        let number = if number == 0 { next.get() } else { number };
        if matches!(kind, BATCH | OP | PULL) && number == next.get() {
            next.set(number + 1);
        }
        Arc::clone(&core).notified(1, [kind, number, a, b, c], bytes.to_vec());
    });
}

#[test]
fn long_transfers_go_through_pieces_and_what_reads_comes_after_what_was_written() {
    const LEN: usize = 3 * pieces::PIECE + 8 * 77;
    for (link, latency) in [(Link::default(), Duration::ZERO), (jittered(), LATENCY)] {
        let (_wires, ends) = three_with_cores(link, latency);
        let heap = |(end, core): &(End, Arc<Core>)| core.owner.segments[0].address_unchecked(end.block, 0);
        for round in 1..=3u8 {
            // The first PE and the second put to each other and then get from each other.
            let pairs = [(&ends[0], 1), (&ends[1], 0)];
            for (here, pe) in &pairs {
                let from = heap(here);
                let (slot, done) = outcome();
                // SAFETY: nothing else is in the heap, which has room for as much, and stays.
                unsafe {
                    (0..LEN).for_each(|i| *from.wrapping_add(i) = (i / 8) as u8 ^ round ^ *pe as u8);
                    here.0.net.start(Op::put(on_device(*pe, 8), from, LEN), done);
                }
                let (last, expected) = (value(&here.0, on_device(*pe, LEN)), (LEN / 8 - 1) as u8);
                assert_eq!(last, u64::from_ne_bytes([expected ^ round ^ *pe as u8; 8]), "to PE {pe}");
                wait(&slot).as_ref().unwrap();
                flushed(&here.0, *pe);
            }
            let gets = pairs.map(|(here, pe)| {
                let (slot, done) = outcome();
                let mut there = vec![0u8; LEN];
                // SAFETY: the vector is kept until the get is over, below.
                unsafe { here.0.net.start(Op::get(on_device(pe, 8), there.as_mut_ptr(), LEN), done) };
                (slot, there, pe)
            });
            for (slot, there, pe) in &gets {
                wait(slot).as_ref().unwrap();
                let right = |(i, byte): (usize, &u8)| *byte == (i / 8) as u8 ^ round ^ *pe as u8;
                assert!(there.iter().enumerate().all(right), "from PE {pe}");
            }
        }
        let idle = |(_, core): &(End, Arc<Core>)| {
            let servers = lock(&core.servers);
            servers.values().all(|server| server.has_nothing_ready())
        };
        let limit = Instant::now() + Duration::from_secs(30);
        while !ends.iter().all(idle) {
            assert!(Instant::now() < limit, "pieces do not come back");
            thread::yield_now();
        }
    }
}
