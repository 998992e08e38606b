//! Drivers: whoever looks at the watched words while the futures that wait for them are pending.
//!
//! At most one at a time has the *role*: a tokio task where `init` ran in a tokio runtime, a helper thread
//! where it did not, or a thread in [`block_on`](super::Executor::block_on), which saves the helper. Task and
//! helper do nothing until a watch is registered and nobody has the role.

use std::{
    os::fd::OwnedFd,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU8, Ordering},
    },
    thread::{self, Thread},
    time::Duration,
};

use tokio::{io::unix::AsyncFd, sync::Notify};

use super::{Executor, block_on::will_drive};
use crate::{
    Result,
    fabric::Bell,
    readable::{self, Open},
    settings,
};

/// A tokio task. (0: nothing drives, since the PEs share a process, or have not started.)
const TASK: u8 = 1;
/// A helper thread, started when first needed.
const HELPER: u8 = 2;

#[derive(Debug, Default)]
pub(super) struct Driver {
    kind: AtomicU8,
    driving: AtomicBool,
    task: Arc<Notify>,
    helper: Mutex<Option<Thread>>,
}

impl Driver {
    /// Wakes the task or the helper.
    pub(super) fn notify(&self) {
        self.task.notify_one();
        if let Some(helper) = &*self.helper() {
            helper.unpark();
        }
    }

    fn helper(&self) -> std::sync::MutexGuard<'_, Option<Thread>> {
        self.helper.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// The right, and the duty, to look after the watches.
pub(super) struct Role<'a>(&'a Arc<Executor>);

impl Drop for Role<'_> {
    fn drop(&mut self) {
        // SeqCst, as are the counting of watches and the look at `driving` in `kick`: of a new watch and
        // our leaving, one side sees the other, so no watch is left alone.
        self.0.driver.driving.store(false, Ordering::SeqCst);
        self.0.kick_if_needed();
    }
}

impl Executor {
    /// Chooses the driver, and starts it if it is a task.
    pub(crate) fn start_driver(self: &Arc<Self>, wanted: settings::Driver) -> Result<()> {
        if self.bell.is_in_process() {
            return Ok(());
        }
        let runtime = tokio::runtime::Handle::try_current().ok();
        let kind = match (wanted, runtime) {
            (settings::Driver::Tokio, None) => {
                return Err(crate::Error::InvalidSetting {
                    name: "SHMEM_DRIVER",
                    value: "tokio".into(),
                    reason: "init was not called in a tokio runtime; call it in one, or use auto".into(),
                });
            }
            (settings::Driver::Tokio | settings::Driver::Auto, Some(runtime)) => {
                match self.bell.try_clone().and_then(readable::watch) {
                    Some(bell) => {
                        runtime.spawn(task(TaskGuard(Arc::clone(self)), bell));
                        TASK
                    }
                    None => HELPER,
                }
            }
            _ => HELPER,
        };
        self.driver.kind.store(kind, Ordering::Release);
        Ok(())
    }

    /// Sees to it that somebody looks after the watches.
    pub(super) fn kick(self: &Arc<Self>) {
        // SeqCst: see `Role::drop`.
        if self.driver.driving.load(Ordering::SeqCst) || will_drive() {
            return;
        }
        match self.driver.kind.load(Ordering::Acquire) {
            TASK => self.driver.task.notify_one(),
            HELPER => {
                let mut helper = self.driver.helper();
                match &*helper {
                    Some(helper) => helper.unpark(),
                    None => {
                        let executor = Arc::clone(self);
                        let spawned = thread::Builder::new()
                            .name("oxshmem-driver".into())
                            .spawn(move || help(&executor));
                        match spawned {
                            Ok(handle) => *helper = Some(handle.thread().clone()),
                            // Nothing that waits could ever be woken: say so, rather than hang.
                            Err(e) => panic!("oxshmem cannot start its progress thread: {e}"),
                        }
                    }
                }
            }
            _ => {}
        }
    }

    /// The same, if there is anything to look after.
    pub(super) fn kick_if_needed(self: &Arc<Self>) {
        if self.unfired.load(Ordering::SeqCst) > 0 {
            self.kick();
        }
    }

