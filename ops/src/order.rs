//! Ordering and completion: `fence`, `quiet` and `pe_quiet` (`OpenSHMEM 1.6 §9.12`).

use oxshmem_base::Result;
use oxshmem_net::flush;
use oxshmem_progress::activity::Call;

use crate::{
    context::{Context, Sharing},
    trace::trace_operation,
};

pub use crate::quiet::Quiet;

impl<M: Sharing> Context<M> {
    /// Completes every operation issued on this context before: when the future is ready they are
    /// visible to all PEs. Unless the context is [`nostore`](crate::ContextOptions::nostore), this
    /// PE's own stores to symmetric memory are too (`OpenSHMEM 1.6 §9.12.2`).
    ///
    /// # Errors
    /// The oldest error of an operation that has failed and whose future has not returned it; the
    /// next `quiet` has the next. So no error is lost with a future that is dropped or forgotten. A
    /// future that is awaited after that returns its error nevertheless.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let data = world.alloc_zeroed::<u64>(4).await?;
    /// let (ctx, next) = (world.context(), (world.my_pe() + 1) % world.n_pes());
    /// drop(ctx.put_nbi(&data, vec![1, 2, 3, 4], next)); // is not awaited
    /// ctx.quiet().await?;
    /// assert_eq!(ctx.get(&data, next).await?, [1, 2, 3, 4]); // but it is there
    ///
    /// drop(ctx.put(&data, [1, 2, 3], next)); // too short: an error that was not seen
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
    /// The errors of `quiet`, of operations on `pes` and of those that were refused,
    /// [`Error::PeOutOfRange`](oxshmem_base::Error::PeOutOfRange) and
    /// [`Error::TeamDestroyed`](oxshmem_base::Error::TeamDestroyed).
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
            return Quiet::failed(self.misdirected("pe_quiet", pe));
        }
        self.complete(Call::PeQuiet, Some(pes))
    }

    /// Orders the operations on this context per PE: those issued before are delivered to a PE
    /// before those issued after (`OpenSHMEM 1.6 §9.12.1`). The order holds for what is issued once
    /// the future is ready.
    ///
    /// # Errors
    /// The errors of [`quiet`](Self::quiet).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let words = world.alloc_zeroed::<u64>(2).await?;
    /// let (ctx, next) = (world.context(), (world.my_pe() + 1) % world.n_pes());
    /// ctx.p(words.at(0), 1, next).await?;
    /// ctx.fence().await?;
    /// ctx.p(words.at(1), 1, next).await?; // a PE that sees this sees the other
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

    /// Whether nothing is under way and no error waits to be reported, so that `quiet` has only
    /// stores to make visible, which a sync orders too.
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

    /// Flushes what `quiet` and `fence` wait for on other hosts, on `pes` if given.
    #[cold]
    #[inline(never)]
    fn flush_far(&self, pes: Option<&[usize]>) {
        if let Some(net) = self.pe().net() {
            flush(&**net, self.ops(), pes);
        }
        if self.gathering().room().is_some()
            && let Some(recorder) = self.pe().recorder()
        {
            recorder.batch();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        pin::pin,
        sync::Arc,
        task::{Context as TaskContext, Waker},
    };

    use oxshmem_base::{Error, settings::Settings};
    use oxshmem_job::Single;
    use oxshmem_spaces::Pe;

    use super::*;
    use crate::ContextOptions;

    #[test]
    fn what_waits_for_operations_is_on_the_board_for_as_long() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let pe = runtime.block_on(Pe::join(Arc::new(Single::new()), Settings::default())).unwrap();
        let ctx = Context::<crate::context::Shared>::new(Arc::clone(&pe), ContextOptions::new());
        let mut cx = TaskContext::from_waker(Waker::noop());
        let operation = ctx.ops().begin(0);
        let shown = || pe.board().seen().iter().map(|seen| seen.activity.to_string()).collect::<Vec<_>>();
        for (quiet, name) in
            [(ctx.quiet(), "quiet"), (ctx.pe_quiet(&[0]), "pe_quiet"), (ctx.fence(), "fence")]
        {
            let mut quiet = pin!(quiet);
            assert!(shown().is_empty(), "nothing is shown before it waits");
            assert!(quiet.as_mut().poll(&mut cx).is_pending() && quiet.as_mut().poll(&mut cx).is_pending());
            assert_eq!(shown(), [format!("{name}(1 operation under way)")]);
        }
        ctx.ops().complete(operation);
        assert!(shown().is_empty());
    }

    #[test]
    fn pe_quiet_fails_as_other_operations_where_its_context_reaches_no_pe() {
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
