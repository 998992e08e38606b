//! The package for Debian and its kin, made by dpkg's own tool.
//!
//! Everything lies below `/opt/oxshmem`, as the programs of Open MPI have the same names in
//! `/usr/bin`, and a job may be started by its `mpirun`.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use super::VERSION;
use crate::{
    install,
    run::{Failure, Job, Outcome, Verdict, target_dir},
};

/// Where the package has the installation.
pub(super) const PREFIX: &str = "opt/oxshmem";

/// Packs an installation. The failure says why there can be no package here.
pub(super) fn make(tree: &Path, folder: &Path, compression: &str) -> Result<PathBuf, Failure> {
    if !Job::new("dpkg-deb", ["--version"]).works() {
        return Err(Failure::new("dpkg-deb is not installed"));
    }
    let staging = folder.join("deb");
    let _ = fs::remove_dir_all(&staging);
    let prefix = staging.join(PREFIX);
    let doc = staging.join("usr/share/doc/oxshmem");
    for folder in [staging.join("DEBIAN"), prefix.join(".."), doc.clone()] {
        fs::create_dir_all(&folder)?;
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755))?;
    }
    Job::new("cp", ["-a", "--no-target-directory"]).args([tree, &prefix]).run()?;
    let licences = format!("{}/share/doc/oxshmem", Path::new("/").join(PREFIX).display());
    fs::write(
        doc.join("copyright"),
        format!("oxshmem is licensed under MIT or Apache-2.0, at your choice: see {licences}.\n"),
    )?;
    fs::write(staging.join("DEBIAN/control"), control(size(&prefix)?))?;
    let package = folder.join(format!("oxshmem_{VERSION}_{}.deb", architecture()));
    Job::new("dpkg-deb", ["--root-owner-group", &format!("-Z{compression}"), "--build"])
        .args([&staging, &package])
        .quiet()
        .limit(600)
        .run()?;
    fs::remove_dir_all(&staging)?;
    Ok(package)
}

fn control(kib: u64) -> String {
    let architecture = architecture();
    let libc = super::symbols::OLDEST;
    format!(
        "\
Package: oxshmem
Version: {VERSION}
Architecture: {architecture}
Maintainer: The oxshmem developers
Installed-Size: {kib}
Section: libs
Priority: optional
Depends: libc6 (>= {libc}), libgcc-s1 | libgcc1
Recommends: gcc | c-compiler, libc6-dev | libc-dev
Suggests: libucx0, libpmix2
Description: OpenSHMEM 1.6 for C and C++
 The launcher oshrun, the compiler drivers oshcc and oshc++, shmem-info, the
 library libshmem, its headers and its manual. Everything is in /{PREFIX}: add
 /{PREFIX}/bin to PATH.
"
    )
}

/// Debian's name for this processor.
fn architecture() -> &'static str {
    if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" }
}

/// What the files of a folder take, in KiB, without what they are compressed by.
fn size(folder: &Path) -> Result<u64, Failure> {
    let output = Job::new("du", ["-sk", "--apparent-size"]).args([folder]).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let number = text.split_whitespace().next().and_then(|number| number.parse().ok());
    number.ok_or_else(|| Failure::new(format!("du says `{}`", text.trim())))
}

/// Packs a debug build, has dpkg install it in a folder, tries what is there, and has dpkg remove
/// it, which must leave nothing.
pub(crate) fn check_quickly() -> Outcome {
    if !Job::new("dpkg-deb", ["--version"]).works() {
        return Ok(Verdict::Skipped("dpkg-deb is not installed".to_owned()));
    }
    let folder = target_dir()?.join("deb check");
    let _ = fs::remove_dir_all(&folder);
    let tree = folder.join("tree");
    install::install(&tree, true)?;
    let package = make(&tree, &folder, "none")?;
    let root = folder.join("root");
    let books = root.join("var/lib/dpkg");
    for part in ["info", "updates", "triggers"] {
        fs::create_dir_all(books.join(part))?;
    }
    fs::write(books.join("status"), "")?;
    fs::write(books.join("available"), "")?;
    let dpkg = |action: &str, what: &Path| {
        // There is no C library in the folder to depend on.
        let dpkg = Job::new("dpkg", ["--force-not-root", "--force-depends", "--root"]).quiet();
        dpkg.args([root.as_path(), action.as_ref(), what]).limit(300).run()
    };
    dpkg("--install", &package)?;
    install::try_drivers(&root.join(PREFIX), &folder.join("work"))?;
    dpkg("--remove", Path::new("oxshmem"))?;
    let left = Job::new("find", [&root]).args(["-path", "*oxshmem*", "-o", "-path", "*/opt"]).output()?;
    let left = String::from_utf8_lossy(&left.stdout);
    if !left.is_empty() {
        return Err(Failure::new(format!("dpkg --remove left\n{left}")));
    }
    fs::remove_dir_all(&folder)?;
    Ok(Verdict::Passed)
}
