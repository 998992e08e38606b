//! The phases of PEs in the head of a timeline, which other rows and the pointer show.

use std::cmp::Reverse;

use crate::trace::model::Trace;

/// The changes of phases of all PEs that a page has, at most.
pub(super) const MOST: usize = 10_000;

/// When each phase of a PE began, and which it is. `None` if it is not known, or if there is none.
pub(super) type Changes = Vec<(u64, Option<usize>)>;

/// The changes of each PE, about `most` in all, and how many phases are left out. Those stay that
/// took longest: the page says nothing of the others' times.
pub(super) fn within(trace: &Trace, most: usize) -> (Vec<Changes>, usize) {
    let all = trace.pes.iter().map(|pe| pe.phases.len()).sum::<usize>();
    if all <= most {
        return (trace.pes.iter().map(|pe| pe.phases.clone()).collect(), 0);
    }
    let stays = trace.pes.iter().enumerate();
    let mut stays: Vec<_> = stays
        .flat_map(|(place, pe)| pe.stays().map(move |(phase, begin, end)| (place, begin, end, phase)))
        .collect();
    // Each may need one change where it ends.
    let kept = (most / 2).min(stays.len());
    let left_out = stays.len() - kept;
    if left_out > 0 {
        stays
            .select_nth_unstable_by_key(kept, |&(place, begin, end, _)| (Reverse(end - begin), place, begin));
        stays.truncate(kept);
    }
    stays.sort_unstable();
    let mut changes: Vec<Changes> = vec![Vec::new(); trace.pes.len()];
    let mut until: Vec<Option<u64>> = vec![None; trace.pes.len()];
    for (place, begin, end, phase) in stays {
        if let Some(gap) = until[place].filter(|&until| until < begin) {
            changes[place].push((gap, None));
        }
        changes[place].push((begin, Some(phase)));
        until[place] = Some(end);
    }
    for ((changes, until), pe) in changes.iter_mut().zip(until).zip(&trace.pes) {
        changes.extend(until.filter(|&until| until < pe.ended).map(|until| (until, None)));
    }
    (changes, left_out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{model::PeTrace, report::synthetic};

    #[test]
    fn the_longest_stay_and_nothing_is_in_the_place_of_the_others() {
        let phases =
            vec![(10, Some(0)), (100, Some(1)), (101, Some(0)), (150, None), (160, Some(1)), (190, Some(0))];
        let pes = vec![
            PeTrace { ended: 200, phases: phases.clone(), ..PeTrace::default() },
            PeTrace { pe: 1, ended: 200, ..PeTrace::default() },
        ];
        let trace = Trace { pes, ..Trace::default() };
        assert_eq!(within(&trace, 6), (vec![phases, vec![]], 0));
        let left = vec![(10, Some(0)), (100, None), (101, Some(0)), (150, None)];
        assert_eq!(within(&trace, 5), (vec![left, vec![]], 3));
    }

    #[test]
    fn there_are_never_more_than_may_be() {
        let trace = synthetic::job(30, 50);
        for most in [0, 1, 2, 99, 1000, 2999] {
            let (changes, left_out) = within(&trace, most);
            let kept: usize = changes.iter().flatten().filter(|(_, phase)| phase.is_some()).count();
            assert!(changes.iter().map(Vec::len).sum::<usize>() <= most, "{most}");
            assert_eq!(kept + left_out, 30 * 50 * 2, "{most}");
        }
        assert_eq!(within(&trace, 3000).1, 0);
    }
}
