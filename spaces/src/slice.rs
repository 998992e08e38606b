//! Typed symmetric memory: [`SymSlice`] owns, [`SymView`] and [`SymRef`] borrow.
//!
//! A symmetric slice stands for one array on every PE. Operations name the PE they mean; the accessors here
//! touch this PE's own instance. Other PEs may write it at any moment, so accessors copy, and never lend
//! a reference: a racing read gets an old, a new or a torn value, but nothing worse. In device memory they wait for the
//! device, which takes them some microseconds, and see what was completed before.

use std::{
    fmt,
    marker::PhantomData,
    ops::{Bound, RangeBounds},
    sync::Arc,
};

use oxshmem_base::{Error, Result, settings::SpaceKind};
use oxshmem_runtime::{
    Pe,
    device::{AnyDevice, DevicePlace, End},
    memory::{Extent, copy, word::Place},
};

use crate::{Element, allocation::Allocation};

/// A symmetric array of `T`: one instance on every PE, of the same length (`OpenSHMEM 1.6 §3`, §9.3).
///
/// Clones are handles to the same memory. It is given back when all handles on all PEs are dropped, by
/// the next collective allocation; dropping itself never communicates and never waits. See the book's
/// chapter on memory safety.
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

/// A borrowed part of a [`SymSlice`]: what operations take. Free to copy.
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
    allocation: &'a Arc<Allocation>,
    offset: usize,
    len: usize,
    elements: PhantomData<fn(T) -> T>,
}

/// One element of a [`SymSlice`]: what atomics, signals and waits take. Free to copy.
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
pub struct SymRef<'a, T>(SymView<'a, T>);

/// Whatever names symmetric memory: `&SymSlice<T>`, [`SymView<T>`](SymView) and [`SymRef<T>`](SymRef).
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

impl<'a, T: Element> SymView<'a, T> {
    /// `len` elements of `allocation`, from `offset` bytes behind the beginning of its segment, if they are inside and
    /// aligned.
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

    /// The same without a check.
    ///
    /// # Safety
    /// The elements must be inside of `allocation`, and `offset` a multiple of their alignment.
    #[doc(hidden)]
    #[inline(always)]
    pub unsafe fn inside_unchecked(allocation: &'a Arc<Allocation>, offset: usize, len: usize) -> Self {
        Self { allocation, offset, len, elements: PhantomData }
    }
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
        self.allocation.space()
    }

    /// The number of the partition of the symmetric heap that it is in: 1 unless it was allocated in another, and 0 in
    /// device memory.
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

impl<'a, T: Element> SymView<'a, T> {
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

    /// The same bytes as elements of another type.
    ///
    /// # Errors
    /// [`Error::Misaligned`] if the bytes do not divide into such elements, or are not aligned to them.
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

