//! The generic forms in C++: overloads of inline functions.
//!
//! Overloads that differ in the type of element only are one macro, applied to a list of types.
//! Forms for the complex types of C++ are templates, so that `<complex>`, which takes long to read,
//! need not be included.

use super::{Choice, Generic, generics, wrap};
use crate::model::{Routine, Status, join, parse};

/// The part of `shmem.h` for C++.
pub(super) fn overloads() -> String {
    let (mut lists, mut body) = (Lists::default(), String::new());
    for generic in generics() {
        body += &overload(&generic, &mut lists);
    }
    let mut out = HEAD.to_owned();
    for (types, name) in &lists.0 {
        let types = wrap(types, 100, "").replace('\n', " \\\n    ").replace(FIXED, " ");
        out += &format!("#define {name}(X) \\\n    {types}\n");
    }
    out += "\n";
    out += &body;
    for (_, name) in &lists.0 {
        out += &format!("#undef {name}\n");
    }
    out + HANDLES + &complex() + FOOT
}

const HEAD: &str = "
#if defined(__cplusplus) && __cplusplus >= 201103L && !defined(SHMEM_NO_GENERICS)
/* The generic forms: an overload for each type of element, with a context and without. size_t, ptrdiff_t and the
 * exact-width integers are taken as the standard types that they are. */
extern \"C++\" {
#if defined(SHMEM_WARN_DEPRECATED) && defined(__GNUC__)
/* Overloads of deprecated routines, which are marked themselves, call these. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored \"-Wdeprecated-declarations\"
#endif

";

const FOOT: &str = "
#if defined(SHMEM_WARN_DEPRECATED) && defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
} /* extern \"C++\" */
#endif /* C++11 */
";

/// Those that choose by the handle in front. The others of the same name are C functions.
const HANDLES: &str = "
inline int shmem_sync(shmem_team_t team) { return shmem_team_sync(team); }
inline void shmem_signal_add(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe) {
    shmem_ctx_signal_add(ctx, sig_addr, signal, pe);
}
inline void shmem_signal_set(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe) {
    shmem_ctx_signal_set(ctx, sig_addr, signal, pe);
}
";

/// What stands for a space where a line must not end.
const FIXED: &str = "~";

/// The lists of types, each with the name of its macro.
#[derive(Default)]
struct Lists(Vec<(String, String)>);

impl Lists {
    /// The macro that applies another to these types.
    fn name(&mut self, choices: &[&Choice]) -> String {
        let one = |it: &&Choice| format!("X({}, {})", it.element.c, it.element.name).replace(' ', FIXED);
        let types = choices.iter().map(one).collect::<Vec<_>>().join(" ");
        if let Some((_, name)) = self.0.iter().find(|(known, _)| *known == types) {
            return name.clone();
        }
        let name = format!("SHMEM_IMPL_TYPES_{}", self.0.len() + 1);
        self.0.push((types, name.clone()));
        name
    }
}

/// All overloads of a generic form, but those for complex types.
fn overload(generic: &Generic, lists: &mut Lists) -> String {
    let mut out = String::new();
    for form in &generic.forms {
        let choices = generic.choices.iter().filter(|it| !it.element.is_complex());
        // The C function of this name is the overload for long.
        let choices = choices.filter(|it| !(generic.name == "shmem_wait_until" && it.element.name == "long"));
        let (own, further): (Vec<_>, Vec<_>) = choices.partition(|it| std::ptr::eq(it.routine.form, *form));
        let deprecated = match form.status {
            Status::Deprecated { instead, .. } => format!("SHMEM_IMPL_DEPRECATED(\"{instead}\") "),
            _ => String::new(),
        };
        let define = |ctx: &str, target: &str| {
            let parameters = format!("{ctx}{}", form.parameters);
            let arguments: Vec<_> = parameters.split(", ").map(argument).collect();
            format!(
                "    {deprecated}inline {}({}) {{ {}{}({}); }}",
                join(form.returns, generic.name).replace("TYPE", "T"),
                parameters.replace("TYPE", "T"),
                if form.returns == "void" { "" } else { "return " },
                target.replace("TYPENAME", "##N##"),
                arguments.join(", ")
            )
        };
        let mut apply = |choices: &[&Choice], lines: &[String]| {
            let name = lists.name(choices);
            out += &format!("#define SHMEM_IMPL_OVERLOAD(T, N) \\\n{}\n", lines.join(" \\\n"));
            out += &format!("{name}(SHMEM_IMPL_OVERLOAD)\n#undef SHMEM_IMPL_OVERLOAD\n");
        };
        let mut lines = vec![define("", form.name)];
        if form.ctx {
            lines.push(define("shmem_ctx_t ctx, ", &form.ctx_name()));
        }
        apply(&own, &lines);
        if let Some((_, instead)) = form.also {
            apply(&further, &[define("", instead)]);
        }
    }
    out
}

