//! Memory spaces: which there are, and everything that is done with device memory.

mod collectives;
#[path = "../common/mod.rs"]
mod common;
mod device;
mod environment;
mod gpu;
mod image;
#[path = "../common/log.rs"]
mod log;
mod streams;
