//! The programs that compile and start oxshmem jobs and describe them: `oshcc`, `oshc++`, `oshrun`,
//! `oshtop` and `shmem-info`.

#![cfg_attr(not(test), deny(clippy::print_stderr, reason = "see `oxshmem_base::report`"))]

pub mod live;
pub mod man;
pub mod oshcc;
pub mod oshrun;
#[cfg(feature = "oshtop")]
pub mod oshtop;
pub mod shmem_info;
pub mod trace;
