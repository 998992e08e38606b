//! Copies into and out of memory that other PEs may write at the same time.
//!
//! The compiler must not assume anything about such memory. So nothing here is a plain load or
//! store of Rust: words and blocks are loaded and stored in assembly, which the compiler does not
//! look into. A race gives a stale or torn value, as OpenSHMEM allows, never undefined behaviour.
//!
//! # Why races on symmetric memory are sound
//!
//! Symmetric memory is shared with other processes, and no program knows what they do at what time.
//! Every access to it is of one of three kinds:
//!
//! 1. *Copies, loads and stores*, of any size and alignment: the functions of this module, all of
//!    them assembly. To the compiler, memory contains what the assembly left there, whatever it
//!    contained before. No reference or atomic is made of either side, so a side may also be
//!    private memory that the caller has borrowed as `&[T]`.
//! 2. *Words*, aligned and of 2, 4 or 8 bytes: atomic operations, signals, and looks of waits
//!    ([`AtomicWord`], `Word`). They are atomics of Rust, each of which exists for one access.
//! 3. What is `unsafe` for the user: `as_slice`, `as_mut_slice` and accesses through `ptr`. The
//!    user excludes all others.
//!
//! Words of different sizes may overlap: `cast` makes two `u32` of a `u64`, and a wait for an `i16`
//! may look at a quarter of a word that others add to. Rust's memory model, which is that of C++,
//! leaves undefined what unordered atomics of different sizes do to each other. It is about one
//! program, and the accesses of another process cannot be undefined in this one; but where PEs are
//! threads, they are one program. So this code relies on what the code generator and the processors
//! promise instead:
//!
//! - LLVM defines atomic accesses byte by byte: a byte of a load has the value of one of the stores
//!   that it may see. LLVM does not split, join or repeat such accesses. It knows nothing about
//!   other accesses to the address, which comes from a mapping.
//! - x86-64: an aligned access of up to 8 bytes is one access to one cache line. A locked
//!   instruction has the line for itself from its load to its store, whatever sizes other accesses
//!   have.
//! - aarch64: an aligned access of up to 8 bytes is single-copy atomic, and so is an atomic
//!   instruction (LSE): a load sees all bytes that it shares with such a store, or none. Without
//!   LSE an atomic operation is a load-exclusive and a store-exclusive of one size; the store fails
//!   if another thread has stored to any byte of the granule, which is larger than any word.
//!
//! So a byte has the value of one store or of another, and an operation never undoes what another
//! did to bytes that it does not change. Elements are plain data. What operations of different
//! sizes make of the bytes that both change is as unspecified as OpenSHMEM leaves it: they exclude
//! each other if they are of one type (OpenSHMEM 1.6 §3.2). `tests/operations/amo_mixed_sizes.rs`
//! shows what is promised.
//!
//! [`AtomicWord`]: crate::word::AtomicWord

mod blocks;
mod processor;
#[cfg(test)]
mod tests;
mod words;

pub use blocks::INLINE;
use blocks::*;
pub use processor::Processor;
use words::*;

/// Bytes of a cache line.
pub const LINE: usize = 64;

/// Copies `len` bytes from `src` to `dst`. Either side, or both, may be memory that other PEs
/// access.
///
/// # Safety
/// `src` must be readable and `dst` writable for `len` bytes until the call returns. If they
/// overlap the bytes copied are unspecified. A side that is private must not be accessed by anyone
/// else meanwhile.
///
/// ```
/// # use oxshmem_memory::copy;
/// let (from, mut to) = ([1u8, 2, 3], [0u8; 3]);
/// // SAFETY: both arrays have 3 bytes.
/// unsafe { copy::copy(to.as_mut_ptr(), from.as_ptr(), 3) };
/// assert_eq!(to, from);
/// ```
#[inline(always)]
pub unsafe fn copy(dst: *mut u8, src: *const u8, len: usize) {
    // SAFETY: the caller's contract is the contract of both.
    unsafe { if len <= INLINE { copy_inline(dst, src, len) } else { copy_long(dst, src, len) } }
}

/// [`copy`] of [`INLINE`] bytes at most. It calls nothing, so that its caller needs no frame.
///
/// # Safety
/// As for [`copy`]; `len` must not be greater than [`INLINE`].
///
/// ```
/// # use oxshmem_memory::copy;
/// let (from, mut to) = ([7u8; 16], [0u8; 16]);
/// // SAFETY: both arrays have 16 bytes.
/// unsafe { copy::copy_inline(to.as_mut_ptr(), from.as_ptr(), 16) };
/// assert_eq!(to, from);
/// ```
#[inline(always)]
pub unsafe fn copy_inline(dst: *mut u8, src: *const u8, len: usize) {
    debug_assert!(len <= INLINE);
    // SAFETY: the caller's contract is the contract of both.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        if len > SMALL {
            return copy_medium(dst, src, len);
        }
        copy_small(dst, src, len)
    }
}

