//! One memfd for a whole host, mapped once a process. The block of local PE `i` is at `i × stride`.
//!
//! A memfd has no name in any file system, so nothing is left behind however the job ends. A page
//! of it exists only after the first access, so blocks of terabytes cost nothing.
//!
//! A range of every block may have other memory: huge pages, which come from a memfd of their own
//! that is mapped over the range, or pages on certain NUMA nodes.

use std::{
    any::Any,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    ptr::{self, NonNull},
    sync::Arc,
};

use oxshmem_base::{Error, Result, memfd, settings::show_size};
use oxshmem_job::Shared;
use rustix::{
    fs::fstat,
    io::Errno,
    mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap},
    process::{Resource, getrlimit},
};

use super::{
    addresses::Addresses,
    backing::{HugeMemory, Spread, bind},
    shape::{Part, Shape},
};

/// The largest alignment of the home block, and so of a symmetric object.
const BASE_ALIGN: usize = 1 << 30;

/// The alignment of the home block: the largest power of two that fits into a block. No object in
/// it can need more.
fn base_align(stride: usize) -> usize {
    1 << stride.clamp(1, BASE_ALIGN).ilog2()
}

/// `local_pes` blocks of `stride` bytes in shared memory, mapped by this process.
///
/// ```
/// use oxshmem_memory::{HostMap, copy};
///
/// let map = HostMap::new(3, 1 << 16)?; // a block for each of 3 PEs
/// assert_eq!((map.local_pes(), map.stride()), (3, 1 << 16));
/// let block_2 = map.base().wrapping_add(2 * map.stride());
/// // SAFETY: the block is inside the map, and any bytes are a `u64`.
/// assert_eq!(unsafe { copy::load(block_2.cast::<u64>()) }, 0);
/// # Ok::<(), oxshmem_base::Error>(())
/// ```
#[derive(Debug)]
pub struct HostMap {
    base: NonNull<u8>,
    stride: usize,
    local_pes: usize,
    home: usize,
    memory: OwnedFd,
    parts: Vec<Part>,
    /// The memory of the parts that have their own, in their order.
    own: Vec<OwnedFd>,
    /// The owner of the addresses, if that is not this map.
    #[allow(dead_code, reason = "it is there to be dropped")]
    keeper: Option<Keeper>,
    /// The addresses, if this map owns them.
    addresses: Option<Arc<Addresses>>,
}

/// Keeps addresses reserved that belong to something else.
struct Keeper(#[allow(dead_code, reason = "it is there to be dropped")] Arc<dyn Any + Send + Sync>);

impl std::fmt::Debug for Keeper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keeper")
    }
}

// SAFETY: a `HostMap` is an address range; what is behind it is only accessed through `unsafe` code
// that makes its own promises.
unsafe impl Send for HostMap {}
// SAFETY: as above; no method changes the map.
unsafe impl Sync for HostMap {}

impl HostMap {
    /// Makes zeroed shared memory for `local_pes` blocks of `stride` bytes, and maps it. Block 0 is
    /// the home block.
    pub fn new(local_pes: usize, stride: usize) -> Result<Self> {
        Self::new_for(local_pes, stride, Some(SIZE_SETTING))
    }

    /// [`new`](Self::new), where `setting` decides about the size. Errors name it.
    pub fn new_for(local_pes: usize, stride: usize, setting: Option<&'static str>) -> Result<Self> {
        Self::new_as("oxshmem", local_pes, stride, setting)
    }

    /// [`new`](Self::new) with a name, by which a process that looks at this one's open files knows
    /// the memory. No setting decides about the size.
    pub fn named(name: &str, local_pes: usize, stride: usize) -> Result<Self> {
        Self::new_as(name, local_pes, stride, None)
    }

