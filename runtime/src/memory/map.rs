//! One memfd for a whole host, mapped once a process: block `i` at `i × stride`.
//!
//! A memfd has no name in any file system, so nothing is left behind however the job ends, and its
//! pages exist only once somebody touches them, so that blocks of terabytes cost nothing.

use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    ptr::{self, NonNull},
};

use rustix::{
    fs::{MemfdFlags, ftruncate, memfd_create},
    mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap},
};

use crate::{Error, Result, bootstrap::Shared};

/// The alignment of the first block: what a symmetric object may be aligned to at most.
const BASE_ALIGN: usize = 1 << 30;

/// `count` blocks of `stride` bytes in shared memory, mapped by this process.
///
/// ```
/// use oxshmem_runtime::memory::{HostMap, copy};
///
/// let map = HostMap::new(3, 1 << 16)?; // a block for each of 3 PEs
/// assert_eq!((map.count(), map.stride()), (3, 1 << 16));
/// let block_2 = map.base().wrapping_add(2 * map.stride());
/// // SAFETY: the block is inside the map, and any bytes are a `u64`.
/// assert_eq!(unsafe { copy::load(block_2.cast::<u64>()) }, 0);
/// # Ok::<(), oxshmem_runtime::Error>(())
/// ```
#[derive(Debug)]
pub struct HostMap {
    base: NonNull<u8>,
    stride: usize,
    count: usize,
    memory: OwnedFd,
}

// SAFETY: a `HostMap` is an address range; what is behind it is only accessed through `unsafe` code that
// makes its own promises.
unsafe impl Send for HostMap {}
// SAFETY: as above; no method changes the map.
unsafe impl Sync for HostMap {}

impl HostMap {
    /// Makes zeroed shared memory for `count` blocks of `stride` bytes, and maps it.
    pub fn new(count: usize, stride: usize) -> Result<Self> {
        let total = total(count, stride, SIZE_SETTING)?;
        let memory = memfd_create("oxshmem", MemfdFlags::CLOEXEC)
            .map_err(|e| Error::system("memfd_create for symmetric memory", e))?;
        ftruncate(&memory, total as u64).map_err(|e| Error::system("ftruncate of symmetric memory", e))?;
        Self::map(memory, count, stride)
    }

    /// Addresses for `count` blocks of `stride` bytes, at which there is nothing to be loaded or stored. An error names
    /// `setting`.
    pub fn reserved(count: usize, stride: usize, setting: &'static str) -> Result<Self> {
        let nothing = memfd_create("oxshmem-reserved", MemfdFlags::CLOEXEC)
            .map_err(|e| Error::system("memfd_create for addresses of device memory", e))?;
        Self::map_with(nothing, count, stride, ProtFlags::empty(), setting)
    }

    fn map(memory: OwnedFd, count: usize, stride: usize) -> Result<Self> {
        Self::map_with(memory, count, stride, ProtFlags::READ | ProtFlags::WRITE, SIZE_SETTING)
    }

    fn map_with(
        memory: OwnedFd,
        count: usize,
        stride: usize,
        access: ProtFlags,
        setting: &'static str,
    ) -> Result<Self> {
        let total = total(count, stride, setting)?;
        let reserved = total + BASE_ALIGN;
        let failed = |e| Error::Unsupported {
            what: format!(
                "cannot reserve {reserved} bytes of address space for the symmetric memory of {count} PEs \
                 ({e}); lower {setting} or the number of PEs, or raise the address space limit (ulimit -v)"
            ),
        };
        // SAFETY: a new anonymous mapping at an address the kernel picks touches nothing that exists.
        let start = unsafe {
            mmap_anonymous(
                ptr::null_mut(),
                reserved,
                ProtFlags::empty(),
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )
        }
        .map_err(failed)?;
        let lead = start.cast::<u8>().align_offset(BASE_ALIGN);
        // SAFETY: `lead` + `total` is at most `reserved`, so the fixed mapping replaces, and the unmappings
        // release, only pages of the reservation just made, which nobody else knows of.
        let base = unsafe {
            let base = start.cast::<u8>().add(lead);
            mmap(
                base.cast(),
                total,
                access,
                MapFlags::SHARED | MapFlags::FIXED | MapFlags::NORESERVE,
                &memory,
                0,
            )
            .map_err(failed)?;
            if lead > 0 {
                // Failure would leave reserved address space behind, no more.
                let _ = munmap(start, lead);
            }
            if reserved - lead > total {
                let _ = munmap(base.add(total).cast(), reserved - lead - total);
            }
            base
        };
        let base =
            NonNull::new(base).ok_or_else(|| Error::bootstrap("mmap", "the kernel mapped at address 0"))?;
        Ok(Self { base, stride, count, memory })
    }

