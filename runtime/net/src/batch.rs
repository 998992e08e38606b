//! How operations travel: the head of one, and batches of several.
//!
//! A [`Head`] is four words that say what is to be done where. It travels by itself where an
//! answer is awaited, of an atomic operation that fetches or of a get. A [`Batch`] is several small
//! operations on the memory of one PE in one message, which the PE itself applies: an entry is the
//! first two words of a head and, for a put, its bytes, padded to words. Both sides are processes
//! of one program on machines of one kind, so that words are in the machine's own order.

use oxshmem_base::{Error, Result};
use oxshmem_memory::{
    Segment, SegmentId, copy,
    op::{Address, Blocks, Op, Spot, Verb},
    word::{Atomic, Width},
};

// The first byte of a head says what is done: an atomic operation's number and `ATOMIC`, or one of
// these. It is followed by a byte for the segment and six for the offset.
const PUT: u64 = 1;
const GET: u64 = 2;
const ATOMIC: u64 = 8;
/// Added where the word has 4 bytes.
const FOUR: u64 = 0x80;
/// Bits of an offset.
const OFFSET: u32 = 48;

/// What an operation is, as it travels: what and where, then the operand and the condition of an
/// atomic operation, or bytes of a block, distance of blocks and their number.
pub type Head = [u64; 4];

/// The head of an operation. What follows a put is not in it.
#[inline]
pub fn encode<H>(op: &Op<Spot, H>) -> Head {
    let Spot { segment, offset, .. } = op.there;
    debug_assert!(offset >> OFFSET == 0, "no memory is that large");
    let Blocks { len, count, there, .. } = op.blocks;
    let shape = [len as u64, there as u64, count as u64];
    let (what, [a, b, c]) = match op.verb {
        Verb::Put(_) => (PUT, shape),
        Verb::Get(_) => (GET, shape),
        Verb::Atomic(operation, width) => {
            let [number, value, cond] = operation.encode();
            let four = if width == Width::Four { FOUR } else { 0 };
            ((ATOMIC + number) | four, [value, cond, 0])
        }
    };
    [what | u64::from(segment.bit()) << 8 | (offset as u64) << (u64::BITS - OFFSET), a, b, c]
}

/// The operation of a head, on whichever PE. Its blocks lie one behind the other on this side.
///
/// # Errors
/// If there is no such operation or no such memory.
pub fn decode([first, a, b, c]: Head) -> Result<Op<Location, ()>> {
    let bit = (first >> 8 & 0xff) as u32;
    let known = [SegmentId::Scratch, SegmentId::Heap, SegmentId::Gpu];
    let segment = known.into_iter().find(|segment| segment.bit() == bit).ok_or_else(malformed)?;
    let at = Location { segment, offset: (first >> (u64::BITS - OFFSET)) as usize };
    let [len, there, count] = [a, b, c].map(|number| usize::try_from(number).unwrap_or(usize::MAX));
    let blocks = Blocks { len, count, there, here: len };
    Ok(match first & 0xff {
        PUT => Op::put(at, (), 0).of_blocks(blocks),
        GET => Op::get(at, (), 0).of_blocks(blocks),
        what => {
            let width = if what & FOUR != 0 { Width::Four } else { Width::Eight };
            let number = (what & !FOUR).wrapping_sub(ATOMIC);
            Op::atomic(at, Atomic::decode([number, a, b]).ok_or_else(malformed)?, width)
        }
    })
}

/// A place in symmetric memory, on whichever PE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// The symmetric memory.
    pub segment: SegmentId,
    /// Bytes from the start of that memory.
    pub offset: usize,
}

impl Location {
    /// Whether it is device memory.
    pub fn on_device(self) -> bool {
        self.segment == SegmentId::Gpu
    }

    /// The place on this PE.
    pub fn on(self, pe: usize) -> Spot {
        Spot { pe, segment: self.segment, offset: self.offset }
    }

    /// The address of `len` bytes there on the PE in `block`, aligned to `align`.
    pub(crate) fn address(
        self,
        block: usize,
        segments: &[&Segment],
        len: usize,
        align: usize,
    ) -> Result<*mut u8> {
        let segment = segments.iter().find(|segment| segment.id() == self.segment);
        let at = segment.and_then(|segment| segment.address(block, self.offset, len));
        at.filter(|at| at.addr().is_multiple_of(align)).ok_or_else(malformed)
    }
}

