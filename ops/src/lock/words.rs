//! The words of a lock, as a PE reaches them.

use std::{
    future::poll_fn,
    pin::pin,
    task::{Context, Poll},
};

use oxshmem_base::{Error, Result};
use oxshmem_memory::Extent;
use oxshmem_progress::activity::{Activity, Ahead, Call, Place};
use oxshmem_spaces::{LossWatch, SymRef};

use super::{
    lasting::{self, OwnHalf},
    local::{Seat, lasting_name},
    queue::{MINE, Words},
};
use crate::wait::{Cmp, Waitable, look, wait_as, wait_in};

impl Seat {
    fn tail(&self) -> SymRef<'_, u32> {
        self.halves.at(0)
    }

    fn node(&self) -> SymRef<'_, u32> {
        self.halves.at(1)
    }

    pub(super) fn extent(&self) -> Extent {
        self.halves.view().extent()
    }
}

impl Words for Seat {
    fn name(&self) -> u32 {
        self.pe.me() as u32 + 1
    }

    async fn swap_tail(&self, name: u32) -> Result<u32> {
        self.context.swap(self.tail(), name, self.home).await
    }

    async fn compare_swap_tail(&self, cond: u32, name: u32) -> Result<u32> {
        self.context.compare_swap(self.tail(), cond, name, self.home).await
    }

    async fn or_node(&self, bits: u32, name: u32) -> Result<()> {
        self.context.or(self.node(), bits, (name as usize).wrapping_sub(1)).await
    }

    async fn fetch_node(&self) -> Result<u32> {
        self.context.fetch(self.node(), self.pe.me()).await
    }

    async fn clear_node(&self) -> Result<()> {
        self.context.set(self.node(), 0, self.pe.me()).await
    }

    async fn wait_turn(&self, before: u32) -> Result<()> {
        let mut shown = false;
        let show = || {
            shown = true;
            self.waits(Call::SetLock, Ahead::Pe(before as usize - 1))
        };
        let came = wait_as(self.node(), Cmp::Ge, MINE, show).await;
        if shown {
            self.waits_no_more();
        }
        came.map(drop)
    }

    async fn wait_next(&self, node: u32) -> Result<u32> {
        let activity = Activity::lock(Call::ClearLock, self.extent(), Ahead::Unknown);
        wait_in(activity, self.node(), Cmp::Ne, node).await
    }
}

impl Seat {
    /// Whether this PE is the lock's home.
    pub(super) fn is_home(&self) -> bool {
        self.home == self.pe.me()
    }

    /// Writes down whether the lock is this PE's, for handles to come.
    pub(super) async fn hold(&self, is_held: bool) -> Result<()> {
        let rings = self.halves.at(0);
        match (self.is_home(), is_held) {
            // The word there says so itself.
            (true, _) => Ok(()),
            (false, true) => self.context.or(rings, lasting::HELD, self.pe.me()).await,
            (false, false) => self.context.and(rings, !lasting::HELD, self.pe.me()).await,
        }
    }

