//! C and C++ programs as their users make and run them: compiled against the headers here, started
//! by `oshrun`.
#![allow(dead_code)]

use std::{
    env,
    ffi::OsString,
    fs,
    io::Read,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

/// Numbers of PEs that every conformance program runs with.
pub(crate) const PES: [usize; 5] = [1, 2, 3, 4, 7];

/// How long a compiler or a job may take.
const LIMIT: Duration = Duration::from_secs(100);
/// By what that is multiplied, if it is set, and what is set where the processor that programs are
/// for is only played.
const SLOWER: &str = "OXSHMEM_TEST_SLOWER";
const PLAYED: &str = "OXSHMEM_TEST_PLAYED";

/// Has MPI programs share no memory with MPI: that stays behind in files when a job is ended.
const BTL: (&str, &str) = ("OMPI_MCA_btl", "self,tcp");

fn slower() -> u32 {
    env::var(SLOWER).ok().and_then(|factor| factor.parse().ok()).unwrap_or(1)
}

/// Whether programs run on a processor that is only played, for which there are no other libraries
/// and tools, and whose memory is seen with that of its player. Then says that this is skipped.
pub(crate) fn is_played(what: &str) -> bool {
    let is_played = env::var_os(PLAYED).is_some();
    if is_played {
        println!("skipped: {what}, as the processor is only played");
    }
    is_played
}

/// Linkers that programs are linked with, by the names that `-fuse-ld` knows.
const LINKERS: [&str; 4] = ["bfd", "gold", "lld", "mold"];

/// A linker that is installed.
#[derive(Debug)]
pub(crate) struct Linker {
    pub(crate) name: &'static str,
    /// What makes the compiler use it.
    options: Vec<String>,
}

/// A compiled program.
#[derive(Debug)]
pub(crate) struct Program(PathBuf);

/// How a process ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Where `oshrun` and `libshmem.so` are.
pub(crate) fn programs() -> PathBuf {
    if let Some(folder) = env::var_os("OXSHMEM_BIN_DIR") {
        return folder.into();
    }
    let test = env::current_exe().expect("a test has a path");
    let folder =
        test.ancestors().nth(2).expect("tests are in deps/ of the folder with the programs").to_owned();
    assert!(
        folder.join("oshrun").exists(),
        "oshrun is not in {}: cargo build -p oxshmem-launch -p oxshmem-capi first",
        folder.display()
    );
    folder
}

/// A folder of this crate.
pub(crate) fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Whether the compiler can link like this: what it says if it cannot.
pub(crate) fn possible(options: &[&str]) -> Result<(), String> {
    possible_by("cc", options)
}

/// Whether this compiler can link like this: what it says if it cannot.
pub(crate) fn possible_by(compiler: &str, options: &[&str]) -> Result<(), String> {
    if output(compiler, &["--version"]).is_none() {
        return Err("it is not installed".to_owned());
    }
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Relaxed);
    let out =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("possible-{}-{number}", std::process::id()));
    let mut command = Command::new(compiler);
    command.args(options).args(["-x", "c", "/dev/null", "-Wl,--defsym,main=0", "-o"]).arg(&out);
    let ended = Ended::of(&mut command);
    let _ = fs::remove_file(out);
    if ended.status == Some(0) { Ok(()) } else { Err(ended.stderr.lines().next().unwrap_or("").to_owned()) }
}

impl Linker {
    /// All that are installed. It says which are not.
    pub(crate) fn all() -> Vec<Self> {
        LINKERS.into_iter().filter_map(Self::find).collect()
    }

    fn find(name: &'static str) -> Option<Self> {
        let mut options = vec![format!("-fuse-ld={name}")];
        let mut found = possible(&[&options[0]]);
        if found.is_err()
            && name == "lld"
            && let Some(folder) = folder_of_rusts_lld()
        {
            options.push(format!("-B{}", folder.display()));
            found = possible(&[&options[0], &options[1]]);
        }
        if let Err(why) = &found {
            println!("skipped: the linker {name} is not here: {why}");
        }
        found.is_ok().then_some(Self { name, options })
    }

