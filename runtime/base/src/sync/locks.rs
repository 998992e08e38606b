//! The locks of [`sync`](super).

#[cfg(oxshmem_loom)]
use loom::sync;
#[cfg(not(oxshmem_loom))]
use std::sync;
use std::{
    fmt,
    ops::{Deref, DerefMut},
    sync::{PoisonError, TryLockError},
    time::Duration,
};

use super::taken::Taken;
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
pub struct Mutex<T>(sync::Mutex<T>, Taken);

impl<T> Mutex<T> {
    /// An open lock.
    #[cfg(not(oxshmem_loom))]
    pub const fn new(value: T) -> Self {
        Self(sync::Mutex::new(value), Taken::new())
    }

    #[cfg(oxshmem_loom)]
    #[expect(missing_docs, reason = "see above")]
    pub fn new(value: T) -> Self {
        Self(sync::Mutex::new(value), Taken::new())
    }

    /// The lock, if no thread has it.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        let hold = Hold::begin();
        self.1.tried();
        let inner = match self.0.try_lock() {
            Ok(inner) => inner,
            Err(TryLockError::Poisoned(poison)) => poison.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        self.1.taken();
        Some(MutexGuard { inner, hold })
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
    let inner = mutex.0.lock().unwrap_or_else(PoisonError::into_inner);
    mutex.1.taken();
    MutexGuard { inner, hold }
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
    #[cfg(not(oxshmem_loom))]
    pub const fn new() -> Self {
        Self(sync::Condvar::new())
    }

    #[cfg(oxshmem_loom)]
    #[expect(missing_docs, reason = "see above")]
    pub fn new() -> Self {
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
