//! Operations on memory that is named by its address on this PE, on PEs whose memory is stores and loads away.
//!
//! What such an operation has to know lies flat in two cache lines, so that it is some comparisons, a multiplication
//! and the access itself, without a frame on the stack. Whatever is not as it expects, a PE elsewhere, an address that is not
//! symmetric or in device memory, a context that has ended, it leaves alone, and says so: then its caller takes the
//! way through a [`Context`], which finds out what it is. Both ways have the same effects.
//!
//! Whatever it does is complete when it returns, here and there: a `quiet` has nothing of it to wait for, and a `fence` nothing to
//! order. `None` is its only error, and nothing has happened then. The sections of the specification are those of the methods of
//! [`Context`] that each names.

use std::{
    cell::UnsafeCell,
    fmt,
    ops::Range,
    ptr,
    sync::atomic::{
        AtomicPtr, AtomicU8, AtomicU32,
        Ordering::{Relaxed, Release},
    },
};

use oxshmem_base::settings::FenceSide;
use oxshmem_memory::{
    Extent, SegmentId, copy,
    word::{Atomic, AtomicWord},
};
use oxshmem_runtime::{Pe, net::Shm};
use oxshmem_spaces::Element;

use crate::{
    ExtendedAmo,
    context::{Context, Sharing},
    trace::is_traced,
};

/// Where the near PEs of a context have their symmetric memory. Closed, it knows of none.
#[repr(C, align(64))]
pub struct Direct {
    /// How many PEs, in a row from `from` on, can be loaded from.
    loads: AtomicU32,
    /// How many can be stored to: as many, or none where a store needs a fence behind it.
    stores: AtomicU32,
    /// Written by `open` alone, while nobody uses it.
    memory: UnsafeCell<Memory>,
    last: LastFlag,
}

/// Where a flag has been stored last. In a line of its own, as the others are only read.
#[repr(align(64))]
struct LastFlag {
    address: AtomicPtr<u8>,
    /// How many more words that are stored may be flags: a few after each wait, so that threads that store at once do not all
    /// write this line all the time.
    wanted: AtomicU8,
}

/// How many words a PE stores one by one, the last of which is a flag, before it waits again.
const ANSWER: u8 = 4;

/// Where what is.
#[repr(C)]
struct Memory {
    /// The number of the first near PE.
    from: usize,
    heap: Part,
    /// Where PE 0 would have the segment in which the heap is, and the globals, if it were as far from the first near PE as
    /// their distance says: so a PE's number need but be multiplied, which every atomic operation waits for.
    origin: *mut u8,
    /// Bytes from a PE's memory to that of the next.
    stride: usize,
    /// Likewise for the word that says whether a PE sleeps, and the distance of the next PE's.
    sleeping: *const u8,
    sleeping_stride: usize,
    globals: Part,
    /// Where they are in the segment.
    globals_at: usize,
    /// This PE's addresses of device memory, where nothing can be loaded or stored.
    device: usize,
    device_len: usize,
    /// Nonblocking copies of so many bytes are not for the calling thread.
    offload: usize,
    pe: Option<&'static Pe>,
}

/// A range of this PE's addresses that is symmetric.
#[derive(Clone, Copy)]
struct Part {
    pub start: usize,
    pub len: usize,
}

// SAFETY: the pointers are addresses of memory that PEs share, and `memory` is not written while it is read.
unsafe impl Send for Direct {}
// SAFETY: as above.
unsafe impl Sync for Direct {}

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

/// What an operation has found.
#[derive(Clone, Copy)]
struct Place<'a> {
    memory: &'a Memory,
    address: *mut u8,
    pe: usize,
    /// Bytes behind the address in the same part.
    left: usize,
}

impl Part {
    const NONE: Self = Self { start: 0, len: 0 };

    fn new(range: &Range<usize>) -> Self {
        Self { start: range.start, len: range.len() }
    }
}

impl Direct {
    /// One that knows of no PE.
    pub const fn closed() -> Self {
        Self {
            loads: AtomicU32::new(0),
            stores: AtomicU32::new(0),
            memory: UnsafeCell::new(Memory {
                from: 0,
                heap: Part::NONE,
                origin: ptr::null_mut(),
                stride: 0,
                sleeping: ptr::null(),
                sleeping_stride: 0,
                globals: Part::NONE,
                globals_at: 0,
                device: 0,
                device_len: 0,
                offload: 0,
                pe: None,
            }),
            last: LastFlag { address: AtomicPtr::new(ptr::null_mut()), wanted: AtomicU8::new(0) },
        }
    }

