//! Batches and questions as PEs send them, for tests that change them.

use oxshmem_memory::{
    SegmentId,
    word::{Atomic, Signal, Width},
};

use crate::{Batch, Spot, batch::question};

/// What PEs send: a put, a put with its signal, and many operations.
pub fn batches() -> Vec<Vec<u64>> {
    let spot = |segment, offset| Spot { pe: 0, segment, offset };
    let mut put = Batch::default();
    put.put(spot(SegmentId::Heap, 8), &[7; 100]);
    let mut with_signal = put.clone();
    with_signal.signal(spot(SegmentId::Heap, 512), Signal::Add(1));
    let mut many = Batch::default();
    for i in 0..12 {
        many.put(spot(SegmentId::Gpu, 8 * i), &[i as u8; 3]);
        many.update(spot(SegmentId::Heap, 16 * i), Width::Eight, Atomic::Xor(i as u64));
        many.update(spot(SegmentId::Gpu, 4 * i), Width::Four, Atomic::Add(i as u64));
    }
    [put, with_signal, many].into_iter().map(Batch::into_words).collect()
}

/// Numbers that travel in messages as questions do.
pub fn questions() -> Vec<[u64; 3]> {
    let at = Spot { pe: 0, segment: SegmentId::Heap, offset: 64 };
    let operations = [
        Atomic::Fetch,
        Atomic::Swap(3),
        Atomic::CompareSwap { cond: 0, value: 1 },
        Atomic::Add(5),
        Atomic::And(6),
    ];
    operations.into_iter().map(|operation| question(at, Width::Eight, operation)).collect()
}

#[cfg(test)]
mod tests;
