//! Call checks: leaders send each other the signatures of their calls, around the ring of hosts.
//!
//! Over many networks a message of a few bytes costs as much as one of some thousand. So a leader
//! sends its call with the first message that it has for the next one, if that is short and goes
//! before the leader waits for another host; otherwise by itself, then. Nothing else can keep it
//! back but PEs of the same host. A leader that expects a short message from the one before waits
//! for its call check first, which does not come later in any case, and finds the message with it
//! or receives it by itself.
//!
//! A leader compares its calls with those of the one before, in their order, before it ends a
//! collective. A broadcast it may end [earlier](CallCheck::run_ahead), as its root has nothing to
//! wait for, and compare when it is called for something else, or some broadcasts later. Of two
//! hosts, where the root is on the first, the second has [compared](CallCheck::follow) when it has
//! what the root has sent. So one call check of it is for several broadcasts.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::Poll,
};

use oxshmem_base::sync::{Mutex, MutexGuard, lock};

use super::{
    Message,
    buffer::{Buffer, MOST, Pool},
};
use crate::signature::Signature;

/// Bytes of a message up to which it goes with a call check.
pub(crate) const CARGO: usize = 16 << 10;
/// A call check begins with the message's tag and the number of calls, then has two words of the
/// signature of each.
pub(crate) const HEAD: usize = 2 * WORD;
pub(crate) const CALL: usize = 2 * WORD;
const WORD: usize = size_of::<u64>();
const _: () = assert!(HEAD + BATCH * CALL + CARGO <= MOST);
/// No message has that tag.
const NO_CARGO: u64 = u64::MAX;

/// The most calls in one call check.
const BATCH: usize = 8;
/// Calls that may have ended and not been compared.
const AHEAD: usize = 2 * BATCH;

/// What a leader has sent and received. On other PEs there is nothing.
#[derive(Debug)]
pub(crate) struct CallCheck {
    state: Mutex<Calls>,
    pool: Arc<Pool>,
    /// Whether the next call check is waited for, since it was last [asked](Self::asks).
    pub(crate) awaited: AtomicBool,
}

#[derive(Debug, Default)]
pub(crate) struct Calls {
    /// Calls that were not sent to the next leader.
    pub(crate) unsent: Vec<Signature>,
    /// The next leader, and the one before.
    pub(crate) next: usize,
    pub(crate) before: usize,
    /// How many calls this leader has had, and how many of the one before it has received.
    pub(crate) called: u64,
    pub(crate) received: u64,
    /// Those that are to be compared, of this leader and of the one before.
    pub(crate) mine: VecDeque<Signature>,
    pub(crate) theirs: VecDeque<Signature>,
    pub(crate) coming: Option<Message<Buffer>>,
    /// What came with the last: a tag, and the bytes.
    pub(crate) cargo: Option<(u64, Buffer)>,
    /// Whether this PE has sent or expected a message in this collective.
    pub(crate) speaks: bool,
    pub(crate) runs_ahead: bool,
    pub(crate) follows: bool,
}

impl CallCheck {
    /// One whose messages are in buffers of that pool.
    pub(crate) fn new(pool: &Arc<Pool>) -> Self {
        Self { state: Mutex::default(), pool: Arc::clone(pool), awaited: AtomicBool::new(false) }
    }

