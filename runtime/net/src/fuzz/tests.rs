//! Changed batches and heads.

use std::sync::Arc;

use oxshmem_base::fuzz::{bytes_of, mutated, words_of};
use oxshmem_memory::{HostMap, Segment, op::Verb};

use super::*;
use crate::{
    apply,
    batch::{decode, first_entry, perform},
};

const LEN: usize = 4096;

#[test]
fn batches_are_applied_or_refused_whatever_is_sent() {
    // The block before and the one behind are others', which nothing is to touch.
    let map = Arc::new(HostMap::new(3, 1 << 16).unwrap());
    let heap = Segment::new(SegmentId::Heap, Arc::clone(&map), 0, LEN);
    let real: Vec<_> = batches().iter().map(|words| bytes_of(words)).collect();
    mutated(&real, |bytes| {
        let words = words_of(bytes);
        // SAFETY: the memory is this test's, and mapped.
        let _ = unsafe { apply(&words, 1, &[&heap]) };
        let mut rest = &words[..];
        while let Ok((_, len)) = first_entry(rest) {
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
fn heads_are_performed_or_refused_whatever_is_sent() {
    let map = Arc::new(HostMap::new(1, 1 << 16).unwrap());
    let heap = Segment::new(SegmentId::Heap, map, 0, LEN);
    let real: Vec<_> = heads().iter().map(|head| bytes_of(head)).collect();
    mutated(&real, |bytes| {
        let Some(&head) = words_of(bytes).first_chunk() else { return };
        if let Ok(op) = decode(head)
            && let Verb::Atomic(operation, width) = op.verb
        {
            let _ = perform((op.there, operation, width), 0, &[&heap]);
        }
    });
}
