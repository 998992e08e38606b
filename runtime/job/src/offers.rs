//! How descriptors get from the leader of a host to the other PEs there, where no launcher hands
//! them on.
//!
//! The leader listens at a socket whose name the others get from it. Each of them connects once,
//! and asks for the next offer whenever it wants one; the leader answers them one after the other,
//! in a thread for each offer. The name is in the abstract namespace, so that no file is left
//! behind whatever is killed. All processes can see such names: the leader only answers those of
//! its user that know a secret number, and descriptors are only taken from a process of the same
//! user.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::Arc,
    thread,
    time::Duration,
};

use oxshmem_base::{Error, Result, random};
use rustix::{
    event::{PollFd, PollFlags, poll},
    io::{Errno, ioctl_fionbio, retry_on_intr},
    net::{
        AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect, listen,
        socket_with,
        sockopt::{set_socket_passcred, socket_peercred},
    },
    process::getuid,
};

use tokio::sync::{Mutex as Turn, oneshot};

use super::{
    Offer, Placement,
    wire::{Inbox, Kind, Message, Outbox},
};

/// How a PE shares with those of its host. Each call has it for as long as it takes.
#[derive(Debug)]
pub(super) enum Sharing {
    /// There is no other PE.
    Alone,
    Leader(Arc<Turn<OfferServer>>),
    Other(Arc<Turn<OfferClient>>),
}

impl Sharing {
    pub(super) fn leader(server: OfferServer) -> Self {
        Self::Leader(Arc::new(Turn::new(server)))
    }

    /// That of a PE whose leader is at this address.
    pub(super) fn other(leader: Address) -> Self {
        Self::Other(Arc::new(Turn::new(OfferClient::new(leader))))
    }

    /// [`share_raw`](super::Bootstrap::share_raw) of the PE that is there.
    pub(super) async fn share(&self, offer: Option<Offer>, placement: &Placement) -> Result<Offer> {
        const CALL: &str = "share";
        match (offer, self) {
            (Some(Offer::Object(_)), _) => Err(Error::bootstrap(CALL, "an object cannot leave its process")),
            (Some(offer), Self::Alone) => Ok(offer),
            (Some(Offer::Descriptors(descriptors)), Self::Leader(server)) => {
                let mut server = Arc::clone(server).lock_owned().await;
                let message = Message::new(Kind::Offered).with_descriptors(descriptors);
                let own = message.clone();
                // Nothing waits for its end: the others may take their time. If it fails, they see
                // it closed.
                start(CALL, move || drop(server.serve(&message)))?;
                own.into_descriptors().map(Offer::Descriptors).map_err(|error| Error::system(CALL, error))
            }
            (None, Self::Other(client)) => {
                let mut client = Arc::clone(client).lock_owned().await;
                let fetched = blocking(CALL, move || fetch(client.fetch())).await;
                let leader = placement.local[0];
                fetched?.map(Offer::Descriptors).ok_or_else(|| Error::PeLost {
                    pe: leader,
                    view: 0,
                    how: "it closed its socket, and shares nothing more".to_owned(),
                })
            }
            _ => Err(Error::bootstrap(CALL, "the host's leader offers, the other PEs do not")),
        }
    }
}

fn fetch(fetched: io::Result<Option<Vec<OwnedFd>>>) -> Result<Option<Vec<OwnedFd>>> {
    fetched.map_err(|error| Error::system("taking what the host's leader shares", error))
}

/// Runs what blocks on a thread of its own, so that no task is held up. It runs to its end even if
/// the future is dropped, since the other PEs count on it.
pub(super) async fn blocking<T: Send + 'static>(
    call: &'static str,
    what: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let (give, take) = oneshot::channel();
    start(call, move || drop(give.send(what())))?;
    take.await.unwrap_or_else(|_| Err(Error::bootstrap(call, "the thread that waits for it has failed")))
}

