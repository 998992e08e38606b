//! What travels between a PE and `oshrun`: the same code at both ends.
//!
//! Each PE inherits one end of a pair of `SOCK_SEQPACKET` sockets, which
//! [`JOB_VARIABLE`](super::job::JOB_VARIABLE) names. A [`Message`] is a header of 16 bytes, a body,
//! and descriptors (`SCM_RIGHTS`). No datagram exceeds [`MAX_DATAGRAM`]: a longer body travels as a
//! memfd, so that the result of an exchange is written once, whatever the number of PEs, and
//! descriptors beyond [`MAX_DESCRIPTORS`] follow in further datagrams. Descriptors are only taken
//! from a process of the same user, which the kernel vouches for (`SCM_CREDENTIALS`).

use std::{
    collections::VecDeque,
    fs::File,
    io::{self, IoSlice, IoSliceMut, Read},
    mem::MaybeUninit,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::fs::{FileExt, MetadataExt},
    },
    sync::Arc,
};

use oxshmem_base::memfd;
use rustix::{
    cmsg_space,
    fs::{FileType, fstat},
    net::{
        AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
        SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg,
        socketpair, sockopt::set_socket_passcred,
    },
    process::getuid,
};

/// The longest datagram.
pub const MAX_DATAGRAM: usize = 32 << 10;

/// The value of an exchange of whose contributions the PE wants none.
pub const TELL_NOTHING: i32 = 1;

/// The most descriptors in one datagram; the kernel's own limit is 253.
pub const MAX_DESCRIPTORS: usize = 200;

/// What a [`Message`] is. The comment says which of its parts are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// PE: this process takes part from now on.
    Join = 1,
    /// PE: its contribution to an exchange (ticket; value: [`TELL_NOTHING`] or 0; body).
    Exchange,
    /// PE, a host's leader: descriptors for the PEs of its host (descriptors).
    Offer,
    /// PE, not a leader: asks for the next of its leader's offers (ticket).
    Fetch,
    /// PE: it has left the job in good order.
    Finalized,
    /// PE: its world was dropped without finalize, and its process is likely to end (descriptors:
    /// one that is closed when this is known).
    Abandoned,
    /// PE: asks for the end of the job (value: status; body: why).
    Abort,
    /// PE: it has waited for longer than it should (no parts).
    Stuck,
    /// PE: its init is over, and it goes on without PEs that are lost from now on (no parts).
    Survives,
    /// PE: what it gives to the other members of a team that are left (ticket; body: see
    /// [`TeamRound`]).
    Regroup,
    /// PE: it knows of losses, and takes nothing more from those PEs (value: how many).
    Knows,
    /// PE: it has not reached another one for a while (value: which).
    Suspects,
    /// PE: it reaches that one again (value: which).
    Reaches,
    /// Launcher: what all of them gave (the ticket; value: how many PEs are lost; body, see
    /// [`pack`], in which those that are lost gave nothing).
    Regrouped,
    /// Launcher: all contributions (the ticket of the exchange; body, see [`pack`]); no
    /// body if none was wanted.
    Exchanged,
    /// Launcher: what the leader offered (the ticket of the fetch; descriptors).
    Offered,
    /// Launcher: a PE called `global_exit` (ticket: which; value: the status).
    GlobalExit,
    /// Launcher: a PE is gone, and the job with it (ticket: which; body: how).
    Lost,
    /// Launcher: a PE is gone, and the job goes on (ticket: which; value: how many are gone by now;
    /// body: how).
    Loss,
    /// Launcher: a replacement of a PE is there (ticket: which; value: in how many exchanges; body:
    /// what it gave in them, see [`pack`]).
    Rejoined,
    /// Launcher: all PEs know of losses (value: how many).
    Settled,
}

impl Kind {
    /// The kind that has this number.
    pub fn from_byte(byte: u8) -> Option<Self> {
        use Kind::*;
        [
            Join, Exchange, Offer, Fetch, Finalized, Abandoned, Abort, Stuck, Survives, Regroup, Knows,
            Suspects, Reaches, Regrouped, Exchanged, Offered, GlobalExit, Lost, Loss, Rejoined, Settled,
        ]
        .into_iter()
        .find(|&kind| kind as u8 == byte)
    }
}

/// A round of members of a team that are left, of which one gives something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamRound {
    /// Names the team, and counts its rounds.
    pub key: [u64; 2],
    /// How many PEs the job had lost when the team was made.
    pub view: u64,
    /// All members of the team.
    pub members: Vec<usize>,
    /// What this one gives.
    pub given: Vec<u8>,
}

