//! Operations are counted while a looker looks: see [`oxshmem_progress::counters`]. Otherwise that
//! costs one load and one predicted branch.

use oxshmem_progress::counters::Kind;

use crate::context::{Context, Sharing};

impl<M: Sharing> Context<M> {
    /// Whether operations have to be counted.
    #[inline(always)]
    pub(crate) fn is_watched(&self) -> bool {
        self.pe().counters().is_on()
    }

    /// Counts `call`, which moves `bytes` to or from `pe`, if that is wanted.
    #[inline(always)]
    pub(crate) fn count(&self, call: &'static str, bytes: usize, pe: usize) {
        if self.is_watched() {
            self.count_one(call, bytes, pe);
        }
    }

    #[cold]
    #[inline(never)]
    fn count_one(&self, call: &'static str, bytes: usize, pe: usize) {
        // What names no PE is an error, of which there is nothing to count.
        if pe < self.n_pes()
            && let Some(kind) = Kind::of(call)
        {
            let target = self.pe().local_pe_of(self.world_pe(pe));
            self.pe().counters().operation(kind, bytes, target);
        }
    }
}
