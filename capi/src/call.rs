//! One call of a routine: its name, its context, what is wrong with it, and the wait for its
//! future.

use std::{
    ffi::c_int,
    fmt,
    pin::Pin,
    task::{Context as TaskContext, Poll, Waker},
};

use bytemuck::Zeroable;
use oxshmem::{Collective, Context, Element, Error, Quiet, StreamRef, SymRef, SymView, Team};
use oxshmem_base::report;
use oxshmem_ops::{operation::Immediate, path::address::AddressPath};

use crate::{
    exit::{end_job, is_leaving, leave},
    state::{DEFAULT_PATH, Global, Waiting, current, depth, in_child},
    tables::errors::{PE_LOST, is_survived},
    types::Stream,
};

pub(crate) use crate::tables::contexts::CtxHandle;

/// Predefined handles, as the header has them.
const CTX_INVALID: usize = 0;
const CTX_DEFAULT: usize = 1;

/// The world; ends the process if there is none, or if it is that of a parent.
#[inline(always)]
fn global(name: &'static str) -> &'static Global {
    match current() {
        Some(global) if global.home.is_here() => global,
        Some(global) => in_child(name, global),
        None => without_world(name),
    }
}

#[cold]
#[inline(never)]
fn without_world(name: &str) -> ! {
    let when = if depth().finalized { "after shmem_finalize" } else { "before shmem_init" };
    fatal(name, format_args!("was called {when}"))
}

/// A call in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) name: &'static str,
    pub(crate) global: &'static Global,
    pub(crate) context: &'static Context,
}

impl Call {
    /// A call on the default context.
    #[inline(always)]
    pub(crate) fn new(name: &'static str) -> Self {
        let global = global(name);
        Self { name, global, context: global.context }
    }

    /// A call on the default context, made out of line: for routines that take longer than a look
    /// at memory.
    #[inline(never)]
    pub(crate) fn long(name: &'static str) -> Self {
        Self::new(name)
    }

    /// A call on the context with that handle, made out of line.
    #[inline(never)]
    pub(crate) fn long_on(name: &'static str, ctx: CtxHandle) -> Self {
        Self::on(name, ctx)
    }

    /// A call on a context: from what fits into registers.
    #[inline(always)]
    pub(crate) fn with(name: &'static str, context: &'static Context) -> Self {
        Self { name, global: global(name), context }
    }

    /// A call on the context with that handle.
    #[inline(always)]
    pub(crate) fn on(name: &'static str, ctx: CtxHandle) -> Self {
        let global = global(name);
        let context = match ctx.addr() {
            CTX_DEFAULT => global.context,
            _ => made(name, ctx),
        };
        Self { name, global, context }
    }

