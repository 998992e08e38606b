//! Teams (`OpenSHMEM 1.6 §9.4`), and what takes a team and nothing else.
//!
//! The last teams that were destroyed are kept for a while, so that a program which uses one
//! gets an error that says so.

use std::{
    ffi::{c_int, c_long, c_void},
    ptr::null_mut,
    sync::atomic::Ordering,
};

use oxshmem::{Error, Team, TeamConfig};

use crate::{
    call::{Call, GREATEST_PREDEFINED},
    export::export,
    tables::{
        contexts::end_all_of,
        teams::{self as table, MadeTeam},
    },
};

pub(crate) use crate::tables::teams::TeamHandle;

/// Predefined handles, as the header has them.
pub(crate) const INVALID: usize = 0;
pub(crate) const WORLD: usize = 1;
pub(crate) const SHARED: usize = 2;
/// The handles that the header's functions for the teams of spaces return.
pub(crate) const CPU: usize = 3;
pub(crate) const GPU: usize = 4;

/// What a collective on `SHMEM_TEAM_INVALID` returns.
pub(crate) const NO_TEAM: c_int = -1;

/// `SHMEM_TEAM_NUM_CONTEXTS`.
const NUM_CONTEXTS: c_long = 1;

/// `shmem_team_config_t`.
#[derive(Debug)]
#[repr(C)]
struct CTeamConfig {
    num_contexts: c_int,
}

/// A predefined handle.
pub(crate) fn predefined(number: usize) -> TeamHandle {
    std::ptr::without_provenance_mut(number)
}

/// The team with that handle; none if it is `SHMEM_TEAM_INVALID`. What else is no team ends the
/// job.
#[inline(never)]
pub(crate) fn find(call: Call, handle: TeamHandle) -> Option<&'static Team> {
    named(call, "team", handle)
}

#[inline(always)]
fn named(call: Call, what: &str, handle: TeamHandle) -> Option<&'static Team> {
    match handle.addr() {
        WORLD => Some(call.global.world.team()),
        INVALID => None,
        SHARED => Some(call.global.world.team_shared()),
        CPU | GPU => match &call.global.spaces[handle.addr() - CPU] {
            Some(space) => Some(space.team()),
            None => call.fail(format_args!(
                "{what} is the team of a space that this PE does not have; ask shmem_space_is_available first"
            )),
        },
        number if number <= GREATEST_PREDEFINED => call.fail(format_args!(
            "{what} = {number:#x} is no team; take a predefined one, or what a split gave"
        )),
        address => {
            // SAFETY: a handle is what this library has given out: the caller's word
            // (`OpenSHMEM 1.6 §9.4`). It lives on for a while after `shmem_team_destroy`.
            let made: &'static MadeTeam = unsafe { &*handle };
            // Relaxed: a flag for mistakes, not for synchronisation.
            if made.destroyed.load(Ordering::Relaxed) {
                call.fail(format_args!("{what} = {address:#x} was destroyed before; split it again"));
            }
            Some(&made.team)
        }
    }
}

/// The number of a PE, if it can be one.
fn number(pe: usize) -> c_int {
    c_int::try_from(pe).unwrap_or(NO_TEAM)
}

fn config(call: Call, what: &str, config: *const CTeamConfig, mask: c_long) -> TeamConfig {
    if mask == 0 {
        return TeamConfig::default();
    }
    if config.is_null() {
        call.fail(format_args!("{what} is null, and its mask is {mask:#x}; give it, or a mask of 0"));
    }
    if mask & NUM_CONTEXTS == 0 {
        return TeamConfig::default();
    }
    // SAFETY: the caller's pointer to a configuration.
    let num_contexts = unsafe { (*config).num_contexts };
    match usize::try_from(num_contexts) {
        Ok(num_contexts) => TeamConfig { num_contexts },
        Err(_) => call.fail(format_args!("num_contexts = {num_contexts} in {what} is negative")),
    }
}

/// Hands a team over to the program.
pub(crate) fn give(team: Option<Team>) -> TeamHandle {
    match team {
        Some(team) => table::add(team),
        None => predefined(INVALID),
    }
}

/// The teams of a split, and what it returns. What all PEs of the parent are refused alike is no
/// error.
fn split<T, F>(call: Call, make: impl FnOnce() -> F) -> (T, c_int)
where
    T: Default,
    F: Future<Output = oxshmem::Result<T>>,
{
    match call.outcome(make) {
        Ok(teams) => (teams, 0),
        Err(Error::InvalidTriplet { .. } | Error::InvalidRange { .. } | Error::TeamsExhausted { .. }) => {
            (T::default(), NO_TEAM)
        }
        Err(error) => (T::default(), call.survive(error)),
    }
}

