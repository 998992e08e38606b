//! Progress: what waits is written, what has come is read, and connections are made.

use std::{
    io,
    sync::{Weak, atomic::Ordering},
    time::{Duration, Instant},
};

use oxshmem_base::{Result, report, sync::lock};
use oxshmem_progress::{completion, failure::Failure};
use rustix::{
    event::{Timespec, epoll},
    io::Errno,
};

use super::{
    Effect, Effects, GATHERED, Tcp, TcpState,
    incoming::ReadEnd,
    peer::{Connection, Departure, HalfOpen, TcpPeer},
    proof::{Claim, Verdict},
    serve::Serving,
    socket::Socket,
};

/// Sockets of up to this many PEs are read without asking which of them have anything, but for one
/// turn in this many, as others may connect.
const FEW: usize = 4;
const ASKS: u32 = 32;
/// Connections that are not proven: how many there are at a time, how long one may take, and how
/// many are taken in a turn.
const HALF_OPEN: usize = 64;
const UNPROVEN: Duration = Duration::from_secs(2);
const TAKEN: usize = 16;

/// What epoll says where the listening socket is readable, and where connections are that are not
/// proven: behind this number.
pub(super) const LISTENS: u64 = u64::MAX;
const STRANGERS: u64 = 1 << 48;

/// There is something to do before the helper sleeps.
pub(super) struct Busy;

impl Tcp {
    /// Makes progress, unless another thread does.
    pub(super) fn progress(&self) -> bool {
        let mut events = Effects::new();
        let Some(mut inner) = self.inner.try_lock() else { return false };
        if !inner.open {
            return false;
        }
        let any = self.turn(&mut inner, &mut events);
        let any = any | !events.is_empty();
        self.note(events);
        drop(inner);
        self.complete_events();
        if any && let Some(executor) = self.executor.upgrade() {
            // A waker may run its task at once, which may start operations: so this is done as a
            // completion is.
            completion::run(move || executor.scan());
        }
        any
    }

