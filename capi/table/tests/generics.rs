//! The generic forms choose the right routine for each type, with a context and without, and pass
//! it the arguments.
//!
//! One program, which is C11 and C++11 alike, defines every routine that a generic form may choose,
//! so that it notes its name and whether its arguments are those that `main` passes: the first is
//! 9, the second 18, and so on, each converted to the type of its parameter.

mod support;

use std::{collections::BTreeSet, fmt::Write, fs, process::Command};

use oxshmem_capi_table::{
    Over, Routine, Type,
    header::{Generic, generics},
    routines,
};
use support::{Language, compile, folder, run};

/// What the program begins with.
const HEAD: &str = include_str!("programs/generics_head.c");

/// The value that the argument at this position has, as an expression of a type.
fn argument(c: &str, position: usize) -> String {
    let value = (position + 1) * 9;
    if c.ends_with('*') || matches!(c, "shmem_ctx_t" | "shmem_team_t") {
        format!("({c})(uintptr_t){value}")
    } else {
        format!("({c}){value}")
    }
}

/// A definition that notes what was called.
fn definition(routine: &Routine) -> String {
    let same = routine.parameters.iter().enumerate();
    let same = same.map(|(i, it)| format!("{} == {}", it.name, argument(&it.c, i))).collect::<Vec<_>>();
    let back =
        if routine.returns == "void" { String::new() } else { format!(" return ({})0;", routine.returns) };
    format!(
        "LINKAGE {} ({})({}) {{ note(\"{}\", {});{back} }}\n",
        routine.returns,
        routine.name,
        routine.parameter_list(),
        routine.name,
        same.join(" && ")
    )
}

/// Calls of a generic form for a type of the table, each with the routine that has to be taken.
fn calls(generic: &Generic, element: Type, to: &mut String) {
    let choice = generic.choices.iter().find(|it| it.element.standard_name() == element.standard_name());
    let choice = choice.expect("every type has a routine");
    for routine in [Some(&choice.routine), choice.with_ctx.as_ref()].into_iter().flatten() {
        let decides = generic.position() + usize::from(routine.ctx);
        // The routine of this very type has the parameters as the caller sees them.
        let own = routine
            .group
            .routines()
            .filter(|it| std::ptr::eq(it.form, routine.form) && it.ctx == routine.ctx);
        let own = own.into_iter().find(|it| it.element == Some(element)).expect("every type has a routine");
        let spelled: Vec<_> = own.parameters.iter().enumerate().map(|(i, it)| argument(&it.c, i)).collect();
        let mut variants = vec![spelled.clone()];
        if generic.takes_const() {
            let mut writable = spelled;
            writable[decides] = writable[decides].replace("const ", "");
            variants.push(writable);
        }
        for arguments in variants {
            let call = format!("{}({})", generic.name, arguments.join(", "));
            let _ = writeln!(to, "    (void){call};\n    check(\"{}\", \"{call}\");", routine.name);
        }
    }
}

/// The program.
fn program() -> String {
    let (mut out, mut main, mut plain) = (HEAD.to_owned(), String::new(), BTreeSet::new());
    for generic in generics() {
        for choice in &generic.choices {
            let guard = choice.element.is_complex();
            for routine in [Some(&choice.routine), choice.with_ctx.as_ref()].into_iter().flatten() {
                if !plain.insert(routine.name.clone()) {
                    continue;
                }
                let text = definition(routine);
                // In C++ the complex types are another matter: see below.
                out += &if guard { format!("#ifndef __cplusplus\n{text}#endif\n") } else { text };
            }
        }
        let own = generic.forms.iter().flat_map(|form| match form.over {
            Over::Types(types) => types,
            _ => &[],
        });
        let also = generic.forms.iter().flat_map(|form| form.also.unwrap_or_default().0);
        let types = own.chain(also.filter(|it| it.alias_of.is_none()));
        for element in types {
            let mut text = String::new();
            calls(&generic, *element, &mut text);
            main += &if element.is_complex() { format!("#ifndef __cplusplus\n{text}#endif\n") } else { text };
        }
    }
    let by_handle = [
        "shmem_sync",
        "shmem_team_sync",
        "shmem_signal_add",
        "shmem_ctx_signal_add",
        "shmem_signal_set",
        "shmem_ctx_signal_set",
    ];
    for name in by_handle {
        let routine = oxshmem_capi_table::routine(name).expect("it is in the table");
        out += &definition(&routine);
        let generic =
            if name == "shmem_team_sync" { "shmem_sync".to_owned() } else { name.replace("_ctx", "") };
        let arguments: Vec<_> =
            routine.parameters.iter().enumerate().map(|(i, it)| argument(&it.c, i)).collect();
        let _ =
            writeln!(main, "    {generic}({});\n    check(\"{name}\", \"{generic}\");", arguments.join(", "));
    }
    // In C++ the overload for long is the C function that has no type in its name.
    out += "#ifdef __cplusplus\nLINKAGE void shmem_wait_until(long *ivar, int cmp, long cmp_value) {\n\
            \x20   shmem_long_wait_until(ivar, cmp, cmp_value);\n}\n#endif\n";
    assert!(plain.len() > 900, "{}", plain.len());
    out + "int main(void) {\n" + &main + "    return faults != 0;\n}\n"
}

