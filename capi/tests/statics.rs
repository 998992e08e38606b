//! The executable's globals, linked in every way that programs are.

mod common;

use common::{Linker, Program};

/// Position-independent and not, with all kinds of read-only data, linked with these options too.
fn passes(linker: Option<&Linker>, pes: &[usize]) {
    for options in [&["-fPIE", "-pie"][..], &["-no-pie", "-fno-pie"]] {
        for relro in ["-Wl,-z,norelro", "-Wl,-z,relro", "-Wl,-z,relro,-z,now"] {
            let options = [options, &[relro]].concat();
            let options = linker.map_or(options.clone(), |linker| linker.with(&options));
            let program = Program::with("statics.c", &options);
            for &n in pes {
                println!("{options:?} on {n} PEs");
                program.run(n).passed(n);
            }
        }
    }
}

#[test]
fn globals_are_symmetric_in_position_independent_executables_and_others() {
    passes(None, &[1, 3]);
}

#[test]
fn globals_are_symmetric_whatever_linker_made_the_executable() {
    for linker in Linker::all() {
        passes(Some(&linker), &[3]);
    }
}