/// The name that a parameter declares.
fn argument(parameter: &str) -> &str {
    parameter.rsplit([' ', '*']).next().unwrap_or(parameter)
}

/// Overloads for complex types: those of C under the generic names, std::complex under all.
fn complex() -> String {
    let mut out = "
/* For std::complex: a template with a real() that has the layout of two of its parts. */
template <class Complex, class Part, class Result, bool fits = sizeof(Complex) == 2 * sizeof(Part),
          class = decltype(static_cast<const Complex *>(nullptr)->real())>
struct shmem_impl_complex;
template <class Complex, class Part, class Result, class Real> struct shmem_impl_complex<Complex, Part, Result, true, Real> {
    typedef Result result;
};
"
    .to_owned();
    for generic in generics() {
        for choice in generic.choices.iter().filter(|choice| choice.element.is_complex()) {
            let c = format!("shmem_impl_{}_t", choice.element.name);
            out += &forward(generic.name, &choice.routine, &c);
            out += &template(generic.name, &choice.routine, &c);
        }
    }
    out + &complex_routines(|status| status != Status::Kinds)
}

/// The part of `shmemx.h` for C++: overloads of its own routines for std::complex.
pub(super) fn complex_extensions() -> String {
    let condition = "defined(__cplusplus) && __cplusplus >= 201103L && !defined(SHMEM_NO_GENERICS)";
    let body = complex_routines(|status| status == Status::Kinds);
    format!("\n#if {condition}\n/* For std::complex. */\n{body}#endif\n")
}

/// Overloads of the routines of some status for std::complex.
fn complex_routines(wanted: impl Fn(Status) -> bool) -> String {
    let mut out = String::new();
    let wanted =
        |routine: &Routine| routine.element.is_some_and(|it| it.is_complex()) && wanted(routine.form.status);
    for routine in crate::routines().filter(wanted) {
        let c = format!("shmem_impl_{}_t", routine.element.map_or("", |element| element.name));
        out += &template(&routine.name, &routine, &c);
    }
    out
}

/// An overload with C's complex type.
fn forward(name: &str, routine: &Routine, c: &str) -> String {
    let parameters = routine.form.parameters.replace("TYPE", c);
    let arguments: Vec<_> = parse(routine.form.parameters).iter().map(|it| it.name).collect();
    format!(
        "inline int {name}({parameters}) {{\n    return {}({});\n}}\n",
        routine.name,
        arguments.join(", ")
    )
}

/// An overload with C++'s.
fn template(name: &str, routine: &Routine, c: &str) -> String {
    let part = if c.contains("complexd") { "double" } else { "float" };
    let parameters = routine.form.parameters.replace("TYPE", &format!("Complex<{part}>"));
    let arguments: Vec<_> = parse(routine.form.parameters)
        .iter()
        .map(|it| match it.c.contains("TYPE") {
            true => format!("reinterpret_cast<{}>({})", it.c.replace("TYPE", c).replace(' ', FIXED), it.name),
            false => it.name.to_owned(),
        })
        .collect();
    let deprecated = match routine.form.status {
        Status::Deprecated { instead, .. } => format!("SHMEM_IMPL_DEPRECATED(\"{instead}\") "),
        _ => String::new(),
    };
    let parameters = wrap(&parameters, 104, "    ");
    let call =
        wrap(&format!("{}({});", routine.name, arguments.join(", ")), 104, "        ").replace(FIXED, " ");
    format!(
        "template <template <class> class Complex>\n{deprecated}inline typename shmem_impl_complex<Complex<{part}>, {part}, \
         {}>::result\n{name}({parameters}) {{\n    {}{call}\n}}\n",
        routine.returns,
        if routine.returns == "void" { "" } else { "return " },
    )
}
