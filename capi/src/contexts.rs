//! Contexts (`OpenSHMEM 1.6 §9.5`).
//!
//! A context from here may be used by any thread, whatever its options: those that restrict its use
//! ask for nothing. As with teams, the last ones that were destroyed are kept for a while. They
//! reach no PE any more, so that operations on one fail without a look at whether it is alive.

use std::ffi::{c_int, c_long};

use oxshmem::{ContextOptions, Team};
use oxshmem_ops::path::address::AddressPath;

use crate::{
    call::{Call, CtxHandle, GREATEST_PREDEFINED},
    export::export,
    tables::{
        contexts::{Made, contexts},
        errors::is_any_lost,
    },
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

fn create(call: Call, team: Option<(&Team, usize)>, options: c_long, ctx: *mut CtxHandle) -> c_int {
    call.not_null("ctx", ctx, 1);
    let made = team.filter(|_| options & !OPTIONS == 0).map(|(team, handle)| {
        let wanted = ContextOptions::new();
        let wanted = if options & NOSTORE == 0 { wanted } else { wanted.nostore() };
        let context = call.value(team.create_context(wanted));
        let path = AddressPath::closed();
        let global = call.global;
        // SAFETY: the addresses are what this library has found out; what is there is the
        // program's.
        unsafe { path.open(&context, global.world.pe(), &global.addresses.ranges()) };
        let made = Box::into_raw(Box::new(Made { path, context: Some(context), team: handle }));
        let mut contexts = contexts();
        contexts.alive.insert(made.expose_provenance());
        // A loss after this closes it.
        if is_any_lost(global.world) {
            contexts.close_paths();
        }
        made
    });
    // SAFETY: the caller's pointer to a handle.
    unsafe { *ctx = made.unwrap_or(std::ptr::without_provenance_mut(INVALID)) };
    if made.is_some() { 0 } else { REFUSED }
}

#[cold]
fn not_alive(call: Call, address: usize) -> ! {
    match address {
        ..=GREATEST_PREDEFINED => {
            call.fail(format_args!("ctx = {address:#x} is no context; take one that shmem_ctx_create gave"))
        }
        _ => call.fail(format_args!("ctx = {address:#x} is no context, or was destroyed; create it again")),
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
        DEFAULT => call.fail(format_args!("ctx is SHMEM_CTX_DEFAULT, which lasts as long as the job")),
        address => {
            if !contexts().alive.remove(&address) {
                not_alive(call, address);
            }
            // SAFETY: it was in `alive` until now, and only this call ends it.
            if let Some(context) = unsafe { &(*ctx).context } {
                Call::with(name, context).complete(context.quiet());
                // Another may come to be where it was.
                call.global.errors.take(context);
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
    // SAFETY: the caller's pointer to a handle. The address of a team was exposed when a context
    // was made from it.
    unsafe { *team = std::ptr::with_exposed_provenance_mut(number) };
    if number == teams::INVALID { REFUSED } else { 0 }
});
