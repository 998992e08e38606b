//! PE 0's side: the thread by which all PEs of the job find each other, exchange, and learn of its
//! end.

use std::{
    io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener},
    os::fd::AsFd,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use oxshmem_base::{Hosts, Result, report, settings::PeRanges, span::span};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::{
    exchanges::{Exchanges, Mail},
    lease::BEAT,
    wire::{Kind, Message},
};

use super::{
    Conduct,
    arbiter::Arbiter,
    door::{Door, Visitor},
    ending::Ending,
    frame::{Channel, Frame, FrameKind, WANTS_NOTHING},
    given::{Rendezvous, refused},
    link::{Link, Over, Stay},
    proof::SecretKey,
};

/// How long a thread that ends tries to send what is unsent.
pub(super) const LAST_WORDS: Duration = Duration::from_secs(2);
/// How long it waits for a port that another process has, as one that just ends.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest that it sleeps.
const LONG: Duration = Duration::from_secs(3600);

/// The state of the thread.
pub(super) struct Service {
    given: Rendezvous,
    conduct: Conduct,
    link: Arc<Link>,
    door: Door,
    /// By PE; never this one.
    members: Vec<Option<Member>>,
    exchanges: Exchanges,
    /// In a job that goes on when a PE is lost.
    arbiter: Option<Arbiter>,
    since: Instant,
    started: bool,
    over: Option<Over>,
    ending: Option<Ending>,
}

/// Another PE.
struct Member {
    channel: Channel,
    /// It has left in good order.
    left: bool,
}

/// Runs the thread of PE 0 to its end.
pub(super) fn run(given: Rendezvous, secret: SecretKey, conduct: Conduct, link: Arc<Link>) {
    let since = Instant::now();
    match listen(&given, &link) {
        Ok(listens) => {
            let members = (0..given.n_pes).map(|_| None).collect();
            // Which PEs are on one host does not matter here.
            let exchanges = Exchanges::new(Arc::new(Hosts::one(given.n_pes)), false);
            let arbiter = link.losses.as_ref().map(|_| Arbiter::new(given.n_pes, given.lease));
            let (door, over, ending) = (Door::new(listens, secret), None, None);
            let started = false;
            let service = Service {
                given,
                conduct,
                link,
                door,
                members,
                exchanges,
                arbiter,
                since,
                started,
                over,
                ending,
            };
            service.run();
        }
        Err(error) => link.start(Err(error)),
    }
}

/// Listens at the address, or on all interfaces if that is none of this host.
fn listen(given: &Rendezvous, link: &Link) -> Result<TcpListener> {
    let begin = Instant::now();
    let limit = given.timeout.min(PATIENCE);
    loop {
        match bind(given).and_then(|listens| listens.set_nonblocking(true).map(|()| listens)) {
            Ok(listens) => return Ok(listens),
            // The port may be that of a job that ends.
            Err(error) if begin.elapsed() >= limit || link.is_left() => {
                let advice = match error.kind() {
                    io::ErrorKind::AddrInUse => "; another PE 0, or another program, listens there",
                    _ => "",
                };
                return Err(refused(format_args!(
                    "PE 0 cannot listen at {}: {error}{advice}",
                    given.address
                )));
            }
            Err(_) => thread::sleep(Duration::from_millis(50)),
        }
    }
}

fn bind(given: &Rendezvous) -> io::Result<TcpListener> {
    // A name may be known to the others alone, or to them first.
    for address in given.resolve().unwrap_or_default() {
        match TcpListener::bind(address) {
            Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => {}
            outcome => return outcome,
        }
    }
    // None of this host: something translates the address by which the others reach it.
    let port = given.address.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).unwrap_or_default();
    match TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(error),
        // Without IPv6.
        Err(_) => TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)),
        listens => listens,
    }
}

impl Service {
    fn run(mut self) {
        self.start_if_all_are_there();
        while let Some(limit) = self.limit() {
            self.sleep(limit);
            let (requests, stay) = self.link.take();
            for request in requests {
                self.take(0, request);
            }
            if stay != Stay::In && !(stay == Stay::Left && self.decides_still()) {
                self.leave(stay);
                break;
            }
            // First, so that a process that has ended does not stand in the way of the next.
            for pe in 1..self.members.len() {
                self.serve(pe);
            }
            for (pe, how) in self.arbiter.as_mut().map(Arbiter::dead).unwrap_or_default() {
                self.go_on_without(pe, &how);
            }
            for visitor in self.door.turn() {
                self.welcome(visitor);
            }
        }
        if self.door.strangers > 0 {
            report(format_args!(
                "oxshmem: warning: PE 0 has closed {} that did not prove to be of this job",
                match self.door.strangers {
                    1 => "a connection of a process".to_owned(),
                    n => format!("{n} connections of processes"),
                }
            ));
        }
    }

