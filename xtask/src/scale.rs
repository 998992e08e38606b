//! The figures of the chapter on scale: simulated jobs up to 4,096 PEs, formulas up to 100,000.
//!
//! The chapter is written by hand; tables go between its marks, `<!-- NAME -->` and `<!-- end -->`.

use std::{collections::BTreeMap, fmt::Write, fs, path::Path};

use serde_json::Value;

use crate::run::{Failure, Job, Outcome, Verdict, target_dir};

const PAGE: &str = "book/src/scale.md";
const CHARTS: &str = "book/src/charts";
/// Names of networks, and for how many PEs they are simulated and computed.
const NETWORKS: [[&str; 3]; 2] = [
    ["rdma", "2,4,8,16,32,64,128,256,512,1024,2048,4096", "8192,16384,32768,65536,100000"],
    // More shows nothing new, and takes half an hour.
    ["tcp", "2,4,8,16,32,64,128,256,512,1024", "2048,4096,8192,16384,32768,65536,100000"],
];
const PER_HOST: [u64; 2] = [1, 64];
/// Seconds for all jobs of one network.
const LIMIT: u64 = 3600;
/// Calls in the order of the table's columns.
const CALLS: [(&str, u64, &str); 7] = [
    ("sync", 0, "sync"),
    ("broadcast", 8, "broadcast 8 B"),
    ("sum", 8, "sum 8 B"),
    ("alltoall", 8, "alltoall 8 B"),
    ("alltoall", 64, "alltoall 64 B"),
    ("broadcast", 1 << 20, "broadcast 1 MiB"),
    ("sum", 1 << 20, "sum 1 MiB"),
];

/// Those that have a panel of the chart.
const PANELS: [&str; 4] = ["sync", "broadcast 1 MiB", "sum 1 MiB", "alltoall 8 B"];
const WIDTH: f64 = 820.0;
const HEIGHT: f64 = 320.0;
const TOP: f64 = 56.0;
const BOTTOM: f64 = 284.0;
const LEFT: f64 = 56.0;
const GAP: f64 = 18.0;
const GREY: &str = "#808890";
/// For each number of PEs on a host.
const COLOURS: [&str; 2] = ["#e8710a", "#3b82f6"];

/// What is known of one call of a job.
#[derive(Clone, Copy, Default)]
struct Point {
    simulated: Option<f64>,
    formula: f64,
    messages: Option<f64>,
}

