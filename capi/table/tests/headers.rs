//! The headers compile alone, in every language and with every compiler, and can be used as
//! programs use them.

mod support;

use std::{fs, path::Path};

use support::{Language, compile, folder};

const C: [&str; 4] = ["c99", "c11", "c17", "gnu17"];
/// Those with generic forms.
const C11: [&str; 3] = ["c11", "c17", "gnu17"];
const CXX: [&str; 4] = ["c++11", "c++14", "c++17", "c++20"];

/// Checks a source in all standards of its language, with all compilers.
fn check(test: &str, language: Language, standards: &[&str], source: &str, arguments: &[&str]) {
    let file = folder(test).join(format!("{test}.{}", language.extension()));
    fs::write(&file, source).unwrap();
    let arguments = [&["-fsyntax-only"], arguments].concat();
    for compiler in language.compilers() {
        for standard in standards {
            compile(compiler, standard, &file, &arguments).unwrap_or_else(|fault| panic!("{fault}"));
        }
    }
}

#[test]
fn each_header_compiles_alone() {
    for header in ["shmem.h", "shmemx.h", "pshmem.h", "mpp/shmem.h", "mpp/shmemx.h"] {
        let test = format!("alone-{}", header.replace('/', "-"));
        let source = format!("#include <{header}>\nint nothing;\n");
        check(&test, Language::C, &C, &source, &[]);
        check(&test, Language::Cxx, &CXX, &source, &[]);
    }
}

#[test]
fn all_headers_compile_together_in_any_order_and_twice() {
    let source = "#include <pshmem.h>\n#include <mpp/shmemx.h>\n#include <shmem.h>\n#include <shmemx.h>\n\
                  #include <pshmem.h>\n#include <mpp/shmem.h>\nint nothing;\n";
    check("together", Language::C, &C, source, &[]);
    check("together", Language::Cxx, &CXX, source, &[]);
}

#[test]
fn the_handle_of_kernels_is_the_same_on_the_host_and_on_the_device() {
    let functions = include_str!("../../include/shmemx_device.cuh");
    let (_, headers) =
        oxshmem_capi_table::headers().into_iter().find(|(path, _)| *path == "shmemx.h").unwrap();
    let handle = |text: &str| {
        let begin = text.find("#ifndef SHMEMX_DEVICE_T").unwrap();
        let len = text[begin..].find("#endif").unwrap();
        text[begin..][..len].to_owned()
    };
    assert_eq!(handle(functions), handle(&headers));
}

#[test]
fn a_header_may_be_included_within_extern_c() {
    let source = "extern \"C\" {\n#include <shmem.h>\n}\nvoid f(int *x) { shmem_p(x, 1, 0); }\n";
    check("extern-c", Language::Cxx, &CXX, source, &[]);
}

#[test]
fn predefined_handles_initialize_static_variables() {
    let source = include_str!("programs/handles.c");
    check("handles", Language::C, &C, source, &[]);
    check("handles", Language::Cxx, &CXX, source, &["-Wold-style-cast"]);
}

#[test]
fn static_handles_need_no_code_before_main_in_cxx() {
    let folder = folder("before-main");
    let (file, assembly) = (folder.join("before.cpp"), folder.join("before.s"));
    let source = "#include <shmem.h>\nshmem_ctx_t ctx = SHMEM_CTX_DEFAULT;\n\
                  shmem_team_t team[] = {SHMEM_TEAM_WORLD, SHMEM_TEAM_INVALID};\n";
    fs::write(&file, source).unwrap();
    for compiler in Language::Cxx.compilers() {
        let arguments = ["-O0", "-S", "-o", assembly.to_str().unwrap()];
        compile(compiler, "c++11", &file, &arguments).unwrap_or_else(|fault| panic!("{fault}"));
        let found = fs::read_to_string(&assembly).unwrap();
        assert!(!found.contains("_GLOBAL__sub_I") && !found.contains("init_array"), "{compiler}:\n{found}");
    }
}

