//! What devices combine: kinds of numbers, and ways to make one of two.

use std::fmt;

use oxshmem_memory::copy;

/// What the elements must be for a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Integers, of which it takes the bits.
    Bitwise,
    /// Numbers of which one is lower than another.
    Ordered,
    /// Any numbers.
    Arithmetic,
}

/// Defines what reductions do, a row for each: its name, and what the elements must be.
macro_rules! operations {
    ($($(#[$doc:meta])* $op:ident: $name:literal, $class:ident;)*) => {
        /// What a reduction does to two elements.
        ///
        /// ```
        /// use oxshmem_spaces::device::ReduceOp;
        ///
        /// assert_eq!(ReduceOp::Sum.to_string(), "sum");
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum ReduceOp { $($(#[$doc])* $op,)* }

        impl ReduceOp {
            /// All of them, in the order of their numbers.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$op),*];

            /// The word that the specification's routines have for it.
            ///
            /// ```
            /// assert_eq!(oxshmem_spaces::device::ReduceOp::Xor.name(), "xor");
            /// ```
            pub const fn name(self) -> &'static str {
                match self { $(Self::$op => $name,)* }
            }

            /// The method of a team that does it (`OpenSHMEM 1.6 §9.10.9`).
            ///
            /// ```
            /// assert_eq!(oxshmem_spaces::device::ReduceOp::Xor.reduction(), "xor_reduce");
            /// ```
            pub const fn reduction(self) -> &'static str {
                match self { $(Self::$op => concat!($name, "_reduce"),)* }
            }

            /// What the elements must be.
            pub const fn class(self) -> Class {
                match self { $(Self::$op => Class::$class,)* }
            }
        }
    };
}

operations! {
    /// Bitwise and (§9.10.9.1).
    And: "and", Bitwise;
    /// Bitwise or (§9.10.9.2).
    Or: "or", Bitwise;
    /// Bitwise exclusive or (§9.10.9.3).
    Xor: "xor", Bitwise;
    /// The lower one (§9.10.9.5).
    Min: "min", Ordered;
    /// The higher one (§9.10.9.4).
    Max: "max", Ordered;
    /// The sum (§9.10.9.6), and the scans (§9.10.10).
    Sum: "sum", Arithmetic;
    /// The product (§9.10.9.7).
    Prod: "prod", Arithmetic;
}

impl ReduceOp {
    /// Whether a device does it to such numbers.
    pub const fn takes(self, number: Number) -> bool {
        match self.class() {
            Class::Bitwise => (number as u8) <= Number::U64 as u8,
            Class::Ordered => (number as u8) <= Number::F64 as u8,
            Class::Arithmetic => true,
        }
    }
}

impl fmt::Display for ReduceOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The numbers that devices combine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs, reason = "each is named after its type")]
pub enum Number {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
    ComplexF32,
    ComplexF64,
}

impl Number {
    /// All of them: integers, then real numbers, then complex ones.
    pub const ALL: [Self; 12] = [
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::U8,
        Self::U16,
        Self::U32,
        Self::U64,
        Self::F32,
        Self::F64,
        Self::ComplexF32,
        Self::ComplexF64,
    ];

    /// Bytes of one.
    pub const fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 | Self::ComplexF32 => 8,
            Self::ComplexF64 => 16,
        }
    }

    /// What its address is a multiple of.
    pub const fn align(self) -> usize {
        match self {
            Self::ComplexF32 => 4,
            Self::ComplexF64 => 8,
            real => real.size(),
        }
    }
}

/// What becomes of the operands that several PEs have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// Each destination gets all of them, combined in their order. There may be any number of
    /// destinations.
    Reduce,
    /// Destination `i` gets the first `i + 1` of them, combined.
    InclusiveScan,
    /// Destination `i` gets the first `i` of them, combined; the first one gets zeros.
    ExclusiveScan,
    /// Destination `i` gets operand `i`.
    Copy,
}

impl Pattern {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Reduce, Self::InclusiveScan, Self::ExclusiveScan, Self::Copy];
}

