//! Symmetric heaps and the blocks allocated from them, as this PE sees both.
//!
//! A collective allocation is a local one on every PE, with the same result everywhere, plus an
//! agreement that the facade makes through a collective. So is giving memory back: a PE that drops
//! its last handle to a block notes that here ([`SymHeap::window`]), and later agreements free what
//! all PEs have noted.

use std::{collections::BTreeSet, fmt, sync::Arc};

use oxshmem_base::{
    Error, Result,
    settings::HeapPlan,
    sync::{Mutex, MutexGuard, lock},
};
use oxshmem_memory::{Segment, copy, op::Op};
use oxshmem_progress::activity::Count;

use crate::{
    Pe,
    device::DevicePlace,
    domain::Domain,
    heap::{Block, Exhausted, Heap, HeapError, HeapUse, Layout, Realloc},
    kinds::Place,
    window::Window,
};

/// Partitions number their blocks from here on, times their own numbers: no heap has as many.
const IDS: u64 = 1 << 56;
/// `Allocation::host_key` in device memory: no [`Pe::key`], as that is an address or 0.
const NO_PE: usize = usize::MAX;

/// The symmetric heap of a space, or a partition of it (`OpenSHMEM 1.6 §9.3`, memory kinds 0.7).
pub struct SymHeap {
    pe: Arc<Pe>,
    domain: Domain,
    segment: Segment,
    place: Place,
    state: Mutex<ArenaState>,
}

struct ArenaState {
    heap: Heap,
    /// Blocks that this PE has no handle to any more, and that are still allocated.
    released: BTreeSet<u64>,
    /// The number from which on the next agreement looks for blocks that all PEs have released. It
    /// is the same on all PEs.
    cursor: u64,
    /// How many calls have changed the heap, or tried to. PEs of a job that goes on without others
    /// compare that.
    changes: u64,
}

/// A block of a symmetric heap. When the last handle to it drops, this PE gives it up.
pub struct Allocation {
    segment: Segment,
    domain: Domain,
    /// The PE's key in host memory, and [`NO_PE`] in device memory: one comparison with the key of
    /// a PE finds whether that may load and store it.
    host_key: usize,
    pe: Arc<Pe>,
    /// None for scratch memory of the library.
    heap: Option<Arc<SymHeap>>,
    /// None for an array without elements, which no heap knows.
    block: Option<Block>,
    offset: usize,
    len: usize,
}

impl SymHeap {
    /// The heaps of `pe` in host memory, by the numbers of their partitions: one number 1 where the
    /// CPU space's heap has no partitions, and none where the job has no CPU space.
    ///
    /// # Safety
    /// Once a PE: two heaps over one memory would give the same bytes away twice.
    pub unsafe fn on_host(pe: &Arc<Pe>) -> Vec<Arc<Self>> {
        let places = pe.partitions().layout.places().iter();
        places.map(|&place| Self::new(pe, Domain::Host, pe.host_heap(), place)).collect()
    }

    /// The heap of `pe` in device memory, if the job has a GPU space and this PE a device. Its
    /// number is 0.
    ///
    /// # Safety
    /// As for [`on_host`](Self::on_host).
    pub unsafe fn on_device(pe: &Arc<Pe>) -> Option<Arc<Self>> {
        let HeapPlan { setting: variable, .. } = pe.spaces().gpu?;
        let device = pe.device()?;
        let segment = device.segment().clone();
        let len = segment.len();
        let place = Place { id: 0, start: 0, len, reserved: len, variable, defined: None };
        Some(Self::new(pe, Domain::Device(Arc::clone(device)), segment, place))
    }

    fn new(pe: &Arc<Pe>, domain: Domain, segment: Segment, place: Place) -> Arc<Self> {
        let heap = Heap::at(place.start, place.len, place.id as u64 * IDS + 1);
        if matches!(domain, Domain::Host) {
            pe.board().changed(Count::HeapSize, heap.usage().size);
        }
        let state = ArenaState { heap, released: BTreeSet::new(), cursor: 0, changes: 0 };
        Arc::new(Self { pe: Arc::clone(pe), domain, segment, place, state: Mutex::new(state) })
    }

