//! A segment is symmetric memory: the same range of bytes on every PE.
//!
//! The instances of the PEs lie `stride` apart in one mapping, so a remote address is a bounds
//! check, a multiplication and an addition.

use std::sync::Arc;

use super::HostMap;

/// The largest alignment that symmetric memory keeps.
pub const HEAP_ALIGN: usize = 1 << 30;

/// Which symmetric memory a segment is. Each is a bit, so that one word of a sleeping PE says in
/// which segments it waits for something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum SegmentId {
    /// The library's scratch memory.
    Scratch = 1,
    /// The symmetric heap in host memory.
    Heap = 2,
    /// The symmetric heap in device memory.
    Gpu = 4,
}

impl SegmentId {
    /// The bits of all segments.
    pub const ALL: u32 = 7;

    /// Its bit.
    #[inline(always)]
    pub fn bit(self) -> u32 {
        self as u32
    }
}

/// A range of bytes of a segment, on any PE.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// The segment.
    pub segment: SegmentId,
    /// The first byte.
    pub offset: usize,
    /// The number of bytes.
    pub len: usize,
}

/// The symmetric memory of all PEs of one host.
///
/// ```
/// use std::sync::Arc;
/// use oxshmem_memory::{HostMap, Segment, SegmentId};
///
/// let map = Arc::new(HostMap::new(2, 1 << 16)?);
/// let segment = Segment::new(SegmentId::Heap, Arc::clone(&map), 4096, 1024);
/// assert_eq!((segment.local_pes(), segment.len()), (2, 1024));
/// assert_eq!(segment.address(1, 8, 8), Some(map.base().wrapping_add((1 << 16) + 4096 + 8)));
/// # Ok::<(), oxshmem_base::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Segment {
    id: SegmentId,
    /// The address of offset 0 of local PE 0.
    origin: *mut u8,
    stride: usize,
    len: usize,
    local_pes: usize,
    map: Arc<HostMap>,
}

// SAFETY: a segment is a range of addresses that `map` keeps mapped; accesses to its memory are
// `unsafe`, or copies that tolerate races.
unsafe impl Send for Segment {}
// SAFETY: as above; no method changes the segment.
unsafe impl Sync for Segment {}

impl Segment {
    /// Bytes `start..start + len` of every block of `map`.
    ///
    /// # Panics
    /// If that is not inside a block.
    pub fn new(id: SegmentId, map: Arc<HostMap>, start: usize, len: usize) -> Self {
        assert!(
            start.checked_add(len).is_some_and(|end| end <= map.stride()),
            "a segment lies inside its block"
        );
        Self {
            id,
            origin: map.base().wrapping_add(start),
            stride: map.stride(),
            len,
            local_pes: map.local_pes(),
            map,
        }
    }

    /// Which segment it is.
    #[inline(always)]
    pub fn id(&self) -> SegmentId {
        self.id
    }

    /// Bytes on each PE.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number of local PEs.
    #[inline]
    pub fn local_pes(&self) -> usize {
        self.local_pes
    }

    /// The address in this process of `offset` of a local PE, if the `bytes` from there on are in
    /// the segment.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use oxshmem_memory::{HostMap, Segment, SegmentId};
    ///
    /// let map = Arc::new(HostMap::new(2, 1 << 16)?);
    /// let segment = Segment::new(SegmentId::Heap, map, 0, 1024);
    /// assert!(segment.address(1, 1016, 8).is_some());
    /// assert!(segment.address(1, 1017, 8).is_none());
    /// assert!(segment.address(2, 0, 8).is_none());
    /// # Ok::<(), oxshmem_base::Error>(())
    /// ```
    #[inline]
    pub fn address(&self, local_pe: usize, offset: usize, bytes: usize) -> Option<*mut u8> {
        let inside = local_pe < self.local_pes && offset <= self.len && bytes <= self.len - offset;
        inside.then(|| self.address_unchecked(local_pe, offset))
    }

    /// [`address`](Self::address) without the check. A wrong local PE or offset gives an address
    /// outside the segment.
    #[inline(always)]
    pub fn address_unchecked(&self, local_pe: usize, offset: usize) -> *mut u8 {
        self.origin.wrapping_add(local_pe.wrapping_mul(self.stride).wrapping_add(offset))
    }

    /// A segment in which all PEs have the memory of one: for words of one PE that others wait for.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use oxshmem_memory::{HostMap, Segment, SegmentId};
    ///
    /// let map = Arc::new(HostMap::new(3, 1 << 16)?);
    /// let segment = Segment::new(SegmentId::Scratch, map, 0, 1024);
    /// let shared = segment.of_local_pe(2);
    /// assert_eq!(shared.address(0, 8, 8), segment.address(2, 8, 8));
    /// assert_eq!(shared.address(1, 8, 8), segment.address(2, 8, 8));
    /// # Ok::<(), oxshmem_base::Error>(())
    /// ```
    ///
    /// # Panics
    /// If there is no such local PE.
    pub fn of_local_pe(&self, local_pe: usize) -> Self {
        assert!(local_pe < self.local_pes, "there are {} local PEs", self.local_pes);
        Self { origin: self.address_unchecked(local_pe, 0), stride: 0, ..self.clone() }
    }

    /// The map that keeps the memory.
    pub fn map(&self) -> &Arc<HostMap> {
        &self.map
    }
}
