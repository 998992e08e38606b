//! The build for an old C library, by zig, whose linker knows what each version of it has.

use std::{env, ffi::OsString, fmt::Display, path::PathBuf};

use crate::{
    debian,
    run::{Failure, Job, target_dir},
};

/// From PyPI. Versions are fixed: what cargo-zigbuild leaves out of a command of the linker changes
/// with both.
const TOOLS: [&str; 2] = ["ziglang==0.14.1", "cargo-zigbuild==0.24.1"];

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Builds what is installed for this version of the C library, and gives the folder in which it is.
pub(super) fn build(library: impl Display) -> Result<PathBuf, Failure> {
    let tools = tools()?;
    let mut path = OsString::from(&tools);
    path.push(":");
    path.push(env::var_os("PATH").unwrap_or_default());
    let cargo = |command: &str, options: &str| {
        let target = format!("{command} --release --target {TARGET}.{library} {options}");
        let words: Vec<_> = target.split(' ').map(str::to_owned).collect();
        Job::new(tools.join("cargo-zigbuild"), words).env("PATH", &path).limit(3600)
    };
    cargo("build", "-p oxshmem-launch --bins").run()?;
    // A thread that is cancelled is unwound by the C library, by way of libgcc_s: the library's
    // frames must not ask another unwinder, which zig would bring.
    let unwinder = Job::new("cc", ["-print-file-name=libgcc_s.so.1"]).output()?;
    let unwinder = String::from_utf8_lossy(&unwinder.stdout).trim().to_owned();
    cargo("rustc", "-p oxshmem-capi --lib --").args([format!("-Clink-arg={unwinder}")]).run()?;
    Ok(target_dir()?.join(TARGET).join("release"))
}

/// The folder in which the tools are; they are installed there if they are missing.
fn tools() -> Result<PathBuf, Failure> {
    let venv = target_dir()?.join("zig");
    let tools = venv.join("bin");
    let version = || Job::new(tools.join("cargo-zigbuild"), ["--version"]).output();
    let is_there = || {
        let wanted = TOOLS[1].rsplit('=').next().unwrap_or_default();
        version().is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(wanted))
    };
    if is_there() {
        return Ok(tools);
    }
    let has_venv = || Job::new("python3", ["-c", "import venv, ensurepip"]).works();
    debian::install("python3 with venv is", &["python3-venv"], has_venv)?;
    println!("installing {} from PyPI in {}", TOOLS.join(", "), venv.display());
    Job::new("python3", ["-m", "venv", "--clear"]).args([&venv]).run()?;
    let pip = Job::new(tools.join("pip"), ["install", "--quiet", "--disable-pip-version-check"]);
    pip.args(TOOLS).limit(600).run()?;
    if is_there() { Ok(tools) } else { Err(Failure::new("PyPI's cargo-zigbuild does not run")) }
}

/// `zig cc`, which waits for the name of a target.
pub(super) fn compiler() -> Result<Job, Failure> {
    Ok(Job::new(tools()?.join("python3"), ["-m", "ziglang", "cc", "-target"]))
}
