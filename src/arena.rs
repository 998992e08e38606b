//! A symmetric heap with the team of the PEs that share it.

use std::sync::Arc;

use oxshmem_base::Error;
use oxshmem_spaces::{Domain, Pe, allocation::SymHeap};
use oxshmem_teams::Team;

/// A heap, that of a partition or of a whole space, and the team that shares it.
pub(crate) struct Arena {
    pub(crate) heap: Arc<SymHeap>,
    pub(crate) team: Team,
}

impl Arena {
    pub(crate) fn pe(&self) -> &Arc<Pe> {
        self.heap.pe()
    }

    /// The blocks that collectives of the PE's other teams use without owning them. Those on device
    /// memory own it.
    pub(crate) fn blocks_in_use_elsewhere(&self) -> Vec<u64> {
        match self.heap.domain() {
            Domain::Device(_) => Vec::new(),
            Domain::Host => self.team.blocks_in_use_elsewhere(),
        }
    }
}

/// There is no partition of that number.
pub(crate) fn no_partition(partitions: &[Arc<Arena>], call: &'static str, id: usize) -> Error {
    let defined: Vec<String> = partitions.iter().map(|arena| arena.heap.id().to_string()).collect();
    Error::NoPartition { call, id, defined: defined.join(", ") }
}