    /// How long the thread may sleep. None when the job has not started in time.
    fn limit(&mut self) -> Option<Duration> {
        if let Some(over) = self.over.as_ref().filter(|_| self.conduct.ends_process && self.ending.is_none())
        {
            self.ending = Some(Ending::begin(0, over.clone()));
        }
        let ends = self.ending.as_mut().map(Ending::go_on);
        let door = self.door.deadline().map(|at| at.saturating_duration_since(Instant::now()));
        let mut limit = ends.into_iter().chain(door).min().unwrap_or(LONG);
        if self.arbiter.is_some() {
            limit = limit.min(BEAT);
        }
        if !self.started {
            let left = self.given.timeout.saturating_sub(self.since.elapsed());
            if left.is_zero() {
                self.give_up();
                return None;
            }
            limit = limit.min(left);
        }
        Some(limit)
    }

    fn sleep(&self, limit: Duration) {
        let mut polled = vec![
            PollFd::from_borrowed_fd(self.link.bell(), PollFlags::IN),
            PollFd::new(self.door.listens(), PollFlags::IN),
        ];
        polled.extend(self.door.streams().map(|stream| PollFd::new(stream, PollFlags::IN)));
        for member in self.members.iter().flatten() {
            let out = if member.channel.has_unsent() { PollFlags::OUT } else { PollFlags::empty() };
            polled.push(PollFd::from_borrowed_fd(member.channel.stream.as_fd(), PollFlags::IN | out));
        }
        rest(&mut polled, limit);
    }

    /// A process has proved that it knows the secret.
    fn welcome(&mut self, visitor: Visitor) {
        let Visitor { stream, from, identity, cipher } = visitor;
        let Ok(mut channel) = Channel::new(stream, from, cipher) else { return };
        let n = self.members.len();
        let pe = usize::try_from(identity.pe).ok().filter(|&pe| pe < n);
        let refusal = match pe {
            _ if identity.n_pes != n as u64 => Some(format!(
                "PE {} has it that the job has {} PEs, and PE 0 that it has {n}; SHMEM_RENDEZVOUS_SIZE must be the same for all",
                identity.pe, identity.n_pes
            )),
            Some(0) => Some("PE 0 is there already: two processes have the number 0".to_owned()),
            Some(pe) => match &self.members[pe] {
                // One of before: what comes now is of the next job.
                Some(member) if member.left || self.over.is_some() => None,
                Some(member) => Some(format!(
                    "PE {pe} is there already, from {}: two processes have the number {pe} (SHMEM_RENDEZVOUS_RANK)",
                    member.channel.from.ip()
                )),
                None => None,
            },
            None => Some(format!("there is no PE {}", identity.pe)),
        };
        // What it is sent has room, and if not it is none of ours any more.
        if let Some(why) = refusal {
            let _ = channel.send(Frame::new(FrameKind::Refuse).body(why.into_bytes()));
            return;
        }
        let Some(pe) = pe else { return };
        if self.started {
            let _ = channel.send(Frame::new(FrameKind::Retry));
            return;
        }
        self.members[pe] = Some(Member { channel, left: false });
        self.start_if_all_are_there();
    }

    fn start_if_all_are_there(&mut self) {
        if !self.started && self.members.iter().skip(1).all(Option::is_some) {
            self.started = true;
            (1..self.members.len()).for_each(|pe| self.send(pe, Frame::new(FrameKind::Start)));
            self.link.start(Ok(()));
        }
    }

    /// Not all have come.
    fn give_up(&mut self) {
        let missing: Vec<_> = (1..self.members.len()).filter(|&pe| self.members[pe].is_none()).collect();
        let strangers = match self.door.strangers {
            0 => String::new(),
            n => format!("; {n} connections were closed that did not prove to be of this job"),
        };
        let why = format!(
            "{} of {} PEs have not come to {} within {}: {}{strangers}",
            missing.len(),
            self.members.len(),
            self.given.address,
            span(self.given.timeout),
            PeRanges::of(&missing)
        );
        for pe in 1..self.members.len() {
            self.send(pe, Frame::new(FrameKind::Refuse).body(why.clone().into_bytes()));
        }
        self.flush_all();
        self.door.strangers = 0;
        self.link.start(Err(refused(why)));
    }

