//! The scratch memory of a team at its addresses: as words, which PEs load and store as atomics, or
//! copy as payloads of slots.
//!
//! It is what small collectives are made of, so that finding a word is a comparison and an
//! addition, and a multiplication for another PE's.

use std::{fmt, sync::atomic::AtomicU64};

use oxshmem_memory::{Segment, copy};

use crate::memory::scratch::{INLINE, LINE, PAYLOAD_AT, TEAM_BYTES};

/// The words of one PE.
pub(crate) type Words = [AtomicU64; TEAM_BYTES / size_of::<u64>()];

/// A slot: its number, two words of a signature, and the payload.
pub(crate) type Slot = [AtomicU64; LINE / size_of::<u64>()];

/// The words of all PEs of a host.
pub(crate) struct TeamWords {
    /// This PE's.
    own: *const Words,
    /// The words of the host's first PE.
    first: *const u8,
    /// Bytes to those of the next.
    stride: usize,
    blocks: usize,
    /// Keeps them mapped.
    _scratch: Segment,
}

// SAFETY: the pointers are addresses of memory that stays mapped, and of which nothing but atomics
// is handed out.
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
            blocks: scratch.local_pes(),
            _scratch: scratch,
        }
    }

    /// This PE's.
    #[inline(always)]
    pub(crate) fn own(&self) -> &Words {
        // SAFETY: inside of the segment and aligned, which `new` has checked; mapped as long as the
        // segment is there. PEs access it atomically, or by copies that tolerate races.
        unsafe { &*self.own }
    }

    /// The words of the PE in that block.
    ///
    /// # Panics
    /// If there is no such block.
    #[inline(always)]
    pub(crate) fn of(&self, block: usize) -> &Words {
        assert!(block < self.blocks);
        // SAFETY: as above, as every block has as many bytes, and the blocks lie `stride` apart.
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
    // SAFETY: a slot has room for `INLINE` bytes behind its signature; the rest is the caller's
    // word.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::scratch;
    use oxshmem_memory::{HostMap, SegmentId};
    use std::{
        panic::{AssertUnwindSafe, catch_unwind},
        sync::{Arc, atomic::Ordering},
    };

    const OFFSET: usize = 1 << 16;

    fn words() -> (Segment, TeamWords) {
        let map = Arc::new(HostMap::new(3, 1 << 20).unwrap());
        let segment = Segment::new(SegmentId::Scratch, map, 0, 1 << 19);
        (segment.clone(), TeamWords::new(segment, OFFSET, 1))
    }

    fn panics<T>(work: impl FnOnce() -> T) -> bool {
        catch_unwind(AssertUnwindSafe(|| drop(work()))).is_err()
    }

    #[test]
    fn each_pe_has_its_words_where_its_scratch_memory_is() {
        let (segment, words) = words();
        for block in 0..3 {
            let address = segment.address(block, OFFSET, TEAM_BYTES).unwrap();
            assert_eq!(words.of(block).as_ptr().addr(), address.addr());
            word(words.of(block), 8).store(block as u64 + 7, Ordering::Relaxed);
        }
        assert_eq!(word(words.own(), 8).load(Ordering::Relaxed), 8);
        assert_eq!(word(words.of(2), 8).load(Ordering::Relaxed), 9);
    }

    #[test]
    fn a_payload_comes_out_of_a_slot_as_it_went_in_and_touches_nothing_else() {
        let (_, words) = words();
        for len in 0..=INLINE {
            let place = scratch::slot(len as u64, len % 7);
            let bytes: Vec<u8> = (0..len).map(|i| (i * 7 + len) as u8).collect();
            let mut out = vec![0xee; len];
            let slot = slot(words.of(2), place);
            let header = |slot: &Slot| [0, 1, 2].map(|i: usize| slot[i].load(Ordering::Relaxed));
            let (before, behind) = (header(slot), word(words.of(2), place + LINE).load(Ordering::Relaxed));
            // SAFETY: both have `len` bytes.
            unsafe {
                fill(slot, bytes.as_ptr(), len);
                take(out.as_mut_ptr(), slot, len);
            }
            assert_eq!(out, bytes);
            assert_eq!(header(slot), before);
            assert_eq!(word(words.of(2), place + LINE).load(Ordering::Relaxed), behind);
        }
    }

    #[test]
    fn what_is_not_inside_is_not_handed_out() {
        let (segment, words) = words();
        assert!(panics(|| words.of(3)));
        assert!(panics(|| word(words.own(), TEAM_BYTES)));
        assert!(panics(|| slot::<16>(words.own(), TEAM_BYTES - LINE + 8)));
        assert!(!panics(|| slot::<16>(words.own(), TEAM_BYTES - LINE)));
        assert!(panics(|| TeamWords::new(segment.clone(), (1 << 19) - TEAM_BYTES + 8, 0)));
        assert!(panics(|| TeamWords::new(segment, OFFSET + 4, 0)));
        let (mut byte, slot) = (0u8, slot(words.own(), 0));
        // SAFETY: it panics before it touches anything.
        assert!(panics(|| unsafe { fill(slot, &raw const byte, INLINE + 1) }));
        // SAFETY: as above.
        assert!(panics(|| unsafe { take(&raw mut byte, slot, INLINE + 1) }));
    }
}
