//! What the kernel reads and writes for a socket: memory by address, which others may write
//! meanwhile.

use std::{
    io,
    os::fd::{AsRawFd, OwnedFd},
};

/// Bytes at an address.
pub(super) type Piece = libc::iovec;

/// Sends as much of `pieces` as there is room for.
///
/// # Safety
/// All pieces must be readable; others may write there meanwhile.
pub(super) unsafe fn send(to: &OwnedFd, pieces: &mut [Piece]) -> io::Result<usize> {
    let message = message(pieces);
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    // SAFETY: the message is the pieces, which the caller vouches for.
    count(unsafe { libc::sendmsg(to.as_raw_fd(), &message, flags) })
}

/// Receives as much as has come, or as fits into `pieces`.
///
/// # Safety
/// All pieces must be writable; others may read and write there meanwhile.
pub(super) unsafe fn receive(from: &OwnedFd, pieces: &mut [Piece]) -> io::Result<usize> {
    let mut message = message(pieces);
    // SAFETY: as above.
    count(unsafe { libc::recvmsg(from.as_raw_fd(), &mut message, libc::MSG_DONTWAIT) })
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

/// Whether there is nothing to read, or no room to write, for now.
pub(super) fn would_block(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
