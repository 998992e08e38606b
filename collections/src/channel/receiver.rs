//! The end of a channel that receives.

use std::{
    fmt,
    marker::PhantomData,
    pin::Pin,
    task::{Context, Poll},
};

use futures::{FutureExt, Stream, future::BoxFuture};
use oxshmem_base::{Error, Result};
use oxshmem_ops::{
    Cmp, Wait,
    wait::{WaitOrLoss, WaitSet},
};

use super::{Codec, GONE, Memory, Plain};

/// The end of a [`Channel`](super::Channel) or a [`Broadcast`](super::Broadcast) that receives: a
/// [`Stream`], which ends when no PE can send any more. A call of
/// [`next`](futures::StreamExt::next) that is dropped loses nothing.
///
/// In a job that goes on when a PE is lost, what has come from that PE is received, and nothing
/// more is waited for; a message of which a part is missing is not received.
pub struct Receiver<T, C: Codec<T> = Plain> {
    memory: Memory,
    lanes: Vec<Lane>,
    /// The lane whose turn it is.
    turn: usize,
    /// Ready when there may be more.
    wait: Option<BoxFuture<'static, Result<()>>>,
    of: PhantomData<fn() -> (T, C)>,
}

/// What comes from one PE.
#[derive(Debug)]
pub(super) struct Lane {
    number: usize,
    from: usize,
    /// Which of the sender's heads is this one's.
    head: usize,
    /// Words that were copied out of the ring, from there on.
    inbox: Vec<u64>,
    read: usize,
    /// How many were copied, and how many of them the sender knows of.
    taken: u64,
    reported: u64,
    over: bool,
}

impl Lane {
    pub(super) fn new(number: usize, from: usize, head: usize) -> Self {
        Self { number, from, head, inbox: Vec::new(), read: 0, taken: 0, reported: 0, over: false }
    }

    /// The next message of the words that are here.
    fn message<T, C: Codec<T>>(&mut self) -> Option<Result<T>> {
        let (takes, message) = C::decode(&self.inbox[self.read..])?;
        self.read += takes;
        Some(message)
    }

    /// Copies out of the ring what has come. Whether there was anything.
    fn pull(&mut self, memory: &Memory) -> bool {
        let Memory { ctx, room, rings, marks, heads, .. } = memory;
        let tail = ctx.signal_fetch(marks.at(self.number));
        let came = (tail - self.taken) as usize;
        if came == 0 {
            return false;
        }
        self.inbox.drain(..self.read);
        self.read = 0;
        let ring = rings.slice(self.number * room..).slice(..*room);
        let at = (self.taken % *room as u64) as usize;
        let first = came.min(room - at);
        let before = self.inbox.len();
        self.inbox.resize(before + came, 0);
        let (head, rest) = self.inbox[before..].split_at_mut(first);
        ring.slice(at..at + first).read(head);
        ring.slice(..came - first).read(rest);
        self.taken = tail;
        // In quarters of the ring: a sender that waits has filled it.
        let unreported = self.taken - self.reported;
        if unreported >= (*room as u64 / 4).max(1) {
            self.reported = self.taken;
            // If the sender is lost, so is what this is for.
            drop(ctx.signal_add(heads.at(self.head), unreported, self.from));
        }
        true
    }
}

impl<T, C: Codec<T>> Receiver<T, C> {
    pub(super) fn new(memory: &Memory, lanes: Vec<Lane>) -> Self {
        Self { memory: memory.clone(), lanes, turn: 0, wait: None, of: PhantomData }
    }

    /// A message that is there already. PEs take turns.
    ///
    /// # Errors
    /// The errors of the codec, as the message: later ones are not affected.
    pub fn try_recv(&mut self) -> Option<Result<T>> {
        for _ in 0..self.lanes.len() {
            let here = self.lanes[self.turn].message::<T, C>();
            if here.is_some() {
                return here;
            }
            self.turn = (self.turn + 1) % self.lanes.len();
            self.lanes[self.turn].pull(&self.memory);
        }
        self.lanes[self.turn].message::<T, C>()
    }

    /// Marks lanes as over of which nothing more comes. Whether all are.
    fn is_over(&mut self) -> bool {
        let Memory { ctx, marks, team, .. } = &self.memory;
        for lane in self.lanes.iter_mut().filter(|lane| !lane.over) {
            let end = marks.at(self.memory.lanes() + lane.number);
            let ended = ctx.signal_fetch(end) == lane.taken + 1;
            let world_pe = team.world_pe(lane.from).unwrap_or(lane.from);
            // No lane has that many words.
            let lost = end.wait_until(Cmp::Eq, u64::MAX).or_loss_of(world_pe).now_or_never();
            lane.over = ended || lost.is_some() && !lane.pull(&self.memory);
        }
        self.lanes.iter().all(|lane| lane.over)
    }

    /// Waits until there is another tail or end, or a loss.
    fn more(&self) -> BoxFuture<'static, Result<()>> {
        let marks = self.memory.marks.clone();
        let mut seen = marks.view().to_vec();
        self.lanes.iter().for_each(|lane| seen[lane.number] = lane.taken);
        async move {
            let wait = marks.wait_until_any_vector(Cmp::Ne, &seen).or_any_loss();
            match wait.await {
                Err(Error::PeLost { view: 1.., .. }) => Ok(()),
                outcome => outcome.map(drop),
            }
        }
        .boxed()
    }
}

impl<T, C: Codec<T>> Stream for Receiver<T, C> {
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<T>>> {
        loop {
            if let Some(message) = self.try_recv() {
                return Poll::Ready(Some(message));
            }
            let mut wait = self.wait.take().unwrap_or_else(|| self.more());
            match wait.poll_unpin(cx) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(error)) => return Poll::Ready(Some(Err(error))),
                // It sees what is new from now on.
                Poll::Pending if !self.is_over() => {
                    self.wait = Some(wait);
                    return Poll::Pending;
                }
                // What came before an end that is seen only now.
                Poll::Pending => return Poll::Ready(self.try_recv()),
            }
        }
    }
}

impl<T, C: Codec<T>> Drop for Receiver<T, C> {
    fn drop(&mut self) {
        let Memory { ctx, heads, .. } = &self.memory;
        for lane in &self.lanes {
            // A sender that is gone, or lost, needs not know.
            drop(ctx.signal_add(heads.at(lane.head), GONE, lane.from));
        }
    }
}

impl<T, C: Codec<T>> fmt::Debug for Receiver<T, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let from: Vec<usize> = self.lanes.iter().map(|lane| lane.from).collect();
        f.debug_struct("Receiver").field("from", &from).finish()
    }
}
