//! What all PEs of a world do together: barrier, sync, and bytes from one to all.

use std::{
    pin::Pin,
    task::{Context as TaskContext, Poll},
};

use oxshmem_base::Result;
use oxshmem_ops::{Context, order::Quiet};
use oxshmem_spaces::device::stream::StreamRef;
use oxshmem_teams::{Collective, Outcome, sync::sync_in};

use crate::world::World;

impl World {
    /// Completes the operations of the default context, then waits until every PE has come here
    /// (`OpenSHMEM 1.6 §9.10.1`). The call itself says that this PE has come, unless operations are
    /// still under way. Collective.
    ///
    /// # Errors
    /// The errors of [`quiet`](Context::quiet) and of [`sync_all`](Self::sync_all).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let words = world.alloc::<u64>(2).await?;
    /// let me = world.my_pe();
    /// let put = world.context().put_nbi(words.slice(me..=me), vec![me as u64 + 1], 1 - me);
    /// world.barrier_all().await?; // every PE's puts have arrived
    /// assert_eq!(words.at(1 - me).load(), 2 - me as u64);
    /// # put.await?;
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline]
    pub fn barrier_all(&self) -> Barrier<'_> {
        if self.0.context.is_idle() {
            // A PE that has seen every PE's flag has seen what that PE stored before.
            return Barrier(Step::Sync(self.0.team.barrier()));
        }
        self.barrier_after(self.0.context.quiet())
    }

    #[cold]
    fn barrier_after(&self, quiet: Quiet) -> Barrier<'_> {
        let collective = self.0.team.run("barrier_all", move |group| async move {
            // Others wait for this PE whether or not its operations succeeded.
            quiet.completed().await;
            sync_in(&group).await
        });
        Barrier(Step::Quiet(Box::new((collective, &self.0.context))))
    }

    /// [`barrier_all`](Self::barrier_all) in the order of a CUDA stream: the stream waits until the
    /// streams of all PEs have come so far, and the default context's operations that were issued
    /// before the call are complete. The call does not wait. Collective.
    ///
    /// # Errors
    /// The errors of `barrier_all` and of [`Team::on_stream`](crate::Team::on_stream).
    pub fn barrier_all_on_stream<'s>(&self, stream: impl Into<StreamRef<'s>>) -> Collective<'_> {
        let quiet = Some(self.0.context.quiet());
        self.0.team.on_stream_then(stream.into(), quiet, |team| team.sync(), None)
    }

    /// Waits until every PE has come here. Completes no operations (`OpenSHMEM 1.6 §9.10.4`). The
    /// call itself says that this PE has come. Collective.
    ///
    /// # Errors
    /// [`Error::PeLost`](crate::Error::PeLost), [`Error::GlobalExit`](crate::Error::GlobalExit) and
    /// [`Error::Finalized`](crate::Error::Finalized).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let sync = world.sync_all(); // this PE has come
    /// let sum: u64 = (0..1000).sum(); // while the others come
    /// sync.await?;
    /// assert_eq!(sum, 499_500);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline]
    pub fn sync_all(&self) -> Collective<'_> {
        self.0.team.sync()
    }

    /// Gives the bytes of `root` to every PE: the root passes `Some`. Collective.
    ///
    /// # Errors
    /// [`Error::PeOutOfRange`](crate::Error::PeOutOfRange),
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) at a root that passes `None`, and
    /// those of [`sync_all`](Self::sync_all).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(3, |world| async move {
    /// let bytes = (world.my_pe() == 1).then(|| b"from PE 1".to_vec());
    /// assert_eq!(world.broadcast_bytes(bytes, 1).await?, b"from PE 1");
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn broadcast_bytes(&self, bytes: Option<Vec<u8>>, root: usize) -> Outcome<Vec<u8>> {
        self.0.team.broadcast_bytes(bytes, root)
    }
}

/// A barrier: see [`World::barrier_all`]. It goes on if this is dropped.
///
/// ```
/// # use oxshmem::prelude::*;
/// # LocalCluster::run(2, |world| async move {
/// let barrier = world.barrier_all();
/// drop(barrier); // this PE has come nevertheless
/// world.barrier_all().await?;
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[must_use = "the other PEs have come once this is awaited"]
#[derive(Debug)]
pub struct Barrier<'a>(Step<'a>);

#[derive(Debug)]
enum Step<'a> {
    Sync(Collective<'a>),
    /// Boxed, so that the usual case is two registers wide.
    Quiet(Box<(Outcome<()>, &'a Context)>),
}

impl Future for Barrier<'_> {
    type Output = Result<()>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            Step::Sync(sync) => Pin::new(sync).poll(cx),
            Step::Quiet(step) => {
                let (collective, context) = &mut **step;
                // An error of an operation stays with the context until a caller is there to see
                // it.
                Pin::new(collective).poll(cx).map(|ended| ended.and_then(|()| context.take_failed()))
            }
        }
    }
}
