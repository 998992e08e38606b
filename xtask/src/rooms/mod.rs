//! The rooms of the house: `cargo xtask rooms` prints the packages with their lines and which uses
//! which, and fails where the house is not as the design notes say.
//!
//! | fault | where it is found |
//! |---|---|
//! | a package uses one that the table in the design notes does not allow | [`table`] |
//! | a package depends on one that none of its files names | here |
//! | modules of a package that are siblings use each other in a circle | [`modules`] |
//! | two types, traits or aliases of a package have one name | [`doubles`] |
//! | a file is too long, or a comment too wide | [`lines`] |
//! | a word that is not the field's, or a doc comment that says nothing by itself | [`words`] |
//!
//! What only tests use is free: cargo allows circles of packages there, and code for tests alone is
//! not read. A module may use those within it and they may use it, as is usual in Rust; so only
//! circles of siblings count.

mod doubles;
mod lines;
mod modules;
mod table;
mod tokens;
mod words;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::run::{Failure, Job, Outcome, Verdict, metadata};
use doubles::Names;
use modules::Modules;
use table::Table;

/// The page with the table.
const DESIGN: &str = "book/src/design.md";

/// A package of the workspace.
struct Room {
    /// Its folder, which is what the table calls it; the package in the root is `src`.
    name: String,
    package: String,
    /// The roots of its libraries and programs.
    roots: Vec<PathBuf>,
    /// What it depends on: the package, the room if it is one, and whether only tests need it.
    uses: Vec<Use>,
    /// Its files, and those of them that are compiled into libraries and programs.
    files: Vec<PathBuf>,
    compiled: BTreeSet<PathBuf>,
}

struct Use {
    package: String,
    room: Option<String>,
    for_tests: bool,
}

/// Reads the words of these files, and of those in these folders, also where [`rooms`] does not.
pub(crate) fn words_of(folders: &[PathBuf]) -> Outcome {
    let asked = |file: &PathBuf| folders.iter().any(|folder| file.starts_with(folder));
    verdict(faults_of_words(files()?.into_iter().filter(asked))?)
}

/// Prints the table, and fails if there are faults.
pub(crate) fn rooms() -> Outcome {
    let page = fs::read_to_string(DESIGN)?;
    let table = Table::read(&page).map_err(|error| Failure::new(format!("{DESIGN}: {error}")))?;
    let mut rooms = read_rooms()?;
    let mut faults = Vec::new();
    for room in &mut rooms {
        faults.extend(faults_of_modules(room)?);
    }
    for room in &rooms {
        faults.extend(faults_of_arrows(room, &table));
        faults.extend(
            room.unnamed().map(|name| format!("{}: no file names {name}, on which it depends", room.name)),
        );
        for file in &room.files {
            faults.extend(lines::faults(file, &fs::read_to_string(file)?));
        }
    }
    let is_missing = |room: &&String| rooms.iter().all(|there| there.name != **room);
    faults
        .extend(table.rooms.iter().filter(is_missing).map(|room| format!("{DESIGN}: {room} is no package")));
    faults.extend(faults_of_words(files()?.into_iter().filter(|file| words::is_checked(file)))?);
    print_table(&mut rooms, &table)?;
    verdict(faults)
}

fn verdict(faults: Vec<String>) -> Outcome {
    if faults.is_empty() {
        return Ok(Verdict::Passed);
    }
    Err(Failure::new(format!("{} faults\n{}", faults.len(), faults.join("\n"))))
}

fn faults_of_words(files: impl Iterator<Item = PathBuf>) -> Result<Vec<String>, Failure> {
    let mut faults = Vec::new();
    for file in
        files.filter(|file| file.extension().is_some_and(|it| ["rs", "md", "h"].iter().any(|of| it == *of)))
    {
        faults.extend(words::faults(&file, &fs::read_to_string(&file)?));
    }
    Ok(faults)
}

/// Asks git for the files.
fn files() -> Result<Vec<PathBuf>, Failure> {
    let files = Job::new("git", ["ls-files", "--cached", "--others", "--exclude-standard"]).output()?;
    let files = String::from_utf8_lossy(&files.stdout).lines().map(PathBuf::from).collect::<Vec<_>>();
    Ok(files.into_iter().filter(|file| file.is_file()).collect())
}

/// Asks cargo for the packages, and says which files are whose.
fn read_rooms() -> Result<Vec<Room>, Failure> {
    let metadata = metadata("--no-deps")?;
    let root = PathBuf::from(text(&metadata["workspace_root"]));
    let inside = |path: &str| Path::new(path).strip_prefix(&root).unwrap_or(Path::new(path)).to_owned();
    let mut rooms: Vec<Room> =
        list(&metadata["packages"]).map(|package| Room::read(package, &inside)).collect();
    for file in files()? {
        let is_source = file.extension().is_some_and(|it| ["rs", "c", "h", "cu"].iter().any(|of| it == *of));
        let around = rooms.iter_mut().filter(|room| file.starts_with(room.folder()));
        let nearest = around.max_by_key(|room| room.folder().as_os_str().len());
        if let Some(room) = nearest.filter(|_| is_source) {
            room.files.push(file);
        }
    }
    Ok(rooms)
}

