//! What a PE is in and what it has done, written where others can read it.
//!
//! Each PE has in its control block one struct of plain words, [`Shown`]. Its own code writes it by
//! way of a [`Board`]. A process that maps or holds the control memory reads those of all PEs of
//! the host by way of [`Boards`]: the process's own watchdog, which speaks up when an entry grows
//! old, `oshrun`, which prints the [`Table`] of all PEs, and `oshtop`.
//!
//! An operation that has spun in vain and leaves its waiting to the engine [enters](Board::enter)
//! what it waits for in a slot, and takes it off the board when that is over; one that finishes
//! before never comes near it. A slot's first word counts its changes, so that a reader can tell an
//! entry that changed under its eyes, and takes it for gone. The [phase](Board::phase) that the
//! program marks is there likewise, whether or not anything looks or records.
//!
//! Operations count, and are recorded, only while the PE is [observed](Board::is_observed).

mod call;
mod counters;
mod describe;
mod look;
mod read;
mod table;

use std::{
    ptr::NonNull,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering, fence},
    },
};

use oxshmem_memory::Extent;
use rustix::time::{ClockId, clock_gettime};

pub use self::{
    call::Call,
    counters::{CLASSES, Count, Counts, Kind, class_end},
    look::BoardLook,
    read::{Boards, PeBoard, Seen, Standing},
    table::{Row, Table, list, subject, table_of},
};
use crate::{
    control::{BoardSlot, Control, SLOTS, Shown},
    phase::name_words,
};

/// Says that a board is one, and in which form. To be changed with the form, or with the meaning of
/// arguments.
const FORM: u64 = 0x6f78_7368_6d65_6d05;

// The numbers of the teams that nobody has made.
/// All PEs.
const WORLD: u64 = 0;
/// The PEs of one host: another team on each, all with this number.
const SHARED: u64 = 1;
/// The PEs of the GPU space, where that is not all of them.
const SPACE: u64 = 2;
// The bits of any other team's number, from the lowest: its place among the teams, the number of
// the split that made it, and its first PE.
const TEAM_PLACE_BITS: u32 = 16;
const TEAM_SPLIT_BITS: u32 = 28;

// The states of a slot, in the lowest bits of its first word; the others count.
const FREE: u64 = 0;
const WRITING: u64 = 1;
const ENTERED: u64 = 2;
const STATES: u64 = 4;

/// Whether the PE that shows this has joined, and not left.
pub(crate) fn is_joined(shown: &Shown) -> bool {
    // Relaxed: a flag, which orders nothing.
    shown.standing.load(Ordering::Relaxed) == Standing::Joined as u64
}

/// Whether an operation is entered, or about to be.
pub(crate) fn is_anything_entered(shown: &Shown) -> bool {
    // SeqCst: see `Board::put`.
    is_joined(shown) && shown.slots.iter().any(|slot| slot.state.load(Ordering::SeqCst) % STATES != FREE)
}

/// What learns of entries: the watchdog of the process.
pub trait Watcher: Send + Sync + std::fmt::Debug {
    /// Something was entered.
    fn entered(&self);

    /// A PE has left.
    fn left(&self);
}

/// What an operation waits for. Collectives of a team have the team's number, which is the same on
/// all its PEs, and their own among the team's collectives. Teams 0, 1 and 2 are the world, the PEs
/// of a host and those of the GPU space; the number of any other has its place among the teams in
/// the lowest 16 bits, that of the split which made it in the next 28, and its first PE above.
///
/// ```
/// use oxshmem_progress::activity::{Activity, Call};
///
/// let broadcast = Activity::collective(Call::Broadcast, 3 << 16 | 17, 41).elements(1024, 8).root(0);
/// assert_eq!(broadcast.to_string(), "broadcast #41 on team 3.17 (1024 elements of 8 bytes from PE 0)");
/// let sync = Activity::collective(Call::Sync, 1, 5);
/// assert_eq!(sync.to_string(), "sync #5 on the shared team");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Activity {
    /// The call that the user made.
    pub call: Call,
    /// The team, if the call is a collective.
    pub team: u64,
    /// Which of the team's collectives it is, counted from 1. 0: not known.
    pub number: u64,
    /// What the call was given; use the functions below to write it.
    pub args: [u64; 4],
}

