//! Ordering and completion: `fence`, `quiet` and `pe_quiet` (`OpenSHMEM 1.6 §9.12`).

use std::{
    fmt,
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context as TaskContext, Poll},
};

use oxshmem_base::{Error, Result};
use oxshmem_progress::{
    activity::{Activity, Board, Call, Entry},
    opset::{Mark, OpSet},
};
use oxshmem_runtime::{
    Pe,
    device::{AnyDevice, poll_with},
    net::flush,
};

use crate::{
    context::{Context, Sharing},
    operation::Immediate,
    sealed::Sealed,
    trace::trace_operation,
};

impl<M: Sharing> Context<M> {
    /// Completes every operation issued on this context before: when the future is ready they are visible to
    /// all PEs. Unless the context is [`nostore`](crate::ContextOptions::nostore), this PE's own stores to
    /// symmetric memory are too (`OpenSHMEM 1.6 §9.12.2`).
    ///
    /// # Errors
    /// The oldest error of an operation that has failed and whose future has not returned it; the next `quiet` has the next. So
    /// no error is lost with a future that is dropped or forgotten. A future that is awaited after that returns its error
    /// nevertheless.
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
        self.complete(Call::Quiet, None)
    }

    /// [`quiet`](Self::quiet) for the operations on `pes` (`OpenSHMEM 1.6 §9.12.3`).
    ///
    /// # Errors
    /// Those of `quiet`, of operations on `pes` and of those that were refused, [`Error::PeOutOfRange`] and
    /// [`Error::TeamDestroyed`].
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
            return Quiet(State::Failed(self.misdirected("pe_quiet", pe)));
        }
        self.complete(Call::PeQuiet, Some(pes))
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
        self.outstanding(Call::Fence, None)
    }

    /// The error that [`quiet`](Self::quiet) would report, if no operation is under way.
    #[doc(hidden)]
    pub fn take_failed(&self) -> Result<()> {
        self.ops().take_failed(None)
    }

    /// Whether nothing is under way and no error waits to be reported, so that `quiet` has only stores to
    /// make visible, which a sync orders too.
    #[doc(hidden)]
    #[inline(always)]
    pub fn is_idle(&self) -> bool {
        self.ops().is_idle()
    }

    #[inline(always)]
    fn complete(&self, call: Call, pes: Option<&[usize]>) -> Quiet {
        trace_operation(call.name(), 0, self.my_pe());
        self.pe().shm().quiet();
        self.outstanding(call, pes)
    }

    #[inline(always)]
    fn outstanding(&self, call: Call, pes: Option<&[usize]>) -> Quiet {
        if !self.ops().is_idle() {
            self.flush_far(pes);
        }
        Quiet::waiting(call, self.pe(), self.ops(), pes)
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
    /// Apart, so that a `quiet` that has nothing to wait for, which is most, moves little.
    Waiting(Box<Waiting>),
}

struct Waiting {
    ops: Arc<OpSet>,
    mark: Mark,
    pes: Option<Vec<usize>>,
    told: Told,
    /// At the first poll.
    device: Option<AnyDevice>,
}

/// What the PE's board is told once this waits.
enum Told {
    NotYet(Call, Arc<Board>),
    Entered(#[expect(dead_code, reason = "held for its end")] Entry),
}

impl Quiet {
    /// What [`Context::quiet`] returns, for who holds the parts of a context.
    pub(crate) fn of(pe: &Pe, ops: &Arc<OpSet>) -> Self {
        pe.shm().quiet();
        if let Some(net) = pe.net().filter(|_| !ops.is_idle()) {
            flush(&**net, ops, None);
        }
        Self::waiting(Call::Quiet, pe, ops, None)
    }

    /// Ready when the operations are over, well or not. Errors stay in the op set, for a caller that has more to wait for, and may be dropped
    /// meanwhile.
    #[doc(hidden)]
    pub async fn completed(mut self) {
        if let State::Waiting(waiting) = &mut self.0 {
            poll_fn(|cx| waiting.poll_complete(cx)).await;
        }
    }

