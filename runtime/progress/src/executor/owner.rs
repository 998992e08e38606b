//! Which thread drives the engine of a PE: its owner.
//!
//! One thread at a time owns it, so that no two sleep on one bell. A thread that waits in
//! [`block_on`](super::Executor::block_on) takes it if no other thread has it, and parks otherwise.
//! In the background it is driven by the [helper](crate::helper), which takes it if there are
//! watches and no thread wants it, or by a tokio [task](super::task), which may be at work beside
//! the owner: its runtime may stand still with the task asleep in it, so no thread ever waits for
//! it. A thread that gives the engine up with watches left kicks the background driver, so that no
//! watch is left alone.

use std::{cell::Cell, sync::Arc};

#[cfg(oxshmem_loom)]
use oxshmem_base::local::CellKey;
use oxshmem_base::{
    local::thread_local,
    sync::{
        AtomicBool, AtomicU8, AtomicU32, AtomicUsize, Mutex, Ordering, lock,
        thread::{self, Thread},
    },
};
use tokio::sync::Notify;

use super::Executor;

/// No thread owns the engine.
const NONE: u32 = 0;

/// What kind of thread owns the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Holder {
    /// A thread that waits in `block_on`.
    Waiting = 1,
    /// The helper.
    Helper = 2,
}

/// A tokio task drives in the background. (0: nothing does, since the PEs share a process, or have
/// not started.)
pub(super) const TASK: u8 = 1;
/// The helper does, started when first needed.
pub(super) const HELPER: u8 = 2;

/// The owner of an engine, and what else may drive it.
///
/// All accesses to the words by which threads leave it to each other are in one order that all
/// threads agree on. Of a new watch and a thread that gives the engine up, of a request and the
/// helper that falls asleep, one side sees the other.
#[derive(Debug, Default)]
pub(super) struct Owner {
    /// Which [`Holder`] owns the engine, or [`NONE`].
    holder: AtomicU32,
    /// Threads in `block_on` to which the helper is to leave it.
    requests: AtomicUsize,
    /// Watches that have not fired. Changed under the lock of the watches.
    unfired: AtomicUsize,
    /// Threads in `block_on` that found it owned.
    parked: Mutex<Vec<Thread>>,
    /// What drives in the background.
    pub(super) kind: AtomicU8,
    /// Whether a thread in `block_on` sleeps although nothing is watched, so that no writer rings.
    pub(super) sleeps_unwatched: AtomicBool,
    /// Whether the task is at work.
    pub(super) task_works: AtomicBool,
    /// Whether something was started on another host, for whose end a task may wait, and the task
    /// has not looked for it in vain.
    pub(super) started: AtomicBool,
    pub(super) task: Arc<Notify>,
    /// Whether the helper works for the PE.
    pub(super) is_helped: AtomicBool,
    /// Whether the helper looks by itself, soon enough, whether words of device memory are waited
    /// for.
    looks_soon: AtomicBool,
}

impl Owner {
    /// Whether a thread owns the engine.
    pub(super) fn is_taken(&self) -> bool {
        self.holder.load(Ordering::SeqCst) != NONE
    }

    /// Whether a thread of this kind does. A hint.
    pub(super) fn is_held_by(&self, holder: Holder) -> bool {
        // Relaxed: see above.
        self.holder.load(Ordering::Relaxed) == holder as u32
    }

    /// Makes this thread the owner, if there is none.
    pub(super) fn try_take(&self, holder: Holder) -> bool {
        let (order, to) = (Ordering::SeqCst, holder as u32);
        self.holder.compare_exchange(NONE, to, order, order).is_ok()
    }

    /// Whether the helper is to leave it to another thread.
    pub(super) fn is_requested(&self) -> bool {
        self.requests.load(Ordering::SeqCst) > 0
    }

    /// Watches that have not fired.
    #[inline]
    pub(super) fn unfired(&self) -> usize {
        self.unfired.load(Ordering::SeqCst)
    }

    /// Watches that have not fired, ordered with what this thread has stored before: of that and a
    /// new watch, either this sees the watch, or the next look of its owner sees what was stored.
    pub(super) fn unfired_after_store(&self) -> usize {
        // Acquire and release, by an operation that all others on the count are ordered with.
        self.unfired.fetch_add(0, Ordering::AcqRel)
    }

    /// There is one watch more.
    pub(super) fn add_watch(&self) {
        self.unfired.fetch_add(1, Ordering::SeqCst);
    }

    /// There are `n` watches less. How many are left.
    pub(super) fn end_watches(&self, n: usize) -> usize {
        self.unfired.fetch_sub(n, Ordering::SeqCst) - n
    }

    /// There are no watches any more.
    pub(super) fn end_all_watches(&self) {
        self.unfired.store(0, Ordering::SeqCst);
    }

    /// Whether a thread sleeps although nothing is watched.
    pub(super) fn sleeps_unwatched(&self) -> bool {
        self.sleeps_unwatched.load(Ordering::Relaxed)
    }

    /// Whether the helper drives in the background.
    pub(super) fn is_helper(&self) -> bool {
        self.kind.load(Ordering::Acquire) == HELPER
    }

