//! A batch: several small operations on the memory of one PE, in one message that the PE itself
//! applies.
//!
//! It is what a put with its signal travels in, and what a session gathers. An entry is a head of
//! two words and, for a put, its bytes, padded to words. Both sides are processes of one program on
//! machines of one kind, so that words are in the machine's own order.

use oxshmem_base::{Error, Result};
use oxshmem_memory::{
    Segment, SegmentId, copy,
    word::{Atomic, Signal, Width},
};

use super::Spot;

// What the first byte of an entry's head says. It is followed by a byte for the segment and six for
// the offset; the second word is the operand, or the length of a put.
const PUT: u64 = 1;
const SET: u64 = 2;
const ADD: u64 = 3;
const AND: u64 = 4;
const OR: u64 = 5;
const XOR: u64 = 6;
// Those that fetch, which are never in a batch.
const FETCH: u64 = 7;
const SWAP: u64 = 8;
const COMPARE_SWAP: u64 = 9;
/// Added where the word has 4 bytes.
const FOUR: u64 = 0x80;
/// Bits of an offset.
const OFFSET: u32 = 48;

/// Operations on one PE, to be applied there in their order.
///
/// ```
/// use std::sync::Arc;
/// use oxshmem_memory::{
///     HostMap, Segment, SegmentId, copy,
///     word::{Atomic, Signal, Width},
/// };
/// use oxshmem_net::{Batch, Spot, apply};
///
/// let spot = |offset| Spot { pe: 1, segment: SegmentId::Heap, offset };
/// let mut batch = Batch::default();
/// batch.put(spot(0), &[1, 2, 3]);
/// batch.update(spot(8), Width::Eight, Atomic::Add(40));
/// batch.signal(spot(8), Signal::Add(2));
///
/// // What the target does with it:
/// let map = Arc::new(HostMap::new(2, 1 << 16)?);
/// let heap = Segment::new(SegmentId::Heap, map, 0, 1 << 16);
/// // SAFETY: the heap is mapped, and nothing else has it.
/// unsafe { apply(batch.words(), 1, &[&heap]) }?;
/// // SAFETY: both are in PE 1's block.
/// let (bytes, word) = unsafe {
///     let block = heap.address(1, 0, 16).unwrap();
///     (copy::load(block.cast::<[u8; 4]>()), copy::load(block.add(8).cast::<u64>()))
/// };
/// assert_eq!((bytes, word), ([1, 2, 3, 0], 42));
/// # Ok::<(), oxshmem_base::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Batch {
    words: Vec<u64>,
    operations: usize,
}

impl Batch {
    /// An empty one with room for `bytes` in all, heads included.
    pub fn with_capacity(bytes: usize) -> Self {
        Self { words: Vec::with_capacity(bytes / size_of::<u64>()), operations: 0 }
    }

    /// Adds a copy of `bytes` to `to`.
    pub fn put(&mut self, to: Spot, bytes: &[u8]) {
        // SAFETY: a slice is readable.
        unsafe { self.put_from(to, bytes.as_ptr(), bytes.len()) }
    }

    /// Adds a copy of `len` bytes at `from` to `to`.
    ///
    /// # Safety
    /// `from` must be readable for `len` bytes; others may write there meanwhile.
    pub unsafe fn put_from(&mut self, to: Spot, from: *const u8, len: usize) {
        self.head(PUT, to, len as u64);
        let start = self.words.len();
        self.words.resize(start + len.div_ceil(size_of::<u64>()), 0);
        // SAFETY: the words just added have room for `len` bytes.
        unsafe { copy::copy(self.words[start..].as_mut_ptr().cast(), from, len) };
    }

    /// Adds an atomic operation that fetches nothing: set, add, and, or, exclusive or.
    ///
    /// # Panics
    /// If the operation is another.
    pub fn update(&mut self, at: Spot, width: Width, operation: Atomic<u64>) {
        let (kind, operand) = match operation {
            Atomic::Set(value) => (SET, value),
            Atomic::Add(value) => (ADD, value),
            Atomic::And(value) => (AND, value),
            Atomic::Or(value) => (OR, value),
            Atomic::Xor(value) => (XOR, value),
            other => panic!("{other:?} fetches, and cannot be in a batch"),
        };
        let four = if width == Width::Four { FOUR } else { 0 };
        self.head(kind | four, at, operand);
    }

