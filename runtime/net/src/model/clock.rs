//! What time it is on the model's network.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

/// A moment: the time since the network began.
pub(super) type Moment = Duration;

/// The clock of one network.
#[derive(Debug)]
pub(super) enum Clock {
    /// Real time.
    Real(Instant),
    /// Nanoseconds, of a clock that is [set](Self::set).
    Virtual(AtomicU64),
}

impl Clock {
    pub(super) fn new(is_virtual: bool) -> Self {
        if is_virtual { Self::Virtual(AtomicU64::new(0)) } else { Self::Real(Instant::now()) }
    }

    pub(super) fn now(&self) -> Moment {
        match self {
            Self::Real(began) => began.elapsed(),
            // Relaxed: it is set when no PE does anything.
            Self::Virtual(nanos) => Moment::from_nanos(nanos.load(Ordering::Relaxed)),
        }
    }

    pub(super) fn is_virtual(&self) -> bool {
        matches!(self, Self::Virtual(_))
    }

    /// Sets a virtual clock. A real one goes by itself.
    pub(super) fn set(&self, moment: Moment) {
        if let Self::Virtual(nanos) = self {
            // It would take centuries to be more.
            nanos.store(moment.as_nanos().try_into().unwrap_or(u64::MAX), Ordering::Relaxed);
        }
    }
}
