//! The trait [`Net`], with device memory.

use std::{
    fmt,
    sync::{Arc, Weak},
};

use oxshmem_base::Result;
use oxshmem_memory::{
    SegmentId,
    word::{Atomic, Signal, Width},
};
use oxshmem_net::{
    Batch, Listener, Net, Shape, Spot, Words,
    batch::{first_entry, question},
    get_each,
};
use oxshmem_progress::{
    completion::{Completion, complete},
    source::{Armed, Source},
};

use super::{
    Address, Core,
    client::{LONG, PART, Request},
    pieces::PIECE,
};

/// A net that reaches device memory.
pub(super) struct Staged(pub(super) Arc<Core>);

/// Whether a batch has operations on device memory, and whether it has others.
fn kinds(batch: &Batch) -> Result<[bool; 2]> {
    let (mut kinds, mut words) = ([false; 2], batch.words());
    while !words.is_empty() {
        let (place, _, len) = first_entry(words)?;
        kinds[usize::from(!place.on_device())] = true;
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

// SAFETY: on host memory, operations are those of the net below. On device memory, `Request`s hold
// what completes when they are over, and name the bytes that the caller keeps until then.
unsafe impl Net for Staged {
    fn eager_limit(&self) -> usize {
        self.0.below.eager_limit()
    }

    unsafe fn put_eager(&self, to: Spot, from: *const u8, len: usize) -> Result<()> {
        if to.segment != SegmentId::Gpu {
            // SAFETY: passed on to the caller.
            return unsafe { self.0.below.put_eager(to, from, len) };
        }
        for at in (0..len).step_by(PART) {
            let part = PART.min(len - at);
            let mut batch = Batch::with_capacity(part + 32);
            // SAFETY: the caller's `from` is readable.
            unsafe { batch.put_from(Spot { offset: to.offset + at, ..to }, from.wrapping_add(at), part) };
            self.0.write(to.pe, batch, false)?;
        }
        Ok(())
    }

    unsafe fn put(&self, to: Spot, from: *const u8, len: usize, done: Completion) {
        if to.segment != SegmentId::Gpu {
            // SAFETY: passed on to the caller.
            return unsafe { self.0.below.put(to, from, len, done) };
        }
        let from = Address(from.cast_mut());
        if let Some(there) = self.0.owner.offset_of(from, len).filter(|_| len > LONG) {
            return self.0.transfer(to, len, PIECE, done, |at, len, all| Request::Pull {
                offset: to.offset + at,
                there: there + at,
                len,
                all,
            });
        }
        self.0.transfer(to, len, PART, done, |at, len, free| {
            let from = Address(from.get().wrapping_add(at));
            Request::Put { offset: to.offset + at, from, len, free }
        });
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
        if to.segment == SegmentId::Gpu || at.segment == SegmentId::Gpu {
            return Some(done);
        }
        // SAFETY: passed on to the caller.
        unsafe { self.0.below.put_signal(to, from, len, at, update, done) }
    }

    unsafe fn get(&self, from: Spot, to: *mut u8, len: usize, done: Completion) {
        let to = Address(to);
        if from.segment != SegmentId::Gpu {
            let below = Arc::clone(&self.0.below);
            return self.0.after_batches(from.pe, move |before| match before {
                // SAFETY: passed on to the caller.
                Ok(()) => unsafe { below.get(from, to.get(), len, done) },
                Err(error) => complete(done, Err(error)),
            });
        }
        let step = if len > LONG { PIECE } else { PART };
        self.0.transfer(from, len, step, done, |at, len, got| {
            let to = Address(to.get().wrapping_add(at));
            Request::Get { offset: from.offset + at, to, len, got }
        });
    }

    unsafe fn get_packed(&self, from: Spot, blocks: Shape, to: *mut u8, done: Completion) {
        let to = Address(to);
        if from.segment != SegmentId::Gpu {
            let below = Arc::clone(&self.0.below);
            return self.0.after_batches(from.pe, move |before| match before {
                // SAFETY: passed on to the caller.
                Ok(()) => unsafe { below.get_packed(from, blocks, to.get(), done) },
                Err(error) => complete(done, Err(error)),
            });
        }
        // SAFETY: passed on to the caller.
        unsafe { get_each(self, from, blocks, to.get(), done) }
    }

    fn update(&self, at: Spot, width: Width, operation: Atomic<u64>) -> Result<()> {
        if at.segment != SegmentId::Gpu {
            return self.0.below.update(at, width, operation);
        }
        let mut batch = Batch::with_capacity(size_of::<[u64; 2]>());
        batch.update(at, width, operation);
        self.0.write(at.pe, batch, false)
    }

    fn fetch(&self, at: Spot, width: Width, operation: Atomic<u64>, done: Completion<u64>) {
        if at.segment != SegmentId::Gpu {
            let below = Arc::clone(&self.0.below);
            return self.0.after_batches(at.pe, move |before| match before {
                Ok(()) => below.fetch(at, width, operation, done),
                Err(error) => complete(done, Err(error)),
            });
        }
        let mut done = Some(done);
        let question = question(at, width, operation);
        let added = self.0.on_client(at.pe, |client| {
            if let Some(done) = done.take() {
                client.add(Request::Fetch { question, done });
            }
        });
        match (added, done) {
            (Err(error), Some(done)) => complete(done, Err(error)),
            _ => self.0.depart(at.pe),
        }
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

    fn flush(&self, pe: usize, done: Completion) {
        self.0.flush(pe, done);
    }

    fn flush_all(&self, done: Completion) {
        self.0.flush_all(done);
    }

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
