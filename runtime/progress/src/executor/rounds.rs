//! How long a driver looks around before it sleeps.

use std::time::{Duration, Instant};

use crate::linger::{ALONE, Linger};

/// A driver's rounds before it sleeps: as many as were asked for, and for a microsecond each at
/// least.
///
/// Waking takes tens of microseconds. Two PEs that answer each other, of which one has gone to
/// sleep once, would never stop sleeping if their patience were shorter than that.
pub(super) struct Rounds<'a> {
    /// So many without progress, and what is left of them.
    pub(super) rounds: u32,
    pub(super) left: u32,
    pub(super) limit: Duration,
    pub(super) began: Option<Instant>,
    /// Whether others are offered the processor between rounds.
    pub(super) yields: bool,
    /// Whether there are other hosts, so that an answer may need it.
    pub(super) far: bool,
    /// Where there are other hosts.
    pub(super) linger: &'a Linger,
}

impl Rounds<'_> {
    /// There was a look, with or without progress, after which all begins anew.
    pub(super) fn looked(&mut self, progressed: bool) {
        if progressed && self.began.take().is_some() {
            // Something came that was waited for.
            self.linger.came();
            self.left = self.rounds;
        }
    }

    /// Whether there is another round, before which others may have had the processor.
    pub(super) fn next(&mut self) -> bool {
        let now = Instant::now();
        let waited = now - *self.began.get_or_insert(now);
        let more = self.left > 0 || waited < self.limit;
        self.left = self.left.saturating_sub(1);
        if !more {
            self.linger.gave_up();
        } else if self.yields || (self.far && waited >= ALONE) {
            rustix::thread::sched_yield();
        }
        more
    }
}