    /// From now on knows the near PEs of `context`, which is one of `pe`.
    ///
    /// # Safety
    /// It must be closed, and nobody may be about to use it. `pe` must live until it is closed again, and nobody uses it any more: the
    /// lifetime of the reference says less than that. The addresses must be those of the PE's heap and globals, and
    /// what is there nobody's but the operations'.
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
        let origin = symmetric.address_unchecked(near.first_block, 0);
        let sleeping = sleeping.wrapping_add(near.first_block.wrapping_mul(sleeping_distance));
        let memory = Memory {
            from: near.from,
            heap: Part::new(heap),
            origin: origin.wrapping_sub(near.from.wrapping_mul(stride)),
            stride,
            sleeping: sleeping.wrapping_sub(near.from.wrapping_mul(sleeping_stride)),
            sleeping_stride,
            globals: Part::new(globals),
            globals_at: pe.statics_at(),
            device: device.start,
            device_len: device.len(),
            offload: pe.engine().threshold(),
            pe: Some(pe),
        };
        // SAFETY: nobody reads it, by the caller's word.
        unsafe { *self.memory.get() = memory };
        // Release: whoever finds a PE finds the rest.
        self.loads.store(near.n, Release);
        if pe.fence_side() == FenceSide::Sleeper {
            self.stores.store(near.n, Release);
        }
    }

    /// From now on knows of no PE.
    pub fn close(&self) {
        // Relaxed: flags for mistakes, not for synchronisation.
        self.loads.store(0, Relaxed);
        self.stores.store(0, Relaxed);
    }

    /// Fetches the line in which a flag has been stored last, to be stored to again. For who has just seen what it waited for:
    /// who answers does so where it has answered before, and the line, which the other PE has read since, comes while the
    /// caller is still about to answer. The next words that [`p`](Self::p), an atomic operation without a result or a put with signal
    /// store by this are taken for that answer. It has no effect but on time (of waits as in `OpenSHMEM 1.6 §9.11`), and no errors.
    #[inline(always)]
    pub fn prepare_answer(&self) {
        // No more than a hint, whatever is there by now. Relaxed for the same reason, here and below.
        copy::prefetch_write(self.last.address.load(Relaxed));
        self.last.wanted.store(ANSWER, Relaxed);
    }

    /// Takes note of a `flag` on `pe` that was stored in another way, as of one that was stored by [`p`](Self::p). One that is not
    /// where a near PE has symmetric memory is left alone.
    #[inline]
    pub fn flag_was_stored(&self, flag: *const u64, pe: i32) {
        if self.last.wanted.load(Relaxed) > 0
            && let Some(place) = self.element(&self.stores, flag, pe)
        {
            self.stored_at(place);
        }
    }

    #[inline(always)]
    fn stored_at(&self, place: Place<'_>) {
        let wanted = self.last.wanted.load(Relaxed);
        if wanted > 0 {
            self.last.wanted.store(wanted - 1, Relaxed);
            self.last.address.store(place.address, Relaxed);
        }
    }

    /// Stores `value` at `dest` on `pe`, as [`Context::p`] does.
    #[inline(always)]
    pub fn p<T: Element>(&self, dest: *mut T, value: T, pe: i32) -> Option<()> {
        let place = self.element(&self.stores, dest, pe)?;
        // SAFETY: aligned, and inside of a near PE's memory.
        unsafe { copy::store(place.address.cast(), value) };
        self.stored_at(place);
        self.ring(place, size_of::<T>());
        Some(())
    }

    /// Loads a value from `source` on `pe`, as [`Context::g`] does.
    #[inline(always)]
    pub fn g<T: Element>(&self, source: *const T, pe: i32) -> Option<T> {
        let place = self.element(&self.loads, source, pe)?;
        // SAFETY: aligned, and inside of a near PE's memory; any bytes are a `T`.
        Some(unsafe { copy::load(place.address.cast()) })
    }

    /// Performs an atomic operation on `at` on `pe`, and gives the value before.
    #[inline(always)]
    pub(crate) fn amo<T: ExtendedAmo>(&self, at: *const T, operation: Atomic<T::Word>, pe: i32) -> Option<T> {
        let is_fetch = matches!(operation, Atomic::Fetch);
        let place = self.element(if is_fetch { &self.loads } else { &self.stores }, at, pe)?;
        // Its address is found before the operation: no load begins while that is under way, and this way but one has to.
        let is_loop = matches!(operation, Atomic::And(_) | Atomic::Or(_) | Atomic::Xor(_));
        let sleeping = if is_loop { found(place.sleeping()) } else { place.sleeping() };
        // SAFETY: aligned, and inside of a near PE's memory; the word has the size of `T`.
        let before = unsafe { T::Word::apply(place.address, operation) };
        Some(T::from_word(if is_fetch { before } else { self.ring_after(place, sleeping, before) }))
    }

    /// Performs one of which the value before is not asked for, which for most is another instruction.
    #[inline(always)]
    pub(crate) fn update<T: ExtendedAmo>(
        &self,
        at: *const T,
        operation: Atomic<T::Word>,
        pe: i32,
    ) -> Option<()> {
        let place = self.element(&self.stores, at, pe)?;
        // As above.
        let sleeping = place.sleeping();
        // SAFETY: as above.
        unsafe { T::Word::apply(place.address, operation) };
        self.stored_at(place);
        // SAFETY: the word of a near PE, whose job is `'static`.
        if unsafe { Shm::sleeps(sleeping) } {
            self.wake(place.address, size_of::<T>());
        }
        Some(())
    }

    /// Copies `n` elements to `dest` on `pe`, as [`Context::put`] does.
    ///
    /// # Safety
    /// `source` must be readable for them, if it is not null.
    #[inline(always)]
    pub unsafe fn put<T>(&self, dest: *mut T, source: *const T, n: usize, pe: i32) -> Option<()> {
        // SAFETY: passed on to the caller.
        unsafe {
            if is_word(dest, n) {
                return self.put_word(dest.cast(), source.cast(), pe);
            }
            behind();
            self.put_elements(dest, source, n, pe)
        }
    }

    /// Likewise, as [`Context::put_nbi`] does.
    ///
    /// # Safety
    /// As for [`put`](Self::put).
    #[inline(always)]
    pub unsafe fn put_nbi<T>(&self, dest: *mut T, source: *const T, n: usize, pe: i32) -> Option<()> {
        // SAFETY: passed on to the caller.
        unsafe {
            if is_word(dest, n) {
                return self.put_word(dest.cast(), source.cast(), pe);
            }
            behind();
            if self.memory().offloads::<T>(n) {
                return None;
            }
            self.put_elements(dest, source, n, pe)
        }
    }

    /// Copies `n` elements from `source` on `pe`, as [`Context::get_into`] does.
    ///
    /// # Safety
    /// `dest` must be writable for them, if it is not null.
    #[inline(always)]
    pub unsafe fn get<T>(&self, dest: *mut T, source: *const T, n: usize, pe: i32) -> Option<()> {
        // SAFETY: passed on to the caller.
        unsafe {
            if is_word(source, n) {
                return self.get_word(dest.cast(), source.cast(), pe);
            }
            behind();
            self.get_elements(dest, source, n, pe)
        }
    }

    /// Likewise, as [`Context::get_nbi`] does.
    ///
    /// # Safety
    /// As for [`get`](Self::get).
    #[inline(always)]
    pub unsafe fn get_nbi<T>(&self, dest: *mut T, source: *const T, n: usize, pe: i32) -> Option<()> {
        // SAFETY: passed on to the caller.
        unsafe {
            if is_word(source, n) {
                return self.get_word(dest.cast(), source.cast(), pe);
            }
            behind();
            if self.memory().offloads::<T>(n) {
                return None;
            }
            self.get_elements(dest, source, n, pe)
        }
    }

    /// Stores a value at an address of this PE, wherever in host memory that is.
    ///
    /// # Safety
    /// `to` must be writable, if it is neither null nor in device memory.
    #[inline(always)]
    pub unsafe fn leave<T>(&self, to: *mut T, value: impl FnOnce() -> Option<T>) -> Option<()> {
        let there = self.memory().is_host(to.addr());
        let value = if there { value() } else { None }?;
        // SAFETY: the caller's word.
        unsafe { to.write_unaligned(value) };
        Some(())
    }

    /// Puts a word, which is gone before anybody could wait for it.
    ///
    /// # Safety
    /// As for [`put`](Self::put).
    #[inline(always)]
    unsafe fn put_word(&self, dest: *mut u64, source: *const u64, pe: i32) -> Option<()> {
        let place = self.word(&self.stores, dest, source.addr(), pe)?;
        // SAFETY: aligned, and inside of a near PE's memory; readable by the caller's word.
        unsafe { copy::store(place.address.cast(), copy::load_unaligned(source.cast())) };
        self.ring(place, size_of::<u64>());
        Some(())
    }

    /// Gets a word.
    ///
    /// # Safety
    /// As for [`get`](Self::get).
    #[inline(always)]
    unsafe fn get_word(&self, dest: *mut u64, source: *const u64, pe: i32) -> Option<()> {
        let place = self.word(&self.loads, source, dest.addr(), pe)?;
        // SAFETY: aligned, and inside of a near PE's memory; writable by the caller's word.
        unsafe { copy::store_unaligned(dest.cast(), copy::load(place.address.cast())) };
        Some(())
    }

    /// Puts however many elements.
    ///
    /// # Safety
    /// As for [`put`](Self::put).
    #[inline(always)]
    unsafe fn put_elements<T>(&self, dest: *mut T, source: *const T, n: usize, pe: i32) -> Option<()> {
        let place = self.block(&self.stores, dest, n, source.addr(), pe)?;
        // SAFETY: inside of a near PE's memory, and readable by the caller's word.
        unsafe { put_block(place.address, source.cast(), n * size_of::<T>(), place.pe, self) };
        Some(())
    }

    /// Gets however many elements.
    ///
    /// # Safety
    /// As for [`get`](Self::get).
    #[inline(always)]
    unsafe fn get_elements<T>(&self, dest: *mut T, source: *const T, n: usize, pe: i32) -> Option<()> {
        let place = self.block(&self.loads, source, n, dest.addr(), pe)?;
        // SAFETY: inside of a near PE's memory, and writable by the caller's word.
        unsafe { get_block(dest.cast(), place.address, n * size_of::<T>()) };
        Some(())
    }

    #[inline(always)]
    fn memory(&self) -> &Memory {
        // SAFETY: it is not written while anybody uses it, which whoever calls `open` vouches for.
        unsafe { &*self.memory.get() }
    }

    /// Where `address` is on `pe`, if that is one of `pes` near PEs.
    #[inline(always)]
    fn place(&self, pes: &AtomicU32, address: usize, pe: i32) -> Option<Place<'_>> {
        let memory = self.memory();
        // A negative number becomes one that is greater than that of any PE. Relaxed: `open` comes before all use, and that
        // a context is closed is a flag for mistakes.
        let pe = pe as usize;
        if pe.wrapping_sub(memory.from) >= pes.load(Relaxed) as usize {
            return None;
        }
        let Memory { heap, globals, globals_at, origin, stride, .. } = memory;
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
        Some(Place { memory, address, pe, left })
    }

    /// The same for an element that must be aligned. So are the parts, hence all of it is inside where its first byte is.
    #[inline(always)]
    fn element<T>(&self, pes: &AtomicU32, at: *const T, pe: i32) -> Option<Place<'_>> {
        const { assert!(align_of::<u128>().is_multiple_of(align_of::<T>()) && size_of::<T>() == align_of::<T>()) };
        self.place(pes, at.addr(), pe).filter(|_| at.is_aligned())
    }

    /// The same for a word, with something of this PE's at `here`.
    #[inline(always)]
    fn word(&self, pes: &AtomicU32, at: *const u64, here: usize, pe: i32) -> Option<Place<'_>> {
        self.element(pes, at, pe).filter(|place| place.memory.is_host(here))
    }

    /// The same for `n` elements, however they are aligned.
    #[inline(always)]
    fn block<T>(&self, pes: &AtomicU32, at: *const T, n: usize, here: usize, pe: i32) -> Option<Place<'_>> {
        let place = self.place(pes, at.addr(), pe)?;
        (n <= place.left / size_of::<T>() && place.memory.is_host(here)).then_some(place)
    }

    /// Wakes the PE if it sleeps and may wait for one of the `len` bytes at a place, which were just stored.
    #[inline(always)]
    fn ring(&self, at: Place<'_>, len: usize) {
        if at.sleeps() {
            self.wake(at.address, len);
        }
    }

    /// Likewise for a word, which was `before`. `sleeping` is the place's.
    #[inline(always)]
    fn ring_after<W: AtomicWord>(&self, at: Place<'_>, sleeping: *const u8, before: W) -> W {
        // SAFETY: the word of a near PE, whose job is `'static`.
        if unsafe { Shm::sleeps(sleeping) } {
            return W::from_u64(self.wake_after(at.address, size_of::<W>(), before.to_u64()));
        }
        before
    }

    /// Whose memory an address is in is found out again, so that nothing need be kept for it.
    #[cold]
    #[inline(never)]
    extern "C" fn wake(&self, address: *mut u8, len: usize) {
        if let Some(pe) = self.memory().pe {
            let symmetric = pe.symmetric();
            let behind = address.addr() - symmetric.address_unchecked(0, 0).addr();
            let (block, offset) = (behind / symmetric.map().stride(), behind % symmetric.map().stride());
            pe.shm().wake(block, Extent { segment: SegmentId::Heap, offset, len });
        }
    }

    /// Returns `before`, so that who calls this last need not keep it.
    #[cold]
    #[inline(never)]
    extern "C" fn wake_after(&self, address: *mut u8, len: usize, before: u64) -> u64 {
        self.wake(address, len);
        before
    }
}

