//! The PEs of a team, as its collectives see them: numbers, memory, and the flags between them.

mod flags;
mod state;

use std::sync::{Arc, OnceLock};

use oxshmem_base::sync::{AtomicBool, AtomicU64, Ordering};
use oxshmem_memory::copy;
use oxshmem_ops::Members;
use oxshmem_spaces::{Domain, Loss, Pe, SymRef, SymSlice, allocation::Allocation};

pub(crate) use self::flags::{Awaited, Flag};
use self::state::State;
use crate::{
    memory::{
        scratch::{self, TEAM_BYTES},
        span::{Memory, Span},
        words::{self, TeamWords, Words},
    },
    message::Wide,
    signature::Signature,
    tuning::Choices,
};

/// What is set in a number when PEs have found that they called different things. What has come
/// before counts nevertheless: a PE that has not seen it yet does not get the error of a later
/// call. Others may add to it.
pub(crate) const POISON: u64 = 1 << 63;

/// The PEs of a team on this host, as its collectives see them, and the way to those on others.
///
/// PEs have two numbers: that in the team, and that among its members on this host, in the same
/// order. Where all members are on this host, they are the same. Collectives within a host know the
/// second only.
///
/// Collectives run one at a time, under the lock of their team's queue, so that the counters here
/// are read and written without read-modify-write instructions.
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
    members: Local,
    /// The team, if it has members on other hosts.
    wide: Option<Arc<Wide>>,
    /// The team's scratch memory: to be waited for, as words of all PEs, and as a span.
    words: SymSlice<u64>,
    numbers: TeamWords,
    scratch: Span,
    pub(crate) memory: Memory,
    /// Where in the symmetric memory the host's staging memory begins; far behind all of it if
    /// there is none.
    pub(crate) staging_from: usize,
    pub(crate) choices: Choices,
    /// What names the team to its PEs: the same on all of them.
    pub(crate) id: u64,
    pub(crate) state: State,
    /// Whether each PE has a processor, and with it a cache, of its own.
    has_lines: bool,
    /// Whether PEs have called different things, after which none of them begins anything.
    broken: AtomicBool,
    /// The loss by which the team is revoked, after which it begins nothing either.
    revoked: OnceLock<Loss>,
    /// How many PEs the job had lost when it was made.
    pub(crate) made_in: u64,
    /// How many rounds there were of those that are left.
    rounds: AtomicU64,
}

/// The members of a team on this host.
#[derive(Debug)]
struct Local {
    /// Their numbers in the world, in the order of the team.
    members: Members,
    /// Where their memory is.
    blocks: Members,
    /// Where this PE's is.
    here: usize,
    /// This PE's number among them, and how many they are.
    me: usize,
    n: usize,
    /// This PE's number in the team, and how many PEs that has.
    my_pe: usize,
    n_pes: usize,
}

impl Group {
    /// The team of `members`, of which this PE is number `my_pe`, with its scratch memory at
    /// `place`, which holds no number but 0 on any of them.
    pub(crate) fn new(pe: &Arc<Pe>, members: Members, my_pe: usize, place: usize, id: u64) -> Self {
        let (members, wide) = Local::of(pe, members, my_pe, place);
        let range = place * TEAM_BYTES..(place + 1) * TEAM_BYTES;
        // SAFETY: scratch memory is the teams', and this range that of the team at this place.
        let allocation = unsafe {
            Allocation::unowned(Arc::clone(pe), Domain::Host, pe.scratch(), range.start, TEAM_BYTES)
        };
        let memory = Memory::new(pe);
        Self {
            choices: Choices::new(pe, members.n),
            members,
            wide,
            numbers: TeamWords::new(pe.scratch(), range.start, pe.local_pe()),
            words: SymSlice::new(allocation, TEAM_BYTES / size_of::<u64>()),
            scratch: memory.scratch(range),
            memory,
            staging_from: pe.spaces().gpu.map_or(usize::MAX, |_| pe.image_at()),
            id,
            state: State::default(),
            has_lines: !pe.is_crowded() && !pe.in_process(),
            broken: AtomicBool::new(false),
            revoked: OnceLock::new(),
            made_in: 0,
            rounds: AtomicU64::new(0),
            pe: Arc::clone(pe),
        }
    }

