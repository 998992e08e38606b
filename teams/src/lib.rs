//! Teams and their collectives: what all PEs do together.
//!
//! Collectives are state machines and async functions over the scratch memory of their team, the
//! words of which they store, add to and wait for, and between hosts over messages. A team runs its
//! collectives in the order of their calls, whether or not anybody still awaits them.
//!
//! | module | what it offers |
//! |---|---|
//! | [`collectives`] | the calls of §9.10: broadcast, collect, all-to-all, reductions, scans |
//! | [`team`] | §9.4 teams: splits, agreements, the end of a team |
//! | `device` | collectives on device memory |
//! | `queue` | the order of a team's collectives, and the futures that callers hold |
//! | `hosts` | the algorithms between hosts |
//! | `algorithm` | the algorithms among the PEs of a host |
//! | `check` | whether all PEs have called the same |
//! | `group` | the PEs of a team, as its collectives see them |
//! | `message` | what a PE knows of other hosts, and messages to them |
//! | [`tuning`] | when which algorithm is taken |
//! | `signature` | what a PE calls, in two words |
//! | `operation` | what PEs do together: the one description of a collective |
//! | `memory` | the scratch memory of a team, and ranges of symmetric memory |
//! | [`reduction`] | the element types and arithmetic of §9.10.9 and §9.10.10 |
//!
//! Each uses only what is below it.

#![cfg_attr(not(test), deny(clippy::print_stderr, reason = "see `oxshmem_base::report`"))]

mod algorithm;
mod check;
pub mod collectives;
mod device;
mod group;
mod hosts;
mod memory;
mod message;
mod operation;
mod queue;
pub mod reduction;
mod signature;
pub mod team;
pub mod tuning;

pub use group::Group;
pub use hosts::sync;
pub use queue::{Collective, Ended, Outcome};
pub use reduction::{Arithmetic, Bitwise, Complex, LongDouble, Ordered};
#[doc(hidden)]
pub use team::places::{Made, PlaceBits, TeamPlaces};
pub use team::{InTeam, Rebuilt, Survivors, Team, TeamConfig, agree};
