//! The net over TCP: sockets of this PE's own, which need nothing installed.
//!
//! Two PEs have one connection, made when the first of them needs it. It carries a stream of
//! [frames](frame) each way, in order, so that a flush is one question behind what came before, and
//! a get sees the puts before it. The engine's threads read and write the sockets, which never
//! block; there is no thread of the net's own. What is started close together leaves together.
//!
//! A connection begins with a [proof](proof) that both ends are of this job, and is encrypted
//! behind it if that is asked for. One that breaks is made again, and what was not acknowledged is
//! written again.
//!
//! | module | what it has |
//! |---|---|
//! | [`frame`] | what travels |
//! | [`proof`] | how a connection begins |
//! | [`socket`], [`kernel`] | sockets, and what the kernel does for them |
//! | [`encrypted`] | what an encrypted one has besides |
//! | [`outgoing`], [`incoming`] | the streams |
//! | [`talk`], [`mail`] | what is under way: operations and messages |
//! | [`serve`] | what frames do |
//! | [`peer`] | another PE |
//! | [`turn`] | progress |
//! | [`open`] | the beginning and the end |

mod encrypted;
mod frame;
#[cfg(test)]
mod fuzz;
mod incoming;
mod kernel;
mod mail;
#[cfg(test)]
mod middle;
mod open;
mod outgoing;
mod peer;
mod proof;
#[cfg(test)]
mod reconnecting;
mod serve;
mod socket;
mod talk;
#[cfg(test)]
mod tests;
mod turn;

