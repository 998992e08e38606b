//! The process that outlives a killed launcher by just long enough to kill the PEs.
//!
//! It leads the process group of all PEs, and so of what they start, and reads from a pipe whose
//! other end only the launcher holds. When the launcher is gone, however that came about, the read
//! ends and the guardian kills the group. It is not reaped before the launcher ends, so that the
//! group's number cannot come to mean another group.
//!
//! That of an agent also holds the [lease](super::lease) of its host, and kills the agent and the
//! PEs when that is over, whether or not the agent stands still.

use std::{
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd},
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    pipe::{PipeFlags, pipe_with},
    process::{
        Pid, Signal, WaitId, WaitIdOptions, WaitOptions, getpgrp, getpid, getppid,
        kill_current_process_group, kill_process, kill_process_group, setpgid, waitid, waitpid,
    },
};
use tokio::io::{Interest, unix::AsyncFd};

use super::{
    lease::{BEAT, now},
    pe::Exit,
};

/// The launcher's view of the guardian.
#[derive(Debug)]
pub(super) struct Guardian {
    pid: Pid,
    /// A pipe that ends when the guardian does. (A descriptor of the process would need Linux 5.3.)
    process: OwnedFd,
    /// Closed by the kernel when the launcher ends.
    lifeline: OwnedFd,
}

impl Guardian {
    /// Forks the guardian. To be called while the process has one thread.
    pub(super) fn start() -> io::Result<Self> {
        let (watched, lifeline) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        let (process, held) = pipe_with(PipeFlags::CLOEXEC)?;
        // The guardian is born with every signal blocked and never unblocks one. A job may be sent
        // a signal before the guardian has run for the first time.
        let former = block_signals()?;
        let launcher = getpid();
        // SAFETY: there is no other thread whose locks the child could find taken.
        let child = match unsafe { libc::fork() } {
            0 => watch([watched.as_raw_fd(), held.as_raw_fd()], launcher),
            -1 => Err(io::Error::last_os_error()),
            child => Ok(child),
        };
        set_blocked_signals(&former)?;
        let pid = Pid::from_raw(child?).ok_or(io::ErrorKind::InvalidData)?;
        // The child does the same. Whichever is first, the group exists when PEs join it.
        setpgid(Some(pid), Some(pid))?;
        Ok(Self { pid, process, lifeline })
    }

    /// Has the guardian kill this process and the PEs at that [time](super::lease::now), unless
    /// this is called again before. `Duration::MAX` is never.
    pub(super) fn renew(&self, until: Duration) {
        let until = u64::try_from(until.as_nanos()).unwrap_or(u64::MAX);
        // Without room in the pipe, the guardian has been stopped for half an hour.
        let _ = rustix::io::write(&self.lifeline, &until.to_ne_bytes());
    }

    /// Its number, which is also that of the PEs' process group.
    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    /// Sends a signal to all PEs and what they started. The guardian itself only minds SIGKILL.
    pub(super) fn signal_group(&self, signal: Signal) {
        // Fails when the group is empty, which is as well.
        let _ = kill_process_group(self.pid, signal);
    }

    /// Returns when the guardian has ended, which it never does by itself.
    pub(super) async fn ended(&self) -> io::Result<Exit> {
        // SAFETY: the descriptor is open for as long as it is borrowed.
        let watch = unsafe { AsyncFd::register_with_interest(self.process.as_fd(), Interest::READABLE)? };
        watch.readable().await?.retain_ready();
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let status = waitid(WaitId::Pid(self.pid), options)?.ok_or(io::ErrorKind::NotFound)?;
        Ok(match status.terminating_signal() {
            Some(signal) => Exit::Signal(signal),
            None => Exit::Status(status.exit_status().unwrap_or_default()),
        })
    }

    /// Kills what is left of the group, the guardian included.
    pub(super) fn end(self) {
        self.signal_group(Signal::KILL);
        let _ = rustix::io::retry_on_intr(|| waitpid(Some(self.pid), WaitOptions::empty()));
    }
}

