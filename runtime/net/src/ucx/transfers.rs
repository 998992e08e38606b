//! Puts and gets, which are UCX's own, and operations that read.
//!
//! UCX promises no order between a put and what follows it, and where the network reads memory by
//! itself, a get comes before batches that the target has not applied yet. So an operation that
//! reads from a PE waits, if it has to, until what this PE has written there is visible.

use std::sync::Weak;

use oxshmem_base::{Error, Result};
use oxshmem_memory::op::{Address, Op, Verb};
use oxshmem_progress::completion::{Completion, complete};

use super::{
    Worker,
    operation::{Kind, Operation, sending},
};
use crate::Batch;

/// Up to this many bytes are copied when an operation starts: that takes less than a system call.
pub(super) const EAGER: usize = 7 << 10;

impl Worker {
    /// # Safety
    /// As for [`Way::start`](crate::Way::start).
    pub(super) unsafe fn start_op(&self, op: Op, done: Completion<u64>) {
        // SAFETY: passed on to the caller. What went wrong is what `done` gets.
        unsafe {
            match op.verb {
                Verb::Put(from) => drop(self.put(op, from, Operation::new(Kind::Moved(done)))),
                Verb::Get(_) | Verb::Atomic(..) => self.read_in_turn(op, done),
            }
        }
    }

    /// # Safety
    /// `from` must be readable until the operation is over.
    unsafe fn put(&self, op: Op, from: Address, operation: Box<Operation>) -> Result<()> {
        self.start(op.there.pe, operation, |ucx, peer, operation| {
            peer.started += 1;
            let (to, len) = (peer.base + op.there.offset as u64, op.blocks.len);
            let (from, params) = (from.get().cast_const().cast(), sending(operation));
            // SAFETY: the caller keeps `from`; the endpoint and its key are open.
            unsafe { ucx.ucp_put_nbx(peer.endpoint, from, len, to, peer.rkey, &params) }
        })
    }

    /// Sends a batch. One that is a put alone goes as such, from the batch.
    pub(super) fn apply(&self, pe: usize, batch: Batch) -> Result<()> {
        match batch.lone_put().filter(|(at, _)| at.segment == self.memory.id()) {
            None => self.send_batch(pe, batch),
            Some((at, len)) => {
                let words = batch.into_words();
                let from = Address::from(words[2..].as_ptr().cast::<u8>());
                let put = Op::put(at.on(pe), from, len);
                // SAFETY: the operation holds the words, which do not move, until UCX has let go of
                // it.
                unsafe { self.put(put, from, Operation::new(Kind::Words(words))) }
            }
        }
    }

    /// Starts an operation that reads when it sees what this PE has written there before.
    ///
    /// # Safety
    /// As for [`Way::start`](crate::Way::start).
    unsafe fn read_in_turn(&self, op: Op, done: Completion<u64>) {
        let pe = op.there.pe;
        self.send_gathered(Some(pe));
        // If there is an error, the operation fails for the same reason.
        if let Ok((None, None)) | Err(_) = self.unseen(pe) {
            // SAFETY: passed on to the caller.
            return unsafe { self.read(op, done) };
        }
        let this = Weak::clone(&self.this);
        let then = move |flushed: Result<()>| match (flushed, this.upgrade()) {
            // SAFETY: passed on to the caller.
            (Ok(()), Some(this)) => unsafe { this.read(op, done) },
            (flushed, _) => complete(done, flushed.and(Err(Error::Finalized { call: "net" }))),
        };
        self.flush(pe, Box::new(then));
    }

    /// Starts an operation that reads.
    ///
    /// # Safety
    /// As for [`Way::start`](crate::Way::start).
    unsafe fn read(&self, op: Op, done: Completion<u64>) {
        let Verb::Get(to) = op.verb else { return self.ask(op, done) };
        let _ = self.start(op.there.pe, Operation::new(Kind::Moved(done)), |ucx, peer, operation| {
            let (from, len) = (peer.base + op.there.offset as u64, op.blocks.len);
            let (to, params) = (to.get().cast(), sending(operation));
            // SAFETY: the caller keeps `to`; the endpoint and its key are open.
            unsafe { ucx.ucp_get_nbx(peer.endpoint, to, len, from, peer.rkey, &params) }
        });
    }
}
