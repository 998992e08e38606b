//! Long messages over TCP.
//!
//! Up to some length a message goes in one piece from the caller's memory. A longer one goes [in
//! pieces](super::pieces), of which the first says how much there is, and is what is matched.
//! Beyond some [credit](super::credit) a message is promised, and sent when it is asked for.

use std::{collections::HashMap, hash::BuildHasherDefault, mem, sync::Weak};

use oxshmem_base::{Error, Result};
use oxshmem_memory::copy;
use oxshmem_progress::{
    completion::{Completion, complete},
    failure::Failure,
};

use super::{
    super::{
        Event, NumberHasher, Worker,
        arrivals::{Arrival, Note, PROMISE},
        departures::Form,
        matching::{AwaitedMessage as Awaited, By, Came, take, too_long},
        offers::Bytes,
        operation::{Kind, Operation},
    },
    credit::{CREDIT, Credit},
    pieces::{PIECE, What},
};

/// The sender of a message, and its number there.
type Numbered = (usize, u64);
/// A receive that fails, and why.
type Misfit = (Completion<usize>, Error);

/// What is known of long messages.
#[derive(Default)]
pub(in super::super) struct Long {
    /// Messages of which some pieces have come, or that were asked for.
    coming: HashMap<Numbered, Coming, BuildHasherDefault<NumberHasher>>,
    /// How many of this PE have a number.
    numbered: u64,
    /// What this PE has promised, by its number.
    promised: HashMap<u64, Promised, BuildHasherDefault<NumberHasher>>,
    /// What this PE is to ask for.
    asks: Vec<Numbered>,
    credit: Credit,
}

/// A message that is sent when it is asked for.
struct Promised {
    pe: usize,
    from: Bytes,
    done: Completion,
}

/// One of which some pieces have come.
struct Coming {
    len: usize,
    /// Bytes that have come.
    here: usize,
    to: Landing,
}

/// Where pieces go.
enum Landing {
    Awaited(Awaited),
    /// The message of this tag is not received yet.
    Kept(u64, Vec<u8>),
}

impl Long {
    /// Messages that are to be received from `pe`, or from any PE, and will not come.
    pub(in super::super) fn fail(&mut self, pe: Option<usize>) -> impl Iterator<Item = Awaited> {
        let lost = move |&(from, _): &Numbered, _: &mut Coming| pe.is_none_or(|pe| from == pe);
        self.coming.extract_if(lost).filter_map(|(_, coming)| match coming.to {
            Landing::Awaited(awaited) => Some(awaited),
            Landing::Kept(..) => None,
        })
    }

    /// `len` bytes of a message of `pe` were received that it has sent unasked. Whether that is
    /// to be reported.
    pub(in super::super) fn received(&mut self, pe: usize, len: usize) -> bool {
        self.credit.take(pe, len)
    }

    /// Messages that this PE has promised to `pe`, or to any PE, will not leave.
    pub(in super::super) fn break_promises(&mut self, pe: Option<usize>) -> Vec<Completion> {
        let lost = |promised: &Promised| pe.is_none_or(|pe| promised.pe == pe);
        self.promised.extract_if(|_, promised| lost(promised)).map(|(_, promised)| promised.done).collect()
    }

    /// Whether any is waited for, to come or to leave.
    pub(in super::super) fn is_awaited(&self) -> bool {
        let comes = |coming: &Coming| matches!(coming.to, Landing::Awaited(_));
        !self.promised.is_empty() || self.coming.values().any(comes)
    }

    /// What this PE is to ask for, and its reports of what was received.
    pub(in super::super) fn take_unsaid(&mut self) -> Option<[Vec<Numbered>; 2]> {
        let is_any = !self.asks.is_empty() || self.credit.owes();
        is_any.then(|| [mem::take(&mut self.asks), self.credit.reports()])
    }

    /// Asks for a message that was promised, which is received now. Gives the receive back if it
    /// cannot be.
    pub(in super::super) fn ask(&mut self, from: Numbered, len: usize, awaited: Awaited) -> Option<Misfit> {
        // Where there is no room for it, what comes is dropped.
        self.asks.push(from);
        if len > awaited.to.len {
            return Some((awaited.done, too_long(from.0, len, awaited.to.len)));
        }
        self.coming.insert(from, Coming { len, here: 0, to: Landing::Awaited(awaited) });
        None
    }

