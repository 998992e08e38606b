//! Random sequences of calls, compared with the model after every one.

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Call {
    Alloc(Layout),
    /// Frees one of the live blocks.
    Free(prop::sample::Index),
    /// Resizes one of the live blocks.
    Realloc(prop::sample::Index, usize),
    /// Frees whatever is at an offset.
    FreeAt(usize),
}

fn a_size() -> impl Strategy<Value = usize> {
    prop_oneof![4 => 1usize..200, 4 => 1usize..5000, 1 => 1usize..70_000]
}

fn a_layout() -> impl Strategy<Value = Layout> {
    let log_align = prop_oneof![3 => Just(0u32), 1 => 0u32..14];
    let hints = prop_oneof![3 => Just(0i64), 1 => 0i64..4];
    (a_size(), log_align, hints).prop_map(|(bytes, log_align, hints)| Layout {
        bytes,
        align: 1 << log_align,
        hints: Hints::from_bits(hints),
    })
}

fn a_call() -> impl Strategy<Value = Call> {
    prop_oneof![
        6 => a_layout().prop_map(Call::Alloc),
        4 => any::<prop::sample::Index>().prop_map(Call::Free),
        3 => (any::<prop::sample::Index>(), a_size()).prop_map(|(which, bytes)| Call::Realloc(which, bytes)),
        1 => (0usize..100_000).prop_map(Call::FreeAt),
    ]
}

/// Heap, model and their common live blocks.
struct Pair {
    heap: Heap,
    model: Model,
    held: Vec<(u64, Held)>,
    /// Whether a line was ever in a block.
    touched: Vec<bool>,
}

impl Pair {
    fn new(size: usize) -> Self {
        // The number of blocks searched is the allocator's, so that offsets can be compared
        // exactly.
        let model = Model::new(size, 32);
        Self { heap: Heap::new(size), model, held: Vec::new(), touched: vec![false; size / LINE] }
    }

    fn call(&mut self, call: &Call) {
        match call {
            Call::Alloc(layout) => {
                let found = self.heap.alloc(*layout);
                match self.model.alloc(*layout) {
                    None => self.assert_exhausted(found.unwrap_err(), layout),
                    Some(held) => {
                        let block = found.unwrap();
                        self.assert_same(&block, held);
                        self.touch(&block, block.offset);
                        self.held.push((block.id, held));
                    }
                }
            }
            Call::Free(which) if !self.held.is_empty() => {
                let (id, held) = self.held.swap_remove(which.index(self.held.len()));
                assert_eq!(self.heap.free(held.offset).unwrap().id, id);
                self.model.free(held);
            }
            Call::Realloc(which, bytes) if !self.held.is_empty() => {
                let which = which.index(self.held.len());
                self.realloc(which, *bytes);
            }
            Call::FreeAt(offset) if !self.held.iter().any(|(_, held)| held.offset == *offset) => {
                let before = self.heap.usage();
                assert!(matches!(self.heap.free(*offset), Err(HeapError::NotAllocated { .. })));
                assert_eq!(self.heap.usage(), before);
            }
            Call::Free(_) | Call::Realloc(..) | Call::FreeAt(_) => {}
        }
        check(&self.heap);
        // It goes on as it is on another PE.
        let size = self.heap.usage().size;
        self.heap = Heap::new(size).decoded(&self.heap.encode()).expect("these are its bytes");
        let usage = self.heap.usage();
        assert_eq!(self.heap.free_blocks(), self.model.free_blocks());
        assert_eq!((usage.used, usage.high_water), (self.model.used, self.model.high_water));
        assert_eq!((usage.peak_used, usage.blocks), (self.model.peak_used, self.held.len()));
    }

    fn realloc(&mut self, which: usize, bytes: usize) {
        let (id, held) = self.held[which];
        let layout = Layout { bytes, ..held.layout };
        let found = self.heap.realloc(held.offset, bytes);
        let Some(now) = self.model.realloc(held, bytes) else {
            self.assert_exhausted(found.unwrap_err(), &layout);
            assert_eq!(self.heap.get(held.offset).unwrap().bytes, held.layout.bytes);
            return;
        };
        let found = found.unwrap();
        let block = found.block();
        assert_eq!(block.id, id);
        self.assert_same(block, now);
        match found {
            Realloc::InPlace { .. } => {
                assert_eq!(now.offset, held.offset);
                self.touch(block, held.offset + held.size.min(now.size));
            }
            Realloc::Moved { from, copy, .. } => {
                assert_eq!((from, copy), (held.offset, held.layout.bytes.min(bytes)));
                assert!(block.end() <= from || from + held.size <= block.offset, "places overlap");
                self.touch(block, block.offset);
            }
        }
        self.held[which].1 = now;
    }

    fn assert_same(&self, block: &Block, held: Held) {
        assert_eq!((block.offset, block.size, block.bytes), (held.offset, held.size, held.layout.bytes));
        assert_eq!((block.hints, block.offset % held.layout.align), (held.layout.hints, 0));
    }

