//! Starts the real `oshrun` with a time limit, and looks for what it leaves behind.
#![allow(dead_code, reason = "each test file uses some of it")]

use std::{
    ffi::OsStr,
    fs,
    io::{Read, Write},
    os::unix::process::ExitStatusExt,
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// How long a job of these tests may take.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

/// What a job printed, and how it ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A running `oshrun`. All processes of its job carry a mark in their environment.
pub(crate) struct Running {
    pub(crate) child: Child,
    mark: String,
    outputs: Vec<JoinHandle<String>>,
}

/// Runs `oshrun` with these arguments, without input.
pub(crate) fn oshrun<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Ended {
    start(args).end()
}

/// Runs `oshrun` with arguments separated by spaces, in which `pe` stands for the test program.
pub(crate) fn line(args: &str) -> Ended {
    start(split(args)).end()
}

/// Runs a shell script on each of `n` PEs.
pub(crate) fn script(n: usize, script: &str) -> Ended {
    start_script(n, script).end()
}

/// Starts a shell script on each of `n` PEs.
pub(crate) fn start_script(n: usize, script: &str) -> Running {
    start(["-np", &n.to_string(), "/bin/sh", "-c", script])
}

/// Splits at spaces, and puts the test program's path in place of `pe`.
pub(crate) fn split(args: &str) -> Vec<String> {
    let pe = program().to_str().expect("a readable path").to_owned();
    args.split(' ').map(|arg| if arg == "pe" { pe.clone() } else { arg.to_owned() }).collect()
}

/// The test program, which Cargo builds beside `oshrun`.
pub(crate) fn program() -> PathBuf {
    let path = PathBuf::from(env!("CARGO_BIN_EXE_oshrun")).with_file_name("examples/launch_pe");
    assert!(path.exists(), "{} is missing: cargo build --package oxshmem-launch --examples", path.display());
    path
}

/// Starts `oshrun` without input.
pub(crate) fn start<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Running {
    start_with(args, Stdio::null())
}

/// Starts `oshrun`.
pub(crate) fn start_with<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>, stdin: Stdio) -> Running {
    let mut oshrun = Command::new(env!("CARGO_BIN_EXE_oshrun"));
    oshrun.args(args);
    start_command(oshrun, stdin)
}

/// Runs the test program by itself, in an environment of nothing but `variables`, each as in
/// `NAME=value`.
pub(crate) fn alone(behaviour: &str, variables: &[&str]) -> Ended {
    let mut program = Command::new(program());
    program.args(behaviour.split(' ')).env_clear();
    program.envs(variables.iter().map(|variable| variable.split_once('=').expect("NAME=value")));
    start_command(program, Stdio::null()).end()
}

fn start_command(mut command: Command, stdin: Stdio) -> Running {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let mark = format!("OSHRUN_TEST={}-{}.", std::process::id(), NUMBER.fetch_add(1, Relaxed));
    let (name, value) = mark.split_once('=').expect("it has one");
    let mut child = command
        .env(name, value)
        .env_remove("RUST_BACKTRACE")
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    // The last is the first to be taken.
    let stderr = collect(child.stderr.take().expect("piped"));
    let stdout = collect(child.stdout.take().expect("piped"));
    Running { child, mark, outputs: vec![stderr, stdout] }
}

fn collect(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut text = Vec::new();
        from.read_to_end(&mut text).expect("readable");
        String::from_utf8_lossy(&text).into_owned()
    })
}

impl Running {
    /// Waits for its end, and checks that nothing of the job is left.
    pub(crate) fn end(mut self) -> Ended {
        let status = self.wait(LIMIT);
        self.assert_nothing_left();
        let status = status.code().unwrap_or_else(|| 128 + status.signal().expect("a code or a signal"));
        let mut text = || self.outputs.pop().and_then(|output| output.join().ok()).expect("read");
        Ended { status, stdout: text(), stderr: text() }
    }

    /// Waits for the end of `oshrun` itself; after the limit, kills it and fails.
    pub(crate) fn wait(&mut self, limit: Duration) -> ExitStatus {
        let deadline = Instant::now() + limit;
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait().expect("our child") {
                return status;
            }
            thread::sleep(Duration::from_millis(2));
        }
        let left: Vec<_> = self.left().into_iter().map(|pid| (pid, wait_channel(pid))).collect();
        self.child.kill().expect("our child");
        panic!("oshrun did not end within {limit:?}; processes and what they wait in: {left:?}");
    }

    /// Sends a signal to `oshrun`.
    pub(crate) fn signal(&self, signal: i32) {
        kill(self.child.id(), signal);
    }

    /// Its guardian's process.
    pub(crate) fn guardian(&self) -> u32 {
        let is_guardian = |pid: &u32| {
            fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == "osh-guardian\n")
        };
        eventually("a guardian", || self.left().into_iter().find(is_guardian))
    }

    /// The processes of the job that exist, `oshrun` and its guardian included.
    pub(crate) fn left(&self) -> Vec<u32> {
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
    pub(crate) fn assert_nothing_left(&self) {
        let deadline = Instant::now() + Duration::from_secs(1);
        while Instant::now() < deadline && !self.left().is_empty() {
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(self.left(), Vec::<u32>::new(), "processes are left");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Only does something when a test fails.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a signal to a process.
pub(crate) fn kill(pid: u32, signal: i32) {
    // SAFETY: sending a signal touches no memory.
    unsafe { libc::kill(pid as i32, signal) };
}

/// Waits until something is there.
pub(crate) fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(10);
    while Instant::now() < deadline {
        if let Some(found) = look() {
            return found;
        }
        thread::sleep(Duration::from_millis(2));
    }
    panic!("{what} did not come");
}

/// A folder of this test alone, removed by [`Drop`].
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    /// The numbers in a file's lines, once there are `count` of them.
    pub(crate) fn numbers(&self, file: &str, count: usize) -> Vec<u32> {
        eventually(file, || {
            let text = fs::read_to_string(self.0.join(file)).unwrap_or_default();
            let numbers: Vec<u32> = text.lines().filter_map(|line| line.parse().ok()).collect();
            (numbers.len() == count && text.ends_with('\n')).then_some(numbers)
        })
    }

    pub(crate) fn path(&self, file: &str) -> String {
        self.0.join(file).to_str().expect("a readable path").to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Writes to a running job's input.
pub(crate) fn feed(running: &mut Running, text: &str) {
    running.child.stdin.as_mut().expect("piped").write_all(text.as_bytes()).expect("read");
}

fn is_alive(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    status.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['Z', 'X']))
}

fn wait_channel(pid: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let channel = fs::read_to_string(format!("/proc/{pid}/wchan")).unwrap_or_default();
    format!("{} in {channel}", name.trim_end())
}
