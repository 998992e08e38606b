//! The path of operations that are no loads and stores of this PE: on memory of other hosts, and on
//! device memory, there or here.
//!
//! What is small, or borrowed, goes to another host as a copy when it is called, and is noted in
//! the op set: `quiet` and `fence` flush its target. Where the net has no room for copies, as the
//! target reads nothing, it is kept with its future until it has left. Everything else is
//! [started](super::start::start), and is in the op set until it is over. A future that waits for
//! the remote completion of a put has its target flushed first.

use std::sync::Arc;

use oxshmem_base::{Error, Result};
use oxshmem_memory::{
    copy::copy,
    op::{Address, Op, Ready, Spot},
    word::{Atomic, Width},
};
use oxshmem_net::{Net, put_copied};
use oxshmem_progress::opset::Target;
use oxshmem_spaces::{Element, SymView, device::End};

use super::{
    route::{Here, Route},
    start::{goes_in_pieces, start},
};
use crate::{
    buffer::{Sink, Source},
    context::{Context, Sharing},
    operation::{Initiated, Remote, begin},
    still::Still,
};

/// Puts of up to this many bytes are gathered in sessions.
pub(crate) const GATHERED: usize = 256;

impl<M: Sharing> Context<M> {
    /// Performs a put of `source`, which is `here`, and updates its signal, if `op` names one.
    pub(crate) fn put_away<T, S>(
        &self,
        to: &Route<'_, T>,
        op: Op<Spot, ()>,
        source: S,
        here: Here,
        signal: Option<SymView<'_, u64>>,
    ) -> Initiated<S::Back, S::Failure>
    where
        T: Element,
        S: Source<T>,
    {
        let in_pieces = S::STABLE && source.symmetric().is_none() && goes_in_pieces(op.there, op.blocks.len);
        if let (Some(net), Here::Host, false) = (to.net, here, in_pieces) {
            return self.put_far(net, to, op, source, signal);
        }
        let kept = (to.view.to_owned(), signal.map(SymView::to_owned));
        if S::STABLE {
            let source = Still::new(source);
            let op = op.map(|there| there, |()| here.end(source.as_ptr().cast_mut()));
            let (flight, completion) = begin(self.ops(), to.pe, move |put: Result<u64>| {
                drop(kept);
                source.given_back(put.map(drop))
            });
            // SAFETY: a STABLE source stays where it is as long as it exists, and the completion
            // holds it; the target is in bounds.
            unsafe { start(self.pe(), op, completion) };
            return Initiated::under_way(flight, self.pe().engine().at_first_poll());
        }
        // What is not STABLE is copied now, or, where it is in device memory, kept from being given
        // to others.
        let (source_kept, bounce, from) = match here {
            Here::Device(place) => (source.symmetric().map(SymView::to_owned), Vec::new(), place.into()),
            Here::Host => {
                let bounce = bounced(&source);
                let from = End::from(bounce.as_ptr().cast::<u8>());
                (None, bounce, from)
            }
        };
        let waits = matches!(here, Here::Device(_)) || op.ready == Ready::Delivered;
        let (flight, completion) = begin(self.ops(), to.pe, move |put: Result<u64>| {
            drop((kept, source_kept, bounce));
            put.map(drop)
        });
        // Without a future that waits for it, `quiet` reports what goes wrong.
        let flight = waits.then_some(flight);
        // SAFETY: the completion holds the buffer, or the device memory; the target is in bounds.
        unsafe { start(self.pe(), op.map(|there| there, |()| from), completion) };
        match flight {
            Some(flight) => Initiated::Remote(Box::new(Remote::landing(
                flight,
                source.back(),
                S::reject_back,
                self.pe().engine().at_first_poll(),
            ))),
            None => Initiated::Complete(source.back()),
        }
    }

