//! Which PE is on which host, and what the hosts are called.

use std::sync::Arc;

use oxshmem_base::Hosts;

/// The places of a job's PEs. Clones share everything.
#[derive(Clone, Debug)]
pub(super) struct Places {
    hosts: Arc<Hosts>,
    /// Each host's name.
    names: Arc<[String]>,
}

impl Places {
    /// The places of PEs that really all run on `machine`.
    pub(super) fn new(hosts: Hosts, machine: &str) -> Self {
        let names = (0..hosts.n_hosts()).map(|host| hosts.simulated_name(machine, host)).collect();
        Self { hosts: Arc::new(hosts), names }
    }

    /// The places of PEs on hosts with these names.
    pub(super) fn named(hosts: Hosts, names: impl IntoIterator<Item = String>) -> Self {
        Self { hosts: Arc::new(hosts), names: names.into_iter().collect() }
    }

    pub(super) fn hosts(&self) -> &Arc<Hosts> {
        &self.hosts
    }

    /// The name of a PE's host.
    pub(super) fn host_name(&self, pe: usize) -> &str {
        &self.names[self.hosts.host_of(pe)]
    }
}
