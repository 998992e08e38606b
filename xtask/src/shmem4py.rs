//! The Python bindings, built with an installation and tried by their own tests.

use crate::{
    debian, install,
    run::{Job, Outcome, Verdict, target_dir},
};

/// The status of the recipe where it cannot be tried.
const SKIPPED: u8 = 77;

/// Installs a debug build, and follows the book's recipe with it.
pub(crate) fn check() -> Outcome {
    let python = || Job::new("python3", ["-c", HEADERS]).works();
    if let Err(why) = debian::install("python3 with its headers is", &["python3-dev", "python3-venv"], python)
    {
        return Ok(Verdict::Skipped(why.to_string()));
    }
    let folder = target_dir()?.join("shmem4py");
    let prefix = folder.join("prefix");
    install::install(&prefix, true)?;
    let recipe = Job::new("sh", ["capi/tests/shmem4py.sh"]).args([&prefix, &folder.join("work")]);
    // What the compiler makes of the bindings is not what is tried, and takes a minute.
    match recipe.env("CFLAGS", "-O0").without_library_path().limit(900).run() {
        Ok(()) => Ok(Verdict::Passed),
        Err(failure) if failure.status == SKIPPED => {
            Ok(Verdict::Skipped("PyPI has no numpy before 2 for this Python".to_owned()))
        }
        Err(failure) => Err(failure),
    }
}

/// What the recipe takes of Python.
const HEADERS: &str = "import venv, ensurepip, sysconfig, os; \
                       assert os.path.exists(sysconfig.get_path('include') + '/Python.h')";
