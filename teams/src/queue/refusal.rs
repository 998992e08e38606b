//! Calls that a PE refuses for its own arguments: the others get a message, as they would wait for
//! it.
//!
//! What does not fit is found out before anything is sent, and the caller has the error at once. In
//! its place in the order of the team's collectives the PE meets the others, with a signature that
//! agrees with no call that was not refused. If all have made the same mistake, they meet, and the
//! team is as good as before. Otherwise a PE that waits learns from
//! [`CollectiveMismatch`](Error::CollectiveMismatch) which PE it was.

use std::sync::Arc;

use oxshmem_base::Error;

use crate::{
    algorithm::exchange::meet,
    queue::{Collective, Core, Outcome, Shown},
    signature::Signature,
};

impl Core {
    /// A collective that this PE refuses with `error`. The others get a message if they may wait
    /// for it.
    #[cold]
    #[inline(never)]
    pub(crate) fn refuse(&self, call: &'static str, error: Error) -> Collective<'_> {
        self.send_refusal(call, &error);
        Collective::failed(error)
    }

    /// [`refuse`](Self::refuse) for a collective with a result.
    #[cold]
    #[inline(never)]
    pub(crate) fn refuse_run<T>(&self, call: &'static str, error: Error) -> Outcome<T> {
        match self.check_turn(call) {
            Ok(()) => self.send_refusal(call, &error),
            Err(ended) => return self.failed_run(ended),
        }
        self.failed_run(error)
    }

    fn send_refusal(&self, call: &'static str, error: &Error) {
        if !is_about_arguments(error) || self.group.n_pes() == 1 {
            return;
        }
        let (group, signature) = (Arc::clone(&self.group), Signature::refused(call));
        let refusal = self.task(Shown::Signed, signature, async move {
            group.check()?;
            match group.wide() {
                None => meet(&group, signature).await,
                Some(wide) => wide.sync_for(&group, signature).await,
            }
        });
        // It goes on by itself.
        drop(refusal);
    }
}

/// Whether other PEs may have called the same and found nothing wrong with it. Of memory that some
/// of them do not have, those that have it find the same.
fn is_about_arguments(error: &Error) -> bool {
    matches!(
        error,
        Error::LengthMismatch { .. }
            | Error::PeOutOfRange { .. }
            | Error::InvalidStride { .. }
            | Error::StrideOutOfRange { .. }
            | Error::Overlap { .. }
            | Error::ForeignMemory { .. }
            | Error::SpaceMismatch { .. }
    )
}
