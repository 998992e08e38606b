//! Crews: the PEs of a team that are bound to one processor, which they share.
//!
//! Where everybody meets at one PE, each PE that comes fetches the line of its counter from the processor that counted last, and each one
//! that is released fetches a line from whoever releases. A crew counts its own first, on a line that stays in their
//! processor's cache, and waits for one word that all of it read there. Only the last of a crew goes to the team's counter, and the last of these
//! sets a word for each crew. So what goes from processor to processor does so once for each of them, and no PE looks for who is missing: whoever is
//! the last of its crew knows that nobody else needs the processor.
//!
//! The words are those of the crew's first PE, the *head*. Who is in which crew does not change, even if a PE is bound to another processor
//! later: then it takes longer, and that is all.

use std::{collections::HashMap, fmt, sync::Arc};

use oxshmem_ops::Members;
use oxshmem_runtime::Pe;
use oxshmem_spaces::{SymRef, SymSlice, allocation::Allocation};

use crate::{
    processors::{MOST_TO_SHARE, Set},
    scratch::TEAM_BYTES,
};

/// The crew of this PE, and who the others' heads are.
pub(crate) struct Crew {
    /// The members, by their numbers on this host.
    pub(crate) members: Set,
    /// The head.
    pub(crate) head: usize,
    /// The heads of all crews.
    pub(crate) heads: Vec<usize>,
    /// The team's scratch memory of the head.
    words: SymSlice<u64>,
}

impl Crew {
    /// That of the PE `me` of those whose memory is in `blocks`, where the team's scratch memory is at `offset`. None unless each PE is bound to a
    /// processor, and some to the same.
    pub(crate) fn of(pe: &Arc<Pe>, blocks: &Members, me: usize, offset: usize) -> Option<Self> {
        let n = blocks.n();
        if !pe.is_crowded() || pe.in_process() || n > MOST_TO_SHARE {
            return None;
        }
        let homes: Vec<u32> = blocks.iter().map(|block| pe.home_of(block)).collect::<Option<_>>()?;
        let (heads, head_of) = crews(&homes);
        if heads.len() == n {
            return None;
        }
        let head = head_of[me];
        let segment = pe.scratch().of_block(blocks.world_pe(head));
        // SAFETY: scratch memory is the teams', and this range that of the team at this place, on its head.
        let allocation = unsafe { Allocation::unowned(Arc::clone(pe), segment, offset, TEAM_BYTES) };
        Some(Self {
            members: (0..n).filter(|&other| head_of[other] == head).fold(Set::default(), Set::with),
            head,
            heads,
            words: SymSlice::new(allocation, TEAM_BYTES / size_of::<u64>()),
        })
    }

    /// The head's word at a place of the scratch memory.
    pub(crate) fn word(&self, place: usize) -> SymRef<'_, u64> {
        self.words.at(place / size_of::<u64>())
    }
}

impl fmt::Debug for Crew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { members, head, heads, .. } = self;
        write!(f, "Crew({} of PE {head}, heads are {heads:?})", members.len())
    }
}

/// The first PE with each home, and who that is for each PE.
fn crews(homes: &[u32]) -> (Vec<usize>, Vec<usize>) {
    let (mut first, mut heads) = (HashMap::new(), Vec::new());
    let head_of = homes.iter().enumerate().map(|(pe, home)| {
        *first.entry(home).or_insert_with(|| {
            heads.push(pe);
            pe
        })
    });
    let head_of = head_of.collect();
    (heads, head_of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crew_are_those_with_the_same_home_and_its_head_is_the_first() {
        assert_eq!(crews(&[0, 1, 0, 1]), (vec![0, 1], vec![0, 1, 0, 1]));
        assert_eq!(crews(&[7, 7, 2, 7, 2, 9]), (vec![0, 2, 5], vec![0, 0, 2, 0, 2, 5]));
        assert_eq!(crews(&[3]), (vec![0], vec![0]));
    }
}
