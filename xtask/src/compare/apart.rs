//! Collectives of PEs on different hosts, beside Open MPI's: in the network namespaces that a cable
//! joins, and on simulated hosts that share cores.

use std::{collections::BTreeMap, fmt::Write, fs, path::Path};

use serde_json::Value;

use super::{
    COLLECTIVES, Settings,
    between::{self, Carrier, verdict},
    cable::Cable,
    figures::{OPS, short},
    peer, remove,
};
use crate::run::Failure;

/// What the page says of it.
const METHOD: &str = "\
PEs call the same collective again and again, as in [Compared with Open MPI](compare.md): two, each in a network namespace and bound to a
core, and four on simulated hosts. Ours go over the library's own TCP net, the peer's over its own TCP (`btl/tcp`, its default between hosts, and
here between the four as well), the least of its ways to run, which `variant` names. Four PEs share the cores: ours are bound to them
in turn, the peer's yield, and are bound in turn as well or not at all.
Sides take turns, and of the rounds each side's best counts, of medians, since a machine that others share takes twice as
long at one time as at another. What takes the peer longer than 4 ms (20 ms for 1 MiB) is left out.
Bytes are those of one PE's block, times in us. Target: at most the peer's time.
";

/// What is compared.
const MEASURED: [&str; 7] =
    ["sync", "sum", "broadcast", "broadcast_rotating", "fcollect", "collect", "alltoall"];

/// A collective, by its place in [`OPS`], and bytes.
type OpSize = (usize, u64);
type Times = BTreeMap<OpSize, f64>;
/// Our least time, and the peer's with its variant.
type Best = (f64, f64, &'static str);

/// What was measured at one place.
#[derive(Default)]
pub(super) struct Collectives(BTreeMap<OpSize, Best>);

impl Collectives {
    /// Runs both sides once: two PEs at the ends of a cable, or four on simulated hosts.
    pub(super) fn measure(
        &mut self,
        release: &Path,
        folder: &Path,
        settings: Settings,
        cable: Option<&Cable>,
    ) -> Result<(), Failure> {
        let program = folder.join("peer");
        peer::build(COLLECTIVES, &program)?;
        let n = if cable.is_some() { 2 } else { 4 };
        let ours = ours(release, folder, settings, n, cable)?;
        for &variant in peer::variants_apart(n) {
            let file = folder.join("peer.json");
            match cable {
                Some(cable) => peer::run_apart(&program, variant, settings.samples, &file, cable)?,
                None => peer::run_over_loopback(&program, n, variant, settings.samples, &file)?,
            }
            for (key, peer) in read(&file)? {
                if let Some(&ours) = ours.get(&key) {
                    let best = self.0.entry(key).or_insert((ours, peer, variant.name));
                    *best = better(*best, (ours, peer, variant.name));
                }
            }
        }
        Ok(())
    }
}

/// Prints the tables, and adds them to the chapter.
pub(super) fn tables(text: &mut String, places: [(&str, Collectives); 2]) {
    let _ = writeln!(text, "## Collectives beside Open MPI\n\n{METHOD}");
    for (title, figures) in places.into_iter().filter(|(_, figures)| !figures.0.is_empty()) {
        let rows = figures.0.into_iter().map(|((op, bytes), best)| row(OPS[op], bytes, best).into());
        let head = "operation|bytes|ours|peer|ratio|variant|target";
        between::table(text, &format!("Collectives: {title}"), head, rows.collect());
    }
}

/// Each side's better time.
fn better(a: Best, b: Best) -> Best {
    let (peer, variant) = if b.1 < a.1 { (b.1, b.2) } else { (a.1, a.2) };
    (a.0.min(b.0), peer, variant)
}

fn row(op: &str, bytes: u64, (ours, peer, variant): Best) -> [String; 7] {
    [
        op.to_owned(),
        bytes.to_string(),
        short(ours / 1e3),
        short(peer / 1e3),
        format!("{:.2}", ours / peer),
        variant.to_owned(),
        verdict(ours <= peer, "> the peer"),
    ]
}

/// Runs our side.
fn ours(
    release: &Path,
    folder: &Path,
    settings: Settings,
    n: usize,
    cable: Option<&Cable>,
) -> Result<Times, Failure> {
    let file = folder.join("apart.json");
    remove(&file)?;
    let mut job = Carrier::Tcp.job(release, n, "core");
    if let Some(cable) = cable {
        job = job.args([cable.script()]);
    }
    job = job.args([release.join("shmem-perf")]).args([format!("--collectives={}", MEASURED.join(","))]);
    job = job.args(["--json"]).args([&file]);
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
