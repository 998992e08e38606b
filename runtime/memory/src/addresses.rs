//! A range of addresses that a map owns.

use std::ptr::NonNull;

use rustix::mm::munmap;

/// The addresses of a [`HostMap`](super::HostMap). The process gets them back when the map and the
/// last handle to them are dropped. While a handle outlives the map, nothing else is mapped at
/// them, and an access to them faults.
#[derive(Debug)]
pub struct Addresses {
    pub(super) start: NonNull<u8>,
    pub(super) len: usize,
}

// SAFETY: it is a range of addresses, and nothing here reads or writes what is there.
unsafe impl Send for Addresses {}
// SAFETY: as above.
unsafe impl Sync for Addresses {}

impl Drop for Addresses {
    fn drop(&mut self) {
        // SAFETY: the map owned the range; its addresses are used only while the map exists, and it
        // is gone. A failure leaves address space behind, no more.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.len) };
    }
}
