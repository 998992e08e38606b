//! A segment is symmetric memory: the same range of bytes on every PE, at an address that is computed.
//!
//! Its PEs' instances lie `stride` apart in one mapping, so the remote address is one multiplication, one
//! addition and one bounds check away, without a table.

use std::sync::Arc;

use super::HostMap;

/// Which symmetric memory a segment is. The same on all PEs. Each is a bit, so that a PE that sleeps can say
/// with one word in which of them it waits for something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum SegmentId {
    /// Scratch memory of the library.
    Scratch = 1,
    /// The symmetric heap in host memory.
    Heap = 2,
    /// That in device memory.
    Gpu = 4,
}

impl SegmentId {
    /// The bits of all.
    pub const ALL: u32 = 7;

    /// Its bit.
    #[inline(always)]
    pub fn bit(self) -> u32 {
        self as u32
    }
}

/// Some bytes of a segment, on whichever PE.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// The segment.
    pub segment: SegmentId,
    /// The first byte.
    pub offset: usize,
    /// How many.
    pub len: usize,
}

/// Symmetric memory of all PEs of one host.
///
/// ```
/// use std::sync::Arc;
/// use oxshmem_memory::{HostMap, Segment, SegmentId};
///
/// let map = Arc::new(HostMap::new(2, 1 << 16)?);
/// let segment = Segment::new(SegmentId::Heap, Arc::clone(&map), 4096, 1024);
/// assert_eq!((segment.blocks(), segment.len()), (2, 1024));
/// assert_eq!(segment.address(1, 8, 8), Some(map.base().wrapping_add((1 << 16) + 4096 + 8)));
/// # Ok::<(), oxshmem_base::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Segment {
    id: SegmentId,
    /// Address of offset 0 in block 0.
    origin: *mut u8,
    stride: usize,
    len: usize,
    blocks: usize,
    map: Arc<HostMap>,
}

// SAFETY: a segment is an address range kept mapped by `map`; access to what is behind it is `unsafe` or by
// copies that tolerate races.
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
            blocks: map.count(),
            map,
        }
    }

    /// Which it is.
    #[inline(always)]
    pub fn id(&self) -> SegmentId {
        self.id
    }

    /// Bytes on each PE.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many PEs of this host have it.
    #[inline]
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// The address in this process of `offset` in a PE's block, if `bytes` from there on are in the segment.
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
    pub fn address(&self, block: usize, offset: usize, bytes: usize) -> Option<*mut u8> {
        let inside = block < self.blocks && offset <= self.len && bytes <= self.len - offset;
        inside.then(|| self.address_unchecked(block, offset))
    }

    /// The same without the check: for a `block` and `offset` that were checked before.
    /// A wrong one gives an address outside of the segment.
    #[inline(always)]
    pub fn address_unchecked(&self, block: usize, offset: usize) -> *mut u8 {
        self.origin.wrapping_add(block.wrapping_mul(self.stride).wrapping_add(offset))
    }

    /// The same memory where the instance of each PE is that of the PE in `block`: for words of one PE that others wait for.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use oxshmem_memory::{HostMap, Segment, SegmentId};
    ///
    /// let map = Arc::new(HostMap::new(3, 1 << 16)?);
    /// let segment = Segment::new(SegmentId::Scratch, map, 0, 1024);
    /// let shared = segment.of_block(2);
    /// assert_eq!(shared.address(0, 8, 8), segment.address(2, 8, 8));
    /// assert_eq!(shared.address(1, 8, 8), segment.address(2, 8, 8));
    /// # Ok::<(), oxshmem_base::Error>(())
    /// ```
    ///
    /// # Panics
    /// If there is no such block.
    pub fn of_block(&self, block: usize) -> Self {
        assert!(block < self.blocks, "there are {} blocks", self.blocks);
        Self { origin: self.address_unchecked(block, 0), stride: 0, ..self.clone() }
    }

    /// The map that keeps the memory.
    pub fn map(&self) -> &Arc<HostMap> {
        &self.map
    }
}
