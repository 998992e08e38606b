//! The ways to other PEs: of the same host by [`Shm`], of other hosts by a [`Net`].
//!
//! A [`Net`] starts operations on symmetric memory of PEs that this one cannot load from and store
//! to, and carries messages between PEs for the collectives. What it is given goes on by itself,
//! whichever thread makes progress ([`Source::poll`]); the target's side needs no PE there to call
//! the library. Nothing here blocks.
//!
//! Operations come in two kinds. *Eager* ones have copied what they need when the call returns, and
//! are known to be visible at the target when a later [`flush`](Net::flush) is over. The others
//! borrow memory by address until their [`Completion`] runs.

pub mod batch;
mod facts;
#[cfg(any(test, feature = "suite"))]
pub mod fuzz;
pub mod model;
#[cfg(any(test, feature = "suite"))]
pub mod outcome;
mod shm;
#[cfg(any(test, feature = "suite"))]
pub mod suite;
mod ucx;

use std::{
    future::poll_fn,
    sync::{Arc, Weak},
};

pub use batch::{Batch, apply};
pub use facts::{ATOMICS, UcxFound};
pub use model::{Link, Model, Sent, Simulation, Wires};
pub use shm::Shm;

use oxshmem_base::{Error, Result};
use oxshmem_job::Bootstrap;
use oxshmem_memory::{
    Segment, SegmentId,
    word::{Atomic, Signal, Width},
};
use oxshmem_progress::{
    completion::{AllParts, Completion},
    executor::Executor,
    fabric::Fabric,
    flight::Flight,
    opset::OpSet,
    source::Source,
};

/// A place in the symmetric memory of a PE on another host. The maker has checked that it is in
/// bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The PE's number in the world.
    pub pe: usize,
    /// The symmetric memory.
    pub segment: SegmentId,
    /// Bytes from the start of that memory.
    pub offset: usize,
}

/// Blocks of a PE's memory at equal distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Bytes of one.
    pub block: usize,
    /// Bytes from the start of one to that of the next.
    pub stride: usize,
    /// How many there are.
    pub count: usize,
}

impl Shape {
    /// Bytes of all blocks, and from the start of the first to the end of the last; none if they
    /// are no numbers, or nothing.
    fn bytes(self) -> Option<(usize, usize)> {
        let Self { block, stride, count } = self;
        let before = count.checked_sub(1)?.checked_mul(stride)?;
        let bytes = block.checked_mul(count).filter(|&bytes| bytes > 0)?;
        Some((bytes, before.checked_add(block)?))
    }
}

/// Bytes of the blocks that are [got](Net::get_packed) in one go.
pub const PACKED: usize = 48 << 10;

/// The words of a [notification](Net::notify).
pub type Words = [u64; 5];

/// Gets the notifications that other PEs [send](Net::notify) to this one. It is called with no lock
/// held, and perhaps by several threads at a time.
pub trait Listener: Send + Sync {
    /// A notification of PE `from` has come.
    fn notified(self: Arc<Self>, from: usize, words: Words, bytes: Vec<u8>);

    /// No notification comes any more of a PE, or of any if none is given, for this reason.
    fn lost(&self, pe: Option<usize>, why: &dyn Fn() -> Error);
}

/// A way to the PEs of other hosts.
///
/// Operations that write to one PE may become visible in any order, unless a `flush` is over in
/// between. One that reads from a PE sees what this PE has written there before. Atomic operations
/// are atomic towards all others on that word, from whichever host.
///
/// # Safety
/// An implementation must touch only the bytes it was given, and none of them after `done` has run.
pub unsafe trait Net: Source {
    /// How many bytes [`put`](Self::put) does better to copy first, by
    /// [`put_eager`](Self::put_eager).
    fn eager_limit(&self) -> usize;

    /// Copies `len` bytes from `from` to `to`. Eager.
    ///
    /// # Safety
    /// `from` must be readable for `len` bytes; others may write there meanwhile.
    unsafe fn put_eager(&self, to: Spot, from: *const u8, len: usize) -> Result<()>;

