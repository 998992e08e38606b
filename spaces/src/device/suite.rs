//! What every device must do, as one test that any of them can be given.

use std::{
    future::poll_fn,
    sync::{Arc, mpsc::channel},
    time::Duration,
};

use oxshmem_base::{Result, settings::FenceSide};
use oxshmem_memory::word::{Atomic, Width};
use oxshmem_progress::{
    executor::Executor, fabric::Fabric, flight::Flight, nudge::Nudge, source::Source, suite::Way,
    wait::WaitPolicy,
};

use super::{AnyDevice, Blocks, Combine, Device, DevicePlace, End, Number, ReduceOp, numbers};

/// Runs the suite over a device that `make` makes, of 2 PEs and 64 KiB, zeroed: with the helper
/// alone, and then awaited in each of these ways to drive the engine. Panics at the first promise
/// that is broken.
pub fn check(ways: impl Iterator<Item = Way>, make: impl Fn(&Arc<Nudge>) -> AnyDevice) {
    let with_engine = || {
        let fabric = Fabric::new(1, 1 << 16, false).unwrap_or_else(|error| panic!("{error}"));
        let device = make(fabric.nudge());
        let policy = WaitPolicy::new(Duration::from_micros(2), 0, false);
        let engine = Executor::new(&fabric, 0, FenceSide::Writer, policy);
        let attached = engine.attach_sources(vec![Arc::clone(&device) as Arc<dyn Source>]);
        attached.unwrap_or_else(|error| panic!("{error}"));
        (engine, device)
    };
    let (engine, device) = with_engine();
    check_all(&*device);
    end(&engine, device);
    for way in ways {
        let (engine, device) = with_engine();
        way.run(&[Arc::clone(&engine)], awaited(Arc::clone(&engine), Arc::clone(&device)));
        end(&engine, device);
    }
}

/// Returns when nothing uses the device any more.
fn end(engine: &Executor, device: AnyDevice) {
    engine.close();
    while !engine.has_no_helper() {
        std::thread::sleep(Duration::from_micros(50));
    }
    drop(device);
}

/// Awaits operations, and polls nothing but futures.
async fn awaited(engine: Arc<Executor>, device: AnyDevice) {
    let place = DevicePlace { block: 1, offset: 64 };
    for round in 0..100_u64 {
        let flight: Arc<Flight<Result<u64>>> = Arc::default();
        let landing = Arc::clone(&flight);
        let done = Box::new(move |before| landing.land(before));
        // SAFETY: in bounds and aligned.
        unsafe { device.atomic(place, Width::Eight, Atomic::Add(3), done) };
        let before = poll_fn(|cx| engine.poll_with(|| flight.poll(cx))).await;
        assert_eq!(before.unwrap_or_else(|error| panic!("{error}")), 3 * round);
    }
}

