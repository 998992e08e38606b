//! The scratch memory of a team at its addresses: as words, which PEs load and store as atomics, or copy as payloads of slots.
//!
//! It is what small collectives are made of, so that finding a word is a comparison and an addition, and a multiplication for
//! another PE's.

use std::{fmt, sync::atomic::AtomicU64};

use oxshmem_runtime::memory::{Segment, copy};

use crate::scratch::{INLINE, LINE, PAYLOAD_AT, TEAM_BYTES};

/// The words of one PE.
pub(crate) type Words = [AtomicU64; TEAM_BYTES / size_of::<u64>()];

/// A slot: its number, two words of a signature, and the payload.
pub(crate) type Slot = [AtomicU64; LINE / size_of::<u64>()];

/// The words of all PEs of a host.
pub(crate) struct TeamWords {
    /// This PE's.
    own: *const Words,
    /// Those of the host's first PE.
    first: *const u8,
    /// Bytes to those of the next.
    stride: usize,
    blocks: usize,
    /// Keeps them mapped.
    _scratch: Segment,
}

// SAFETY: the pointers are addresses of memory that stays mapped, and of which nothing but atomics is handed out.
unsafe impl Send for TeamWords {}
// SAFETY: as above.
unsafe impl Sync for TeamWords {}

impl TeamWords {
    /// Those that begin `offset` bytes into the scratch memory, of which this PE's is `here`.
    ///
    /// # Panics
    /// If they are not inside of it, or not aligned.
    pub(crate) fn new(scratch: Segment, offset: usize, here: usize) -> Self {
        let address = |block: usize| {
            let address = scratch.address(block, offset, size_of::<Words>());
            let address = address.expect("a team's scratch memory is inside of its PEs'").cast::<Words>();
            assert!(address.is_aligned());
            address.cast_const()
        };
        let stride = scratch.map().stride();
        assert!(stride.is_multiple_of(align_of::<Words>()));
        Self {
            own: address(here),
            first: address(0).cast(),
            stride,
            blocks: scratch.blocks(),
            _scratch: scratch,
        }
    }

    /// This PE's.
    #[inline(always)]
    pub(crate) fn own(&self) -> &Words {
        // SAFETY: inside of the segment and aligned, which `new` has checked; mapped as long as the segment is there. PEs access
        // it atomically, or by copies that tolerate races.
        unsafe { &*self.own }
    }

    /// Those of the PE in that block.
    ///
    /// # Panics
    /// If there is no such block.
    #[inline(always)]
    pub(crate) fn of(&self, block: usize) -> &Words {
        assert!(block < self.blocks);
        // SAFETY: as above, as every block has as many bytes, and the blocks lie so far apart.
        unsafe { &*self.first.wrapping_add(block.wrapping_mul(self.stride)).cast::<Words>() }
    }
}

impl fmt::Debug for TeamWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TeamWords(of {} PEs)", self.blocks)
    }
}

/// The word at a place of the scratch memory.
///
/// # Panics
/// If the place is not inside.
#[inline(always)]
pub(crate) fn word(words: &Words, place: usize) -> &AtomicU64 {
    debug_assert!(place.is_multiple_of(size_of::<u64>()));
    &words[place / size_of::<u64>()]
}

/// The slot, or what is as long, at a place of the scratch memory.
///
/// # Panics
/// If the place is not inside.
#[inline(always)]
pub(crate) fn slot<const N: usize>(words: &Words, place: usize) -> &[AtomicU64; N] {
    debug_assert!(place.is_multiple_of(size_of::<u64>()));
    let slot = words[place / size_of::<u64>()..].first_chunk();
    slot.expect("a slot is inside of the scratch memory")
}

/// Gets hold of the cache line at a place of another PE's, for a store that comes soon.
#[inline(always)]
pub(crate) fn prepare(words: &Words, place: usize) {
    copy::prefetch_write(word(words, place));
}

/// Copies bytes into the payload of a slot.
///
/// # Safety
/// `from` must be readable for `len` bytes, by a copy that tolerates races.
///
/// # Panics
/// If there is no room for them.
#[inline(always)]
pub(crate) unsafe fn fill(slot: &Slot, from: *const u8, len: usize) {
    assert!(len <= INLINE);
    // SAFETY: a slot has room for so many bytes behind its signature; the rest is the caller's word.
    unsafe { copy::copy(payload(slot), from, len) }
}

/// Copies the first bytes of a slot's payload.
///
/// # Safety
/// `to` must be writable for `len` bytes, by a copy that tolerates races.
///
/// # Panics
/// If a payload is not as long.
#[inline(always)]
pub(crate) unsafe fn take(to: *mut u8, slot: &Slot, len: usize) {
    assert!(len <= INLINE);
    // SAFETY: as above.
    unsafe { copy::copy(to, payload(slot), len) }
}

/// Where the payload of a slot is. It is aligned as words are.
#[inline(always)]
pub(crate) fn payload(slot: &Slot) -> *mut u8 {
    slot.as_ptr().cast_mut().cast::<u8>().wrapping_add(PAYLOAD_AT)
}
