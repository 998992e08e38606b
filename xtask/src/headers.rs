//! What is generated from the table of the C API and committed: the headers, and the book's map
//! from C to Rust; and the copy of the device functions that lies with the headers.

use std::{fs, path::PathBuf};

use crate::run::{Failure, Outcome, Verdict};

const INCLUDE: &str = "capi/include";
const MAP: &str = "book/src/c-map.md";

/// Writes the files, or compares them with those that are there.
pub(crate) fn headers(check: bool) -> Outcome {
    let mut stale = Vec::new();
    for (path, text) in files()? {
        if fs::read_to_string(&path).is_ok_and(|found| found == text) {
            continue;
        }
        if check {
            stale.push(path.display().to_string());
            continue;
        }
        fs::create_dir_all(path.parent().unwrap_or(&path))?;
        fs::write(&path, text)?;
        println!("{}", path.display());
    }
    if stale.is_empty() {
        return Ok(Verdict::Passed);
    }
    Err(Failure::new(format!("out of date: {}: cargo xtask headers", stale.join(", "))))
}

/// The device functions, which Rust programs get from the library.
const FUNCTIONS: &str = "spaces/src/device/kernel/shmemx_device.cuh";

fn files() -> Result<Vec<(PathBuf, String)>, Failure> {
    let mut files: Vec<_> = oxshmem_capi_table::headers()
        .into_iter()
        .map(|(path, text)| (PathBuf::from(INCLUDE).join(path), text))
        .collect();
    files.push((MAP.into(), oxshmem_capi_table::map_page()));
    files.push((PathBuf::from(INCLUDE).join("shmemx_device.cuh"), fs::read_to_string(FUNCTIONS)?));
    Ok(files)
}
