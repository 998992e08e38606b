//! What puts and gets do: the near path at once, or else the way that [`route`](crate::path::route)
//! finds.

use std::sync::Arc;

use oxshmem_base::{Error, Result, wakes::Hold};
use oxshmem_memory::op::{Blocks, Op, Ready};
use oxshmem_progress::{activity::Call, flight::Flight};
use oxshmem_spaces::{Element, Pe, SymView};

use crate::{
    blocks::Strided,
    buffer::{Sink, Source},
    context::{Context, Sharing},
    operation::{Initiated, Landed},
    path::{
        near::{Near, NearPlace},
        route::{Here, Route},
    },
};

impl<M: Sharing> Context<M> {
    /// Puts all of `source`.
    #[inline(always)]
    pub(crate) fn put_now<T, S>(
        &self,
        call: Call,
        dest: SymView<'_, T>,
        source: S,
        pe: usize,
        ready: Ready,
    ) -> Initiated<S::Back, S::Failure>
    where
        T: Element,
        S: Source<T>,
    {
        let bytes = dest.len() * size_of::<T>();
        let fits = |_: &Near<'_>| {
            source.len() == dest.len()
                && self.is_at_hand(source.symmetric())
                && !self.is_offloaded(S::STABLE, ready == Ready::Delivered, bytes)
        };
        match self.near_untraced(dest, pe).filter(fits) {
            // SAFETY: the place is that of `dest`, which has as many elements as `source`.
            Some(to) => unsafe { put_near(to, source) },
            None => self.put_routed(call, dest, source, pe, ready),
        }
    }

    /// Fills all of `buffer`. One that `is_nbi` may be left to the copy engine.
    #[inline(always)]
    pub(crate) fn get_now<T, B>(
        &self,
        call: Call,
        buffer: B,
        source: SymView<'_, T>,
        pe: usize,
        is_nbi: bool,
    ) -> Initiated<B::Back, B::Failure>
    where
        T: Element,
        B: Sink<T>,
    {
        let bytes = source.len() * size_of::<T>();
        let fits = |_: &Near<'_>| {
            source.len() == buffer.len()
                && self.is_at_hand(buffer.symmetric())
                && !self.is_offloaded(B::STABLE, is_nbi, bytes)
        };
        match self.near_untraced(source, pe).filter(fits) {
            // SAFETY: the place is that of `source`, which has as many elements as `buffer`.
            Some(from) => unsafe { get_near(from, buffer) },
            None => self.get_routed(call, buffer, source, pe, is_nbi),
        }
    }

    /// Puts all of `source` by whichever way leads to `dest`. Emits the event, finds what is wrong.
    #[cold]
    #[inline(never)]
    fn put_routed<T, S>(
        &self,
        call: Call,
        dest: SymView<'_, T>,
        source: S,
        pe: usize,
        ready: Ready,
    ) -> Initiated<S::Back, S::Failure>
    where
        T: Element,
        S: Source<T>,
    {
        let bytes = dest.len() * size_of::<T>();
        let word = (dest.len() == 1).then(|| dest.extent());
        let started = self.update_started(call, bytes, pe, word);
        let op = match self.routes(call.name(), dest, (source.len(), source.symmetric()), pe, true) {
            Ok((Route { near: Some(to), .. }, Here::Host))
                if self.is_offloaded(S::STABLE, ready == Ready::Delivered, bytes) =>
            {
                self.put_later(to, dest, source, pe, |_| {})
            }
            // SAFETY: as in `put_now`.
            Ok((Route { near: Some(to), .. }, Here::Host)) => unsafe { put_near(to, source) },
            Ok((to, here)) => {
                self.put_away(&to, Op { ready, ..Op::put(to.spot, (), bytes) }, source, here, None)
            }
            Err(error) => Initiated::failed(source.reject(error), self.ops()),
        };
        self.ended(started, op)
    }

    /// Fills all of `buffer`, likewise.
    #[cold]
    #[inline(never)]
    fn get_routed<T, B>(
        &self,
        call: Call,
        buffer: B,
        source: SymView<'_, T>,
        pe: usize,
        is_nbi: bool,
    ) -> Initiated<B::Back, B::Failure>
    where
        T: Element,
        B: Sink<T>,
    {
        let bytes = source.len() * size_of::<T>();
        let started = self.started(call, bytes, pe);
        let op = match self.routes(call.name(), source, (buffer.len(), buffer.symmetric()), pe, false) {
            Ok((Route { near: Some(from), .. }, Here::Host))
                if self.is_offloaded(B::STABLE, is_nbi, bytes) =>
            {
                self.get_later(from, buffer, source, pe)
            }
            // SAFETY: as in `get_now`.
            Ok((Route { near: Some(from), .. }, Here::Host)) => unsafe { get_near(from, buffer) },
            Ok((from, here)) => self.get_away(&from, Op::get(from.spot, (), bytes), buffer, here),
            Err(error) => Initiated::failed(buffer.reject(error), self.ops()),
        };
        self.ended(started, op)
    }

    /// Whether the copy engine copies `bytes` bytes of an operation that `is_nbi`, whose source or
    /// sink stays where it is if `is_stable`.
    #[inline(always)]
    pub(crate) fn is_offloaded(&self, is_stable: bool, is_nbi: bool, bytes: usize) -> bool {
        is_stable && is_nbi && self.pe().copy_engine().takes(bytes)
    }

    /// Has the copy engine put `source` to near memory, which is `dest`, and then do `after`.
    pub(crate) fn put_later<T, S>(
        &self,
        to: Near<'_>,
        dest: SymView<'_, T>,
        source: S,
        pe: usize,
        after: impl FnOnce(&Pe) + Send + 'static,
    ) -> Initiated<S::Back, S::Failure>
    where
        T: Element,
        S: Source<T>,
    {
        let (dest, local_pe) = (dest.to_owned(), to.local_pe());
        let bytes = dest.len() * size_of::<T>();
        let put = move |pe: &Pe, source: &mut S| {
            // SAFETY: the place was checked and `dest` keeps it mapped; `source` has as many
            // elements.
            unsafe { Near::new(pe.shm(), dest.view(), local_pe).put(source.as_ptr().cast(), bytes) };
            after(pe);
        };
        self.offload(source, pe, put, S::back)
    }

    /// Has the copy engine fill `buffer` from near memory, which is `source`.
    fn get_later<T, B>(
        &self,
        from: Near<'_>,
        buffer: B,
        source: SymView<'_, T>,
        pe: usize,
    ) -> Initiated<B::Back, B::Failure>
    where
        T: Element,
        B: Sink<T>,
    {
        let (source, local_pe) = (source.to_owned(), from.local_pe());
        let bytes = source.len() * size_of::<T>();
        let get = move |pe: &Pe, buffer: &mut B| {
            // SAFETY: the place was checked and `source` keeps it mapped; `buffer` has as
            // many elements.
            unsafe { Near::new(pe.shm(), source.view(), local_pe).get(buffer.as_mut_ptr().cast(), bytes) };
            buffer.arrived();
        };
        self.offload(buffer, pe, get, B::back)
    }

    /// Hands `buffer` to the copy engine, which runs `copy` on it and gives it back to the future.
    fn offload<B: Send, R: Send, E: Into<Error> + Send>(
        &self,
        mut buffer: B,
        pe: usize,
        copy: impl FnOnce(&Pe, &mut B) + Send,
        back: fn(B) -> R,
    ) -> Initiated<R, E> {
        let flight = Arc::new(Flight::<Landed<R, E>>::default());
        let (ops, all) = (Arc::clone(self.ops()), Arc::clone(self.pe().offloaded()));
        let (ticket, ticket_of_all) = (ops.begin(pe), all.begin(pe));
        let landing = Arc::clone(&flight);
        let own = Arc::clone(self.pe());
        let job: Box<dyn FnOnce() + Send> = Box::new(move || {
            copy(&own, &mut buffer);
            // Release what was copied before anything says that it was.
            own.shm().quiet();
            let back = back(buffer);
            // A task that is woken finds the future's outcome there, and the operation over for
            // `quiet`.
            let _hold = Hold::begin();
            landing.land(Ok(back));
            ops.complete(ticket);
            all.complete(ticket_of_all);
        });
        // SAFETY: only lifetimes change. Callers come here with STABLE buffers, which are `'static`
        // by the contract of `Source` and `Sink`, and with closures over owned handles, elements
        // and numbers.
        let job =
            unsafe { std::mem::transmute::<Box<dyn FnOnce() + Send + '_>, Box<dyn FnOnce() + Send>>(job) };
        self.pe().copy_engine().submit(job);
        Initiated::under_way(flight, self.pe().engine().at_first_poll())
    }

    /// Puts blocks of `source`.
    pub(crate) fn put_blocks<T, S>(
        &self,
        call: Call,
        dest: SymView<'_, T>,
        source: S,
        blocks: Strided,
        pe: usize,
    ) -> Initiated<S::Back, S::Failure>
    where
        T: Element,
        S: Source<T>,
    {
        let started = self.started(call, blocks.elements().saturating_mul(size_of::<T>()), pe);
        let checked = self.routes_of_blocks(call, dest, (source.len(), source.symmetric()), blocks, pe, true);
        let op = match checked {
            Ok((blocks, Route { near: Some(to), .. }, Here::Host)) => {
                let from = source.as_ptr().cast();
                // SAFETY: it was checked that the last block ends inside both sides.
                unsafe { to.put_blocks(from, blocks, dest.len() * size_of::<T>()) };
                Initiated::Complete(source.back())
            }
            Ok((blocks, to, here)) => {
                self.put_away(&to, Op::put(to.spot, (), 0).of_blocks(blocks), source, here, None)
            }
            Err(error) => Initiated::failed(source.reject(error), self.ops()),
        };
        self.ended(started, op)
    }

    /// Fills blocks of `buffer`.
    pub(crate) fn get_blocks<T, B>(
        &self,
        call: Call,
        mut buffer: B,
        source: SymView<'_, T>,
        blocks: Strided,
        pe: usize,
    ) -> Initiated<B::Back, B::Failure>
    where
        T: Element,
        B: Sink<T>,
    {
        let started = self.started(call, blocks.elements().saturating_mul(size_of::<T>()), pe);
        let checked =
            self.routes_of_blocks(call, source, (buffer.len(), buffer.symmetric()), blocks, pe, false);
        let op = match checked {
            Ok((blocks, Route { near: Some(from), .. }, Here::Host)) => {
                // SAFETY: it was checked that the last block ends inside both sides.
                unsafe { from.get_blocks(buffer.as_mut_ptr().cast(), blocks) };
                buffer.arrived();
                Initiated::Complete(buffer.back())
            }
            Ok((blocks, from, here)) => {
                self.get_away(&from, Op::get(from.spot, (), 0).of_blocks(blocks), buffer, here)
            }
            Err(error) => Initiated::failed(buffer.reject(error), self.ops()),
        };
        self.ended(started, op)
    }

    /// The shape of checked blocks in bytes, the way to `view`, and where its source or sink of
    /// `len` elements is.
    fn routes_of_blocks<'a, T: Element>(
        &'a self,
        call: Call,
        view: SymView<'a, T>,
        (len, symmetric): (usize, Option<SymView<'_, T>>),
        blocks: Strided,
        pe: usize,
        is_put: bool,
    ) -> Result<(Blocks, Route<'a, T>, Here)> {
        let call = call.name();
        let (dest_len, source_len) = if is_put { (view.len(), len) } else { (len, view.len()) };
        let blocks = blocks.checked(call, dest_len, source_len)?.in_bytes(size_of::<T>(), is_put);
        Ok((blocks, self.route(call, view, pe)?, self.here(call, symmetric)?))
    }
}

