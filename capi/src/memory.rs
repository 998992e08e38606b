//! The symmetric heap (`OpenSHMEM 1.6 §9.3`).
//!
//! A C program owns a block by its address, so that the owners of the Rust API are kept here until it is freed. What all
//! PEs alike cannot have is null; what they ask for differently ends the job. Null is also what comes of a partition that
//! nobody has defined: the memory-kinds proposal leaves it to programs to do without. As most programs do not look, the
//! first such call of a job is reported.

use std::{
    collections::BTreeMap,
    ffi::{c_int, c_long, c_void},
    ptr::null_mut,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use oxshmem::{Error, Hints, Partition, Rejected, SymSlice};

use crate::{call::Call, export::export};

/// Alignment that suits any type.
const ANY_TYPE: usize = 16;

/// The blocks that the program has, by their addresses.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    owned: Mutex<BTreeMap<usize, SymSlice<u8>>>,
    /// Whether it has been said that there is no such partition.
    said: AtomicBool,
}

fn blocks(call: Call) -> MutexGuard<'static, BTreeMap<usize, SymSlice<u8>>> {
    call.global.blocks.owned.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Hands a block over to the program.
fn give(call: Call, block: SymSlice<u8>) -> *mut c_void {
    let pointer = call.global.addresses.of_heap(block.allocation().offset());
    debug_assert!(pointer.addr().is_multiple_of(ANY_TYPE));
    blocks(call).insert(pointer.addr(), block);
    pointer.cast()
}

/// Takes a block back. A pointer that is none ends the job.
fn take(call: Call, pointer: *mut c_void) -> SymSlice<u8> {
    let address = pointer.addr();
    let mut blocks = blocks(call);
    if let Some(block) = blocks.remove(&address) {
        return block;
    }
    let inside = blocks.range(..address).next_back().filter(|(start, block)| address - *start < block.len());
    let inside = inside.map(|(&start, block)| (start, block.len()));
    drop(blocks);
    match inside {
        Some((start, len)) => call.fail(format_args!(
            "ptr = {address:#x} is not the start of a block: it is in that of {len} bytes at {start:#x}"
        )),
        None => call
            .fail(format_args!("ptr = {address:#x} is no block of the symmetric heap, or was freed before")),
    }
}

/// The barrier of an allocation completes what was begun on the default context; the allocation is the rest of it.
fn complete(call: Call) {
    call.wait(call.context.quiet());
}

fn is_no_room(error: &Error) -> bool {
    matches!(error, Error::HeapExhausted { .. } | Error::InvalidAlignment { .. })
}

/// Waits for an allocation. There may be no room for it, on all PEs alike.
fn allocated(call: Call, allocation: impl Future<Output = oxshmem::Result<SymSlice<u8>>>) -> *mut c_void {
    complete(call);
    match call.output(allocation) {
        Ok(block) => give(call, block),
        Err(error) if is_no_room(&error) => null_mut(),
        Err(error) => call.failed(None, error),
    }
}

/// The partition of what names none.
pub(crate) const FIRST_PARTITION: c_int = 1;

/// A partition; if there is none of that number, which is the same on all PEs, one of them says so the first time.
fn partition(call: Call, id: c_int) -> Option<Partition> {
    let error = match usize::try_from(id).map(|id| call.global.world.partition(id)) {
        Ok(Ok(partition)) => return Some(partition),
        Ok(Err(error)) => Some(error),
        Err(_) => None,
    };
    // Relaxed: it is no more than a flag.
    if call.global.world.my_pe() == 0 && !call.global.blocks.said.swap(true, Ordering::Relaxed) {
        let why = match error {
            Some(Error::NoPartition { defined, .. }) if (1..=127).contains(&id) => {
                format!(
                    "is not defined: SMAX_SYMMETRIC_PARTITION{id} is not set; those defined are {defined}"
                )
            }
            _ => "is not from 1 to SHMEMX_MAX_PARTITION_ID".to_owned(),
        };
        let name = call.name;
        eprintln!(
            "oxshmem: {name}: partition {id} {why}; it returns null, as will others that are not reported"
        );
    }
    None
}

/// Allocates in a partition, if it is there and anything is asked for.
fn allocate<F>(call: Call, id: c_int, size: usize, with: impl FnOnce(Partition) -> F) -> *mut c_void
where
    F: Future<Output = oxshmem::Result<SymSlice<u8>>>,
{
    match partition(call, id) {
        Some(partition) if size > 0 => allocated(call, with(partition)),
        _ => null_mut(),
    }
}

/// `shmem_malloc`, for whatever routine.
pub(crate) fn malloc(call: Call, size: usize) -> *mut c_void {
    malloc_in(call, size, FIRST_PARTITION)
}

/// The same in any partition.
pub(crate) fn malloc_in(call: Call, size: usize, id: c_int) -> *mut c_void {
    allocate(call, id, size, |partition| partition.alloc_aligned(size, ANY_TYPE))
}

/// `shmem_calloc`, for whatever routine.
pub(crate) fn calloc(call: Call, count: usize, size: usize) -> *mut c_void {
    let bytes = count.saturating_mul(size);
    allocate(call, FIRST_PARTITION, bytes, |partition| partition.alloc_zeroed(bytes))
}

/// `shmem_align`, for whatever routine.
pub(crate) fn align(call: Call, alignment: usize, size: usize) -> *mut c_void {
    align_in(call, alignment, size, FIRST_PARTITION)
}

/// The same in any partition.
pub(crate) fn align_in(call: Call, alignment: usize, size: usize, id: c_int) -> *mut c_void {
    let pointer = size_of::<*mut c_void>();
    if !alignment.is_power_of_two() || alignment < pointer {
        call.fail(format_args!(
            "alignment = {alignment} is not a power of two that is a multiple of {pointer}"
        ));
    }
    allocate(call, id, size, |partition| partition.alloc_aligned(size, alignment.max(ANY_TYPE)))
}

fn malloc_with_hints(call: Call, size: usize, hints: c_long) -> *mut c_void {
    let hints = Hints::from_bits(hints);
    allocate(call, FIRST_PARTITION, size, |partition| partition.alloc_with_hints(size, hints))
}

/// `shmem_free`, for whatever routine.
pub(crate) fn free(call: Call, pointer: *mut c_void) {
    if pointer.is_null() {
        return;
    }
    let block = take(call, pointer);
    complete(call);
    call.wait(call.global.world.free(block));
}

fn realloc(call: Call, pointer: *mut c_void, size: usize) -> *mut c_void {
    if pointer.is_null() {
        return malloc(call, size);
    }
    if size == 0 {
        free(call, pointer);
        return null_mut();
    }
    let block = take(call, pointer);
    complete(call);
    match call.output(call.global.world.realloc(block, size)) {
        Ok(block) => give(call, block),
        Err(Rejected { error, buffer }) if is_no_room(&error) => {
            give(call, buffer);
            null_mut()
        }
        Err(Rejected { error, .. }) => call.failed(None, error),
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
