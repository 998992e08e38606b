//! The far path: memory of PEs on other hosts, over the [`Net`](oxshmem_net::Net).
//!
//! What is small, or borrowed, is copied when it is called, and noted in the op set: `quiet` and
//! `fence` flush its target. A long transfer of a buffer that stays where it is copies nothing. It
//! is in the op set until the buffer is free and goes back to the future. A future that waits for
//! the remote completion of a put has its target flushed first.

use std::sync::Arc;

use oxshmem_base::{Error, Result};
use oxshmem_memory::word::{Atomic, Signal, Width};
use oxshmem_net::{Batch, Spot};
use oxshmem_progress::{
    completion::{AllParts, Completion},
    opset::Target,
};
use oxshmem_spaces::Element;

use super::{packed::Packed, route::Far};
use crate::{
    blocks::Blocks,
    buffer::{Sink, Source},
    context::{Context, Sharing},
    operation::{Op, ReadyWhen, Remote, begin},
    still::Still,
};

/// Puts of up to so many bytes are gathered in sessions.
pub(crate) const GATHERED: usize = 256;

impl<M: Sharing> Context<M> {
    /// Puts all of `source`, which has `bytes` bytes.
    pub(crate) fn put_far<T, S>(
        &self,
        far: Far<'_>,
        source: S,
        bytes: usize,
        ready: ReadyWhen,
    ) -> Op<S::Back, S::Failure>
    where
        T: Element,
        S: Source<T>,
    {
        self.note(far);
        let op = if let Some(room) = self.gathers(bytes) {
            let from = source.as_ptr().cast();
            // SAFETY: the source's elements are readable, and copied before it moves.
            let add = &mut |batch: &mut Batch| unsafe { batch.put_from(far.spot, from, bytes) };
            let gathered = far.net.gather(far.spot.pe, room, add);
            self.eager(gathered, source)
        } else if !S::STABLE || bytes <= far.net.eager_limit() {
            // SAFETY: the source's elements are readable, and copied before it moves.
            let started = unsafe { far.net.put_eager(far.spot, source.as_ptr().cast(), bytes) };
            self.eager(started, source)
        } else {
            let source = Still::new(source);
            let from = source.as_ptr().cast::<u8>();
            let (flight, completion) = begin(self.ops(), far.pe, move |put| source.given_back(put));
            // SAFETY: a STABLE source stays where it is as long as it exists, and the completion
            // holds it.
            unsafe { far.net.put(far.spot, from, bytes, completion) };
            Op::under_way(flight, self.pe().engine().at_first_poll())
        };
        self.completing(ready, far, op, S::reject_back)
    }

