//! Waits that end when a PE is lost.
//!
//! A wait cannot know which PE would have satisfied it. So the program says which PEs it counts on.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use oxshmem_base::{Error, Result};
use oxshmem_spaces::LossWatch;

use super::{WaitUntil, Waitable};

/// A wait for one word that fails when a PE is lost: see [`WaitUntil::or_loss_of`].
#[must_use = "nothing waits unless this is awaited"]
pub struct OrLoss<'a, T: Waitable> {
    wait: WaitUntil<'a, T>,
    /// That PE, or any.
    pe: Option<usize>,
    /// None in a job that ends with a lost PE.
    losses: Option<LossWatch>,
}

impl<'a, T: Waitable> WaitUntil<'a, T> {
    /// Fails with [`Error::PeLost`] if PE `pe` of the world is lost, or is by then, unless the word
    /// compares to the value. In a job that ends with a lost PE it is the wait itself.
    /// An extension of `OpenSHMEM 1.6 §9.11`.
    ///
    /// # Errors
    /// [`Error::PeLost`], and those of [`wait_until`](super::Wait::wait_until).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let flag = world.alloc_zeroed::<u64>(1).await?;
    /// let other = 1 - world.my_pe();
    /// world.context().p(flag.at(0), 1, other).await?;
    /// flag.at(0).wait_until(Cmp::Eq, 1).or_loss_of(other).await?;
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn or_loss_of(self, pe: usize) -> OrLoss<'a, T> {
        let losses = self.word.as_view().pe().losses().map(|losses| LossWatch::new(losses, 0));
        OrLoss { wait: self, pe: Some(pe), losses }
    }

    /// Fails with [`Error::PeLost`] if any PE is lost from this call on, unless the word compares
    /// to the value.
    ///
    /// # Errors
    /// As of [`or_loss_of`](Self::or_loss_of).
    pub fn or_any_loss(self) -> OrLoss<'a, T> {
        let losses = self.word.as_view().pe().losses();
        let losses = losses.map(|losses| LossWatch::new(losses, losses.view()));
        OrLoss { wait: self, pe: None, losses }
    }
}

impl<T: Waitable> Future for OrLoss<'_, T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<T>> {
        if let Poll::Ready(outcome) = Pin::new(&mut self.wait).poll(cx) {
            return Poll::Ready(outcome);
        }
        let this = &mut *self;
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

impl<T: Waitable + fmt::Debug> fmt::Debug for OrLoss<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} or the loss of {:?}", self.wait, self.pe)
    }
}