    /// Has the message of that sender and number, of which some pieces have come, go where it is
    /// received. Gives the receive back if it cannot.
    pub(in super::super) fn join(&mut self, from: Numbered, awaited: Awaited) -> Option<Misfit> {
        let Some(coming) = self.coming.get_mut(&from) else { return Some((awaited.done, misfit(from.0))) };
        let (len, to) = (coming.len, awaited.to);
        self.credit.take(from.0, len);
        if len > to.len {
            self.coming.remove(&from);
            return Some((awaited.done, too_long(from.0, len, to.len)));
        }
        if let Landing::Kept(_, bytes) = mem::replace(&mut coming.to, Landing::Awaited(awaited)) {
            // SAFETY: the receiver keeps `to`, which has room for all of the message, until it is
            // done.
            unsafe { copy::copy(to.at, bytes.as_ptr(), bytes.len()) };
        }
        None
    }

    /// A piece has come of the message of that sender and number, which begins there. Returns the
    /// receive that completes, if this was the last piece, and its outcome. A message that is not
    /// received yet becomes whole among those that `came`.
    pub(in super::super) fn take_piece(
        &mut self,
        came: &mut By<Came>,
        from: Numbered,
        at: u64,
        piece: &[u8],
    ) -> Option<(Completion<usize>, Result<usize>)> {
        let coming = self.coming.get_mut(&from)?;
        // Pieces come in their order, one behind the other, if they are from a PE of this build.
        if at != coming.here as u64 || piece.len() > coming.len - coming.here {
            let Landing::Awaited(Awaited { done, .. }) = self.coming.remove(&from)?.to else { return None };
            return Some((done, Err(misfit(from.0))));
        }
        match &mut coming.to {
            Landing::Kept(_, bytes) => bytes.extend_from_slice(piece),
            // SAFETY: the receiver keeps `to`, which has room for all of the message, until it is
            // done, for which it is taken from here.
            Landing::Awaited(Awaited { to, .. }) => unsafe {
                copy::copy(to.at.add(coming.here), piece.as_ptr(), piece.len());
            },
        }
        coming.here += piece.len();
        if coming.here < coming.len {
            return None;
        }
        let Coming { len, to, .. } = self.coming.remove(&from)?;
        match to {
            Landing::Awaited(Awaited { done, .. }) => Some((done, Ok(len))),
            Landing::Kept(tag, bytes) => {
                let queue = came.get_mut(&(from.0, tag))?;
                let place = queue
                    .iter_mut()
                    .find(|came| matches!(came, Came::InPieces(number) if *number == from.1))?;
                *place = Came::Whole(bytes);
                None
            }
        }
    }
}

impl Worker {
    /// Sends a message that is not short.
    ///
    /// # Safety
    /// `from` must be readable until `done` runs.
    pub(in super::super) unsafe fn send_long(&self, pe: usize, tag: u64, from: Bytes, done: Completion) {
        let mut messages = self.messages();
        let long = &mut messages.long;
        long.numbered += 1;
        let number = long.numbered;
        if long.credit.spend(pe, from.len) {
            drop(messages);
            if from.len <= PIECE {
                // SAFETY: passed on to the caller.
                return unsafe { self.send_message(pe, tag, from, Form::Whole, done) };
            }
            let (what, whole) = (What::Message { tag, number }, Operation::new(Kind::Plain(done)));
            // SAFETY: passed on to the caller.
            return unsafe { self.send_in_pieces(pe, from, what, whole) };
        }
        // Under the lock: the thread that closes breaks promises after it has noted that it closes.
        if self.is_closed() {
            drop(messages);
            return complete(done, Err(Error::Finalized { call: "net" }));
        }
        long.promised.insert(number, Promised { pe, from, done });
        drop(messages);
        let promise = Operation::note([self.me as u64, tag, number, from.len as u64]);
        if let Err(error) = self.send_words(pe, PROMISE, promise) {
            let promised = self.messages().long.promised.remove(&number);
            if let Some(Promised { done, .. }) = promised {
                complete(done, Err(error));
            }
        }
    }
}

