//! The check of the kernels for devices.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use crate::{
    device,
    run::{Job, Outcome, Verdict, target_dir},
};

/// Architectures that the kernels are assembled for: the oldest that they are written for, and some
/// that are in use.
const ARCHITECTURES: [&str; 5] = ["sm_70", "sm_75", "sm_80", "sm_89", "sm_90"];

/// Has NVIDIA's assembler take every kernel, for several architectures.
pub(crate) fn ptx() -> Outcome {
    let ptxas = env::var_os("PTXAS").map_or(PathBuf::from("ptxas"), PathBuf::from);
    if !Job::new(&ptxas, ["--version"]).works() {
        let why = "there is no ptxas; it is in the CUDA toolkit and in PyPI's nvidia-cuda-nvcc-cu12, and PTXAS names it";
        return Ok(Verdict::Skipped(why.into()));
    }
    let folder = target_dir()?.join("ptx");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder)?;
    Job::new(device::gpu_verify("")?, [Path::new("--ptx"), &folder]).run()?;
    let mut count = 0;
    for entry in fs::read_dir(&folder)? {
        let text = entry?.path();
        for architecture in ARCHITECTURES {
            let object = text.with_extension("cubin");
            Job::new(&ptxas, ["--warning-as-error", "--gpu-name", architecture, "--output-file"])
                .args([&object, &text])
                .run()?;
            let _ = fs::remove_file(object);
        }
        count += 1;
    }
    println!("{count} modules for {}", ARCHITECTURES.join(", "));
    Ok(Verdict::Passed)
}
