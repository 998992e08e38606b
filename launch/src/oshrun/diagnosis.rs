//! What the PEs are in, read off the boards in their shared memory, for messages about jobs that
//! hang or die.
//!
//! The launcher relays the descriptors of that memory from each host's leader to the other PEs, and
//! keeps two of them a host. It asks no PE, which may be stuck or gone.

use std::{collections::HashMap, os::fd::OwnedFd, time::Duration};

use oxshmem_progress::activity::{Boards, PeBoard, Table, list};
use tokio::time::Instant;

use super::{
    lifecycle::{About, Known},
    places::Places,
};

/// How long after the first report of a PE that is stuck the table is made, so that others' reports
/// are in it.
const TO_GATHER: Duration = Duration::from_millis(200);
/// How long there is no further table after one.
const TO_REST: Duration = Duration::from_secs(10);

/// The boards of a job.
pub(super) struct Diagnosis {
    places: Places,
    /// The boards of each host, once its leader has offered them.
    boards: Vec<Option<Boards>>,
    /// When the next table is to be printed.
    due: Option<Instant>,
    /// When the last one was printed, and what is in it.
    printed: Option<(Instant, Table)>,
}

impl Diagnosis {
    pub(super) fn new(places: Places) -> Self {
        let boards = (0..places.hosts().n_hosts()).map(|_| None).collect();
        Self { places, boards, due: None, printed: None }
    }

    /// PE `pe` begins: what its host shared before is of a job that is over.
    pub(super) fn joined(&mut self, pe: usize) {
        let host = self.host_of(pe);
        if pe == self.places.hosts().leader_of(host) {
            self.boards[host] = None;
        }
    }

    /// PE `pe` shares memory with the PEs of its host. The boards are in what it shares first.
    pub(super) fn offer(&mut self, pe: usize, descriptors: &[OwnedFd]) {
        let host = self.host_of(pe);
        let boards = &mut self.boards[host];
        if boards.is_none() {
            *boards = Boards::from_offer(descriptors);
        }
    }

    /// PE `pe` has left or ended. The memory of a host goes with the last of its PEs, and we must
    /// not keep it.
    pub(super) fn left(&mut self, pe: usize, known: impl Fn(usize) -> Known) {
        let host = self.host_of(pe);
        let mut pes = self.places.hosts().pes_of(host);
        if self.boards[host].is_some() && pes.all(|pe| known(pe) != Known::Inside) {
            self.boards[host] = None;
        }
    }

    /// A PE has reported that it seems to be stuck.
    pub(super) fn stuck(&mut self, now: Instant) {
        let rested = self.printed.as_ref().map_or(now, |&(at, _)| at + TO_REST);
        self.due.get_or_insert((now + TO_GATHER).max(rested));
    }

    /// When [`hang`](Self::hang) is to be called.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// The message about a job that hangs, if there is something new to say. Others wait for the
    /// PEs `awaited` before there is symmetric memory.
    pub(super) fn hang(
        &mut self,
        pids: &[u32],
        known: impl Fn(usize) -> Known,
        awaited: &[usize],
        now: Instant,
    ) -> Option<String> {
        self.due = None;
        let table = self.table(pids, &known, About::All)?;
        if self.printed.as_ref().is_some_and(|(_, before)| before.says_the_same_as(&table)) {
            return None;
        }
        let mut text = self.missing(pids, known, awaited);
        for mismatch in table.mismatches() {
            text += &format!("oshrun: {mismatch}\n");
        }
        text += &format!("oshrun: the job may be stuck, its PEs are in:\n{table}");
        self.printed = Some((now, table));
        Some(text)
    }

    /// What all PEs are in, for a user that asks.
    pub(super) fn show(&self, pids: &[u32], known: impl Fn(usize) -> Known) -> String {
        let (table, _) = self.gather(pids, known, About::All);
        let mismatches: String = table.mismatches().iter().map(|line| format!("oshrun: {line}\n")).collect();
        format!("{mismatches}oshrun: the PEs are in:\n{table}")
    }

