//! A PE that has joined its job: everything that operations need to reach the others.

#[cfg(test)]
mod tests;

mod agreement;
mod helpers;
mod losses;
mod places;
mod recording;
mod spread;

use std::{
    any::{Any, TypeId},
    collections::HashMap,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use oxshmem_base::{
    Error, Result,
    home::Home,
    settings::{FenceSide, Settings, SpaceKind, SpacePlan},
    sync::{Mutex, lock},
};
use oxshmem_job::{Bootstrap, Losses, Placement, joining::Joining};
use oxshmem_memory::{HostMap, Segment, SegmentId};
use oxshmem_net::{Net, Shm, Wires};
use oxshmem_progress::{
    activity::{Board, Boards, Table, Watcher, table_of},
    copies::CopyEngine,
    executor::Executor,
    fabric::Fabric,
    failure::Failure,
    opset::{OpSet, Tally},
    record::Recorder,
    source::Source,
    wait::WaitPolicy,
    watchdog::{Watchdog, WatchdogSlot},
};

use self::{
    agreement::Abilities,
    places::{Places, beyond, symmetric},
};
pub use self::{helpers::Helpers, places::IMAGE_TAIL};
use crate::{
    device::{self, AnyDevice, Capabilities, Devices, WordsOf, kernel::Kernels},
    kinds::{PartitionLayout, partitions::Partitions},
    relay::{self, Owner, Pieces},
};

/// One PE of a running job.
#[derive(Debug)]
pub struct Pe {
    /// What [`key`](Self::key) returns. It becomes 0 when the PE leaves.
    key: AtomicUsize,
    recorder: Option<Arc<Recorder>>,
    me: usize,
    block: usize,
    n_pes: usize,
    shm: Shm,
    net: Option<Arc<dyn Net>>,
    pieces: Option<Arc<Pieces>>,
    engine: Arc<Executor>,
    fabric: Arc<Fabric>,
    board: Board,
    tally: Arc<Tally>,
    copy_engine: CopyEngine,
    offloaded: Arc<OpSet>,
    settings: Settings,
    partitions: Partitions,
    spaces: SpacePlan,
    places: Places,
    device: Option<AnyDevice>,
    kernels: Option<Arc<Kernels>>,
    /// Why not all PEs have one.
    no_device: Option<String>,
    crowded: bool,
    processors: usize,
    fence_side: FenceSide,
    losses: Option<Arc<Losses>>,
    bootstrap: BootstrapHandle,
    home: Home,
    kept: Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

struct BootstrapHandle(Arc<dyn Bootstrap>);

impl std::fmt::Debug for BootstrapHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.placement().fmt(f)
    }
}

