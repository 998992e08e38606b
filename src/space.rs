//! Memory spaces: a symmetric heap for each kind of memory, with the team of the PEs that have it.
//!
//! Here the rooms meet: a collective allocation is an agreement among the team, an allocation on
//! every PE's heap and a sync.

use std::{fmt, sync::Arc};

use futures::future::{Either, ready};
use oxshmem_base::{
    Error, Result,
    settings::{PeRanges, SpaceKind},
};
use oxshmem_spaces::{
    Element, HeapUse, Hints, Pe, SymSlice, allocation::SymHeap, device::Capabilities, heap::Heap,
};
use oxshmem_teams::{Group, Outcome, Team};

use crate::{
    Rejected,
    allocating::allocating,
    arena::{Arena, no_partition},
};

/// The spaces that a PE has.
pub(crate) struct Spaces {
    cpu: Option<Space>,
    gpu: Option<Space>,
    default: Space,
}

impl Spaces {
    /// The spaces of `pe`, whose world is `world`.
    pub(crate) fn new(pe: &Arc<Pe>, world: &Team) -> Self {
        let has_device: Vec<usize> = (0..pe.n_pes()).filter(|&it| pe.has_device(it)).collect();
        let gpu_team = || match has_device.len() == pe.n_pes() {
            true => Some(world.clone()),
            // SAFETY: all PEs know the same of all, and a PE has one `Spaces`.
            false => unsafe { world.of_space(&has_device, "GPU") },
        };
        // SAFETY: a PE has one world, and that has one `Spaces`.
        let (host, device) = unsafe { (SymHeap::on_host(pe), SymHeap::on_device(pe)) };
        let cpu = Space::over(host, world);
        let gpu = device.and_then(|heap| Space::over(vec![heap], &gpu_team()?));
        let default = match pe.spaces().default {
            SpaceKind::Gpu => &gpu,
            SpaceKind::Cpu | SpaceKind::Default => &cpu,
        };
        // The plan has a heap for the default space, on every PE.
        let default = default.clone().unwrap_or_else(|| unreachable!("the default space is available"));
        Self { cpu, gpu, default }
    }

    /// These spaces, where all PEs that have them are those of `team`.
    pub(crate) fn of_team(&self, team: &Team) -> Self {
        let of_team = |space: &Space| Space { arenas: Arc::clone(&space.arenas), team: team.clone() };
        let Self { cpu, gpu, default } = self;
        Self { cpu: cpu.as_ref().map(of_team), gpu: gpu.as_ref().map(of_team), default: of_team(default) }
    }

    pub(crate) fn default(&self) -> &Space {
        &self.default
    }

    /// The space that this PE has of a kind.
    pub(crate) fn get(&self, kind: SpaceKind) -> Option<&Space> {
        match kind {
            SpaceKind::Default => Some(&self.default),
            SpaceKind::Cpu => self.cpu.as_ref(),
            SpaceKind::Gpu => self.gpu.as_ref(),
        }
    }

    /// All that this PE has.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Space> {
        self.cpu.iter().chain(&self.gpu)
    }

    /// The partitions of the CPU space's heap, by their numbers; the heap itself where it has none.
    pub(crate) fn partitions(&self) -> &[Arc<Arena>] {
        self.cpu.as_ref().map_or(&[], |space| &space.arenas)
    }

    /// The arena that `slice` is from, to be resized or freed by `call`, for which the other PEs
    /// wait if it `is_collective`.
    ///
    /// # Errors
    /// [`Error::ForeignMemory`] if it is not this PE's, which the other PEs learn from their call;
    /// [`Error::Finalized`].
    pub(crate) fn of<T: Element>(
        &self,
        call: &'static str,
        slice: &SymSlice<T>,
        is_collective: bool,
    ) -> Result<&Arc<Arena>> {
        self.get(slice.space()).unwrap_or(&self.default).arena_of(call, slice, is_collective)
    }
}

