//! What the PEs of one host share: the control blocks, the heaps and everybody's doorbell.
//!
//! The host's leader makes it once; other processes get its descriptors, and PEs in the same process the
//! thing itself.

use std::{
    fmt,
    os::fd::{AsFd, OwnedFd},
    sync::{
        Arc, OnceLock, Weak,
        atomic::{Ordering, fence},
    },
    time::Duration,
};

use oxshmem_base::{Error, Result, panics::survive};
use oxshmem_job::Shared;
use oxshmem_memory::{Extent, HostMap, SegmentId, Shape};
use rustix::event::{EventfdFlags, eventfd};

use crate::{
    activity::Watchdog,
    control::Control,
    device::Made,
    executor::{Executor, Failure},
};

/// Shared memory and doorbells of the PEs of one host.
#[derive(Debug)]
pub(crate) struct Fabric {
    pub(crate) control: Arc<Control>,
    pub(crate) heap: Arc<HostMap>,
    /// The device of the PEs of this process, if they have one; the first of them to join makes it.
    pub(crate) device: Made,
    bells: Vec<Arc<Bell>>,
    /// Of the PEs of this process; the first of them to join decides whether there is one.
    pub(crate) watchdog: OnceLock<Option<Arc<Watchdog>>>,
}

/// How one PE is woken.
pub(crate) enum Bell {
    /// A PE in a process of its own sleeps on this eventfd.
    Process(OwnedFd),
    /// A PE in this process: its watches are looked at on the spot.
    InProcess(OnceLock<Weak<Executor>>),
}

impl Fabric {
    /// For `n` PEs with `heap_stride` bytes of heap each, in one process or in one each.
    #[cfg(test)]
    pub(crate) fn new(n: usize, heap_stride: usize, in_process: bool) -> Result<Self> {
        Self::with_heap(HostMap::new(n, heap_stride)?, in_process)
    }

    /// For as many PEs as `heap` has blocks.
    pub(crate) fn with_heap(heap: HostMap, in_process: bool) -> Result<Self> {
        let n = heap.count();
        let bell = || {
            if in_process {
                return Ok(Bell::InProcess(OnceLock::new()));
            }
            eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
                .map(Bell::Process)
                .map_err(|e| Error::system("eventfd", e))
        };
        Ok(Self {
            control: Arc::new(Control::new(Arc::new(Control::new_map(n)?))),
            heap: Arc::new(heap),
            device: Made::default(),
            bells: (0..n).map(|_| bell().map(Arc::new)).collect::<Result<_>>()?,
            watchdog: OnceLock::new(),
        })
    }

    pub(crate) fn bell(&self, block: usize) -> &Arc<Bell> {
        &self.bells[block]
    }

    /// Wakes the PE of a block, which was seen to sleep, after a store to `stored`.
    #[cold]
    #[inline(never)]
    pub(crate) fn wake(&self, block: usize, stored: Extent) {
        let sleep = &self.control.page(block).sleep.0;
        // Acquire: with `sleeping` comes the range that was set before it.
        fence(Ordering::Acquire);
        let Extent { segment, offset, len } = stored;
        if segment == SegmentId::Heap
            && (offset >= sleep.watched_to.load(Ordering::Relaxed)
                || offset + len <= sleep.watched_from.load(Ordering::Relaxed))
        {
            return;
        }
        match &*self.bells[block] {
            bell @ Bell::Process(_) => {
                // One ring wakes; the others of a burst find the word taken. Relaxed: no more than atomicity is
                // needed, the order was made in `after_store`.
                if sleep.sleeping.swap(0, Ordering::Relaxed) != 0 {
                    bell.ring_process();
                }
            }
            Bell::InProcess(executor) => {
                if let Some(executor) = executor.get().and_then(Weak::upgrade) {
                    executor.scan_host();
                }
            }
        }
    }

