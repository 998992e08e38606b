//! The atomics and locks of lock-free code, in one place so that loom can take their part.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p oxshmem-runtime --lib loom_` runs every interleaving of the
//! code that is written against this module.

#[cfg(loom)]
pub(crate) use loom::sync::{
    Mutex,
    atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering, fence},
};
#[cfg(not(loom))]
pub(crate) use std::sync::{
    Mutex,
    atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering, fence},
};

/// Locks `mutex`, whether or not a thread panicked while it held it: the data behind our locks is
/// valid between any two statements, so poison says nothing that matters.
#[cfg(not(loom))]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Locks `mutex`; a poisoned lock ends loom's run.
#[cfg(loom)]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> loom::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poison| poison.into_inner())
}

/// Whether there is no thread there. One that has ended is there no more.
#[cfg(not(loom))]
pub(crate) fn has_ended(thread: &mut Option<std::thread::JoinHandle<()>>) -> bool {
    match thread.take_if(|thread| thread.is_finished()) {
        // It has said so itself if it has panicked.
        Some(ended) => _ = ended.join(),
        None => {}
    }
    thread.is_none()
}
