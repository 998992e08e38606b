//! What this PE and another have under way: questions and their answers, long puts and messages.
//!
//! What is short goes to the [stream](super::outgoing) at once. What is long waits here, and goes
//! there in chunks whenever the stream has little left to write, so that short frames wait for no
//! more than that. An operation that must not overtake a put waits behind it.

use std::{
    collections::{HashMap, VecDeque},
    mem,
};

use oxshmem_base::{Error, Result};
use oxshmem_memory::{
    copy,
    op::{Address, Blocks, Op, Spot, Verb},
    word::{Signal, Width},
};
use oxshmem_progress::completion::{Completion, any_value};
use slab::Slab;

use super::{
    Effect, Effects,
    frame::{CHUNK, FrameHead, Kind, WORD},
    incoming::Sink,
    mail::{LongMessage, PostedReceive, Reply},
    outgoing::Outgoing,
};
use crate::{
    Batch,
    batch::{HEAD as ENTRY, encode, first_entry, malformed},
};

/// Up to this many bytes are copied.
pub(super) const COPIED: usize = 4 << 10;
/// Blocks of a put of at least this many bytes are written from where they lie.
const WHOLE: usize = 2 << 10;
/// Long transfers go on while the stream has fewer bytes to write.
const LOW: u64 = 2 * CHUNK as u64;
/// Nothing is copied to a stream that has more bytes to write.
const FULL: u64 = 256 << 10;
/// How many questions another PE is asked at a time.
const QUESTIONS: usize = 4 << 10;
/// Bytes of messages that a PE keeps for another one before they are received.
const CREDIT: usize = 4 << 20;
/// After this many bytes it reports what was received.
const OFTEN: usize = CREDIT / 4;

/// What answers a question.
pub(super) enum OpenQuestion {
    Get(Sink, Completion<u64>),
    Word(Completion<u64>),
    Flush(Completion),
}

/// Something of this PE that waits for its turn.
enum Mine {
    Put(ChunkedPut),
    Batch(Vec<u64>),
    Message(OutgoingMessage),
    Ask(Op, Completion<u64>),
    Flush(Completion),
}

/// A put that goes in chunks.
struct ChunkedPut {
    op: Op,
    /// What is left begins with this block, and this byte of it.
    block: usize,
    at: usize,
    done: Completion<u64>,
}

/// What is left of a long message.
struct OutgoingMessage {
    number: u64,
    from: Address,
    len: usize,
    done: Completion,
}

/// What another PE gets, from byte `at` on.
struct GetAnswer {
    number: u64,
    from: Address,
    blocks: Blocks,
    at: usize,
}

/// A long message of this PE, until it is asked for.
struct OfferedMessage {
    from: Address,
    len: usize,
    done: Completion,
}

/// What is under way between this PE and another.
#[derive(Default)]
pub(super) struct Talk {
    asked: Slab<OpenQuestion>,
    /// How many of them are flushes.
    flushes: usize,
    /// Whether something was sent that a flush waits for.
    pub(super) unflushed: bool,
    batch: Batch,
    mine: VecDeque<Mine>,
    theirs: VecDeque<GetAnswer>,
    offered: HashMap<u64, OfferedMessage>,
    /// How many long messages had a number.
    numbered: u64,
    /// Long messages of the other PE, by its numbers for them.
    pub(super) coming: HashMap<u64, LongMessage>,
    /// What receives the message that is coming just now.
    pub(super) receiving: Option<PostedReceive>,
    /// Bytes of messages that the other PE may not have received.
    unreceived: usize,
    /// Bytes of its messages that are kept here, or were received and not reported.
    kept: usize,
    received: usize,
    /// Whether it has announced that it leaves.
    pub(super) left: bool,
}

impl Talk {
    /// Whether anything is awaited of the other PE.
    pub(super) fn is_awaited(&self) -> bool {
        !(self.asked.is_empty() && self.mine.is_empty() && self.offered.is_empty())
    }

    /// Whether more may be copied.
    pub(super) fn has_room(&self, out: &Outgoing) -> bool {
        out.unwritten() < FULL
    }