    fn new_as(name: &str, local_pes: usize, stride: usize, setting: Option<&'static str>) -> Result<Self> {
        let total = total(local_pes, stride, setting)?;
        let memory =
            memfd::zeroed(name, total).map_err(|e| Error::system("memfd_create for symmetric memory", e))?;
        Self::map(memory, local_pes, stride, 0, setting)
    }

    /// Reserves addresses for `local_pes` blocks of `stride` bytes, of which `home` is the home
    /// block. There is no memory at them. Errors name `setting`.
    pub fn reserved(local_pes: usize, stride: usize, home: usize, setting: &'static str) -> Result<Self> {
        Self::map_with(nothing()?, local_pes, stride, home, ProtFlags::empty(), Some(setting))
    }

    /// [`reserved`](Self::reserved), where the addresses from `base` on are reserved already, for
    /// as long as `keeper` exists.
    ///
    /// # Safety
    /// They must be, and whatever is mapped there must be the caller's to replace.
    pub unsafe fn foreign(
        base: NonNull<u8>,
        local_pes: usize,
        stride: usize,
        keeper: Arc<dyn Any + Send + Sync>,
    ) -> Result<Self> {
        let memory = nothing()?;
        let keeper = Some(Keeper(keeper));
        let (parts, own) = (Vec::new(), Vec::new());
        Ok(Self { base, stride, local_pes, home: 0, memory, parts, own, keeper, addresses: None })
    }

    fn map(
        memory: OwnedFd,
        local_pes: usize,
        stride: usize,
        home: usize,
        setting: Option<&'static str>,
    ) -> Result<Self> {
        Self::map_with(memory, local_pes, stride, home, ProtFlags::READ | ProtFlags::WRITE, setting)
    }

