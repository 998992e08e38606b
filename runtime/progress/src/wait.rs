//! How a thread that waits goes from looking in a loop to sleep.
//!
//! It spins, then offers its processor to others, then sleeps: in pieces, where a store may come
//! without a ring, and else until it is woken. The helper thread also backs off while others are at
//! work.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

/// How long a thread that expects an answer looks for it: an answer takes some microseconds, and
/// waking as many again.
const LONG: Duration = Duration::from_micros(100);
/// What an answer takes where the other PE waits for the question. A thread that looks for longer
/// yields its processor, since the answer may have to come from a thread that waits for that very
/// processor.
const SHORT: Duration = Duration::from_micros(20);
/// Up to this many waits in vain may be chance.
const CHANCE: u32 = 4;
/// After waits in vain, one in this many is long.
const LONG_WAITS: u32 = 16;
/// How long a sleep in pieces lasts between two looks.
const PIECE: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(16)];
/// How long the helper pauses between polls while other threads are at work: from, and up to,
/// twice as long each time. In a virtual machine each look costs them tens of microseconds, which
/// the timer takes.
pub(crate) const BACKOFF: [Duration; 2] = [Duration::from_micros(50), Duration::from_millis(4)];
/// How soon the helper looks again at words that no processor can load: at first, later, and at
/// last.
pub(crate) const LOOK: [Duration; 3] =
    [Duration::from_micros(50), Duration::from_millis(1), Duration::from_millis(4)];

/// How patient the waits of a PE are.
#[derive(Debug)]
pub struct WaitPolicy {
    /// How long a future checks its word in a loop.
    pub spin: Duration,
    /// How many times the processor is then offered to others.
    pub yields: u32,
    /// Whether every sleep is cut into pieces, because what is waited for may come without a ring.
    pub looks: bool,
    /// How soon the helper looks again at words that no processor can load: see [`LOOK`].
    pub(crate) look: [Duration; 3],
    /// How many waits for an answer in a row were in vain.
    in_vain: InVain,
}

/// Relaxed throughout: an estimate, for which a lost count is no harm.
#[derive(Debug, Default)]
struct InVain(AtomicU32);

impl WaitPolicy {
    /// A policy with no waits behind it.
    pub fn new(spin: Duration, yields: u32, looks: bool) -> Self {
        Self { spin, yields, looks, look: LOOK, in_vain: InVain::default() }
    }

    /// This policy with other times between looks at words that no processor can load.
    #[cfg(test)]
    pub(crate) fn looking(self, look: [Duration; 3]) -> Self {
        Self { look, ..self }
    }

    /// Whether there are processors enough to look for something in a loop.
    #[inline]
    pub fn may_spin(&self) -> bool {
        !self.spin.is_zero()
    }

    /// How long to look for an answer.
    ///
    /// Where the PE that is to answer computes, its helper thread has to be woken, perhaps on the
    /// very processor of the thread that waits. So after some waits in vain in a row the next ones
    /// are short. One of many is long again, lest two PEs that answer each other go to sleep for
    /// ever after.
    fn answer(&self) -> Duration {
        let in_vain = self.in_vain.0.load(Ordering::Relaxed);
        if in_vain < CHANCE || in_vain.is_multiple_of(LONG_WAITS) { LONG } else { SHORT }
    }

    /// The looks of a thread before it sleeps. If it `yields`, it offers the processor to others
    /// between them, as it does in any case where PEs outnumber processors. `far` says whether
    /// something beside memory is polled, so that an answer may need this thread.
    pub(crate) fn rounds(&self, yields: bool, far: bool) -> Rounds {
        Rounds {
            all: self.yields,
            left: self.yields,
            began: None,
            yields: yields || !self.may_spin(),
            far,
            limit: match far && self.may_spin() {
                true => self.answer(),
                false => Duration::from_micros(self.yields.into()),
            },
        }
    }

