//! The side of all PEs but 0: the thread that connects to PE 0, and passes on what the PE asks for
//! and what PE 0 answers.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    os::fd::AsFd,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use oxshmem_base::{Error, Result, span::span};
use rustix::event::{PollFd, PollFlags};

use crate::{
    lease::{BEAT, Lease, now},
    losses::Loss,
};

use super::{
    Conduct,
    door::LIMIT,
    ending::Ending,
    fence::Fence,
    frame::{Channel, Frame, FrameKind},
    given::{Rendezvous, refused},
    link::{Link, Over, Stay},
    proof::{self, SecretKey},
    serve::{LAST_WORDS, how, rest},
};

/// The longest pause before it is tried again.
const PAUSE: Duration = Duration::from_millis(200);
/// The longest that a connection takes to be made.
const CONNECTS: Duration = Duration::from_secs(3);
/// How long a process has to end by itself when its world was dropped in a job that goes on.
const TO_END: Duration = Duration::from_secs(1);
/// The longest that the thread sleeps.
const LONG: Duration = Duration::from_secs(3600);

/// Runs the thread of another PE to its end.
pub(super) fn run(
    given: &Rendezvous,
    secret: &SecretKey,
    (conduct, fence): (Conduct, Option<Fence>),
    link: &Arc<Link>,
) {
    match join(given, secret, link) {
        Ok(Some(channel)) => {
            link.start(Ok(()));
            let (me, term, link) = (given.pe, given.lease, Arc::clone(link));
            Follower { me, term, conduct, link, channel, fence, lease: None, over: None, closed: false }
                .run();
        }
        Ok(None) => {}
        Err(error) => link.start(Err(error)),
    }
}

/// Why there is no connection.
enum Obstacle {
    /// It may be there in a moment.
    Later(String),
    Never(Error),
}

impl From<io::Error> for Obstacle {
    fn from(error: io::Error) -> Self {
        Self::Later(match error.kind() {
            io::ErrorKind::UnexpectedEof => "what listens there closed the connection".to_owned(),
            _ => error.to_string(),
        })
    }
}

/// The connection to PE 0, once all PEs are there. None if the PE does not wait for it any more.
fn join(given: &Rendezvous, secret: &SecretKey, link: &Link) -> Result<Option<Channel>> {
    let begin = Instant::now();
    let mut pause = Duration::from_millis(10);
    loop {
        let why = match connect(given, secret).and_then(|channel| admitted(channel, link)) {
            Ok(admitted) => return Ok(admitted),
            Err(Obstacle::Never(error)) => return Err(error),
            Err(Obstacle::Later(why)) => why,
        };
        if link.is_left() {
            return Ok(None);
        }
        if begin.elapsed() >= given.timeout {
            let (pe, address, limit) = (given.pe, &given.address, span(given.timeout));
            return Err(refused(format_args!(
                "PE {pe} has not reached PE 0 at {address} within {limit}: {why}"
            )));
        }
        thread::sleep(pause);
        pause = PAUSE.min(pause * 2);
    }
}

/// A connection to a PE 0 that knows the secret.
fn connect(given: &Rendezvous, secret: &SecretKey) -> Result<Channel, Obstacle> {
    let mut outcome = Err(Obstacle::Later("its name is not known".to_owned()));
    // A name may have addresses of which not all lead there.
    for address in given.resolve()? {
        let made = TcpStream::connect_timeout(&address, CONNECTS);
        outcome = made.map_err(Obstacle::from).and_then(|stream| prove(given, secret, stream, address));
        if !matches!(outcome, Err(Obstacle::Later(_))) {
            break;
        }
    }
    outcome
}

fn prove(
    given: &Rendezvous,
    secret: &SecretKey,
    mut stream: TcpStream,
    at: SocketAddr,
) -> Result<Channel, Obstacle> {
    // Of a port that no process listens at, the kernel may connect a socket to itself.
    if stream.local_addr()? == stream.peer_addr()? {
        return Err(io::Error::from(io::ErrorKind::ConnectionRefused).into());
    }
    stream.set_read_timeout(Some(LIMIT))?;
    stream.set_nodelay(true)?;
    let other = || {
        let (pe, address) = (given.pe, &given.address);
        Obstacle::Never(refused(format_args!(
            "PE {pe} has another secret (SHMEM_RENDEZVOUS_SECRET) than PE 0, which listens at {address}"
        )))
    };
    let mut proof = proof::begin();
    let [_, second, _, fourth] = proof.lengths();
    let (mut second, mut fourth) = (vec![0; second], vec![0; fourth]);
    stream.write_all(&proof.begin()?)?;
    stream.read_exact(&mut second)?;
    let me = [given.pe as u64, given.n_pes as u64];
    stream.write_all(&proof.prove(&second, secret, me).ok_or_else(other)?)?;
    stream.read_exact(&mut fourth)?;
    let [] = proof.answered(&fourth, secret).ok_or_else(other)?;
    let cipher = proof.finish()?.ok_or_else(other)?;
    Ok(Channel::new(stream, at, cipher)?)
}

