//! The progress engine of a PE, [`Executor`]: it knows which futures wait for which words, and
//! wakes them.
//!
//! A future that is not ready checks its word a few times itself, then
//! [registers](Executor::register) it and returns `Pending`. From there on a *driver* looks at the
//! watched words: a tokio task, the thread that is blocked in [`Executor::block_on`], or the
//! [helper](crate::helper) of the process. PEs that share a process need none: a task or thread
//! that writes into a PE's memory looks at its watched words itself.
//!
//! The driver polls, then yields, then announces that the PE sleeps and sleeps until its doorbell
//! rings. A store past the library (through a raw pointer) rings no bell. Every sleep is cut into
//! pieces, of a millisecond at first, once anybody in the job has asked for such a pointer, and
//! from the start where every address is one, as in C.

mod block_on;
mod drive;
mod helping;
mod index;
mod launcher;
pub(crate) mod owner;
mod polling;
mod probe;
mod task;
mod watch;

use std::{
    any::Any,
    sync::{Arc, OnceLock},
    task::Waker,
    time::{Duration, Instant},
};

pub use owner::will_drive;
pub use polling::FirstPoll;
pub use probe::{Probe, ProbedWord, Reader};
pub use watch::{Fired, WatchKey};

use oxshmem_base::{
    Error, Result,
    settings::FenceSide,
    sync::{AtomicBool, AtomicU64, Mutex, Ordering, lock},
    wakes::StoredWaker,
};
use oxshmem_memory::{Extent, SegmentId};

use self::{
    launcher::Launcher,
    owner::Owner,
    probe::SeenMemory,
    watch::{Look, OtherWaker, Watches},
};
use crate::{
    activity::Place,
    bell::{Bell, Looks},
    control::{Control, Sleep},
    doorbell::{
        announce_awake, announce_sleep, ask, ask_no_more, before_look, begin_sleep, end_sleep, is_asleep,
    },
    fabric::Fabric,
    failure::Failure,
    helper::Helper,
    source::{Source, Words},
    wait::{Rounds, WaitPolicy},
};

/// The progress engine of one PE.
#[derive(Debug)]
pub struct Executor {
    local_pe: usize,
    control: Arc<Control>,
    fence_side: FenceSide,
    bell: Arc<Bell>,
    policy: WaitPolicy,
    watches: Mutex<Watches>,
    failure: OnceLock<Failure>,
    closed: AtomicBool,
    owner: Owner,
    helper: Arc<Helper>,
    /// What else makes progress: nets and devices.
    sources: OnceLock<Box<[Arc<dyn Source>]>>,
    /// The words of device memory.
    device_words: OnceLock<Arc<dyn Words>>,
    /// How often they had changed when a thread last began to look at them.
    looked_at: AtomicU64,
    /// What asks the PEs of a job to end.
    launcher: OnceLock<Launcher>,
}

impl Executor {
    /// The executor of the PE that is number `local_pe` of the host of `fabric`.
    pub fn new(fabric: &Fabric, local_pe: usize, fence_side: FenceSide, policy: WaitPolicy) -> Arc<Self> {
        let (control, bell) = (Arc::clone(&fabric.control), Arc::clone(fabric.bell(local_pe)));
        if bell.is_in_process() {
            // Writers look at the watches themselves.
            control.page(local_pe).sleep.0.watched_to.store(usize::MAX, Ordering::Relaxed);
        }
        Arc::new(Self {
            local_pe,
            control,
            fence_side,
            bell,
            policy,
            watches: Mutex::default(),
            failure: OnceLock::new(),
            closed: AtomicBool::new(false),
            owner: Owner::default(),
            helper: Arc::clone(fabric.helper()),
            sources: OnceLock::new(),
            device_words: OnceLock::new(),
            looked_at: AtomicU64::new(0),
            launcher: OnceLock::new(),
        })
    }

