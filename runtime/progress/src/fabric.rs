//! What the PEs of one host share: the control blocks, the heaps and everybody's doorbell.
//!
//! The host's leader makes it once; other processes get its descriptors, and PEs in the same
//! process the thing itself.

use std::{
    os::fd::{AsFd, OwnedFd},
    sync::{Arc, RwLock},
};

use oxshmem_base::{
    Error, Result,
    settings::FenceSide,
    sync::{Ordering, fence},
};
use oxshmem_job::{Common, Shared};
use oxshmem_memory::{Extent, HostMap, SegmentId, Shape};

use crate::{
    bell::Bell,
    control::Control,
    doorbell::{asks_for_notes, end_sleep},
    event::Event,
    failure::Failure,
    helper::Helper,
    helper_waker::HelperWaker,
};

/// Shared memory and doorbells of the PEs of one host.
#[derive(Debug)]
pub struct Fabric {
    /// The control blocks.
    pub control: Arc<Control>,
    /// The memory of the heaps.
    pub heap: Arc<HostMap>,
    bells: Vec<Arc<Bell>>,
    helper: Arc<Helper>,
    /// What the PEs of this process have in common, made by the first of them to join.
    pub common: Common,
}

impl Fabric {
    /// For `n` PEs with `heap_stride` bytes of heap each, in one process or in one each.
    pub fn new(n: usize, heap_stride: usize, in_process: bool) -> Result<Self> {
        Self::with_heap(HostMap::new(n, heap_stride)?, in_process)
    }

    /// For as many PEs as `heap` has blocks.
    pub fn with_heap(heap: HostMap, in_process: bool) -> Result<Self> {
        let n = heap.local_pes();
        let bell = || {
            if in_process {
                return Ok(Bell::InProcess(RwLock::default()));
            }
            Event::new().map(Bell::Process)
        };
        Ok(Self {
            // SAFETY: the map is new, and no fabric uses it otherwise.
            control: Arc::new(unsafe { Control::new(Arc::new(Control::new_map(n)?)) }),
            heap: Arc::new(heap),
            bells: (0..n).map(|_| bell().map(Arc::new)).collect::<Result<_>>()?,
            helper: Helper::new()?,
            common: Common::default(),
        })
    }

    /// Makes the memory of a local PE, which is gone, what it was at the beginning.
    ///
    /// # Errors
    /// The system's.
    ///
    /// # Safety
    /// It is gone, with all that has accessed this memory as that of its own, and the caller takes
    /// its place.
    pub unsafe fn clear(&self, block: usize) -> Result<()> {
        // SAFETY: the caller vouches for it; others look at the PE's loss before they come here.
        unsafe {
            self.control.clear(block)?;
            self.heap.clear(block, 0, self.heap.stride())
        }
    }

    /// The bell of a local PE.
    pub fn bell(&self, block: usize) -> &Arc<Bell> {
        &self.bells[block]
    }

    /// Wakes the PE of a block, which was seen to sleep or to ask for notes, after a store to
    /// `stored`.
    #[cold]
    #[inline(never)]
    pub fn wake(&self, block: usize, stored: Extent) {
        let sleep = &self.control.page(block).sleep.0;
        // Acquire: with `sleeping` comes the range that was set before it.
        fence(Ordering::Acquire);
        let Extent { segment, offset, len } = stored;
        if segment == SegmentId::Heap
            && (offset >= sleep.watched_to.load(Ordering::Relaxed)
                || offset.saturating_add(len) <= sleep.watched_from.load(Ordering::Relaxed))
        {
            return;
        }
        if segment == SegmentId::Heap && asks_for_notes(&sleep.sleeping) {
            self.control.page(block).notes.0.leave(offset, len);
        }
        match &*self.bells[block] {
            bell @ Bell::Process(_) => {
                // One ring wakes; the others of a burst find the word taken.
                if end_sleep(&sleep.sleeping) {
                    bell.ring_process();
                }
            }
            bell @ Bell::InProcess(_) => {
                if let Some(looks) = bell.in_process() {
                    match segment {
                        SegmentId::Gpu => looks.look_at_device(),
                        SegmentId::Heap | SegmentId::Scratch => looks.look_at_host(stored),
                    }
                }
            }
        }
    }

    /// Words of a local PE's device memory may have changed, so its engine looks at those that are
    /// waited for: at once if a thread waits awake, and else the PE is woken. Called after the
    /// write is over, by any PE of the host.
    pub fn device_words_changed(&self, block: usize, side: FenceSide) {
        if self.control.device_changed(block, side) {
            self.wake(block, Extent { segment: SegmentId::Gpu, offset: 0, len: usize::MAX });
        }
    }

    /// The helper of the PEs of this host that are in this process.
    pub(crate) fn helper(&self) -> &Arc<Helper> {
        &self.helper
    }

    /// What wakes the helper.
    pub fn helper_waker(&self) -> &Arc<HelperWaker> {
        self.helper.helper_waker()
    }

    /// Ends all waiting of the PEs in this process.
    pub fn fail_all(&self, failure: &Failure) {
        for bell in &self.bells {
            if let Some(looks) = bell.in_process() {
                looks.end(failure);
            }
        }
    }

    /// Wakes every PE, whether it sleeps or not, and the helper of this process.
    pub fn ring_all(&self) {
        self.helper.helper_waker().wake();
        for bell in &self.bells {
            bell.ring_process();
        }
    }
}

impl Shared for Fabric {
    unsafe fn to_descriptors(&self) -> Result<Vec<OwnedFd>> {
        // SAFETY: the caller hands them to PEs of this host alone.
        let mut descriptors = unsafe { self.control.map().to_descriptors() }?;
        // SAFETY: as above.
        descriptors.extend(unsafe { self.heap.to_descriptors() }?);
        for bell in &self.bells {
            if let Some(bell) = bell.event() {
                descriptors.push(bell.try_clone().map_err(|e| Error::system("dup of an eventfd", e))?);
            }
        }
        Ok(descriptors)
    }

    unsafe fn from_descriptors(mut descriptors: Vec<OwnedFd>, block: usize) -> Result<Self> {
        let too_few = |got| Error::bootstrap("share", format!("expected at least 4 descriptors, got {got}"));
        let heap_shape = descriptors.get(3).ok_or_else(|| too_few(descriptors.len()))?;
        let heap_end = 4 + Shape::read(heap_shape.as_fd())?.own_memories();
        if descriptors.len() < heap_end {
            return Err(too_few(descriptors.len()));
        }
        let bells = descriptors.split_off(heap_end);
        // SAFETY: behind the control blocks' descriptors are those of the heap.
        let heap = unsafe { HostMap::from_descriptors(descriptors.split_off(2), block) }?;
        let control = HostMap::received(descriptors, 0, None)?;
        Ok(Self {
            // SAFETY: it is what the caller says it is, and no fabric uses it otherwise.
            control: Arc::new(unsafe { Control::new(Arc::new(control)) }),
            heap: Arc::new(heap),
            bells: bells.into_iter().map(|bell| Arc::new(Bell::Process(Event::of(bell)))).collect(),
            helper: Helper::new()?,
            common: Common::default(),
        })
    }
}
