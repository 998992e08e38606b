//! All that is to be tested and measured on a device, as one program that needs nothing but a
//! driver: `cargo xtask device --pack` builds it, with what is beside it on another machine.
//!
//! It prints a report in Markdown: the machine, each test with what it came to, and the
//! measurements. Every test runs in a process of its own, with a time limit, so that one that hangs
//! or breaks its device costs no other. Without arguments it is what `cargo test` runs: some of it,
//! on the emulated device, and then on what a stand-in for the driver pretends to be two devices.
#![cfg_attr(
    not(feature = "cuda"),
    allow(dead_code, unused, clippy::needless_return, reason = "without CUDA there is less to do")
)]

mod beside;
#[cfg(feature = "cuda")]
mod busy;
#[path = "../common/mod.rs"]
mod common;
mod cuda;
#[cfg(feature = "cuda")]
mod driver;
mod jobs;
mod measure;
#[cfg(feature = "cuda")]
mod programs;
mod report;
#[path = "../memory_spaces/collectives.rs"]
mod space_collectives;
#[path = "../memory_spaces/device.rs"]
mod space_device;
#[path = "../memory_spaces/gpu.rs"]
mod space_gpu;
#[path = "../space_sleep/sleep.rs"]
mod space_sleep;
#[path = "../memory_spaces/streams.rs"]
mod space_streams;
mod stand_in;

use std::{
    ffi::OsString,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use clap::Parser;

use common::{AS_PE, Case, DEVICE};
use report::Report;

/// Tests and measures oxshmem on the NVIDIA devices of this machine
#[derive(Debug, Parser)]
#[command(
    name = "gpu-verify",
    after_help = "With --stand-in before all else, it runs on what a stand-in for the driver takes for two devices, \
                  for which there must be a C compiler."
)]
struct Arguments {
    /// On the emulated device instead
    #[arg(long)]
    emulated: bool,
    /// Only some of it
    #[arg(long)]
    quick: bool,
    /// No measurements
    #[arg(long)]
    no_speed: bool,
    /// No tests
    #[arg(long)]
    no_tests: bool,
    /// Only tests whose names contain this
    #[arg(long, default_value = "")]
    filter: String,
    /// Begins nothing new after this many seconds
    #[arg(long, default_value_t = 540)]
    budget: u64,
    /// Says whether there is a device, and no more
    #[arg(long)]
    probe: bool,
    /// Writes the kernels into this folder, and does no more
    #[arg(long)]
    ptx: Option<PathBuf>,
    /// What a process of the report is to do: a test's name, or `suite`, `speed`
    #[arg(long, hide = true)]
    run: Option<String>,
}

/// A part of the report: a process, or a job of some.
struct Part {
    name: String,
    /// What `--run` is given.
    run: String,
    /// How device memory is shared.
    sharing: &'static str,
    /// PEs that are processes, if they are.
    processes: Option<usize>,
    /// Simulated hosts that the PEs are on.
    hosts: usize,
    /// More variables of the environment.
    variables: &'static [(&'static str, &'static str)],
    limit: Duration,
}

/// Which machine's devices the stand-in has, where it is in use.
const MACHINE: &str = "FAKE_CUDA_MACHINE";

fn main() -> ExitCode {
    let mut args: Vec<OsString> = std::env::args_os().collect();
    if args.get(1).is_some_and(|arg| arg == "--stand-in") {
        return stand_in::run(&args[2..]);
    }
    // As the launcher: it forks first of all.
    if args.get(1).is_some_and(|arg| arg == "--oshrun") {
        args.remove(1);
        return oxshmem_launch::oshrun::main_with(args.into_iter());
    }
    // Whatever else cargo gives a test is not for this one.
    if args.len() == 1 {
        let emulated = verify(&Arguments::parse_from(["gpu-verify", "--emulated", "--quick"]));
        let stand_in = stand_in::run(&["--quick".into(), "--no-speed".into()]);
        return if emulated == ExitCode::SUCCESS { stand_in } else { emulated };
    }
    let arguments = Arguments::parse_from(&args);
    if arguments.probe {
        return match report::devices() {
            Ok(devices) => {
                println!("{devices}");
                ExitCode::SUCCESS
            }
            Err(why) => {
                println!("no device: {why}");
                ExitCode::FAILURE
            }
        };
    }
    if let Some(folder) = &arguments.ptx {
        return write_kernels(folder);
    }
    match &arguments.run {
        Some(run) => perform(run, &arguments),
        None => verify(&arguments),
    }
}

