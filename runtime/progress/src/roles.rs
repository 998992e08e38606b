//! Which thread looks after the watches of a PE: the one that has the role.
//!
//! One thread at a time has it, so that no two sleep on one bell. A thread that waits takes it if
//! no other thread has it, and parks otherwise. The helper takes it if there are watches and no
//! thread wants it. A thread that leaves the role with watches left kicks the helper, so that no
//! watch is left alone.
//!
//! Loom runs this code in every order of its accesses: see `loom_roles`.

use oxshmem_base::sync::{AtomicU32, AtomicUsize, Mutex, Ordering, lock, thread::Thread};

/// Which thread has the role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Holder {
    /// A thread that waits in `block_on`.
    Waiting = 1,
    /// The helper.
    Helper = 2,
}

/// No thread has the role.
const NONE: u32 = 0;

/// What is around the roles of a PE.
pub(crate) trait Around {
    /// Has the background driver look whether it is needed: the helper, or the task.
    fn kick(&self);

    /// Rings the PE's bell.
    fn ring(&self);

    /// A thread has given the role up.
    fn gave_up(&self);

    /// Whether there is something to drive beside watches.
    fn has_more(&self) -> bool;
}

/// A thread that parks.
pub(crate) trait Parked {
    /// Ends its sleep, or the next one before it begins.
    fn unpark(&self);
}

impl Parked for Thread {
    fn unpark(&self) {
        Thread::unpark(self);
    }
}

/// The roles of the threads of one PE.
///
/// All accesses are in one order that all threads agree on. Of a new watch and a thread that gives
/// the role up, of a request and the helper that falls asleep, one side sees the other.
#[derive(Debug)]
pub(crate) struct Roles<T> {
    /// Which [`Holder`] has the role, or [`NONE`].
    holder: AtomicU32,
    /// Threads in `block_on` to which the helper is to leave the role.
    requests: AtomicUsize,
    /// Watches that have not fired. Changed under the lock of the watches.
    unfired: AtomicUsize,
    /// Threads in `block_on` that found the role taken.
    parked: Mutex<Vec<T>>,
}

impl<T> Default for Roles<T> {
    fn default() -> Self {
        Self {
            holder: AtomicU32::new(NONE),
            requests: AtomicUsize::new(0),
            unfired: AtomicUsize::new(0),
            parked: Mutex::new(Vec::new()),
        }
    }
}

impl<T: Parked> Roles<T> {
    /// Whether a thread has the role.
    pub(crate) fn is_taken(&self) -> bool {
        self.holder.load(Ordering::SeqCst) != NONE
    }

    /// Which thread has the role. A hint.
    pub(crate) fn is_held_by(&self, holder: Holder) -> bool {
        // Relaxed: see above.
        self.holder.load(Ordering::Relaxed) == holder as u32
    }

    /// Takes the role, if no thread has it.
    pub(crate) fn try_take(&self, holder: Holder) -> bool {
        let (order, to) = (Ordering::SeqCst, holder as u32);
        self.holder.compare_exchange(NONE, to, order, order).is_ok()
    }

    /// Gives the role up. Called by the thread that has it.
    pub(crate) fn give_up(&self, around: &impl Around) {
        self.holder.store(NONE, Ordering::SeqCst);
        around.gave_up();
        if self.unfired() > 0 || around.has_more() {
            around.kick();
        }
        let parked = std::mem::take(&mut *lock(&self.parked));
        parked.into_iter().for_each(|thread| thread.unpark());
    }

    /// Asks the helper for the role, if it has it. Whether it is asked.
    ///
    /// Else the helper would keep the role for thread after thread: each thread that it wakes waits
    /// for the next thing before the helper has seen that nothing is left to wait for.
    pub(crate) fn request(&self, around: &impl Around) -> bool {
        if self.holder.load(Ordering::SeqCst) != Holder::Helper as u32 {
            return false;
        }
        // The helper looks before it sleeps, and the ring stays until it has seen it.
        self.requests.fetch_add(1, Ordering::SeqCst);
        around.ring();
        true
    }

    /// Ends a request, because this thread has the role or needs it no more.
    pub(crate) fn end_request(&self, around: &impl Around) {
        // The helper leaves the role alone while there are requests. Either it sees that this one
        // is gone, or we see that no thread has the role.
        self.requests.fetch_sub(1, Ordering::SeqCst);
        if self.unfired() > 0 && !self.is_taken() {
            around.kick();
        }
    }

    /// Whether the helper is to leave the role to another thread.
    pub(crate) fn is_requested(&self) -> bool {
        self.requests.load(Ordering::SeqCst) > 0
    }

    /// Parks this thread by `sleep`, unless no other thread has the role and there is something to
    /// drive: that is, unless it `may_stay` out of it.
    pub(crate) fn park(&self, this: T, may_stay: impl FnOnce() -> bool, sleep: impl FnOnce()) {
        lock(&self.parked).push(this);
        // A role that was given up before this thread was on the list unparks it not.
        if self.is_taken() || may_stay() {
            sleep();
        }
    }

    /// Watches that have not fired.
    #[inline]
    pub(crate) fn unfired(&self) -> usize {
        self.unfired.load(Ordering::SeqCst)
    }

    /// Watches that have not fired, ordered with what this thread has stored before: of that and a
    /// new watch, either this sees the watch, or the next look of its owner sees what was stored.
    pub(crate) fn unfired_after_store(&self) -> usize {
        // Acquire and release, by an operation that all others on the count are ordered with.
        self.unfired.fetch_add(0, Ordering::AcqRel)
    }

    /// There is one watch more.
    pub(crate) fn add_watch(&self) {
        self.unfired.fetch_add(1, Ordering::SeqCst);
    }

    /// There are `n` watches less. How many are left.
    pub(crate) fn end_watches(&self, n: usize) -> usize {
        self.unfired.fetch_sub(n, Ordering::SeqCst) - n
    }

    /// There are no watches any more.
    pub(crate) fn end_all_watches(&self) {
        self.unfired.store(0, Ordering::SeqCst);
    }
}
