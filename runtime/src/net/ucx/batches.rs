//! Batches over UCX: active messages that the target applies, counts, and counts back.
//!
//! UCX's flush says nothing about active messages, so every PE keeps [for each other one](super::lines) how many batches it has sent
//! and how many of them that PE has said to have applied. Such answers give the count so far, so that one is enough for many
//! batches, and their order does not matter.

use std::{
    collections::HashMap,
    hash::BuildHasherDefault,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use oxshmem_base::Result;
use oxshmem_progress::{
    completion::{Completion, complete},
    failure::Failure,
};

use super::{
    arrivals::{ANSWER, APPLIED, Arrival, BATCH, GOODBYE, Note, QUESTION, SHORT_BATCH, WORD, with_words},
    bulk::Gets,
    departures::Form,
    fetches::Fetches,
    lines::{Line, Stamp},
    offers::{Bytes, Offer, Offered},
    operation::{Kind, Operation},
    worker::{Inner, News, NumberHasher, Worker},
};
use crate::net::{Batch, apply};

/// Bytes below which a batch carries its stamp in its last word. A message without a header goes to TCP in one
/// piece, by a cheaper system call; for a longer one, whose data UCX may offer, it has to be known first who sends it.
const WHOLE: usize = 15 << 9;

/// Bytes from which on a batch takes so long that to be told of it counts for nothing.
const TOLD: usize = 1 << 10;

/// What is counted for each PE.
#[derive(Default)]
pub(super) struct Gate {
    lines: HashMap<usize, Line, BuildHasherDefault<NumberHasher>>,
    /// How many wait for batches to be applied, on all lines.
    waiting: usize,
    /// Whom an answer is owed.
    owed: Vec<usize>,
    /// Messages whose data UCX is to bring.
    pub(super) offered: Vec<Offered>,
    pub(super) fetches: Fetches,
    pub(super) gets: Gets,
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

impl Gate {
    /// Whether somebody waits for an answer, or for what was sent to be applied.
    pub(super) fn is_awaited(&self) -> bool {
        self.n_waiting() > 0
    }

    /// How many wait for an answer, or for what was sent to be applied.
    pub(super) fn n_waiting(&self) -> usize {
        self.fetches.asked.len() + self.gets.asked.len() + self.waiting
    }

    fn line(&mut self, pe: usize) -> &mut Line {
        self.lines.entry(pe).or_default()
    }

    /// How many batches `pe` has to apply in all, if it has not.
    pub(super) fn unapplied(&self, pe: usize) -> Option<u64> {
        self.lines.get(&pe)?.unapplied()
    }

    /// How many batches `pe` has to apply before what was offered to it has come, if it has not.
    pub(super) fn unapplied_long(&self, pe: usize) -> Option<u64> {
        self.lines.get(&pe)?.unapplied_long()
    }

    /// Keeps `done` until `pe` has applied `count` batches, for which it may have to be asked; gives it back if there is nothing to wait
    /// for.
    pub(super) fn wait(&mut self, pe: usize, count: u64, done: Completion) -> Result<bool, Completion> {
        let waits = self.line(pe).wait(count, done);
        self.waiting += usize::from(waits.is_ok());
        waits
    }

    /// `pe` has applied so many batches. Whom to tell.
    fn applied(&mut self, pe: usize, count: u64) -> Vec<Completion> {
        let over = self.line(pe).applied(count);
        self.waiting -= over.len();
        over
    }

    /// `pe` will apply nothing any more.
    pub(super) fn fail(&mut self, pe: usize) -> Vec<Completion> {
        let failed = self.line(pe).fail();
        self.waiting -= failed.len();
        failed
    }

    pub(super) fn fail_all(&mut self) -> Vec<Completion> {
        let pes: Vec<usize> = self.lines.keys().copied().collect();
        pes.into_iter().flat_map(|pe| self.fail(pe)).collect()
    }

    /// Whether there is anything to be sent or fetched that other PEs wait for.
    fn owes(&self) -> bool {
        !(self.owed.is_empty()
            && self.offered.is_empty()
            && self.fetches.owes_none()
            && self.gets.owes_none())
    }

    /// Notes that `pe` is to be told how many of its batches were applied, if it is. Whether there is something new to be told.
    fn owe(&mut self, pe: usize) -> bool {
        if !self.line(pe).owes() {
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
        let stamp = self.announce_batch(pe, &batch);
        self.send_announced(pe, stamp, batch)
    }

    /// Counts a batch that is about to be sent to `pe`.
    fn announce_batch(&self, pe: usize, batch: &Batch) -> Stamp {
        let bytes = batch.bytes();
        self.announce(pe, bytes >= WHOLE, bytes >= TOLD)
    }

    /// Counts a batch or a put, of which the data may come later if it `is_long`. Whether it takes so long by itself that to be told of
    /// it `is_cheap`.
    pub(super) fn announce(&self, pe: usize, is_long: bool, is_cheap: bool) -> Stamp {
        if is_long {
            // Relaxed: whoever must not overtake it is started behind it, by whatever orders the two.
            self.has_offered.store(true, Ordering::Relaxed);
        }
        self.gate().line(pe).announce(self.me, is_long, is_cheap)
    }

    fn send_announced(&self, pe: usize, stamp: Stamp, batch: Batch) -> Result<()> {
        let (mut words, stamp) = (batch.into_words(), stamp.bits());
        let started = if size_of_val(&*words) < WHOLE {
            words.push(stamp);
            self.say(pe, SHORT_BATCH, Operation::new(Kind::Words(words)))
        } else {
            let (from, len) = (words.as_ptr().cast(), size_of_val(&*words));
            let operation = Operation::new(Kind::Words(words)).with_header([stamp]);
            self.start(pe, operation, |_, peer, operation| {
                // SAFETY: the words are the operation's.
                unsafe { self.send_bytes(peer, BATCH, operation, from, len, Form::Free) }
            })
        };
        if started.is_err() {
            self.applies_no_more(pe);
        }
        started
    }

    /// Nothing more can be sent to `pe`, so nothing more will be applied.
    pub(super) fn applies_no_more(&self, pe: usize) {
        let failed = self.gate().fail(pe);
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
            let full = full.map(|batch| (self.announce_batch(pe, &batch), batch));
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
            self.set_gathering(!gathered.batches.is_empty());
            let announced =
                batches.into_iter().map(|(pe, batch)| (pe, self.announce_batch(pe, &batch), batch));
            announced.collect::<Vec<_>>()
        };
        for (pe, stamp, batch) in batches {
            // If that fails, so does the flush that everybody needs who wants to know.
            let _ = self.send_announced(pe, stamp, batch);
        }
    }

    /// Applies a batch.
    pub(super) fn perform(&self, stamp: Stamp, words: &[u64]) {
        let Some(from) = self.sender(stamp.from() as u64) else { return };
        // SAFETY: both are this PE's memory, which is mapped for as long as its worker is there.
        let applied = unsafe { apply(words, self.block, &[&self.memory, &self.scratch]) };
        if let Err(error) = applied {
            self.fail(Failure::PeLost { pe: from, how: error.to_string() });
        }
        self.hear_of(from, |line| line.perform(stamp));
    }

    /// Notes on `pe`'s line what it has said, and has it told if there is something that it wants to know.
    fn hear_of(&self, pe: usize, note: impl FnOnce(&mut Line)) {
        let mut gate = self.gate();
        note(gate.line(pe));
        let owes = gate.owe(pe);
        drop(gate);
        if owes {
            self.must_reply();
        }
    }

    /// Asks `pe` to perform an atomic operation and to answer.
    pub(super) fn ask(&self, pe: usize, question: [u64; 5]) -> Result<()> {
        self.say(pe, QUESTION, Operation::note(question))
    }

    /// Answers PEs that have asked, as far as this one is connected to them; the others are left to `reply`. Called
    /// with the lock held, which would only cost them time to give back and take again.
    pub(super) fn answer(&self, inner: &Inner) {
        loop {
            let next = self.gate().fetches.next_answer(|pe| inner.peer_of(pe).is_some());
            let Some((pe, answer)) = next else { return };
            let Some(peer) = inner.peer_of(pe) else { return };
            let lent = Operation::note(answer).lend(self, pe);
            let status = self.send_words(peer, ANSWER, lent);
            // A PE that is gone needs no answer.
            drop(self.lent(lent, status));
        }
    }

    /// Tells all PEs that this one was connected to that it leaves, and that the end of the connection is no failure.
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
            // Who has left already need not be told.
            let _ = self.say(pe, GOODBYE, Operation::note([self.me as u64]));
        }
    }

    /// Answers those who asked, and those whose batches were applied, and fetches data that was offered.
    pub(super) fn reply(&self) {
        self.say_of_messages();
        let (owed, offered, answers, wanted) = {
            let mut gate = self.gate();
            if !gate.owes() {
                return;
            }
            let (owed, offered) = (std::mem::take(&mut gate.owed), std::mem::take(&mut gate.offered));
            (owed, offered, gate.fetches.take_answers(), gate.gets.take_wanted())
        };
        for (pe, words) in answers {
            // A PE that is gone needs no answer.
            let _ = self.say(pe, ANSWER, Operation::note(words));
        }
        for pe in owed {
            let performed = self.gate().line(pe).tell();
            let _ = self.say(pe, APPLIED, Operation::note([self.me as u64, performed]));
        }
        wanted.into_iter().for_each(|wish| self.send_wanted(wish));
        offered.into_iter().for_each(|offered| self.fetch_offered(offered));
    }
}

