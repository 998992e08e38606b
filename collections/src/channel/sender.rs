//! The end of a channel that sends.

use std::{
    fmt,
    iter::repeat_n,
    marker::PhantomData,
    pin::Pin,
    sync::{
        Arc, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use futures::{FutureExt, Sink, future::BoxFuture, lock::Mutex};
use oxshmem_base::{Error, Result};
use oxshmem_ops::{Cmp, Signal, Wait, wait::WaitOrLoss};

use super::{Codec, GONE, Memory, Plain};

/// A sender gathers no more words than this before they leave.
const GATHERED: usize = 4096;

/// The end of a [`Channel`](super::Channel) or a [`Broadcast`](super::Broadcast) that sends.
///
/// As a [`Sink`], it gathers what [`feed`](futures::SinkExt::feed) gives it, and sends it with the
/// next flush. Clones send on, from any task. When all clones of this PE are dropped or closed,
/// the receiver learns that nothing more comes from here. What was fed and not flushed by then is
/// lost.
pub struct Sender<T, C: Codec<T> = Plain> {
    outlet: Arc<Outlet>,
    /// A flush under way. It is never locked, and has others share this.
    flush: std::sync::Mutex<Option<BoxFuture<'static, Result<()>>>>,
    closed: bool,
    of: PhantomData<fn(T) -> C>,
}

/// What the senders of this PE have in common.
pub(super) struct Outlet {
    memory: Memory,
    lane: usize,
    receivers: Vec<usize>,
    senders: AtomicUsize,
    gathered: std::sync::Mutex<Vec<u64>>,
    /// How many words have left. The sender that has it is sending.
    sent: Mutex<u64>,
}

impl Outlet {
    pub(super) fn new(memory: &Memory, lane: usize, receivers: Vec<usize>) -> Self {
        Self {
            memory: memory.clone(),
            lane,
            receivers,
            senders: AtomicUsize::new(0),
            gathered: std::sync::Mutex::default(),
            sent: Mutex::new(0),
        }
    }

    fn gathered(&self) -> std::sync::MutexGuard<'_, Vec<u64>> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends what is gathered. It may be dropped at any time: what has not left then is gathered
    /// still.
    async fn flush(self: Arc<Self>) -> Result<()> {
        let Memory { ctx, room, rings, marks, .. } = &self.memory;
        let mut sent = self.sent.lock().await;
        loop {
            if self.gathered().is_empty() {
                return Ok(());
            }
            let free = self.free(*sent).await?;
            // What has left before comes first.
            ctx.fence().await?;
            let at = (*sent % *room as u64) as usize;
            let words: Vec<u64> = {
                let mut gathered = self.gathered();
                let n = gathered.len().min(free).min(room - at);
                gathered.drain(..n).collect()
            };
            let ring = rings.slice(self.lane * room + at..).slice(..words.len());
            let (tail, add) = (marks.at(self.lane), Signal::Add(words.len() as u64));
            *sent += words.len() as u64;
            // All of them begin before one is waited for.
            let copies = repeat_n(words, self.receivers.len());
            let puts = self.receivers.iter().zip(copies);
            let puts: Vec<_> = puts.map(|(&pe, words)| ctx.put_signal(ring, words, tail, add, pe)).collect();
            for put in puts {
                put.await?;
            }
        }
    }

    /// How many words there is room for at all receivers, once there is any.
    async fn free(&self, sent: u64) -> Result<usize> {
        let Memory { team, ctx, room, heads, .. } = &self.memory;
        let room = *room as u64;
        let mut free = room;
        for (i, &pe) in self.receivers.iter().enumerate() {
            let head = heads.at(i);
            // At least one word.
            let least = (sent + 1).saturating_sub(room);
            let head = match ctx.signal_fetch(head) {
                enough if enough >= least => enough,
                // A loss is of no account while there is room: sending fails then.
                _ => {
                    let world_pe = team.world_pe(pe).unwrap_or(pe);
                    head.wait_until(Cmp::Ge, least).or_loss_of(world_pe).await?
                }
            };
            if head >= GONE {
                return Err(Error::Closed { what: "channel" });
            }
            free = free.min(head + room - sent);
        }
        Ok(free as usize)
    }

    /// Nothing more comes from here.
    fn end(&self) {
        let Memory { ctx, marks, .. } = &self.memory;
        // No other sender is there that could be sending.
        let Some(sent) = self.sent.try_lock() else { return };
        for &pe in &self.receivers {
            // A receiver that is gone, or lost, needs not know.
            drop(ctx.signal_set(marks.at(self.memory.lanes() + self.lane), *sent + 1, pe));
        }
    }
}

impl<T, C: Codec<T>> Sender<T, C> {
    pub(super) fn new(outlet: Outlet) -> Self {
        Self::of(Arc::new(outlet))
    }

    fn of(outlet: Arc<Outlet>) -> Self {
        // Relaxed: the last one to go orders it.
        outlet.senders.fetch_add(1, Ordering::Relaxed);
        Self { outlet, flush: std::sync::Mutex::default(), closed: false, of: PhantomData }
    }

    /// Sends a message, with all that was fed before: ready when it is on its way. It waits while
    /// there is no room.
    ///
    /// # Errors
    /// [`Error::Closed`] if the receiver is gone, [`Error::PeLost`] if its PE is, and the errors of
    /// the codec.
    pub async fn send(&self, message: T) -> Result<()> {
        self.gather(&message)?;
        Arc::clone(&self.outlet).flush().await
    }

    fn gather(&self, message: &T) -> Result<()> {
        if self.closed {
            return Err(Error::Closed { what: "channel" });
        }
        C::encode(message, &mut self.outlet.gathered())
    }

    fn poll_flushed(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let under_way = self.flush.get_mut().unwrap_or_else(PoisonError::into_inner);
        let flush = under_way.get_or_insert_with(|| Arc::clone(&self.outlet).flush().boxed());
        let flushed = flush.poll_unpin(cx);
        if flushed.is_ready() {
            *under_way = None;
        }
        flushed
    }

    fn end(&mut self) {
        *self.flush.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
        // AcqRel: the last one sees what the others have sent.
        if !std::mem::replace(&mut self.closed, true)
            && self.outlet.senders.fetch_sub(1, Ordering::AcqRel) == 1
        {
            self.outlet.end();
        }
    }
}

impl<T, C: Codec<T>> Sink<T> for Sender<T, C> {
    type Error = Error;

    fn poll_ready(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let flushes = self.flush.get_mut().is_ok_and(|flush| flush.is_some());
        if !flushes && self.outlet.gathered().len() < GATHERED {
            return Poll::Ready(Ok(()));
        }
        self.poll_flushed(cx)
    }

    fn start_send(self: Pin<&mut Self>, message: T) -> Result<()> {
        self.gather(&message)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        self.poll_flushed(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let flushed = self.poll_flushed(cx);
        if flushed.is_ready() {
            self.end();
        }
        flushed
    }
}

impl<T, C: Codec<T>> Clone for Sender<T, C> {
    fn clone(&self) -> Self {
        let mut clone = Self::of(Arc::clone(&self.outlet));
        if self.closed {
            clone.end();
        }
        clone
    }
}

impl<T, C: Codec<T>> Drop for Sender<T, C> {
    fn drop(&mut self) {
        self.end();
    }
}

impl<T, C: Codec<T>> fmt::Debug for Sender<T, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Outlet { receivers, .. } = &*self.outlet;
        f.debug_struct("Sender").field("to", receivers).field("closed", &self.closed).finish()
    }
}
