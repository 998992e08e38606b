//! Commands with a time limit, and what steps of several of them come to.
//!
//! A command leads a process group of its own, so that when its time is up, or xtask is
//! interrupted, all that it started ends with it.

use std::{
    env,
    ffi::OsStr,
    fmt,
    io::{BufRead, BufReader},
    os::unix::process::{CommandExt, ExitStatusExt},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Output, Stdio},
    sync::{
        atomic::{AtomicI32, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

/// What a step came to, if it did not fail.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// It did what it should.
    Passed,
    /// It was not done, for this reason.
    Skipped(String),
}

/// Why a step failed, and the status that xtask is to exit with.
#[derive(Debug)]
pub(crate) struct Failure {
    text: String,
    pub(crate) status: u8,
    /// What it printed of that, to be read again behind the table of all steps.
    details: String,
}

/// What tasks and steps return.
pub(crate) type Outcome = Result<Verdict, Failure>;

impl Failure {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), status: 1, details: String::new() }
    }

    pub(crate) fn with_details(self, details: String) -> Self {
        Self { details, ..self }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::new(error.to_string())
    }
}

/// A command to be run from the root of the repository.
pub(crate) struct Job {
    command: Command,
    limit: Duration,
}

impl Job {
    /// A program with arguments. Its time limit is a minute.
    pub(crate) fn new<A: AsRef<OsStr>>(
        program: impl AsRef<OsStr>,
        args: impl IntoIterator<Item = A>,
    ) -> Self {
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::null()).process_group(0);
        Self { command, limit: Duration::from_secs(60) }
    }

    /// Cargo with arguments separated by spaces. Its time limit is ten minutes.
    pub(crate) fn cargo(line: &str) -> Self {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        Self::new(cargo, line.split_whitespace()).limit(600)
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Takes away what the `cargo run` that started xtask set: other toolchains must not inherit
    /// it.
    pub(crate) fn without_cargo_env(mut self) -> Self {
        for name in ["CARGO", "RUSTUP_TOOLCHAIN", "RUSTC", "RUSTDOC"] {
            self.command.env_remove(name);
        }
        self
    }

    /// Takes away where the `cargo run` that started xtask has programs look for libraries first.
    pub(crate) fn without_library_path(mut self) -> Self {
        self.command.env_remove("LD_LIBRARY_PATH");
        self
    }

    pub(crate) fn limit(mut self, seconds: u64) -> Self {
        self.limit = Duration::from_secs(seconds);
        self
    }

    /// Leaves out what it prints, other than on stderr.
    pub(crate) fn quiet(mut self) -> Self {
        self.command.stdout(Stdio::null());
        self
    }

    pub(crate) fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.command.args(args);
        self
    }

    /// Runs it with xtask's own output. Anything but status 0 is a failure with that status.
    pub(crate) fn run(mut self) -> Result<(), Failure> {
        let child = self.command.spawn().map_err(|e| self.cannot_start(&e))?;
        let status = self.attend(child)?;
        self.judge(status)
    }

    /// Runs it as [`run`](Self::run) does, and gives each line that it prints, on stdout or stderr,
    /// to `see` as well.
    pub(crate) fn run_seen(mut self, mut see: impl FnMut(&str) + Send + 'static) -> Result<(), Failure> {
        let (reader, writer) = std::io::pipe()?;
        self.command.stdout(writer.try_clone()?).stderr(writer);
        let child = self.command.spawn().map_err(|e| self.cannot_start(&e))?;
        // What is left of ours would keep the pipe open.
        self.command.stdout(Stdio::null()).stderr(Stdio::null());
        let (say, all_seen) = mpsc::channel();
        thread::spawn(move || {
            // Bytes, as a program under test may print any; and a failed read is the end.
            for line in BufReader::new(reader).split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line);
                println!("{line}");
                see(&line);
            }
            let _ = say.send(());
        });
        let status = self.attend(child);
        // A process that outlives the command may hold the pipe; it is not waited for without
        // limit.
        let _ = all_seen.recv_timeout(Duration::from_secs(5));
        self.judge(status?)
    }

    fn judge(&self, status: ExitStatus) -> Result<(), Failure> {
        if status.success() {
            return Ok(());
        }
        let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
        let code = code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
        Err(Failure { status: code, ..Failure::new(format!("{status}: {}", self.line())) })
    }

    /// Runs it and takes what it prints; for commands that print little and end by themselves.
    pub(crate) fn output(mut self) -> Result<Output, Failure> {
        self.command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = self.command.spawn().map_err(|e| self.cannot_start(&e))?;
        Ok(child.wait_with_output()?)
    }

    /// Whether it can be started and ends with status 0, whatever it prints.
    pub(crate) fn works(self) -> bool {
        self.output().is_ok_and(|output| output.status.success())
    }

    fn attend(&self, mut child: Child) -> Result<ExitStatus, Failure> {
        let group = child.id() as i32;
        GROUP.store(group, Ordering::SeqCst);
        // Not asked for again and again: how long a command takes is measured with this.
        let (say, ended) = mpsc::channel();
        let waiter = thread::spawn(move || say.send(child.wait()));
        let ended = match ended.recv_timeout(self.limit) {
            Ok(status) => status.map_err(Failure::from),
            Err(_) => {
                kill_group(group);
                let text = format!("took longer than {} s: {}", self.limit.as_secs(), self.line());
                Err(Failure { status: 124, ..Failure::new(text) })
            }
        };
        let _ = waiter.join();
        GROUP.store(0, Ordering::SeqCst);
        ended
    }

    fn cannot_start(&self, error: &std::io::Error) -> Failure {
        Failure { status: 2, ..Failure::new(format!("cannot start {}: {error}", self.line())) }
    }

    /// The command as one would type it in the root of the repository.
    pub(crate) fn line(&self) -> String {
        let root = env::current_dir().unwrap_or_default();
        let words = std::iter::once(self.command.get_program()).chain(self.command.get_args());
        let words = words.map(|word| Path::new(word).strip_prefix(&root).unwrap_or(Path::new(word)));
        words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
    }
}

