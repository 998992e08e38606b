//! What was measured between two hosts, over each net, and which targets it meets.

use std::{collections::BTreeMap, fmt::Write, fs, path::Path};

use serde_json::Value;

use super::figures::short;
use crate::run::{Failure, Job};

/// Seconds that one run may take: strided transfers over UCX take 20 ms each.
const LIMIT: u64 = 180;

/// What carries a run.
#[derive(Clone, Copy, Debug)]
pub(super) enum Carrier {
    /// The library's own TCP net.
    Tcp,
    /// That net, with every byte encrypted.
    Encrypted,
    /// UCX, over TCP as well.
    Ucx,
}

impl Carrier {
    pub(super) const ALL: [Self; 3] = [Self::Tcp, Self::Encrypted, Self::Ucx];

    /// What starts `n` PEs on a simulated host each, over it. The program follows.
    pub(super) fn job(self, release: &Path, n: usize, bind: &str) -> Job {
        let (net, security) = match self {
            Self::Tcp => ("tcp", "auth"),
            Self::Encrypted => ("tcp", "encrypt"),
            Self::Ucx => ("ucx", "auth"),
        };
        let (n, limit) = (n.to_string(), (LIMIT - 5).to_string());
        Job::new(release.join("oshrun"), ["--timeout", &limit, "-np", &n, "--bind-to", bind])
            .args(["--fake-hosts", &n, "--"])
            .env("SHMEM_NET", net)
            .env("SHMEM_NET_SECURITY", security)
            .limit(LIMIT)
            .quiet()
            .without_library_path()
    }
}

/// What one run gave for a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    ours: f64,
    /// Bare UCX's, or what the row's name says.
    beside: f64,
    /// The bare socket's, or not a number.
    socket: f64,
}

/// One row.
#[derive(Debug, Default)]
pub(super) struct HostFigure {
    row: usize,
    pub(super) unit: String,
    /// A sample of each round, by carrier.
    rounds: [Vec<Sample>; Carrier::ALL.len()],
    pub(super) perftest: Option<f64>,
}

/// By name and bytes.
pub(super) type HostFigures = BTreeMap<(String, u64), HostFigure>;

/// What a long transfer's bytes are at least for its bandwidth to have a target beside sockets.
const LONGEST: u64 = 1 << 20;

impl HostFigure {
    /// Whether less is better.
    pub(super) fn is_time(&self) -> bool {
        self.unit == "us"
    }

    pub(super) fn better(&self, a: f64, b: f64) -> f64 {
        if self.is_time() { a.min(b) } else { a.max(b) }
    }

    /// Ours and bare UCX's of the round whose ratio is in the middle.
    pub(super) fn beside(&self, carrier: Carrier) -> Option<(f64, f64)> {
        middle(self.rounds[carrier as usize].iter().map(|sample| (sample.ours, sample.beside)))
    }

    /// Ours over TCP and the bare socket's, likewise.
    fn beside_socket(&self) -> Option<(f64, f64)> {
        let samples = self.rounds[Carrier::Tcp as usize].iter().filter(|sample| !sample.socket.is_nan());
        middle(samples.map(|sample| (sample.ours, sample.socket)))
    }

    /// Ours over TCP, encrypted and plain.
    fn encrypted(&self) -> Option<(f64, f64)> {
        let [plain, encrypted] =
            [Carrier::Tcp, Carrier::Encrypted].map(|carrier| &self.rounds[carrier as usize]);
        middle(encrypted.iter().zip(plain).map(|(encrypted, plain)| (encrypted.ours, plain.ours)))
    }

