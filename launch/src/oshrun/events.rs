//! What happens to the PEs of a job, and to the machines that they are on.

use std::io;

use oxshmem_job::wire::{Kind, Message};
use oxshmem_progress::activity::BoardLook;

use super::pe::Exit;

/// What happens to a PE, or to a host of an agent.
pub(super) enum JobEvent {
    Pe(usize, PeEvent),
    Host(usize, HostEvent),
}

/// What happens to a PE.
pub(super) enum PeEvent {
    Message(Message),
    /// It cannot be talked to.
    Broken(io::Error),
    Exited(Exit),
}

impl PeEvent {
    /// Whether another PE's end may be the cause of it.
    pub(super) fn may_follow(&self) -> bool {
        match self {
            Self::Message(message) => match message.kind {
                Kind::Abort => message.value != 0,
                kind => kind == Kind::Abandoned,
            },
            Self::Exited(exit) => matches!(exit, Exit::Status(_) | Exit::Signal(libc::SIGABRT)),
            Self::Broken(_) => false,
        }
    }
}

/// What an agent has to say that is not about one PE.
pub(super) enum HostEvent {
    /// It has started its PEs as these processes.
    Started(Vec<u32>),
    /// It has started a replacement of a PE, as this process.
    Replaced(usize, u32),
    /// It has started nothing, for this reason.
    Refused(String),
    /// What its PEs were in when they were looked at under this number, and those of them that
    /// others wait for.
    Looked { number: u64, looks: Vec<BoardLook>, awaited: Vec<usize> },
    /// It gives a sign of life of this number.
    Beat(u64),
    /// The PEs there that are ending.
    Ending(Vec<usize>),
    /// All that its PEs have printed is written, and their processes have ended.
    Done,
    /// It is there no more, or of no use, for this reason. Nothing comes after it.
    Gone(String),
}
