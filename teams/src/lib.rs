//! Teams and their collectives: what all PEs do together.
//!
//! Collectives are state machines and async functions over the operations of `oxshmem-ops`, so they run on every
//! transport. A team runs its collectives in the order of their calls, whether or not anybody still awaits them.
//!
//! | module | OpenSHMEM 1.6 |
//! |---|---|
//! | [`team`] | §9.4: for now the world team |
//! | [`mod@sync`] | §9.10.3 sync, and the sync in §9.10.1 barrier |
//! | [`broadcast`] | bytes from one PE to all |
//! | [`agree`] | what a collective allocation agrees on |

pub mod agree;
pub mod broadcast;
pub mod sync;
pub mod team;
mod tree;

pub use team::{Collective, Team};
