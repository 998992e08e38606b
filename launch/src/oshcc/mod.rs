//! `oshcc` and `oshc++`: the system's compilers, with the options that say where the headers and
//! `libshmem` are.
//!
//! They add options before and behind those that they are given, and become the compiler. What is
//! added depends on what the compiler is about to do (`line`), on where these programs are
//! (`place`) and on `CC` or `CXX` (`compiler`).

mod compiler;
mod line;
mod place;
pub mod showme;

use std::{ffi::OsString, io::Write, os::unix::process::CommandExt, process::ExitCode};

use oxshmem_base::report;

use compiler::Compiler;
use line::{Line, Linking};
use place::Place;
use showme::Question;

/// What a program is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// `oshcc`
    C,
    /// `oshc++`
    Cxx,
}

impl Language {
    /// The program for it.
    pub fn program(self) -> &'static str {
        match self {
            Self::C => "oshcc",
            Self::Cxx => "oshc++",
        }
    }

    /// The variable that names another compiler.
    pub fn variable(self) -> &'static str {
        match self {
            Self::C => "CC",
            Self::Cxx => "CXX",
        }
    }
}

/// The whole program, from its arguments to its exit status; it comes back only if there is no
/// compiler to become.
pub fn main(language: Language) -> ExitCode {
    match act(language, std::env::args_os().skip(1).collect()) {
        Ok(answer) => match std::io::stdout().write_all(answer.as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
        Err(reason) => {
            report(format_args!("{}: {reason}", language.program()));
            ExitCode::FAILURE
        }
    }
}

/// Answers a question, or becomes the compiler. The error says why neither was possible.
fn act(language: Language, args: Vec<OsString>) -> Result<String, String> {
    let (question, args) = showme::take(args)?;
    match question {
        Some(Question::Help) => return Ok(showme::help(language)),
        Some(Question::Version) => return Ok(format!("{}\n", showme::version(language))),
        _ => {}
    }
    let place = Place::find()?;
    let line = Line::read(args);
    let compiler = Compiler::find(language)?;
    match question {
        Some(question) => answer(question, &place, line, &compiler),
        None => {
            if line.linking != Linking::None {
                place.check(line.linking)?;
            }
            let options = compiler.options(&line);
            Err(compiler.become_with(&[options, place.add(line)].concat()))
        }
    }
}

fn answer(question: Question, place: &Place, line: Line, compiler: &Compiler) -> Result<String, String> {
    let words = match question {
        Question::Compile => [compiler.options(&line), place.before()].concat(),
        Question::Link => place.behind(line.wanted, line.whole),
        Question::Command => compiler.words.clone(),
        Question::IncludeFolders => vec![place.include.clone().into()],
        Question::LibraryFolders => vec![place.library.clone().into()],
        Question::Libraries => vec!["shmem".into()],
        _ => [compiler.words.clone(), compiler.options(&line), place.add(line)].concat(),
    };
    Ok(showme::quote(&words) + "\n")
}

impl Compiler {
    /// Runs it in place of this process; returns why that failed.
    fn become_with(&self, args: &[OsString]) -> String {
        let (program, own) = self.words.split_first().map_or((None, &[][..]), |(it, own)| (Some(it), own));
        let program = program.cloned().unwrap_or_default();
        let error = std::process::Command::new(&program).args(own).args(args).exec();
        let shown = program.to_string_lossy();
        match error.kind() {
            std::io::ErrorKind::NotFound => format!("there is no compiler {shown}{}", self.origin()),
            _ => format!("cannot start the compiler {shown}{}: {error}", self.origin()),
        }
    }
}
