//! Two PEs on different hosts beside bare UCX, and beside UCX's own benchmark.

use std::{
    collections::BTreeMap,
    fmt::Write,
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{LIMIT, Settings, apart, cable::Cable, figures::short, page, remove};
use crate::{
    debian,
    run::{Failure, Job},
};

const PAGE: &str = "book/src/compare-hosts.md";

const METHOD: &str = "\
Two PEs, bound to a core each, that `oshrun --fake-hosts 2` has placed on two simulated hosts, over the library's own TCP net.

The first table is of a PE that computes and calls nothing, which its helper thread serves: medians of the times that the other PE takes for
one operation (`shmem-perf --serving`). Where PEs are not bound, the scheduler decides where that thread runs.

The others are of each operation of ours (`benches/src/remote.rs`) in turns with the same one of bare UCX between the same two processes
(`benches/src/raw_ucx.rs`): one thread a side, no more than the call and `ucp_worker_progress`, with the same buffers, at a target that does
nothing but serve. Bare UCX's longer puts and gets over TCP are messages of 8 KiB, which it copies; ours are frames of a stream (*Over TCP*
in *Several hosts*). The median of each counts, and of the rounds the one whose ratio is in the middle, since the machine is faster at one
time than at another. A PE that waits polls, as does its target for a tenth of a millisecond after each message.
`ucx_perftest` runs between the rounds, over TCP and bound to the same cores, once for each figure that it has, of which the best counts;
its latencies are its 50th percentile. It has none for a put with a flush, and its put bandwidth and rate leave out the flush at the end. Its
get has been seen to take a millisecond, for a reason that was not looked into.

The one after it is the same in two network namespaces that a virtual cable joins, where root measures: packets then pass a device.
`ucx_perftest` does not run there.

Nonblocking gets and atomic operations that fetch, of 8 bytes, are beside the same ones one by one; strided transfers of 1,000 elements of 8 bytes,
beside contiguous ones.

Their last rows are random `xor`s of 8-byte words: in a session, one by one, and aggregated by hand, which is to put blocks of places and
values, with a signal, that the other PE applies.

Targets: a PE that computes serves others within 100 us; latencies at most 1.15 times those of bare UCX, bandwidths at least 0.95 and rates at
least 0.9 of it; a session, and nonblocking operations on words, at least 10 times as fast as one by one; a session at least half as fast as by
hand; a strided transfer at most 3 times what a contiguous one takes.
";

/// How often everything is measured, unless quickly.
const ROUNDS: usize = 5;

/// What `ucx_perftest` measures: our row's name, its bytes, the test, the iterations, and which
/// column has it.
const TESTS: [(&str, u64, &str, &str, usize); 5] = [
    ("remote get", 8, "ucp_get", "20000", 1),
    ("remote fetch_add", 8, "ucp_fadd", "20000", 1),
    ("remote put_nbi", 8, "ucp_put_bw", "300000", 7),
    ("remote put_nbi", 1 << 20, "ucp_put_bw", "1000", 5),
    ("remote get_nbi", 1 << 20, "ucp_get", "1000", 5),
];

/// One row.
struct HostFigure {
    row: usize,
    unit: String,
    /// Ours and bare UCX's, of each round.
    rounds: Vec<(f64, f64)>,
    perftest: Option<f64>,
}

impl HostFigure {
    /// Whether less is better.
    fn is_time(&self) -> bool {
        self.unit == "us"
    }

    fn better(&self, a: f64, b: f64) -> f64 {
        if self.is_time() { a.min(b) } else { a.max(b) }
    }

    /// Both figures of the round whose ratio is in the middle: what the machine does to one side in
    /// a round, it does to both.
    fn both(&self) -> (f64, f64) {
        let mut rounds = self.rounds.clone();
        rounds.sort_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)));
        rounds[rounds.len() / 2]
    }

    /// `met`, or by what it is missed.
    fn verdict(&self, name: &str) -> String {
        let (ours, bare) = self.both();
        let ratio = ours / bare;
        let (met, target) = match () {
            () if name.ends_with("one by one") => (ratio >= 10.0, "< 10 × one by one"),
            () if name.ends_with("by hand") => (ratio >= 0.5, "< 0.5 of by hand"),
            () if name.ends_with("contiguous") => (ratio <= 3.0, "> 3 × contiguous"),
            () if self.is_time() => (ratio <= 1.15, "> 1.15 × bare"),
            () if self.unit == "M/s" => (ratio >= 0.9, "< 0.9 of bare"),
            () => (ratio >= 0.95, "< 0.95 of bare"),
        };
        if met { "met".into() } else { format!("missed: {target}") }
    }
}

