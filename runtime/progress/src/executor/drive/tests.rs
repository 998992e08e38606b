use std::{
    sync::{
        Arc,
        atomic::AtomicU64,
        mpsc::{Receiver, Sender, channel},
    },
    task::{Wake, Waker},
};

use oxshmem_base::settings::{self, FenceSide};
use oxshmem_memory::{Extent, SegmentId};

use super::*;
use crate::{
    activity::Place,
    executor::{Probe, ProbedWord, Reader},
    fabric::Fabric,
    wait::WaitPolicy,
};

/// The executor of a PE, and which tasks were woken, by the words that they wait for.
struct Waits {
    fabric: Fabric,
    executor: Arc<Executor>,
    woken: (Sender<usize>, Receiver<usize>),
}

/// A task that waits for a word.
struct Task {
    word: usize,
    panics: bool,
    woken: Sender<usize>,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.woken.send(self.word).unwrap();
        assert!(!self.panics, "as this task is to");
    }
}

impl Waits {
    fn new() -> Self {
        let fabric = Fabric::new(1, 1 << 20, false).unwrap();
        let policy = WaitPolicy::new(Duration::ZERO, 2, false);
        let executor = Executor::new(&fabric, 0, FenceSide::Writer, policy);
        Self { fabric, executor, woken: channel() }
    }

    fn address(&self, word: usize) -> *mut u64 {
        self.fabric.heap.base().wrapping_add(8 * word).cast()
    }

    fn register(&self, word: usize, panics: bool) {
        let reader = Reader::Processor(self.address(word).cast());
        // SAFETY: an aligned word of the map, which the watch keeps.
        let probe = unsafe { ProbedWord::new(reader, 8, false, [false, true, true], 1) };
        let extent = Extent { segment: SegmentId::Heap, offset: 8 * word, len: 8 };
        let waker = Waker::from(Arc::new(Task { word, panics, woken: self.woken.0.clone() }));
        let keepalive = Arc::clone(&self.fabric.heap);
        self.executor.register(Probe::Word(probe), extent, keepalive, &waker, Place::NONE);
    }

    fn store(&self, word: usize) {
        // SAFETY: an aligned word of the map, which everybody accesses by atomics.
        unsafe { AtomicU64::from_ptr(self.address(word)) }.store(1, Ordering::Release);
    }

    /// Stores a word as another PE does, and sees which task is woken.
    fn wakes(&self, word: usize) {
        self.store(word);
        self.executor.bell.ring_process();
        let woken = self.woken.1.recv_timeout(Duration::from_secs(30));
        assert_eq!(woken, Ok(word), "the task that waits for word {word} is woken");
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        self.executor.close();
    }
}

#[test]
fn a_task_that_panics_in_the_helper_does_not_end_it() {
    for _ in 0..20 {
        let waits = Waits::new();
        waits.executor.start_driver(settings::Driver::Thread).unwrap();
        waits.register(0, true);
        waits.register(1, false);
        waits.wakes(0);
        // A task waited meanwhile, ...
        waits.wakes(1);
        // ... none, ...
        waits.register(2, true);
        waits.wakes(2);
        // ... and one begins to wait later.
        waits.register(3, false);
        waits.wakes(3);
    }
}

#[test]
fn a_task_that_is_woken_with_one_that_panics_is_woken_too() {
    let waits = Waits::new();
    for (word, panics) in [(0, false), (1, true), (2, false)] {
        waits.register(word, panics);
        waits.store(word);
    }
    waits.executor.scan();
    assert_eq!(waits.woken.1.try_iter().collect::<Vec<_>>(), [0, 1, 2]);
}
