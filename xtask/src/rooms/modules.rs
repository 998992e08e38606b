//! The modules of one crate, which of them uses which, and circles of siblings.
//!
//! Modules are found as the compiler finds them, from the crate's root by `mod` declarations. A
//! path leads to the module that has what it names, also where another module passes that on by
//! `pub use`.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use super::tokens::{self, Contents};

/// The names from the crate's root to a module; none for the root.
type Name = Vec<String>;

/// Longer chains of imports of imports are not followed, as they may be circles.
const LONGEST_CHAIN: usize = 8;

/// A crate's modules, without those that only tests have.
#[derive(Default)]
pub(super) struct Modules {
    modules: BTreeMap<Name, Module>,
    /// The files they are in.
    pub(super) files: BTreeSet<PathBuf>,
}

#[derive(Default)]
struct Module {
    children: BTreeSet<String>,
    /// Its files, which are several if processors have their own.
    sources: Vec<(PathBuf, Contents)>,
}

/// Siblings that use each other in a circle.
#[derive(Debug, PartialEq)]
pub(super) struct Circle {
    pub(super) modules: Vec<String>,
    /// For each two of them of which one uses the other: who does, where first, and how often in
    /// all.
    pub(super) uses: Vec<String>,
}

impl Modules {
    /// Reads the crate whose root is the file `root`. `text` reads a file.
    pub(super) fn read(root: &Path, text: &dyn Fn(&Path) -> Option<String>) -> Result<Self, String> {
        let mut modules = Self::default();
        modules.read_file(Name::new(), root, parent(root), text)?;
        Ok(modules)
    }

    /// Reads a file; its child modules have their files in `folder`.
    fn read_file(
        &mut self,
        name: Name,
        file: &Path,
        folder: &Path,
        text: &dyn Fn(&Path) -> Option<String>,
    ) -> Result<(), String> {
        let source = text(file).ok_or_else(|| format!("{}: cannot be read", file.display()))?;
        let tokens = source.parse().map_err(|error| format!("{}: {error}", file.display()))?;
        self.files.insert(file.to_owned());
        self.add(name, file, folder, tokens::read(tokens), text)
    }

    fn add(
        &mut self,
        name: Name,
        file: &Path,
        folder: &Path,
        mut contents: Contents,
        text: &dyn Fn(&Path) -> Option<String>,
    ) -> Result<(), String> {
        for child in std::mem::take(&mut contents.children).into_iter().filter(|child| !child.test) {
            let path: Name = name.iter().cloned().chain([child.name.clone()]).collect();
            let inner = folder.join(&child.name);
            self.modules.entry(name.clone()).or_default().children.insert(child.name);
            if let Some(contents) = child.contents {
                self.add(path, file, &inner, contents, text)?;
                continue;
            }
            for own in child.paths.iter().map(|path| parent(file).join(path)) {
                self.read_file(path.clone(), &own, parent(&own), text)?;
            }
            let (beside, within) = (inner.with_extension("rs"), inner.join("mod.rs"));
            match text(&beside).is_some() {
                _ if !child.paths.is_empty() => {}
                true => self.read_file(path, &beside, &inner, text)?,
                false => self.read_file(path, &within, &inner, text)?,
            }
        }
        self.modules.entry(name).or_default().sources.push((file.to_owned(), contents));
        Ok(())
    }

    /// The types, traits and aliases that modules define: the name, the module, the file and the
    /// line.
    pub(super) fn types(&self) -> impl Iterator<Item = (&str, &[String], &Path, usize)> {
        let sources =
            self.modules.iter().flat_map(|(name, module)| module.sources.iter().map(move |it| (name, it)));
        sources.flat_map(|(module, (file, contents))| {
            contents.types.iter().map(|(name, line)| (&**name, &**module, &**file, *line))
        })
    }

    /// The circles of siblings, from the root downward.
    pub(super) fn circles(&self) -> Vec<Circle> {
        let mut uses: BTreeMap<&[String], Uses> = BTreeMap::new();
        let sources =
            self.modules.iter().flat_map(|(from, module)| module.sources.iter().map(move |it| (from, it)));
        for (from, (file, contents)) in sources {
            for path in &contents.paths {
                let Some((to, _)) = self.resolve(from, path, LONGEST_CHAIN) else { continue };
                let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
                // Between a module and those within it there is no order.
                if let (Some(a), Some(b)) = (from.get(common), to.get(common)) {
                    let place = format!("{}: {}", file.display(), path.join("::"));
                    let places = uses.entry(&from[..common]).or_default();
                    places.entry((a.clone(), b.clone())).or_default().push(place);
                }
            }
        }
        uses.iter().flat_map(|(within, uses)| circles_of(within, uses)).collect()
    }

