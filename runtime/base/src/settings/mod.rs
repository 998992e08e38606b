//! The environment variables that configure oxshmem (`OpenSHMEM 1.6 §8`).
//!
//! [`TABLE`] has one row a variable. Reading the environment, the text of `SHMEM_INFO` and
//! `shmem-info`, the book's page, the comparison between PEs and the hints on misspelt names all
//! come from it, so that a new setting is one field of [`Settings`] and one row.

mod choice;
mod fields;
mod partition;
mod pes;
mod reading;
mod render;
mod setting;
mod size;
mod spaces;
mod table;
mod unknown;
mod values;

#[cfg(all(test, not(oxshmem_loom)))]
mod tests;

pub use choice::{
    AlltoallAlgorithm, BroadcastAlgorithm, CheckAlloc, CollectAlgorithm, DefaultSpace, Driver, Fence,
    GpuSharing, NetKind, NetSecurity, OnLoss, ReduceAlgorithm, SyncAlgorithm,
};
pub use fields::Settings;
pub use partition::{Defined, Kind, MAX_PARTITION_ID, MAX_PARTITIONS, Partition, Policy};
pub use pes::PeRanges;
pub use render::markdown;
pub use setting::Setting;
pub use size::show as show_size;
pub use spaces::{HeapPlan, SpacePlan};
pub use table::TABLE;
pub use unknown::{misspelt, unknown};
pub use values::{Entry, FenceSide, Origin};

pub use crate::space_kind::SpaceKind;
