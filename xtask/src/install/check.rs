//! The check that an installation works, wherever it is moved to: with `oshcc`, with pkg-config,
//! with CMake.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::install;
use crate::run::{Failure, Job, Outcome, Verdict, target_dir};

const PROGRAM: &str = r#"
#include <shmem.h>
#include <stdio.h>

int main(void) {
    static long there = -1;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    shmem_long_p(&there, me, (me + 1) % n);
    shmem_barrier_all();
    int bad = n != 2 || there != 1 - me;
    shmem_finalize();
    return bad;
}
"#;

const CMAKE_LISTS: &str = "cmake_minimum_required(VERSION 3.10)
project(hello C CXX)
find_package(oxshmem 0 REQUIRED)
add_executable(hello hello.c)
target_link_libraries(hello oxshmem::shmem)
add_executable(hello++ hello.cpp)
target_link_libraries(hello++ oxshmem::shmem)
add_executable(hello-static hello.c)
target_link_libraries(hello-static oxshmem::shmem_static)
";

/// Installs a debug build, moves it, and compiles and runs a program with it in each way that users
/// may.
pub(crate) fn check() -> Outcome {
    let folder = target_dir()?.join("install check");
    // Nothing that an earlier run has left may help.
    let _ = fs::remove_dir_all(&folder);
    let (first, moved) = (folder.join("first"), folder.join("moved"));
    install(&first, true)?;
    let work = folder.join("work");
    fs::create_dir_all(&work)?;
    fs::rename(&first, &moved)?;
    fs::write(work.join("hello.c"), PROGRAM)?;
    fs::write(work.join("hello.cpp"), PROGRAM)?;
    fs::write(work.join("CMakeLists.txt"), CMAKE_LISTS)?;
    let installed = Installed { prefix: moved, work };
    installed.files()?;
    installed.drivers()?;
    installed.other_names()?;
    installed.pkg_config()?;
    installed.cmake()?;
    fs::remove_dir_all(&folder)?;
    Ok(Verdict::Passed)
}

/// Compiles programs with an installation by its compiler drivers, in the folder `work`, and runs
/// them.
pub(crate) fn try_drivers(prefix: &Path, work: &Path) -> Result<(), Failure> {
    fs::create_dir_all(work)?;
    fs::write(work.join("hello.c"), PROGRAM)?;
    fs::write(work.join("hello.cpp"), PROGRAM)?;
    Installed { prefix: prefix.to_owned(), work: work.to_owned() }.drivers()
}

struct Installed {
    prefix: PathBuf,
    /// Where programs are made.
    work: PathBuf,
}

impl Installed {
    /// That one file of each kind is there.
    fn files(&self) -> Result<(), Failure> {
        let wanted = [
            "include/mpp/shmemx.h",
            "include/pshmem.h",
            "include/shmemx_device.cuh",
            "share/man/man1/oshrun.1",
            "share/man/man1/oshc++.1",
            "share/man/man1/oshtop.1",
            "share/man/man1/shmem-info.1",
            "share/man/man3/shmem_put.3",
            "share/doc/oxshmem/CHANGELOG.md",
            "share/doc/oxshmem/THIRD-PARTY-LICENSES.txt",
        ];
        for file in wanted {
            if !self.prefix.join(file).is_file() {
                return Err(Failure::new(format!("{file} was not installed")));
            }
        }
        Job::new(self.prefix.join("bin/shmem-info"), ["--json"]).quiet().run()?;
        Job::new(self.prefix.join("bin/shmem-perf"), ["--help"]).quiet().run()
    }

    fn drivers(&self) -> Result<(), Failure> {
        for (driver, source, option) in [
            ("oshcc", "hello.c", "-O1"),
            ("oshc++", "hello.cpp", "-O1"),
            ("oshcxx", "hello.cpp", "-O1"),
            ("oshcc", "hello.c", "-static-libshmem"),
        ] {
            let (program, source) = (self.work.join("hello"), self.work.join(source));
            Job::new(self.prefix.join("bin").join(driver), [option, "-o"]).args([&program, &source]).run()?;
            self.run(driver, &program)?;
        }
        Ok(())
    }

    /// That the library is found by the names that it has elsewhere.
    fn other_names(&self) -> Result<(), Failure> {
        for name in ["-lsma", "-loshmem"] {
            let (program, source) = (self.work.join("hello"), self.work.join("hello.c"));
            let lib = self.prefix.join("lib");
            Job::new("cc", ["-o"])
                .args([&program, &source])
                .args(["-I".into(), self.prefix.join("include"), "-L".into(), lib.clone(), name.into()])
                .args([format!("-Wl,-rpath,{}", lib.display())])
                .run()?;
            self.run(name, &program)?;
        }
        Ok(())
    }

    fn pkg_config(&self) -> Result<(), Failure> {
        if !Job::new("pkg-config", ["--version"]).works() {
            println!("--- pkg-config: skipped: it is not installed");
            return Ok(());
        }
        let program = self.work.join("hello-pkg-config");
        // As a make file has it: what pkg-config prints is read by a shell.
        let script = r#"flags=$(pkg-config --cflags --libs oxshmem) && eval "cc -o \"\$0\" \"\$1\" $flags""#;
        Job::new("sh", ["-c", script])
            .args([&program, &self.work.join("hello.c")])
            .env("PKG_CONFIG_PATH", self.prefix.join("lib/pkgconfig"))
            .run()?;
        self.run("pkg-config", &program)
    }

    fn cmake(&self) -> Result<(), Failure> {
        if !Job::new("cmake", ["--version"]).works() {
            println!("--- CMake: skipped: it is not installed");
            return Ok(());
        }
        let build = self.work.join("build");
        Job::new("cmake", ["-S"])
            .args([&self.work, Path::new("-B"), &build])
            .env("CMAKE_PREFIX_PATH", &self.prefix)
            .quiet()
            .run()?;
        Job::new("cmake", ["--build"]).args([&build]).limit(120).quiet().run()?;
        for program in ["hello", "hello++", "hello-static"] {
            self.run("CMake", &build.join(program))?;
        }
        Ok(())
    }

    /// Runs a program on two PEs.
    fn run(&self, how: &str, program: &Path) -> Result<(), Failure> {
        println!("--- {how}: {}", program.file_name().unwrap_or_default().display());
        let oshrun = self.prefix.join("bin/oshrun");
        Job::new(oshrun, ["-np", "2", "--timeout", "30", "--"]).args([program]).run()
    }
}
