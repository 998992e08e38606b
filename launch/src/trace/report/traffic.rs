//! What PEs sent each other, and in messages of which sizes.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{ROWS, SLOWEST, pes_of_a_bin};
use crate::trace::model::{Kind, Trace};

/// What each of `n` PEs did to each: `[row, column, operations, bytes]` for each cell with any.
pub(super) fn matrix(trace: &Trace, n: usize) -> Value {
    let bin = pes_of_a_bin(n);
    let mut cells: BTreeMap<(usize, usize), (u64, u64)> = BTreeMap::new();
    for pe in &trace.pes {
        for to in &pe.traffic {
            let cell = cells.entry((pe.pe / bin, to.pe / bin)).or_default();
            *cell = (cell.0 + to.operations, cell.1 + to.bytes);
        }
    }
    let cells: Vec<_> = cells
        .iter()
        .map(|((row, column), (operations, bytes))| json!([row, column, operations, bytes]))
        .collect();
    json!({ "bin": bin, "cells": cells })
}

/// The pairs with most bytes: `[from, to, operations, bytes]`.
pub(super) fn pairs(trace: &Trace) -> Value {
    let mut pairs: Vec<_> = trace
        .pes
        .iter()
        .flat_map(|pe| pe.traffic.iter().map(|to| (to.bytes, to.operations, pe.pe, to.pe)))
        .collect();
    pairs.sort_unstable_by(|a, b| b.cmp(a));
    pairs.truncate(SLOWEST);
    pairs.iter().map(|(bytes, operations, from, to)| json!([from, to, operations, bytes])).collect()
}

/// How many messages of each call there are of each size, in powers of two: `[call, counts]`. The
/// first count is of messages without bytes, the next of those with one, then from two, from four.
pub(super) fn sizes(trace: &Trace) -> Value {
    let mut calls: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    let events = trace.pes.iter().flat_map(|pe| &pe.events);
    for event in events.filter(|event| event.kind == Kind::Operation) {
        let counts = calls.entry(event.call.name()).or_default();
        let place = size_class(event.bytes);
        counts.resize(counts.len().max(place + 1), 0);
        counts[place] += 1;
    }
    calls.iter().map(|(call, counts)| json!([call, counts])).collect()
}

/// 0 for none, then one for each power of two.
fn size_class(bytes: u64) -> usize {
    bytes.checked_ilog2().map_or(0, |log| log as usize + 1)
}

/// A call, and what came of it.
#[derive(Default)]
struct Total {
    count: u64,
    bytes: u64,
    within: u64,
    waited: u64,
    longest: u64,
    /// The PE of the longest, and when it began.
    place: (usize, u64),
}

/// Each call: `[name, count, bytes, mean time, longest time, waited]`, and of the longest its PE
/// and its begin.
pub(super) fn calls(trace: &Trace) -> Value {
    let mut calls: BTreeMap<&str, Total> = BTreeMap::new();
    for (pe, event) in trace.pes.iter().flat_map(|pe| pe.events.iter().map(|event| (pe.pe, event))) {
        let total = calls.entry(event.call.name()).or_default();
        let within = event.completed.saturating_sub(event.begin);
        total.count += 1;
        total.bytes += event.bytes;
        total.within += within;
        total.waited += event.waited;
        if total.count == 1 || total.longest < within {
            (total.longest, total.place) = (within, (pe, event.begin));
        }
    }
    let row = |(name, total): (&&str, &Total)| {
        let mean = total.within / total.count;
        json!([name, total.count, total.bytes, mean, total.longest, total.waited, total.place])
    };
    calls.iter().take(ROWS).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{
        model::{PeTrace, Traffic},
        report::synthetic::event,
    };
    use oxshmem_progress::activity::Call;

    fn job(traffic: &[(usize, usize, u64, u64)]) -> Trace {
        let pe = |&(from, to, operations, bytes): &(usize, usize, u64, u64)| PeTrace {
            pe: from,
            traffic: vec![Traffic { pe: to, operations, bytes }],
            ..PeTrace::default()
        };
        Trace { pes: traffic.iter().map(pe).collect(), ..Trace::default() }
    }

    #[test]
    fn the_matrix_has_a_row_for_each_pe_until_there_are_too_many() {
        let few = job(&[(0, 1, 3, 24), (1, 0, 1, 8)]);
        assert_eq!(matrix(&few, 2), json!({ "bin": 1, "cells": [[0, 1, 3, 24], [1, 0, 1, 8]] }));
        let many = job(&[(0, 999, 3, 24), (7, 992, 1, 8), (8, 0, 1, 1)]);
        assert_eq!(matrix(&many, 1000), json!({ "bin": 8, "cells": [[0, 124, 4, 32], [1, 0, 1, 1]] }));
    }

    #[test]
    fn pairs_come_in_the_order_of_their_bytes() {
        let trace = job(&[(0, 1, 3, 24), (1, 0, 1, 800)]);
        assert_eq!(pairs(&trace), json!([[1, 0, 1, 800], [0, 1, 3, 24]]));
    }

    #[test]
    fn a_call_names_the_place_of_its_longest() {
        let get = |begin, end| event(Call::Get, begin, begin, end, 5);
        let pes = [vec![get(10, 20)], vec![get(15, 45), get(50, 80)]];
        let pes =
            pes.into_iter().enumerate().map(|(pe, events)| PeTrace { pe, events, ..PeTrace::default() });
        let trace = Trace { pes: pes.collect(), ..Trace::default() };
        assert_eq!(calls(&trace), json!([["get", 3, 0, 23, 30, 15, [1, 15]]]));
    }

    #[test]
    fn sizes_are_classed_by_powers_of_two() {
        let classes = [0, 1, 2, 3, 4, 7, 8, 1 << 20, u64::MAX].map(size_class);
        assert_eq!(classes, [0, 1, 2, 2, 3, 3, 4, 21, 64]);
    }
}
