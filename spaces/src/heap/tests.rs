//! Each rule of the heap by itself, then all of them against the model on random sequences of
//! calls.

use super::{
    model::{Held, Model, is_exhausted},
    *,
};

mod random;

const KIB: usize = 1 << 10;
const GIB: usize = 1 << 30;

fn bytes(bytes: usize) -> Layout {
    Layout::new(bytes)
}

fn aligned(bytes: usize, align: usize) -> Layout {
    Layout { align, ..Layout::new(bytes) }
}

fn hinted(bytes: usize, hints: Hints) -> Layout {
    Layout { hints, ..Layout::new(bytes) }
}

/// A heap in which blocks of `sizes` bytes lie one after the other, and their offsets.
fn row(size: usize, sizes: &[usize]) -> (Heap, Vec<usize>) {
    let mut heap = Heap::new(size);
    let offsets = sizes.iter().map(|&size| heap.alloc(bytes(size)).unwrap().offset).collect();
    (heap, offsets)
}

/// Panics unless live and free blocks tile the heap, free ones never touch, and the counts agree.
fn check(heap: &Heap) {
    let usage = heap.usage();
    let free = heap.free_blocks();
    let mut pieces: Vec<(usize, usize, bool)> = free.iter().map(|&(at, size)| (at, size, true)).collect();
    pieces.extend(heap.live().map(|block| (block.offset, block.size, false)));
    pieces.sort_unstable();
    let mut end = 0;
    let mut after_free = false;
    for &(offset, size, is_free) in &pieces {
        assert_eq!(offset, end, "gap or overlap");
        assert!(size > 0 && size % LINE == 0 && offset % LINE == 0, "{offset} {size}");
        assert!(!(after_free && is_free), "free blocks touch at {offset}");
        (end, after_free) = (offset + size, is_free);
    }
    assert_eq!(end, usage.size);
    let mut last_id = 0;
    for block in heap.live() {
        assert!(block.id > last_id, "not in order of id");
        last_id = block.id;
        assert_eq!(block.offset % block.align, 0, "{block:?}");
        assert!(block.bytes <= block.size && block.size < block.bytes + 2 * LINE, "{block:?}");
        assert!((block.offset..=block.end()).contains(&block.fresh_from), "{block:?}");
        assert!(block.end() <= usage.high_water, "{block:?}");
        assert_eq!(heap.get(block.offset), Some(block));
        assert_eq!(heap.containing(block.end() - 1), Some(block));
    }
    assert_eq!(usage.used, heap.live().map(|block| block.size).sum::<usize>());
    assert_eq!(usage.free, free.iter().map(|&(_, size)| size).sum::<usize>());
    assert_eq!(usage.used + usage.free, usage.size);
    assert_eq!(usage.largest_free, free.iter().map(|&(_, size)| size).max().unwrap_or(0));
    assert_eq!((usage.blocks, usage.free_blocks), (heap.live().count(), free.len()));
    assert_eq!(usage.allocations - usage.frees, usage.blocks as u64);
    assert!(usage.used <= usage.peak_used && usage.peak_used <= usage.high_water);
    assert!((0.0..=1.0).contains(&usage.fragmentation()));
}

#[test]
fn an_empty_heap_is_one_free_block_of_whole_lines() {
    let usage = Heap::new(1000).usage();
    assert_eq!((usage.size, usage.free, usage.largest_free, usage.free_blocks), (960, 960, 960, 1));
    assert_eq!((usage.used, usage.blocks, usage.high_water), (0, 0, 0));
    assert_eq!(Heap::new(63).usage().free_blocks, 0);
    assert!(is_exhausted(&Heap::new(0).alloc(bytes(1))));
}

#[test]
fn every_block_has_its_lines_to_itself() {
    let (heap, offsets) = row(KIB, &[1, 64, 65, 1]);
    assert_eq!(offsets, [0, 64, 128, 256]);
    assert_eq!(heap.usage().used, 5 * LINE);
    check(&heap);
}

#[test]
fn a_whole_heap_can_be_allocated_and_not_a_byte_more() {
    let mut heap = Heap::new(KIB);
    assert!(is_exhausted(&heap.alloc(bytes(KIB + 1))));
    assert_eq!(heap.alloc(bytes(KIB)).unwrap().size, KIB);
    let error = heap.alloc(aligned(1, 8)).unwrap_err();
    let details = Exhausted { asked: 1, align: 8, free: 0, largest: 0, size: KIB };
    assert_eq!(error, HeapError::Exhausted(details));
    assert_eq!(heap.usage().fragmentation(), 0.0);
    check(&heap);
}

