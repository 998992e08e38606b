//! How blocks are copied: by registers, by the processor's string instruction, by the C library, or past the caches.

#[cfg(target_arch = "x86_64")]
use super::{stores_strings_well, words::*};

/// Up to this length a copy is a few general registers.
pub(super) const SMALL: usize = 16;

/// Up to 16 bytes, any alignment: one load and store, or two that may overlap each other.
///
/// # Safety
/// As for [`copy`](super::copy); `len` is 16 at most.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) unsafe fn copy_small(dst: *mut u8, src: *const u8, len: usize) {
    use std::arch::asm;
    macro_rules! pair {
        ($a:literal, $b:literal, $class:ident, $ty:ty, $width:literal) => {{
            let (_a, _b): ($ty, $ty);
            asm!(
                concat!("mov {a", $a, "}, [{src}]"),
                concat!("mov {b", $b, "}, [{src} + {len} - ", $width, "]"),
                concat!("mov [{dst}], {a", $a, "}"),
                concat!("mov [{dst} + {len} - ", $width, "], {b", $b, "}"),
                a = out($class) _a, b = out($class) _b,
                src = in(reg) src, dst = in(reg) dst, len = in(reg) len,
                options(nostack, preserves_flags)
            )
        }};
    }
    macro_rules! one {
        ($a:literal, $class:ident, $ty:ty) => {{
            let _a: $ty;
            asm!(
                concat!("mov {a", $a, "}, [{src}]"),
                concat!("mov [{dst}], {a", $a, "}"),
                a = out($class) _a, src = in(reg) src, dst = in(reg) dst,
                options(nostack, preserves_flags)
            )
        }};
    }
    // SAFETY: each arm touches bytes 0..len of both sides only. Unaligned moves are fine on x86-64.
    unsafe {
        match len {
            8 => one!("", reg, u64),
            4 => one!(":e", reg, u32),
            9..=16 => pair!("", "", reg, u64, "8"),
            5..=7 => pair!(":e", ":e", reg, u32, "4"),
            2..=3 => pair!(":x", ":x", reg, u16, "2"),
            1 => store_1(dst, load_1(src)),
            _ => {}
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) use copy_by_words as copy_small;

/// Up to 16 bytes, any alignment, on any processor: by the largest words to which both sides and the length are aligned. So an
/// element of up to 8 bytes that is aligned on both sides is copied in one piece, as whoever waits for it must not see a part of it.
///
/// # Safety
/// As for [`copy`](super::copy).
#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline(always)]
pub(super) unsafe fn copy_by_words(dst: *mut u8, src: *const u8, len: usize) {
    macro_rules! each {
        ($word:ty, $load:ident, $store:ident) => {
            for at in (0..len).step_by(size_of::<$word>()) {
                // SAFETY: the word at `at` is inside of both sides, and aligned on both.
                unsafe { $store(dst.add(at).cast(), $load(src.add(at).cast())) };
            }
        };
    }
    // The lowest bit that is set in any of them is what all are multiples of.
    match (dst.addr() | src.addr() | len) % 8 {
        0 => each!(u64, load_8, store_8),
        4 => each!(u32, load_4, store_4),
        2 | 6 => each!(u16, load_2, store_2),
        _ => each!(u8, load_1, store_1),
    }
}

/// Up to this length no loop is needed.
#[cfg(target_arch = "x86_64")]
pub(super) const MEDIUM: usize = 256;

/// Up to this length a plain loop over wide registers is no slower than the C library, which leaves most of these lengths to
/// the processor's `rep movsb`: that takes a while to start, and may be [slow](is_string_slow).
#[cfg(target_arch = "x86_64")]
pub(super) const WIDE: usize = 256 << 10;

/// Up to this length loops are as fast also on processors that [store strings well](has_good_strings).
#[cfg(target_arch = "x86_64")]
pub(super) const SHORT: usize = 4 << 10;

/// Up to this length loops are inlined where there is AVX but no AVX-512; and likewise on processors that [have slow
/// ways](has_slow_ways), to which what is longer is [copied with a probe](copy_probed). Both differ from the other limits, and so tell which
/// registers there are.
#[cfg(target_arch = "x86_64")]
pub(super) const AVX: usize = 128 << 10;
#[cfg(target_arch = "x86_64")]
pub(super) const UNPROBED: usize = 8 << 10;
#[cfg(target_arch = "x86_64")]
const _: () = assert!(MEDIUM < UNPROBED && UNPROBED != SHORT && AVX < WIDE && UNPROBED >= 2 * PROBE);

/// From this length on these take whole lines at a time.
#[cfg(target_arch = "x86_64")]
pub(super) const WHOLE: usize = (2 << 10) + 1;

/// 256 bytes at a time, to whole lines. The first 64 bytes and the last 256 are copied apart, and may overlap the others.
///
/// # Safety
/// As for [`copy`](super::copy); `len` is at least 320, and the processor has AVX-512.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) unsafe fn copy_whole(dst: *mut u8, src: *const u8, len: usize) {
    // SAFETY: every access is within `len` bytes of its side.
    unsafe {
        std::arch::asm!(
            "vmovdqu64 zmm16, [{src}]",
            "vmovdqu64 zmm20, [{src} + {end} - 256]",
            "vmovdqu64 zmm21, [{src} + {end} - 192]",
            "vmovdqu64 zmm22, [{src} + {end} - 128]",
            "vmovdqu64 zmm23, [{src} + {end} - 64]",
            "vmovdqu64 [{dst}], zmm16",
            "add {end}, {dst}",
            "sub {src}, {dst}",
            "lea {last}, [{end} - 256]",
            "or {dst}, 63",
            "inc {dst}",
            "2:",
            "vmovdqu64 zmm16, [{src} + {dst}]",
            "vmovdqu64 zmm17, [{src} + {dst} + 64]",
            "vmovdqu64 zmm18, [{src} + {dst} + 128]",
            "vmovdqu64 zmm19, [{src} + {dst} + 192]",
            "vmovdqa64 [{dst}], zmm16",
            "vmovdqa64 [{dst} + 64], zmm17",
            "vmovdqa64 [{dst} + 128], zmm18",
            "vmovdqa64 [{dst} + 192], zmm19",
            "add {dst}, 256",
            "cmp {dst}, {last}",
            "jb 2b",
            "vmovdqu64 [{end} - 256], zmm20",
            "vmovdqu64 [{end} - 192], zmm21",
            "vmovdqu64 [{end} - 128], zmm22",
            "vmovdqu64 [{end} - 64], zmm23",
            src = inout(reg) src => _, dst = inout(reg) dst => _, end = inout(reg) len => _, last = out(reg) _,
            out("zmm16") _, out("zmm17") _, out("zmm18") _, out("zmm19") _,
            out("zmm20") _, out("zmm21") _, out("zmm22") _, out("zmm23") _,
            options(nostack)
        )
    }
}

