//! The quick way through flat and central exchanges of so little that it fits into slots, which most small collectives are: without
//! a state machine, and without an entry in the queue if the others were first.
//!
//! Its messages are those of every such [`Exchange`], which is what it becomes where there is something to wait for.

use oxshmem_base::Result;

use super::{Deal, Exchange, Single, Small, Step, combine_bytes};
use crate::{
    choice::Mode,
    group::{Awaited, Flag, Group, NumberWait},
    reduction::Kernel,
    scratch::{self, INLINE, LINE},
    signature::Signature,
    span::Span,
    words::{self, Slot, Words},
};

/// What the PEs do with each other's bytes.
#[derive(Clone, Copy)]
enum Work {
    Reduce(&'static Kernel),
    Fcollect,
    Alltoall,
}

impl Work {
    /// With `len` bytes in each PE's source: also how many of them it gives to each other one.
    #[inline(always)]
    fn of(deal: &Deal, len: usize) -> Option<(Self, usize)> {
        let (work, given) = match *deal {
            Deal::Reduce(kernel) => (Self::Reduce(kernel), len),
            Deal::Fcollect => (Self::Fcollect, len),
            Deal::Alltoall { block } => (Self::Alltoall, block),
            _ => return None,
        };
        (given <= INLINE).then_some((work, given))
    }

    #[inline(always)]
    fn deal(self, given: usize) -> Deal {
        match self {
            Self::Reduce(kernel) => Deal::Reduce(kernel),
            Self::Fcollect => Deal::Fcollect,
            Self::Alltoall => Deal::Alltoall { block: given },
        }
    }
}

/// An exchange that has begun.
#[derive(Clone, Copy)]
pub(crate) struct Quick {
    work: Work,
    signature: Signature,
    source: Span,
    dest: Span,
    /// Bytes that each PE gives to each other one.
    given: usize,
    number: u64,
    is_central: bool,
}

/// How far it has come with its call.
pub(crate) enum Begun {
    Waits(Quick),
    /// This PE was the last, and has released the others.
    Ended(Quick, Result<()>),
}

impl Quick {
    /// Sends what this PE gives, if the exchange is such a one.
    #[inline(always)]
    pub(crate) fn begin(
        group: &Group,
        mode: Mode,
        deal: &Deal,
        signature: Signature,
        [source, dest]: [Span; 2],
    ) -> Option<Begun> {
        let n = group.n();
        let is_central = match mode {
            _ if n == 1 => return None,
            Mode::Flat => false,
            // All that a PE gives is in its slot.
            Mode::Central if source.len() <= INLINE => true,
            _ => return None,
        };
        let (work, given) = Work::of(deal, source.len())?;
        let number = group.next_exchange(is_central);
        let quick = Self { work, signature, source, dest, given, number, is_central };
        if is_central {
            return Some(quick.gather(group));
        }
        let [place, next] = [0, 1].map(|later| scratch::slot(number + later, group.me()));
        for pe in group.others() {
            let (to, _) = group.words_of(pe);
            group.memory.copy_to_slot(words::slot(to, place), quick.part(pe));
            group.leave(to, place, number, signature);
        }
        group.wake(group.others().map(|pe| (pe, place)));
        group.others().for_each(|pe| group.prepare(next, pe));
        group.settle();
        Some(Begun::Waits(quick))
    }

    /// Central: leaves it with the first PE. The last one to come does what is to be done once, and releases the others.
    #[inline(always)]
    fn gather(self, group: &Group) -> Begun {
        let words = self.words(group);
        let [place, next] =
            [0, 1].map(|later| Mode::Central.slot(self.number + later, group.me(), group.n()));
        group.memory.copy_to_slot(words::slot(words, place), self.source);
        group.sign(words, place, self.signature);
        let arrived = group.arrive(Flag::Gathered);
        group.prepare_in_crew(next, self.source.len());
        match arrived {
            Ok(false) => Begun::Waits(self),
            Ok(true) => Begun::Ended(self, self.scatter(group)),
            Err(error) => Begun::Ended(self, Err(error)),
        }
    }

    /// Central: all have come, this PE last.
    #[inline(always)]
    fn scatter(self, group: &Group) -> Result<()> {
        self.check(group)?;
        if let Work::Reduce(kernel) = self.work {
            let result = self.slot(group, group.n());
            if self.given <= size_of::<Single>() {
                let [mut total, mut next] = [Single([0; _]); 2];
                group.memory.write_to_slot(result, self.combined(group, kernel, [&mut total.0, &mut next.0]));
            } else {
                let [mut total, mut next] = [Small([0; _]); 2];
                group.memory.write_to_slot(result, self.combined(group, kernel, [&mut total.0, &mut next.0]));
            }
        }
        group.release(Flag::Scattered, self.number);
        self.take_what_came(group);
        Ok(())
    }

    /// What of the source goes to `pe`.
    #[inline(always)]
    fn part(self, pe: usize) -> Span {
        match self.work {
            Work::Alltoall => self.source.part(pe * self.given..(pe + 1) * self.given),
            _ => self.source,
        }
    }