    /// The members of the team, on whichever host.
    pub(crate) fn team(&self) -> &Members {
        match &self.wide {
            None => &self.members.members,
            Some(wide) => wide.members(),
        }
    }

    /// This PE's number in the team (`OpenSHMEM 1.6 §9.4.1`). It is known at once, and asking
    /// cannot fail.
    #[inline(always)]
    pub fn my_pe(&self) -> usize {
        self.members.my_pe
    }

    /// How many PEs the team has.
    #[inline(always)]
    pub(crate) fn n_pes(&self) -> usize {
        self.members.n_pes
    }

    /// The team, if it has members on other hosts.
    #[inline(always)]
    pub(crate) fn wide(&self) -> Option<&Arc<Wide>> {
        self.wide.as_ref()
    }

    /// The number in the team of a member on this host.
    pub(crate) fn number(&self, pe: usize) -> usize {
        self.wide.as_ref().map_or(pe, |wide| wide.number(pe))
    }

    /// The PE that this is a part of.
    pub(crate) fn pe(&self) -> &Arc<Pe> {
        &self.pe
    }

    #[inline(always)]
    pub(crate) fn me(&self) -> usize {
        self.members.me
    }

    #[inline(always)]
    pub(crate) fn n(&self) -> usize {
        self.members.n
    }

    /// Where the memory of each member on this host is.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = usize> {
        self.members.blocks.iter()
    }

    /// Where the memory of a member on this host is.
    #[inline(always)]
    pub(crate) fn block(&self, pe: usize) -> usize {
        self.members.blocks.world_pe(pe)
    }

    /// Where this PE's memory is.
    #[inline(always)]
    pub(crate) fn here(&self) -> usize {
        self.members.here
    }

    /// This PE's instance of the word at a place of the scratch memory.
    #[inline(always)]
    pub(crate) fn word(&self, place: usize) -> SymRef<'_, u64> {
        self.words.at(place / size_of::<u64>())
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
        assert!(start + len <= scratch::RECORD_AT);
        let range = scratch::general(start..start + len);
        self.scratch.part(range)
    }

    /// How many messages this PE has sent in collectives of the team.
    pub(crate) fn sent(&self) -> u64 {
        self.state.messages.get()
    }

    #[inline(always)]
    pub(crate) fn count_message(&self) {
        self.state.messages.next();
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
        (1..self.members.n).map(|distance| self.after(distance))
    }

    /// The PE that comes `distance` places after this one, fewer than there are.
    #[inline(always)]
    pub(crate) fn after(&self, distance: usize) -> usize {
        let pe = self.members.me + distance;
        if pe < self.members.n { pe } else { pe - self.members.n }
    }

    /// Wakes those PEs that sleep, at each of which a word at a place was just stored.
    ///
    /// Between a store and the look for a sleeper processors wait for all that they have stored, so
    /// that it is better to store to all PEs first.
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

    /// Sets the word at `place` of a PE.
    #[inline(always)]
    fn store_number(&self, words: &Words, place: usize, value: u64) {
        // Release: a PE that sees it sees all that was written before.
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

    /// Adds to a flag of a PE, wakes no PE, and returns what it was.
    #[inline(always)]
    pub(crate) fn fetch_add(&self, flag: Flag, value: u64, pe: usize) -> u64 {
        self.count_message();
        words::word(self.words_of(pe).0, flag.place()).fetch_add(value, Ordering::SeqCst)
    }

    /// Gets hold of the cache line at `place` of a PE, which it is going to send to next, while
    /// no PE looks at it yet: a store to a line that another PE looks at takes as long as a
    /// message.
    #[inline(always)]
    pub(crate) fn prepare(&self, place: usize, pe: usize) {
        if self.has_lines {
            words::prepare(self.words_of(pe).0, place);
        }
    }

    /// To be called between the messages that this PE sends and its first look for those of PEs
    /// that send at the same time.
    ///
    /// A look takes the line away from the PE that is about to write it, which has to fetch it
    /// back: a PE that looks too early sees the message two ways of a line later instead of one, is
    /// late next time, and so on for ever. Processors look early by themselves: their own stores
    /// wait in line, and loads do not, so that they look for messages of collectives that they only
    /// suspect to come. Where all PEs' messages are on their way before any PE looks, PEs that
    /// have come together once stay together.
    #[inline(always)]
    pub(crate) fn settle(&self) {
        if self.has_lines {
            copy::settle();
        }
    }

    /// Puts `signature` into the slot at `place` of a PE's words, then sets its number. The payload
    /// is there already. The PE is to be [woken](Self::wake) then.
    #[inline(always)]
    pub(crate) fn leave(&self, to: &Words, place: usize, number: u64, signature: Signature) {
        self.count_message();
        let [_, what, len] = words::slot(to, place);
        let words = signature.words_of(self.members.me);
        // Relaxed: a PE that reads them has seen the number.
        what.store(words[0], Ordering::Relaxed);
        len.store(words[1], Ordering::Relaxed);
        self.store_number(to, place, number);
    }

    /// The signature in the slot at `place` of this PE, and the PE that sent it, once its number
    /// has come.
    #[inline(always)]
    pub(crate) fn received(&self, place: usize) -> (Signature, usize) {
        let [_, what, len] = words::slot(self.numbers.own(), place);
        Signature::received([what.load(Ordering::Relaxed), len.load(Ordering::Relaxed)])
    }

    /// Whether the word at `place` of this PE has come to `number`, and not only because it is
    /// poisoned.
    #[inline(always)]
    pub(crate) fn has_come(&self, place: usize, number: u64) -> bool {
        // Acquire: with the number comes what was written before it.
        let seen = words::word(self.numbers.own(), place).load(Ordering::Acquire);
        seen >= number && is_come(seen, number)
    }

    /// Whether all awaited words [have come](Self::has_come).
    #[inline(always)]
    pub(crate) fn have_come(&self, awaited: Awaited) -> bool {
        match awaited.row {
            0 => self.has_come(awaited.place, awaited.number),
            _ => awaited.places().all(|place| self.has_come(place, awaited.number)),
        }
    }

    /// Whether PEs have called different things.
    #[inline(always)]
    pub(crate) fn is_broken(&self) -> bool {
        // Acquire: what the record says of it is there.
        self.broken.load(Ordering::Acquire)
    }

    /// A member is lost. False if the team was revoked before.
    pub(crate) fn set_revoked(&self, loss: &Loss) -> bool {
        let first = self.revoked.set(loss.clone()).is_ok();
        // Behind it, as a thread that sees the flag looks for it.
        self.set_broken();
        first
    }

    /// The loss by which the team is revoked, if it is.
    pub(crate) fn revoked(&self) -> Option<&Loss> {
        self.revoked.get()
    }

    /// The number of the next round of those that are left.
    pub(crate) fn next_round(&self) -> u64 {
        // Relaxed: calls are in order.
        self.rounds.fetch_add(1, Ordering::Relaxed)
    }

    /// PEs have called different things, and the record has which.
    pub(crate) fn set_broken(&self) {
        // Release: as above.
        self.broken.store(true, Ordering::Release);
    }
}

