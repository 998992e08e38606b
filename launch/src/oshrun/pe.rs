//! One PE's process: how it is started, and what becomes of its exit status.

use std::{
    fmt, io,
    os::{
        fd::{AsRawFd, BorrowedFd, OwnedFd},
        unix::process::ExitStatusExt,
    },
    path::Path,
    process::{ExitStatus, Stdio},
};

use oxshmem_job::{
    job::{JOB_VARIABLE, Job},
    lifeline::Lifeline,
    wire,
};
use rustix::{
    fs::FileType,
    io::{FdFlags, fcntl_setfd},
    process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal},
    thread::{CpuSet, sched_getaffinity, sched_setaffinity},
};
use tokio::process::{Child, Command};

use super::plan::{BindTo, Plan};

/// A PE's process that was just started.
pub(super) struct Pe {
    pub(super) child: Child,
    pub(super) socket: OwnedFd,
}

/// Starts PEs, all alike but for their number.
pub(super) struct Starter<'a> {
    plan: &'a Plan,
    program: &'a Path,
    group: Pid,
    lifeline: &'a Lifeline,
    /// The CPUs that PEs are bound to, if they are.
    cpus: Vec<usize>,
}

impl<'a> Starter<'a> {
    /// PEs run the file `program`, and will join the process group `group`, which ends with
    /// `lifeline`.
    pub(super) fn new(
        plan: &'a Plan,
        program: &'a Path,
        group: Pid,
        lifeline: &'a Lifeline,
    ) -> io::Result<Self> {
        let cpus = match plan.bind_to {
            BindTo::None => Vec::new(),
            BindTo::Core => {
                let allowed = sched_getaffinity(None)?;
                (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect()
            }
        };
        Ok(Self { plan, program, group, lifeline, cpus })
    }

    /// Starts PE `pe`, or a replacement of it. To be called on the main thread: the PE is killed
    /// when the calling thread ends.
    pub(super) fn start(&self, pe: usize, stdin: Stdio, is_replacement: bool) -> io::Result<Pe> {
        let (socket, theirs) = wire::pair()?;
        let job = Job {
            fd: theirs.as_raw_fd(),
            inode: wire::inode(&theirs)?,
            life: self.lifeline.watched().as_raw_fd(),
            end: wire::inode(self.lifeline.watched())?,
            pe,
            n_pes: self.plan.n_pes,
            hosts: self.plan.distribution.clone(),
            simulated: self.plan.simulated,
            is_replacement,
            host: self.plan.machine.clone(),
        };
        let mut command = Command::new(self.program);
        command
            .arg0(&self.plan.name)
            .args(&self.plan.arguments)
            .envs(self.plan.variables.iter().map(|(name, value)| (name, value)))
            .env(JOB_VARIABLE, job.to_string())
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(self.group.as_raw_pid());
        if let Some(folder) = &self.plan.folder {
            command.current_dir(folder);
        }
        let launcher = getpid();
        let cpus = self.cpus.get((pe - self.plan.pes.start) % self.cpus.len().max(1)).map(|&cpu| {
            let mut only = CpuSet::new();
            only.set(cpu);
            only
        });
        let inherited = [theirs.as_raw_fd(), job.life];
        let prepare = move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            if getppid() != Some(launcher) {
                // The launcher died before the line above, which therefore came too late.
                return Err(rustix::io::Errno::SRCH.into());
            }
            if let Some(cpus) = &cpus {
                sched_setaffinity(None, cpus)?;
            }
            for fd in inherited {
                // SAFETY: the parent closes it after the child was started.
                let inherited = unsafe { BorrowedFd::borrow_raw(fd) };
                fcntl_setfd(inherited, FdFlags::empty())?;
            }
            Ok(())
        };
        // SAFETY: it makes system calls only, and allocates nothing.
        unsafe { command.pre_exec(prepare) };
        let child = command.spawn()?;
        Ok(Pe { child, socket })
    }
}

/// Keeps what ties a process to the job that this launcher is itself part of, if it is, from the
/// PEs of the job that it starts.
pub(super) fn leave_outer_job() {
    let outer = std::env::var(JOB_VARIABLE).ok().and_then(|text| text.parse::<Job>().ok());
    let Some(job) = outer else { return };
    for (fd, kind, inode) in [(job.fd, FileType::Socket, job.inode), (job.life, FileType::Fifo, job.end)] {
        // SAFETY: the number is not negative (`Job` checks that), and used only if it is what it
        // was.
        let inherited = unsafe { BorrowedFd::borrow_raw(fd) };
        if wire::is_still(inherited, kind, inode) {
            let _ = fcntl_setfd(inherited, FdFlags::CLOEXEC);
        }
    }
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    Status(i32),
    Signal(i32),
    /// Nobody knows: its host was lost.
    WithHost,
}

impl Exit {
    /// What a shell would report.
    pub(super) fn code(self) -> u8 {
        match self {
            Self::Status(status) => status as u8,
            Self::Signal(signal) => 128_u8.wrapping_add(signal as u8),
            Self::WithHost => 1,
        }
    }
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Self {
        match status.signal() {
            Some(signal) => Self::Signal(signal),
            None => Self::Status(status.code().unwrap_or_default()),
        }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Status(status) => write!(f, "exited with status {status}"),
            Self::Signal(signal) => write!(f, "was killed by {}", signal_name(signal)),
            Self::WithHost => f.write_str("was lost with its host"),
        }
    }
}

/// Whether a process of ours has begun to end, or has ended: its connections may be closed by now.
pub(super) fn is_ending(pid: u32) -> bool {
    /// The kernel's flag of a process that is in `exit`.
    const EXITING: u64 = 0x4;
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return true };
    // Behind the name, which may have anything in it: the state, five numbers, and the flags.
    let mut fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let state = fields.next();
    let flags = fields.nth(5).and_then(|flags| flags.parse::<u64>().ok()).unwrap_or_default();
    matches!(state, Some("Z" | "X")) || flags & EXITING != 0
}

/// A signal as people know it: `signal 9 (SIGKILL)`.
pub(super) fn signal_name(signal: i32) -> String {
    const NAMES: [&str; 32] = [
        "", "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
        "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU",
        "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
    ];
    match usize::try_from(signal).ok().and_then(|index| NAMES.get(index)) {
        Some(name) => format!("signal {signal} (SIG{name})"),
        None => format!("signal {signal}"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_process_is_ending_once_it_is_being_killed_and_until_it_is_waited_for() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("sleep runs");
        let pid = child.id();
        assert!(!is_ending(pid) && !is_ending(std::process::id()));
        child.kill().expect("it is ours");
        let killed = Instant::now();
        while !is_ending(pid) {
            assert!(killed.elapsed() < Duration::from_secs(10));
            std::thread::yield_now();
        }
        child.wait().expect("it is ours");
        assert!(is_ending(pid), "it is no more");
    }
}
