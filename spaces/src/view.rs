//! Borrowed symmetric memory: [`SymView`], a part of a symmetric array, and [`SymRef`], one element
//! of it.
//!
//! This module says what a view names: which elements, in which allocation, at which place on each
//! PE. [`instance`](crate::instance) reads and writes the instance of this PE.

use std::{
    fmt,
    marker::PhantomData,
    ops::{Bound, RangeBounds},
    sync::Arc,
};

use oxshmem_base::{Error, Result, settings::SpaceKind};
use oxshmem_memory::{Extent, word::Place};
use oxshmem_progress::executor::Reader;

use crate::{
    Element, Pe,
    allocation::Allocation,
    device::{AnyDevice, DevicePlace},
    domain::Domain,
};

/// A borrowed part of a [`SymSlice`](crate::SymSlice): what operations take. Free to copy.
///
/// ```
/// # use oxshmem::prelude::*;
/// # LocalCluster::run(1, |world| async move {
/// let words = world.alloc::<u64>(8).await?;
/// words.view().fill(0);
/// let middle = words.slice(2..4);
/// world.context().put(middle, [7, 8], 0).await?;
/// assert_eq!(words.slice(1..5).to_vec(), [0, 7, 8, 0]);
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
pub struct SymView<'a, T> {
    pub(crate) allocation: &'a Arc<Allocation>,
    /// Bytes from the start of the segment.
    pub(crate) offset: usize,
    pub(crate) len: usize,
    pub(crate) elements: PhantomData<fn(T) -> T>,
}

/// One element of a [`SymSlice`](crate::SymSlice): what atomics, signals and waits take. Free to
/// copy.
///
/// ```
/// # use oxshmem::prelude::*;
/// # LocalCluster::run(1, |world| async move {
/// let counter = world.alloc_zeroed::<u64>(1).await?;
/// let counter = counter.at(0);
/// assert_eq!(world.context().fetch_add(counter, 5, 0).await?, 0);
/// assert_eq!(counter.load(), 5);
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
pub struct SymRef<'a, T>(pub(crate) SymView<'a, T>);

impl<'a, T: Element> SymView<'a, T> {
    /// `len` elements of `allocation`, from `offset` bytes behind the beginning of its segment, if
    /// they are inside and aligned.
    #[doc(hidden)]
    #[inline(always)]
    pub fn inside(allocation: &'a Arc<Allocation>, offset: usize, len: usize) -> Option<Self> {
        let bytes = len.checked_mul(size_of::<T>())?;
        let start = offset.checked_sub(allocation.offset())?;
        let fits = start <= allocation.len() && bytes <= allocation.len() - start;
        let fits = fits && offset.is_multiple_of(align_of::<T>());
        // SAFETY: just checked.
        fits.then(|| unsafe { Self::inside_unchecked(allocation, offset, len) })
    }

    /// The view of `len` elements at `offset`, without a check.
    ///
    /// # Safety
    /// The elements must be inside of `allocation`, and `offset` a multiple of their alignment.
    #[doc(hidden)]
    #[inline(always)]
    pub unsafe fn inside_unchecked(allocation: &'a Arc<Allocation>, offset: usize, len: usize) -> Self {
        Self { allocation, offset, len, elements: PhantomData }
    }