/// A memory space, as one PE has it: a symmetric heap, and the team of the PEs that have one there.
///
/// [`World::space`](crate::World::space) finds it. `World::alloc` and its sisters use the default
/// space.
///
/// ```
/// use oxshmem::{ClusterOptions, prelude::*};
///
/// let mut options = ClusterOptions::default();
/// options.settings.enable_cpu_space = Some("1".into());
/// options.settings.enable_gpu_space = Some("1".into());
/// options.settings.gpu_emulate = true; // a device for tests
/// LocalCluster::run_with(2, options, |world| async move {
///     let gpu = world.space(SpaceKind::Gpu)?;
///     let there = gpu.alloc_zeroed::<f32>(1024).await?; // in device memory, on each PE
///     let here = world.alloc::<f32>(1024).await?; // in host memory
///     here.view().fill(world.my_pe() as f32);
///     let next = (world.my_pe() + 1) % world.n_pes();
///     world.context().put(&there, &here.view().to_vec()[..], next).await?; // from host to device
///     world.barrier_all().await?;
///     gpu.team().sum_reduce(&there, &there).await?;
///     assert_eq!(there.at(7).load(), 1.0);
///     assert_eq!((there.space(), here.space()), (SpaceKind::Gpu, SpaceKind::Cpu));
///     world.finalize().await
/// })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[derive(Clone)]
pub struct Space {
    /// One for each partition, or the only one. There is at least one.
    pub(crate) arenas: Arc<[Arc<Arena>]>,
    team: Team,
}

impl Space {
    /// None if there are no heaps.
    fn over(heaps: Vec<Arc<SymHeap>>, team: &Team) -> Option<Self> {
        let arenas = heaps.into_iter().map(|heap| Arc::new(Arena::new(heap, team.clone())));
        let arenas: Arc<[_]> = arenas.collect();
        (!arenas.is_empty()).then(|| Self { arenas, team: team.clone() })
    }

    fn any(&self) -> &Arc<Arena> {
        &self.arenas[0]
    }

    /// The arena that `slice` is from, likewise.
    ///
    /// # Errors
    /// Also [`Error::SpaceMismatch`] if it is in another space.
    fn arena_of<T: Element>(
        &self,
        call: &'static str,
        slice: &SymSlice<T>,
        is_collective: bool,
    ) -> Result<&Arc<Arena>> {
        let (pe, allocation) = (self.any().pe(), slice.allocation());
        pe.check(call)?;
        if let Some(arena) = self.arenas.iter().find(|arena| allocation.is_from(&arena.heap)) {
            return Ok(arena);
        }
        if is_collective && allocation.block().is_some() {
            self.any().tell_refusal(call);
        }
        if !allocation.is_of(pe) || slice.space() == self.kind() {
            return Err(Error::ForeignMemory { call });
        }
        Err(Error::SpaceMismatch {
            call,
            what_a: "the memory",
            space_a: slice.space(),
            what_b: "what it is freed by",
            space_b: self.kind(),
        })
    }

    /// Where is allocated what names no partition.
    fn first(&self, call: &'static str) -> Result<&Arc<Arena>> {
        let found = self.arenas.iter().find(|arena| arena.heap.id() <= 1);
        found.ok_or_else(|| no_partition(&self.arenas, call, 1))
    }

    pub(crate) fn alloc_with<T: Element>(
        &self,
        name: &'static str,
        len: usize,
        align: usize,
        hints: Hints,
        zeroed: bool,
    ) -> impl Future<Output = Result<SymSlice<T>>> + Send + use<T> {
        let begun = self.first(name).map(|arena| arena.alloc(name, len, align, hints, zeroed));
        async move { begun?.await }
    }

