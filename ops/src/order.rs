//! Ordering and completion: `fence`, `quiet` and `pe_quiet` (`OpenSHMEM 1.6 §9.12`).

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context as TaskContext, Poll},
};

use oxshmem_runtime::{
    Error, Result,
    opset::{Mark, OpSet},
    transport::Transport,
};

use crate::{
    context::{Context, Sharing},
    trace::trace_operation,
};

impl<M: Sharing> Context<M> {
    /// Completes every operation issued on this context before: when the future is ready they are visible to
    /// all PEs. Unless the context is [`nostore`](crate::ContextOptions::nostore), this PE's own stores to
    /// symmetric memory are too (`OpenSHMEM 1.6 §9.12.2`).
    ///
    /// # Errors
    /// The oldest error of an operation whose future was dropped unseen; the next `quiet` has the next.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let data = world.alloc_zeroed::<u64>(4).await?;
    /// let (ctx, next) = (world.context(), (world.my_pe() + 1) % world.n_pes());
    /// drop(ctx.put_nbi(&data, vec![1, 2, 3, 4], next)); // nobody awaits it
    /// ctx.quiet().await?;
    /// assert_eq!(ctx.get(&data, next).await?, [1, 2, 3, 4]); // but it is there
    ///
    /// drop(ctx.put(&data, [1, 2, 3], next)); // too short: an error that nobody has seen
    /// assert!(matches!(ctx.quiet().await, Err(oxshmem::Error::LengthMismatch { .. })));
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    pub fn quiet(&self) -> Quiet {
        self.complete("quiet", None)
    }

    /// [`quiet`](Self::quiet) for the operations on `pes` (`OpenSHMEM 1.6 §9.12.3`).
    ///
    /// # Errors
    /// Those of `quiet`, and [`Error::PeOutOfRange`].
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let data = world.alloc_zeroed::<u64>(4).await?;
    /// let (ctx, next) = (world.context(), (world.my_pe() + 1) % world.n_pes());
    /// drop(ctx.put_nbi(&data, vec![1, 2, 3, 4], next));
    /// ctx.pe_quiet(&[next]).await?; // not those on other PEs
    /// assert_eq!(ctx.g(data.at(3), next).await?, 4);
    /// assert!(ctx.pe_quiet(&[2]).await.is_err()); // there is no such PE
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn pe_quiet(&self, pes: &[usize]) -> Quiet {
        if let Some(&pe) = pes.iter().find(|&&pe| pe >= self.n_pes()) {
            return Quiet(State::Failed(Error::PeOutOfRange { call: "pe_quiet", pe, n_pes: self.n_pes() }));
        }
        self.complete("pe_quiet", Some(pes))
    }

    /// Orders the operations on this context per PE: those issued before are delivered to a PE before those
    /// issued after (`OpenSHMEM 1.6 §9.12.1`). The order holds for what is issued once the future is ready.
    ///
    /// # Errors
    /// Those of [`quiet`](Self::quiet).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let words = world.alloc_zeroed::<u64>(2).await?;
    /// let (ctx, next) = (world.context(), (world.my_pe() + 1) % world.n_pes());
    /// ctx.p(words.at(0), 1, next).await?;
    /// ctx.fence().await?;
    /// ctx.p(words.at(1), 1, next).await?; // who sees this sees the other
    /// words.at(1).wait_until(Cmp::Eq, 1).await?;
    /// assert_eq!(words.at(0).load(), 1);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    pub fn fence(&self) -> Quiet {
        // On shared memory puts are stores, so that a nostore context has no less to order.
        self.pe().shm().fence();
        // An operation that another thread performs is ordered by its completion.
        self.outstanding(None)
    }

    /// Whether nothing is under way and no error waits to be reported, so that `quiet` has only stores to
    /// make visible, which a sync orders too.
    #[doc(hidden)]
    #[inline(always)]
    pub fn is_idle(&self) -> bool {
        self.ops().is_idle()
    }

    #[inline(always)]
    fn complete(&self, call: &'static str, pes: Option<&[usize]>) -> Quiet {
        trace_operation(call, 0, self.my_pe());
        self.pe().shm().quiet();
        self.outstanding(pes)
    }

    #[inline(always)]
    fn outstanding(&self, pes: Option<&[usize]>) -> Quiet {
        if self.ops().is_idle() {
            return Quiet(State::Done);
        }
        Quiet(State::Waiting {
            ops: Arc::clone(self.ops()),
            mark: self.ops().mark(),
            pes: pes.map(<[usize]>::to_vec),
        })
    }
}

/// Ready when the operations concerned have completed, or are ordered.
///
/// ```
/// # use oxshmem::prelude::*;
/// # LocalCluster::run(2, |world| async move {
/// let data = world.alloc_zeroed::<u64>(4).await?;
/// let (ctx, next) = (world.context(), (world.my_pe() + 1) % world.n_pes());
/// let put = ctx.put_nbi(data.slice(..2), vec![1, 2], next);
/// let quiet = ctx.quiet(); // concerns the first put, not the second
/// drop(ctx.put_nbi(data.slice(2..), vec![3, 4], next));
/// quiet.await?;
/// assert_eq!(ctx.get(data.slice(..2), next).await?, put.await?);
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[must_use = "the operations are complete once this is awaited"]
pub struct Quiet(State);

enum State {
    Done,
    Failed(Error),
    Waiting { ops: Arc<OpSet>, mark: Mark, pes: Option<Vec<usize>> },
}

impl Future for Quiet {
    type Output = Result<()>;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            State::Done => Poll::Ready(Ok(())),
            State::Waiting { ops, mark, pes } => ops.poll_quiet(*mark, pes.as_deref(), cx),
            State::Failed(_) => match std::mem::replace(&mut self.0, State::Done) {
                State::Failed(error) => Poll::Ready(Err(error)),
                State::Done | State::Waiting { .. } => Poll::Ready(Ok(())),
            },
        }
    }
}

impl fmt::Debug for Quiet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            State::Done => "Quiet(done)",
            State::Failed(_) => "Quiet(failed)",
            State::Waiting { .. } => "Quiet(waiting)",
        })
    }
}
