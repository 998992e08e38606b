//! What every room of oxshmem stands on: how a job starts, who its PEs are, how memory of one PE is
//! reached from another, and how a waiting PE sleeps and is woken.
//!
//! | module | what it offers |
//! |---|---|
//! | [`kinds`] | what memory the partitions of the heap are in |
//! | [`net`] | how bytes and atomics reach other PEs, of the host and of other hosts |
//! | [`device`] | how they reach memory of devices |
//! | [`executor`] | who wakes the futures that wait |
//! | [`opset`], [`flight`], [`engine`] | operations that do not finish at once |
//! | [`activity`] | what each PE is stuck in, for people |
//! | [`pe`] | a PE that has all of these |

#![cfg_attr(not(test), deny(clippy::print_stderr, reason = "see `report`"))]

#[cfg(not(loom))]
pub mod activity;
#[cfg(not(loom))]
pub mod agreement;
#[cfg(not(loom))]
pub mod control;
#[cfg(not(loom))]
pub mod device;
pub mod doorbell;
#[cfg(not(loom))]
pub mod engine;
#[cfg(not(loom))]
pub mod executor;
#[cfg(not(loom))]
pub mod fabric;
#[cfg(not(loom))]
pub mod flight;
#[cfg(not(loom))]
pub mod kinds;
#[cfg(not(loom))]
pub mod net;
pub mod opset;
#[cfg(not(loom))]
pub mod partitions;
#[cfg(all(test, loom))]
mod parts_protocol;
#[cfg(not(loom))]
pub mod pe;
#[cfg(all(test, loom))]
mod role_protocol;
#[cfg(all(test, loom))]
mod share_protocol;
#[cfg(all(test, loom))]
mod slot_protocol;
#[cfg(not(loom))]
pub mod spread;

#[cfg(not(loom))]
pub use pe::Pe;
