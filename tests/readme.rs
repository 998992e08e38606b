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
    for (language, example) in
        [("rust", "examples/hello.rs"), ("c", "examples/hello.c"), ("cuda", "examples/hello.cu")]
    {
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
