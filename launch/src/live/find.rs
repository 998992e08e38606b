//! The jobs of this user that run on this host.
//!
//! PEs of a host share memory, which each of them has open, and so has `oshrun`. A job is all
//! memory that one launcher has open. Under another launcher the PEs alone have it, and those that
//! are on other hosts are not seen.

use std::{
    collections::{BTreeMap, HashMap},
    fs::{File, OpenOptions},
    os::unix::fs::MetadataExt,
    path::PathBuf,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use oxshmem_base::printable::printable;
use oxshmem_progress::{
    activity::{Boards, Standing},
    control::Control,
};
use serde_json::{Value, json};

use super::process::Process;

/// A job, as far as it is on this host.
#[derive(Debug)]
pub struct LiveJob {
    /// The number by which it is named: that of the process that has started it, or of the one that
    /// all its PEs are in.
    pub id: u32,
    /// What that process is called.
    pub launcher: String,
    /// The program that the first PE runs, with its arguments.
    pub program: String,
    /// How long it has run.
    pub age: Duration,
    /// When it began.
    pub since: SystemTime,
    /// Its hosts, which are several where `oshrun` makes them up.
    pub hosts: Vec<Host>,
}

/// The PEs of a job that share memory.
#[derive(Debug)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// What they say.
    pub boards: Boards,
    first_pe: usize,
    first_process: Process,
    /// Whether the process that the job has its number from has the memory open too.
    is_served: bool,
    pids: Vec<u32>,
}

/// Memory that processes share: a file, where it can be opened while the processes run, and these.
#[derive(Default)]
struct Shared {
    paths: Vec<PathBuf>,
    processes: Vec<Process>,
}

/// All jobs, in the order of their numbers.
pub fn jobs() -> Vec<LiveJob> {
    let mut memory: BTreeMap<(u64, u64), Shared> = BTreeMap::new();
    for process in Process::all_of_this_user() {
        for path in process.memory_named(Control::NAME) {
            // A process may end meanwhile.
            let Ok(file) = path.metadata() else { continue };
            let shared = memory.entry((file.dev(), file.ino())).or_default();
            shared.paths.push(path);
            shared.processes.push(process);
        }
    }
    let mut jobs: HashMap<u32, Vec<Host>> = HashMap::new();
    for shared in memory.into_values() {
        if let Some((id, host)) = host(shared) {
            jobs.entry(id).or_default().push(host);
        }
    }
    let mut jobs: Vec<LiveJob> = jobs.into_iter().filter_map(|(id, hosts)| job(id, hosts)).collect();
    jobs.sort_by_key(|job| job.id);
    jobs
}

/// The PEs that share memory, and the number of their job. Nothing if none of them has joined, or
/// another user could have made it.
fn host(shared: Shared) -> Option<(u32, Host)> {
    // To be written, but for one word of each PE, by nothing here.
    let open = |path: &PathBuf| OpenOptions::new().read(true).write(true).open(path).ok();
    // One of the processes may have ended since.
    let file = shared.paths.iter().find_map(open)?;
    let is_ours =
        |file: &File| file.metadata().is_ok_and(|it| it.uid() == rustix::process::geteuid().as_raw());
    let boards = Boards::in_file(Some(file).filter(is_ours)?.into())?;
    let joined = boards.read();
    let first = joined.iter().filter(|pe| pe.standing == Standing::Joined).min_by_key(|pe| pe.pe)?;
    let mut pids: Vec<u32> = joined.iter().map(|pe| pe.pid).collect();
    pids.sort_unstable();
    pids.dedup();
    // A number that a board gives may be any.
    let process = Process(first.pid);
    if !shared.processes.contains(&process) {
        return None;
    }
    let ancestors = process.ancestors();
    // This process has the memory of a job open while it looks, and may have started its launcher.
    let this = Process(std::process::id());
    let launcher = ancestors.iter().find(|it| **it != this && shared.processes.contains(it));
    let id = match launcher {
        Some(launcher) => launcher.0,
        // A PE may have joined before the others of other processes.
        None if pids.len() > 1 || joined.len() < boards.local_pes() => ancestors.first()?.0,
        None => process.0,
    };
    let (first_pe, first_process, is_served) = (first.pe, process, launcher.is_some());
    Some((id, Host { name: String::new(), boards, first_pe, first_process, is_served, pids }))
}

fn job(id: u32, mut hosts: Vec<Host>) -> Option<LiveJob> {
    hosts.sort_by_key(|host| host.first_pe);
    let machine = rustix::system::uname();
    let machine = machine.nodename().to_string_lossy();
    let machine = printable(&machine);
    let several = hosts.len() > 1;
    for (number, host) in hosts.iter_mut().enumerate() {
        host.name = if several { format!("{machine}-{number}") } else { machine.to_string() };
    }
    let (launcher, first) = (Process(id), hosts.first()?);
    let (first, is_served) = (first.first_process, first.is_served);
    // Another launcher may have been there long before, and start several jobs.
    let started = if is_served { launcher } else { first };
    Some(LiveJob {
        id,
        launcher: launcher.name()?,
        program: first.command()?,
        age: started.age()?,
        since: started.since()?,
        hosts,
    })
}

impl LiveJob {
    /// How many PEs it has here.
    pub fn n_pes(&self) -> usize {
        self.hosts.iter().map(|host| host.boards.local_pes()).sum()
    }

    /// Whether `number` is that of the job, or of a process of it.
    pub fn is(&self, number: u32) -> bool {
        self.id == number || self.hosts.iter().any(|host| host.pids.contains(&number))
    }

    /// What scripts read.
    pub fn json(&self) -> Value {
        let since = self.since.duration_since(UNIX_EPOCH).unwrap_or_default();
        json!({
            "job": self.id,
            "launcher": self.launcher,
            "program": self.program,
            "pes": self.n_pes(),
            "hosts": self.hosts.iter().map(|host| &host.name).collect::<Vec<_>>(),
            "since": since.as_secs(),
            "seconds": self.age.as_secs_f64(),
        })
    }
}
