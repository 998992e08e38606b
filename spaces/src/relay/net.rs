//! The traits of a net, with device memory.

use std::{
    fmt,
    sync::{Arc, Weak},
};

use oxshmem_base::Result;
use oxshmem_memory::{
    SegmentId,
    op::{Address, Op, Spot, Verb},
};
use oxshmem_net::{Batch, Listener, Mail, Net, Takes, Way, Words, batch::first_entry};
use oxshmem_progress::{
    completion::{Completion, complete},
    source::{Armed, Source},
};

use super::{
    Core,
    client::{LONG, PART},
    pieces::PIECE,
};

/// A net that reaches device memory.
pub(super) struct Staged(pub(super) Arc<Core>);

/// Whether a batch has operations on device memory, and whether it has others.
fn kinds(batch: &Batch) -> Result<[bool; 2]> {
    let (mut kinds, mut words) = ([false; 2], batch.words());
    while !words.is_empty() {
        let (op, len) = first_entry(words)?;
        kinds[usize::from(!op.there.on_device())] = true;
        words = &words[len..];
    }
    Ok(kinds)
}

impl Source for Staged {
    fn poll(&self) -> bool {
        self.0.poll()
    }

    fn wants_polling(&self) -> bool {
        self.0.below.wants_polling()
    }

    fn arm(&self) -> Armed<'_> {
        self.0.below.arm()
    }

    fn hand_over(&self) {
        self.0.below.hand_over();
    }

    fn is_pending(&self) -> bool {
        true
    }

    fn stores_silently(&self) -> bool {
        self.0.below.stores_silently()
    }
}

/// Whether an operation, or its signal, is on device memory.
fn is_on_device(op: &Op) -> bool {
    let is_device = |at: Spot| at.segment == SegmentId::Gpu;
    is_device(op.there) || op.then.is_some_and(|(at, _)| is_device(at))
}

// SAFETY: on host memory, operations are those of the net below. On device memory, `Request`s hold
// what completes when they are over, and name the bytes that the caller keeps until then.
unsafe impl Way<Spot, Address> for Staged {
    unsafe fn start(&self, op: Op, done: Completion<u64>) {
        let (core, len) = (&self.0, op.blocks.len);
        match op.verb {
            // SAFETY: passed on to the caller.
            Verb::Put(_) if !is_on_device(&op) => unsafe { core.below.start(op, done) },
            Verb::Get(_) | Verb::Atomic(..) if !is_on_device(&op) => {
                let below = Arc::clone(&core.below);
                core.after_batches(op.there.pe, move |before| match before {
                    // SAFETY: passed on to the caller.
                    Ok(()) => unsafe { below.start(op, done) },
                    Err(error) => complete(done, Err(error)),
                });
            }
            Verb::Put(from) => match core.owner.offset_of(from, len).filter(|_| len > LONG) {
                Some(there) => core.add(op, PIECE, Some(there), done),
                None => core.add(op, PART, None, done),
            },
            Verb::Get(_) => core.add(op, if len > LONG { PIECE } else { PART }, None, done),
            Verb::Atomic(..) => core.add(op, len, None, done),
        }
    }

    fn flush(&self, pe: Option<usize>, done: Completion) {
        match pe {
            Some(pe) => self.0.flush(pe, done),
            None => self.0.flush_all(done),
        }
    }
}

// SAFETY: the net below takes what it says; of operations on device memory each block goes by
// itself.
unsafe impl Net for Staged {
    fn takes(&self, op: &Op) -> Takes {
        match is_on_device(op) {
            true if op.blocks.count == 1 && op.then.is_none() => Takes::Whole,
            true => Takes::Each,
            false => self.0.below.takes(op),
        }
    }

    fn eager_limit(&self) -> usize {
        self.0.below.eager_limit()
    }

    fn has_room(&self, pe: usize) -> bool {
        self.0.below.has_room(pe)
    }

    fn apply(&self, pe: usize, batch: Batch) -> Result<()> {
        match kinds(&batch)? {
            [false, _] => self.0.below.apply(pe, batch),
            [true, on_host] => self.0.write(pe, batch, on_host),
        }
    }

    fn gather(&self, pe: usize, room: usize, add: &mut dyn FnMut(&mut Batch)) -> Result<()> {
        let mut batch = Batch::default();
        add(&mut batch);
        match kinds(&batch)? {
            // A client gathers by itself.
            [true, on_host] => self.0.write(pe, batch, on_host),
            [false, _] => self.0.below.gather(pe, room, &mut |all| all.append(std::mem::take(&mut batch))),
        }
    }

    fn send_gathered(&self) {
        self.0.below.send_gathered();
    }

    fn lose(&self, pe: usize, view: u64, how: &str) {
        self.0.below.lose(pe, view, how);
    }

    fn settle(&self, done: Completion) {
        self.0.below.settle(done);
    }

    fn forget(&self, is_stale: &dyn Fn(u64) -> bool) -> bool {
        self.0.below.forget(is_stale)
    }

    fn let_in(&self, pe: usize, given: &[Vec<u8>]) -> Result<()> {
        self.0.below.let_in(pe, given)
    }

    fn close(&self) {
        // It serves others for as long as they may want something.
        self.0.below.close();
        self.0.end();
    }

    fn abandon(&self) {
        self.0.below.abandon();
        self.0.end();
    }
}

// SAFETY: all of it is the net's below.
unsafe impl Mail for Staged {
    unsafe fn send(&self, pe: usize, tag: u64, from: *const u8, len: usize, done: Completion) {
        // SAFETY: passed on to the caller.
        unsafe { self.0.below.send(pe, tag, from, len, done) }
    }

    fn send_short(&self, pe: usize, tag: u64, bytes: &[u8]) -> Option<Result<()>> {
        self.0.below.send_short(pe, tag, bytes)
    }

    unsafe fn receive(&self, pe: usize, tag: u64, to: *mut u8, len: usize, done: Completion<usize>) {
        // SAFETY: passed on to the caller.
        unsafe { self.0.below.receive(pe, tag, to, len, done) }
    }

    unsafe fn notify(&self, pe: usize, words: Words, from: *const u8, len: usize, done: Completion) {
        // SAFETY: passed on to the caller.
        unsafe { self.0.below.notify(pe, words, from, len, done) }
    }

    fn listen(&self, listener: Weak<dyn Listener>) {
        self.0.below.listen(listener);
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        self.abandon();
    }
}

impl fmt::Debug for Staged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}, and {:?} by way of the host", self.0.below, self.0.owner.device)
    }
}
