//! Atomic operations that fetch, over UCX: an active message asks, the target performs and answers.
//!
//! UCX has atomic operations of its own, but newer versions refuse those that run on the target's
//! processor to connections that report errors. These take a tenth to a fifth longer over TCP, run
//! on the target's processor everywhere, and need nothing that all versions do not have.

use std::sync::Weak;

use oxshmem_base::{Error, Result};
use oxshmem_memory::word::{Atomic, Width};
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
use crate::{
    Spot,
    batch::{perform, question},
};

/// Operations of this PE that wait for their answers, and answers that other PEs wait for.
#[derive(Default)]
pub(super) struct Fetches {
    pub(super) asked: Requests<Completion<u64>>,
    /// For which PE, the number of its question, and the value.
    pub(super) answers: Vec<(usize, [u64; 2])>,
}

impl Worker {
    /// Performs an atomic operation, which completes with the value before.
    pub(super) fn fetch(&self, at: Spot, width: Width, operation: Atomic<u64>, done: Completion<u64>) {
        if let Some(count) = self.behind_long_puts(at.pe) {
            let this = Weak::clone(&self.this);
            let then = move |applied: Result<()>| match (applied, this.upgrade()) {
                (Ok(()), Some(this)) => this.fetch(at, width, operation, done),
                (applied, _) => complete(done, applied.and(Err(Error::Finalized { call: "net" }))),
            };
            return self.when_applied(at.pe, count, Box::new(then));
        }
        let (number, n) = {
            let mut channels = self.channels();
            (channels.fetches.asked.insert(at.pe, done), channels.n_waiting())
        };
        let [first, operand, cond] = question(at, width, operation);
        let asked = Operation::note([self.me as u64, number, first, operand, cond]);
        if let Err(error) = self.send_words(at.pe, QUESTION, asked) {
            let done = self.channels().fetches.asked.remove(number);
            if let Some(done) = done {
                complete(done, Err(error));
            }
        }
        self.keep_up_with(n);
    }
}

/// A PE asks for an atomic operation.
pub(super) struct Question;

impl Note<5> for Question {
    fn came(worker: &Worker, [from, number, first, operand, cond]: [u64; 5]) {
        let Some(from) = worker.sender(from) else { return };
        match perform([first, operand, cond], worker.block, &[&worker.memory]) {
            Ok(before) => {
                worker.channels().fetches.answers.push((from, [number, before]));
                worker.must_reply();
            }
            Err(error) => worker.fail(Failure::PeLost { pe: from, how: error.to_string() }),
        }
    }
}

/// A PE has answered.
pub(super) struct Answer;

impl Note<2> for Answer {
    fn came(worker: &Worker, [number, before]: [u64; 2]) {
        let asked = worker.channels().fetches.asked.remove(number);
        if let Some(done) = asked {
            worker.note(Event::Answered(done, before));
        }
    }
}
