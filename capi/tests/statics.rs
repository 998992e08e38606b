//! The executable's globals, linked in every way that programs are.

mod common;

use common::Program;

#[test]
fn globals_are_symmetric_in_position_independent_executables_and_others() {
    for options in [&["-fPIE", "-pie"][..], &["-no-pie", "-fno-pie"]] {
        for relro in ["-Wl,-z,norelro", "-Wl,-z,relro", "-Wl,-z,relro,-z,now"] {
            let options = [options, &[relro]].concat();
            let program = Program::with("statics.c", &options);
            for n in [1, 3] {
                program.run(n).passed(n);
            }
        }
    }
}
