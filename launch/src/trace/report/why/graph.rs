//! A job as a graph: what each PE waited for, and how long it worked between.
//!
//! A node is a call in which a PE depends on another one: a wait of which it is known what ended
//! it, or a collective. Between two nodes a PE does its own work, which takes as long whatever the
//! others do.

use std::collections::HashMap;

use oxshmem_progress::activity::Call;

use crate::trace::{
    model::{Event, Kind, Trace},
    report::{
        collectives::{TeamKey, key},
        pieces::{State, pieces},
    },
};

/// All nodes of a job, by the places of PEs in the trace.
pub(super) struct Graph<'a> {
    pub(super) trace: &'a Trace,
    /// The nodes of each PE, in the order in which they completed.
    pub(super) nodes: Vec<Vec<Node>>,
    /// What each PE did after its last node.
    pub(super) tails: Vec<Between>,
    /// When the PEs came to each collective, and their places, in order.
    pub(super) arrivals: Vec<Vec<(u64, usize)>>,
    /// How long each PE waited where no node explains it.
    pub(super) unexplained: Vec<Unexplained>,
}

/// A call in which a PE depends on another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Node {
    /// The place of the event.
    pub(super) event: usize,
    /// Since when the PE had nothing else to do: `until`, if it did not have to wait.
    pub(super) idle_from: u64,
    /// When the call was complete.
    pub(super) until: u64,
    /// What the PE did since the node before.
    pub(super) work: Between,
    pub(super) cause: Cause,
}

/// What a PE did between two nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Between {
    pub(super) computing: u64,
    /// Communicating, and waiting for what no node explains.
    pub(super) other: u64,
}

/// What a node depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Cause {
    /// An event: the place of its PE, and its own.
    Event(usize, usize),
    /// The arrival of others, by the place in [`Graph::arrivals`].
    Collective(usize),
}

/// Waits that are not for another PE's doing, or of which it is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Unexplained {
    /// For the answer to a get or an atomic operation, or for a lock that no other PE had.
    pub(super) answers: u64,
    /// For operations of the PE itself to be complete, also before it let go of a lock.
    pub(super) completions: u64,
    pub(super) unknown: u64,
}

impl<'a> Graph<'a> {
    pub(super) fn of(trace: &'a Trace) -> Self {
        let (arrivals, together) = arrivals(trace);
        let ended: HashMap<_, _> = trace.flows.iter().map(|flow| (flow.to, flow.from)).collect();
        let mut graph =
            Self { trace, nodes: Vec::new(), tails: Vec::new(), arrivals, unexplained: Vec::new() };
        for (place, pe) in trace.pes.iter().enumerate() {
            let cause = |(i, event): (usize, &Event)| {
                let cause = match event.kind {
                    Kind::Collective => Cause::Collective(*together.get(&key(pe, event))?),
                    Kind::Wait | Kind::Operation => {
                        let (from, which) = *ended.get(&(place, i))?;
                        (from != place).then_some(Cause::Event(from, which))?
                    }
                };
                let until = event.completed;
                event.is_complete.then_some(Node {
                    event: i,
                    idle_from: until,
                    until,
                    work: Between::default(),
                    cause,
                })
            };
            let mut nodes: Vec<Node> = pe.events.iter().enumerate().filter_map(cause).collect();
            nodes.sort_by_key(|node| node.until);
            let (tail, unexplained) = graph.measure(place, &mut nodes);
            graph.nodes.push(nodes);
            graph.tails.push(tail);
            graph.unexplained.push(unexplained);
        }
        graph
    }