/// Puts all of `source` to near memory.
///
/// # Safety
/// The place must have room for as many elements, aligned.
#[inline(always)]
unsafe fn put_near<T, S>(to: Near<'_>, source: S) -> Initiated<S::Back, S::Failure>
where
    T: Element,
    S: Source<T>,
{
    // SAFETY: the source's elements are readable; the place is the caller's word.
    unsafe {
        if S::SCALAR {
            to.store(source.as_ptr().read());
        } else {
            to.put(source.as_ptr().cast(), source.len() * size_of::<T>());
        }
    }
    Initiated::Complete(source.back())
}

/// Fills all of `buffer` from near memory.
///
/// # Safety
/// As for [`put_near`].
#[inline(always)]
unsafe fn get_near<T, B>(from: Near<'_>, mut buffer: B) -> Initiated<B::Back, B::Failure>
where
    T: Element,
    B: Sink<T>,
{
    let to = buffer.as_mut_ptr();
    // SAFETY: the buffer's elements are writable, and any bytes are a `T`; the place is the
    // caller's word.
    unsafe {
        if B::SCALAR {
            to.write(from.load());
        } else {
            from.get(to.cast(), buffer.len() * size_of::<T>());
        }
    }
    buffer.arrived();
    Initiated::Complete(buffer.back())
}
