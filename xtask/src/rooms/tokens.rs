//! What one source file says of modules: those it declares, the paths it names, and the types it
//! defines.
//!
//! Comments and strings are none of it, nor is what only tests are compiled with.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A module as its source shows it.
#[derive(Default)]
pub(super) struct Contents {
    /// Every path of two or more names, and every import.
    pub(super) paths: Vec<Vec<String>>,
    /// What `use` brings into the module's scope: the name and where it is from.
    pub(super) names: Vec<(String, Vec<String>)>,
    /// What `use …::*` brings in.
    pub(super) globs: Vec<Vec<String>>,
    pub(super) children: Vec<Child>,
    /// The types, traits and aliases that are the module's own items: the name and its line.
    pub(super) types: Vec<(String, usize)>,
}

/// What stands before the name of a type, a trait or an alias.
const TYPES: [&str; 5] = ["struct", "enum", "union", "trait", "type"];

/// A module declared in another.
pub(super) struct Child {
    pub(super) name: String,
    /// What it contains, or nothing if it has a file of its own.
    pub(super) contents: Option<Contents>,
    /// What `#[path = …]` says, once for each system or processor that has a file of its own.
    pub(super) paths: Vec<String>,
    /// Whether only tests have it.
    pub(super) test: bool,
}

/// Reads the tokens of a file, or of what stands between the braces of a module.
pub(super) fn read(tokens: TokenStream) -> Contents {
    let tokens: Vec<_> = tokens.into_iter().collect();
    let mut contents = Contents { types: types(&tokens), ..Contents::default() };
    scan(&tokens, &mut contents);
    contents
}

/// The types, traits and aliases among the items of a module. What stands in groups is not the
/// module's: functions, implementations, traits, macros and modules have their own.
fn types(tokens: &[TokenTree]) -> Vec<(String, usize)> {
    let (mut types, mut test) = (Vec::new(), false);
    let mut at = 0;
    while at < tokens.len() {
        let rest = &tokens[at..];
        at += match rest {
            [TokenTree::Punct(hash), TokenTree::Group(attribute), ..] if hash.as_char() == '#' => {
                test |= is_test(&attribute.stream().into_iter().collect::<Vec<_>>());
                2
            }
            _ if std::mem::take(&mut test) => {
                let public = visibility(rest);
                public + length_of_item(&rest[public..])
            }
            [TokenTree::Ident(kind), TokenTree::Ident(name), ..] if TYPES.iter().any(|it| kind == it) => {
                types.push((name.to_string(), name.span().start().line));
                2
            }
            [TokenTree::Ident(first), ..] if first == "use" => length_of_item(rest),
            _ => 1,
        };
    }
    types
}

fn scan(tokens: &[TokenTree], to: &mut Contents) {
    let (mut test, mut paths) = (false, Vec::new());
    let mut at = 0;
    while at < tokens.len() {
        let rest = &tokens[at..];
        if let [TokenTree::Punct(hash), TokenTree::Group(attribute), ..] = rest
            && hash.as_char() == '#'
            && attribute.delimiter() == Delimiter::Bracket
        {
            let words: Vec<_> = attribute.stream().into_iter().collect();
            test |= is_test(&words);
            paths.extend(path_of(&words));
            at += 2;
            continue;
        }
        at += visibility(rest);
        let rest = &tokens[at..];
        let (is_of_tests, paths) = (std::mem::take(&mut test), std::mem::take(&mut paths));
        let declared = word(rest.first()) == Some("mod".into());
        match rest {
            [_, TokenTree::Ident(name), TokenTree::Group(body), ..] if declared => {
                let contents = Some(read(body.stream()));
                to.children.push(Child { name: name.to_string(), contents, paths, test: is_of_tests });
                at += 3;
            }
            [_, TokenTree::Ident(name), ..] if declared => {
                to.children.push(Child { name: name.to_string(), contents: None, paths, test: is_of_tests });
                at += 3;
            }
            _ if is_of_tests => at += length_of_item(rest),
            [TokenTree::Ident(first), ..] if first == "use" => {
                let end = rest.iter().position(|token| is(token, ';')).unwrap_or(rest.len());
                imports(&[], &rest[1..end], to);
                at += end;
            }
            [TokenTree::Ident(_), ..] => {
                let (names, length) = path_at(rest);
                if names.len() > 1 {
                    to.paths.push(names);
                }
                at += length;
            }
            [TokenTree::Group(group), ..] => {
                scan(&group.stream().into_iter().collect::<Vec<_>>(), to);
                at += 1;
            }
            _ => at += 1,
        }
    }
}

