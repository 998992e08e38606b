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
        !matches!((self.class(), number), (Class::Bitwise, Number::F32 | Number::F64))
    }
}

impl fmt::Display for ReduceOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The numbers that devices combine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is named after its type")]
pub enum Number {
    I32,
    I64,
    U32,
    U64,
    F32,
    F64,
}

impl Number {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::I32, Self::I64, Self::U32, Self::U64, Self::F32, Self::F64];

    /// Bytes of one.
    pub const fn size(self) -> usize {
        match self {
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }
}

/// Combines numbers in host memory: `len` of each of `from`, in their order, into each of `to`.
///
/// # Safety
/// All must be mapped and aligned for so many.
pub(super) unsafe fn combine(fold: ReduceOp, number: Number, from: &[*mut u8], to: &[*mut u8], len: usize) {
    macro_rules! fold {
        ($ty:ty, $bits:ty, $with:expr) => {
            for i in 0..len {
                // SAFETY: the caller vouches for element `i` of all.
                unsafe {
                    let load = |at: &*mut u8| {
                        <$ty>::from_ne_bytes(copy::load(at.cast::<$bits>().add(i)).to_ne_bytes())
                    };
                    let Some(total) = from.iter().map(load).reduce($with) else { return };
                    for at in to {
                        copy::store(at.cast::<$bits>().add(i), <$bits>::from_ne_bytes(total.to_ne_bytes()));
                    }
                }
            }
        };
    }
    macro_rules! integers {
        ($ty:ty, $bits:ty) => {
            match fold {
                ReduceOp::And => fold!($ty, $bits, |a, b| a & b),
                ReduceOp::Or => fold!($ty, $bits, |a, b| a | b),
                ReduceOp::Xor => fold!($ty, $bits, |a, b| a ^ b),
                ReduceOp::Min => fold!($ty, $bits, |a, b| if a < b { a } else { b }),
                ReduceOp::Max => fold!($ty, $bits, |a, b| if a > b { a } else { b }),
                ReduceOp::Sum => fold!($ty, $bits, |a, b| a.wrapping_add(b)),
                ReduceOp::Prod => fold!($ty, $bits, |a, b| a.wrapping_mul(b)),
            }
        };
    }
    macro_rules! floats {
        ($ty:ty, $bits:ty) => {
            match fold {
                ReduceOp::And | ReduceOp::Or | ReduceOp::Xor => {
                    unreachable!("bits of real numbers are not combined")
                }
                ReduceOp::Min => fold!($ty, $bits, |a, b| if a < b { a } else { b }),
                ReduceOp::Max => fold!($ty, $bits, |a, b| if a > b { a } else { b }),
                ReduceOp::Sum => fold!($ty, $bits, |a, b| a + b),
                ReduceOp::Prod => fold!($ty, $bits, |a, b| a * b),
            }
        };
    }
    match number {
        Number::I32 => integers!(i32, u32),
        Number::I64 => integers!(i64, u64),
        Number::U32 => integers!(u32, u32),
        Number::U64 => integers!(u64, u64),
        Number::F32 => floats!(f32, u32),
        Number::F64 => floats!(f64, u64),
    }
}
