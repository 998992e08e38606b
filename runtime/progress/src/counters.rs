//! What a PE has done, counted while a looker looks, where others can read it.
//!
//! Each PE has in its control block one word that says until when it is looked at, and words that
//! count. Operations look at the first word only: while it is 0, nothing is counted. A looker,
//! which may be another process of the user, [raises](Counters::watch_for) it for a few seconds at
//! a time. So a looker that is killed leaves nothing behind: the first operation after that time
//! lowers the word again.
//!
//! What changes rarely, such as the use of the heap, is written whether or not it is looked at.

use std::{
    ptr::NonNull,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use rustix::time::{ClockId, clock_gettime};

use crate::control::{COUNT_WORDS, Control, CountWords, Page};

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
    /// use oxshmem_progress::counters::Kind;
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

/// The counters of a PE of this process.
///
/// ```
/// # use std::{sync::Arc, time::Duration};
/// # use oxshmem_progress::fabric::Fabric;
/// # let fabric = Fabric::new(2, 1 << 16, false)?;
/// use oxshmem_progress::counters::{Count, Counters, Kind};
///
/// let counters = Counters::new(Arc::clone(&fabric.control), 0);
/// assert!(!counters.is_on());
/// counters.watch_for(Duration::from_secs(3));
/// counters.operation(Kind::Put, 64, Some(1));
/// assert_eq!(counters.counts().of(Count::PutBytes), 64);
/// # Ok::<(), oxshmem_base::Error>(())
/// ```
#[derive(Debug)]
pub struct Counters {
    /// The first of its words, which operations look at.
    watched: NonNull<AtomicU64>,
    control: Arc<Control>,
    block: usize,
}

// SAFETY: `watched` is in the memory of `control`, which is `Send` and `Sync`, and atomic.
unsafe impl Send for Counters {}
// SAFETY: as above.
unsafe impl Sync for Counters {}

impl Counters {
    /// The counters of the PE whose control block is `block`.
    pub fn new(control: Arc<Control>, block: usize) -> Self {
        let watched = NonNull::from(&control.page(block).watched.0);
        Self { watched, control, block }
    }

    /// Whether operations are counted.
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        // SAFETY: it is in the memory of `control`, which lives as long as `self`.
        // Relaxed: a looker that comes misses what is under way.
        unsafe { self.watched.as_ref() }.load(Ordering::Relaxed) != 0
    }

    /// The word that is not 0 while operations are counted. It is there as long as the PE.
    pub fn word(&self) -> *const AtomicU64 {
        self.watched.as_ptr()
    }

    /// Counts for so long from now on, if it is not longer anyway.
    pub fn watch_for(&self, time: Duration) {
        // Relaxed: as in `is_on`.
        self.page().watched.0.fetch_max(until(time), Ordering::Relaxed);
    }

    /// Counts until [`unwatch`](Self::unwatch).
    pub fn watch(&self) {
        // Relaxed: as in `is_on`.
        self.page().watched.0.store(u64::MAX, Ordering::Relaxed);
    }

    /// Counts no more. A looker of another process raises the word again.
    pub fn unwatch(&self) {
        // Relaxed: as in `is_on`.
        self.page().watched.0.store(0, Ordering::Relaxed);
    }

    /// This PE begins an operation on a PE, which has the number `target` among those of the host
    /// if it is one of them.
    #[cold]
    #[inline(never)]
    pub fn operation(&self, kind: Kind, bytes: usize, target: Option<usize>) {
        if !is_watched(self.page()) {
            return;
        }
        let (count, bytes_of) = match kind {
            Kind::Put => (Count::Puts, Count::PutBytes),
            Kind::Get => (Count::Gets, Count::GetBytes),
            Kind::Atomic => (Count::Atomics, Count::AtomicBytes),
        };
        let words = self.words();
        add(words, count as usize, 1);
        add(words, bytes_of as usize, bytes as u64);
        add(words, COUNTS + class(bytes as u64), 1);
        if let Some(target) = target {
            let words = &self.control.page(target).counts.0;
            add(words, Count::Received as usize, 1);
            add(words, Count::ReceivedBytes as usize, bytes as u64);
        }
    }

    /// This PE calls a collective.
    #[inline]
    pub fn collective(&self) {
        if self.is_on() {
            add(self.words(), Count::Collectives as usize, 1);
        }
    }

    /// The use of one of the PE's heaps has changed by so much. Wrapping: what is freed is a
    /// negative number.
    pub fn changed(&self, count: Count, by: usize) {
        let now = self.words().0[count as usize].fetch_add(by as u64, Ordering::Relaxed);
        if count == Count::HeapUsed {
            let peak = &self.words().0[Count::HeapPeak as usize];
            // Relaxed: a number for people.
            peak.fetch_max(now.wrapping_add(by as u64), Ordering::Relaxed);
        }
    }

    /// What has been counted.
    pub fn counts(&self) -> Counts {
        // Relaxed: each number is whole, and that is all.
        Counts(self.words().0.each_ref().map(|word| word.load(Ordering::Relaxed)))
    }

    fn page(&self) -> &Page {
        self.control.page(self.block)
    }

    fn words(&self) -> &CountWords {
        &self.page().counts.0
    }
}