impl Pe {
    /// Joins the job that `bootstrap` knows. Collective over all PEs.
    pub async fn join(bootstrap: Arc<dyn Bootstrap>, settings: Settings) -> Result<Arc<Self>> {
        let Placement { pe: me, n_pes, .. } = *bootstrap.placement();
        let block = bootstrap.placement().hosts.local_pe_of(me);
        let joining = Joining::watch(&bootstrap, settings.hang_limit());
        let Abilities { pes, cpus, membarrier } = Abilities::agree(&*bootstrap, &settings).await?;

        let in_process = bootstrap.in_process();
        let devices = Devices::find(&*bootstrap, &settings).await?;
        let spaces = SpacePlan::explained(&settings, &devices.has, devices.why.as_deref())?;
        losses::check_replacement(&*bootstrap, &spaces)?;
        let layout = PartitionLayout::of(&settings, spaces.cpu)?;
        let far = bootstrap.placement().hosts.n_hosts() > 1;
        let places = Places::new(&settings, &spaces, &layout, far);
        let (places, heap_stride) = places
            .and_then(|places| Some((places, places.stride(&layout, in_process)?)))
            .ok_or_else(|| beyond(&spaces))?;
        let (partitions, heap) = Partitions::make(&*bootstrap, &settings, layout, heap_stride).await?;
        let fabric = oxshmem_job::share(&*bootstrap, || {
            let heap = heap.unwrap_or_else(|| unreachable!("the leader has made it"));
            Fabric::with_heap(heap, in_process)
        })
        .await?;
        if bootstrap.placement().is_replacement {
            // SAFETY: the PE that was here before is lost: its process has ended, or, in a cluster,
            // nothing is left of it.
            unsafe { fabric.clear(block) }?;
        }
        let made = fabric.common.of(device::Made::default);
        let device = device::make(device::Parts {
            bootstrap: &bootstrap,
            settings: &settings,
            spaces: &spaces,
            host: &fabric.heap,
            at: places.device,
            made: &made,
            helper_waker: fabric.helper_waker(),
        })
        .await?;
        let fence_side = settings.fence_for(pes, cpus, membarrier)?;

        let crowded = in_process || pes > cpus;
        let spin = if in_process { Duration::ZERO } else { settings.spin_for(pes, cpus) };
        let policy = WaitPolicy::new(spin, settings.yield_rounds, settings.local_stores);
        let engine = Executor::new(&fabric, block, fence_side, policy);
        engine.attach_launcher(&bootstrap);
        if let Some(device) = &device {
            engine.attach_words(Arc::new(WordsOf(Arc::clone(device))));
        }
        fabric.bell(block).attach(&engine);
        let watch = fabric.common.of(WatchdogSlot::default);
        let watchdog = watch.get_or_init(|| {
            let limit = settings.hang_limit()?;
            Some(Watchdog::new(limit, &fabric, &bootstrap))
        });
        if let Some(watchdog) = watchdog {
            watchdog.attach(me, &engine);
        }
        let globals_at = (settings.statics > 0).then_some(places.statics);
        let board = Board::new(
            Arc::clone(&fabric.control),
            block,
            me,
            globals_at,
            watchdog.map(|it| Arc::clone(it) as Arc<dyn Watcher>),
        );
        let memory = symmetric(&fabric, places);
        let mut net = oxshmem_net::connect(&bootstrap, &fabric, &engine, memory.clone(), &settings).await?;
        if let Some(device) = &device {
            let segments = [memory.clone(), fabric.control.scratch()];
            let owner = Owner::new(device, block, segments, places.pieces, &engine);
            net = net.map(|net| relay::over(net, owner));
        }
        let kernels = device.as_ref().map(|_| Kernels::new(&fabric.control, block, &engine));
        let kernels_polled = kernels.iter().map(|kernels| Arc::clone(kernels) as Arc<dyn Source>);
        let goes_far = device.is_some() && net.is_some();
        let pieces = goes_far.then(|| Pieces::new(&memory, block, places.pieces + relay::ROOM / 2));
        let devices_polled = device.iter().map(|device| Arc::clone(device) as Arc<dyn Source>);
        let nets_polled = net.iter().map(|net| Arc::clone(net) as Arc<dyn Source>);
        engine.attach_sources(devices_polled.chain(kernels_polled).chain(nets_polled).collect())?;
        engine.start_driver(settings.driver)?;
        let key = Arc::as_ptr(&engine).addr();
        let recorder = recording::begin(bootstrap.placement(), &settings, &board)?;
        // Nobody rings before everybody's bell is attached and everybody's process registered its
        // barrier.
        bootstrap.barrier().await?;
        drop(joining);
        if crowded && !in_process {
            spread::begin_apart(block);
        }
        let losses = bootstrap.losses().cloned();
        let pe = Arc::new(Self {
            key: AtomicUsize::new(key),
            recorder,
            me,
            block,
            n_pes,
            net,
            pieces,
            shm: Shm::new(Arc::clone(&fabric), fence_side),
            engine,
            fabric,
            board,
            copy_engine: CopyEngine::new(settings.offload_threshold),
            offloaded: Arc::default(),
            tally: Arc::default(),
            settings,
            partitions,
            spaces,
            places,
            device,
            kernels,
            no_device: devices.why,
            crowded,
            processors: cpus,
            fence_side,
            losses,
            bootstrap: BootstrapHandle(bootstrap),
            home: Home::here(),
            kept: Mutex::default(),
        });
        pe.follow_losses();
        Ok(pe)
    }

