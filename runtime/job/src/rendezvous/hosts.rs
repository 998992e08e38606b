//! Which PEs are on one host, and what they share.
//!
//! Two PEs are on one host if they can hand descriptors to each other. That takes one kernel, which
//! its boot id names, and one network namespace, in which abstract sockets have their names: two
//! containers of a machine are two hosts, unless they have their network in common. A PE that still
//! does not reach its leader, as a process of another user does not, is a host of its own.

use std::os::unix::fs::MetadataExt;

use oxshmem_base::{Distribution, Hosts};

use crate::{
    host_name,
    offers::{Address, OfferServer},
};

/// What a PE gives to all others at the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The kernel, and the network namespace there.
    machine: String,
    /// What the host is called.
    host: String,
    /// The hosts that it would simulate.
    fake_hosts: String,
    /// Where it would listen as the leader of its host.
    pub(super) address: Option<Address>,
}

impl Place {
    /// That of this process, which would listen there.
    pub(super) fn here(server: Option<&OfferServer>, fake_hosts: &Distribution) -> Self {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        // Alone in a namespace that it cannot see.
        let namespace = std::fs::metadata("/proc/self/ns/net")
            .map_or_else(|_| std::process::id().to_string(), |it| format!("{}:{}", it.dev(), it.ino()));
        Self {
            machine: format!("{} {namespace}", boot.trim()),
            host: host_name(),
            fake_hosts: fake_hosts.to_string(),
            address: server.map(OfferServer::address),
        }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let text = [&*self.machine, &self.host, &self.fake_hosts].join("\0");
        let address = self.address.map(Address::to_bytes).unwrap_or_default();
        [&address[..], text.as_bytes()].concat()
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        let (address, text) = bytes.split_first_chunk::<16>().unwrap_or((&[0; 16], &[]));
        let text = String::from_utf8_lossy(text);
        let mut parts = text.split('\0').map(str::to_owned);
        let mut next = || parts.next().unwrap_or_default();
        let (machine, host, fake_hosts) = (next(), next(), next());
        let address = Address::from_bytes(address).filter(|_| *address != [0; 16]);
        Self { machine, host, fake_hosts, address }
    }

    /// The PE that would lead the host of PE `me`: the first that seems to be there.
    pub(super) fn leader(all: &[Self], me: usize) -> usize {
        all.iter().position(|other| other.machine == all[me].machine).unwrap_or(me)
    }
}

/// Which PE is where, and what the host of PE `me` is called, if these are the leaders that the
/// PEs have reached. Whether all hosts are one machine.
pub(super) fn places(all: &[Place], leaders: &[usize], me: usize) -> (Hosts, String, bool) {
    let one_machine = leaders.iter().all(|&leader| leader == leaders[0]);
    let fake = all[0].fake_hosts.parse::<Distribution>().ok();
    let fake = fake.and_then(|distribution| distribution.up_to(all.len()).hosts(all.len()).ok());
    let labels =
        leaders.iter().enumerate().map(|(pe, leader)| (leader, fake.as_ref().map(|it| it.host_of(pe))));
    let hosts = Hosts::from_labels(labels);
    let here = hosts.host_of(me);
    let name = &all[me].host;
    let is_namesake = |pe: usize| hosts.host_of(pe) != here && all[pe].host == *name;
    let name = if (0..all.len()).any(is_namesake) { format!("{name}-{here}") } else { name.clone() };
    (hosts, name, one_machine)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(machine: &str, host: &str, fake_hosts: &str) -> Place {
        let (machine, host, fake_hosts) = (machine.to_owned(), host.to_owned(), fake_hosts.to_owned());
        Place { machine, host, fake_hosts, address: None }
    }

    #[test]
    fn places_are_taken_or_refused_whatever_is_sent() {
        let server = OfferServer::open(1).unwrap();
        let here = Place::here(Some(&server), &Distribution::even(2));
        for place in [here.clone(), place("a", "b", "")] {
            assert_eq!(Place::from_bytes(&place.to_bytes()), place);
        }
        oxshmem_base::fuzz::mutated(&[here.to_bytes()], |bytes| {
            let all = [Place::from_bytes(bytes), here.clone()];
            places(&all, &[0, Place::leader(&all, 1)], 1);
        });
    }

    #[test]
    fn pes_that_reach_a_leader_are_on_its_host() {
        let all = ["a", "b", "a", "b", "a"].map(|machine| place(machine, "vm", "1"));
        let leaders: Vec<_> = (0..5).map(|pe| Place::leader(&all, pe)).collect();
        assert_eq!(leaders, [0, 1, 0, 1, 0]);
        // PE 4 is another user's.
        let (hosts, name, one) = places(&all, &[0, 1, 0, 1, 4], 1);
        assert_eq!((hosts, &*name, one), (Hosts::from_labels([0, 1, 0, 1, 2]), "vm-1", false));
    }

    #[test]
    fn hosts_are_simulated_as_pe_0_says() {
        let all = [place("a", "vm", "2"), place("a", "vm", "1"), place("a", "vm", "1")];
        let (hosts, name, one) = places(&all, &[0, 0, 0], 2);
        assert_eq!((hosts, &*name, one), (Hosts::even(3, 2), "vm-1", true));
    }
}
