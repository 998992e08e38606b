//! The world: a PE's handle to its job.

use std::{
    fmt,
    future::poll_fn,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context as TaskContext, Poll},
};

use futures::{
    FutureExt, TryFutureExt,
    future::{Either, Shared, ready},
};
use oxshmem_base::{
    Error, Result,
    settings::SpaceKind,
    sync::{Mutex, lock},
    version::{VENDOR_NAME, VERSION_MAJOR, VERSION_MINOR},
};
use oxshmem_ops::{Context, ContextOptions, context::Sharing, order::Quiet};
use oxshmem_runtime::{
    Pe,
    device::poll_with,
    flight::Flight,
    memory::Segment,
    net::{Simulation, flush_all},
};
use oxshmem_spaces::{Element, HeapUse, Hints, SymSlice};
use oxshmem_teams::{Collective, Outcome, Team, agree::meet_in, sync::sync_in};

use crate::{
    Rejected, partition,
    space::{Space, Spaces, unavailable},
};

/// A PE's handle to its job. Clones are the same PE; any thread may use any of them.
///
/// A PE whose last handle is dropped without [`finalize`](Self::finalize) is lost to its job: what waits in this process for it, or for
/// anything by what is left of its memory, teams and contexts, ends with [`Error::PeLost`].
///
/// ```
/// # use oxshmem::prelude::*;
/// # LocalCluster::run(2, |world| async move {
/// let twin = world.clone();
/// let task = tokio::spawn(async move { twin.my_pe() });
/// assert_eq!(task.await.unwrap(), world.my_pe());
/// assert_eq!(format!("{world:?}"), format!("PE {} of 2", world.my_pe()));
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[derive(Clone)]
pub struct World(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) pe: Arc<Pe>,
    pub(crate) spaces: Spaces,
    pub(crate) team: Team,
    shared: Team,
    context: Context,
    /// The `finalize` that was begun.
    ending: Mutex<Option<Shared<Ending>>>,
    /// Whether a caller has its outcome.
    has_ended: AtomicBool,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.pe.abandon();
    }
}

type Ending = Pin<Box<dyn Future<Output = Result<(), Arc<Error>>> + Send>>;

/// An end that goes on if nobody waits for it any more: then a thread does.
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
            world.0.has_ended.store(true, Ordering::Relaxed);
        }
        ended
    }
}

impl Drop for GoesOn {
    fn drop(&mut self) {
        let Some(world) = self.world.take() else { return };
        let ending = self.ending.clone();
        let wait = move || {
            // Whoever calls `finalize` again gets the outcome.
            let _ = futures::executor::block_on(ending);
            drop(world);
        };
        // Without the thread it goes on when somebody calls `finalize` again.
        let _ = std::thread::Builder::new().name("oxshmem-ending".into()).spawn(wait);
    }
}

/// What a program promises about its threads (`OpenSHMEM 1.6 §9.2`).
///
/// Every [`World`] gives [`Multiple`](Self::Multiple): the promises that C makes at run time are types here,
/// such as a context that is not `Send`.
///
/// ```
/// use oxshmem::ThreadLevel;
///
/// assert!(ThreadLevel::Single < ThreadLevel::Funneled && ThreadLevel::Serialized < ThreadLevel::Multiple);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ThreadLevel {
    /// One thread: `SHMEM_THREAD_SINGLE`.
    Single,
    /// Many, of which one calls the library: `SHMEM_THREAD_FUNNELED`.
    Funneled,
    /// Many, of which one at a time calls it: `SHMEM_THREAD_SERIALIZED`.
    Serialized,
    /// Many, all of which may call it at once: `SHMEM_THREAD_MULTIPLE`.
    Multiple,
}

impl World {
    pub(crate) fn new(pe: Arc<Pe>) -> Self {
        let [team, shared] = Team::predefined(&pe);
        let spaces = Spaces::new(&pe, &team);
        let context = team.default_context();
        let inner = Inner {
            pe,
            spaces,
            team,
            shared,
            context,
            ending: Mutex::new(None),
            has_ended: AtomicBool::new(false),
        };
        partition::announce(&inner);
        Self(Arc::new(inner))
    }

