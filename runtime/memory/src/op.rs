//! An operation on symmetric memory, as a plain value.
//!
//! An [`Op`] says what is done, where, and with which memory on this side. Whatever moves bytes
//! takes one: a network, a device, a stream of a device. Which places it reaches is in the types:
//! a network takes a [`Spot`] there and an [`Address`] here, a device takes places of its own.

use super::{
    SegmentId,
    word::{Atomic, Signal, Width},
};

/// A place in the symmetric memory of a PE. The maker has checked that it is in bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The PE's number in the world.
    pub pe: usize,
    /// The symmetric memory.
    pub segment: SegmentId,
    /// Bytes from the start of that memory.
    pub offset: usize,
}

/// An address of this process, which may go to another thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address(*mut u8);

// SAFETY: it is only a number. Each use of it has its own reason that it is allowed.
unsafe impl Send for Address {}
// SAFETY: as above.
unsafe impl Sync for Address {}

impl Address {
    /// The address.
    #[inline]
    pub fn get(self) -> *mut u8 {
        self.0
    }
}

impl From<*mut u8> for Address {
    fn from(address: *mut u8) -> Self {
        Self(address)
    }
}

impl From<*const u8> for Address {
    fn from(address: *const u8) -> Self {
        Self(address.cast_mut())
    }
}

/// A place that others lie behind.
///
/// # Safety
/// What [`behind`](Self::behind) returns must be that place: operations are cut by it.
pub unsafe trait Behind: Copy {
    /// The place `bytes` bytes behind this one, which need not be in bounds.
    #[must_use]
    fn behind(self, bytes: usize) -> Self;
}

// SAFETY: an offset and a number of bytes are added.
unsafe impl Behind for Spot {
    fn behind(self, bytes: usize) -> Self {
        Self { offset: self.offset.wrapping_add(bytes), ..self }
    }
}

// SAFETY: as above.
unsafe impl Behind for Address {
    fn behind(self, bytes: usize) -> Self {
        Self(self.0.wrapping_add(bytes))
    }
}

/// Blocks of equal length, this many on either side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// Bytes of each.
    pub len: usize,
    /// How many.
    pub count: usize,
    /// Bytes from the start of one to the start of the next, at the other end.
    pub there: usize,
    /// Bytes from the start of one to the start of the next, on this side.
    pub here: usize,
}

impl Blocks {
    /// One block of `len` bytes.
    #[inline]
    pub const fn whole(len: usize) -> Self {
        Self { len, count: 1, there: len, here: len }
    }

    /// Bytes of all blocks.
    #[inline]
    pub const fn bytes(self) -> usize {
        self.len * self.count
    }

    /// Bytes from the start of the first block to the end of the last, at the other end. `None` if
    /// there is no byte, or the number overflows: for numbers that another PE has sent.
    pub fn span(self) -> Option<usize> {
        let before = self.count.checked_sub(1)?.checked_mul(self.there)?;
        self.len.checked_mul(self.count).filter(|&bytes| bytes > 0)?;
        before.checked_add(self.len)
    }
}

/// What is done. `H` names memory on this side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb<H> {
    /// Bytes are copied from here.
    Put(H),
    /// Bytes are copied to here.
    Get(H),
    /// A word there is updated, or fetched, or both.
    Atomic(Atomic<u64>, Width),
}

/// When a put is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// When its source may be reused: *local* completion.
    Reusable,
    /// When the data, and the signal behind it, are visible at the target: *remote* completion.
    Delivered,
}

/// An operation: what is done, where, and with which memory on this side.
///
/// ```
/// use oxshmem_memory::{SegmentId, op::{Op, Spot}, word::{Atomic, Signal, Width}};
///
/// let data = [1_u8, 2, 3];
/// let at = |offset| Spot { pe: 1, segment: SegmentId::Heap, offset };
/// let put: Op = Op::put(at(64), data.as_ptr(), data.len()).then(at(8), Signal::Add(1));
/// let add: Op = Op::atomic(at(8), Atomic::Add(40), Width::Eight);
/// assert_eq!((put.blocks.bytes(), add.blocks.bytes()), (3, 8));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op<T = Spot, H = Address> {
    /// What is done.
    pub verb: Verb<H>,
    /// Where the first block is, or the word.
    pub there: T,
    /// How many bytes, and how they lie.
    pub blocks: Blocks,
    /// A signal word of the same PE that is updated when the data of a put is there.
    pub then: Option<(T, Signal)>,
    /// When a put is over.
    pub ready: Ready,
}

impl<T, H> Op<T, H> {
    const fn new(verb: Verb<H>, there: T, blocks: Blocks) -> Self {
        Self { verb, there, blocks, then: None, ready: Ready::Reusable }
    }

    /// Copies `len` bytes from `from` to `there`.
    pub fn put(there: T, from: impl Into<H>, len: usize) -> Self {
        Self::new(Verb::Put(from.into()), there, Blocks::whole(len))
    }

