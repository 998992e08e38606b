//! What leaders tell each other they were called for, around the ring of hosts.
//!
//! Over many networks a message of a few bytes costs as much as one of some thousand. So a leader tells the next one with the first
//! message that it has for it, if that is short and goes before the leader waits for another host; otherwise by itself, then. Nothing
//! else can keep it back but PEs of the same host. Who expects a short message from the leader before waits for what that tells first,
//! which does not come later in any case, and finds the message with it or has it come by itself.

use std::{
    pin::Pin,
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
};

use oxshmem_runtime::Result;

use super::{
    Wide,
    wire::{Buffer, HELLO, Message, Wire},
};
use crate::{group::Group, signature::Signature};

/// Bytes of a message up to which it goes with a hello.
pub(super) const CARGO: usize = 4 << 10;
/// The bytes of a hello without one: two words of the signature, and the message's tag.
const HEAD: usize = 3 * WORD;
const WORD: usize = size_of::<u64>();
/// No message has that tag.
const NO_CARGO: u64 = u64::MAX;

/// The hellos of one collective on a leader. On other PEs, and where there is no collective under way, there are none.
#[derive(Debug, Default)]
pub(super) struct Hello(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    unsent: Option<Unsent>,
    /// Whether this PE has sent or expected a message.
    speaks: bool,
    /// Who the leader before is.
    before: Option<usize>,
    coming: Option<Message<Buffer>>,
    /// What the leader before was called for, until that is compared.
    heard: Option<Signature>,
    /// What came with that: a tag, and the bytes.
    cargo: Option<(u64, Buffer)>,
}

/// What is still to be told.
#[derive(Clone, Copy, Debug)]
struct Unsent {
    signature: Signature,
    /// The number of the collective.
    number: u64,
    /// Who the next leader is.
    next: usize,
}

impl Unsent {
    fn send(self, group: &Group, wide: &Wide, tag: u64, cargo: &[u8]) -> Result<Message<()>> {
        let [what, len] = self.signature.words();
        let mut bytes = Buffer::new(HEAD + cargo.len());
        bytes[..HEAD].copy_from_slice(bytemuck::bytes_of(&[what, len, tag]));
        bytes[HEAD..].copy_from_slice(cargo);
        Wire::hellos(group, wide, self.number).send_alone(self.next, HELLO, bytes)
    }
}

impl Hello {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// No collective is under way that says hello.
    pub(super) fn clear(&self) {
        *self.state() = State::default();
    }

    /// Begins a collective on a leader.
    pub(super) fn begin(&self, group: &Group, wide: &Wide, number: u64, signature: Signature) -> Result<()> {
        let k = wide.n_hosts();
        let [next, before] = [1, k - 1].map(|distance| wide.leader((wide.party + distance) % k));
        let coming =
            Wire::hellos(group, wide, number).receive_alone(before, HELLO, HEAD..HEAD + CARGO + 1)?;
        let unsent = Some(Unsent { signature, number, next });
        *self.state() = State { unsent, before: Some(before), coming: Some(coming), ..State::default() };
        Ok(())
    }

    /// This PE is about to send to `pe` of the team: `bytes`, if they are few. They go with the hello, if that is for the same PE
    /// and has not gone.
    pub(super) fn take_along(
        &self,
        wire: &Wire<'_>,
        pe: usize,
        tag: u64,
        bytes: Option<&[u8]>,
    ) -> Option<Result<Message<()>>> {
        let unsent = {
            let mut state = self.state();
            state.speaks = true;
            state.unsent.take_if(|unsent| bytes.is_some() && unsent.next == pe)?
        };
        Some(unsent.send(wire.group, wire.wide, tag, bytes?))
    }

    /// This PE is about to wait for a message from `pe`. Whether that, if it is short, may come, or has come, with the hello.
    pub(super) fn may_bring(&self, pe: usize) -> bool {
        let mut state = self.state();
        state.speaks = true;
        state.before == Some(pe) && (state.coming.is_some() || state.cargo.is_some())
    }

    /// The collective has come as far as it comes for now: the next leader is told, unless only PEs of this host were waited for.
    pub(super) fn tell(&self, group: &Group, wide: &Wide, ended: bool) -> Result<()> {
        let unsent = {
            let mut state = self.state();
            let now = ended || state.speaks;
            state.unsent.take_if(|_| now)
        };
        // Nobody waits for it: it owns what it sends.
        unsent.map_or(Ok(()), |unsent| unsent.send(group, wide, NO_CARGO, &[]).map(drop))
    }

    /// The message with that tag, if the hello of the leader before brings it.
    pub(super) fn poll_cargo(&self, tag: u64, cx: &mut Context<'_>) -> Poll<Result<Option<Buffer>>> {
        let mut state = self.state();
        ready!(state.hear(cx))?;
        let cargo = state.cargo.take_if(|&mut (its, _)| its == tag);
        Poll::Ready(Ok(cargo.map(|(_, bytes)| bytes)))
    }

    /// What the leader before was called for, once. Nothing later, and if there is none.
    pub(super) fn poll_heard(&self, cx: &mut Context<'_>) -> Poll<Result<Option<Signature>>> {
        let mut state = self.state();
        ready!(state.hear(cx))?;
        Poll::Ready(Ok(state.heard.take()))
    }
}

impl State {
    fn hear(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let Some(coming) = &mut self.coming else { return Poll::Ready(Ok(())) };
        let came = ready!(Pin::new(coming).poll(cx));
        self.coming = None;
        let came = came?;
        let word = |at: usize| bytemuck::pod_read_unaligned::<u64>(&came[at * WORD..(at + 1) * WORD]);
        self.heard = Some(Signature::from_words([word(0), word(1)]));
        let tag = word(2);
        self.cargo = (tag != NO_CARGO).then(|| (tag, Buffer::of(&came[HEAD..])));
        Poll::Ready(Ok(()))
    }
}
