//! Messages about jobs that hang or die: what the PEs are in, from looks at their boards.

use std::{collections::HashMap, time::Duration};

use oxshmem_progress::activity::{BoardLook, Table, list};
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

/// What is known of the PEs at one time.
pub(super) struct Facts {
    /// The process of each.
    pub(super) pids: Vec<u32>,
    /// What the launcher itself knows of each.
    pub(super) known: Vec<Known>,
    /// What boards show.
    pub(super) looks: Vec<BoardLook>,
    /// The PEs that others wait for before there is symmetric memory.
    pub(super) awaited: Vec<usize>,
}

/// When there is a message, and what it says.
pub(super) struct Diagnosis {
    places: Places,
    /// When the next table is to be printed.
    due: Option<Instant>,
    /// When the last one was printed, and what is in it.
    printed: Option<(Instant, Table)>,
}

impl Diagnosis {
    pub(super) fn new(places: Places) -> Self {
        Self { places, due: None, printed: None }
    }

    /// A PE has reported that it seems to be stuck.
    pub(super) fn stuck(&mut self, now: Instant) {
        let rested = self.printed.as_ref().map_or(now, |&(at, _)| at + TO_REST);
        self.due.get_or_insert((now + TO_GATHER).max(rested));
    }

    /// When the PEs are to be looked at for [`hang`](Self::hang).
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// The PEs are being looked at: reports from now on are for the next message.
    pub(super) fn looks(&mut self) {
        self.due = None;
    }

    /// The message about a job that hangs, if there is something new to say.
    pub(super) fn hang(&mut self, facts: &Facts, now: Instant) -> Option<String> {
        let table = self.table(facts, About::All)?;
        if self.printed.as_ref().is_some_and(|(_, before)| before.says_the_same_as(&table)) {
            return None;
        }
        let mut text = self.missing(facts);
        for mismatch in table.mismatches() {
            text += &format!("oshrun: {mismatch}\n");
        }
        text += &format!("oshrun: the job may be stuck, its PEs are in:\n{table}");
        self.printed = Some((now, table));
        Some(text)
    }

    /// What all PEs are in, for a user that asks.
    pub(super) fn show(&self, facts: &Facts) -> String {
        let (table, _) = self.gather(facts, About::All);
        let mismatches: String = table.mismatches().iter().map(|line| format!("oshrun: {line}\n")).collect();
        format!("{mismatches}oshrun: the PEs are in:\n{table}")
    }

    /// What the PEs are in, below the message about a job that ends. Nothing where no PE is in
    /// anything.
    pub(super) fn end(&self, facts: &Facts, about: About) -> String {
        let Some(table) = self.table(facts, about) else { return String::new() };
        let mismatches: String = table.mismatches().iter().map(|line| format!("  {line}\n")).collect();
        format!("\n{mismatches}{table}").trim_end().to_owned()
    }

    /// The PEs that those in init wait for.
    fn missing(&self, facts: &Facts) -> String {
        let Facts { pids, known, looks, awaited } = facts;
        let joined: Vec<usize> = looks.iter().map(|look| look.board.pe).collect();
        let is_in_init = |pe: &usize| known[*pe] == Known::Inside && !joined.contains(pe);
        let waiting = (0..pids.len()).filter(|pe| is_in_init(pe) && !awaited.contains(pe));
        let waiting: Vec<usize> = waiting.collect();
        let wait = match waiting[..] {
            [] => return String::new(),
            [pe] => format!("PE {pe} waits"),
            _ => format!("PEs {} wait", list(&waiting)),
        };
        match awaited[..] {
            [] => String::new(),
            [pe] => {
                let host = self.places.host_name(pe);
                format!("oshrun: {wait} in init for PE {pe} (pid {} on host {host})\n", pids[pe])
            }
            _ => format!("oshrun: {wait} in init for PEs {}\n", list(awaited)),
        }
    }

    /// The table of the PEs that a message `about` this names, if one of them is in anything.
    fn table(&self, facts: &Facts, about: About) -> Option<Table> {
        if about == About::Nothing {
            return None;
        }
        let (table, anything) = self.gather(facts, about);
        anything.then_some(table)
    }

