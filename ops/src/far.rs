//! Operations on PEs of other hosts: how they use the [`Net`](oxshmem_runtime::net::Net), and when they are over.
//!
//! What is small, or borrowed, is copied when it is called, and noted in the op set: `quiet` and `fence` flush its
//! target. Long transfers of buffers that stay where they are take none of that copying; they are entered in the op
//! set until the buffer is free, which goes back to the future. Whoever awaits the remote completion of a put has
//! its target flushed first.

use std::{
    sync::{Arc, Weak},
    task::{Context as TaskContext, Poll},
};

use oxshmem_base::{Error, Result, wakes::Hold};
use oxshmem_memory::word::{Atomic, Signal, Width};
use oxshmem_progress::{
    completion::AllParts,
    flight::Flight,
    opset::{OpSet, Target},
};
use oxshmem_runtime::{
    device::{AnyDevice, poll_with},
    net::{Batch, Net, Spot},
};
use oxshmem_spaces::Element;

use crate::{
    Sink, Source,
    context::{Context, Far, Sharing},
    operation::{Failed, Landed, Op},
    packed::Packed,
    rma::Blocks,
    still::Still,
};

/// Puts of up to so many bytes are gathered in sessions.
const GATHERED: usize = 256;

/// A put whose future waits for its remote completion.
pub(crate) struct Remote<T, E> {
    /// The outcome on this side, once it is known.
    outcome: Option<Landed<T, E>>,
    /// Where it comes from, until then.
    landing: Option<Arc<Flight<Landed<T, E>>>>,
    flush: Flush,
    reject: fn(T, Error) -> E,
    /// Of an operation of a device, at the first poll.
    device: Option<AnyDevice>,
}

/// What is known of the other side.
enum Flush {
    /// A future that is forgotten must not keep the net.
    NotYet(Weak<dyn Net>, Target, Arc<OpSet>),
    UnderWay(Arc<Flight<Landed<(), Error>>>),
    Over(Landed<(), Error>),
}

impl<T, E> Remote<T, E> {
    /// An operation that is over when `flight` has landed. `back` is what its future is then ready with.
    pub(crate) fn landing(
        flight: Arc<Flight<Landed<(), Error>>>,
        back: T,
        reject: fn(T, Error) -> E,
        device: Option<AnyDevice>,
    ) -> Self {
        let flush = Flush::UnderWay(flight);
        Self { outcome: Some(Ok(back)), landing: None, flush, reject, device }
    }