    /// Whose it is.
    pub fn pe(&self) -> &Arc<Pe> {
        &self.pe
    }

    /// What it is in.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// The number of its partition, or 0 in device memory.
    pub fn id(&self) -> usize {
        self.place.id
    }

    /// Where it is in the segment.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Allocates locally what all PEs are allocating. With `zeroed`, this PE's bytes are 0.
    ///
    /// # Safety
    /// All PEs make the same calls of this, [`realloc`](Self::realloc) and
    /// [`reclaim`](Self::reclaim) on this heap, in the same order: only then is a block at the same
    /// place on all of them, and nobody else's there.
    ///
    /// # Errors
    /// [`Error::HeapExhausted`] and [`Error::InvalidAlignment`], the same on every PE.
    pub unsafe fn alloc(
        self: &Arc<Self>,
        call: &'static str,
        layout: Layout,
        zeroed: bool,
    ) -> Result<Arc<Allocation>> {
        let block = self.changing(|state| state.heap.alloc(layout)).map_err(|e| self.refusal(call, e))?;
        if zeroed {
            // What no block ever had is still as the kernel made it, and need not be touched.
            let used = block.fresh_from.clamp(block.offset, block.end()) - block.offset;
            let me = self.pe.local_pe();
            // SAFETY: the block is in the heap's segment.
            unsafe {
                match &self.domain {
                    Domain::Host => copy::fill(self.segment.address_unchecked(me, block.offset), 0, used),
                    Domain::Device(device) => {
                        device.fill_now(DevicePlace::new(me, block.offset), 0, used);
                    }
                }
            }
        }
        Ok(self.allocation(Some(block)))
    }

    /// Resizes locally what all PEs are resizing.
    ///
    /// # Safety
    /// As for [`alloc`](Self::alloc). The block is one of this heap, and every PE gives the only
    /// handle to it: the place where it was may be free afterwards.
    ///
    /// # Errors
    /// [`Error::HeapExhausted`], the same on every PE, with the block as it was;
    /// [`Error::ForeignMemory`] if it is a block of another heap.
    pub unsafe fn realloc(
        self: &Arc<Self>,
        call: &'static str,
        allocation: Arc<Allocation>,
        bytes: usize,
    ) -> Result<Arc<Allocation>, (Error, Arc<Allocation>)> {
        if !allocation.is_from(self) {
            return Err((Error::ForeignMemory { call }, allocation));
        }
        let Some(offset) = allocation.block().map(|block| block.offset) else {
            return Err((
                Error::bootstrap(call, "an empty allocation cannot be resized in place"),
                allocation,
            ));
        };
        let resized = self.changing(|state| state.heap.realloc(offset, bytes));
        let block = match resized {
            Ok(Realloc::InPlace { block }) => block,
            Ok(Realloc::Moved { from, copy: len, block }) => {
                let me = self.pe.local_pe();
                let places = [from, block.offset];
                // SAFETY: both places are in the heap, and do not overlap. No PE can have been
                // given the old place yet, since that takes another collective.
                unsafe {
                    match &self.domain {
                        Domain::Host => {
                            let [from, to] = places.map(|at| self.segment.address_unchecked(me, at));
                            copy::copy(to, from, len);
                        }
                        Domain::Device(device) => {
                            let [from, to] = places.map(|at| DevicePlace::new(me, at));
                            device.now(Op::put(to, from, len));
                        }
                    }
                }
                block
            }
            Err(e) => return Err((self.refusal(call, e), allocation)),
        };
        // The handle ends without giving up the block, which lives on in the new one.
        if let Ok(mut old) = Arc::try_unwrap(allocation) {
            old.block = None;
        }
        Ok(self.allocation(Some(block)))
    }

