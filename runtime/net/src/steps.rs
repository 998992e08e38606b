//! Operations that a net takes in several steps: blocks one by one, a signal behind its data, a put
//! that is over at its remote completion, and what is copied into batches.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use oxshmem_base::Result;
use oxshmem_memory::{
    op::{Blocks, Op, Ready, Verb},
    word::Width,
};
use oxshmem_progress::completion::{AllParts, Completion, no_value};

use super::{Batch, Net, Takes, batch::HEAD};

/// How many steps of an operation are under way at a time.
const WINDOW: usize = 16;
/// Blocks that go by themselves in one step.
const TOGETHER: usize = 1 << 10;

/// Copies a put, or an atomic operation that fetches nothing, into batches for its target, which
/// leave. Visible after a flush.
///
/// # Errors
/// If they cannot leave.
///
/// # Safety
/// The source must be readable; others may write there meanwhile.
pub unsafe fn put_copied(net: &dyn Net, op: &Op) -> Result<()> {
    let (pe, limit) = (op.there.pe, net.eager_limit());
    let all = op.blocks.bytes() + HEAD * op.blocks.count;
    let mut batch = Batch::with_capacity(if op.blocks.count == 1 { all + HEAD } else { limit.min(all) });
    for block in op.each() {
        if batch.bytes() + block.blocks.len > limit && !batch.is_empty() {
            net.apply(pe, batch.take())?;
        }
        // SAFETY: passed on to the caller.
        unsafe { batch.add(&block) };
    }
    if let Some((at, update)) = op.then {
        batch.update(at, update.into(), Width::Eight);
    }
    if batch.is_empty() { Ok(()) } else { net.apply(pe, batch) }
}

/// Starts an operation, in as many steps as the net takes it in.
///
/// # Safety
/// As for [`Way::start`](super::Way::start).
pub unsafe fn start(net: &Arc<dyn Net>, op: Op, done: Completion<u64>) {
    if let (Verb::Put(_), Ready::Delivered) = (op.verb, op.ready) {
        let (last, pe) = (Arc::clone(net), op.there.pe);
        let flush = move |put: Result<u64>| match put {
            Ok(_) => last.flush(Some(pe), no_value(done)),
            Err(error) => done(Err(error)),
        };
        // SAFETY: passed on to the caller.
        return unsafe { start(net, Op { ready: Ready::Reusable, ..op }, Box::new(flush)) };
    }
    // SAFETY: as above.
    unsafe {
        match (net.takes(&op), op.then) {
            (Takes::Whole, _) => net.start(op, done),
            (Takes::Each, Some(_)) => start_apart(net, op, done),
            (Takes::Each, None) => Steps::start(net, op, done),
        }
    }
}

/// Puts the data, and updates the signal when that is known to be there. Over when both are.
///
/// # Safety
/// As for [`start`].
unsafe fn start_apart(net: &Arc<dyn Net>, op: Op, done: Completion<u64>) {
    let (last, signal) = (Arc::clone(net), op.then);
    let then = move |put: Result<u64>| {
        let mut batch = Batch::with_capacity(HEAD);
        if let Some((at, update)) = signal {
            batch.update(at, update.into(), Width::Eight);
        }
        let pe = op.there.pe;
        match put.and_then(|_| last.apply(pe, batch)) {
            Ok(()) => last.flush(Some(pe), no_value(done)),
            Err(error) => done(Err(error)),
        }
    };
    // SAFETY: passed on to the caller.
    unsafe { start(net, Op { then: None, ready: Ready::Delivered, ..op }, Box::new(then)) };
}

/// An operation on blocks, a few of which are under way at a time: the end of one step starts the
/// next. It is over when the last reference to it is gone.
struct Steps {
    net: Arc<dyn Net>,
    op: Op,
    /// The first block that is in no step.
    next: AtomicUsize,
    all: Arc<AllParts>,
}

impl Steps {
    /// # Safety
    /// As for [`start`].
    unsafe fn start(net: &Arc<dyn Net>, op: Op, done: Completion<u64>) {
        let all = AllParts::new(no_value(done));
        let steps = Arc::new(Self { net: Arc::clone(net), op, next: AtomicUsize::new(0), all });
        for _ in 0..WINDOW.min(op.blocks.count.div_ceil(TOGETHER)) {
            // SAFETY: passed on to the caller.
            unsafe { Arc::clone(&steps).step() };
        }
    }

    /// Starts the next blocks, and those after them, if there are any left.
    ///
    /// # Safety
    /// The caller of [`start`] keeps the memory on this side until `all` is over.
    unsafe fn step(self: Arc<Self>) {
        // Relaxed: steps have nothing to do with each other.
        let at = self.next.fetch_add(TOGETHER, Ordering::Relaxed);
        if at >= self.op.blocks.count {
            return;
        }
        let count = TOGETHER.min(self.op.blocks.count - at);
        let op = Op { blocks: Blocks { count, ..self.op.blocks }, ..self.op.block(at) };
        let net = Arc::clone(&self.net);
        let then = move |over: Result<()>| match over {
            // SAFETY: as this one.
            Ok(()) => unsafe { self.step() },
            Err(_) => self.all.note(over),
        };
        let step = AllParts::new(Box::new(then));
        for block in op.each() {
            // SAFETY: passed on to the caller.
            unsafe { net.start(block, step.part()) };
        }
    }
}
