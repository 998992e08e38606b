//! That nothing is missing: the library defines every routine of the table, and the conformance
//! programs call each.

mod common;
#[path = "common/library.rs"]
mod library;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use common::{Ended, folder, programs};
use library::symbols;
use oxshmem_capi_table::{Routine, Status, handles::HANDLES, routines};

/// Routines that the library must have: those of the proposals are extensions, which it may not
/// have yet.
fn required() -> impl Iterator<Item = Routine> {
    routines().filter(|routine| !is_extension(routine))
}

fn is_extension(routine: &Routine) -> bool {
    matches!(routine.form.status, Status::Spaces | Status::Kinds)
}

/// Names as a list for people, by the groups that they belong to.
fn by_group(missing: &[Routine]) -> String {
    let mut groups = BTreeMap::<_, Vec<&str>>::new();
    for routine in missing {
        groups.entry((routine.group.section, routine.group.name)).or_default().push(&routine.name);
    }
    let line = |((section, group), names): (&(&str, &str), &Vec<&str>)| {
        format!("  {section:8} {group:28} {:4}: {}\n", names.len(), names.join(" "))
    };
    groups.iter().map(line).collect()
}

#[test]
fn the_library_defines_every_routine_and_its_twin() {
    let found = symbols(&["-D", "--defined-only"], &programs().join("libshmem.so"));
    let kind = |name: &str| found.get(name).map(|symbol| symbol.kind);
    let missing: Vec<_> = required().filter(|routine| kind(&routine.name).is_none()).collect();
    assert!(missing.is_empty(), "{} routines are not defined:\n{}", missing.len(), by_group(&missing));
    let mut wrong = Vec::new();
    for routine in routines().filter(|routine| kind(&routine.name).is_some()) {
        let twin = routine.profiling_name();
        let is_twin_right = twin.is_none_or(|twin| kind(&twin) == Some('T'));
        if kind(&routine.name) != Some('W') || !is_twin_right {
            wrong.push(routine);
        }
    }
    assert!(wrong.is_empty(), "not weak, or without a strong twin:\n{}", by_group(&wrong));
}

#[test]
fn the_library_defines_nothing_else_but_the_handles() {
    let table: BTreeSet<_> = routines().map(|routine| routine.name).collect();
    let handles: BTreeSet<_> = HANDLES.iter().map(|handle| handle.name).collect();
    let found = symbols(&["-D", "--defined-only"], &programs().join("libshmem.so"));
    let is_known = |name: &&String| {
        let base = name.strip_prefix('p').unwrap_or(name);
        // The headers' own names begin like this.
        let is_routine = table.contains(*name) || table.contains(base) || base.starts_with("shmem_impl_");
        is_routine || handles.contains(name.as_str())
    };
    let others: Vec<_> = found.keys().filter(|name| !is_known(name)).collect();
    assert!(others.is_empty(), "programs may have such names: {others:?}");
    let missing: Vec<_> = handles.iter().filter(|name| !found.contains_key(**name)).collect();
    assert!(missing.is_empty(), "not there for bindings: {missing:?}");
}

/// The conformance programs.
fn sources() -> Vec<PathBuf> {
    let entries = fs::read_dir(folder("tests/c")).expect("there are programs");
    let files = entries.map(|entry| entry.expect("readable").path());
    let mut programs: Vec<_> = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "c" || extension == "cpp"))
        .collect();
    programs.sort();
    programs
}

/// What a program calls: the names that its object file leaves undefined.
fn calls(source: &Path) -> BTreeSet<String> {
    let is_cxx = source.extension().is_some_and(|extension| extension == "cpp");
    let name = source.file_name().unwrap_or_default().display();
    let object =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("coverage-{}-{name}.o", std::process::id()));
    let mut compiler = Command::new(if is_cxx { "c++" } else { "cc" });
    compiler.args(["-c", "-O0", "-o"]).arg(&object).arg("-I").arg(folder("include")).arg(source);
    let ended = Ended::of(&mut compiler);
    assert_eq!(ended.status, Some(0), "{}: {}", source.display(), ended.stderr);
    let found = symbols(&["--undefined-only"], &object);
    fs::remove_file(object).expect("it was made");
    found.into_keys().collect()
}

#[test]
fn the_conformance_programs_call_every_routine() {
    let called: BTreeSet<String> = sources().iter().flat_map(|source| calls(source)).collect();
    let covered = |routine: &Routine| called.contains(&routine.name);
    let missing: Vec<_> = required().filter(|routine| !covered(routine)).collect();
    assert!(missing.is_empty(), "no program calls these {}:\n{}", missing.len(), by_group(&missing));
}
