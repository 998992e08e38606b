//! Teams that have lost a member: they are *revoked*, and those that are left make a new one.
//!
//! The launcher is the arbiter. It answers when all members that it has not declared lost have
//! asked, and all of them get one answer: who they are, and what each has given. So nothing of the
//! old team's is needed, whose messages may be half sent.

use std::sync::Arc;

use oxshmem_base::{Error, Result};
use oxshmem_job::TeamRound;
use oxshmem_ops::Members;
use oxshmem_progress::activity::{Activity, Call};
use oxshmem_spaces::{Losses, Pe};

use super::leftovers::{forget, settle};
use crate::{
    memory::scratch::TEAMS,
    queue::{
        Core, TeamConfig,
        registry::{Places, Registry},
    },
    team::Team,
};

/// The members of a team that are left: see [`Team::survivors`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Survivors {
    /// The team that they make, with contiguous numbers in the order of the old ones.
    pub team: Team,
    /// How many collectives of the old team each of them had completed when it was revoked, by
    /// numbers in the new one.
    pub completed: Vec<u64>,
    /// How many PEs the job had lost then.
    pub view: u64,
}

/// What a member gives.
pub(super) struct MemberState {
    pub(super) completed: u64,
    pub(super) number: u64,
    pub(super) free: Places,
    /// What the caller adds.
    pub(super) more: Vec<u8>,
}

/// Words before that.
const WORDS: usize = 2 + TEAMS / 64;

impl MemberState {
    pub(super) fn encode(&self) -> Vec<u8> {
        let words = [self.completed, self.number].into_iter().chain(self.free);
        words.flat_map(u64::to_le_bytes).chain(self.more.iter().copied()).collect()
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (words, more) = bytes.split_at_checked(WORDS * size_of::<u64>())?;
        let (words, _) = words.as_chunks();
        let words: Vec<u64> = words.iter().map(|&word| u64::from_le_bytes(word)).collect();
        let [completed, number, free @ ..] = &words[..] else { return None };
        let (completed, number, free) = (*completed, *number, free.try_into().ok()?);
        Some(Self { completed, number, free, more: more.to_vec() })
    }
}