    /// `met`, or by what ours over TCP misses its target, if it has any.
    fn verdict(&self, name: &str, bytes: u64) -> String {
        let Some((ours, beside)) = self.beside(Carrier::Tcp) else { return "not measured".into() };
        let ratio = ours / beside;
        let socket = self.beside_socket().map(|(ours, socket)| ours / socket);
        let (met, target) = match socket {
            // One by one, these do not wait for an answer either.
            _ if name.ends_with("session, vs one by one") => return String::new(),
            _ if name.ends_with("one by one") => (ratio >= 10.0, "< 10 × one by one"),
            _ if name.ends_with("by hand") => (ratio >= 0.5, "< 0.5 of by hand"),
            _ if name.ends_with("contiguous") => (ratio <= 3.0, "> 3 × contiguous"),
            _ if self.unit == "M/s" => (ours >= 5.0, "< 5 M/s"),
            Some(ratio) if self.is_time() => (ratio <= 1.15, "> 1.15 × a socket"),
            Some(ratio) if bytes >= LONGEST => (ratio >= 0.8, "< 0.8 of a socket"),
            _ if self.is_time() => (ratio <= 1.15, "> 1.15 × bare UCX"),
            _ => (ratio >= 0.95, "< 0.95 of bare UCX"),
        };
        verdict(met, target)
    }
}

/// The pair whose ratio is in the middle: what the machine does to one side in a round, it does to
/// both.
fn middle(pairs: impl Iterator<Item = (f64, f64)>) -> Option<(f64, f64)> {
    let mut pairs: Vec<_> = pairs.collect();
    pairs.sort_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)));
    pairs.get(pairs.len() / 2).copied()
}

pub(super) fn verdict(met: bool, target: &str) -> String {
    if met { "met".into() } else { format!("missed: {target}") }
}

/// Both of a pair, and the first as a part of the second.
fn cells(pair: Option<(f64, f64)>) -> [String; 3] {
    pair.map(|(a, b)| [short(a), short(b), format!("{:.2}", a / b)]).unwrap_or_default()
}

/// Adds what `shmem-perf` has written.
pub(super) fn read(file: &Path, carrier: Carrier, figures: &mut HostFigures) -> Result<(), Failure> {
    let text = fs::read_to_string(file).map_err(|e| Failure::new(format!("{}: {e}", file.display())))?;
    for (row, line) in text.lines().enumerate() {
        let line: Value = serde_json::from_str(line).map_err(|e| Failure::new(format!("{line}: {e}")))?;
        let (Some(name), Some(unit)) = (line["name"].as_str(), line["unit"].as_str()) else { continue };
        let (Some(ours), Some(beside)) = (line["value"].as_f64(), line["reference"].as_f64()) else {
            continue;
        };
        let bytes = line["bytes"].as_u64().unwrap_or_default();
        let figure = figures.entry((name.to_owned(), bytes)).or_insert_with(|| HostFigure {
            row,
            unit: unit.to_owned(),
            ..HostFigure::default()
        });
        let socket = line["socket"].as_f64().unwrap_or(f64::NAN);
        figure.rounds[carrier as usize].push(Sample { ours, beside, socket });
    }
    Ok(())
}

/// Prints the tables of one place, and adds them to the chapter.
pub(super) fn tables(text: &mut String, title: &str, figures: HostFigures) {
    let mut rows: Vec<_> = figures.into_iter().collect();
    rows.sort_by_key(|(_, figure)| figure.row);
    let (others, bare): (Vec<_>, Vec<_>) = rows.iter().partition(|((name, _), _)| name.contains(", vs "));
    let start =
        |name: &str, figure: &HostFigure| format!("{} ({})", name.trim_start_matches("remote "), figure.unit);
    let beside_bare = bare.iter().map(|((name, bytes), figure)| {
        // Without a socket's figure, ours stands alone.
        let alone = figure.beside(Carrier::Tcp).map(|(ours, _)| [short(ours), String::new(), String::new()]);
        let tcp = figure.beside_socket().map(|pair| cells(Some(pair))).or(alone).unwrap_or_default();
        let perftest = [figure.perftest.map(short).unwrap_or_default(), figure.verdict(name, *bytes)];
        let head = [start(name, figure), bytes.to_string()];
        [&head[..], &tcp, &cells(figure.beside(Carrier::Ucx)), &perftest].concat()
    });
    let head = "operation|bytes|over TCP|bare socket|ratio|over UCX|bare UCX|ratio|ucx_perftest|target";
    table(text, &format!("{title}: beside a bare socket, and bare UCX"), head, beside_bare.collect());
    let beside_others = others.iter().map(|((name, bytes), figure)| {
        let [tcp, ucx] = [Carrier::Tcp, Carrier::Ucx].map(|carrier| cells(figure.beside(carrier)));
        let head = [start(name, figure), bytes.to_string()];
        [&head[..], &tcp, &ucx, &[figure.verdict(name, *bytes)]].concat()
    });
    let head = "operation|bytes|over TCP|the other|ratio|over UCX|the other|ratio|target";
    table(text, &format!("{title}: beside other ways of ours"), head, beside_others.collect());
    let encrypted = bare.iter().filter(|((_, bytes), figure)| figure.is_time() || *bytes >= LONGEST);
    let encrypted = encrypted.map(|((name, bytes), figure)| {
        let pair = figure.encrypted();
        let enough = pair.is_some_and(|(encrypted, plain)| encrypted >= 0.4 * plain);
        // Latencies have none.
        let target = if figure.is_time() { String::new() } else { verdict(enough, "< 0.4 of plain") };
        [&[start(name, figure), bytes.to_string()][..], &cells(pair), &[target]].concat()
    });
    table(
        text,
        &format!("{title}: encrypted"),
        "operation|bytes|encrypted|plain|ratio|target",
        encrypted.collect(),
    );
}

