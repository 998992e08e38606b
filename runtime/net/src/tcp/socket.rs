//! Sockets that never block, and what the kernel reads and writes for them: memory by address,
//! which others may write meanwhile.

use std::{
    io,
    net::{SocketAddr, TcpListener},
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    time::Duration,
};

use oxshmem_base::{Error, Result};
use rustix::{
    io::Errno,
    net::{AddressFamily, SocketFlags, SocketType, sockopt},
};

/// Bytes that a socket keeps unsent: what is urgent waits behind no more of them.
const UNSENT: libc::c_int = 128 << 10;

/// After so long without anything the kernel asks whether the other host is there, and as long
/// again.
const KEEPALIVE: Duration = Duration::from_secs(10);

/// Bytes at an address.
pub(super) type Piece = libc::iovec;

/// One connection.
#[derive(Debug)]
pub(super) struct Socket(OwnedFd);

impl Socket {
    /// One that a test has made.
    #[cfg(test)]
    pub(super) fn of(descriptor: OwnedFd) -> Self {
        Self(descriptor)
    }

    /// Begins to connect.
    pub(super) fn connect(to: SocketAddr) -> io::Result<Self> {
        let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = Self(rustix::net::socket_with(family, SocketType::STREAM, flags, None)?);
        socket.tune()?;
        match rustix::net::connect(&socket.0, &to) {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
            Err(error) => Err(error.into()),
        }
    }

    /// One that connects to this process, if there is any.
    pub(super) fn accept(listener: &TcpListener) -> io::Result<Option<Self>> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        match rustix::net::accept_with(listener, flags) {
            Ok(accepted) => {
                let socket = Self(accepted);
                socket.tune()?;
                Ok(Some(socket))
            }
            Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn tune(&self) -> io::Result<()> {
        sockopt::set_tcp_nodelay(&self.0, true)?;
        // A host that is gone is noticed where nothing is under way, too.
        sockopt::set_socket_keepalive(&self.0, true)?;
        sockopt::set_tcp_keepidle(&self.0, KEEPALIVE)?;
        sockopt::set_tcp_keepintvl(&self.0, KEEPALIVE / 5)?;
        sockopt::set_tcp_keepcnt(&self.0, 5)?;
        let unsent = UNSENT;
        // SAFETY: the descriptor is open, and the option is an int.
        unsafe {
            // Where the kernel has no such option, urgent frames wait a little longer.
            libc::setsockopt(
                self.0.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_NOTSENT_LOWAT,
                (&raw const unsent).cast(),
                size_of_val(&unsent) as libc::socklen_t,
            );
        }
        Ok(())
    }

    /// Writes as much of `pieces` as there is room for.
    ///
    /// # Safety
    /// All pieces must be readable; others may write there meanwhile.
    pub(super) unsafe fn write(&self, pieces: &mut [Piece]) -> io::Result<usize> {
        let message = message(pieces);
        let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
        // SAFETY: the message is the pieces, which the caller vouches for.
        count(unsafe { libc::sendmsg(self.0.as_raw_fd(), &message, flags) })
    }

    /// Reads as much as has come, or as fits into `pieces`. 0 is the end.
    ///
    /// # Safety
    /// All pieces must be writable; others may read and write there meanwhile.
    pub(super) unsafe fn read(&self, pieces: &mut [Piece]) -> io::Result<usize> {
        let mut message = message(pieces);
        // SAFETY: as above.
        count(unsafe { libc::recvmsg(self.0.as_raw_fd(), &mut message, libc::MSG_DONTWAIT) })
    }

    /// Writes bytes of a message that has room in any case.
    pub(super) fn write_bytes(&self, bytes: &[u8]) -> io::Result<()> {
        let mut piece = [Piece { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() }];
        // SAFETY: a slice is readable.
        match unsafe { self.write(&mut piece) }? {
            n if n == bytes.len() => Ok(()),
            _ => Err(io::ErrorKind::WriteZero.into()),
        }
    }

    /// Reads at most as many bytes as there is room for.
    pub(super) fn read_bytes(&self, to: &mut [u8]) -> io::Result<usize> {
        let mut piece = [Piece { iov_base: to.as_mut_ptr().cast(), iov_len: to.len() }];
        // SAFETY: a slice is writable.
        unsafe { self.read(&mut piece) }
    }

    /// Whether it is connected by now.
    pub(super) fn connected(&self) -> io::Result<bool> {
        sockopt::socket_error(&self.0)??;
        match rustix::net::getpeername(&self.0) {
            Ok(_) => Ok(true),
            Err(Errno::NOTCONN) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Whether there is nothing to read, or no room to write, for now.
pub(super) fn would_block(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

fn message(pieces: &mut [Piece]) -> libc::msghdr {
    // SAFETY: zeros are a message of nothing.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = pieces.as_mut_ptr();
    message.msg_iovlen = pieces.len() as _;
    message
}

fn count(result: libc::ssize_t) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// Listens on a port of the kernel's choice.
pub(super) fn listen(address: SocketAddr) -> Result<TcpListener> {
    let listen = || {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    };
    listen().map_err(|error: io::Error| Error::system("listening for the PEs of other hosts", error))
}