impl Team {
    /// A team of the members that are not lost. Collective over these. It needs nothing of this
    /// team, which may be revoked, and may be called again if another PE is lost meanwhile: the new
    /// team is revoked then.
    ///
    /// When the future is ready, all of them may use the new team. An extension of `OpenSHMEM 1.6
    /// §9.4`. Until then, memory of collectives that have failed may still be read and written by
    /// other members.
    ///
    /// # Errors
    /// [`Error::Unsupported`] in a job that ends when a PE is lost, [`Error::TeamsExhausted`], and
    /// the ends of the job.
    ///
    /// ```no_run
    /// # async fn example(world: oxshmem::World) -> oxshmem::Result<()> {
    /// use oxshmem::Error;
    ///
    /// let mut team = world.team().clone();
    /// while let Err(Error::PeLost { .. }) = team.sync().await {
    ///     team = team.survivors().await?.team;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn survivors(&self) -> Result<Survivors> {
        self.survivors_giving(Vec::new()).await.map(|(survivors, _)| survivors)
    }

    /// [`survivors`](Self::survivors), with what each of them gives.
    #[doc(hidden)]
    pub async fn survivors_giving(&self, mine: Vec<u8>) -> Result<(Survivors, Vec<Vec<u8>>)> {
        const CALL: &str = "survivors";
        let (core, pe) = (self.core(), self.core().group.pe());
        pe.check_home(CALL)?;
        if pe.losses().is_none() {
            let what = "survivors() is for jobs that go on when a PE is lost (oshrun --on-loss=continue)";
            return Err(Error::Unsupported { what: what.to_owned() });
        }
        let members: Vec<usize> = {
            let team = core.group.team();
            (0..team.n()).map(|pe| team.world_pe(pe)).collect()
        };
        let malformed = || Error::bootstrap(CALL, "what the members gave is malformed");
        if core.group.revoked().is_some() {
            core.idle().await;
            settle(pe).await;
        }
        let mut attempt = 0;
        loop {
            let registry = &core.registry;
            let given = MemberState {
                completed: core.completed(),
                number: registry.next_number(),
                free: registry.free(),
                more: mine.clone(),
            };
            let (view, all) = core.regroup(&members, given.encode()).await?;
            if core.group.revoked().is_some() {
                // Source and destination of what has failed are the program's again once all have
                // done that.
                forget(pe, |place| place == core.place && registry.is_revoked(place)).await;
            }
            let left = members.iter().zip(&all).filter(|(_, given)| !given.is_empty());
            let (left, all): (Vec<usize>, Vec<&Vec<u8>>) = left.map(|(&pe, given)| (pe, given)).unzip();
            let all: Vec<MemberState> = all
                .into_iter()
                .map(|bytes| MemberState::decode(bytes))
                .collect::<Option<_>>()
                .ok_or_else(malformed)?;
            let number = all.iter().map(|given| given.number).max().unwrap_or_default();
            registry.has_number(number);
            let free = all
                .iter()
                .fold([u64::MAX; TEAMS / 64], |free, given| std::array::from_fn(|i| free[i] & given.free[i]));
            let places = (0..TEAMS).filter(|place| free[place / 64] >> (place % 64) & 1 == 1);
            let Some(place) = places.clone().nth(attempt % places.count().max(1)) else {
                return Err(Error::TeamsExhausted { call: CALL, limit: TEAMS });
            };
            let team = (Members::listed(&left), TeamConfig::default());
            let made = registry.make(pe, &team, place, number, view);
            // Before any PE sends to another, that one has cleared the place.
            let (_, took) = core.regroup(&members, vec![u8::from(made.is_some())]).await?;
            let all_took = members.iter().zip(&took).filter(|(pe, _)| left.contains(pe));
            // Of one that was lost meanwhile there is nothing; the new team is revoked then.
            let all_took = all_took.clone().all(|(_, took)| took.first() != Some(&0));
            match made {
                Some(made) if all_took => {
                    let (completed, given) = all.into_iter().map(|it| (it.completed, it.more)).unzip();
                    made.revoke_if_lost();
                    return Ok((Survivors { team: Self::new(made), completed, view }, given));
                }
                Some(made) => {
                    made.set_destroyed();
                    registry.give_back(place);
                }
                None => {}
            }
            attempt += 1;
        }
    }
}

impl Core {
    /// One round with the other members, through the launcher.
    async fn regroup(&self, members: &[usize], mine: Vec<u8>) -> Result<(u64, Vec<Vec<u8>>)> {
        let key = [self.group.id, self.group.next_round()];
        let _shown = self.group.pe().board().enter(&Activity::new(Call::Survivors));
        let round = TeamRound { key, view: self.group.made_in, members: members.to_vec(), given: mine };
        self.group.pe().bootstrap().regroup(round).await
    }

    /// How many collectives have ended, or had when the team was revoked.
    fn completed(&self) -> u64 {
        self.revoked_at().unwrap_or_else(|| self.ended())
    }

    /// The team is revoked if it has a member that is lost.
    pub(crate) fn revoke_if_lost(&self) {
        let Some(losses) = self.group.pe().losses().filter(|losses| !losses.is_whole()) else { return };
        let members = self.group.team();
        let lost = (0..members.n()).find_map(|pe| losses.of(members.world_pe(pe)));
        if let Some(loss) = lost {
            self.revoke(&loss);
        }
    }
}

/// Has the teams of a registry revoked when a PE is lost.
pub(super) fn follow(pe: &Pe, registry: &Arc<Registry>) {
    let Some(losses): Option<&Arc<Losses>> = pe.losses() else { return };
    let registry = Arc::downgrade(registry);
    losses.when_lost(move |loss| {
        let Some(registry) = registry.upgrade() else { return };
        for team in registry.teams() {
            if team.group.team().pe_of(loss.pe).is_some() {
                team.revoke(loss);
            }
        }
    });
}
