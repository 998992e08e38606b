//! Puts and gets.

use std::sync::Weak;

use oxshmem_base::{Error, Result};
use oxshmem_progress::completion::{Completion, complete};

use super::{
    Worker,
    offers::Bytes,
    operation::{Kind, Operation, sending, words_from},
};
use crate::Spot;

/// Up to so many bytes UCX gets by itself as fast.
const UNASKED: usize = 2 << 10;

impl Worker {
    /// # Safety
    /// `from` must be readable for `len` bytes.
    pub(super) unsafe fn put_copy(&self, to: Spot, from: *const u8, len: usize) -> Result<()> {
        // SAFETY: passed on to the caller.
        let words = unsafe { words_from(from, len) };
        let from = words.as_ptr().cast();
        // SAFETY: the operation holds the words until UCX has let go of it.
        unsafe { self.put(to, from, len, Operation::new(Kind::Words(words))) }
    }

    /// # Safety
    /// `from` must be readable until the operation is over.
    pub(super) unsafe fn put(
        &self,
        to: Spot,
        from: *const u8,
        len: usize,
        operation: Box<Operation>,
    ) -> Result<()> {
        if self.puts_by_message(to.pe) {
            // SAFETY: passed on to the caller.
            return unsafe { self.put_by_message(to, from, len, None, operation) };
        }
        self.start(to.pe, operation, |ucx, peer, operation| {
            peer.started += 1;
            let to = peer.base + to.offset as u64;
            // SAFETY: the caller keeps `from`; the endpoint and its key are open.
            unsafe { ucx.ucp_put_nbx(peer.endpoint, from.cast(), len, to, peer.rkey, &sending(operation)) }
        })
    }

    /// # Safety
    /// `to` must be writable until `done` runs.
    pub(super) unsafe fn get(&self, from: Spot, to: *mut u8, len: usize, done: Completion) {
        self.send_gathered(Some(from.pe));
        if let Some(count) = self.behind_long_puts(from.pe) {
            let (this, to) = (Weak::clone(&self.this), Bytes { at: to, len });
            let then = move |applied: Result<()>| match (applied, this.upgrade()) {
                // SAFETY: the caller keeps the memory until `done` runs.
                (Ok(()), Some(this)) => unsafe { this.get(from, to.address(), len, done) },
                (applied, _) => complete(done, applied.and(Err(Error::Finalized { call: "net" }))),
            };
            return self.when_applied(from.pe, count, Box::new(then));
        }
        if len > UNASKED && self.puts_by_message(from.pe) {
            // SAFETY: passed on to the caller.
            return unsafe { self.get_by_message(from, to, len, done) };
        }
        let _ = self.start(from.pe, Operation::new(Kind::Plain(done)), |ucx, peer, operation| {
            let from = peer.base + from.offset as u64;
            // SAFETY: the caller keeps `to`; the endpoint and its key are open.
            unsafe { ucx.ucp_get_nbx(peer.endpoint, to.cast(), len, from, peer.rkey, &sending(operation)) }
        });
    }
}