    fn half(&self, half: OwnHalf) -> SymRef<'_, u32> {
        self.halves.at(if half == OwnHalf::Rings { 0 } else { 1 })
    }

    /// Ready when the word compares, or when something else is over. The job's end is an error.
    async fn changed<T: Waitable>(
        &self,
        (word, cmp, value): (SymRef<'_, T>, Cmp, T),
        mut is_over: impl FnMut(&Context<'_>) -> Poll<()>,
        show: impl FnMut() -> Place,
    ) -> Result<()> {
        let mut wait = pin!(wait_as(word, cmp, value, show));
        poll_fn(|cx| match wait.as_mut().poll(cx) {
            Poll::Ready(came) => Poll::Ready(came.map(drop)),
            Poll::Pending => is_over(cx).map(Ok),
        })
        .await
    }

    fn watch(&self, view: u16) -> Result<LossWatch> {
        let losses = self.pe.losses().ok_or(Error::Finalized { call: "lock" })?;
        Ok(LossWatch::new(losses, view.into()))
    }
}

/// The PE of this name.
fn pe_of(name: u16) -> usize {
    usize::from(name).wrapping_sub(1)
}

/// What came of an operation with that PE; `None` if it is lost.
fn unless_lost<T>(outcome: Result<T>, with: usize) -> Result<Option<T>> {
    match outcome {
        Ok(outcome) => Ok(Some(outcome)),
        Err(Error::PeLost { pe, view, .. }) if pe == with && view > 0 => Ok(None),
        Err(error) => Err(error),
    }
}

impl lasting::LastingWords for Seat {
    fn name(&self) -> u16 {
        lasting_name(self.pe.me())
    }

    fn home_name(&self) -> u16 {
        lasting_name(self.home)
    }

    fn view(&self) -> u16 {
        // A job has fewer than 65,536 losses: `oshrun` starts no more than 50,000 replacements.
        self.pe.losses().map_or(0, |losses| losses.view() as u16)
    }

    fn was_lost(&self, name: u16, [from, to]: [u16; 2]) -> bool {
        let losses = self.pe.losses().map(|losses| losses.since(from.into())).unwrap_or_default();
        losses.iter().any(|loss| loss.pe == pe_of(name) && loss.view <= to.into())
    }

    async fn replace_home(&self, cond: u64, value: u64) -> Result<u64> {
        self.context.compare_swap(self.word.at(0), cond, value, self.home).await
    }

    async fn fetch_own(&self, half: OwnHalf) -> Result<u64> {
        Ok(if self.is_home() { look(self.word.at(0)) } else { look(self.half(half)).into() })
    }

    async fn clear_behind(&self) -> Result<()> {
        self.context.set(self.half(OwnHalf::Behind), 0, self.pe.me()).await
    }

    async fn replace_behind(&self, name: u16, cond: u32, value: u32) -> Result<Option<u32>> {
        let pe = pe_of(name);
        unless_lost(self.context.compare_swap(self.half(OwnHalf::Behind), cond, value, pe).await, pe)
    }

    async fn ring(&self, name: u16) -> Result<()> {
        let pe = pe_of(name);
        // One that fetches, since only that is known to have failed.
        unless_lost(self.context.fetch_add(self.half(OwnHalf::Rings), lasting::RING, pe).await, pe).map(drop)
    }

    async fn wait(&self, half: OwnHalf, seen: u64, view: u16, before: Option<u16>) -> Result<()> {
        let mut losses = self.watch(view)?;
        let is_over = move |cx: &Context<'_>| losses.poll_next(cx).map(drop);
        let (call, ahead) = match half {
            OwnHalf::Rings => (Call::SetLock, before.map_or(Ahead::Unknown, |name| Ahead::Pe(pe_of(name)))),
            OwnHalf::Behind => (Call::ClearLock, Ahead::Unknown),
        };
        let mut shown = false;
        let show = || {
            shown = true;
            self.waits(call, ahead)
        };
        let came = if self.is_home() {
            self.changed((self.word.at(0), Cmp::Ne, seen), is_over, show).await
        } else {
            self.changed((self.half(half), Cmp::Ne, seen as u32), is_over, show).await
        };
        if shown {
            self.waits_no_more();
        }
        came
    }

    async fn wait_known(&self, view: u16) -> Result<()> {
        let losses = self.watch(view)?;
        let is_over = move |cx: &Context<'_>| losses.poll_settled(view.into(), cx);
        // No word of a lock is that.
        if self.is_home() {
            self.changed((self.word.at(0), Cmp::Eq, u64::MAX), is_over, || Place::NONE).await
        } else {
            self.changed((self.half(OwnHalf::Behind), Cmp::Eq, u32::MAX), is_over, || Place::NONE).await
        }
    }
}
