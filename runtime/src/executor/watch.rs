//! Watched words: what a pending future waits for, in a form that any thread can check.

use std::{any::Any, fmt, sync::Arc, task::Waker};

use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};

use crate::memory::{Extent, SegmentId};

/// A comparison of one word of this PE's symmetric memory with a value.
///
/// Signed words and unsigned ones compare alike once their sign bit is flipped, so one form serves all.
#[derive(Clone, Copy)]
pub struct Word {
    address: *const u8,
    /// Its bytes: 2, 4 or 8.
    size: usize,
    flip: u64,
    holds: Holds,
    value: u64,
}

#[derive(Clone, Copy)]
enum Holds {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

// SAFETY: the address is only read, atomically, and stays mapped for as long as its watch, which holds a
// reference to the memory beside it.
unsafe impl Send for Word {}
// SAFETY: as above.
unsafe impl Sync for Word {}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "word of {} bytes at {:p}", self.size, self.address)
    }
}

impl Word {
    /// Watches the word of `size` bytes (2, 4 or 8) at `address`, signed or not.
    ///
    /// The ordering is how the word must compare to `value`: `[less, equal, greater]`, each true if it
    /// satisfies the wait.
    ///
    /// # Safety
    /// `address` must be aligned to the word, and readable for as long as this value or a copy of it is used.
    pub unsafe fn new(address: *const u8, size: usize, signed: bool, accepts: [bool; 3], value: u64) -> Self {
        debug_assert!(matches!(size, 2 | 4 | 8), "there are no words of {size} bytes");
        let flip = if signed { 1 << (8 * size - 1) } else { 0 };
        let holds = match accepts {
            [false, true, false] => Holds::Eq,
            [true, false, true] => Holds::Ne,
            [true, false, false] => Holds::Lt,
            [true, true, false] => Holds::Le,
            [false, false, true] => Holds::Gt,
            _ => Holds::Ge,
        };
        Self { address, size, flip, holds, value: value ^ flip }
    }

    /// Whether the word satisfies the wait now.
    pub fn holds(&self) -> bool {
        self.satisfied().is_some()
    }

    /// The word's bits, if they satisfy the wait.
    fn satisfied(&self) -> Option<u64> {
        // SAFETY: `new`'s caller vouches for alignment and life. Acquire: what was stored before the word was
        // set is visible to the future that this wakes.
        let bits = unsafe {
            let address = self.address.cast_mut();
            match self.size {
                8 => AtomicU64::from_ptr(address.cast()).load(Ordering::Acquire),
                4 => u64::from(AtomicU32::from_ptr(address.cast()).load(Ordering::Acquire)),
                _ => u64::from(AtomicU16::from_ptr(address.cast()).load(Ordering::Acquire)),
            }
        };
        self.satisfied_by(bits)
    }

    /// `bits`, if a word that consists of them satisfies the wait: for words that can only be read otherwise.
    pub fn satisfied_by(&self, bits: u64) -> Option<u64> {
        let (word, value) = (bits ^ self.flip, self.value);
        let holds = match self.holds {
            Holds::Eq => word == value,
            Holds::Ne => word != value,
            Holds::Lt => word < value,
            Holds::Le => word <= value,
            Holds::Gt => word > value,
            Holds::Ge => word >= value,
        };
        holds.then_some(bits)
    }
}

/// What a watch waits for.
pub enum Probe {
    /// One word.
    Word(Word),
    /// Anything else that can be looked at from any thread, quickly and without blocking.
    Custom(Box<dyn FnMut() -> bool + Send>),
    /// One word that is no memory of the host: its bits, if they satisfy the wait.
    Read(Box<dyn FnMut() -> Option<u64> + Send>),
}

impl fmt::Debug for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(word) => word.fmt(f),
            Self::Custom(_) => f.write_str("set of words"),
            Self::Read(_) => f.write_str("word of a device"),
        }
    }
}

impl Probe {
    fn satisfied(&mut self) -> Option<u64> {
        match self {
            Self::Word(word) => word.satisfied(),
            Self::Custom(check) => check().then_some(0),
            Self::Read(read) => read(),
        }
    }
}

