//! A device, and the commands that its streams take.

use std::{
    collections::{HashMap, HashSet},
    ffi::c_void,
    sync::Arc,
};

use cudarc::driver::sys::{CUdevice, CUdevice_attribute, CUdeviceptr};
use oxshmem_base::sync::{Mutex, lock};
use oxshmem_memory::word::{Atomic, Width};

use super::{
    THREADS,
    combining::{self, Combining},
    driver::{self, Context, Event, Kernel, Module, Outcome, Stream},
    ptx,
};
use crate::device::{MOST_OPERANDS, Number, Pattern, ReduceOp};

/// Blocks of threads that keep a multiprocessor busy.
const BUSY: u32 = 8;

/// What a stream is to do.
pub(super) enum Command {
    /// From the host to the device.
    In { from: *const u8, to: CUdeviceptr, len: usize },
    /// From the device to the host.
    Out { from: CUdeviceptr, to: *mut u8, len: usize },
    /// Between addresses that the device reaches.
    Within { from: CUdeviceptr, to: CUdeviceptr, len: usize },
    /// From the memory of PE `source`, by way of the host.
    Through { source: usize, from: CUdeviceptr, to: CUdeviceptr, len: usize },
    /// Sets bytes.
    Fill { at: CUdeviceptr, byte: u8, len: usize },
    /// Runs a kernel.
    Launch { kernel: Kernel, shape: [u32; 2], arguments: Box<Arguments> },
    /// Only comes after what was before.
    Nothing,
}

// SAFETY: it holds addresses, which are only numbers. Each use has its own reason.
unsafe impl Send for Command {}

/// Words that a list of places takes in arguments.
const LIST: usize = MOST_OPERANDS;

/// What a kernel is given: each argument begins at a word.
pub(super) struct Arguments {
    words: Box<[u64]>,
    /// Where each begins.
    at: [usize; 6],
    count: usize,
}

impl Arguments {
    /// A word each.
    pub(super) fn words(values: &[u64]) -> Box<Self> {
        let mut words = [0; 6];
        words[..values.len()].copy_from_slice(values);
        Box::new(Self { words: Box::new(words), at: [0, 1, 2, 3, 4, 5], count: values.len() })
    }

    /// The arguments of a kernel that combines.
    pub(super) fn combining(
        from: impl Iterator<Item = u64>,
        to: impl Iterator<Item = u64>,
        units: usize,
    ) -> Box<Self> {
        let mut words = [0; 2 * LIST + 3];
        words[LIST] = fill(&mut words[..LIST], from);
        words[2 * LIST + 1] = fill(&mut words[LIST + 1..2 * LIST + 1], to);
        words[2 * LIST + 2] = units as u64;
        let at = [0, LIST, LIST + 1, 2 * LIST + 1, 2 * LIST + 2, 0];
        Box::new(Self { words: Box::new(words), at, count: 5 })
    }

    pub(super) fn pointers(&self) -> ([*mut c_void; 6], usize) {
        // The driver only reads them.
        (self.at.map(|at| (&raw const self.words[at]).cast_mut().cast()), self.count)
    }
}

/// Writes what comes into a list, and says how many there were.
fn fill(list: &mut [u64], values: impl Iterator<Item = u64>) -> u64 {
    let mut count = 0;
    for (place, value) in list.iter_mut().zip(values) {
        *place = value;
        count += 1;
    }
    count
}

/// A device as this process uses it.
pub(super) struct Gpu {
    context: Arc<Context>,
    _base: Module,
    amo: [Kernel; 2],
    blocks: [Kernel; ptx::UNITS.len()],
    /// Those that combine, translated when they are first needed.
    combining: Mutex<HashMap<Combining, (Module, Kernel)>>,
    /// For what all of them are.
    prepared: Mutex<HashSet<(Pattern, ReduceOp, Number)>>,
    /// Events to be used again.
    pub(super) events: Mutex<Vec<Event>>,
    /// For what is over when its call returns.
    pub(super) now: Mutex<Stream>,
    most_blocks: u32,
}

impl Gpu {
    pub(super) fn new(device: CUdevice, context: &Arc<Context>) -> Outcome<Self> {
        let base = Module::load(context, &ptx::base())?;
        let processors = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
        let blocks = ptx::UNITS.map(|unit| base.kernel(&ptx::blocks_name(unit)));
        let [one, four, eight] = blocks;
        Ok(Self {
            context: Arc::clone(context),
            amo: [base.kernel(&ptx::amo_name(32))?, base.kernel(&ptx::amo_name(64))?],
            blocks: [one?, four?, eight?],
            _base: base,
            combining: Mutex::default(),
            prepared: Mutex::default(),
            events: Mutex::default(),
            now: Mutex::new(Stream::new(context)?),
            most_blocks: driver::attribute(device, processors)?.max(1) as u32 * BUSY,
        })
    }

    /// An atomic operation whose result goes to `before`.
    pub(super) fn amo(&self, at: u64, width: Width, operation: Atomic<u64>, before: CUdeviceptr) -> Command {
        let operation = match operation {
            Atomic::Set(value) => Atomic::Swap(value),
            other => other,
        };
        let [what, value, cond] = operation.encode();
        let kernel = match width {
            Width::Four => self.amo[0],
            Width::Eight => self.amo[1],
        };
        let arguments = Arguments::words(&[at, what, value, cond, before]);
        Command::Launch { kernel, shape: [1, 1], arguments }
    }

    /// The kernel that copies blocks in such units.
    pub(super) fn blocks(&self, unit: usize) -> Kernel {
        let at = ptx::UNITS.iter().position(|&it| it == unit);
        self.blocks[at.unwrap_or(0)]
    }

    /// A kernel that combines.
    pub(super) fn combining(&self, combining: Combining) -> Outcome<Kernel> {
        let mut known = lock(&self.combining);
        if let Some((_, kernel)) = known.get(&combining) {
            return Ok(*kernel);
        }
        let module = Module::load(&self.context, &combining.text())?;
        let kernel = module.kernel(&combining.name())?;
        known.insert(combining, (module, kernel));
        Ok(kernel)
    }

    /// Translates all kernels that combine such elements, whatever their places and number.
    pub(super) fn prepare(&self, pattern: Pattern, op: ReduceOp, number: Number) {
        if lock(&self.prepared).insert((pattern, op, number)) {
            for kernel in combining::kernels(pattern, op, number) {
                // One that cannot be translated is an error of the call that needs it.
                let _ = self.combining(kernel);
            }
        }
    }

    /// Blocks and threads for this many elements, of which a thread does some at a time.
    pub(super) fn shape(&self, elements: usize, at_once: usize) -> [u32; 2] {
        let blocks = elements.div_ceil(THREADS as usize * at_once).clamp(1, self.most_blocks as usize);
        [blocks as u32, THREADS]
    }

    /// An event, in a context that is entered.
    pub(super) fn event(&self) -> Outcome<Event> {
        // The lock is not held while one is made.
        let free = lock(&self.events).pop();
        free.map_or_else(|| Event::new(&self.context), Ok)
    }
}
