//! What kernels of a program do by themselves: the device functions, the handle that they take, and
//! the source by which the engine hears of them.
//!
//! The device functions are text, [`FUNCTIONS`], which a compiler for the device takes. They load
//! from and store to device memory of the PEs that the device reaches. Then they ring the PE's
//! *bell*, a word of host memory, since it may sleep until that memory changes. For everything else
//! they ask the host: see [`oxshmem_progress::kernels`] for the words, and [`Requests`] for what
//! serves them.
//!
//! No store of a kernel wakes a thread. So, once any PE of the host has a handle, the engine of
//! each that has a device looks after its words while it waits, and its helper while it does not:
//! after an eighth of the time for which nothing has come, which is 20 us at the least and 1 ms at
//! the most. Before that, all of it costs a load for each look at the sources.

mod handle;

use std::{
    fmt,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use oxshmem_base::Result;
use oxshmem_progress::{
    control::Control,
    executor::Executor,
    kernels::KernelWords,
    source::{Armed, Source},
};

pub use self::handle::DeviceHandle;
use self::handle::Reached;
use super::AnyDevice;

/// The device functions, as text in CUDA C++ for nvcc, clang and NVRTC: `shmemx_device.cuh`.
pub const FUNCTIONS: &str = include_str!("shmemx_device.cuh");

/// The engine looks after kernels' words so soon again at first, and at last.
const LOOK: [Duration; 2] = [Duration::from_micros(20), Duration::from_millis(1)];
/// Looks follow each other after this part of the time for which nothing has come.
const PART: u32 = 8;

/// What serves the requests of a PE's kernels.
pub trait Requests: Send + Sync {
    /// Begins what was asked for, and never blocks. Whether anything was.
    fn serve(&self) -> bool;

    /// A kernel has given a wait up, in this call and for this address.
    fn gave_up(&self, call: u64, address: u64);
}

/// The words of a PE's kernels, in its control block.
#[derive(Clone, Debug)]
pub struct Words {
    control: Arc<Control>,
    local_pe: usize,
}

impl Words {
    /// The words of this PE.
    pub fn own(&self) -> &KernelWords {
        self.of(self.local_pe)
    }

    /// The words of another PE of this host.
    pub fn of(&self, local_pe: usize) -> &KernelWords {
        &self.control.page(local_pe).kernels
    }

    /// Whether any PE of this host has a handle.
    fn are_in_use(&self) -> bool {
        // Relaxed: seen late, it costs the first kernel a moment.
        self.of(0).in_use.0.load(Ordering::Relaxed) != 0
    }
}

/// How a PE's engine hears of kernels.
pub struct Kernels {
    words: Words,
    engine: Weak<Executor>,
    requests: OnceLock<Arc<dyn Requests>>,
    reached: OnceLock<Reached>,
    /// When something last came: nanoseconds since `begin`.
    last: AtomicU64,
    begin: Instant,
}

impl Kernels {
    pub(crate) fn new(control: &Arc<Control>, local_pe: usize, engine: &Arc<Executor>) -> Arc<Self> {
        Arc::new(Self {
            words: Words { control: Arc::clone(control), local_pe },
            engine: Arc::downgrade(engine),
            requests: OnceLock::new(),
            reached: OnceLock::new(),
            last: AtomicU64::new(0),
            begin: Instant::now(),
        })
    }

    /// The words of this PE and the others of its host.
    pub fn words(&self) -> &Words {
        &self.words
    }

    /// From now on kernels may use the words. `requests` serves what they ask for, unless something
    /// does already.
    pub fn serve_by(&self, requests: impl FnOnce() -> Arc<dyn Requests>) {
        self.requests.get_or_init(requests);
        self.note_life();
        // Release: what is made before is seen by the engines that begin to look.
        self.words.of(0).in_use.0.store(1, Ordering::Release);
        if let Some(engine) = self.engine.upgrade() {
            engine.helper_waker().notify();
        }
    }

    /// Something has come: the next looks follow soon.
    fn note_life(&self) {
        // Relaxed: an estimate.
        self.last.store(self.begin.elapsed().as_nanos() as u64, Ordering::Relaxed);
    }

    /// Whether a kernel has rung the bell, and then looks at what changed.
    fn hear_bell(&self) -> bool {
        let bell = &self.words.own().bell.0;
        // Relaxed: the exchange below is what pairs with the kernel's store.
        if bell.load(Ordering::Relaxed) == 0 {
            return false;
        }
        // AcqRel: what kernels stored before they rang is seen by the look that follows, and one
        // that rings after this is seen by the next poll.
        bell.swap(0, Ordering::AcqRel);
        if let Some(engine) = self.engine.upgrade() {
            engine.device_words_changed();
        }
        true
    }

    /// Whether a kernel has given a wait up, and reports it.
    fn hear_note(&self, requests: &dyn Requests) -> bool {
        let note = &self.words.own().note;
        // Relaxed: as for the bell.
        if note.call.load(Ordering::Relaxed) == 0 {
            return false;
        }
        // AcqRel: the address was stored before the call.
        let call = note.call.swap(0, Ordering::AcqRel);
        if call != 0 {
            requests.gave_up(call, note.address.load(Ordering::Relaxed));
        }
        call != 0
    }

    /// What a kernel needs to know of the PEs whose device memory the device of this one reaches.
    fn reached(
        &self,
        device: &AnyDevice,
        has_device: impl Fn(usize) -> bool,
        near: impl Fn(usize) -> Option<usize>,
        n_pes: usize,
    ) -> Result<Reached> {
        match self.reached.get() {
            Some(reached) => Ok(reached.clone()),
            None => {
                let reached = Reached::find(&self.words, device, has_device, near, n_pes)?;
                Ok(self.reached.get_or_init(|| reached).clone())
            }
        }
    }

    /// The handle that kernels of PE `me` of `n_pes` take. `near` gives the numbers of PEs among
    /// those of this host, if they are on it. Something must [serve](Self::serve_by) requests.
    ///
    /// # Errors
    /// The driver's.
    pub fn handle(
        &self,
        device: &AnyDevice,
        (me, n_pes): (usize, usize),
        has_device: impl Fn(usize) -> bool,
        near: impl Fn(usize) -> Option<usize>,
        timeout: Duration,
    ) -> Result<DeviceHandle> {
        let reached = self.reached(device, has_device, near, n_pes)?;
        // Relaxed: it is for quiets of kernels that are launched after this returns.
        self.words.own().served.failed.store(0, Ordering::Relaxed);
        Ok(reached.handle(device.segment(), self.words.local_pe, me, n_pes, timeout))
    }
}

impl Source for Kernels {
    fn poll(&self) -> bool {
        if !self.words.are_in_use() {
            return false;
        }
        let mut any = self.hear_bell();
        if let Some(requests) = self.requests.get() {
            any |= requests.serve();
            any |= self.hear_note(&**requests);
        }
        if any {
            self.note_life();
        }
        any
    }

    fn is_pending(&self) -> bool {
        false
    }

    fn arm(&self) -> Armed<'_> {
        if !self.words.are_in_use() {
            return Armed::IDLE;
        }
        let last = Duration::from_nanos(self.last.load(Ordering::Relaxed));
        let idle = self.begin.elapsed().saturating_sub(last);
        let limit = (idle / PART).clamp(LOOK[0], LOOK[1]);
        Armed::Asleep { descriptor: None, limit: Some(limit) }
    }
}

