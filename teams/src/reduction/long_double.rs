//! C's `long double` as plain data: more precise than `f64`, in the format that C has on this
//! processor.
//!
//! On x86-64 it is the x87's 80-bit format, on aarch64 the 128-bit one of IEEE 754. Rust knows
//! neither, so that its arithmetic is in assembly: x87 instructions there, calls of the compiler's
//! support library here.

#[cfg_attr(target_arch = "x86_64", path = "x87.rs")]
#[cfg_attr(target_arch = "aarch64", path = "binary128.rs")]
mod format;

use std::{
    cmp::Ordering,
    fmt,
    ops::{Add, Mul},
};

use bytemuck::{Pod, Zeroable};

pub(super) use format::kernel;

/// C's `long double`: 16 bytes, aligned to 16.
///
/// On x86-64 the format is the x87's with 64 bits of precision, and the last 6 bytes are padding:
/// ignored, and zero in results. On aarch64 it is IEEE 754's binary128 with 113 bits. Its bytes are
/// those that a C program on the same kind of host has; between unlike hosts it means nothing.
///
/// It compares, and adds, as C does: NaN is not equal to itself, -0 equals 0.
///
/// ```
/// use oxshmem_teams::reduction::LongDouble;
///
/// let one = LongDouble::from(1.0);
/// let tiny = LongDouble::from(2f64.powi(-60));
/// assert_ne!(one + tiny, one, "an `f64` would have lost it");
/// assert_eq!((one + tiny).to_f64(), 1.0);
/// assert!(one * tiny < one);
/// ```
#[derive(Clone, Copy, Default, Pod, Zeroable)]
#[repr(C, align(16))]
pub struct LongDouble([u8; 16]);

impl LongDouble {
    /// The value with these bytes, in memory order.
    ///
    /// ```
    /// use oxshmem_teams::reduction::LongDouble;
    ///
    /// assert_eq!(LongDouble::from_ne_bytes([0; 16]).to_f64(), 0.0);
    /// ```
    pub const fn from_ne_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The bytes, in memory order.
    ///
    /// ```
    /// use oxshmem_teams::reduction::LongDouble;
    ///
    /// let one = LongDouble::from(1.0);
    /// assert_eq!(LongDouble::from_ne_bytes(one.to_ne_bytes()), one);
    /// ```
    pub const fn to_ne_bytes(self) -> [u8; 16] {
        self.0
    }

    /// The nearest `f64`.
    ///
    /// ```
    /// use oxshmem_teams::reduction::LongDouble;
    ///
    /// assert_eq!(LongDouble::from(0.1).to_f64(), 0.1);
    /// ```
    pub fn to_f64(self) -> f64 {
        format::to_f64(&self)
    }
}

impl From<f64> for LongDouble {
    /// Exact.
    fn from(value: f64) -> Self {
        format::from_f64(value)
    }
}

impl Add for LongDouble {
    type Output = Self;

    #[inline]
    fn add(self, other: Self) -> Self {
        format::add(&self, &other)
    }
}

impl Mul for LongDouble {
    type Output = Self;

    #[inline]
    fn mul(self, other: Self) -> Self {
        format::mul(&self, &other)
    }
}

impl PartialEq for LongDouble {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

impl PartialOrd for LongDouble {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (format::less(self, other), format::less(other, self)) {
            (true, _) => Some(Ordering::Less),
            (_, true) => Some(Ordering::Greater),
            _ if format::is_nan(self) || format::is_nan(other) => None,
            _ => Some(Ordering::Equal),
        }
    }
}

impl fmt::Display for LongDouble {
    /// As the nearest `f64`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.to_f64(), f)
    }
}

impl fmt::Debug for LongDouble {
    /// As the nearest `f64`, and in bits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LongDouble({:?}, {:#x})", self.to_f64(), u128::from_ne_bytes(self.0))
    }
}
