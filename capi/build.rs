//! Has the linker export the weak names beside those that rustc knows of, and begin every routine
//! at a cache line: those that are some twenty instructions take up to a third longer elsewhere,
//! and where they came to lie would change with every build.

use std::{
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

/// Names that do not begin with `shmem`.
const OLD: [&str; 7] = ["start_pes", "_my_pe", "_num_pes", "shmalloc", "shmemalign", "shrealloc", "shfree"];

/// What `libshmem` is called elsewhere: programs' build scripts look for these. An installation has
/// them too.
const ALIASES: [&str; 2] = ["sma", "oshmem"];

fn main() {
    alias();
    // GNU's linker takes no list of names beside rustc's own. LLVM's does, which rustc uses itself
    // on x86-64, and has with it elsewhere too; if not, the compiler looks for one that is
    // installed.
    if let Some(folder) = linker_of_rustc() {
        println!("cargo::rustc-cdylib-link-arg=-B{}", folder.display());
    }
    println!("cargo::rustc-cdylib-link-arg=-fuse-ld=lld");
    // With the twins, which rustc's list has as well: zig's linker takes the last list alone.
    let names = ["shmem_*", "shmemx_*"].into_iter().chain(OLD);
    let names = names.map(|name| format!("{name}; p{name}; ")).collect::<String>();
    let handles = "SHMEM_CTX_*; SHMEM_TEAM_*; SHMEM_SPACE_*; ";
    let exports = format!("{{ global: {names}{handles}local: *; }};\n");
    println!("cargo::rustc-cdylib-link-arg=-Wl,--version-script={}", write("exports.map", &exports));
    // A routine is in a section that has its name.
    let routines = "SECTIONS { .text.routines : SUBALIGN(64) { *(.text.pshmem_*) } } INSERT BEFORE .text;\n";
    println!("cargo::rustc-cdylib-link-arg=-Wl,-T,{}", write("routines.ld", routines));
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libshmem.so");
    // Functions for types of one size are often the same code. Zig's linker, with which packages
    // are made, does not know that option.
    if !env::var("RUSTC_LINKER").is_ok_and(|linker| linker.contains("zigcc")) {
        println!("cargo::rustc-cdylib-link-arg=-Wl,--icf=all");
    }
    // `dlclose` leaves it: what is to be called at `fork` and at the end of a thread and of the
    // program is in it.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo::rerun-if-changed=build.rs");
}

/// The folder in which compilers find the linker that came with rustc.
fn linker_of_rustc() -> Option<PathBuf> {
    let output = Command::new(env::var_os("RUSTC")?).args(["--print", "sysroot"]).output().ok()?;
    let sysroot = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim_end());
    let folder = sysroot.join("lib/rustlib").join(env::var_os("HOST")?).join("bin/gcc-ld");
    folder.is_dir().then_some(folder)
}

/// Puts the other names of the library where cargo puts the library: three folders above this
/// script's own.
fn alias() {
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let Some(folder) = out.ancestors().nth(3) else { return };
    for alias in ALIASES {
        for extension in ["so", "a"] {
            let link = folder.join(format!("lib{alias}.{extension}"));
            // Of an earlier build.
            let _ = fs::remove_file(&link);
            if let Err(error) = symlink(format!("libshmem.{extension}"), &link) {
                panic!("cannot make {}: {error}", link.display());
            }
        }
    }
}

/// Writes a file for the linker, and tells where it is.
fn write(name: &str, text: &str) -> String {
    let file = Path::new(&env::var_os("OUT_DIR").unwrap_or_default()).join(name);
    if let Err(error) = fs::write(&file, text) {
        panic!("cannot write {}: {error}", file.display());
    }
    file.display().to_string()
}
