//! The table of all PEs, for people: what each is in, for how long, with which arguments.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use oxshmem_base::span::span;

use super::Activity;
use super::BoardLook;
use super::Boards;
use super::Call;
use super::PeBoard;
use super::SHARED;
use super::Standing;

/// The most rows that are printed.
const MOST_ROWS: usize = 64;
/// The most ranges of PEs in a row.
const MOST_RANGES: usize = 8;
/// The columns, and which of them is that of phases.
const COLUMNS: [&str; 7] = ["PE", "host", "pid", "phase", "in", "for", "arguments"];
const PHASE: usize = 3;

/// What one PE does, or one of the things that it does at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The PE.
    pub pe: usize,
    /// Its host.
    pub host: String,
    /// Its process.
    pub pid: u32,
    /// The phase of the program that it is in; empty if it is in none.
    pub phase: String,
    /// What it is in.
    pub call: String,
    /// For how long, if that is known.
    pub age: Option<Duration>,
    /// With which arguments.
    pub arguments: String,
}

impl Row {
    fn new(pe: usize, host: &str, pid: u32, call: &str) -> Self {
        let (host, call) = (host.to_owned(), call.to_owned());
        Self { pe, host, pid, phase: String::new(), call, age: None, arguments: String::new() }
    }
}

/// What the PEs of a job are in. Rows that say the same of several PEs are printed as one. There is
/// a column of phases where a PE is in one.
///
/// ```
/// use oxshmem_progress::activity::{Row, Table};
///
/// let mut table = Table::default();
/// for pe in 0..3 {
///     table.say(pe, "node1", 4242 + pe as u32, "computing");
/// }
/// assert_eq!(
///     table.to_string(),
///     "  PE   host   pid        in         for  arguments\n  \
///        0-2  node1  4242-4244  computing\n"
/// );
/// ```
#[derive(Clone, Debug, Default)]
pub struct Table {
    rows: Vec<Row>,
    collectives: BTreeMap<Which, Participants>,
}

/// One collective: team, host and number. The host is empty but for the teams of the PEs of a host,
/// which share a number.
type Which = (u64, String, u64);

/// The PEs that have come to one collective.
#[derive(Clone, Debug, Default)]
struct Participants {
    members: Vec<Member>,
    /// One of them is known to be in a barrier.
    is_barrier: bool,
}

#[derive(Clone, Debug)]
struct Member {
    pe: usize,
    activity: Activity,
    /// Which of the table's rows says it.
    row: usize,
}

impl Table {
    /// Says that a PE is in no call, but in something else.
    pub fn say(&mut self, pe: usize, host: &str, pid: u32, what: &str) {
        self.rows.push(Row::new(pe, host, pid, what));
    }

    /// Adds what a PE's board says, with the values of words that `boards` can see.
    pub fn add(&mut self, host: &str, board: &PeBoard, boards: Option<&Boards>) {
        let value =
            |at: usize| boards.and_then(|boards| boards.value(board.pe, &board.seen.get(at)?.activity));
        self.add_with(host, board, value);
    }

    /// Adds what a PE's board showed when it was looked at.
    pub fn add_look(&mut self, host: &str, look: &BoardLook) {
        self.add_with(host, &look.board, |at| look.value(at));
    }

    fn add_with(&mut self, host: &str, board: &PeBoard, value: impl Fn(usize) -> Option<u64>) {
        let &PeBoard { pe, pid, .. } = board;
        let row = |call: &str| Row { phase: board.phase.clone(), ..Row::new(pe, host, pid, call) };
        match board.standing {
            Standing::Finalized => return self.say(pe, host, pid, "finalized"),
            Standing::Joined if board.seen.is_empty() && board.more == 0 => {
                return self.rows.push(row("computing"));
            }
            Standing::Joined => {}
        }
        for (at, seen) in board.seen.iter().enumerate() {
            let mut activity = seen.activity;
            if activity.call.is_collective() && activity.number > 0 {
                self.meet(host, pe, &mut activity);
            }
            let parts = [activity.place(), activity.arguments(value(at))];
            let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            let (age, arguments) = (Some(seen.age), parts.join(", "));
            self.rows.push(Row { age, arguments, ..row(&activity.name()) });
        }
        if board.more > 0 {
            self.rows.push(row(&format!("{} more calls", board.more)));
        }
    }

