//! Where PEs outnumber processors: on which of them each begins.
//!
//! The system starts processes wherever there is room at that moment, and may need a tenth of a
//! second to see that one processor has more PEs than another, of which each turn is longer then.
//! So each PE moves once, to where its number says, and from there on the system may move it as it
//! likes: nothing stays bound.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Moves this thread to one of the processors that it may run on, as the PEs of the host take turns
/// with them.
///
/// What it may run on is the same afterwards. Where that can't be asked or set, it stays where it
/// is.
pub(crate) fn begin_apart(block: usize) {
    let Ok(allowed) = sched_getaffinity(None) else { return };
    let Some(cpu) = turn(&allowed, block) else { return };
    let mut one = CpuSet::new();
    one.set(cpu);
    if sched_setaffinity(None, &one).is_ok()
        && let Err(error) = sched_setaffinity(None, &allowed)
    {
        tracing::warn!(target: "oxshmem", %error, cpu, "this PE stays on one processor");
    }
}

/// The processor whose turn it is, if there is a choice.
fn turn(allowed: &CpuSet, block: usize) -> Option<usize> {
    let n = allowed.count() as usize;
    (n > 1).then(|| (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).nth(block % n))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pes_take_turns_with_the_processors_that_they_may_run_on() {
        let mut allowed = CpuSet::new();
        [3, 64, 70].into_iter().for_each(|cpu| allowed.set(cpu));
        let turns: Vec<_> = (0..7).map(|block| turn(&allowed, block)).collect();
        assert_eq!(turns, [3, 64, 70, 3, 64, 70, 3].map(Some));
        assert_eq!(turn(&CpuSet::new(), 1), None);
        let mut one = CpuSet::new();
        one.set(5);
        assert_eq!(turn(&one, 1), None, "a PE that is bound stays");
    }

    #[test]
    fn what_a_thread_may_run_on_stays_the_same() {
        let before = sched_getaffinity(None).unwrap();
        for block in 0..4 {
            begin_apart(block);
            assert!(sched_getaffinity(None).unwrap() == before);
        }
    }
}
