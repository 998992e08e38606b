//! Checks that need another build than the tests: loom, miri and AddressSanitizer; several hosts;
//! and many repetitions.

use std::{
    env,
    path::{Path, PathBuf},
    time::Instant,
};

use crate::{
    debian, programs,
    run::{Failure, Job, Outcome, Verdict, target_dir},
};

/// Every interleaving of the engine, the doorbell, the op set and the queue of a team. Optimised,
/// as there are many, but not for size.
pub(crate) fn loom() -> Outcome {
    Job::cargo("test --release --package oxshmem-progress --package oxshmem-teams --lib loom_")
        .env("RUSTFLAGS", "--cfg oxshmem_loom")
        .env("CARGO_TARGET_DIR", target_dir()?.join("loom"))
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")
        .env("LOOM_MAX_PREEMPTIONS", "3")
        .run()?;
    Ok(Verdict::Passed)
}

/// What has neither system calls nor assembly, in the interpreter that finds undefined behaviour.
const MIRI: [(&str, &[&str]); 4] = [
    ("oxshmem-base", &["settings::size"]),
    ("oxshmem-progress", &["opset::", "flight::"]),
    ("oxshmem-spaces", &["heap::tests::"]),
    ("oxshmem-ops", &["still::"]),
];

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

/// Unit tests and the tests of the facade, whose PEs are tasks of one process, under
/// AddressSanitizer, which needs an option that stable compilers hide; or under ThreadSanitizer,
/// which needs a standard library that is built with it. Leaks are not looked for, since tests
/// forget futures on purpose.
pub(crate) fn sanitize(threads: bool) -> Outcome {
    programs::build()?;
    let (host, target) = (host()?, target_dir()?);
    let packages = [
        "oxshmem",
        "oxshmem-ops",
        "oxshmem-teams",
        "oxshmem-collections",
        "oxshmem-net",
        "oxshmem-progress",
        "oxshmem-memory",
        "oxshmem-job",
        "oxshmem-base",
        "oxshmem-spaces",
    ];
    let test = |job: Job| {
        job.args(["test", "--target", &host, "--lib", "--tests", "--no-fail-fast"])
            .args(packages.iter().flat_map(|package| ["--package", package]))
            // Freed memory is kept for a while, and books are kept of all: tests that look at how
            // much is used leave that out.
            .env("OXSHMEM_SANITIZED", "1")
            .env("OXSHMEM_BIN_DIR", target.join("debug"))
    };
    if !threads {
        test(Job::cargo(""))
            .env("RUSTC_BOOTSTRAP", "1")
            .env("RUSTFLAGS", "-Zsanitizer=address -Cforce-frame-pointers=yes")
            .env("ASAN_OPTIONS", "detect_leaks=0:detect_stack_use_after_return=1")
            .env("CARGO_TARGET_DIR", target.join("asan"))
            .limit(1800)
            .run()?;
        return Ok(Verdict::Passed);
    }
    let nightly = || Job::new("cargo", ["+nightly"]).without_cargo_env();
    let source = Job::new("rustc", ["+nightly", "--print", "sysroot"]).without_cargo_env().output();
    let source = source.is_ok_and(|output| {
        let sysroot = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        PathBuf::from(sysroot).join("lib/rustlib/src/rust/library").is_dir()
    });
    if !source {
        let why = "no toolchain named nightly has std's source: rustup toolchain install nightly -c rust-src";
        return Ok(Verdict::Skipped(why.into()));
    }
    test(nightly())
        .args(["-Zbuild-std"])
        .env("RUSTFLAGS", "-Zsanitizer=thread")
        .env("CARGO_TARGET_DIR", target.join("tsan"))
        .env("OXSHMEM_TEST_SLOWER", "10")
        // UCX writes over the beginnings of functions that the sanitizer has put its own in front
        // of.
        .env("UCX_MEM_EVENTS", "n")
        .env(
            "TSAN_OPTIONS",
            format!("suppressions={}", env::current_dir()?.join("xtask/tsan.supp").display()),
        )
        .limit(5400)
        .run()?;
    Ok(Verdict::Passed)
}