impl TeamRound {
    /// The key of the rounds in which replacements come in: of all PEs that are there, whenever
    /// their teams were made.
    pub const REBUILT: [u64; 2] = [u64::MAX; 2];
    /// What a PE that has left in good order gives there.
    pub const LEFT: [u8; 1] = [0];
    /// What one gives there that waits for another PE in a round of a team: all of these fail.
    pub const ELSEWHERE: [u8; 1] = [u8::MAX];

    /// The body of the message.
    pub fn encode(&self) -> Vec<u8> {
        let n = self.members.len() as u64;
        let words =
            self.key.into_iter().chain([self.view, n]).chain(self.members.iter().map(|&pe| pe as u64));
        let mut bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        bytes.extend(&self.given);
        bytes
    }

    /// Takes it apart; `None` if it is something else.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (words, _) = bytes.as_chunks();
        let word = |i: usize| words.get(i).map(|&word| u64::from_le_bytes(word));
        let key = [word(0)?, word(1)?];
        let view = word(2)?;
        let n = usize::try_from(word(3)?).ok().filter(|&n| n <= words.len().saturating_sub(4))?;
        let members = (0..n).map(|i| word(4 + i).and_then(|pe| usize::try_from(pe).ok()));
        let given = bytes.get(8 * (4 + n)..)?.to_vec();
        Some(Self { key, view, members: members.collect::<Option<_>>()?, given })
    }
}

/// One message. A clone shares body and descriptors.
#[derive(Clone, Debug)]
pub struct Message {
    /// What it is.
    pub kind: Kind,
    /// What a PE numbers a request with, and finds on the answer.
    pub ticket: u64,
    /// A number, where the kind has one.
    pub value: i32,
    body: Arc<[u8]>,
    descriptors: Arc<Vec<OwnedFd>>,
    /// The body is in the only descriptor.
    spilled: bool,
}

impl Message {
    /// A message without body and descriptors.
    pub fn new(kind: Kind) -> Self {
        let (body, descriptors) = Default::default();
        Self { kind, ticket: 0, value: 0, body, descriptors, spilled: false }
    }

    /// Makes it another kind, with the same parts.
    pub fn as_kind(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }

    /// Sets the ticket.
    pub fn ticket(self, ticket: u64) -> Self {
        Self { ticket, ..self }
    }

    /// Sets the number.
    pub fn value(self, value: i32) -> Self {
        Self { value, ..self }
    }

    /// Sets the body.
    pub fn with_body(self, body: Vec<u8>) -> io::Result<Self> {
        if HEADER + body.len() <= MAX_DATAGRAM {
            return Ok(Self { body: body.into(), ..self });
        }
        let file = memfd::holding("oxshmem-message", &body)?;
        Ok(Self { descriptors: Arc::new(vec![file]), spilled: true, ..self })
    }

    /// Sets the descriptors. A message has a body or descriptors, not both.
    pub fn with_descriptors(self, descriptors: Vec<OwnedFd>) -> Self {
        Self { descriptors: descriptors.into(), ..self }
    }

    /// Takes the body out.
    pub fn into_body(self) -> io::Result<Vec<u8>> {
        if !self.spilled {
            return Ok(self.body.to_vec());
        }
        let [memfd] = &self.descriptors[..] else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        // Read at offsets: the position is shared with all processes that were sent the same memfd.
        let file = File::from(memfd.try_clone()?);
        let mut body = Vec::new();
        let length = bytes_in(&file)?;
        body.try_reserve_exact(length).map_err(|_| io::ErrorKind::OutOfMemory)?;
        body.resize(length, 0);
        file.read_exact_at(&mut body, 0)?;
        Ok(body)
    }

