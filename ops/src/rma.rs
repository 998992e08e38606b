//! Remote memory access: put, get, single elements and strided blocks (`OpenSHMEM 1.6 §9.6`).
//!
//! | C | here | ready when |
//! |---|---|---|
//! | `shmem_put` | [`put`](Context::put) | the source may be reused |
//! | `shmem_put_nbi` | [`put_nbi`](Context::put_nbi) | the data is at the target |
//! | `shmem_p` | [`p`](Context::p) | at once |
//! | `shmem_get` | [`get`](Context::get), [`get_into`](Context::get_into) | the data is here |
//! | `shmem_get_nbi` | [`get_nbi`](Context::get_nbi) | the data is here |
//! | `shmem_g` | [`g`](Context::g) | the value is here |
//! | `shmem_iput` | [`iput`](Context::iput) | the source may be reused |
//! | `shmem_ibput` | [`ibput`](Context::ibput) | the source may be reused |
//! | `shmem_iget` | [`iget`](Context::iget) | the data is here |
//! | `shmem_ibget` | [`ibget`](Context::ibget) | the data is here |

use oxshmem_base::Error;
use oxshmem_memory::op::Ready;
use oxshmem_progress::activity::Call;
use oxshmem_spaces::{Element, SymRef, Symmetric};

use crate::{
    blocks::Strided,
    buffer::{Fresh, OneValue, Sink, Source},
    context::{Context, Sharing},
    operation::{Fetch, Get, Put, PutNbi, Update},
};

impl<M: Sharing> Context<M> {
    /// Copies `source` to `dest` on `pe` (`OpenSHMEM 1.6 §9.6.1.1`).
    ///
    /// `source` is a value, an array, a borrowed slice, an owned buffer or symmetric memory of this
    /// PE, with as many elements as `dest`. The future is ready when it may be reused, with the
    /// buffer if that was given away; [`quiet`](Self::quiet) completes the put at the target.
    ///
    /// # Errors
    /// [`Error::PeOutOfRange`], [`Error::LengthMismatch`], [`Error::ForeignMemory`],
    /// [`Error::Finalized`]; nothing was copied then, and [`Rejected`](crate::Rejected) gives an
    /// owned source back.
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
        Put(self.put_now(Call::Put, dest.view(), source, pe, Ready::Reusable))
    }

    /// Copies `source` to `dest` on `pe`; ready when it is there (`OpenSHMEM 1.6 §9.6.2.1`).
    ///
    /// An owned source of at least `SHMEM_OFFLOAD_THRESHOLD` bytes is copied by a helper thread
    /// meanwhile. The future may be dropped; [`quiet`](Self::quiet) completes the put.
    ///
    /// # Errors
    /// The errors of [`put`](Self::put). If the future is dropped, the next `quiet` returns them.
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
        PutNbi(self.put_now(Call::PutNbi, dest.view(), source, pe, Ready::Delivered))
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
        Get(self.get_now(Call::Get, buffer, source, pe, false))
    }

    /// Copies `source` on `pe` to `buffer`, which has as many elements. Ready with the buffer, if
    /// it was given away: a [`SymView`](oxshmem_spaces::SymView) of this PE's memory is its
    /// caller's still.
    ///
    /// # Errors
    /// The errors of [`put`](Self::put); [`Rejected`](crate::Rejected) gives the buffer back.
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
        Get(self.get_now(Call::Get, buffer, source.view(), pe, false))
    }

    /// [`get_into`](Self::get_into), with large copies left to a helper thread as in
    /// [`put_nbi`](Self::put_nbi) (`OpenSHMEM 1.6 §9.6.2.2`). If the future is dropped, so is what
    /// it got, unless `buffer` is symmetric memory.
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
        Get(self.get_now(Call::GetNbi, buffer, source.view(), pe, true))
    }

    /// Stores one value at `dest` on `pe` (`OpenSHMEM 1.6 §9.6.1.2`). It is ready at once.
    ///
    /// # Errors
    /// The errors of [`put`](Self::put).
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
        Update(self.put_now(Call::P, dest.as_view(), value, pe, Ready::Reusable))
    }

    /// Loads one value from `source` on `pe` (`OpenSHMEM 1.6 §9.6.1.6`).
    ///
    /// # Errors
    /// The errors of [`get`](Self::get).
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
        Fetch(self.get_now(Call::G, OneValue(T::zeroed()), source.as_view(), pe, false))
    }

    /// Copies `count` single elements, `source_stride` apart in `source`, to places `dest_stride`
    /// apart in `dest` on `pe` (`OpenSHMEM 1.6 §9.6.1.3`). Strides are in elements, at least 1.
    ///
    /// # Errors
    /// The errors of [`put`](Self::put), [`Error::InvalidStride`] and [`Error::StrideOutOfRange`].
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
            Call::Iput,
            dest.view(),
            source,
            Strided { dest_stride, source_stride, block: 1, count },
            pe,
        ))
    }

    /// Copies `count` blocks of `block` elements, whose starts are `source_stride` apart in
    /// `source` and `dest_stride` apart in `dest` on `pe` (`OpenSHMEM 1.6 §9.6.1.4`). Strides are
    /// at least `block`.
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
            Call::Ibput,
            dest.view(),
            source,
            Strided { dest_stride, source_stride, block, count },
            pe,
        ))
    }

    /// Copies `count` single elements, `source_stride` apart in `source` on `pe`, to places
    /// `dest_stride` apart in `buffer` (`OpenSHMEM 1.6 §9.6.1.7`). Strides are in elements, at
    /// least 1.
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
            Call::Iget,
            buffer,
            source.view(),
            Strided { dest_stride, source_stride, block: 1, count },
            pe,
        ))
    }

    /// Copies `count` blocks of `block` elements, whose starts are `source_stride` apart in
    /// `source` on `pe` and `dest_stride` apart in `buffer` (`OpenSHMEM 1.6 §9.6.1.8`). Strides are
    /// at least `block`.
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
            Call::Ibget,
            buffer,
            source.view(),
            Strided { dest_stride, source_stride, block, count },
            pe,
        ))
    }
}
