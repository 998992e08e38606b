//! What operations copy from and to: owned buffers that come back, values, borrowed slices and symmetric memory.
//!
//! A buffer that the operation may still need after the call has returned must not move or go away. Owned
//! heap buffers do not move when their owner does, so the operation takes the owner and gives it back. A
//! borrowed slice, an array and a value have been copied before the call returns.

use std::sync::Arc;

use oxshmem_base::Error;
use oxshmem_spaces::{Element, SymSlice, SymView};

use crate::operation::Rejected;

/// Something to copy elements from.
///
/// # Safety
/// An operation has the source from the call that it is passed to until the source is given back or dropped. As long as
/// the operation has it:
///
/// - [`len`](Self::len) and [`as_ptr`](Self::as_ptr) return the same each time: the operation checks them once, and copies
///   later, maybe on another thread;
/// - the `len` elements at `as_ptr` are readable, and nobody else writes to them unless they are symmetric memory. They may
///   move when `self` moves, unless it is [`STABLE`](Self::STABLE), which only a `'static` type may be.
///
/// [`SCALAR`](Self::SCALAR) may only be true where `len` is 1. [`symmetric`](Self::symmetric) returns the view of these `len`
/// elements if they are symmetric memory, and none otherwise.
///
/// ```
/// # use oxshmem::prelude::*;
/// # LocalCluster::run(1, |world| async move {
/// let data = world.alloc_zeroed::<u32>(2).await?;
/// let ctx = world.context();
/// ctx.put(data.at(0), 7, 0).await?; // a value
/// ctx.put(&data, [1, 2], 0).await?; // an array
/// ctx.put(&data, [3, 4, 5][..2].as_ref(), 0).await?; // a slice
/// let vec: Vec<u32> = ctx.put(&data, vec![5, 6], 0).await?; // a vector, which comes back
/// assert_eq!(data.view().to_vec(), vec);
/// ctx.put(data.slice(..1), data.slice(1..), 0).await?; // symmetric memory of this PE
/// assert_eq!(data.view().to_vec(), [6, 6]);
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
pub unsafe trait Source<T: Element>: Send + Sized {
    /// Whether the elements stay where they are when `self` moves, so that a copy may outlast the call.
    const STABLE: bool;

    /// Whether it is one value, which is stored in one piece where its size allows.
    const SCALAR: bool = false;

    /// Why an operation failed: with the source, if the caller has given it away.
    type Failure: Into<Error> + AsRef<Error> + Send;

    /// What the operation's future is ready with: the source, if the caller has given it away.
    type Back: Send;

    /// Gives the source back.
    #[doc(hidden)]
    fn back(self) -> Self::Back;

    /// Gives the source back with `error`.
    #[doc(hidden)]
    fn reject(self, error: Error) -> Self::Failure;

    /// The same for one that was given back already.
    #[doc(hidden)]
    fn reject_back(back: Self::Back, error: Error) -> Self::Failure;

    /// The first element.
    fn as_ptr(&self) -> *const T;

    /// How many elements.
    fn len(&self) -> usize;

    /// The symmetric memory that it is, if it is: which an operation checks, and goes by instead of an address where that is in
    /// device memory.
    #[doc(hidden)]
    #[inline(always)]
    fn symmetric(&self) -> Option<SymView<'_, T>> {
        None
    }

    /// Whether there are no elements.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Something to copy elements to.
///
/// # Safety
/// An operation has the destination from the call that it is passed to until the destination is given back or dropped. As
/// long as the operation has it:
///
/// - [`len`](Self::len) and [`as_mut_ptr`](Self::as_mut_ptr) return the same each time: the operation checks them once, and
///   copies later, maybe on another thread;
/// - the `len` elements at `as_mut_ptr` are writable, and nobody else accesses them unless they are symmetric memory. They
///   may move when `self` moves, unless it is [`STABLE`](Self::STABLE), which only a `'static` type may be.
///
/// [`hold`](Self::hold) returns a `STABLE` destination of the same length. [`symmetric`](Self::symmetric) returns the view of
/// these `len` elements if they are symmetric memory, and none otherwise.
///
/// ```
/// # use oxshmem::prelude::*;
/// # LocalCluster::run(1, |world| async move {
/// let data = world.alloc_zeroed::<u32>(2).await?;
/// let copy = world.alloc_zeroed::<u32>(2).await?;
/// let ctx = world.context();
/// data.view().write(&[1, 2]);
/// assert_eq!(ctx.get_into([0; 2], &data, 0).await?, [1, 2]); // an array
/// assert_eq!(ctx.get_into(vec![0; 2], &data, 0).await?, [1, 2]); // a vector, which comes back
/// ctx.get_into(copy.view(), &data, 0).await?; // symmetric memory of this PE
/// assert_eq!(copy.view().to_vec(), [1, 2]);
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
pub unsafe trait Sink<T: Element>: Send + Sized {
    /// Whether the elements stay where they are when `self` moves, so that a copy may outlast the call.
    const STABLE: bool;