/// Whether this processor writes lines by the string instruction without fetching them first from whoever has them, which takes a
/// half to a third of the time of a loop over registers wherever another PE has read what was there before; where nobody has, the
/// loop is the faster one up to what fits into the innermost cache, and slower from there on. Such processors also move whole lines
/// between registers and that cache at a time.
///
/// Measured on AMD's family 1Ah, Zen 5, between near cores and far ones. It may hold for other processors, on which it was not.
#[cfg(target_arch = "x86_64")]
pub(super) fn has_good_strings() -> bool {
    amd_family() >= 0x1a
}

/// Whether this processor fetches each line that it stores to from whoever has it, also where a whole block is written, and stores past the
/// caches take less than half of that if it comes from a core with another last cache, though more if from one with the same: for
/// 64 KiB and a flag, which is then read, 8 us instead of 20, and 8 instead of 6.
///
/// Measured on AMD's family 17h, Zen 2. Of family 19h a Zen 3 is meant, whose cores share last caches in the same way: it was not measured
/// on one. A Zen 4 has AVX-512, and is not asked.
#[cfg(target_arch = "x86_64")]
pub(super) fn has_slow_ways() -> bool {
    matches!(amd_family(), 0x17 | 0x19)
}

/// The family of a processor by AMD, or 0.
#[cfg(target_arch = "x86_64")]
fn amd_family() -> u32 {
    use std::arch::x86_64::__cpuid;
    // Safe to call in newer compilers only.
    #[allow(unused_unsafe)]
    // SAFETY: every x86-64 processor has the instruction.
    let (vendor, version) = unsafe { (__cpuid(0), __cpuid(1).eax) };
    // "AuthenticAMD", in that order.
    match [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes).as_flattened() {
        b"AuthenticAMD" => (version >> 8 & 0xf) + (version >> 20 & 0xff),
        _ => 0,
    }
}

