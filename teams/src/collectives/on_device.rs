//! Collectives that have an operand in device memory: by the devices, or as three in the queue of
//! the team, which are a copy to the host, the collective there, and a copy back.

use oxshmem_base::Result;
use oxshmem_spaces::SymView;

use super::operands::Operands;
use crate::{
    device::{DeviceCollective, OnDevice, Stage, Work, Written},
    memory::span::Span,
    queue::Collective,
    reduction::sum_kernel,
    signature::Signature,
};

impl<'a> Operands<'a> {
    /// Begins one such collective. `sign` checks its operands, which it is given as those of a
    /// collective in the host's staging memory, and `inner` is the collective there.
    #[cold]
    #[inline(never)]
    pub(super) fn begin_on_device(
        self,
        work: Work,
        sign: &dyn Fn(&Self) -> Result<Signature>,
        inner: &dyn Fn(Self) -> Collective<'a>,
    ) -> Collective<'a> {
        let core = self.core;
        let on_device = match core.placed(self.call, self.views(), self.elements_of_each()) {
            // What is in device memory has no elements.
            Ok(Stage::Host(views)) => return inner(self.at(views)),
            Ok(Stage::Device(on_device)) => on_device,
            Err(error) => return core.refuse(self.call, error),
        };
        let staging = self.at(on_device.staging);
        if core.devices_do(&on_device, work) {
            staging.trace();
            return match sign(&staging) {
                Ok(signature) => {
                    let direct = DeviceCollective::new(&on_device, work, self.size);
                    staging.task(signature, move |group| async move { direct.run(&group, signature).await })
                }
                Err(error) => core.refuse(self.call, error),
            };
        }
        self.staged(&on_device, staging, work, inner)
    }

    /// Has it done in the host's staging memory.
    fn staged(
        self,
        on_device: &OnDevice<'a>,
        staging: Self,
        work: Work,
        inner: &dyn Fn(Self) -> Collective<'a>,
    ) -> Collective<'a> {
        let (core, me, n) = (self.core, self.core.group.my_pe(), self.core.group.n_pes());
        let mut staged = core.stage(self.call, on_device, self.elements_of_each(), self.size, work.reads(me));
        let written = work.written(me, n);
        let mut add = || -> Result<()> {
            if matches!(written, Written::Collected) {
                let [total, mine] = staged.sums;
                let sum = Self::new(core, "sum_reduce", total, mine);
                staged.then(sum.begin_reduce(sum_kernel::<u64>()))?;
            }
            staged.then(inner(staging))
        };
        match add() {
            Ok(()) => staged.end(written),
            Err(error) => Collective::failed(error),
        }
    }

    /// The bytes of the destination and of the source.
    fn views(&self) -> [SymView<'a, u8>; 2] {
        let view = |memory, span: Span| {
            // SAFETY: a view had these bytes, which need no alignment.
            unsafe { SymView::inside_unchecked(memory, span.offset(), span.len()) }
        };
        [view(self.memory[0], self.dest), view(self.memory[1], self.source)]
    }

    fn elements_of_each(&self) -> [usize; 2] {
        [self.dest_elements, self.elements]
    }

    /// The same with its bytes somewhere else.
    fn at(self, [dest, source]: [SymView<'a, u8>; 2]) -> Self {
        let memory = [dest.allocation(), source.allocation()];
        Self { dest: Span::of(dest), source: Span::of(source), memory, ..self }
    }
}
