//! The one world of this process: the only global state of the library.

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicPtr, Ordering},
};

use oxshmem::{Context, Space, SpaceKind, World};
use oxshmem_ops::direct::Direct;

use crate::{active_sets::Sets, address::Addresses, call::fatal, contexts, memory::Blocks};

/// What calls need, from `shmem_init` to `shmem_finalize`. It is never freed: a thread may be about to use it.
#[derive(Debug)]
pub(crate) struct Global {
    pub(crate) world: &'static World,
    /// The default context.
    pub(crate) context: &'static Context,
    pub(crate) addresses: Addresses,
    /// The CPU space and the GPU space, if this PE has them.
    pub(crate) spaces: [Option<Space>; 2],
    pub(crate) default_space: SpaceKind,
    pub(crate) blocks: Blocks,
    pub(crate) sets: Sets,
}

/// Null before `shmem_init` and after `shmem_finalize`.
static GLOBAL: AtomicPtr<Global> = AtomicPtr::new(std::ptr::null_mut());

/// The short way of the default context. Closed before `shmem_init` and after `shmem_finalize`. It is here, and not behind a
/// pointer, because a processor that has just performed an atomic operation waits for every load that the next one needs.
pub(crate) static DIRECT: Direct = Direct::closed();

/// Worlds of the past, which are reachable for who looks for leaks.
static ENDED: Mutex<Vec<&'static Global>> = Mutex::new(Vec::new());

/// How often it was initialised more than finalised.
static DEPTH: Mutex<Depth> = Mutex::new(Depth { inits: 0, finalized: false, old: false });

pub(crate) struct Depth {
    pub(crate) inits: u32,
    pub(crate) finalized: bool,
    /// Whether it was by `start_pes`, which promises that nobody has to finalize it.
    pub(crate) old: bool,
}

/// Locks the count of initialisations.
pub(crate) fn depth() -> MutexGuard<'static, Depth> {
    DEPTH.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The world; ends the process if there is none.
#[inline(always)]
pub(crate) fn global(name: &'static str) -> &'static Global {
    match current() {
        Some(global) => global,
        None => without_world(name),
    }
}

/// The world, if there is one.
#[inline(always)]
pub(crate) fn current() -> Option<&'static Global> {
    // SAFETY: it is null, or what `begin` has leaked. Acquire: pairs with the release there.
    unsafe { GLOBAL.load(Ordering::Acquire).as_ref() }
}

#[cold]
#[inline(never)]
fn without_world(name: &str) -> ! {
    let when = if depth().finalized { "after shmem_finalize" } else { "before shmem_init" };
    fatal(name, format_args!("was called {when}"))
}

/// From now on there is a world.
pub(crate) fn begin(world: World, addresses: Addresses, sets: Sets) {
    let world: &World = Box::leak(Box::new(world));
    let context = world.context();
    let global = Box::leak(Box::new(Global {
        world,
        context,
        addresses,
        spaces: [SpaceKind::Cpu, SpaceKind::Gpu].map(|kind| world.space(kind).ok()),
        default_space: world.pe().spaces().default,
        blocks: Blocks::default(),
        sets,
    }));
    // SAFETY: the addresses are what this library has found out; what is there is the program's.
    unsafe { DIRECT.open(context, world.pe(), &global.addresses.ranges()) };
    // Release: whoever sees it sees what it points to.
    GLOBAL.store(global, Ordering::Release);
}

/// From now on there is none.
pub(crate) fn end() {
    DIRECT.close();
    contexts::close_all();
    let ended = GLOBAL.swap(std::ptr::null_mut(), Ordering::AcqRel);
    // SAFETY: it is null, or what `begin` has leaked.
    if let Some(global) = unsafe { ended.as_ref() } {
        ENDED.lock().unwrap_or_else(PoisonError::into_inner).push(global);
    }
}