    fn assert_exhausted(&self, error: HeapError, layout: &Layout) {
        let HeapError::Exhausted(details) = error else { panic!("{error:?}") };
        assert_eq!(details.asked, layout.bytes);
        assert_eq!(details.largest, self.model.largest());
        assert_eq!(details.free, details.size - self.model.used);
    }

    /// Marks the lines of `block` from `new_from` on, after checking that those it calls fresh are
    /// unmarked.
    fn touch(&mut self, block: &Block, new_from: usize) {
        assert!(block.fresh_from >= new_from, "{block:?}");
        let fresh = block.fresh_from / LINE..block.end() / LINE;
        assert!(self.touched[fresh].iter().all(|touched| !touched), "{block:?}");
        self.touched[block.offset / LINE..block.end() / LINE].fill(true);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 200 } else { 2000 }))]

    #[test]
    fn the_heap_does_what_the_model_does(size in 0usize..200_000, calls in prop::collection::vec(a_call(), 0..120)) {
        let mut pair = Pair::new(size);
        for call in &calls {
            pair.call(call);
        }
        while let Some((_, held)) = pair.held.pop() {
            pair.heap.free(held.offset).unwrap();
            check(&pair.heap);
        }
        let usage = pair.heap.usage();
        prop_assert_eq!((usage.free, usage.free_blocks), (size / LINE * LINE, usize::from(size >= LINE)));
    }

    #[test]
    fn heaps_that_get_the_same_calls_are_the_same(calls in prop::collection::vec(a_call(), 0..80)) {
        let mut pairs = [Pair::new(150_000), Pair::new(150_000)];
        for call in &calls {
            for pair in &mut pairs {
                pair.call(call);
            }
            let [a, b] = &pairs;
            prop_assert_eq!(a.heap.usage(), b.heap.usage());
            prop_assert!(a.heap.live().eq(b.heap.live()));
        }
    }
}

/// A generator of fixed sequences (xorshift64*).
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 16) as usize % bound
    }

    /// From 1 byte to a mebibyte, every power of two as likely as the next.
    fn size(&mut self) -> usize {
        let most = 1 << self.below(21);
        1 + self.below(most)
    }
}

/// `calls` random calls on a heap and on an exact best fit. Prints and bounds how much memory each
/// needs.
fn soak(seed: u64, calls: usize) {
    let size = 1 << 40;
    let (mut heap, mut exact) = (Heap::new(size), Model::new(size, usize::MAX));
    let mut live: Vec<(usize, Held)> = Vec::new();
    let mut rng = Rng(seed);
    for call in 0..calls {
        // The number of live blocks rises to 1,500 and falls to 500 over and over.
        let rising = call / 10_000 % 2 == 0;
        let kind = rng.below(100);
        if live.is_empty() || (kind < if rising { 45 } else { 35 } && live.len() < 1500) {
            let align = if rng.below(10) == 0 { 1 << rng.below(17) } else { 1 };
            let hints = Hints::from_bits(if rng.below(8) == 0 { 1 + rng.below(3) as i64 } else { 0 });
            let layout = Layout { bytes: rng.size(), align, hints };
            live.push((heap.alloc(layout).unwrap().offset, exact.alloc(layout).unwrap()));
        } else if kind < 80 {
            let (offset, held) = live.swap_remove(rng.below(live.len()));
            heap.free(offset).unwrap();
            exact.free(held);
        } else {
            let which = rng.below(live.len());
            let (offset, held) = live[which];
            let bytes = rng.size();
            let now = heap.realloc(offset, bytes).unwrap().block().offset;
            live[which] = (now, exact.realloc(held, bytes).unwrap());
        }
    }
    check(&heap);
    let usage = heap.usage();
    let waste = usage.high_water as f64 / usage.peak_used as f64;
    let against_exact = usage.high_water as f64 / exact.high_water as f64;
    // Fragmentation of what lies below the high-water mark: all of the rest is one block.
    let below = usage.free - (size - usage.high_water);
    println!(
        "seed {seed:#x}, {calls} calls: {} live, high water {waste:.3} of the peak, {against_exact:.4} of an exact \
         best fit, {:.1}% of it free in {} blocks",
        usage.blocks,
        100.0 * below as f64 / usage.high_water as f64,
        usage.free_blocks,
    );
    assert!(against_exact <= 1.05, "high water {against_exact} of an exact best fit");
    assert!(waste <= 1.5, "high water {waste} of the peak");
    for (offset, _) in live {
        heap.free(offset).unwrap();
    }
    check(&heap);
    assert_eq!(heap.free_blocks(), [(0, size)]);
    assert_eq!(heap.usage().used, 0);
}

#[test]
fn a_million_random_calls_need_within_a_twentieth_the_memory_of_an_exact_best_fit() {
    let calls = if cfg!(debug_assertions) { 30_000 } else { 500_000 };
    if cfg!(debug_assertions) {
        println!(
            "{calls} calls a seed instead of 500000: the model's linear search is slow without optimization"
        );
    }
    for seed in [0x9e37_79b9_7f4a_7c15, 0x5851_f42d_4c95_7f2d] {
        soak(seed, calls);
    }
}
