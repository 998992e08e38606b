//! Time by bytes, a panel for each collective: ours, the peer's, and the bound. Plain SVG in
//! colours that can be read on light and dark pages.

use std::fmt::Write;

use super::figures::{Row, short};

/// The collectives that have a panel.
const PANELS: [&str; 4] = ["sum", "broadcast", "fcollect", "alltoall"];
const WIDTH: f64 = 820.0;
const HEIGHT: f64 = 320.0;
const TOP: f64 = 56.0;
const BOTTOM: f64 = 284.0;
const LEFT: f64 = 56.0;
const GAP: f64 = 18.0;
const GREY: &str = "#808890";

/// A line: its name, colour, dashes, and what it shows.
type Line = (&'static str, &'static str, &'static str, fn(&Row) -> f64);

const LINES: [Line; 3] = [
    ("bound", GREY, "3 4", |row| row.bound),
    ("Open MPI", "#e8710a", "none", |row| row.peer),
    ("oxshmem", "#3b82f6", "none", |row| row.ours),
];

/// The chart of one number of PEs.
pub(super) fn draw(title: &str, rows: &[&Row]) -> String {
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"12\" fill=\"{GREY}\">\n<title>{title}: µs by bytes</title>\n"
    );
    let _ = writeln!(
        svg,
        "<text x=\"{LEFT}\" y=\"20\" font-size=\"14\">{title}: µs by bytes, both logarithmic</text>"
    );
    for (i, (name, colour, dash, _)) in LINES.iter().rev().enumerate() {
        let x = WIDTH - 300.0 + i as f64 * 100.0;
        let _ = writeln!(
            svg,
            "<path d=\"M{x} 16h22\" stroke=\"{colour}\" stroke-width=\"2.5\" stroke-dasharray=\"{dash}\"/>\
             <text x=\"{}\" y=\"20\">{name}</text>",
            x + 28.0
        );
    }
    let shown: Vec<_> = rows.iter().copied().filter(|row| PANELS.contains(&row.op)).collect();
    let values = || shown.iter().flat_map(|row| [row.ours, row.peer]);
    // Whole decades around what was measured; a bound may lie below.
    let low = values().fold(f64::INFINITY, f64::min).log10().floor();
    let high = values().fold(0.0, f64::max).log10().ceil();
    if !low.is_finite() || !high.is_finite() {
        return svg + "</svg>\n";
    }
    let y = |value: f64| BOTTOM - (value.log10() - low) / (high - low).max(1.0) * (BOTTOM - TOP);
    let width = (WIDTH - LEFT - 10.0) / PANELS.len() as f64 - GAP;
    for (i, op) in PANELS.iter().enumerate() {
        let left = LEFT + i as f64 * (width + GAP);
        let _ = writeln!(svg, "<text x=\"{left}\" y=\"{}\" font-weight=\"bold\">{op}</text>", TOP - 10.0);
        for decade in low as i32..=high as i32 {
            let at = y(10f64.powi(decade));
            let _ = writeln!(
                svg,
                "<path d=\"M{left} {at:.1}h{width:.1}\" stroke=\"{GREY}\" stroke-opacity=\".3\"/>"
            );
            if i == 0 {
                let label = 10f64.powi(decade);
                let _ = writeln!(
                    svg,
                    "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
                    LEFT - 6.0,
                    at + 4.0
                );
            }
        }
        // From 8 bytes to 1 MiB.
        let x = |bytes: u64| left + 8.0 + (bytes as f64 / 8.0).log2() / 17.0 * (width - 16.0);
        for (bytes, label) in [(8, "8"), (1 << 10, "1K"), (8 << 10, "8K"), (64 << 10, "64K"), (1 << 20, "1M")]
        {
            let (at, below) = (x(bytes), BOTTOM + 16.0);
            let _ = writeln!(svg, "<text x=\"{at:.1}\" y=\"{below}\" text-anchor=\"middle\">{label}</text>");
        }
        for (name, colour, dash, value) in LINES {
            let points = shown.iter().filter(|row| row.op == *op).map(|row| (row.bytes, value(row)));
            let points: Vec<_> = points.filter(|(_, value)| value.log10() >= low).collect();
            let path: Vec<_> =
                points.iter().map(|&(bytes, value)| format!("{:.1} {:.1}", x(bytes), y(value))).collect();
            let _ = writeln!(
                svg,
                "<path d=\"M{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2.5\" stroke-dasharray=\"{dash}\"/>",
                path.join("L")
            );
            if name == "bound" {
                continue;
            }
            for (bytes, value) in points {
                let _ = writeln!(
                    svg,
                    "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{colour}\"><title>{name} {op} {bytes}: {} µs</title></circle>",
                    x(bytes),
                    y(value),
                    short(value)
                );
            }
        }
    }
    svg + "</svg>\n"
}