/// All tests of the files.
fn cases() -> impl Iterator<Item = Case> {
    let files = [
        space_device::CASES,
        space_gpu::CASES,
        space_collectives::CASES,
        space_sleep::CASES,
        space_streams::CASES,
    ];
    files.into_iter().flatten().copied()
}

/// All tests that have a name: also those of programs that use CUDA.
fn named_cases() -> impl Iterator<Item = Case> {
    #[cfg(feature = "cuda")]
    return cases().chain(programs::CASES.iter().copied());
    #[cfg(not(feature = "cuda"))]
    return cases();
}

/// Writes a file for each module of kernels.
fn write_kernels(folder: &Path) -> ExitCode {
    #[cfg(feature = "cuda")]
    for (name, text) in oxshmem_spaces::device::cuda::kernels() {
        let file = folder.join(name).with_extension("ptx");
        if let Err(error) = std::fs::write(&file, text) {
            eprintln!("{}: {error}", file.display());
            return ExitCode::FAILURE;
        }
    }
    let _ = folder;
    ExitCode::SUCCESS
}

/// Does one thing, in this process.
fn perform(run: &str, arguments: &Arguments) -> ExitCode {
    if let Some(ended) = cuda::perform(run) {
        return ended;
    }
    match run {
        "suite" => suite(arguments.emulated),
        #[cfg(feature = "cuda")]
        "driver" => driver::check(),
        #[cfg(feature = "cuda")]
        "misuse" => driver::misuse(&arguments.filter),
        #[cfg(feature = "cuda")]
        "misuses" => driver::misuses(),
        "large" => jobs::large(),
        "hold" => jobs::hold(),
        "killed" => jobs::killed(),
        "exhausted" => jobs::exhausted(),
        "large-heap" => jobs::large_heap(),
        "speed" => measure::run(arguments.emulated, arguments.quick, false),
        "beside" => beside::ours(arguments.quick),
        "speed-cluster" => measure::run(arguments.emulated, arguments.quick, true),
        name => match named_cases().find(|(case, ..)| *case == name) {
            Some((_, case, _)) => case(),
            None => {
                eprintln!("there is no test {name}");
                return ExitCode::FAILURE;
            }
        },
    }
    ExitCode::SUCCESS
}

/// The suite of all devices, without PEs.
fn suite(emulated: bool) {
    use std::sync::Arc;

    use oxshmem_memory::HostMap;
    use oxshmem_progress::suite::Way;
    use oxshmem_spaces::device;
    let ways = || {
        let one = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let several = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        Way::all([one, several].map(|runtime| runtime.expect("threads")))
    };
    if emulated {
        return device::suite::check(ways(), |helper_waker| {
            let map = Arc::new(HostMap::new(2, 1 << 20).expect("memory"));
            let made = device::emulated::Emulated::new(&map, 1 << 16, 1 << 17, Duration::ZERO, helper_waker);
            Arc::new(made.expect("a device"))
        });
    }
    #[cfg(feature = "cuda")]
    {
        let sharing = match std::env::var(DEVICE).as_deref() {
            Ok("ipc") => oxshmem::settings::GpuSharing::Ipc,
            _ => oxshmem::settings::GpuSharing::Vmm,
        };
        device::suite::check(ways(), |helper_waker| {
            Arc::new(device::cuda::Cuda::alone(2, 1 << 20, sharing, helper_waker).expect("a device"))
        });
    }
}

