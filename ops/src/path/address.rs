//! The near path for C: memory that is named by its address on this PE.
//!
//! An [`AddressPath`] has in a flat table what an operation has to know. So an operation is some
//! comparisons, a multiplication and the access itself. It leaves alone what it does not expect: a
//! PE on another host, an address that is not symmetric or in device memory, a context that has
//! ended. Then it returns `None`, nothing has happened, and its caller goes by way of a
//! [`Context`], which finds out what it is. Both ways have the same effects.
//!
//! What it does is complete when it returns, here and there: `quiet` has nothing of it to wait for,
//! and `fence` nothing to order. The sections of the specification are those of the methods of
//! [`Context`] that each names.

use std::{
    cell::UnsafeCell,
    fmt,
    ops::Range,
    ptr,
    sync::atomic::{
        AtomicU32, AtomicU64,
        Ordering::{Relaxed, Release},
    },
};

use oxshmem_base::settings::FenceSide;
use oxshmem_memory::{
    Extent, SegmentId,
    copy::{self, load_unaligned, store_unaligned},
    word::Atomic,
};
use oxshmem_net::Shm;
use oxshmem_spaces::{Element, Pe};

use super::{last_flag::LastFlag, near::NearPlace};
use crate::{
    amo_types::ExtendedAmo,
    context::{Context, Sharing},
    trace::is_traced,
};

/// The way to the near PEs of a context by addresses. Closed, it leads to none.
#[repr(C, align(64))]
pub struct AddressPath {
    /// How many PEs, in a row from `from` on, can be loaded from.
    loads: AtomicU32,
    /// How many can be stored to: as many, or none where a store needs a fence behind it.
    stores: AtomicU32,
    /// Written by `open` alone, while nothing uses it.
    table: UnsafeCell<Table>,
    last_flag: LastFlag,
}

/// Where the near PEs have their memory.
#[repr(C)]
struct Table {
    /// The number of the first near PE.
    from: usize,
    heap: Part,
    /// Where PE 0 would have the segment with the heap and the globals, if it were as far from the
    /// first near PE as their distance says. So a PE's number need only be multiplied.
    origin: *mut u8,
    /// Bytes from a PE's memory to that of the next.
    stride: usize,
    /// The word that says whether a PE sleeps, and the distance of the next PE's.
    sleeping: *const u8,
    sleeping_stride: usize,
    globals: Part,
    /// Where they are in the segment.
    globals_at: usize,
    /// This PE's addresses of device memory, which cannot be loaded or stored.
    device: Part,
    /// The word that is not 0 while operations are counted or recorded, which takes a context.
    observed: *const AtomicU64,
    /// Nonblocking copies of this many bytes are left to the copy engine.
    offload: usize,
    pe: Option<&'static Pe>,
}

/// What a closed path has for the word of a PE.
static UNOBSERVED: AtomicU64 = AtomicU64::new(0);

/// A range of this PE's addresses.
#[derive(Clone, Copy)]
struct Part {
    start: usize,
    len: usize,
}

// SAFETY: the pointers are addresses of memory that PEs share, and `table` is not written while it
// is read.
unsafe impl Send for AddressPath {}
// SAFETY: as above.
unsafe impl Sync for AddressPath {}

/// This PE's addresses of its memory.
#[derive(Clone, Debug, Default)]
pub struct Ranges {
    /// The symmetric heap in host memory.
    pub heap: Range<usize>,
    /// The executable's globals, where they are shared.
    pub globals: Range<usize>,
    /// The symmetric heap in device memory.
    pub device: Range<usize>,
}

/// A near place that was named by an address.
#[derive(Clone, Copy)]
struct AddressPlace<'a> {
    table: &'a Table,
    address: *mut u8,
    pe: usize,
}

impl Part {
    const NONE: Self = Self { start: 0, len: 0 };

    fn new(range: &Range<usize>) -> Self {
        Self { start: range.start, len: range.len() }
    }
}

impl AddressPath {
    /// One that leads to no PE.
    pub const fn closed() -> Self {
        Self {
            loads: AtomicU32::new(0),
            stores: AtomicU32::new(0),
            table: UnsafeCell::new(Table {
                from: 0,
                heap: Part::NONE,
                origin: ptr::null_mut(),
                stride: 0,
                sleeping: ptr::null(),
                sleeping_stride: 0,
                globals: Part::NONE,
                globals_at: 0,
                device: Part::NONE,
                observed: ptr::from_ref(&UNOBSERVED),
                offload: 0,
                pe: None,
            }),
            last_flag: LastFlag::new(),
        }
    }

