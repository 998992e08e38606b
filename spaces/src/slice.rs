//! Typed symmetric memory: [`SymSlice`] owns, [`SymView`] and [`SymRef`] borrow.
//!
//! A symmetric slice stands for one array on every PE. Operations name the PE they mean; the accessors here
//! touch this PE's own instance. Other PEs may write it at any moment, so accessors copy, and never lend
//! a reference: a racing read gets an old, a new or a torn value, but nothing worse.

use std::{
    fmt,
    marker::PhantomData,
    ops::{Bound, RangeBounds},
    sync::Arc,
};

use oxshmem_runtime::{
    Error, Pe, Result,
    memory::{Extent, copy},
    transport::Place,
};

use crate::{Element, allocation::Allocation};

/// A symmetric array of `T`: one instance on every PE, of the same length (`OpenSHMEM 1.6 §3`, §9.3).
///
/// Clones are handles to the same memory. It is given back when all handles on all PEs are dropped, by
/// the next collective allocation; dropping itself never communicates and never waits. See the book's
/// chapter on memory safety.
pub struct SymSlice<T> {
    allocation: Arc<Allocation>,
    /// Bytes from the start of the segment.
    offset: usize,
    len: usize,
    elements: PhantomData<fn(T) -> T>,
}

/// A borrowed part of a [`SymSlice`]: what operations take. Free to copy.
pub struct SymView<'a, T> {
    allocation: &'a Arc<Allocation>,
    offset: usize,
    len: usize,
    elements: PhantomData<fn(T) -> T>,
}

/// One element of a [`SymSlice`]: what atomics, signals and waits take. Free to copy.
pub struct SymRef<'a, T>(SymView<'a, T>);

/// Whatever names symmetric memory: `&SymSlice<T>`, [`SymView<T>`](SymView) and [`SymRef<T>`](SymRef).
pub trait Symmetric<'a> {
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
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All of it, borrowed.
    #[inline(always)]
    pub fn view(&self) -> SymView<'_, T> {
        SymView { allocation: &self.allocation, offset: self.offset, len: self.len, elements: PhantomData }
    }

    /// A part of it, borrowed.
    ///
    /// # Panics
    /// If the range is not inside, as slices do.
    #[inline(always)]
    #[track_caller]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> SymView<'_, T> {
        self.view().slice(range)
    }

    /// One element.
    ///
    /// # Panics
    /// If `index` is not below the length.
    #[inline(always)]
    #[track_caller]
    pub fn at(&self, index: usize) -> SymRef<'_, T> {
        self.view().at(index)
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
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A part of it.
    ///
    /// # Panics
    /// If the range is not inside, as slices do.
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
    #[inline(always)]
    #[track_caller]
    pub fn at(self, index: usize) -> SymRef<'a, T> {
        if index >= self.len {
            out_of_range(index, index + 1, self.len);
        }
        SymRef(SymView { offset: self.offset + index * size_of::<T>(), len: 1, ..self })
    }

    /// An owned handle to the same memory.
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
    pub fn to_vec(self) -> Vec<T> {
        let mut elements = vec![T::zeroed(); self.len];
        self.read(&mut elements);
        elements
    }

    /// Copies this PE's instance to `to`.
    ///
    /// # Panics
    /// If the lengths differ.
    #[track_caller]
    pub fn read(self, to: &mut [T]) {
        assert_eq!(self.len, to.len(), "a symmetric slice is read into a slice of its own length");
        // SAFETY: this PE's instance is mapped and has `len` elements, as does `to`; any bytes are a `T`.
        unsafe { copy::copy(to.as_mut_ptr().cast(), self.own(), size_of_val(to)) }
    }

    /// Copies `from` to this PE's instance, and wakes its waiters.
    ///
    /// # Panics
    /// If the lengths differ.
    #[track_caller]
    pub fn write(self, from: &[T]) {
        assert_eq!(self.len, from.len(), "a symmetric slice is written from a slice of its own length");
        // SAFETY: as in `read`.
        unsafe { copy::copy(self.own(), from.as_ptr().cast(), size_of_val(from)) };
        self.ring_own();
    }

    /// Sets every element of this PE's instance.
    pub fn fill(self, value: T) {
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
    pub unsafe fn as_slice(self) -> &'a [T] {
        // SAFETY: mapped and aligned for as long as the allocation, which 'a borrows; the caller keeps writers away.
        unsafe { std::slice::from_raw_parts(self.own().cast(), self.len) }
    }

    /// This PE's instance as a mutable slice. Stores through it ring no doorbell.
    ///
    /// # Safety
    /// While the slice lives, nobody else may read or write this PE's instance.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn as_mut_slice(self) -> &'a mut [T] {
        // SAFETY: as in `as_slice`; the caller keeps everybody else away.
        unsafe { std::slice::from_raw_parts_mut(self.own().cast(), self.len) }
    }

    /// The address of `pe`'s instance in this process, if it can be loaded and stored directly: what
    /// `shmem_ptr` returns (`OpenSHMEM 1.6 §9.1.9`).
    ///
    /// Accesses through it are unsynchronised. Stores ring no doorbell, so from the first call on the PEs of
    /// this job sleep for a millisecond at most, which costs waiting PEs some CPU time.
    pub fn ptr(self, pe: usize) -> Option<*mut T> {
        let bytes = self.len * size_of::<T>();
        let address = self.allocation.segment().address(pe, self.offset, bytes)?;
        self.allocation.pe().expect_silent_stores();
        Some(address.cast())
    }

    /// Where it is on `pe`. The caller checks `pe`.
    #[doc(hidden)]
    #[inline(always)]
    pub fn place(&self, pe: usize) -> Place<'a> {
        Place { segment: self.allocation.segment(), pe, offset: self.offset }
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
        self.allocation.segment().address_unchecked(self.allocation.pe().me(), self.offset)
    }

    /// Wakes this PE's waiters after a store to its own instance.
    #[doc(hidden)]
    #[inline(always)]
    pub fn ring_own(&self) {
        let pe = self.allocation.pe();
        pe.shm().ring(self.place(pe.me()), self.len * size_of::<T>());
    }
}

impl<'a, T: Element> SymRef<'a, T> {
    /// This PE's value.
    #[inline(always)]
    pub fn load(self) -> T {
        // SAFETY: this PE's instance is mapped and aligned, and any bytes are a `T`.
        unsafe { copy::load(self.0.own().cast()) }
    }

    /// Sets this PE's value, and wakes its waiters.
    #[inline(always)]
    pub fn store(self, value: T) {
        // SAFETY: as in `load`.
        unsafe { copy::store(self.0.own().cast(), value) };
        self.0.ring_own();
    }

    /// The element as a slice of one.
    #[inline(always)]
    pub fn as_view(self) -> SymView<'a, T> {
        self.0
    }
}

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
