//! Operations that the target performs and answers, over UCX: an active message asks for one. These
//! are atomic operations that fetch, and longer gets where everything goes over TCP.
//!
//! UCX has atomic operations of its own, but newer versions refuse those that run on the target's
//! processor to connections that report errors. These take a tenth to a fifth longer over TCP, run
//! on the target's processor everywhere, and need nothing that all versions do not have.

use oxshmem_base::{Error, Result};
use oxshmem_memory::{
    copy,
    op::{Op, Verb},
};
use oxshmem_progress::{
    completion::{Completion, complete},
    failure::Failure,
};

use super::{
    Event, Worker,
    arrivals::{Arrival, Note, QUESTION},
    offers::Bytes,
    operation::{Kind, Operation},
    requests::Requests,
    tcp::pieces::What,
};
use crate::batch::{Location, decode, encode, malformed, perform};

/// What this PE has asked others for, and what others wait for.
#[derive(Default)]
pub(super) struct Asks {
    pub(super) asked: Requests<Asked>,
    /// For which PE, the number of its question, and the value.
    pub(super) answers: Vec<(usize, [u64; 2])>,
    /// What others get.
    pub(super) wanted: Vec<Wanted>,
}

/// An operation that waits for its answer.
pub(super) struct Asked {
    /// Where the data goes of a get, and how many bytes have not come.
    to: Option<(Bytes, usize)>,
    done: Completion<u64>,
}

/// What a PE gets, under which number.
pub(super) struct Wanted {
    pe: usize,
    number: u64,
    from: Bytes,
}

impl Asks {
    /// What waits for `pe`, or for any PE, does so no more.
    pub(super) fn fail(&mut self, pe: Option<usize>) -> Vec<Completion<u64>> {
        self.asked.fail(pe).into_iter().map(|asked| asked.done).collect()
    }
}

impl Worker {
    /// Asks the target to perform an operation.
    pub(super) fn ask(&self, op: Op, done: Completion<u64>) {
        let pe = op.there.pe;
        let to = match op.verb {
            Verb::Get(to) => Some((Bytes { at: to.get(), len: op.blocks.bytes() }, op.blocks.bytes())),
            Verb::Put(_) | Verb::Atomic(..) => None,
        };
        if let Some((_, 0)) = to {
            return complete(done, Ok(0));
        }
        let (number, n) = {
            let mut channels = self.channels();
            (channels.asks.asked.insert(pe, Asked { to, done }), channels.n_waiting())
        };
        let [what, a, b, c] = encode(&op);
        let question = Operation::note([self.me as u64, number, what, a, b, c]);
        if let Err(error) = self.send_words(pe, QUESTION, question) {
            let asked = self.channels().asks.asked.remove(number);
            if let Some(Asked { done, .. }) = asked {
                complete(done, Err(error));
            }
        }
        self.keep_up_with(n);
    }

    /// Performs what `pe` has asked for, or has it sent.
    fn answer(&self, pe: usize, number: u64, op: Op<Location, ()>) -> Result<()> {
        match op.verb {
            Verb::Atomic(operation, width) => {
                let before = perform((op.there, operation, width), self.block, &[&self.memory])?;
                self.channels().asks.answers.push((pe, [number, before]));
            }
            Verb::Get(()) => {
                let len = (op.blocks.count == 1).then_some(op.blocks.len).ok_or_else(malformed)?;
                let at = op.there.address(self.block, &[&self.memory], len, 1)?;
                let wanted = Wanted { pe, number, from: Bytes { at, len } };
                self.channels().asks.wanted.push(wanted);
            }
            Verb::Put(()) => return Err(malformed()),
        }
        self.must_reply();
        Ok(())
    }

    /// Sends a PE what it gets of this one's memory.
    pub(super) fn send_wanted(&self, Wanted { pe, number, from }: Wanted) {
        let whole = Operation::new(Kind::Words(Vec::new()));
        // SAFETY: symmetric memory stays as long as the worker does, which has UCX let go of
        // everything before it goes.
        unsafe { self.send_in_pieces(pe, from, What::Data { number }, whole) };
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

/// A PE has answered with a value.
pub(super) struct Answer;

impl Note<2> for Answer {
    fn came(worker: &Worker, [number, before]: [u64; 2]) {
        let mut channels = worker.channels();
        let Some((pe, asked)) = channels.asks.asked.get_mut(number) else { return };
        let outcome = if asked.to.is_none() { Ok(before) } else { Err(odd(pe)) };
        let asked = channels.asks.asked.remove(number);
        drop(channels);
        if let Some(asked) = asked {
            worker.note(Event::Answered(asked.done, outcome));
        }
    }
}

/// A piece has come of what this PE gets.
pub(super) struct Data;

impl Arrival for Data {
    fn came(worker: &Worker, header: &[u64], data: &[u8]) {
        let &[number, offset] = header else { return };
        let mut channels = worker.channels();
        let Some((pe, asked)) = channels.asks.asked.get_mut(number) else { return };
        let at = usize::try_from(offset).unwrap_or(usize::MAX);
        let outcome = match &mut asked.to {
            Some((to, left)) if fits(at, data.len(), to.len) && data.len() <= *left => {
                // SAFETY: the caller of the get keeps `to`, which has room for it, until that
                // completes, for which it has to be taken from here first.
                unsafe { copy::copy(to.at.add(at), data.as_ptr(), data.len()) };
                *left -= data.len();
                if *left > 0 {
                    return;
                }
                Ok(0)
            }
            _ => Err(odd(pe)),
        };
        let asked = channels.asks.asked.remove(number);
        drop(channels);
        if let Some(asked) = asked {
            worker.note(Event::Answered(asked.done, outcome));
        }
    }
}

/// The error about an answer of another form than the question.
#[cold]
fn odd(pe: usize) -> Error {
    Error::bootstrap("net", format!("PE {pe} has sent what was not asked for: do all run the same build?"))
}

/// Whether `len` bytes from `at` on are among the first `room`.
fn fits(at: usize, len: usize, room: usize) -> bool {
    at.checked_add(len).is_some_and(|end| end <= room)
}
