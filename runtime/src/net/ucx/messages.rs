//! Messages of collectives, as active messages that are matched here: by their sender, its tag, and their order.
//!
//! UCX has messages with tags, but over TCP it sends long ones in pieces of 8 KiB that it copies on both sides. These go as
//! [longer puts](super::bulk) do: short ones as words in one piece, up to some length in one piece from the caller's memory, and longer
//! ones [in pieces](super::pieces), of which the first says how much there is, and is what is matched. What comes before somebody waits
//! for it is kept, up to some [credit](super::credit), beyond which longer messages are promised and sent when they are asked for. Where
//! not everything goes over TCP, UCX knows better how to send what is longer, and may offer it.

use std::{collections::HashMap, hash::BuildHasherDefault, sync::Weak};

use oxshmem_base::{
    Error, Result,
    sync::{MutexGuard, lock},
};
use oxshmem_memory::copy;
use oxshmem_progress::{
    completion::{Completion, complete},
    failure::Failure,
};
use smallvec::SmallVec;

use super::{
    arrivals::{Arrival, GO, MESSAGE, Note, PROMISE, SHORT_MESSAGE, TAKEN, WORD, words_of},
    credit::{CREDIT, Credit},
    departures::Form,
    offers::{Bytes, Offer, Offered},
    operation::{Kind, Operation},
    pieces::{PIECE, What},
    worker::{News, NumberHasher, Worker},
};

/// Up to so many bytes are copied to words, of which the last ones say what a header does for others.
pub(super) const SHORT: usize = 2 << 10;

/// Who sent it, and the tag.
type Key = (usize, u64);
/// In their order. Seldom is there more than one with a key, and never more than a few.
type By<T> = HashMap<Key, SmallVec<[T; 1]>, BuildHasherDefault<NumberHasher>>;

/// Messages that somebody waits for, and that have come before anybody did. Never both of the same sender and tag.
#[derive(Default)]
pub(super) struct Messages {
    awaited: By<Awaited>,
    came: By<Came>,
    /// Those of which some pieces have come, or were asked for, by their sender and its number of them.
    coming: HashMap<(usize, u64), Coming, BuildHasherDefault<NumberHasher>>,
    /// How many of this PE have a number.
    numbered: u64,
    /// What this PE has promised, by its number.
    promised: HashMap<u64, Promised, BuildHasherDefault<NumberHasher>>,
    /// What this PE asks for, of that number of that PE.
    asks: Vec<(usize, u64)>,
    credit: Credit,
}

/// A message that is sent when it is asked for.
struct Promised {
    pe: usize,
    from: Bytes,
    done: Completion,
}

/// A message that somebody waits for.
struct Awaited {
    to: Bytes,
    done: Completion<usize>,
}

/// One that nobody has waited for.
enum Came {
    Whole(Vec<u8>),
    Offered(Offer),
    /// Not all of it, by its number.
    InPieces(u64),
    /// Nothing of it, of that number and so many bytes.
    Promised(u64, usize),
}

/// One of which some pieces have come.
struct Coming {
    len: usize,
    /// Bytes that have come.
    here: usize,
    to: Place,
}

/// Where pieces go.
enum Place {
    Awaited(Awaited),
    /// Nobody has waited for the message of this tag.
    Kept(u64, Vec<u8>),
}

impl Messages {
    /// Those that wait for `pe`, or for anybody.
    pub(super) fn fail(&mut self, pe: Option<usize>) -> Vec<Completion<usize>> {
        let lost = |from: usize| pe.is_none_or(|pe| from == pe);
        let coming =
            self.coming.extract_if(|&(from, _), _| lost(from)).filter_map(|(_, coming)| match coming.to {
                Place::Awaited(awaited) => Some(awaited),
                Place::Kept(..) => None,
            });
        let awaited = self.awaited.extract_if(|&(from, _), _| lost(from)).flat_map(|(_, awaited)| awaited);
        coming.chain(awaited).map(|awaited| awaited.done).collect()
    }

    /// Messages that this PE has promised to `pe`, or to anybody.
    pub(super) fn break_promises(&mut self, pe: Option<usize>) -> Vec<Completion> {
        let lost = |promised: &Promised| pe.is_none_or(|pe| promised.pe == pe);
        self.promised.extract_if(|_, promised| lost(promised)).map(|(_, promised)| promised.done).collect()
    }

    /// Whether somebody waits for one that comes, or that is to leave.
    pub(super) fn is_awaited(&self) -> bool {
        let comes = |coming: &Coming| matches!(coming.to, Place::Awaited(_));
        !self.awaited.is_empty() || !self.promised.is_empty() || self.coming.values().any(comes)
    }

