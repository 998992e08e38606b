//! Which members of a team are on which host.
//!
//! For the world that follows from the [map of hosts](Hosts), unless that is irregular: then, and
//! for other teams, it is a list, which takes memory for each host that the team is on.

use std::{collections::HashMap, sync::Arc};

use oxshmem_base::Hosts;
use oxshmem_ops::Members;

/// The members on each host, a *party*, by their numbers in the team: in the order of their
/// leaders, which come first.
#[derive(Debug)]
pub(crate) enum Parties {
    /// All PEs of the job: parties are hosts, on which PEs are `step` apart.
    World { hosts: Arc<Hosts>, step: usize },
    Listed {
        parties: Vec<Members>,
        /// Which of them are on each host, by the numbers of hosts.
        on_host: HashMap<usize, usize>,
    },
}

impl Parties {
    pub(crate) fn new(hosts: &Arc<Hosts>, members: &Members) -> Self {
        if let Some(step) = hosts.step()
            && *members == Members::world(hosts.n_pes())
        {
            return Self::World { hosts: Arc::clone(hosts), step };
        }
        let (mut on_host, mut lists) = (HashMap::new(), Vec::<Vec<usize>>::new());
        for (pe, world_pe) in members.iter().enumerate() {
            let party = *on_host.entry(hosts.host_of(world_pe)).or_insert(lists.len());
            if party == lists.len() {
                lists.push(Vec::new());
            }
            lists[party].push(pe);
        }
        let parties = lists.iter().map(|list| Members::listed(list)).collect();
        Self::Listed { parties, on_host }
    }

    /// How many hosts the team is on.
    pub(crate) fn n(&self) -> usize {
        match self {
            Self::World { hosts, .. } => hosts.n_hosts(),
            Self::Listed { parties, .. } => parties.len(),
        }
    }

    /// The first member of one.
    pub(crate) fn leader(&self, party: usize) -> usize {
        match self {
            Self::World { hosts, .. } => hosts.leader_of(party),
            Self::Listed { parties, .. } => parties[party].world_pe(0),
        }
    }

    /// The members of one.
    pub(crate) fn of(&self, party: usize) -> Members {
        match self {
            Self::World { hosts, step } => Members::world(hosts.n_pes()).strided(
                hosts.leader_of(party),
                step.cast_signed(),
                hosts.n_pes_of(party),
            ),
            Self::Listed { parties, .. } => parties[party].clone(),
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
        (0..self.n()).map(|party| self.of(party))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_world_has_the_parties_that_a_list_of_it_has() {
        for hosts in [Hosts::even(8, 4), Hosts::even(9, 4), Hosts::blocks([1, 3, 2]), Hosts::cyclic(11, 3)] {
            let hosts = Arc::new(hosts);
            let members = Members::world(hosts.n_pes());
            let parties = Parties::new(&hosts, &members);
            assert!(matches!(parties, Parties::World { .. }));
            let lists = (0..hosts.n_hosts()).map(|host| hosts.pes_of(host).collect::<Vec<_>>());
            assert!(parties.iter().map(|party| party.iter().collect::<Vec<_>>()).eq(lists));
            for host in 0..hosts.n_hosts() {
                assert_eq!(parties.of(parties.on_host(host)).world_pe(0), hosts.leader_of(host));
            }
        }
    }

    #[test]
    fn parties_of_other_teams_are_in_the_order_of_their_leaders() {
        let hosts = Arc::new(Hosts::even(6, 3));
        let parties = Parties::new(&hosts, &Members::world(6).strided(5, -1, 5));
        assert!(parties.iter().map(|party| party.iter().collect::<Vec<_>>()).eq([
            vec![0, 1],
            vec![2, 3],
            vec![4]
        ]));
        assert_eq!([2, 1, 0].map(|host| parties.on_host(host)), [0, 1, 2]);
        let irregular = Arc::new(Hosts::from_labels([0, 1, 1, 0]));
        let parties = Parties::new(&irregular, &Members::world(4));
        assert!(parties.of(0).iter().eq([0, 3]) && parties.of(1).iter().eq([1, 2]));
    }
}