fn destroy(call: Call, handle: TeamHandle) {
    if [WORLD, SHARED, CPU, GPU].contains(&handle.addr()) {
        call.fail(format_args!(
            "team = {:#x} is a predefined team, which lasts as long as the job",
            handle.addr()
        ));
    }
    let Some(team) = find(call, handle) else { return };
    call.collective(|| team.destroy());
    end_all_of(handle.addr());
    // SAFETY: `find` has found it alive. It is no more than one call that destroys a team.
    unsafe { table::end(handle) };
}

export!("shmem_team_my_pe", |name| (team: TeamHandle) -> c_int {
    find(Call::new(name), team).map_or(NO_TEAM, |team| number(team.my_pe()))
});

export!("shmem_team_n_pes", |name| (team: TeamHandle) -> c_int {
    find(Call::new(name), team).map_or(NO_TEAM, |team| number(team.n_pes()))
});

export!("shmem_team_get_config", |name| (team: TeamHandle, config_mask: c_long, config: *mut CTeamConfig) -> c_int {
    let call = Call::new(name);
    let Some(team) = find(call, team) else { return NO_TEAM };
    if config_mask == 0 {
        return 0;
    }
    if config.is_null() {
        call.fail(format_args!("config is null, and config_mask is {config_mask:#x}; give a config, or a mask of 0"));
    }
    if config_mask & NUM_CONTEXTS != 0 {
        // SAFETY: the caller's pointer to a configuration.
        unsafe { (*config).num_contexts = number(team.config().num_contexts) };
    }
    0
});

export!("shmem_team_translate_pe", |name| (src_team: TeamHandle, src_pe: c_int, dest_team: TeamHandle) -> c_int {
    let call = Call::new(name);
    let (src, dest) = (named(call, "src_team", src_team), named(call, "dest_team", dest_team));
    let (Some(src), Some(dest), Ok(pe)) = (src, dest, usize::try_from(src_pe)) else { return NO_TEAM };
    src.translate_pe(pe, dest).map_or(NO_TEAM, number)
});

export!("shmem_team_split_strided", |name| (
    parent_team: TeamHandle,
    start: c_int,
    stride: c_int,
    size: c_int,
    config: *const CTeamConfig,
    config_mask: c_long,
    new_team: *mut TeamHandle,
) -> c_int {
    let call = Call::new(name);
    call.not_null("new_team", new_team, 1);
    let config = self::config(call, "config", config, config_mask);
    let (made, status) = match named(call, "parent_team", parent_team) {
        // Negative numbers become great ones, which name no team either.
        Some(parent) => split(call, || {
            parent.split_strided_with(start as usize, stride as isize, size as usize, config)
        }),
        None => (None, NO_TEAM),
    };
    // SAFETY: the caller's pointer to a handle.
    unsafe { *new_team = give(made) };
    status
});

export!("shmem_team_split_2d", |name| (
    parent_team: TeamHandle,
    xrange: c_int,
    xaxis_config: *const CTeamConfig,
    xaxis_mask: c_long,
    xaxis_team: *mut TeamHandle,
    yaxis_config: *const CTeamConfig,
    yaxis_mask: c_long,
    yaxis_team: *mut TeamHandle,
) -> c_int {
    let call = Call::new(name);
    call.not_null("xaxis_team", xaxis_team, 1);
    call.not_null("yaxis_team", yaxis_team, 1);
    let x_config = config(call, "xaxis_config", xaxis_config, xaxis_mask);
    let y_config = config(call, "yaxis_config", yaxis_config, yaxis_mask);
    let (made, status) = match named(call, "parent_team", parent_team) {
        Some(parent) => {
            // No range is refused like a negative one.
            let xrange = usize::try_from(xrange).unwrap_or(0);
            split(call, || {
                let made = parent.split_2d_with(xrange, x_config, y_config);
                async { made.await.map(Some) }
            })
        }
        None => (None, NO_TEAM),
    };
    let (row, column) = made.unzip();
    // SAFETY: the caller's pointers to a handle each.
    unsafe {
        *xaxis_team = give(row);
        *yaxis_team = give(column);
    }
    status
});

export!("shmem_team_destroy", |name| (team: TeamHandle) { destroy(Call::new(name), team) });

export!("shmem_team_sync", |name| (team: TeamHandle) -> c_int {
    let call = Call::new(name);
    let Some(team) = find(call, team) else { return NO_TEAM };
    call.collective(|| team.sync())
});

export!("shmem_team_ptr", |name| (team: TeamHandle, dest: *const c_void, pe: c_int) -> *mut c_void {
    let call = Call::new(name);
    let pe = usize::try_from(pe).ok();
    match find(call, team).zip(pe).and_then(|(team, pe)| team.world_pe(pe)) {
        Some(pe) => call.global.addresses.pointer(dest.cast::<u8>().cast_mut(), pe, call.global.world).cast(),
        None => null_mut(),
    }
});

export!("shmem_team_is_valid", |name| (team: TeamHandle) -> c_int {
    c_int::from(find(Call::new(name), team).is_some())
});
