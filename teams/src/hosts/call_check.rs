//! The [call check] between leaders: what needs messages.
//!
//! [call check]: crate::message::call_check

use std::{
    pin::Pin,
    sync::atomic::Ordering,
    task::{Context, Poll, ready},
};

use oxshmem_base::Result;

use super::wire::{CALL_CHECK, Wire};
use crate::{
    group::Group,
    message::{
        Wide,
        buffer::{Buffer, MOST},
        call_check::{CALL, CallCheck, HEAD},
    },
    signature::Signature,
};

impl CallCheck {
    /// The collective has come as far as it comes for now: the next leader gets the call check,
    /// unless only PEs of this host were waited for.
    pub(super) fn send(&self, group: &Group, wide: &Wide, ended: bool) -> Result<()> {
        let Some((next, call_check)) = self.due(ended) else { return Ok(()) };
        // It is not waited for: it owns what it sends.
        Wire::call_checks(group, wide).send_alone(next, CALL_CHECK, call_check).map(drop)
    }

    /// The message with that tag, if the call check of the leader before brings it.
    pub(super) fn poll_cargo(
        &self,
        wire: &Wire<'_>,
        tag: u64,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Buffer>>> {
        while self.state().received_less() {
            let came = self.receive(wire.group, wire.wide, cx);
            self.awaited.store(came.is_pending(), Ordering::Relaxed);
            ready!(came)?;
        }
        let cargo = self.state().cargo.take_if(|&mut (its, _)| its == tag);
        Poll::Ready(Ok(cargo.map(|(_, bytes)| bytes)))
    }

    /// What this leader and the one before were called for, the next that is to be compared.
    /// Nothing if nothing is.
    pub(super) fn poll_pair(
        &self,
        group: &Group,
        wide: &Wide,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<[Signature; 2]>>> {
        loop {
            if let Poll::Ready(pair) = self.next_pair() {
                return Poll::Ready(Ok(pair));
            }
            // A task that waits for a message that may come with the next call check has looked for
            // that just now.
            if self.awaited.load(Ordering::Relaxed) {
                return Poll::Pending;
            }
            ready!(self.receive(group, wide, cx))?;
        }
    }

    /// The next call check is on its way.
    pub(super) fn expect(&self, group: &Group, wide: &Wide) -> Result<()> {
        let before = {
            let state = self.state();
            if state.coming.is_some() || !state.received_less() {
                return Ok(());
            }
            state.before
        };
        let coming =
            Wire::call_checks(group, wide).receive_alone(before, CALL_CHECK, HEAD + CALL..MOST + 1)?;
        self.state().coming = Some(coming);
        Ok(())
    }

    /// Waits for the next call check. There are calls that the leader before has not sent.
    fn receive(&self, group: &Group, wide: &Wide, cx: &mut Context<'_>) -> Poll<Result<()>> {
        self.expect(group, wide)?;
        // Out of the lock, as it wakes the task that it is polled for.
        let Some(mut coming) = self.state().coming.take() else { return Poll::Pending };
        let came = Pin::new(&mut coming).poll(cx);
        let mut state = self.state();
        match came {
            Poll::Ready(came) => {
                state.take(came?);
                Poll::Ready(Ok(()))
            }
            Poll::Pending => {
                state.coming = Some(coming);
                Poll::Pending
            }
        }
    }
}
