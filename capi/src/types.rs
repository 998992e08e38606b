//! The types of the specification's tables, each list a macro that calls another with name and
//! type.

use oxshmem::Element;

/// `cudaStream_t`.
pub(crate) type Stream = *mut std::ffi::c_void;

/// A value as the bits that it is: those of a size have one type.
pub(crate) trait Bits: Element {
    type Bits: Element;

    fn bits(self) -> Self::Bits;
    fn from_bits(bits: Self::Bits) -> Self;
}

macro_rules! bits {
    ($($T:ty => $Bits:ty, |$value:ident| $bits:expr, |$from:ident| $back:expr;)*) => {$(
        impl Bits for $T {
            type Bits = $Bits;

            #[inline(always)]
            fn bits(self) -> $Bits {
                let $value = self;
                $bits
            }

            #[inline(always)]
            fn from_bits($from: $Bits) -> Self {
                $back
            }
        }
    )*};
}

bits! {
    i8 => u8, |it| it.cast_unsigned(), |bits| bits.cast_signed();
    i16 => u16, |it| it.cast_unsigned(), |bits| bits.cast_signed();
    i32 => u32, |it| it.cast_unsigned(), |bits| bits.cast_signed();
    i64 => u64, |it| it.cast_unsigned(), |bits| bits.cast_signed();
    u8 => u8, |it| it, |bits| bits;
    u16 => u16, |it| it, |bits| bits;
    u32 => u32, |it| it, |bits| bits;
    u64 => u64, |it| it, |bits| bits;
    f32 => u32, |it| it.to_bits(), |bits| Self::from_bits(bits);
    f64 => u64, |it| it.to_bits(), |bits| Self::from_bits(bits);
    isize => u64, |it| it as u64, |bits| bits as Self;
    usize => u64, |it| it as u64, |bits| bits as Self;
}

/// Table 5: standard RMA types, without `longdouble`, which C passes in ways of its own.
macro_rules! rma_types {
    ($m:ident) => {
        $m!("float", f32);
        $m!("double", f64);
        $m!("char", std::ffi::c_char);
        $m!("schar", i8);
        $m!("short", i16);
        $m!("int", i32);
        $m!("long", i64);
        $m!("longlong", i64);
        $m!("uchar", u8);
        $m!("ushort", u16);
        $m!("uint", u32);
        $m!("ulong", u64);
        $m!("ulonglong", u64);
        $m!("int8", i8);
        $m!("int16", i16);
        $m!("int32", i32);
        $m!("int64", i64);
        $m!("uint8", u8);
        $m!("uint16", u16);
        $m!("uint32", u32);
        $m!("uint64", u64);
        $m!("size", usize);
        $m!("ptrdiff", isize);
    };
}

/// Table 6: standard AMO types. Those of 64 bits that Rust has other names for are `i64` and `u64`.
macro_rules! amo_types {
    ($m:ident) => {
        $m!("int", i32);
        $m!("long", i64);
        $m!("longlong", i64);
        $m!("uint", u32);
        $m!("ulong", u64);
        $m!("ulonglong", u64);
        $m!("int32", i32);
        $m!("int64", i64);
        $m!("uint32", u32);
        $m!("uint64", u64);
        $m!("size", u64);
        $m!("ptrdiff", i64);
    };
}

/// What the deprecated names of atomics know of table 6.
macro_rules! old_amo_types {
    ($m:ident) => {
        $m!("int", i32);
        $m!("long", i64);
        $m!("longlong", i64);
    };
}

/// What table 7 has beyond table 6.
macro_rules! float_amo_types {
    ($m:ident) => {
        $m!("float", f32);
        $m!("double", f64);
    };
}

/// Table 8: bitwise AMO types.
macro_rules! bitwise_types {
    ($m:ident) => {
        $m!("uint", u32);
        $m!("ulong", u64);
        $m!("ulonglong", u64);
        $m!("int32", i32);
        $m!("int64", i64);
        $m!("uint32", u32);
        $m!("uint64", u64);
    };
}

/// Sizes in bits, and elements of that size that need no alignment.
macro_rules! sizes {
    ($m:ident) => {
        $m!("8", [u8; 1]);
        $m!("16", [u8; 2]);
        $m!("32", [u8; 4]);
        $m!("64", [u8; 8]);
        $m!("128", [u8; 16]);
    };
}

pub(crate) use {amo_types, bitwise_types, float_amo_types, old_amo_types, rma_types, sizes};

const _: () = assert!(
    size_of::<std::ffi::c_long>() == 8 && size_of::<usize>() == 8,
    "the C library knows platforms with 64-bit long and pointers only"
);
