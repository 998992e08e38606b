//! The collectives of a team on symmetric memory (`OpenSHMEM 1.6 §9.10`).
//!
//! Every one begins when it is called, and is over on this PE when its future is ready: the
//! destination has its result, and the source may be changed. Every PE of the team calls it, with
//! slices of the same length. Before any PE calls it, the destinations of all must be ready to be
//! written.

mod begin;
mod bytes;
mod on_device;
mod operands;

use oxshmem_spaces::{Element, Symmetric};

use crate::{
    collectives::operands::Operands,
    queue::Collective,
    reduction::{Arithmetic, Bitwise, Kernel, Ordered, ReduceOp, sum_kernel},
    team::Team,
};

/// Defines the reductions, which differ in name only.
macro_rules! reductions {
    ($($name:ident: $class:ident, $op:ident, $what:literal, [$a:literal, $b:literal] = $total:literal;)*) => {$(
        #[doc = concat!("`dest` becomes the ", $what, " of all PEs' `source`, element by element. They may be the same \
                         slice. Collective (`OpenSHMEM 1.6 §9.10.9`).")]
        ///
        /// # Errors
        /// [`Error::LengthMismatch`](oxshmem_base::Error::LengthMismatch), at once, and
        /// [`Error::Overlap`](oxshmem_base::Error::Overlap) if `dest` and `source` overlap and are
        /// not the same; [`Error::CollectiveMismatch`](oxshmem_base::Error::CollectiveMismatch) if
        /// PEs differ in length, type or call, or one of them has refused it;
        /// [`Error::ForeignMemory`](oxshmem_base::Error::ForeignMemory), and those of
        /// [`sync`](Self::sync).
        ///
        /// ```
        /// # use oxshmem::prelude::*;
        /// # LocalCluster::run(2, |world| async move {
        /// let (value, all) = (world.alloc::<u32>(1).await?, world.alloc::<u32>(1).await?);
        #[doc = concat!("value.at(0).store([", stringify!($a), ", ", stringify!($b), "][world.my_pe()]);")]
        #[doc = concat!("world.team().", stringify!($name), "(&all, &value).await?;")]
        #[doc = concat!("assert_eq!(all.at(0).load(), ", stringify!($total), ");")]
        /// # world.finalize().await
        /// # })?;
        /// # Ok::<(), oxshmem::Error>(())
        /// ```
        #[inline]
        pub fn $name<'a, T: $class>(
            &'a self,
            dest: impl Symmetric<'a, Element = T>,
            source: impl Symmetric<'a, Element = T>,
        ) -> Collective<'a> {
            let kernel = Kernel::shared(T::TYPE, ReduceOp::$op);
            self.operands(kernel.op().reduction(), dest, source).begin_reduce(kernel)
        }
    )*};
}

impl Team {
    reductions! {
        and_reduce: Bitwise, And, "bitwise and", [6, 3] = 2;
        or_reduce: Bitwise, Or, "bitwise or", [6, 3] = 7;
        xor_reduce: Bitwise, Xor, "bitwise exclusive or", [6, 3] = 5;
        min_reduce: Ordered, Min, "minimum", [6, 3] = 3;
        max_reduce: Ordered, Max, "maximum", [6, 3] = 6;
        sum_reduce: Arithmetic, Sum, "sum", [6, 3] = 9;
        prod_reduce: Arithmetic, Prod, "product", [6, 3] = 18;
    }

