//! Active sets: teams that their members make without the others (`OpenSHMEM 1.6 §9.10`, deprecated
//! there).
//!
//! A split is agreed on by all PEs of the parent, in its queue. Of an active set only the members
//! call, so that they have no queue in common, and no scratch memory. What they have is a piece of
//! symmetric memory that the program gives to this one call: through it they send the first member
//! the places that are taken, and it sends them the one to take. Should one of them have given that
//! away meanwhile, they begin again.

use std::sync::Arc;

use oxshmem_base::{Error, Result};
use oxshmem_ops::{Cmp, Context, ContextOptions, Members, Wait};
use oxshmem_progress::activity::{Activity, Call};
use oxshmem_spaces::{Pe, SymView};

use crate::{
    memory::scratch::TEAMS,
    queue::registry::{Places, Registry},
    team::{Team, TeamConfig},
};

/// A team that its members have made: see [`Team::active_set`].
///
/// ```
/// # use oxshmem::prelude::*;
/// # LocalCluster::run(2, |world| async move {
/// let sync = world.alloc_zeroed::<u64>(oxshmem_teams::ActiveSet::SYNC_WORDS).await?;
/// let set = world.team().active_set(0, 1, 2, sync.view()).await?.expect("both PEs are in it");
/// assert!(set.keep && set.team.n_pes() == 2);
/// # world.finalize().await
/// # })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ActiveSet {
    /// The team.
    pub team: Team,
    /// Whether there is room for many more teams, on all members: if not, do not keep it for the
    /// next time. All members have the same here.
    pub keep: bool,
}

/// Words of the members' memory by which they meet. The first member's:
const TAKEN: usize = 0;
const CAME: usize = TEAMS / 64;
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

impl ActiveSet {
    /// Words that [`Team::active_set`] needs for the members to meet.
    ///
    /// ```
    /// assert!(oxshmem_teams::ActiveSet::SYNC_WORDS <= 32);
    /// ```
    pub const SYNC_WORDS: usize = GO + 1;
}

impl Team {
    /// The PEs `start`, `start + stride`, … of this team as a new one: `size` of them, in this
    /// order. Collective over these PEs; others that call it get none at once.
    ///
    /// `sync` is as long as [`ActiveSet::SYNC_WORDS`] or longer, the same memory on all members,
    /// and 0 on all of them before the first one calls. It is 0 again on a PE whose call has ended,
    /// and may then be used for the same PEs again. Other sets, with members in common or without,
    /// may be made at the same time if they meet elsewhere.
    ///
    /// The future must be awaited to its end.
    ///
    /// # Errors
    /// [`Error::InvalidTriplet`] and [`Error::TeamsExhausted`] on all members alike;
    /// [`Error::LengthMismatch`] if `sync` is too short; [`Error::TeamDestroyed`], and those of
    /// operations on the members.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(5, |world| async move {
    /// use oxshmem_teams::ActiveSet;
    ///
    /// let sync = world.alloc_zeroed::<u64>(ActiveSet::SYNC_WORDS).await?;
    /// let count = world.alloc::<u64>(1).await?;
    /// count.at(0).store(1);
    /// if world.my_pe() % 2 == 1 {
    ///     // PEs 0, 2 and 4 know nothing of it.
    ///     let odds = world.team().active_set(1, 2, 2, sync.view()).await?;
    ///     let odds = odds.expect("these are members").team;
    ///     odds.sum_reduce(&count, &count).await?;
    /// }
    /// assert_eq!(count.at(0).load(), [1, 2, 1, 2, 1][world.my_pe()]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub async fn active_set(
        &self,
        start: usize,
        stride: usize,
        size: usize,
        sync: SymView<'_, u64>,
    ) -> Result<Option<ActiveSet>> {
        let call = "active_set";
        self.core().check(call)?;
        let n_pes = self.n_pes();
        let last = size.checked_sub(1).and_then(|last| start.checked_add(last.checked_mul(stride)?));
        let valid = last.is_some_and(|last| last < n_pes) && (stride > 0 || size == 1);
        let signed = isize::try_from(stride).unwrap_or(isize::MAX);
        if !valid {
            return Err(Error::InvalidTriplet { call, start, stride: signed, size, n_pes });
        }
        if sync.len() < ActiveSet::SYNC_WORDS {
            return Err(Error::LengthMismatch {
                call,
                source_len: ActiveSet::SYNC_WORDS,
                dest_len: sync.len(),
            });
        }
        let group = &self.core().group;
        let members = group.team().strided(start, signed, size);
        let Some(me) = members.pe_of(group.pe().me()) else { return Ok(None) };
        let activity = Activity::new(Call::TeamSplit).split(start, signed, size);
        let _entry = group.pe().board().enter(&activity);
        Making::new(group.pe(), members, me, sync).make(call, &self.core().registry).await.map(Some)
    }
}

