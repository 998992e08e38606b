//! The atomics, locks and threads of the library, in one place so that loom can take their part.
//!
//! `RUSTFLAGS="--cfg oxshmem_loom" cargo test -p oxshmem-progress -p oxshmem-teams --lib loom_`
//! runs every interleaving of the code that is written against this module. The flag is not `loom`,
//! to which tokio listens too.
//!
//! Its locks know of wakers: none runs on a thread that has one of them locked (see
//! [`wakes`](crate::wakes)). So they are for everything that may have a task's waker woken or
//! dropped while it is locked, however far below.

mod locks;
#[cfg(oxshmem_loom)]
mod model;
mod taken;

#[cfg(not(oxshmem_loom))]
pub use std::{
    sync::atomic::{
        AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, compiler_fence, fence,
    },
    thread,
};

pub use locks::{Condvar, Mutex, MutexGuard, lock};
#[cfg(oxshmem_loom)]
pub use model::*;

/// Whether there is no thread there. One that has ended is there no more.
pub fn has_ended(thread: &mut Option<thread::JoinHandle<()>>) -> bool {
    if let Some(ended) = thread.take_if(|thread| thread.is_finished()) {
        // It has reported that itself if it has panicked.
        let _ = ended.join();
    }
    thread.is_none()
}