/// PEs on a host, PEs, the call.
type PointKey = (u64, u64, &'static str);

/// What is known of one network.
#[derive(Default)]
struct NetworkFigures {
    points: BTreeMap<PointKey, Point>,
    /// By PEs on a host and PEs: init in ms, KiB of each PE after init, and after short
    /// collectives.
    memory: BTreeMap<(u64, u64), [f64; 3]>,
}

/// Simulates, and writes the tables and charts of the chapter.
pub(crate) fn scale(reuse: bool) -> Outcome {
    Job::cargo("build --release --package oxshmem-bench --bin shmem-scale").limit(1200).run()?;
    let (program, folder) = (target_dir()?.join("release/shmem-scale"), target_dir()?.join("scale"));
    fs::create_dir_all(&folder)?;
    fs::create_dir_all(CHARTS)?;
    let mut page = fs::read_to_string(PAGE)?;
    for [network, simulated, paper] in NETWORKS {
        let mut figures = NetworkFigures::default();
        for (name, options) in
            [("simulated", vec!["--pes", simulated]), ("paper", vec!["--paper", "--pes", paper])]
        {
            let file = folder.join(format!("{network}-{name}.json"));
            if !reuse || !file.exists() {
                let job = Job::new(&program, ["--network", network, "--json"]).args([&file]);
                job.args(options).limit(LIMIT).run()?;
            }
            figures.read(&file)?;
        }
        fs::write(format!("{CHARTS}/scale-{network}.svg"), figures.chart(network))?;
        page = replaced(&page, &format!("times {network}"), &figures.times())?;
        if network == NETWORKS[0][0] {
            page = replaced(&page, "messages", &figures.messages())?;
            page = replaced(&page, "memory", &figures.memory())?;
        }
    }
    fs::write(PAGE, page)?;
    println!("{PAGE}");
    Ok(Verdict::Passed)
}

/// The page with other text between the marks.
fn replaced(page: &str, name: &str, text: &str) -> Result<String, Failure> {
    let (begin, end) = (format!("<!-- {name} -->\n"), "<!-- end -->");
    let parts = page.split_once(&begin).and_then(|(before, rest)| Some((before, rest.split_once(end)?.1)));
    let (before, after) = parts.ok_or_else(|| Failure::new(format!("{PAGE} has no place for {name}")))?;
    Ok(format!("{before}{begin}{text}{end}{after}"))
}

impl NetworkFigures {
    fn read(&mut self, file: &Path) -> Result<(), Failure> {
        for line in fs::read_to_string(file)?.lines() {
            let line: Value = serde_json::from_str(line).map_err(|e| Failure::new(format!("{line}: {e}")))?;
            let whole = |key: &str| line[key].as_u64().unwrap_or_default();
            let number = |key: &str| line[key].as_f64();
            let job = (whole("per_host"), whole("pes"));
            if let Some(init) = number("init_ms") {
                let rest = ["after_init", "after_short"].map(|key| number(key).unwrap_or(f64::NAN));
                self.memory.insert(job, [init, rest[0], rest[1]]);
            }
            let call =
                CALLS.iter().find(|&&(name, bytes, _)| line["call"] == name && whole("bytes") == bytes);
            if let (Some((_, _, title)), Some(formula)) = (call, number("formula")) {
                let point = Point { simulated: number("simulated"), formula, messages: number("messages") };
                self.points.insert((job.0, job.1, title), point);
            }
        }
        Ok(())
    }

    /// The rows of a table: a job each, with a cell for each call.
    fn table(&self, cell: impl Fn(Point) -> Option<String>) -> String {
        let titles = CALLS.map(|(_, _, title)| title);
        let mut text = format!(
            "| PEs | on a host | {} |\n|---:|---:|{}\n",
            titles.join(" | "),
            "---:|".repeat(titles.len())
        );
        let mut jobs: Vec<_> = self.points.keys().map(|&(per_host, pes, _)| (per_host, pes)).collect();
        jobs.dedup();
        for (per_host, pes) in jobs {
            let cells =
                titles.map(|title| self.points.get(&(per_host, pes, title)).and_then(|&point| cell(point)));
            if cells.iter().any(Option::is_some) {
                let cells = cells.map(|cell| cell.unwrap_or_else(|| "–".into())).join(" | ");
                let _ = writeln!(text, "| {pes} | {per_host} | {cells} |");
            }
        }
        text
    }

    /// In µs; in italics what is computed only.
    fn times(&self) -> String {
        self.table(|point| Some(point.simulated.map_or_else(|| format!("*{}*", short(point.formula)), short)))
    }

    fn messages(&self) -> String {
        self.table(|point| point.messages.map(|messages| format!("{messages}")))
    }

    fn memory(&self) -> String {
        let mut text = String::from(
            "| PEs | on a host | init, ms | KiB a PE after init | after short collectives |\n|---:|---:|---:|---:|---:|\n",
        );
        for ((per_host, pes), [init, first, last]) in &self.memory {
            let _ = writeln!(text, "| {pes} | {per_host} | {init:.0} | {first:.0} | {last:.0} |");
        }
        text
    }

    /// Time by PEs, a panel for each of some calls: what was simulated as dots, formulas as lines.
    fn chart(&self, network: &str) -> String {
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
             font-size=\"12\" fill=\"{GREY}\">\n<title>{network}: µs by PEs</title>\n\
             <text x=\"{LEFT}\" y=\"20\" font-size=\"14\">{network}: µs by PEs, both logarithmic</text>\n"
        );
        for (i, (per_host, colour)) in PER_HOST.into_iter().zip(COLOURS).enumerate() {
            let x = WIDTH - 330.0 + i as f64 * 160.0;
            let _ = writeln!(
                svg,
                "<path d=\"M{x} 16h22\" stroke=\"{colour}\" stroke-width=\"2\"/><circle cx=\"{}\" cy=\"16\" r=\"3\" \
                 fill=\"{colour}\"/><text x=\"{}\" y=\"20\">{per_host} on a host</text>",
                x + 11.0,
                x + 28.0
            );
        }
        let shown = || self.points.iter().filter(|((_, _, call), _)| PANELS.contains(call));
        let low = shown().map(|(_, point)| point.formula).fold(f64::INFINITY, f64::min).log10().floor();
        let high = shown().map(|(_, point)| point.formula).fold(0.0, f64::max).log10().ceil();
        if !low.is_finite() || !high.is_finite() {
            return svg + "</svg>\n";
        }
        let y = |value: f64| BOTTOM - (value.log10() - low) / (high - low).max(1.0) * (BOTTOM - TOP);
        let width = (WIDTH - LEFT - 10.0) / PANELS.len() as f64 - GAP;
        for (i, panel) in PANELS.into_iter().enumerate() {
            let left = LEFT + i as f64 * (width + GAP);
            let _ =
                writeln!(svg, "<text x=\"{left}\" y=\"{}\" font-weight=\"bold\">{panel}</text>", TOP - 10.0);
            for decade in low as i32..=high as i32 {
                let (value, at) = (10f64.powi(decade), y(10f64.powi(decade)));
                let _ = writeln!(
                    svg,
                    "<path d=\"M{left} {at:.1}h{width:.1}\" stroke=\"{GREY}\" stroke-opacity=\".3\"/>"
                );
                if i == 0 {
                    let (x, y) = (LEFT - 6.0, at + 4.0);
                    let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y:.1}\" text-anchor=\"end\">{value}</text>");
                }
            }
            // From 2 PEs to 100,000.
            let x = |pes: u64| left + 8.0 + (pes as f64 / 2.0).log2() / 50_000_f64.log2() * (width - 20.0);
            for (pes, label) in [(2, "2"), (64, "64"), (4096, "4096"), (100_000, "10⁵")] {
                let (at, below) = (x(pes), BOTTOM + 16.0);
                let _ =
                    writeln!(svg, "<text x=\"{at:.1}\" y=\"{below}\" text-anchor=\"middle\">{label}</text>");
            }
            for (per_host, colour) in PER_HOST.into_iter().zip(COLOURS) {
                let points = shown().filter(|((on_host, _, call), _)| *on_host == per_host && *call == panel);
                let points: Vec<_> = points.map(|((_, pes, _), point)| (*pes, *point)).collect();
                let path =
                    points.iter().map(|(pes, point)| format!("{:.1} {:.1}", x(*pes), y(point.formula)));
                let _ = writeln!(
                    svg,
                    "<path d=\"M{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
                    path.collect::<Vec<_>>().join("L")
                );
                for (pes, point) in points {
                    let Some(simulated) = point.simulated else { continue };
                    let _ = writeln!(
                        svg,
                        "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{colour}\"><title>{panel}, {pes} PEs, {per_host} \
                         on a host: {} µs</title></circle>",
                        x(pes),
                        y(simulated),
                        short(simulated)
                    );
                }
            }
        }
        svg + "</svg>\n"
    }
}

/// Three digits.
fn short(value: f64) -> String {
    match value {
        ..10.0 => format!("{value:.2}"),
        ..100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_go_between_their_marks_only() {
        let page = "a\n<!-- x -->\nold\n<!-- end -->\nb <!-- y -->\n<!-- end -->\n";
        let new = replaced(page, "x", "new\n").unwrap();
        assert_eq!(new, page.replace("old", "new"));
        assert_eq!(replaced(&new, "x", "new\n").unwrap(), new);
        assert!(replaced(page, "z", "").is_err());
    }

    #[test]
    fn what_is_only_computed_is_in_italics() {
        let mut figures = NetworkFigures::default();
        for (pes, simulated) in [(2, Some(1.6)), (4, None)] {
            let point = Point { simulated, formula: 123.4, messages: simulated };
            figures.points.insert((1, pes, "sync"), point);
        }
        let rows = figures.times();
        assert!(rows.contains("| 2 | 1 | 1.60 | – |") && rows.contains("| 4 | 1 | *123* | – |"), "{rows}");
        assert_eq!(figures.messages().lines().count(), 3);
        assert_eq!(figures.chart("x").matches("<circle").count(), 3);
    }
}
