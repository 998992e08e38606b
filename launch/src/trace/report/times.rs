//! Where the time of each PE went: the sum of its [`pieces`].

use std::ops::Range;

use serde_json::{Value, json};

use super::{
    ROWS, pes_of_a_bin,
    pieces::{State, pieces},
};
use crate::trace::model::{PeTrace, Trace};

/// Nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Times {
    pub(super) computing: u64,
    pub(super) communicating: u64,
    /// In one call.
    pub(super) waiting: u64,
    /// In several calls at the same time.
    pub(super) side_by_side: u64,
}

impl Times {
    pub(super) fn all(&self) -> u64 {
        self.computing + self.communicating + self.waiting + self.side_by_side
    }

    /// Adds the times of another PE.
    pub(super) fn join(&mut self, other: &Self) {
        self.computing += other.computing;
        self.communicating += other.communicating;
        self.waiting += other.waiting;
        self.side_by_side += other.side_by_side;
    }

    fn add(&mut self, time: u64, state: State) {
        let part = match state {
            State::Computing => &mut self.computing,
            State::Communicating(_) => &mut self.communicating,
            State::Waiting(_) => &mut self.waiting,
            State::Several(_) => &mut self.side_by_side,
        };
        *part += time;
    }
}

/// The times of a PE, as far back as its records go.
pub(super) fn of(pe: &PeTrace) -> Times {
    let mut times = Times::default();
    pieces(pe, |range, state| times.add(range.end - range.start, state));
    times
}

/// The times of a PE in each of `n` phases, and behind these outside of any.
pub(super) fn by_phase(pe: &PeTrace, n: usize) -> Vec<Times> {
    let mut times = vec![Times::default(); n + 1];
    let (mut phases, mut now) = (pe.phases.iter().peekable(), None);
    pieces(pe, |Range { mut start, end }, state| {
        while let Some(&(begin, next)) = phases.next_if(|(begin, _)| *begin < end) {
            let until = begin.max(start);
            times[now.unwrap_or(n)].add(until - start, state);
            (start, now) = (until, next);
        }
        times[now.unwrap_or(n)].add(end - start, state);
    });
    times
}

/// The bars of a chart of `n` PEs: `[computing, communicating, waiting, side by side, most waiting,
/// PE]`, means over the PEs of each bar, and the PE of them that waited most.
pub(super) fn bars(trace: &Trace, times: &[Times], n: usize) -> Value {
    let bin = pes_of_a_bin(n);
    let mut bars = vec![(0, Times::default(), None::<(u64, usize)>); n.div_ceil(bin)];
    for (pe, times) in trace.pes.iter().zip(times) {
        let (count, sum, most) = &mut bars[pe.pe / bin];
        *count += 1;
        sum.join(times);
        if most.is_none_or(|(waiting, _)| waiting < times.waiting) {
            *most = Some((times.waiting, pe.pe));
        }
    }
    let bars: Vec<_> = bars
        .iter()
        .map(|(count, sum, most)| {
            let (count, (waiting, pe)) = ((*count).max(1), most.unwrap_or_default());
            let parts = [sum.computing, sum.communicating, sum.waiting, sum.side_by_side];
            let [computing, communicating, alone, side_by_side] = parts.map(|part| part / count);
            json!([computing, communicating, alone, side_by_side, waiting, pe])
        })
        .collect();
    json!({ "bin": bin, "bars": bars })
}