    /// From now on leads to the near PEs of `context`, which is one of `pe`.
    ///
    /// # Safety
    /// It must be closed, and no thread may be about to use it. `pe` must live until it is closed
    /// again and no thread uses it any more: the lifetime of the reference says less than that. The
    /// addresses must be those of the PE's heap and globals, which only operations may access.
    pub unsafe fn open<M: Sharing>(&self, context: &Context<M>, pe: &'static Pe, ranges: &Ranges) {
        debug_assert!(ptr::eq(&raw const **context.pe(), pe));
        let Some(near) = context.evenly_near() else { return };
        let Ranges { heap, globals, device } = ranges;
        let aligned = |range: &Range<usize>| (range.start | range.len()).is_multiple_of(align_of::<u128>());
        if is_traced() || !aligned(heap) || !aligned(globals) {
            return;
        }
        let symmetric = pe.symmetric();
        let (sleeping, sleeping_distance) = pe.shm().sleeping_words();
        let stride = near.stride.wrapping_mul(symmetric.map().stride());
        let sleeping_stride = near.stride.wrapping_mul(sleeping_distance);
        let origin = symmetric.address_unchecked(near.first, 0);
        let sleeping = sleeping.wrapping_add(near.first.wrapping_mul(sleeping_distance));
        let table = Table {
            from: near.from,
            heap: Part::new(heap),
            origin: origin.wrapping_sub(near.from.wrapping_mul(stride)),
            stride,
            sleeping: sleeping.wrapping_sub(near.from.wrapping_mul(sleeping_stride)),
            sleeping_stride,
            globals: Part::new(globals),
            globals_at: pe.statics_at(),
            device: Part::new(device),
            observed: pe.board().word(),
            offload: pe.copy_engine().threshold(),
            pe: Some(pe),
        };
        // SAFETY: it is not read meanwhile, by the caller's word.
        unsafe { *self.table.get() = table };
        // Release: a thread that finds a PE finds the rest.
        self.loads.store(near.n, Release);
        if pe.fence_side() == FenceSide::Sleeper {
            self.stores.store(near.n, Release);
        }
    }

    /// From now on leads to no PE.
    pub fn close(&self) {
        // Relaxed: flags for mistakes, not for synchronisation.
        self.loads.store(0, Relaxed);
        self.stores.store(0, Relaxed);
    }

    /// Stores `value` at `dest` on `pe`, as [`Context::p`] does.
    #[inline(always)]
    pub fn p<T: Element>(&self, dest: *mut T, value: T, pe: i32) -> Option<()> {
        let to = self.element(&self.stores, dest, pe)?;
        self.last_flag.stored(to.address);
        // SAFETY: aligned, and inside of a near PE's memory.
        unsafe { to.store(value) };
        Some(())
    }

    /// Loads a value from `source` on `pe`, as [`Context::g`] does.
    #[inline(always)]
    pub fn g<T: Element>(&self, source: *const T, pe: i32) -> Option<T> {
        let from = self.element(&self.loads, source, pe)?;
        // SAFETY: aligned, and inside of a near PE's memory; any bytes are a `T`.
        Some(unsafe { from.load() })
    }

    /// Performs an atomic operation on `at` on `pe`, and returns the value before.
    #[inline(always)]
    pub(crate) fn amo<T: ExtendedAmo>(&self, at: *const T, operation: Atomic<T::Word>, pe: i32) -> Option<T> {
        let pes = if matches!(operation, Atomic::Fetch) { &self.loads } else { &self.stores };
        let at = self.element(pes, at, pe)?;
        // SAFETY: aligned, and inside of a near PE's memory; the word has the size of `T`.
        Some(T::from_word(unsafe { at.atomic(operation) }))
    }

    /// Performs one of which the value before is not asked for.
    #[inline(always)]
    pub(crate) fn update<T: ExtendedAmo>(
        &self,
        at: *const T,
        operation: Atomic<T::Word>,
        pe: i32,
    ) -> Option<()> {
        let at = self.element(&self.stores, at, pe)?;
        self.last_flag.stored(at.address);
        // SAFETY: as above.
        unsafe { at.atomic(operation) };
        Some(())
    }

    /// The caller has just seen what it waited for (`OpenSHMEM 1.6 §9.11`). The next words that
    /// [`p`](Self::p), an atomic operation without a result or a put with signal store by this path
    /// are taken for its answer, and the line of the last one is fetched. It has no effect but on
    /// time.
    #[inline(always)]
    pub fn prepare_answer(&self) {
        self.last_flag.expect();
    }

