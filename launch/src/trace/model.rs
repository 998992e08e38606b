//! What a job did, put together from the files of its PEs.

use oxshmem_progress::activity::Call;

/// What a job did: one entry for each PE, their clocks aligned. Times are in nanoseconds since the
/// job's first record.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// What was run.
    pub program: String,
    /// In the order of their numbers. A PE whose file could not be read is missing.
    pub pes: Vec<PeTrace>,
    /// What ended waits, in the order of the waits' PEs and begins.
    pub flows: Vec<Flow>,
    /// The names of the phases that the program has marked, in the order of their first begin.
    pub phases: Vec<String>,
}

/// What one PE did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PeTrace {
    /// Its number in the job.
    pub pe: usize,
    /// The host that it ran on.
    pub host: String,
    /// Its process.
    pub pid: u32,
    /// When it joined the job.
    pub began: u64,
    /// When it finalized, or else the last time of which there is a record.
    pub ended: u64,
    /// Whether the PE finalized; otherwise its record ends where it was killed.
    pub finalized: bool,
    /// Records that the ring has overwritten, the oldest.
    pub lost: u64,
    /// Operations and bytes by target PE, those without any left out. Exact, also where records
    /// were lost.
    pub traffic: Vec<Traffic>,
    /// In the order of their begin.
    pub events: Vec<Event>,
    /// When a phase began, and its place in [`Trace::phases`], in the order of time. `None` ends
    /// phases. Before the first one the PE is in none.
    pub phases: Vec<(u64, Option<usize>)>,
}

impl PeTrace {
    /// Since when all that it did is in the record.
    pub fn recorded_from(&self) -> u64 {
        match self.events.first() {
            Some(first) if self.lost > 0 => first.begin,
            _ => self.began,
        }
    }

    /// The phase that the PE was in at `time`, as its place in [`Trace::phases`].
    ///
    /// ```
    /// use oxshmem_launch::trace::model::PeTrace;
    ///
    /// let phases = vec![(10, Some(0)), (20, Some(1)), (30, None)];
    /// let pe = PeTrace { phases, ..PeTrace::default() };
    /// assert_eq!([9, 10, 25, 30].map(|time| pe.phase_at(time)), [None, Some(0), Some(1), None]);
    /// ```
    pub fn phase_at(&self, time: u64) -> Option<usize> {
        let behind = self.phases.partition_point(|&(begin, _)| begin <= time);
        self.phases[..behind].last().and_then(|&(_, name)| name)
    }

    /// Each time that the PE was in a phase: which one, from when, and until when.
    pub(super) fn stays(&self) -> impl Iterator<Item = (usize, u64, u64)> {
        let ends = self.phases.iter().skip(1).map(|&(begin, _)| begin).chain([self.ended]);
        let stays = self.phases.iter().zip(ends);
        stays.filter_map(|(&(begin, name), end)| Some((name?, begin, end.max(begin))))
    }
}

/// How much a PE exchanged with one target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// The target's number in the job.
    pub pe: usize,
    /// How many operations.
    pub operations: u64,
    /// The bytes that they moved, in either direction.
    pub bytes: u64,
}

/// What kind of call an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Moves data, or changes a word of another PE.
    Operation,
    /// Waits for words, operations or a lock.
    Wait,
    /// Made by all PEs of a team.
    Collective,
}

/// One call of a PE.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// Its name is what is shown.
    pub call: Call,
    /// Follows from the call.
    pub kind: Kind,
    /// The target of an operation, by its number in the job.
    pub target: Option<usize>,
    /// Bytes that it moved. Of a collective: those of the PE's own contribution.
    pub bytes: u64,
    /// The team of a collective, as in [`Activity`](oxshmem_progress::activity::Activity).
    pub team: u64,
    /// Of a collective: which one of the team's, from 1. Of a batch of a session: its operations. 0
    /// if there is nothing to say.
    pub number: u64,
    /// When it was called.
    pub begin: u64,
    /// When the call had been initiated, and the PE could go on.
    pub initiated: u64,
    /// When it was complete.
    pub completed: u64,
    /// Whether its completion is in the record. If not, the PE was in it at its end, and
    /// `completed` is that end.
    pub is_complete: bool,
    /// How much of it the PE had to wait, rather than initiate or copy.
    pub waited: u64,
}

/// What ended a wait: an event of one PE, and the wait of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The signal, the put, or the release of a lock: the place of its PE in [`Trace::pes`], and of
    /// the event in its [`events`](PeTrace::events).
    pub from: (usize, usize),
    /// The wait, likewise.
    pub to: (usize, usize),
}

impl Kind {
    /// The kind of `call`. A [`Call::Phase`] is no event.
    pub fn of(call: Call) -> Self {
        if call.is_collective() {
            Self::Collective
        } else if call.is_wait() {
            Self::Wait
        } else {
            Self::Operation
        }
    }
}
