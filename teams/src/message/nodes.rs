//! Which members of a team are on which host.
//!
//! For the world that follows from the [map of hosts](Hosts), unless that is irregular: then, and
//! for other teams, it is a list, which takes memory for each host that the team is on.

use std::{collections::HashMap, sync::Arc};

use oxshmem_base::Hosts;
use oxshmem_ops::Members;

/// The members on each host, a *node*, by their numbers in the team: in the order of their leaders,
/// which come first.
#[derive(Debug)]
pub(crate) enum Nodes {
    /// All PEs of the job: nodes are hosts, on which PEs are `step` apart.
    World { hosts: Arc<Hosts>, step: usize },
    Listed {
        nodes: Vec<Members>,
        /// Which of them are on each host, by the numbers of hosts.
        on_host: HashMap<usize, usize>,
    },
}

impl Nodes {
    pub(crate) fn new(hosts: &Arc<Hosts>, members: &Members) -> Self {
        if let Some(step) = hosts.step()
            && *members == Members::world(hosts.n_pes())
        {
            return Self::World { hosts: Arc::clone(hosts), step };
        }
        let (mut on_host, mut lists) = (HashMap::new(), Vec::<Vec<usize>>::new());
        for (pe, world_pe) in members.iter().enumerate() {
            let node = *on_host.entry(hosts.host_of(world_pe)).or_insert(lists.len());
            if node == lists.len() {
                lists.push(Vec::new());
            }
            lists[node].push(pe);
        }
        let nodes = lists.iter().map(|list| Members::listed(list)).collect();
        Self::Listed { nodes, on_host }
    }

    /// How many hosts the team is on.
    pub(crate) fn n(&self) -> usize {
        match self {
            Self::World { hosts, .. } => hosts.n_hosts(),
            Self::Listed { nodes, .. } => nodes.len(),
        }
    }

    /// The first member of one.
    pub(crate) fn leader(&self, node: usize) -> usize {
        match self {
            Self::World { hosts, .. } => hosts.leader_of(node),
            Self::Listed { nodes, .. } => nodes[node].world_pe(0),
        }
    }

    /// The members of one.
    pub(crate) fn of(&self, node: usize) -> Members {
        match self {
            Self::World { hosts, step } => Members::world(hosts.n_pes()).strided(
                hosts.leader_of(node),
                step.cast_signed(),
                hosts.n_pes_of(node),
            ),
            Self::Listed { nodes, .. } => nodes[node].clone(),
        }
    }

    /// The one on a host, which the team has members on.
    pub(crate) fn on_host(&self, host: usize) -> usize {
        match self {
            Self::World { .. } => host,
            Self::Listed { on_host, .. } => on_host.get(&host).copied().unwrap_or_default(),
        }
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = Members> + '_ {
        (0..self.n()).map(|node| self.of(node))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_world_has_the_nodes_that_a_list_of_it_has() {
        for hosts in [Hosts::even(8, 4), Hosts::even(9, 4), Hosts::blocks([1, 3, 2]), Hosts::cyclic(11, 3)] {
            let hosts = Arc::new(hosts);
            let members = Members::world(hosts.n_pes());
            let nodes = Nodes::new(&hosts, &members);
            assert!(matches!(nodes, Nodes::World { .. }));
            let lists = (0..hosts.n_hosts()).map(|host| hosts.pes_of(host).collect::<Vec<_>>());
            assert!(nodes.iter().map(|node| node.iter().collect::<Vec<_>>()).eq(lists));
            for host in 0..hosts.n_hosts() {
                assert_eq!(nodes.of(nodes.on_host(host)).world_pe(0), hosts.leader_of(host));
            }
        }
    }

    #[test]
    fn nodes_of_other_teams_are_in_the_order_of_their_leaders() {
        let hosts = Arc::new(Hosts::even(6, 3));
        let nodes = Nodes::new(&hosts, &Members::world(6).strided(5, -1, 5));
        assert!(nodes.iter().map(|node| node.iter().collect::<Vec<_>>()).eq([
            vec![0, 1],
            vec![2, 3],
            vec![4]
        ]));
        assert_eq!([2, 1, 0].map(|host| nodes.on_host(host)), [0, 1, 2]);
        let irregular = Arc::new(Hosts::from_labels([0, 1, 1, 0]));
        let nodes = Nodes::new(&irregular, &Members::world(4));
        assert!(nodes.of(0).iter().eq([0, 3]) && nodes.of(1).iter().eq([1, 2]));
    }
}
