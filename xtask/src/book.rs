//! The book: that its summary, links, names and table of settings are right, and its pages.

use std::{
    collections::{BTreeSet, HashMap},
    fs,
    path::{Component, Path, PathBuf},
};

use crate::{
    named::Known,
    run::{Failure, Job, Outcome, Verdict, target_dir},
};

const SOURCE: &str = "book/src";
const SETTINGS: &str = "book/src/settings.md";
/// Pages outside of the book whose links are checked too.
const OTHER_PAGES: [&str; 2] = ["/README.md", "/CONTRIBUTING.md"];

/// What stands above the table in the chapter on settings.
const SETTINGS_HEAD: &str = "\
# Settings

<!-- Written by `cargo xtask settings` from the table in runtime/src/settings/table.rs. Do not edit. -->

Environment variables, read once, in `init`. `oshrun -x NAME=VALUE` sets one for all PEs. A value that cannot be
used is an error that names the variable and the value. `shmem-info` shows the values in force and where each came
from; `SHMEM_INFO=1` has PE 0 print the same at the start of a job. A program can set them itself with `init_with`,
and the PEs of a `LocalCluster` take theirs from `ClusterOptions`.

";

/// Checks the book, then builds it if mdbook is there or may be installed.
pub(crate) fn build(install: bool) -> Outcome {
    check()?;
    let present = || Job::new("mdbook", ["--version"]).works();
    if !present() && install {
        println!("installing mdbook");
        Job::cargo("install --locked mdbook").limit(1800).run()?;
    }
    if !present() {
        let why = "chapters and links are right, but mdbook, which makes the pages, is not installed: cargo xtask book";
        return Ok(Verdict::Skipped(why.into()));
    }
    let to = target_dir()?.join("book");
    Job::new("mdbook", ["build", "book", "--dest-dir"]).args([&to]).run()?;
    println!("{}", to.join("index.html").display());
    Ok(Verdict::Passed)
}

/// Writes the chapter on settings.
pub(crate) fn write_settings() -> Outcome {
    Job::cargo("build --package oxshmem-launch --bin shmem-info").run()?;
    fs::write(SETTINGS, settings_chapter()?)?;
    println!("{SETTINGS}");
    Ok(Verdict::Passed)
}

/// Compares the chapter on settings with the program, which is built.
pub(crate) fn settings_are_current() -> Outcome {
    if fs::read_to_string(SETTINGS).unwrap_or_default() == settings_chapter()? {
        return Ok(Verdict::Passed);
    }
    Err(Failure::new(format!("{SETTINGS} is out of date: cargo xtask settings")))
}

fn settings_chapter() -> Result<String, Failure> {
    let program = target_dir()?.join("debug/shmem-info");
    let output = Job::new(program, ["--settings-markdown"]).output()?;
    if !output.status.success() {
        return Err(Failure::new("shmem-info --settings-markdown failed"));
    }
    Ok(SETTINGS_HEAD.to_owned() + &String::from_utf8_lossy(&output.stdout))
}

/// Every chapter of the summary is there, every page is in the summary, every link leads somewhere,
/// and what is named exists.
fn check() -> Result<(), Failure> {
    let known = Known::read()?;
    let mut faults = BTreeSet::from_iter(known.faults_of_comments());
    let mut pages: HashMap<PathBuf, Page> = HashMap::new();
    for path in markdown_files(Path::new(SOURCE))?.into_iter().chain(known.pages(&OTHER_PAGES)) {
        let text = fs::read_to_string(&path).map_err(|e| Failure::new(format!("{}: {e}", path.display())))?;
        faults.extend(known.faults_of_page(&path, &text));
        pages.insert(path, Page::read(&text));
    }
    let summary = Path::new(SOURCE).join("SUMMARY.md");
    let listed: BTreeSet<PathBuf> = match pages.get(&summary) {
        Some(page) => page.links.iter().map(|link| resolve(&summary, link).0).collect(),
        None => return Err(Failure::new(format!("{} is missing", summary.display()))),
    };
    for path in pages.keys().filter(|path| path.starts_with(SOURCE) && **path != summary) {
        if !listed.contains(path) {
            faults.insert(format!("{}: not in SUMMARY.md", path.display()));
        }
    }
    let mut links = 0;
    for (path, page) in &pages {
        for link in page.links.iter().filter(|link| !link.contains("://") && !link.starts_with("mailto:")) {
            links += 1;
            let (target, anchor) = resolve(path, link);
            let found = match anchor {
                None => target.exists(),
                Some(anchor) => pages.get(&target).is_some_and(|page| page.anchors.contains(anchor)),
            };
            // The pages are made from the book's folder alone.
            let leaves = path.starts_with(SOURCE) && !target.starts_with(SOURCE);
            if leaves {
                faults.insert(format!("{}: the link {link} leads out of the book", path.display()));
            } else if !found {
                faults.insert(format!("{}: the link {link} leads nowhere", path.display()));
            }
        }
    }
    if !faults.is_empty() {
        return Err(Failure::new(faults.into_iter().collect::<Vec<_>>().join("\n")));
    }
    println!("{} chapters, {links} links", listed.len());
    Ok(())
}

/// What a page links to, and what can be linked to in it.
struct Page {
    links: Vec<String>,
    anchors: BTreeSet<String>,
}

impl Page {
    fn read(text: &str) -> Self {
        let (mut links, mut anchors) = (Vec::new(), BTreeSet::new());
        let mut in_code = false;
        for line in text.lines() {
            if line.trim_start().starts_with("```") {
                in_code = !in_code;
            } else if !in_code {
                if line.starts_with('#') {
                    anchors.insert(anchor(line.trim_start_matches('#')));
                }
                links.extend(links_of(line));
            }
        }
        Self { links, anchors }
    }
}

/// The targets in `[text](target)`, outside of code.
fn links_of(line: &str) -> Vec<String> {
    let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join("code");
    let targets = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets.map(|(target, _)| target.trim().to_owned()).filter(|target| !target.is_empty()).collect()
}

/// The name that a heading gets.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The file that a link on a page means, from the root of the repository, and the place in it.
fn resolve<'a>(page: &Path, link: &'a str) -> (PathBuf, Option<&'a str>) {
    let (file, anchor) = match link.split_once('#') {
        Some((file, anchor)) => (file, Some(anchor)),
        None => (link, None),
    };
    if file.is_empty() {
        return (page.to_owned(), anchor);
    }
    let mut path = PathBuf::new();
    for part in page.parent().unwrap_or(Path::new("")).join(file).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            Component::CurDir => {}
            part => path.push(part),
        }
    }
    (path, anchor)
}

fn markdown_files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(markdown_files(&path)?);
        } else if path.extension().is_some_and(|it| it == "md") {
            files.push(path);
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_anchors_are_found_outside_of_code_only() {
        let page = Page::read("# Who pays?\n[a](b.md#c) and `[x](y)`\n```text\n[no](z)\n# no\n```\n");
        assert_eq!(page.links, ["b.md#c"]);
        assert_eq!(page.anchors.into_iter().collect::<Vec<_>>(), ["who-pays"]);
    }

    #[test]
    fn links_are_relative_to_their_page() {
        let (file, anchor) = resolve(Path::new("book/src/a.md"), "../../README.md#x");
        assert_eq!((file.as_path(), anchor), (Path::new("README.md"), Some("x")));
        assert_eq!(resolve(Path::new("book/src/a.md"), "#y").0, Path::new("book/src/a.md"));
    }
}
