//! The end of a process whose job is over: what waits in it has failed by then, and it has a moment
//! to end by itself. A program that computes does not notice, so that its process is ended.

use std::{
    process::id,
    time::{Duration, Instant},
};

use oxshmem_base::report;

use super::link::Over;

/// How long a process has until it is asked to end, or exits with the status that a PE gave.
const ASKED: Duration = Duration::from_millis(500);
/// How long it then has until it is killed.
const KILLED: Duration = Duration::from_secs(5);

/// The end of this process, under way.
#[derive(Debug)]
pub(super) struct Ending {
    over: Over,
    since: Instant,
    asked: bool,
}

impl Ending {
    /// Says why PE `me` ends.
    pub(super) fn begin(me: usize, over: Over) -> Self {
        match &over {
            Over::Lost { pe, how } => {
                report(format_args!("oxshmem: PE {pe} is lost: {how}; PE {me} ends with the job"));
            }
            Over::Exit { pe, status } if *status != 0 && *pe != me => {
                report(format_args!(
                    "oxshmem: PE {pe} ended the job with global_exit({status}); so does PE {me}"
                ));
            }
            Over::Exit { .. } => {}
        }
        Self { over, since: Instant::now(), asked: false }
    }

    /// Does what is due, and returns in which time there is more.
    pub(super) fn go_on(&mut self) -> Duration {
        let passed = self.since.elapsed();
        if passed >= ASKED && !self.asked {
            self.asked = true;
            match self.over {
                // SAFETY: it ends the process without running anything of the program, whose
                // threads may be anywhere.
                Over::Exit { status, .. } => unsafe { libc::_exit(status & 0xff) },
                Over::Lost { .. } => kill(libc::SIGTERM),
            }
        }
        if passed >= ASKED + KILLED {
            kill(libc::SIGKILL);
        }
        let next = if self.asked { ASKED + KILLED } else { ASKED };
        next.saturating_sub(passed)
    }
}

/// Sends a signal to this process.
fn kill(signal: libc::c_int) {
    // SAFETY: it sends a signal, and touches no memory.
    unsafe { libc::kill(id() as libc::pid_t, signal) };
}
