//! On the stack, and back in a register of the floating-point unit.

use std::{arch::naked_asm, ffi::c_int};

use oxshmem::LongDouble;

use super::{g, p};
use crate::{
    call::{Call, CtxHandle},
    export::weak_alias,
};

extern "C" fn p_default(dest: *mut LongDouble, pe: c_int, value: *const LongDouble) {
    // SAFETY: the value that C has passed.
    p(Call::new("shmem_longdouble_p"), dest, pe, unsafe { value.read() });
}

extern "C" fn p_ctx(ctx: CtxHandle, dest: *mut LongDouble, pe: c_int, value: *const LongDouble) {
    // SAFETY: as above.
    p(Call::on("shmem_ctx_longdouble_p", ctx), dest, pe, unsafe { value.read() });
}

extern "C" fn g_default(source: *const LongDouble, pe: c_int, value: *mut LongDouble) {
    let fetched = g(Call::new("shmem_longdouble_g"), source, pe);
    // SAFETY: room in the frame below.
    unsafe { value.write(fetched) };
}

extern "C" fn g_ctx(ctx: CtxHandle, source: *const LongDouble, pe: c_int, value: *mut LongDouble) {
    let fetched = g(Call::on("shmem_ctx_longdouble_g", ctx), source, pe);
    // SAFETY: as above.
    unsafe { value.write(fetched) };
}

/// Defines the C function `$name`, with its profiling twin: what `$line`s do before, with or after
/// `$then`.
macro_rules! export {
    ($name:literal, $then:ident, $($line:expr),+) => {
        const _: () = {
            // SAFETY: C calls it with the arguments of the routine that has this name. The lines
            // leave the stack, and the registers that a callee keeps, as they were; the name is
            // this routine's alone.
            #[unsafe(naked)]
            #[unsafe(export_name = concat!("p", $name))]
            extern "C" fn routine() {
                naked_asm!(".cfi_startproc", $($line),+, ".cfi_endproc", then = sym $then)
            }
        };
        weak_alias!($name);
    };
}

/// Goes on with the address of the value, which is above the return address, in the next free
/// register.
macro_rules! export_p {
    ($name:literal, $register:literal, $then:ident) => {
        export!($name, $then, concat!("lea ", $register, ", [rsp + 8]"), "jmp {then}");
    };
}

/// Calls with the address of room for the value in the next free register, and returns what is
/// there.
macro_rules! export_g {
    ($name:literal, $register:literal, $then:ident) => {
        export!(
            $name,
            $then,
            "sub rsp, 24",
            ".cfi_adjust_cfa_offset 24",
            concat!("mov ", $register, ", rsp"),
            "call {then}",
            "fld tbyte ptr [rsp]",
            "add rsp, 24",
            ".cfi_adjust_cfa_offset -24",
            "ret"
        );
    };
}

export_p!("shmem_longdouble_p", "rdx", p_default);
export_p!("shmem_ctx_longdouble_p", "rcx", p_ctx);
export_g!("shmem_longdouble_g", "rdx", g_default);
export_g!("shmem_ctx_longdouble_g", "rcx", g_ctx);
