//! Which PE is on which host.
//!
//! Jobs are nearly always distributed over their hosts in blocks or in turn, which is known from a
//! few numbers. Only a map that is neither costs memory for each PE: its place in the list of all
//! PEs in which those of a host are together, from which both its host and its index there follow.

use std::{collections::HashMap, hash::Hash};

/// Which host each PE of a job is on.
///
/// Hosts are numbered in the order of their lowest PEs, which are their *leaders*. The PEs of a
/// host are its *local PEs*, numbered from 0 in the order of their numbers in the job: memory that
/// they share has a block for each of them, in that order. Clones of a map that is in blocks of
/// equal size or in turn cost nothing; share others behind an `Arc`.
///
/// PEs and hosts that are asked about must exist.
///
/// ```
/// use oxshmem_base::Hosts;
///
/// let hosts = Hosts::from_labels(["b", "b", "a", "b"]);
/// assert_eq!((hosts.n_pes(), hosts.n_hosts()), (4, 2));
/// assert_eq!((hosts.host_of(3), hosts.local_pe_of(3)), (0, 2));
/// assert_eq!((hosts.leader_of(1), hosts.n_pes_of(0)), (2, 3));
/// assert!(hosts.pes_of(0).eq([0, 1, 3]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    n_pes: usize,
    n_hosts: usize,
    order: Order,
}

// A map has one order only, the first of these that fits: that makes equal maps equal values.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Order {
    /// A block of consecutive PEs each, their sizes as even as possible, the larger ones first.
    Even,
    /// A block of consecutive PEs each: the first PE of every host, and the number of PEs.
    Blocks(Box<[u32]>),
    /// PE i is on host i mod n.
    Cyclic,
    /// None of these.
    Irregular(Irregular),
}

/// A map of any form, by the list of all PEs in which those of a host are together and in order.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Irregular {
    /// Where in the list each PE is.
    places: Box<[u32]>,
    /// Where each host begins, and the list's length.
    starts: Box<[u32]>,
    leaders: Box<[u32]>,
}

impl Hosts {
    /// All PEs on one host.
    ///
    /// ```
    /// use oxshmem_base::Hosts;
    ///
    /// let hosts = Hosts::one(4);
    /// assert_eq!((hosts.n_hosts(), hosts.host_of(3), hosts.local_pe_of(3)), (1, 0, 3));
    /// ```
    pub fn one(n_pes: usize) -> Self {
        Self::even(n_pes, 1)
    }

    /// Blocks of consecutive PEs, as even as possible, the larger ones first. Hosts that no PE is
    /// left for are not in it.
    ///
    /// ```
    /// use oxshmem_base::Hosts;
    ///
    /// let hosts = Hosts::even(5, 2);
    /// assert!(hosts.pes_of(0).eq([0, 1, 2]) && hosts.pes_of(1).eq([3, 4]));
    /// ```
    pub fn even(n_pes: usize, n_hosts: usize) -> Self {
        Self { n_pes, n_hosts: n_hosts.clamp(1, n_pes.max(1)), order: Order::Even }
    }

    /// PE i on host i mod `n_hosts`. Hosts that no PE is left for are not in it.
    ///
    /// ```
    /// use oxshmem_base::Hosts;
    ///
    /// let hosts = Hosts::cyclic(5, 2);
    /// assert!(hosts.pes_of(0).eq([0, 2, 4]) && hosts.pes_of(1).eq([1, 3]));
    /// ```
    pub fn cyclic(n_pes: usize, n_hosts: usize) -> Self {
        let n_hosts = n_hosts.clamp(1, n_pes.max(1));
        let order = if n_hosts == 1 || n_hosts == n_pes { Order::Even } else { Order::Cyclic };
        Self { n_pes, n_hosts, order }
    }

