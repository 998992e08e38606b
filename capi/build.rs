//! Has the linker export the weak names beside those that rustc knows of, and begin every routine at a cache line: those that
//! are some twenty instructions take up to a third longer elsewhere, and where they came to lie would change with every build.

use std::{env, fs, path::Path};

/// Names that do not begin with `shmem`.
const OLD: [&str; 7] = ["start_pes", "_my_pe", "_num_pes", "shmalloc", "shmemalign", "shrealloc", "shfree"];

fn main() {
    let exports = format!("{{ global: shmem_*; shmemx_*; {}; }};\n", OLD.join("; "));
    println!("cargo::rustc-cdylib-link-arg=-Wl,--version-script={}", write("exports.map", &exports));
    // A routine is in a section that has its name.
    let routines = "SECTIONS { .text.routines : SUBALIGN(64) { *(.text.pshmem_*) } } INSERT BEFORE .text;\n";
    println!("cargo::rustc-cdylib-link-arg=-Wl,-T,{}", write("routines.ld", routines));
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libshmem.so");
    // `dlclose` leaves it: what is to be called at `fork` and at the end of a thread and of the program is in it.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo::rerun-if-changed=build.rs");
}

/// Writes a file for the linker, and tells where it is.
fn write(name: &str, text: &str) -> String {
    let file = Path::new(&env::var_os("OUT_DIR").unwrap_or_default()).join(name);
    if let Err(error) = fs::write(&file, text) {
        panic!("cannot write {}: {error}", file.display());
    }
    file.display().to_string()
}
