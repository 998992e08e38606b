//! PEs that the job has lost, and goes on without: what is on the way to and from them.
//!
//! What a lost PE has sent is still on its way, and has its effect where the loss is not known yet.
//! What is for a lost PE gets no answer: it is over when its origin knows of the loss.

use std::sync::{Arc, atomic::Ordering};

use oxshmem_base::{Error, sync::lock};
use oxshmem_progress::completion::{Completion, complete};

use super::{
    mailbox::{Message, Receive},
    port::Port,
};

impl Port {
    /// Whether this PE is lost: nothing answers there.
    pub(super) fn is_dead(&self) -> bool {
        // Acquire: with `lose`.
        self.departures.dead.load(Ordering::Acquire)
    }

    /// What an operation with `pe` gets, if this PE knows that it is lost.
    pub(super) fn known_loss(&self, pe: usize) -> Option<Error> {
        // Acquire: with `lose`. A thread that does not see it does what it did before the loss.
        if !self.departures.any.load(Ordering::Acquire) {
            return None;
        }
        lock(&self.departures.known).error(pe)
    }

    /// What an operation with `target` gets, if this PE knows that it is lost: it may have a
    /// replacement.
    pub(super) fn knows_lost(&self, target: &Self) -> Option<Error> {
        // Acquire: as above.
        if !self.departures.any.load(Ordering::Acquire) {
            return None;
        }
        lock(&self.departures.known).error_of(target.pe(), target.coming())
    }

    /// This PE lets in the replacement that has this port.
    pub(super) fn let_in(&self, replacement: &Self) {
        let (pe, mut known) = (replacement.pe(), lock(&self.departures.known));
        if let Some(loss) = known.lost.remove(&pe) {
            known.let_in.insert(pe, (replacement.coming(), loss));
        }
    }

    /// `done`, unless this PE knows that `target` is lost, which `done` gets then.
    pub(super) fn unless_known<T: 'static>(
        &self,
        target: &Self,
        done: Completion<T>,
    ) -> Option<Completion<T>> {
        match self.knows_lost(target) {
            None => Some(done),
            Some(error) => {
                complete(done, Err(error));
                None
            }
        }
    }

    /// `done`, if something of this PE may have its effect on `target`. If that is lost, `done`
    /// gets the error when this PE knows of it, and if this one is, at once.
    pub(super) fn unless_lost<T: 'static>(
        &self,
        target: &Self,
        done: Completion<T>,
    ) -> Option<Completion<T>> {
        if let Some(error) = target.knows_lost(self) {
            complete(done, Err(error));
            return None;
        }
        if !target.is_dead() {
            return self.unless_known(target, done);
        }
        let mut known = lock(&self.departures.known);
        let error = known.error_of(target.pe(), target.coming());
        match error.or_else(|| known.error_of(self.pe(), self.coming())) {
            Some(error) => {
                drop(known);
                complete(done, Err(error));
            }
            None => {
                let end = Box::new(move |error| complete(done, Err(error)));
                known.waiting.push((target.pe(), end));
            }
        }
        None
    }

    /// Whether something that `origin` has sent, and does not wait for, has its effect here.
    pub(super) fn takes_of(&self, origin: &Self) -> bool {
        !self.is_dead() && self.knows_lost(origin).is_none()
    }

    /// This PE knows from now on that `pe` is lost, which may be itself. `ports` are those of all
    /// PEs.
    pub(super) fn lose(&self, pe: usize, view: u64, how: &str, ports: impl Iterator<Item = Arc<Self>>) {
        let is_this = pe == self.pe();
        let ended = {
            let mut known = lock(&self.departures.known);
            known.lost.insert(pe, (view, how.into()));
            // Release: a thread that sees them finds what was just written down.
            self.departures.any.store(true, Ordering::Release);
            self.departures.dead.fetch_or(is_this, Ordering::AcqRel);
            let waiting = std::mem::take(&mut known.waiting);
            let (ended, waiting) = waiting.into_iter().partition(|(target, _)| is_this || *target == pe);
            known.waiting = waiting;
            let ended: Vec<_> = ended;
            ended
        };
        let error = || Error::PeLost { pe, view, how: how.to_owned() };
        ended.into_iter().for_each(|(_, end)| end(error()));
        // Messages in the mailbox of a lost PE are there until their senders know, or are lost
        // themselves.
        let (receives, mut messages) = self.mailbox().take_all_of((!is_this).then_some(pe));
        for port in ports.filter(|port| port.is_dead()) {
            if port.pe() == pe || is_this {
                messages.extend(port.mailbox().take_all_of(Some(self.pe())).1);
            }
            if is_this {
                messages.extend(self.mailbox().take_all_of(Some(port.pe())).1);
            }
        }
        for Receive { done, .. } in receives {
            complete(done, Err(error()));
        }
        messages.into_iter().for_each(|message: Message| message.tell_sender(Err(error())));
        if let Some(listener) = self.listener().filter(|_| !is_this) {
            listener.lost(Some(pe), &error);
        }
    }

    /// Ends what waits for the loss of PEs to be known. To be called when this PE has closed.
    pub(super) fn wait_no_more(&self) {
        let waiting = std::mem::take(&mut lock(&self.departures.known).waiting);
        waiting.into_iter().for_each(|(_, end)| end(Error::Finalized { call: "net" }));
    }
}
