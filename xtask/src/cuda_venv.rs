//! NVIDIA's compiler and libraries from PyPI, in a virtual environment in the target folder: they
//! need no device and no installation.

use std::{fs, path::PathBuf};

use crate::run::{Failure, Job, target_dir};

/// What PyPI has of the CUDA toolkit, as far as a program takes it.
pub(crate) const COMPILER: [&str; 5] = [
    "nvidia-cuda-nvcc==13.*",
    "nvidia-cuda-runtime==13.*",
    "nvidia-cuda-crt==13.*",
    "nvidia-nvvm==13.*",
    "nvidia-cuda-cccl==13.*",
];

/// The folder `nvidia` of the environment, in which `cu13/bin/nvcc` is, once it has all these
/// `parts`; else `packages` are installed, or the inner error says why they cannot be.
pub(crate) fn with(packages: &[&str], parts: &[&str]) -> Result<Result<PathBuf, String>, Failure> {
    let venv = target_dir()?.join("cuda");
    let find = || {
        let folders = fs::read_dir(venv.join("lib")).ok()?;
        let mut roots = folders.flatten().map(|python| python.path().join("site-packages/nvidia"));
        roots.find(|root| parts.iter().all(|part| root.join(part).is_file()))
    };
    if let Some(root) = find() {
        return Ok(Ok(root));
    }
    if !Job::new("python3", ["-m", "venv", "--help"]).works() {
        return Ok(Err("there is no python3 with venv, by which NVIDIA's compiler is installed".to_owned()));
    }
    println!("installing {} from PyPI in {}", packages.join(", "), venv.display());
    Job::new("python3", ["-m", "venv"]).args([&venv]).run()?;
    let pip = Job::new(venv.join("bin/pip"), ["install", "--quiet", "--disable-pip-version-check"]);
    if let Err(failure) = pip.args(packages).limit(900).run() {
        return Ok(Err(format!("NVIDIA's compiler cannot be had from PyPI: {failure}")));
    }
    find().map(Ok).ok_or_else(|| Failure::new(format!("{}: PyPI's packages lack a part", venv.display())))
}