    /// These options, and what chooses this linker.
    pub(crate) fn with<'a>(&'a self, options: &[&'a str]) -> Vec<&'a str> {
        self.options.iter().map(String::as_str).chain(options.iter().copied()).collect()
    }
}

/// Where Rust keeps an `ld.lld` of its own, for compilers that get an option to look there.
fn folder_of_rusts_lld() -> Option<PathBuf> {
    let libraries = output("rustc", &["--print", "target-libdir"])?;
    let folder = Path::new(libraries.trim()).parent()?.join("bin/gcc-ld");
    folder.join("ld.lld").exists().then_some(folder)
}

/// Runs a program as C with every number of PEs, and as C++.
pub(crate) fn passes_in_cxx_too(source: &str) {
    Program::new(source).passes();
    for options in [["-x", "c++", "-std=c++11"], ["-x", "c++", "-std=c++20"]] {
        Program::with(source, &options).run(2).passed(2);
    }
}

impl Program {
    /// `tests/c/{source}`, by `cc`, or `c++` for what ends in `.cpp`, with warnings as errors.
    pub(crate) fn new(source: &str) -> Self {
        Self::with(source, &[])
    }

    /// `tests/c/{source}`, compiled with more options than [`new`](Self::new) gives.
    pub(crate) fn with(source: &str, options: &[&str]) -> Self {
        let compiler = if source.ends_with(".cpp") { "c++" } else { "cc" };
        Self::by(compiler, source, options)
    }

    /// `tests/c/{source}`, compiled with more options and with what to link after the source.
    pub(crate) fn compile(source: &str, options: &[&str], link: &[OsString]) -> Self {
        let compiler = if source.ends_with(".cpp") { "c++" } else { "cc" };
        Self::compile_by(compiler, source, options, link)
    }

    /// By a compiler of this name.
    pub(crate) fn by(compiler: &str, source: &str, options: &[&str]) -> Self {
        let libraries = programs();
        let rpath = format!("-Wl,-rpath,{}", libraries.display());
        let link = ["-L".into(), libraries.into_os_string(), "-lshmem".into(), rpath.into()];
        Self::compile_by(compiler, source, options, &link)
    }

    fn compile_by(compiler: &str, source: &str, options: &[&str], link: &[OsString]) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Relaxed);
        let stem = source.replace(['.', '/'], "-");
        let out =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{stem}-{}-{number}", std::process::id()));
        let ended = Ended::of(
            Command::new(compiler)
                .args(["-g", "-O1", "-Wall", "-Wextra", "-Werror", "-I"])
                .arg(folder("include"))
                .args(options)
                .arg(folder("tests/c").join(source))
                .arg("-o")
                .arg(&out)
                .args(link),
        );
        assert_eq!(ended.status, Some(0), "{compiler} {source}: {}", ended.stderr);
        Self(out)
    }

    /// `tests/c/{source}` with more options, a program that needs MPI too. `None`, with a line that
    /// says so, if there is no MPI that speaks PMIx, or not what programs are compiled with.
    pub(crate) fn with_mpi(source: &str, options: &[&str]) -> Option<Self> {
        if is_played("MPI") {
            return None;
        }
        let Some(show) = output("mpicc", &["-show"]).filter(|_| mpirun_is("Open MPI")) else {
            println!("{source} does not run: Open MPI is missing (Debian: openmpi-bin and libopenmpi-dev)");
            return None;
        };
        let with_mpi = match options_of_mpi(&show) {
            Ok(options) => options,
            Err(why) => {
                println!("{source} does not run: mpicc compiles nothing (Debian: libopenmpi-dev): {why}");
                return None;
            }
        };
        let libraries = programs();
        let rpath = format!("-Wl,-rpath,{}", libraries.display());
        let mut link = vec!["-L".into(), libraries.into_os_string(), "-lshmem".into(), rpath.into()];
        link.extend(with_mpi.into_iter().map(OsString::from));
        Some(Self::compile(source, options, &link))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Runs it as a job of `n` PEs.
    pub(crate) fn run(&self, n: usize) -> Ended {
        self.job(n, &[], &[])
    }

    /// Runs it as a job of `n` PEs with these variables and arguments.
    pub(crate) fn job(&self, n: usize, variables: &[(&str, &str)], args: &[&str]) -> Ended {
        self.job_with(&[], n, variables, args)
    }

    /// Runs it as a job that is started with more options of `oshrun`.
    pub(crate) fn job_with(
        &self,
        options: &[&str],
        n: usize,
        variables: &[(&str, &str)],
        args: &[&str],
    ) -> Ended {
        let mut command = Command::new(programs().join("oshrun"));
        command.args(["-np", &n.to_string(), "--timeout", "60"]).args(options);
        for (name, value) in variables {
            command.args(["-x", &format!("{name}={value}")]);
        }
        Ended::of(command.arg("--").arg(&self.0).args(args))
    }

    /// Runs it as a job of `n` PEs that `mpirun` starts.
    pub(crate) fn under_mpirun(&self, n: usize, args: &[&str]) -> Ended {
        let mut command = Command::new("mpirun");
        command.args(["--allow-run-as-root", "--oversubscribe", "-n", &n.to_string()]);
        command.env(BTL.0, BTL.1);
        Ended::of(command.arg(&self.0).args(args))
    }

    /// Runs it as a job of each number of [`PES`], and expects it to end well.
    #[track_caller]
    pub(crate) fn passes(&self) {
        for n in PES {
            self.run(n).passed(n);
        }
    }

    /// Runs it without a launcher.
    pub(crate) fn alone(&self) -> Ended {
        self.alone_with(&[])
    }

    /// Runs it without a launcher, with arguments.
    pub(crate) fn alone_with(&self, args: &[&str]) -> Ended {
        Ended::of(Command::new(&self.0).args(args).env(BTL.0, BTL.1))
    }
}