    /// Checks `ready` until it holds, for as long as a wait may spin. Returns whether it came to
    /// hold.
    #[inline]
    pub fn spin_until(&self, mut ready: impl FnMut() -> bool) -> bool {
        if self.policy.spin.is_zero() {
            return self.yield_until(ready);
        }
        let mut deadline = None;
        loop {
            // Reading the clock costs more than a look at memory. Looks without pauses in between
            // were tried, and made answers slower: they take the line from the PE that is about to
            // write it.
            for _ in 0..16 {
                if ready() {
                    return true;
                }
                std::hint::spin_loop();
            }
            if self.poll_sources() && ready() {
                return true;
            }
            let now = Instant::now();
            if now >= *deadline.get_or_insert(now + self.policy.spin) {
                return false;
            }
        }
    }

    /// Where PEs outnumber processors, spinning only keeps the awaited PE from running: an offer of
    /// the processor or two instead. The rest is the driver's, since other futures of this task may
    /// have something to do. In one process the awaited PE may be a task of this very thread, so
    /// not even that.
    #[cold]
    fn yield_until(&self, mut ready: impl FnMut() -> bool) -> bool {
        if ready() {
            return true;
        }
        if self.bell.is_in_process() {
            return false;
        }
        for _ in 0..self.policy.yields.min(2) {
            rustix::thread::sched_yield();
            self.poll_sources();
            if ready() {
                return true;
            }
        }
        false
    }

    /// Whether there are processors enough to look for something in a loop.
    pub fn may_spin(&self) -> bool {
        self.policy.may_spin()
    }

    /// Whether the thread or task that waits for something is asleep. A hint.
    pub fn is_asleep(&self) -> bool {
        is_asleep(&self.sleep().sleeping) || self.owner.sleeps_unwatched()
    }

    /// Whether a thread, or the task, looks for what is waited for. A hint.
    pub fn is_driven(&self) -> bool {
        self.owner.is_at_work() && !self.is_asleep()
    }

    /// Names where words of device memory are read. To be called once.
    pub fn attach_words(&self, words: Arc<dyn Words>) {
        // A PE joins once, so the slot is empty.
        let _ = self.device_words.set(words);
    }

    /// Has `waker` woken when `probe` holds. `keepalive` keeps the probed memory for as long as the
    /// watch exists, also when the future that registered it is forgotten. `place` is where the
    /// PE's board says what the wait is for. The caller must check its condition once more after
    /// this returns, and only then return `Pending`.
    pub fn register(
        self: &Arc<Self>,
        probe: Probe,
        extent: Extent,
        keepalive: Arc<dyn Any + Send + Sync>,
        waker: &Waker,
        place: Place,
    ) -> WatchKey {
        let (mut widened, asks);
        widened = false;
        let stored = StoredWaker::of(waker);
        let key = {
            let mut watches = lock(&self.watches);
            let key = watches.insert(probe, extent, keepalive, stored, place);
            // A driver that is asleep has shown the writers where its words are: this one may be
            // elsewhere. One that falls asleep later, under this lock, counts it in.
            let sleep = self.sleep();
            let kinds = sleep.sleeping.load(Ordering::Relaxed);
            if kinds != 0 {
                widened = kinds & extent.segment.bit() == 0;
                if extent.segment == SegmentId::Heap {
                    let (from, to) = (&sleep.watched_from, &sleep.watched_to);
                    widened |= from.fetch_min(extent.offset, Ordering::Relaxed) > extent.offset;
                    let end = extent.offset + extent.len;
                    widened |= to.fetch_max(end, Ordering::Relaxed) < end;
                }
            }
            self.owner.add_watch();
            asks = watches.many_have_come(|| self.may_have_notes());
            if asks && !self.bell.is_in_process() {
                self.sleep().watched_from.store(0, Ordering::Relaxed);
                self.sleep().watched_to.store(usize::MAX, Ordering::Relaxed);
                ask(&self.sleep().sleeping);
            }
            if self.bell.is_in_process() {
                // There is no driver to announce it later: from now on writers look after this PE's
                // watches. Under the lock, so that the thread that fires the last watch announces
                // the end after this.
                announce_sleep(&self.sleep().sleeping, SegmentId::ALL, self.fence_side);
            }
            key
        };
        if widened {
            // Must be seen by every writer whose store the caller's next look at its word may miss.
            announce_sleep(&self.sleep().sleeping, extent.segment.bit(), self.fence_side);
        }
        if asks && !self.bell.is_in_process() {
            before_look(self.fence_side);
            lock(&self.watches).has_notes();
            // What was stored before its writer saw that it is asked.
            self.wake_by(Look::All, None);
        }
        // No task is behind a no-op waker: its owner will poll again by itself.
        if !waker.will_wake(Waker::noop()) {
            if self.bell.is_in_process() || extent.segment == SegmentId::Gpu {
                // Where no bell rings, the helper looks.
                self.must_get_help();
            }
            // The helper is at hand where a thread has waited for device memory a moment ago.
            let looks = extent.segment == SegmentId::Gpu && !self.owner.looks_soon();
            if looks || self.bell.is_in_process() && self.expects_silent_stores() {
                self.helper.helper_waker().wake_if_asleep();
            }
            if !self.bell.is_in_process() {
                self.kick();
            }
        }
        key
    }