use std::{
    collections::HashMap,
    collections::VecDeque,
    fmt,
    net::SocketAddr,
    net::{IpAddr, TcpListener},
    os::fd::{AsFd, OwnedFd},
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use oxshmem_base::{
    Error, Result,
    sync::{Mutex, MutexGuard, lock},
};
use oxshmem_job::Bootstrap;
use oxshmem_memory::op::{Address, Op, Spot};
use oxshmem_progress::{
    completion::{self, AllParts, Completion, complete},
    executor::Executor,
    helper_waker::HelperWaker,
    source::{Armed, Source},
};
use slab::Slab;

use self::{
    frame::{CHUNK, FrameHead, Kind},
    mail::{Inbox, PostedReceive, Unreceived},
    peer::{HalfOpen, TcpPeer},
    proof::Credentials,
    serve::Memory,
    talk::COPIED,
};
use super::{Batch, Listener, Mail, Net, Takes, Way, Words, directory::Directory, unless_lost};

pub(super) use open::connect;

/// How long operations are gathered at the most while their PE computes.
const GATHERED: Duration = Duration::from_micros(200);

/// The net of one PE.
pub(super) struct Tcp {
    me: usize,
    memory: Memory,
    directory: Arc<Directory>,
    /// The number of the exchange in which it was published how PEs are reached.
    published_in: usize,
    /// Whether the job goes on without PEs that it has lost.
    goes_on: bool,
    /// Where this PE listens.
    own: Vec<IpAddr>,
    credentials: Credentials,
    inner: Mutex<TcpState>,
    /// What is to be completed by the thread that has polled, the oldest first.
    events: Mutex<Effects>,
    /// Whether there is any.
    has_events: AtomicBool,
    /// Whether anything waits to be written.
    has_waiting: AtomicBool,
    /// Gets the notifications of other PEs.
    listener: OnceLock<Weak<dyn Listener>>,
    executor: Weak<Executor>,
    bootstrap: Weak<dyn Bootstrap>,
    helper_waker: Arc<HelperWaker>,
    /// Readable when there is something to do.
    epoll: OwnedFd,
    closing: AtomicBool,
}

struct TcpState {
    /// Until it is closed.
    open: bool,
    listens: TcpListener,
    half_open: Slab<HalfOpen>,
    /// Nothing for PEs that were never talked to.
    peers: Vec<Option<Box<TcpPeer>>>,
    /// Those with a connection, and those that want one.
    up: Vec<usize>,
    unsettled: Vec<usize>,
    /// Where replacements are reached.
    moved: HashMap<usize, Vec<SocketAddr>>,
    /// Those for which something waits to be written, and since when the first does.
    waiting: Vec<usize>,
    since: Instant,
    mail: Inbox,
    /// By way of which sockets are read.
    buffer: Box<[u64]>,
    turns: u32,
    /// Connections of processes that are not of this job.
    strangers: u64,
}

/// What is to be done when no lock is held.
enum Effect {
    /// An operation is over.
    Word(Completion<u64>, Result<u64>),
    /// A message was received, and its length.
    Received(Completion<usize>, Result<usize>),
    /// A flush is over, or a message has left.
    Over(Completion, Result<()>),
    /// Something else.
    Later(Box<dyn FnOnce() + Send>),
}

/// The oldest first.
type Effects = VecDeque<Effect>;

impl Effect {
    fn run(self) {
        match self {
            Self::Word(done, outcome) => complete(done, outcome),
            Self::Received(done, outcome) => complete(done, outcome),
            Self::Over(done, outcome) => complete(done, outcome),
            Self::Later(later) => completion::run(later),
        }
    }
}

impl Tcp {
    fn inner(&self) -> MutexGuard<'_, TcpState> {
        lock(&self.inner)
    }

    fn is_closed(&self) -> bool {
        // Acquire: with `close`.
        self.closing.load(Ordering::Acquire)
    }

    /// Does something with a PE, which may be connected only then. What it writes leaves now, or
    /// with what comes next.
    fn with<T>(&self, pe: usize, act: impl FnOnce(&mut TcpPeer, &mut Inbox, &mut Effects) -> T) -> Result<T> {
        let mut events = Effects::new();
        let outcome = {
            let mut inner = self.inner();
            self.reach(&mut inner, pe)?;
            let TcpState { peers, mail, .. } = &mut *inner;
            let peer = peers[pe].as_deref_mut().expect("it was just reached");
            let outcome = act(peer, mail, &mut events);
            self.leaves(&mut inner, pe, false, &mut events);
            outcome
        };
        self.helper_waker.issue();
        events.into_iter().for_each(Effect::run);
        Ok(outcome)
    }

    /// The PE, if it can be talked to.
    fn reach(&self, inner: &mut TcpState, pe: usize) -> Result<()> {
        if !inner.open || self.is_closed() {
            return Err(Error::Finalized { call: "net" });
        }
        match inner.peers.get(pe) {
            Some(Some(peer)) => peer.check(pe),
            Some(None) => {
                let addresses = match inner.moved.get(&pe) {
                    Some(addresses) => addresses.clone(),
                    None => open::addresses(&self.directory.of(pe)?, &self.own)?,
                };
                inner.peers[pe] = Some(Box::new(TcpPeer::new(addresses, self.goes_on)));
                inner.unsettled.push(pe);
                Ok(())
            }
            None => Err(Error::bootstrap("net", format!("there is no PE {pe}"))),
        }
    }

    /// What was given to the stream leaves, unless it is to be gathered with what comes next.
    fn leaves(&self, inner: &mut TcpState, pe: usize, gathers: bool, events: &mut Effects) {
        let Some(peer) = inner.peers[pe].as_deref_mut() else { return };
        if peer.waits {
            return;
        }
        if gathers || peer.gathers() || !matches!(peer.link, peer::Connection::Up(_)) {
            peer.waits = true;
            if inner.waiting.is_empty() {
                inner.since = Instant::now();
            }
            inner.waiting.push(pe);
            // Relaxed: a thread that waits has started it, and the helper looks again.
            self.has_waiting.store(true, Ordering::Relaxed);
        } else if !peer.blocked {
            self.write(inner, pe, events);
        }
    }

    /// Runs `done` when everything that was started on `pe` before is visible there.
    fn flush_pe(&self, pe: usize, done: Completion) {
        let flushed = {
            let inner = self.inner();
            match inner.peers.get(pe) {
                Some(None) if inner.open && !self.is_closed() => Some(Ok(())),
                _ => None,
            }
        };
        if let Some(flushed) = flushed {
            return complete(done, flushed);
        }
        let mut done = Some(done);
        let flushed = self.with(pe, |peer, _, _| {
            done = done.take().and_then(|done| peer.talk.flush(done, &mut peer.out));
        });
        if let Some(done) = done {
            complete(done, flushed);
        }
    }
}

impl Source for Tcp {
    fn poll(&self) -> bool {
        !self.is_closed() && self.progress()
    }

    fn hand_over(&self) {
        // Relaxed: a thread sees what it has started itself.
        if self.has_waiting.load(Ordering::Relaxed) {
            self.write_waiting();
        }
    }

    fn is_pending(&self) -> bool {
        let inner = self.inner();
        let awaited = |peer: &TcpPeer| peer.talk.is_awaited() || !peer.is_written();
        inner.mail.is_awaited() || inner.peers.iter().flatten().any(|peer| awaited(peer))
    }