    /// This PE's number.
    #[inline(always)]
    pub fn me(&self) -> usize {
        self.me
    }

    /// This PE's number among those of its host, which is where its memory is.
    #[inline(always)]
    pub fn local_pe(&self) -> usize {
        self.block
    }

    /// Another PE's number among those of its host, if that is this host.
    pub fn local_pe_of(&self, pe: usize) -> Option<usize> {
        let hosts = &self.placement().hosts;
        let near = pe < self.n_pes && hosts.host_of(pe) == hosts.host_of(self.me);
        near.then(|| hosts.local_pe_of(pe))
    }

    /// How many PEs the job has.
    #[inline(always)]
    pub fn n_pes(&self) -> usize {
        self.n_pes
    }

    /// A number that no other PE of this process has, of this job or of another, and 0 once the PE
    /// has left. Symmetric memory has the number of the PE whose handle it is. One comparison finds
    /// memory of another job, memory of another PE's handle, and the end of the job.
    #[inline(always)]
    pub(crate) fn key(&self) -> usize {
        // Relaxed: a flag for mistakes, not for synchronisation.
        self.key.load(Ordering::Relaxed)
    }

    /// Whether the PE has left its job.
    #[inline(always)]
    pub fn has_left(&self) -> bool {
        self.key() == 0
    }

    /// What [`key`](Self::key) is until the PE leaves: the number that its symmetric memory has,
    /// before and after.
    pub(crate) fn memory_key(&self) -> usize {
        Arc::as_ptr(&self.engine).addr()
    }

    /// The transport to the PEs of this host.
    #[inline(always)]
    pub fn shm(&self) -> &Shm {
        &self.shm
    }

    /// The way to the PEs of other hosts, if there are any.
    #[inline]
    pub fn net(&self) -> Option<&Arc<dyn Net>> {
        self.net.as_ref()
    }

    /// Memory through which this PE's transfers between its device and other hosts go.
    pub fn pieces(&self) -> Option<&Arc<Pieces>> {
        self.pieces.as_ref()
    }

    /// What wakes this PE's waiting futures.
    #[inline(always)]
    pub fn engine(&self) -> &Arc<Executor> {
        &self.engine
    }

    /// Where this PE shows what it is stuck in, and what it has done while a looker looks.
    #[inline(always)]
    pub fn board(&self) -> &Board {
        &self.board
    }

    /// How many operations of this PE's contexts are under way, or have failed.
    pub fn tally(&self) -> &Arc<Tally> {
        &self.tally
    }

    /// What the PEs of this host are stuck in.
    pub fn table(&self) -> Table {
        let boards = Boards::of(&self.fabric.control, &self.fabric.heap);
        table_of(&boards.read(), &boards, &self.placement().host)
    }

    /// The helper for large nonblocking copies.
    #[inline(always)]
    pub fn copy_engine(&self) -> &CopyEngine {
        &self.copy_engine
    }

    /// What the copy engine has under way for this PE, from all contexts.
    pub fn offloaded(&self) -> &Arc<OpSet> {
        &self.offloaded
    }

    /// The settings in force.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Whether PEs have to share processors, so that collectives should save on turns rather than
    /// on steps.
    pub fn is_crowded(&self) -> bool {
        self.crowded
    }

    /// How many processors the PEs of this host may run on, all of them together.
    pub fn processors(&self) -> usize {
        self.processors
    }

    /// Whether the PEs of this host are tasks of one process.
    pub fn in_process(&self) -> bool {
        self.bootstrap.0.in_process()
    }

    /// Which side pays for the barrier of the doorbell's handshake.
    pub fn fence_side(&self) -> FenceSide {
        self.fence_side
    }

    /// Which PE this is, and where all are.
    pub fn placement(&self) -> &Placement {
        self.bootstrap.0.placement()
    }

    /// The way to the other PEs that needs no symmetric memory.
    pub fn bootstrap(&self) -> &Arc<dyn Bootstrap> {
        &self.bootstrap.0
    }

    /// The partitions of the symmetric heap, and what they were mapped to.
    pub fn partitions(&self) -> &Partitions {
        &self.partitions
    }