    /// This PE's number (`OpenSHMEM 1.6 §9.1.2`).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(3, |world| async move {
    /// let to = (world.my_pe() + 1) % world.n_pes();
    /// let from = world.alloc::<u64>(1).await?;
    /// world.context().p(from.at(0), world.my_pe() as u64, to).await?;
    /// world.barrier_all().await?;
    /// assert_eq!(from.at(0).load() as usize, (world.my_pe() + 2) % 3);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    pub fn my_pe(&self) -> usize {
        self.0.pe.me()
    }

    /// How many PEs the job has (`OpenSHMEM 1.6 §9.1.3`).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(3, |world| async move {
    /// assert_eq!(world.n_pes(), 3);
    /// assert!(world.my_pe() < world.n_pes());
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    pub fn n_pes(&self) -> usize {
        self.0.pe.n_pes()
    }

    /// The host that this PE runs on.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// assert!(!world.host().is_empty());
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn host(&self) -> &str {
        &self.0.pe.placement().host
    }

    /// The simulated network that the job is on, if it is in a [`LocalCluster`](crate::LocalCluster) in
    /// [virtual time](crate::Link::virtual_time), and on several hosts.
    ///
    /// ```
    /// use std::time::Duration;
    /// use oxshmem::{ClusterOptions, Link, prelude::*};
    ///
    /// let link = Link { latency: Duration::from_secs(3600), virtual_time: true, ..Link::default() };
    /// let options = ClusterOptions::default().hosts(8).link(link);
    /// let times = LocalCluster::run_with(8, options, |world| async move {
    ///     let simulation = world.simulation().unwrap();
    ///     let start = simulation.align().await?;
    ///     world.barrier_all().await?;
    ///     let taken = simulation.now() - start;
    ///     world.finalize().await?;
    ///     Ok(taken)
    /// })?;
    /// assert_eq!(times, [3 * link.latency; 8]); // log₂ 8 rounds, but no three hours
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn simulation(&self) -> Option<Simulation> {
        Simulation::of(&self.0.pe)
    }

    /// Whether `pe` can be reached by operations (`OpenSHMEM 1.6 §9.1.7`).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// assert!(world.pe_accessible(1));
    /// assert!(!world.pe_accessible(2));
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn pe_accessible(&self, pe: usize) -> bool {
        pe < self.n_pes()
    }

    /// Whether what is at `address` here is symmetric memory, so that operations reach its object on `pe`
    /// (`OpenSHMEM 1.6 §9.1.8`). Handles to symmetric memory always are; this is for addresses that came out of one.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let (data, own) = (world.alloc_zeroed::<u64>(4).await?, vec![0u64; 4]);
    /// // SAFETY: nobody writes to it while it is borrowed.
    /// let here = unsafe { data.view().as_slice() }.as_ptr();
    /// assert!(world.addr_accessible(here, 1) && !world.addr_accessible(here, 2));
    /// assert!(!world.addr_accessible(own.as_ptr(), 1));
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn addr_accessible<T>(&self, address: *const T, pe: usize) -> bool {
        let here = |segment: &Segment| {
            let start = segment.address_unchecked(self.0.pe.block(), 0).addr();
            address.addr().wrapping_sub(start) < segment.len()
        };
        let on_device = || self.0.pe.device().is_some_and(|device| here(device.segment()));
        let accessible = here(&self.0.pe.host_heap()) || on_device() && self.0.pe.has_device(pe);
        self.pe_accessible(pe) && accessible
    }

    /// The version of the specification that is implemented, major and minor (`OpenSHMEM 1.6 §9.1.11`).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// assert_eq!(world.version(), (1, 6));
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn version(&self) -> (u32, u32) {
        (VERSION_MAJOR, VERSION_MINOR)
    }

    /// The name of this library (`OpenSHMEM 1.6 §9.1.12`).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// assert!(world.name().starts_with("oxshmem "));
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn name(&self) -> &'static str {
        VENDOR_NAME
    }

    /// The thread level in force (`OpenSHMEM 1.6 §9.2.2`): always [`ThreadLevel::Multiple`].
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// assert_eq!(world.thread_level(), oxshmem::ThreadLevel::Multiple);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn thread_level(&self) -> ThreadLevel {
        ThreadLevel::Multiple
    }

    /// The default context: `SHMEM_CTX_DEFAULT` (`OpenSHMEM 1.6 §9.5`).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let counter = world.alloc_zeroed::<u64>(1).await?;
    /// world.context().inc(counter.at(0), 0).await?; // on PE 0
    /// world.barrier_all().await?;
    /// assert_eq!(world.context().g(counter.at(0), 0).await?, 2);
    /// # world.barrier_all().await?;
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    pub fn context(&self) -> &Context {
        &self.0.context
    }

    /// The team of all PEs: `SHMEM_TEAM_WORLD` (`OpenSHMEM 1.6 §9.4`). Splits and collectives begin here.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(4, |world| async move {
    /// let max = world.alloc::<f64>(1).await?;
    /// max.at(0).store(world.my_pe() as f64);
    /// world.team().max_reduce(&max, &max).await?;
    /// assert_eq!(max.at(0).load(), 3.0);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    pub fn team(&self) -> &Team {
        &self.0.team
    }

    /// The team of the PEs that can load and store each other's heaps, those of this host: `SHMEM_TEAM_SHARED`
    /// (`OpenSHMEM 1.6 §9.4`).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(4, |world| async move {
    /// assert_eq!(world.team_shared().n_pes(), 4); // all on one host
    /// world.team_shared().sync().await?;
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn team_shared(&self) -> &Team {
        &self.0.shared
    }

    /// A memory space, if this PE has it.
    ///
    /// # Errors
    /// [`Error::SpaceUnavailable`] and [`Error::Unsupported`], which say why there is none.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let default = world.space(SpaceKind::Default)?;
    /// assert_eq!(default.kind(), SpaceKind::Cpu); // unless the environment says otherwise
    /// assert!(default.capabilities().direct_access);
    /// assert!(world.space(SpaceKind::Gpu).is_err()); // nobody has enabled it
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn space(&self, kind: SpaceKind) -> Result<Space> {
        let found = self.0.spaces.get(kind).cloned();
        found.ok_or_else(|| unavailable(&self.0.pe, kind))
    }

    /// A context of its own, for as long as it is held. Local: other PEs need not do the same
    /// (`OpenSHMEM 1.6 §9.5.1`).
    ///
    /// # Errors
    /// [`Error::Finalized`].
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// let words = world.alloc::<u64>(4).await?;
    /// let ctx = world.create_context(ContextOptions::new().serialized())?;
    /// let put = ctx.put_nbi(&words, vec![7; 4], 0);
    /// ctx.quiet().await?; // of this context alone
    /// assert_eq!(words.view().to_vec(), [7; 4]);
    /// # put.await?;
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn create_context<M: Sharing>(&self, options: ContextOptions<M>) -> Result<Context<M>> {
        self.0.pe.check("create_context")?;
        self.0.team.create_context(options)
    }

    /// Allocates `len` elements on every PE. Their values are unspecified. Collective: every PE calls it with
    /// the same arguments, and may use all PEs' instances when its future is ready (`OpenSHMEM 1.6 §9.3.1`).
    ///
    /// An array without elements involves no other PE.
    ///
    /// # Errors
    /// [`Error::HeapExhausted`] on every PE alike; [`Error::CollectiveMismatch`] if PEs call it with different
    /// arguments, unless `SHMEM_CHECK_ALLOC` says otherwise; [`Error::PeLost`], [`Error::GlobalExit`] and
    /// [`Error::Finalized`].
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let grid = world.alloc::<f64>(100).await?;
    /// assert_eq!(grid.len(), 100);
    /// grid.view().fill(1.5); // this PE's
    /// world.barrier_all().await?;
    /// world.context().p(grid.at(0), 2.5, 1 - world.my_pe()).await?; // the other's
    /// world.barrier_all().await?;
    /// assert_eq!(grid.slice(..2).to_vec(), [2.5, 1.5]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn alloc<T: Element>(&self, len: usize) -> impl Future<Output = Result<SymSlice<T>>> + Send + use<T> {
        self.alloc_with("alloc", len, align_of::<T>(), Hints::NONE, false)
    }

    /// [`alloc`](Self::alloc), with every byte 0 on every PE (`OpenSHMEM 1.6 §9.3.6`).
    ///
    /// # Errors
    /// Those of [`alloc`](Self::alloc).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let counters = world.alloc_zeroed::<u32>(8).await?;
    /// assert_eq!(counters.view().to_vec(), [0; 8]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn alloc_zeroed<T: Element>(
        &self,
        len: usize,
    ) -> impl Future<Output = Result<SymSlice<T>>> + Send + use<T> {
        self.alloc_with("alloc_zeroed", len, align_of::<T>(), Hints::NONE, true)
    }

    /// [`alloc`](Self::alloc), aligned to `align` bytes: a power of two of at most 1 GiB
    /// (`OpenSHMEM 1.6 §9.3.4`).
    ///
    /// # Errors
    /// Those of [`alloc`](Self::alloc), and [`Error::InvalidAlignment`].
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// let page = world.alloc_aligned::<u8>(100, 4096).await?;
    /// let address = page.view().ptr(0).map(|ptr| ptr.addr());
    /// assert_eq!(address.map(|address| address % 4096), Some(0));
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn alloc_aligned<T: Element>(
        &self,
        len: usize,
        align: usize,
    ) -> impl Future<Output = Result<SymSlice<T>>> + Send + use<T> {
        self.alloc_with("alloc_aligned", len, align, Hints::NONE, false)
    }

    /// [`alloc`](Self::alloc), with hints of what it is for (`OpenSHMEM 1.6 §9.3.5`).
    ///
    /// # Errors
    /// Those of [`alloc`](Self::alloc).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let hints = Hints::ATOMICS_REMOTE | Hints::SIGNAL_REMOTE;
    /// let flag = world.alloc_with_hints::<u64>(1, hints).await?;
    /// assert_eq!(flag.len(), 1);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn alloc_with_hints<T: Element>(
        &self,
        len: usize,
        hints: Hints,
    ) -> impl Future<Output = Result<SymSlice<T>>> + Send + use<T> {
        self.alloc_with("alloc_with_hints", len, align_of::<T>(), hints, false)
    }

    fn alloc_with<T: Element>(
        &self,
        name: &'static str,
        len: usize,
        align: usize,
        hints: Hints,
        zeroed: bool,
    ) -> impl Future<Output = Result<SymSlice<T>>> + Send + use<T> {
        self.0.spaces.default().alloc_with(name, len, align, hints, zeroed)
    }

    pub(crate) fn spaces(&self) -> &Spaces {
        &self.0.spaces
    }

    /// Changes the length of `slice` to `len` elements. Those that both lengths have keep their values; new
    /// ones are unspecified. Hints and alignment are kept. Collective (`OpenSHMEM 1.6 §9.3.3`).
    ///
    /// The block is resized in place, or moved, where every PE gives its only handle to the whole of it.
    /// Where one has others, they keep the old block, and the new one is a copy. No operation on it may be
    /// under way.
    ///
    /// # Errors
    /// Those of [`alloc`](Self::alloc), with the slice given back in [`Rejected`](crate::Rejected);
    /// [`Error::ForeignMemory`] if the slice belongs to another job, or is another PE's handle, likewise. Other PEs that call it with
    /// a slice of their own have [`Error::CollectiveMismatch`] then. Where the collective itself fails, what comes back has no elements.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let mut list = world.alloc::<u32>(3).await?;
    /// list.view().write(&[1, 2, 3]);
    /// list = world.realloc(list, 1000).await?;
    /// assert_eq!(list.len(), 1000);
    /// assert_eq!(list.slice(..3).to_vec(), [1, 2, 3]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn realloc<T: Element>(
        &self,
        slice: SymSlice<T>,
        len: usize,
    ) -> impl Future<Output = Result<SymSlice<T>, Rejected<SymSlice<T>>>> + Send + use<T> {
        match self.0.spaces.of("realloc", &slice, len > 0 && size_of::<T>() > 0) {
            Ok(arena) => Either::Left(arena.realloc(slice, len)),
            Err(error) => Either::Right(ready(Err(Rejected { error, buffer: slice }))),
        }
    }

    /// Gives `slice` up, and frees whatever every PE has given up. Collective (`OpenSHMEM 1.6 §9.3.2`).
    ///
    /// The memory is free when all handles on all PEs are gone: clones that are still held keep it. The PEs
    /// sync before it is freed, so operations that they completed before are not disturbed.
    ///
    /// # Errors
    /// [`Error::ForeignMemory`] if the slice belongs to another job, or is another PE's handle, and [`Error::Finalized`], with the
    /// slice given back in [`Rejected`](crate::Rejected); [`Error::CollectiveMismatch`] if PEs free different slices, or one of them
    /// has refused its own, [`Error::PeLost`] and [`Error::GlobalExit`], with an empty one, as the slice was given up.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let before = world.heap_use().used;
    /// let buffer = world.alloc::<u8>(1 << 20).await?;
    /// world.free(buffer).await?;
    /// assert_eq!(world.heap_use().used, before);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn free<T: Element>(
        &self,
        slice: SymSlice<T>,
    ) -> impl Future<Output = Result<(), Rejected<SymSlice<T>>>> + Send + use<T> {
        match self.0.spaces.of("free", &slice, true) {
            Ok(arena) => Either::Left(arena.free(slice)),
            Err(error) => Either::Right(ready(Err(Rejected { error, buffer: slice }))),
        }
    }

    /// Frees whatever every PE has dropped of the default space. Collective. Allocations do so too: this is for programs that
    /// want the memory back, or the figures of [`heap_use`](Self::heap_use) exact, at a point of their choice.
    ///
    /// # Errors
    /// [`Error::PeLost`], [`Error::GlobalExit`] and [`Error::Finalized`].
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let buffer = world.alloc::<u8>(1 << 20).await?;
    /// drop(buffer); // tells nobody
    /// assert_eq!(world.heap_use().used, 1 << 20);
    /// world.reclaim().await?;
    /// assert_eq!(world.heap_use().used, 0);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn reclaim(&self) -> Outcome<()> {
        self.0.spaces.default().reclaim()
    }

    /// What the symmetric heap of the default space holds: where that has [partitions](Self::partitions), the first of them
    /// does. Blocks that were dropped, but are not reclaimed yet, count as used.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// let words = world.alloc::<u64>(100).await?;
    /// let heap = world.heap_use();
    /// assert_eq!((heap.blocks, heap.used), (1, 832)); // in whole lines of 64 bytes
    /// assert_eq!(heap.used + heap.free, heap.size);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn heap_use(&self) -> HeapUse {
        self.0.spaces.default().heap_use()
    }

    /// Completes the operations of the default context, then waits until every PE has come here
    /// (`OpenSHMEM 1.6 §9.10.1`). The call itself says that this PE has come, unless operations are still
    /// under way. Collective.
    ///
    /// # Errors
    /// Those of [`quiet`](Context::quiet) and of [`sync_all`](Self::sync_all).
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
            // Whoever has seen every PE's flag has seen what it stored before.
            return Barrier(Step::Sync(self.0.team.sync()));
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

    /// Waits until every PE has come here. Completes no operations (`OpenSHMEM 1.6 §9.10.4`). The call itself
    /// says that this PE has come. Collective.
    ///
    /// # Errors
    /// [`Error::PeLost`], [`Error::GlobalExit`] and [`Error::Finalized`].
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
    /// [`Error::PeOutOfRange`], [`Error::LengthMismatch`] at a root that passes `None`, and those of
    /// [`sync_all`](Self::sync_all).
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

    /// Leaves the job: completes all operations of this PE, waits until every PE has come here, and ends the
    /// world for all of its clones (`OpenSHMEM 1.6 §9.1.4`). Collective, and the last call of every PE.
    ///
    /// It goes on if its future is dropped; a further call then awaits the same end, and has its outcome even if that came before the call.
    ///
    /// # Errors
    /// [`Error::Finalized`] once a call has had the outcome; [`Error::CollectiveMismatch`] if another PE is in another collective of the
    /// world, which then ends with the same error; the errors of [`barrier_all`](Self::barrier_all).
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
            ended.await?.map_err(|e| match (&*e, pe.executor().check_failure()) {
                (_, Err(failure)) => failure,
                // Whatever was waited for may know before the executor does.
                (Error::PeLost { pe, how }, _) => Error::PeLost { pe: *pe, how: how.clone() },
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

    /// The end of which nobody has the outcome yet; it begins with the first call.
    fn ending(&self) -> Result<Shared<Ending>> {
        let mut ending = lock(&self.0.ending);
        match &*ending {
            // Relaxed: as where it is set.
            Some(begun) if !self.0.has_ended.load(Ordering::Relaxed) => Ok(begun.clone()),
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
        let left = self.0.team.run("finalize", move |group| async move {
            // Others wait for this PE whether or not its operations succeeded.
            others.await;
            let completed = quiet.await;
            let mark = pe.offloaded().mark();
            poll_fn(|cx| pe.offloaded().poll_quiet(&mark, None, cx)).await?;
            // Contexts that nobody has completed. What comes from a device goes on over the net, and the other way round.
            flush_device(&pe).await?;
            if let Some(net) = pe.net() {
                flush_all(&**net).await?;
                flush_device(&pe).await?;
            }
            meet_in(&group, "finalize").await?;
            sync_in(&group).await?;
            Ok(completed)
        });
        let (pe, partitions) = (Arc::clone(&self.0.pe), self.0.spaces.partitions().to_vec());
        // Not as a part of the collective, since leaving ends what that itself may wait for yet, and joins a thread of the
        // net, which may be about to look at the queue that the collective is in.
        let left = async move {
            let completed = left.await?;
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
        self.0.pe.key() == 0
    }

    /// Ends the whole job with `status`, from any PE, without waiting for the others
    /// (`OpenSHMEM 1.6 §9.1.6`).
    ///
    /// In a process of `oshrun`, or alone, it ends the process. In a [`LocalCluster`](crate::LocalCluster)
    /// it returns [`Error::GlobalExit`], as does whatever the other PEs wait for.
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

    /// Runs `future` to its end on this thread, which sleeps on this PE's doorbell meanwhile: for programs
    /// without an async runtime. In one, await instead.
    ///
    /// ```
    /// use oxshmem::settings::Settings;
    ///
    /// # let start = tokio::runtime::Builder::new_current_thread().build().unwrap();
    /// # let world = start.block_on(oxshmem::init_single(Settings::default()))?;
    /// # drop(start);
    /// let words = world.block_on(world.alloc::<u64>(4))?;
    /// assert_eq!(words.len(), 4);
    /// world.block_on(world.finalize())?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.0.pe.executor().block_on(future)
    }

    /// The PE below this world: its place in the job, its transports, and what drives them.
    ///
    /// It is for what is built on the same rooms as this package, such as the C library, benchmarks and tools that look
    /// into a job. Programs need nothing of it. What could break memory that others rely on is `unsafe` there too.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// assert_eq!(*world.pe().placement().local, [0, 1]); // both on this host
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn pe(&self) -> &Arc<Pe> {
        &self.0.pe
    }
}

/// Ready when everything that was started on the device of `pe`, if it has one, is over.
async fn flush_device(pe: &Pe) -> Result<()> {
    let Some(device) = pe.device() else { return Ok(()) };
    let flight = Arc::new(Flight::default());
    let landing = Arc::clone(&flight);
    device.flush(Box::new(move |flushed| landing.land(flushed)));
    poll_fn(|cx| poll_with(device, || flight.poll(cx))).await
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PE {} of {}", self.my_pe(), self.n_pes())
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
                // An error of an operation stays with the context until somebody is there to see it.
                Pin::new(collective).poll(cx).map(|ended| ended.and_then(|()| context.take_failed()))
            }
        }
    }
}
