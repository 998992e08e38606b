//! Kernels that read and write symmetric memory directly, while other PEs may access it.
//!
//! A loop in Rust over such memory would be a data race. These are loops in assembly, in which the
//! compiler sees neither loads nor stores, so that a race only makes elements stale or torn, as
//! [`copy`] does. They exist where one vector instruction is the whole operation, and save the way
//! through private memory: they are faster by a third in the second-level cache, and several times
//! as fast from main memory.

use std::{arch::asm, ops::Range};

use oxshmem_memory::copy;

use super::{
    ElementType, ReduceOp,
    kernels::{Level, tail},
    types::Fused,
};

/// The fused kernel at a level that this processor has, if there is one.
pub(super) fn at(level: Level, element: ElementType, op: ReduceOp) -> Option<Fused> {
    match level {
        Level::Baseline => None,
        Level::Avx2 => avx2(element, op),
    }
}

/// 128 bytes at a time, then 32; fewer go through private memory.
macro_rules! loop_avx2 {
    ($instruction:literal, $element:expr, $op:expr, $out:ident, $a:ident, $b:ident, $n:ident) => {{
        let len = $n * $element.size();
        let whole = len & !31;
        if whole > 0 {
            asm!(
                "sub {len}, 128",
                "jb 3f",
                "2:",
                "vmovdqu ymm0, [{a} + {at}]",
                "vmovdqu ymm1, [{a} + {at} + 32]",
                "vmovdqu ymm2, [{a} + {at} + 64]",
                "vmovdqu ymm3, [{a} + {at} + 96]",
                concat!($instruction, " ymm0, ymm0, [{b} + {at}]"),
                concat!($instruction, " ymm1, ymm1, [{b} + {at} + 32]"),
                concat!($instruction, " ymm2, ymm2, [{b} + {at} + 64]"),
                concat!($instruction, " ymm3, ymm3, [{b} + {at} + 96]"),
                "vmovdqu [{out} + {at}], ymm0",
                "vmovdqu [{out} + {at} + 32], ymm1",
                "vmovdqu [{out} + {at} + 64], ymm2",
                "vmovdqu [{out} + {at} + 96], ymm3",
                "add {at}, 128",
                "sub {len}, 128",
                "jae 2b",
                "3:",
                "add {len}, 128",
                "jz 5f",
                "4:",
                "vmovdqu ymm0, [{a} + {at}]",
                concat!($instruction, " ymm0, ymm0, [{b} + {at}]"),
                "vmovdqu [{out} + {at}], ymm0",
                "add {at}, 32",
                "sub {len}, 32",
                "jnz 4b",
                "5:",
                "vzeroupper",
                out = in(reg) $out, a = in(reg) $a, b = in(reg) $b,
                at = inout(reg) 0usize => _, len = inout(reg) whole => _,
                out("ymm0") _, out("ymm1") _, out("ymm2") _, out("ymm3") _,
                out("ymm4") _, out("ymm5") _, out("ymm6") _, out("ymm7") _,
                out("ymm8") _, out("ymm9") _, out("ymm10") _, out("ymm11") _,
                out("ymm12") _, out("ymm13") _, out("ymm14") _, out("ymm15") _,
                options(nostack)
            );
        }
        if whole < len {
            rest($element, $op, $out, &[$a, $b], whole..len)
        }
    }};
}

/// 256 bytes of all sources at a time, then 32; fewer go through private memory.
macro_rules! fold_avx2 {
    ($instruction:literal, $element:expr, $op:expr, $out:ident, $sources:ident, $count:ident, $n:ident) => {{
        let len = $n * $element.size();
        let whole = len & !31;
        if whole > 0 {
            asm!(
                "sub {len}, 256",
                "jb 4f",
                "2:",
                "mov {source}, [{sources}]",
                "vmovdqu ymm0, [{source} + {at}]",
                "vmovdqu ymm1, [{source} + {at} + 32]",
                "vmovdqu ymm2, [{source} + {at} + 64]",
                "vmovdqu ymm3, [{source} + {at} + 96]",
                "vmovdqu ymm4, [{source} + {at} + 128]",
                "vmovdqu ymm5, [{source} + {at} + 160]",
                "vmovdqu ymm6, [{source} + {at} + 192]",
                "vmovdqu ymm7, [{source} + {at} + 224]",
                "mov {next}, 1",
                "3:",
                "mov {source}, [{sources} + 8 * {next}]",
                concat!($instruction, " ymm0, ymm0, [{source} + {at}]"),
                concat!($instruction, " ymm1, ymm1, [{source} + {at} + 32]"),
                concat!($instruction, " ymm2, ymm2, [{source} + {at} + 64]"),
                concat!($instruction, " ymm3, ymm3, [{source} + {at} + 96]"),
                concat!($instruction, " ymm4, ymm4, [{source} + {at} + 128]"),
                concat!($instruction, " ymm5, ymm5, [{source} + {at} + 160]"),
                concat!($instruction, " ymm6, ymm6, [{source} + {at} + 192]"),
                concat!($instruction, " ymm7, ymm7, [{source} + {at} + 224]"),
                "inc {next}",
                "cmp {next}, {count}",
                "jb 3b",
                "vmovdqu [{out} + {at}], ymm0",
                "vmovdqu [{out} + {at} + 32], ymm1",
                "vmovdqu [{out} + {at} + 64], ymm2",
                "vmovdqu [{out} + {at} + 96], ymm3",
                "vmovdqu [{out} + {at} + 128], ymm4",
                "vmovdqu [{out} + {at} + 160], ymm5",
                "vmovdqu [{out} + {at} + 192], ymm6",
                "vmovdqu [{out} + {at} + 224], ymm7",
                "add {at}, 256",
                "sub {len}, 256",
                "jae 2b",
                "4:",
                "add {len}, 256",
                "jz 7f",
                "5:",
                "mov {source}, [{sources}]",
                "vmovdqu ymm0, [{source} + {at}]",
                "mov {next}, 1",
                "6:",
                "mov {source}, [{sources} + 8 * {next}]",
                concat!($instruction, " ymm0, ymm0, [{source} + {at}]"),
                "inc {next}",
                "cmp {next}, {count}",
                "jb 6b",
                "vmovdqu [{out} + {at}], ymm0",
                "add {at}, 32",
                "sub {len}, 32",
                "jnz 5b",
                "7:",
                "vzeroupper",
                out = in(reg) $out, sources = in(reg) $sources, count = in(reg) $count,
                at = inout(reg) 0usize => _, len = inout(reg) whole => _,
                source = out(reg) _, next = out(reg) _,
                out("ymm0") _, out("ymm1") _, out("ymm2") _, out("ymm3") _,
                out("ymm4") _, out("ymm5") _, out("ymm6") _, out("ymm7") _,
                out("ymm8") _, out("ymm9") _, out("ymm10") _, out("ymm11") _,
                out("ymm12") _, out("ymm13") _, out("ymm14") _, out("ymm15") _,
                options(nostack)
            );
        }
        if whole < len {
            rest($element, $op, $out, std::slice::from_raw_parts($sources, $count), whole..len)
        }
    }};
}

