//! Ranges of symmetric memory that collectives read and write, on this PE and on others.
//!
//! A [`Span`] is plain data: it neither borrows nor owns. It stays valid because a segment is
//! mapped for as long as its PE exists; what keeps the bytes from being allocated to others is
//! documented where spans are kept (`queue`). Everything here copies, by copies that tolerate
//! races.

use std::ops::Range;

use oxshmem_memory::{Segment, SegmentId, copy, word::Place};
use oxshmem_net::Shm;
use oxshmem_spaces::{Element, Pe, SymView};

use crate::{
    memory::{
        scratch::INLINE,
        words::{self, Slot},
    },
    reduction::{Combine, ElementType, Kernel},
};

/// Some bytes of a segment, in bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    segment: SegmentId,
    offset: usize,
    len: usize,
}

impl Span {
    /// The bytes of `view`.
    #[inline(always)]
    pub(crate) fn of<T: Element>(view: SymView<'_, T>) -> Self {
        let extent = view.extent();
        Self { segment: extent.segment, offset: extent.offset, len: extent.len }
    }

    #[inline(always)]
    pub(crate) fn len(self) -> usize {
        self.len
    }

    /// Some bytes that no PE looks at.
    #[cfg(test)]
    pub(crate) fn for_test(len: usize) -> Self {
        Self { segment: SegmentId::Heap, offset: 0, len }
    }

    pub(crate) fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Where it begins in its segment, the same on every PE.
    #[inline(always)]
    pub(crate) fn offset(self) -> usize {
        self.offset
    }

    /// Whether they have bytes in common.
    #[inline(always)]
    pub(crate) fn overlaps(self, other: Self) -> bool {
        self.segment == other.segment
            && self.len > 0
            && other.len > 0
            && self.offset < other.offset + other.len
            && other.offset < self.offset + self.len
    }

    /// Both, of the same segment, one of which ends where the other begins.
    pub(crate) fn with(self, other: Self) -> Self {
        debug_assert!(self.offset + self.len == other.offset || other.offset + other.len == self.offset);
        Self { offset: self.offset.min(other.offset), len: self.len + other.len, ..self }
    }

    /// A part of it.
    ///
    /// # Panics
    /// If the range is not inside.
    #[inline(always)]
    pub(crate) fn part(self, range: Range<usize>) -> Self {
        assert!(range.start <= range.end && range.end <= self.len, "a part of a span is inside of it");
        Self { offset: self.offset + range.start, len: range.end - range.start, ..self }
    }
}

/// On which side of what is here something that came is combined with it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Side {
    Before,
    Behind,
}

/// The symmetric memory that spans are in, as one PE sees it.
#[derive(Debug)]
pub(crate) struct Memory {
    scratch: Segment,
    heap: Segment,
    me: usize,
    /// Where this PE's begin.
    own_scratch: *mut u8,
    own_heap: *mut u8,
}

// SAFETY: the pointers are addresses in the segments, which are `Send`.
unsafe impl Send for Memory {}
// SAFETY: as above; whatever is behind them is copied in ways that tolerate races.
unsafe impl Sync for Memory {}

impl Memory {
    pub(crate) fn new(pe: &Pe) -> Self {
        let (scratch, heap, me) = (pe.scratch(), pe.symmetric(), pe.local_pe());
        assert!(me < scratch.local_pes() && me < heap.local_pes());
        let [own_scratch, own_heap] = [&scratch, &heap].map(|segment| segment.address_unchecked(me, 0));
        Self { scratch, heap, me, own_scratch, own_heap }
    }

    /// Bytes of the scratch memory.
    pub(crate) fn scratch(&self, range: Range<usize>) -> Span {
        assert!(range.start <= range.end && range.end <= self.scratch.len());
        Span { segment: SegmentId::Scratch, offset: range.start, len: range.end - range.start }
    }

    #[inline(always)]
    fn segment(&self, id: SegmentId) -> &Segment {
        match id {
            SegmentId::Scratch => &self.scratch,
            SegmentId::Heap => &self.heap,
            SegmentId::Gpu => unreachable!("collectives work on the host's staging memory"),
        }
    }

    /// The address of this PE's bytes, which are mapped for as long as its network runs, and
    /// longer.
    #[inline(always)]
    pub(crate) fn here(&self, span: Span) -> *mut u8 {
        let start = match span.segment {
            SegmentId::Heap => self.own_heap,
            SegmentId::Scratch => self.own_scratch,
            SegmentId::Gpu => unreachable!("collectives work on the host's staging memory"),
        };
        start.wrapping_add(span.offset)
    }