    /// Adds the update of a signal word.
    pub fn signal(&mut self, at: Spot, update: Signal) {
        let operation = match update {
            Signal::Set(value) => Atomic::Set(value),
            Signal::Add(value) => Atomic::Add(value),
        };
        self.update(at, Width::Eight, operation);
    }

    /// How many operations are in it.
    pub fn len(&self) -> usize {
        self.operations
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.operations == 0
    }

    /// Bytes in all.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.words)
    }

    /// What travels.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// What travels, to be kept by its sender.
    pub fn into_words(self) -> Vec<u64> {
        self.words
    }

    /// Adds what is in another.
    pub fn append(&mut self, mut other: Self) {
        self.words.append(&mut other.words);
        self.operations += other.operations;
    }

    /// Takes everything out, and leaves an empty batch with as much room.
    pub fn take(&mut self) -> Self {
        let room = Vec::with_capacity(self.words.capacity());
        let words = std::mem::replace(&mut self.words, room);
        Self { words, operations: std::mem::take(&mut self.operations) }
    }

    #[inline]
    fn head(&mut self, kind: u64, spot: Spot, operand: u64) {
        self.words.extend_from_slice(&[first(kind, spot), operand]);
        self.operations += 1;
    }
}

/// The first word of an entry.
#[inline]
fn first(kind: u64, spot: Spot) -> u64 {
    debug_assert!(spot.offset >> OFFSET == 0, "no memory is that large");
    kind | u64::from(spot.segment.bit()) << 8 | (spot.offset as u64) << (u64::BITS - OFFSET)
}

/// An atomic operation that fetches, as it travels.
pub type Question = [u64; 3];

/// An atomic operation as it is to travel.
pub fn question(at: Spot, width: Width, operation: Atomic<u64>) -> Question {
    let (kind, operand, cond) = match operation {
        Atomic::Fetch => (FETCH, 0, 0),
        Atomic::Set(value) => (SET, value, 0),
        Atomic::Swap(value) => (SWAP, value, 0),
        Atomic::CompareSwap { cond, value } => (COMPARE_SWAP, value, cond),
        Atomic::Add(value) => (ADD, value, 0),
        Atomic::And(value) => (AND, value, 0),
        Atomic::Or(value) => (OR, value, 0),
        Atomic::Xor(value) => (XOR, value, 0),
    };
    let four = if width == Width::Four { FOUR } else { 0 };
    [first(kind | four, at), operand, cond]
}

/// The width and the operation of a question.
///
/// # Errors
/// If there is no such operation.
pub fn decode([first, operand, cond]: Question) -> Result<(Width, Atomic<u64>)> {
    let operation = match first & 0xff & !FOUR {
        FETCH => Atomic::Fetch,
        SWAP => Atomic::Swap(operand),
        COMPARE_SWAP => Atomic::CompareSwap { cond, value: operand },
        kind => operation(kind, operand)?,
    };
    Ok((if first & FOUR != 0 { Width::Four } else { Width::Eight }, operation))
}

/// Performs a question on the PE in `block`, and returns the value before.
pub(super) fn perform(question: Question, block: usize, segments: &[&Segment]) -> Result<u64> {
    let (width, operation) = decode(question)?;
    let len = width as usize;
    let at = place(question[0], len, block, segments)?;
    if !at.addr().is_multiple_of(len) {
        return Err(malformed());
    }
    // SAFETY: in bounds and aligned, as just checked.
    Ok(unsafe { operation.apply(at, width) })
}

/// The address of `len` bytes that an entry is about.
fn place(first: u64, len: usize, block: usize, segments: &[&Segment]) -> Result<*mut u8> {
    let id = (first >> 8 & 0xff) as u32;
    let segment = segments.iter().find(|segment| segment.id().bit() == id).ok_or_else(malformed)?;
    segment.address(block, (first >> (u64::BITS - OFFSET)) as usize, len).ok_or_else(malformed)
}

