//! Symmetric device memory for programs that use the package `cudarc`: [`DeviceView`], which its
//! safe copies take, and [`DeviceAddress`], which its launches take as the argument of a kernel.

use std::{
    fmt,
    marker::PhantomData,
    mem::ManuallyDrop,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use cudarc::driver::{
    CudaStream, DevicePtr, DevicePtrMut, DeviceRepr, DeviceSlice, SyncOnDrop, sys::CUdeviceptr,
};
use oxshmem_base::{Error, Result};

use crate::{Element, SymView, allocation::Allocation};

/// An address in device memory: what a kernel takes as a `T *`.
///
/// `cudarc` passes it to a kernel as an argument: see [`DeviceView::address`].
#[repr(transparent)]
pub struct DeviceAddress<T> {
    address: CUdeviceptr,
    elements: PhantomData<*mut T>,
}

// SAFETY: it is a number of 8 bytes, as a kernel's pointer is.
unsafe impl<T> DeviceRepr for DeviceAddress<T> {}
// SAFETY: it is a number.
unsafe impl<T> Send for DeviceAddress<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for DeviceAddress<T> {}

impl<T> DeviceAddress<T> {
    /// The number.
    pub fn get(&self) -> u64 {
        self.address
    }
}

impl<T> Clone for DeviceAddress<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for DeviceAddress<T> {}

impl<T> fmt::Debug for DeviceAddress<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.address)
    }
}

/// A PE's instance of symmetric device memory, as `cudarc` takes slices: its copies and fills read
/// and write it like a `CudaSlice`, and its launches take [`address`](Self::address). It is of a
/// stream of the program, and made by [`SymView::device_view`].
///
/// What is done with it in its own stream is asynchronous, in the stream's order. What is done in
/// another stream comes after that, and is over when the call returns. When the view is dropped, it
/// waits for its stream, so that the memory is there for as long as the device works on it; one
/// that is dropped while the stream is captured, or forgotten, keeps the memory allocated for the
/// rest of the process. Copies by other PEs and by the library are ordered with the stream by
/// events, `quiet` and barriers alone, and race as all copies of symmetric memory do: what is read
/// then is old, new or torn.
pub struct DeviceView<'a, T> {
    address: DeviceAddress<T>,
    len: usize,
    pe: usize,
    stream: Arc<CudaStream>,
    /// Whether something may be under way.
    used: AtomicBool,
    /// So that not even a view that is forgotten lets the memory go.
    allocation: ManuallyDrop<Arc<Allocation>>,
    view: PhantomData<SymView<'a, T>>,
}

impl<'a, T: Element> SymView<'a, T> {
    /// `pe`'s instance for the package `cudarc`, in a stream of this PE's device.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if [`device_ptr`](Self::device_ptr) has no address, or the stream is
    /// not of the primary context of this PE's device.
    ///
    /// ```no_run
    /// use cudarc::driver::CudaContext;
    /// use oxshmem::prelude::*;
    ///
    /// # async fn program(world: World) -> Result<(), Box<dyn std::error::Error>> {
    /// let field = world.space(SpaceKind::Gpu)?.alloc::<f32>(1024).await?;
    /// let stream = CudaContext::new(0)?.new_stream()?;
    /// let next = (world.my_pe() + 1) % world.n_pes();
    /// let mut there = field.view().device_view(next, &stream)?;
    /// stream.memcpy_htod(&[1.0; 1024], &mut there)?; // to the next PE
    /// stream.synchronize()?;
    /// world.barrier_all().await?;
    /// assert_eq!(field.at(0).load(), 1.0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn device_view(self, pe: usize, stream: &Arc<CudaStream>) -> Result<DeviceView<'a, T>> {
        let unsupported = |what: String| Error::Unsupported { what };
        let address = self.device_ptr(pe).ok_or_else(|| {
            unsupported(format!(
                "kernels of this PE's device do not reach PE {pe}'s instance: it is host memory, on another \
                 host, or on a device that gives no access"
            ))
        })?;
        let streams = self.on_device().and_then(|(device, here)| Some((device.program_streams()?, here)));
        let (streams, here) =
            streams.ok_or_else(|| unsupported("the device has no streams of programs".to_owned()))?;
        streams.is_captured(here.block(), stream.into())?;
        Ok(DeviceView {
            address: DeviceAddress { address, elements: PhantomData },
            len: self.len(),
            pe,
            stream: Arc::clone(stream),
            used: AtomicBool::new(false),
            allocation: ManuallyDrop::new(Arc::clone(self.allocation())),
            view: PhantomData,
        })
    }
}

impl<T> DeviceView<'_, T> {
    /// The PE whose instance it is.
    pub fn pe(&self) -> usize {
        self.pe
    }

    /// The argument for a kernel: `stream.launch_builder(&kernel).arg(view.address())`. What the
    /// kernel does with it is in the care of the launch, which is `unsafe`.
    pub fn address(&self) -> &DeviceAddress<T> {
        // Relaxed: the flag is of this view, which its dropping thread owns.
        self.used.store(true, Relaxed);
        &self.address
    }

    /// The address for what is about to be done in a stream, and what sees to it afterwards.
    fn enter<'s>(&self, stream: &'s CudaStream) -> (CUdeviceptr, SyncOnDrop<'s>) {
        // Relaxed: as above.
        self.used.store(true, Relaxed);
        if *stream == *self.stream {
            return (self.address.address, SyncOnDrop::Sync(None));
        }
        let context = stream.context();
        context.record_err(stream.join(&self.stream));
        (self.address.address, SyncOnDrop::Sync(Some(stream)))
    }

    /// Whether everything in the stream is over, after a wait for it.
    fn is_over(&self) -> bool {
        let pe = self.allocation.pe();
        let streams = pe.device().and_then(|device| device.program_streams());
        let captured = streams.map(|streams| streams.is_captured(pe.local_pe(), (&self.stream).into()));
        matches!(captured, Some(Ok(false))) && self.stream.synchronize().is_ok()
    }
}

impl<T> DeviceSlice<T> for DeviceView<'_, T> {
    fn len(&self) -> usize {
        self.len
    }

    fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }
}

impl<T> DevicePtr<T> for DeviceView<'_, T> {
    fn device_ptr<'s>(&'s self, stream: &'s CudaStream) -> (CUdeviceptr, SyncOnDrop<'s>) {
        self.enter(stream)
    }
}

impl<T> DevicePtrMut<T> for DeviceView<'_, T> {
    fn device_ptr_mut<'s>(&'s mut self, stream: &'s CudaStream) -> (CUdeviceptr, SyncOnDrop<'s>) {
        self.enter(stream)
    }
}

impl<T> fmt::Debug for DeviceView<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, Self { len, pe, address, .. }) = (std::any::type_name::<T>(), self);
        write!(f, "DeviceView<{name}>[{len}] of PE {pe} at {address:?}")
    }
}

impl<T> Drop for DeviceView<'_, T> {
    fn drop(&mut self) {
        if !*self.used.get_mut() || self.is_over() {
            // SAFETY: dropped once, here.
            unsafe { ManuallyDrop::drop(&mut self.allocation) };
        }
    }
}
