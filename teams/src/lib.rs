//! Teams and their collectives: what all PEs do together.
//!
//! Collectives are state machines and async functions over the scratch memory of their team, the words of which they store, add to and wait for,
//! and between hosts over messages. A team runs its collectives in the order of their calls, whether or not anybody still awaits them.
//!
//! | module | OpenSHMEM 1.6 |
//! |---|---|
//! | [`team`] | §9.4 teams: splits, PE numbers, contexts, the end of a team |
//! | [`active_set`] | §9.10 active sets: teams that their members make alone |
//! | [`collectives`] | §9.10 broadcast, collect, all-to-all, reductions and scans |
//! | [`mod@sync`] | §9.10.3 sync, and the sync in §9.10.1 barrier |
//! | [`reduction`] | the element types and arithmetic of §9.10.9 and §9.10.10 |
//! | [`broadcast`] | bytes from one PE to all, of a length that only that PE knows |
//! | [`agree`] | what a collective allocation agrees on |
//!
//! Below them: `queue` has the order of collectives and their futures, `choice` the table of algorithms, `exchange`
//! what is small, `stream` what comes from one, `direct` what is large, `messages` what is large without shared memory, `staged` what is
//! in device memory, `refusal` what does not fit, `group` the messages, `scratch`, `words` and `span` the memory; `wide` has what teams with members on several hosts do between these.

#![cfg_attr(not(test), deny(clippy::print_stderr, reason = "see `oxshmem_base::report`"))]

pub mod active_set;
pub mod agree;
pub mod broadcast;
mod choice;
pub mod collectives;
mod crew;
mod direct;
mod exchange;
mod group;
mod ledger;
mod messages;
mod notice;
mod operands;
mod parts;
mod processors;
mod queue;
pub mod reduction;
mod refusal;
mod registry;
mod scratch;
mod share;
mod signature;
mod span;
mod split;
mod staged;
mod stream;
mod sweep;
pub mod sync;
pub mod team;
mod tree;
mod wide;
mod words;

pub use active_set::ActiveSet;
pub use group::Group;
pub use queue::{Collective, Outcome};
pub use reduction::{Arithmetic, Bitwise, Complex, LongDouble, Ordered};
pub use team::{InTeam, Team, TeamConfig};
