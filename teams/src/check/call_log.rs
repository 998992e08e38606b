//! What each PE of a team is in, for its neighbours: how PEs that wait for each other in different
//! calls find out.
//!
//! Messages of one kind of collective carry its signature, but a PE that waits for a message of one
//! kind looks at none of another kind. So a PE that is about to sleep in a collective writes into
//! its own scratch memory which one it is, and looks at what its two neighbours have written. Of
//! two neighbours, the later one sees the earlier. If all PEs of a team wait and no two neighbours
//! differ, they all wait in the same call, which then goes on.
//!
//! A broadcast may end before others have begun it, so the signatures of the last ones are there
//! too.
//!
//! A PE that looks late, at the very end of a team, may find the log of a later team that has the
//! same place in a neighbour's memory. So a log begins with the team that it is of.

use std::sync::atomic::{Ordering, fence};

use crate::{
    group::Group,
    memory::{scratch, span::Span},
    signature::Signature,
};

/// Which of the team's collectives it is, counted from 1, and its signature.
type Entry = [u64; 3];

/// How many broadcasts are remembered: as many as a PE may be ahead by.
const BEHIND: usize = scratch::BROADCAST_WORDS;

const _: () = assert!(
    size_of::<u64>() + size_of::<Entry>() * (1 + BEHIND) <= scratch::CALL_LOG.end - scratch::CALL_LOG.start
);

/// Where the words are: the team, what the PE is in, and the broadcasts before.
const TEAM: usize = 0;
const NUMBER: usize = 1;
const BROADCASTS: usize = 4;

/// What this PE remembers of its own calls.
#[derive(Debug)]
pub(crate) struct CallLog {
    broadcasts: [Entry; BEHIND],
    /// The number of the last one.
    last: u64,
}

impl Default for CallLog {
    fn default() -> Self {
        Self { broadcasts: [[0; 3]; BEHIND], last: 0 }
    }
}

fn entry(number: u64, signature: Signature) -> Entry {
    let [what, len] = signature.unnumbered().words();
    [number, what, len]
}

impl CallLog {
    /// The broadcast with that number has ended here.
    #[inline(always)]
    pub(crate) fn remember(&mut self, number: u64, signature: Signature) {
        self.broadcasts[number as usize % BEHIND] = entry(number, signature);
        self.last = number;
    }

    /// This PE is going to sleep in a collective. True if it has found that a neighbour called
    /// something else, and has reported it to all.
    #[cold]
    pub(crate) fn compare(&self, group: &Group, number: u64, signature: Signature) -> bool {
        if group.n() == 1 || group.is_broken() {
            return false;
        }
        let mine = entry(number, signature);
        // No PE takes the entry for whole while it is written.
        write(group, NUMBER, &[0]);
        fence(Ordering::Release);
        write(group, TEAM, &[group.id]);
        write(group, NUMBER + 1, &mine[1..]);
        if self.last + BEHIND as u64 >= number {
            write(group, BROADCASTS, self.broadcasts.as_flattened());
        }
        fence(Ordering::Release);
        write(group, NUMBER, &mine[..1]);
        // A PE that writes later than this PE reads after this PE has written.
        fence(Ordering::SeqCst);
        let right = (group.me() + 1) % group.n();
        let left = (group.me() + group.n() - 1) % group.n();
        [right, left].into_iter().any(|pe| {
            let Some((theirs, ours)) = self.in_common(group, mine, pe) else { return false };
            group.compare(pe, theirs, ours).is_err()
        })
    }

    /// What a PE and this one have called with the same number, if that is known: the lower of the
    /// two they are in.
    fn in_common(&self, group: &Group, mine: Entry, pe: usize) -> Option<(Signature, Signature)> {
        let [mut before, mut after] = [[0; 2]; 2];
        read(group, pe, TEAM, &mut before);
        // A PE that sees an entry's number sees the rest of it, or another number after that.
        fence(Ordering::Acquire);
        let [team, theirs] = before;
        let (ours, place) = if theirs > mine[0] {
            (mine, BROADCASTS + mine.len() * (mine[0] as usize % BEHIND))
        } else if theirs < mine[0] {
            (self.broadcasts[theirs as usize % BEHIND], NUMBER)
        } else {
            (mine, NUMBER)
        };
        let mut entry: Entry = [0; 3];
        read(group, pe, place, &mut entry);
        fence(Ordering::Acquire);
        read(group, pe, TEAM, &mut after);
        let signature = |[_, what, len]: Entry| Signature::from_words([what, len]);
        (team == group.id && before == after && entry[0] != 0 && entry[0] == ours[0])
            .then(|| (signature(entry), signature(ours)))
    }
}

fn span(group: &Group, word: usize, words: &[u64]) -> Span {
    group.scratch(scratch::CALL_LOG.start + word * size_of::<u64>(), size_of_val(words))
}

fn write(group: &Group, word: usize, words: &[u64]) {
    group.memory.write(span(group, word, words), bytemuck::cast_slice(words));
}

fn read(group: &Group, pe: usize, word: usize, words: &mut [u64]) {
    let from = span(group, word, words);
    group.memory.read_from(from, group.block(pe), bytemuck::cast_slice_mut(words));
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use oxshmem_base::settings::Settings;
    use oxshmem_job::Local;
    use oxshmem_ops::Members;
    use oxshmem_spaces::Pe;

    use super::*;

    /// Whether PE 1, in a sync of the team `mine`, finds that PE 0 does something else, which
    /// destroys the team `theirs` at the same place.
    fn finds(mine: u64, theirs: u64) -> bool {
        const PLACE: usize = 5;
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let pes = runtime.block_on(async {
            let mut cluster = Local::cluster(2).into_iter().map(Arc::new);
            let mut join = || Pe::join(cluster.next().unwrap(), Settings::default());
            tokio::try_join!(join(), join()).unwrap()
        });
        let group = |pe: &Arc<Pe>, me, id| Group::new(pe, Members::world(2), me, PLACE, id);
        let (there, here) = (group(&pes.0, 0, theirs), group(&pes.1, 1, mine));
        assert!(!CallLog::default().compare(&there, 3, Signature::named("destroy")), "PE 1 has no log yet");
        CallLog::default().compare(&here, 3, Signature::named("sync"))
    }

    #[test]
    fn what_a_later_team_at_the_same_place_does_concerns_nobody_of_the_one_before() {
        assert!(finds(7, 7));
        assert!(!finds(7, 8));
    }
}
