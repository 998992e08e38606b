//! The PEs that the job has lost.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytemuck::Zeroable;
use futures::Stream;
use oxshmem_base::{Error, Result};
use oxshmem_job::Loss;
use oxshmem_memory::copy;
use oxshmem_spaces::{Pe, Symmetric};
use oxshmem_teams::{Survivors, Team};

use crate::{World, arena::Arena, space::Spaces};

impl World {
    /// The PEs that the job loses, the first one first, with those that it has lost already. All
    /// PEs see the same. Not collective, and it never ends. Of a job that ends with a lost PE there
    /// are none: the stream waits. An extension: the specification has no lost PEs.
    ///
    /// ```no_run
    /// # async fn example(world: oxshmem::World) {
    /// let mut losses = world.losses();
    /// loop {
    ///     let loss = losses.next().await;
    ///     println!("PE {} {}, the job goes on in view {}", loss.pe, loss.how, loss.view);
    /// }
    /// # }
    /// ```
    pub fn losses(&self) -> LossStream {
        LossStream { pe: Arc::clone(self.pe()), view: 0 }
    }

    /// Whether PE `pe` is lost, in a job that goes on, as far as this PE knows. Not collective.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// assert!(!world.is_lost(1));
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn is_lost(&self, pe: usize) -> bool {
        self.pe().losses().is_some_and(|losses| losses.of(pe).is_some())
    }
}

impl World {
    /// Has the PEs that are left share the symmetric memory: from then on, allocating, resizing and
    /// freeing, in every space and partition, are collective over them alone. What was allocated
    /// before stays, and is freed so too. Collective over the PEs that are left, each of which may
    /// have called other collectives of the world last.
    ///
    /// It returns their team, as [`Team::survivors`] of the world's team does. The world's team
    /// itself stays revoked, and with it what is collective over it, such as
    /// [`barrier_all`](Self::barrier_all).
    ///
    /// Where an allocation was under way when a PE was lost, and has ended well on some of the
    /// others, those that it failed on have no handle to that memory. It is free when all handles
    /// are gone.
    ///
    /// # Errors
    /// [`Error::PeLost`] if another PE is lost meanwhile: it may be called again. The errors of
    /// [`Team::survivors`].
    ///
    /// ```no_run
    /// # async fn example(world: oxshmem::World) -> oxshmem::Result<()> {
    /// use oxshmem::Error;
    ///
    /// let words = world.alloc_zeroed::<u64>(8).await?;
    /// if let Err(Error::PeLost { .. }) = world.barrier_all().await {
    ///     let team = world.survivors().await?.team;
    ///     let more = world.alloc_zeroed::<u64>(8).await?; // on those that are left
    ///     team.sum_reduce(&more, &words).await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn survivors(&self) -> Result<Survivors> {
        let spaces = &self.0.spaces;
        let survivors = share(spaces, self.team()).await?;
        // Where not all PEs have a device, those that have one share it.
        let of_some = spaces.all().map(|space| space.team()).find(|&team| team != self.team());
        if let Some(team) = of_some {
            share(spaces, team).await?;
        }
        Ok(survivors)
    }
}

impl World {
    /// What PE `pe` has in `memory`, on the host of this PE: also what it has left there, once it
    /// is lost. None if it is on another host, or the memory is that of a device. Not collective.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let words = world.alloc::<u64>(4).await?;
    /// words.slice(..).fill(world.my_pe() as u64);
    /// world.barrier_all().await?;
    /// assert_eq!(world.left_by(1, &words), Some(vec![1; 4]));
    /// # world.barrier_all().await?;
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn left_by<'a, M: Symmetric<'a>>(&self, pe: usize, memory: M) -> Option<Vec<M::Element>> {
        let view = memory.view();
        let mut left = vec![M::Element::zeroed(); view.len()];
        let there = view.ptr(pe)?;
        // SAFETY: both places have as many elements, any bytes are one, and the other PE's instance
        // stays mapped as long as this PE's does.
        unsafe { copy::copy(left.as_mut_ptr().cast(), there.cast(), size_of_val(&*left)) };
        Some(left)
    }
}

/// Has those that are left of `team` share the heaps that it shared.
async fn share(spaces: &Spaces, team: &Team) -> Result<Survivors> {
    let shared = spaces.all().filter(|space| space.team() == team);
    let arenas: Vec<&Arc<Arena>> = shared.flat_map(|space| &*space.arenas).collect();
    for arena in &arenas {
        // What has failed changes nothing from now on.
        arena.team().idle().await;
    }
    let changes = arenas.iter().flat_map(|arena| arena.heap.changes().to_le_bytes());
    let (survivors, given) = team.survivors_giving(changes.collect()).await?;
    let malformed = || Error::bootstrap("survivors", "what the members gave is malformed");
    for (i, arena) in arenas.iter().enumerate() {
        let of = |given: &Vec<u8>| given.as_chunks().0.get(i).map(|&word| u64::from_le_bytes(word));
        let changes: Vec<u64> = given.iter().map(of).collect::<Option<_>>().ok_or_else(malformed)?;
        // An agreement that some PEs have seen the end of, and others have not.
        let most = changes.iter().copied().max().unwrap_or_default();
        let knows = changes.iter().position(|&changes| changes == most).unwrap_or_default();
        if changes.iter().any(|&changes| changes < most) {
            let mine = (survivors.team.my_pe() == knows).then(|| arena.heap.encode());
            let heap = survivors.team.broadcast_bytes(mine, knows).await?;
            // SAFETY: PEs make the same changes one after the other, and none while they are here,
            // where those that know fewer have failed in the next.
            let is_heap = arena.heap.changes() == most || unsafe { arena.heap.adopt(most, &heap) };
            is_heap.then_some(()).ok_or_else(malformed)?;
        }
    }
    for arena in arenas {
        arena.set_team(&survivors.team);
    }
    Ok(survivors)
}

/// The PEs that a job loses: see [`World::losses`].
#[derive(Debug)]
#[must_use = "a stream does nothing unless it is polled"]
pub struct LossStream {
    pe: Arc<Pe>,
    view: u64,
}

impl LossStream {
    /// The next one, which it waits for. Dropping the future loses none.
    pub async fn next(&mut self) -> Loss {
        std::future::poll_fn(|cx| self.poll_loss(cx)).await
    }

    fn poll_loss(&mut self, cx: &Context<'_>) -> Poll<Loss> {
        let Some(losses) = self.pe.losses() else { return Poll::Pending };
        losses.poll_next(self.view, cx).map(|loss| {
            self.view = loss.view;
            loss
        })
    }
}

impl Stream for LossStream {
    type Item = Loss;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Loss>> {
        self.poll_loss(cx).map(Some)
    }
}
