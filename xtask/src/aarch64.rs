//! The other processor: clippy sees everything as it is compiled for aarch64, and the tests run as
//! its programs in qemu, process by process. What is only there (128-bit floating point as
//! `long double`, other barriers and prefetches) is not seen elsewhere.
//!
//! Qemu on x86 keeps the order of memory accesses that x86 keeps: of what a weaker processor may do
//! besides, these runs show nothing. Nor are their times anything to go by.

use std::{env, fs, io::ErrorKind, os::unix::fs::symlink, path::PathBuf};

use crate::{
    checks, debian,
    run::{Failure, Job, Outcome, Verdict, target_dir},
};

const TARGET: &str = "aarch64-unknown-linux-gnu";
/// Where Debian has that processor's libraries. There is no UCX and no PMIx among them: tests of
/// these say that they are skipped, unless `QEMU_LD_PREFIX` names a folder that has them.
const LIBRARIES: &str = "/usr/aarch64-linux-gnu";
const FROM_DEBIAN: [&str; 5] = [
    "qemu-user",
    "binfmt-support",
    "gcc-aarch64-linux-gnu",
    "g++-aarch64-linux-gnu",
    "libc6-dev-arm64-cross",
];
/// What is tested there: all but the launcher, whose tests are of times, and xtask.
const PACKAGES: [&str; 11] = [
    "oxshmem",
    "oxshmem-base",
    "oxshmem-job",
    "oxshmem-memory",
    "oxshmem-progress",
    "oxshmem-net",
    "oxshmem-spaces",
    "oxshmem-ops",
    "oxshmem-teams",
    "oxshmem-collections",
    "oxshmem-capi",
];
/// By which names tests call compilers, and what these are here.
const COMPILERS: [(&str, &str); 4] = [("cc", "gcc"), ("gcc", "gcc"), ("c++", "g++"), ("g++", "g++")];
/// By which the kernel knows that qemu runs such programs.
const REGISTERED: &str = "/proc/sys/fs/binfmt_misc/qemu-aarch64";

/// Clippy, where the standard library of aarch64 is installed.
pub(crate) fn clippy() -> Outcome {
    if !has_target() {
        return Ok(Verdict::Skipped(format!("no standard library of {TARGET}: rustup target add {TARGET}")));
    }
    Job::cargo("clippy --workspace --all-targets --target")
        .args([TARGET, "--", "-D", "warnings"])
        .env("CARGO_TARGET_DIR", folder()?)
        .run()?;
    Ok(Verdict::Passed)
}

/// The tests, or those that `chosen` has as arguments of `cargo test`.
pub(crate) fn test(chosen: &[String]) -> Outcome {
    if checks::host()? == TARGET {
        return Ok(Verdict::Skipped("this machine is one: cargo test".into()));
    }
    if !has_target() {
        println!("installing the standard library of {TARGET}");
        Job::new("rustup", ["target", "add", TARGET]).limit(300).run()?;
    }
    let tools = || ["qemu-aarch64", "aarch64-linux-gnu-gcc", "aarch64-linux-gnu-g++", "update-binfmts"];
    let present = || tools().iter().all(|tool| Job::new("which", [tool]).works());
    debian::install("Qemu or a compiler for aarch64 is", &FROM_DEBIAN, present)?;
    register()?;

    let folder = folder()?;
    let programs = folder.join(TARGET).join("debug");
    let host_linker = format!("CARGO_TARGET_{}_LINKER", checks::host()?.to_uppercase().replace('-', "_"));
    let (compilers, cc) = (compilers()?, which("cc")?);
    let path = env::var("PATH").unwrap_or_default();
    let job = |line: &str| {
        Job::cargo(line)
            .args(["--target", TARGET])
            .env("CARGO_TARGET_DIR", &folder)
            .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc")
            .env(&host_linker, &cc)
            .env("PATH", format!("{}:{path}", compilers.display()))
            .env("QEMU_LD_PREFIX", env::var_os("QEMU_LD_PREFIX").unwrap_or(LIBRARIES.into()))
            .env("OXSHMEM_BIN_DIR", &programs)
            .env("OXSHMEM_TEST_SLOWER", "10")
            .env("OXSHMEM_TEST_PLAYED", "1")
            // Long tests had their time limits exceeded without.
            .env("CARGO_PROFILE_DEV_OPT_LEVEL", "1")
    };
    job("build --workspace --lib --bins --examples").limit(1200).run()?;
    let all = || PACKAGES.iter().flat_map(|package| ["--package", package]).chain(["--no-fail-fast"]);
    let chosen = if chosen.is_empty() { all().map(str::to_owned).collect() } else { chosen.to_vec() };
    job("test").args(chosen).limit(5400).run()?;
    Ok(Verdict::Passed)
}

/// Its builds stay apart: the ordinary ones need not wait for them.
fn folder() -> Result<PathBuf, Failure> {
    Ok(target_dir()?.join("aarch64"))
}

fn has_target() -> bool {
    let libraries = Job::new("rustc", ["--print", "target-libdir", "--target", TARGET]).output();
    libraries.is_ok_and(|output| {
        PathBuf::from(String::from_utf8_lossy(&output.stdout).trim())
            .read_dir()
            .is_ok_and(|mut all| all.next().is_some())
    })
}

/// Has the kernel start programs for aarch64 in qemu, as tests start programs themselves.
fn register() -> Result<(), Failure> {
    let is_registered = || fs::exists(REGISTERED).unwrap_or(false);
    if is_registered() {
        return Ok(());
    }
    if !fs::exists("/proc/sys/fs/binfmt_misc/register")? {
        let args = ["-t", "binfmt_misc", "binfmt_misc", "/proc/sys/fs/binfmt_misc"];
        Job::new("mount", args).run()?;
    }
    Job::new("update-binfmts", ["--import", "qemu-aarch64"]).works();
    Job::new("update-binfmts", ["--enable", "qemu-aarch64"]).run()?;
    match is_registered() {
        true => Ok(()),
        false => Err(Failure::new(
            "the kernel does not start programs for aarch64: update-binfmts --enable qemu-aarch64",
        )),
    }
}

/// A folder in which compilers have the names that tests call.
fn compilers() -> Result<PathBuf, Failure> {
    let folder = folder()?.join("compilers");
    fs::create_dir_all(&folder)?;
    for (name, compiler) in COMPILERS {
        match symlink(which(&format!("aarch64-linux-gnu-{compiler}"))?, folder.join(name)) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error.into()),
            _ => {}
        }
    }
    Ok(folder)
}

fn which(program: &str) -> Result<PathBuf, Failure> {
    let output = Job::new("which", [program]).output()?;
    match String::from_utf8_lossy(&output.stdout).trim() {
        "" => Err(Failure::new(format!("{program} is missing"))),
        path => Ok(path.into()),
    }
}
