//! NVSHMEM beside us: its program for `gpu-verify`, and the book's page that compares the two.

use std::{fs, path::Path};

use super::report::Report;
use crate::{
    cuda_venv,
    run::{Failure, Job},
};

const SOURCE: &str = "benches/peer/nvshmem.cu";
const PAGE: &str = "book/src/nvshmem.md";
/// The page, but for what a report has.
const TEMPLATE: &str = include_str!("nvshmem_template.md");

/// What the program takes along of NVSHMEM: what reaches other hosts is left.
const LIBRARIES: [&str; 2] = ["libnvshmem_host.so.3", "nvshmem_bootstrap_uid.so.3"];

/// That of the devices that it was measured on; another one needs its own here.
const ARCHITECTURE: u32 = 90;

/// Overwrites what a program or library has for other architectures with zeros: five sixths of
/// NVSHMEM, which then take no room in an archive.
///
/// A container is a magic number, two 16-bit numbers, the length of its entries, and the entries.
/// An entry has a header, with its length and that of the payload at 4 and 8, and the architecture
/// at 28.
fn only_for(architecture: u32, file: &mut [u8]) {
    const BEGIN: [u8; 8] = [0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0];
    let number = |file: &[u8], at: usize| {
        let bytes = file.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map(u32::from_le_bytes)
    };
    let mut at = 0;
    while let Some(found) = file[at..].windows(BEGIN.len()).position(|it| it == BEGIN) {
        at += found;
        let end = at + 16 + number(file, at + 8).unwrap_or(0) as usize;
        at += 16;
        while at < end {
            let [Some(header), Some(payload), Some(of)] = [4, 8, 28].map(|from| number(file, at + from))
            else {
                return;
            };
            let begin = at + header as usize;
            at = begin + payload as usize;
            if header < 32 || at > file.len() {
                return;
            }
            if of != architecture {
                file[begin..at].fill(0);
            }
        }
    }
}

/// Compiles the program, and packs it with its libraries as `nvshmem.tar.gz` into a folder. The
/// inner error says why that cannot be.
pub(crate) fn pack(folder: &Path) -> Result<Result<(), String>, Failure> {
    let pack = folder.join("nvshmem.tar.gz");
    let packages: Vec<&str> = cuda_venv::COMPILER.into_iter().chain(["nvidia-nvshmem-cu13"]).collect();
    let nvidia = match cuda_venv::with(&packages, &["cu13/bin/nvcc", "nvshmem/include/nvshmem.h"])? {
        Ok(nvidia) => nvidia,
        Err(why) => return Ok(Err(why)),
    };
    let parts = folder.join("nvshmem");
    fs::create_dir_all(&parts)?;
    let library = nvidia.join("nvshmem/lib");
    Job::new(nvidia.join("cu13/bin/nvcc"), ["-std=c++17", "-O2", "-rdc=true", "-cudart=static"])
        .args([
            &*format!("-gencode=arch=compute_{ARCHITECTURE},code=sm_{ARCHITECTURE}"),
            "-Xlinker=-rpath=$ORIGIN",
        ])
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
        let file = parts.join(name);
        Job::new("strip", [&file]).run()?;
        let mut bytes = fs::read(&file)?;
        only_for(ARCHITECTURE, &mut bytes);
        fs::write(&file, bytes)?;
    }
    Job::new("tar", [Path::new("czf"), &pack, Path::new("-C"), &parts]).args(names).run()?;
    fs::remove_dir_all(&parts)?;
    Ok(Ok(()))
}

/// Writes the page with the figures of a report.
pub(crate) fn write_page(report: &Report<'_>) -> Result<(), String> {
    fs::write(PAGE, page(report)?).map_err(|error| format!("{PAGE}: {error}"))?;
    println!("{PAGE}");
    Ok(())
}

fn page(report: &Report<'_>) -> Result<String, String> {
    let lines = report.section("Beside NVSHMEM").unwrap_or_default().lines();
    let table: Vec<&str> = lines.filter(|line| line.starts_with('|')).collect();
    // Behind the head, what NVSHMEM took is the third cell.
    let is_measured = |row: &&str| row.split('|').nth(3).is_some_and(|cell| cell.trim() != "–");
    if !table.iter().skip(2).any(is_measured) {
        return Err("it has no figures of NVSHMEM".to_owned());
    }
    Ok(TEMPLATE
        .replace("{{device}}", report.device()?)
        .replace("{{date}}", report.date()?)
        .replace("{{commit}}", report.item("commit")?)
        .replace("{{driver}}", report.driver()?)
        .replace("{{table}}", &table.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_for_the_architecture_is_left() {
        let entry = |of: u32, payload: u8| {
            let mut bytes = vec![2, 0, 1, 1, 32, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0];
            bytes.extend([0; 12].iter().chain(&of.to_le_bytes()).chain(&[payload; 8]));
            bytes
        };
        let mut file = vec![7; 5];
        file.extend([0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0, 80, 0, 0, 0, 0, 0, 0, 0]);
        file.extend([entry(80, 3), entry(90, 4), vec![5; 9]].concat());
        let mut expected = file.clone();
        expected[5 + 16 + 32..][..8].fill(0);
        only_for(90, &mut file);
        assert_eq!(file, expected);
        // Not to its end.
        only_for(75, &mut file[..70]);
    }

    #[test]
    fn a_page_has_the_figures_of_its_report() {
        let text = "- date: 2026-11-26 14:09 UTC\n- commit: abc\n\
                    - NVIDIA driver: NVRM version: x86_64  580.159.04  Release\n- devices: NVIDIA H200, 143155 MiB\n\n\
                    ## Beside NVSHMEM\n\nwords\n\n| a | b | c |\n|---|---|---|\n| put | 8 B | 7.5 |\n\n## Steps\n| x |\n";
        let page = page(&Report(text)).unwrap();
        assert!(page.contains("| a | b | c |\n|---|---|---|\n| put | 8 B | 7.5 |\n"), "{page}");
        assert!(page.contains("NVIDIA H200") && page.contains("2026-11-26") && page.contains("580.159.04"));
        assert!(!page.contains("{{") && !page.contains("| x |"), "{page}");
        assert!(super::page(&Report(&text.replace("7.5", "–"))).is_err());
    }
}
