//! Signals (`OpenSHMEM 1.6 §9.8`).

use std::ffi::{c_int, c_void};

use oxshmem::Signal;

use crate::{
    buffers::SourceBuffer,
    call::Call,
    export::{export, with_ctx},
    rma::bytes,
    state::DEFAULT_PATH,
    types::{rma_types, sizes},
};

/// What becomes of a signal: the numbers are those of the header.
#[inline(always)]
pub(crate) fn update(call: Call, signal: u64, sig_op: c_int) -> Signal {
    match sig_op {
        1 => Signal::Set(signal),
        2 => Signal::Add(signal),
        _ => call.fail(format_args!("sig_op = {sig_op} is neither SHMEM_SIGNAL_SET nor SHMEM_SIGNAL_ADD")),
    }
}

/// The arguments of a put with signal.
struct PutSignal {
    dest: *mut u8,
    source: *const u8,
    len: usize,
    sig_addr: *mut u64,
    signal: u64,
    sig_op: c_int,
    pe: c_int,
}

impl PutSignal {
    #[inline(never)]
    fn put(self, call: Call) {
        let Self { dest, source, len, sig_addr, signal, sig_op, pe } = self;
        let update = update(call, signal, sig_op);
        call.not_null("source", source, len);
        let to = call.view("dest", dest.cast_const(), len);
        let word = call.word("sig_addr", sig_addr.cast_const());
        if call.on_device(source) {
            let from = call.view("source", source, len);
            return call.wait_on(pe, call.context.put_signal(to, from, word, update, pe as usize));
        }
        // SAFETY: the caller vouches for the source; a put over which the call returns has copied
        // it.
        let from = unsafe { SourceBuffer::new(source, len) };
        call.wait_on(pe, call.context.put_signal(to, from, word, update, pe as usize));
        // The PEs of other contexts may have other numbers.
        if std::ptr::eq(call.context, call.global.context) {
            DEFAULT_PATH.flag_was_stored(sig_addr, pe);
        }
    }

    #[inline(never)]
    fn put_nbi(self, call: Call) {
        let Self { dest, source, len, sig_addr, signal, sig_op, pe } = self;
        let update = update(call, signal, sig_op);
        call.not_null("source", source, len);
        let to = call.view("dest", dest.cast_const(), len);
        let word = call.word("sig_addr", sig_addr.cast_const());
        if call.on_device(source) {
            let from = call.view("source", source, len);
            return call.start_on(pe, call.context.put_signal_nbi(to, from, word, update, pe as usize));
        }
        // SAFETY: the caller leaves the source alone until `shmem_quiet`.
        let from = unsafe { SourceBuffer::new(source, len) };
        call.start_on(pe, call.context.put_signal_nbi(to, from, word, update, pe as usize));
    }
}

/// The two routines that put elements of type `$T`, which C knows as pointers to `$C`. They are
/// copied as bytes, so that it does not matter how their addresses are aligned.
macro_rules! put_signal {
    ($name:expr, $C:ty, $T:ty) => {
        put_signal!(@ $name, $C, $T, put);
        put_signal!(@ concat!($name, "_nbi"), $C, $T, put_nbi);
    };
    (@ $name:expr, $C:ty, $T:ty, $put:ident) => {
        with_ctx!(
            $name,
            (
                dest: *mut $C,
                source: *const $C,
                nelems: usize,
                sig_addr: *mut u64,
                signal: u64,
                sig_op: c_int,
                pe: c_int,
            ),
            |call: Call, dest: *mut $C, source: *const $C, nelems, sig_addr, signal, sig_op, pe| {
                let (dest, source, len) = (dest.cast(), source.cast(), bytes::<$T>(call, nelems));
                PutSignal { dest, source, len, sig_addr, signal, sig_op, pe }.$put(call);
            }
        );
    };
}

macro_rules! typed {
    ($name:literal, $T:ty) => {
        put_signal!(concat!($name, "_put_signal"), $T, $T);
    };
}

macro_rules! sized {
    ($bits:literal, $T:ty) => {
        put_signal!(concat!("put", $bits, "_signal"), c_void, $T);
    };
}

rma_types!(typed);
typed!("longdouble", oxshmem::LongDouble);
sizes!(sized);
put_signal!("putmem_signal", c_void, u8);

with_ctx!("signal_add", (sig_addr: *mut u64, signal: u64, pe: c_int), |call: Call, sig_addr: *mut u64, signal, pe| {
    let word = call.word("sig_addr", sig_addr.cast_const());
    call.wait_on(pe, call.context.signal_add(word, signal, pe as usize));
});

with_ctx!("signal_set", (sig_addr: *mut u64, signal: u64, pe: c_int), |call: Call, sig_addr: *mut u64, signal, pe| {
    let word = call.word("sig_addr", sig_addr.cast_const());
    call.wait_on(pe, call.context.signal_set(word, signal, pe as usize));
});

export!("shmem_signal_fetch", |name| (sig_addr: *const u64) -> u64 {
    let call = Call::new(name);
    call.context.signal_fetch(call.word("sig_addr", sig_addr))
});
