//! What every device must do, as one test that any of them can be given.

use std::{
    future::poll_fn,
    sync::{Arc, mpsc::channel},
    time::Duration,
};

use oxshmem_base::{Result, settings::FenceSide};
use oxshmem_memory::{
    op::{Blocks, Op},
    word::{Atomic, Width},
};
use oxshmem_net::suite::Reach;
use oxshmem_progress::{
    executor::Executor, fabric::Fabric, flight::Flight, helper_waker::HelperWaker, source::Source,
    suite::Way, wait::WaitPolicy,
};

use super::{AnyDevice, Combine, Device, DeviceOp, DevicePlace, End, Number, Pattern, ReduceOp, numbers};

/// Runs the suite over a device that `make` makes, of 2 PEs and 64 KiB, zeroed: with the helper
/// alone, and then awaited in each of these ways to drive the engine. Panics at the first promise
/// that is broken.
pub fn check(ways: impl Iterator<Item = Way>, make: impl Fn(&Arc<HelperWaker>) -> AnyDevice) {
    let with_engine = || {
        let fabric = Fabric::new(1, 1 << 16, false).unwrap_or_else(|error| panic!("{error}"));
        let device = make(fabric.helper_waker());
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
        unsafe { device.start(Op::atomic(place, Atomic::Add(3), Width::Eight), done) };
        let before = poll_fn(|cx| engine.poll_with(|| flight.poll(cx))).await;
        assert_eq!(before.unwrap_or_else(|error| panic!("{error}")), 3 * round);
    }
}

fn check_all(device: &dyn Device) {
    assert!(device.segment().local_pes() >= 2 && device.segment().len() >= 64 << 10);
    for block in [0, 1] {
        let at = |offset| DevicePlace { block, offset };
        Reach { way: device, at: &at, progress: &|| () }.check();
    }
    bytes_are_set_and_copied_at_once(device);
    copies_between_pes_happen_in_their_order(device);
    pieces_are_read_one_behind_the_other(device);
    atomics_of_threads_are_not_lost(device);
    blocks_go_between_memory_of_all_kinds(device);
    vectors_of_pes_are_combined(device);
    many_operations_of_threads_all_complete(device);
}

/// Copies, and waits until this is over.
fn copy(device: &dyn Device, from: End, to: End, len: usize) {
    let (sender, completed) = channel();
    // SAFETY: the callers' ends are in bounds, and stay until this returns.
    unsafe { device.start(transfer(from, to, len), Box::new(move |done| sender.send(done).unwrap())) };
    completed.recv().unwrap().unwrap();
}

/// Host memory.
fn host(address: *mut u8) -> End {
    address.into()
}

/// A copy, of which one end is on the device.
fn transfer(from: End, to: End, len: usize) -> DeviceOp {
    match (from, to) {
        (_, End::Device(place)) => Op::put(place, from, len),
        (End::Device(place), _) => Op::get(place, to, len),
        _ => panic!("neither end is on the device"),
    }
}

fn at(block: usize, offset: usize) -> End {
    End::Device(DevicePlace { block, offset })
}

