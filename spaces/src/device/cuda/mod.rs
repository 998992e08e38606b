//! NVIDIA devices, by the driver's own interface, which is loaded when the GPU space is enabled and
//! a device is asked for.
//!
//! | module | what it offers |
//! |---|---|
//! | `driver` | the driver's calls, with results |
//! | `memory` | device memory that the PEs of a host share |
//! | `host` | host memory that devices copy from and to |
//! | `transfers` | copies and atomic operations |
//! | `streams` | operations under way, in streams of ours and of the program |
//! | `program` | what it does in streams of the program |
//! | `ptx` | the kernels |
//! | `combining` | those that combine vectors of several PEs |
//! | `bare` | the driver's copies by themselves, to be measured beside |
//!
//! Each PE's memory has a stream in every process, on which everything happens that is started on
//! it, in its order. An event behind each operation says when it is over. The engine polls them:
//! the device is one of its sources. Whatever touches memory of a PE is done by the device that has
//! it, so that atomic operations on a word are atomic towards each other whichever process starts
//! them, and whether or not devices have atomics for each other's memory. Copies between devices
//! that do not reach each other go through host memory.
//!
//! The primary context of each device is used, as it is; nothing about a device is ever changed.

mod allocation;
mod bare;
mod combining;
mod driver;
mod gpu;
mod host;

mod memory;
mod program;
mod ptx;
mod streams;
#[cfg(test)]
mod tests;
mod transfers;

use std::{any::Any, fmt, ptr::NonNull, sync::Arc, time::Duration};

#[doc(hidden)]
pub use bare::Bare;
pub use combining::modules as kernels;
use cudarc::driver::sys::CUdevice_attribute as Attribute;

use oxshmem_base::{
    Error, Result, processors,
    settings::{GpuSharing, Settings},
    sync::lock,
};
use oxshmem_job::{self, Bootstrap};
use oxshmem_memory::{HostMap, Segment, SegmentId, copy, op::Verb};
use oxshmem_net::Way;
use oxshmem_progress::{
    completion::{AllParts, Completion, no_value},
    helper_waker::HelperWaker,
    source::{Armed, Source},
};

use self::{
    combining::{AT_ONCE, Launch, launches},
    gpu::{Arguments, Command},
    host::Shown,
    memory::Memory,
    streams::Streams,
    transfers::{Strided, strided},
};
use super::stream::ProgramStreams;
use super::{
    AnyDevice, Combine, Description, Device, DeviceOp, DevicePlace, End, Made, Number, Pattern, ReduceOp,
};

/// Host memory of fewer bytes is copied by the processor on the way, even where the device could
/// reach it.
const SHORT: usize = 4096;
/// For how long a future that waits polls before that is left to the helper thread.
const PATIENCE: Duration = Duration::from_micros(50);
/// Threads in a block of a kernel.
const THREADS: u32 = 256;

/// The names of the devices that this process sees, or why there are none.
pub(super) fn visible() -> std::result::Result<Vec<String>, String> {
    Ok(describe()?.into_iter().map(|device| device.uuid).collect())
}

/// The devices that this process sees and can use, or why there are none.
///
/// # Errors
/// A reason.
pub fn describe() -> std::result::Result<Vec<Description>, String> {
    let devices = found()?;
    match devices.iter().find_map(Description::unfit) {
        Some(why) => Err(why),
        None => Ok(devices),
    }
}

