//! The PEs of a team, as its collectives see them: numbers, memory, and the messages between them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    task::{Poll, Waker},
};

use oxshmem_base::{Error, Result};
use oxshmem_memory::copy;
use oxshmem_ops::{Cmp, Members, wait::WordWait};
use oxshmem_runtime::Pe;
use oxshmem_spaces::{SymRef, SymSlice, allocation::Allocation};

use crate::{
    choice::Choices,
    crew::Crew,
    processors::{For, Processors},
    scratch::{self, PAYLOAD_AT, SLOTS, TEAM_BYTES},
    signature::Signature,
    span::{Memory, Span},
    sweep::Sweep,
    tree::RADIX,
    wide::Wide,
    words::{self, TeamWords, Words},
};

/// A word through which PEs of a team signal each other. All only grow.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Flag {
    /// Dissemination, round by round, and for every second sync another; or PEs by their distance where all signal all.
    Round(u32, bool),
    /// The counter of a sync.
    Counter,
    /// The release of a sync.
    Release,
    /// Children that have come to a sync.
    Arrived,
    /// PEs that have come to an exchange.
    Gathered,
    /// The release of an exchange.
    Scattered,
    /// PEs that have read the memory of this one, in broadcasts; or how much they have read, where it helps them.
    Taken,
    /// How much of what is to come to this PE its helpers have written, in broadcasts.
    Given,
    /// How much of a broadcast's halves has been written to this PE, which of them has been read from it, and which is taken: see
    /// [`Halves`](crate::share::Halves).
    HalfGiven,
    HalfTaken,
    HalfClaimed,
    /// Verdicts that have arrived.
    Verdict,
    /// Chunks of byte broadcasts that have arrived.
    Chunk,
    /// Chunks of byte broadcasts that this child has taken.
    ChunkTaken(usize),
    /// Proposals of this child that have arrived.
    Proposal(usize),
    /// Messages of the ring and of the other algorithms that pass messages, by their lane.
    Lane(usize),
    /// To which meeting this PE has come, and on which processor it was: see [`Processors`]. Or how often PEs of its [crew](Crew) have come to a
    /// meeting, other than those that the next two count.
    Come,
    /// Of which work in parts this PE's is taken, how many parts have been done, and which work is over: see [`parts`](crate::parts).
    PartTaken,
    PartsDone,
    PartsOver,
    /// How often PEs of its crew have come to a sync by the counter, and to a central exchange.
    CrewCounter,
    CrewGathered,
    /// That PEs have called different things. Nobody sets it to anything else, and nobody looks at another PE's.
    Broken,
}

/// Flags of the rounds of dissemination that 2²⁴ PEs need.
const ROUNDS: usize = 2 * 24;
/// The most PEs that signal each other, all to all.
pub(crate) const ALL_SIGNAL: usize = ROUNDS / 2;
/// Lanes for algorithms that pass messages.
pub(crate) const LANES: usize = 16;

impl Flag {
    #[inline(always)]
    fn index(self) -> usize {
        match self {
            Self::Round(round, odd) => 2 * round as usize + usize::from(odd),
            Self::Counter => ROUNDS,
            Self::Release => ROUNDS + 1,
            Self::Arrived => ROUNDS + 2,
            Self::Gathered => ROUNDS + 3,
            Self::Scattered => ROUNDS + 4,
            Self::Taken => ROUNDS + 5,
            Self::Given => ROUNDS + 6,
            Self::Verdict => ROUNDS + 7,
            Self::Chunk => ROUNDS + 8,
            Self::ChunkTaken(child) => ROUNDS + 9 + child,
            Self::Proposal(child) => ROUNDS + 9 + RADIX + child,
            Self::Lane(lane) => ROUNDS + 9 + 2 * RADIX + lane,
            Self::Come => ROUNDS + 9 + 2 * RADIX + LANES,
            Self::PartTaken => ROUNDS + 10 + 2 * RADIX + LANES,
            Self::PartsDone => ROUNDS + 11 + 2 * RADIX + LANES,
            Self::PartsOver => ROUNDS + 12 + 2 * RADIX + LANES,
            Self::HalfGiven => ROUNDS + 13 + 2 * RADIX + LANES,
            Self::HalfTaken => ROUNDS + 14 + 2 * RADIX + LANES,
            Self::HalfClaimed => ROUNDS + 15 + 2 * RADIX + LANES,
            Self::Broken => ROUNDS + 16 + 2 * RADIX + LANES,
            Self::CrewCounter => ROUNDS + 17 + 2 * RADIX + LANES,
            Self::CrewGathered => ROUNDS + 18 + 2 * RADIX + LANES,
        }
    }