    /// Starts an operation.
    ///
    /// # Safety
    /// As for [`Way::start`](crate::Way::start).
    pub(super) unsafe fn start(
        &mut self,
        op: Op,
        done: Completion<u64>,
        out: &mut Outgoing,
        events: &mut Effects,
    ) {
        let bytes = op.blocks.bytes();
        match op.verb {
            Verb::Get(_) if bytes == 0 => events.push_back(Effect::Word(done, Ok(0))),
            Verb::Get(_) | Verb::Atomic(..) => self.ask(op, done, out),
            Verb::Put(_) if bytes + op.blocks.count * ENTRY <= COPIED && self.has_room(out) => {
                // SAFETY: passed on to the caller.
                self.gather(|batch| unsafe { batch.add(&op) }, out);
                events.push_back(Effect::Word(done, Ok(0)));
            }
            Verb::Put(_) => {
                self.unflushed = true;
                self.mine.push_back(Mine::Put(ChunkedPut { op, block: 0, at: 0, done }));
            }
        }
    }

    /// Whether a question may be asked at once. It goes behind the puts before it, which it is to
    /// see.
    fn may_ask(&self) -> bool {
        self.mine.is_empty() && self.asked.len() < QUESTIONS
    }

    fn ask(&mut self, op: Op, done: Completion<u64>, out: &mut Outgoing) {
        if !self.may_ask() {
            return self.mine.push_back(Mine::Ask(op, done));
        }
        self.ask_now(op, done, out);
    }

    fn ask_now(&mut self, op: Op, done: Completion<u64>, out: &mut Outgoing) {
        let question = match op.verb {
            // SAFETY: the caller of `start` keeps the memory until `done` runs, which goes with it.
            Verb::Get(to) => OpenQuestion::Get(unsafe { Sink::new(to, op.blocks) }, done),
            _ => OpenQuestion::Word(done),
        };
        let number = self.asked.insert(question) as u64;
        out.push_words(Kind::Ask, number, &encode(&op));
    }

    /// Whether a long message with such a tag is being received.
    pub(super) fn receives(&self, is_such: &dyn Fn(u64) -> bool) -> bool {
        self.coming.values().any(|coming| coming.is_received(is_such))
    }

    /// Runs `done` when everything that was sent before was performed. Gives it back if that is so.
    pub(super) fn flush(&mut self, done: Completion, out: &mut Outgoing) -> Option<Completion> {
        if self.mine.is_empty() && !self.unflushed && self.flushes == 0 {
            return Some(done);
        }
        self.flushes += 1;
        if self.may_ask() {
            self.flush_now(done, out);
        } else {
            self.mine.push_back(Mine::Flush(done));
        }
        None
    }

    fn flush_now(&mut self, done: Completion, out: &mut Outgoing) {
        self.unflushed = !self.mine.is_empty();
        let number = self.asked.insert(OpenQuestion::Flush(done)) as u64;
        out.push_words(Kind::Flush, number, &[]);
    }

    /// Has the other PE perform what `add` adds to a batch.
    pub(super) fn gather(&mut self, add: impl FnOnce(&mut Batch), out: &mut Outgoing) {
        // Its room is used again.
        let mut batch = mem::take(&mut self.batch);
        add(&mut batch);
        self.apply(batch.words(), out);
        batch.clear();
        self.batch = batch;
    }

    /// Has the other PE perform a batch.
    pub(super) fn apply(&mut self, words: &[u64], out: &mut Outgoing) {
        self.unflushed = true;
        if size_of_val(words) <= CHUNK && self.has_room(out) {
            return out.push_batch(words);
        }
        let (mut rest, mut together) = (words, 0);
        while let Ok((op, all)) = first_entry(&rest[together..]) {
            let is_long = op.blocks.len > COPIED && matches!(op.verb, Verb::Put(()));
            if together > 0 && (is_long || (together + all) * WORD > CHUNK) {
                self.mine.push_back(Mine::Batch(rest[..together].to_vec()));
                (rest, together) = (&rest[together..], 0);
            }
            if is_long {
                let kept = rest[2..all].to_vec();
                let op = Op::put(op.there.on(0), kept.as_ptr().cast::<u8>(), op.blocks.len);
                let done = Box::new(move |_| drop(kept));
                self.mine.push_back(Mine::Put(ChunkedPut { op, block: 0, at: 0, done }));
                rest = &rest[all..];
            } else {
                together += all;
            }
        }
        if together > 0 {
            self.mine.push_back(Mine::Batch(rest[..together].to_vec()));
        }
    }

