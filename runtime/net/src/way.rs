//! The traits of whatever moves bytes: [`Way`] for operations, [`Mail`] for messages, and [`Net`]
//! for both, to the PEs of other hosts.

use std::sync::{Arc, Weak};

use oxshmem_base::{Error, Result};
use oxshmem_memory::op::{Address, Op, Spot};
use oxshmem_progress::{
    completion::{Completion, complete},
    source::Source,
};

use super::Batch;

/// Something that performs operations between places `T` there and `H` on this side: a network, or
/// a device.
///
/// # Safety
/// An implementation must touch only the bytes of the operations that it was given, and none of
/// them after `done` has run.
pub unsafe trait Way<T, H>: Source {
    /// Starts an operation. `done` gets the word's value before it, of an atomic operation that
    /// fetches.
    ///
    /// # Safety
    /// The place there must be in bounds, and aligned where it is a word. Memory on this side must
    /// be readable, or writable for a get, until `done` runs; others may write there meanwhile.
    unsafe fn start(&self, op: Op<T, H>, done: Completion<u64>);

    /// Runs `done` when everything that was started before this call on `pe`, or on any PE if none
    /// is given, is visible there.
    fn flush(&self, pe: Option<usize>, done: Completion);
}

/// A part of a flush of all PEs: what was under way with one that is lost, in a job that goes on,
/// is over, and that has been reported where it was awaited.
pub fn unless_lost(part: Completion) -> Completion {
    Box::new(move |flushed| match flushed {
        Err(Error::PeLost { view: 1.., .. }) => complete(part, Ok(())),
        flushed => complete(part, flushed),
    })
}

/// How a net takes an operation: see [`start`](super::start), which does the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// As it is.
    Whole,
    /// Each block, and the signal, by itself.
    Each,
}

/// A way to the PEs of other hosts.
///
/// A put is over when its source may be [reused](oxshmem_memory::op::Ready::Reusable). Operations
/// that write to one PE may become visible in any order, unless a flush is over in between. One
/// that reads from a PE sees what this PE has written there before. Atomic operations are atomic
/// towards all others on that word, from whichever host.
///
/// # Safety
/// What is [started](Way::start) must be what the net [takes whole](Takes::Whole).
pub unsafe trait Net: Way<Spot, Address> + Mail {
    /// How it takes an operation.
    fn takes(&self, op: &Op) -> Takes {
        if op.blocks.count == 1 && op.then.is_none() { Takes::Whole } else { Takes::Each }
    }

    /// How many bytes a put does better to [copy](super::put_copied) first.
    fn eager_limit(&self) -> usize;

    /// Whether more may be copied for `pe`, which else takes less than it is sent: what is started
    /// then is to be kept by its caller until it is over.
    fn has_room(&self, _pe: usize) -> bool {
        true
    }

    /// Has `pe` perform all of `batch`, in its order and in one go. Visible after a flush.
    ///
    /// # Errors
    /// If it cannot leave.
    fn apply(&self, pe: usize, batch: Batch) -> Result<()>;

    /// Adds to the operations that are gathered for `pe`, which leave together when they have
    /// `room` bytes, with the next flush, when this PE waits for something, or soon.
    ///
    /// # Errors
    /// If they cannot leave.
    fn gather(&self, pe: usize, room: usize, add: &mut dyn FnMut(&mut Batch)) -> Result<()> {
        let mut batch = Batch::with_capacity(room.min(64));
        add(&mut batch);
        self.apply(pe, batch)
    }

    /// Sends everything that was gathered.
    fn send_gathered(&self) {}

    /// A PE is lost, and the job goes on in this view: what is under way with it fails, and what is
    /// started from now on. Only of nets that a job can go on with.
    fn lose(&self, _pe: usize, _view: u64, _how: &str) {}

    /// Has `done` run when all that was sent before, messages too, has come to the PEs that it was
    /// sent to.
    fn settle(&self, done: Completion) {
        self.flush(None, done);
    }

    /// Messages whose tag `is_stale` are not received any more: those that have come are dropped,
    /// and what waits for others ends. Whether some are being received just now, which go on.
    fn forget(&self, _is_stale: &dyn Fn(u64) -> bool) -> bool {
        false
    }

    /// A PE that was lost has a replacement, of which this is what it gave in the exchanges by
    /// which it has joined; nothing if this PE has joined after it. It can be reached again.
    ///
    /// # Errors
    /// What it gave cannot be read.
    fn let_in(&self, _pe: usize, _given: &[Vec<u8>]) -> Result<()> {
        Ok(())
    }

    /// Ends it: what is under way fails, and nothing can be started any more. Every PE has called
    /// the barrier before.
    fn close(&self);

    /// Closes it in a job that has not come to its end in order: others may be connecting to this
    /// PE just now.
    fn abandon(&self) {
        self.close();
    }
}

/// Messages between PEs, for the collectives and for what serves device memory.
///
/// # Safety
/// An implementation must touch only the bytes it was given, and none of them after `done` has run.
pub unsafe trait Mail {
    /// Sends a message to `pe`, whose [`receive`](Self::receive) names this PE and the same `tag`;
    /// `done` runs when `from` may be reused. Messages with equal tags arrive in their order.
    ///
    /// # Safety
    /// `from` must be readable for `len` bytes until then.
    unsafe fn send(&self, pe: usize, tag: u64, from: *const u8, len: usize, done: Completion);

    /// Sends a message that is so short that it is copied at once: `bytes` may be reused when this
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
}

/// The words of a [notification](Mail::notify).
pub type Words = [u64; 5];

/// Gets the notifications that other PEs [send](Mail::notify) to this one. It is called with no
/// lock held, and perhaps by several threads at a time.
pub trait Listener: Send + Sync {
    /// A notification of PE `from` has come.
    fn notified(self: Arc<Self>, from: usize, words: Words, bytes: Vec<u8>);

    /// No notification comes any more of a PE, or of any if none is given, for this reason.
    fn lost(&self, pe: Option<usize>, why: &dyn Fn() -> Error);
}
