//! Gives `oshcxx` its usual name beside it: cargo has no programs with a `+` in their names.

use std::{env, fs, os::unix::fs::symlink, path::PathBuf};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    // The programs are three folders up from `build/PACKAGE/out`.
    let Some(programs) = out.ancestors().nth(3) else { return };
    let link = programs.join("oshc++");
    if fs::read_link(&link).is_ok_and(|target| target.as_os_str() == "oshcxx") {
        return;
    }
    let _ = fs::remove_file(&link);
    if let Err(error) = symlink("oshcxx", &link) {
        println!("cargo::warning=cannot make {}, use oshcxx: {error}", link.display());
    }
}