    /// How the watch has fired, if it has. Until then `waker` is the one it will wake.
    pub fn check(self: &Arc<Self>, key: &WatchKey, waker: &Waker) -> Option<Fired> {
        let looked = lock(&self.watches).check(key, waker);
        let fired = match looked {
            Ok(fired) => fired,
            // The waker is made, and what it replaces dropped, without the lock.
            Err(OtherWaker) => {
                let mut stored = StoredWaker::of(waker);
                lock(&self.watches).exchange(key, &mut stored)
            }
        };
        if fired.is_none() && !self.bell.is_in_process() {
            self.kick();
        }
        fired
    }

    /// Wakes all that wait, so that they show that they do: see [`is_silent`](Self::is_silent).
    pub fn ask(&self) {
        let woken = lock(&self.watches).ask();
        woken.into_iter().for_each(StoredWaker::wake);
    }

    /// Whether the future of which the board says something at `place` was not polled since
    /// [`ask`](Self::ask): it was forgotten, or its runtime does something else.
    pub fn is_silent(&self, place: Place) -> bool {
        lock(&self.watches).is_silent(place)
    }

    /// Ends a watch. Its waker is not woken any more.
    pub fn unregister(&self, key: WatchKey) {
        // What the watch kept alive is dropped after the lock is released: it may be the last of a
        // world.
        let _watch = {
            let mut watches = lock(&self.watches);
            let (fired, watch) = watches.remove(key);
            if !fired {
                self.settle(&mut watches, 1);
            }
            watch
        };
    }

    /// Looks at all watched words that may have changed, and wakes the futures whose wait is over.
    pub fn scan(&self) {
        if self.owner.unfired_after_store() == 0 {
            return;
        }
        let seen = if self.has_device_changes() { self.see() } else { None };
        let look = match self.expects_silent_stores() {
            true => Look::All,
            false => Look::Noted(&self.control.page(self.local_pe).notes.0),
        };
        self.wake_by(look, seen.as_ref());
    }

    /// Whether each store to the PE's heap that it waits for is a writer's, which rings.
    fn may_have_notes(&self) -> bool {
        self.bell.is_in_process()
            || !self.expects_silent_stores() && self.sources().iter().all(|source| !source.stores_silently())
    }

    /// Looks at the watched words of device memory, whether or not any is known to have changed.
    fn scan_device(&self) {
        let seen = self.see();
        self.wake_by(Look::All, seen.as_ref());
    }

