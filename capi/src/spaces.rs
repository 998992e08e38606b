//! Memory spaces, and memory kinds.
//!
//! The heap of the CPU space may have partitions, of which the memory-kinds proposal makes the
//! first that of `shmem_malloc`.

use std::{
    ffi::{c_int, c_long, c_void},
    ptr::null_mut,
};

use oxshmem::{Capabilities, DeviceHandle, Error, Space, SpaceKind};

use crate::{
    call::Call,
    export::export,
    memory,
    state::{Global, current},
    teams::{self, TeamHandle, find},
};

/// `shmem_space_t`: one of the numbers below.
type SpaceHandle = *mut c_void;

/// Handles, of which the header has `SHMEM_SPACE_INVALID` only; it asks for the others.
const INVALID: usize = 0;
const CPU: usize = 1;
const GPU: usize = 2;

/// What the header asks for spaces by.
const DEFAULT_SPACE: c_int = 0;
const CPU_SPACE: c_int = 1;
const GPU_SPACE: c_int = 2;

/// What a routine returns that cannot do what it is to do.
const REFUSED: c_int = -1;

/// The handle of a space that this PE has, or `SHMEM_SPACE_INVALID`.
fn handle(global: &Global, kind: SpaceKind) -> SpaceHandle {
    let number = match kind {
        SpaceKind::Cpu => CPU,
        SpaceKind::Gpu => GPU,
        SpaceKind::Default => return handle(global, global.default_space),
    };
    let there = global.spaces[number - CPU].is_some();
    std::ptr::without_provenance_mut(if there { number } else { INVALID })
}

/// The space with that handle; none if it is invalid. What is neither ends the job.
fn find_space(call: Call, space: SpaceHandle) -> Option<&'static Space> {
    let found = match space.addr() {
        INVALID => return None,
        number @ CPU..=GPU => call.global.spaces[number - CPU].as_ref(),
        _ => None,
    };
    if found.is_none() {
        call.fail(format_args!(
            "space = {:#x} is no space of this PE; ask shmem_space_is_available first",
            space.addr()
        ));
    }
    found
}

/// Says which space something is in, if it is in one.
fn answer(call: Call, space: *mut SpaceHandle, found: Option<SpaceKind>) -> c_int {
    call.not_null("space", space, 1);
    let handle = found.map_or(null_mut(), |kind| handle(call.global, kind));
    // SAFETY: the caller's pointer to a handle.
    unsafe { *space = handle };
    if handle.is_null() { REFUSED } else { 0 }
}

/// The space of a symmetric object.
fn space_of(call: Call, pointer: *const c_void) -> Option<SpaceKind> {
    let addresses = &call.global.addresses;
    match addresses.contains(pointer.addr()) {
        true if addresses.on_device(pointer.addr()) => Some(SpaceKind::Gpu),
        true => Some(SpaceKind::Cpu),
        false => None,
    }
}

/// The space that the header asks for by this number.
pub(crate) fn space(which: c_int) -> SpaceHandle {
    // Programs may keep what they have asked for before the beginning: it is no space then.
    match (current(), which) {
        (Some(global), DEFAULT_SPACE) => handle(global, SpaceKind::Default),
        (Some(global), CPU_SPACE) => handle(global, SpaceKind::Cpu),
        (Some(global), GPU_SPACE) => handle(global, SpaceKind::Gpu),
        _ => null_mut(),
    }
}

/// The team of the space that the header asks for by this number.
pub(crate) fn space_team(which: c_int) -> TeamHandle {
    let has = |number: usize| current().is_some_and(|global| global.spaces[number].is_some());
    teams::predefined(match which {
        CPU_SPACE if has(0) => teams::CPU,
        GPU_SPACE if has(1) => teams::GPU,
        _ => teams::INVALID,
    })
}

export!("shmem_impl_space", |name| (which: c_int) -> SpaceHandle { space(which) });

export!("shmem_impl_space_team", |name| (which: c_int) -> TeamHandle { space_team(which) });

export!("shmem_space_is_available", |name| (space: SpaceHandle) -> c_int {
    if find_space(Call::new(name), space).is_some() { 0 } else { REFUSED }
});

export!("shmem_space_malloc", |name| (space: SpaceHandle, size: usize) -> *mut c_void {
    let call = Call::new(name);
    find_space(call, space).map_or(null_mut(), |space| memory::malloc_in(call, space, size))
});

export!("shmem_space_calloc", |name| (space: SpaceHandle, count: usize, size: usize) -> *mut c_void {
    let call = Call::new(name);
    find_space(call, space).map_or(null_mut(), |space| memory::calloc_in(call, space, count, size))
});

export!("shmem_space_free", |name| (space: SpaceHandle, ptr: *mut c_void) {
    let call = Call::new(name);
    if let Some(space) = find_space(call, space) {
        memory::free_in(call, space.kind(), ptr);
    }
});

export!("shmem_get_space", |name| (ptr: *mut c_void, space: *mut SpaceHandle) -> c_int {
    let call = Call::new(name);
    answer(call, space, space_of(call, ptr))
});

export!("shmem_team_get_space", |name| (team: TeamHandle, space: *mut SpaceHandle) -> c_int {
    let call = Call::new(name);
    // Teams have no space of their own, but for those that are made for one: all of them have the
    // default space.
    let found = find(call, team).map(|_| match team.addr() {
        teams::CPU => SpaceKind::Cpu,
        teams::GPU => SpaceKind::Gpu,
        _ => SpaceKind::Default,
    });
    answer(call, space, found)
});

export!("shmem_space_ptr", |name| (space: SpaceHandle, dest: *const c_void, pe: c_int) -> *mut c_void {
    let call = Call::new(name);
    let Ok(pe) = usize::try_from(pe) else { return null_mut() };
    let Some(space) = find_space(call, space).filter(|space| space_of(call, dest) == Some(space.kind())) else {
        return null_mut();
    };
    if space.kind() == SpaceKind::Gpu {
        return call.global.addresses.device_pointer(dest.cast(), pe).cast();
    }
    call.global.addresses.pointer(dest.cast::<u8>().cast_mut(), pe, call.global.world).cast()
});

export!("shmemx_space_capabilities", |name| (space: SpaceHandle) -> c_long {
    let Some(space) = find_space(Call::new(name), space) else { return 0 };
    let Capabilities { rma, atomics, collectives, direct_access, world_access } = space.capabilities();
    let bits = [rma, atomics, collectives, direct_access, world_access];
    bits.into_iter().enumerate().map(|(i, has)| c_long::from(has) << i).sum()
});

export!("shmemx_device_handle", |name| (handle: *mut DeviceHandle) -> c_int {
    let call = Call::new(name);
    call.not_null("handle", handle, 1);
    match call.global.world.device_handle() {
        Ok(made) => {
            // SAFETY: the caller's pointer to a handle.
            unsafe { handle.write(made) };
            0
        }
        Err(Error::OutsideSpace { .. }) => REFUSED,
        Err(error) => call.failed(None, error),
    }
});

export!("shmemx_kind_malloc", |name| (size: usize, partition_id: c_int) -> *mut c_void {
    memory::malloc_in_partition(Call::new(name), size, partition_id)
});

export!("shmemx_kind_align", |name| (alignment: usize, size: usize, partition_id: c_int) -> *mut c_void {
    memory::align_in_partition(Call::new(name), alignment, size, partition_id)
});
