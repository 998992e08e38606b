//! The collections are built on the public interface alone: what they use, any program could.

use std::{collections::BTreeSet, fs, path::Path};

/// The names in a piece of source, each with whether it is followed by `::`.
fn names(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
    text.split_inclusive(move |c: char| !is_of_name(c)).scan(0, move |at, piece| {
        *at += piece.len();
        let name = piece.trim_end_matches(|c: char| !is_of_name(c));
        let rest = text[*at - piece.len() + name.len()..].trim_start();
        Some((name, rest.starts_with("::")))
    })
}

/// What `text` names of the project's own packages, in uses and in paths.
fn used(text: &str) -> BTreeSet<&str> {
    let mut used = BTreeSet::new();
    for (start, _) in text.match_indices("oxshmem_") {
        let rest = &text[start..];
        let braces = rest.find('{').is_some_and(|brace| !rest[..brace].contains([';', '(', '<', ' ']));
        let end = if braces {
            rest.find("};")
        } else {
            rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':')
        };
        let path = &rest[..end.unwrap_or(rest.len())];
        let named = names(path).filter(|(name, _)| !name.is_empty());
        match braces {
            true => used.extend(named.filter(|&(_, is_path)| !is_path).map(|(name, _)| name)),
            // The type: what is behind it is its own.
            false => {
                used.extend(named.map(|(name, _)| name).find(|name| name.starts_with(char::is_uppercase)))
            }
        }
    }
    used
}

/// All files in a folder, with what they hold.
fn sources(folder: &Path, all: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => sources(&path, all),
            false => all.push((path.display().to_string(), fs::read_to_string(&path).expect("a file"))),
        }
    }
}

#[test]
fn collections_use_what_every_program_has() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let facade = fs::read_to_string(root.join("src/lib.rs")).expect("the facade");
    let offered: BTreeSet<&str> = names(&facade).map(|(name, _)| name).collect();
    let mut all = Vec::new();
    sources(&root.join("collections/src"), &mut all);
    assert!(all.len() > 5);
    for (path, text) in &all {
        assert!(!text.contains("unsafe"), "{path} has unsafe code");
        // A program has any waker; in this project it is this one.
        for name in used(text).into_iter().filter(|&name| name != "StoredWaker") {
            assert!(offered.contains(name), "{path} uses `{name}`, which `oxshmem` does not have");
        }
        let hidden =
            [".pe()", ".allocation()", ".as_view().pe", ".engine()", ".made_from()", ".into_allocation()"];
        let found = hidden.into_iter().find(|call| text.contains(call));
        assert_eq!(found, None, "{path} calls what is hidden");
    }
}

#[test]
fn what_a_file_uses_is_found() {
    let text = "use oxshmem_ops::{\n    Cmp, Wait,\n    wait::{WaitOrLoss, WaitSet},\n};\nfn f(_: oxshmem_spaces::Hidden<T>) { oxshmem_base::Error::Full }\n";
    let found: Vec<_> = used(text).into_iter().collect();
    assert_eq!(found, ["Cmp", "Error", "Hidden", "Wait", "WaitOrLoss", "WaitSet"]);
    assert_eq!(used("use oxshmem_base::Result;").into_iter().collect::<Vec<_>>(), ["Result"]);
}
