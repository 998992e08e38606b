//! The table of settings: one row a variable.

use std::time::Duration;

use super::{
    choice::{
        AlltoallAlgorithm, BroadcastAlgorithm, CheckAlloc, Choice, CollectAlgorithm, DefaultSpace, Driver,
        Fence, GpuSharing, NetKind, NetSecurity, OnLoss, ReduceAlgorithm, SyncAlgorithm,
    },
    partition,
    reading::{
        as_set, file, folder, integer, interfaces, number, on_off, positive, rendezvous, switch, word_or,
    },
    setting::{Read, Setting},
    size,
};
use crate::Distribution;

const FLAG: &str = "any value, even an empty one, is on";
const SIZE: &str = "a non-negative number, such as 4096, 512M or 1.5g; factors are k, m, g, t";
const ENABLE: &str = "any value but an empty one is on; set and empty is off";
/// A hundred years.
const MOST_SECONDS: u64 = 3_155_760_000;

/// Every setting, in the order in which they are shown.
///
/// ```
/// # use oxshmem_base::settings::*;
/// let size = TABLE.iter().find(|setting| setting.name == "SHMEM_SYMMETRIC_SIZE").unwrap();
/// assert_eq!((size.default, size.unit), ("512M", "bytes"));
/// ```
pub static TABLE: &[Setting] = &[
    Setting {
        name: "SHMEM_SYMMETRIC_SIZE",
        deprecated: &["SMA_SYMMETRIC_SIZE"],
        default: "512M",
        values: SIZE,
        unit: "bytes",
        effect: "Size of the symmetric heap of each PE, rounded up to whole bytes: that of the default space. Memory that is \
                 never touched costs nothing.",
        same_on_all_pes: true,
        read: Read::Text(|to, text| size::parse(text).map(|value| to.symmetric_size = value)),
        show: |from| size::show(from.symmetric_size),
    },
    Setting {
        name: partition::VARIABLES,
        deprecated: &[],
        default: "none",
        values: "size=SIZE:kind=KIND:policy=POLICY:pgsize=SIZE, of which size is enough, for an n from 1 to 127; sizes as 4096, \
                 512M or 1.5G; kinds Fastmem, Normalmem, Sysdefault; policies Mandatory, Preferred, Interleaved, Sysdefault; \
                 initials are enough",
        unit: "",
        effect: "A partition of the symmetric heap, in memory of a kind and in pages of a size. With any, there is no other heap: \
                 what names no partition is allocated in partition 1, and SHMEM_SYMMETRIC_SIZE must not be set. The names \
                 SMAX_SYMMETRIC_PARTITION1 and SMA_SYMMETRIC_PARTITION1 are the same as SHMEM_SYMMETRIC_PARTITION1.",
        same_on_all_pes: true,
        read: Read::Numbered,
        show: |from| partition::show(&from.partitions),
    },
    Setting {
        name: "SHMEM_MEMINFO_REPORT",
        deprecated: &["SMA_MEMINFO_REPORT"],
        default: "off",
        values: FLAG,
        unit: "",
        effect: "Prints, on PE 0, what memory its host has, and for each partition what was asked and what it was mapped to, at \
                 start-up; and what is in use, then and at the end.",
        same_on_all_pes: false,
        read: Read::Presence(|to| to.meminfo_report = true),
        show: |from| on_off(from.meminfo_report),
    },
    Setting {
        name: "SHMEM_NUMA_TOPOLOGY",
        deprecated: &[],
        default: "/sys/devices/system/node",
        values: "a folder",
        unit: "",
        effect: "Where the NUMA nodes of the host are described. For tests, which describe others there than there are.",
        same_on_all_pes: false,
        read: Read::Text(|to, text| {
            to.numa_topology = text.to_owned();
            Ok(())
        }),
        show: |from| from.numa_topology.clone(),
    },
    Setting {
        name: "SHMEM_ENABLE_CPU_SPACE",
        deprecated: &[],
        default: "unset",
        values: ENABLE,
        unit: "",
        effect: "Enables the CPU space, host memory. Where neither this nor SHMEM_ENABLE_GPU_SPACE is set, it is enabled too.",
        same_on_all_pes: true,
        read: Read::Anything(|to, text| to.enable_cpu_space = Some(text)),
        show: |from| as_set(from.enable_cpu_space.as_ref()),
    },
    Setting {
        name: "SHMEM_ENABLE_GPU_SPACE",
        deprecated: &[],
        default: "unset",
        values: ENABLE,
        unit: "",
        effect: "Enables the GPU space, device memory, on PEs that have a device.",
        same_on_all_pes: true,
        read: Read::Anything(|to, text| to.enable_gpu_space = Some(text)),
        show: |from| as_set(from.enable_gpu_space.as_ref()),
    },
    Setting {
        name: "SHMEM_DEFAULT_SPACE",
        deprecated: &[],
        default: "auto",
        values: DefaultSpace::WORDS,
        unit: "",
        effect: "The space that shmem_malloc and World::alloc allocate from. All PEs must have it. auto is the CPU space where that is enabled.",
        same_on_all_pes: true,
        read: Read::Text(|to, text| Choice::read(text).map(|value| to.default_space = value)),
        show: |from| from.default_space.to_string(),
    },
    Setting {
        name: "SHMEM_CPU_SYMMETRIC_SIZE",
        deprecated: &[],
        default: "auto",
        values: "auto, or a size such as 512M or 1.5g",
        unit: "bytes",
        effect: "Size of the CPU space's heap. auto is SHMEM_SYMMETRIC_SIZE where it is the default space, and 512M elsewhere.",
        same_on_all_pes: true,
        read: Read::Text(|to, text| {
            word_or("auto", text, size::parse).map(|value| to.cpu_symmetric_size = value)
        }),
        show: |from| from.cpu_symmetric_size.map_or("auto".to_owned(), size::show),
    },
    Setting {
        name: "SHMEM_GPU_SYMMETRIC_SIZE",
        deprecated: &[],
        default: "auto",
        values: "auto, or a size such as 512M or 1.5g",
        unit: "bytes",
        effect: "Size of the GPU space's heap, likewise.",
        same_on_all_pes: true,
        read: Read::Text(|to, text| {
            word_or("auto", text, size::parse).map(|value| to.gpu_symmetric_size = value)
        }),
        show: |from| from.gpu_symmetric_size.map_or("auto".to_owned(), size::show),
    },
    Setting {
        name: "SHMEM_GPU_SHARING",
        deprecated: &[],
        default: "auto",
        values: GpuSharing::WORDS,
        unit: "",
        effect: "How PEs of a host share device memory: by descriptors of memory that is mapped where they like (`vmm`), by IPC \
                 handles (`ipc`), or by the first of these that the driver can do.",
        same_on_all_pes: true,
        read: Read::Text(|to, text| Choice::read(text).map(|value| to.gpu_sharing = value)),
        show: |from| from.gpu_sharing.to_string(),
    },
    Setting {
        name: "SHMEM_GPU_FAULT_LINE",
        deprecated: &[],
        default: "on",
        values: "on, off",
        unit: "",
        effect: "Has a processor's load or store of device memory, which is a fault, end with a line that names the address and the PE. \
                 A handler of SIGSEGV and SIGBUS adds it where the GPU space is enabled, and passes the signal on.",
        same_on_all_pes: false,
        read: Read::Text(|to, text| switch(text).map(|value| to.gpu_fault_line = value)),
        show: |from| on_off(from.gpu_fault_line),
    },
    Setting {
        name: "SHMEM_GPU_KERNEL_TIMEOUT",
        deprecated: &[],
        default: "10000",
        values: "an integer",
        unit: "ms",
        effect: "How long a kernel waits in one call of a device function before it gives up and returns an error.",
        same_on_all_pes: false,
        read: Read::Text(|to, text| {
            integer(MOST_SECONDS, text).map(|value| to.gpu_kernel_timeout = Duration::from_millis(value))
        }),
        show: |from| from.gpu_kernel_timeout.as_millis().to_string(),
    },
    Setting {
        name: "SHMEM_GPU_EMULATE",
        deprecated: &[],
        default: "off",
        values: FLAG,
        unit: "",
        effect: "For tests: takes host memory that only a helper thread touches for a device.",
        same_on_all_pes: true,
        read: Read::Presence(|to| to.gpu_emulate = true),
        show: |from| on_off(from.gpu_emulate),
    },
    Setting {
        name: "SHMEM_GPU_EMULATE_LATENCY",
        deprecated: &[],
        default: "10",
        values: "an integer",
        unit: "us",
        effect: "For tests: how long an operation of the emulated device takes.",
        same_on_all_pes: false,
        read: Read::Text(|to, text| {
            integer(MOST_SECONDS, text).map(|value| to.gpu_emulate_latency = Duration::from_micros(value))
        }),
        show: |from| from.gpu_emulate_latency.as_micros().to_string(),
    },
    Setting {
        name: "SHMEM_GPU_EMULATE_PES",
        deprecated: &[],
        default: "all",
        values: "all, or PEs such as 0-2,5",
        unit: "",
        effect: "For tests: the PEs that have an emulated device.",
        same_on_all_pes: true,
        read: Read::Text(|to, text| word_or("all", text, str::parse).map(|value| to.gpu_emulate_pes = value)),
        show: |from| from.gpu_emulate_pes.as_ref().map_or("all".to_owned(), ToString::to_string),
    },
    Setting {
        name: "SHMEM_VERSION",
        deprecated: &["SMA_VERSION"],
        default: "off",
        values: FLAG,
        unit: "",
        effect: "Prints the version of the library at start-up, on PE 0.",
        same_on_all_pes: false,
        read: Read::Presence(|to| to.version = true),
        show: |from| on_off(from.version),
    },
    Setting {
        name: "SHMEM_INFO",
        deprecated: &["SMA_INFO"],
        default: "off",
        values: FLAG,
        unit: "",
        effect: "Prints this table with the values in force at start-up, on PE 0.",
        same_on_all_pes: false,
        read: Read::Presence(|to| to.info = true),
        show: |from| on_off(from.info),
    },
    Setting {
        name: "SHMEM_DEBUG",
        deprecated: &["SMA_DEBUG"],
        default: "off",
        values: FLAG,
        unit: "",
        effect: "Turns on debugging messages, and checks of arguments that cost more than a predictable branch. \
                 Makes a SHMEM_HANG_TIMEOUT that is not 0 one of 1.",
        same_on_all_pes: false,
        read: Read::Presence(|to| to.debug = true),
        show: |from| on_off(from.debug),
    },
    Setting {
        name: "SHMEM_TRACE",
        deprecated: &[],
        default: "off",
        values: "off, or a folder",
        unit: "",
        effect: "Has each PE write its operations, waits and collectives to a file in this folder, which is made if need be. \
                 oshrun --trace sets it; oshrun --trace-report makes pictures of the files.",
        same_on_all_pes: false,
        read: Read::Text(|to, text| word_or("off", text, folder).map(|value| to.trace = value)),
        show: |from| {
            from.trace.as_ref().map_or_else(|| "off".to_owned(), |folder| folder.display().to_string())
        },
    },
    Setting {
        name: "SHMEM_WARN_UNKNOWN",
        deprecated: &[],
        default: "on",
        values: "on, off",
        unit: "",
        effect: "Has PE 0 warn at start-up of variables that begin with SHMEM_ and are no settings, with the name that was probably \
                 meant. Those that other OpenSHMEM libraries read are left out, unless SHMEM_DEBUG is set.",
        same_on_all_pes: false,
        read: Read::Text(|to, text| switch(text).map(|value| to.warn_unknown = value)),
        show: |from| on_off(from.warn_unknown),
    },
    Setting {
        name: "SHMEM_HANG_TIMEOUT",
        deprecated: &[],
        default: "60",
        values: "an integer; 0 is off",
        unit: "s",
        effect: "How long a PE waits in one call before it says so, once, with what it waits for and what all other PEs \
                 are in. The call goes on waiting.",
        same_on_all_pes: false,
        read: Read::Text(|to, text| {
            let seconds = integer(MOST_SECONDS, text)?;
            to.hang_timeout = (seconds > 0).then_some(Duration::from_secs(seconds));
            Ok(())
        }),
        show: |from| from.hang_timeout.map_or(0, |limit| limit.as_secs()).to_string(),
    },
    Setting {
        name: "SHMEM_CHECK_ALLOC",
        deprecated: &[],
        default: "error",
        values: CheckAlloc::WORDS,
        unit: "",
        effect: "Compares what the PEs ask for when they allocate, resize or free symmetric memory. \
                 A difference fails the call, is reported, or goes unseen.",
        same_on_all_pes: true,
        read: Read::Text(|to, text| Choice::read(text).map(|value| to.check_alloc = value)),
        show: |from| from.check_alloc.to_string(),
    },
    Setting {
        name: "SHMEM_WARN_HEAP",
        deprecated: &[],
        default: "on",
        values: "on, off",
        unit: "",
        effect: "In C an allocation for which there is no room gives null. Says so the first time in a job: how much was asked \
                 for, how much is free, and which variable to raise.",
        same_on_all_pes: false,
        read: Read::Text(|to, text| switch(text).map(|value| to.warn_heap = value)),
        show: |from| on_off(from.warn_heap),
    },
    Setting {
        name: "SHMEM_DRIVER",
        deprecated: &[],
        default: "auto",
        values: Driver::WORDS,
        unit: "",
        effect: "What drives progress while futures wait: a task of the tokio runtime that init ran in, or a helper thread. \
                 auto takes the task where there is a runtime.",
        same_on_all_pes: false,
        read: Read::Text(|to, text| Choice::read(text).map(|value| to.driver = value)),
        show: |from| from.driver.to_string(),
    },
    Setting {
        name: "SHMEM_SPIN_NS",
        deprecated: &[],
        default: "auto",
        values: "auto, or an integer",
        unit: "ns",
        effect: "How long a wait spins before it yields the CPU. auto is 2000, and 0 where the PEs of a host outnumber its CPUs, \
                 but for waits in collectives that are for PEs on other CPUs only.",
        same_on_all_pes: false,
        read: Read::Text(|to, text| {
            let nanoseconds = word_or("auto", text, |text| integer(u64::MAX, text))?;
            to.spin = nanoseconds.map(Duration::from_nanos);
            Ok(())
        }),
        show: |from| from.spin.map_or("auto".to_owned(), |spin| spin.as_nanos().to_string()),
    },
    Setting {
        name: "SHMEM_YIELD_ROUNDS",
        deprecated: &[],
        default: "64",
        values: "an integer",
        unit: "yields",
        effect: "How often a wait that has spun yields the CPU to other threads before it sleeps, for at least a \
                 microsecond each. Less than waking takes (tens of microseconds) makes PEs that answer each other \
                 sleep at every turn.",
        same_on_all_pes: false,
        read: Read::Text(|to, text| {
            integer(u32::MAX.into(), text).map(|value| to.yield_rounds = value as u32)
        }),
        show: |from| from.yield_rounds.to_string(),
    },
    Setting {
        name: "SHMEM_FENCE",
        deprecated: &[],
        default: "auto",
        values: Fence::WORDS,
        unit: "",
        effect: "Which side pays for the fence between a store and the check whether its target sleeps: every writer, or the PE \
                 that goes to sleep. auto takes the writer where the PEs of a host outnumber its CPUs.",
        same_on_all_pes: true,
        read: Read::Text(|to, text| Choice::read(text).map(|value| to.fence = value)),
        show: |from| from.fence.to_string(),
    },
    Setting {
        name: "SHMEM_OFFLOAD_THRESHOLD",
        deprecated: &[],
        default: "off",
        values: "off, or a size such as 64k or 1M",
        unit: "bytes",
        effect: "From this size on a helper thread copies what nonblocking puts and gets move within a host, \
                 so that the caller goes on at once.",
        same_on_all_pes: false,
        read: Read::Text(|to, text| {
            word_or("off", text, size::parse).map(|value| to.offload_threshold = value)
        }),
        show: |from| from.offload_threshold.map_or("off".to_owned(), size::show),
    },
    Setting {
        name: "SHMEM_FAKE_HOSTS",
        deprecated: &[],
        default: "1",
        values: "a number of hosts such as 2, or PEs on each such as 3+1; :cyclic may follow",
        unit: "",
        effect: "How oshrun and LocalCluster distribute the PEs of a job over hosts that they simulate, where their own option does \
                 not say so; in jobs without a launcher, what PE 0 has holds for each machine. Where there are fewer PEs than hosts, each PE \
                 has a host of its own. Other launchers know where their PEs really are.",
        same_on_all_pes: false,
        read: Read::Text(|to, text| {
            let distribution: Distribution = text.trim_ascii().parse()?;
            if distribution == Distribution::even(0) {
                return Err("there must be at least one host".to_owned());
            }
            to.fake_hosts = distribution;
            Ok(())
        }),
        show: |from| from.fake_hosts.to_string(),
    },
    Setting {
        name: "SHMEM_RENDEZVOUS",
        deprecated: &[],
        default: "off",
        values: "off, HOST:PORT, env, or env:PORT",
        unit: "",
        effect: "Has processes that no launcher started find each other: PE 0 listens at this address, and the others connect to it. env takes \
                 MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE from the environment, as torchrun sets them.",
        same_on_all_pes: false,
        read: Read::Text(|to, text| word_or("off", text, rendezvous).map(|value| to.rendezvous = value)),
        show: |from| from.rendezvous.clone().unwrap_or_else(|| "off".to_owned()),
    },
    Setting {
        name: "SHMEM_RENDEZVOUS_RANK",
        deprecated: &[],
        default: "none",
        values: "none, or an integer",
        unit: "",
        effect: "This process's number in a job without a launcher, from 0.",
        same_on_all_pes: false,
        read: Read::Text(|to, text| word_or("none", text, number).map(|value| to.rendezvous_rank = value)),
        show: |from| from.rendezvous_rank.map_or("none".to_owned(), |rank| rank.to_string()),
    },
    Setting {
        name: "SHMEM_RENDEZVOUS_SIZE",
        deprecated: &[],
        default: "none",
        values: "none, or an integer",
        unit: "PEs",
        effect: "How many processes a job without a launcher has.",
        same_on_all_pes: false,
        read: Read::Text(|to, text| word_or("none", text, number).map(|value| to.rendezvous_size = value)),
        show: |from| from.rendezvous_size.map_or("none".to_owned(), |size| size.to_string()),
    },
    Setting {
        name: "SHMEM_RENDEZVOUS_SECRET",
        deprecated: &[],
        default: "none",
        values: "none, or a file",
        unit: "",
        effect: "A file with the secret, of 16 bytes or more, by which the processes of a job without a launcher know each other. Its owner alone \
                 may have rights to it. It may only be absent where the address is a loopback one.",
        same_on_all_pes: false,
        read: Read::Text(|to, text| word_or("none", text, file).map(|value| to.rendezvous_secret = value)),
        show: |from| {
            from.rendezvous_secret
                .as_ref()
                .map_or_else(|| "none".to_owned(), |file| file.display().to_string())
        },
    },
    Setting {
        name: "SHMEM_RENDEZVOUS_TIMEOUT",
        deprecated: &[],
        default: "60",
        values: "an integer",
        unit: "s",
        effect: "How long the processes of a job without a launcher wait for each other. Then init fails, and says which have not come.",
        same_on_all_pes: false,
        read: Read::Text(|to, text| {
            integer(MOST_SECONDS, text).map(|value| to.rendezvous_timeout = Duration::from_secs(value))
        }),
        show: |from| from.rendezvous_timeout.as_secs().to_string(),
    },
    Setting {
        name: "SHMEM_RENDEZVOUS_LEASE",
        deprecated: &[],
        default: "5",
        values: "an integer",
        unit: "s",
        effect: "How long a process of a job without a launcher that goes on when a PE is lost may give no sign of life to PE 0, at least 1. Then it is \
                 killed, and lost when half of that time more is over.",
        same_on_all_pes: true,
        read: Read::Text(|to, text| {
            positive(MOST_SECONDS, text).map(|value| to.rendezvous_lease = Duration::from_secs(value))
        }),
        show: |from| from.rendezvous_lease.as_secs().to_string(),
    },
    Setting {
        name: "SHMEM_ON_LOSS",
        deprecated: &[],
        default: "end",
        values: OnLoss::WORDS,
        unit: "",
        effect: "What becomes of a job that has lost a PE: it ends, or the others continue, which their program must ask for as well. oshrun \
                 --on-loss sets it.",
        same_on_all_pes: true,
        read: Read::Text(|to, text| Choice::read(text).map(|value| to.on_loss = value)),
        show: |from| from.on_loss.to_string(),
    },
    Setting {
        name: "SHMEM_NET",
        deprecated: &[],
        default: "auto",
        values: NetKind::WORDS,
        unit: "",
        effect: "What leads to PEs of other hosts: sockets of the library's own, for which nothing has to be installed, or UCX. auto takes UCX where it \
                 finds a network that is faster than TCP on all hosts of the job.",
        same_on_all_pes: true,
        read: Read::Text(|to, text| Choice::read(text).map(|value| to.net = value)),
        show: |from| from.net.to_string(),
    },
    Setting {
        name: "SHMEM_NET_SECURITY",
        deprecated: &[],
        default: "auth",
        values: NetSecurity::WORDS,
        unit: "",
        effect: "What protects what PEs of different hosts send each other: auth has both ends of a connection prove that they are of the job; encrypt \
                 encrypts everything behind that as well, over TCP.",
        same_on_all_pes: true,
        read: Read::Text(|to, text| Choice::read(text).map(|value| to.net_security = value)),
        show: |from| from.net_security.to_string(),
    },
    Setting {
        name: "SHMEM_NET_INTERFACES",
        deprecated: &[],
        default: "auto",
        values: "auto, or names such as eth0 or mlx5_0:1, separated by commas",
        unit: "",
        effect: "The network interfaces over which PEs reach those of other hosts, and on which they listen: with UCX it goes before UCX_NET_DEVICES. auto takes \
                 all that other hosts reach, or UCX's choice, and the loopback interface alone where one machine simulates the hosts.",
        same_on_all_pes: false,
        read: Read::Text(|to, text| word_or("auto", text, interfaces).map(|value| to.net_interfaces = value)),
        show: |from| from.net_interfaces.clone().unwrap_or_else(|| "auto".to_owned()),
    },
    Setting {
        name: "SHMEM_SYNC_ALGORITHM",
        deprecated: &[],
        default: "auto",
        values: SyncAlgorithm::WORDS,
        unit: "",
        effect: "How sync and barrier let the PEs of a team wait for each other. auto takes the counter where PEs share processors.",
        same_on_all_pes: true,
        read: Read::Text(|to, text| Choice::read(text).map(|value| to.sync_algorithm = value)),
        show: |from| from.sync_algorithm.to_string(),
    },
    Setting {
        name: "SHMEM_REDUCE_ALGORITHM",
        deprecated: &[],
        default: "auto",
        values: ReduceAlgorithm::WORDS,
        unit: "",
        effect: "How reductions combine the values of a team's hosts. auto chooses by size and the number of hosts.",
        same_on_all_pes: true,
        read: Read::Text(|to, text| Choice::read(text).map(|value| to.reduce_algorithm = value)),
        show: |from| from.reduce_algorithm.to_string(),
    },
    Setting {
        name: "SHMEM_BROADCAST_ALGORITHM",
        deprecated: &[],
        default: "auto",
        values: BroadcastAlgorithm::WORDS,
        unit: "",
        effect: "How broadcast brings the root's values to the team's hosts. auto chooses by size and the number of hosts.",
        same_on_all_pes: true,
        read: Read::Text(|to, text| Choice::read(text).map(|value| to.broadcast_algorithm = value)),
        show: |from| from.broadcast_algorithm.to_string(),
    },
    Setting {
        name: "SHMEM_COLLECT_ALGORITHM",
        deprecated: &[],
        default: "auto",
        values: CollectAlgorithm::WORDS,
        unit: "",
        effect: "How collect and fcollect bring the blocks of each host to all. auto chooses by size and the number of hosts.",
        same_on_all_pes: true,
        read: Read::Text(|to, text| Choice::read(text).map(|value| to.collect_algorithm = value)),
        show: |from| from.collect_algorithm.to_string(),
    },
    Setting {
        name: "SHMEM_ALLTOALL_ALGORITHM",
        deprecated: &[],
        default: "auto",
        values: AlltoallAlgorithm::WORDS,
        unit: "",
        effect: "How alltoall and alltoalls exchange blocks between hosts. auto chooses by size and the most PEs that a host has.",
        same_on_all_pes: true,
        read: Read::Text(|to, text| Choice::read(text).map(|value| to.alltoall_algorithm = value)),
        show: |from| from.alltoall_algorithm.to_string(),
    },
    Setting {
        name: "SHMEM_TUNING",
        deprecated: &[],
        default: "auto",
        values: "auto, or NAME=NUMBER,… with the names of the limits in teams/src/tuning.rs",
        unit: "",
        effect: "Within which limits each collective algorithm is taken, for benchmarks and tests.",
        same_on_all_pes: true,
        read: Read::Text(|to, text| {
            word_or("auto", text, |text| Ok(text.trim().to_owned()))
                .map(|value| to.tuning = value.unwrap_or_default())
        }),
        show: |from| if from.tuning.is_empty() { "auto".to_owned() } else { from.tuning.clone() },
    },
];
