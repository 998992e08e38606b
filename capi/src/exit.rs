//! How the process of a PE ends.
//!
//! What the program has registered with `atexit` may call routines too, and these may fail because of what has ended the process,
//! or end it themselves. A process ends once: from then on `shmem_finalize` has nothing left to do, and what fails is no news.
//!
//! A program that returns from `main` without `shmem_finalize` is finalized here: implicit finalization, which was how programs
//! ended before OpenSHMEM 1.2 (`OpenSHMEM 1.6 §F.2.3`), and is how those of `start_pes` still do (§9.1.11).

use std::{
    env,
    ffi::{c_int, c_void},
    panic,
    ptr::null_mut,
    sync::{
        Once, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, Thread},
};

use oxshmem_base::report;

use crate::{
    setup,
    state::{Global, current, depth},
};

unsafe extern "C" {
    /// Of the C library: has `handler` called at `exit`, with the status.
    fn on_exit(handler: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// Whether the library ends this process, or has finalized it at its exit.
static LEAVING: AtomicBool = AtomicBool::new(false);

/// Whether the library ends this process, or has finalized it at its exit.
pub(crate) fn is_leaving() -> bool {
    // Relaxed: it matters to the thread that has set it.
    LEAVING.load(Ordering::Relaxed)
}

/// Ends this process as `exit` does. What fails in a handler that `exit` calls ends it without the others.
pub(crate) fn leave(status: c_int) -> ! {
    // Relaxed: as above.
    if !LEAVING.swap(true, Ordering::Relaxed) {
        // Not by `std::process::exit`, which panics if a handler comes here again.
        // SAFETY: what it calls is the program's to answer for.
        unsafe { libc::exit(status) }
    }
    // SAFETY: functions of the C library, called with what they take.
    unsafe {
        libc::fflush(null_mut());
        libc::_exit(status)
    }
}

/// Ends the whole job.
pub(crate) fn end_job(global: &Global, status: c_int) -> ! {
    global.world.pe().abort(status, "");
    leave(status)
}

/// Has a panic of the library, which nothing foresaw, end the process with one line, in place of the several that Rust has for
/// its own programs and the abort that comes of one in a C function. Programs with Rust of their own have another copy of this hook.
pub(crate) fn end_at_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if env::var_os("RUST_BACKTRACE").is_some_and(|it| it != "0") {
                before(info);
            }
            let payload = info.payload();
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let what = text.or(payload.downcast_ref::<&str>().copied()).unwrap_or("it panicked");
            match info.location() {
                Some(place) => report(format_args!("oxshmem: internal error at {place}: {what}")),
                None => report(format_args!("oxshmem: internal error: {what}")),
            }
            leave(1)
        }));
    });
}

/// This process is a PE from now on, and is to be finalized at its exit if the program does not do so itself.
pub(crate) fn joined() {
    static REGISTERED: Once = Once::new();
    /// Rust itself keeps the handle of a thread by an address in the middle of it, which valgrind reports as possibly lost.
    static THREAD: OnceLock<Thread> = OnceLock::new();
    THREAD.get_or_init(thread::current);
    // Not when the library is loaded: what is registered that early is called when UCX is gone.
    // SAFETY: a function that lives as long as the process, as `dlclose` leaves this library.
    REGISTERED.call_once(|| _ = unsafe { on_exit(finalize_at_exit, null_mut()) });
}

/// At the exit of a program that has not called `shmem_finalize`.
extern "C" fn finalize_at_exit(status: c_int, _: *mut c_void) {
    // Children that were forked come here too, with what is their parent's.
    let is_pe = |global: &&Global| global.home.is_this_process() && !is_leaving();
    let Some(global) = current().filter(is_pe) else { return };
    let promised = depth().old;
    if !promised && status != 0 {
        // The launcher says how it ended, and ends the job.
        return;
    }
    if !promised && global.world.my_pe() == 0 {
        report("oxshmem: warning: the program ended without shmem_finalize, so it was finalized at its exit");
    }
    depth().inits = 1;
    setup::finalize("shmem_finalize");
    // Handlers that were registered before ours may call it yet. Relaxed: they run on this thread.
    LEAVING.store(true, Ordering::Relaxed);
}
