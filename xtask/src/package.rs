//! That every package can be published: what a registry and docs.rs need to know of it is there,
//! cargo can pack it, and what was packed serves programs outside of this repository.
//!
//! `cargo package --workspace` builds each package from what was packed, most of them several
//! times. Here all are unpacked beside each other and built once.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::run::{Failure, Job, Outcome, Verdict, metadata, target_dir};

/// Packs all packages that may be published, and uses them.
pub(crate) fn package() -> Outcome {
    let metadata = metadata("--no-deps")?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    // A list of registries that is empty is `publish = false`.
    let (own, published): (Vec<_>, Vec<_>) = packages.partition(|package| package["publish"].is_array());
    let faults: Vec<String> = published.iter().flat_map(|package| missing(package)).collect();
    if !faults.is_empty() {
        return Err(Failure::new(faults.join("\n")));
    }
    let excluded = own.iter().flat_map(|package| ["--exclude", package["name"].as_str().unwrap_or_default()]);
    Job::cargo("package --workspace --no-verify --allow-dirty --quiet").args(excluded).run()?;
    println!("{} packages", published.len());
    let names: Vec<_> = published.iter().filter_map(|package| package["name"].as_str()).collect();
    let outside = Outside::unpack(&names)?;
    outside.install_launcher()?;
    outside.run_program()?;
    Ok(Verdict::Passed)
}

/// What a package should say of itself and does not.
fn missing(package: &Value) -> impl Iterator<Item = String> {
    let fields = ["/description", "/license", "/readme", "/keywords/0", "/categories/0", "/metadata/docs/rs"];
    let missing = fields.into_iter().filter(|field| package.pointer(field).is_none_or(Value::is_null));
    missing.map(|field| format!("{}: its Cargo.toml lacks {}", package["name"], &field[1..]))
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

const PROGRAM: &str = r#"
#[tokio::main]
async fn main() -> oxshmem::Result<()> {
    let world = oxshmem::init().await?;
    let (me, n) = (world.my_pe(), world.n_pes());
    let from = world.alloc_zeroed::<u64>(1).await?;
    world.context().p(from.at(0), me as u64 + 1, (me + 1) % n).await?;
    world.barrier_all().await?;
    assert_eq!((n, from.at(0).load()), (2, 2 - me as u64));
    println!("PE {me} of a program outside");
    world.finalize().await
}
"#;

/// A workspace of its own, with the packages as they would be published.
struct Outside {
    folder: PathBuf,
    target: PathBuf,
}

impl Outside {
    fn unpack(names: &[&str]) -> Result<Self, Failure> {
        let packed = target_dir()?.join("package");
        let folder = packed.join("outside");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("program/src"))?;
        let members =
            names.iter().chain(&["program"]).map(|name| format!("\"{name}\", ")).collect::<String>();
        let mut manifest =
            format!("[workspace]\nresolver = \"3\"\nmembers = [{members}]\n\n[patch.crates-io]\n");
        for name in names {
            let unpacked = folder.join(name);
            fs::create_dir_all(&unpacked)?;
            let file = packed.join(format!("{name}-{VERSION}.crate"));
            let tar = Job::new("tar", ["--strip-components=1", "-C"]);
            // With the times of now: those in the file never change, and cargo would build nothing
            // anew in the folder of the last time.
            tar.args([unpacked.as_path(), Path::new("-xzmf"), &file]).run()?;
            manifest += &format!("{name} = {{ path = \"{name}\" }}\n");
        }
        manifest += "\n[profile.dev]\ndebug = 0\n";
        fs::write(folder.join("Cargo.toml"), manifest)?;
        // With the versions of other packages that everything else is tested with.
        fs::copy("Cargo.lock", folder.join("Cargo.lock"))?;
        fs::write(folder.join("program/src/main.rs"), PROGRAM)?;
        let dependencies = format!(
            "oxshmem = \"{VERSION}\"\ntokio = {{ version = \"1\", features = [\"macros\", \"rt-multi-thread\"] }}"
        );
        let manifest = format!(
            "[package]\nname = \"program\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\n{dependencies}\n"
        );
        fs::write(folder.join("program/Cargo.toml"), manifest)?;
        Ok(Self { target: packed.join("outside-target"), folder })
    }

    /// A command of cargo there.
    fn cargo(&self, command: &str) -> Job {
        Job::cargo(command).env("CARGO_TARGET_DIR", &self.target)
    }

    /// As `cargo install oxshmem-launch` would, but from the folder. It takes the newest versions
    /// of other packages that were downloaded for this repository.
    fn install_launcher(&self) -> Result<(), Failure> {
        let launch = self.folder.join("oxshmem-launch");
        let install = self.cargo("install --offline --debug --quiet --path");
        install.args([launch.as_path(), "--root".as_ref(), &self.folder.join("installed")]).limit(1200).run()
    }

    fn run_program(&self) -> Result<(), Failure> {
        let build = self.cargo("build --offline --quiet -p program --manifest-path");
        build.args([self.folder.join("Cargo.toml")]).limit(1200).run()?;
        let oshrun = self.folder.join("installed/bin/oshrun");
        let program = self.target.join("debug/program");
        Job::new(oshrun, ["-np", "2", "--timeout", "30", "--"]).args([program]).run()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_says_what_it_is_and_has_a_readme() {
        let package = serde_json::json!({
            "name": "a", "description": "b", "license": "MIT", "readme": null, "keywords": ["c"], "categories": [],
            "metadata": {"docs": {"rs": {}}},
        });
        let faults: Vec<String> = missing(&package).collect();
        assert_eq!(
            faults,
            ["\"a\": its Cargo.toml lacks readme", "\"a\": its Cargo.toml lacks categories/0"]
        );
    }
}