    fn map_with(
        memory: OwnedFd,
        local_pes: usize,
        stride: usize,
        home: usize,
        access: ProtFlags,
        setting: Option<&'static str>,
    ) -> Result<Self> {
        let total = total(local_pes, stride, setting)?;
        let align = base_align(stride);
        let reserved = total + align;
        let failed = |e| no_room(reserved, local_pes, setting, e);
        // SAFETY: a new anonymous mapping at an address the kernel picks touches nothing that
        // exists.
        let start = unsafe {
            mmap_anonymous(
                ptr::null_mut(),
                reserved,
                ProtFlags::empty(),
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )
        }
        .map_err(failed)?;
        let lead = start.cast::<u8>().wrapping_add(home * stride).align_offset(align);
        // SAFETY: `lead` + `total` is at most `reserved`, so the fixed mapping replaces, and the
        // unmappings release, only pages of the reservation just made, which no other code knows.
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
                // A failure leaves reserved address space behind, no more.
                let _ = munmap(start, lead);
            }
            if reserved - lead > total {
                let _ = munmap(base.add(total).cast(), reserved - lead - total);
            }
            base
        };
        let base =
            NonNull::new(base).ok_or_else(|| Error::bootstrap("mmap", "the kernel mapped at address 0"))?;
        let addresses = Some(Arc::new(Addresses { start: base, len: total }));
        let (parts, own) = (Vec::new(), Vec::new());
        Ok(Self { base, stride, local_pes, home, memory, parts, own, keeper: None, addresses })
    }

    /// Puts bytes `start..start + len` of every block into huge pages that were reserved for them.
    /// What was there is lost.
    ///
    /// # Errors
    /// That of the kernel. The map is of no use then.
    ///
    /// # Panics
    /// If the range is not inside a block, or not of whole pages.
    pub fn put_in_huge_pages(&mut self, start: usize, len: usize, pages: HugeMemory) -> Result<()> {
        let (memory, page_size) = pages.into_parts();
        assert!(
            [start, len, self.stride].iter().all(|it| it.is_multiple_of(page_size)),
            "a huge page has {page_size} bytes"
        );
        holds(&memory, self.local_pes * len)?;
        let part = Part { own: true, ..self.plain_part(start, len) };
        self.put_in_place(&part, Some(&memory))?;
        self.parts.push(part);
        self.own.push(memory);
        Ok(())
    }

    /// Spreads bytes `start..start + len` of every block over the NUMA nodes `nodes`, from now on.
    /// It comes after [`put_in_huge_pages`](Self::put_in_huge_pages), if the range is to be in huge
    /// pages.
    ///
    /// # Errors
    /// That of the kernel, which leaves the range where the system puts it.
    ///
    /// # Panics
    /// If the range is not inside a block.
    pub fn put_on_nodes(
        &mut self,
        start: usize,
        len: usize,
        spread: Spread,
        nodes: Vec<usize>,
    ) -> std::io::Result<()> {
        let known = self.parts.iter().position(|part| (part.start, part.len) == (start, len));
        let part = match known {
            Some(known) => Part { spread, nodes, ..self.parts[known].clone() },
            None => Part { spread, nodes, ..self.plain_part(start, len) },
        };
        self.bind(&part)?;
        match known {
            Some(known) => self.parts[known] = part,
            None => self.parts.push(part),
        }
        Ok(())
    }

    /// A range of every block, with memory like that of the rest.
    fn plain_part(&self, start: usize, len: usize) -> Part {
        assert!(
            start.checked_add(len).is_some_and(|end| end <= self.stride),
            "a part of a map lies inside its block"
        );
        Part { start, len, own: false, spread: Spread::System, nodes: Vec::new() }
    }

    /// Maps a part's own memory over its range of every block.
    fn put_in_place(&self, part: &Part, memory: Option<&OwnedFd>) -> Result<()> {
        let Some(memory) = memory else { return Ok(()) };
        for block in 0..self.local_pes {
            let place = self.base().wrapping_add(block * self.stride + part.start);
            // SAFETY: the range is inside the block, and no code has an address in it yet.
            unsafe {
                mmap(
                    place.cast(),
                    part.len,
                    ProtFlags::READ | ProtFlags::WRITE,
                    MapFlags::SHARED | MapFlags::FIXED,
                    memory,
                    (block * part.len) as u64,
                )
            }
            .map_err(|e| Error::system("mmap of huge pages", e))?;
        }
        Ok(())
    }

    /// Tells the kernel on which nodes the pages of a part are to be, in every block, whichever PE
    /// touches them first.
    fn bind(&self, part: &Part) -> std::io::Result<()> {
        for block in 0..self.local_pes {
            let place = self.base().wrapping_add(block * self.stride + part.start);
            // SAFETY: the range is this map's.
            unsafe { bind(place, part.len, part.spread, &part.nodes) }?;
        }
        Ok(())
    }

    /// The address of block 0.
    pub fn base(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// Bytes from one block to the next.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// The home block, which begins at a multiple of the largest alignment: the block of the PE
    /// that mapped this. Where PEs share a map, the stride is such a multiple too.
    pub fn home(&self) -> usize {
        self.home
    }

    /// The addresses of the map, if it owns them. They stay reserved while the handle exists.
    ///
    /// ```
    /// use oxshmem_memory::HostMap;
    ///
    /// let map = HostMap::new(1, 1 << 16)?;
    /// let before = map.base();
    /// let kept = map.addresses();
    /// drop(map);
    /// assert_ne!(HostMap::new(1, 1 << 16)?.base(), before);
    /// drop(kept);
    /// # Ok::<(), oxshmem_base::Error>(())
    /// ```
    pub fn addresses(&self) -> Option<Arc<Addresses>> {
        self.addresses.clone()
    }

    /// Gives the pages of bytes `start..start + len` of a block back to the system, for all:
    /// they read as zeros then.
    ///
    /// # Errors
    /// The system's.
    ///
    /// # Safety
    /// No code relies on what is there.
    ///
    /// # Panics
    /// If the range is not inside a block.
    pub unsafe fn clear(&self, block: usize, start: usize, len: usize) -> Result<()> {
        let inside = start.checked_add(len).is_some_and(|end| end <= self.stride);
        assert!(block < self.local_pes && inside, "a range lies inside its block");
        let place = self.base().wrapping_add(block * self.stride + start);
        // SAFETY: the range is inside the map, and the caller vouches for what is there.
        unsafe { madvise(place.cast(), len, Advice::LinuxRemove) }
            .map_err(|error| Error::system("madvise of symmetric memory", error))
    }

    /// How many local PEs there are, each with a block.
    pub fn local_pes(&self) -> usize {
        self.local_pes
    }

    /// The memory of all blocks, except for parts that have memory of their own. Block `i` begins
    /// `i` strides after its start.
    ///
    /// # Safety
    /// With it safe code can write to all PEs' memory and map it again. The caller must touch only
    /// bytes that no other code relies on.
    pub unsafe fn descriptor(&self) -> BorrowedFd<'_> {
        self.memory.as_fd()
    }

    /// The memory of parts that have their own.
    ///
    /// # Safety
    /// As for [`descriptor`](Self::descriptor).
    pub unsafe fn own_descriptors(&self) -> &[OwnedFd] {
        &self.own
    }

    /// How the map is divided.
    pub fn shape(&self) -> Shape {
        Shape { local_pes: self.local_pes, stride: self.stride, parts: self.parts.clone() }
    }
}

