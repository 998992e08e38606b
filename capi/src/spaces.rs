//! Memory spaces, as the proposal asks for them of a host without other memory; and memory kinds.
//!
//! There is one space, host memory, which is the default one: its heap is the symmetric heap, its team the world. The
//! heap may have partitions, of which the memory-kinds proposal makes the first that of `shmem_malloc`.

use std::{
    ffi::{c_int, c_void},
    ptr::null_mut,
};

use crate::{
    call::Call,
    export::export,
    memory,
    teams::{self, TeamHandle, find},
};

/// `shmem_space_t`: one of the numbers below.
type SpaceHandle = *mut c_void;

/// Handles, of which the header has `SHMEM_SPACE_INVALID` only; it asks for the others.
const INVALID: usize = 0;
const HOST: usize = 1;

/// What the header asks for spaces by.
const DEFAULT_SPACE: c_int = 0;
const CPU_SPACE: c_int = 1;

/// What a routine returns that cannot do what it is to do.
const REFUSED: c_int = -1;

fn space(number: usize) -> SpaceHandle {
    std::ptr::without_provenance_mut(number)
}

/// Whether that is the space there is. What is neither that nor invalid ends the job.
fn is_there(call: Call, space: SpaceHandle) -> bool {
    match space.addr() {
        INVALID => false,
        HOST => true,
        other => call.fail(format_args!("space = {other:#x} is no space")),
    }
}

export!("shmem_impl_space", |name| (which: c_int) -> SpaceHandle {
    let there = [DEFAULT_SPACE, CPU_SPACE].contains(&which);
    space(if there { HOST } else { INVALID })
});

export!("shmem_impl_space_team", |name| (which: c_int) -> TeamHandle {
    teams::predefined(if which == CPU_SPACE { teams::WORLD } else { teams::INVALID })
});

export!("shmem_space_is_available", |name| (space: SpaceHandle) -> c_int {
    if is_there(Call::new(name), space) { 0 } else { REFUSED }
});

export!("shmem_space_malloc", |name| (space: SpaceHandle, size: usize) -> *mut c_void {
    let call = Call::new(name);
    if is_there(call, space) { memory::malloc(call, size) } else { null_mut() }
});

export!("shmem_space_calloc", |name| (space: SpaceHandle, count: usize, size: usize) -> *mut c_void {
    let call = Call::new(name);
    if is_there(call, space) { memory::calloc(call, count, size) } else { null_mut() }
});

export!("shmem_space_free", |name| (space: SpaceHandle, ptr: *mut c_void) {
    let call = Call::new(name);
    if is_there(call, space) {
        memory::free(call, ptr);
    }
});

export!("shmem_get_space", |name| (ptr: *mut c_void, space: *mut SpaceHandle) -> c_int {
    let call = Call::new(name);
    call.not_null("space", space, 1);
    let found = call.global.addresses.contains(ptr.addr());
    // SAFETY: the caller's pointer to a handle.
    unsafe { *space = self::space(if found { HOST } else { INVALID }) };
    if found { 0 } else { REFUSED }
});

export!("shmem_team_get_space", |name| (team: TeamHandle, space: *mut SpaceHandle) -> c_int {
    let call = Call::new(name);
    call.not_null("space", space, 1);
    let found = find(call, team).is_some();
    // SAFETY: the caller's pointer to a handle.
    unsafe { *space = self::space(if found { HOST } else { INVALID }) };
    if found { 0 } else { REFUSED }
});

export!("shmem_space_ptr", |name| (space: SpaceHandle, dest: *const c_void, pe: c_int) -> *mut c_void {
    let call = Call::new(name);
    let Ok(pe) = usize::try_from(pe) else { return null_mut() };
    if !is_there(call, space) {
        return null_mut();
    }
    call.global.addresses.pointer(dest.cast::<u8>().cast_mut(), pe, call.global.world).cast()
});

export!("shmemx_kind_malloc", |name| (size: usize, partition_id: c_int) -> *mut c_void {
    memory::malloc_in(Call::new(name), size, partition_id)
});

export!("shmemx_kind_align", |name| (alignment: usize, size: usize, partition_id: c_int) -> *mut c_void {
    memory::align_in(Call::new(name), alignment, size, partition_id)
});
