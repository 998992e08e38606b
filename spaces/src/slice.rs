//! Owned symmetric memory: [`SymSlice`], and [`Symmetric`] for whatever names symmetric memory.
//!
//! A symmetric slice stands for one array on every PE. Operations name the PE they mean; accessors
//! of a view touch this PE's own instance.

use std::{fmt, marker::PhantomData, ops::RangeBounds, sync::Arc};

use oxshmem_base::settings::SpaceKind;

use crate::{
    Element,
    allocation::Allocation,
    view::{SymRef, SymView, describe},
};

/// A symmetric array of `T`: one instance on every PE, of the same length (`OpenSHMEM 1.6 §3`,
/// §9.3).
///
/// Clones are handles to the same memory. It is given back when all handles on all PEs are dropped,
/// by the next collective allocation; dropping itself never communicates and never waits. See the
/// book's chapter on memory safety.
///
/// ```
/// # use oxshmem::prelude::*;
/// # LocalCluster::run(2, |world| async move {
/// let words = world.alloc::<u64>(8).await?;
/// words.view().fill(world.my_pe() as u64); // this PE's instance
/// world.barrier_all().await?;
/// let others = world.context().get(&words, 1 - world.my_pe()).await?;
/// assert_eq!(others, [1 - world.my_pe() as u64; 8]);
/// # world.barrier_all().await?;
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
pub struct SymSlice<T> {
    allocation: Arc<Allocation>,
    /// Bytes from the start of the segment.
    offset: usize,
    len: usize,
    elements: PhantomData<fn(T) -> T>,
}

/// Whatever names symmetric memory: `&SymSlice<T>`, [`SymView<T>`](SymView) and
/// [`SymRef<T>`](SymRef).
///
/// ```
/// use oxshmem::Symmetric;
///
/// fn elements<'a>(memory: impl Symmetric<'a>) -> usize {
///     memory.view().len()
/// }
///
/// # oxshmem::LocalCluster::run(1, |world| async move {
/// let words = world.alloc::<u64>(8).await?;
/// assert_eq!((elements(&words), elements(words.slice(1..3)), elements(words.at(0))), (8, 2, 1));
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
pub trait Symmetric<'a>: sealed::Sealed {
    /// What the memory holds.
    type Element: Element;

    /// The memory.
    fn view(self) -> SymView<'a, Self::Element>;
}

impl<T: Element> SymSlice<T> {
    /// All of `allocation` as elements, as many as fit.
    #[doc(hidden)]
    pub fn new(allocation: Arc<Allocation>, len: usize) -> Self {
        let offset = allocation.offset();
        assert!(offset.is_multiple_of(align_of::<T>()));
        assert!(len.checked_mul(size_of::<T>()).is_some_and(|bytes| bytes <= allocation.len()));
        Self { allocation, offset, len, elements: PhantomData }
    }

    /// How many elements each PE has.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// assert_eq!(world.alloc::<u64>(8).await?.len(), 8); // on each PE
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// assert!(world.alloc::<u64>(0).await?.is_empty());
    /// assert!(!world.alloc::<u64>(1).await?.is_empty());
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All of it, borrowed.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// let words = world.alloc::<u64>(2).await?;
    /// words.view().write(&[3, 4]);
    /// assert_eq!(words.view().to_vec(), [3, 4]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    pub fn view(&self) -> SymView<'_, T> {
        SymView { allocation: &self.allocation, offset: self.offset, len: self.len, elements: PhantomData }
    }

    /// A part of it, borrowed.
    ///
    /// # Panics
    /// If the range is not inside, as slices do.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// let words = world.alloc_zeroed::<u64>(8).await?;
    /// words.slice(6..).fill(1);
    /// assert_eq!(words.slice(5..=7).to_vec(), [0, 1, 1]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> SymView<'_, T> {
        self.view().slice(range)
    }

    /// One element.
    ///
    /// # Panics
    /// If `index` is not below the length.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// let words = world.alloc::<u64>(8).await?;
    /// words.at(3).store(9);
    /// assert_eq!(words.at(3).load(), 9);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn at(&self, index: usize) -> SymRef<'_, T> {
        self.view().at(index)
    }

    /// The space that it is in: [`SpaceKind::Cpu`] or [`SpaceKind::Gpu`].
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// assert_eq!(world.alloc::<u64>(8).await?.space(), SpaceKind::Cpu);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn space(&self) -> SpaceKind {
        self.view().space()
    }

    /// The number of the partition of the symmetric heap that it is in: 1 unless it was allocated
    /// in another, and 0 in device memory.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// assert_eq!(world.alloc::<u64>(8).await?.partition(), 1);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn partition(&self) -> usize {
        self.allocation.heap().map_or(1, |heap| heap.id())
    }

    /// The allocation behind it.
    #[doc(hidden)]
    pub fn allocation(&self) -> &Arc<Allocation> {
        &self.allocation
    }

    /// The allocation behind it, which the caller now answers for.
    #[doc(hidden)]
    pub fn into_allocation(self) -> Arc<Allocation> {
        self.allocation
    }

    /// Whether this is the whole of its allocation, from its first byte.
    #[doc(hidden)]
    pub fn is_whole(&self) -> bool {
        self.offset == self.allocation.offset() && self.len * size_of::<T>() <= self.allocation.len()
    }
}

impl<T: Element> SymView<'_, T> {
    /// An owned handle to the same memory.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// let words = world.alloc_zeroed::<u64>(8).await?;
    /// let tail = words.slice(6..).to_owned();
    /// drop(words); // `tail` keeps the memory
    /// assert_eq!(tail.view().to_vec(), [0, 0]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn to_owned(self) -> SymSlice<T> {
        SymSlice {
            allocation: Arc::clone(self.allocation),
            offset: self.offset,
            len: self.len,
            elements: PhantomData,
        }
    }
}

mod sealed {
    pub trait Sealed {}
}

impl<T> sealed::Sealed for &SymSlice<T> {}
impl<T> sealed::Sealed for SymView<'_, T> {}
impl<T> sealed::Sealed for SymRef<'_, T> {}

impl<'a, T: Element> Symmetric<'a> for &'a SymSlice<T> {
    type Element = T;

    #[inline(always)]
    fn view(self) -> SymView<'a, T> {
        SymSlice::view(self)
    }
}

impl<'a, T: Element> Symmetric<'a> for SymView<'a, T> {
    type Element = T;

    #[inline(always)]
    fn view(self) -> SymView<'a, T> {
        self
    }
}

impl<'a, T: Element> Symmetric<'a> for SymRef<'a, T> {
    type Element = T;

    #[inline(always)]
    fn view(self) -> SymView<'a, T> {
        self.0
    }
}

impl<T> Clone for SymSlice<T> {
    fn clone(&self) -> Self {
        Self { allocation: Arc::clone(&self.allocation), elements: PhantomData, ..*self }
    }
}

impl<T> fmt::Debug for SymSlice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe::<T>(f, "SymSlice", self.offset, self.len)
    }
}
