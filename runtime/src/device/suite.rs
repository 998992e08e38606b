//! What every device must do, as one test that any of them can be given.

use std::sync::mpsc::channel;

use super::{Device, DevicePlace, End};
use crate::{net::Width, transport::Atomic};

/// Runs the suite over `device`, which must have 2 PEs and 64 KiB, zeroed. Panics at the first promise that is broken.
pub fn check(device: &dyn Device) {
    assert!(device.segment().blocks() >= 2 && device.segment().len() >= 64 << 10);
    bytes_arrive_and_come_back(device);
    copies_between_pes_happen_in_their_order(device);
    atomics_return_what_was_there(device);
    atomics_of_threads_are_not_lost(device);
}

/// Copies, and waits until it is told that this is over.
fn copy(device: &dyn Device, from: End, to: End, len: usize) {
    let (sender, told) = channel();
    // SAFETY: the callers' ends are in bounds, and stay until this returns.
    unsafe { device.copy(from, to, len, Box::new(move |done| sender.send(done).unwrap())) };
    told.recv().unwrap().unwrap();
}

fn at(block: usize, offset: usize) -> End {
    End::Device(DevicePlace { block, offset })
}

fn bytes_arrive_and_come_back(device: &dyn Device) {
    for len in [0, 1, 7, 64, 1000, 40_000] {
        for (block, offset) in [(0, 0), (1, 3), (1, 4096)] {
            let mut sent: Vec<u8> = (0..len).map(|i| (i * 31 + offset + block + 1) as u8).collect();
            let mut back = vec![0; len];
            copy(device, End::Host(sent.as_mut_ptr()), at(block, offset), len);
            copy(device, at(block, offset), End::Host(back.as_mut_ptr()), len);
            assert_eq!(sent, back, "{len} bytes at {offset}");
            back.fill(0);
            // SAFETY: in bounds.
            unsafe {
                device.fill_now(DevicePlace { block, offset }, 0xee, len);
                device.copy_now(at(block, offset), End::Host(back.as_mut_ptr()), len);
            }
            assert!(back.iter().all(|&byte| byte == 0xee));
        }
    }
}

fn copies_between_pes_happen_in_their_order(device: &dyn Device) {
    let mut words = [1u64, 2, 3, 4];
    let (sender, told) = channel();
    for (i, word) in words.iter_mut().enumerate() {
        let sender = sender.clone();
        // SAFETY: the word stays until all have been told.
        unsafe {
            let from = End::Host((&raw mut *word).cast());
            device.copy(from, at(1, 512), 8, Box::new(move |_| sender.send(i).unwrap()));
        }
    }
    device.flush(Box::new(move |_| sender.send(4).unwrap()));
    assert!(told.iter().eq(0..5));
    copy(device, at(1, 512), at(0, 520), 8);
    // SAFETY: in bounds and aligned.
    let word =
        unsafe { device.atomic_now(DevicePlace { block: 0, offset: 520 }, Width::Eight, Atomic::Fetch) };
    assert_eq!(word, words[3]);
}

fn atomics_return_what_was_there(device: &dyn Device) {
    let word = DevicePlace { block: 1, offset: 128 };
    let run = |at, width, operation| {
        let (sender, told) = channel();
        // SAFETY: 128 and 132 are in bounds and aligned.
        unsafe { device.atomic(at, width, operation, Box::new(move |before| sender.send(before).unwrap())) };
        told.recv().unwrap().unwrap()
    };
    run(word, Width::Eight, Atomic::Set(5));
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
        assert_eq!(run(word, Width::Eight, operation), before, "{operation:?}");
    }
    let half = DevicePlace { offset: 132, ..word };
    run(half, Width::Four, Atomic::Add(u32::MAX.into()));
    assert_eq!(run(half, Width::Four, Atomic::Fetch), u64::from(u32::MAX));
    let low = run(word, Width::Four, Atomic::Fetch);
    assert_eq!(low, 0b0100, "a 4-byte operation leaves its neighbour alone");
}

fn atomics_of_threads_are_not_lost(device: &dyn Device) {
    let word = DevicePlace { block: 0, offset: 256 };
    // SAFETY: in bounds and aligned; so for all below.
    unsafe { device.atomic_now(word, Width::Eight, Atomic::Set(0)) };
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                for _ in 0..200 {
                    // SAFETY: see above.
                    unsafe { device.atomic_now(word, Width::Eight, Atomic::Add(1)) };
                    // SAFETY: see above.
                    unsafe { device.atomic(word, Width::Eight, Atomic::Add(1), Box::new(drop)) };
                }
            });
        }
    });
    let (sender, told) = channel();
    device.flush(Box::new(move |_| sender.send(()).unwrap()));
    told.recv().unwrap();
    // SAFETY: see above.
    assert_eq!(unsafe { device.atomic_now(word, Width::Eight, Atomic::Fetch) }, 1600);
}
