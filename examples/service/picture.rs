//! Latencies as a picture: an SVG with a bar for each range of latencies, and lines where the
//! percentiles are.
//!
//! Latencies differ by factors, so their axis is logarithmic: a decade has the same width
//! everywhere.

use std::fmt::Write;

use hdrhistogram::Histogram;

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 420.0;
/// Around the bars: left, right, above and below.
const MARGINS: [f64; 4] = [76.0, 40.0, 84.0, 58.0];
/// Bars of a decade.
const BARS: f64 = 12.0;
const PERCENTILES: [f64; 4] = [50.0, 90.0, 99.0, 99.9];

/// From numbers to places on the picture.
struct Axes {
    /// Decades of nanoseconds.
    from: f64,
    to: f64,
    most: f64,
}

impl Axes {
    /// Where a latency is, in nanoseconds.
    fn x(&self, nanos: f64) -> f64 {
        let [left, right, ..] = MARGINS;
        let share = (nanos.max(1.0).log10() - self.from) / (self.to - self.from);
        left + share * (WIDTH - left - right)
    }

    /// How high a number of requests is.
    fn y(&self, requests: f64) -> f64 {
        let [.., above, below] = MARGINS;
        HEIGHT - below - requests / self.most * (HEIGHT - above - below)
    }
}

/// The latencies, which are in nanoseconds, as the text of an SVG file. `title` says what was
/// measured.
pub(crate) fn svg(latencies: &Histogram<u64>, title: &str) -> String {
    let from = (latencies.min().max(1) as f64).log10().floor();
    let to = (latencies.max().max(1) as f64).log10().ceil().max(from + 1.0);
    let bars = ((to - from) * BARS) as usize;
    let edge = |bar: usize| 10f64.powf(from + bar as f64 / BARS);
    let count = |bar: usize| latencies.count_between(edge(bar) as u64 + 1, edge(bar + 1) as u64);
    let counts: Vec<f64> = (0..bars).map(|bar| count(bar) as f64).collect();
    let most = round_up(counts.iter().copied().fold(1.0, f64::max));
    let axes = Axes { from, to, most };

    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"13\" fill=\"#222\">\n\
         <title>{title}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text x=\"{}\" y=\"24\" font-size=\"16\">{title}</text>\n",
        MARGINS[0]
    );
    let (base, end) = (axes.y(0.0), WIDTH - MARGINS[1]);
    for part in 0..=4 {
        let requests = most * f64::from(part) / 4.0;
        let y = axes.y(requests);
        let _ = writeln!(
            out,
            "<line x1=\"{:.1}\" x2=\"{end:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{requests:.0}</text>",
            MARGINS[0],
            MARGINS[0] - 8.0,
            y + 4.0
        );
    }
    for decade in from as i32..=to as i32 {
        let x = axes.x(10f64.powi(decade));
        let _ = writeln!(
            out,
            "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{base:.1}\" y2=\"{:.1}\" stroke=\"#222\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            base + 5.0,
            base + 21.0,
            span(10f64.powi(decade))
        );
    }
    for (bar, &requests) in counts.iter().enumerate().filter(|(_, requests)| **requests > 0.0) {
        let (left, right, top) = (axes.x(edge(bar)), axes.x(edge(bar + 1)), axes.y(requests));
        let (width, height) = ((right - left - 1.0).max(1.0), base - top);
        let what = format!("{requests:.0} requests from {} to {}", span(edge(bar)), span(edge(bar + 1)));
        let _ = writeln!(
            out,
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"#4a7fb5\">\
             <title>{what}</title></rect>"
        );
    }
    // Each at a height of its own, as they may be close together.
    let mut labels = String::new();
    for (row, percentile) in PERCENTILES.into_iter().enumerate() {
        let nanos = latencies.value_at_percentile(percentile) as f64;
        let (x, y) = (axes.x(nanos), 44.0 + 14.0 * row as f64);
        let (anchor, text) = if x > WIDTH / 2.0 { ("end", x - 4.0) } else { ("start", x + 4.0) };
        let _ = writeln!(
            out,
            "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{base:.1}\" stroke=\"#b5443a\" stroke-dasharray=\"4 3\"/>",
            y - 9.0
        );
        // On white, as the lines of the others may be behind it.
        for colour in ["#fff\" stroke=\"#fff\" stroke-width=\"5", "#b5443a"] {
            let _ = writeln!(
                labels,
                "<text x=\"{text:.1}\" y=\"{y:.1}\" font-size=\"12\" text-anchor=\"{anchor}\" fill=\"{colour}\">\
                 p{percentile} {}</text>",
                span(nanos)
            );
        }
    }
    out += &labels;
    let middle = (MARGINS[0] + end) / 2.0;
    let across = (axes.y(most) + base) / 2.0;
    let _ = writeln!(
        out,
        "<line x1=\"{:.1}\" x2=\"{end:.1}\" y1=\"{base:.1}\" y2=\"{base:.1}\" stroke=\"#222\"/>\n\
         <text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">latency of a request, from sending it to its whole \
         answer</text>\n\
         <text transform=\"translate(18 {across:.1}) rotate(-90)\" text-anchor=\"middle\">requests</text>\n</svg>",
        MARGINS[0],
        HEIGHT - 12.0
    );
    out
}

/// The next number that quarters of an axis look well with.
fn round_up(number: f64) -> f64 {
    let decade = 10f64.powf(number.log10().floor());
    let steps = [1.0, 1.2, 1.6, 2.0, 2.4, 3.2, 4.0, 6.0, 8.0, 10.0];
    steps.into_iter().map(|step| step * decade).find(|&end| end >= number).unwrap_or(number).max(4.0)
}

fn span(nanos: f64) -> String {
    let (value, unit) = match nanos {
        ..1e3 => (nanos, "ns"),
        ..1e6 => (nanos / 1e3, "µs"),
        ..1e9 => (nanos / 1e6, "ms"),
        _ => (nanos / 1e9, "s"),
    };
    if value < 9.95 && value.fract() > 0.05 {
        format!("{value:.1} {unit}")
    } else {
        format!("{value:.0} {unit}")
    }
}
