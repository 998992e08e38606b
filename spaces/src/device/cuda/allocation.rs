//! Memory of a device, as the driver gives it.

use std::{
    ffi::{c_char, c_int, c_uint},
    os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
    ptr,
    sync::Arc,
};

use cudarc::driver::sys::{
    self, CUdevice, CUdeviceptr, CUipcMemHandle, CUmemAccessDesc, CUmemAllocationHandleType,
    CUmemAllocationProp, CUmemGenericAllocationHandle, CUmemLocation, CUresult,
};

use super::driver::{Context, Failed, Outcome, call};

/// Where memory of a device is.
fn location(device: CUdevice) -> CUmemLocation {
    CUmemLocation { type_: sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, id: device }
}

/// How the driver hands memory to other processes: as a descriptor.
const HANDLE: CUmemAllocationHandleType = CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

/// Plain memory of a device that other processes of the user may map.
fn properties(device: CUdevice) -> CUmemAllocationProp {
    CUmemAllocationProp {
        type_: sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        requestedHandleTypes: HANDLE,
        location: location(device),
        win32HandleMetaData: ptr::null_mut(),
        allocFlags: sys::CUmemAllocationProp_st__bindgen_ty_1 {
            compressionType: 0,
            gpuDirectRDMACapable: 0,
            usage: 0,
            reserved: [0; 4],
        },
    }
}

/// What sizes of such memory must be multiples of.
pub(super) fn granularity(device: CUdevice) -> Outcome<usize> {
    let (mut granularity, properties) = (0, properties(device));
    let minimum = sys::CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_MINIMUM;
    // SAFETY: it reads the properties and stores a number.
    call!(cuMemGetAllocationGranularity(&mut granularity, &properties, minimum))?;
    Ok(granularity.max(1))
}

/// Memory of a device without an address.
#[derive(Debug)]
pub(super) struct Physical(CUmemGenericAllocationHandle);

impl Physical {
    pub(super) fn new(device: CUdevice, len: usize) -> Outcome<Self> {
        let (mut handle, properties) = (0, properties(device));
        // SAFETY: it reads the properties and stores a handle, which `drop` gives back.
        call!(cuMemCreate(&mut handle, len, &properties, 0))?;
        Ok(Self(handle))
    }

    /// A descriptor from which other processes get it.
    pub(super) fn export(&self) -> Outcome<OwnedFd> {
        let mut fd: c_int = -1;
        // SAFETY: for this kind of handle it stores a descriptor, which is ours.
        call!(cuMemExportToShareableHandle((&raw mut fd).cast(), self.0, HANDLE, 0))?;
        // SAFETY: the descriptor is open, and nothing else closes it.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }

    pub(super) fn import(fd: BorrowedFd<'_>) -> Outcome<Self> {
        let mut handle = 0;
        // For this kind of handle the number itself is passed, as a pointer.
        let number = ptr::without_provenance_mut(fd.as_raw_fd() as usize);
        // SAFETY: the descriptor is open; it stores a handle, which `drop` gives back.
        call!(cuMemImportFromShareableHandle(&mut handle, number, HANDLE))?;
        Ok(Self(handle))
    }
}

impl Drop for Physical {
    fn drop(&mut self) {
        // SAFETY: made once, released once. What is mapped stays until it is unmapped.
        let _ = call!(cuMemRelease(self.0));
    }
}

/// Addresses of device memory.
#[derive(Debug)]
pub(super) struct Addresses {
    start: CUdeviceptr,
    len: usize,
    /// What was mapped where.
    mapped: Vec<(CUdeviceptr, usize)>,
}

impl Addresses {
    pub(super) fn reserve(len: usize) -> Outcome<Self> {
        let mut start = 0;
        // SAFETY: it stores an address, which `drop` gives back.
        call!(cuMemAddressReserve(&mut start, len, 0, 0, 0))?;
        Ok(Self { start, len, mapped: Vec::new() })
    }

    pub(super) fn start(&self) -> CUdeviceptr {
        self.start
    }

    /// Maps `memory` at an address, for the use of some devices.
    pub(super) fn map(
        &mut self,
        at: CUdeviceptr,
        len: usize,
        memory: &Physical,
        users: &[CUdevice],
    ) -> Outcome<()> {
        debug_assert!(self.start <= at && at + len as u64 <= self.start + self.len as u64);
        // SAFETY: the range is reserved, and nothing is mapped there yet.
        call!(cuMemMap(at, len, 0, memory.0, 0))?;
        self.mapped.push((at, len));
        let flags = sys::CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        for &user in users {
            let access = CUmemAccessDesc { location: location(user), flags };
            // SAFETY: the range was mapped just now; one description is read.
            call!(cuMemSetAccess(at, len, &access, 1))?;
        }
        Ok(())
    }
}

impl Drop for Addresses {
    fn drop(&mut self) {
        for &(at, len) in &self.mapped {
            // SAFETY: mapped once, unmapped once, by the last owner of the addresses.
            let _ = call!(cuMemUnmap(at, len));
        }
        // SAFETY: reserved once, freed once.
        let _ = call!(cuMemAddressFree(self.start, self.len));
    }
}

/// What the driver allocates together with an address, where it cannot do so apart.
#[derive(Debug)]
pub(super) struct Plain {
    context: Arc<Context>,
    pub(super) start: CUdeviceptr,
    /// Whether it is another process's.
    opened: bool,
}

/// What names such memory in other processes.
pub(super) type Handle = [u8; 64];

impl Plain {
    pub(super) fn new(context: &Arc<Context>, len: usize) -> Outcome<Self> {
        let _entered = context.enter()?;
        let mut start = 0;
        // SAFETY: it stores an address, which `drop` gives back.
        call!(cuMemAlloc_v2(&mut start, len))?;
        Ok(Self { context: Arc::clone(context), start, opened: false })
    }

    pub(super) fn export(&self) -> Outcome<Handle> {
        let _entered = self.context.enter()?;
        let mut handle = CUipcMemHandle { reserved: [0; 64] };
        // SAFETY: it stores 64 bytes; the address is that of an allocation.
        call!(cuIpcGetMemHandle(&mut handle, self.start))?;
        Ok(bytemuck::cast(handle.reserved))
    }

    pub(super) fn import(context: &Arc<Context>, handle: Handle) -> Outcome<Self> {
        let _entered = context.enter()?;
        let handle = CUipcMemHandle { reserved: handle.map(|byte| byte as c_char) };
        let flags = sys::CUipcMem_flags::CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS as c_uint;
        let mut start = 0;
        // SAFETY: it stores an address, which `drop` gives back; the handle is another process's of
        // this job.
        call!(cuIpcOpenMemHandle_v2(&mut start, handle, flags))?;
        Ok(Self { context: Arc::clone(context), start, opened: true })
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        let Ok(_entered) = self.context.enter() else { return };
        // SAFETY: opened or allocated once, by the last owner of the address.
        let _ = if self.opened {
            call!(cuIpcCloseMemHandle(self.start))
        } else {
            call!(cuMemFree_v2(self.start))
        };
    }
}
