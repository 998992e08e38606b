//! What leaders tell each other they were called for, around the ring of hosts.
//!
//! Over many networks a message of a few bytes costs as much as one of some thousand. So a leader tells the next one with the first
//! message that it has for it, if that is short and goes before the leader waits for another host; otherwise by itself, then. Nothing
//! else can keep it back but PEs of the same host. Who expects a short message from the leader before waits for what that tells first,
//! which does not come later in any case, and finds the message with it or has it come by itself.
//!
//! A leader compares with what the one before tells, in the order of their calls, before it ends a collective. A broadcast it may end
//! [earlier](Hello::run_ahead), as its root has nothing to wait for, and compare when it is called for something else, or some broadcasts
//! later. Of two hosts, where the root is on the first, the second has [compared](Hello::follow) when it has what the root has sent. So it
//! tells the other of several broadcasts at once.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::atomic::{AtomicBool, Ordering},
    task::{Context, Poll, ready},
};

use oxshmem_base::{
    Result,
    sync::{Mutex, MutexGuard, lock},
};

use super::{
    Wide,
    wire::{Buffer, HELLO, Message, Wire},
};
use crate::{group::Group, signature::Signature};

/// Bytes of a message up to which it goes with a hello.
pub(super) const CARGO: usize = 16 << 10;
/// A hello begins with the message's tag and the number of calls, then has two words of the signature of each.
const HEAD: usize = 2 * WORD;
const CALL: usize = 2 * WORD;
const WORD: usize = size_of::<u64>();
/// The longest, in whole cache lines.
pub(super) const MOST: usize = (HEAD + BATCH * CALL + CARGO).next_multiple_of(64);
/// No message has that tag.
const NO_CARGO: u64 = u64::MAX;

/// Calls of which one hello tells at most.
const BATCH: usize = 8;
/// Calls that may have ended and not been compared.
const AHEAD: usize = 2 * BATCH;

/// What a leader has told and heard. On other PEs there is nothing.
#[derive(Debug, Default)]
pub(super) struct Hello {
    state: Mutex<State>,
    /// Whether the next hello is waited for, since somebody was last [asked](Self::asks).
    awaited: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    /// Calls of which the next leader was not told.
    unsent: Vec<Signature>,
    /// Who the next leader is, and who the one before.
    next: usize,
    before: usize,
    /// How many calls this leader has had, and of how many the one before has told.
    called: u64,
    told: u64,
    /// Those that are to be compared, of this leader and of the one before.
    mine: VecDeque<Signature>,
    theirs: VecDeque<Signature>,
    coming: Option<Message<Buffer>>,
    /// What came with the last: a tag, and the bytes.
    cargo: Option<(u64, Buffer)>,
    /// Whether this PE has sent or expected a message in this collective.
    speaks: bool,
    runs_ahead: bool,
    follows: bool,
}

impl Hello {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// There will be no collective that says hello.
    pub(super) fn clear(&self) {
        *self.state() = State::default();
    }

    /// Begins a collective on a leader.
    pub(super) fn begin(&self, wide: &Wide, signature: Signature) {
        let k = wide.n_hosts();
        let mut state = self.state();
        [state.next, state.before] = [1, k - 1].map(|distance| wide.leader((wide.party + distance) % k));
        state.call(signature);
        (state.speaks, state.runs_ahead, state.follows) = (false, false, false);
    }

    /// This collective may end before it was compared.
    pub(super) fn run_ahead(&self) {
        self.state().runs_ahead = true;
    }

    /// Of this collective the first of two leaders need not be told soon: if it waits for another, it tells this one of that.
    pub(super) fn follow(&self) {
        self.state().follows = true;
    }

