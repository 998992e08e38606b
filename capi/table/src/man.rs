//! Man pages: one for each group, in the `man` macros of roff.

use std::fmt::Write;

use crate::{
    arguments::Direction,
    model::{Form, Group, Over, Status},
    types::Type,
};

/// Every page: its file name, such as `shmem_put.3`, and its text.
///
/// ```
/// let pages = oxshmem_capi_table::man_pages();
/// let (_, put) = pages.iter().find(|(name, _)| name == "shmem_put.3").unwrap();
/// assert!(put.contains(".SH COMPLETION\n"));
/// ```
pub fn man_pages() -> Vec<(String, String)> {
    crate::groups().map(|group| (format!("{}.3", group.name), page(group))).collect()
}

/// When the specification that the pages follow came out.
const DATE: &str = "2024-10-11";

fn page(group: &'static Group) -> String {
    let title = group.name.to_uppercase();
    let mut out = format!(".TH {title} 3 {DATE} \"OpenSHMEM 1.6\" \"oxshmem\"\n");
    let _ = writeln!(out, ".SH NAME\n{} \\- {}", escape(group.name), escape(group.brief));
    synopsis(&mut out, group);
    description(&mut out, group);
    section(&mut out, "RETURN VALUE", group.returns);
    section(&mut out, "COMPLETION", group.completion);
    errors(&mut out, group);
    section(&mut out, "STANDARDS", &standard(group));
    let see: Vec<_> = group.see.iter().map(|name| format!(".BR {} (3)", escape(name))).collect();
    let _ = writeln!(out, ".SH SEE ALSO\n{}", see.join(" ,\n"));
    out
}

fn synopsis(out: &mut String, group: &Group) {
    let kinds = group.forms.iter().any(|form| form.status == Status::Kinds);
    let header = if kinds { "shmemx.h" } else { "shmem.h" };
    let _ = writeln!(out, ".SH SYNOPSIS\n.nf\n.B #include <{header}>\n.fi");
    let mut generics: Vec<(&str, &Form)> = Vec::new();
    for form in group.forms {
        // The function that a generic form shares its name with is among the C forms below.
        if let Some(name) = form.generic.filter(|name| *name != form.name || form.ctx)
            && generics.iter().all(|(known, _)| *known != name)
        {
            generics.push((name, form));
        }
    }
    if !generics.is_empty() {
        let _ = writeln!(out, ".PP\nC11 and C++:\n.PP\n.nf");
        for (name, form) in &generics {
            if form.name != *name {
                declaration(out, form, name, false);
            }
            if form.ctx {
                declaration(out, form, name, true);
            }
        }
        let _ = writeln!(out, ".fi\n.PP\nC and C++:");
    }
    for form in group.forms {
        let _ = writeln!(out, ".PP\n.nf");
        declaration(out, form, form.name, false);
        if form.ctx {
            declaration(out, form, &form.ctx_name(), true);
        }
        let _ = writeln!(out, ".fi");
        match form.over {
            Over::Once => {}
            Over::Types(types) => {
                let _ = writeln!(out, ".PP\n.RS 4\n{}\n.RE", escape(&type_list(types)));
            }
            Over::Sizes(sizes) => {
                let sizes: Vec<_> = sizes.iter().map(u32::to_string).collect();
                let _ = writeln!(out, ".PP\n.RS 4\nSIZE is one of {}.\n.RE", sizes.join(", "));
            }
        }
    }
}

fn type_list(types: &[Type]) -> String {
    let names: Vec<_> = types.iter().map(|it| format!("{} ({})", it.name, it.c)).collect();
    format!("TYPENAME, and TYPE in parentheses, is one of {}.", names.join(", "))
}

fn declaration(out: &mut String, form: &Form, name: &str, ctx: bool) {
    let ctx = match (ctx, form.parameters) {
        (false, parameters) => parameters.to_owned(),
        (true, "void") => "shmem_ctx_t ctx".to_owned(),
        (true, parameters) => format!("shmem_ctx_t ctx, {parameters}"),
    };
    let line = format!("{}({ctx});", crate::model::join(form.returns, name));
    let _ = writeln!(
        out,
        ".B {}",
        escape(&crate::header::wrap(&line, 74, "    ")).replace('\n', "\n.B \\ \\ \\ ")
    );
}