    /// How many elements.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// let words = world.alloc::<u64>(8).await?;
    /// assert_eq!(words.slice(2..7).len(), 5);
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
    /// let words = world.alloc::<u64>(8).await?;
    /// assert!(words.slice(3..3).is_empty());
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A part of it.
    ///
    /// # Panics
    /// If the range is not inside, as slices do.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// let words = world.alloc::<u64>(4).await?;
    /// words.view().write(&[0, 10, 20, 30]);
    /// assert_eq!(words.slice(1..).slice(..2).to_vec(), [10, 20]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn slice(self, range: impl RangeBounds<usize>) -> SymView<'a, T> {
        let start = match range.start_bound() {
            Bound::Included(&start) => start,
            Bound::Excluded(&start) => start.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(&end) => end.saturating_add(1),
            Bound::Excluded(&end) => end,
            Bound::Unbounded => self.len,
        };
        if start > end || end > self.len {
            out_of_range(start, end, self.len);
        }
        SymView { offset: self.offset + start * size_of::<T>(), len: end - start, ..self }
    }

    /// One element.
    ///
    /// # Panics
    /// If `index` is not below the length.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// let words = world.alloc::<u64>(4).await?;
    /// words.view().write(&[0, 10, 20, 30]);
    /// assert_eq!(words.slice(2..).at(1).load(), 30);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn at(self, index: usize) -> SymRef<'a, T> {
        if index >= self.len {
            out_of_range(index, index + 1, self.len);
        }
        SymRef(SymView { offset: self.offset + index * size_of::<T>(), len: 1, ..self })
    }

    /// A view of these bytes as elements of another type.
    ///
    /// # Errors
    /// [`Error::Misaligned`] if the bytes do not divide into such elements, or are not aligned to
    /// them.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// let words = world.alloc::<u32>(2).await?;
    /// words.view().write(&[u32::from_ne_bytes([1, 2, 3, 4]), 0]);
    /// let bytes = words.view().cast::<u8>()?;
    /// assert_eq!(bytes.slice(..4).to_vec(), [1, 2, 3, 4]);
    /// assert!(bytes.slice(1..5).cast::<u32>().is_err()); // not aligned
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn cast<U: Element>(self) -> Result<SymView<'a, U>> {
        let bytes = self.len * size_of::<T>();
        let (size, align) = (size_of::<U>(), align_of::<U>());
        if size == 0 || !bytes.is_multiple_of(size) || !self.offset.is_multiple_of(align) {
            return Err(Error::Misaligned { call: "cast", offset: self.offset, bytes, size, align });
        }
        Ok(SymView {
            allocation: self.allocation,
            offset: self.offset,
            len: bytes / size,
            elements: PhantomData,
        })
    }

    /// Where it is on the local PE of number `local_pe`. The caller checks that there is one.
    #[doc(hidden)]
    #[inline(always)]
    pub fn place(&self, local_pe: usize) -> Place<'a> {
        Place { segment: self.allocation.segment(), local_pe, offset: self.offset }
    }

    /// The space that it is in: [`SpaceKind::Cpu`] or [`SpaceKind::Gpu`].
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// assert_eq!(world.alloc::<u64>(8).await?.slice(..2).space(), SpaceKind::Cpu);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn space(self) -> SpaceKind {
        self.domain().space()
    }

    /// What it is in.
    #[doc(hidden)]
    #[inline(always)]
    pub fn domain(&self) -> &'a Domain {
        self.allocation.domain()
    }

    /// The device and this PE's instance in its memory, if it is there.
    #[inline(always)]
    pub(crate) fn on_device(&self) -> Option<(&'a AnyDevice, DevicePlace)> {
        let Domain::Device(device) = self.domain() else { return None };
        // SAFETY: a view is in bounds, and the device is that of the PE whose handle it is.
        let here = unsafe { DevicePlace::new(self.pe().local_pe(), self.offset) };
        Some((device, here))
    }

    /// What reads this PE's instance, for those that wait for words of it.
    #[doc(hidden)]
    #[inline(always)]
    pub fn reader(&self) -> Reader {
        match self.domain() {
            Domain::Host => Reader::Processor(self.own()),
            Domain::Device(_) => Reader::Device(self.offset),
        }
    }

    /// Where `user`'s device has it on the local PE of number `local_pe`. None if it is in host
    /// memory, or if it is not `user`'s handle. The caller checks that there is such a PE, and that
    /// it has a device.
    #[doc(hidden)]
    pub fn device_place(&self, user: &Pe, local_pe: usize) -> Option<DevicePlace> {
        let there = self.domain().is_device() && self.allocation.is_of(user);
        // SAFETY: a view is in bounds on every PE that has a device; what `user` uses is the device
        // of its own job.
        there.then(|| unsafe { DevicePlace::new(local_pe, self.offset) })
    }

    /// Its bytes, on whichever PE.
    #[doc(hidden)]
    pub fn extent(&self) -> Extent {
        let segment = self.allocation.segment().id();
        Extent { segment, offset: self.offset, len: self.len * size_of::<T>() }
    }

    /// The PE that allocated it, in whose process and on whose behalf it is used.
    #[doc(hidden)]
    #[inline(always)]
    pub fn pe(&self) -> &'a Arc<Pe> {
        self.allocation.pe()
    }

    /// The allocation behind it.
    #[doc(hidden)]
    #[inline(always)]
    pub fn allocation(&self) -> &'a Arc<Allocation> {
        self.allocation
    }

    /// Address of this PE's instance.
    #[doc(hidden)]
    #[inline(always)]
    pub fn own(&self) -> *mut u8 {
        self.allocation.segment().address_unchecked(self.allocation.pe().local_pe(), self.offset)
    }
}

impl<'a, T: Element> SymRef<'a, T> {
    /// The element as a slice of one.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// let words = world.alloc_zeroed::<u64>(4).await?;
    /// assert_eq!(words.at(2).as_view().len(), 1);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    pub fn as_view(self) -> SymView<'a, T> {
        self.0
    }
}

impl<T> Clone for SymView<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for SymView<'_, T> {}

impl<T> Clone for SymRef<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for SymRef<'_, T> {}

impl<T> fmt::Debug for SymView<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe::<T>(f, "SymView", self.offset, self.len)
    }
}

impl<T> fmt::Debug for SymRef<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe::<T>(f, "SymRef", self.0.offset, 1)
    }
}

pub(crate) fn describe<T>(f: &mut fmt::Formatter<'_>, what: &str, offset: usize, len: usize) -> fmt::Result {
    write!(f, "{what}<{}>[{len}] at offset {offset:#x}", std::any::type_name::<T>())
}

#[cold]
#[inline(never)]
#[track_caller]
fn out_of_range(start: usize, end: usize, len: usize) -> ! {
    panic!("elements {start}..{end} are out of range for a symmetric slice of {len} elements")
}