impl Local {
    /// The local ones of `members`, of which `pe` is number `my_pe`; and the way to the others, if
    /// there are any.
    fn of(pe: &Pe, members: Members, my_pe: usize, place: usize) -> (Self, Option<Arc<Wide>>) {
        let hosts = &pe.placement().hosts;
        let n_pes = members.n();
        let local = |members: Members, blocks, me| {
            let (n, here) = (members.n(), pe.local_pe());
            Self { members, blocks, here, me, n, my_pe, n_pes }
        };
        if hosts.n_hosts() == 1 {
            return (local(members.clone(), members, my_pe), None);
        }
        let host = hosts.host_of(pe.me());
        let here: Vec<usize> = members.iter().filter(|&member| hosts.host_of(member) == host).collect();
        let blocks: Vec<usize> = here.iter().map(|&member| hosts.local_pe_of(member)).collect();
        let is_wide = here.len() < members.n();
        let near = Members::listed(&here);
        let me = near.pe_of(pe.me()).unwrap_or_default();
        let wide = is_wide.then(|| Arc::new(Wide::new(hosts, members, my_pe, place)));
        (local(near, Members::listed(&blocks), me), wide)
    }
}

/// Whether a word that is at least `number` would be without poison.
#[inline(always)]
pub(crate) fn is_come(seen: u64, number: u64) -> bool {
    seen < POISON || seen - POISON >= number
}

const _: () = assert!(scratch::LINE.is_multiple_of(size_of::<u64>()));
