//! What the calls of a PE and the thread that serves it have in common: requests go one way,
//! answers the other, and the end of the job ends all waiting.

use std::{
    collections::{HashMap, VecDeque},
    future::poll_fn,
    io, mem,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::Arc,
    task::Poll,
    time::Duration,
};

use oxshmem_base::{
    Error, Result,
    sync::{Mutex, lock},
    wakes::StoredWaker,
};
use rustix::{
    event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll},
    net::{AddressFamily, Shutdown, SocketFlags, SocketType, shutdown, socketpair},
};

use super::frame::{Frame, FrameKind};
use crate::losses::{Loss, Losses};

/// Both sides hold it.
#[derive(Debug)]
pub(super) struct Link {
    shared: Mutex<Between>,
    /// Wakes the thread.
    bell: OwnedFd,
    /// Hangs up when the job has ended.
    hangs_up: OwnedFd,
    /// What hangs it up.
    end: OwnedFd,
    /// In a job that goes on without PEs that it has lost.
    pub(super) losses: Option<Arc<Losses>>,
}

/// Why the job can go on no more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Over {
    /// A PE called `global_exit`.
    Exit { pe: usize, status: i32 },
    /// A PE is gone.
    Lost { pe: usize, how: String },
}

impl From<Over> for Error {
    fn from(over: Over) -> Self {
        match over {
            Over::Exit { pe, status } => Self::GlobalExit { pe, status },
            Over::Lost { pe, how } => Self::PeLost { pe, view: 0, how },
        }
    }
}

/// What the PE wants of its thread, beside the requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stay {
    /// It is in the job.
    #[default]
    In,
    /// It has left it in good order.
    Left,
    /// It is gone without that.
    Abandoned,
}

/// What both sides change.
#[derive(Debug, Default)]
struct Between {
    requests: VecDeque<Frame>,
    next_ticket: u64,
    /// Whether all PEs have come, once that is known.
    started: Option<Result<()>>,
    answers: HashMap<u64, Reply>,
    over: Option<Over>,
    stay: Stay,
    waiting: Vec<StoredWaker>,
    calls: Calls,
}

/// A number and a body.
pub(super) type Reply = (i32, Arc<[u8]>);

/// What is to run when the job is over.
#[derive(Default)]
struct Calls(Vec<Box<dyn FnOnce() + Send>>);

impl std::fmt::Debug for Calls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} calls", self.0.len())
    }
}

impl Link {
    pub(super) fn new(goes_on: bool) -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC;
        let (hangs_up, end) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let losses = goes_on.then(Arc::default);
        Ok(Self { shared: Mutex::default(), bell, hangs_up, end, losses })
    }

    // The calls' side.

    /// Hands a request to the thread, under the ticket that it returns.
    pub(super) fn ask(&self, request: Frame) -> Result<u64> {
        let ticket = {
            let mut shared = lock(&self.shared);
            if let Some(over) = &shared.over {
                return Err(over.clone().into());
            }
            let ticket = shared.next_ticket;
            shared.next_ticket += 1;
            shared.requests.push_back(request.ticket(ticket));
            ticket
        };
        self.ring();
        Ok(ticket)
    }

    /// The answer to the request of this ticket.
    pub(super) async fn answer(&self, ticket: u64) -> Result<Reply> {
        self.wait(|shared| match shared.answers.remove(&ticket) {
            Some(answer) => Some(Ok(answer)),
            None => shared.over.clone().map(|over| Err(over.into())),
        })
        .await
    }

    /// Whether all PEs have come, which it waits for.
    pub(super) async fn started(&self) -> Result<()> {
        self.wait(|shared| shared.started.take()).await
    }

    async fn wait<T>(&self, mut look: impl FnMut(&mut Between) -> Option<T>) -> T {
        poll_fn(|cx| {
            let waker = StoredWaker::of(cx.waker());
            let mut shared = lock(&self.shared);
            if let Some(found) = look(&mut shared) {
                return Poll::Ready(found);
            }
            if !shared.waiting.iter().any(|known| known.will_wake(cx.waker())) {
                shared.waiting.push(waker);
            }
            Poll::Pending
        })
        .await
    }

    /// Has the thread end.
    pub(super) fn leave(&self, how: Stay) {
        let mut shared = lock(&self.shared);
        if shared.stay == Stay::In {
            shared.stay = how;
        }
        drop(shared);
        self.ring();
    }

    /// Why the job is over, if it is.
    pub(super) fn over(&self) -> Option<Over> {
        lock(&self.shared).over.clone()
    }

    /// Has `call` run when the job is over, which it may be.
    pub(super) fn when_over(&self, call: Box<dyn FnOnce() + Send>) {
        let mut shared = lock(&self.shared);
        if shared.over.is_none() {
            return shared.calls.0.push(call);
        }
        drop(shared);
        call();
    }

    /// What hangs up when the job is over.
    pub(super) fn hangs_up(&self) -> BorrowedFd<'_> {
        self.hangs_up.as_fd()
    }

    /// Returns when the job is over, or after this time, which is less than a minute.
    pub(super) fn wait_until_over(&self, limit: Duration) {
        let limit = Timespec { tv_sec: limit.as_secs() as i64, tv_nsec: limit.subsec_nanos().into() };
        // In vain, if it fails: nothing depends on it.
        let _ = poll(&mut [PollFd::new(&self.hangs_up, PollFlags::RDHUP)], Some(&limit));
    }

    fn ring(&self) {
        // If it is full, it rings already.
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }

    // The thread's side.

    /// What becomes readable when there is something to take.
    pub(super) fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    /// What the PE has asked for since, and whether it is still there.
    pub(super) fn take(&self) -> (VecDeque<Frame>, Stay) {
        // If it does not ring, there is nothing to silence.
        let _ = rustix::io::read(&self.bell, &mut [0; 8]);
        let mut shared = lock(&self.shared);
        (mem::take(&mut shared.requests), shared.stay)
    }

    pub(super) fn is_left(&self) -> bool {
        lock(&self.shared).stay != Stay::In
    }

    /// Says whether all PEs have come.
    pub(super) fn start(&self, outcome: Result<()>) {
        self.change(|shared| shared.started = Some(outcome));
    }

    pub(super) fn deliver(&self, ticket: u64, answer: Reply) {
        self.change(|shared| drop(shared.answers.insert(ticket, answer)));
    }

    /// A PE is lost. What PE 0 is to know of that.
    pub(super) fn lose(&self, loss: Loss) -> Option<Frame> {
        let losses = self.losses.as_ref()?;
        losses.add(loss);
        Some(Frame::new(FrameKind::Knows).value(losses.view() as i32))
    }

    /// All PEs know of this number of losses.
    pub(super) fn settle(&self, view: u64) {
        if let Some(losses) = &self.losses {
            losses.settle(view);
        }
    }

    /// Ends all waiting. Only the first reason counts.
    pub(super) fn finish(&self, over: Over) {
        self.change(|shared| {
            shared.over.get_or_insert(over);
        });
        // It is connected, as this has both ends.
        let _ = shutdown(&self.end, Shutdown::Write);
        let calls = mem::take(&mut lock(&self.shared).calls);
        calls.0.into_iter().for_each(|call| call());
    }

    fn change(&self, change: impl FnOnce(&mut Between)) {
        let waiting = {
            let mut shared = lock(&self.shared);
            change(&mut shared);
            mem::take(&mut shared.waiting)
        };
        waiting.into_iter().for_each(StoredWaker::wake);
    }
}
