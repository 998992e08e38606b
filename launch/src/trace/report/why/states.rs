//! Wait states: how long PEs had nothing to do, sorted by the reason, under the names that the
//! field has for them.

use std::{cmp::Reverse, collections::HashMap, ops::Range};

use oxshmem_progress::activity::Call;
use serde_json::{Value, json};

use super::graph::{Cause, Graph, Node, Unexplained};
use crate::trace::{
    model::{Event, Kind, PeTrace},
    report::collectives::rounded,
};

/// Events that are looked at, from a wait on, to find out what it was for.
const NEAR: usize = 256;

/// Why a PE had nothing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum WaitState {
    LateSender,
    LateReceiver,
    Collective,
    Lock,
    OnTheWay,
    Answer,
    Completion,
    Unknown,
}

impl WaitState {
    const ALL: [Self; 8] = [
        Self::LateSender,
        Self::LateReceiver,
        Self::Collective,
        Self::Lock,
        Self::OnTheWay,
        Self::Answer,
        Self::Completion,
        Self::Unknown,
    ];

    /// Its name, and what it means.
    fn text(self) -> [&'static str; 2] {
        match self {
            Self::LateSender => {
                ["late sender", "The PE waited for data or a signal that another PE had not sent yet."]
            }
            Self::LateReceiver => [
                "late receiver",
                "The PE had data to send, and waited until their receiver was ready for them.",
            ],
            Self::Collective => [
                "wait at collective",
                "The PE was in a collective, and another PE of the team had not come yet.",
            ],
            Self::Lock => ["lock contention", "The PE wanted a lock that another PE had."],
            Self::OnTheWay => [
                "on the way",
                "What the PE waited for had been done: data or a signal travelled, or a collective worked.",
            ],
            Self::Answer => [
                "answer",
                "The PE waited for what a get or an atomic operation brings, or for the answer of a free lock.",
            ],
            Self::Completion => [
                "completion",
                "The PE waited for its own operations: in a quiet or fence, or before it let go of a lock.",
            ],
            Self::Unknown => ["not known", "What ended the wait is not in the record."],
        }
    }
}

/// What came of one state.
#[derive(Clone, Debug, Default)]
struct Sum {
    times: u64,
    lost: u64,
    of_pe: HashMap<usize, u64>,
    by_pe: HashMap<usize, u64>,
    /// The longest: its PE, and when it was.
    longest: Option<(usize, Range<u64>)>,
}

impl Sum {
    fn add(&mut self, pe: usize, range: Range<u64>, by: Option<usize>) {
        let time = range.end - range.start;
        self.times += 1;
        self.lost += time;
        *self.of_pe.entry(pe).or_default() += time;
        if let Some(by) = by {
            *self.by_pe.entry(by).or_default() += time;
        }
        if self.longest.as_ref().is_none_or(|(_, longest)| longest.end - longest.start < time) {
            self.longest = Some((pe, range));
        }
    }
}

/// The states that there are: `[state, what it means, time lost, share of the time of all PEs,
/// times or null, the PE that lost most, how much, the PE that most was lost because of, how much,
/// [PE, begin, end] of the longest or null]`.
pub(super) fn rows(graph: &Graph<'_>) -> Value {
    let all: u64 = graph.trace.pes.iter().map(|pe| pe.ended.saturating_sub(pe.recorded_from())).sum();
    let most = |sums: &HashMap<usize, u64>| {
        let most = sums.iter().max_by_key(|(pe, time)| (**time, Reverse(**pe)));
        most.map_or(json!([null, null]), |(pe, time)| json!([pe, time]))
    };
    let row = |(state, sum): (WaitState, Sum)| {
        let [name, meaning] = state.text();
        let (of, by) = (most(&sum.of_pe), most(&sum.by_pe));
        let share = rounded(sum.lost as f64 / all.max(1) as f64);
        let longest = sum.longest.map(|(pe, range)| json!([pe, range.start, range.end]));
        let times = (sum.times > 0).then_some(sum.times);
        json!([name, meaning, sum.lost, share, times, of[0], of[1], by[0], by[1], longest])
    };
    let mut sums: Vec<_> = sums(graph).into_iter().filter(|(_, sum)| sum.lost > 0).collect();
    sums.sort_by_key(|(_, sum)| Reverse(sum.lost));
    sums.into_iter().map(row).collect()
}

