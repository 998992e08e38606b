//! Notes: where words have changed, for a PE that waits for many.
//!
//! A PE with few watched words looks at all of them when it is rung for. One with many asks its
//! writers for notes ([`ask`](crate::doorbell::ask)). From then on each of them leaves a bit for
//! the cache line that it has written, whether or not the PE sleeps, and the PE looks at the words
//! in those lines alone. Lines share bits: a note leads to some words too many, and never to too
//! few.

use oxshmem_base::sync::{AtomicU64, Ordering};

/// Bytes of a line.
const LINE: usize = 64;
/// How many bits there are for lines: as many words as a summary has bits for.
pub(crate) const BITS: usize = 64 * WORDS;
#[cfg(not(oxshmem_loom))]
const WORDS: usize = 64;
/// Fewer for loom, which looks at each of them.
#[cfg(oxshmem_loom)]
const WORDS: usize = 2;

/// The notes for one PE, in its control block.
#[derive(Debug)]
#[repr(C)]
pub struct Notes {
    /// A bit for each of `lines` that may not be 0.
    summary: AtomicU64,
    /// The bits of the lines.
    lines: [AtomicU64; WORDS],
}

/// The bits of the lines with `len` bytes from `offset` on, each once.
pub(crate) fn bits_of(offset: usize, len: usize) -> impl Iterator<Item = usize> {
    let (first, last) = (offset / LINE, offset.saturating_add(len.max(1) - 1) / LINE);
    let count = (last - first).saturating_add(1).min(BITS);
    (0..count).map(move |i| (first + i) % BITS)
}

#[cfg(any(test, oxshmem_loom))]
impl Default for Notes {
    fn default() -> Self {
        Self { summary: AtomicU64::new(0), lines: [(); WORDS].map(|()| AtomicU64::new(0)) }
    }
}

impl Notes {
    /// Notes that `len` bytes from `offset` on have changed. The writer looks whether the PE sleeps
    /// after that, behind a full barrier.
    pub(crate) fn leave(&self, offset: usize, len: usize) {
        let mut bits = bits_of(offset, len).peekable();
        while let Some(bit) = bits.next() {
            let word = bit / 64;
            let mut mask = 1 << (bit % 64);
            while let Some(bit) = bits.next_if(|bit| bit / 64 == word) {
                mask |= 1 << (bit % 64);
            }
            // Release: with the note comes what was written. The summary comes after the line, so
            // that a PE that has taken the line's word too early finds it in the summary again.
            self.lines[word].fetch_or(mask, Ordering::Release);
            self.summary.fetch_or(1 << word, Ordering::Release);
        }
    }

    /// Takes the notes, and calls `see` with the bit of each line.
    pub(crate) fn take(&self, mut see: impl FnMut(usize)) {
        // Relaxed: a note that this misses was left after the barrier before the PE's sleep, so
        // that its writer rings, or is seen by a later look.
        if self.summary.load(Ordering::Relaxed) == 0 {
            return;
        }
        // Acquire: what was written before the note is seen behind it.
        let mut words = self.summary.swap(0, Ordering::Acquire);
        while words != 0 {
            let word = words.trailing_zeros() as usize;
            words &= words - 1;
            let mut bits = self.lines[word].swap(0, Ordering::Acquire);
            while bits != 0 {
                see(64 * word + bits.trailing_zeros() as usize);
                bits &= bits - 1;
            }
        }
    }
}

#[cfg(all(test, not(oxshmem_loom)))]
mod tests {
    use super::*;

    fn taken(notes: &Notes) -> Vec<usize> {
        let mut taken = Vec::new();
        notes.take(|bit| taken.push(bit));
        taken
    }

    #[test]
    fn notes_lead_to_the_lines_that_were_written_once() {
        let notes = Notes::default();
        notes.leave(64 * 7 + 8, 8);
        notes.leave(64 * 7, 4);
        notes.leave(64 * 70 - 1, 2);
        notes.leave(LINE * (BITS + 5), 8);
        assert_eq!(taken(&notes), [5, 7, 69, 70], "the last shares the bit of line 5");
        assert!(taken(&notes).is_empty());
    }

    #[test]
    fn long_writes_leave_a_bit_for_each_line_and_no_more() {
        let notes = Notes::default();
        notes.leave(10, 1000 * LINE);
        assert!(taken(&notes).into_iter().eq(0..=1000));
        notes.leave(100 * LINE, usize::MAX);
        assert!(taken(&notes).into_iter().eq(0..BITS));
        notes.leave(3 * LINE, 0);
        assert_eq!(taken(&notes), [3]);
    }
}

#[cfg(all(test, oxshmem_loom))]
mod loom_tests {
    use loom::{
        sync::{Arc, Notify},
        thread,
    };
    use oxshmem_base::{
        settings::FenceSide,
        sync::{AtomicU32, Ordering},
    };

    use super::*;
    use crate::doorbell::{
        announce_awake, announce_sleep, ask, asks_for_notes, before_look, end_sleep, must_ring,
    };

    /// A word changes that a PE waits for which has asked for notes, or is about to: it finds the
    /// word by a note, or by the look at all words after it has asked.
    #[test]
    fn loom_a_store_is_noted_or_seen_and_rings_a_sleeper() {
        loom::model(|| {
            let word = Arc::new(AtomicU32::new(0));
            let sleeping = Arc::new(AtomicU32::new(0));
            let notes = Arc::new(Notes::default());
            let bell = Arc::new(Notify::new());
            let writer = {
                let (word, sleeping, bell) = (word.clone(), sleeping.clone(), bell.clone());
                let notes = notes.clone();
                thread::spawn(move || {
                    word.store(1, Ordering::Release);
                    if must_ring(&sleeping, 2, FenceSide::Writer) {
                        if asks_for_notes(&sleeping) {
                            notes.leave(LINE, 8);
                        }
                        if end_sleep(&sleeping) {
                            bell.notify();
                        }
                    }
                })
            };
            ask(&sleeping);
            before_look(FenceSide::Writer);
            let mut seen = word.load(Ordering::Acquire) != 0;
            while !seen {
                announce_sleep(&sleeping, 2, FenceSide::Writer);
                notes.take(|bit| seen |= bit == 1);
                if seen {
                    break;
                }
                bell.wait();
                announce_awake(&sleeping);
                notes.take(|bit| seen |= bit == 1);
            }
            assert_eq!(word.load(Ordering::Acquire), 1);
            writer.join().unwrap();
        });
    }
}
