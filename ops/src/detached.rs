//! Futures that no task has: what goes on when the task that began it is gone.

use std::{
    cell::RefCell,
    fmt,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Wake, Waker},
};

use oxshmem_base::{
    local::thread_local,
    turns::{Drives, Turns, in_turn},
    wakes::Hold,
};

/// Has a future go on without a task, to its end. An extension of OpenSHMEM.
///
/// It is polled in this call, and then by each thread that wakes it, within its call. So it should
/// be short, and wait for what this library does alone: operations, memory of this PE, locks. A
/// destructor that has several steps to do on other PEs does them so. What is under way when the
/// world is finalized ends with the errors that its calls have then.
///
/// ```
/// # use oxshmem::prelude::*;
/// # LocalCluster::run(2, |world| async move {
/// let counts = world.alloc_zeroed::<u64>(2).await?;
/// let ctx = world.create_context(ContextOptions::new())?;
/// oxshmem::detach({
///     let counts = counts.clone();
///     async move {
///         let number = ctx.fetch_inc(counts.at(0), 0).await;
///         if number.is_ok_and(|number| number == 0) {
///             let _ = ctx.p(counts.at(1), 1, 1).await;
///         }
///     }
/// });
/// if world.my_pe() == 1 {
///     counts.at(1).wait_until(Cmp::Eq, 1).await?;
/// }
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
pub fn detach(future: impl Future<Output = ()> + Send + 'static) {
    Arc::new(Detached { future: Mutex::new(Some(Box::pin(future))), drives: Drives::default() }).drive();
}

struct Detached {
    /// None once it is over.
    future: Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>,
    drives: Drives,
}

impl Detached {
    fn drive(self: &Arc<Self>) {
        let waker = Waker::from(Arc::clone(self));
        // What it sets free is woken when it can be polled again.
        let _hold = Hold::begin();
        self.drives.drive(|| {
            // This lock is free: one thread at a time drives it.
            let mut future = self.future.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(running) = &mut *future
                && running.as_mut().poll(&mut Context::from_waker(&waker)).is_ready()
            {
                *future = None;
            }
        });
    }
}

impl Wake for Detached {
    fn wake(self: Arc<Self>) {
        // What it does may wake another one on this thread.
        thread_local! {
            static WOKEN: Turns<Arc<Detached>> = const { RefCell::new(None) };
        }
        in_turn(&WOKEN, self, |detached| detached.drive());
    }
}

impl fmt::Debug for Detached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("detached future")
    }
}
