//! A lock for what one thread uses nearly always: taking it again costs that thread no locked instruction.
//!
//! The lock leans towards the thread that took it many times in a row. That thread says that it is inside, looks
//! whether the lock still leans towards it, and is in: plain stores and loads, which only the compiler must keep in
//! order. Whoever else wants the lock takes the ordinary one behind it, ends the bias, and makes all running threads
//! pass a barrier, as a sleeping PE does (see `doorbell`): after that either the thread has seen that the bias
//! has ended, or it is seen to be inside, and is awaited. A lock that had to do so several times stays an ordinary one.

use std::{
    cell::UnsafeCell,
    fmt,
    marker::PhantomData,
    ops::{Deref, DerefMut},
};

#[cfg(not(loom))]
use oxshmem_base::{
    settings::FenceSide,
    sync::{AtomicBool, AtomicU32, AtomicUsize, Ordering},
    wakes::Hold,
};

use crate::doorbell;

/// How often in a row a thread takes the lock before it leans towards it.
#[cfg(not(loom))]
const HABIT: u32 = 64;
#[cfg(loom)]
const HABIT: u32 = 1;

/// Who fences in the order of a bias and its end: loom knows no barrier on other threads.
const SIDE: FenceSide = if cfg!(loom) { FenceSide::Writer } else { FenceSide::Sleeper };

/// How often a bias is ended before there is none any more.
const PATIENCE: u32 = 8;

/// A mutual exclusion lock around a `T`, fast for the thread that uses it most. As under the locks of [`sync`](oxshmem_base::sync),
/// no waker runs under it.
///
/// ```
/// use oxshmem_runtime::biased::BiasedLock;
///
/// let count = BiasedLock::new(0, false);
/// std::thread::scope(|scope| {
///     for _ in 0..2 {
///         scope.spawn(|| (0..1000).for_each(|_| *count.lock() += 1));
///     }
/// });
/// assert_eq!(*count.lock(), 2000);
/// ```
pub struct BiasedLock<T> {
    /// The thread that the lock leans towards, as [`this_thread`] names it, or 0. Written by who holds `taken`.
    bias: AtomicUsize,
    /// That thread is inside.
    inside: AtomicBool,
    /// Another is inside, or about to be.
    taken: AtomicBool,
    /// Who took the lock last, how often in a row, and how many biases have ended. Written by who holds `taken`.
    last: AtomicUsize,
    in_a_row: AtomicU32,
    ended: AtomicU32,
    /// Whether there may be a bias.
    leans: bool,
    value: UnsafeCell<T>,
}

// SAFETY: the lock hands the value from one thread to another, and never to two at a time.
unsafe impl<T: Send> Send for BiasedLock<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for BiasedLock<T> {}

impl<T> BiasedLock<T> {
    /// An open lock. If `leans` is false it stays an ordinary one; otherwise the process must be registered for the
    /// barrier on all threads, which it is where [`Pe::fence_side`](crate::Pe::fence_side) is the sleeper's.
    pub fn new(value: T, leans: bool) -> Self {
        Self {
            bias: AtomicUsize::new(0),
            inside: AtomicBool::new(false),
            taken: AtomicBool::new(false),
            last: AtomicUsize::new(0),
            in_a_row: AtomicU32::new(0),
            ended: AtomicU32::new(0),
            leans,
            value: UnsafeCell::new(value),
        }
    }

