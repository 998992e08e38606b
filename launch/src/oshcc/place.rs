//! Where the headers and `libshmem` are, as seen from this program, and the options that lead the
//! compiler there.

use std::{
    ffi::OsString,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use super::line::{Line, Linking, Whole};

/// Headers and libraries that belong together.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) include: PathBuf,
    pub(super) library: PathBuf,
}

/// The headers of the source tree that this was built from, for programs that are run where they
/// were built.
const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../capi/include");

/// What `libshmem.a` needs beside the compiler's own libraries: `rustc --print native-static-libs`.
/// In a program that is static as a whole, the compiler has its own way to what `gcc_s` is for.
const SYSTEM: [&str; 6] = ["-lutil", "-lrt", "-lpthread", "-lm", "-ldl", "-lc"];
const UNWINDER: &str = "-lgcc_s";
/// All routines of C are one object of the archive: leaves those out that the program does not
/// call.
const ONLY_USED: &str = "-Wl,--gc-sections";

impl Place {
    /// Around the program that runs.
    pub(super) fn find() -> Result<Self, String> {
        let program = std::env::current_exe().map_err(|error| format!("cannot find itself: {error}"))?;
        let program = program.canonicalize().unwrap_or(program);
        Self::around(program.parent().unwrap_or(Path::new("/")))
    }

    /// Around programs in `folder`: a prefix that has been installed to, or a folder that cargo
    /// builds to.
    fn around(folder: &Path) -> Result<Self, String> {
        let has_header = |include: &Path| include.join("shmem.h").is_file();
        let prefix = folder.parent().unwrap_or(folder);
        let include = prefix.join("include");
        if has_header(&include) {
            return Ok(Self { include, library: prefix.join("lib") });
        }
        let trees = folder.ancestors().map(|tree| tree.join("capi/include"));
        match trees.chain([PathBuf::from(SOURCE)]).find(|include| has_header(include)) {
            Some(include) => {
                Ok(Self { include: include.canonicalize().unwrap_or(include), library: folder.to_owned() })
            }
            None => Err(format!("shmem.h is missing: it is not in {}", include.display())),
        }
    }

    /// That the library is there.
    pub(super) fn check(&self, linking: Linking) -> Result<(), String> {
        let name = if linking == Linking::Static { "libshmem.a" } else { "libshmem.so" };
        match self.library.join(name).exists() {
            true => Ok(()),
            false => Err(format!("{name} is missing: it is not in {}", self.library.display())),
        }
    }

    /// The whole line for the compiler.
    pub(super) fn add(&self, line: Line) -> Vec<OsString> {
        let mut args = self.before();
        args.extend(line.args);
        args.extend(self.behind(line.linking, line.whole));
        args
    }

    /// What comes before the user's options.
    pub(super) fn before(&self) -> Vec<OsString> {
        // Named again, what the compiler searches anyway would come at another place.
        if self.include == Path::new("/usr/include") {
            return Vec::new();
        }
        vec!["-I".into(), self.include.clone().into()]
    }

    /// What comes behind the user's files.
    pub(super) fn behind(&self, linking: Linking, whole: Whole) -> Vec<OsString> {
        let folder = [OsString::from("-L"), self.library.clone().into()];
        match (linking, whole) {
            (Linking::None, _) => Vec::new(),
            // The program that loads it brings the one libshmem.a that a process may have.
            (Linking::Static, Whole::SharedLibrary) => Vec::new(),
            (Linking::Static, _) => {
                let unwinder = (whole == Whole::Program).then_some(UNWINDER);
                let system = unwinder.into_iter().chain(SYSTEM).map(OsString::from);
                folder.into_iter().chain([ONLY_USED.into(), "-l:libshmem.a".into()]).chain(system).collect()
            }
            (Linking::Shared, _) => {
                let path = self.run_path();
                folder.into_iter().chain(path).chain(["-lshmem".into()]).collect()
            }
        }
    }

    /// Has programs find `libshmem.so` where it is now.
    fn run_path(&self) -> Vec<OsString> {
        let library = self.library.clone().into_os_string();
        // A comma would end it.
        if library.as_bytes().contains(&b',') {
            return vec!["-Xlinker".into(), "-rpath".into(), "-Xlinker".into(), library];
        }
        let mut option = OsString::from("-Wl,-rpath,");
        option.push(library);
        vec![option]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(prefix: &str) -> Place {
        Place { include: format!("{prefix}/include").into(), library: format!("{prefix}/lib").into() }
    }

    fn line(text: &str) -> Line {
        Line::read(text.split(' ').map(OsString::from).collect())
    }

    #[test]
    fn the_headers_come_first_and_the_library_last() {
        assert_eq!(
            place("/opt").add(line("a.c -lm")),
            ["-I", "/opt/include", "a.c", "-lm", "-L", "/opt/lib", "-Wl,-rpath,/opt/lib", "-lshmem"]
        );
        assert_eq!(place("/opt").add(line("-c a.c")), ["-I", "/opt/include", "-c", "a.c"]);
        assert_eq!(place("/usr").add(line("-c a.c")), ["-c", "a.c"]);
        let path = place("/a,b").run_path();
        assert_eq!(path, ["-Xlinker", "-rpath", "-Xlinker", "/a,b/lib"]);
    }

    #[test]
    fn a_shared_library_leaves_the_archive_to_its_program() {
        let place = place("/opt");
        assert!(place.behind(Linking::Static, Whole::SharedLibrary).is_empty());
        let program = place.behind(Linking::Static, Whole::Program);
        assert!(program.contains(&UNWINDER.into()) && program.contains(&"-l:libshmem.a".into()));
        assert!(!place.behind(Linking::Static, Whole::StaticProgram).contains(&UNWINDER.into()));
    }

    #[test]
    fn what_is_missing_is_named() {
        let reason = place("/nowhere").check(Linking::Static).unwrap_err();
        assert_eq!(reason, "libshmem.a is missing: it is not in /nowhere/lib");
    }
}
