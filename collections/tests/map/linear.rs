//! Whether a history of operations on one key can have happened one after the other.
//!
//! The search of Wing and Gong: any operation that was called before all others that are left had
//! ended may have been the next, if it answers as the model does. What led nowhere is not tried
//! again, after Lowe.

use std::collections::HashSet;

/// What was called. Values are numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Call {
    Get,
    Insert(u64),
    GetOrInsert(u64),
    CompareUpdate(Option<u64>, Option<u64>),
    /// Adds to the value, where none counts as 0.
    Update(u64),
    Remove,
}

/// A call, between two moments. All moments are different.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) call: Call,
    pub(crate) began: u64,
    /// When it ended with which answer. Without, it may have happened at any time, or not.
    pub(crate) ended: Option<(u64, Option<u64>)>,
}

impl Call {
    /// The answer, and the value afterwards.
    fn apply(self, value: Option<u64>) -> (Option<u64>, Option<u64>) {
        match self {
            Self::Get => (value, value),
            Self::Insert(new) => (value, Some(new)),
            Self::GetOrInsert(new) => (value.or(Some(new)), value.or(Some(new))),
            Self::CompareUpdate(expected, new) if expected == value => (value, new),
            Self::CompareUpdate(..) => (value, value),
            Self::Update(by) => (value, Some(value.unwrap_or(0) + by)),
            Self::Remove => (value, None),
        }
    }
}

/// Whether these events, of at most 128, can have happened one after the other, from no value on.
pub(crate) fn is_linearizable(events: &[Event]) -> bool {
    assert!(events.len() <= 128);
    let must = events.iter().enumerate().filter(|(_, event)| event.ended.is_some());
    let must = must.fold(0_u128, |bits, (i, _)| bits | 1 << i);
    let (mut tried, mut to_try) = (HashSet::new(), vec![(0_u128, None)]);
    while let Some((done, value)) = to_try.pop() {
        if done & must == must {
            return true;
        }
        let left = || events.iter().enumerate().filter(move |(i, _)| done & (1 << i) == 0);
        let first_end = left().filter_map(|(_, event)| event.ended).map(|(at, _)| at).min();
        let enabled = left().filter(|(_, event)| first_end.is_none_or(|end| event.began < end));
        let (mut sure, mut nexts) = (None, Vec::new());
        for (i, event) in enabled {
            let (answer, after) = event.call.apply(value);
            if event.ended.is_some_and(|(_, answered)| answered != answer) {
                continue;
            }
            let next = (done | 1 << i, after);
            // With this answer, it changes nothing at any time: it may as well be next.
            let is_sure =
                after == value && event.ended.is_some() && !matches!(event.call, Call::GetOrInsert(_));
            if is_sure { sure = Some(next) } else { nexts.push(next) }
        }
        let nexts = sure.map_or(nexts, |next| vec![next]);
        to_try.extend(nexts.into_iter().filter(|&next| tried.insert(next)));
    }
    false
}

#[test]
fn a_history_is_linearizable_or_not() {
    let event = |call, began, ended| Event { call, began, ended };
    let insert = event(Call::Insert(5), 0, Some((3, None)));
    let early = event(Call::Get, 1, Some((2, Some(5))));
    let late = |answer| event(Call::Get, 4, Some((5, answer)));
    assert!(is_linearizable(&[insert.clone(), early.clone(), late(Some(5))]));
    // The first reader has seen the value, the second has not.
    assert!(!is_linearizable(&[insert.clone(), early, late(None)]));
    assert!(!is_linearizable(&[insert.clone(), late(None)]));
    // One that was dropped may happen at any time, once.
    let dropped = event(Call::Update(1), 1, None);
    let read = |at, answer| event(Call::Get, at, Some((at + 1, Some(answer))));
    assert!(is_linearizable(&[insert.clone(), dropped.clone(), read(4, 5), read(6, 6)]));
    assert!(is_linearizable(&[insert.clone(), dropped.clone(), read(4, 5), read(6, 5)]));
    assert!(!is_linearizable(&[insert.clone(), dropped, read(4, 6), read(6, 5)]));
    // The first to get is the one to insert.
    let get_or_insert = |began, ended| event(Call::GetOrInsert(5), began, Some((ended, Some(5))));
    let removed = event(Call::Remove, 8, Some((9, Some(5))));
    assert!(is_linearizable(&[insert.clone(), removed.clone(), get_or_insert(1, 10), read(11, 5)]));
    assert!(!is_linearizable(&[insert, removed, get_or_insert(1, 7), read(11, 5)]));
    // Two of the same update must not have the same answer.
    let update = |began| event(Call::Update(1), began, Some((began + 10, None)));
    assert!(!is_linearizable(&[update(0), update(1)]));
}
