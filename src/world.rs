//! The world: a PE's handle to its job.

use std::{
    fmt,
    pin::Pin,
    sync::{Arc, atomic::AtomicBool},
};

use futures::future::Shared;
use oxshmem_base::{
    Error, Result,
    sync::Mutex,
    version::{VENDOR_NAME, VERSION_MAJOR, VERSION_MINOR},
};
use oxshmem_net::Simulation;
use oxshmem_ops::{Context, ContextOptions, context::Sharing, stream::Gpu};
use oxshmem_spaces::{Pe, allocation::Allocation, device::kernel::DeviceHandle};
use oxshmem_teams::Team;

use crate::{faults::Watched, partition, space::Spaces};

/// A PE's handle to its job. Clones are the same PE; any thread may use any of them.
///
/// A PE whose last handle is dropped without [`finalize`](Self::finalize) is lost to its job: what
/// waits in this process for it, or for anything by what is left of its memory, teams and contexts,
/// ends with [`Error::PeLost`].
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
pub struct World(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) pe: Arc<Pe>,
    pub(crate) spaces: Spaces,
    pub(crate) team: Team,
    shared: Team,
    pub(crate) context: Context,
    pub(crate) joined: Arc<Joined>,
}

/// That the PE has joined its job, until the last world of it is gone: there is another one each
/// time that replacements of PEs were let in.
pub(crate) struct Joined {
    pe: Arc<Pe>,
    /// The `finalize` that was begun.
    pub(crate) ending: Mutex<Option<Shared<Ending>>>,
    /// Whether a caller has its outcome.
    pub(crate) has_ended: AtomicBool,
    /// Of a replacement: whether it has what others had allocated, and memory that it has no other
    /// handles to.
    pub(crate) has_memory: AtomicBool,
    pub(crate) unclaimed: Mutex<Vec<Arc<Allocation>>>,
    _watched: Option<Watched>,
}

impl Drop for Joined {
    fn drop(&mut self) {
        self.pe.abandon();
    }
}

/// The end of a world, under way.
pub(crate) type Ending = Pin<Box<dyn Future<Output = Result<(), Arc<Error>>> + Send>>;

