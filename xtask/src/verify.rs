//! `cargo verify`: what must hold before a change goes in, in the order in which it is found
//! fastest.

use std::{
    env,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{
    aarch64, book, checks, cuda, debian, dist, fuzz, gpu, headers, install, oldest, package, programs, rooms,
    run::{Failure, Job, Outcome, Step, Verdict, steps, target_dir},
    shmem4py,
};

/// That the sources are as they should be, and every test and example passes.
const STEPS: &[Step] = &[
    ("tools", tools),
    ("format", || done(Job::cargo("fmt --all --check").run())),
    ("rooms", rooms::rooms),
    ("headers", || headers::headers(true)),
    ("clippy", || done(Job::cargo("clippy --workspace --all-targets -- -D warnings").run())),
    ("build", || done(programs::build())),
    ("settings", book::settings_are_current),
    ("book", || book::build(false)),
    ("test", test),
    ("examples", || programs::run_examples(&[])),
];

/// What `--full` adds: the documentation, programs that must not compile, other processors and
/// compilers, several hosts, simulated losses, other tools, and what users install.
const MORE: &[Step] = &[
    ("doc", doc),
    ("misuse", || ignored("source")),
    ("sanitizers", || ignored("sanitizers")),
    ("aarch64", aarch64::clippy),
    ("hosts", || checks::hosts(false)),
    ("simulate", || checks::simulate(2000, 0)),
    ("fuzz", || fuzz::fuzz(5)),
    ("install", install::check),
    ("deb", dist::check_quickly),
    ("ptx", gpu::ptx),
    ("cuda", cuda::check),
    ("package", package::package),
    ("shmem4py", shmem4py::check),
    ("oldest", oldest::check),
    ("loom", checks::loom),
    ("miri", checks::miri),
];

/// Runs the steps, with `full` also those that it adds, or of all of them those that are named.
pub(crate) fn verify(full: bool, keep_going: bool, only: &[String]) -> Outcome {
    let all: Vec<Step> = [STEPS, MORE].concat();
    let names = |steps: &[Step]| steps.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" ");
    if only.iter().any(|name| name == "list") {
        println!("{}\n--full adds: {}", names(STEPS), names(MORE));
        return Ok(Verdict::Passed);
    }
    if let Some(unknown) = only.iter().find(|name| all.iter().all(|(step, _)| step != name)) {
        return Err(Failure::new(format!("there is no step {unknown}; the steps are {}", names(&all))));
    }
    if only.is_empty() {
        return steps(if full { &all } else { STEPS }, keep_going);
    }
    let chosen = all.into_iter().filter(|(step, _)| only.iter().any(|name| name == step));
    steps(&chosen.collect::<Vec<_>>(), keep_going)
}

/// The parts of the toolchain that the other steps need; rustup is asked for those that are
/// missing.
fn tools() -> Outcome {
    for (command, component) in [("fmt --version", "rustfmt"), ("clippy --version", "clippy")] {
        if Job::cargo(command).works() {
            continue;
        }
        println!("installing {component}");
        let installed = Job::new("rustup", ["component", "add", component]).limit(300).run();
        if installed.is_err() || !Job::cargo(command).works() {
            return Err(Failure::new(format!("{component} is missing: rustup component add {component}")));
        }
    }
    if !Job::new("cc", ["--version"]).works() {
        return Err(Failure::new("no C compiler named cc, which Rust links with: install gcc or clang"));
    }
    // The tests of the C headers use each of these if it is there, and say which is not.
    let optional = ["g++", "clang", "mandoc", "valgrind", "cmake", "pkg-config"];
    let present = || optional.iter().all(|tool| Job::new("which", [tool]).works());
    let cffi = || {
        ["python3", "/usr/bin/python3"].iter().any(|python| Job::new(*python, ["-c", "import cffi"]).works())
    };
    let sanitizes = || debian::compiles("clang -fsanitize=address", "stdio.h");
    for outcome in [
        debian::install("optional tools are", &optional, present),
        debian::install("cffi for Python is", &["python3-cffi"], cffi),
        debian::install("clang's sanitizers are", &["libclang-rt-dev"], sanitizes),
    ] {
        if let Err(failure) = outcome {
            println!("{failure}");
        }
    }
    // The test of `oshrun --trace`'s page says that it does not run without.
    if let Err(failure) = checks::browser() {
        println!("{failure}");
    }
    // Tests of several hosts say that they do not run without.
    if let Err(failure) = checks::ucx() {
        println!("{failure}");
    }
    // And those of other launchers, of MPI programs, of machines that ssh reaches, and of networks
    // that lose packets.
    for outcome in [checks::open_mpi(), checks::slurm(), checks::ssh(), checks::nftables()] {
        if let Err(failure) = outcome {
            println!("{failure}");
        }
    }
    Ok(Verdict::Passed)
}

fn doc() -> Outcome {
    let flags = env::var("RUSTDOCFLAGS").unwrap_or_default();
    done(Job::cargo("doc --workspace --no-deps").env("RUSTDOCFLAGS", format!("{flags} -Dwarnings")).run())
}

fn done(outcome: Result<(), Failure>) -> Outcome {
    outcome.map(|()| Verdict::Passed)
}

/// Unit tests, tests with several PEs and doctests. Tests find the programs they start by
/// `OXSHMEM_BIN_DIR`.
fn test() -> Outcome {
    let programs = target_dir()?.join("debug");
    // Twice as many at a time as by itself, as many of them wait most of their time.
    let threads = env::var("RUST_TEST_THREADS").unwrap_or_else(|_| (2 * processors()).to_string());
    let tests = Job::cargo("test --workspace --no-fail-fast")
        .env("OXSHMEM_BIN_DIR", programs)
        .env("RUST_TEST_THREADS", threads)
        .limit(2400);
    let failed = Arc::new(Mutex::new(Failed::default()));
    let seen = Arc::clone(&failed);
    let outcome = tests.run_seen(move |line| lock(&seen).see(line));
    done(outcome.map_err(|failure| failure.with_details(std::mem::take(&mut lock(&failed).text))))
}

/// The tests of a program that others are not run with, as they take long or need another setting.
fn ignored(tests: &str) -> Outcome {
    let programs = target_dir()?.join("debug");
    let line = format!("test --workspace --test {tests} -- --ignored");
    done(Job::cargo(&line).env("OXSHMEM_BIN_DIR", programs).limit(900).run())
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn lock(failed: &Mutex<Failed>) -> MutexGuard<'_, Failed> {
    failed.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What failed tests printed, picked out of what all of them print, so that the end of a log shows
/// it.
#[derive(Default)]
struct Failed {
    text: String,
    within: bool,
}

impl Failed {
    fn see(&mut self, line: &str) {
        // libtest's own lines: the outputs of failed tests, then their names, both behind
        // `failures:`.
        self.within |= line == "failures:";
        if self.within {
            self.text += line;
            self.text.push('\n');
        }
        self.within &= !line.starts_with("test result: ");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_is_picked_out_of_the_log() {
        let log = "running 2 tests\ntest a ... ok\ntest b ... FAILED\n\nfailures:\n\n---- b stdout ----\nwhy\n\nfailures:\n    \
                   b\n\ntest result: FAILED. 1 passed; 1 failed\n\nrunning 1 test\ntest c ... ok\ntest result: ok. 1 passed";
        let mut failed = Failed::default();
        log.lines().for_each(|line| failed.see(line));
        let text = "failures:\n\n---- b stdout ----\nwhy\n\nfailures:\n    b\n\ntest result: FAILED. 1 passed; 1 failed\n";
        assert_eq!(failed.text, text);
    }
}