/// The process group of the command under way, or 0.
static GROUP: AtomicI32 = AtomicI32::new(0);

// From the C library, which std is linked with anyway.
unsafe extern "C" {
    fn kill(pid: i32, signal: i32) -> i32;
    fn signal(signal: i32, handler: extern "C" fn(i32)) -> usize;
    fn _exit(status: i32) -> !;
}

const SIGINT: i32 = 2;
const SIGKILL: i32 = 9;
const SIGTERM: i32 = 15;

fn kill_group(group: i32) {
    // SAFETY: it takes no memory; the group is that of a child that was not reaped yet, so the
    // number is its own.
    unsafe { kill(-group, SIGKILL) };
}

/// On Ctrl-C and SIGTERM the command under way is killed with all that it started, and xtask ends.
pub(crate) fn end_children_on_signals() {
    extern "C" fn end(signal: i32) {
        let group = GROUP.load(Ordering::SeqCst);
        if group > 0 {
            kill_group(group);
        }
        // SAFETY: it may be called in a signal handler.
        unsafe { _exit(128 + signal) }
    }
    for number in [SIGINT, SIGTERM] {
        // SAFETY: the handler only calls functions that a signal handler may call.
        unsafe { signal(number, end) };
    }
}

/// Makes the repository's root the current folder.
pub(crate) fn enter_repository() -> Result<(), Failure> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    env::set_current_dir(root).map_err(|e| Failure::new(format!("{}: {e}", root.display())))
}

/// What `cargo metadata` says with these options.
pub(crate) fn metadata(options: &str) -> Result<Value, Failure> {
    let output = Job::cargo(&format!("metadata --format-version 1 {options}")).output()?;
    serde_json::from_slice(&output.stdout).map_err(|error| Failure::new(format!("cargo metadata: {error}")))
}

/// Where cargo builds to.
pub(crate) fn target_dir() -> Result<PathBuf, Failure> {
    let metadata = metadata("--no-deps")?;
    let folder = metadata["target_directory"].as_str();
    folder.map(PathBuf::from).ok_or_else(|| Failure::new("cargo metadata does not name a target directory"))
}

/// A step: its name and what it does.
pub(crate) type Step = (&'static str, fn() -> Outcome);

/// Runs steps in order, and prints for each what it came to and how long it took. Stops at the
/// first failure, unless it is to go on.
pub(crate) fn steps(steps: &[Step], keep_going: bool) -> Outcome {
    let begin = Instant::now();
    let mut table = Vec::new();
    let mut failures = Vec::new();
    let mut details = String::new();
    let mut status = 0;
    for (name, step) in steps {
        println!("=== {name}");
        let begin = Instant::now();
        let outcome = step();
        let seconds = begin.elapsed().as_secs_f64();
        let verdict = match outcome {
            Ok(Verdict::Passed) => "ok".to_owned(),
            Ok(Verdict::Skipped(why)) => format!("skipped: {why}"),
            Err(failure) => {
                failures.push(*name);
                status = failure.status;
                details += &failure.details;
                format!("FAILED: {failure}")
            }
        };
        println!("=== {name}: {verdict} ({seconds:.1} s)");
        table.push(format!("{name:<10} {seconds:>7.1} s  {verdict}"));
        if !failures.is_empty() && !keep_going {
            break;
        }
    }
    if !details.is_empty() {
        println!("\n=== what failed, again\n{details}");
    }
    println!("\n{}", table.join("\n"));
    println!("{:<10} {:>7.1} s", "total", begin.elapsed().as_secs_f64());
    if failures.is_empty() {
        return Ok(Verdict::Passed);
    }
    Err(Failure { status, ..Failure::new(format!("failed: {}", failures.join(", "))) })
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn all_lines_of_a_command_are_seen_in_their_order_and_its_status_is_kept() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let lines = Arc::clone(&seen);
        let job = Job::new("sh", ["-c", "echo one; echo two >&2; echo three; exit 3"]);
        let ended = job.run_seen(move |line| lines.lock().unwrap().push(line.to_owned()));
        assert_eq!(ended.unwrap_err().status, 3);
        assert_eq!(*seen.lock().unwrap(), ["one", "two", "three"]);
    }
}
