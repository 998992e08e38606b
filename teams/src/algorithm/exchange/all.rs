//! Flat exchanges: what every PE has given lies in slots of its own, and each takes what it needs.

use std::ops::Range;

use oxshmem_base::Result;
use smallvec::SmallVec;

use super::{Buffers, Exchange, Single, Small, combine_bytes};
use crate::{
    algorithm::called::{Called, Lengths, total_of},
    group::Group,
    memory::{
        scratch::{self, INLINE},
        span::Span,
    },
    operation::Operation,
    reduction::Kernel,
};

impl Exchange {
    #[inline(always)]
    pub(super) fn send_to_all(&self, group: &Group, buffers: &mut Buffers) -> Result<()> {
        let me = group.me();
        for pe in group.others() {
            match self.call.operation {
                Operation::Alltoalls { .. } => {
                    let [block, ..] = buffers.get(self.call.given());
                    self.pack(group, pe, block);
                    self.leave(group, me, block, pe);
                }
                Operation::Collect if self.bytes() > Self::most_collected(group) => {
                    // Its length is in the signature; the rest goes another way.
                    self.leave(group, me, &[], pe);
                }
                _ => self.leave_span(group, me, self.given(pe), pe),
            }
        }
        let [slot, next] = [0, 1].map(|later| scratch::slot(self.number + later, me));
        group.wake(group.others().map(|pe| (pe, slot)));
        group.others().for_each(|pe| group.prepare(next, pe));
        Ok(())
    }

    /// What of the source goes to `pe`.
    #[inline(always)]
    pub(super) fn given(&self, pe: usize) -> Span {
        match self.call.operation {
            Operation::Alltoall => {
                let block = self.call.given();
                self.call.source.part(pe * block..(pe + 1) * block)
            }
            _ => self.call.source,
        }
    }

    /// Where what PE `from` has given this one lies.
    #[inline(always)]
    pub(super) fn received(&self, group: &Group, from: usize, len: usize) -> Span {
        let me = group.me();
        if from == me { self.given(me) } else { self.payload(group, from, len) }
    }

    /// Combines what `pes` have given, in their order.
    #[inline(always)]
    pub(super) fn combine(
        &self,
        group: &Group,
        kernel: &Kernel,
        mut pes: Range<usize>,
        [total, next]: [&mut [u8]; 2],
    ) {
        let len = total.len();
        let read = |pe: usize, to: &mut [u8]| {
            group.memory.read(self.received(group, pe, len), to);
        };
        match pes.next() {
            Some(first) => read(first, total),
            // The sum of nothing.
            None => return total.fill(0),
        }
        for pe in pes {
            read(pe, next);
            combine_bytes(kernel, total, next);
        }
    }

    /// Everything has come: takes what is for this PE.
    #[inline(always)]
    pub(super) fn take_all(&self, group: &Group, buffers: &mut Buffers) -> Result<()> {
        let (me, n) = (group.me(), group.n());
        match self.call.operation {
            Operation::Meet | Operation::Broadcast { .. } => {}
            Operation::Reduce(kernel) => self.take_combined(group, kernel, 0..n, buffers),
            Operation::Scan { kernel, inclusive } => {
                self.take_combined(group, kernel, 0..me + usize::from(inclusive), buffers);
            }
            Operation::Fcollect => {
                let len = self.bytes();
                for pe in 0..n {
                    let came = self.received(group, pe, len);
                    group.memory.copy_here(self.call.dest.part(pe * len..(pe + 1) * len), came);
                }
            }
            Operation::Collect => self.take_collected(group)?,
            Operation::Alltoall => {
                let block = self.call.given();
                for pe in 0..n {
                    let dest = self.call.dest.part(pe * block..(pe + 1) * block);
                    group.memory.copy_here(dest, self.received(group, pe, block));
                }
            }
            Operation::Alltoalls { dst, nelems, .. } => {
                let (size, block) = (self.call.size, self.call.given());
                let [packed, ..] = buffers.get(block);
                for pe in 0..n {
                    match pe == me {
                        true => self.pack(group, me, packed),
                        false => group.memory.read(self.received(group, pe, block), packed),
                    }
                    for (i, element) in packed.chunks_exact(size).enumerate() {
                        let start = (pe * nelems + i) * dst * size;
                        group.memory.write(self.call.dest.part(start..start + size), element);
                    }
                }
            }
        }
        Ok(())
    }

