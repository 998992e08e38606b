//! Messages of collectives, as active messages that are [matched](super::matching) here.
//!
//! UCX has messages with tags, but over TCP it sends long ones in pieces of 8 KiB that it copies on
//! both sides. Here short ones go as words in one piece. Longer ones go [as TCP likes
//! it](super::tcp::messages), or, where not everything goes over TCP, as UCX likes it, which may
//! only offer them at first. What comes before it is received is kept.

use std::mem;

use oxshmem_base::{
    Error, Result,
    sync::{MutexGuard, lock},
};
use oxshmem_progress::completion::{Completion, complete};

use super::{
    Event, Worker,
    arrivals::{Arrival, GO, MESSAGE, SHORT_MESSAGE, TAKEN, WORD, words_of},
    departures::Form,
    matching::{AwaitedMessage, By, Came, Key, take, take_whole, too_long},
    offers::{Bytes, Offer, Offered},
    operation::{Kind, Operation, words_from},
    tcp::messages::Long,
};

/// Up to this many bytes are copied to words, of which the last ones say what a header does for
/// others.
pub(super) const SHORT: usize = 2 << 10;

/// Messages that are to be received, and that have come before. Never both of the same sender and
/// tag.
#[derive(Default)]
pub(super) struct Messages {
    pub(super) awaited: By<AwaitedMessage>,
    pub(super) came: By<Came>,
    /// Those whose data UCX is to bring.
    offered: Vec<Offered>,
    /// What is known of long ones over TCP.
    pub(super) long: Long,
}

impl Messages {
    /// Messages that are to be received from `pe`, or from any PE, will not come.
    pub(super) fn fail(&mut self, pe: Option<usize>) -> Vec<Completion<usize>> {
        let lost = |from: usize| pe.is_none_or(|pe| from == pe);
        let awaited = self.awaited.extract_if(|&(from, _), _| lost(from)).flat_map(|(_, awaited)| awaited);
        self.long.fail(pe).chain(awaited).map(|awaited| awaited.done).collect()
    }

    /// Whether any is waited for, to come or to leave.
    pub(super) fn is_awaited(&self) -> bool {
        !self.awaited.is_empty() || self.long.is_awaited()
    }

    /// What UCX offers and was not received.
    pub(super) fn take_offered(&mut self) -> Vec<Offer> {
        let came = self.came.drain().flat_map(|(_, came)| came);
        came.filter_map(|came| if let Came::Offered(offer) = came { Some(offer) } else { None }).collect()
    }

    /// A piece has come of a long message, which begins there.
    pub(super) fn take_piece(&mut self, worker: &Worker, from: (usize, u64), at: u64, piece: &[u8]) {
        if let Some((done, outcome)) = self.long.take_piece(&mut self.came, from, at, piece) {
            worker.note(Event::Received(done, outcome));
        }
    }

    /// `len` bytes of a message of `pe` were received that it has sent unasked. Whether that is
    /// to be reported.
    pub(super) fn received(&mut self, pe: usize, len: usize) -> bool {
        len > SHORT && self.long.received(pe, len)
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
        let bytes = Bytes { at: from.cast_mut(), len };
        if self.puts_by_message(pe) {
            // SAFETY: passed on to the caller.
            return unsafe { self.send_long(pe, tag, bytes, done) };
        }
        // SAFETY: passed on to the caller.
        unsafe { self.send_message(pe, tag, bytes, Form::Free, done) };
    }

    /// Sends a message as one that has a header.
    ///
    /// # Safety
    /// `from` must be readable until `done` runs.
    pub(super) unsafe fn send_message(&self, pe: usize, tag: u64, from: Bytes, form: Form, done: Completion) {
        let operation = Operation::new(Kind::Plain(done)).with_header([self.me as u64, tag]);
        // It completes in any case.
        let _ = self.start(pe, operation, |_, peer, operation| {
            // SAFETY: passed on to the caller.
            unsafe { self.give_bytes(peer, MESSAGE, operation, from.at, from.len, form) }
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
        let misfit = match came {
            Came::InPieces(number) => messages.long.join((pe, number), AwaitedMessage { to, done }),
            Came::Promised(number, len) => messages.long.ask((pe, number), len, AwaitedMessage { to, done }),
            Came::Whole(bytes) => {
                let reports = messages.received(pe, bytes.len());
                drop(messages);
                if reports {
                    self.reply_to_messages();
                }
                return complete(done, take_whole(pe, &bytes, to));
            }
            Came::Offered(offer) => {
                drop(messages);
                let came = offer.len();
                if came > len {
                    self.turn_down([offer]);
                    return complete(done, Err(too_long(pe, came, len)));
                }
                let kind = Kind::Received { len: came, done };
                return self.fetch_offered(Offered::new(offer, pe, Bytes { len: came, ..to }, kind));
            }
        };
        drop(messages);
        self.reply_to_messages();
        if let Some((done, error)) = misfit {
            complete(done, self.reachable(pe).and(Err(error)));
        }
    }

    /// Fetches what was offered, asks for what was promised, and reports what was received. Called
    /// with no lock held.
    pub(super) fn reply_to_messages(&self) {
        let (offered, unsaid) = {
            let mut messages = self.messages();
            (mem::take(&mut messages.offered), messages.long.take_unsaid())
        };
        offered.into_iter().for_each(|offered| self.fetch_offered(offered));
        let Some([asks, taken]) = unsaid else { return };
        for (pe, number) in asks {
            // A PE that is gone sends nothing.
            let _ = self.send_words(pe, GO, Operation::note([self.me as u64, number]));
        }
        for (pe, taken) in taken {
            let _ = self.send_words(pe, TAKEN, Operation::note([self.me as u64, taken]));
        }
    }

    /// A message from `from` has come. Called inside of UCX.
    fn message_came(&self, from: Key, data: &[u8]) {
        let mut messages = self.messages();
        let Some(AwaitedMessage { to, done }) = take(&mut messages.awaited, from) else {
            return messages.came.entry(from).or_default().push(Came::Whole(data.to_vec()));
        };
        if messages.received(from.0, data.len()) {
            self.must_reply();
        }
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
        let kind = Kind::Received { len, done };
        messages.offered.push(Offered::new(offer, from, Bytes { len, ..to }, kind));
        drop(messages);
        worker.must_reply();
        true
    }
}