    /// What the PEs are in, below the message about a job that ends. Nothing where no PE is in
    /// anything.
    pub(super) fn end(&self, pids: &[u32], known: impl Fn(usize) -> Known, about: About) -> String {
        let Some(table) = self.table(pids, known, about) else { return String::new() };
        let mismatches: String = table.mismatches().iter().map(|line| format!("  {line}\n")).collect();
        format!("\n{mismatches}{table}").trim_end().to_owned()
    }

    /// The PEs that those in init wait for.
    fn missing(&self, pids: &[u32], known: impl Fn(usize) -> Known, awaited: &[usize]) -> String {
        let joined: Vec<usize> =
            self.boards.iter().flatten().flat_map(Boards::read).map(|it| it.pe).collect();
        let is_in_init = |pe: &usize| known(*pe) == Known::Inside && !joined.contains(pe);
        let waiting = (0..pids.len()).filter(|pe| is_in_init(pe) && !awaited.contains(pe));
        let waiting: Vec<usize> = waiting.collect();
        let wait = match waiting[..] {
            [] => return String::new(),
            [pe] => format!("PE {pe} waits"),
            _ => format!("PEs {} wait", list(&waiting)),
        };
        match *awaited {
            [] => String::new(),
            [pe] => {
                let host = self.places.host_name(pe);
                format!("oshrun: {wait} in init for PE {pe} (pid {} on host {host})\n", pids[pe])
            }
            _ => format!("oshrun: {wait} in init for PEs {}\n", list(awaited)),
        }
    }

    /// The table of the PEs that a message `about` this names, if one of them is in anything.
    fn table(&self, pids: &[u32], known: impl Fn(usize) -> Known, about: About) -> Option<Table> {
        if about == About::Nothing {
            return None;
        }
        let (table, anything) = self.gather(pids, known, about);
        anything.then_some(table)
    }

    fn gather(&self, pids: &[u32], known: impl Fn(usize) -> Known, about: About) -> (Table, bool) {
        let mut table = Table::default();
        let mut anything = false;
        // A board names its PE. What it says of PEs elsewhere is of no use, whichever process wrote
        // it.
        let hosts = self.places.hosts();
        let is_there = |host, pe| pe < hosts.n_pes() && hosts.host_of(pe) == host;
        let read: HashMap<usize, PeBoard> = (self.boards.iter().enumerate())
            .flat_map(|(host, boards)| boards.iter().flat_map(Boards::read).map(move |board| (host, board)))
            .filter(|(host, board)| is_there(*host, board.pe))
            .map(|(_, board)| (board.pe, board))
            .collect();
        for pe in (0..hosts.n_pes()).filter(|&pe| About::Pe(pe) != about) {
            let name = self.places.host_name(pe);
            match (known(pe), read.get(&pe)) {
                (Known::Outside(what), _) => table.say(pe, name, pids[pe], &what),
                (Known::Inside, Some(board)) => {
                    table.add(name, board, self.boards[self.host_of(pe)].as_ref());
                    anything = true;
                }
                (Known::Inside, None) => {
                    table.say(pe, name, pids[pe], "init");
                    // Where a PE dies early there is nothing special in others' being in init.
                    anything |= about == About::All;
                }
            }
        }
        (table, anything)
    }

    fn host_of(&self, pe: usize) -> usize {
        self.places.hosts().host_of(pe)
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, io, os::fd::AsFd};

    use oxshmem_base::Hosts;

    use super::*;

    fn diagnosis(hosts: Hosts) -> Diagnosis {
        Diagnosis::new(Places::new(hosts, "node1"))
    }

    /// Descriptors such as a leader offers: two files with a shape each.
    fn offer() -> io::Result<Vec<OwnedFd>> {
        let (read, _write) = io::pipe()?;
        (0..4).map(|_| read.as_fd().try_clone_to_owned()).collect()
    }

