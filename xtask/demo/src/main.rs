//! `cargo demo`: builds the launcher and the flagship example, and nothing else, runs them, and
//! says what to try next.
//!
//! It depends on nothing, so that cargo has built it after a second. From then on it shows how far
//! cargo has come with the rest.

mod progress;

use std::{
    env,
    io::{self, BufReader, Read},
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    thread,
};

use progress::Progress;

/// How often the text of this repository is counted, so that it takes long enough to be measured.
const TIMES: &str = "12";
/// More PEs than this need more text.
const MOST_PES: usize = 8;
/// Seconds after which the launcher ends the job.
const LIMIT: &str = "300";

fn main() -> ExitCode {
    match demo(&env::args_os().skip(1).map(PathBuf::from).collect::<Vec<_>>()) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            eprintln!("demo: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Counts these files, or the text of this repository. Returns the status of the job.
fn demo(files: &[PathBuf]) -> io::Result<u8> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new("."));
    let here = env::current_exe()?;
    let folder = here.parent().unwrap_or(Path::new("."));
    if let Some(status) = build(root)? {
        return Ok(status);
    }
    let pes = thread::available_parallelism().map_or(2, |count| count.get().clamp(2, MOST_PES));
    let trace = folder.parent().unwrap_or(folder).join("demo-trace");
    let mut job = Command::new(folder.join("oshrun"));
    job.args(["-np", &pes.to_string(), "--timeout", LIMIT, "--trace"]).arg(&trace).arg("--");
    job.arg(folder.join("wordcount"));
    match files {
        [] => job.args(["--times", TIMES]).arg(root),
        files => job.args(files),
    };
    println!("$ {}", shown(&job));
    let status = status_of(job.status()?);
    if status == 0 {
        println!("\nWhich PE sent what to which, and when: {}", short(&trace.join("report.html")));
        println!(
            "\nNext: `cargo build --release`, and the first programs in README.md: Rust, C, CUDA.\n\
             The other examples are in examples/README.md; `cargo demo FILES...` counts text of yours."
        );
    }
    Ok(status)
}

/// Builds the two programs beside this one. Returns cargo's status if it failed.
fn build(root: &Path) -> io::Result<Option<u8>> {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .current_dir(root)
        .args(["build", "--profile", "demo", "--package", "oxshmem-demo", "--package", "oxshmem-launch"])
        .args(["--no-default-features", "--features", "oxshmem-demo/wordcount"])
        .args(["--bin", "oshrun", "--bin", "wordcount"])
        // Its bar says how many there are, also to a pipe.
        .envs([("CARGO_TERM_PROGRESS_WHEN", "always"), ("CARGO_TERM_PROGRESS_WIDTH", "120")])
        .env("CARGO_TERM_COLOR", "never")
        .stdin(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = cargo.spawn()?;
    let mut progress = Progress::begin();
    let mut lines = Vec::new();
    if let Some(stderr) = child.stderr.take() {
        let mut line = Vec::new();
        for byte in BufReader::new(stderr).bytes() {
            match byte? {
                // The bar is written over itself.
                b'\r' | b'\n' => {
                    lines.extend(progress.line(&String::from_utf8_lossy(&line)));
                    line.clear();
                }
                byte => line.push(byte),
            }
        }
    }
    let status = status_of(child.wait()?);
    progress.end();
    if status == 0 {
        return Ok(None);
    }
    eprintln!("{}\ndemo: cargo could not build it", lines.join("\n"));
    Ok(Some(status))
}

fn status_of(status: std::process::ExitStatus) -> u8 {
    status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// A command as a user would type it, in the folder of the user.
fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| short(Path::new(word))).collect::<Vec<_>>().join(" ")
}

/// A path as it is seen from the folder of the user.
fn short(path: &Path) -> String {
    match path.strip_prefix(env::current_dir().unwrap_or_default()) {
        Ok(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
        Ok(inside) => inside.display().to_string(),
        Err(_) => path.display().to_string(),
    }
}
