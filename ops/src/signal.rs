//! Signals: put-with-signal and its parts (`OpenSHMEM 1.6 §9.8`).
//!
//! A signal is a `u64` of symmetric memory that is updated after the data it announces has arrived.
//! Wait for one with [`Wait::wait_until`](crate::Wait::wait_until).

use std::sync::Arc;

use oxshmem_base::Error;
use oxshmem_memory::{
    op::{Op, Ready},
    word::{Atomic, Signal},
};
use oxshmem_progress::activity::Call;
use oxshmem_spaces::{Element, SymRef, SymView, Symmetric};

use crate::{
    buffer::Source,
    context::{Context, Sharing},
    operation::{Initiated, PutSignal, PutSignalNbi, Update},
    path::{
        near::{Near, NearPlace},
        route::{Here, Route},
    },
    wait::look,
};

impl<M: Sharing> Context<M> {
    /// Copies `source` to `dest` on `pe`, then updates `signal` there (`OpenSHMEM 1.6 §9.8.1`). A
    /// PE that sees the signal sees the data. Ready with the source when it may be reused.
    ///
    /// # Errors
    /// The errors of [`put`](Self::put).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let data = world.alloc_zeroed::<f64>(2).await?;
    /// let signal = world.alloc_zeroed::<u64>(1).await?;
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
            Call::PutSignal,
            dest.view(),
            source,
            (signal, update),
            pe,
            Ready::Reusable,
        ))
    }

    /// [`put_signal`](Self::put_signal), ready when data and signal are at the target
    /// (`OpenSHMEM 1.6 §9.8.2`). Large owned sources are copied by a helper thread as in
    /// [`put_nbi`](Self::put_nbi).
    ///
    /// # Errors
    /// The errors of [`put_nbi`](Self::put_nbi).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let data = world.alloc_zeroed::<f64>(2).await?;
    /// let signal = world.alloc_zeroed::<u64>(1).await?;
    /// if world.my_pe() == 0 {
    ///     let (ctx, add) = (world.context(), Signal::Add(1));
    ///     let put = ctx.put_signal_nbi(&data, vec![0.5, 1.5], signal.at(0), add, 1);
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
        PutSignalNbi(self.put_signal_now(
            Call::PutSignalNbi,
            dest.view(),
            source,
            (signal, update),
            pe,
            Ready::Delivered,
        ))
    }

    /// Adds `value` to `signal` on `pe` (`OpenSHMEM 1.6 §9.8.3`). Ready when issued.
    ///
    /// # Errors
    /// The errors of [`put`](Self::put).
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
        self.signal(Call::SignalAdd, signal, Signal::Add(value), pe)
    }

    /// Sets `signal` on `pe` to `value` (`OpenSHMEM 1.6 §9.8.4`). Ready when issued.
    ///
    /// # Errors
    /// The errors of [`put`](Self::put).
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
        self.signal(Call::SignalSet, signal, Signal::Set(value), pe)
    }

    /// The value of `signal` on this PE (`OpenSHMEM 1.6 §9.8.5`). What was put before it is
    /// visible.
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
        look(signal)
    }

    #[inline(always)]
    fn signal(&self, call: Call, signal: SymRef<'_, u64>, update: Signal, pe: usize) -> Update {
        self.update_word(call, signal, update.into(), pe)
    }

    #[inline(always)]
    fn put_signal_now<T, S>(
        &self,
        call: Call,
        dest: SymView<'_, T>,
        source: S,
        (signal, update): (SymRef<'_, u64>, Signal),
        pe: usize,
        ready: Ready,
    ) -> Initiated<S::Back, S::Failure>
    where
        T: Element,
        S: Source<T>,
    {
        let both = self.near_untraced(dest, pe).zip(self.near(signal.as_view(), pe));
        let bytes = dest.len() * size_of::<T>();
        let fits = |_: &(Near<'_>, Near<'_>)| {
            source.len() == dest.len()
                && self.is_at_hand(source.symmetric())
                && !self.is_offloaded(S::STABLE, ready == Ready::Delivered, bytes)
        };
        match both.filter(fits) {
            Some((to, signal)) => {
                // SAFETY: both are in bounds and aligned on every PE; `source` has as many elements
                // as `dest`.
                unsafe { to.put_signal(source.as_ptr().cast(), bytes, signal, update) };
                Initiated::Complete(source.back())
            }
            None => self.put_signal_routed(call, dest, source, (signal, update), pe, ready),
        }
    }

    /// Puts with a signal by whichever way leads there.
    #[cold]
    #[inline(never)]
    fn put_signal_routed<T, S>(
        &self,
        call: Call,
        dest: SymView<'_, T>,
        source: S,
        (signal, update): (SymRef<'_, u64>, Signal),
        pe: usize,
        ready: Ready,
    ) -> Initiated<S::Back, S::Failure>
    where
        T: Element,
        S: Source<T>,
    {
        let bytes = dest.len() * size_of::<T>();
        let word = signal.as_view();
        let started = self.update_started(call, bytes, pe, Some(word.extent()));
        let here = (source.len(), source.symmetric());
        let checked = self
            .routes(call.name(), dest, here, pe, true)
            .and_then(|(to, from)| Ok((to, from, self.route(call.name(), word, pe)?)));
        let op = match checked {
            Ok((Route { near: Some(to), .. }, Here::Host, Route { near: Some(signal), .. }))
                if !self.is_offloaded(S::STABLE, ready == Ready::Delivered, bytes) =>
            {
                // SAFETY: as above.
                unsafe { to.put_signal(source.as_ptr().cast(), bytes, signal, update) };
                Initiated::Complete(source.back())
            }
            Ok((Route { near: Some(to), .. }, Here::Host, Route { near: Some(signal), .. })) => {
                let (word, local_pe) = (word.to_owned(), signal.local_pe());
                self.put_later(to, dest, source, pe, move |pe| {
                    let signal = Near::new(pe.shm(), word.view(), local_pe);
                    // SAFETY: checked above; the owned handle keeps it mapped. An atomic's release
                    // orders the data before it.
                    unsafe { signal.atomic(Atomic::from(update)) };
                })
            }
            Ok((to, here, at)) => {
                let put = Op::put(to.spot, (), bytes).then(at.spot, update);
                self.put_away(&to, Op { ready, ..put }, source, here, Some(word))
            }
            Err(error) => Initiated::failed(source.reject(error), self.ops()),
        };
        self.ended(started, op)
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn foreign_signal() -> ! {
    panic!("{}", Error::ForeignMemory { call: "signal_fetch" })
}