    /// Blocks that this PE has given up, and that are not `in_use`: from the number `from` on, or
    /// from where the agreements before have come to.
    pub fn window(&self, from: Option<u64>, in_use: impl FnOnce() -> Vec<u64>) -> Window {
        let state = self.state();
        let mut released = state.released.range(from.unwrap_or(state.cursor)..).copied().peekable();
        if released.peek().is_none() {
            return Window::NONE;
        }
        let in_use = in_use();
        Window::of(released.filter(|id| !in_use.contains(id)))
    }

    /// Frees the blocks that every PE has given up, of which `given_up` is the merged windows, and
    /// moves on if that shows none. Whether more may be found behind.
    ///
    /// # Safety
    /// As for [`alloc`](Self::alloc). Every number that the window shows is in each PE's own
    /// [`window`](Self::window): a block that is freed while some PE has a handle to it becomes
    /// part of another one.
    pub unsafe fn reclaim(&self, given_up: &Window) -> bool {
        self.changing(|state| {
            let mut freed = 0;
            for id in given_up.numbers() {
                state.released.remove(&id);
                let offset = state.heap.offset_of(id);
                freed += usize::from(offset.is_some_and(|offset| state.heap.free(offset).is_ok()));
            }
            if freed == 0 {
                state.cursor = given_up.seen().unwrap_or(0);
            }
            freed > 0 || state.cursor > 0
        })
    }

    /// How many blocks this PE has given up that are not free yet.
    pub fn released(&self) -> usize {
        self.state().released.len()
    }

    /// Has the next agreement look from the first block on. All PEs do so alike.
    pub fn rewind(&self) {
        self.state().cursor = 0;
    }

    /// Runs `change`, and says where others can read it how much is used then.
    fn changing<R>(&self, change: impl FnOnce(&mut ArenaState) -> R) -> R {
        let mut state = self.state();
        let before = state.heap.usage().used;
        let outcome = change(&mut state);
        state.changes += 1;
        if matches!(self.domain, Domain::Host) {
            let by = state.heap.usage().used.wrapping_sub(before);
            self.pe.board().changed(Count::HeapUsed, by);
        }
        outcome
    }

    /// How many calls have changed it, or tried to.
    pub fn changes(&self) -> u64 {
        self.state().changes
    }

    /// What it is after these changes, for a PE that has missed some of them.
    pub fn encode(&self) -> Vec<u8> {
        self.state().heap.encode()
    }

    /// Makes it what it is on a PE that has made more changes. Returns handles to the blocks that
    /// are new here, in the order in which they were allocated. The next agreement looks from the
    /// first block on. `None` if the bytes are of no heap.
    ///
    /// # Safety
    /// As for [`alloc`](Self::alloc): what this PE has made of changes is the beginning of what the
    /// other PE has made, whose [`encode`](Self::encode) gave this.
    pub unsafe fn adopt(self: &Arc<Self>, changes: u64, bytes: &[u8]) -> Option<Vec<Arc<Allocation>>> {
        let news = self.changing(|state| {
            let heap = state.heap.decoded(bytes)?;
            let is_new = |block: &&Block| state.heap.offset_of(block.id).is_none();
            let news: Vec<Block> = heap.live().filter(is_new).copied().collect();
            state.released.retain(|&id| heap.offset_of(id).is_some());
            // What is counted next is this change.
            (state.heap, state.cursor, state.changes) = (heap, 0, changes - 1);
            Some(news)
        });
        news.map(|news| news.into_iter().map(|block| self.allocation(Some(block))).collect())
    }

    /// What the heap holds. Blocks that are given up, but not by all PEs yet, count as used.
    pub fn usage(&self) -> HeapUse {
        self.state().heap.usage()
    }

    /// The memory that the heap is in.
    pub fn segment(&self) -> &Segment {
        &self.segment
    }