/// Prints a table, and adds it to the chapter. `|` separates the names of the columns. The last
/// column has the targets.
pub(super) fn table(text: &mut String, title: &str, head: &str, rows: Vec<Vec<String>>) {
    let head: Vec<String> = head.split('|').map(str::to_owned).collect();
    let width = |column: usize| {
        let cells = std::iter::once(&head).chain(&rows).map(|row| row[column].chars().count());
        cells.max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    println!("{title}");
    for row in std::iter::once(&head).chain(&rows) {
        let line: Vec<_> = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:<width$}")).collect();
        println!("{}", line.join("  ").trim_end());
    }
    let targets = rows.iter().filter_map(|row| row.last()).filter(|target| !target.is_empty());
    let (met, all) = targets.fold((0, 0), |(met, all), target| (met + usize::from(target == "met"), all + 1));
    println!("{met} of {all} rows meet their target");
    let _ = writeln!(text, "## {title}\n\n{met} of {all} rows meet their target.\n");
    let _ = writeln!(text, "| {} |", head.join(" | "));
    let _ = writeln!(text, "|---|{}---|", "---:|".repeat(head.len() - 2));
    for row in &rows {
        let _ = writeln!(text, "| {} |", row.join(" | "));
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row over TCP, and encrypted at half that.
    fn figure(unit: &str, ours: f64, beside: f64, socket: f64) -> HostFigure {
        let plain = Sample { ours, beside, socket };
        let encrypted = Sample { ours: ours / 2.0, ..plain };
        let rounds = [vec![plain], vec![encrypted], vec![]];
        HostFigure { unit: unit.into(), rounds, ..HostFigure::default() }
    }

    #[test]
    fn each_target_applies_to_its_rows_alone() {
        assert_eq!(figure("us", 11.0, 5.0, 10.0).verdict("remote get", 8), "met");
        assert_eq!(figure("us", 12.0, 12.0, 10.0).verdict("remote get", 8), "missed: > 1.15 × a socket");
        assert_eq!(figure("M/s", 5.1, 9.0, f64::NAN).verdict("remote put_nbi", 8), "met");
        assert_eq!(figure("GB/s", 3.0, 9.0, 3.5).verdict("remote put_nbi", LONGEST), "met");
        let shorter = figure("GB/s", 3.0, 9.0, 3.5).verdict("remote put_nbi", 65536);
        assert_eq!(shorter, "missed: < 0.95 of bare UCX");
        let by_hand = figure("M/s", 12.0, 20.0, f64::NAN).verdict("remote xor: session, vs by hand", 8);
        assert_eq!(by_hand, "met");
        assert_eq!(HostFigure::default().verdict("remote get", 8), "not measured");
    }

    #[test]
    fn encrypted_transfers_are_beside_plain_ones_of_the_round() {
        let figures = [(("remote put_nbi".to_owned(), LONGEST), figure("GB/s", 3.0, 1.0, 3.5))];
        let mut text = String::new();
        tables(&mut text, "Here", HostFigures::from(figures));
        assert!(text.contains("| put_nbi (GB/s) | 1048576 | 1.50 | 3.00 | 0.50 | met |"), "{text}");
    }
}
