//! Device memory of all PEs of a host: made by the host's leader, and mapped by every process.
//!
//! Where the driver can, memory and addresses are apart: one range of addresses has the memory of
//! all PEs, PE `i`'s at `i × stride`, and memory travels as a descriptor. Elsewhere each PE's
//! memory is a plain allocation, which travels as an IPC handle and is anywhere. Either way
//! programs see the addresses that kernels use: each PE those of its own memory in its own process.

use std::{
    collections::BTreeMap,
    os::fd::{AsFd, OwnedFd},
    sync::Arc,
};

use cudarc::driver::sys::{CUdevice, CUdevice_attribute as Attribute, CUdeviceptr, CUresult};
use oxshmem_base::{Error, Result, memfd, settings::GpuSharing};
use oxshmem_job::Shared;

use super::{
    allocation::{Addresses, Handle, Physical, Plain, granularity},
    driver::{self, Context, Failed, Outcome, Stream},
};
use crate::device::DevicePlace;

/// What the first PE's memory is aligned to: as much as a symmetric object may be.
const BASE_ALIGN: usize = 1 << 30;

/// What plain allocations are multiples of: the driver puts shorter ones together, and would share
/// their neighbours too.
const PLAIN_SIZE: usize = 2 << 20;

/// Device memory of some PEs, each of which has as many bytes.
#[derive(Debug)]
pub(super) struct Memory {
    /// In which order the fields are dropped matters: memory before the contexts that it was made
    /// in.
    kind: Kind,
    /// The device of each PE.
    devices: Vec<CUdevice>,
    /// Of all of them.
    contexts: Contexts,
    /// Bytes of each PE.
    len: usize,
}

/// The contexts of devices.
type Contexts = BTreeMap<CUdevice, Arc<Context>>;

#[derive(Debug)]
enum Kind {
    Mapped { _addresses: Addresses, base: CUdeviceptr, stride: usize, memory: Vec<Physical>, len: usize },
    Plain(Vec<Plain>),
}

/// Which device each of `count` PEs takes, of those that it sees.
pub(super) fn distribute(count: usize, visible: &[CUdevice]) -> Vec<CUdevice> {
    visible.iter().copied().cycle().take(count).collect()
}

