//! The net over UCX: RDMA, RoCE or TCP, whatever UCX finds.
//!
//! A PE has one UCX worker, which one thread at a time uses, under a lock. Everything that blocks in the library polls
//! it; while nobody does, a [helper thread](progress) of the PE serves what other PEs ask of it, asleep on the
//! worker's event descriptor when there is nothing to do. Endpoints and remote keys are made when a PE is first
//! talked to.
//!
//! Puts and gets are UCX's own, or, where everything goes over TCP, [messages](bulk) too. Batches are active messages,
//! which the target applies and counts back ([`batches`]), and so are atomic operations, alone or with an answer
//! ([`fetches`]): they run on the target's processor, in all transports, so that they are atomic towards those of PEs
//! that share memory with the target. Messages of collectives are [matched here](messages).
//! What [leaves](departures) as an active message and [arrives](arrivals) goes through one place each.

mod arrivals;
mod asked;
mod batches;
mod bulk;
mod calls;
mod close;
mod credit;
mod departures;
mod directory;
mod fetches;
mod flush;
#[cfg(test)]
mod fuzz;
mod lines;
mod messages;
mod offers;
mod open;
mod operation;
mod pieces;
mod progress;
mod said;
mod strangers;
#[cfg(test)]
mod tests;
mod worker;

use std::{
    fmt,
    sync::{Arc, Weak},
};

use oxshmem_base::{Error, Result};
use oxshmem_job::Bootstrap;
use oxshmem_memory::{
    Segment,
    word::{Atomic, Signal, Width},
};
use oxshmem_progress::{executor::Executor, source::Source};
use ucx_sys::Ucx;

use self::{
    open::Interfaces,
    operation::{Kind, Operation},
    progress::Helper,
    worker::Worker,
};
use super::{Batch, Completion, Listener, Net, Shape, Spot, Words, get_each};

/// Up to so many bytes are copied rather than lent: below what a system call costs.
const EAGER: usize = 8 << 10;

/// Up to so many bytes a put is a message where everything goes over TCP.
const SHORT: usize = 7 << 10;
/// Bytes of an entry besides its data, and to round that up.
const HEAD: usize = 24;

/// The net of one PE.
pub(super) struct UcxNet {
    worker: Arc<Worker>,
    helper: Helper,
}

/// An error if this process can have no more threads. UCX needs one, and aborts the process without it.
fn threads_start() -> Result<()> {
    let started = std::thread::Builder::new().spawn(|| ());
    // It does nothing that could panic.
    started.map(|thread| _ = thread.join()).map_err(|error| Error::system("start of a thread for UCX", error))
}

/// Connects this PE, over these network interfaces if that is said. Collective over all PEs.
pub(super) async fn connect(
    bootstrap: &Arc<dyn Bootstrap>,
    executor: &Arc<Executor>,
    memory: Segment,
    scratch: Segment,
    interfaces: Option<&str>,
) -> Result<UcxNet> {
    // A PE that cannot load it tells the others, which else would wait for its address.
    let loaded = match is_static() {
        true => Err(Error::Unsupported {
            what: "a statically linked program cannot load UCX, which its PEs need to reach other hosts; link it \
                   dynamically (the library itself may be static: -static-libshmem)"
                .into(),
        }),
        false => threads_start().and_then(|()| {
            Ucx::load().map_err(|error| Error::Unsupported { what: format!("{error}") })
        }),
    };
    let interfaces = Interfaces::choose(interfaces, bootstrap.is_one_machine());
    let opened = loaded
        .and_then(|ucx| Worker::open(ucx, bootstrap.placement(), &interfaces, memory, scratch, executor));
    let published = match &opened {
        Ok(worker) => worker.published().to_vec(),
        Err(_) => Vec::new(),
    };
    let heard = bootstrap.exchange_to_leaders(published).await?;
    // A leader that has nothing to publish says so before it fails: its host waits for it.
    let directory = directory::share(&**bootstrap, heard).await;
    let worker = opened?;
    worker.learn(directory?);
    let helper = Helper::start(Arc::clone(&worker), executor.may_spin())?;
    Ok(UcxNet { worker, helper })
}

/// Whether this program was started without a dynamic linker.
fn is_static() -> bool {
    // SAFETY: it looks a number up.
    unsafe { libc::getauxval(libc::AT_BASE) == 0 }
}

impl Source for UcxNet {
    fn poll(&self) -> bool {
        self.worker.poll()
    }

    fn wants_polling(&self) -> bool {
        true
    }

    fn is_pending(&self) -> bool {
        self.worker.is_awaited()
    }

    fn rest(&self) {
        self.helper.take_over(&self.worker);
    }
}

// SAFETY: every operation hands exactly the caller's range to UCX, and `done` is told by `Operation::end` alone, when
// UCX has let go of it.
unsafe impl Net for UcxNet {
    fn eager_limit(&self) -> usize {
        EAGER
    }

    unsafe fn put_eager(&self, to: Spot, from: *const u8, len: usize) -> Result<()> {
        if len <= SHORT && self.worker.puts_by_message(to.pe) {
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
        // SAFETY: the caller keeps `from` until `done` is told, as it is in any case.
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
        // SAFETY: the caller keeps `from` until `done` is told, as it is in any case.
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
        // SAFETY: the caller keeps `from` until `done` is told.
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

    unsafe fn say(&self, pe: usize, words: Words, from: *const u8, len: usize, done: Completion) {
        // SAFETY: the caller keeps `from` until `done` is told.
        unsafe { self.worker.talk(pe, words, from, len, done) };
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
            self.helper.stop(&self.worker);
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
