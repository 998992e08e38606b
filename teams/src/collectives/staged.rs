//! Collectives on device memory, as three in the queue of the team: a copy to the host, the
//! collective there, and a copy back.

use oxshmem_base::Result;
use oxshmem_spaces::{Element, SymView};

use crate::{
    device::{Stage, Written},
    queue::Collective,
    team::Team,
};

impl Team {
    /// A collective that has an operand in device memory, with `inner` as the collective on the
    /// host.
    #[cold]
    #[inline(never)]
    pub(super) fn staged<'a, T: Element>(
        &'a self,
        call: &'static str,
        views: [SymView<'a, T>; 2],
        written: Written,
        inner: impl FnOnce(SymView<'a, T>, SymView<'a, T>) -> Collective<'a>,
    ) -> Collective<'a> {
        self.staged_from(call, views, true, written, inner)
    }

    /// The same where it may be that no PE `reads` this PE's source. Then it is not copied: others
    /// may have written to the image already, where a destination is a source too.
    #[cold]
    #[inline(never)]
    pub(super) fn staged_from<'a, T: Element>(
        &'a self,
        call: &'static str,
        views: [SymView<'a, T>; 2],
        reads: bool,
        written: Written,
        inner: impl FnOnce(SymView<'a, T>, SymView<'a, T>) -> Collective<'a>,
    ) -> Collective<'a> {
        let mut staged = match self.core().stage(call, views, reads) {
            Ok(Stage::Host([dest, source])) => return inner(dest, source),
            Ok(Stage::Device(staged)) => staged,
            Err(error) => return self.core().refuse(call, error),
        };
        let add = || -> Result<()> {
            if matches!(written, Written::Collected) {
                let [total, mine] = staged.sums;
                staged.then(self.sum_reduce(total, mine))?;
            }
            let [dest, source] = staged.images;
            staged.then(inner(dest, source))
        };
        match add() {
            Ok(()) => staged.end(written),
            Err(error) => Collective::failed(error),
        }
    }
}
