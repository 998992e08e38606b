//! The driver's copies by themselves: what operations are measured beside.

use std::sync::Arc;

use oxshmem_base::{Error, Result};

use super::driver::{self, Context, Event, Pinned, Stream};

/// A stream and an event of the first device, and host memory that it reaches.
#[derive(Debug)]
pub struct Bare {
    stream: Stream,
    event: Event,
    pinned: Pinned,
}

impl Bare {
    /// With this many bytes of host memory.
    ///
    /// # Errors
    /// What the driver refuses, and [`Error::Unsupported`] if there is no device.
    pub fn new(len: usize) -> Result<Self> {
        driver::load().map_err(|what| Error::Unsupported { what })?;
        let first = driver::devices()?.first().copied();
        let device = first.ok_or_else(|| Error::Unsupported { what: "there is no device".to_owned() })?;
        let context = Arc::new(Context::retain(device)?);
        let stream = Stream::new(&context)?;
        let entered = context.enter()?;
        let event = Event::new(&context)?;
        drop(entered);
        Ok(Self { stream, event, pinned: Pinned::new(&context, len)? })
    }

    /// The host memory.
    pub fn pinned(&self) -> *mut u8 {
        self.pinned.start()
    }

    /// Copies some times from the host to a device, and polls until it is over.
    ///
    /// # Safety
    /// Both ends must be good for `len` bytes.
    pub unsafe fn copy_in(&self, from: *const u8, to: u64, len: usize, times: usize) -> Result<()> {
        // SAFETY: passed on to the caller.
        self.repeat(times, || unsafe { self.stream.copy_in(from, to, len) })
    }

    /// From a device to the host, likewise.
    ///
    /// # Safety
    /// As above.
    pub unsafe fn copy_out(&self, from: u64, to: *mut u8, len: usize, times: usize) -> Result<()> {
        // SAFETY: passed on to the caller.
        self.repeat(times, || unsafe { self.stream.copy_out(from, to, len) })
    }

    /// Within device memory, likewise.
    ///
    /// # Safety
    /// As above.
    pub unsafe fn copy_within(&self, from: u64, to: u64, len: usize, times: usize) -> Result<()> {
        // SAFETY: passed on to the caller.
        self.repeat(times, || unsafe { self.stream.copy_within(from, to, len) })
    }

    fn repeat(&self, times: usize, copy: impl Fn() -> driver::Outcome<()>) -> Result<()> {
        let _entered = self.stream.context().enter()?;
        for _ in 0..times {
            copy()?;
        }
        self.stream.record(&self.event)?;
        while !self.event.is_over()? {
            std::hint::spin_loop();
        }
        Ok(())
    }
}
