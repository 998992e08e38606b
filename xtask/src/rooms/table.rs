//! The table of rooms in the design notes: which package may use which.
//!
//! Its rows begin with the folders of packages and end with what those may use. A room brings along
//! what it may use itself; a name without a row of its own, such as a library, is for the rows that
//! name it and no others.

use std::collections::{BTreeMap, BTreeSet};

/// What the table says.
pub(super) struct Table {
    /// The rooms, in the order of their rows.
    pub(super) rooms: Vec<String>,
    /// What each row names in its last column.
    may_use: BTreeMap<String, BTreeSet<String>>,
}

impl Table {
    /// Finds the table in a page: that whose first column is headed `room`.
    pub(super) fn read(page: &str) -> Result<Self, String> {
        let cells = |line: &str| -> Vec<String> {
            line.trim().trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
        };
        let from = page.lines().skip_while(|line| !line.starts_with('|') || cells(line)[0] != "room");
        let rows = from.skip(2).take_while(|line| line.starts_with('|')).map(cells);
        let (mut rooms, mut listed) = (Vec::new(), Vec::new());
        for row in rows {
            let last = row.last().map(String::as_str).unwrap_or_default();
            rooms.extend(names(&row[0]));
            listed.extend(names(&row[0]).into_iter().map(|room| (room, names(last))));
        }
        if rooms.is_empty() {
            return Err("no table whose first column is headed `room`".into());
        }
        // A room may be named by the end of its folder: `base` is `runtime/base`.
        let full = |name: String| {
            let behind = format!("/{name}");
            let long = rooms.iter().find(|room| room.ends_with(&behind));
            if rooms.contains(&name) { name } else { long.cloned().unwrap_or(name) }
        };
        let may_use = listed.into_iter().map(|(room, used)| (room, used.into_iter().map(full).collect()));
        Ok(Self { may_use: may_use.collect(), rooms })
    }

    /// Whether some row names it without its having a row.
    pub(super) fn is_library(&self, name: &str) -> bool {
        !self.rooms.iter().any(|room| room == name) && self.may_use.values().any(|used| used.contains(name))
    }

    /// Whether the table allows an arrow.
    pub(super) fn allows(&self, from: &str, to: &str) -> bool {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(room) = next.pop() {
            let used = self.may_use.get(room).into_iter().flatten();
            let used = used.filter(|name| room == from || !self.is_library(name));
            next.extend(used.map(String::as_str).filter(|name| seen.insert(*name)));
        }
        seen.contains(to)
    }
}

/// The names in a cell: separated by commas, with or without backticks. A dash is none.
fn names(cell: &str) -> Vec<String> {
    let names = cell.split(',').map(|name| name.trim().trim_matches('`').to_owned());
    names.filter(|name| !["", "-", "–"].contains(&name.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let page = "# Rooms\n\n| room | what lives there | may use |\n|---|---|---|\n| `runtime/base` | errors | – |\n\
                    | `runtime/job` | joining | base, `pmix-sys` |\n| `src` | all | job |\n| xtask, benches | | src |\n\ntext";
        Table::read(page).unwrap()
    }

    #[test]
    fn rows_are_rooms_and_several_may_share_one() {
        assert_eq!(table().rooms, ["runtime/base", "runtime/job", "src", "xtask", "benches"]);
        assert!(Table::read("| room |").is_err());
    }

    #[test]
    fn rooms_bring_along_what_they_may_use_but_never_the_other_way() {
        assert!(table().allows("runtime/job", "runtime/base"));
        assert!(table().allows("benches", "runtime/base"));
        assert!(!table().allows("runtime/base", "runtime/job"));
        assert!(!table().allows("xtask", "benches"));
    }

    #[test]
    fn libraries_are_for_those_only_that_name_them() {
        assert!(table().is_library("pmix-sys") && !table().is_library("src") && !table().is_library("libc"));
        assert!(table().allows("runtime/job", "pmix-sys"));
        assert!(!table().allows("src", "pmix-sys"));
    }
}
