//! What every transport must do, as one test that any of them can be given.

use std::sync::atomic::Ordering;

use super::{Atomic, Place, Signal, Transport};
use crate::memory::Segment;

/// Runs the suite over `transport` and `segment`, which must have at least 2 PEs and 64 KiB, zeroed.
/// Panics at the first promise that is broken.
pub fn check(transport: &impl Transport, segment: &Segment) {
    assert!(segment.blocks() >= 2 && segment.len() >= 64 << 10);
    bytes_arrive_and_come_back(transport, segment);
    atomics_return_what_was_there(transport, segment);
    signals_follow_their_data(transport, segment);
    concurrent_adds_are_not_lost(transport, segment);
}

fn bytes_arrive_and_come_back(transport: &impl Transport, segment: &Segment) {
    for len in [0, 1, 3, 8, 17, 64, 1000, 4096, 60_000] {
        for offset in [0, 1, 7, 64] {
            let sent: Vec<u8> = (0..len).map(|i| (i * 31 + offset + 1) as u8).collect();
            let mut back = vec![0; len];
            let place = Place { segment, block: 1, offset };
            // SAFETY: 64 + 60,000 bytes are in the segment; both vectors have `len`.
            unsafe {
                transport.put(place, sent.as_ptr(), len);
                transport.quiet();
                transport.get(place, back.as_mut_ptr(), len);
            }
            assert_eq!(sent, back, "{len} bytes at {offset}");
        }
    }
}

fn atomics_return_what_was_there(transport: &impl Transport, segment: &Segment) {
    let at = Place { segment, block: 1, offset: 128 };
    // SAFETY: 128 is in bounds and aligned for 8 bytes.
    let run = |operation| unsafe { transport.atomic::<u64>(at, operation) };
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
    let half = |operation| unsafe { transport.atomic::<u32>(Place { offset: 132, ..at }, operation) };
    half(Atomic::Add(u32::MAX));
    assert_eq!(half(Atomic::Fetch), u32::MAX);
    assert_eq!(run(Atomic::Fetch) as u32, 0b0100, "a 4-byte operation leaves its neighbour alone");
}

fn signals_follow_their_data(transport: &impl Transport, segment: &Segment) {
    const ROUNDS: u64 = 2000;
    let (data, signal) =
        (Place { segment, block: 1, offset: 4096 }, Place { segment, block: 1, offset: 256 });
    let back = Place { segment, block: 0, offset: 256 };
    // SAFETY: these offsets are in bounds and aligned, and 512 words at 4096 fit; so for all below.
    unsafe {
        transport.atomic(signal, Atomic::Set(0u64));
        transport.atomic(back, Atomic::Set(0u64));
    }
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 1..=ROUNDS {
                let sent = [round; 512];
                let update = if round % 2 == 0 { Signal::Set(round) } else { Signal::Add(1) };
                // SAFETY: see above.
                unsafe {
                    transport.put_signal(data, sent.as_ptr().cast(), size_of_val(&sent), signal, update)
                };
                wait(transport, back, round);
            }
        });
        for round in 1..=ROUNDS {
            wait(transport, signal, round);
            let mut got = [0u64; 512];
            // SAFETY: see above.
            unsafe { transport.get(data, got.as_mut_ptr().cast(), size_of_val(&got)) };
            assert_eq!(got, [round; 512], "the data comes before its signal");
            // SAFETY: see above.
            unsafe { transport.atomic(back, Atomic::Set(round)) };
        }
    });
}

fn concurrent_adds_are_not_lost(transport: &impl Transport, segment: &Segment) {
    let at = Place { segment, block: 0, offset: 512 };
    // SAFETY: in bounds and aligned.
    unsafe { transport.atomic(at, Atomic::Set(0u64)) };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..5000 {
                    // SAFETY: see above.
                    unsafe { transport.atomic(at, Atomic::Add(1u64)) };
                }
            });
        }
    });
    // SAFETY: see above.
    assert_eq!(unsafe { transport.atomic(at, Atomic::<u64>::Fetch) }, 20_000);
}

fn wait(transport: &impl Transport, at: Place<'_>, value: u64) {
    // SAFETY: the callers' places are in bounds and aligned.
    while unsafe { transport.atomic(at, Atomic::<u64>::Fetch) } < value {
        std::thread::yield_now();
    }
    std::sync::atomic::fence(Ordering::Acquire);
}