/// Operations on one PE, to be applied there in their order.
///
/// ```
/// use std::sync::Arc;
/// use oxshmem_memory::{
///     HostMap, Segment, SegmentId, copy,
///     op::Spot,
///     word::{Atomic, Width},
/// };
/// use oxshmem_net::{Batch, apply};
///
/// let spot = |offset| Spot { pe: 1, segment: SegmentId::Heap, offset };
/// let mut batch = Batch::default();
/// batch.put(spot(0), &[1, 2, 3]);
/// batch.update(spot(8), Atomic::Add(42), Width::Eight);
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

/// Bytes of an entry besides its data, and to round that up.
pub(crate) const HEAD: usize = 24;

impl Batch {
    /// An empty one with room for `bytes` in all, heads included.
    pub fn with_capacity(bytes: usize) -> Self {
        Self { words: Vec::with_capacity(bytes / size_of::<u64>()), operations: 0 }
    }

    /// Adds an operation: an atomic one, whose value before is not fetched, or a put, whose bytes
    /// are copied now, with its signal.
    ///
    /// # Panics
    /// If it is a get, or a compare-and-swap.
    ///
    /// # Safety
    /// A put's source must be readable; others may write there meanwhile.
    pub unsafe fn add(&mut self, op: &Op) {
        for one in op.each() {
            match one.verb {
                Verb::Put(from) => {
                    self.head(&one);
                    // SAFETY: passed on to the caller.
                    unsafe { extend(&mut self.words, from.get(), one.blocks.len) };
                }
                Verb::Atomic(operation, width) => self.update(one.there, operation, width),
                Verb::Get(_) => panic!("a get cannot be in a batch"),
            }
        }
        if let Some((at, update)) = op.then {
            self.update(at, update.into(), Width::Eight);
        }
    }

    /// Adds a copy of `bytes` to `to`.
    pub fn put(&mut self, to: Spot, bytes: &[u8]) {
        // SAFETY: a slice is readable.
        unsafe { self.add(&Op::put(to, bytes.as_ptr(), bytes.len())) }
    }

    /// Adds an atomic operation, whose value before is not fetched.
    ///
    /// # Panics
    /// If it is a compare-and-swap, for whose condition there is no room.
    #[inline]
    pub fn update(&mut self, at: Spot, operation: Atomic<u64>, width: Width) {
        assert!(!matches!(operation, Atomic::CompareSwap { .. }), "a condition cannot be in a batch");
        self.head(&Op::<Spot, Address>::atomic(at, operation, width));
    }

    #[inline]
    fn head(&mut self, op: &Op) {
        let [first, operand, ..] = encode(op);
        self.words.extend_from_slice(&[first, operand]);
        self.operations += 1;
    }

