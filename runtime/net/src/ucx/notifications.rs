//! Notifications between PEs, for the listener of each: an active message each, of a head and
//! bytes.

use std::sync::{Arc, Weak};

use oxshmem_progress::completion::Completion;

use super::{
    Event, Worker,
    arrivals::{Arrival, NOTIFICATION},
    departures::Form,
    operation::{Kind, Operation},
};
use crate::{Listener, Words};

impl Worker {
    /// Notifications go to this from now on.
    pub(super) fn listen(&self, listener: Weak<dyn Listener>) {
        // A PE joins once, so there is no other.
        let _ = self.listener.set(listener);
    }

    pub(super) fn listener(&self) -> Option<Arc<dyn Listener>> {
        self.listener.get().and_then(Weak::upgrade)
    }

    /// # Safety
    /// `from` must be readable for `len` bytes until `done` runs.
    pub(super) unsafe fn notify(
        &self,
        pe: usize,
        words: Words,
        from: *const u8,
        len: usize,
        done: Completion,
    ) {
        let [a, b, c, d, e] = words;
        let operation = Operation::new(Kind::Plain(done)).with_header([self.me as u64, a, b, c, d, e]);
        let _ = self.start(pe, operation, |_, peer, operation| {
            // SAFETY: passed on to the caller; the listener has agreed to have room for it.
            unsafe { self.give_bytes(peer, NOTIFICATION, operation, from, len, Form::Whole) }
        });
    }
}

/// A notification has come.
pub(super) struct Notification;

impl Arrival for Notification {
    fn came(worker: &Worker, header: &[u64], data: &[u8]) {
        let &[from, a, b, c, d, e] = header else { return };
        let Some(from) = worker.sender(from) else { return };
        if let Some(listener) = worker.listener() {
            let bytes = data.to_vec();
            worker.note(Event::Later(Box::new(move || {
                listener.notified(from, [a, b, c, d, e], bytes);
            })));
        }
    }
}
