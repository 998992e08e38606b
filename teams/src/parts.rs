//! Work in parts, one for each PE, where PEs share processors: who has its turn does the parts of those beside it too.
//!
//! Work that lies between two meetings, as that of a reduction in the memory of all PEs, would take two turns a PE: one to learn that
//! everybody has come, and to do its part; and one to learn that all have done theirs. A turn takes longer than much of such
//! work. So the last PE of a processor that comes does the parts of all of that processor, in whose caches they are, and
//! everybody else finds them done when its turn comes.
//!
//! For each PE there is a word in its scratch memory that says of which work its part is taken. Whoever does a part takes it
//! first, so that it is done once. Who is beside whom is a [guess](crate::processors): if it is wrong, a PE that was thought to be
//! elsewhere does its part itself, or one does a part of another processor.

use std::task::{Poll, Waker};

use oxshmem_runtime::Result;

use crate::{
    group::{Flag, Group, NumberWait, POISON},
    processors::For,
};

/// One work, to be done after everybody has come to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts {
    number: u64,
}

/// The wait of one PE until all parts are done.
#[derive(Debug)]
pub(crate) struct Waiting {
    number: u64,
    whom: For,
    wait: NumberWait,
}

impl Parts {
    /// The next one of this team. Every PE makes the same. None where each has a processor to itself.
    pub(crate) fn next(group: &Group) -> Option<Self> {
        group.processors.are_few_to_share(group).then(|| Self { number: group.next_work() })
    }

    /// Does this PE's part and those of the PEs beside it, as far as they have not been taken. None if all is done then.
    pub(crate) fn work(self, group: &Group, mut part: impl FnMut(usize)) -> Result<Option<Waiting>> {
        let (me, n) = (group.me(), group.n());
        let mut done = 0;
        for pe in std::iter::once(me).chain(group.processors.beside(group)) {
            if self.take(group, pe)? {
                part(pe);
                done += 1;
            }
        }
        // Who has done nothing waits for whoever does its part, which may be on this processor, and interrupted.
        let whom = if done == 0 { For::Other } else { For::Elsewhere };
        if done > 0 {
            // Release and acquire: whoever learns that all is done sees what everybody has done.
            let before = group.fetch_add(Flag::PartsDone, done, 0)?;
            if before >= POISON {
                return Err(group.poisoned());
            }
            // Nobody comes to the next work before this one is over.
            if before + done == self.number * n as u64 {
                group.set_others(Flag::PartsOver, self.number);
                return Ok(None);
            }
        }
        Ok(Some(Waiting { number: self.number, whom, wait: NumberWait::default() }))
    }

    /// Whether the part of `pe` is left to this PE.
    fn take(self, group: &Group, pe: usize) -> Result<bool> {
        let before = self.number - 1;
        Ok(group.compare_swap(Flag::PartTaken.place(), before, self.number, pe)? == before)
    }
}

impl Waiting {
    /// Goes on as far as possible. `waker` is asked for only when there is something to wait for.
    pub(crate) fn poll(&mut self, group: &Group, waker: impl FnOnce() -> Waker) -> Poll<Result<()>> {
        self.wait.poll_for(self.whom, group, Flag::PartsOver.place(), self.number, waker)
    }
}