    /// Takes note of a `flag` on `pe` that was stored in another way, as of one that was stored by
    /// [`p`](Self::p). One that is not in near memory is left alone.
    #[inline]
    pub fn flag_was_stored(&self, flag: *const u64, pe: i32) {
        if self.last_flag.is_expected()
            && let Some(place) = self.element(&self.stores, flag, pe)
        {
            self.last_flag.stored(place.address);
        }
    }

    /// Copies `n` elements to `dest` on `pe`, as [`Context::put`] does.
    ///
    /// # Safety
    /// `source` must be readable for them, if it is not null.
    #[inline(always)]
    pub unsafe fn put<T>(&self, dest: *mut T, source: *const T, n: usize, pe: i32) -> Option<()> {
        let to = self.block(&self.stores, dest, n, source.addr(), pe)?;
        // SAFETY: inside of a near PE's memory, and readable by the caller's word; a word is
        // aligned.
        unsafe {
            if is_word(dest, n) {
                to.store::<u64>(load_unaligned(source.cast()));
            } else {
                put_bytes(to.address, source.cast(), n * size_of::<T>(), to.pe, to.table);
            }
        }
        Some(())
    }

    /// Begins the copy that [`Context::put_nbi`] begins.
    ///
    /// # Safety
    /// As for [`put`](Self::put).
    #[inline(always)]
    pub unsafe fn put_nbi<T>(&self, dest: *mut T, source: *const T, n: usize, pe: i32) -> Option<()> {
        // SAFETY: passed on to the caller.
        if self.offloads::<T>(n) { None } else { unsafe { self.put(dest, source, n, pe) } }
    }

    /// Copies `n` elements from `source` on `pe`, as [`Context::get_into`] does.
    ///
    /// # Safety
    /// `dest` must be writable for them, if it is not null.
    #[inline(always)]
    pub unsafe fn get<T>(&self, dest: *mut T, source: *const T, n: usize, pe: i32) -> Option<()> {
        let from = self.block(&self.loads, source, n, dest.addr(), pe)?;
        // SAFETY: inside of a near PE's memory, and writable by the caller's word; a word is
        // aligned.
        unsafe {
            if is_word(source, n) {
                store_unaligned(dest.cast(), from.load::<u64>());
            } else {
                get_bytes(dest.cast(), from.address, n * size_of::<T>());
            }
        }
        Some(())
    }

    /// Begins the copy that [`Context::get_nbi`] begins.
    ///
    /// # Safety
    /// As for [`get`](Self::get).
    #[inline(always)]
    pub unsafe fn get_nbi<T>(&self, dest: *mut T, source: *const T, n: usize, pe: i32) -> Option<()> {
        // SAFETY: passed on to the caller.
        if self.offloads::<T>(n) { None } else { unsafe { self.get(dest, source, n, pe) } }
    }

    /// Stores a value at an address of this PE, wherever in host memory that is.
    ///
    /// # Safety
    /// `to` must be writable, if it is neither null nor in device memory.
    #[inline(always)]
    pub unsafe fn leave<T>(&self, to: *mut T, value: impl FnOnce() -> Option<T>) -> Option<()> {
        let value = if self.table().is_host(to.addr()) { value() } else { None }?;
        // SAFETY: the caller's word.
        unsafe { to.write_unaligned(value) };
        Some(())
    }

    #[inline(always)]
    fn table(&self) -> &Table {
        // SAFETY: it is not written while it is used, by the word of the caller of `open`.
        unsafe { &*self.table.get() }
    }

    /// Whether a nonblocking copy is the copy engine's.
    #[inline(always)]
    fn offloads<T>(&self, n: usize) -> bool {
        n >= self.table().offload / size_of::<T>()
    }

    /// Where `address` is on `pe`, and how many bytes follow in the same part, if it is one of
    /// `pes` near PEs.
    #[inline(always)]
    fn place(&self, pes: &AtomicU32, address: usize, pe: i32) -> Option<(AddressPlace<'_>, usize)> {
        let table = self.table();
        // A negative number becomes one above that of any PE. Relaxed: `open` comes before all use,
        // and that a context is closed is a flag for mistakes.
        let pe = pe as usize;
        if pe.wrapping_sub(table.from) >= pes.load(Relaxed) as usize || table.is_observed() {
            return None;
        }
        let Table { heap, globals, globals_at, origin, stride, .. } = table;
        let mut offset = address.wrapping_sub(heap.start);
        let mut left = heap.len.wrapping_sub(offset);
        if offset >= heap.len {
            offset = address.wrapping_sub(globals.start);
            left = globals.len.wrapping_sub(offset);
            if offset >= globals.len {
                return None;
            }
            offset = offset.wrapping_add(*globals_at);
        }
        let address = origin.wrapping_add(offset).wrapping_add(pe.wrapping_mul(*stride));
        Some((AddressPlace { table, address, pe }, left))
    }

