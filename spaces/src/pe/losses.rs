//! What a PE does about others that its job has lost, and goes on without.

use std::sync::Arc;

use oxshmem_base::{Error, Result};
use oxshmem_job::{Loss, Losses};

use super::Pe;

impl Pe {
    /// Has the net let go of PEs that are lost from now on.
    pub(super) fn follow_losses(self: &Arc<Self>) {
        let (Some(losses), this) = (&self.losses, Arc::downgrade(self)) else { return };
        losses.when_lost(move |loss| {
            if let Some(net) = this.upgrade().and_then(|pe| pe.net.clone()) {
                net.lose(loss.pe, loss.view, &loss.how);
            }
        });
    }

    /// The PEs that the job has lost, if it goes on without them.
    #[inline]
    pub fn losses(&self) -> Option<&Arc<Losses>> {
        self.losses.as_ref()
    }

    /// An error if PE `pe` is lost, or this one is, as a task of a process that goes on.
    #[inline(always)]
    pub fn check_there(&self, pe: usize) -> Result<()> {
        match &self.losses {
            None => Ok(()),
            Some(losses) => is_there(losses, self.me, pe),
        }
    }
}

#[cold]
fn is_there(losses: &Losses, me: usize, pe: usize) -> Result<()> {
    match losses.of(pe).or_else(|| losses.of(me)) {
        None => Ok(()),
        Some(Loss { pe, view, how, .. }) => Err(Error::PeLost { pe, view, how: how.to_string() }),
    }
}
