//! What is waited for: words of symmetric memory, in a form that any thread can check.

use std::{
    slice,
    sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering},
};

/// What reads the words, from some place on, that a PE waits for.
#[derive(Clone, Copy, Debug)]
pub enum Reader {
    /// A processor loads them, from this address on.
    Processor(*const u8),
    /// The PE's device reads them, from this offset of its memory on, in some microseconds.
    Device(usize),
}

impl Reader {
    /// The address to load the words from, if that is how they are read.
    #[inline(always)]
    pub fn address(self) -> Option<*const u8> {
        match self {
            Self::Processor(address) => Some(address),
            Self::Device(_) => None,
        }
    }
}

/// A comparison of one word of symmetric memory with a value: this PE's, or of another one of its
/// host that rings for it.
///
/// Signed words and unsigned ones compare alike once their sign bit is flipped, so one form serves
/// all.
#[derive(Clone, Copy, Debug)]
pub struct ProbedWord {
    reader: Reader,
    /// Its bytes: 2, 4 or 8.
    size: usize,
    flip: u64,
    holds: Holds,
    value: u64,
}

#[derive(Clone, Copy, Debug)]
enum Holds {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

// SAFETY: the address is only read, atomically, and stays mapped for as long as its watch, which
// holds a reference to the memory beside it.
unsafe impl Send for ProbedWord {}
// SAFETY: as above.
unsafe impl Sync for ProbedWord {}

impl ProbedWord {
    /// Watches the word of `size` bytes (2, 4 or 8), signed or not, that `reader` reads.
    ///
    /// The ordering is how the word must compare to `value`: `[less, equal, greater]`, each true if
    /// it satisfies the wait.
    ///
    /// # Safety
    /// An address must be aligned to the word, and readable for as long as this value or a copy of
    /// it is used. An offset must be that of an aligned word in the memory of the device of the PE
    /// that watches it.
    pub unsafe fn new(reader: Reader, size: usize, signed: bool, accepts: [bool; 3], value: u64) -> Self {
        debug_assert!(matches!(size, 2 | 4 | 8), "there are no words of {size} bytes");
        let flip = if signed { 1 << (8 * size - 1) } else { 0 };
        let holds = match accepts {
            [false, true, false] => Holds::Eq,
            [true, false, true] => Holds::Ne,
            [true, false, false] => Holds::Lt,
            [true, true, false] => Holds::Le,
            [false, false, true] => Holds::Gt,
            _ => Holds::Ge,
        };
        Self { reader, size, flip, holds, value: value ^ flip }
    }

    /// The word's bits now, or, of device memory, as it was `seen`, if it was.
    fn bits(&self, seen: Option<&SeenMemory>) -> Option<u64> {
        let address = match self.reader {
            Reader::Processor(address) => address.cast_mut(),
            Reader::Device(offset) => return seen?.bits(offset, self.size),
        };
        // SAFETY: `new`'s caller vouches for alignment and life. Acquire: what was stored before
        // the word was set is visible to the future that this wakes.
        Some(unsafe {
            match self.size {
                8 => AtomicU64::from_ptr(address.cast()).load(Ordering::Acquire),
                4 => u64::from(AtomicU32::from_ptr(address.cast()).load(Ordering::Acquire)),
                _ => u64::from(AtomicU16::from_ptr(address.cast()).load(Ordering::Acquire)),
            }
        })
    }

    /// Whether a word of these bits satisfies the wait.
    fn holds(&self, bits: u64) -> bool {
        let (word, value) = (bits ^ self.flip, self.value);
        match self.holds {
            Holds::Eq => word == value,
            Holds::Ne => word != value,
            Holds::Lt => word < value,
            Holds::Le => word <= value,
            Holds::Gt => word > value,
            Holds::Ge => word >= value,
        }
    }
}

/// What a watch waits for. Words of device memory are read together with all others that are
/// waited for there.
#[derive(Debug)]
pub enum Probe {
    /// One word.
    Word(ProbedWord),
    /// All of several words.
    All {
        /// The words, which are done with in turn, so that n of them cost n looks in all, not n at
        /// every wake.
        words: Vec<ProbedWord>,
        /// How many need no look any more.
        done: usize,
    },
    /// One more of several words than held before, each with whether it did at the last look. Those
    /// do not end the wait by themselves, unless they stop and start again.
    Another(Vec<(ProbedWord, bool)>),
}

impl Probe {
    /// What is to be read of device memory: offsets and sizes.
    pub(super) fn wanted(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let (words, pairs) = match self {
            Self::Word(word) => (slice::from_ref(word), &[][..]),
            Self::All { words, done } => (&words[*done..], &[][..]),
            Self::Another(words) => (&[][..], &words[..]),
        };
        let words = words.iter().chain(pairs.iter().map(|(word, _)| word));
        words.filter_map(|word| match word.reader {
            Reader::Processor(_) => None,
            Reader::Device(offset) => Some((offset, word.size)),
        })
    }

