//! The teams that a PE is in: which places of the scratch memory they have, and which memory they
//! use.

use std::sync::{Arc, Weak};

use oxshmem_base::sync::{Mutex, MutexGuard, lock};
use oxshmem_ops::Members;
use oxshmem_spaces::Pe;

use crate::{
    group::Group,
    memory::scratch::{NUMBERS, TEAMS},
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
    teams: Vec<Weak<Core>>,
    /// The number of the last team that this PE has helped to make, which grows.
    last: u64,
}

impl Registry {
    /// The places that are free on this PE, a bit for each.
    pub(crate) fn free(&self) -> Places {
        self.state().taken.map(|taken| !taken)
    }

    /// Takes a place for a team that this PE is in. True if another team had it before.
    pub(crate) fn take(&self, place: usize) -> bool {
        self.state().take(place)
    }

    /// [Takes](Self::take) the place if it is still free.
    fn try_take(&self, place: usize) -> Option<bool> {
        let mut state = self.state();
        let is_free = state.taken[place / 64] >> (place % 64) & 1 == 0;
        is_free.then(|| state.take(place))
    }

    /// Makes the team of `members` at a place, if this PE is one of them and the place is still
    /// free here. `number` is greater than those of all teams that its PEs have made before.
    pub(crate) fn make(
        self: &Arc<Self>,
        pe: &Arc<Pe>,
        (members, config): &(Members, TeamConfig),
        place: usize,
        number: u64,
    ) -> Option<Arc<Core>> {
        let me = members.pe_of(pe.me())?;
        let again = self.try_take(place)?;
        let group = Group::new(pe, members.clone(), me, place, id(members, number, place));
        if again {
            // What the team that was here before has left behind. No PE writes here any more.
            group.memory.clear(group.scratch(NUMBERS.start, NUMBERS.len()));
        }
        Some(Core::new(group, place, None, *config, self))
    }

    /// The team at that place is no more.
    pub(crate) fn give_back(&self, place: usize) {
        self.state().taken[place / 64] &= !(1 << (place % 64));
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

impl Table {
    fn take(&mut self, place: usize) -> bool {
        let (word, bit) = (place / 64, 1 << (place % 64));
        self.taken[word] |= bit;
        let again = self.used[word] & bit != 0;
        self.used[word] |= bit;
        again
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
        assert!(!registry.take(70), "nobody had it before");
        assert_eq!(registry.free()[1], !(1 << 6));
        assert_eq!(registry.try_take(70), None, "somebody has it");
        registry.give_back(70);
        assert_eq!(registry.free(), [u64::MAX; TEAMS / 64]);
        assert_eq!(registry.try_take(70), Some(true), "a team had it before");
    }
}
