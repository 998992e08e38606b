//! Connections that have not proved themselves yet: how many there may be, and for how long.
//!
//! All that is read of them has a fixed length. A stranger holds up no other: there is room for a
//! bounded number, each has a bounded time, and where there is no room the oldest goes. A PE that
//! has to go so tries again.

use std::{
    collections::VecDeque,
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
    time::{Duration, Instant},
};

use super::proof::{self, Identity, LONGEST, Proof, SecretKey};
use crate::cipher::Cipher;

/// How many connections there may be whose processes have proved nothing yet.
const MOST_HALF_OPEN: usize = 64;
/// How long each has.
pub(super) const LIMIT: Duration = Duration::from_secs(5);
/// How many are accepted before others have their turn.
const TURN: usize = 32;

/// Where connections come in.
#[derive(Debug)]
pub(super) struct Door {
    listens: TcpListener,
    secret: SecretKey,
    /// The oldest first.
    half_open: VecDeque<HalfOpen>,
    /// How many processes have been refused.
    pub(super) strangers: u64,
}

#[derive(Debug)]
struct HalfOpen {
    stream: TcpStream,
    from: SocketAddr,
    since: Instant,
    proof: Proof,
    /// Whether the first message is over.
    answered: bool,
    got: [u8; LONGEST],
    len: usize,
}

/// What became of a connection.
enum Progress {
    Waits,
    Stranger,
    Known(Identity),
}

/// A process that knows the secret.
#[derive(Debug)]
pub(super) struct Visitor {
    pub(super) stream: TcpStream,
    pub(super) from: SocketAddr,
    pub(super) identity: Identity,
    pub(super) cipher: Cipher,
}

impl Door {
    pub(super) fn new(listens: TcpListener, secret: SecretKey) -> Self {
        Self { listens, secret, half_open: VecDeque::new(), strangers: 0 }
    }

    pub(super) fn listens(&self) -> &TcpListener {
        &self.listens
    }

    /// What is to be read from.
    pub(super) fn streams(&self) -> impl Iterator<Item = &TcpStream> {
        self.half_open.iter().map(|it| &it.stream)
    }

    /// When the time of the first to go is up.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.half_open.front().map(|oldest| oldest.since + LIMIT)
    }

    /// Takes what has come, and returns those that have proved themselves.
    pub(super) fn turn(&mut self) -> Vec<Visitor> {
        for _ in 0..TURN {
            match self.listens.accept() {
                Ok((stream, from)) => self.enter(stream, from),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => {
                    // It ended before, or there are no descriptors for it, as there may be soon.
                    thread::sleep(Duration::from_millis(1));
                    break;
                }
            }
        }
        while self.half_open.front().is_some_and(|oldest| oldest.since.elapsed() >= LIMIT) {
            self.half_open.pop_front();
            self.strangers += 1;
        }
        let mut known = Vec::new();
        for mut it in std::mem::take(&mut self.half_open) {
            match it.go_on(&self.secret) {
                Progress::Waits => self.half_open.push_back(it),
                Progress::Stranger => self.strangers += 1,
                Progress::Known(identity) => {
                    if let Ok(Some(cipher)) = it.proof.finish() {
                        known.push(Visitor { stream: it.stream, from: it.from, identity, cipher });
                    }
                }
            }
        }
        known
    }

    fn enter(&mut self, stream: TcpStream, from: SocketAddr) {
        if self.half_open.len() == MOST_HALF_OPEN {
            self.half_open.pop_front();
            self.strangers += 1;
        }
        if stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true)).is_ok() {
            let (since, proof) = (Instant::now(), proof::begin());
            let half_open =
                HalfOpen { stream, from, since, proof, answered: false, got: [0; LONGEST], len: 0 };
            self.half_open.push_back(half_open);
        }
    }
}

impl HalfOpen {
    fn go_on(&mut self, secret: &SecretKey) -> Progress {
        self.read(secret).unwrap_or(Progress::Stranger)
    }

    fn read(&mut self, secret: &SecretKey) -> io::Result<Progress> {
        let [first, _, third, _] = self.proof.lengths();
        loop {
            let wanted = if self.answered { third } else { first };
            match self.stream.read(&mut self.got[self.len..wanted]) {
                Ok(0) => return Ok(Progress::Stranger),
                Ok(n) => self.len += n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Progress::Waits),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            if self.len < wanted {
                continue;
            }
            let message = &self.got[..wanted];
            if self.answered {
                let Some([pe, n_pes]) = self.proof.proven(message, secret) else {
                    return Ok(Progress::Stranger);
                };
                if let Some(fourth) = self.proof.answer(secret, []) {
                    self.stream.write_all(&fourth)?;
                }
                return Ok(Progress::Known(Identity { pe, n_pes }));
            }
            let Some(second) = self.proof.accept(message, secret)? else { return Ok(Progress::Stranger) };
            // It is the first thing that is written, for which there is room.
            self.stream.write_all(&second)?;
            (self.answered, self.len) = (true, 0);
        }
    }
}
