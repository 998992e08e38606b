//! Loom runs the engine of a PE: each thread and task that waits for a word is woken, whichever
//! thread drives when the word comes.

use std::{
    future::poll_fn,
    sync::{Arc, atomic},
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

use loom::thread as model;
use oxshmem_base::{
    settings::{self, FenceSide},
    sync::{
        AtomicBool, Ordering,
        thread::{self, Thread},
    },
};
use oxshmem_memory::{Extent, SegmentId};

use super::{Executor, Fired, Probe, ProbedWord, Reader, WatchKey};
use crate::{activity::Place, doorbell::must_ring, fabric::Fabric, wait::WaitPolicy};

/// A PE with the helper as its driver.
struct Pe {
    fabric: Fabric,
    executor: Arc<Executor>,
}

/// How a thread waits.
#[derive(Clone, Copy, Debug)]
enum Waits {
    /// In `block_on`.
    Blocks,
    /// It polls a future, as a task's thread does, and parks.
    Polls,
}

/// The waker of a thread that polls.
struct Parked {
    woken: AtomicBool,
    thread: Thread,
}

impl Wake for Parked {
    fn wake(self: Arc<Self>) {
        // An exchange: loom takes a store for one that may come before an earlier exchange.
        self.woken.swap(true, Ordering::SeqCst);
        self.thread.unpark();
    }
}

impl Pe {
    fn new() -> Arc<Self> {
        let fabric = Fabric::new(1, 1 << 16, false).unwrap();
        let policy = WaitPolicy::new(Duration::ZERO, 0, false);
        let executor = Executor::new(&fabric, 0, FenceSide::Writer, policy);
        executor.start_driver(settings::Driver::Thread).unwrap();
        Arc::new(Self { fabric, executor })
    }

    fn word(&self, word: usize) -> &atomic::AtomicU64 {
        let address = self.fabric.heap.base().wrapping_add(8 * word).cast::<u64>();
        // SAFETY: an aligned word of the map, which is accessed by atomics alone.
        unsafe { atomic::AtomicU64::from_ptr(address) }
    }

    /// Another PE's store. The word itself is no atomic of loom's: the model is of its ring.
    fn store(&self, word: usize) {
        self.word(word).store(1, atomic::Ordering::Release);
        let sleep = &self.fabric.control.page(0).sleep.0;
        if must_ring(&sleep.sleeping, SegmentId::Heap.bit(), FenceSide::Writer) {
            self.fabric.wake(0, Self::extent(word));
        }
    }

    fn extent(word: usize) -> Extent {
        Extent { segment: SegmentId::Heap, offset: 8 * word, len: 8 }
    }

    /// What an operation's future does that waits for a word.
    fn poll(&self, word: usize, key: &mut Option<WatchKey>, cx: &Context<'_>) -> Poll<()> {
        if let Some(key) = key {
            return match self.executor.check(key, cx.waker()) {
                Some(fired) => {
                    assert!(matches!(fired, Fired::Satisfied(_)), "{fired:?}");
                    Poll::Ready(())
                }
                None => Poll::Pending,
            };
        }
        let has_come = || self.word(word).load(atomic::Ordering::Acquire) != 0;
        if has_come() {
            return Poll::Ready(());
        }
        let reader = Reader::Processor(self.word(word).as_ptr().cast());
        // SAFETY: an aligned word of the map, which the watch keeps.
        let probe = unsafe { ProbedWord::new(reader, 8, false, [false, true, true], 1) };
        let keepalive = Arc::clone(&self.fabric.heap);
        let probe = Probe::Word(probe);
        *key = Some(self.executor.register(probe, Self::extent(word), keepalive, cx.waker(), Place::NONE));
        if has_come() { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Returns when the word has come.
    fn wait(&self, word: usize, how: Waits) {
        let mut key = None;
        match how {
            Waits::Blocks => self.executor.block_on(poll_fn(|cx| self.poll(word, &mut key, cx))),
            Waits::Polls => {
                let parked = Arc::new(Parked { woken: AtomicBool::new(false), thread: thread::current() });
                let waker = Waker::from(Arc::clone(&parked));
                while self.poll(word, &mut key, &Context::from_waker(&waker)).is_pending() {
                    while !parked.woken.swap(false, Ordering::SeqCst) {
                        thread::park();
                    }
                }
            }
        }
        if let Some(key) = key {
            self.executor.unregister(key);
        }
    }
}

/// Two threads that wait, each for a word that another PE stores, beside the helper.
fn two_wait(how: [Waits; 2]) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(move || {
        let pe = Pe::new();
        let writer = {
            let pe = Arc::clone(&pe);
            model::spawn(move || (0..2).for_each(|word| pe.store(word)))
        };
        let other = {
            let pe = Arc::clone(&pe);
            model::spawn(move || pe.wait(1, how[1]))
        };
        pe.wait(0, how[0]);
        writer.join().unwrap();
        other.join().unwrap();
        pe.executor.close();
    });
}

#[test]
fn loom_a_thread_that_blocks_is_woken_beside_a_task() {
    two_wait([Waits::Blocks, Waits::Polls]);
}

#[test]
fn loom_two_threads_that_block_are_woken() {
    two_wait([Waits::Blocks, Waits::Blocks]);
}

#[test]
fn loom_two_tasks_are_woken_by_the_helper() {
    two_wait([Waits::Polls, Waits::Polls]);
}
