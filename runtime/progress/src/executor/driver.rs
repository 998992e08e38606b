//! Drivers: what looks at the watched words while the futures that wait for them are pending.
//!
//! In the background that is a tokio task where `init` ran in a tokio runtime, and the
//! [helper](crate::helper) where it did not. A thread that waits in
//! [`block_on`](super::Executor::block_on) drives too, which saves a turn through the background.
//! Of all threads one at a time has the [role](crate::roles). The task may be at work beside it:
//! its runtime may stand still with the task asleep in it, so no thread ever waits for it. It
//! leaves as soon as it sees that a thread has the role, and is woken when that gives it up.

use std::{
    cell::Cell,
    ptr,
    sync::Arc,
    time::{Duration, Instant},
};

#[cfg(oxshmem_loom)]
use oxshmem_base::sync::CellKey;
use oxshmem_base::{
    Result,
    readable::{self, Open},
    settings,
    sync::{
        AtomicBool, AtomicU8, Ordering,
        thread::{self, Thread},
        thread_local,
    },
};
use tokio::{io::unix::AsyncFd, sync::Notify};

use super::Executor;
use crate::{
    event::{Event, PollSet},
    intent::{will_drive, will_not_drive},
    roles::{Around, Holder, Roles},
};

/// A tokio task. (0: nothing drives, since the PEs share a process, or have not started.)
const TASK: u8 = 1;
/// The helper, started when first needed.
const HELPER: u8 = 2;

#[derive(Debug, Default)]
pub(super) struct Driver {
    kind: AtomicU8,
    pub(super) roles: Roles<Thread>,
    /// Whether a thread in `block_on` sleeps although nothing is watched, so that no writer rings.
    sleeps_unwatched: AtomicBool,
    /// Whether the task is at work.
    task_works: AtomicBool,
    /// Whether something was started on another host, for whose end a task may wait, and the driver
    /// has not looked for it in vain.
    started: AtomicBool,
    pub(super) task: Arc<Notify>,
    /// Whether the helper works for the PE.
    pub(super) is_helped: AtomicBool,
    /// Whether the helper looks by itself, soon enough, whether words of device memory are waited
    /// for.
    looks_soon: AtomicBool,
}

impl Driver {
    /// Whether a thread sleeps although nothing is watched.
    pub(super) fn sleeps_unwatched(&self) -> bool {
        self.sleeps_unwatched.load(Ordering::Relaxed)
    }

    /// Whether a thread has the role.
    fn is_taken(&self) -> bool {
        self.roles.is_taken()
    }

    /// Whether the helper drives in the background.
    pub(super) fn is_helper(&self) -> bool {
        self.kind.load(Ordering::Acquire) == HELPER
    }

    /// Whether the helper sees a new wait for device memory in time without being woken. Asked
    /// after the watch was registered.
    pub(super) fn looks_soon(&self) -> bool {
        // Relaxed, as is the store below: the lock of the watches, which this thread had before
        // and the helper has after it, orders them.
        self.looks_soon.load(Ordering::Relaxed)
    }

    /// The helper says so, and looks at the watches after it has taken it back.
    pub(super) fn look_soon(&self, soon: bool) {
        self.looks_soon.store(soon, Ordering::Relaxed);
    }

    /// Whether a thread other than the helper, or the task, drives. A hint.
    pub(super) fn is_at_work(&self) -> bool {
        self.roles.is_held_by(Holder::Waiting) || self.task_works.load(Ordering::Relaxed)
    }
}

thread_local! {
    /// Whose [`Role`] this thread has, the latest if it has several.
    static HAS_ROLE: Cell<*const Executor> = const { Cell::new(ptr::null()) };
    /// How many [requests](RoleRequest) it has.
    static REQUESTS: Cell<usize> = const { Cell::new(0) };
}

/// The role of a thread that waits in `block_on`.
pub(super) struct Role<'a>(&'a Arc<Executor>);

/// The request of a thread in `block_on` that the helper gives up the role.
pub(super) struct RoleRequest<'a>(&'a Arc<Executor>);

impl Drop for RoleRequest<'_> {
    fn drop(&mut self) {
        REQUESTS.set(REQUESTS.get().saturating_sub(1));
        self.0.driver.roles.end_request(self.0);
    }
}

impl Drop for Role<'_> {
    fn drop(&mut self) {
        HAS_ROLE.set(ptr::null());
        self.0.driver.roles.give_up(self.0);
    }
}

impl Around for Arc<Executor> {
    fn kick(&self) {
        Executor::kick(self);
    }

    fn ring(&self) {
        self.bell.ring_process();
    }

