//! Waking: the one place where the library runs wakers, and drops them.
//!
//! Both run code of the program. A waker may run its task at once, which calls the library again,
//! and the last reference to a task may go with a waker, and with the task everything that it owns.
//! So no lock of ours may be held meanwhile, what the library has to write down must be written
//! down, and a panic must end nothing else.
//!
//! All wakers that the library keeps are [`StoredWaker`]s. Whether one is
//! [woken](StoredWaker::wake) or dropped, its code runs at once where this thread holds none of our
//! locks. Otherwise it runs when the thread releases the last of them: each guard of a lock of
//! [`sync`](crate::sync) contains a [`Hold`]. Code that has more to write down than one lock
//! protects begins a `Hold` of its own.

use std::{
    cell::{Cell, RefCell},
    marker::PhantomData,
    mem::{self, ManuallyDrop},
    task::Waker,
};

#[cfg(oxshmem_loom)]
use crate::local::{CellKey, RefCellKey};
use crate::{local::thread_local, panics::survive};

/// Set in [`HOLDS`] while there is something in [`LATER`].
const WAITING: u32 = 1 << 31;

thread_local! {
    /// How many holds this thread has.
    static HOLDS: Cell<u32> = const { Cell::new(0) };
    // Without a destructor, so that it is there for what still ends when the thread does: C
    // programs finalize at exit.
    static LATER: RefCell<ManuallyDrop<Vec<End>>> = const { RefCell::new(ManuallyDrop::new(Vec::new())) };
}

/// How the library's keeping of a waker ends.
enum End {
    Wake(Waker),
    Drop(Waker),
}

impl End {
    /// Now, or when this thread's last hold ends.
    #[inline]
    fn run(self) {
        if HOLDS.get() == 0 {
            self.run_now();
        } else {
            HOLDS.set(HOLDS.get() | WAITING);
            LATER.with_borrow_mut(|later| later.push(self));
        }
    }

    fn run_now(self) {
        debug_assert_eq!(HOLDS.get(), 0, "a waker is run with a lock of the library held");
        #[expect(clippy::disallowed_methods, reason = "all waking is done here")]
        survive(|| match self {
            Self::Wake(waker) => waker.wake(),
            Self::Drop(waker) => drop(waker),
        });
    }
}

/// A task's waker in the library's keeping, or none.
///
/// However it ends, its code runs with no lock of the library held on this thread, and a panic of
/// it ends there.
///
/// ```
/// use std::{sync::Arc, sync::atomic::{AtomicU32, Ordering}, task::{Wake, Waker}};
/// use oxshmem_base::wakes::StoredWaker;
///
/// static AWAKE: AtomicU32 = AtomicU32::new(0);
/// struct Odd;
/// impl Wake for Odd {
///     fn wake(self: Arc<Self>) {
///         assert_eq!(AWAKE.fetch_add(1, Ordering::Relaxed) % 2, 0);
///     }
/// }
///
/// let odd = Waker::from(Arc::new(Odd));
/// let stored: Vec<StoredWaker> = (0..4).map(|_| StoredWaker::of(&odd)).collect();
/// stored.into_iter().for_each(StoredWaker::wake); // two of them panic
/// assert_eq!(AWAKE.load(Ordering::Relaxed), 4);
/// ```
#[derive(Debug, Default)]
pub struct StoredWaker(Option<Waker>);

impl StoredWaker {
    /// A clone of a task's waker. Cloning runs code of the program too: to be called before a lock
    /// is taken.
    #[inline]
    pub fn of(waker: &Waker) -> Self {
        Self(Some(waker.clone()))
    }

    /// Whether it would wake the same task.
    #[inline]
    pub fn will_wake(&self, waker: &Waker) -> bool {
        self.0.as_ref().is_some_and(|stored| stored.will_wake(waker))
    }

    /// Wakes the task.
    #[inline]
    pub fn wake(mut self) {
        if let Some(waker) = self.0.take() {
            End::Wake(waker).run();
        }
    }
}

impl Drop for StoredWaker {
    #[inline]
    fn drop(&mut self) {
        if let Some(waker) = self.0.take() {
            End::Drop(waker).run();
        }
    }
}