    /// The place and the length of a put, if that is all there is in it. Its bytes begin with the
    /// third word.
    pub(crate) fn lone_put(&self) -> Option<(Location, usize)> {
        let (op, all) = first_entry(&self.words).ok()?;
        let is_lone = all == self.words.len() && matches!(op.verb, Verb::Put(()));
        is_lone.then_some((op.there, op.blocks.len))
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

    /// Takes everything out, and keeps the room.
    pub fn clear(&mut self) {
        self.words.clear();
        self.operations = 0;
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
}

/// Appends the bytes at `from` to words, and zeros up to the end of the last one.
///
/// # Safety
/// `from` must be readable for `len` bytes; others may write there meanwhile.
pub(crate) unsafe fn extend(words: &mut Vec<u64>, from: *const u8, len: usize) {
    let (start, n) = (words.len(), len.div_ceil(size_of::<u64>()));
    // Not zeroed memory, which takes an allocator longer.
    words.reserve(n);
    let Some(last) = n.checked_sub(1) else { return };
    let room = words.spare_capacity_mut();
    room[last].write(0);
    // SAFETY: there is room for `len` bytes, and the caller's are readable. What is not written of
    // the words is in the last one.
    unsafe {
        copy::copy(room.as_mut_ptr().cast(), from, len);
        words.set_len(start + n);
    }
}

/// Performs an atomic operation on the PE in `block`, whose symmetric memory is in `segments`, and
/// returns the value before.
///
/// # Errors
/// If the word is not in that memory, or not aligned.
pub(crate) fn perform(
    (at, operation, width): (Location, Atomic<u64>, Width),
    block: usize,
    segments: &[&Segment],
) -> Result<u64> {
    let bytes = width as usize;
    let at = at.address(block, segments, bytes, bytes)?;
    // SAFETY: in bounds and aligned, as just checked.
    Ok(unsafe { operation.apply(at, width) })
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
    while !words.is_empty() {
        let (Op { verb, there, blocks, .. }, all) = first_entry(words)?;
        match verb {
            Verb::Atomic(operation, width) => {
                perform((there, operation, width), block, segments)?;
            }
            _ => {
                let to = there.address(block, segments, blocks.len, 1)?;
                // SAFETY: `address` has checked the bounds of one side, `first_entry` those of the
                // other.
                unsafe { copy::copy(to, words[2..].as_ptr().cast(), blocks.len) };
            }
        }
        words = &words[all..];
    }
    Ok(())
}

/// The first operation of a batch, and how many words it takes: a put, whose bytes begin with the
/// third word, or an atomic operation.
///
/// # Errors
/// If the words are no batch.
pub fn first_entry(words: &[u64]) -> Result<(Op<Location, ()>, usize)> {
    let &[first, operand, ref rest @ ..] = words else { return Err(malformed()) };
    let op = decode([first, operand, 0, 1])?;
    let data = match op.verb {
        Verb::Put(()) => op.blocks.len.div_ceil(size_of::<u64>()),
        // A condition is not in a batch.
        Verb::Atomic(Atomic::CompareSwap { .. }, _) | Verb::Get(()) => return Err(malformed()),
        Verb::Atomic(..) => 0,
    };
    if data > rest.len() {
        return Err(malformed());
    }
    Ok((op, 2 + data))
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
    use oxshmem_memory::HostMap;

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
        batch.update(spot(4), Atomic::Add(1), Width::Eight);
        assert!(apply_here(batch.words(), &[&heap]).is_err(), "misaligned");
        let mut batch = Batch::default();
        batch.put(spot(0), &[1; 9]);
        let words = batch.words();
        assert!(apply_here(&words[..words.len() - 1], &[&heap]).is_err(), "cut short");
        assert!(apply_here(words, &[]).is_err(), "no such memory");
        assert!(apply_here(&[0, 0], &[&heap]).is_err());
    }

    #[test]
    fn an_atomic_operation_that_travels_returns_what_was_there() {
        let heap = heap();
        let ask = |offset, width, operation| {
            let head = encode(&Op::<Spot, Address>::atomic(spot(offset), operation, width));
            let op = decode(head).unwrap();
            let Verb::Atomic(operation, width) = op.verb else { panic!("{op:?}") };
            perform((op.there, operation, width), 0, &[&heap])
        };
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
    fn a_head_says_what_the_operation_is() {
        let blocks = Blocks { len: 8, count: 100, there: 24, here: 8 };
        let get: Op = Op::get(spot(64), std::ptr::null_mut(), 0).of_blocks(blocks);
        let got = decode(encode(&get)).unwrap();
        assert_eq!((got.verb, got.there.on(0), got.blocks), (Verb::Get(()), spot(64), blocks));
        assert!(decode([0; 4]).is_err() && decode([(ATOMIC + 8) | (2 << 8), 0, 0, 0]).is_err());
        assert!(decode([GET, 8, 8, 1]).is_err(), "no such memory");
        assert!(first_entry(&encode(&get)).is_err(), "a get is in no batch");
    }

    #[test]
    fn operations_are_applied_in_their_order() {
        let heap = heap();
        let mut batch = Batch::default();
        for value in 1..=100u64 {
            batch.put(spot(0), &value.to_ne_bytes());
            batch.update(spot(8), Atomic::Xor(value), Width::Eight);
            batch.update(spot(20), Atomic::Add(u64::from(u32::MAX)), Width::Four);
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
