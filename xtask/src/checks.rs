//! Checks that need another build than the tests: loom, miri and AddressSanitizer; and many repetitions.

use std::time::Instant;

use crate::run::{Failure, Job, Outcome, Verdict, target_dir};

/// Every interleaving of the doorbell and of the op set. Optimised, as there are many, but not for size.
pub(crate) fn loom() -> Outcome {
    Job::cargo("test --release --package oxshmem-runtime --lib loom_")
        .env("RUSTFLAGS", "--cfg loom")
        .env("CARGO_TARGET_DIR", target_dir()?.join("loom"))
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")
        .env("LOOM_MAX_PREEMPTIONS", "3")
        .run()?;
    Ok(Verdict::Passed)
}

/// What has neither system calls nor assembly, in the interpreter that finds undefined behaviour.
const MIRI: [(&str, &[&str]); 2] =
    [("oxshmem-runtime", &["opset::", "flight::", "settings::size"]), ("oxshmem-spaces", &["heap::tests::"])];

/// What takes minutes in miri, and shows no more there than in the ordinary run.
const TOO_SLOW: &str = "--skip random --skip no_text --skip many_blocks";

/// Runs those tests in miri, if a toolchain has it.
pub(crate) fn miri() -> Outcome {
    let miri = |line: &str| {
        let words = ["+nightly", "miri"].into_iter().chain(line.split_whitespace()).map(str::to_owned);
        Job::new("cargo", words.collect::<Vec<_>>()).without_cargo_env()
    };
    if !miri("--version").works() {
        let why = "no toolchain named nightly has miri: rustup toolchain install nightly -c miri,rust-src";
        return Ok(Verdict::Skipped(why.into()));
    }
    if !miri("setup").works() {
        return Ok(Verdict::Skipped("cargo +nightly miri setup fails here".into()));
    }
    for (package, filters) in MIRI {
        miri(&format!("test --package {package} --lib -- {TOO_SLOW} {}", filters.join(" ")))
            .env("CARGO_TARGET_DIR", target_dir()?.join("miri"))
            .env("MIRIFLAGS", "-Zmiri-disable-isolation")
            .env("PROPTEST_CASES", "8")
            .limit(600)
            .run()?;
    }
    Ok(Verdict::Passed)
}

/// Unit tests and the tests of the facade, whose PEs are tasks of one process, under AddressSanitizer. It needs
/// an option that stable compilers hide. Leaks are not looked for, since tests forget futures on purpose.
pub(crate) fn sanitize() -> Outcome {
    Job::cargo("build --workspace --bins --examples").run()?;
    let host = host()?;
    let line =
        format!("test --target {host} --package oxshmem --package oxshmem-ops --package oxshmem-teams");
    Job::cargo(&line)
        .args([
            "--package",
            "oxshmem-runtime",
            "--package",
            "oxshmem-spaces",
            "--lib",
            "--tests",
            "--no-fail-fast",
        ])
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTFLAGS", "-Zsanitizer=address -Cforce-frame-pointers=yes")
        .env("ASAN_OPTIONS", "detect_leaks=0:detect_stack_use_after_return=1")
        // Freed memory is kept for a while: tests that look at how much is used leave that out.
        .env("OXSHMEM_SANITIZED", "1")
        .env("OXSHMEM_BIN_DIR", target_dir()?.join("debug"))
        .env("CARGO_TARGET_DIR", target_dir()?.join("asan"))
        .limit(1800)
        .run()?;
    Ok(Verdict::Passed)
}

/// The compiler's name for this machine.
fn host() -> Result<String, Failure> {
    let output = Job::new("rustc", ["-vV"]).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| Failure::new("rustc -vV names no host"))
}

/// Repeats the tests that start PEs.
pub(crate) fn soak(times: usize, pes: usize) -> Outcome {
    Job::cargo("build --workspace --lib --bins --examples").run()?;
    let programs = target_dir()?.join("debug");
    let mut failed = Vec::new();
    for round in 1..=times {
        println!("=== round {round} of {times}");
        let begin = Instant::now();
        let outcome =
            Job::cargo("test --package oxshmem --package oxshmem-launch --tests --no-fail-fast --quiet")
                .env("OXSHMEM_BIN_DIR", &programs)
                .env("OXSHMEM_TEST_PES", pes.to_string())
                .limit(1800)
                .run();
        let verdict = if outcome.is_ok() { "ok" } else { "FAILED" };
        println!("=== round {round}: {verdict} ({:.1} s)", begin.elapsed().as_secs_f64());
        if outcome.is_err() {
            failed.push(round.to_string());
        }
    }
    match failed.is_empty() {
        true => Ok(Verdict::Passed),
        false => {
            Err(Failure::new(format!("{} of {times} rounds failed: {}", failed.len(), failed.join(", "))))
        }
    }
}

/// Runs the test of random collectives with more of them than CI has time for.
pub(crate) fn soak_collectives(count: usize) -> Outcome {
    Job::cargo("build --release --package oxshmem-launch --bins").limit(1200).run()?;
    // Its own time limit comes first, because it says more.
    Job::cargo("test --release --package oxshmem --test collective_model_soak")
        .args(["--", "--nocapture"])
        .env("OXSHMEM_BIN_DIR", target_dir()?.join("release"))
        .env("OXSHMEM_SOAK_COLLECTIVES", count.to_string())
        .limit(1300 + count as u64 / 50)
        .run()?;
    Ok(Verdict::Passed)
}
