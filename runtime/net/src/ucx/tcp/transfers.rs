//! Puts and longer gets where everything goes over TCP, as active messages.
//!
//! UCX's own puts and gets are messages there too, of 8 KiB each, which it copies on both sides,
//! and of which it has every put acknowledged. These go from the caller's memory, up to [`PIECE`]
//! bytes with one message, longer ones [in pieces](super::pieces). A put is counted as a
//! [batch](super::batches) is, so that a flush waits for both in the same way.
//!
//! The last pieces of a very long put come after what is sent later. So an operation that reads
//! from a PE begins when the very long puts and batches that were sent there before have been
//! applied.

use std::{
    ffi::c_uint,
    sync::{Weak, atomic::Ordering},
};

use oxshmem_base::{Error, Result};
use oxshmem_memory::{copy, word::Signal};
use oxshmem_progress::{
    completion::{Completion, complete},
    failure::Failure,
};
use ucx_sys::*;

use super::{
    super::{
        Event, Worker,
        arrivals::{Arrival, Note, PUT, WANTED, WANTED_BLOCKS},
        channel::Stamp,
        departures::Form,
        offers::Bytes,
        operation::{Kind, Operation, Update},
        requests::Requests,
    },
    pieces::{IN_ORDER, PIECE, What, put_header},
};
use crate::{Batch, PACKED, Shape, Spot};

/// A get that waits for its data.
pub(in super::super) struct Get {
    to: Bytes,
    /// Bytes that have not come.
    left: usize,
    done: Completion,
}

/// Gets, of this PE and of others.
#[derive(Default)]
pub(in super::super) struct Gets {
    pub(in super::super) asked: Requests<Get>,
    /// What others want.
    pub(in super::super) wanted: Vec<Wish>,
}

/// What a PE wants, under which number.
pub(in super::super) struct Wish {
    pe: usize,
    number: u64,
    /// All of it, or where the blocks are that it wants.
    from: Bytes,
    blocks: Option<Shape>,
}

impl Gets {
    /// Those that wait for `pe`, or for any PE, do so no more.
    pub(in super::super) fn fail(&mut self, pe: Option<usize>) -> impl Iterator<Item = Completion> {
        self.asked.fail(pe).into_iter().map(|get| get.done)
    }
}

impl Worker {
    /// Puts, and has the target update the signal when all is there.
    ///
    /// # Safety
    /// `from` must be readable until the operation is over.
    pub(in super::super) unsafe fn put_by_message(
        &self,
        to: Spot,
        from: *const u8,
        len: usize,
        signal: Option<(Spot, Signal)>,
        operation: Box<Operation>,
    ) -> Result<()> {
        let stamp = self.announce(to.pe, len > IN_ORDER, true);
        let then = signal.map(|(at, update)| entry(at, update));
        if len > PIECE {
            let what = What::Put { to: to.offset as u64, stamp, then };
            // SAFETY: passed on to the caller.
            unsafe { self.send_in_pieces(to.pe, Bytes { at: from.cast_mut(), len }, what, operation) };
            return Ok(());
        }
        let operation = operation.with_header(put_header(stamp, to.offset as u64, then));
        let mut is_sent = false;
        let started = self.start(to.pe, operation, |_, peer, operation| {
            // SAFETY: passed on to the caller.
            let status = unsafe { self.give_bytes(peer, PUT, operation, from, len, Form::Whole) };
            is_sent = UCS_PTR_IS_PTR(status) || UCS_PTR_STATUS(status) == UCS_OK;
            status
        });
        if !is_sent {
            self.applies_no_more(to.pe);
        }
        started
    }

    /// # Safety
    /// `to` must be writable until `done` runs.
    pub(in super::super) unsafe fn get_by_message(
        &self,
        from: Spot,
        to: *mut u8,
        len: usize,
        done: Completion,
    ) {
        let wish =
            |number| (WANTED, Operation::note([self.me as u64, number, from.offset as u64, len as u64]));
        let get = Get { to: Bytes { at: to, len }, left: len, done };
        self.get_as_wished(from.pe, get, wish);
    }