    /// How often words that `reader` reads may have changed, as far as that is known: none if a
    /// processor loads them, where nothing counts. To be asked before a look at them: what is
    /// written after that counts on.
    pub fn changes(&self, reader: Reader) -> Option<u64> {
        matches!(reader, Reader::Device(_)).then(|| self.device_changes())
    }

    /// How often words of this PE's device memory may have changed, as far as that is known.
    fn device_changes(&self) -> u64 {
        // Acquire: what was written there before is seen by the look that follows.
        self.control.page(self.local_pe).device_changes.0.load(Ordering::Acquire)
    }

    /// Whether there have been changes since a thread last began to look.
    fn has_device_changes(&self) -> bool {
        // Relaxed: a thread that finds it changed is the one that looks, or another is, which wakes
        // whatever waits for what it sees.
        self.has_device_words() && self.looked_at.load(Ordering::Relaxed) != self.device_changes()
    }

    /// Words of this PE's device memory may have changed, so they are looked at: at once by a
    /// thread that waits awake, and else by the one that this wakes. For what this process has
    /// written for others; other PEs call
    /// [`Fabric::device_words_changed`](crate::fabric::Fabric::device_words_changed).
    pub fn device_words_changed(&self) {
        if self.control.device_changed(self.local_pe, self.fence_side) {
            match &*self.bell {
                // One ring wakes.
                bell @ Bell::Process(_) if end_sleep(&self.sleep().sleeping) => bell.ring_process(),
                Bell::Process(_) => {}
                Bell::InProcess(_) => self.look_at_device(),
            }
        }
    }

    /// When words of device memory are looked at again that were looked at `last` at that time, if
    /// any are waited for.
    fn next_look(&self, last: Instant) -> Option<Instant> {
        if self.owner.unfired() == 0 {
            return None;
        }
        lock(&self.watches).next_look(last, |waited| self.policy.look_interval(waited))
    }

    /// [`scan`](Self::scan), for a thread that has stored to host memory.
    pub fn scan_host(&self) {
        self.wake_by(Look::All, None);
    }

    /// Whether there are words of device memory.
    fn has_device_words(&self) -> bool {
        self.device_words.get().is_some()
    }

    /// Reads all words of device memory that are waited for, in one go, if there are any.
    fn see(&self) -> Option<SeenMemory> {
        let words_of_device = self.device_words.get()?;
        // Relaxed: see `has_device_changes`. Before the look, whose words include that of a watch
        // that found the count unchanged after it was registered.
        self.looked_at.store(self.device_changes(), Ordering::Relaxed);
        let words = lock(&self.watches).on_device();
        if words.is_empty() {
            return None;
        }
        let mut seen = SeenMemory::covering(words, words_of_device.len());
        // Without the lock: this may take some microseconds. SAFETY: watched words are in bounds.
        seen.fill(|pieces, bytes| unsafe { words_of_device.read(self.local_pe, pieces, bytes) });
        Some(seen)
    }

    fn wake_by(&self, look: Look<'_>, seen: Option<&SeenMemory>) {
        let mut woken = Vec::new();
        {
            let mut watches = lock(&self.watches);
            watches.fire(self.failure.get().is_some(), look, seen, &mut woken);
            if !woken.is_empty() {
                self.settle(&mut watches, woken.len());
            }
        }
        woken.into_iter().for_each(StoredWaker::wake);
    }

    /// `n` watches less to look after.
    fn settle(&self, watches: &mut Watches, n: usize) {
        if watches.few_are_left() {
            ask_no_more(&self.sleep().sleeping);
        }
        if self.owner.end_watches(n) == 0 && self.bell.is_in_process() {
            announce_awake(&self.sleep().sleeping);
        }
    }

    /// Ends all waiting, now and later, with this error. The first one counts.
    pub fn fail(&self, failure: Failure) {
        if self.failure.set(failure).is_ok() {
            // Whatever device memory holds now, and should its device have failed, the wait for it
            // is over.
            self.wake_by(Look::All, None);
        }
    }

