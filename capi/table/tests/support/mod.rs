//! Compilers and other programs, each with a time limit, and a folder with the headers.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// How long a program may take.
const LIMIT: Duration = Duration::from_secs(120);

/// A language, and the compilers for it that are looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    C,
    Cxx,
}

impl Language {
    /// The compilers that are installed. Says which are not.
    pub(crate) fn compilers(self) -> Vec<&'static str> {
        let wanted = match self {
            Self::C => ["gcc", "clang"],
            Self::Cxx => ["g++", "clang++"],
        };
        let (there, missing): (Vec<_>, Vec<_>) = wanted.into_iter().partition(|compiler| installed(compiler));
        for compiler in &missing {
            println!("skipped: {compiler} is not installed");
        }
        there
    }

    pub(crate) fn extension(self) -> &'static str {
        match self {
            Self::C => "c",
            Self::Cxx => "cpp",
        }
    }
}

/// Whether a program is there.
pub(crate) fn installed(program: &str) -> bool {
    Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

/// Runs a program and gives what it printed if it failed.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let line = format!("{command:?}");
    let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("{line}: {error}"))?;
    let mut pipe = child.stderr.take().expect("it is piped");
    let reader = thread::spawn(move || {
        let mut text = Vec::new();
        let _ = pipe.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    });
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            break status;
        }
        if start.elapsed() > LIMIT {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!("{line}: took more than {LIMIT:?}"));
        }
        thread::sleep(Duration::from_millis(2));
    };
    let text = reader.join().expect("the reader does not panic");
    if status.success() { Ok(()) } else { Err(format!("{line}: {status}\n{text}")) }
}

/// A folder of this test's own, with the headers in it as they are generated now.
pub(crate) fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    for (path, text) in oxshmem_capi_table::headers() {
        let path = folder.join("include").join(path);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("the folder can be made");
        fs::write(path, text).expect("the header can be written");
    }
    folder
}

/// Compiles with all warnings as errors. What else is to be done with the file, such as
/// `-fsyntax-only`, the arguments say.
pub(crate) fn compile(compiler: &str, standard: &str, file: &Path, arguments: &[&str]) -> Result<(), String> {
    let include = file.parent().expect("it is in a folder").join("include");
    let mut command = Command::new(compiler);
    command
        .args([&format!("-std={standard}"), "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I"])
        .arg(include);
    run(command.args(arguments).arg(file))
}
