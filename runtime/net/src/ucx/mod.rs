//! The net over UCX: InfiniBand, RoCE or TCP, whatever UCX finds, in the same way everywhere.
//!
//! A PE has one UCX worker, which one thread at a time uses, under a lock. Every thread that waits
//! in the library polls it; while none does, the helper thread of the process serves what other PEs
//! ask of it, asleep on the worker's event descriptor when there is nothing to do. Endpoints and
//! remote keys are made when a PE is first talked to.
//!
//! Puts and gets are UCX's own ([`transfers`]). Batches are active messages, which the target
//! applies and counts back ([`batches`]), and so are atomic operations, alone or with an answer
//! ([`asks`]): they run on the target's processor, in all transports, so that they are atomic
//! towards those of PEs that share memory with the target. Messages of collectives are
//! [matched here](messages), and UCX brings the data of long ones [when it is wanted](offers).
//!
//! | module | what it does |
//! |---|---|
//! | [`net`] | the trait `Net` for all of this |
//! | [`open`], [`close`] | the beginning and the end |
//! | [`peers`], [`strangers`] | connections to PEs, and messages of processes that are none |
//! | [`operation`], [`start`], [`poll`] | operations under way, and their progress |
//! | [`departures`], [`arrivals`], [`handlers`] | active messages as they leave and arrive |
//! | [`transfers`], [`batches`], [`channel`] | one-sided ones |
//! | [`asks`], [`requests`], [`flush`] | their answers, and their end |
//! | [`messages`], [`offers`], [`notifications`] | messages |

mod arrivals;
mod asks;
mod batches;
mod channel;
mod close;
mod departures;
mod flush;
#[cfg(test)]
mod fuzz;
mod handlers;
mod messages;
mod net;
mod notifications;
mod offers;
mod open;
mod operation;
mod peers;
mod poll;
mod requests;
mod start;
mod strangers;
#[cfg(test)]
mod tests;
mod transfers;