    /// The place of an element, which must be aligned. So are the parts, hence all of it is inside
    /// where its first byte is.
    #[inline(always)]
    fn element<T>(&self, pes: &AtomicU32, at: *const T, pe: i32) -> Option<AddressPlace<'_>> {
        const { assert!(align_of::<u128>().is_multiple_of(align_of::<T>()) && size_of::<T>() == align_of::<T>()) };
        self.place(pes, at.addr(), pe).filter(|_| at.is_aligned()).map(|(place, _)| place)
    }

    /// The place of `n` elements, however they are aligned, with something of this PE's at `here`.
    #[inline(always)]
    fn block<T>(
        &self,
        pes: &AtomicU32,
        at: *const T,
        n: usize,
        here: usize,
        pe: i32,
    ) -> Option<AddressPlace<'_>> {
        let (place, left) = self.place(pes, at.addr(), pe)?;
        (n <= left / size_of::<T>() && place.table.is_host(here)).then_some(place)
    }
}

impl Table {
    /// Whether operations have to be counted or recorded.
    #[inline(always)]
    fn is_observed(&self) -> bool {
        // SAFETY: a word of this PE, whose job lives as long as the path is open, or of this file.
        // Relaxed: what begins to observe misses what is under way.
        unsafe { &*self.observed }.load(Relaxed) != 0
    }

    /// Whether an address is not null, and not in device memory.
    #[inline(always)]
    fn is_host(&self, address: usize) -> bool {
        address != 0 && address.wrapping_sub(self.device.start) >= self.device.len
    }

    /// Wakes the PE that has `address`. Which one that is, is found out again. `extern "C"`, as are
    /// the functions below, since it cannot unwind then, and its caller can end with it without a
    /// frame on the stack.
    #[cold]
    #[inline(never)]
    extern "C" fn wake(&self, address: *mut u8, len: usize) {
        if let Some(pe) = self.pe {
            let symmetric = pe.symmetric();
            let behind = address.addr() - symmetric.address_unchecked(0, 0).addr();
            let (local_pe, offset) = (behind / symmetric.map().stride(), behind % symmetric.map().stride());
            pe.shm().wake(local_pe, Extent { segment: SegmentId::Heap, offset, len });
        }
    }
}

impl NearPlace for AddressPlace<'_> {
    #[inline(always)]
    fn address(self) -> *mut u8 {
        self.address
    }

    #[inline(always)]
    fn ring(self, len: usize) {
        let Table { sleeping, sleeping_stride, .. } = *self.table;
        // SAFETY: the word of a near PE, whose job lives as long as the path is open.
        if unsafe { Shm::sleeps(sleeping.wrapping_add(self.pe.wrapping_mul(sleeping_stride))) } {
            self.table.wake(self.address, len);
        }
    }
}

impl fmt::Debug for AddressPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AddressPath(to {} PEs)", self.loads.load(Relaxed))
    }
}

/// Whether `n` elements are one word, which is a load and a store.
#[inline(always)]
fn is_word<T>(at: *const T, n: usize) -> bool {
    let words = size_of::<u64>() / size_of::<T>();
    n == words && words > 0 && at.cast::<u64>().is_aligned()
}

/// Puts bytes, which are inside of the memory of near PE `pe`. Apart, for all types together.
///
/// # Safety
/// `from` must be readable, `to` be writable for `len` bytes, and `pe` the near PE that has `to`.
#[inline(never)]
unsafe extern "C" fn put_bytes(to: *mut u8, from: *const u8, len: usize, pe: usize, table: &Table) {
    // SAFETY: passed on to the caller.
    unsafe { AddressPlace { table, address: to, pe }.put(from, len) };
}

/// Gets bytes, likewise.
///
/// # Safety
/// As for [`copy::copy`].
#[inline(never)]
unsafe extern "C" fn get_bytes(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: passed on to the caller.
    unsafe { copy::copy(to, from, len) };
}

#[cfg(test)]
mod tests;