    /// The bits that it ends with, if it does, by what was `seen` of device memory. Of several
    /// words nobody asks for them.
    pub(super) fn satisfied(&mut self, seen: Option<&SeenMemory>) -> Option<u64> {
        match self {
            Self::Word(word) => word.bits(seen).filter(|&bits| word.holds(bits)),
            Self::All { words, done } => {
                while let Some(word) = words.get(*done) {
                    word.bits(seen).filter(|&bits| word.holds(bits))?;
                    *done += 1;
                }
                Some(0)
            }
            Self::Another(words) => {
                let mut another = false;
                for (word, before) in words {
                    if let Some(bits) = word.bits(seen) {
                        let now = word.holds(bits);
                        another |= now && !*before;
                        *before = now;
                    }
                }
                another.then_some(0)
            }
        }
    }
}

/// How far apart words are that are read in one piece.
const GAP: usize = 512;

/// What was seen of device memory, in pieces that begin and end at words of 8 bytes.
#[derive(Debug, Default)]
pub(super) struct SeenMemory {
    /// Offsets, lengths, and where in the bytes they begin, in the order of their offsets.
    pieces: Vec<(usize, usize, usize)>,
    bytes: Vec<u8>,
}

impl SeenMemory {
    /// The pieces that words are in, given by their offsets and sizes, of `len` bytes in all.
    pub(super) fn covering(mut words: Vec<(usize, usize)>, len: usize) -> Self {
        words.sort_unstable();
        let mut pieces: Vec<(usize, usize, usize)> = Vec::new();
        for (offset, size) in words {
            let (start, end) = (offset / 8 * 8, (offset + size).next_multiple_of(8).min(len));
            match pieces.last_mut() {
                Some((from, bytes, _)) if start <= *from + *bytes + GAP => {
                    *bytes = (*bytes).max(end - *from);
                }
                _ => pieces.push((start, end - start, 0)),
            }
        }
        let mut total = 0;
        for (_, bytes, at) in &mut pieces {
            *at = total;
            total += *bytes;
        }
        Self { pieces, bytes: vec![0; total] }
    }

    /// Fills all pieces by `read`, which is given their offsets and lengths, and room for them one
    /// behind the other.
    pub(super) fn fill(&mut self, read: impl FnOnce(&[(usize, usize)], &mut [u8])) {
        let pieces: Vec<_> = self.pieces.iter().map(|&(offset, len, _)| (offset, len)).collect();
        read(&pieces, &mut self.bytes);
    }

    /// The bits of a word, if it was read.
    fn bits(&self, offset: usize, size: usize) -> Option<u64> {
        let behind = self.pieces.partition_point(|(start, ..)| *start <= offset);
        let (start, len, at) = self.pieces[..behind].last()?;
        let inside = (offset - start).checked_add(size).is_some_and(|end| end <= *len);
        let bytes = inside.then(|| &self.bytes[at + offset - start..][..size])?;
        let mut bits = [0; 8];
        bits[..size].copy_from_slice(bytes);
        // The lower bytes come first on the machines that there are devices for.
        Some(u64::from_le_bytes(bits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Word `i` of the device's, of 8 bytes, if it is at least `value`.
    fn at_least(i: usize, value: u64) -> ProbedWord {
        // SAFETY: no device is asked for it.
        unsafe { ProbedWord::new(Reader::Device(8 * i), 8, false, [false, true, true], value) }
    }

    fn seen(memory: &[u64], words: &[usize]) -> SeenMemory {
        let mut seen = SeenMemory::covering(words.iter().map(|&i| (8 * i, 8)).collect(), 8 * memory.len());
        seen.fill(|pieces, bytes| {
            let mut at = 0;
            for &(offset, len) in pieces {
                let words = memory[offset / 8..(offset + len) / 8].iter();
                let piece: Vec<u8> = words.flat_map(|word| word.to_le_bytes()).collect();
                bytes[at..at + len].copy_from_slice(&piece);
                at += len;
            }
        });
        seen
    }

    #[test]
    fn words_that_are_near_are_read_in_one_piece() {
        let seen =
            SeenMemory::covering(vec![(4000, 4), (12, 4), (16, 8), (500, 2), (4096, 8), (9998, 2)], 10_000);
        assert_eq!(seen.pieces, [(8, 496, 0), (4000, 104, 496), (9992, 8, 600)]);
        assert!(seen.bits(12, 4).is_some() && seen.bits(4096, 8).is_some());
        assert!(seen.bits(0, 8).is_none() && seen.bits(502, 8).is_none() && seen.bits(2000, 8).is_none());
    }

    #[test]
    fn device_words_are_waited_for_all_together_or_one_more() {
        let mut memory = vec![0u64; 1000];
        let words = [3, 900];
        let mut all = Probe::All { words: words.map(|i| at_least(i, 5)).to_vec(), done: 0 };
        let mut another = Probe::Another(words.map(|i| (at_least(i, 5), i == 3)).to_vec());
        memory[3] = 5;
        assert_eq!(all.satisfied(Some(&seen(&memory, &words))), None);
        assert_eq!(all.wanted().collect::<Vec<_>>(), [(7200, 8)], "one of them is done with");
        assert_eq!(another.satisfied(Some(&seen(&memory, &words))), None);
        memory[3] = 0;
        assert_eq!(another.satisfied(Some(&seen(&memory, &words))), None);
        assert_eq!(another.satisfied(None), None, "nothing was read");
        (memory[3], memory[900]) = (8, 9);
        assert_eq!(all.satisfied(Some(&seen(&memory, &[3]))), None, "it was not read");
        assert_eq!(all.satisfied(Some(&seen(&memory, &words))), Some(0));
        assert_eq!(another.satisfied(Some(&seen(&memory, &words))), Some(0), "it stopped and started again");
    }
}
