//! The one world of this process: the only global state of the library.

use std::{
    cell::Cell,
    ffi::c_int,
    io::Write,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicPtr, AtomicUsize, Ordering},
    },
};

use oxshmem::{Context, Space, SpaceKind, World};
use oxshmem_base::{home::Home, printable::printable_lines};
use oxshmem_memory::Addresses as Reserved;
use oxshmem_ops::path::address::AddressPath;

use crate::{
    address::Addresses,
    tables::{blocks::Blocks, contexts, errors::Errors, sets::Sets, teams},
};

/// What calls need, from `shmem_init` to `shmem_finalize`, which frees it: no thread may be in a
/// call then (`OpenSHMEM 1.6 §9.1.4`). The references in it are to what `world` keeps, which is
/// dropped last. A world that has let in replacements of lost PEs gets a new one, with what is in
/// an `Arc` here.
#[derive(Debug)]
pub(crate) struct Global {
    pub(crate) blocks: Arc<Blocks>,
    pub(crate) sets: Sets,
    /// The CPU space and the GPU space, if this PE has them.
    pub(crate) spaces: [Option<Space>; 2],
    pub(crate) default_space: SpaceKind,
    pub(crate) addresses: Arc<Addresses>,
    /// The default context.
    pub(crate) context: &'static Context,
    pub(crate) home: Home,
    /// Of contexts, in a job that goes on without lost PEs.
    pub(crate) errors: Arc<Errors>,
    pub(crate) world: &'static World,
    _world: Owned<World>,
}

/// What is on the heap. Not a box, as there are references to it, which a box that is moved would
/// not allow.
#[derive(Debug)]
struct Owned<T>(*mut T);

// SAFETY: as a box of it.
unsafe impl<T: Send> Send for Owned<T> {}
// SAFETY: as a box of it.
unsafe impl<T: Sync> Sync for Owned<T> {}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: it came out of a box, and the references to it are used no more.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// Null before `shmem_init` and after `shmem_finalize`.
static GLOBAL: AtomicPtr<Global> = AtomicPtr::new(std::ptr::null_mut());

/// What calls needed in worlds that were replaced, as long as a thread may be in such a call.
static REPLACED: Mutex<Vec<Owned<Global>>> = Mutex::new(Vec::new());

/// The short way of the default context. Closed before `shmem_init` and after `shmem_finalize`. It
/// is here, and not behind a pointer, because a processor that has just performed an atomic
/// operation waits for every load that the next one needs.
pub(crate) static DEFAULT_PATH: AddressPath = AddressPath::closed();

/// The addresses of the last world's memory. A program that uses one after `shmem_finalize` faults,
/// until the next world has ended: so there is never more than one such range.
static LAST: Mutex<Option<Arc<Reserved>>> = Mutex::new(None);

/// How many threads wait in the library.
static WAITING: AtomicUsize = AtomicUsize::new(0);

/// How often it was initialised more than finalised.
static DEPTH: Mutex<Depth> = Mutex::new(Depth { inits: 0, finalized: false, old: false });

pub(crate) struct Depth {
    pub(crate) inits: u32,
    pub(crate) finalized: bool,
    /// Whether it was by `start_pes`, after which the program need not finalize.
    pub(crate) old: bool,
}

impl Depth {
    /// Whether it was finalised as often as it was initialised, and that at least once.
    pub(crate) fn is_over(&self) -> bool {
        self.inits == 0 && self.finalized
    }
}

/// Locks the count of initialisations.
pub(crate) fn depth() -> MutexGuard<'static, Depth> {
    DEPTH.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends a child of the PE with a line, and does nothing else in it: what it has is its parent's.
#[cold]
#[inline(never)]
pub(crate) fn in_child(name: &'static str, global: &Global) -> ! {
    if let Err(error) = global.home.check(global.world.my_pe(), name) {
        // If standard error is closed, there is no other place for the line.
        let _ = std::io::stderr().write_all(printable_lines(&format!("oxshmem: {error}\n")).as_bytes());
    }
    // SAFETY: it does not return. Not by `exit`, which would write out what the parent has
    // buffered.
    unsafe { libc::_exit(1) }
}

/// In a child: the short ways, by which it would write to the memory of PEs, are closed.
pub(crate) fn close_in_child() {
    DEFAULT_PATH.close();
    contexts::close_in_child();
}

/// The world, if there is one.
#[inline(always)]
pub(crate) fn current() -> Option<&'static Global> {
    // SAFETY: it is null, or what `begin` has leaked. Acquire: pairs with the release there.
    unsafe { GLOBAL.load(Ordering::Acquire).as_ref() }
}

/// From now on there is a world.
pub(crate) fn begin(world: World, addresses: Addresses, sets: Sets) {
    let made = Global::new(world, sets, Arc::new(addresses), Arc::default(), Arc::default());
    let global = Box::leak(Box::new(made));
    let world = global.world;
    // SAFETY: the addresses are what this library has found out; what is there is the program's.
    // `end` closes it before it drops the PE.
    unsafe { DEFAULT_PATH.open(global.context, world.pe(), &global.addresses.ranges()) };
    // Release: a thread that sees it sees what it points to.
    GLOBAL.store(global, Ordering::Release);
    // From the first loss on, operations do not go by addresses, which would lead to memory of lost
    // PEs too.
    if let Some(losses) = world.pe().losses() {
        let close = || {
            DEFAULT_PATH.close();
            contexts::contexts().close_paths();
        };
        losses.before_lost(close);
        // And those that were made meanwhile.
        losses.when_lost(move |_| close());
    }
}