/// A batch has come, or is offered.
pub(super) struct Batched;

impl Arrival for Batched {
    fn came(worker: &Worker, header: &[u64], data: &[u8]) {
        if let &[stamp] = header {
            with_words(data, |words| worker.perform(Stamp::from_bits(stamp), words));
        }
    }

    fn offered(worker: &Worker, header: &[u64], offer: Offer) -> bool {
        let &[stamp] = header else { return false };
        let stamp = Stamp::from_bits(stamp);
        let (from, len) = (stamp.from(), offer.len());
        // What it does to more bytes than this PE has, shorter batches do too: it is none.
        if worker.sender(from as u64).is_none() || len > 4 * (worker.memory.len() + worker.scratch.len()) {
            return false;
        }
        tracing::trace!(target: "oxshmem::net", from, bytes = len, "a batch is offered");
        let mut words = vec![0u64; len.div_ceil(WORD)];
        let to = Bytes { at: words.as_mut_ptr().cast(), len };
        worker.gate().offered.push(Offered::new(offer, from, to, Kind::Arriving { stamp, words }));
        worker.must_reply();
        true
    }
}

/// A batch has come that says at its end who has sent it.
pub(super) struct ShortBatched;

impl Arrival for ShortBatched {
    fn came(worker: &Worker, _header: &[u64], data: &[u8]) {
        with_words(data, |words| {
            if let Some((&stamp, words)) = words.split_last() {
                worker.perform(Stamp::from_bits(stamp), words);
            }
        });
    }
}

/// A PE says up to which number it has applied all batches.
pub(super) struct Applied;

impl Note<2> for Applied {
    fn came(worker: &Worker, [from, count]: [u64; 2]) {
        let Some(from) = worker.sender(from) else { return };
        let over = worker.gate().applied(from, count);
        over.into_iter().for_each(|done| worker.note(News::Over(done)));
    }
}

/// A PE wants to be told when so many of its batches were applied.
pub(super) struct Tell;

impl Note<2> for Tell {
    fn came(worker: &Worker, [from, count]: [u64; 2]) {
        if let Some(from) = worker.sender(from) {
            worker.hear_of(from, |line| line.want(count));
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