    /// Blocks of consecutive PEs of these sizes. Hosts without PEs are not in it.
    ///
    /// ```
    /// use oxshmem_base::Hosts;
    ///
    /// let hosts = Hosts::blocks([1, 3]);
    /// assert!(hosts.pes_of(1).eq([1, 2, 3]));
    /// ```
    pub fn blocks(sizes: impl IntoIterator<Item = usize>) -> Self {
        let mut starts = vec![0];
        let mut n_pes = 0;
        for size in sizes.into_iter().filter(|&size| size > 0) {
            n_pes += size;
            starts.push(short(n_pes));
        }
        let even = Self::even(n_pes, starts.len() - 1);
        if (0..even.n_hosts).all(|host| starts[host] as usize == even.even_start(host)) {
            return even;
        }
        Self { order: Order::Blocks(starts.into()), ..even }
    }

    /// From what tells the host of each PE, in the order of the PEs: PEs with equal labels are on
    /// one host.
    ///
    /// ```
    /// use oxshmem_base::Hosts;
    ///
    /// assert_eq!(Hosts::from_labels([7, 7, 7, 2, 2]), Hosts::even(5, 2));
    /// assert_eq!(Hosts::from_labels(["x", "y", "x", "y"]), Hosts::cyclic(4, 2));
    /// ```
    pub fn from_labels<T: Eq + Hash>(labels: impl IntoIterator<Item = T>) -> Self {
        let mut numbers = HashMap::new();
        let (mut host_of, mut sizes, mut leaders) = (Vec::new(), Vec::new(), Vec::new());
        for (pe, label) in labels.into_iter().enumerate() {
            let host = *numbers.entry(label).or_insert(sizes.len());
            if host == sizes.len() {
                sizes.push(0);
                leaders.push(short(pe));
            }
            sizes[host] += 1;
            host_of.push(short(host));
        }
        let (n_pes, n_hosts) = (host_of.len(), sizes.len());
        if host_of.is_sorted() {
            return Self::blocks(sizes);
        }
        if host_of.iter().enumerate().all(|(pe, &host)| host as usize == pe % n_hosts) {
            return Self::cyclic(n_pes, n_hosts);
        }
        let mut starts = vec![0];
        let mut end = 0;
        for size in sizes {
            end += size;
            starts.push(short(end));
        }
        let mut next = starts.clone();
        let mut places = host_of;
        for place in &mut places {
            let next = &mut next[*place as usize];
            *place = *next;
            *next += 1;
        }
        let (places, starts, leaders) = (places.into(), starts.into(), leaders.into());
        Self { n_pes, n_hosts, order: Order::Irregular(Irregular { places, starts, leaders }) }
    }

    /// How many PEs there are.
    pub fn n_pes(&self) -> usize {
        self.n_pes
    }

    /// How many hosts there are: at least one.
    pub fn n_hosts(&self) -> usize {
        self.n_hosts
    }

    /// The host of a PE. Takes a moment that does not depend on the number of PEs.
    pub fn host_of(&self, pe: usize) -> usize {
        debug_assert!(pe < self.n_pes, "PE {pe} of {}", self.n_pes);
        match &self.order {
            Order::Even => {
                let (size, larger) = (self.n_pes / self.n_hosts, self.n_pes % self.n_hosts);
                let of_the_larger = pe / (size + 1);
                if of_the_larger < larger { of_the_larger } else { (pe - larger) / size }
            }
            Order::Blocks(starts) => find(starts, pe),
            Order::Cyclic => pe % self.n_hosts,
            Order::Irregular(map) => find(&map.starts, map.places[pe] as usize),
        }
    }

    /// The number of a PE among the local PEs of its host. The time that it takes does not depend
    /// on the number of PEs.
    pub fn local_pe_of(&self, pe: usize) -> usize {
        debug_assert!(pe < self.n_pes, "PE {pe} of {}", self.n_pes);
        match &self.order {
            Order::Even => pe - self.even_start(self.host_of(pe)),
            Order::Blocks(starts) => pe - starts[find(starts, pe)] as usize,
            Order::Cyclic => pe / self.n_hosts,
            Order::Irregular(map) => {
                let place = map.places[pe] as usize;
                place - map.starts[find(&map.starts, place)] as usize
            }
        }
    }