    fn arm(&self) -> Armed<'_> {
        if self.is_closed() {
            return Armed::IDLE;
        }
        let limit = match self.prepare_sleep() {
            Ok(limit) => limit,
            Err(turn::Busy) => return Armed::Ready,
        };
        Armed::Asleep { descriptor: Some(self.epoll.as_fd()), limit }
    }

    /// What others put is stored by whichever thread reads it.
    fn stores_silently(&self) -> bool {
        true
    }
}

// SAFETY: an operation is encoded, or kept with its completion in `Talk`, which lets go of its
// memory when it gives the completion back.
unsafe impl Way<Spot, Address> for Tcp {
    unsafe fn start(&self, op: Op, done: Completion<u64>) {
        let mut done = Some(done);
        let started = self.with(op.there.pe, |peer, _, events| {
            if let Some(done) = done.take() {
                // SAFETY: passed on to the caller.
                unsafe { peer.talk.start(op, done, &mut peer.out, events) };
            }
        });
        if let (Err(error), Some(done)) = (started, done) {
            complete(done, Err(error));
        }
    }

    fn flush(&self, pe: Option<usize>, done: Completion) {
        if let Some(pe) = pe {
            return self.flush_pe(pe, done);
        }
        let pes: Vec<usize> = {
            let inner = self.inner();
            if !inner.open || self.is_closed() {
                drop(inner);
                return complete(done, Err(Error::Finalized { call: "net" }));
            }
            // What was under way with a lost one has failed.
            let is_there = |peer: &TcpPeer| !matches!(&peer.link, peer::Connection::Gone(it) if it.view > 0);
            let known = inner.peers.iter().enumerate();
            let known = known.filter(|(_, peer)| peer.as_deref().is_some_and(is_there));
            known.map(|(pe, _)| pe).collect()
        };
        let all = AllParts::new(done);
        pes.into_iter().for_each(|pe| self.flush_pe(pe, unless_lost(all.part())));
    }
}

// SAFETY: it takes everything whole.
unsafe impl Net for Tcp {
    fn takes(&self, _: &Op) -> Takes {
        Takes::Whole
    }

    fn eager_limit(&self) -> usize {
        COPIED
    }

    fn has_room(&self, pe: usize) -> bool {
        let inner = self.inner();
        inner.peers.get(pe).and_then(Option::as_ref).is_none_or(|peer| peer.talk.has_room(&peer.out))
    }

    fn apply(&self, pe: usize, batch: Batch) -> Result<()> {
        self.with(pe, |peer, _, _| peer.talk.apply(batch.words(), &mut peer.out))
    }

    fn gather(&self, pe: usize, room: usize, add: &mut dyn FnMut(&mut Batch)) -> Result<()> {
        let mut events = Effects::new();
        {
            let mut inner = self.inner();
            self.reach(&mut inner, pe)?;
            let peer = inner.peers[pe].as_deref_mut().expect("it was just reached");
            peer.talk.gather(add, &mut peer.out);
            let gathers = peer.out.unwritten() < room as u64;
            if gathers {
                self.leaves(&mut inner, pe, true, &mut events);
            } else if !peer.blocked {
                self.write(&mut inner, pe, &mut events);
            }
        }
        self.helper_waker.issue();
        events.into_iter().for_each(Effect::run);
        Ok(())
    }

    fn send_gathered(&self) {
        self.write_waiting();
    }

    fn lose(&self, pe: usize, view: u64, how: &str) {
        self.lose_pe(pe, view, how);
    }

    fn settle(&self, done: Completion) {
        self.inner().peers.iter_mut().flatten().for_each(|peer| peer.talk.unflushed = true);
        self.flush(None, done);
    }

    fn forget(&self, is_stale: &dyn Fn(u64) -> bool) -> bool {
        let mut events = Effects::new();
        let any = {
            let mut inner = self.inner();
            let why = || Error::bootstrap("net", "the team is revoked");
            let came = inner.mail.forget(is_stale, &why, &mut events);
            for (pe, unreceived) in came {
                let nowhere = std::ptr::NonNull::<u8>::dangling().as_ptr();
                // There is no room for it, so that its sender is done with it.
                let receive = PostedReceive { to: nowhere.into(), room: 0, done: Box::new(|_| ()) };
                self.receive_now(&mut inner, pe, unreceived, receive, &mut events);
            }
            inner.peers.iter().flatten().any(|peer| peer.talk.receives(is_stale))
        };
        self.note(events);
        self.complete_events();
        any
    }

