//! Drivers: whoever looks at the watched words while the futures that wait for them are pending.
//!
//! In the background that is a tokio task where `init` ran in a tokio runtime, and a helper thread
//! where it did not. A thread that waits in [`block_on`](super::Executor::block_on) drives too,
//! which saves the helper and a turn through it: the helper gives way to it. Of all threads one at
//! a time has the [`Role`], so that no two sleep on one bell. The task may be at work beside it:
//! its runtime may stand still with the task asleep in it, so no thread ever waits for it. It
//! leaves as soon as it sees that a thread has the role, and is woken when that gives it up.
//!
//! That no wakeup is lost between threads and the helper is shown by loom, on a model of this:
//! `role_protocol`.

use std::{
    cell::Cell,
    os::fd::{AsFd, OwnedFd},
    ptr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle, Thread},
    time::{Duration, Instant},
};

use oxshmem_base::{
    Result,
    panics::survive,
    readable::{self, Open},
    settings,
    sync::{Mutex, MutexGuard, has_ended, lock},
};
use tokio::{io::unix::AsyncFd, sync::Notify};

use super::{
    Executor,
    intent::{will_drive, will_not_drive},
    launcher::Launcher,
};
use crate::{bell::Bell, failure::Failure};

/// A tokio task. (0: nothing drives, since the PEs share a process, or have not started.)
const TASK: u8 = 1;
/// A helper thread, started when first needed.
const HELPER: u8 = 2;

#[derive(Debug, Default)]
pub(super) struct Driver {
    kind: AtomicU8,
    /// Which [`Holder`] drives, or 0.
    role: AtomicU8,
    /// Threads in `block_on` to which the helper is to leave the role.
    wishes: AtomicUsize,
    /// Whether that thread sleeps although nothing is watched, so that no writer rings.
    dozes: AtomicBool,
    /// Whether the task is at work.
    task_works: AtomicBool,
    /// Threads in `block_on` that found the role taken.
    parked: Mutex<Vec<Thread>>,
    /// Whether something was started on another host, for whose end a task may wait, and the driver
    /// has not looked for it in vain.
    started: AtomicBool,
    task: Arc<Notify>,
    helper: Mutex<Option<JoinHandle<()>>>,
}

impl Driver {
    /// Wakes the task or the helper.
    pub(super) fn notify(&self) {
        self.task.notify_one();
        if let Some(helper) = &*self.helper() {
            helper.thread().unpark();
        }
    }

    /// Whether a thread sleeps although nothing is watched.
    pub(super) fn dozes(&self) -> bool {
        self.dozes.load(Ordering::Relaxed)
    }

    /// Whether a thread has the role.
    fn is_taken(&self) -> bool {
        self.role.load(Ordering::SeqCst) != NOBODY
    }

    /// Whether anybody drives. A hint.
    pub(super) fn is_at_work(&self) -> bool {
        self.role.load(Ordering::Relaxed) != NOBODY || self.task_works.load(Ordering::Relaxed)
    }

    fn helper(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        lock(&self.helper)
    }

    fn parked(&self) -> MutexGuard<'_, Vec<Thread>> {
        lock(&self.parked)
    }
}

/// Who can have the [`Role`].
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub(super) enum Holder {
    /// A thread that waits in `block_on`.
    Waiting = 1,
    /// The helper.
    Helper = 2,
}

/// No thread has the role.
const NOBODY: u8 = 0;

thread_local! {
    /// Whose [`Role`] this thread has, the latest if it has several.
    static HAS_ROLE: Cell<*const Executor> = const { Cell::new(ptr::null()) };
    /// How many [wishes](Wish) it has.
    static WISHES: Cell<usize> = const { Cell::new(0) };
}

/// A thread's right, and duty, to look after the watches.
pub(super) struct Role<'a>(&'a Arc<Executor>);

/// The wish of a thread in `block_on` that the helper has the role no longer.
///
/// Else it would keep it, thread by thread's turn: whoever it wakes waits for the next thing before
/// the helper has seen that nothing is left to wait for.
pub(super) struct Wish<'a>(&'a Arc<Executor>);

impl Drop for Wish<'_> {
    fn drop(&mut self) {
        let executor = self.0;
        WISHES.set(WISHES.get().saturating_sub(1));
        // SeqCst: the helper leaves the role alone while there are wishes. Either it sees that this
        // one is gone, or we see that nobody has the role.
        executor.driver.wishes.fetch_sub(1, Ordering::SeqCst);
        if executor.unfired.load(Ordering::SeqCst) > 0 && !executor.driver.is_taken() {
            executor.kick();
        }
    }
}

