//! Operations in the order of a CUDA stream of the program, and streams and events as futures.
//!
//! What lies in memory that the PE's device reaches is a copy or a kernel in that very stream. Of
//! everything else the host does its part when the stream has come so far: the stream waits for it
//! meanwhile, and the program's thread does not.
//!
//! | module | what it offers |
//! |---|---|
//! | `after` | operations that start when an event is over |
//! | `gpu` | streams and events as futures |
//! | `step` | the host's part in a stream |
//! | `task` | a future that runs by itself |

mod after;
mod gpu;
mod step;
mod task;

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context as TaskContext, Poll},
};

use oxshmem_base::{Error, Result};
use oxshmem_memory::{
    op::{Op, Spot, Verb},
    word::{Signal, Width},
};
use oxshmem_progress::completion::{Completion, any_value};
use oxshmem_spaces::{
    Element, SymRef, SymView, Symmetric,
    device::{
        End,
        stream::{InStream, ProgramStreams, StreamRef, no_streams},
    },
};

use self::step::{not_captured, step};
pub use self::{
    after::After,
    gpu::{Gpu, Reached},
};
use crate::{
    context::{Context, Sharing},
    operation::{Immediate, Initiated, begin},
    path::{
        route::Here,
        start::{on_device, ring, start},
    },
    sealed::Sealed,
    wait::{Cmp, Wait},
};

/// A context's operations in the order of a CUDA stream of the program.
///
/// Each starts when everything is over that the stream was given before, and what the stream is
/// given afterwards starts when it is over. No call waits. The futures are ready when the
/// operations are over, and may be dropped: the context's [`quiet`](Context::quiet) waits for them,
/// and reports their errors.
///
/// The stream must belong to the primary context of the PE's device. While it is captured into a
/// graph, it takes what is a copy or a kernel alone: transfers and signals in device memory that
/// this PE's device reaches, and waits for equal or greater signals there. The rest is refused
/// with [`Error::Unsupported`]. The program keeps the memory for as long as the graph may run.
#[derive(Debug)]
pub struct OnStream<'a, M: Sharing> {
    ctx: &'a Context<M>,
    stream: StreamRef<'a>,
}

/// An operation in a stream. Ready when it is over.
pub struct StreamOp(pub(crate) Initiated<(), Error>);

impl Future for StreamOp {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        self.0.poll(cx)
    }
}

impl Sealed for StreamOp {}

impl Immediate for StreamOp {
    type Output = ();

    fn now(self) -> Result<(), Self> {
        self.0.now().map_err(Self)
    }

    fn refused(self) -> Option<Error> {
        self.0.refused()
    }
}

impl fmt::Debug for StreamOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StreamOp({})", self.0.state())
    }
}

impl<M: Sharing> Context<M> {
    /// The context's operations in the order of a CUDA stream.
    pub fn on_stream<'a>(&'a self, stream: impl Into<StreamRef<'a>>) -> OnStream<'a, M> {
        OnStream { ctx: self, stream: stream.into() }
    }
}

/// A source or a destination on this PE.
#[derive(Clone, Copy)]
enum Local<'a, T> {
    Symmetric(SymView<'a, T>),
    /// Any memory of the process, of the host's or the device's, and how many elements are there.
    Any(*mut T, usize),
}

impl<'a, T: Element> Local<'a, T> {
    fn len(&self) -> usize {
        match self {
            Self::Symmetric(view) => view.len(),
            Self::Any(_, len) => *len,
        }
    }

    fn symmetric(&self) -> Option<SymView<'a, T>> {
        match self {
            Self::Symmetric(view) => Some(*view),
            Self::Any(..) => None,
        }
    }

    fn address(&self) -> *mut u8 {
        match self {
            Self::Symmetric(view) => view.own(),
            Self::Any(address, _) => address.cast(),
        }
    }
}

