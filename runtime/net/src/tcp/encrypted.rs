//! What an encrypted connection has beside its socket: keys, and records on their way between the
//! stream and the kernel.

use std::{io, os::fd::OwnedFd};

use oxshmem_job::cipher::{Cipher, LONGEST, RECORD};
use oxshmem_memory::copy;

use super::kernel::{Piece, receive, send, would_block};

/// Records that are written, and read, at a time.
const TOGETHER: usize = 4;

/// The state of both directions.
#[derive(Debug)]
pub(super) struct Encrypted {
    cipher: Cipher,
    /// What the next record is made of.
    gathered: Vec<u8>,
    /// Records, of which the kernel has this many bytes.
    records: Vec<u8>,
    sent: usize,
    /// What has come, up to there, and is less than a record.
    came: Vec<u8>,
    end: usize,
    /// What was decrypted, of which this much was taken.
    clear: Vec<u8>,
    taken: usize,
}

impl Encrypted {
    pub(super) fn new(cipher: Cipher) -> Self {
        Self {
            cipher,
            gathered: Vec::with_capacity(RECORD),
            records: Vec::new(),
            sent: 0,
            came: vec![0; TOGETHER * LONGEST],
            end: 0,
            clear: Vec::new(),
            taken: 0,
        }
    }

    /// Encrypts some of `pieces`, and writes it as far as there is room.
    ///
    /// # Safety
    /// All pieces must be readable; others may write there meanwhile.
    pub(super) unsafe fn write(&mut self, to: &OwnedFd, pieces: &[Piece]) -> io::Result<usize> {
        if !self.flush(to)? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let (mut n, mut of_piece) = (0, 0);
        let mut pieces = pieces.iter().peekable();
        while n < TOGETHER * RECORD
            && let Some(piece) = pieces.peek()
        {
            let len = (piece.iov_len - of_piece).min(RECORD - self.gathered.len());
            let at = self.gathered.len();
            self.gathered.resize(at + len, 0);
            let from = piece.iov_base.cast::<u8>().wrapping_add(of_piece);
            // SAFETY: the caller's bytes are readable, and there is room for them.
            unsafe { copy::copy(self.gathered[at..].as_mut_ptr(), from, len) };
            (n, of_piece) = (n + len, of_piece + len);
            if of_piece == piece.iov_len {
                (of_piece, _) = (0, pieces.next());
            }
            if self.gathered.len() == RECORD || pieces.peek().is_none() {
                self.cipher.seal(&self.gathered, &mut self.records);
                self.gathered.clear();
            }
        }
        // What there is no room for is flushed later.
        self.flush(to)?;
        Ok(n)
    }

    /// Writes the rest of what was encrypted. Whether nothing is left.
    pub(super) fn flush(&mut self, to: &OwnedFd) -> io::Result<bool> {
        while let Some(rest) = self.records.get(self.sent..).filter(|rest| !rest.is_empty()) {
            let mut piece = [Piece { iov_base: rest.as_ptr().cast_mut().cast(), iov_len: rest.len() }];
            // SAFETY: it is a slice.
            match unsafe { send(to, &mut piece) } {
                Ok(n) => self.sent += n,
                Err(error) if would_block(&error) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        self.records.clear();
        self.sent = 0;
        Ok(true)
    }

    /// Decrypts what has come, or takes what was decrypted before, as far as it fits into `pieces`.
    ///
    /// # Safety
    /// All pieces must be writable; others may read and write there meanwhile.
    pub(super) unsafe fn read(&mut self, from: &OwnedFd, pieces: &[Piece]) -> io::Result<usize> {
        if !self.has_more() && !self.receive(from)? {
            return Ok(0);
        }
        let mut n = 0;
        for piece in pieces {
            let rest = &self.clear[self.taken..];
            let len = piece.iov_len.min(rest.len());
            // SAFETY: the caller's bytes are writable.
            unsafe { copy::copy(piece.iov_base.cast(), rest.as_ptr(), len) };
            (n, self.taken) = (n + len, self.taken + len);
        }
        Ok(n)
    }

    /// Whether something was decrypted that was not taken.
    pub(super) fn has_more(&self) -> bool {
        self.taken < self.clear.len()
    }

    /// Receives at least one record. False is the end.
    fn receive(&mut self, from: &OwnedFd) -> io::Result<bool> {
        self.clear.clear();
        self.taken = 0;
        while self.clear.is_empty() {
            let room = &mut self.came[self.end..];
            let mut piece = [Piece { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() }];
            // SAFETY: it is a slice.
            match unsafe { receive(from, &mut piece) }? {
                0 => return Ok(false),
                n => self.end += n,
            }
            let mut opened = 0;
            while let Some(len) = self.cipher.open(&self.came[opened..self.end], &mut self.clear)? {
                opened += len;
            }
            self.came.copy_within(opened..self.end, 0);
            self.end -= opened;
        }
        Ok(true)
    }
}
