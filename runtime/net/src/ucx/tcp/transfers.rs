//! Puts where everything goes over TCP, as active messages.
//!
//! UCX's own puts are messages there too, of 8 KiB each, which it copies on both sides, and of
//! which it has every one acknowledged. These go from the caller's memory, up to [`PIECE`] bytes
//! with one message, longer ones [in pieces](super::pieces). A put is counted as a
//! [batch](super::batches) is, so that a flush waits for both in the same way.
//!
//! The last pieces of a very long put come after what is sent later. So an operation that reads
//! from a PE begins when the very long puts and batches that were sent there before have been
//! applied.

use std::sync::atomic::Ordering;

use oxshmem_base::{Error, Result};
use oxshmem_memory::{
    copy,
    op::{Address, Op, Spot},
    word::{Signal, Width},
};
use oxshmem_progress::failure::Failure;
use ucx_sys::*;

use super::{
    super::{
        Worker,
        arrivals::{Arrival, PUT},
        channel::Stamp,
        departures::Form,
        offers::Bytes,
        operation::{Operation, Update},
    },
    pieces::{IN_ORDER, PIECE, What, put_header},
};
use crate::batch::encode;

impl Worker {
    /// Puts, and has the target update the signal when all is there.
    ///
    /// # Safety
    /// `from` must be readable until the operation is over.
    pub(in super::super) unsafe fn put_by_message(
        &self,
        op: Op,
        from: Address,
        operation: Box<Operation>,
    ) -> Result<()> {
        let (to, len) = (op.there, op.blocks.len);
        let stamp = self.announce(to.pe, len > IN_ORDER, true);
        let then = op.then.map(|(at, update)| entry(at, update));
        if len > PIECE {
            let what = What::Put { to: to.offset as u64, stamp, then };
            // SAFETY: passed on to the caller.
            unsafe { self.send_in_pieces(to.pe, Bytes { at: from.get(), len }, what, operation) };
            return Ok(());
        }
        let operation = operation.with_header(put_header(stamp, to.offset as u64, then));
        let mut is_sent = false;
        let started = self.start(to.pe, operation, |_, peer, operation| {
            // SAFETY: passed on to the caller.
            let status = unsafe { self.give_bytes(peer, PUT, operation, from.get(), len, Form::Whole) };
            is_sent = UCS_PTR_IS_PTR(status) || UCS_PTR_STATUS(status) == UCS_OK;
            status
        });
        if !is_sent {
            self.applies_no_more(to.pe);
        }
        started
    }

    /// How many batches `pe` has to apply before an operation that reads from it may begin, if it
    /// has not.
    pub(in super::super) fn behind_long_puts(&self, pe: usize) -> Option<u64> {
        // Relaxed: what must not overtake such a put was started after it, by whatever orders the
        // two.
        if self.has_long_puts.load(Ordering::Relaxed) { self.channels().unapplied_long(pe) } else { None }
    }

    /// Writes what `pe` has put, if it lies in this PE's memory. One that is not of this build may
    /// say anything.
    fn write(&self, pe: usize, offset: u64, data: &[u8]) -> bool {
        let at = usize::try_from(offset).ok();
        let Some(to) = at.and_then(|offset| self.memory.address(self.block, offset, data.len())) else {
            let error = Error::bootstrap("net", "it puts beyond the symmetric memory");
            self.fail(Failure::PeLost { pe, how: error.to_string() });
            return false;
        };
        // SAFETY: the bounds of this side were just checked, and the other is lent.
        unsafe { copy::copy(to, data.as_ptr(), data.len()) };
        true
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

/// What a batch says of a signal.
fn entry(at: Spot, update: Signal) -> Update {
    let [what, operand, ..] = encode(&Op::<Spot, Address>::atomic(at, update.into(), Width::Eight));
    [what, operand]
}
