//! How a thread drives the engine that it owns.

use std::time::{Duration, Instant};

use oxshmem_base::sync::Ordering;

use super::Executor;
use crate::event::{Event, PollSet};

impl Executor {
    /// Drives on this thread until `stop` or until nothing is watched any more.
    pub(super) fn drive_blocking(&self, stop: impl Fn() -> bool) {
        let Some(bell) = self.bell.event() else { return };
        // Where there are other hosts, this thread may wait for an operation, which is no watch.
        let alone = self.sources().is_empty();
        let done = || stop() || (alone && self.owner.unfired() == 0) || self.is_closed();
        loop {
            let mut rounds = self.rounds(alone);
            loop {
                let progressed = self.poll_sources();
                rounds.looked(progressed, &self.policy);
                if !progressed {
                    self.scan();
                }
                if done() {
                    return;
                }
                if !rounds.next(&self.policy) {
                    break;
                }
            }
            if !alone && self.owner.unfired() == 0 {
                // The thread that ends the operation rings, and so does one that registers a watch
                // meanwhile: SeqCst, so that it sees that we sleep, or we see its watch.
                self.owner.sleeps_unwatched.store(true, Ordering::SeqCst);
                if self.owner.unfired() == 0 && !stop() {
                    self.rest_sources();
                    self.sleep_on(bell, None);
                }
                self.owner.sleeps_unwatched.store(false, Ordering::SeqCst);
                self.helper.helper_waker().give_back();
                continue;
            }
            if self.arm() {
                self.rest_sources();
                let start = Instant::now();
                // A tick finds nothing nearly always, and goes back to sleep without a word to
                // anybody.
                while !stop() && self.sleep_on(bell, self.sleep_limit(start.elapsed())) == Woken::Tick {
                    self.scan();
                    if done() {
                        break;
                    }
                }
                self.disarm();
                self.helper.helper_waker().give_back();
            }
        }
    }

    /// Sleeps until the bell has rung, and takes the ring off it, or until the time is over, or the
    /// launcher asks for the end: then all waiting fails.
    fn sleep_on(&self, bell: &Event, limit: Option<Duration>) -> Woken {
        let mut sleep = PollSet::default();
        sleep.on_event(bell);
        self.hangs_up().into_iter().for_each(|descriptor| sleep.on_hangup(descriptor));
        limit.into_iter().for_each(|limit| sleep.at_most(limit));
        let time_is_over = sleep.sleep();
        if sleep.is_there(0..1) {
            // Another reader may have been faster.
            bell.take();
        }
        if sleep.is_there(1..sleep.len()) {
            self.see_launcher();
        }
        if time_is_over { Woken::Tick } else { Woken::Bell }
    }
}

/// Why a driver sleeps no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Woken {
    /// Somebody rang, or there was a signal.
    Bell,
    /// It is time to look for stores that rang no bell.
    Tick,
}

#[cfg(test)]
mod tests;
