//! What a PE has done, counted while a looker looks; and the word by which operations find out
//! that nothing observes them.
//!
//! While that word is 0, nothing is counted or recorded. A looker, which may be another process of
//! the user, [raises](super::Boards::watch_for) its upper half for a few seconds at a time, and
//! writes nothing else. So a looker that is killed leaves nothing behind: the first operation after
//! that time lowers that half again. The lower half is this process's own, for the recording.
//!
//! What changes rarely, such as the use of the heap, is written whether or not it is looked at.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use rustix::time::{ClockId, clock_gettime};

use super::Board;
use crate::control::COUNT_WORDS;

/// The bit of a PE's word that says that what it does is recorded.
const RECORDED: u64 = 1;
/// Where its upper half begins, which says until when the PE is watched.
const UNTIL: u32 = 32;
/// Watched until somebody says otherwise: a time that does not come.
const FOR_GOOD: u64 = u64::MAX << UNTIL;

/// Classes of a histogram: 0, 1, 2, up to 4, up to 8 and so on. The last class has all that are
/// greater, too.
pub const CLASSES: usize = 40;

macro_rules! counts {
    ($($(#[$doc:meta])* $count:ident,)+) => {
        /// What is counted: a word for each.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(usize)]
        pub enum Count {
            $($(#[$doc])* $count,)+
        }

        /// How many there are.
        const COUNTS: usize = [$(Count::$count),+].len();
    };
}

counts! {
    /// Puts that this PE has begun.
    Puts,
    /// Their bytes.
    PutBytes,
    /// Gets that this PE has begun.
    Gets,
    /// Their bytes.
    GetBytes,
    /// Atomic operations and signals that this PE has begun.
    Atomics,
    /// Their bytes.
    AtomicBytes,
    /// Operations that PEs of the host have begun on this PE's memory.
    Received,
    /// Their bytes.
    ReceivedBytes,
    /// Collectives that this PE has called.
    Collectives,
    /// Waits that were entered on the board and are over.
    Waits,
    /// How long they took, in nanoseconds.
    WaitNanos,
    /// Bytes of the symmetric heaps. Written always.
    HeapSize,
    /// Bytes of them that are allocated. Written always.
    HeapUsed,
    /// The most that ever was. Written always.
    HeapPeak,
    /// Teams that this PE is in. Written always.
    Teams,
}

// Behind the counts are the histogram of bytes and that of waits.
const _: () = assert!(COUNTS + 2 * CLASSES <= COUNT_WORDS);

/// What an operation does to the memory of its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Writes it.
    Put,
    /// Reads it.
    Get,
    /// Changes a word of it in one step.
    Atomic,
}

impl Kind {
    /// That of a call, by its name in the specification.
    ///
    /// ```
    /// use oxshmem_progress::activity::Kind;
    ///
    /// assert_eq!(Kind::of("put_signal_nbi"), Some(Kind::Put));
    /// assert_eq!(Kind::of("ibget"), Some(Kind::Get));
    /// assert_eq!(Kind::of("fetch_add"), Some(Kind::Atomic));
    /// assert_eq!(Kind::of("quiet"), None);
    /// ```
    pub fn of(call: &str) -> Option<Self> {
        let call = call.trim_end_matches("_on_stream").trim_end_matches("_nbi");
        Some(match call {
            "p" | "put" | "iput" | "ibput" | "put_signal" => Self::Put,
            "g" | "get" | "iget" | "ibget" => Self::Get,
            "fetch" | "set" | "swap" | "compare_swap" | "inc" | "fetch_inc" | "add" | "fetch_add" | "and"
            | "fetch_and" | "or" | "fetch_or" | "xor" | "fetch_xor" | "signal_set" | "signal_add"
            | "signal_op" => Self::Atomic,
            _ => return None,
        })
    }
}

/// Whether anything observes the PE, and what is counted for it.
///
/// ```
/// # use oxshmem_progress::fabric::Fabric;
/// # let fabric = Fabric::new(2, 1 << 16, false)?;
/// use oxshmem_progress::activity::{Board, Count, Kind};
///
/// let board = Board::new(fabric.control, 0, 0, None, None);
/// board.record(true);
/// assert!(board.is_observed() && !board.is_watched());
/// board.watch();
/// board.operation(Kind::Put, 64, Some(1));
/// assert_eq!(board.counts().of(Count::PutBytes), 64);
/// # Ok::<(), oxshmem_base::Error>(())
/// ```
impl Board {
    /// Whether operations are counted or recorded.
    #[inline(always)]
    pub fn is_observed(&self) -> bool {
        // Relaxed: what begins to observe misses what is under way.
        self.shown().observed.load(Ordering::Relaxed) != 0
    }

    /// The word that is not 0 while operations are counted or recorded. It is there as long as the
    /// PE.
    pub fn word(&self) -> *const AtomicU64 {
        &raw const self.shown().observed
    }

    /// Whether operations are recorded.
    #[inline(always)]
    pub fn is_recorded(&self) -> bool {
        // Relaxed: as in `is_observed`.
        self.shown().observed.load(Ordering::Relaxed) & RECORDED != 0
    }

    /// From now on operations are recorded, or not.
    pub fn record(&self, on: bool) {
        let word = &self.shown().observed;
        // Relaxed: as in `is_observed`. In one step, as lookers come and go.
        if on {
            word.fetch_or(RECORDED, Ordering::Relaxed)
        } else {
            word.fetch_and(!RECORDED, Ordering::Relaxed)
        };
    }

    /// Whether operations are counted. Once the last looker's time is over, the word says so from
    /// now on.
    #[inline]
    pub fn is_watched(&self) -> bool {
        // Relaxed: as in `is_observed`.
        let observed = self.shown().observed.load(Ordering::Relaxed);
        observed >> UNTIL != 0 && self.is_still_watched(observed)
    }

    #[cold]
    fn is_still_watched(&self, observed: u64) -> bool {
        if observed >> UNTIL > until_now().into() {
            return true;
        }
        let word = &self.shown().observed;
        // Relaxed: as in `is_observed`. A looker that has come just now has changed it.
        let _ = word.compare_exchange(observed, observed & RECORDED, Ordering::Relaxed, Ordering::Relaxed);
        false
    }

    /// Counts until [`unwatch`](Self::unwatch).
    pub fn watch(&self) {
        // Relaxed: as in `is_observed`.
        self.shown().observed.fetch_or(FOR_GOOD, Ordering::Relaxed);
    }

    /// Counts no more. A looker of another process raises the word again.
    pub fn unwatch(&self) {
        // Relaxed: as in `is_observed`.
        self.shown().observed.fetch_and(!FOR_GOOD, Ordering::Relaxed);
    }

    /// This PE begins an operation on a PE, which has the number `target` among those of the host
    /// if it is one of them. To be called while it [is watched](Self::is_watched).
    pub fn operation(&self, kind: Kind, bytes: usize, target: Option<usize>) {
        let (count, bytes_of) = match kind {
            Kind::Put => (Count::Puts, Count::PutBytes),
            Kind::Get => (Count::Gets, Count::GetBytes),
            Kind::Atomic => (Count::Atomics, Count::AtomicBytes),
        };
        self.add(count as usize, 1);
        self.add(bytes_of as usize, bytes as u64);
        self.add(COUNTS + class(bytes as u64), 1);
        if let Some(target) = target {
            let counts = &self.control.page(target).shown.counts;
            add(&counts[Count::Received as usize], 1);
            add(&counts[Count::ReceivedBytes as usize], bytes as u64);
        }
    }

    /// This PE calls a collective, while it [is watched](Self::is_watched).
    pub fn collective(&self) {
        self.add(Count::Collectives as usize, 1);
    }

    /// The use of one of the PE's heaps has changed by so much. Wrapping: what is freed is a
    /// negative number.
    pub fn changed(&self, count: Count, by: usize) {
        let now = self.add(count as usize, by as u64);
        if count == Count::HeapUsed {
            let peak = &self.shown().counts[Count::HeapPeak as usize];
            // Relaxed: a number for people.
            peak.fetch_max(now.wrapping_add(by as u64), Ordering::Relaxed);
        }
    }

    /// What has been counted.
    pub fn counts(&self) -> Counts {
        // Relaxed: each number is whole, and that is all.
        Counts(self.shown().counts.each_ref().map(|word| word.load(Ordering::Relaxed)))
    }

    /// A wait that was entered is over.
    pub(super) fn waited(&self, nanos: u64) {
        self.add(Count::Waits as usize, 1);
        self.add(Count::WaitNanos as usize, nanos);
        self.add(COUNTS + CLASSES + class(nanos), 1);
    }

    fn add(&self, count: usize, by: u64) -> u64 {
        add(&self.shown().counts[count], by)
    }
}

/// Relaxed: several threads may count, and that no count is lost is all.
fn add(word: &AtomicU64, by: u64) -> u64 {
    word.fetch_add(by, Ordering::Relaxed)
}

/// What the half of a word says that is raised for so long: tenths of seconds of the clock that all
/// processes of the host share, which 32 bits hold for 13 years.
pub(super) fn until(time: Duration) -> u32 {
    until_now().saturating_add((time.as_millis() / 100) as u32 + 1)
}

fn until_now() -> u32 {
    let now = clock_gettime(ClockId::MonotonicCoarse);
    (now.tv_sec as u64 * 10 + now.tv_nsec as u64 / 100_000_000) as u32
}

/// The class of a histogram that a value is in.
fn class(value: u64) -> usize {
    match value.checked_sub(1) {
        None => 0,
        Some(below) => ((u64::BITS - below.leading_zeros()) as usize + 1).min(CLASSES - 1),
    }
}

/// The greatest value of a class, for people.
pub fn class_end(class: usize) -> u64 {
    if class == 0 { 0 } else { 1 << (class - 1) }
}

/// What had been counted at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts(pub(super) [u64; COUNT_WORDS]);

impl Counts {
    /// One count.
    pub fn of(&self, count: Count) -> u64 {
        self.0[count as usize]
    }

    /// Operations that this PE has begun.
    pub fn operations(&self) -> u64 {
        [Count::Puts, Count::Gets, Count::Atomics].map(|count| self.of(count)).iter().sum()
    }

    /// Their bytes.
    pub fn bytes(&self) -> u64 {
        [Count::PutBytes, Count::GetBytes, Count::AtomicBytes].map(|count| self.of(count)).iter().sum()
    }

    /// How many operations had how many bytes, by class.
    pub fn sizes(&self) -> &[u64] {
        &self.0[COUNTS..COUNTS + CLASSES]
    }

    /// How many waits took how many nanoseconds, by class.
    pub fn waits(&self) -> &[u64] {
        &self.0[COUNTS + CLASSES..COUNTS + 2 * CLASSES]
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, thread::sleep};

    use super::*;
    use crate::{
        activity::{Activity, Boards, Call},
        control::Control,
    };

    fn boards(n: usize) -> (Boards, Vec<Board>) {
        // SAFETY: the map is new, and used for nothing else.
        let control = unsafe { Arc::new(Control::new(Arc::new(Control::new_map(n).unwrap()))) };
        let board = |block| Board::new(Arc::clone(&control), block, block, None, None);
        (Boards::here(&control), (0..n).map(board).collect())
    }

    #[test]
    fn an_operation_counts_for_both_of_its_pes_and_by_size() {
        let (_, all) = boards(2);
        all[0].operation(Kind::Put, 100, Some(1));
        all[0].operation(Kind::Get, 0, None);
        all[0].operation(Kind::Atomic, 8, Some(0));
        let [mine, theirs] = [&all[0], &all[1]].map(|board| board.counts());
        assert_eq!((mine.operations(), mine.bytes()), (3, 108));
        assert_eq!((mine.of(Count::Received), mine.of(Count::ReceivedBytes)), (1, 8));
        assert_eq!((theirs.of(Count::Received), theirs.of(Count::ReceivedBytes)), (1, 100));
        assert_eq!(theirs.operations(), 0);
        let used = mine.sizes().iter().enumerate().filter(|(_, count)| **count > 0);
        assert_eq!(used.map(|(class, _)| class_end(class)).collect::<Vec<_>>(), [0, 8, 128]);
        assert_eq!(class(u64::MAX), CLASSES - 1);
        for value in [0, 1, 2, 3, 4, 5, 1 << 20, (1 << 20) + 1] {
            let class = class(value);
            assert!(value <= class_end(class) && (class == 0 || value > class_end(class - 1)), "{value}");
        }
    }

    #[test]
    fn what_no_looker_looks_at_any_more_is_not_watched_and_lowers_the_word() {
        let over = Duration::from_millis(250);
        let (boards, all) = boards(1);
        let board = &all[0];
        boards.watch_for(Duration::ZERO);
        assert!(board.is_observed() && board.is_watched());
        sleep(over);
        assert!(board.is_observed() && !board.is_watched());
        assert!(!board.is_observed());
        board.watch();
        boards.watch_for(Duration::ZERO);
        sleep(over);
        assert!(board.is_watched(), "it is watched for good");
        drop(board.enter(&Activity::new(Call::Quiet)));
        assert_eq!(board.counts().of(Count::Waits), 1);
        board.unwatch();
        assert!(!board.is_observed());
    }

    #[test]
    fn lookers_and_the_recording_leave_each_other_alone() {
        let (boards, all) = boards(1);
        let board = &all[0];
        board.record(true);
        boards.watch_for(Duration::ZERO);
        assert!(board.is_recorded() && board.is_watched());
        sleep(Duration::from_millis(250));
        assert!(!board.is_watched() && board.is_recorded(), "a time that is over is the looker's alone");
        board.watch();
        board.unwatch();
        assert!(!board.is_watched() && board.is_recorded());
        boards.watch_for(Duration::from_secs(60));
        board.record(false);
        assert!(board.is_watched() && !board.is_recorded() && board.is_observed());
        board.unwatch();
        assert!(!board.is_observed());
    }

    #[test]
    fn the_peak_of_a_heap_is_what_it_was() {
        let (_, all) = boards(1);
        all[0].changed(Count::HeapUsed, 64);
        all[0].changed(Count::HeapUsed, 128);
        all[0].changed(Count::HeapUsed, 64_usize.wrapping_neg());
        let counts = all[0].counts();
        assert_eq!((counts.of(Count::HeapUsed), counts.of(Count::HeapPeak)), (128, 192));
    }
}
