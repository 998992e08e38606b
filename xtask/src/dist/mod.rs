//! What is given to users who have no Rust: a tarball and a package for Debian, with the same tree.
//!
//! They are built for an old C library, as a newer one runs what was linked with an older one and
//! not the other way round.

mod deb;
mod debian_root;
mod symbols;
mod zig;

use std::{
    fs,
    path::{Path, PathBuf},
};

pub(crate) use deb::check_quickly;

use crate::{
    install,
    run::{Failure, Job, Outcome, Verdict, target_dir},
};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Builds everything in release, and packs it in `target/dist`. With `check`, installs what was
/// packed in fresh Debian systems, and tries it there.
pub(crate) fn dist(check: bool) -> Outcome {
    if !cfg!(all(target_arch = "x86_64", target_env = "gnu")) {
        return Ok(Verdict::Skipped("packages are made on x86-64, for x86-64".to_owned()));
    }
    let built = zig::build(symbols::OLDEST)?;
    install::build_man_pages()?;
    let folder = target_dir()?.join("dist");
    let _ = fs::remove_dir_all(&folder);
    let name = format!("oxshmem-{VERSION}-x86_64-linux");
    let tree = folder.join(&name);
    install::fill(&tree, &built)?;
    symbols::check(&tree)?;
    let tarball = tarball(&folder, &name)?;
    let packed = match deb::make(&tree, &folder, "xz") {
        Ok(package) => vec![tarball, package],
        Err(why) => {
            println!("no .deb: {why}");
            vec![tarball]
        }
    };
    sums(&folder, &packed)?;
    for file in &packed {
        println!("{} ({:.1} MB)", file.display(), fs::metadata(file)?.len() as f64 / 1e6);
    }
    if check { debian_root::check(&packed) } else { Ok(Verdict::Passed) }
}

/// Packs the folder `name`, with gzip, as small systems have no xz. The same commit gives the same
/// bytes, if the same tools make them.
fn tarball(folder: &Path, name: &str) -> Result<PathBuf, Failure> {
    let tarball = folder.join(format!("{name}.tar.gz"));
    let commit = Job::new("git", ["log", "-1", "--format=%ct"]).output()?;
    let time = format!("--mtime=@{}", String::from_utf8_lossy(&commit.stdout).trim());
    Job::new(
        "tar",
        [
            "--sort=name",
            "--owner=0",
            "--group=0",
            "--numeric-owner",
            &time,
            "--use-compress-program",
            "gzip -9n",
        ],
    )
    .args(["-C".as_ref(), folder, "-cf".as_ref(), &tarball, name.as_ref()])
    .limit(600)
    .run()?;
    Ok(tarball)
}

/// `SHA256SUMS`, which `sha256sum --check` reads.
fn sums(folder: &Path, packed: &[PathBuf]) -> Result<(), Failure> {
    let names = packed.iter().filter_map(|file| file.file_name());
    let script = r#"cd "$0" && sha256sum -- "$@" > SHA256SUMS"#;
    Job::new("sh", ["-c", script]).args([folder]).args(names).run()
}
