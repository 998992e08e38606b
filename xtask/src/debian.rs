//! What Debian has and we need: installed where that is a matter of one command.

use std::fs;

use crate::run::{Failure, Job};

/// Installs `packages`, unless `present` says that what they bring is there. The failure is a line that says what is
/// missing, and the command.
pub(crate) fn install(what: &str, packages: &[&str], present: impl Fn() -> bool) -> Result<(), Failure> {
    if present() {
        return Ok(());
    }
    let system = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let is_debian = system.lines().any(|line| line.starts_with("ID") && line.contains("debian"));
    let line = format!("apt-get install -y --no-install-recommends {}", packages.join(" "));
    if !is_debian || !is_root() {
        return Err(Failure::new(format!("{what} missing; on Debian, as root: {line}")));
    }
    println!("installing {}", packages.join(", "));
    Job::new("apt-get", ["update", "-qq"]).limit(300).run()?;
    Job::new("apt-get", line.split(' ').skip(1)).env("DEBIAN_FRONTEND", "noninteractive").limit(900).run()?;
    if present() { Ok(()) } else { Err(Failure::new(format!("{what} still missing"))) }
}

/// Whether this is the superuser.
pub(crate) fn is_root() -> bool {
    Job::new("id", ["-u"]).output().is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}
