//! Waits that end when a PE is lost.
//!
//! A wait cannot know which PE would have satisfied it. So the program says which PEs it counts on.

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use oxshmem_base::{Error, Result};
use oxshmem_spaces::{LossWatch, Losses};

use super::{WaitUntil, WaitUntilSet, Waitable};
use crate::sealed::Sealed;

/// A wait that fails when a PE is lost: see [`WaitOrLoss`].
#[must_use = "nothing waits unless this is awaited"]
pub struct OrLoss<W> {
    wait: W,
    /// That PE, or any.
    pe: Option<usize>,
    /// None in a job that ends with a lost PE.
    losses: Option<LossWatch>,
}

/// Waits for words of this PE that count on other PEs: [`WaitUntil`] for one word, and
/// [`WaitUntilSet`] for several.
///
/// An extension of `OpenSHMEM 1.6 §9.11`.
pub trait WaitOrLoss: Future + Unpin + Sized + Sealed {
    /// The losses of its job.
    #[doc(hidden)]
    fn losses(&self) -> Option<&Arc<Losses>>;

    /// Fails with [`Error::PeLost`] if PE `pe` of the world is lost, or is by then, unless what is
    /// waited for is there. In a job that ends with a lost PE it is the wait itself.
    ///
    /// # Errors
    /// [`Error::PeLost`], and those of [`wait_until`](super::Wait::wait_until).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let flags = world.alloc_zeroed::<u64>(2).await?;
    /// let other = 1 - world.my_pe();
    /// world.context().put(&flags, [1, 2], other).await?;
    /// flags.at(0).wait_until(Cmp::Eq, 1).or_loss_of(other).await?;
    /// flags.wait_until_all_vector(Cmp::Eq, &[1, 2]).or_loss_of(other).await?;
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    fn or_loss_of(self, pe: usize) -> OrLoss<Self> {
        let losses = self.losses().map(|losses| LossWatch::new(losses, 0));
        OrLoss { wait: self, pe: Some(pe), losses }
    }

    /// Fails with [`Error::PeLost`] if any PE is lost from this call on, unless what is waited for
    /// is there.
    ///
    /// # Errors
    /// As of [`or_loss_of`](Self::or_loss_of).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(3, |world| async move {
    /// let here = world.alloc_zeroed::<u64>(world.n_pes()).await?;
    /// for pe in 0..world.n_pes() {
    ///     world.context().p(here.at(world.my_pe()), 1, pe).await?;
    /// }
    /// here.wait_until_all(Cmp::Eq, 1).or_any_loss().await?;
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    fn or_any_loss(self) -> OrLoss<Self> {
        let losses = self.losses().map(|losses| LossWatch::new(losses, losses.view()));
        OrLoss { wait: self, pe: None, losses }
    }
}

impl<T: Waitable> WaitOrLoss for WaitUntil<'_, T> {
    fn losses(&self) -> Option<&Arc<Losses>> {
        self.word.as_view().pe().losses()
    }
}

impl<T: Waitable, R> Sealed for WaitUntilSet<'_, T, R> {}

impl<T: Waitable, R> WaitOrLoss for WaitUntilSet<'_, T, R> {
    fn losses(&self) -> Option<&Arc<Losses>> {
        self.pe().losses()
    }
}

impl<W: Future<Output = Result<R>> + Unpin, R> Future for OrLoss<W> {
    type Output = Result<R>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<R>> {
        let this = &mut *self;
        if let Poll::Ready(outcome) = Pin::new(&mut this.wait).poll(cx) {
            return Poll::Ready(outcome);
        }
        let Some(losses) = &mut this.losses else { return Poll::Pending };
        while let Poll::Ready(loss) = losses.poll_next(cx) {
            if this.pe.is_none_or(|pe| pe == loss.pe) {
                let how = loss.how.to_string();
                return Poll::Ready(Err(Error::PeLost { pe: loss.pe, view: loss.view, how }));
            }
        }
        Poll::Pending
    }
}

impl<W: fmt::Debug> fmt::Debug for OrLoss<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} or the loss of {:?}", self.wait, self.pe)
    }
}
