//! Words that names, comments and pages do not use, and how a doc comment does not begin.
//!
//! A name is taken apart into its words, and compared word by word. Of comments and pages the prose
//! is read: code in them is checked where it is compiled, and the targets of links are files.

use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};

use super::lines;

/// What the design notes forbid, and words that came since and have one of the field beside them.
const PRIVATE: [&str; 16] = [
    "told", "said", "heard", "whoever", "crew", "meeting", "hello", "deal", "desk", "sweep", "nudge", "nap",
    "wish", "poke", "doze", "rouse",
];

/// What may follow one of these words and leave it the word it is.
const ENDINGS: [&str; 6] = ["", "s", "es", "d", "ed", "ing"];

/// What says nothing at the beginning of a doc comment, which is read where the one before it is
/// not.
const OPENINGS: [&str; 4] = ["The same", "Likewise", "Those of", "As for that"];

/// Where a number belongs.
const VAGUE: [&str; 2] = ["so", "many"];

/// What is of its time, and stays.
const HISTORY: &str = "CHANGELOG.md";

/// Whether `cargo xtask rooms` reads a file.
pub(super) fn is_checked(file: &Path) -> bool {
    file != Path::new(HISTORY)
}

/// A line for each fault of a file, by the kind of file that its name says it is.
pub(super) fn faults(file: &Path, text: &str) -> Vec<String> {
    let mut found = match file.extension().and_then(|it| it.to_str()) {
        Some("rs") => of_source(text),
        Some("md") => of_page(text),
        // These are written from the table of the C library; other C code is the user's side of it.
        Some("h") => text.lines().enumerate().flat_map(|(at, line)| of_prose(at + 1, line)).collect(),
        _ => Vec::new(),
    };
    found.sort();
    found.dedup();
    found.into_iter().map(|(line, fault)| format!("{}:{line}: {fault}", file.display())).collect()
}

/// The number of a line, and what is wrong in it.
type Fault = (usize, String);

fn of_source(text: &str) -> Vec<Fault> {
    let mut faults = Vec::new();
    if let Ok(tokens) = text.parse() {
        of_names(tokens, &mut faults);
    }
    let (mut in_code, mut before) = (false, None);
    for (line, comment) in lines::comments(text) {
        let doc = comment.strip_prefix("///").or_else(|| comment.strip_prefix("//!")).map(str::trim);
        if let Some(doc) = doc {
            // A paragraph begins behind a heading, an empty line, or what is no doc comment.
            let begins = before.is_none_or(|(at, doc): (usize, &str)| {
                at + 1 != line || doc.is_empty() || doc.starts_with('#')
            });
            if begins && let Some(opening) = OPENINGS.iter().find(|it| starts_with_words(doc, it)) {
                faults.push((line, format!("a doc comment begins with \"{opening}\"")));
            }
        }
        before = doc.map(|doc| (line, doc));
        if comment.contains("```") {
            in_code = !in_code;
        } else if !in_code || doc.is_none() {
            faults.extend(of_prose(line, comment));
        }
    }
    faults
}

fn of_page(text: &str) -> Vec<Fault> {
    let (mut faults, mut in_code) = (Vec::new(), false);
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            faults.extend(of_prose(at + 1, line));
        }
    }
    faults
}

/// Adds what is wrong with identifiers; strings are none of it.
fn of_names(tokens: TokenStream, to: &mut Vec<Fault>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => of_names(group.stream(), to),
            TokenTree::Ident(name) => to.extend(of_word(name.span().start().line, &name.to_string())),
            _ => {}
        }
    }
}

/// What is wrong in a line of text, without the code in it and the targets of links.
fn of_prose(line: usize, text: &str) -> Vec<Fault> {
    let mut prose: String = text.split('`').step_by(2).collect::<Vec<_>>().join(" ");
    while let Some(from) = prose.find("](") {
        let end = prose[from..].find(')').map_or(prose.len(), |length| from + length);
        prose.replace_range(from..end, " ");
    }
    let words: Vec<&str> =
        prose.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).collect();
    let pairs =
        words.windows(2).filter(|pair| pair.iter().zip(VAGUE).all(|(a, b)| a.eq_ignore_ascii_case(b)));
    let mut faults: Vec<Fault> = words.iter().filter_map(|word| of_word(line, word)).collect();
    faults.extend(pairs.map(|_| vague(line)));
    faults
}

