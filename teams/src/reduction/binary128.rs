//! IEEE 754's binary128, through the functions that every C compiler for aarch64 links for it.
//!
//! Rust has no stable type that is passed as theirs are, in a whole vector register, so the calls
//! are in assembly.

use std::arch::{aarch64::uint8x16_t, asm};

use super::LongDouble;
use crate::reduction::{Combine, ReduceOp};

unsafe extern "C" {
    fn __addtf3();
    fn __multf3();
    fn __lttf2();
    fn __unordtf2();
    fn __extenddftf2();
    fn __trunctfdf2();
}

fn vector(value: &LongDouble) -> uint8x16_t {
    // SAFETY: 16 bytes either way, of which any are valid.
    unsafe { std::mem::transmute(value.to_ne_bytes()) }
}

fn value(vector: uint8x16_t) -> LongDouble {
    // SAFETY: as above.
    LongDouble::from_ne_bytes(unsafe { std::mem::transmute::<uint8x16_t, [u8; 16]>(vector) })
}

pub(crate) fn from_f64(double: f64) -> LongDouble {
    let out: uint8x16_t;
    // SAFETY: an ordinary call: a `double` in, a `long double` out, what a call may clobber named.
    unsafe { asm!("bl {f}", f = sym __extenddftf2, in("v0") double, lateout("v0") out, clobber_abi("C")) };
    value(out)
}

pub(crate) fn to_f64(long: &LongDouble) -> f64 {
    let out: f64;
    // SAFETY: as above, the other way round.
    unsafe {
        asm!("bl {f}", f = sym __trunctfdf2, in("v0") vector(long), lateout("v0") out, clobber_abi("C"))
    };
    out
}

macro_rules! binary {
    ($($name:ident: $function:ident;)*) => {$(
        pub(crate) fn $name(a: &LongDouble, b: &LongDouble) -> LongDouble {
            let out: uint8x16_t;
            // SAFETY: as above, with two `long double`s in.
            unsafe {
                asm!(
                    "bl {f}",
                    f = sym $function,
                    inlateout("v0") vector(a) => out, in("v1") vector(b),
                    clobber_abi("C")
                )
            };
            value(out)
        }
    )*};
}

macro_rules! compare {
    ($($name:ident: $function:ident;)*) => {$(
        fn $name(a: &LongDouble, b: &LongDouble) -> i32 {
            let out: i32;
            // SAFETY: as above, with an `int` out.
            unsafe {
                asm!(
                    "bl {f}",
                    f = sym $function,
                    in("v0") vector(a), in("v1") vector(b), lateout("w0") out,
                    clobber_abi("C")
                )
            };
            out
        }
    )*};
}

binary! {
    add: __addtf3;
    mul: __multf3;
}

compare! {
    compare_less: __lttf2;
    unordered: __unordtf2;
}

/// Whether `a < b`, which is false if either is NaN.
pub(crate) fn less(a: &LongDouble, b: &LongDouble) -> bool {
    compare_less(a, b) < 0
}

pub(crate) fn is_nan(a: &LongDouble) -> bool {
    unordered(a, a) != 0
}

macro_rules! loops {
    ($($op:ident: $value:expr;)*) => {
        /// The loop for an operation, if there is one.
        pub(crate) fn kernel(op: ReduceOp) -> Option<Combine> {
            match op {
                $(ReduceOp::$op => Some({
                    unsafe fn each(out: *mut u8, a: *const u8, b: *const u8, n: usize) {
                        for i in 0..n {
                            let operation: fn(LongDouble, LongDouble) -> LongDouble = $value;
                            // SAFETY: the caller vouches for `n` aligned elements of each.
                            unsafe {
                                let (a, b) = (a.cast::<LongDouble>().add(i), b.cast::<LongDouble>().add(i));
                                out.cast::<LongDouble>().add(i).write(operation(a.read(), b.read()))
                            }
                        }
                    }
                    each
                }),)*
                _ => None,
            }
        }
    };
}

loops! {
    Sum: |a, b| a + b;
    Prod: |a, b| a * b;
    Min: |a, b| if less(&a, &b) { a } else { b };
    Max: |a, b| if less(&b, &a) { a } else { b };
}
