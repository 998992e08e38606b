//! How the process of a PE ends.
//!
//! What the program has registered with `atexit` may call routines too, and these may fail because
//! of what has ended the process, or end it themselves. A process ends once: from then on
//! `shmem_finalize` has nothing left to do, and what fails is no news.

use std::{
    env,
    ffi::c_int,
    panic,
    ptr::null_mut,
    sync::{
        Once,
        atomic::{AtomicBool, Ordering},
    },
};

use oxshmem_base::report;

use crate::state::Global;

/// Whether the library ends this process, or has finalized it at its exit.
static LEAVING: AtomicBool = AtomicBool::new(false);

/// Whether the library ends this process, or has finalized it at its exit.
pub(crate) fn is_leaving() -> bool {
    // Relaxed: it matters to the thread that has set it.
    LEAVING.load(Ordering::Relaxed)
}

/// Ends this process as `exit` does. What fails in a handler that `exit` calls ends it without the
/// others.
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

/// Has a panic of the library, which nothing foresaw, end the process with one line, in place of
/// the several that Rust has for its own programs and the abort that comes of one in a C function.
/// Programs with Rust of their own have another copy of this hook.
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

/// The process ends, and has been finalized.
pub(crate) fn has_left() {
    // Relaxed: handlers of `exit` run on one thread.
    LEAVING.store(true, Ordering::Relaxed);
}
