//! What C and C++ share: constants, types and prototypes, and the smaller headers.

use super::{shared_names, wrap};
use crate::{
    constants::{CONSTANTS, Constant, KINDS},
    handles::{HANDLES, HandleValue, OPAQUE, STRUCTURES, SUPPORT},
    model::{Routine, Status, join},
};

const NOTICE: &str = "Written by `cargo xtask headers` from the table in capi/table. Do not edit.";

/// How wide a line may be.
const WIDTH: usize = 110;

/// `shmem.h` up to the generic forms.
pub(super) fn head() -> String {
    let mut out = format!(
        "/* shmem.h: OpenSHMEM 1.6 for C99, C11 and later, and C++11 and later.\n * {NOTICE}\n *\n\
         {}",
        " * Macros that a program may define before it includes this header:\n\
         \x20*   SHMEM_WARN_DEPRECATED  the compiler warns where a deprecated routine is used\n\
         \x20*   SHMEM_NO_GENERICS      leaves the generic forms out: C11 macros, C++ overloads\n */\n\
         #ifndef SHMEM_H\n#define SHMEM_H\n\n#include <stddef.h>\n#include <stdint.h>\n\n"
    );
    out += "/* Constants: section 6. */\n";
    out += &constants(CONSTANTS);
    out += SPEC_VERSION;
    out += ATTRIBUTES;
    out += "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n/* Types: sections 7, 9.4.3, 9.9.1. */\n";
    for opaque in OPAQUE {
        out += &format!(
            "typedef {}; /* {} */\n",
            join(&format!("{} *", opaque.target), opaque.name),
            opaque.text
        );
    }
    for structure in STRUCTURES {
        out += &format!(
            "typedef struct {{\n    {}; /* {} */\n}} {};\n",
            structure.member, structure.text, structure.name
        );
    }
    out += COMPLEX;
    out += &handles();
    for support in SUPPORT {
        out += &format!("{}; /* {} */\n", support.prototype, support.text);
    }
    out += &routines(|routine| routine.form.status != Status::Kinds, declaration);
    out + "\n#ifdef __cplusplus\n} /* extern \"C\" */\n#endif\n"
}

/// The end of `shmem.h`.
pub(super) fn foot() -> &'static str {
    "\n#endif /* SHMEM_H */\n"
}

/// `shmemx.h`.
pub(super) fn shmemx() -> String {
    let body = routines(|routine| routine.form.status == Status::Kinds, declaration);
    format!(
        "/* shmemx.h: extensions to OpenSHMEM: the memory-kinds proposal.\n * {NOTICE}\n */\n\
         #ifndef SHMEMX_H\n#define SHMEMX_H\n\n#include \"shmem.h\"\n\n{}\n\
         #ifdef __cplusplus\nextern \"C\" {{\n#endif\n{body}\n\
         #ifdef __cplusplus\n}} /* extern \"C\" */\n#endif\n\n#endif /* SHMEMX_H */\n",
        constants(KINDS)
    )
}

/// `pshmem.h`: the twin of every routine.
pub(super) fn pshmem() -> String {
    let twin = |routine: &Routine| {
        let twin = Routine { name: routine.profiling_name().unwrap_or_default(), ..routine.clone() };
        let noreturn = if routine.is_noreturn() { "SHMEM_IMPL_NORETURN " } else { "" };
        format!("{noreturn}SHMEM_IMPL_NOPLT {}", prototype(&twin))
    };
    let body = routines(|routine| routine.profiling_name().is_some(), twin);
    format!(
        "/* pshmem.h: the profiling interface of OpenSHMEM, section 10. A tool that defines a routine\n \
         * calls its twin.\n * {NOTICE}\n *\n{}\
         #ifndef PSHMEM_H\n#define PSHMEM_H\n\n\
         #ifndef SHMEM_H\n#define SHMEM_IMPL_TOOL 1\n#endif\n#include \"shmem.h\"\n\n\
         #ifdef __cplusplus\nextern \"C\" {{\n#endif\n{body}\n\
         #ifdef __cplusplus\n}} /* extern \"C\" */\n#endif\n\n#endif /* PSHMEM_H */\n",
        format_args!(
            " * In C11 some routines share their name with a generic form, a macro:\n * {}.\n \
             * So that a tool can define them, these macros are left out where this header comes first. Where\n \
             * shmem.h comes before it they stay, and a definition puts the name in parentheses.\n */\n",
            shared_names().join(", ")
        )
    )
}

/// A header in `mpp/`.
pub(super) fn forward(name: &str) -> String {
    format!(
        "/* mpp/{name}: where SGI SHMEM had it; deprecated since OpenSHMEM 1.1.\n * {NOTICE}\n */\n#include \"../{name}\"\n"
    )
}

const ATTRIBUTES: &str = "
/* Attributes. A deprecated routine that a generic form stands for, beside others that are not deprecated, is marked
 * where that does not mark the generic form. */
#if defined(__cplusplus) && __cplusplus >= 201103L
#define SHMEM_IMPL_NORETURN [[noreturn]]
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L && __STDC_VERSION__ <= 201710L
#define SHMEM_IMPL_NORETURN _Noreturn
#elif defined(__GNUC__)
#define SHMEM_IMPL_NORETURN __attribute__((__noreturn__))
#else
#define SHMEM_IMPL_NORETURN
#endif
/* A call goes where the table of addresses says, without the jump between that would find a routine at its first call.
 * Compilers with the front end of EDG, nvcc's among them, preprocess as GCC, and may not know the attribute. */
