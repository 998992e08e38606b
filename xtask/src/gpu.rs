//! Devices: the program that tests and measures them on whatever machine, and the check of the
//! kernels.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use crate::{
    cuda, nvshmem,
    run::{Failure, Job, Outcome, Verdict, target_dir},
};

/// Architectures that the kernels are assembled for: the oldest that they are written for, and some
/// that are in use.
const ARCHITECTURES: [&str; 5] = ["sm_70", "sm_75", "sm_80", "sm_89", "sm_90"];

/// Builds the program that tests and measures devices, puts it where it can be copied from, and
/// runs it if it can be.
pub(crate) fn verify(emulated: bool, quick: bool) -> Outcome {
    println!("building, which takes some minutes");
    let built = program("--release")?;
    let folder = target_dir()?.join("gpu-verify");
    fs::create_dir_all(&folder)?;
    let program = folder.join("gpu-verify");
    // It may be running.
    let _ = fs::remove_file(&program);
    fs::copy(&built, &program)?;
    cuda_programs(&folder)?;
    // What travels need not have it.
    for name in ["gpu-verify", "libshmem.so", "kernels"].map(|name| folder.join(name)) {
        if name.is_file() {
            Job::new("strip", [&name]).run()?;
        }
    }
    match nvshmem::pack(&folder)? {
        Ok(pack) => println!("{}, beside it, has NVSHMEM's program, to be measured too", pack.display()),
        Err(why) => println!("NVSHMEM is not measured: {why}"),
    }
    let all = target_dir()?.join("gpu-verify.tar.gz");
    Job::new("tar", [Path::new("czf"), &all, Path::new("-C"), &target_dir()?, Path::new("gpu-verify")])
        .run()?;
    println!(
        "{} is all that another x86-64 machine with an NVIDIA driver needs, with what lies beside it; {} has\n\
         all of it ({} MiB). There:\n\
         \n  tar xzf gpu-verify.tar.gz && gpu-verify/gpu-verify | tee report.md\n\
         \nEach test has a time limit, and all of them have 540 s (--budget). Of the devices it uses those in\n\
         CUDA_VISIBLE_DEVICES. Other options: --quick, --no-speed, --no-tests, --filter NAME, --emulated.",
        program.display(),
        all.display(),
        fs::metadata(&all)?.len() >> 20,
    );
    let options = |job: Job| if quick { job.args(["--quick"]) } else { job };
    if emulated {
        options(Job::new(&program, ["--emulated"]).limit(900)).run()?;
        return Ok(Verdict::Passed);
    }
    if !Job::new(&program, ["--probe"]).works() {
        return Ok(Verdict::Skipped("this machine has no device; --emulated runs all of it without".into()));
    }
    options(Job::new(&program, ["--budget", "540"]).limit(900)).run()?;
    Ok(Verdict::Passed)
}

/// Compiles the CUDA programs that it starts, and puts them beside it, with the library that they
/// are linked with.
fn cuda_programs(folder: &Path) -> Result<(), Failure> {
    let toolkit = match cuda::Toolkit::find()? {
        Ok(toolkit) => toolkit,
        Err(why) => {
            println!("without the CUDA programs: {why}");
            return Ok(());
        }
    };
    Job::cargo("build --release --package oxshmem-capi --lib").limit(1200).run()?;
    let library = folder.join("libshmem.so");
    let _ = fs::remove_file(&library);
    fs::copy(target_dir()?.join("release/libshmem.so"), &library)?;
    toolkit.compile(Path::new("tests/gpu_verify/kernels.cu"), &folder.join("kernels"), folder)
}

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
    Job::new(program("")?, [Path::new("--ptx"), &folder]).run()?;
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

/// Builds it, and says where it is.
fn program(profile: &str) -> Result<PathBuf, Failure> {
    let commit = Job::new("git", ["describe", "--always", "--dirty"]).output();
    let commit = commit.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let line = format!("test {profile} --package oxshmem --test gpu_verify --no-run --message-format json");
    let output = Job::cargo(&line).env("OXSHMEM_COMMIT", commit.unwrap_or_default()).output()?;
    let messages = String::from_utf8_lossy(&output.stdout);
    let program = messages.lines().rev().find_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let is_it = message["reason"] == "compiler-artifact" && message["target"]["name"] == "gpu_verify";
        is_it.then(|| message["executable"].as_str().map(PathBuf::from)).flatten()
    });
    program.ok_or_else(|| {
        Failure::new(format!("it cannot be built:\n{}", String::from_utf8_lossy(&output.stderr)))
    })
}