use std::{
    collections::{HashSet, VecDeque},
    fmt,
    os::fd::OwnedFd,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use oxshmem_base::{
    Error, Result,
    sync::{Mutex, MutexGuard, lock},
};
use oxshmem_job::Bootstrap;
use oxshmem_memory::Segment;
use oxshmem_progress::{executor::Executor, failure::Failure, helper_waker::HelperWaker};
use slab::Slab;
use ucx_sys::*;

use self::{
    batches::{Channels, Gathered},
    messages::Messages,
    net::UcxNet,
    open::Interfaces,
    operation::Operation,
    peers::Peer,
    strangers::Strangers,
};
use super::{
    Completion, Listener,
    directory::{self, Directory},
    numbers::NumberHasher,
};

/// A PE's UCX context and worker, its connections, and its memory as others reach it.
struct Worker {
    ucx: &'static Ucx,
    /// Used by the thread that holds the lock of `inner`, while that is open.
    handle: ucp_worker_h,
    /// This PE's number.
    me: usize,
    /// PEs of the job.
    n_pes: usize,
    /// This PE's block in `memory`.
    block: usize,
    /// Keeps the memory mapped that UCX has registered.
    memory: Segment,
    /// What the collectives keep for themselves, which batches reach alone.
    scratch: Segment,
    /// What others need to reach this PE.
    published: Vec<u8>,
    directory: OnceLock<Arc<Directory>>,
    strangers: Strangers,
    /// Itself, for what is to be done later.
    this: Weak<Self>,
    /// UCX's own, which a thread may use that holds the lock.
    inner: Mutex<Inner>,
    /// What has happened inside of UCX, until a thread has seen to it; and what UCX still holds.
    ends: Mutex<Ends>,
    /// Whether UCX has ended an operation within the call that started it. Written and read under
    /// the lock of `inner`.
    ended_at_once: AtomicBool,
    /// Whether there may be events to see to, or something to be answered.
    has_events: AtomicBool,
    /// Whether other PEs wait for something. Set before `has_events`.
    owes: AtomicBool,
    channels: Mutex<Channels>,
    messages: Mutex<Messages>,
    gathered: Mutex<Gathered>,
    /// Whether there is anything in it.
    gathering: AtomicBool,
    /// Gets the notifications of other PEs.
    listener: OnceLock<Weak<dyn Listener>>,
    executor: Weak<Executor>,
    /// What wakes the helper thread.
    helper_waker: Arc<HelperWaker>,
    /// Readable when there is something to do.
    descriptor: OwnedFd,
    closing: AtomicBool,
}

// SAFETY: `handle` is used under the lock of `inner`.
unsafe impl Send for Worker {}
// SAFETY: as above; everything else is behind locks, atomic, or constant.
unsafe impl Sync for Worker {}

struct Inner {
    context: ucp_context_h,
    registered: ucp_mem_h,
    /// Until it is closed.
    open: bool,
    /// How many operations were started.
    started: u32,
    /// Nothing for PEs that were never talked to.
    peers: Vec<Option<Box<Peer>>>,
}

// SAFETY: UCX's objects are used under the lock that this is behind, by one thread at a time.
unsafe impl Send for Inner {}

#[derive(Default)]
struct Ends {
    /// The oldest first.
    events: VecDeque<Event>,
    /// Each operation knows its place.
    under_way: Slab<UnderWay>,
    /// PEs that have announced that they leave.
    left: HashSet<usize>,
    /// PEs to which the connection broke before they announced it, and when.
    suspects: Vec<(usize, ucs_status_t, Instant)>,
}

/// An operation that UCX holds.
struct UnderWay(*mut Operation);

// SAFETY: the address is that of an operation, which is `Send`.
unsafe impl Send for UnderWay {}

/// What has happened inside of UCX, where no completion may run.
enum Event {
    /// UCX has ended an operation.
    Ended(Box<Operation>, ucs_status_t),
    /// Something is over that no operation of UCX stands for.
    Over(Completion),
    /// A message was received, and its length.
    Received(Completion<usize>, Result<usize>),
    /// The value has come that was asked for.
    Answered(Completion<u64>, u64),
    /// UCX has given up the endpoint of a PE.
    Broken(usize, ucs_status_t),
    /// Something else is to be done.
    Later(Box<dyn FnOnce() + Send>),
}

/// An error if this process can have no more threads. UCX needs one, and aborts the process without
/// it.
fn threads_start() -> Result<()> {
    let started = std::thread::Builder::new().spawn(|| ());
    // It does nothing that could panic.
    started.map(|thread| _ = thread.join()).map_err(|error| Error::system("start of a thread for UCX", error))
}

/// Connects this PE, over these network interfaces if they are given. Collective over all PEs.
pub(super) async fn connect(
    bootstrap: &Arc<dyn Bootstrap>,
    executor: &Arc<Executor>,
    memory: Segment,
    scratch: Segment,
    interfaces: Option<&str>,
) -> Result<UcxNet> {
    // A PE that cannot load it lets the others know, which else would wait for its address.
    let loaded = match is_static() {
        true => Err(Error::Unsupported {
            what: "a statically linked program cannot load UCX; take TCP (SHMEM_NET=tcp), or link it dynamically (the library \
                   itself may be static: -static-libshmem)"
                .into(),
        }),
        false => threads_start().and_then(|()| {
            Ucx::load().map_err(|error| Error::Unsupported { what: format!("{error}") })
        }),
    };
    let interfaces = Interfaces::choose(interfaces, bootstrap.is_one_machine());
    let opened = loaded
        .and_then(|ucx| Worker::open(ucx, bootstrap.placement(), &interfaces, memory, scratch, executor));
    let published = match &opened {
        Ok(worker) => worker.published.clone(),
        Err(_) => Vec::new(),
    };
    let all = bootstrap.exchange_to_leaders(published).await?;
    // A leader that has nothing to publish says so before it fails: its host waits for it.
    let directory = directory::share(&**bootstrap, all).await;
    let worker = opened?;
    worker.learn(directory?);
    Ok(UcxNet { worker })
}

/// Whether this program was started without a dynamic linker.
fn is_static() -> bool {
    // SAFETY: it looks a number up.
    unsafe { libc::getauxval(libc::AT_BASE) == 0 }
}

impl Worker {
    /// How the others are reached.
    fn learn(&self, directory: Arc<Directory>) {
        // A PE joins once.
        let _ = self.directory.set(directory);
    }

    fn text(&self, status: ucs_status_t) -> String {
        self.ucx.status_text(status)
    }

    fn is_closed(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    /// Returns when the helper thread does nothing any more here. The worker is closing.
    fn leave_helper(&self) {
        if let Some(executor) = self.executor.upgrade() {
            executor.leave_source();
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }

    fn ends(&self) -> MutexGuard<'_, Ends> {
        lock(&self.ends)
    }

    fn channels(&self) -> MutexGuard<'_, Channels> {
        lock(&self.channels)
    }

    fn gathered(&self) -> MutexGuard<'_, Gathered> {
        lock(&self.gathered)
    }

    /// Whether anything was gathered that was not sent.
    #[inline]
    fn is_gathering(&self) -> bool {
        // Relaxed: a thread that gathers sees its own, and the helper thread looks again.
        self.gathering.load(Ordering::Relaxed)
    }

    /// Called with the lock of what is gathered held.
    fn set_gathering(&self, gathering: bool) {
        self.gathering.store(gathering, Ordering::Relaxed);
    }

    /// Whether anything was started that is not complete.
    fn is_awaited(&self) -> bool {
        !self.ends().under_way.is_empty() || self.channels().is_awaited() || self.messages().is_awaited()
    }

    /// This PE cannot go on.
    fn fail(&self, failure: Failure) {
        if let Some(executor) = self.executor.upgrade() {
            executor.fail(failure);
        }
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UCX {} of PE {}", self.ucx.version(), self.me)
    }
}
