//! Which message belongs to which receive: by sender and tag, and among equals in their order.

use std::collections::{BTreeMap, VecDeque, btree_map::Entry};

use oxshmem_base::{Error, Result};
use oxshmem_memory::copy::copy;
use oxshmem_progress::completion::{Completion, complete};

use super::Address;

/// What has come and was not asked for yet, and what was asked for and has not come. In the order
/// of its keys, so that a simulation is the same each time.
#[derive(Default)]
pub(super) struct Mailbox(BTreeMap<(usize, u64), Queue>);

/// Of one sender and tag; never empty while it is in the mailbox.
enum Queue {
    Messages(VecDeque<Message>),
    Receives(VecDeque<Receive>),
}

/// A message that is there.
pub(super) enum Message {
    /// Its send is complete.
    Copied(Box<[u8]>),
    /// Its sender keeps `len` bytes at `from` until it runs.
    Lent { from: Address, len: usize, done: Completion },
}

/// A receive that waits for a message of up to `room` bytes, for which there is room at `to` until
/// it runs.
pub(super) struct Receive {
    pub(super) to: Address,
    pub(super) room: usize,
    pub(super) done: Completion<usize>,
}

impl Mailbox {
    /// The first receive that a message from `pe` is for.
    pub(super) fn take_receive(&mut self, pe: usize, tag: u64) -> Option<Receive> {
        self.take(pe, tag, |queue| match queue {
            Queue::Receives(receives) => receives.pop_front(),
            Queue::Messages(_) => None,
        })
    }

    /// The first message that is there from `pe`.
    pub(super) fn take_message(&mut self, pe: usize, tag: u64) -> Option<Message> {
        self.take(pe, tag, |queue| match queue {
            Queue::Messages(messages) => messages.pop_front(),
            Queue::Receives(_) => None,
        })
    }

    /// Keeps a message that [no receive](Self::take_receive) is there for.
    pub(super) fn keep_message(&mut self, pe: usize, tag: u64, message: Message) {
        match self.0.entry((pe, tag)).or_insert_with(|| Queue::Messages(VecDeque::new())) {
            Queue::Messages(messages) => messages.push_back(message),
            Queue::Receives(_) => unreachable!("a message was kept that a receive waits for"),
        }
    }

    /// Keeps a receive that [no message](Self::take_message) is there for.
    pub(super) fn keep_receive(&mut self, pe: usize, tag: u64, receive: Receive) {
        match self.0.entry((pe, tag)).or_insert_with(|| Queue::Receives(VecDeque::new())) {
            Queue::Receives(receives) => receives.push_back(receive),
            Queue::Messages(_) => unreachable!("a receive was kept that a message is there for"),
        }
    }

    /// Takes out what is waited for: receives, and messages whose sends are not complete; those
    /// from `pe` if given.
    pub(super) fn take_awaited(&mut self, pe: Option<usize>) -> (Vec<Receive>, Vec<Message>) {
        let (mut receives, mut messages) = (Vec::new(), Vec::new());
        self.0.retain(|&(sender, _), queue| {
            if pe.is_some_and(|pe| pe != sender) {
                return true;
            }
            match queue {
                Queue::Receives(all) => receives.extend(all.drain(..)),
                Queue::Messages(all) => {
                    let (lent, copied) =
                        all.drain(..).partition::<VecDeque<_>, _>(|m| matches!(m, Message::Lent { .. }));
                    messages.extend(lent);
                    *all = copied;
                }
            }
            !queue.is_empty()
        });
        (receives, messages)
    }

    /// Takes out all receives and messages from `pe`. If none is given, only the receives, from all
    /// PEs.
    pub(super) fn take_all_of(&mut self, pe: Option<usize>) -> (Vec<Receive>, Vec<Message>) {
        let (mut receives, mut messages) = (Vec::new(), Vec::new());
        self.0.retain(|&(sender, _), queue| {
            match queue {
                Queue::Receives(all) if pe.is_none_or(|pe| pe == sender) => receives.extend(all.drain(..)),
                Queue::Messages(all) if pe == Some(sender) => messages.extend(all.drain(..)),
                _ => return true,
            }
            false
        });
        (receives, messages)
    }

    /// Takes out all receives and messages whose tag `is_stale`.
    pub(super) fn take_stale(&mut self, is_stale: &dyn Fn(u64) -> bool) -> (Vec<Receive>, Vec<Message>) {
        let (mut receives, mut messages) = (Vec::new(), Vec::new());
        self.0.retain(|&(_, tag), queue| {
            match queue {
                _ if !is_stale(tag) => return true,
                Queue::Receives(all) => receives.extend(all.drain(..)),
                Queue::Messages(all) => messages.extend(all.drain(..)),
            }
            false
        });
        (receives, messages)
    }

    fn take<T>(&mut self, pe: usize, tag: u64, take: impl FnOnce(&mut Queue) -> Option<T>) -> Option<T> {
        let Entry::Occupied(mut entry) = self.0.entry((pe, tag)) else { return None };
        let taken = take(entry.get_mut());
        if entry.get().is_empty() {
            entry.remove();
        }
        taken
    }
}

impl Queue {
    fn is_empty(&self) -> bool {
        match self {
            Self::Messages(messages) => messages.is_empty(),
            Self::Receives(receives) => receives.is_empty(),
        }
    }
}

impl Message {
    /// Gives it to `receive`, and completes both sides.
    pub(super) fn give_to(self, receive: Receive) {
        let (from, len) = match &self {
            Self::Copied(bytes) => (bytes.as_ptr(), bytes.len()),
            Self::Lent { from, len, .. } => (from.get().cast_const(), *len),
        };
        let Receive { to, room, done } = receive;
        let received = if len <= room {
            // SAFETY: neither side is complete, so the sender keeps `len` bytes at `from` (or the
            // message has them itself), and the receiver has room for `room` at `to`.
            unsafe { copy(to.get(), from, len) };
            Ok(len)
        } else {
            Err(Error::bootstrap(
                "receive",
                format!("a message of {len} bytes came where {room} were expected"),
            ))
        };
        complete(done, received);
        self.tell_sender(Ok(()));
    }

    /// Completes the send, if it was not complete before.
    pub(super) fn tell_sender(self, result: Result<()>) {
        if let Self::Lent { done, .. } = self {
            complete(done, result);
        }
    }
}
