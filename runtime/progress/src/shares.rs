//! A vector that several PEs copy, each a part at a time that no other PE copies, by one word of
//! memory.
//!
//! The word has the number of the vector, in its upper half, and how many units of it are taken. A
//! PE that comes late finds another number there, and nothing to take.

#[cfg(not(all(test, oxshmem_loom)))]
use std::sync::atomic::{AtomicU64, Ordering};

// The words are shared memory, of which loom has none: only the model below has its own.
#[cfg(all(test, oxshmem_loom))]
use oxshmem_base::sync::{AtomicU64, Ordering};

/// The word of a vector with that number, of which so much is taken.
fn word(number: u64, taken: u64) -> u64 {
    // Numbers repeat after 2³¹ vectors, and stay clear of the highest bit.
    (number & 0x7fff_ffff) << 32 | taken
}

/// Nothing of the vector with that number is taken yet. What says that it is there follows, with
/// release.
pub fn begin(shared: &AtomicU64, number: u64) {
    // Relaxed: what says that the vector is there follows.
    shared.store(word(number, 0), Ordering::Relaxed);
}

/// Takes a part of the vector with that number, of `all` units, and at least `fewest` if
/// they are left: where it begins, and how many units it has.
pub fn take(shared: &AtomicU64, number: u64, all: u64, fewest: u64) -> Option<(u64, u64)> {
    // A guess, which costs nothing where nothing is taken.
    let mut seen = word(number, 0);
    loop {
        let from = seen.wrapping_sub(word(number, 0));
        if from >= all {
            return None;
        }
        // Half of what is left: few messages, and all are ready at about the same time.
        let count = (all - from).div_ceil(2).max(fewest).min(all - from);
        // Acquire and release: takes of one vector are in one order, and what a failed one finds is
        // a guess.
        match shared.compare_exchange(seen, seen + count, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) => return Some((from, count)),
            Err(other) => seen = other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(not(oxshmem_loom))]
    #[test]
    fn every_unit_is_taken_once_and_none_of_another_vector() {
        for (all, fewest) in [(1, 1), (7, 2), (1000, 512), (0, 1)] {
            let shared = AtomicU64::new(u64::MAX >> 1);
            begin(&shared, 3);
            assert_eq!(take(&shared, 2, all, fewest), None, "that one is over");
            let mut next = 0;
            while let Some((from, count)) = take(&shared, 3, all, fewest) {
                assert!(from == next && count > 0);
                next += count;
            }
            assert_eq!(next, all);
        }
    }

    #[cfg(oxshmem_loom)]
    mod model {
        use loom::{sync::Arc, thread};

        use super::*;

        /// Units of a vector.
        const UNITS: u64 = 2;

        /// The memory of a root and of one other PE.
        struct Memory {
            /// At the root: how much is taken, and of which vector.
            shared: AtomicU64,
            /// At the other: which vector is there.
            ready: AtomicU64,
            /// At the root, and at the other: how many units the other side has copied.
            taken: AtomicU64,
            given: AtomicU64,
            source: [AtomicU64; UNITS as usize],
            /// The destinations of the first vector and of the second.
            dests: [[AtomicU64; UNITS as usize]; 2],
        }

        impl Memory {
            fn new() -> Arc<Self> {
                let data = || [AtomicU64::new(0), AtomicU64::new(0)];
                let [shared, ready, taken, given] = [0; 4].map(AtomicU64::new);
                Arc::new(Self { shared, ready, taken, given, source: data(), dests: [data(), data()] })
            }

            /// Copies what is not taken yet, one unit at a time; how much that is.
            fn copy(&self, number: u64, counted: impl Fn()) -> u64 {
                let mut units = 0;
                while let Some((from, count)) = take(&self.shared, number, UNITS, 1) {
                    for unit in from..from + count {
                        let source = self.source[unit as usize].load(Ordering::Relaxed);
                        self.dests[number as usize - 1][unit as usize].store(source, Ordering::Relaxed);
                        units += 1;
                        counted();
                    }
                }
                units
            }

            /// The root's part. `expected` is what the other has taken of all so far.
            fn root(&self, number: u64, expected: &mut u64, waits: bool) {
                self.source.iter().for_each(|unit| unit.store(number, Ordering::Relaxed));
                begin(&self.shared, number);
                self.ready.store(number, Ordering::Release);
                let given = self.copy(number, || _ = self.given.fetch_add(1, Ordering::SeqCst));
                *expected += UNITS - given;
                while waits && self.taken.load(Ordering::Acquire) < *expected {
                    thread::yield_now();
                }
            }

            /// The other's.
            fn other(&self, number: u64, expected: &mut u64) {
                while self.ready.load(Ordering::Acquire) < number {
                    thread::yield_now();
                }
                let taken = self.copy(number, || ());
                if taken > 0 {
                    self.taken.fetch_add(taken, Ordering::SeqCst);
                }
                *expected += UNITS - taken;
                while self.given.load(Ordering::Acquire) < *expected {
                    thread::yield_now();
                }
                for unit in &self.dests[number as usize - 1] {
                    assert_eq!(unit.load(Ordering::Relaxed), number, "not this vector's");
                }
            }
        }

        /// This many vectors, one after the other.
        fn vectors(count: u64, root_waits: bool) {
            let mut model = loom::model::Builder::new();
            model.preemption_bound = Some(3);
            model.check(move || {
                let memory = Memory::new();
                let there = Arc::clone(&memory);
                let other = thread::spawn(move || {
                    let mut given = 0;
                    (1..=count).for_each(|number| there.other(number, &mut given));
                });
                let mut taken = 0;
                (1..=count).for_each(|number| memory.root(number, &mut taken, root_waits));
                other.join().unwrap();
            });
        }

        #[test]
        fn loom_a_vector_that_is_shared_out_comes_once() {
            vectors(1, true);
        }

        /// A PE that is late in the first finds nothing to take of the second, and nothing that is
        /// counted in the second is taken for the first's.
        #[test]
        fn loom_a_root_shares_out_the_next_when_all_of_one_is_taken() {
            vectors(2, true);
        }

        /// A root that did not wait until what was taken is copied would overwrite it: the model
        /// finds that.
        #[test]
        #[should_panic(expected = "not this vector's")]
        fn loom_a_root_that_does_not_wait_overwrites() {
            vectors(2, false);
        }
    }
}
