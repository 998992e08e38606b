//! The stream from a PE: bytes as they come, and the frames that they are.
//!
//! What is long is read from the socket to where it belongs. What is left of a frame that has not
//! come as a whole is kept, also when the connection breaks: the next one goes on with the byte
//! that follows.

use std::io;

use oxshmem_base::{Error, Result};
use oxshmem_memory::{
    copy,
    op::{Address, Blocks},
};

use super::{
    frame::{CHUNK, FrameHead, HEAD, Kind, WORD, padding},
    kernel::{Piece, would_block},
    socket::Socket,
};
use crate::batch::malformed;

/// Bytes that are read at a time, beside those that go where they belong.
pub(super) const BUFFER: usize = 2 * CHUNK;
/// From this many bytes on it is worth it to read them from the socket to where they belong.
const DIRECT: usize = 4 << 10;
/// Bytes that are read into the buffer behind those.
const AFTER: usize = 1 << 10;
/// Up to this many bytes a payload waits in the buffer until it has come as a whole.
const WAITS: usize = 16 << 10;
/// The longest payload that is kept for a while.
const LONGEST: usize = 16 << 20;
/// How often a socket is read from before the next one has its turn.
const TURN: usize = 8;

/// Where a payload goes: blocks of memory of this PE, of which the first bytes are there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sink {
    to: Address,
    blocks: Blocks,
    done: usize,
}

impl Sink {
    /// # Safety
    /// The blocks must be writable until the payloads have come that go there, or the stream is
    /// reset; others may read and write there meanwhile.
    pub(super) unsafe fn new(to: Address, blocks: Blocks) -> Self {
        Self { to, blocks, done: 0 }
    }

    /// Bytes that have not come.
    pub(super) fn left(&self) -> usize {
        self.blocks.bytes() - self.done
    }

    /// This many bytes more are there.
    pub(super) fn skip(&mut self, n: usize) {
        self.done += n;
    }

    /// The rest of the present block.
    fn region(&self) -> (*mut u8, usize) {
        let Blocks { len, here, .. } = self.blocks;
        let (block, at) = (self.done / len, self.done % len);
        (self.to.get().wrapping_add(block * here + at), len - at)
    }

    fn fill(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (to, room) = self.region();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            // SAFETY: what `new` was promised; no more bytes come than are left.
            unsafe { copy::copy(to, now.as_ptr(), now.len()) };
            self.done += now.len();
            bytes = later;
        }
    }
}

/// What becomes of a long payload.
pub(super) enum Place {
    Memory(Sink),
    /// It is kept until it has come.
    Kept,
    /// It is of no use any more.
    Nowhere,
}

/// What gets the frames of a stream.
pub(super) trait Serve {
    /// Where the payload of a frame goes that has as many bytes as its head says.
    ///
    /// # Errors
    /// If there is no such place. The stream is of no use any more then.
    fn place(&mut self, head: FrameHead) -> Result<Place>;

    /// All of a payload is where it belongs.
    ///
    /// # Errors
    /// As above.
    fn filled(&mut self, head: FrameHead) -> Result<()>;

    /// A frame has come.
    ///
    /// # Errors
    /// As above.
    fn frame(&mut self, head: FrameHead, payload: &[u8]) -> Result<()>;
}

/// A payload of which some has come.
struct Filling {
    head: FrameHead,
    to: To,
    /// Bytes of it that have not come.
    left: usize,
    /// What pads it is still to come.
    padding: usize,
}

enum To {
    Sink(Sink),
    Kept(Vec<u8>),
    Nowhere,
}

/// How reading ended.
pub(super) enum ReadEnd {
    /// There is nothing more for now; whether there was anything.
    Open(bool),
    /// The other PE sends nothing any more.
    Closed,
}

/// Bytes from a PE.
#[derive(Default)]
pub(super) struct Incoming {
    /// The beginning of a frame.
    rest: Vec<u8>,
    filling: Option<Filling>,
    /// Whether a long payload was among what was read last.
    is_long: bool,
    /// How many have come.
    received: u64,
}

impl Incoming {
    /// How many have come.
    pub(super) fn received(&self) -> u64 {
        self.received
    }

    /// Lets go of where the present payload goes.
    pub(super) fn reset(&mut self) {
        *self = Self { received: self.received, ..Self::default() };
    }