/// Measures, prints, and writes the chapter unless `quick`.
pub(super) fn compare(release: &Path, folder: &Path, settings: Settings) -> Result<(), Failure> {
    debian::install("ucx_perftest is", &["ucx-utils"], || Job::new("ucx_perftest", ["-h"]).works())?;
    let cable = Cable::lay(folder)?;
    let (mut simulated, mut joined) = (HostFigures::new(), HostFigures::new());
    let mut served = [HostFigures::new(), HostFigures::new()];
    let mut collectives = apart::CableFigures::default();
    let rounds = if settings.quick { settings.rounds } else { ROUNDS };
    for round in 1..=rounds {
        println!("=== round {round} of {rounds}: 2 PEs on 2 hosts");
        measure(release, folder, settings, None, &mut simulated)?;
        for (bind, figures) in ["core", "none"].into_iter().zip(&mut served) {
            serving(release, folder, bind, figures)?;
        }
        for (name, bytes, test, iterations, column) in TESTS {
            let value = perftest(test, bytes, iterations, column)?;
            if let (Some(value), Some(figure)) = (value, simulated.get_mut(&(name.to_owned(), bytes))) {
                // It counts in MB/s and in messages a second.
                let value = match figure.unit.as_str() {
                    "GB/s" => value * 1.048_576e-3,
                    "M/s" => value / 1e6,
                    _ => value,
                };
                figure.perftest = Some(figure.perftest.map_or(value, |best| figure.better(best, value)));
            }
        }
        if let Some(cable) = &cable {
            println!("=== round {round} of {rounds}: 2 PEs in 2 network namespaces");
            measure(release, folder, settings, Some(cable), &mut joined)?;
            collectives.measure(release, folder, settings, cable)?;
        }
    }
    let mut text = page::head("Hosts compared with UCX", &version(), rounds, METHOD);
    serving_table(&mut text, served);
    for (title, figures) in [("Simulated hosts, over loopback", simulated), ("Network namespaces", joined)] {
        if !figures.is_empty() {
            table(&mut text, title, figures);
        }
    }
    if !collectives.is_empty() {
        collectives.table(&mut text);
    }
    if !settings.quick {
        fs::write(PAGE, text)?;
        println!("{PAGE}");
    }
    Ok(())
}

/// By name and bytes.
type HostFigures = BTreeMap<(String, u64), HostFigure>;

/// One round, on simulated hosts or in the namespaces that a cable joins.
fn measure(
    release: &Path,
    folder: &Path,
    settings: Settings,
    cable: Option<&Cable>,
    figures: &mut HostFigures,
) -> Result<(), Failure> {
    let file = folder.join("hosts.json");
    remove(&file)?;
    let limit = (LIMIT - 5).to_string();
    let mut job = Job::new(release.join("oshrun"), ["--timeout", &limit, "-np", "2", "--bind-to", "core"])
        .args(["--fake-hosts", "2", "--"])
        .limit(LIMIT)
        .quiet()
        .without_library_path();
    if let Some(cable) = cable {
        job = job.args([cable.script()]);
    }
    job = job.args([release.join("shmem-perf")]).args(["--remote", "--json"]).args([&file]);
    if settings.quick {
        job = job.args(["--quick"]);
    }
    job.run()?;
    read(&file, figures)
}

/// One round of a PE that computes.
fn serving(release: &Path, folder: &Path, bind: &str, figures: &mut HostFigures) -> Result<(), Failure> {
    let file = folder.join("serving.json");
    remove(&file)?;
    let limit = (LIMIT - 5).to_string();
    Job::new(release.join("oshrun"), ["--timeout", &limit, "-np", "2", "--bind-to", bind])
        .args(["--fake-hosts", "2", "--"])
        .args([release.join("shmem-perf")])
        .args(["--serving", "--json"])
        .args([&file])
        .limit(LIMIT)
        .quiet()
        .without_library_path()
        .run()?;
    read(&file, figures)
}

/// Prints the table of a PE that computes, and adds it to the chapter.
fn serving_table(text: &mut String, [bound, unbound]: [HostFigures; 2]) {
    let title = "A PE that computes";
    println!("{title}");
    let _ = writeln!(text, "## {title}\n");
    let _ = writeln!(text, "| operation | bound to a core | not bound | bound, while it waits | target |");
    let _ = writeln!(text, "|---|---:|---:|---:|---|");
    let mut rows: Vec<_> = bound.into_iter().zip(unbound.into_values()).collect();
    rows.sort_by_key(|((_, figure), _)| figure.row);
    for (((name, _), bound), unbound) in rows {
        let ((bound, waits), (unbound, _)) = (bound.both(), unbound.both());
        let met = bound <= 100.0 && unbound <= 100.0;
        let [bound, waits, unbound] = [bound, waits, unbound].map(short);
        let verdict = if met { "met" } else { "missed: > 100 us" };
        let row = [name.trim_start_matches("served "), &bound, &unbound, &waits, verdict].join(" | ");
        println!("{row}");
        let _ = writeln!(text, "| {row} |");
    }
    text.push('\n');
}