    /// Where it is in the team's scratch memory.
    #[inline(always)]
    pub(crate) fn place(self) -> usize {
        scratch::flag(self.index())
    }
}

const _: () = assert!(ROUNDS + 18 + 2 * RADIX + LANES < scratch::FLAGS);

/// Words of a PE's scratch memory that come to a number, and all of it is over then: one, or a row of which one is left out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Awaited {
    /// Where the first is.
    pub(crate) place: usize,
    pub(crate) number: u64,
    /// From the lowest bit: how many there are, 0 for one alone, which is left out, and bytes from one to the next.
    pub(crate) row: usize,
}

impl Awaited {
    /// The word at a place.
    #[inline(always)]
    pub(crate) fn one(place: usize, number: u64) -> Self {
        Self { place, number, row: 0 }
    }

    /// `n` words from `place` on, that many bytes apart, without one.
    #[inline(always)]
    pub(crate) fn row(place: usize, step: usize, n: usize, without: usize, number: u64) -> Self {
        debug_assert!(n < 1 << 16 && without < 1 << 16);
        Self { place, number, row: n | without << 16 | step << 32 }
    }

    /// The places of all.
    #[inline(always)]
    fn places(self) -> impl Iterator<Item = usize> {
        let (n, without, step) = (self.row & 0xffff, self.row >> 16 & 0xffff, self.row >> 32);
        (0..n).filter(move |&i| i != without).map(move |i| self.place + i * step)
    }
}

/// What is set in a number when PEs have found that they called different things. What has come before counts nevertheless: who
/// has not seen it yet is not told of a later call's error. Others may add to it.
pub(crate) const POISON: u64 = 1 << 63;
/// Added to the place of a word where that of the crew's head is meant.
const AT_HEAD: usize = TEAM_BYTES.next_power_of_two();
/// Where in the general scratch memory it says who called what.
const RECORD_AT: usize = scratch::GENERAL - size_of::<Record>();

/// Two PEs and their calls: PE, signature; PE, signature.
type Record = [u64; 6];

/// The PEs of a team on this host, as its collectives see them, and the way to those on others.
///
/// PEs have two numbers: that in the team, and that among its members on this host, in the same order. Where all members are on
/// this host, they are the same. Collectives within a host know the second only.
///
/// Collectives run one at a time, under the lock of their team's queue, so that the counters here are read and
/// written without read-modify-write instructions.
///
/// ```
/// # use oxshmem::prelude::*;
/// # LocalCluster::run(2, |world| async move {
/// use oxshmem_teams::sync::sync_in;
///
/// let twice = world.team().run("twice", |group| async move {
///     sync_in(&group).await?; // the group is what collectives inside of one run on
///     sync_in(&group).await
/// });
/// twice.await?;
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[derive(Debug)]
pub struct Group {
    pe: Arc<Pe>,
    /// The members on this host, in the order of the team.
    members: Members,
    /// Where their memory is.
    pub(crate) blocks: Members,
    /// Where this PE's is.
    here: usize,
    /// This PE's number among them, and how many they are.
    me: usize,
    n: usize,
    /// This PE's number in the team, and how many PEs that has.
    my_pe: usize,
    n_pes: usize,
    /// The team, if it has members on other hosts.
    wide: Option<Arc<Wide>>,
    /// The team's scratch memory: to be waited for, as words of all PEs, and as a span.
    words: SymSlice<u64>,
    numbers: TeamWords,
    scratch: Span,
    pub(crate) memory: Memory,
    /// Where in the symmetric memory the host's image of device memory begins; far behind all of it if there is none.
    pub(crate) image_from: usize,
    pub(crate) choices: Choices,
    /// What names the team to its PEs: the same on all of them.
    pub(crate) id: u64,
    /// How many syncs have begun.
    syncs: AtomicU64,
    /// How many exchanges.
    exchanges: AtomicU64,
    /// How many collectives in the memory of all PEs.
    sweeps: AtomicU64,
    /// How many messages the stream has carried, and how many of them since every PE was known to have taken all.
    streamed: AtomicU64,
    unsynced: AtomicU64,
    /// What broadcasts of this PE have waited for in all, and what it has waited for in those of others.
    taken: AtomicU64,
    given: AtomicU64,
    /// How many broadcasts have been shared out, and how many works done in parts.
    shares: AtomicU64,
    works: AtomicU64,
    /// How many chunks have been broadcast, and how many agreements made.
    pub(crate) chunks: AtomicU64,
    pub(crate) agreements: AtomicU64,
    /// How many messages each lane has carried to this PE.
    lanes: [AtomicU64; LANES],
    /// Whose broadcast was called last.
    leader: AtomicUsize,
    /// Whose broadcast was halved last.
    halved: AtomicUsize,
    /// Whose byte broadcast was the last.
    pub(crate) last_root: AtomicUsize,
    /// How many messages this PE has sent.
    sent: AtomicU64,
    /// Whether each PE has a processor, and with it a cache, of its own.
    has_lines: bool,
    /// When to let others look.
    pub(crate) processors: Processors,
    /// Whether PEs have called different things, after which none of them begins anything.
    broken: AtomicBool,
}

