//! The installation: programs, libraries, headers, man pages, and what pkg-config and CMake read.
//! None of it says where it was installed to, so that a prefix can be moved.

mod check;
mod licences;
mod packages;

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

pub(crate) use check::{check, try_drivers};

use crate::run::{Failure, Job, Outcome, Verdict, metadata, target_dir};

/// Installed beside the programs of `oxshmem-launch`, for developers.
const PERF: &str = "shmem-perf";
/// Other names by which build scripts look for the library; `capi/build.rs` makes them beside what
/// cargo builds.
const ALIASES: [&str; 2] = ["sma", "oshmem"];
const DOC: &str = "share/doc/oxshmem";

/// Bytes that the libraries may have once they are installed: what is compiled for each of many
/// types is soon most of them.
const MOST: [(&str, u64); 2] = [("lib/libshmem.so", 6 << 20), ("lib/libshmem.a", 25 << 20)];

/// A prefix, while it is filled.
struct Prefix(PathBuf);

/// Builds everything, and installs it to `prefix`.
pub(crate) fn install(prefix: &Path, debug: bool) -> Outcome {
    // In debug exactly what `verify` builds, so that nothing is built twice.
    let (profile, options) = if debug { ("debug", "--examples") } else { ("release", "--release") };
    Job::cargo(&format!("build --workspace --lib --bins {options}")).limit(1200).run()?;
    if !debug {
        build_man_pages()?;
    }
    let built = target_dir()?.join(profile);
    fill(prefix, &built)?;
    if !debug {
        check_sizes(prefix)?;
    }
    Prefix(std::path::absolute(prefix)?).strip(&built.join(PERF), &format!("bin/{PERF}"))?;
    println!("installed to {}", prefix.display());
    Ok(Verdict::Passed)
}

/// That the libraries of a release are no larger than they may be.
fn check_sizes(prefix: &Path) -> Result<(), Failure> {
    for (library, most) in MOST {
        let bytes = fs::metadata(prefix.join(library))?.len();
        println!("{library}: {:.1} MB", bytes as f64 / 1e6);
        if bytes > most {
            return Err(Failure::new(format!("{library} has {bytes} bytes, and may have {most}")));
        }
    }
    Ok(())
}

/// Builds what writes the man pages of programs. Not in release: as an example it would bring what
/// only tests use into the programs that are built with it.
pub(crate) fn build_man_pages() -> Result<(), Failure> {
    Job::cargo("build -p oxshmem-launch --example man_pages").limit(1200).run()
}

/// Installs to `prefix` what was built to the folder `built`, and what writes man pages.
pub(crate) fn fill(prefix: &Path, built: &Path) -> Result<(), Failure> {
    let prefix = Prefix(std::path::absolute(prefix)?);
    for program in programs()? {
        prefix.strip(&built.join(&program), &format!("bin/{program}"))?;
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
    let man_pages = target_dir()?.join("debug/examples/man_pages");
    Job::new(man_pages, [prefix.0.join("share/man/man1")]).run()?;
    for file in ["LICENSE-MIT", "LICENSE-APACHE", "CHANGELOG.md"] {
        prefix.copy(file.as_ref(), &format!("{DOC}/{file}"))?;
    }
    prefix.write(&format!("{DOC}/THIRD-PARTY-LICENSES.txt"), &licences::all()?)
}

/// The programs that users have: all of `oxshmem-launch`.
fn programs() -> Result<Vec<String>, Failure> {
    let metadata = metadata("--no-deps")?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let launch = packages.filter(|package| package["name"] == "oxshmem-launch");
    let targets = launch.flat_map(|package| package["targets"].as_array().into_iter().flatten());
    let programs = targets.filter(|target| target["kind"][0] == "bin");
    Ok(programs.filter_map(|program| program["name"].as_str()).map(str::to_owned).collect())
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
