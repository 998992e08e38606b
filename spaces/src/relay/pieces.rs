//! Pieces of a PE's symmetric memory through which long transfers between devices and other hosts
//! go: nets reach them, and devices copy to and from them by themselves.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Weak},
};

use oxshmem_base::sync::{Mutex, lock};
use oxshmem_memory::{Segment, op::Address};
use oxshmem_progress::completion;

/// Bytes of a piece.
pub const PIECE: usize = 512 << 10;
/// How many a PE has for its own transfers, and as many for those of others: neither waits for the
/// other.
pub const PIECES: usize = 8;
/// What all of a PE's pieces take.
pub(crate) const ROOM: usize = 2 * PIECES * PIECE;

/// What gets a piece when one is free.
type Taker = Box<dyn FnOnce(Piece) + Send>;

/// Pieces that are taken and come back.
pub struct Pieces {
    segment: Segment,
    block: usize,
    state: Mutex<PiecePool>,
    this: Weak<Self>,
}

#[derive(Default)]
struct PiecePool {
    /// Their offsets.
    free: Vec<usize>,
    waiting: VecDeque<Taker>,
}

/// A piece, until it is dropped.
pub struct Piece {
    pieces: Arc<Pieces>,
    offset: usize,
}

impl Pieces {
    /// Those at `offset` in the memory of the PE in `block`, which nothing else may use.
    pub(crate) fn new(segment: &Segment, block: usize, offset: usize) -> Arc<Self> {
        let free = (0..PIECES).rev().map(|i| offset + i * PIECE).collect();
        Arc::new_cyclic(|this| Self {
            segment: segment.clone(),
            block,
            state: Mutex::new(PiecePool { free, waiting: VecDeque::new() }),
            this: Weak::clone(this),
        })
    }

    /// Hands a piece to `then`: now, or when one is free, in the order of the calls.
    pub fn take(&self, then: impl FnOnce(Piece) + Send + 'static) {
        // It exists, as this is borrowed.
        let Some(pieces) = self.this.upgrade() else { return };
        let mut state = lock(&self.state);
        let Some(offset) = state.free.pop() else { return state.waiting.push_back(Box::new(then)) };
        drop(state);
        then(Piece { pieces, offset });
    }

    /// The address of a place in this PE's memory.
    fn address(&self, offset: usize) -> *mut u8 {
        self.segment.address_unchecked(self.block, offset)
    }
}

impl Piece {
    /// Where it begins in this process.
    pub fn start(&self) -> *mut u8 {
        self.pieces.address(self.offset)
    }

    /// Where it begins in the symmetric memory.
    pub(super) fn offset(&self) -> usize {
        self.offset
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        let mut state = lock(&self.pieces.state);
        let Some(next) = state.waiting.pop_front() else { return state.free.push(self.offset) };
        drop(state);
        let piece = Self { pieces: Arc::clone(&self.pieces), offset: self.offset };
        // It may start something that is over at once, and so on.
        completion::run(move || next(piece));
    }
}

/// Where an address is in the memory of the PE in `block`, if `len` bytes from there on are.
pub(super) fn offset_in(segment: &Segment, block: usize, at: Address, len: usize) -> Option<usize> {
    let offset = at.get().addr().checked_sub(segment.address_unchecked(block, 0).addr())?;
    let inside = offset <= segment.len() && len <= segment.len() - offset;
    inside.then_some(offset)
}

impl fmt::Debug for Pieces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PIECES} pieces of {PIECE} bytes")
    }
}

impl fmt::Debug for Piece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "piece at offset {:#x}", self.offset)
    }
}