    /// Copies `len` bytes from `from` to `to`; `done` runs when `from` may be reused. Visible after
    /// a flush.
    ///
    /// # Safety
    /// `from` must be readable for `len` bytes until then.
    unsafe fn put(&self, to: Spot, from: *const u8, len: usize, done: Completion);

    /// Copies `len` bytes from `from` to `to` and updates the signal `at` the same PE when they are
    /// there; `done` runs when `from` may be reused. Visible after a flush. Gives `done` back and
    /// does nothing where that takes a flush in between.
    ///
    /// # Safety
    /// `from` must be readable for `len` bytes until then.
    unsafe fn put_signal(
        &self,
        to: Spot,
        from: *const u8,
        len: usize,
        at: Spot,
        update: Signal,
        done: Completion,
    ) -> Option<Completion> {
        let _ = (to, from, len, at, update);
        Some(done)
    }

    /// Copies `len` bytes from `from` to `to`; `done` runs when they have arrived.
    ///
    /// # Safety
    /// `to` must be writable for `len` bytes until then.
    unsafe fn get(&self, from: Spot, to: *mut u8, len: usize, done: Completion);

    /// Copies blocks, of which the first begins at `from`, to `to`, one behind the other; `done`
    /// runs when all of them have arrived. They have [`PACKED`] bytes at the most.
    ///
    /// # Safety
    /// `to` must be writable for all bytes of them until then.
    unsafe fn get_packed(&self, from: Spot, blocks: Shape, to: *mut u8, done: Completion) {
        // SAFETY: passed on to the caller.
        unsafe { get_each(self, from, blocks, to, done) }
    }

    /// An atomic operation that fetches nothing. Eager.
    fn update(&self, at: Spot, width: Width, operation: Atomic<u64>) -> Result<()>;

    /// An atomic operation; `done` gets the word's value before it.
    fn fetch(&self, at: Spot, width: Width, operation: Atomic<u64>, done: Completion<u64>);

    /// Has `pe` perform all of `batch`, in its order and in one go. Eager.
    fn apply(&self, pe: usize, batch: Batch) -> Result<()>;

    /// Adds to the operations that are gathered for `pe`, which leave together when they have
    /// `room` bytes, with the next flush, when this PE waits for something, or soon. Eager.
    fn gather(&self, pe: usize, room: usize, add: &mut dyn FnMut(&mut Batch)) -> Result<()> {
        let mut batch = Batch::with_capacity(room.min(64));
        add(&mut batch);
        self.apply(pe, batch)
    }

    /// Sends everything that was gathered.
    fn send_gathered(&self) {}

    /// Runs `done` when everything that was started on `pe` before this call is visible there.
    fn flush(&self, pe: usize, done: Completion);

    /// Runs `done` when everything that was started on any PE before this call is visible there.
    fn flush_all(&self, done: Completion);

    /// Sends a message to `pe`, whose [`receive`](Self::receive) names this PE and the same `tag`;
    /// `done` runs when `from` may be reused. Messages with equal tags arrive in their order.
    ///
    /// # Safety
    /// `from` must be readable for `len` bytes until then.
    unsafe fn send(&self, pe: usize, tag: u64, from: *const u8, len: usize, done: Completion);

    /// The same for a message so short that it is copied at once: `bytes` may be reused when this
    /// returns, with what [`send`](Self::send) would have given `done`. Of a longer one, or by a
    /// net that has no such way, nothing is sent, and `None` is returned.
    fn send_short(&self, _pe: usize, _tag: u64, _bytes: &[u8]) -> Option<Result<()>> {
        None
    }

    /// Receives a message that `pe` has sent or will send; `done` gets its length when it is there.
    /// A message longer than `len` is an error.
    ///
    /// # Safety
    /// `to` must be writable for `len` bytes until then.
    unsafe fn receive(&self, pe: usize, tag: u64, to: *mut u8, len: usize, done: Completion<usize>);

