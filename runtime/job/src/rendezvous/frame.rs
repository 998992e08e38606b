//! What travels over a connection once both ends have proved themselves: frames of a header and a
//! body, encrypted.

use std::{
    collections::VecDeque,
    io::{self, Read},
    net::{SocketAddr, TcpStream},
    sync::Arc,
    time::Duration,
};

use rustix::{
    io::Errno,
    net::{SendFlags, send, sockopt},
};

use crate::cipher::{Cipher, LONGEST, RECORD};

/// What a [`Frame`] is. The comment says which of its parts are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum FrameKind {
    /// To PE 0: a contribution to an exchange (ticket; value: [`WANTS_NOTHING`] or 0; body).
    Give = 1,
    /// To PE 0: the PE has left the job in good order.
    Leave,
    /// To PE 0: asks for the end of the job (value: status).
    Abort,
    /// To PE 0: init is over, and the PE goes on without those that are lost from now on.
    Survives,
    /// To PE 0: a sign of life (ticket: its number).
    Beat,
    /// To PE 0: the PE knows of losses (value: how many).
    Knows,
    /// To PE 0: the PE has not reached another one for a while (value: which).
    Suspects,
    /// To PE 0: it reaches that one again (value: which).
    Reaches,
    /// To PE 0: what the PE gives to the other members of a team that are left (ticket; body: a
    /// [`TeamRound`](crate::TeamRound)).
    Regroup,
    /// From PE 0: all PEs are there, and exchanges can begin.
    Start,
    /// From PE 0: the process cannot be in the job (body: why).
    Refuse,
    /// From PE 0: the process is to connect anew in a moment.
    Retry,
    /// From PE 0: all contributions (ticket: that of the exchange; body), if they were wanted.
    All,
    /// From PE 0: what the members of a team gave (ticket; value: how many PEs are lost; body).
    Regrouped,
    /// From PE 0: a sign of life has come (ticket: its number).
    Acknowledged,
    /// From PE 0: a PE is gone, and the job goes on (ticket: which; value: how many are gone; body:
    /// how).
    Loss,
    /// From PE 0: all PEs know of losses (value: how many).
    Settled,
    /// From PE 0: a PE called `global_exit` (ticket: which; value: status).
    Exit,
    /// From PE 0: a PE is gone (ticket: which; body: how).
    Gone,
    /// From PE 0: it has left the job in good order, as all PEs are about to.
    Close,
}

impl FrameKind {
    fn from_byte(byte: u8) -> Option<Self> {
        use FrameKind::*;
        [
            Give,
            Leave,
            Abort,
            Survives,
            Beat,
            Knows,
            Suspects,
            Reaches,
            Regroup,
            Start,
            Refuse,
            Retry,
            All,
            Regrouped,
            Acknowledged,
            Loss,
            Settled,
            Exit,
            Gone,
            Close,
        ]
        .into_iter()
        .find(|&kind| kind as u8 == byte)
    }
}

/// The value of a contribution of a PE that wants none of the others'.
pub(super) const WANTS_NOTHING: i32 = 1;

/// One frame. A clone shares the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) kind: FrameKind,
    pub(super) value: i32,
    pub(super) ticket: u64,
    pub(super) body: Arc<[u8]>,
}

impl Frame {
    pub(super) fn new(kind: FrameKind) -> Self {
        Self { kind, value: 0, ticket: 0, body: Arc::default() }
    }

    pub(super) fn ticket(self, ticket: u64) -> Self {
        Self { ticket, ..self }
    }

    pub(super) fn value(self, value: i32) -> Self {
        Self { value, ..self }
    }

    pub(super) fn body(self, body: impl Into<Arc<[u8]>>) -> Self {
        Self { body: body.into(), ..self }
    }

    /// The body, as people may see it.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    fn header(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[0] = self.kind as u8;
        bytes[4..8].copy_from_slice(&self.value.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.ticket.to_le_bytes());
        bytes[16..].copy_from_slice(&(self.body.len() as u64).to_le_bytes());
        bytes
    }
}

const HEADER: usize = 24;
/// No body is longer: all contributions to an exchange of the largest jobs are not.
const LONGEST_BODY: u64 = 1 << 32;
/// What is read of one connection before others have their turn.
const TURN: usize = 1 << 20;

/// Puts frames together from what comes in pieces.
#[derive(Debug, Default)]
pub(super) struct Frames(Vec<u8>);

impl Frames {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// The next frame, if all of it is there.
    pub(super) fn next(&mut self) -> io::Result<Option<Frame>> {
        let Some((&header, rest)) = self.0.split_first_chunk::<HEADER>() else { return Ok(None) };
        let [kind, _, _, _, v0, v1, v2, v3, ref numbers @ ..] = header;
        let ([ticket, len], []) = numbers.as_chunks() else { unreachable!("16 bytes are two words") };
        let (ticket, len) = (u64::from_le_bytes(*ticket), u64::from_le_bytes(*len));
        let malformed = || io::Error::new(io::ErrorKind::InvalidData, "what it sent is malformed");
        let kind = FrameKind::from_byte(kind).filter(|_| len <= LONGEST_BODY).ok_or_else(malformed)?;
        let Some(body) = usize::try_from(len).ok().and_then(|len| rest.get(..len)) else { return Ok(None) };
        let frame = Frame { kind, value: i32::from_le_bytes([v0, v1, v2, v3]), ticket, body: body.into() };
        self.0.drain(..HEADER + body.len());
        Ok(Some(frame))
    }
}

