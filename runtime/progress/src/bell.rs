//! The bell by which a PE is woken.

use std::{
    fmt,
    os::fd::OwnedFd,
    sync::{Arc, OnceLock, Weak},
};

use oxshmem_memory::Extent;

use crate::failure::Failure;

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
    /// A PE in a process of its own sleeps on this eventfd.
    Process(OwnedFd),
    /// Of a PE in this process the watched words are looked at on the spot.
    InProcess(OnceLock<Weak<dyn Looks>>),
}

impl Bell {
    /// Whether it is that of a PE in this process.
    pub fn is_in_process(&self) -> bool {
        matches!(self, Self::InProcess(_))
    }

    /// Makes the PE's driver look around, if it may be asleep in another process or thread.
    pub fn ring_process(&self) {
        if let Self::Process(bell) = self {
            // It fails when the counter is full: then it has been ringing all along.
            let _ = rustix::io::write(bell, &1u64.to_ne_bytes());
        }
    }

    /// Takes the ring off an eventfd. Whether there was one.
    pub(crate) fn take_ring(&self) -> bool {
        match self {
            // The counter is not blocking.
            Self::Process(bell) => rustix::io::read(bell, &mut [0u8; 8]).is_ok(),
            Self::InProcess(_) => false,
        }
    }

    /// Another descriptor of the eventfd, if it is one.
    pub fn try_clone(&self) -> Option<OwnedFd> {
        match self {
            Self::Process(bell) => bell.try_clone().ok(),
            Self::InProcess(_) => None,
        }
    }

    /// Names what looks at the words of a PE in this process. To be called once.
    pub fn attach<L: Looks + 'static>(&self, looks: &Arc<L>) {
        if let Self::InProcess(slot) = self {
            let looks = Arc::downgrade(looks);
            // A PE joins once, so the slot is empty.
            let _ = slot.set(looks);
        }
    }

    /// What looks at the words of a PE in this process, as long as there is such a PE.
    pub fn in_process(&self) -> Option<Arc<dyn Looks>> {
        match self {
            Self::Process(_) => None,
            Self::InProcess(looks) => looks.get().and_then(Weak::upgrade),
        }
    }
}

impl fmt::Debug for Bell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_in_process() { "in-process bell" } else { "eventfd bell" })
    }
}
