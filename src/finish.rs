//! The end of a world: leaving the job, and ending it for all.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    sync::{Arc, atomic::Ordering},
    task::{Context as TaskContext, Poll},
};

use futures::{
    FutureExt, TryFutureExt,
    future::{Shared, select},
};
use oxshmem_base::{Error, Result, sync::lock};
use oxshmem_job::LossWatch;
use oxshmem_net::flush_all;
use oxshmem_ops::order::Quiet;
use oxshmem_progress::flight::Flight;
use oxshmem_spaces::Pe;
use oxshmem_teams::{agree::meet_in, sync::sync_in};

use crate::{
    partition,
    world::{Ending, World},
};

/// A future of the end of a world. If it is dropped, a thread awaits the end instead.
struct GoesOn {
    ending: Shared<Ending>,
    /// Until it is over.
    world: Option<World>,
}

impl Future for GoesOn {
    type Output = Result<(), Arc<Error>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let ended = self.ending.poll_unpin(cx);
        if ended.is_ready()
            && let Some(world) = self.world.take()
        {
            // Relaxed: a flag for mistakes, not for synchronisation.
            world.0.joined.has_ended.store(true, Ordering::Relaxed);
        }
        ended
    }
}

impl Drop for GoesOn {
    fn drop(&mut self) {
        // A PE that cannot go on does not come to its end either.
        let Some(world) = self.world.take().filter(|world| world.pe().engine().check_failure().is_ok())
        else {
            return;
        };
        let ending = self.ending.clone();
        let wait = move || {
            // A further call of `finalize` gets the outcome.
            let _ = futures::executor::block_on(ending);
            drop(world);
        };
        // Without the thread it goes on when `finalize` is called again.
        let _ = std::thread::Builder::new().name("oxshmem-ending".into()).spawn(wait);
    }
}

impl World {
    /// Leaves the job: completes all operations of this PE, waits until every PE has come here, and
    /// ends the world for all of its clones (`OpenSHMEM 1.6 §9.1.4`). Collective, and the last call
    /// of every PE.
    ///
    /// It goes on if its future is dropped; a further call then awaits the same end, and has its
    /// outcome even if that came before the call.
    ///
    /// # Errors
    /// [`Error::Finalized`] once a call has had the outcome; [`Error::CollectiveMismatch`] if
    /// another PE is in another collective of the world, which then ends with the same error; the
    /// errors of [`barrier_all`](Self::barrier_all).
    ///
    /// ```
    /// use oxshmem::{Error, prelude::*};
    ///
    /// LocalCluster::run(2, |world| async move {
    ///     world.finalize().await?;
    ///     assert!(matches!(world.barrier_all().await, Err(Error::Finalized { .. })));
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn finalize(&self) -> impl Future<Output = Result<()>> + Send + use<> {
        let pe = Arc::clone(&self.0.pe);
        let ending = self.ending().map(|ending| GoesOn { ending, world: Some(self.clone()) });
        let team = self.0.team.clone();
        async move {
            let mut ending = ending?;
            let ended = poll_fn(|cx| {
                team.check_awaited("finalize")?;
                ending.poll_unpin(cx).map(Ok::<_, Error>)
            });
            ended.await?.map_err(|e| match (&*e, pe.engine().check_failure()) {
                (_, Err(failure)) => failure,
                // Whatever was waited for may know before the engine does.
                (Error::PeLost { pe, view, how }, _) => {
                    Error::PeLost { pe: *pe, view: *view, how: how.clone() }
                }
                (Error::CollectiveMismatch { pe_a, call_a, pe_b, call_b }, _) => Error::CollectiveMismatch {
                    pe_a: *pe_a,
                    call_a: call_a.clone(),
                    pe_b: *pe_b,
                    call_b: call_b.clone(),
                },
                (Error::GlobalExit { pe, status }, _) => Error::GlobalExit { pe: *pe, status: *status },
                (_, Ok(())) => Error::bootstrap("finalize", e),
            })
        }
    }

    /// The end of this world, if no caller has its outcome yet. It begins with the first call.
    fn ending(&self) -> Result<Shared<Ending>> {
        let mut ending = lock(&self.0.joined.ending);
        match &*ending {
            // Relaxed: as where it is set.
            Some(begun) if !self.0.joined.has_ended.load(Ordering::Relaxed) => Ok(begun.clone()),
            _ => {
                self.0.pe.check_home("finalize")?;
                Ok(ending.get_or_insert_with(|| self.leave().shared()).clone())
            }
        }
    }

