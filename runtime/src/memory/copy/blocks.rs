//! How blocks are copied: by registers, by the processor's string instruction, by the C library, or past the caches.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

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
            1 => AtomicU8::from_ptr(dst).store(AtomicU8::from_ptr(src.cast_mut()).load(Relaxed), Relaxed),
            _ => {}
        }
    }
}

/// Up to 16 bytes, any alignment, byte by byte.
///
/// # Safety
/// As for [`copy`](super::copy).
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub(super) unsafe fn copy_small(dst: *mut u8, src: *const u8, len: usize) {
    for i in 0..len {
        // SAFETY: `i` is inside both sides, and a byte is always aligned.
        unsafe {
            AtomicU8::from_ptr(dst.add(i))
                .store(AtomicU8::from_ptr(src.cast_mut().add(i)).load(Relaxed), Relaxed)
        }
    }
}

/// Up to this length no loop is needed.
#[cfg(target_arch = "x86_64")]
pub(super) const MEDIUM: usize = 256;

/// All loads, then all stores, from both ends, which may overlap in the middle: a call would take longer.
///
/// # Safety
/// As for [`copy`](super::copy); `len` is from 17 to 256, and the processor has AVX-512VL.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) unsafe fn copy_medium(dst: *mut u8, src: *const u8, len: usize) {
    // SAFETY: every access is within `len` bytes of its side. Registers above 15 leave nothing to clean up.
    unsafe {
        std::arch::asm!(
            "cmp {len}, 32",
            "jbe 4f",
            "vmovdqu64 ymm16, [{src}]",
            "vmovdqu64 ymm17, [{src} + {len} - 32]",
            "cmp {len}, 64",
            "jbe 3f",
            "vmovdqu64 ymm18, [{src} + 32]",
            "vmovdqu64 ymm19, [{src} + {len} - 64]",
            "cmp {len}, 128",
            "jbe 2f",
            "vmovdqu64 ymm20, [{src} + 64]",
            "vmovdqu64 ymm21, [{src} + 96]",
            "vmovdqu64 ymm22, [{src} + {len} - 128]",
            "vmovdqu64 ymm23, [{src} + {len} - 96]",
            "vmovdqu64 [{dst} + 64], ymm20",
            "vmovdqu64 [{dst} + 96], ymm21",
            "vmovdqu64 [{dst} + {len} - 128], ymm22",
            "vmovdqu64 [{dst} + {len} - 96], ymm23",
            "2:",
            "vmovdqu64 [{dst} + 32], ymm18",
            "vmovdqu64 [{dst} + {len} - 64], ymm19",
            "3:",
            "vmovdqu64 [{dst}], ymm16",
            "vmovdqu64 [{dst} + {len} - 32], ymm17",
            "jmp 5f",
            "4:",
            "vmovdqu64 xmm16, [{src}]",
            "vmovdqu64 xmm17, [{src} + {len} - 16]",
            "vmovdqu64 [{dst}], xmm16",
            "vmovdqu64 [{dst} + {len} - 16], xmm17",
            "5:",
            src = in(reg) src, dst = in(reg) dst, len = in(reg) len,
            out("ymm16") _, out("ymm17") _, out("ymm18") _, out("ymm19") _,
            out("ymm20") _, out("ymm21") _, out("ymm22") _, out("ymm23") _,
            options(nostack)
        )
    }
}

/// Up to this length a plain loop over wide registers is no slower than the C library, which leaves most of these lengths to
/// the processor's `rep movsb`: that takes a while to start, and on some processors twice as long where source and
/// destination differ in where a line begins.
#[cfg(target_arch = "x86_64")]
pub(super) const WIDE: usize = 256 << 10;

/// 128 bytes at a time, to aligned addresses, as a store to two lines costs as much as two. The first 32 bytes and the last
/// 128 are copied apart, and may overlap the others. Registers of 32 bytes, since processors that store 64 at once store
/// two of them.
///
/// # Safety
/// As for [`copy`](super::copy); `len` is at least 224, and the processor has AVX-512VL.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) unsafe fn copy_wide(dst: *mut u8, src: *const u8, len: usize) {
    // SAFETY: every access is within `len` bytes of its side. Registers above 15 leave nothing to clean up.
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

/// Lengths that exceed the second-level cache, where the C library leaves the string instruction on some processors,
/// and not yet the third-level one, where it rightly bypasses the caches.
#[cfg(target_arch = "x86_64")]
pub(super) const STRING: std::ops::RangeInclusive<usize> = 512 << 10..=8 << 20;

/// Whether source and destination are at the same place in their lines, without which the string instruction is slow.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn is_same_in_line(dst: *mut u8, src: *const u8) -> bool {
    (dst.addr() ^ src.addr()).is_multiple_of(64)
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

/// Bytes of a cache line, or a multiple of that.
pub(super) const LINE: usize = 64;

/// Copies whole lines by stores that go past the caches, and waits until they are on their way: such stores are not in
/// order with others by themselves.
///
/// # Safety
/// As for [`copy`](super::copy); `dst` is aligned to lines, and `len` a multiple of one, and not 0.
#[cfg(target_arch = "x86_64")]
pub(super) unsafe fn copy_lines(dst: *mut u8, src: *const u8, len: usize) {
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

/// Copies whole lines. The C library knows best what is faster there.
///
/// # Safety
/// As for [`copy`](super::copy).
#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe fn copy_lines(dst: *mut u8, src: *const u8, len: usize) {
    // SAFETY: the caller's contract.
    unsafe { copy_block(dst, src, len) }
}