#[test]
fn the_smallest_block_that_has_room_is_taken() {
    let (mut heap, at) = row(8 * KIB, &[512, 64, 128, 64, 256, 64]);
    for index in [0, 2, 4] {
        heap.free(at[index]).unwrap();
    }
    assert_eq!(heap.alloc(bytes(200)).unwrap().offset, at[4]);
    assert_eq!(heap.alloc(bytes(128)).unwrap().offset, at[2]);
    assert_eq!(heap.alloc(bytes(1)).unwrap().offset, at[0]);
    check(&heap);
}

#[test]
fn of_equal_blocks_the_lowest_is_taken() {
    let (mut heap, at) = row(4 * KIB, &[128, 64, 128, 64, 128, 64]);
    for index in [4, 0, 2] {
        heap.free(at[index]).unwrap();
    }
    let taken: Vec<_> = (0..3).map(|_| heap.alloc(bytes(128)).unwrap().offset).collect();
    assert_eq!(taken, [at[0], at[2], at[4]]);
}

#[test]
fn a_freed_block_joins_both_neighbours() {
    let (mut heap, at) = row(256, &[64, 64, 64, 64]);
    for (index, free_blocks) in [(0, 1), (2, 2), (1, 1), (3, 1)] {
        heap.free(at[index]).unwrap();
        assert_eq!(heap.usage().free_blocks, free_blocks);
        check(&heap);
    }
    assert_eq!(heap.usage().largest_free, 256);
}

#[test]
fn what_an_alignment_skips_stays_free() {
    let mut heap = Heap::new(64 * KIB);
    heap.alloc(bytes(1)).unwrap();
    let block = heap.alloc(aligned(100, 4096)).unwrap();
    assert_eq!((block.offset, block.size, block.align), (4096, 128, 4096));
    assert_eq!(heap.free_blocks(), [(64, 4032), (4224, 64 * KIB - 4224)]);
    assert_eq!(heap.alloc(bytes(4032)).unwrap().offset, 64);
    check(&heap);
}

#[test]
fn an_alignment_may_be_a_gibibyte_in_a_heap_of_terabytes() {
    let mut heap = Heap::new(8 << 40);
    heap.alloc(bytes(1)).unwrap();
    for index in 1..=3 {
        assert_eq!(heap.alloc(aligned(1, MAX_ALIGN)).unwrap().offset, index * GIB);
    }
    assert_eq!(heap.alloc(bytes(5 << 40)).unwrap().offset, 3 * GIB + 64);
    check(&heap);
}

#[test]
fn an_alignment_that_is_no_power_of_two_or_too_large_is_refused() {
    let mut heap = Heap::new(8 * GIB);
    for align in [0, 3, 96, 2 * MAX_ALIGN, usize::MAX] {
        assert_eq!(heap.alloc(aligned(1, align)), Err(HeapError::InvalidAlignment { align }));
    }
    for align in [1, 2, 32] {
        assert_eq!(heap.alloc(aligned(1, align)).unwrap().align, LINE);
    }
    assert_eq!(heap.usage().allocations, 3);
}

#[test]
fn nothing_is_aligned_to_more_than_the_segment_has() {
    // Its base may be no multiple of more, so that offset 0 is none either.
    let mut heap = Heap::new(64 * KIB);
    assert!(is_exhausted(&heap.alloc(aligned(64, 128 * KIB))));
    assert_eq!(heap.alloc(aligned(64, 64 * KIB)).unwrap().offset, 0);
    let mut behind = Heap::at(64 * KIB, 64 * KIB + 128, 1);
    assert_eq!(behind.alloc(aligned(64, 128 * KIB)).unwrap().offset, 128 * KIB);
    assert!(is_exhausted(&behind.alloc(aligned(64, 256 * KIB))));
    check(&heap);
}

#[test]
fn zero_bytes_are_refused() {
    let (mut heap, at) = row(KIB, &[64]);
    assert_eq!(heap.alloc(bytes(0)), Err(HeapError::ZeroBytes));
    assert_eq!(heap.realloc(at[0], 0), Err(HeapError::ZeroBytes));
    assert_eq!(heap.usage().blocks, 1);
    check(&heap);
}

#[test]
fn sizes_near_the_largest_number_are_refused_without_overflow() {
    let mut heap = Heap::new(usize::MAX);
    let offset = heap.alloc(bytes(64)).unwrap().offset;
    heap.alloc(bytes(64)).unwrap();
    for size in [usize::MAX, usize::MAX - 63, usize::MAX - 64] {
        for layout in [bytes(size), aligned(size, MAX_ALIGN), hinted(size, Hints::SIGNAL_REMOTE)] {
            assert!(is_exhausted(&heap.alloc(layout)), "{layout:?}");
        }
        assert!(is_exhausted(&heap.realloc(offset, size)), "{size}");
    }
    heap.alloc(bytes(usize::MAX - 255)).unwrap();
    assert_eq!(heap.usage().free, 64);
    assert!(is_exhausted(&heap.alloc(aligned(64, MAX_ALIGN))));
    check(&heap);
}

