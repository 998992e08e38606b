//! Messages of collectives, as active messages that are matched here by their sender, its tag, and
//! their order.
//!
//! Short ones go as words in one piece. Longer ones go as UCX likes it, which
//! [offers](super::offers) their data where there is much of it. What comes before it is received
//! is kept, so that is little of each.

use std::{collections::HashMap, hash::BuildHasherDefault, mem};

use oxshmem_base::{
    Error, Result,
    sync::{MutexGuard, lock},
};
use oxshmem_memory::copy;
use oxshmem_progress::completion::{Completion, complete};
use smallvec::SmallVec;

use super::{
    Event, NumberHasher, Worker,
    arrivals::{Arrival, MESSAGE, SHORT_MESSAGE, WORD, words_of},
    departures::Form,
    offers::{Bytes, Offer, Offered},
    operation::{Kind, Operation, words_from},
};

/// Up to this many bytes are copied to words, of which the last ones say what a header does for
/// others.
pub(super) const SHORT: usize = 2 << 10;

/// The sender, and the tag.
type Key = (usize, u64);
/// In their order. Seldom is there more than one with a key, and never more than a few.
type By<T> = HashMap<Key, SmallVec<[T; 1]>, BuildHasherDefault<NumberHasher>>;

/// A message that is to be received.
struct AwaitedMessage {
    to: Bytes,
    done: Completion<usize>,
}

/// A message that has come before it is received.
enum Came {
    Whole(Vec<u8>),
    Offered(Offer),
}

/// Messages that are to be received, and that have come before. Never both of the same sender and
/// tag.
#[derive(Default)]
pub(super) struct Messages {
    awaited: By<AwaitedMessage>,
    came: By<Came>,
    /// Those whose data UCX is to bring.
    wanted: Vec<Offered>,
}

impl Messages {
    /// Messages that are to be received from `pe`, or from any PE, will not come.
    pub(super) fn fail(&mut self, pe: Option<usize>) -> Vec<Completion<usize>> {
        let lost = |from: usize| pe.is_none_or(|pe| from == pe);
        let awaited = self.awaited.extract_if(|&(from, _), _| lost(from)).flat_map(|(_, awaited)| awaited);
        awaited.map(|awaited| awaited.done).collect()
    }

    /// Whether any is waited for.
    pub(super) fn is_awaited(&self) -> bool {
        !self.awaited.is_empty()
    }

    /// What UCX offers and was not received.
    pub(super) fn take_offered(&mut self) -> Vec<Offer> {
        let came = self.came.drain().flat_map(|(_, came)| came);
        came.filter_map(|came| if let Came::Offered(offer) = came { Some(offer) } else { None }).collect()
    }
}

