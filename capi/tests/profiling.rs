//! The profiling interface: every routine has a twin with another name, and may be replaced
//! (`OpenSHMEM 1.6 §10`).

mod common;
#[path = "common/library.rs"]
mod library;

use std::{fs, path::Path, process::Command};

use common::{Ended, Linker, Program, programs};
use library::{Symbol, archive, symbols};

#[test]
fn a_program_may_replace_routines_and_call_their_twins() {
    Program::new("profiling.c").passes();
    Program::compile("profiling.c", &[], &archive(false)).passes();
}

#[test]
fn a_program_may_replace_routines_whatever_linker_made_it() {
    for linker in Linker::all() {
        println!("with {}", linker.name);
        let options = linker.with(&[]);
        Program::with("profiling.c", &options).run(3).passed(3);
        Program::compile("profiling.c", &options, &archive(false)).run(3).passed(3);
    }
}

#[test]
fn a_library_that_is_loaded_first_may_replace_routines() {
    let library = Program::with("profiling.c", &["-shared", "-fPIC", "-DLIBRARY"]);
    let variables = [("LD_PRELOAD", library.path().to_str().expect("a readable path"))];
    let program = Program::new("statics.c");
    let ended = program.job(2, &variables, &[]);
    ended.passed(2);
    // What the PEs start loads it too.
    let counts = ended.stderr.lines().filter(|line| line.ends_with(" barriers") && !line.starts_with("0 "));
    assert_eq!(counts.count(), 2, "{}", ended.stderr);
}

/// Expects that every routine in a library is weak and at the address of its twin.
fn names_are_weak(file: &Path) {
    let found = symbols(&["-D", "--defined-only"], file);
    let twin_of = |name: &str| found.get(&format!("p{name}")).copied();
    let names = found.iter().filter(|(name, _)| name.starts_with("shmem_"));
    let names: Vec<_> = names.map(|(name, symbol)| (name, *symbol, twin_of(name))).collect();
    let is_right = |symbol: Symbol, twin: Option<Symbol>| {
        symbol.kind == 'W' && twin == Some(Symbol { kind: 'T', ..symbol })
    };
    let wrong: Vec<_> = names.iter().filter(|&&(_, symbol, twin)| !is_right(symbol, twin)).collect();
    assert!(names.len() > 50, "{} has {} routines", file.display(), names.len());
    assert!(wrong.is_empty(), "{}: {wrong:#?}", file.display());
}

#[test]
fn every_name_is_weak_and_at_the_address_of_its_twin() {
    names_are_weak(&programs().join("libshmem.so"));
    // In the archive each routine has a section of its own, so that addresses say nothing before
    // they are linked.
    for linker in Linker::all() {
        let name = format!("archive-{}-{}.so", linker.name, std::process::id());
        let linked = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let mut compiler = Command::new("cc");
        compiler.args(linker.with(&["-shared", "-o"])).arg(&linked).arg("-Wl,--whole-archive");
        let [archive, system @ ..] = &archive(false)[..] else { unreachable!("it begins with the archive") };
        let ended = Ended::of(compiler.arg(archive).arg("-Wl,--no-whole-archive").args(system));
        assert_eq!(ended.status, Some(0), "{}: {}", linker.name, ended.stderr);
        names_are_weak(&linked);
        fs::remove_file(linked).expect("it was made");
    }
}
