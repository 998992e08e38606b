//! What would become of a job if one PE of it computed as fast as the others do on average.
//!
//! The job is played again, node by node: what a PE does between two nodes takes as long as it did,
//! but for the computing of that one PE; and a node is over when what it depends on has come, and
//! as long after that as it was.

use std::cmp::Reverse;

use serde_json::{Value, json};

use super::graph::{Between, Cause, Graph, Node, done};

/// PEs of which it is found out: those that compute longest.
const MOST: usize = 10;

/// `[PE, its computing, the mean, what the job would take, how much less that is]`, for the PEs
/// that compute for longer than the mean, those first that cost most.
pub(super) fn rows(graph: &Graph<'_>) -> Value {
    let pes = &graph.trace.pes;
    let computing: Vec<u64> = (0..pes.len()).map(|place| computing(graph, place)).collect();
    let mean = computing.iter().sum::<u64>() / pes.len().max(1) as u64;
    let mut slow: Vec<usize> = (0..pes.len()).filter(|&place| computing[place] > mean).collect();
    slow.sort_by_key(|&place| Reverse(computing[place]));
    slow.truncate(MOST);
    let order = order(graph);
    let duration = pes.iter().map(|pe| pe.ended).max().unwrap_or(0);
    let as_it_was = played(graph, &order, None);
    let saved = |place: usize| {
        let factor = mean as f64 / computing[place] as f64;
        (as_it_was - played(graph, &order, Some((place, factor)))).max(0.0).round() as u64
    };
    let mut rows: Vec<(u64, usize)> = slow.iter().map(|&place| (saved(place).min(duration), place)).collect();
    rows.sort_by_key(|&(saved, place)| (Reverse(saved), place));
    let row = |&(saved, place): &(u64, usize)| {
        json!([pes[place].pe, computing[place], mean, duration - saved, saved])
    };
    rows.iter().filter(|(saved, _)| *saved > 0).map(row).collect()
}

fn computing(graph: &Graph<'_>, place: usize) -> u64 {
    graph.nodes[place].iter().map(|node| node.work.computing).sum::<u64>() + graph.tails[place].computing
}

/// All nodes, in the order in which they completed: the place of the PE, and the node's.
fn order(graph: &Graph<'_>) -> Vec<(usize, usize)> {
    let mut order: Vec<(usize, usize)> = Vec::new();
    for (place, nodes) in graph.nodes.iter().enumerate() {
        order.extend((0..nodes.len()).map(|i| (place, i)));
    }
    order.sort_by_key(|&(place, i)| (graph.nodes[place][i].until, place, i));
    order
}

/// A PE in the middle of the job.
#[derive(Clone, Copy, Debug)]
struct Replayed {
    /// When its last node was over, and when it is now.
    was: u64,
    is: f64,
    /// How many nodes it is past.
    past: usize,
}

/// When the last PE ends, if the computing of a PE takes `factor` times as long.
fn played(graph: &Graph<'_>, order: &[(usize, usize)], slower: Option<(usize, f64)>) -> f64 {
    let pes = &graph.trace.pes;
    let factor = |place: usize| slower.filter(|(which, _)| *which == place).map_or(1.0, |(_, factor)| factor);
    let taken = |place: usize, work: Between| work.computing as f64 * factor(place) + work.other as f64;
    let mut clocks: Vec<Replayed> = pes
        .iter()
        .map(|pe| Replayed { was: pe.recorded_from(), is: pe.recorded_from() as f64, past: 0 })
        .collect();
    // Of each collective: how many PEs have come, and when the last of them does.
    let mut come: Vec<(usize, f64)> = vec![(0, 0.0); graph.arrivals.len()];
    // When a PE is where it was at a time between its last node and the next.
    let now = |clock: &Replayed, place: usize, time: u64| {
        let work = graph.nodes[place].get(clock.past).map_or(graph.tails[place], |node| node.work);
        let (since, long) = (time.saturating_sub(clock.was) as f64, (work.computing + work.other) as f64);
        clock.is + if long > 0.0 { since.min(long) / long * taken(place, work) } else { 0.0 }
    };
    for &(place, i) in order {
        let node: Node = graph.nodes[place][i];
        let own = clocks[place].is + taken(place, node.work);
        let (was, is) = match node.cause {
            Cause::Event(other, event) => {
                let was = done(&pes[other].events[event]).min(node.until);
                (was, now(&clocks[other], other, was))
            }
            Cause::Collective(which) => {
                let (arrivals, (count, last)) = (&graph.arrivals[which], &mut come[which]);
                while let Some(&(was, other)) = arrivals.get(*count).filter(|(was, _)| *was <= node.until) {
                    *last = last.max(now(&clocks[other], other, was));
                    *count += 1;
                }
                (count.checked_sub(1).map_or(node.until, |last| arrivals[last].0), *last)
            }
        };
        // On its way for as long as before. If it had come before the PE waited: no longer.
        let after = node.until - was.max(node.idle_from).min(node.until);
        let it_is =
            if was > node.idle_from { (is + after as f64).max(own) } else { is.max(own + after as f64) };
        clocks[place] = Replayed { was: node.until, is: it_is, past: i + 1 };
    }
    let ends = clocks.iter().enumerate().map(|(place, clock)| clock.is + taken(place, graph.tails[place]));
    ends.fold(0.0, f64::max)
}
