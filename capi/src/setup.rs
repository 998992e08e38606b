//! Setup, exit and queries (`OpenSHMEM 1.6 §9.1, §9.2`).
//!
//! A program that returns from `main` without `shmem_finalize` is finalized here: implicit
//! finalization, which was how programs ended before OpenSHMEM 1.2 (`OpenSHMEM 1.6 §F.2.3`), and is
//! how those of `start_pes` still do (§9.1.11).

use std::{
    ffi::{CStr, c_char, c_int, c_void},
    ptr::null_mut,
    sync::{Once, OnceLock},
    thread::{self, Thread},
};

use oxshmem::{Error, InitOptions, VENDOR_NAME, VERSION_MAJOR, VERSION_MINOR, settings::Settings};
use oxshmem_base::report;

use crate::{
    address::Addresses,
    call::{Call, fatal},
    exit::{end_at_panics, end_job, has_left, is_leaving, leave},
    export::export,
    handles, losses,
    state::{Global, begin, current, depth, end, in_child},
    statics,
    tables::sets::Sets,
};

/// `SHMEM_THREAD_MULTIPLE`: what every job has.
const THREAD_MULTIPLE: c_int = 3;

/// Joins the job, the first time. `threads` of the program may call routines at once.
fn init(name: &'static str, threads: bool) {
    if let Some(global) = current()
        && !global.home.is_here()
    {
        in_child(name, global);
    }
    let mut depth = depth();
    depth.inits += 1;
    if depth.inits > 1 {
        return;
    }
    end_at_panics();
    match join(threads) {
        Ok((world, addresses, sets)) => {
            begin(world, addresses, sets);
            handles::ask();
            joined();
        }
        Err(error) => {
            report(format_args!("oxshmem: {name}: {error}"));
            leave(1)
        }
    }
}

fn join(threads: bool) -> Result<(oxshmem::World, Addresses, Sets), Error> {
    let mut settings = Settings::from_env()?;
    let statics = statics::Globals::of_executable()?;
    settings.statics = statics.len();
    settings.local_stores = true;
    let options = InitOptions::from(settings);
    let options = if losses::survives() { options.survive_loss() } else { options };
    let world = block_on_thread(oxshmem::init_with(options))?;
    let sets = Sets::new(agree(&world, &statics, threads)?);
    statics.share(world.pe())?;
    let addresses = Addresses::new(&world, statics.range());
    // The globals of all PEs are shared before any PE reaches for them; a replacement's are before
    // it is let in.
    if !world.is_replacement() {
        world.block_on(world.barrier_all())?;
    }
    Ok((world, addresses, sets))
}

/// Whether threads of some PE may call routines at once. An error unless all PEs run one program,
/// as the globals of different programs are at different addresses.
fn agree(world: &oxshmem::World, statics: &statics::Globals, threads: bool) -> Result<bool, Error> {
    let mut mine = statics.fingerprint().to_ne_bytes().to_vec();
    mine.push(u8::from(threads));
    let all = block_on_thread(world.pe().bootstrap().exchange(mine))?;
    // A PE that is lost has given nothing.
    let there: Vec<usize> = (0..all.len()).filter(|&pe| !all[pe].is_empty()).collect();
    let fingerprint = |pe: usize| &all[pe][..size_of::<u64>()];
    // All PEs compare with the first, so that all PEs name the same two.
    match there.iter().copied().find(|&pe| fingerprint(pe) != fingerprint(there[0])) {
        None => Ok(all.iter().any(|it| it.ends_with(&[1]))),
        Some(pe) => Err(Error::Unsupported {
            what: format!(
                "PE {pe} runs another executable than PE 0: their globals cannot be symmetric; start all PEs with one program"
            ),
        }),
    }
}

/// Waits for a future of which no world drives the progress yet.
fn block_on_thread<F: Future>(future: F) -> F::Output {
    struct Thread(std::thread::Thread);
    impl std::task::Wake for Thread {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.unpark();
        }
    }
    let mut future = std::pin::pin!(future);
    let waker = std::sync::Arc::new(Thread(std::thread::current())).into();
    let mut cx = std::task::Context::from_waker(&waker);
    loop {
        if let std::task::Poll::Ready(output) = future.as_mut().poll(&mut cx) {
            return output;
        }
        std::thread::park();
    }
}

/// Leaves the job, when it was called as often as `shmem_init`.
fn finalize(name: &'static str) {
    if is_leaving() || depth().is_over() {
        // Once more, as where a handler of `atexit` makes sure of it, is no error in other
        // libraries.
        return;
    }
    // It ends the process if there is no world, and then the count must not be locked.
    let call = Call::new(name);
    let mut depth = depth();
    depth.inits = depth.inits.saturating_sub(1);
    if depth.inits > 0 {
        drop(depth);
        // All but the last are barriers (`OpenSHMEM 1.6 §9.1.4`).
        call.collective(|| call.global.world.barrier_all());
        return;
    }
    call.collective(|| call.global.world.finalize());
    (depth.finalized, depth.old) = (true, false);
    let ended = end(|world| statics::make_private(world.pe().heap_map(), world.pe().local_pe()));
    handles::ask();
    if let Err(error) = ended {
        fatal(name, format_args!("{error}"));
    }
}

