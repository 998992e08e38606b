//! That every package can be published: what a registry and docs.rs need to know of it is there,
//! and cargo can pack it.
//!
//! Nothing is built from what was packed, which would take as long as a build of everything:
//! `cargo package --workspace`.

use serde_json::Value;

use crate::run::{Failure, Job, Outcome, Verdict, metadata};

/// Packs all packages that may be published.
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
    Ok(Verdict::Passed)
}

/// What a package should say of itself and does not.
fn missing(package: &Value) -> impl Iterator<Item = String> {
    let fields = ["/description", "/license", "/readme", "/keywords/0", "/categories/0", "/metadata/docs/rs"];
    let missing = fields.into_iter().filter(|field| package.pointer(field).is_none_or(Value::is_null));
    missing.map(|field| format!("{}: its Cargo.toml lacks {}", package["name"], &field[1..]))
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
