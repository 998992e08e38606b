//! Remote memory access (`OpenSHMEM 1.6 §9.6`).
//!
//! Blocks of whatever type are copied as bytes, so that it does not matter how their addresses are
//! aligned.

use std::ffi::c_int;
use std::ffi::c_void;

use oxshmem::Context;
use oxshmem::Element;
use oxshmem_ops::path::address::AddressPath;

use crate::buffers::SinkBuffer;
use crate::buffers::SourceBuffer;
use crate::call::Call;
use crate::export::with_ctx;
use crate::export::with_ctx_path;
use crate::types::Bits;
use crate::types::rma_types;
use crate::types::sizes;

/// The bytes of this many elements.
pub(crate) fn bytes<T>(call: Call, count: usize) -> usize {
    match count.checked_mul(size_of::<T>()) {
        Some(bytes) => bytes,
        None => call.fail(format_args!("nelems = {count} is more than any memory holds")),
    }
}

/// A pointer to a block, as bytes, and how many they are.
type Bytes = (*mut u8, usize);

#[inline(always)]
fn put<T>(call: Call, dest: *mut T, source: *const T, nelems: usize, pe: c_int) {
    let len = bytes::<T>(call, nelems);
    put_block(call.name, call.context, (dest.cast(), len), source.cast(), pe);
}

#[inline(never)]
fn put_block(
    name: &'static str,
    context: &'static Context,
    (dest, len): Bytes,
    source: *const u8,
    pe: c_int,
) {
    let call = Call::with(name, context);
    call.not_null("source", source, len);
    let to = call.view("dest", dest.cast_const(), len);
    if call.on_device(source) {
        return call.wait_on(pe, call.context.put(to, call.view("source", source, len), pe as usize));
    }
    // SAFETY: the caller vouches for the source; a put over which the call returns has copied it.
    let from = unsafe { SourceBuffer::new(source, len) };
    call.wait_on(pe, call.context.put(to, from, pe as usize));
}

#[inline(always)]
fn put_nbi<T>(call: Call, dest: *mut T, source: *const T, nelems: usize, pe: c_int) {
    let len = bytes::<T>(call, nelems);
    put_block_nbi(call.name, call.context, (dest.cast(), len), source.cast(), pe);
}

#[inline(never)]
fn put_block_nbi(
    name: &'static str,
    context: &'static Context,
    (dest, len): Bytes,
    source: *const u8,
    pe: c_int,
) {
    let call = Call::with(name, context);
    call.not_null("source", source, len);
    let to = call.view("dest", dest.cast_const(), len);
    if call.on_device(source) {
        return call.start_on(pe, call.context.put_nbi(to, call.view("source", source, len), pe as usize));
    }
    // SAFETY: the caller leaves the source alone until `shmem_quiet`.
    let from = unsafe { SourceBuffer::new(source, len) };
    call.start_on(pe, call.context.put_nbi(to, from, pe as usize));
}

#[inline(always)]
fn get<T>(call: Call, dest: *mut T, source: *const T, nelems: usize, pe: c_int) {
    let len = bytes::<T>(call, nelems);
    get_block(call.name, call.context, (dest.cast(), len), source.cast(), pe);
}

#[inline(never)]
fn get_block(
    name: &'static str,
    context: &'static Context,
    (dest, len): Bytes,
    source: *const u8,
    pe: c_int,
) {
    let call = Call::with(name, context);
    call.not_null("dest", dest, len);
    let from = call.view("source", source, len);
    if call.on_device(dest) {
        let to = call.view("dest", dest.cast_const(), len);
        return call.wait_on(pe, call.context.get_into(to, from, pe as usize));
    }
    // SAFETY: the caller vouches for the destination; the call returns when it has been written.
    let to = unsafe { SinkBuffer::new(dest, len) };
    call.wait_on(pe, call.context.get_into(to, from, pe as usize));
}

#[inline(always)]
fn get_nbi<T>(call: Call, dest: *mut T, source: *const T, nelems: usize, pe: c_int) {
    let len = bytes::<T>(call, nelems);
    get_block_nbi(call.name, call.context, (dest.cast(), len), source.cast(), pe);
}