/// For as long as it lasts, no waker runs on this thread. Those that were to run do so when the
/// last one ends.
///
/// It must outlast the locks that are taken beside it, so it is declared before them.
///
/// ```
/// use std::{sync::Arc, sync::atomic::{AtomicBool, Ordering}, task::{Wake, Waker}};
/// use oxshmem_base::wakes::{Hold, StoredWaker};
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
/// StoredWaker::of(&Waker::from(Arc::clone(&awake))).wake();
/// assert!(!awake.0.load(Ordering::Relaxed));
/// drop(hold);
/// assert!(awake.0.load(Ordering::Relaxed));
/// ```
#[derive(Debug)]
#[must_use = "it lasts until it is dropped"]
pub struct Hold(PhantomData<*const ()>);

impl Hold {
    /// Begins one. There may be several, one in the other.
    #[inline(always)]
    pub fn begin() -> Self {
        HOLDS.set(HOLDS.get() + 1);
        Self(PhantomData)
    }

    /// Whether a waker waits for the end of this thread's holds.
    pub fn is_waited_for() -> bool {
        HOLDS.get() & WAITING != 0
    }
}

impl Drop for Hold {
    #[inline(always)]
    fn drop(&mut self) {
        let left = HOLDS.get() - 1;
        HOLDS.set(left);
        if left == WAITING {
            run_later();
        }
    }
}

/// The last hold has ended.
#[cold]
#[inline(never)]
fn run_later() {
    HOLDS.set(0);
    // What comes in the meantime runs by itself, or with the end of the holds that it comes under.
    let later = LATER.with_borrow_mut(|later| mem::take(&mut **later));
    later.into_iter().for_each(End::run_now);
}

#[cfg(test)]
mod tests {
    use std::{
        panic::{AssertUnwindSafe, catch_unwind, panic_any},
        sync::{
            Arc,
            atomic::{AtomicU32, Ordering},
        },
        task::Wake,
    };

    use super::*;

    /// Counts how often it was woken, and does something when it is, or when it is dropped.
    struct Task<F: Fn() + Send + Sync>(F, Arc<AtomicU32>);

    impl<F: Fn() + Send + Sync> Wake for Task<F> {
        fn wake(self: Arc<Self>) {
            self.1.fetch_add(1, Ordering::Relaxed);
            (self.0)();
        }
    }

    fn stored(on_wake: impl Fn() + Send + Sync + 'static) -> (StoredWaker, Arc<AtomicU32>) {
        let count = Arc::new(AtomicU32::new(0));
        let waker = Waker::from(Arc::new(Task(on_wake, Arc::clone(&count))));
        (StoredWaker::of(&waker), count)
    }

    /// Something that panics when it is dropped.
    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("the bomb goes off");
        }
    }

    #[test]
    fn a_waker_whose_task_panics_when_it_is_dropped_or_with_what_it_panicked_ends_nothing() {
        let bomb = Bomb;
        let (dropped, count) = stored(move || {
            let _ = &bomb;
        });
        drop(dropped);
        assert_eq!(count.load(Ordering::Relaxed), 0);
        let (woken, count) = stored(|| panic_any(Bomb));
        woken.wake();
        assert_eq!(count.load(Ordering::Relaxed), 1);
    }

    #[cfg(not(oxshmem_loom))]
    #[test]
    fn a_waker_that_is_replaced_under_a_lock_is_dropped_when_the_lock_is_free() {
        let lock = Arc::new(crate::sync::Mutex::new(StoredWaker::default()));
        let free = Arc::new(std::sync::Mutex::new(None));
        struct Looks(Arc<crate::sync::Mutex<StoredWaker>>, Arc<std::sync::Mutex<Option<bool>>>);
        impl Drop for Looks {
            fn drop(&mut self) {
                *self.1.lock().unwrap() = Some(self.0.try_lock().is_some());
            }
        }
        let looks = Looks(Arc::clone(&lock), Arc::clone(&free));
        *crate::sync::lock(&lock) = stored(move || {
            let _ = &looks;
        })
        .0;
        assert_eq!(*free.lock().unwrap(), None);
        let mut inside = crate::sync::lock(&lock);
        *inside = StoredWaker::default();
        assert_eq!(*free.lock().unwrap(), None, "not under the lock");
        drop(inside);
        assert_eq!(*free.lock().unwrap(), Some(true));
    }

    #[test]
    fn wakers_that_a_panic_finds_waiting_run_when_it_has_released_the_locks() {
        let (waker, count) = stored(|| panic!("this one too"));
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let _hold = Hold::begin();
            waker.wake();
            panic!("a step panics");
        }));
        assert!(panicked.is_err());
        assert_eq!(count.load(Ordering::Relaxed), 1);
        assert!(!Hold::is_waited_for());
    }
}