/// What is wrong with a word of a text, or with a name.
fn of_word(line: usize, name: &str) -> Option<Fault> {
    let words = words_of(name);
    if words.windows(2).any(|pair| pair == VAGUE) {
        return Some(vague(line));
    }
    let is_private = |word: &String| {
        PRIVATE.iter().any(|it| word.strip_prefix(it).is_some_and(|rest| ENDINGS.contains(&rest)))
    };
    let word = words.into_iter().find(is_private)?;
    Some((line, if word == name { format!("\"{word}\"") } else { format!("\"{word}\" in {name}") }))
}

fn vague(line: usize) -> Fault {
    (line, "\"so many\": \"this many\", or a number".to_owned())
}

/// The words of a name in any case, in lower case.
fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = '_';
    for c in name.chars() {
        let is_letter = c.is_alphabetic();
        if !is_letter || c.is_uppercase() && before.is_lowercase() {
            words.push(String::new());
        }
        if is_letter && let Some(word) = words.last_mut() {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether a text begins with these words, and not with longer ones.
fn starts_with_words(text: &str, words: &str) -> bool {
    text.strip_prefix(words).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, text: &str) -> Vec<String> {
        faults(Path::new(name), text)
    }

    #[test]
    fn names_are_compared_word_by_word_in_any_case() {
        let text = "struct Meeting;\nfn is_told() { TOLD.deals(HelloWorld) }\nlet ideal = dealt + snapped + wishbone;\n";
        assert_eq!(
            of("a.rs", text),
            [
                "a.rs:1: \"meeting\" in Meeting",
                "a.rs:2: \"deals\"",
                "a.rs:2: \"hello\" in HelloWorld",
                "a.rs:2: \"told\" in TOLD",
                "a.rs:2: \"told\" in is_told",
            ]
        );
    }

    #[test]
    fn comments_are_read_without_the_code_in_them_and_strings_are_not() {
        let text = "// What it said.\n/// `told`\n/// ```\n/// let told = 1;\n/// ```\nconst A: &str = \"told\n// told\n\";\n";
        assert_eq!(of("a.rs", text), ["a.rs:1: \"said\""]);
    }

    #[test]
    fn a_doc_comment_and_its_paragraphs_do_not_begin_with_what_says_nothing() {
        let text = "/// The same again.\nfn f() {}\n\n/// What is\n/// The same as\n///\n/// Likewise.\n///\n/// # Errors\n\
                    /// Those of `f`.\nfn g() {}\n// The same.\n//! The sameness.\n";
        assert_eq!(
            of("a.rs", text),
            [
                "a.rs:1: a doc comment begins with \"The same\"",
                "a.rs:7: a doc comment begins with \"Likewise\"",
                "a.rs:10: a doc comment begins with \"Those of\"",
            ]
        );
    }

    #[test]
    fn a_vague_number_is_a_fault() {
        let fault = "\"so many\": \"this many\", or a number";
        let text = "// So many bytes, and not so, many.\nfn so_many_pes() {}\n";
        assert_eq!(of("a.rs", text), [format!("a.rs:1: {fault}"), format!("a.rs:2: {fault}")]);
        assert_eq!(of("a.h", "/* of so many PEs */\n"), [format!("a.h:1: {fault}")]);
    }

    #[test]
    fn pages_are_read_without_code_and_targets_of_links() {
        let text = "A [`hello`](hello.rs), [here](b/hello.c).\n```\nhello\n```\nIt says hello.\n";
        assert_eq!(of("a.md", text), ["a.md:5: \"hello\""]);
    }

    #[test]
    fn what_is_of_its_time_stays() {
        assert!(is_checked(Path::new("ops/src/streams.rs")) && !is_checked(Path::new(HISTORY)));
    }
}
