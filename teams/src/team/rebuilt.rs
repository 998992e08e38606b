//! The world's teams, made anew of all PEs, when those that were lost have replacements.
//!
//! All PEs meet at the launcher twice, as the survivors of a team do. Before the first time, each
//! has ended what its revoked teams did, and flushed what it has sent: the places of these are free
//! again after it.

use oxshmem_base::{Error, Result};
use oxshmem_job::TeamRound;
use oxshmem_ops::Members;
use oxshmem_progress::activity::{Activity, Call};
use oxshmem_spaces::Loss;

use super::{
    leftovers::{forget, settle},
    survivors::MemberState,
};
use crate::{
    memory::scratch::TEAMS,
    queue::{Core, TeamConfig},
    team::Team,
};

/// The teams of a world that is whole again.
#[derive(Debug)]
pub struct Rebuilt {
    /// That of all PEs, and that of those of this PE's host.
    pub teams: [Team; 2],
    /// What each PE gave the first time, and the second.
    pub given: [Vec<Vec<u8>>; 2],
}

/// Which of the two times it is.
const FIRST: u8 = 1;
const SECOND: u8 = 2;

impl Team {
    /// The predefined teams of a world of which some PEs have replacements, instead of this one, of
    /// all PEs, and of `shared`, of this PE's host. One that has lost no member stays. Collective
    /// over all PEs, the replacements included. Gives `mine` to the others, and then what `more`
    /// makes of what all gave.
    ///
    /// # Errors
    /// [`Error::PeLost`] if a PE is lost and has no replacement yet; [`Error::Bootstrap`] if one
    /// has left; [`Error::Unsupported`] in a job that ends when a PE is lost, and
    /// [`Error::TeamsExhausted`].
    #[doc(hidden)]
    pub async fn rebuilt(
        &self,
        shared: &Self,
        mine: &[u8],
        more: impl Fn(&[Vec<u8>]) -> Result<Vec<u8>>,
    ) -> Result<Rebuilt> {
        const CALL: &str = "rebuilt";
        let (core, pe) = (self.core(), self.core().group.pe());
        let registry = &core.registry;
        pe.check_home(CALL)?;
        if pe.losses().is_none() {
            let what = "rebuilt() is for jobs that go on when a PE is lost (oshrun --on-loss=continue)";
            return Err(Error::Unsupported { what: what.to_owned() });
        }
        let mut attempt = 0;
        loop {
            for team in registry.teams().into_iter().filter(|team| team.group.revoked().is_some()) {
                team.idle().await;
            }
            settle(pe).await;
            let given = MemberState {
                completed: 0,
                number: registry.next_number(),
                free: registry.free_then(),
                more: mine.to_vec(),
            };
            // A PE that comes anew to the first time finds others at their second: all begin again.
            let Some((view, all)) = core.all_meet(FIRST, given.encode()).await? else { continue };
            let malformed = || Error::bootstrap(CALL, "what the PEs gave is malformed");
            let mut all: Vec<MemberState> = all
                .iter()
                .map(|bytes| MemberState::decode(bytes))
                .collect::<Option<_>>()
                .ok_or_else(malformed)?;
            let first: Vec<Vec<u8>> = all.iter_mut().map(|given| std::mem::take(&mut given.more)).collect();
            forget(pe, |place| registry.is_revoked(place)).await;
            pe.let_in_replacements(view)?;
            registry.give_back_revoked();
            let number = all.iter().map(|given| given.number).max().unwrap_or_default();
            registry.has_number(number);
            let free = |place: usize| all.iter().all(|given| given.free[place / 64] >> (place % 64) & 1 == 1);
            let mut places = (0..TEAMS).filter(|&place| free(place)).skip(attempt);
            let (Some(one), Some(another)) = (places.next(), places.next()) else {
                return Err(Error::TeamsExhausted { call: CALL, limit: TEAMS });
            };
            let world = Members::world(pe.n_pes());
            let local = Members::listed(&pe.placement().local);
            let config = TeamConfig::default();
            let teams = [(self, world, one, "world"), (shared, local, another, "shared")];
            let made = teams.map(|(old, members, place, name)| {
                // All of its members know of the losses up to that view.
                if old.core.group.revoked().is_none_or(|loss| loss.view > view) {
                    return Some(old.clone());
                }
                let made = registry.make_named(pe, &(members, config), place, (number, view), Some(name));
                made.map(Self::new)
            });
            let answer = vec![u8::from(made.iter().all(Option::is_some))];
            let met = core.all_meet(SECOND, [answer, more(&first)?].concat()).await;
            match (made, met) {
                ([Some(world), Some(shared)], Ok(Some((_, mut second))))
                    if second.iter().all(|given| given.first() == Some(&1)) =>
                {
                    [&world, &shared].iter().for_each(|team| team.core.revoke_if_lost());
                    second.iter_mut().for_each(|given| _ = given.remove(0));
                    return Ok(Rebuilt { teams: [world, shared], given: [first, second] });
                }
                (made, met) => {
                    for made in made.iter().flatten().filter(|&made| made != self && made != shared) {
                        made.core.set_destroyed();
                        registry.give_back(made.core.place);
                    }
                    met?;
                }
            }
            attempt += 1;
        }
    }
}

impl Core {
    /// All PEs meet at the launcher. How many the job has lost, and what they gave; `None` if it is
    /// not the same time for all.
    async fn all_meet(&self, time: u8, mine: Vec<u8>) -> Result<Option<(u64, Vec<Vec<u8>>)>> {
        let pe = self.group.pe();
        let members: Vec<usize> = (0..pe.n_pes()).collect();
        let given = [vec![time], mine].concat();
        let round = TeamRound { key: TeamRound::REBUILT, view: u64::MAX, members, given };
        let _shown = pe.board().enter(&Activity::new(Call::Rebuilt));
        let (view, all) = pe.bootstrap().regroup(round).await?;
        if let Some(left) = all.iter().position(|given| *given == TeamRound::LEFT) {
            return Err(Error::bootstrap("rebuilt", format!("PE {left} has left the job already")));
        }
        if all.iter().any(|given| *given == TeamRound::ELSEWHERE) {
            // They have learnt of a loss, and this PE of their replacements.
            let Some(Loss { pe, view, how, .. }) = pe.losses().and_then(|losses| losses.since(0).pop())
            else {
                return Err(Error::bootstrap("rebuilt", "PEs wait for each other without a loss"));
            };
            return Err(Error::PeLost { pe, view, how: how.to_string() });
        }
        let mut given = Vec::with_capacity(all.len());
        for (number, bytes) in all.into_iter().enumerate() {
            let Some((&first, rest)) = bytes.split_first() else {
                pe.check_there(number)?;
                let how = "it has no replacement yet".to_owned();
                return Err(Error::PeLost { pe: number, view, how });
            };
            if first != time {
                return Ok(None);
            }
            given.push(rest.to_vec());
        }
        Ok(Some((view, given)))
    }
}