/// 128 bytes at a time, to aligned addresses, as a store to two lines costs as much as two. The first 32 bytes and the
/// last 128 are copied apart, and may overlap the others. Registers of 32 bytes, since processors that store 64 at once
/// store two of them.
///
/// # Safety
/// As for [`copy`](super::copy); `len` is at least 160, and the processor has AVX-512VL.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) unsafe fn copy_wide(dst: *mut u8, src: *const u8, len: usize) {
    // SAFETY: every access is within `len` bytes of its side.
    unsafe {
        std::arch::asm!(
            "vmovdqu64 ymm16, [{src}]",
            "vmovdqu64 ymm20, [{src} + {end} - 128]",
            "vmovdqu64 ymm21, [{src} + {end} - 96]",
            "vmovdqu64 ymm22, [{src} + {end} - 64]",
            "vmovdqu64 ymm23, [{src} + {end} - 32]",
            "vmovdqu64 [{dst}], ymm16",
            "add {end}, {dst}",
            "sub {src}, {dst}",
            "lea {last}, [{end} - 128]",
            "or {dst}, 31",
            "inc {dst}",
            "2:",
            "vmovdqu64 ymm16, [{src} + {dst}]",
            "vmovdqu64 ymm17, [{src} + {dst} + 32]",
            "vmovdqu64 ymm18, [{src} + {dst} + 64]",
            "vmovdqu64 ymm19, [{src} + {dst} + 96]",
            "vmovdqa64 [{dst}], ymm16",
            "vmovdqa64 [{dst} + 32], ymm17",
            "vmovdqa64 [{dst} + 64], ymm18",
            "vmovdqa64 [{dst} + 96], ymm19",
            "sub {dst}, -128",
            "cmp {dst}, {last}",
            "jb 2b",
            "vmovdqu64 [{end} - 128], ymm20",
            "vmovdqu64 [{end} - 96], ymm21",
            "vmovdqu64 [{end} - 64], ymm22",
            "vmovdqu64 [{end} - 32], ymm23",
            src = inout(reg) src => _, dst = inout(reg) dst => _, end = inout(reg) len => _, last = out(reg) _,
            out("ymm16") _, out("ymm17") _, out("ymm18") _, out("ymm19") _,
            out("ymm20") _, out("ymm21") _, out("ymm22") _, out("ymm23") _,
            options(nostack)
        )
    }
}

/// Copies with AVX alone, like [`copy_wide`], to each of the places behind `dst` that the texts name, with loads that are 128 bytes ahead of
/// the stores. On a Zen 2 a load waits for a store before it that has the same place in its page, so that a loop without this loses up to a tenth where the
/// destination lies a word ahead of the source, within pages.
#[cfg(target_arch = "x86_64")]
macro_rules! copy_ahead {
    ($dst:ident, $src:ident, $len:ident, [$($to:literal)*] $(, $apart:ident)?) => {
        std::arch::asm!(
            "vmovdqu ymm8, [{src}]",
            "vmovdqu ymm4, [{src} + {end} - 128]",
            "vmovdqu ymm5, [{src} + {end} - 96]",
            "vmovdqu ymm6, [{src} + {end} - 64]",
            "vmovdqu ymm7, [{src} + {end} - 32]",
            "mov {last}, {dst}",
            "add {end}, {dst}",
            "sub {src}, {dst}",
            "or {dst}, 31",
            "inc {dst}",
            "vmovdqu ymm0, [{src} + {dst}]",
            "vmovdqu ymm1, [{src} + {dst} + 32]",
            "vmovdqu ymm2, [{src} + {dst} + 64]",
            "vmovdqu ymm3, [{src} + {dst} + 96]",
            $(concat!("vmovdqu [{last}", $to, "], ymm8"),)*
            "lea {last}, [{end} - 256]",
            "cmp {dst}, {last}",
            "jae 3f",
            "2:",
            $(concat!("vmovdqa [{dst}", $to, "], ymm0"),)*
            "vmovdqu ymm0, [{src} + {dst} + 128]",
            $(concat!("vmovdqa [{dst}", $to, " + 32], ymm1"),)*
            "vmovdqu ymm1, [{src} + {dst} + 160]",
            $(concat!("vmovdqa [{dst}", $to, " + 64], ymm2"),)*
            "vmovdqu ymm2, [{src} + {dst} + 192]",
            $(concat!("vmovdqa [{dst}", $to, " + 96], ymm3"),)*
            "vmovdqu ymm3, [{src} + {dst} + 224]",
            "sub {dst}, -128",
            "cmp {dst}, {last}",
            "jb 2b",
            "3:",
            $(
                concat!("vmovdqa [{dst}", $to, "], ymm0"),
                concat!("vmovdqa [{dst}", $to, " + 32], ymm1"),
                concat!("vmovdqa [{dst}", $to, " + 64], ymm2"),
                concat!("vmovdqa [{dst}", $to, " + 96], ymm3"),
            )*
            $(
                concat!("vmovdqu [{end}", $to, " - 128], ymm4"),
                concat!("vmovdqu [{end}", $to, " - 96], ymm5"),
                concat!("vmovdqu [{end}", $to, " - 64], ymm6"),
                concat!("vmovdqu [{end}", $to, " - 32], ymm7"),
            )*
            // As below.
            "vzeroupper",
            src = inout(reg) $src => _, dst = inout(reg) $dst => _, end = inout(reg) $len => _, last = out(reg) _,
            $($apart = in(reg) $apart,)?
            out("ymm0") _, out("ymm1") _, out("ymm2") _, out("ymm3") _,
            out("ymm4") _, out("ymm5") _, out("ymm6") _, out("ymm7") _,
            out("ymm8") _, out("ymm9") _, out("ymm10") _, out("ymm11") _,
            out("ymm12") _, out("ymm13") _, out("ymm14") _, out("ymm15") _,
            options(nostack)
        )
    };
}

