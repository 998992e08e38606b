//! The helper thread: serves what other PEs ask of this one while its own threads do something
//! else.
//!
//! While another thread polls, this one only looks now and then whether that goes on, and is woken
//! when that thread goes to sleep. It looks for messages in a loop for a moment after each, since
//! more tend to follow, then sleeps on the worker's event descriptor.

use std::{
    os::fd::BorrowedFd,
    sync::{Arc, atomic::Ordering},
    thread::{self, JoinHandle, Thread},
    time::{Duration, Instant},
};

use oxshmem_base::{
    Error, Result,
    sync::{Mutex, lock},
};
use oxshmem_progress::{executor, linger::ALONE};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::Worker;

/// How long it leaves others at work before it looks again: from, and up to, twice as long each
/// time. In a virtual machine each look costs them tens of microseconds, which the timer takes; a
/// thread that begins to compute is not replaced before.
const NAP: [Duration; 2] = [Duration::from_micros(50), Duration::from_millis(4)];

/// How long it looks for more messages where the PE's threads sleep.
const IDLE: Duration = Duration::from_micros(100);

/// So many signs of life of another thread may be those of one that has started something and waits
/// for it.
const FEW: u64 = 4;

/// How long operations are gathered at the most while their PE computes.
const GATHERING: Duration = Duration::from_micros(200);

/// The thread's handles.
pub(super) struct Helper {
    thread: Thread,
    handle: Mutex<Option<JoinHandle<()>>>,
}

impl Helper {
    /// Starts it; where there are processors enough it `may_spin`.
    pub(super) fn start(worker: Arc<Worker>, may_spin: bool) -> Result<Self> {
        let started =
            thread::Builder::new().name("oxshmem-net".into()).spawn(move || serve(&worker, may_spin));
        let handle = started.map_err(|e| Error::system("start of the progress thread", e))?;
        Ok(Self { thread: handle.thread().clone(), handle: Mutex::new(Some(handle)) })
    }

    /// The threads that polled the worker are about to sleep.
    pub(super) fn take_over(&self, worker: &Worker) {
        // Release: it sees that they sleep.
        worker.rests.store(true, Ordering::Release);
        self.thread.unpark();
    }

    /// Ends it, after the worker has begun to close.
    pub(super) fn stop(&self, worker: &Worker) {
        let Some(handle) = lock(&self.handle).take() else { return };
        if self.thread.id() == thread::current().id() {
            // It drops the last handle of a PE itself, and ends when it returns from that.
            return;
        }
        worker.signal();
        self.thread.unpark();
        // It panics only if a future's waker does; then there is nothing left to wait for.
        let _ = handle.join();
    }
}

/// Leaves others at work for so long, or until they go to sleep.
fn sleep_beside(worker: &Worker, limit: Duration) {
    let start = Instant::now();
    // They may also have gone to sleep before, when this thread did not.
    while let Some(left) = limit.checked_sub(start.elapsed())
        && !worker.rests.load(Ordering::Relaxed)
        && !worker.is_closed()
    {
        thread::park_timeout(left);
    }
}

fn serve(worker: &Worker, may_spin: bool) {
    let (mut polls, mut nap, mut doubts, mut beside) = (worker.polls(), NAP[0], false, false);
    let mut busy = Some(Instant::now());
    // Whether it has just slept on the descriptor.
    let mut woken_by_net = false;
    while !worker.is_closed() {
        let now = worker.polls();
        // A thread that starts something and then waits in a way of its own, as in an event loop,
        // leaves the answer to this thread.
        let is_left =
            std::mem::take(&mut woken_by_net) && now.wrapping_sub(polls) <= FEW && !worker.is_driven();
        if now != polls && !is_left && !worker.rests() {
            (polls, beside) = (now, true);
            // A thread that does not wait now may have begun to compute: a short nap shows.
            doubts = !doubts && !worker.is_driven();
            if doubts {
                sleep_beside(worker, NAP[0]);
            } else {
                sleep_beside(worker, nap);
                nap = (2 * nap).min(NAP[1]);
            }
            continue;
        }
        if std::mem::take(&mut beside) {
            // They tend to be at it again for as long.
            nap = (nap / 4).max(NAP[0]);
        }
        (polls, doubts) = (now, false);
        let woken = executor::woken();
        if worker.progress() {
            // The answers that were just given are no sign of life of another thread.
            polls = worker.polls();
            // The thread that was woken may need this processor, and makes progress itself if it
            // waits again.
            busy = (executor::woken() == woken).then(Instant::now);
            continue;
        }
        // A thread that sleeps does not compute, so this one is not in its way.
        let patience = if worker.is_idle() { IDLE } else { ALONE };
        if may_spin && busy.is_some_and(|busy| busy.elapsed() < patience) {
            std::hint::spin_loop();
            continue;
        }
        if let Some(age) = worker.gathering_for() {
            // More of it may come.
            match GATHERING.checked_sub(age) {
                Some(left) if !left.is_zero() => thread::sleep(left),
                _ => worker.send_gathered(None),
            }
            polls = worker.polls();
            continue;
        }
        let limit = worker
            .judge()
            .map(|left| Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() });
        worker.set_asleep(true);
        if worker.gathering_for().is_none() && !worker.has_events_left() && worker.arm() {
            // SAFETY: the worker's descriptor is open until the worker is closed, which waits for
            // this thread.
            let descriptor = unsafe { BorrowedFd::borrow_raw(worker.descriptor) };
            // It fails when a signal comes; then it is tried again.
            woken_by_net = poll(&mut [PollFd::new(&descriptor, PollFlags::IN)], limit.as_ref()).is_ok();
        }
        worker.set_asleep(false);
    }
}