/// [`copy`] of more than [`INLINE`] bytes.
///
/// # Safety
/// As for [`copy`]; `len` must be greater than [`INLINE`].
#[inline(never)]
unsafe fn copy_long(dst: *mut u8, src: *const u8, len: usize) {
    // SAFETY: the caller's contract; this is the processor.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        copy_as(Processor::this(), dst, src, len);
        #[cfg(not(target_arch = "x86_64"))]
        copy_by_library(dst, src, len);
    }
}

/// [`copy`] of more than [`INLINE`] bytes, by the way that is best on a processor.
///
/// # Safety
/// As for [`copy`]; `len` must be greater than [`INLINE`], and the processor that this runs on must
/// have what `processor` has.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn copy_as(processor: &Processor, dst: *mut u8, src: *const u8, len: usize) {
    // SAFETY: the caller's contract is the contract of all; a processor that loops has AVX.
    unsafe {
        let is_string = len > processor.loop_to() && len <= processor.string_to();
        if is_string && !is_slow_for_string(dst, src) {
            return copy_string(dst, src, len);
        }
        if is_string || len <= processor.loop_to() {
            return copy_loop(dst, src, len);
        }
        copy_by_library(dst, src, len)
    }
}

/// Stores one `T` into memory that other PEs may access.
///
/// A `T` of 1, 2, 4 or 8 bytes that is aligned to its size is stored in one piece.
///
/// # Safety
/// `dst` must be aligned to `T` and writable.
///
/// ```
/// # use oxshmem_memory::copy;
/// let mut word = 0u64;
/// // SAFETY: a `u64` is aligned and writable.
/// unsafe { copy::store(&raw mut word, 7) };
/// assert_eq!(word, 7);
/// ```
#[inline(always)]
pub unsafe fn store<T: Copy>(dst: *mut T, value: T) {
    let src = (&raw const value).cast::<u8>();
    // SAFETY: `dst` is aligned to `T`, hence, where `T` is aligned to its size, to the word;
    // `value` lives on.
    unsafe {
        match (size_of::<T>(), align_of::<T>()) {
            (1, _) => store_1(dst.cast(), src.read()),
            (2, 2) => store_2(dst.cast(), src.cast::<u16>().read()),
            (4, 4) => store_4(dst.cast(), src.cast::<u32>().read()),
            (8, 8) => store_8(dst.cast(), src.cast::<u64>().read()),
            (len, _) => copy(dst.cast(), src, len),
        }
    }
}

/// Asks the processor to fetch the cache line at `address` for a store that comes soon. Changes
/// nothing.
///
/// ```
/// oxshmem_memory::copy::prefetch_write(&raw const *&7u64);
/// ```
#[inline(always)]
pub fn prefetch_write<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch has no effect that the program could notice, whatever the address is.
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!("prfm pstl1keep, [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
}

/// Returns when other threads see what this thread has stored. No load begins before that, not even
/// a speculative one.
///
/// A sequentially consistent fence does less: the processor may begin a later load before the fence
/// ends, as long as the value does not show it. The cache line that it fetches then leaves the core
/// that is about to write it.
///
/// ```
/// oxshmem_memory::copy::settle();
/// ```
#[inline(always)]
pub fn settle() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: adding no bits to what is on the top of the stack changes nothing.
    unsafe {
        // The locked instruction waits until the stores are in the cache, and the fence waits for
        // that instruction.
        std::arch::asm!("lock or qword ptr [rsp], 0", "lfence");
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
}

/// Loads one word from memory that others may access, whatever its alignment.
///
/// # Safety
/// `src` must be readable for 8 bytes.
///
/// ```
/// # use oxshmem_memory::copy;
/// let bytes = [0, 1, 0, 0, 0, 0, 0, 0, 0];
/// // SAFETY: 8 bytes follow the first.
/// assert_eq!(unsafe { copy::load_unaligned(bytes.as_ptr().add(1).cast()) }, 1u64.to_le());
/// ```
#[inline(always)]
pub unsafe fn load_unaligned(src: *const u64) -> u64 {
    // SAFETY: readable by the caller's word.
    unsafe { load_8(src) }
}

