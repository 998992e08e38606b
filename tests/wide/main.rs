//! PEs of one process on many simulated hosts, over a modelled network.

mod against_model;
mod broadcasts;
#[path = "../common/mod.rs"]
mod common;
mod counts;
#[path = "../common/hosts.rs"]
mod hosts;
#[path = "../common/mismatch.rs"]
mod mismatch;
mod mismatched;
#[path = "../common/model.rs"]
mod model;
mod teams;
