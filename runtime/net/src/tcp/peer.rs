//! Another PE: the connection to it, both streams, and what is under way.

use std::{
    io,
    net::SocketAddr,
    time::{Duration, Instant},
};

use oxshmem_base::{Error, Result};
use rustix::event::epoll::EventFlags;

use super::{
    Effect, Effects,
    frame::Kind,
    incoming::Incoming,
    kernel::would_block,
    outgoing::Outgoing,
    proof::{Claim, Credentials, LONGEST, Proof, Verdict},
    socket::Socket,
    talk::Talk,
};

/// How long a PE may be out of reach before it is lost.
const OUT_OF_REACH: Duration = Duration::from_secs(2);
/// Where only the launcher decides which PE is lost: how long one may acknowledge nothing before
/// its connection breaks, and how long it may be out of reach then before that is reported.
const REPORTED_AFTER: Duration = Duration::from_secs(5);
/// How long an attempt may take until the other host's kernel has answered.
const ATTEMPT: Duration = Duration::from_secs(10);
/// The first pause between two attempts, and the longest.
const PAUSES: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(100)];
/// After a write for so long what comes is gathered, unless this PE waits.
const GATHERING: Duration = Duration::from_micros(10);
/// After this many bytes it is acknowledged what has come, and with what is sent anyway after so
/// few.
const REPORTED: u64 = 128 << 10;
const BY_THE_WAY: u64 = 1 << 10;

/// What leads to a PE.
pub(super) enum Connection {
    /// Nothing, until then.
    Down(Instant),
    /// An attempt.
    Connecting(Socket, Box<Attempt>),
    Up(Socket),
    /// Nothing any more: the PE has left, or is lost, for this reason.
    Gone(Departure),
}

/// How a PE has left, or was lost.
#[derive(Clone, Debug)]
pub(super) struct Departure {
    pub(super) how: String,
    /// Of the loss, if the job goes on.
    pub(super) view: u64,
}

impl Departure {
    pub(super) fn new(how: impl Into<String>) -> Self {
        Self { how: how.into(), view: 0 }
    }

    /// What becomes of operations.
    pub(super) fn error(&self, pe: usize) -> Error {
        Error::PeLost { pe, view: self.view, how: self.how.clone() }
    }
}

/// A connection of this PE's that is not proven.
pub(super) struct Attempt {
    proof: Proof,
    /// Which message comes next; none before it is connected.
    next: Option<usize>,
    since: Instant,
    message: ProofMessage,
}

/// What has come of a message of a proof.
#[derive(Default)]
pub(super) struct ProofMessage {
    bytes: Vec<u8>,
}

impl ProofMessage {
    /// Reads on, up to `len` bytes; the message, if all of it is there.
    pub(super) fn read(&mut self, socket: &mut Socket, len: usize) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = [0; LONGEST];
        match socket.read_bytes(&mut bytes[..len - self.bytes.len()]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => self.bytes.extend_from_slice(&bytes[..n]),
            Err(error) if would_block(&error) => {}
            Err(error) => return Err(error),
        }
        Ok((self.bytes.len() == len).then(|| std::mem::take(&mut self.bytes)))
    }
}

/// What became of an attempt.
pub(super) enum Attempted {
    GoesOn,
    /// The other PE has this much of the stream.
    Up(u64),
    /// The other PE connects itself.
    Refused,
}

impl Attempt {
    pub(super) fn new(credentials: &Credentials) -> Self {
        Self {
            proof: credentials.begin(),
            next: None,
            since: Instant::now(),
            message: ProofMessage::default(),
        }
    }

    fn go_on(
        &mut self,
        socket: &mut Socket,
        credentials: &Credentials,
        claim: Claim,
    ) -> io::Result<Attempted> {
        let unproven = || io::Error::other("what answers there is no PE of this job");
        if self.next.is_none() {
            if !socket.connected()? {
                return match self.since.elapsed() < ATTEMPT {
                    true => Ok(Attempted::GoesOn),
                    false => Err(io::ErrorKind::TimedOut.into()),
                };
            }
            socket.write_bytes(&self.proof.begin()?)?;
            self.next = Some(1);
        }
        while let Some(next) = self.next
            && let Some(message) = self.message.read(socket, self.proof.lengths()[next])?
        {
            let secret = &credentials.secret;
            if next == 3 {
                let verdict = self.proof.answered(&message, secret).map(Verdict::of).ok_or_else(unproven)?;
                let Verdict { accepted, received } = verdict;
                return Ok(if accepted { Attempted::Up(received) } else { Attempted::Refused });
            }
            let third = self.proof.prove(&message, secret, claim.words()).ok_or_else(unproven)?;
            socket.write_bytes(&third)?;
            self.next = Some(3);
        }
        Ok(Attempted::GoesOn)
    }
}

