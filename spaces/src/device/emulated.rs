//! A device that is not there: host memory that only this module touches, so that what works on
//! device memory can be tested where there is no device.
//!
//! Its memory lies behind the symmetric heap of the host, for PEs of other processes to find it.
//! The addresses that programs see are others, which are reserved and not mapped: a load from
//! one faults. Operations happen on a thread of their own, after a latency, in the order of their
//! calls. As with a real device, they complete when the device is polled.

use std::{
    any::Any,
    collections::VecDeque,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering, fence},
    },
    thread,
    time::{Duration, Instant},
};

use oxshmem_base::{
    Result,
    panics::survive,
    sync::{Condvar, Mutex, MutexGuard, lock},
};
use oxshmem_memory::{
    HostMap, Segment, SegmentId, copy,
    op::{Address, Op, Verb},
};
use oxshmem_net::Way;
use oxshmem_progress::{
    completion::Completion,
    helper_waker::HelperWaker,
    source::{Armed, Source},
};

use super::{Combine, Device, DeviceOp, DevicePlace, End, numbers, ready::Ready};

/// The emulated device of the PEs of one process.
pub struct Emulated {
    /// What programs see.
    shown: Segment,
    /// What there is.
    memory: Segment,
    /// Host memory that kernels were shown.
    shown_to_kernels: Mutex<Vec<Arc<dyn Any + Send + Sync>>>,
    queue: Arc<EmulatedQueue>,
}

/// What the device has to do, and what it has done. Its thread keeps this, and nothing else.
struct EmulatedQueue {
    state: Mutex<EmulatedState>,
    more: Condvar,
    latency: Duration,
    /// Operations that have happened, and what completes them.
    over: Mutex<VecDeque<Over>>,
    /// Operations that are not complete.
    under_way: AtomicUsize,
    /// Held by the thread that completes, so that operations complete in their order.
    polling: Mutex<()>,
    /// Whether the helper thread sleeps on `ready`.
    armed: AtomicBool,
    ready: Ready,
    helper_waker: Arc<HelperWaker>,
}

#[derive(Default)]
struct EmulatedState {
    ops: VecDeque<(Instant, EmulatedOp)>,
    started: bool,
    closed: bool,
}

/// One operation, with everything it needs to stay alive. It returns what completes it.
type EmulatedOp = Box<dyn FnOnce() -> Over + Send>;
type Over = Box<dyn FnOnce() + Send>;

impl Emulated {
    /// With `len` bytes of `map` behind `at` in each block, which nothing else may touch.
    /// `helper_waker` wakes the helper that is to poll it.
    pub fn new(
        map: &Arc<HostMap>,
        at: usize,
        len: usize,
        latency: Duration,
        helper_waker: &Arc<HelperWaker>,
    ) -> Result<Self> {
        let shown = Arc::new(HostMap::reserved(
            map.local_pes(),
            map.stride(),
            map.home(),
            "SHMEM_GPU_SYMMETRIC_SIZE",
        )?);
        let queue = EmulatedQueue {
            state: Mutex::default(),
            more: Condvar::new(),
            latency,
            over: Mutex::default(),
            under_way: AtomicUsize::new(0),
            polling: Mutex::default(),
            armed: AtomicBool::new(false),
            ready: Ready::new()?,
            helper_waker: Arc::clone(helper_waker),
        };
        Ok(Self {
            shown: Segment::new(SegmentId::Gpu, shown, 0, len),
            memory: Segment::new(SegmentId::Gpu, Arc::clone(map), at, len),
            shown_to_kernels: Mutex::default(),
            queue: Arc::new(queue),
        })
    }

    fn place(&self, DevicePlace { block, offset }: DevicePlace) -> Address {
        self.memory.address_unchecked(block, offset).into()
    }

    /// The operation on the memory that the device is made of.
    fn on_memory(&self, op: DeviceOp) -> Op<Address, Address> {
        let here = |end| match end {
            End::Host(address) => address,
            End::Device(place) => self.place(place),
        };
        op.map(|place| self.place(place), here)
    }

    /// Has the thread do `op` when the latency is over.
    fn begin(&self, op: EmulatedOp) {
        self.queue.under_way.fetch_add(1, Ordering::SeqCst);
        let mut state = lock(&self.queue.state);
        state.ops.push_back((Instant::now() + self.queue.latency, op));
        self.wake(state);
        self.queue.helper_waker.issue();
    }

    fn wake(&self, mut state: MutexGuard<'_, EmulatedState>) {
        if !state.started {
            let queue = Arc::clone(&self.queue);
            let spawned = thread::Builder::new().name("oxshmem-emulated".into()).spawn(move || queue.run());
            if let Err(e) = spawned {
                // Nothing that was begun would ever end.
                panic!("oxshmem cannot start the thread of the emulated device: {e}");
            }
            state.started = true;
        }
        drop(state);
        self.queue.more.notify_one();
    }
}

