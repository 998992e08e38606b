//! The future of `quiet` and `fence`: the operations of a context are complete.

use std::{
    fmt,
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context as TaskContext, Poll},
};

use oxshmem_base::{Error, Result};
use oxshmem_net::flush;
use oxshmem_progress::{
    activity::{Activity, Board, Call, Entry},
    executor::FirstPoll,
    opset::{Mark, OpSet},
    record::Pending,
};
use oxshmem_spaces::Pe;

use crate::{operation::Immediate, sealed::Sealed, trace::waiting};

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
pub struct Quiet(Outstanding);

/// What a `quiet` has to wait for.
enum Outstanding {
    Complete,
    Failed(Error),
    /// Boxed, as most have nothing to wait for.
    Waiting(Box<Waiting>),
}

struct Waiting {
    ops: Arc<OpSet>,
    mark: Mark,
    pes: Option<Vec<usize>>,
    shown: Shown,
    /// Held for its end.
    _record: Option<Pending>,
    engine: FirstPoll,
}

/// Whether the PE's activity board shows this wait.
enum Shown {
    NotYet(Call, Board),
    Since(#[expect(dead_code, reason = "held for its end")] Entry),
}

impl Quiet {
    /// One that was refused.
    pub(crate) fn failed(error: Error) -> Self {
        Self(Outstanding::Failed(error))
    }

    /// What [`Context::quiet`](crate::Context::quiet) returns, from the parts of a context.
    pub(crate) fn of(pe: &Pe, ops: &Arc<OpSet>) -> Self {
        pe.shm().quiet();
        if let Some(net) = pe.net().filter(|_| !ops.is_idle()) {
            flush(&**net, ops, None);
        }
        Self::waiting(Call::Quiet, pe, ops, None)
    }

    /// Ready when the operations are over, well or not. Errors stay in the op set, for a caller
    /// that has more to wait for and may be dropped meanwhile.
    #[doc(hidden)]
    pub async fn completed(mut self) {
        if let Outstanding::Waiting(waiting) = &mut self.0 {
            poll_fn(|cx| waiting.poll_complete(cx)).await;
        }
    }

    #[inline(always)]
    pub(crate) fn waiting(call: Call, pe: &Pe, ops: &Arc<OpSet>, pes: Option<&[usize]>) -> Self {
        if ops.is_idle() {
            return Self(Outstanding::Complete);
        }
        Self(Outstanding::Waiting(Waiting::new(call, pe, ops, pes)))
    }
}

impl Waiting {
    #[cold]
    #[inline(never)]
    fn new(call: Call, pe: &Pe, ops: &Arc<OpSet>, pes: Option<&[usize]>) -> Box<Self> {
        Box::new(Self {
            ops: Arc::clone(ops),
            mark: ops.mark(),
            pes: pes.map(<[usize]>::to_vec),
            _record: waiting(pe, call, None),
            shown: Shown::NotYet(call, pe.board().clone()),
            engine: pe.engine().at_first_poll(),
        })
    }

    /// An error that was taken is seen by the program.
    #[cold]
    #[inline(never)]
    fn poll(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<()>> {
        self.poll_complete(cx).map(|()| self.ops.take_failed(self.pes.as_deref()))
    }

    fn poll_complete(&mut self, cx: &mut TaskContext<'_>) -> Poll<()> {
        let Self { ops, mark, pes, shown, engine, .. } = self;
        let polled = engine.poll(|| ops.poll_complete(mark, pes.as_deref(), cx));
        if polled.is_pending()
            && let Shown::NotYet(call, board) = shown
        {
            let under_way = ops.under_way(mark, pes.as_deref());
            *shown = Shown::Since(board.enter(&Activity::outstanding(*call, under_way)));
        }
        polled
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.ops.forget(&self.mark, self.pes.as_deref());
    }
}

impl Future for Quiet {
    type Output = Result<()>;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            Outstanding::Complete => Poll::Ready(Ok(())),
            Outstanding::Waiting(waiting) => waiting.poll(cx),
            Outstanding::Failed(_) => match std::mem::replace(&mut self.0, Outstanding::Complete) {
                Outstanding::Failed(error) => Poll::Ready(Err(error)),
                Outstanding::Complete | Outstanding::Waiting(_) => Poll::Ready(Ok(())),
            },
        }
    }
}

impl Sealed for Quiet {}

impl Immediate for Quiet {
    type Output = ();

    #[inline(always)]
    fn now(self) -> Result<(), Self> {
        if matches!(self.0, Outstanding::Complete) {
            // There is nothing to drop, which the compiler does not see.
            std::mem::forget(self);
            return Ok(());
        }
        Err(self)
    }
}

impl fmt::Debug for Quiet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Outstanding::Complete => "Quiet(complete)",
            Outstanding::Failed(_) => "Quiet(failed)",
            Outstanding::Waiting(_) => "Quiet(waiting)",
        })
    }
}