    /// Why an operation failed: with the destination, if the caller has given it away.
    type Failure: Into<Error> + AsRef<Error> + Send;

    /// What the operation's future is ready with: the destination, unless the caller has it still.
    type Back: Send;

    /// What an operation that outlasts its call keeps instead, STABLE.
    #[doc(hidden)]
    type Held: Sink<T, Back = Self::Back, Failure = Self::Failure>;

    /// Makes that.
    #[doc(hidden)]
    fn hold(self) -> Self::Held;

    /// Gives the destination back.
    #[doc(hidden)]
    fn back(self) -> Self::Back;

    /// Gives the destination back with `error`.
    #[doc(hidden)]
    fn reject(self, error: Error) -> Self::Failure;

    /// The first element.
    fn as_mut_ptr(&mut self) -> *mut T;

    /// How many elements.
    fn len(&self) -> usize;

    /// The elements have been written: whoever waits for them must see it.
    #[doc(hidden)]
    #[inline(always)]
    fn arrived(&self) {}

    /// The symmetric memory that it is, if it is: which an operation checks, and goes by instead of an address where that is in
    /// device memory.
    #[doc(hidden)]
    #[inline(always)]
    fn symmetric(&self) -> Option<SymView<'_, T>> {
        None
    }

    /// Whether there are no elements.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

// SAFETY: a value is one element at its own address.
unsafe impl<T: Element> Source<T> for T {
    const STABLE: bool = false;
    const SCALAR: bool = true;

    type Back = ();

    #[inline(always)]
    fn back(self) {}

    type Failure = Error;

    #[inline(always)]
    fn reject(self, error: Error) -> Error {
        error
    }

    fn reject_back((): (), error: Error) -> Self::Failure {
        error
    }

    #[inline(always)]
    fn as_ptr(&self) -> *const T {
        self
    }

    #[inline(always)]
    fn len(&self) -> usize {
        1
    }
}

// SAFETY: an array's elements are inside it.
unsafe impl<T: Element, const N: usize> Source<T> for [T; N] {
    const STABLE: bool = false;

    type Back = ();

    #[inline(always)]
    fn back(self) {}

    type Failure = Error;

    #[inline(always)]
    fn reject(self, error: Error) -> Error {
        error
    }

    fn reject_back((): (), error: Error) -> Self::Failure {
        error
    }

    #[inline(always)]
    fn as_ptr(&self) -> *const T {
        self.as_slice().as_ptr()
    }

    #[inline(always)]
    fn len(&self) -> usize {
        N
    }
}

// SAFETY: as for a value, and an array's elements are inside it.
unsafe impl<T: Element, const N: usize> Sink<T> for [T; N] {
    const STABLE: bool = false;

    type Held = HeldArray<T, N>;

    #[inline(always)]
    fn hold(self) -> HeldArray<T, N> {
        HeldArray(Box::new(self))
    }

    type Back = Self;

    #[inline(always)]
    fn back(self) -> Self {
        self
    }

    type Failure = Error;

    #[inline(always)]
    fn reject(self, error: Error) -> Error {
        error
    }

    #[inline(always)]
    fn as_mut_ptr(&mut self) -> *mut T {
        self.as_mut_slice().as_mut_ptr()
    }

    #[inline(always)]
    fn len(&self) -> usize {
        N
    }
}

// SAFETY: the borrow keeps the elements readable; not STABLE, since a forgotten future ends it early.
unsafe impl<T: Element> Source<T> for &[T] {
    const STABLE: bool = false;

    type Back = ();

    #[inline(always)]
    fn back(self) {}

    type Failure = Error;

    #[inline(always)]
    fn reject(self, error: Error) -> Error {
        error
    }

    fn reject_back((): (), error: Error) -> Self::Failure {
        error
    }

    #[inline(always)]
    fn as_ptr(&self) -> *const T {
        (**self).as_ptr()
    }

    #[inline(always)]
    fn len(&self) -> usize {
        (**self).len()
    }
}