    /// Whether the two were given one body, so that it needs to travel only once.
    pub fn shares_body_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.body, &other.body) && Arc::ptr_eq(&self.descriptors, &other.descriptors)
    }

    /// The descriptors.
    pub fn descriptors(&self) -> &[OwnedFd] {
        &self.descriptors
    }

    /// Takes the descriptors out, or copies them if there are clones of this message.
    pub fn into_descriptors(self) -> io::Result<Vec<OwnedFd>> {
        Arc::try_unwrap(self.descriptors).or_else(|shared| shared.iter().map(OwnedFd::try_clone).collect())
    }

    /// Sends all of it, and blocks while the other end has too much to read.
    pub fn send(&self, socket: impl AsFd) -> io::Result<()> {
        for part in 0..self.parts() {
            self.send_part(socket.as_fd(), part, SendFlags::empty())?;
        }
        Ok(())
    }

    /// The number of datagrams it takes.
    fn parts(&self) -> usize {
        self.descriptors.len().div_ceil(MAX_DESCRIPTORS).max(1)
    }

    fn send_part(&self, socket: BorrowedFd<'_>, part: usize, flags: SendFlags) -> io::Result<()> {
        let more = part + 1 < self.parts();
        let header = Header {
            kind: self.kind as u8,
            flags: if more { MORE } else { 0 } | if self.spilled { SPILLED } else { 0 },
            value: self.value,
            ticket: self.ticket,
        }
        .to_bytes();
        let first = part * MAX_DESCRIPTORS;
        let last = self.descriptors.len().min(first + MAX_DESCRIPTORS);
        let rights: Vec<_> = self.descriptors[first..last].iter().map(AsFd::as_fd).collect();
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !rights.is_empty() && !control.push(SendAncillaryMessage::ScmRights(&rights)) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let parts = [IoSlice::new(&header), IoSlice::new(&self.body)];
        let flags = flags | SendFlags::NOSIGNAL;
        rustix::io::retry_on_intr(|| sendmsg(socket, &parts, &mut control, flags))?;
        Ok(())
    }
}

/// The receiving half of an end: puts messages together.
#[derive(Debug, Default)]
pub struct Inbox {
    partial: Vec<OwnedFd>,
}

impl Inbox {
    /// Takes the next message from `socket` without waiting. `None`: the other end is closed.
    ///
    /// # Errors
    /// `WouldBlock`: nothing to take. `PermissionDenied`: descriptors from another user's process.
    /// `InvalidData`: not a message.
    pub fn receive(&mut self, socket: impl AsFd) -> io::Result<Option<Message>> {
        loop {
            let Some((header, body)) = self.receive_part(socket.as_fd())? else {
                return Ok(None);
            };
            if header.flags & MORE != 0 {
                continue;
            }
            let kind = Kind::from_byte(header.kind).ok_or(io::ErrorKind::InvalidData)?;
            return Ok(Some(Message {
                kind,
                ticket: header.ticket,
                value: header.value,
                body,
                descriptors: std::mem::take(&mut self.partial).into(),
                spilled: header.flags & SPILLED != 0,
            }));
        }
    }

    fn receive_part(&mut self, socket: BorrowedFd<'_>) -> io::Result<Option<(Header, Arc<[u8]>)>> {
        let mut header = [0; HEADER];
        let mut body = [0; MAX_DATAGRAM - HEADER];
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MAX_DESCRIPTORS), ScmCredentials(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut parts = [IoSliceMut::new(&mut header), IoSliceMut::new(&mut body)];
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let received = match rustix::io::retry_on_intr(|| recvmsg(socket, &mut parts, &mut control, flags)) {
            Ok(received) => received,
            // The other end was closed with messages of ours unread.
            Err(rustix::io::Errno::CONNRESET) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let mut rights = Vec::new();
        let mut sender = None;
        for message in control.drain() {
            match message {
                RecvAncillaryMessage::ScmRights(descriptors) => rights.extend(descriptors),
                RecvAncillaryMessage::ScmCredentials(credentials) => sender = Some(credentials.uid),
                _ => {}
            }
        }
        if received.bytes == 0 {
            return Ok(None);
        }
        if received.flags.contains(ReturnFlags::CTRUNC) {
            return Err(io::Error::other(
                "descriptors were lost on the way: this process may not have that many open (ulimit -n)",
            ));
        }
        if received.bytes < HEADER || received.flags.contains(ReturnFlags::TRUNC) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        if !rights.is_empty() && sender != Some(getuid()) {
            let text = "descriptors from a process of another user are not taken";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
        }
        self.partial.append(&mut rights);
        Ok(Some((Header::from_bytes(header), body[..received.bytes - HEADER].into())))
    }
}

/// The sending half of an end that must not block: keeps what the other end has no room for yet.
#[derive(Debug, Default)]
pub struct Outbox {
    queue: VecDeque<Message>,
    /// The parts of the first message that are gone already.
    sent: usize,
}

impl Outbox {
    /// Adds a message; [`flush`](Self::flush) sends it.
    pub fn push(&mut self, message: Message) {
        self.queue.push_back(message);
    }