/// [`copy_wide`] where there is AVX alone.
///
/// # Safety
/// As for [`copy`](super::copy); `len` is at least 160, and the processor has AVX.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) unsafe fn wide_avx(dst: *mut u8, src: *const u8, len: usize) {
    // SAFETY: every access is within `len` bytes of its side: the first loads end 160 bytes from its beginning at most, and others begin
    // where at least 128 bytes are left.
    unsafe { copy_ahead!(dst, src, len, [""]) }
}

/// The same to two destinations at once, which loads everything once. By two copies the second would load from
/// the innermost cache what the first has left there, which is nothing where a line of a source and the line of a destination pass for one: on
/// AMD's Zen 2 a cache finds its lines by a few bits that it makes of their addresses, and these can be the same for a whole block.
///
/// # Safety
/// As for [`copy`](super::copy), to `dst` and to `apart` bytes behind it, which is a multiple of 32; `len` is at least 160, and the processor has
/// AVX.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
pub(super) unsafe fn twice_avx(dst: *mut u8, apart: isize, src: *const u8, len: usize) {
    // SAFETY: as in `wide_avx`, on both destinations, which are aligned alike.
    unsafe { copy_ahead!(dst, src, len, ["" " + {apart}"], apart) }
}

/// Copies of medium blocks with eight registers of 32 bytes, by their numbers, with an instruction that reaches them. `last` comes at the
/// end where registers of more than 16 bytes were written, and `out` are all that are changed.
#[cfg(target_arch = "x86_64")]
macro_rules! copies {
    ($medium:ident, $needs:literal, $unaligned:literal, $last:literal,
     [$a:literal $b:literal $c:literal $d:literal $e:literal $f:literal $g:literal $h:literal],
     [$($out:tt)*]) => {
        /// All loads, then all stores, from both ends, which may overlap in the middle: a call would take longer.
        ///
        /// # Safety
        #[doc = concat!("As for [`copy`](super::copy); `len` is from 17 to 256, and the processor has ", $needs, ".")]
        #[inline(always)]
        pub(super) unsafe fn $medium(dst: *mut u8, src: *const u8, len: usize) {
            // SAFETY: every access is within `len` bytes of its side.
            unsafe {
                std::arch::asm!(
                    "cmp {len}, 32",
                    "jbe 4f",
                    concat!($unaligned, " ymm", $a, ", [{src}]"),
                    concat!($unaligned, " ymm", $b, ", [{src} + {len} - 32]"),
                    "cmp {len}, 64",
                    "jbe 3f",
                    concat!($unaligned, " ymm", $c, ", [{src} + 32]"),
                    concat!($unaligned, " ymm", $d, ", [{src} + {len} - 64]"),
                    "cmp {len}, 128",
                    "jbe 2f",
                    concat!($unaligned, " ymm", $e, ", [{src} + 64]"),
                    concat!($unaligned, " ymm", $f, ", [{src} + 96]"),
                    concat!($unaligned, " ymm", $g, ", [{src} + {len} - 128]"),
                    concat!($unaligned, " ymm", $h, ", [{src} + {len} - 96]"),
                    concat!($unaligned, " [{dst} + 64], ymm", $e),
                    concat!($unaligned, " [{dst} + 96], ymm", $f),
                    concat!($unaligned, " [{dst} + {len} - 128], ymm", $g),
                    concat!($unaligned, " [{dst} + {len} - 96], ymm", $h),
                    "2:",
                    concat!($unaligned, " [{dst} + 32], ymm", $c),
                    concat!($unaligned, " [{dst} + {len} - 64], ymm", $d),
                    "3:",
                    concat!($unaligned, " [{dst}], ymm", $a),
                    concat!($unaligned, " [{dst} + {len} - 32], ymm", $b),
                    $last,
                    "jmp 5f",
                    "4:",
                    concat!($unaligned, " xmm", $a, ", [{src}]"),
                    concat!($unaligned, " xmm", $b, ", [{src} + {len} - 16]"),
                    concat!($unaligned, " [{dst}], xmm", $a),
                    concat!($unaligned, " [{dst} + {len} - 16], xmm", $b),
                    "5:",
                    src = in(reg) src, dst = in(reg) dst, len = in(reg) len,
                    $(out($out) _,)*
                    options(nostack)
                )
            }
        }
    };
}