    fn gather(&self, facts: &Facts, about: About) -> (Table, bool) {
        let Facts { pids, known, looks, .. } = facts;
        let mut table = Table::default();
        let mut anything = false;
        let looks: HashMap<usize, &BoardLook> = looks.iter().map(|look| (look.board.pe, look)).collect();
        for pe in (0..pids.len()).filter(|&pe| About::Pe(pe) != about) {
            let name = self.places.host_name(pe);
            match (&known[pe], looks.get(&pe)) {
                (Known::Outside(what), _) => table.say(pe, name, pids[pe], what),
                (Known::Inside, Some(look)) => {
                    table.add_look(name, look);
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
}

#[cfg(test)]
mod tests {
    use oxshmem_base::Hosts;

    use super::*;

    fn diagnosis(hosts: Hosts) -> Diagnosis {
        Diagnosis::new(Places::new(hosts, "node1"))
    }

    fn facts(pids: &[u32], known: impl Fn(usize) -> Known, awaited: &[usize]) -> Facts {
        let known = (0..pids.len()).map(known).collect();
        Facts { pids: pids.to_vec(), known, looks: Vec::new(), awaited: awaited.to_vec() }
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
        diagnosis.looks();
        let text = diagnosis.hang(&facts(&[7, 8], inside, &[]), start + TO_GATHER).expect("something to say");
        assert!(text.starts_with("oshrun: the job may be stuck, its PEs are in:\n  PE "), "{text}");
        assert!(text.ends_with("  0,1  node1  7,8  init\n"), "{text}");
        diagnosis.stuck(start + TO_REST / 2);
        assert_eq!(diagnosis.due(), Some(start + TO_GATHER + TO_REST));
        diagnosis.looks();
        assert_eq!(diagnosis.hang(&facts(&[7, 8], inside, &[]), start + 2 * TO_REST), None);
        assert_eq!(diagnosis.due(), None);
    }

    #[test]
    fn a_pe_that_does_not_come_to_init_is_named() {
        let start = Instant::now();
        let outside = |_| Known::Outside("not in init yet".to_owned());
        let but = |missing: usize| move |pe| if pe == missing { outside(pe) } else { Known::Inside };
        let mut of_one = diagnosis(Hosts::one(4));
        let text = of_one.hang(&facts(&[7, 8, 9, 10], but(2), &[2]), start).expect("something to say");
        let [who, title, ..] = text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
        assert_eq!(who, "oshrun: PEs 0,1,3 wait in init for PE 2 (pid 9 on host node1)");
        assert_eq!(title, "oshrun: the job may be stuck, its PEs are in:");
        assert!(
            text.contains("  0,1,3  node1  7,8,10  init\n  2      node1  9       not in init yet\n"),
            "{text}"
        );
        let text = diagnosis(Hosts::one(3)).hang(&facts(&[7, 8, 9], |_| Known::Inside, &[1, 2]), start);
        assert!(text.is_some_and(|text| text.starts_with("oshrun: PE 0 waits in init for PEs 1,2\n")));
        // Those that wait are waited for too: no PE is missing.
        let text = diagnosis(Hosts::one(2)).hang(&facts(&[7, 8], |_| Known::Inside, &[0, 1]), start);
        assert!(text.is_some_and(|text| text.starts_with("oshrun: the job may be stuck")));
    }

    #[test]
    fn nothing_is_printed_of_pes_that_are_in_nothing() {
        let diagnosis = diagnosis(Hosts::cyclic(3, 2));
        let outside = |_| Known::Outside("finalized".to_owned());
        assert_eq!(diagnosis.end(&facts(&[1, 2, 3], outside, &[]), About::All), "");
        let asked = diagnosis.show(&facts(&[1, 2, 3], outside, &[]));
        assert!(
            asked.starts_with("oshrun: the PEs are in:\n  PE ") && asked.contains("finalized"),
            "{asked}"
        );
        assert_eq!(diagnosis.end(&facts(&[1, 2, 3], |_| Known::Inside, &[]), About::Pe(1)), "");
        assert_eq!(diagnosis.end(&facts(&[1, 2, 3], |_| Known::Inside, &[]), About::Nothing), "");
        let text = diagnosis.end(&facts(&[1, 2, 3], |_| Known::Inside, &[]), About::All);
        assert!(text.contains("  0,2  node1-0  1,3  init\n  1    node1-1  2    init"), "{text}");
    }
}
