//! Symmetric memory of a world: its spaces and partitions, and allocating in them.

use std::{future::ready, sync::Arc};

use futures::future::Either;
use oxshmem_base::{Result, settings::SpaceKind};
use oxshmem_spaces::{Element, HeapUse, Hints, SymSlice};
use oxshmem_teams::Outcome;

use crate::{
    Rejected,
    allocating::allocating,
    arena::no_partition,
    partition::{Partition, PartitionInfo, describe},
    space::{Space, unavailable},
    world::World,
};

impl World {
    /// A memory space, if this PE has it.
    ///
    /// # Errors
    /// [`Error::SpaceUnavailable`](crate::Error::SpaceUnavailable) and
    /// [`Error::Unsupported`](crate::Error::Unsupported), which say why there is none.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let default = world.space(SpaceKind::Default)?;
    /// assert_eq!(default.kind(), SpaceKind::Cpu); // unless the environment says otherwise
    /// assert!(default.capabilities().direct_access);
    /// assert!(world.space(SpaceKind::Gpu).is_err()); // it is not enabled
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn space(&self, kind: SpaceKind) -> Result<Space> {
        let found = self.0.spaces.get(kind).cloned();
        found.ok_or_else(|| unavailable(&self.0.pe, kind))
    }

    allocating!("world", " on every PE");

    fn alloc_with<T: Element>(
        &self,
        name: &'static str,
        len: usize,
        align: usize,
        hints: Hints,
        zeroed: bool,
    ) -> impl Future<Output = Result<SymSlice<T>>> + Send + use<T> {
        self.0.spaces.default().alloc_with(name, len, align, hints, zeroed)
    }

    /// Changes the length of `slice` to `len` elements. Those that both lengths have keep their
    /// values; new ones are unspecified. Hints and alignment are kept. Collective (`OpenSHMEM 1.6
    /// §9.3.3`).
    ///
    /// The block is resized in place, or moved, where every PE gives its only handle to the whole
    /// of it. Where one has others, they keep the old block, and the new one is a copy. No
    /// operation on it may be under way.
    ///
    /// # Errors
    /// The errors of [`alloc`](Self::alloc), with the slice given back in
    /// [`Rejected`](crate::Rejected);
    /// [`Error::ForeignMemory`](crate::Error::ForeignMemory) if the slice belongs to another job,
    /// or is another PE's handle, likewise. Other PEs that call it with a slice of their own have
    /// [`Error::CollectiveMismatch`](crate::Error::CollectiveMismatch) then. Where the collective
    /// itself fails, what comes back has no elements.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let mut list = world.alloc::<u32>(3).await?;
    /// list.view().write(&[1, 2, 3]);
    /// list = world.realloc(list, 1000).await?;
    /// assert_eq!(list.len(), 1000);
    /// assert_eq!(list.slice(..3).to_vec(), [1, 2, 3]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn realloc<T: Element>(
        &self,
        slice: SymSlice<T>,
        len: usize,
    ) -> impl Future<Output = Result<SymSlice<T>, Rejected<SymSlice<T>>>> + Send + use<T> {
        match self.0.spaces.of("realloc", &slice, len > 0 && size_of::<T>() > 0) {
            Ok(arena) => Either::Left(arena.realloc(slice, len)),
            Err(error) => Either::Right(ready(Err(Rejected { error, buffer: slice }))),
        }
    }

    /// Gives `slice` up. Collective (`OpenSHMEM 1.6 §9.3.2`).
    ///
    /// The memory is free when all handles on all PEs are gone: clones that are still held keep it.
    /// As any collective call on the heap, this also frees some of what all PEs have dropped
    /// before; [`reclaim`](Self::reclaim) frees all of that.
    /// The PEs sync before it is freed, so operations that they completed before are not disturbed.
    ///
    /// # Errors
    /// [`Error::ForeignMemory`](crate::Error::ForeignMemory) if the slice belongs to another job,
    /// or is another PE's handle, and [`Error::Finalized`](crate::Error::Finalized), with the slice
    /// given back in [`Rejected`](crate::Rejected);
    /// [`Error::CollectiveMismatch`](crate::Error::CollectiveMismatch) if PEs free different
    /// slices, or one of them has refused its own, [`Error::PeLost`](crate::Error::PeLost) and
    /// [`Error::GlobalExit`](crate::Error::GlobalExit), with an empty one, as the slice was given
    /// up.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let before = world.heap_use().used;
    /// let buffer = world.alloc::<u8>(1 << 20).await?;
    /// world.free(buffer).await?;
    /// assert_eq!(world.heap_use().used, before);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn free<T: Element>(
        &self,
        slice: SymSlice<T>,
    ) -> impl Future<Output = Result<(), Rejected<SymSlice<T>>>> + Send + use<T> {
        match self.0.spaces.of("free", &slice, true) {
            Ok(arena) => Either::Left(arena.free(slice)),
            Err(error) => Either::Right(ready(Err(Rejected { error, buffer: slice }))),
        }
    }

    /// Frees whatever every PE has dropped of the default space. Collective. Allocations do so too:
    /// this is for programs that want the memory back, or the figures of
    /// [`heap_use`](Self::heap_use) exact, at a point of their choice.
    ///
    /// # Errors
    /// [`Error::PeLost`](crate::Error::PeLost), [`Error::GlobalExit`](crate::Error::GlobalExit) and
    /// [`Error::Finalized`](crate::Error::Finalized).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let buffer = world.alloc::<u8>(1 << 20).await?;
    /// drop(buffer); // involves no other PE
    /// assert_eq!(world.heap_use().used, 1 << 20);
    /// world.reclaim().await?;
    /// assert_eq!(world.heap_use().used, 0);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn reclaim(&self) -> Outcome<()> {
        self.0.spaces.default().reclaim()
    }

    /// What the symmetric heap of the default space holds: where that has
    /// [partitions](Self::partitions), the first of them does. Blocks that were dropped, but are
    /// not reclaimed yet, count as used.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// let words = world.alloc::<u64>(100).await?;
    /// let heap = world.heap_use();
    /// assert_eq!((heap.blocks, heap.used), (1, 832)); // in whole lines of 64 bytes
    /// assert_eq!(heap.used + heap.free, heap.size);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn heap_use(&self) -> HeapUse {
        self.0.spaces.default().heap_use()
    }

    /// A partition of the symmetric heap, by its number. Where none is defined, the heap is number
    /// 1.
    ///
    /// # Errors
    /// [`Error::NoPartition`](crate::Error::NoPartition) if it is not defined.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// let words = world.partition(1)?.alloc::<u64>(8).await?;
    /// let error = world.partition(2).unwrap_err();
    /// assert!(error.to_string().contains("set SMAX_SYMMETRIC_PARTITION2"));
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn partition(&self, id: usize) -> Result<Partition> {
        let all = self.spaces().partitions();
        let found = all.iter().find(|arena| arena.heap.id() == id);
        found.map(|arena| Partition(Arc::clone(arena))).ok_or_else(|| no_partition(all, "partition", id))
    }

    /// All partitions of the symmetric heap, by their numbers. Where none is defined, the heap as
    /// number 1.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// let sizes: Vec<_> = world.partitions().iter().map(|it| it.usage.size).collect();
    /// assert_eq!(sizes, [512 << 20]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn partitions(&self) -> Vec<PartitionInfo> {
        describe(self.pe(), self.spaces().partitions())
    }
}