    /// Sends what the other end has room for.
    ///
    /// # Errors
    /// `WouldBlock`: there is more to send. Anything else: nothing can be sent any more.
    pub fn flush(&mut self, socket: impl AsFd) -> io::Result<()> {
        while let Some(message) = self.queue.front() {
            message.send_part(socket.as_fd(), self.sent, SendFlags::DONTWAIT)?;
            self.sent += 1;
            if self.sent == message.parts() {
                self.sent = 0;
                self.queue.pop_front();
            }
        }
        Ok(())
    }
}

/// How long a body in a descriptor is, which is no longer than its sender has really written it: a
/// length alone costs its sender nothing, and could be any.
fn bytes_in(file: &File) -> io::Result<usize> {
    /// What the blocks of a file are counted in.
    const BLOCK: u64 = 512;
    let status = file.metadata()?;
    let is_there = status.is_file() && status.len() <= status.blocks().saturating_mul(BLOCK);
    let length = is_there.then(|| usize::try_from(status.len()).ok()).flatten();
    length.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// A pair of connected ends, both close-on-exec, at which the kernel names the sender.
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let (a, b) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    set_socket_passcred(&a, true)?;
    set_socket_passcred(&b, true)?;
    Ok((a, b))
}

/// The inode behind a descriptor, by which a process can tell that it is still the same.
pub fn inode(fd: impl AsFd) -> io::Result<u64> {
    Ok(fstat(fd)?.st_ino)
}

/// Whether a number that may have been closed, or used again, still is what an inherited descriptor
/// was.
pub fn is_still(fd: BorrowedFd<'_>, kind: FileType, inode: u64) -> bool {
    fstat(fd).is_ok_and(|it| FileType::from_raw_mode(it.st_mode) == kind && it.st_ino == inode)
}

/// The body of [`Kind::Exchanged`]: the lengths of all contributions, then all contributions.
pub fn pack(contributions: &[Vec<u8>]) -> Vec<u8> {
    let bytes = contributions.iter().map(|given| LENGTH + given.len()).sum();
    let mut packed = Vec::with_capacity(bytes);
    for given in contributions {
        packed.extend((given.len() as u64).to_le_bytes());
    }
    for given in contributions {
        packed.extend(given);
    }
    packed
}

/// Takes apart what [`pack`] made of `n` contributions; `None` if it is something else.
pub fn unpack(packed: &[u8], n: usize) -> Option<Arc<[Vec<u8>]>> {
    let (mut lengths, mut rest) = packed.split_at_checked(n * LENGTH)?;
    let mut contributions = Vec::with_capacity(n);
    let mut length = [0; LENGTH];
    while lengths.read_exact(&mut length).is_ok() {
        let (given, after) = rest.split_at_checked(u64::from_le_bytes(length) as usize)?;
        contributions.push(given.to_vec());
        rest = after;
    }
    rest.is_empty().then(|| contributions.into())
}

const LENGTH: usize = size_of::<u64>();

/// The first bytes of every datagram.
struct Header {
    kind: u8,
    flags: u8,
    value: i32,
    ticket: u64,
}

const HEADER: usize = 16;
/// More descriptors of the same message follow.
const MORE: u8 = 1;
/// The body is in the descriptor.
const SPILLED: u8 = 2;

impl Header {
    fn to_bytes(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[0] = self.kind;
        bytes[1] = self.flags;
        bytes[4..8].copy_from_slice(&self.value.to_le_bytes());
        bytes[8..].copy_from_slice(&self.ticket.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: [u8; HEADER]) -> Self {
        let [kind, flags, _, _, v0, v1, v2, v3, ticket @ ..] = bytes;
        let value = i32::from_le_bytes([v0, v1, v2, v3]);
        Self { kind, flags, value, ticket: u64::from_le_bytes(ticket) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_of_every_length_arrive() {
        let (a, b) = pair().unwrap();
        for length in [0, 1, MAX_DATAGRAM - HEADER, MAX_DATAGRAM - HEADER + 1, 1 << 20] {
            let body: Vec<u8> = (0..length).map(|i| (i * 7) as u8).collect();
            let message = Message::new(Kind::Exchange).ticket(u64::MAX).value(-3);
            message.with_body(body.clone()).unwrap().send(&a).unwrap();
            let received = Inbox::default().receive(&b).unwrap().unwrap();
            assert_eq!((received.kind, received.ticket, received.value), (Kind::Exchange, u64::MAX, -3));
            assert!(received.into_body().unwrap() == body);
        }
    }

    #[test]
    fn a_full_socket_keeps_the_rest_for_later() {
        let (a, b) = pair().unwrap();
        let mut outbox = Outbox::default();
        for ticket in 0..100 {
            let message = Message::new(Kind::Exchanged).ticket(ticket);
            outbox.push(message.with_body(vec![1; 30_000]).unwrap());
        }
        let mut inbox = Inbox::default();
        let mut expected = 0;
        while let Err(error) = outbox.flush(&a) {
            assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
            assert_eq!(inbox.receive(&b).unwrap().unwrap().ticket, expected);
            expected += 1;
        }
        assert!(expected > 0);
        while expected < 100 {
            assert_eq!(inbox.receive(&b).unwrap().unwrap().ticket, expected);
            expected += 1;
        }
        assert_eq!(inbox.receive(&b).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(a);
        assert!(inbox.receive(&b).unwrap().is_none());
    }

    #[test]
    fn contributions_survive_packing() {
        for contributions in [vec![], vec![vec![]], vec![vec![1], vec![], vec![2; 300]]] {
            let packed = pack(&contributions);
            assert_eq!(*unpack(&packed, contributions.len()).unwrap(), *contributions);
            assert!(unpack(&packed[..packed.len().saturating_sub(1)], contributions.len() + 1).is_none());
        }
    }

    #[test]
    fn descriptors_without_credentials_are_refused() {
        let (a, b) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
        let descriptor = a.try_clone().unwrap();
        Message::new(Kind::Offer).with_descriptors(vec![descriptor]).send(&a).unwrap();
        let error = Inbox::default().receive(&b).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    }

    #[test]
    fn a_body_that_is_longer_than_what_was_written_is_refused_before_there_is_room_for_it() {
        let claims = |length: u64| {
            let file = oxshmem_base::memfd::zeroed("test", usize::try_from(length).unwrap()).unwrap();
            let message = Message::new(Kind::Exchange).with_descriptors(vec![file]);
            Message { spilled: true, ..message }.into_body()
        };
        for length in [1, 1 << 20, 1 << 50] {
            assert_eq!(claims(length).unwrap_err().kind(), io::ErrorKind::InvalidData, "{length}");
        }
        assert!(claims(0).unwrap().is_empty());
        let (_, pipe) = rustix::pipe::pipe().unwrap();
        let message = Message::new(Kind::Exchange).with_descriptors(vec![pipe]);
        assert!(Message { spilled: true, ..message }.into_body().is_err());
    }

    /// The datagrams that a message is sent in.
    fn datagrams(message: &Message) -> Vec<Vec<u8>> {
        let (a, b) = pair().unwrap();
        message.send(&a).unwrap();
        let mut all = Vec::new();
        let mut datagram = vec![0; MAX_DATAGRAM];
        while let Ok((_, len)) = rustix::net::recv(&b, &mut datagram[..], RecvFlags::DONTWAIT) {
            all.push(datagram[..len].to_vec());
        }
        all
    }

    #[test]
    fn datagrams_are_messages_or_refused_whatever_is_sent() {
        let given = [vec![1, 2, 3], vec![], vec![4; 100]];
        let message = |kind| Message::new(kind).ticket(7).value(-1);
        let messages = [
            message(Kind::Join),
            message(Kind::Exchange).with_body(vec![5; 40]).unwrap(),
            message(Kind::Abort).with_body(b"why".to_vec()).unwrap(),
            message(Kind::Exchanged).with_body(pack(&given)).unwrap(),
            message(Kind::Exchange).with_body(vec![6; MAX_DATAGRAM]).unwrap(),
            message(Kind::Offer).with_descriptors(vec![rustix::pipe::pipe().unwrap().0]),
        ];
        let real: Vec<_> = messages.iter().flat_map(datagrams).collect();
        let (a, b) = pair().unwrap();
        oxshmem_base::fuzz::mutated(&real, |datagram| {
            let mut inbox = Inbox::default();
            // Too long a datagram is not sent.
            let _ = rustix::net::send(&a, datagram, SendFlags::DONTWAIT);
            if let Ok(Some(message)) = inbox.receive(&b)
                && let Ok(body) = message.into_body()
            {
                assert!(body.len() <= datagram.len());
                let _ = unpack(&body, given.len());
            }
        });
    }
}
