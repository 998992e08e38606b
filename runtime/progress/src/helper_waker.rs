//! How the helper thread learns what it cannot see: that there is something to do, and what other
//! threads do.

use std::{cell::Cell, fmt};

#[cfg(oxshmem_loom)]
use oxshmem_base::local::CellKey;
use oxshmem_base::{
    Result,
    local::thread_local,
    sync::{AtomicBool, AtomicU32, AtomicU64, Ordering},
};

use crate::event::Event;

/// A thread that finds completions so often while the helper sleeps on their descriptors wakes it.
const BESIDE: u32 = 4;

/// The helper is awake, and sees what changes.
const AWAKE: u32 = 0;
/// It sleeps for a moment, as other threads poll the sources.
const SLEEPS_SHORTLY: u32 = 1;
/// It sleeps until something happens.
const SLEEPS: u32 = 2;

thread_local! {
    static WOKEN: Cell<u32> = const { Cell::new(0) };
}

/// How many threads this one has woken in their `block_on`.
pub(crate) fn woken() -> u32 {
    WOKEN.get()
}

/// This thread has woken another one.
pub(crate) fn count_woken() {
    WOKEN.set(WOKEN.get().wrapping_add(1));
}

/// What wakes the helper, and the signs of life of other threads.
pub struct HelperWaker {
    event: Event,
    /// Whether the helper must be woken to see what has changed.
    sleep: AtomicU32,
    /// How often other threads have polled or started something. Relaxed, and not one addition: a
    /// sign of life, which may be lost now and then.
    life: AtomicU64,
    /// How often they have found completions while the helper slept.
    found_beside: AtomicU32,
    /// Whether they have gone to sleep.
    rests: AtomicBool,
}

impl HelperWaker {
    /// A waker that nothing has notified.
    ///
    /// # Errors
    /// The system's, if there are no descriptors left.
    pub fn new() -> Result<Self> {
        Ok(Self {
            event: Event::new()?,
            sleep: AtomicU32::new(AWAKE),
            life: AtomicU64::new(0),
            found_beside: AtomicU32::new(0),
            rests: AtomicBool::new(false),
        })
    }

    /// Has the helper look at the sources. Called after it was noted what there is to do. While
    /// other threads poll them, these find it.
    #[inline]
    pub fn notify(&self) {
        // SeqCst, and an exchange: either we see that it sleeps, or it sees what was noted before
        // it does.
        if self.sleep.load(Ordering::SeqCst) == SLEEPS && self.sleep.swap(AWAKE, Ordering::SeqCst) == SLEEPS {
            self.wake();
        }
    }

    /// A thread has started something, and may start more: the helper is to see that it ends.
    #[inline]
    pub fn issue(&self) {
        self.show_life();
        self.notify();
    }

    /// Has the helper look at everything.
    pub(crate) fn wake_if_asleep(&self) {
        // SeqCst: as above.
        if self.sleep.swap(AWAKE, Ordering::SeqCst) != AWAKE {
            self.wake();
        }
    }

    /// Ends the helper's sleep, or its next one.
    #[cold]
    pub(crate) fn wake(&self) {
        self.event.ring();
    }

    /// A thread has polled or started something, and is likely to do so again.
    #[inline]
    pub fn show_life(&self) {
        self.life.store(self.life().wrapping_add(1), Ordering::Relaxed);
    }

    /// How often threads have.
    pub(crate) fn life(&self) -> u64 {
        self.life.load(Ordering::Relaxed)
    }

    /// The threads that polled are about to sleep, or poll no more: the helper takes over.
    pub fn take_over(&self) {
        // Release: it sees what they did before.
        self.rests.store(true, Ordering::Release);
        self.wake_if_asleep();
    }

    /// They are awake again.
    #[inline]
    pub(crate) fn give_back(&self) {
        // Relaxed: seen late, it costs the helper a look.
        if self.rests.load(Ordering::Relaxed) {
            self.rests.store(false, Ordering::Relaxed);
        }
    }

    /// Whether the helper is to take over. A look.
    pub(crate) fn rests(&self) -> bool {
        self.rests.load(Ordering::Relaxed)
    }

    /// Whether it is to take over, once for each time that it is asked to.
    pub(crate) fn takes_over(&self) -> bool {
        self.rests.load(Ordering::Relaxed) && self.rests.swap(false, Ordering::Acquire)
    }

    /// A thread has found completions, perhaps while the helper sleeps on their descriptors.
    ///
    /// The kernel wakes the helper for each of them, the helper finds that there is nothing left to
    /// see, and sleeps on: two changes of thread on the processor of the thread that waits for the
    /// message. Where more follow, the helper is to leave the descriptors, and to look now and
    /// then.
    pub(crate) fn found_beside(&self) {
        // Relaxed: an estimate.
        if self.sleep.load(Ordering::Relaxed) == SLEEPS {
            let found = self.found_beside.load(Ordering::Relaxed) + 1;
            self.found_beside.store(found, Ordering::Relaxed);
            if found == BESIDE {
                self.notify();
            }
        }
    }

    /// The helper is about to sleep, for a short time or until it is woken, and looks once more
    /// before it does.
    pub(crate) fn announce_sleep(&self, short: bool) {
        self.found_beside.store(0, Ordering::Relaxed);
        // SeqCst, and an exchange: what was noted before a notification that did not see this is
        // seen by the look that follows.
        self.sleep.swap(if short { SLEEPS_SHORTLY } else { SLEEPS }, Ordering::SeqCst);
    }

    /// The helper is awake.
    pub(crate) fn announce_awake(&self) {
        // Relaxed: seen late, it costs a notification.
        self.sleep.store(AWAKE, Ordering::Relaxed);
        self.event.take();
    }

    /// It is there once the helper was woken.
    pub(crate) fn event(&self) -> &Event {
        &self.event
    }
}

impl fmt::Debug for HelperWaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HelperWaker")
    }
}
