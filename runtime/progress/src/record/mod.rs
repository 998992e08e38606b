//! What a PE has done, written to a file while it does it: `SHMEM_TRACE`.
//!
//! Each PE maps a file of its own and writes records of its operations, waits and collectives to a
//! ring in it. The map is shared with the file, so the kernel has what was written even if the
//! process is killed. Beside the ring are the totals of each target, which stay exact when old
//! records are overwritten. A record is written under a lock of one instruction: that is cheaper
//! than to make each of its counters atomic, and nothing is done within it but some stores.
//!
//! What takes long is recorded when it begins, and completed in place: the file of a PE that was
//! killed shows what it was in.
//!
//! | module | |
//! |---|---|
//! | [`form`] | what is where in the file |
//! | `clock` | what records are stamped with |
//! | `file` | the file, made and mapped |

mod clock;
mod file;
pub mod form;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    path::Path,
    sync::{
        Arc,
        atomic::{
            AtomicBool, AtomicU64,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
};

use oxshmem_base::Result;
use oxshmem_memory::{Extent, copy::prefetch_write};

use self::{
    clock::Clock,
    file::File,
    form::{MANY, NAMES, NO_TARGET, Pair, RECORD_WORDS, Record, TOTAL_WORDS, packed, place, unpacked, word},
};
use crate::{
    activity::{Activity, Call},
    phase::{NAME_WORDS, name_words},
};

/// After this many records the clocks are compared again, and the phase is recorded again.
const CALIBRATION: u64 = 1 << 12;

/// This many records before it is written, the line of a record is fetched.
const AHEAD: u64 = 8;

/// What a recording says of its PE.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    /// The PE's number.
    pub pe: usize,
    /// How many PEs the job has.
    pub n_pes: usize,
    /// How many of them are on this host, which share what recordings may take of it.
    pub local_pes: usize,
    /// The host's name.
    pub host: &'a str,
}

/// The recording of one PE. Whether it is on is in the word of the PE's
/// [board](crate::activity::Board::is_recorded).
///
/// ```
/// # let dir = std::env::temp_dir().join(format!("recorder-{}", std::process::id()));
/// use oxshmem_progress::activity::Call;
/// use oxshmem_progress::record::{Head, Recorder};
///
/// let head = Head { pe: 0, n_pes: 2, local_pes: 2, host: "node1" };
/// let recorder = Recorder::create(&dir, &head)?;
/// let begin = recorder.now();
/// // A store to PE 1, say.
/// recorder.operation(Call::P, 1, 8, 0, begin);
/// assert_eq!(recorder.records(), 1);
/// recorder.finalize();
/// # std::fs::remove_dir_all(&dir).unwrap();
/// # Ok::<(), oxshmem_base::Error>(())
/// ```
pub struct Recorder {
    file: File,
    clock: Clock,
    n_pes: usize,
    /// The capacity, less one.
    mask: u64,
    /// Taken while a record is written.
    taken: AtomicBool,
    /// When the batch began that sessions gather.
    batch_since: AtomicU64,
    /// The number of the phase that the PE is in, or 0. It changes under the lock.
    phase: AtomicU64,
}

/// A record that was begun. It does not complete by itself: see [`Pending`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slot(u64);

impl Slot {
    /// No record.
    pub const NONE: Self = Self(0);
}

impl Recorder {
    /// Makes the file of a PE in the folder `dir`, which is made if need be.
    ///
    /// # Errors
    /// The errors of the system, among them that there is no room for the file.
    pub fn create(dir: &Path, head: &Head<'_>) -> Result<Self> {
        let clock = Clock::new();
        let file = File::create(dir, head, clock.pair())?;
        let mask = file.capacity() - 1;
        Ok(Self {
            file,
            clock,
            n_pes: head.n_pes,
            mask,
            taken: AtomicBool::new(false),
            batch_since: AtomicU64::new(0),
            phase: AtomicU64::new(0),
        })
    }

