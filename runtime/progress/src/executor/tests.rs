//! How long waits keep their processor.

use std::{
    sync::{Barrier, atomic::AtomicU64},
    task::Poll,
};

use super::*;
use crate::fabric::Fabric;

/// How a wait among PEs that share processors ends for which this many `looks` are needed, and
/// after how many of them.
fn wait(looks: u32) -> (bool, u32) {
    let fabric = Fabric::new(1, 1 << 20, false).unwrap();
    let policy = WaitPolicy::new(Duration::ZERO, 64, false);
    let executor = Executor::new(&fabric, 0, FenceSide::Writer, policy);
    let mut looked = 0;
    let came = executor.spin_until(|| {
        looked += 1;
        looked >= looks
    });
    (came, looked)
}

#[test]
fn a_wait_among_pes_that_share_processors_looks_between_two_turns_of_others_and_then_leaves_it() {
    assert_eq!(wait(1), (true, 1));
    assert_eq!(wait(2), (true, 2));
    assert_eq!(wait(1000), (false, 3));
}

/// Words of the device memory of two PEs, and how often they were read.
#[derive(Debug, Default)]
struct Memory {
    words: [AtomicU64; 2],
    reads: AtomicU64,
}

// SAFETY: there is a word of 8 bytes for each PE, which is loaded at once.
unsafe impl Words for Memory {
    fn len(&self) -> usize {
        8
    }

    unsafe fn read(&self, local_pe: usize, pieces: &[(usize, usize)], to: &mut [u8]) {
        assert_eq!(pieces, [(0, 8)]);
        self.reads.fetch_add(1, Ordering::Relaxed);
        to.copy_from_slice(&self.words[local_pe].load(Ordering::SeqCst).to_le_bytes());
    }
}

/// A PE that waits for its word of device memory, as operations do.
struct Waits<'a> {
    memory: &'a Arc<Memory>,
    executor: Arc<Executor>,
}

impl<'a> Waits<'a> {
    /// Number `pe` of the host. What rings no bell is looked for at intervals of `look`.
    fn new(fabric: &Fabric, memory: &'a Arc<Memory>, pe: usize, look: [Duration; 3]) -> Self {
        let policy = WaitPolicy::new(Duration::ZERO, 2, false).looking(look);
        let executor = Executor::new(fabric, pe, FenceSide::Writer, policy);
        executor.attach_words(Arc::clone(memory) as Arc<dyn Words>);
        fabric.bell(pe).attach(&executor);
        executor.start_driver(oxshmem_base::settings::Driver::Thread).unwrap();
        Self { memory, executor }
    }

    /// Blocks until the word is `value` at least.
    fn wait(&self, value: u64) {
        let (executor, mut key) = (&self.executor, None);
        executor.block_on(std::future::poll_fn(|cx| {
            if let Some(key) = &key {
                return match executor.check(key, cx.waker()) {
                    None => Poll::Pending,
                    Some(fired) => {
                        assert!(matches!(fired, Fired::Satisfied(seen) if seen >= value), "{fired:?}");
                        Poll::Ready(())
                    }
                };
            }
            let before = executor.device_changes();
            let now = || self.memory.words[executor.local_pe].load(Ordering::SeqCst);
            if now() >= value {
                return Poll::Ready(());
            }
            let extent = Extent { segment: SegmentId::Gpu, offset: 0, len: 8 };
            // SAFETY: the words that there are.
            let probe = unsafe {
                let word = ProbedWord::new(Reader::Device(0), 8, false, [false, true, true], value);
                Probe::Word(word)
            };
            key = Some(executor.register(probe, extent, Arc::new(()), cx.waker(), Place::NONE));
            match executor.device_changes() != before && now() >= value {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        }));
        key.into_iter().for_each(|key| executor.unregister(key));
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.executor.close();
    }
}

/// Without bells a round would take as long as the interval between two looks.
#[test]
fn two_pes_that_raise_words_of_each_others_device_memory_wake_each_other() {
    const ROUNDS: u64 = 300;
    const INTERVAL: Duration = Duration::from_secs(20);
    for in_process in [false, true] {
        let fabric = Fabric::new(2, 1 << 20, in_process).unwrap();
        let memory = Arc::new(Memory::default());
        let (begin, began) = (Barrier::new(2), Instant::now());
        std::thread::scope(|scope| {
            for pe in [0, 1] {
                let (fabric, memory, begin) = (&fabric, &memory, &begin);
                scope.spawn(move || {
                    let waits = Waits::new(fabric, memory, pe, [INTERVAL; 3]);
                    begin.wait();
                    let raise = |value| {
                        memory.words[1 - pe].store(value, Ordering::SeqCst);
                        fabric.device_words_changed(1 - pe, FenceSide::Writer);
                    };
                    for round in 1..=ROUNDS {
                        if pe == 0 {
                            raise(round);
                        }
                        waits.wait(round);
                        if pe == 1 {
                            raise(round);
                        }
                        if round % 50 == 0 {
                            // Long enough for the other to be asleep.
                            std::thread::sleep(Duration::from_millis(5));
                        }
                    }
                });
            }
        });
        assert!(began.elapsed() < INTERVAL, "{:?}", began.elapsed());
        let reads = memory.reads.load(Ordering::Relaxed);
        assert!(reads <= 2 * 3 * ROUNDS, "{reads} reads in {ROUNDS} rounds of two waits");
    }
}

#[test]
fn a_word_that_rings_no_bell_is_seen_by_looks_that_become_rare() {
    for in_process in [false, true] {
        let fabric = Fabric::new(2, 1 << 20, in_process).unwrap();
        let memory = Arc::new(Memory::default());
        let waits = Waits::new(&fabric, &memory, 0, crate::wait::LOOK);
        let reads = || memory.reads.load(Ordering::Relaxed);
        std::thread::scope(|scope| {
            let kernel = scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(100));
                let before = reads();
                memory.words[0].store(1, Ordering::SeqCst);
                before
            });
            waits.wait(1);
            let before = kernel.join().unwrap();
            // 16 in the first 800 us, 49 while intervals grow to 1 ms, and 84 of 1 ms.
            assert!((5..=160).contains(&before), "{before} looks in 100 ms");
        });
    }
}

