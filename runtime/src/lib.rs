//! What every room of oxshmem stands on: how a job starts, who its PEs are, how memory of one PE is
//! reached from another, and how a waiting PE sleeps and is woken.
//!
//! | module | what it offers |
//! |---|---|
//! | [`bootstrap`] | how PEs find each other |
//! | [`settings`] | the environment variables |
//! | [`memory`] | memory shared among the PEs of a host |
//! | [`net`] | how bytes and atomics reach other PEs, of the host and of other hosts |
//! | [`device`] | how they reach memory of devices |
//! | [`executor`] | who wakes the futures that wait |
//! | [`biased`] | a lock for what one thread uses nearly always |
//! | [`turns`] | wake-ups that set each other off |
//! | [`opset`], [`flight`], [`engine`] | operations that do not finish at once |
//! | [`home`] | whether this process is the one that joined, or a child of it |
//! | [`activity`] | what each PE is stuck in, for people |
//! | [`pe`] | a PE that has all of these |

#![cfg_attr(not(test), deny(clippy::print_stderr, reason = "see `report`"))]

#[cfg(not(loom))]
pub mod activity;
#[cfg(not(loom))]
mod agreement;
pub mod biased;
#[cfg(not(loom))]
pub mod bootstrap;
/// What settings speak of.
#[cfg(loom)]
#[allow(dead_code, missing_docs, unused_imports, reason = "only the models run here")]
pub mod bootstrap {
    mod deal;
    mod hosts;

    pub use self::{deal::Deal, hosts::Hosts};
}
#[cfg(not(loom))]
mod control;
#[cfg(not(loom))]
pub mod device;
mod doorbell;
#[cfg(not(loom))]
pub mod engine;
mod error;
#[cfg(not(loom))]
pub mod executor;
#[cfg(not(loom))]
mod fabric;
#[cfg(not(loom))]
pub mod flight;
#[cfg(all(test, not(loom)))]
mod fuzz;
#[cfg(not(loom))]
pub mod home;
#[cfg(not(loom))]
mod memfd;
#[cfg(not(loom))]
pub mod memory;
#[cfg(not(loom))]
pub mod net;
pub mod opset;
mod panics;
#[cfg(not(loom))]
pub mod partitions;
#[cfg(all(test, loom))]
mod parts_protocol;
#[cfg(not(loom))]
pub mod pe;
#[cfg(not(loom))]
mod random;
#[cfg(not(loom))]
mod readable;
#[cfg(not(loom))]
mod report;
#[cfg(all(test, loom))]
mod role_protocol;
pub mod settings;
#[cfg(all(test, loom))]
mod share_protocol;
#[cfg(not(loom))]
mod sigpipe;
#[cfg(all(test, loom))]
mod slot_protocol;
#[cfg(not(loom))]
mod spread;
#[doc(hidden)]
pub mod sync;
#[cfg(not(loom))]
pub mod turns;
mod version;
#[doc(hidden)]
pub mod wakes;

pub use error::{Error, Result};
#[cfg(not(loom))]
pub use pe::Pe;
#[cfg(not(loom))]
pub use report::report;
pub use version::{VENDOR_NAME, VERSION_MAJOR, VERSION_MINOR, version_line};