/// Stores one word into memory that others may access, whatever its alignment.
///
/// # Safety
/// `dst` must be writable for 8 bytes.
///
/// ```
/// # use oxshmem_memory::copy;
/// let mut bytes = [0; 9];
/// // SAFETY: 8 bytes follow the first.
/// unsafe { copy::store_unaligned(bytes.as_mut_ptr().add(1).cast(), 1u64.to_le()) };
/// assert_eq!(bytes[..3], [0, 1, 0]);
/// ```
#[inline(always)]
pub unsafe fn store_unaligned(dst: *mut u64, word: u64) {
    // SAFETY: writable by the caller's word.
    unsafe { store_8(dst, word) }
}

/// Loads one `T` from memory that other PEs may access.
///
/// A `T` of 1, 2, 4 or 8 bytes that is aligned to its size is loaded in one piece.
///
/// # Safety
/// `src` must be aligned to `T` and readable, and any bytes must be a valid `T`.
///
/// ```
/// # use oxshmem_memory::copy;
/// let word = 7u64;
/// // SAFETY: a `u64` is aligned and readable, and any bytes are one.
/// assert_eq!(unsafe { copy::load(&raw const word) }, 7);
/// ```
#[inline(always)]
pub unsafe fn load<T: Copy>(src: *const T) -> T {
    let mut value = std::mem::MaybeUninit::<T>::uninit();
    let dst = value.as_mut_ptr().cast::<u8>();
    // SAFETY: as in `store`; every byte of `value` is written before it is read, and any bytes are
    // a `T`.
    unsafe {
        match (size_of::<T>(), align_of::<T>()) {
            (1, _) => dst.write(load_1(src.cast())),
            (2, 2) => dst.cast::<u16>().write(load_2(src.cast())),
            (4, 4) => dst.cast::<u32>().write(load_4(src.cast())),
            (8, 8) => dst.cast::<u64>().write(load_8(src.cast())),
            (len, _) => copy(dst, src.cast(), len),
        }
        value.assume_init()
    }
}

/// Sets `len` bytes to `byte`, in memory that other PEs may access.
///
/// # Safety
/// `dst` must be writable for `len` bytes.
///
/// ```
/// # use oxshmem_memory::copy;
/// let mut bytes = [0u8; 4];
/// // SAFETY: 3 of 4 bytes.
/// unsafe { copy::fill(bytes.as_mut_ptr(), 9, 3) };
/// assert_eq!(bytes, [9, 9, 9, 0]);
/// ```
pub unsafe fn fill(dst: *mut u8, byte: u8, len: usize) {
    // SAFETY: an ordinary call of the C library's `memset`, from assembly for the reasons in
    // `copy_by_library`.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        std::arch::asm!(
            "call {memset}",
            memset = sym libc::memset,
            inout("rdi") dst => _, inout("rsi") u64::from(byte) => _, inout("rdx") len => _,
            clobber_abi("C")
        );
        #[cfg(target_arch = "aarch64")]
        std::arch::asm!(
            "bl {memset}",
            memset = sym libc::memset,
            inout("x0") dst => _, inout("x1") u64::from(byte) => _, inout("x2") len => _,
            clobber_abi("C")
        );
    }
}

/// Copies `count` blocks of `block` bytes, whose starts are `dst_stride` and `src_stride` bytes
/// apart.
///
/// # Safety
/// As for [`copy`], for every block.
///
/// ```
/// # use oxshmem_memory::copy;
/// let (from, mut to) = ([1u8, 2, 0, 3, 4, 0], [0u8; 4]);
/// // SAFETY: 2 blocks of 2 bytes end inside both arrays.
/// unsafe { copy::copy_strided(to.as_mut_ptr(), 2, from.as_ptr(), 3, 2, 2) };
/// assert_eq!(to, [1, 2, 3, 4]);
/// ```
pub unsafe fn copy_strided(
    dst: *mut u8,
    dst_stride: usize,
    src: *const u8,
    src_stride: usize,
    block: usize,
    count: usize,
) {
    macro_rules! copy_each {
        ($block:expr) => {{
            // Four in a turn: a turn of one takes twice as long at some addresses of the loop.
            let whole = count - count % 4;
            // SAFETY: the caller vouches for every block.
            let one = |i: usize| unsafe { copy(dst.add(i * dst_stride), src.add(i * src_stride), $block) };
            (0..whole).step_by(4).for_each(|i| (i..i + 4).for_each(one));
            (whole..count).for_each(one);
        }};
    }
    // With a constant length each copy is a load and a store.
    match block {
        1 => copy_each!(1),
        2 => copy_each!(2),
        4 => copy_each!(4),
        8 => copy_each!(8),
        16 => copy_each!(16),
        _ => copy_each!(block),
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("oxshmem copies shared memory with assembly for x86-64 and aarch64 only");