#[test]
fn a_block_with_hints_has_pairs_of_lines_to_itself() {
    for hints in [Hints::ATOMICS_REMOTE, Hints::SIGNAL_REMOTE, Hints::ATOMICS_REMOTE | Hints::SIGNAL_REMOTE] {
        let mut heap = Heap::new(KIB);
        heap.alloc(bytes(1)).unwrap();
        let block = heap.alloc(hinted(8, hints)).unwrap();
        assert_eq!((block.offset, block.size, block.align, block.hints), (128, 128, 128, hints));
        assert_eq!(heap.alloc(bytes(1)).unwrap().offset, 64);
        assert_eq!(heap.alloc(bytes(1)).unwrap().offset, 256);
        check(&heap);
    }
}

#[test]
fn hints_combine_like_the_bits_of_c() {
    let both = Hints::ATOMICS_REMOTE | Hints::SIGNAL_REMOTE;
    assert!(both.contains(Hints::SIGNAL_REMOTE) && both.contains(both) && both.contains(Hints::NONE));
    assert!(!Hints::ATOMICS_REMOTE.contains(Hints::SIGNAL_REMOTE) && !Hints::NONE.contains(both));
    assert_eq!(Hints::from_bits(both.bits()), both);
    assert_eq!(Hints::from_bits(-1), both);
    assert!(Hints::from_bits(4).is_empty());
    assert_eq!(format!("{both:?} {:?}", Hints::NONE), "Hints(ATOMICS_REMOTE | SIGNAL_REMOTE) Hints()");
}

#[test]
fn a_free_that_names_no_block_says_so_and_changes_nothing() {
    let (mut heap, at) = row(KIB, &[128, 64]);
    let before = heap.usage();
    let inside = heap.free(at[0] + 64).unwrap_err();
    assert_eq!(inside, HeapError::NotAllocated { offset: 64, within: heap.get(0).copied() });
    assert!(inside.to_string().contains("inside the allocation of 128 bytes at offset 0"), "{inside}");
    for offset in [512, KIB, usize::MAX] {
        assert_eq!(heap.free(offset), Err(HeapError::NotAllocated { offset, within: None }));
        assert_eq!(heap.realloc(offset, 1), Err(HeapError::NotAllocated { offset, within: None }));
    }
    assert_eq!(heap.usage(), before);
    heap.free(at[0]).unwrap();
    let twice = heap.free(at[0]).unwrap_err();
    assert!(twice.to_string().contains("freed already"), "{twice}");
    check(&heap);
}

#[test]
fn a_block_grows_where_it_is_if_what_follows_is_free() {
    let (mut heap, at) = row(KIB, &[64, 128, 64]);
    heap.free(at[1]).unwrap();
    let Realloc::InPlace { block } = heap.realloc(at[0], 192).unwrap() else { panic!("moved") };
    assert_eq!((block.offset, block.bytes, block.size, block.id), (0, 192, 192, 1));
    assert_eq!(heap.usage().free_blocks, 1);
    assert_eq!(heap.usage().reallocations, 1);
    check(&heap);
}

#[test]
fn a_block_that_shrinks_stays_and_gives_back_its_lines() {
    let (mut heap, at) = row(KIB, &[256, 64]);
    let Realloc::InPlace { block } = heap.realloc(at[0], 65).unwrap() else { panic!("moved") };
    assert_eq!((block.offset, block.bytes, block.size), (0, 65, 128));
    assert_eq!(heap.free_blocks()[0], (128, 128));
    check(&heap);
    // Within its lines a block may also grow again without the heap noticing.
    assert_eq!(heap.realloc(at[0], 128).unwrap().block().size, 128);
    assert_eq!(heap.free_blocks()[0], (128, 128));
}

#[test]
fn a_block_that_cannot_grow_moves_and_says_what_to_copy() {
    let (mut heap, at) = row(KIB, &[100, 64]);
    let moved = heap.realloc(at[0], 300).unwrap();
    let Realloc::Moved { from, copy, block } = moved else { panic!("in place") };
    assert_eq!((from, copy, block.offset, block.bytes, block.id), (0, 100, 192, 300, 1));
    assert_eq!(heap.free_blocks()[0], (0, 128));
    assert_eq!(heap.usage().peak_used, 128 + 64 + 320);
    check(&heap);
}

