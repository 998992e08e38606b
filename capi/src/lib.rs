//! `libshmem`: the C API of OpenSHMEM 1.6, over the Rust crates.
//!
//! Every routine turns its arguments into those of the Rust API, calls that, and waits for the
//! future. There is no communication here. Routines that take a few instructions on a near PE try
//! the path by addresses first (`oxshmem_ops::path::address`). What C programs may do and Rust
//! programs cannot (an address that is not symmetric, a call before `shmem_init`) ends the job with
//! one line.
//!
//! | module | what lives there |
//! |---|---|
//! | `export` | how a routine gets its two names |
//! | `state` | the one world of the process |
//! | `tables` | what the library has for the program: blocks, contexts, teams |
//! | `call` | a call: its name, its context, its errors, the wait for its future |
//! | `address` | from pointers to symmetric memory |
//! | `buffers` | C's pointers as sources and sinks |
//! | `statics` | the executable's globals as symmetric memory |
//! | `exit` | how the process ends |
//! | `handles` | predefined handles as variables |
//! | `setup` | §9.1, §9.2 |
//! | `memory` | §9.3 |
//! | `teams` | §9.4 |
//! | `contexts`, `sessions` | §9.5, §9.9 |
//! | `collectives`, `reductions`, `active_sets` | §9.10 |
//! | `spaces` | memory spaces and memory kinds |
//! | `on_stream` | operations in the order of CUDA streams |
//! | `types` | the types of the specification's tables, as macros |
//! | `rma`, `longdouble` | §9.6 |
//! | `amo` | §9.7 |
//! | `signal` | §9.8 |
//! | `wait` | §9.11 |
//! | `lock` | §9.13 |
//! | `order` | barriers, §9.12 |

#![deny(clippy::print_stderr, reason = "see `oxshmem_base::report`")]
#![deny(clippy::exit, reason = "see `exit`")]

mod active_sets;
mod address;
mod amo;
mod buffers;
mod call;
mod collectives;
mod contexts;
mod exit;
mod export;
mod handles;
mod lock;
mod longdouble;
mod losses;
mod memory;
mod on_stream;
mod order;
mod reductions;
mod rma;
mod sessions;
mod setup;
mod signal;
mod spaces;
mod state;
mod statics;
mod tables;
mod teams;
mod types;
mod wait;
