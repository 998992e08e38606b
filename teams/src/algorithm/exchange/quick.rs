//! The quick way through flat exchanges of so little that it fits into slots, which most small
//! collectives are: without a state machine, and without an entry in the queue if the others were
//! first.
//!
//! Its messages are those of every such [`Exchange`], which is what it becomes where there is
//! something to wait for.

use oxshmem_base::Result;

use super::{Exchange, ExchangeStep, Single, Small, combine_bytes};
use crate::{
    algorithm::called::Called,
    check::NumberWait,
    group::{Awaited, Group},
    memory::{
        scratch::{self, LINE},
        span::Span,
        words::{self, Slot},
    },
    operation::Operation,
    reduction::Kernel,
    signature::Signature,
    tuning::Mode,
};

/// An exchange that has begun.
#[derive(Clone, Copy)]
pub(crate) struct Quick {
    call: Called,
    /// Bytes that each PE gives to each other one.
    given: usize,
    number: u64,
}

impl Quick {
    /// Sends what this PE gives, if the exchange is such a one.
    #[inline(always)]
    pub(crate) fn begin(group: &Group, call: &Called) -> Option<Self> {
        let given = call.given();
        let is_simple =
            matches!(call.operation, Operation::Reduce(_) | Operation::Fcollect | Operation::Alltoall);
        if !is_simple
            || given > group.choices.tuning.quick
            || group.n() == 1
            || group.choices.mode != Mode::Flat
        {
            return None;
        }
        let number = group.state.next_exchange();
        let quick = Self { call: *call, given, number };
        let [place, next] = [0, 1].map(|later| scratch::slot(number + later, group.me()));
        for pe in group.others() {
            let (to, _) = group.words_of(pe);
            group.memory.copy_to_slot(words::slot(to, place), quick.part(pe));
            group.leave(to, place, number, call.signature);
        }
        group.wake(group.others().map(|pe| (pe, place)));
        group.others().for_each(|pe| group.prepare(next, pe));
        group.settle();
        Some(quick)
    }

    /// What of the source goes to `pe`.
    #[inline(always)]
    fn part(self, pe: usize) -> Span {
        match self.call.operation {
            Operation::Alltoall => self.call.source.part(pe * self.given..(pe + 1) * self.given),
            _ => self.call.source,
        }
    }

    /// Takes what is for this PE, once everything has come.
    ///
    /// # Errors
    /// PEs have called different things.
    #[inline(always)]
    pub(crate) fn take(self, group: &Group) -> Result<()> {
        self.check(group)?;
        self.take_what_came(group);
        Ok(())
    }

    /// Compares what all have called.
    #[inline(always)]
    fn check(self, group: &Group) -> Result<()> {
        (0..group.n())
            .filter(|&pe| pe != group.me())
            .try_for_each(|pe| group.compare_slot(scratch::slot(self.number, pe), self.call.signature))
    }

    #[inline(always)]
    fn take_what_came(self, group: &Group) {
        if let Operation::Reduce(kernel) = self.call.operation
            && group.n() == 2
            && kernel.element().align() <= align_of::<Slot>()
            && let Some(fused) = kernel.fused_from(self.given)
        {
            let slot = self.slot(group, 1 - group.me());
            let spans = [self.call.dest, self.call.source];
            group.memory.combine_slot((kernel.element(), fused), spans, slot, group.me() == 0);
            return;
        }
        match self.call.operation {
            Operation::Reduce(kernel) if self.given <= size_of::<Single>() => {
                let [mut total, mut next] = [Single([0; _]); 2];
                group.memory.write(self.call.dest, self.combined(group, kernel, [&mut total.0, &mut next.0]));
            }
            Operation::Reduce(kernel) => {
                let [mut total, mut next] = [Small([0; _]); 2];
                group.memory.write(self.call.dest, self.combined(group, kernel, [&mut total.0, &mut next.0]));
            }
            _ => {
                for pe in 0..group.n() {
                    let to = self.call.dest.part(pe * self.given..(pe + 1) * self.given);
                    if pe == group.me() {
                        group.memory.copy_here(to, self.part(pe));
                    } else {
                        group.memory.copy_from_slot(to, self.slot(group, pe));
                    }
                }
            }
        }
    }

    /// Combines what all have given, in the order of the PEs, in two buffers that are as long or
    /// longer.
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
            group.memory.read(self.call.source, to);
        } else {
            group.memory.read_slot(self.slot(group, pe), to);
        }
    }

    #[inline(always)]
    fn slot(self, group: &Group, pe: usize) -> &Slot {
        words::slot(group.own_words(), scratch::slot(self.number, pe))
    }

    /// What was called.
    pub(crate) fn signature(self) -> Signature {
        self.call.signature
    }

    /// What it waits for.
    #[inline(always)]
    pub(crate) fn last_wait(self, group: &Group) -> Awaited {
        messages(group, self.number)
    }
}

impl Exchange {
    /// What goes on where a quick one has something to wait for.
    #[inline(always)]
    pub(crate) fn of(quick: Quick) -> Self {
        let Quick { call, number, .. } = quick;
        Self { mode: Mode::Flat, call, number, step: ExchangeStep::From(1), wait: NumberWait::default() }
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
