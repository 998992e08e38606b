//! What a board says, with the values of the words that its PE waits for, as bytes: for a reader on
//! another machine than the board.

use std::time::Duration;

use super::{Activity, Boards, Call, Counts, PeBoard, Seen, Standing, read::printable_name};
use crate::{
    control::COUNT_WORDS,
    phase::{NAME_WORDS, name_words},
};

/// The board of a PE and the values of the words that it waits for, as they were at one time.
///
/// Its bytes are for a process of the same build. They do not have what the PE has counted.
///
/// ```
/// # use std::sync::Arc;
/// # use oxshmem_progress::fabric::Fabric;
/// # let fabric = Fabric::new(1, 1 << 16, false)?;
/// # let board = Board::new(Arc::clone(&fabric.control), 0, 0, None, None);
/// use oxshmem_progress::activity::{Activity, Board, Boards, Call, BoardLook, Table};
///
/// let _entry = board.enter(&Activity::collective(Call::Sync, 0, 7));
/// let boards = Boards::of(&fabric.control, &fabric.heap);
/// let mut bytes = Vec::new();
/// boards.look().iter().for_each(|look| look.write(&mut bytes));
/// let look = BoardLook::read(&mut &bytes[..]).ok_or("cut short")?;
/// let mut table = Table::default();
/// table.add_look("node2", &look);
/// assert!(table.to_string().contains("sync #7"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct BoardLook {
    /// What the PE shows.
    pub board: PeBoard,
    /// A value for each entry, where the entry waits for one word.
    values: Vec<Option<u64>>,
}

impl Boards {
    /// All boards that there are, with the values of the words that are waited for.
    pub fn look(&self) -> Vec<BoardLook> {
        let look = |board: PeBoard| {
            let values = board.seen.iter().map(|seen| self.value(board.pe, &seen.activity)).collect();
            BoardLook { board, values }
        };
        self.read().into_iter().map(look).collect()
    }
}

impl BoardLook {
    /// The value of the word that an entry waits for, if it waits for one.
    pub(super) fn value(&self, entry: usize) -> Option<u64> {
        self.values.get(entry).copied().flatten()
    }

    /// Appends it to `to`.
    pub fn write(&self, to: &mut Vec<u8>) {
        let PeBoard { pe, pid, standing, phase, seen, more, .. } = &self.board;
        let head = [*pe as u64, u64::from(*pid), *standing as u64, *more, seen.len() as u64];
        head.iter().chain(&name_words(phase)).for_each(|word| to.extend(word.to_le_bytes()));
        for (at, Seen { activity, age, .. }) in seen.iter().enumerate() {
            let Activity { call, team, number, args: [a, b, c, d] } = *activity;
            let value = self.value(at);
            let age = u64::try_from(age.as_nanos()).unwrap_or(u64::MAX);
            let entry =
                [call as u64, team, number, a, b, c, d, age, value.is_some().into(), value.unwrap_or(0)];
            entry.iter().for_each(|word| to.extend(word.to_le_bytes()));
        }
    }

    /// Takes what [`write`](Self::write) has made from the beginning of `bytes`; `None` if it is
    /// something else.
    pub fn read(bytes: &mut &[u8]) -> Option<Self> {
        let mut next = || {
            let (word, rest) = bytes.split_first_chunk()?;
            *bytes = rest;
            Some(u64::from_le_bytes(*word))
        };
        let (pe, pid) = (usize::try_from(next()?).ok()?, u32::try_from(next()?).ok()?);
        let standing = match next()? {
            1 => Standing::Joined,
            2 => Standing::Finalized,
            _ => return None,
        };
        let (more, entries) = (next()?, next()?);
        let mut phase = [0; NAME_WORDS];
        for word in &mut phase {
            *word = next()?;
        }
        let (mut seen, mut values) = (Vec::new(), Vec::new());
        for at in 0..usize::try_from(entries).ok()? {
            let call = Call::from_code(next()?)?;
            let (team, number) = (next()?, next()?);
            let args = [next()?, next()?, next()?, next()?];
            let age = Duration::from_nanos(next()?);
            let (is_value, value) = (next()?, next()?);
            seen.push(Seen { activity: Activity { call, team, number, args }, age, id: (at, 0) });
            values.push((is_value == 1).then_some(value));
        }
        let (phase, counts) = (printable_name(phase), Counts([0; COUNT_WORDS]));
        Some(Self { board: PeBoard { pe, pid, standing, phase, seen, more, counts }, values })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phase::NAME_BYTES;

    fn look() -> BoardLook {
        let activity = Activity::collective(Call::Broadcast, 3, 4).elements(5, 8).root(1);
        let seen = vec![
            Seen { activity, age: Duration::from_millis(1500), id: (0, 0) },
            Seen { activity: Activity::new(Call::Quiet), age: Duration::ZERO, id: (1, 0) },
        ];
        let (phase, counts) = ("exchange".to_owned(), Counts([0; COUNT_WORDS]));
        let board = PeBoard { pe: 9, pid: 4711, standing: Standing::Joined, phase, seen, more: 2, counts };
        BoardLook { board, values: vec![Some(u64::MAX), None] }
    }

    #[test]
    fn a_look_survives_its_bytes_and_nothing_shorter_is_one() {
        let mut bytes = Vec::new();
        look().write(&mut bytes);
        let read = BoardLook::read(&mut &bytes[..]).unwrap();
        assert_eq!(format!("{read:?}"), format!("{:?}", look()));
        for length in 0..bytes.len() {
            assert!(BoardLook::read(&mut &bytes[..length]).is_none(), "{length}");
        }
    }

    #[test]
    fn what_a_look_has_for_a_phase_may_be_printed_whatever_is_sent() {
        let mut bytes = Vec::new();
        look().write(&mut bytes);
        bytes[5 * 8..13 * 8].fill(0x1b);
        let read = BoardLook::read(&mut &bytes[..]).unwrap();
        assert_eq!(read.board.phase, r"\u{1b}".repeat(NAME_BYTES));
        bytes[5 * 8..13 * 8].fill(0xff);
        let read = BoardLook::read(&mut &bytes[..]).unwrap();
        assert_eq!(read.board.phase, "\u{fffd}".repeat(NAME_BYTES));
    }
}