    /// Fills in what the PE did between its nodes, and returns what it did after the last one.
    fn measure(&self, place: usize, nodes: &mut [Node]) -> (Between, Unexplained) {
        let pe = &self.trace.pes[place];
        let (mut next, mut work, mut idle) = (0, Between::default(), None::<u64>);
        let mut unexplained = Unexplained::default();
        pieces(pe, |range, state| {
            let mut at = range.start;
            while at < range.end {
                while let Some(node) = nodes.get_mut(next).filter(|node| node.until <= at) {
                    node.work = std::mem::take(&mut work);
                    node.idle_from = idle.take().unwrap_or(node.until);
                    next += 1;
                }
                let node = nodes.get(next);
                let to = node.map_or(range.end, |node| node.until.min(range.end));
                let time = to - at;
                let is_node = node.is_some_and(|node| pe.events[node.event].begin <= at);
                match state {
                    State::Waiting(_) | State::Several(_) if is_node => {
                        idle.get_or_insert(at);
                        at = to;
                        continue;
                    }
                    State::Computing => work.computing += time,
                    State::Communicating(_) => work.other += time,
                    State::Waiting(event) | State::Several(event) => {
                        let event = &pe.events[event];
                        let sum = match (event.kind, event.call) {
                            (Kind::Operation, _) | (_, Call::SetLock) => &mut unexplained.answers,
                            (_, Call::Quiet | Call::PeQuiet | Call::Fence | Call::ClearLock) => {
                                &mut unexplained.completions
                            }
                            (Kind::Wait | Kind::Collective, _) => &mut unexplained.unknown,
                        };
                        *sum += time;
                        work.other += time;
                    }
                }
                idle = None;
                at = to;
            }
        });
        for node in &mut nodes[next..] {
            node.work = std::mem::take(&mut work);
            node.idle_from = idle.take().unwrap_or(node.until).min(node.until);
        }
        (work, unexplained)
    }

    pub(super) fn event(&self, place: usize, node: &Node) -> &'a Event {
        &self.trace.pes[place].events[node.event]
    }

    /// What the PE at `place` waited for in a node: the place of another PE, and when that did it.
    /// `None` if it had been done before the PE began to wait.
    pub(super) fn waited_for(&self, place: usize, node: &Node) -> Option<(usize, u64)> {
        let (other, time) = match node.cause {
            Cause::Event(other, event) => (other, done(&self.trace.pes[other].events[event])),
            Cause::Collective(which) => {
                let all = &self.arrivals[which];
                let in_time = all.partition_point(|(time, _)| *time <= node.until);
                let (time, other) = *all[..in_time].iter().rfind(|(_, other)| *other != place)?;
                (other, time)
            }
        };
        // So that time passes on each way through the graph.
        let time = time.min(node.until.saturating_sub(1));
        (time > node.idle_from).then_some((other, time))
    }
}

/// When a PE had done what ended another one's wait.
pub(super) fn done(event: &Event) -> u64 {
    match event.kind {
        Kind::Operation => event.initiated,
        Kind::Wait | Kind::Collective => event.begin,
    }
}

/// The collectives that are complete in the record.
type Together<'a> = HashMap<(TeamKey<'a>, u64), usize>;

fn arrivals(trace: &Trace) -> (Vec<Vec<(u64, usize)>>, Together<'_>) {
    let mut all: Vec<Vec<(u64, usize)>> = Vec::new();
    let mut places: Together<'_> = HashMap::new();
    for (place, pe) in trace.pes.iter().enumerate() {
        let events = pe.events.iter().filter(|event| event.kind == Kind::Collective && event.number > 0);
        for event in events {
            let which = *places.entry(key(pe, event)).or_insert_with(|| {
                all.push(Vec::new());
                all.len() - 1
            });
            all[which].push((event.begin, place));
        }
    }
    let mut sizes: HashMap<TeamKey<'_>, usize> = HashMap::new();
    for ((team, _), &which) in &places {
        let size = sizes.entry(*team).or_default();
        *size = all[which].len().max(*size);
    }
    places.retain(|(team, _), which| all[*which].len() > 1 && all[*which].len() == sizes[team]);
    all.iter_mut().for_each(|arrivals| arrivals.sort_unstable());
    (all, places)
}
