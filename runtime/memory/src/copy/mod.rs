//! Copies into and out of memory that other PEs may write at the same time.
//!
//! The compiler must not assume anything about such memory, so nothing here is a plain load or store of Rust: words and
//! blocks are loaded and stored in assembly that the compiler cannot look into. A race gives a stale or torn value, as
//! OpenSHMEM allows, never undefined behaviour.
//!
//! # Why races on symmetric memory are sound
//!
//! Symmetric memory is shared with other processes, of which no program knows what they do when. Every access to it is of one
//! of these three kinds:
//!
//! 1. *Copies, loads and stores*, of any size and alignment: those of this module, all of them assembly. To the compiler, memory
//!    is what the assembly has made of it, whatever else was there too. No reference or atomic is made of either side, so that a
//!    side may also be private memory that the caller has borrowed as `&[T]`.
//! 2. *Words*, aligned and of 2, 4 or 8 bytes: atomic operations, signals, and looks of waits ([`AtomicWord`], [`Word`]). They
//!    are atomics of Rust, each of which is there for this one access.
//! 3. What is `unsafe` for the user: `as_slice`, `as_mut_slice` and whatever is done by `ptr`. Its user keeps all others away.
//!
//! Words of different sizes may overlap: `cast` makes two `u32` of a `u64`, and a wait for an `i16` may look at a quarter of a
//! word that others add to. The model that Rust has from C++ leaves undefined what unordered atomics of different sizes do to each
//! other. It is about one program, and what another process does cannot be undefined in this one; but where PEs are threads, it
//! is one program. So what is relied on is what the code generator and the processors say instead:
//!
//! - LLVM defines atomic accesses byte by byte: a byte of a load has the value of one of the stores that it may see. It does not
//!   split, join or repeat them, and knows nothing of what else is done at the address, as that came from a mapping.
//! - x86-64: an aligned access of up to 8 bytes is one access to one cache line. A locked instruction has the line for itself from
//!   its load to its store, whatever sizes others use.
//! - aarch64: an aligned access of up to 8 bytes is single-copy atomic, and so is an atomic instruction (LSE): a load has all bytes that
//!   it shares with such a store, or none. Elsewhere an atomic operation is a load-exclusive and a store-exclusive of one size; the
//!   second fails if others have stored to any byte of the granule, which is larger than any word, in between.
//!
//! So a byte is of one store or of another, and an operation never undoes what others did to bytes that it leaves as they are.
//! Elements are plain data. What operations of different sizes make of the bytes that both change is as unspecified as OpenSHMEM
//! leaves it: they exclude each other where they are of one type (`OpenSHMEM 1.6 §3.2`). `tests/amo_mixed_sizes.rs` shows what is promised.
//!
//! [`AtomicWord`]: crate::word::AtomicWord
//! [`Word`]: crate::executor::Word

mod blocks;
mod words;

pub use blocks::LINE;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use blocks::*;
use words::*;

/// Copies `len` bytes from `src` to `dst`. Either side, or both, may be memory that other PEs access.
///
/// # Safety
/// `src` must be readable and `dst` writable for `len` bytes until the call returns. If they overlap the
/// bytes copied are unspecified. A side that is private must not be accessed by anyone else meanwhile.
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
    unsafe {
        if len <= SMALL {
            return copy_small(dst, src, len);
        }
        // As long as it is not known, it is 0, and what is large finds it out.
        let limit = Limit(LIMIT.load(Relaxed));
        if len <= limit.bytes() {
            return copy_inline(dst, src, len, limit);
        }
        copy_large(dst, src, len)
    }
}

/// [`copy`] of more bytes than [`inline_limit`] says.
///
/// # Safety
/// As for [`copy`].
#[inline(never)]
unsafe fn copy_large(dst: *mut u8, src: *const u8, len: usize) {
    // SAFETY: the caller's contract is the contract of all; each is asked for what it needs.
    unsafe {
        let limit = inline_limit();
        if len <= limit.bytes() {
            return copy_inline(dst, src, len, limit);
        }
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            let is_slow = is_string_slow(dst, src) && len <= *STRING.end();
            if len <= *STRING.end() && !is_slow && stores_strings_well() {
                return copy_string(dst, src, len);
            }
            if (len <= WIDE || is_slow) && has!("avx") {
                return copy_avx(dst, src, len);
            }
            if STRING.contains(&len) && is_same_in_line(dst, src) && has!("ermsb") {
                return copy_string(dst, src, len);
            }
        }
        copy_block(dst, src, len)
    }
}