/// The last bytes: whole elements, fewer than 32 bytes.
///
/// # Safety
/// As for `Kernel::fold`.
#[inline(never)]
unsafe fn rest(element: ElementType, op: ReduceOp, out: *mut u8, sources: &[*const u8], part: Range<usize>) {
    #[repr(align(16))]
    struct Private([u8; 32]);
    let (mut acc, mut x) = (Private([0; 32]), Private([0; 32]));
    // One address of each: another borrow of `acc` would end what the first may be used for.
    let (acc, x) = (acc.0.as_mut_ptr(), x.0.as_mut_ptr());
    let (into, start, len) = (tail(element, op), part.start, part.len());
    // SAFETY: `len` bytes of each, which fit into the private ones.
    unsafe {
        copy::copy(acc, sources[0].add(start), len);
        for source in &sources[1..] {
            copy::copy(x, source.add(start), len);
            into(acc, acc, x, len / element.size());
        }
        copy::copy(out.add(start), acc, len);
    }
}

// `vminpd` and its like are C's `a < b ? a : b`: the second operand if either is NaN, or both are
// zero.
/// A row is an operation, the types of one size that share an instruction for it, and the
/// instruction.
macro_rules! table {
    ($($op:ident: $($element:ident)|* => $instruction:literal;)*) => {
        fn avx2(element: ElementType, op: ReduceOp) -> Option<Fused> {
            use ElementType::*;
            match (element, op) {
                $(($($element)|*, ReduceOp::$op) => Some({
                    const ELEMENT: ElementType = [$($element),*][0];
                    unsafe fn two(out: *mut u8, a: *const u8, b: *const u8, n: usize) {
                        // SAFETY: the caller's contract, that of `Kernel::fused`, is the loop's.
                        unsafe { loop_avx2!($instruction, ELEMENT, ReduceOp::$op, out, a, b, n) }
                    }
                    unsafe fn many(out: *mut u8, sources: *const *const u8, count: usize, n: usize) {
                        // SAFETY: the caller's contract, that of `Kernel::fold`, is the loop's.
                        unsafe { fold_avx2!($instruction, ELEMENT, ReduceOp::$op, out, sources, count, n) }
                    }
                    Fused { two, many }
                }),)*
                _ => None,
            }
        }
    };
}

table! {
    And: I8 | U8 => "vpand";
    And: I16 | U16 => "vpand";
    And: I32 | U32 => "vpand";
    And: I64 | U64 => "vpand";
    Or: I8 | U8 => "vpor";
    Or: I16 | U16 => "vpor";
    Or: I32 | U32 => "vpor";
    Or: I64 | U64 => "vpor";
    Xor: I8 | U8 => "vpxor";
    Xor: I16 | U16 => "vpxor";
    Xor: I32 | U32 => "vpxor";
    Xor: I64 | U64 => "vpxor";
    Sum: I8 | U8 => "vpaddb";
    Sum: I16 | U16 => "vpaddw";
    Sum: I32 | U32 => "vpaddd";
    Sum: I64 | U64 => "vpaddq";
    Prod: I16 | U16 => "vpmullw";
    Prod: I32 | U32 => "vpmulld";
    Min: I8 => "vpminsb";
    Min: U8 => "vpminub";
    Min: I16 => "vpminsw";
    Min: U16 => "vpminuw";
    Min: I32 => "vpminsd";
    Min: U32 => "vpminud";
    Max: I8 => "vpmaxsb";
    Max: U8 => "vpmaxub";
    Max: I16 => "vpmaxsw";
    Max: U16 => "vpmaxuw";
    Max: I32 => "vpmaxsd";
    Max: U32 => "vpmaxud";
    Sum: F32 => "vaddps";
    Prod: F32 => "vmulps";
    Min: F32 => "vminps";
    Max: F32 => "vmaxps";
    Sum: F64 => "vaddpd";
    Prod: F64 => "vmulpd";
    Min: F64 => "vminpd";
    Max: F64 => "vmaxpd";
    Sum: ComplexF32 => "vaddps";
    Sum: ComplexF64 => "vaddpd";
}