    /// Sends a message that is not copied.
    ///
    /// # Safety
    /// `from` must be readable for `len` bytes until `done` runs.
    pub(super) unsafe fn send_long(
        &mut self,
        tag: u64,
        from: Address,
        len: usize,
        done: Completion,
        out: &mut Outgoing,
    ) {
        let number = self.numbered;
        self.numbered += 1;
        let unasked = self.spend(len);
        out.push_words(Kind::Open, tag, &[number, len as u64, u64::from(unasked)]);
        if unasked {
            self.mine.push_back(Mine::Message(OutgoingMessage { number, from, len, done }));
        } else {
            self.offered.insert(number, OfferedMessage { from, len, done });
        }
    }

    /// Sends a notification of words and bytes. Gives `done` back if they were copied.
    ///
    /// # Safety
    /// `from` must be readable for `len` bytes until `done` runs.
    pub(super) unsafe fn notify(
        &mut self,
        words: &[u8],
        (from, len): (Address, usize),
        done: Completion,
        out: &mut Outgoing,
    ) -> Option<Completion> {
        let head = FrameHead { urgent: true, ..FrameHead::new(Kind::Notification, words.len() + len, 0) };
        if len <= COPIED {
            // SAFETY: passed on to the caller.
            unsafe { out.push_copy(head, words, from.get()) };
            return Some(done);
        }
        // SAFETY: as above.
        unsafe { out.push_memory(head, words, from, Some(any_value(done))) };
        None
    }

    /// What receives the long message of that number, of which not everything has come.
    pub(super) fn receive(
        &mut self,
        (pe, number): (usize, u64),
        receive: PostedReceive,
        out: &mut Outgoing,
        events: &mut Effects,
    ) {
        if let Some(coming) = self.coming.get_mut(&number)
            && let Reply::Go = coming.receive(pe, receive, events)
        {
            out.push_words(Kind::Go, number, &[]);
        }
    }

    /// Whether the other PE keeps `len` bytes more of messages before it receives them.
    pub(super) fn spend(&mut self, len: usize) -> bool {
        let fits = self.unreceived + len <= CREDIT;
        if fits {
            self.unreceived += len;
        }
        fits
    }

    /// The other PE has received this many bytes.
    pub(super) fn earn(&mut self, len: usize) {
        self.unreceived = self.unreceived.saturating_sub(len);
    }

    /// A message of the other PE has come, or will, that was not asked for.
    ///
    /// # Errors
    /// If that is more than a PE may send.
    pub(super) fn keep(&mut self, len: usize) -> Result<()> {
        self.kept = self.kept.saturating_add(len);
        if self.kept > CREDIT { Err(malformed()) } else { Ok(()) }
    }

    /// A message of the other PE that was sent unasked was received, which is reported now and
    /// then.
    pub(super) fn received(&mut self, len: usize, out: &mut Outgoing) {
        self.received += len;
        if self.received >= OFTEN {
            out.push_words(Kind::Taken, self.received as u64, &[]);
            self.kept -= self.received;
            self.received = 0;
        }
    }

    /// The other PE asks for the message of that number.
    pub(super) fn go(&mut self, number: u64) -> Result<()> {
        let OfferedMessage { from, len, done } = self.offered.remove(&number).ok_or_else(malformed)?;
        self.mine.push_back(Mine::Message(OutgoingMessage { number, from, len, done }));
        Ok(())
    }

    /// The word has come that answers the question of that number.
    pub(super) fn answered(&mut self, number: u64, word: u64, events: &mut Effects) -> Result<()> {
        let number = number as usize;
        if matches!(self.asked.get(number), None | Some(OpenQuestion::Get(..))) {
            return Err(malformed());
        }
        match self.asked.remove(number) {
            OpenQuestion::Flush(done) => {
                self.flushes -= 1;
                events.push_back(Effect::Over(done, Ok(())));
            }
            OpenQuestion::Word(done) | OpenQuestion::Get(_, done) => {
                events.push_back(Effect::Word(done, Ok(word)));
            }
        }
        Ok(())
    }

    /// Where bytes go that answer the question of that number.
    pub(super) fn sink(&self, number: u64) -> Result<Sink> {
        match self.asked.get(number as usize) {
            Some(OpenQuestion::Get(sink, _)) => Ok(*sink),
            _ => Err(malformed()),
        }
    }

