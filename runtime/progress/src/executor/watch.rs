//! Watches: which pending futures wait for what.

use std::{
    any::Any,
    mem,
    sync::Arc,
    task::Waker,
    time::{Duration, Instant},
};

use oxshmem_base::wakes::StoredWaker;
use oxshmem_memory::{Extent, SegmentId};

use super::{
    index::Index,
    probe::{Probe, SeenMemory},
};
use crate::{
    activity::Place,
    notes::{Notes, bits_of},
};

/// With more watches than that, those are looked at whose words may have changed.
const MANY: usize = 512;
/// With fewer watches than that, all are looked at again.
const FEW: usize = MANY / 4;

/// How a watch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fired {
    /// Its condition held. Of a word, these are the bits that satisfied it; it may have changed
    /// since.
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

/// A watch is to wake another task.
#[derive(Debug)]
pub(super) struct OtherWaker;

/// All watches of a PE.
#[derive(Debug, Default)]
pub(super) struct Watches {
    slots: Vec<WatchSlot>,
    free: Vec<usize>,
    generation: u64,
    /// How many have not fired: of all, and of those of each kind of memory, by its bit.
    open: Open,
    /// While there are many.
    index: Option<Index>,
    /// Whether the words of all watches have been looked at since the writers were asked for notes.
    is_noted: bool,
}

#[derive(Debug)]
pub(super) struct WatchSlot {
    generation: u64,
    watch: Option<Watch>,
}

#[derive(Debug)]
pub(super) struct Watch {
    probe: Probe,
    /// Where its words are.
    extent: Extent,
    waker: StoredWaker,
    fired: Option<Fired>,
    /// Since when it waits for device memory, if it does.
    since: Option<Instant>,
    /// Where the PE's board says what it is for.
    place: Place,
    /// Whether its future has been polled since it was woken to see whether it still is.
    answered: bool,
    /// Held for its `Drop` alone.
    _keepalive: Arc<dyn Any + Send + Sync>,
}

#[derive(Debug, Default)]
struct Open {
    all: usize,
    of: [usize; 3],
}

impl Open {
    fn changed(&mut self, extent: Extent, by: isize) {
        let of = &mut self.of[extent.segment.bit().trailing_zeros() as usize];
        *of = of.wrapping_add_signed(by);
        self.all = self.all.wrapping_add_signed(by);
    }

    /// The kinds of memory that words are waited for in.
    fn kinds(&self) -> u32 {
        self.of.iter().enumerate().map(|(bit, &n)| u32::from(n > 0) << bit).sum()
    }

    fn in_device_memory(&self) -> bool {
        self.kinds() & SegmentId::Gpu.bit() != 0
    }
}

/// Which watched words are looked at.
#[derive(Clone, Copy, Debug)]
pub(super) enum Look<'a> {
    All,
    /// Those that writers have left notes of.
    Noted(&'a Notes),
    /// Those that may be among what was stored.
    At(Extent),
}