    /// The call check for the next leader, if it is not to be sent later, and that leader.
    pub(crate) fn due(&self, ended: bool) -> Option<(usize, Buffer)> {
        let mut state = self.state();
        let later = state.follows && state.unsent.len() < BATCH;
        let is_due = !state.unsent.is_empty() && !later && (ended || state.speaks);
        is_due.then(|| (state.next, state.call_check(&self.pool, NO_CARGO, 0, |_| {})))
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, Calls> {
        lock(&self.state)
    }

    /// There will be no collective with a call check.
    pub(crate) fn clear(&self) {
        *self.state() = Calls::default();
    }

    /// Begins a collective on a leader, between those two.
    pub(crate) fn begin(&self, [before, next]: [usize; 2], signature: Signature) {
        let mut state = self.state();
        (state.before, state.next) = (before, next);
        state.call(signature);
        (state.speaks, state.runs_ahead, state.follows) = (false, false, false);
    }

    /// This collective may end before it was compared.
    pub(crate) fn run_ahead(&self) {
        self.state().runs_ahead = true;
    }

    /// The first of two leaders need not get the call check of this collective soon: if it waits
    /// for another, this one gets the call check of that.
    pub(crate) fn follow(&self) {
        self.state().follows = true;
    }

    /// This PE is about to send to `pe` of the team: `len` bytes, which are few. They go with the
    /// call check, if that is for the same PE and has not gone: then this is it, and who it is for.
    pub(crate) fn take_along(
        &self,
        pe: usize,
        tag: u64,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Option<(usize, Buffer)> {
        let mut state = self.state();
        state.speaks = true;
        let goes = !state.unsent.is_empty() && state.next == pe;
        goes.then(|| (state.next, state.call_check(&self.pool, tag, len, fill)))
    }

    /// This PE is about to send a message or to wait for one that has nothing to do with a
    /// call check.
    pub(crate) fn speaks(&self) {
        self.state().speaks = true;
    }

    /// This PE is about to wait for a message from `pe`. Whether that, if it is short, may come, or
    /// has come, with the call check.
    pub(crate) fn may_bring(&self, pe: usize) -> bool {
        let mut state = self.state();
        state.speaks = true;
        state.called > 0 && state.before == pe && (state.received < state.called || state.cargo.is_some())
    }

    /// The collective is about to be asked how far it has come.
    pub(crate) fn asks(&self) {
        // Relaxed: the task that asks also looks.
        self.awaited.store(false, Ordering::Relaxed);
    }

    /// The next pair of calls to compare, if both are there already.
    pub(crate) fn next_pair(&self) -> Poll<Option<[Signature; 2]>> {
        let mut state = self.state();
        let pair = state.next_pair();
        if pair.is_some() || state.mine.is_empty() { Poll::Ready(pair) } else { Poll::Pending }
    }

    /// Whether this collective may end with what was compared so far.
    pub(crate) fn may_end(&self) -> bool {
        let state = self.state();
        state.mine.is_empty() || state.runs_ahead && state.mine.len() < AHEAD
    }
}

impl Calls {
    /// This leader was called for something.
    fn call(&mut self, signature: Signature) {
        self.unsent.push(signature);
        self.mine.push_back(signature);
        self.called += 1;
    }

    /// Whether fewer calls of the leader before were received than this one has had.
    pub(crate) fn received_less(&self) -> bool {
        self.received < self.called
    }

    /// The first call of this leader and of the one before that are to be compared. One that has
    /// called less may have received more.
    fn next_pair(&mut self) -> Option<[Signature; 2]> {
        let (mine, theirs) = (self.mine.front().copied()?, self.theirs.front().copied()?);
        self.mine.pop_front();
        self.theirs.pop_front();
        Some([mine, theirs])
    }

    /// The call check with all calls that were not sent, which brings what `fill` makes of `len`
    /// bytes.
    pub(crate) fn call_check(
        &mut self,
        pool: &Arc<Pool>,
        tag: u64,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Buffer {
        let calls = self.unsent.len();
        let mut bytes = pool.buffer(HEAD + calls * CALL + len);
        let (head, cargo) = bytes.split_at_mut(HEAD + calls * CALL);
        head[..HEAD].copy_from_slice(bytemuck::bytes_of(&[tag, calls as u64]));
        for (to, call) in head[HEAD..].chunks_exact_mut(CALL).zip(self.unsent.drain(..)) {
            to.copy_from_slice(bytemuck::bytes_of(&call.words()));
        }
        fill(cargo);
        bytes
    }

    /// A call check has come.
    pub(crate) fn take(&mut self, came: Buffer) {
        let word = |at: usize| bytemuck::pod_read_unaligned::<u64>(&came[at * WORD..(at + 1) * WORD]);
        let (tag, calls) = (word(0), (word(1) as usize).min((came.len() - HEAD) / CALL));
        for call in 0..calls {
            let at = (HEAD + call * CALL) / WORD;
            self.theirs.push_back(Signature::from_words([word(at), word(at + 1)]));
        }
        self.received += calls as u64;
        self.cargo = (tag != NO_CARGO).then(|| (tag, came.behind(HEAD + calls * CALL)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_compared_in_their_order_whichever_leader_is_ahead() {
        let calls = ["a", "b", "c", "d"].map(Signature::named);
        let pool = Arc::new(Pool::default());
        let (mut before, mut after) = (Calls::default(), Calls::default());
        calls.iter().for_each(|&call| before.call(call));
        let call_check = before.call_check(&pool, 7, 100, |cargo| cargo.fill(1));
        assert!(before.unsent.is_empty() && call_check.len() == HEAD + 4 * CALL + 100);
        after.call(calls[0]);
        assert!(after.received_less() && after.next_pair().is_none());
        after.take(call_check);
        assert_eq!(after.cargo.as_ref().map(|(tag, bytes)| (*tag, bytes.to_vec())), Some((7, vec![1; 100])));
        let same = |pair: Option<[Signature; 2]>, at: usize| {
            let [mine, theirs] = pair.expect("there is something to be compared");
            assert!(mine.agrees(calls[at]) && theirs.agrees(calls[at]), "call {at}");
        };
        same(after.next_pair(), 0);
        // What was received and not called stays.
        assert!(after.next_pair().is_none() && after.next_pair().is_none());
        for (at, &call) in calls.iter().enumerate().skip(1) {
            after.call(call);
            assert!(!after.received_less());
            same(after.next_pair(), at);
        }
        after.call(calls[0]);
        assert!(after.next_pair().is_none() && after.received_less());
    }

    #[test]
    fn what_has_come_is_compared_while_a_message_is_waited_for() {
        let [mine, theirs] = ["a", "b"].map(Signature::named);
        let pool = Arc::new(Pool::default());
        let (call_check, mut before) = (CallCheck::new(&pool), Calls::default());
        assert_eq!(call_check.next_pair().map(|pair| pair.is_some()), Poll::Ready(false));
        before.call(theirs);
        // A broadcast that ended before it was compared, and a call that waits for what its
        // call check may bring.
        call_check.state().call(mine);
        call_check.state().call(mine);
        call_check.state().take(before.call_check(&pool, NO_CARGO, 0, |_| {}));
        assert_eq!(call_check.next_pair().map(|pair| pair.is_some()), Poll::Ready(true));
        assert!(call_check.next_pair().is_pending());
    }
}
