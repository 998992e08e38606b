//! What ends the processes of a job with their launcher, whatever their threads do and whichever
//! way the launcher ends.
//!
//! The launcher alone holds the writing end of a pipe, and all PEs inherit the reading end. When
//! the last writer closes, the kernel signals the owner of the reading end, if it has one
//! (`O_ASYNC`): the signal is SIGKILL (`F_SETSIG`), the owner the process group that the launcher
//! starts everything in. So wrapper scripts and what they start end too, and no thread has to wait
//! for anything. A PE that has left that group takes a reading end of its own for itself.

use std::{
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
};

use rustix::{
    fs::{FileType, Mode, OFlags, fcntl_getfl, fcntl_setfl, open},
    io::{FdFlags, fcntl_setfd},
    pipe::{PipeFlags, pipe_with},
    process::{Pid, getpid},
};

use super::{job::Job, wire};

/// The launcher's side: both ends.
#[derive(Debug)]
pub struct Lifeline {
    watched: OwnedFd,
    /// Closed by the kernel when the launcher ends.
    _held: OwnedFd,
}

impl Lifeline {
    /// Has the kernel kill the process group `group` when this is dropped, for as long as a process
    /// there has the [`watched`](Self::watched) end open. Where the kernel refuses, nothing is
    /// killed.
    ///
    /// # Errors
    /// If there can be no further pipe.
    pub fn of_group(group: Pid) -> io::Result<Self> {
        let (watched, held) = pipe_with(PipeFlags::CLOEXEC)?;
        // A safety net: a job whose launcher is not killed does not need it.
        let _ = kill_at_end(watched.as_fd(), -group.as_raw_pid());
        Ok(Self { watched, _held: held })
    }

    /// The end that every PE is to inherit. It is close-on-exec.
    pub fn watched(&self) -> BorrowedFd<'_> {
        self.watched.as_fd()
    }
}

/// A PE's side: has the kernel kill this process when the launcher ends, until the descriptor is
/// closed. Keeps the inherited end from the programs that this process starts. `None` if it was not
/// inherited.
pub(super) fn of_this_process(job: &Job) -> Option<OwnedFd> {
    // SAFETY: the number is not negative (`Job` checks that). The descriptor may be closed, in
    // which case the first call says so; if it is the launcher's pipe, no other code in this
    // process knows of it or closes it.
    let inherited = unsafe { BorrowedFd::borrow_raw(job.life) };
    if !wire::is_still(inherited, FileType::Fifo, job.end) {
        return None;
    }
    fcntl_setfd(inherited, FdFlags::CLOEXEC).ok()?;
    // The owner of what was inherited is the group. Opened again it has one of its own.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let own = open(format!("/proc/self/fd/{}", job.life), flags, Mode::empty()).ok()?;
    kill_at_end(own.as_fd(), getpid().as_raw_pid()).ok()?;
    Some(own)
}

/// Has the kernel send SIGKILL to `owner`, a process or as a negative number a process group, when
/// the last writer of a pipe is gone, or writes.
fn kill_at_end(watched: BorrowedFd<'_>, owner: libc::pid_t) -> io::Result<()> {
    /// Not among libc's constants for this system.
    const F_SETSIG: libc::c_int = 10;
    for (command, argument) in [(libc::F_SETOWN, owner), (F_SETSIG, libc::SIGKILL)] {
        // SAFETY: both take a number and touch no memory of ours.
        if unsafe { libc::fcntl(watched.as_raw_fd(), command, argument) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    let flags = fcntl_getfl(watched)?;
    // Rustix has no name for the flag.
    fcntl_setfl(watched, flags | OFlags::from_bits_retain(libc::O_ASYNC as _))?;
    Ok(())
}