    /// Takes what a member has sent, and sends what it has room for.
    fn serve(&mut self, pe: usize) {
        loop {
            let Some(member) = &mut self.members[pe] else { return };
            match member.channel.flush().and_then(|()| member.channel.receive()) {
                Ok(Some(frame)) => self.take(pe, frame),
                Ok(None) => return,
                Err(error) => return self.lose(pe, &error),
            }
        }
    }

    fn take(&mut self, pe: usize, frame: Frame) {
        match frame.kind {
            FrameKind::Give => {
                let wants = frame.value != WANTS_NOTHING;
                let mail = self.exchanges.exchange(pe, frame.ticket, wants, frame.body.to_vec());
                self.post(pe, mail);
            }
            FrameKind::Regroup => {
                let mail = self.exchanges.regroup(pe, frame.ticket, &frame.body);
                self.post(pe, mail);
            }
            FrameKind::Leave => {
                if let Some(member) = &mut self.members[pe] {
                    member.left = true;
                }
                self.arbiter.iter_mut().for_each(|arbiter| arbiter.left(pe));
                let mail = self.exchanges.left(pe);
                self.post(pe, mail);
                self.settle();
            }
            FrameKind::Survives => self.arbiter.iter_mut().for_each(|arbiter| arbiter.survives(pe)),
            FrameKind::Knows => {
                self.arbiter.iter_mut().for_each(|arbiter| arbiter.knows(pe, frame.value as u64));
                self.settle();
            }
            FrameKind::Suspects | FrameKind::Reaches => {
                let (other, suspects) = (frame.value as usize, frame.kind == FrameKind::Suspects);
                self.arbiter.iter_mut().for_each(|arbiter| arbiter.report(pe, other, suspects));
            }
            FrameKind::Beat => {
                if self.arbiter.as_mut().is_some_and(|arbiter| arbiter.acknowledges(pe)) {
                    self.send(pe, Frame::new(FrameKind::Acknowledged).ticket(frame.ticket));
                }
            }
            FrameKind::Abort => self.end(Over::Exit { pe, status: frame.value }),
            _ => self.lose(pe, &io::Error::other("it sent what only PE 0 sends")),
        }
    }

    fn send(&mut self, pe: usize, frame: Frame) {
        if pe == 0 {
            self.link.deliver(frame.ticket, (frame.value, frame.body));
        } else if let Some(member) = &mut self.members[pe] {
            // What fails here fails again when the member is served.
            let _ = member.channel.send(frame);
        }
    }

    /// The connection of a member has ended.
    fn lose(&mut self, pe: usize, error: &io::Error) {
        let Some(member) = self.members[pe].take() else { return };
        // Until all are there another process may come in its place.
        if !self.started || member.left {
            return;
        }
        let how = how(error, member.channel.from);
        match self.arbiter.as_mut().filter(|arbiter| arbiter.goes_on() && self.over.is_none()) {
            None => self.end(Over::Lost { pe, how }),
            // Its kernel has closed it, as its process has ended.
            Some(_) if error.kind() == io::ErrorKind::UnexpectedEof => self.go_on_without(pe, &how),
            Some(arbiter) => arbiter.give_up(pe, &how),
        }
    }

    /// A PE has ended, and the job goes on.
    fn go_on_without(&mut self, pe: usize, how: &str) {
        let Some(arbiter) = &mut self.arbiter else { return };
        let Some(loss) = arbiter.lose(pe, how) else { return };
        let (how, view, others) = (loss.how.clone(), loss.view, arbiter.staying().collect::<Vec<_>>());
        report(format_args!("oxshmem: PE {pe} is lost: {how}; the job goes on (view {view})"));
        self.members[pe] = None;
        let news = Frame::new(FrameKind::Loss).ticket(pe as u64).value(view as i32);
        let news = news.body(how.as_bytes());
        others.into_iter().filter(|&other| other > 0).for_each(|other| self.send(other, news.clone()));
        if let Some(known) = self.link.lose(loss) {
            self.take(0, known);
        }
        let mail = self.exchanges.lost(pe);
        self.post(pe, mail);
        // Of earlier ones, which that PE alone did not know of.
        self.settle();
    }