/// Another PE.
pub(super) struct TcpPeer {
    pub(super) link: Connection,
    pub(super) out: Outgoing,
    pub(super) incoming: Incoming,
    pub(super) talk: Talk,
    /// How many connections there were.
    pub(super) connections: u64,
    /// How much of what has come it knows of.
    reported: u64,
    /// Whether it waits for an acknowledgement.
    pub(super) urgent: bool,
    written: Instant,
    /// Whether the socket has no room.
    pub(super) blocked: bool,
    /// Whether there is something to write, which is in the net's list then.
    pub(super) waits: bool,
    /// What epoll watches of the present socket, if it does.
    pub(super) watched: Option<EventFlags>,
    addresses: Vec<SocketAddr>,
    /// It is lost only when the launcher says so, however long it is out of reach.
    goes_on: bool,
    trouble: Option<Trouble>,
}

/// A PE is out of reach.
struct Trouble {
    since: Instant,
    /// How often it was tried.
    tried: usize,
    /// What went wrong.
    why: String,
    /// Whether that was reported.
    reported: bool,
}

impl TcpPeer {
    pub(super) fn new(addresses: Vec<SocketAddr>, goes_on: bool) -> Self {
        let now = Instant::now();
        Self {
            link: Connection::Down(now),
            out: Outgoing::default(),
            incoming: Incoming::default(),
            talk: Talk::default(),
            connections: 0,
            reported: 0,
            urgent: false,
            written: now.checked_sub(GATHERING).unwrap_or(now),
            blocked: false,
            waits: false,
            watched: None,
            addresses,
            goes_on,
            trouble: None,
        }
    }

    /// An error if it is gone.
    pub(super) fn check(&self, pe: usize) -> Result<()> {
        match &self.link {
            Connection::Gone(how) => Err(how.error(pe)),
            _ => Ok(()),
        }
    }

    /// Connects, if it is time to, or goes on with that. Whether it is connected now.
    pub(super) fn connect(&mut self, credentials: &Credentials, claim: Claim, events: &mut Effects) -> bool {
        if let Connection::Down(then) = self.link {
            if Instant::now() < then {
                return false;
            }
            let tried = self.trouble.as_ref().map_or(0, |trouble| trouble.tried);
            let address = self.addresses.get(tried % self.addresses.len().max(1)).copied();
            let connecting = match address {
                Some(address) => Socket::connect(address),
                None => Err(io::Error::other("it has published no address")),
            };
            match connecting {
                Ok(socket) => {
                    let attempt = Attempt::new(credentials);
                    (self.link, self.watched) = (Connection::Connecting(socket, Box::new(attempt)), None)
                }
                Err(error) => self.broke(&error),
            }
        }
        let Connection::Connecting(socket, attempt) = &mut self.link else { return false };
        match attempt.go_on(socket, credentials, claim) {
            Ok(Attempted::GoesOn) => false,
            Ok(Attempted::Up(received)) => {
                let Connection::Connecting(mut socket, attempt) =
                    std::mem::replace(&mut self.link, Connection::Down(Instant::now()))
                else {
                    return false;
                };
                match attempt.proof.finish() {
                    Ok(cipher) => socket.encrypt(cipher),
                    Err(error) => {
                        self.broke(&error);
                        return false;
                    }
                }
                self.up(socket, (claim.before, received), events)
            }
            Ok(Attempted::Refused) => {
                self.link = Connection::Down(Instant::now() + PAUSES[1]);
                false
            }
            Err(error) => {
                self.broke(&error);
                false
            }
        }
    }

    /// The socket is a connection to it, which counts this many `before`, and has `received` this
    /// much of the stream. Whether it can be.
    pub(super) fn up(
        &mut self,
        socket: Socket,
        (before, received): (u64, u64),
        events: &mut Effects,
    ) -> bool {
        if !self.out.rewind(received, |done| events.push_back(Effect::Word(done, Ok(0)))) {
            self.link =
                Connection::Gone(Departure::new("it has another part of the stream than this PE has sent"));
            return false;
        }
        self.reported = self.incoming.received();
        self.connections = before + 1;
        if self.goes_on {
            socket.break_after(REPORTED_AFTER);
        }
        (self.link, self.blocked) = (Connection::Up(socket), false);
        true
    }

    /// Its connection, or an attempt, has come to an end.
    pub(super) fn broke(&mut self, error: &io::Error) {
        let waits = self.goes_on;
        let now = Instant::now();
        let former = self.trouble.take();
        let (since, tried, reported) =
            former.map_or((now, 0, false), |former| (former.since, former.tried + 1, former.reported));
        if self.talk.left {
            self.link = Connection::Gone(Departure::new("it has left the job"));
        } else if !waits && since.elapsed() >= OUT_OF_REACH {
            self.link = Connection::Gone(Departure::new(format!("it cannot be reached: {error}")));
        } else {
            let pause = PAUSES[0] * (1 << tried.min(10) as u32);
            self.link = Connection::Down(now + pause.min(PAUSES[1]));
        }
        self.trouble = Some(Trouble { since, tried, why: error.to_string(), reported });
    }