    /// This PE is about to send to `pe` of the team: `len` bytes, which are few. They go with the hello, if that is for the same PE
    /// and has not gone: then this is it, and who it is for.
    pub(super) fn take_along(
        &self,
        pe: usize,
        tag: u64,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Option<(usize, Buffer)> {
        let mut state = self.state();
        state.speaks = true;
        let goes = !state.unsent.is_empty() && state.next == pe;
        goes.then(|| (state.next, state.hello(tag, len, fill)))
    }

    /// This PE is about to send a message or to wait for one that has nothing to do with a hello.
    pub(super) fn speaks(&self) {
        self.state().speaks = true;
    }

    /// This PE is about to wait for a message from `pe`. Whether that, if it is short, may come, or has come, with the hello.
    pub(super) fn may_bring(&self, pe: usize) -> bool {
        let mut state = self.state();
        state.speaks = true;
        state.called > 0 && state.before == pe && (state.told < state.called || state.cargo.is_some())
    }

    /// The collective has come as far as it comes for now: the next leader is told, unless only PEs of this host were waited for.
    pub(super) fn tell(&self, group: &Group, wide: &Wide, ended: bool) -> Result<()> {
        let (next, hello) = {
            let mut state = self.state();
            let later = state.follows && state.unsent.len() < BATCH;
            if state.unsent.is_empty() || later || !(ended || state.speaks) {
                return Ok(());
            }
            (state.next, state.hello(NO_CARGO, 0, |_| {}))
        };
        // Nobody waits for it: it owns what it sends.
        Wire::hellos(group, wide).send_alone(next, HELLO, hello).map(drop)
    }

    /// The collective is about to be asked how far it has come.
    pub(super) fn asks(&self) {
        // Relaxed: who asks also looks.
        self.awaited.store(false, Ordering::Relaxed);
    }

    /// The message with that tag, if the hello of the leader before brings it.
    pub(super) fn poll_cargo(
        &self,
        wire: &Wire<'_>,
        tag: u64,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Buffer>>> {
        while self.state().told_less() {
            let heard = self.hear(wire.group, wire.wide, cx);
            self.awaited.store(heard.is_pending(), Ordering::Relaxed);
            ready!(heard)?;
        }
        let cargo = self.state().cargo.take_if(|&mut (its, _)| its == tag);
        Poll::Ready(Ok(cargo.map(|(_, bytes)| bytes)))
    }

    /// What this leader and the one before were called for, the next that is to be compared. Nothing if nothing is.
    pub(super) fn poll_heard(
        &self,
        group: &Group,
        wide: &Wide,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<[Signature; 2]>>> {
        loop {
            if let Poll::Ready(pair) = self.next_pair() {
                return Poll::Ready(Ok(pair));
            }
            // Whoever waits for a message that may come with the next hello has looked for that just now.
            if self.awaited.load(Ordering::Relaxed) {
                return Poll::Pending;
            }
            ready!(self.hear(group, wide, cx))?;
        }
    }

    /// The same of what is there already.
    fn next_pair(&self) -> Poll<Option<[Signature; 2]>> {
        let mut state = self.state();
        let pair = state.next_pair();
        if pair.is_some() || state.mine.is_empty() { Poll::Ready(pair) } else { Poll::Pending }
    }

    /// Whether this collective may end with what was compared so far.
    pub(super) fn may_end(&self) -> bool {
        let state = self.state();
        state.mine.is_empty() || state.runs_ahead && state.mine.len() < AHEAD
    }

    /// The next hello is on its way.
    pub(super) fn expect(&self, group: &Group, wide: &Wide) -> Result<()> {
        let before = {
            let state = self.state();
            if state.coming.is_some() || !state.told_less() {
                return Ok(());
            }
            state.before
        };
        let coming = Wire::hellos(group, wide).receive_alone(before, HELLO, HEAD + CALL..MOST + 1)?;
        self.state().coming = Some(coming);
        Ok(())
    }

    /// Waits for the next hello. There are calls of which the leader before has not told.
    fn hear(&self, group: &Group, wide: &Wide, cx: &mut Context<'_>) -> Poll<Result<()>> {
        self.expect(group, wide)?;
        // Out of the lock, as it wakes whom it is polled for.
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

impl State {
    /// This leader was called for something.
    fn call(&mut self, signature: Signature) {
        self.unsent.push(signature);
        self.mine.push_back(signature);
        self.called += 1;
    }

    /// Whether the leader before has told of fewer calls than this one has had.
    fn told_less(&self) -> bool {
        self.told < self.called
    }

    /// The first call of this leader and of the one before that are to be compared. One that has called less may have been told of more.
    fn next_pair(&mut self) -> Option<[Signature; 2]> {
        let (mine, theirs) = (self.mine.front().copied()?, self.theirs.front().copied()?);
        self.mine.pop_front();
        self.theirs.pop_front();
        Some([mine, theirs])
    }

    /// What tells the next leader of all calls that it was not told of, and brings it what `fill` makes of `len` bytes.
    fn hello(&mut self, tag: u64, len: usize, fill: impl FnOnce(&mut [u8])) -> Buffer {
        let calls = self.unsent.len();
        let mut bytes = Buffer::any(HEAD + calls * CALL + len);
        let (head, cargo) = bytes.split_at_mut(HEAD + calls * CALL);
        head[..HEAD].copy_from_slice(bytemuck::bytes_of(&[tag, calls as u64]));
        for (to, call) in head[HEAD..].chunks_exact_mut(CALL).zip(self.unsent.drain(..)) {
            to.copy_from_slice(bytemuck::bytes_of(&call.words()));
        }
        fill(cargo);
        bytes
    }

    /// A hello has come.
    fn take(&mut self, came: Buffer) {
        let word = |at: usize| bytemuck::pod_read_unaligned::<u64>(&came[at * WORD..(at + 1) * WORD]);
        let (tag, calls) = (word(0), (word(1) as usize).min((came.len() - HEAD) / CALL));
        for call in 0..calls {
            let at = (HEAD + call * CALL) / WORD;
            self.theirs.push_back(Signature::from_words([word(at), word(at + 1)]));
        }
        self.told += calls as u64;
        self.cargo = (tag != NO_CARGO).then(|| (tag, came.behind(HEAD + calls * CALL)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_compared_in_their_order_whoever_has_told_of_more() {
        let calls = ["a", "b", "c", "d"].map(Signature::named);
        let (mut before, mut after) = (State::default(), State::default());
        calls.iter().for_each(|&call| before.call(call));
        let hello = before.hello(7, 100, |cargo| cargo.fill(1));
        assert!(before.unsent.is_empty() && hello.len() == HEAD + 4 * CALL + 100);
        after.call(calls[0]);
        assert!(after.told_less() && after.next_pair().is_none());
        after.take(hello);
        assert_eq!(after.cargo.as_ref().map(|(tag, bytes)| (*tag, bytes.to_vec())), Some((7, vec![1; 100])));
        let same = |pair: Option<[Signature; 2]>, at: usize| {
            let [mine, theirs] = pair.expect("there is something to be compared");
            assert!(mine.agrees(calls[at]) && theirs.agrees(calls[at]), "call {at}");
        };
        same(after.next_pair(), 0);
        // What is told of and was not called stays.
        assert!(after.next_pair().is_none() && after.next_pair().is_none());
        for (at, &call) in calls.iter().enumerate().skip(1) {
            after.call(call);
            assert!(!after.told_less());
            same(after.next_pair(), at);
        }
        after.call(calls[0]);
        assert!(after.next_pair().is_none() && after.told_less());
    }

    #[test]
    fn what_has_come_is_compared_while_a_message_is_waited_for() {
        let [mine, theirs] = ["a", "b"].map(Signature::named);
        let (hello, mut before) = (Hello::default(), State::default());
        assert_eq!(hello.next_pair().map(|pair| pair.is_some()), Poll::Ready(false));
        before.call(theirs);
        // A broadcast that ended before it was compared, and a call that waits for what its hello may bring.
        hello.state().call(mine);
        hello.state().call(mine);
        hello.state().take(before.hello(NO_CARGO, 0, |_| {}));
        assert_eq!(hello.next_pair().map(|pair| pair.is_some()), Poll::Ready(true));
        assert!(hello.next_pair().is_pending());
    }
}
