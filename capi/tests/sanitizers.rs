//! Programs that are built with sanitizers, and some that valgrind runs. The library is built
//! without, so what it does must not look wrong to them.

mod common;

use std::{fs, path::Path, process::Command};

use common::{Ended, Program, folder, is_played, possible_by, programs};

const COMPILERS: [&str; 2] = ["gcc", "clang"];

/// What ThreadSanitizer is to leave alone: it sees what a library that it does not know calls, and
/// not what orders that.
const OPTIONS: (&str, &str) = ("TSAN_OPTIONS", "ignore_noninstrumented_modules=1");

/// One program of each kind, but those that take long to compile.
const PROGRAMS: [&str; 9] = [
    "statics.c",
    "setup.c",
    "memory.c",
    "order.c",
    "teams.c",
    "contexts.c",
    "lock.c",
    "active_sets.c",
    "sessions.c",
];

/// Whether an example of the specification needs no more than a C compiler, and ends well.
fn is_plain(file: &Path) -> bool {
    let text = fs::read_to_string(file).expect("an example is text");
    ["mpi.h", "#pragma omp", "shmem_global_exit"].iter().all(|word| !text.contains(word))
}

/// Programs of `tests/c`, and the examples of the specification.
fn sources() -> Vec<String> {
    let examples = fs::read_dir(folder("tests/spec")).expect("there are examples");
    let mut files: Vec<_> = examples.map(|entry| entry.expect("readable").path()).collect();
    files.retain(|file| is_plain(file));
    files.sort();
    let names = files.iter().map(|file| file.file_name().unwrap_or_default().display());
    names.map(|name| format!("../spec/{name}")).chain(PROGRAMS.map(str::to_owned)).collect()
}

/// Runs programs that are built with these sanitizers, by each compiler that has them, on two PEs.
/// None may complain.
fn run_with(sanitizers: &str) {
    if is_played("sanitizers") {
        return;
    }
    let option = format!("-fsanitize={sanitizers}");
    for compiler in COMPILERS {
        if let Err(why) = possible_by(compiler, &[&option]) {
            println!("skipped: {compiler} {option}: {why}");
            continue;
        }
        for source in sources() {
            let program = Program::by(compiler, &source, &[&option, "-pthread"]);
            let ended = program.job(2, &[OPTIONS], &[]);
            let complains = ["Sanitizer", "runtime error"].iter().any(|word| ended.stderr.contains(word));
            assert!(ended.status == Some(0) && !complains, "{compiler} {option} {source}: {ended:?}");
        }
    }
}

#[test]
#[ignore = "another setting, of cargo verify --full: cargo test -p oxshmem-capi --test sanitizers -- --ignored"]
fn programs_with_address_sanitizer_and_that_of_undefined_behaviour_run() {
    run_with("address,undefined");
}

#[test]
#[ignore = "another setting, of cargo verify --full: cargo test -p oxshmem-capi --test sanitizers -- --ignored"]
fn programs_with_thread_sanitizer_run() {
    run_with("thread");
}

/// Runs a program of one PE in valgrind, which may find nothing.
fn valgrind_finds_nothing(source: &str, args: &[&str]) {
    let program = Program::new(source);
    let mut command = Command::new("valgrind");
    command.args(["--quiet", "--error-exitcode=9", "--fair-sched=yes", "--leak-check=full"]);
    let ended = Ended::of(command.arg(program.path()).args(args).env("LD_LIBRARY_PATH", programs()));
    assert_eq!(ended.status, Some(0), "{source}: {}{}", ended.stdout, ended.stderr);
    assert!(!ended.stderr.contains("=="), "{source}: {}", ended.stderr);
}

#[test]
#[ignore = "another setting, of cargo verify --full: cargo test -p oxshmem-capi --test sanitizers -- --ignored"]
fn valgrind_finds_neither_errors_nor_leaks_in_a_job_of_one_pe() {
    if is_played("valgrind") {
        return;
    }
    if !Path::new("/usr/bin/valgrind").exists() {
        return println!("skipped: valgrind is not installed");
    }
    for (source, args) in [("statics.c", &[][..]), ("errors.c", &["nested"]), ("errors.c", &["start_pes"])] {
        valgrind_finds_nothing(source, args);
    }
}
