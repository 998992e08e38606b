//! The symmetric heap (`OpenSHMEM 1.6 §9.3`).
//!
//! A C program owns a block by its address, so that the owners of the Rust API are kept here until
//! it is freed. What all PEs alike cannot have is null; what they ask for differently ends the job.
//! Null is also what comes of a partition that is not defined: the memory-kinds proposal leaves
//! it to programs to do without. As most programs do not look, the first such call of a job is
//! reported.

use std::{
    collections::BTreeMap,
    ffi::{c_int, c_long, c_void},
    fmt,
    ptr::null_mut,
    sync::{
        MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use oxshmem::{Error, Hints, Partition, Rejected, Space, SpaceKind, SymSlice, World};
use oxshmem_base::report;

use crate::{
    call::Call,
    export::export,
    tables::blocks::{Origin, OwnedBlock},
};

/// Alignment that suits any type.
const ANY_TYPE: usize = 16;

fn blocks(call: Call) -> MutexGuard<'static, BTreeMap<usize, OwnedBlock>> {
    call.global.blocks.owned.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Hands a block over to the program.
fn give(call: Call, block: SymSlice<u8>, from: Origin) -> *mut c_void {
    let pointer = call.global.addresses.of_block(&block);
    debug_assert!(pointer.addr().is_multiple_of(ANY_TYPE));
    blocks(call).insert(pointer.addr(), OwnedBlock { block, from, unclaimed: None });
    pointer.cast()
}

/// The program of a replacement gets what it has not allocated.
pub(crate) fn take_over(call: Call, world: &World) {
    for (number, memory) in world.unclaimed().into_iter().enumerate() {
        let block = memory.claim();
        let address = call.global.addresses.of_block(&block).addr();
        let owned = OwnedBlock { block, from: Origin::Space, unclaimed: Some(number) };
        blocks(call).insert(address, owned);
    }
}

/// Addresses of that, in the order in which it was allocated.
fn unclaimed(call: Call) -> Vec<*mut c_void> {
    let blocks = blocks(call);
    let of = |owned: &OwnedBlock| Some((owned.unclaimed?, call.global.addresses.of_block(&owned.block)));
    let mut found: Vec<(usize, *mut u8)> = blocks.values().filter_map(of).collect();
    found.sort_unstable_by_key(|&(number, _)| number);
    found.into_iter().map(|(_, pointer)| pointer.cast()).collect()
}

export!("shmemx_unclaimed", |name| (blocks: *mut *mut c_void, nblocks: usize) -> usize {
    let call = Call::long(name);
    call.not_null("blocks", blocks, nblocks);
    let unclaimed = unclaimed(call);
    // SAFETY: the caller has room for as many addresses.
    unsafe { std::ptr::copy_nonoverlapping(unclaimed.as_ptr(), blocks, unclaimed.len().min(nblocks)) };
    unclaimed.len()
});

/// Takes a block back: of that space, or, if none is named, of the default one or of a partition. A
/// pointer that is none ends the job.
fn take(call: Call, pointer: *mut c_void, named: Option<SpaceKind>) -> OwnedBlock {
    let space = named.unwrap_or(call.global.default_space);
    let address = pointer.addr();
    let mut blocks = blocks(call);
    if let Some(owned) = blocks.remove(&address) {
        let is_partitions = named.is_none() && owned.from == Origin::Partition;
        if owned.block.space() != space && !is_partitions {
            drop(blocks);
            call.fail(format_args!(
                "ptr = {address:#x} was allocated in the {} space, and is given back to the {space} space",
                owned.block.space()
            ));
        }
        return owned;
    }
    let before = blocks.range(..address).next_back().map(|(&start, owned)| (start, owned.block.len()));
    let inside = before.filter(|(start, len)| address - start < *len);
    drop(blocks);
    match inside {
        Some((start, len)) => call.fail(format_args!(
            "ptr = {address:#x} is not the start of a block: it is in that of {len} bytes at {start:#x}"
        )),
        None => call
            .fail(format_args!("ptr = {address:#x} is no block of the symmetric heap, or was freed before")),
    }
}

/// The barrier of an allocation completes what was begun on the default context; the allocation is
/// the rest of it.
fn complete(call: Call) {
    call.complete(call.context.quiet());
}

/// Whether an error is one that gives null, on all PEs alike. It is reported the first time.
fn is_no_room(call: Call, error: &Error) -> bool {
    let space = match error {
        Error::HeapExhausted { setting, .. } if setting.contains("GPU") => SpaceKind::Gpu,
        Error::HeapExhausted { .. } | Error::InvalidAlignment { .. } => SpaceKind::Cpu,
        _ => return false,
    };
    let (name, error) = (call.name, error.to_string());
    // The name of the routine is the one that the program knows.
    let why = error.split_once(": ").map_or(&*error, |(_, why)| why);
    if call.global.world.pe().settings().warn_heap && is_first(call, space, &call.global.blocks.no_room) {
        report(format_args!(
            "oxshmem: {name}: {why}; it returns null, as will others that are not reported (SHMEM_WARN_HEAP=off)"
        ));
    }
    true
}

/// Whether this PE reports for its job what has come to all PEs of a space, for the first time.
fn is_first(call: Call, space: SpaceKind, reported: &AtomicBool) -> bool {
    let pe = call.global.world.pe();
    let speaks = match space {
        SpaceKind::Gpu => (0..pe.me()).all(|other| !pe.has_device(other)),
        _ => pe.me() == 0,
    };
    // Relaxed: it is no more than a flag.
    speaks && !reported.swap(true, Ordering::Relaxed)
}

/// Makes an allocation. There may be no room for it, on all PEs alike. It is started when what came
/// before is complete: other PEs may go on as soon as this one has begun it.
fn allocated<F>(call: Call, from: Origin, allocate: impl FnOnce() -> F) -> *mut c_void
where
    F: Future<Output = oxshmem::Result<SymSlice<u8>>>,
{
    complete(call);
    match call.outcome(allocate) {
        Ok(block) => give(call, block, from),
        Err(error) if is_no_room(call, &error) => null_mut(),
        Err(Error::NoPartition { id, defined, .. }) => {
            tell_missing(call, format_args!("{id} is not defined: {}", Missing { id, defined: &defined }));
            null_mut()
        }
        Err(error) => {
            call.survive(error);
            null_mut()
        }
    }
}

/// Why there is no partition of a number that there might be.
struct Missing<'a> {
    id: usize,
    defined: &'a str,
}

impl fmt::Display for Missing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SMAX_SYMMETRIC_PARTITION{} is not set; those defined are {}", self.id, self.defined)
    }
}