impl Worker {
    pub(super) fn messages(&self) -> MutexGuard<'_, Messages> {
        lock(&self.messages)
    }

    /// # Safety
    /// `from` must be readable until `done` runs.
    pub(super) unsafe fn send(&self, pe: usize, tag: u64, from: *const u8, len: usize, done: Completion) {
        if len <= SHORT {
            // SAFETY: passed on to the caller.
            return complete(done, unsafe { self.send_short(pe, tag, from, len) });
        }
        let operation = Operation::new(Kind::Plain(done)).with_header([self.me as u64, tag]);
        // It completes in any case.
        let _ = self.start(pe, operation, |_, peer, operation| {
            // SAFETY: passed on to the caller.
            unsafe { self.give_bytes(peer, MESSAGE, operation, from, len, Form::Free) }
        });
    }

    /// Sends a short message.
    ///
    /// # Safety
    /// `from` must be readable for `len` bytes; others may write there meanwhile.
    pub(super) unsafe fn send_short(&self, pe: usize, tag: u64, from: *const u8, len: usize) -> Result<()> {
        // SAFETY: passed on to the caller.
        let mut words = unsafe { words_from(from, len) };
        words.extend([tag, (self.me as u64) << u32::BITS | len as u64]);
        self.send_words(pe, SHORT_MESSAGE, Operation::new(Kind::Words(words)))
    }

    /// # Safety
    /// `to` must be writable until `done` runs.
    pub(super) unsafe fn receive(
        &self,
        pe: usize,
        tag: u64,
        to: *mut u8,
        len: usize,
        done: Completion<usize>,
    ) {
        let to = Bytes { at: to, len };
        let mut messages = self.messages();
        // Under the lock: the thread that closes takes what is awaited after it has noted that it
        // closes.
        if self.is_closed() {
            drop(messages);
            return complete(done, Err(Error::Finalized { call: "net" }));
        }
        let Some(came) = take(&mut messages.came, (pe, tag)) else {
            return messages.awaited.entry((pe, tag)).or_default().push(AwaitedMessage { to, done });
        };
        drop(messages);
        match came {
            Came::Whole(bytes) => complete(done, take_whole(pe, &bytes, to)),
            Came::Offered(offer) if offer.len() > len => {
                let came = offer.len();
                self.turn_down([offer]);
                complete(done, Err(too_long(pe, came, len)));
            }
            Came::Offered(offer) => self.fetch_offered(Offered::new(offer, pe, to, done)),
        }
    }

    /// Has UCX bring the messages that were offered and are received. Called with no lock held.
    pub(super) fn fetch_wanted(&self) {
        let wanted = mem::take(&mut self.messages().wanted);
        wanted.into_iter().for_each(|offered| self.fetch_offered(offered));
    }

    /// A message from `from` has come. Called inside of UCX.
    fn message_came(&self, from: Key, data: &[u8]) {
        let mut messages = self.messages();
        let Some(AwaitedMessage { to, done }) = take(&mut messages.awaited, from) else {
            return messages.came.entry(from).or_default().push(Came::Whole(data.to_vec()));
        };
        drop(messages);
        self.note(Event::Received(done, take_whole(from.0, data, to)));
    }
}

/// A message has come that says at its end what it is.
pub(super) struct SentShort;

impl Arrival for SentShort {
    fn came(worker: &Worker, _header: &[u64], data: &[u8]) {
        let Some((body, tail)) = data.split_last_chunk::<{ 2 * WORD }>() else { return };
        let Some([tag, last]) = words_of(tail) else { return };
        let len = last as u32 as usize;
        if let (Some(from), Some(message)) = (worker.sender(last >> u32::BITS), body.get(..len)) {
            worker.message_came((from, tag), message);
        }
    }
}

/// A message has come, or its data is offered.
pub(super) struct SentMessage;

impl Arrival for SentMessage {
    fn came(worker: &Worker, header: &[u64], data: &[u8]) {
        if let &[from, tag] = header
            && let Some(from) = worker.sender(from)
        {
            worker.message_came((from, tag), data);
        }
    }

    fn offered(worker: &Worker, header: &[u64], offer: Offer) -> bool {
        let &[from, tag] = header else { return false };
        let Some(from) = worker.sender(from) else { return false };
        let len = offer.len();
        let mut messages = worker.messages();
        let Some(AwaitedMessage { to, done }) = take(&mut messages.awaited, (from, tag)) else {
            messages.came.entry((from, tag)).or_default().push(Came::Offered(offer));
            return true;
        };
        if len > to.len {
            worker.note(Event::Received(done, Err(too_long(from, len, to.len))));
            return false;
        }
        messages.wanted.push(Offered::new(offer, from, to, done));
        drop(messages);
        worker.must_reply();
        true
    }
}

/// Takes the first of those with that key.
fn take<T>(all: &mut By<T>, key: Key) -> Option<T> {
    let queue = all.get_mut(&key)?;
    if queue.len() > 1 {
        return Some(queue.remove(0));
    }
    // Tags seldom come again.
    all.remove(&key)?.pop()
}

/// Copies what has come to where it is received, if there is room.
fn take_whole(pe: usize, bytes: &[u8], to: Bytes) -> Result<usize> {
    if bytes.len() > to.len {
        return Err(too_long(pe, bytes.len(), to.len));
    }
    // SAFETY: the receiver keeps `to`, which has room for them, until it is done.
    unsafe { copy::copy(to.at, bytes.as_ptr(), bytes.len()) };
    Ok(bytes.len())
}

#[cold]
fn too_long(pe: usize, came: usize, room: usize) -> Error {
    Error::bootstrap("net", format!("PE {pe} has sent {came} bytes where {room} were expected"))
}