fn check_all(device: &dyn Device) {
    assert!(device.segment().local_pes() >= 2 && device.segment().len() >= 64 << 10);
    bytes_arrive_and_come_back(device);
    copies_between_pes_happen_in_their_order(device);
    pieces_are_read_one_behind_the_other(device);
    atomics_return_what_was_there(device);
    atomics_of_threads_are_not_lost(device);
    blocks_go_between_memory_of_all_kinds(device);
    numbers_of_pes_are_combined(device);
    many_operations_of_threads_are_all_told(device);
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

fn pieces_are_read_one_behind_the_other(device: &dyn Device) {
    let mut source: Vec<u8> = (0..20_000).map(|i| (i % 251) as u8).collect();
    copy(device, End::Host(source.as_mut_ptr()), at(1, 64), source.len());
    let pieces = [(64, 8), (72, 0), (80, 8000), (8083, 5), (9000, 1), (9064, 11_000)];
    let mut read = vec![0; pieces.iter().map(|(_, len)| len).sum()];
    // SAFETY: in bounds, and as long together.
    unsafe { device.read_now(1, &pieces, &mut read) };
    let expected: Vec<u8> =
        pieces.iter().flat_map(|&(from, len)| source[from - 64..][..len].to_vec()).collect();
    assert!(read == expected);
    // SAFETY: there are none.
    unsafe { device.read_now(0, &[], &mut []) };
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
            // SAFETY: in bounds.
            unsafe {
                device.copy_now(End::Host(sent.as_mut_ptr()), at(block, offset), len);
                device.copy_now(at(block, offset), End::Host(back.as_mut_ptr()), len);
            }
            assert_eq!(sent, back, "{len} bytes at once at {offset}");
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

fn blocks_go_between_memory_of_all_kinds(device: &dyn Device) {
    // Of a length that is cut into bytes, words of 4 and words of 8, and of more than goes through
    // a buffer.
    for (len, count, from_stride, to_stride) in [
        (3, 5, 4, 7),
        (4, 9, 12, 8),
        (16, 20, 16, 24),
        (8, 1, 8, 8),
        (40, 400, 48, 41),
        (0, 3, 1, 1),
        (5, 0, 9, 9),
    ] {
        let blocks = Blocks { len, count, from_stride, to_stride };
        let room = 20_000;
        let source: Vec<u8> = (0..room).map(|i| (i * 7 + len + 1) as u8).collect();
        let mut expected = vec![0xaa; room];
        for i in 0..count {
            expected[i * to_stride..][..len].copy_from_slice(&source[i * from_stride..][..len]);
        }
        for (from_device, to_device) in [(false, true), (true, false), (true, true)] {
            let (mut from, mut to) = (source.clone(), vec![0xaa; room]);
            let ends = [(&mut from, at(0, 0)), (&mut to, at(1, 24 << 10))];
            for (memory, place) in ends {
                copy(device, End::Host(memory.as_mut_ptr()), place, room);
            }
            let from_end = if from_device { at(0, 0) } else { End::Host(from.as_mut_ptr()) };
            let to_end = if to_device { at(1, 24 << 10) } else { End::Host(to.as_mut_ptr()) };
            let (sender, told) = channel();
            // SAFETY: both ends have `room` bytes, which all blocks are in, and stay until this is
            // told.
            unsafe {
                let done = Box::new(move |done| sender.send(done).unwrap());
                device.copy_blocks(from_end, to_end, blocks, done);
            }
            told.recv().unwrap().unwrap();
            if to_device {
                copy(device, to_end, End::Host(to.as_mut_ptr()), room);
            }
            assert!(to == expected, "{blocks:?}, from a device: {from_device}, to one: {to_device}");
        }
    }
}

fn numbers_of_pes_are_combined(device: &dyn Device) {
    // More than a multiple of what threads have under way, and not at the start of the memory.
    const LEN: usize = 3001;
    const AT: usize = 64;
    for fold in ReduceOp::ALL {
        for number in Number::ALL.into_iter().filter(|&number| fold.takes(number)) {
            if !device.combines(fold, number, &[0, 1]) {
                continue;
            }
            // Any bits are numbers; of NaNs the payload is nobody's promise, so that there are
            // none.
            let value = |seed: usize| match number {
                Number::F32 => u64::from((seed as f32 * 0.37 - 300.0).to_bits()),
                Number::F64 => (seed as f64 * 0.37 - 300.0).to_bits(),
                _ => (seed as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15),
            };
            let bytes = LEN * number.size();
            let fill = |pe: usize| -> Vec<u64> {
                // Words of 8 bytes for their alignment, however wide the numbers are.
                let mut words = vec![0u64; bytes.div_ceil(8)];
                let memory = words.as_mut_ptr().cast::<u8>();
                for i in 0..LEN {
                    let value = value(i * 3 + pe * 1009).to_le_bytes();
                    // SAFETY: element `i` is inside.
                    unsafe {
                        std::ptr::copy_nonoverlapping(
                            value.as_ptr(),
                            memory.add(i * number.size()),
                            number.size(),
                        )
                    };
                }
                words
            };
            let mut operands = [fill(0), fill(1)];
            let mut expected = vec![0u64; bytes.div_ceil(8)];
            let host: Vec<*mut u8> = operands.iter_mut().map(|it| it.as_mut_ptr().cast()).collect();
            // SAFETY: all are aligned and as long.
            unsafe { numbers::combine(fold, number, &host, &[expected.as_mut_ptr().cast()], LEN) };
            let places = [0, 1].map(|block| DevicePlace { block, offset: AT });
            for (operand, place) in operands.iter_mut().zip(places) {
                copy(device, End::Host(operand.as_mut_ptr().cast()), End::Device(place), bytes);
            }
            // Into the memory of one of them, and elsewhere in that of the other.
            let to = [places[0], DevicePlace { block: 1, offset: 32 << 10 }];
            let (sender, told) = channel();
            let what = Combine { by: 1, fold, number, from: &places, to: &to, len: LEN };
            // SAFETY: all places are in bounds and aligned.
            unsafe { device.combine(what, Box::new(move |done| sender.send(done).unwrap())) };
            told.recv().unwrap().unwrap();
            for place in to {
                let mut got = vec![0u64; bytes.div_ceil(8)];
                copy(device, End::Device(place), End::Host(got.as_mut_ptr().cast()), bytes);
                assert!(got == expected, "{fold:?} of {number:?}");
            }
        }
    }
}

fn many_operations_of_threads_are_all_told(device: &dyn Device) {
    const THREADS: usize = 4;
    const EACH: usize = 300;
    let (sender, told) = channel();
    let mut sources = vec![[0u8; 700]; THREADS];
    std::thread::scope(|threads| {
        for (i, source) in sources.iter_mut().enumerate() {
            let sender = sender.clone();
            threads.spawn(move || {
                source.fill(i as u8 + 1);
                for round in 0..EACH {
                    let (sender, len) = (sender.clone(), 1 + round % 700);
                    // SAFETY: in bounds; the sources outlive all operations.
                    unsafe {
                        let done = Box::new(move |done| sender.send(done).unwrap());
                        device.copy(End::Host(source.as_mut_ptr()), at(round % 2, i * 1000), len, done);
                    }
                    device.poll();
                }
            });
        }
    });
    drop(sender);
    let outcomes: Vec<_> = told.iter().collect();
    assert_eq!(outcomes.len(), THREADS * EACH);
    assert!(outcomes.iter().all(Result::is_ok));
    for (i, source) in sources.iter().enumerate() {
        let mut back = [0; 100];
        copy(device, at(1, i * 1000), End::Host(back.as_mut_ptr()), 100);
        assert_eq!(back[..], source[..100]);
    }
}
