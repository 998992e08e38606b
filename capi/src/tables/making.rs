//! Making the team of an active set (`OpenSHMEM 1.6 §9.10`, deprecated there).
//!
//! A split is agreed on by all PEs of the parent, in its queue. Of an active set only the members
//! call, so that they have no queue in common, and no scratch memory. What they have is the pSync
//! of the call: through it they send the first member the places that are taken, and it sends them
//! the one to take. Should one of them have given that away meanwhile, they begin again.

use std::sync::Arc;

use oxshmem::{Cmp, Context, ContextOptions, Error, Result, SymView, Team, Wait};
use oxshmem_ops::Members;
use oxshmem_teams::{PlaceBits, TeamPlaces};

use super::sets::Set;

/// Words of the members' memory by which they meet. The first member's:
const TAKEN: usize = 0;
const CAME: usize = TeamPlaces::COUNT / 64;
const READY: usize = CAME + 1;
/// And all PEs':
const PLACE: usize = CAME + 2;
const GO: usize = CAME + 3;

/// What a member that could not take the place adds to the count of those that are ready.
const NO_VOTE: u64 = 1 << 32;
/// Whether all members have taken it.
const YES: u64 = 1;
const NO: u64 = 2;

/// In the word with the place: there is none.
const NOWHERE: u64 = u64::MAX;
/// The place plus 1 is below; then whether to keep the team, then the team's number.
const KEEP: u64 = 1 << 16;

/// Words of a pSync that are used. They are 0 before the first member calls, and again on a PE
/// whose call has ended.
pub(crate) const SYNC_WORDS: usize = GO + 1;

/// A set in the making, as one of its members sees it.
pub(crate) struct Making<'a> {
    places: TeamPlaces,
    members: Members,
    me: usize,
    words: SymView<'a, u64>,
    context: Context,
}

impl<'a> Making<'a> {
    /// The PEs `start`, `start + stride`, … of the job: `size` of them, of which this PE is one.
    pub(crate) fn new(world: &Team, [start, stride, size]: Set, words: SymView<'a, u64>) -> Option<Self> {
        let places = world.places();
        let stride = isize::try_from(stride).unwrap_or(isize::MAX);
        let members = Members::world(world.n_pes()).strided(start, stride, size);
        let me = members.pe_of(world.my_pe())?;
        let (pe, options) = (Arc::clone(places.pe()), ContextOptions::new());
        // SAFETY: the members are some of the job's.
        let context = unsafe { Context::over(pe, members.clone(), me, Arc::new(()), options) };
        Some(Self { places, members, me, words, context })
    }

    /// Makes the team. Whether there is room for many more teams, on all members: if not, it is not
    /// to be kept for the next time.
    pub(crate) async fn make(self, call: &'static str) -> Result<(Team, bool)> {
        let mut attempt = 0;
        loop {
            let verdict = match self.me {
                0 => self.choose(attempt).await?,
                _ => self.propose().await?,
            };
            if verdict == NOWHERE {
                return Err(Error::TeamsExhausted { call, limit: TeamPlaces::COUNT });
            }
            // Meanwhile this PE may have given it to another team.
            let place = (verdict % KEEP).checked_sub(1).filter(|&place| place < TeamPlaces::COUNT as u64);
            let Some(place) = place else {
                // The words were not 0, or another program writes them.
                return Err(Error::bootstrap(
                    call,
                    "the memory by which the members meet is not theirs alone",
                ));
            };
            // SAFETY: the first member has sent all of them this place and number, and each goes on
            // when all have made it.
            let made = unsafe { self.places.make(&self.members, place as usize, verdict / KEEP / 2) };
            // Before any PE sends to another, that one has cleared the place.
            match (self.all(made.is_some()).await?, made) {
                (true, Some(made)) => return Ok((made.into(), verdict & KEEP != 0)),
                (_, Some(made)) => self.places.give_back(made),
                (_, None) => {}
            }
            attempt += 1;
        }
    }

    /// On the first member: gets the places that are taken, and sends all the team's.
    async fn choose(&self, attempt: usize) -> Result<u64> {
        self.gather(CAME).await?;
        let mut free = self.places.free();
        for (word, free) in free.iter_mut().enumerate() {
            let taken = self.words.at(TAKEN + word);
            *free &= !taken.load();
            taken.store(0);
        }
        let keep = if left(&free) > TeamPlaces::COUNT as u32 / 2 { KEEP } else { 0 };
        let verdict = match nth(&free, attempt) {
            Some(place) => (self.places.next_number() * 2 * KEEP) | keep | (place as u64 + 1),
            None => NOWHERE,
        };
        self.send(PLACE, verdict).await?;
        Ok(verdict)
    }

    /// On the others: sends the places that are taken, and gets the team's.
    async fn propose(&self) -> Result<u64> {
        for (word, free) in self.places.free().into_iter().enumerate() {
            if free != u64::MAX {
                self.context.or(self.words.at(TAKEN + word), !free, 0).await?;
            }
        }
        self.arrive(CAME).await?;
        self.receive(PLACE).await
    }

    /// Waits until all members have come here, and returns whether all voted yes. The memory is as
    /// it was before on a PE that leaves.
    async fn all(&self, yes: bool) -> Result<bool> {
        if self.me == 0 {
            let no = self.gather(READY).await? > 0 || !yes;
            self.send(GO, if no { NO } else { YES }).await?;
            return Ok(!no);
        }
        if !yes {
            self.context.add(self.words.at(READY), NO_VOTE, 0).await?;
        }
        self.arrive(READY).await?;
        Ok(self.receive(GO).await? == YES)
    }

    async fn arrive(&self, word: usize) -> Result<()> {
        // What was sent before is there first.
        self.context.quiet().await?;
        self.context.inc(self.words.at(word), 0).await
    }

    /// Waits until all others have arrived. What they have added besides is returned.
    async fn gather(&self, word: usize) -> Result<u64> {
        let others = self.members.n() as u64 - 1;
        if others == 0 {
            return Ok(0);
        }
        let word = self.words.at(word);
        let mut seen = word.load();
        while seen % NO_VOTE < others {
            seen = word.wait_until(Cmp::Ne, seen).await?;
        }
        word.store(0);
        Ok(seen / NO_VOTE)
    }

    async fn send(&self, word: usize, value: u64) -> Result<()> {
        for pe in 1..self.members.n() {
            self.context.set(self.words.at(word), value, pe).await?;
        }
        self.context.quiet().await
    }

    async fn receive(&self, word: usize) -> Result<u64> {
        let word = self.words.at(word);
        let value = word.wait_until(Cmp::Ne, 0).await?;
        // No PE writes here again before this PE calls again.
        word.store(0);
        Ok(value)
    }
}

fn left(free: &PlaceBits) -> u32 {
    free.iter().map(|word| word.count_ones()).sum()
}

/// The place with that number among those that are free, beginning anew after the last one. After a
/// failed attempt others may be after the same place once more, so that it is another one each
/// time.
fn nth(free: &PlaceBits, number: usize) -> Option<usize> {
    let number = number.checked_rem(left(free) as usize)?;
    (0..TeamPlaces::COUNT).filter(|place| free[place / 64] >> (place % 64) & 1 == 1).nth(number)
}