impl Drop for Role<'_> {
    fn drop(&mut self) {
        let executor = self.0;
        HAS_ROLE.set(ptr::null());
        let driver = &executor.driver;
        // SeqCst, as are the counting of watches and the looks at `role`: of a new watch and our
        // leaving, one side sees the other, so no watch is left alone.
        driver.role.store(NOBODY, Ordering::SeqCst);
        if driver.task_works.load(Ordering::SeqCst) {
            // It may be asleep, and no longer announced, since we announced our own waking.
            executor.bell.ring_process();
        }
        if executor.has_work() {
            executor.kick();
        }
        driver.parked().drain(..).for_each(|thread| thread.unpark());
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
            driver.notify();
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
        // SeqCst: see `Role::drop` and `Shift::drop`.
        let driver = &self.driver;
        if driver.dozes.load(Ordering::SeqCst) {
            return self.bell.ring_process();
        }
        if driver.is_taken() || driver.task_works.load(Ordering::SeqCst) || will_drive() {
            return;
        }
        match self.driver.kind.load(Ordering::Acquire) {
            TASK => self.driver.task.notify_one(),
            HELPER => {
                let mut helper = self.driver.helper();
                match &*helper {
                    Some(helper) => helper.thread().unpark(),
                    None => {
                        let executor = Arc::clone(self);
                        let spawned = thread::Builder::new()
                            .name("oxshmem-driver".into())
                            .spawn(move || help(&executor));
                        match spawned {
                            Ok(handle) => *helper = Some(handle),
                            // Nothing that waits could ever be woken: all of it ends with an error.
                            Err(error) => {
                                drop(helper);
                                self.fail(Failure::without_thread(&error));
                            }
                        }
                    }
                }
            }
            _ => {}
        }
    }

    /// Whether there is no helper. It ends when this is [closed](Executor::close).
    pub fn has_no_helper(&self) -> bool {
        has_ended(&mut self.driver.helper())
    }

    /// The role, if no thread has it.
    pub(super) fn try_role(self: &Arc<Self>, holder: Holder) -> Option<Role<'_>> {
        let role = &self.driver.role;
        let taken = role.compare_exchange(NOBODY, holder as u8, Ordering::SeqCst, Ordering::SeqCst);
        taken.is_ok().then(|| {
            HAS_ROLE.set(Arc::as_ptr(self));
            Role(self)
        })
    }

    /// This thread has left a [`block_on`](Self::block_on) without its end, as by `longjmp`: gives
    /// up what it had in there, which others may wait for. For programs in other languages; a
    /// thread that is in a `block_on` after all must not call it.
    pub fn jumped_out(self: &Arc<Self>) {
        will_not_drive();
        self.driver.dozes.store(false, Ordering::SeqCst);
        if HAS_ROLE.get() == Arc::as_ptr(self) {
            drop(Role(self));
        }
        while WISHES.get() > 0 {
            drop(Wish(self));
        }
    }

    /// Asks the helper for the role, if it has it.
    pub(super) fn wish(self: &Arc<Self>) -> Option<Wish<'_>> {
        if self.driver.role.load(Ordering::SeqCst) != Holder::Helper as u8 {
            return None;
        }
        // SeqCst: the helper looks before it sleeps, and the ring stays until somebody has seen it.
        self.driver.wishes.fetch_add(1, Ordering::SeqCst);
        WISHES.set(WISHES.get() + 1);
        let wish = Wish(self);
        self.bell.ring_process();
        Some(wish)
    }

    /// Whether the helper is to leave the role to others.
    fn is_wished(&self) -> bool {
        self.driver.wishes.load(Ordering::SeqCst) > 0
    }

    /// Parks this thread until it is unparked, or until whoever has the role gives it up.
    pub(super) fn park(&self) {
        if self.bell.is_in_process() {
            // There is nothing to drive: whoever writes wakes.
            return self.park_in_process();
        }
        self.driver.parked().push(thread::current());
        // Where there are other hosts, this thread may wait for an operation, which is no watch.
        let alone = self.sources().is_empty();
        // SeqCst: a role that was given up before we were on the list unparks nobody.
        if self.driver.is_taken() || (alone && self.unfired.load(Ordering::SeqCst) == 0) || self.is_closed() {
            thread::park();
        }
    }

    /// Parks this thread, and where stores may come past the library, looks for them now and then.
    fn park_in_process(&self) {
        let (start, before) = (Instant::now(), self.unfired.load(Ordering::SeqCst));
        let mut slept = Duration::ZERO;
        while let Some(limit) = self.patience.looks.then(|| self.sleep_limit(slept)).flatten() {
            thread::park_timeout(limit);
            let now = start.elapsed();
            if now - slept < limit {
                return;
            }
            slept = now;
            self.scan();
            if self.unfired.load(Ordering::SeqCst) != before {
                return;
            }
        }
        thread::park();
    }

    /// Something was started on another host, for whose end somebody may wait. A task that does so
    /// does not make progress by itself, as a thread in `block_on` does, so the driver does for a
    /// moment, where it is a task too; else the net's own thread does.
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
        self.unfired.load(Ordering::SeqCst) > 0 || self.driver.started.load(Ordering::SeqCst)
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
        let Bell::Process(bell) = &*self.bell else { return };
        // Where there are other hosts, this thread may wait for an operation, which is no watch.
        let alone = self.sources().is_empty();
        let done = || stop() || (alone && self.unfired.load(Ordering::SeqCst) == 0) || self.is_closed();
        loop {
            let mut rounds = self.rounds(alone);
            loop {
                let progressed = self.poll_sources();
                rounds.looked(progressed);
                if !progressed {
                    self.scan();
                }
                if done() {
                    return;
                }
                if !rounds.next() {
                    break;
                }
            }
            if !alone && self.unfired.load(Ordering::SeqCst) == 0 {
                // Whoever ends the operation rings, and so does a thread that registers a watch
                // meanwhile: SeqCst, so that it sees that we doze, or we see its watch.
                self.driver.dozes.store(true, Ordering::SeqCst);
                if self.unfired.load(Ordering::SeqCst) == 0 && !stop() {
                    self.rest_sources();
                    self.sleep_on(bell, None);
                }
                self.driver.dozes.store(false, Ordering::SeqCst);
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
            }
        }
    }

    /// Sleeps until the bell has rung, and takes the ring off it, or until the time is over, or the
    /// launcher asks for the end: then all waiting fails.
    fn sleep_on(&self, bell: &OwnedFd, limit: Option<Duration>) -> Woken {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let limit = limit.map(|limit| Timespec { tv_sec: 0, tv_nsec: limit.subsec_nanos().into() });
        // Once it has hung up, it stays so.
        let launcher = self.launcher.get().filter(|launcher| !launcher.has_hung_up());
        let hangs_up = launcher.and_then(|launcher| launcher.bootstrap.hangs_up());
        let mut polled = [
            PollFd::new(bell, PollFlags::IN),
            PollFd::from_borrowed_fd(hangs_up.unwrap_or(bell.as_fd()), PollFlags::RDHUP),
        ];
        let count = if hangs_up.is_some() { 2 } else { 1 };
        let rung = poll(&mut polled[..count], limit.as_ref());
        let [rang, ended] = polled.map(|polled| rung.is_ok() && !polled.revents().is_empty());
        if rang {
            // The counter is not blocking; another reader may have been faster.
            let _ = rustix::io::read(bell, &mut [0u8; 8]);
        }
        if ended && let Some(failure) = launcher.and_then(Launcher::hang_up) {
            self.fail(failure);
        }
        if rung == Ok(0) { Woken::Tick } else { Woken::Bell }
    }
}

