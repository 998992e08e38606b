//! The tokio task that drives in the background where `init` ran in a tokio runtime.
//!
//! It may be at work beside the [owner](super::owner) of the engine: it leaves as soon as it sees
//! that there is one, and is woken when that gives the engine up.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use oxshmem_base::{
    Result,
    readable::{self, Open},
    settings,
    sync::Ordering,
};
use tokio::io::unix::AsyncFd;

use super::{
    Executor,
    drive::Woken,
    owner::{HELPER, TASK, will_drive},
};

/// The task at work.
struct Shift<'a>(&'a Executor);

impl Drop for Shift<'_> {
    fn drop(&mut self) {
        let owner = &self.0.owner;
        owner.task_works.store(false, Ordering::SeqCst);
        // SeqCst: what came while the task still worked kicked nobody, and is seen here.
        if self.0.has_work() && !owner.is_taken() {
            owner.task.notify_one();
        }
    }
}

impl Executor {
    /// Chooses the driver, and starts it if it is a task.
    pub fn start_driver(self: &Arc<Self>, wanted: settings::Driver) -> Result<()> {
        if self.bell.is_in_process() {
            return Ok(());
        }
        let runtime = tokio::runtime::Handle::try_current().ok();
        let kind = match (wanted, runtime) {
            (settings::Driver::Tokio, None) => {
                return Err(oxshmem_base::Error::InvalidSetting {
                    name: "SHMEM_DRIVER",
                    value: "tokio".into(),
                    reason: "init was not called in a tokio runtime; call it in one, or use auto".into(),
                });
            }
            (settings::Driver::Tokio | settings::Driver::Auto, Some(runtime)) => {
                match self.bell.event().and_then(|bell| bell.try_clone().ok()).and_then(readable::watch) {
                    Some(bell) => {
                        runtime.spawn(task(TaskGuard(Arc::clone(self)), bell));
                        TASK
                    }
                    None => HELPER,
                }
            }
            _ => HELPER,
        };
        self.owner.kind.store(kind, Ordering::Release);
        Ok(())
    }

    /// A future waits for something that a source completes, and polls no more. The driver polls
    /// for a moment where it is a task; else the helper does.
    pub(super) fn leave_to_driver(&self) {
        if will_drive() || self.sources().is_empty() {
            return;
        }
        match self.owner.kind.load(Ordering::Relaxed) {
            TASK => self.began(),
            _ => self.rest_sources(),
        }
    }

    /// Something was started that a source completes, for whose end a task may wait. A task that
    /// does so does not poll by itself, as a thread in `block_on` does, so the driver does for a
    /// moment, where it is a task too.
    pub fn began(&self) {
        let owner = &self.owner;
        if owner.kind.load(Ordering::Relaxed) != TASK {
            return;
        }
        // SeqCst: see `Shift::drop`.
        owner.started.store(true, Ordering::SeqCst);
        if self.is_asleep() {
            self.bell.ring_process();
        } else if !owner.task_works.load(Ordering::SeqCst) && !owner.is_taken() {
            owner.task.notify_one();
        }
    }

    /// Whether there is something that the task is to look for.
    fn has_work(&self) -> bool {
        self.owner.unfired() > 0 || self.owner.started.load(Ordering::SeqCst)
    }

    /// Whether something that was started on another host is not over.
    fn has_far_work(&self) -> bool {
        let started = &self.owner.started;
        // SeqCst, and in this order: what is started meanwhile is seen by the look, or says so
        // behind it.
        if started.swap(false, Ordering::SeqCst) && self.sources().iter().any(|source| source.is_pending()) {
            started.store(true, Ordering::SeqCst);
        }
        started.load(Ordering::SeqCst)
    }

    /// Begins the task's work, if there is any.
    fn shift(&self) -> Option<Shift<'_>> {
        self.owner.task_works.store(true, Ordering::SeqCst);
        let shift = Shift(self);
        let needed = self.has_work() && !self.owner.is_taken();
        needed.then_some(shift)
    }
}

/// Hands over to the helper when the task is dropped with its runtime.
struct TaskGuard(Arc<Executor>);

impl Drop for TaskGuard {
    fn drop(&mut self) {
        let executor = &self.0;
        if !executor.is_closed() {
            executor.owner.kind.store(HELPER, Ordering::Release);
            executor.kick();
        }
    }
}

/// The tokio task.
async fn task(guard: TaskGuard, bell: AsyncFd<Open>) {
    let executor = &guard.0;
    let mut timer = None;
    while !executor.is_closed() {
        match executor.shift() {
            Some(_shift) => drive(executor, &bell, &mut timer).await,
            None => executor.owner.task.notified().await,
        }
    }
}

async fn drive(executor: &Executor, bell: &AsyncFd<Open>, timer: &mut Option<AsyncFd<Open>>) {
    loop {
        let mut rounds = executor.rounds(false);
        loop {
            let progressed = executor.poll_sources();
            rounds.looked(progressed, &executor.policy);
            if !progressed {
                executor.scan();
            }
            let nothing = executor.owner.unfired() == 0 && !executor.has_far_work();
            if executor.owner.is_taken() || nothing || executor.is_closed() {
                return;
            }
            if !rounds.next(&executor.policy) {
                break;
            }
            tokio::task::yield_now().await;
        }
        // From here on the helper looks for what was started.
        executor.owner.started.store(false, Ordering::SeqCst);
        if executor.owner.unfired() == 0 {
            return executor.rest_sources();
        }
        if executor.arm() {
            executor.rest_sources();
            let (start, before) = (Instant::now(), executor.owner.unfired());
            while sleep(executor, bell, timer, start.elapsed()).await == Woken::Tick {
                executor.scan();
                let others = executor.owner.unfired() != before;
                if executor.owner.is_taken() || others || executor.is_closed() {
                    break;
                }
            }
            executor.disarm();
            executor.helper.helper_waker().give_back();
        }
        if executor.owner.is_taken() {
            // A thread that sleeps by now believes itself announced, which we may just have undone.
            executor.bell.ring_process();
        }
    }
}

/// Sleeps until the bell has rung, or until the time is over.
async fn sleep(
    executor: &Executor,
    bell: &AsyncFd<Open>,
    timer: &mut Option<AsyncFd<Open>>,
    slept: Duration,
) -> Woken {
    match executor.sleep_limit(slept).map(|limit| tick(timer, limit)) {
        Some(Some(timer)) => tokio::select! {
            _ = async { bell.readable().await.map(|mut ready| ready.clear_ready()) } => Woken::Bell,
            _ = async { timer.readable().await.map(|mut ready| ready.clear_ready()) } => Woken::Tick,
        },
        // Without a timer, doing without sleep is the only way not to miss a silent store.
        Some(None) => {
            tokio::task::yield_now().await;
            Woken::Tick
        }
        None => {
            if let Ok(mut ready) = bell.readable().await {
                ready.clear_ready();
            }
            Woken::Bell
        }
    }
}

/// A timer of the kernel that becomes readable once after `limit`: unlike tokio's, it needs nothing
/// enabled in the runtime that the bell does not need too.
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