/// The devices that this process sees, or why there are none.
pub(super) fn found() -> std::result::Result<Vec<Description>, String> {
    let driver = driver::load()?;
    let fails = |failed: driver::Failed| format!("the NVIDIA driver fails: {failed}");
    let devices = driver::devices().map_err(fails)?;
    if devices.is_empty() {
        return Err("the NVIDIA driver shows no device".to_owned());
    }
    let describe = |&device: &i32| {
        let ask = |attribute| driver::attribute(device, attribute).map_err(fails);
        let maps = [
            Attribute::CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
            Attribute::CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
        ];
        Ok(Description {
            uuid: driver::uuid(device).map_err(fails)?.map(|byte| format!("{byte:02x}")).concat(),
            model: driver::name(device).map_err(fails)?,
            memory: driver::memory(device).map_err(fails)?,
            capability: (
                ask(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
                ask(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
            ),
            driver,
            maps: maps.map(|attribute| ask(attribute).is_ok_and(|value| value != 0)),
        })
    };
    devices.iter().map(describe).collect()
}

/// The device of this PE, if it `has` one, with `len` bytes for each PE of the host. Collective
/// over all PEs: where one fails, all do.
pub(super) async fn join(
    bootstrap: &Arc<dyn Bootstrap>,
    settings: &Settings,
    len: usize,
    has: bool,
    host: &Arc<HostMap>,
    (made, helper_waker): (&Made, &Arc<HelperWaker>),
) -> Result<Option<AnyDevice>> {
    let placement = bootstrap.placement();
    let mut memory = None;
    let begun = if has && placement.is_leader() {
        let count = placement.local.len();
        Memory::new(count, len, settings.gpu_sharing, !bootstrap.in_process()).map(|new| memory = Some(new))
    } else {
        Ok(())
    };
    agree(&**bootstrap, begun).await?;
    let device = if has {
        let shared = oxshmem_job::share(&**bootstrap, || {
            memory.ok_or_else(|| Error::bootstrap("share", "device memory was not made"))
        });
        shared.await.and_then(|memory| {
            let mut made = lock(made);
            if made.is_none() {
                let crowded = !bootstrap.in_process() && placement.local.len() > processors::allowed();
                let patience = if crowded { Duration::ZERO } else { PATIENCE };
                *made = Some(Arc::new(Cuda::new(memory, host, helper_waker, patience)?));
            }
            Ok(made.clone())
        })
    } else {
        Ok(None)
    };
    let (device, outcome) = match device {
        Ok(device) => (device, Ok(())),
        Err(error) => (None, Err(error)),
    };
    agree(&**bootstrap, outcome).await?;
    Ok(device)
}

/// Fails on all PEs if it does on one. Collective over all.
async fn agree(bootstrap: &dyn Bootstrap, outcome: Result<()>) -> Result<()> {
    let reason = outcome.as_ref().err().map_or(String::new(), ToString::to_string);
    let all = bootstrap.exchange(reason.into_bytes()).await?;
    outcome?;
    match all.iter().position(|reason| !reason.is_empty()) {
        None => Ok(()),
        Some(pe) => Err(Error::Device { what: format!("on PE {pe}, {}", String::from_utf8_lossy(&all[pe])) }),
    }
}

/// The devices of the PEs of one host, as one process uses them.
pub struct Cuda {
    shown: Segment,
    /// Host memory that kernels were shown. Before the contexts.
    shown_host: Shown,
    streams: Arc<Streams>,
    memory: Arc<Memory>,
    patience: Duration,
}

impl Cuda {
    fn new(
        memory: Arc<Memory>,
        host: &Arc<HostMap>,
        helper_waker: &Arc<HelperWaker>,
        patience: Duration,
    ) -> Result<Self> {
        let (count, len) = (memory.count(), memory.len());
        let map = match memory.range() {
            Some((base, stride)) => {
                let base = NonNull::new(std::ptr::without_provenance_mut(base as usize))
                    .ok_or_else(|| Error::Device { what: "its memory is at address 0".to_owned() })?;
                // SAFETY: the range is the memory's, which keeps it reserved.
                unsafe { HostMap::foreign(base, count, stride, Arc::<Memory>::clone(&memory)) }?
            }
            None => {
                let stride = len.max(1).next_multiple_of(oxshmem_memory::HEAP_ALIGN);
                HostMap::reserved(count, stride, 0, "SHMEM_GPU_SYMMETRIC_SIZE")?
            }
        };
        Ok(Self {
            shown: Segment::new(SegmentId::Gpu, Arc::new(map), 0, len),
            shown_host: Shown::default(),
            streams: Streams::new(&memory, host, helper_waker)?,
            memory,
            patience,
        })
    }

    /// For the suite of all devices: that of `count` PEs of this process.
    ///
    /// # Errors
    /// What the driver refuses, and [`Error::Unsupported`] if there is no device.
    #[doc(hidden)]
    pub fn alone(
        count: usize,
        len: usize,
        sharing: GpuSharing,
        helper_waker: &Arc<HelperWaker>,
    ) -> Result<Self> {
        describe().map_err(|what| Error::Unsupported { what })?;
        let memory = Arc::new(Memory::new(count, len, sharing, false)?);
        let host = Arc::new(HostMap::new(count, 1 << 20)?);
        Self::new(memory, &host, helper_waker, PATIENCE)
    }

    /// How memory is shared: `vmm` or `ipc`.
    pub fn sharing(&self) -> &'static str {
        self.memory.how()
    }

    fn at(&self, place: DevicePlace) -> u64 {
        self.memory.at(place)
    }

    /// The command for blocks between two addresses that the device of `block` reaches.
    fn blocks(&self, block: usize, [from, to]: [u64; 2], blocks: Strided) -> Command {
        let Strided { len, count, from_stride, to_stride } = blocks;
        let all = from | to | (len | from_stride | to_stride) as u64;
        // The last divides everything.
        let unit = [8, 4].into_iter().find(|unit| all.is_multiple_of(*unit)).unwrap_or(1) as usize;
        let units = len / unit;
        let total = units * count;
        let gpu = self.streams.gpu(block);
        let words = [from, to, from_stride as u64, to_stride as u64, units as u64, total as u64];
        Command::Launch {
            kernel: gpu.blocks(unit),
            shape: gpu.shape(total, 1),
            arguments: Arguments::words(&words),
        }
    }
}

impl fmt::Debug for Cuda {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, how) = (self.memory.count(), self.memory.how());
        write!(f, "CUDA devices of {count} PEs with {} bytes each, by {how}", self.shown.len())
    }
}