    /// The lowest PE of a host.
    pub fn leader_of(&self, host: usize) -> usize {
        debug_assert!(host < self.n_hosts, "host {host} of {}", self.n_hosts);
        match &self.order {
            Order::Even => self.even_start(host),
            Order::Blocks(starts) => starts[host] as usize,
            Order::Cyclic => host,
            Order::Irregular(map) => map.leaders[host] as usize,
        }
    }

    /// How many PEs a host has.
    pub fn n_pes_of(&self, host: usize) -> usize {
        debug_assert!(host < self.n_hosts, "host {host} of {}", self.n_hosts);
        match &self.order {
            Order::Even | Order::Cyclic => {
                self.n_pes / self.n_hosts + usize::from(host < self.n_pes % self.n_hosts)
            }
            Order::Blocks(starts) | Order::Irregular(Irregular { starts, .. }) => {
                (starts[host + 1] - starts[host]) as usize
            }
        }
    }

    /// The PEs of a host, in ascending order, which is that of their blocks. In a map that is
    /// neither in blocks nor in turn, this looks at all PEs from the first of the host to its last.
    pub fn pes_of(&self, host: usize) -> impl Iterator<Item = usize> + Clone + '_ {
        let irregular = match &self.order {
            Order::Irregular(map) => Some(map),
            _ => None,
        };
        let is_there = move |&pe: &usize| irregular.is_none_or(|map| map.is_on(pe, host));
        (self.leader_of(host)..self.n_pes)
            .step_by(self.step().unwrap_or(1))
            .filter(is_there)
            .take(self.n_pes_of(host))
    }

    /// By how much the numbers of PEs of one host that follow each other differ, if that is the
    /// same for all.
    ///
    /// ```
    /// use oxshmem_base::Hosts;
    ///
    /// assert_eq!(Hosts::blocks([1, 3]).step(), Some(1));
    /// assert_eq!(Hosts::cyclic(6, 3).step(), Some(3));
    /// assert_eq!(Hosts::from_labels([0, 1, 1, 0]).step(), None);
    /// ```
    pub fn step(&self) -> Option<usize> {
        match &self.order {
            Order::Even | Order::Blocks(_) => Some(1),
            Order::Cyclic => Some(self.n_hosts),
            Order::Irregular(_) => None,
        }
    }

    /// What a simulated host is called that is really on `machine`: where there is only one, as
    /// that is.
    ///
    /// ```
    /// use oxshmem_base::Hosts;
    ///
    /// assert_eq!(Hosts::even(4, 2).simulated_name("node1", 1), "node1-1");
    /// assert_eq!(Hosts::one(4).simulated_name("node1", 0), "node1");
    /// ```
    pub fn simulated_name(&self, machine: &str, host: usize) -> String {
        if self.n_hosts == 1 { machine.to_owned() } else { format!("{machine}-{host}") }
    }

    /// Where a host begins if blocks are even.
    fn even_start(&self, host: usize) -> usize {
        host * (self.n_pes / self.n_hosts) + host.min(self.n_pes % self.n_hosts)
    }
}

impl Irregular {
    fn is_on(&self, pe: usize, host: usize) -> bool {
        (self.starts[host]..self.starts[host + 1]).contains(&self.places[pe])
    }
}

/// The host whose part of the list has this place.
fn find(starts: &[u32], place: usize) -> usize {
    starts.partition_point(|&start| start as usize <= place) - 1
}

/// A PE's number in less memory.
///
/// # Panics
/// With more PEs than the 2³² that no machine has.
fn short(pe: usize) -> u32 {
    u32::try_from(pe).unwrap_or_else(|_| panic!("{pe} PEs are more than there can be"))
}

