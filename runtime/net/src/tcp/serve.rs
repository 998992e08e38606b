//! What the frames of another PE do here.

use std::sync::{Arc, OnceLock, Weak};

use oxshmem_base::Result;
use oxshmem_memory::{
    Segment,
    op::{Blocks, Op, Verb},
};

use super::{
    Effect, Effects,
    frame::{FrameHead, Kind, WORD, word, words},
    incoming::{Place, Serve, Sink},
    mail::{Inbox, Reply},
    outgoing::Outgoing,
    talk::Talk,
};
use crate::{
    Listener, Words,
    batch::{self, decode, malformed},
};

/// Bytes that wait to be written at the most, before a PE asks for more: it is to read the answers
/// that it gets.
const MOST: u64 = 8 << 20;

/// Long messages of a PE that are known here at the most.
const LONG: usize = 1 << 16;

/// This PE's memory, as others reach it.
pub(super) struct Memory {
    pub(super) block: usize,
    pub(super) segments: [Segment; 2],
}

/// What the frames of one PE are served with.
pub(super) struct Serving<'a> {
    pub(super) pe: usize,
    pub(super) memory: &'a Memory,
    pub(super) listener: &'a OnceLock<Weak<dyn Listener>>,
    pub(super) talk: &'a mut Talk,
    pub(super) out: &'a mut Outgoing,
    pub(super) mail: &'a mut Inbox,
    pub(super) events: &'a mut Effects,
    /// Whether something was stored that this PE may wait for.
    pub(super) stored: &'a mut bool,
    /// Whether the other PE waits for an acknowledgement.
    pub(super) urgent: &'a mut bool,
}

impl Serve for Serving<'_> {
    fn place(&mut self, head: FrameHead) -> Result<Place> {
        let sink = match head.kind {
            Kind::Data => self.talk.sink(head.arg)?,
            Kind::Message => {
                let Some(receive) = self.mail.receiver((self.pe, head.arg), head.len) else {
                    return Ok(Place::Kept);
                };
                let to = receive.to;
                self.talk.receiving = Some(receive);
                // SAFETY: the receiver keeps its memory, which has room, until it is done, and is
                // kept itself until the message has come.
                unsafe { Sink::new(to, Blocks::whole(head.len)) }
            }
            Kind::Part => return self.talk.coming.get_mut(&head.arg).ok_or_else(malformed)?.place(head.len),
            _ => {
                let op = decode([head.arg, head.len as u64, head.len as u64, 1])?;
                let Verb::Put(()) = op.verb else { return Err(malformed()) };
                let segments = &self.memory.segments.each_ref();
                let to = op.there.address(self.memory.block, segments, head.len, 1)?;
                // SAFETY: in bounds, as just checked; the memory is mapped for as long as its net
                // is there.
                unsafe { Sink::new(to.into(), Blocks::whole(head.len)) }
            }
        };
        Ok(Place::Memory(sink))
    }

    fn filled(&mut self, head: FrameHead) -> Result<()> {
        *self.urgent |= head.urgent;
        match head.kind {
            Kind::Data => {
                *self.stored = true;
                self.talk.got(head.arg, head.len, self.events)?;
            }
            Kind::Message => {
                self.talk.keep(head.len)?;
                if let Some(receive) = self.talk.receiving.take() {
                    self.events.push_back(Effect::Received(receive.done, Ok(head.len)));
                    self.talk.received(head.len, self.out);
                }
            }
            Kind::Part => {
                let coming = self.talk.coming.get_mut(&head.arg).ok_or_else(malformed)?;
                if coming.filled(head.len)
                    && let Some(coming) = self.talk.coming.remove(&head.arg)
                {
                    let reply = self.mail.whole(self.pe, head.arg, coming, self.events);
                    self.reply(head.arg, reply);
                }
            }
            _ => *self.stored = true,
        }
        Ok(())
    }

    fn frame(&mut self, head: FrameHead, payload: &[u8]) -> Result<()> {
        let FrameHead { kind, arg, .. } = head;
        if self.out.unwritten() > MOST {
            return Err(malformed());
        }
        *self.urgent |= head.urgent;
        match kind {
            Kind::Batch => self.batch(payload)?,
            Kind::Ask => self.ask(arg, words(payload)?)?,
            Kind::Flush => self.out.push_words(Kind::Value, arg, &[0]),
            Kind::Value => {
                let [value] = words(payload)?;
                self.talk.answered(arg, value, self.events)?;
            }
            Kind::Message => {
                self.talk.keep(payload.len())?;
                if let Some(len) = self.mail.came((self.pe, arg), payload, self.events) {
                    self.talk.received(len, self.out);
                }
            }
            Kind::Open => {
                let [number, len, unasked] = words(payload)?;
                let (len, unasked) = (len as usize, unasked != 0);
                let coming = &self.talk.coming;
                if len == 0 || coming.len() >= LONG || coming.contains_key(&number) {
                    return Err(malformed());
                }
                if unasked {
                    self.talk.keep(len)?;
                }
                let (coming, reply) = self.mail.open((self.pe, arg), (number, len), unasked, self.events);
                self.talk.coming.insert(number, coming);
                self.reply(number, reply);
            }
            Kind::Go => self.talk.go(arg)?,
            Kind::Notification => self.notification(payload)?,
            Kind::Ack => {
                let events = &mut *self.events;
                if !self.out.ack(arg, |done| events.push_back(Effect::Word(done, Ok(0)))) {
                    return Err(malformed());
                }
            }
            Kind::Taken => self.talk.earn(arg as usize),
            Kind::Goodbye => self.talk.left = true,
            Kind::Put | Kind::Data | Kind::Part => return Err(malformed()),
        }
        Ok(())
    }
}

