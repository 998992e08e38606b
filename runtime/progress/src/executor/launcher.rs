//! The way to the launcher, for a PE that waits.

use std::{
    os::fd::BorrowedFd,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use oxshmem_job::Bootstrap;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::Executor;
use crate::failure::Failure;

/// The way to the launcher, where that asks PEs to end.
pub(super) struct Launcher {
    bootstrap: Arc<dyn Bootstrap>,
    hung_up: AtomicBool,
}

impl Launcher {
    /// Whether its end of the connection is closed. Relaxed: at worst a thread that sleeps looks
    /// once more.
    fn has_hung_up(&self) -> bool {
        self.hung_up.load(Ordering::Relaxed)
    }

    /// It has: why, as far as this thread is the first to see it.
    fn hang_up(&self) -> Option<Failure> {
        self.hung_up.store(true, Ordering::Relaxed);
        let exit = self.bootstrap.global_exit().map(|(pe, status)| Failure::GlobalExit { pe, status });
        exit.or_else(|| self.bootstrap.lost().map(|(pe, how)| Failure::PeLost { pe, how }))
    }
}

impl std::fmt::Debug for Launcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Launcher")
    }
}

impl Executor {
    /// Sets what asks PEs to end. Threads that wait look out for it while they sleep, and a
    /// bootstrap that has a thread says so by itself.
    pub fn attach_launcher(self: &Arc<Self>, bootstrap: &Arc<dyn Bootstrap>) {
        if bootstrap.hangs_up().is_some() {
            // A PE joins once, so the slot is empty.
            let _ = self
                .launcher
                .set(Launcher { bootstrap: Arc::clone(bootstrap), hung_up: AtomicBool::new(false) });
            let executor = Arc::downgrade(self);
            bootstrap.when_over(Box::new(move || {
                if let Some(executor) = executor.upgrade() {
                    executor.see_launcher();
                }
            }));
        }
    }

    /// Why the job can go on no more, if the launcher says so within `limit`, which is less than a
    /// second.
    pub fn failure_within(&self, limit: Duration) -> Option<Failure> {
        self.see_launcher_within(limit).or_else(|| self.failure.get().cloned())
    }

    /// What becomes readable when the launcher hangs up, until it has.
    pub(super) fn hangs_up(&self) -> Option<BorrowedFd<'_>> {
        let launcher = self.launcher.get().filter(|launcher| !launcher.has_hung_up())?;
        launcher.bootstrap.hangs_up()
    }

    /// If the launcher has hung up to end the job, all waiting fails.
    pub(super) fn see_launcher(&self) {
        if let Some(failure) = self.see_launcher_within(Duration::ZERO) {
            self.fail(failure);
        }
    }

    /// Why the launcher has hung up, if it does so within `limit` and this thread is the first to
    /// see it.
    fn see_launcher_within(&self, limit: Duration) -> Option<Failure> {
        let limit = Timespec { tv_sec: 0, tv_nsec: limit.subsec_nanos().into() };
        let mut polled = [PollFd::from_borrowed_fd(self.hangs_up()?, PollFlags::RDHUP)];
        let hung_up = poll(&mut polled, Some(&limit)) == Ok(1);
        self.launcher.get().filter(|_| hung_up).and_then(Launcher::hang_up)
    }
}
