//! From pointers to symmetric memory: the heap of this PE, and the globals of its executable.

use std::sync::Arc;

use oxshmem::{Element, SymRef, SymView, World};
use oxshmem_spaces::allocation::Allocation;

/// Where this PE's symmetric memory is.
#[derive(Debug)]
pub(crate) struct Addresses {
    /// All of it, as if it were one allocation.
    all: Arc<Allocation>,
    heap: Range,
    /// Of the executable's globals; empty where they are not shared.
    statics: Range,
}

#[derive(Clone, Copy, Debug, Default)]
struct Range {
    start: usize,
    len: usize,
    /// Where it is in `all`.
    at: usize,
}

impl Range {
    /// The place of an address in `all`, if it is inside, and how many bytes follow.
    #[inline(always)]
    fn find(&self, address: usize) -> Option<(usize, usize)> {
        let behind = address.wrapping_sub(self.start);
        (behind < self.len).then(|| (self.at + behind, self.len - behind))
    }
}

impl Addresses {
    /// Of `world`, whose executable has its globals at `statics`.
    pub(crate) fn new(world: &World, statics: std::ops::Range<usize>) -> Self {
        let pe = world.pe();
        let symmetric = pe.symmetric();
        let heap = Range {
            start: symmetric.address_unchecked(pe.block(), 0).addr(),
            len: pe.partitions().layout.len(),
            at: 0,
        };
        let statics = Range { start: statics.start, len: statics.len(), at: pe.statics_at() };
        let len = symmetric.len();
        Self { all: Allocation::unowned(Arc::clone(pe), symmetric, 0, len), heap, statics }
    }

    /// The place of `bytes` bytes from `address` on, if they are symmetric.
    #[inline(always)]
    fn place(&self, address: usize, bytes: usize) -> Option<usize> {
        let (at, left) = self.heap.find(address).or_else(|| self.statics.find(address))?;
        (bytes <= left).then_some(at)
    }

    /// Elements at a pointer, if they are symmetric and aligned.
    #[inline(always)]
    pub(crate) fn view<T: Element>(&self, pointer: *const T, len: usize) -> Option<SymView<'_, T>> {
        let at = self.place(pointer.addr(), len.checked_mul(size_of::<T>())?)?;
        // SAFETY: `place` has found all of it in `all`, which begins where its segment does.
        at.is_multiple_of(align_of::<T>()).then(|| unsafe { SymView::inside_unchecked(&self.all, at, len) })
    }

    /// Elements from a pointer to the end of the heap, or of the globals.
    pub(crate) fn rest<T: Element>(&self, pointer: *const T) -> Option<SymView<'_, T>> {
        let (at, left) = self.heap.find(pointer.addr()).or_else(|| self.statics.find(pointer.addr()))?;
        SymView::inside(&self.all, at, left / size_of::<T>())
    }

    /// No elements: what a pointer is good for that is not to be used.
    pub(crate) fn nothing<T: Element>(&self) -> Option<SymView<'_, T>> {
        SymView::inside(&self.all, 0, 0)
    }

    /// The element at a pointer, if it is symmetric and aligned.
    #[inline(always)]
    pub(crate) fn word<T: Element>(&self, pointer: *const T) -> Option<SymRef<'_, T>> {
        self.view(pointer, 1).map(|view| view.at(0))
    }

    /// Whether a byte is symmetric.
    pub(crate) fn contains(&self, address: usize) -> bool {
        self.place(address, 1).is_some()
    }

    /// The address in this process of what `pointer` is on a PE of this host; null if it is not symmetric.
    pub(crate) fn pointer(&self, pointer: *mut u8, pe: usize, world: &World) -> *mut u8 {
        match self.view(pointer.cast_const(), 1) {
            // The globals have two addresses here; the program knows this one.
            Some(_) if pe == world.my_pe() => pointer,
            Some(view) if world.pe_accessible(pe) => view.ptr(pe).unwrap_or(std::ptr::null_mut()),
            _ => std::ptr::null_mut(),
        }
    }

    /// The address of the heap's byte at `offset`, where it is on this PE.
    pub(crate) fn of_heap(&self, offset: usize) -> *mut u8 {
        debug_assert!(offset <= self.heap.len);
        std::ptr::with_exposed_provenance_mut(self.heap.start + offset)
    }
}