    /// The place of `span` on the PE with that number in the world.
    #[inline(always)]
    fn place(&self, span: Span, block: usize) -> Place<'_> {
        assert!(block < self.scratch.local_pes());
        Place { segment: self.segment(span.segment), local_pe: block, offset: span.offset }
    }

    /// Copies this PE's bytes to `to`, as many as both have.
    #[inline(always)]
    pub(crate) fn read(&self, from: Span, to: &mut [u8]) {
        assert_eq!(from.len, to.len());
        // SAFETY: a span is in bounds; `to` has as many bytes.
        unsafe { copy::copy(to.as_mut_ptr(), self.here(from), to.len()) }
    }

    /// Copies the bytes of a PE to `to`.
    #[inline(always)]
    pub(crate) fn read_from(&self, from: Span, block: usize, to: &mut [u8]) {
        assert_eq!(from.len, to.len());
        // SAFETY: a span is in bounds on every PE, and `place` checks the PE; `to` has as many
        // bytes.
        unsafe { copy::copy(to.as_mut_ptr(), self.place(from, block).address(), to.len()) }
    }

    /// Copies `from` to this PE's bytes.
    #[inline(always)]
    pub(crate) fn write(&self, to: Span, from: &[u8]) {
        assert_eq!(to.len, from.len());
        // SAFETY: as in `read`.
        unsafe { copy::copy(self.here(to), from.as_ptr(), from.len()) }
    }

    /// Copies `from` to the bytes of a PE. Wakes no PE: a flag follows.
    #[inline(always)]
    pub(crate) fn write_to(&self, to: Span, block: usize, from: &[u8]) {
        assert_eq!(to.len, from.len());
        // SAFETY: as in `read_from`.
        unsafe { copy::copy(self.place(to, block).address(), from.as_ptr(), from.len()) }
    }

    /// Copies bytes of this PE to as many of its own.
    #[inline(always)]
    pub(crate) fn copy_here(&self, to: Span, from: Span) {
        assert_eq!(to.len, from.len);
        if to != from {
            // SAFETY: as in `copy`.
            unsafe { copy::copy(self.here(to), self.here(from), to.len) }
        }
    }

    /// Copies this PE's bytes into the payload of a slot, where there is room for them.
    #[inline(always)]
    pub(crate) fn copy_to_slot(&self, slot: &Slot, from: Span) {
        // SAFETY: the span is in bounds.
        unsafe { words::fill(slot, self.here(from), from.len) }
    }

    /// Copies the payload of a slot to as many of this PE's bytes.
    #[inline(always)]
    pub(crate) fn copy_from_slot(&self, to: Span, slot: &Slot) {
        // SAFETY: as above.
        unsafe { words::take(self.here(to), slot, to.len) }
    }

    /// `out = mine op theirs` or the other way around, of this PE's bytes and the payload of a
    /// slot.
    #[inline(always)]
    pub(crate) fn combine_slot(
        &self,
        (element, combine): (ElementType, Combine),
        [out, mine]: [Span; 2],
        theirs: &Slot,
        is_mine_first: bool,
    ) {
        let (align, size) = (element.align(), element.size());
        assert!(out.len == mine.len && mine.len <= INLINE && mine.len.is_multiple_of(size));
        assert!((out.offset | mine.offset).is_multiple_of(align) && align <= align_of::<Slot>());
        let (out, n) = (self.here(out), mine.len / size);
        let (mine, theirs) = (self.here(mine).cast_const(), words::payload(theirs).cast_const());
        let (a, b) = if is_mine_first { (mine, theirs) } else { (theirs, mine) };
        // SAFETY: all are in bounds for these bytes and aligned for the elements, as segments are;
        // such a kernel tolerates races, and that the destination is the source.
        unsafe { combine(out, a, b, n) }
    }

    /// Copies the payload of a slot to as many private bytes.
    #[inline(always)]
    pub(crate) fn read_slot(&self, slot: &Slot, to: &mut [u8]) {
        // SAFETY: as many bytes as it has.
        unsafe { words::take(to.as_mut_ptr(), slot, to.len()) }
    }

    /// Wakes a PE if it sleeps and may wait for the word at `offset` of its scratch memory, which
    /// was just stored.
    #[inline(always)]
    pub(crate) fn ring(&self, shm: &Shm, offset: usize, block: usize) {
        shm.ring(Place { segment: &self.scratch, local_pe: block, offset }, size_of::<u64>());
    }

    /// [Rings](Self::ring) behind [`after_store`](Shm::after_store).
    #[inline(always)]
    pub(crate) fn ring_stored(&self, shm: &Shm, offset: usize, block: usize) {
        shm.ring_stored(Place { segment: &self.scratch, local_pe: block, offset }, size_of::<u64>());
    }

    /// Copies bytes of one PE to as many of another. Wakes no PE.
    #[inline(always)]
    pub(crate) fn copy(&self, to: Span, to_pe: usize, from: Span, from_pe: usize) {
        assert_eq!(to.len, from.len);
        if to == from && to_pe == from_pe {
            return;
        }
        // SAFETY: both are in bounds on every PE; the copy tolerates overlap by giving unspecified
        // bytes.
        unsafe { copy::copy(self.place(to, to_pe).address(), self.place(from, from_pe).address(), to.len) }
    }

    /// [Copies](Self::copy) to another PE that reads what comes before the next such copy.
    #[inline(always)]
    pub(crate) fn push(&self, to: Span, to_pe: usize, from: Span, from_pe: usize) {
        assert_eq!(to.len, from.len);
        // SAFETY: as above.
        unsafe { copy::copy(self.place(to, to_pe).address(), self.place(from, from_pe).address(), to.len) }
    }

    /// Copies elements of `size` bytes that lie `steps` bytes apart, in what they are copied to and
    /// in what from: as many as there are from the first byte of a span to its last. Wakes no PE.
    pub(crate) fn copy_strided(
        &self,
        [to, from]: [Span; 2],
        [to_pe, from_pe]: [usize; 2],
        steps: [usize; 2],
        size: usize,
    ) {
        let count = |span: Span, step: usize| {
            assert!(
                size > 0 && step >= size && span.len % step == size % step,
                "spans begin and end with an element"
            );
            span.len / step + usize::from(!span.len.is_multiple_of(step))
        };
        let count = [count(to, steps[0]), count(from, steps[1])];
        assert_eq!(count[0], count[1]);
        let (to, from) = (self.place(to, to_pe).address(), self.place(from, from_pe).address());
        // SAFETY: both spans are in bounds on every PE, and the last element ends where they do.
        unsafe { copy::copy_strided(to, steps[0], from, steps[1], size, count[0]) }
    }

    /// `out = a op b op …` over the same bytes of several PEs, in that order, where they lie. `out`
    /// is on this PE.
    pub(crate) fn fold(&self, kernel: &Kernel, out: Span, from: Span, blocks: &[usize]) {
        let align = kernel.element().align();
        assert!(out.len == from.len && !blocks.is_empty() && from.len.is_multiple_of(kernel.size()));
        assert!(out.offset.is_multiple_of(align) && from.offset.is_multiple_of(align));
        // On the stack where they are few.
        let mut few = [std::ptr::null::<u8>(); 16];
        let many: Vec<_>;
        let sources: &[*const u8] = if blocks.len() <= few.len() {
            for (source, &pe) in few.iter_mut().zip(blocks) {
                *source = self.place(from, pe).address();
            }
            &few[..blocks.len()]
        } else {
            many = blocks.iter().map(|&pe| self.place(from, pe).address().cast_const()).collect();
            &many
        };
        let out = self.place(out, self.me).address();
        // SAFETY: all are in bounds for these bytes and aligned for the elements, as segments are;
        // the kernel tolerates races, and that the destination is one of the sources.
        unsafe { kernel.fold(out, sources, from.len / kernel.size()) }
    }

    /// `out = came op own` or `out = own op came`, of this PE. Both may be the same.
    pub(crate) fn combine(&self, kernel: &Kernel, side: Side, came: &[u8], [own, out]: [Span; 2]) {
        let [own, out] = [own, out].map(|span| self.combined_with(kernel, came, span));
        let sources = match side {
            Side::Before => [came.as_ptr(), own],
            Side::Behind => [own, came.as_ptr()],
        };
        // SAFETY: as `combined_with` has checked; the kernel tolerates that the destination is one
        // of the sources.
        unsafe { kernel.fold(out, &sources, came.len() / kernel.size()) }
    }

    /// `came = came op own`, where that is this PE's.
    pub(crate) fn combine_to(&self, kernel: &Kernel, came: &mut [u8], own: Span) {
        let own = self.combined_with(kernel, came, own).cast_const();
        let out = came.as_mut_ptr();
        // SAFETY: as `combined_with` has checked; the kernel tolerates that the destination is one
        // of the sources.
        unsafe { kernel.fold(out, &[out.cast_const(), own], came.len() / kernel.size()) }
    }

    /// The address of as many elements of this PE, if both are aligned for them.
    fn combined_with(&self, kernel: &Kernel, came: &[u8], own: Span) -> *mut u8 {
        let (align, at) = (kernel.element().align(), self.here(own));
        assert!(own.len == came.len() && own.len.is_multiple_of(kernel.size()));
        assert!(came.as_ptr().addr().is_multiple_of(align) && at.addr().is_multiple_of(align));
        at
    }

    /// `out = a op b`, each of a PE of its own. `out` may be one of the others.
    pub(crate) fn combine_of(&self, kernel: &Kernel, out: (Span, usize), sources: [(Span, usize); 2]) {
        let (len, align) = (out.0.len, kernel.element().align());
        assert!(len.is_multiple_of(kernel.size()) && out.0.offset.is_multiple_of(align));
        assert!(sources.iter().all(|(span, _)| span.len == len && span.offset.is_multiple_of(align)));
        let sources = sources.map(|(span, pe)| self.place(span, pe).address().cast_const());
        // SAFETY: all are in bounds on every PE, for as many bytes, and aligned, as asserted; the
        // kernel tolerates that other PEs access them, and that the destination is one of the
        // sources.
        unsafe { kernel.fold(self.place(out.0, out.1).address(), &sources, len / kernel.size()) }
    }

    /// Sets this PE's bytes to 0.
    pub(crate) fn clear(&self, span: Span) {
        self.clear_of(span, self.me);
    }

    /// Sets a PE's bytes to 0.
    pub(crate) fn clear_of(&self, span: Span, pe: usize) {
        // SAFETY: in bounds.
        unsafe { copy::fill(self.place(span, pe).address(), 0, span.len) }
    }
}
