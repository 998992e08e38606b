//! Puts whose future waits for their remote completion.

use std::sync::Arc;
use std::sync::Weak;
use std::task::Context as TaskContext;
use std::task::Poll;

use oxshmem_base::Error;
use oxshmem_base::Result;
use oxshmem_net::Net;
use oxshmem_progress::executor::FirstPoll;
use oxshmem_progress::opset::OpSet;
use oxshmem_progress::opset::Target;
use oxshmem_progress::record::Pending;

use super::landing::Landed;
use super::landing::Landing;
use super::landing::begin;

/// A put whose future waits for its remote completion.
pub(crate) struct Remote<T, E> {
    /// The outcome on this side, once it is known.
    outcome: Option<Landed<T, E>>,
    /// Where it comes from, until then.
    landing: Option<Landing<T, E>>,
    flush: Flush,
    reject: fn(T, Error) -> E,
    engine: FirstPoll,
    /// What records the end, until something is under way that ends.
    record: Option<Pending>,
}

/// What is known of the other side.
enum Flush {
    /// A future that is forgotten must not keep the net.
    NotYet(Weak<dyn Net>, Target, Arc<OpSet>),
    UnderWay(Landing<(), Error>),
    Over(Landed<(), Error>),
}

impl<T, E> Remote<T, E> {
    /// A put that is over once its outcome is there, or has landed, and `target` has been flushed.
    pub(crate) fn flushed(
        outcome: Option<Landed<T, E>>,
        landing: Option<Landing<T, E>>,
        (net, target, ops): (&Arc<dyn Net>, Target, &Arc<OpSet>),
        reject: fn(T, Error) -> E,
    ) -> Self {
        let flush = Flush::NotYet(Arc::downgrade(net), target, Arc::clone(ops));
        Self { outcome, landing, flush, reject, engine: FirstPoll::default(), record: None }
    }

    /// A put that is over when `flight` has landed. `back` is what its future is then ready with.
    pub(crate) fn landing(
        flight: Landing<(), Error>,
        back: T,
        reject: fn(T, Error) -> E,
        engine: FirstPoll,
    ) -> Self {
        let flush = Flush::UnderWay(flight);
        Self { outcome: Some(Ok(back)), landing: None, flush, reject, engine, record: None }
    }

    /// Has the end recorded; of a future that is dropped before it was polled, its drop.
    pub(crate) fn record(&mut self, end: Pending) {
        match &self.flush {
            Flush::UnderWay(flight) => flight.record(end),
            Flush::NotYet(..) | Flush::Over(_) => self.record = Some(end),
        }
    }

    pub(crate) fn poll(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<T, E>> {
        let mut engine = std::mem::take(&mut self.engine);
        engine.poll(|| self.poll_once(cx))
    }

    fn poll_once(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<T, E>> {
        if let Flush::NotYet(net, target, ops) = &self.flush {
            // An operation of its own: the flush of a `quiet` meanwhile does not find its errors.
            let (flight, completion) = begin(ops, target.pe, |flushed: Result<()>| flushed);
            if let Some(end) = self.record.take() {
                flight.record(end);
            }
            match net.upgrade() {
                Some(net) => net.flush(Some(target.world_pe), completion),
                None => completion(Err(Error::Finalized { call: "put_nbi" })),
            }
            self.flush = Flush::UnderWay(flight);
        }
        if let Flush::UnderWay(flight) = &self.flush
            && let Poll::Ready(flushed) = flight.poll(cx)
        {
            self.flush = Flush::Over(flushed);
        }
        if let Some(flight) = &self.landing
            && let Poll::Ready(outcome) = flight.poll(cx)
        {
            (self.outcome, self.landing) = (Some(outcome), None);
        }
        match (&mut self.flush, self.outcome.take()) {
            (Flush::Over(flushed), Some(Ok(back))) => Poll::Ready(match std::mem::replace(flushed, Ok(())) {
                Ok(()) => Ok(back),
                Err(failed) => Err((self.reject)(back, failed.seen())),
            }),
            (_, Some(Err(failed))) => Poll::Ready(Err(failed.seen())),
            (_, outcome) => {
                self.outcome = outcome;
                Poll::Pending
            }
        }
    }
}
