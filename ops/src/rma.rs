//! Remote memory access: put, get, single elements and strided blocks (`OpenSHMEM 1.6 §9.6`).
//!
//! | C | here | ready when |
//! |---|---|---|
//! | `shmem_put` | [`put`](Context::put) | the source may be reused |
//! | `shmem_put_nbi` | [`put_nbi`](Context::put_nbi) | the data is at the target |
//! | `shmem_p` | [`p`](Context::p) | at once |
//! | `shmem_get`, `shmem_get_nbi` | [`get`](Context::get), [`get_into`](Context::get_into), [`get_nbi`](Context::get_nbi) | the data is here |
//! | `shmem_g` | [`g`](Context::g) | the value is here |
//! | `shmem_iput`, `shmem_ibput` | [`iput`](Context::iput), [`ibput`](Context::ibput) | the source may be reused |
//! | `shmem_iget`, `shmem_ibget` | [`iget`](Context::iget), [`ibget`](Context::ibget) | the data is here |

use std::sync::Arc;

use oxshmem_base::{Error, wakes::Hold};
use oxshmem_memory::{copy::copy_strided, word::Place};
use oxshmem_progress::flight::Flight;
use oxshmem_spaces::{Element, SymRef, SymView, Symmetric, allocation::Allocation};

use crate::{
    buffer::{Fresh, HeldValue, Sink, Source},
    context::{Context, Here, Sharing, Target},
    far::Completion,
    operation::{Fetch, Get, Landed, Op, Put, PutNbi, Update},
    trace::{is_traced, trace_operation},
};

impl<M: Sharing> Context<M> {
    /// Copies `source` to `dest` on `pe` (`OpenSHMEM 1.6 §9.6.1.1`).
    ///
    /// `source` is a value, an array, a borrowed slice, an owned buffer or symmetric memory of this PE, with as
    /// many elements as `dest`. The future is ready when it may be reused, with the buffer if that was given
    /// away; [`quiet`](Self::quiet) completes the put at the target.
    ///
    /// # Errors
    /// [`Error::PeOutOfRange`], [`Error::LengthMismatch`], [`Error::ForeignMemory`], [`Error::Finalized`];
    /// nothing was copied then, and
    /// [`Rejected`](crate::Rejected) gives an owned source back.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let data = world.alloc_zeroed::<u64>(4).await?;
    /// let (ctx, next) = (world.context(), (world.my_pe() + 1) % world.n_pes());
    /// ctx.put(&data, [1, 2, 3, 4], next).await?; // all of it, from an array
    /// let source = ctx.put(data.slice(1..3), vec![8, 9], next).await?; // a part, from a vector
    /// assert_eq!(source, [8, 9]); // which comes back
    /// world.barrier_all().await?;
    /// assert_eq!(data.view().to_vec(), [1, 8, 9, 4]); // from the PE before
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    pub fn put<'a, D, S>(&self, dest: D, source: S, pe: usize) -> Put<S::Back, S::Failure>
    where
        D: Symmetric<'a>,
        S: Source<D::Element>,
    {
        Put(self.put_now("put", dest.view(), source, pe, Completion::Local))
    }

