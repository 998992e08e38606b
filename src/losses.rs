//! The PEs that the job has lost.

use std::{
    pin::Pin,
    sync::{Arc, atomic::Ordering},
    task::{Context, Poll},
};

use bytemuck::Zeroable;
use futures::Stream;
use oxshmem_base::{Error, Result, sync::lock};
use oxshmem_job::{Loss, LossWatch, wire};
use oxshmem_memory::copy;
use oxshmem_spaces::{Element, SymSlice, Symmetric, allocation::Allocation, heap::LINE};
use oxshmem_teams::{Rebuilt, Survivors, Team};

use crate::{World, arena::Arena};

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
        LossStream(self.pe().losses().map(|losses| LossWatch::new(losses, 0)))
    }

    /// Whether PE `pe` is lost, in a job that goes on, as far as this PE knows: one that has a
    /// replacement is, until [`rebuilt`](Self::rebuilt) has let that in. Not collective.
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
        let survivors = self.share(self.team()).await?;
        // Where not all PEs have a device, those that have one share it.
        let of_some = spaces.all().map(|space| space.team()).find(|&team| team != self.team());
        if let Some(team) = of_some {
            self.share(team).await?;
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

impl World {
    /// Has those that are left of `team` share the heaps that it shared.
    async fn share(&self, team: &Team) -> Result<Survivors> {
        let shared = self.0.spaces.all().filter(|space| space.team() == team);
        let arenas: Vec<&Arc<Arena>> = shared.flat_map(|space| &*space.arenas).collect();
        for arena in &arenas {
            // What has failed changes nothing from now on.
            arena.team().idle().await;
        }
        let (survivors, given) = team.survivors_giving(changes_of(&arenas)).await?;
        let mut newer = Vec::with_capacity(arenas.len());
        for (arena, latest) in arenas.iter().zip(latest_of(arenas.len(), &given)?) {
            newer.push(match latest {
                Some((changes, knows)) => {
                    let mine = (survivors.team.my_pe() == knows).then(|| arena.heap.encode());
                    Some((changes, survivors.team.broadcast_bytes(mine, knows).await?))
                }
                None => None,
            });
        }
        self.have_alike(&arenas, &survivors.team, newer)?;
        Ok(survivors)
    }

    /// Has the PEs of `team` share heaps from now on, some of which are `newer` elsewhere: after
    /// how many changes, and what they are.
    fn have_alike(
        &self,
        arenas: &[&Arc<Arena>],
        team: &Team,
        newer: Vec<Option<(u64, Vec<u8>)>>,
    ) -> Result<()> {
        let mut news = Vec::new();
        for (arena, newer) in arenas.iter().zip(newer) {
            if let Some((changes, heap)) = newer.filter(|&(changes, _)| arena.heap.changes() < changes) {
                // SAFETY: PEs make the same changes one after the other, and none while they are
                // here, where those that know fewer have failed in the next.
                news.extend(unsafe { arena.heap.adopt(changes, &heap) }.ok_or_else(malformed)?);
            }
        }
        arenas.iter().for_each(|arena| arena.set_team(team));
        // What a replacement finds at first is all that there was; others have failed to get it.
        if self.is_replacement() && !self.0.joined.has_memory.swap(true, Ordering::Relaxed) {
            *lock(&self.0.joined.unclaimed) = news;
        }
        Ok(())
    }
}

fn malformed() -> Error {
    Error::bootstrap("survivors", "what the members gave is malformed")
}

/// Of each heap that some PEs have changed less often than others, an agreement that not all have
/// seen the end of: how often it was changed, and the first PE that knows it so. What PEs gave
/// comes from [`changes_of`].
fn latest_of(heaps: usize, given: &[Vec<u8>]) -> Result<Vec<Option<(u64, usize)>>> {
    let latest = |heap| {
        let of = |given: &Vec<u8>| given.as_chunks().0.get(heap).map(|&word| u64::from_le_bytes(word));
        let changes: Vec<u64> = given.iter().map(of).collect::<Option<_>>().ok_or_else(malformed)?;
        let most = changes.iter().copied().max().unwrap_or_default();
        let knows = changes.iter().position(|&changes| changes == most).unwrap_or_default();
        Ok(changes.iter().any(|&changes| changes < most).then_some((most, knows)))
    };
    (0..heaps).map(latest).collect()
}

/// How many changes each heap has had.
fn changes_of(arenas: &[&Arc<Arena>]) -> Vec<u8> {
    arenas.iter().flat_map(|arena| arena.heap.changes().to_le_bytes()).collect()
}

/// Memory that other PEs have a handle to, and this one has none: see [`World::unclaimed`].
#[derive(Debug)]
pub struct Unclaimed(Arc<Allocation>);

impl Unclaimed {
    /// How many bytes it has.
    pub fn bytes(&self) -> usize {
        self.0.len()
    }

    /// The handle, as elements of `T`, as many as fit.
    ///
    /// # Panics
    /// If elements of `T` are aligned to more bytes than the memory.
    #[track_caller]
    pub fn claim<T: Element>(self) -> SymSlice<T> {
        let align = self.0.block().map_or(1, |block| block.align.max(LINE));
        assert!(align_of::<T>() <= align, "the memory is aligned to {align} bytes");
        let len = self.0.len().checked_div(size_of::<T>()).unwrap_or_default();
        SymSlice::new(self.0, len)
    }
}

impl World {
    /// Whether this PE comes in the place of one that the job has lost (`oshrun --respawn`). It
    /// takes part once [`rebuilt`](Self::rebuilt) has returned.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// assert!(!world.is_replacement());
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn is_replacement(&self) -> bool {
        self.pe().placement().is_replacement
    }

    /// The PEs of which a replacement has joined the job, the first one first. The others let it
    /// in by [`rebuilt`](Self::rebuilt). Not collective, and it never ends. Where there are no
    /// replacements, the stream waits.
    pub fn rejoined(&self) -> RejoinStream {
        RejoinStream { losses: self.pe().losses().map(|losses| LossWatch::new(losses, 0)), count: 0 }
    }

    /// The world of all PEs, when each that was lost has a [replacement](Self::rejoined).
    /// Collective over all PEs, the replacements included, whatever each has called last. An
    /// extension: the specification has no lost PEs.
    ///
    /// The new world has teams of its own, for all PEs and for those of this host if any of them
    /// was lost, and a default context. It shares everything else with the old one: memory, and the
    /// end of both. The teams of the old world that have lost a member stay revoked. Allocating and
    /// freeing are collective over all PEs again. What was allocated before is there on a
    /// replacement too, zeroed: [`unclaimed`](Self::unclaimed) has handles to it.
    ///
    /// It returns the new world on all PEs or on none. If a PE is lost meanwhile, the teams of the
    /// new world may be revoked already.
    ///
    /// # Errors
    /// [`Error::PeLost`] on every PE if one is lost and has no replacement yet: it may be called
    /// again. Likewise if another PE waits in [`survivors`](Self::survivors) for one that is here.
    /// [`Error::Bootstrap`] on a replacement if others have left the job already.
    /// [`Error::Unsupported`] in a job that ends when a PE is lost.
    ///
    /// ```no_run
    /// # async fn serve(_: &oxshmem::World) -> oxshmem::Result<()> { Ok(()) }
    /// # async fn example(mut world: oxshmem::World) -> oxshmem::Result<()> {
    /// use oxshmem::Error;
    ///
    /// let mut rejoined = world.rejoined();
    /// let mut is_new = world.is_replacement();
    /// loop {
    ///     if !is_new {
    ///         match serve(&world).await {
    ///             Err(Error::PeLost { .. }) => rejoined.next().await,
    ///             other => return other,
    ///         };
    ///     }
    ///     while let Ok(whole) = world.rebuilt().await {
    ///         (world, is_new) = (whole, false);
    ///     }
    /// }
    /// # }
    /// ```
    pub async fn rebuilt(&self) -> Result<Self> {
        let spaces = &self.0.spaces;
        let arenas: Vec<&Arc<Arena>> = spaces.all().flat_map(|space| &*space.arenas).collect();
        for arena in &arenas {
            arena.team().idle().await;
        }
        // Each heap that not all know comes from one PE, before any has the new world.
        let known = |given: &[Vec<u8>]| {
            let latest = latest_of(arenas.len(), given)?;
            let mine = arenas.iter().zip(latest).map(|(arena, latest)| match latest {
                Some((_, knows)) if knows == self.my_pe() => arena.heap.encode(),
                _ => Vec::new(),
            });
            Ok(wire::pack(&mine.collect::<Vec<_>>()))
        };
        let rebuilt = self.team().rebuilt(self.team_shared(), &changes_of(&arenas), known).await?;
        let Rebuilt { teams, given: [changes, heaps] } = rebuilt;
        let latest = latest_of(arenas.len(), &changes)?.into_iter().enumerate();
        let newer = latest.map(|(at, latest)| match latest {
            Some((changes, knows)) => {
                let heaps = wire::unpack(&heaps[knows], arenas.len()).ok_or_else(malformed)?;
                Ok(Some((changes, heaps[at].clone())))
            }
            None => Ok(None),
        });
        self.have_alike(&arenas, &teams[0], newer.collect::<Result<_>>()?)?;
        Ok(self.with_teams(teams))
    }

    /// On a replacement, handles to the memory that the others had allocated before
    /// [`rebuilt`](Self::rebuilt) returned first, in the order in which they did, partition by
    /// partition; later, and on other PEs, nothing. Memory that all others have dropped, but is not
    /// reclaimed yet, is among it. Not collective.
    ///
    /// What of it is dropped is given up.
    pub fn unclaimed(&self) -> Vec<Unclaimed> {
        std::mem::take(&mut *lock(&self.0.joined.unclaimed)).into_iter().map(Unclaimed).collect()
    }
}

/// The PEs of which replacements have joined: see [`World::rejoined`].
#[derive(Debug)]
#[must_use = "a stream does nothing unless it is polled"]
pub struct RejoinStream {
    losses: Option<LossWatch>,
    count: usize,
}

impl RejoinStream {
    /// The next one, which it waits for. Dropping the future loses none.
    pub async fn next(&mut self) -> usize {
        std::future::poll_fn(|cx| self.poll_rejoined(cx)).await
    }

    fn poll_rejoined(&mut self, cx: &Context<'_>) -> Poll<usize> {
        let Some(losses) = &self.losses else { return Poll::Pending };
        losses.poll_rejoined(self.count, cx).map(|pe| {
            self.count += 1;
            pe
        })
    }
}

impl Stream for RejoinStream {
    type Item = usize;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<usize>> {
        self.poll_rejoined(cx).map(Some)
    }
}

/// The PEs that a job loses: see [`World::losses`].
#[derive(Debug)]
#[must_use = "a stream does nothing unless it is polled"]
pub struct LossStream(Option<LossWatch>);

impl LossStream {
    /// The next one, which it waits for. Dropping the future loses none.
    pub async fn next(&mut self) -> Loss {
        std::future::poll_fn(|cx| self.poll_loss(cx)).await
    }

    fn poll_loss(&mut self, cx: &Context<'_>) -> Poll<Loss> {
        self.0.as_mut().map_or(Poll::Pending, |losses| losses.poll_next(cx))
    }
}

impl Stream for LossStream {
    type Item = Loss;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Loss>> {
        self.poll_loss(cx).map(Some)
    }
}
