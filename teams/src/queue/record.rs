//! What is recorded of a team's collectives: each is begun in the recording when it is called, and
//! complete when its future has seen its end. One whose future was dropped is complete when a later
//! one is.

use std::mem;

use oxshmem_base::sync::{Mutex, lock};
use oxshmem_progress::{
    activity::Activity,
    record::{Pending, Slot},
};

use super::{Core, running::named};

/// The most that are kept: more are under way only where all futures are dropped.
const MOST: usize = 4096;

/// The collectives that were recorded and have not ended, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Recorded(Mutex<Vec<(u64, Slot)>>);

impl Core {
    /// Counts a collective that is called, if that is wanted. Returns when that was, if it is to be
    /// recorded.
    #[inline(always)]
    pub(super) fn called(&self) -> Option<u64> {
        if self.group.pe().board().is_observed() { self.observe() } else { None }
    }

    #[cold]
    #[inline(never)]
    fn observe(&self) -> Option<u64> {
        let pe = self.group.pe();
        if pe.board().is_watched() {
            pe.board().collective();
        }
        pe.recorder().map(|recorder| recorder.now())
    }

    /// Records a collective with this number, which was called at `called`. A ticket of 0 says that
    /// it has ended.
    #[inline(always)]
    pub(super) fn record(
        &self,
        called: Option<u64>,
        number: u64,
        ticket: u64,
        activity: impl FnOnce() -> Activity,
    ) {
        if let Some(begin) = called {
            self.record_called(begin, number, ticket, activity());
        }
    }

    #[cold]
    #[inline(never)]
    fn record_called(&self, begin: u64, number: u64, ticket: u64, activity: Activity) {
        let slot = self.begin_record(begin, number, activity);
        if ticket == 0 {
            self.group.pe().complete_record(slot);
        } else {
            let mut recorded = lock(&self.recorded.0);
            if recorded.len() == MOST {
                // No future has looked for long.
                recorded.drain(..MOST / 2).for_each(|(_, slot)| self.group.pe().complete_record(slot));
            }
            recorded.push((number, slot));
        }
    }

    fn begin_record(&self, begin: u64, number: u64, activity: Activity) -> Slot {
        let Some(recorder) = self.group.pe().recorder() else { return Slot::NONE };
        recorder.collective_begun(&named(activity, &self.group, number), begin)
    }

    /// Records one whose end lands somewhere else: the result is to be dropped then.
    pub(super) fn record_until(&self, begin: u64, number: u64, activity: Activity) -> Option<Pending> {
        let slot = self.begin_record(begin, number, activity);
        self.group.pe().recorder().map(|recorder| Pending::new(recorder, slot))
    }

    /// A future has seen the end of the collective with this number.
    #[inline(always)]
    pub(super) fn record_end(&self, number: u64) {
        if self.group.pe().has_recorder() {
            self.complete_records(number);
        }
    }

    #[cold]
    #[inline(never)]
    fn complete_records(&self, number: u64) {
        let mut recorded = lock(&self.recorded.0);
        recorded.retain_mut(|(recorded, slot)| {
            if *recorded <= number {
                self.group.pe().complete_record(mem::take(slot));
            }
            *recorded > number
        });
    }
}