    /// What this PE asks for, and who is to be told what was taken of its messages.
    pub(super) fn unsaid(&mut self) -> Option<[Vec<(usize, u64)>; 2]> {
        let is_any = !self.asks.is_empty() || self.credit.has_untold();
        is_any.then(|| [std::mem::take(&mut self.asks), self.credit.untold()])
    }

    /// So many bytes of a message of `pe` were taken, which it has sent unasked. Whether there is something to be said.
    fn taken(&mut self, pe: usize, len: usize) -> bool {
        len > SHORT && self.credit.take(pe, len)
    }

    /// Asks for a message that was promised, which goes there. Whom to tell if it cannot.
    fn ask(
        &mut self,
        from: (usize, u64),
        len: usize,
        awaited: Awaited,
    ) -> Option<(Completion<usize>, Error)> {
        // Where there is no room for it, what comes is dropped.
        self.asks.push(from);
        if len > awaited.to.len {
            return Some((awaited.done, too_long(from.0, len, awaited.to.len)));
        }
        self.coming.insert(from, Coming { len, here: 0, to: Place::Awaited(awaited) });
        None
    }

    /// What UCX offers and nobody has taken.
    pub(super) fn take_offered(&mut self) -> Vec<Offer> {
        let came = self.came.drain().flat_map(|(_, came)| came);
        came.filter_map(|came| if let Came::Offered(offer) = came { Some(offer) } else { None }).collect()
    }

    /// Has the message of that sender and number, of which some pieces have come, go where somebody waits for it. Whom to tell if it
    /// cannot.
    fn join(&mut self, from: (usize, u64), awaited: Awaited) -> Option<(Completion<usize>, Error)> {
        let Some(coming) = self.coming.get_mut(&from) else { return Some((awaited.done, misfit(from.0))) };
        let (len, to) = (coming.len, awaited.to);
        self.credit.take(from.0, len);
        if len > to.len {
            self.coming.remove(&from);
            return Some((awaited.done, too_long(from.0, len, to.len)));
        }
        if let Place::Kept(_, bytes) = std::mem::replace(&mut coming.to, Place::Awaited(awaited)) {
            // SAFETY: who waits keeps `to`, which has room for all of the message.
            unsafe { copy::copy(to.at, bytes.as_ptr(), bytes.len()) };
        }
        None
    }

    /// A piece has come of the message of that sender and number, which begins there.
    fn take_piece(&mut self, worker: &Worker, from: (usize, u64), at: u64, piece: &[u8]) {
        if let Some((done, outcome)) = self.keep_piece(from, at, piece) {
            worker.note(News::Received(done, outcome));
        }
    }