impl Group {
    /// The team of `members`, of which this PE is number `my_pe`, with its scratch memory at `place`, which holds no number
    /// but 0 on any of them.
    pub(crate) fn new(pe: &Arc<Pe>, members: Members, my_pe: usize, place: usize, id: u64) -> Self {
        let n_pes = members.n();
        let Here { members, blocks, me, wide } = Here::of(pe, members, my_pe, place);
        let range = place * TEAM_BYTES..(place + 1) * TEAM_BYTES;
        // SAFETY: scratch memory is the teams', and this range that of the team at this place.
        let allocation =
            unsafe { Allocation::unowned(Arc::clone(pe), pe.scratch(), range.start, TEAM_BYTES) };
        let memory = Memory::new(pe);
        let crew = Crew::of(pe, &blocks, me, range.start);
        Self {
            n: members.n(),
            choices: Choices::new(pe, members.n(), crew.is_some()),
            members,
            blocks,
            here: pe.block(),
            me,
            my_pe,
            n_pes,
            wide,
            numbers: TeamWords::new(pe.scratch(), range.start, pe.block()),
            words: SymSlice::new(allocation, TEAM_BYTES / size_of::<u64>()),
            scratch: memory.scratch(range),
            memory,
            image_from: pe.spaces().gpu.map_or(usize::MAX, |_| pe.image_at()),
            id,
            syncs: AtomicU64::new(0),
            exchanges: AtomicU64::new(0),
            sweeps: AtomicU64::new(0),
            streamed: AtomicU64::new(0),
            unsynced: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            given: AtomicU64::new(0),
            shares: AtomicU64::new(0),
            works: AtomicU64::new(0),
            chunks: AtomicU64::new(0),
            agreements: AtomicU64::new(0),
            lanes: Default::default(),
            leader: AtomicUsize::new(usize::MAX),
            halved: AtomicUsize::new(usize::MAX),
            last_root: AtomicUsize::new(0),
            sent: AtomicU64::new(0),
            has_lines: !pe.is_crowded() && !pe.in_process(),
            processors: Processors::new(pe.is_crowded() && !pe.in_process(), crew),
            broken: AtomicBool::new(false),
            pe: Arc::clone(pe),
        }
    }

    /// The members of the team, on whichever host.
    pub(crate) fn team(&self) -> &Members {
        match &self.wide {
            None => &self.members,
            Some(wide) => wide.members(),
        }
    }

    /// This PE's number in the team (`OpenSHMEM 1.6 §9.4.1`). It is known at once, and asking cannot fail.
    #[inline(always)]
    pub fn my_pe(&self) -> usize {
        self.my_pe
    }

    /// How many PEs the team has.
    #[inline(always)]
    pub(crate) fn n_pes(&self) -> usize {
        self.n_pes
    }

    /// The team, if it has members on other hosts.
    #[inline(always)]
    pub(crate) fn wide(&self) -> Option<&Arc<Wide>> {
        self.wide.as_ref()
    }

    /// The number in the team of a member on this host.
    fn number(&self, pe: usize) -> usize {
        self.wide.as_ref().map_or(pe, |wide| wide.number(pe))
    }

    /// The PE that this is a part of.
    pub(crate) fn pe(&self) -> &Arc<Pe> {
        &self.pe
    }

    #[inline(always)]
    pub(crate) fn me(&self) -> usize {
        self.me
    }

    #[inline(always)]
    pub(crate) fn n(&self) -> usize {
        self.n
    }

    /// Where the memory of a member on this host is.
    #[inline(always)]
    pub(crate) fn block(&self, pe: usize) -> usize {
        self.blocks.world_pe(pe)
    }

    /// Where this PE's memory is.
    #[inline(always)]
    pub(crate) fn here(&self) -> usize {
        self.here
    }

    /// The number of the sync that begins now. Whether this PE [arrives](Self::arrive) at it.
    #[inline(always)]
    pub(crate) fn next_sync(&self, arrives: bool) -> u64 {
        self.everybody_came(arrives);
        next(&self.syncs)
    }

    /// The number of the exchange that begins now, likewise.
    #[inline(always)]
    pub(crate) fn next_exchange(&self, arrives: bool) -> u64 {
        self.everybody_came(arrives);
        next(&self.exchanges)
    }

