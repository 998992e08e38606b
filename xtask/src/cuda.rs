//! CUDA programs: a compiler for them, which needs no device, and the check that it takes all that
//! there are.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    cuda_venv,
    run::{Failure, Job, Outcome, Verdict, target_dir},
};

/// What of the CUDA toolkit is on PyPI and needed: the compiler, and NVRTC.
const PACKAGES: [&str; 6] = {
    let [nvcc, runtime, crt, nvvm, cccl] = cuda_venv::COMPILER;
    [nvcc, runtime, crt, nvvm, cccl, "nvidia-cuda-nvrtc==13.*"]
};
/// What is there once they are.
const PARTS: [&str; 5] = [
    "cu13/bin/nvcc",
    "cu13/bin/ptxas",
    "cu13/include/cuda_runtime.h",
    "cu13/nvvm/bin/cicc",
    "cu13/lib/libnvrtc.so.13",
];
/// The architectures that programs are compiled for; the last also as PTX, for those that come.
const ARCHITECTURES: [&str; 3] = ["75", "80", "90"];

/// The compiler, and what belongs to it.
pub(crate) struct Toolkit {
    /// The virtual environment.
    venv: PathBuf,
    /// What has `bin/nvcc`.
    root: PathBuf,
}

/// Compiles every CUDA program of the examples and tests, and the device functions by the compiler
/// that programs have at run time.
pub(crate) fn check() -> Outcome {
    let toolkit = match Toolkit::find()? {
        Ok(toolkit) => toolkit,
        Err(why) => return Ok(Verdict::Skipped(why)),
    };
    Job::cargo("build -p oxshmem-capi --lib").run()?;
    let folder = target_dir()?.join("cuda-programs");
    fs::create_dir_all(&folder)?;
    let which = ["ls-files", "--cached", "--others", "--exclude-standard", "examples/*.cu", "tests/*.cu"];
    let listed = Job::new("git", which).output()?;
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    for source in listed.lines().map(Path::new) {
        let name = source.file_stem().unwrap_or(source.as_os_str());
        toolkit.compile(source, &folder.join(name), &target_dir()?.join("debug"))?;
        println!(
            "{}: compiled for {}",
            source.display(),
            ARCHITECTURES.map(|it| format!("sm_{it}")).join(", ")
        );
    }
    toolkit.at_run_time()?;
    println!("capi/include/shmemx_device.cuh: compiled by NVRTC");
    Ok(Verdict::Passed)
}

impl Toolkit {
    /// The one in the target folder, where it is put if it is not there; or why it cannot be.
    pub(crate) fn find() -> Result<Result<Self, String>, Failure> {
        let venv = target_dir()?.join("cuda");
        let found = cuda_venv::with(&PACKAGES, &PARTS)?;
        Ok(found.map(|root| Self { venv, root: root.join("cu13") }))
    }

    /// Compiles a program against the library in `library`, beside which it finds it, or in its own
    /// folder.
    pub(crate) fn compile(&self, source: &Path, program: &Path, library: &Path) -> Result<(), Failure> {
        let mut targets: Vec<String> =
            ARCHITECTURES.iter().map(|it| format!("-gencode=arch=compute_{it},code=sm_{it}")).collect();
        let last = ARCHITECTURES[ARCHITECTURES.len() - 1];
        targets.push(format!("-gencode=arch=compute_{last},code=compute_{last}"));
        Job::new(self.root.join("bin/nvcc"), ["-std=c++17", "-O2", "-cudart=static", "-Werror=all-warnings"])
            .args(&targets)
            .args(["-Icapi/include", "-Itests/gpu_verify", "-Xlinker=-rpath=$ORIGIN", "-L"])
            .args([library])
            .args([Path::new("-L"), &self.root.join("lib")])
            .args(["-lshmem", "-o"])
            .args([program, source])
            .limit(600)
            .run()
    }

    /// Compiles the device functions, and a kernel that calls them, by NVRTC.
    fn at_run_time(&self) -> Result<(), Failure> {
        Job::new(self.venv.join("bin/python"), [Path::new("xtask/src/nvrtc.py"), &self.root]).limit(120).run()
    }
}
