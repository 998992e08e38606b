//! C's buffers as sources and sinks of operations: a pointer and a length, whose memory is the
//! caller's care.

use oxshmem::{Element, Error, Sink, Source};

/// Elements at a pointer, to be read.
#[derive(Debug)]
pub(crate) struct SourceBuffer<T> {
    pointer: *const T,
    len: usize,
}

/// Elements at a pointer, to be written.
#[derive(Debug)]
pub(crate) struct SinkBuffer<T> {
    pointer: *mut T,
    len: usize,
}

// SAFETY: the pointer is only used as the operation's, which may run on another thread: what C
// programs agree to (`OpenSHMEM 1.6 §9.6`).
unsafe impl<T> Send for SourceBuffer<T> {}
// SAFETY: as above.
unsafe impl<T> Send for SinkBuffer<T> {}

impl<T: Element> SourceBuffer<T> {
    /// # Safety
    /// The elements must be readable until the operation has been completed.
    #[inline(always)]
    pub(crate) unsafe fn new(pointer: *const T, len: usize) -> Self {
        Self { pointer, len }
    }
}

impl<T: Element> SinkBuffer<T> {
    /// # Safety
    /// The elements must be writable, and used by no other code, until the operation has been
    /// completed.
    #[inline(always)]
    pub(crate) unsafe fn new(pointer: *mut T, len: usize) -> Self {
        Self { pointer, len }
    }
}

// SAFETY: its maker vouches for the elements, wherever `self` moves.
unsafe impl<T: Element> Source<T> for SourceBuffer<T> {
    const STABLE: bool = true;

    type Back = ();
    type Failure = Error;

    #[inline(always)]
    fn back(self) {}

    #[inline(always)]
    fn reject(self, error: Error) -> Error {
        error
    }

    #[inline(always)]
    fn reject_back((): (), error: Error) -> Error {
        error
    }

    #[inline(always)]
    fn as_ptr(&self) -> *const T {
        self.pointer
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.len
    }
}

// SAFETY: its maker vouches for the elements, wherever `self` moves.
unsafe impl<T: Element> Sink<T> for SinkBuffer<T> {
    const STABLE: bool = true;

    type Held = Self;

    #[inline(always)]
    fn hold(self) -> Self {
        self
    }

    type Back = ();
    type Failure = Error;

    #[inline(always)]
    fn back(self) {}

    #[inline(always)]
    fn reject(self, error: Error) -> Error {
        error
    }

    #[inline(always)]
    fn as_mut_ptr(&mut self) -> *mut T {
        self.pointer
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.len
    }
}