macro_rules! owned {
    ($($name:ty),*) => {$(
        // SAFETY: the elements are on the heap, so they stay while their owner moves; it owns them alone.
        unsafe impl<T: Element> Source<T> for $name {
            const STABLE: bool = true;

            type Back = Self;

            #[inline(always)]
            fn back(self) -> Self {
                self
            }

            type Failure = Rejected<Self>;

            fn reject(self, error: Error) -> Rejected<Self> {
                Rejected { error, buffer: self }
            }

            fn reject_back(buffer: Self, error: Error) -> Self::Failure {
                Rejected { error, buffer }
            }

            #[inline(always)]
            fn as_ptr(&self) -> *const T {
                (**self).as_ptr()
            }

            #[inline(always)]
            fn len(&self) -> usize {
                (**self).len()
            }
        }

        // SAFETY: as above.
        unsafe impl<T: Element> Sink<T> for $name {
            const STABLE: bool = true;

            type Held = Self;

            #[inline(always)]
            fn hold(self) -> Self {
                self
            }

            type Back = Self;

            #[inline(always)]
            fn back(self) -> Self {
                self
            }

            type Failure = Rejected<Self>;

            fn reject(self, error: Error) -> Rejected<Self> {
                Rejected { error, buffer: self }
            }

            #[inline(always)]
            fn as_mut_ptr(&mut self) -> *mut T {
                (**self).as_mut_ptr()
            }

            #[inline(always)]
            fn len(&self) -> usize {
                (**self).len()
            }
        }
    )*};
}

owned!(Vec<T>, Box<[T]>);

// SAFETY: shared elements on the heap, which nobody can mutate while this reference exists.
unsafe impl<T: Element> Source<T> for Arc<[T]> {
    const STABLE: bool = true;

    type Back = Self;

    #[inline(always)]
    fn back(self) -> Self {
        self
    }

    type Failure = Rejected<Self>;

    fn reject(self, error: Error) -> Rejected<Self> {
        Rejected { error, buffer: self }
    }

    fn reject_back(buffer: Self, error: Error) -> Self::Failure {
        Rejected { error, buffer }
    }

    fn as_ptr(&self) -> *const T {
        (**self).as_ptr()
    }

    fn len(&self) -> usize {
        (**self).len()
    }
}

// SAFETY: this PE's instance, which stays mapped while the handle exists. It is only read by copies that
// tolerate races with other PEs.
unsafe impl<T: Element> Source<T> for SymSlice<T> {
    const STABLE: bool = true;

    type Back = Self;

    #[inline(always)]
    fn back(self) -> Self {
        self
    }

    type Failure = Rejected<Self>;

    fn reject(self, error: Error) -> Rejected<Self> {
        Rejected { error, buffer: self }
    }

    fn reject_back(buffer: Self, error: Error) -> Self::Failure {
        Rejected { error, buffer }
    }

    fn as_ptr(&self) -> *const T {
        self.view().own().cast_const().cast()
    }

    #[inline(always)]
    fn symmetric(&self) -> Option<SymView<'_, T>> {
        Some(self.view())
    }

    fn len(&self) -> usize {
        SymSlice::len(self)
    }
}

// SAFETY: as above, for copies that write.
unsafe impl<T: Element> Sink<T> for SymSlice<T> {
    const STABLE: bool = true;

    type Held = Self;

    #[inline(always)]
    fn hold(self) -> Self {
        self
    }

    type Back = Self;

    #[inline(always)]
    fn back(self) -> Self {
        self
    }

    type Failure = Rejected<Self>;

    fn reject(self, error: Error) -> Rejected<Self> {
        Rejected { error, buffer: self }
    }

    fn as_mut_ptr(&mut self) -> *mut T {
        self.view().own().cast()
    }

    fn arrived(&self) {
        self.view().ring_own();
    }

    #[inline(always)]
    fn symmetric(&self) -> Option<SymView<'_, T>> {
        Some(self.view())
    }

    fn len(&self) -> usize {
        SymSlice::len(self)
    }
}

// SAFETY: this PE's instance, which stays mapped while it is borrowed; not STABLE, since a forgotten future ends
// the borrow early. It is only read by copies that tolerate races with other PEs.
unsafe impl<T: Element> Source<T> for SymView<'_, T> {
    const STABLE: bool = false;

    type Back = ();

    #[inline(always)]
    fn back(self) {}

    type Failure = Error;

    #[inline(always)]
    fn reject(self, error: Error) -> Error {
        error
    }

    fn reject_back((): (), error: Error) -> Self::Failure {
        error
    }

    #[inline(always)]
    fn as_ptr(&self) -> *const T {
        self.own().cast_const().cast()
    }

    #[inline(always)]
    fn symmetric(&self) -> Option<SymView<'_, T>> {
        Some(*self)
    }

    #[inline(always)]
    fn len(&self) -> usize {
        SymView::len(self)
    }
}

