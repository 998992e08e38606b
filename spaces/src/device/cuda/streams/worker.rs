//! The worker: a thread that starts what keeps the thread that starts it.
//!
//! These are copies of memory that the driver must copy first, and copies between devices that do
//! not reach each other. While a stream has such operations to come, what is started on it after
//! them goes to the worker too, so that order is kept.

use std::{
    collections::VecDeque,
    sync::{Arc, atomic::Ordering},
    thread::{self, JoinHandle},
};

use oxshmem_base::{
    panics::survive,
    sync::{Condvar, Mutex, lock},
};
use oxshmem_progress::completion::Completion;

use super::{super::gpu::Command, Streams};

/// What the worker is to start.
pub(super) struct StagedCommand {
    pub(super) local_pe: usize,
    pub(super) command: Command,
    pub(super) done: Completion,
}

/// The thread, once there is work, and its work.
#[derive(Default)]
pub(super) struct Worker {
    state: Mutex<WorkerState>,
    more: Condvar,
}

#[derive(Default)]
struct WorkerState {
    commands: VecDeque<StagedCommand>,
    thread: Option<JoinHandle<()>>,
    closed: bool,
}

impl Worker {
    fn next_command(&self) -> Option<StagedCommand> {
        let mut state = lock(&self.state);
        loop {
            if let Some(command) = state.commands.pop_front() {
                return Some(command);
            }
            if state.closed {
                return None;
            }
            state = self.more.wait(state);
        }
    }
}

impl Streams {
    pub(super) fn give_work(self: &Arc<Self>, command: StagedCommand) {
        let mut worker = lock(&self.worker.state);
        worker.commands.push_back(command);
        if worker.thread.is_none() {
            let streams = Arc::clone(self);
            let thread = thread::Builder::new().name("oxshmem-staging".into());
            match thread.spawn(move || streams.work()) {
                Ok(thread) => worker.thread = Some(thread),
                // Nothing that was begun would ever end.
                Err(e) => panic!("oxshmem cannot start the thread that copies for devices: {e}"),
            }
        }
        drop(worker);
        self.worker.more.notify_one();
    }

    /// What the worker does.
    fn work(&self) {
        while let Some(StagedCommand { local_pe, command, done }) = self.worker.next_command() {
            let queue = &self.queues[local_pe];
            if let Command::In { from, len, .. } = command {
                self.host.make_ready(from, len);
            }
            if let Command::Out { to, len, .. } = command {
                self.host.make_ready(to, len);
            }
            // Without the queue's lock: no other thread issues while something is to come.
            // SAFETY: whatever made the command vouches for both ends until `done` completes.
            let issued = unsafe { self.host.copy_known(&queue.stream, &command) }.and_then(|over| {
                let command = if over { &Command::Nothing } else { &command };
                self.issue(&queue.stream, command)
            });
            let failed = {
                let mut state = lock(&queue.state);
                state.to_come -= 1;
                match issued {
                    Ok(()) => {
                        state.push(done);
                        queue.count.fetch_add(1, Ordering::Release);
                        None
                    }
                    Err(failed) => Some((failed, done)),
                }
            };
            match failed {
                None => self.helper_waker.notify(),
                Some((failed, done)) => {
                    self.under_way.fetch_sub(1, Ordering::SeqCst);
                    survive(|| done(Err(failed.into())));
                }
            }
        }
    }

    /// Ends the worker, which has started everything. It must not be what lets go of the device:
    /// the process may end meanwhile, and the driver with it.
    pub(in super::super) fn close(&self) {
        let thread = {
            let mut worker = lock(&self.worker.state);
            worker.closed = true;
            worker.thread.take()
        };
        self.worker.more.notify_one();
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != thread::current().id()) {
            let _ = thread.join();
        }
    }
}