/// Blocks every signal that can be blocked for this thread, and returns the former mask.
fn block_signals() -> io::Result<libc::sigset_t> {
    let mut former = std::mem::MaybeUninit::uninit();
    let mut all = std::mem::MaybeUninit::uninit();
    // SAFETY: both sets are valid for writes, and `all` is filled before it is read.
    let error = unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), former.as_mut_ptr())
    };
    match error {
        // SAFETY: the call has succeeded, and so has written the former mask.
        0 => Ok(unsafe { former.assume_init() }),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Sets the mask of this thread.
fn set_blocked_signals(mask: &libc::sigset_t) -> io::Result<()> {
    // SAFETY: the mask is valid, and the former one is not asked for.
    match unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, mask, std::ptr::null_mut()) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// What the guardian does, with the end of the launcher's pipe that it watches and the end of its
/// own that it holds, until the `launcher` is gone or its lease is over.
fn watch(pipes: [RawFd; 2], launcher: Pid) -> ! {
    let _ = setpgid(None, None);
    // By another name than the launcher's, so that a `pkill oshrun` leaves one of the two.
    let _ = rustix::thread::set_name(c"osh-guardian");
    // Above all our own copy of the other end of what we watch, and what a process that reads the
    // launcher's output waits for the end of.
    close_all_but(pipes);
    // SAFETY: nothing closes it before this process ends.
    let watched = unsafe { BorrowedFd::borrow_raw(pipes[0]) };
    if !is_gone(watched) && getppid() == Some(launcher) {
        // It is our parent: the number is its own.
        let _ = kill_process(launcher, Signal::KILL);
    }
    if getpgrp() == getpid() {
        let _ = kill_current_process_group(Signal::KILL);
    }
    // Only reached if the guardian could not become a leader.
    // SAFETY: ends the process without running what is registered to run at the launcher's end.
    unsafe { libc::_exit(0) }
}

/// Waits until the other end of a pipe is closed, which is true, or the lease is over that was last
/// written to it.
fn is_gone(watched: BorrowedFd<'_>) -> bool {
    let mut until = None;
    loop {
        // No longer than a beat, as the time that `poll` waits leaves out suspension.
        let left = until.map(|until: Duration| until.saturating_sub(now()).min(BEAT));
        let limit = left.and_then(|left| Timespec::try_from(left).ok());
        match poll(&mut [PollFd::from_borrowed_fd(watched, PollFlags::IN)], limit.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return true,
        }
        // All of it, before the time is looked at: this process may have been stopped.
        let mut bytes = [0_u8; 64];
        loop {
            match rustix::io::read(watched, &mut bytes) {
                Ok(0) => return true,
                // Pieces are written as a whole, and as many fit.
                Ok(count) => {
                    let (written, _) = bytes[..count].as_chunks();
                    until = written.last().map(|&last| Duration::from_nanos(u64::from_ne_bytes(last)));
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(_) => return true,
            }
        }
        if until.is_some_and(|until| until <= now()) {
            return false;
        }
    }
}

/// Closes every descriptor of this process but those two.
fn close_all_but(mut kept: [RawFd; 2]) {
    kept.sort_unstable();
    // Above standard error: Rust's runtime has seen to it that 0 to 2 are open.
    let [first, second] = kept.map(RawFd::unsigned_abs);
    let ranges = [(0, first - 1), (first + 1, second - 1), (second + 1, libc::c_uint::MAX)];
    let closed = ranges.into_iter().filter(|(from, to)| from <= to).all(|(from, to)| {
        // SAFETY: nothing of this process uses these descriptors any more. By its number, because a
        // C library may be older than the kernel.
        unsafe { libc::syscall(libc::SYS_close_range, from, to, 0) == 0 }
    });
    if closed {
        return;
    }
    // Before Linux 5.9, one by one: those that there are, or could be if there is no procfs.
    let open = std::fs::read_dir("/proc/self/fd").map(|folder| {
        let names = folder.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        names.collect::<Vec<RawFd>>()
    });
    let open = open.unwrap_or_else(|_| {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        (0..limit.map_or(RawFd::MAX, |limit| limit.min(1 << 20) as RawFd)).collect()
    });
    for fd in open.into_iter().filter(|fd| !kept.contains(fd)) {
        // SAFETY: as above. The folder's own descriptor is closed by now, which is no harm either.
        unsafe { libc::close(fd) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_that_comes_before_the_guardian_has_run_does_not_end_it() {
        for _ in 0..20 {
            // This process has other threads. The child takes no lock, so it does not matter here.
            let guardian = Guardian::start().unwrap();
            guardian.signal_group(Signal::TERM);
            guardian.signal_group(Signal::TSTP);
            std::thread::sleep(std::time::Duration::from_millis(5));
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
            assert!(waitid(WaitId::Pid(guardian.pid()), options).unwrap().is_none());
            guardian.end();
        }
    }
}
