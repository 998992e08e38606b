//! Jobs of `oshrun` whose PEs are processes on several hosts: simulated ones, and machines that
//! this one plays.

mod atomics;
#[path = "../common/mod.rs"]
mod common;
mod cuts;
mod faults;
mod machines;
mod many;
#[path = "../common/namespaces.rs"]
mod namespaces;
mod networks;
mod order;
mod progress;
mod ssh;
mod strangers;
mod transfers;