fn start(call: &'static str, what: impl FnOnce() + Send + 'static) -> Result<()> {
    let thread = thread::Builder::new().name("oxshmem-waits".into()).spawn(what);
    thread.map(drop).map_err(|error| Error::system(call, error))
}

/// Where a leader is to be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Address {
    /// What its socket's name is made of.
    name: u64,
    /// The number by which it knows the PEs of its job.
    secret: u64,
}

impl Address {
    fn random() -> io::Result<Self> {
        let bytes: [u8; size_of::<Self>()] = random::bytes()?;
        Self::from_bytes(&bytes).ok_or(io::ErrorKind::InvalidData.into())
    }

    pub(super) fn to_bytes(self) -> [u8; size_of::<Self>()] {
        (u128::from(self.name) | u128::from(self.secret) << 64).to_le_bytes()
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let both = u128::from_le_bytes(bytes.try_into().ok()?);
        Some(Self { name: both as u64, secret: (both >> 64) as u64 })
    }

    /// Whether a leader of this process's user listens there, as far as this process sees it:
    /// names are those of a network namespace.
    pub(super) fn is_reachable(self) -> bool {
        let Ok((socket, name)) = self.socket() else { return false };
        // Without waiting: a leader to which others come at the same time is there, too.
        let connected = ioctl_fionbio(&socket, true).and_then(|()| retry_on_intr(|| connect(&socket, &name)));
        match connected {
            Ok(()) => socket_peercred(&socket).is_ok_and(|leader| leader.uid == getuid()),
            Err(error) => error == Errno::AGAIN,
        }
    }

    fn socket(self) -> io::Result<(OwnedFd, SocketAddrUnix)> {
        let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        // It must know the sender before anything comes.
        set_socket_passcred(&socket, true)?;
        let address = SocketAddrUnix::new_abstract_name(format!("oxshmem-{:016x}", self.name).as_bytes())?;
        Ok((socket, address))
    }
}

/// The leader's side.
#[derive(Debug)]
pub(super) struct OfferServer {
    listener: OwnedFd,
    address: Address,
    /// Those that have come.
    peers: Vec<OwnedFd>,
    /// How many have not.
    missing: usize,
}

impl OfferServer {
    /// For this number of other PEs.
    pub(super) fn open(peers: usize) -> io::Result<Self> {
        let address = Address::random()?;
        let (listener, name) = address.socket()?;
        bind(&listener, &name)?;
        listen(&listener, i32::try_from(peers).unwrap_or(i32::MAX))?;
        Ok(Self { listener, address, peers: Vec::new(), missing: peers })
    }

    pub(super) fn address(&self) -> Address {
        self.address
    }

    /// There are this number of other PEs after all.
    pub(super) fn expect(&mut self, peers: usize) {
        self.missing = peers;
    }

    /// Gives an offer to all the others, and returns when they have it. A PE that is gone gets
    /// nothing.
    pub(super) fn serve(&mut self, offer: &Message) -> io::Result<()> {
        let secret = self.address.secret;
        self.peers.retain(|peer| hand(peer.as_fd(), secret, offer).is_ok());
        while self.missing > 0 {
            let peer = retry_on_intr(|| accept_with(&self.listener, SocketFlags::CLOEXEC))?;
            if socket_peercred(&peer)?.uid != getuid() {
                continue;
            }
            match hand(peer.as_fd(), secret, offer) {
                Ok(()) => self.peers.push(peer),
                // It was none of the PEs that may ask.
                Err(error) if is_stranger(&error) => continue,
                Err(_) => {}
            }
            self.missing -= 1;
        }
        Ok(())
    }
}

fn is_stranger(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::UnexpectedEof)
}

/// Waits for a PE to ask, and answers.
fn hand(peer: BorrowedFd<'_>, secret: u64, offer: &Message) -> io::Result<()> {
    let asked = receive(peer)?.ok_or(io::ErrorKind::UnexpectedEof)?;
    if (asked.kind, asked.ticket) != (Kind::Fetch, secret) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let mut answer = Outbox::default();
    answer.push(offer.clone());
    loop {
        match answer.flush(peer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => wait(peer, PollFlags::OUT)?,
            // The kernel has as many descriptors under way as it allows a user, until others take
            // theirs.
            Err(error) if Errno::from_io_error(&error) == Some(Errno::TOOMANYREFS) => {
                thread::sleep(Duration::from_millis(1));
            }
            ended => return ended,
        }
    }
}

