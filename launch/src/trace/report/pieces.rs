//! What each PE was doing at each time: computing, communicating, or waiting.
//!
//! A PE communicates while a call of it begins: until an operation is initiated, or a wait or
//! collective begins to wait. It waits for as long as its calls waited. What is both is
//! communicating. Where several calls wait at the same time they are of several tasks, of which
//! another may compute meanwhile: that is a state by itself. The rest is computing.

use std::ops::Range;

use crate::trace::model::{Event, Kind, PeTrace};

/// What a PE was doing. A number is the place of an event; of several it is the one that began
/// last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Computing,
    Communicating(usize),
    /// In one call.
    Waiting(usize),
    /// In several calls at the same time.
    Several(usize),
}

/// Hands each stretch of time in which a PE did one thing to `each`, in order and without gaps, as
/// far back as its records go.
pub(super) fn pieces(pe: &PeTrace, mut each: impl FnMut(Range<u64>, State)) {
    let began = pe.recorded_from();
    let ended = pe.ended.max(began);
    // When a call begins and ends to be active, or to wait.
    let mut changes = Vec::with_capacity(4 * pe.events.len() + 2);
    let mut add = |range: Range<u64>, event: usize, waits: bool| {
        let from = range.start.clamp(began, ended);
        let to = range.end.clamp(from, ended);
        if from < to {
            changes.extend([(from, true, waits, event), (to, false, waits, event)]);
        }
    };
    for (i, event) in pe.events.iter().enumerate() {
        let waits_from = event.completed - waited(event);
        let goes_on = if event.kind == Kind::Operation { event.initiated } else { waits_from };
        add(event.begin..goes_on, i, false);
        add(waits_from..event.completed, i, true);
    }
    changes.sort_unstable();
    let (mut active, mut waiting) = (Vec::new(), Vec::new());
    let mut at = began;
    for (time, begins, waits, event) in changes.into_iter().chain([(ended, false, false, usize::MAX)]) {
        if at < time {
            let state = match (&active[..], &waiting[..]) {
                ([.., last], _) => State::Communicating(*last),
                ([], [.., last]) if waiting.len() > 1 => State::Several(*last),
                ([], [only]) => State::Waiting(*only),
                _ => State::Computing,
            };
            each(at..time, state);
            at = time;
        }
        let list = if waits { &mut waiting } else { &mut active };
        if begins {
            list.push(event);
        } else if let Some(place) = list.iter().rposition(|it| *it == event) {
            list.remove(place);
        }
    }
}

fn waited(event: &Event) -> u64 {
    event.waited.min(event.completed.saturating_sub(event.begin)).min(event.completed)
}
