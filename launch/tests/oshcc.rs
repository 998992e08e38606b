//! `oshcc` and `oshc++` as their users call them: what they make runs, and what they are given gets
//! to the compiler.

mod common;

use std::{
    ffi::OsStr,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use common::{Ended, oshrun};

const PROGRAM: &str = r#"
#include <shmem.h>
#include <stdio.h>

long there = -1;

int main(void) {
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    shmem_long_p(&there, me, (me + 1) % n);
    shmem_barrier_all();
    printf("PE %d of %d: %ld\n", me, n, there);
    shmem_finalize();
    return there != (me + n - 1) % n;
}
"#;

/// A folder with a space in its name, for one test. [`Drop`] removes it.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("oshcc test {}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    /// With these files.
    fn with(files: &[(&str, &str)]) -> Self {
        let scratch = Self::new();
        for (name, text) in files {
            fs::write(scratch.0.join(name), text).expect("written");
        }
        scratch
    }

    /// A driver's command in this folder.
    fn command(&self, driver: impl AsRef<OsStr>, args: &[&str]) -> Command {
        let mut command = Command::new(driver);
        command.current_dir(&self.0).args(args).stdin(Stdio::null()).env_remove("CC").env_remove("CXX");
        command
    }

    fn oshcc(&self, args: &[&str]) -> Ended {
        ended(&mut self.command(OSHCC, args))
    }

    fn oshcxx(&self, args: &[&str]) -> Ended {
        ended(&mut self.command(Path::new(OSHCC).with_file_name("oshc++"), args))
    }

    /// Runs a program here on two PEs.
    #[track_caller]
    fn runs(&self, program: &str) {
        let ended = oshrun(["-np".as_ref(), "2".as_ref(), "--".as_ref(), self.0.join(program).as_os_str()]);
        assert_eq!(ended.status, 0, "{ended:?}");
        let mut lines: Vec<_> = ended.stdout.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, ["PE 0 of 2: 1", "PE 1 of 2: 0"]);
    }

    /// Puts the drivers and what they look for into a prefix here, by links to where they were
    /// built.
    fn install(&self, prefix: &str, files: &[&str]) -> PathBuf {
        let prefix = self.0.join(prefix);
        for folder in ["bin", "lib"] {
            fs::create_dir_all(prefix.join(folder)).expect("a folder");
        }
        // A driver is where its file is, whatever links lead to it.
        fs::copy(OSHCC, prefix.join("bin/oshcc")).expect("copied");
        let built = Path::new(OSHCC).parent().expect("it is in a folder");
        for file in files {
            symlink(built.join(file), prefix.join("lib").join(file)).expect("a link");
        }
        let headers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../capi/include");
        symlink(headers, prefix.join("include")).expect("a link");
        prefix
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const OSHCC: &str = env!("CARGO_BIN_EXE_oshcc");

fn ended(command: &mut Command) -> Ended {
    let library = Path::new(OSHCC).with_file_name("libshmem.so");
    assert!(library.exists(), "{} is missing: cargo build --package oxshmem-capi", library.display());
    // `timeout` kills what the driver has become, and what that has started.
    let mut limited = Command::new("timeout");
    limited.args(["-s", "KILL", "60"]).arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        limited.current_dir(folder);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    let output = limited.stdin(Stdio::null()).output().expect("there is a program timeout");
    Ended {
        status: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[track_caller]
fn well(ended: &Ended) -> &str {
    assert_eq!((ended.status, ended.stderr.as_str()), (0, ""), "{ended:?}");
    &ended.stdout
}

fn installed(program: &str) -> bool {
    let there = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if there.is_err() {
        println!("skipped: {program} is not installed");
    }
    there.is_ok()
}

const STRICT: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

#[test]
fn programs_in_c_and_cxx_run_in_every_standard() {
    let scratch = Scratch::with(&[("hello.c", PROGRAM), ("hello.cpp", PROGRAM)]);
    for standard in ["c99", "c11", "c17"] {
        let standard = format!("-std={standard}");
        well(&scratch.oshcc(&[&STRICT[..], &[&standard, "-o", "hello", "hello.c"]].concat()));
        scratch.runs("hello");
    }
    for standard in ["c++11", "c++20"] {
        let standard = format!("-std={standard}");
        well(&scratch.oshcxx(&[&STRICT[..], &[&standard, "-o", "hello++", "hello.cpp"]].concat()));
        scratch.runs("hello++");
    }
}

#[test]
fn compiling_and_linking_may_be_separate() {
    let part = "#include <shmem.h>\nlong there = -1;\nlong *where(void) { return &there; }\n";
    let rest = PROGRAM.replace("long there = -1;", "long *where(void);\n#define there (*where())");
    let scratch = Scratch::with(&[("part.c", part), ("rest.c", &rest)]);
    well(&scratch.oshcc(&["-c", "part.c", "rest.c"]));
    well(&scratch.oshcc(&["rest.o", "part.o", "-o", "hello", "-lm"]));
    scratch.runs("hello");
}

#[test]
fn shared_libraries_may_use_shmem() {
    // Not `send`, which would take the place of the C library's, also for UCX.
    let library =
        "#include <shmem.h>\nvoid deliver(long *to, int me, int pe) { shmem_long_p(to, me, pe); }\n";
    let program = PROGRAM
        .replace("long there", "void deliver(long *, int, int);\nlong there")
        .replace("shmem_long_p(", "deliver(");
    let scratch = Scratch::with(&[("library.c", library), ("program.c", &program)]);
    for archive in [&[][..], &["-static-libshmem"]] {
        well(&scratch.oshcc(&[archive, &["-shared", "-fPIC", "-o", "libsend.so", "library.c"]].concat()));
        let link = ["-o", "hello", "program.c", "-L.", "-lsend", "-Wl,-rpath,$ORIGIN"];
        well(&scratch.oshcc(&[archive, &link].concat()));
        scratch.runs("hello");
    }
}

#[test]
fn a_program_with_libshmem_in_it_needs_no_libshmem_to_run() {
    let scratch = Scratch::with(&[("hello.c", PROGRAM)]);
    well(&scratch.oshcc(&["-static-libshmem", "-o", "hello", "hello.c"]));
    scratch.runs("hello");
    let file = fs::read(scratch.0.join("hello")).expect("readable");
    assert!(!file.windows(11).any(|bytes| bytes == b"libshmem.so"));
}

#[test]
fn what_is_found_depends_on_where_the_driver_is() {
    let scratch = Scratch::with(&[("hello.c", PROGRAM)]);
    let prefix = scratch.install("a prefix, with a comma", &["libshmem.so"]);
    // Moved, and called by another name.
    let moved = scratch.0.join("moved, too");
    fs::rename(prefix, &moved).expect("renamed");
    let link = scratch.0.join("cc-for-shmem");
    symlink(moved.join("bin/oshcc"), &link).expect("a link");
    for driver in [&moved.join("bin/oshcc"), &link] {
        well(&ended(&mut scratch.command(driver, &["hello.c", "-o", "hello"])));
        scratch.runs("hello");
        let folders = ended(&mut scratch.command(driver, &["--showme:libdirs"]));
        assert!(well(&folders).contains("moved, too/lib"), "{folders:?}");
    }
}

#[test]
fn what_is_missing_is_one_line_and_status_1() {
    let scratch = Scratch::with(&[("hello.c", PROGRAM)]);
    let prefix = scratch.install("empty", &[]);
    let oshcc = prefix.join("bin/oshcc");
    let refused = |ended: Ended, about: &str| {
        assert_eq!((ended.status, ended.stderr.lines().count()), (1, 1), "{ended:?}");
        assert!(ended.stderr.starts_with("oshcc: ") && ended.stderr.contains(about), "{ended:?}");
    };
    refused(ended(&mut scratch.command(&oshcc, &["hello.c"])), "libshmem.so is missing");
    refused(ended(&mut scratch.command(&oshcc, &["hello.c", "-static"])), "libshmem.a is missing");
    // To compile takes no library.
    well(&ended(&mut scratch.command(&oshcc, &["-c", "hello.c"])));
    let with = |value: &str| ended(scratch.command(OSHCC, &["-c", "hello.c"]).env("CC", value));
    refused(with("no-such-compiler -O2"), "there is no compiler no-such-compiler, which CC names");
    refused(with("/etc/passwd"), "/etc/passwd");
    refused(with("cc 'x"), "quote");
    let lost = ended(&mut scratch.command("sh", &["-c", "PATH=/nowhere; exec \"$0\" -c hello.c", OSHCC]));
    refused(lost, "there is no compiler cc");
    refused(scratch.oshcc(&["--showme:all"]), "--showme:all");
}

#[test]
fn the_compilers_status_is_the_drivers() {
    let scratch = Scratch::with(&[("bad.c", "int main(void) { return }\n")]);
    let failed = scratch.oshcc(&["-c", "bad.c"]);
    assert_eq!(failed.status, 1);
    assert!(failed.stderr.contains("bad.c:1"), "{}", failed.stderr);
    let status = ended(scratch.command(OSHCC, &["-c", "bad.c"]).env("CC", "sh -c 'exit 42'"));
    assert_eq!(status.status, 42);
}

#[test]
fn questions_to_the_compiler_link_nothing() {
    let scratch = Scratch::new();
    for question in ["--version", "-v", "-dumpmachine", "-print-search-dirs"] {
        let ended = scratch.oshcc(&[question]);
        assert_eq!(ended.status, 0, "{question}: {ended:?}");
    }
    let none = ended(scratch.command(OSHCC, &[]).env("CC", "echo"));
    assert!(!none.stdout.contains("shmem.so") && !none.stdout.contains("-lshmem"), "{none:?}");
}

#[test]
fn options_reach_the_compiler_unchanged_and_in_order() {
    let scratch = Scratch::new();
    let args = ["-DTEXT=\"a b\"", "a file.c", "-Wl,-z,now", "", "-o", "out", "'", "$HOME", "-lm"];
    let printed = ended(scratch.command(OSHCC, &args).env("CC", "sh -c 'printf \"<%s>\" \"$@\"' sh -first"));
    let middle: String = args.iter().map(|arg| format!("<{arg}>")).collect();
    let (before, behind) = well(&printed).split_once(&middle).expect("they are there");
    assert!(before.starts_with("<-first><-I><"), "{before}");
    assert!(behind.starts_with("<-L><") && behind.ends_with("><-lshmem>"), "{behind}");
}

#[test]
fn cc_and_cxx_name_other_compilers_but_never_the_driver_itself() {
    let scratch = Scratch::with(&[("hello.c", PROGRAM)]);
    let command = |driver: &Path, variable: &str, value: &str| {
        let printed = ended(scratch.command(driver, &["--showme:command"]).env(variable, value));
        well(&printed).trim_end().to_owned()
    };
    let oshcc = Path::new(OSHCC);
    let oshcxx = oshcc.with_file_name("oshc++");
    assert_eq!(command(oshcc, "CC", "ccache  gcc"), "ccache gcc");
    assert_eq!(command(oshcc, "CC", "oshcc"), command(oshcc, "CXX", "g++"));
    assert_eq!(command(&oshcxx, "CXX", &format!("{} -O2", oshcxx.display())), command(&oshcxx, "CC", "gcc"));
    assert_eq!(command(&oshcxx, "CXX", "g++ -m64"), "g++ -m64");
    for compiler in ["gcc", "clang"] {
        if installed(compiler) {
            well(&ended(scratch.command(OSHCC, &["hello.c", "-o", "hello"]).env("CC", compiler)));
            scratch.runs("hello");
            // Calls go without a jump through the linkage table: the linker has none to fill for
            // them.
            let relocations = well(&ended(&mut scratch.command("readelf", &["-rW", "hello"]))).to_owned();
            let calls: Vec<_> = relocations.lines().filter(|line| line.contains(" shmem_long_p")).collect();
            let [call] = calls[..] else { panic!("{relocations}") };
            assert!(!call.contains("JUMP_SLO"), "{compiler}: {call}");
        }
    }
}

#[test]
fn showme_shows_what_would_be_run_and_a_shell_can_run_it() {
    let scratch = Scratch::with(&[("hello.c", PROGRAM)]);
    let prefix = scratch.install("shown prefix", &["libshmem.so", "libshmem.a"]);
    let oshcc = prefix.join("bin/oshcc");
    let ask = |args: &[&str]| well(&ended(&mut scratch.command(&oshcc, args))).trim_end().to_owned();
    let whole = ask(&["--showme", "hello.c", "-o", "hello"]);
    let parts = ask(&["--showme:command"]) + " " + &ask(&["--showme:compile"]) + " hello.c -o hello ";
    assert_eq!(whole, parts + &ask(&["--showme:link"]));
    well(&ended(&mut scratch.command("sh", &["-c", &whole])));
    scratch.runs("hello");
    for spelling in ["-showme", "-show", "--show"] {
        assert_eq!(whole, ask(&[spelling, "hello.c", "-o", "hello"]));
    }
    assert!(!ask(&["--showme", "-c", "hello.c"]).contains("-lshmem"));
    assert!(ask(&["--showme:link", "-static-libshmem"]).contains("-l:libshmem.a"));
    assert_eq!(ask(&["--showme:libs"]), "shmem");
    assert!(ask(&["--showme:incdirs"]).ends_with("shown prefix/include'"));
    assert!(ask(&["--showme:version"]).starts_with("oshcc: "));
    assert!(ask(&["--showme:help"]).contains("--showme:libdirs"));
}