impl Memory {
    /// Whether something is at an address, and not in device memory.
    #[inline(always)]
    fn is_host(&self, address: usize) -> bool {
        address != 0 && address.wrapping_sub(self.device) >= self.device_len
    }

    /// Whether a nonblocking copy is the copy engine's.
    #[inline(always)]
    fn offloads<T>(&self, n: usize) -> bool {
        n >= self.offload / size_of::<T>()
    }
}

impl Place<'_> {
    /// The word that says whether the PE sleeps.
    #[inline(always)]
    fn sleeping(&self) -> *const u8 {
        let Memory { sleeping, sleeping_stride, .. } = *self.memory;
        sleeping.wrapping_add(self.pe.wrapping_mul(sleeping_stride))
    }

    #[inline(always)]
    fn sleeps(&self) -> bool {
        // SAFETY: the word of a near PE, whose job is `'static`.
        unsafe { Shm::sleeps(self.sleeping()) }
    }
}

impl fmt::Debug for Direct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Direct(to {} PEs)", self.loads.load(Relaxed))
    }
}

/// Whether `n` elements are one word, which is a load and a store.
#[inline(always)]
fn is_word<T>(at: *const T, n: usize) -> bool {
    let words = size_of::<u64>() / size_of::<T>();
    n == words && words > 0 && at.cast::<u64>().is_aligned()
}