// SAFETY: as above, for copies that write.
unsafe impl<T: Element> Sink<T> for SymView<'_, T> {
    const STABLE: bool = false;

    type Held = HeldView<T>;

    #[inline(always)]
    fn hold(self) -> HeldView<T> {
        HeldView(self.to_owned())
    }

    type Back = ();

    #[inline(always)]
    fn back(self) {}

    type Failure = Error;

    #[inline(always)]
    fn reject(self, error: Error) -> Error {
        error
    }

    #[inline(always)]
    fn as_mut_ptr(&mut self) -> *mut T {
        self.own().cast()
    }

    #[inline(always)]
    fn arrived(&self) {
        self.ring_own();
    }

    #[inline(always)]
    fn symmetric(&self) -> Option<SymView<'_, T>> {
        Some(*self)
    }

    #[inline(always)]
    fn len(&self) -> usize {
        SymView::len(self)
    }
}

/// A vector made for a get, which nobody wants back if that fails.
pub(crate) struct Fresh<T>(pub(crate) Vec<T>);

// SAFETY: as for the vector inside.
unsafe impl<T: Element> Sink<T> for Fresh<T> {
    const STABLE: bool = true;

    type Held = Self;

    #[inline(always)]
    fn hold(self) -> Self {
        self
    }

    type Back = Vec<T>;

    #[inline(always)]
    fn back(self) -> Vec<T> {
        self.0
    }

    type Failure = Error;

    fn reject(self, error: Error) -> Error {
        error
    }

    #[inline(always)]
    fn as_mut_ptr(&mut self) -> *mut T {
        self.0.as_mut_ptr()
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.0.len()
    }
}

/// An array that stays where it is while an operation fills it.
#[derive(Debug)]
pub struct HeldArray<T, const N: usize>(Box<[T; N]>);

// SAFETY: the elements are on the heap, and owned.
unsafe impl<T: Element, const N: usize> Sink<T> for HeldArray<T, N> {
    const STABLE: bool = true;

    type Held = Self;

    fn hold(self) -> Self {
        self
    }

    type Back = [T; N];

    fn back(self) -> [T; N] {
        *self.0
    }

    type Failure = Error;

    fn reject(self, error: Error) -> Error {
        error
    }

    fn as_mut_ptr(&mut self) -> *mut T {
        self.0.as_mut_ptr()
    }

    fn len(&self) -> usize {
        N
    }
}

/// Symmetric memory of this PE, kept from being given back while an operation fills it.
#[derive(Debug)]
pub struct HeldView<T: Element>(SymSlice<T>);

// SAFETY: as for the slice inside.
unsafe impl<T: Element> Sink<T> for HeldView<T> {
    const STABLE: bool = true;

    type Held = Self;

    fn hold(self) -> Self {
        self
    }

    type Back = ();

    fn back(self) {}

    type Failure = Error;

    fn reject(self, error: Error) -> Error {
        error
    }

    fn as_mut_ptr(&mut self) -> *mut T {
        self.0.as_mut_ptr()
    }

    fn arrived(&self) {
        self.0.arrived();
    }

    fn symmetric(&self) -> Option<SymView<'_, T>> {
        Some(self.0.view())
    }

    fn len(&self) -> usize {
        SymSlice::len(&self.0)
    }
}

/// One value that stays where it is while an operation fetches it.
pub(crate) struct HeldValue<T>(Box<T>);

impl<T: Element> Default for HeldValue<T> {
    fn default() -> Self {
        Self(Box::new(T::zeroed()))
    }
}

// SAFETY: the element is on the heap, and owned.
unsafe impl<T: Element> Sink<T> for HeldValue<T> {
    const STABLE: bool = true;

    type Held = Self;

    fn hold(self) -> Self {
        self
    }

    type Back = T;

    fn back(self) -> T {
        *self.0
    }

    type Failure = Error;

    fn reject(self, error: Error) -> Error {
        error
    }

    fn as_mut_ptr(&mut self) -> *mut T {
        &raw mut *self.0
    }

    fn len(&self) -> usize {
        1
    }
}