    /// A PE has come to a collective, of which the next row is.
    ///
    /// A PE that has nothing to complete comes to a barrier by a sync, and knows no better. Where
    /// one does know that it is a barrier, it is one for all.
    fn meet(&mut self, host: &str, pe: usize, activity: &mut Activity) {
        let host = if activity.team == SHARED { host.to_owned() } else { String::new() };
        let which = (activity.team, host, activity.number);
        let Participants { members, is_barrier } = self.collectives.entry(which).or_default();
        if activity.call == Call::Barrier && !std::mem::replace(is_barrier, true) {
            for member in members.iter_mut().filter(|member| member.activity.call == Call::Sync) {
                member.activity.call = Call::Barrier;
                self.rows[member.row].call = member.activity.name();
            }
        }
        if activity.call == Call::Sync && *is_barrier {
            activity.call = Call::Barrier;
        }
        members.push(Member { pe, activity: *activity, row: self.rows.len() });
    }

    /// Whether nobody is in it.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether it says the same as `other` but for how long things have taken.
    pub fn says_the_same_as(&self, other: &Self) -> bool {
        let timeless = |row: &Row| Row { age: None, ..row.clone() };
        self.rows.iter().map(timeless).eq(other.rows.iter().map(timeless))
    }

    /// One sentence for each collective of a team to which its PEs have come with different calls.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use oxshmem_progress::fabric::Fabric;
    /// # let fabric = Fabric::new(2, 1 << 16, false)?;
    /// # let board = |pe| Board::new(Arc::clone(&fabric.control), pe, pe, None, None);
    /// use oxshmem_progress::activity::{Activity, Board, Boards, Call, table_of};
    ///
    /// let _a = board(0).enter(&Activity::collective(Call::Broadcast, 3 << 16 | 17, 41));
    /// let _b = board(1).enter(&Activity::collective(Call::Sync, 3 << 16 | 17, 41));
    /// let boards = Boards::of(&fabric.control, &fabric.heap);
    /// assert_eq!(
    ///     table_of(&boards.read(), &boards, "node1").mismatches(),
    ///     ["PE 0 is in broadcast #41 on team 3.17 while PE 1 is in sync #41: all PEs of a team must call \
    ///       the same collectives in the same order"]
    /// );
    /// # Ok::<(), oxshmem_base::Error>(())
    /// ```
    pub fn mismatches(&self) -> Vec<String> {
        let collectives = self.collectives.iter();
        collectives.filter_map(|((_, host, _), at_it)| mismatch(host, &at_it.members)).collect()
    }

    /// The rows that are printed, and the PEs and ages of each.
    fn merged(&self) -> Vec<Merged<'_>> {
        let mut merged: Vec<Merged<'_>> = Vec::new();
        let mut places: BTreeMap<[&str; 4], usize> = BTreeMap::new();
        for row in &self.rows {
            let Row { host, phase, call, arguments, .. } = row;
            let place = *places.entry([host, phase, call, arguments]).or_insert(merged.len());
            if place == merged.len() {
                merged.push(Merged {
                    row,
                    pes: Vec::new(),
                    pids: Vec::new(),
                    ages: row.age.map(|age| (age, age)),
                });
            }
            let one = &mut merged[place];
            one.pes.push(row.pe);
            one.pids.push(row.pid as usize);
            if let (Some((least, most)), Some(age)) = (&mut one.ages, row.age) {
                (*least, *most) = ((*least).min(age), (*most).max(age));
            }
        }
        merged.sort_by_key(|one| one.pes.iter().min().copied());
        merged
    }
}

struct Merged<'a> {
    row: &'a Row,
    pes: Vec<usize>,
    pids: Vec<usize>,
    ages: Option<(Duration, Duration)>,
}

