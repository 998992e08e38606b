//! Open MPI's OSHMEM, as Debian has it.
//!
//! Its `shmemcc` and `shmemrun` are the same programs as its `oshcc` and `oshrun`, under names that
//! are not ours.

use std::{fs, path::Path};

use serde_json::Value;

use super::{LIMIT, cable::Cable, remove};
use crate::{
    debian,
    run::{Failure, Job},
};

const PACKAGES: [&str; 2] = ["openmpi-bin", "libopenmpi-dev"];

/// One way to run it.
#[derive(Clone, Copy)]
pub(super) struct Variant {
    pub(super) name: &'static str,
    settings: &'static [&'static str],
    /// Whether each PE has one processor only, where several have to share it.
    bound: bool,
}

impl Variant {
    const fn new(name: &'static str, settings: &'static [&'static str]) -> Self {
        Self { name, settings, bound: false }
    }

    const fn bound(self, name: &'static str) -> Self {
        Self { name, bound: true, ..self }
    }
}

const MPI: Variant = Variant::new("default", &[]);
const BASIC: Variant = Variant::new("basic", &["scoll", "basic"]);
const YIELDING: Variant = Variant::new("default, yields", &["mpi_yield_when_idle", "1"]);
const BASIC_YIELDING: Variant =
    Variant::new("basic, yields", &["scoll", "basic", "mpi_yield_when_idle", "1"]);

/// The ways to run it with `n` PEs that may be its best.
pub(super) fn variants(n: usize) -> &'static [Variant] {
    const CROWDED: [Variant; 5] = [
        MPI,
        YIELDING,
        BASIC_YIELDING,
        YIELDING.bound("default, yields, bound"),
        BASIC_YIELDING.bound("basic, yields, bound"),
    ];
    if n > cores() { &CROWDED } else { &[MPI, BASIC] }
}

/// The ways to run it with `n` PEs on hosts of their own that may be its best. Where they share
/// cores, `basic` is not done in a minute.
pub(super) fn variants_apart(n: usize) -> &'static [Variant] {
    const CROWDED: [Variant; 2] = [YIELDING, YIELDING.bound("default, yields, bound")];
    if n > cores() { &CROWDED } else { &[MPI, BASIC] }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// What is installed, for people.
pub(super) fn version() -> String {
    let output = Job::new("oshmem_info", ["--version"]).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.lines().next().unwrap_or("unknown").trim().to_owned()
}

/// Installs the peer where that is a matter of one command.
pub(super) fn install_if_missing() -> Result<(), Failure> {
    debian::install("Open MPI's OSHMEM is", &PACKAGES, || {
        debian::compiles("shmemcc", "shmem.h") && Job::new("shmemrun", ["--version"]).works()
    })
}

/// Compiles `source` as `program`.
pub(super) fn build(source: &str, program: &Path) -> Result<(), Failure> {
    Job::new("shmemcc", ["-O2", "-Wall", source, "-o"]).args([program]).run()
}

/// A job of `n` PEs in one way of running it.
fn job(n: usize, variant: Variant) -> Job {
    let job = Job::new("shmemrun", ["-n", &n.to_string()]).limit(LIMIT).quiet();
    with_settings(job, variant)
}

fn with_settings(mut job: Job, variant: Variant) -> Job {
    // Without the last one it crashes when it releases memory.
    for setting in [["spml", "ucx"], ["opal_common_ucx_opal_mem_hooks", "0"]] {
        job = job.args(["--mca"]).args(setting);
    }
    for setting in variant.settings.chunks(2) {
        job = job.args(["--mca"]).args(setting);
    }
    if debian::is_root() { job.args(["--allow-run-as-root"]) } else { job }
}

/// Runs a program without arguments on 2 PEs.
pub(super) fn start(program: &Path) -> Result<(), Failure> {
    job(2, MPI).args([program]).run()
}

/// With PEs that share cores.
fn shared(job: Job, variant: Variant) -> Job {
    job.args(match variant.bound {
        true => ["--map-by", "core:oversubscribe", "--bind-to", "core:overload-allowed"].as_slice(),
        false => &["--bind-to", "none", "--oversubscribe"],
    })
}