#[test]
fn a_block_that_has_no_room_to_grow_is_unchanged() {
    let (mut heap, at) = row(KIB, &[512, 64]);
    let before = (*heap.get(at[0]).unwrap(), heap.usage());
    assert!(is_exhausted(&heap.realloc(at[0], 513)));
    assert_eq!((*heap.get(at[0]).unwrap(), heap.usage()), before);
    check(&heap);
}

#[test]
fn a_resized_block_keeps_alignment_and_hints() {
    let mut heap = Heap::new(64 * KIB);
    let layout = Layout { bytes: 8, align: 4096, hints: Hints::SIGNAL_REMOTE };
    let first = heap.alloc(layout).unwrap();
    heap.alloc(bytes(64)).unwrap();
    let moved = *heap.realloc(first.offset, 200).unwrap().block();
    assert_eq!((moved.offset, moved.size, moved.align, moved.hints), (4096, 256, 4096, Hints::SIGNAL_REMOTE));
    let grown = *heap.realloc(moved.offset, 300).unwrap().block();
    assert_eq!((grown.offset, grown.size, grown.align, grown.hints), (4096, 384, 4096, Hints::SIGNAL_REMOTE));
    check(&heap);
}

#[test]
fn a_block_knows_from_where_on_its_bytes_are_new() {
    let mut heap = Heap::new(4 * KIB);
    let first = heap.alloc(bytes(256)).unwrap();
    assert_eq!(first.fresh_from, first.offset);
    heap.free(first.offset).unwrap();
    let again = heap.alloc(bytes(512)).unwrap();
    assert_eq!((again.offset, again.fresh_from), (0, 256));
    let Realloc::InPlace { block } = heap.realloc(0, 128).unwrap() else { panic!("moved") };
    assert_eq!(block.fresh_from, 128);
    let Realloc::InPlace { block } = heap.realloc(0, 1024).unwrap() else { panic!("moved") };
    assert_eq!((block.fresh_from, heap.usage().high_water), (512, 1024));
    heap.free(0).unwrap();
    let inside = heap.alloc(bytes(64)).unwrap();
    assert_eq!((inside.fresh_from, heap.usage().high_water), (64, 1024));
}

#[test]
fn live_blocks_come_in_the_order_of_their_numbers_even_when_moved() {
    let (mut heap, at) = row(4 * KIB, &[64, 64, 64]);
    heap.realloc(at[0], 512).unwrap();
    heap.free(at[1]).unwrap();
    heap.alloc(bytes(1)).unwrap();
    let ids: Vec<_> = heap.live().map(|block| block.id).collect();
    assert_eq!(ids, [1, 3, 4]);
    let offsets: Vec<_> = heap.live().map(|block| block.offset).collect();
    assert_eq!(offsets, [192, 128, 0]);
}

#[test]
fn a_byte_is_known_to_belong_to_its_block() {
    let (mut heap, at) = row(KIB, &[64, 100, 64]);
    heap.free(at[2]).unwrap();
    assert_eq!(heap.containing(at[1] + 127).map(|block| block.id), Some(2));
    assert_eq!(heap.containing(at[2]), None);
    assert_eq!(heap.containing(usize::MAX), None);
}

/// A heap in which `count` free blocks of 4096 bytes all start a line behind a multiple of 4096.
/// Behind them `skip` bytes are live and `tail` bytes free.
fn awkward(count: usize, skip: usize, tail: usize) -> Heap {
    let mut heap = Heap::new(LINE + count * 8192 + skip + tail);
    heap.alloc(bytes(LINE)).unwrap();
    let mut holes = Vec::new();
    for _ in 0..count {
        holes.push(heap.alloc(bytes(4096)).unwrap().offset);
        heap.alloc(bytes(4096)).unwrap();
    }
    heap.alloc(bytes(skip)).unwrap();
    for hole in holes {
        heap.free(hole).unwrap();
    }
    heap
}

#[test]
fn many_blocks_that_lack_room_for_an_alignment_do_not_hide_one_that_has_it() {
    for count in [1, 31, 32, 33, 34, 100] {
        // Behind the holes: room wherever it starts, then room only because it starts at a
        // multiple.
        for (skip, tail) in [(LINE, 64 * KIB), (4032, 4096)] {
            let mut heap = awkward(count, skip, tail);
            let block = heap.alloc(aligned(4096, 4096)).unwrap();
            assert_eq!(block.offset, count * 8192 + 4096, "{count} {tail}");
            check(&heap);
        }
        assert!(is_exhausted(&awkward(count, LINE, 4096).alloc(aligned(4096, 4096))), "{count}");
    }
}