#[inline(never)]
fn get_block_nbi(
    name: &'static str,
    context: &'static Context,
    (dest, len): Bytes,
    source: *const u8,
    pe: c_int,
) {
    let call = Call::with(name, context);
    call.not_null("dest", dest, len);
    let from = call.view("source", source, len);
    if call.on_device(dest) {
        let to = call.view("dest", dest.cast_const(), len);
        return call.start_on(pe, call.context.get_nbi(to, from, pe as usize));
    }
    // SAFETY: the caller leaves the destination alone until `shmem_quiet`.
    let to = unsafe { SinkBuffer::new(dest, len) };
    call.start_on(pe, call.context.get_nbi(to, from, pe as usize));
}

#[inline(always)]
fn p<T: Bits>(call: Call, dest: *mut T, value: T, pe: c_int) {
    #[inline(never)]
    fn of_bits<T: Element>(call: Call, dest: *mut T, value: T, pe: c_int) {
        let to = call.word("dest", dest.cast_const());
        call.wait_on(pe, call.context.p(to, value, pe as usize));
    }
    of_bits::<T::Bits>(call, dest.cast(), value.bits(), pe);
}

#[inline(always)]
fn g<T: Bits>(call: Call, source: *const T, pe: c_int) -> T {
    #[inline(never)]
    fn of_bits<T: Element>(call: Call, source: *const T, pe: c_int) -> T {
        let from = call.word("source", source);
        call.wait_on(pe, call.context.g(from, pe as usize))
    }
    T::from_bits(of_bits::<T::Bits>(call, source.cast(), pe))
}

/// Blocks at equal distances, in elements.
#[derive(Clone, Copy)]
struct Strided {
    dst: usize,
    sst: usize,
    block: usize,
    count: usize,
}

impl Strided {
    /// None if there is nothing to copy.
    #[inline(never)]
    fn new(call: Call, dst: isize, sst: isize, block: usize, count: usize) -> Option<Self> {
        if block == 0 || count == 0 {
            return None;
        }
        for (what, stride) in [("dst", dst), ("sst", sst)] {
            if stride < 1 || (stride as usize) < block {
                call.fail(format_args!("{what} = {stride} is less than a block of {block} elements"));
            }
        }
        Some(Self { dst: dst as usize, sst: sst as usize, block, count })
    }

    /// Elements from the first to the last.
    fn span(self, call: Call, stride: usize) -> usize {
        let before = (self.count - 1).checked_mul(stride);
        match before.and_then(|before| before.checked_add(self.block)) {
            Some(elements) => elements,
            None => call.fail(format_args!(
                "{} blocks {stride} elements apart are more than any memory holds",
                self.count
            )),
        }
    }
}

/// Puts blocks of elements of `N` bytes without alignment, so that it is one function a size,
/// whatever the type.
fn put_blocks<const N: usize>(
    call: Call,
    dest: *mut c_void,
    source: *const c_void,
    blocks: Option<Strided>,
    pe: c_int,
) {
    let Some(blocks) = blocks else { return };
    let to = call.view("dest", dest.cast::<[u8; N]>().cast_const(), blocks.span(call, blocks.dst));
    call.not_null("source", source, 1);
    let Strided { dst, sst, block, count } = blocks;
    let (source, span) = (source.cast::<[u8; N]>(), blocks.span(call, sst));
    if call.on_device(source) {
        let from = call.view("source", source, span);
        return call.wait_on(pe, call.context.ibput(to, from, dst, sst, block, count, pe as usize));
    }
    // SAFETY: the caller vouches for the source; the call returns when it has been copied.
    let from = unsafe { SourceBuffer::new(source, span) };
    call.wait_on(pe, call.context.ibput(to, from, dst, sst, block, count, pe as usize));
}

/// Gets blocks of elements of `N` bytes without alignment.
fn get_blocks<const N: usize>(
    call: Call,
    dest: *mut c_void,
    source: *const c_void,
    blocks: Option<Strided>,
    pe: c_int,
) {
    let Some(blocks) = blocks else { return };
    let from = call.view("source", source.cast::<[u8; N]>(), blocks.span(call, blocks.sst));
    call.not_null("dest", dest, 1);
    let Strided { dst, sst, block, count } = blocks;
    let (dest, span) = (dest.cast::<[u8; N]>(), blocks.span(call, dst));
    if call.on_device(dest) {
        let to = call.view("dest", dest.cast_const(), span);
        return call.wait_on(pe, call.context.ibget(to, from, dst, sst, block, count, pe as usize));
    }
    // SAFETY: the caller vouches for the destination; the call returns when it has been written.
    let to = unsafe { SinkBuffer::new(dest, span) };
    call.wait_on(pe, call.context.ibget(to, from, dst, sst, block, count, pe as usize));
}