/// Has the compiler find an address here, where it would rather do so behind a loop that all later instructions wait for.
#[inline(always)]
fn found(address: *const u8) -> *const u8 {
    // SAFETY: no instruction at all.
    #[cfg(not(miri))]
    unsafe {
        std::arch::asm!("/* {} */", in(reg) address.addr(), options(nomem, nostack, preserves_flags));
    }
    address
}

/// Has the compiler lay what follows behind the rest: a word is to find all of its way in a row, a block takes longer anyhow.
#[cold]
#[inline]
fn behind() {}

/// Puts a block, which is inside of a near PE's memory. The arguments are in the order of a routine's, so that whoever calls
/// this last has them where they belong.
///
/// # Safety
/// `from` must be readable, `to` be writable for `len` bytes, and `pe` the near PE that has `to`.
#[inline(never)]
unsafe extern "C" fn put_block(to: *mut u8, from: *const u8, len: usize, pe: usize, direct: &Direct) {
    if len > copy::INLINE {
        // SAFETY: passed on to the caller.
        return unsafe { put_large(to, from, len, pe, direct) };
    }
    // SAFETY: passed on to the caller.
    unsafe { copy::copy_inline(to, from, len) };
    direct.ring(Place { memory: direct.memory(), address: to, pe, left: len }, len);
}

/// The same for any length.
///
/// # Safety
/// As for [`put_block`].
#[inline(never)]
unsafe extern "C" fn put_large(to: *mut u8, from: *const u8, len: usize, pe: usize, direct: &Direct) {
    // SAFETY: passed on to the caller.
    unsafe { copy::copy(to, from, len) };
    direct.ring(Place { memory: direct.memory(), address: to, pe, left: len }, len);
}

/// Gets a block.
///
/// # Safety
/// As for [`copy::copy`].
#[inline(never)]
unsafe extern "C" fn get_block(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: passed on to the caller.
    unsafe {
        if len > copy::INLINE {
            return get_large(to, from, len);
        }
        copy::copy_inline(to, from, len);
    }
}

/// Gets a block of any length.
///
/// # Safety
/// As for [`copy::copy`].
#[inline(never)]
unsafe extern "C" fn get_large(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: passed on to the caller.
    unsafe { copy::copy(to, from, len) }
}

#[cfg(test)]
mod tests;