    /// Copies `source` to `dest` on `pe`; ready when it is there (`OpenSHMEM 1.6 §9.6.2.1`).
    ///
    /// An owned source of at least `SHMEM_OFFLOAD_THRESHOLD` bytes is copied by a helper thread meanwhile.
    /// The future may be dropped; [`quiet`](Self::quiet) completes the put.
    ///
    /// # Errors
    /// Those of [`put`](Self::put). If the future is dropped, the next `quiet` returns them.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let data = world.alloc_zeroed::<u64>(1 << 16).await?;
    /// let (ctx, next) = (world.context(), (world.my_pe() + 1) % world.n_pes());
    /// let put = ctx.put_nbi(&data, vec![7; 1 << 16], next);
    /// // Something else meanwhile.
    /// let source = put.await?; // all there
    /// assert_eq!(ctx.g(data.at(9), next).await?, source[9]);
    /// drop(ctx.put_nbi(&data, source, next));
    /// ctx.quiet().await?; // completes the one that was dropped
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    pub fn put_nbi<'a, D, S>(&self, dest: D, source: S, pe: usize) -> PutNbi<S::Back, S::Failure>
    where
        D: Symmetric<'a>,
        S: Source<D::Element>,
    {
        let dest = dest.view();
        let bytes = dest.len() * size_of::<D::Element>();
        if S::STABLE
            && self.pe().engine().takes(bytes)
            && !dest.is_on_device()
            && self.is_at_hand(source.symmetric())
        {
            return PutNbi(self.put_later("put_nbi", dest, source, pe, |_| {}));
        }
        PutNbi(self.put_now("put_nbi", dest, source, pe, Completion::Remote))
    }

