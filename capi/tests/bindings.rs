//! Bindings of other languages: what their generators see of the headers, and programs that use
//! nothing but such bindings.

mod common;

use std::{
    collections::BTreeSet,
    fs, panic,
    path::{Path, PathBuf},
    process::Command,
};

use common::{Ended, folder, is_played, programs};
use oxshmem_capi_table::{constants, handles, header::generics};

/// What bindgen makes of a header. `None`, which it says, without libclang.
fn bindings(header: &str) -> Option<String> {
    let include = folder("include");
    let builder = bindgen::Builder::default()
        .header(include.join(header).display().to_string())
        .clang_arg(format!("-I{}", include.display()))
        .allowlist_item("(p?shmem|SHMEM|SHMEMX|_SHMEM|start_pes|_my_pe|_num_pes|sh).*")
        .layout_tests(false);
    let quiet = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    // It panics where it finds no libclang.
    let made = panic::catch_unwind(panic::AssertUnwindSafe(|| builder.generate()));
    panic::set_hook(quiet);
    match made {
        Ok(made) => Some(made.unwrap_or_else(|error| panic!("{header}: {error}")).to_string()),
        Err(why) => {
            let why = why.downcast_ref::<String>().map_or("no libclang", String::as_str);
            println!(
                "skipped: bindgen does not run (Debian: libclang1): {}",
                why.lines().next().unwrap_or("")
            );
            None
        }
    }
}

/// The names that bindings declare.
fn declared(bindings: &str) -> BTreeSet<&str> {
    let kinds = ["pub fn ", "pub const ", "pub static mut ", "pub static ", "pub type ", "pub struct "];
    bindings
        .lines()
        .filter_map(|line| kinds.iter().find_map(|kind| line.trim_start().strip_prefix(kind)))
        .map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or(rest))
        .collect()
}

#[test]
fn generators_see_every_name_of_the_specification() {
    let Some(shmem) = bindings("shmem.h") else { return };
    let (shmemx, pshmem) =
        (bindings("shmemx.h").unwrap_or_default(), bindings("pshmem.h").unwrap_or_default());
    let seen = &(&declared(&shmem) | &declared(&shmemx)) | &declared(&pshmem);
    let routines: Vec<_> = oxshmem_capi_table::routines().collect();
    let mut wanted: Vec<String> = routines.iter().map(|routine| routine.name.clone()).collect();
    wanted.extend(routines.iter().filter_map(|routine| routine.profiling_name()));
    wanted.extend(handles::HANDLES.iter().map(|handle| handle.name.to_owned()));
    wanted.extend(handles::OPAQUE.iter().map(|opaque| opaque.name.to_owned()));
    wanted.extend(handles::STRUCTURES.iter().map(|structure| structure.name.to_owned()));
    for constant in constants::CONSTANTS.iter().chain(constants::KINDS) {
        wanted.push(constant.name.to_owned());
        wanted.extend(constant.underscored.then(|| format!("_{}", constant.name)));
    }
    let unseen: Vec<_> = wanted.iter().filter(|name| !seen.contains(name.as_str())).collect();
    assert!(unseen.is_empty(), "of {} names these are not seen: {unseen:?}", wanted.len());
    assert!(wanted.len() > 3000, "{} names are not all", wanted.len());
    // Each routine that a generic form stands for has a name of its own, of which this is one.
    assert!(!generics().is_empty() && seen.contains("shmem_long_put"));
}

/// A file in the folder of temporary files.
fn made(name: &str, text: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", std::process::id()));
    fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    path
}

fn run(n: usize, program: &[&str]) {
    let mut command = Command::new(programs().join("oshrun"));
    command.args(["-np", &n.to_string(), "--timeout", "60", "--"]).args(program);
    let ended = Ended::of(&mut command);
    ended.passed(n);
    assert_eq!(ended.stdout.matches("passed").count(), n, "{ended:?}");
}

#[test]
fn a_program_in_rust_needs_nothing_but_bindings() {
    let Some(bindings) = bindings("shmem.h") else { return };
    let libraries = programs();
    let source = made("bindings.rs", &bindings);
    let main = fs::read_to_string(folder("tests/other/only_bindings.rs")).unwrap();
    let main = made("main.rs", &main.replace("BINDINGS", &source.display().to_string()));
    let program = main.with_extension("program");
    let ended = Ended::of(
        Command::new("rustc")
            .args(["--edition", "2024", "-lshmem", "-L"])
            .arg(&libraries)
            .arg(format!("-Clink-arg=-Wl,-rpath,{}", libraries.display()))
            .arg("-o")
            .args([&program, &main]),
    );
    assert_eq!(ended.status, Some(0), "rustc: {}", ended.stderr);
    for n in [1, 2, 3] {
        run(n, &[&program.display().to_string()]);
    }
    for file in [source, main, program] {
        let _ = fs::remove_file(file);
    }
}

/// Runs a script with the first `python3` that has a module.
fn python(script: &str, module: &str) {
    if is_played("Python") {
        return;
    }
    let has = |python: &&str| {
        let import = Command::new(python).args(["-c", &format!("import {module}")]).output();
        import.is_ok_and(|output| output.status.success())
    };
    let Some(python) = ["python3", "/usr/bin/python3"].into_iter().find(has) else {
        println!("skipped: no python3 has {module} (Debian: python3-cffi)");
        return;
    };
    let script = folder("tests/other").join(script).display().to_string();
    let library = programs().join("libshmem.so").display().to_string();
    for n in [1, 2] {
        run(n, &[python, &script, &library]);
    }
}

#[test]
fn a_program_in_python_uses_ctypes() {
    python("with_ctypes.py", "ctypes");
}

#[test]
fn a_program_in_python_uses_cffi() {
    python("with_cffi.py", "cffi");
}
