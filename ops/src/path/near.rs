//! The near path: host memory of PEs of this host, which a PE loads from and stores to itself.
//!
//! Rust names such memory by handles, C by addresses. Each finds a [`NearPlace`] in its own way;
//! what is done there is written here, once for both.

use oxshmem_memory::{
    copy::{copy, copy_strided, load, store},
    op::Blocks,
    word::{Atomic, AtomicWord, Place, Signal},
};
use oxshmem_net::Shm;
use oxshmem_spaces::{Element, SymView};

use crate::{
    context::{Context, Sharing},
    trace::is_traced,
};

/// A place in host memory of a PE of this host. Whatever makes one has checked that it is in
/// bounds.
pub(crate) trait NearPlace: Copy {
    /// The address in this process.
    fn address(self) -> *mut u8;

    /// Wakes the PE if it sleeps and may wait for one of the `len` bytes, which were just stored.
    fn ring(self, len: usize);

    /// Stores one value, in one piece if it has 1, 2, 4 or 8 bytes and is aligned to them.
    ///
    /// # Safety
    /// The place must have room for a `T`, aligned.
    #[inline(always)]
    unsafe fn store<T: Copy>(self, value: T) {
        // SAFETY: passed on to the caller.
        unsafe { store(self.address().cast::<T>(), value) };
        self.ring(size_of::<T>());
    }

    /// Loads one value, likewise.
    ///
    /// # Safety
    /// As for [`store`](Self::store), and any bytes must be a `T`.
    #[inline(always)]
    unsafe fn load<T: Copy>(self) -> T {
        // SAFETY: passed on to the caller.
        unsafe { load(self.address().cast::<T>()) }
    }

    /// Performs an atomic operation, and returns the value before.
    ///
    /// # Safety
    /// The place must have room for a `W`, aligned.
    #[inline(always)]
    unsafe fn atomic<W: AtomicWord>(self, operation: Atomic<W>) -> W {
        // SAFETY: passed on to the caller.
        let before = unsafe { W::apply(self.address(), operation) };
        if !matches!(operation, Atomic::Fetch) {
            self.ring(size_of::<W>());
        }
        before
    }

    /// Copies `len` bytes from `from` here.
    ///
    /// # Safety
    /// Both sides must have as many bytes.
    #[inline(always)]
    unsafe fn put(self, from: *const u8, len: usize) {
        // SAFETY: passed on to the caller.
        unsafe { copy(self.address(), from, len) };
        self.ring(len);
    }

    /// Copies `len` bytes from here to `to`.
    ///
    /// # Safety
    /// As for [`put`](Self::put).
    #[inline(always)]
    unsafe fn get(self, to: *mut u8, len: usize) {
        // SAFETY: passed on to the caller.
        unsafe { copy(to, self.address(), len) };
    }

    /// Copies blocks, whose shape is in bytes, from `from` here; all of it is in the first `len`
    /// bytes.
    ///
    /// # Safety
    /// The blocks must be inside both sides.
    unsafe fn put_blocks(self, from: *const u8, blocks: Blocks, len: usize) {
        let Blocks { len: block, count, there, here } = blocks;
        // SAFETY: passed on to the caller.
        unsafe { copy_strided(self.address(), there, from, here, block, count) };
        self.ring(len);
    }

    /// Copies blocks from here to `to`.
    ///
    /// # Safety
    /// As for [`put_blocks`](Self::put_blocks).
    unsafe fn get_blocks(self, to: *mut u8, blocks: Blocks) {
        let Blocks { len, count, there, here } = blocks;
        // SAFETY: passed on to the caller.
        unsafe { copy_strided(to, here, self.address(), there, len, count) };
    }
}

/// A near place that was named by a handle.
#[derive(Clone, Copy)]
pub(crate) struct Near<'a> {
    shm: &'a Shm,
    place: Place<'a>,
}

impl<'a> Near<'a> {
    /// `view` on the local PE of number `local_pe`, which must exist.
    #[inline(always)]
    pub(crate) fn new<T: Element>(shm: &'a Shm, view: SymView<'a, T>, local_pe: usize) -> Self {
        Self { shm, place: view.place(local_pe) }
    }

    /// The PE's number among those of its host.
    pub(crate) fn local_pe(self) -> usize {
        self.place.local_pe
    }

    /// [`put`](NearPlace::put), and then the update of a signal on the same PE.
    ///
    /// # Safety
    /// As for `put`; `signal` must have room for a word, aligned.
    #[inline(always)]
    pub(crate) unsafe fn put_signal(self, from: *const u8, len: usize, signal: Self, update: Signal) {
        // SAFETY: passed on to the caller.
        unsafe { self.shm.put_signal(self.place, from, len, signal.place, update) };
    }
}

impl NearPlace for Near<'_> {
    #[inline(always)]
    fn address(self) -> *mut u8 {
        self.place.address()
    }

    #[inline(always)]
    fn ring(self, len: usize) {
        self.shm.ring(self.place, len);
    }
}

impl<M: Sharing> Context<M> {
    /// The place of `view` on `pe`, if that is among the PEs of this host and nothing is wrong. One
    /// comparison for the PE, one for the memory. Where it finds none,
    /// [`route`](Self::route) says why.
    #[inline(always)]
    pub(crate) fn near<'a, T: Element>(&'a self, view: SymView<'a, T>, pe: usize) -> Option<Near<'a>> {
        let local_pe = self.near_pe(pe)?;
        let is_own = view.allocation().is_host_memory_of(self.pe());
        is_own.then(|| Near::new(self.pe().shm(), view, local_pe))
    }

    /// The place of [`near`](Self::near) where nothing is traced, counted or recorded, so that
    /// nothing is left to do but the operation itself.
    #[inline(always)]
    pub(crate) fn near_untraced<'a, T: Element>(
        &'a self,
        view: SymView<'a, T>,
        pe: usize,
    ) -> Option<Near<'a>> {
        let local_pe = self.near_pe(pe)?;
        let is_own = view.allocation().is_host_memory_of(self.pe());
        let is_quick = is_own && !is_traced() && !self.is_observed();
        is_quick.then(|| Near::new(self.pe().shm(), view, local_pe))
    }

    /// Whether a source or a sink of this PE, which may be symmetric memory, is in host memory and
    /// nothing is wrong.
    #[inline(always)]
    pub(crate) fn is_at_hand<T: Element>(&self, symmetric: Option<SymView<'_, T>>) -> bool {
        symmetric.is_none_or(|view| view.allocation().is_host_memory_of(self.pe()))
    }
}
