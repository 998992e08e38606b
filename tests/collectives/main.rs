//! Collectives on the PEs of one job: what they come to, in which order, with each algorithm, and
//! what becomes of them when PEs come late, call something else or go away.

mod against_model;
mod broadcast;
#[path = "../common/mod.rs"]
mod common;
mod counts;
mod failure;
mod faults;
#[path = "../common/hosts.rs"]
mod hosts;
mod interleaved;
#[path = "../common/mismatch.rs"]
mod mismatch;
mod mismatched;
#[path = "../common/model.rs"]
mod model;
mod sequences;
mod shared_processors;
#[path = "../common/stuck.rs"]
mod stuck;
mod sync;
mod sync_memory;