    /// Copies `source` on `pe` to a new vector (`OpenSHMEM 1.6 §9.6.1.5`). Ready when it is here.
    ///
    /// # Errors
    /// [`Error::PeOutOfRange`], [`Error::ForeignMemory`], [`Error::Finalized`].
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let data = world.alloc_zeroed::<u64>(4).await?;
    /// let (ctx, next) = (world.context(), (world.my_pe() + 1) % world.n_pes());
    /// data.view().fill(world.my_pe() as u64);
    /// world.barrier_all().await?;
    /// assert_eq!(ctx.get(&data, next).await?, [next as u64; 4]);
    /// assert_eq!(ctx.get(data.slice(..1), next).await?, [next as u64]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn get<'a, D: Symmetric<'a>>(&self, source: D, pe: usize) -> Get<Vec<D::Element>, Error> {
        let source = source.view();
        let buffer = Fresh(bytemuck::allocation::zeroed_vec(source.len()));
        Get(self.get_now("get", buffer, source, pe))
    }

    /// Copies `source` on `pe` to `buffer`, which has as many elements. Ready with the buffer, if it was given
    /// away: a [`SymView`] of this PE's memory is its caller's still.
    ///
    /// # Errors
    /// Those of [`put`](Self::put); [`Rejected`](crate::Rejected) gives the buffer back.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let data = world.alloc_zeroed::<u64>(4).await?;
    /// let (ctx, next) = (world.context(), (world.my_pe() + 1) % world.n_pes());
    /// data.view().fill(world.my_pe() as u64);
    /// world.barrier_all().await?;
    /// let buffer = ctx.get_into(vec![0; 4], &data, next).await?; // the same vector
    /// assert_eq!(buffer, [next as u64; 4]);
    /// assert_eq!(ctx.get_into([0; 2], data.slice(2..), next).await?, [next as u64; 2]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    pub fn get_into<'a, D, B>(&self, buffer: B, source: D, pe: usize) -> Get<B::Back, B::Failure>
    where
        D: Symmetric<'a>,
        B: Sink<D::Element>,
    {
        Get(self.get_now("get", buffer, source.view(), pe))
    }

    /// [`get_into`](Self::get_into), with large copies left to a helper thread as in
    /// [`put_nbi`](Self::put_nbi) (`OpenSHMEM 1.6 §9.6.2.2`). If the future is dropped, so is what it got,
    /// unless `buffer` is symmetric memory.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let data = world.alloc_zeroed::<u64>(1 << 16).await?;
    /// let (ctx, next) = (world.context(), (world.my_pe() + 1) % world.n_pes());
    /// data.view().fill(world.my_pe() as u64);
    /// world.barrier_all().await?;
    /// let get = ctx.get_nbi(vec![0; 1 << 16], &data, next);
    /// // Something else meanwhile.
    /// assert_eq!(get.await?, vec![next as u64; 1 << 16]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    pub fn get_nbi<'a, D, B>(&self, buffer: B, source: D, pe: usize) -> Get<B::Back, B::Failure>
    where
        D: Symmetric<'a>,
        B: Sink<D::Element>,
    {
        let source = source.view();
        let bytes = source.len() * size_of::<D::Element>();
        if B::STABLE
            && self.pe().engine().takes(bytes)
            && !source.is_on_device()
            && self.is_at_hand(buffer.symmetric())
        {
            return Get(self.get_later(buffer, source, pe));
        }
        Get(self.get_now("get_nbi", buffer, source, pe))
    }

    /// Stores one value at `dest` on `pe` (`OpenSHMEM 1.6 §9.6.1.2`). It is ready at once.
    ///
    /// # Errors
    /// Those of [`put`](Self::put).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let word = world.alloc_zeroed::<f64>(1).await?;
    /// let (ctx, next) = (world.context(), (world.my_pe() + 1) % world.n_pes());
    /// ctx.p(word.at(0), 0.5, next).await?;
    /// world.barrier_all().await?;
    /// assert_eq!(word.at(0).load(), 0.5);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    pub fn p<T: Element>(&self, dest: SymRef<'_, T>, value: T, pe: usize) -> Update {
        Update(match self.reachable(dest.as_view(), pe).filter(|_| !is_traced()) {
            Some(to) => {
                // SAFETY: a `SymRef` is one aligned element in bounds, on every PE.
                unsafe { self.pe().shm().store(to, value) };
                Op::Done(())
            }
            None => {
                let (allocation, offset) = dest.parts();
                self.p_told(allocation, offset, value, pe)
            }
        })
    }

    /// Loads one value from `source` on `pe` (`OpenSHMEM 1.6 §9.6.1.6`).
    ///
    /// # Errors
    /// Those of [`get`](Self::get).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let word = world.alloc_zeroed::<u64>(1).await?;
    /// let (ctx, next) = (world.context(), (world.my_pe() + 1) % world.n_pes());
    /// word.at(0).store(10 + world.my_pe() as u64);
    /// world.barrier_all().await?;
    /// assert_eq!(ctx.g(word.at(0), next).await?, 10 + next as u64);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    pub fn g<T: Element>(&self, source: SymRef<'_, T>, pe: usize) -> Fetch<T> {
        Fetch(match self.reachable(source.as_view(), pe).filter(|_| !is_traced()) {
            // SAFETY: a `SymRef` is one aligned element in bounds, on every PE, and any bytes are a `T`.
            Some(from) => Op::Done(unsafe { self.pe().shm().load(from) }),
            None => {
                let (allocation, offset) = source.parts();
                self.g_told(allocation, offset, pe)
            }
        })
    }

    /// Copies `count` single elements, `source_stride` apart in `source`, to places `dest_stride` apart in
    /// `dest` on `pe` (`OpenSHMEM 1.6 §9.6.1.3`). Strides are in elements, at least 1.
    ///
    /// # Errors
    /// Those of [`put`](Self::put), [`Error::InvalidStride`] and [`Error::StrideOutOfRange`].
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let matrix = world.alloc_zeroed::<u64>(9).await?; // 3 x 3
    /// let (ctx, next) = (world.context(), (world.my_pe() + 1) % world.n_pes());
    /// let column = matrix.slice(1..);
    /// ctx.iput(column, [1, 2, 3].as_slice(), 3, 1, 3, next).await?;
    /// world.barrier_all().await?;
    /// assert_eq!(matrix.view().to_vec(), [0, 1, 0, 0, 2, 0, 0, 3, 0]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn iput<'a, D, S>(
        &self,
        dest: D,
        source: S,
        dest_stride: usize,
        source_stride: usize,
        count: usize,
        pe: usize,
    ) -> Put<S::Back, S::Failure>
    where
        D: Symmetric<'a>,
        S: Source<D::Element>,
    {
        Put(self.put_blocks(
            "iput",
            dest.view(),
            source,
            Blocks { dest_stride, source_stride, block: 1, count },
            pe,
        ))
    }

    /// Copies `count` blocks of `block` elements, whose starts are `source_stride` apart in `source` and
    /// `dest_stride` apart in `dest` on `pe` (`OpenSHMEM 1.6 §9.6.1.4`). Strides are at least `block`.
    ///
    /// # Errors
    /// As for [`iput`](Self::iput).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let matrix = world.alloc_zeroed::<u64>(8).await?; // 2 x 4
    /// let (ctx, next) = (world.context(), (world.my_pe() + 1) % world.n_pes());
    /// let columns = matrix.slice(1..); // two of them
    /// ctx.ibput(columns, [1, 2, 3, 4], 4, 2, 2, 2, next).await?;
    /// world.barrier_all().await?;
    /// assert_eq!(matrix.view().to_vec(), [0, 1, 2, 0, 0, 3, 4, 0]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[allow(clippy::too_many_arguments)]
    pub fn ibput<'a, D, S>(
        &self,
        dest: D,
        source: S,
        dest_stride: usize,
        source_stride: usize,
        block: usize,
        count: usize,
        pe: usize,
    ) -> Put<S::Back, S::Failure>
    where
        D: Symmetric<'a>,
        S: Source<D::Element>,
    {
        Put(self.put_blocks(
            "ibput",
            dest.view(),
            source,
            Blocks { dest_stride, source_stride, block, count },
            pe,
        ))
    }

    /// Copies `count` single elements, `source_stride` apart in `source` on `pe`, to places `dest_stride`
    /// apart in `buffer` (`OpenSHMEM 1.6 §9.6.1.7`). Strides are in elements, at least 1.
    ///
    /// # Errors
    /// As for [`iput`](Self::iput).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let matrix = world.alloc_zeroed::<u64>(9).await?; // 3 x 3
    /// let (ctx, next) = (world.context(), (world.my_pe() + 1) % world.n_pes());
    /// matrix.view().write(&[0, 1, 0, 0, 2, 0, 0, 3, 0]);
    /// world.barrier_all().await?;
    /// let column = matrix.slice(1..);
    /// assert_eq!(ctx.iget(vec![0; 3], column, 1, 3, 3, next).await?, [1, 2, 3]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn iget<'a, D, B>(
        &self,
        buffer: B,
        source: D,
        dest_stride: usize,
        source_stride: usize,
        count: usize,
        pe: usize,
    ) -> Get<B::Back, B::Failure>
    where
        D: Symmetric<'a>,
        B: Sink<D::Element>,
    {
        Get(self.get_blocks(
            "iget",
            buffer,
            source.view(),
            Blocks { dest_stride, source_stride, block: 1, count },
            pe,
        ))
    }

    /// Copies `count` blocks of `block` elements, whose starts are `source_stride` apart in `source` on `pe`
    /// and `dest_stride` apart in `buffer` (`OpenSHMEM 1.6 §9.6.1.8`). Strides are at least `block`.
    ///
    /// # Errors
    /// As for [`iput`](Self::iput).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let matrix = world.alloc_zeroed::<u64>(8).await?; // 2 x 4
    /// let (ctx, next) = (world.context(), (world.my_pe() + 1) % world.n_pes());
    /// matrix.view().write(&[0, 1, 2, 0, 0, 3, 4, 0]);
    /// world.barrier_all().await?;
    /// let columns = matrix.slice(1..); // two of them
    /// assert_eq!(ctx.ibget(vec![0; 4], columns, 2, 4, 2, 2, next).await?, [1, 2, 3, 4]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[allow(clippy::too_many_arguments)]
    pub fn ibget<'a, D, B>(
        &self,
        buffer: B,
        source: D,
        dest_stride: usize,
        source_stride: usize,
        block: usize,
        count: usize,
        pe: usize,
    ) -> Get<B::Back, B::Failure>
    where
        D: Symmetric<'a>,
        B: Sink<D::Element>,
    {
        Get(self.get_blocks(
            "ibget",
            buffer,
            source.view(),
            Blocks { dest_stride, source_stride, block, count },
            pe,
        ))
    }

    #[inline(always)]
    fn put_now<T, S>(
        &self,
        call: &'static str,
        dest: SymView<'_, T>,
        source: S,
        pe: usize,
        completion: Completion,
    ) -> Op<S::Back, S::Failure>
    where
        T: Element,
        S: Source<T>,
    {
        let fits =
            |_: &Place<'_>| source.len() == dest.len() && !is_traced() && self.is_at_hand(source.symmetric());
        match self.reachable(dest, pe).filter(fits) {
            // SAFETY: just checked.
            Some(to) => unsafe { self.put_to(to, dest, source) },
            None => self.put_told(call, dest, source, pe, completion),
        }
    }

    #[inline(always)]
    fn get_now<T, B>(
        &self,
        call: &'static str,
        buffer: B,
        source: SymView<'_, T>,
        pe: usize,
    ) -> Op<B::Back, B::Failure>
    where
        T: Element,
        B: Sink<T>,
    {
        let fits = |_: &Place<'_>| {
            source.len() == buffer.len() && !is_traced() && self.is_at_hand(buffer.symmetric())
        };
        match self.reachable(source, pe).filter(fits) {
            // SAFETY: just checked.
            Some(from) => unsafe { self.get_from(from, buffer, source) },
            None => self.get_told(call, buffer, source, pe),
        }
    }

    /// Puts all of `source`.
    ///
    /// # Safety
    /// `to` must be the place of `dest` on some PE, which has as many elements as `source`.
    #[inline(always)]
    unsafe fn put_to<T, S>(&self, to: Place<'_>, dest: SymView<'_, T>, source: S) -> Op<S::Back, S::Failure>
    where
        T: Element,
        S: Source<T>,
    {
        // SAFETY: `dest` is in bounds and aligned on every PE; both sides have `dest.len()` elements.
        unsafe {
            if S::SCALAR {
                self.pe().shm().store(to, source.as_ptr().read());
            } else {
                self.pe().shm().put(to, source.as_ptr().cast(), dest.len() * size_of::<T>());
            }
        }
        Op::Done(source.back())
    }

    /// Fills all of `buffer`.
    ///
    /// # Safety
    /// `from` must be the place of `source` on some PE, which has as many elements as `buffer`.
    #[inline(always)]
    unsafe fn get_from<T, B>(
        &self,
        from: Place<'_>,
        mut buffer: B,
        source: SymView<'_, T>,
    ) -> Op<B::Back, B::Failure>
    where
        T: Element,
        B: Sink<T>,
    {
        // SAFETY: `source` is in bounds on every PE; both sides have `source.len()` elements.
        unsafe {
            self.pe().shm().get(from, buffer.as_mut_ptr().cast(), source.len() * size_of::<T>());
        }
        buffer.arrived();
        Op::Done(buffer.back())
    }
}

