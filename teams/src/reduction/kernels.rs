//! The loops behind [`Kernel`](super::Kernel): one body for every type and operation, compiled for
//! each width of vector.

use num_complex::Complex;
use oxshmem_spaces::device::complex_product;

use super::{ElementType, ReduceOp, long_double, types::Combine};

/// An operation on two elements.
///
/// `apply` has no branches, so that it becomes vector instructions. Where that makes it wrong,
/// `suspect` says of a block of results that some may be, and `carefully` is right.
trait Apply<T: Copy> {
    fn apply(a: T, b: T) -> T;

    #[inline(always)]
    fn suspect<const L: usize>(_: &[T; L]) -> bool {
        false
    }

    #[inline(always)]
    fn carefully(a: T, b: T) -> T {
        Self::apply(a, b)
    }
}

struct And;
struct Or;
struct Xor;
struct Min;
struct Max;
struct Sum;
struct Prod;

macro_rules! apply {
    ($($op:ident on $($name:ty)*: |$a:ident, $b:ident| $value:expr;)*) => {$($(
        impl Apply<$name> for $op {
            #[inline(always)]
            fn apply($a: $name, $b: $name) -> $name {
                $value
            }
        }
    )*)*};
}

apply! {
    And on u8 u16 u32 u64: |a, b| a & b;
    Or on u8 u16 u32 u64: |a, b| a | b;
    Xor on u8 u16 u32 u64: |a, b| a ^ b;
    Sum on u8 u16 u32 u64: |a, b| a.wrapping_add(b);
    Prod on u8 u16 u32 u64: |a, b| a.wrapping_mul(b);
    Min on i8 i16 i32 i64 u8 u16 u32 u64 f32 f64: |a, b| if a < b { a } else { b };
    Max on i8 i16 i32 i64 u8 u16 u32 u64 f32 f64: |a, b| if a > b { a } else { b };
    Sum on f32 f64 Complex<f32> Complex<f64>: |a, b| a + b;
    Prod on f32 f64: |a, b| a * b;
}

/// C's complex product (annex G): infinite, not NaN, if a factor is infinite.
macro_rules! complex_product {
    ($($float:ident)*) => {$(
        impl Apply<Complex<$float>> for Prod {
            #[inline(always)]
            fn apply(a: Complex<$float>, b: Complex<$float>) -> Complex<$float> {
                a * b
            }

            /// Whether a part of one is infinite or NaN: its exponent is all ones, and carries into
            /// the sign.
            #[inline(always)]
            fn suspect<const L: usize>(products: &[Complex<$float>; L]) -> bool {
                let exponent = $float::INFINITY.to_bits();
                let carry = |x: $float| (x.to_bits() & exponent).wrapping_add(exponent & exponent.wrapping_neg());
                let mut carries = 0;
                for product in products {
                    carries |= carry(product.re) | carry(product.im);
                }
                carries.leading_zeros() == 0
            }

            fn carefully(a: Complex<$float>, b: Complex<$float>) -> Complex<$float> {
                let [re, im] = complex_product::$float([a.re, a.im], [b.re, b.im]);
                Complex::new(re, im)
            }
        }
    )*};
}

complex_product! { f32 f64 }

/// How wide the vectors are that this processor can work on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// What every processor of its kind has.
    Baseline,
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

impl Level {
    /// The widest here.
    #[inline]
    pub(super) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            if has!("avx2") {
                return Self::Avx2;
            }
        }
        Self::Baseline
    }
}

/// The loop at a level that this processor has.
pub(super) fn combine(level: Level, element: ElementType, op: ReduceOp) -> Option<Combine> {
    macro_rules! table {
        ($($element:ident => $($op:ident on $name:ty),*;)*) => {
            match (element, op) {
                (ElementType::LongDouble, _) => long_double::kernel(op),
                $($((ElementType::$element, ReduceOp::$op) => Some(pick::<$name, $op>(level)),)*)*
                _ => None,
            }
        };
    }
    // Signed and unsigned integers share what is the same to both.
    table! {
        I8 => And on u8, Or on u8, Xor on u8, Sum on u8, Prod on u8, Min on i8, Max on i8;
        I16 => And on u16, Or on u16, Xor on u16, Sum on u16, Prod on u16, Min on i16, Max on i16;
        I32 => And on u32, Or on u32, Xor on u32, Sum on u32, Prod on u32, Min on i32, Max on i32;
        I64 => And on u64, Or on u64, Xor on u64, Sum on u64, Prod on u64, Min on i64, Max on i64;
        U8 => And on u8, Or on u8, Xor on u8, Sum on u8, Prod on u8, Min on u8, Max on u8;
        U16 => And on u16, Or on u16, Xor on u16, Sum on u16, Prod on u16, Min on u16, Max on u16;
        U32 => And on u32, Or on u32, Xor on u32, Sum on u32, Prod on u32, Min on u32, Max on u32;
        U64 => And on u64, Or on u64, Xor on u64, Sum on u64, Prod on u64, Min on u64, Max on u64;
        F32 => Sum on f32, Prod on f32, Min on f32, Max on f32;
        F64 => Sum on f64, Prod on f64, Min on f64, Max on f64;
        ComplexF32 => Sum on Complex<f32>, Prod on Complex<f32>;
        ComplexF64 => Sum on Complex<f64>, Prod on Complex<f64>;
    }
}

