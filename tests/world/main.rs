//! The life of a world: how processes become PEs, in which runtimes, on which kernels and in which
//! time, and how they end.

mod address_space;
#[path = "../common/mod.rs"]
mod common;
mod drivers;
mod faults;
#[path = "../common/kernel.rs"]
mod kernel;
mod lifecycle;
mod misspelt_settings;
mod old_kernels;
mod simulation;
