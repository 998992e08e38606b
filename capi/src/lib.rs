//! `libshmem`: the C API of OpenSHMEM 1.6, over the Rust crates.
//!
//! Every routine turns its arguments into those of the Rust API, calls that, and waits for the future. There is no
//! communication here. What C programs may do and Rust programs cannot (an address that is not symmetric, a call
//! before `shmem_init`) ends the job with one line.
//!
//! | module | what lives there |
//! |---|---|
//! | `export` | how a routine gets its two names |
//! | `state` | the one world of the process |
//! | `call` | a call: its name, its context, its errors, the wait for its future |
//! | `address` | from pointers to symmetric memory |
//! | `buffers` | C's pointers as sources and sinks |
//! | `statics` | the executable's globals as symmetric memory |
//! | `setup` | §9.1, §9.2 |
//! | `types` | the types of the specification's tables, as macros |
//! | `rma` | §9.6 |
//! | `order` | barriers, §9.12 |

mod address;
mod buffers;
mod call;
mod export;
mod order;
mod rma;
mod setup;
mod state;
mod statics;
mod types;
