//! From pointers to symmetric memory: the heaps of this PE, and the globals of its executable.

use std::sync::Arc;

use oxshmem::{Element, SymRef, SymSlice, SymView, World};
use oxshmem_ops::path::address::Ranges;
use oxshmem_spaces::{Domain, allocation::Allocation};

/// Where this PE's symmetric memory is.
#[derive(Debug)]
pub(crate) struct Addresses {
    /// All of it in host memory, as if it were one allocation.
    all: Arc<Allocation>,
    /// All of it in device memory, if there is a device.
    on_device: Option<Arc<Allocation>>,
    heap: Range,
    /// Of the executable's globals; empty where they are not shared.
    statics: Range,
    /// The heap in device memory; empty if there is none. It is the other allocation's.
    device: Range,
}

#[derive(Clone, Copy, Debug, Default)]
struct Range {
    start: usize,
    len: usize,
    /// Where it is in `all`.
    at: usize,
}

impl Range {
    /// The place of an address in `all`, if it is inside, and how many bytes follow.
    #[inline(always)]
    fn find(&self, address: usize) -> Option<(usize, usize)> {
        let behind = address.wrapping_sub(self.start);
        (behind < self.len).then(|| (self.at + behind, self.len - behind))
    }

    fn addresses(&self) -> std::ops::Range<usize> {
        self.start..self.start + self.len
    }
}

impl Addresses {
    /// Of `world`, whose executable has its globals at `statics`.
    pub(crate) fn new(world: &World, statics: std::ops::Range<usize>) -> Self {
        let pe = world.pe();
        let symmetric = pe.symmetric();
        let heap = Range {
            start: symmetric.address_unchecked(pe.local_pe(), 0).addr(),
            len: pe.host_heap().len(),
            at: 0,
        };
        let on_device = pe.device().map(|device| {
            let (domain, segment) = (Domain::Device(Arc::clone(device)), device.segment().clone());
            let len = segment.len();
            // SAFETY: a C program gets addresses, and whatever it does with them is in its care.
            unsafe { Allocation::unowned(Arc::clone(pe), domain, segment, 0, len) }
        });
        let device = pe.device().map_or(Range::default(), |device| Range {
            start: device.shown(pe.local_pe()),
            len: device.segment().len(),
            at: 0,
        });
        let statics = Range { start: statics.start, len: statics.len(), at: pe.statics_at() };
        let len = symmetric.len();
        // SAFETY: as above.
        let all = unsafe { Allocation::unowned(Arc::clone(pe), Domain::Host, symmetric, 0, len) };
        Self { all, on_device, heap, statics, device }
    }

    /// What an [`AddressPath`](oxshmem_ops::path::address::AddressPath) has to know.
    pub(crate) fn ranges(&self) -> Ranges {
        let [heap, globals, device] = [&self.heap, &self.statics, &self.device].map(Range::addresses);
        Ranges { heap, globals, device }
    }

    /// The place of `bytes` bytes from `address` on, if they are symmetric.
    #[inline(always)]
    fn place(&self, address: usize, bytes: usize) -> Option<usize> {
        let (at, left) = self.heap.find(address).or_else(|| self.statics.find(address))?;
        (bytes <= left).then_some(at)
    }

    /// Elements at a pointer, if they are symmetric and aligned.
    #[inline(always)]
    pub(crate) fn view<T: Element>(&self, pointer: *const T, len: usize) -> Option<SymView<'_, T>> {
        let bytes = len.checked_mul(size_of::<T>())?;
        let Some(at) = self.place(pointer.addr(), bytes) else {
            return self.view_on_device(pointer.addr(), len);
        };
        // SAFETY: `place` has found all of it in `all`, which begins where its segment does.
        at.is_multiple_of(align_of::<T>()).then(|| unsafe { SymView::inside_unchecked(&self.all, at, len) })
    }

    /// The view of what `address` points to in device memory.
    #[cold]
    #[inline(never)]
    fn view_on_device<T: Element>(&self, address: usize, len: usize) -> Option<SymView<'_, T>> {
        let (at, _) = self.device.find(address)?;
        SymView::inside(self.on_device.as_ref()?, at, len)
    }

    /// Whether a byte is in device memory, where nothing can be loaded or stored.
    #[inline(always)]
    pub(crate) fn on_device(&self, address: usize) -> bool {
        address.wrapping_sub(self.device.start) < self.device.len
    }

    /// Elements from a pointer to the end of the heap, or of the globals.
    pub(crate) fn rest<T: Element>(&self, pointer: *const T) -> Option<SymView<'_, T>> {
        let address = pointer.addr();
        if let (Some((at, left)), Some(all)) = (self.device.find(address), &self.on_device) {
            return SymView::inside(all, at, left / size_of::<T>());
        }
        let (at, left) = self.heap.find(address).or_else(|| self.statics.find(address))?;
        SymView::inside(&self.all, at, left / size_of::<T>())
    }

    /// No elements: what a pointer is good for that is not to be used.
    pub(crate) fn nothing<T: Element>(&self) -> Option<SymView<'_, T>> {
        SymView::inside(&self.all, 0, 0)
    }

    /// The element at a pointer, if it is symmetric and aligned.
    #[inline(always)]
    pub(crate) fn word<T: Element>(&self, pointer: *const T) -> Option<SymRef<'_, T>> {
        self.view(pointer, 1).map(|view| view.at(0))
    }

    /// Whether a byte is symmetric.
    pub(crate) fn contains(&self, address: usize) -> bool {
        self.place(address, 1).is_some() || self.on_device(address)
    }

    /// The address in this process of what `pointer` is on a PE of this host; null if it is not
    /// symmetric.
    pub(crate) fn pointer(&self, pointer: *mut u8, pe: usize, world: &World) -> *mut u8 {
        match self.view(pointer.cast_const(), 1) {
            // There is nothing to be loaded or stored, on this PE either.
            Some(view) if view.domain().is_device() => std::ptr::null_mut(),
            Some(view) if world.pe_accessible(pe) => match view.ptr(pe) {
                // The globals have two addresses here; the program knows this one.
                Some(_) if pe == world.my_pe() => pointer,
                there => there.unwrap_or(std::ptr::null_mut()),
            },
            _ => std::ptr::null_mut(),
        }
    }

    /// The address by which kernels of this PE's device reach what `pointer` is on a PE; null if
    /// they do not, or if it is not in device memory.
    pub(crate) fn device_pointer(&self, pointer: *const u8, pe: usize) -> *mut u8 {
        let there = self.view(pointer, 1).and_then(|view| view.device_ptr(pe));
        std::ptr::with_exposed_provenance_mut(there.map_or(0, |address| address as usize))
    }

    /// The address by which the program knows a block on this PE.
    pub(crate) fn of_block(&self, block: &SymSlice<u8>) -> *mut u8 {
        let heap = if block.allocation().domain().is_device() { self.device } else { self.heap };
        let offset = block.allocation().offset();
        debug_assert!(offset <= heap.len);
        std::ptr::with_exposed_provenance_mut(heap.start + offset)
    }
}
