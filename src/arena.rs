//! A symmetric heap with the team of the PEs that share it.

use std::sync::Arc;

use oxshmem_base::{
    Error,
    sync::{Mutex, lock},
};
use oxshmem_spaces::{Domain, Pe, allocation::SymHeap};
use oxshmem_teams::Team;

/// A heap, that of a partition or of a whole space, and the team that shares it.
pub(crate) struct Arena {
    pub(crate) heap: Arc<SymHeap>,
    /// Its PEs that the job has not lost.
    team: Mutex<Team>,
}

impl Arena {
    pub(crate) fn new(heap: Arc<SymHeap>, team: Team) -> Self {
        Self { heap, team: Mutex::new(team) }
    }

    /// The team that shares it: of the PEs that are left, if some were lost.
    pub(crate) fn team(&self) -> Team {
        lock(&self.team).clone()
    }

    /// From now on it is shared by `team`, which PEs are left of.
    pub(crate) fn set_team(&self, team: &Team) {
        *lock(&self.team) = team.clone();
    }

    pub(crate) fn pe(&self) -> &Arc<Pe> {
        self.heap.pe()
    }

    /// The blocks that collectives of the PE's other teams use without owning them. Those on device
    /// memory own it.
    pub(crate) fn blocks_in_use_elsewhere(&self) -> Vec<u64> {
        match self.heap.domain() {
            Domain::Device(_) => Vec::new(),
            Domain::Host => self.team().blocks_in_use_elsewhere(),
        }
    }
}

/// There is no partition of that number.
pub(crate) fn no_partition(partitions: &[Arc<Arena>], call: &'static str, id: usize) -> Error {
    let defined: Vec<String> = partitions.iter().map(|arena| arena.heap.id().to_string()).collect();
    Error::NoPartition { call, id, defined: defined.join(", ") }
}