/// What is to be done, in order: what is most likely to show why the rest fails comes first.
fn parts(arguments: &Arguments) -> Vec<Part> {
    let limit = Duration::from_secs(if arguments.quick { 60 } else { 90 });
    let part = |name: &str, run: &str, sharing, processes| Part {
        name: name.to_owned(),
        run: run.to_owned(),
        sharing,
        processes,
        hosts: 1,
        variables: &[],
        limit,
    };
    let mut parts = Vec::new();
    let sharings: &[&str] = if arguments.emulated { &["emulated"] } else { &["vmm", "ipc"] };
    if !arguments.emulated {
        parts.push(part("streams, events and graphs of the driver", "driver", "vmm", None));
    }
    for sharing in sharings {
        parts.push(part("suite of all devices", "suite", sharing, None));
    }
    let first = sharings[0];
    for (name, _, runs) in cases() {
        let quick = ["strided_blocks", "reductions_in_place", "contexts_of", "streams_"];
        if arguments.quick && !quick.iter().any(|start| name.starts_with(start)) {
            continue;
        }
        if runs != "Emulated" || arguments.emulated {
            parts.push(part(name, name, first, None));
        }
    }
    for (n, sharing) in [(2, first), (4, first), (2, sharings[sharings.len() - 1])] {
        for (name, _, runs) in cases() {
            let again =
                parts.iter().any(|it| it.processes == Some(n) && it.run == name && it.sharing == sharing);
            let quick = (name.starts_with("contexts_of") || name.starts_with("streams_")) && n == 2;
            if runs == "Processes" && !again && (!arguments.quick || quick) {
                parts.push(part(name, name, sharing, Some(n)));
            }
        }
    }
    // What goes to another host never goes from device to device, even if that is the same: in one
    // process over the model of a network, between processes over UCX.
    let far = [
        "a_put_and_a_get",
        "atomics_of_all_pes",
        "a_signal_follows",
        "long_transfers",
        "every_collective",
        "streams_",
    ];
    let placements: &[(Option<usize>, usize)] =
        if common::reaches_hosts() { &[(None, 2), (Some(2), 2), (Some(4), 2)] } else { &[(None, 2)] };
    for &(processes, hosts) in placements {
        for (name, _, runs) in cases() {
            let quick = far.iter().any(|start| name.starts_with(start)) && processes != Some(4);
            if runs == "Processes" && (!arguments.quick || quick) {
                parts.push(Part { hosts, ..part(name, name, first, processes) });
            }
        }
    }
    #[cfg(feature = "cuda")]
    if !arguments.emulated {
        parts.extend(with_a_driver(arguments, &part));
    }
    parts.retain(|part| part.name.contains(&arguments.filter));
    parts
}

