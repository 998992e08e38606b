//! What operations copy from and to: owned buffers that come back, values, borrowed slices and
//! symmetric memory.
//!
//! A buffer that an operation needs after its call has returned must not move or go away. The
//! elements of an owned heap buffer stay where they are when its owner moves, so the operation
//! takes the owner and gives it back. A borrowed slice, an array and a value have been copied
//! before the call returns.

use std::sync::Arc;

use oxshmem_base::Error;
use oxshmem_spaces::{Element, SymSlice, SymView};

use crate::operation::Rejected;

/// Something to copy elements from.
///
/// # Safety
/// An operation has the source from the call that it is passed to until the source is given back or
/// dropped. As long as the operation has it:
///
/// - [`len`](Self::len) and [`as_ptr`](Self::as_ptr) return the same each time: the operation
///   checks them once, and copies later, maybe on another thread;
/// - the `len` elements at `as_ptr` are readable, and nothing else writes to them unless they are
///   symmetric memory. They may move when `self` moves, unless it is [`STABLE`](Self::STABLE),
///   which only a `'static` type may be.
///
/// [`SCALAR`](Self::SCALAR) may only be true where `len` is 1. [`symmetric`](Self::symmetric)
/// returns the view of these `len` elements if they are symmetric memory, and none otherwise.
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
    /// Whether the elements stay where they are when `self` moves, so that a copy may outlast the
    /// call.
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

    /// The failure of an operation whose source was given back already.
    #[doc(hidden)]
    fn reject_back(back: Self::Back, error: Error) -> Self::Failure;

    /// The first element.
    fn as_ptr(&self) -> *const T;

    /// How many elements.
    fn len(&self) -> usize;

    /// The symmetric memory that it is, if it is: which an operation checks, and goes by instead of
    /// an address where that is in device memory.
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
/// An operation has the destination from the call that it is passed to until the destination is
/// given back or dropped. As long as the operation has it:
///
/// - [`len`](Self::len) and [`as_mut_ptr`](Self::as_mut_ptr) return the same each time: the
///   operation checks them once, and copies later, maybe on another thread;
/// - the `len` elements at `as_mut_ptr` are writable, and nothing else accesses them unless they
///   are symmetric memory. They may move when `self` moves, unless it is [`STABLE`](Self::STABLE),
///   which only a `'static` type may be.
///
/// [`hold`](Self::hold) returns a `STABLE` destination of the same length.
/// [`symmetric`](Self::symmetric) returns the view of these `len` elements if they are symmetric
/// memory, and none otherwise.
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
    /// Whether the elements stay where they are when `self` moves, so that a copy may outlast the
    /// call.
    const STABLE: bool;

    /// Whether it is one value, which is loaded in one piece where its size allows.
    #[doc(hidden)]
    const SCALAR: bool = false;

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

    /// The elements have been written: wakes what waits for them.
    #[doc(hidden)]
    #[inline(always)]
    fn arrived(&self) {}

    /// The symmetric memory that it is, if it is: which an operation checks, and goes by instead of
    /// an address where that is in device memory.
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

/// The associated items of a source or a sink that its caller keeps.
macro_rules! kept {
    () => {
        type Back = ();

        #[inline(always)]
        fn back(self) {}

        kept!(fails);
    };
    (fails) => {
        type Failure = Error;

        #[inline(always)]
        fn reject(self, error: Error) -> Error {
            error
        }
    };
    (source) => {
        const STABLE: bool = false;

        kept!();

        fn reject_back((): (), error: Error) -> Error {
            error
        }
    };
}

/// Items of a buffer that its caller gives away, and gets back.
macro_rules! given {
    () => {
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
    };
    (source) => {
        given!();

        fn reject_back(buffer: Self, error: Error) -> Rejected<Self> {
            Rejected { error, buffer }
        }
    };
}

/// Items of a sink that is `STABLE` itself.
macro_rules! holds_itself {
    () => {
        type Held = Self;

        #[inline(always)]
        fn hold(self) -> Self {
            self
        }
    };
}

/// Where the elements of a source or a sink are, and how many.
macro_rules! elements {
    (source: |$this:ident| $at:expr, $len:expr) => {
        #[inline(always)]
        fn as_ptr(&self) -> *const T {
            let $this = self;
            $at
        }

        elements!(len: |$this| $len);
    };
    (sink: |$this:ident| $at:expr, $len:expr) => {
        #[inline(always)]
        fn as_mut_ptr(&mut self) -> *mut T {
            let $this = self;
            $at
        }

        elements!(len: |$this| $len);
    };
    (len: |$this:ident| $len:expr) => {
        #[inline(always)]
        fn len(&self) -> usize {
            let $this = self;
            let _ = $this;
            $len
        }
    };
}

// SAFETY: a value is one element at its own address.
unsafe impl<T: Element> Source<T> for T {
    const SCALAR: bool = true;

    kept!(source);
    elements!(source: |this| this, 1);
}

// SAFETY: an array's elements are inside it.
unsafe impl<T: Element, const N: usize> Source<T> for [T; N] {
    kept!(source);
    elements!(source: |this| this.as_slice().as_ptr(), N);
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

    kept!(fails);
    elements!(sink: |this| this.as_mut_slice().as_mut_ptr(), N);
}

