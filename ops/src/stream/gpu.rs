//! Streams and events of the program as futures.

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use oxshmem_base::{Error, Result};
use oxshmem_progress::{completion::Completion, executor::FirstPoll, flight::Flight};
use oxshmem_spaces::{
    Pe,
    device::stream::{EventRef, ProgramStreams, StreamRef, no_streams},
};

/// The device of a PE, as a program uses it beside this library.
#[derive(Clone)]
pub struct Gpu(Arc<Pe>);

/// Ready when a stream or an event has come so far.
#[must_use = "it is ready when the stream or the event has come so far"]
pub struct Reached {
    flight: Arc<Flight<Result<()>>>,
    engine: FirstPoll,
}

impl Gpu {
    /// That of `pe`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if there is none, or none with streams.
    pub fn of(pe: &Arc<Pe>) -> Result<Self> {
        pe.check("gpu")?;
        match pe.device() {
            Some(device) if device.program_streams().is_some() => Ok(Self(Arc::clone(pe))),
            Some(device) => Err(no_streams(device.name())),
            None => Err(Error::Unsupported {
                what: "this PE has no device; set SHMEM_ENABLE_GPU_SPACE=1 where there is one".to_owned(),
            }),
        }
    }

    /// The number of the device among those that the process sees, as `cudaSetDevice` and
    /// `CudaContext::new` take it.
    pub fn ordinal(&self) -> usize {
        let streams = self.0.device().and_then(|device| device.program_streams());
        streams.map_or(0, |streams| streams.ordinal(self.0.local_pe()))
    }

    /// Ready when the event is over, as it was last recorded before the call. The engine completes
    /// it, as it does every operation.
    ///
    /// # Errors
    /// What the driver says.
    pub fn event<'a>(&self, event: impl Into<EventRef<'a>>) -> Reached {
        let event = event.into();
        self.begin(|streams, by, done| streams.event(by, event, done))
    }

    /// Ready when everything is over that the stream was given before the call.
    ///
    /// # Errors
    /// What the driver says, and [`Error::Unsupported`] for a stream that is not of the primary
    /// context of the PE's device.
    pub fn stream<'a>(&self, stream: impl Into<StreamRef<'a>>) -> Reached {
        let stream = stream.into();
        // SAFETY: there are no bytes.
        self.begin(|streams, by, done| unsafe { streams.append(by, stream, &[], done) })
    }

    fn begin(&self, start: impl FnOnce(&dyn ProgramStreams, usize, Completion)) -> Reached {
        let flight = Arc::new(Flight::default());
        let landing = Arc::clone(&flight);
        let done = Box::new(move |over| landing.land(over));
        match self.0.device().and_then(|device| device.program_streams()) {
            Some(streams) => start(streams, self.0.local_pe(), done),
            None => done(Err(Error::Finalized { call: "gpu" })),
        }
        Reached { flight, engine: self.0.engine().at_first_poll() }
    }
}

impl fmt::Debug for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "device of PE {}", self.0.me())
    }
}

impl Future for Reached {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { flight, engine } = &mut *self;
        engine.poll(|| flight.poll(cx))
    }
}

impl fmt::Debug for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reached")
    }
}
