//! What is behind the addresses of a map: huge pages, and pages on certain NUMA nodes.

use std::{io, os::fd::OwnedFd, ptr};

use oxshmem_base::memfd;
use rustix::{
    fs::MemfdFlags,
    mm::{MapFlags, ProtFlags, mmap, munmap},
};

/// How pages are spread over NUMA nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// As the system does it: mostly, where the PE runs that first touches a page.
    System,
    /// On the nodes, and nowhere else.
    Bound,
    /// On the nodes while they have room.
    Preferred,
    /// On the nodes in turn.
    Interleaved,
}

/// The letter that each begins with where it is written.
const LETTERS: [(char, Spread); 4] =
    [('S', Spread::System), ('B', Spread::Bound), ('P', Spread::Preferred), ('I', Spread::Interleaved)];

impl Spread {
    /// A word for pages that are spread over `nodes` like this, such as `B0,2`.
    ///
    /// ```
    /// use oxshmem_memory::Spread;
    ///
    /// let word = Spread::Bound.encode(&[0, 2]);
    /// assert_eq!(word, "B0,2");
    /// assert_eq!(Spread::decode(&word), Some((Spread::Bound, vec![0, 2])));
    /// ```
    pub fn encode(self, nodes: &[usize]) -> String {
        let letter = LETTERS.iter().find(|(_, it)| *it == self).map_or('S', |(letter, _)| *letter);
        let nodes: Vec<_> = nodes.iter().map(ToString::to_string).collect();
        format!("{letter}{}", nodes.join(","))
    }

    /// The meaning of a word that [`encode`](Self::encode) made. `None` if it is no such word.
    pub fn decode(word: &str) -> Option<(Self, Vec<usize>)> {
        let letter = word.chars().next()?;
        let (_, spread) = LETTERS.iter().find(|(it, _)| *it == letter)?;
        let nodes = word[1..]
            .split(',')
            .filter(|node| !node.is_empty())
            .map(|node| node.parse().ok())
            .collect::<Option<_>>()?;
        Some((*spread, nodes))
    }
}

/// Shared memory in huge pages, all of which are reserved for it.
#[derive(Debug)]
pub struct HugeMemory {
    memory: OwnedFd,
    page_size: usize,
}

impl HugeMemory {
    /// Reserves `bytes` in pages of `page_size`.
    ///
    /// # Errors
    /// That of the kernel: `ENOMEM` if too few of these pages are free.
    ///
    /// ```
    /// use oxshmem_memory::HugeMemory;
    ///
    /// assert!(HugeMemory::reserve(4096, 4096).is_err()); // no huge page is that small
    /// ```
    pub fn reserve(bytes: usize, page_size: usize) -> io::Result<Self> {
        let log2 = page_size.trailing_zeros();
        let flags = MemfdFlags::HUGETLB | MemfdFlags::from_bits_retain(log2 << libc::MFD_HUGE_SHIFT);
        let memory = memfd::sized("oxshmem-huge", flags, bytes)?;
        // A mapping reserves the pages for as long as the memory exists. It is made here, where a
        // failure loses nothing.
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address the kernel picks, which is gone before any other code
        // learns of it.
        unsafe {
            let trial = mmap(ptr::null_mut(), bytes, access, MapFlags::SHARED, &memory, 0)?;
            munmap(trial, bytes)?;
        }
        Ok(Self { memory, page_size })
    }

    /// The memory, and the bytes of a page.
    pub(super) fn into_parts(self) -> (OwnedFd, usize) {
        (self.memory, self.page_size)
    }
}

/// Nodes without an order among them. It is newer than the C library's headers.
const MPOL_PREFERRED_MANY: libc::c_int = 5;

/// Spreads pages that come into being from now on in `len` bytes from `start` on over `nodes`.
///
/// # Safety
/// The range must be the caller's mapping.
pub(super) unsafe fn bind(start: *mut u8, len: usize, spread: Spread, nodes: &[usize]) -> io::Result<()> {
    // SAFETY: passed on to the caller, here and below.
    let call = |mode, nodes: &[usize]| unsafe { mbind(start, len, mode, nodes) };
    match (spread, nodes) {
        (Spread::System, _) => Ok(()),
        (Spread::Bound, _) => call(libc::MPOL_BIND, nodes),
        (Spread::Interleaved, _) => call(libc::MPOL_INTERLEAVE, nodes),
        (Spread::Preferred, [_]) => call(libc::MPOL_PREFERRED, nodes),
        // Before Linux 5.15 there is only one node to prefer.
        (Spread::Preferred, _) => call(MPOL_PREFERRED_MANY, nodes)
            .or_else(|_| call(libc::MPOL_PREFERRED, nodes.get(..1).unwrap_or_default())),
    }
}

/// # Safety
/// As for [`bind`].
unsafe fn mbind(start: *mut u8, len: usize, mode: libc::c_int, nodes: &[usize]) -> io::Result<()> {
    const BITS: usize = libc::c_ulong::BITS as usize;
    let words = nodes.iter().max().map_or(1, |last| last / BITS + 1);
    let mut mask: Vec<libc::c_ulong> = vec![0; words];
    for &node in nodes {
        mask[node / BITS] |= 1 << (node % BITS);
    }
    // The kernel looks at one bit less than it is given.
    let bits = words * BITS + 1;
    // SAFETY: the range is the caller's, the mask has as many bits; the kernel reads nothing else.
    let done = unsafe { libc::syscall(libc::SYS_mbind, start, len, mode, mask.as_ptr(), bits, 0) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
