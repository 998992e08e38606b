//! The control block of a PE: a small piece of shared memory through which the library, not the
//! user, meets other PEs.
//!
//! It begins with one page whose words have fixed meanings; behind it lies scratch memory for the
//! collectives of the world, which reach it as a [`Segment`] like any other.

use std::sync::{Arc, atomic::AtomicU64};

use bytemuck::{Pod, Zeroable};
use oxshmem_base::{
    Result,
    settings::FenceSide,
    sync::{self, AtomicU32, AtomicUsize, Ordering},
};
use oxshmem_memory::{HostMap, Segment, SegmentId};

use crate::doorbell::must_ring;
use crate::kernels::KernelWords;
use crate::notes::Notes;
use crate::phase::NAME_WORDS;

/// Where in the block the scratch memory begins: behind the fixed words.
const SCRATCH: usize = 64 << 10;
/// Bytes of scratch memory: what the teams share among themselves. Memory that is never touched
/// costs nothing.
pub const SCRATCH_BYTES: usize = 74 << 20;
/// Bytes of one PE's control block.
pub const BLOCK: usize = SCRATCH + SCRATCH_BYTES;

/// How many operations of a PE have a place of their own. Of more it is only known how many there
/// are.
pub const SLOTS: usize = 12;
/// Words that count.
pub const COUNT_WORDS: usize = 96;

/// What a PE shows: what it waits for, its phase, and what it has done.
/// [`activity`](crate::activity) has the type that writes it, [`Board`](crate::activity::Board),
/// and the one that reads it, [`Boards`](crate::activity::Boards). A copy of it has plain words.
#[derive(Clone, Copy)]
#[repr(C, align(128))]
pub struct Shown<W = AtomicU64> {
    /// Not 0 while the PE is observed: until when a looker looks in its upper half, and whether
    /// what the PE does is recorded in its lowest bit. Operations load it, so nothing else that is
    /// written is on its lines.
    pub observed: W,
    apart: [W; 15],
    /// Says that a PE has joined, and in which form it shows what it does.
    pub form: W,
    /// The PE's number, and that of its process.
    pub pe: W,
    /// Whether it takes part in its job.
    pub standing: W,
    /// Operations that found no slot.
    pub more: W,
    /// Where in the PE's symmetric memory the executable's globals begin; all bits set if they are
    /// not in it.
    pub globals_at: W,
    /// What it waits for.
    pub slots: [BoardSlot<W>; SLOTS],
    /// How often the phase has begun and ended to change: odd while it does.
    pub phase_changes: W,
    /// The name of the phase that it is in, as [`name_words`](crate::phase::name_words) makes it.
    pub phase: [W; NAME_WORDS],
    behind: [W; 6],
    /// What it has done, as far as that is counted.
    pub counts: [W; COUNT_WORDS],
}

/// Room for one operation that waits.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct BoardSlot<W> {
    /// Whether something is entered; changes with every entry, and is written last.
    pub state: W,
    /// The call's code.
    pub call: W,
    /// Since when it waits.
    pub since: W,
    /// The team, and which of its collectives it is.
    pub team: W,
    /// See above.
    pub number: W,
    /// What the call was given.
    pub args: [W; 4],
}

// SAFETY: words and nothing between them, any bits of which are valid; so are zeros.
unsafe impl Zeroable for Shown<u64> {}
// SAFETY: as above.
unsafe impl Pod for Shown<u64> {}
const _: () = assert!(size_of::<Shown<u64>>() == 8 * (16 + 5 + 9 * SLOTS + 1 + NAME_WORDS + 6 + COUNT_WORDS));

/// The words at the start of each control block, every one on cache lines of its own.
#[repr(C)]
pub struct Page {
    /// Whether the PE sleeps, and what for.
    pub sleep: Line<Sleep>,
    /// In block 0 alone: not 0 once any PE of the host may store past the library (see `Executor`).
    pub silent_stores: Line<AtomicU32>,
    /// What the PE waits for and has done, to be read by anybody.
    pub shown: Shown,
    /// How often words of the PE's device memory may have changed, as far as that is known on the
    /// host.
    pub device_changes: Line<sync::AtomicU64>,
    /// Where words have changed, if the PE asks its writers for that.
    pub notes: Line<Notes>,
    /// What kernels of devices and the engine tell each other, on pages of their own.
    pub kernels: KernelWords,
}

#[cfg(oxshmem_loom)]
impl Page {
    /// A new one.
    fn of_loom() -> Box<Self> {
        let mut page = Box::<Self>::new_zeroed();
        let at = page.as_mut_ptr();
        // SAFETY: what is not written here is valid if zeroed: it is of the standard library's
        // atomics, and bytes.
        unsafe {
            (&raw mut (*at).sleep).write(Line(Sleep {
                sleeping: AtomicU32::new(0),
                watched_from: AtomicUsize::new(0),
                watched_to: AtomicUsize::new(0),
            }));
            (&raw mut (*at).silent_stores).write(Line(AtomicU32::new(0)));
            (&raw mut (*at).device_changes).write(Line(sync::AtomicU64::new(0)));
            (&raw mut (*at).notes).write(Line(Notes::default()));
            page.assume_init()
        }
    }
}