/// What does the few elements that are left where a vector does not fit.
#[cfg(target_arch = "x86_64")]
pub(super) fn tail(element: ElementType, op: ReduceOp) -> Combine {
    combine(Level::Baseline, element, op).expect("there is a kernel, this is its tail")
}

#[inline(always)]
fn pick<T: Copy, O: Apply<T>>(level: Level) -> Combine {
    match level {
        Level::Baseline => baseline::<T, O>,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => avx2::<T, O>,
    }
}

unsafe fn baseline<T: Copy, O: Apply<T>>(out: *mut u8, a: *const u8, b: *const u8, n: usize) {
    // SAFETY: the caller's contract, that of `Kernel::combine_into`, is the body's.
    unsafe { body::<T, O>(out, a, b, n) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn avx2<T: Copy, O: Apply<T>>(out: *mut u8, a: *const u8, b: *const u8, n: usize) {
    // SAFETY: as above.
    unsafe { body::<T, O>(out, a, b, n) }
}

/// Inlined into functions of each level, so that it is compiled for each.
#[inline(always)]
unsafe fn body<T: Copy, O: Apply<T>>(out: *mut u8, a: *const u8, b: *const u8, n: usize) {
    let (out, a, b) = (out.cast::<T>(), a.cast::<T>(), b.cast::<T>());
    macro_rules! steps {
        ($($l:literal)*) => {{
            let mut done = 0;
            // SAFETY: the caller vouches for `n` aligned elements of each; no step reaches beyond
            // them.
            $(done = unsafe { blocks::<T, O, $l>(out, a, b, n, done) };)*
            debug_assert_eq!(done, n);
        }};
    }
    // Blocks of up to 256 bytes, then of 64 and 16, then one element: no more than 64, which are
    // code each.
    match size_of::<T>() {
        1 => steps!(64 16 1),
        2 => steps!(64 8 1),
        4 => steps!(64 16 4 1),
        8 => steps!(32 8 2 1),
        _ => steps!(16 4 1),
    }
}

/// Whole blocks of `L` elements from element `start` on; returns where they end.
///
/// A block is read as a whole before it is written, so that it becomes vectors whether or not `out`
/// is `a`: the compiler need not prove that they are apart.
#[inline(always)]
unsafe fn blocks<T: Copy, O: Apply<T>, const L: usize>(
    out: *mut T,
    a: *const T,
    b: *const T,
    n: usize,
    start: usize,
) -> usize {
    let mut at = start;
    while n - at >= L {
        // SAFETY: `L` elements from `at` on are below `n`, and an array is aligned as its elements.
        let (x, y) = unsafe { (a.add(at).cast::<[T; L]>().read(), b.add(at).cast::<[T; L]>().read()) };
        let mut z = x;
        for i in 0..L {
            z[i] = O::apply(x[i], y[i]);
        }
        // SAFETY: as above.
        unsafe {
            if O::suspect(&z) {
                slowly::<T, O>(out.add(at), a.add(at), b.add(at), L);
            } else {
                out.add(at).cast::<[T; L]>().write(z);
            }
        }
        at += L;
        // Otherwise the compiler makes vectors *across* blocks, with gathers, at a tenth of the
        // speed.
        #[cfg(not(miri))]
        // SAFETY: does nothing.
        unsafe {
            std::arch::asm!("/* {at} */", at = inout(reg) at, options(pure, nomem, nostack, preserves_flags))
        };
    }
    at
}

/// Element by element, from memory: the blocks above would not stay in registers if anybody looked
/// into them.
#[cold]
#[inline(never)]
unsafe fn slowly<T: Copy, O: Apply<T>>(out: *mut T, a: *const T, b: *const T, n: usize) {
    for i in 0..n {
        // SAFETY: the caller vouches for `n` aligned elements of each.
        unsafe { out.add(i).write(O::carefully(a.add(i).read(), b.add(i).read())) }
    }
}
