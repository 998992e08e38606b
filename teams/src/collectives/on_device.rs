//! Collectives that have an operand in device memory: by the devices, or as three in the queue of
//! the team, which are a copy to the host, the collective there, and a copy back.

use oxshmem_base::Result;
use oxshmem_spaces::{Element, SymView};

use super::operands::Operands;
use crate::{
    device::{Direct, Stage, Work, Written},
    queue::Collective,
    signature::Signature,
    team::Team,
};

impl Team {
    /// One such collective. `sign` checks its operands, which it is given as those of a collective
    /// in the host's image, and `inner` is the collective there.
    #[cold]
    #[inline(never)]
    pub(super) fn on_device<'a, T: Element>(
        &'a self,
        call: &'static str,
        views: [SymView<'a, T>; 2],
        work: Work,
        sign: impl FnOnce(&Operands<'a>) -> Result<Signature>,
        inner: impl FnOnce(SymView<'a, T>, SymView<'a, T>) -> Collective<'a>,
    ) -> Collective<'a> {
        let core = self.core();
        let on_device = match core.placed(call, views) {
            Ok(Stage::Host([dest, source])) => return inner(dest, source),
            Ok(Stage::Device(on_device)) => on_device,
            Err(error) => return core.refuse(call, error),
        };
        let [dest, source] = on_device.images;
        if core.devices_do(&on_device, work) {
            let operands = Operands::new(core, call, dest, source);
            return match sign(&operands) {
                Ok(signature) => {
                    let direct = Direct::new(&on_device, work);
                    operands.task(signature, move |group| async move { direct.run(&group, signature).await })
                }
                Err(error) => core.refuse(call, error),
            };
        }
        let mut staged = core.stage(call, &on_device, work.reads(self.my_pe()));
        let written = work.written(self.my_pe(), self.n_pes());
        let add = || -> Result<()> {
            if matches!(written, Written::Collected) {
                let [total, mine] = staged.sums;
                staged.then(self.sum_reduce(total, mine))?;
            }
            staged.then(inner(dest, source))
        };
        match add() {
            Ok(()) => staged.end(written),
            Err(error) => Collective::failed(error),
        }
    }
}