/// What a program promises about its threads (`OpenSHMEM 1.6 §9.2`).
///
/// Every [`World`] gives [`Multiple`](Self::Multiple): the promises that C makes at run time are
/// types here, such as a context that is not `Send`.
///
/// ```
/// use oxshmem::ThreadLevel;
///
/// assert!(ThreadLevel::Single < ThreadLevel::Funneled);
/// assert!(ThreadLevel::Serialized < ThreadLevel::Multiple);
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
        Self::with(pe, None)
    }

    /// The world of a process that may have device memory which the handler of faults knows.
    pub(crate) fn with(pe: Arc<Pe>, watched: Option<Watched>) -> Self {
        let [team, shared] = Team::predefined(&pe);
        let spaces = Spaces::new(&pe, &team);
        let context = team.default_context();
        let joined = Joined {
            pe: Arc::clone(&pe),
            ending: Mutex::new(None),
            has_ended: AtomicBool::new(false),
            has_memory: AtomicBool::new(false),
            unclaimed: Mutex::default(),
            _watched: watched,
        };
        partition::announce(&pe, spaces.partitions());
        Self(Arc::new(Inner { pe, spaces, team, shared, context, joined: Arc::new(joined) }))
    }

    /// This PE's world with these teams, of all PEs and of those of its host.
    pub(crate) fn with_teams(&self, [team, shared]: [Team; 2]) -> Self {
        let (pe, joined) = (Arc::clone(&self.0.pe), Arc::clone(&self.0.joined));
        let (spaces, context) = (self.0.spaces.of_team(&team), team.default_context());
        Self(Arc::new(Inner { pe, spaces, team, shared, context, joined }))
    }

    /// Switches the recording of what this PE does on or off, where `SHMEM_TRACE` asks for one;
    /// otherwise it does nothing. It is on from the start. Any thread may call this, and each PE
    /// for itself. What is under way when it is switched off is still completed in the
    /// recording.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// world.tracing(false);
    /// let words = world.alloc_zeroed::<u64>(1000).await?; // not recorded
    /// world.tracing(true);
    /// world.context().p(words.at(0), 1, 1 - world.my_pe()).await?; // recorded
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn tracing(&self, on: bool) {
        self.0.pe.record(on, false);
    }

    /// [`tracing`](Self::tracing) for C, which may also have the recording written to its disk.
    #[doc(hidden)]
    pub fn tracing_and_flush(&self, on: bool) {
        self.0.pe.record(on, true);
    }

    /// From this call on, what this PE does is a part of the phase `name`, until it marks the next
    /// one. An empty name ends the phase, and none follows. An extension.
    ///
    /// Where a PE is in a phase, the table of all PEs of a job that hangs or dies has its name, and
    /// so has `oshtop`. A recording of the job (`SHMEM_TRACE`) has the phases, and its report the
    /// time, waits and operations of each. They are also marked while [`tracing`](Self::tracing) is
    /// off. Where there is no recording, a call writes the name to memory that the PEs of the host
    /// share, which takes 10 to 20 ns.
    ///
    /// A phase is of the PE, not of a thread or task: any of them may call this. It is not
    /// collective, and PEs may have different phases. A name may come again, as in loops. Names are
    /// cut to 55 bytes, at the end of a character. The recording of a PE holds 48 names. All
    /// further ones count as the phase `others`.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let words = world.alloc_zeroed::<u64>(8).await?;
    /// for step in 0..3 {
    ///     world.phase("compute");
    ///     let sum: u64 = (0..1000).sum();
    ///     world.phase("exchange");
    ///     world.context().p(words.at(0), sum + step, 1 - world.my_pe()).await?;
    ///     world.barrier_all().await?;
    /// }
    /// world.phase("");
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline]
    pub fn phase(&self, name: &str) {
        self.0.pe.phase(name);
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

    /// This PE's device, for streams and events of the program as futures.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if there is none, or if it is emulated.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// // The GPU space is not enabled here.
    /// assert!(matches!(world.gpu(), Err(oxshmem::Error::Unsupported { .. })));
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn gpu(&self) -> Result<Gpu> {
        Gpu::of(&self.0.pe)
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

    /// The simulated network that the job is on, if it is in a
    /// [`LocalCluster`](crate::LocalCluster) in [virtual time](crate::Link::virtual_time), and on
    /// several hosts.
    ///
    /// ```
    /// use std::time::Duration;
    /// use oxshmem::{ClusterOptions, Link, prelude::*};
    ///
    /// let latency = Duration::from_secs(3600);
    /// let link = Link { latency, virtual_time: true, ..Link::default() };
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
        Simulation::of(self.0.pe.bootstrap())
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

    /// Whether what is at `address` here is symmetric memory, so that operations reach its object
    /// on `pe` (`OpenSHMEM 1.6 §9.1.8`). Handles to symmetric memory always are; this is for
    /// addresses that came out of one.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let (data, own) = (world.alloc_zeroed::<u64>(4).await?, vec![0u64; 4]);
    /// // SAFETY: no PE writes to it while it is borrowed.
    /// let here = unsafe { data.view().as_slice() }.as_ptr();
    /// assert!(world.addr_accessible(here, 1) && !world.addr_accessible(here, 2));
    /// assert!(!world.addr_accessible(own.as_ptr(), 1));
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn addr_accessible<T>(&self, address: *const T, pe: usize) -> bool {
        let (own, heap) = (self.0.pe.local_pe(), self.0.pe.host_heap());
        let here = |start: usize, len| address.addr().wrapping_sub(start) < len;
        let on_device =
            || self.0.pe.device().is_some_and(|device| here(device.shown(own), device.segment().len()));
        let on_host = here(heap.address_unchecked(own, 0).addr(), heap.len());
        let accessible = on_host || on_device() && self.0.pe.has_device(pe);
        self.pe_accessible(pe) && accessible
    }

    /// The version of the specification that is implemented, major and minor (`OpenSHMEM 1.6
    /// §9.1.11`).
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

    /// What kernels of this PE's device take to communicate by themselves: `shmemx_device_handle`.
    ///
    /// It is an argument of a kernel, by value, whose text includes
    /// [`DEVICE_FUNCTIONS`](crate::DEVICE_FUNCTIONS), and in which `shmemx::put_block`,
    /// `shmemx::wait_until` and the others take it. With the feature `cuda` it is a `DeviceRepr` of
    /// cudarc. It keeps nothing alive: a kernel that has it must be over before the memory is freed
    /// that it uses, and before [`finalize`](Self::finalize). That is the launcher's to see to, as
    /// everything that a kernel does.
    ///
    /// What kernels ask the host for is complete after their own `quiet`. What of that fails, and
    /// waits that they give up, are errors of the next [`quiet`](Context::quiet) of the default
    /// context. From the first call on, each PE of the host that has a device looks after the words
    /// of kernels, at most every 20 us, and every millisecond when nothing comes for long.
    ///
    /// # Errors
    /// [`Error::OutsideSpace`] if the PE has no device, the driver's, and [`Error::Finalized`].
    ///
    /// ```
    /// # use oxshmem::{ClusterOptions, prelude::*};
    /// use oxshmem::DEVICE_FUNCTIONS;
    ///
    /// const KERNEL: &str = r#"
    ///     extern "C" __global__ void pass_on(shmemx_device_t shmem, double *cells, double *mine,
    ///                                        size_t n, unsigned long long *signal)
    ///     {
    ///         int next = (shmemx::my_pe(shmem) + 1) % shmemx::n_pes(shmem);
    ///         shmemx::put_signal_block(shmem, cells, mine, n, signal, 1, SHMEM_SIGNAL_SET, next);
    ///     }
    /// "#;
    /// # let mut options = ClusterOptions::default();
    /// # options.settings.enable_gpu_space = Some("1".into());
    /// # options.settings.gpu_emulate = true;
    /// # LocalCluster::run_with(2, options, |world| async move {
    /// let text = format!("{DEVICE_FUNCTIONS}{KERNEL}"); // for `cudarc::nvrtc::compile_ptx`
    /// let handle = world.device_handle()?; // for `.arg(&handle)` of cudarc's launch
    /// # assert!(text.contains("put_signal_block") && format!("{handle:?}").contains("n_pes: 2"));
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn device_handle(&self) -> Result<DeviceHandle> {
        self.0.context.device_handle()
    }

    /// The team of all PEs: `SHMEM_TEAM_WORLD` (`OpenSHMEM 1.6 §9.4`). Splits and collectives begin
    /// here.
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

    /// The team of the PEs that can load and store each other's heaps, those of this host:
    /// `SHMEM_TEAM_SHARED` (`OpenSHMEM 1.6 §9.4`).
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

    pub(crate) fn spaces(&self) -> &Spaces {
        &self.0.spaces
    }

    /// Runs `future` to its end on this thread, which sleeps on this PE's doorbell meanwhile: for
    /// programs without an async runtime. In one, await instead.
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
        self.0.pe.engine().block_on(future)
    }

    /// The PE below this world: its place in the job, its transports, and what drives them.
    ///
    /// It is for what is built on the same rooms as this package, such as the C library, benchmarks
    /// and tools that look into a job. Programs need nothing of it. What could break memory that
    /// others rely on is `unsafe` there too.
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

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PE {} of {}", self.my_pe(), self.n_pes())
    }
}