    /// The same, which gives whom to tell, and of what, if it was the last.
    fn keep_piece(
        &mut self,
        from: (usize, u64),
        at: u64,
        piece: &[u8],
    ) -> Option<(Completion<usize>, Result<usize>)> {
        let coming = self.coming.get_mut(&from)?;
        // Pieces come in their order, one behind the other, if they are from a PE of this build.
        if at != coming.here as u64 || piece.len() > coming.len - coming.here {
            let Place::Awaited(Awaited { done, .. }) = self.coming.remove(&from)?.to else { return None };
            return Some((done, Err(misfit(from.0))));
        }
        match &mut coming.to {
            Place::Kept(_, bytes) => bytes.extend_from_slice(piece),
            // SAFETY: who waits keeps `to`, which has room for all of the message, until it is told, for which it is taken from here.
            Place::Awaited(Awaited { to, .. }) => unsafe {
                copy::copy(to.at.add(coming.here), piece.as_ptr(), piece.len());
            },
        }
        coming.here += piece.len();
        if coming.here < coming.len {
            return None;
        }
        let Coming { len, to, .. } = self.coming.remove(&from)?;
        match to {
            Place::Awaited(Awaited { done, .. }) => Some((done, Ok(len))),
            Place::Kept(tag, bytes) => {
                let queue = self.came.get_mut(&(from.0, tag))?;
                let place = queue
                    .iter_mut()
                    .find(|came| matches!(came, Came::InPieces(number) if *number == from.1))?;
                *place = Came::Whole(bytes);
                None
            }
        }
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

impl Worker {
    pub(super) fn messages(&self) -> MutexGuard<'_, Messages> {
        lock(&self.messages)
    }

    /// # Safety
    /// `from` must be readable until `done` is told.
    pub(super) unsafe fn send(&self, pe: usize, tag: u64, from: *const u8, len: usize, done: Completion) {
        if len <= SHORT {
            // SAFETY: passed on to the caller.
            return complete(done, unsafe { self.send_short(pe, tag, from, len) });
        }
        let bytes = Bytes { at: from.cast_mut(), len };
        let mut form = Form::Free;
        if self.puts_by_message(pe) {
            form = Form::Whole;
            let mut messages = self.messages();
            messages.numbered += 1;
            let number = messages.numbered;
            if !messages.credit.spend(pe, len) {
                // Under the lock: who closes breaks promises after it has said that it closes.
                if self.is_closed() {
                    drop(messages);
                    return complete(done, Err(Error::Finalized { call: "net" }));
                }
                messages.promised.insert(number, Promised { pe, from: bytes, done });
                drop(messages);
                let promise = Operation::note([self.me as u64, tag, number, len as u64]);
                if let Err(error) = self.say(pe, PROMISE, promise) {
                    let promised = self.messages().promised.remove(&number);
                    if let Some(Promised { done, .. }) = promised {
                        complete(done, Err(error));
                    }
                }
                return;
            }
            drop(messages);
            if len > PIECE {
                let (what, whole) = (What::Message { tag, number }, Operation::new(Kind::Plain(done)));
                // SAFETY: passed on to the caller.
                return unsafe { self.send_in_pieces(pe, bytes, what, whole) };
            }
        }
        let operation = Operation::new(Kind::Plain(done)).with_header([self.me as u64, tag]);
        // It is told in any case.
        let _ = self.start(pe, operation, |_, peer, operation| {
            // SAFETY: passed on to the caller.
            unsafe { self.send_bytes(peer, MESSAGE, operation, from, len, form) }
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
        self.say(pe, SHORT_MESSAGE, Operation::new(Kind::Words(words)))
    }

    /// # Safety
    /// `to` must be writable until `done` is told.
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
        // Under the lock: who closes takes what is awaited after it has said that it closes.
        if self.is_closed() {
            drop(messages);
            return complete(done, Err(Error::Finalized { call: "net" }));
        }
        let Some(came) = take(&mut messages.came, (pe, tag)) else {
            return messages.awaited.entry((pe, tag)).or_default().push(Awaited { to, done });
        };
        let misses = match came {
            Came::InPieces(number) => messages.join((pe, number), Awaited { to, done }),
            Came::Promised(number, len) => messages.ask((pe, number), len, Awaited { to, done }),
            Came::Whole(bytes) => {
                let says = messages.taken(pe, bytes.len());
                drop(messages);
                if says {
                    self.say_of_messages();
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
        self.say_of_messages();
        if let Some((done, error)) = misses {
            complete(done, self.reachable(pe).and(Err(error)));
        }
    }

    /// Asks for what was promised, and tells who has sent much that it was taken. Called with no lock held.
    pub(super) fn say_of_messages(&self) {
        let unsaid = self.messages().unsaid();
        let Some([asks, taken]) = unsaid else { return };
        for (pe, number) in asks {
            // A PE that is gone sends nothing.
            let _ = self.say(pe, GO, Operation::note([self.me as u64, number]));
        }
        for (pe, taken) in taken {
            let _ = self.say(pe, TAKEN, Operation::note([self.me as u64, taken]));
        }
    }

    /// A message from `from` has come. Called inside of UCX.
    fn message_came(&self, from: Key, data: &[u8]) {
        let mut messages = self.messages();
        let Some(Awaited { to, done }) = take(&mut messages.awaited, from) else {
            return messages.came.entry(from).or_default().push(Came::Whole(data.to_vec()));
        };
        if messages.taken(from.0, data.len()) {
            self.must_reply();
        }
        drop(messages);
        self.note(News::Received(done, take_whole(from.0, data, to)));
    }
}

#[cold]
fn too_long(pe: usize, came: usize, room: usize) -> Error {
    Error::bootstrap("net", format!("PE {pe} has sent {came} bytes where {room} were expected"))
}

/// The bytes at `from`, in words, of which the last is filled up with zeros, and room for two more.
///
/// # Safety
/// `from` must be readable for `len` bytes; others may write there meanwhile.
unsafe fn words_from(from: *const u8, len: usize) -> Vec<u64> {
    let n = len.div_ceil(WORD);
    // Not zeroed memory, which takes an allocator longer. With room for three words behind it: see `send_short`.
    let mut words = Vec::<u64>::with_capacity(n + 3);
    if let Some(last) = n.checked_sub(1) {
        words.spare_capacity_mut()[last].write(0);
        // SAFETY: there is room for `len` bytes, and the caller's are readable. What is not written of the words is in the last one.
        unsafe {
            copy::copy(words.as_mut_ptr().cast(), from, len);
            words.set_len(n);
        }
    }
    words
}

/// What has come goes where somebody waits for it, if there is room.
fn take_whole(pe: usize, bytes: &[u8], to: Bytes) -> Result<usize> {
    if bytes.len() > to.len {
        return Err(too_long(pe, bytes.len(), to.len));
    }
    // SAFETY: who waits keeps `to`, which has room for them.
    unsafe { copy::copy(to.at, bytes.as_ptr(), bytes.len()) };
    Ok(bytes.len())
}

#[cold]
fn misfit(pe: usize) -> Error {
    Error::bootstrap("net", format!("PE {pe} has sent pieces that do not fit together"))
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
pub(super) struct Sent;

impl Arrival for Sent {
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
        let Some(Awaited { to, done }) = take(&mut messages.awaited, (from, tag)) else {
            messages.came.entry((from, tag)).or_default().push(Came::Offered(offer));
            return true;
        };
        drop(messages);
        if len > to.len {
            worker.note(News::Received(done, Err(too_long(from, len, to.len))));
            return false;
        }
        let kind = Kind::Received { len, done };
        worker.gate().offered.push(Offered::new(offer, from, Bytes { len, ..to }, kind));
        worker.must_reply();
        true
    }
}

/// The first piece of a message has come.
pub(super) struct First;

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
        if awaited.is_some() && messages.taken(from, whole) {
            worker.must_reply();
        }
        let to = match awaited {
            Some(Awaited { to, done }) if whole > to.len => {
                return worker.note(News::Received(done, Err(too_long(from, whole, to.len))));
            }
            Some(awaited) => Place::Awaited(awaited),
            None => {
                messages.came.entry((from, tag)).or_default().push(Came::InPieces(number));
                Place::Kept(tag, Vec::with_capacity(whole))
            }
        };
        let before = messages.coming.insert((from, number), Coming { len: whole, here: 0, to });
        // Numbers do not come again, from a PE of this build.
        if let Some(Coming { to: Place::Awaited(Awaited { done, .. }), .. }) = before {
            worker.note(News::Received(done, Err(misfit(from))));
        }
        messages.take_piece(worker, (from, number), 0, piece);
    }
}

/// Another one has come.
pub(super) struct More;

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
pub(super) struct Promise;

impl Note<4> for Promise {
    fn came(worker: &Worker, [from, tag, number, len]: [u64; 4]) {
        let (Some(from), Ok(len)) = (worker.sender(from), usize::try_from(len)) else { return };
        let mut messages = worker.messages();
        let Some(awaited) = take(&mut messages.awaited, (from, tag)) else {
            return messages.came.entry((from, tag)).or_default().push(Came::Promised(number, len));
        };
        if let Some((done, error)) = messages.ask((from, number), len, awaited) {
            worker.note(News::Received(done, Err(error)));
        }
        worker.must_reply();
    }
}

/// A PE asks for a message that this one has promised.
pub(super) struct Go;

impl Note<2> for Go {
    fn came(worker: &Worker, [from, number]: [u64; 2]) {
        let mut messages = worker.messages();
        if messages.promised.get(&number).is_none_or(|promised| promised.pe != from as usize) {
            return;
        }
        let Some(Promised { pe, from, done }) = messages.promised.remove(&number) else { return };
        drop(messages);
        let this = Weak::clone(&worker.this);
        worker.note(News::Later(Box::new(move || match this.upgrade() {
            Some(worker) => {
                let (what, whole) = (What::Promised { number }, Operation::new(Kind::Plain(done)));
                // SAFETY: who has sent it keeps it until `done` is told.
                unsafe { worker.send_in_pieces(pe, from.whole(), what, whole) };
            }
            None => complete(done, Err(Error::Finalized { call: "net" })),
        })));
    }
}

/// A PE says how much it has taken of this one's messages.
pub(super) struct Taken;

impl Note<2> for Taken {
    fn came(worker: &Worker, [from, taken]: [u64; 2]) {
        if let Some(from) = worker.sender(from) {
            worker.messages().credit.was_taken(from, taken);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn a_short_message_has_all_of_its_bytes_and_zeros_behind_them() {
        let bytes: Vec<u8> = (1..=40).collect();
        for len in 0..=bytes.len() {
            // SAFETY: the vector has as many bytes.
            let words = unsafe { words_from(bytes.as_ptr(), len) };
            let mut expected = bytes[..len].to_vec();
            expected.resize(len.next_multiple_of(WORD), 0);
            assert_eq!(bytemuck::cast_slice::<u64, u8>(&words), expected);
            assert!(words.capacity() >= words.len() + 2);
        }
    }

    // ThreadSanitizer sees a plain read of what another thread writes.
    #[test]
    fn others_may_write_to_what_is_sent_meanwhile() {
        let memory: [AtomicU64; 4] = std::array::from_fn(|_| AtomicU64::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for value in 1..=100 {
                    memory.iter().for_each(|word| word.store(value, Ordering::Relaxed));
                }
            });
            for _ in 0..100 {
                // SAFETY: the words are there, and may be read and written at any time.
                let words = unsafe { words_from(memory.as_ptr().cast(), size_of_val(&memory)) };
                assert!(words.iter().all(|&word| word <= 100));
            }
        });
    }
}