// Registers above 15 leave nothing to clean up.
#[cfg(target_arch = "x86_64")]
copies! {
    copy_medium, "AVX-512VL", "vmovdqu64", "",
    ["16" "17" "18" "19" "20" "21" "22" "23"],
    ["ymm16" "ymm17" "ymm18" "ymm19" "ymm20" "ymm21" "ymm22" "ymm23"]
}

// Afterwards the upper halves of all of them are empty, as a function's caller expects: the instructions that a compiler
// takes where it does not know of AVX wait for them, on some processors.
#[cfg(target_arch = "x86_64")]
copies! {
    medium_avx, "AVX", "vmovdqu", "vzeroupper",
    ["0" "1" "2" "3" "4" "5" "6" "7"],
    ["ymm0" "ymm1" "ymm2" "ymm3" "ymm4" "ymm5" "ymm6" "ymm7"
     "ymm8" "ymm9" "ymm10" "ymm11" "ymm12" "ymm13" "ymm14" "ymm15"]
}

/// A copy of a block where there is no AVX-512.
///
/// # Safety
/// As for [`copy`](super::copy); `len` is at least 17, and the processor has AVX.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
pub(super) unsafe extern "C" fn copy_avx(dst: *mut u8, src: *const u8, len: usize) {
    // SAFETY: the caller's contract is the contract of both.
    unsafe { if len <= MEDIUM { medium_avx(dst, src, len) } else { wide_avx(dst, src, len) } }
}

/// So many bytes are copied to see how long the way to their lines is, ...
#[cfg(target_arch = "x86_64")]
const PROBE: usize = 4 << 10;
/// ... which is a long one if that takes more of the clock's ticks, of which there are two to four in a nanosecond. Measured with 2.25: 120 to 410 where the
/// lines are this core's own, 230 to 710 where they come from a core with the same last cache, and 1230 to 2460 from any other. Lines that have left
/// all caches can take as long as those.
#[cfg(target_arch = "x86_64")]
const LONG_WAY: u64 = 1000;

/// A copy to lines that others may have: by a loop, or past the caches if it proves to be a long way to them.
///
/// # Safety
/// As for [`copy`](super::copy); `len` is at least twice [`PROBE`], and the processor has AVX.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
pub(super) unsafe fn copy_probed(dst: *mut u8, src: *const u8, len: usize) {
    // It may also have been the way from the source.
    // SAFETY: the caller's contract; what is touched is readable by that of the closure.
    unsafe {
        copy_judged(dst, src, len, |took, src| took > LONG_WAY && ticks(|| touch(src, PROBE)) <= took / 2)
    }
}