impl Memory {
    /// Makes `len` bytes for each of `count` PEs. `travels` says whether other processes are to map
    /// it.
    pub(super) fn new(count: usize, len: usize, sharing: GpuSharing, travels: bool) -> Result<Self> {
        let (devices, contexts) = prepare(count)?;
        let has = |device, attribute| driver::attribute(device, attribute).is_ok_and(|value| value != 0);
        let can_map = contexts.keys().all(|&device| {
            has(device, Attribute::CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED)
                && (!travels
                    || has(
                        device,
                        Attribute::CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
                    ))
        });
        let failed = |failed: Failed| match failed.code {
            CUresult::CUDA_ERROR_OUT_OF_MEMORY => Error::Unsupported {
                what: format!(
                    "the devices have no room for {count} times {len} bytes ({failed}); lower SHMEM_GPU_SYMMETRIC_SIZE"
                ),
            },
            _ => failed.into(),
        };
        let mapped = match sharing {
            GpuSharing::Ipc => None,
            GpuSharing::Auto if !can_map => None,
            GpuSharing::Auto | GpuSharing::Vmm => Some(Self::mapped(&devices, &contexts, len, travels)),
        };
        let kind = match (mapped, sharing) {
            (Some(Ok(kind)), _) => kind,
            // What cannot be shared in one way may be in the other.
            (Some(Err(why)), GpuSharing::Auto) if why.code != CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
                Self::plain(&devices, &contexts, len, travels).map_err(failed)?
            }
            (Some(Err(why)), _) => return Err(failed(why)),
            (None, _) => Self::plain(&devices, &contexts, len, travels).map_err(failed)?,
        };
        let memory = Self { kind, devices, contexts, len };
        memory.clear().map_err(failed)?;
        Ok(memory)
    }

    /// Zeroes all of it, as heaps take it for: the driver promises nothing of what it allocates.
    fn clear(&self) -> Outcome<()> {
        if self.len == 0 {
            return Ok(());
        }
        for (block, device) in self.devices.iter().enumerate() {
            let stream = Stream::new(&self.contexts[device])?;
            let _entered = stream.context().enter()?;
            // SAFETY: the memory is ours alone so far, and has as many bytes.
            unsafe { stream.fill(self.start(block), 0, self.len) }?;
            stream.synchronize()?;
        }
        Ok(())
    }

    fn mapped(devices: &[CUdevice], contexts: &Contexts, len: usize, travels: bool) -> Outcome<Kind> {
        let granularity = contexts
            .keys()
            .try_fold(1, |most, &device| granularity(device).map(|granularity| granularity.max(most)))?;
        let len = len.max(1).next_multiple_of(granularity);
        let memory = devices.iter().map(|&device| Physical::new(device, len)).collect::<Outcome<Vec<_>>>()?;
        if travels {
            // Should that not be possible, it is found now.
            memory.first().map(Physical::export).transpose()?;
        }
        map(devices, contexts, memory, len)
    }

    fn plain(devices: &[CUdevice], contexts: &Contexts, len: usize, travels: bool) -> Outcome<Kind> {
        let len = len.max(1).next_multiple_of(PLAIN_SIZE);
        let parts = devices.iter().map(|device| Plain::new(&contexts[device], len));
        let parts = parts.collect::<Outcome<Vec<_>>>()?;
        if travels {
            parts.first().map(Plain::export).transpose()?;
        }
        Ok(Kind::Plain(parts))
    }

    /// How many PEs there are.
    pub(super) fn count(&self) -> usize {
        self.devices.len()
    }

    /// Bytes of each.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The context of a PE's device.
    pub(super) fn context(&self, block: usize) -> &Arc<Context> {
        &self.contexts[&self.devices[block]]
    }

    /// The device of a PE.
    pub(super) fn device(&self, block: usize) -> CUdevice {
        self.devices[block]
    }

    /// Its number among those that the process sees: PEs take them in turn.
    pub(super) fn ordinal(&self, block: usize) -> usize {
        self.devices.iter().position(|&device| device == self.devices[block]).unwrap_or(0)
    }

    /// The contexts of all devices.
    pub(super) fn contexts(&self) -> &Contexts {
        &self.contexts
    }

    /// The address of a PE's memory.
    pub(super) fn start(&self, block: usize) -> CUdeviceptr {
        match &self.kind {
            Kind::Mapped { base, stride, .. } => base + (block * stride) as u64,
            Kind::Plain(parts) => parts[block].start,
        }
    }

    /// The address of a place.
    pub(super) fn at(&self, place: DevicePlace) -> CUdeviceptr {
        self.start(place.block()) + place.offset() as u64
    }

    /// Where all of it is, if it is in one range: the first address, and what is between PEs.
    pub(super) fn range(&self) -> Option<(CUdeviceptr, usize)> {
        match self.kind {
            Kind::Mapped { base, stride, .. } => Some((base, stride)),
            Kind::Plain(_) => None,
        }
    }

    /// How it is shared, for people.
    pub(super) fn how(&self) -> &'static str {
        match self.kind {
            Kind::Mapped { .. } => "vmm",
            Kind::Plain(_) => "ipc",
        }
    }

    /// Whether kernels and copies of one PE's device may work on another's memory.
    pub(super) fn reaches(&self, from: usize, to: usize) -> bool {
        let (from, to) = (self.devices[from], self.devices[to]);
        from == to || matches!(self.kind, Kind::Mapped { .. }) && driver::reaches(from, to)
    }
}

/// The devices of `count` PEs, and their contexts.
fn prepare(count: usize) -> Result<(Vec<CUdevice>, Contexts)> {
    let devices = distribute(count, &driver::devices()?);
    let mut contexts = Contexts::new();
    for &device in &devices {
        if let std::collections::btree_map::Entry::Vacant(free) = contexts.entry(device) {
            free.insert(Arc::new(Context::retain(device)?));
        }
    }
    Ok((devices, contexts))
}

/// Maps the memory of all PEs, for every device that can reach it.
fn map(devices: &[CUdevice], contexts: &Contexts, memory: Vec<Physical>, len: usize) -> Outcome<Kind> {
    let _entered = contexts.values().next().map(|context| context.enter()).transpose()?;
    let stride = len.next_multiple_of(BASE_ALIGN);
    let mut addresses = Addresses::reserve(devices.len() * stride + BASE_ALIGN)?;
    let base = addresses.start().next_multiple_of(BASE_ALIGN as u64);
    for (block, (&device, memory)) in devices.iter().zip(&memory).enumerate() {
        let users: Vec<CUdevice> =
            contexts.keys().copied().filter(|&user| driver::reaches(user, device)).collect();
        addresses.map(base + (block * stride) as u64, len, memory, &users)?;
    }
    Ok(Kind::Mapped { _addresses: addresses, base, stride, memory, len })
}

