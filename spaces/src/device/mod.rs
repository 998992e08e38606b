//! Memory that a processor cannot load from or store to: what a device must do so that its memory
//! can be symmetric.
//!
//! A [`Device`] is a [`Way`]: it copies between its memory and that of the host, performs atomic
//! operations on it, and runs a [`Completion`] when it has. It reaches the memory of all PEs of
//! this host that have a device; that of other hosts is the [`Net`](oxshmem_net::Net)'s business,
//! which has the devices there do what is to be done. The rooms above decide what is awaited.
//!
//! There are two: `cuda`, and [`emulated`], which is for tests. An object of device memory has an
//! address on its own PE, by which C programs name it, and where no processor can load or store.

#[cfg(feature = "cuda")]
pub mod cuda;
mod description;
pub mod emulated;
pub mod kernel;
mod numbers;
mod place;
mod ready;
pub mod stream;
#[cfg(any(test, feature = "suite"))]
pub mod suite;

use std::{any::Any, sync::Arc};

pub(crate) use self::place::{Devices, Parts, make};
pub use self::{
    description::Description,
    numbers::{Class, Number, Pattern, ReduceOp, complex_product},
    place::found,
};

use self::stream::ProgramStreams;
use oxshmem_base::{Result, sync::Mutex};
use oxshmem_memory::{
    Segment,
    op::{Address, Behind, Op},
};
use oxshmem_net::Way;
use oxshmem_progress::{completion::Completion, source::Words};

/// A place in device memory of this host, in bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DevicePlace {
    block: usize,
    offset: usize,
}

impl DevicePlace {
    /// The place `offset` bytes behind the start of the device memory of the PE that is number
    /// `block` of its host. Operations have it from symmetric memory, which checks it:
    /// `SymView::device_place`.
    ///
    /// # Safety
    /// There must be such a place in the job whose device is given it.
    #[inline]
    pub const unsafe fn new(block: usize, offset: usize) -> Self {
        Self { block, offset }
    }

    /// The PE's number among those of its host.
    #[inline]
    pub const fn block(self) -> usize {
        self.block
    }

    /// Bytes from the start of its device memory.
    #[inline]
    pub const fn offset(self) -> usize {
        self.offset
    }

    /// The place `bytes` bytes behind it, which is not in bounds by that: devices say in their
    /// contracts what must be.
    #[inline]
    pub const fn behind(self, bytes: usize) -> Self {
        Self { offset: self.offset.wrapping_add(bytes), ..self }
    }
}

// SAFETY: an offset and a number of bytes are added.
unsafe impl Behind for DevicePlace {
    fn behind(self, bytes: usize) -> Self {
        Self::behind(self, bytes)
    }
}

/// Memory on this side of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Host memory of this process.
    Host(Address),
    /// Device memory of this host.
    Device(DevicePlace),
}

// SAFETY: either kind of place does it.
unsafe impl Behind for End {
    fn behind(self, bytes: usize) -> Self {
        match self {
            Self::Host(address) => Self::Host(address.behind(bytes)),
            Self::Device(place) => Self::Device(place.behind(bytes)),
        }
    }
}

impl From<*mut u8> for End {
    fn from(address: *mut u8) -> Self {
        Self::Host(address.into())
    }
}

impl From<*const u8> for End {
    fn from(address: *const u8) -> Self {
        Self::Host(address.into())
    }
}

impl From<DevicePlace> for End {
    fn from(place: DevicePlace) -> Self {
        Self::Device(place)
    }
}

/// An operation of a device: on a place of a local PE, with memory of either kind on this side.
pub type DeviceOp = Op<DevicePlace, End>;

/// The most operands and the most destinations of one [`Combine`].
pub const MOST_OPERANDS: usize = 64;

/// Vectors of several PEs that a device combines or copies, element by element.
#[derive(Clone, Copy, Debug)]
pub struct Combine<'a> {
    /// The PE whose device does it, by its number among those of the host.
    pub by: usize,
    /// Which destination gets which of the operands.
    pub pattern: Pattern,
    /// How two elements become one. Nothing is combined where each destination gets one operand.
    pub op: ReduceOp,
    /// What the elements are.
    pub number: Number,
    /// The operands, in the order in which they are combined.
    pub from: &'a [DevicePlace],
    /// The destinations. Each may be one of `from`, in a scan or copy the one with its number, but
    /// overlaps none otherwise.
    pub to: &'a [DevicePlace],
    /// How many elements.
    pub len: usize,
}

/// What can be done with the memory of a space. What cannot is refused with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Put and get, and put-with-signal.
    pub rma: bool,
    /// Atomic operations and signals, each atomic towards those of all PEs.
    pub atomics: bool,
    /// Collectives.
    pub collectives: bool,
    /// Loads and stores by PEs of the same host, as through `shmem_ptr`.
    pub direct_access: bool,
    /// Whether all PEs of the job have it.
    pub world_access: bool,
}

