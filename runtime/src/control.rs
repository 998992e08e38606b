//! The control block of a PE: a small piece of shared memory through which the library, not the user,
//! meets other PEs.
//!
//! It begins with one page whose words have fixed meanings; behind it lies scratch memory for the
//! collectives of the world, which reach it as a [`Segment`](crate::memory::Segment) like any other.

use std::sync::{Arc, atomic::AtomicU32};

use crate::{
    Result,
    memory::{HostMap, Segment},
};

/// Bytes of one PE's control block.
pub(crate) const BLOCK: usize = 64 << 10;
/// Where in the block the scratch memory begins: behind the page of fixed words.
const SCRATCH: usize = 4096;

/// The words at the start of each control block, every one on cache lines of its own.
#[repr(C)]
pub(crate) struct Page {
    /// Not 0 while the PE sleeps and wants its doorbell rung.
    pub(crate) sleeping: Line<AtomicU32>,
    /// In PE 0's block alone: not 0 once anybody in the job may store past the library (see `Executor`).
    pub(crate) silent_stores: Line<AtomicU32>,
}

/// A value on two adjacent cache lines of its own, as processors fetch them in pairs.
#[repr(C, align(128))]
pub(crate) struct Line<T>(pub(crate) T);

/// The control blocks of all local PEs.
#[derive(Debug)]
pub(crate) struct Control {
    map: Arc<HostMap>,
}

impl Control {
    pub(crate) fn new_map(n: usize) -> Result<HostMap> {
        HostMap::new(n, BLOCK)
    }

    pub(crate) fn new(map: Arc<HostMap>) -> Self {
        debug_assert_eq!(map.stride(), BLOCK);
        Self { map }
    }

    /// The fixed words of PE `pe`.
    #[inline(always)]
    pub(crate) fn page(&self, pe: usize) -> &Page {
        assert!(pe < self.map.count());
        // SAFETY: block `pe` is inside the map, which lives as long as `self`, is aligned to its 64 KiB stride,
        // was zeroed when made, which is a valid `Page` of atomics, and is only ever accessed as one.
        unsafe { &*self.map.base().add(pe * BLOCK).cast::<Page>() }
    }

    pub(crate) fn map(&self) -> &HostMap {
        &self.map
    }

    /// The scratch memory behind the pages.
    pub(crate) fn scratch(&self) -> Segment {
        Segment::new(Arc::clone(&self.map), SCRATCH, BLOCK - SCRATCH)
    }
}

const _: () = assert!(size_of::<Page>() <= SCRATCH);
