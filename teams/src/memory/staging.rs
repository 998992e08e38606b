//! The host's staging memory, in which collectives on that run.

use std::sync::{Arc, OnceLock};

use oxshmem_spaces::{Domain, Pe, allocation::Allocation};

/// What a team knows of device memory, once it has been used with it.
#[derive(Debug, Default)]
pub(crate) struct Staging {
    memory: OnceLock<Arc<Allocation>>,
    /// A member without a device, by its number in the world.
    pub(crate) outsider: OnceLock<Option<usize>>,
    /// Whether the devices of the members on this host reach each other, and are not too many.
    pub(crate) devices_reach: OnceLock<bool>,
}

impl Staging {
    pub(crate) fn memory(&self, pe: &Arc<Pe>) -> &Arc<Allocation> {
        self.memory.get_or_init(|| {
            let symmetric = pe.symmetric();
            let len = symmetric.len();
            // SAFETY: the staging memory in it is the teams', and they use nothing else of it by
            // this.
            unsafe { Allocation::unowned(Arc::clone(pe), Domain::Host, symmetric, 0, len) }
        })
    }
}