impl Room {
    fn read(package: &Value, inside: &dyn Fn(&str) -> PathBuf) -> Self {
        let name = |manifest: &Path| match manifest.to_string_lossy() {
            folder if folder.is_empty() => "src".to_owned(),
            folder => folder.into_owned(),
        };
        let is_library_or_program = |target: &&Value| {
            list(&target["kind"]).all(|kind| !["test", "example", "bench"].contains(&text(kind)))
        };
        let targets = list(&package["targets"]).filter(is_library_or_program);
        let uses = list(&package["dependencies"]).map(|dependency| Use {
            package: text(&dependency["name"]).to_owned(),
            room: dependency["path"].as_str().map(|path| name(&inside(path))),
            for_tests: text(&dependency["kind"]) == "dev",
        });
        let manifest = inside(text(&package["manifest_path"]));
        Self {
            name: name(manifest.parent().unwrap_or(Path::new(""))),
            package: text(&package["name"]).to_owned(),
            roots: targets.map(|target| inside(text(&target["src_path"]))).collect(),
            uses: uses.collect(),
            files: Vec::new(),
            compiled: BTreeSet::new(),
        }
    }

    /// Where its files are; the package in the root has all that no other has.
    fn folder(&self) -> &Path {
        Path::new(if self.name == "src" { "" } else { &self.name })
    }

    /// The rooms it uses, and the libraries of which the table says whose they are.
    fn arrows<'a>(&'a self, table: &'a Table) -> impl Iterator<Item = &'a str> {
        let used = self.uses.iter().filter(|used| !used.for_tests);
        let names = used.map(|used| used.room.as_deref().unwrap_or(&used.package));
        names.filter(|name| {
            table.is_library(name) || self.uses.iter().any(|used| used.room.as_deref() == Some(name))
        })
    }
    /// The packages on which it depends and that none of its files names.
    fn unnamed(&self) -> impl Iterator<Item = &str> {
        // A program of its own may be an example's file.
        let all = self.files.iter().chain(&self.compiled);
        let sources = all.filter(|file| file.extension().is_some_and(|it| it == "rs"));
        let sources: String = sources.filter_map(|file| fs::read_to_string(file).ok()).collect();
        let names = move |package: &str| {
            let name = package.replace('-', "_");
            [format!("{name}::"), format!("use {name};")].iter().any(|found| sources.contains(found))
        };
        self.uses.iter().map(|used| used.package.as_str()).filter(move |package| !names(package))
    }
}

/// Reads a room's modules, and says which use each other in a circle and which names they define
/// twice.
fn faults_of_modules(room: &mut Room) -> Result<Vec<String>, Failure> {
    let (mut faults, mut names) = (Vec::new(), Names::default());
    for root in &room.roots {
        let modules = Modules::read(root, &|file| fs::read_to_string(file).ok()).map_err(Failure::new)?;
        for circle in modules.circles() {
            let uses = circle.uses.join("\n    ");
            faults.push(format!("{}: a circle of {}\n    {uses}", room.name, circle.modules.join(", ")));
        }
        names.add(root, &modules);
        room.compiled.extend(modules.files);
    }
    faults.extend(names.faults(&room.name));
    Ok(faults)
}

fn faults_of_arrows(room: &Room, table: &Table) -> Vec<String> {
    let used = room.arrows(table).filter(|name| !table.allows(&room.name, name));
    let mut faults: Vec<String> = used.map(|name| format!("{} may not use {name}", room.name)).collect();
    if !table.rooms.contains(&room.name) && !table.is_library(&room.name) {
        faults.push(format!("{DESIGN}: the table has no row for {}", room.name));
    }
    faults
}

/// A line for each room: its files and lines, without and with tests and examples, and what it
/// uses.
fn print_table(rooms: &mut [Room], table: &Table) -> Result<(), Failure> {
    let place = |name: &str| table.rooms.iter().position(|room| room == name).unwrap_or(usize::MAX);
    rooms.sort_by_key(|room| (place(&room.name), room.name.clone()));
    let lines = |file: &PathBuf| fs::read_to_string(file).map(|text| text.lines().count());
    println!("{:<18}{:<20}{:>6}{:>8}{:>15}  uses", "room", "package", "files", "lines", "tests & others");
    let (mut all_files, mut all_lines, mut all_others) = (0, 0, 0);
    for room in rooms {
        let compiled = room.files.iter().filter(|file| room.compiled.contains(*file));
        let files = compiled.clone().count();
        let own: usize = compiled.map(lines).sum::<Result<_, _>>()?;
        let all: usize = room.files.iter().map(lines).sum::<Result<_, _>>()?;
        let mut uses: Vec<&str> = room.arrows(table).collect();
        uses.sort_by_key(|name| (place(name), *name));
        let others = all - own;
        println!("{:<18}{:<20}{files:>6}{own:>8}{others:>15}  {}", room.name, room.package, uses.join(" "));
        (all_files, all_lines, all_others) = (all_files + files, all_lines + own, all_others + others);
    }
    println!("{:<38}{all_files:>6}{all_lines:>8}{all_others:>15}", "");
    Ok(())
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