/// The names of `a::b::c` at the beginning of `tokens`, and how many tokens they take.
fn path_at(tokens: &[TokenTree]) -> (Vec<String>, usize) {
    let mut names = Vec::from_iter(word(tokens.first()));
    let mut at = 1;
    while let [a, b, TokenTree::Ident(name), ..] = &tokens[at.min(tokens.len())..]
        && is(a, ':')
        && is(b, ':')
    {
        names.push(name.to_string());
        at += 3;
    }
    (names, at)
}

/// Adds what `use` imports: `tokens` is a tree of paths behind `prefix`.
fn imports(prefix: &[String], tokens: &[TokenTree], to: &mut Contents) {
    for tree in tokens.split(|token| is(token, ',')) {
        // `$crate` is `crate` in a macro of this package.
        let tree = if tree.first().is_some_and(|token| is(token, '$')) { &tree[1..] } else { tree };
        let (names, length) = path_at(tree);
        let path: Vec<String> = prefix.iter().cloned().chain(names).collect();
        // Behind the names: nothing, `as` and a name, or `::` and a group or a star.
        let rest = &tree[length.min(tree.len())..];
        match (rest, tree) {
            ([_, _, TokenTree::Group(group)], _) | ([], [TokenTree::Group(group)]) => {
                let path = if rest.is_empty() { prefix } else { &path };
                imports(path, &group.stream().into_iter().collect::<Vec<_>>(), to);
            }
            ([_, _, star], _) | ([], [star]) if is(star, '*') => {
                let path = if rest.is_empty() { prefix.to_vec() } else { path };
                to.paths.push(path.clone());
                to.globs.push(path);
            }
            // From another package, by `::name`.
            (_, [first, ..]) if is(first, ':') => {}
            (_, []) => {}
            (rest, _) => {
                let alias = rest.get(1).and_then(|token| word(Some(token)));
                let path = without_self(path);
                to.paths.push(path.clone());
                if let Some(name) = alias.or_else(|| path.last().cloned()) {
                    to.names.push((name, path));
                }
            }
        }
    }
}

/// `a::{self}` is `a`.
fn without_self(mut path: Vec<String>) -> Vec<String> {
    if path.len() > 1 && path.last().is_some_and(|name| name == "self") {
        path.pop();
    }
    path
}

/// Whether an attribute leaves its item to tests: `cfg(test)`, also within `all`.
fn is_test(words: &[TokenTree]) -> bool {
    match words {
        [TokenTree::Ident(cfg), TokenTree::Group(of)] if cfg == "cfg" => needs_test(of.stream()),
        _ => false,
    }
}

fn needs_test(predicate: TokenStream) -> bool {
    match &predicate.into_iter().collect::<Vec<_>>()[..] {
        [TokenTree::Ident(word)] => word == "test",
        [TokenTree::Ident(word), TokenTree::Group(of)] if word == "all" => {
            let of: Vec<_> = of.stream().into_iter().collect();
            of.split(|token| is(token, ',')).any(|one| needs_test(one.iter().cloned().collect()))
        }
        _ => false,
    }
}

/// What `path = "…"` says, also within `cfg_attr`.
fn path_of(words: &[TokenTree]) -> Option<String> {
    match words {
        [TokenTree::Ident(path), _, TokenTree::Literal(to)] if path == "path" => {
            Some(to.to_string().trim_matches('"').to_owned())
        }
        [TokenTree::Ident(condition), TokenTree::Group(of)] if condition == "cfg_attr" => {
            let of: Vec<_> = of.stream().into_iter().collect();
            of.split(|token| is(token, ',')).find_map(path_of)
        }
        _ => None,
    }
}

/// How many tokens an item has: up to its braces, or to `;`.
fn length_of_item(tokens: &[TokenTree]) -> usize {
    let first = word(tokens.first()).unwrap_or_default();
    let is_function = word(tokens.get(1)).is_some_and(|second| second == "fn");
    let braces_end_it = is_function || !["use", "static", "const"].contains(&&*first);
    let is_end = |token: &TokenTree| match token {
        TokenTree::Group(group) => braces_end_it && group.delimiter() == Delimiter::Brace,
        token => is(token, ';'),
    };
    tokens.iter().position(is_end).map_or(tokens.len(), |end| end + 1)
}

/// How many tokens `pub` and `pub(…)` take.
fn visibility(tokens: &[TokenTree]) -> usize {
    match tokens {
        [TokenTree::Ident(word), TokenTree::Group(_), ..] if word == "pub" => 2,
        [TokenTree::Ident(word), ..] if word == "pub" => 1,
        _ => 0,
    }
}

fn word(token: Option<&TokenTree>) -> Option<String> {
    match token {
        Some(TokenTree::Ident(word)) => Some(word.to_string()),
        _ => None,
    }
}

fn is(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}