    /// Has all PEs informed if all know of more losses than before.
    fn settle(&mut self) {
        let Some(arbiter) = &mut self.arbiter else { return };
        let Some(view) = arbiter.newly_settled() else { return };
        let others = arbiter.staying().filter(|&pe| pe > 0).collect::<Vec<_>>();
        let news = Frame::new(FrameKind::Settled).value(view as i32);
        others.into_iter().for_each(|other| self.send(other, news.clone()));
        self.link.settle(view);
    }

    /// Whether there are others to decide about, although PE 0 has left.
    fn decides_still(&mut self) -> bool {
        let goes_on = |arbiter: &&Arbiter| arbiter.goes_on() && self.over.is_none();
        let Some(arbiter) = self.arbiter.as_ref().filter(goes_on) else { return false };
        if arbiter.staying().next() == Some(0) {
            self.take(0, Frame::new(FrameKind::Leave));
        }
        self.arbiter.as_ref().is_some_and(|arbiter| arbiter.staying().next().is_some())
    }

    /// Sends what PEs are to have of what PE `pe` has brought about.
    fn post(&mut self, pe: usize, mail: io::Result<Mail>) {
        let mut last: Option<(Message, Arc<[u8]>)> = None;
        let mut post = |other, message: Message| {
            // One body for all.
            let body = match &last {
                Some((before, body)) if before.shares_body_with(&message) => Arc::clone(body),
                _ => message.clone().into_body()?.into(),
            };
            let kind = if message.kind == Kind::Regrouped { FrameKind::Regrouped } else { FrameKind::All };
            let frame = Frame::new(kind).ticket(message.ticket).value(message.value);
            last = Some((message, Arc::clone(&body)));
            self.send(other, frame.body(body));
            io::Result::Ok(())
        };
        let posted =
            mail.and_then(|mail| mail.into_iter().try_for_each(|(other, message)| post(other, message)));
        if let Err(error) = posted {
            self.lose(pe, &error);
        }
    }

    /// Ends the job for all.
    fn end(&mut self, over: Over) {
        if self.over.is_some() {
            return;
        }
        let frame = frame_of(&over);
        for pe in 1..self.members.len() {
            self.send(pe, frame.clone());
        }
        self.link.finish(over.clone());
        self.over = Some(over);
    }

    /// The PE of this process is in the job no more.
    fn leave(&mut self, stay: Stay) {
        if stay == Stay::Left {
            (1..self.members.len()).for_each(|pe| self.send(pe, Frame::new(FrameKind::Close)));
        }
        self.flush_all();
    }

    /// Sends what is unsent, for a moment.
    fn flush_all(&mut self) {
        let begin = Instant::now();
        while begin.elapsed() < LAST_WORDS {
            let unsent = self.members.iter_mut().flatten().filter(|it| it.channel.has_unsent());
            let unsent = unsent.filter_map(|it| it.channel.flush().ok().map(|()| it.channel.has_unsent()));
            if !unsent.fold(false, |any, unsent| any | unsent) {
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// What the others get of it.
fn frame_of(over: &Over) -> Frame {
    match over {
        &Over::Exit { pe, status } => Frame::new(FrameKind::Exit).ticket(pe as u64).value(status),
        Over::Lost { pe, how } => {
            Frame::new(FrameKind::Gone).ticket(*pe as u64).body(how.clone().into_bytes())
        }
    }
}

/// How a PE was lost.
pub(super) fn how(error: &io::Error, from: SocketAddr) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
            format!("its process, at {}, ended without finalize", from.ip())
        }
        _ => format!("the connection to it, at {}, broke: {error}", from.ip()),
    }
}

/// Sleeps until something happens to one of these.
pub(super) fn rest(polled: &mut [PollFd<'_>], limit: Duration) {
    // Rounded up, so that what is due is due when it is over.
    let limit = limit + Duration::from_micros(1);
    let limit = Timespec { tv_sec: limit.as_secs() as i64, tv_nsec: limit.subsec_nanos().into() };
    // Interrupted, or in vain: a turn that finds nothing does no harm.
    let _ = poll(polled, Some(&limit));
}
