//! What Debian has and we need: installed where that is a matter of one command.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use crate::run::{Failure, Job};

/// What Debian's packages ask whether to start the daemons that they bring.
const POLICY: &str = "/usr/sbin/policy-rc.d";

/// Installs `packages`, unless `present` says that what they bring is there. The failure is a line
/// that says what is missing, and the command.
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
    // Tests start the daemons that they need.
    let forbids = !Path::new(POLICY).exists();
    if forbids {
        let written = fs::write(POLICY, "#!/bin/sh\nexit 101\n");
        let written = written.and_then(|()| fs::set_permissions(POLICY, fs::Permissions::from_mode(0o755)));
        written.map_err(|error| Failure::new(format!("{POLICY}: {error}")))?;
    }
    let apt = Job::new("apt-get", line.split(' ').skip(1)).env("DEBIAN_FRONTEND", "noninteractive");
    let installed = apt.limit(900).run();
    if forbids {
        let _ = fs::remove_file(POLICY);
    }
    installed?;
    if present() { Ok(()) } else { Err(Failure::new(format!("{what} still missing"))) }
}

/// Whether a compiler makes a program that includes a header: a wrapper may be there without what
/// it wraps, which Debian has in another package.
pub(crate) fn compiles(compiler: &str, header: &str) -> bool {
    let program =
        format!("echo 'int main(void) {{ return 0; }}' | {compiler} -include {header} -x c - -o /dev/null");
    Job::new("sh", ["-c", &program]).works()
}

/// Whether the dynamic linker finds a library by this name.
pub(crate) fn has_library(name: &str) -> bool {
    let found = Job::new("/sbin/ldconfig", ["-p"]).output();
    let line = format!("\t{name} ");
    found.is_ok_and(|found| String::from_utf8_lossy(&found.stdout).contains(&line))
}

/// Whether this is the superuser.
pub(crate) fn is_root() -> bool {
    Job::new("id", ["-u"]).output().is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_and_a_library_are_asked_for_what_is_used_of_them() {
        assert!(compiles("cc", "stdio.h") && !compiles("cc", "no_such_header.h"));
        assert!(!compiles("cc -lno-such-library", "stdio.h"), "the header is there, the library is not");
        assert!(has_library("libc.so.6") && !has_library("libc.so.") && !has_library("c.so.6"));
    }
}
