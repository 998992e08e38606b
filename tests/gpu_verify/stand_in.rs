//! The stand-in for the driver: how it is built, and this program started with it.

use std::{
    ffi::OsString,
    path::Path,
    process::{Command, ExitCode, Stdio},
};

use super::MACHINE;

/// Starts this program again with a stand-in for the driver, which it builds, and with these
/// arguments.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    let folder = std::env::temp_dir().join(format!("oxshmem-stand-in-{}", std::process::id()));
    let ended = build(&folder).and_then(|built| {
        if !built || cfg!(not(feature = "cuda")) {
            println!("skipped: there is no C compiler named cc, or this was built without CUDA");
            return Ok(ExitCode::SUCCESS);
        }
        let mut command = Command::new(std::env::current_exe()?);
        let mut path = folder.clone().into_os_string();
        if let Some(more) = std::env::var_os("LD_LIBRARY_PATH") {
            path.push(":");
            path.push(more);
        }
        // Devices of its own: others that use a stand-in at the same time have theirs.
        let machine = std::process::id().to_string();
        command.args(arguments).env("LD_LIBRARY_PATH", path).env(MACHINE, machine);
        if arguments.is_empty() {
            // Without any it would do what `cargo test` has it do.
            command.arg("--filter=");
        }
        Ok(if command.status()?.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    });
    let _ = std::fs::remove_dir_all(&folder);
    ended.unwrap_or_else(|error| {
        println!("the stand-in for the driver cannot be used: {error}");
        ExitCode::FAILURE
    })
}

/// Builds it as `libcuda.so.1` in a new folder. False without a compiler.
fn build(folder: &Path) -> std::io::Result<bool> {
    if !Command::new("cc")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
    {
        return Ok(false);
    }
    std::fs::create_dir_all(folder)?;
    let source = folder.join("stand_in.c");
    std::fs::write(&source, include_str!("stand_in.c"))?;
    std::fs::write(folder.join("stand_in_streams.h"), include_str!("stand_in_streams.h"))?;
    std::fs::write(folder.join("stand_in_graphs.h"), include_str!("stand_in_graphs.h"))?;
    std::fs::write(folder.join("stand_in_kernels.h"), include_str!("stand_in_kernels.h"))?;
    let library = folder.join("libcuda.so.1");
    let status = Command::new("cc")
        .args(["-O1", "-shared", "-fPIC", "-pthread", "-o"])
        .args([&library, &source])
        .status()?;
    if !status.success() {
        return Err(std::io::Error::other("cc fails"));
    }
    // The name that is looked for first.
    std::fs::copy(&library, folder.join("libcuda.so"))?;
    Ok(true)
}
