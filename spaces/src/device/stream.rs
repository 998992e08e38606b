//! Streams and events of the program's own, and what a device does in their order.
//!
//! A [`StreamRef`] and an [`EventRef`] name what the program has made with CUDA. A device that has
//! such streams offers [`ProgramStreams`]; the emulated device has none.

use std::{ffi::c_void, fmt, marker::PhantomData};

use oxshmem_base::{Error, Result};
use oxshmem_progress::completion::Completion;

use super::{DeviceOp, DevicePlace};

/// A CUDA stream of the program.
///
/// It is made of a `&CudaStream` of the package `cudarc` (feature `cuda`), or of the driver's
/// handle by [`from_raw`](Self::from_raw).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamRef<'a> {
    raw: usize,
    stream: PhantomData<&'a ()>,
}

/// A CUDA event of the program.
///
/// It is made of a `&CudaEvent` of the package `cudarc` (feature `cuda`), or of the driver's handle
/// by [`from_raw`](Self::from_raw).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventRef<'a> {
    raw: usize,
    event: PhantomData<&'a ()>,
}

impl StreamRef<'_> {
    /// Of a `CUstream` or `cudaStream_t`. Null is the default stream.
    ///
    /// # Safety
    /// The stream must exist for as long as the value is used.
    pub unsafe fn from_raw(stream: *mut c_void) -> Self {
        Self { raw: stream.expose_provenance(), stream: PhantomData }
    }

    /// The driver's handle.
    pub fn as_raw(self) -> *mut c_void {
        std::ptr::with_exposed_provenance_mut(self.raw)
    }
}

impl EventRef<'_> {
    /// Of a `CUevent` or `cudaEvent_t`.
    ///
    /// # Safety
    /// The event must exist for as long as the value is used.
    pub unsafe fn from_raw(event: *mut c_void) -> Self {
        Self { raw: event.expose_provenance(), event: PhantomData }
    }

    /// The driver's handle.
    pub fn as_raw(self) -> *mut c_void {
        std::ptr::with_exposed_provenance_mut(self.raw)
    }
}

#[cfg(feature = "cuda")]
mod of_cudarc {
    use std::sync::Arc;

    use cudarc::driver::{CudaEvent, CudaStream};

    use super::{EventRef, StreamRef};

    impl<'a> From<&'a CudaStream> for StreamRef<'a> {
        fn from(stream: &'a CudaStream) -> Self {
            // SAFETY: the borrow keeps the stream.
            unsafe { Self::from_raw(stream.cu_stream().cast()) }
        }
    }

    impl<'a> From<&'a Arc<CudaStream>> for StreamRef<'a> {
        fn from(stream: &'a Arc<CudaStream>) -> Self {
            Self::from(&**stream)
        }
    }

    impl<'a> From<&'a CudaEvent> for EventRef<'a> {
        fn from(event: &'a CudaEvent) -> Self {
            // SAFETY: the borrow keeps the event.
            unsafe { Self::from_raw(event.cu_event().cast()) }
        }
    }
}

/// What a stream of the program is given.
#[derive(Clone, Copy, Debug)]
pub enum InStream {
    /// An operation on one block or on a word of 8 bytes, with its signal.
    Op(DeviceOp),
    /// A wait for an aligned word of 8 bytes, which the device does by itself.
    Wait {
        /// The word.
        at: DevicePlace,
        /// Whether the word must be equal to `value`; else it must be equal or greater.
        equal: bool,
        /// What it is compared with.
        value: u64,
    },
}

/// Streams of the program, on the devices of the PEs of one host. `by` is always the local PE whose
/// device has the stream. What the driver refuses completes `done` with the error.
///
/// # Safety
/// An implementation must touch only the bytes that it was given, and none of them after it has
/// completed `done`.
pub unsafe trait ProgramStreams: Send + Sync {
    /// The number of the device among those that the process sees.
    fn ordinal(&self, by: usize) -> usize;

    /// Whether a stream does something by itself: the device reaches all places, and the driver
    /// knows the memory here, as the device's or as pinned memory of the host. What it does not
    /// know it would copy before the stream has come so far.
    fn takes(&self, by: usize, what: &InStream) -> bool;

    /// Whether what the stream is given becomes part of a graph.
    ///
    /// # Errors
    /// The stream is none of that device's primary context.
    fn is_captured(&self, by: usize, stream: StreamRef<'_>) -> Result<bool>;

    /// Appends something to a stream that is not captured. `done` completes when all of it is over,
    /// and all before it.
    ///
    /// # Safety
    /// The bytes must be good until then.
    unsafe fn append(&self, by: usize, stream: StreamRef<'_>, what: &[InStream], done: Completion);

    /// Appends something to the graph that a stream is captured into.
    ///
    /// # Errors
    /// What the driver refuses.
    ///
    /// # Safety
    /// The bytes must be good as often as the graph runs.
    unsafe fn append_captured(&self, by: usize, stream: StreamRef<'_>, what: &[InStream]) -> Result<()>;

    /// Has a stream wait until the result is dropped.
    ///
    /// # Errors
    /// What the driver refuses.
    fn hold(&self, by: usize, stream: StreamRef<'_>) -> Result<Held>;

    /// Completes `done` when the event is over, as it was last recorded before the call.
    fn event(&self, by: usize, event: EventRef<'_>, done: Completion);

    /// Performs a transfer between places of devices that the device of the local PE `by` reaches,
    /// when the event is over, as it was last recorded before the call. The host does not take
    /// part.
    ///
    /// # Safety
    /// As for [`Way::start`](oxshmem_net::Way::start).
    unsafe fn copy_after(&self, by: usize, event: EventRef<'_>, op: DeviceOp, done: Completion);
}

/// Keeps a stream of the program waiting until it is dropped.
pub struct Held(Option<Box<dyn FnOnce() + Send>>);

impl Held {
    /// `release` ends the wait.
    pub fn new(release: impl FnOnce() + Send + 'static) -> Self {
        Self(Some(Box::new(release)))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(release) = self.0.take() {
            release();
        }
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Held")
    }
}

/// Why there are no streams.
pub fn no_streams(name: &str) -> Error {
    Error::Unsupported { what: format!("the {name} device has no streams of programs; they need CUDA's") }
}
