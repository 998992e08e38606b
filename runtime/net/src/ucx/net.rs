//! The traits of a net over UCX.

use std::{
    fmt,
    sync::{Arc, Weak},
};

use oxshmem_base::Result;
use oxshmem_memory::op::{Address, Op, Spot};
use oxshmem_progress::{
    completion::Completion,
    source::{Armed, Source},
};

use super::{Worker, messages, transfers::EAGER};
use crate::{Batch, Listener, Mail, Net, Way, Words};

/// The net of one PE.
pub(in super::super) struct UcxNet {
    pub(super) worker: Arc<Worker>,
}

impl Source for UcxNet {
    fn poll(&self) -> bool {
        !self.worker.is_closed() && self.worker.progress()
    }

    fn hand_over(&self) {
        if self.worker.is_gathering() {
            self.worker.send_gathered(None);
        }
    }

    fn is_pending(&self) -> bool {
        self.worker.is_awaited()
    }

    fn arm(&self) -> Armed<'_> {
        self.worker.arm()
    }

    /// UCX, or the network, writes what others put.
    fn stores_silently(&self) -> bool {
        true
    }
}

// SAFETY: every operation hands exactly the caller's range to UCX, and `done` is run by
// `Operation::end` or the answer alone, when UCX has let go of it.
unsafe impl Way<Spot, Address> for UcxNet {
    unsafe fn start(&self, op: Op, done: Completion<u64>) {
        // SAFETY: passed on to the caller.
        unsafe { self.worker.start_op(op, done) };
        self.worker.began();
    }

    fn flush(&self, pe: Option<usize>, done: Completion) {
        match pe {
            Some(pe) => self.worker.flush(pe, done),
            None => self.worker.flush_all(done),
        }
        self.worker.began();
    }
}

// SAFETY: one block, without a signal, is what is put or got.
unsafe impl Net for UcxNet {
    fn eager_limit(&self) -> usize {
        EAGER
    }

    fn apply(&self, pe: usize, batch: Batch) -> Result<()> {
        self.worker.apply(pe, batch)
    }

    fn gather(&self, pe: usize, room: usize, add: &mut dyn FnMut(&mut Batch)) -> Result<()> {
        self.worker.gather(pe, room, add)
    }

    fn send_gathered(&self) {
        self.worker.send_gathered(None);
    }

    fn close(&self) {
        self.end(true);
    }

    fn abandon(&self) {
        self.end(false);
    }
}

// SAFETY: every message hands exactly the caller's range to UCX, and `done` is run when UCX has let
// go of it.
unsafe impl Mail for UcxNet {
    unsafe fn send(&self, pe: usize, tag: u64, from: *const u8, len: usize, done: Completion) {
        // SAFETY: the caller keeps `from` until `done` runs.
        unsafe { self.worker.send(pe, tag, from, len, done) };
        self.worker.began();
    }

    fn send_short(&self, pe: usize, tag: u64, bytes: &[u8]) -> Option<Result<()>> {
        let (from, len) = (bytes.as_ptr(), bytes.len());
        // SAFETY: the slice is readable.
        (len <= messages::SHORT).then(|| unsafe { self.worker.send_short(pe, tag, from, len) })
    }

    unsafe fn receive(&self, pe: usize, tag: u64, to: *mut u8, len: usize, done: Completion<usize>) {
        // SAFETY: the caller keeps `to` until `done` runs.
        unsafe { self.worker.receive(pe, tag, to, len, done) };
        self.worker.began();
    }

    unsafe fn notify(&self, pe: usize, words: Words, from: *const u8, len: usize, done: Completion) {
        // SAFETY: the caller keeps `from` until `done` runs.
        unsafe { self.worker.notify(pe, words, from, len, done) };
        self.worker.began();
    }

    fn listen(&self, listener: Weak<dyn Listener>) {
        self.worker.listen(listener);
    }
}

impl UcxNet {
    fn end(&self, in_order: bool) {
        if self.worker.begin_close() {
            self.worker.leave_helper();
            self.worker.close(in_order);
            self.worker.report_dropped();
        }
    }
}

impl Drop for UcxNet {
    fn drop(&mut self) {
        self.abandon();
    }
}

impl fmt::Debug for UcxNet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.worker.fmt(f)
    }
}
