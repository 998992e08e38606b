//! Questions to `oshcc`, as Open MPI's wrappers answer them: what would be run, and what would be
//! added.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
};

use oxshmem_base::version::version_line;

use super::Language;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// The whole command
    Everything,
    /// The options that compiling takes
    Compile,
    /// The options that linking takes
    Link,
    /// The compiler
    Command,
    /// The folders with headers
    IncludeFolders,
    /// The folders with libraries
    LibraryFolders,
    /// The libraries
    Libraries,
    /// The version of oxshmem
    Version,
    /// This list
    Help,
}

/// Every question with how it is asked and what the answer is.
pub const QUESTIONS: [(&str, Question, &str); 9] = [
    ("--showme", Question::Everything, "The whole command that would be run; -show is the same"),
    ("--showme:compile", Question::Compile, "The options added for compiling"),
    ("--showme:link", Question::Link, "The options added for linking"),
    ("--showme:command", Question::Command, "The compiler"),
    ("--showme:incdirs", Question::IncludeFolders, "The folder with the headers"),
    ("--showme:libdirs", Question::LibraryFolders, "The folder with the libraries"),
    ("--showme:libs", Question::Libraries, "The name of the library"),
    ("--showme:version", Question::Version, "The version of oxshmem"),
    ("--showme:help", Question::Help, "This list"),
];

/// Options that are ours, beside the questions, with what they do.
pub const OPTIONS: [(&str, &str); 2] = [
    (super::line::STATIC_LIBSHMEM, "Links with libshmem.a, so that the program needs no libshmem.so to run"),
    ("-static", "Links with libshmem.a, and is passed on: the compiler links with every library statically"),
];

/// Takes the question out of the arguments. It may begin with one dash or two, and `-show`, as the
/// wrappers of MPICH have it, is `--showme`.
pub(super) fn take(args: Vec<OsString>) -> Result<(Option<Question>, Vec<OsString>), String> {
    let asks = |arg: &OsString| {
        let bytes = arg.as_bytes();
        let bytes = if bytes.starts_with(b"--") { &bytes[1..] } else { bytes };
        bytes == b"-show" || bytes == b"-showme" || bytes.starts_with(b"-showme:")
    };
    let (questions, args): (Vec<_>, Vec<_>) = args.into_iter().partition(asks);
    let Some(asked) = questions.last() else { return Ok((None, args)) };
    let name = asked.to_string_lossy();
    let name = match name.trim_start_matches('-') {
        "show" => "--showme".to_owned(),
        name => format!("--{name}"),
    };
    match QUESTIONS.iter().find(|(known, ..)| *known == name) {
        Some(&(_, question, _)) => Ok((Some(question), args)),
        None => Err(format!("there is no option {name}; see --showme:help")),
    }
}

/// The list of questions and options.
pub(super) fn help(language: Language) -> String {
    let (program, variable) = (language.program(), language.variable());
    let mut text = format!(
        "{program} compiles and links OpenSHMEM programs. It adds options to those that it is given, and runs the\n\
         compiler that {variable} names, or the system's.\n\n"
    );
    let questions = QUESTIONS.iter().map(|&(name, _, what)| (name, what));
    for (name, what) in OPTIONS.into_iter().chain(questions) {
        text += &format!("  {name:18} {what}\n");
    }
    text
}

/// The version of oxshmem.
pub(super) fn version(language: Language) -> String {
    format!("{}: {}", language.program(), version_line())
}

/// Words as one line that a shell splits into them again.
pub(super) fn quote(words: &[OsString]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &OsStr) -> String {
    let text = word.to_string_lossy();
    let plain = |c: char| c.is_alphanumeric() || "-_./,:=+@%^~".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.into_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn a_question_is_found_among_options() {
        let (question, rest) = take(words("-c a.c --showme:compile -O2")).unwrap();
        assert_eq!((question, rest), (Some(Question::Compile), words("-c a.c -O2")));
        assert_eq!(take(words("-showme a.c")).unwrap().0, Some(Question::Everything));
        assert_eq!(take(words("a.c -showmenot")).unwrap(), (None, words("a.c -showmenot")));
        assert!(take(words("--showme:what")).unwrap_err().contains("--showme:what"));
    }

    #[test]
    fn words_are_quoted_where_a_shell_would_split_them() {
        let line = quote(&["cc".into(), "-I".into(), "/a b/it's".into(), "-DX=\"y\"".into(), "".into()]);
        assert_eq!(line, r#"cc -I '/a b/it'\''s' '-DX="y"' ''"#);
    }

    #[test]
    fn the_help_lists_all_questions() {
        for (name, ..) in QUESTIONS {
            assert!(help(Language::C).contains(&format!("  {name} ")));
        }
    }
}
