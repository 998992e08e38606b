//! What the settings are in one PE: a field each, with what it is where nothing says otherwise.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use super::{
    choice::{
        AlltoallAlgorithm, BroadcastAlgorithm, CheckAlloc, CollectAlgorithm, DefaultSpace, Driver, Fence,
        GpuSharing, NetKind, NetSecurity, OnLoss, ReduceAlgorithm, SyncAlgorithm,
    },
    partition::Defined,
    pes::PeRanges,
};
use crate::Distribution;

/// Bytes of a heap whose size is not set.
pub(super) const DEFAULT_SIZE: usize = 512 << 20;

/// Defines the structure together with its default.
macro_rules! settings {
    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[$doc:meta])* $vis:vis $field:ident: $type:ty = $default:expr,)*
    }) => {
        $(#[$meta])*
        pub struct $name { $($(#[$doc])* $vis $field: $type,)* }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }
    };
}

settings! {
/// What a PE has from its environment, or from the program that starts it.
///
/// [`TABLE`](super::TABLE) says what each field does. A program that makes its own takes the
/// default, which reads no environment, and assigns fields:
///
/// ```
/// use oxshmem_base::settings::Settings;
///
/// let mut settings = Settings::default();
/// settings.symmetric_size = 64 << 20;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// Bytes in the symmetric heap of each PE, in the default space: `SHMEM_SYMMETRIC_SIZE`.
    pub symmetric_size: usize = DEFAULT_SIZE,
    /// Partitions of the heap: `SHMEM_SYMMETRIC_PARTITION<n>`.
    pub(super) partitions: BTreeMap<usize, Defined> = BTreeMap::new(),
    /// Whether what memory there is, and is in use, is printed: `SHMEM_MEMINFO_REPORT`.
    pub meminfo_report: bool = false,
    /// Where NUMA nodes are described: `SHMEM_NUMA_TOPOLOGY`.
    pub numa_topology: String = "/sys/devices/system/node".to_owned(),
    /// What `SHMEM_ENABLE_CPU_SPACE` holds, if it is set. Any text but the empty one enables the
    /// space.
    pub enable_cpu_space: Option<String> = None,
    /// What `SHMEM_ENABLE_GPU_SPACE` holds, likewise. Where neither is set, the CPU space is
    /// enabled alone.
    pub enable_gpu_space: Option<String> = None,
    /// Which space the default one is: `SHMEM_DEFAULT_SPACE`.
    pub default_space: DefaultSpace = DefaultSpace::default(),
    /// Bytes of the CPU space's heap: `SHMEM_CPU_SYMMETRIC_SIZE`. [`SpacePlan`](super::SpacePlan)
    /// says what `None` means.
    pub cpu_symmetric_size: Option<usize> = None,
    /// Bytes of the GPU space's heap: `SHMEM_GPU_SYMMETRIC_SIZE`.
    pub gpu_symmetric_size: Option<usize> = None,
    /// How PEs of a host share device memory: `SHMEM_GPU_SHARING`.
    pub gpu_sharing: GpuSharing = GpuSharing::default(),
    /// Whether a fault of a processor in device memory is explained: `SHMEM_GPU_FAULT_LINE`.
    pub gpu_fault_line: bool = true,
    /// How long a kernel waits in a device function: `SHMEM_GPU_KERNEL_TIMEOUT`.
    pub gpu_kernel_timeout: Duration = Duration::from_secs(10),
    /// Whether a device is emulated in host memory: `SHMEM_GPU_EMULATE`.
    pub gpu_emulate: bool = false,
    /// How long an operation of the emulated device takes: `SHMEM_GPU_EMULATE_LATENCY`.
    pub gpu_emulate_latency: Duration = Duration::from_micros(10),
    /// Which PEs have an emulated device, if not all: `SHMEM_GPU_EMULATE_PES`.
    pub gpu_emulate_pes: Option<PeRanges> = None,
    /// Whether the version is printed at start-up: `SHMEM_VERSION`.
    pub version: bool = false,
    /// Whether the settings are printed at start-up: `SHMEM_INFO`.
    pub info: bool = false,
    /// Whether debugging messages and costly checks are on: `SHMEM_DEBUG`.
    pub debug: bool = false,
    /// The folder that each PE writes what it does to a file of, if it does: `SHMEM_TRACE`.
    pub trace: Option<PathBuf> = None,
    /// Whether PE 0 warns of variables that look like settings and are none: `SHMEM_WARN_UNKNOWN`.
    pub warn_unknown: bool = true,
    /// How long a PE waits in one call before it says so, if ever: `SHMEM_HANG_TIMEOUT`. Ask
    /// [`hang_limit`](Self::hang_limit) for what it comes to.
    pub hang_timeout: Option<Duration> = Some(Duration::from_secs(60)),
    /// What happens when PEs allocate differently: `SHMEM_CHECK_ALLOC`.
    pub check_alloc: CheckAlloc = CheckAlloc::default(),
    /// Whether the first allocation of a C program that gets null for want of memory is reported:
    /// `SHMEM_WARN_HEAP`.
    pub warn_heap: bool = true,
    /// What drives progress while futures wait: `SHMEM_DRIVER`.
    pub driver: Driver = Driver::default(),
    /// How long a wait spins: `SHMEM_SPIN_NS`. Ask [`spin_for`](Self::spin_for) for what `None`
    /// means.
    pub spin: Option<Duration> = None,
    /// How often a wait yields before it sleeps: `SHMEM_YIELD_ROUNDS`.
    pub yield_rounds: u32 = 64,
    /// Which side pays for the doorbell's fence: `SHMEM_FENCE`. Ask [`fence_for`](Self::fence_for)
    /// for a decision.
    pub fence: Fence = Fence::default(),
    /// Bytes from which nonblocking copies are left to a helper thread, or never:
    /// `SHMEM_OFFLOAD_THRESHOLD`.
    pub offload_threshold: Option<usize> = None,
    /// How PEs are distributed over simulated hosts, for what starts jobs: `SHMEM_FAKE_HOSTS`.
    pub fake_hosts: Distribution = Distribution::default(),
    /// Where the PEs of a job without a launcher find each other, if this is one:
    /// `SHMEM_RENDEZVOUS`.
    pub rendezvous: Option<String> = None,
    /// This PE's number there: `SHMEM_RENDEZVOUS_RANK`.
    pub rendezvous_rank: Option<usize> = None,
    /// How many there are: `SHMEM_RENDEZVOUS_SIZE`.
    pub rendezvous_size: Option<usize> = None,
    /// The file with what they prove themselves by: `SHMEM_RENDEZVOUS_SECRET`.
    pub rendezvous_secret: Option<PathBuf> = None,
    /// How long they wait for each other: `SHMEM_RENDEZVOUS_TIMEOUT`.
    pub rendezvous_timeout: Duration = Duration::from_secs(60),
    /// How long one may give no sign of life, in a job that goes on when a PE is lost:
    /// `SHMEM_RENDEZVOUS_LEASE`.
    pub rendezvous_lease: Duration = Duration::from_secs(5),
    /// What becomes of a job that has lost a PE: `SHMEM_ON_LOSS`.
    pub on_loss: OnLoss = OnLoss::default(),
    /// What leads to PEs of other hosts: `SHMEM_NET`.
    pub net: NetKind = NetKind::default(),
    /// What protects what they send each other: `SHMEM_NET_SECURITY`.
    pub net_security: NetSecurity = NetSecurity::default(),
    /// Network interfaces that lead to other hosts, if that is not left to the net:
    /// `SHMEM_NET_INTERFACES`.
    pub net_interfaces: Option<String> = None,
    /// How PEs of a team wait for each other: `SHMEM_SYNC_ALGORITHM`.
    pub sync_algorithm: SyncAlgorithm = SyncAlgorithm::default(),
    /// `SHMEM_REDUCE_ALGORITHM`.
    pub reduce_algorithm: ReduceAlgorithm = ReduceAlgorithm::default(),
    /// `SHMEM_BROADCAST_ALGORITHM`.
    pub broadcast_algorithm: BroadcastAlgorithm = BroadcastAlgorithm::default(),
    /// `SHMEM_COLLECT_ALGORITHM`.
    pub collect_algorithm: CollectAlgorithm = CollectAlgorithm::default(),
    /// `SHMEM_ALLTOALL_ALGORITHM`.
    pub alltoall_algorithm: AlltoallAlgorithm = AlltoallAlgorithm::default(),
    /// Limits within which collective algorithms are taken: `SHMEM_TUNING`.
    pub tuning: String = String::new(),
    /// Bytes of the executable's globals that are symmetric too. No variable: the C library counts
    /// them.
    pub statics: usize = 0,
    /// Whether waits look by themselves now and then, because the program may store to its
    /// symmetric memory past the library. No variable: the C library sets it, as there every
    /// symmetric address is a pointer.
    pub local_stores: bool = false,
    /// By setting: the variable that was read, and the value shown after it.
    pub(super) read_from: BTreeMap<&'static str, (&'static str, String)> = BTreeMap::new(),
}
}
