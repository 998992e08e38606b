//! CUDA programs, which `cargo xtask device --pack` has compiled and put beside this one.

use std::{
    path::PathBuf,
    process::{Command, ExitCode},
};

/// What they do: titles for people, and the arguments of `--run`.
pub(crate) const RUNS: [(&str, &str); 5] = [
    ("Device functions in kernels, 1 PE", "kernels-1"),
    ("Device functions in kernels, 2 PEs", "kernels-2"),
    ("Device functions in kernels, 4 PEs", "kernels-4"),
    ("Device functions in kernels, 2 PEs, memory shared by ipc", "kernels-2-ipc"),
    ("A wait in a kernel that nothing ends", "kernels-limit"),
];

/// Why they cannot be run, if they cannot.
pub(crate) fn missing() -> Option<String> {
    let program = program().ok()?;
    (!program.is_file())
        .then(|| format!("there is no {}; cargo xtask device --pack compiles it", program.display()))
}

fn program() -> std::io::Result<PathBuf> {
    Ok(std::env::current_exe()?.with_file_name("kernels"))
}

/// Does one of them, if it is one.
pub(crate) fn perform(run: &str) -> Option<ExitCode> {
    let what = run.strip_prefix("kernels-")?;
    let started = program().and_then(|program| {
        let mut command = match what {
            "limit" => {
                let mut command = Command::new(program);
                command.arg("--limit").env("SHMEM_GPU_KERNEL_TIMEOUT", "300");
                command
            }
            job => {
                let (n, sharing) = job.split_once('-').unwrap_or((job, "vmm"));
                let mut command = Command::new(std::env::current_exe()?);
                command.args(["--oshrun", "-np", n]).arg(program).env("SHMEM_GPU_SHARING", sharing);
                command
            }
        };
        command.env("SHMEM_ENABLE_CPU_SPACE", "1").env("SHMEM_ENABLE_GPU_SPACE", "1").status()
    });
    Some(match started {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(status) => {
            eprintln!("{status}");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("it cannot be started: {error}");
            ExitCode::FAILURE
        }
    })
}
