//! What runs on a machine with a device: all of it in one folder, and the book's pages from the
//! report that comes back.

mod nvshmem;
mod report;

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use self::report::Report;
use crate::{
    cuda, cuda_venv,
    run::{Failure, Job, Outcome, Verdict, target_dir},
};

/// What runs the rest there.
const SCRIPT: &str = include_str!("run.sh");
/// The CUDA programs that it starts, and those that it has as `more`.
const PROGRAMS: [&str; 3] = ["tests/gpu_verify/kernels.cu", "examples/hello.cu", "examples/cuda_halo.cu"];
/// The newest version whose drivers are those of all CUDA 13.
const SANITIZER: &str = "nvidia-cuda-sanitizer-api==13.0.*";
/// What of it checks a program. In one folder, they find each other.
const SANITIZER_PARTS: [&str; 6] = [
    "cu13/bin/compute-sanitizer",
    "cu13/lib/libInterceptorInjectionTarget.so",
    "cu13/lib/libTreeLauncherTargetInjection.so",
    "cu13/lib/libTreeLauncherTargetUpdatePreloadInjection.so",
    "cu13/lib/libsanitizer-collection.so",
    "cu13/lib/libsanitizer-public.so",
];
/// Bytes that the folder may have.
const MOST: u64 = 60 << 20;

/// Makes the folder.
pub(crate) fn pack(with: &[PathBuf]) -> Outcome {
    println!("building, which takes some minutes");
    let folder = target_dir()?.join("device");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("more"))?;
    fs::copy(gpu_verify("--release")?, folder.join("gpu-verify"))?;
    Job::cargo("build --release --package oxshmem --example heat_gpu").limit(1200).run()?;
    Job::cargo("build --release --package oxshmem-capi --lib").limit(1200).run()?;
    let release = target_dir()?.join("release");
    fs::copy(release.join("examples/heat_gpu"), folder.join("heat_gpu"))?;
    fs::copy(release.join("libshmem.so"), folder.join("libshmem.so"))?;
    let mut programs = ["gpu-verify", "heat_gpu", "libshmem.so"].map(|name| folder.join(name)).to_vec();
    match cuda::Toolkit::find()? {
        Ok(toolkit) => {
            let own = PROGRAMS.iter().map(|source| (Path::new(source), folder.clone()));
            let more = with.iter().map(|source| (source.as_path(), folder.join("more")));
            for (source, to) in own.chain(more) {
                let program = to.join(source.file_stem().unwrap_or(source.as_os_str()));
                toolkit.compile(source, &program, &folder)?;
                programs.push(program);
            }
        }
        Err(why) => println!("without the CUDA programs: {why}"),
    }
    Job::new("strip", &programs).run()?;
    if let Err(why) = nvshmem::pack(&folder)? {
        println!("without NVSHMEM's program: {why}");
    }
    if let Err(why) = pack_sanitizer(&folder)? {
        println!("without compute-sanitizer: {why}");
    }
    let script = folder.join("run.sh");
    fs::write(&script, SCRIPT)?;
    Job::new("chmod", ["+x"]).args([&script]).run()?;
    let bytes = bytes_in(&folder)?;
    if bytes > MOST {
        let (is, most) = (bytes >> 20, MOST >> 20);
        return Err(Failure::new(format!("{}: {is} MiB, and {most} are allowed", folder.display())));
    }
    println!(
        "{}: {:.1} MiB. Its run.sh needs an x86-64 machine with an NVIDIA driver and nothing else;\n\
         run.sh --emulated tries it here. cargo xtask device --report takes the report.md that it writes.",
        folder.display(),
        bytes as f64 / f64::from(1 << 20)
    );
    Ok(Verdict::Passed)
}

/// Packs compute-sanitizer; the inner error is why that cannot be.
fn pack_sanitizer(folder: &Path) -> Result<Result<(), String>, Failure> {
    let nvidia = match cuda_venv::with(&[SANITIZER], &SANITIZER_PARTS)? {
        Ok(nvidia) => nvidia,
        Err(why) => return Ok(Err(why)),
    };
    let pack = folder.join("sanitizer.tar.gz");
    let mut tar = Job::new("tar", [Path::new("czf"), &pack, Path::new("--mode=755")]);
    for part in SANITIZER_PARTS.map(Path::new) {
        let (within, name) = (part.parent().unwrap_or(part), part.file_name().unwrap_or_default());
        tar = tar.args([OsStr::new("-C"), nvidia.join(within).as_os_str(), name]);
    }
    tar.run()?;
    Ok(Ok(()))
}

/// The bytes of all files in a folder.
fn bytes_in(folder: &Path) -> Result<u64, Failure> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let is_folder = entry.file_type()?.is_dir();
        bytes += if is_folder { bytes_in(&entry.path())? } else { entry.metadata()?.len() };
    }
    Ok(bytes)
}

/// Writes the book's pages from a report that came back, and prints what the table of devices has
/// of it.
pub(crate) fn write_pages(report: &Path) -> Outcome {
    let text =
        fs::read_to_string(report).map_err(|error| Failure::new(format!("{}: {error}", report.display())))?;
    let report = Report(&text);
    let page = report.page().map_err(Failure::new)?;
    let name = report.name().map_err(Failure::new)?;
    let path = PathBuf::from(format!("book/src/devices/{name}.md"));
    fs::write(&path, page)?;
    println!("{}", path.display());
    if let Err(why) = nvshmem::write_page(&report) {
        println!("the page beside NVSHMEM is as it was: {why}");
    }
    println!("for book/src/devices.md:\n{}", report.row().map_err(Failure::new)?);
    Ok(Verdict::Passed)
}

/// The program that tests and measures devices, which this builds.
pub(crate) fn gpu_verify(profile: &str) -> Result<PathBuf, Failure> {
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