/// A set in the making, as one of its members sees it.
struct Making<'a> {
    pe: &'a Arc<Pe>,
    members: Members,
    me: usize,
    words: SymView<'a, u64>,
    context: Context,
}

impl<'a> Making<'a> {
    fn new(pe: &'a Arc<Pe>, members: Members, me: usize, words: SymView<'a, u64>) -> Self {
        let options = ContextOptions::new();
        let (pe_of, all, none) = (Arc::clone(pe), members.clone(), Arc::new(()));
        // SAFETY: the members are some of a team's.
        let context = unsafe { Context::over(pe_of, all, me, none, options) };
        Self { pe, members, me, words, context }
    }

    async fn make(self, call: &'static str, registry: &Arc<Registry>) -> Result<ActiveSet> {
        let team = (self.members.clone(), TeamConfig::default());
        let mut attempt = 0;
        loop {
            let verdict = match self.me {
                0 => self.choose(registry, attempt).await?,
                _ => self.propose(registry).await?,
            };
            if verdict == NOWHERE {
                return Err(Error::TeamsExhausted { call, limit: TEAMS });
            }
            // Meanwhile this PE may have given it to another team.
            let place = (verdict % KEEP).checked_sub(1).filter(|&place| place < TEAMS as u64);
            let Some(place) = place else {
                // The words were not 0, or another program writes them.
                return Err(Error::bootstrap(
                    call,
                    "the memory by which the members meet is not theirs alone",
                ));
            };
            let place = place as usize;
            let number = verdict / KEEP / 2;
            registry.has_number(number);
            let team = registry.make(self.pe, &team, place, number);
            // Before any PE sends to another, that one has cleared the place.
            match (self.all(team.is_some()).await?, team) {
                (true, Some(core)) => {
                    return Ok(ActiveSet { team: Team::new(core), keep: verdict & KEEP != 0 });
                }
                (_, Some(_)) => registry.give_back(place),
                (_, None) => {}
            }
            attempt += 1;
        }
    }

    /// On the first member: gets the places that are taken, and sends all the team's.
    async fn choose(&self, registry: &Registry, attempt: usize) -> Result<u64> {
        self.gather(CAME).await?;
        let mut free = registry.free();
        for (word, free) in free.iter_mut().enumerate() {
            let taken = self.words.at(TAKEN + word);
            *free &= !taken.load();
            taken.store(0);
        }
        let keep = if left(&free) > TEAMS as u32 / 2 { KEEP } else { 0 };
        let verdict = match nth(&free, attempt) {
            Some(place) => (registry.next_number() * 2 * KEEP) | keep | (place as u64 + 1),
            None => NOWHERE,
        };
        self.send(PLACE, verdict).await?;
        Ok(verdict)
    }

    /// On the others: sends the places that are taken, and gets the team's.
    async fn propose(&self, registry: &Registry) -> Result<u64> {
        for (word, free) in registry.free().into_iter().enumerate() {
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

fn left(free: &Places) -> u32 {
    free.iter().map(|word| word.count_ones()).sum()
}

/// The place with that number among those that are free, beginning anew after the last one. After a
/// failed attempt others may be after the same place once more, so that it is another one each
/// time.
fn nth(free: &Places, number: usize) -> Option<usize> {
    let number = number.checked_rem(left(free) as usize)?;
    (0..TEAMS).filter(|place| free[place / 64] >> (place % 64) & 1 == 1).nth(number)
}