    /// In which order PEs go through the memory of the direct collective that begins now. Whoever does the work of another goes the same way.
    pub(crate) fn next_sweep(&self) -> Sweep {
        Sweep::of(next(&self.sweeps))
    }

    /// Collectives that run now end on no PE before all have begun them, and so ended all before.
    #[inline(always)]
    fn everybody_came(&self, arrives: bool) {
        self.unsynced.store(0, Ordering::Relaxed);
        self.processors.come(self, arrives);
    }

    /// The number of the stream's next message, if there is room for its `bytes`. Otherwise PEs must sync first.
    #[inline(always)]
    pub(crate) fn next_in_stream(&self, bytes: usize) -> Option<u64> {
        if self.unsynced.load(Ordering::Relaxed) >= scratch::stream_room(bytes) as u64 {
            return None;
        }
        next(&self.unsynced);
        Some(next(&self.streamed))
    }

    /// This PE's instance of the word at a place of the scratch memory, or its crew's head's.
    #[inline(always)]
    pub(crate) fn word(&self, place: usize) -> SymRef<'_, u64> {
        match self.processors.crew() {
            Some(crew) if place >= AT_HEAD => crew.word(place - AT_HEAD),
            _ => self.words.at(place / size_of::<u64>()),
        }
    }

    /// The same, to be looked at.
    #[inline(always)]
    fn number_at(&self, place: usize) -> &AtomicU64 {
        if place < AT_HEAD {
            return words::word(self.numbers.own(), place);
        }
        let head = self.processors.crew().map_or(self.me, |crew| crew.head);
        words::word(self.words_of(head).0, place - AT_HEAD)
    }

    /// The words of this PE's scratch memory.
    #[inline(always)]
    pub(crate) fn own_words(&self) -> &Words {
        self.numbers.own()
    }

    /// The words of a PE's scratch memory, and where its memory is.
    #[inline(always)]
    pub(crate) fn words_of(&self, pe: usize) -> (&Words, usize) {
        let block = self.block(pe);
        (self.numbers.of(block), block)
    }

    /// Bytes of the team's scratch memory.
    #[inline(always)]
    pub(crate) fn scratch(&self, place: usize, len: usize) -> Span {
        self.scratch.part(place..place + len)
    }

    /// Bytes of the scratch memory that is for collectives which order their accesses themselves.
    pub(crate) fn general(&self, start: usize, len: usize) -> Span {
        assert!(start + len <= RECORD_AT);
        let range = scratch::general(start..start + len);
        self.scratch.part(range)
    }

    /// What the count of a lane comes to with so many more messages.
    pub(crate) fn expect(&self, lane: usize, count: u64) -> u64 {
        let number = self.lanes[lane].load(Ordering::Relaxed) + count;
        self.lanes[lane].store(number, Ordering::Relaxed);
        number
    }

    /// What the flag [`Taken`](Flag::Taken) comes to with so much more.
    pub(crate) fn expect_taken(&self, more: u64) -> u64 {
        add(&self.taken, more)
    }

    /// What the flag [`Given`](Flag::Given) comes to with so much more.
    pub(crate) fn expect_given(&self, more: u64) -> u64 {
        add(&self.given, more)
    }

    /// The number of the broadcast that is shared out now.
    pub(crate) fn next_share(&self) -> u64 {
        next(&self.shares)
    }

    /// Whether a broadcast of `root` is halved that has had the one before halved too.
    pub(crate) fn halves_again(&self, root: usize) -> bool {
        replace(&self.halved, root) == root
    }

    /// The number of the work that is done in parts now.
    pub(crate) fn next_work(&self) -> u64 {
        next(&self.works)
    }

    /// Whether a broadcast of `root` is called that has called the one before too. On every PE of the team the same is said
    /// of a call.
    #[inline(always)]
    pub(crate) fn leads_again(&self, root: usize) -> bool {
        // Relaxed: PEs call the collectives of a team in the same order, so no two threads do at a time.
        replace(&self.leader, root) == root
    }

    /// How many messages this PE has sent in collectives of the team.
    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(crate) fn count_message(&self) {
        next(&self.sent);
    }

    /// Sets a flag of a PE.
    #[inline(always)]
    pub(crate) fn set(&self, flag: Flag, value: u64, pe: usize) {
        self.count_message();
        self.set_number(self.words_of(pe), flag.place(), value);
    }

    /// Sets a flag of all other PEs.
    #[inline(always)]
    pub(crate) fn set_others(&self, flag: Flag, value: u64) {
        self.set_each(self.others(), value, |_| flag);
    }

    /// Sets a flag of each of some PEs.
    #[inline(always)]
    pub(crate) fn set_each(
        &self,
        pes: impl Iterator<Item = usize> + Clone,
        value: u64,
        flag: impl Fn(usize) -> Flag,
    ) {
        for pe in pes.clone() {
            self.count_message();
            self.store_number(self.words_of(pe).0, flag(pe).place(), value);
        }
        self.wake(pes.map(|pe| (pe, flag(pe).place())));
    }

    /// All other PEs, those that come after this one first.
    #[inline(always)]
    pub(crate) fn others(&self) -> impl Iterator<Item = usize> + Clone {
        (1..self.n).map(|distance| self.after(distance))
    }

    /// The PE that comes so many places after this one, fewer than there are.
    #[inline(always)]
    pub(crate) fn after(&self, distance: usize) -> usize {
        let pe = self.me + distance;
        if pe < self.n { pe } else { pe - self.n }
    }

    /// How many places after this one a PE comes.
    #[inline(always)]
    pub(crate) fn distance_to(&self, pe: usize) -> usize {
        if pe < self.me { pe + self.n - self.me } else { pe - self.me }
    }

    /// Wakes those PEs that sleep, at each of which a word at a place was just stored.
    ///
    /// Between a store and the look for a sleeper processors wait for all that they have stored, so that it is better to store to all PEs first.
    #[inline(always)]
    pub(crate) fn wake(&self, mut stored: impl Iterator<Item = (usize, usize)>) {
        let shm = self.pe.shm();
        let wake = |(pe, place)| {
            self.memory.ring_stored(shm, self.scratch.offset() + place, self.block(pe));
        };
        let Some(first) = stored.next() else { return };
        shm.after_store();
        wake(first);
        stored.for_each(wake);
    }

    /// This PE comes to a meeting of all, which they count by a flag of the first: what it has written for that is there. Whether it is the
    /// last. Nobody comes to the next such meeting before this one is [over](Self::release).
    #[inline(always)]
    pub(crate) fn arrive(&self, flag: Flag) -> Result<bool> {
        let mut counted = self.n;
        if let Some(crew) = self.processors.crew() {
            self.count_message();
            // A crew counts those in a sync and those in an exchange apart, as the team does: none is over because of somebody in the other.
            let counter = if matches!(flag, Flag::Counter) { Flag::CrewCounter } else { Flag::CrewGathered };
            let before = self.processors.come_in_crew(self, crew, counter);
            if before >= POISON {
                return Err(self.poisoned());
            }
            if !(before + 1).is_multiple_of(crew.members.len()) {
                return Ok(false);
            }
            counted = crew.heads.len();
        }
        // Who comes says by the number to which of them, so that there is one counter for all.
        let before = self.fetch_add(flag, 1, 0);
        if before >= POISON {
            return Err(self.poisoned());
        }
        Ok((before + 1).is_multiple_of(counted as u64))
    }

    /// Lets all others go on who wait for a flag at its [place](Self::released).
    #[inline(always)]
    pub(crate) fn release(&self, flag: Flag, number: u64) {
        let Some(crew) = self.processors.crew() else { return self.set_others(flag, number) };
        for &head in &crew.heads {
            self.count_message();
            // Release: who sees it sees all that was written before.
            words::word(self.words_of(head).0, flag.place()).store(number, Ordering::Release);
        }
        self.pe.shm().after_store();
        let sleeps =
            |&head: &usize| sleepers(self.words_of(head).0, flag.place()).load(Ordering::Relaxed) > 0;
        if crew.heads.iter().any(sleeps) {
            self.ring_others(flag.place());
        }
    }

    /// Wakes all others of this host that sleep, for a store to a word at `place` of any of them.
    #[cold]
    fn ring_others(&self, place: usize) {
        for pe in (0..self.n).filter(|&pe| pe != self.me) {
            self.memory.ring(self.pe.shm(), self.scratch.offset() + place, self.block(pe));
        }
    }

    /// Has this PE rung for when the word at `place` is set, which it is about to sleep for, if it is the head's: who sets that looks here only.
    /// It looks at the word once more before it sleeps.
    fn falls_asleep(&self, place: usize) {
        if let Some(sleepers) = self.sleepers_at_head(place) {
            sleepers.fetch_add(1, Ordering::SeqCst);
            self.pe.shm().before_look();
        }
    }

    /// The wait for the word at `place` is over, for which this PE may have slept.
    fn is_awake(&self, place: usize) {
        if let Some(sleepers) = self.sleepers_at_head(place) {
            // Relaxed: seen late, it costs needless rings.
            sleepers.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn sleepers_at_head(&self, place: usize) -> Option<&AtomicU64> {
        let crew = self.processors.crew().filter(|_| place >= AT_HEAD)?;
        Some(sleepers(self.words_of(crew.head).0, place - AT_HEAD))
    }

    /// Where a PE sees that all are [released](Self::release).
    #[inline(always)]
    pub(crate) fn released(&self, flag: Flag) -> usize {
        if self.processors.crew().is_some() { AT_HEAD + flag.place() } else { flag.place() }
    }

    /// Sets the word at `place` of a PE.
    #[inline(always)]
    fn store_number(&self, words: &Words, place: usize, value: u64) {
        // Release: who sees it sees all that was written before.
        words::word(words, place).store(value, Ordering::Release);
    }

    /// Sets the word at `place` of a PE, and wakes the PE if it sleeps.
    #[inline(always)]
    fn set_number(&self, (words, block): (&Words, usize), place: usize, value: u64) {
        self.store_number(words, place, value);
        self.memory.ring(self.pe.shm(), self.scratch.offset() + place, block);
    }

    /// Adds to a flag of a PE, and wakes the PE if it sleeps.
    #[inline(always)]
    pub(crate) fn add(&self, flag: Flag, value: u64, pe: usize) {
        self.fetch_add(flag, value, pe);
        self.wake([(pe, flag.place())].into_iter());
    }

    /// Adds to a flag of a PE, wakes nobody, and returns what it was.
    #[inline(always)]
    pub(crate) fn fetch_add(&self, flag: Flag, value: u64, pe: usize) -> u64 {
        self.count_message();
        words::word(self.words_of(pe).0, flag.place()).fetch_add(value, Ordering::SeqCst)
    }

    /// Sets a word of a PE to `value` if it is `expected`, wakes nobody, and returns what it was.
    pub(crate) fn compare_swap(&self, place: usize, expected: u64, value: u64, pe: usize) -> u64 {
        self.count_message();
        let word = words::word(self.words_of(pe).0, place);
        let (Ok(before) | Err(before)) =
            word.compare_exchange(expected, value, Ordering::SeqCst, Ordering::SeqCst);
        before
    }

    /// Gets hold of the cache line at `place` of a PE, which it is going to send to next, while nobody looks at it yet: a
    /// store to a line that another PE looks at takes as long as a message.
    #[inline(always)]
    pub(crate) fn prepare(&self, place: usize, pe: usize) {
        if self.has_lines {
            words::prepare(self.words_of(pe).0, place);
        }
    }

    /// Gets hold of the slot at `place` of the first PE for the crew, as far as `len` bytes of payload reach: the crew keeps it until it is written
    /// to, whoever runs meanwhile.
    #[inline(always)]
    pub(crate) fn prepare_in_crew(&self, place: usize, len: usize) {
        if self.processors.crew().is_some() {
            let words = self.words_of(0).0;
            words::prepare(words, place);
            if PAYLOAD_AT + len > copy::LINE {
                words::prepare(words, place + copy::LINE);
            }
        }
    }

    /// To be called between the messages that this PE sends and its first look for those of PEs that send at the same time.
    ///
    /// A look takes the line away from the PE that is about to write it, which has to fetch it back: whoever looks too early sees the
    /// message two ways of a line later instead of one, is late next time, and so on for ever. Processors look early by themselves:
    /// their own stores wait in line, and loads do not, so that they look for messages of collectives that they only
    /// suspect to come. Where everybody's messages are on their way before anybody looks, PEs that have come together once stay together.
    #[inline(always)]
    pub(crate) fn settle(&self) {
        if self.has_lines {
            copy::settle();
        }
    }

    /// Puts `signature` into the slot at `place` of a PE's words, then sets its number. The payload is there already. The PE is to be
    /// [woken](Self::wake) then.
    #[inline(always)]
    pub(crate) fn leave(&self, to: &Words, place: usize, number: u64, signature: Signature) {
        self.count_message();
        self.sign(to, place, signature);
        self.store_number(to, place, number);
    }

    /// Puts `signature` into the slot at `place` of a PE's words, for which this one is counted then.
    #[inline(always)]
    pub(crate) fn sign(&self, to: &Words, place: usize, signature: Signature) {
        let [_, what, len] = words::slot(to, place);
        let words = signature.words_of(self.me);
        // Relaxed: whoever reads them has seen the number, or the count.
        what.store(words[0], Ordering::Relaxed);
        len.store(words[1], Ordering::Relaxed);
    }

    /// The signature in the slot at `place` of this PE, and who sent it, once its number has come.
    #[inline(always)]
    pub(crate) fn received(&self, place: usize) -> (Signature, usize) {
        Self::signed(self.numbers.own(), place)
    }

    /// The same of any PE's words.
    #[inline(always)]
    pub(crate) fn signed(words: &Words, place: usize) -> (Signature, usize) {
        let [_, what, len] = words::slot(words, place);
        Signature::received([what.load(Ordering::Relaxed), len.load(Ordering::Relaxed)])
    }

    /// Puts private bytes to a place of a PE's scratch memory, then sets a flag there.
    pub(crate) fn put_bytes(&self, to: Span, bytes: &[u8], flag: Flag, value: u64, pe: usize) {
        self.memory.write_to(to, self.block(pe), bytes);
        self.set(flag, value, pe);
    }

    /// Whether the word at `place` of this PE, or of its crew's head, has come to `number`, and not only because it is poisoned.
    #[inline(always)]
    pub(crate) fn has_come(&self, place: usize, number: u64) -> bool {
        // Acquire: with the number comes what was written before it.
        let seen = self.number_at(place).load(Ordering::Acquire);
        seen >= number && is_come(seen, number)
    }

    /// The same for all of them.
    #[inline(always)]
    pub(crate) fn have_come(&self, awaited: Awaited) -> bool {
        match awaited.row {
            0 => self.has_come(awaited.place, awaited.number),
            _ => awaited.places().all(|place| self.has_come(place, awaited.number)),
        }
    }

    /// Says on all PEs that this one and another of this host called different things; whoever waits on the team ends with
    /// an error.
    #[cold]
    pub(crate) fn differ(&self, pe: usize, theirs: Signature, mine: Signature) -> Error {
        self.differ_from(self.number(pe), theirs, mine)
    }

    /// The same where the other is named by its number in the team.
    #[cold]
    pub(crate) fn differ_from(&self, pe: usize, theirs: Signature, mine: Signature) -> Error {
        let ([a, b], [c, d]) = (mine.words(), theirs.words());
        let mut calls = [[self.my_pe as u64, a, b], [pe as u64, c, d]];
        calls.sort_unstable();
        let record: Record = bytemuck::cast(calls);
        if let Some(wide) = &self.wide {
            wide.poison(self, self.record(), bytemuck::bytes_of(&record));
        }
        self.poison(&record);
        mismatch(&record)
    }

    /// The word is poisoned: the error that its poisoner has found. Passes it on to the PEs of this host: what this PE has sent
    /// meanwhile may have undone it, or it came from another host.
    #[cold]
    pub(crate) fn poisoned(&self) -> Error {
        let record = self.recorded();
        self.poison(&record);
        mismatch(&record)
    }

    /// An error if PEs have called different things. Nothing begins any more then: its messages would undo the poison.
    #[inline(always)]
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_broken() { Err(mismatch(&self.recorded())) } else { Ok(()) }
    }

    #[inline(always)]
    pub(crate) fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Acquire)
    }

    fn recorded(&self) -> Record {
        let mut record: Record = [0; 6];
        self.memory.read(self.record(), bytemuck::bytes_of_mut(&mut record));
        record
    }

    fn record(&self) -> Span {
        let range = scratch::general(RECORD_AT..RECORD_AT + size_of::<Record>());
        self.scratch.part(range)
    }

    /// Poisons all numbers that a PE of this host may wait for.
    fn poison(&self, record: &Record) {
        // On all of them first: a PE may see the poison on another than itself.
        for pe in 0..self.n {
            self.memory.write_to(self.record(), self.block(pe), bytemuck::bytes_of(record));
        }
        // Release: who sees it finds the record.
        self.broken.store(true, Ordering::Release);
        for pe in 0..self.n {
            let flags = (0..scratch::FLAGS).map(scratch::flag);
            let slots = [0, 1].into_iter().flat_map(|half| (0..SLOTS).map(move |i| scratch::slot(half, i)));
            for place in flags.chain(slots).chain(scratch::stream_slots()) {
                words::word(self.words_of(pe).0, place).fetch_or(POISON, Ordering::SeqCst);
                self.wake([(pe, place)].into_iter());
            }
        }
        // Who waits for a word of its crew's head may have looked before that was poisoned.
        if self.processors.crew().is_some() {
            self.ring_others(0);
        }
    }
}

