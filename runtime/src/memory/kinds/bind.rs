//! The kernel is told on which NUMA nodes the pages of a range are to be.

use std::io;

use super::Spread;

/// Nodes without an order among them; later than the C library's headers.
const MPOL_PREFERRED_MANY: libc::c_int = 5;

/// Has pages that come into being from now on in `len` bytes from `start` on be spread over `nodes`.
///
/// # Safety
/// The range must be the caller's mapping.
pub(in crate::memory) unsafe fn bind(
    start: *mut u8,
    len: usize,
    spread: Spread,
    nodes: &[usize],
) -> io::Result<()> {
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
    // The kernel looks at one bit less than it is told of.
    let bits = words * BITS + 1;
    // SAFETY: the range is the caller's, the mask has as many bits; what else the kernel reads it does not need.
    let done = unsafe { libc::syscall(libc::SYS_mbind, start, len, mode, mask.as_ptr(), bits, 0) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
