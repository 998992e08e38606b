//! The calls that allocate, of whatever has symmetric memory: the world, a space, a partition.

/// Defines them, in an `impl` that has `alloc_with`: of what the example's `$of` is, and of the
/// PEs and the memory that `$place` says.
macro_rules! allocating {
    ($of:literal, $place:literal) => {
        #[doc = concat!("Allocates `len` elements", $place, ". Their values are unspecified.")]
        ///
        /// Collective: every one of these PEs calls it with the same arguments, and may use all
        /// PEs' instances when its future is ready (`OpenSHMEM 1.6 §9.3.1`). An array without
        /// elements involves no other PE.
        ///
        /// # Errors
        /// [`Error::HeapExhausted`](crate::Error::HeapExhausted) on every PE alike;
        /// [`Error::CollectiveMismatch`](crate::Error::CollectiveMismatch) if PEs call it with
        /// different arguments, unless `SHMEM_CHECK_ALLOC` says otherwise;
        /// [`Error::PeLost`](crate::Error::PeLost), [`Error::GlobalExit`](crate::Error::GlobalExit)
        /// and [`Error::Finalized`](crate::Error::Finalized).
        ///
        /// ```
        /// # use oxshmem::prelude::*;
        /// # LocalCluster::run(2, |world| async move {
        #[doc = concat!("let grid = ", $of, ".alloc::<f64>(100).await?;")]
        /// grid.view().fill(1.5); // this PE's
        /// world.barrier_all().await?;
        /// world.context().p(grid.at(0), 2.5, 1 - world.my_pe()).await?; // the other's
        /// world.barrier_all().await?;
        /// assert_eq!(grid.slice(..2).to_vec(), [2.5, 1.5]);
        /// # world.finalize().await
        /// # })?;
        /// # Ok::<(), oxshmem::Error>(())
        /// ```
        pub fn alloc<T: Element>(
            &self,
            len: usize,
        ) -> impl Future<Output = Result<SymSlice<T>>> + Send + use<T> {
            self.alloc_with("alloc", len, align_of::<T>(), Hints::NONE, false)
        }

        /// [`alloc`](Self::alloc), with every byte 0 on every PE (`OpenSHMEM 1.6 §9.3.6`).
        ///
        /// # Errors
        /// The errors of [`alloc`](Self::alloc).
        ///
        /// ```
        /// # use oxshmem::prelude::*;
        /// # LocalCluster::run(2, |world| async move {
        #[doc = concat!("let counters = ", $of, ".alloc_zeroed::<u32>(8).await?;")]
        /// assert_eq!(counters.view().to_vec(), [0; 8]);
        /// # world.finalize().await
        /// # })?;
        /// # Ok::<(), oxshmem::Error>(())
        /// ```
        pub fn alloc_zeroed<T: Element>(
            &self,
            len: usize,
        ) -> impl Future<Output = Result<SymSlice<T>>> + Send + use<T> {
            self.alloc_with("alloc_zeroed", len, align_of::<T>(), Hints::NONE, true)
        }

        /// [`alloc`](Self::alloc), aligned to `align` bytes: a power of two of at most 1 GiB
        /// (`OpenSHMEM 1.6 §9.3.4`).
        ///
        /// # Errors
        /// The errors of [`alloc`](Self::alloc), and
        /// [`Error::InvalidAlignment`](crate::Error::InvalidAlignment).
        ///
        /// ```
        /// # use oxshmem::prelude::*;
        /// # LocalCluster::run(1, |world| async move {
        #[doc = concat!("let page = ", $of, ".alloc_aligned::<u8>(100, 4096).await?;")]
        /// let address = page.view().ptr(0).map(|ptr| ptr.addr());
        /// assert_eq!(address.map(|address| address % 4096), Some(0));
        /// # world.finalize().await
        /// # })?;
        /// # Ok::<(), oxshmem::Error>(())
        /// ```
        pub fn alloc_aligned<T: Element>(
            &self,
            len: usize,
            align: usize,
        ) -> impl Future<Output = Result<SymSlice<T>>> + Send + use<T> {
            self.alloc_with("alloc_aligned", len, align, Hints::NONE, false)
        }

        /// [`alloc`](Self::alloc), with hints of what it is for (`OpenSHMEM 1.6 §9.3.5`).
        ///
        /// # Errors
        /// The errors of [`alloc`](Self::alloc).
        ///
        /// ```
        /// # use oxshmem::prelude::*;
        /// # LocalCluster::run(2, |world| async move {
        /// let hints = Hints::ATOMICS_REMOTE | Hints::SIGNAL_REMOTE;
        #[doc = concat!("let flag = ", $of, ".alloc_with_hints::<u64>(1, hints).await?;")]
        /// assert_eq!(flag.len(), 1);
        /// # world.finalize().await
        /// # })?;
        /// # Ok::<(), oxshmem::Error>(())
        /// ```
        pub fn alloc_with_hints<T: Element>(
            &self,
            len: usize,
            hints: Hints,
        ) -> impl Future<Output = Result<SymSlice<T>>> + Send + use<T> {
            self.alloc_with("alloc_with_hints", len, align_of::<T>(), hints, false)
        }
    };
}
pub(crate) use allocating;