/// Prints a table, and adds it to the chapter.
fn table(text: &mut String, title: &str, figures: HostFigures) {
    let mut rows: Vec<_> = figures.into_iter().collect();
    rows.sort_by_key(|(_, figure)| figure.row);
    let head = ["operation", "bytes", "ours", "bare UCX", "ratio", "ucx_perftest", "target"];
    let cells: Vec<[String; 7]> = rows
        .iter()
        .map(|((name, bytes), figure)| {
            let (ours, bare) = figure.both();
            [
                name.trim_start_matches("remote ").to_owned(),
                bytes.to_string(),
                format!("{} {}", short(ours), figure.unit),
                short(bare),
                format!("{:.2}", ours / bare),
                figure.perftest.map(short).unwrap_or_default(),
                figure.verdict(name),
            ]
        })
        .collect();
    println!("{title}");
    let met = cells.iter().filter(|row| row[6] == "met").count();
    for [a, b, c, d, e, f, g] in std::iter::once(&head.map(str::to_owned)).chain(&cells) {
        println!("{a:<28} {b:>8} {c:>12} {d:>9} {e:>6} {f:>13}  {g}");
    }
    println!("{met} of {} rows meet their target", cells.len());
    let _ = writeln!(text, "## {title}\n\n{met} of {} rows meet their target.\n", cells.len());
    let _ = writeln!(text, "| {} |\n|---|---:|---:|---:|---:|---:|---|", head.join(" | "));
    for row in &cells {
        let _ = writeln!(text, "| {} |", row.join(" | "));
    }
    text.push('\n');
}

/// Adds what `shmem-perf` has written.
fn read(file: &Path, figures: &mut HostFigures) -> Result<(), Failure> {
    let text = fs::read_to_string(file).map_err(|e| Failure::new(format!("{}: {e}", file.display())))?;
    for (row, line) in text.lines().enumerate() {
        let line: Value = serde_json::from_str(line).map_err(|e| Failure::new(format!("{line}: {e}")))?;
        let (Some(name), Some(unit)) = (line["name"].as_str(), line["unit"].as_str()) else { continue };
        let (Some(ours), Some(bare)) = (line["value"].as_f64(), line["reference"].as_f64()) else { continue };
        let bytes = line["bytes"].as_u64().unwrap_or_default();
        let figure = figures.entry((name.to_owned(), bytes)).or_insert_with(|| HostFigure {
            row,
            unit: unit.to_owned(),
            rounds: Vec::new(),
            perftest: None,
        });
        figure.rounds.push((ours, bare));
    }
    Ok(())
}

/// Which UCX it was.
fn version() -> String {
    let output = Job::new("ucx_info", ["-v"]).output().map(|output| output.stdout).unwrap_or_default();
    let text = String::from_utf8_lossy(&output);
    let version = text.lines().find_map(|line| line.split_once("ersion ").map(|(_, version)| version.trim()));
    format!("UCX {}", version.unwrap_or("of an unknown version"))
}

/// A process that is ended when it is not needed any more.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// One figure of `ucx_perftest` over TCP; none if it takes forever, as it does now and then.
fn perftest(test: &str, bytes: u64, iterations: &str, column: usize) -> Result<Option<f64>, Failure> {
    let start = |core: &str| {
        let mut command = Command::new("taskset");
        command.args(["-c", core, "ucx_perftest", "-p", "13947"]).env("UCX_TLS", "tcp").stderr(Stdio::null());
        command
    };
    let server = Server(start("1").stdout(Stdio::null()).spawn()?);
    thread::sleep(Duration::from_millis(500));
    let size = bytes.to_string();
    let mut client = start("0");
    client.args(["127.0.0.1", "-t", test, "-s", &size, "-n", iterations]).stdout(Stdio::piped());
    let mut client = Server(client.spawn()?);
    let deadline = Instant::now() + Duration::from_secs(LIMIT);
    while client.0.try_wait()?.is_none() {
        if Instant::now() > deadline {
            println!("ucx_perftest -t {test} takes longer than {LIMIT} s: no figure");
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(20));
    }
    let mut text = String::new();
    if let Some(mut out) = client.0.stdout.take() {
        std::io::Read::read_to_string(&mut out, &mut text)?;
    }
    drop(server);
    let last = text.lines().find_map(|line| line.strip_prefix("Final:")).unwrap_or_default();
    let value = last.split_whitespace().nth(column).and_then(|value| value.parse().ok());
    value.map(Some).ok_or_else(|| Failure::new(format!("ucx_perftest -t {test} printed no figure: {last}")))
}
