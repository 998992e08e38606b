//! What each algorithm of the collectives wins over the next simpler one, at which size and team.
//!
//! Within a host both are measured in turns, the simpler one by `SHMEM_TUNING` or another setting.
//! Between hosts both are simulated, in virtual time.

use std::{collections::BTreeMap, fmt::Write, fs, path::Path};

use serde_json::Value;

use super::{LIMIT, Settings, page};
use crate::run::{Failure, Job};

const PAGE: &str = "book/src/variants.md";
/// A variant is to win at least this part of the time of the next simpler one.
const LEAST: f64 = 0.15;

/// An algorithm, and how the next simpler one is asked for.
struct AlgorithmVariant {
    name: &'static str,
    than: &'static str,
    /// The setting that asks for the simpler one.
    simpler: &'static str,
    ops: &'static str,
    bytes: &'static [u64],
    pes: &'static [usize],
}

const VARIANTS: [AlgorithmVariant; 7] = [
    AlgorithmVariant {
        name: "all to all through slots",
        than: "direct",
        simpler: "SHMEM_TUNING=reduced_in_slots=0,collected_in_slots=0,gathered_in_slots=0",
        ops: "sum,fcollect,collect,alltoall",
        bytes: &[8, 40],
        pes: &[2],
    },
    AlgorithmVariant {
        name: "quick, through slots",
        than: "all to all through slots",
        simpler: "SHMEM_TUNING=quick=0",
        ops: "sum,fcollect,alltoall",
        bytes: &[8, 40],
        pes: &[2],
    },
    AlgorithmVariant {
        name: "all to all through slots",
        than: "a tree through slots",
        simpler: "SHMEM_TUNING=flat_pes=0",
        ops: "sum",
        bytes: &[8, 40],
        pes: &[2],
    },
    AlgorithmVariant {
        name: "a tree through slots",
        than: "direct",
        simpler: "SHMEM_TUNING=flat_pes=0,reduced_in_tree=0",
        ops: "sum",
        bytes: &[8, 256],
        pes: &[16],
    },
    AlgorithmVariant {
        name: "broadcast pushed",
        than: "direct",
        simpler: "SHMEM_TUNING=pushed=0",
        ops: "broadcast,broadcast_rotating",
        bytes: &[8, 1 << 10, 8 << 10, 32 << 10],
        pes: &[2],
    },
    AlgorithmVariant {
        name: "broadcast shared out with its root",
        than: "each PE by itself",
        simpler: "SHMEM_TUNING=helped_pes=0",
        ops: "broadcast,broadcast_rotating",
        bytes: &[64 << 10, 1 << 20],
        pes: &[2],
    },
    AlgorithmVariant {
        name: "counter",
        than: "dissemination",
        simpler: "SHMEM_SYNC_ALGORITHM=dissemination",
        ops: "sync",
        bytes: &[0],
        pes: &[4, 8],
    },
];

const METHOD: &str = "\
Each row is an algorithm of the collectives beside the next simpler one: how much less time it takes. An algorithm stays if it wins at
least 15 % somewhere. Where PEs have a core each these are 2, and more where they share cores. The best of the rounds counts, on both
sides, which take turns. [Collectives: design](collectives-design.md) says what each is.
";

/// Measures all variants, prints what they win, and writes the page unless `quick`.
pub(super) fn compare(release: &Path, folder: &Path, settings: Settings) -> Result<(), Failure> {
    let mut rows = Vec::new();
    for variant in &VARIANTS {
        for &pes in variant.pes {
            println!("=== {} beside {}: {pes} PEs", variant.name, variant.than);
            let mut best = [const { BTreeMap::new() }; 2];
            for _ in 0..settings.rounds {
                for (best, env) in best.iter_mut().zip([None, Some(variant.simpler)]) {
                    measure(release, folder, variant, pes, env, best)?;
                }
            }
            let [ours, simpler] = best;
            for ((op, bytes), time) in ours {
                if let Some(&simpler) = simpler.get(&(op.clone(), bytes)) {
                    let pair = [variant.name, variant.than].map(str::to_owned);
                    rows.push((format!("{pes} PEs"), op, bytes, pair, [time, simpler]));
                }
            }
        }
    }
    let simulated = Job::new(release.join("shmem-scale"), ["--variants"]).output()?;
    for line in String::from_utf8_lossy(&simulated.stdout).lines() {
        let line: Value = serde_json::from_str(line).map_err(|e| Failure::new(format!("{line}: {e}")))?;
        let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
        let number = |key: &str| line[key].as_f64().unwrap_or(f64::NAN);
        let hosts = format!("{} hosts with {}", number("pes") / number("per_host"), number("per_host"));
        let pair = [text("variant"), text("than")];
        rows.push((hosts, text("call"), number("bytes") as u64, pair, [number("time"), number("simpler")]));
    }
    let mut table = String::from(
        "| PEs | call | bytes | algorithm | µs | next simpler one | µs | wins |\n|---|---|---:|---|---:|---|---:|---:|\n",
    );
    for (pes, call, bytes, [name, than], [time, simpler]) in rows {
        let wins = 1.0 - time / simpler;
        let bold = if wins >= LEAST { "**" } else { "" };
        let _ = writeln!(
            table,
            "| {pes} | {call} | {bytes} | {name} | {:.3} | {than} | {:.3} | {bold}{:.0} %{bold} |",
            time / 1e3,
            simpler / 1e3,
            wins * 100.0
        );
    }
    println!("{table}");
    if !settings.quick {
        let head =
            page::head("Variants of collectives", "its own simpler algorithms", settings.rounds, METHOD);
        fs::write(PAGE, head + "\n" + &table)?;
        println!("{PAGE}");
    }
    Ok(())
}

/// Runs the loops once, and keeps the best time of each in ns.
fn measure(
    release: &Path,
    folder: &Path,
    variant: &AlgorithmVariant,
    pes: usize,
    env: Option<&str>,
    best: &mut BTreeMap<(String, u64), f64>,
) -> Result<(), Failure> {
    let file = folder.join("variant.json");
    super::remove(&file)?;
    let bytes: Vec<String> = variant.bytes.iter().filter(|&&bytes| bytes > 0).map(u64::to_string).collect();
    let limit = (LIMIT - 5).to_string();
    let mut job = Job::new(release.join("oshrun"), ["--timeout", &limit, "-np", &pes.to_string()]);
    job = job.args(["--bind-to", "core"]).limit(LIMIT).quiet();
    if let Some((name, value)) = env.and_then(|env| env.split_once('=')) {
        job = job.env(name, value);
    }
    job = job.args(["--".as_ref(), release.join("shmem-perf").as_os_str()]);
    job = job.args([format!("--collectives={}", variant.ops)]).args(["--quick", "--json"]).args([&file]);
    if !bytes.is_empty() {
        job = job.args(["--sizes", &bytes.join(",")]);
    }
    job.run()?;
    for line in fs::read_to_string(&file)?.lines() {
        let line: Value = serde_json::from_str(line).map_err(|e| Failure::new(format!("{line}: {e}")))?;
        let (Some(op), Some(bytes), Some(value)) =
            (line["name"].as_str(), line["bytes"].as_u64(), line["value"].as_f64())
        else {
            continue;
        };
        let time = best.entry((op.to_owned(), bytes)).or_insert(value);
        *time = time.min(value);
    }
    Ok(())
}