    /// Bytes have come that answer the question of that number.
    pub(super) fn got(&mut self, number: u64, len: usize, events: &mut Effects) -> Result<()> {
        let number = number as usize;
        let Some(OpenQuestion::Get(sink, _)) = self.asked.get_mut(number) else { return Err(malformed()) };
        sink.skip(len);
        if sink.left() == 0
            && let OpenQuestion::Get(_, done) = self.asked.remove(number)
        {
            events.push_back(Effect::Word(done, Ok(0)));
        }
        Ok(())
    }

    /// Answers with blocks of this PE's memory.
    ///
    /// # Errors
    /// If more is asked than a PE may ask at a time.
    ///
    /// # Safety
    /// They must be readable for as long as there is the stream; others may write there meanwhile.
    pub(super) unsafe fn answer(
        &mut self,
        number: u64,
        (from, blocks): (Address, Blocks),
        out: &mut Outgoing,
    ) -> Result<()> {
        let answer = GetAnswer { number, from, blocks, at: 0 };
        if blocks.bytes() <= COPIED && out.unwritten() < FULL {
            answer.copy(0, blocks.count, out);
            return Ok(());
        }
        if self.theirs.len() >= QUESTIONS {
            return Err(malformed());
        }
        self.theirs.push_back(answer);
        Ok(())
    }

    /// Gives the stream what waits, as long as it has little to write.
    pub(super) fn pump(&mut self, out: &mut Outgoing, events: &mut Effects) {
        while out.unwritten() < LOW {
            let [a, b] = [self.pump_mine(out, events), self.pump_theirs(out)];
            if !a && !b {
                return;
            }
        }
    }

    /// Whether anything waits that the stream could be given.
    pub(super) fn has_more(&self) -> bool {
        let blocked = matches!(self.mine.front(), None | Some(Mine::Ask(..) | Mine::Flush(_)))
            && self.asked.len() >= QUESTIONS;
        !self.theirs.is_empty() || !(self.mine.is_empty() || blocked)
    }

    fn pump_theirs(&mut self, out: &mut Outgoing) -> bool {
        let Some(answer) = self.theirs.front_mut() else { return false };
        let Blocks { len, count, .. } = answer.blocks;
        let (block, within) = (answer.at / len, answer.at % len);
        if len < WHOLE {
            let n = (CHUNK / len).min(count - block);
            answer.copy(block, n, out);
            answer.at += n * len;
        } else {
            let n = CHUNK.min(len - within);
            let from = answer.block(block).get().wrapping_add(within);
            // SAFETY: what `answer` was promised.
            unsafe { out.push_memory(FrameHead::new(Kind::Data, n, answer.number), &[], from.into(), None) };
            answer.at += n;
        }
        if answer.at == answer.blocks.bytes() {
            self.theirs.pop_front();
        }
        true
    }

    fn pump_mine(&mut self, out: &mut Outgoing, events: &mut Effects) -> bool {
        match self.mine.pop_front() {
            None => return false,
            Some(mine @ (Mine::Ask(..) | Mine::Flush(_))) if self.asked.len() >= QUESTIONS => {
                self.mine.push_front(mine);
                return false;
            }
            Some(Mine::Ask(op, done)) => self.ask_now(op, done, out),
            Some(Mine::Flush(done)) => self.flush_now(done, out),
            Some(Mine::Batch(words)) => out.push_batch(&words),
            Some(Mine::Message(part)) => self.go_on(part.next(out)),
            Some(Mine::Put(put)) => self.go_on(put.next(out, events)),
        }
        true
    }

    fn go_on(&mut self, left: Option<Mine>) {
        if let Some(left) = left {
            self.mine.push_front(left);
        }
    }

    /// Ends everything, as `why` says.
    pub(super) fn end(&mut self, why: &dyn Fn() -> Error, events: &mut Effects) {
        let talk = mem::take(self);
        self.left = talk.left;
        for (_, question) in talk.asked {
            events.push_back(match question {
                OpenQuestion::Get(_, done) | OpenQuestion::Word(done) => Effect::Word(done, Err(why())),
                OpenQuestion::Flush(done) => Effect::Over(done, Err(why())),
            });
        }
        for mine in talk.mine {
            events.push_back(match mine {
                Mine::Put(ChunkedPut { done, .. }) | Mine::Ask(_, done) => Effect::Word(done, Err(why())),
                Mine::Message(OutgoingMessage { done, .. }) | Mine::Flush(done) => {
                    Effect::Over(done, Err(why()))
                }
                Mine::Batch(_) => continue,
            });
        }
        for (_, OfferedMessage { done, .. }) in talk.offered {
            events.push_back(Effect::Over(done, Err(why())));
        }
        if let Some(receive) = talk.receiving {
            events.push_back(Effect::Received(receive.done, Err(why())));
        }
        for (_, coming) in talk.coming {
            if let Some(done) = coming.end() {
                events.push_back(Effect::Received(done, Err(why())));
            }
        }
    }
}