    fn leave(&self) -> Ending {
        let quiet = self.0.context.quiet();
        let pe = Arc::clone(&self.0.pe);
        let others = self.0.team.others_idle();
        if pe.losses().is_some() {
            return self.leave_with_survivors();
        }
        let left = self.0.team.run("finalize", move |group| async move {
            // Others wait for this PE whether or not its operations succeeded.
            others.await;
            let completed = complete(&pe, quiet).await?;
            meet_in(&group, "finalize").await?;
            sync_in(&group).await?;
            Ok(completed)
        });
        let (pe, partitions) = (Arc::clone(&self.0.pe), self.0.spaces.partitions().to_vec());
        // Not as a part of the collective, since leaving ends what that itself may wait for yet,
        // and joins a thread of the net, which may be about to look at the queue that the
        // collective is in.
        let left = async move {
            let completed = left.await?;
            partition::report_at_end(&pe, &partitions);
            pe.leave();
            completed
        };
        Box::pin(left.map_err(Arc::new))
    }

    /// Leaves a job that goes on without PEs that it has lost: the others meet at the launcher.
    fn leave_with_survivors(&self) -> Ending {
        let (quiet, all) = (self.0.context.quiet(), self.0.team.all_idle());
        let (pe, partitions) = (Arc::clone(&self.0.pe), self.0.spaces.partitions().to_vec());
        let left = async move {
            // Members of a team may never come to what this PE has begun on it, since another of
            // their teams has lost a member: that does not end.
            let losses = pe.losses().cloned().unwrap_or_default();
            let mut watch = LossWatch::new(&losses, 0);
            let any_loss = poll_fn(|cx| watch.poll_next(cx));
            select(pin!(all), any_loss).await;
            let completed = complete(&pe, quiet).await?;
            pe.bootstrap().barrier().await?;
            partition::report_at_end(&pe, &partitions);
            pe.leave();
            completed
        };
        Box::pin(left.map_err(Arc::new))
    }

    /// Whether [`finalize`](Self::finalize) has ended this world.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// let ends = LocalCluster::run(2, |world| async move {
    ///     let before = world.is_finalized();
    ///     world.finalize().await?;
    ///     Ok((before, world.is_finalized()))
    /// })?;
    /// assert_eq!(ends, [(false, true); 2]);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn is_finalized(&self) -> bool {
        self.0.pe.has_left()
    }

    /// Ends the whole job with `status`, from any PE, without waiting for the others
    /// (`OpenSHMEM 1.6 §9.1.6`).
    ///
    /// In a process of `oshrun`, or alone, it ends the process. In a
    /// [`LocalCluster`](crate::LocalCluster) it returns [`Error::GlobalExit`], as does whatever the
    /// other PEs wait for.
    ///
    /// # Errors
    /// Always one, if it returns at all.
    ///
    /// ```
    /// use oxshmem::{Error, prelude::*};
    ///
    /// let ended = LocalCluster::run(2, |world| async move {
    ///     if world.my_pe() == 1 {
    ///         world.global_exit(3).await?;
    ///     }
    ///     world.barrier_all().await // PE 1 never comes
    /// });
    /// assert!(matches!(ended, Err(Error::GlobalExit { pe: 1, status: 3 })));
    /// ```
    pub async fn global_exit(&self, status: i32) -> Result<()> {
        self.0.pe.home().check(self.my_pe(), "global_exit")?;
        self.0.pe.abort(status, "");
        if self.0.pe.owns_process() {
            std::process::exit(status);
        }
        Err(Error::GlobalExit { pe: self.my_pe(), status })
    }
}

/// Completes everything that this PE has under way. Inside are the errors that the program has not
/// seen.
async fn complete(pe: &Pe, quiet: Quiet) -> Result<Result<()>> {
    let completed = quiet.await;
    let mark = pe.offloaded().mark();
    poll_fn(|cx| pe.offloaded().poll_quiet(&mark, None, cx)).await?;
    // Contexts that were not completed. What comes from a device goes on over the net, and the
    // other way round.
    flush_device(pe).await?;
    if let Some(net) = pe.net() {
        flush_all(&**net).await?;
        flush_device(pe).await?;
    }
    Ok(completed)
}

/// Ready when everything that was started on the device of `pe`, if it has one, is over.
async fn flush_device(pe: &Pe) -> Result<()> {
    let Some(device) = pe.device() else { return Ok(()) };
    let flight = Arc::new(Flight::default());
    let landing = Arc::clone(&flight);
    device.flush(None, Box::new(move |flushed| landing.land(flushed)));
    poll_fn(|cx| pe.engine().poll_with(|| flight.poll(cx))).await
}