    /// Elements at a pointer that must be symmetric, unless there are none.
    #[inline(always)]
    pub(crate) fn view<T: Element>(
        self,
        what: &'static str,
        pointer: *const T,
        len: usize,
    ) -> SymView<'static, T> {
        let addresses = &self.global.addresses;
        let view = match len {
            0 => addresses.nothing(),
            _ => addresses.view(pointer, len),
        };
        match view {
            Some(view) => view,
            None => {
                let bytes = len.saturating_mul(size_of::<T>());
                not_symmetric(self.name, what, pointer.addr(), bytes, align_of::<T>())
            }
        }
    }

    /// The element at a pointer that must be symmetric.
    #[inline(always)]
    pub(crate) fn word<T: Element>(self, what: &'static str, pointer: *const T) -> SymRef<'static, T> {
        match self.global.addresses.word(pointer) {
            Some(word) => word,
            None => not_symmetric(self.name, what, pointer.addr(), size_of::<T>(), align_of::<T>()),
        }
    }

    /// Whether a pointer is into device memory.
    #[inline(always)]
    pub(crate) fn on_device<T>(self, pointer: *const T) -> bool {
        self.global.addresses.on_device(pointer.addr())
    }

    /// A pointer that may be null only if there is nothing to be copied.
    #[inline(always)]
    pub(crate) fn not_null<T>(self, what: &'static str, pointer: *const T, len: usize) {
        if pointer.is_null() && len > 0 {
            self.fail(format_args!("{what} is null"));
        }
    }

    /// Values at a pointer that may be null only if there are none.
    ///
    /// # Safety
    /// They must be readable, and left alone, for as long as the slice is used.
    #[inline(always)]
    pub(crate) unsafe fn slice<'a, T>(self, what: &'static str, pointer: *const T, len: usize) -> &'a [T] {
        if len == 0 {
            return &[];
        }
        self.not_null(what, pointer, len);
        if !pointer.is_aligned() {
            self.fail(format_args!("{what} = {pointer:p} is not aligned to {} bytes", align_of::<T>()));
        }
        // SAFETY: as the caller says; it is neither null nor misaligned.
        unsafe { std::slice::from_raw_parts(pointer, len) }
    }

    /// Waits for an operation on a PE. Those that have ended cost no more than a look. With a lost
    /// PE the value is 0.
    #[inline(always)]
    pub(crate) fn wait_on<T, E, F>(self, pe: c_int, operation: F) -> T
    where
        T: Zeroable,
        E: Into<Error>,
        F: Immediate<Output = T> + Future<Output = Result<T, E>>,
    {
        match operation.now() {
            Ok(value) => value,
            Err(operation) => wait_for(self.name, self.context, pe, operation),
        }
    }

    /// Begins an operation on a PE that only `shmem_quiet` waits for.
    #[inline(always)]
    pub(crate) fn start_on<F: Immediate>(self, pe: c_int, operation: F) {
        if let Err(operation) = operation.now() {
            begun(self.name, self.context, pe, operation);
        }
    }

    /// Waits for a future that concerns no PE, or many. One that is ready costs no more than a
    /// look.
    #[inline(always)]
    pub(crate) fn look<T, F>(self, future: F) -> T
    where
        T: Zeroable,
        F: Immediate<Output = T> + Future<Output = oxshmem::Result<T>>,
    {
        match future.now() {
            Ok(value) => value,
            Err(future) => wait_long(self.name, self.context, future),
        }
    }

    /// Waits for a future; its error ends the job.
    #[inline]
    pub(crate) fn wait<T, F: Future<Output = oxshmem::Result<T>>>(self, future: F) -> T {
        match self.output(future) {
            Ok(value) => value,
            Err(error) => self.failed(None, error),
        }
    }

    /// Waits for a future; its error ends the job, unless it is survived.
    #[inline]
    pub(crate) fn complete<F: Future<Output = oxshmem::Result<()>>>(self, future: F) {
        if let Err(error) = self.output(future) {
            self.survive(error);
        }
    }

    /// Starts what all PEs of a team do, and waits until it is over; its error ends the job, unless
    /// it is survived. Returns 0 if there is none.
    #[inline]
    pub(crate) fn collective<F>(self, start: impl FnOnce() -> F) -> c_int
    where
        F: Future<Output = oxshmem::Result<()>>,
    {
        match self.outcome(start) {
            Ok(()) => 0,
            Err(error) => self.survive(error),
        }
    }

    /// Leaves an error with the context, if it is that of a lost PE in a job that goes on. Any
    /// other ends the job. Returns what routines do then.
    #[cold]
    #[inline(never)]
    pub(crate) fn survive(self, error: Error) -> c_int {
        survive(self.name, self.context, None, error);
        PE_LOST
    }

    /// Runs a collective that may be refused, and returns what its future does.
    #[inline]
    pub(crate) fn outcome<F: Future>(self, start: impl FnOnce() -> F) -> F::Output {
        self.global.world.pe().engine().blocking(|| self.output(start()))
    }

    /// Has a team move data, here or in the order of a stream: the same code for all collectives.
    #[inline(never)]
    pub(crate) fn on_team(
        self,
        team: &Team,
        stream: Option<Stream>,
        collective: &dyn Fn(&Team) -> Collective<'_>,
    ) -> c_int {
        match stream {
            None => self.collective(|| collective(team)),
            Some(stream) => {
                self.enqueue(team, stream, None, collective);
                0
            }
        }
    }

    /// Gives a stream what all PEs of a team do, after `before`. An error ends the job, now or when
    /// the stream has come so far.
    pub(crate) fn enqueue(
        self,
        team: &Team,
        stream: Stream,
        before: Option<Quiet>,
        collective: impl FnOnce(&Team) -> Collective<'_>,
    ) {
        let name = self.name;
        let ended = move |outcome: &oxshmem::Result<()>| {
            if let Err(error) = outcome {
                failed(name, None, error.clone());
            }
        };
        // SAFETY: the caller's stream exists.
        let stream = unsafe { StreamRef::from_raw(stream) };
        let mut begun = team.on_stream_then(stream, before, collective, Some(Box::new(ended)));
        let polled = Pin::new(&mut begun).poll(&mut TaskContext::from_waker(Waker::noop()));
        if let Poll::Ready(Err(error)) = polled {
            self.failed(None, error);
        }
    }

    /// Waits for a future. One that has ended costs no more than a look.
    #[inline]
    pub(crate) fn output<F: Future>(self, future: F) -> F::Output {
        let mut future = std::pin::pin!(future);
        match future.as_mut().poll(&mut TaskContext::from_waker(Waker::noop())) {
            Poll::Ready(output) => output,
            // It is polled again, with a waker that wakes this thread.
            Poll::Pending => block_on(self.name, self.global, future),
        }
    }

    /// The value of a result; its error ends the job.
    pub(crate) fn value<T>(self, result: oxshmem::Result<T>) -> T {
        match result {
            Ok(value) => value,
            Err(error) => self.failed(None, error),
        }
    }

    /// Ends the job because of an error.
    #[cold]
    #[inline(never)]
    pub(crate) fn failed(self, pe: Option<c_int>, error: Error) -> ! {
        failed(self.name, pe, error)
    }

    /// Ends the job because of an argument.
    #[cold]
    #[inline(never)]
    pub(crate) fn fail(self, why: fmt::Arguments<'_>) -> ! {
        fatal(self.name, why)
    }
}

