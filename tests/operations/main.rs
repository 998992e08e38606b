//! Operations of one PE on the memory of another: put, get, atomics, signals, waits and locks.

mod amo_mixed_sizes;
mod amo_model;
#[path = "../common/mod.rs"]
mod common;
mod errors_reach_quiet;
mod lock;
mod lock_tasks;
mod no_elements;
mod operands;
mod rma_errors;
mod rma_transfers;
mod signal_ordering;
mod wait_conditions;
mod wait_sleep;
mod wakers;