    /// How long a thread that sleeps in pieces, and has slept for so long, may sleep on without a
    /// look: an eighth of that. An idle processor is charged some 50 µs for a look, so that a
    /// second of waiting costs less than half a percent.
    pub(crate) fn piece(slept: Duration) -> Duration {
        (slept / 8).clamp(PIECE[0], PIECE[1])
    }

    /// How long the helper sleeps between two looks at a word that no processor can load, and that
    /// has been waited for since `waited` ago: a sixteenth of that, and in long waits, for which an
    /// idle processor would be charged several percent, a 256th.
    pub(crate) fn look_interval(&self, waited: Duration) -> Duration {
        let [first, later, last] = self.look;
        (waited / 16).clamp(first, later).max((waited / 256).min(last))
    }

    /// How long the helper goes on looking after it has found something. A PE whose threads sleep
    /// does not compute, so the helper is not in its way.
    pub(crate) fn after_work(&self, pe_sleeps: bool) -> Duration {
        match (self.may_spin(), pe_sleeps) {
            (false, _) => Duration::ZERO,
            (true, true) => LONG,
            (true, false) => SHORT,
        }
    }
}

/// The looks of one thread before it sleeps: as many as the policy says, and for a microsecond each
/// at least.
///
/// Waking takes tens of microseconds. Two PEs that answer each other, of which one has gone to
/// sleep once, would never stop sleeping if their patience were shorter than that.
#[derive(Debug)]
pub(crate) struct Rounds {
    all: u32,
    left: u32,
    limit: Duration,
    began: Option<Instant>,
    yields: bool,
    far: bool,
}

impl Rounds {
    /// There was a look, with or without progress, after which all begins anew.
    pub(crate) fn looked(&mut self, progressed: bool, policy: &WaitPolicy) {
        if progressed && self.began.take().is_some() {
            policy.in_vain.0.store(0, Ordering::Relaxed);
            self.left = self.all;
        }
    }

    /// Whether there is another round, before which others may have had the processor.
    pub(crate) fn next(&mut self, policy: &WaitPolicy) -> bool {
        let now = Instant::now();
        let waited = now - *self.began.get_or_insert(now);
        let more = self.left > 0 || waited < self.limit;
        self.left = self.left.saturating_sub(1);
        if !more {
            let in_vain = policy.in_vain.0.load(Ordering::Relaxed);
            policy.in_vain.0.store(in_vain.wrapping_add(1), Ordering::Relaxed);
        } else if self.yields || (self.far && waited >= SHORT) {
            rustix::thread::sched_yield();
        }
        more
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rings_no_bell_is_looked_for_at_intervals_that_grow_with_the_wait() {
        let policy = WaitPolicy::new(Duration::ZERO, 0, false);
        let [us, ms] = [Duration::from_micros, Duration::from_millis];
        let waited = [ms(0), us(800), us(1600), ms(4), ms(16), ms(256), ms(512), ms(5000)];
        let intervals = [us(50), us(50), us(100), us(250), ms(1), ms(1), ms(2), ms(4)];
        assert_eq!(waited.map(|waited| policy.look_interval(waited)), intervals);
    }

    #[test]
    fn patience_is_lost_with_some_waits_in_vain_and_tried_again_now_and_then() {
        let policy = WaitPolicy::new(Duration::from_micros(10), 0, false);
        let mut limits = Vec::new();
        for _ in 0..=LONG_WAITS {
            let mut rounds = policy.rounds(false, true);
            limits.push(rounds.limit);
            rounds.began = Instant::now().checked_sub(LONG);
            assert!(!rounds.next(&policy));
        }
        let (chance, long) = (CHANCE as usize, LONG_WAITS as usize);
        assert!(limits[..chance].iter().chain(&limits[long..]).all(|&limit| limit == LONG));
        assert!(limits[chance..long].iter().all(|&limit| limit == SHORT));
        let mut rounds = policy.rounds(false, true);
        assert!(rounds.next(&policy));
        rounds.looked(true, &policy);
        assert_eq!(policy.rounds(false, true).limit, LONG);
    }
}