/// The words that a wait is about, for [`Activity::wait`].
#[derive(Clone, Copy, Debug)]
pub struct Awaited {
    /// Where they are.
    pub words: Extent,
    /// How many.
    pub count: usize,
    /// The bytes of each: 2, 4 or 8.
    pub size: usize,
    /// Whether they are signed.
    pub signed: bool,
    /// How each must compare to `value`: `[less, equal, greater]`, each true if it ends the wait.
    pub accepts: [bool; 3],
    /// The bits of the value; `None` if each word has one of its own.
    pub value: Option<u64>,
}

/// Whom a PE waits for that waits for a lock, for [`Activity::lock`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ahead {
    /// It does not know.
    Unknown,
    /// It has the lock itself: another of its tasks or threads has.
    ThisPe,
    /// The one that came right before it, which has the lock or waits for it too.
    Pe(usize),
}

/// In the third argument of a wait for words or for a lock: the bit of the segment that they are
/// in.
const SEGMENT_BIT: u32 = 32;
/// Where a board is read, the globals of the executable count as a segment of their own.
const GLOBALS: u64 = 8;

impl Activity {
    /// A call of which nothing more is known.
    pub fn new(call: Call) -> Self {
        Self { call, team: 0, number: 0, args: [0; 4] }
    }

    /// A collective of a team.
    pub fn collective(call: Call, team: u64, number: u64) -> Self {
        Self { call, team, number, args: [0; 4] }
    }

    /// Says how many elements a collective is about, and how many bytes each has.
    pub fn elements(mut self, count: usize, size: usize) -> Self {
        [self.args[0], self.args[1]] = [count as u64, size as u64];
        self
    }

    /// The bytes of a collective's elements; 0 for those that have none.
    pub fn bytes(&self) -> u64 {
        let has_elements = matches!(
            self.call,
            Call::Broadcast
                | Call::Collect
                | Call::Fcollect
                | Call::Alltoall
                | Call::Alltoalls
                | Call::AndReduce
                | Call::OrReduce
                | Call::XorReduce
                | Call::MinReduce
                | Call::MaxReduce
                | Call::SumReduce
                | Call::ProdReduce
                | Call::SumInscan
                | Call::SumExscan
        );
        if has_elements { self.args[0].saturating_mul(self.args[1]) } else { 0 }
    }

    /// Says which PE of the team a collective starts from.
    pub fn root(mut self, pe: usize) -> Self {
        self.args[2] = pe as u64 + 1;
        self
    }

    /// Says which PEs of its parent a new team is made of.
    pub fn split(mut self, start: usize, stride: isize, size: usize) -> Self {
        [self.args[0], self.args[1], self.args[2]] = [start as u64, stride as i64 as u64, size as u64];
        self
    }

    /// A wait for words of this PE.
    pub fn wait(call: Call, words: Awaited) -> Self {
        let bit = |on: bool, at: u32| u64::from(on) << at;
        let [less, equal, greater] = words.accepts;
        let shape = bit(less, 0)
            | bit(equal, 1)
            | bit(greater, 2)
            | bit(words.size == 8, 3)
            | bit(words.signed, 4)
            | bit(words.value.is_some(), 5)
            | bit(words.size == 2, 6)
            | u64::from(words.words.segment.bit()) << SEGMENT_BIT;
        let args = [words.words.offset as u64, words.value.unwrap_or(0), shape, words.count as u64];
        Self { args, ..Self::new(call) }
    }

    /// A `quiet` or `fence` that waits for `under_way` operations.
    pub fn outstanding(call: Call, under_way: usize) -> Self {
        Self { args: [under_way as u64, 0, 0, 0], ..Self::new(call) }
    }

