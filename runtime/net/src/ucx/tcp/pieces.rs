//! Long transfers where everything goes over TCP: in pieces, each an active message that UCX sends
//! at once from the caller's memory.
//!
//! UCX has a rendezvous of its own for what is long. Over TCP it takes one more turn to the other
//! side and back, and moves less than half as much where data goes both ways, or cuts it into
//! pieces that it copies on both sides.
//!
//! A few pieces are under way at a time, and the end of one starts the next: so others get in
//! between, and a worker's queue stays short. What fits into as many pieces is handed to UCX at
//! once, and comes before what is sent later.

use std::{
    ffi::c_uint,
    ops::Range,
    sync::{Arc, Weak},
};

use oxshmem_base::{
    Error, Result,
    sync::{Mutex, MutexGuard, lock},
};

use super::super::{
    Worker,
    arrivals::{DATA, FIRST, MORE, PUT, PUT_PART},
    channel::Stamp,
    departures::Form,
    offers::Bytes,
    operation::{Header, Kind, Operation, Update},
};

/// Bytes of one piece at most: what UCX sends over TCP with the message.
pub(super) const PIECE: usize = 60 << 10;
/// This many are under way of one transfer.
const WINDOW: usize = 20;
/// What is longer than this may come after what is sent later.
pub(super) const IN_ORDER: usize = WINDOW * PIECE;

/// Pieces begin where cache lines do, if their buffers do.
const LINE: usize = 64;

/// What is sent in pieces.
pub(in super::super) enum What {
    /// A put to that offset of the target's memory, counted under this stamp, and what is to be
    /// performed then.
    Put { to: u64, stamp: Stamp, then: Option<Update> },
    /// What a PE has asked for under this number.
    Data { number: u64 },
    /// A message of the sender's number.
    Message { tag: u64, number: u64 },
    /// A message of which the receiver knows it.
    Promised { number: u64 },
}

/// What a put says of itself, or the last piece of one: where it goes, and what is to be performed
/// then.
pub(super) fn put_header(stamp: Stamp, offset: u64, then: Option<Update>) -> Header {
    match then {
        None => [stamp.bits(), offset].into(),
        Some([entry, operand]) => [stamp.bits(), offset, entry, operand].into(),
    }
}

/// A transfer in pieces.
pub(super) struct Pieces {
    worker: Weak<Worker>,
    pe: usize,
    from: Bytes,
    /// Bytes of a piece.
    step: usize,
    what: What,
    state: Mutex<State>,
}

struct State {
    /// The first byte that no piece has.
    next: usize,
    under_way: usize,
    /// A thread starts a piece.
    starts: bool,
    failed: Option<Error>,
    /// Completes when all pieces have.
    whole: Option<Box<Operation>>,
}

impl Pieces {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// A piece has ended. Called with no lock held.
    fn ended(self: Arc<Self>, outcome: Result<()>) {
        {
            let mut state = self.state();
            state.under_way -= 1;
            if let Err(error) = outcome {
                state.failed.get_or_insert(error);
            }
        }
        self.go_on();
    }

    /// Starts what may be under way, and ends the whole when nothing is left.
    fn go_on(self: Arc<Self>) {
        loop {
            let range = {
                let mut state = self.state();
                if state.starts {
                    // That thread looks again.
                    return;
                }
                let is_last = state.next == self.from.len || state.failed.is_some();
                if is_last && state.under_way == 0 {
                    let (whole, failed) = (state.whole.take(), state.failed.take());
                    drop(state);
                    return self.end(whole, failed);
                }
                if is_last || state.under_way == WINDOW {
                    return;
                }
                let start = state.next;
                state.next = (start + self.step).min(self.from.len);
                state.under_way += 1;
                state.starts = true;
                start..state.next
            };
            let operation = {
                let pieces = Arc::clone(&self);
                Operation::new(Kind::Plain(Box::new(move |outcome| pieces.ended(outcome))))
            };
            match self.worker.upgrade() {
                // The piece completes in any case.
                Some(worker) => drop(self.start(&worker, operation, range)),
                None => drop(operation.end(Err(Error::Finalized { call: "net" }))),
            }
            self.state().starts = false;
        }
    }

    fn start(&self, worker: &Worker, operation: Box<Operation>, range: Range<usize>) -> Result<()> {
        let (id, header) = self.header(worker.me as u64, &range);
        worker.start(self.pe, operation.with_header(header), |_, peer, operation| {
            // SAFETY: the data is the whole's, which stays until UCX has let go of this piece.
            unsafe {
                let from = self.from.at.add(range.start);
                worker.give_bytes(peer, id, operation, from, range.len(), Form::Whole)
            }
        })
    }

    /// What a piece says of itself: the name of its message, and its header.
    fn header(&self, me: u64, range: &Range<usize>) -> (c_uint, Header) {
        let (start, is_last) = (range.start as u64, range.end == self.from.len);
        match self.what {
            What::Put { to, stamp, then } if is_last => (PUT, put_header(stamp, to + start, then)),
            What::Put { to, .. } => (PUT_PART, [me, to + start].into()),
            What::Data { number } => (DATA, [number, start].into()),
            What::Message { tag, number } if start == 0 => {
                (FIRST, [me, tag, number, self.from.len as u64].into())
            }
            What::Message { number, .. } | What::Promised { number } => (MORE, [me, number, start].into()),
        }
    }

    fn end(&self, whole: Option<Box<Operation>>, failed: Option<Error>) {
        if let (What::Put { .. }, Some(_), Some(worker)) = (&self.what, &failed, self.worker.upgrade()) {
            worker.applies_no_more(self.pe);
        }
        if let Some(whole) = whole {
            // An error of what has no completion is known to a flush.
            let _ = whole.end(failed.map_or(Ok(()), Err));
        }
    }
}

impl Worker {
    /// Sends bytes to `pe` in pieces, and ends `whole` when UCX has let go of them.
    ///
    /// # Safety
    /// `from` must be readable until then.
    pub(in super::super) unsafe fn send_in_pieces(
        &self,
        pe: usize,
        from: Bytes,
        what: What,
        whole: Box<Operation>,
    ) {
        let n = from.len.div_ceil(PIECE).max(1);
        let state = State { next: 0, under_way: 0, starts: false, failed: None, whole: Some(whole) };
        let pieces = Pieces {
            worker: Weak::clone(&self.this),
            pe,
            from,
            step: from.len.div_ceil(n).next_multiple_of(LINE),
            what,
            state: Mutex::new(state),
        };
        Arc::new(pieces).go_on();
    }
}