    #[inline(always)]
    pub(super) fn take_combined(
        &self,
        group: &Group,
        kernel: &Kernel,
        pes: Range<usize>,
        buffers: &mut Buffers,
    ) {
        let len = self.bytes();
        if len <= size_of::<Single>() {
            let [mut total, mut next] = [Single([0; _]); 2];
            self.combine(group, kernel, pes, [&mut total.0[..len], &mut next.0[..len]]);
            group.memory.write(self.call.dest, &total.0[..len]);
        } else if len <= INLINE {
            let [mut total, mut next] = [Small([0; 128]); 2];
            self.combine(group, kernel, pes, [&mut total.0[..len], &mut next.0[..len]]);
            group.memory.write(self.call.dest, &total.0[..len]);
        } else {
            let [total, next] = buffers.get(len);
            self.combine(group, kernel, pes, [&mut *total, next]);
            group.memory.write(self.call.dest, total);
        }
    }

    /// The lengths of `pe` in a `collect`, once all have come.
    #[inline(always)]
    fn lengths(&self, group: &Group, pe: usize) -> Lengths {
        if pe == group.me() {
            return [self.bytes(), self.call.dest.len()].map(|bytes| bytes as u64);
        }
        let (call, size) = (group.received(scratch::slot(self.number, pe)).0, self.call.size);
        [(call.len() * size) as u64, call.room().saturating_mul(size) as u64]
    }

    /// How many bytes `pe` gives to a `collect`, once all have come.
    #[inline(always)]
    fn length_of(&self, group: &Group, pe: usize) -> usize {
        self.lengths(group, pe)[0] as usize
    }

    /// What is left to do after a `collect` in which some block was too long for the slots, so that
    /// only the lengths have come: the call, and where in the destinations this PE's block begins.
    #[cold]
    pub(crate) fn follow_up(&self, group: &Group) -> Result<Option<(Called, usize)>> {
        if group.n() == 1 || !self.is_too_long(group) {
            return Ok(None);
        }
        let lengths: SmallVec<[Lengths; 16]> = (0..group.n()).map(|pe| self.lengths(group, pe)).collect();
        self.call.check_room(group, &lengths)?;
        Ok(Some((self.call, total_of(&lengths[..group.me()]))))
    }

    /// The most bytes of a `collect` that come with their number.
    #[inline(always)]
    fn most_collected(group: &Group) -> usize {
        group.choices.tuning.gathered_in_slots
    }

    fn is_too_long(&self, group: &Group) -> bool {
        let capacity = Self::most_collected(group);
        (0..group.n()).any(|pe| self.length_of(group, pe) > capacity)
    }

    pub(super) fn take_collected(&self, group: &Group) -> Result<()> {
        if group.n() > 1 && self.is_too_long(group) {
            return Ok(());
        }
        let (mut total, mut least) = (0, usize::MAX);
        for pe in 0..group.n() {
            let [len, room] = self.lengths(group, pe).map(|bytes| bytes as usize);
            (total, least) = (total + len, least.min(room));
        }
        if least < total {
            let lengths: Vec<Lengths> = (0..group.n()).map(|pe| self.lengths(group, pe)).collect();
            self.call.check_room(group, &lengths)?;
        }
        let mut start = 0;
        for pe in 0..group.n() {
            let len = self.length_of(group, pe);
            group.memory.copy_here(self.call.dest.part(start..start + len), self.received(group, pe, len));
            start += len;
        }
        Ok(())
    }

    /// Brings the strided elements for `pe` together.
    pub(super) fn pack(&self, group: &Group, pe: usize, to: &mut [u8]) {
        let Operation::Alltoalls { sst, nelems, .. } = self.call.operation else { return };
        let size = self.call.size;
        for (i, element) in to.chunks_exact_mut(size).enumerate() {
            let start = (pe * nelems + i) * sst * size;
            group.memory.read(self.call.source.part(start..start + size), element);
        }
    }
}