/// Operations that somebody is told of, or that fail: apart, so that the others need no more than a few registers.
impl<M: Sharing> Context<M> {
    #[cold]
    #[inline(never)]
    fn p_told<T: Element>(
        &self,
        allocation: &Arc<Allocation>,
        offset: usize,
        value: T,
        pe: usize,
    ) -> Op<(), Error> {
        trace_operation("p", size_of::<T>(), pe);
        // SAFETY: both are of the `SymRef` that `p` was given.
        let dest = unsafe { SymRef::<T>::from_parts((allocation, offset)) };
        match self.target("p", dest.as_view(), pe) {
            Ok(Target::Near(to)) => {
                // SAFETY: a `SymRef` is one aligned element in bounds, on every PE.
                unsafe { self.pe().shm().store(to, value) };
                Op::Done(())
            }
            Ok(Target::Far(far)) => self.put_far(far, value, size_of::<T>(), Completion::Local),
            Ok(to) => self.put_device(to, dest.as_view(), (value, Here::Host), None, pe, Completion::Local),
            Err(error) => Op::failed(error, self.ops()),
        }
    }

    #[cold]
    #[inline(never)]
    fn g_told<T: Element>(&self, allocation: &Arc<Allocation>, offset: usize, pe: usize) -> Op<T, Error> {
        trace_operation("g", size_of::<T>(), pe);
        // SAFETY: both are of the `SymRef` that `g` was given.
        let source = unsafe { SymRef::<T>::from_parts((allocation, offset)) };
        match self.target("g", source.as_view(), pe) {
            // SAFETY: a `SymRef` is one aligned element in bounds, on every PE, and any bytes are a `T`.
            Ok(Target::Near(from)) => Op::Done(unsafe { self.pe().shm().load(from) }),
            Ok(Target::Far(far)) => self.get_far(far, HeldValue::default(), size_of::<T>()),
            Ok(from) => self.get_device(from, source.as_view(), (HeldValue::default(), Here::Host), pe),
            Err(error) => Op::failed(error, self.ops()),
        }
    }

