//! Latencies over time as a picture (SVG), with a line for each PE that was killed.
//!
//! Latencies differ by factors, so their axis is logarithmic.

use std::{collections::BTreeMap, fmt::Write};

use super::history::{History, Outcome};

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 76.0;
const RIGHT: f64 = 24.0;
const ABOVE: f64 = 64.0;
const BELOW: f64 = 54.0;
/// Nanoseconds that a point stands for.
const STEP: u64 = 100_000_000;

/// Latencies of answered requests, by the time at which they were sent.
pub(crate) fn svg(history: &History) -> String {
    let start = history.entries.first().map_or(0, |entry| entry.begin);
    let mut steps: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for entry in &history.entries {
        if let Some((end, Outcome::Done(_))) = entry.end {
            steps.entry((entry.begin - start) / STEP).or_default().push(end - entry.begin);
        }
    }
    steps.values_mut().for_each(|latencies| latencies.sort_unstable());
    let last = steps.keys().next_back().map_or(1, |&step| step + 1);
    let all = || steps.values().flatten().copied();
    let from = (all().min().unwrap_or(1_000).max(1) as f64).log10().floor();
    let to = (all().max().unwrap_or(1_000_000).max(1) as f64).log10().ceil().max(from + 1.0);
    let base = HEIGHT - BELOW;
    let x = |nanos: u64| LEFT + nanos as f64 / (last * STEP) as f64 * (WIDTH - LEFT - RIGHT);
    let y = |nanos: u64| base - ((nanos.max(1) as f64).log10() - from) / (to - from) * (base - ABOVE);

    let title = format!("{} requests, {} PEs killed", history.entries.len(), history.kills.len());
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"13\" fill=\"#222\">\n\
         <title>{title}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text x=\"{LEFT}\" y=\"24\" font-size=\"16\">{title}</text>\n"
    );
    for decade in from as i32..=to as i32 {
        let nanos = 10_u64.pow(decade.max(0) as u32);
        let y = y(nanos);
        let _ = writeln!(
            out,
            "<line x1=\"{LEFT}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            WIDTH - RIGHT,
            LEFT - 8.0,
            y + 4.0,
            span(nanos)
        );
    }
    for &(pe, time) in &history.kills {
        let x = x(time.saturating_sub(start));
        let _ = writeln!(
            out,
            "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{ABOVE}\" y2=\"{base:.1}\" stroke=\"#b5443a\" stroke-dasharray=\"4 3\">\
             <title>PE {pe} is killed</title></line>\
             <text x=\"{x:.1}\" y=\"{}\" font-size=\"10\" text-anchor=\"middle\" fill=\"#b5443a\">{pe}</text>",
            ABOVE - 5.0
        );
    }
    let seconds = last * STEP / 1_000_000_000;
    for second in (0..=seconds).step_by((seconds / 12 + 1) as usize) {
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{second} s</text>",
            x(second * 1_000_000_000),
            base + 20.0
        );
    }
    let rank = |latencies: &[u64], percent: usize| latencies[(latencies.len() - 1) * percent / 100];
    for (percent, name, colour, left) in [(100, "max", "#d08a2e", 0.0), (99, "p99", "#4a7fb5", 60.0)] {
        let mut points = String::new();
        for (step, latencies) in &steps {
            let _ = write!(points, "{:.1},{:.1} ", x(step * STEP + STEP / 2), y(rank(latencies, percent)));
        }
        let _ = writeln!(
            out,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"/>\
             <text x=\"{}\" y=\"24\" text-anchor=\"end\" fill=\"{colour}\">{name}</text>",
            points.trim_end(),
            WIDTH - RIGHT - left
        );
    }
    let _ = writeln!(
        out,
        "<line x1=\"{LEFT}\" x2=\"{}\" y1=\"{base}\" y2=\"{base}\" stroke=\"#222\"/>\n\
         <text x=\"{}\" y=\"{}\" text-anchor=\"middle\">time, in steps of 100 ms, with the PEs that are killed</text>\n\
         <text transform=\"translate(18 {}) rotate(-90)\" text-anchor=\"middle\">latency</text>\n</svg>",
        WIDTH - RIGHT,
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - 12.0,
        (ABOVE + base) / 2.0
    );
    out
}

fn span(nanos: u64) -> String {
    match nanos {
        0..1_000 => format!("{nanos} ns"),
        1_000..1_000_000 => format!("{} µs", nanos / 1_000),
        1_000_000..1_000_000_000 => format!("{} ms", nanos / 1_000_000),
        _ => format!("{} s", nanos / 1_000_000_000),
    }
}