    /// Puts all of `source`, then updates the signal.
    pub(crate) fn put_signal_far<T, S>(
        &self,
        [far, signal]: [Far<'_>; 2],
        source: S,
        bytes: usize,
        update: Signal,
        ready: ReadyWhen,
    ) -> Op<S::Back, S::Failure>
    where
        T: Element,
        S: Source<T>,
    {
        self.note(far);
        if let Some(room) = self.gathers(bytes) {
            let from = source.as_ptr().cast();
            let add = &mut |batch: &mut Batch| {
                // SAFETY: as in `put_far`.
                unsafe { batch.put_from(far.spot, from, bytes) };
                batch.signal(signal.spot, update);
            };
            let op = self.eager(far.net.gather(far.spot.pe, room, add), source);
            return self.completing(ready, far, op, S::reject_back);
        }
        if !S::STABLE || bytes <= far.net.eager_limit() {
            let mut batch = Batch::with_capacity(bytes + 64);
            // SAFETY: as in `put_far`.
            unsafe { batch.put_from(far.spot, source.as_ptr().cast(), bytes) };
            batch.signal(signal.spot, update);
            let op = self.eager(far.net.apply(far.spot.pe, batch), source);
            return self.completing(ready, far, op, S::reject_back);
        }
        let source = Still::new(source);
        let from = source.as_ptr().cast::<u8>();
        let (flight, completion) = begin(self.ops(), far.pe, move |put| source.given_back(put));
        // SAFETY: as in `put_far`; the completion holds the source.
        let rest = unsafe { far.net.put_signal(far.spot, from, bytes, signal.spot, update, completion) };
        let Some(completion) = rest else {
            return self.completing(
                ready,
                far,
                Op::under_way(flight, self.pe().engine().at_first_poll()),
                S::reject_back,
            );
        };
        // The signal leaves when the data is known to be there, and `quiet` waits for all of it.
        let (all, ticket) = (Arc::clone(self.ops()), self.ops().begin(far.pe));
        let (net, signal) = (Arc::clone(far.net), signal.spot);
        let end = move |outcome: Result<()>| {
            if let Err(error) = outcome {
                all.report_later(Some(far.pe), error);
            }
            all.complete(ticket);
        };
        let then: Completion = Box::new(move |put| {
            let sent = put.is_ok();
            completion(put);
            if !sent {
                return end(Ok(()));
            }
            let last = Arc::clone(&net);
            net.flush(
                signal.pe,
                Box::new(move |flushed| {
                    match flushed.and_then(|()| last.update(signal, Width::Eight, signal_operation(update))) {
                        Ok(()) => last.flush(signal.pe, Box::new(end)),
                        Err(error) => end(Err(error)),
                    }
                }),
            );
        });
        // SAFETY: as in `put_far`; the completion, in `then`, holds the source.
        unsafe { far.net.put(far.spot, from, bytes, then) };
        self.completing(ready, far, Op::under_way(flight, self.pe().engine().at_first_poll()), S::reject_back)
    }

    /// Puts blocks of `source`, whose shape is in bytes.
    pub(crate) fn put_blocks_far<T, S>(
        &self,
        far: Far<'_>,
        source: S,
        blocks: Blocks,
    ) -> Op<S::Back, S::Failure>
    where
        T: Element,
        S: Source<T>,
    {
        self.note(far);
        let limit = far.net.eager_limit();
        let Blocks { dest_stride, source_stride, block, count } = blocks;
        let mut batch = Batch::with_capacity(limit);
        let mut started = Ok(());
        for i in 0..count {
            let spot = Spot { offset: far.spot.offset + i * dest_stride, ..far.spot };
            // SAFETY: the blocks are inside of the source, which was checked; so for both copies.
            let from = unsafe { source.as_ptr().cast::<u8>().add(i * source_stride) };
            if block > limit {
                // SAFETY: see above.
                started = started.and_then(|()| unsafe { far.net.put_eager(spot, from, block) });
                continue;
            }
            if batch.bytes() + block > limit && !batch.is_empty() {
                started = started.and_then(|()| far.net.apply(spot.pe, batch.take()));
            }
            // SAFETY: see above.
            unsafe { batch.put_from(spot, from, block) };
        }
        if !batch.is_empty() {
            started = started.and_then(|()| far.net.apply(far.spot.pe, batch));
        }
        self.eager(started, source)
    }

    /// Fills all of `buffer`, which has `bytes` bytes.
    pub(crate) fn get_far<T, B>(&self, far: Far<'_>, buffer: B, bytes: usize) -> Op<B::Back, B::Failure>
    where
        T: Element,
        B: Sink<T>,
    {
        let mut held = Still::new(buffer.hold());
        let to = held.as_mut_ptr().cast::<u8>();
        let (flight, completion) = begin(self.ops(), far.pe, move |got| held.filled(got));
        // SAFETY: what a sink holds is STABLE: it stays where it is as long as it exists, and the
        // completion holds it.
        unsafe { far.net.get(far.spot, to, bytes, completion) };
        Op::under_way(flight, self.pe().engine().at_first_poll())
    }

    /// Fills blocks of `buffer`, likewise.
    pub(crate) fn get_blocks_far<T, B>(
        &self,
        far: Far<'_>,
        buffer: B,
        blocks: Blocks,
    ) -> Op<B::Back, B::Failure>
    where
        T: Element,
        B: Sink<T>,
    {
        let mut held = Still::new(buffer.hold());
        let to = held.as_mut_ptr().cast::<u8>();
        let (flight, completion) = begin(self.ops(), far.pe, move |got| held.filled(got));
        if Packed::pays(blocks.block) {
            // SAFETY: the blocks are inside of the buffer, which was checked; `all` holds that.
            unsafe { Packed::start(far, to, blocks, AllParts::new(completion)) };
            return Op::under_way(flight, self.pe().engine().at_first_poll());
        }
        // Over when the last of them is.
        let all = AllParts::new(completion);
        for i in 0..blocks.count {
            let spot = Spot { offset: far.spot.offset + i * blocks.source_stride, ..far.spot };
            // SAFETY: the blocks are inside of the buffer, which was checked; `all` holds that.
            unsafe {
                far.net.get(spot, to.add(i * blocks.dest_stride), blocks.block, all.part());
            }
        }
        drop(all);
        Op::under_way(flight, self.pe().engine().at_first_poll())
    }

    /// An atomic operation that fetches.
    pub(crate) fn fetch_far<T: Send>(
        &self,
        far: Far<'_>,
        width: Width,
        operation: Atomic<u64>,
        value: impl FnOnce(u64) -> T + Send + 'static,
    ) -> Op<T, Error> {
        let (flight, completion) = begin(self.ops(), far.pe, move |before: Result<u64>| before.map(value));
        far.net.fetch(far.spot, width, operation, completion);
        Op::under_way(flight, self.pe().engine().at_first_poll())
    }

    /// An atomic operation that fetches nothing.
    pub(crate) fn update_far(&self, far: Far<'_>, width: Width, operation: Atomic<u64>) -> Op<(), Error> {
        self.note(far);
        let started = match self.gathers(0) {
            Some(room) => {
                far.net.gather(far.spot.pe, room, &mut |batch| batch.update(far.spot, width, operation))
            }
            None => far.net.update(far.spot, width, operation),
        };
        match started {
            Ok(()) => Op::Complete(()),
            Err(error) => Op::failed(error, self.ops()),
        }
    }

    /// Whether a session gathers operations with so many bytes, and up to how many in all.
    #[inline]
    fn gathers(&self, bytes: usize) -> Option<usize> {
        self.gathering().room().filter(|_| bytes <= GATHERED)
    }

    #[inline]
    fn note(&self, far: Far<'_>) {
        self.ops().note(Target { pe: far.pe, world_pe: far.spot.pe });
    }

    /// A put to another host, which its future observes as `ready` says.
    fn completing<T, E>(
        &self,
        ready: ReadyWhen,
        far: Far<'_>,
        op: Op<T, E>,
        reject: fn(T, Error) -> E,
    ) -> Op<T, E>
    where
        E: Into<Error>,
    {
        let (outcome, landing) = match (ready, op) {
            (ReadyWhen::Delivered, Op::Complete(back)) => (Some(Ok(back)), None),
            (ReadyWhen::Delivered, Op::UnderWay(operation)) => (None, Some(operation.flight)),
            (_, op) => return op,
        };
        let target = Target { pe: far.pe, world_pe: far.spot.pe };
        Op::Remote(Box::new(Remote::flushed(outcome, landing, (far.net, target, self.ops()), reject)))
    }

    /// The outcome of something that is over as far as its source is concerned.
    fn eager<T: Element, S: Source<T>>(&self, started: Result<()>, source: S) -> Op<S::Back, S::Failure> {
        match started {
            Ok(()) => Op::Complete(source.back()),
            Err(error) => Op::failed(source.reject(error), self.ops()),
        }
    }
}

/// The atomic operation that an update of a signal is.
#[inline(always)]
pub(crate) fn signal_operation(update: Signal) -> Atomic<u64> {
    match update {
        Signal::Set(value) => Atomic::Set(value),
        Signal::Add(value) => Atomic::Add(value),
    }
}
