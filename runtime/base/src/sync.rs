//! The atomics and locks of the library, in one place so that loom can take their part.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p oxshmem-progress --lib loom_` runs every interleaving of
//! the code that is written against this module.
//!
//! Its locks know of wakers: none runs on a thread that has one of them locked (see
//! [`wakes`](crate::wakes)). So they are for everything that may have a task's waker woken or
//! dropped while it is locked, however far below. Under loom, which runs many threads on one,
//! wakers are woken outside of the locks as the code says.

#[cfg(loom)]
pub use loom::sync::{
    Mutex,
    atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
};
#[cfg(not(loom))]
pub use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

/// Locks `mutex`; a poisoned lock ends loom's run.
#[cfg(loom)]
pub fn lock<T>(mutex: &Mutex<T>) -> loom::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poison| poison.into_inner())
}

/// Makes an access to an atomic that is in the one order that all threads agree on: it is `SeqCst`.
/// Loom takes such accesses for weaker ones, but knows the fences.
#[inline(always)]
pub fn in_one_order<T>(access: impl FnOnce() -> T) -> T {
    #[cfg(loom)]
    fence(Ordering::SeqCst);
    let result = access();
    #[cfg(loom)]
    fence(Ordering::SeqCst);
    result
}

/// Whether there is no thread there. One that has ended is there no more.
#[cfg(not(loom))]
pub fn has_ended(thread: &mut Option<std::thread::JoinHandle<()>>) -> bool {
    if let Some(ended) = thread.take_if(|thread| thread.is_finished()) {
        // It has reported that itself if it has panicked.
        let _ = ended.join();
    }
    thread.is_none()
}

#[cfg(not(loom))]
pub use locks::{Condvar, Mutex, MutexGuard, lock};

#[cfg(not(loom))]
mod locks {
    use std::{
        fmt,
        ops::{Deref, DerefMut},
        sync::{self, PoisonError, TryLockError},
        time::Duration,
    };

    use crate::wakes::Hold;

    /// A mutual exclusion lock under which no waker runs.
    ///
    /// It does not care whether a thread panicked while it held it: the data behind our locks is
    /// valid between any two statements, so poison says nothing that matters.
    ///
    /// ```
    /// use std::{sync::Arc, task::{Wake, Waker}};
    /// use oxshmem_base::{sync::{Mutex, lock}, wakes::StoredWaker};
    ///
    /// struct Looks(Mutex<u32>);
    /// impl Wake for Looks {
    ///     fn wake(self: Arc<Self>) {
    ///         *lock(&self.0) += 1; // it would wait for ever if it were locked
    ///     }
    /// }
    ///
    /// let looks = Arc::new(Looks(Mutex::new(0)));
    /// {
    ///     let count = lock(&looks.0);
    ///     StoredWaker::of(&Waker::from(Arc::clone(&looks))).wake();
    ///     assert_eq!(*count, 0);
    /// }
    /// assert_eq!(*lock(&looks.0), 1);
    /// ```
    #[derive(Default)]
    pub struct Mutex<T>(sync::Mutex<T>);

    impl<T> Mutex<T> {
        /// An open lock.
        pub const fn new(value: T) -> Self {
            Self(sync::Mutex::new(value))
        }

        /// The lock, if no thread has it.
        pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
            let hold = Hold::begin();
            match self.0.try_lock() {
                Ok(inner) => Some(MutexGuard { inner, hold }),
                Err(TryLockError::Poisoned(poison)) => Some(MutexGuard { inner: poison.into_inner(), hold }),
                Err(TryLockError::WouldBlock) => None,
            }
        }
    }

    impl<T: fmt::Debug> fmt::Debug for Mutex<T> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.fmt(f)
        }
    }

    /// Locks `mutex`. A thread that has it locked already waits for ever.
    #[inline]
    pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        let hold = Hold::begin();
        MutexGuard { inner: mutex.0.lock().unwrap_or_else(PoisonError::into_inner), hold }
    }

    /// The value of a [`Mutex`], which is open again when this is dropped.
    #[derive(Debug)]
    pub struct MutexGuard<'a, T> {
        // Dropped first: the lock is open when the hold ends.
        inner: sync::MutexGuard<'a, T>,
        hold: Hold,
    }

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;

        #[inline]
        fn deref(&self) -> &T {
            &self.inner
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        #[inline]
        fn deref_mut(&mut self) -> &mut T {
            &mut self.inner
        }
    }

    /// What threads wait on that have a [`Mutex`] locked.
    #[derive(Debug, Default)]
    pub struct Condvar(sync::Condvar);

    impl Condvar {
        /// One that no thread waits on.
        pub const fn new() -> Self {
            Self(sync::Condvar::new())
        }

        /// Opens the lock, waits, and takes the lock again.
        pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
            let MutexGuard { inner, hold } = guard;
            debug_assert!(!Hold::is_waited_for(), "a thread sleeps before it has woken others");
            MutexGuard { inner: self.0.wait(inner).unwrap_or_else(PoisonError::into_inner), hold }
        }

        /// Opens the lock, waits for `limit` at the most, and takes the lock again. Whether the
        /// time is over.
        pub fn wait_timeout<'a, T>(
            &self,
            guard: MutexGuard<'a, T>,
            limit: Duration,
        ) -> (MutexGuard<'a, T>, bool) {
            let MutexGuard { inner, hold } = guard;
            debug_assert!(!Hold::is_waited_for(), "a thread sleeps before it has woken others");
            let (inner, over) = self.0.wait_timeout(inner, limit).unwrap_or_else(PoisonError::into_inner);
            (MutexGuard { inner, hold }, over.timed_out())
        }

        /// Ends the wait of one thread.
        pub fn notify_one(&self) {
            self.0.notify_one();
        }
    }
}
