//! The teams that a PE is in: which places of the scratch memory they have, and which memory they
//! use.

use std::sync::{Arc, Weak};

use oxshmem_base::sync::{Mutex, MutexGuard, lock};
use oxshmem_ops::Members;
use oxshmem_spaces::Pe;

use crate::{
    group::Group,
    memory::scratch::{NUMBERS, TEAM_BYTES, TEAMS},
    queue::{Core, TeamConfig},
};

/// A bit for each place.
pub(crate) type Places = [u64; TEAMS / 64];

/// All teams of one PE.
#[derive(Debug, Default)]
pub(crate) struct Registry(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    taken: Places,
    /// Places that had a team before, whose numbers are still in it.
    used: Places,
    /// Places of teams that were revoked: these write nothing more, but others may not know yet.
    revoked: Places,
    /// Free places of which such a team has left everything half done.
    unclean: Places,
    teams: Vec<Weak<Core>>,
    /// The number of the last team that this PE has helped to make, which grows.
    last: u64,
}

impl Registry {
    /// The places that are free on this PE, a bit for each.
    pub(crate) fn free(&self) -> Places {
        self.state().taken.map(|taken| !taken)
    }

    /// Takes a place for a team that this PE is in, and that no team had before.
    pub(crate) fn take(&self, place: usize) {
        self.state().take(place);
    }

    /// [Takes](Self::take) the place if it is still free.
    fn try_take(&self, place: usize) -> Option<Before> {
        let mut state = self.state();
        let is_free = state.taken[place / 64] >> (place % 64) & 1 == 0;
        is_free.then(|| state.take(place))
    }

    /// Makes the team of `members` at a place, if this PE is one of them and the place is still
    /// free here. `number` is greater than those of all teams that its PEs have made before. The
    /// job has lost `made_in` PEs.
    pub(crate) fn make(
        self: &Arc<Self>,
        pe: &Arc<Pe>,
        (members, config): &(Members, TeamConfig),
        place: usize,
        number: u64,
        made_in: u64,
    ) -> Option<Arc<Core>> {
        self.make_named(pe, &(members.clone(), *config), place, (number, made_in), None)
    }

    /// [`make`](Self::make) of a predefined team.
    pub(crate) fn make_named(
        self: &Arc<Self>,
        pe: &Arc<Pe>,
        (members, config): &(Members, TeamConfig),
        place: usize,
        (number, made_in): (u64, u64),
        name: Option<&'static str>,
    ) -> Option<Arc<Core>> {
        let me = members.pe_of(pe.me())?;
        let again = self.try_take(place)?;
        let mut group = Group::new(pe, members.clone(), me, place, id(members, number, place));
        group.made_in = made_in;
        // What the team that was here before has left behind. No PE writes here any more.
        match again {
            Before::Nothing => {}
            Before::Destroyed => group.memory.clear(group.scratch(NUMBERS.start, NUMBERS.len())),
            Before::Revoked => group.memory.clear(group.scratch(0, TEAM_BYTES)),
        }
        Some(Core::new(group, place, name, *config, self))
    }

    /// The team at that place is no more.
    pub(crate) fn give_back(&self, place: usize) {
        self.state().taken[place / 64] &= !(1 << (place % 64));
    }

    /// The team at that place is revoked. The place stays taken until no PE writes there any more.
    pub(crate) fn set_revoked(&self, place: usize) {
        self.state().revoked[place / 64] |= 1 << (place % 64);
    }

    /// Whether the team at that place is revoked.
    pub(crate) fn is_revoked(&self, place: usize) -> bool {
        self.state().revoked.get(place / 64).is_some_and(|places| places >> (place % 64) & 1 == 1)
    }

    /// The places that are free on this PE once those of revoked teams are
    /// [given back](Self::give_back_revoked).
    pub(crate) fn free_then(&self) -> Places {
        let state = self.state();
        std::array::from_fn(|i| !state.taken[i] | state.revoked[i])
    }

    /// No PE writes any more to the places of teams that were revoked.
    pub(crate) fn give_back_revoked(&self) {
        let mut state = self.state();
        let revoked = std::mem::take(&mut state.revoked);
        state.taken.iter_mut().zip(revoked).for_each(|(taken, revoked)| *taken &= !revoked);
        state.unclean.iter_mut().zip(revoked).for_each(|(unclean, revoked)| *unclean |= revoked);
    }

    pub(crate) fn add(&self, team: &Arc<Core>) {
        let mut state = self.state();
        state.teams.retain(|team| team.strong_count() > 0);
        state.teams.push(Arc::downgrade(team));
    }

    /// A number for a team that is greater than those of all that this PE has helped to make, or is
    /// about to.
    pub(crate) fn next_number(&self) -> u64 {
        let mut state = self.state();
        state.last += 1;
        state.last
    }

    /// A team has that number, which is no less than this PE's [next](Self::next_number).
    pub(crate) fn has_number(&self, number: u64) {
        let mut state = self.state();
        state.last = state.last.max(number);
    }

    /// All teams.
    pub(crate) fn teams(&self) -> Vec<Arc<Core>> {
        self.state().teams.iter().filter_map(Weak::upgrade).collect()
    }

    fn state(&self) -> MutexGuard<'_, Table> {
        lock(&self.0)
    }
}

/// What was at a place before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    Nothing,
    /// A team that has ended in order: its numbers are still there.
    Destroyed,
    Revoked,
}

impl Table {
    fn take(&mut self, place: usize) -> Before {
        let (word, bit) = (place / 64, 1 << (place % 64));
        let [used, unclean] = [self.used[word], self.unclean[word]].map(|places| places & bit != 0);
        self.taken[word] |= bit;
        self.used[word] |= bit;
        self.unclean[word] &= !bit;
        match (used, unclean) {
            (_, true) => Before::Revoked,
            (true, false) => Before::Destroyed,
            (false, false) => Before::Nothing,
        }
    }
}

/// What names a team to its PEs: its first PE, a number that is greater than that of every team
/// before with one of the PEs that have made it, and its place. Teams with a PE in common differ in
/// it if they are there at the same time, as their places do, and if one was made after the other,
/// until the number has come to 2²⁸.
fn id(members: &Members, number: u64, place: usize) -> u64 {
    const NUMBER_BITS: u32 = 28;
    const PLACE_BITS: u32 = 16;
    let first = members.world_pe(0) as u64;
    let of_first = (first << NUMBER_BITS) | (number % (1 << NUMBER_BITS));
    (of_first << PLACE_BITS) | place as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_free_until_it_is_taken_and_again_after() {
        let registry = Registry::default();
        assert_eq!(registry.try_take(70), Some(Before::Nothing));
        assert_eq!(registry.free()[1], !(1 << 6));
        assert_eq!(registry.try_take(70), None, "somebody has it");
        registry.give_back(70);
        assert_eq!(registry.free(), [u64::MAX; TEAMS / 64]);
        assert_eq!(registry.try_take(70), Some(Before::Destroyed));
        registry.set_revoked(70);
        assert_eq!((registry.free()[1], registry.free_then()[1]), (!(1 << 6), u64::MAX));
        registry.give_back_revoked();
        assert_eq!(registry.try_take(70), Some(Before::Revoked));
        registry.give_back(70);
        assert_eq!(registry.try_take(70), Some(Before::Destroyed), "it was cleared");
    }
}
