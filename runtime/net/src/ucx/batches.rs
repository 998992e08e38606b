//! Batches over UCX: active messages that the target applies, counts, and counts back.
//!
//! UCX's flush says nothing about active messages, so every PE keeps [for each other
//! one](super::channel) how many batches it has sent and how many of them that PE has reported as
//! applied. Such answers give the count so far, so that one is enough for many batches, and their
//! order does not matter.

use std::{
    collections::HashMap,
    hash::BuildHasherDefault,
    mem::take,
    time::{Duration, Instant},
};

use oxshmem_base::Result;
use oxshmem_progress::{
    completion::{Completion, complete},
    failure::Failure,
};

use super::{
    Event, NumberHasher, Worker,
    arrivals::{ANSWER, APPLIED, Arrival, BATCH, GOODBYE, Note, with_words},
    asks::Asks,
    channel::{Channel, Stamp},
    operation::{Kind, Operation},
};
use crate::{Batch, apply};

/// What is counted for each PE, and what is owed to it.
#[derive(Default)]
pub(super) struct Channels {
    all: HashMap<usize, Channel, BuildHasherDefault<NumberHasher>>,
    /// How many wait for batches to be applied, on all channels.
    waiting: usize,
    /// The PEs that a report is owed to.
    owed: Vec<usize>,
    pub(super) asks: Asks,
}

/// Operations that wait for more to travel with.
pub(super) struct Gathered {
    batches: HashMap<usize, Batch, BuildHasherDefault<NumberHasher>>,
    /// When the first of them came.
    since: Instant,
}

impl Default for Gathered {
    fn default() -> Self {
        Self { batches: HashMap::default(), since: Instant::now() }
    }
}

/// The largest entry that is gathered: what a batch may have beyond its room.
const ENTRY: usize = 512;

impl Channels {
    /// Whether anything waits for an answer, or for what was sent to be applied.
    pub(super) fn is_awaited(&self) -> bool {
        self.n_waiting() > 0
    }

    /// How many wait for an answer, or for what was sent to be applied.
    pub(super) fn n_waiting(&self) -> usize {
        self.asks.asked.len() + self.waiting
    }

    fn to(&mut self, pe: usize) -> &mut Channel {
        self.all.entry(pe).or_default()
    }

    /// How many batches `pe` has to apply in all, if it has not.
    pub(super) fn unapplied(&self, pe: usize) -> Option<u64> {
        self.all.get(&pe)?.unapplied()
    }

    /// Keeps `done` until `pe` has applied `count` batches, and returns whether to ask it for a
    /// report; gives `done` back if there is nothing to wait for.
    pub(super) fn wait(&mut self, pe: usize, count: u64, done: Completion) -> Result<bool, Completion> {
        let waits = self.to(pe).wait(count, done);
        self.waiting += usize::from(waits.is_ok());
        waits
    }

    /// `pe` has applied this many batches. Returns what completes.
    fn applied(&mut self, pe: usize, count: u64) -> Vec<Completion> {
        let over = self.to(pe).applied(count);
        self.waiting -= over.len();
        over
    }

    /// `pe` will apply nothing any more.
    pub(super) fn fail(&mut self, pe: usize) -> Vec<Completion> {
        let failed = self.to(pe).fail();
        self.waiting -= failed.len();
        failed
    }

    pub(super) fn fail_all(&mut self) -> Vec<Completion> {
        let pes: Vec<usize> = self.all.keys().copied().collect();
        pes.into_iter().flat_map(|pe| self.fail(pe)).collect()
    }

    /// Whether there is anything to be sent that other PEs wait for.
    fn owes(&self) -> bool {
        !(self.owed.is_empty() && self.asks.answers.is_empty())
    }

    /// Notes that `pe` is owed a report of how many of its batches were applied, if it is. Whether
    /// it is.
    fn owe(&mut self, pe: usize) -> bool {
        if !self.to(pe).owes() {
            return false;
        }
        if !self.owed.contains(&pe) {
            self.owed.push(pe);
        }
        true
    }
}

impl Worker {
    /// Has `pe` apply a batch.
    pub(super) fn send_batch(&self, pe: usize, batch: Batch) -> Result<()> {
        let stamp = self.announce(pe);
        self.send_announced(pe, stamp, batch)
    }

    /// Counts a batch that is about to be sent to `pe`.
    fn announce(&self, pe: usize) -> Stamp {
        self.channels().to(pe).announce(self.me)
    }

    fn send_announced(&self, pe: usize, stamp: Stamp, batch: Batch) -> Result<()> {
        let mut words = batch.into_words();
        words.push(stamp.bits());
        let started = self.send_words(pe, BATCH, Operation::new(Kind::Words(words)));
        if started.is_err() {
            self.applies_no_more(pe);
        }
        started
    }

    /// Nothing more can be sent to `pe`, so nothing more will be applied.
    pub(super) fn applies_no_more(&self, pe: usize) {
        let failed = self.channels().fail(pe);
        failed.into_iter().for_each(|done| complete(done, self.reachable(pe)));
    }

