//! `shmem_longdouble_p` and `shmem_longdouble_g`.
//!
//! How C passes a `long double` is the processor's own matter, and Rust has no type for it: each
//! has a module that takes it from where C leaves it, and leaves it where C looks for it.

#[cfg_attr(target_arch = "x86_64", path = "x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "aarch64.rs")]
mod passed;

use std::ffi::c_int;

use oxshmem::LongDouble;

use crate::call::Call;

fn p(call: Call, dest: *mut LongDouble, pe: c_int, value: LongDouble) {
    let to = call.word("dest", dest.cast_const());
    call.wait_on(pe, call.context.p(to, value, pe as usize));
}

fn g(call: Call, source: *const LongDouble, pe: c_int) -> LongDouble {
    let from = call.word("source", source);
    call.wait_on(pe, call.context.g(from, pe as usize))
}