/// The table of PEs, those first that waited most: `[PE, host, process, computing, communicating,
/// waiting, side by side, made others wait, operations, bytes]`, and whether it finalized.
pub(super) fn rows(trace: &Trace, times: &[Times], caused: &[u64]) -> Value {
    let mut order: Vec<usize> = (0..trace.pes.len()).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(times[i].waiting));
    order.truncate(ROWS);
    let row = |i: usize| {
        let (pe, times) = (&trace.pes[i], times[i]);
        let operations: u64 = pe.traffic.iter().map(|to| to.operations).sum();
        let bytes: u64 = pe.traffic.iter().map(|to| to.bytes).sum();
        json!([
            pe.pe,
            pe.host,
            pe.pid,
            times.computing,
            times.communicating,
            times.waiting,
            times.side_by_side,
            caused[i],
            operations,
            bytes,
            pe.finalized,
        ])
    };
    order.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use oxshmem_progress::activity::Call;

    use super::*;
    use crate::trace::{model::Event, report::synthetic::event};

    fn pe(events: Vec<Event>) -> PeTrace {
        PeTrace { began: 100, ended: 200, finalized: true, events, ..PeTrace::default() }
    }

    #[test]
    fn time_is_computing_communicating_or_waiting_and_nothing_twice() {
        let times = |computing, communicating, waiting, side_by_side| Times {
            computing,
            communicating,
            waiting,
            side_by_side,
        };
        assert_eq!(of(&pe(vec![])), times(100, 0, 0, 0));
        // A put that is initiated at 115, and complete later while the PE computes.
        let put = event(Call::Put, 110, 115, 150, 0);
        assert_eq!(of(&pe(vec![put])), times(95, 5, 0, 0));
        // A barrier: 10 to come, 30 to wait.
        let barrier = event(Call::Barrier, 120, 121, 160, 30);
        assert_eq!(of(&pe(vec![put, barrier])), times(55, 15, 30, 0));
        // Another task begins a put meanwhile, and a third waits for a part of it.
        let (other, wait) = (event(Call::Put, 140, 145, 146, 0), event(Call::WaitUntil, 150, 150, 170, 20));
        assert_eq!(of(&pe(vec![put, barrier, other, wait])), times(45, 20, 25, 10));
    }

    #[test]
    fn times_are_split_where_phases_begin() {
        let barrier = event(Call::Barrier, 120, 121, 160, 30);
        let phases =
            vec![(110, Some(1)), (125, Some(0)), (140, None), (150, Some(1)), (190, Some(1)), (300, Some(0))];
        let pe = PeTrace { phases, ..pe(vec![barrier]) };
        let parts = |times: &Times| [times.computing, times.communicating, times.waiting, times.side_by_side];
        let times = by_phase(&pe, 2);
        // Of the call, from 130 on is waiting.
        assert_eq!(parts(&times[0]), [0, 5, 10, 0]);
        assert_eq!(parts(&times[1]), [50, 5, 10, 0]);
        assert_eq!(parts(&times[2]), [10, 0, 10, 0]);
        assert_eq!(times.iter().map(Times::all).sum::<u64>(), of(&pe).all());
        let lost = PeTrace { lost: 1, ..pe };
        let times = by_phase(&lost, 2);
        assert_eq!((times[1].all(), times[2].all()), (55, 10), "from 120 on");
    }

    #[test]
    fn what_is_lost_counts_as_nothing() {
        let late = event(Call::Quiet, 150, 150, 180, 30);
        let pe = PeTrace { lost: 3, ..pe(vec![late]) };
        assert_eq!(of(&pe), Times { computing: 20, waiting: 30, ..Times::default() });
    }

    #[test]
    fn a_bar_of_several_pes_is_their_mean_and_names_the_worst() {
        let pes = (0..250).map(|pe| PeTrace { pe, ..PeTrace::default() }).collect();
        let trace = Trace { pes, ..Trace::default() };
        let times: Vec<_> = (0..250)
            .map(|i| Times { computing: 1, communicating: 2, waiting: 2 * i, side_by_side: 3 })
            .collect();
        let bars = bars(&trace, &times, 250);
        assert_eq!(bars["bin"], 2);
        assert_eq!(bars["bars"][1], json!([1, 2, 5, 3, 6, 3]));
        assert_eq!(bars["bars"].as_array().map(Vec::len), Some(125));
    }
}
