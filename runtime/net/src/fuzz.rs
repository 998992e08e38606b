//! Changed batches and questions.

use std::sync::Arc;

use oxshmem_base::fuzz::{bytes_of, mutated, words_of};
use oxshmem_memory::{
    HostMap, Segment, SegmentId,
    word::{Atomic, Signal},
};

use super::{
    Batch, Spot, Width, apply,
    batch::{first_entry, perform, question},
};

const LEN: usize = 4096;

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

#[test]
fn batches_are_applied_or_refused_whatever_is_in_them() {
    // The block before and the one behind are others', which nothing is to touch.
    let map = Arc::new(HostMap::new(3, 1 << 16).unwrap());
    let heap = Segment::new(SegmentId::Heap, Arc::clone(&map), 0, LEN);
    let real: Vec<_> = batches().iter().map(|words| bytes_of(words)).collect();
    mutated(&real, |bytes| {
        let words = words_of(bytes);
        // SAFETY: the memory is this test's, and mapped.
        let _ = unsafe { apply(&words, 1, &[&heap]) };
        let mut rest = &words[..];
        while let Ok((_, _, len)) = first_entry(rest) {
            rest = &rest[len..];
        }
        for block in [0, 2] {
            let at = heap.address(block, 0, LEN).unwrap();
            // SAFETY: it is mapped, and nothing writes there.
            assert!((0..LEN).all(|i| unsafe { at.add(i).read() } == 0));
        }
    });
}

#[test]
fn questions_are_answered_or_refused_whatever_they_ask() {
    let map = Arc::new(HostMap::new(1, 1 << 16).unwrap());
    let heap = Segment::new(SegmentId::Heap, map, 0, LEN);
    let real: Vec<_> = questions().iter().map(|question| bytes_of(question)).collect();
    mutated(&real, |bytes| {
        if let Some(&question) = words_of(bytes).first_chunk() {
            let _ = perform(question, 0, &[&heap]);
        }
    });
}