impl<'a, M: Sharing> OnStream<'a, M> {
    /// Copies `source`, this PE's, to `dest` on `pe`, in the order of the stream.
    ///
    /// # Errors
    /// What [`Context::put`] returns, and [`Error::Unsupported`] for a stream that is not of the
    /// primary context of the PE's device, where there is no CUDA, and in a capture if the host
    /// takes part.
    pub fn put<'v, D>(&self, dest: D, source: SymView<'v, D::Element>, pe: usize) -> StreamOp
    where
        D: Symmetric<'v>,
    {
        self.transfer("put_on_stream", (dest.view(), Local::Symmetric(source)), None, pe, true)
    }

    /// Copies `source` on `pe` to `dest`, this PE's, in the order of the stream.
    ///
    /// # Errors
    /// What [`put`](Self::put) returns.
    pub fn get<'v, D>(&self, dest: SymView<'v, D::Element>, source: D, pe: usize) -> StreamOp
    where
        D: Symmetric<'v>,
    {
        self.transfer("get_on_stream", (source.view(), Local::Symmetric(dest)), None, pe, false)
    }

    /// Copies `source`, this PE's, to `dest` on `pe`, then updates `signal` there, in the order of
    /// the stream.
    ///
    /// # Errors
    /// What [`put`](Self::put) returns.
    pub fn put_signal<'v, D>(
        &self,
        dest: D,
        source: SymView<'v, D::Element>,
        signal: SymRef<'v, u64>,
        update: Signal,
        pe: usize,
    ) -> StreamOp
    where
        D: Symmetric<'v>,
    {
        let following = Some((signal.as_view(), update));
        let ends = (dest.view(), Local::Symmetric(source));
        self.transfer("put_signal_on_stream", ends, following, pe, true)
    }

    /// [`put`](Self::put), and [`put_signal`](Self::put_signal) if there is a signal, from any
    /// memory of the process, of the host's or of the device's.
    ///
    /// # Safety
    /// The source must have as many elements as `dest`, and be left alone until the operation is
    /// over.
    #[doc(hidden)]
    pub unsafe fn put_from<T: Element>(
        &self,
        dest: SymView<'_, T>,
        source: *const T,
        signal: Option<(SymRef<'_, u64>, Signal)>,
        pe: usize,
    ) -> StreamOp {
        let following = signal.map(|(signal, update)| (signal.as_view(), update));
        let source = Local::Any(source.cast_mut(), dest.len());
        self.transfer("put_on_stream", (dest, source), following, pe, true)
    }

    /// [`get`](Self::get) to any memory of the process.
    ///
    /// # Safety
    /// The destination must have room for as many elements as `source` has, and be left alone until
    /// the operation is over.
    #[doc(hidden)]
    pub unsafe fn get_to<T: Element>(&self, dest: *mut T, source: SymView<'_, T>, pe: usize) -> StreamOp {
        let dest = Local::Any(dest, source.len());
        self.transfer("get_on_stream", (source, dest), None, pe, false)
    }

    /// Updates `signal` on `pe` in the order of the stream.
    ///
    /// # Errors
    /// What [`put`](Self::put) returns.
    pub fn signal(&self, signal: SymRef<'_, u64>, operation: Signal, pe: usize) -> StreamOp {
        let call = "signal_op_on_stream";
        self.ctx.issued(call, size_of::<u64>(), pe);
        let (ctx, view) = (self.ctx, signal.as_view());
        let checked = self.streams(call).and_then(|streams| Ok((streams, ctx.route(call, view, pe)?)));
        let (streams, to) = match checked {
            Ok(checked) => checked,
            Err(error) => return self.failed(error),
        };
        let op = Op::atomic(to.spot, operation.into(), Width::Eight);
        self.give_op(call, streams, (op, pe, true), view.to_owned())
    }

    /// Has the stream wait until `word` of this PE compares to `value` as `cmp` says.
    ///
    /// # Errors
    /// What [`put`](Self::put) returns.
    pub fn wait_until(&self, word: SymRef<'_, u64>, cmp: Cmp, value: u64) -> StreamOp {
        let call = "signal_wait_until_on_stream";
        let view = word.as_view();
        let checked = self.streams(call).and_then(|streams| Ok((streams, self.ctx.here(call, Some(view))?)));
        let (streams, here) = match checked {
            Ok(checked) => checked,
            Err(error) => return self.failed(error),
        };
        // What the device compares is the sign of the difference.
        let half = u64::MAX / 2;
        let wait = match (cmp, value) {
            (Cmp::Eq, _) => Some((true, value)),
            (Cmp::Ge, _) if value <= half => Some((false, value)),
            (Cmp::Gt, _) if value < half => Some((false, value + 1)),
            _ => None,
        };
        let direct = match here {
            Here::Device(at) => wait.map(|(equal, value)| InStream::Wait { at, equal, value }),
            Here::Host => None,
        };
        let direct = direct.filter(|wait| streams.takes(self.by(), wait)).map(|wait| vec![wait]);
        let kept = view.to_owned();
        let waits = view.to_owned();
        let step = move |completion: Completion| {
            let work = async move { waits.at(0).wait_until(cmp, value).await.map(drop) };
            task::run(Box::pin(work), completion);
        };
        self.give(call, streams, self.ctx.my_pe(), direct, step, move || drop(kept))
    }

    /// Completes every operation issued on the context before the call, in the order of the
    /// stream: what the stream is given afterwards finds them done.
    ///
    /// # Errors
    /// What [`Context::quiet`] and [`put`](Self::put) return.
    pub fn quiet(&self) -> StreamOp {
        let call = "quiet_on_stream";
        let streams = match self.streams(call) {
            Ok(streams) => streams,
            Err(error) => return self.failed(error),
        };
        let quiet = self.ctx.quiet();
        // What is captured is over in the order of the graph.
        let direct = self.ctx.ops().is_idle().then(Vec::new);
        let captured = direct.filter(|_| streams.is_captured(self.by(), self.stream).unwrap_or(false));
        let step = move |completion: Completion| task::run(Box::pin(quiet), completion);
        self.give(call, streams, self.ctx.my_pe(), captured, step, || {})
    }

    /// Runs a future in the order of the stream: it is first polled when the stream has come so
    /// far, and the stream goes on when it is ready. It is polled on whichever thread wakes it, the
    /// engine's among them, and must not block.
    ///
    /// # Errors
    /// The future's own, and those of [`put`](Self::put).
    pub fn run(&self, work: impl Future<Output = Result<()>> + Send + 'static) -> StreamOp {
        let call = "run_on_stream";
        let streams = match self.streams(call) {
            Ok(streams) => streams,
            Err(error) => return self.failed(error),
        };
        let step = move |completion: Completion| task::run(Box::pin(work), completion);
        self.give(call, streams, self.ctx.my_pe(), None, step, || {})
    }

    fn by(&self) -> usize {
        self.ctx.pe().local_pe()
    }

    fn failed(&self, error: Error) -> StreamOp {
        StreamOp(Initiated::failed(error, self.ctx.ops()))
    }

    fn streams(&self, call: &'static str) -> Result<&'a dyn ProgramStreams> {
        self.ctx.pe().check(call)?;
        let device = self.ctx.pe().device();
        let device = device.ok_or_else(|| Error::Unsupported {
            what: format!("{call} needs a device; set SHMEM_ENABLE_GPU_SPACE=1 where there is one"),
        })?;
        device.program_streams().ok_or_else(|| no_streams(device.name()))
    }

    fn transfer<T: Element>(
        &self,
        call: &'static str,
        (view, local): (SymView<'_, T>, Local<'_, T>),
        following: Option<(SymView<'_, u64>, Signal)>,
        pe: usize,
        is_put: bool,
    ) -> StreamOp {
        let bytes = view.len() * size_of::<T>();
        self.ctx.issued(call, bytes, pe);
        let ctx = self.ctx;
        let checked = self.streams(call).and_then(|streams| {
            let (there, here) = ctx.routes(call, view, (local.len(), local.symmetric()), pe, is_put)?;
            let end = here.end(local.address());
            let op = if is_put { Op::put(there.spot, end, bytes) } else { Op::get(there.spot, end, bytes) };
            let op = match following {
                Some((signal, update)) => op.then(ctx.route(call, signal, pe)?.spot, update),
                None => op,
            };
            Ok((streams, op, here))
        });
        let (streams, op, here) = match checked {
            Ok(checked) => checked,
            Err(error) => return self.failed(error),
        };
        let kept = (
            view.to_owned(),
            local.symmetric().map(SymView::to_owned),
            following.map(|(signal, _)| signal.to_owned()),
        );
        // The device may not know the host's symmetric memory yet.
        let knows = matches!((here, local), (Here::Device(_), _) | (_, Local::Any(..)));
        self.give_op(call, streams, (op, pe, knows), kept)
    }

    /// Gives the stream an operation on `pe`, which it may do by itself where the device knows the
    /// memory here, and keeps what it needs until it is over.
    fn give_op(
        &self,
        call: &'static str,
        streams: &dyn ProgramStreams,
        (op, pe, knows): (Op<Spot, End>, usize, bool),
        kept: impl Send + 'static,
    ) -> StreamOp {
        let home = Arc::clone(self.ctx.pe());
        let direct = on_device(&home, op).filter(|_| knows).map(InStream::Op);
        let direct = direct.filter(|op| streams.takes(self.by(), op)).map(|op| vec![op]);
        let is_direct = direct.is_some();
        let device = Arc::clone(&home);
        // SAFETY: both sides are in bounds, and `kept` keeps their memory.
        let step = move |completion: Completion| unsafe {
            start(&home, op, any_value(completion));
        };
        self.give(call, streams, pe, direct, step, move || {
            if is_direct && !matches!(op.verb, Verb::Get(_)) {
                let signal = op.then.map(|(at, _)| (at, size_of::<u64>()));
                let written = [Some((op.there, op.blocks.len)), signal];
                written.into_iter().flatten().for_each(|(at, len)| ring(&device, at, len));
            }
            drop(kept);
        })
    }

    /// Gives the stream what it does by itself, or else a step of the host. `end` runs when that is
    /// over.
    fn give(
        &self,
        call: &'static str,
        streams: &dyn ProgramStreams,
        pe: usize,
        direct: Option<Vec<InStream>>,
        host: impl FnOnce(Completion) + Send + 'static,
        end: impl FnOnce() + Send + 'static,
    ) -> StreamOp {
        let (ctx, by) = (self.ctx, self.by());
        let captured = match streams.is_captured(by, self.stream) {
            Ok(captured) => captured,
            Err(error) => return self.failed(error),
        };
        if captured {
            let Some(direct) = direct else { return self.failed(not_captured(call)) };
            // SAFETY: the places are in bounds; that their memory stays is the program's promise,
            // and no reference is ever made to device memory.
            return match unsafe { streams.append_captured(by, self.stream, &direct) } {
                Ok(()) => StreamOp(Initiated::Complete(())),
                Err(error) => self.failed(error),
            };
        }
        let (flight, completion) = begin(ctx.ops(), pe, move |over: Result<()>| {
            end();
            over
        });
        match direct {
            // SAFETY: the places are in bounds, and `end` keeps their memory.
            Some(direct) => unsafe { streams.append(by, self.stream, &direct, completion) },
            None => step(ctx.pe(), streams, self.stream, host, completion),
        }
        StreamOp(Initiated::under_way(flight, ctx.pe().engine().at_first_poll()))
    }
}