    pub(crate) fn poll(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<T, E>> {
        match self.device.take() {
            Some(device) => poll_with(&device, || self.poll_once(cx)),
            None => self.poll_once(cx),
        }
    }

    fn poll_once(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<T, E>> {
        if let Flush::NotYet(net, target, ops) = &self.flush {
            // An operation of its own: the flush of a `quiet` meanwhile does not find what goes wrong in this one.
            let (flight, done) = begin(ops, target.pe, |flushed: Result<()>| flushed);
            match net.upgrade() {
                Some(net) => net.flush(target.world_pe, done),
                None => done(Err(Error::Finalized { call: "put_nbi" })),
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

/// When the future of a put is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Completion {
    /// When the source may be reused.
    Local,
    /// When the data is at the target.
    Remote,
}

impl Completion {
    fn of<T, E>(self, ops: &Arc<OpSet>, far: Far<'_>, op: Op<T, E>, reject: fn(T, Error) -> E) -> Op<T, E>
    where
        E: Into<Error>,
    {
        let (outcome, landing) = match (self, op) {
            (Self::Remote, Op::Done(back)) => (Some(Ok(back)), None),
            (Self::Remote, Op::Aloft(flight)) => (None, Some(flight)),
            (_, op) => return op,
        };
        let target = Target { pe: far.pe, world_pe: far.spot.pe };
        let flush = Flush::NotYet(Arc::downgrade(far.net), target, Arc::clone(ops));
        Op::Remote(Box::new(Remote { outcome, landing, flush, reject, device: None }))
    }
}

impl<M: Sharing> Context<M> {
    /// Puts all of `source`, which has `bytes` bytes.
    pub(crate) fn put_far<T, S>(
        &self,
        far: Far<'_>,
        source: S,
        bytes: usize,
        completion: Completion,
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
            let (flight, done) = self.under_way(far.pe, move |put| given_back(source, put));
            // SAFETY: a STABLE source stays where it is as long as it exists, and `done` holds it.
            unsafe { far.net.put(far.spot, from, bytes, done) };
            Op::Aloft(flight)
        };
        completion.of(self.ops(), far, op, S::reject_back)
    }

    /// Puts all of `source`, then updates the signal.
    pub(crate) fn put_signal_far<T, S>(
        &self,
        [far, signal]: [Far<'_>; 2],
        source: S,
        bytes: usize,
        update: Signal,
        completion: Completion,
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
            return completion.of(self.ops(), far, op, S::reject_back);
        }
        if !S::STABLE || bytes <= far.net.eager_limit() {
            let mut batch = Batch::with_capacity(bytes + 64);
            // SAFETY: as in `put_far`.
            unsafe { batch.put_from(far.spot, source.as_ptr().cast(), bytes) };
            batch.signal(signal.spot, update);
            let op = self.eager(far.net.apply(far.spot.pe, batch), source);
            return completion.of(self.ops(), far, op, S::reject_back);
        }
        let source = Still::new(source);
        let from = source.as_ptr().cast::<u8>();
        let (flight, landed) = self.under_way(far.pe, move |put| given_back(source, put));
        // SAFETY: as in `put_far`; `landed` holds the source.
        let landed = unsafe { far.net.put_signal(far.spot, from, bytes, signal.spot, update, landed) };
        let Some(landed) = landed else {
            return completion.of(self.ops(), far, Op::Aloft(flight), S::reject_back);
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
        let then: oxshmem_progress::completion::Completion = Box::new(move |put| {
            let sent = put.is_ok();
            landed(put);
            if !sent {
                return end(Ok(()));
            }
            let last = Arc::clone(&net);
            net.flush(
                signal.pe,
                Box::new(move |flushed| {
                    match flushed.and_then(|()| last.update(signal, Width::Eight, word(update))) {
                        Ok(()) => last.flush(signal.pe, Box::new(end)),
                        Err(error) => end(Err(error)),
                    }
                }),
            );
        });
        // SAFETY: as in `put_far`; `landed`, in `then`, holds the source.
        unsafe { far.net.put(far.spot, from, bytes, then) };
        completion.of(self.ops(), far, Op::Aloft(flight), S::reject_back)
    }

    /// Puts blocks of `source`.
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
        let (limit, size) = (far.net.eager_limit(), size_of::<T>());
        let block = blocks.block * size;
        let mut batch = Batch::with_capacity(limit);
        let mut started = Ok(());
        for i in 0..blocks.count {
            let spot = Spot { offset: far.spot.offset + i * blocks.dest_stride * size, ..far.spot };
            // SAFETY: the blocks are inside of the source, which was checked; so for both copies.
            let from = unsafe { source.as_ptr().add(i * blocks.source_stride).cast::<u8>() };
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
        let (flight, done) = self.under_way(far.pe, move |got| filled(held, got));
        // SAFETY: what a sink holds is STABLE: it stays where it is as long as it exists, and `done` holds it.
        unsafe { far.net.get(far.spot, to, bytes, done) };
        Op::Aloft(flight)
    }

    /// Fills blocks of `buffer`.
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
        let to = held.as_mut_ptr();
        let (flight, done) = self.under_way(far.pe, move |got| filled(held, got));
        let size = size_of::<T>();
        if Packed::pays(blocks.block * size) {
            // SAFETY: the blocks are inside of the buffer, which was checked; `all` holds that.
            unsafe { Packed::start(far, to.cast(), blocks, size, AllParts::new(done)) };
            return Op::Aloft(flight);
        }
        // Over when the last of them is: whoever drops the last reference says so.
        let all = AllParts::new(done);
        for i in 0..blocks.count {
            let spot = Spot { offset: far.spot.offset + i * blocks.source_stride * size, ..far.spot };
            let done = all.part();
            // SAFETY: the blocks are inside of the buffer, which was checked; `all` holds that.
            unsafe {
                let to = to.add(i * blocks.dest_stride).cast::<u8>();
                far.net.get(spot, to, blocks.block * size, done);
            }
        }
        drop(all);
        Op::Aloft(flight)
    }

    /// An atomic operation that fetches.
    pub(crate) fn fetch_far<T: Send>(
        &self,
        far: Far<'_>,
        width: Width,
        operation: Atomic<u64>,
        value: impl FnOnce(u64) -> T + Send + 'static,
    ) -> Op<T, Error> {
        let (flight, done) = self.under_way(far.pe, move |before: Result<u64>| before.map(value));
        far.net.fetch(far.spot, width, operation, done);
        Op::Aloft(flight)
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
            Ok(()) => Op::Done(()),
            Err(error) => Op::failed(error, self.ops()),
        }
    }

    /// The update of a signal.
    pub(crate) fn signal_far(&self, far: Far<'_>, update: Signal) -> Op<(), Error> {
        self.update_far(far, Width::Eight, word(update))
    }

    /// Flushes what `quiet` and `fence` wait for, on `pes` if given.
    #[cold]
    #[inline(never)]
    pub(crate) fn flush_far(&self, pes: Option<&[usize]>) {
        if let Some(net) = self.pe().net() {
            oxshmem_runtime::net::flush(&**net, self.ops(), pes);
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

    /// The outcome of something that is over as far as its source is concerned.
    fn eager<T: Element, S: Source<T>>(&self, started: Result<()>, source: S) -> Op<S::Back, S::Failure> {
        match started {
            Ok(()) => Op::Done(source.back()),
            Err(error) => Op::failed(source.reject(error), self.ops()),
        }
    }

    /// Enters an operation, and makes what its end is told to: that lands what `end` makes of it.
    pub(crate) fn under_way<V, T, E, F>(
        &self,
        pe: usize,
        end: F,
    ) -> (Arc<Flight<Landed<T, E>>>, oxshmem_progress::completion::Completion<V>)
    where
        T: Send,
        E: AsRef<Error> + Send,
        F: FnOnce(Result<V>) -> Result<T, E> + Send,
    {
        begin(self.ops(), pe, end)
    }
}

/// [`Context::under_way`], from the parts of a context.
fn begin<V, T, E, F>(
    ops: &Arc<OpSet>,
    pe: usize,
    end: F,
) -> (Arc<Flight<Landed<T, E>>>, oxshmem_progress::completion::Completion<V>)
where
    T: Send,
    E: AsRef<Error> + Send,
    F: FnOnce(Result<V>) -> Result<T, E> + Send,
{
    let flight = Arc::new(Flight::<Landed<T, E>>::default());
    let (ops, landing) = (Arc::clone(ops), Arc::clone(&flight));
    let ticket = ops.begin(pe);
    let done: Box<dyn FnOnce(Result<V>) + Send + '_> = Box::new(move |outcome| {
        let ended = end(outcome);
        // A task that is woken finds all of it done: the future its outcome, and `quiet` that the operation is over.
        let _hold = Hold::begin();
        landing.land(ended.map_err(|error| Failed::new(error, Some(pe), &ops)));
        ops.complete(ticket);
    });
    // SAFETY: only lifetimes change. What `end` holds is a STABLE buffer, which is `'static` by the contract of
    // `Source` and `Sink`, or a function.
    let done = unsafe {
        std::mem::transmute::<
            Box<dyn FnOnce(Result<V>) + Send + '_>,
            oxshmem_progress::completion::Completion<V>,
        >(done)
    };
    (flight, done)
}

/// The outcome of a put, whose source nobody reads any more.
pub(crate) fn given_back<T, S>(source: Still<S>, put: Result<()>) -> Result<S::Back, S::Failure>
where
    T: Element,
    S: Source<T>,
{
    match put {
        Ok(()) => Ok(source.into_inner().back()),
        Err(error) => Err(source.into_inner().reject(error)),
    }
}

/// The outcome of a get, whose sink nobody writes any more.
pub(crate) fn filled<T, B>(held: Still<B>, got: Result<()>) -> Result<B::Back, B::Failure>
where
    T: Element,
    B: Sink<T>,
{
    let held = held.into_inner();
    match got {
        Ok(()) => {
            held.arrived();
            Ok(held.back())
        }
        Err(error) => Err(held.reject(error)),
    }
}

fn word(update: Signal) -> Atomic<u64> {
    match update {
        Signal::Set(value) => Atomic::Set(value),
        Signal::Add(value) => Atomic::Add(value),
    }
}
