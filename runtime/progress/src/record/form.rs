//! The form of a recording: what is where in the file, which a PE writes and `oshrun` reads.
//!
//! A head of one page, the totals of each target, then the ring: records of eight words, of which
//! number `i` is at place `i` modulo the ring's capacity. All words are the machine's own. What a
//! record says of itself is in its first word, so that one which a killed PE has not finished is
//! known.

use crate::{activity::Call, phase::NAME_WORDS};

/// Says that a file is a recording, and in which form. To be changed with the form, or with the
/// codes of [`Call`].
pub const FORM: u64 = 0x6f78_7368_7472_6302;

/// The bytes of the head.
pub const HEAD: usize = 4096;
/// The bytes of the totals of one target: operations, bytes, and what sessions have done since
/// these were last added up, [packed](unpacked).
pub const TOTAL_WORDS: usize = 3;
/// The words of a record.
pub const RECORD_WORDS: usize = 8;
/// The bytes of a record.
pub const RECORD: usize = RECORD_WORDS * 8;

/// The words of the head.
pub mod word {
    /// [`FORM`](super::FORM).
    pub const FORM: usize = 0;
    /// The PE's number, and how many there are.
    pub const PE: usize = 1;
    /// See above.
    pub const N_PES: usize = 2;
    /// The process.
    pub const PID: usize = 3;
    /// Records that the ring holds: a power of two.
    pub const CAPACITY: usize = 4;
    /// Bytes from the file's start to the ring.
    pub const RING: usize = 5;
    /// Records that were ever begun.
    pub const NEXT: usize = 6;
    /// 1 once the PE has finalized.
    pub const FINALIZED: usize = 7;
    /// The first [calibration](super::Pair), and the last one.
    pub const FIRST: usize = 8;
    /// See above.
    pub const LAST: usize = 11;
    /// The host's name, ended by a zero byte, in this many bytes.
    pub const HOST: usize = 16;
    /// See above.
    pub const HOST_BYTES: usize = 256;
    /// The program's name, likewise.
    pub const PROGRAM: usize = 48;
    /// See above.
    pub const PROGRAM_BYTES: usize = 512;
    /// The names of phases, in the order in which they were marked first. Each has
    /// [`NAME_WORDS`](super::NAME_WORDS), as [`name_words`](crate::phase::name_words) makes them.
    pub const NAMES: usize = 128;
}

/// The names of phases that there is room for. Any other one counts as [`OTHERS`].
pub const NAMES: usize = 48;
/// The name of phases that there was no room for, which have the number behind the last.
pub const OTHERS: &str = "others";

const _: () = assert!(word::NAMES + NAMES * NAME_WORDS <= HEAD / 8);

/// One moment on three clocks: the one that records are stamped with, in its ticks, then the
/// host's monotonic clock and the time of day, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pair {
    /// What records have.
    pub ticks: u64,
    /// In nanoseconds, equal on all PEs of a host.
    pub monotonic: u64,
    /// In nanoseconds, nearly equal on all hosts.
    pub of_day: u64,
}

/// A record.
///
/// One of [`Call::Phase`] has in `number` the phase that the PE is in from `begin` on, and in
/// `team` the one before: 0 if none, else the place of its name in the head, plus 1. Its `bytes`
/// are 1 where no phase began: such a record is there so that one that began long ago is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// What was called.
    pub call: Call,
    /// The target's number in the job, or [`NO_TARGET`].
    pub target: u32,
    /// Bytes that were moved, or that are waited for.
    pub bytes: u64,
    /// The team of a collective.
    pub team: u64,
    /// The collective's number in its team; of other calls the word that they change or wait for,
    /// or the lock, as [`place`] has it; of a batch, its operations.
    pub number: u64,
    /// When it was called.
    pub begin: u64,
    /// When the call had been initiated.
    pub initiated: u64,
    /// When it was complete; 0 if it is not.
    pub completed: u64,
}

/// No PE in particular.
pub const NO_TARGET: u32 = u32::MAX;

impl Record {
    /// As the words of number `index`.
    #[inline(always)]
    pub fn to_words(&self, index: u64) -> [u64; RECORD_WORDS] {
        [
            first_word(index),
            self.call as u64 | u64::from(self.target) << 32,
            self.bytes,
            self.team,
            self.number,
            self.begin,
            self.initiated,
            self.completed,
        ]
    }

    /// What the words of number `index` say. `None` if they are another's, or say nothing.
    pub fn of_words(words: [u64; RECORD_WORDS], index: u64) -> Option<Self> {
        let [first, call, bytes, team, number, begin, initiated, completed] = words;
        if first != first_word(index) {
            return None;
        }
        let (target, call) = ((call >> 32) as u32, Call::from_code(call & 0xffff_ffff)?);
        Some(Self { call, target, bytes, team, number, begin, initiated, completed })
    }
}

/// No word of a file that nothing was written to is like it.
#[inline(always)]
pub(super) fn first_word(index: u64) -> u64 {
    index + 1
}

/// Where a word is in its PE's memory, as a number that is not 0.
#[inline(always)]
pub fn place(word: oxshmem_memory::Extent) -> u64 {
    1 << 63 | u64::from(word.segment.bit()) << 48 | word.offset as u64
}

/// The bits of packed totals that count bytes; those above count operations.
const BYTES_BITS: u32 = 40;
/// From this many operations on packed totals are added up.
pub(super) const MANY: u64 = 1 << 23 << BYTES_BITS;

/// One operation of this many bytes, packed.
#[inline(always)]
pub(super) fn packed(bytes: usize) -> u64 {
    1 << BYTES_BITS | bytes as u64
}

/// The operations and bytes of a packed total.
pub fn unpacked(packed: u64) -> (u64, u64) {
    (packed >> BYTES_BITS, packed & ((1 << BYTES_BITS) - 1))
}

/// Bytes from the file's start to the ring of a job of `n_pes` PEs.
pub fn ring_at(n_pes: usize) -> usize {
    HEAD + (n_pes * TOTAL_WORDS * 8).next_multiple_of(HEAD)
}
