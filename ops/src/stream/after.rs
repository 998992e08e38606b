//! Operations that start when an event of the program is over.

use std::sync::Arc;

use oxshmem_base::{Error, Result};
use oxshmem_memory::{op::Op, word::Signal};
use oxshmem_spaces::{
    Element, SymRef, SymView, Symmetric,
    device::{
        DeviceOp,
        stream::{EventRef, no_streams},
    },
};

use super::StreamOp;
use crate::{
    context::{Context, Sharing},
    operation::{Initiated, begin},
    path::{
        route::Here,
        start::{follow, on_device, start},
    },
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
    /// What [`Context::put`] returns, what the driver reports, and [`Error::Unsupported`] where
    /// there is no CUDA.
    pub fn put<'v, D>(&self, dest: D, source: SymView<'v, D::Element>, pe: usize) -> StreamOp
    where
        D: Symmetric<'v>,
    {
        self.transfer("put_after", (dest.view(), source), None, pe, true)
    }

    /// Copies `source` on `pe` to `dest`, this PE's, when the event is over.
    ///
    /// # Errors
    /// What [`put`](Self::put) returns.
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
        self.transfer("put_signal_after", (dest.view(), source), following, pe, true)
    }

    fn transfer<T: Element>(
        &self,
        call: &'static str,
        (view, local): (SymView<'_, T>, SymView<'_, T>),
        following: Option<(SymView<'_, u64>, Signal)>,
        pe: usize,
        is_put: bool,
    ) -> StreamOp {
        let (ctx, bytes) = (self.ctx, view.len() * size_of::<T>());
        self.ctx.issued(call, bytes, pe);
        match self.start(call, (view, local), following, pe, is_put) {
            Ok(started) => started,
            Err(error) => StreamOp(Initiated::failed(error, ctx.ops())),
        }
    }

    fn start<T: Element>(
        &self,
        call: &'static str,
        (view, local): (SymView<'_, T>, SymView<'_, T>),
        following: Option<(SymView<'_, u64>, Signal)>,
        pe: usize,
        is_put: bool,
    ) -> Result<StreamOp> {
        let (ctx, bytes) = (self.ctx, view.len() * size_of::<T>());
        ctx.pe().check(call)?;
        let device = ctx.pe().device().ok_or_else(|| Error::Unsupported {
            what: format!("{call} needs a device; set SHMEM_ENABLE_GPU_SPACE=1 where there is one"),
        })?;
        let streams = device.program_streams().ok_or_else(|| no_streams(device.name()))?;
        let (there, here) = ctx.routes(call, view, (local.len(), Some(local)), pe, is_put)?;
        let signal = following.map(|(signal, _)| signal.to_owned());
        let (kept, end) = ((view.to_owned(), local.to_owned(), signal), here.end(local.own()));
        let op = if is_put { Op::put(there.spot, end, bytes) } else { Op::get(there.spot, end, bytes) };
        let op = match following {
            Some((signal, update)) => op.then(ctx.route(call, signal, pe)?.spot, update),
            None => op,
        };
        let (flight, completion) = begin(ctx.ops(), pe, move |over: Result<u64>| {
            drop(kept);
            over.map(drop)
        });
        let (by, home) = (ctx.pe().local_pe(), Arc::clone(ctx.pe()));
        let reached = |op: &DeviceOp| device.address(by, op.there).is_some();
        match on_device(&home, Op { then: None, ..op }).filter(reached) {
            Some(direct) if matches!(here, Here::Device(_)) => {
                let then = move |copied: Result<()>| match copied {
                    // SAFETY: the completion keeps the memory; nothing is left but what follows.
                    Ok(()) => unsafe { follow(&home, op, 0, completion) },
                    Err(error) => completion(Err(error)),
                };
                // SAFETY: both are in bounds; the completion keeps their memory.
                unsafe { streams.copy_after(by, self.event, direct, Box::new(then)) };
            }
            _ => {
                let begin = move |over: Result<()>| match over {
                    // SAFETY: as above.
                    Ok(()) => unsafe { start(&home, op, completion) },
                    Err(error) => completion(Err(error)),
                };
                streams.event(by, self.event, Box::new(begin));
            }
        }
        Ok(StreamOp(Initiated::under_way(flight, ctx.pe().engine().at_first_poll())))
    }
}