    /// A wait for a lock, which is the word `word`.
    ///
    /// ```
    /// use oxshmem_progress::activity::{Activity, Ahead, Call};
    /// use oxshmem_memory::{Extent, SegmentId};
    ///
    /// let word = Extent { segment: SegmentId::Heap, offset: 64, len: 8 };
    /// let wait = Activity::lock(Call::SetLock, word, Ahead::Pe(2));
    /// assert_eq!(wait.to_string(), "set_lock(lock at heap offset 0x40, behind PE 2)");
    /// ```
    pub fn lock(call: Call, word: Extent, ahead: Ahead) -> Self {
        let ahead = match ahead {
            Ahead::Unknown => 0,
            Ahead::ThisPe => 1,
            Ahead::Pe(pe) => pe as u64 + 2,
        };
        let args = [word.offset as u64, ahead, u64::from(word.segment.bit()) << SEGMENT_BIT, 0];
        Self { args, ..Self::new(call) }
    }
}

/// Where a PE shows what it waits for and what it does. A clone is the same board.
///
/// Entering costs about as much as a lock that is free: it is for operations that are about to
/// sleep.
///
/// ```
/// # use oxshmem_progress::fabric::Fabric;
/// # let fabric = Fabric::new(1, 1 << 16, false)?;
/// use oxshmem_progress::activity::{Activity, Board, Call};
///
/// let board = Board::new(fabric.control, 0, 0, None, None);
/// let entry = board.enter(&Activity::collective(Call::Sync, 0, 7));
/// assert_eq!(board.seen()[0].activity.to_string(), "sync #7 on the world team");
/// drop(entry); // it is over
/// assert!(board.seen().is_empty());
/// # Ok::<(), oxshmem_base::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Board {
    /// What operations look at, without a way to it that they would have to go.
    shown: NonNull<Shown>,
    control: Arc<Control>,
    block: usize,
    watchdog: Option<Arc<dyn Watcher>>,
}

// SAFETY: `shown` is in the memory of `control`, which is `Send` and `Sync`, and atomic.
unsafe impl Send for Board {}
// SAFETY: as above.
unsafe impl Sync for Board {}

/// The place of an entry. It does not end by itself: see [`Entry`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "an entry that nobody takes off stays"]
pub struct Place(u8);

/// Says that there was no slot, but that it counts.
const MORE: Place = Place(u8::MAX);

impl Place {
    /// No entry.
    pub const NONE: Self = Self(u8::MAX - 1);
}

impl Board {
    /// The board of PE `me`, whose entries `watchdog` looks after. The executable's globals, if
    /// they are symmetric, are behind the heap, from `globals_at` on.
    pub fn new(
        control: Arc<Control>,
        block: usize,
        me: usize,
        globals_at: Option<usize>,
        watchdog: Option<Arc<dyn Watcher>>,
    ) -> Self {
        let shown = &control.page(block).shown;
        shown.globals_at.store(globals_at.map_or(u64::MAX, |at| at as u64), Ordering::Relaxed);
        shown.pe.store(me as u64 | u64::from(std::process::id()) << 32, Ordering::Relaxed);
        shown.standing.store(Standing::Joined as u64, Ordering::Relaxed);
        shown.phase_changes.store(0, Ordering::Relaxed);
        shown.phase.iter().for_each(|word| word.store(0, Ordering::Relaxed));
        // Release: a reader that sees the form sees what was stored above.
        shown.form.store(FORM, Ordering::Release);
        Self { shown: NonNull::from(shown), control, block, watchdog }
    }

    /// Enters what this PE waits for, until the entry is dropped.
    pub fn enter(&self, activity: &Activity) -> Entry {
        Entry { place: self.put(activity), board: self.clone() }
    }

    /// [`enter`](Self::enter), where the caller [`takes`](Self::take) the entry off again.
    pub fn put(&self, activity: &Activity) -> Place {
        let place = match (0..SLOTS).find(|&slot| self.try_put(&self.shown().slots[slot], activity)) {
            Some(slot) => Place(slot as u8),
            None => {
                self.shown().more.fetch_add(1, Ordering::SeqCst);
                MORE
            }
        };
        if let Some(watchdog) = &self.watchdog {
            // Either we see that it sleeps, or it sees the slot taken: both sides are SeqCst.
            watchdog.entered();
        }
        place
    }

