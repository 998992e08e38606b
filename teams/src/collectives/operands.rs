//! What a collective was called with, whatever the type of its elements, and the checks that need
//! no other PE.

use std::sync::Arc;

use oxshmem_base::{Error, Result};
use oxshmem_spaces::{Element, SymView, allocation::Allocation};

use crate::{
    algorithm::called::Called,
    group::Group,
    memory::span::Span,
    operation::Operation,
    queue::{Collective, Core, Shown},
    signature::{Moved, Signature},
};

/// What a collective was called with.
#[derive(Clone, Copy)]
pub(crate) struct Operands<'a> {
    pub(crate) core: &'a Core,
    pub(crate) call: &'static str,
    pub(crate) dest: Span,
    pub(crate) source: Span,
    pub(crate) memory: [&'a Arc<Allocation>; 2],
    /// Elements of the destination and of the source.
    pub(crate) dest_elements: usize,
    pub(crate) elements: usize,
    /// Bytes of an element.
    pub(crate) size: usize,
    /// What its type is where calls are compared.
    pub(crate) moved: Moved,
}

impl<'a> Operands<'a> {
    #[inline(always)]
    pub(crate) fn new<T: Element>(
        core: &'a Core,
        call: &'static str,
        dest: SymView<'a, T>,
        source: SymView<'a, T>,
    ) -> Self {
        Self {
            core,
            call,
            dest: Span::of(dest),
            source: Span::of(source),
            memory: [dest.allocation(), source.allocation()],
            dest_elements: dest.len(),
            elements: source.len(),
            size: size_of::<T>(),
            moved: Moved::of::<T>(),
        }
    }

    /// Emits the event.
    #[inline(always)]
    pub(crate) fn trace(&self) {
        tracing::trace!(target: "oxshmem", call = self.call, elements = self.elements);
    }

    /// Whether one of them at least is in device memory.
    #[inline(always)]
    pub(crate) fn on_device(&self) -> bool {
        self.memory.iter().any(|memory| memory.domain().is_device())
    }

    /// Describes the call, if its operands are what the operation demands of them.
    #[inline(always)]
    pub(crate) fn describe(&self, operation: Operation) -> Result<Called> {
        let n = self.core.group.n_pes();
        let (mut to_do, mut len) = (operation, self.elements);
        match operation {
            Operation::Meet | Operation::Collect => self.ours()?,
            Operation::Reduce(_) | Operation::Scan { .. } => {
                self.times(1).and_then(|()| self.disjoint_or_same())?;
            }
            Operation::Broadcast { root, to_root } => {
                self.times(1)?;
                if root >= n {
                    return Err(Error::PeOutOfRange { call: self.call, pe: root, n_pes: n });
                }
                if to_root {
                    self.disjoint_or_same()?;
                }
            }
            Operation::Fcollect => self.times(n).and_then(|()| self.disjoint_but_own())?,
            Operation::Alltoall => {
                self.times(1).and_then(|()| self.divisible(n)).and_then(|()| self.disjoint())?;
                len = self.elements / n;
            }
            Operation::Alltoalls { dst, sst, nelems } => {
                let count = n.saturating_mul(nelems);
                self.strided([dst, sst], count)?;
                self.disjoint_elements([dst, sst], count)?;
                len = nelems;
                // One element is where it is, whatever the strides are.
                if count <= 1 {
                    to_do = Operation::Alltoalls { dst: 1, sst: 1, nelems };
                }
            }
        }
        let signature = Signature::of(operation, self.moved, len, self.dest_elements);
        // Spans in the host's staging memory are what is behind.
        let signature = signature.on_device(self.dest.offset() >= self.core.group.staging_from);
        Ok(Called { operation: to_do, signature, size: self.size, source: self.source, dest: self.dest })
    }

    /// An error if the team is no more, or memory is not this PE's in host memory.
    #[inline(always)]
    fn ours(&self) -> Result<()> {
        self.core.check_turn(self.call)?;
        let pe = self.core.group.pe();
        if self.memory.iter().all(|memory| memory.is_host_memory_of(pe)) {
            Ok(())
        } else {
            Err(Error::ForeignMemory { call: self.call })
        }
    }

