//! What was measured, and which targets it meets.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::Value;

use crate::run::Failure;

/// The collectives in the order of the table.
pub(super) const OPS: [&str; 9] = [
    "barrier",
    "sync",
    "sum",
    "broadcast",
    "broadcast_rotating",
    "fcollect",
    "collect",
    "alltoall",
    "alltoalls",
];
/// At 8 bytes these are to take at most `SMALL` of the peer's time.
const SMALL_OPS: [&str; 6] = ["sync", "sum", "broadcast", "broadcast_rotating", "fcollect", "alltoall"];
const SMALL: f64 = 0.6;
/// Everything is to take at most this part of the peer's time.
const ANY: f64 = 0.9;
/// From `LARGE_BYTES` up these are to take at most `BOUND` times what the bytes must take.
const LARGE_OPS: [&str; 4] = ["sum", "broadcast", "broadcast_rotating", "fcollect"];
const LARGE_BYTES: u64 = 64 << 10;
const BOUND: f64 = 1.4;

/// What a figure is of: PEs, placement, operation and bytes.
type Key = (usize, String, usize, u64);

/// The best figures so far, in ns.
#[derive(Default)]
pub(super) struct Figures {
    /// With the bound, where there is one.
    ours: BTreeMap<Key, (f64, f64)>,
    /// With the variant that took this long.
    peer: BTreeMap<Key, (f64, &'static str)>,
}

/// Both sides' figures of one collective, in µs.
pub(super) struct Row {
    pub(super) op: &'static str,
    pub(super) bytes: u64,
    pub(super) pes: usize,
    pub(super) placement: String,
    pub(super) ours: f64,
    pub(super) peer: f64,
    pub(super) variant: &'static str,
    /// What the bytes take, and what it takes that all PEs come, where they must.
    pub(super) bound: f64,
    pub(super) synchronisation: f64,
}

impl Figures {
    /// Adds what a program with `n` PEs has written to `file`; `side` is `oxshmem` or a variant of
    /// the peer.
    pub(super) fn read(&mut self, file: &Path, n: usize, side: &'static str) -> Result<(), Failure> {
        let text = fs::read_to_string(file).map_err(|e| Failure::new(format!("{}: {e}", file.display())))?;
        for line in text.lines() {
            let line: Value = serde_json::from_str(line).map_err(|e| Failure::new(format!("{line}: {e}")))?;
            let Some(op) = OPS.iter().position(|&op| line["name"] == op) else { continue };
            let (Some(bytes), Some(value)) = (line["bytes"].as_u64(), line["value"].as_f64()) else {
                continue;
            };
            let placement = line["placement"].as_str().unwrap_or_default().to_owned();
            let key = (n, placement, op, bytes);
            if side == "oxshmem" {
                let bound = line["reference"].as_f64().unwrap_or(f64::NAN);
                let best = self.ours.entry(key).or_insert((value, bound));
                *best = (best.0.min(value), best.1.min(bound));
            } else {
                let best = self.peer.entry(key).or_insert((value, side));
                if value < best.0 {
                    *best = (value, side);
                }
            }
        }
        Ok(())
    }

    /// What both sides have a figure of.
    pub(super) fn rows(&self) -> Vec<Row> {
        let both = self.ours.iter().filter_map(|(key, ours)| Some((key, ours, self.peer.get(key)?)));
        let rows = both.map(|((pes, placement, op, bytes), &(ours, bound), &(peer, variant))| Row {
            op: OPS[*op],
            bytes: *bytes,
            pes: *pes,
            placement: placement.clone(),
            ours: ours / 1e3,
            peer: peer / 1e3,
            variant,
            bound: bound / 1e3,
            synchronisation: match OPS[*op] {
                "barrier" | "sync" | "broadcast" => 0.0,
                _ => {
                    self.ours.get(&(*pes, placement.clone(), 0, 0)).map_or(f64::NAN, |(_, least)| least / 1e3)
                }
            },
        });
        rows.collect()
    }
}

impl Row {
    /// Our time as a part of the peer's.
    pub(super) fn ratio(&self) -> f64 {
        self.ours / self.peer
    }

    /// How much of the peer's time is allowed.
    pub(super) fn allowed(&self) -> f64 {
        let small = self.bytes <= 8 && SMALL_OPS.contains(&self.op);
        if small { SMALL } else { ANY }
    }

    /// Our time as a multiple of the bound.
    pub(super) fn over_bound(&self) -> f64 {
        self.ours / self.bound
    }