    /// Copies `len` bytes from `there` to `to`.
    pub fn get(there: T, to: impl Into<H>, len: usize) -> Self {
        Self::new(Verb::Get(to.into()), there, Blocks::whole(len))
    }

    /// Performs an atomic operation on the word at `there`.
    pub fn atomic(there: T, operation: Atomic<u64>, width: Width) -> Self {
        Self::new(Verb::Atomic(operation, width), there, Blocks::whole(width as usize))
    }

    /// The operation on these blocks instead of one.
    #[must_use]
    pub fn of_blocks(self, blocks: Blocks) -> Self {
        Self { blocks, ..self }
    }

    /// The put, and then the update of a signal at the same PE.
    #[must_use]
    pub fn then(self, at: T, update: Signal) -> Self {
        Self { then: Some((at, update)), ..self }
    }

    /// The put, over at its remote completion.
    #[must_use]
    pub fn delivered(self) -> Self {
        Self { ready: Ready::Delivered, ..self }
    }

    /// The operation between other places.
    pub fn map<U, I>(self, there: impl Fn(T) -> U, here: impl FnOnce(H) -> I) -> Op<U, I> {
        let verb = match self.verb {
            Verb::Put(from) => Verb::Put(here(from)),
            Verb::Get(to) => Verb::Get(here(to)),
            Verb::Atomic(operation, width) => Verb::Atomic(operation, width),
        };
        let then = self.then.map(|(at, update)| (there(at), update));
        Op { verb, there: there(self.there), blocks: self.blocks, then, ready: self.ready }
    }
}

impl<T: Behind, H: Behind> Op<T, H> {
    /// Block `i` by itself, without the signal.
    #[must_use]
    pub fn block(self, i: usize) -> Self {
        let Blocks { len, there, here, .. } = self.blocks;
        Self { blocks: Blocks::whole(len), ..self.behind(i * there, i * here) }
    }

    /// Each block by itself, without the signal.
    pub fn each(self) -> impl Iterator<Item = Self> {
        (0..self.blocks.count).map(move |i| self.block(i))
    }

    /// One block, as pieces of at most `most` bytes, without the signal.
    pub fn pieces(self, most: usize) -> impl Iterator<Item = Self> {
        let len = self.blocks.len;
        (0..len).step_by(most).map(move |at| self.piece(at, most.min(len - at)))
    }

    /// `len` bytes of one block, from `at` on, without the signal.
    #[must_use]
    pub fn piece(self, at: usize, len: usize) -> Self {
        Self { blocks: Blocks::whole(len), ..self.behind(at, at) }
    }

    /// What lies behind, without the signal.
    fn behind(self, there: usize, here: usize) -> Self {
        let verb = match self.verb {
            Verb::Put(from) => Verb::Put(from.behind(here)),
            Verb::Get(to) => Verb::Get(to.behind(here)),
            atomic @ Verb::Atomic(..) => atomic,
        };
        Self { verb, there: self.there.behind(there), then: None, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spot(offset: usize) -> Spot {
        Spot { pe: 1, segment: SegmentId::Heap, offset }
    }

    fn address(offset: usize) -> Address {
        std::ptr::without_provenance_mut::<u8>(offset).into()
    }

    #[test]
    fn each_block_is_where_the_strides_say_and_has_no_signal() {
        let blocks = Blocks { len: 8, count: 3, there: 24, here: 8 };
        let put: Op = Op::put(spot(64), address(1000), 0).of_blocks(blocks);
        let each: Vec<Op> = put.then(spot(8), Signal::Set(1)).each().collect();
        let expected: [Op; 3] =
            [(64, 1000), (88, 1008), (112, 1016)].map(|(there, here)| Op::put(spot(there), address(here), 8));
        assert_eq!(each, expected);
        assert_eq!((blocks.bytes(), blocks.span()), (24, Some(56)));
    }

    #[test]
    fn pieces_lie_one_behind_the_other_and_the_last_is_shorter() {
        let get: Op = Op::get(spot(64), address(1000), 20);
        let pieces: Vec<Op> = get.pieces(8).collect();
        let expected: [Op; 3] = [(64, 1000, 8), (72, 1008, 8), (80, 1016, 4)]
            .map(|(there, here, len)| Op::get(spot(there), address(here), len));
        assert_eq!(pieces, expected);
        let nothing: Op = Op::get(spot(64), address(1000), 0);
        assert_eq!(nothing.pieces(8).count(), 0);
    }

    #[test]
    fn blocks_of_another_pe_that_are_no_numbers_have_no_span() {
        for (len, count, there) in
            [(8, usize::MAX, 8), (usize::MAX, 2, 0), (8, 3, usize::MAX / 2), (0, 3, 8), (8, 0, 8)]
        {
            assert_eq!(Blocks { len, count, there, here: 0 }.span(), None, "{len} {count} {there}");
        }
    }
}