impl Drop for HostMap {
    fn drop(&mut self) {
        let Some(addresses) = self.addresses.take() else { return };
        if Arc::strong_count(&addresses) > 1 {
            // SAFETY: the map owns the range, and its addresses are used only while the map exists.
            // If this fails, the mapping stays.
            let _ = unsafe {
                mmap_anonymous(
                    addresses.start.as_ptr().cast(),
                    addresses.len,
                    ProtFlags::empty(),
                    MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED,
                )
            };
        }
    }
}

impl Shared for HostMap {
    unsafe fn to_descriptors(&self) -> Result<Vec<OwnedFd>> {
        let shape = self.shape().write()?;
        let dup = |memory: &OwnedFd| memory.try_clone().map_err(|e| Error::system("dup", e));
        let mut descriptors = vec![dup(&self.memory)?, shape];
        for own in &self.own {
            descriptors.push(dup(own)?);
        }
        Ok(descriptors)
    }

    unsafe fn from_descriptors(descriptors: Vec<OwnedFd>, block: usize) -> Result<Self> {
        Self::received(descriptors, block, Some(SIZE_SETTING))
    }
}

impl HostMap {
    /// [`from_descriptors`](Shared::from_descriptors), where `setting` decides about the size.
    pub fn received(descriptors: Vec<OwnedFd>, block: usize, setting: Option<&'static str>) -> Result<Self> {
        let got = descriptors.len();
        let unexpected = || Error::bootstrap("share", format!("a map does not come with {got} descriptors"));
        let mut descriptors = descriptors.into_iter();
        let (Some(memory), Some(shape)) = (descriptors.next(), descriptors.next()) else {
            return Err(unexpected());
        };
        let shape = Shape::read(shape.as_fd())?;
        if got != 2 + shape.own_memories() {
            return Err(unexpected());
        }
        if block >= shape.local_pes {
            return Err(Error::bootstrap(
                "share",
                format!(
                    "the shared memory is that of {} PEs, and has no part for local PE {block}",
                    shape.local_pes
                ),
            ));
        }
        holds(&memory, total(shape.local_pes, shape.stride, setting)?)?;
        let mut map = Self::map(memory, shape.local_pes, shape.stride, block, setting)?;
        for part in shape.parts {
            if part.own {
                let own = descriptors.next();
                own.iter().try_for_each(|own| holds(own, shape.local_pes * part.len))?;
                map.put_in_place(&part, own.as_ref())?;
                // The nodes of ordinary pages are kept with the memory, those of huge pages with
                // each mapping.
                map.bind(&part).map_err(|e| Error::system("mbind", e))?;
                map.own.extend(own);
            }
            map.parts.push(part);
        }
        Ok(map)
    }
}