    /// Takes an entry off.
    pub fn take(&self, place: Place) {
        match place {
            Place::NONE => {}
            MORE => _ = self.shown().more.fetch_sub(1, Ordering::Relaxed),
            Place(slot) => {
                let BoardSlot { state, since, .. } = &self.shown().slots[usize::from(slot)];
                if self.is_watched() {
                    // Relaxed: as below.
                    self.waited(exactly_now().saturating_sub(since.load(Ordering::Relaxed)));
                }
                // Relaxed: nobody else changes the slot while it is ours.
                let entered = state.load(Ordering::Relaxed);
                state.store(entered - ENTERED + STATES, Ordering::Release);
            }
        }
    }

    /// From now on the PE is in the phase of that name, or in none if it is empty. What is longer
    /// than [`NAME_BYTES`](crate::phase::NAME_BYTES) is cut.
    pub fn phase(&self, name: &str) {
        let (Shown { phase_changes, phase, .. }, words) = (self.shown(), name_words(name));
        // Relaxed: if it has changed since, the exchange fails.
        let before = phase_changes.load(Ordering::Relaxed);
        // Acquire: what is stored below comes behind what another thread has stored before.
        let (acquire, relaxed) = (Ordering::Acquire, Ordering::Relaxed);
        if !before.is_multiple_of(2)
            || phase_changes.compare_exchange(before, before.wrapping_add(1), acquire, relaxed).is_err()
        {
            // Another thread marks a phase at the same time, which counts as the later one.
            return;
        }
        // A reader that sees one of the words below also sees that they change.
        fence(Ordering::Release);
        phase.iter().zip(words).for_each(|(to, word)| to.store(word, Ordering::Relaxed));
        // Release: a reader that sees that the change is over sees the name.
        phase_changes.store(before.wrapping_add(2), Ordering::Release);
    }

    /// What is on this board now, as others see it.
    pub fn seen(&self) -> Vec<Seen> {
        let board = Boards::here(&self.control).read_one(self.block);
        board.map(|board| board.seen).unwrap_or_default()
    }

    /// The PE has left the job: whatever is still entered is nobody's any more, and its phase is
    /// over.
    pub fn leave(&self) {
        self.phase("");
        self.shown().standing.store(Standing::Finalized as u64, Ordering::Relaxed);
        if let Some(watchdog) = &self.watchdog {
            watchdog.left();
        }
    }

    fn try_put(&self, slot: &BoardSlot<AtomicU64>, activity: &Activity) -> bool {
        let free = slot.state.load(Ordering::Relaxed);
        if free % STATES != FREE
            || slot.state.compare_exchange(free, free + WRITING, Ordering::SeqCst, Ordering::Relaxed).is_err()
        {
            return false;
        }
        // A reader that sees one of the words below also sees that the slot is being written.
        fence(Ordering::Release);
        let Activity { call, team, number, args } = *activity;
        slot.call.store(call as u64, Ordering::Relaxed);
        slot.since.store(if self.is_watched() { exactly_now() } else { now() }, Ordering::Relaxed);
        slot.team.store(team, Ordering::Relaxed);
        slot.number.store(number, Ordering::Relaxed);
        slot.args.iter().zip(args).for_each(|(word, arg)| word.store(arg, Ordering::Relaxed));
        // Release: a reader that sees the slot entered sees what was entered.
        slot.state.store(free + ENTERED, Ordering::Release);
        true
    }

    #[inline(always)]
    fn shown(&self) -> &Shown {
        // SAFETY: it is in the memory of `control`, which lives as long as `self`.
        unsafe { self.shown.as_ref() }
    }
}

/// An entry on a [`Board`], until it is dropped.
#[derive(Debug)]
#[must_use = "the entry is gone when this is dropped"]
pub struct Entry {
    board: Board,
    place: Place,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.board.take(self.place);
    }
}

/// Nanoseconds of the clock that all processes of the host share. To some milliseconds, as reading
/// it exactly costs several times as much.
fn now() -> u64 {
    nanos(ClockId::MonotonicCoarse)
}

/// Nanoseconds of the clock that all processes of the host share, read exactly.
fn exactly_now() -> u64 {
    nanos(ClockId::Monotonic)
}

fn nanos(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