    /// The time, as records have it.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        self.clock.now()
    }

    /// Records that were ever begun.
    pub fn records(&self) -> u64 {
        self.file.head(word::NEXT).load(Relaxed)
    }

    /// An operation on PE `target`, which was called at `begin` and is complete. `number`: see
    /// [`Record::number`]. One of a word is taken to be complete when it was called: to read the
    /// clock again would take longer than the operation.
    #[inline]
    pub fn operation(&self, call: Call, target: usize, bytes: usize, number: u64, begin: u64) {
        let now = if bytes <= size_of::<u64>() { begin } else { self.now() };
        let (target, bytes) = (target as u32, bytes as u64);
        let record = Record { call, target, bytes, team: 0, number, begin, initiated: now, completed: now };
        self.write(&record);
    }

    /// One that was called at `begin`, has been initiated now, and goes on.
    pub fn operation_begun(&self, call: Call, target: usize, bytes: usize, number: u64, begin: u64) -> Slot {
        let (target, bytes, initiated) = (target as u32, bytes as u64, self.now());
        self.write(&Record { call, target, bytes, team: 0, number, begin, initiated, completed: 0 })
    }

    /// A wait for words or for anything else, which begins now.
    pub fn wait_begun(&self, call: Call, words: Option<Extent>) -> Slot {
        let begin = self.now();
        let (number, bytes) = words.map_or((0, 0), |words| (place(words), words.len as u64));
        self.write(&Record {
            call,
            target: NO_TARGET,
            bytes,
            team: 0,
            number,
            begin,
            initiated: begin,
            completed: 0,
        })
    }

    /// A collective that was called at `begin`, and has been initiated now.
    pub fn collective_begun(&self, activity: &Activity, begin: u64) -> Slot {
        let Activity { call, team, number, .. } = *activity;
        let (bytes, initiated) = (activity.bytes(), self.now());
        self.write(&Record { call, target: NO_TARGET, bytes, team, number, begin, initiated, completed: 0 })
    }

    /// What was begun is complete. Does nothing if the record was overwritten meanwhile.
    pub fn complete(&self, slot: Slot) {
        let Some(index) = slot.0.checked_sub(1) else { return };
        let now = self.now();
        self.locked(|| {
            let words = self.record(index);
            // Relaxed: see `put`.
            if words[0].load(Relaxed) == form::first_word(index) {
                words[RECORD_WORDS - 1].store(now, Relaxed);
            }
        });
    }

    /// An operation of a session on PE `target`, which is counted, and recorded with the others of
    /// its [`batch`](Self::batch).
    #[inline]
    pub fn element(&self, target: usize, bytes: usize) {
        if target >= self.n_pes {
            return;
        }
        let total = self.file.total(target * TOTAL_WORDS + 2);
        // Relaxed: a counter.
        if total.fetch_add(packed(bytes), Relaxed) >= MANY {
            self.add_up(target);
        }
    }

    /// A session begins.
    pub fn batch_begun(&self) {
        self.batch_since.store(self.now(), Relaxed);
    }

    /// A session's operations leave: those since the last time are one record. Operations of other
    /// sessions of this PE meanwhile count among them.
    pub fn batch(&self) {
        let (mut operations, mut bytes) = (0, 0);
        for target in 0..self.n_pes {
            let (more_operations, more_bytes) = self.add_up(target);
            operations += more_operations;
            bytes += more_bytes;
        }
        let now = self.now();
        // Relaxed: as above.
        let begin = self.batch_since.swap(now, Relaxed);
        if operations > 0 {
            self.write(&Record {
                call: Call::SessionBatch,
                target: NO_TARGET,
                bytes,
                team: 0,
                number: operations,
                begin: if begin == 0 { now } else { begin },
                initiated: now,
                completed: now,
            });
        }
    }

    /// From now on the PE is in the phase of that name, or in none if it is empty. What is longer
    /// than [`NAME_BYTES`](crate::phase::NAME_BYTES) is cut.
    pub fn phase(&self, name: &str) {
        let (name, begin) = (name_words(name), self.now());
        let index = self.locked(|| {
            let number = self.number_of(name);
            // Relaxed: the lock orders it.
            let before = self.phase.swap(number, Relaxed);
            self.put(&phase_record(number, before, 0, begin))
        });
        self.look_after(index);
    }

    /// The number of the phase that has this name, which is made known if need be. The caller has
    /// the lock.
    fn number_of(&self, name: [u64; NAME_WORDS]) -> u64 {
        if name[0] == 0 {
            return 0;
        }
        for place in 0..NAMES {
            let word = |i: usize| self.file.head(word::NAMES + place * NAME_WORDS + i);
            // Relaxed, all of them: as in `put`.
            if word(0).load(Relaxed) == 0 {
                // Its length last, which says that it is there.
                (0..NAME_WORDS).rev().for_each(|i| word(i).store(name[i], Relaxed));
                return place as u64 + 1;
            }
            if (0..NAME_WORDS).all(|i| word(i).load(Relaxed) == name[i]) {
                return place as u64 + 1;
            }
        }
        NAMES as u64 + 1
    }

    /// Adds what sessions have done with `target` to its totals, and returns it.
    fn add_up(&self, target: usize) -> (u64, u64) {
        let packed = self.file.total(target * TOTAL_WORDS + 2);
        // Relaxed: as above. Nearly all are 0 where there are many PEs.
        if packed.load(Relaxed) == 0 {
            return (0, 0);
        }
        let (operations, bytes) = unpacked(packed.swap(0, Relaxed));
        self.locked(|| self.count(target, operations, bytes));
        (operations, bytes)
    }

    /// Compares the clocks, and has the system begin to write the file.
    pub fn flush(&self) {
        self.calibrate();
        self.file.flush();
    }

    /// The PE has left its job in good order.
    pub fn finalize(&self) {
        self.batch();
        self.calibrate();
        self.file.head(word::FINALIZED).store(1, Relaxed);
    }

    fn calibrate(&self) {
        let Pair { ticks, monotonic, of_day } = self.clock.pair();
        self.locked(|| {
            for (i, value) in [ticks, monotonic, of_day].into_iter().enumerate() {
                self.file.head(word::LAST + i).store(value, Relaxed);
            }
        });
    }

    #[inline]
    fn write(&self, record: &Record) -> Slot {
        let index = self.locked(|| self.put(record));
        self.look_after(index);
        Slot(index + 1)
    }

    /// Returns the record's number. The caller has the lock.
    #[inline(always)]
    fn put(&self, record: &Record) -> u64 {
        let next = self.file.head(word::NEXT);
        // Relaxed, all of them: the lock orders this process's threads, and what reads the file
        // does so when the process is gone.
        let index = next.load(Relaxed);
        for (to, value) in self.record(index).iter().zip(record.to_words(index)) {
            to.store(value, Relaxed);
        }
        next.store(index + 1, Relaxed);
        // So that no atomic instruction to come waits for the line of the record after it.
        prefetch_write(self.record(index + AHEAD));
        if (record.target as usize) < self.n_pes {
            self.count(record.target as usize, 1, record.bytes);
        }
        index
    }

    /// What is due once in [`CALIBRATION`] records, of which `index` was written.
    #[inline(always)]
    fn look_after(&self, index: u64) {
        if index % CALIBRATION == CALIBRATION - 1 {
            self.calibrate();
            self.phase_again();
        }
    }

    /// Records the phase that the PE is in, of which the record may be overwritten soon.
    #[cold]
    fn phase_again(&self) {
        let begin = self.now();
        self.locked(|| {
            // Relaxed: the lock orders it.
            let phase = self.phase.load(Relaxed);
            if phase > 0 {
                self.put(&phase_record(phase, phase, 1, begin));
            }
        });
    }

    /// The caller has the lock.
    #[inline(always)]
    fn count(&self, target: usize, operations: u64, bytes: u64) {
        for (i, more) in [operations, bytes].into_iter().enumerate() {
            let total = self.file.total(target * TOTAL_WORDS + i);
            total.store(total.load(Relaxed) + more, Relaxed);
        }
    }

    #[inline(always)]
    fn record(&self, index: u64) -> &[AtomicU64; RECORD_WORDS] {
        self.file.record((index & self.mask) as usize)
    }

    #[inline(always)]
    fn locked<R>(&self, work: impl FnOnce() -> R) -> R {
        // Acquire, and release below: what one thread has stored is there for the next one.
        while self.taken.swap(true, Acquire) {
            self.wait();
        }
        let result = work();
        self.taken.store(false, Release);
        result
    }

    #[cold]
    #[inline(never)]
    fn wait(&self) {
        for _ in 0..64 {
            if !self.taken.load(Relaxed) {
                return;
            }
            std::hint::spin_loop();
        }
        std::thread::yield_now();
    }
}

/// See [`Record`].
fn phase_record(number: u64, before: u64, bytes: u64, begin: u64) -> Record {
    let (call, team, [initiated, completed]) = (Call::Phase, before, [begin; 2]);
    Record { call, target: NO_TARGET, bytes, team, number, begin, initiated, completed }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Recorder({} records)", self.records())
    }
}

/// A record that was begun, and completes when this is dropped.
#[derive(Debug)]
#[must_use = "it completes when this is dropped"]
pub struct Pending {
    recorder: Arc<Recorder>,
    slot: Slot,
}

impl Pending {
    /// Of `slot`, which `recorder` has begun.
    pub fn new(recorder: &Arc<Recorder>, slot: Slot) -> Self {
        Self { recorder: Arc::clone(recorder), slot }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.recorder.complete(self.slot);
    }
}
