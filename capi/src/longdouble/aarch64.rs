//! In a vector register, both ways: as such a vector is passed.

#![expect(
    improper_ctypes_definitions,
    reason = "the procedure call standard passes both alike, in the next free vector register"
)]

use std::{arch::aarch64::uint8x16_t, ffi::c_int};

use oxshmem::LongDouble;

use super::{g, p};
use crate::export::with_ctx;

with_ctx!("longdouble_p", (dest: *mut LongDouble, value: uint8x16_t, pe: c_int), |call, dest, value, pe| {
    // SAFETY: any 16 bytes are a number.
    p(call, dest, pe, unsafe { std::mem::transmute::<uint8x16_t, LongDouble>(value) });
});
with_ctx!("longdouble_g", (source: *const LongDouble, pe: c_int) -> uint8x16_t, |call, source, pe| {
    // SAFETY: any 16 bytes are a vector.
    unsafe { std::mem::transmute::<LongDouble, uint8x16_t>(g(call, source, pe)) }
});
