//! What is waited for: words of symmetric memory, in a form that any thread can check.

use std::{
    fmt,
    sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering},
};

/// A comparison of one word of symmetric memory with a value: this PE's, or of another one of its
/// host that rings for it.
///
/// Signed words and unsigned ones compare alike once their sign bit is flipped, so one form serves
/// all.
#[derive(Clone, Copy)]
pub struct ProbedWord {
    address: *const u8,
    /// Its bytes: 2, 4 or 8.
    size: usize,
    flip: u64,
    holds: Holds,
    value: u64,
}

#[derive(Clone, Copy)]
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

impl fmt::Debug for ProbedWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "word of {} bytes at {:p}", self.size, self.address)
    }
}

impl ProbedWord {
    /// Watches the word of `size` bytes (2, 4 or 8) at `address`, signed or not.
    ///
    /// The ordering is how the word must compare to `value`: `[less, equal, greater]`, each true if
    /// it satisfies the wait.
    ///
    /// # Safety
    /// `address` must be aligned to the word, and readable for as long as this value or a copy of
    /// it is used.
    pub unsafe fn new(address: *const u8, size: usize, signed: bool, accepts: [bool; 3], value: u64) -> Self {
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
        Self { address, size, flip, holds, value: value ^ flip }
    }

    /// Whether the word satisfies the wait now.
    pub fn holds(&self) -> bool {
        self.satisfied().is_some()
    }

    /// The word's bits, if they satisfy the wait.
    fn satisfied(&self) -> Option<u64> {
        // SAFETY: `new`'s caller vouches for alignment and life. Acquire: what was stored before
        // the word was set is visible to the future that this wakes.
        let bits = unsafe {
            let address = self.address.cast_mut();
            match self.size {
                8 => AtomicU64::from_ptr(address.cast()).load(Ordering::Acquire),
                4 => u64::from(AtomicU32::from_ptr(address.cast()).load(Ordering::Acquire)),
                _ => u64::from(AtomicU16::from_ptr(address.cast()).load(Ordering::Acquire)),
            }
        };
        self.satisfied_by(bits)
    }

    /// `bits`, if a word that consists of them satisfies the wait: for words that can only be read
    /// otherwise.
    fn satisfied_by(&self, bits: u64) -> Option<u64> {
        let (word, value) = (bits ^ self.flip, self.value);
        let holds = match self.holds {
            Holds::Eq => word == value,
            Holds::Ne => word != value,
            Holds::Lt => word < value,
            Holds::Le => word <= value,
            Holds::Gt => word > value,
            Holds::Ge => word >= value,
        };
        holds.then_some(bits)
    }
}

/// What a watch waits for.
pub enum Probe {
    /// One word.
    Word(ProbedWord),
    /// Anything else that can be looked at from any thread, quickly and without blocking.
    Custom(Box<dyn FnMut() -> bool + Send>),
    /// Words of this PE's device memory, which are read together with all others that are waited
    /// for there.
    OnDevice(DeviceWords),
}

/// Words of this PE's device memory, by their offsets.
#[derive(Debug)]
pub struct DeviceWords {
    words: Vec<(usize, ProbedWord)>,
    /// How many need no look any more, where all are waited for.
    done: usize,
    /// Which of them were satisfied at the last look, where one more is waited for.
    before: Option<Vec<bool>>,
}

impl DeviceWords {
    /// Waits for all of them. The bits of the last are what it ends with.
    ///
    /// # Safety
    /// Each offset must be that of an aligned word of this size in the memory of the device of the
    /// PE that watches it.
    pub unsafe fn all(words: Vec<(usize, ProbedWord)>) -> Self {
        Self { words, done: 0, before: None }
    }

    /// Waits for one more of them than are satisfied `before`.
    ///
    /// # Safety
    /// As for [`all`](Self::all).
    pub unsafe fn another(words: Vec<(usize, ProbedWord)>, before: Vec<bool>) -> Self {
        Self { words, done: 0, before: Some(before) }
    }

    /// What is to be read: offsets and sizes.
    pub(super) fn wanted(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.words[self.done..].iter().map(|(offset, word)| (*offset, word.size))
    }

    fn satisfied(&mut self, seen: &SeenMemory) -> Option<u64> {
        let look = |(offset, word): &(usize, ProbedWord)| {
            seen.bits(*offset, word.size).and_then(|bits| word.satisfied_by(bits))
        };
        match &mut self.before {
            Some(before) => {
                let mut another = None;
                for (word, before) in self.words.iter().zip(before) {
                    let now = look(word);
                    another = another.or(now.filter(|_| !*before));
                    *before = now.is_some();
                }
                another
            }
            None => {
                let mut last = None;
                while let Some(word) = self.words.get(self.done) {
                    last = look(word);
                    last?;
                    self.done += 1;
                }
                last.or((self.words.is_empty()).then_some(0))
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

impl fmt::Debug for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(word) => word.fmt(f),
            Self::Custom(_) => f.write_str("set of words"),
            Self::OnDevice(words) => words.fmt(f),
        }
    }
}

impl Probe {
    /// What it ends with, if it does, and if it is about device memory, by what was `seen` of that.
    pub(super) fn satisfied(&mut self, seen: Option<&SeenMemory>) -> Option<u64> {
        match self {
            Self::Word(word) => word.satisfied(),
            Self::Custom(check) => check().then_some(0),
            Self::OnDevice(words) => words.satisfied(seen?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A word of 8 bytes that is at least `value`.
    fn at_least(value: u64) -> ProbedWord {
        // SAFETY: nobody reads there.
        unsafe { ProbedWord::new(std::ptr::null(), 8, false, [false, true, true], value) }
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
        let both = || words.map(|i| (8 * i, at_least(5))).to_vec();
        // SAFETY: no device is asked for them.
        let (mut all, mut another) =
            unsafe { (DeviceWords::all(both()), DeviceWords::another(both(), vec![true, false])) };
        memory[3] = 5;
        assert_eq!(all.satisfied(&seen(&memory, &words)), None);
        assert_eq!(all.wanted().collect::<Vec<_>>(), [(7200, 8)], "one of them is done with");
        assert_eq!(another.satisfied(&seen(&memory, &words)), None);
        memory[3] = 0;
        assert_eq!(another.satisfied(&seen(&memory, &words)), None);
        (memory[3], memory[900]) = (8, 9);
        assert_eq!(all.satisfied(&seen(&memory, &[3])), None, "it was not read");
        assert_eq!(all.satisfied(&seen(&memory, &words)), Some(9));
        assert_eq!(another.satisfied(&seen(&memory, &words)), Some(8), "it stopped and started again");
    }
}
