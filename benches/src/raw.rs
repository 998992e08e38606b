//! The bounds: the same work by bare loads, stores, atomics and copies on the same memory.

use std::sync::atomic::{AtomicU64, Ordering};

use oxshmem::{Element, SymView};

/// `pe`'s instance of a slice, as bare memory.
///
/// The address does not come from `SymView::ptr`, which would make the job expect stores that
/// ring no doorbell, and so change what is measured after it.
pub(crate) fn address<T: Element>(view: SymView<'_, T>, pe: usize) -> *mut u8 {
    assert!(view.pe().placement().local.contains(&pe), "PE {pe} is on another host");
    view.place(pe).address()
}

/// A word of it.
pub(crate) fn word<'a>(view: SymView<'a, u64>, pe: usize) -> &'a AtomicU64 {
    assert!(!view.is_empty() && pe < 2);
    // SAFETY: `view` has an aligned word on each of the 2 PEs, which is mapped while it is borrowed
    // and accessed by atomics and copies alone.
    unsafe { AtomicU64::from_ptr(address(view, pe).cast()) }
}

/// A word of it, on any PE of this host.
pub(crate) fn word_of<'a>(view: SymView<'a, u64>, pe: usize) -> &'a AtomicU64 {
    assert!(!view.is_empty() && pe < view.allocation().pe().placement().local.len());
    // SAFETY: as above, with as many PEs as there are on this host, which are all.
    unsafe { AtomicU64::from_ptr(address(view, pe).cast()) }
}

/// Copies by the C library's `memcpy`.
///
/// # Safety
/// As for `memcpy`.
pub(crate) unsafe fn memcpy(dst: *mut u8, src: *const u8, len: usize) {
    // SAFETY: passed on to the caller.
    unsafe { libc::memcpy(dst.cast(), src.cast(), len) };
    // The copy must be made, though nothing here looks at it.
    std::hint::black_box(dst);
}

/// Spins until `word` is at least `value`.
#[inline(always)]
pub(crate) fn spin(word: &AtomicU64, value: u64) {
    while word.load(Ordering::Acquire) < value {
        std::hint::spin_loop();
    }
}
