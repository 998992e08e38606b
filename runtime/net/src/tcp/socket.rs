//! Sockets that never block.

use std::{
    io,
    net::{SocketAddr, TcpListener},
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    time::Duration,
};

use oxshmem_base::{Error, Result};
use oxshmem_job::cipher::Cipher;
use rustix::{
    io::Errno,
    net::{AddressFamily, SocketFlags, SocketType, sockopt},
};

use super::{
    encrypted::Encrypted,
    kernel::{Piece, receive, send},
};

/// Bytes that a socket keeps unsent: what is urgent waits behind no more of them.
const UNSENT: libc::c_int = 128 << 10;

/// After so long without anything the kernel asks whether the other host is there, and as long
/// again.
const KEEPALIVE: Duration = Duration::from_secs(10);

/// One connection.
#[derive(Debug)]
pub(super) struct Socket {
    descriptor: OwnedFd,
    encrypted: Option<Box<Encrypted>>,
}

impl Socket {
    /// One whose connection is made already.
    pub(super) fn of(descriptor: OwnedFd) -> Self {
        Self { descriptor, encrypted: None }
    }

    /// Encrypts everything from now on, if there are keys.
    pub(super) fn encrypt(&mut self, cipher: Option<Cipher>) {
        self.encrypted = cipher.map(|cipher| Box::new(Encrypted::new(cipher)));
    }

    /// Begins to connect.
    pub(super) fn connect(to: SocketAddr) -> io::Result<Self> {
        let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = Self::of(rustix::net::socket_with(family, SocketType::STREAM, flags, None)?);
        socket.tune()?;
        match rustix::net::connect(&socket.descriptor, &to) {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
            Err(error) => Err(error.into()),
        }
    }

    /// One that connects to this process, if there is any.
    pub(super) fn accept(listener: &TcpListener) -> io::Result<Option<Self>> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        match rustix::net::accept_with(listener, flags) {
            Ok(accepted) => {
                let socket = Self::of(accepted);
                socket.tune()?;
                Ok(Some(socket))
            }
            Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn tune(&self) -> io::Result<()> {
        sockopt::set_tcp_nodelay(&self.descriptor, true)?;
        // A host that is gone is noticed where nothing is under way, too.
        sockopt::set_socket_keepalive(&self.descriptor, true)?;
        sockopt::set_tcp_keepidle(&self.descriptor, KEEPALIVE)?;
        sockopt::set_tcp_keepintvl(&self.descriptor, KEEPALIVE / 5)?;
        sockopt::set_tcp_keepcnt(&self.descriptor, 5)?;
        let unsent = UNSENT;
        // SAFETY: the descriptor is open, and the option is an int.
        unsafe {
            // Where the kernel has no such option, urgent frames wait a little longer.
            libc::setsockopt(
                self.descriptor.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_NOTSENT_LOWAT,
                (&raw const unsent).cast(),
                size_of_val(&unsent) as libc::socklen_t,
            );
        }
        Ok(())
    }

    /// Has the connection break when what is written is not acknowledged for so long, which takes a
    /// quarter of an hour otherwise.
    pub(super) fn break_after(&self, limit: Duration) {
        // It fails for what is no connection to another host.
        let _ = sockopt::set_tcp_user_timeout(&self.descriptor, limit.as_millis() as u32);
    }

    /// Writes as much of `pieces` as there is room for.
    ///
    /// # Safety
    /// All pieces must be readable; others may write there meanwhile.
    pub(super) unsafe fn write(&mut self, pieces: &mut [Piece]) -> io::Result<usize> {
        match &mut self.encrypted {
            // SAFETY: passed on to the caller.
            None => unsafe { send(&self.descriptor, pieces) },
            // SAFETY: as above.
            Some(encrypted) => unsafe { encrypted.write(&self.descriptor, pieces) },
        }
    }

    /// Whether the kernel has everything that was written.
    pub(super) fn flush(&mut self) -> io::Result<bool> {
        self.encrypted.as_mut().map_or(Ok(true), |encrypted| encrypted.flush(&self.descriptor))
    }

    /// Reads as much as has come, or as fits into `pieces`. 0 is the end.
    ///
    /// # Errors
    /// `InvalidData` if it is not what the other side has written.
    ///
    /// # Safety
    /// All pieces must be writable; others may read and write there meanwhile.
    pub(super) unsafe fn read(&mut self, pieces: &mut [Piece]) -> io::Result<usize> {
        match &mut self.encrypted {
            // SAFETY: passed on to the caller.
            None => unsafe { receive(&self.descriptor, pieces) },
            // SAFETY: as above.
            Some(encrypted) => unsafe { encrypted.read(&self.descriptor, pieces) },
        }
    }

    /// Whether there is something to read that the kernel does not know of.
    pub(super) fn has_more(&self) -> bool {
        self.encrypted.as_ref().is_some_and(|encrypted| encrypted.has_more())
    }

    /// Writes bytes of a message that has room in any case.
    pub(super) fn write_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut piece = [Piece { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() }];
        // SAFETY: a slice is readable.
        match unsafe { self.write(&mut piece) }? {
            n if n == bytes.len() => Ok(()),
            _ => Err(io::ErrorKind::WriteZero.into()),
        }
    }

    /// Reads at most as many bytes as there is room for.
    pub(super) fn read_bytes(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let mut piece = [Piece { iov_base: to.as_mut_ptr().cast(), iov_len: to.len() }];
        // SAFETY: a slice is writable.
        unsafe { self.read(&mut piece) }
    }

    /// Whether it is connected by now.
    pub(super) fn connected(&self) -> io::Result<bool> {
        sockopt::socket_error(&self.descriptor)??;
        match rustix::net::getpeername(&self.descriptor) {
            Ok(_) => Ok(true),
            Err(Errno::NOTCONN) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
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