    /// Sends a notification to `pe`, for its [listener](Self::listen): words, and `len` bytes at
    /// `from`; `done` runs when `from` may be reused. Later notifications may overtake it.
    ///
    /// # Safety
    /// `from` must be readable for `len` bytes until then.
    unsafe fn notify(&self, pe: usize, words: Words, from: *const u8, len: usize, done: Completion);

    /// Names the listener of this PE. To be called once, before any PE sends a notification.
    fn listen(&self, listener: Weak<dyn Listener>);

    /// Ends it: what is under way fails, and nothing can be started any more. Every PE has called
    /// the barrier before.
    fn close(&self);

    /// Closes it in a job that has not come to its end in order: others may be connecting to this
    /// PE just now.
    fn abandon(&self) {
        self.close();
    }
}

/// Gets blocks one by one, as [`Net::get_packed`] does where nothing better is known.
///
/// # Safety
/// As for that.
pub unsafe fn get_each<N: Net + ?Sized>(net: &N, from: Spot, blocks: Shape, to: *mut u8, done: Completion) {
    let all = AllParts::new(done);
    for i in 0..blocks.count {
        let spot = Spot { offset: from.offset + i * blocks.stride, ..from };
        // SAFETY: the block is inside of what the caller keeps until all of them are over.
        unsafe { net.get(spot, to.add(i * blocks.block), blocks.block, all.part()) };
    }
}

/// The way of this PE to those of other hosts, if there are any, over the network interfaces of
/// these names if that is said. Nothing may be started on it before all PEs have called this and
/// met in a barrier.
pub async fn connect(
    bootstrap: &Arc<dyn Bootstrap>,
    fabric: &Arc<Fabric>,
    executor: &Arc<Executor>,
    memory: Segment,
    interfaces: Option<&str>,
) -> Result<Option<Arc<dyn Net>>> {
    let placement = bootstrap.placement();
    if placement.n_pes == placement.local.len() {
        return Ok(None);
    }
    Ok(Some(match Wires::of(&**bootstrap) {
        Some(wires) => {
            let block = placement.hosts.local_pe_of(placement.pe);
            Arc::new(Model::join(wires, placement.pe, block, fabric, executor)?)
        }
        None => {
            let scratch = fabric.control.scratch();
            Arc::new(ucx::connect(bootstrap, executor, memory, scratch, interfaces).await?)
        }
    }))
}

/// Starts the flushes that operations of `set` wait for, those on `pes` if given, and has the set
/// complete them.
pub fn flush(net: &dyn Net, set: &Arc<OpSet>, pes: Option<&[usize]>) {
    for (target, ticket) in set.take_unflushed(pes) {
        let set = Arc::clone(set);
        net.flush(
            target.world_pe,
            Box::new(move |flushed| {
                if let Err(error) = flushed {
                    set.report_later(Some(target.pe), error);
                }
                set.complete(ticket);
            }),
        );
    }
}

/// Ready when everything that was started on any PE before is visible there.
pub async fn flush_all(net: &dyn Net) -> Result<()> {
    let flight = Arc::new(Flight::default());
    let landing = Arc::clone(&flight);
    net.flush_all(Box::new(move |flushed| landing.land(flushed)));
    poll_fn(|cx| flight.poll(cx)).await
}

/// Bits of a tag that the rooms above may use: the others name the sender.
pub const TAG_BITS: u32 = 40;

/// All ways to drive an engine.
#[cfg(test)]
fn ways() -> impl Iterator<Item = oxshmem_progress::suite::Way> {
    let mut several = tokio::runtime::Builder::new_multi_thread();
    let one = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let both = [one, several.worker_threads(2).enable_all().build()];
    oxshmem_progress::suite::Way::all(both.map(|runtime| runtime.expect("threads start")))
}