/// One PE says the first time that there is no such partition, which is the same on all.
fn tell_missing(call: Call, what: fmt::Arguments<'_>) {
    if is_first(call, SpaceKind::Cpu, &call.global.blocks.no_partition) {
        let name = call.name;
        report(format_args!(
            "oxshmem: {name}: partition {what}; it returns null, as will others that are not reported"
        ));
    }
}

/// Allocates in a partition, if it is there and anything is asked for.
fn allocate_in<F>(call: Call, id: c_int, size: usize, with: impl FnOnce(Partition) -> F) -> *mut c_void
where
    F: Future<Output = oxshmem::Result<SymSlice<u8>>>,
{
    match usize::try_from(id).map(|id| call.global.world.partition(id)) {
        Ok(Ok(partition)) if size > 0 => return allocated(call, Origin::Partition, || with(partition)),
        Ok(Ok(_)) => {}
        Ok(Err(Error::NoPartition { id, defined, .. })) if (1..=127).contains(&id) => {
            tell_missing(call, format_args!("{id} is not defined: {}", Missing { id, defined: &defined }));
        }
        _ => tell_missing(call, format_args!("{id} is not from 1 to SHMEMX_MAX_PARTITION_ID")),
    }
    null_mut()
}

/// Allocates if anything is asked for.
fn allocate<F>(call: Call, size: usize, with: impl FnOnce() -> F) -> *mut c_void
where
    F: Future<Output = oxshmem::Result<SymSlice<u8>>>,
{
    if size == 0 { null_mut() } else { allocated(call, Origin::Space, with) }
}

/// `shmem_malloc`, for whatever routine.
pub(crate) fn malloc(call: Call, size: usize) -> *mut c_void {
    allocate(call, size, || call.global.world.alloc_aligned(size, ANY_TYPE))
}

/// `shmemx_kind_malloc`.
pub(crate) fn malloc_in_partition(call: Call, size: usize, id: c_int) -> *mut c_void {
    allocate_in(call, id, size, |partition| partition.alloc_aligned(size, ANY_TYPE))
}

