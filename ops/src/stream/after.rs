//! Operations that start when an event of the program is over.

use std::sync::Arc;

use oxshmem_base::{Error, Result};
use oxshmem_memory::word::{Atomic, Signal};
use oxshmem_progress::completion::Completion;
use oxshmem_spaces::{
    Element, SymRef, SymView, Symmetric,
    device::stream::{EventRef, no_streams},
};

use super::StreamOp;
use crate::{
    blocks::Blocks,
    context::{Context, Sharing},
    operation::{Op, begin},
    path::{
        device::{Following, Side, There, copy_blocks},
        far::signal_operation,
        route::{Here, Route},
    },
    trace::trace_operation,
};

/// A context's operations, each of which starts when an event of the program is over, as that was
/// last recorded before the call.
///
/// Between places that the PE's device reaches, the device waits by itself. Otherwise the engine
/// starts the operation when the event is over. The futures are ready at the operations' *remote*
/// completion, and may be dropped.
#[derive(Debug)]
pub struct After<'a, M: Sharing> {
    ctx: &'a Context<M>,
    event: EventRef<'a>,
}

impl<M: Sharing> Context<M> {
    /// The context's operations, started when an event is over.
    pub fn after<'a>(&'a self, event: impl Into<EventRef<'a>>) -> After<'a, M> {
        After { ctx: self, event: event.into() }
    }
}

impl<M: Sharing> After<'_, M> {
    /// Copies `source`, this PE's, to `dest` on `pe`, when the event is over.
    ///
    /// # Errors
    /// Those of [`Context::put`], what the driver says, and [`Error::Unsupported`] where there is
    /// no CUDA.
    pub fn put<'v, D>(&self, dest: D, source: SymView<'v, D::Element>, pe: usize) -> StreamOp
    where
        D: Symmetric<'v>,
    {
        self.transfer("put_after", (dest.view(), source), None, pe, true)
    }

    /// Copies `source` on `pe` to `dest`, this PE's, when the event is over.
    ///
    /// # Errors
    /// Those of [`put`](Self::put).
    pub fn get<'v, D>(&self, dest: SymView<'v, D::Element>, source: D, pe: usize) -> StreamOp
    where
        D: Symmetric<'v>,
    {
        self.transfer("get_after", (source.view(), dest), None, pe, false)
    }

    /// Copies `source`, this PE's, to `dest` on `pe`, when the event is over, then updates `signal`
    /// there.
    ///
    /// # Errors
    /// Those of [`put`](Self::put).
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
        let following = Some((signal.as_view(), signal_operation(update)));
        self.transfer("put_signal_after", (dest.view(), source), following, pe, true)
    }

    fn transfer<T: Element>(
        &self,
        call: &'static str,
        (view, local): (SymView<'_, T>, SymView<'_, T>),
        following: Option<(SymView<'_, u64>, Atomic<u64>)>,
        pe: usize,
        is_put: bool,
    ) -> StreamOp {
        let (ctx, bytes) = (self.ctx, view.len() * size_of::<T>());
        trace_operation(call, bytes, pe);
        self.ctx.count(call, bytes, pe);
        match self.start(call, (view, local), following, pe, is_put) {
            Ok(started) => started,
            Err(error) => StreamOp(Op::failed(error, ctx.ops())),
        }
    }

    fn start<T: Element>(
        &self,
        call: &'static str,
        (view, local): (SymView<'_, T>, SymView<'_, T>),
        following: Option<(SymView<'_, u64>, Atomic<u64>)>,
        pe: usize,
        is_put: bool,
    ) -> Result<StreamOp> {
        let (ctx, bytes) = (self.ctx, view.len() * size_of::<T>());
        ctx.pe().check(call)?;
        let device = ctx.pe().device().ok_or_else(|| Error::Unsupported {
            what: format!("{call} needs a device; set SHMEM_ENABLE_GPU_SPACE=1 where there is one"),
        })?;
        let streams = device.program_streams().ok_or_else(|| no_streams(device.name()))?;
        let (route, here) = ctx.routes(call, view, (local.len(), Some(local)), pe, is_put)?;
        let kept = (view.to_owned(), local.to_owned());
        let following = match following {
            Some((signal, update)) => Some(Following { to: ctx.route(call, signal, pe)?, signal, update }),
            None => None,
        };
        let (flight, completion) = begin(ctx.ops(), pe, move |over: Result<()>| {
            drop(kept);
            over
        });
        let copied: Completion = match is_put {
            true => {
                let last = ctx.after_put(There::new(ctx.pe(), &route, view), following);
                Box::new(move |put| last(put, completion))
            }
            false => completion,
        };
        let by = ctx.pe().local_pe();
        match (&route, here) {
            (Route::Device(there), Here::Device(here)) if device.address(by, *there).is_some() => {
                let (from, to) = if is_put { (here, *there) } else { (*there, here) };
                // SAFETY: both are in bounds; the completion keeps their memory.
                unsafe { streams.copy_after(self.event, from, to, bytes, copied) };
            }
            _ => {
                let (there, mine) = (Side::of(&route), Side::here(here, local.own()));
                let (from, to) = if is_put { (mine, there) } else { (there, mine) };
                let home = Arc::clone(ctx.pe());
                let begin = move |over: Result<()>| match over {
                    // SAFETY: as above.
                    Ok(()) => unsafe { copy_blocks(&home, from, to, Blocks::whole(bytes), copied) },
                    Err(error) => copied(Err(error)),
                };
                streams.event(by, self.event, Box::new(begin));
            }
        }
        Ok(StreamOp(Op::under_way(flight, ctx.pe().engine().at_first_poll())))
    }
}