/// Many words that are waited for at once and set by other threads, in an order of their own: as
/// they come and go, the PE asks for notes and stops asking.
#[test]
fn of_many_watches_none_is_missed_whose_word_is_set() {
    const WORDS: usize = 1500;
    const ROUNDS: u64 = 30;
    for (in_process, side) in
        [(true, FenceSide::Writer), (false, FenceSide::Writer), (false, FenceSide::Sleeper)]
    {
        if side == FenceSide::Sleeper && !crate::doorbell::register_membarrier() {
            println!("not tested with the sleeper's barrier: the kernel has none");
            continue;
        }
        let fabric = Fabric::new(2, 1 << 20, in_process).unwrap();
        let executor = Executor::new(&fabric, 0, side, WaitPolicy::new(Duration::ZERO, 2, false));
        fabric.bell(0).attach(&executor);
        executor.start_driver(oxshmem_base::settings::Driver::Thread).unwrap();
        let base = fabric.heap.base().expose_provenance();
        // Some share a line, and some share the bit of a line in the notes.
        let offset_of = |i: usize| i / 2 * 128 * 5 % (1 << 20) + i % 2 * 8;
        // SAFETY: aligned, in the heap, and only accessed as atomics.
        let word = |i: usize| unsafe {
            AtomicU64::from_ptr(std::ptr::with_exposed_provenance_mut(base + offset_of(i)))
        };
        let set = |i: usize, value: u64| {
            word(i).store(value, Ordering::Release);
            let sleeping = &fabric.control.page(0).sleep.0.sleeping;
            if crate::doorbell::must_ring(sleeping, SegmentId::Heap.bit(), side) {
                fabric.wake(0, Extent { segment: SegmentId::Heap, offset: offset_of(i), len: 8 });
            }
        };
        let begin = Barrier::new(3);
        std::thread::scope(|scope| {
            for half in [0, 1] {
                let (set, begin) = (&set, &begin);
                scope.spawn(move || {
                    for round in 1..=ROUNDS {
                        begin.wait();
                        // In another order each time: 499 divides neither half.
                        for i in 0..WORDS / 2 {
                            set(2 * ((i * 499 + 7 * round as usize) % (WORDS / 2)) + half, round);
                            if i % 100 == 99 {
                                std::thread::sleep(Duration::from_micros(100));
                            }
                        }
                    }
                });
            }
            for round in 1..=ROUNDS {
                let mut keys = Vec::new();
                let mut left = WORDS;
                begin.wait();
                executor.block_on(std::future::poll_fn(|cx| {
                    if keys.is_empty() {
                        keys.extend((0..WORDS).map(|i| {
                            let extent = Extent { segment: SegmentId::Heap, offset: offset_of(i), len: 8 };
                            let address = std::ptr::with_exposed_provenance(base + extent.offset);
                            let reader = Reader::Processor(address);
                            // SAFETY: aligned, and mapped for longer than the watch.
                            let probe =
                                unsafe { ProbedWord::new(reader, 8, false, [false, true, true], round) };
                            let probe = Probe::Word(probe);
                            Some(executor.register(probe, extent, Arc::new(()), cx.waker(), Place::NONE))
                        }));
                    }
                    for (i, slot) in keys.iter_mut().enumerate() {
                        let fired =
                            slot.as_ref().is_some_and(|key| executor.check(key, cx.waker()).is_some());
                        // What came before the watch rang no bell.
                        if fired || slot.is_some() && word(i).load(Ordering::Acquire) >= round {
                            slot.take().into_iter().for_each(|key| executor.unregister(key));
                            left -= 1;
                        }
                    }
                    if left == 0 { Poll::Ready(()) } else { Poll::Pending }
                }));
                assert_eq!(executor.owner.unfired(), 0);
                let asks = crate::doorbell::asks_for_notes(&fabric.control.page(0).sleep.0.sleeping);
                assert!(!asks, "it goes on to ask for notes without a watch");
            }
        });
        executor.close();
    }
}
