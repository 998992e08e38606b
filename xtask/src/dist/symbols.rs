//! What programs and libraries need and offer: no symbol of a C library that is newer than the
//! packages promise, and the routines of the C API and nothing else, as they were linked by another
//! linker than that of the tests.

use std::{
    collections::BTreeSet,
    fmt, fs,
    path::{Path, PathBuf},
};

use crate::run::{Failure, Job};

/// The oldest version of the GNU C library that the packages run with.
pub(super) const OLDEST: Version = Version(2, 28);

/// Two numbers of a version; `GLIBC_2.2.5` counts as 2.2.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Version(u32, u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// Looks at all programs and shared libraries of an installation.
pub(super) fn check(tree: &Path) -> Result<(), Failure> {
    let mut newest = Version(0, 0);
    for file in files(tree)? {
        let output = Job::new("objdump", ["-T"]).args([&file]).output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let needed = needed(&text);
        if needed.is_empty() {
            let error = String::from_utf8_lossy(&output.stderr);
            return Err(Failure::new(format!("objdump finds no symbols in {}: {error}", file.display())));
        }
        if let Some((version, line)) = needed.iter().max().filter(|(version, _)| *version > OLDEST) {
            let file = file.display();
            return Err(Failure::new(format!("{file} needs the C library {version}, for `{line}`")));
        }
        newest = newest.max(needed.iter().max().map_or(newest, |(version, _)| *version));
    }
    let library = Job::new("objdump", ["-T"]).args([&tree.join("lib/libshmem.so")]).output()?;
    exports(&String::from_utf8_lossy(&library.stdout))?;
    links_statically(tree)?;
    println!("programs and libraries need the C library {newest}, and {OLDEST} is promised");
    Ok(())
}

/// That what `objdump -T` has listed are all routines with their twins, and no more.
fn exports(symbols: &str) -> Result<(), Failure> {
    let offered = symbols.lines().filter(|line| line.contains(" .") && !line.contains("*UND*"));
    let offered: BTreeSet<_> = offered.filter_map(|line| line.split_whitespace().last()).collect();
    let mut known = BTreeSet::new();
    for routine in oxshmem_capi_table::routines() {
        for name in routine.profiling_name().into_iter().chain([routine.name]) {
            if !offered.contains(name.as_str()) {
                return Err(Failure::new(format!("libshmem.so has no {name}")));
            }
            known.insert(name);
        }
    }
    for handle in oxshmem_capi_table::handles::HANDLES {
        if !offered.contains(handle.name) {
            return Err(Failure::new(format!("libshmem.so has no variable {}", handle.name)));
        }
        known.insert(handle.name.to_owned());
    }
    let is_other = |name: &&&str| {
        let base = name.strip_prefix('p').unwrap_or(name);
        // The headers' own names begin like this, and old names have twins too.
        !known.contains(**name) && !known.contains(base) && !base.starts_with("shmem_impl_")
    };
    let others: Vec<_> = offered.iter().filter(is_other).collect();
    match others.first() {
        None => Ok(()),
        Some(one) => {
            Err(Failure::new(format!("libshmem.so exports {} other names, such as {one}", others.len())))
        }
    }
}

fn files(tree: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut files = vec![tree.join("lib/libshmem.so")];
    for entry in fs::read_dir(tree.join("bin"))? {
        let path = entry?.path();
        if !path.is_symlink() {
            files.push(path);
        }
    }
    Ok(files)
}

/// Each versioned symbol of the C library that `objdump -T` has listed, with its line.
fn needed(symbols: &str) -> Vec<(Version, &str)> {
    let version = |line: &str| {
        let (_, rest) = line.split_once("GLIBC_")?;
        let mut numbers = rest.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().ok());
        Some(Version(numbers.next()??, numbers.next()??))
    };
    symbols.lines().filter_map(|line| Some((version(line)?, line.trim()))).collect()
}

/// The symbols of `libshmem.a` have no versions: a program is linked with it and the oldest C
/// library.
fn links_statically(tree: &Path) -> Result<(), Failure> {
    let zig = super::zig::compiler()?;
    let source = tree.with_extension("c");
    fs::write(&source, "#include <shmem.h>\nint main(void) { shmem_init(); shmem_finalize(); return 0; }\n")?;
    let program = tree.with_extension("out");
    let linked = zig
        .args([format!("x86_64-linux-gnu.{OLDEST}")])
        .args(["-I".as_ref(), tree.join("include").as_path(), "-o".as_ref(), &program, &source])
        .args([tree.join("lib/libshmem.a").as_path(), "-lunwind".as_ref(), "-lpthread".as_ref()])
        .args(["-ldl", "-lrt", "-lm", "-lutil"])
        .limit(300)
        .run();
    let _ = (fs::remove_file(source), fs::remove_file(program));
    linked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_symbol_decides() {
        let text = "\
libshmem.so:     file format elf64-x86-64

DYNAMIC SYMBOL TABLE:
0000000000000000      DF *UND*  0000000000000000 (GLIBC_2.2.5) memcpy
0000000000000000      DF *UND*  0000000000000000 (GLIBC_2.34) dlsym
0000000000000000  w   DF *UND*  0000000000000000  Base        gettid
0000000000000000      DF *UND*  0000000000000000 (GCC_3.0)    _Unwind_Backtrace
0000000000000000      DF *UND*  0000000000000000  GLIBC_2.9  pipe2
";
        let needed = needed(text);
        let versions: Vec<_> = needed.iter().map(|(version, _)| *version).collect();
        assert_eq!(versions, [Version(2, 2), Version(2, 34), Version(2, 9)]);
        assert!(needed.iter().max().unwrap().1.ends_with("dlsym"));
        assert!(Version(2, 9) < OLDEST && Version(2, 34) > OLDEST);
    }

    #[test]
    fn a_library_that_lacks_a_routine_or_has_another_name_is_seen() {
        let line =
            |name: &str| format!("00000000001d9600 g    DF .text  00000000000000b5  Base        {name}\n");
        let names = oxshmem_capi_table::routines()
            .flat_map(|routine| routine.profiling_name().into_iter().chain([routine.name]));
        let handles = oxshmem_capi_table::handles::HANDLES.iter().map(|handle| handle.name.to_owned());
        let all: String = names.chain(handles).map(|name| line(&name)).collect();
        let needed = "0000000000000000      DF *UND*  0000000000000000 (GLIBC_2.34) dlsym\n";
        assert!(exports(&format!("{all}{needed}")).is_ok());
        assert!(exports(&format!("{all}{}", line("rust_panic"))).is_err());
        assert!(exports(&all.replace(" shmem_init\n", " init\n")).is_err());
        assert!(exports(&all.replace(" SHMEM_TEAM_WORLD\n", "\n")).is_err());
    }
}