impl EmulatedQueue {
    /// What the thread does.
    fn run(&self) {
        while let Some(op) = self.next() {
            let over = op();
            lock(&self.over).push_back(over);
            // SeqCst: either the helper sees what is over before it sleeps, or we see that it does.
            if self.armed.swap(false, Ordering::SeqCst) {
                self.ready.set();
            }
        }
        // Nothing polls a device that is gone.
        self.complete();
    }

    /// Waits for the first operation, and for the time when it is due.
    fn next(&self) -> Option<EmulatedOp> {
        let mut state = lock(&self.state);
        loop {
            let left = state.ops.front().map(|(due, _)| due.saturating_duration_since(Instant::now()));
            state = match left {
                // What was begun before the end happens, as it does on a real device.
                Some(left) if left.is_zero() || state.closed => {
                    return state.ops.pop_front().map(|(_, op)| op);
                }
                Some(left) => self.more.wait_timeout(state, left).0,
                None if state.closed => return None,
                None => self.more.wait(state),
            };
        }
    }

    /// Completes what is over. Whether anything was.
    fn complete(&self) -> bool {
        let Some(polling) = self.polling.try_lock() else { return false };
        let mut any = false;
        loop {
            let Some(over) = lock(&self.over).pop_front() else { break };
            self.under_way.fetch_sub(1, Ordering::SeqCst);
            survive(over);
            any = true;
        }
        drop(polling);
        any
    }
}

impl Drop for Emulated {
    fn drop(&mut self) {
        lock(&self.queue.state).closed = true;
        self.queue.more.notify_one();
    }
}

impl fmt::Debug for Emulated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "emulated device with {} bytes", self.memory.len())
    }
}

impl Source for Emulated {
    fn poll(&self) -> bool {
        self.queue.complete()
    }

    fn is_pending(&self) -> bool {
        self.queue.under_way.load(Ordering::Relaxed) > 0
    }

    fn arm(&self) -> Armed<'_> {
        let queue = &*self.queue;
        queue.ready.clear();
        // SeqCst: see `run`.
        queue.armed.swap(true, Ordering::SeqCst);
        match lock(&queue.over).is_empty() {
            true => Armed::Asleep { descriptor: Some(queue.ready.descriptor()), limit: None },
            false => Armed::Ready,
        }
    }
}

/// Performs an operation, and returns the value before it of an atomic one.
///
/// # Safety
/// Its memory must be readable and writable.
unsafe fn perform(op: Op<Address, Address>) -> u64 {
    if let Verb::Atomic(operation, width) = op.verb {
        // SAFETY: passed on to the caller.
        return unsafe { operation.apply(op.there.get(), width) };
    }
    for block in op.each() {
        let (from, to) = match block.verb {
            Verb::Get(to) => (block.there, to),
            Verb::Put(from) => (from, block.there),
            Verb::Atomic(..) => continue,
        };
        // SAFETY: passed on to the caller.
        unsafe { copy::copy(to.get(), from.get(), block.blocks.len) };
    }
    // SeqCst: visible to all before anybody learns that it is.
    fence(Ordering::SeqCst);
    0
}

// SAFETY: `perform` touches exactly the bytes of the operation, before `done` completes, and each
// operation holds the map that they are in.
unsafe impl Way<DevicePlace, End> for Emulated {
    unsafe fn start(&self, op: DeviceOp, done: Completion<u64>) {
        let (op, map) = (self.on_memory(op), Arc::clone(self.memory.map()));
        self.begin(Box::new(move || {
            // SAFETY: `done` has not completed, so what is on the host is good; `map` keeps the
            // rest.
            let before = unsafe { perform(op) };
            drop(map);
            Box::new(move || done(Ok(before)))
        }));
    }

    fn flush(&self, _: Option<usize>, done: Completion) {
        self.begin(Box::new(move || Box::new(move || done(Ok(())))));
    }
}