    #[cold]
    #[inline(never)]
    fn put_told<T, S>(
        &self,
        call: &'static str,
        dest: SymView<'_, T>,
        source: S,
        pe: usize,
        completion: Completion,
    ) -> Op<S::Back, S::Failure>
    where
        T: Element,
        S: Source<T>,
    {
        trace_operation(call, dest.len() * size_of::<T>(), pe);
        match self.matched(call, dest, (source.len(), source.symmetric()), pe, true) {
            // SAFETY: just checked.
            Ok((Target::Near(to), Here::Host)) => unsafe { self.put_to(to, dest, source) },
            Ok((Target::Far(far), Here::Host)) => {
                self.put_far(far, source, size_of::<T>() * dest.len(), completion)
            }
            Ok((to, from)) => self.put_device(to, dest, (source, from), None, pe, completion),
            Err(error) => Op::failed(source.reject(error), self.ops()),
        }
    }

    #[cold]
    #[inline(never)]
    fn get_told<T, B>(
        &self,
        call: &'static str,
        buffer: B,
        source: SymView<'_, T>,
        pe: usize,
    ) -> Op<B::Back, B::Failure>
    where
        T: Element,
        B: Sink<T>,
    {
        trace_operation(call, source.len() * size_of::<T>(), pe);
        match self.matched(call, source, (buffer.len(), buffer.symmetric()), pe, false) {
            // SAFETY: just checked.
            Ok((Target::Near(from), Here::Host)) => unsafe { self.get_from(from, buffer, source) },
            Ok((Target::Far(far), Here::Host)) => self.get_far(far, buffer, size_of::<T>() * source.len()),
            Ok((from, to)) => self.get_device(from, source, (buffer, to), pe),
            Err(error) => Op::failed(buffer.reject(error), self.ops()),
        }
    }