/// Performs the operations of a batch on the PE in `block`, whose symmetric memory is in
/// `segments`. Words that make no sense are an error: they come from another process.
///
/// # Safety
/// The segments must be memory that can be loaded and stored, of a PE that expects what comes from
/// others.
///
/// # Errors
/// [`Error::Bootstrap`] if the words are no batch or go beyond the memory; what came before has
/// been done.
pub unsafe fn apply(mut words: &[u64], block: usize, segments: &[&Segment]) -> Result<()> {
    while let &[first, operand, ref rest @ ..] = words {
        let kind = first & 0xff;
        let width = if kind & FOUR == 0 { Width::Eight } else { Width::Four };
        let len = match kind {
            PUT => usize::try_from(operand).map_err(|_| malformed())?,
            _ => width as usize,
        };
        let to = place(first, len, block, segments)?;
        words = rest;
        if kind == PUT {
            let (data, rest) = rest.split_at_checked(len.div_ceil(size_of::<u64>())).ok_or_else(malformed)?;
            // SAFETY: `address` has checked the bounds of one side, `split_at_checked` those of the
            // other.
            unsafe { copy::copy(to, data.as_ptr().cast(), len) };
            words = rest;
            continue;
        }
        if !to.addr().is_multiple_of(len) {
            return Err(malformed());
        }
        // SAFETY: in bounds and aligned, as just checked.
        unsafe { operation(kind & !FOUR, operand)?.apply(to, width) };
    }
    if words.is_empty() { Ok(()) } else { Err(malformed()) }
}

/// What an entry does, where it is not [applied](apply) at once.
#[derive(Clone, Copy, Debug)]
pub enum Entry {
    /// Puts so many bytes, which begin with the entry's third word.
    Put(usize),
    /// Updates a word.
    Update(Width, Atomic<u64>),
}

/// The first entry of a batch: where, what, and how many words it takes.
///
/// # Errors
/// If the words are no batch.
pub fn first_entry(words: &[u64]) -> Result<(Location, Entry, usize)> {
    let &[first, operand, ref rest @ ..] = words else { return Err(malformed()) };
    let (entry, data) = match first & 0xff {
        PUT => {
            let len = usize::try_from(operand).map_err(|_| malformed())?;
            (Entry::Put(len), len.div_ceil(size_of::<u64>()))
        }
        _ => {
            let (width, operation) = decode([first, operand, 0])?;
            (Entry::Update(width, operation), 0)
        }
    };
    if data > rest.len() {
        return Err(malformed());
    }
    Ok((Location::of(first)?, entry, 2 + data))
}

/// What an entry is about, on whichever PE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// The symmetric memory.
    pub segment: SegmentId,
    /// Bytes from the start of that memory.
    pub offset: usize,
}

impl Location {
    /// Of an entry or a question that begins with this word.
    ///
    /// # Errors
    /// If there is no such memory.
    pub fn of(first: u64) -> Result<Self> {
        let bit = (first >> 8 & 0xff) as u32;
        let known = [SegmentId::Scratch, SegmentId::Heap, SegmentId::Gpu];
        let segment = known.into_iter().find(|segment| segment.bit() == bit).ok_or_else(malformed)?;
        Ok(Self { segment, offset: (first >> (u64::BITS - OFFSET)) as usize })
    }

    /// Whether it is device memory.
    pub fn on_device(self) -> bool {
        self.segment == SegmentId::Gpu
    }
}

fn operation(kind: u64, operand: u64) -> Result<Atomic<u64>> {
    Ok(match kind {
        SET => Atomic::Set(operand),
        ADD => Atomic::Add(operand),
        AND => Atomic::And(operand),
        OR => Atomic::Or(operand),
        XOR => Atomic::Xor(operand),
        _ => return Err(malformed()),
    })
}