    #[test]
    fn reports_make_one_table_and_the_next_one_waits() {
        let mut diagnosis = diagnosis(Hosts::one(2));
        let start = Instant::now();
        assert_eq!(diagnosis.due(), None);
        diagnosis.stuck(start);
        diagnosis.stuck(start + TO_GATHER / 2);
        assert_eq!(diagnosis.due(), Some(start + TO_GATHER));
        // All PEs are in init: a table of all says so, once.
        let inside = |_| Known::Inside;
        let text = diagnosis.hang(&[7, 8], inside, &[], start + TO_GATHER).expect("something to say");
        assert!(text.starts_with("oshrun: the job may be stuck, its PEs are in:\n  PE "), "{text}");
        assert!(text.ends_with("  0,1  node1  7,8  init\n"), "{text}");
        diagnosis.stuck(start + TO_REST / 2);
        assert_eq!(diagnosis.due(), Some(start + TO_GATHER + TO_REST));
        assert_eq!(diagnosis.hang(&[7, 8], inside, &[], start + 2 * TO_REST), None);
        assert_eq!(diagnosis.due(), None);
    }

    #[test]
    fn a_pe_that_does_not_come_to_init_is_named() {
        let start = Instant::now();
        let outside = |_| Known::Outside("not in init yet".to_owned());
        let but = |missing: usize| move |pe| if pe == missing { outside(pe) } else { Known::Inside };
        let mut of_one = diagnosis(Hosts::one(4));
        let text = of_one.hang(&[7, 8, 9, 10], but(2), &[2], start).expect("something to say");
        let [who, title, ..] = text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
        assert_eq!(who, "oshrun: PEs 0,1,3 wait in init for PE 2 (pid 9 on host node1)");
        assert_eq!(title, "oshrun: the job may be stuck, its PEs are in:");
        assert!(
            text.contains("  0,1,3  node1  7,8,10  init\n  2      node1  9       not in init yet\n"),
            "{text}"
        );
        let text = diagnosis(Hosts::one(3)).hang(&[7, 8, 9], |_| Known::Inside, &[1, 2], start);
        assert!(text.is_some_and(|text| text.starts_with("oshrun: PE 0 waits in init for PEs 1,2\n")));
        // Those that wait are waited for too: no PE is missing.
        let text = diagnosis(Hosts::one(2)).hang(&[7, 8], |_| Known::Inside, &[0, 1], start);
        assert!(text.is_some_and(|text| text.starts_with("oshrun: the job may be stuck")));
    }

    #[test]
    fn nothing_is_printed_of_pes_that_are_in_nothing() {
        let diagnosis = diagnosis(Hosts::cyclic(3, 2));
        let outside = |_| Known::Outside("finalized".to_owned());
        assert_eq!(diagnosis.end(&[1, 2, 3], outside, About::All), "");
        let asked = diagnosis.show(&[1, 2, 3], outside);
        assert!(
            asked.starts_with("oshrun: the PEs are in:\n  PE ") && asked.contains("finalized"),
            "{asked}"
        );
        assert_eq!(diagnosis.end(&[1, 2, 3], |_| Known::Inside, About::Pe(1)), "");
        assert_eq!(diagnosis.end(&[1, 2, 3], |_| Known::Inside, About::Nothing), "");
        let text = diagnosis.end(&[1, 2, 3], |_| Known::Inside, About::All);
        assert!(text.contains("  0,2  node1-0  1,3  init\n  1    node1-1  2    init"), "{text}");
    }

    #[test]
    fn what_is_no_board_is_not_kept() {
        let mut diagnosis = diagnosis(Hosts::one(2));
        diagnosis.offer(0, &offer().expect("descriptors"));
        assert!(diagnosis.boards[0].is_none());
        let asked = Cell::new(0);
        diagnosis.left(1, |_| {
            asked.set(asked.get() + 1);
            Known::Inside
        });
        assert_eq!(asked.get(), 0, "there is nothing to let go of");
    }
}