impl Watches {
    pub(super) fn insert(
        &mut self,
        probe: Probe,
        extent: Extent,
        keepalive: Arc<dyn Any + Send + Sync>,
        waker: StoredWaker,
        place: Place,
    ) -> WatchKey {
        self.generation += 1;
        let generation = self.generation;
        let since = (extent.segment == SegmentId::Gpu).then(Instant::now);
        let watch =
            Watch { probe, extent, waker, fired: None, since, place, answered: true, _keepalive: keepalive };
        let watch = Some(watch);
        self.open.changed(extent, 1);
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot] = WatchSlot { generation, watch };
                slot
            }
            None => {
                self.slots.push(WatchSlot { generation, watch });
                self.slots.len() - 1
            }
        };
        if let Some(index) = &mut self.index {
            index.insert(extent, slot);
        }
        WatchKey { slot, generation }
    }

    /// The kinds of memory that words are waited for in, and the range of offsets of those in the
    /// heap: all of it where the writers leave notes.
    pub(super) fn watched(&self) -> (u32, usize, usize) {
        let kinds = self.open.kinds();
        if self.index.is_some() {
            return (kinds, 0, usize::MAX);
        }
        let in_heap = self.unfired().map(|watch| watch.extent).filter(|it| it.segment == SegmentId::Heap);
        in_heap.fold((kinds, usize::MAX, 0), |(kinds, from, to), extent| {
            (kinds, from.min(extent.offset), to.max(extent.offset + extent.len))
        })
    }

    fn unfired(&self) -> impl Iterator<Item = &Watch> {
        let open = self.slots.iter().filter_map(|slot| slot.watch.as_ref());
        open.filter(|watch| watch.fired.is_none())
    }

    /// Begins the index if there are many watches now, where it `may` be of use.
    pub(super) fn many_have_come(&mut self, may: impl FnOnce() -> bool) -> bool {
        if self.index.is_some() || self.open.all <= MANY || !may() {
            return false;
        }
        let mut index = Index::default();
        for (slot, WatchSlot { watch, .. }) in self.slots.iter().enumerate() {
            if let Some(watch) = watch.as_ref().filter(|watch| watch.fired.is_none()) {
                index.insert(watch.extent, slot);
            }
        }
        self.index = Some(index);
        true
    }

    /// Ends the index if there are few watches again.
    pub(super) fn few_are_left(&mut self) -> bool {
        let ends = self.index.is_some() && self.open.all < FEW;
        if ends {
            (self.index, self.is_noted) = (None, false);
        }
        ends
    }

    /// The writers leave notes from now on, if there are many watches still. What they wrote
    /// without is visible, and looked at behind this.
    pub(super) fn has_notes(&mut self) {
        self.is_noted = self.index.is_some();
    }

    /// How a watch has fired, if it has; an error if it has not, and is to wake another than
    /// `waker`.
    pub(super) fn check(&mut self, key: &WatchKey, waker: &Waker) -> Result<Option<Fired>, OtherWaker> {
        let Some(watch) = self.get(key) else { return Ok(Some(Fired::Ended)) };
        watch.answered = true;
        match watch.fired {
            None if !watch.waker.will_wake(waker) => Err(OtherWaker),
            fired => Ok(fired),
        }
    }

    /// How a watch has fired, if it has. If it has not, the watch's waker is exchanged.
    pub(super) fn exchange(&mut self, key: &WatchKey, waker: &mut StoredWaker) -> Option<Fired> {
        let Some(watch) = self.get(key) else { return Some(Fired::Ended) };
        if watch.fired.is_none() {
            mem::swap(&mut watch.waker, waker);
        }
        watch.fired
    }

    fn get(&mut self, key: &WatchKey) -> Option<&mut Watch> {
        let slot = self.slots.get_mut(key.slot).filter(|slot| slot.generation == key.generation)?;
        slot.watch.as_mut()
    }

    /// The wakers of all that still wait, whose futures are to show that they do: by a poll, which
    /// leaves a waker again.
    pub(super) fn ask(&mut self) -> Vec<StoredWaker> {
        let open = self.slots.iter_mut().filter_map(|slot| slot.watch.as_mut());
        open.filter(|watch| watch.fired.is_none())
            .map(|watch| {
                watch.answered = false;
                mem::take(&mut watch.waker)
            })
            .collect()
    }

    /// Whether nobody has polled the future of which the board says something at `place` since it
    /// was asked.
    pub(super) fn is_silent(&self, place: Place) -> bool {
        self.unfired().any(|watch| watch.place == place && !watch.answered)
    }

    /// Removes a watch; whether it had fired, and what it kept alive.
    pub(super) fn remove(&mut self, key: WatchKey) -> (bool, Option<Watch>) {
        // The slot is another watch's, or gone, if all watches were cleared in between.
        match self.slots.get_mut(key.slot) {
            Some(slot) if slot.generation == key.generation => {
                self.free.push(key.slot);
                let watch = slot.watch.take();
                let fired = watch.as_ref().is_none_or(|watch| watch.fired.is_some());
                if let Some(watch) = watch.as_ref().filter(|_| !fired) {
                    self.open.changed(watch.extent, -1);
                    if let Some(index) = &mut self.index {
                        index.remove(watch.extent, key.slot);
                    }
                }
                (fired, watch)
            }
            _ => (true, None),
        }
    }

    /// Removes all watches.
    pub(super) fn clear(&mut self) -> Vec<WatchSlot> {
        self.free.clear();
        (self.open, self.index, self.is_noted) = (Open::default(), None, false);
        std::mem::take(&mut self.slots)
    }

    /// The words of device memory that are waited for: offsets and sizes.
    pub(super) fn on_device(&self) -> Vec<(usize, usize)> {
        if !self.open.in_device_memory() {
            return Vec::new();
        }
        self.unfired().flat_map(|watch| watch.probe.wanted()).collect()
    }

    /// When words of device memory that were looked at `last` at that time are looked at again, if
    /// any are waited for.
    pub(super) fn next_look(
        &self,
        last: Instant,
        interval: impl Fn(Duration) -> Duration,
    ) -> Option<Instant> {
        if !self.open.in_device_memory() {
            return None;
        }
        let waits = self.unfired().filter_map(|watch| watch.since);
        waits.map(|since| last.max(since) + interval(last.saturating_duration_since(since))).min()
    }

    /// Marks every watch that holds, or each one if `all`, and collects the wakers. Those of device
    /// memory hold by what was `seen` of it.
    pub(super) fn fire(
        &mut self,
        all: bool,
        look: Look<'_>,
        seen: Option<&SeenMemory>,
        woken: &mut Vec<StoredWaker>,
    ) {
        match self.to_look_at(all, look) {
            Some(slots) => slots.into_iter().for_each(|slot| self.fire_one(slot, all, seen, woken)),
            None => (0..self.slots.len()).for_each(|slot| self.fire_one(slot, all, seen, woken)),
        }
    }

    /// The slots of those to be looked at, if they are not all.
    fn to_look_at(&self, all: bool, look: Look<'_>) -> Option<Vec<usize>> {
        let index = self.index.as_ref().filter(|_| !all)?;
        let mut lines = Vec::new();
        match look {
            Look::At(Extent { segment: SegmentId::Heap, offset, len }) => lines.extend(bits_of(offset, len)),
            Look::At(Extent { len, .. }) if len < usize::MAX => {}
            Look::Noted(notes) if self.is_noted => notes.take(|line| lines.push(line)),
            _ => return None,
        }
        (lines.len() <= MANY).then(|| index.of(&lines))
    }

    fn fire_one(&mut self, slot: usize, all: bool, seen: Option<&SeenMemory>, woken: &mut Vec<StoredWaker>) {
        let Some(watch) = &mut self.slots[slot].watch else { return };
        if watch.fired.is_some() {
            return;
        }
        watch.fired = match watch.probe.satisfied(seen) {
            Some(bits) => Some(Fired::Satisfied(bits)),
            None if all => Some(Fired::Ended),
            None => return,
        };
        woken.push(mem::take(&mut watch.waker));
        self.open.changed(watch.extent, -1);
        if let Some(index) = &mut self.index {
            index.remove(watch.extent, slot);
        }
    }
}
