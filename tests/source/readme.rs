//! The first programs in the README are those in `examples`, which other tests compile and run.

use std::{fs, path::Path};

/// The text of a file of the repository.
fn text(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The blocks of a page that are fenced as `language`.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    page.split(&fence).skip(1).filter_map(|rest| rest.split("\n```").next()).collect()
}

/// A program without the comment that it opens with, which says how to compile it.
fn without_opening(program: &str) -> &str {
    let lines = program.lines();
    let opening = lines.take_while(|line| ["//", "/*", " *"].iter().any(|start| line.starts_with(start)));
    let bytes: usize = opening.map(|line| line.len() + 1).sum();
    program[bytes..].trim()
}

#[test]
fn the_first_programs_of_the_readme_are_the_examples() {
    let readme = text("README.md");
    for (language, example) in [
        ("rust", "examples/visits.rs"),
        ("rust", "examples/hello.rs"),
        ("c", "examples/hello.c"),
        ("cuda", "examples/hello.cu"),
    ] {
        let program = text(example);
        let program = without_opening(&program);
        let found = blocks(&readme, language);
        assert!(
            found.iter().any(|block| block.trim() == program),
            "README.md has no block ```{language} with the program of {example}:\n{program}"
        );
    }
}

#[test]
fn blocks_are_found_by_their_language_and_programs_without_their_opening() {
    let page = "a\n```c\nint x;\n```\nb\n```rust\nlet x;\n```\n```c\nint y;\n```\n";
    assert_eq!(blocks(page, "c"), ["int x;", "int y;"]);
    assert_eq!(without_opening("/* Says\n * how.\n */\n#include <a>\n"), "#include <a>");
    assert_eq!(without_opening("//! Says.\n\nfn main() {}\n"), "fn main() {}");
}

/// Rows of the README's table of figures, and where the book has them: the page, what the row
/// begins with there, and the two figures as they stand there.
const FIGURES: [(&str, &str, &str, [&str; 2]); 11] = [
    ("put of 8 bytes", "compare-c.md", "| put | 8 | far ", ["1.43 ns", "8.54"]),
    ("fetch_add", "compare-c.md", "| fetch_add | 8 | far ", ["5.20 ns", "16.1"]),
    ("put of 1 MiB", "compare-c.md", "| put | 1048576 | far ", ["14704 ns", "17603"]),
    ("put of 16 MiB", "compare-c.md", "| put | 16777216 | far ", ["510917 ns", "499940"]),
    ("sum of 8 bytes", "compare.md", "| sum | 8 | 2 | far ", ["0.201", "0.447"]),
    ("sum of 1 MiB", "compare.md", "| sum | 1048576 | 2 | far ", ["16.2", "110"]),
    ("processor used by a PE that waits", "compare-c.md", "| waiting ", ["0.159 %", "100"]),
    ("start of a job of 2 PEs", "compare-c.md", "| start ", ["15.8 ms", "320"]),
    ("H200, 1 PE: put of 8 bytes and quiet", "nvshmem.md", "| put and quiet | 8 B ", ["11.2", "11.3"]),
    ("H200, 1 PE: sum of 64 MiB", "nvshmem.md", "| sum of f32 | 64 MiB ", ["47.9", "44.6"]),
    (
        "H200, 2 PEs on it: put of 8 bytes and quiet",
        "nvshmem.md",
        "| put and quiet | 8 B ",
        ["12.6", "2382.7"],
    ),
];

/// The first number in a cell, to two digits.
fn digits(text: &str) -> String {
    let number: f64 =
        text.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(f64::NAN);
    format!("{number:.1e}")
}

#[test]
fn the_figures_of_the_readme_are_those_of_the_book() {
    let readme = text("README.md");
    for (row, page, begins, figures) in FIGURES {
        let in_book = text(&format!("book/src/{page}"));
        let line = in_book.lines().find(|line| line.starts_with(begins)).expect(begins);
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        for figure in figures {
            assert!(cells.contains(&figure), "{page} has no {figure} in: {line}");
        }
        let shown = readme.lines().find(|line| line.starts_with(&format!("| {row} |"))).expect(row);
        let shown: Vec<String> =
            shown.split('|').skip(2).filter(|cell| !cell.trim().is_empty()).map(digits).collect();
        // The README has other units than some pages, and fewer digits.
        let mantissas = |all: &[String]| {
            all.iter().map(|it| it.split('e').next().unwrap_or("").to_owned()).collect::<Vec<_>>()
        };
        let figures = figures.map(digits);
        assert_eq!(mantissas(&shown), mantissas(&figures), "{row}");
    }
}