impl Serving<'_> {
    pub(super) fn reply(&mut self, number: u64, reply: Reply) {
        match reply {
            Reply::Nothing => {}
            Reply::Go => self.out.push_words(Kind::Go, number, &[]),
            Reply::Received(len) => self.talk.received(len, self.out),
        }
    }

    fn batch(&mut self, payload: &[u8]) -> Result<()> {
        if !payload.len().is_multiple_of(WORD) {
            return Err(malformed());
        }
        let copy: Vec<u64>;
        let words = match bytemuck::try_cast_slice(payload) {
            Ok(words) => words,
            Err(_) => {
                copy = (0..payload.len()).step_by(WORD).map(|at| word(payload, at)).collect();
                &copy
            }
        };
        *self.stored = true;
        let Memory { block, segments } = self.memory;
        // SAFETY: both are this PE's memory, which is mapped for as long as its net is there.
        unsafe { batch::apply(words, *block, &segments.each_ref()) }
    }

    fn ask(&mut self, number: u64, head: batch::Head) -> Result<()> {
        let Op { verb, there, blocks, .. } = decode(head)?;
        let Memory { block, segments } = self.memory;
        match verb {
            Verb::Get(()) => {
                let span = blocks.span().ok_or_else(malformed)?;
                let from = there.address(*block, &segments.each_ref(), span, 1)?;
                // SAFETY: in bounds, as just checked; the memory is mapped for as long as its net
                // is there.
                unsafe { self.talk.answer(number, (from.into(), blocks), self.out)? };
            }
            Verb::Atomic(operation, width) => {
                *self.stored = true;
                let before = batch::perform((there, operation, width), *block, &segments.each_ref())?;
                self.out.push_words(Kind::Value, number, &[before]);
            }
            Verb::Put(()) => return Err(malformed()),
        }
        Ok(())
    }

    fn notification(&mut self, payload: &[u8]) -> Result<()> {
        let (head, bytes) = payload.split_at_checked(size_of::<Words>()).ok_or_else(malformed)?;
        let (from, words, bytes): (_, Words, _) = (self.pe, words(head)?, bytes.to_vec());
        if let Some(listener) = self.listener.get().and_then(Weak::upgrade) {
            let notify = move || Arc::clone(&listener).notified(from, words, bytes);
            self.events.push_back(Effect::Later(Box::new(notify)));
        }
        Ok(())
    }
}