/// A device, as the PEs of one process use it: a [`Way`] to the memory of all local PEs.
///
/// It takes operations without a signal, and they are over when they are visible to all PEs of this
/// host. What is started on one PE's memory happens there in the order of the calls; on different
/// PEs', in any order. A flush waits for what was started on any of them. Nothing here waits for
/// another PE.
///
/// # Safety
/// [`combine`](Self::combine) must touch only the bytes that it was given, and none of them after
/// `done` has completed.
pub unsafe trait Device: Way<DevicePlace, End> {
    /// What it is called, for people.
    fn name(&self) -> &'static str;

    /// Whether it can do atomic operations.
    fn has_atomics(&self) -> bool;

    /// The symmetric memory that the heap is in. Programs know its places by other addresses:
    /// [`shown`](Self::shown).
    fn segment(&self) -> &Segment;

    /// The number of the device that has a local PE's memory. All PEs of the host get the same
    /// answer.
    fn device_of(&self, local_pe: usize) -> usize;

    /// Whether one local PE's device works on another's memory. All PEs of the host get the same
    /// answer.
    fn reaches(&self, by: usize, local_pe: usize) -> bool;

    /// Combines vectors of several PEs; `done` completes when the results are there.
    ///
    /// # Safety
    /// All places must be in bounds and aligned, and nothing else may touch them until then. There
    /// may be at most [`MOST_OPERANDS`] of them on either side, as many destinations as operands
    /// but in a reduction, and the device must [reach](Self::reaches) them all. The operation must
    /// [take](ReduceOp::takes) such elements.
    unsafe fn combine(&self, what: Combine<'_>, done: Completion);

    /// Makes what [`combine`](Self::combine) of such elements needs on the device of local PE `by`.
    /// Otherwise that is made when it is first called, where the driver may wait for streams of the
    /// program, and even for one that waits for the call.
    fn prepare(&self, by: usize, pattern: Pattern, op: ReduceOp, number: Number) {
        let _ = (by, pattern, op, number);
    }

    /// Performs an operation before it returns, and gives the value before it of an atomic one.
    /// What was started before may still be under way.
    ///
    /// # Safety
    /// As for [`start`](Way::start).
    unsafe fn now(&self, op: DeviceOp) -> u64;

    /// Copies several pieces of a PE's memory, by their offsets and lengths, one behind the other
    /// to `to`; over when it returns. Each aligned word of up to 8 bytes is read at once.
    ///
    /// # Safety
    /// All pieces must be in bounds, and as long as `to` together.
    unsafe fn read_now(&self, block: usize, pieces: &[(usize, usize)], to: &mut [u8]);

    /// Sets `len` bytes, and returns when that is done.
    ///
    /// # Safety
    /// They must be in bounds.
    unsafe fn fill_now(&self, at: DevicePlace, byte: u8, len: usize);

    /// The address by which kernels of local PE `by`'s device reach a place, if it is mapped for
    /// them.
    fn address(&self, by: usize, at: DevicePlace) -> Option<u64>;

    /// What it does in streams of the program, if it has such.
    fn program_streams(&self) -> Option<&dyn ProgramStreams> {
        None
    }

    /// The address by which the program of a local PE of this process names the start of that PE's
    /// memory. Of another process's PEs: where their memory is for this process.
    fn shown(&self, local_pe: usize) -> usize {
        self.segment().address_unchecked(local_pe, 0).addr()
    }

    /// Whether atomic operations of kernels of local PE `by`'s device on local PE `of`'s memory are
    /// atomic towards those of all others.
    fn has_atomics_for(&self, by: usize, of: usize) -> bool {
        let _ = (by, of);
        true
    }

    /// The address by which kernels of local PE `by`'s device reach `len` bytes of host memory from
    /// `start` on, for as long as the device exists.
    ///
    /// # Errors
    /// The driver's.
    ///
    /// # Safety
    /// They must be mapped as long as `keep` lives.
    unsafe fn show(
        &self,
        by: usize,
        start: *const u8,
        len: usize,
        keep: Arc<dyn Any + Send + Sync>,
    ) -> Result<u64>;
}

/// A reference to whatever device a PE has.
pub type AnyDevice = Arc<dyn Device>;

/// The words of a device's memory, for the engine.
#[derive(Debug)]
pub(crate) struct WordsOf(pub(crate) AnyDevice);

// SAFETY: the device promises the same of `read_now`.
unsafe impl Words for WordsOf {
    fn len(&self) -> usize {
        self.0.segment().len()
    }

    unsafe fn read(&self, local_pe: usize, pieces: &[(usize, usize)], to: &mut [u8]) {
        // SAFETY: passed on to the caller.
        unsafe { self.0.read_now(local_pe, pieces, to) }
    }
}

/// The device that the PEs of a process have in common, once the first of them has made it.
pub(crate) type Made = Mutex<Option<AnyDevice>>;
