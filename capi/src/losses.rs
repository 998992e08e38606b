//! Jobs that go on when a PE is lost: extensions (`shmemx_…`).
//!
//! In such a job an error with a lost PE does not end the program. It stays with the context that
//! it came on, until the program asks for it. Routines that return a value return 0 then, and
//! collectives that return an `int` something else.

use std::{
    ffi::c_int,
    ptr,
    sync::atomic::{AtomicBool, Ordering},
};

use oxshmem::{Error, Result, Team, World};

use crate::{
    call::{Call, CtxHandle, is_invalid},
    export::export,
    memory,
    state::{current, replace},
    tables::errors::{PE_LOST, is_survived},
    teams::{self, NO_TEAM, TeamHandle},
};

/// Whether the program has asked to go on without lost PEs.
static ASKED: AtomicBool = AtomicBool::new(false);

/// Whether the program has asked to go on without lost PEs.
pub(crate) fn survives() -> bool {
    // Relaxed: it is set before init.
    ASKED.load(Ordering::Relaxed)
}

export!("shmemx_survive_loss", |name| () -> c_int {
    let too_late = current().is_some();
    // Relaxed: it is read in init.
    ASKED.fetch_or(!too_late, Ordering::Relaxed);
    c_int::from(too_late)
});

export!("shmemx_losses", |name| (pes: *mut c_int, npes: usize) -> c_int {
    let call = Call::new(name);
    call.not_null("pes", pes, npes);
    let losses = call.global.world.pe().losses().map(|losses| losses.since(0)).unwrap_or_default();
    for (i, loss) in losses.iter().enumerate().take(npes) {
        // SAFETY: the caller has room for as many numbers.
        unsafe { *pes.add(i) = loss.pe as c_int };
    }
    losses.len() as c_int
});

export!("shmemx_is_lost", |name| (pe: c_int) -> c_int {
    let call = Call::new(name);
    c_int::from(usize::try_from(pe).is_ok_and(|pe| call.global.world.is_lost(pe)))
});

/// What those that are there have made, if they have, and what their routine returns.
fn of_those_there<T>(call: Call, outcome: Result<T>) -> (Option<T>, c_int) {
    match outcome {
        Ok(made) => (Some(made), 0),
        Err(Error::Unsupported { .. } | Error::TeamsExhausted { .. } | Error::Bootstrap { .. }) => {
            (None, NO_TEAM)
        }
        Err(error) if is_survived(call.global.world, &error) => (None, PE_LOST),
        Err(error) => call.failed(None, error),
    }
}

export!("shmemx_team_survivors", |name| (
    team: TeamHandle,
    new_team: *mut TeamHandle,
    completed: *mut u64,
) -> c_int {
    let call = Call::long(name);
    call.not_null("new_team", new_team, 1);
    let world = call.global.world;
    let survivors = |team: &'static Team| async move {
        // Those of the world share its memory, too.
        if team == world.team() { world.survivors().await } else { team.survivors().await }
    };
    let outcome = teams::find(call, team).map(|team| call.outcome(|| survivors(team)));
    let (made, status) = outcome.map_or((None, NO_TEAM), |outcome| of_those_there(call, outcome));
    memory::take_over(call, world);
    if let Some(made) = made.as_ref().filter(|_| !completed.is_null()) {
        // SAFETY: the caller has room for a number of each member of the old team, which are more.
        unsafe { ptr::copy_nonoverlapping(made.completed.as_ptr(), completed, made.completed.len()) };
    }
    // SAFETY: the caller's pointer to a handle.
    unsafe { *new_team = teams::give(made.map(|made| made.team)) };
    status
});

/// Whether threads of some PE may call routines at once. Collective over all PEs.
async fn any_threads(world: &World, threads: bool) -> Result<bool> {
    let all = world.pe().bootstrap().exchange(vec![u8::from(threads)]).await?;
    Ok(all.iter().any(|it| *it == [1]))
}

export!("shmemx_is_replacement", |name| () -> c_int {
    c_int::from(Call::new(name).global.world.is_replacement())
});

export!("shmemx_rebuilt", |name| () -> c_int {
    let call = Call::long(name);
    call.complete(call.context.quiet());
    let (made, status) = of_those_there(call, call.outcome(|| call.global.world.rebuilt()));
    if let Some(world) = made {
        memory::take_over(call, &world);
        let threads = call.value(call.outcome(|| any_threads(&world, call.global.sets.threads)));
        replace(world, threads);
    }
    status
});

export!("shmemx_ctx_error", |name| (ctx: CtxHandle) -> c_int {
    if is_invalid(ctx) {
        return 0;
    }
    let call = Call::on(name, ctx);
    call.global.errors.take(call.context)
});