/// The error about operations of another PE that make no sense.
#[cold]
pub fn malformed() -> Error {
    Error::bootstrap(
        "net",
        "a PE sent operations that this one cannot make sense of: do all run the same build?",
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use oxshmem_memory::{HostMap, SegmentId};

    fn heap() -> Segment {
        Segment::new(SegmentId::Heap, Arc::new(HostMap::new(2, 1 << 16).unwrap()), 0, 4096)
    }

    fn spot(offset: usize) -> Spot {
        Spot { pe: 0, segment: SegmentId::Heap, offset }
    }

    fn apply_here(words: &[u64], segments: &[&Segment]) -> Result<()> {
        // SAFETY: the segments are mapped, and nothing else has them.
        unsafe { apply(words, 0, segments) }
    }

    #[test]
    fn what_is_malformed_is_refused_and_touches_nothing_outside() {
        let heap = heap();
        for (offset, len) in [(4096, 1), (4089, 8), ((1 << 48) - 1, 1)] {
            let mut batch = Batch::default();
            batch.put(spot(offset), &vec![1; len]);
            assert!(apply_here(batch.words(), &[&heap]).is_err(), "{len} bytes at {offset}");
        }
        let mut batch = Batch::default();
        batch.update(spot(4), Width::Eight, Atomic::Add(1));
        assert!(apply_here(batch.words(), &[&heap]).is_err(), "misaligned");
        let mut batch = Batch::default();
        batch.put(spot(0), &[1; 9]);
        let words = batch.words();
        assert!(apply_here(&words[..words.len() - 1], &[&heap]).is_err(), "cut short");
        assert!(apply_here(words, &[]).is_err(), "no such memory");
        assert!(apply_here(&[0, 0], &[&heap]).is_err());
    }

    #[test]
    fn questions_are_answered_with_what_was_there() {
        let heap = heap();
        let ask = |offset, width, operation| perform(question(spot(offset), width, operation), 0, &[&heap]);
        for (operation, before) in [
            (Atomic::Add(u64::MAX), 0),
            (Atomic::Swap(12), u64::MAX),
            (Atomic::CompareSwap { cond: 1, value: 9 }, 12),
            (Atomic::CompareSwap { cond: 12, value: 10 }, 12),
            (Atomic::And(6), 10),
            (Atomic::Or(9), 2),
            (Atomic::Xor(15), 11),
            (Atomic::Set(u64::MAX), u64::MAX),
            (Atomic::Fetch, u64::MAX),
        ] {
            let got = ask(8, Width::Eight, operation).unwrap();
            // What a set returns says nothing.
            assert!(got == before || matches!(operation, Atomic::Set(_)), "{operation:?}: {got}");
        }
        assert_eq!(ask(12, Width::Four, Atomic::Add(2)).unwrap(), u64::from(u32::MAX));
        assert_eq!(ask(8, Width::Eight, Atomic::Fetch).unwrap(), 1 << 32 | u64::from(u32::MAX));
        assert!(
            ask(4093, Width::Four, Atomic::Fetch).is_err() && ask(4, Width::Eight, Atomic::Fetch).is_err()
        );
    }

    #[test]
    fn operations_are_applied_in_their_order() {
        let heap = heap();
        let mut batch = Batch::default();
        for value in 1..=100u64 {
            batch.put(spot(0), &value.to_ne_bytes());
            batch.update(spot(8), Width::Eight, Atomic::Xor(value));
            batch.update(spot(20), Width::Four, Atomic::Add(u64::from(u32::MAX)));
        }
        assert_eq!(batch.len(), 300);
        let sent = batch.take();
        assert!(batch.is_empty() && batch.words().is_empty());
        apply_here(sent.words(), &[&heap]).unwrap();
        let word = |offset| {
            // SAFETY: in the block, which has 4,096 bytes.
            unsafe { copy::load(heap.address(0, offset, 8).unwrap().cast::<u64>()) }
        };
        assert_eq!((word(0), word(8)), (100, (1..=100).fold(0, |a, b| a ^ b)));
        assert_eq!(word(16), u64::from(u32::MAX - 99) << 32, "its neighbour is left alone");
    }
}