    /// Whether the helper sees a new wait for device memory in time without being woken. Asked
    /// after the watch was registered.
    pub(super) fn looks_soon(&self) -> bool {
        // Relaxed, as is the store below: the lock of the watches, which this thread had before
        // and the helper has after it, orders them.
        self.looks_soon.load(Ordering::Relaxed)
    }

    /// The helper says so, and looks at the watches after it has taken it back.
    pub(super) fn look_soon(&self, soon: bool) {
        self.looks_soon.store(soon, Ordering::Relaxed);
    }

    /// Whether a thread other than the helper, or the task, drives. A hint.
    pub(super) fn is_at_work(&self) -> bool {
        self.is_held_by(Holder::Waiting) || self.task_works.load(Ordering::Relaxed)
    }
}

thread_local! {
    /// Whether this thread is in a poll after which it drives by itself, so that what it registers
    /// meanwhile needs no helper.
    static WILL_DRIVE: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is about to drive.
pub fn will_drive() -> bool {
    WILL_DRIVE.get()
}

/// Sets whether it is, and returns what was set before.
pub(super) fn set_will_drive(will: bool) -> bool {
    WILL_DRIVE.replace(will)
}

/// What the owner has that waits in `block_on`.
pub(super) struct Role<'a>(&'a Arc<Executor>);

/// The request of a thread in `block_on` that the helper gives the engine up.
pub(super) struct RoleRequest<'a>(&'a Arc<Executor>);

impl Drop for RoleRequest<'_> {
    fn drop(&mut self) {
        self.0.end_request();
    }
}

impl Drop for Role<'_> {
    fn drop(&mut self) {
        self.0.give_up();
    }
}

impl Executor {
    /// Sees to it that a driver looks after the watches.
    pub(super) fn kick(self: &Arc<Self>) {
        // SeqCst: see `Owner` and `Shift::drop`.
        let owner = &self.owner;
        if owner.sleeps_unwatched.load(Ordering::SeqCst) {
            return self.bell.ring_process();
        }
        if owner.is_taken() || owner.task_works.load(Ordering::SeqCst) || will_drive() {
            return;
        }
        match self.owner.kind.load(Ordering::Acquire) {
            TASK => self.owner.task.notify_one(),
            HELPER => {
                self.must_get_help();
                self.helper.helper_waker().wake_if_asleep();
            }
            _ => {}
        }
    }

    /// Whether the helper's thread has ended, or has other PEs of this process to work for. It lets
    /// go of this PE when this is [closed](Executor::close), and ends with the last.
    pub fn has_no_helper(&self) -> bool {
        self.helper.is_needed() || !self.owner.is_helped.load(Ordering::Acquire) && self.helper.has_ended()
    }

    /// Makes this thread the owner, if there is none.
    pub(super) fn try_role(self: &Arc<Self>) -> Option<Role<'_>> {
        self.owner.try_take(Holder::Waiting).then(|| Role(self))
    }

    /// Asks the helper to give the engine up, if it owns it.
    pub(super) fn request_role(self: &Arc<Self>) -> Option<RoleRequest<'_>> {
        self.request().then(|| RoleRequest(self))
    }

    /// Parks this thread until it is unparked, or until the owner gives the engine up.
    pub(super) fn park(self: &Arc<Self>) {
        if self.bell.is_in_process() {
            // There is nothing to drive: a writer wakes, or the helper.
            self.rest_sources();
            return thread::park();
        }
        // Where there are other hosts, this thread may wait for an operation, which is no watch.
        let alone = self.sources().is_empty();
        lock(&self.owner.parked).push(thread::current());
        // An owner that gave up before this thread was on the list unparks it not.
        let may_stay = || (alone && self.owner.unfired() == 0) || self.is_closed();
        if self.owner.is_taken() || may_stay() {
            thread::park();
        }
    }

    /// Gives the engine up. Called by its owner.
    pub(super) fn give_up(self: &Arc<Self>) {
        let owner = &self.owner;
        owner.holder.store(NONE, Ordering::SeqCst);
        if owner.task_works.load(Ordering::SeqCst) {
            // It may be asleep, and no longer announced, since we announced our own waking.
            self.bell.ring_process();
        }
        if owner.unfired() > 0 || owner.started.load(Ordering::SeqCst) {
            self.kick();
        }
        let parked = std::mem::take(&mut *lock(&owner.parked));
        parked.into_iter().for_each(|thread| thread.unpark());
    }

    /// Asks the helper for the engine, if it owns it. Whether it is asked.
    ///
    /// Else the helper would keep it for thread after thread: each thread that it wakes waits for
    /// the next thing before the helper has seen that nothing is left to wait for.
    fn request(&self) -> bool {
        if self.owner.holder.load(Ordering::SeqCst) != Holder::Helper as u32 {
            return false;
        }
        // The helper looks before it sleeps, and the ring stays until it has seen it.
        self.owner.requests.fetch_add(1, Ordering::SeqCst);
        self.bell.ring_process();
        true
    }

    /// Ends a request, because this thread owns the engine or needs it no more.
    fn end_request(self: &Arc<Self>) {
        // The helper leaves the engine alone while there are requests. Either it sees that this one
        // is gone, or we see that there is no owner.
        self.owner.requests.fetch_sub(1, Ordering::SeqCst);
        if self.owner.unfired() > 0 && !self.owner.is_taken() {
            self.kick();
        }
    }
}
