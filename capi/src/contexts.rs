//! Contexts (`OpenSHMEM 1.6 §9.5`).
//!
//! A context from here may be used by any thread, whatever its options: those that restrict its use ask for nothing. As
//! with teams, the last ones that were destroyed are kept for a while. They reach no PE any more, so that operations on
//! one fail without a look at whether it is alive.

use std::{
    collections::{BTreeSet, VecDeque},
    ffi::{c_int, c_long},
    sync::{Mutex, MutexGuard, PoisonError},
};

use oxshmem::{ContextOptions, Team};
use oxshmem_ops::direct::Direct;

use crate::{
    call::{Call, CtxHandle, GREATEST_PREDEFINED, Made},
    export::export,
    teams::{self, TeamHandle},
};

/// Predefined handles, as the header has them.
const INVALID: usize = 0;
const DEFAULT: usize = 1;

/// `SHMEM_CTX_NOSTORE`.
const NOSTORE: c_long = 4;
/// That and `SHMEM_CTX_SERIALIZED` and `SHMEM_CTX_PRIVATE`.
const OPTIONS: c_long = 1 | 2 | NOSTORE;

/// What a routine returns that cannot do what it is to do.
const REFUSED: c_int = -1;

/// How many destroyed contexts are kept.
const KEPT: usize = 64;

/// The contexts that the program has, by address, and those that were destroyed last.
struct Contexts {
    alive: BTreeSet<usize>,
    destroyed: VecDeque<Box<Made>>,
    /// What is left of those of the last world: an operation on one finds that it leads nowhere.
    #[expect(clippy::vec_box, reason = "a handle is the address of what is in the box")]
    ended: Vec<Box<Made>>,
}

static CONTEXTS: Mutex<Contexts> =
    Mutex::new(Contexts { alive: BTreeSet::new(), destroyed: VecDeque::new(), ended: Vec::new() });

fn contexts() -> MutexGuard<'static, Contexts> {
    CONTEXTS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Contexts {
    /// Ends a context that the program does not have any more.
    fn end(&mut self, address: usize) {
        let handle: CtxHandle = std::ptr::with_exposed_provenance_mut(address);
        // SAFETY: it was in `alive`, and so is a box from `create` that nobody has ended.
        let made = unsafe { Box::from_raw(handle) };
        made.direct.close();
        if let Some(context) = &made.context {
            context.handle().close();
        }
        self.destroyed.push_back(made);
        if self.destroyed.len() > KEPT {
            self.destroyed.pop_front();
        }
    }
}

/// Ends the contexts of a team, which is destroyed, and with it has completed their operations.
pub(crate) fn end_all_of(team: usize) {
    let mut contexts = contexts();
    let is_of_team = |&address: &usize| {
        let handle: CtxHandle = std::ptr::with_exposed_provenance_mut(address);
        // SAFETY: whatever is in `alive` is a box from `create` that nobody has ended.
        unsafe { (*handle).team == team }
    };
    let of_team: Vec<usize> = contexts.alive.iter().copied().filter(is_of_team).collect();
    for address in of_team {
        contexts.alive.remove(&address);
        contexts.end(address);
    }
}

/// In a child that was forked: what another thread of the parent was about to change may stay as it is.
pub(crate) fn close_in_child() {
    let Ok(contexts) = CONTEXTS.try_lock() else { return };
    for &address in &contexts.alive {
        let handle: CtxHandle = std::ptr::with_exposed_provenance_mut(address);
        // SAFETY: whatever is in `alive` is a box from `create` that nobody has ended.
        unsafe { (*handle).direct.close() };
    }
}

