//! The critical path: the chain of work, on one PE after another, that the job took as long as.
//!
//! It is found from the end. From the PE that ended last it goes back in time, through whatever
//! that PE did. Where the PE had to wait for another one, it goes on there, at the time at which
//! the other had done what was waited for. What is on the path cannot take longer without the job
//! taking longer; what is not on it can.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    ops::Range,
};

use oxshmem_progress::activity::Call;
use serde_json::{Value, json};

use super::graph::Graph;
use crate::trace::report::{
    ROWS,
    collectives::rounded,
    pieces::{State, pieces},
    timeline::colour,
};

/// Parts of the path that the page shows, at most twice as many.
const PARTS: u64 = 2000;

/// A stretch of the path on one PE.
#[derive(Clone, Debug, PartialEq)]
struct Stretch {
    place: usize,
    range: Range<u64>,
    /// What it waits for in it, if that is under way already: the call that waits.
    on_the_way: Option<Call>,
}

/// What the PE on the path was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Doing {
    Computing,
    Call(Call),
    /// The call waits for what another PE has done already.
    OnTheWay(Call),
}

/// A stretch of the path in which one PE did one thing.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PathPart {
    pub(super) place: usize,
    pub(super) range: Range<u64>,
    pub(super) doing: Doing,
}

impl Doing {
    fn name(self) -> String {
        match self {
            Self::Computing => "computing".to_owned(),
            Self::Call(call) => call.name().to_owned(),
            Self::OnTheWay(call) => format!("{}: on the way", call.name()),
        }
    }

    /// That of its call, or null.
    fn colour(self) -> Option<usize> {
        match self {
            Self::Computing => None,
            Self::Call(call) | Self::OnTheWay(call) => Some(colour(call)),
        }
    }
}

/// The path of a job, in the order of time.
pub(super) fn of(graph: &Graph<'_>) -> Vec<PathPart> {
    let steps = steps(graph);
    let mut of_pe: Vec<Vec<&Stretch>> = vec![Vec::new(); graph.trace.pes.len()];
    let mut parts = Vec::new();
    for step in &steps {
        match step.on_the_way {
            Some(call) => {
                let (place, range) = (step.place, step.range.clone());
                parts.push(PathPart { place, range, doing: Doing::OnTheWay(call) });
            }
            None => of_pe[step.place].push(step),
        }
    }
    for (place, steps) in of_pe.iter().enumerate().filter(|(_, steps)| !steps.is_empty()) {
        let pe = &graph.trace.pes[place];
        let mut next = 0;
        pieces(pe, |piece, state| {
            let doing = match state {
                State::Computing => Doing::Computing,
                State::Communicating(event) | State::Waiting(event) | State::Several(event) => {
                    Doing::Call(pe.events[event].call)
                }
            };
            while let Some(step) = steps.get(next) {
                let range = piece.start.max(step.range.start)..piece.end.min(step.range.end);
                if !range.is_empty() {
                    parts.push(PathPart { place, range, doing });
                }
                if step.range.end > piece.end {
                    break;
                }
                next += 1;
            }
        });
    }
    parts.sort_by_key(|part| part.range.start);
    parts
}

/// In the order of time.
fn steps(graph: &Graph<'_>) -> Vec<Stretch> {
    let pes = &graph.trace.pes;
    let Some(mut place) = (0..pes.len()).max_by_key(|&i| (pes[i].ended, Reverse(i))) else {
        return Vec::new();
    };
    // Nodes of each PE that are not past: time goes back.
    let mut left: Vec<usize> = graph.nodes.iter().map(Vec::len).collect();
    let (mut steps, mut at) = (Vec::new(), pes[place].ended);
    loop {
        let found = loop {
            let Some(next) = left[place].checked_sub(1) else { break None };
            let node = &graph.nodes[place][next];
            if node.until <= at
                && let Some(other) = graph.waited_for(place, node)
            {
                break Some((node, other));
            }
            left[place] = next;
        };
        let from = found.map_or(pes[place].recorded_from(), |(node, _)| node.until);
        if from < at {
            steps.push(Stretch { place, range: from..at, on_the_way: None });
        }
        let Some((node, (other, time))) = found else { break };
        let call = graph.event(place, node).call;
        steps.push(Stretch { place, range: time..node.until, on_the_way: Some(call) });
        (place, at) = (other, time);
    }
    steps.reverse();
    steps
}

/// What the path consists of, that first which is most of it: `[PE, what it did, time, share of the
/// path, times, [PE, begin, end] of the longest part]`.
pub(super) fn rows(graph: &Graph<'_>, path: &[PathPart]) -> Value {
    let mut sums: HashMap<(usize, Doing), (u64, u64, Range<u64>)> = HashMap::new();
    for part in path {
        let (time, times, longest) = sums.entry((part.place, part.doing)).or_insert((0, 0, 0..0));
        let long = part.range.end - part.range.start;
        *time += long;
        *times += 1;
        if long > longest.end - longest.start {
            *longest = part.range.clone();
        }
    }
    let all = length(path).max(1);
    let rows = sums.into_iter().map(|((place, doing), (time, times, longest))| {
        (Reverse(time), graph.trace.pes[place].pe, doing.name(), times, longest)
    });
    let mut rows: Vec<_> = rows.collect();
    rows.sort_unstable_by(|a, b| (a.0, a.1, &a.2).cmp(&(b.0, b.1, &b.2)));
    let row =
        |(Reverse(time), pe, doing, times, longest): &(Reverse<u64>, usize, String, u64, Range<u64>)| {
            json!([
                pe,
                doing,
                time,
                rounded(*time as f64 / all as f64),
                times,
                [pe, longest.start, longest.end]
            ])
        };
    rows.iter().take(ROWS).map(row).collect()
}

/// How long the path is.
pub(super) fn length(path: &[PathPart]) -> u64 {
    path.iter().map(|part| part.range.end - part.range.start).sum()
}

/// How much of the path the PEs are on, that first which is most: the number of the PE, and
/// nanoseconds.
pub(super) fn by_pe(graph: &Graph<'_>, path: &[PathPart]) -> Vec<(usize, u64)> {
    let mut sums: BTreeMap<usize, u64> = BTreeMap::new();
    for part in path {
        *sums.entry(graph.trace.pes[part.place].pe).or_default() += part.range.end - part.range.start;
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by_key(|(_, time)| Reverse(*time));
    sums
}

/// The parts for the timeline: `[begin, end, PE, what it did, its colour or null for computing]`.
/// Short ones that follow each other are one, which is named after the longest.
pub(super) fn parts(graph: &Graph<'_>, path: &[PathPart]) -> Value {
    let end = path.last().map_or(0, |last| last.range.end);
    let least = end / PARTS + 1;
    let mut shown: Vec<(Range<u64>, &PathPart)> = Vec::new();
    for part in path {
        let long = |range: &Range<u64>| range.end - range.start;
        match shown.last_mut() {
            Some((range, longest))
                if long(range) < least && long(&part.range) < least
                    || (longest.place, longest.doing) == (part.place, part.doing) =>
            {
                range.end = part.range.end;
                if long(&part.range) > long(&longest.range) {
                    *longest = part;
                }
            }
            _ => shown.push((part.range.clone(), part)),
        }
    }
    let pe = |part: &PathPart| graph.trace.pes[part.place].pe;
    let row = |(range, part): &(Range<u64>, &PathPart)| {
        json!([range.start, range.end, pe(part), part.doing.name(), part.doing.colour()])
    };
    shown.iter().map(row).collect()
}