    /// The memory of all PEs' symmetric heaps.
    pub fn heap_map(&self) -> &Arc<HostMap> {
        &self.fabric.heap
    }

    /// All memory of this job's PEs that operations reach: the heap, and behind it the executable's
    /// globals, if the C library shares them, and what belongs to a device.
    pub fn symmetric(&self) -> Segment {
        symmetric(&self.fabric, self.places)
    }

    /// The symmetric heap in host memory. Empty if the job has no CPU space.
    pub fn host_heap(&self) -> Segment {
        Segment::new(SegmentId::Heap, Arc::clone(&self.fabric.heap), 0, self.places.heap)
    }

    /// The spaces of the job.
    pub fn spaces(&self) -> &SpacePlan {
        &self.spaces
    }

    /// The device of this PE, if it has one.
    pub fn device(&self) -> Option<&AnyDevice> {
        self.device.as_ref()
    }

    /// How the engine learns what its kernels do, if it has one.
    pub fn kernels(&self) -> Option<&Arc<Kernels>> {
        self.kernels.as_ref()
    }

    /// Why a PE of the job has no device, if one was looked for in vain.
    pub fn no_device(&self) -> Option<&str> {
        self.no_device.as_deref()
    }

    /// Whether a PE has a device: whether it is in the team of the GPU space.
    pub fn has_device(&self, pe: usize) -> bool {
        self.spaces.gpu_pes.get(pe).is_some_and(|&has| has)
    }

    /// What can be done with the memory of a space, if this PE has it.
    pub fn capabilities(&self, space: SpaceKind) -> Option<Capabilities> {
        match space {
            SpaceKind::Default => self.capabilities(self.spaces.default),
            SpaceKind::Cpu => self.spaces.cpu.map(|_| Capabilities {
                rma: true,
                atomics: true,
                collectives: true,
                direct_access: true,
                world_access: true,
            }),
            SpaceKind::Gpu => self.device.as_ref().map(|device| Capabilities {
                rma: true,
                atomics: device.has_atomics(),
                collectives: true,
                direct_access: false,
                world_access: self.spaces.gpu_pes.iter().all(|&has| has),
            }),
        }
    }

    /// Where in [`symmetric`](Self::symmetric) the host's image of device memory begins: as many
    /// bytes as the GPU space's heap has, and somewhere behind them [`IMAGE_TAIL`] more. Nothing of
    /// it is ever touched unless a collective works on device memory.
    pub fn image_at(&self) -> usize {
        self.places.image
    }

    /// Where the tail of that begins.
    pub fn image_tail_at(&self) -> usize {
        self.places.pieces - IMAGE_TAIL
    }

    /// Where in [`symmetric`](Self::symmetric) the executable's globals begin.
    pub fn statics_at(&self) -> usize {
        self.places.statics
    }

    /// Bytes of [`scratch`](Self::scratch) memory.
    pub const SCRATCH_BYTES: usize = oxshmem_progress::control::SCRATCH_BYTES;

    /// Symmetric scratch memory for the collectives of the world. Zero at the start.
    pub fn scratch(&self) -> Segment {
        self.fabric.control.scratch()
    }

    /// What the rooms above keep once a PE: one value of each type, made when it is first asked
    /// for. It must not hold the PE itself.
    pub fn kept<T: Any + Send + Sync + Default>(&self) -> Arc<T> {
        let mut kept = lock(&self.kept);
        let value = kept.entry(TypeId::of::<T>()).or_insert_with(|| Arc::<T>::default());
        match Arc::clone(value).downcast() {
            Ok(value) => value,
            Err(_) => unreachable!("a value is kept under its own type"),
        }
    }

    /// Says that stores may come that ring no doorbell, because the program gets a raw pointer.
    pub fn expect_silent_stores(&self) {
        if self.engine.expect_silent_stores() {
            self.fabric.ring_all();
        }
    }

    /// An error if the world was finalized or the job cannot go on.
    #[inline(always)]
    pub fn check(&self, call: &'static str) -> Result<()> {
        if self.has_left() {
            return Err(Error::Finalized { call });
        }
        self.engine.check_failure()
    }