/// A connection whose both ends have proved themselves. It never blocks.
#[derive(Debug)]
pub(super) struct Channel {
    pub(super) stream: TcpStream,
    /// The other end.
    pub(super) from: SocketAddr,
    cipher: Cipher,
    /// What was read and not decrypted: less than a record.
    records: Vec<u8>,
    clear: Vec<u8>,
    frames: Frames,
    unsent: VecDeque<Frame>,
    /// Records of the first of them, and bytes of these that are gone already.
    sealed: Vec<u8>,
    sent: usize,
}

impl Channel {
    pub(super) fn new(stream: TcpStream, from: SocketAddr, cipher: Cipher) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        // The kernel's words for a machine that has vanished: within 25 s without an answer.
        sockopt::set_socket_keepalive(&stream, true)?;
        sockopt::set_tcp_keepidle(&stream, Duration::from_secs(10))?;
        sockopt::set_tcp_keepintvl(&stream, Duration::from_secs(5))?;
        sockopt::set_tcp_keepcnt(&stream, 3)?;
        // And where something is on its way to it.
        let _ = sockopt::set_tcp_user_timeout(&stream, 25_000);
        let (records, clear, sealed) = (Vec::new(), Vec::new(), Vec::new());
        let (frames, unsent) = (Frames::default(), VecDeque::new());
        Ok(Self { stream, from, cipher, records, clear, frames, unsent, sealed, sent: 0 })
    }

    /// Sends a frame, or keeps what there is no room for.
    pub(super) fn send(&mut self, frame: Frame) -> io::Result<()> {
        self.unsent.push_back(frame);
        self.flush()
    }

    pub(super) fn has_unsent(&self) -> bool {
        self.sent < self.sealed.len() || !self.unsent.is_empty()
    }

    /// Sends what there is room for.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        while self.has_unsent() {
            if self.sent == self.sealed.len() {
                (self.sent, self.sealed) = (0, Vec::new());
                let Some(frame) = self.unsent.pop_front() else { break };
                self.cipher.seal(&frame.header(), &mut self.sealed);
                for bytes in frame.body.chunks(RECORD) {
                    self.cipher.seal(bytes, &mut self.sealed);
                }
            }
            match send(&self.stream, &self.sealed[self.sent..], SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(written) => self.sent += written,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// The next frame that is there. `UnexpectedEof` is the end.
    pub(super) fn receive(&mut self) -> io::Result<Option<Frame>> {
        let mut piece = [0; 4 * LONGEST];
        let mut taken = 0;
        loop {
            if let Some(frame) = self.frames.next()? {
                return Ok(Some(frame));
            }
            if taken > TURN {
                return Ok(None);
            }
            match self.stream.read(&mut piece) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(n) => {
                    taken += n;
                    self.decrypt(&piece[..n])?;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn decrypt(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.records.extend_from_slice(bytes);
        let mut opened = 0;
        while let Some(len) = self.cipher.open(&self.records[opened..], &mut self.clear)? {
            opened += len;
        }
        self.records.drain(..opened);
        self.frames.push(&self.clear);
        self.clear.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames() -> [Frame; 4] {
        [
            Frame::new(FrameKind::Give).ticket(7).value(-1).body(vec![5; 300]),
            Frame::new(FrameKind::Start),
            Frame::new(FrameKind::Gone).ticket(2).body(b"how".to_vec()),
            Frame::new(FrameKind::All).ticket(u64::MAX),
        ]
    }

    fn bytes(frame: &Frame) -> Vec<u8> {
        [&frame.header()[..], &frame.body].concat()
    }

    #[test]
    fn frames_come_out_whole_whatever_pieces_they_come_in() {
        let all: Vec<u8> = frames().iter().flat_map(bytes).collect();
        for size in [1, 7, 24, 25, 1000] {
            let (mut parsed, mut frames_out) = (Frames::default(), Vec::new());
            for piece in all.chunks(size) {
                parsed.push(piece);
                while let Some(frame) = parsed.next().unwrap() {
                    frames_out.push(frame);
                }
            }
            assert_eq!(frames_out, frames(), "pieces of {size}");
        }
    }

    #[test]
    fn bytes_are_frames_or_refused_whatever_is_sent() {
        let real: Vec<_> = frames().iter().map(bytes).collect();
        oxshmem_base::fuzz::mutated(&real, |bytes| {
            let mut parsed = Frames::default();
            parsed.push(bytes);
            while let Ok(Some(frame)) = parsed.next() {
                assert!(frame.body.len() <= bytes.len());
            }
        });
    }
}