/// `shmem_space_malloc`.
pub(crate) fn malloc_in(call: Call, space: &Space, size: usize) -> *mut c_void {
    allocate(call, size, || space.alloc_aligned(size, ANY_TYPE))
}

/// `shmem_calloc`, for whatever routine.
pub(crate) fn calloc(call: Call, count: usize, size: usize) -> *mut c_void {
    let bytes = count.saturating_mul(size);
    allocate(call, bytes, || call.global.world.alloc_zeroed(bytes))
}

/// `shmem_space_calloc`.
pub(crate) fn calloc_in(call: Call, space: &Space, count: usize, size: usize) -> *mut c_void {
    let bytes = count.saturating_mul(size);
    allocate(call, bytes, || space.alloc_zeroed(bytes))
}

/// An alignment that a routine was given, such that it suits any type. The allocation refuses what
/// is no power of two.
fn alignment(alignment: usize) -> usize {
    if alignment.is_power_of_two() { alignment.max(ANY_TYPE) } else { alignment }
}

/// `shmem_align`, for whatever routine.
pub(crate) fn align(call: Call, align: usize, size: usize) -> *mut c_void {
    let align = alignment(align);
    allocate(call, size, || call.global.world.alloc_aligned(size, align))
}

/// `shmemx_kind_align`.
pub(crate) fn align_in_partition(call: Call, align: usize, size: usize, id: c_int) -> *mut c_void {
    let align = alignment(align);
    allocate_in(call, id, size, |partition| partition.alloc_aligned(size, align))
}

fn malloc_with_hints(call: Call, size: usize, hints: c_long) -> *mut c_void {
    let hints = Hints::from_bits(hints);
    allocate(call, size, || call.global.world.alloc_with_hints(size, hints))
}

/// `shmem_free`.
fn free(call: Call, pointer: *mut c_void) {
    give_back(call, None, pointer);
}

/// `shmem_space_free`.
pub(crate) fn free_in(call: Call, space: SpaceKind, pointer: *mut c_void) {
    give_back(call, Some(space), pointer);
}

fn give_back(call: Call, named: Option<SpaceKind>, pointer: *mut c_void) {
    if pointer.is_null() {
        return;
    }
    let OwnedBlock { block, .. } = take(call, pointer, named);
    complete(call);
    call.collective(|| {
        let freed = call.global.world.free(block);
        async move { freed.await.map_err(Error::from) }
    });
}

fn realloc(call: Call, pointer: *mut c_void, size: usize) -> *mut c_void {
    if pointer.is_null() {
        return malloc(call, size);
    }
    if size == 0 {
        free(call, pointer);
        return null_mut();
    }
    let OwnedBlock { block, from, .. } = take(call, pointer, None);
    complete(call);
    match call.outcome(|| call.global.world.realloc(block, size)) {
        Ok(block) => give(call, block, from),
        Err(Rejected { error, buffer }) if is_no_room(call, &error) => {
            give(call, buffer, from);
            null_mut()
        }
        Err(Rejected { error, buffer }) => {
            call.survive(error);
            give(call, buffer, from);
            null_mut()
        }
    }
}

/// A routine and its deprecated name.
macro_rules! twice {
    ($new:literal, $old:literal, ($($arg:ident: $ty:ty),*) $(-> $ret:ty)?, $body:expr) => {
        export!($new, |name| ($($arg: $ty),*) $(-> $ret)? { $body(Call::new(name), $($arg),*) });
        export!($old, |name| ($($arg: $ty),*) $(-> $ret)? { $body(Call::new(name), $($arg),*) });
    };
}

twice!("shmem_malloc", "shmalloc", (size: usize) -> *mut c_void, malloc);
twice!("shmem_align", "shmemalign", (alignment: usize, size: usize) -> *mut c_void, align);
twice!("shmem_realloc", "shrealloc", (ptr: *mut c_void, size: usize) -> *mut c_void, realloc);
twice!("shmem_free", "shfree", (ptr: *mut c_void), free);

export!("shmem_calloc", |name| (count: usize, size: usize) -> *mut c_void {
    calloc(Call::new(name), count, size)
});

export!("shmem_malloc_with_hints", |name| (size: usize, hints: c_long) -> *mut c_void {
    malloc_with_hints(Call::new(name), size, hints)
});
