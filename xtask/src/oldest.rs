//! The oldest compiler that `Cargo.toml` names: everything that users build compiles with it.

use crate::run::{Failure, Job, Outcome, Verdict, metadata, target_dir};

/// Checks libraries and programs with that compiler, which rustup is asked for.
pub(crate) fn check() -> Outcome {
    let metadata = metadata("--no-deps")?;
    let version = metadata["packages"][0]["rust_version"].as_str().unwrap_or_default();
    // All of them have the workspace's.
    let toolchain = match version.matches('.').count() {
        1 => format!("{version}.0"),
        2 => version.to_owned(),
        _ => return Err(Failure::new("Cargo.toml has no rust-version")),
    };
    let cargo = |line: &str| {
        let words = std::iter::once(format!("+{toolchain}")).chain(line.split(' ').map(str::to_owned));
        Job::new("cargo", words.collect::<Vec<_>>()).without_cargo_env()
    };
    if !cargo("--version").works() {
        println!("installing Rust {toolchain}");
        let install = Job::new("rustup", ["toolchain", "install", &toolchain, "--profile", "minimal"]);
        if let Err(failure) = install.limit(300).run() {
            return Ok(Verdict::Skipped(format!("rustup cannot install Rust {toolchain}: {failure}")));
        }
    }
    cargo("check --workspace --lib --bins --quiet")
        .env("CARGO_TARGET_DIR", target_dir()?.join("oldest"))
        .limit(1200)
        .run()?;
    println!("libraries and programs compile with Rust {toolchain}");
    Ok(Verdict::Passed)
}
