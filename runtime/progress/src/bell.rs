//! The bell by which a PE is woken.

use std::{
    fmt,
    sync::{Arc, PoisonError, RwLock, Weak},
};

use oxshmem_memory::Extent;

use crate::{event::Event, failure::Failure};

/// What looks at the watched words of a PE that shares the process of the writer.
pub trait Looks: Send + Sync {
    /// Looks at the words in host memory that may be in what was `stored`.
    fn look_at_host(&self, stored: Extent);

    /// Has the words in device memory looked at.
    fn look_at_device(&self);

    /// Ends all waiting.
    fn end(&self, failure: &Failure);
}

/// How one PE is woken.
pub enum Bell {
    /// A PE in a process of its own sleeps on this event.
    Process(Event),
    /// Of a PE in this process the watched words are looked at on the spot.
    InProcess(RwLock<Option<Weak<dyn Looks>>>),
}

impl Bell {
    /// Whether it is that of a PE in this process.
    pub fn is_in_process(&self) -> bool {
        matches!(self, Self::InProcess(_))
    }

    /// Makes the PE's driver look around, if it may be asleep in another process or thread.
    pub fn ring_process(&self) {
        if let Self::Process(bell) = self {
            bell.ring();
        }
    }

    /// The event, if it is one.
    pub fn event(&self) -> Option<&Event> {
        match self {
            Self::Process(event) => Some(event),
            Self::InProcess(_) => None,
        }
    }

    /// Names what looks at the words of a PE in this process: once, and again for a replacement.
    pub fn attach<L: Looks + 'static>(&self, looks: &Arc<L>) {
        if let Self::InProcess(slot) = self {
            let looks = Arc::downgrade(looks);
            *slot.write().unwrap_or_else(PoisonError::into_inner) = Some(looks);
        }
    }

    /// What looks at the words of a PE in this process, as long as there is such a PE.
    pub fn in_process(&self) -> Option<Arc<dyn Looks>> {
        match self {
            Self::Process(_) => None,
            Self::InProcess(slot) => {
                slot.read().unwrap_or_else(PoisonError::into_inner).as_ref().and_then(Weak::upgrade)
            }
        }
    }
}

impl fmt::Debug for Bell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_in_process() { "in-process bell" } else { "event bell" })
    }
}