/// The compiler's name for this machine.
pub(crate) fn host() -> Result<String, Failure> {
    let output = Job::new("rustc", ["-vV"]).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| Failure::new("rustc -vV names no host"))
}

/// Installs UCX, which is found at run time, if it is missing.
pub(crate) fn ucx() -> Result<(), Failure> {
    debian::install("UCX is", &["libucx0"], || debian::has_library("libucp.so.0"))
}

/// Installs a browser without a window, and a font for it, if there is none.
pub(crate) fn browser() -> Result<(), Failure> {
    let present =
        || ["chromium-headless-shell", "chromium"].iter().any(|name| Job::new("which", [name]).works());
    debian::install("a browser is", &["chromium-headless-shell", "fonts-dejavu-core"], present)
}

/// Installs Open MPI, whose launcher offers PMIx, and what joins network namespaces, if they are
/// missing. `mpicc` comes with the launcher, and what it compiles with does not.
pub(crate) fn open_mpi() -> Result<(), Failure> {
    let tools = || ["mpirun", "ip"].iter().all(|tool| Job::new("which", [tool]).works());
    let present = || tools() && debian::compiles("mpicc", "mpi.h");
    debian::install("Open MPI or iproute2 is", &["openmpi-bin", "libopenmpi-dev", "iproute2"], present)
}

/// Installs ssh and its daemon, which `oshrun` reaches other machines by, if they are missing.
pub(crate) fn ssh() -> Result<(), Failure> {
    let tools = || ["ssh", "ssh-keygen", "ip"].iter().all(|tool| Job::new("which", [tool]).works());
    let present = || tools() && Path::new("/usr/sbin/sshd").exists();
    debian::install("ssh is", &["openssh-client", "openssh-server", "iproute2"], present)
}

/// Installs what has the kernel lose packets and reset connections, if it is missing.
pub(crate) fn nftables() -> Result<(), Failure> {
    debian::install("nftables is", &["nftables"], || Job::new("which", ["nft"]).works())
}

/// Installs Slurm, whose `srun` offers PMIx too, if it is missing. Its daemons do not run without
/// settings. Its plugin loads PMIx by the name that only programs are linked with.
pub(crate) fn slurm() -> Result<(), Failure> {
    let tools = || ["srun", "slurmd", "slurmctld"].iter().all(|tool| Job::new("which", [tool]).works());
    let present = || tools() && debian::has_library("libpmix.so");
    debian::install("Slurm is", &["slurm-client", "slurmd", "slurmctld", "libpmix-dev"], present)
}

/// The tests that run again with simulated hosts before a change goes in: the program, and
/// which of its modules if not all. Those of the facade, then of the C library.
const ON_HOSTS: [(&str, &[&str]); 11] = [
    ("cancel_operations", &[]),
    ("collectives", &["against_model::", "interleaved::", "sync::"]),
    ("diagnosis", &["trace_record::"]),
    ("memory", &["heap::"]),
    ("memory_spaces", &["collectives::", "device::", "gpu::"]),
    ("operations", &["amo_model::", "lock::", "rma_transfers::", "signal_ordering::", "wait_conditions::"]),
    ("teams", &["life::"]),
    ("world", &["faults::", "lifecycle::"]),
    ("point_to_point", &[]),
    ("spaces", &[]),
    ("statics", &[]),
];

/// Which of them run over UCX too, besides the tests of `hosts`: the others would do the same there
/// with another net below.
const OVER_UCX: [&str; 4] = ["cancel_operations", "operations", "world", "point_to_point"];

