//! Shared memory: PEs of one host load and store each other's memory directly.
//!
//! A context knows [`Shm`] by its type, so that a put to a PE on the same host compiles to a store.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::sync::atomic::fence;

use oxshmem_base::settings::FenceSide;
use oxshmem_memory::Extent;
use oxshmem_memory::SegmentId;
use oxshmem_memory::copy::copy;
use oxshmem_memory::word::{Atomic, AtomicWord, Place, Signal};

use oxshmem_progress::control::Control;
use oxshmem_progress::doorbell::after_store;
use oxshmem_progress::doorbell::before_look;
use oxshmem_progress::doorbell::must_ring;
use oxshmem_progress::doorbell::sleeps;
use oxshmem_progress::fabric::Fabric;

/// The way from a PE to the others of its host.
///
/// Puts, signals and atomic operations on one PE may become visible in any order until a
/// [`fence`](Self::fence). Each of them wakes its target if that sleeps.
#[derive(Debug)]
pub struct Shm {
    control: Arc<Control>,
    fence_side: FenceSide,
    fabric: Arc<Fabric>,
}

impl Shm {
    /// The way to the PEs that share `fabric`.
    pub fn new(fabric: Arc<Fabric>, fence_side: FenceSide) -> Self {
        Self { control: Arc::clone(&fabric.control), fence_side, fabric }
    }

    /// The barrier between a store and the look whether a PE sleeps that may wait for it.
    /// [`ring`](Self::ring) has it already.
    #[inline(always)]
    pub fn after_store(&self) {
        after_store(self.fence_side);
    }

    /// The barrier between a PE's announcement that it may sleep and its last look at what others
    /// store: either they see the announcement, or this look sees what they stored.
    pub fn before_look(&self) {
        before_look(self.fence_side);
    }

    /// Wakes the PE of `at` if it sleeps and may wait for one of the `len` bytes there, which were
    /// just stored.
    #[inline(always)]
    pub fn ring(&self, at: Place<'_>, len: usize) {
        self.after_store();
        self.ring_stored(at, len);
    }

    /// Does what [`ring`](Self::ring) does after [`after_store`](Self::after_store), which is
    /// called once for stores to several PEs.
    #[inline(always)]
    pub fn ring_stored(&self, at: Place<'_>, len: usize) {
        let sleeping = &self.control.page(at.local_pe).sleep.0.sleeping;
        if sleeps(sleeping, at.segment.id().bit()) {
            self.fabric.wake(at.local_pe, Extent { segment: at.segment.id(), offset: at.offset, len });
        }
    }

    /// Wakes the PE of a block if it sleeps and waits for anything in its heap or globals: for
    /// stores past the library, whose addresses are not known.
    #[inline(always)]
    pub fn ring_heap(&self, block: usize) {
        self.after_store();
        if sleeps(&self.control.page(block).sleep.0.sleeping, SegmentId::Heap.bit()) {
            self.fabric.wake(block, Extent { segment: SegmentId::Heap, offset: 0, len: usize::MAX });
        }
    }

    /// Words of a local PE's device memory may have changed: see [`Fabric::device_words_changed`].
    pub fn device_words_changed(&self, block: usize) {
        self.fabric.device_words_changed(block, self.fence_side);
    }

    /// The word of the host's first PE that says whether it sleeps, and the distance in bytes to
    /// that of the next PE.
    pub fn sleeping_words(&self) -> (*const u8, usize) {
        self.control.sleeping_words()
    }

    /// Whether a PE sleeps that may wait for what was just stored in its heap or globals. For jobs
    /// in which the sleeper makes the barrier.
    ///
    /// # Safety
    /// `word` must be one of [`sleeping_words`](Self::sleeping_words) of a job that still exists.
    #[inline(always)]
    pub unsafe fn sleeps(word: *const u8) -> bool {
        // SAFETY: aligned, mapped, and only ever accessed atomically.
        let sleeping = unsafe { &*word.cast::<oxshmem_base::sync::AtomicU32>() };
        must_ring(sleeping, SegmentId::Heap.bit(), FenceSide::Sleeper)
    }

    /// Wakes a PE of this host that sleeps, if it waits for one of the bytes that were stored.
    #[cold]
    #[inline(never)]
    pub fn wake(&self, block: usize, stored: Extent) {
        self.fabric.wake(block, stored);
    }

    /// Copies `len` bytes from `from` to `to`. On return `from` may be reused.
    ///
    /// # Safety
    /// `to` must be in bounds for `len` bytes, `from` readable for them.
    #[inline(always)]
    pub unsafe fn put(&self, to: Place<'_>, from: *const u8, len: usize) {
        // SAFETY: the caller vouches for both sides.
        unsafe { copy(to.address(), from, len) };
        self.ring(to, len);
    }

    /// Copies `len` bytes from `from` to `to`. On return they have arrived.
    ///
    /// # Safety
    /// `from` must be in bounds for `len` bytes, `to` writable for them.
    #[inline(always)]
    pub unsafe fn get(&self, from: Place<'_>, to: *mut u8, len: usize) {
        // SAFETY: the caller vouches for both sides.
        unsafe { copy(to, from.address(), len) };
    }

    /// Performs an atomic operation and returns the word's value before it.
    ///
    /// # Safety
    /// `at` must be in bounds and aligned for a `W`.
    #[inline(always)]
    pub unsafe fn atomic<W: AtomicWord>(&self, at: Place<'_>, operation: Atomic<W>) -> W {
        // SAFETY: aligned and mapped by the caller's word.
        let before = unsafe { W::apply(at.address(), operation) };
        if !matches!(operation, Atomic::Fetch) {
            self.ring(at, size_of::<W>());
        }
        before
    }

    /// Does what [`put`](Self::put) does, then updates the word `signal` on the same PE, which
    /// becomes visible after the data.
    ///
    /// # Safety
    /// As for `put`; `signal` must be in bounds and aligned for a `u64`.
    #[inline(always)]
    pub unsafe fn put_signal(
        &self,
        to: Place<'_>,
        from: *const u8,
        len: usize,
        signal: Place<'_>,
        update: Signal,
    ) {
        // SAFETY: the caller vouches for data and signal.
        let word = unsafe {
            copy(to.address(), from, len);
            AtomicU64::from_ptr(signal.address().cast())
        };
        // Release: a thread that sees the signal sees the data.
        match update {
            Signal::Set(value) => word.store(value, Ordering::Release),
            Signal::Add(value) => {
                word.fetch_add(value, Ordering::Release);
            }
        }
        let sleeping = &self.control.page(signal.local_pe).sleep.0.sleeping;
        let kinds = to.segment.id().bit() | signal.segment.id().bit();
        if must_ring(sleeping, kinds, self.fence_side) {
            // A PE may wait for the data itself.
            self.fabric.wake(to.local_pe, Extent { segment: to.segment.id(), offset: to.offset, len });
            let segment = signal.segment.id();
            self.fabric
                .wake(signal.local_pe, Extent { segment, offset: signal.offset, len: size_of::<u64>() });
        }
    }

    /// Orders puts to each PE: those before it become visible there before those after it.
    #[inline(always)]
    pub fn fence(&self) {
        // Release: earlier stores are visible before later ones, to every PE.
        fence(Ordering::Release);
    }

    /// Makes what was put to any PE before visible to all PEs.
    #[inline(always)]
    pub fn quiet(&self) {
        // SeqCst: earlier stores are visible before this PE looks at anything else.
        fence(Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests;