/// An error unless `memory` has this many bytes: an access beyond its end raises SIGBUS.
fn holds(memory: &OwnedFd, bytes: usize) -> Result<()> {
    let there = fstat(memory).map_err(|e| Error::system("fstat", e))?.st_size;
    if usize::try_from(there).is_ok_and(|there| there >= bytes) {
        return Ok(());
    }
    Err(Error::bootstrap("share", format!("a map of {bytes} bytes came with memory of {there}")))
}

/// The memory of a map that has only addresses.
fn nothing() -> Result<OwnedFd> {
    memfd::zeroed("oxshmem-reserved", 0)
        .map_err(|e| Error::system("memfd_create for addresses of device memory", e))
}

/// The setting that decides about the size of most maps.
const SIZE_SETTING: &str = "SHMEM_SYMMETRIC_SIZE";

/// The error for too little address space: it says how much there is, and what helps.
fn no_room(reserved: usize, local_pes: usize, setting: Option<&'static str>, error: Errno) -> Error {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let used = pages.and_then(|pages| pages.split(' ').next()?.parse::<usize>().ok());
    let limit = match (getrlimit(Resource::As).current, used) {
        (Some(limit), Some(pages)) => {
            let used = show_size(pages * rustix::param::page_size());
            format!("the limit (ulimit -v) is {}K, and {used} are in use: raise it", limit >> 10)
        }
        _ => "raise the limit, if there is one (ulimit -v)".to_owned(),
    };
    let smaller = setting.map_or(String::new(), |setting| format!(", lower {setting}"));
    Error::Unsupported {
        what: format!(
            "cannot reserve {reserved} bytes of address space for the symmetric memory of the {local_pes} PEs of this host \
             ({error}); {limit}{smaller}, or start fewer PEs"
        ),
    }
}