    /// A handle to `block`, or to no elements.
    fn allocation(self: &Arc<Self>, block: Option<Block>) -> Arc<Allocation> {
        Arc::new(Allocation {
            segment: self.segment.clone(),
            domain: self.domain.clone(),
            host_key: host_key(&self.pe, &self.domain),
            pe: Arc::clone(&self.pe),
            heap: Some(Arc::clone(self)),
            offset: block.map_or(0, |block| block.offset),
            len: block.map_or(0, |block| block.bytes),
            block,
        })
    }

    fn refusal(&self, call: &'static str, error: HeapError) -> Error {
        match error {
            HeapError::Exhausted(Exhausted { asked, align, free, largest, size }) => {
                let setting = self.place.variable;
                Error::HeapExhausted { call, asked, align, free, largest, size, setting }
            }
            HeapError::InvalidAlignment { align } => Error::InvalidAlignment { call, align },
            other => Error::bootstrap(call, other),
        }
    }

    fn state(&self) -> MutexGuard<'_, ArenaState> {
        lock(&self.state)
    }
}

impl Allocation {
    /// A range of `segment`, which no heap gave away: scratch memory of the library.
    ///
    /// # Safety
    /// The segment must be of the job of `pe`, and in `domain`. What has the range without knowing
    /// of this allocation, blocks of a heap among them, must expect what is done through it.
    pub unsafe fn unowned(
        pe: Arc<Pe>,
        domain: Domain,
        segment: Segment,
        offset: usize,
        len: usize,
    ) -> Arc<Self> {
        assert!(segment.address(0, offset, len).is_some(), "scratch memory lies inside its segment");
        let host_key = host_key(&pe, &domain);
        Arc::new(Self { segment, domain, host_key, pe, heap: None, block: None, offset, len })
    }

    /// An array without elements, which is in the heap's memory all the same.
    pub fn empty(heap: &Arc<SymHeap>) -> Arc<Self> {
        heap.allocation(None)
    }

    /// The heap that it is from, unless it is scratch memory of the library.
    pub fn heap(&self) -> Option<&Arc<SymHeap>> {
        self.heap.as_ref()
    }

    /// Whether it was allocated from `heap`: not from that of another PE, nor from another
    /// partition or space.
    pub fn is_from(&self, heap: &Arc<SymHeap>) -> bool {
        self.heap.as_ref().is_some_and(|it| Arc::ptr_eq(it, heap))
    }

    /// The symmetric memory it is in.
    #[inline(always)]
    pub fn segment(&self) -> &Segment {
        &self.segment
    }

    /// What it is in.
    #[inline(always)]
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// Whether it is `pe`'s handle, in whichever domain. It is no PE's any more once that has left
    /// its job.
    #[inline]
    pub fn is_of(&self, pe: &Pe) -> bool {
        self.pe.memory_key() == pe.key()
    }

    /// Whether it is `pe`'s handle and in host memory: whether `pe` may load and store it. This is
    /// one comparison, the only one that most operations make of their memory.
    #[inline(always)]
    pub fn is_host_memory_of(&self, pe: &Pe) -> bool {
        self.host_key == pe.key()
    }

    /// The PE whose handle this is.
    #[inline(always)]
    pub fn pe(&self) -> &Arc<Pe> {
        &self.pe
    }

    /// Bytes from the segment's start.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Bytes that were asked for.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The block in its heap.
    pub fn block(&self) -> Option<&Block> {
        self.block.as_ref()
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        if let (Some(heap), Some(block)) = (&self.heap, &self.block) {
            heap.state().released.insert(block.id);
        }
    }
}

impl fmt::Debug for Allocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes at offset {:#x}", self.len, self.offset)
    }
}

impl fmt::Debug for SymHeap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.usage().fmt(f)
    }
}

/// What `Allocation::host_key` is.
fn host_key(pe: &Pe, domain: &Domain) -> usize {
    match domain {
        Domain::Host => pe.memory_key(),
        Domain::Device(_) => NO_PE,
    }
}