    /// An error also if the destination is not `n` times as long as the source.
    #[inline(always)]
    fn times(&self, n: usize) -> Result<()> {
        self.ours()?;
        if self.elements.checked_mul(n) == Some(self.dest_elements) { Ok(()) } else { Err(self.mismatch(n)) }
    }

    #[cold]
    fn mismatch(&self, n: usize) -> Error {
        let (source_len, dest_len) = (self.elements.saturating_mul(n), self.dest_elements);
        Error::LengthMismatch { call: self.call, source_len, dest_len }
    }

    /// An error if the source does not divide into `n` blocks.
    #[inline(always)]
    fn divisible(&self, n: usize) -> Result<()> {
        if self.elements.is_multiple_of(n) {
            return Ok(());
        }
        let source_len = self.elements.next_multiple_of(n);
        Err(Error::LengthMismatch { call: self.call, source_len, dest_len: self.dest_elements })
    }

    /// An error if source and destination overlap.
    #[inline(always)]
    fn disjoint(&self) -> Result<()> {
        match self.dest.overlaps(self.source) && self.core.group.n_pes() > 1 {
            true => Err(Error::Overlap { call: self.call }),
            false => Ok(()),
        }
    }

    /// An error if they overlap and are not the same.
    #[inline(always)]
    fn disjoint_or_same(&self) -> Result<()> {
        if self.dest == self.source { Ok(()) } else { self.disjoint() }
    }

    /// An error if they overlap and the source is not this PE's block of the destination.
    #[inline(always)]
    fn disjoint_but_own(&self) -> Result<()> {
        match self.dest.overlaps(self.source) && !self.is_own_block() {
            true => self.disjoint(),
            false => Ok(()),
        }
    }

    #[cold]
    fn is_own_block(&self) -> bool {
        let (me, len) = (self.core.group.my_pe(), self.source.len());
        self.dest.len() >= (me + 1) * len && self.dest.part(me * len..(me + 1) * len) == self.source
    }

    /// An error if one of `count` elements with these strides of the destination shares bytes with
    /// one of the source (`OpenSHMEM 1.6 §4.2`). Elements of one may lie between those of the
    /// other.
    #[inline(always)]
    fn disjoint_elements(&self, strides: [usize; 2], count: usize) -> Result<()> {
        match self.dest.overlaps(self.source) && self.elements_meet(strides, count) {
            true => self.disjoint(),
            false => Ok(()),
        }
    }

    #[cold]
    fn elements_meet(&self, strides: [usize; 2], count: usize) -> bool {
        let [dst, sst] = strides.map(|stride| stride.saturating_mul(self.size));
        let (dest, source) = (self.dest.offset(), self.source.offset());
        (0..count).map(|i| dest + i * dst).any(|at| {
            // The last element of the source that begins here or before, and the one behind it.
            let before = at.checked_sub(source).map(|behind| (behind / sst).min(count - 1));
            let behind = before.map_or(0, |before| before + 1);
            before.is_some_and(|before| at < source + before * sst + self.size)
                || behind < count && source + behind * sst < at + self.size
        })
    }

    /// An error if a stride is 0, or `count` elements with the strides are not in the slices.
    fn strided(&self, [dst, sst]: [usize; 2], count: usize) -> Result<()> {
        self.ours()?;
        for (what, value) in [("dst", dst), ("sst", sst), ("an element", self.size)] {
            if value == 0 {
                return Err(Error::InvalidStride { call: self.call, what, value });
            }
        }
        for (what, stride, len) in
            [("the destination", dst, self.dest_elements), ("the source", sst, self.elements)]
        {
            let needed = count.checked_sub(1).map_or(0, |last| last.saturating_mul(stride).saturating_add(1));
            if needed > len {
                return Err(Error::StrideOutOfRange { call: self.call, what, needed, len });
            }
        }
        Ok(())
    }

    /// Leaves the collective to a task, which owns its memory.
    #[inline(never)]
    pub(crate) fn task<F>(
        self,
        signature: Signature,
        task: impl FnOnce(Arc<Group>) -> F + Send + 'static,
    ) -> Collective<'a>
    where
        F: Future<Output = Result<()>> + Send + 'static,
    {
        let group = Arc::clone(&self.core.group);
        let memory = self.memory.map(Arc::clone);
        self.core.task(Shown::Signed, signature, async move {
            group.check()?;
            let outcome = task(group).await;
            drop(memory);
            outcome
        })
    }
}
