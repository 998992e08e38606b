//! Has the linker export the weak names beside those that rustc knows of.

use std::{env, fs, path::Path};

/// Names that do not begin with `shmem`.
const OLD: [&str; 7] = ["start_pes", "_my_pe", "_num_pes", "shmalloc", "shmemalign", "shrealloc", "shfree"];

fn main() {
    let out = env::var_os("OUT_DIR").unwrap_or_default();
    let script = Path::new(&out).join("exports.map");
    let text = format!("{{ global: shmem_*; shmemx_*; {}; }};\n", OLD.join("; "));
    if let Err(error) = fs::write(&script, text) {
        panic!("cannot write {}: {error}", script.display());
    }
    println!("cargo::rustc-cdylib-link-arg=-Wl,--version-script={}", script.display());
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libshmem.so");
    println!("cargo::rerun-if-changed=build.rs");
}