    fn gave_up(&self) {
        if self.driver.task_works.load(Ordering::SeqCst) {
            // It may be asleep, and no longer announced, since we announced our own waking.
            self.bell.ring_process();
        }
    }

    fn has_more(&self) -> bool {
        self.driver.started.load(Ordering::SeqCst)
    }
}

/// The task at work.
struct Shift<'a>(&'a Executor);

impl Drop for Shift<'_> {
    fn drop(&mut self) {
        let driver = &self.0.driver;
        driver.task_works.store(false, Ordering::SeqCst);
        // SeqCst: what came while the task still worked kicked nobody, and is seen here.
        if self.0.has_work() && !driver.is_taken() {
            driver.task.notify_one();
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
        self.driver.kind.store(kind, Ordering::Release);
        Ok(())
    }

    /// Sees to it that a driver looks after the watches.
    pub(super) fn kick(self: &Arc<Self>) {
        // SeqCst: see `Roles::give_up` and `Shift::drop`.
        let driver = &self.driver;
        if driver.sleeps_unwatched.load(Ordering::SeqCst) {
            return self.bell.ring_process();
        }
        if driver.is_taken() || driver.task_works.load(Ordering::SeqCst) || will_drive() {
            return;
        }
        match self.driver.kind.load(Ordering::Acquire) {
            TASK => self.driver.task.notify_one(),
            HELPER => {
                self.must_get_help();
                self.helper.helper_waker().wake_if_asleep();
            }
            _ => {}
        }
    }

    /// Whether the helper's thread has ended, or has other PEs of this process to work for. It lets
    /// go of this PE when this is [closed](Executor::close), and ends with the last.
    pub fn has_no_helper(&self) -> bool {
        self.helper.is_needed() || !self.driver.is_helped.load(Ordering::Acquire) && self.helper.has_ended()
    }

    /// The role, if no thread has it.
    pub(super) fn try_role(self: &Arc<Self>) -> Option<Role<'_>> {
        self.driver.roles.try_take(Holder::Waiting).then(|| {
            HAS_ROLE.set(Arc::as_ptr(self));
            Role(self)
        })
    }

    /// This thread has left a [`block_on`](Self::block_on) without its end, as by `longjmp`: gives
    /// up what it had in there, which others may wait for. For programs in other languages; a
    /// thread that is in a `block_on` after all must not call it.
    pub fn jumped_out(self: &Arc<Self>) {
        will_not_drive();
        self.driver.sleeps_unwatched.store(false, Ordering::SeqCst);
        if HAS_ROLE.get() == Arc::as_ptr(self) {
            drop(Role(self));
        }
        while REQUESTS.get() > 0 {
            drop(RoleRequest(self));
        }
    }

    /// Asks the helper for the role, if it has it.
    pub(super) fn request_role(self: &Arc<Self>) -> Option<RoleRequest<'_>> {
        self.driver.roles.request(self).then(|| {
            REQUESTS.set(REQUESTS.get() + 1);
            RoleRequest(self)
        })
    }

    /// Parks this thread until it is unparked, or until the thread that has the role gives it up.
    pub(super) fn park(self: &Arc<Self>) {
        if self.bell.is_in_process() {
            // There is nothing to drive: a writer wakes, or the helper.
            self.rest_sources();
            return thread::park();
        }
        // Where there are other hosts, this thread may wait for an operation, which is no watch.
        let alone = self.sources().is_empty();
        let roles = &self.driver.roles;
        let may_stay = || (alone && roles.unfired() == 0) || self.is_closed();
        roles.park(thread::current(), may_stay, thread::park);
    }

    /// A future waits for something that a source completes, and polls no more. The driver polls
    /// for a moment where it is a task; else the helper does.
    pub(super) fn leave_to_driver(&self) {
        if will_drive() || self.sources().is_empty() {
            return;
        }
        match self.driver.kind.load(Ordering::Relaxed) {
            TASK => self.began(),
            _ => self.rest_sources(),
        }
    }

    /// Something was started that a source completes, for whose end a task may wait. A task that
    /// does so does not poll by itself, as a thread in `block_on` does, so the driver does for a
    /// moment, where it is a task too.
    pub fn began(&self) {
        let driver = &self.driver;
        if driver.kind.load(Ordering::Relaxed) != TASK {
            return;
        }
        // SeqCst: see `Shift::drop`.
        driver.started.store(true, Ordering::SeqCst);
        if self.is_asleep() {
            self.bell.ring_process();
        } else if !driver.task_works.load(Ordering::SeqCst) && !driver.is_taken() {
            driver.task.notify_one();
        }
    }

    /// Whether there is something that the task is to look for.
    fn has_work(&self) -> bool {
        self.driver.roles.unfired() > 0 || self.driver.started.load(Ordering::SeqCst)
    }

    /// Whether something that was started on another host is not over.
    fn has_far_work(&self) -> bool {
        let started = &self.driver.started;
        // SeqCst, and in this order: what is started meanwhile is seen by the look, or says so
        // behind it.
        if started.swap(false, Ordering::SeqCst) && self.sources().iter().any(|source| source.is_pending()) {
            started.store(true, Ordering::SeqCst);
        }
        started.load(Ordering::SeqCst)
    }

    /// Begins the task's work, if there is any.
    fn shift(&self) -> Option<Shift<'_>> {
        self.driver.task_works.store(true, Ordering::SeqCst);
        let shift = Shift(self);
        let needed = self.has_work() && !self.driver.is_taken();
        needed.then_some(shift)
    }

    /// Drives on this thread until `stop` or until nothing is watched any more.
    pub(super) fn drive_blocking(&self, stop: impl Fn() -> bool) {
        let Some(bell) = self.bell.event() else { return };
        // Where there are other hosts, this thread may wait for an operation, which is no watch.
        let alone = self.sources().is_empty();
        let done = || stop() || (alone && self.driver.roles.unfired() == 0) || self.is_closed();
        loop {
            let mut rounds = self.rounds(alone);
            loop {
                let progressed = self.poll_sources();
                rounds.looked(progressed, &self.policy);
                if !progressed {
                    self.scan();
                }
                if done() {
                    return;
                }
                if !rounds.next(&self.policy) {
                    break;
                }
            }
            if !alone && self.driver.roles.unfired() == 0 {
                // The thread that ends the operation rings, and so does one that registers a watch
                // meanwhile: SeqCst, so that it sees that we sleep, or we see its watch.
                self.driver.sleeps_unwatched.store(true, Ordering::SeqCst);
                if self.driver.roles.unfired() == 0 && !stop() {
                    self.rest_sources();
                    self.sleep_on(bell, None);
                }
                self.driver.sleeps_unwatched.store(false, Ordering::SeqCst);
                self.helper.helper_waker().give_back();
                continue;
            }
            if self.arm() {
                self.rest_sources();
                let start = Instant::now();
                // A tick finds nothing nearly always, and goes back to sleep without a word to
                // anybody.
                while !stop() && self.sleep_on(bell, self.sleep_limit(start.elapsed())) == Woken::Tick {
                    self.scan();
                    if done() {
                        break;
                    }
                }
                self.disarm();
                self.helper.helper_waker().give_back();
            }
        }
    }

    /// Sleeps until the bell has rung, and takes the ring off it, or until the time is over, or the
    /// launcher asks for the end: then all waiting fails.
    fn sleep_on(&self, bell: &Event, limit: Option<Duration>) -> Woken {
        let mut sleep = PollSet::default();
        sleep.on_event(bell);
        self.hangs_up().into_iter().for_each(|descriptor| sleep.on_hangup(descriptor));
        limit.into_iter().for_each(|limit| sleep.at_most(limit));
        let time_is_over = sleep.sleep();
        if sleep.is_there(0..1) {
            // Another reader may have been faster.
            bell.take();
        }
        if sleep.is_there(1..sleep.len()) {
            self.see_launcher();
        }
        if time_is_over { Woken::Tick } else { Woken::Bell }
    }
}

