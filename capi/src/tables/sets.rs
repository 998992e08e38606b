//! The active sets of this PE that have a team.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use oxshmem::Team;

/// First PE, stride and number of PEs.
pub(crate) type Set = [usize; 3];

/// What has a team: a set, and the address of a pSync if these have their own.
pub(crate) type Key = (Set, usize);

/// The teams of the active sets that this PE is in.
#[derive(Debug)]
pub(crate) struct Sets {
    /// Whether threads may call something at once. The same on all PEs.
    pub(crate) threads: bool,
    pub(crate) teams: Mutex<BTreeMap<Key, Arc<Team>>>,
}

impl Sets {
    /// None yet, of a job in which `threads` may call something at once, which all PEs must say
    /// alike.
    pub(crate) fn new(threads: bool) -> Self {
        Self { threads, teams: Mutex::default() }
    }

    /// Those that have lost no PE: PEs make the teams of the others anew.
    pub(crate) fn renewed(&self, threads: bool) -> Self {
        let mut teams = std::mem::take(&mut *self.teams.lock().unwrap_or_else(PoisonError::into_inner));
        teams.retain(|_, team| !team.is_revoked());
        Self { threads, teams: Mutex::new(teams) }
    }
}