    /// The address of block 0.
    pub fn base(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// Bytes from one block to the next.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// How many blocks there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// What is mapped: block `i` is `i` strides behind its beginning.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.memory.as_fd()
    }

    /// Count and stride of the map whose second descriptor this is.
    pub(crate) fn shape(shape: BorrowedFd<'_>) -> Result<(usize, usize)> {
        let mut bytes = [[0; size_of::<usize>()]; 2];
        let n =
            rustix::io::pread(shape, bytes.as_flattened_mut(), 0).map_err(|e| Error::system("pread", e))?;
        if n != size_of_val(&bytes) {
            return Err(Error::bootstrap("share", "a map arrived without its shape"));
        }
        let [count, stride] = bytes.map(usize::from_ne_bytes);
        Ok((count, stride))
    }
}

impl Drop for HostMap {
    fn drop(&mut self) {
        // SAFETY: the range is this map's own; whoever uses its addresses holds the map.
        // Failure would leave address space behind, no more.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.stride * self.count) };
    }
}

impl Shared for HostMap {
    fn to_descriptors(&self) -> Result<Vec<OwnedFd>> {
        // The shape travels as the file's size and a tiny second memfd.
        let shape = memfd_create("oxshmem-shape", MemfdFlags::CLOEXEC)
            .map_err(|e| Error::system("memfd_create", e))?;
        let bytes = [self.count.to_ne_bytes(), self.stride.to_ne_bytes()].concat();
        rustix::io::pwrite(&shape, &bytes, 0).map_err(|e| Error::system("pwrite", e))?;
        let memory = self.memory.as_fd().try_clone_to_owned().map_err(|e| Error::system("dup", e))?;
        Ok(vec![memory, shape])
    }

    fn from_descriptors(descriptors: Vec<OwnedFd>) -> Result<Self> {
        let [memory, shape] = <[OwnedFd; 2]>::try_from(descriptors).map_err(|got| {
            Error::bootstrap("share", format!("expected 2 descriptors of a map, got {}", got.len()))
        })?;
        let (count, stride) = Self::shape(shape.as_fd())?;
        Self::map(memory, count, stride)
    }
}

/// What makes most maps as large as they are.
const SIZE_SETTING: &str = "SHMEM_SYMMETRIC_SIZE";

fn total(count: usize, stride: usize, setting: &'static str) -> Result<usize> {
    count
        .checked_mul(stride)
        .filter(|&total| total > 0 && total <= isize::MAX as usize - BASE_ALIGN)
        .ok_or_else(|| Error::Unsupported {
            what: format!(
                "{count} PEs with {stride} bytes of symmetric memory each do not fit into the address space; \
                 lower {setting} or the number of PEs"
            ),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_made_from_descriptors_shows_the_same_memory_at_the_same_offsets() {
        let a = HostMap::new(3, 1 << 16).unwrap();
        let b = HostMap::from_descriptors(a.to_descriptors().unwrap()).unwrap();
        assert_eq!((b.count(), b.stride()), (3, 1 << 16));
        assert_eq!(a.base() as usize % BASE_ALIGN, 0);
        // SAFETY: block 2 begins inside both maps.
        unsafe {
            copy_byte(a.base().add(2 << 16), 7);
            assert_eq!(super::super::copy::load(b.base().add(2 << 16)), 7u8);
        }
    }

    #[test]
    fn terabytes_are_reserved_without_touching_them() {
        let map = HostMap::new(4, 1 << 40).unwrap();
        // SAFETY: the last byte of the last block is inside the map.
        unsafe { copy_byte(map.base().add((4 << 40) - 1), 1) };
    }

    #[test]
    fn a_job_that_no_address_space_holds_is_an_error_that_names_the_setting() {
        for (count, stride) in [(1 << 20, 1 << 40), (usize::MAX, 2)] {
            let error = HostMap::new(count, stride).unwrap_err().to_string();
            assert!(error.contains("SHMEM_SYMMETRIC_SIZE"), "{error}");
        }
    }

    unsafe fn copy_byte(at: *mut u8, byte: u8) {
        // SAFETY: passed on to the caller.
        unsafe { super::super::copy::store(at, byte) }
    }
}
