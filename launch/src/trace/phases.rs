//! The phases that a program marks: from numbers in the recordings of PEs to names of the job.

use std::collections::HashMap;

use oxshmem_progress::{
    activity::Call,
    record::form::{NAMES, OTHERS, Record},
};

use super::{model::PeTrace, read::Recording};

/// The phases of one PE, as its recording numbers them.
pub(super) struct Marks {
    names: Vec<String>,
    /// When each began, and its number.
    begun: Vec<(u64, u64)>,
}

impl Marks {
    /// `time` makes nanoseconds of ticks.
    pub(super) fn of(recording: &Recording, time: impl Fn(u64) -> u64) -> Self {
        let Recording { phases: names, records, .. } = recording;
        let mut marks = records.iter().filter(|record| record.call == Call::Phase).peekable();
        let mut begun = Vec::new();
        // What is kept of the recording begins in the phase that was there before its first mark.
        if let (Some(first), Some(&&Record { team: before @ 1.., .. })) = (records.first(), marks.peek()) {
            begun.push((time(first.begin), before));
        }
        begun.extend(marks.filter(|mark| mark.bytes == 0).map(|mark| (time(mark.begin), mark.number)));
        // Threads may have come to the recording in another order than they read the clock.
        let mut latest = 0;
        for (begin, _) in &mut begun {
            latest = latest.max(*begin);
            *begin = latest;
        }
        Self { names: names.clone(), begun }
    }

    /// The name of a number. `None` if there is no phase.
    fn name(&self, number: u64) -> Option<&str> {
        let place = usize::try_from(number.checked_sub(1)?).ok()?;
        match place {
            NAMES => Some(OTHERS),
            place => self.names.get(place).map(String::as_str),
        }
    }
}

/// Gives each of the PEs its phases, and returns the names of all, in the order of their first
/// begin.
pub(super) fn named(pes: &mut [PeTrace], marks: &[Marks]) -> Vec<String> {
    let mut first: HashMap<&str, (u64, usize)> = HashMap::new();
    for marks in marks {
        for &(begin, number) in &marks.begun {
            let Some(name) = marks.name(number) else { continue };
            let next = first.len();
            let (earliest, _) = first.entry(name).or_insert((begin, next));
            *earliest = begin.min(*earliest);
        }
    }
    let mut names: Vec<(&str, (u64, usize))> = first.into_iter().collect();
    names.sort_unstable_by_key(|&(_, first)| first);
    let places: HashMap<&str, usize> =
        names.iter().zip(0..).map(|((name, _), place)| (*name, place)).collect();
    for (pe, marks) in pes.iter_mut().zip(marks) {
        let place = |number| marks.name(number).map(|name| places[name]);
        pe.phases = marks.begun.iter().map(|&(begin, number)| (begin, place(number))).collect();
    }
    names.into_iter().map(|(name, _)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{merge::merged, read::tests::written};

    fn phases(files: &[Vec<u8>]) -> (Vec<String>, Vec<Vec<Option<usize>>>) {
        let trace = merged(files.iter().map(|bytes| Recording::parse(bytes).unwrap()).collect());
        for pe in &trace.pes {
            assert!(pe.phases.is_sorted_by_key(|(begin, _)| *begin), "{pe:?}");
            assert!(pe.events.iter().all(|event| event.call != Call::Phase), "{pe:?}");
        }
        let names = |pe: &PeTrace| pe.phases.iter().map(|(_, name)| *name).collect();
        (trace.phases.clone(), trace.pes.iter().map(names).collect())
    }

    #[test]
    fn phases_are_named_alike_on_all_pes() {
        let marking = |pe, names: &[&str]| {
            written(pe, "node1", |recorder| names.iter().for_each(|name| recorder.phase(name)))
        };
        let files = [
            marking(0, &["compute", "exchange", "compute", ""]),
            marking(1, &[]),
            marking(2, &["write", "exchange"]),
        ];
        let (names, pes) = phases(&files);
        assert_eq!(names, ["compute", "exchange", "write"]);
        assert_eq!(pes, [vec![Some(0), Some(1), Some(0), None], vec![], vec![Some(2), Some(1)]]);
    }

    #[test]
    fn names_that_found_no_room_are_others_also_where_a_program_has_that_name() {
        let many = written(0, "node1", |recorder| {
            recorder.phase(OTHERS);
            (0..NAMES).for_each(|i| recorder.phase(&i.to_string()));
        });
        let (names, pes) = phases(&[many]);
        assert_eq!((names.len(), names[0].as_str()), (NAMES, OTHERS));
        assert_eq!((pes[0][0], pes[0][NAMES - 1], pes[0][NAMES]), (Some(0), Some(NAMES - 1), Some(0)));
    }

    #[test]
    fn a_phase_whose_begin_was_overwritten_is_there_from_the_first_record_that_is_kept() {
        let lost = written(0, "node1", |recorder| {
            let work = |records: u32| {
                (0..records).for_each(|_| recorder.operation(Call::P, 1, 8, 0, recorder.now()));
            };
            recorder.phase("compute");
            work(10_000);
            recorder.phase("exchange");
            work(10);
        });
        let trace = merged(vec![Recording::parse(&lost).unwrap()]);
        let pe = &trace.pes[0];
        assert!(pe.lost > 0);
        assert_eq!(pe.phases.iter().map(|(_, name)| *name).collect::<Vec<_>>(), [Some(0), Some(1)]);
        assert_eq!(pe.phase_at(pe.events[0].begin), Some(0));
        assert_eq!(pe.phase_at(pe.ended), Some(1));
    }

    #[test]
    fn a_number_without_a_name_is_no_phase() {
        let marks = Marks { names: vec!["compute".to_owned()], begun: Vec::new() };
        let names = [0, 1, 2, NAMES as u64, NAMES as u64 + 1, NAMES as u64 + 2, u64::MAX];
        let expected = [None, Some("compute"), None, None, Some(OTHERS), None, None];
        assert_eq!(names.map(|number| marks.name(number)), expected);
    }
}