impl Global {
    fn new(
        world: World,
        sets: Sets,
        addresses: Arc<Addresses>,
        blocks: Arc<Blocks>,
        errors: Arc<Errors>,
    ) -> Self {
        let owned = Owned(Box::into_raw(Box::new(world)));
        // SAFETY: it is where it is until the `Global` that owns it is dropped, whose other parts
        // are dropped before, and whose user has to end before that.
        let world: &'static World = unsafe { &*owned.0 };
        Self {
            blocks,
            sets,
            spaces: [SpaceKind::Cpu, SpaceKind::Gpu].map(|kind| world.space(kind).ok()),
            default_space: world.pe().spaces().default,
            addresses,
            context: world.context(),
            home: world.pe().home().clone(),
            errors,
            world,
            _world: owned,
        }
    }
}

/// From now on it is `world`, of the same PE, in which replacements take part. `threads` may call
/// something at once, as in [`Sets::new`].
///
/// Threads that are in a call may use what was there before until the next call of this, and as
/// long as they wait.
pub(crate) fn replace(world: World, threads: bool) {
    let Some(global) = current() else { return };
    let sets = global.sets.renewed(threads);
    let (addresses, blocks, errors) =
        (Arc::clone(&global.addresses), Arc::clone(&global.blocks), Arc::clone(&global.errors));
    let made = Global::new(world, sets, addresses, blocks, errors);
    made.errors.pass_on(global.context, made.context);
    // Release: as in `begin`.
    let before = GLOBAL.swap(Box::into_raw(Box::new(made)), Ordering::Release);
    let mut replaced = REPLACED.lock().unwrap_or_else(PoisonError::into_inner);
    // SeqCst: see `Waiting`.
    let ended = if WAITING.load(Ordering::SeqCst) == 0 { std::mem::take(&mut *replaced) } else { Vec::new() };
    replaced.push(Owned(before));
    drop(replaced);
    drop(ended);
}

/// From now on there is none, and the process has what it had before (`OpenSHMEM 1.6 §9.1.4`), its
/// globals by `make_private`, whose error this returns.
pub(crate) fn end<E>(make_private: impl FnOnce(&World) -> Result<(), E>) -> Result<(), E> {
    DEFAULT_PATH.close();
    let ended = GLOBAL.swap(std::ptr::null_mut(), Ordering::AcqRel);
    // SAFETY: it is null, or what `begin` has leaked.
    let Some(global) = (unsafe { ended.as_ref() }) else { return Ok(()) };
    let pe = global.world.pe();
    let map = pe.heap_map();
    make_private(global.world)?;
    let addresses = map.addresses();
    let helpers = pe.helpers();
    contexts::end_all();
    teams::end_all();
    // SeqCst: see `Waiting`. A thread that still waits is woken with an error, and ends the
    // process: what it uses stays.
    if WAITING.load(Ordering::SeqCst) == 0 {
        drop(std::mem::take(&mut *REPLACED.lock().unwrap_or_else(PoisonError::into_inner)));
        // SAFETY: as above, and it cannot be found any more.
        drop(unsafe { Box::from_raw(ended) });
        helpers.join();
    }
    // Those of the world before become free.
    drop(std::mem::replace(&mut *LAST.lock().unwrap_or_else(PoisonError::into_inner), addresses));
    Ok(())
}

/// A thread that waits in the library. It cannot be cancelled (`pthread_cancel`) before the wait
/// has ended: what it has then, such as the duty to look for what other threads wait for, would be
/// lost.
pub(crate) struct Waiting {
    cancel: c_int,
}

thread_local! {
    /// Whether this thread waits.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

impl Waiting {
    /// `None` if this thread waits already: a signal handler calls while it does, or has left that
    /// wait by `longjmp`, with all that it had there.
    pub(crate) fn new() -> Option<Self> {
        if INSIDE.replace(true) {
            return None;
        }
        // SeqCst: a thread that waits when the world ends has counted itself before it found the
        // world.
        WAITING.fetch_add(1, Ordering::SeqCst);
        let mut cancel = PTHREAD_CANCEL_ENABLE;
        // SAFETY: a place for a number.
        unsafe { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &raw mut cancel) };
        Some(Self { cancel })
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        INSIDE.set(false);
        WAITING.fetch_sub(1, Ordering::SeqCst);
        // SAFETY: the state that this thread had; the one that it has now is not asked for.
        unsafe { pthread_setcancelstate(self.cancel, std::ptr::null_mut()) };
    }
}

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
}

/// As `pthread.h` has them.
const PTHREAD_CANCEL_ENABLE: c_int = 0;
const PTHREAD_CANCEL_DISABLE: c_int = 1;