/// Why a driver sleeps no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Woken {
    /// Somebody rang, or there was a signal.
    Bell,
    /// It is time to look for stores that rang no bell.
    Tick,
}

/// Hands over to the helper when the task is dropped with its runtime.
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
        match executor.shift() {
            Some(_shift) => drive(executor, &bell, &mut timer).await,
            None => executor.driver.task.notified().await,
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
            let nothing = executor.driver.roles.unfired() == 0 && !executor.has_far_work();
            if executor.driver.is_taken() || nothing || executor.is_closed() {
                return;
            }
            if !rounds.next(&executor.policy) {
                break;
            }
            tokio::task::yield_now().await;
        }
        // From here on the helper looks for what was started.
        executor.driver.started.store(false, Ordering::SeqCst);
        if executor.driver.roles.unfired() == 0 {
            return executor.rest_sources();
        }
        if executor.arm() {
            executor.rest_sources();
            let (start, before) = (Instant::now(), executor.driver.roles.unfired());
            while sleep(executor, bell, timer, start.elapsed()).await == Woken::Tick {
                executor.scan();
                let others = executor.driver.roles.unfired() != before;
                if executor.driver.is_taken() || others || executor.is_closed() {
                    break;
                }
            }
            executor.disarm();
            executor.helper.helper_waker().give_back();
        }
        if executor.driver.is_taken() {
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

#[cfg(test)]
mod tests;