#[test]
fn every_generic_form_takes_the_right_routine_for_every_type() {
    let folder = folder("generics");
    let source = program();
    for (language, standards) in [(Language::C, ["c11", "c17"]), (Language::Cxx, ["c++11", "c++20"])] {
        let file = folder.join(format!("generics.{}", language.extension()));
        fs::write(&file, &source).unwrap();
        for compiler in language.compilers() {
            let binary = folder.join(format!("generics-{compiler}"));
            let build = ["-O0", "-o", binary.to_str().unwrap()];
            compile(compiler, standards[0], &file, &build).unwrap_or_else(|fault| panic!("{fault}"));
            run(&mut Command::new(&binary)).unwrap_or_else(|fault| panic!("{compiler}: {fault}"));
            compile(compiler, standards[1], &file, &["-fsyntax-only"])
                .unwrap_or_else(|fault| panic!("{fault}"));
        }
    }
}

#[test]
fn complex_routines_take_what_cxx_has() {
    let mut source = "#include <complex>\n#include <shmem.h>\nint main() {\n    int faults = 0;\n".to_owned();
    for (part, c) in [("double", "shmem_impl_complexd_t"), ("float", "shmem_impl_complexf_t")] {
        let letter = &part[..1];
        for name in ["sum_reduce", "prod_reduce", "sum_inscan", "sum_exscan"] {
            for call in [format!("shmem_{name}"), format!("shmem_complex{letter}_{name}")] {
                for element in [format!("std::complex<{part}>"), c.to_owned()] {
                    let _ = writeln!(
                        source,
                        "    {{ {element} *p = nullptr; faults += {call}(SHMEM_TEAM_WORLD, p, p, 1); \
                         const {element} *q = p; faults += {call}(SHMEM_TEAM_WORLD, p, q, 1); }}"
                    );
                }
            }
        }
        for name in ["sum", "prod"] {
            let _ = writeln!(
                source,
                "    {{ std::complex<{part}> *p = nullptr; \
                 shmem_complex{letter}_{name}_to_all(p, p, 1, 0, 0, 1, p, nullptr); }}"
            );
        }
    }
    source += "    return faults;\n}\n";
    // What they are forwarded to.
    let mut library = "#include <pshmem.h>\n".to_owned();
    for routine in routines().filter(|it| it.element.is_some_and(|element| element.is_complex())) {
        let parameters: Vec<_> = routine.parameters.iter().map(|it| format!("(void){};", it.name)).collect();
        let back = if routine.returns == "void" { "" } else { " return 0;" };
        let _ = writeln!(library, "{} {{ {}{back} }}", routine.prototype(), parameters.join(" "));
    }
    let folder = folder("complex");
    let (file, lib) = (folder.join("complex.cpp"), folder.join("library.c"));
    fs::write(&file, &source).unwrap();
    fs::write(&lib, &library).unwrap();
    let (Some(cc), compilers) = (Language::C.compilers().first().copied(), Language::Cxx.compilers()) else {
        return;
    };
    let object = folder.join("library.o");
    compile(cc, "c11", &lib, &["-c", "-o", object.to_str().unwrap()])
        .unwrap_or_else(|fault| panic!("{fault}"));
    for compiler in compilers {
        for standard in ["c++11", "c++20"] {
            let binary = folder.join(format!("complex-{compiler}"));
            let arguments = ["-o", binary.to_str().unwrap(), object.to_str().unwrap()];
            compile(compiler, standard, &file, &arguments).unwrap_or_else(|fault| panic!("{fault}"));
            run(&mut Command::new(&binary)).unwrap_or_else(|fault| panic!("{fault}"));
        }
    }
}
