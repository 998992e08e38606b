//! The table that is printed, and the JSON beside it.

use std::io::{self, Write};

/// One figure beside its bound.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) bytes: usize,
    pub(crate) pes: usize,
    pub(crate) value: f64,
    pub(crate) unit: &'static str,
    pub(crate) reference: f64,
    /// How far apart the two cores were, where it matters.
    pub(crate) placement: &'static str,
}

impl Row {
    /// Value ÷ bound; for bandwidths what was achieved of it.
    fn ratio(&self) -> f64 {
        self.value / self.reference
    }
}

/// What was measured so far.
#[derive(Debug)]
pub(crate) struct Report {
    /// With what a bare socket achieves, where it was measured.
    rows: Vec<(Row, Option<f64>)>,
    only: String,
    /// Repetitions of each measurement.
    pub(crate) rounds: usize,
}

impl Report {
    pub(crate) fn new(only: String, quick: bool) -> Self {
        Self { rows: Vec::new(), only, rounds: if quick { 7 } else { 31 } }
    }

    /// Whether that part of the measurements was asked for.
    pub(crate) fn wants(&self, part: &str) -> bool {
        self.only.is_empty() || self.only.split(',').any(|only| only == part)
    }

    pub(crate) fn push(&mut self, row: Row) {
        self.rows.push((row, None));
    }

    /// Adds a row with what a bare socket achieves.
    pub(crate) fn push_with_socket(&mut self, row: Row, socket: Option<f64>) {
        self.rows.push((row, socket));
    }

    pub(crate) fn print(&self) {
        println!(
            "{:<24} {:>9} {:>4} {:>12} {:<6} {:>12} {:>7}",
            "name", "bytes", "pes", "value", "unit", "reference", "ratio"
        );
        for (row, socket) in &self.rows {
            let socket = socket.map(|value| format!("bare socket {value:.2}")).unwrap_or_default();
            println!(
                "{:<24} {:>9} {:>4} {:>12.2} {:<6} {:>12.2} {:>7.3} {} {socket}",
                row.name,
                row.bytes,
                row.pes,
                row.value,
                row.unit,
                row.reference,
                row.ratio(),
                row.placement
            );
        }
    }

    pub(crate) fn write_json(&self, mut out: impl Write) -> io::Result<()> {
        for (row, socket) in &self.rows {
            let mut object = serde_json::json!({
                "name": row.name, "bytes": row.bytes, "pes": row.pes, "value": row.value,
                "unit": row.unit, "reference": row.reference, "ratio": row.ratio(),
            });
            if !row.placement.is_empty() {
                object["placement"] = row.placement.into();
            }
            if let Some(socket) = socket {
                object["socket"] = (*socket).into();
            }
            writeln!(out, "{object}")?;
        }
        Ok(())
    }
}

/// The middle of `samples`.
pub(crate) fn median(samples: &mut [f64]) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Runs `bound` and `measured` in turns, after a warm-up, and returns the median of each, in ns per
/// repetition.
macro_rules! in_turns {
    ($rounds:expr, $repeat:expr, $bound:expr, $measured:expr) => {{
        let (mut bounds, mut values) = (Vec::new(), Vec::new());
        for round in 0..$rounds + 2 {
            let start = std::time::Instant::now();
            $bound;
            let bound = start.elapsed();
            let start = std::time::Instant::now();
            $measured;
            let value = start.elapsed();
            if round >= 2 {
                bounds.push(bound.as_nanos() as f64 / $repeat as f64);
                values.push(value.as_nanos() as f64 / $repeat as f64);
            }
        }
        ($crate::report::median(&mut bounds), $crate::report::median(&mut values))
    }};
}
pub(crate) use in_turns;