unsafe extern "C" {
    /// Of the C library: has `handler` called at `exit`, with the status.
    fn on_exit(handler: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// This process is a PE from now on, and is to be finalized at its exit if the program does not do
/// so itself.
fn joined() {
    static REGISTERED: Once = Once::new();
    /// Rust itself keeps the handle of a thread by an address in the middle of it, which valgrind
    /// reports as possibly lost.
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
    finalize("shmem_finalize");
    // Handlers that were registered before ours may call it yet.
    has_left();
}

export!("shmem_init", |name| () { init(name, false) });

export!("shmem_init_thread", |name| (requested: c_int, provided: *mut c_int) -> c_int {
    init(name, requested == THREAD_MULTIPLE);
    if !provided.is_null() {
        // SAFETY: the caller's pointer to an `int`.
        unsafe { *provided = THREAD_MULTIPLE };
    }
    c_int::from(!(0..=THREAD_MULTIPLE).contains(&requested))
});

export!("shmem_query_thread", |name| (provided: *mut c_int) {
    let call = Call::new(name);
    call.not_null("provided", provided, 1);
    // SAFETY: the caller's pointer to an `int`.
    unsafe { *provided = THREAD_MULTIPLE };
});

export!("shmem_query_initialized", |name| (initialized: *mut c_int) {
    let now = c_int::from(current().is_some_and(|global| global.home.is_here()));
    if !initialized.is_null() {
        // SAFETY: the caller's pointer to an `int`.
        unsafe { *initialized = now };
    }
});

export!("shmem_finalize", |name| () { finalize(name) });

export!("shmem_global_exit", |name| (status: c_int) {
    let call = Call::new(name);
    end_job(call.global, status)
});

export!("shmem_my_pe", |name| () -> c_int { Call::new(name).global.world.my_pe() as c_int });
export!("shmem_n_pes", |name| () -> c_int { Call::new(name).global.world.n_pes() as c_int });

export!("shmem_pe_accessible", |name| (pe: c_int) -> c_int {
    let call = Call::new(name);
    c_int::from(pe >= 0 && call.global.world.pe_accessible(pe as usize))
});

export!("shmem_addr_accessible", |name| (addr: *const c_void, pe: c_int) -> c_int {
    let call = Call::new(name);
    let Ok(pe) = usize::try_from(pe) else { return 0 };
    let world = call.global.world;
    // The globals have another address for the program than for the world.
    let symmetric = world.addr_accessible(addr, pe) || call.global.addresses.contains(addr.addr());
    c_int::from(world.pe_accessible(pe) && symmetric)
});

export!("shmem_ptr", |name| (dest: *const c_void, pe: c_int) -> *mut c_void {
    let call = Call::new(name);
    let Ok(pe) = usize::try_from(pe) else { return null_mut() };
    call.global.addresses.pointer(dest.cast::<u8>().cast_mut(), pe, call.global.world).cast()
});

export!("shmem_info_get_version", |name| (major: *mut c_int, minor: *mut c_int) {
    // SAFETY: the caller's pointers to an `int` each.
    unsafe {
        *major = VERSION_MAJOR as c_int;
        *minor = VERSION_MINOR as c_int;
    }
});

export!("shmem_info_get_name", |name| (to: *mut c_char) {
    // SAFETY: the caller has room for `SHMEM_MAX_NAME_LEN` characters, which is more.
    unsafe {
        std::ptr::copy_nonoverlapping(VENDOR_NAME.as_ptr().cast(), to, VENDOR_NAME.len());
        *to.add(VENDOR_NAME.len()) = 0;
    }
});

export!("start_pes", |name| (_npes: c_int) {
    if current().is_some_and(|global| global.home.is_here()) {
        return;
    }
    init(name, false);
    depth().old = true;
});

export!("_my_pe", |name| () -> c_int { Call::new(name).global.world.my_pe() as c_int });
export!("_num_pes", |name| () -> c_int { Call::new(name).global.world.n_pes() as c_int });

export!("shmem_pcontrol", |name| (level: c_int) {
    let Some(global) = current().filter(|global| global.home.is_here()) else { return };
    match level {
        ..=0 => global.world.tracing(false),
        1 => global.world.tracing(true),
        2 => global.world.tracing_and_flush(true),
        _ => {}
    }
});

export!("shmemx_phase", |name| (phase: *const c_char) {
    let Some(global) = current().filter(|global| global.home.is_here()) else { return };
    if phase.is_null() {
        return global.world.phase("");
    }
    // SAFETY: the caller's string, which ends with a zero byte.
    global.world.phase(&unsafe { CStr::from_ptr(phase) }.to_string_lossy());
});
