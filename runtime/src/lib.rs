//! How a PE joins its job, and how bytes and atomics reach other PEs and devices.
//!
//! | module | what it offers |
//! |---|---|
//! | [`kinds`], [`partitions`] | what memory the partitions of the heap are in |
//! | [`net`] | how bytes and atomics reach other PEs, of the host and of other hosts |
//! | [`device`] | how they reach memory of devices |
//! | [`pe`] | a PE that has all of these |

#![cfg_attr(not(test), deny(clippy::print_stderr, reason = "see `oxshmem_base::report`"))]

pub mod agreement;
pub mod device;
pub mod kinds;
pub mod net;
pub mod partitions;
pub mod pe;
pub mod spread;

pub use pe::Pe;
