//! What [`sync`](super) is under loom: loom's own, with the library's interface.

use std::{fmt, io, sync::Arc, time::Duration};

pub use loom::sync::atomic::{Ordering, fence};

use super::{Condvar, Mutex, lock};

/// The compiler keeps the order; loom knows no compiler.
pub fn compiler_fence(_: Ordering) {}

/// An atomic of loom, whose `SeqCst` accesses are in the one order that all threads agree on. Loom
/// takes such accesses for weaker ones, but knows the fences.
macro_rules! atomic {
    ($($name:ident: $type:ty $(, $number:tt)?;)+) => {$(
        #[doc = concat!("[`std::sync::atomic::", stringify!($name), "`] under loom.")]
        #[derive(Debug, Default)]
        pub struct $name(loom::sync::atomic::$name);

        impl $name {
            /// One with this value.
            pub fn new(value: $type) -> Self {
                Self(loom::sync::atomic::$name::new(value))
            }

            /// Loads the value.
            pub fn load(&self, order: Ordering) -> $type {
                in_order(order, || self.0.load(weaker(order, Ordering::Acquire)))
            }

            /// Stores a value.
            pub fn store(&self, value: $type, order: Ordering) {
                in_order(order, || self.0.store(value, weaker(order, Ordering::Release)));
            }

            /// Stores a value, and returns the one before.
            pub fn swap(&self, value: $type, order: Ordering) -> $type {
                in_order(order, || self.0.swap(value, weaker(order, Ordering::AcqRel)))
            }

            /// Stores `new` if the value is `old`.
            pub fn compare_exchange(
                &self,
                old: $type,
                new: $type,
                order: Ordering,
                failed: Ordering,
            ) -> Result<$type, $type> {
                let [order_of, failed_of] = [(order, Ordering::AcqRel), (failed, Ordering::Acquire)]
                    .map(|(order, weak)| weaker(order, weak));
                in_order(order, || self.0.compare_exchange(old, new, order_of, failed_of))
            }
            $(numbers!($type, $number);)?
        }
    )+};
}

macro_rules! numbers {
    ($type:ty, number) => {
        /// Adds, and returns the value before.
        pub fn fetch_add(&self, by: $type, order: Ordering) -> $type {
            in_order(order, || self.0.fetch_add(by, weaker(order, Ordering::AcqRel)))
        }

        /// Subtracts, and returns the value before.
        pub fn fetch_sub(&self, by: $type, order: Ordering) -> $type {
            in_order(order, || self.0.fetch_sub(by, weaker(order, Ordering::AcqRel)))
        }

        /// Sets bits, and returns the value before.
        pub fn fetch_or(&self, bits: $type, order: Ordering) -> $type {
            in_order(order, || self.0.fetch_or(bits, weaker(order, Ordering::AcqRel)))
        }

        /// Keeps bits, and returns the value before.
        pub fn fetch_and(&self, bits: $type, order: Ordering) -> $type {
            in_order(order, || self.0.fetch_and(bits, weaker(order, Ordering::AcqRel)))
        }

        /// Stores the smaller one, and returns the value before.
        pub fn fetch_min(&self, value: $type, order: Ordering) -> $type {
            in_order(order, || self.0.fetch_min(value, weaker(order, Ordering::AcqRel)))
        }

        /// Stores the greater one, and returns the value before.
        pub fn fetch_max(&self, value: $type, order: Ordering) -> $type {
            in_order(order, || self.0.fetch_max(value, weaker(order, Ordering::AcqRel)))
        }

        /// Stores what `update` makes of the value, which is returned.
        pub fn fetch_update(
            &self,
            order: Ordering,
            failed: Ordering,
            update: impl FnMut($type) -> Option<$type>,
        ) -> Result<$type, $type> {
            in_order(order, || self.0.fetch_update(order, failed, update))
        }
    };
}

atomic! {
    AtomicBool: bool;
    AtomicU8: u8, number;
    AtomicU32: u32, number;
    AtomicU64: u64, number;
    AtomicUsize: usize, number;
}

fn in_order<T>(order: Ordering, access: impl FnOnce() -> T) -> T {
    let total = order == Ordering::SeqCst;
    if total {
        fence(Ordering::SeqCst);
    }
    let result = access();
    if total {
        fence(Ordering::SeqCst);
    }
    result
}

fn weaker(order: Ordering, weak: Ordering) -> Ordering {
    if order == Ordering::SeqCst { weak } else { order }
}

/// The threads of loom. They park on something of their own: loom's own way to park forgets that a
/// thread was unparked while that waited for a lock.
pub mod thread {
    use loom::thread::JoinHandle as Handle;
    pub use loom::thread::{ThreadId, yield_now};

    use super::*;

    /// A thread, for others.
    #[derive(Clone)]
    pub struct Thread {
        id: ThreadId,
        parked: Arc<(Mutex<bool>, Condvar)>,
    }

    loom::thread_local! {
        static THIS: Thread =
            Thread { id: loom::thread::current().id(), parked: Arc::new((Mutex::new(false), Condvar::new())) };
    }

    impl Thread {
        /// Which it is.
        pub fn id(&self) -> ThreadId {
            self.id
        }

        /// Ends its sleep, or the next one before it begins.
        pub fn unpark(&self) {
            *lock(&self.parked.0) = true;
            self.parked.1.notify_one();
        }
    }

    impl fmt::Debug for Thread {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("Thread")
        }
    }

    /// This thread.
    pub fn current() -> Thread {
        THIS.with(Thread::clone)
    }

    /// Sleeps until another thread unparks this one.
    pub fn park() {
        let parked = current().parked;
        let mut unparked = lock(&parked.0);
        while !*unparked {
            unparked = parked.1.wait(unparked);
        }
        *unparked = false;
    }

    /// As [`sleep`].
    pub fn park_timeout(limit: Duration) {
        sleep(limit);
    }

    /// Lets others go on: no time passes under loom.
    pub fn sleep(_: Duration) {
        yield_now();
    }

    /// A thread that was started. It is joined by the end of loom's run at the latest.
    #[derive(Debug)]
    pub struct JoinHandle<T>(Handle<T>);

    impl<T> JoinHandle<T> {
        /// The thread.
        pub fn thread(&self) -> &loom::thread::Thread {
            self.0.thread()
        }

        /// Unknown to loom.
        pub fn is_finished(&self) -> bool {
            false
        }

        /// Waits for its end.
        ///
        /// # Errors
        /// None: a panic ends loom's run.
        pub fn join(self) -> std::thread::Result<T> {
            self.0.join()
        }
    }

    /// Starts threads.
    #[derive(Debug, Default)]
    pub struct Builder(());

    impl Builder {
        /// A thread without a name.
        pub fn new() -> Self {
            Self(())
        }

        /// Loom's threads have numbers, not names.
        pub fn name(self, _: String) -> Self {
            self
        }

        /// Starts it.
        ///
        /// # Errors
        /// None.
        pub fn spawn<F, T>(self, run: F) -> io::Result<JoinHandle<T>>
        where
            F: FnOnce() -> T + 'static,
            T: 'static,
        {
            Ok(JoinHandle(loom::thread::spawn(run)))
        }
    }
}
