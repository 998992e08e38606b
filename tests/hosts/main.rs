//! Jobs of `oshrun` whose PEs are processes on several simulated hosts.

mod atomics;
#[path = "../common/mod.rs"]
mod common;
mod cuts;
mod faults;
mod many;
#[path = "../common/namespaces.rs"]
mod namespaces;
mod order;
mod progress;
mod strangers;
mod transfers;
