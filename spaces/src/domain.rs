//! Memory domains: what kind of memory a symmetric heap is in, and how the library itself touches
//! it.
//!
//! [`HostDomain`] is the one every job has. Others are not reachable by loads and stores, so
//! whatever is not a transport's business (filling new memory, a PE's look at its own) goes through
//! [`MemoryDomain`].

use std::sync::Arc;

use oxshmem_memory::{
    Segment, copy,
    word::{Atomic, AtomicWord},
};

use crate::{
    Pe,
    device::{AnyDevice, DevicePlace, End},
};

/// A kind of memory that holds symmetric objects.
///
/// # Safety
/// `segment` must describe memory that stays mapped for as long as the domain lives, and the other
/// methods must touch the bytes of their arguments only.
pub unsafe trait MemoryDomain: Send + Sync {
    /// Its name in messages.
    fn name(&self) -> &'static str;

    /// The symmetric memory: one instance on each PE.
    fn segment(&self) -> &Segment;

    /// Whether this PE may load and store `pe`'s instance, so that a raw pointer to it makes sense.
    fn direct_access(&self, pe: usize) -> bool;

    /// Copies `len` bytes from private memory to `offset` on `pe`, and returns when they are there.
    ///
    /// # Safety
    /// The range must be in the segment, `from` readable.
    unsafe fn write(&self, pe: usize, offset: usize, from: *const u8, len: usize);

    /// Copies `len` bytes at `offset` on `pe` to private memory.
    ///
    /// # Safety
    /// The range must be in the segment, `to` writable.
    unsafe fn read(&self, pe: usize, offset: usize, to: *mut u8, len: usize);

    /// Sets `len` bytes at `offset` on `pe` to `byte`.
    ///
    /// # Safety
    /// The range must be in the segment.
    unsafe fn fill(&self, pe: usize, offset: usize, byte: u8, len: usize);

    /// Performs an atomic operation on the word at `offset` on `pe`.
    ///
    /// # Safety
    /// The word must be in the segment and aligned.
    unsafe fn atomic<W: AtomicWord>(&self, pe: usize, offset: usize, operation: Atomic<W>) -> W;
}

/// The host's memory, shared among its PEs.
#[derive(Debug)]
pub struct HostDomain {
    segment: Segment,
}

impl HostDomain {
    /// The symmetric heap of the job that `pe` is in, with all its partitions.
    pub fn heap(pe: &Pe) -> Self {
        Self { segment: pe.host_heap() }
    }

    fn at(&self, pe: usize, offset: usize, len: usize) -> *mut u8 {
        debug_assert!(self.segment.address(pe, offset, len).is_some());
        self.segment.address_unchecked(pe, offset)
    }
}

// SAFETY: the segment holds its map; everything below touches the caller's range.
unsafe impl MemoryDomain for HostDomain {
    fn name(&self) -> &'static str {
        "host"
    }

    fn segment(&self) -> &Segment {
        &self.segment
    }

    fn direct_access(&self, pe: usize) -> bool {
        pe < self.segment.blocks()
    }

    unsafe fn write(&self, pe: usize, offset: usize, from: *const u8, len: usize) {
        // SAFETY: the caller vouches for the range.
        unsafe { copy::copy(self.at(pe, offset, len), from, len) }
    }

    unsafe fn read(&self, pe: usize, offset: usize, to: *mut u8, len: usize) {
        // SAFETY: the caller vouches for the range.
        unsafe { copy::copy(to, self.at(pe, offset, len), len) }
    }

    unsafe fn fill(&self, pe: usize, offset: usize, byte: u8, len: usize) {
        // SAFETY: the caller vouches for the range.
        unsafe { copy::fill(self.at(pe, offset, len), byte, len) }
    }

    unsafe fn atomic<W: AtomicWord>(&self, pe: usize, offset: usize, operation: Atomic<W>) -> W {
        // SAFETY: the caller vouches for bounds and alignment.
        unsafe { W::apply(self.at(pe, offset, size_of::<W>()), operation) }
    }
}

/// The memory of devices of this host. Everything here waits for the device.
#[derive(Debug)]
pub struct DeviceDomain {
    device: AnyDevice,
}

impl DeviceDomain {
    /// The symmetric heap in the memory of `device`.
    pub fn heap(device: &AnyDevice) -> Self {
        Self { device: Arc::clone(device) }
    }

