//! `report.html`: what a job did, as one page for a browser that needs nothing else.
//!
//! Whatever the page shows is added up here, so that its size does not grow with the job: the
//! matrix has at most [`BINS`] rows, and lists have an end. What there is to add up is in a file
//! each: [`traffic`] and messages, where [`times`] went, also by [`phases`], [`collectives`] with
//! the waits, and [`why`] the job took as long. The [`timeline`] has single calls, within a
//! budget. The page itself is `page.html`, with the script of the timeline in `timeline.js` and
//! what is in its folder; the data takes the place of a marker.

mod collectives;
pub(super) mod compare;
mod phases;
mod pieces;
#[cfg(test)]
mod synthetic;
#[cfg(test)]
mod tests;
mod timeline;
mod times;
mod traffic;
mod waits;
mod why;

use base64::prelude::{BASE64_STANDARD, Engine};
use oxshmem_progress::activity::list;
use serde_json::{Value, json};

use super::model::Trace;
use collectives::Collectives;
use times::Times;

/// Rows and columns of the matrix, and bars of a chart, at most. With more PEs each stands for
/// several.
const BINS: usize = 125;
/// Rows of a table, at most.
const ROWS: usize = 1000;
/// Rows of the tables of single waits and of pairs of PEs.
const SLOWEST: usize = 200;

const PAGE: &str = include_str!("page.html");
const TIMELINE: &str = concat!(
    include_str!("timeline/packed.js"),
    include_str!("timeline/strips.js"),
    include_str!("timeline.js")
);
/// Where the script of the timeline goes, the packed timeline, and the data.
const MARKERS: [&str; 3] = ["/*TIMELINE*/", "/*SPANS*/", "/*DATA*/"];

/// The page, with its data in it.
pub(super) fn page(trace: &Trace) -> String {
    page_within(trace, timeline::BUDGET)
}

/// The page, with a timeline that has at most `budget` bytes before they become text.
fn page_within(trace: &Trace, budget: usize) -> String {
    let timeline = timeline::of(trace, budget);
    let mut data = data(trace);
    data["timeline"] = timeline.head;
    let texts = [TIMELINE.to_owned(), BASE64_STANDARD.encode(&timeline.bytes), embeddable(&data)];
    // Once each, and the data last: it may have a marker in a program's name.
    MARKERS.iter().zip(texts).fold(PAGE.to_owned(), |page, (marker, text)| page.replacen(marker, &text, 1))
}

/// As JSON that an HTML parser passes over: nothing in it ends or begins a tag.
fn embeddable(data: &Value) -> String {
    data.to_string().replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

fn data(trace: &Trace) -> Value {
    let pes = trace.pes.iter().flat_map(|pe| pe.traffic.iter().map(|to| to.pe).chain([pe.pe]));
    let n = pes.max().map_or(0, |last| last + 1);
    let times: Vec<Times> = trace.pes.iter().map(times::of).collect();
    let collectives = Collectives::of(trace);
    let unfinished: Vec<usize> = trace.pes.iter().filter(|pe| !pe.finalized).map(|pe| pe.pe).collect();
    let losers: Vec<usize> = trace.pes.iter().filter(|pe| pe.lost > 0).map(|pe| pe.pe).collect();
    json!({
        "program": trace.program,
        "pes": n,
        "recorded": trace.pes.len(),
        "hosts": hosts(trace),
        "duration": trace.pes.iter().map(|pe| pe.ended).max().unwrap_or(0),
        "events": trace.pes.iter().map(|pe| pe.events.len()).sum::<usize>(),
        "lost": trace.pes.iter().map(|pe| pe.lost).sum::<u64>(),
        "losers": list(&losers),
        "unfinished": list(&unfinished),
        "matrix": traffic::matrix(trace, n),
        "pairs": traffic::pairs(trace),
        "sizes": traffic::sizes(trace),
        "calls": traffic::calls(trace),
        "bars": times::bars(trace, &times, n),
        "rows": times::rows(trace, &times, &waits::caused(trace, &collectives)),
        "phases": phases::rows(trace),
        "waits": waits::slowest(trace, &collectives),
        "collectives": collectives.groups(),
        "arrivals": collectives.worst(),
        "why": why::of(trace),
    })
}

fn hosts(trace: &Trace) -> usize {
    let mut names: Vec<&str> = trace.pes.iter().map(|pe| pe.host.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names.len()
}

/// How many PEs each of at most [`BINS`] bins has, of `n`.
fn pes_of_a_bin(n: usize) -> usize {
    n.div_ceil(BINS).max(1)
}