#[cfg(all(test, not(oxshmem_loom)))]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    /// Compares with what the plain list of each PE's host says.
    fn check(hosts: &Hosts, labels: &[usize]) {
        let mut leaders: Vec<usize> = Vec::new();
        for (pe, label) in labels.iter().enumerate() {
            if !leaders.iter().any(|&leader| labels[leader] == *label) {
                leaders.push(pe);
            }
        }
        assert_eq!((hosts.n_pes(), hosts.n_hosts()), (labels.len(), leaders.len()));
        for (host, &leader) in leaders.iter().enumerate() {
            let pes: Vec<_> = (0..labels.len()).filter(|&pe| labels[pe] == labels[leader]).collect();
            assert_eq!(hosts.leader_of(host), leader, "{hosts:?}");
            assert_eq!(hosts.n_pes_of(host), pes.len(), "{hosts:?}");
            assert!(hosts.pes_of(host).eq(pes.iter().copied()), "{hosts:?}");
            for (block, &pe) in pes.iter().enumerate() {
                assert_eq!((hosts.host_of(pe), hosts.local_pe_of(pe)), (host, block), "PE {pe} of {hosts:?}");
            }
        }
        assert_eq!(Hosts::from_labels(labels), *hosts, "one map is one value");
    }

    proptest! {
        #[test]
        fn any_map_is_what_a_plain_list_says(labels in vec(0..6_usize, 1..60)) {
            check(&Hosts::from_labels(&labels), &labels);
        }

        #[test]
        fn maps_with_one_pe_out_of_order_are_too(n in 2..40_usize, k in 1..8_usize, a: usize, b: usize) {
            for regular in [Hosts::even(n, k), Hosts::cyclic(n, k)] {
                let mut labels: Vec<_> = (0..n).map(|pe| regular.host_of(pe)).collect();
                labels.swap(a % n, b % n);
                check(&Hosts::from_labels(&labels), &labels);
            }
        }

        #[test]
        fn blocks_of_any_size_are_consecutive(sizes in vec(0..9_usize, 1..12)) {
            prop_assume!(sizes.iter().sum::<usize>() > 0);
            let labels = sizes.iter().enumerate().flat_map(|(host, &size)| vec![host; size]);
            check(&Hosts::blocks(sizes.clone()), &labels.collect::<Vec<_>>());
        }

        #[test]
        fn even_blocks_differ_by_one_at_most_and_begin_with_the_larger(n in 1..200_usize, k in 1..20_usize) {
            let hosts = Hosts::even(n, k);
            let labels: Vec<_> = (0..n).map(|pe| hosts.host_of(pe)).collect();
            check(&hosts, &labels);
            prop_assert!(labels.is_sorted());
            let sizes: Vec<_> = (0..hosts.n_hosts()).map(|host| hosts.n_pes_of(host)).collect();
            prop_assert!(sizes.is_sorted_by(|a, b| a >= b) && sizes[0] - sizes[sizes.len() - 1] <= 1);
        }

        #[test]
        fn cyclic_maps_place_pes_in_turn(n in 1..200_usize, k in 1..20_usize) {
            let labels: Vec<_> = (0..n).map(|pe| pe % k).collect();
            check(&Hosts::cyclic(n, k), &labels);
        }
    }

    #[test]
    fn regular_maps_of_many_pes_hold_no_list_of_pes() {
        let n = 1 << 20;
        assert_eq!(Hosts::from_labels((0..n).map(|pe| pe / 64)).order, Order::Even);
        assert_eq!(Hosts::from_labels((0..n).map(|pe| pe % 64)).order, Order::Cyclic);
        let Order::Blocks(starts) = Hosts::from_labels((0..n).map(|pe| pe.min(9))).order else {
            panic!("they are blocks")
        };
        assert_eq!(starts.len(), 11);
    }

    #[test]
    fn no_pes_are_one_empty_host() {
        for hosts in [Hosts::one(0), Hosts::blocks([0, 0]), Hosts::from_labels([0; 0]), Hosts::cyclic(0, 3)] {
            assert_eq!(hosts, Hosts::one(0));
            assert_eq!((hosts.n_hosts(), hosts.n_pes_of(0), hosts.pes_of(0).count()), (1, 0, 0));
        }
    }
}