    /// Has the copy engine put `source`, and then do `after`.
    #[cold]
    pub(crate) fn put_later<T, S>(
        &self,
        call: &'static str,
        dest: SymView<'_, T>,
        source: S,
        pe: usize,
        after: impl FnOnce(&oxshmem_runtime::Pe) + Send + 'static,
    ) -> Op<S::Back, S::Failure>
    where
        T: Element,
        S: Source<T>,
    {
        let bytes = dest.len() * size_of::<T>();
        trace_operation(call, bytes, pe);
        let Place { block, .. } = match self.matched(call, dest, (source.len(), source.symmetric()), pe, true)
        {
            Ok((Target::Near(to), Here::Host)) => to,
            Ok((Target::Far(far), Here::Host)) => {
                return self.put_far(far, source, bytes, Completion::Remote);
            }
            Ok(_) => unreachable!("callers leave device memory to the device"),
            Err(error) => return Op::failed(source.reject(error), self.ops()),
        };
        let dest = dest.to_owned();
        self.offload(
            source,
            pe,
            move |pe_of, source| {
                let place = dest.view().place(block);
                // SAFETY: the place was checked above and `dest` keeps it mapped; `source` has as many elements.
                unsafe { pe_of.shm().put(place, source.as_ptr().cast(), bytes) };
                after(pe_of);
            },
            S::back,
        )
    }

