//! Types, traits and aliases of one name in one room.
//!
//! A reader who looks for a name finds one thing. What two modules define is two things, also where
//! both are private. What one module defines twice is one thing: each build has one of the two.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use super::modules::Modules;

/// What the crates of a room define.
#[derive(Default)]
pub(super) struct Names {
    /// For each name the modules that define it, and for each of them the places.
    by_name: BTreeMap<String, BTreeMap<CrateModule, BTreeSet<String>>>,
}

/// The root file of a crate, and the names from there to a module.
type CrateModule = (String, Vec<String>);

impl Names {
    /// Adds what a crate defines; `root` is its root file.
    pub(super) fn add(&mut self, root: &Path, modules: &Modules) {
        for (name, module, file, line) in modules.types() {
            let by_module = self.by_name.entry(name.to_owned()).or_default();
            let module = (root.display().to_string(), module.to_owned());
            by_module.entry(module).or_default().insert(format!("{}:{line}", file.display()));
        }
    }

    /// A line for each name that several modules define, with the places. A file that several
    /// crates have is one place.
    pub(super) fn faults(&self, room: &str) -> Vec<String> {
        let fault = |(name, by_module): (&String, &BTreeMap<CrateModule, BTreeSet<String>>)| {
            let apart: BTreeSet<&BTreeSet<String>> = by_module.values().collect();
            let places: BTreeSet<&str> = apart.iter().copied().flatten().map(String::as_str).collect();
            let places = Vec::from_iter(places).join(", ");
            (apart.len() > 1).then(|| format!("{room}: {name} is the name of several types: {places}"))
        };
        self.by_name.iter().filter_map(fault).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The faults of a room whose crates have these roots and files.
    fn of(roots: &[&str], files: &[(&str, &str)]) -> Vec<String> {
        let mut names = Names::default();
        let text = |path: &Path| {
            files.iter().find(|(name, _)| Path::new(name) == path).map(|(_, text)| (*text).to_owned())
        };
        for root in roots {
            let modules = Modules::read(Path::new(root), &text).unwrap();
            names.add(Path::new(root), &modules);
        }
        names.faults("a")
    }

    fn in_one_file(text: &str) -> Vec<String> {
        of(&["lib.rs"], &[("lib.rs", text)])
    }

    #[test]
    fn a_name_that_two_modules_define_is_a_fault_with_both_places() {
        let lib = ("lib.rs", "mod b;\nmod c;\npub(crate) unsafe trait State {}");
        let b = ("b.rs", "struct Link<T>(T);\n/// A state.\n#[derive(Debug)]\npub enum State { A }");
        let c = ("c/mod.rs", "mod d {\n pub(in crate::c) type Link = u8;\n}\nunion Only { a: u8 }");
        assert_eq!(
            of(&["lib.rs"], &[lib, b, c]),
            [
                "a: Link is the name of several types: b.rs:1, c/mod.rs:2",
                "a: State is the name of several types: b.rs:4, lib.rs:3",
            ]
        );
    }

    #[test]
    fn what_is_in_blocks_and_macros_is_not_the_module_s() {
        let in_blocks = "mod b { trait T { type Link; } impl T for u8 { type Link = u8; }
            fn f() { struct Link; }
            macro_rules! m { () => { struct Link; } }
            m! { struct Link; } }";
        assert_eq!(in_one_file(&format!("struct Link; {in_blocks}")), [""; 0]);
    }

    #[test]
    fn what_only_tests_have_does_not_count() {
        let text = "struct Link; mod b { #[cfg(test)] pub struct Link { a: u8 } use super::Link as State; }
            #[cfg(test)] mod tests { struct Link; struct State; }
            #[cfg(test)] use b::Link as Other; mod c { struct Other; } struct State;";
        assert_eq!(in_one_file(text), [""; 0]);
        assert_eq!(in_one_file(&format!("{text} mod d {{ struct Link; }}")).len(), 1);
    }

    #[test]
    fn each_build_has_one_of_what_a_module_defines_twice() {
        let text = "#[cfg(x)] mod b { struct Link; } #[cfg(not(x))] mod b {\n struct Link; }";
        assert_eq!(in_one_file(text), [""; 0]);
    }

    #[test]
    fn crates_of_a_room_may_share_a_file_and_not_a_name() {
        let (a, b) = (("a.rs", "mod c; struct Link;"), ("b.rs", "mod c;\nstruct Link;"));
        let found = of(&["a.rs", "b.rs"], &[a, b, ("c.rs", "struct State;")]);
        assert_eq!(found, ["a: Link is the name of several types: a.rs:1, b.rs:2"]);
    }
}
