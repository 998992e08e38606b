//! oxshmem: OpenSHMEM 1.6 as an async-first Rust runtime.
//!
//! A job is some PEs that run the same program. Each has a *symmetric heap*, and any of them can
//! read, write and atomically update the others' heaps without their help. Every operation starts
//! when it is called, and returns a future that observes it; waiting for another PE is awaiting,
//! beside sockets and timers.
//!
//! ```
//! use oxshmem::prelude::*;
//!
//! # fn main() -> oxshmem::Result<()> {
//! // Four PEs in this process. Under `oshrun`, `oxshmem::init().await?` makes a `World` of each.
//! let sums = LocalCluster::run(4, |world| async move {
//!     let (me, n) = (world.my_pe(), world.n_pes());
//!     let total = world.alloc_zeroed::<u64>(1).await?; // one on every PE
//!     world.context().add(total.at(0), me as u64 + 1, 0).await?; // a remote atomic on PE 0's
//!     world.barrier_all().await?;
//!     let sum = world.context().g(total.at(0), 0).await?;
//!     world.finalize().await?;
//!     Ok((n, sum))
//! })?;
//! assert_eq!(sums, [(4, 10); 4]);
//! # Ok(())
//! # }
//! ```
//!
//! | to | see |
//! |---|---|
//! | start and end | [`run()`], [`init`], [`InitOptions`], [`World`], [`LocalCluster`] |
//! | do something together | [`Team`]: `sync`, `broadcast`, `sum_reduce`, `split_2d` … |
//! | have symmetric memory | [`World::alloc`], [`SymSlice`], [`Element`] |
//! | have it in fast memory or huge pages | [`Partition`], [`World::partitions`] |
//! | have it in device memory | [`World::space`], [`Space`] |
//! | order it with CUDA streams | [`Context::on_stream`], [`Team::on_stream`], [`World::gpu`] |
//! | communicate from kernels | [`World::device_handle`], [`DEVICE_FUNCTIONS`] |
//! | communicate | [`Context`]: `put`, `get`, `fetch_add`, `put_signal`, `quiet` … |
//! | wait for other PEs | [`Wait`], [`WaitSet`], [`World::barrier_all`] |
//! | take turns | [`Lock`] |
//! | use arrays, maps and channels | `collections`, with the feature of that name (default) |
//! | try it on many hosts | [`ClusterOptions::hosts`], [`ClusterOptions::link`], [`Simulation`] |
//! | have what a service does counted | `World::metrics`, with the feature `metrics` |
//! | configure | [`settings`] |

#![cfg_attr(not(test), deny(clippy::print_stderr, reason = "see `oxshmem_base::report`"))]

mod allocate;
mod allocating;
mod arena;
mod arena_calls;
mod barrier;
#[cfg(doctest)]
mod book;
mod cluster;
#[cfg(feature = "collections")]
mod collected;
mod faults;
mod finish;
mod init;
mod losses;
mod memory;
#[cfg(feature = "metrics")]
mod metrics;
mod partition;
mod run;
mod space;
mod world;

pub use barrier::Barrier;
pub use cluster::{ClusterOptions, LocalCluster};
pub use init::{InitOptions, init, init_single, init_with};
pub use losses::{LossStream, RejoinStream, Unclaimed};
#[cfg(feature = "metrics")]
pub use metrics::Metrics;
pub use oxshmem_base::{
    Distribution, Error, Result,
    settings::{self, SpaceKind},
    version::{VENDOR_NAME, VERSION_MAJOR, VERSION_MINOR},
};
#[cfg(feature = "collections")]
#[doc(inline)]
pub use oxshmem_collections as collections;
pub use oxshmem_job::{Loss, Rendezvous};
pub use oxshmem_net::{Link, Sent, Simulation};
pub use oxshmem_ops::{
    BitwiseAmo, Cmp, Context, ContextOptions, ExtendedAmo, Lock, LockGuard, Private, Rejected, Serialized,
    Shared, Signal, Sink, Source, StandardAmo, Wait, detach,
    lock::{Locking, TryLocking},
    operation::{Fetch, Get, Put, PutNbi, PutSignal, PutSignalNbi, Update},
    order::Quiet,
    session::{Session, SessionOptions},
    stream::{After, Gpu, OnStream, Reached, StreamOp},
    wait::{Masked, OrLoss, WaitOrLoss, WaitSet, WaitUntil, WaitUntilSet, Waitable},
};
#[cfg(feature = "cuda")]
pub use oxshmem_spaces::{DeviceAddress, DeviceView};
pub use oxshmem_spaces::{Element, HeapUse, Hints, SymRef, SymSlice, SymView, Symmetric};
pub use oxshmem_spaces::{
    device::{
        Capabilities,
        kernel::{DeviceHandle, FUNCTIONS as DEVICE_FUNCTIONS},
        stream::{EventRef, StreamRef},
    },
    kinds::{Mapping, Spread},
};
pub use oxshmem_teams::{
    Arithmetic, Bitwise, Collective, Complex, InTeam, LongDouble, Ordered, Outcome, Survivors, Team,
    TeamConfig,
};
pub use partition::{Partition, PartitionInfo};
pub use run::run;
pub use space::Space;
pub use world::{ThreadLevel, World};

/// Plain data, for `#[derive]` on types of one's own.
pub use bytemuck::{self, Pod, Zeroable};

/// What most programs use.
pub mod prelude {
    pub use crate::{
        Cmp, Context, ContextOptions, Element, Hints, InTeam, LocalCluster, Lock, LockGuard, SessionOptions,
        Signal, Space, SpaceKind, SymRef, SymSlice, SymView, Team, TeamConfig, Wait, WaitOrLoss, WaitSet,
        World,
    };
}