#[cold]
fn misfit(pe: usize) -> Error {
    Error::bootstrap(
        "net",
        format!("PE {pe} has sent pieces that do not fit together: do all run the same build?"),
    )
}

/// The first piece of a message has come.
pub(in super::super) struct First;

impl Arrival for First {
    fn came(worker: &Worker, header: &[u64], piece: &[u8]) {
        let &[from, tag, number, whole] = header else { return };
        let Some(from) = worker.sender(from) else { return };
        // What is longer is promised first.
        let Some(whole) = usize::try_from(whole).ok().filter(|&whole| whole as u64 <= CREDIT) else {
            return worker.fail(Failure::PeLost { pe: from, how: misfit(from).to_string() });
        };
        let mut messages = worker.messages();
        let awaited = take(&mut messages.awaited, (from, tag));
        if awaited.is_some() && messages.received(from, whole) {
            worker.must_reply();
        }
        let to = match awaited {
            Some(Awaited { to, done }) if whole > to.len => {
                return worker.note(Event::Received(done, Err(too_long(from, whole, to.len))));
            }
            Some(awaited) => Landing::Awaited(awaited),
            None => {
                messages.came.entry((from, tag)).or_default().push(Came::InPieces(number));
                Landing::Kept(tag, Vec::with_capacity(whole))
            }
        };
        let before = messages.long.coming.insert((from, number), Coming { len: whole, here: 0, to });
        // Numbers do not come again, from a PE of this build.
        if let Some(Coming { to: Landing::Awaited(Awaited { done, .. }), .. }) = before {
            worker.note(Event::Received(done, Err(misfit(from))));
        }
        messages.take_piece(worker, (from, number), 0, piece);
    }
}

/// Another one has come.
pub(in super::super) struct More;

impl Arrival for More {
    fn came(worker: &Worker, header: &[u64], piece: &[u8]) {
        if let &[from, number, at] = header
            && let Some(from) = worker.sender(from)
        {
            worker.messages().take_piece(worker, (from, number), at, piece);
        }
    }
}

/// A PE promises a message.
pub(in super::super) struct Promise;

impl Note<4> for Promise {
    fn came(worker: &Worker, [from, tag, number, len]: [u64; 4]) {
        let (Some(from), Ok(len)) = (worker.sender(from), usize::try_from(len)) else { return };
        let mut messages = worker.messages();
        let Some(awaited) = take(&mut messages.awaited, (from, tag)) else {
            return messages.came.entry((from, tag)).or_default().push(Came::Promised(number, len));
        };
        if let Some((done, error)) = messages.long.ask((from, number), len, awaited) {
            worker.note(Event::Received(done, Err(error)));
        }
        worker.must_reply();
    }
}

/// A PE asks for a message that this one has promised.
pub(in super::super) struct Go;

impl Note<2> for Go {
    fn came(worker: &Worker, [from, number]: [u64; 2]) {
        let mut messages = worker.messages();
        if messages.long.promised.get(&number).is_none_or(|promised| promised.pe != from as usize) {
            return;
        }
        let Some(Promised { pe, from, done }) = messages.long.promised.remove(&number) else { return };
        drop(messages);
        let this = Weak::clone(&worker.this);
        worker.note(Event::Later(Box::new(move || match this.upgrade() {
            Some(worker) => {
                let (what, whole) = (What::Promised { number }, Operation::new(Kind::Plain(done)));
                // SAFETY: the sender keeps it until `done` runs.
                unsafe { worker.send_in_pieces(pe, from.whole(), what, whole) };
            }
            None => complete(done, Err(Error::Finalized { call: "net" })),
        })));
    }
}

/// A PE reports how much it has received of this one's messages.
pub(in super::super) struct Taken;

impl Note<2> for Taken {
    fn came(worker: &Worker, [from, taken]: [u64; 2]) {
        if let Some(from) = worker.sender(from) {
            worker.messages().long.credit.was_taken(from, taken);
        }
    }
}