/// The other PEs' side.
#[derive(Debug)]
pub(super) struct OfferClient {
    leader: Address,
    connection: Option<OwnedFd>,
}

impl OfferClient {
    pub(super) fn new(leader: Address) -> Self {
        Self { leader, connection: None }
    }

    /// Takes the leader's next offer, and waits for it. `None` if the leader is gone.
    pub(super) fn fetch(&mut self) -> io::Result<Option<Vec<OwnedFd>>> {
        let socket = match &self.connection {
            Some(socket) => socket,
            None => {
                let (socket, address) = self.leader.socket()?;
                retry_on_intr(|| connect(&socket, &address))?;
                self.connection.insert(socket)
            }
        };
        match Message::new(Kind::Fetch).ticket(self.leader.secret).send(socket) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(None),
            sent => sent?,
        }
        receive(socket.as_fd())?.map(Message::into_descriptors).transpose()
    }
}

/// The next message. `None`: the other end is closed.
fn receive(socket: BorrowedFd<'_>) -> io::Result<Option<Message>> {
    let mut inbox = Inbox::default();
    loop {
        match inbox.receive(socket) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => wait(socket, PollFlags::IN)?,
            received => return received,
        }
    }
}

fn wait(socket: BorrowedFd<'_>, what: PollFlags) -> io::Result<()> {
    retry_on_intr(|| poll(&mut [PollFd::from_borrowed_fd(socket, what)], None))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    fn offer(descriptors: usize) -> Message {
        let open = || OwnedFd::from(File::open("/dev/null").expect("it is there"));
        Message::new(Kind::Offered).with_descriptors((0..descriptors).map(|_| open()).collect())
    }

    #[test]
    fn each_pe_gets_every_offer_at_its_own_pace() {
        let mut server = OfferServer::open(3).expect("a server");
        let address = server.address();
        thread::scope(|scope| {
            for pe in 1..4 {
                scope.spawn(move || {
                    let mut client = OfferClient::new(address);
                    for count in [2, 450, 0] {
                        thread::sleep(Duration::from_millis(3 * pe));
                        let descriptors = client.fetch().expect("it works").expect("the leader is there");
                        assert_eq!(descriptors.len(), count);
                    }
                });
            }
            for count in [2, 450, 0] {
                server.serve(&offer(count)).expect("it works");
            }
        });
    }

    #[test]
    fn a_process_that_does_not_know_the_number_gets_nothing_and_holds_up_no_other() {
        let mut server = OfferServer::open(1).expect("a server");
        let address = server.address();
        thread::scope(|scope| {
            let stranger = scope.spawn(move || OfferClient::new(Address { secret: 1, ..address }).fetch());
            scope.spawn(move || {
                thread::sleep(Duration::from_millis(20));
                let fetched =
                    OfferClient::new(address).fetch().expect("it works").expect("the leader is there");
                assert_eq!(fetched.len(), 1);
            });
            server.serve(&offer(1)).expect("it works");
            assert!(matches!(stranger.join().expect("no panic"), Ok(None)));
        });
    }

    #[test]
    fn a_pe_that_is_gone_is_not_waited_for_as_one_that_is_late() {
        let mut server = OfferServer::open(1).expect("a server");
        let address = server.address();
        thread::scope(|scope| {
            scope.spawn(move || OfferClient::new(address).fetch().expect("it works"));
            server.serve(&offer(1)).expect("it works");
            // It came once, and does not come again.
            server.serve(&offer(1)).expect("it works");
        });
        let mut client = OfferClient::new(address);
        drop(server);
        assert!(client.fetch().is_err());
    }
}
