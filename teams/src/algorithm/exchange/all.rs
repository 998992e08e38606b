//! Flat exchanges: what every PE has given lies in slots of its own, and each takes what it needs.

use oxshmem_base::Result;
use smallvec::SmallVec;

use super::{Buffers, Deal, Exchange, Single, Small, combine_bytes};
use crate::{
    algorithm::{
        room::{Lengths, check_room},
        work::Called,
    },
    group::Group,
    memory::{
        scratch::{self, INLINE},
        span::Span,
    },
    reduction::Kernel,
};

impl Exchange {
    #[inline(always)]
    pub(super) fn send_to_all(&self, group: &Group, buffers: &mut Buffers) -> Result<()> {
        let me = group.me();
        for pe in group.others() {
            match self.deal {
                Deal::Alltoalls { .. } => {
                    let [block, ..] = buffers.get(self.block(group).1);
                    self.pack(group, pe, block);
                    self.leave(group, me, block, pe);
                }
                Deal::Collect { .. } if self.bytes() > Self::most_collected(group) => {
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
        match self.deal {
            Deal::Alltoall { block } => self.source.part(pe * block..(pe + 1) * block),
            _ => self.source,
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
        mut pes: std::ops::Range<usize>,
        total: &mut [u8],
        next: &mut [u8],
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
        match self.deal {
            Deal::Meet => {}
            Deal::Reduce(kernel) => self.take_combined(group, kernel, 0..n, buffers),
            Deal::Scan { kernel, inclusive } => {
                self.take_combined(group, kernel, 0..me + usize::from(inclusive), buffers);
            }
            Deal::Fcollect => {
                let len = self.bytes();
                for pe in 0..n {
                    let came = self.received(group, pe, len);
                    group.memory.copy_here(self.dest.part(pe * len..(pe + 1) * len), came);
                }
            }
            Deal::Collect { size } => self.take_collected(group, size)?,
            Deal::Alltoall { block } => {
                for pe in 0..n {
                    let dest = self.dest.part(pe * block..(pe + 1) * block);
                    group.memory.copy_here(dest, self.received(group, pe, block));
                }
            }
            Deal::Alltoalls { size, dst, .. } => {
                let (elements, block) = self.block(group);
                let [packed, ..] = buffers.get(block);
                for pe in 0..n {
                    match pe == me {
                        true => self.pack(group, me, packed),
                        false => group.memory.read(self.received(group, pe, block), packed),
                    }
                    for (i, element) in packed.chunks_exact(size).enumerate() {
                        let start = (pe * elements + i) * dst * size;
                        group.memory.write(self.dest.part(start..start + size), element);
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
        pes: std::ops::Range<usize>,
        buffers: &mut Buffers,
    ) {
        let len = self.bytes();
        if len <= size_of::<Single>() {
            let [mut total, mut next] = [Single([0; _]); 2];
            self.combine(group, kernel, pes, &mut total.0[..len], &mut next.0[..len]);
            group.memory.write(self.dest, &total.0[..len]);
        } else if len <= INLINE {
            let [mut total, mut next] = [Small([0; 128]); 2];
            self.combine(group, kernel, pes, &mut total.0[..len], &mut next.0[..len]);
            group.memory.write(self.dest, &total.0[..len]);
        } else {
            let [total, next] = buffers.get(len);
            self.combine(group, kernel, pes, total, next);
            group.memory.write(self.dest, total);
        }
    }

    /// The lengths of `pe` in a `collect`, once all have come.
    #[inline(always)]
    fn lengths(&self, group: &Group, pe: usize, size: usize) -> Lengths {
        if pe == group.me() {
            return [self.bytes(), self.dest.len()].map(|bytes| bytes as u64);
        }
        let call = self.signature_in(group, pe).0;
        [(call.len() * size) as u64, call.room().saturating_mul(size) as u64]
    }

    /// How many bytes `pe` gives to a `collect`, once all have come.
    #[inline(always)]
    fn length_of(&self, group: &Group, pe: usize, size: usize) -> usize {
        self.lengths(group, pe, size)[0] as usize
    }

    /// What is left to do after a `collect` in which some block was too long for the slots, so that
    /// only the lengths have come.
    #[cold]
    pub(crate) fn follow_up(&self, group: &Group) -> Result<Option<Called>> {
        let Deal::Collect { size } = self.deal else { return Ok(None) };
        if group.n() == 1 || !self.is_too_long(group, size) {
            return Ok(None);
        }
        let lengths: SmallVec<[Lengths; 16]> =
            (0..group.n()).map(|pe| self.lengths(group, pe, size)).collect();
        check_room(group, self.signature, self.dest, size, &lengths)?;
        Ok(Some(Called::collect(group, self.signature, self.source, self.dest, &lengths)))
    }

    /// The most bytes of a `collect` that come with their number.
    #[inline(always)]
    fn most_collected(group: &Group) -> usize {
        group.choices.tuning.gathered_in_slots
    }

    fn is_too_long(&self, group: &Group, size: usize) -> bool {
        let capacity = Self::most_collected(group);
        (0..group.n()).any(|pe| self.length_of(group, pe, size) > capacity)
    }

    pub(super) fn take_collected(&self, group: &Group, size: usize) -> Result<()> {
        if group.n() > 1 && self.is_too_long(group, size) {
            return Ok(());
        }
        let (mut total, mut least) = (0, usize::MAX);
        for pe in 0..group.n() {
            let [len, room] = self.lengths(group, pe, size).map(|bytes| bytes as usize);
            (total, least) = (total + len, least.min(room));
        }
        if least < total {
            let lengths: Vec<Lengths> = (0..group.n()).map(|pe| self.lengths(group, pe, size)).collect();
            check_room(group, self.signature, self.dest, size, &lengths)?;
        }
        let mut start = 0;
        for pe in 0..group.n() {
            let len = self.length_of(group, pe, size);
            group.memory.copy_here(self.dest.part(start..start + len), self.received(group, pe, len));
            start += len;
        }
        Ok(())
    }

    /// Elements and bytes of one block of a strided exchange.
    pub(super) fn block(&self, group: &Group) -> (usize, usize) {
        let Deal::Alltoalls { size, .. } = self.deal else { return (0, 0) };
        let elements = self.signature.len();
        debug_assert!(group.n() > 0);
        (elements, elements * size)
    }

    /// Brings the strided elements for `pe` together.
    pub(super) fn pack(&self, group: &Group, pe: usize, to: &mut [u8]) {
        let Deal::Alltoalls { size, sst, .. } = self.deal else { return };
        let elements = self.signature.len();
        for (i, element) in to.chunks_exact_mut(size).enumerate() {
            let start = (pe * elements + i) * sst * size;
            group.memory.read(self.source.part(start..start + size), element);
        }
    }
}