    /// Copies within the memory of `pe`, between ranges that do not overlap.
    ///
    /// # Safety
    /// Both must be in the segment.
    pub unsafe fn copy(&self, pe: usize, from: usize, to: usize, len: usize) {
        let [from, to] = [from, to].map(|offset| End::Device(self.at(pe, offset, len)));
        // SAFETY: the caller vouches for the ranges.
        unsafe { self.device.copy_now(from, to, len) }
    }

    fn at(&self, pe: usize, offset: usize, len: usize) -> DevicePlace {
        debug_assert!(self.segment().address(pe, offset, len).is_some());
        // SAFETY: callers name places of the segment, which is this device's.
        unsafe { DevicePlace::new(pe, offset) }
    }
}

// SAFETY: the device keeps its memory; everything below touches the caller's range.
unsafe impl MemoryDomain for DeviceDomain {
    fn name(&self) -> &'static str {
        self.device.name()
    }

    fn segment(&self) -> &Segment {
        self.device.segment()
    }

    fn direct_access(&self, _pe: usize) -> bool {
        false
    }

    unsafe fn write(&self, pe: usize, offset: usize, from: *const u8, len: usize) {
        let to = End::Device(self.at(pe, offset, len));
        // SAFETY: the caller vouches for the range.
        unsafe { self.device.copy_now(End::Host(from.cast_mut()), to, len) }
    }

    unsafe fn read(&self, pe: usize, offset: usize, to: *mut u8, len: usize) {
        let from = End::Device(self.at(pe, offset, len));
        // SAFETY: the caller vouches for the range.
        unsafe { self.device.copy_now(from, End::Host(to), len) }
    }

    unsafe fn fill(&self, pe: usize, offset: usize, byte: u8, len: usize) {
        // SAFETY: the caller vouches for the range.
        unsafe { self.device.fill_now(self.at(pe, offset, len), byte, len) }
    }

    unsafe fn atomic<W: AtomicWord>(&self, pe: usize, offset: usize, operation: Atomic<W>) -> W {
        let at = self.at(pe, offset, size_of::<W>());
        // SAFETY: the caller vouches for bounds and alignment.
        W::from_u64(unsafe { self.device.atomic_now(at, W::WIDTH, operation.widened()) })
    }
}

/// The test that every memory domain passes.
#[cfg(test)]
pub(crate) mod suite {
    use std::time::Duration;

    use crate::device::emulated::Emulated;
    use oxshmem_memory::{HostMap, SegmentId};

    use super::*;

    /// Over a domain of at least 2 PEs and 64 KiB.
    pub(crate) fn check(domain: &impl MemoryDomain) {
        let segment = domain.segment();
        assert!(segment.blocks() >= 2 && segment.len() >= 64 << 10);
        for pe in 0..2 {
            for (offset, len) in [(0, 1), (1, 15), (64, 4096), (63, 50_000)] {
                let sent: Vec<u8> = (0..len).map(|i| (i * 13 + pe + 1) as u8).collect();
                let mut got = vec![0; len];
                // SAFETY: all ranges end below 64 KiB.
                unsafe {
                    domain.fill(pe, offset, 0xee, len);
                    domain.read(pe, offset, got.as_mut_ptr(), len);
                    assert!(got.iter().all(|&byte| byte == 0xee));
                    domain.write(pe, offset, sent.as_ptr(), len);
                    domain.read(pe, offset, got.as_mut_ptr(), len);
                }
                assert_eq!(sent, got);
            }
            // SAFETY: in bounds and aligned.
            unsafe {
                domain.atomic(pe, 8, Atomic::Set(40u64 + pe as u64));
                assert_eq!(domain.atomic(pe, 8, Atomic::Add(2u64)), 40 + pe as u64);
            }
        }
        // SAFETY: in bounds and aligned.
        let words = [0, 1].map(|pe| unsafe { domain.atomic::<u64>(pe, 8, Atomic::Fetch) });
        assert_eq!(words, [42, 43], "each PE has an instance of its own");
    }

    #[test]
    fn host_memory_passes_the_suite_of_all_domains() {
        let map = Arc::new(HostMap::new(2, 1 << 20).unwrap());
        check(&HostDomain { segment: Segment::new(SegmentId::Heap, map, 0, 1 << 20) });
    }

    #[test]
    fn device_memory_passes_the_suite_of_all_domains() {
        let map = Arc::new(HostMap::new(2, 1 << 20).unwrap());
        let nudge = Arc::new(oxshmem_progress::nudge::Nudge::new().unwrap());
        let made = Emulated::new(&map, 4096, 1 << 19, Duration::ZERO, &nudge);
        let device: AnyDevice = Arc::new(made.unwrap());
        check(&DeviceDomain::heap(&device));
    }
}
