//! Flat and central exchanges: what every PE has given lies in slots of its own, and everybody takes what it needs.

use oxshmem_base::Result;
use smallvec::SmallVec;

use super::{Buffers, Deal, Exchange, Single, Small, Step, combine_bytes};
use crate::{
    choice::Mode,
    direct::{Called, Said, check_room},
    group::{Flag, Group},
    reduction::Kernel,
    scratch::{self, INLINE},
    span::Span,
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
                Deal::Collect { .. } if self.bytes() > self.most_collected(group) => {
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

    /// Writes to the first PE. The last one to come does what is to be done once, and releases the others.
    pub(super) fn gather(&mut self, group: &Group, buffers: &mut Buffers) -> Result<Step> {
        let (me, n) = (group.me(), group.n());
        let first = group.block(0);
        let words = self.signature.words_of(group.me());
        let slot = self.slot(group, self.number, me);
        let header = group.scratch(slot + size_of::<u64>(), size_of_val(&words));
        group.memory.write_to(header, first, bytemuck::cast_slice(&words));
        match self.deal {
            Deal::Alltoalls { .. } => {
                let block = self.block(group).1;
                let [packed, ..] = buffers.get(block);
                for pe in 0..n {
                    self.pack(group, pe, packed);
                    let payload = self.payload(group, me, block * n);
                    group.memory.write_to(payload.part(pe * block..(pe + 1) * block), first, packed);
                }
            }
            Deal::Collect { .. } if self.bytes() > self.most_collected(group) => {}
            _ => {
                let payload = self.payload(group, me, self.bytes());
                group.memory.copy(payload, first, self.source, group.here());
            }
        }
        let is_last = group.arrive(Flag::Gathered)?;
        // What is longer than a slot lies elsewhere.
        let inside = if self.bytes() > INLINE { 0 } else { self.bytes() };
        group.prepare_in_crew(self.slot(group, self.number + 1, me), inside);
        if !is_last {
            return Ok(Step::Release);
        }
        for pe in (0..n).filter(|&pe| pe != me) {
            self.check(group, 0, pe)?;
        }
        if let Deal::Reduce(kernel) = self.deal {
            let [total, next, ..] = buffers.get(self.bytes());
            self.combine(group, kernel, 0..n, total, next);
            group.memory.write_to(self.payload(group, n, self.bytes()), first, total);
        }
        group.release(Flag::Scattered, self.number);
        self.take_all(group, buffers)?;
        Ok(Step::Done)
    }

    /// Where what PE `from` has given this one lies: the bytes, and whose memory, in numbers of the world.
    #[inline(always)]
    pub(super) fn received(&self, group: &Group, from: usize, len: usize) -> (Span, usize) {
        let me = group.me();
        match self.mode {
            Mode::Central if group.n() > 1 => {
                if matches!(self.deal, Deal::Alltoall { .. } | Deal::Alltoalls { .. }) {
                    let all = self.payload(group, from, len * group.n());
                    return (all.part(me * len..(me + 1) * len), group.block(0));
                }
                (self.payload(group, from, len), group.block(0))
            }
            _ if from == me => (self.given(me), group.here()),
            _ => (self.payload(group, from, len), group.here()),
        }
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
            let (span, at) = self.received(group, pe, len);
            group.memory.read_from(span, at, to);
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
            Deal::Reduce(_) if self.mode == Mode::Central && n > 1 => {
                let result = self.payload(group, n, self.bytes());
                group.memory.copy(self.dest, group.here(), result, group.block(0));
            }
            Deal::Reduce(kernel) => self.take_combined(group, kernel, 0..n, buffers),
            Deal::Scan { kernel, inclusive } => {
                self.take_combined(group, kernel, 0..me + usize::from(inclusive), buffers);
            }
            Deal::Fcollect => {
                let (here, len) = (group.here(), self.bytes());
                for pe in 0..n {
                    let (span, at) = self.received(group, pe, len);
                    group.memory.copy(self.dest.part(pe * len..(pe + 1) * len), here, span, at);
                }
            }
            Deal::Collect { size } => self.take_collected(group, size)?,
            Deal::Alltoall { block } => {
                for pe in 0..n {
                    let (span, at) = self.received(group, pe, block);
                    let dest = self.dest.part(pe * block..(pe + 1) * block);
                    group.memory.copy(dest, group.here(), span, at);
                }
            }
            Deal::Alltoalls { size, dst, .. } => {
                let (elements, block) = self.block(group);
                let [packed, ..] = buffers.get(block);
                for pe in 0..n {
                    if pe == me && (self.mode != Mode::Central || n == 1) {
                        self.pack(group, me, packed);
                    } else {
                        let (span, at) = self.received(group, pe, block);
                        group.memory.read_from(span, at, packed);
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
            let [total, next, ..] = buffers.get(len);
            self.combine(group, kernel, pes, total, next);
            group.memory.write(self.dest, total);
        }
    }

    /// What `pe` says of its `collect`, once all have come.
    #[inline(always)]
    fn said(&self, group: &Group, pe: usize, size: usize) -> Said {
        if pe == group.me() {
            return [self.bytes(), self.dest.len()].map(|bytes| bytes as u64);
        }
        let at = if self.mode == Mode::Central { 0 } else { group.me() };
        let said = self.signature_in(group, at, pe).0;
        [(said.len() * size) as u64, said.room().saturating_mul(size) as u64]
    }

    /// How many bytes `pe` gives to a `collect`, once all have come.
    #[inline(always)]
    fn length_of(&self, group: &Group, pe: usize, size: usize) -> usize {
        self.said(group, pe, size)[0] as usize
    }

    /// What is left to do after a `collect` in which some block was too long for the slots, so that only the lengths
    /// have come.
    #[cold]
    pub(crate) fn follow_up(&self, group: &Group) -> Result<Option<Called>> {
        let Deal::Collect { size } = self.deal else { return Ok(None) };
        if group.n() == 1 || !self.is_too_long(group, size) {
            return Ok(None);
        }
        let said: SmallVec<[Said; 16]> = (0..group.n()).map(|pe| self.said(group, pe, size)).collect();
        check_room(group, self.signature, self.dest, size, &said)?;
        Ok(Some(Called::collect(group, self.signature, self.source, self.dest, &said)))
    }

    /// The most bytes of a `collect` that come with their number.
    #[inline(always)]
    fn most_collected(&self, group: &Group) -> usize {
        self.mode.capacity(group.n()).min(group.choices.gathered)
    }

    fn is_too_long(&self, group: &Group, size: usize) -> bool {
        let capacity = self.most_collected(group);
        (0..group.n()).any(|pe| self.length_of(group, pe, size) > capacity)
    }

    pub(super) fn take_collected(&self, group: &Group, size: usize) -> Result<()> {
        let here = group.here();
        if group.n() > 1 && self.is_too_long(group, size) {
            return Ok(());
        }
        let (mut total, mut least) = (0, usize::MAX);
        for pe in 0..group.n() {
            let [len, room] = self.said(group, pe, size).map(|bytes| bytes as usize);
            (total, least) = (total + len, least.min(room));
        }
        if least < total {
            let said: Vec<Said> = (0..group.n()).map(|pe| self.said(group, pe, size)).collect();
            check_room(group, self.signature, self.dest, size, &said)?;
        }
        let mut start = 0;
        for pe in 0..group.n() {
            let len = self.length_of(group, pe, size);
            let (span, at) = self.received(group, pe, len);
            group.memory.copy(self.dest.part(start..start + len), here, span, at);
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