/// What needs a driver: programs that use it themselves, and jobs of processes.
#[cfg(feature = "cuda")]
fn with_a_driver(
    arguments: &Arguments,
    part: &impl Fn(&str, &str, &'static str, Option<usize>) -> Part,
) -> Vec<Part> {
    let mut parts = Vec::new();
    for &(name, _, runs) in programs::CASES {
        if runs == "Hidden" {
            let variables = &[("CUDA_VISIBLE_DEVICES", "")];
            parts.push(Part { variables, ..part(name, name, "vmm", None) });
            continue;
        }
        for (sharing, processes) in [("vmm", None), ("ipc", None), ("vmm", Some(2)), ("ipc", Some(2))] {
            parts.push(part(name, name, sharing, processes));
        }
    }
    let sharings: &[&str] = if arguments.quick { &["vmm"] } else { &["vmm", "ipc"] };
    for &sharing in sharings {
        let many: &[usize] = if arguments.quick { &[1, 8] } else { &[1, 2, 4, 8, 16, 32] };
        for &n in many {
            parts.push(part("a job does everything once", "large", sharing, Some(n)));
        }
        parts.push(part("a PE is killed", "killed", sharing, None));
        parts.push(part("more memory is asked for than there is", "exhausted", sharing, None));
    }
    if std::env::var_os(MACHINE).is_some() {
        parts.push(part("the stand-in ends programs that misuse it", "misuses", "vmm", None));
        // Other devices, as the stand-in has them.
        let machines: [(&str, &'static [(&str, &str)]); 3] = [
            ("vmm", &[("FAKE_CUDA_DEVICES", "4")]),
            ("vmm", &[("FAKE_CUDA_DEVICES", "2"), ("FAKE_CUDA_PEERS", "0")]),
            ("ipc", &[("FAKE_CUDA_DEVICES", "4"), ("FAKE_CUDA_PEERS", "0"), ("FAKE_CUDA_VMM", "0")]),
        ];
        for (sharing, variables) in machines {
            let changed = variables
                .iter()
                .map(|(name, value)| format!("{}={value}", &name[5..]))
                .collect::<Vec<_>>()
                .join(" ");
            let runs = [("suite", None), ("large", Some(4))];
            let programs = programs::ON_ALL_MACHINES.iter().map(|&run| (run, Some(4)));
            for (run, processes) in runs.into_iter().chain(programs) {
                parts.push(Part { variables, ..part(&format!("{run}, {changed}"), run, sharing, processes) });
            }
        }
    }
    parts
}

/// Does everything, and reports it.
fn verify(arguments: &Arguments) -> ExitCode {
    let begin = Instant::now();
    let mut report = Report::begin(arguments.emulated);
    if !arguments.emulated
        && let Err(why) = report::devices()
    {
        report.line(&format!("There is no device: {why}."));
        return ExitCode::FAILURE;
    }
    let over = || begin.elapsed().as_secs() >= arguments.budget;
    let speed = |report: &mut Report| {
        for (title, run, processes) in [
            ("Speed, 2 processes on the device", "speed", Some(2)),
            ("Speed, 2 PEs in one process", "speed-cluster", None),
        ] {
            report.title(title);
            let sharing = if arguments.emulated { "emulated" } else { "vmm" };
            let part = measurement(title, run, sharing, processes);
            report.speed(&part, carry_out(&part, arguments));
        }
        beside_nvshmem(report, arguments);
    };
    if !arguments.no_tests {
        let parts = parts(arguments);
        report.title("Tests");
        report.head();
        for part in parts {
            if over() {
                report.skipped(&part);
            } else {
                let ended = carry_out(&part, arguments);
                report.test(&part, ended);
            }
        }
    }
    if !arguments.no_speed {
        speed(&mut report);
        if !arguments.emulated {
            of_kernels(&mut report, arguments);
        }
    }
    report.end(begin.elapsed())
}

/// What CUDA programs do, and how long it takes them.
fn of_kernels(report: &mut Report, arguments: &Arguments) {
    if let Some(why) = cuda::missing() {
        return report.line(&format!("\nThe CUDA programs are not run: {why}."));
    }
    for (title, run) in cuda::RUNS {
        report.title(title);
        let limit = Duration::from_secs(60);
        let (name, run) = (title.to_owned(), run.to_owned());
        let part = Part { limit, ..measurement(&name, &run, "vmm", None) };
        report.speed(&part, carry_out(&part, arguments));
    }
}

/// A part that measures.
fn measurement(title: &str, run: &str, sharing: &'static str, processes: Option<usize>) -> Part {
    Part {
        name: title.to_owned(),
        run: run.to_owned(),
        sharing,
        processes,
        hosts: 1,
        variables: &[],
        limit: Duration::from_secs(120),
    }
}

/// Measures what NVSHMEM does as well, and NVSHMEM where it is packed beside this program.
fn beside_nvshmem(report: &mut Report, arguments: &Arguments) {
    let title = "Beside NVSHMEM";
    report.title(title);
    report.line("Microseconds, on one device: of one process, and of two that share it.\n");
    let peer = if arguments.emulated { None } else { beside::Peer::find() };
    let mut all = [const { Vec::new() }; 4];
    for n in [1, 2] {
        let sharing = if arguments.emulated { "emulated" } else { "vmm" };
        let part = measurement(title, "beside", sharing, Some(n));
        let ours = carry_out(&part, arguments);
        all[2 * n - 1] = beside::rows(&ours.stdout);
        if ours.failed.is_some() {
            report.speed(&part, ours);
        }
        if let Some(Ok(peer)) = &peer {
            let theirs = finish(&mut peer.command(n), Duration::from_secs(90));
            all[2 * n - 2] = beside::rows(&theirs.stdout);
            if let Some(why) = theirs.failed {
                let last = theirs.stderr.lines().last().unwrap_or_default().to_owned();
                report.line(&format!("NVSHMEM with {n} PEs ended early: {why} ({last}).\n"));
            }
        }
    }
    match peer {
        None => {
            report.line("NVSHMEM's program is not beside this one: `cargo xtask device --pack` does that.\n")
        }
        Some(Err(why)) => report.line(&format!("NVSHMEM's program cannot be unpacked: {why}.\n")),
        Some(Ok(_)) => {}
    }
    report.line(&beside::table(&all));
}

/// How a part ended.
struct Ended {
    /// Why it is not well, if it is not.
    failed: Option<String>,
    stdout: String,
    stderr: String,
    took: Duration,
}

/// Starts a part, waits for it, and ends it when its time is up.
fn carry_out(part: &Part, arguments: &Arguments) -> Ended {
    let program = std::env::current_exe().expect("this program's path");
    let mut command = Command::new(&program);
    command.envs(part.variables.iter().copied());
    if let Some(n) = part.processes {
        command.arg("--oshrun").arg("-np").arg(n.to_string()).arg(&program).env(AS_PE, "1");
    }
    command.arg("--run").arg(&part.run);
    if arguments.emulated {
        command.arg("--emulated");
    }
    if arguments.quick {
        command.arg("--quick");
        // Of the numbers of PEs in one process.
        command.env("OXSHMEM_TEST_PES", "1,3");
    }
    match part.sharing {
        "emulated" => command.env_remove(DEVICE),
        sharing => command.env(DEVICE, sharing),
    };
    match part.hosts {
        1 => command.env_remove("SHMEM_FAKE_HOSTS"),
        hosts => command.env("SHMEM_FAKE_HOSTS", hosts.to_string()),
    };
    finish(&mut command, part.limit)
}

/// Starts a command, waits for it, and ends it when its time is up.
fn finish(command: &mut Command, limit: Duration) -> Ended {
    let begin = Instant::now();
    // As many queues for streams as there can be: a process has streams of several PEs.
    command.env("CUDA_DEVICE_MAX_CONNECTIONS", "32");
    command.env("RUST_BACKTRACE", "0").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            let failed = Some(format!("it cannot be started: {error}"));
            return Ended { failed, stdout: String::new(), stderr: String::new(), took: begin.elapsed() };
        }
    };
    let outputs = [report::collect(child.stdout.take()), report::collect(child.stderr.take())];
    let failed = loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => break None,
            Ok(Some(status)) => break Some(status.to_string()),
            Err(error) => break Some(format!("it cannot be waited for: {error}")),
            Ok(None) if begin.elapsed() > limit => {
                // The launcher takes its PEs with it.
                let _ = child.kill();
                let _ = child.wait();
                break Some(format!("it was not over after {} s", limit.as_secs()));
            }
            Ok(None) => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    let [stdout, stderr] = outputs.map(|output| output.join().unwrap_or_default());
    let _ = std::io::stdout().flush();
    Ended { failed, stdout, stderr, took: begin.elapsed() }
}
