//! The places that teams have: for teams that their members make without the others, as C's active
//! sets.

use std::sync::Arc;

use oxshmem_ops::Members;
use oxshmem_progress::activity::{Activity, Call, Entry};
use oxshmem_spaces::Pe;

use crate::{
    memory::scratch::TEAMS,
    queue::{Core, registry::Registry},
    team::{Team, TeamConfig},
};

/// A bit for each place of a team.
pub type PlaceBits = [u64; TEAMS / 64];

/// The places for teams on one PE: see [`Team::places`].
#[derive(Debug)]
pub struct TeamPlaces {
    pe: Arc<Pe>,
    registry: Arc<Registry>,
}

/// A team that was made at a place of which its members have not agreed yet.
#[derive(Debug)]
pub struct Made {
    core: Arc<Core>,
    place: usize,
}

impl Team {
    /// The places that this PE has for teams. Not for programs: the members of a team that is made
    /// by them agree on it by themselves.
    #[doc(hidden)]
    pub fn places(&self) -> TeamPlaces {
        let core = self.core();
        TeamPlaces { pe: Arc::clone(core.group.pe()), registry: Arc::clone(&core.registry) }
    }
}

impl TeamPlaces {
    /// How many there are.
    pub const COUNT: usize = TEAMS;

    /// The PE.
    pub fn pe(&self) -> &Arc<Pe> {
        &self.pe
    }

    /// Those that are free.
    pub fn free(&self) -> PlaceBits {
        self.registry.free()
    }

    /// A number for a team that is greater than those of all that this PE has helped to make.
    pub fn next_number(&self) -> u64 {
        self.registry.next_number()
    }

    /// Shows that this PE makes a team, until what is returned is dropped.
    pub fn enter(&self, start: usize, stride: usize, size: usize) -> Entry {
        let stride = isize::try_from(stride).unwrap_or(isize::MAX);
        self.pe.board().enter(&Activity::new(Call::TeamSplit).split(start, stride, size))
    }

    /// Makes a team, if this PE is one of its members, and the place is still free here.
    ///
    /// # Safety
    /// All members make it alike, and none sends anything to another before all have made it. The
    /// number is one PE's [next](Self::next_number), the same on all members.
    pub unsafe fn make(&self, members: &Members, place: usize, number: u64) -> Option<Made> {
        self.registry.has_number(number);
        let team = (members.clone(), TeamConfig::default());
        let view = self.pe.losses().map_or(0, |losses| losses.view());
        let core = self.registry.make(&self.pe, &team, place, number, view)?;
        Some(Made { core, place })
    }

    /// Another member could not make it.
    pub fn give_back(&self, made: Made) {
        self.registry.give_back(made.place);
    }
}

impl From<Made> for Team {
    fn from(made: Made) -> Self {
        Self::new(made.core)
    }
}