    /// Why it is out of reach, if it is for a while and stays so as long as it takes: once.
    pub(super) fn complaint(&mut self) -> Option<String> {
        let suspicious = match &self.link {
            Connection::Gone(_) | Connection::Up(_) => false,
            // Its kernel has answered, and it will, once it runs.
            Connection::Connecting(_, attempt) if attempt.next.is_some() => false,
            Connection::Connecting(..) | Connection::Down(_) => self.goes_on,
        };
        let trouble = self.trouble.as_mut().filter(|trouble| suspicious && !trouble.reported)?;
        if trouble.since.elapsed() < REPORTED_AFTER {
            return None;
        }
        trouble.reported = true;
        let address = self.addresses.first().map_or(String::new(), |address| format!(" ({address})"));
        Some(format!("{address}: {}", trouble.why))
    }

    /// It is connected. Whether it was reported to be out of reach.
    pub(super) fn is_reached_again(&mut self) -> bool {
        self.trouble.take().is_some_and(|trouble| trouble.reported)
    }

    /// When there is something to do that no socket shows.
    pub(super) fn due(&self) -> Option<Instant> {
        let due = match &self.link {
            Connection::Down(then) => Some(*then),
            Connection::Connecting(_, attempt) if attempt.next.is_none() => Some(attempt.since + ATTEMPT),
            _ => None,
        };
        let reported = self.trouble.as_ref().filter(|trouble| self.goes_on && !trouble.reported);
        due.map(|due| reported.map_or(due, |trouble| due.min(trouble.since + REPORTED_AFTER)))
    }

    /// Whether operations wait a moment for others to be written with.
    pub(super) fn gathers(&self) -> bool {
        self.written.elapsed() < GATHERING
    }

    /// Writes what there is, as far as there is room.
    pub(super) fn write(&mut self, events: &mut Effects) -> io::Result<()> {
        let Connection::Up(socket) = &mut self.link else { return Ok(()) };
        let unreported = self.incoming.received() - self.reported;
        let by_the_way = unreported >= BY_THE_WAY && self.out.unwritten() > 0;
        if unreported >= REPORTED || by_the_way || (self.urgent && unreported > 0) {
            self.reported = self.incoming.received();
            self.out.push_words(Kind::Ack, self.reported, &[]);
        }
        self.urgent = false;
        loop {
            self.talk.pump(&mut self.out, events);
            let any = self.out.unwritten() > 0;
            self.blocked = !self.out.write(socket)?;
            if self.blocked || !any {
                break;
            }
        }
        self.written = Instant::now();
        Ok(())
    }

    /// Whether everything was written.
    pub(super) fn is_written(&self) -> bool {
        self.out.unwritten() == 0 && !self.blocked
    }

    /// Whether there is something to write now that frames have come.
    pub(super) fn owes(&self) -> bool {
        self.out.unwritten() > 0
            || self.urgent
            || self.talk.has_more()
            || self.incoming.received() - self.reported >= REPORTED
    }

    /// What epoll is to watch of the present socket.
    pub(super) fn interest(&self) -> EventFlags {
        match &self.link {
            Connection::Connecting(_, attempt) if attempt.next.is_none() => EventFlags::OUT,
            Connection::Up(_) if self.blocked => EventFlags::IN | EventFlags::OUT,
            _ => EventFlags::IN,
        }
    }

    /// The present socket.
    pub(super) fn socket(&self) -> Option<&Socket> {
        match &self.link {
            Connection::Connecting(socket, _) | Connection::Up(socket) => Some(socket),
            Connection::Down(_) | Connection::Gone(_) => None,
        }
    }
}

/// A connection of another process, which is not proven.
pub(super) struct HalfOpen {
    pub(super) socket: Socket,
    pub(super) since: Instant,
    proof: Proof,
    proves: bool,
    message: ProofMessage,
}

impl HalfOpen {
    pub(super) fn new(socket: Socket, credentials: &Credentials) -> Self {
        Self {
            socket,
            since: Instant::now(),
            proof: credentials.begin(),
            proves: false,
            message: ProofMessage::default(),
        }
    }

    /// Goes on; what it says of itself, once that is proven.
    pub(super) fn go_on(&mut self, Credentials { secret, .. }: &Credentials) -> io::Result<Option<Claim>> {
        let stranger = || io::Error::other("a process that is not of this job");
        let [first, _, third, _] = self.proof.lengths();
        loop {
            let len = if self.proves { third } else { first };
            let Some(message) = self.message.read(&mut self.socket, len)? else { return Ok(None) };
            if self.proves {
                let words = self.proof.proven(&message, secret).ok_or_else(stranger)?;
                return Ok(Some(Claim::of(words)));
            }
            let second = self.proof.accept(&message, secret)?;
            self.socket.write_bytes(&second.ok_or_else(stranger)?)?;
            self.proves = true;
        }
    }

    /// Answers that. What leads to the PE from then on.
    pub(super) fn answer(mut self, credentials: &Credentials, verdict: Verdict) -> io::Result<Socket> {
        let fourth = self.proof.answer(&credentials.secret, verdict.words());
        self.socket.write_bytes(&fourth.unwrap_or_default())?;
        self.socket.encrypt(self.proof.finish()?);
        Ok(self.socket)
    }
}