/// The same, where `is_long` judges by how many ticks the first [`PROBE`] bytes took. It is also given the source of the next ones, of which there are
/// as many at least. Those of the probe itself are stored in the cache, so that one which takes long for another reason, an interrupt
/// say, does not make the next one do so too.
///
/// # Safety
/// As for [`copy_probed`].
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) unsafe fn copy_judged(
    dst: *mut u8,
    src: *const u8,
    len: usize,
    is_long: impl FnOnce(u64, *const u8) -> bool,
) {
    // SAFETY: every part is within `len` bytes of its side, and has as many bytes as its copy asks for.
    unsafe {
        // All but a few of its stores have to be over for the last ones to begin.
        let took = ticks(|| wide_avx(dst, src, PROBE));
        let (dst, src, len) = (dst.add(PROBE), src.add(PROBE), len - PROBE);
        match is_long(took, src) {
            true => super::copy_uncached(dst, src, len),
            false if len <= WIDE => wide_avx(dst, src, len),
            false => copy_block(dst, src, len),
        }
    }
}

/// How many of the clock's ticks something takes.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn ticks(call: impl FnOnce()) -> u64 {
    use std::arch::x86_64::_rdtsc;
    // SAFETY: it accesses no memory, and every x86-64 processor has it. A process that has forbidden it to itself ends by a signal.
    let began = unsafe { _rdtsc() };
    call();
    // SAFETY: as above.
    unsafe { _rdtsc() }.wrapping_sub(began)
}

/// Loads from each line of a block, and waits until that is over.
///
/// # Safety
/// `src` is readable for `len` bytes, a multiple of [`LINE`] and not 0.
#[cfg(target_arch = "x86_64")]
unsafe fn touch(src: *const u8, len: usize) {
    // SAFETY: every access is within `len` bytes.
    unsafe {
        std::arch::asm!(
            "2:",
            "mov {word:e}, [{src}]",
            "add {src}, 64",
            "sub {len}, 64",
            "jnz 2b",
            "lfence",
            src = inout(reg) src => _, len = inout(reg) len => _, word = out(reg) _,
            options(nostack, readonly)
        );
    }
}

/// Lengths that exceed the second-level cache, where the C library leaves the string instruction on some processors,
/// and not yet the third-level one, where it rightly bypasses the caches.
#[cfg(target_arch = "x86_64")]
pub(super) const STRING: std::ops::RangeInclusive<usize> = 512 << 10..=8 << 20;

/// Whether source and destination are at the same place in their lines, without which the string instruction is not faster.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn is_same_in_line(dst: *mut u8, src: *const u8) -> bool {
    (dst.addr() ^ src.addr()).is_multiple_of(64)
}

/// Whether the destination is less than a line ahead of the source, within pages. There some processors (seen on AMD's Zen 3)
/// take more than thirty times as long for the string instruction, as they mistake what it loads for what it has just stored.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn is_string_slow(dst: *mut u8, src: *const u8) -> bool {
    (1..64).contains(&(dst.addr().wrapping_sub(src.addr()) % 4096))
}

/// A copy by the processor's string instruction, which is about a tenth faster than loops in that range.
///
/// # Safety
/// As for [`copy`](super::copy).
#[cfg(target_arch = "x86_64")]
#[inline(never)]
pub(super) unsafe fn copy_string(dst: *mut u8, src: *const u8, len: usize) {
    // SAFETY: touches what the caller vouches for; the direction flag is clear, as the ABI says.
    unsafe {
        std::arch::asm!(
            "rep movsb",
            inout("rdi") dst => _, inout("rsi") src => _, inout("rcx") len => _,
            options(nostack, preserves_flags)
        );
    }
}

/// The C library's `memcpy`, called from assembly, so that the compiler knows neither that it is a copy
/// nor what it touches. It is the fastest copy there is on the machine, and written in assembly itself.
///
/// # Safety
/// As for [`copy`](super::copy).
#[inline(always)]
pub(super) unsafe fn copy_block(dst: *mut u8, src: *const u8, len: usize) {
    // SAFETY: an ordinary call of a C function: arguments in their registers, everything that a call may
    // clobber named, the stack aligned by the compiler (no `nostack`).
    unsafe {
        #[cfg(target_arch = "x86_64")]
        std::arch::asm!(
            "call {memcpy}",
            memcpy = sym libc::memcpy,
            inout("rdi") dst => _, inout("rsi") src => _, inout("rdx") len => _,
            clobber_abi("C")
        );
        #[cfg(target_arch = "aarch64")]
        std::arch::asm!(
            "bl {memcpy}",
            memcpy = sym libc::memcpy,
            inout("x0") dst => _, inout("x1") src => _, inout("x2") len => _,
            clobber_abi("C")
        );
    }
}