    #[cold]
    fn get_later<T, B>(&self, buffer: B, source: SymView<'_, T>, pe: usize) -> Op<B::Back, B::Failure>
    where
        T: Element,
        B: Sink<T>,
    {
        let bytes = source.len() * size_of::<T>();
        trace_operation("get_nbi", bytes, pe);
        let here = (buffer.len(), buffer.symmetric());
        let Place { block, .. } = match self.matched("get_nbi", source, here, pe, false) {
            Ok((Target::Near(from), Here::Host)) => from,
            Ok((Target::Far(far), Here::Host)) => return self.get_far(far, buffer, bytes),
            Ok(_) => unreachable!("callers leave device memory to the device"),
            Err(error) => return Op::failed(buffer.reject(error), self.ops()),
        };
        let source = source.to_owned();
        self.offload(
            buffer,
            pe,
            move |pe_of, buffer| {
                let place = source.view().place(block);
                // SAFETY: the place was checked above and `source` keeps it mapped; `buffer` has as many elements.
                unsafe { pe_of.shm().get(place, buffer.as_mut_ptr().cast(), bytes) };
                buffer.arrived();
            },
            B::back,
        )
    }

    /// Hands `buffer` to the copy engine, which runs `copy` on it and gives it back to the future.
    fn offload<B: Send, R: Send, E: Into<Error> + Send>(
        &self,
        buffer: B,
        pe: usize,
        copy: impl FnOnce(&oxshmem_runtime::Pe, &mut B) + Send,
        back: fn(B) -> R,
    ) -> Op<R, E> {
        let flight = Arc::new(Flight::<Landed<R, E>>::default());
        let (ops, all) = (Arc::clone(self.ops()), Arc::clone(self.pe().offloaded()));
        let (ticket, ticket_of_all) = (ops.begin(pe), all.begin(pe));
        let landing = Arc::clone(&flight);
        let pe_of = Arc::clone(self.pe());
        let mut buffer = buffer;
        let job: Box<dyn FnOnce() + Send> = Box::new(move || {
            copy(&pe_of, &mut buffer);
            // Release what was copied before anybody learns that it was.
            pe_of.shm().quiet();
            let back = back(buffer);
            // A task that is woken finds all of it done.
            let _hold = Hold::begin();
            landing.land(Ok(back));
            ops.complete(ticket);
            all.complete(ticket_of_all);
        });
        // SAFETY: only lifetimes change. Callers come here with STABLE buffers, which are `'static` by the contract
        // of `Source` and `Sink`, and with closures over owned handles, elements and numbers.
        let job =
            unsafe { std::mem::transmute::<Box<dyn FnOnce() + Send + '_>, Box<dyn FnOnce() + Send>>(job) };
        self.pe().engine().submit(job);
        Op::Aloft(flight)
    }

    fn put_blocks<T, S>(
        &self,
        call: &'static str,
        dest: SymView<'_, T>,
        source: S,
        blocks: Blocks,
        pe: usize,
    ) -> Op<S::Back, S::Failure>
    where
        T: Element,
        S: Source<T>,
    {
        trace_operation(call, blocks.block.saturating_mul(blocks.count).saturating_mul(size_of::<T>()), pe);
        let checked = blocks.checked(call, dest.len(), source.len()).and_then(|blocks| {
            Ok((blocks, self.target(call, dest, pe)?, self.here(call, source.symmetric())?))
        });
        match checked {
            Ok((blocks, Target::Far(far), Here::Host)) => self.put_blocks_far(far, source, blocks),
            Ok((blocks, Target::Near(to), Here::Host)) => {
                let size = size_of::<T>();
                let Blocks { dest_stride, source_stride, block, count } = blocks;
                // SAFETY: `checked` saw that the last block ends inside both sides.
                unsafe {
                    copy_strided(
                        to.address(),
                        dest_stride * size,
                        source.as_ptr().cast(),
                        source_stride * size,
                        block * size,
                        count,
                    );
                }
                self.pe().shm().ring(to, (dest.len()) * size);
                Op::Done(source.back())
            }
            Ok((blocks, to, from)) => self.put_blocks_device(to, dest, (source, from), blocks, pe),
            Err(error) => Op::failed(source.reject(error), self.ops()),
        }
    }

    fn get_blocks<T, B>(
        &self,
        call: &'static str,
        mut buffer: B,
        source: SymView<'_, T>,
        blocks: Blocks,
        pe: usize,
    ) -> Op<B::Back, B::Failure>
    where
        T: Element,
        B: Sink<T>,
    {
        trace_operation(call, blocks.block.saturating_mul(blocks.count).saturating_mul(size_of::<T>()), pe);
        let checked = blocks.checked(call, buffer.len(), source.len()).and_then(|blocks| {
            Ok((blocks, self.target(call, source, pe)?, self.here(call, buffer.symmetric())?))
        });
        match checked {
            Ok((blocks, Target::Far(far), Here::Host)) => self.get_blocks_far(far, buffer, blocks),
            Ok((blocks, Target::Near(from), Here::Host)) => {
                let size = size_of::<T>();
                let Blocks { dest_stride, source_stride, block, count } = blocks;
                // SAFETY: `checked` saw that the last block ends inside both sides.
                unsafe {
                    copy_strided(
                        buffer.as_mut_ptr().cast(),
                        dest_stride * size,
                        from.address(),
                        source_stride * size,
                        block * size,
                        count,
                    );
                }
                buffer.arrived();
                Op::Done(buffer.back())
            }
            Ok((blocks, from, to)) => self.get_blocks_device(from, source, (buffer, to), blocks, pe),
            Err(error) => Op::failed(buffer.reject(error), self.ops()),
        }
    }
}

/// The shape of a strided operation, in elements.
#[derive(Clone, Copy)]
pub(crate) struct Blocks {
    pub(crate) dest_stride: usize,
    pub(crate) source_stride: usize,
    pub(crate) block: usize,
    pub(crate) count: usize,
}

impl Blocks {
    /// The same blocks, if they are inside of buffers with so many elements. Then whatever is counted of them in bytes is a number.
    fn checked(self, call: &'static str, dest_len: usize, source_len: usize) -> Result<Self, Error> {
        let Self { dest_stride, source_stride, block, count } = self;
        if block == 0 {
            return Err(Error::InvalidStride { call, what: "block size", value: block });
        }
        for (what, stride, len) in
            [("destination stride", dest_stride, dest_len), ("source stride", source_stride, source_len)]
        {
            if stride < block {
                return Err(Error::InvalidStride { call, what, value: stride });
            }
            let reach =
                count.checked_sub(1).map_or(Some(0), |last| last.checked_mul(stride)?.checked_add(block));
            let needed = reach.unwrap_or(usize::MAX);
            if needed > len {
                let what = if what.starts_with('d') { "destination" } else { "source" };
                return Err(Error::StrideOutOfRange { call, what, needed, len });
            }
        }
        // A stride that leads to no other block may be any number, and so may the size of no block.
        Ok(match count {
            0 => Self { count, ..Self::whole(0) },
            1 => Self::whole(block),
            _ => self,
        })
    }
}
