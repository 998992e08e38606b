//! Shared memory: PEs of one host load and store each other's memory directly.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering, fence},
};

use super::Transport;
use crate::{
    control::Control,
    doorbell::{must_ring, sleeps},
    fabric::Fabric,
    memory::{
        Extent, SegmentId,
        copy::{copy, copy_out, load, store},
        word::{Atomic, AtomicWord, Place, Signal},
    },
    settings::FenceSide,
};

/// The transport between the PEs of one host.
#[derive(Debug)]
pub struct Shm {
    control: Arc<Control>,
    fence_side: FenceSide,
    fabric: Arc<Fabric>,
}

impl Shm {
    pub(crate) fn new(fabric: Arc<Fabric>, fence_side: FenceSide) -> Self {
        Self { control: Arc::clone(&fabric.control), fence_side, fabric }
    }

    /// What comes between a store and a look whether anybody may sleep for it, where that is not [`ring`](Self::ring)'s to do.
    #[inline(always)]
    pub fn after_store(&self) {
        self.fence_side.after_store();
    }

    /// What comes between saying that one may sleep, where those look who store so, and one's last look at what they store: either they see
    /// it, or they are seen.
    pub fn before_look(&self) {
        self.fence_side.before_look();
    }

    /// Wakes the PE of `at` if it sleeps and may wait for one of the `len` bytes there, which were just stored.
    #[inline(always)]
    pub fn ring(&self, at: Place<'_>, len: usize) {
        self.after_store();
        self.ring_stored(at, len);
    }

    /// The same behind [`after_store`](Self::after_store): whoever stores to several PEs pays for that once.
    #[inline(always)]
    pub fn ring_stored(&self, at: Place<'_>, len: usize) {
        let sleeping = &self.control.page(at.block).sleep.0.sleeping;
        if sleeps(sleeping, at.segment.id().bit()) {
            self.fabric.wake(at.block, Extent { segment: at.segment.id(), offset: at.offset, len });
        }
    }

    /// Wakes the PE of a block if it sleeps and waits for anything in its heap or globals: for stores past the library, of which
    /// nobody knows where they went.
    #[inline(always)]
    pub fn ring_heap(&self, block: usize) {
        self.after_store();
        if sleeps(&self.control.page(block).sleep.0.sleeping, SegmentId::Heap.bit()) {
            self.fabric.wake(block, Extent { segment: SegmentId::Heap, offset: 0, len: usize::MAX });
        }
    }

    /// The word of the host's first PE that says whether it sleeps, and how many bytes behind it is the next one's.
    pub fn sleeping_words(&self) -> (*const u8, usize) {
        self.control.sleeping_words()
    }

    /// Whether a PE sleeps that may wait for what was just stored in its heap or globals. For jobs in which the sleeper
    /// pays for the barrier.
    ///
    /// # Safety
    /// `word` must be one of [`sleeping_words`](Self::sleeping_words) of a job that is still there.
    #[inline(always)]
    pub unsafe fn sleeps(word: *const u8) -> bool {
        // SAFETY: aligned, mapped, and only ever accessed atomically.
        let sleeping = unsafe { &*word.cast::<crate::sync::AtomicU32>() };
        must_ring(sleeping, SegmentId::Heap.bit(), FenceSide::Sleeper)
    }

    /// Wakes a PE of this host that sleeps, if it waits for one of the bytes that were stored.
    #[cold]
    #[inline(never)]
    pub fn wake(&self, block: usize, stored: Extent) {
        self.fabric.wake(block, stored);
    }

    /// Stores one value, in one piece if it has 1, 2, 4 or 8 bytes and is aligned to them.
    ///
    /// # Safety
    /// `to` must be in bounds and aligned for a `T`.
    #[inline(always)]
    pub unsafe fn store<T: Copy>(&self, to: Place<'_>, value: T) {
        // SAFETY: in bounds and aligned by the caller's word.
        unsafe { store(to.address().cast::<T>(), value) };
        self.ring(to, size_of::<T>());
    }

    /// Loads one value, likewise.
    ///
    /// # Safety
    /// `from` must be in bounds and aligned for a `T`, of which any bytes are a valid value.
    #[inline(always)]
    pub unsafe fn load<T: Copy>(&self, from: Place<'_>) -> T {
        // SAFETY: passed on to the caller.
        unsafe { load(from.address().cast::<T>()) }
    }
}

// SAFETY: every copy and atomic below touches exactly the bytes of its arguments.
unsafe impl Transport for Shm {
    fn name(&self) -> &'static str {
        "shm"
    }

    #[inline(always)]
    unsafe fn put(&self, to: Place<'_>, from: *const u8, len: usize) {
        // SAFETY: the caller vouches for both sides.
        unsafe { copy_out(to.address(), from, len) };
        self.ring(to, len);
    }

    #[inline(always)]
    unsafe fn get(&self, from: Place<'_>, to: *mut u8, len: usize) {
        // SAFETY: the caller vouches for both sides.
        unsafe { copy(to, from.address(), len) };
    }

    #[inline(always)]
    unsafe fn atomic<W: AtomicWord>(&self, at: Place<'_>, operation: Atomic<W>) -> W {
        // SAFETY: aligned and mapped by the caller's word.
        let before = unsafe { W::apply(at.address(), operation) };
        if !matches!(operation, Atomic::Fetch) {
            self.ring(at, size_of::<W>());
        }
        before
    }

    #[inline(always)]
    unsafe fn put_signal(
        &self,
        to: Place<'_>,
        from: *const u8,
        len: usize,
        signal: Place<'_>,
        update: Signal,
    ) {
        // SAFETY: the caller vouches for data and signal.
        let word = unsafe {
            copy_out(to.address(), from, len);
            AtomicU64::from_ptr(signal.address().cast())
        };
        // Release: who sees the signal sees the data.
        match update {
            Signal::Set(value) => word.store(value, Ordering::Release),
            Signal::Add(value) => {
                word.fetch_add(value, Ordering::Release);
            }
        }
        let sleeping = &self.control.page(signal.block).sleep.0.sleeping;
        let kinds = to.segment.id().bit() | signal.segment.id().bit();
        if must_ring(sleeping, kinds, self.fence_side) {
            // Somebody may wait for the data itself.
            self.fabric.wake(to.block, Extent { segment: to.segment.id(), offset: to.offset, len });
            let segment = signal.segment.id();
            self.fabric.wake(signal.block, Extent { segment, offset: signal.offset, len: size_of::<u64>() });
        }
    }

    #[inline(always)]
    fn fence(&self) {
        // Release: earlier stores are visible before later ones, to every PE.
        fence(Ordering::Release);
    }

    #[inline(always)]
    fn quiet(&self) {
        // SeqCst: earlier stores are visible before this PE looks at anything else.
        fence(Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Segment, SegmentId};

    #[test]
    fn shared_memory_passes_the_suite_of_all_transports() {
        for side in [FenceSide::Writer, FenceSide::Sleeper] {
            let fabric = Arc::new(Fabric::new(3, 1 << 20, true).unwrap());
            let segment = Segment::new(SegmentId::Heap, Arc::clone(&fabric.heap), 4096, 1 << 19);
            super::super::suite::check(&Shm::new(fabric, side), &segment);
        }
    }
}