/// What of a team is on this host.
struct Here {
    /// The numbers in the world of its members there.
    members: Members,
    blocks: Members,
    /// This PE's number among them.
    me: usize,
    wide: Option<Arc<Wide>>,
}

impl Here {
    fn of(pe: &Pe, members: Members, my_pe: usize, place: usize) -> Self {
        let hosts = &pe.placement().hosts;
        if hosts.n_hosts() == 1 {
            return Self { blocks: members.clone(), members, me: my_pe, wide: None };
        }
        let host = hosts.host_of(pe.me());
        let here: Vec<usize> = members.iter().filter(|&member| hosts.host_of(member) == host).collect();
        let blocks: Vec<usize> = here.iter().map(|&member| hosts.block_of(member)).collect();
        let is_wide = here.len() < members.n();
        let local = Members::listed(&here);
        Self {
            me: local.pe_of(pe.me()).unwrap_or_default(),
            blocks: Members::listed(&blocks),
            members: local,
            wide: is_wide.then(|| Arc::new(Wide::new(hosts, members, my_pe, place))),
        }
    }
}

fn mismatch(record: &Record) -> Error {
    let [pe_a, a, b, pe_b, c, d] = *record;
    let [a, b] = [[a, b], [c, d]].map(Signature::from_words);
    let call_b = match b.later_than(a) {
        None => b.to_string(),
        Some(later) => {
            let when = if later > 0 { "later" } else { "earlier" };
            let s = if later.abs() == 1 { "" } else { "s" };
            format!("the same {} collective{s} of the team {when}", later.abs())
        }
    };
    Error::CollectiveMismatch { pe_a: pe_a as usize, call_a: a.to_string(), pe_b: pe_b as usize, call_b }
}

