//! Waking whom an event concerns, but never under a lock that they may want.
//!
//! Code that runs the steps of others under a lock of its own, as a team's queue does, has a [`Hold`] meanwhile.
//! Whatever ends in such a step, on this thread, wakes nobody before the lock is free: a waker may run its task at
//! once, and that may call the next collective, or want another queue whose owner waits for this one.

use std::{
    cell::{Cell, RefCell},
    marker::PhantomData,
    mem::ManuallyDrop,
    task::Waker,
};

use crate::panics::Panics;

thread_local! {
    static HOLDS: Cell<u32> = const { Cell::new(0) };
    // Without a destructor, so that it is there for what still ends when the thread does: C programs finalize at exit.
    static LATER: RefCell<ManuallyDrop<Vec<Waker>>> = const { RefCell::new(ManuallyDrop::new(Vec::new())) };
}

/// Wakes now, or, where this thread has a [`Hold`], has whoever ends the last of them do so.
///
/// ```
/// use std::{sync::Arc, sync::atomic::{AtomicBool, Ordering}, task::{Wake, Waker}};
/// use oxshmem_runtime::wakes::{Hold, wake};
///
/// struct Awake(AtomicBool);
/// impl Wake for Awake {
///     fn wake(self: Arc<Self>) {
///         self.0.store(true, Ordering::Relaxed);
///     }
/// }
///
/// let awake = Arc::new(Awake(AtomicBool::new(false)));
/// let hold = Hold::begin();
/// wake(Waker::from(Arc::clone(&awake)));
/// assert!(!awake.0.load(Ordering::Relaxed));
/// hold.end().into_iter().for_each(wake);
/// assert!(awake.0.load(Ordering::Relaxed));
/// ```
#[inline]
pub fn wake(waker: Waker) {
    if HOLDS.get() == 0 {
        waker.wake();
    } else {
        LATER.with_borrow_mut(|later| later.push(waker));
    }
}

/// [`wake`]s all of them. A task that panics then does so when the others are awake.
///
/// ```
/// use std::{panic::catch_unwind, sync::Arc, sync::atomic::{AtomicU32, Ordering}, task::{Wake, Waker}};
/// use oxshmem_runtime::wakes::wake_all;
///
/// static AWAKE: AtomicU32 = AtomicU32::new(0);
/// struct Odd;
/// impl Wake for Odd {
///     fn wake(self: Arc<Self>) {
///         assert_eq!(AWAKE.fetch_add(1, Ordering::Relaxed) % 2, 0);
///     }
/// }
///
/// let wakers = || (0..4).map(|_| Waker::from(Arc::new(Odd)));
/// assert!(catch_unwind(|| wake_all(wakers())).is_err());
/// assert_eq!(AWAKE.load(Ordering::Relaxed), 4);
/// ```
pub fn wake_all(wakers: impl IntoIterator<Item = Waker>) {
    let mut panics = Panics::default();
    wakers.into_iter().for_each(|waker| panics.run(|| wake(waker)));
    panics.resume();
}

/// For as long as it lasts, [`wake`] on this thread wakes nobody.
#[derive(Debug)]
pub struct Hold(PhantomData<*const ()>);

impl Hold {
    /// Begins one. There may be several, one in the other.
    pub fn begin() -> Self {
        HOLDS.set(HOLDS.get() + 1);
        Self(PhantomData)
    }

    /// Ends it. Who ended the last is given those to be woken, which is to be done with no lock held.
    #[must_use]
    pub fn end(self) -> Vec<Waker> {
        drop(self);
        if HOLDS.get() > 0 {
            return Vec::new();
        }
        LATER.with_borrow_mut(|later| std::mem::take(&mut **later))
    }
}

impl Drop for Hold {
    // Where a step panics; those to be woken then wait for the next end.
    fn drop(&mut self) {
        HOLDS.set(HOLDS.get() - 1);
    }
}
