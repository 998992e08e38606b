//! Programs linked in every way: with `libshmem.so` or `libshmem.a`, position-independent or not,
//! static as a whole, and not at all, where they load the library.

mod common;
#[path = "common/library.rs"]
mod library;

use std::{fs, process::Command};

use common::{Ended, Linker, Program, is_played, possible, programs};
use library::archive;

/// Whether the system can link like this. Says so if it cannot.
fn is_possible(options: &[&str]) -> bool {
    let possible = possible(options);
    if let Err(why) = &possible {
        println!("skipped: no programs with {options:?} here: {why}");
    }
    possible.is_ok()
}

/// Ways to link, each with whether everything is in the program.
const WAYS: [(&[&str], bool); 4] = [
    (&["-fPIE", "-pie"], false),
    (&["-fno-pie", "-no-pie"], false),
    (&["-static"], true),
    (&["-fPIE", "-static-pie"], true),
];

/// Whatever the environment of the test says.
const ONE_HOST: (&str, &str) = ("SHMEM_FAKE_HOSTS", "1");

/// Runs a program with `libshmem.a` in it, linked in all these ways, as jobs of this many PEs.
fn runs_with_archive(source: &str, linker: Option<&Linker>, pes: &[usize]) {
    for (options, whole) in WAYS {
        let options = linker.map_or(options.to_vec(), |linker| linker.with(options));
        if !is_possible(&options) {
            continue;
        }
        let options = [&options[..], if whole { &["-DNO_FORK"] } else { &[] }].concat();
        let program = Program::compile(source, &options, &archive(whole));
        for &n in pes {
            println!("{source} {options:?} on {n} PEs");
            // What has everything in it cannot load UCX.
            let one_host: &[_] = if whole { &[ONE_HOST] } else { &[] };
            program.job(n, one_host, &[]).passed(n);
        }
    }
}

#[test]
fn globals_are_symmetric_in_programs_with_libshmem_in_them() {
    runs_with_archive("statics.c", None, &[1, 3]);
}

#[test]
fn globals_are_symmetric_in_programs_with_libshmem_in_them_whatever_linker_made_them() {
    for linker in Linker::all() {
        runs_with_archive("statics.c", Some(&linker), &[3]);
    }
}

#[test]
fn programs_load_the_library_while_they_run() {
    let library = programs().join("libshmem.so");
    let library = library.to_str().expect("the path is text");
    for options in [&[][..], &["-DIN_THREAD"], &["-fno-pie", "-no-pie"]] {
        let options = [options, &["-pthread"]].concat();
        let program = Program::compile("linking_loaded.c", &options, &["-ldl".into()]);
        for n in [1, 3] {
            program.job(n, &[], &[library]).passed(n);
        }
        let hosts = program.job(4, &[("SHMEM_FAKE_HOSTS", "2")], &[library]);
        hosts.passed(4);
    }
}

#[test]
fn the_library_is_found_by_the_names_that_it_has_elsewhere() {
    let folder = programs();
    for name in ["-lshmem", "-lsma", "-loshmem"] {
        let rpath = format!("-Wl,-rpath,{}", folder.display());
        let link = ["-L".into(), folder.clone().into_os_string(), name.into(), rpath.into()];
        Program::compile("setup.c", &[], &link).job(2, &[], &[]).passed(2);
    }
}

#[test]
fn what_children_write_is_theirs() {
    for link in [None, Some(archive(false))] {
        let program = match link {
            None => Program::with("linking_fork.c", &["-pthread"]),
            Some(link) => Program::compile("linking_fork.c", &["-pthread"], &link),
        };
        for n in [1, 3] {
            program.run(n).passed(n);
        }
    }
}

#[test]
fn a_program_that_is_static_as_a_whole_cannot_fork_and_the_error_says_so() {
    if is_possible(&["-static"]) {
        let program = Program::compile("linking_fork.c", &["-static"], &archive(true));
        program.job(2, &[ONE_HOST], &[]).failed_with(&["fork", "-static", "PE"]);
    }
}

#[test]
fn a_program_that_is_static_as_a_whole_reaches_other_hosts_over_tcp_alone() {
    if is_possible(&["-static"]) {
        let program = Program::compile("statics.c", &["-static", "-DNO_FORK"], &archive(true));
        // Of four PEs, two learn of it from others.
        for n in [2, 4] {
            program.job(n, &[("SHMEM_FAKE_HOSTS", "2"), ("SHMEM_NET", "tcp")], &[]).passed(n);
            let ended = program.job(n, &[("SHMEM_FAKE_HOSTS", "2"), ("SHMEM_NET", "ucx")], &[]);
            ended.failed_with(&["shmem_init: ", "statically linked", "cannot load UCX"]);
        }
    }
}

#[test]
fn a_large_bss_takes_neither_memory_nor_time() {
    if is_played("the memory that a process has") {
        return;
    }
    let program = Program::new("large.c");
    for n in [1, 2] {
        program.run(n).passed(n);
    }
    runs_with_archive("large.c", None, &[1, 3]);
}

#[test]
fn pes_that_run_different_programs_get_an_error_that_says_so() {
    let plain = Program::new("linking_other.c");
    for difference in ["-DMORE_DATA", "-DMORE_CODE"] {
        let other = Program::with("linking_other.c", &[difference]);
        let script = "if mkdir \"$2\" 2>/dev/null; then exec \"$0\"; else exec \"$1\"; fi";
        let first = plain.path().with_extension(format!("first{difference}"));
        let mut command = Command::new(programs().join("oshrun"));
        command.args(["-np", "2", "--timeout", "60", "--", "sh", "-c", script]);
        let ended = Ended::of(command.args([plain.path(), other.path(), &first]));
        fs::remove_dir(first).expect("one PE has made it");
        ended.failed_with(&["executable", "PE 0", "PE 1"]);
    }
}