/// How many PEs of a crew may sleep for the word at a place of their head's scratch memory: beside that, as it is looked at with it.
fn sleepers(words: &Words, place: usize) -> &AtomicU64 {
    words::word(words, place + size_of::<u64>())
}

/// Whether a word that is at least `number` would be without poison.
#[inline(always)]
fn is_come(seen: u64, number: u64) -> bool {
    seen < POISON || seen - POISON >= number
}

/// One more than the counter was.
#[inline(always)]
fn next(counter: &AtomicU64) -> u64 {
    add(counter, 1)
}

/// So much more than the counter was. Collectives run one at a time, so there is no need to lock the bus.
#[inline(always)]
fn add(counter: &AtomicU64, more: u64) -> u64 {
    let number = counter.load(Ordering::Relaxed) + more;
    counter.store(number, Ordering::Relaxed);
    number
}

/// Puts another value, and returns what was there, where no two threads are at it at a time.
#[inline(always)]
fn replace(value: &AtomicUsize, by: usize) -> usize {
    let before = value.load(Ordering::Relaxed);
    value.store(by, Ordering::Relaxed);
    before
}

/// A wait for one number of the scratch memory after the other.
#[derive(Debug, Default)]
pub(crate) struct NumberWait(WordWait);

impl NumberWait {
    /// Ready when the word at `place` of this PE, or of its crew's head, has come to `number`. The first look may spin. Asks for the waker only if
    /// there is something to wait for.
    #[inline(always)]
    pub(crate) fn poll(
        &mut self,
        group: &Group,
        place: usize,
        number: u64,
        waker: impl FnOnce() -> Waker,
    ) -> Poll<Result<()>> {
        self.poll_for(For::Other, group, place, number, waker)
    }

