//! Operations and element types as values, with the table of which goes with which.

use std::fmt;

use oxshmem_spaces::device::Class;
pub use oxshmem_spaces::device::ReduceOp;

/// The elements there are, as a value.
///
/// ```
/// use oxshmem_teams::reduction::ElementType;
///
/// assert_eq!(ElementType::ComplexF32.to_string(), "Complex<f32>");
/// assert_eq!(ElementType::ComplexF32.size(), 8);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs, reason = "each is named after its type")]
pub enum ElementType {
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
    LongDouble,
    ComplexF32,
    ComplexF64,
}

impl ElementType {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 13] = [
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
        Self::LongDouble,
        Self::ComplexF32,
        Self::ComplexF64,
    ];

    /// Its name in Rust.
    ///
    /// ```
    /// assert_eq!(oxshmem_teams::reduction::ElementType::U8.name(), "u8");
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::LongDouble => "LongDouble",
            Self::ComplexF32 => "Complex<f32>",
            Self::ComplexF64 => "Complex<f64>",
        }
    }

    /// Bytes of an element.
    ///
    /// ```
    /// assert_eq!(oxshmem_teams::reduction::ElementType::LongDouble.size(), 16);
    /// ```
    pub const fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 | Self::ComplexF32 => 8,
            Self::LongDouble | Self::ComplexF64 => 16,
        }
    }

    /// What an element's address is a multiple of.
    ///
    /// ```
    /// assert_eq!(oxshmem_teams::reduction::ElementType::ComplexF64.align(), 8);
    /// ```
    pub const fn align(self) -> usize {
        match self {
            Self::ComplexF32 => 4,
            Self::ComplexF64 => 8,
            real => real.size(),
        }
    }

    /// Whether elements of this type can be reduced by `op`.
    ///
    /// ```
    /// use oxshmem_teams::reduction::{ElementType, ReduceOp};
    ///
    /// assert!(ElementType::F64.takes(ReduceOp::Max));
    /// assert!(!ElementType::F64.takes(ReduceOp::Xor));
    /// ```
    pub const fn takes(self, op: ReduceOp) -> bool {
        match op.class() {
            Class::Bitwise => (self as u8) <= Self::U64 as u8,
            Class::Ordered => (self as u8) <= Self::LongDouble as u8,
            Class::Arithmetic => true,
        }
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The kernels that work on memory that other PEs may access.
#[derive(Clone, Copy)]
pub(super) struct Fused {
    /// What [`Kernel::fused`](super::Kernel::fused) returns.
    pub(super) two: Combine,
    /// [`Kernel::fold`](super::Kernel::fold) of at least two sources: the output, the sources, how
    /// many, elements of each.
    pub(super) many: unsafe fn(*mut u8, *const *const u8, usize, usize),
}

/// `out[i] = a[i] op b[i]` for all `i` below the last argument.
pub type Combine = unsafe fn(out: *mut u8, a: *const u8, b: *const u8, n: usize);
