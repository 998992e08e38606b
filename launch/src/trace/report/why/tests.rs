use oxshmem_progress::activity::Call;

use super::*;
use crate::trace::{
    model::{Event, Flow, PeTrace},
    report::synthetic::event,
};

fn trace(pes: Vec<Vec<Event>>, flows: Vec<Flow>) -> Trace {
    let pe = |(pe, events): (usize, Vec<Event>)| PeTrace {
        pe,
        ended: events.iter().map(|event| event.completed).max().unwrap_or(0),
        finalized: true,
        events,
        ..PeTrace::default()
    };
    Trace { pes: pes.into_iter().enumerate().map(pe).collect(), flows, ..Trace::default() }
}

fn operation(call: Call, target: usize, bytes: u64, begin: u64, end: u64) -> Event {
    Event { target: Some(target), bytes, ..event(call, begin, end, end, 0) }
}

fn wait(call: Call, begin: u64, end: u64) -> Event {
    event(call, begin, begin, end, end - begin)
}

fn barrier(number: u64, begin: u64, end: u64) -> Event {
    Event { number, ..wait(Call::Barrier, begin, end) }
}

fn flow(from: (usize, usize), to: (usize, usize)) -> Flow {
    Flow { from, to }
}

/// The states of a job, and what was lost in each.
fn states(trace: &Trace) -> Vec<(String, u64)> {
    let why = of(trace);
    let rows = why["states"].as_array().expect("it is a list");
    let row = |row: &Value| (row[0].as_str().map(str::to_owned), row[2].as_u64());
    rows.iter().map(row).map(|(name, lost)| (name.expect("a name"), lost.expect("a time"))).collect()
}

fn named(states: &[(&str, u64)]) -> Vec<(String, u64)> {
    states.iter().map(|(name, lost)| ((*name).to_owned(), *lost)).collect()
}

#[test]
fn a_wait_for_data_that_are_not_sent_yet_is_a_late_sender() {
    let with_signal = operation(Call::PutSignal, 1, 4096, 900, 950);
    let late =
        trace(vec![vec![with_signal], vec![wait(Call::WaitUntil, 100, 1000)]], vec![flow((0, 0), (1, 0))]);
    assert_eq!(states(&late), named(&[("late sender", 850), ("on the way", 50)]));
    // Data in one call, and the signal in another.
    let (put, signal) = (operation(Call::Put, 1, 4096, 800, 900), operation(Call::SignalSet, 1, 8, 910, 920));
    let answer = operation(Call::Put, 0, 4096, 1010, 1020);
    let late = trace(
        vec![vec![put, signal], vec![wait(Call::WaitUntil, 100, 1000), answer]],
        vec![flow((0, 1), (1, 0))],
    );
    assert_eq!(states(&late), named(&[("late sender", 820), ("on the way", 80)]));
}

#[test]
fn a_wait_of_a_pe_that_sends_data_when_it_may_is_for_a_late_receiver() {
    let ready = operation(Call::SignalSet, 0, 8, 900, 910);
    let (waits, put) = (wait(Call::WaitUntil, 100, 920), operation(Call::Put, 1, 4096, 930, 940));
    let late = trace(vec![vec![waits, put], vec![ready]], vec![flow((1, 0), (0, 0))]);
    assert_eq!(states(&late), named(&[("late receiver", 810), ("on the way", 10)]));
    // A signal alone is sent by a sender.
    let late = trace(vec![vec![waits], vec![ready]], vec![flow((1, 0), (0, 0))]);
    assert_eq!(states(&late)[0].0, "late sender");
}

#[test]
fn collectives_and_locks_have_states_of_their_own() {
    let late = trace(vec![vec![barrier(1, 100, 1010)], vec![barrier(1, 1000, 1010)]], Vec::new());
    assert_eq!(states(&late), named(&[("wait at collective", 900), ("on the way", 20)]));
    let clear = wait(Call::ClearLock, 900, 905);
    let taken = trace(vec![vec![clear], vec![wait(Call::SetLock, 100, 920)]], vec![flow((0, 0), (1, 0))]);
    let expected = [("lock contention", 800), ("on the way", 20), ("completion", 5)];
    assert_eq!(states(&taken), named(&expected));
}

