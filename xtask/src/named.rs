//! What the book, the README and doc comments name must exist: settings, constants of C, and source
//! files.
//!
//! A name exists if code has it, in a line that is not a comment. A file exists if git tracks it.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use crate::run::{Failure, Job};

/// What variables of the environment and constants of C begin with.
const PREFIXES: [&str; 4] = ["SHMEM_", "SMA_", "SMAX_", "OXSHMEM_"];

/// What the names of source files end with.
const ENDINGS: [&str; 6] = [".rs", ".c", ".h", ".cu", ".md", ".supp"];

/// Names and files that exist.
pub(crate) struct Known {
    files: BTreeSet<String>,
    names: BTreeSet<String>,
}

impl Known {
    /// Reads all files that git tracks.
    pub(crate) fn read() -> Result<Self, Failure> {
        let output = Job::new("git", ["ls-files", "--cached", "--others", "--exclude-standard"]).output()?;
        let files = String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
        let mut known = Self { files, names: BTreeSet::new() };
        for file in known.sources(&[".rs", ".h", ".c", ".sh"]) {
            let text = fs::read_to_string(&file).unwrap_or_default();
            let code = text.lines().filter(|line| comment(line).is_none());
            known.names.extend(code.flat_map(names_in));
        }
        if known.names.is_empty() {
            return Err(Failure::new("git lists no source files here"));
        }
        Ok(known)
    }

    /// What `page` names and is not there, a line each.
    pub(crate) fn faults_of_page(&self, page: &Path, text: &str) -> Vec<String> {
        let unknown =
            names_in(text).filter(|name| !self.has(name)).map(|name| format!("{name} does not exist"));
        let code = text.split('`').skip(1).step_by(2);
        let missing = code.filter(|word| !self.has_file(word)).map(|word| format!("there is no file {word}"));
        unknown.chain(missing).map(|fault| format!("{}: {fault}", page.display())).collect()
    }

    /// A line for each fault of all comments, except for the examples in them, which are compiled.
    pub(crate) fn faults_of_comments(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for file in self.sources(&[".rs"]) {
            let text = fs::read_to_string(&file).unwrap_or_default();
            let mut in_example = false;
            for (at, line) in text.lines().enumerate() {
                let words = comment(line).unwrap_or_default();
                in_example ^= words.contains("```");
                let names = names_in(if in_example { "" } else { words });
                let unknown = names.filter(|name| !self.has(name));
                faults.extend(unknown.map(|name| format!("{file}:{}: {name} does not exist", at + 1)));
            }
        }
        faults
    }

    /// The files with these names, each behind a `/`, in any folder.
    pub(crate) fn pages(&self, names: &[&str]) -> impl Iterator<Item = PathBuf> {
        let is_one = |file: &&String| names.iter().any(|name| format!("/{file}").ends_with(name));
        self.files.iter().filter(is_one).map(PathBuf::from)
    }

    fn sources(&self, endings: &[&str]) -> Vec<String> {
        let is_source = |file: &&String| endings.iter().any(|ending| file.ends_with(ending));
        self.files.iter().filter(is_source).cloned().collect()
    }

    /// A name that ends with `_` stands for all that begin with it, and a number at its end for
    /// any.
    fn has(&self, name: &str) -> bool {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let mut from = self.names.range(stem.to_owned()..);
        from.next().is_some_and(|first| {
            first == stem || (stem != name || name.ends_with('_')) && first.starts_with(stem)
        })
    }

    /// Whether a word in code is no file of ours, or one that is there. A name without a folder may
    /// be in any.
    fn has_file(&self, word: &str) -> bool {
        let is_path = word.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c));
        if !is_path || !ENDINGS.iter().any(|ending| word.ends_with(ending)) {
            return true;
        }
        // Programs of the reader's own, such as `heat.c`, are in no folder and in no chapter on the
        // library's inside.
        let behind = format!("/{word}");
        match word.contains('/') {
            true => self.files.contains(word),
            false => !word.ends_with(".rs") || self.files.iter().any(|file| file.ends_with(&behind)),
        }
    }
}

/// The text of a line that is a comment of Rust or C.
fn comment(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("//").or_else(|| line.strip_prefix("/*")).or_else(|| line.strip_prefix("* "))
}

/// Words that begin as settings and constants do.
fn names_in(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| PREFIXES.iter().any(|prefix| word.starts_with(prefix))).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Known {
        let of = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        Known { files: of(&["runtime/src/pe.rs"]), names: of(&["SHMEM_DEBUG", "SHMEM_SYMMETRIC_PARTITION"]) }
    }

    #[test]
    fn names_that_no_code_has_are_faults() {
        let page = |text| known().faults_of_page(Path::new("page"), text);
        assert_eq!(page("SHMEM_DEBUG, `SHMEM_SYMMETRIC_PARTITION2` and SHMEM_SYMMETRIC_*"), [""; 0]);
        assert_eq!(page("`SHMEM_TRANSPORT=shm`"), ["page: SHMEM_TRANSPORT does not exist"]);
        assert_eq!(page("SHMEM_DEBUGGER"), ["page: SHMEM_DEBUGGER does not exist"]);
    }

    #[test]
    fn files_that_are_not_there_are_faults() {
        let page = |text| known().faults_of_page(Path::new("page"), text);
        assert_eq!(page("`runtime/src/pe.rs`, `pe.rs`, `cc -o a a.c`, `heat.c`"), [""; 0]);
        assert_eq!(page("`runtime/src/gone.rs`"), ["page: there is no file runtime/src/gone.rs"]);
        assert_eq!(page("`gone.rs`"), ["page: there is no file gone.rs"]);
    }
}
