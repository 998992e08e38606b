//! The ways to memory, one file for each.
//!
//! | module | the memory |
//! |---|---|
//! | `near` | host memory of this host's PEs, which is loads and stores away |
//! | `far` | memory of PEs on other hosts, over the net |
//! | `packed` | many small blocks of it, packed into messages |
//! | `device` | device memory, here or there |
//! | `kernels` | what kernels ask for, where their device does not reach |
//! | [`address`] | near memory that is named by addresses, for the C library |
//!
//! `last_flag` guesses which flag C stores next, for `address`. `route` checks the operands of an
//! operation and says which way leads to each.

pub mod address;
pub(crate) mod device;
pub(crate) mod far;
mod kernels;
mod last_flag;
pub(crate) mod near;
pub(crate) mod packed;
pub(crate) mod route;
