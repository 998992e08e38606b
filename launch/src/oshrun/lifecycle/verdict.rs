//! How a job has ended.

use rustix::process::Signal;

use super::super::pe::{Exit, signal_name};

/// How the job ended, as far as one can tell from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Verdict {
    pub(in super::super) status: u8,
    pub(in super::super) message: Option<String>,
    /// What the message is about.
    pub(in super::super) about: About,
}

impl Verdict {
    /// That of a job that was ended by a signal before it had begun.
    pub(in super::super) fn of_signal(signal: Signal) -> Self {
        let signal = signal.as_raw();
        let message = Some(format!("the job was ended by {}", signal_name(signal)));
        Self { status: Exit::Signal(signal).code(), message, about: About::Nothing }
    }
}

/// What a message is about, which decides of which PEs it says what they were in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum About {
    /// This PE: the message says what every other was in.
    Pe(usize),
    /// The job: the message says what all PEs were in.
    All,
    /// Something else.
    Nothing,
}
