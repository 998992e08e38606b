//! Messages, which are matched by their sender, its tag, and their order.

use std::{collections::HashMap, hash::BuildHasherDefault};

use oxshmem_base::{Error, Result};
use oxshmem_memory::{
    copy,
    op::{Address, Blocks},
};
use oxshmem_progress::completion::Completion;
use smallvec::SmallVec;

use super::{
    Effect, Effects,
    incoming::{Place, Sink},
};
use crate::{batch::malformed, numbers::NumberHasher};

/// The sender, and the tag.
type Sender = (usize, u64);
/// In their order. Seldom is there more than one with a key, and never more than a few.
type BySender<T> = HashMap<Sender, SmallVec<[T; 1]>, BuildHasherDefault<NumberHasher>>;

/// A message that is to be received.
pub(super) struct PostedReceive {
    pub(super) to: Address,
    pub(super) room: usize,
    pub(super) done: Completion<usize>,
}

/// A message that has come before it is received.
pub(super) enum Unreceived {
    Whole(Vec<u8>),
    /// A long one, by its number, of which not everything has come.
    Long(u64),
}

/// A long message that comes in parts.
pub(super) struct LongMessage {
    tag: u64,
    len: usize,
    /// Bytes that have come.
    there: usize,
    /// Whether it comes without having been asked for.
    unasked: bool,
    /// Where its parts go if not to what receives it: nowhere, if it has no bytes.
    kept: Vec<u8>,
    receive: Option<PostedReceive>,
}

/// What is to be sent about a long message.
pub(super) enum Reply {
    Nothing,
    /// It is asked for.
    Go,
    /// It was received, and had come unasked.
    Received(usize),
}

/// Messages that are to be received, and that have come before. Never both with one key.
#[derive(Default)]
pub(super) struct Inbox {
    awaited: BySender<PostedReceive>,
    came: BySender<Unreceived>,
}

impl Inbox {
    /// Whether any is awaited.
    pub(super) fn is_awaited(&self) -> bool {
        !self.awaited.is_empty()
    }

    /// A short message has come. How many bytes were received, if it was.
    pub(super) fn came(&mut self, from: Sender, bytes: &[u8], events: &mut Effects) -> Option<usize> {
        let Some(receive) = take(&mut self.awaited, from) else {
            self.came.entry(from).or_default().push(Unreceived::Whole(bytes.to_vec()));
            return None;
        };
        receive.take(from.0, bytes, events);
        Some(bytes.len())
    }

    /// What receives a message of this length, which is about to come, if anything waits for it and
    /// has room.
    pub(super) fn receiver(&mut self, from: Sender, len: usize) -> Option<PostedReceive> {
        let first = self.awaited.get(&from)?.first()?;
        if len <= first.room { take(&mut self.awaited, from) } else { None }
    }

    /// A long message begins. What it is known by from now on.
    pub(super) fn open(
        &mut self,
        from: Sender,
        (number, len): (u64, usize),
        unasked: bool,
        events: &mut Effects,
    ) -> (LongMessage, Reply) {
        let mut coming = LongMessage { tag: from.1, len, there: 0, unasked, kept: Vec::new(), receive: None };
        let Some(receive) = take(&mut self.awaited, from) else {
            if unasked {
                coming.kept = vec![0; len];
            }
            self.came.entry(from).or_default().push(Unreceived::Long(number));
            return (coming, Reply::Nothing);
        };
        if let Some(receive) = receive.for_len(from.0, len, events) {
            coming.receive = Some(receive);
        }
        // What is too long is asked for as well, so that its sender is done with it.
        (coming, if unasked { Reply::Nothing } else { Reply::Go })
    }

    /// Takes a message that has come, or a part of it.
    pub(super) fn take_came(&mut self, from: Sender) -> Option<Unreceived> {
        take(&mut self.came, from)
    }

    /// Keeps what receives a message that will come.
    pub(super) fn expect(&mut self, from: Sender, receive: PostedReceive) {
        self.awaited.entry(from).or_default().push(receive);
    }

    /// All of a long message has come.
    pub(super) fn whole(
        &mut self,
        pe: usize,
        number: u64,
        coming: LongMessage,
        events: &mut Effects,
    ) -> Reply {
        let LongMessage { tag, len, unasked, kept, receive, .. } = coming;
        match receive {
            Some(receive) if kept.is_empty() => events.push_back(Effect::Received(receive.done, Ok(len))),
            Some(receive) => receive.take(pe, &kept, events),
            None => {
                let queue = self.came.get_mut(&(pe, tag));
                let mut queue = queue.into_iter().flatten();
                if let Some(came) = queue.find(|came| matches!(came, Unreceived::Long(n) if *n == number)) {
                    *came = Unreceived::Whole(kept);
                    return Reply::Nothing;
                }
            }
        }
        if unasked { Reply::Received(len) } else { Reply::Nothing }
    }