/// How a watch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fired {
    /// Its condition held. Of a word, these are the bits that satisfied it; it may have changed since.
    Satisfied(u64),
    /// Nothing will come any more: the job has failed, or the PE has left it.
    Ended,
}

/// Names a watch to its executor.
#[derive(Debug, PartialEq, Eq)]
pub struct WatchKey {
    slot: usize,
    generation: u64,
}

/// All watches of a PE.
#[derive(Debug, Default)]
pub(super) struct Watches {
    slots: Vec<Slot>,
    free: Vec<usize>,
    generation: u64,
}

#[derive(Debug)]
pub(super) struct Slot {
    generation: u64,
    watch: Option<Watch>,
}

#[derive(Debug)]
pub(super) struct Watch {
    probe: Probe,
    /// Where its words are.
    extent: Extent,
    waker: Waker,
    fired: Option<Fired>,
    /// Held for its `Drop` alone.
    _keepalive: Arc<dyn Any + Send + Sync>,
}

impl Watches {
    pub(super) fn insert(
        &mut self,
        probe: Probe,
        extent: Extent,
        keepalive: Arc<dyn Any + Send + Sync>,
        waker: Waker,
    ) -> WatchKey {
        self.generation += 1;
        let generation = self.generation;
        let watch = Some(Watch { probe, extent, waker, fired: None, _keepalive: keepalive });
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot] = Slot { generation, watch };
                slot
            }
            None => {
                self.slots.push(Slot { generation, watch });
                self.slots.len() - 1
            }
        };
        WatchKey { slot, generation }
    }

    /// The kinds of memory that words are waited for in, and the range of offsets of those in the heap.
    pub(super) fn watched(&self) -> (u32, usize, usize) {
        let open =
            self.slots.iter().filter_map(|slot| slot.watch.as_ref()).filter(|watch| watch.fired.is_none());
        open.map(|watch| watch.extent).fold((0, usize::MAX, 0), |(kinds, from, to), extent| {
            let kinds = kinds | extent.segment.bit();
            match extent.segment {
                SegmentId::Heap => (kinds, from.min(extent.offset), to.max(extent.offset + extent.len)),
                SegmentId::Scratch | SegmentId::Gpu => (kinds, from, to),
            }
        })
    }

    pub(super) fn check(&mut self, key: &WatchKey, waker: &Waker) -> Option<Fired> {
        match self.slots.get_mut(key.slot) {
            Some(Slot { generation, watch: Some(watch) }) if *generation == key.generation => {
                if watch.fired.is_none() {
                    watch.waker.clone_from(waker);
                }
                watch.fired
            }
            _ => Some(Fired::Ended),
        }
    }

    /// Removes a watch; whether it had fired, and what it kept alive.
    pub(super) fn remove(&mut self, key: WatchKey) -> (bool, Option<Watch>) {
        // The slot is another watch's, or gone, if all watches were cleared in between.
        match self.slots.get_mut(key.slot) {
            Some(slot) if slot.generation == key.generation => {
                self.free.push(key.slot);
                let watch = slot.watch.take();
                (watch.as_ref().is_none_or(|watch| watch.fired.is_some()), watch)
            }
            _ => (true, None),
        }
    }

    /// Removes all watches.
    pub(super) fn clear(&mut self) -> Vec<Slot> {
        self.free.clear();
        std::mem::take(&mut self.slots)
    }

    /// Marks every watch that holds, or each one if `all`, and collects the wakers.
    pub(super) fn fire(&mut self, all: bool, woken: &mut Vec<Waker>) {
        for slot in &mut self.slots {
            if let Some(watch) = &mut slot.watch
                && watch.fired.is_none()
            {
                watch.fired = match watch.probe.satisfied() {
                    Some(bits) => Some(Fired::Satisfied(bits)),
                    None if all => Some(Fired::Ended),
                    None => continue,
                };
                woken.push(std::mem::replace(&mut watch.waker, Waker::noop().clone()));
            }
        }
    }
}
