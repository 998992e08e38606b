//! When an operation of the model has its effect: latency, bandwidth and jitter.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use super::clock::{Clock, Moment};

/// What it takes to reach a PE of another host. By default nothing: operations have their effect at
/// once.
///
/// Each PE has a processor and a wire. An operation or a message takes the processor for the
/// `overhead`, then the wire for its bytes, and is there after the `latency`; a message then takes
/// the receiver's processor for the `receipt`. That is the LogGP model: L, o on either side, and G
/// in bytes per second.
///
/// Times are real ones, and what the machine adds to them comes on top, unless they are
/// [virtual](Self::virtual_time).
///
/// ```
/// use std::time::Duration;
/// use oxshmem_net::Link;
///
/// assert!(Link::default().is_immediate());
/// let (latency, bandwidth) = (Duration::from_micros(20), 1_250_000_000);
/// let ethernet = Link { latency, bandwidth, ..Link::default() };
/// assert!(!ethernet.is_immediate());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// From the moment that the last byte has left a PE until it is at its target.
    pub latency: Duration,
    /// For how long each operation and each message keeps the processor of the PE that starts it.
    pub overhead: Duration,
    /// For how long each message that arrives keeps the processor of its receiver, which has it
    /// then. Operations on memory go past the processor.
    pub receipt: Duration,
    /// Bytes that a PE sends in a second, to all targets together. 0 is without limit.
    pub bandwidth: u64,
    /// Up to so much later, as chance has it: operations overtake each other, but messages to one
    /// PE do not.
    pub jitter: Duration,
    /// Where the random numbers begin. Each PE has a sequence of its own.
    pub seed: u64,
    /// Whether all these are times of a clock that stands still as long as any PE has something to
    /// do, so that they do not depend on the machine: see [`Simulation`](super::Simulation).
    pub virtual_time: bool,
}

impl Link {
    /// Whether all operations have their effect before the call returns.
    pub fn is_immediate(&self) -> bool {
        let times = [self.latency, self.overhead, self.receipt, self.jitter];
        times.iter().all(Duration::is_zero) && self.bandwidth == 0 && !self.virtual_time
    }

    /// For how long sending `bytes` keeps a PE's wire busy.
    fn busy(&self, bytes: usize) -> Duration {
        let nanos = (bytes as u128 * 1_000_000_000).checked_div(self.bandwidth.into()).unwrap_or(0);
        Duration::from_nanos(nanos.try_into().unwrap_or(u64::MAX))
    }
}

/// One PE's end of the links: what it has sent, and when that is there.
#[derive(Debug)]
pub(super) struct Line {
    link: Link,
    clock: Arc<Clock>,
    random: u64,
    /// From when on the processor can do more.
    processor: Moment,
    /// From when on the wire can take more.
    wire: Moment,
    latest: BTreeMap<usize, Latest>,
    /// When this PE has the last of the launcher's news.
    news: Option<Moment>,
}

/// When what was sent to a PE last of all is there.
#[derive(Clone, Copy, Debug, Default)]
struct Latest {
    effect: Option<Moment>,
    message: Option<Moment>,
}

impl Line {
    pub(super) fn new(link: Link, clock: &Arc<Clock>, pe: usize) -> Self {
        let random = link.seed ^ (pe as u64).wrapping_mul(0xd6e8_feb8_6659_fd93);
        let clock = Arc::clone(clock);
        Self {
            link,
            clock,
            random,
            processor: Moment::ZERO,
            wire: Moment::ZERO,
            latest: BTreeMap::new(),
            news: None,
        }
    }

    /// Sends an operation with `bytes` to `pe`; when it is there.
    pub(super) fn effect(&mut self, pe: usize, bytes: usize) -> Moment {
        let there = self.travel(bytes);
        let latest = &mut self.latest.entry(pe).or_default().effect;
        *latest = (*latest).max(Some(there));
        there
    }

    /// When a request is there that reads, and sees what was sent before.
    pub(super) fn question(&mut self, pe: usize, bytes: usize) -> Moment {
        let there = self.travel(bytes);
        let latest = &mut self.latest.entry(pe).or_default().effect;
        let there = latest.map_or(there, |before| before.max(there));
        *latest = Some(there);
        there
    }

    /// Sends a message of `bytes` to `pe`; when it is there, which is after those before it.
    pub(super) fn message(&mut self, pe: usize, bytes: usize) -> Moment {
        let there = self.travel(bytes);
        let latest = &mut self.latest.entry(pe).or_default().message;
        let there = latest.map_or(there, |before| before.max(there));
        *latest = Some(there);
        there
    }

