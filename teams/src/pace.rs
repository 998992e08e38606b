//! When a PE looks for a message.
//!
//! A look at a word takes its cache line away from the PE that is about to write it, which then has to fetch it back: whoever
//! looks too early sees the message a line's way there and back later. In a collective in which all send and then look, PEs
//! that come at the same time both find what they look for. But if one is early it sees the message so much later
//! that next time the other is early, and so on for ever. So a PE that was early and then was not lets a moment pass, once,
//! if the others are far, and all come at the same time again.
//!
//! How long that moment is, and whether the lines of others are worth being fetched beforehand, depends on how far the
//! processors are from each other, which in a virtual machine can change at any time. It is measured: now and then a look
//! is timed, and if it finds a message, it has fetched the line of another PE.

use std::{
    hint::spin_loop,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    time::Instant,
};

/// One look in so many is timed.
const TIMED: u32 = 16;
/// What fetches a line in more nanoseconds than this, the clock's included, is far.
const FAR_NS: u32 = 110;
/// A longer look was interrupted.
const MOST_NS: u32 = 400;
/// For how long who would be early waits, where the others are far. Where they are near it makes no difference.
const PAUSES: u32 = 3;

/// What the looks of a team's PE have found.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// The two lowest bits say of the last first looks whether they found something, the last one's is the lowest; the others
    /// count them.
    first: AtomicU32,
    /// How long it takes to fetch a line, more or less, in nanoseconds. 0 where that was never measured.
    fetch_ns: AtomicU32,
}

impl Pace {
    /// Whether the others are far.
    #[inline(always)]
    pub(crate) fn is_far(&self) -> bool {
        self.fetch_ns.load(Relaxed) > FAR_NS
    }

    /// The first `look` at `lines` lines, of a PE that has just sent what the others wait for.
    #[inline(always)]
    pub(crate) fn first(&self, lines: u32, look: impl Fn() -> bool) -> bool {
        let before = self.first.load(Relaxed);
        if before & 0b11 == 0b01 && self.is_far() {
            (0..PAUSES).for_each(|_| spin_loop());
        }
        let found = if self.is_timed() { self.timed(lines, look) } else { look() };
        // Only this PE's collectives, one at a time, write it.
        self.first
            .store((before & !0b11).wrapping_add(0b100) | (before & 1) << 1 | u32::from(found), Relaxed);
        found
    }

    /// Whether the next look is to be [timed](Self::timed).
    #[inline(always)]
    pub(crate) fn is_timed(&self) -> bool {
        (self.first.load(Relaxed) >> 2).is_multiple_of(TIMED)
    }

    /// A `look` at `lines` lines, of which it takes note how long it took, if it finds something.
    #[cold]
    #[inline(never)]
    pub(crate) fn timed(&self, lines: u32, look: impl FnOnce() -> bool) -> bool {
        let start = Instant::now();
        let found = look();
        if found {
            let ns = u32::try_from(start.elapsed().as_nanos()).unwrap_or(MOST_NS) / lines.max(1);
            let before = self.fetch_ns.load(Relaxed);
            self.fetch_ns.store(before - before / 4 + ns.min(MOST_NS) / 4, Relaxed);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{cell::Cell, time::Duration};

    #[test]
    fn looks_that_find_something_tell_how_far_it_comes_from() {
        let pace = Pace::default();
        let slowly = || {
            let start = Instant::now();
            while start.elapsed() < Duration::from_nanos(u64::from(2 * FAR_NS)) {}
            true
        };
        assert!(!pace.is_far());
        (0..8 * TIMED).for_each(|_| assert!(pace.first(1, slowly)));
        assert!(pace.is_far());
        // A look that finds nothing has fetched nothing.
        (0..64 * TIMED).for_each(|_| assert!(!pace.first(1, || false)));
        assert!(pace.is_far());
    }

    #[test]
    fn every_first_look_is_one_look() {
        let (pace, looks) = (Pace::default(), Cell::new(0));
        for i in 0..100 {
            let found = i % 3 == 0;
            assert_eq!(
                pace.first(1, || {
                    looks.set(looks.get() + 1);
                    found
                }),
                found
            );
        }
        assert_eq!(looks.get(), 100);
    }
}