    /// The module that has what `path` names, seen from the module `from`, and whether it is the
    /// module itself that is named. Nothing if it is in another package.
    fn resolve(&self, from: &[String], path: &[String], chain: usize) -> Option<(Name, bool)> {
        let mut at = from.to_vec();
        let mut rest = path.iter();
        match path.first()?.as_str() {
            "crate" => at.clear(),
            "self" => {}
            "super" => drop(at.pop()?),
            first => {
                let (to, is_module) = self.look_up(&at, first, chain)?;
                if !is_module {
                    return Some((to, false));
                }
                at = to;
            }
        }
        rest.next();
        for name in rest {
            if name == "super" {
                at.pop()?;
                continue;
            }
            match self.look_up(&at, name, chain) {
                Some((to, true)) => at = to,
                Some(item) => return Some(item),
                None => return Some((at, false)),
            }
        }
        Some((at, true))
    }

    /// What `name` is within a module: one of its children, or what it imports. An item of its own
    /// is nothing.
    fn look_up(&self, module: &[String], name: &str, chain: usize) -> Option<(Name, bool)> {
        let (chain, here) = (chain.checked_sub(1)?, self.modules.get(module)?);
        if here.children.contains(name) {
            return Some((module.iter().cloned().chain([name.to_owned()]).collect(), true));
        }
        // `use a::a` and `use self::…` are looked up in what the module has, not in what they
        // bring.
        let contents = here.sources.iter().map(|(_, contents)| contents);
        let names = contents.clone().flat_map(|contents| &contents.names);
        let imported = names.filter(|(known, path)| known == name && path[0] != name);
        let by_name = imported.filter_map(|(_, path)| self.resolve(module, path, chain)).next();
        by_name.or_else(|| {
            let globs = contents.flat_map(|contents| &contents.globs);
            let globs = globs.filter_map(|path| self.resolve(module, path, chain));
            globs
                .filter(|(to, is_module)| *is_module && to != module)
                .find_map(|(to, _)| self.look_up(&to, name, chain))
        })
    }
}

/// Which sibling uses which, and where.
type Uses = BTreeMap<(String, String), Vec<String>>;

fn circles_of(within: &[String], uses: &Uses) -> Vec<Circle> {
    let reached_from = |start: &str| {
        let (mut reached, mut next) = (BTreeSet::new(), vec![start.to_owned()]);
        while let Some(at) = next.pop() {
            next.extend(
                uses.keys()
                    .filter(|(a, _)| *a == at)
                    .map(|(_, b)| b.clone())
                    .filter(|b| reached.insert(b.clone())),
            );
        }
        reached
    };
    let all: BTreeMap<&String, BTreeSet<String>> = uses.keys().map(|(a, _)| (a, reached_from(a))).collect();
    let mut seen = BTreeSet::new();
    let mut circles = Vec::new();
    for (start, reached) in all.iter().filter(|(start, reached)| reached.contains(**start)) {
        let members: Vec<String> = reached
            .iter()
            .filter(|to| all.get(to).is_some_and(|back| back.contains(*start)))
            .cloned()
            .collect();
        if !seen.insert(members.clone()) {
            continue;
        }
        let between = uses.iter().filter(|((a, b), _)| members.contains(a) && members.contains(b));
        let uses =
            between.map(|((a, b), places)| format!("{a} -> {b}: {} ({} in all)", places[0], places.len()));
        let full = |name: &String| within.iter().chain([name]).cloned().collect::<Vec<_>>().join("::");
        circles.push(Circle { uses: uses.collect(), modules: members.iter().map(full).collect() });
    }
    circles
}