#[test]
fn constants_are_constant_expressions_of_the_preprocessor_too() {
    let source = include_str!("programs/constants.c");
    check("constants", Language::C, &C, source, &[]);
    check("constants", Language::Cxx, &CXX, source, &[]);
}

#[test]
fn a_tool_defines_any_routine() {
    let source = include_str!("programs/tool.c");
    check("tool", Language::C, &C, source, &[]);
    check("tool", Language::Cxx, &CXX, source, &[]);
}

#[test]
fn a_program_overrides_a_routine_and_keeps_the_generic_forms() {
    let source = include_str!("programs/override.c");
    check("override", Language::C, &C11, source, &[]);
    check("override", Language::Cxx, &CXX, source, &[]);
}

#[test]
fn arguments_are_what_programs_write() {
    let source = include_str!("programs/arguments.c");
    check("arguments", Language::C, &C11, source, &[]);
    check("arguments", Language::Cxx, &CXX, source, &[]);
}

const OLD: &str = include_str!("programs/old.c");

#[test]
fn deprecated_routines_give_no_warning_unless_asked_for() {
    check("old", Language::C, &C, OLD, &[]);
    check("old", Language::Cxx, &CXX, OLD, &[]);
    let file = folder("old-warned").join("old.c");
    fs::write(&file, OLD).unwrap();
    for compiler in Language::C.compilers() {
        let fault = warned(compiler, "c99", &file).expect_err("it warns");
        for name in ["shmalloc", "shmem_long_swap", "shmem_wait_until", "shmem_sync", "use shmem_sum_reduce"]
        {
            assert!(fault.contains(name), "{compiler}: no word of {name} in\n{fault}");
        }
    }
}

#[test]
fn current_routines_give_no_warning_when_that_is_asked_for() {
    for (language, standard) in [(Language::C, "c11"), (Language::Cxx, "c++11")] {
        let file = folder("current").join(format!("current.{}", language.extension()));
        fs::write(&file, include_str!("programs/current.c")).unwrap();
        for compiler in language.compilers() {
            warned(compiler, standard, &file).unwrap_or_else(|fault| panic!("{fault}"));
        }
    }
}

fn warned(compiler: &str, standard: &str, file: &Path) -> Result<(), String> {
    compile(compiler, standard, file, &["-fsyntax-only", "-DSHMEM_WARN_DEPRECATED"])
}

#[test]
fn what_no_routine_is_for_does_not_compile() {
    let calls = [
        "shmem_p(&p, 0, 0)",
        "shmem_p(ctx, &p, 0, 0)",
        "shmem_atomic_inc(&f, 0)",
        "shmem_max_reduce(t, &z, &z, 1)",
    ];
    for (language, standard) in [(Language::C, "c11"), (Language::Cxx, "c++11")] {
        for (i, call) in calls.iter().enumerate() {
            let file = folder("wrong").join(format!("wrong{i}.{}", language.extension()));
            let complex = if language == Language::C { "float _Complex" } else { "bool" };
            let source = format!(
                "#include <shmem.h>\nstatic int *p; static float f; static {complex} z;\n\
                 static shmem_ctx_t ctx; static shmem_team_t t;\nint g(void);\n\
                 int g(void) {{ {call}; return !p + !!f + !ctx + !t + (z == 0); }}\n"
            );
            fs::write(&file, source).unwrap();
            for compiler in language.compilers() {
                assert!(
                    compile(compiler, standard, &file, &["-fsyntax-only"]).is_err(),
                    "{compiler}: {call}"
                );
            }
        }
    }
}

#[test]
fn the_committed_headers_are_those_of_the_table() {
    for (path, text) in oxshmem_capi_table::headers() {
        let found = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../include").join(path));
        assert!(
            found.is_ok_and(|found| found == text),
            "capi/include/{path} is out of date: cargo xtask headers"
        );
    }
}
