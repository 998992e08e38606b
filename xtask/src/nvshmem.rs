//! NVSHMEM beside us: its program for `gpu-verify`, and the book's page that compares the two.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    cuda_venv,
    run::{Failure, Job, Outcome, Verdict},
};

const SOURCE: &str = "benches/peer/nvshmem.cu";
const PAGE: &str = "book/src/nvshmem.md";
/// The page, but for what a report has.
const TEMPLATE: &str = include_str!("nvshmem_template.md");

/// What the program takes along of NVSHMEM: what reaches other hosts is left.
const LIBRARIES: [&str; 2] = ["libnvshmem_host.so.3", "nvshmem_bootstrap_uid.so.3"];

/// Compiles the program, and packs it with its libraries as `nvshmem.tar.gz` into a folder. The
/// inner error says why that cannot be.
pub(crate) fn pack(folder: &Path) -> Result<Result<PathBuf, String>, Failure> {
    let pack = folder.join("nvshmem.tar.gz");
    let changed = |path: &Path| fs::metadata(path).and_then(|it| it.modified()).ok();
    if changed(&pack) > changed(Path::new(SOURCE)) {
        return Ok(Ok(pack));
    }
    let packages: Vec<&str> = cuda_venv::COMPILER.into_iter().chain(["nvidia-nvshmem-cu13"]).collect();
    let nvidia = match cuda_venv::with(&packages, &["cu13/bin/nvcc", "nvshmem/include/nvshmem.h"])? {
        Ok(nvidia) => nvidia,
        Err(why) => return Ok(Err(why)),
    };
    let parts = folder.join("nvshmem");
    fs::create_dir_all(&parts)?;
    let library = nvidia.join("nvshmem/lib");
    Job::new(nvidia.join("cu13/bin/nvcc"), ["-std=c++17", "-O2", "-rdc=true", "-cudart=static"])
        // The devices that it was measured on; another one needs its architecture here.
        .args(["-gencode=arch=compute_90,code=sm_90", "-Xlinker=-rpath=$ORIGIN"])
        .args([Path::new("-I"), &nvidia.join("nvshmem/include"), Path::new("-L"), &nvidia.join("cu13/lib")])
        .args([Path::new("-L"), &library, Path::new("-o"), &parts.join("nvshmem"), Path::new(SOURCE)])
        .args(["-lnvshmem_device", &*format!("-Xlinker=-l:{}", LIBRARIES[0])])
        .limit(600)
        .run()?;
    let mut names = vec!["nvshmem"];
    for name in LIBRARIES {
        fs::copy(library.join(name), parts.join(name))?;
        names.push(name);
    }
    for name in &names {
        Job::new("strip", [parts.join(name)]).run()?;
    }
    Job::new("tar", [Path::new("czf"), &pack, Path::new("-C"), &parts]).args(names).run()?;
    fs::remove_dir_all(&parts)?;
    Ok(Ok(pack))
}

/// Writes the page from a report that gpu-verify has printed.
pub(crate) fn page(report: &Path) -> Outcome {
    let text =
        fs::read_to_string(report).map_err(|error| Failure::new(format!("{}: {error}", report.display())))?;
    fs::write(PAGE, written(&text).map_err(Failure::new)?)?;
    println!("{PAGE}");
    Ok(Verdict::Passed)
}

/// The page with the figures of a report.
fn written(report: &str) -> Result<String, String> {
    let item = |name: &str| {
        let start = format!("- {name}: ");
        let found = report.lines().find_map(|line| line.strip_prefix(&*start));
        found.map(str::trim).ok_or_else(|| format!("the report has no line {start:?}"))
    };
    let table: Vec<&str> = report
        .lines()
        .skip_while(|line| *line != "## Beside NVSHMEM")
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'))
        .collect();
    if table.len() < 3 {
        return Err("the report has no table \"Beside NVSHMEM\"".to_owned());
    }
    let device = item("devices")?.split(',').next().unwrap_or_default();
    let date = item("date")?.split(' ').next().unwrap_or_default();
    Ok(TEMPLATE
        .replace("{{device}}", device)
        .replace("{{date}}", date)
        .replace("{{commit}}", item("commit")?)
        .replace(
            "{{driver}}",
            item("NVIDIA driver")?.split_whitespace().find(is_version).unwrap_or("unknown"),
        )
        .replace("{{table}}", &table.join("\n")))
}

/// Whether a word is a version, as of a driver.
fn is_version(word: &&str) -> bool {
    word.contains('.') && word.chars().all(|c| c == '.' || c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_the_figures_of_its_report() {
        let report = "# Device verification\n\n- date: 2026-11-26 14:09 UTC\n- commit: abc\n\
                      - NVIDIA driver: NVRM version: x86_64  580.159.04  Release\n- devices: NVIDIA H200, 143155 MiB\n\n\
                      ## Beside NVSHMEM\n\nwords\n\n| a | b |\n|---|---|\n| put | 7.5 |\n\n## Summary\n";
        let page = written(report).unwrap();
        assert!(page.contains("| a | b |\n|---|---|\n| put | 7.5 |\n"), "{page}");
        assert!(page.contains("NVIDIA H200") && page.contains("2026-11-26") && page.contains("580.159.04"));
        assert!(!page.contains("{{"), "{page}");
        assert!(written("- date: x\n").is_err());
    }
}