fn parent(file: &Path) -> &Path {
    file.parent().unwrap_or(Path::new(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The circles of a crate with these files.
    fn circles(files: &[(&str, &str)]) -> Vec<Circle> {
        let text = |path: &Path| {
            files.iter().find(|(name, _)| Path::new(name) == path).map(|(_, text)| (*text).to_owned())
        };
        Modules::read(Path::new("src/lib.rs"), &text).unwrap().circles()
    }

    fn members(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        circles(files).into_iter().map(|circle| circle.modules).collect()
    }

    #[test]
    fn siblings_that_use_each_other_are_a_circle_with_its_places() {
        let a = ("src/a.rs", "use crate::b::B; pub struct A; fn f() { super::b::g(); crate::c::h() }");
        let b = ("src/b.rs", "pub struct B(crate::a::A);");
        let found = circles(&[("src/lib.rs", "mod a; pub(crate) mod b; mod c;"), a, b, ("src/c.rs", "")]);
        let uses = ["a -> b: src/a.rs: crate::b::B (2 in all)", "b -> a: src/b.rs: crate::a::A (1 in all)"];
        assert_eq!(found.len(), 1);
        assert_eq!(
            (&found[0].modules[..], &found[0].uses[..]),
            (&["a", "b"].map(String::from)[..], &uses.map(String::from)[..])
        );
    }

    #[test]
    fn a_longer_circle_is_found_through_folders_and_modules_within_files() {
        let lib = ("src/lib.rs", "mod a { use crate::b; fn f() { b::inner::f() } } mod b; mod c;");
        let b = ("src/b/mod.rs", "pub mod inner;");
        let inner = ("src/b/inner.rs", "use crate::{c::{self, f as g}, a as _};");
        let c = ("src/c.rs", "use super::a::X;");
        assert_eq!(members(&[lib, b, inner, c]), [["a", "b", "c"]]);
    }

    #[test]
    fn circles_within_a_folder_are_those_of_its_children() {
        let files = [
            ("src/lib.rs", "#[path = \"other/a.rs\"] pub(crate) mod a;"),
            ("src/other/a.rs", "mod x; mod y;"),
            ("src/other/x.rs", "use super::y::*;"),
            ("src/other/y.rs", "fn f() -> super::x::X {}"),
        ];
        assert_eq!(members(&files), [["a::x", "a::y"]]);
    }

    #[test]
    fn what_a_parent_passes_on_is_its_child_s() {
        let lib = (
            "src/lib.rs",
            "mod a; mod b; pub use a::{A as Named}; pub use b::*; use self::c::C; mod c { pub struct C; }",
        );
        let a = ("src/a.rs", "pub struct A; use crate::B; use crate::C;");
        // `B` is known to be of `b` only by its name there, which is not looked for; `b::B` is.
        let b = ("src/b.rs", "pub struct B(super::Named);");
        assert_eq!(members(&[lib, a, b]), [[""; 0]; 0]);
        let a = ("src/a.rs", "pub struct A; use crate::b::B;");
        assert_eq!(members(&[lib, a, b]), [["a", "b"]]);
    }

    #[test]
    fn a_module_and_those_within_it_are_no_circle() {
        let lib = ("src/lib.rs", "mod a; pub struct Root; use a::A;");
        let a = ("src/a.rs", "mod b; use b::B; use crate::Root; pub struct A;");
        let b = ("src/a/b.rs", "use super::A; use crate::a::*; pub struct B;");
        assert_eq!(members(&[lib, a, b]), [[""; 0]; 0]);
    }

    #[test]
    fn tests_comments_strings_and_other_packages_are_not_looked_at() {
        let lib =
            ("src/lib.rs", "mod a; mod b; #[cfg(test)] mod tests; #[cfg(all(test, not(loom)))] mod more;");
        let a = ("src/a.rs", "use crate::b::B; use std::a::X; use ::b::Y;");
        let b = (
            "src/b.rs",
            "//! crate::a::A\n// crate::a::A\nconst B: &str = \"crate::a::A\"; use b::a; fn f() { std::a::f() }
            #[cfg(test)] pub(crate) mod tests { use crate::a::A; }
            #[cfg(test)] use crate::a::A;
            #[cfg(test)] const fn f(a: crate::a::A) { crate::a::f() }",
        );
        assert_eq!(members(&[lib, a, b]), [[""; 0]; 0]);
        let b = ("src/b.rs", "#[cfg(test)] fn f() {} #[cfg(any(test, unix))] use crate::a::A;");
        assert_eq!(members(&[lib, a, b]), [["a", "b"]]);
    }

    #[test]
    fn each_processor_s_file_of_a_module_is_read() {
        let files = [
            ("src/lib.rs", "mod b; #[cfg_attr(x, path = \"x.rs\")] #[cfg_attr(y, path = \"y.rs\")] mod a;"),
            ("src/x.rs", "use crate::b::B;"),
            ("src/y.rs", ""),
            ("src/b.rs", "use crate::a::A;"),
        ];
        assert_eq!(members(&files), [["a", "b"]]);
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let text = |path: &Path| (path == Path::new("src/lib.rs")).then(|| "mod a;".to_owned());
        let error = Modules::read(Path::new("src/lib.rs"), &text).err();
        assert_eq!(error.as_deref(), Some("src/a/mod.rs: cannot be read"));
    }
}