    #[inline(always)]
    fn waiting(call: Call, pe: &Pe, ops: &Arc<OpSet>, pes: Option<&[usize]>) -> Self {
        if ops.is_idle() {
            return Self(State::Done);
        }
        Self(State::Waiting(Waiting::new(call, pe, ops, pes)))
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
            told: Told::NotYet(call, Arc::clone(pe.board())),
            device: pe.device().cloned(),
        })
    }

    /// An error that was taken is seen by the program.
    #[cold]
    #[inline(never)]
    fn poll(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<()>> {
        self.poll_complete(cx).map(|()| self.ops.take_failed(self.pes.as_deref()))
    }

    fn poll_complete(&mut self, cx: &mut TaskContext<'_>) -> Poll<()> {
        let Self { ops, mark, pes, told, device } = self;
        let mut poll = || ops.poll_complete(mark, pes.as_deref(), cx);
        let polled = match device.take() {
            Some(device) => poll_with(&device, poll),
            None => poll(),
        };
        if polled.is_pending()
            && let Told::NotYet(call, board) = told
        {
            let under_way = ops.under_way(mark, pes.as_deref());
            *told = Told::Entered(board.enter(&Activity::outstanding(*call, under_way)));
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
            State::Done => Poll::Ready(Ok(())),
            State::Waiting(waiting) => waiting.poll(cx),
            State::Failed(_) => match std::mem::replace(&mut self.0, State::Done) {
                State::Failed(error) => Poll::Ready(Err(error)),
                State::Done | State::Waiting(_) => Poll::Ready(Ok(())),
            },
        }
    }
}

impl Sealed for Quiet {}

impl Immediate for Quiet {
    type Output = ();

    #[inline(always)]
    fn now(self) -> Result<(), Self> {
        if matches!(self.0, State::Done) {
            // There is nothing to drop, which is not seen by the compiler.
            std::mem::forget(self);
            return Ok(());
        }
        Err(self)
    }
}

impl fmt::Debug for Quiet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            State::Done => "Quiet(done)",
            State::Failed(_) => "Quiet(failed)",
            State::Waiting(_) => "Quiet(waiting)",
        })
    }
}

#[cfg(test)]
mod tests {
    use std::{pin::pin, task::Waker};

    use oxshmem_base::settings::Settings;
    use oxshmem_job::Single;

    use super::*;
    use crate::ContextOptions;

    #[test]
    fn what_waits_for_operations_is_on_the_board_for_as_long() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let pe = runtime.block_on(Pe::join(Arc::new(Single::new()), Settings::default())).unwrap();
        let ctx = Context::<crate::context::Shared>::new(Arc::clone(&pe), ContextOptions::new());
        let mut cx = TaskContext::from_waker(Waker::noop());
        let operation = ctx.ops().begin(0);
        let told = || pe.board().seen().iter().map(|seen| seen.activity.to_string()).collect::<Vec<_>>();
        for (quiet, name) in
            [(ctx.quiet(), "quiet"), (ctx.pe_quiet(&[0]), "pe_quiet"), (ctx.fence(), "fence")]
        {
            let mut quiet = pin!(quiet);
            assert!(told().is_empty(), "nothing is said before it waits");
            assert!(quiet.as_mut().poll(&mut cx).is_pending() && quiet.as_mut().poll(&mut cx).is_pending());
            assert_eq!(told(), [format!("{name}(1 operation under way)")]);
        }
        ctx.ops().complete(operation);
        assert!(told().is_empty());
    }

    #[test]
    fn pe_quiet_fails_as_other_operations_where_its_context_reaches_nobody() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let pe = runtime.block_on(Pe::join(Arc::new(Single::new()), Settings::default())).unwrap();
        let ctx = Context::<crate::context::Shared>::new(Arc::clone(&pe), ContextOptions::new());
        let fails = |pes: &[usize]| runtime.block_on(ctx.pe_quiet(pes)).expect_err("there is no such PE");
        let error = fails(&[0, 1]);
        assert!(matches!(error, Error::PeOutOfRange { call: "pe_quiet", pe: 1, n_pes: 1 }), "{error}");
        // As the team does when it is destroyed.
        let rest = ctx.handle().end(&pe).expect("the context is alive");
        runtime.block_on(rest).unwrap();
        for pes in [&[0][..], &[1]] {
            let error = fails(pes);
            assert!(matches!(error, Error::TeamDestroyed { call: "pe_quiet" }), "{error}");
        }
        runtime.block_on(ctx.pe_quiet(&[])).unwrap();
        pe.leave();
        assert!(matches!(fails(&[0]), Error::Finalized { call: "pe_quiet" }));
    }
}