    /// Takes what is for this PE, once everything has come.
    ///
    /// # Errors
    /// PEs have called different things.
    #[inline(always)]
    pub(crate) fn take(self, group: &Group) -> Result<()> {
        if !self.is_central {
            self.check(group)?;
        }
        self.take_what_came(group);
        Ok(())
    }

    /// Compares what all have called.
    #[inline(always)]
    fn check(self, group: &Group) -> Result<()> {
        for pe in (0..group.n()).filter(|&pe| pe != group.me()) {
            let (signature, from) = Group::signed(self.words(group), self.place(group, pe));
            if !signature.agrees(self.signature) {
                return Err(group.differ(from, signature, self.signature));
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn take_what_came(self, group: &Group) {
        match self.work {
            Work::Reduce(_) if self.is_central => {
                group.memory.copy_from_slot(self.dest, self.slot(group, group.n()));
            }
            Work::Reduce(kernel)
                if group.n() == 2
                    && kernel.element().align() <= align_of::<Slot>()
                    && let Some(fused) = kernel.fused_from(self.given) =>
            {
                let slot = self.slot(group, 1 - group.me());
                let spans = [self.dest, self.source];
                group.memory.combine_slot((kernel.element(), fused), spans, slot, group.me() == 0);
            }
            Work::Reduce(kernel) if self.given <= size_of::<Single>() => {
                let [mut total, mut next] = [Single([0; _]); 2];
                group.memory.write(self.dest, self.combined(group, kernel, [&mut total.0, &mut next.0]));
            }
            Work::Reduce(kernel) => {
                let [mut total, mut next] = [Small([0; _]); 2];
                group.memory.write(self.dest, self.combined(group, kernel, [&mut total.0, &mut next.0]));
            }
            Work::Fcollect | Work::Alltoall if self.is_central => {
                let mine = if matches!(self.work, Work::Alltoall) { group.me() * self.given } else { 0 };
                let first = (self.words(group), self.place(group, 0));
                group.memory.copy_from_slots(self.dest, first, [mine, self.given], group.n());
            }
            Work::Fcollect | Work::Alltoall => {
                for pe in 0..group.n() {
                    let to = self.dest.part(pe * self.given..(pe + 1) * self.given);
                    if pe == group.me() {
                        group.memory.copy_here(to, self.part(pe));
                    } else {
                        group.memory.copy_from_slot(to, self.slot(group, pe));
                    }
                }
            }
        }
    }

    /// Combines what all have given, in the order of the PEs, in two buffers that are as long or longer.
    #[inline(always)]
    fn combined<'a>(self, group: &Group, kernel: &Kernel, [total, next]: [&'a mut [u8]; 2]) -> &'a [u8] {
        let (total, next) = (&mut total[..self.given], &mut next[..self.given]);
        self.read(group, 0, total);
        for pe in 1..group.n() {
            self.read(group, pe, next);
            combine_bytes(kernel, total, next);
        }
        total
    }

    /// Copies what a PE has given.
    #[inline(always)]
    fn read(self, group: &Group, pe: usize, to: &mut [u8]) {
        if pe == group.me() {
            group.memory.read(self.source, to);
        } else {
            group.memory.read_slot(self.slot(group, pe), to);
        }
    }

    /// The words in which the slots are.
    #[inline(always)]
    fn words(self, group: &Group) -> &Words {
        if self.is_central { group.words_of(0).0 } else { group.own_words() }
    }

    /// The place there of what a PE has given.
    #[inline(always)]
    fn place(self, group: &Group, pe: usize) -> usize {
        let mode = if self.is_central { Mode::Central } else { Mode::Flat };
        mode.slot(self.number, pe, group.n())
    }

    #[inline(always)]
    fn slot(self, group: &Group, pe: usize) -> &Slot {
        words::slot(self.words(group), self.place(group, pe))
    }

    /// What was called.
    pub(crate) fn signature(self) -> Signature {
        self.signature
    }

    /// What it waits for.
    #[inline(always)]
    pub(crate) fn last_wait(self, group: &Group) -> Awaited {
        match self.is_central {
            true => Awaited::one(group.released(Flag::Scattered), self.number),
            false => messages(group, self.number),
        }
    }
}

impl Exchange {
    /// What goes on where a quick one has something to wait for.
    #[inline(always)]
    pub(crate) fn of(quick: Quick) -> Self {
        let Quick { work, signature, source, dest, given, number, is_central } = quick;
        let (mode, step) =
            if is_central { (Mode::Central, Step::Release) } else { (Mode::Flat, Step::From(1)) };
        let (deal, wait) = (work.deal(given), NumberWait::default());
        Self { mode, deal, signature, source, dest, number, step, wait }
    }
}

/// The numbers of all messages of a flat exchange to this PE.
#[inline(always)]
pub(super) fn messages(group: &Group, number: u64) -> Awaited {
    match group.n() {
        2 => Awaited::one(scratch::slot(number, 1 - group.me()), number),
        n => Awaited::row(scratch::slot(number, 0), LINE, n, group.me(), number),
    }
}