impl fmt::Debug for Kernels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.words.are_in_use() { "kernels" } else { "no kernels" })
    }
}

#[cfg(test)]
mod tests {
    use oxshmem_base::{
        settings::FenceSide,
        sync::{Mutex, lock},
    };
    use oxshmem_progress::{fabric::Fabric, wait::WaitPolicy};

    use super::*;

    /// Serves nothing, and notes what was given up.
    #[derive(Default)]
    struct Log(Mutex<Vec<(u64, u64)>>);

    impl Requests for Log {
        fn serve(&self) -> bool {
            false
        }

        fn gave_up(&self, call: u64, address: u64) {
            lock(&self.0).push((call, address));
        }
    }

    #[test]
    fn bells_and_notes_are_seen_once_and_only_where_there_is_a_handle() {
        let fabric = Fabric::new(2, 1 << 16, true).unwrap();
        let policy = WaitPolicy::new(Duration::ZERO, 1, false);
        let engine = Executor::new(&fabric, 1, FenceSide::Sleeper, policy);
        let kernels = Kernels::new(&fabric.control, 1, &engine);
        let words = kernels.words().own();
        // As a kernel does.
        words.bell.0.store(1, Ordering::Relaxed);
        assert!(!kernels.poll() && matches!(kernels.arm(), Armed::Asleep { limit: None, .. }));

        let log = Arc::new(Log::default());
        kernels.serve_by(|| Arc::<Log>::clone(&log));
        assert!(kernels.poll() && !kernels.poll());
        assert_eq!(words.bell.0.load(Ordering::Relaxed), 0);
        assert_eq!(kernels.words().of(0).bell.0.load(Ordering::Relaxed), 0, "it is another's");
        let Armed::Asleep { limit: Some(limit), descriptor: None } = kernels.arm() else {
            panic!("nothing wakes it")
        };
        assert!((LOOK[0]..=LOOK[1]).contains(&limit));

        words.note.address.store(77, Ordering::Relaxed);
        words.note.call.store(1, Ordering::Release);
        assert!(kernels.poll() && !kernels.poll());
        assert_eq!(*lock(&log.0), [(1, 77)]);
        // A PE of the host without a handle of its own hears its bell too.
        let other = Kernels::new(&fabric.control, 0, &engine);
        other.words().own().bell.0.store(1, Ordering::Relaxed);
        assert!(other.poll() && !other.poll());
    }
}