/// The world ends, and with it whatever the contexts reach (`OpenSHMEM 1.6 §9.1.4`).
pub(crate) fn end_all() {
    let (mut ended, mut reach) = (Vec::new(), Vec::new());
    {
        let mut contexts = contexts();
        for address in std::mem::take(&mut contexts.alive) {
            let handle: CtxHandle = std::ptr::with_exposed_provenance_mut(address);
            // SAFETY: it was in `alive`, and so is a box from `create` that nobody has ended.
            ended.push(unsafe { Box::from_raw(handle) });
        }
        ended.extend(contexts.destroyed.drain(..));
        for made in &mut ended {
            made.direct.close();
            reach.extend(made.context.take());
        }
        std::mem::swap(&mut contexts.ended, &mut ended);
    }
    // Not under the lock: what a context reaches ends with it.
    drop((ended, reach));
}

fn create(call: Call, team: Option<(&Team, usize)>, options: c_long, ctx: *mut CtxHandle) -> c_int {
    call.not_null("ctx", ctx, 1);
    let made = team.filter(|_| options & !OPTIONS == 0).map(|(team, handle)| {
        let wanted = ContextOptions::new();
        let wanted = if options & NOSTORE == 0 { wanted } else { wanted.nostore() };
        let context = call.value(team.create_context(wanted));
        let direct = Direct::closed();
        let global = call.global;
        // SAFETY: the addresses are what this library has found out; what is there is the program's.
        unsafe { direct.open(&context, global.world.pe(), &global.addresses.ranges()) };
        let made = Box::into_raw(Box::new(Made { direct, context: Some(context), team: handle }));
        contexts().alive.insert(made.expose_provenance());
        made
    });
    // SAFETY: the caller's pointer to a handle.
    unsafe { *ctx = made.unwrap_or(std::ptr::without_provenance_mut(INVALID)) };
    if made.is_some() { 0 } else { REFUSED }
}

#[cold]
fn not_alive(call: Call, address: usize) -> ! {
    match address {
        ..=GREATEST_PREDEFINED => call.fail(format_args!("ctx = {address:#x} is no context")),
        _ => call.fail(format_args!("ctx = {address:#x} is no context, or was destroyed")),
    }
}

/// Checks a handle that is neither the default context's nor invalid.
pub(crate) fn check(call: Call, ctx: CtxHandle) {
    if !contexts().alive.contains(&ctx.addr()) {
        not_alive(call, ctx.addr());
    }
}

export!("shmem_ctx_create", |name| (options: c_long, ctx: *mut CtxHandle) -> c_int {
    let call = Call::new(name);
    create(call, Some((call.global.world.team(), teams::WORLD)), options, ctx)
});

export!("shmem_team_create_ctx", |name| (team: TeamHandle, options: c_long, ctx: *mut CtxHandle) -> c_int {
    let call = Call::new(name);
    create(call, teams::find(call, team).map(|found| (found, team.expose_provenance())), options, ctx)
});

export!("shmem_ctx_destroy", |name| (ctx: CtxHandle) {
    let call = Call::new(name);
    match ctx.addr() {
        INVALID => {}
        DEFAULT => call.fail(format_args!("ctx is SHMEM_CTX_DEFAULT")),
        address => {
            if !contexts().alive.remove(&address) {
                not_alive(call, address);
            }
            // SAFETY: it was in `alive` until now, and only this call ends it.
            if let Some(context) = unsafe { &(*ctx).context } {
                call.wait(context.quiet());
            }
            contexts().end(address);
        }
    }
});

export!("shmem_ctx_get_team", |name| (ctx: CtxHandle, team: *mut TeamHandle) -> c_int {
    let call = Call::new(name);
    call.not_null("team", team, 1);
    let number = match ctx.addr() {
        INVALID => teams::INVALID,
        DEFAULT => teams::WORLD,
        _ => {
            check(call, ctx);
            // SAFETY: it has just been found alive.
            unsafe { (*ctx).team }
        }
    };
    // SAFETY: the caller's pointer to a handle. The address of a team was exposed when a context was made from it.
    unsafe { *team = std::ptr::with_exposed_provenance_mut(number) };
    if number == teams::INVALID { REFUSED } else { 0 }
});