/// [`copy`] past the caches, where the destination would push everything else out of them and not stay itself. It is
/// faster for what does not fit, and much slower for what does.
///
/// What is written is visible before anything that this thread stores afterwards, as with any other copy.
///
/// # Safety
/// As for [`copy`].
///
/// ```
/// # use oxshmem_memory::copy;
/// let (from, mut to) = (vec![7u8; 70_001], vec![0u8; 70_001]);
/// // SAFETY: both have as many bytes.
/// unsafe { copy::copy_uncached(to.as_mut_ptr(), from.as_ptr(), from.len()) };
/// assert!(to == from);
/// ```
pub unsafe fn copy_uncached(dst: *mut u8, src: *const u8, len: usize) {
    let head = dst.addr().wrapping_neg() % LINE;
    if len < head + LINE {
        // SAFETY: the caller's contract.
        return unsafe { copy(dst, src, len) };
    }
    let whole = (len - head) / LINE * LINE;
    // SAFETY: the three parts are the whole, and the second begins with a line and ends with one.
    unsafe {
        copy(dst, src, head);
        copy_lines(dst.add(head), src.add(head), whole);
        copy(dst.add(head + whole), src.add(head + whole), len - head - whole);
    }
}

/// Up to how many bytes [`copy_inline`] takes, and with which registers: each kind of processor has another limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit(usize);

impl Limit {
    /// What every processor takes.
    pub const LEAST: Self = Self(SMALL);

    /// How many bytes.
    ///
    /// ```
    /// use oxshmem_memory::copy::{Limit, inline_limit};
    /// assert!(inline_limit().bytes() >= Limit::LEAST.bytes());
    /// ```
    #[inline(always)]
    pub const fn bytes(self) -> usize {
        self.0
    }
}

/// The limit of this processor, which is found out once.
///
/// ```
/// assert!(oxshmem_memory::copy::inline_limit().bytes() >= 16);
/// ```
#[inline(always)]
pub fn inline_limit() -> Limit {
    match LIMIT.load(Relaxed) {
        0 => find_limit(),
        limit => Limit(limit),
    }
}

/// [`inline_limit`], once it is known. Relaxed: whoever does not see it finds out the same.
static LIMIT: AtomicUsize = AtomicUsize::new(0);

#[cold]
fn find_limit() -> Limit {
    #[cfg(target_arch = "x86_64")]
    let limit =
        match (std::arch::is_x86_feature_detected!("avx512vl"), std::arch::is_x86_feature_detected!("avx")) {
            (true, _) if has_good_strings() => SHORT,
            (true, _) => WIDE,
            (false, true) if has_slow_ways() => UNPROBED,
            (false, true) => AVX,
            (false, false) => SMALL,
        };
    #[cfg(not(target_arch = "x86_64"))]
    let limit = SMALL;
    LIMIT.store(limit, Relaxed);
    Limit(limit)
}

/// Whether blocks of some kilobytes and more are best copied by the processor's string instruction, also to memory that others have
/// in their caches. How much it gains by large pieces is no more than a hint to who hands out memory.
///
/// ```
/// let piece = if oxshmem_memory::copy::stores_strings_well() { 32 << 10 } else { 16 << 10 };
/// # assert!(piece > 0);
/// ```
#[inline(always)]
pub fn stores_strings_well() -> bool {
    #[cfg(target_arch = "x86_64")]
    return inline_limit().bytes() == SHORT;
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// [`copy`] to memory of another PE that has read what was there, or is likely to have. Where it takes long to fetch its lines from
/// there, only to write them, it writes past the caches.
///
/// What is written is visible before anything that this thread stores afterwards, as with any other copy.
///
/// # Safety
/// As for [`copy`].
///
/// ```
/// # use oxshmem_memory::copy;
/// let (from, mut to) = (vec![7u8; 70_001], vec![0u8; 70_001]);
/// // SAFETY: both have as many bytes.
/// unsafe { copy::copy_out(to.as_mut_ptr(), from.as_ptr(), from.len()) };
/// assert!(to == from);
/// ```
#[inline(always)]
pub unsafe fn copy_out(dst: *mut u8, src: *const u8, len: usize) {
    // SAFETY: the caller's contract is the contract of both; such a processor has AVX.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        if len > UNPROBED && inline_limit().bytes() == UNPROBED {
            return copy_probed(dst, src, len);
        }
        copy(dst, src, len)
    }
}