/// What is left of a call that cannot say that it failed.
fn must<T>(outcome: driver::Outcome<T>) -> T {
    match outcome {
        Ok(value) => value,
        Err(failed) => panic!("the device failed, and its memory cannot be read or written: {failed}"),
    }
}

impl Source for Cuda {
    fn poll(&self) -> bool {
        self.streams.poll()
    }

    fn patience(&self) -> Duration {
        self.patience
    }

    fn is_pending(&self) -> bool {
        self.streams.is_pending()
    }

    fn arm(&self) -> Armed<'_> {
        self.streams.arm()
    }
}

// SAFETY: commands touch the bytes that they name, which callers vouch for until `done` completes;
// which it does when the event behind the command is over.
unsafe impl Way<DevicePlace, End> for Cuda {
    unsafe fn start(&self, op: DeviceOp, done: Completion<u64>) {
        if let Verb::Atomic(operation, width) = op.verb {
            return self.atomic(op.there, width, operation, done);
        }
        let (from, to, blocks) = strided(op);
        let done = no_value(done);
        // SAFETY: passed on to the caller.
        unsafe {
            match blocks.count {
                1 => self.copy(from, to, blocks.len, done),
                _ => self.copy_blocks(from, to, blocks, done),
            }
        }
    }

    fn flush(&self, _: Option<usize>, done: Completion) {
        let all = AllParts::new(done);
        for block in 0..self.memory.count() {
            self.streams.start(block, Command::Nothing, all.part());
        }
    }
}

