//! What shared memory must do.

use oxshmem_memory::Segment;

use super::*;

#[test]
fn shared_memory_keeps_what_it_promises_whichever_side_makes_the_barrier() {
    for side in [FenceSide::Writer, FenceSide::Sleeper] {
        let fabric = Arc::new(Fabric::new(3, 1 << 20, true).unwrap());
        let segment = Segment::new(SegmentId::Heap, Arc::clone(&fabric.heap), 4096, 1 << 19);
        let shm = Shm::new(fabric, side);
        bytes_arrive_and_come_back(&shm, &segment);
        atomics_return_what_was_there(&shm, &segment);
        signals_follow_their_data(&shm, &segment);
        concurrent_adds_are_not_lost(&shm, &segment);
    }
}

fn bytes_arrive_and_come_back(shm: &Shm, segment: &Segment) {
    for len in [0, 1, 3, 8, 17, 64, 1000, 4096, 60_000] {
        for offset in [0, 1, 7, 64] {
            let sent: Vec<u8> = (0..len).map(|i| (i * 31 + offset + 1) as u8).collect();
            let mut back = vec![0; len];
            let place = Place { segment, local_pe: 1, offset };
            // SAFETY: 64 + 60,000 bytes are in the segment; both vectors have `len`.
            unsafe {
                shm.put(place, sent.as_ptr(), len);
                shm.quiet();
                shm.get(place, back.as_mut_ptr(), len);
            }
            assert_eq!(sent, back, "{len} bytes at {offset}");
        }
    }
}

fn atomics_return_what_was_there(shm: &Shm, segment: &Segment) {
    let at = Place { segment, local_pe: 1, offset: 128 };
    // SAFETY: 128 is in bounds and aligned for 8 bytes.
    let run = |operation| unsafe { shm.atomic::<u64>(at, operation) };
    run(Atomic::Set(5));
    let steps = [
        (Atomic::Fetch, 5),
        (Atomic::Add(u64::MAX), 5),
        (Atomic::Swap(0b1100), 4),
        (Atomic::CompareSwap { cond: 1, value: 9 }, 0b1100),
        (Atomic::CompareSwap { cond: 0b1100, value: 0b1010 }, 0b1100),
        (Atomic::And(0b0110), 0b1010),
        (Atomic::Or(0b1001), 0b0010),
        (Atomic::Xor(0b1111), 0b1011),
        (Atomic::Fetch, 0b0100),
    ];
    for (operation, before) in steps {
        assert_eq!(run(operation), before, "{operation:?}");
    }
    // SAFETY: 132 is in bounds and aligned for 4 bytes.
    let half = |operation| unsafe { shm.atomic::<u32>(Place { offset: 132, ..at }, operation) };
    half(Atomic::Add(u32::MAX));
    assert_eq!(half(Atomic::Fetch), u32::MAX);
    assert_eq!(run(Atomic::Fetch) as u32, 0b0100, "a 4-byte operation leaves its neighbour alone");
}

fn signals_follow_their_data(shm: &Shm, segment: &Segment) {
    const ROUNDS: u64 = 2000;
    let (data, signal) =
        (Place { segment, local_pe: 1, offset: 4096 }, Place { segment, local_pe: 1, offset: 256 });
    let back = Place { segment, local_pe: 0, offset: 256 };
    // SAFETY: these offsets are in bounds and aligned, and 512 words at 4096 fit; so for all below.
    unsafe {
        shm.atomic(signal, Atomic::Set(0u64));
        shm.atomic(back, Atomic::Set(0u64));
    }
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 1..=ROUNDS {
                let sent = [round; 512];
                let update = if round % 2 == 0 { Signal::Set(round) } else { Signal::Add(1) };
                // SAFETY: see above.
                unsafe { shm.put_signal(data, sent.as_ptr().cast(), size_of_val(&sent), signal, update) };
                wait(shm, back, round);
            }
        });
        for round in 1..=ROUNDS {
            wait(shm, signal, round);
            let mut got = [0u64; 512];
            // SAFETY: see above.
            unsafe { shm.get(data, got.as_mut_ptr().cast(), size_of_val(&got)) };
            assert_eq!(got, [round; 512], "the data comes before its signal");
            // SAFETY: see above.
            unsafe { shm.atomic(back, Atomic::Set(round)) };
        }
    });
}

fn concurrent_adds_are_not_lost(shm: &Shm, segment: &Segment) {
    let at = Place { segment, local_pe: 0, offset: 512 };
    // SAFETY: in bounds and aligned.
    unsafe { shm.atomic(at, Atomic::Set(0u64)) };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..5000 {
                    // SAFETY: see above.
                    unsafe { shm.atomic(at, Atomic::Add(1u64)) };
                }
            });
        }
    });
    // SAFETY: see above.
    assert_eq!(unsafe { shm.atomic(at, Atomic::<u64>::Fetch) }, 20_000);
}

fn wait(shm: &Shm, at: Place<'_>, value: u64) {
    // SAFETY: the callers' places are in bounds and aligned.
    while unsafe { shm.atomic(at, Atomic::<u64>::Fetch) } < value {
        std::thread::yield_now();
    }
    fence(Ordering::Acquire);
}
