//! Signals: put-with-signal and its parts (`OpenSHMEM 1.6 §9.8`).
//!
//! A signal is a `u64` of symmetric memory that is updated after the data it announces has arrived.
//! Wait for one with [`Wait::wait_until`](crate::Wait::wait_until).

use std::sync::Arc;

use oxshmem_base::Error;
use oxshmem_memory::word::{Atomic, Place, Signal, Width};
use oxshmem_spaces::{SymRef, SymView, Symmetric};

use crate::{
    buffer::Source,
    context::{Context, Here, Sharing, Target},
    device::Following,
    far::Completion,
    operation::{Op, PutSignal, PutSignalNbi, Update},
    trace::{is_traced, trace_operation},
};

impl<M: Sharing> Context<M> {
    /// Copies `source` to `dest` on `pe`, then updates `signal` there (`OpenSHMEM 1.6 §9.8.1`). Who sees the
    /// signal sees the data. Ready with the source when it may be reused.
    ///
    /// # Errors
    /// Those of [`put`](Self::put).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let (data, signal) = (world.alloc_zeroed::<f64>(2).await?, world.alloc_zeroed::<u64>(1).await?);
    /// if world.my_pe() == 0 {
    ///     world.context().put_signal(&data, [0.5, 1.5], signal.at(0), Signal::Set(1), 1).await?;
    /// } else {
    ///     signal.at(0).wait_until(Cmp::Eq, 1).await?;
    ///     assert_eq!(data.view().to_vec(), [0.5, 1.5]);
    /// }
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    pub fn put_signal<'a, D, S>(
        &self,
        dest: D,
        source: S,
        signal: SymRef<'_, u64>,
        update: Signal,
        pe: usize,
    ) -> PutSignal<S::Back, S::Failure>
    where
        D: Symmetric<'a>,
        S: Source<D::Element>,
    {
        PutSignal(self.put_signal_now(
            "put_signal",
            dest.view(),
            source,
            (signal, update),
            pe,
            Completion::Local,
        ))
    }

    /// [`put_signal`](Self::put_signal), ready when data and signal are at the target
    /// (`OpenSHMEM 1.6 §9.8.2`). Large owned sources are copied by a helper thread as in
    /// [`put_nbi`](Self::put_nbi).
    ///
    /// # Errors
    /// Those of [`put_nbi`](Self::put_nbi).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let (data, signal) = (world.alloc_zeroed::<f64>(2).await?, world.alloc_zeroed::<u64>(1).await?);
    /// if world.my_pe() == 0 {
    ///     let put = world.context().put_signal_nbi(&data, vec![0.5, 1.5], signal.at(0), Signal::Add(1), 1);
    ///     assert_eq!(put.await?, [0.5, 1.5]); // the vector, to be used again
    /// } else {
    ///     signal.at(0).wait_until(Cmp::Gt, 0).await?;
    ///     assert_eq!(data.view().to_vec(), [0.5, 1.5]);
    /// }
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    pub fn put_signal_nbi<'a, D, S>(
        &self,
        dest: D,
        source: S,
        signal: SymRef<'_, u64>,
        update: Signal,
        pe: usize,
    ) -> PutSignalNbi<S::Back, S::Failure>
    where
        D: Symmetric<'a>,
        S: Source<D::Element>,
    {
        let dest = dest.view();
        let by_the_device =
            || dest.is_on_device() || signal.as_view().is_on_device() || !self.is_at_hand(source.symmetric());
        if S::STABLE && self.pe().engine().takes(dest.len() * size_of::<D::Element>()) && !by_the_device() {
            return PutSignalNbi(match self.target("put_signal_nbi", signal.as_view(), pe) {
                Ok(Target::Far(_) | Target::Device(_)) => self.put_signal_told(
                    "put_signal_nbi",
                    dest,
                    source,
                    (signal, update),
                    pe,
                    Completion::Remote,
                ),
                Ok(Target::Near(Place { block, .. })) => {
                    let signal = signal.as_view().to_owned();
                    self.put_later("put_signal_nbi", dest, source, pe, move |pe_of| {
                        // SAFETY: checked above; the owned handle keeps it mapped. An atomic's release orders the
                        // data before it.
                        unsafe { pe_of.shm().atomic(signal.view().place(block), atomic(update)) };
                    })
                }
                Err(error) => Op::failed(source.reject(error), self.ops()),
            });
        }
        PutSignalNbi(self.put_signal_now(
            "put_signal_nbi",
            dest,
            source,
            (signal, update),
            pe,
            Completion::Remote,
        ))
    }

    /// Adds `value` to `signal` on `pe` (`OpenSHMEM 1.6 §9.8.3`). Ready when issued.
    ///
    /// # Errors
    /// Those of [`put`](Self::put).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(3, |world| async move {
    /// let signal = world.alloc_zeroed::<u64>(1).await?;
    /// world.context().signal_add(signal.at(0), 2, 0).await?;
    /// if world.my_pe() == 0 {
    ///     // One from each PE.
    ///     signal.at(0).wait_until(Cmp::Eq, 2 * world.n_pes() as u64).await?;
    ///     assert_eq!(world.context().signal_fetch(signal.at(0)), 6);
    /// }
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    pub fn signal_add(&self, signal: SymRef<'_, u64>, value: u64, pe: usize) -> Update {
        self.signal("signal_add", signal, Signal::Add(value), pe)
    }

    /// Sets `signal` on `pe` to `value` (`OpenSHMEM 1.6 §9.8.4`). Ready when issued.
    ///
    /// # Errors
    /// Those of [`put`](Self::put).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let signal = world.alloc_zeroed::<u64>(1).await?;
    /// let (ctx, next) = (world.context(), (world.my_pe() + 1) % world.n_pes());
    /// ctx.signal_set(signal.at(0), 9, next).await?;
    /// assert_eq!(signal.at(0).wait_until(Cmp::Ne, 0).await?, 9);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    pub fn signal_set(&self, signal: SymRef<'_, u64>, value: u64, pe: usize) -> Update {
        self.signal("signal_set", signal, Signal::Set(value), pe)
    }

    /// The value of `signal` on this PE (`OpenSHMEM 1.6 §9.8.5`). What was put before it is visible.
    ///
    /// # Panics
    /// If the memory belongs to another job, or is another PE's handle.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let signal = world.alloc_zeroed::<u64>(1).await?;
    /// let (ctx, next) = (world.context(), (world.my_pe() + 1) % world.n_pes());
    /// ctx.signal_set(signal.at(0), 9, next).await?;
    /// world.barrier_all().await?;
    /// assert_eq!(ctx.signal_fetch(signal.at(0)), 9);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn signal_fetch(&self, signal: SymRef<'_, u64>) -> u64 {
        if !Arc::ptr_eq(self.pe(), signal.as_view().pe()) {
            foreign_signal();
        }
        if signal.as_view().is_on_device() {
            return signal.load();
        }
        let place = signal.as_view().place(signal.as_view().pe().block());
        // SAFETY: this PE's own element, in bounds and aligned.
        unsafe { self.pe().shm().atomic(place, Atomic::<u64>::Fetch) }
    }

    #[inline(always)]
    fn signal(&self, call: &'static str, signal: SymRef<'_, u64>, update: Signal, pe: usize) -> Update {
        Update(match self.reachable(signal.as_view(), pe).filter(|_| !is_traced()) {
            Some(place) => {
                // SAFETY: a `SymRef` is one aligned element in bounds, on every PE.
                unsafe { self.pe().shm().atomic(place, atomic(update)) };
                Op::Done(())
            }
            None => self.signal_told(call, signal, update, pe),
        })
    }

    /// Somebody listens, or something is wrong.
    #[cold]
    #[inline(never)]
    fn signal_told(
        &self,
        call: &'static str,
        signal: SymRef<'_, u64>,
        update: Signal,
        pe: usize,
    ) -> Op<(), Error> {
        trace_operation(call, size_of::<u64>(), pe);
        match self.target(call, signal.as_view(), pe) {
            Ok(Target::Near(place)) => {
                // SAFETY: as above.
                unsafe { self.pe().shm().atomic(place, atomic(update)) };
                Op::Done(())
            }
            Ok(Target::Far(far)) => self.signal_far(far, update),
            Ok(Target::Device(cell)) => self.update_device(cell, Width::Eight, atomic(update), pe),
            Err(error) => Op::failed(error, self.ops()),
        }
    }

    #[inline(always)]
    fn put_signal_now<T, S>(
        &self,
        call: &'static str,
        dest: SymView<'_, T>,
        source: S,
        (signal, update): (SymRef<'_, u64>, Signal),
        pe: usize,
        completion: Completion,
    ) -> Op<S::Back, S::Failure>
    where
        T: oxshmem_spaces::Element,
        S: Source<T>,
    {
        let places = self.reachable(dest, pe).zip(self.reachable(signal.as_view(), pe));
        let fits = |_: &(Place<'_>, Place<'_>)| {
            source.len() == dest.len() && !is_traced() && self.is_at_hand(source.symmetric())
        };
        match places.filter(fits) {
            Some((to, signal)) => {
                let bytes = dest.len() * size_of::<T>();
                // SAFETY: both are in bounds and aligned on every PE; `source` has as many elements as `dest`.
                unsafe { self.pe().shm().put_signal(to, source.as_ptr().cast(), bytes, signal, update) };
                Op::Done(source.back())
            }
            None => self.put_signal_told(call, dest, source, (signal, update), pe, completion),
        }
    }

    /// Likewise.
    #[cold]
    #[inline(never)]
    fn put_signal_told<T, S>(
        &self,
        call: &'static str,
        dest: SymView<'_, T>,
        source: S,
        (signal, update): (SymRef<'_, u64>, Signal),
        pe: usize,
        completion: Completion,
    ) -> Op<S::Back, S::Failure>
    where
        T: oxshmem_spaces::Element,
        S: Source<T>,
    {
        let bytes = dest.len() * size_of::<T>();
        trace_operation(call, bytes, pe);
        let here = (source.len(), source.symmetric());
        let checked = self.matched(call, dest, here, pe, true).and_then(|(to, from)| {
            let word = self.target(call, signal.as_view(), pe)?;
            Ok((to, from, word))
        });
        match checked {
            Ok((Target::Near(to), Here::Host, Target::Near(signal))) => {
                // SAFETY: as above.
                unsafe { self.pe().shm().put_signal(to, source.as_ptr().cast(), bytes, signal, update) };
                Op::Done(source.back())
            }
            Ok((Target::Far(to), Here::Host, Target::Far(signal))) => {
                self.put_signal_far([to, signal], source, bytes, update, completion)
            }
            Ok((to, from, word)) => {
                let following = Following { to: word, signal: signal.as_view(), update: atomic(update) };
                self.put_device(to, dest, (source, from), Some(following), pe, completion)
            }
            Err(error) => Op::failed(source.reject(error), self.ops()),
        }
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn foreign_signal() -> ! {
    panic!("{}", Error::ForeignMemory { call: "signal_fetch" })
}

#[inline(always)]
fn atomic(update: Signal) -> Atomic<u64> {
    match update {
        Signal::Set(value) => Atomic::Set(value),
        Signal::Add(value) => Atomic::Add(value),
    }
}