// SAFETY: as above.
unsafe impl Device for Cuda {
    fn name(&self) -> &'static str {
        "CUDA"
    }

    fn has_atomics(&self) -> bool {
        true
    }

    fn segment(&self) -> &Segment {
        &self.shown
    }

    fn device_of(&self, local_pe: usize) -> usize {
        // The driver's numbers are not negative.
        self.memory.device(local_pe) as usize
    }

    fn reaches(&self, by: usize, local_pe: usize) -> bool {
        self.memory.reaches(by, local_pe)
    }

    unsafe fn combine(&self, what: Combine<'_>, done: Completion) {
        let Combine { by, pattern, op, number, from, to, len } = what;
        let gpu = self.streams.gpu(by);
        let addresses = from.iter().chain(to).fold(0, |all, &place| all | self.at(place));
        let launches: Vec<_> = launches(pattern, op, number, addresses, len).collect();
        let kernels = launches.iter().map(|launch| gpu.combining(launch.kernel));
        let kernels = match kernels.collect::<driver::Outcome<Vec<_>>>() {
            Ok(kernels) if !kernels.is_empty() => kernels,
            Ok(_) => return self.streams.start(by, Command::Nothing, done),
            Err(failed) => return done(Err(failed.into())),
        };
        let all = AllParts::new(done);
        for (Launch { start, units, .. }, kernel) in launches.into_iter().zip(kernels) {
            let places = |list: &[DevicePlace]| -> Vec<u64> {
                list.iter().map(|&place| self.at(place) + start as u64).collect()
            };
            let arguments = Arguments::combining(places(from).into_iter(), places(to).into_iter(), units);
            let command = Command::Launch { kernel, shape: gpu.shape(units, AT_ONCE), arguments };
            self.streams.start(by, command, all.part());
        }
    }

    fn prepare(&self, by: usize, pattern: Pattern, op: ReduceOp, number: Number) {
        self.streams.gpu(by).prepare(pattern, op, number);
    }

    unsafe fn now(&self, op: DeviceOp) -> u64 {
        if let Verb::Atomic(operation, width) = op.verb {
            return self.atomic_now(op.there, width, operation);
        }
        for block in op.each() {
            let (from, to, Strided { len, .. }) = strided(block);
            // SAFETY: passed on to the caller.
            unsafe { self.copy_now(from, to, len) };
        }
        0
    }

    unsafe fn read_now(&self, block: usize, pieces: &[(usize, usize)], to: &mut [u8]) {
        let slot = self.streams.slot(to.len());
        let start = slot.as_ref().map_or(to.as_mut_ptr(), |slot| slot.start());
        let mut at = 0;
        let commands = pieces.iter().filter(|(_, len)| *len > 0).map(|&(offset, len)| {
            let to = start.wrapping_add(at);
            at += len;
            Command::Out { from: self.at(DevicePlace { block, offset }), to, len }
        });
        must(self.streams.run_all(block, commands));
        if let Some(slot) = slot {
            // SAFETY: the slot is ours, and as long at least.
            unsafe { copy::copy(to.as_mut_ptr(), slot.start(), to.len()) };
        }
    }

    unsafe fn fill_now(&self, at: DevicePlace, byte: u8, len: usize) {
        if len > 0 {
            must(self.streams.run(at.block, &Command::Fill { at: self.at(at), byte, len }));
        }
    }

    fn program_streams(&self) -> Option<&dyn ProgramStreams> {
        Some(self)
    }

    fn address(&self, by: usize, at: DevicePlace) -> Option<u64> {
        self.memory.reaches(by, at.block).then(|| self.at(at))
    }

    fn shown(&self, local_pe: usize) -> usize {
        self.memory.start(local_pe) as usize
    }

    fn has_atomics_for(&self, by: usize, of: usize) -> bool {
        driver::has_native_atomics(self.memory.device(by), self.memory.device(of))
    }

    unsafe fn show(
        &self,
        by: usize,
        start: *const u8,
        len: usize,
        keep: Arc<dyn Any + Send + Sync>,
    ) -> Result<u64> {
        let context = self.memory.context(by);
        // SAFETY: passed on to the caller.
        Ok(unsafe { self.shown_host.show(context, start, len, keep) }?)
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        // What is under way uses memory of callers, which keep it until it is complete.
        self.streams.finish();
        self.streams.close();
    }
}
