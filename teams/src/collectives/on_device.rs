//! Collectives that have an operand in device memory: by the devices, or as three in the queue of
//! the team, which are a copy to the host, the collective there, and a copy back.

use oxshmem_base::Result;
use oxshmem_spaces::SymView;

use super::operands::Operands;
use crate::{
    device::{DeviceCollective, OnDevice, Part, Stage},
    memory::span::Span,
    operation::Operation,
    queue::Collective,
    reduction::sum_kernel,
};

impl<'a> Operands<'a> {
    /// Begins one such collective.
    #[cold]
    #[inline(never)]
    pub(super) fn begin_on_device(self, operation: Operation) -> Collective<'a> {
        let core = self.core;
        let on_device = match core.placed(self.call, self.views(), [self.dest_elements, self.elements]) {
            // What is in device memory has no elements.
            Ok(Stage::Host(views)) => return self.at(views).begin_any(operation),
            Ok(Stage::Device(on_device)) => on_device,
            Err(error) => return core.refuse(self.call, error),
        };
        let staged = self.at(on_device.staging);
        if !core.devices_do(&on_device, operation) {
            return staged.begin_staged(&on_device, operation);
        }
        staged.trace();
        match staged.describe(operation) {
            Ok(call) => {
                let by_devices = DeviceCollective::new(&on_device, call);
                staged.task(call.signature, move |group| async move { by_devices.run(&group).await })
            }
            Err(error) => core.refuse(self.call, error),
        }
    }

    /// Begins it in the staging memory, which these are the operands in.
    fn begin_staged(self, on_device: &OnDevice<'a>, operation: Operation) -> Collective<'a> {
        let (core, me, n) = (self.core, self.core.group.my_pe(), self.core.group.n_pes());
        let mut staged = core.stage(on_device, self.size, operation.read(me, n));
        let written = operation.written(me, n);
        let mut add = || -> Result<()> {
            if matches!(written, Part::Collected) {
                let [total, mine] = staged.sums;
                let sum = Self::new(core, "sum_reduce", total, mine);
                staged.then(sum.begin_reduce(sum_kernel::<u64>()))?;
            }
            staged.then(self.begin_any(operation))
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

    /// These operands with their bytes somewhere else.
    fn at(self, [dest, source]: [SymView<'a, u8>; 2]) -> Self {
        let memory = [dest.allocation(), source.allocation()];
        Self { dest: Span::of(dest), source: Span::of(source), memory, ..self }
    }
}