    /// Copies this PE's instance to a vector.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// let words = world.alloc::<u64>(3).await?;
    /// words.view().fill(6);
    /// assert_eq!(words.view().to_vec(), vec![6; 3]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn to_vec(self) -> Vec<T> {
        let mut elements = vec![T::zeroed(); self.len];
        self.read(&mut elements);
        elements
    }

    /// Copies this PE's instance to `to`.
    ///
    /// # Panics
    /// If the lengths differ.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// let words = world.alloc::<u64>(3).await?;
    /// words.view().fill(6);
    /// let mut two = [0; 2];
    /// words.slice(1..).read(&mut two);
    /// assert_eq!(two, [6, 6]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[track_caller]
    pub fn read(self, to: &mut [T]) {
        assert_eq!(self.len, to.len(), "a symmetric slice is read into a slice of its own length");
        if let Some((device, here)) = self.on_device() {
            // SAFETY: this PE's instance is in bounds and has `len` elements, as does `to`; any bytes are a `T`.
            return unsafe { device.copy_now(here, End::Host(to.as_mut_ptr().cast()), size_of_val(to)) };
        }
        // SAFETY: this PE's instance is mapped and has `len` elements, as does `to`; any bytes are a `T`.
        unsafe { copy::copy(to.as_mut_ptr().cast(), self.own(), size_of_val(to)) }
    }

    /// Copies `from` to this PE's instance, and wakes its waiters.
    ///
    /// # Panics
    /// If the lengths differ.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// let words = world.alloc::<u64>(3).await?;
    /// words.view().write(&[1, 2, 3]);
    /// assert_eq!(words.view().to_vec(), [1, 2, 3]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[track_caller]
    pub fn write(self, from: &[T]) {
        assert_eq!(self.len, from.len(), "a symmetric slice is written from a slice of its own length");
        if let Some((device, here)) = self.on_device() {
            let from = End::Host(from.as_ptr().cast_mut().cast());
            // SAFETY: as in `read`.
            return unsafe { device.copy_now(from, here, self.len * size_of::<T>()) };
        }
        // SAFETY: as in `read`.
        unsafe { copy::copy(self.own(), from.as_ptr().cast(), size_of_val(from)) };
        self.ring_own();
    }

    /// Sets every element of this PE's instance.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// let words = world.alloc::<f32>(3).await?;
    /// words.view().fill(0.5);
    /// assert_eq!(words.view().to_vec(), [0.5; 3]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn fill(self, value: T) {
        if self.is_on_device() {
            return self.write(&vec![value; self.len]);
        }
        for i in 0..self.len {
            // SAFETY: element `i` is in this PE's instance, and aligned.
            unsafe { copy::store(self.own().cast::<T>().add(i), value) };
        }
        self.ring_own();
    }

    /// This PE's instance as a slice.
    ///
    /// # Safety
    /// While the slice lives, nobody may write this PE's instance: no other PE and no other thread or task.
    /// A barrier before and after is the usual way to see to that.
    ///
    /// # Panics
    /// If it is device memory, which nothing can be borrowed from.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let words = world.alloc::<u64>(3).await?;
    /// words.view().write(&[1, 2, 3]);
    /// world.barrier_all().await?;
    /// // SAFETY: no PE writes before the next barrier.
    /// let sum: u64 = unsafe { words.view().as_slice() }.iter().sum();
    /// world.barrier_all().await?;
    /// assert_eq!(sum, 6);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub unsafe fn as_slice(self) -> &'a [T] {
        self.assert_on_host();
        // SAFETY: mapped and aligned for as long as the allocation, which 'a borrows; the caller keeps writers away.
        unsafe { std::slice::from_raw_parts(self.own().cast(), self.len) }
    }

    /// This PE's instance as a mutable slice. Stores through it ring no doorbell.
    ///
    /// # Safety
    /// While the slice lives, nobody else may read or write this PE's instance.
    ///
    /// # Panics
    /// As for [`as_slice`](Self::as_slice).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let words = world.alloc::<u64>(3).await?;
    /// words.view().write(&[3, 1, 2]);
    /// world.barrier_all().await?;
    /// // SAFETY: no other PE reads or writes before the next barrier.
    /// unsafe { words.view().as_mut_slice() }.sort();
    /// world.barrier_all().await?;
    /// assert_eq!(words.view().to_vec(), [1, 2, 3]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn as_mut_slice(self) -> &'a mut [T] {
        self.assert_on_host();
        // SAFETY: as in `as_slice`; the caller keeps everybody else away.
        unsafe { std::slice::from_raw_parts_mut(self.own().cast(), self.len) }
    }

    /// The address of `pe`'s instance in this process, if it can be loaded and stored directly: what
    /// `shmem_ptr` returns (`OpenSHMEM 1.6 §9.1.9`).
    ///
    /// Accesses through it are unsynchronised. Stores ring no doorbell, so from the first call on the PEs of
    /// this job look by themselves while they sleep, every millisecond at first and then more rarely, which costs waiting PEs some CPU time.
    /// Of device memory there is none. Where PEs are processes, an alignment beyond 2 MiB holds at their own addresses alone.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let word = world.alloc_zeroed::<u64>(1).await?;
    /// if let Some(there) = word.view().ptr(1 - world.my_pe()) {
    ///     // SAFETY: an element on the other PE, which does not access it before the barrier.
    ///     unsafe { there.write(5) };
    /// }
    /// world.barrier_all().await?;
    /// assert_eq!(word.at(0).load(), 5);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn ptr(self, pe: usize) -> Option<*mut T> {
        if self.is_on_device() {
            return None;
        }
        let bytes = self.len * size_of::<T>();
        let block = self.allocation.pe().near_block(pe)?;
        let address = self.allocation.segment().address(block, self.offset, bytes)?;
        self.allocation.pe().expect_silent_stores();
        Some(address.cast())
    }

    /// Where it is on `pe`. The caller checks `pe`.
    #[doc(hidden)]
    #[inline(always)]
    pub fn place(&self, block: usize) -> Place<'a> {
        Place { segment: self.allocation.segment(), block, offset: self.offset }
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
        self.allocation.space()
    }

    /// The address by which kernels of this PE's device reach this PE's instance. None in host memory, and on the emulated
    /// device, which has no kernels.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// assert_eq!(world.alloc::<f32>(8).await?.view().device_address(), None); // it is host memory
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn device_address(self) -> Option<u64> {
        match self.on_device()? {
            (device, End::Device(place)) => device.address(place),
            (_, End::Host(_)) => None,
        }
    }

    /// Whether it is in device memory.
    #[doc(hidden)]
    #[inline(always)]
    pub fn is_on_device(&self) -> bool {
        self.allocation.is_on_device()
    }

    /// This PE's instance in device memory, and the device, if it is there.
    #[doc(hidden)]
    #[inline(always)]
    pub fn on_device(&self) -> Option<(&'a AnyDevice, End)> {
        if self.is_on_device() { self.its_device() } else { None }
    }

    #[cold]
    fn its_device(&self) -> Option<(&'a AnyDevice, End)> {
        let pe = self.allocation.pe();
        // SAFETY: a view is in bounds, and the device is that of the PE whose handle it is.
        let here = End::Device(unsafe { DevicePlace::new(pe.block(), self.offset) });
        pe.device().map(|device| (device, here))
    }

    /// Where `user`'s device has it on the PE that is number `block` of this host. None if it is in host memory, or if it is not
    /// `user`'s handle. The caller checks that there is such a PE, and that it has a device.
    #[doc(hidden)]
    pub fn device_place(&self, user: &Pe, block: usize) -> Option<DevicePlace> {
        let there = self.is_on_device() && self.allocation.is_of(user);
        // SAFETY: a view is in bounds on every PE that has a device; what `user` uses is the device of its own job.
        there.then(|| unsafe { DevicePlace::new(block, self.offset) })
    }

    fn assert_on_host(&self) {
        assert!(
            !self.is_on_device(),
            "device memory cannot be borrowed; copy it with `read`, `write` or a context"
        );
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
        self.allocation.segment().address_unchecked(self.allocation.pe().block(), self.offset)
    }

    /// Wakes this PE's waiters after a store to its own instance.
    #[doc(hidden)]
    #[inline(always)]
    pub fn ring_own(&self) {
        let pe = self.allocation.pe();
        pe.shm().ring(self.place(pe.block()), self.len * size_of::<T>());
    }
}