/// [`copy`] to two destinations, each of which gets everything. Where that is faster it loads everything once.
///
/// What is written is visible before anything that this thread stores afterwards, as with any other copy.
///
/// # Safety
/// As for [`copy`], of both destinations.
///
/// ```
/// # use oxshmem_memory::copy;
/// let (from, mut to) = (vec![7u8; 70_001], [vec![0u8; 70_001], vec![0u8; 70_001]]);
/// // SAFETY: all have as many bytes.
/// unsafe { copy::copy_twice(to.each_mut().map(|to| to.as_mut_ptr()), from.as_ptr(), from.len()) };
/// assert!(to.iter().all(|to| *to == from));
/// ```
pub unsafe fn copy_twice([one, other]: [*mut u8; 2], src: *const u8, len: usize) {
    // SAFETY: the caller's contract is the contract of all; such a limit says that there is AVX.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        {
            let apart = other.addr().wrapping_sub(one.addr()) as isize;
            if len > MEDIUM && apart % 32 == 0 && matches!(inline_limit().bytes(), AVX | UNPROBED) {
                return twice_avx(one, apart, src, len);
            }
        }
        copy(one, src, len);
        copy(other, src, len);
    }
}

/// [`copy`] of no more bytes than `limit` says. It calls nothing, so that its caller needs no frame.
///
/// # Safety
/// As for [`copy`]; `len` must not be greater than the limit.
///
/// ```
/// # use oxshmem_memory::copy;
/// let (from, mut to) = ([7u8; 16], [0u8; 16]);
/// // SAFETY: both arrays have 16 bytes, which every processor takes.
/// unsafe { copy::copy_inline(to.as_mut_ptr(), from.as_ptr(), 16, copy::inline_limit()) };
/// assert_eq!(to, from);
/// ```
#[inline(always)]
pub unsafe fn copy_inline(dst: *mut u8, src: *const u8, len: usize, limit: Limit) {
    // SAFETY: the caller's contract is the contract of all; beyond SMALL the processor has AVX where its limit says so, and
    // AVX-512VL elsewhere.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        let has_avx_only = matches!(limit.bytes(), AVX | UNPROBED);
        match len {
            ..=SMALL => copy_small(dst, src, len),
            #[cfg(target_arch = "x86_64")]
            ..=MEDIUM if has_avx_only => medium_avx(dst, src, len),
            #[cfg(target_arch = "x86_64")]
            ..=MEDIUM => copy_medium(dst, src, len),
            #[cfg(target_arch = "x86_64")]
            _ if has_avx_only => wide_avx(dst, src, len),
            #[cfg(target_arch = "x86_64")]
            WHOLE.. if limit.bytes() == SHORT => copy_whole(dst, src, len),
            #[cfg(target_arch = "x86_64")]
            _ => copy_wide(dst, src, len),
            #[cfg(not(target_arch = "x86_64"))]
            _ => unreachable!("the limit is {}", limit.bytes()),
        }
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
    // SAFETY: `dst` is aligned to `T`, hence, where `T` is aligned to its size, to the word; `value` lives on.
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

/// Asks the processor to get hold of the cache line at `address` for a store that comes soon. Changes nothing.
///
/// ```
/// oxshmem_memory::copy::prefetch_write(&raw const *&7u64);
/// ```
#[inline(always)]
pub fn prefetch_write<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch accesses nothing that the program could notice, whatever the address is.
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!("prfm pstl1keep, [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
}

/// Returns when what this thread has stored is where others see it, and begins no load before that, not even on suspicion.
///
/// A sequentially consistent fence is not as much: a processor may begin a load behind one, or behind an atomic exchange, before it is over,
/// as long as nobody can tell by the value. The cache line that it fetches has then left whoever is about to write it.
///
/// ```
/// oxshmem_memory::copy::settle();
/// ```
#[inline(always)]
pub fn settle() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: adding no bits to what is on the top of the stack changes nothing.
    unsafe {
        // The locked instruction waits until what was stored is in the cache, and the fence for that instruction. With them an exchange
        // of flags between near cores of a Zen 5 takes 32 ns, with MFENCE 36.
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
    // SAFETY: as in `store`; every byte of `value` is written before it is read, and any bytes are a `T`.
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
    // SAFETY: an ordinary call of the C library's `memset`, from assembly for the reasons in `copy_block`.
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

/// Copies `count` blocks of `block` bytes, whose starts are `dst_stride` and `src_stride` bytes apart.
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
        ($block:expr) => {
            for i in 0..count {
                // SAFETY: the caller vouches for every block.
                unsafe { copy(dst.add(i * dst_stride), src.add(i * src_stride), $block) }
            }
        };
    }
    // Of elements of a known size each copy is a load and a store.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// `copy`, of so many bytes of 20,000, to and from places that far from where a line begins.
    fn moves_those_bytes_and_no_others(
        copy: unsafe fn(*mut u8, *const u8, usize),
        lens: impl Iterator<Item = usize>,
        shifts: &[usize],
    ) {
        let src: Vec<u8> = (0..20_000u32).map(|i| (i * 7 + 1) as u8).collect();
        for len in lens {
            for &shift in shifts {
                assert!(20 + shift + len <= src.len());
                let mut dst = vec![0u8; src.len()];
                // SAFETY: that many bytes are inside both vectors.
                unsafe { copy(dst.as_mut_ptr().add(20 + shift), src.as_ptr().add(shift), len) };
                let mut expected = vec![0u8; src.len()];
                expected[20 + shift..20 + shift + len].copy_from_slice(&src[shift..shift + len]);
                assert_eq!(dst, expected, "{len} bytes at {shift}");
            }
        }
    }

    #[test]
    fn a_copy_of_any_length_and_alignment_moves_those_bytes_and_no_others() {
        let lens = (0..600).chain([1000, 2047, 2048, 2049, 2300, 4096, 16384, 16385]);
        moves_those_bytes_and_no_others(copy, lens, &[0, 1, 2, 3, 4, 5, 6, 7, 8]);
    }

    #[test]
    fn so_does_a_copy_of_few_bytes_on_any_processor() {
        // Shifts from such a place are alignments.
        #[repr(align(8))]
        struct Room([u8; 96]);
        let from = Room(std::array::from_fn(|i| i as u8 + 1));
        for len in 0..=64 {
            for (there, here) in (0..64).map(|shifts| (8 + shifts / 8, shifts % 8)) {
                let mut to = Room([0; 96]);
                // SAFETY: so many bytes are inside of both arrays.
                unsafe { copy_by_words(to.0.as_mut_ptr().add(there), from.0.as_ptr().add(here), len) };
                let mut expected = [0; 96];
                expected[there..there + len].copy_from_slice(&from.0[here..here + len]);
                assert_eq!(to.0, expected, "{len} bytes from {here} to {there}");
            }
        }
    }

    /// A thread alternates elements of 0 and of ones, and another looks at them.
    fn nobody_sees_a_part<T: Copy + PartialEq + std::fmt::Debug + Sync, const N: usize>(
        copy: unsafe fn(*mut u8, *const u8, usize),
        [zero, ones]: [T; 2],
    ) {
        use std::sync::atomic::{AtomicBool, AtomicU64};
        let (room, done) = ([const { AtomicU64::new(0) }; 2], AtomicBool::new(false));
        let all = size_of::<T>() * N;
        assert!(all <= size_of_val(&room) && size_of::<T>() == align_of::<T>());
        // The last bytes of it, so that there are elements that are aligned to no more than they must be.
        let place = || room.as_ptr().cast::<u8>().wrapping_add(size_of_val(&room) - all).cast_mut();
        std::thread::scope(|threads| {
            threads.spawn(|| {
                for turn in 0..100_000 {
                    let source = [[zero, ones][turn % 2]; N];
                    // SAFETY: so many bytes are inside of both; the other thread uses `load`, of single words.
                    unsafe { copy(place(), source.as_ptr().cast(), all) };
                }
                done.store(true, Relaxed);
            });
            while !done.load(Relaxed) {
                for i in 0..N {
                    // SAFETY: an aligned element inside of the room, and any bytes are one.
                    let seen = unsafe { load(place().cast::<T>().add(i)) };
                    assert!(seen == zero || seen == ones, "{seen:?} is a part of an element");
                }
            }
        });
    }

    #[test]
    fn nobody_sees_a_part_of_an_element_that_a_small_copy_writes() {
        let copies: [unsafe fn(*mut u8, *const u8, usize); 2] = [copy_by_words, copy];
        for copy in copies {
            nobody_sees_a_part::<_, 1>(copy, [0, u64::MAX]);
            nobody_sees_a_part::<_, 2>(copy, [0, u64::MAX]);
            nobody_sees_a_part::<_, 1>(copy, [0, u32::MAX]);
            nobody_sees_a_part::<_, 3>(copy, [0, u32::MAX]);
            nobody_sees_a_part::<_, 1>(copy, [0, u16::MAX]);
            nobody_sees_a_part::<_, 5>(copy, [0, u16::MAX]);
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn so_does_a_copy_by_registers_that_every_recent_processor_has() {
        if !std::arch::is_x86_feature_detected!("avx") {
            return println!("skipped: this processor has no AVX");
        }
        unsafe fn copy_avx(dst: *mut u8, src: *const u8, len: usize) {
            // SAFETY: the caller's contract, and there is AVX.
            unsafe { super::copy_avx(dst, src, len) }
        }
        moves_those_bytes_and_no_others(copy_avx, (17..700).chain([4096, 16385]), &[0, 1, 7, 8, 31, 32, 63]);
    }

    #[test]
    fn a_copy_to_two_places_moves_those_bytes_to_both_and_no_others() {
        let lens = (0..900).chain([4095, 4096, 4097, 16_384, 16_385]);
        for apart in [20_000 - 32, 20_000, 20_001, 40_960] {
            let src: Vec<u8> = (0..20_000u32).map(|i| (i * 7 + 1) as u8).collect();
            let mut dst = vec![0u8; 80_000];
            for len in lens.clone() {
                for shift in [0, 1, 8, 31, 32, 63] {
                    for reverse in [false, true] {
                        dst.fill(0);
                        let mut to = [20 + shift, 20 + shift + apart];
                        let mut expected = vec![0u8; dst.len()];
                        for at in to {
                            expected[at..at + len].copy_from_slice(&src[shift..shift + len]);
                        }
                        if reverse {
                            to.reverse();
                        }
                        let first = dst.as_mut_ptr();
                        // SAFETY: that many bytes are inside of all three.
                        unsafe {
                            copy_twice(to.map(|to| first.add(to)), src.as_ptr().add(shift), len);
                        }
                        assert!(dst == expected, "{len} bytes at {shift}, {apart} apart");
                    }
                }
            }
        }
    }

    #[test]
    fn so_does_a_copy_to_memory_of_others() {
        let lens = (0..70).chain([4096, 8191, 8192, 8193, 8300, 8448, 8449, 12_288, 16_385]);
        moves_those_bytes_and_no_others(copy_out, lens, &[0, 1, 8, 31, 63, 64]);
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn so_does_a_copy_with_a_probe() {
        if !std::arch::is_x86_feature_detected!("avx") {
            return println!("skipped: this processor has no AVX");
        }
        unsafe fn copy_near(dst: *mut u8, src: *const u8, len: usize) {
            // SAFETY: the caller's contract, and there is AVX.
            unsafe { copy_judged(dst, src, len, |_, _| false) }
        }
        unsafe fn copy_far(dst: *mut u8, src: *const u8, len: usize) {
            // SAFETY: as above.
            unsafe { copy_judged(dst, src, len, |_, _| true) }
        }
        for copy in [copy_probed, copy_near, copy_far] {
            let lens = [8192, 8193, 8255, 8300, 12_288, 16_385].into_iter();
            moves_those_bytes_and_no_others(copy, lens, &[0, 1, 8, 31, 63, 64]);
            // Beyond what loops do.
            let (from, mut to) = (vec![7u8; 300_001], vec![0u8; 300_001]);
            // SAFETY: both have as many bytes.
            unsafe { copy(to.as_mut_ptr(), from.as_ptr(), from.len()) };
            assert!(to == from);
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn so_does_a_copy_of_whole_lines() {
        if !std::arch::is_x86_feature_detected!("avx512f") {
            return println!("skipped: this processor has no AVX-512");
        }
        unsafe fn copy_whole(dst: *mut u8, src: *const u8, len: usize) {
            // SAFETY: the caller's contract, and there is AVX-512.
            unsafe { super::copy_whole(dst, src, len) }
        }
        moves_those_bytes_and_no_others(
            copy_whole,
            (320..900).chain([4096, 16385]),
            &[0, 1, 8, 31, 32, 63, 64],
        );
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn so_does_the_string_instruction() {
        unsafe fn copy_string(dst: *mut u8, src: *const u8, len: usize) {
            // SAFETY: the caller's contract.
            unsafe { super::copy_string(dst, src, len) }
        }
        moves_those_bytes_and_no_others(copy_string, (0..70).chain([4096, 16385]), &[0, 1, 31, 64]);
    }

    #[test]
    fn a_destination_little_ahead_of_its_source_within_pages_gets_those_bytes_and_no_others() {
        const PAGE: usize = 4096;
        let src: Vec<u8> = (0..PAGE * 100).map(|i| (i / 3) as u8).collect();
        let mut dst = vec![0u8; src.len() + 2 * PAGE];
        let page = |address: usize| address.wrapping_neg() % PAGE;
        for ahead in [1, 8, 63, 64] {
            for len in [2048, 4096, 300_000] {
                let (from, to) = (page(src.as_ptr().addr()), page(dst.as_ptr().addr()) + ahead);
                dst.fill(0);
                // SAFETY: fewer bytes than the pages from there on.
                unsafe { copy(dst.as_mut_ptr().add(to), src.as_ptr().add(from), len) };
                assert!(dst[to..to + len] == src[from..from + len], "{len} bytes");
                assert!(dst[..to].iter().chain(&dst[to + len..]).all(|&byte| byte == 0), "{len} bytes");
            }
        }
    }

    #[test]
    fn so_does_a_copy_past_the_caches() {
        let lengths = (0..300).chain([4096, 5001, 16_384, 19_000]);
        moves_those_bytes_and_no_others(copy_uncached, lengths, &[0, 1, 31, 63, 64]);
    }

    #[test]
    fn a_fill_sets_its_bytes_and_no_others() {
        let mut bytes = [1u8; 100];
        // SAFETY: 10 + 50 bytes are inside.
        unsafe { fill(bytes.as_mut_ptr().add(10), 7, 50) };
        assert!((0..100).all(|i| bytes[i] == if (10..60).contains(&i) { 7 } else { 1 }));
    }

    #[test]
    fn values_of_every_size_come_back_from_a_store() {
        fn check<T: Copy + PartialEq + std::fmt::Debug>(value: T, zero: T) {
            let mut cell = [zero; 3];
            // SAFETY: an element of an array of `T` is aligned and writable.
            unsafe {
                store(&raw mut cell[1], value);
                assert_eq!(load(&raw const cell[1]), value);
            }
            assert_eq!((cell[0], cell[2]), (zero, zero));
        }
        check(200u8, 0);
        check(-2i16, 0);
        check(1.5f32, 0.0);
        check(u64::MAX, 0);
        check([1u8, 2, 3, 4, 5, 6, 7, 8], [0; 8]);
        check([1u64, 2, 3, 4, 5], [0; 5]);
        check(u128::MAX - 5, 0);
    }
}