// SAFETY: the borrow keeps the elements readable; not STABLE, since a forgotten future ends it
// early.
unsafe impl<T: Element> Source<T> for &[T] {
    kept!(source);
    elements!(source: |this| (**this).as_ptr(), (**this).len());
}

macro_rules! owned {
    ($($name:ty),*) => {$(
        // SAFETY: the elements are on the heap, so they stay while their owner moves; it owns them
        // alone.
        unsafe impl<T: Element> Source<T> for $name {
            given!(source);
            elements!(source: |this| (**this).as_ptr(), (**this).len());
        }

        // SAFETY: as above.
        unsafe impl<T: Element> Sink<T> for $name {
            given!();
            holds_itself!();
            elements!(sink: |this| (**this).as_mut_ptr(), (**this).len());
        }
    )*};
}

owned!(Vec<T>, Box<[T]>);

// SAFETY: shared elements on the heap, which cannot change while this reference exists.
unsafe impl<T: Element> Source<T> for Arc<[T]> {
    given!(source);
    elements!(source: |this| (**this).as_ptr(), (**this).len());
}

/// The associated items of a sink in symmetric memory.
macro_rules! symmetric_sink {
    (|$this:ident| $view:expr) => {
        elements!(sink: |$this| $view.own().cast(), $view.len());

        #[inline(always)]
        fn arrived(&self) {
            let $this = self;
            $view.ring_own();
        }

        #[inline(always)]
        fn symmetric(&self) -> Option<SymView<'_, T>> {
            let $this = self;
            Some($view)
        }
    };
}

/// Items of a source in symmetric memory.
macro_rules! symmetric_source {
    (|$this:ident| $view:expr) => {
        elements!(source: |$this| $view.own().cast_const().cast(), $view.len());

        #[inline(always)]
        fn symmetric(&self) -> Option<SymView<'_, T>> {
            let $this = self;
            Some($view)
        }
    };
}

// SAFETY: this PE's instance, which stays mapped while the handle exists. It is only read by copies
// that tolerate races with other PEs.
unsafe impl<T: Element> Source<T> for SymSlice<T> {
    given!(source);
    symmetric_source!(|this| this.view());
}

// SAFETY: as above, for copies that write.
unsafe impl<T: Element> Sink<T> for SymSlice<T> {
    given!();
    holds_itself!();
    symmetric_sink!(|this| this.view());
}

// SAFETY: this PE's instance, which stays mapped while it is borrowed; not STABLE, since a
// forgotten future ends the borrow early. It is only read by copies that tolerate races with other
// PEs.
unsafe impl<T: Element> Source<T> for SymView<'_, T> {
    kept!(source);
    symmetric_source!(|this| *this);
}

// SAFETY: as above, for copies that write.
unsafe impl<T: Element> Sink<T> for SymView<'_, T> {
    const STABLE: bool = false;

    type Held = HeldView<T>;

    #[inline(always)]
    fn hold(self) -> HeldView<T> {
        HeldView(self.to_owned())
    }

    kept!();
    symmetric_sink!(|this| *this);
}

/// Symmetric memory of this PE, kept from being given back while an operation fills it.
#[derive(Debug)]
pub struct HeldView<T: Element>(SymSlice<T>);

// SAFETY: as for the slice inside.
unsafe impl<T: Element> Sink<T> for HeldView<T> {
    const STABLE: bool = true;

    kept!();
    holds_itself!();
    symmetric_sink!(|this| this.0.view());
}

/// A vector made for a get, which is not wanted back if that fails.
pub(crate) struct Fresh<T>(pub(crate) Vec<T>);

/// An array that stays where it is while an operation fills it.
#[derive(Debug)]
pub struct HeldArray<T, const N: usize>(Box<[T; N]>);

/// One value to be fetched.
pub(crate) struct OneValue<T>(pub(crate) T);

/// One value that stays where it is while an operation fetches it.
pub(crate) struct HeldValue<T>(Box<T>);

/// Sinks of whose owners the caller gets the contents.
macro_rules! unwrapped {
    ($name:ty $(, $n:ident)? => $back:ty, |$inner:ident| $unwrapped:expr, |$this:ident| $at:expr, $len:expr) => {
        // SAFETY: the elements are on the heap, and owned.
        unsafe impl<T: Element $(, const $n: usize)?> Sink<T> for $name {
            const STABLE: bool = true;

            type Back = $back;

            #[inline(always)]
            fn back(self) -> $back {
                let $inner = self.0;
                $unwrapped
            }

            kept!(fails);
            holds_itself!();
            elements!(sink: |$this| $at, $len);
        }
    };
}

unwrapped!(Fresh<T> => Vec<T>, |inner| inner, |this| this.0.as_mut_ptr(), this.0.len());
unwrapped!(HeldArray<T, N>, N => [T; N], |inner| *inner, |this| this.0.as_mut_ptr(), N);
unwrapped!(HeldValue<T> => T, |inner| *inner, |this| &raw mut *this.0, 1);

// SAFETY: a value is one element at its own address.
unsafe impl<T: Element> Sink<T> for OneValue<T> {
    const STABLE: bool = false;
    const SCALAR: bool = true;

    type Held = HeldValue<T>;

    fn hold(self) -> HeldValue<T> {
        HeldValue(Box::new(self.0))
    }

    type Back = T;

    #[inline(always)]
    fn back(self) -> T {
        self.0
    }

    kept!(fails);
    elements!(sink: |this| &raw mut this.0, 1);
}