    /// Waits for the lock, yielding the processor. A thread that has it already waits for ever.
    #[inline(always)]
    pub fn lock(&self) -> Guard<'_, T> {
        let me = this_thread();
        if self.enter_biased(me) {
            return Guard::new(self, true);
        }
        self.lock_slowly(me)
    }

    /// The lock, if nobody has it.
    #[inline(always)]
    pub fn try_lock(&self) -> Option<Guard<'_, T>> {
        let me = this_thread();
        if self.enter_biased(me) {
            return Some(Guard::new(self, true));
        }
        self.try_lock_slowly(me)
    }

    /// Goes inside if the lock leans towards this thread, and it is not there already.
    #[inline(always)]
    fn enter_biased(&self, me: usize) -> bool {
        // Acquire: pairs with the release in `Guard::drop`, should a thread that has ended have had the same name.
        if self.bias.load(Ordering::Relaxed) != me || self.inside.load(Ordering::Acquire) {
            return false;
        }
        self.inside.store(true, Ordering::Relaxed);
        // With the fence in `end_bias`: either the bias is seen to have ended, or we are seen to be inside.
        doorbell::after_store(SIDE);
        // Acquire: pairs with the release of the bias, before which this very thread was inside.
        if self.bias.load(Ordering::Acquire) == me {
            return true;
        }
        self.inside.store(false, Ordering::Release);
        false
    }

    #[cold]
    #[inline(never)]
    fn lock_slowly(&self, me: usize) -> Guard<'_, T> {
        while !self.take() {
            relax();
        }
        self.end_bias(|| true);
        self.count(me);
        Guard::new(self, false)
    }

    #[cold]
    #[inline(never)]
    fn try_lock_slowly(&self, me: usize) -> Option<Guard<'_, T>> {
        if !self.take() {
            return None;
        }
        // A thread does not wait for itself.
        let own = self.bias.load(Ordering::Relaxed) == me;
        if own || !self.end_bias(|| false) {
            self.taken.store(false, Ordering::Release);
            return None;
        }
        self.count(me);
        Some(Guard::new(self, false))
    }

    fn take(&self) -> bool {
        // Acquire: what the one before did is visible.
        !self.taken.load(Ordering::Relaxed)
            && self.taken.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Ends the bias, if there is one, and waits for the thread to leave, for as long as `patient` says. By who holds
    /// `taken`. True if nobody is inside.
    fn end_bias(&self, patient: impl Fn() -> bool) -> bool {
        // Nobody else writes it meanwhile.
        if self.bias.load(Ordering::Relaxed) != 0 {
            self.bias.store(0, Ordering::Relaxed);
            self.ended.store(self.ended.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            doorbell::before_look(SIDE);
        }
        // Acquire: what the thread did inside is visible. It is looked at also where the bias ended before, by one
        // who had no time to wait.
        while self.inside.load(Ordering::Acquire) {
            if !patient() {
                return false;
            }
            relax();
        }
        true
    }

    /// Takes note of who uses the lock. By who holds `taken`.
    fn count(&self, me: usize) {
        let same = self.last.load(Ordering::Relaxed) == me;
        let in_a_row = if same { self.in_a_row.load(Ordering::Relaxed) + 1 } else { 0 };
        self.last.store(me, Ordering::Relaxed);
        self.in_a_row.store(in_a_row, Ordering::Relaxed);
    }

    /// Opens the ordinary lock, leaning towards who had it if that has become a habit.
    fn release(&self) {
        let settled = self.in_a_row.load(Ordering::Relaxed) >= HABIT;
        if settled && self.leans && self.ended.load(Ordering::Relaxed) < PATIENCE {
            self.in_a_row.store(0, Ordering::Relaxed);
            // Release: what was done inside is visible to who enters by the bias.
            self.bias.store(self.last.load(Ordering::Relaxed), Ordering::Release);
        }
        // Release: and to who takes the lock next.
        self.taken.store(false, Ordering::Release);
    }
}

impl<T> fmt::Debug for BiasedLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BiasedLock")
    }
}

/// The value of a [`BiasedLock`], which is open again when this is dropped.
///
/// ```compile_fail
/// # use oxshmem_runtime::biased::BiasedLock;
/// let lock = BiasedLock::new(1, false);
/// let guard = lock.lock();
/// std::thread::scope(|scope| scope.spawn(move || drop(guard))); // it stays on its thread
/// ```
pub struct Guard<'a, T> {
    lock: &'a BiasedLock<T>,
    biased: bool,
    on_this_thread: PhantomData<*const ()>,
    /// Ends when the lock is open.
    #[cfg(not(loom))]
    _hold: Hold,
}

impl<'a, T> Guard<'a, T> {
    #[inline(always)]
    fn new(lock: &'a BiasedLock<T>, biased: bool) -> Self {
        Self {
            lock,
            biased,
            on_this_thread: PhantomData,
            #[cfg(not(loom))]
            _hold: Hold::begin(),
        }
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: whoever has a guard is alone inside.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: whoever has a guard is alone inside.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.biased {
            // Release: what was done inside is visible to who sees that nobody is.
            self.lock.inside.store(false, Ordering::Release);
        } else {
            self.lock.release();
        }
    }
}