    /// From now on looks at the watches of PEs in this process every millisecond, until the job is gone.
    pub(crate) fn start_ticking(self: &Arc<Self>) {
        let fabric = Arc::downgrade(self);
        let tick = move || {
            while let Some(fabric) = fabric.upgrade() {
                for bell in &fabric.bells {
                    if let Bell::InProcess(executor) = &**bell
                        && let Some(executor) = executor.get().and_then(Weak::upgrade)
                    {
                        survive(|| executor.scan());
                    }
                }
                drop(fabric);
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        if let Err(error) = std::thread::Builder::new().name("oxshmem-ticker".into()).spawn(tick) {
            self.fail_all(&Failure::without_thread(&error));
        }
    }

    /// Ends all waiting of the PEs in this process.
    pub(crate) fn fail_all(&self, failure: &Failure) {
        for bell in &self.bells {
            if let Bell::InProcess(executor) = &**bell
                && let Some(executor) = executor.get().and_then(Weak::upgrade)
            {
                executor.fail(failure.clone());
            }
        }
    }

    /// Wakes every PE, whether it sleeps or not.
    pub(crate) fn ring_all(&self) {
        for bell in &self.bells {
            bell.ring_process();
        }
    }
}

impl Drop for Fabric {
    fn drop(&mut self) {
        if let Some(Some(watchdog)) = self.watchdog.get() {
            watchdog.unpark();
        }
    }
}

impl Bell {
    pub(crate) fn is_in_process(&self) -> bool {
        matches!(self, Self::InProcess(_))
    }

    /// Makes the PE's driver look around, if it may be asleep in another process or thread.
    pub(crate) fn ring_process(&self) {
        if let Self::Process(bell) = self {
            // It fails when the counter is full: then it has been ringing all along.
            let _ = rustix::io::write(bell, &1u64.to_ne_bytes());
        }
    }

    /// Another descriptor of the eventfd, if it is one.
    pub(crate) fn try_clone(&self) -> Option<OwnedFd> {
        match self {
            Self::Process(bell) => bell.try_clone().ok(),
            Self::InProcess(_) => None,
        }
    }

    /// Names the executor behind the bell of a PE in this process.
    pub(crate) fn attach(&self, executor: &Arc<Executor>) {
        if let Self::InProcess(slot) = self {
            // A PE joins once, so the slot is empty.
            let _ = slot.set(Arc::downgrade(executor));
        }
    }
}

impl fmt::Debug for Bell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_in_process() { "in-process bell" } else { "eventfd bell" })
    }
}

impl Shared for Fabric {
    fn to_descriptors(&self) -> Result<Vec<OwnedFd>> {
        let mut descriptors = self.control.map().to_descriptors()?;
        descriptors.extend(self.heap.to_descriptors()?);
        for bell in &self.bells {
            if let Bell::Process(bell) = &**bell {
                descriptors.push(bell.try_clone().map_err(|e| Error::system("dup of an eventfd", e))?);
            }
        }
        Ok(descriptors)
    }

    fn from_descriptors(mut descriptors: Vec<OwnedFd>, block: usize) -> Result<Self> {
        let too_few = |got| Error::bootstrap("share", format!("expected at least 4 descriptors, got {got}"));
        let heap_shape = descriptors.get(3).ok_or_else(|| too_few(descriptors.len()))?;
        let heap_end = 4 + Shape::read(heap_shape.as_fd())?.own_memories();
        if descriptors.len() < heap_end {
            return Err(too_few(descriptors.len()));
        }
        let bells = descriptors.split_off(heap_end);
        let heap = HostMap::from_descriptors(descriptors.split_off(2), block)?;
        let control = HostMap::received(descriptors, 0, None)?;
        Ok(Self {
            control: Arc::new(Control::new(Arc::new(control))),
            heap: Arc::new(heap),
            device: Made::default(),
            bells: bells.into_iter().map(|bell| Arc::new(Bell::Process(bell))).collect(),
            watchdog: OnceLock::new(),
        })
    }
}