    /// Which it is: [`SpaceKind::Cpu`] or [`SpaceKind::Gpu`].
    ///
    /// ```
    /// # use oxshmem::{ClusterOptions, prelude::*};
    /// # let mut options = ClusterOptions::default();
    /// # options.settings.enable_cpu_space = Some("1".into());
    /// # options.settings.enable_gpu_space = Some("1".into());
    /// # options.settings.gpu_emulate = true;
    /// # LocalCluster::run_with(2, options, |world| async move {
    /// assert_eq!(world.space(SpaceKind::Gpu)?.kind(), SpaceKind::Gpu);
    /// assert_eq!(world.space(SpaceKind::Default)?.kind(), SpaceKind::Cpu);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn kind(&self) -> SpaceKind {
        self.any().heap.domain().space()
    }

    /// What can be done with its memory.
    ///
    /// ```
    /// # use oxshmem::{ClusterOptions, prelude::*};
    /// # let mut options = ClusterOptions::default();
    /// # options.settings.enable_cpu_space = Some("1".into());
    /// # options.settings.enable_gpu_space = Some("1".into());
    /// # options.settings.gpu_emulate = true;
    /// # LocalCluster::run_with(2, options, |world| async move {
    /// let (cpu, gpu) = (world.space(SpaceKind::Cpu)?, world.space(SpaceKind::Gpu)?);
    /// assert!(cpu.capabilities().atomics && gpu.capabilities().atomics);
    /// // No pointer leads to device memory.
    /// assert!(cpu.capabilities().direct_access && !gpu.capabilities().direct_access);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn capabilities(&self) -> Capabilities {
        let nothing = Capabilities {
            rma: false,
            atomics: false,
            collectives: false,
            direct_access: false,
            world_access: false,
        };
        self.any().pe().capabilities(self.kind()).unwrap_or(nothing)
    }

    /// What its memory is: `host memory`, or the name of a device, such as `emulated`.
    ///
    /// ```
    /// # use oxshmem::{ClusterOptions, prelude::*};
    /// # let mut options = ClusterOptions::default();
    /// # options.settings.enable_cpu_space = Some("1".into());
    /// # options.settings.enable_gpu_space = Some("1".into());
    /// # options.settings.gpu_emulate = true;
    /// # LocalCluster::run_with(2, options, |world| async move {
    /// assert_eq!(world.space(SpaceKind::Cpu)?.memory(), "host memory");
    /// assert_eq!(world.space(SpaceKind::Gpu)?.memory(), "emulated");
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn memory(&self) -> &'static str {
        match (self.kind(), self.any().pe().device()) {
            (SpaceKind::Gpu, Some(device)) => device.name(),
            _ => "host memory",
        }
    }

    /// The PEs that have it: `SHMEM_TEAM_CPU` and `SHMEM_TEAM_GPU`. Where those are all PEs, it is
    /// the world's team.
    ///
    /// ```
    /// # use oxshmem::{ClusterOptions, prelude::*};
    /// # let mut options = ClusterOptions::default();
    /// # options.settings.enable_cpu_space = Some("1".into());
    /// # options.settings.enable_gpu_space = Some("1".into());
    /// # options.settings.gpu_emulate = true;
    /// # LocalCluster::run_with(2, options, |world| async move {
    /// assert_eq!(world.space(SpaceKind::Cpu)?.team(), world.team());
    /// world.space(SpaceKind::Gpu)?.team().sync().await?;
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn team(&self) -> &Team {
        &self.team
    }

    allocating!(
        "world.space(SpaceKind::Default)?",
        " on every PE of the space's [`team`](Self::team), in this space (`shmem_space_malloc` and its siblings)"
    );

    /// [`World::free`](crate::World::free) of memory of this space (`shmem_space_free`). Collective
    /// over its team.
    ///
    /// # Errors
    /// [`Error::SpaceMismatch`] if it is of another, with the slice given back; those of
    /// `World::free`.
    ///
    /// ```
    /// # use oxshmem::{ClusterOptions, prelude::*};
    /// # let mut options = ClusterOptions::default();
    /// # options.settings.enable_cpu_space = Some("1".into());
    /// # options.settings.enable_gpu_space = Some("1".into());
    /// # options.settings.gpu_emulate = true;
    /// # LocalCluster::run_with(2, options, |world| async move {
    /// let (cpu, gpu) = (world.space(SpaceKind::Cpu)?, world.space(SpaceKind::Gpu)?);
    /// let words = gpu.alloc::<u64>(8).await?;
    /// assert!(cpu.free(words.clone()).await.is_err()); // it is of the other space
    /// gpu.free(words).await?;
    /// assert_eq!(gpu.heap_use().blocks, 0);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn free<T: Element>(
        &self,
        slice: SymSlice<T>,
    ) -> impl Future<Output = Result<(), Rejected<SymSlice<T>>>> + Send + use<T> {
        match self.arena_of("free", &slice, true) {
            Ok(arena) => Either::Left(arena.free(slice)),
            Err(error) => Either::Right(ready(Err(Rejected { error, buffer: slice }))),
        }
    }

    /// [`World::reclaim`](crate::World::reclaim) for this space. Collective over its team.
    ///
    /// ```
    /// # use oxshmem::{ClusterOptions, prelude::*};
    /// # let mut options = ClusterOptions::default();
    /// # options.settings.enable_cpu_space = Some("1".into());
    /// # options.settings.enable_gpu_space = Some("1".into());
    /// # options.settings.gpu_emulate = true;
    /// # LocalCluster::run_with(2, options, |world| async move {
    /// let gpu = world.space(SpaceKind::Gpu)?;
    /// drop(gpu.alloc::<u64>(8).await?); // it stays until all PEs have dropped it, and know that
    /// gpu.reclaim().await?;
    /// assert_eq!(gpu.heap_use().used, 0);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn reclaim(&self) -> Outcome<()> {
        let arenas = Arc::clone(&self.arenas);
        let reclaim = move |group: Arc<Group>| async move {
            for arena in &*arenas {
                arena.call("reclaim", 0, 0, Hints::NONE, 8).reclaim_all(&group, arena).await?;
            }
            Ok(())
        };
        self.any().team().run("reclaim", reclaim)
    }

    /// What its heap holds: where that has partitions, the first of them does. Blocks that were
    /// dropped, but are not reclaimed yet, count as used.
    ///
    /// ```
    /// # use oxshmem::{ClusterOptions, prelude::*};
    /// # let mut options = ClusterOptions::default();
    /// # options.settings.enable_cpu_space = Some("1".into());
    /// # options.settings.enable_gpu_space = Some("1".into());
    /// # options.settings.gpu_emulate = true;
    /// # LocalCluster::run_with(2, options, |world| async move {
    /// let gpu = world.space(SpaceKind::Gpu)?;
    /// let words = gpu.alloc::<u64>(100).await?;
    /// let used = gpu.heap_use();
    /// assert_eq!((used.blocks, used.used), (1, 832)); // in whole lines of 64 bytes
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn heap_use(&self) -> HeapUse {
        self.first("heap_use").map_or_else(|_| Heap::new(0).usage(), |arena| arena.heap.usage())
    }
}

impl fmt::Debug for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} space ({}) of {:?}", self.kind(), self.memory(), self.team())
    }
}

/// Why a PE does not have a space.
pub(crate) fn unavailable(pe: &Pe, space: SpaceKind) -> Error {
    let (call, me) = ("space", pe.me());
    let some: Vec<usize> = (0..pe.n_pes()).filter(|&it| pe.has_device(it)).collect();
    if space == SpaceKind::Gpu && !some.is_empty() {
        return Error::Unsupported {
            what: format!(
                "space: PE {me} has no device, and so no GPU space; PEs {} of the job have{}",
                PeRanges::of(&some),
                pe.no_device().map_or(String::new(), |why| format!(" ({why})"))
            ),
        };
    }
    let why = (space == SpaceKind::Gpu).then(|| pe.no_device().map(str::to_owned)).flatten();
    Error::SpaceUnavailable { call, space, pe: me, why }
}
