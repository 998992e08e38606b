//! What a PE does with symmetric memory: copies, atomics, signals, ordering and waiting.
//!
//! Every operation starts when it is called. It returns a future that observes it. The future may
//! be dropped: the operation goes on, and [`Context::quiet`] completes it.
//!
//! | module | OpenSHMEM 1.6 |
//! |---|---|
//! | [`context`] | §9.5 communication contexts |
//! | [`path`] | the ways to memory, and §9.6 and §9.7 on addresses for C |
//! | [`members`] | §9.4 PE numbers of a team |
//! | [`rma`] | §9.6 put, get and their strided forms |
//! | [`amo`] | §9.7 atomics |
//! | [`signal`] | §9.8 put-with-signal and signals |
//! | [`order`] | §9.12 fence and quiet |
//! | [`wait`] | §9.11 wait and test |
//! | [`lock`] | §9.13 locks |
//! | [`stream`] | operations in the order of CUDA streams, not of OpenSHMEM |
//! | [`buffer`] | what operations copy from and to |
//! | [`operation`], [`detach`] | their futures, and those that go on without a task |

#![cfg_attr(not(test), deny(clippy::print_stderr, reason = "see `oxshmem_base::report`"))]

pub mod amo;
mod amo_types;
mod blocks;
pub mod buffer;
pub mod context;
mod detached;
mod gathering;
pub mod lock;
pub mod members;
pub mod operation;
pub mod order;
pub mod path;
mod quiet;
mod record;
pub mod rma;
mod sealed;
pub mod session;
pub mod signal;
mod still;
pub mod stream;
mod trace;
mod transfer;
pub mod wait;

pub use amo_types::{BitwiseAmo, ExtendedAmo, StandardAmo};
pub use buffer::{Sink, Source};
pub use context::{Context, ContextOptions, Private, Serialized, Shared};
pub use detached::detach;
pub use lock::{Lock, LockGuard};
pub use members::Members;
pub use operation::Rejected;
pub use oxshmem_memory::word::Signal;
pub use session::{Session, SessionOptions};
pub use wait::{Cmp, Wait, Waitable};