fn pieces_are_read_one_behind_the_other(device: &dyn Device) {
    let mut source: Vec<u8> = (0..20_000).map(|i| (i % 251) as u8).collect();
    copy(device, host(source.as_mut_ptr()), at(1, 64), source.len());
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

fn bytes_are_set_and_copied_at_once(device: &dyn Device) {
    for len in [0, 1, 7, 64, 1000, 40_000] {
        for (block, offset) in [(0, 0), (1, 3), (1, 4096)] {
            let place = DevicePlace { block, offset };
            let mut sent: Vec<u8> = (0..len).map(|i| (i * 31 + offset + block + 1) as u8).collect();
            let mut back = vec![0; len];
            // SAFETY: in bounds.
            unsafe {
                device.fill_now(place, 0xee, len);
                device.now(Op::get(place, back.as_mut_ptr(), len));
            }
            assert!(back.iter().all(|&byte| byte == 0xee));
            // SAFETY: in bounds.
            unsafe {
                device.now(Op::put(place, sent.as_mut_ptr(), len));
                device.now(Op::get(place, back.as_mut_ptr(), len));
            }
            assert_eq!(sent, back, "{len} bytes at once at {offset}");
        }
    }
}

fn copies_between_pes_happen_in_their_order(device: &dyn Device) {
    let mut words = [1u64, 2, 3, 4];
    let (sender, completed) = channel();
    for (i, word) in words.iter_mut().enumerate() {
        let sender = sender.clone();
        // SAFETY: the word stays until all have completed.
        unsafe {
            let from = host((&raw mut *word).cast());
            device.start(transfer(from, at(1, 512), 8), Box::new(move |_| sender.send(i).unwrap()));
        }
    }
    device.flush(None, Box::new(move |_| sender.send(4).unwrap()));
    assert!(completed.iter().eq(0..5));
    copy(device, at(1, 512), at(0, 520), 8);
    // SAFETY: in bounds and aligned.
    let word =
        unsafe { device.now(Op::atomic(DevicePlace { block: 0, offset: 520 }, Atomic::Fetch, Width::Eight)) };
    assert_eq!(word, words[3]);
}

fn atomics_of_threads_are_not_lost(device: &dyn Device) {
    let word = DevicePlace { block: 0, offset: 256 };
    // SAFETY: in bounds and aligned; so for all below.
    unsafe { device.now(Op::atomic(word, Atomic::Set(0), Width::Eight)) };
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                for _ in 0..200 {
                    // SAFETY: see above.
                    unsafe { device.now(Op::atomic(word, Atomic::Add(1), Width::Eight)) };
                    // SAFETY: see above.
                    unsafe { device.start(Op::atomic(word, Atomic::Add(1), Width::Eight), Box::new(drop)) };
                }
            });
        }
    });
    let (sender, completed) = channel();
    device.flush(None, Box::new(move |_| sender.send(()).unwrap()));
    completed.recv().unwrap();
    // SAFETY: see above.
    assert_eq!(unsafe { device.now(Op::atomic(word, Atomic::Fetch, Width::Eight)) }, 1600);
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
                copy(device, host(memory.as_mut_ptr()), place, room);
            }
            let from_end = if from_device { at(0, 0) } else { host(from.as_mut_ptr()) };
            let to_end = if to_device { at(1, 24 << 10) } else { host(to.as_mut_ptr()) };
            let (sender, completed) = channel();
            // SAFETY: both ends have `room` bytes, which all blocks are in, and stay until this is
            // over.
            unsafe {
                let done = Box::new(move |done| sender.send(done).unwrap());
                let (there, here) =
                    if to_device { (to_stride, from_stride) } else { (from_stride, to_stride) };
                let blocks = Blocks { len, count, there, here };
                device.start(transfer(from_end, to_end, len).of_blocks(blocks), done);
            }
            completed.recv().unwrap().unwrap();
            if to_device {
                copy(device, to_end, host(to.as_mut_ptr()), room);
            }
            assert!(
                to == expected,
                "{count} of {len} bytes, from a device: {from_device}, to one: {to_device}"
            );
        }
    }
}

fn vectors_of_pes_are_combined(device: &dyn Device) {
    assert!(device.reaches(0, 0) && device.reaches(1, 1));
    assert!(device.device_of(0) != device.device_of(1) || device.reaches(0, 1));
    // Where devices do not reach each other, the operands are in one PE's memory.
    let other = usize::from(device.reaches(0, 1));
    for number in Number::ALL {
        for op in ReduceOp::ALL.into_iter().filter(|op| op.takes(number)) {
            check_combined(device, (Pattern::Reduce, op, number), other);
        }
        for pattern in [Pattern::InclusiveScan, Pattern::ExclusiveScan, Pattern::Copy] {
            check_combined(device, (pattern, ReduceOp::Sum, number), other);
        }
    }
}

