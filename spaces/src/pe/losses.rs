//! What a PE does about others that its job has lost, and goes on without.

use std::sync::Arc;

use oxshmem_base::{Error, Result, settings::SpacePlan};
use oxshmem_job::{Bootstrap, Loss, Losses, Rejoined};

use super::Pe;

impl Pe {
    /// Has the net let go of PEs that are lost from now on.
    pub(super) fn follow_losses(self: &Arc<Self>) {
        let (Some(losses), this) = (&self.losses, Arc::downgrade(self)) else { return };
        // The PE that a replacement comes for is not itself.
        let (me, known) = (self.me, losses.view());
        losses.when_lost(move |loss| {
            if loss.pe == me && loss.view <= known {
                return;
            }
            if let Some(net) = this.upgrade().and_then(|pe| pe.net.clone()) {
                net.lose(loss.pe, loss.view, &loss.how);
            }
        });
    }

    /// The replacements of PEs that were lost up to that view take part from now on.
    ///
    /// # Errors
    /// What they gave when they joined cannot be read.
    pub fn let_in_replacements(&self, view: u64) -> Result<()> {
        let Some(losses) = &self.losses else { return Ok(()) };
        // It may be one itself.
        losses.let_in(self.me, view);
        for Rejoined { pe, given } in losses.replacements() {
            // It may be lost again by now.
            if losses.of(pe).is_some_and(|loss| loss.view <= view) {
                if let Some(net) = &self.net {
                    net.let_in(pe, &given)?;
                }
                losses.let_in(pe, view);
            }
        }
        Ok(())
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

/// An error if this is a replacement in a job that has none.
pub(super) fn check_replacement(bootstrap: &dyn Bootstrap, spaces: &SpacePlan) -> Result<()> {
    if !bootstrap.placement().is_replacement || spaces.gpu.is_none() {
        return Ok(());
    }
    let what = "a job with a GPU space has no replacements of PEs (oshrun --respawn)";
    Err(Error::Unsupported { what: what.to_owned() })
}

#[cold]
fn is_there(losses: &Losses, me: usize, pe: usize) -> Result<()> {
    match losses.of(pe).or_else(|| losses.of(me)) {
        None => Ok(()),
        Some(Loss { pe, view, how, .. }) => Err(Error::PeLost { pe, view, how: how.to_string() }),
    }
}
