//! The command line of a compiler, as far as one must know it to add a library: whether it links,
//! and how.

use std::{ffi::OsString, os::unix::ffi::OsStrExt};

/// What the compiler does with `libshmem`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Linking {
    /// Nothing.
    None,
    /// It links with `libshmem.so`.
    Shared,
    /// It links with `libshmem.a`.
    Static,
}

/// What the linker makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whole {
    /// A program that loads the C library.
    Program,
    /// A program with everything in it.
    StaticProgram,
    /// A library that programs load.
    SharedLibrary,
}

/// A command line.
#[derive(Debug)]
pub(super) struct Line {
    /// As they came, without what the compiler does not know.
    pub(super) args: Vec<OsString>,
    pub(super) linking: Linking,
    /// What `linking` is or, where the compiler does not link, would be.
    pub(super) wanted: Linking,
    pub(super) whole: Whole,
}

/// Our own option.
pub(super) const STATIC_LIBSHMEM: &str = "-static-libshmem";

/// After these nothing is linked, as the compiler stops before or is only asked something.
const NO_LINK: [&str; 14] = [
    "-c",
    "-S",
    "-E",
    "-M",
    "-MM",
    "-r",
    "-fsyntax-only",
    "--help",
    "--version",
    "-dumpversion",
    "-dumpfullversion",
    "-dumpmachine",
    "-dumpspecs",
    "--precompile",
];

/// Long names of some of these, and questions, by how they begin.
const NO_LINK_PREFIXES: [&str; 7] =
    ["-print-", "--print-", "--help=", "--compile", "--assemble", "--preprocess", "--dependencies"];

/// Options whose argument is a word of its own.
const WITH_WORD: [&str; 45] = [
    "-o",
    "-I",
    "-D",
    "-U",
    "-L",
    "-x",
    "-include",
    "-imacros",
    "-isystem",
    "-idirafter",
    "-iquote",
    "-iprefix",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-isysroot",
    "-imultilib",
    "--sysroot",
    "-MF",
    "-MT",
    "-MQ",
    "-MJ",
    "-Xlinker",
    "-Xpreprocessor",
    "-Xassembler",
    "-Xclang",
    "-Xanalyzer",
    "-mllvm",
    "-T",
    "-u",
    "-z",
    "-e",
    "-h",
    "-A",
    "-G",
    "-B",
    "-rpath",
    "-soname",
    "-arch",
    "-target",
    "-aux-info",
    "-wrapper",
    "-dumpbase",
    "-dumpbase-ext",
    "-dumpdir",
    "--param",
];

/// Files of these kinds alone are compiled ahead for programs that include them.
const HEADERS: [&str; 8] = ["h", "hh", "H", "hp", "hxx", "hpp", "HPP", "tcc"];

impl Line {
    /// Reads the arguments, and takes our own out.
    pub(super) fn read(args: Vec<OsString>) -> Self {
        let (mut links, mut shared, mut full, mut archive) = (true, false, false, false);
        let (mut inputs, mut headers) = (0, 0);
        let mut kept = Vec::with_capacity(args.len());
        let mut words = args.into_iter();
        while let Some(word) = words.next() {
            let text = word.to_str().unwrap_or("a name in another encoding").to_owned();
            if text == STATIC_LIBSHMEM {
                archive = true;
                continue;
            }
            let is_file = word.as_bytes() == b"-" || !word.as_bytes().starts_with(b"-");
            kept.push(word);
            match text.as_str() {
                "-static" | "--static" | "-static-pie" => full = true,
                "-shared" | "--shared" => shared = true,
                text if NO_LINK.contains(&text) => links = false,
                text if NO_LINK_PREFIXES.iter().any(|prefix| text.starts_with(prefix)) => links = false,
                "-l" => {
                    inputs += 1;
                    kept.extend(words.next());
                }
                text if text.starts_with("-l") => inputs += 1,
                "-x" => {
                    let language = words.next();
                    let header = |it: &OsString| it.as_bytes().ends_with(b"-header");
                    links &= !language.as_ref().is_some_and(header);
                    kept.extend(language);
                }
                text if WITH_WORD.contains(&text) => kept.extend(words.next()),
                text if is_file => {
                    inputs += 1;
                    let ending = text.rsplit_once('.').map(|(_, ending)| ending);
                    headers += usize::from(ending.is_some_and(|it| HEADERS.contains(&it)));
                }
                _ => {}
            }
        }
        let whole = match (shared, full) {
            (true, _) => Whole::SharedLibrary,
            (false, true) => Whole::StaticProgram,
            (false, false) => Whole::Program,
        };
        let wanted = if full || archive { Linking::Static } else { Linking::Shared };
        let linking = if links && inputs > headers { wanted } else { Linking::None };
        Self { args: kept, linking, wanted, whole }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Line {
        Line::read(line.split_whitespace().map(OsString::from).collect())
    }

    #[test]
    fn it_links_where_the_compiler_does() {
        for line in [
            "a.c",
            "-o a a.o b.o",
            "-O2 -I include a.c -lm",
            "-x c -",
            "@objects",
            "-MD -MF a.d a.c",
            "-MMD a.c",
            "-lfoo",
            "-l foo",
            "-v a.c",
            "-### a.c",
            "a.c b.h",
            "-Wl,-Bstatic a.o",
            "-o -c a.o",
            "-include -E a.c",
        ] {
            assert_eq!(read(line).linking, Linking::Shared, "{line}");
        }
    }

    #[test]
    fn it_does_not_link_where_the_compiler_does_not() {
        for line in [
            "",
            "-v",
            "--version",
            "-c a.c",
            "a.c -c",
            "-S a.c",
            "-E -",
            "-M a.c",
            "-MM a.c",
            "-fsyntax-only a.c",
            "-r a.o b.o -o ab.o",
            "-print-search-dirs",
            "--print-file-name=libc.a",
            "-dumpmachine",
            "--help=warnings",
            "-o a",
            "-I a.c",
            "-O2 -Wall",
            "precompiled.h",
            "-x c++-header a",
            "--compile a.c",
        ] {
            assert_eq!(read(line).linking, Linking::None, "{line}");
        }
    }

    #[test]
    fn static_programs_are_distinguished_from_those_with_a_static_libshmem() {
        let of = |line: &str| {
            let line = read(line);
            (line.linking, line.whole)
        };
        assert_eq!(of("-static a.c"), (Linking::Static, Whole::StaticProgram));
        assert_eq!(of("a.c -static-pie"), (Linking::Static, Whole::StaticProgram));
        assert_eq!(of("-static-libshmem a.c"), (Linking::Static, Whole::Program));
        assert_eq!(of("-static-libgcc a.c"), (Linking::Shared, Whole::Program));
        assert_eq!(of("-shared a.c"), (Linking::Shared, Whole::SharedLibrary));
        assert_eq!(of("-static -c a.c").0, Linking::None);
    }

    #[test]
    fn options_pass_as_they_are_and_in_order() {
        let line = "-static-libshmem -DA=1 -o out -x c++ in.c -x none -Xlinker -static-libshmem2 -lm -Wl,-z,now -I x";
        let expected: Vec<OsString> = line.split(' ').skip(1).map(OsString::from).collect();
        assert_eq!(read(line).args, expected);
    }
}