    /// Nothing receives messages whose tag `is_stale` any more. Those that have come, with their
    /// senders.
    pub(super) fn forget(
        &mut self,
        is_stale: &dyn Fn(u64) -> bool,
        why: &dyn Fn() -> Error,
        events: &mut Effects,
    ) -> Vec<(usize, Unreceived)> {
        let awaited = self.awaited.extract_if(|&(_, tag), _| is_stale(tag));
        for receive in awaited.flat_map(|(_, receives)| receives) {
            events.push_back(Effect::Received(receive.done, Err(why())));
        }
        let came = self.came.extract_if(|&(_, tag), _| is_stale(tag));
        came.flat_map(|((pe, _), came)| came.into_iter().map(move |came| (pe, came))).collect()
    }

    /// What `pe` has sent is of no use any more.
    pub(super) fn drop_from(&mut self, pe: usize) {
        self.came.retain(|&(from, _), _| from != pe);
    }

    /// What is to be received from `pe`, or from any PE, will not come.
    pub(super) fn end(&mut self, pe: Option<usize>, why: &dyn Fn() -> Error, events: &mut Effects) {
        let lost = self.awaited.extract_if(|&(from, _), _| pe.is_none_or(|pe| from == pe));
        for receive in lost.flat_map(|(_, receives)| receives) {
            events.push_back(Effect::Received(receive.done, Err(why())));
        }
    }
}

impl LongMessage {
    /// Where its next `len` bytes go.
    pub(super) fn place(&mut self, len: usize) -> Result<Place> {
        let left = self.len - self.there;
        if len > left {
            return Err(malformed());
        }
        let to = match &self.receive {
            _ if !self.kept.is_empty() => self.kept.as_mut_ptr(),
            Some(receive) => receive.to.get(),
            None => return Ok(Place::Nowhere),
        };
        // SAFETY: what is kept stays as long as the message comes, and so does what receives it.
        // There is room for all of it in both.
        Ok(Place::Memory(unsafe { Sink::new(to.wrapping_add(self.there).into(), Blocks::whole(left)) }))
    }

    /// This many bytes more have come. Whether that is all.
    pub(super) fn filled(&mut self, len: usize) -> bool {
        self.there += len;
        self.there >= self.len
    }

    /// It is received now, of which not everything has come.
    pub(super) fn receive(&mut self, pe: usize, receive: PostedReceive, events: &mut Effects) -> Reply {
        self.receive = receive.for_len(pe, self.len, events);
        if self.unasked { Reply::Nothing } else { Reply::Go }
    }

    /// Whether it goes to memory of what receives it, and its tag is such.
    pub(super) fn is_received(&self, is_such: &dyn Fn(u64) -> bool) -> bool {
        self.receive.is_some() && is_such(self.tag)
    }

    /// It will not come. What it was received for.
    pub(super) fn end(self) -> Option<Completion<usize>> {
        self.receive.map(|receive| receive.done)
    }
}

impl PostedReceive {
    /// Gets the bytes of a message.
    pub(super) fn take(self, pe: usize, bytes: &[u8], events: &mut Effects) {
        if let Some(Self { to, done, .. }) = self.for_len(pe, bytes.len(), events) {
            // SAFETY: the receiver keeps its memory until `done` runs; there is room.
            unsafe { copy::copy(to.get(), bytes.as_ptr(), bytes.len()) };
            events.push_back(Effect::Received(done, Ok(bytes.len())));
        }
    }

    /// Itself, if there is room for this many bytes.
    fn for_len(self, pe: usize, len: usize, events: &mut Effects) -> Option<Self> {
        if len <= self.room {
            return Some(self);
        }
        let what = format!("PE {pe} has sent {len} bytes where {} were expected", self.room);
        events.push_back(Effect::Received(self.done, Err(Error::bootstrap("net", what))));
        None
    }
}

/// Takes the first of those with that key.
fn take<T>(all: &mut BySender<T>, key: Sender) -> Option<T> {
    let queue = all.get_mut(&key)?;
    if queue.len() > 1 {
        return Some(queue.remove(0));
    }
    // Tags seldom come again.
    all.remove(&key)?.pop()
}
