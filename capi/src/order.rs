//! Barriers, and the order of memory (`OpenSHMEM 1.6 §9.10, §9.12`).

use std::ffi::c_int;

use crate::{
    call::{Call, CtxHandle, is_invalid},
    export::export,
};

export!("shmem_barrier_all", |name| () {
    let call = Call::new(name);
    call.collective(|| call.global.world.barrier_all());
});

export!("shmem_sync_all", |name| () {
    let call = Call::new(name);
    call.collective(|| call.global.world.sync_all());
});

#[inline(always)]
fn fence(call: Call) {
    call.look(call.context.fence());
    wake_own(call);
}

#[inline(always)]
fn quiet(call: Call) {
    call.look(call.context.quiet());
    wake_own(call);
}

/// Has other threads of this PE that sleep in a wait look at their words: this one may have stored
/// there past the library. That they are woken is no promise of the specification
/// (`OpenSHMEM 1.6 §9.11`), but programs rely on it.
#[inline(always)]
fn wake_own(call: Call) {
    let pe = call.global.world.pe();
    pe.shm().ring_heap(pe.local_pe());
}

fn pe_quiet(call: Call, target_pes: *const c_int, npes: usize) {
    if npes == 0 {
        return;
    }
    // SAFETY: the caller vouches for as many numbers.
    let pes = unsafe { call.slice("target_pes", target_pes, npes) };
    let n_pes = call.context.n_pes();
    if let Some(&pe) = pes.iter().find(|&&pe| pe as usize >= n_pes) {
        call.fail(format_args!(
            "target_pes has {pe}, which is out of range: there are {n_pes} PEs in its team"
        ));
    }
    if call.context.is_idle() {
        // Only stores are left to be made visible, to whomever.
        return quiet(call);
    }
    let pes: Vec<usize> = pes.iter().map(|&pe| pe as usize).collect();
    call.look(call.context.pe_quiet(&pes));
    wake_own(call);
}

export!("shmem_fence", |name| () { fence(Call::new(name)) });
export!("shmem_quiet", |name| () { quiet(Call::new(name)) });

export!("shmem_pe_quiet", |name| (target_pes: *const c_int, npes: usize) {
    pe_quiet(Call::new(name), target_pes, npes)
});

// On no context at all there is nothing to be done.

export!("shmem_ctx_fence", |name| (ctx: CtxHandle) {
    if !is_invalid(ctx) {
        fence(Call::on(name, ctx));
    }
});

export!("shmem_ctx_quiet", |name| (ctx: CtxHandle) {
    if !is_invalid(ctx) {
        quiet(Call::on(name, ctx));
    }
});

export!("shmem_ctx_pe_quiet", |name| (ctx: CtxHandle, target_pes: *const c_int, npes: usize) {
    if !is_invalid(ctx) {
        pe_quiet(Call::on(name, ctx), target_pes, npes);
    }
});
