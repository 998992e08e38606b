//! The C library beside Open MPI's: transfers between two PEs, atomics, a ping-pong, a wait, and
//! the start of a job.

use std::{
    collections::BTreeMap,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use serde_json::Value;

use super::{LIMIT, Settings, figures::short, page, peer, remove};
use crate::run::{Failure, Job};

const SOURCE: &str = "benches/peer/point_to_point.c";
const STARTED: &str = "benches/peer/hello.c";
const PAGE: &str = "book/src/compare-c.md";

/// Seconds of a job's start are measured so often.
const STARTS: usize = 9;

/// Rounds of words for each round of the collectives: one takes seconds.
const TIMES: usize = 4;

const METHOD: &str = "\
The same C program (`benches/peer/point_to_point.c`) is compiled with our `oshcc` and with the peer's, and run in turns by
each with 2 PEs, bound to a core each. PE 0 calls and PE 1 waits in a barrier, except where they play ping-pong. A time is that
of a batch of calls, with `shmem_quiet` at its end, divided by their number; a program gives the median of its batches, and
the best of its rounds counts, on both sides. *Threads* is ours after `shmem_init_thread(SHMEM_THREAD_MULTIPLE)`. The bound is
the same in bare loads and stores, atomic instructions or `memcpy` on the memory that `shmem_ptr` gives, in turns with the calls;
*× bound* is the median over the rounds of ours by the bound of the same round, since the processor's clock is not the same in all.
What threads cost is taken from the medians in cycles, one of which is what an addition takes beside each sample, or from the
best in nanoseconds, whichever is less.
Whether the cores were near or far is measured as in the comparison of collectives.

`put_ahead` is a put whose destination is a word ahead of its source, within pages, as when a halo shifts by an element.
`ping_pong` is half the way there and back of an 8-byte put, a fence, a flag by `shmem_long_p`, and `shmem_long_wait_until` on the
other side. `waiting` is the part of a processor that a PE uses that waits for a second, `start` the time of a whole job of two
PEs that print a line.

Targets: `p`, `g`, `fetch` and `put`, `get`, `put_nbi` of 8 bytes at most 4 ns, the other atomics at most 1.6 times the bare instruction,
blocks at least 0.95 of `memcpy`, `ping_pong` at most 0.6 of the peer's, `waiting` at most 0.5 %, `start` at most 25 ms, and nothing more
than a fifth slower with threads.
";

/// What a figure is of: the place of the row, its name, bytes, and where the cores were.
type WordKey = (usize, String, u64, String);

/// What was measured of one row. What is missing is infinite.
#[derive(Clone)]
struct WordFigure {
    ours: f64,
    threads: f64,
    peer: f64,
    bound: f64,
    /// Ours by the bound, of each round.
    beside: Vec<f64>,
    /// Ours in cycles, of each round, without and with threads.
    cycles: [Vec<f64>; 2],
}

impl WordFigure {
    fn none() -> Self {
        let none = f64::INFINITY;
        Self {
            ours: none,
            threads: none,
            peer: none,
            bound: none,
            beside: Vec::new(),
            cycles: [Vec::new(), Vec::new()],
        }
    }

    /// Ours by the bound.
    fn of_bound(&self) -> f64 {
        median(&self.beside).unwrap_or(f64::INFINITY)
    }
}

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

/// The figures so far.
#[derive(Default)]
struct WordFigures(BTreeMap<WordKey, WordFigure>);

/// Which of the three a file is of.
#[derive(Clone, Copy)]
enum Side {
    Ours,
    Threads,
    Peer,
}

/// Measures, prints, and writes the chapter unless `quick`.
pub(super) fn compare(release: &Path, folder: &Path, settings: Settings) -> Result<(), Failure> {
    let (ours, theirs) = (folder.join("ours-words"), folder.join("peer-words"));
    let (our_started, their_started) = (folder.join("ours-hello"), folder.join("peer-hello"));
    for (source, program) in [(SOURCE, &ours), (STARTED, &our_started)] {
        Job::new(release.join("oshcc"), ["-O2", "-Wall", source, "-o"]).args([program]).run()?;
    }
    peer::build(SOURCE, &theirs)?;
    peer::build(STARTED, &their_started)?;

    let mut figures = WordFigures::default();
    let file = folder.join("words.json");
    let rounds = settings.rounds * TIMES;
    for round in 1..=rounds {
        println!("=== round {round} of {rounds}: C, 2 PEs");
        for side in [Side::Ours, Side::Threads] {
            run_ours(release, &ours, side, settings.samples, &file)?;
            figures.read(&file, side)?;
        }
        peer::run(&theirs, 2, peer::variants(2)[0], settings.samples, &file)?;
        figures.read(&file, Side::Peer)?;
    }
    let start = |job: &dyn Fn() -> Result<(), Failure>| {
        let mut times = (0..STARTS).map(|_| {
            let start = Instant::now();
            job().map(|()| start.elapsed().as_secs_f64() * 1e3)
        });
        let mut times = times.by_ref().collect::<Result<Vec<_>, _>>()?;
        times.sort_by(f64::total_cmp);
        Ok::<_, Failure>(times[STARTS / 2])
    };
    let ours = start(&|| oshrun(release).args(["--"]).args([&our_started]).run())?;
    let peer = start(&|| peer::start(&their_started))?;
    figures.0.insert(
        (usize::MAX, "start".into(), 0, String::new()),
        WordFigure { ours, peer, ..WordFigure::none() },
    );

    figures.print();
    if !settings.quick {
        figures.write(rounds)?;
    }
    Ok(())
}

fn oshrun(release: &Path) -> Job {
    let limit = (LIMIT - 5).to_string();
    Job::new(release.join("oshrun"), ["--timeout", &limit, "-np", "2", "--bind-to", "core"])
        .limit(LIMIT)
        .quiet()
        .without_library_path()
}

fn run_ours(
    release: &Path,
    program: &PathBuf,
    side: Side,
    samples: usize,
    file: &PathBuf,
) -> Result<(), Failure> {
    remove(file)?;
    let mut job = oshrun(release);
    if matches!(side, Side::Threads) {
        job = job.args(["-x", "SHMEM_BENCH_THREADS=1"]);
    }
    job.args(["--"]).args([program, file]).args([&samples.to_string(), &LIMIT.to_string()]).run()
}

impl WordFigures {
    /// Adds what a program has written.
    fn read(&mut self, file: &Path, side: Side) -> Result<(), Failure> {
        let text = fs::read_to_string(file).map_err(|e| Failure::new(format!("{}: {e}", file.display())))?;
        for (row, line) in text.lines().enumerate() {
            let line: Value = serde_json::from_str(line).map_err(|e| Failure::new(format!("{line}: {e}")))?;
            let (Some(name), Some(value)) = (line["name"].as_str(), line["value"].as_f64()) else { continue };
            let placement = line["placement"].as_str().unwrap_or_default().to_owned();
            let bytes = line["bytes"].as_u64().unwrap_or(0);
            let found =
                self.0.keys().find(|key| key.1 == name && key.2 == bytes && key.3 == placement).cloned();
            let key = found.unwrap_or((row, name.into(), bytes, placement));
            let figure = self.0.entry(key).or_insert_with(WordFigure::none);
            let best = match side {
                Side::Ours => &mut figure.ours,
                Side::Threads => &mut figure.threads,
                Side::Peer => &mut figure.peer,
            };
            *best = best.min(value);
            if let Some(pace) = line["pace"].as_f64() {
                match side {
                    Side::Ours => figure.cycles[0].push(value / pace),
                    Side::Threads => figure.cycles[1].push(value / pace),
                    Side::Peer => {}
                }
            }
            if let (Side::Ours, Some(bound)) = (side, line["reference"].as_f64()) {
                figure.bound = figure.bound.min(bound);
                figure.beside.push(value / bound);
            }
        }
        Ok(())
    }

    /// The rows that both sides have, as cells in the order of [`HEAD`].
    fn rows(&self) -> Vec<[String; 10]> {
        let mut both: Vec<_> =
            self.0.iter().filter(|(_, it)| it.ours.is_finite() && it.peer.is_finite()).collect();
        both.sort_by_key(|((row, _, _, placement), _)| (placement.clone(), *row));
        let cell = |value: f64| if value.is_finite() { short(value) } else { String::new() };
        let rows = both.into_iter().map(|((_, name, bytes, placement), figure)| {
            let unit = match name.as_str() {
                "waiting" => "%",
                "start" => "ms",
                _ => "ns",
            };
            [
                name.clone(),
                bytes.to_string(),
                placement.clone(),
                format!("{} {unit}", cell(figure.ours)),
                cell(figure.threads),
                cell(figure.peer),
                format!("{:.2}", figure.ours / figure.peer),
                cell(figure.bound),
                cell(figure.of_bound()),
                figure.verdict(name, *bytes),
            ]
        });
        rows.collect()
    }

    fn print(&self) {
        for [name, bytes, cores, ours, threads, peer, ratio, bound, beside, target] in
            std::iter::once(HEAD.map(str::to_owned)).chain(self.rows())
        {
            println!(
                "{name:<13} {bytes:>8} {cores:<5} {ours:>12} {threads:>9} {peer:>9} {ratio:>6} {bound:>9} {beside:>7}  {target}"
            );
        }
        let (met, all) = self.met();
        println!("{met} of {all} rows meet their target");
    }

    fn met(&self) -> (usize, usize) {
        let rows = self.rows();
        (rows.iter().filter(|row| row[9] == "met").count(), rows.len())
    }

    /// Writes the chapter.
    fn write(&self, rounds: usize) -> Result<(), Failure> {
        let mut text = page::head("The C library compared with Open MPI's", &peer::version(), rounds, METHOD);
        let (met, all) = self.met();
        let _ = writeln!(text, "{met} of {all} rows meet their target.\n");
        let _ = writeln!(text, "| {} |", HEAD.join(" | "));
        let _ = writeln!(text, "|---|---:|---|{}---|", "---:|".repeat(6));
        for row in self.rows() {
            let _ = writeln!(text, "| {} |", row.join(" | "));
        }
        fs::write(PAGE, text)?;
        println!("{PAGE}");
        Ok(())
    }
}

const HEAD: [&str; 10] =
    ["call", "bytes", "cores", "ours", "threads", "peer", "× peer", "bound", "× bound", "target"];

impl WordFigure {
    /// `met`, or what is missing.
    fn verdict(&self, name: &str, bytes: u64) -> String {
        let over = |value: f64, most: f64, what: &str| (value > most).then(|| format!("> {most} {what}"));
        let first = match (name, bytes) {
            ("p" | "g" | "put" | "get" | "put_nbi" | "fetch", 8) => over(self.ours, 4.0, "ns"),
            ("put" | "put_ahead" | "get", _) => {
                over(0.95, 1.0 / self.of_bound(), "of the bound").map(|_| "< 0.95 of the bound".into())
            }
            ("ping_pong", _) => over(self.ours / self.peer, 0.6, "× peer"),
            ("waiting", _) => over(self.ours, 0.5, "%"),
            ("start", _) => over(self.ours, 25.0, "ms"),
            _ => over(self.of_bound(), 1.6, "× bound"),
        };
        let [without, with] = self.cycles.each_ref().map(|cycles| median(cycles));
        let in_cycles = with.zip(without).map(|(with, without)| with / without);
        let threads = in_cycles
            .and_then(|in_cycles| over(in_cycles.min(self.threads / self.ours), 1.2, "× with threads"));
        let missed: Vec<_> = first.into_iter().chain(threads.filter(|_| name != "waiting")).collect();
        if missed.is_empty() { "met".into() } else { format!("missed: {}", missed.join(", ")) }
    }
}