    /// Reads what has come, by way of `buffer`, which is in words for the sake of its alignment.
    ///
    /// # Errors
    /// The socket's, or what is wrong with a frame.
    pub(super) fn read(
        &mut self,
        socket: &mut Socket,
        buffer: &mut [u64],
        to: &mut impl Serve,
    ) -> Result<io::Result<ReadEnd>> {
        let buffer: &mut [u8] = bytemuck::cast_slice_mut(buffer);
        let mut any = false;
        let mut turns = 0;
        while turns < TURN || socket.has_more() {
            turns += 1;
            let (direct, room) = self.direct();
            // So that the next head is aligned.
            let ahead = match &self.filling {
                Some(filling) => (filling.left - room + filling.padding).wrapping_neg() % WORD,
                None => 0,
            };
            buffer[ahead..ahead + self.rest.len()].copy_from_slice(&self.rest);
            let from = ahead + self.rest.len();
            let tail = match (room, self.is_long) {
                // The next payload is likely to belong elsewhere as well.
                (1.., _) => &mut buffer[from..][..AFTER],
                (0, true) => &mut buffer[from..][..WAITS],
                (0, false) => &mut buffer[from..],
            };
            self.is_long = room > 0;
            let all = room + tail.len();
            let mut pieces = [
                Piece { iov_base: direct.cast(), iov_len: room },
                Piece { iov_base: tail.as_mut_ptr().cast(), iov_len: tail.len() },
            ];
            let pieces = if room == 0 { &mut pieces[1..] } else { &mut pieces[..] };
            // SAFETY: the one is what `Sink::new` was promised, the other is a slice.
            let n = match unsafe { socket.read(pieces) } {
                Ok(0) => return Ok(Ok(ReadEnd::Closed)),
                Ok(n) => n,
                Err(error) if would_block(&error) => break,
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    return Err(Error::bootstrap("net", error.to_string()));
                }
                Err(error) => return Ok(Err(error)),
            };
            any = true;
            self.received += n as u64;
            let there = n.min(room);
            self.skip(there, to)?;
            let end = from + (n - there);
            let rest = self.take(&buffer[ahead..end], to)?;
            let kept = end - rest..end;
            self.rest.clear();
            self.rest.extend_from_slice(&buffer[kept]);
            if n < all && !socket.has_more() {
                break;
            }
        }
        Ok(Ok(ReadEnd::Open(any)))
    }

    /// Where the next bytes go that are read from the socket to where they belong.
    fn direct(&self) -> (*mut u8, usize) {
        match &self.filling {
            Some(Filling { to: To::Sink(sink), left, .. }) if *left >= DIRECT => {
                let (to, room) = sink.region();
                (to, room.min(*left))
            }
            _ => (std::ptr::null_mut(), 0),
        }
    }

    /// This many bytes were read to where they belong.
    fn skip(&mut self, n: usize, to: &mut impl Serve) -> Result<()> {
        let Some(filling) = &mut self.filling else { return Ok(()) };
        if let To::Sink(sink) = &mut filling.to {
            sink.skip(n);
        }
        filling.left -= n;
        self.settle(to)
    }

    /// Hands the present payload on, if it has come as a whole.
    fn settle(&mut self, to: &mut impl Serve) -> Result<()> {
        if let Some(filling) = self.filling.take_if(|filling| filling.left == 0 && filling.padding == 0) {
            match filling.to {
                To::Kept(bytes) => to.frame(filling.head, &bytes)?,
                To::Sink(_) | To::Nowhere => to.filled(filling.head)?,
            }
        }
        Ok(())
    }

    /// Takes frames; how many bytes are left, of one that has not come as a whole.
    fn take(&mut self, mut bytes: &[u8], to: &mut impl Serve) -> Result<usize> {
        loop {
            if let Some(filling) = &mut self.filling {
                let (now, later) = bytes.split_at(filling.left.min(bytes.len()));
                match &mut filling.to {
                    To::Sink(sink) => sink.fill(now),
                    To::Kept(kept) => kept.extend_from_slice(now),
                    To::Nowhere => {}
                }
                filling.left -= now.len();
                let pads = if filling.left == 0 { filling.padding.min(later.len()) } else { 0 };
                filling.padding -= pads;
                bytes = &later[pads..];
                self.settle(to)?;
                if self.filling.is_some() {
                    return Ok(0);
                }
            }
            let Some((head, behind)) = bytes.split_first_chunk::<HEAD>() else { return Ok(bytes.len()) };
            let head = FrameHead::decode(head)?;
            let is_placed = match head.kind {
                Kind::Put | Kind::Data | Kind::Part => true,
                Kind::Message => head.len >= DIRECT,
                _ => false,
            };
            if is_placed {
                let place = to.place(head)?;
                self.begin(head, place)?;
                bytes = behind;
                continue;
            }
            let padded = head.len.saturating_add(padding(head.len));
            if padded <= behind.len() {
                to.frame(head, &behind[..head.len])?;
                bytes = &behind[padded..];
            } else if head.len > WAITS {
                self.begin(head, Place::Kept)?;
                bytes = behind;
            } else {
                return Ok(bytes.len());
            }
        }
    }

    /// A payload begins.
    fn begin(&mut self, head: FrameHead, place: Place) -> Result<()> {
        let to = match place {
            Place::Memory(sink) if head.len <= sink.left() => {
                self.is_long |= head.len >= DIRECT;
                To::Sink(sink)
            }
            Place::Kept if head.len <= LONGEST => To::Kept(Vec::with_capacity(head.len)),
            Place::Nowhere => To::Nowhere,
            _ => return Err(malformed()),
        };
        self.filling = Some(Filling { head, to, left: head.len, padding: padding(head.len) });
        Ok(())
    }
}
