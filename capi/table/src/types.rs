//! The element types: tables 5 to 12 of the specification.
//!
//! Several names may mean one C type: on Linux `size_t`, `uint64_t` and `unsigned long` are the
//! same. Each has routines of its own, but a generic form may list a type only once, so
//! [`distinct`] picks one name for each.

/// A type of the specification's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Type {
    /// What stands for TYPENAME in a routine's name.
    pub name: &'static str,
    /// What stands for TYPE: the C type.
    pub c: &'static str,
    /// The Rust type of the same layout.
    pub rust: &'static str,
    /// The name of the standard C type that this one is on Linux with 64-bit `long`, where it is
    /// not that itself.
    pub alias_of: Option<&'static str>,
}

const fn standard(name: &'static str, c: &'static str, rust: &'static str) -> Type {
    Type { name, c, rust, alias_of: None }
}

const fn alias(name: &'static str, c: &'static str, rust: &'static str, of: &'static str) -> Type {
    Type { name, c, rust, alias_of: Some(of) }
}

const FLOAT: Type = standard("float", "float", "f32");
const DOUBLE: Type = standard("double", "double", "f64");
const LONGDOUBLE: Type = standard("longdouble", "long double", "LongDouble");
const CHAR: Type = standard("char", "char", "c_char");
const SCHAR: Type = standard("schar", "signed char", "i8");
const SHORT: Type = standard("short", "short", "i16");
const INT: Type = standard("int", "int", "i32");
const LONG: Type = standard("long", "long", "i64");
const LONGLONG: Type = standard("longlong", "long long", "i64");
const UCHAR: Type = standard("uchar", "unsigned char", "u8");
const USHORT: Type = standard("ushort", "unsigned short", "u16");
const UINT: Type = standard("uint", "unsigned int", "u32");
const ULONG: Type = standard("ulong", "unsigned long", "u64");
const ULONGLONG: Type = standard("ulonglong", "unsigned long long", "u64");
const INT8: Type = alias("int8", "int8_t", "i8", "schar");
const INT16: Type = alias("int16", "int16_t", "i16", "short");
const INT32: Type = alias("int32", "int32_t", "i32", "int");
const INT64: Type = alias("int64", "int64_t", "i64", "long");
const UINT8: Type = alias("uint8", "uint8_t", "u8", "uchar");
const UINT16: Type = alias("uint16", "uint16_t", "u16", "ushort");
const UINT32: Type = alias("uint32", "uint32_t", "u32", "uint");
const UINT64: Type = alias("uint64", "uint64_t", "u64", "ulong");
const SIZE: Type = alias("size", "size_t", "usize", "ulong");
const PTRDIFF: Type = alias("ptrdiff", "ptrdiff_t", "isize", "long");
const COMPLEXD: Type = standard("complexd", "double _Complex", "Complex<f64>");
const COMPLEXF: Type = standard("complexf", "float _Complex", "Complex<f32>");

/// Table 5: standard RMA types.
pub const RMA: &[Type] = &[
    FLOAT, DOUBLE, LONGDOUBLE, CHAR, SCHAR, SHORT, INT, LONG, LONGLONG, UCHAR, USHORT, UINT, ULONG,
    ULONGLONG, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64, SIZE, PTRDIFF,
];

/// Table 6: standard AMO types. Point-to-point synchronization takes these too.
pub const AMO: &[Type] =
    &[INT, LONG, LONGLONG, UINT, ULONG, ULONGLONG, INT32, INT64, UINT32, UINT64, SIZE, PTRDIFF];

/// Table 7: extended AMO types.
pub const EXTENDED_AMO: &[Type] = &[
    FLOAT, DOUBLE, INT, LONG, LONGLONG, UINT, ULONG, ULONGLONG, INT32, INT64, UINT32, UINT64, SIZE, PTRDIFF,
];

/// Table 8: bitwise AMO types.
pub const BITWISE_AMO: &[Type] = &[UINT, ULONG, ULONGLONG, INT32, INT64, UINT32, UINT64];

/// Table 10, and, or, xor.
pub const REDUCE_BITWISE: &[Type] =
    &[UCHAR, USHORT, UINT, ULONG, ULONGLONG, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64, SIZE];

/// Table 10, max, min.
pub const REDUCE_ORDERED: &[Type] = &[
    CHAR, SCHAR, SHORT, INT, LONG, LONGLONG, PTRDIFF, UCHAR, USHORT, UINT, ULONG, ULONGLONG, INT8, INT16,
    INT32, INT64, UINT8, UINT16, UINT32, UINT64, SIZE, FLOAT, DOUBLE, LONGDOUBLE,
];

/// Table 10, sum, prod.
pub const REDUCE_ARITHMETIC: &[Type] = &[
    CHAR, SCHAR, SHORT, INT, LONG, LONGLONG, PTRDIFF, UCHAR, USHORT, UINT, ULONG, ULONGLONG, INT8, INT16,
    INT32, INT64, UINT8, UINT16, UINT32, UINT64, SIZE, FLOAT, DOUBLE, LONGDOUBLE, COMPLEXD, COMPLEXF,
];

/// Table 11, and, or, xor on active sets.
pub const TO_ALL_BITWISE: &[Type] = &[SHORT, INT, LONG, LONGLONG];

/// Table 11, max, min on active sets.
pub const TO_ALL_ORDERED: &[Type] = &[SHORT, INT, LONG, LONGLONG, FLOAT, DOUBLE, LONGDOUBLE];

/// Table 11, sum, prod on active sets.
pub const TO_ALL_ARITHMETIC: &[Type] =
    &[SHORT, INT, LONG, LONGLONG, FLOAT, DOUBLE, LONGDOUBLE, COMPLEXD, COMPLEXF];

/// What table 12 adds to table 6, deprecated.
pub const WAIT_SHORT: &[Type] = &[SHORT, USHORT];

/// What the deprecated `shmem_fetch`, `shmem_set` and `shmem_swap` take.
pub const OLD_EXTENDED_AMO: &[Type] = &[FLOAT, DOUBLE, INT, LONG, LONGLONG];

/// The other type of the deprecated `shmem_TYPENAME_wait`.
pub const OLD_WAIT_SHORT: &[Type] = &[SHORT];

/// What the other deprecated atomics take, and `shmem_TYPENAME_wait`.
pub const OLD_AMO: &[Type] = &[INT, LONG, LONGLONG];

/// The element sizes, in bits, of routines with SIZE in their name.
pub const SIZES: [u32; 5] = [8, 16, 32, 64, 128];

impl Type {
    /// The name of the standard C type that this is.
    pub fn standard_name(&self) -> &'static str {
        self.alias_of.unwrap_or(self.name)
    }

    /// Whether it is a complex type, which C++ has in another form.
    pub fn is_complex(&self) -> bool {
        self.name.starts_with("complex")
    }
}

/// One name for each type of a table: the standard one where the table has it.
///
/// ```
/// use oxshmem_capi_table::types::{AMO, BITWISE_AMO, distinct};
///
/// let names = |table| distinct(table).map(|it| it.name).collect::<Vec<_>>();
/// assert_eq!(names(AMO), ["int", "long", "longlong", "uint", "ulong", "ulonglong"]);
/// // No `int` in this table, so that `int *` is served by the routine for `int32_t`.
/// assert_eq!(names(BITWISE_AMO), ["uint", "ulong", "ulonglong", "int32", "int64"]);
/// ```
pub fn distinct(table: &[Type]) -> impl Iterator<Item = Type> {
    table.iter().copied().filter(|it| it.alias_of.is_none_or(|of| table.iter().all(|other| other.name != of)))
}