    /// [`poll`](Self::poll), where something is known of `whom` it waits for.
    #[inline(always)]
    pub(crate) fn poll_for(
        &mut self,
        whom: For,
        group: &Group,
        place: usize,
        number: u64,
        waker: impl FnOnce() -> Waker,
    ) -> Poll<Result<()>> {
        if self.is_unwatched() && group.has_come(place, number) {
            return Poll::Ready(Ok(()));
        }
        self.poll_slowly(whom, group, place, number, waker)
    }

    #[inline(never)]
    fn poll_slowly(
        &mut self,
        whom: For,
        group: &Group,
        place: usize,
        number: u64,
        waker: impl FnOnce() -> Waker,
    ) -> Poll<Result<()>> {
        let (word, mut watched) = (group.word(place), !self.is_unwatched());
        let looked = self.0.look_unless(word, Cmp::Ge, number, || group.processors.are_needed(group, whom));
        let seen = looked.map(Ok).or_else(|| {
            if !std::mem::replace(&mut watched, true) {
                group.falls_asleep(place);
            }
            match self.0.watch(word, Cmp::Ge, number, &waker()) {
                Poll::Pending => None,
                Poll::Ready(seen) => Some(seen),
            }
        });
        let Some(seen) = seen else { return Poll::Pending };
        self.0.end(word);
        if watched {
            group.is_awake(place);
        }
        Poll::Ready(seen.and_then(|seen| if is_come(seen, number) { Ok(()) } else { Err(group.poisoned()) }))
    }

    /// Whether nothing is watched.
    #[inline(always)]
    pub(crate) fn is_unwatched(&self) -> bool {
        self.0.is_unwatched()
    }
}

const _: () = assert!(scratch::LINE.is_multiple_of(size_of::<u64>()));
