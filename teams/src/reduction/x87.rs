//! The x87's 80-bit format: a 64-bit significand whose leading bit is explicit, then sign and
//! exponent, then 6 bytes of padding.
//!
//! Every block of assembly finds the register stack empty and leaves it empty, which is what naming
//! all eight registers as clobbered means.

use std::arch::asm;

use super::LongDouble;
use crate::reduction::{Combine, ReduceOp};

/// Runs x87 instructions; `$memory` are the pointers that they use.
macro_rules! x87 {
    ($($line:expr),*; $($memory:tt)*) => {
        asm!(
            $($line,)*
            $($memory)*,
            out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
            out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
            options(nostack)
        )
    };
}

pub(crate) fn from_f64(value: f64) -> LongDouble {
    let mut out = LongDouble::default();
    // SAFETY: reads 8 bytes of `value`, writes 10 of `out`.
    unsafe {
        x87!("fld qword ptr [{a}]", "fstp tbyte ptr [{out}]";
            a = in(reg) &raw const value, out = in(reg) &raw mut out)
    };
    out
}

pub(crate) fn to_f64(value: &LongDouble) -> f64 {
    let mut out = 0.0f64;
    // SAFETY: reads 10 bytes of `value`, writes 8 of `out`.
    unsafe {
        x87!("fld tbyte ptr [{a}]", "fstp qword ptr [{out}]";
            a = in(reg) value, out = in(reg) &raw mut out)
    };
    out
}

macro_rules! binary {
    ($($name:ident: $($line:literal),*;)*) => {$(
        #[inline]
        pub(crate) fn $name(a: &LongDouble, b: &LongDouble) -> LongDouble {
            let mut out = LongDouble::default();
            // SAFETY: reads 10 bytes of both operands, writes 10 of `out`.
            unsafe {
                x87!("fld tbyte ptr [{a}]", "fld tbyte ptr [{b}]", $($line,)* "fstp tbyte ptr [{out}]";
                    a = in(reg) a, b = in(reg) b, out = in(reg) &raw mut out)
            };
            out
        }
    )*};
}

binary! {
    add: "faddp st(1), st";
    mul: "fmulp st(1), st";
}

/// Whether `a < b`, which is false if either is NaN.
#[inline]
pub(crate) fn less(a: &LongDouble, b: &LongDouble) -> bool {
    let above: u8;
    // SAFETY: reads 10 bytes of both operands. `b` is on top: "above" excludes unordered.
    unsafe {
        x87!("fld tbyte ptr [{a}]", "fld tbyte ptr [{b}]", "fucomip st, st(1)", "seta {above}", "fstp st(0)";
            a = in(reg) a, b = in(reg) b, above = lateout(reg_byte) above)
    };
    above != 0
}

#[inline]
pub(crate) fn is_nan(a: &LongDouble) -> bool {
    let unordered: u8;
    // SAFETY: reads 10 bytes.
    unsafe {
        x87!("fld tbyte ptr [{a}]", "fucomi st, st(0)", "setp {unordered}", "fstp st(0)";
            a = in(reg) a, unordered = lateout(reg_byte) unordered)
    };
    unordered != 0
}

macro_rules! loops {
    ($($op:ident: $first:literal, $second:literal, $($line:literal),*;)*) => {
        /// The loop for an operation, if there is one.
        pub(crate) fn kernel(op: ReduceOp) -> Option<Combine> {
            match op {
                $(ReduceOp::$op => Some({
                    unsafe fn each(out: *mut u8, a: *const u8, b: *const u8, n: usize) {
                        if n == 0 {
                            return;
                        }
                        // SAFETY: element by element to `n`; the padding becomes zero.
                        unsafe {
                            x87!(
                                "2:",
                                concat!("fld tbyte ptr [{", $first, "} + {at}]"),
                                concat!("fld tbyte ptr [{", $second, "} + {at}]"),
                                $($line,)*
                                "fstp tbyte ptr [{out} + {at}]",
                                "mov word ptr [{out} + {at} + 10], 0",
                                "mov dword ptr [{out} + {at} + 12], 0",
                                "add {at}, 16",
                                "cmp {at}, {end}",
                                "jb 2b";
                                a = in(reg) a, b = in(reg) b, out = in(reg) out,
                                at = inout(reg) 0usize => _, end = in(reg) n * 16
                            )
                        }
                    }
                    each
                }),)*
                _ => None,
            }
        }
    };
}

// The conditional moves take "below" from an unordered comparison too.
loops! {
    Sum: "a", "b", "faddp st(1), st";
    Prod: "a", "b", "fmulp st(1), st";
    Min: "a", "b", "fucomi st, st(1)", "fcmovnbe st, st(1)", "fstp st(1)";
    Max: "b", "a", "fucomi st, st(1)", "fcmovbe st, st(1)", "fstp st(1)";
}
