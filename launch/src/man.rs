//! Man pages of the tools, made from the tables that the tools themselves read their options by.

use std::fmt::Write;

use clap::{Arg, Command, CommandFactory};

use crate::{
    oshcc::{Language, showme},
    oshrun,
    shmem_info::InfoOptions,
};

/// Every page: its file name, such as `oshrun.1`, and its text.
///
/// ```
/// let pages = oxshmem_launch::man::pages();
/// assert!(pages.iter().any(|(name, text)| name == "oshrun.1" && text.contains("tag\\-output")));
/// ```
pub fn pages() -> Vec<(String, String)> {
    vec![
        ("oshrun.1".into(), of_command(oshrun::command(), &["oshcc", "oshtop", "shmem-info"])),
        ("shmem-info.1".into(), of_command(InfoOptions::command(), &["oshrun", "oshtop"])),
        #[cfg(feature = "oshtop")]
        ("oshtop.1".into(), of_command(crate::oshtop::command(), &["oshrun", "shmem-info"])),
        ("oshcc.1".into(), of_compilers()),
        ("oshc++.1".into(), ".so man1/oshcc.1\n".into()),
    ]
}

fn of_command(command: Command, see: &[&str]) -> String {
    let mut command = command.disable_help_flag(true).disable_version_flag(true);
    command.build();
    let name = command.get_name().to_owned();
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let mut brief = about.trim_end_matches('.').to_owned();
    if let Some(first) = brief.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    let mut out = head(&name, &brief);
    let _ = writeln!(out, ".SH SYNOPSIS\n.B {}\n[\\fIOPTION\\fR]...", escape(&name));
    for operand in command.get_positionals() {
        let _ = writeln!(out, "\\fI{}\\fR...", escape(&values(operand)));
    }
    let _ = writeln!(out, ".SH DESCRIPTION\n{}.", sentences(about.trim_end_matches('.')));
    let _ = writeln!(out, ".SH OPTIONS");
    for arg in command.get_arguments() {
        option(&mut out, arg);
    }
    let _ =
        writeln!(out, ".TP\n\\fB\\-\\-help\\fR, \\fB\\-\\-version\\fR\nPrints the options, or the version.");
    if let Some(more) = command.get_after_help() {
        let _ = writeln!(out, ".SH NOTES\n{}", sentences(&more.to_string()));
    }
    see_also(&mut out, see);
    out
}

fn option(out: &mut String, arg: &Arg) {
    let short = arg.get_short().map(|short| format!("\\-{}", escape(&short.to_string())));
    let long = arg.get_long().map(|long| format!("\\-\\-{}", escape(long)));
    let names: Vec<_> = short.into_iter().chain(long).map(|name| format!("\\fB{name}\\fR")).collect();
    let mut names = names.join(", ");
    if arg.is_positional() {
        names = format!("\\fI{}\\fR", escape(&values(arg)));
    } else if arg.get_action().takes_values() {
        let _ = write!(names, " \\fI{}\\fR", escape(&values(arg)));
    }
    let mut help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    if !help.ends_with('.') {
        help.push('.');
    }
    let _ = writeln!(out, ".TP\n{names}\n{}", sentences(&help));
    if !arg.get_action().takes_values() {
        return;
    }
    let default = arg.get_default_values().iter().map(|value| value.to_string_lossy());
    for value in arg.get_possible_values() {
        let help = value.get_help().map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(out, ".IP\n\\fB{}\\fR: {}.", escape(value.get_name()), escape(&help));
    }
    for value in default {
        let _ = writeln!(out, ".IP\nThe default is {}.", escape(&value));
    }
}

fn values(arg: &Arg) -> String {
    arg.get_value_names().unwrap_or_default().iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

fn of_compilers() -> String {
    let (c, cxx) = (Language::C, Language::Cxx);
    let mut out = head("oshcc, oshc++", "compile and link OpenSHMEM programs in C and C++");
    let _ = writeln!(out, ".SH SYNOPSIS");
    let line = |language: Language| format!(".B {}\n[\\fIOPTION\\fR]... \\fIFILE\\fR...", language.program());
    let _ = writeln!(out, "{}\n.br\n{}", line(c), line(cxx));
    let _ = writeln!(
        out,
        ".SH DESCRIPTION\nThey run the system\\(cqs compilers, with options before and behind those they are given \
         that lead to\nthe headers and libraries of oxshmem.\nEverything else passes unchanged and in order.\n\
         Libraries are added only where the compiler links.\nA program finds libshmem.so where it was when it \
         was linked.\n.PP\nThe headers and libraries are looked for around these programs, which may be moved \
         together."
    );
    let _ = writeln!(out, ".SH OPTIONS");
    let questions = showme::QUESTIONS.iter().map(|&(name, _, what)| (name, what));
    for (name, what) in showme::OPTIONS.into_iter().chain(questions) {
        let _ = writeln!(out, ".TP\n.B {}\n{}.", escape(name), escape(what));
    }
    let _ = writeln!(out, ".SH ENVIRONMENT");
    for language in [c, cxx] {
        let (variable, program) = (language.variable(), language.program());
        let _ = writeln!(
            out,
            ".TP\n.B {variable}\nThe compiler that {program} runs, with options that come first, such as\n\
             .BR \"ccache gcc\" ."
        );
    }
    let _ = writeln!(
        out,
        ".SH EXIT STATUS\nThe compiler\\(cqs; 1 if the compiler, the headers or the library are missing."
    );
    let _ = writeln!(
        out,
        ".SH EXAMPLES\n.nf\noshcc \\-O2 \\-o hello hello.c\noshrun \\-np 4 \\-\\- ./hello\n.fi"
    );
    see_also(&mut out, &["oshrun", "shmem-info"]);
    out
}

fn head(names: &str, brief: &str) -> String {
    let title = names.split(',').next().unwrap_or(names).to_uppercase();
    // Without a date, so that the page is the same whenever it is made.
    let version = env!("CARGO_PKG_VERSION");
    format!(
        ".TH {} 1 \"\" \"oxshmem {version}\" \"oxshmem\"\n.SH NAME\n{} \\- {}\n",
        escape(&title),
        escape(names),
        escape(brief)
    )
}

fn see_also(out: &mut String, pages: &[&str]) {
    let pages: Vec<_> = pages.iter().map(|page| format!(".BR {} (1)", escape(page))).collect();
    let _ = writeln!(out, ".SH SEE ALSO\n{},\n.BR shmem_init (3)", pages.join(" ,\n"));
}

/// Prose, a sentence a line, as roff likes it.
fn sentences(text: &str) -> String {
    escape(text).replace(". ", ".\n")
}

/// Text that roff takes as it is.
fn escape(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_of_a_tool_is_on_its_page() {
        let pages = pages();
        for (name, command) in [
            ("oshrun.1", oshrun::command()),
            ("shmem-info.1", InfoOptions::command()),
            #[cfg(feature = "oshtop")]
            ("oshtop.1", crate::oshtop::command()),
        ] {
            let page = &pages.iter().find(|(file, _)| file == name).expect("a page").1;
            for long in command.get_arguments().filter_map(Arg::get_long) {
                assert!(page.contains(&format!("\\-\\-{}", escape(long))), "{name}: --{long}");
            }
        }
        let page = &pages.iter().find(|(file, _)| file == "oshcc.1").expect("a page").1;
        for (question, ..) in showme::QUESTIONS {
            assert!(page.contains(&format!(".B {}\n", escape(question))), "{question}");
        }
    }
}