/// What a PE that sleeps tells its writers.
#[repr(C)]
pub struct Sleep {
    /// A bit for each kind of memory (`SegmentId`) that the PE, which sleeps, waits for words in. 0
    /// while it is awake and asks for no [notes](crate::notes).
    pub sleeping: AtomicU32,
    /// The part of its heap that it waits for words in, as offsets: stores elsewhere in the heap
    /// need not ring. Written before `sleeping`, or under the rules of `Executor::register`.
    pub watched_from: AtomicUsize,
    /// Where that part ends.
    pub watched_to: AtomicUsize,
}

/// A value on two adjacent cache lines of its own, as processors fetch them in pairs.
#[repr(C, align(128))]
pub struct Line<T>(pub T);

#[cfg(oxshmem_loom)]
struct Pages(Vec<Box<Page>>);

#[cfg(oxshmem_loom)]
impl std::fmt::Debug for Pages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Pages")
    }
}

/// The control blocks of all local PEs.
#[derive(Debug)]
pub struct Control {
    /// What `map` says too, without a pointer in between.
    base: *const u8,
    n: usize,
    map: Arc<HostMap>,
    /// Loom's atomics are not just memory, so that these take the place of those in the map.
    #[cfg(oxshmem_loom)]
    pages: Pages,
}

// SAFETY: `base` is the map's, which is `Send`.
unsafe impl Send for Control {}
// SAFETY: as above; what is behind it is atomic.
unsafe impl Sync for Control {}

impl Control {
    /// Where in a block the PE shows what it does.
    pub(crate) const SHOWN: usize = std::mem::offset_of!(Page, shown);
    /// Where the half of a word is that a looker writes.
    pub(crate) const WATCHED_UNTIL: usize = Self::SHOWN
        + std::mem::offset_of!(Shown, observed)
        + if cfg!(target_endian = "little") { 4 } else { 0 };
    /// What the memory is called where the system lists what a process has open.
    pub const NAME: &'static str = "oxshmem-control";

    /// Memory for the control blocks of `n` PEs.
    pub fn new_map(n: usize) -> Result<HostMap> {
        HostMap::named(Self::NAME, n, BLOCK)
    }

    /// The control blocks that are in this memory.
    ///
    /// # Safety
    /// The map must be [such memory](Self::new_map), of this process or another, that is accessed
    /// only as control blocks.
    pub unsafe fn new(map: Arc<HostMap>) -> Self {
        debug_assert_eq!(map.stride(), BLOCK);
        Self {
            base: map.base(),
            n: map.local_pes(),
            #[cfg(oxshmem_loom)]
            pages: Pages((0..map.local_pes()).map(|_| Page::of_loom()).collect()),
            map,
        }
    }

    /// The fixed words of a PE of this host.
    #[inline(always)]
    pub fn page(&self, block: usize) -> &Page {
        assert!(block < self.n);
        #[cfg(oxshmem_loom)]
        return &self.pages.0[block];
        #[cfg(not(oxshmem_loom))]
        // SAFETY: it is inside the map, which lives as long as `self`, is aligned to its 64 KiB
        // stride, was zeroed when made, which is a valid `Page` of atomics and of bytes that only
        // copies touch, and is only ever accessed as one.
        unsafe {
            &*self.base.add(block * BLOCK).cast::<Page>()
        }
    }

    /// Notes that words of a PE's device memory may have changed. Whether the PE must be woken to
    /// look at them.
    pub(crate) fn device_changed(&self, block: usize, side: FenceSide) -> bool {
        let page = self.page(block);
        // Release: a thread that sees the count sees what was written there before.
        page.device_changes.0.fetch_add(1, Ordering::Release);
        must_ring(&page.sleep.0.sleeping, SegmentId::Gpu.bit(), side)
    }

    /// The first PE's `sleeping`, and how many bytes behind it is the next one's.
    pub fn sleeping_words(&self) -> (*const u8, usize) {
        let offset = std::mem::offset_of!(Page, sleep.0.sleeping);
        (self.base.wrapping_add(offset), BLOCK)
    }

    /// Makes a PE's block what it was at the beginning, but for what it keeps for all.
    ///
    /// # Errors
    /// The system's.
    ///
    /// # Safety
    /// The PE is gone, and the caller takes its place.
    pub(crate) unsafe fn clear(&self, block: usize) -> Result<()> {
        let start = self.base.wrapping_add(block * BLOCK).cast_mut();
        let kept = std::mem::offset_of!(Page, silent_stores);
        let behind = kept + size_of::<Line<AtomicU32>>();
        for at in (0..size_of::<Page>()).step_by(size_of::<u64>()) {
            if !(kept..behind).contains(&at) {
                // SAFETY: the page is inside the block, in whole words, and zeros are a valid one.
                // Relaxed: whatever looks there meanwhile finds a PE that waits for nothing.
                unsafe { AtomicU64::from_ptr(start.add(at).cast()) }.store(0, Ordering::Relaxed);
            }
        }
        // SAFETY: the scratch memory is inside the block, and the caller vouches for what is there.
        unsafe { self.map.clear(block, SCRATCH, SCRATCH_BYTES) }
    }

    /// Their memory.
    pub fn map(&self) -> &Arc<HostMap> {
        &self.map
    }

    /// The scratch memory behind the pages.
    pub fn scratch(&self) -> Segment {
        Segment::new(SegmentId::Scratch, Arc::clone(&self.map), SCRATCH, SCRATCH_BYTES)
    }
}

const _: () = assert!(size_of::<Page>() <= SCRATCH);