impl<'a, T: Element> SymRef<'a, T> {
    /// What it consists of: it takes two registers, where the element itself would be in memory.
    #[doc(hidden)]
    #[inline(always)]
    pub fn parts(self) -> (&'a Arc<Allocation>, usize) {
        (self.0.allocation, self.0.offset)
    }

    /// The element with these parts.
    ///
    /// # Safety
    /// They must be the [`parts`](Self::parts) of one of this type.
    #[doc(hidden)]
    #[inline(always)]
    pub unsafe fn from_parts((allocation, offset): (&'a Arc<Allocation>, usize)) -> Self {
        // SAFETY: they were checked when the first was made.
        Self(unsafe { SymView::inside_unchecked(allocation, offset, 1) })
    }

    /// This PE's value.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// let word = world.alloc_zeroed::<u64>(1).await?;
    /// world.context().p(word.at(0), 3, 0).await?;
    /// assert_eq!(word.at(0).load(), 3);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    pub fn load(self) -> T {
        if self.0.is_on_device() {
            return self.load_from_device();
        }
        // SAFETY: this PE's instance is mapped and aligned, and any bytes are a `T`.
        unsafe { copy::load(self.0.own().cast()) }
    }

    /// Sets this PE's value, and wakes its waiters.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// let flag = world.alloc_zeroed::<u64>(1).await?;
    /// let twin = flag.clone();
    /// let waiter = tokio::spawn(async move { twin.at(0).wait_until(Cmp::Ne, 0).await });
    /// flag.at(0).store(7);
    /// assert_eq!(waiter.await.unwrap()?, 7);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    pub fn store(self, value: T) {
        if self.0.is_on_device() {
            return self.0.write(&[value]);
        }
        // SAFETY: as in `load`.
        unsafe { copy::store(self.0.own().cast(), value) };
        self.0.ring_own();
    }

    #[cold]
    #[inline(never)]
    fn load_from_device(self) -> T {
        let mut value = [T::zeroed()];
        self.0.read(&mut value);
        value[0]
    }

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

impl<T> fmt::Debug for SymSlice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe::<T>(f, "SymSlice", self.offset, self.len)
    }
}

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

fn describe<T>(f: &mut fmt::Formatter<'_>, what: &str, offset: usize, len: usize) -> fmt::Result {
    write!(f, "{what}<{}>[{len}] at offset {offset:#x}", std::any::type_name::<T>())
}

#[cold]
#[inline(never)]
#[track_caller]
fn out_of_range(start: usize, end: usize, len: usize) -> ! {
    panic!("elements {start}..{end} are out of range for a symmetric slice of {len} elements")
}
