//! The programs that users see: the examples under `oshrun`.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use crate::run::{Failure, Job, Outcome, Verdict, target_dir};

/// The numbers of PEs that every example runs with.
const PES: [usize; 4] = [1, 2, 4, 7];
/// Variables that examples in C run with as well as without: partitions of the heap.
const VARIABLES: [&str; 2] =
    ["SMAX_SYMMETRIC_PARTITION1=size=64M", "SMAX_SYMMETRIC_PARTITION2=size=64M:kind=F:policy=P"];
/// Examples whose PEs are killed.
const GO_ON: [&str; 1] = ["survivors"];
/// Seconds that one run of an example may take.
const LIMIT: u64 = 60;

/// Builds all libraries, programs and tests, with the features that the tests have, so that none is
/// built twice.
pub(crate) fn build() -> Result<(), Failure> {
    Job::cargo("build --workspace --all-targets").run()
}

/// Builds the examples, and runs those named, or all.
pub(crate) fn examples(names: &[String]) -> Outcome {
    build()?;
    run_examples(names)
}

/// Runs the examples, which are built, with several numbers of PEs.
pub(crate) fn run_examples(names: &[String]) -> Outcome {
    let debug = target_dir()?.join("debug");
    let all = example_names()?;
    if let Some(unknown) = names.iter().find(|name| !all.contains(name)) {
        return Err(Failure::new(format!("there is no example {unknown}; there are {}", all.join(", "))));
    }
    for name in all.iter().filter(|name| names.is_empty() || names.contains(name)) {
        let rust = debug.join("examples").join(name);
        let source = PathBuf::from(format!("examples/{name}.c"));
        if source.is_file() {
            let program = debug.join("examples").join(format!("{name}-c"));
            let oshcc = Job::new(debug.join("oshcc"), ["-O2", "-Wall", "-Wextra", "-Werror", "-o"]);
            oshcc.args([&program, &source]).run()?;
            run_example(name, &program, &VARIABLES)?;
            run_example(name, &program, &[])?;
        }
        if !source.is_file() || PathBuf::from(format!("examples/{name}.rs")).is_file() {
            run_example(name, &rust, &[])?;
        }
    }
    Ok(Verdict::Passed)
}

/// Runs an example with several numbers of PEs.
fn run_example(name: &str, program: &Path, variables: &[&str]) -> Result<(), Failure> {
    let oshrun = target_dir()?.join("debug/oshrun");
    for n in PES {
        let (n, limit) = (n.to_string(), (LIMIT - 5).to_string());
        // oshrun's own limit comes first, because it says more.
        let on_loss = if GO_ON.contains(&name) { "continue" } else { "end" };
        let job = Job::new(&oshrun, ["--timeout", &limit, "-np", &n, "--on-loss", on_loss])
            .args(variables.iter().flat_map(|variable| ["-x", variable]))
            .args(["--"])
            .args([program])
            .limit(LIMIT);
        println!("--- {name} on {n} PEs");
        let begin = Instant::now();
        job.run()?;
        println!("--- {name} on {n} PEs: {:.2} s", begin.elapsed().as_secs_f64());
    }
    Ok(())
}

/// The programs in `examples/`: each file in Rust or C, and each folder with a `main.rs`.
fn example_names() -> Result<Vec<String>, Failure> {
    let mut names = Vec::new();
    for entry in fs::read_dir("examples")? {
        let path = entry?.path();
        let is_program =
            path.extension().is_some_and(|it| it == "rs" || it == "c") || path.join("main.rs").is_file();
        if is_program && let Some(stem) = path.file_stem() {
            names.push(stem.to_string_lossy().into_owned());
        }
    }
    names.sort();
    // Of a program in both languages.
    names.dedup();
    Ok(names)
}
