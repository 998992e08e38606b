//! What every way must do, a net's or a device's.

use std::{fmt::Debug, sync::mpsc, time::Instant};

use oxshmem_base::Result;
use oxshmem_memory::{
    op::Op,
    word::{Atomic, Width},
};

use super::LIMIT;
use crate::{Completion, Way};

/// A way to the memory of one PE.
pub struct Reach<'a, T, H> {
    /// What is tested.
    pub way: &'a dyn Way<T, H>,
    /// The place this many bytes from the start of the memory, of which there are
    /// [`ROOM`](Self::ROOM), aligned to words.
    pub at: &'a dyn Fn(usize) -> T,
    /// Makes progress, if the way does not do so by itself.
    pub progress: &'a dyn Fn(),
}

impl<T: Debug, H: From<*mut u8>> Reach<'_, T, H> {
    /// Bytes that nothing else touches.
    pub const ROOM: usize = 64 << 10;

    /// Panics at the first promise that is broken.
    pub fn check(&self) {
        self.bytes_come_back_and_others_are_left_alone();
        self.a_flush_comes_behind_what_was_started();
        self.atomics_return_what_was_there();
    }

    fn at(&self, offset: usize) -> T {
        (self.at)(offset)
    }

    fn until<V>(&self, what: &str, outcome: &mpsc::Receiver<Result<V>>) -> V {
        let start = Instant::now();
        loop {
            match outcome.try_recv() {
                Ok(outcome) => return outcome.unwrap_or_else(|error| panic!("{what}: {error}")),
                Err(mpsc::TryRecvError::Empty) => (self.progress)(),
                Err(gone) => panic!("{what} was given up: {gone}"),
            }
            assert!(start.elapsed() < LIMIT, "{what} does not come");
            std::thread::yield_now();
        }
    }

    /// Performs an operation, and waits for its end.
    fn perform(&self, what: &str, op: Op<T, H>) -> u64 {
        let (done, outcome) = outcome();
        // SAFETY: places are in bounds, and the callers' memory stays until this returns.
        unsafe { self.way.start(op, done) };
        self.until(what, &outcome)
    }

    fn flush(&self, pe: Option<usize>) {
        let (done, outcome) = outcome();
        self.way.flush(pe, done);
        self.until("a flush", &outcome);
    }

    fn put(&self, offset: usize, bytes: &mut [u8]) {
        self.perform("a put", Op::put(self.at(offset), bytes.as_mut_ptr(), bytes.len()));
    }

    fn get(&self, offset: usize, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.perform("a get", Op::get(self.at(offset), bytes.as_mut_ptr(), len));
        bytes
    }

    fn bytes_come_back_and_others_are_left_alone(&self) {
        for len in [0, 1, 3, 7, 8, 64, 1000, 4096, 8193, 40_000] {
            for offset in [8, 9, 15, 4096] {
                self.put(offset - 1, &mut vec![0xee; len + 2]);
                let mut sent: Vec<u8> = (0..len).map(|i| (i * 31 + offset + 1) as u8).collect();
                self.put(offset, &mut sent);
                let expected = [&[0xee], &sent[..], &[0xee]].concat();
                assert!(self.get(offset - 1, len + 2) == expected, "{len} bytes at {offset}");
            }
        }
    }

    fn a_flush_comes_behind_what_was_started(&self) {
        let mut words: Vec<u64> = (1..=50).collect();
        let puts: Vec<_> = words
            .iter_mut()
            .enumerate()
            .map(|(i, word)| {
                let (done, outcome) = outcome();
                let put = Op::put(self.at(8 * i), (&raw mut *word).cast::<u8>(), 8);
                // SAFETY: in bounds, and the words stay until all are over, which is waited for.
                unsafe { self.way.start(put, done) };
                outcome
            })
            .collect();
        self.flush(None);
        let there = self.get(0, 8 * words.len());
        for (i, (word, there)) in words.iter().zip(there.as_chunks().0).enumerate() {
            assert_eq!(u64::from_ne_bytes(*there), *word, "word {i}");
        }
        puts.iter().for_each(|put| _ = self.until("a put", put));
    }

    fn atomics_return_what_was_there(&self) {
        const WORD: usize = 256;
        let run = |offset, operation, width| {
            self.perform("an atomic operation", Op::atomic(self.at(offset), operation, width))
        };
        for width in [Width::Four, Width::Eight] {
            let ones = if width == Width::Four { u64::from(u32::MAX) } else { u64::MAX };
            run(WORD, Atomic::Swap(0x7777_7777_0000_0000), Width::Eight);
            run(WORD, Atomic::Set(5), width);
            for (operation, before) in [
                (Atomic::Fetch, 5),
                (Atomic::Add(ones), 5),
                (Atomic::Swap(0b1100), 4),
                (Atomic::CompareSwap { cond: 1, value: 9 }, 0b1100),
                (Atomic::CompareSwap { cond: 0b1100, value: 0b1010 }, 0b1100),
                (Atomic::And(0b0110), 0b1010),
                (Atomic::Or(0b1001), 0b0010),
                (Atomic::Xor(0b1111), 0b1011),
                (Atomic::Fetch, 0b0100),
            ] {
                assert_eq!(run(WORD, operation, width), before, "{operation:?} of {width:?}");
            }
        }
        run(WORD + 4, Atomic::Swap(0x7777_7777), Width::Four);
        run(WORD, Atomic::Add(u64::from(u32::MAX)), Width::Four);
        let neighbour = run(WORD + 4, Atomic::Fetch, Width::Four);
        assert_eq!(neighbour, 0x7777_7777, "an operation on 4 bytes leaves the next alone");
    }
}

/// A completion, and where its outcome comes.
fn outcome<V: Send + 'static>() -> (Completion<V>, mpsc::Receiver<Result<V>>) {
    let (sender, outcome) = mpsc::channel();
    (Box::new(move |over| sender.send(over).unwrap_or_default()), outcome)
}