    fn let_in(&self, pe: usize, given: &[Vec<u8>]) -> Result<()> {
        let published = given.get(self.published_in);
        let addresses = published.map(|published| open::addresses(published, &self.own)).transpose()?;
        let mut inner = self.inner();
        if pe < inner.peers.len() && pe != self.me {
            // A connection is made when it is first needed.
            inner.peers[pe] = None;
            inner.moved.extend(addresses.map(|addresses| (pe, addresses)));
        }
        Ok(())
    }

    fn close(&self) {
        self.end(true);
    }

    fn abandon(&self) {
        self.end(false);
    }
}

// SAFETY: a message is copied, or kept with its completion in `Talk` or `Inbox`.
unsafe impl Mail for Tcp {
    unsafe fn send(&self, pe: usize, tag: u64, from: *const u8, len: usize, done: Completion) {
        let (mut done, from) = (Some(done), Address::from(from));
        let sent = self.with(pe, |peer, _, events| {
            let Some(done) = done.take() else { return };
            if len <= CHUNK && peer.talk.spend(len) {
                let head = FrameHead::new(Kind::Message, len, tag);
                // SAFETY: the caller keeps them until `done` runs.
                unsafe { peer.out.push_copy(head, &[], from.get()) };
                events.push_back(Effect::Over(done, Ok(())));
            } else {
                // SAFETY: as above.
                unsafe { peer.talk.send_long(tag, from, len, done, &mut peer.out) };
            }
        });
        if let (Err(error), Some(done)) = (sent, done) {
            complete(done, Err(error));
        }
    }

    fn send_short(&self, pe: usize, tag: u64, bytes: &[u8]) -> Option<Result<()>> {
        if bytes.len() > CHUNK {
            return None;
        }
        let sent = self.with(pe, |peer, _, _| {
            let fits = peer.talk.spend(bytes.len());
            if fits {
                peer.out.push(FrameHead::new(Kind::Message, bytes.len(), tag), bytes);
            }
            fits
        });
        match sent {
            Ok(true) => Some(Ok(())),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        }
    }

    unsafe fn receive(&self, pe: usize, tag: u64, to: *mut u8, len: usize, done: Completion<usize>) {
        let receive = PostedReceive { to: to.into(), room: len, done };
        let mut events = Effects::new();
        {
            let mut inner = self.inner();
            let gone = match inner.peers.get(pe) {
                _ if !inner.open || self.is_closed() => Err(Error::Finalized { call: "net" }),
                Some(Some(peer)) => peer.check(pe),
                _ => Ok(()),
            };
            match (inner.mail.take_came((pe, tag)), gone) {
                (Some(came), _) => self.receive_now(&mut inner, pe, came, receive, &mut events),
                (None, Ok(())) => inner.mail.expect((pe, tag), receive),
                (None, Err(error)) => events.push_back(Effect::Received(receive.done, Err(error))),
            }
        }
        self.helper_waker.issue();
        events.into_iter().for_each(Effect::run);
    }

    unsafe fn notify(&self, pe: usize, words: Words, from: *const u8, len: usize, done: Completion) {
        let (mut done, from) = (Some(done), Address::from(from));
        let sent = self.with(pe, |peer, _, events| {
            let Some(done) = done.take() else { return };
            let bytes = bytemuck::bytes_of(&words);
            // SAFETY: the caller keeps them until `done` runs.
            let done = unsafe { peer.talk.notify(bytes, (from, len), done, &mut peer.out) };
            events.extend(done.map(|done| Effect::Over(done, Ok(()))));
        });
        if let (Err(error), Some(done)) = (sent, done) {
            complete(done, Err(error));
        }
    }

    fn listen(&self, listener: Weak<dyn Listener>) {
        // A PE joins once, so there is no other.
        let _ = self.listener.set(listener);
    }
}

impl Tcp {
    /// Receives what has come, or some of it.
    fn receive_now(
        &self,
        inner: &mut TcpState,
        pe: usize,
        came: Unreceived,
        receive: PostedReceive,
        events: &mut Effects,
    ) {
        let Some(peer) = inner.peers[pe].as_deref_mut() else { return };
        match came {
            Unreceived::Whole(bytes) => {
                receive.take(pe, &bytes, events);
                peer.talk.received(bytes.len(), &mut peer.out);
            }
            Unreceived::Long(number) => peer.talk.receive((pe, number), receive, &mut peer.out, events),
        }
        self.leaves(inner, pe, false, events);
    }
}

impl Drop for Tcp {
    fn drop(&mut self) {
        self.abandon();
    }
}

impl fmt::Debug for Tcp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TCP of PE {}", self.me)
    }
}
