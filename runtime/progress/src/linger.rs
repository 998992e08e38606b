//! How long a thread that waits for a message looks for it before it sleeps.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// An answer takes some microseconds, and waking as many again.
const LONG: Duration = Duration::from_micros(100);
/// What an answer takes where the other PE waits for the question.
const SHORT: Duration = Duration::from_micros(20);
/// So long a thread that looks for a message does not yield its processor. An answer that takes
/// longer may have to come from a thread that waits for this very processor.
pub const ALONE: Duration = SHORT;
/// So many waits in vain may be chance.
const CHANCE: u32 = 4;
/// Of so many waits in vain the next is long.
const LONG_WAITS: u32 = 16;

/// The patience of one thread, which learns.
///
/// Where the PE that is to answer computes, its helper thread has to be woken, perhaps on the very
/// processor of the thread that waits. So after some waits in vain in a row the next ones are
/// short, and one of many is long again, lest two PEs that answer each other go to sleep for ever
/// after.
#[derive(Debug, Default)]
pub struct Linger {
    /// How many waits in a row were in vain. Relaxed: an estimate, for which a lost count is no
    /// harm.
    in_vain: AtomicU32,
}

impl Linger {
    /// How long to look.
    pub fn limit(&self) -> Duration {
        let in_vain = self.in_vain.load(Ordering::Relaxed);
        if in_vain < CHANCE || in_vain.is_multiple_of(LONG_WAITS) { LONG } else { SHORT }
    }

    /// Something came.
    pub fn came(&self) {
        self.in_vain.store(0, Ordering::Relaxed);
    }

    /// Nothing did.
    pub fn gave_up(&self) {
        self.in_vain.store(self.in_vain.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_is_lost_with_some_waits_in_vain_and_tried_again_now_and_then() {
        let linger = Linger::default();
        let mut limits = Vec::new();
        for _ in 0..=LONG_WAITS {
            limits.push(linger.limit());
            linger.gave_up();
        }
        let (chance, long) = (CHANCE as usize, LONG_WAITS as usize);
        assert!(limits[..chance].iter().chain(&limits[long..]).all(|&limit| limit == LONG));
        assert!(limits[chance..long].iter().all(|&limit| limit == SHORT));
        linger.came();
        assert_eq!(linger.limit(), LONG);
    }
}