/// Runs tests of several PEs with the PEs on two simulated hosts: tasks of one process over a
/// modelled network, processes over TCP, and, where it is there, over UCX. `all` is every one of
/// them, with hosts in blocks, in turn, and with a network that is slow and jumbles.
pub(crate) fn hosts(all: bool) -> Outcome {
    let ucx = ucx();
    if let Err(failure) = &ucx {
        println!("UCX is left out: {failure}");
    }
    programs::build()?;
    let programs = target_dir()?.join("debug");
    let test =
        |program: &str, modules: &[&str], (distribution, link, net, security): (&str, &str, &str, &str)| {
            // Of the workspace, so that nothing is built that the other tests were not built with.
            Job::cargo("test --workspace --no-fail-fast --quiet")
                .args(["--test", program, "--"].iter().chain(modules).copied())
                .env("OXSHMEM_BIN_DIR", &programs)
                .env("OXSHMEM_TEST_LINK", link)
                .env("SHMEM_FAKE_HOSTS", distribution)
                .env("SHMEM_NET", net)
                .env("SHMEM_NET_SECURITY", security)
                .limit(1800)
                .run()
        };
    let mut failed = Vec::new();
    if !all {
        // Those of `hosts` have hosts in any case, and have run over TCP with all others.
        let of_hosts = ("hosts", &[] as &[&str]);
        let over_tcp = ON_HOSTS.iter().map(|row| ("tcp", "auth", row));
        let encrypted = [("tcp", "encrypt", &of_hosts)];
        let over_ucx = ON_HOSTS.iter().filter(|(program, _)| OVER_UCX.contains(program));
        let over_ucx = over_ucx.chain([&of_hosts]).map(|row| ("ucx", "auth", row));
        let all = over_tcp.chain(encrypted).chain(over_ucx.filter(|_| ucx.is_ok()));
        for (net, security, (program, modules)) in all {
            let begin = Instant::now();
            if test(program, modules, ("2", "", net, security)).is_err() {
                failed.push(format!("{program} over {net} ({security})"));
            }
            println!("=== {program} over {net}: {:.0} s", begin.elapsed().as_secs_f64());
        }
        return verdict(failed);
    }
    // Latency and jitter in microseconds.
    for (distribution, link, net, security) in [
        ("2", "", "tcp", "auth"),
        ("2", "", "tcp", "encrypt"),
        ("2", "", "ucx", "auth"),
        ("2:cyclic", "", "tcp", "auth"),
        ("2", "20,20", "tcp", "auth"),
    ] {
        if net == "ucx" && ucx.is_err() {
            continue;
        }
        let with = format!(
            "SHMEM_FAKE_HOSTS={distribution} OXSHMEM_TEST_LINK={link} SHMEM_NET={net} SHMEM_NET_SECURITY={security}"
        );
        println!("=== {with}");
        if test("*", &[], (distribution, link, net, security)).is_err() {
            failed.push(with);
        }
    }
    verdict(failed)
}

fn verdict(failed: Vec<String>) -> Outcome {
    match failed.is_empty() {
        true => Ok(Verdict::Passed),
        false => Err(Failure::new(format!("failed: {}", failed.join("; ")))),
    }
}

/// Repeats the tests that start PEs, every second time bound to processors.
pub(crate) fn soak(times: usize, pes: usize) -> Outcome {
    programs::build()?;
    let programs = target_dir()?.join("debug");
    let mut failed = Vec::new();
    for round in 1..=times {
        println!("=== round {round} of {times}");
        let begin = Instant::now();
        let outcome =
            Job::cargo("test --package oxshmem --package oxshmem-launch --tests --no-fail-fast --quiet")
                .env("OXSHMEM_BIN_DIR", &programs)
                .env("OXSHMEM_TEST_PES", pes.to_string())
                .env("OXSHMEM_TEST_BIND", if round % 2 == 0 { "core" } else { "none" })
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

/// Plays jobs that go on when a PE is lost, each as its seed decides.
pub(crate) fn simulate(seeds: u64, from: u64) -> Outcome {
    /// What a program plays before it ends.
    const AT_A_TIME: u64 = 500;
    let end = from.saturating_add(seeds);
    // A build for speed takes longer than a few thousand seeds, for which one is there already.
    let build = if seeds > 10_000 { "test --release --package oxshmem" } else { "test --workspace" };
    let mut begin = from;
    while begin < end {
        let some = AT_A_TIME.min(end - begin);
        // Its own time limit comes first, because it says which seed it is.
        Job::cargo(build)
            .args(["--test", "simulation", "those_that_are_left", "--", "--nocapture"])
            .env("OXSHMEM_SIMULATE", format!("{some} {begin}"))
            .limit(1500 + some)
            .run()?;
        begin += some;
    }
    Ok(Verdict::Passed)
}