#[test]
fn waits_for_a_pe_s_own_operations_are_no_other_pe_s_fault() {
    let get = Event { target: Some(1), ..event(Call::Get, 10, 20, 100, 80) };
    let quiet = wait(Call::Quiet, 100, 150);
    let alone = trace(vec![vec![get, quiet], vec![]], Vec::new());
    assert_eq!(states(&alone), named(&[("answer", 80), ("completion", 50)]));
}

/// PE 1 computes until 1,000 and signals; PE 0 waits for it from 100 on, and computes until 1,500.
fn chain() -> Trace {
    let first = vec![wait(Call::WaitUntil, 100, 1010), operation(Call::Put, 1, 64, 1490, 1500)];
    let second = vec![operation(Call::PutSignal, 0, 64, 990, 1000)];
    trace(vec![first, second], vec![flow((1, 0), (0, 0))])
}

#[test]
fn the_critical_path_goes_where_the_work_was() {
    let why = of(&chain());
    assert_eq!(
        why["path"],
        json!([
            [1, "computing", 990, 0.66, 1, [1, 0, 990]],
            [0, "computing", 480, 0.32, 1, [0, 1010, 1490]],
            [0, "put", 10, 0.0067, 1, [0, 1490, 1500]],
            [0, "wait_until: on the way", 10, 0.0067, 1, [0, 1000, 1010]],
            [1, "put_signal", 10, 0.0067, 1, [1, 990, 1000]],
        ])
    );
    assert_eq!(why["length"], 1500);
    assert_eq!(why["by_pe"], json!([[1, 1000], [0, 500]]));
    assert_eq!(
        why["parts"],
        json!([
            [0, 990, 1, "computing", null],
            [990, 1000, 1, "put_signal", 0],
            [1000, 1010, 0, "wait_until: on the way", 3],
            [1010, 1490, 0, "computing", null],
            [1490, 1500, 0, "put", 0],
        ])
    );
}

#[test]
fn a_path_through_collectives_follows_the_pe_that_came_last() {
    let first = vec![barrier(1, 100, 610), barrier(2, 1100, 1110)];
    let second = vec![barrier(1, 600, 610), barrier(2, 700, 1110)];
    let why = of(&trace(vec![first, second], Vec::new()));
    assert_eq!(why["by_pe"], json!([[1, 600], [0, 510]]));
    assert_eq!(why["length"], 1110);
}

#[test]
fn a_job_is_as_much_shorter_as_the_others_let_it() {
    // PE 1 computes for 900 in each of two steps, the others for 300: the mean is 500.
    let fast = || vec![barrier(1, 300, 910), barrier(2, 1210, 1820)];
    let slow = vec![barrier(1, 900, 910), barrier(2, 1810, 1820)];
    let why = of(&trace(vec![fast(), slow, fast()], Vec::new()));
    assert_eq!(why["what_if"], json!([[1, 1800, 1000, 1020, 800]]));
    // If another PE is as slow, nothing is won.
    let slow = || vec![barrier(1, 900, 910), barrier(2, 1810, 1820)];
    let why = of(&trace(vec![fast(), slow(), slow()], Vec::new()));
    assert_eq!(why["what_if"], json!([]));
}

#[test]
fn what_a_pe_waits_for_in_vain_or_is_lost_does_no_harm() {
    let open = Event { is_complete: false, ..wait(Call::WaitUntil, 100, 500) };
    let mut lost = trace(vec![vec![open], vec![barrier(7, 400, 500)]], Vec::new());
    lost.pes[1].lost = 3;
    let why = of(&lost);
    assert_eq!(states(&lost), named(&[("not known", 500)]));
    assert_eq!(why["length"], 500);
    assert_eq!(of(&Trace::default())["path"], json!([]));
}