    /// Reads what has come, and goes on with connections. Whether there was anything.
    pub(super) fn turn(&self, inner: &mut TcpState, events: &mut Effects) -> bool {
        inner.turns = inner.turns.wrapping_add(1);
        let mut any = false;
        let settled = inner.unsettled.is_empty() && inner.half_open.is_empty();
        if settled && inner.up.len() <= FEW && !inner.turns.is_multiple_of(ASKS) {
            let mut at = 0;
            // One that breaks is no longer among them.
            while let Some(&pe) = inner.up.get(at) {
                any |= self.serve(inner, pe, events);
                at += 1;
            }
            return any;
        }
        let mut ready = [const {
            epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) }
        }; 64];
        let n = epoll::wait(&self.epoll, &mut ready[..], Some(&Timespec::default())).unwrap_or(0);
        for event in &ready[..n] {
            match event.data.u64() {
                LISTENS => self.accept(inner, events),
                at if at >= STRANGERS => self.prove(inner, (at - STRANGERS) as usize, events),
                pe => any |= self.serve(inner, pe as usize, events),
            }
        }
        self.settle(inner, events);
        any
    }

    /// The socket of a PE may have something, or room.
    fn serve(&self, inner: &mut TcpState, pe: usize, events: &mut Effects) -> bool {
        if inner.peers.get(pe).is_some_and(|peer| peer.as_ref().is_some_and(|peer| peer.blocked)) {
            self.write(inner, pe, events);
        }
        self.read(inner, pe, events)
    }

    /// Connects to PEs that are wanted, and lets go of what takes too long.
    fn settle(&self, inner: &mut TcpState, events: &mut Effects) {
        for pe in std::mem::take(&mut inner.unsettled) {
            let Some(peer) = inner.peers[pe].as_deref_mut() else { continue };
            let received = peer.incoming.received();
            let claim = Claim { from: self.me as u64, to: pe as u64, before: peer.connections, received };
            if peer.connect(&self.credentials, claim, events) {
                self.connected(inner, pe, events);
            } else {
                self.watch(peer, pe);
                if let Some(why) = peer.complaint() {
                    self.suspect(pe, why, events);
                }
                match peer.link {
                    Connection::Gone(_) => self.lose(inner, pe, events),
                    Connection::Up(_) => {}
                    _ => inner.unsettled.push(pe),
                }
            }
        }
        inner.half_open.retain(|_, half_open| half_open.since.elapsed() < UNPROVEN);
    }

    /// A PE is connected: what waits for that is written.
    fn connected(&self, inner: &mut TcpState, pe: usize, events: &mut Effects) {
        inner.unsettled.retain(|&other| other != pe);
        if !inner.up.contains(&pe) {
            inner.up.push(pe);
        }
        if inner.peers[pe].as_deref_mut().is_some_and(TcpPeer::is_reached_again) {
            self.report_reach(pe, false, events);
        }
        self.write(inner, pe, events);
    }

    /// Has epoll watch the socket of a PE.
    fn watch(&self, peer: &mut TcpPeer, pe: usize) {
        let interest = peer.interest();
        let Some(socket) = peer.socket() else { return };
        let data = epoll::EventData::new_u64(pe as u64);
        let watched = match peer.watched {
            Some(watched) if watched == interest => return,
            Some(_) => epoll::modify(&self.epoll, socket, data, interest),
            None => epoll::add(&self.epoll, socket, data, interest),
        };
        if watched.is_ok() {
            peer.watched = Some(interest);
        }
    }

    /// Writes what there is for a PE.
    pub(super) fn write(&self, inner: &mut TcpState, pe: usize, events: &mut Effects) {
        let Some(peer) = inner.peers[pe].as_deref_mut() else { return };
        match peer.write(events) {
            Ok(()) => self.watch(peer, pe),
            Err(error) => self.broke(inner, pe, &error, events),
        }
    }

    /// Reads what has come from a PE, and answers. Whether there was anything.
    fn read(&self, inner: &mut TcpState, pe: usize, events: &mut Effects) -> bool {
        let TcpState { peers, mail, buffer, .. } = inner;
        let Some(Some(peer)) = peers.get_mut(pe) else { return false };
        let TcpPeer { link: Connection::Up(socket), incoming, talk, out, urgent, .. } = &mut **peer else {
            return false;
        };
        let mut stored = false;
        let mut serving = Serving {
            pe,
            memory: &self.memory,
            listener: &self.listener,
            talk,
            out,
            mail,
            events,
            stored: &mut stored,
            urgent,
        };
        let came = incoming.read(socket, buffer, &mut serving);
        if peer.owes() && !peer.blocked {
            self.write(inner, pe, events);
        }
        match came {
            Ok(Ok(ReadEnd::Open(any))) => return any,
            Ok(Ok(ReadEnd::Closed)) => self.broke(inner, pe, &io::ErrorKind::UnexpectedEof.into(), events),
            Ok(Err(error)) => self.broke(inner, pe, &error, events),
            Err(error) => {
                if let Some(peer) = inner.peers[pe].as_deref_mut() {
                    peer.link = Connection::Gone(Departure::new(error.to_string()));
                }
                self.lose(inner, pe, events);
            }
        }
        true
    }

    /// The connection to a PE has come to an end.
    fn broke(&self, inner: &mut TcpState, pe: usize, error: &io::Error, events: &mut Effects) {
        let Some(peer) = inner.peers[pe].as_deref_mut() else { return };
        if !matches!(peer.link, Connection::Up(_)) {
            return;
        }
        tracing::debug!(target: "oxshmem::net", pe, %error, "the connection broke");
        peer.broke(error);
        peer.watched = None;
        inner.up.retain(|&other| other != pe);
        match peer.link {
            Connection::Gone(_) => self.lose(inner, pe, events),
            _ => inner.unsettled.push(pe),
        }
    }

    /// A PE is gone: what waits for it fails, and the job with it unless the PE has left in order,
    /// or the job goes on without it.
    fn lose(&self, inner: &mut TcpState, pe: usize, events: &mut Effects) {
        let TcpState { peers, mail, up, unsettled, .. } = inner;
        let Some(Some(peer)) = peers.get_mut(pe) else { return };
        let Connection::Gone(departure) = &peer.link else { return };
        let departure = departure.clone();
        up.retain(|&other| other != pe);
        unsettled.retain(|&other| other != pe);
        peer.incoming.reset();
        let why = || departure.error(pe);
        peer.talk.end(&why, events);
        events.extend(peer.out.end().map(|done| Effect::Word(done, Err(why()))));
        mail.end(Some(pe), &why, events);
        if departure.view > 0 {
            // Its replacement must not be taken for it.
            mail.drop_from(pe);
        }
        let listener = self.listener.get().and_then(Weak::upgrade);
        let is_expected = peer.talk.left || departure.view > 0 || self.is_closed();
        let failed = if is_expected { None } else { self.executor.upgrade() };
        events.push_back(Effect::Later(Box::new(move || {
            let why = || departure.error(pe);
            if let Some(listener) = listener {
                listener.lost(Some(pe), &why);
            }
            if let Some(executor) = failed {
                executor.fail(Failure::PeLost { pe, how: departure.how });
            }
        })));
    }

    /// The launcher says that a PE is lost.
    pub(super) fn lose_pe(&self, pe: usize, view: u64, how: &str) {
        let mut events = Effects::new();
        {
            let mut inner = self.inner();
            let TcpState { peers, .. } = &mut *inner;
            let Some(peer) = peers.get_mut(pe).filter(|_| pe != self.me) else { return };
            let peer = peer.get_or_insert_with(|| Box::new(TcpPeer::new(Vec::new(), true)));
            peer.link = Connection::Gone(Departure { how: how.to_owned(), view });
            peer.watched = None;
            self.lose(&mut inner, pe, &mut events);
            self.note(events);
        }
        self.complete_events();
    }

    /// Takes connections of other processes.
    fn accept(&self, inner: &mut TcpState, events: &mut Effects) {
        for _ in 0..TAKEN {
            let Ok(Some(socket)) = Socket::accept(&inner.listens) else { return };
            self.take(inner, socket, events);
        }
    }

    /// Takes a connection of another process.
    pub(super) fn take(&self, inner: &mut TcpState, socket: Socket, events: &mut Effects) {
        if inner.half_open.len() >= HALF_OPEN
            && let Some((oldest, _)) = inner.half_open.iter().min_by_key(|(_, half_open)| half_open.since)
        {
            // A PE proves itself at once, and else connects again.
            inner.half_open.remove(oldest);
            self.strange(inner, events);
        }
        let entry = inner.half_open.vacant_entry();
        let at = entry.key();
        let data = epoll::EventData::new_u64(STRANGERS + at as u64);
        if epoll::add(&self.epoll, &socket, data, epoll::EventFlags::IN).is_ok() {
            entry.insert(HalfOpen::new(socket, &self.credentials));
            // It may have begun already.
            self.prove(inner, at, events);
        }
    }

    /// A connection that is not proven goes on.
    fn prove(&self, inner: &mut TcpState, at: usize, events: &mut Effects) {
        let Some(half_open) = inner.half_open.get_mut(at) else { return };
        match half_open.go_on(&self.credentials) {
            Ok(None) => {}
            Ok(Some(claim)) => {
                let half_open = inner.half_open.remove(at);
                self.admit(inner, half_open, claim, events);
            }
            Err(error) => {
                inner.half_open.remove(at);
                // A PE that is connected by now lets go of its own attempt.
                if error.kind() == io::ErrorKind::Other {
                    self.strange(inner, events);
                }
            }
        }
    }

    /// A PE of this job has connected.
    fn admit(&self, inner: &mut TcpState, half_open: HalfOpen, claim: Claim, events: &mut Effects) {
        let Claim { from, to, before, received } = claim;
        let pe = from as usize;
        if to != self.me as u64 || pe == self.me || self.reach(inner, pe).is_err() {
            return;
        }
        let Some(peer) = inner.peers[pe].as_deref_mut() else { return };
        // Of two that cross, that of the lower number stays. What crossed one that is up already
        // has not seen it.
        let crosses = match peer.link {
            Connection::Connecting(..) => self.me < pe,
            Connection::Up(_) => before < peer.connections,
            Connection::Down(_) | Connection::Gone(_) => false,
        };
        // One that comes late, and was given up, may say less than is known since.
        let accepted = !crosses && peer.out.may_have(received);
        let verdict = Verdict { accepted, received: peer.incoming.received() };
        let Ok(socket) = half_open.answer(&self.credentials, verdict) else { return };
        if !accepted {
            return;
        }
        // Known to epoll, as something else.
        peer.watched = Some(epoll::EventFlags::empty());
        if peer.up(socket, (before.max(peer.connections), received), events) {
            self.watch(peer, pe);
            self.connected(inner, pe, events);
        } else {
            self.lose(inner, pe, events);
        }
    }

    /// Reports a PE that is out of reach, and that the launcher does not know as lost.
    #[cold]
    fn suspect(&self, pe: usize, why: String, events: &mut Effects) {
        let me = self.me;
        tracing::warn!(target: "oxshmem::net", pe, why, "a PE is out of reach");
        self.report_reach(pe, true, events);
        events.push_back(Effect::Later(Box::new(move || {
            report(format_args!(
                "oxshmem: warning: PE {me} cannot reach PE {pe}{why}; unless oshrun says that it is lost, what is under \
                 way to it waits until it can be reached"
            ));
        })));
    }

    /// Has the launcher know whether this PE reaches another one.
    fn report_reach(&self, pe: usize, out_of_reach: bool, events: &mut Effects) {
        let bootstrap = Weak::clone(&self.bootstrap);
        events.push_back(Effect::Later(Box::new(move || {
            if let Some(bootstrap) = bootstrap.upgrade() {
                bootstrap.suspects(pe, out_of_reach);
            }
        })));
    }

    /// Counts a connection of a process that is not of this job, and has the first one reported.
    #[cold]
    fn strange(&self, inner: &mut TcpState, events: &mut Effects) {
        inner.strangers += 1;
        tracing::warn!(target: "oxshmem::net", strangers = inner.strangers, "a connection that is not from this job is refused");
        if inner.strangers == 1 {
            let me = self.me;
            events.push_back(Effect::Later(Box::new(move || {
                report(format_args!(
                    "oxshmem: warning: PE {me} refuses connections of a process that is not of this job; the book's \
                     chapter Security says what to do"
                ));
            })));
        }
    }

    /// Writes what waits for that.
    pub(super) fn write_waiting(&self) {
        let mut events = Effects::new();
        {
            let mut inner = self.inner();
            self.write_all(&mut inner, &mut events);
            self.note(events);
        }
        self.complete_events();
    }

    fn write_all(&self, inner: &mut TcpState, events: &mut Effects) {
        // Under the lock, as what is noted.
        self.has_waiting.store(false, Ordering::Relaxed);
        for pe in std::mem::take(&mut inner.waiting) {
            let Some(peer) = inner.peers[pe].as_deref_mut() else { continue };
            peer.waits = false;
            // A socket without room is written to when it has some.
            if !peer.blocked {
                self.write(inner, pe, events);
            }
        }
    }

    /// Prepares for the helper's sleep; for how long at the most.
    pub(super) fn prepare_sleep(&self) -> Result<Option<Duration>, Busy> {
        let mut events = Effects::new();
        let (limit, any) = {
            let mut inner = self.inner();
            let mut limit = None;
            if !inner.waiting.is_empty() {
                // More may come to be written with it.
                match GATHERED.checked_sub(inner.since.elapsed()) {
                    Some(left) if !left.is_zero() => limit = Some(left),
                    _ => self.write_all(&mut inner, &mut events),
                }
            }
            self.settle(&mut inner, &mut events);
            let TcpState { peers, unsettled, half_open, .. } = &*inner;
            let due = unsettled.iter().filter_map(|&pe| peers[pe].as_ref()?.due());
            let due = due.chain(half_open.iter().map(|(_, half_open)| half_open.since + UNPROVEN)).min();
            let due = due.map(|due| due.saturating_duration_since(Instant::now()));
            let any = !events.is_empty();
            self.note(events);
            (limit.into_iter().chain(due).min(), any)
        };
        self.complete_events();
        // Acquire: what was noted is seen to first.
        if any || self.has_events.load(Ordering::Acquire) { Err(Busy) } else { Ok(limit) }
    }

    /// Notes what is to be completed.
    pub(super) fn note(&self, mut events: Effects) {
        if !events.is_empty() {
            lock(&self.events).append(&mut events);
            // Release: a thread that takes them sees them.
            self.has_events.store(true, Ordering::Release);
        }
    }

    /// Completes what is over. Called with no lock held.
    pub(super) fn complete_events(&self) {
        completion::complete_noted(&self.has_events, &self.helper_waker, |panics| {
            // One at a time: one that blocks may wait for those behind it.
            while let Some(event) = { lock(&self.events).pop_front() } {
                panics.run(|| event.run());
            }
        });
    }
}

/// Has epoll watch a descriptor.
pub(super) fn watches(
    epoll: &impl std::os::fd::AsFd,
    what: &impl std::os::fd::AsFd,
    data: u64,
) -> Result<(), Errno> {
    epoll::add(epoll, what, epoll::EventData::new_u64(data), epoll::EventFlags::IN)
}

const _: () = assert!(STRANGERS + (HALF_OPEN as u64) < LISTENS);