impl Merged<'_> {
    fn cells(&self) -> [String; COLUMNS.len()] {
        let age = self.ages.map_or(String::new(), |(least, most)| match (span(least), span(most)) {
            (least, most) if least == most => most,
            (least, most) => format!("{least} to {most}"),
        });
        let Row { host, phase, call, arguments, .. } = self.row.clone();
        [list(&self.pes), host, list(&self.pids), phase, call, age, arguments]
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let merged = self.merged();
        let head = COLUMNS.map(str::to_owned);
        let shown = merged.iter().take(MOST_ROWS).map(Merged::cells);
        let lines: Vec<_> = std::iter::once(head).chain(shown).collect();
        let width =
            |column: usize| lines.iter().map(|cells| cells[column].chars().count()).max().unwrap_or(0);
        let widths: [usize; COLUMNS.len()] = std::array::from_fn(width);
        let has_phases = lines[1..].iter().any(|cells| !cells[PHASE].is_empty());
        for cells in &lines {
            let columns = (0..COLUMNS.len()).filter(|&column| has_phases || column != PHASE);
            let padded = columns.map(|column| format!("{:<1$}", cells[column], widths[column]));
            writeln!(f, "  {}", padded.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        if merged.len() > MOST_ROWS {
            writeln!(f, "  and {} more rows", merged.len() - MOST_ROWS)?;
        }
        Ok(())
    }
}

/// What the PEs in one collective of one team disagree on. `host`: see [`Which`].
fn mismatch(host: &str, members: &[Member]) -> Option<String> {
    let first = &members.first()?.activity;
    let same_call = members.iter().all(|it| it.activity.call.counts_as() == first.call.counts_as());
    // PEs contribute as much as they like to a collect.
    let may_differ = matches!(first.call.counts_as(), Call::Collect | Call::Alloc);
    if same_call && (may_differ || members.iter().all(|it| it.activity.args == first.args)) {
        return None;
    }
    let mut camps: Vec<(String, Vec<usize>)> = Vec::new();
    for Member { pe, activity, .. } in members {
        let mut call = activity.name();
        if same_call {
            call += &format!(" ({})", activity.arguments(None));
        }
        match camps.iter_mut().find(|(camp, _)| *camp == call) {
            Some((_, members)) => members.push(*pe),
            None => camps.push((call, vec![*pe])),
        }
    }
    // A PE that differs from most others is the one to look at.
    camps.sort_by_key(|(_, members)| members.len());
    let mut team = format!(" {}", first.place());
    if !host.is_empty() {
        team += &format!(" of host {host}");
    }
    let mut text = String::new();
    for (i, (call, members)) in camps.iter().enumerate() {
        let joint = ["", " while ", " and "][i.min(2)];
        let place = if i == 0 { team.as_str() } else { "" };
        text += &format!("{joint}{} in {call}{place}", subject(members, "is", "are"));
    }
    let rule = if same_call {
        "all PEs of a team must give a collective the same arguments"
    } else {
        "all PEs of a team must call the same collectives in the same order"
    };
    Some(format!("{text}: {rule}"))
}

/// `PE 3 is`, or `PEs 0-2,5 are`.
pub fn subject(pes: &[usize], one: &str, many: &str) -> String {
    match pes {
        [pe] => format!("PE {pe} {one}"),
        pes => format!("PEs {} {many}", list(pes)),
    }
}

/// Numbers as ranges: `0-2,5`. Of very many ranges only the first, and how many numbers there are.
///
/// ```
/// assert_eq!(oxshmem_progress::activity::list(&[5, 0, 2, 1]), "0-2,5");
/// ```
pub fn list(numbers: &[usize]) -> String {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for &number in &sorted {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let show = |&(first, last): &(usize, usize)| match last - first {
        0 => first.to_string(),
        1 => format!("{first},{last}"),
        _ => format!("{first}-{last}"),
    };
    let shown: Vec<_> = ranges.iter().take(MOST_RANGES).map(show).collect();
    if ranges.len() > MOST_RANGES {
        return format!("{},… ({} in all)", shown.join(","), sorted.len());
    }
    shown.join(",")
}

/// The table of PEs of host `host`, whose boards are `all`.
pub fn table_of(all: &[PeBoard], boards: &Boards, host: &str) -> Table {
    let mut table = Table::default();
    for board in all {
        table.add(host, board, Some(boards));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        activity::{Counts, Seen},
        control::COUNT_WORDS,
    };

    fn board(pe: usize, activities: &[Activity]) -> PeBoard {
        let seen = |(slot, &activity): (usize, &Activity)| {
            let age = Duration::from_millis(60_000 + 1000 * pe as u64);
            Seen { activity, age, id: (slot, 2) }
        };
        let seen = activities.iter().enumerate().map(seen).collect();
        PeBoard {
            pe,
            pid: 100 + pe as u32,
            standing: Standing::Joined,
            phase: String::new(),
            seen,
            more: 0,
            counts: Counts([0; COUNT_WORDS]),
        }
    }

    /// A team that the third split has made.
    const TEAM: u64 = 3 << 16 | 17;

    fn table(boards: &[PeBoard]) -> Table {
        let mut table = Table::default();
        for board in boards {
            table.add("node1", board, None);
        }
        table
    }

    #[test]
    fn pes_that_do_the_same_share_a_row() {
        let sync = Activity::collective(Call::Sync, TEAM, 41);
        let broadcast = Activity::collective(Call::Broadcast, TEAM, 41).elements(8, 4).root(1);
        let mut all = vec![board(0, &[sync]), board(1, &[sync]), board(2, &[sync])];
        all.extend([board(3, &[broadcast]), board(4, &[])]);
        let text = table(&all).to_string();
        assert_eq!(
            text,
            "  PE   host   pid      in             for           arguments\n  \
               0-2  node1  100-102  sync #41       60 s to 62 s  on team 3.17\n  \
               3    node1  103      broadcast #41  63 s          on team 3.17, 8 elements of 4 bytes from PE 1\n  \
               4    node1  104      computing\n"
        );
        assert_eq!(
            table(&all).mismatches(),
            [
                "PE 3 is in broadcast #41 on team 3.17 while PEs 0-2 are in sync #41: all PEs of a team must call the same \
              collectives in the same order"
            ]
        );
    }

    #[test]
    fn pes_in_the_same_call_and_other_phases_have_rows_of_their_own() {
        let of = |pe, phase: &str, activities: &[Activity]| {
            let phase = phase.to_owned();
            PeBoard { phase, ..board(pe, activities) }
        };
        let quiet = Activity::new(Call::Quiet);
        let all = [
            of(0, "exchange", &[quiet]),
            of(1, "compute", &[]),
            of(2, "exchange", &[quiet]),
            of(3, "reduce", &[quiet]),
            of(4, "", &[]),
        ];
        assert_eq!(
            table(&all).to_string(),
            "  PE   host   pid      phase     in         for           arguments\n  \
               0,2  node1  100,102  exchange  quiet      60 s to 62 s\n  \
               1    node1  101      compute   computing\n  \
               3    node1  103      reduce    quiet      63 s\n  \
               4    node1  104                computing\n"
        );
        assert!(!table(&all[1..2]).says_the_same_as(&table(&[board(1, &[])])));
    }

    #[test]
    fn collectives_of_other_numbers_and_teams_are_not_compared() {
        let all = [
            board(0, &[Activity::collective(Call::Sync, TEAM, 40)]),
            board(1, &[Activity::collective(Call::Broadcast, TEAM, 41)]),
            board(2, &[Activity::collective(Call::Barrier, TEAM + 1, 41)]),
            board(3, &[Activity::collective(Call::Collect, 4, 1).elements(1, 8)]),
            board(4, &[Activity::collective(Call::Collect, 4, 1).elements(2, 8)]),
        ];
        assert_eq!(table(&all).mismatches(), Vec::<String>::new());
    }

    #[test]
    fn a_collective_with_different_roots_is_a_mismatch_too() {
        let from = |root| Activity::collective(Call::Broadcast, 0, 7).elements(1, 8).root(root);
        let all = [board(0, &[from(0)]), board(1, &[from(0)]), board(2, &[from(2)])];
        assert_eq!(
            table(&all).mismatches(),
            [
                "PE 2 is in broadcast #7 (1 element of 8 bytes from PE 2) on the world team while PEs 0,1 are in \
              broadcast #7 (1 element of 8 bytes from PE 0): all PEs of a team must give a collective the same arguments"
            ]
        );
    }

    #[test]
    fn a_barrier_is_one_for_all_whatever_each_has_to_complete() {
        let (sync, barrier) =
            (Activity::collective(Call::Sync, 0, 5), Activity::collective(Call::Barrier, 0, 5));
        let quiet = Activity::outstanding(Call::Quiet, 1);
        for barriers in [[true, false, false], [false, true, true], [false, false, true]] {
            let of = |pe: usize| board(pe, &[if barriers[pe] { barrier } else { sync }]);
            let mut all = vec![of(0), of(1), of(2)];
            all.push(board(3, &[quiet]));
            // Another one is another one.
            all.push(board(4, &[Activity::collective(Call::Sync, 0, 4)]));
            let table = table(&all);
            assert_eq!(table.mismatches(), Vec::<String>::new());
            let text = table.to_string();
            assert!(text.contains("\n  0-2  node1  100-102  barrier #5  "), "{text}");
            assert!(text.contains("\n  4    node1  104      sync #4     "), "{text}");
        }
        let broadcast = Activity::collective(Call::Broadcast, 0, 5);
        let all = [board(0, &[barrier]), board(1, &[sync]), board(2, &[broadcast])];
        assert_eq!(
            table(&all).mismatches(),
            [
                "PE 2 is in broadcast #5 on the world team while PEs 0,1 are in barrier #5: all PEs of a team must call \
              the same collectives in the same order"
            ]
        );
    }

    #[test]
    fn the_shared_teams_of_two_hosts_are_two_teams() {
        let of = |pe, call| board(pe, &[Activity::collective(call, SHARED, 7)]);
        let mut table = Table::default();
        for (host, board) in [("node1", of(0, Call::Sync)), ("node2", of(1, Call::Broadcast))] {
            table.add(host, &board, None);
        }
        assert_eq!(table.mismatches(), Vec::<String>::new());
        assert!(table.to_string().contains("on the shared team\n"), "{table}");
        table.add("node2", &of(2, Call::Sync), None);
        assert_eq!(
            table.mismatches(),
            [
                "PE 1 is in broadcast #7 on the shared team of host node2 while PE 2 is in sync #7: all PEs of a team \
              must call the same collectives in the same order"
            ]
        );
    }

    #[test]
    fn allocations_that_differ_are_left_to_the_setting_that_says_whether_they_may() {
        let calls = [Call::Alloc, Call::AllocZeroed, Call::AllocAligned, Call::AllocWithHints];
        let all: Vec<_> = calls
            .iter()
            .enumerate()
            .map(|(pe, &call)| board(pe, &[Activity::collective(call, 0, 7)]))
            .collect();
        assert_eq!(table(&all).mismatches(), Vec::<String>::new());
        let free = [board(0, &[Activity::collective(Call::Free, 0, 7)])];
        assert_eq!(table(&[&all[..], &free].concat()).mismatches().len(), 1);
    }

    #[test]
    fn tables_that_differ_in_ages_alone_say_the_same() {
        let (a, mut b) = (board(0, &[Activity::new(Call::Quiet)]), board(0, &[Activity::new(Call::Quiet)]));
        b.seen[0].age *= 2;
        let table_of_a = table(&[a]);
        assert!(table_of_a.says_the_same_as(&table(&[b])));
        assert!(!table_of_a.says_the_same_as(&table(&[board(0, &[])])));
    }

    #[test]
    fn a_large_table_is_cut() {
        let all: Vec<_> =
            (0..100).map(|pe| board(pe, &[Activity::outstanding(Call::Quiet, pe + 1)])).collect();
        let text = table(&all).to_string();
        assert_eq!(text.lines().count(), 1 + MOST_ROWS + 1);
        assert!(text.ends_with("  and 36 more rows\n"), "{text}");
        let odd: Vec<_> = (0..100).map(|i| 2 * i + 1).collect();
        assert_eq!(list(&odd), "1,3,5,7,9,11,13,15,… (100 in all)");
    }
}
