//! What there is to say of each phase that the program marks.

use serde_json::{Value, json};

use super::times::{self, Times};
use crate::trace::model::{Kind, PeTrace, Trace};

/// What the PEs did in one phase.
#[derive(Clone, Default)]
struct InPhase {
    times: Times,
    /// The PE that computed longest in it, and for how long.
    slowest: Option<(u64, usize)>,
    entered: u64,
    operations: u64,
    bytes: u64,
}

/// The phases, in the order of their first begin: `[name, time, computing, communicating, waiting,
/// in several waits, imbalance, slowest PE, times entered, operations, bytes, stay]`. The times are
/// means over all PEs, in nanoseconds. The stay is the longest of the slowest PE: its begin and
/// end. Behind the phases is what was outside of any, with null for its name and how often it was
/// entered. Without phases there are no rows.
pub(super) fn rows(trace: &Trace) -> Value {
    if trace.phases.is_empty() {
        return json!([]);
    }
    let n = trace.phases.len();
    let mut phases = vec![InPhase::default(); n + 1];
    for (place, pe) in trace.pes.iter().enumerate() {
        add_times(&mut phases, place, &times::by_phase(pe, n));
        add_calls(&mut phases, pe);
    }
    let names = trace.phases.iter().map(Some).chain([None]);
    let rows = names.zip(phases).enumerate();
    let rows = rows.filter(|(_, (name, phase))| name.is_some() || phase.times.all() > 0);
    rows.map(|(which, (name, phase))| row(trace, which, name, &phase)).collect()
}

fn add_times(phases: &mut [InPhase], place: usize, times: &[Times]) {
    for (phase, times) in phases.iter_mut().zip(times) {
        phase.times.join(times);
        if times.computing > phase.slowest.map_or(0, |(longest, _)| longest) {
            phase.slowest = Some((times.computing, place));
        }
    }
}

/// Calls are of the phase in which they began.
fn add_calls(phases: &mut [InPhase], pe: &PeTrace) {
    let outside = phases.len() - 1;
    pe.phases.iter().filter_map(|&(_, phase)| phase).for_each(|phase| phases[phase].entered += 1);
    let mut changes = pe.phases.iter().peekable();
    let mut now = outside;
    for event in &pe.events {
        while let Some((_, phase)) = changes.next_if(|(begin, _)| *begin <= event.begin) {
            now = phase.unwrap_or(outside);
        }
        if event.kind == Kind::Operation {
            // A batch of a session has several.
            phases[now].operations += event.number.max(1);
            phases[now].bytes += event.bytes;
        }
    }
}

fn row(trace: &Trace, which: usize, name: Option<&String>, phase: &InPhase) -> Value {
    let pes = trace.pes.len().max(1) as u64;
    let times = &phase.times;
    let [all, computing, communicating, waiting, several] =
        [times.all(), times.computing, times.communicating, times.waiting, times.side_by_side]
            .map(|time| time / pes);
    let imbalance = phase.slowest.map(|(longest, _)| {
        let mean = times.computing as f64 / pes as f64;
        (longest as f64 - mean) / longest as f64
    });
    let slowest = phase.slowest.map(|(_, place)| &trace.pes[place]);
    let stay = slowest.and_then(|pe| {
        let stays = pe.stays().filter(|(phase, ..)| *phase == which);
        stays.map(|(_, begin, end)| (begin, end)).max_by_key(|(begin, end)| end - begin)
    });
    json!([
        name,
        all,
        computing,
        communicating,
        waiting,
        several,
        imbalance,
        slowest.map(|pe| pe.pe),
        name.map(|_| phase.entered),
        phase.operations,
        phase.bytes,
        stay,
    ])
}

#[cfg(test)]
mod tests {
    use oxshmem_progress::activity::Call;

    use super::*;
    use crate::trace::{model::Event, report::synthetic::event};

    #[test]
    fn a_phase_has_means_over_pes_its_slowest_pe_and_its_operations() {
        let put = |begin| Event { bytes: 8, ..event(Call::Put, begin, begin + 10, begin + 10, 0) };
        let batch = Event { number: 5, bytes: 40, ..event(Call::SessionBatch, 130, 140, 140, 0) };
        let sync = |begin| event(Call::Sync, begin, begin, 200, 200 - begin);
        let pe = |pe, events, phases| PeTrace { pe, ended: 220, events, phases, ..PeTrace::default() };
        let pes = vec![
            pe(4, vec![put(110), batch, sync(150)], vec![(20, Some(0)), (100, Some(1)), (200, None)]),
            pe(
                7,
                vec![put(185), sync(195)],
                vec![(20, Some(0)), (180, Some(1)), (190, Some(1)), (200, None)],
            ),
        ];
        let phases = vec!["compute".to_owned(), "exchange".to_owned()];
        let trace = Trace { pes, phases, ..Trace::default() };
        // PE 4 exchanges for 100, of which it computes 30; PE 7 for 20, 5 of them.
        let expected = json!([
            ["compute", 120, 120, 0, 0, 0, 0.25, 7, 2, 0, 0, [20, 180]],
            ["exchange", 60, 17, 15, 27, 0, (30.0 - 17.5) / 30.0, 4, 3, 7, 56, [100, 200]],
            [null, 40, 40, 0, 0, 0, 0.0, 4, null, 0, 0, null],
        ]);
        assert_eq!(rows(&trace), expected);
    }

    #[test]
    fn without_phases_there_are_no_rows() {
        let trace = Trace { pes: vec![PeTrace { ended: 10, ..PeTrace::default() }], ..Trace::default() };
        assert_eq!(rows(&trace), json!([]));
    }
}