// What follows is apart, so that calls which go well keep nothing in memory for it.

#[cold]
#[inline(never)]
fn not_symmetric(name: &'static str, what: &str, address: usize, bytes: usize, align: usize) -> ! {
    let inside = global(name).addresses.contains(address);
    if address == 0 {
        fatal(name, format_args!("{what} is null"));
    }
    if inside && !address.is_multiple_of(align) {
        fatal(name, format_args!("{what} = {address:#x} is not aligned to {align} bytes"));
    }
    if inside {
        fatal(
            name,
            format_args!(
                "{what} = {address:#x} is symmetric, but not all of the {bytes} bytes from there on"
            ),
        );
    }
    fatal(
        name,
        format_args!(
            "{what} = {address:#x} is not symmetric: neither in the symmetric heap nor a global of the executable"
        ),
    )
}

/// Waits for what is not ready.
fn block_on<F: Future>(name: &'static str, global: &Global, future: F) -> F::Output {
    let Some(_waiting) = Waiting::new() else { waits_already(name) };
    global.world.block_on(future)
}

#[cold]
#[inline(never)]
fn waits_already(name: &'static str) -> ! {
    fatal(
        name,
        format_args!(
            "was called by a thread that waits in another call: in a signal handler, or after one has left that call by longjmp"
        ),
    )
}

