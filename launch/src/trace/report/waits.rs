//! The waits that took longest, and for which PE they were.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
};

use oxshmem_progress::activity::Activity;
use serde_json::{Value, json};

use super::{SLOWEST, collectives::Collectives};
use crate::trace::model::{Event, Kind, Trace};

/// The slowest ones: `[PE, call, begin, waited, the PE that was waited for, what it did, phase]`.
/// The PE is the last that came to a collective, the one whose put or signal ended a wait, or the
/// target of an operation; null if it is not known. The phase is the one in which it was called;
/// null outside of any.
pub(super) fn slowest(trace: &Trace, collectives: &Collectives<'_>) -> Value {
    let mut heap = BinaryHeap::new();
    for (i, pe) in trace.pes.iter().enumerate() {
        for (j, event) in pe.events.iter().enumerate().filter(|(_, event)| event.waited > 0) {
            heap.push((Reverse(event.waited), i, j));
            if heap.len() > SLOWEST {
                heap.pop();
            }
        }
    }
    let ended: HashMap<_, _> = trace.flows.iter().map(|flow| (flow.to, flow.from)).collect();
    let row = |(Reverse(waited), i, j): (Reverse<u64>, usize, usize)| {
        let (pe, event) = (&trace.pes[i], &trace.pes[i].events[j]);
        let (last, why) = match event.kind {
            Kind::Collective => match collectives.with(pe, event) {
                Some(all) if all.last_pe() == pe.pe => (Some(pe.pe), "it came last itself".to_owned()),
                Some(all) => (Some(all.last_pe()), "came last".to_owned()),
                None => (None, String::new()),
            },
            Kind::Wait => match ended.get(&(i, j)) {
                Some(&(from, which)) => {
                    let from = &trace.pes[from];
                    (Some(from.pe), from.events[which].call.name().to_owned())
                }
                None => (None, String::new()),
            },
            Kind::Operation => (event.target, "target".to_owned()),
        };
        let why = if event.is_complete { why } else { "the wait did not end".to_owned() };
        let phase = pe.phase_at(event.begin).map(|phase| &trace.phases[phase]);
        json!([pe.pe, name(event), event.begin, waited, last, why, phase])
    };
    heap.into_sorted_vec().into_iter().map(row).collect()
}

/// For each PE of the trace, how long others waited for it: because it came last to a collective,
/// or because it ended their wait. Nanoseconds, added up over those that waited.
pub(super) fn caused(trace: &Trace, collectives: &Collectives<'_>) -> Vec<u64> {
    let mut by_pe: HashMap<usize, u64> = HashMap::new();
    for collective in collectives.iter() {
        *by_pe.entry(collective.last_pe()).or_default() += collective.lost();
    }
    let mut caused: Vec<u64> =
        trace.pes.iter().map(|pe| by_pe.get(&pe.pe).copied().unwrap_or_default()).collect();
    for flow in trace.flows.iter().filter(|flow| flow.from.0 != flow.to.0) {
        caused[flow.from.0] += trace.pes[flow.to.0].events[flow.to.1].waited;
    }
    caused
}

/// The call, and of a collective which one.
fn name(event: &Event) -> String {
    match event.kind {
        Kind::Collective => {
            let activity = Activity::collective(event.call, event.team, event.number);
            format!("{} {}", activity.name(), activity.place())
        }
        Kind::Wait | Kind::Operation => event.call.name().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use oxshmem_progress::activity::Call;

    use super::*;
    use crate::trace::{
        model::{Flow, PeTrace},
        report::synthetic::event,
    };

    #[test]
    fn waits_are_sorted_and_say_for_which_pe_they_were() {
        let sync = |begin, waited| Event { number: 1, ..event(Call::Sync, begin, begin, 100, waited) };
        let get = Event { target: Some(0), ..event(Call::Get, 300, 301, 305, 4) };
        let first = vec![sync(10, 90), event(Call::WaitUntil, 110, 110, 150, 40)];
        let second = vec![sync(100, 0), event(Call::PutSignal, 145, 146, 150, 0), get];
        let pes = [first, second].into_iter().enumerate();
        let trace = Trace {
            pes: pes
                .map(|(pe, events)| PeTrace {
                    pe,
                    events,
                    phases: vec![(10, Some(0)), (150, None)],
                    ..PeTrace::default()
                })
                .collect(),
            phases: vec!["exchange".to_owned()],
            flows: vec![Flow { from: (1, 1), to: (0, 1) }],
            ..Trace::default()
        };
        let collectives = Collectives::of(&trace);
        assert_eq!(
            slowest(&trace, &collectives),
            json!([
                [0, "sync #1 on the world team", 10, 90, 1, "came last", "exchange"],
                [0, "wait_until", 110, 40, 1, "put_signal", "exchange"],
                [1, "get", 300, 4, 0, "target", null],
            ])
        );
        assert_eq!(caused(&trace, &collectives), [0, 130]);
    }
}