    /// Takes in a message that is there; when this PE has it. None if that takes no time.
    pub(super) fn take_in(&mut self) -> Option<Moment> {
        (!self.link.receipt.is_zero()).then(|| self.work(self.link.receipt))
    }

    /// A message that was sent to `pe` keeps its receiver until `moment`.
    pub(super) fn delay(&mut self, pe: usize, moment: Moment) {
        let latest = &mut self.latest.entry(pe).or_default().message;
        *latest = (*latest).max(Some(moment));
    }

    /// When this PE has news of the launcher, which come after those before.
    pub(super) fn news(&mut self) -> Moment {
        let there = self.clock.now() + self.link.latency + self.late();
        let there = self.news.map_or(there, |before| before.max(there));
        self.news = Some(there);
        there
    }

    /// Keeps the processor for `time`; until when.
    pub(super) fn work(&mut self, time: Duration) -> Moment {
        self.processor = self.idle_from() + time;
        self.processor
    }

    /// When the processor has done everything so far.
    pub(super) fn idle_from(&self) -> Moment {
        self.processor.max(self.clock.now())
    }

    /// When it is known that all operations are there that were sent to `pe`, or to any PE. None if
    /// there were none.
    pub(super) fn flushed(&self, pe: Option<usize>) -> Option<Moment> {
        let latest = match pe {
            Some(pe) => self.latest.get(&pe).and_then(|latest| latest.effect),
            None => self.latest.values().filter_map(|latest| latest.effect).max(),
        };
        latest.map(|there| (there + self.link.latency).max(self.clock.now()))
    }

    /// When all messages are there, as far as is known. None if there were none.
    pub(super) fn all_sent(&self) -> Option<Moment> {
        self.latest.values().filter_map(|latest| latest.message).max()
    }

    fn travel(&mut self, bytes: usize) -> Moment {
        let begun = self.work(self.link.overhead);
        let gone = self.wire.max(begun) + self.link.busy(bytes);
        self.wire = gone;
        gone + self.link.latency + self.late()
    }

    /// Whether it takes no copies just now, as chance has it where operations are late.
    pub(super) fn is_full(&mut self) -> bool {
        self.late() < self.link.jitter / 8
    }

    fn late(&mut self) -> Duration {
        let Some(limit) = u64::try_from(self.link.jitter.as_nanos()).ok().filter(|&limit| limit > 0) else {
            return self.link.jitter;
        };
        // SplitMix64: good enough to put operations out of order, and the same on every machine.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        Duration::from_nanos((z ^ z >> 31) % limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// A line whose clock stands at 0.
    fn line(link: Link) -> Line {
        Line::new(link, &Arc::new(Clock::new(true)), 0)
    }

    #[test]
    fn operations_wait_for_the_processor_and_bytes_for_those_before_them() {
        let link = Link { latency: SECOND, overhead: SECOND, bandwidth: 1000, ..Link::default() };
        let mut line = line(link);
        assert_eq!(line.effect(1, 3000), 5 * SECOND, "one to start it, three for the bytes, one on the way");
        assert_eq!(line.effect(2, 1000), 6 * SECOND, "it is started while the wire is busy");
        assert_eq!(line.message(2, 0), 6 * SECOND);
        assert_eq!(line.work(SECOND), 4 * SECOND);
        assert_eq!(line.message(2, 0), 6 * SECOND);
        assert_eq!(line.message(2, 0), 7 * SECOND, "the processor has started five and worked one");
        assert_eq!(line.flushed(Some(1)), Some(6 * SECOND));
        assert_eq!(line.flushed(None), Some(7 * SECOND));
        assert_eq!(line.flushed(Some(3)), None);
        assert_eq!((line.take_in(), line.idle_from()), (None, 6 * SECOND));
    }

    #[test]
    fn messages_that_arrive_keep_the_processor() {
        let mut line = line(Link { receipt: SECOND, ..Link::default() });
        assert_eq!([line.take_in(), line.take_in()], [Some(SECOND), Some(2 * SECOND)]);
        assert_eq!(line.message(1, 0), 2 * SECOND);
        line.delay(1, 5 * SECOND);
        assert_eq!(line.all_sent(), Some(5 * SECOND));
    }

    #[test]
    fn jitter_reorders_operations_but_not_messages_to_one_pe() {
        let mut line = line(Link { jitter: 3600 * SECOND, ..Link::default() });
        let effects: Vec<_> = (0..100).map(|_| line.effect(1, 8)).collect();
        assert!(!effects.is_sorted());
        assert_eq!(line.flushed(None), effects.into_iter().max());
        let messages: Vec<_> = (0..100).map(|_| line.message(1, 8)).collect();
        assert!(messages.is_sorted() && messages[0] < messages[99]);
    }
}
