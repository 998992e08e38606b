//! The PEs that the job has lost.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures::Stream;
use oxshmem_job::Loss;
use oxshmem_spaces::Pe;

use crate::World;

impl World {
    /// The PEs that the job loses, the first one first, with those that it has lost already. All
    /// PEs see the same. Of a job that ends with a lost PE there are none: the stream waits.
    pub fn losses(&self) -> LossStream {
        LossStream { pe: Arc::clone(self.pe()), view: 0 }
    }

    /// Whether PE `pe` is lost, in a job that goes on.
    pub fn is_lost(&self, pe: usize) -> bool {
        self.pe().losses().is_some_and(|losses| losses.of(pe).is_some())
    }
}

/// The PEs that a job loses: see [`World::losses`].
#[derive(Debug)]
#[must_use = "a stream does nothing unless it is polled"]
pub struct LossStream {
    pe: Arc<Pe>,
    view: u64,
}

impl LossStream {
    /// The next one, which it waits for.
    pub async fn next(&mut self) -> Loss {
        std::future::poll_fn(|cx| self.poll_loss(cx)).await
    }

    /// How many of them have been taken.
    pub fn view(&self) -> u64 {
        self.view
    }

    fn poll_loss(&mut self, cx: &Context<'_>) -> Poll<Loss> {
        let Some(losses) = self.pe.losses() else { return Poll::Pending };
        losses.poll_next(self.view, cx).map(|loss| {
            self.view = loss.view;
            loss
        })
    }
}

impl Stream for LossStream {
    type Item = Loss;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Loss>> {
        self.poll_loss(cx).map(Some)
    }
}