/// Why a driver sleeps no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Woken {
    /// Somebody rang, or there was a signal.
    Bell,
    /// It is time to look for stores of which nobody was told.
    Tick,
}

/// The helper thread.
fn help(executor: &Arc<Executor>) {
    while !executor.is_closed() {
        let has_nothing = || executor.unfired.load(Ordering::SeqCst) == 0 || executor.is_wished();
        let role = if has_nothing() { None } else { executor.try_role(Holder::Helper) };
        match role {
            Some(_role) => survive(|| executor.drive_blocking(has_nothing)),
            // Whoever registers a watch, gives the role up with watches left, or wishes for it no
            // more, kicks us.
            None => thread::park(),
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
            rounds.looked(progressed);
            if !progressed {
                executor.scan();
            }
            let nothing = executor.unfired.load(Ordering::SeqCst) == 0 && !executor.has_far_work();
            if executor.driver.is_taken() || nothing || executor.is_closed() {
                return;
            }
            if !rounds.next() {
                break;
            }
            tokio::task::yield_now().await;
        }
        // From here on the net's own thread looks for what was started.
        executor.driver.started.store(false, Ordering::SeqCst);
        if executor.unfired.load(Ordering::SeqCst) == 0 {
            return executor.rest_sources();
        }
        if executor.arm() {
            executor.rest_sources();
            let (start, before) = (Instant::now(), executor.unfired.load(Ordering::SeqCst));
            while sleep(executor, bell, timer, start.elapsed()).await == Woken::Tick {
                executor.scan();
                let others = executor.unfired.load(Ordering::SeqCst) != before;
                if executor.driver.is_taken() || others || executor.is_closed() {
                    break;
                }
            }
            executor.disarm();
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