fn total(local_pes: usize, stride: usize, setting: Option<&'static str>) -> Result<usize> {
    local_pes
        .checked_mul(stride)
        .filter(|&total| total > 0 && total <= isize::MAX as usize - BASE_ALIGN)
        .ok_or_else(|| Error::Unsupported {
            what: format!(
                "{local_pes} PEs with {stride} bytes of symmetric memory each do not fit into the address space; \
                 lower {}the number of PEs",
                setting.map_or(String::new(), |setting| format!("{setting} or "))
            ),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_made_from_descriptors_shows_the_same_memory_at_the_same_offsets() {
        let a = HostMap::new(3, 1 << 16).unwrap();
        // SAFETY: the only other user is `b`.
        let b = HostMap::received(unsafe { a.to_descriptors() }.unwrap(), 1, Some(SIZE_SETTING)).unwrap();
        assert_eq!((b.local_pes(), b.stride()), (3, 1 << 16));
        assert_eq!((a.home(), a.base() as usize % (1 << 16)), (0, 0));
        assert_eq!((b.home(), (b.base() as usize + (1 << 16)) % (1 << 16)), (1, 0));
        // SAFETY: no memory is made of them.
        let (unused, mut short) = unsafe { (a.to_descriptors().unwrap(), a.to_descriptors().unwrap()) };
        assert!(HostMap::received(unused, 3, Some(SIZE_SETTING)).is_err());
        short[0] = memfd::zeroed("short", (3 << 16) - 1).unwrap();
        assert!(HostMap::received(short, 1, Some(SIZE_SETTING)).is_err());
        // SAFETY: block 2 begins inside both maps.
        unsafe {
            copy_byte(a.base().add(2 << 16), 7);
            assert_eq!(super::super::copy::load(b.base().add(2 << 16)), 7u8);
        }
    }

    #[test]
    fn the_block_at_home_is_aligned_to_what_fits_into_it_and_to_a_gibibyte_at_most() {
        let strides = [4096, 6 << 20, 514 << 20, 1 << 30, (3 << 30) + (2 << 20)];
        assert_eq!(strides.map(base_align), [4096, 4 << 20, 512 << 20, 1 << 30, 1 << 30]);
        for stride in strides {
            let a = HostMap::new(2, stride).unwrap();
            // SAFETY: the only other user is `b`.
            let b = HostMap::received(unsafe { a.to_descriptors() }.unwrap(), 1, Some(SIZE_SETTING)).unwrap();
            for map in [a, b] {
                let home = map.base().wrapping_add(map.home() * stride);
                assert!(home.addr().is_multiple_of(base_align(stride)), "{home:p} {stride:#x}");
            }
        }
    }

    #[test]
    fn terabytes_are_reserved_without_touching_them() {
        if std::env::var_os("OXSHMEM_TEST_PLAYED").is_some() {
            println!("skipped: an emulator of a processor keeps a record of each page");
            return;
        }
        let map = HostMap::new(4, 1 << 40).unwrap();
        // SAFETY: the last byte of the last block is inside the map.
        unsafe { copy_byte(map.base().add((4 << 40) - 1), 1) };
    }

    #[test]
    fn a_job_that_no_address_space_holds_is_an_error_that_names_the_setting() {
        for (local_pes, stride) in [(1 << 20, 1 << 40), (usize::MAX, 2)] {
            let error = HostMap::new(local_pes, stride).unwrap_err().to_string();
            assert!(error.contains("SHMEM_SYMMETRIC_SIZE"), "{error}");
        }
    }

    #[test]
    fn a_part_with_memory_of_its_own_is_the_same_in_every_map_and_descriptor() {
        let mut a = HostMap::new(2, 1 << 20).unwrap();
        let part = Part { start: 64 << 10, len: 128 << 10, own: true, spread: Spread::System, nodes: vec![] };
        let own = memfd::zeroed("own", 256 << 10).unwrap();
        a.put_in_place(&part, Some(&own)).unwrap();
        (a.parts, a.own) = (vec![part], vec![own]);
        // SAFETY: the only other user is `b`.
        let b = HostMap::received(unsafe { a.to_descriptors() }.unwrap(), 1, Some(SIZE_SETTING)).unwrap();
        assert_eq!(a.shape(), b.shape());
        for block in 0..2 {
            for (i, at) in [(64 << 10) - 1, 64 << 10, (192 << 10) - 1, 192 << 10].into_iter().enumerate() {
                // SAFETY: the byte is inside of a block of both maps.
                unsafe {
                    copy_byte(a.base().add((block << 20) + at), (4 * block + i + 1) as u8);
                    assert_eq!(
                        super::super::copy::load(b.base().add((block << 20) + at)),
                        (4 * block + i + 1) as u8
                    );
                }
            }
        }
        let byte = |fd: &OwnedFd, at: u64| {
            let mut byte = [0];
            rustix::io::pread(fd, &mut byte, at).unwrap();
            byte[0]
        };
        // SAFETY: it is only looked at.
        let own = &unsafe { b.own_descriptors() }[0];
        assert_eq!([0, (128 << 10) - 1, 128 << 10, (256 << 10) - 1].map(|at| byte(own, at)), [2, 3, 6, 7]);
        assert_eq!(byte(&b.memory, 64 << 10), 0, "what lies below is never touched");
        // SAFETY: no memory is made of them.
        let mut descriptors = unsafe { a.to_descriptors() }.unwrap();
        descriptors.pop();
        assert!(HostMap::received(descriptors, 0, Some(SIZE_SETTING)).is_err());
    }

    unsafe fn copy_byte(at: *mut u8, byte: u8) {
        // SAFETY: passed on to the caller.
        unsafe { super::super::copy::store(at, byte) }
    }
}