/// A wait that was entered on a PE's board is over.
pub(crate) fn waited(page: &Page, nanos: u64) {
    let words = &page.counts.0;
    add(words, Count::Waits as usize, 1);
    add(words, Count::WaitNanos as usize, nanos);
    add(words, COUNTS + CLASSES + class(nanos), 1);
}

/// Relaxed: several threads may count, and that no count is lost is all.
fn add(words: &CountWords, word: usize, by: u64) {
    words.0[word].fetch_add(by, Ordering::Relaxed);
}

/// Whether a PE is still looked at. If not, its word says so from now on.
pub(crate) fn is_watched(page: &Page) -> bool {
    let watched = &page.watched.0;
    // Relaxed: as in `is_on`.
    let until = watched.load(Ordering::Relaxed);
    if until == 0 || until > until_now() {
        return until != 0;
    }
    // A looker that has come just now has changed it.
    let _ = watched.compare_exchange(until, 0, Ordering::Relaxed, Ordering::Relaxed);
    false
}

/// What a word says that is raised for so long.
pub(crate) fn until(time: Duration) -> u64 {
    until_now() + time.as_millis() as u64 + 1
}

/// Milliseconds of the clock that all processes of the host share.
fn until_now() -> u64 {
    let now = clock_gettime(ClockId::MonotonicCoarse);
    now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000
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
pub struct Counts(pub(crate) [u64; COUNT_WORDS]);

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
    use super::*;

    fn counters(n: usize) -> Vec<Counters> {
        // SAFETY: the map is new, and used for nothing else.
        let control = unsafe { Arc::new(Control::new(Arc::new(Control::new_map(n).unwrap()))) };
        (0..n).map(|block| Counters::new(Arc::clone(&control), block)).collect()
    }

    #[test]
    fn an_operation_counts_for_both_of_its_pes_and_by_size() {
        let all = counters(2);
        all[0].watch_for(Duration::from_secs(60));
        all[0].operation(Kind::Put, 100, Some(1));
        all[0].operation(Kind::Get, 0, None);
        all[0].operation(Kind::Atomic, 8, Some(0));
        let [mine, theirs] = [&all[0], &all[1]].map(Counters::counts);
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
    fn what_no_looker_looks_at_any_more_is_not_counted_and_lowers_the_word() {
        let all = counters(1);
        all[0].watch_for(Duration::ZERO);
        assert!(all[0].is_on());
        std::thread::sleep(Duration::from_millis(30));
        all[0].operation(Kind::Put, 100, None);
        assert!(!all[0].is_on());
        assert_eq!(all[0].counts().operations(), 0);
        all[0].watch();
        all[0].watch_for(Duration::ZERO);
        std::thread::sleep(Duration::from_millis(30));
        all[0].operation(Kind::Put, 100, None);
        assert_eq!(all[0].counts().operations(), 1, "it is watched for good");
        all[0].unwatch();
        assert!(!all[0].is_on());
    }

    #[test]
    fn the_peak_of_a_heap_is_what_it_was() {
        let all = counters(1);
        all[0].changed(Count::HeapUsed, 64);
        all[0].changed(Count::HeapUsed, 128);
        all[0].changed(Count::HeapUsed, 64_usize.wrapping_neg());
        let counts = all[0].counts();
        assert_eq!((counts.of(Count::HeapUsed), counts.of(Count::HeapPeak)), (128, 192));
    }
}
