//! The boards of the PEs of this machine: shared memory in which they show what they are in.
//!
//! The launcher relays the descriptors of that memory from each host's leader to the other PEs, and
//! keeps two of them a host. It asks no PE, which may be stuck or gone.

use std::os::fd::OwnedFd;

use oxshmem_progress::activity::{BoardLook, Boards};

use super::places::Places;

/// The boards of all hosts of which this machine has PEs.
pub(super) struct HostBoards {
    places: Places,
    /// The boards of each host, once its leader has offered them.
    boards: Vec<Option<Boards>>,
}

impl HostBoards {
    pub(super) fn new(places: Places) -> Self {
        let boards = (0..places.hosts().n_hosts()).map(|_| None).collect();
        Self { places, boards }
    }

    /// PE `pe` begins: what its host shared before is of a job that is over.
    pub(super) fn joined(&mut self, pe: usize) {
        let host = self.places.hosts().host_of(pe);
        if pe == self.places.hosts().leader_of(host) {
            self.boards[host] = None;
        }
    }

    /// PE `pe` shares memory with the PEs of its host. The boards are in what it shares first.
    pub(super) fn offer(&mut self, pe: usize, descriptors: &[OwnedFd]) {
        let boards = &mut self.boards[self.places.hosts().host_of(pe)];
        if boards.is_none() {
            *boards = Boards::from_offer(descriptors);
        }
    }

    /// PE `pe` has left or ended. The memory of a host goes with the last of its PEs, and we must
    /// not keep it.
    pub(super) fn left(&mut self, pe: usize, is_inside: impl Fn(usize) -> bool) {
        let host = self.places.hosts().host_of(pe);
        let mut pes = self.places.hosts().pes_of(host);
        if self.boards[host].is_some() && !pes.any(is_inside) {
            self.boards[host] = None;
        }
    }

    /// What the boards show.
    pub(super) fn look(&self) -> Vec<BoardLook> {
        // A board names its PE. What it says of PEs elsewhere is of no use, whichever process wrote
        // it.
        let hosts = self.places.hosts();
        let is_there = |host, pe| pe < hosts.n_pes() && hosts.host_of(pe) == host;
        (self.boards.iter().enumerate())
            .flat_map(|(host, boards)| boards.iter().flat_map(Boards::look).map(move |look| (host, look)))
            .filter(|(host, look)| is_there(*host, look.board.pe))
            .map(|(_, look)| look)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, io, os::fd::AsFd};

    use oxshmem_base::Hosts;

    use super::*;

    /// Descriptors such as a leader offers: two files with a shape each.
    fn offer() -> io::Result<Vec<OwnedFd>> {
        let (read, _write) = io::pipe()?;
        (0..4).map(|_| read.as_fd().try_clone_to_owned()).collect()
    }

    #[test]
    fn what_is_no_board_is_not_kept() {
        let mut boards = HostBoards::new(Places::new(Hosts::one(2), "node1"));
        boards.offer(0, &offer().expect("descriptors"));
        assert!(boards.boards[0].is_none());
        let asked = Cell::new(0);
        boards.left(1, |_| {
            asked.set(asked.get() + 1);
            true
        });
        assert_eq!(asked.get(), 0, "there is nothing to let go of");
    }
}
