//! The map: for each C routine its Rust form, as a page of the book.

use std::fmt::Write;

use crate::model::{Form, Group, Over, Status};

/// The chapters and what they are about.
const CHAPTERS: [(&str, &str); 17] = [
    ("9.1", "Setup, exit and query"),
    ("9.2", "Threads"),
    ("9.3", "Memory"),
    ("9.4", "Teams"),
    ("9.5", "Contexts"),
    ("9.6", "Remote memory access"),
    ("9.7", "Atomics"),
    ("9.8", "Signals"),
    ("9.9", "Sessions"),
    ("9.10", "Collectives"),
    ("9.11", "Waiting"),
    ("9.12", "Ordering"),
    ("9.13", "Locks"),
    ("10", "Profiling"),
    ("memory spaces", "Memory spaces"),
    ("memory space capabilities", "Capabilities of memory spaces, which their proposal leaves open"),
    ("memory kinds", "Memory kinds"),
];

const HEAD: &str = "\
# From C to Rust

<!-- Written by `cargo xtask headers` from the table in capi/table. Do not edit. -->

What each routine of the C API is in Rust, when it is complete, and where the specification describes it. `TYPENAME`
stands for the name of each type that the specification lists for the routine, `SIZE` for 8, 16, 32, 64 and 128, and
`[ctx_]` for a form with a context and one without. A Rust operation starts when it is called; its future is ready when
what the C routine waits for has happened. An active set is a team in Rust, made by `Team::split_strided`.

";

/// The page.
///
/// ```
/// let page = oxshmem_capi_table::map_page();
/// assert!(page.lines().any(|line| line.contains("shmem_[ctx_]TYPENAME_g") && line.contains("`Context::g`")));
/// ```
pub fn map_page() -> String {
    let mut out = HEAD.to_owned();
    for (chapter, title) in CHAPTERS {
        let heading =
            if chapter.starts_with('m') { title.to_owned() } else { format!("{title} (§{chapter})") };
        let _ = writeln!(out, "## {heading}\n\n| C | Rust | completion | section |\n|---|---|---|---|");
        for group in crate::groups().filter(|group| group.chapter() == chapter) {
            let section = if chapter.starts_with('m') { "proposal" } else { group.section };
            let _ =
                writeln!(out, "| {} | {} | {} | {section} |", symbols(group), rust(group), group.completion);
        }
        out.push('\n');
    }
    out.truncate(out.trim_end().len());
    out + "\n"
}

/// The group that needs no Rust form: it does nothing.
const NO_GAP: &str = "shmem_pcontrol";

/// The groups without a Rust form that should have one.
///
/// ```
/// assert!(oxshmem_capi_table::map::gaps().all(|group| group.name != "shmem_put"));
/// ```
pub fn gaps() -> impl Iterator<Item = &'static Group> {
    crate::groups().filter(|group| group.rust.is_none() && group.name != NO_GAP)
}

/// What stands for a group's Rust form.
fn rust(group: &Group) -> String {
    match group.rust {
        Some(rust) => format!("`{}`", rust.replace(" with ", "` with `").replace(", then ", "`, then `")),
        None if group.name == NO_GAP => "none needed".into(),
        None => "none yet".into(),
    }
}

/// The names of a group's routines, with a short list where they are few.
fn symbols(group: &Group) -> String {
    let spell = |form: &Form| {
        let name =
            if form.ctx { form.name.replacen("shmem_", "shmem_[ctx_]", 1) } else { form.name.to_owned() };
        let name = match form.over {
            Over::Types([only]) => name.replace("TYPENAME", only.name),
            Over::Types([one, two]) => name.replace("TYPENAME", &format!("{{{},{}}}", one.name, two.name)),
            Over::Sizes([one, two]) => name.replace("SIZE", &format!("{{{one},{two}}}")),
            _ => name,
        };
        let remark = match form.status {
            Status::Deprecated { .. } => " (deprecated)",
            Status::Elsewhere => " (in other libraries)",
            Status::Current | Status::Spaces | Status::Kinds => "",
        };
        format!("`{name}`{remark}")
    };
    group.forms.iter().map(spell).collect::<Vec<_>>().join("<br>")
}
