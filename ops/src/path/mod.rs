//! The ways to memory, one file for each.
//!
//! | module | the memory |
//! |---|---|
//! | `near` | host memory of this host's PEs, which is loads and stores away |
//! | `away` | memory of PEs on other hosts, and device memory, here or there |
//! | `start` | where an operation goes that is away: the device, the net, or both |
//! | `kernels` | what kernels ask for, where their device does not reach |
//! | [`address`] | near memory that is named by addresses, for the C library |
//!
//! `last_flag` guesses which flag C stores next, for `address`. `route` checks the operands of an
//! operation and says which way leads to each.

pub mod address;
pub(crate) mod away;
mod kernels;
mod last_flag;
pub(crate) mod near;
pub(crate) mod route;
pub(crate) mod start;