fn description(out: &mut String, group: &Group) {
    let mut brief = group.brief.to_owned();
    if let Some(first) = brief.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    let _ = writeln!(out, ".SH DESCRIPTION\n{}.", escape(&brief));
    if !group.text.is_empty() {
        let _ = writeln!(out, ".PP\n{}", sentences(group.text));
    }
    let mut known: Vec<&str> = Vec::new();
    let ctx = group.forms.iter().any(|form| form.ctx).then_some("ctx");
    let own = group.forms.iter().flat_map(|form| crate::model::parse(form.parameters)).map(|it| it.name);
    for name in ctx.into_iter().chain(own) {
        if name.is_empty() || known.contains(&name) {
            continue;
        }
        known.push(name);
        let argument = group.argument(name);
        let way = match argument.direction {
            Direction::In => "in",
            Direction::Out => "out",
        };
        let _ = writeln!(out, ".TP\n.IR {} \\ ({way})\n{}.", escape(name), escape(argument.text));
    }
    for form in group.forms {
        if form.status == Status::Elsewhere
            && let crate::Over::Types(types) = form.over
        {
            let names: Vec<_> = types.iter().map(|it| it.name).collect();
            let _ = writeln!(
                out,
                ".PP\nThe forms for {} are in other libraries too, but in no specification.",
                escape(&names.join(" and "))
            );
        }
        if let Status::Deprecated { since, instead } = form.status {
            let name = escape(form.name);
            let _ = writeln!(
                out,
                ".PP\n.B {name}\nis deprecated since OpenSHMEM {since}: use {}.",
                escape(instead)
            );
        }
    }
}

/// What is undefined in the specification and seen by the library.
fn errors(out: &mut String, group: &Group) {
    let has = |what: fn(&str) -> bool| {
        group.forms.iter().any(|form| crate::model::parse(form.parameters).iter().any(|it| what(it.name)))
    };
    let symmetric = group.forms.iter().flat_map(|form| crate::model::parse(form.parameters));
    let symmetric = symmetric.filter(|it| !it.name.is_empty()).any(|it| group.argument(it.name).symmetric);
    let mut faults = vec!["a call before the library is initialized or after it is finalized"];
    if has(|name| name == "pe") && !["shmem_pe_accessible", "shmem_addr_accessible"].contains(&group.name) {
        faults.push("a PE number out of range");
    }
    if symmetric {
        faults.push("an address that is not symmetric");
    }
    if has(|name| name == "PE_start") {
        faults.push("an active set that this PE is not in");
    }
    if matches!(
        group.name,
        "shmem_init"
            | "shmem_init_thread"
            | "start_pes"
            | "shmem_query_initialized"
            | "shmem_pcontrol"
            | "shmemx_phase"
    ) {
        return;
    }
    let _ = writeln!(
        out,
        ".SH ERRORS\nThe job ends with a line that names routine, PE and argument after {}.",
        faults.join(", ")
    );
}

fn standard(group: &Group) -> String {
    if group.section.starts_with("memory") {
        return format!("The {} proposal for OpenSHMEM.", group.section);
    }
    if !group.section.starts_with(|first: char| first.is_ascii_digit()) {
        return "An extension of OpenSHMEM.".to_owned();
    }
    format!("OpenSHMEM 1.6, section {}.", group.section)
}

fn section(out: &mut String, title: &str, text: &str) {
    let _ = writeln!(out, ".SH {title}\n{}", sentences(text));
}

/// Prose, a sentence a line, as roff likes it.
fn sentences(text: &str) -> String {
    escape(text).replace(". ", ".\n")
}

/// Text that roff takes as it is.
fn escape(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-").lines().map(guard).collect::<Vec<_>>().join("\n")
}

/// A line that begins like a request is none.
fn guard(line: &str) -> String {
    if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line.to_owned() }
}
