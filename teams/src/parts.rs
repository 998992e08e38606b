//! Work in parts, one for each PE, where PEs share processors: who has its turn does the parts of those beside it too.
//!
//! Work that lies between two meetings, as that of a reduction in the memory of all PEs, would take two turns a PE: one to learn that
//! everybody has come, and to do its part; and one to learn that all have done theirs. A turn takes longer than much of such
//! work. So the last PE of a processor that comes does the parts of all of that processor, in whose caches they are, and
//! everybody else finds them done when its turn comes.
//!
//! For each PE there is a word in its scratch memory that says of which work its part is taken. Whoever does a part takes it
//! first, all of them before any is done, so that it is done once. Who is beside whom is a [guess](crate::processors): if it is wrong, a PE that was thought to be
//! elsewhere does its part itself, or one does a part of another processor.
//!
//! A reduction's parts can be done when all have come. Those of a broadcast can be when the root has, so that one PE of each processor is
//! enough, and the root takes what is left if that comes late: PEs may even be several works behind.

use std::{
    sync::atomic::{
        Ordering::{Acquire, SeqCst},
        fence,
    },
    task::{Poll, Waker},
    time::Duration,
};

use oxshmem_base::Result;

use crate::{
    group::{Flag, Group, NumberWait, POISON},
    processors::{For, Set},
    words,
};

/// How long a PE waits without giving its processor away for each KiB that others may have to copy, and for how many at most: beside those a
/// turn takes no time.
const COPY_KIB: Duration = Duration::from_nanos(64);
const MOST_KIB: u64 = 1 << 10;

/// One work. It begins when everybody has come to it, or at least whoever has what it is about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts {
    number: u64,
}

/// The wait of one PE until all parts are done.
#[derive(Debug)]
pub(crate) struct Waiting {
    parts: Parts,
    /// How many this PE has done.
    done: u64,
    whom: For,
    wait: NumberWait,
}

impl Parts {
    /// The next one of this team. Every PE makes the same. None where each has a processor to itself.
    pub(crate) fn next(group: &Group) -> Option<Self> {
        group.processors.are_few_to_share(group).then(|| Self { number: group.next_work() })
    }

    /// Does this PE's part and those of the PEs beside it, as far as they have not been taken. None if all is done then.
    pub(crate) fn work(self, group: &Group, parts: impl FnMut(Set)) -> Result<Option<Waiting>> {
        // Who is late need not look at each part.
        if self.is_over(group) {
            return Ok(None);
        }
        self.work_for(group, group.processors.beside(group).with(group.me()), parts)
    }

    /// Does all parts that nobody has taken: those of processors on which nobody has come, as who comes takes all of its own at once.
    pub(crate) fn take_over(self, group: &Group, parts: impl FnMut(Set)) -> Result<Option<Waiting>> {
        self.work_for(group, (0..group.n()).fold(Set::default(), Set::with), parts)
    }

    fn work_for(self, group: &Group, pes: Set, mut parts: impl FnMut(Set)) -> Result<Option<Waiting>> {
        let mut taken = Set::default();
        for pe in pes {
            if self.take(group, pe) {
                taken = taken.with(pe);
            }
        }
        let done = taken.len();
        parts(taken);
        // Who has done nothing waits for whoever does its part, which may be on this processor, and interrupted.
        let whom = if done == 0 { For::Other } else { For::Elsewhere };
        if done > 0 {
            // Release and acquire: whoever learns that all is done sees what everybody has done.
            let before = group.fetch_add(Flag::PartsDone, done, 0);
            if before >= POISON {
                return Err(group.poisoned());
            }
            // Nobody comes to the next work before this one is over.
            if before + done == self.number * group.n() as u64 {
                self.release(group)?;
                return Ok(None);
            }
        }
        Ok(Some(Waiting { parts: self, done, whom, wait: NumberWait::default() }))
    }

    /// Tells all others that it is over. They may do later works meanwhile, without this PE, and tell them so: whoever says
    /// anything late looks for that, and says it once more.
    fn release(self, group: &Group) -> Result<()> {
        let mut over = self.number;
        loop {
            // Either who has done the last part of a later work tells of that after this, or its count is seen here. The first fence is
            // for who comes after, the second for who came before.
            fence(SeqCst);
            group.set_others(Flag::PartsOver, over);
            fence(SeqCst);
            // Acquire: who is told by this PE sees what others have done.
            let done = words::word(group.words_of(0).0, Flag::PartsDone.place()).load(Acquire);
            if done >= POISON {
                return Err(group.poisoned());
            }
            let now = done / group.n() as u64;
            if now <= over {
                return Ok(());
            }
            over = now;
        }
    }

    /// Whether all parts are known to be done.
    fn is_over(self, group: &Group) -> bool {
        group.has_come(Flag::PartsOver.place(), self.number)
    }

    /// Whether the part of `pe` is left to this PE.
    fn take(self, group: &Group, pe: usize) -> bool {
        let before = self.number - 1;
        group.compare_swap(Flag::PartTaken.place(), before, self.number, pe) == before
    }
}

impl Waiting {
    /// Waits as long as others may take for about as many parts as this PE has done, of copying so many bytes each, and tells whether all are
    /// done. Who has done none does not: it may be one of this processor that does its part.
    pub(crate) fn hold(&self, group: &Group, bytes: usize) -> bool {
        if self.done == 0 {
            return false;
        }
        let kib = (self.done + 1).saturating_mul(bytes as u64 >> 10).min(MOST_KIB);
        group.pe().executor().hold_for(COPY_KIB * kib as u32, || self.parts.is_over(group))
    }

    /// Lets other PEs of this processor have it meanwhile, and tells whether all are done.
    pub(crate) fn give_way(&self, group: &Group) -> bool {
        group.pe().executor().spin_until(|| self.parts.is_over(group))
    }

    /// Goes on as far as possible. `waker` is asked for only when there is something to wait for.
    pub(crate) fn poll(&mut self, group: &Group, waker: impl FnOnce() -> Waker) -> Poll<Result<()>> {
        self.wait.poll_for(self.whom, group, Flag::PartsOver.place(), self.parts.number, waker)
    }
}
