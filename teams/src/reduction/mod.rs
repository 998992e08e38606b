//! What reductions and scans compute: the element types of `OpenSHMEM 1.6 §9.10.9` and `§9.10.10`,
//! and the arithmetic on vectors of them.
//!
//! Which types an operation takes is in three traits: [`Bitwise`] (and, or, xor), [`Ordered`] (min,
//! max) and [`Arithmetic`] (sum, prod, and the scans). From a type that has the trait comes a
//! [`Kernel`], which works on bytes, so that the collectives themselves are not generic.
//!
//! | C (tables 10 and 11) | Rust | [`Bitwise`] | [`Ordered`] | [`Arithmetic`] |
//! |---|---|---|---|---|
//! | `char` | [`c_char`](std::ffi::c_char): `i8` on x86-64, `u8` on aarch64 | | ✓ | ✓ |
//! | `signed char`, `int8_t` | `i8` | ✓ | ✓ | ✓ |
//! | `short`, `int16_t` | `i16` | ✓ | ✓ | ✓ |
//! | `int`, `int32_t` | `i32` | ✓ | ✓ | ✓ |
//! | `long`, `long long`, `int64_t` | `i64` | ✓ | ✓ | ✓ |
//! | `ptrdiff_t` | `isize` | | ✓ | ✓ |
//! | `unsigned char`, `uint8_t` | `u8` | ✓ | ✓ | ✓ |
//! | `unsigned short`, `uint16_t` | `u16` | ✓ | ✓ | ✓ |
//! | `unsigned int`, `uint32_t` | `u32` | ✓ | ✓ | ✓ |
//! | `unsigned long`, `unsigned long long`, `uint64_t` | `u64` | ✓ | ✓ | ✓ |
//! | `size_t` | `usize` | ✓ | ✓ | ✓ |
//! | `float` | `f32` | | ✓ | ✓ |
//! | `double` | `f64` | | ✓ | ✓ |
//! | `long double` | [`LongDouble`] | | ✓ | ✓ |
//! | `float _Complex` | [`Complex<f32>`](Complex) | | | ✓ |
//! | `double _Complex` | [`Complex<f64>`](Complex) | | | ✓ |
//!
//! In Rust every integer is [`Bitwise`]. In C the team-based routines leave out `char`, `signed
//! char`, `short`, `int`, `long`, `long long` and `ptrdiff_t` by name (the `intN_t` names have
//! them), and the active-set-based ones take `short`, `int`, `long` and `long long`.
//!
//! Integers wrap. The minimum is C's `a < b ? a : b` and the maximum `a > b ? a : b`, where `a` is
//! from the lower PE: a NaN in `b` wins, one in `a` loses, and of two zeros `b` wins. A complex
//! product is C's (annex G), which is infinite, not NaN, where a factor is infinite. No operation
//! is contracted or reordered, whatever the processor has, so that equal operands give equal
//! results on every PE, except for the payload of a NaN.

#[cfg(target_arch = "x86_64")]
mod fused;
mod kernel;
mod kernels;
mod long_double;
#[cfg(test)]
mod tests;
mod types;

pub use num_complex::Complex;
use oxshmem_spaces::Element;

pub use self::{
    kernel::Kernel,
    long_double::LongDouble,
    types::{Combine, ElementType, ReduceOp},
};

/// Integers: and, or, xor.
///
/// ```
/// use oxshmem_teams::reduction::{Bitwise, Kernel, ReduceOp};
///
/// fn union<T: Bitwise>(sets: &mut [T], more: &[T]) {
///     Kernel::of(T::TYPE, ReduceOp::Or).unwrap().combine_slices(sets, more);
/// }
///
/// let mut sets = [0b001u8, 0b010];
/// union(&mut sets, &[0b100, 0b010]);
/// assert_eq!(sets, [0b101, 0b010]);
/// ```
pub trait Bitwise: Reducible {}

/// Integers and real numbers: min, max.
///
/// ```
/// use oxshmem_teams::reduction::{Kernel, Ordered, ReduceOp};
///
/// fn lower<T: Ordered>(bounds: &mut [T], others: &[T]) {
///     Kernel::of(T::TYPE, ReduceOp::Min).unwrap().combine_slices(bounds, others);
/// }
///
/// let mut bounds = [1.0, -1.0];
/// lower(&mut bounds, &[0.5, 0.5]);
/// assert_eq!(bounds, [0.5, -1.0]);
/// ```
pub trait Ordered: Reducible {}

/// Integers, real and complex numbers: sum, prod, and the scans.
///
/// ```
/// use oxshmem_teams::reduction::{Arithmetic, Complex, Kernel, ReduceOp};
///
/// fn add<T: Arithmetic>(totals: &mut [T], more: &[T]) {
///     Kernel::of(T::TYPE, ReduceOp::Sum).unwrap().combine_slices(totals, more);
/// }
///
/// let mut totals = [Complex::new(1.0, 2.0)];
/// add(&mut totals, &[Complex::new(0.5, -2.0)]);
/// assert_eq!(totals, [Complex::new(1.5, 0.0)]);
///
/// let mut totals = [250u8]; // integers wrap
/// add(&mut totals, &[10]);
/// assert_eq!(totals, [4]);
/// ```
pub trait Arithmetic: Reducible {}

/// Every type that some reduction takes: what [`Bitwise`], [`Ordered`] and [`Arithmetic`] have in
/// common.
///
/// Only the types in [the table](self) are. `usize` counts as the `u64` that it is, `isize` as
/// `i64`.
///
/// ```
/// use oxshmem_teams::reduction::{ElementType, Reducible};
///
/// assert_eq!(f64::TYPE, ElementType::F64);
/// assert_eq!(usize::TYPE, u64::TYPE);
/// ```
pub trait Reducible: Element + sealed::Sealed {
    /// The type, as a value.
    const TYPE: ElementType;
}

/// The sum of elements of a type.
pub(crate) fn sum_kernel<T: Arithmetic>() -> &'static Kernel {
    Kernel::shared(T::TYPE, ReduceOp::Sum)
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! reducible {
    ($($name:ty => $element:ident: $($class:ident)*;)*) => {$(
        impl sealed::Sealed for $name {}
        impl Reducible for $name {
            const TYPE: ElementType = ElementType::$element;
        }
        $(impl $class for $name {})*
        const _: () = assert!(
            size_of::<$name>() == ElementType::$element.size()
                && align_of::<$name>() == ElementType::$element.align()
        );
    )*};
}

reducible! {
    i8 => I8: Bitwise Ordered Arithmetic;
    i16 => I16: Bitwise Ordered Arithmetic;
    i32 => I32: Bitwise Ordered Arithmetic;
    i64 => I64: Bitwise Ordered Arithmetic;
    isize => I64: Bitwise Ordered Arithmetic;
    u8 => U8: Bitwise Ordered Arithmetic;
    u16 => U16: Bitwise Ordered Arithmetic;
    u32 => U32: Bitwise Ordered Arithmetic;
    u64 => U64: Bitwise Ordered Arithmetic;
    usize => U64: Bitwise Ordered Arithmetic;
    f32 => F32: Ordered Arithmetic;
    f64 => F64: Ordered Arithmetic;
    LongDouble => LongDouble: Ordered Arithmetic;
    Complex<f32> => ComplexF32: Arithmetic;
    Complex<f64> => ComplexF64: Arithmetic;
}