/// Runs its program, which writes its figures to `file`.
pub(super) fn run(
    program: &Path,
    n: usize,
    variant: Variant,
    samples: usize,
    file: &Path,
) -> Result<(), Failure> {
    remove(file)?;
    let mut job = job(n, variant);
    let bound = n <= cores();
    // The processors that our `--bind-to core` takes: the first that there are.
    let list = allowed_cpus()?.iter().take(n).map(usize::to_string).collect::<Vec<_>>().join(",");
    job = if bound {
        job.args(["--cpu-list", &list, "--bind-to", "cpu-list:ordered"])
    } else {
        shared(job, variant)
    };
    // Every PE ends itself before the launcher is ended, which may leave some behind.
    let limit = (LIMIT - 5).to_string();
    job = job.args([program]).args([file]).args([&samples.to_string(), &limit]);
    let outcome = job.run();
    let list = if bound { Some(&*list) } else { None };
    check(file, list, variant, outcome)
}

/// Runs a program with `n` PEs that reach each other by the loopback device alone.
pub(super) fn run_over_loopback(
    program: &Path,
    n: usize,
    variant: Variant,
    samples: usize,
    file: &Path,
) -> Result<(), Failure> {
    remove(file)?;
    let mut job = shared(job(n, variant), variant).args(["-x", "UCX_TLS=tcp,self"]);
    for setting in [["btl", "tcp,self"], ["btl_tcp_if_include", "lo"]] {
        job = job.args(["--mca"]).args(setting);
    }
    let outcome =
        job.args([program]).args([file]).args([&samples.to_string(), &(LIMIT - 5).to_string()]).run();
    check(file, None, variant, outcome)
}

/// Runs a program with two PEs at the ends of a cable.
pub(super) fn run_apart(
    program: &Path,
    variant: Variant,
    samples: usize,
    file: &Path,
    cable: &Cable,
) -> Result<(), Failure> {
    remove(file)?;
    let ([here, there], network) = cable.addresses();
    let hosts = format!("{here}:1,{there}:1");
    // The launcher is at one end itself, where the agent starts it.
    let job = Job::new(cable.agent(), [&*here, "exec", "shmemrun", "-n", "2", "--bind-to", "none"])
        .limit(LIMIT)
        .quiet();
    let mut job = with_settings(job, variant).args(["--host", &hosts]);
    job = job.args(["--mca", "plm_rsh_agent"]).args([cable.agent()]);
    for layer in ["btl_tcp_if_include", "oob_tcp_if_include"] {
        job = job.args(["--mca", layer, &network]);
    }
    // Its UCX would look for other devices, which do not lead to the other end.
    job = job.args(["-x", "UCX_TLS=tcp,self"]).args([program]).args([file]);
    let outcome = job.args([&samples.to_string(), &(LIMIT - 5).to_string()]).run();
    check(file, None, variant, outcome)
}

/// What came of a run, of which the PEs should have been on these processors.
fn check(
    file: &Path,
    list: Option<&str>,
    variant: Variant,
    outcome: Result<(), Failure>,
) -> Result<(), Failure> {
    // It may crash at its end, or be stopped in a collective that takes forever: what it has
    // written counts.
    let text = fs::read_to_string(file).unwrap_or_default();
    let mut lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let Some(head) = lines.next() else {
        outcome?;
        return Err(Failure::new("the peer has written nothing"));
    };
    if let Some(list) = list {
        let found: Vec<_> = head["cpus"].as_array().into_iter().flatten().map(ToString::to_string).collect();
        if found.join(",") != list {
            let text = format!("the peer's PEs run on {}, not on {list}", found.join(","));
            return Err(Failure::new(text));
        }
    }
    if let (None, Err(failure)) = (lines.find(|line| line["end"] == true), outcome) {
        println!("the peer ({}) was not done: {failure}", variant.name);
    }
    Ok(())
}

/// The processors that this process may run on.
fn allowed_cpus() -> Result<Vec<usize>, Failure> {
    let status = fs::read_to_string("/proc/self/status")?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or("0").trim();
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<usize>().ok()?..=last.parse().ok()?)
    };
    let ranges: Option<Vec<_>> = list.split(',').map(range).collect();
    let cpus = ranges.map(|ranges| ranges.into_iter().flatten().collect());
    cpus.ok_or_else(|| Failure::new(format!("cannot read the list of processors {list}")))
}
