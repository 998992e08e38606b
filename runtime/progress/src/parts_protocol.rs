//! The protocol by which PEs learn that a work in parts is over, on its own, for loom.
//!
//! Here, because this is the room that is built for loom. It is what `parts` in `oxshmem-teams` does: whoever does the last part of a work
//! tells all others, by words that only grow, and may be interrupted while it does. Others may do all of the next work meanwhile.

use loom::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering, fence},
    },
    thread,
};

const PES: u64 = 3;

/// The memory of all PEs.
struct Memory {
    /// How many parts of all works have been done.
    done: AtomicU64,
    /// For each PE: which work is over.
    over: [AtomicU64; PES as usize],
    /// What each work has given to the last PE.
    data: [AtomicU64; 2],
}

impl Memory {
    fn new() -> Arc<Self> {
        let word = || AtomicU64::new(0);
        Arc::new(Self { done: word(), over: [word(), word(), word()], data: [word(), word()] })
    }

    /// Does so many parts of a work, that for the last PE among them if it `gives`, and tells the others if these were the last.
    fn work(&self, me: usize, number: u64, parts: u64, gives: bool) {
        if gives {
            self.data[number as usize - 1].store(number, Ordering::Relaxed);
        }
        if self.done.fetch_add(parts, Ordering::AcqRel) + parts == number * PES {
            self.release(me, number);
        }
    }

    fn release(&self, me: usize, number: u64) {
        let mut over = number;
        loop {
            fence(Ordering::SeqCst);
            for pe in (0..self.over.len()).filter(|&pe| pe != me) {
                self.over[pe].store(over, Ordering::Release);
            }
            fence(Ordering::SeqCst);
            let now = self.done.load(Ordering::Acquire) / PES;
            if now <= over {
                return;
            }
            over = now;
        }
    }

    /// Whether a PE has learned that a work is over. If so, it sees what all works up to that have given.
    fn has_come(&self, me: usize, number: u64) -> bool {
        let has_come = self.over[me].load(Ordering::Acquire) >= number;
        if has_come {
            for (data, number) in self.data.iter().zip(1..=number) {
                assert_eq!(data.load(Ordering::Relaxed), number, "not what the work gave");
            }
        }
        has_come
    }
}

#[test]
fn loom_nobody_is_told_of_an_earlier_work_for_good() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let memory = Memory::new();
        // PE 0 does a part of the first work, and all of the second if it learns in time that the first is over.
        let first = Arc::clone(&memory);
        let ahead = thread::spawn(move || {
            first.work(0, 1, 1, false);
            let goes_on = first.has_come(0, 1);
            if goes_on {
                first.work(0, 2, PES, true);
            }
            goes_on
        });
        // PE 1 does the rest of the first, and comes to no other.
        let second = Arc::clone(&memory);
        let behind = thread::spawn(move || second.work(1, 1, PES - 1, true));
        // PE 2 comes to the second.
        memory.has_come(2, 2);
        let goes_on = ahead.join().unwrap();
        behind.join().unwrap();
        assert_eq!(memory.has_come(2, 2), goes_on);
    });
}