/// Combines numbers in host memory: `len` of each of `from`, in their order, into `to`.
///
/// # Safety
/// All must be mapped and aligned for `len` elements.
pub(super) unsafe fn combine(
    (pattern, op, number): (Pattern, ReduceOp, Number),
    from: &[*mut u8],
    to: &[*mut u8],
    len: usize,
) {
    macro_rules! run {
        ($ty:ty, $with:expr) => {
            // SAFETY: passed on to the caller.
            unsafe { run::<$ty>(pattern, (from, to), len, $with) }
        };
    }
    macro_rules! integers {
        ($ty:ty) => {
            match op {
                ReduceOp::And => run!($ty, |a, b| a & b),
                ReduceOp::Or => run!($ty, |a, b| a | b),
                ReduceOp::Xor => run!($ty, |a, b| a ^ b),
                ReduceOp::Min => run!($ty, |a, b| if a < b { a } else { b }),
                ReduceOp::Max => run!($ty, |a, b| if a > b { a } else { b }),
                ReduceOp::Sum => run!($ty, |a, b| a.wrapping_add(b)),
                ReduceOp::Prod => run!($ty, |a, b| a.wrapping_mul(b)),
            }
        };
    }
    macro_rules! reals {
        ($ty:ty) => {
            match op {
                ReduceOp::Min => run!($ty, |a, b| if a < b { a } else { b }),
                ReduceOp::Max => run!($ty, |a, b| if a > b { a } else { b }),
                ReduceOp::Sum => run!($ty, |a, b| a + b),
                ReduceOp::Prod => run!($ty, |a, b| a * b),
                ReduceOp::And | ReduceOp::Or | ReduceOp::Xor => unreachable!("{op} of real numbers"),
            }
        };
    }
    macro_rules! complex {
        ($ty:ty, $product:path) => {
            match op {
                ReduceOp::Sum => run!([$ty; 2], |[a, b], [c, d]| [a + c, b + d]),
                ReduceOp::Prod => run!([$ty; 2], $product),
                _ => unreachable!("{op} of complex numbers"),
            }
        };
    }
    match number {
        Number::I8 => integers!(i8),
        Number::I16 => integers!(i16),
        Number::I32 => integers!(i32),
        Number::I64 => integers!(i64),
        Number::U8 => integers!(u8),
        Number::U16 => integers!(u16),
        Number::U32 => integers!(u32),
        Number::U64 => integers!(u64),
        Number::F32 => reals!(f32),
        Number::F64 => reals!(f64),
        Number::ComplexF32 => complex!(f32, complex_product::f32),
        Number::ComplexF64 => complex!(f64, complex_product::f64),
    }
}

/// The loop for elements of one type.
///
/// # Safety
/// As for `combine`; zero bytes must be an element.
unsafe fn run<T: bytemuck::Zeroable + Copy>(
    pattern: Pattern,
    (from, to): (&[*mut u8], &[*mut u8]),
    len: usize,
    with: impl Fn(T, T) -> T,
) {
    for i in 0..len {
        // SAFETY: the caller vouches for element `i` of all.
        let store = |to: &*mut u8, value: T| unsafe { copy::store(to.cast::<T>().add(i), value) };
        let mut total = T::zeroed();
        for (j, from) in from.iter().enumerate() {
            // SAFETY: as above.
            let value = unsafe { copy::load(from.cast::<T>().add(i)) };
            if pattern == Pattern::ExclusiveScan {
                store(&to[j], total);
            }
            total = if j == 0 || pattern == Pattern::Copy { value } else { with(total, value) };
            if matches!(pattern, Pattern::InclusiveScan | Pattern::Copy) {
                store(&to[j], total);
            }
        }
        if pattern == Pattern::Reduce {
            to.iter().for_each(|to| store(to, total));
        }
    }
}

/// C's complex product (annex G): infinite, not NaN, if a factor is infinite.
pub mod complex_product {
    macro_rules! product {
        ($float:ident) => {
            /// The product of two numbers, each a real and an imaginary part.
            ///
            /// ```
            #[doc = concat!("use oxshmem_spaces::device::complex_product::", stringify!($float), " as product;")]
            ///
            /// assert_eq!(product([1.0, 2.0], [3.0, -1.0]), [5.0, 5.0]);
            #[doc = concat!("assert_eq!(product([", stringify!($float), "::INFINITY, 0.0], [1.0, 1.0])[0], ", stringify!($float), "::INFINITY);")]
            /// ```
            pub fn $float([a, b]: [$float; 2], [c, d]: [$float; 2]) -> [$float; 2] {
                let parts = [a * c, b * d, a * d, b * c];
                let product = [parts[0] - parts[1], parts[2] + parts[3]];
                if !(product[0].is_nan() && product[1].is_nan()) {
                    return product;
                }
                let is_infinite = |z: [$float; 2]| z.iter().any(|part| part.is_infinite());
                // An infinite part becomes 1, a finite one 0.
                let direction = |x: $float| (x.is_infinite() as u8 as $float).copysign(x);
                let number = |x: $float| if x.is_nan() { (0.0 as $float).copysign(x) } else { x };
                let ([a, b], [c, d]) = match (is_infinite([a, b]), is_infinite([c, d])) {
                    (true, true) => ([a, b].map(direction), [c, d].map(direction)),
                    (true, false) => ([a, b].map(direction), [c, d].map(number)),
                    (false, true) => ([a, b].map(number), [c, d].map(direction)),
                    (false, false) if is_infinite([parts[0], parts[1]]) || is_infinite([parts[2], parts[3]]) => {
                        ([a, b].map(number), [c, d].map(number))
                    }
                    (false, false) => return product,
                };
                [$float::INFINITY * (a * c - b * d), $float::INFINITY * (a * d + b * c)]
            }
        };
    }
    product!(f32);
    product!(f64);
}