    /// Our time as a multiple of the bound and of what it takes that all come.
    fn over_least(&self) -> f64 {
        self.ours / (self.bound + self.synchronisation)
    }

    /// Whether the bound is part of the target.
    pub(super) fn has_bound_target(&self) -> bool {
        LARGE_OPS.contains(&self.op) && self.bytes >= LARGE_BYTES
    }

    /// `met`, or what is missing.
    pub(super) fn verdict(&self) -> String {
        let mut missed = Vec::new();
        if self.ratio() > self.allowed() {
            missed.push(format!("> {} × peer", self.allowed()));
        }
        if self.has_bound_target() && self.over_bound() > BOUND {
            missed.push(format!("> {BOUND} × bound"));
        }
        if missed.is_empty() { "met".into() } else { format!("missed: {}", missed.join(", ")) }
    }

    /// The row's cells, in the order of [`HEAD`].
    pub(super) fn cells(&self) -> [String; 11] {
        let unless_unknown = |value: f64, text: String| if value.is_nan() { String::new() } else { text };
        let times = |value: f64| unless_unknown(value, format!("{value:.2}"));
        [
            self.op.into(),
            self.bytes.to_string(),
            self.pes.to_string(),
            self.placement.clone(),
            short(self.ours),
            short(self.peer),
            format!("{:.2}", self.ratio()),
            unless_unknown(self.bound, short(self.bound)),
            times(self.over_bound()),
            times(self.over_least()),
            self.verdict(),
        ]
    }
}

pub(super) const HEAD: [&str; 11] = [
    "op",
    "bytes",
    "PEs",
    "cores",
    "ours µs",
    "peer µs",
    "ratio",
    "bound µs",
    "ours/bound",
    "ours/least",
    "target",
];

/// Three digits that count.
pub(super) fn short(value: f64) -> String {
    match value {
        ..0.0995 => format!("{value:.4}"),
        ..0.995 => format!("{value:.3}"),
        ..9.95 => format!("{value:.2}"),
        ..99.5 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// How many rows meet their target, and how many there are.
pub(super) fn met(rows: &[Row]) -> (usize, usize) {
    (rows.iter().filter(|row| row.verdict() == "met").count(), rows.len())
}

/// Prints the table.
pub(super) fn print(rows: &[Row]) {
    let line = |cells: [String; 11]| {
        let [op, bytes, pes, cores, ours, peer, ratio, bound, over, least, target] = cells;
        println!(
            "{op:<18} {bytes:>8} {pes:>4} {cores:<5} {ours:>9} {peer:>9} {ratio:>6} {bound:>9} {over:>10} {least:>10}  {target}"
        );
    };
    line(HEAD.map(str::to_owned));
    rows.iter().for_each(|row| line(row.cells()));
    let (met, all) = met(rows);
    println!("{met} of {all} rows meet their target");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(op: &'static str, bytes: u64, ours: f64) -> Row {
        let (placement, variant) = ("near".into(), "default");
        Row { op, bytes, pes: 2, placement, ours, peer: 1.0, variant, bound: 0.5, synchronisation: 0.3 }
    }

    #[test]
    fn each_target_applies_to_its_rows_alone() {
        assert_eq!(row("sum", 8, 0.6).verdict(), "met");
        assert_eq!(row("sum", 8, 0.61).verdict(), "missed: > 0.6 × peer");
        assert_eq!(row("barrier", 0, 0.9).verdict(), "met");
        assert_eq!(row("sync", 0, 0.9).verdict(), "missed: > 0.6 × peer");
        assert_eq!(row("sum", 8192, 0.8).verdict(), "met");
        assert_eq!(row("sum", 65536, 0.8).verdict(), "missed: > 1.4 × bound");
        assert_eq!(row("alltoall", 65536, 0.8).verdict(), "met");
    }

    #[test]
    fn what_it_takes_to_meet_is_a_part_of_the_least_but_not_of_the_bound() {
        let row = row("sum", 65536, 0.8);
        assert_eq!(row.cells()[8..10], ["1.60", "1.00"]);
        assert_eq!(Row { synchronisation: f64::NAN, ..row }.cells()[8..10], ["1.60", ""]);
    }

    #[test]
    fn figures_keep_three_digits() {
        assert_eq!(
            [0.05432, 0.5432, 5.432, 54.32, 543.2].map(short),
            ["0.0543", "0.543", "5.43", "54.3", "543"]
        );
    }
}