/// A routine that copies a block as it is, which the function and the method called `$copy` do.
macro_rules! block_routine {
    ($name:expr, $C:ty, $T:ty, $copy:ident) => {
        with_ctx_path!(
            $name,
            (dest: *mut $C, source: *const $C, nelems: usize, pe: c_int),
            |path: &AddressPath, dest: *mut $C, source: *const $C, nelems, pe| {
                // SAFETY: the caller vouches for its side.
                unsafe { path.$copy::<$T>(dest.cast(), source.cast(), nelems, pe) }
            },
            |call, dest: *mut $C, source: *const $C, nelems, pe| {
                $copy::<$T>(call, dest.cast(), source.cast(), nelems, pe)
            }
        );
    };
}

/// The routines that copy blocks, of elements of type `$T`, which C knows as pointers to `$C`.
macro_rules! block_routines {
    ($put:expr, $iput:expr, $ibput:expr, $get:expr, $iget:expr, $ibget:expr, $C:ty, $T:ty) => {
        block_routine!($put, $C, $T, put);
        block_routine!(concat!($put, "_nbi"), $C, $T, put_nbi);
        block_routine!($get, $C, $T, get);
        block_routine!(concat!($get, "_nbi"), $C, $T, get_nbi);
        with_ctx!(long $iput, (dest: *mut $C, source: *const $C, dst: isize, sst: isize, nelems: usize, pe: c_int), |call, dest: *mut $C, source: *const $C, dst, sst, nelems, pe| {
            put_blocks::<{ size_of::<$T>() }>(call, dest.cast(), source.cast(), Strided::new(call, dst, sst, 1, nelems), pe)
        });
        with_ctx!(long $iget, (dest: *mut $C, source: *const $C, dst: isize, sst: isize, nelems: usize, pe: c_int), |call, dest: *mut $C, source: *const $C, dst, sst, nelems, pe| {
            get_blocks::<{ size_of::<$T>() }>(call, dest.cast(), source.cast(), Strided::new(call, dst, sst, 1, nelems), pe)
        });
        with_ctx!(long $ibput, (dest: *mut $C, source: *const $C, dst: isize, sst: isize, bsize: usize, nblocks: usize, pe: c_int), |call, dest: *mut $C, source: *const $C, dst, sst, bsize, nblocks, pe| {
            put_blocks::<{ size_of::<$T>() }>(call, dest.cast(), source.cast(), Strided::new(call, dst, sst, bsize, nblocks), pe)
        });
        with_ctx!(long $ibget, (dest: *mut $C, source: *const $C, dst: isize, sst: isize, bsize: usize, nblocks: usize, pe: c_int), |call, dest: *mut $C, source: *const $C, dst, sst, bsize, nblocks, pe| {
            get_blocks::<{ size_of::<$T>() }>(call, dest.cast(), source.cast(), Strided::new(call, dst, sst, bsize, nblocks), pe)
        });
    };
}

macro_rules! typed_blocks {
    ($name:literal, $T:ty) => {
        block_routines!(
            concat!($name, "_put"),
            concat!($name, "_iput"),
            concat!($name, "_ibput"),
            concat!($name, "_get"),
            concat!($name, "_iget"),
            concat!($name, "_ibget"),
            $T,
            $T
        );
    };
}

macro_rules! sized_blocks {
    ($bits:literal, $T:ty) => {
        block_routines!(
            concat!("put", $bits),
            concat!("iput", $bits),
            concat!("ibput", $bits),
            concat!("get", $bits),
            concat!("iget", $bits),
            concat!("ibget", $bits),
            c_void,
            $T
        );
    };
}

macro_rules! one_value {
    ($name:literal, $T:ty) => {
        with_ctx_path!(concat!($name, "_p"), (dest: *mut $T, value: $T, pe: c_int), AddressPath::p::<$T>, p::<$T>);
        with_ctx_path!(concat!($name, "_g"), (source: *const $T, pe: c_int) -> $T, AddressPath::g::<$T>, g::<$T>);
    };
}

rma_types!(typed_blocks);
rma_types!(one_value);
typed_blocks!("longdouble", oxshmem::LongDouble);
sizes!(sized_blocks);

block_routine!("putmem", c_void, u8, put);
block_routine!("putmem_nbi", c_void, u8, put_nbi);
block_routine!("getmem", c_void, u8, get);
block_routine!("getmem_nbi", c_void, u8, get_nbi);