/// Waits for what is not ready.
#[cold]
#[inline(never)]
fn wait_long<T, F>(name: &'static str, context: &Context, future: F) -> T
where
    T: Zeroable,
    F: Future<Output = oxshmem::Result<T>>,
{
    match block_on(name, global(name), future) {
        Ok(value) => value,
        Err(error) => {
            survive(name, context, None, error);
            T::zeroed()
        }
    }
}

/// Waits for an operation that has not ended, or has failed.
#[cold]
#[inline(never)]
fn wait_for<T, E, F>(name: &'static str, context: &Context, pe: c_int, operation: F) -> T
where
    T: Zeroable,
    E: Into<Error>,
    F: Future<Output = Result<T, E>>,
{
    match block_on(name, global(name), operation) {
        Ok(value) => value,
        Err(error) => {
            survive(name, context, Some(pe), error.into());
            T::zeroed()
        }
    }
}

/// An operation is under way, or has failed.
#[cold]
#[inline(never)]
fn begun<F: Immediate>(name: &'static str, context: &Context, pe: c_int, operation: F) {
    if let Some(error) = operation.refused() {
        survive(name, context, Some(pe), error);
    }
}

/// Leaves an error with its context, if it is that of a lost PE in a job that goes on; any other
/// ends the job.
#[cold]
#[inline(never)]
fn survive(name: &'static str, context: &Context, pe: Option<c_int>, error: Error) {
    let global = global(name);
    if !is_survived(global.world, &error) {
        failed(name, pe, error);
    }
    global.errors.leave(context);
}

#[cold]
#[inline(never)]
fn failed(name: &str, pe: Option<c_int>, error: Error) -> ! {
    match (error, pe) {
        (Error::PeOutOfRange { n_pes, .. }, Some(pe)) => {
            fatal(name, format_args!("pe = {pe} is out of range: there are {n_pes} PEs in its team"))
        }
        (Error::TeamDestroyed { .. }, _) => fatal(
            name,
            format_args!(
                "the context, or the team that it belongs to, was destroyed before; create it again"
            ),
        ),
        // Another PE has printed why.
        (Error::GlobalExit { status, .. }, _) => leave(status),
        (error, _) => {
            let global = current().filter(|_| matches!(error, Error::PeLost { .. }));
            if let Some(status) = global.and_then(|global| global.world.pe().global_exit_behind_a_loss()) {
                leave(status)
            }
            fatal(name, format_args!("{error}"))
        }
    }
}

/// Whether it is `SHMEM_CTX_INVALID`.
#[inline(always)]
pub(crate) fn is_invalid(ctx: CtxHandle) -> bool {
    ctx.addr() == CTX_INVALID
}

/// A context that was made.
#[inline(always)]
fn made(name: &'static str, ctx: CtxHandle) -> &'static Context {
    if ctx.addr() <= GREATEST_PREDEFINED {
        invalid_context(name, ctx);
    }
    // SAFETY: a handle is what this library has given out, and is not used after
    // `shmem_ctx_destroy`: the caller's word (`OpenSHMEM 1.6 §9.5`).
    match unsafe { &(*ctx).context } {
        Some(context) => context,
        None => failed(name, None, Error::TeamDestroyed { call: name }),
    }
}

/// The short way of a context; one that leads nowhere if it is none.
#[inline(always)]
pub(crate) fn path(ctx: CtxHandle) -> &'static AddressPath {
    static NOWHERE: AddressPath = AddressPath::closed();
    match ctx.addr() {
        CTX_DEFAULT => &DEFAULT_PATH,
        ..=GREATEST_PREDEFINED => &NOWHERE,
        // SAFETY: as in `made`.
        _ => unsafe { &(*ctx).path },
    }
}

/// Handles above are addresses.
pub(crate) const GREATEST_PREDEFINED: usize = 15;

#[cold]
#[inline(never)]
fn invalid_context(name: &str, ctx: CtxHandle) -> ! {
    match ctx.addr() {
        CTX_INVALID => {
            fatal(name, format_args!("ctx is SHMEM_CTX_INVALID; look whether shmem_ctx_create has succeeded"))
        }
        other => fatal(
            name,
            format_args!(
                "ctx = {other:#x} is no context; take SHMEM_CTX_DEFAULT, or one that shmem_ctx_create gave"
            ),
        ),
    }
}

/// Ends the job with one line.
#[cold]
#[inline(never)]
pub(crate) fn fatal(name: &str, why: fmt::Arguments<'_>) -> ! {
    if is_leaving() {
        // Because of what was printed before.
        leave(1);
    }
    let Some(global) = current() else {
        report(format_args!("oxshmem: {name}: {why}"));
        leave(1);
    };
    report(format_args!("oxshmem: PE {}: {name}: {why}", global.world.my_pe()));
    end_job(global, 1)
}