impl GetAnswer {
    fn block(&self, i: usize) -> Address {
        self.from.get().wrapping_add(i * self.blocks.there).into()
    }

    /// Copies `n` blocks to the stream.
    fn copy(&self, block: usize, n: usize, out: &mut Outgoing) {
        let Blocks { len, there, .. } = self.blocks;
        if n == 1 {
            let head = FrameHead::new(Kind::Data, len, self.number);
            // SAFETY: what `answer` was promised.
            return unsafe { out.push_copy(head, &[], self.block(block).get()) };
        }
        let mut bytes = vec![0; len * n];
        // SAFETY: what `answer` was promised; there is room for as many blocks.
        unsafe { copy::copy_strided(bytes.as_mut_ptr(), len, self.block(block).get(), there, len, n) };
        out.push(FrameHead::new(Kind::Data, bytes.len(), self.number), &bytes);
    }
}

impl OutgoingMessage {
    /// Sends the next chunk; what is left.
    fn next(mut self, out: &mut Outgoing) -> Option<Mine> {
        let n = self.len.min(CHUNK);
        let mut head = FrameHead::new(Kind::Part, n, self.number);
        let from = self.from;
        self.from = from.get().wrapping_add(n).into();
        self.len -= n;
        let is_last = self.len == 0;
        head.urgent = is_last;
        let (done, left) = match is_last {
            true => (Some(any_value(self.done)), None),
            false => (None, Some(self)),
        };
        // SAFETY: what `send_long` was promised, as `done` runs with the last chunk.
        unsafe { out.push_memory(head, &[], from, done) };
        left.map(Mine::Message)
    }
}

impl ChunkedPut {
    /// Sends the next chunk; what is left.
    fn next(mut self, out: &mut Outgoing, events: &mut Effects) -> Option<Mine> {
        let Blocks { len, count, .. } = self.op.blocks;
        if len < WHOLE {
            self.copy_blocks(out);
            if self.block < count {
                return Some(Mine::Put(self));
            }
            push_signal(self.op.then, out);
            events.push_back(Effect::Word(self.done, Ok(0)));
            return None;
        }
        let n = CHUNK.min(len - self.at);
        let piece = self.op.block(self.block).piece(self.at, n);
        self.at += n;
        if self.at == len {
            (self.block, self.at) = (self.block + 1, 0);
        }
        let Verb::Put(from) = piece.verb else { unreachable!("only puts are kept as such") };
        let (is_last, signal) = (self.block == count, self.op.then);
        let head = FrameHead { urgent: is_last, ..FrameHead::new(Kind::Put, n, encode(&piece)[0]) };
        let (done, left) = if is_last { (Some(self.done), None) } else { (None, Some(self)) };
        // SAFETY: the caller of `start` keeps the source until `done` runs, which goes with the
        // last chunk.
        unsafe { out.push_memory(head, &[], from, done) };
        if is_last {
            push_signal(signal, out);
        }
        left.map(Mine::Put)
    }

    /// Copies the next blocks to the stream.
    fn copy_blocks(&mut self, out: &mut Outgoing) {
        let Blocks { len, count, .. } = self.op.blocks;
        let n = (CHUNK / (len + ENTRY)).min(count - self.block);
        let mut batch = Batch::with_capacity(n * (len + ENTRY));
        for block in self.block..self.block + n {
            // SAFETY: the caller of `start` keeps the source until `done` runs.
            unsafe { batch.add(&self.op.block(block)) };
        }
        out.push_batch(batch.words());
        self.block += n;
    }
}

/// Updates the signal of a put, whose data is in the stream.
fn push_signal(signal: Option<(Spot, Signal)>, out: &mut Outgoing) {
    if let Some((at, update)) = signal {
        let mut batch = Batch::with_capacity(ENTRY);
        batch.update(at, update.into(), Width::Eight);
        out.push_batch(batch.words());
    }
}
