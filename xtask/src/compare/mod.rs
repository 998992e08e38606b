//! Our collectives beside those of Open MPI's OSHMEM: the same loops, on the same processors, in
//! turns.
//!
//! Whatever else the machine does, and whether its cores are near or far just then, meets both
//! sides alike. A program gives medians; of its rounds the best counts, and of the peer's variants
//! too.
//!
//! | module | what it offers |
//! |---|---|
//! | [`peer`] | finding, installing, building and running the peer |
//! | [`figures`] | what was measured, and which targets it meets |
//! | [`chart`] | pictures of it |
//! | [`page`] | the chapter of the book |
//! | [`words`] | the C library: transfers, atomics, waiting, start |
//! | [`hosts`] | two hosts, beside bare sockets and UCX itself |
//! | [`between`] | what was measured there, and which targets it meets |
//! | [`apart`] | collectives between hosts |
//! | [`variants`] | each algorithm beside the next simpler one |
//! | [`cable`] | two network namespaces, as hosts |

mod apart;
mod between;
mod cable;
mod chart;
mod figures;
mod hosts;
mod page;
mod peer;
mod variants;
mod words;

use std::{fs, path::Path};

use crate::run::{Failure, Job, Outcome, Verdict, target_dir};
use figures::Figures;

/// Seconds that one run of a program may take.
const LIMIT: u64 = 60;
/// The peer's program for collectives.
const COLLECTIVES: &str = "benches/peer/collectives.c";

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Part {
    /// The C library.
    C,
    /// Collectives.
    Collectives,
    /// Several hosts, beside bare sockets, UCX itself and Open MPI.
    Hosts,
}

/// How much is measured.
#[derive(Clone, Copy)]
struct Settings {
    /// Only printed.
    quick: bool,
    /// Turns of both sides.
    rounds: usize,
    /// Batches of which a program gives the median.
    samples: usize,
}

/// Builds both sides, runs them in turns and writes the chapter, unless `quick`.
pub(crate) fn compare(quick: bool, pes: &[usize], only: Option<Part>, variants: bool) -> Outcome {
    if !variants {
        peer::install_if_missing()?;
    }
    Job::cargo("build --release --package oxshmem-bench --package oxshmem-launch --package oxshmem-capi")
        .limit(1200)
        .run()?;
    let target = target_dir()?;
    let folder = target.join("compare");
    fs::create_dir_all(&folder)?;
    let settings = match quick {
        true => Settings { quick, rounds: 2, samples: 5 },
        false => Settings { quick, rounds: 3, samples: 11 },
    };
    if variants {
        variants::compare(&target.join("release"), &folder, settings)?;
        return Ok(Verdict::Passed);
    }
    let wanted = |part| only.is_none_or(|only| only == part);
    if wanted(Part::Hosts) {
        hosts::compare(&target.join("release"), &folder, settings)?;
    }
    if wanted(Part::C) {
        words::compare(&target.join("release"), &folder, settings)?;
    }
    if wanted(Part::Collectives) {
        collectives(&target.join("release"), &folder, settings, pes)?;
    }
    Ok(Verdict::Passed)
}

/// Ours in Rust, the peer's in C.
fn collectives(release: &Path, folder: &Path, settings: Settings, pes: &[usize]) -> Result<(), Failure> {
    let Settings { quick, rounds, samples } = settings;
    let program = folder.join("peer");
    peer::build(COLLECTIVES, &program)?;
    let mut figures = Figures::default();
    for round in 1..=rounds {
        for &n in pes {
            println!("=== round {round} of {rounds}: {n} PEs");
            let file = folder.join("ours.json");
            ours(release, n, quick, &file)?;
            figures.read(&file, n, "oxshmem")?;
            for &variant in peer::variants(n) {
                let file = folder.join("peer.json");
                peer::run(&program, n, variant, samples, &file)?;
                figures.read(&file, n, variant.name)?;
            }
        }
    }
    let rows = figures.rows();
    if rows.is_empty() {
        return Err(Failure::new("no figure of both sides"));
    }
    figures::print(&rows);
    if !quick {
        page::write(&rows, rounds)?;
    }
    Ok(())
}

/// Runs our side, which writes its figures to `file`.
fn ours(release: &Path, n: usize, quick: bool, file: &Path) -> Result<(), Failure> {
    remove(file)?;
    let (n, limit) = (n.to_string(), (LIMIT - 5).to_string());
    // oshrun's own limit comes first, because it says more.
    let mut job = Job::new(release.join("oshrun"), ["--timeout", &limit, "-np", &n, "--bind-to", "core"]);
    job = job.limit(LIMIT).quiet();
    job = job.args(["--".as_ref(), release.join("shmem-perf").as_os_str()]);
    job = job.args(["--collectives", "--json"]).args([file]);
    if quick {
        job = job.args(["--quick"]);
    }
    job.run()
}

/// So that figures of an earlier run are never taken for those of a later one.
fn remove(file: &Path) -> Result<(), Failure> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}
