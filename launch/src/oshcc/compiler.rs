//! Which compiler to become: what `CC` or `CXX` says, or the system's.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::Path,
};

use rustix::fs::{Access, access};

use super::{Language, line::Line};

/// A compiler, with options that always come first.
#[derive(Debug)]
pub(super) struct Compiler {
    pub(super) words: Vec<OsString>,
    /// The variable that named it.
    named_by: Option<&'static str>,
}

impl Compiler {
    /// For programs in a language. Where neither variable nor system has one, it is a name that
    /// does not exist.
    pub(super) fn find(language: Language) -> Result<Self, String> {
        let variable = language.variable();
        let value = std::env::var_os(variable).unwrap_or_default();
        let words = match is_executable(&value) {
            true => vec![value],
            false => {
                split(value.as_bytes()).map_err(|why| format!("{variable}={}: {why}", value.display()))?
            }
        };
        // `CC=oshcc make` names ourselves.
        if !words.is_empty() && !words.iter().any(|word| is_wrapper(word)) {
            return Ok(Self { words, named_by: Some(variable) });
        }
        let names = match language {
            Language::C => ["cc", "gcc", "clang"],
            Language::Cxx => ["c++", "g++", "clang++"],
        };
        let found = names.iter().find(|name| is_in_path(name)).unwrap_or(&names[0]);
        Ok(Self { words: vec![OsString::from(found)], named_by: None })
    }

    /// What it takes to call a routine without a jump between, in front of the user's options. GCC
    /// does so for what the headers mark; clang knows the option alone, and warns where there is
    /// nothing to compile but assembly.
    pub(super) fn options(&self, line: &Line) -> Vec<OsString> {
        let is_clang = |word: &OsString| {
            Path::new(word).file_name().is_some_and(|name| name.as_bytes().starts_with(b"clang"))
        };
        let assembles = line.args.iter().any(|word| word.as_bytes().ends_with(b".s"));
        match self.words.iter().any(is_clang) && !assembles {
            true => vec!["-fno-plt".into()],
            false => Vec::new(),
        }
    }

    /// What named it, for messages.
    pub(super) fn origin(&self) -> String {
        self.named_by.map(|variable| format!(", which {variable} names")).unwrap_or_default()
    }
}

/// Whether this is one of our own programs.
fn is_wrapper(word: &OsStr) -> bool {
    let name = Path::new(word).file_name();
    ["oshcc", "oshcxx", "oshc++"].iter().any(|own| name == Some(OsStr::new(own)))
}

/// Whether this is the path of a program, spaces and all.
fn is_executable(value: &OsStr) -> bool {
    value.as_bytes().contains(&b'/') && Path::new(value).is_file() && access(value, Access::EXEC_OK).is_ok()
}

fn is_in_path(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_else(|| OsString::from("/bin:/usr/bin"));
    std::env::split_paths(&path).any(|folder| is_executable(folder.join(name).as_os_str()))
}

/// Splits a variable's value at white space, with quotes and backslashes as in a shell.
fn split(text: &[u8]) -> Result<Vec<OsString>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (quote, byte) {
            (Some(end), byte) if byte == end => quote = None,
            (None, b'\'' | b'"') => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (None, byte) if byte.is_ascii_whitespace() => words.extend(word.take()),
            (None | Some(b'"'), b'\\') => {
                word.get_or_insert_default().push(bytes.next().ok_or("a backslash at its end")?);
            }
            (_, byte) => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    match quote {
        Some(_) => Err("a quote that does not end"),
        None => Ok(words.into_iter().map(OsString::from_vec).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_split_as_a_shell_would() {
        for (text, words) in [
            ("gcc", &["gcc"][..]),
            ("  ccache\tgcc -m64 ", &["ccache", "gcc", "-m64"]),
            ("'/opt/my tools/cc' -DA=\"b c\" d\\ e", &["/opt/my tools/cc", "-DA=b c", "d e"]),
            ("cc ''", &["cc", ""]),
            ("", &[]),
        ] {
            assert_eq!(split(text.as_bytes()).unwrap(), words, "{text}");
        }
        assert!(split(b"cc 'a").is_err() && split(b"cc \\").is_err());
    }

    #[test]
    fn clang_is_given_what_the_headers_say_to_gcc() {
        let named =
            |words: &[&str]| Compiler { words: words.iter().map(OsString::from).collect(), named_by: None };
        let options = |words: &[&str], args: &[&str]| {
            named(words).options(&Line::read(args.iter().map(OsString::from).collect()))
        };
        assert_eq!(options(&["ccache", "/usr/bin/clang-19"], &["-c", "a.c"]), ["-fno-plt"]);
        assert!(options(&["/opt/clang/gcc"], &["a.c"]).is_empty());
        assert!(options(&["clang"], &["-c", "a.s"]).is_empty());
    }

    #[test]
    fn our_own_programs_are_known_wherever_they_are() {
        assert!(is_wrapper("oshcc".as_ref()) && is_wrapper("/opt/bin/oshc++".as_ref()));
        assert!(!is_wrapper("cc".as_ref()) && !is_wrapper("/opt/oshcc/gcc".as_ref()));
    }
}