    /// Performs a put of `source`, which is in host memory, to another host.
    fn put_far<T, S>(
        &self,
        net: &Arc<dyn Net>,
        to: &Route<'_, T>,
        op: Op<Spot, ()>,
        source: S,
        signal: Option<SymView<'_, u64>>,
    ) -> Initiated<S::Back, S::Failure>
    where
        T: Element,
        S: Source<T>,
    {
        let target = Target { pe: to.pe, world_pe: op.there.pe };
        self.ops().note(target);
        let (bytes, is_whole) = (op.blocks.bytes(), op.blocks.count == 1);
        let from = |source: &S| op.map(|there| there, |()| Address::from(source.as_ptr().cast::<u8>()));
        let room = self.gathering().room().filter(|_| is_whole && bytes <= GATHERED);
        let has_room = net.has_room(op.there.pe);
        let initiated = if let Some(room) = room.filter(|_| has_room) {
            let put = from(&source);
            // SAFETY: the source's elements are readable, and copied before it moves.
            let gathered = net.gather(op.there.pe, room, &mut |batch| unsafe { batch.add(&put) });
            self.copied(gathered, source)
        } else if !S::STABLE && !has_room {
            let bounce = bounced(&source);
            let put = op.map(|there| there, |()| Address::from(bounce.as_ptr().cast::<u8>()));
            let kept = (to.view.to_owned(), signal.map(SymView::to_owned));
            let (flight, completion) = begin(self.ops(), to.pe, move |put: Result<u64>| {
                drop((kept, bounce));
                put.map(drop)
            });
            // SAFETY: the completion holds the copy, whose words stay where they are.
            unsafe { oxshmem_net::start(net, put, completion) };
            let first_poll = self.pe().engine().at_first_poll();
            return Initiated::Remote(Box::new(Remote::landing(
                flight,
                source.back(),
                S::reject_back,
                first_poll,
            )));
        } else if has_room && (!S::STABLE || !is_whole || bytes <= net.eager_limit()) {
            // SAFETY: as above; blocks are inside of the source, which was checked.
            let started = unsafe { put_copied(&**net, &from(&source)) };
            self.copied(started, source)
        } else {
            let source = Still::new(source);
            let put = Op { ready: Ready::Reusable, ..from(&source) };
            // The signal may leave later.
            let kept = (to.view.to_owned(), signal.map(SymView::to_owned));
            let (flight, completion) = begin(self.ops(), to.pe, move |put: Result<u64>| {
                drop(kept);
                source.given_back(put.map(drop))
            });
            // SAFETY: a STABLE source stays where it is as long as it exists, and the completion
            // holds it.
            unsafe { oxshmem_net::start(net, put, completion) };
            Initiated::under_way(flight, self.pe().engine().at_first_poll())
        };
        let (outcome, landing) = match (op.ready, initiated) {
            (Ready::Delivered, Initiated::Complete(back)) => (Some(Ok(back)), None),
            (Ready::Delivered, Initiated::UnderWay(operation)) => (None, Some(operation.flight)),
            (_, initiated) => return initiated,
        };
        let flushed = Remote::flushed(outcome, landing, (net, target, self.ops()), S::reject_back);
        Initiated::Remote(Box::new(flushed))
    }

    /// Fills `buffer`, which is `here`.
    pub(crate) fn get_away<T, B>(
        &self,
        from: &Route<'_, T>,
        op: Op<Spot, ()>,
        buffer: B,
        here: Here,
    ) -> Initiated<B::Back, B::Failure>
    where
        T: Element,
        B: Sink<T>,
    {
        let kept = from.view.to_owned();
        let mut held = Still::new(buffer.hold());
        let to = here.end(held.as_mut_ptr());
        let (flight, completion) = begin(self.ops(), from.pe, move |got: Result<u64>| {
            drop(kept);
            held.filled(got.map(drop))
        });
        // SAFETY: what a sink holds is STABLE: it stays where it is as long as it exists, and the
        // completion holds it. Blocks are inside of it, which was checked.
        unsafe { start(self.pe(), op.map(|there| there, |()| to), completion) };
        Initiated::under_way(flight, self.pe().engine().at_first_poll())
    }

    /// Performs an atomic operation that fetches.
    pub(crate) fn fetch_away<T: Element, V: Send>(
        &self,
        at: &Route<'_, T>,
        operation: Atomic<u64>,
        width: Width,
        value: impl FnOnce(u64) -> V + Send + 'static,
    ) -> Initiated<V, Error> {
        let kept = at.view.to_owned();
        let (flight, completion) = begin(self.ops(), at.pe, move |before: Result<u64>| {
            drop(kept);
            before.map(value)
        });
        // SAFETY: a `SymRef` is one aligned element in bounds, on every PE.
        unsafe { start(self.pe(), Op::atomic(at.spot, operation, width), completion) };
        Initiated::under_way(flight, self.pe().engine().at_first_poll())
    }

    /// Performs an atomic operation that fetches nothing.
    pub(crate) fn update_away<T: Element>(
        &self,
        at: &Route<'_, T>,
        operation: Atomic<u64>,
        width: Width,
    ) -> Initiated<(), Error> {
        let Some(net) = at.net else {
            // Without a future that waits for it, `quiet` reports what goes wrong.
            drop(self.fetch_away(at, operation, width, drop));
            return Initiated::Complete(());
        };
        let spot = at.spot;
        if !net.has_room(spot.pe) {
            return self.fetch_away(at, operation, width, drop);
        }
        self.ops().note(Target { pe: at.pe, world_pe: spot.pe });
        let started = match self.gathering().room() {
            Some(room) => net.gather(spot.pe, room, &mut |batch| batch.update(spot, operation, width)),
            // SAFETY: there is no source.
            None => unsafe { put_copied(&**net, &Op::atomic(spot, operation, width)) },
        };
        match started {
            Ok(()) => Initiated::Complete(()),
            Err(error) => Initiated::failed(error, self.ops()),
        }
    }

    /// The outcome of a put whose source was copied.
    fn copied<T, S>(&self, started: Result<()>, source: S) -> Initiated<S::Back, S::Failure>
    where
        T: Element,
        S: Source<T>,
    {
        match started {
            Ok(()) => Initiated::Complete(source.back()),
            Err(error) => Initiated::failed(source.reject(error), self.ops()),
        }
    }
}

/// A copy of the elements, in words for the sake of its alignment.
fn bounced<T: Element>(source: &impl Source<T>) -> Vec<u64> {
    let bytes = source.len() * size_of::<T>();
    let mut bounce = vec![0u64; bytes.div_ceil(size_of::<u64>())];
    // SAFETY: the source's elements are readable, and the buffer has room for them.
    unsafe { copy(bounce.as_mut_ptr().cast(), source.as_ptr().cast(), bytes) };
    bounce
}
