//! `--record FILE` and `--picture FILE`: what a job does, in a file, and a picture of that.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::Path,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::picture::{Panel, Point, svg};
use crate::live::{find::LiveJob, sample::Sampler};

/// The field of a line that says when it was, in seconds.
const AT: &str = "at";

/// Writes a line of JSON each `interval`, until no PE is left.
pub(super) fn record(job: &LiveJob, path: &Path, interval: Duration) -> io::Result<()> {
    let mut file = File::create(path)?;
    let (begin, mut sampler) = (Instant::now(), Sampler::new(job));
    loop {
        let view = sampler.sample_for(interval);
        if view.pes.is_empty() {
            return Ok(());
        }
        let mut line = view.json(job);
        line[AT] = json!(begin.elapsed().as_secs_f64());
        // All of a line at once, so that one that is cut off is the last.
        file.write_all(format!("{line}\n").as_bytes())?;
    }
}

/// The picture of a file that [`record`] has written; an error is one line.
pub(super) fn picture(path: &Path) -> Result<String, String> {
    let name = path.display();
    let text = fs::read_to_string(path).map_err(|error| format!("cannot read {name}: {error}"))?;
    let mut lines = Vec::new();
    for (number, line) in text.split_inclusive('\n').enumerate() {
        match serde_json::from_str::<Value>(line).ok().and_then(|line| Some((points(&line)?, line))) {
            Some(line) => lines.push(line),
            // It was being written when oshtop was ended.
            None if !line.ends_with('\n') => {}
            None => return Err(format!("{name}: line {} is not of oshtop --record", number + 1)),
        }
    }
    let Some((_, first)) = lines.first() else { return Err(format!("{name}: nothing was recorded")) };
    let text_of = |field: &str| first[field].as_str().unwrap_or_default().to_owned();
    let title = format!("{} PEs of {}: {}", first["pes"], text_of("launcher"), text_of("program"));
    let panel = |number: usize, title, unit| Panel {
        title,
        unit,
        points: lines.iter().map(|(points, _)| points[number]).collect(),
    };
    let panels = [
        panel(0, "operations that PEs began", "/s"),
        panel(1, "bytes of them", "B/s"),
        panel(2, "time in waits: the mean of all PEs, the least and the most", "%"),
        panel(3, "symmetric memory in use", "B"),
    ];
    Ok(svg(&title, &panels))
}

/// What a line says: for each panel a point. `None` if it is no line of a record.
fn points(line: &Value) -> Option<[Point; 4]> {
    let at = line[AT].as_f64()?;
    let pes = line["table"].as_array().filter(|pes| !pes.is_empty())?;
    let all = |field: &str| pes.iter().map(|pe| pe[field].as_f64()).collect::<Option<Vec<f64>>>();
    let sum = |field: &str| all(field).map(|values| Point::one(at, values.iter().sum()));
    let waiting = all("waiting")?;
    let waits = Point {
        at,
        low: 100.0 * waiting.iter().copied().fold(1.0, f64::min),
        value: 100.0 * waiting.iter().sum::<f64>() / waiting.len() as f64,
        high: 100.0 * waiting.iter().copied().fold(0.0, f64::max),
    };
    Some([sum("out_operations_per_s")?, sum("out_bytes_per_s")?, waits, sum("heap_used")?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_sums_and_how_far_apart_waits_are() {
        let pe = |operations: f64, waiting: f64| json!({"out_operations_per_s": operations, "out_bytes_per_s": 8.0, "waiting": waiting, "heap_used": 5});
        let line = json!({AT: 1.5, "table": [pe(10.0, 0.25), pe(20.0, 0.75)]});
        let [operations, bytes, waits, heap] = points(&line).expect("a line");
        assert_eq!((operations.at, operations.value, operations.high), (1.5, 30.0, 30.0));
        assert_eq!((waits.low, waits.value, waits.high), (25.0, 50.0, 75.0));
        assert_eq!((bytes.value, heap.value), (16.0, 10.0));
        assert!(points(&json!({AT: 1.5, "table": []})).is_none());
        assert!(points(&json!({"table": [pe(1.0, 0.0)]})).is_none());
    }
}