/// Bytes of a cache line.
pub const LINE: usize = 64;

/// Copies whole lines by stores that go past the caches, and waits until they are on their way: such stores are not in
/// order with others by themselves.
///
/// # Safety
/// As for [`copy`](super::copy); `dst` is aligned to lines, and `len` a multiple of one, and not 0.
#[cfg(target_arch = "x86_64")]
pub(super) unsafe fn copy_lines(dst: *mut u8, src: *const u8, len: usize) {
    let paired = if stores_strings_well() { len / PAIRS * PAIRS } else { 0 };
    // SAFETY: the two parts are the whole, and begin with lines of `dst`; such a processor has AVX-512.
    unsafe {
        if paired > 0 {
            copy_line_pairs(dst, src, paired);
        }
        if paired < len {
            copy_single_lines(dst.add(paired), src.add(paired), len - paired);
        }
    }
}

/// [`copy_lines`], one after the other.
///
/// # Safety
/// As for [`copy_lines`].
#[cfg(target_arch = "x86_64")]
unsafe fn copy_single_lines(dst: *mut u8, src: *const u8, len: usize) {
    // SAFETY: every access is within `len` bytes of its side.
    unsafe {
        std::arch::asm!(
            "2:",
            "movdqu {a}, [{src}]",
            "movdqu {b}, [{src} + 16]",
            "movdqu {c}, [{src} + 32]",
            "movdqu {d}, [{src} + 48]",
            "movntdq [{dst}], {a}",
            "movntdq [{dst} + 16], {b}",
            "movntdq [{dst} + 32], {c}",
            "movntdq [{dst} + 48], {d}",
            "add {src}, 64",
            "add {dst}, 64",
            "sub {len}, 64",
            "jnz 2b",
            "sfence",
            src = inout(reg) src => _, dst = inout(reg) dst => _, len = inout(reg) len => _,
            a = out(xmm_reg) _, b = out(xmm_reg) _, c = out(xmm_reg) _, d = out(xmm_reg) _,
            options(nostack)
        )
    }
}

/// What [`copy_line_pairs`] copies at a time.
#[cfg(target_arch = "x86_64")]
const PAIRS: usize = 4 * LINE;

/// [`copy_lines`] from both halves of the whole by turns, with the lines of the next pages fetched, as processors stop at the end of a page
/// with what they fetch by themselves. Between memory and memory, on both cores of a Zen 5 at once, it takes 81 to 87 % of the time of single lines where
/// these are far from each other, and 88 to 94 % where they are near, and share the way to memory.
///
/// # Safety
/// As for [`copy_lines`]; `len` is a multiple of [`PAIRS`], and the processor has AVX-512.
#[cfg(target_arch = "x86_64")]
unsafe fn copy_line_pairs(dst: *mut u8, src: *const u8, len: usize) {
    let half = len / 2;
    // SAFETY: every access is within `len` bytes of its side; a prefetch accesses nothing that could be noticed, wherever.
    unsafe {
        std::arch::asm!(
            "2:",
            "prefetcht0 [{src} + 4096]",
            "prefetcht0 [{src} + 4160]",
            "prefetcht0 [{src} + {half} + 4096]",
            "prefetcht0 [{src} + {half} + 4160]",
            "vmovdqu64 zmm16, [{src}]",
            "vmovdqu64 zmm17, [{src} + 64]",
            "vmovdqu64 zmm18, [{src} + {half}]",
            "vmovdqu64 zmm19, [{src} + {half} + 64]",
            "vmovntdq [{dst}], zmm16",
            "vmovntdq [{dst} + 64], zmm17",
            "vmovntdq [{dst} + {half}], zmm18",
            "vmovntdq [{dst} + {half} + 64], zmm19",
            "add {src}, 128",
            "add {dst}, 128",
            "sub {left}, 128",
            "jnz 2b",
            "sfence",
            src = inout(reg) src => _, dst = inout(reg) dst => _, half = in(reg) half, left = inout(reg) half => _,
            out("zmm16") _, out("zmm17") _, out("zmm18") _, out("zmm19") _,
            options(nostack)
        )
    }
}

/// Copies whole lines. The C library knows best what is faster there.
///
/// # Safety
/// As for [`copy`](super::copy).
#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe fn copy_lines(dst: *mut u8, src: *const u8, len: usize) {
    // SAFETY: the caller's contract.
    unsafe { copy_block(dst, src, len) }
}
