//! What every room of oxshmem stands on: errors, settings, facts about hosts, and small tools.
//!
//! This package knows nothing of jobs, memory or communication. Users of oxshmem depend on the
//! package `oxshmem`, which offers what they need of it.
//!
//! | module | what it offers |
//! |---|---|
//! | [`error`] | the error that every call may return |
//! | [`settings`] | the environment variables |
//! | [`hosts`], [`distribution`] | which PE is on which host, also of simulated hosts |
//! | [`processors`] | the processors that this process may run on |
//! | [`sync`], [`wakes`] | locks, and the one way to run a waker |
//! | [`local`] | values of which each thread has its own |
//! | [`panics`] | user code that panics ends nothing but itself |
//! | [`turns`] | work that causes more of its kind, done one after the other |
//! | [`home`] | whether this process is the one that joined the job, or a child of it |
//! | [`memfd`], [`readable`], [`random`] | memory, descriptors and numbers from the system |
//! | [`owned`] | files that nobody but their owner can read |
//! | [`mod@report`], [`sigpipe`], [`mod@span`] | lines on standard error, and spans of time |
//! | [`printable`] | text from outside, as people may see it |

#![cfg_attr(not(test), deny(clippy::print_stderr, reason = "see `report`"))]

pub mod distribution;
pub mod error;
#[cfg(feature = "fuzz")]
pub mod fuzz;
pub mod home;
pub mod hosts;
pub mod local;
pub mod memfd;
pub mod owned;
pub mod panics;
pub mod printable;
pub mod processors;
pub mod random;
pub mod readable;
pub mod report;
pub mod settings;
pub mod sigpipe;
mod space_kind;
pub mod span;
pub mod sync;
pub mod turns;
pub mod version;
pub mod wakes;

pub use distribution::Distribution;
pub use error::{Error, Result};
pub use hosts::Hosts;
pub use report::report;
pub use space_kind::SpaceKind;
