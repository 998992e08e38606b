//! Operations in the order of a CUDA stream of the program.
//!
//! A stream is the driver's `CUstream`, which is CUDA's `cudaStream_t`; null is the default stream.
//! Collectives in streams are defined with the others.

use std::ffi::{c_int, c_void};

use oxshmem::{OnStream, Shared, StreamRef};

use crate::{
    call::Call,
    export::export,
    signal::update,
    teams::{NO_TEAM, TeamHandle, find},
    types::Stream,
    wait::comparison,
};

/// The default context's operations in the order of a stream.
fn on(call: Call, stream: Stream) -> OnStream<'static, Shared> {
    // SAFETY: the caller's stream exists.
    call.context.on_stream(unsafe { StreamRef::from_raw(stream) })
}

export!("shmemx_gpu_device", |name| () -> c_int {
    let device = Call::new(name).global.world.gpu().map(|gpu| gpu.ordinal());
    device.ok().and_then(|ordinal| ordinal.try_into().ok()).unwrap_or(-1)
});

export!("shmemx_putmem_on_stream", |name| (
    dest: *mut c_void,
    source: *const c_void,
    nelems: usize,
    pe: c_int,
    stream: Stream,
) {
    let call = Call::new(name);
    put(call, dest.cast(), source.cast(), nelems, None, pe, stream);
});

export!("shmemx_putmem_signal_on_stream", |name| (
    dest: *mut c_void,
    source: *const c_void,
    nelems: usize,
    sig_addr: *mut u64,
    signal: u64,
    sig_op: c_int,
    pe: c_int,
    stream: Stream,
) {
    let call = Call::new(name);
    let signal = Some((sig_addr, update(call, signal, sig_op)));
    put(call, dest.cast(), source.cast(), nelems, signal, pe, stream);
});

fn put(
    call: Call,
    dest: *mut u8,
    source: *const u8,
    len: usize,
    signal: Option<(*mut u64, oxshmem::Signal)>,
    pe: c_int,
    stream: Stream,
) {
    call.not_null("source", source, len);
    let to = call.view("dest", dest.cast_const(), len);
    let signal = signal.map(|(word, update)| (call.word("sig_addr", word.cast_const()), update));
    let on = on(call, stream);
    if call.global.addresses.contains(source.addr()) || len == 0 {
        let from = call.view("source", source, len);
        let put = match signal {
            Some((word, update)) => on.put_signal(to, from, word, update, pe as usize),
            None => on.put(to, from, pe as usize),
        };
        return call.start_on(pe, put);
    }
    // SAFETY: the caller leaves the source alone until the stream is through with it.
    call.start_on(pe, unsafe { on.put_from(to, source, signal, pe as usize) });
}

export!("shmemx_getmem_on_stream", |name| (
    dest: *mut c_void,
    source: *const c_void,
    nelems: usize,
    pe: c_int,
    stream: Stream,
) {
    let call = Call::new(name);
    call.not_null("dest", dest.cast_const(), nelems);
    let (from, on) = (call.view("source", source.cast::<u8>(), nelems), on(call, stream));
    if call.global.addresses.contains(dest.addr()) || nelems == 0 {
        let to = call.view("dest", dest.cast_const().cast::<u8>(), nelems);
        return call.start_on(pe, on.get(to, from, pe as usize));
    }
    // SAFETY: the caller leaves the destination alone until the stream is through with it.
    call.start_on(pe, unsafe { on.get_to(dest.cast::<u8>(), from, pe as usize) });
});

export!("shmemx_signal_op_on_stream", |name| (
    sig_addr: *mut u64,
    signal: u64,
    sig_op: c_int,
    pe: c_int,
    stream: Stream,
) {
    let call = Call::new(name);
    let word = call.word("sig_addr", sig_addr.cast_const());
    call.start_on(pe, on(call, stream).signal(word, update(call, signal, sig_op), pe as usize));
});

export!("shmemx_signal_wait_until_on_stream", |name| (
    sig_addr: *mut u64,
    cmp: c_int,
    cmp_value: u64,
    stream: Stream,
) {
    let call = Call::new(name);
    let word = call.word("sig_addr", sig_addr.cast_const());
    let me = call.context.my_pe() as c_int;
    call.start_on(me, on(call, stream).wait_until(word, comparison(call, cmp), cmp_value));
});

export!("shmemx_quiet_on_stream", |name| (stream: Stream) {
    let call = Call::new(name);
    call.start_on(call.context.my_pe() as c_int, on(call, stream).quiet());
});

export!("shmemx_barrier_all_on_stream", |name| (stream: Stream) {
    let call = Call::new(name);
    let team = call.global.world.team();
    call.enqueue(team, stream, Some(call.context.quiet()), |team| team.sync());
});

export!("shmemx_barrier_on_stream", |name| (team: TeamHandle, stream: Stream) -> c_int {
    let call = Call::new(name);
    let Some(team) = find(call, team) else { return NO_TEAM };
    call.enqueue(team, stream, Some(call.context.quiet()), |team| team.sync());
    0
});

export!("shmemx_sync_all_on_stream", |name| (stream: Stream) {
    let call = Call::new(name);
    call.enqueue(call.global.world.team(), stream, None, |team| team.sync());
});

export!("shmemx_team_sync_on_stream", |name| (team: TeamHandle, stream: Stream) -> c_int {
    let call = Call::new(name);
    let Some(team) = find(call, team) else { return NO_TEAM };
    call.enqueue(team, stream, None, |team| team.sync());
    0
});
