//! The PEs that the job has lost.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use futures::Stream;
use oxshmem_job::{Loss, LossWatch};

use crate::World;

impl World {
    /// The PEs that the job loses, the first one first, with those that it has lost already. All
    /// PEs see the same. Not collective, and it never ends. Of a job that ends with a lost PE there
    /// are none: the stream waits. An extension: the specification has no lost PEs.
    ///
    /// ```no_run
    /// # async fn example(world: oxshmem::World) {
    /// let mut losses = world.losses();
    /// loop {
    ///     let loss = losses.next().await;
    ///     println!("PE {} {}, the job goes on in view {}", loss.pe, loss.how, loss.view);
    /// }
    /// # }
    /// ```
    pub fn losses(&self) -> LossStream {
        LossStream(self.pe().losses().map(|losses| LossWatch::new(losses, 0)))
    }

    /// Whether PE `pe` is lost, in a job that goes on, as far as this PE knows. Not collective.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// assert!(!world.is_lost(1));
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn is_lost(&self, pe: usize) -> bool {
        self.pe().losses().is_some_and(|losses| losses.of(pe).is_some())
    }
}

/// The PEs that a job loses: see [`World::losses`].
#[derive(Debug)]
#[must_use = "a stream does nothing unless it is polled"]
pub struct LossStream(Option<LossWatch>);

impl LossStream {
    /// The next one, which it waits for. Dropping the future loses none.
    pub async fn next(&mut self) -> Loss {
        std::future::poll_fn(|cx| self.poll_loss(cx)).await
    }

    fn poll_loss(&mut self, cx: &Context<'_>) -> Poll<Loss> {
        self.0.as_mut().map_or(Poll::Pending, |losses| losses.poll_next(cx))
    }
}

impl Stream for LossStream {
    type Item = Loss;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Loss>> {
        self.poll_loss(cx).map(Some)
    }
}