    /// An error if the job can go on no more.
    #[inline(always)]
    pub fn check_failure(&self) -> Result<()> {
        match self.failure.get() {
            None => Ok(()),
            Some(failure) => Err(Self::failed(failure)),
        }
    }

    #[cold]
    fn failed(failure: &Failure) -> Error {
        failure.clone().into()
    }

    /// From now on some store in this job may come without a ring, so no sleep may rely on being
    /// woken.
    pub fn expect_silent_stores(&self) -> bool {
        // Release: the flag is seen before what is stored through the pointer handed out after it.
        self.control.page(0).silent_stores.0.swap(1, Ordering::AcqRel) == 0
    }

    /// Whether it may.
    fn expects_silent_stores(&self) -> bool {
        // Acquire: pairs with the swap above.
        self.policy.looks || self.control.page(0).silent_stores.0.load(Ordering::Acquire) != 0
    }

    /// The looks of a driver before it sleeps: see [`WaitPolicy`].
    fn rounds(&self, yields: bool) -> Rounds {
        self.policy.rounds(yields, !self.sources().is_empty())
    }

    /// How long a driver that has slept for so long may sleep on without a look.
    fn sleep_limit(&self, slept: Duration) -> Option<Duration> {
        self.expects_silent_stores().then(|| WaitPolicy::piece(slept))
    }

    fn sleep(&self) -> &Sleep {
        &self.control.page(self.local_pe).sleep.0
    }

    /// Announces sleep; true if the caller may sleep now, false if something happened in between.
    fn arm(&self) -> bool {
        let sleep = self.sleep();
        let before = {
            let watches = lock(&self.watches);
            let (kinds, from, to) = watches.watched();
            // Relaxed: `sleeping` is set after them, with Release. A PE that asks for notes has set
            // them to these values before.
            sleep.watched_from.store(from, Ordering::Relaxed);
            sleep.watched_to.store(to, Ordering::Relaxed);
            // Under the lock: a thread that registers later sees that we sleep, and for what.
            begin_sleep(&sleep.sleeping, kinds);
            self.owner.unfired()
        };
        before_look(self.fence_side);
        self.scan();
        let may_sleep = before > 0 && self.owner.unfired() == before && !self.is_closed();
        if !may_sleep {
            self.disarm();
        }
        may_sleep
    }

    fn disarm(&self) {
        announce_awake(&self.sleep().sleeping);
    }

    /// Whether the PE's sleep is announced, and no writer has rung since.
    fn is_announced(&self) -> bool {
        is_asleep(&self.sleep().sleeping)
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Ends the drivers. Called when the PE is gone.
    pub fn close(&self) {
        if !self.closed.swap(true, Ordering::AcqRel) && self.owner.is_helped.load(Ordering::Acquire) {
            self.helper.one_leaves();
        }
        let mut woken = Vec::new();
        let ended = {
            let mut watches = lock(&self.watches);
            watches.fire(true, Look::All, None, &mut woken);
            self.owner.end_all_watches();
            watches.clear()
        };
        // Outside of the lock, as a watch may hold the last reference to a world.
        drop(ended);
        self.owner.task.notify_one();
        self.bell.ring_process();
        // It lets go of this PE.
        self.helper.helper_waker().wake();
        woken.into_iter().for_each(StoredWaker::wake);
    }
}

impl Looks for Executor {
    fn look_at_host(&self, stored: Extent) {
        self.wake_by(Look::At(stored), None);
    }

    fn look_at_device(&self) {
        // A look may take some microseconds, and this may be a completion.
        self.helper.helper_waker().wake_if_asleep();
    }

    fn end(&self, failure: &Failure) {
        self.fail(failure.clone());
    }
}

#[cfg(all(test, oxshmem_loom))]
mod loom_tests;
#[cfg(test)]
mod tests;