/// The names of the states, and the time that was lost in each.
pub(super) fn lost(graph: &Graph<'_>) -> impl Iterator<Item = (&'static str, u64)> + use<> {
    sums(graph).into_iter().map(|(state, sum)| (state.text()[0], sum.lost))
}

fn sums(graph: &Graph<'_>) -> Vec<(WaitState, Sum)> {
    let mut sums: Vec<_> = WaitState::ALL.into_iter().map(|state| (state, Sum::default())).collect();
    let mut add = |state: WaitState, pe, range: Range<u64>, by| {
        if !range.is_empty() {
            sums[state as usize].1.add(pe, range, by);
        }
    };
    let pes = &graph.trace.pes;
    for (place, nodes) in graph.nodes.iter().enumerate() {
        for node in nodes.iter().filter(|node| node.idle_from < node.until) {
            let pe = pes[place].pe;
            match graph.waited_for(place, node) {
                Some((other, done)) => {
                    let by = pes[other].pe;
                    add(state(graph, place, node), pe, node.idle_from..done, Some(by));
                    add(WaitState::OnTheWay, pe, done..node.until, None);
                }
                None => add(WaitState::OnTheWay, pe, node.idle_from..node.until, None),
            }
        }
    }
    for (pe, unexplained) in pes.iter().zip(&graph.unexplained) {
        let Unexplained { answers, completions, unknown } = *unexplained;
        for (state, time) in [
            (WaitState::Answer, answers),
            (WaitState::Completion, completions),
            (WaitState::Unknown, unknown),
        ] {
            let sum = &mut sums[state as usize].1;
            sum.lost += time;
            if time > 0 {
                sum.of_pe.insert(pe.pe, time);
            }
        }
    }
    sums
}

/// Why the PE at `place` had to wait in a node, until another one had done something.
fn state(graph: &Graph<'_>, place: usize, node: &Node) -> WaitState {
    let event = graph.event(place, node);
    match (event.kind, node.cause) {
        (_, Cause::Collective(_)) => WaitState::Collective,
        (_, Cause::Event(..)) if event.call == Call::SetLock => WaitState::Lock,
        (_, Cause::Event(other, which)) => {
            let (pe, other) = (&graph.trace.pes[place], &graph.trace.pes[other]);
            let is_sender = !brings_data(other, which, pe.pe) && sends_next(pe, node.event, other.pe);
            if is_sender { WaitState::LateReceiver } else { WaitState::LateSender }
        }
    }
}

/// Whether the event of `sender` that ended a wait of the PE `to` came with data: in the same call,
/// or in one before it, after what it signalled to that PE last.
fn brings_data(sender: &PeTrace, which: usize, to: usize) -> bool {
    let signal = &sender.events[which];
    let before = sender.events[..which].iter().rev().take(NEAR);
    let mut to_pe = before.filter(|event| event.kind == Kind::Operation && event.target == Some(to));
    moves_data(signal) || to_pe.next().is_some_and(moves_data)
}

/// Whether the first that the PE does to `to`, after an event of it, is to send data.
fn sends_next(pe: &PeTrace, event: usize, to: usize) -> bool {
    let after = pe.events[event + 1..].iter().take(NEAR);
    let mut to_pe = after.filter(|event| event.kind == Kind::Operation && event.target == Some(to));
    to_pe.next().is_some_and(moves_data)
}

/// Whether it sends data, rather than change a word that may be waited for.
fn moves_data(event: &Event) -> bool {
    use Call::{Ibput, Iput, Put, PutNbi, PutOnStream, PutSignal, PutSignalNbi, PutSignalOnStream};
    match event.call {
        PutSignal | PutSignalNbi | PutSignalOnStream => event.bytes > 0,
        Put | PutNbi | Iput | Ibput | PutOnStream => event.bytes > size_of::<u64>() as u64,
        _ => false,
    }
}
