//! The installation: programs, libraries, headers, man pages, and what pkg-config and CMake read.
//! None of it says where it was installed to, so that a prefix can be moved.

mod check;
mod packages;

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

pub(crate) use check::check;

use crate::run::{Failure, Job, Outcome, Verdict, target_dir};

/// Installed under the name that cargo built it as.
const PROGRAMS: [&str; 6] = ["oshrun", "oshcc", "oshcxx", "oshtop", "shmem-info", "shmem-perf"];
/// Other names by which build scripts look for the library; `capi/build.rs` makes them beside what
/// cargo builds.
const ALIASES: [&str; 2] = ["sma", "oshmem"];

/// A prefix, while it is filled.
struct Prefix(PathBuf);

/// Builds everything, and installs it to `prefix`.
pub(crate) fn install(prefix: &Path, debug: bool) -> Outcome {
    // In debug exactly what `verify` builds, so that nothing is built twice.
    let (profile, options) = match debug {
        true => ("debug", "--examples"),
        false => ("release", "--release --example man_pages"),
    };
    Job::cargo(&format!("build --workspace --lib --bins {options}")).limit(1200).run()?;
    let prefix = Prefix(std::path::absolute(prefix)?);
    let built = target_dir()?.join(profile);
    for program in PROGRAMS {
        prefix.strip(&built.join(program), &format!("bin/{program}"))?;
    }
    prefix.link("oshcxx", "bin/oshc++")?;
    for extension in ["so", "a"] {
        let library = format!("libshmem.{extension}");
        prefix.strip(&built.join(&library), &format!("lib/{library}"))?;
        for alias in ALIASES {
            prefix.link(&library, &format!("lib/lib{alias}.{extension}"))?;
        }
    }
    for (path, text) in oxshmem_capi_table::headers() {
        prefix.write(&format!("include/{path}"), &text)?;
    }
    prefix.copy("capi/include/shmemx_device.cuh".as_ref(), "include/shmemx_device.cuh")?;
    for (path, text) in packages::files() {
        prefix.write(path, &text)?;
    }
    for (name, text) in oxshmem_capi_table::man_pages() {
        prefix.write(&format!("share/man/man3/{name}"), &text)?;
    }
    Job::new(built.join("examples/man_pages"), [prefix.0.join("share/man/man1")]).run()?;
    println!("installed to {}", prefix.0.display());
    Ok(Verdict::Passed)
}

impl Prefix {
    /// Copies a file. Beside its place first, as a program that runs cannot be written over.
    fn copy(&self, from: &Path, to: &str) -> Result<(), Failure> {
        self.place(to, |fresh| fs::copy(from, fresh).map(drop))
    }

    /// Copies a program or library without what only debuggers read. What is loaded keeps its
    /// dynamic symbols. What rustc's own library has beside its code, for linkers that optimise, is
    /// of no use to others.
    fn strip(&self, from: &Path, to: &str) -> Result<(), Failure> {
        let symbols = if to.ends_with(".a") { "--strip-debug" } else { "--strip-all" };
        let fresh = self.0.join(format!("{to}.stripped"));
        if let Some(folder) = fresh.parent() {
            fs::create_dir_all(folder)?;
        }
        let options = [symbols, "--remove-section=.llvmbc", "--remove-section=.llvmcmd"];
        Job::new("objcopy", options).args([from, &fresh]).limit(120).run()?;
        let copied = self.copy(&fresh, to);
        fs::remove_file(&fresh)?;
        copied
    }

    fn write(&self, to: &str, text: &str) -> Result<(), Failure> {
        self.place(to, |fresh| fs::write(fresh, text))
    }

    fn link(&self, target: &str, to: &str) -> Result<(), Failure> {
        self.place(to, |fresh| symlink(target, fresh))
    }

    fn place(&self, to: &str, make: impl FnOnce(&Path) -> std::io::Result<()>) -> Result<(), Failure> {
        let path = self.0.join(to);
        let make = || {
            let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Ok(()) };
            let fresh = folder.join(format!(".{}.new", name.display()));
            fs::create_dir_all(folder)?;
            // An earlier installation may have been interrupted.
            let _ = fs::remove_file(&fresh);
            make(&fresh)?;
            fs::rename(&fresh, &path)
        };
        make().map_err(|error| Failure::new(format!("{}: {error}", path.display())))
    }
}
