//! The trait [`Net`] over UCX.

use std::{
    fmt,
    sync::{Arc, Weak},
};

use oxshmem_base::Result;
use oxshmem_memory::word::{Atomic, Signal, Width};
use oxshmem_progress::{
    completion::Completion,
    source::{Armed, Source},
};

use super::{
    Worker, messages,
    operation::{Kind, Operation},
};
use crate::{Batch, Listener, Net, Shape, Spot, Words, get_each};

/// Up to so many bytes are copied when an operation starts: that takes less than a system call.
/// Over TCP such a put is a batch.
const EAGER: usize = 7 << 10;
/// Bytes of an entry of a batch besides its data, and to round that up.
const HEAD: usize = 24;

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
// `Operation::end` alone, when UCX has let go of it.
unsafe impl Net for UcxNet {
    fn eager_limit(&self) -> usize {
        EAGER
    }

    unsafe fn put_eager(&self, to: Spot, from: *const u8, len: usize) -> Result<()> {
        if len <= EAGER && self.worker.puts_by_message(to.pe) {
            // The target acknowledges many of these at once, and UCX each put.
            let mut batch = Batch::with_capacity(len + HEAD);
            // SAFETY: as below.
            unsafe { batch.put_from(to, from, len) };
            return self.worker.send_batch(to.pe, batch);
        }
        // SAFETY: the caller's `from` is readable.
        unsafe { self.worker.put_copy(to, from, len) }
    }

    unsafe fn put(&self, to: Spot, from: *const u8, len: usize, done: Completion) {
        // SAFETY: the caller keeps `from` until `done` runs, as it is in any case.
        let _ = unsafe { self.worker.put(to, from, len, Operation::new(Kind::Plain(done))) };
        self.worker.began();
    }

    unsafe fn put_signal(
        &self,
        to: Spot,
        from: *const u8,
        len: usize,
        at: Spot,
        update: Signal,
        done: Completion,
    ) -> Option<Completion> {
        if !self.worker.puts_by_message(to.pe) {
            return Some(done);
        }
        let operation = Operation::new(Kind::Plain(done));
        // SAFETY: the caller keeps `from` until `done` runs, as it is in any case.
        let _ = unsafe { self.worker.put_by_message(to, from, len, Some((at, update)), operation) };
        self.worker.began();
        None
    }

    unsafe fn get(&self, from: Spot, to: *mut u8, len: usize, done: Completion) {
        // SAFETY: the caller keeps `to` until `done` runs.
        unsafe { self.worker.get(from, to, len, done) };
        self.worker.began();
    }

    unsafe fn get_packed(&self, from: Spot, blocks: Shape, to: *mut u8, done: Completion) {
        if self.worker.puts_by_message(from.pe) {
            // SAFETY: the caller keeps `to` until `done` runs.
            unsafe { self.worker.get_packed(from, blocks, to, done) };
            return self.worker.began();
        }
        // SAFETY: passed on to the caller.
        unsafe { get_each(self, from, blocks, to, done) }
    }

    fn update(&self, at: Spot, width: Width, operation: Atomic<u64>) -> Result<()> {
        let mut batch = Batch::with_capacity(size_of::<[u64; 2]>());
        batch.update(at, width, operation);
        self.worker.send_batch(at.pe, batch)
    }

    fn fetch(&self, at: Spot, width: Width, operation: Atomic<u64>, done: Completion<u64>) {
        self.worker.send_gathered(Some(at.pe));
        self.worker.fetch(at, width, operation, done);
        self.worker.began();
    }

    fn apply(&self, pe: usize, batch: Batch) -> Result<()> {
        self.worker.send_batch(pe, batch)
    }

    fn gather(&self, pe: usize, room: usize, add: &mut dyn FnMut(&mut Batch)) -> Result<()> {
        self.worker.gather(pe, room, add)
    }

    fn send_gathered(&self) {
        self.worker.send_gathered(None);
    }

    fn flush(&self, pe: usize, done: Completion) {
        self.worker.flush(pe, done);
        self.worker.began();
    }

    fn flush_all(&self, done: Completion) {
        self.worker.flush_all(done);
        self.worker.began();
    }

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

    fn close(&self) {
        self.end(true);
    }

    fn abandon(&self) {
        self.end(false);
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
