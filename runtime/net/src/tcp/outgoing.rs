//! The stream to a PE: bytes in the order in which it gets them, kept until it is known to have
//! them.
//!
//! A connection may break with bytes on their way. The next one begins with how many the PE has,
//! and the rest is written again, so that each byte arrives exactly once.

use std::{collections::VecDeque, io};

use oxshmem_memory::{copy, op::Address};
use oxshmem_progress::completion::Completion;

use super::{
    frame::{FrameHead, HEAD, Kind},
    kernel::{Piece, would_block},
    socket::Socket,
};

/// Bytes that are copied into one part.
const PART: usize = 16 << 10;
/// How many pieces the kernel is given at a time.
const PIECES: usize = 32;
/// Parts that are kept for later ones.
const SPARE: usize = 4;

/// Bytes of the stream.
enum StreamPart {
    /// These.
    Bytes(Vec<u8>),
    /// Those in memory of this PE, which `done` keeps; what it is given says that they have come.
    Memory { from: Address, len: usize, done: Option<Completion<u64>> },
}

impl StreamPart {
    fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Memory { len, .. } => *len,
        }
    }

    /// What is left of it from byte `at` on.
    fn piece(&self, at: usize) -> Piece {
        let from = match self {
            Self::Bytes(bytes) => bytes.as_ptr(),
            Self::Memory { from, .. } => from.get().cast_const(),
        };
        Piece { iov_base: from.wrapping_add(at).cast_mut().cast(), iov_len: self.len() - at }
    }
}

/// What was given to the stream and is not known to have come.
#[derive(Default)]
pub(super) struct Outgoing {
    parts: VecDeque<StreamPart>,
    /// The place in the stream of the first byte of them, and of the end.
    start: u64,
    end: u64,
    /// How much the other PE is known to have.
    acked: u64,
    /// How much was written, and where that ends: a part, and bytes of it.
    written: u64,
    cursor: (usize, usize),
    /// How much was written over earlier connections.
    sent: u64,
    /// Where the last frame begins in the last part, if it is a batch that may grow.
    batch: Option<usize>,
    spare: Vec<Vec<u8>>,
    /// The connection breaks when this many bytes more were written.
    #[cfg(test)]
    pub(super) breaks_after: Option<usize>,
}

impl Outgoing {
    /// Bytes that were not written.
    pub(super) fn unwritten(&self) -> u64 {
        self.end - self.written
    }

    /// Sees to it that the last part has room for `len` bytes more.
    fn reserve(&mut self, len: usize) {
        if !matches!(self.parts.back(), Some(StreamPart::Bytes(bytes)) if bytes.len() + len <= bytes.capacity())
        {
            self.batch = None;
            let mut bytes = self.spare.pop().filter(|_| len <= PART).unwrap_or_default();
            bytes.reserve_exact(len.max(PART));
            self.parts.push_back(StreamPart::Bytes(bytes));
        }
    }

    /// The last part, which gets `len` bytes more.
    fn room(&mut self, len: usize) -> &mut Vec<u8> {
        self.reserve(len);
        self.grow(len)
    }

    fn grow(&mut self, len: usize) -> &mut Vec<u8> {
        self.end += len as u64;
        match self.parts.back_mut() {
            Some(StreamPart::Bytes(bytes)) => bytes,
            _ => unreachable!("there is room in it"),
        }
    }

    /// Adds a frame with a copy of its payload.
    pub(super) fn push(&mut self, head: FrameHead, payload: &[u8]) {
        debug_assert_eq!(head.len, payload.len());
        let bytes = self.room(HEAD + head.len + head.padding());
        bytes.extend_from_slice(&head.encode());
        bytes.extend_from_slice(payload);
        bytes.resize(bytes.len() + head.padding(), 0);
        self.batch = None;
    }

    /// Adds a frame with a copy of the bytes at `from`, which are its payload or the rest of it,
    /// behind `before`.
    ///
    /// # Safety
    /// They must be readable; others may write there meanwhile.
    pub(super) unsafe fn push_copy(&mut self, head: FrameHead, before: &[u8], from: *const u8) {
        let len = head.len - before.len();
        let bytes = self.room(HEAD + head.len + head.padding());
        bytes.extend_from_slice(&head.encode());
        bytes.extend_from_slice(before);
        let at = bytes.len();
        bytes.resize(at + len + head.padding(), 0);
        // SAFETY: there is room for them, and the caller's are readable.
        unsafe { copy::copy(bytes[at..].as_mut_ptr(), from, len) };
        self.batch = None;
    }

    /// Adds a frame whose payload is words.
    pub(super) fn push_words(&mut self, kind: Kind, arg: u64, words: &[u64]) {
        self.push(FrameHead::new(kind, size_of_val(words), arg), bytemuck::cast_slice(words));
    }

    /// Adds a frame whose payload are the bytes at `from`, or the rest of it, which are written
    /// from there. `done` is given back when they have come.
    ///
    /// # Safety
    /// They must be readable until then; others may write there meanwhile.
    pub(super) unsafe fn push_memory(
        &mut self,
        head: FrameHead,
        before: &[u8],
        from: Address,
        done: Option<Completion<u64>>,
    ) {
        let bytes = self.room(HEAD + before.len());
        bytes.extend_from_slice(&head.encode());
        bytes.extend_from_slice(before);
        let len = head.len - before.len();
        self.parts.push_back(StreamPart::Memory { from, len, done });
        self.end += len as u64;
        self.batch = None;
        if head.padding() > 0 {
            let bytes = self.room(head.padding());
            bytes.resize(bytes.len() + head.padding(), 0);
        }
    }