    /// `dest` becomes the sum of the `source` of the PEs up to this one, element by element. They
    /// may be the same slice. Collective (`OpenSHMEM 1.6 §9.10.10`).
    ///
    /// # Errors
    /// The errors of [`sum_reduce`](Self::sum_reduce).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(3, |world| async move {
    /// let counts = world.alloc::<u64>(1).await?;
    /// counts.at(0).store(10);
    /// world.team().sum_inscan(&counts, &counts).await?;
    /// assert_eq!(counts.at(0).load(), [10, 20, 30][world.my_pe()]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline]
    pub fn sum_inscan<'a, T: Arithmetic>(
        &'a self,
        dest: impl Symmetric<'a, Element = T>,
        source: impl Symmetric<'a, Element = T>,
    ) -> Collective<'a> {
        self.operands("sum_inscan", dest, source).begin_scan(sum_kernel::<T>(), true)
    }

    /// `dest` becomes the sum of the `source` of the PEs before this one, element by element, which
    /// on PE 0 is 0. They may be the same slice. Collective (`OpenSHMEM 1.6 §9.10.10`).
    ///
    /// # Errors
    /// The errors of [`sum_reduce`](Self::sum_reduce).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(3, |world| async move {
    /// let (count, start) = (world.alloc::<u64>(1).await?, world.alloc::<u64>(1).await?);
    /// count.at(0).store(10);
    /// world.team().sum_exscan(&start, &count).await?; // where this PE's part begins
    /// assert_eq!(start.at(0).load(), [0, 10, 20][world.my_pe()]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline]
    pub fn sum_exscan<'a, T: Arithmetic>(
        &'a self,
        dest: impl Symmetric<'a, Element = T>,
        source: impl Symmetric<'a, Element = T>,
    ) -> Collective<'a> {
        self.operands("sum_exscan", dest, source).begin_scan(sum_kernel::<T>(), false)
    }

    /// `dest` on every PE, the root too, becomes the `source` of PE `root`. Collective (`OpenSHMEM
    /// 1.6 §9.10.7`).
    ///
    /// # Errors
    /// [`Error::PeOutOfRange`](oxshmem_base::Error::PeOutOfRange) and those of
    /// [`sum_reduce`](Self::sum_reduce).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(3, |world| async move {
    /// let seed = world.alloc::<u64>(2).await?;
    /// seed.view().fill(world.my_pe() as u64);
    /// world.barrier_all().await?; // the destinations are ready before any PE calls
    /// world.team().broadcast(&seed, &seed, 2).await?;
    /// assert_eq!(seed.view().to_vec(), [2, 2]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn broadcast<'a, T: Element>(
        &'a self,
        dest: impl Symmetric<'a, Element = T>,
        source: impl Symmetric<'a, Element = T>,
        root: usize,
    ) -> Collective<'a> {
        self.operands("broadcast", dest, source).begin_broadcast(root, true)
    }

    /// [`broadcast`](Self::broadcast) that leaves the root's `dest` as it is, as those over active
    /// sets do (`OpenSHMEM 1.6 §9.10.7`). Collective.
    ///
    /// # Errors
    /// The errors of `broadcast`, but [`Error::Overlap`](oxshmem_base::Error::Overlap): no PE reads
    /// what another writes.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(3, |world| async move {
    /// let (seed, got) = (world.alloc::<u64>(1).await?, world.alloc_zeroed::<u64>(1).await?);
    /// seed.at(0).store(world.my_pe() as u64 + 7);
    /// world.team().broadcast_to_others(&got, &seed, 1).await?;
    /// assert_eq!(got.at(0).load(), [8, 0, 8][world.my_pe()]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn broadcast_to_others<'a, T: Element>(
        &'a self,
        dest: impl Symmetric<'a, Element = T>,
        source: impl Symmetric<'a, Element = T>,
        root: usize,
    ) -> Collective<'a> {
        self.operands("broadcast", dest, source).begin_broadcast(root, false)
    }

    /// `dest` becomes all PEs' `source`, one behind the other in the order of the PEs. All have
    /// the same length. Collective (`OpenSHMEM 1.6 §9.10.8`).
    ///
    /// # Errors
    /// [`Error::LengthMismatch`](oxshmem_base::Error::LengthMismatch) if `dest` is not as long as
    /// all together; [`Error::Overlap`](oxshmem_base::Error::Overlap) if it has bytes of `source`,
    /// other than where those belong; otherwise those of [`sum_reduce`](Self::sum_reduce).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(3, |world| async move {
    /// let (mine, all) = (world.alloc::<u32>(2).await?, world.alloc::<u32>(6).await?);
    /// mine.view().fill(world.my_pe() as u32);
    /// world.team().fcollect(&all, &mine).await?;
    /// assert_eq!(all.view().to_vec(), [0, 0, 1, 1, 2, 2]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn fcollect<'a, T: Element>(
        &'a self,
        dest: impl Symmetric<'a, Element = T>,
        source: impl Symmetric<'a, Element = T>,
    ) -> Collective<'a> {
        self.operands("fcollect", dest, source).begin_fcollect()
    }

    /// `dest` becomes all PEs' `source`, one behind the other in the order of the PEs. Lengths
    /// may differ, and be 0. What is left of `dest` stays as it is. Collective (`OpenSHMEM 1.6
    /// §9.10.8`).
    ///
    /// # Errors
    /// [`Error::LengthMismatch`](oxshmem_base::Error::LengthMismatch) if `dest` is shorter than all
    /// together, once the lengths of all are known. If that is so on some PEs only, the others have
    /// [`Error::CollectiveMismatch`](oxshmem_base::Error::CollectiveMismatch), those may too, and
    /// nothing is written. Otherwise those of [`sum_reduce`](Self::sum_reduce), where lengths may
    /// differ.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(3, |world| async move {
    /// let (mine, all) = (world.alloc::<u32>(3).await?, world.alloc::<u32>(3).await?);
    /// mine.view().fill(world.my_pe() as u32);
    /// world.team().collect(&all, mine.slice(..world.my_pe())).await?; // 0, 1 and 2 elements
    /// assert_eq!(all.view().to_vec(), [1, 2, 2]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn collect<'a, T: Element>(
        &'a self,
        dest: impl Symmetric<'a, Element = T>,
        source: impl Symmetric<'a, Element = T>,
    ) -> Collective<'a> {
        self.operands("collect", dest, source).begin_collect()
    }

    /// Block `i` of `source` becomes block `me` of `dest` on PE `i`; a block is as long as all PEs'
    /// have in common, an n-th of the slices. Collective (`OpenSHMEM 1.6 §9.10.5`).
    ///
    /// # Errors
    /// [`Error::LengthMismatch`](oxshmem_base::Error::LengthMismatch) if the slices differ in
    /// length, or do not divide into blocks; [`Error::Overlap`](oxshmem_base::Error::Overlap);
    /// otherwise those of [`sum_reduce`](Self::sum_reduce).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(3, |world| async move {
    /// let (to, from) = (world.alloc::<u32>(3).await?, world.alloc::<u32>(3).await?);
    /// to.view().write(&[0, 1, 2].map(|pe| 10 * world.my_pe() as u32 + pe));
    /// world.team().alltoall(&from, &to).await?;
    /// assert_eq!(from.view().to_vec(), [0, 10, 20].map(|pe| pe + world.my_pe() as u32));
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn alltoall<'a, T: Element>(
        &'a self,
        dest: impl Symmetric<'a, Element = T>,
        source: impl Symmetric<'a, Element = T>,
    ) -> Collective<'a> {
        self.operands("alltoall", dest, source).begin_alltoall()
    }

    /// [`alltoall`](Self::alltoall) of blocks of `nelems` elements, which lie `sst` elements apart
    /// in `source` and `dst` apart in `dest`. Collective (`OpenSHMEM 1.6 §9.10.6`).
    ///
    /// # Errors
    /// [`Error::InvalidStride`](oxshmem_base::Error::InvalidStride) if a stride is 0, or elements
    /// have no bytes; [`Error::StrideOutOfRange`](oxshmem_base::Error::StrideOutOfRange) if a slice
    /// is too short; [`Error::Overlap`](oxshmem_base::Error::Overlap) if an element of one shares
    /// bytes with one of the other: they may lie between each other; otherwise those of
    /// [`sum_reduce`](Self::sum_reduce).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let (to, from) = (world.alloc::<u32>(8).await?, world.alloc_zeroed::<u32>(4).await?);
    /// to.view().write(&[1, 0, 2, 0, 3, 0, 4, 0]); // for PE 0: 1 and 2, for PE 1: 3 and 4
    /// world.team().alltoalls(&from, &to, 1, 2, 2).await?;
    /// assert_eq!(from.view().to_vec(), [[1, 2, 1, 2], [3, 4, 3, 4]][world.my_pe()]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn alltoalls<'a, T: Element>(
        &'a self,
        dest: impl Symmetric<'a, Element = T>,
        source: impl Symmetric<'a, Element = T>,
        dst: usize,
        sst: usize,
        nelems: usize,
    ) -> Collective<'a> {
        self.operands("alltoalls", dest, source).begin_alltoalls([dst, sst], nelems)
    }

    #[inline(always)]
    fn operands<'a, T: Element>(
        &'a self,
        call: &'static str,
        dest: impl Symmetric<'a, Element = T>,
        source: impl Symmetric<'a, Element = T>,
    ) -> Operands<'a> {
        Operands::new(self.core(), call, dest.view(), source.view())
    }
}