    /// Adds to what is gathered for `pe`, and sends it if that makes `room` bytes.
    pub(super) fn gather(&self, pe: usize, room: usize, add: &mut dyn FnMut(&mut Batch)) -> Result<()> {
        let (full, first) = {
            let mut gathered = self.gathered();
            let first = gathered.batches.is_empty();
            if first {
                gathered.since = Instant::now();
            }
            let batch = gathered.batches.entry(pe).or_insert_with(|| Batch::with_capacity(room + ENTRY));
            add(batch);
            let full = if batch.bytes() < room { None } else { gathered.batches.remove(&pe) };
            // With the lock held: a flush from now on waits for it.
            let full = full.map(|batch| (self.announce(pe), batch));
            self.set_gathering(!gathered.batches.is_empty());
            (full, first)
        };
        match full {
            Some((stamp, batch)) => self.send_announced(pe, stamp, batch),
            None => {
                if first {
                    self.gathering_began();
                }
                Ok(())
            }
        }
    }

    /// How old the oldest operation is that was gathered and not sent.
    pub(super) fn gathering_for(&self) -> Option<Duration> {
        let gathered = self.gathered();
        (!gathered.batches.is_empty()).then(|| gathered.since.elapsed())
    }

    /// Sends what was gathered, for `pe` if given.
    pub(super) fn send_gathered(&self, pe: Option<usize>) {
        if !self.is_gathering() {
            return;
        }
        let batches = {
            let mut gathered = self.gathered();
            let batches: Vec<_> = match pe {
                None => gathered.batches.drain().collect(),
                Some(pe) => gathered.batches.remove_entry(&pe).into_iter().collect(),
            };
            let announced = batches.into_iter().map(|(pe, batch)| (pe, self.announce(pe), batch));
            let announced: Vec<_> = announced.collect();
            // Last: a flush that finds nothing gathered finds it announced.
            self.set_gathering(!gathered.batches.is_empty());
            announced
        };
        for (pe, stamp, batch) in batches {
            // If that fails, so does the flush that would tell.
            let _ = self.send_announced(pe, stamp, batch);
        }
    }

    /// Applies a batch.
    fn perform(&self, stamp: Stamp, words: &[u64]) {
        let Some(from) = self.sender(stamp.from() as u64) else { return };
        // SAFETY: both are this PE's memory, which is mapped for as long as its worker is there.
        let applied = unsafe { apply(words, self.block, &[&self.memory, &self.scratch]) };
        if let Err(error) = applied {
            self.fail(Failure::PeLost { pe: from, how: error.to_string() });
        }
        self.note_on(from, |channel| channel.perform(stamp));
    }

    /// Notes on `pe`'s channel what it has sent, and has a report sent if it waits for one.
    fn note_on(&self, pe: usize, note: impl FnOnce(&mut Channel)) {
        let mut channels = self.channels();
        note(channels.to(pe));
        let owes = channels.owe(pe);
        drop(channels);
        if owes {
            self.must_reply();
        }
    }

    /// Announces to all PEs that this one was connected to that it leaves, and that the end of the
    /// connection is no failure.
    pub(super) fn take_leave(&self) {
        let known: Vec<usize> = {
            let inner = self.inner();
            let known = inner.peers.iter().enumerate();
            known
                .filter(|(_, peer)| peer.as_ref().is_some_and(|peer| peer.failed.is_none()))
                .map(|(pe, _)| pe)
                .collect()
        };
        for pe in known {
            // A PE that has left already need not know.
            let _ = self.send_words(pe, GOODBYE, Operation::note([self.me as u64]));
        }
    }

    /// Sends what other PEs wait for, which is answers and reports of applied batches, and fetches
    /// the messages that they offer.
    pub(super) fn reply(&self) {
        self.fetch_wanted();
        let (owed, answers) = {
            let mut channels = self.channels();
            if !channels.owes() {
                return;
            }
            (take(&mut channels.owed), take(&mut channels.asks.answers))
        };
        // A PE that is gone needs nothing any more.
        for (pe, words) in answers {
            let _ = self.send_words(pe, ANSWER, Operation::note(words));
        }
        for pe in owed {
            let performed = self.channels().to(pe).report();
            let _ = self.send_words(pe, APPLIED, Operation::note([self.me as u64, performed]));
        }
    }
}

/// A batch has come, with its stamp at its end.
pub(super) struct Batched;

impl Arrival for Batched {
    fn came(worker: &Worker, _header: &[u64], data: &[u8]) {
        with_words(data, |words| {
            if let Some((&stamp, words)) = words.split_last() {
                worker.perform(Stamp::from_bits(stamp), words);
            }
        });
    }
}

/// A PE reports up to which number it has applied all batches.
pub(super) struct Applied;

impl Note<2> for Applied {
    fn came(worker: &Worker, [from, count]: [u64; 2]) {
        let Some(from) = worker.sender(from) else { return };
        let over = worker.channels().applied(from, count);
        over.into_iter().for_each(|done| worker.note(Event::Over(done)));
    }
}

/// A PE wants a report when this many of its batches were applied.
pub(super) struct WantApplied;

impl Note<2> for WantApplied {
    fn came(worker: &Worker, [from, count]: [u64; 2]) {
        if let Some(from) = worker.sender(from) {
            worker.note_on(from, |channel| channel.want(count));
        }
    }
}

/// A PE has left.
pub(super) struct Goodbye;

impl Note<1> for Goodbye {
    fn came(worker: &Worker, [from]: [u64; 1]) {
        if let Some(from) = worker.sender(from) {
            worker.ends().left.insert(from);
        }
    }
}
