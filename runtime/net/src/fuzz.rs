//! Batches and heads of operations as PEs send them, for tests that change them.

use oxshmem_memory::{
    SegmentId,
    op::{Blocks, Op, Spot},
    word::{Atomic, Width},
};

use crate::{
    Batch,
    batch::{Head, encode},
};

/// What PEs send: a put, a put with its signal, and many operations.
pub fn batches() -> Vec<Vec<u64>> {
    let spot = |segment, offset| Spot { pe: 0, segment, offset };
    let mut put = Batch::default();
    put.put(spot(SegmentId::Heap, 8), &[7; 100]);
    let mut with_signal = put.clone();
    with_signal.update(spot(SegmentId::Heap, 512), Atomic::Add(1), Width::Eight);
    let mut many = Batch::default();
    for i in 0..12 {
        many.put(spot(SegmentId::Gpu, 8 * i), &[i as u8; 3]);
        many.update(spot(SegmentId::Heap, 16 * i), Atomic::Xor(i as u64), Width::Eight);
        many.update(spot(SegmentId::Gpu, 4 * i), Atomic::Add(i as u64), Width::Four);
    }
    [put, with_signal, many].into_iter().map(Batch::into_words).collect()
}

/// Heads of operations that are answered.
pub fn heads() -> Vec<Head> {
    let at = Spot { pe: 0, segment: SegmentId::Heap, offset: 64 };
    let operations = [
        Atomic::Fetch,
        Atomic::Swap(3),
        Atomic::CompareSwap { cond: 0, value: 1 },
        Atomic::Add(5),
        Atomic::And(6),
    ];
    let mut ops: Vec<Op> = operations.map(|operation| Op::atomic(at, operation, Width::Eight)).into();
    let blocks = Blocks { len: 8, count: 100, there: 24, here: 8 };
    let to = std::ptr::null_mut::<u8>();
    ops.extend([Op::get(at, to, 4000), Op::get(at, to, 0).of_blocks(blocks)]);
    ops.iter().map(encode).collect()
}

#[cfg(test)]
mod tests;