    /// Gets blocks, one behind the other.
    ///
    /// # Safety
    /// `to` must be writable for all bytes of them until `done` runs.
    pub(in super::super) unsafe fn get_packed(
        &self,
        from: Spot,
        blocks: Shape,
        to: *mut u8,
        done: Completion,
    ) {
        let Some((len, _)) = blocks.bytes() else { return complete(done, Ok(())) };
        self.send_gathered(Some(from.pe));
        if let Some(count) = self.behind_long_puts(from.pe) {
            let (this, to) = (Weak::clone(&self.this), Bytes { at: to, len });
            let then = move |applied: Result<()>| match (applied, this.upgrade()) {
                // SAFETY: the caller keeps the memory until `done` runs.
                (Ok(()), Some(this)) => unsafe { this.get_packed(from, blocks, to.address(), done) },
                (applied, _) => complete(done, applied.and(Err(Error::Finalized { call: "net" }))),
            };
            return self.when_applied(from.pe, count, Box::new(then));
        }
        let Shape { block, stride, count } = blocks;
        let [offset, block, stride, count] = [from.offset, block, stride, count].map(|number| number as u64);
        let wish =
            |number| (WANTED_BLOCKS, Operation::note([self.me as u64, number, offset, block, stride, count]));
        self.get_as_wished(from.pe, Get { to: Bytes { at: to, len }, left: len, done }, wish);
    }

    /// Gets what `wish` makes of the number that the answer is to have.
    fn get_as_wished(&self, pe: usize, get: Get, wish: impl FnOnce(u64) -> (c_uint, Box<Operation>)) {
        let (number, n) = {
            let mut channels = self.channels();
            (channels.gets.asked.insert(pe, get), channels.n_waiting())
        };
        let (id, wish) = wish(number);
        if let Err(error) = self.send_words(pe, id, wish) {
            let get = self.channels().gets.asked.remove(number);
            if let Some(Get { done, .. }) = get {
                complete(done, Err(error));
            }
        }
        self.keep_up_with(n);
    }

    /// How many batches `pe` has to apply before an operation that reads from it may begin, if it
    /// has not.
    pub(in super::super) fn behind_long_puts(&self, pe: usize) -> Option<u64> {
        // Relaxed: what must not overtake such a put was started after it, by whatever orders the
        // two.
        if self.has_long_puts.load(Ordering::Relaxed) { self.channels().unapplied_long(pe) } else { None }
    }

    /// Sends a PE what it wants of this one's memory.
    pub(in super::super) fn send_wanted(&self, Wish { pe, number, from, blocks }: Wish) {
        let (from, kind) = match blocks {
            None => (from, Kind::Words(Vec::new())),
            Some(blocks) => {
                let mut packed = pack(from, blocks);
                let len = blocks.block * blocks.count;
                (Bytes { at: packed.as_mut_ptr().cast(), len }, Kind::Words(packed))
            }
        };
        // SAFETY: symmetric memory stays as long as the worker does, which has UCX let go of
        // everything before it goes; what was packed is the operation's.
        unsafe { self.send_in_pieces(pe, from, What::Data { number }, Operation::new(kind)) };
    }

    /// Where in this PE's memory `pe` reads or writes. One that is not of this build may say
    /// anything.
    fn place(&self, pe: usize, offset: u64, len: usize) -> Option<Bytes> {
        let at = usize::try_from(offset).ok().and_then(|offset| self.memory.address(self.block, offset, len));
        if at.is_none() {
            let error = Error::bootstrap("net", "it puts or gets beyond the symmetric memory");
            self.fail(Failure::PeLost { pe, how: error.to_string() });
        }
        at.map(|at| Bytes { at, len })
    }

    /// Writes what `pe` has put, if it lies in this PE's memory.
    fn write(&self, pe: usize, offset: u64, data: &[u8]) -> bool {
        let to = self.place(pe, offset, data.len());
        if let Some(to) = to {
            // SAFETY: `place` has checked the bounds of this side, and the other is lent.
            unsafe { copy::copy(to.at, data.as_ptr(), data.len()) };
        }
        to.is_some()
    }
}

/// A put has come, or the last piece of one.
pub(in super::super) struct Put;