/// The compiler's options in what `mpicc -show` prints, if programs can be made with them: `mpicc`
/// may be there without header and library.
pub(crate) fn options_of_mpi(show: &str) -> Result<Vec<&str>, String> {
    // The first is the compiler.
    let options: Vec<&str> = show.split_whitespace().skip(1).collect();
    possible(&[&["-include", "mpi.h"], &options[..]].concat()).map(|()| options)
}

/// Whether `mpirun` says this of itself.
pub(crate) fn mpirun_is(what: &str) -> bool {
    output("mpirun", &["--version"]).is_some_and(|text| text.contains(what))
}

/// What a command prints, if it is there and works.
fn output(name: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(name).args(args).stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

impl Drop for Program {
    fn drop(&mut self) {
        // Left behind, it is in the target folder.
        let _ = fs::remove_file(&self.0);
    }
}

impl Ended {
    /// Runs a command to its end, or kills it.
    pub(crate) fn of(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let read = |mut pipe: Box<dyn Read + Send>| {
            thread::spawn(move || {
                let mut bytes = Vec::new();
                // What came before an error counts.
                let _ = pipe.read_to_end(&mut bytes);
                String::from_utf8_lossy(&bytes).into_owned()
            })
        };
        let stdout = read(Box::new(child.stdout.take().expect("it is piped")));
        let stderr = read(Box::new(child.stderr.take().expect("it is piped")));
        let limit = LIMIT * slower();
        let start = Instant::now();
        let status = loop {
            match child.try_wait().expect("a child can be waited for") {
                Some(status) => break status.code(),
                None if start.elapsed() > limit => {
                    child.kill().expect("a child can be killed");
                    child.wait().expect("a child can be waited for");
                    break None;
                }
                None => thread::sleep(Duration::from_millis(2)),
            }
        };
        let text = |thread: thread::JoinHandle<String>| thread.join().expect("the reader does not panic");
        Self { status, stdout: text(stdout), stderr: text(stderr) }
    }

    /// Expects that all went well.
    #[track_caller]
    pub(crate) fn passed(&self, n: usize) {
        assert_eq!(self.status, Some(0), "with {n} PEs\nstdout: {}\nstderr: {}", self.stdout, self.stderr);
    }

    /// Expects that the job ended with an error that has all these parts in one line of stderr.
    #[track_caller]
    pub(crate) fn failed_with(&self, parts: &[&str]) {
        assert!(self.status.is_some_and(|status| status != 0), "{self:?}");
        let has_one = self.stderr.lines().any(|line| parts.iter().all(|part| line.contains(part)));
        assert!(has_one, "no line has {parts:?}:\n{}", self.stderr);
    }
}