impl<T> fmt::Debug for Guard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Guard")
    }
}

/// A number other than 0 that no other living thread has.
#[cfg(not(loom))]
#[inline(always)]
pub fn this_thread() -> usize {
    thread_local!(static HERE: u8 = const { 0 });
    HERE.with(|here| std::ptr::from_ref(here).addr())
}

/// A number other than 0 that no other thread of the model has.
#[cfg(loom)]
pub fn this_thread() -> usize {
    loom::thread_local!(static HERE: Box<u8> = Box::new(0));
    HERE.with(|here| std::ptr::from_ref(&**here).addr())
}

#[cfg(not(loom))]
fn relax() {
    rustix::thread::sched_yield();
}

#[cfg(loom)]
fn relax() {
    loom::thread::yield_now();
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::{cell::UnsafeCell, sync::Arc, thread};

    fn add(count: &BiasedLock<UnsafeCell<u32>>) {
        count.lock().with_mut(|count| {
            // SAFETY: loom fails the test if two threads are here at a time.
            unsafe { *count += 1 }
        });
    }

    #[test]
    fn loom_nobody_is_inside_with_the_biased_thread() {
        loom::model(|| {
            let count = Arc::new(BiasedLock::new(UnsafeCell::new(0), true));
            // Twice in a row: from now on the lock leans towards this thread.
            (0..2).for_each(|_| add(&count));
            assert_ne!(count.bias.load(Ordering::Relaxed), 0);
            let other = thread::spawn({
                let count = Arc::clone(&count);
                move || add(&count)
            });
            (0..2).for_each(|_| add(&count));
            other.join().unwrap();
            let total = count.lock().with(|count| {
                // SAFETY: as above.
                unsafe { *count }
            });
            assert_eq!(total, 5);
        });
    }

    #[test]
    fn loom_who_only_tries_never_gets_in_beside_another() {
        loom::model(|| {
            let count = Arc::new(BiasedLock::new(UnsafeCell::new(0), true));
            (0..2).for_each(|_| add(&count));
            let other = thread::spawn({
                let count = Arc::clone(&count);
                move || {
                    let got = (0..2).filter(|_| {
                        count.try_lock().is_some_and(|guard| {
                            // SAFETY: as above.
                            guard.with_mut(|count| unsafe { *count += 1 });
                            true
                        })
                    });
                    got.count() as u32
                }
            });
            add(&count);
            let got = other.join().unwrap();
            let total = count.lock().with(|count| {
                // SAFETY: as above.
                unsafe { *count }
            });
            assert_eq!(total, 3 + got);
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn threads_that_take_turns_and_habits_lose_no_count() {
        let lock = BiasedLock::new(0u64, crate::doorbell::register_membarrier());
        std::thread::scope(|scope| {
            for thread in 0..3u64 {
                let lock = &lock;
                scope.spawn(move || {
                    for i in 0..20_000u64 {
                        if i % 3 == thread {
                            *lock.lock() += 1;
                            continue;
                        }
                        loop {
                            if let Some(mut count) = lock.try_lock() {
                                *count += 1;
                                break;
                            }
                            std::thread::yield_now();
                        }
                    }
                });
            }
        });
        assert_eq!(*lock.lock(), 60_000);
    }

    #[test]
    fn a_habit_ends_when_another_thread_comes() {
        if !crate::doorbell::register_membarrier() {
            eprintln!("not tested: this kernel has no barrier on other threads");
            return;
        }
        let lock = BiasedLock::new(0, true);
        (0..=HABIT).for_each(|_| *lock.lock() += 1);
        assert_eq!(lock.bias.load(Ordering::Relaxed), this_thread());
        let guard = lock.lock();
        assert!(lock.try_lock().is_none(), "the thread has it already");
        std::thread::scope(|scope| {
            scope.spawn(|| assert!(lock.try_lock().is_none())).join().unwrap();
        });
        drop(guard);
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!(*lock.lock(), HABIT + 1)).join().unwrap();
        });
        assert_eq!(lock.bias.load(Ordering::Relaxed), 0);
        assert!(lock.try_lock().is_some());
    }
}
