//! Atomic operations that fetch, over UCX: an active message asks the target for one. The target
//! performs it and answers.
//!
//! UCX has atomic operations of its own, but newer versions refuse those that run on the target's
//! processor to connections that report errors. These run on the target's processor everywhere, and
//! need nothing that all versions do not have.

use oxshmem_base::Result;
use oxshmem_memory::op::{Op, Verb};
use oxshmem_progress::{
    completion::{Completion, complete},
    failure::Failure,
};

use super::{
    Event, Worker,
    arrivals::{Note, QUESTION},
    operation::Operation,
    requests::Requests,
};
use crate::batch::{Location, decode, encode, malformed, perform};

/// What this PE has asked others for, and what others wait for.
#[derive(Default)]
pub(super) struct Asks {
    pub(super) asked: Requests<Completion<u64>>,
    /// For which PE, the number of its question, and the value.
    pub(super) answers: Vec<(usize, [u64; 2])>,
}

impl Worker {
    /// Asks the target to perform an operation.
    pub(super) fn ask(&self, op: Op, done: Completion<u64>) {
        let pe = op.there.pe;
        let (number, n) = {
            let mut channels = self.channels();
            (channels.asks.asked.insert(pe, done), channels.n_waiting())
        };
        let [what, a, b, c] = encode(&op);
        let question = Operation::note([self.me as u64, number, what, a, b, c]);
        if let Err(error) = self.send_words(pe, QUESTION, question) {
            let asked = self.channels().asks.asked.remove(number);
            if let Some(done) = asked {
                complete(done, Err(error));
            }
        }
        self.keep_up_with(n);
    }

    /// Performs what `pe` has asked for.
    fn answer(&self, pe: usize, number: u64, op: Op<Location, ()>) -> Result<()> {
        let Verb::Atomic(operation, width) = op.verb else { return Err(malformed()) };
        let before = perform((op.there, operation, width), self.block, &[&self.memory])?;
        self.channels().asks.answers.push((pe, [number, before]));
        self.must_reply();
        Ok(())
    }
}

/// A PE asks for an operation.
pub(super) struct Question;

impl Note<6> for Question {
    fn came(worker: &Worker, [from, number, head @ ..]: [u64; 6]) {
        let Some(pe) = worker.sender(from) else { return };
        if let Err(error) = decode(head).and_then(|op| worker.answer(pe, number, op)) {
            worker.fail(Failure::PeLost { pe, how: error.to_string() });
        }
    }
}

/// A PE has answered.
pub(super) struct Answer;

impl Note<2> for Answer {
    fn came(worker: &Worker, [number, before]: [u64; 2]) {
        let asked = worker.channels().asks.asked.remove(number);
        if let Some(done) = asked {
            worker.note(Event::Answered(done, before));
        }
    }
}
