//! The protocol by which the copies of a broadcast are shared out, on its own, for loom.
//!
//! Here, because this is the room that is built for loom. It is what `share` and `direct` in `oxshmem-teams` do: data is loaded and
//! stored relaxed, and whoever counts what it has copied does so behind it.

use loom::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

/// Parts of a broadcast.
const PARTS: u64 = 2;

/// The memory of a root and of one other PE.
struct Memory {
    /// At the root: which broadcast it is, and how much of it is taken.
    word: AtomicU64,
    /// At the other: which broadcast the root has come to.
    notice: AtomicU64,
    /// At the root, and at the other: how many parts of all broadcasts somebody else has copied.
    taken: AtomicU64,
    given: AtomicU64,
    source: [AtomicU64; PARTS as usize],
    /// The destinations of the first broadcast and of the second.
    dests: [[AtomicU64; PARTS as usize]; 2],
}

impl Memory {
    fn new() -> Arc<Self> {
        let data = || [AtomicU64::new(0), AtomicU64::new(0)];
        let [word, notice, taken, given] = [0; 4].map(AtomicU64::new);
        Arc::new(Self { word, notice, taken, given, source: data(), dests: [data(), data()] })
    }

    /// Copies what nobody has taken yet of a broadcast, one part at a time; how much that is.
    fn copy(&self, number: u64, counted: impl Fn()) -> u64 {
        let mut parts = 0;
        let mut seen = number << 32;
        while seen.wrapping_sub(number << 32) < PARTS {
            match self.word.compare_exchange(seen, seen + 1, Ordering::SeqCst, Ordering::SeqCst) {
                Ok(_) => {
                    let part = (seen & 0xffff_ffff) as usize;
                    let dest = &self.dests[number as usize - 1];
                    dest[part].store(self.source[part].load(Ordering::Relaxed), Ordering::Relaxed);
                    parts += 1;
                    counted();
                    seen += 1;
                }
                Err(other) => seen = other,
            }
        }
        parts
    }

    /// The root's part of a broadcast. `expected` is what others have taken of all so far.
    fn root(&self, number: u64, expected: &mut u64, waits: bool) {
        for part in &self.source {
            part.store(number, Ordering::Relaxed);
        }
        self.word.store(number << 32, Ordering::Release);
        self.notice.store(number, Ordering::Release);
        let given = self.copy(number, || {
            self.given.fetch_add(1, Ordering::SeqCst);
        });
        *expected += PARTS - given;
        while waits && self.taken.load(Ordering::Acquire) < *expected {
            thread::yield_now();
        }
    }

    /// The other's.
    fn other(&self, number: u64, expected: &mut u64) {
        while self.notice.load(Ordering::Acquire) < number {
            thread::yield_now();
        }
        let taken = self.copy(number, || ());
        if taken > 0 {
            self.taken.fetch_add(taken, Ordering::SeqCst);
        }
        *expected += PARTS - taken;
        while self.given.load(Ordering::Acquire) < *expected {
            thread::yield_now();
        }
        for part in &self.dests[number as usize - 1] {
            assert_eq!(part.load(Ordering::Relaxed), number, "not this broadcast's");
        }
    }
}

/// So many broadcasts, one after the other.
fn broadcasts(count: u64, root_waits: bool) {
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
fn loom_one_shared_broadcast_gives_everything_once() {
    broadcasts(1, true);
}

/// Who is late in the first finds nothing to take of the second, and nobody takes what is counted in the second for the first's.
#[test]
fn loom_a_root_shares_out_the_next_broadcast_when_all_of_one_is_taken() {
    broadcasts(2, true);
}

/// A root that did not wait until what was taken is copied would overwrite it: the model finds that.
#[test]
#[should_panic(expected = "not this broadcast's")]
fn loom_a_root_that_does_not_wait_overwrites() {
    broadcasts(2, false);
}
