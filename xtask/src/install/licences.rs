//! The licences of what is in the programs and libraries beside this repository's own code: each
//! text once, behind the packages that it is of.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use serde_json::Value;

use crate::run::{Failure, Job, metadata};

/// What is installed.
const BUILT: &str = "-p oxshmem-launch -p oxshmem-capi";

/// Licences that ask for no more than to be handed on. A package may offer others beside one of
/// them.
const PERMISSIVE: [&str; 8] =
    ["MIT", "Apache-2.0", "ISC", "Zlib", "Unicode-3.0", "BSD-2-Clause", "BSD-3-Clause", "Unlicense"];

/// How the names of the files begin that have licences, in capital letters.
const FILES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"];

/// The whole text.
pub(super) fn all() -> Result<String, Failure> {
    // Procedural macros and build scripts leave nothing in what they help to build.
    let line = format!("tree {BUILT} --edges normal,no-proc-macro --prefix none --format {{p}}");
    let tree = String::from_utf8_lossy(&Job::cargo(&line).output()?.stdout).into_owned();
    let used: BTreeSet<&str> = tree.lines().filter_map(package).collect();
    let metadata = metadata("")?;
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = format!("{} v{}", text(package, "name"), text(package, "version"));
        // Without a source it is in this repository.
        if package["source"].is_null() || !used.contains(name.as_str()) {
            continue;
        }
        let licence = text(package, "license");
        if !is_permissive(licence) {
            return Err(Failure::new(format!("{name} has the licence `{licence}`, which is not permissive")));
        }
        let found = files(Path::new(text(package, "manifest_path")))?;
        if found.is_empty() {
            return Err(Failure::new(format!("{name} comes without the text of its licence, {licence}")));
        }
        for text in found {
            texts.entry(text).or_default().push(format!("{name} ({licence})"));
        }
    }
    if texts.is_empty() {
        return Err(Failure::new(format!("cargo {line} names no package")));
    }
    let mut out = String::from(
        "oxshmem contains the packages below, and Rust's standard library (MIT OR Apache-2.0, \
         https://github.com/rust-lang/rust), whose texts are those of LICENSE-MIT and LICENSE-APACHE.\n",
    );
    for (text, packages) in texts {
        out += &format!("\n{}\n{}\n\n{}\n", "=".repeat(80), packages.join("\n"), text.trim_matches('\n'));
    }
    Ok(out)
}

/// `tokio v1.2.3` of a line of `cargo tree`, in which more may follow.
fn package(line: &str) -> Option<&str> {
    let end = line.match_indices(' ').nth(1).map_or(line.len(), |(at, _)| at);
    (!line.is_empty()).then(|| &line[..end])
}

fn text<'a>(package: &'a Value, field: &str) -> &'a str {
    package[field].as_str().unwrap_or_default()
}

/// Whether one may take a package by permissive licences alone. Some old packages write `/` for
/// `OR`.
fn is_permissive(licence: &str) -> bool {
    let mut all = licence.split(" AND ").map(|part| part.trim_matches(['(', ')']));
    !licence.is_empty()
        && all.all(|part| {
            let mut offered = part.split(" OR ").flat_map(|part| part.split('/'));
            offered.any(|one| PERMISSIVE.contains(&one.trim()))
        })
}

/// The texts beside a manifest.
fn files(manifest: &Path) -> Result<Vec<String>, Failure> {
    let mut names = Vec::new();
    for entry in fs::read_dir(manifest.parent().unwrap_or(manifest))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        if path.is_file() && FILES.iter().any(|begin| name.starts_with(begin)) {
            names.push(path);
        }
    }
    names.sort();
    names.iter().map(|path| Ok(String::from_utf8_lossy(&fs::read(path)?).replace("\r\n", "\n"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_licence_that_asks_for_more_is_not_taken() {
        for licence in ["MIT", "MIT/Apache-2.0", "GPL-3.0 OR MIT", "(MIT OR Apache-2.0) AND Unicode-3.0"] {
            assert!(is_permissive(licence), "{licence}");
        }
        for licence in ["", "GPL-3.0", "LGPL-2.1 OR MPL-2.0", "MIT AND GPL-3.0", "(MIT OR Zlib) AND MPL-2.0"]
        {
            assert!(!is_permissive(licence), "{licence}");
        }
    }

    #[test]
    fn a_package_is_read_from_a_line_of_cargo_tree() {
        assert_eq!(package("tokio v1.54.1"), Some("tokio v1.54.1"));
        assert_eq!(package("oxshmem v0.2.0 (/a b/c)"), Some("oxshmem v0.2.0"));
        assert_eq!(package(""), None);
    }
}
