//! Collectives of two PEs on different hosts, beside Open MPI's, in the network namespaces that a
//! cable joins.

use std::{collections::BTreeMap, fmt::Write, fs, path::Path};

use serde_json::Value;

use super::{
    COLLECTIVES, LIMIT, Settings,
    cable::Cable,
    figures::{OPS, short},
    peer, remove,
};
use crate::run::{Failure, Job};

/// What the page says of it.
const METHOD: &str = "\
Two PEs, each in a network namespace and bound to a core, call the same collective again and again, as in
[Compared with Open MPI](compare.md): ours over UCX, the peer's over its own TCP (`btl/tcp`, its default there), the least of its ways to run, which
`variant` names. Sides take turns, and of the rounds each side's best counts, of medians, since a machine that others share takes twice as
long at one time as at another. What takes the peer longer than 4 ms (20 ms for 1 MiB) is left out.
Bytes are those of one PE's block. Target: at most the peer's time.
";

/// What is compared.
const MEASURED: [&str; 7] =
    ["sync", "sum", "broadcast", "broadcast_rotating", "fcollect", "collect", "alltoall"];

/// A collective, by its place in [`OPS`], and bytes.
type OpSize = (usize, u64);
type Times = BTreeMap<OpSize, f64>;
/// Our least time, and the peer's with its variant.
type Best = (f64, f64, &'static str);

/// What was measured.
#[derive(Default)]
pub(super) struct CableFigures(BTreeMap<OpSize, Best>);

impl CableFigures {
    /// Runs both sides once.
    pub(super) fn measure(
        &mut self,
        release: &Path,
        folder: &Path,
        settings: Settings,
        cable: &Cable,
    ) -> Result<(), Failure> {
        let program = folder.join("peer");
        peer::build(COLLECTIVES, &program)?;
        let ours = ours(release, folder, settings, cable)?;
        for &variant in peer::variants(2) {
            let file = folder.join("peer.json");
            peer::run_apart(&program, variant, settings.samples, &file, cable)?;
            for (key, peer) in read(&file)? {
                if let Some(&ours) = ours.get(&key) {
                    let best = self.0.entry(key).or_insert((ours, peer, variant.name));
                    *best = better(*best, (ours, peer, variant.name));
                }
            }
        }
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Prints the table, and adds it to the chapter.
    pub(super) fn table(self, text: &mut String) {
        let title = "Collectives beside Open MPI";
        let cells: Vec<[String; 7]> =
            self.0.into_iter().map(|((op, bytes), best)| row(OPS[op], bytes, best)).collect();
        let ahead = cells.iter().filter(|row| row[6] == "met").count();
        println!("{title}");
        let head = ["operation", "bytes", "ours", "peer", "ratio", "variant", "target"].map(str::to_owned);
        for [a, b, c, d, e, f, g] in std::iter::once(&head).chain(&cells) {
            println!("{a:<20} {b:>8} {c:>10} {d:>10} {e:>6} {f:<8} {g}");
        }
        println!("{ahead} of {} rows meet their target", cells.len());
        let _ = writeln!(
            text,
            "## {title}\n\n{METHOD}\n{ahead} of {} rows meet their target. Times in us.\n",
            cells.len()
        );
        let _ = writeln!(text, "| {} |\n|---|---:|---:|---:|---:|---|---|", head.join(" | "));
        for row in &cells {
            let _ = writeln!(text, "| {} |", row.join(" | "));
        }
        text.push('\n');
    }
}

/// Each side's better time.
fn better(a: Best, b: Best) -> Best {
    let (peer, variant) = if b.1 < a.1 { (b.1, b.2) } else { (a.1, a.2) };
    (a.0.min(b.0), peer, variant)
}

fn row(op: &str, bytes: u64, (ours, peer, variant): Best) -> [String; 7] {
    let verdict = if ours <= peer { "met" } else { "missed: > the peer" };
    [
        op.to_owned(),
        bytes.to_string(),
        short(ours / 1e3),
        short(peer / 1e3),
        format!("{:.2}", ours / peer),
        variant.to_owned(),
        verdict.to_owned(),
    ]
}

/// Runs our side.
fn ours(release: &Path, folder: &Path, settings: Settings, cable: &Cable) -> Result<Times, Failure> {
    let file = folder.join("apart.json");
    remove(&file)?;
    let limit = (LIMIT - 5).to_string();
    let mut job = Job::new(release.join("oshrun"), ["--timeout", &limit, "-np", "2", "--bind-to", "core"])
        .args(["--fake-hosts", "2", "--"])
        .args([cable.script()])
        .args([release.join("shmem-perf")])
        .args([format!("--collectives={}", MEASURED.join(","))])
        .args(["--json"])
        .args([&file])
        .limit(LIMIT)
        .quiet()
        .without_library_path();
    if settings.quick {
        job = job.args(["--quick"]);
    }
    job.run()?;
    read(&file)
}

/// What a program has written, in ns.
fn read(file: &Path) -> Result<Times, Failure> {
    let text = fs::read_to_string(file).map_err(|e| Failure::new(format!("{}: {e}", file.display())))?;
    let mut times = Times::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).map_err(|e| Failure::new(format!("{line}: {e}")))?;
        let measured = MEASURED.iter().any(|&op| line["name"] == op);
        let Some(op) = OPS.iter().position(|&op| measured && line["name"] == op) else { continue };
        if let (Some(bytes), Some(value)) = (line["bytes"].as_u64(), line["value"].as_f64()) {
            times.insert((op, bytes), value);
        }
    }
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_round_of_each_side_counts() {
        let rounds = [(30e3, 16e3, "a"), (10e3, 20e3, "b"), (15e3, 12e3, "c"), (12e3, 14e3, "a")];
        let best = rounds.into_iter().reduce(better).expect("there are some");
        let [op, bytes, ours, peer, ratio, variant, verdict] = row("sum", 8, best);
        assert_eq!([&op, &bytes, &ratio, &variant, &verdict], ["sum", "8", "0.83", "c", "met"]);
        assert_eq!([ours, peer].map(|text| text.parse::<f64>().unwrap()), [10.0, 12.0]);
        assert_eq!(row("sync", 0, (13e3, 12e3, "a"))[6], "missed: > the peer");
    }
}