/// Waits until PE 0 says that all PEs are there, for as long as it takes: PE 0 has the limit.
fn admitted(mut channel: Channel, link: &Link) -> Result<Option<Channel>, Obstacle> {
    loop {
        match channel.receive()?.map(|frame| (frame.kind, frame)) {
            Some((FrameKind::Start, _)) => return Ok(Some(channel)),
            Some((FrameKind::Refuse, frame)) => return Err(Obstacle::Never(refused(frame.text()))),
            Some((FrameKind::Retry, _)) => {
                return Err(Obstacle::Later("the job there is about to end".to_owned()));
            }
            Some((kind, _)) => {
                return Err(Obstacle::Never(refused(format_args!(
                    "PE 0 sent {kind:?} before the job began"
                ))));
            }
            None if link.is_left() => return Ok(None),
            None => rest(
                &mut [
                    PollFd::from_borrowed_fd(channel.stream.as_fd(), PollFlags::IN),
                    PollFd::from_borrowed_fd(link.bell(), PollFlags::IN),
                ],
                LONG,
            ),
        }
    }
}

/// The state of the thread.
struct Follower {
    me: usize,
    /// How long a lease is.
    term: Duration,
    conduct: Conduct,
    link: Arc<Link>,
    channel: Channel,
    /// In a process of the PE's own, if the job goes on when a PE is lost.
    fence: Option<Fence>,
    /// In such a job, once init is over, with the time of the next beat.
    lease: Option<(Lease, Duration)>,
    over: Option<Ending>,
    /// Nothing more comes from PE 0.
    closed: bool,
}

impl Follower {
    fn run(&mut self) {
        loop {
            let beats = self.beat();
            let limit = self.over.as_mut().map_or(LONG, Ending::go_on);
            self.sleep(limit.min(beats));
            let (requests, stay) = self.link.take();
            for request in requests {
                self.send(request);
            }
            match stay {
                Stay::In => self.listen(),
                Stay::Left => {
                    self.send(Frame::new(FrameKind::Leave));
                    return self.flush();
                }
                Stay::Abandoned => return self.end_process(),
            }
        }
    }

    /// Gives a sign of life if it is time to. How long it is until the next one.
    fn beat(&mut self) -> Duration {
        let Some((lease, at)) = &mut self.lease else { return LONG };
        let now = now();
        if let Some(left) = at.checked_sub(now).filter(|left| !left.is_zero()) {
            return left;
        }
        *at = now + BEAT;
        if let Some(number) = lease.beat(now) {
            self.send(Frame::new(FrameKind::Beat).ticket(number));
        }
        BEAT
    }

    /// The PE's world was dropped, in a job that goes on without it: its process ends, before the
    /// others see that the connection is closed.
    fn end_process(&self) {
        if let (Some(fence), Some(_)) = (&self.fence, &self.lease) {
            fence.set(now() + TO_END);
            loop {
                thread::park();
            }
        }
    }

    fn sleep(&self, limit: Duration) {
        let mut polled = vec![PollFd::from_borrowed_fd(self.link.bell(), PollFlags::IN)];
        if !self.closed {
            let out = if self.channel.has_unsent() { PollFlags::OUT } else { PollFlags::empty() };
            polled.push(PollFd::from_borrowed_fd(self.channel.stream.as_fd(), PollFlags::IN | out));
        }
        rest(&mut polled, limit);
    }

    fn send(&mut self, frame: Frame) {
        if frame.kind == FrameKind::Survives {
            // Before PE 0 counts.
            let now = now();
            let lease = Lease::begin(self.term, now);
            self.fence.iter().for_each(|fence| fence.set(lease.until()));
            self.lease = Some((lease, now + BEAT));
        }
        if !self.closed {
            // What fails here is seen where it is read.
            let _ = self.channel.send(frame);
        }
    }

    /// Takes what PE 0 has sent.
    fn listen(&mut self) {
        while !self.closed {
            let received = self.channel.receive();
            let flushed = self.channel.flush();
            match received.and_then(|frame| flushed.map(|()| frame)) {
                Ok(Some(frame)) => self.take(frame),
                Ok(None) => return,
                Err(error) => self.end(Over::Lost { pe: 0, how: how(&error, self.channel.from) }),
            }
        }
    }

    fn take(&mut self, frame: Frame) {
        let pe = frame.ticket as usize;
        match frame.kind {
            FrameKind::All | FrameKind::Regrouped => {
                self.link.deliver(frame.ticket, (frame.value, frame.body));
            }
            FrameKind::Acknowledged => {
                let renewal = self.lease.as_mut().and_then(|(lease, _)| lease.acknowledged(frame.ticket));
                if let (Some(renewal), Some(fence)) = (renewal, &self.fence) {
                    fence.set(renewal.until);
                }
            }
            FrameKind::Loss => {
                let loss = Loss::new(pe, frame.value as u64, &frame.text());
                if let Some(known) = self.link.lose(loss) {
                    self.send(known);
                }
            }
            FrameKind::Settled => self.link.settle(frame.value as u64),
            FrameKind::Exit => self.end(Over::Exit { pe, status: frame.value }),
            FrameKind::Gone => self.end(Over::Lost { pe, how: frame.text() }),
            FrameKind::Close => self.close(),
            kind => {
                self.end(Over::Lost { pe: 0, how: format!("it sent {kind:?}, which PE 0 does not send") })
            }
        }
    }

    /// Nothing more comes from PE 0, which decides nothing any more.
    fn close(&mut self) {
        (self.closed, self.lease, self.fence) = (true, None, None);
    }

    /// The job is over.
    fn end(&mut self, over: Over) {
        self.close();
        self.link.finish(over.clone());
        self.over = self.conduct.ends_process.then(|| Ending::begin(self.me, over));
    }

    /// Sends what is unsent, for a moment.
    fn flush(&mut self) {
        let begin = Instant::now();
        while begin.elapsed() < LAST_WORDS && self.channel.flush().is_ok() && self.channel.has_unsent() {
            thread::sleep(Duration::from_millis(1));
        }
    }
}