    /// The role, if nobody has it.
    pub(super) fn try_role(self: &Arc<Self>) -> Option<Role<'_>> {
        let driving = &self.driver.driving;
        let taken = driving.compare_exchange(false, true, Ordering::SeqCst, Ordering::SeqCst);
        taken.is_ok().then(|| Role(self))
    }

    /// Drives on this thread until `stop` or until nothing is watched any more.
    pub(super) fn drive_blocking(&self, stop: impl Fn() -> bool) {
        let Bell::Process(bell) = &*self.bell else { return };
        let done = || stop() || self.unfired.load(Ordering::SeqCst) == 0 || self.is_closed();
        loop {
            let mut rounds = self.rounds();
            loop {
                self.scan();
                if done() {
                    return;
                }
                if !rounds.next() {
                    break;
                }
                rustix::thread::sched_yield();
            }
            if self.arm() {
                if !stop() {
                    sleep_on(bell, self.sleep_limit());
                }
                self.disarm();
            }
        }
    }
}

/// Sleeps until the bell has rung, and takes the ring off it.
fn sleep_on(bell: &OwnedFd, limit: Option<Duration>) {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let limit = limit.map(|limit| Timespec { tv_sec: 0, tv_nsec: limit.subsec_nanos().into() });
    let rung = poll(&mut [PollFd::new(bell, PollFlags::IN)], limit.as_ref());
    if matches!(rung, Ok(1..)) {
        // The counter is not blocking; another reader may have been faster.
        let _ = rustix::io::read(bell, &mut [0u8; 8]);
    }
}

/// The helper thread.
fn help(executor: &Arc<Executor>) {
    while !executor.is_closed() {
        if executor.unfired.load(Ordering::SeqCst) > 0
            && let Some(_role) = executor.try_role()
        {
            executor.drive_blocking(|| false);
        } else {
            // Whoever has the role kicks us when it leaves with watches left.
            thread::park();
        }
    }
}

/// Hands over to a helper thread when the task is dropped with its runtime.
struct TaskGuard(Arc<Executor>);

impl Drop for TaskGuard {
    fn drop(&mut self) {
        let executor = &self.0;
        if !executor.is_closed() {
            executor.driver.kind.store(HELPER, Ordering::Release);
            executor.kick();
        }
    }
}

/// The tokio task.
async fn task(guard: TaskGuard, bell: AsyncFd<Open>) {
    let executor = &guard.0;
    let mut timer = None;
    while !executor.is_closed() {
        if executor.unfired.load(Ordering::SeqCst) > 0
            && let Some(_role) = executor.try_role()
        {
            drive(executor, &bell, &mut timer).await;
        } else {
            executor.driver.task.notified().await;
        }
    }
}

async fn drive(executor: &Executor, bell: &AsyncFd<Open>, timer: &mut Option<AsyncFd<Open>>) {
    let crowded = executor.patience.spin.is_zero();
    loop {
        let mut rounds = executor.rounds();
        loop {
            executor.scan();
            if executor.unfired.load(Ordering::SeqCst) == 0 || executor.is_closed() {
                return;
            }
            if !rounds.next() {
                break;
            }
            if crowded {
                rustix::thread::sched_yield();
            }
            tokio::task::yield_now().await;
        }
        if executor.arm() {
            match executor.sleep_limit().map(|limit| tick(timer, limit)) {
                Some(Some(timer)) => tokio::select! {
                    _ = async { bell.readable().await.map(|mut ready| ready.clear_ready()) } => {}
                    _ = async { timer.readable().await.map(|mut ready| ready.clear_ready()) } => {}
                },
                // Without a timer, doing without sleep is the only way not to miss a silent store.
                Some(None) => tokio::task::yield_now().await,
                None => {
                    if let Ok(mut ready) = bell.readable().await {
                        ready.clear_ready();
                    }
                }
            }
            executor.disarm();
        }
    }
}

/// A timer of the kernel that becomes readable once after `limit`: unlike tokio's, it needs nothing enabled
/// in the runtime that the bell does not need too.
fn tick(timer: &mut Option<AsyncFd<Open>>, limit: Duration) -> Option<&AsyncFd<Open>> {
    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };
    if timer.is_none() {
        let fd =
            timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK).ok()?;
        *timer = readable::watch(fd);
    }
    let timer = timer.as_ref()?;
    let once = Itimerspec {
        it_interval: Timespec { tv_sec: 0, tv_nsec: 0 },
        it_value: Timespec { tv_sec: 0, tv_nsec: limit.subsec_nanos().into() },
    };
    timerfd_settime(timer.get_ref(), TimerfdTimerFlags::empty(), &once).ok()?;
    Some(timer)
}