#if defined(__has_attribute) && defined(__GNUC__) && !defined(__EDG__) && !defined(__CUDACC__)
#if __has_attribute(__noplt__)
#define SHMEM_IMPL_NOPLT __attribute__((__noplt__))
#endif
#endif
#ifndef SHMEM_IMPL_NOPLT
#define SHMEM_IMPL_NOPLT
#endif
#if defined(SHMEM_WARN_DEPRECATED) && defined(__GNUC__)
#define SHMEM_IMPL_DEPRECATED(instead) __attribute__((__deprecated__(\"use \" instead)))
#else
#define SHMEM_IMPL_DEPRECATED(instead)
#endif
#if defined(__cplusplus)
#define SHMEM_IMPL_DEPRECATED_IN_C(instead)
#define SHMEM_IMPL_DEPRECATED_IN_GENERIC(instead) SHMEM_IMPL_DEPRECATED(instead)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define SHMEM_IMPL_DEPRECATED_IN_C(instead)
#define SHMEM_IMPL_DEPRECATED_IN_GENERIC(instead)
#else
#define SHMEM_IMPL_DEPRECATED_IN_C(instead) SHMEM_IMPL_DEPRECATED(instead)
#define SHMEM_IMPL_DEPRECATED_IN_GENERIC(instead) SHMEM_IMPL_DEPRECATED(instead)
#endif

";

/// Not of the specification: programs written beside Open MPI, its examples among them, ask for it before all else.
const SPEC_VERSION: &str = "
/* The version of the specification in one number, by the name that Open MPI gave it: programs ask for it. */
#ifndef OSHMEM_SPEC_VERSION
#define OSHMEM_SPEC_VERSION (SHMEM_MAJOR_VERSION * 10000 + SHMEM_MINOR_VERSION * 100)
#endif
";

const COMPLEX: &str = "
/* The complex types of C, which C++ compilers know as an extension. A std::complex<T> has the same layout: overloads
 * below take it. */
#ifdef __GNUC__
__extension__ typedef double _Complex shmem_impl_complexd_t;
__extension__ typedef float _Complex shmem_impl_complexf_t;
#else
typedef double _Complex shmem_impl_complexd_t;
typedef float _Complex shmem_impl_complexf_t;
#endif
";

/// Definitions, those of deprecated names with the current ones.
fn constants(table: &[Constant]) -> String {
    let mut out = String::new();
    for constant in table {
        let deprecated =
            constant.deprecated.map_or(String::new(), |since| format!("; deprecated since {since}"));
        out += &format!("#define {} {} /* {}{deprecated} */\n", constant.name, constant.value, constant.text);
    }
    if table.iter().any(|constant| constant.underscored) {
        out += "\n/* Their names before OpenSHMEM 1.3. */\n";
        for constant in table.iter().filter(|constant| constant.underscored) {
            out += &format!("#define _{0} {0}\n", constant.name);
        }
    }
    out
}

fn handles() -> String {
    let mut out = "
/* Predefined handles: small numbers, which are the address of nothing, so that a static variable can start with
 * one and comparing is cheap. An invalid handle is null. Spaces are known only once the library is initialized:
 * theirs, and those of their teams, are asked for, and are no constants. */
#if defined(__cplusplus) && __cplusplus >= 201103L
#define SHMEM_IMPL_HANDLE(type, number) (reinterpret_cast<type>(static_cast<uintptr_t>(number)))
#define SHMEM_IMPL_NO_HANDLE(type) (static_cast<type>(nullptr))
#else
#define SHMEM_IMPL_HANDLE(type, number) ((type)(uintptr_t)(number))
#define SHMEM_IMPL_NO_HANDLE(type) ((type)0)
#endif
"
    .to_owned();
    for handle in HANDLES {
        let value = match handle.value {
            HandleValue::Number(crate::handles::INVALID) => format!("SHMEM_IMPL_NO_HANDLE({})", handle.of),
            HandleValue::Number(number) => format!("SHMEM_IMPL_HANDLE({}, {number})", handle.of),
            HandleValue::Asked(function, which) => format!("({function}({which}))"),
        };
        out += &format!("#define {} {value} /* {} */\n", handle.name, handle.text);
    }
    out
}

/// Prototypes under a heading for each group.
fn routines(wanted: impl Fn(&Routine) -> bool, declare: impl Fn(&Routine) -> String) -> String {
    let mut out = String::new();
    for group in crate::groups() {
        let mut heading = Some(format!("\n/* {}: {} ({}). */\n", group.name, group.brief, group.section));
        for routine in group.routines().filter(&wanted) {
            out += &heading.take().unwrap_or_default();
            out += &wrap(&format!("{};", declare(&routine)), WIDTH, "    ");
            out.push('\n');
        }
    }
    out
}

/// A prototype, with the complex types under the names that suit C++ as well.
fn prototype(routine: &Routine) -> String {
    let text = routine.prototype();
    text.replace("double _Complex", "shmem_impl_complexd_t")
        .replace("float _Complex", "shmem_impl_complexf_t")
}

/// A prototype with its attributes.
fn declaration(routine: &Routine) -> String {
    let mut attributes = String::new();
    if let Status::Deprecated { instead, .. } = routine.form.status {
        let name = match (routine.name.as_str(), routine.form.generic) {
            // The overload for long in C++, and one of the choices of the macro in C11.
            ("shmem_wait_until", _) => "SHMEM_IMPL_DEPRECATED_IN_C",
            ("shmem_sync", _) | (_, Some("shmem_wait_until" | "shmem_test")) => {
                "SHMEM_IMPL_DEPRECATED_IN_GENERIC"
            }
            _ => "SHMEM_IMPL_DEPRECATED",
        };
        attributes = format!("{name}(\"{instead}\") ");
    }
    if routine.is_noreturn() {
        attributes += "SHMEM_IMPL_NORETURN ";
    }
    attributes + "SHMEM_IMPL_NOPLT " + &prototype(routine)
}