// SAFETY: `combine` touches exactly the bytes of its arguments, before `done` completes, and its
// operation holds the map that they are in.
unsafe impl Device for Emulated {
    fn name(&self) -> &'static str {
        "emulated"
    }

    fn has_atomics(&self) -> bool {
        true
    }

    fn segment(&self) -> &Segment {
        &self.shown
    }

    /// The address of the memory that the device is made of: its kernels are functions of the
    /// host.
    fn address(&self, _: usize, at: DevicePlace) -> Option<u64> {
        Some(self.place(at).get().addr() as u64)
    }

    unsafe fn show(
        &self,
        _: usize,
        start: *const u8,
        _: usize,
        keep: Arc<dyn Any + Send + Sync>,
    ) -> Result<u64> {
        lock(&self.shown_to_kernels).push(keep);
        Ok(start.addr() as u64)
    }

    fn device_of(&self, _: usize) -> usize {
        0
    }

    fn reaches(&self, _: usize, _: usize) -> bool {
        true
    }

    unsafe fn combine(&self, what: Combine<'_>, done: Completion) {
        let Combine { by: _, pattern, op, number, from, to, len } = what;
        let addresses = |places: &[DevicePlace]| -> Vec<Address> {
            places.iter().map(|&place| self.place(place)).collect()
        };
        let (from, to, map) = (addresses(from), addresses(to), Arc::clone(self.memory.map()));
        self.begin(Box::new(move || {
            let [from, to] =
                [from, to].map(|list| list.iter().map(|address| address.get()).collect::<Vec<_>>());
            // SAFETY: the caller vouches for all places, and `map` keeps them.
            unsafe { numbers::combine((pattern, op, number), &from, &to, len) };
            // SeqCst: as in `perform`.
            fence(Ordering::SeqCst);
            drop(map);
            Box::new(move || done(Ok(())))
        }));
    }

    unsafe fn now(&self, op: DeviceOp) -> u64 {
        // SAFETY: passed on to the caller.
        unsafe { perform(self.on_memory(op)) }
    }

    unsafe fn read_now(&self, block: usize, pieces: &[(usize, usize)], mut to: &mut [u8]) {
        for &(offset, len) in pieces {
            let (mut from, end) = (offset, offset + len);
            while from < end {
                // The longest word that begins there and ends inside.
                let size =
                    [8, 4, 2].into_iter().find(|size| from.is_multiple_of(*size) && from + size <= end);
                let (word, rest) = std::mem::take(&mut to).split_at_mut(size.unwrap_or(1));
                let address = self.memory.address_unchecked(block, from);
                // SAFETY: the caller vouches for the bytes, and the memory is aligned to pages.
                unsafe {
                    match word.len() {
                        8 => word.copy_from_slice(&copy::load(address.cast::<u64>()).to_ne_bytes()),
                        4 => word.copy_from_slice(&copy::load(address.cast::<u32>()).to_ne_bytes()),
                        2 => word.copy_from_slice(&copy::load(address.cast::<u16>()).to_ne_bytes()),
                        len => copy::copy(word.as_mut_ptr(), address, len),
                    }
                }
                (from, to) = (from + word.len(), rest);
            }
        }
        // SeqCst: as in `perform`.
        fence(Ordering::SeqCst);
    }

    unsafe fn fill_now(&self, at: DevicePlace, byte: u8, len: usize) {
        // SAFETY: the caller vouches for the bytes.
        unsafe { copy::fill(self.place(at).get(), byte, len) }
    }
}

#[cfg(test)]
mod tests {
    use oxshmem_memory::word::{Atomic, Width};

    use super::*;

    fn device_of(helper_waker: &Arc<HelperWaker>, latency: Duration) -> Emulated {
        let map = Arc::new(HostMap::new(2, 1 << 20).unwrap());
        Emulated::new(&map, 1 << 16, 1 << 17, latency, helper_waker).unwrap()
    }

    fn device(latency: Duration) -> Emulated {
        device_of(&Arc::new(HelperWaker::new().unwrap()), latency)
    }

    #[test]
    fn the_emulated_device_passes_the_suite_of_all_devices() {
        for latency in [Duration::ZERO, Duration::from_micros(200)] {
            super::super::suite::check(crate::ways(), |helper_waker| {
                Arc::new(device_of(helper_waker, latency))
            });
        }
    }

    #[test]
    fn an_operation_takes_its_latency_and_happens_though_the_device_is_gone() {
        let device = device(Duration::from_millis(20));
        let map = Arc::clone(device.memory.map());
        let at = device.memory.address_unchecked(1, 8);
        let (sender, completed) = std::sync::mpsc::channel();
        let start = Instant::now();
        // SAFETY: in bounds and aligned.
        unsafe {
            device.start(
                Op::atomic(DevicePlace { block: 1, offset: 8 }, Atomic::Set(7), Width::Eight),
                Box::new(move |_| {
                    sender.send(start.elapsed()).unwrap();
                }),
            );
            assert_eq!(copy::load(at.cast::<u64>()), 0, "not at once");
        }
        let over = loop {
            device.poll();
            if let Ok(over) = completed.try_recv() {
                break over;
            }
        };
        assert!(over >= Duration::from_millis(20));
        // SAFETY: as above.
        assert_eq!(unsafe { copy::load(at.cast::<u64>()) }, 7);
        // SAFETY: as above.
        unsafe {
            let set = Op::atomic(DevicePlace { block: 1, offset: 8 }, Atomic::Set(8), Width::Eight);
            device.start(set, Box::new(drop));
        };
        drop(device);
        let limit = Instant::now() + Duration::from_secs(10);
        // SAFETY: `map` keeps it.
        while unsafe { copy::load(at.cast::<u64>()) } != 8 {
            assert!(Instant::now() < limit, "what was begun never happened");
            thread::yield_now();
        }
        drop(map);
    }

    #[test]
    fn what_programs_see_of_it_is_not_readable() {
        let device = device(Duration::ZERO);
        let shown = device.segment().address_unchecked(1, 64);
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let line = maps.lines().find(|line| {
            let range = line.split(' ').next().and_then(|range| range.split_once('-'));
            let ends = range.map(|(a, b)| [a, b].map(|end| usize::from_str_radix(end, 16).unwrap()));
            ends.is_some_and(|[from, to]| (from..to).contains(&shown.addr()))
        });
        assert!(line.is_some_and(|line| line.contains(" ---s ")), "{line:?}");
    }
}