    /// Adds the words of a batch, to the frame before if that is one that was not written.
    pub(super) fn push_batch(&mut self, words: &[u64]) {
        let len = size_of_val(words);
        self.reserve(HEAD + len);
        let last = self.parts.len() - 1;
        // Otherwise part of it may have been written.
        let open = self.batch.filter(|&at| self.cursor < (last, at + 1));
        let bytes = self.grow(if open.is_some() { len } else { HEAD + len });
        let at = open.unwrap_or(bytes.len());
        if open.is_none() {
            bytes.extend_from_slice(&[0; HEAD]);
        }
        bytes.extend_from_slice(bytemuck::cast_slice(words));
        let head = FrameHead::new(Kind::Batch, bytes.len() - at - HEAD, 0);
        bytes[at..at + HEAD].copy_from_slice(&head.encode());
        self.batch = Some(at);
    }

    /// Writes as far as the socket takes it. Whether everything was written.
    pub(super) fn write(&mut self, socket: &mut Socket) -> io::Result<bool> {
        while self.written < self.end {
            let (part, at) = self.cursor;
            let mut pieces: [Piece; PIECES] =
                [const { Piece { iov_base: std::ptr::null_mut(), iov_len: 0 } }; _];
            let mut n = 0;
            for (piece, part) in pieces.iter_mut().zip(self.parts.range(part..)) {
                *piece = part.piece(if n == 0 { at } else { 0 });
                n += 1;
            }
            let pieces = &mut pieces[..n];
            #[cfg(test)]
            tests::cut(pieces, self.breaks_after);
            // SAFETY: bytes are this stream's, memory is what `push_memory` was promised.
            match unsafe { socket.write(pieces) } {
                Ok(written) => {
                    self.advance(written);
                    #[cfg(test)]
                    self.breaks(written)?;
                }
                Err(error) if would_block(&error) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        socket.flush()
    }

    /// Moves the cursor on.
    fn advance(&mut self, written: usize) {
        self.written += written as u64;
        let (mut part, mut at) = self.cursor;
        at += written;
        while let Some(len) = self.parts.get(part).map(StreamPart::len)
            && at >= len
            // One that is full up to its end may still grow.
            && part + 1 < self.parts.len()
        {
            (part, at) = (part + 1, at - len);
        }
        self.cursor = (part, at);
    }

    /// The other PE has everything up to this place. Gives what that completes to `over`. False if
    /// it cannot be.
    pub(super) fn ack(&mut self, upto: u64, mut over: impl FnMut(Completion<u64>)) -> bool {
        if upto > self.written {
            return false;
        }
        // An older one may come again over a new connection.
        self.acked = self.acked.max(upto);
        let upto = self.acked;
        while let Some(part) = self.parts.front()
            && self.start + part.len() as u64 <= upto
            // The last one may grow.
            && (self.parts.len() > 1 || matches!(part, StreamPart::Memory { .. }))
        {
            self.start += part.len() as u64;
            match self.parts.pop_front() {
                Some(StreamPart::Bytes(mut bytes))
                    if bytes.capacity() == PART && self.spare.len() < SPARE =>
                {
                    bytes.clear();
                    self.spare.push(bytes);
                }
                Some(StreamPart::Memory { done: Some(done), .. }) => over(done),
                _ => {}
            }
            // What has come was written, so that the cursor is behind it, or at its end.
            self.cursor = match self.cursor {
                (0, _) => (0, 0),
                (part, at) => (part - 1, at),
            };
        }
        self.shrink();
        true
    }

    /// Begins anew in the last part, where all of it has come.
    fn shrink(&mut self) {
        if self.acked == self.end
            && self.parts.len() == 1
            && let Some(StreamPart::Bytes(bytes)) = self.parts.front_mut()
        {
            bytes.clear();
            bytes.shrink_to(PART);
            (self.start, self.cursor, self.batch) = (self.end, (0, 0), None);
        }
    }

    /// Whether the other PE may have no more than this: it is known to have so much.
    pub(super) fn may_have(&self, upto: u64) -> bool {
        upto >= self.acked
    }

    /// Writes again what follows this place, up to which the other PE has everything: a new
    /// connection begins. False if it cannot be.
    pub(super) fn rewind(&mut self, upto: u64, over: impl FnMut(Completion<u64>)) -> bool {
        // The last connection may have begun before what the one before it has brought there.
        self.sent = self.sent.max(self.written);
        if upto > self.sent || !self.may_have(upto) {
            return false;
        }
        (self.cursor, self.written, self.batch) = ((0, 0), self.start, None);
        self.advance((upto - self.start) as usize);
        self.ack(upto, over)
    }

    /// Ends it: what its memory was kept for.
    pub(super) fn end(&mut self) -> impl Iterator<Item = Completion<u64>> {
        let parts = std::mem::take(self).parts;
        parts
            .into_iter()
            .filter_map(|part| if let StreamPart::Memory { done, .. } = part { done } else { None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Leaves this many bytes of the pieces.
    pub(super) fn cut(pieces: &mut [Piece], most: Option<usize>) {
        let mut left = most.unwrap_or(usize::MAX);
        for piece in pieces {
            piece.iov_len = piece.iov_len.min(left);
            left -= piece.iov_len;
        }
    }

    impl Outgoing {
        /// Breaks the connection, if it is to break now.
        pub(super) fn breaks(&mut self, written: usize) -> io::Result<()> {
            let Some(left) = &mut self.breaks_after else { return Ok(()) };
            *left -= written;
            if *left > 0 {
                return Ok(());
            }
            self.breaks_after = None;
            Err(io::ErrorKind::ConnectionReset.into())
        }
    }
}
