//! The ways to copy a block: through registers, in a loop, by the processor's string instruction,
//! or by the C library.

use super::words::*;

/// Up to this length a copy is a few general registers.
pub(super) const SMALL: usize = 16;

/// Up to this length a copy needs no loop and calls nothing.
///
/// ```
/// assert!(oxshmem_memory::copy::INLINE >= 16);
/// ```
#[cfg(target_arch = "x86_64")]
pub const INLINE: usize = 256;
/// Up to this length a copy needs no loop and calls nothing.
#[cfg(not(target_arch = "x86_64"))]
pub const INLINE: usize = SMALL;

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

/// Up to 16 bytes, any alignment, on any processor: by the largest words to which both sides and
/// the length are aligned. So an element of up to 8 bytes that is aligned on both sides is copied
/// in one piece, as a thread that waits for it must not see a part of it.
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

/// From 17 to 256 bytes, any alignment: all loads, then all stores, from both ends, which may
/// overlap in the middle. Every x86-64 processor has these registers.
///
/// # Safety
/// As for [`copy`](super::copy); `len` is from 17 to 256.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) unsafe fn copy_medium(dst: *mut u8, src: *const u8, len: usize) {
    // SAFETY: every access is within `len` bytes of its side.
    unsafe {
        std::arch::asm!(
            "movdqu xmm0, [{src}]",
            "movdqu xmm1, [{src} + {len} - 16]",
            "cmp {len}, 32",
            "jbe 4f",
            "movdqu xmm2, [{src} + 16]",
            "movdqu xmm3, [{src} + {len} - 32]",
            "cmp {len}, 64",
            "jbe 3f",
            "movdqu xmm4, [{src} + 32]",
            "movdqu xmm5, [{src} + 48]",
            "movdqu xmm6, [{src} + {len} - 64]",
            "movdqu xmm7, [{src} + {len} - 48]",
            "cmp {len}, 128",
            "jbe 2f",
            "movdqu xmm8, [{src} + 64]",
            "movdqu xmm9, [{src} + 80]",
            "movdqu xmm10, [{src} + 96]",
            "movdqu xmm11, [{src} + 112]",
            "movdqu xmm12, [{src} + {len} - 128]",
            "movdqu xmm13, [{src} + {len} - 112]",
            "movdqu xmm14, [{src} + {len} - 96]",
            "movdqu xmm15, [{src} + {len} - 80]",
            "movdqu [{dst} + 64], xmm8",
            "movdqu [{dst} + 80], xmm9",
            "movdqu [{dst} + 96], xmm10",
            "movdqu [{dst} + 112], xmm11",
            "movdqu [{dst} + {len} - 128], xmm12",
            "movdqu [{dst} + {len} - 112], xmm13",
            "movdqu [{dst} + {len} - 96], xmm14",
            "movdqu [{dst} + {len} - 80], xmm15",
            "2:",
            "movdqu [{dst} + 32], xmm4",
            "movdqu [{dst} + 48], xmm5",
            "movdqu [{dst} + {len} - 64], xmm6",
            "movdqu [{dst} + {len} - 48], xmm7",
            "3:",
            "movdqu [{dst} + 16], xmm2",
            "movdqu [{dst} + {len} - 32], xmm3",
            "4:",
            "movdqu [{dst}], xmm0",
            "movdqu [{dst} + {len} - 16], xmm1",
            src = in(reg) src, dst = in(reg) dst, len = in(reg) len,
            out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
            out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
            out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
            out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
            options(nostack)
        )
    }
}

/// 128 bytes at a time, to aligned addresses, as a store to two lines costs as much as two. The
/// first 32 bytes and the last 128 are copied apart, and may overlap the others.
///
/// # Safety
/// As for [`copy`](super::copy); `len` is at least 160, and the processor has AVX.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) unsafe fn copy_loop(dst: *mut u8, src: *const u8, len: usize) {
    // SAFETY: every access is within `len` bytes of its side: the first loads end 160 bytes from
    // its beginning at most, and others begin where at least 128 bytes are left.
    unsafe {
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
            // Loads are a round ahead of the stores: on some processors a load waits for a store
            // before it that has the same place in its page.
            "vmovdqu ymm0, [{src} + {dst}]",
            "vmovdqu ymm1, [{src} + {dst} + 32]",
            "vmovdqu ymm2, [{src} + {dst} + 64]",
            "vmovdqu ymm3, [{src} + {dst} + 96]",
            "vmovdqu [{last}], ymm8",
            "lea {last}, [{end} - 256]",
            "cmp {dst}, {last}",
            "jae 3f",
            "2:",
            "vmovdqa [{dst}], ymm0",
            "vmovdqu ymm0, [{src} + {dst} + 128]",
            "vmovdqa [{dst} + 32], ymm1",
            "vmovdqu ymm1, [{src} + {dst} + 160]",
            "vmovdqa [{dst} + 64], ymm2",
            "vmovdqu ymm2, [{src} + {dst} + 192]",
            "vmovdqa [{dst} + 96], ymm3",
            "vmovdqu ymm3, [{src} + {dst} + 224]",
            "sub {dst}, -128",
            "cmp {dst}, {last}",
            "jb 2b",
            "3:",
            "vmovdqa [{dst}], ymm0",
            "vmovdqa [{dst} + 32], ymm1",
            "vmovdqa [{dst} + 64], ymm2",
            "vmovdqa [{dst} + 96], ymm3",
            "vmovdqu [{end} - 128], ymm4",
            "vmovdqu [{end} - 96], ymm5",
            "vmovdqu [{end} - 64], ymm6",
            "vmovdqu [{end} - 32], ymm7",
            // The upper halves are empty where a function returns, as the ABI says.
            "vzeroupper",
            src = inout(reg) src => _, dst = inout(reg) dst => _, end = inout(reg) len => _, last = out(reg) _,
            out("ymm0") _, out("ymm1") _, out("ymm2") _, out("ymm3") _,
            out("ymm4") _, out("ymm5") _, out("ymm6") _, out("ymm7") _,
            out("ymm8") _, out("ymm9") _, out("ymm10") _, out("ymm11") _,
            out("ymm12") _, out("ymm13") _, out("ymm14") _, out("ymm15") _,
            options(nostack)
        )
    }
}

/// Whether the destination is less than a line ahead of the source, within pages. There some
/// processors (seen on AMD's Zen 3) take more than thirty times as long for the string instruction,
/// as they mistake what it loads for what it has just stored.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn is_slow_for_string(dst: *mut u8, src: *const u8) -> bool {
    (1..64).contains(&(dst.addr().wrapping_sub(src.addr()) % 4096))
}

/// Any length, by the processor's string instruction.
///
/// # Safety
/// As for [`copy`](super::copy).
#[cfg(target_arch = "x86_64")]
#[inline(always)]
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

/// Any length, by the C library's `memcpy`. It is called from assembly, so that the compiler knows
/// neither that it is a copy nor what it touches, and is written in assembly itself.
///
/// # Safety
/// As for [`copy`](super::copy).
#[inline(always)]
pub(super) unsafe fn copy_by_library(dst: *mut u8, src: *const u8, len: usize) {
    // SAFETY: an ordinary call of a C function: arguments in their registers, everything that a
    // call may clobber named, the stack aligned by the compiler (no `nostack`).
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
