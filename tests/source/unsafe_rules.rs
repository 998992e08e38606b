//! Rules that keep safe code from breaking memory, as far as the source shows whether they are
//! kept.
//!
//! What is public can be called, documented or not, and what is a public trait can be implemented,
//! unless it is sealed.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

/// The packages below the facade, and the facade.
const PACKAGES: [&str; 10] = [
    "runtime/base/src",
    "runtime/job/src",
    "runtime/memory/src",
    "runtime/progress/src",
    "runtime/net/src",
    "spaces/src",
    "ops/src",
    "teams/src",
    "collections/src",
    "src",
];

/// Public traits that are neither `unsafe` nor sealed, and why no unsafe code relies on them.
const OPEN_TRAITS: [(&str, &str); 9] = [
    ("Codec", "messages are words, and what they decode to is plain data or made by `serde`"),
    ("Element", "all plain data is one, and `Pod` is `unsafe`"),
    ("Home", "it allocates and names a team; collections have no unsafe code"),
    ("Listener", "it only gets notifications"),
    ("Looks", "it only learns that words may have changed"),
    ("Requests", "it only learns that kernels ask for something"),
    ("Shared", "what another process sent is checked before it is mapped"),
    ("Source", "the engine only polls it; what reads memory is `Words`, which is `unsafe`"),
    ("Watcher", "it only learns of entries"),
];

/// Safe items that are left out of the documentation of what users work with, and why they break
/// nothing.
const HIDDEN: [(&str, &str); 37] = [
    ("Bare", "its copies are `unsafe`"),
    ("allocation", "what changes the heap behind it is `unsafe`"),
    ("alone", "a device with memory of its own"),
    ("barrier", "a sync with another name"),
    ("blocks_in_use_elsewhere", "numbers"),
    ("check_awaited", "a question"),
    ("completed", "a wait"),
    ("default_context", "a context like any other"),
    ("device_handle", "numbers; what starts a kernel with them is `unsafe`"),
    ("device_place", "none unless the memory is that PE's; what devices do with places is `unsafe`"),
    ("domain", "a question, and a device, whose copies are `unsafe`"),
    ("extent", "numbers"),
    ("fetch_then", "an operation like any other; what it calls gets a value"),
    ("handle", "it completes and closes a context, as its owner may"),
    ("inside", "it checks bounds and alignment"),
    ("into_allocation", "the handle, which goes on as what it is"),
    ("is_idle", "a question"),
    ("is_whole", "a question"),
    ("made_from", "a team, which its context keeps"),
    ("messages_sent", "a number"),
    ("new", "it asserts bounds and alignment"),
    ("on_stream_then", "`on_stream`, and a function that gets the outcome"),
    ("all_idle", "a wait"),
    ("idle", "a wait"),
    ("others_idle", "a wait"),
    ("rebuilt", "a collective, which `World::rebuilt` is for programs"),
    ("survivors_giving", "what it gives is the caller's"),
    ("own", "an address"),
    ("pe", "what is unsafe of a PE says so"),
    ("place", "what transports do with places is `unsafe`"),
    ("places", "to make a team at one is `unsafe`"),
    ("predefined", "teams rely on nothing that is in their scratch memory for where they write"),
    ("read_together", "a copy"),
    ("reader", "an address or an offset; what reads there is `unsafe`"),
    ("ring_own", "it wakes this PE's waiters, which look again"),
    ("take_failed", "an error"),
    ("tracing_and_flush", "a switch of what is recorded"),
];

fn sources() -> Vec<(PathBuf, String)> {
    fn collect(folder: &Path, into: &mut Vec<(PathBuf, String)>) {
        for entry in fs::read_dir(folder).expect("a folder of sources").flatten() {
            let path = entry.path();
            if path.is_dir() {
                collect(&path, into);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("a source");
                into.push((path, text));
            }
        }
    }
    let mut all = Vec::new();
    for package in PACKAGES {
        collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join(package), &mut all);
    }
    assert!(all.len() > 100, "{} sources", all.len());
    all
}

/// The word behind `keyword` in a line.
fn named<'a>(line: &'a str, keyword: &str) -> Option<&'a str> {
    let behind = line.split_once(keyword)?.1;
    behind.split(|c: char| !c.is_alphanumeric() && c != '_').next().filter(|name| !name.is_empty())
}

#[test]
fn a_public_trait_is_unsafe_or_sealed_or_nothing_relies_on_it() {
    let mut sealed = 0;
    for (path, text) in sources() {
        for (at, _) in text.match_indices("\npub trait ") {
            let header = text[at..].split('{').next().expect("something");
            let name = named(header, "pub trait ").expect("a name");
            // The others are sealed themselves.
            if ["Sealed", ": Reducible", ": ExtendedAmo", ": StandardAmo"]
                .iter()
                .any(|it| header.contains(it))
            {
                sealed += 1;
                continue;
            }
            let known = OPEN_TRAITS.iter().any(|&(open, _)| open == name);
            assert!(
                known,
                "{}: anybody can implement `{name}`: seal it, make it `unsafe`, or say in {} why nothing relies on it",
                path.display(),
                file!()
            );
        }
    }
    assert!(sealed >= 10, "{sealed} sealed traits");
}

#[test]
fn what_is_hidden_is_unsafe_or_judged_or_the_insides_of_a_trait() {
    let mut hidden = 0;
    for (path, text) in sources() {
        let lines: Vec<&str> = text.lines().collect();
        for (at, _) in lines.iter().enumerate().filter(|(_, line)| line.trim() == "#[doc(hidden)]") {
            hidden += 1;
            let item = lines[at + 1..].iter().map(|line| line.trim());
            let item = item.clone().find(|line| !line.starts_with("#[") && !line.starts_with("//"));
            let item = item.expect("an item is hidden");
            let around = lines[..at].iter().rev().find(|line| line.starts_with(['p', 'i']));
            let of_trait = around
                .is_some_and(|line| line.starts_with("pub trait ") || line.starts_with("pub unsafe trait "));
            if item.contains("unsafe fn ") || (of_trait && !item.starts_with("pub ")) {
                continue;
            }
            let keywords = ["fn ", "mod ", "struct ", "trait ", "const ", "type ", "::"];
            let name = keywords.iter().find_map(|keyword| named(item, keyword)).unwrap_or(item);
            let judged = HIDDEN.iter().any(|&(judged, _)| judged == name);
            assert!(
                judged,
                "{}: `{name}` is hidden, but not private: make it `unsafe`, document it, or say in {} why it breaks nothing",
                path.display(),
                file!()
            );
        }
    }
    assert!(hidden >= 20, "{hidden} hidden items");
}