impl Arrival for Put {
    fn came(worker: &Worker, header: &[u64], data: &[u8]) {
        let (stamp, offset, then) = match *header {
            [stamp, offset] => (stamp, offset, None),
            [stamp, offset, entry, operand] => (stamp, offset, Some([entry, operand])),
            _ => return,
        };
        let stamp = Stamp::from_bits(stamp);
        if worker.sender(stamp.from() as u64).is_some_and(|from| worker.write(from, offset, data)) {
            worker.perform(stamp, then.as_slice().as_flattened());
        }
    }
}

/// A piece of a put has come, of which the last one follows.
pub(in super::super) struct PutPart;

impl Arrival for PutPart {
    fn came(worker: &Worker, header: &[u64], data: &[u8]) {
        if let &[from, offset] = header
            && let Some(from) = worker.sender(from)
        {
            worker.write(from, offset, data);
        }
    }
}

/// A PE wants to get something.
pub(in super::super) struct Wanted;

impl Note<4> for Wanted {
    fn came(worker: &Worker, [from, number, offset, len]: [u64; 4]) {
        let Some(pe) = worker.sender(from) else { return };
        if let Some(bytes) = worker.place(pe, offset, usize::try_from(len).unwrap_or(usize::MAX)) {
            worker.channels().gets.wanted.push(Wish { pe, number, from: bytes, blocks: None });
            worker.must_reply();
        }
    }
}

/// A PE wants to get blocks.
pub(in super::super) struct WantedBlocks;

impl Note<6> for WantedBlocks {
    fn came(worker: &Worker, [from, number, offset, block, stride, count]: [u64; 6]) {
        let Some(pe) = worker.sender(from) else { return };
        let [block, stride, count] = [block, stride, count].map(|number| number as usize);
        let blocks = Shape { block, stride, count };
        // What is to be packed is no more than this PE has asked others for.
        let span = blocks.bytes().filter(|&(bytes, _)| bytes <= PACKED).map_or(usize::MAX, |(_, span)| span);
        if let Some(from) = worker.place(pe, offset, span) {
            worker.channels().gets.wanted.push(Wish { pe, number, from, blocks: Some(blocks) });
            worker.must_reply();
        }
    }
}

/// The blocks that are there, one behind the other.
fn pack(from: Bytes, blocks: Shape) -> Vec<u64> {
    let Shape { block, stride, count } = blocks;
    let mut packed = vec![0u64; (block * count).div_ceil(size_of::<u64>())];
    // SAFETY: there is room for all of them, and they are where `WantedBlocks` has found symmetric
    // memory.
    unsafe { copy::copy_strided(packed.as_mut_ptr().cast(), block, from.at, stride, block, count) };
    packed
}

/// A piece has come of what this PE wants.
pub(in super::super) struct Data;

impl Arrival for Data {
    fn came(worker: &Worker, header: &[u64], data: &[u8]) {
        let &[number, offset] = header else { return };
        let mut channels = worker.channels();
        let Some((pe, get)) = channels.gets.asked.get_mut(number) else { return };
        let (at, len) = (usize::try_from(offset).unwrap_or(usize::MAX), data.len());
        let fits = len <= get.left && at.checked_add(len).is_some_and(|end| end <= get.to.len);
        let over = if fits {
            // SAFETY: the caller of the get keeps `to`, which has room for it, until that
            // completes, for which it has to be taken from here first.
            unsafe { copy::copy(get.to.at.add(at), data.as_ptr(), len) };
            get.left -= len;
            if get.left > 0 {
                return;
            }
            Ok(())
        } else {
            Err(Error::bootstrap(
                "net",
                format!("PE {pe} has sent what was not asked for: do all run the same build?"),
            ))
        };
        let get = channels.gets.asked.remove(number);
        drop(channels);
        if let Some(Get { done, .. }) = get {
            match over {
                Ok(()) => worker.note(Event::Over(done)),
                Err(error) => worker.note(Event::Later(Box::new(move || done(Err(error))))),
            }
        }
    }
}

/// What a batch says of a signal.
fn entry(at: Spot, update: Signal) -> Update {
    let mut batch = Batch::default();
    batch.signal(at, update);
    let mut entry = Update::default();
    entry.copy_from_slice(&batch.into_words());
    entry
}
