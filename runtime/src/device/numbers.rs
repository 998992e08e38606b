//! What devices combine: kinds of numbers, and ways to make one of two.

use crate::memory::copy;

/// What is done to two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is named after its operation")]
pub enum Fold {
    And,
    Or,
    Xor,
    Min,
    Max,
    Sum,
    Prod,
}

impl Fold {
    /// All of them.
    pub const ALL: [Self; 7] = [Self::And, Self::Or, Self::Xor, Self::Min, Self::Max, Self::Sum, Self::Prod];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::And => "and",
            Self::Or => "or",
            Self::Xor => "xor",
            Self::Min => "min",
            Self::Max => "max",
            Self::Sum => "sum",
            Self::Prod => "prod",
        }
    }

    /// Whether it is done to such numbers.
    pub const fn takes(self, number: Number) -> bool {
        !matches!((self, number), (Self::And | Self::Or | Self::Xor, Number::F32 | Number::F64))
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
pub(super) unsafe fn combine(fold: Fold, number: Number, from: &[*mut u8], to: &[*mut u8], len: usize) {
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
                Fold::And => fold!($ty, $bits, |a, b| a & b),
                Fold::Or => fold!($ty, $bits, |a, b| a | b),
                Fold::Xor => fold!($ty, $bits, |a, b| a ^ b),
                Fold::Min => fold!($ty, $bits, |a, b| if a < b { a } else { b }),
                Fold::Max => fold!($ty, $bits, |a, b| if a > b { a } else { b }),
                Fold::Sum => fold!($ty, $bits, |a, b| a.wrapping_add(b)),
                Fold::Prod => fold!($ty, $bits, |a, b| a.wrapping_mul(b)),
            }
        };
    }
    macro_rules! floats {
        ($ty:ty, $bits:ty) => {
            match fold {
                Fold::And | Fold::Or | Fold::Xor => unreachable!("bits of real numbers are not combined"),
                Fold::Min => fold!($ty, $bits, |a, b| if a < b { a } else { b }),
                Fold::Max => fold!($ty, $bits, |a, b| if a > b { a } else { b }),
                Fold::Sum => fold!($ty, $bits, |a, b| a + b),
                Fold::Prod => fold!($ty, $bits, |a, b| a * b),
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
