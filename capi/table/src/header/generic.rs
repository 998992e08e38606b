//! The generic forms in C11: macros that choose a routine by the type of an argument.
//!
//! `_Generic` looks at the first argument. If that is a context, it looks at the second, and
//! chooses among the `ctx` routines. Where there is no context this inner choice is not taken, but
//! has to be valid, hence its `default`.

use super::{Generic, generics};

/// The part of `shmem.h` for C11.
pub(super) fn c11() -> String {
    let mut out = HEAD.to_owned();
    for generic in generics() {
        if generic.name == "shmem_wait_until" {
            // It shares its name with a function that a tool may define.
            out += &format!("#ifndef SHMEM_IMPL_TOOL\n{}#endif\n", define(&generic));
        } else {
            out += &define(&generic);
        }
    }
    out + HANDLES + "\n#endif /* C11 */\n"
}

const HEAD: &str = "
#if !defined(__cplusplus) && defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L && !defined(SHMEM_NO_GENERICS)
/* The generic forms: an argument's type chooses the routine, with a context before it or without. size_t,
 * ptrdiff_t and the exact-width integers are chosen as the standard types that they are. */
#define SHMEM_IMPL_FIRST(first, ...) first
#define SHMEM_IMPL_SECOND(first, second, ...) second
/* What is called, and takes no argument, where no routine is for the type. */
void shmem_impl_no_routine_for_this_type(void);

";

/// Those that choose by the handle in front.
const HANDLES: &str = "
#ifndef SHMEM_IMPL_TOOL
#define shmem_sync(...) \\
    _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), shmem_team_t: shmem_team_sync, default: shmem_sync)(__VA_ARGS__)
#define shmem_signal_add(...) \\
    _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \\
        shmem_ctx_t: shmem_ctx_signal_add, default: shmem_signal_add)(__VA_ARGS__)
#define shmem_signal_set(...) \\
    _Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \\
        shmem_ctx_t: shmem_ctx_signal_set, default: shmem_signal_set)(__VA_ARGS__)
#endif
";

fn define(generic: &Generic) -> String {
    let plain = associations(generic, false);
    let choice = if generic.choices.iter().all(|choice| choice.with_ctx.is_some()) {
        format!(
            "_Generic(SHMEM_IMPL_FIRST(__VA_ARGS__, 0), \\\n    shmem_ctx_t: \
             _Generic(SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0), \\\n        {}, \\\n        \
             default: shmem_impl_no_routine_for_this_type), \\\n    {}",
            associations(generic, true).join(", \\\n        "),
            plain.join(", \\\n    ")
        )
    } else {
        let argument = ["SHMEM_IMPL_FIRST(__VA_ARGS__, 0)", "SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0)"];
        format!("_Generic({}, \\\n    {}", argument[generic.position()], plain.join(", \\\n    "))
    };
    format!("#define {}(...) {choice})(__VA_ARGS__)\n", generic.name)
}

/// What is taken for each type.
fn associations(generic: &Generic, ctx: bool) -> Vec<String> {
    let mut out = Vec::new();
    for choice in &generic.choices {
        let Some(routine) = (if ctx { choice.with_ctx.as_ref() } else { Some(&choice.routine) }) else {
            continue;
        };
        let (element, name) = (choice.element.c, &routine.name);
        out.push(format!("{element} *: {name}"));
        if generic.takes_const() {
            out.push(format!("const {element} *: {name}"));
        }
    }
    out
}