/// Combines three operands, at addresses that are aligned to everything, and to their elements
/// only.
fn check_combined(device: &dyn Device, what: (Pattern, ReduceOp, Number), other: usize) {
    // More than a multiple of what threads have under way.
    const LEN: usize = 601;
    let (pattern, op, number) = what;
    let bytes = LEN * number.size();
    let fill = |pe: usize| -> Vec<u64> {
        // Words of 8 bytes for their alignment, however wide the elements are.
        let all: Vec<u8> = (0..LEN).flat_map(|i| element(number, i * 3 + pe * 1009)).collect();
        let words = all.chunks(8).map(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_ne_bytes(word)
        });
        words.collect()
    };
    for aside in [0, number.align()] {
        let place = |block, offset| DevicePlace { block, offset: offset + aside };
        let from = [place(0, 0), place(other, 10 << 10), place(0, 20 << 10)];
        // The first in place.
        let to = [from[0], place(other, 30 << 10), place(0, 40 << 10)];
        let mut operands = [fill(0), fill(1), fill(2)];
        for (operand, place) in operands.iter_mut().zip(from) {
            copy(device, host(operand.as_mut_ptr().cast()), End::Device(place), bytes);
        }
        let mut expected = vec![vec![0u64; bytes.div_ceil(8)]; 3];
        let inputs: Vec<*mut u8> = operands.iter_mut().map(|it| it.as_mut_ptr().cast()).collect();
        let results: Vec<*mut u8> = expected.iter_mut().map(|it| it.as_mut_ptr().cast()).collect();
        // SAFETY: all are aligned and as long.
        unsafe { numbers::combine(what, &inputs, &results, LEN) };
        let (sender, completed) = channel();
        let combine = Combine { by: 0, pattern, op, number, from: &from, to: &to, len: LEN };
        // SAFETY: all places are in bounds and aligned, and there are as many on both sides.
        unsafe { device.combine(combine, Box::new(move |done| sender.send(done).unwrap())) };
        completed.recv().unwrap().unwrap();
        for (i, place) in to.into_iter().enumerate() {
            let mut got = vec![0u64; bytes.div_ceil(8)];
            copy(device, End::Device(place), host(got.as_mut_ptr().cast()), bytes);
            let equal = match number {
                Number::F32 | Number::ComplexF32 => are_equal(&got, &expected[i], |word| {
                    [word as u32, (word >> 32) as u32].map(|bits| f32::from_bits(bits).into())
                }),
                Number::F64 | Number::ComplexF64 => {
                    are_equal(&got, &expected[i], |word| [f64::from_bits(word), 0.0])
                }
                _ => got == expected[i],
            };
            assert!(equal, "{pattern:?} of {op} of {number:?} into {place:?}");
        }
    }
}

/// Whether these are the same numbers; of a NaN the payload is no promise.
fn are_equal(got: &[u64], expected: &[u64], numbers: impl Fn(u64) -> [f64; 2]) -> bool {
    got.iter().zip(expected).all(|(&got, &expected)| {
        numbers(got)
            .iter()
            .zip(numbers(expected))
            .all(|(got, expected)| got.to_bits() == expected.to_bits() || got.is_nan() && expected.is_nan())
    })
}

/// The bytes of an element: any bits are an integer, and some reals are infinite.
fn element(number: Number, seed: usize) -> Vec<u8> {
    let real = |seed: usize| match seed % 29 {
        0 => f64::INFINITY,
        1 => -0.0,
        _ => seed as f64 * 0.37 - 300.0,
    };
    match number {
        Number::F32 => (real(seed) as f32).to_ne_bytes().to_vec(),
        Number::F64 => real(seed).to_ne_bytes().to_vec(),
        Number::ComplexF32 => [seed, seed / 2].map(|seed| (real(seed) as f32).to_ne_bytes()).concat(),
        Number::ComplexF64 => [seed, seed / 2].map(|seed| real(seed).to_ne_bytes()).concat(),
        integer => {
            let word = (seed as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            word.to_ne_bytes()[..integer.size()].to_vec()
        }
    }
}

fn many_operations_of_threads_all_complete(device: &dyn Device) {
    const THREADS: usize = 4;
    const EACH: usize = 300;
    let (sender, completed) = channel();
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
                        let put = transfer(host(source.as_mut_ptr()), at(round % 2, i * 1000), len);
                        device.start(put, done);
                    }
                    device.poll();
                }
            });
        }
    });
    drop(sender);
    let outcomes: Vec<_> = completed.iter().collect();
    assert_eq!(outcomes.len(), THREADS * EACH);
    assert!(outcomes.iter().all(Result::is_ok));
    for (i, source) in sources.iter().enumerate() {
        let mut back = [0; 100];
        copy(device, at(1, i * 1000), host(back.as_mut_ptr()), 100);
        assert_eq!(back[..], source[..100]);
    }
}