    /// [`check`](Self::check) for calls that others see and that take longer than a system call:
    /// also an error in a process that this one has forked.
    #[inline]
    pub fn check_home(&self, call: &'static str) -> Result<()> {
        self.home.check(self.me, call)?;
        self.check(call)
    }

    /// The process that joined the job.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// The status of the `global_exit` that ends the job, if that is why a PE was lost: it may show
    /// before the launcher's message, for which this waits a moment.
    pub fn global_exit_behind_a_loss(&self) -> Option<i32> {
        /// As long as the launcher itself waits to know what caused what.
        const MOMENT: Duration = Duration::from_millis(100);
        match self.engine.failure_within(MOMENT) {
            Some(Failure::GlobalExit { status, .. }) => Some(status),
            _ => None,
        }
    }

    /// Leaves the job. Every PE has called the barrier before; what is still waited for will not
    /// come. False if it has left before.
    pub fn leave(&self) -> bool {
        let first = self.key.swap(0, Ordering::AcqRel) != 0;
        if first {
            self.end_recording();
            self.board.leave();
            if let Some(net) = &self.net {
                net.close();
            }
            self.engine.close();
            self.bootstrap.0.finalized();
        }
        first
    }

    /// No handle is left by which this PE could leave the job in good order. What its tasks, and
    /// the other PEs of this process, wait for will not come. Does nothing after
    /// [`leave`](Self::leave).
    pub fn abandon(&self) {
        self.abandon_as("its world was dropped without finalize");
    }

    /// [`abandon`](Self::abandon) of a PE that is lost in another way. Where the job goes on
    /// without it, the others do.
    pub fn abandon_as(&self, how: &str) {
        if self.has_left() || !self.home.is_here() {
            return;
        }
        self.bootstrap.0.abandoned(how);
        let failure = Failure::PeLost { pe: self.me, how: how.to_owned() };
        if self.in_process() {
            self.board.leave();
            if self.losses.is_none() {
                self.fail_all(&failure);
            }
        }
        self.engine.fail(failure);
        // What is watched may be kept by its watch alone, and keep this PE.
        self.engine.close();
    }

    /// The threads that this PE has started and that wait for nothing but its end: for a caller
    /// that waits for that, when it has [left](Self::leave) and all other handles to it are gone.
    pub fn helpers(&self) -> Helpers {
        Helpers {
            engine: Arc::clone(&self.engine),
            watchdog: self.fabric.common.of(WatchdogSlot::default).get(),
        }
    }

    /// Tells the PEs of this process that one of them is gone.
    pub fn lose_peer(&self, failure: Failure) {
        self.fail_all(&failure);
    }

    /// Ends all waiting of the PEs in this process, on all hosts that they are on. The first
    /// failure of the job is that of all its PEs: a PE that ends because of it may come here before
    /// the others have got it.
    fn fail_all(&self, failure: &Failure) {
        let common = self.bootstrap.0.common().map(|common| common.of(OnceLock::<Failure>::new));
        let failure = common.as_ref().map_or(failure, |first| first.get_or_init(|| failure.clone()));
        // First, as a PE that leaves because of this is asked why by those of other hosts.
        if let Some(wires) = Wires::of(&*self.bootstrap.0) {
            wires.fail(failure);
        }
        self.fabric.fail_all(failure);
    }

    /// Whether `global_exit` may end this process.
    pub fn owns_process(&self) -> bool {
        self.bootstrap.0.owns_process()
    }

    /// Asks for the end of the job.
    pub fn abort(&self, status: i32, why: &str) {
        if !self.home.is_here() {
            // Not in the name of the PE that has forked this process.
            return;
        }
        self.bootstrap.0.abort(status, why);
        self.fail_all(&Failure::GlobalExit { pe: self.me, status });
    }
}

impl Drop for Pe {
    fn drop(&mut self) {
        if !self.home.is_here() {
            // The connections and descriptors are the parent's.
            std::mem::forget(self.net.take());
            return;
        }
        // A task or thread may hold the engine, and the net, for as long as they are open.
        if let Some(net) = &self.net {
            net.abandon();
        }
        self.engine.close();
    }
}
