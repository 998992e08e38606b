//! What is where in a PE's symmetric memory on its host.

use std::sync::Arc;

use oxshmem_base::{
    Error,
    settings::{Settings, SpacePlan},
};
use oxshmem_memory::{HEAP_ALIGN, Segment, SegmentId};
use oxshmem_progress::fabric::Fabric;

use crate::{kinds::PartitionLayout, relay};

/// Bytes from one PE's memory to the next one's are an odd multiple of this: a page, the largest
/// but one, so that huge pages keep their places.
///
/// Some processors predict by a hash of a few bits of its address where in their first cache a line
/// is, AMD's by bits 12 to 27. If they are the same for two lines, as they would be for what lies
/// at the same place of two PEs' heaps, only one of them is found at once. A word to and fro took a
/// third longer.
const SHIFT: usize = 2 << 20;

/// What the place of whatever lies behind the globals is aligned to: no page is larger.
const BEHIND_ALIGN: usize = 64 << 10;

/// Bytes behind the host's image of device memory, for the teams.
pub const IMAGE_TAIL: usize = 64 << 10;

/// What is where in each PE's symmetric memory on its host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places {
    /// Bytes of the heap, which comes first.
    pub(super) heap: usize,
    /// The executable's globals, on pages of their own.
    pub(super) statics: usize,
    /// The memory of an emulated device.
    pub(super) device: usize,
    /// As many bytes again, through which collectives on device memory go, and the tail.
    pub(super) image: usize,
    /// Pieces through which device memory goes to and from other hosts, if there are any.
    pub(super) pieces: usize,
    pub(super) end: usize,
}

impl Places {
    /// `far` says whether there are other hosts. None if it is beyond any address space.
    pub(super) fn new(
        settings: &Settings,
        spaces: &SpacePlan,
        layout: &PartitionLayout,
        far: bool,
    ) -> Option<Self> {
        let (heap, statics, device) = (layout.len(), layout.statics_at(), spaces.device_bytes());
        let behind = statics.checked_add(settings.statics)?;
        if spaces.gpu.is_none() {
            return Some(Self { heap, statics, device: behind, image: behind, pieces: behind, end: behind });
        }
        let device_at = behind.checked_next_multiple_of(BEHIND_ALIGN)?;
        let image = device_at.checked_add(device)?.checked_next_multiple_of(BEHIND_ALIGN)?;
        let pieces =
            image.checked_add(device)?.checked_next_multiple_of(BEHIND_ALIGN)?.checked_add(IMAGE_TAIL)?;
        let end = pieces.checked_add(if far { relay::ROOM } else { 0 })?;
        Some(Self { heap, statics, device: device_at, image, pieces, end })
    }

    /// Bytes from one PE's memory to the next one's, where the PEs of a host have one map, or one
    /// each. None if it is beyond any address space.
    pub(super) fn stride(&self, layout: &PartitionLayout, one_map: bool) -> Option<usize> {
        // Each PE's own map begins where its own memory is aligned.
        if !one_map && layout.largest_page() <= SHIFT {
            return (self.end.max(1).div_ceil(SHIFT) | 1).checked_mul(SHIFT);
        }
        // What fits into the memory of a PE can be aligned to nothing beyond it, so that small
        // heaps take little address space.
        let fits = 1 << self.end.clamp(1, HEAP_ALIGN).ilog2();
        self.end.max(1).checked_next_multiple_of(layout.largest_page().max(fits))
    }
}

pub(super) fn symmetric(fabric: &Fabric, places: Places) -> Segment {
    Segment::new(SegmentId::Heap, Arc::clone(&fabric.heap), 0, places.end)
}

/// The heaps are too large.
pub(super) fn beyond(spaces: &SpacePlan) -> Error {
    let heaps = [spaces.cpu, spaces.gpu].into_iter().flatten();
    let sizes: Vec<String> = heaps.map(|heap| format!("{}={}", heap.setting, heap.bytes)).collect();
    Error::Unsupported {
        what: format!("{} is beyond any address space; make it smaller", sizes.join(" with ")),
    }
}