/// What other processes must know: how it is shared, how many PEs, how many bytes each has, and how
/// many are mapped.
fn write_head(text: &str, handles: &[Handle]) -> Result<OwnedFd> {
    let mut bytes = format!("{text}\n").into_bytes();
    bytes.extend(handles.as_flattened());
    memfd::holding("oxshmem-device", &bytes).map_err(|e| Error::system("memfd_create", e))
}

/// The numbers of a head, and the handles.
fn read_head(file: &OwnedFd) -> Result<(String, [usize; 3], Vec<Handle>)> {
    let unexpected = || Error::bootstrap("share", "device memory arrived without its description");
    let length = rustix::fs::fstat(file).map_err(|e| Error::system("fstat", e))?.st_size as usize;
    let mut bytes = vec![0; length];
    let got = rustix::io::pread(file, &mut bytes, 0).map_err(|e| Error::system("pread", e))?;
    bytes.truncate(got);
    let end = bytes.iter().position(|&byte| byte == b'\n').ok_or_else(unexpected)?;
    let text = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let words: Vec<&str> = text.split(' ').collect();
    let [kind, count, len, mapped] = words[..] else { return Err(unexpected()) };
    let number = |word: &str| word.parse::<usize>().map_err(|_| unexpected());
    let numbers = [number(count)?, number(len)?, number(mapped)?];
    let (handles, _) = bytes[end + 1..].as_chunks();
    Ok((kind.to_owned(), numbers, handles.to_vec()))
}

impl Shared for Memory {
    unsafe fn to_descriptors(&self) -> Result<Vec<OwnedFd>> {
        let (how, count, len) = (self.how(), self.count(), self.len);
        match &self.kind {
            Kind::Mapped { memory, len: mapped, .. } => {
                let mut descriptors = vec![write_head(&format!("{how} {count} {len} {mapped}"), &[])?];
                for memory in memory {
                    descriptors.push(memory.export()?);
                }
                Ok(descriptors)
            }
            Kind::Plain(parts) => {
                let handles = parts.iter().map(Plain::export).collect::<Outcome<Vec<_>>>()?;
                Ok(vec![write_head(&format!("{how} {count} {len} 0"), &handles)?])
            }
        }
    }

    unsafe fn from_descriptors(mut descriptors: Vec<OwnedFd>, _: usize) -> Result<Self> {
        let unexpected =
            |got| Error::bootstrap("share", format!("device memory does not come with {got} descriptors"));
        let got = descriptors.len();
        if got == 0 {
            return Err(unexpected(got));
        }
        let memory = descriptors.split_off(1);
        let (kind, [count, len, mapped], handles) = read_head(&descriptors[0])?;
        let (devices, contexts) = prepare(count)?;
        let kind = if kind == "vmm" {
            if memory.len() != count {
                return Err(unexpected(got));
            }
            let memory = memory.iter().map(|fd| Physical::import(fd.as_fd())).collect::<Outcome<Vec<_>>>()?;
            map(&devices, &contexts, memory, mapped)?
        } else {
            if handles.len() != count {
                return Err(unexpected(got));
            }
            let parts =
                devices.iter().zip(handles).map(|(device, handle)| Plain::import(&contexts[device], handle));
            Kind::Plain(parts.collect::<Outcome<Vec<_>>>()?)
        };
        Ok(Self { kind, devices, contexts, len })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pes_take_the_devices_in_turn() {
        assert_eq!(distribute(5, &[0, 1]), [0, 1, 0, 1, 0]);
        assert_eq!(distribute(2, &[7, 8, 9]), [7, 8]);
        assert_eq!(distribute(2, &[]), [0; 0]);
    }

    #[test]
    fn what_other_processes_must_know_arrives() {
        let handles: Vec<Handle> = (0..3).map(|i| [i; 64]).collect();
        let file = write_head("ipc 3 4096 0", &handles).unwrap();
        let (kind, numbers, got) = read_head(&file).unwrap();
        assert_eq!((&*kind, numbers, got), ("ipc", [3, 4096, 0], handles));
        assert!(read_head(&write_head("vmm 3 4096", &[]).unwrap()).is_err());
        // SAFETY: there are none.
        assert!(unsafe { Memory::from_descriptors(Vec::new(), 1) }.is_err());
    }
}
