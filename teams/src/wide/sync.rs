//! Sync: the PEs of a host meet, the leaders hear of each other in log₂ k rounds, and tell their hosts.

use oxshmem_base::Result;

use super::{Wide, gathered, release, wire::Buffer};
use crate::{choice::rounds, group::Group, signature::Signature};

impl Wide {
    pub(crate) async fn sync(&self, group: &Group) -> Result<()> {
        self.sync_for(group, Signature::named("sync")).await
    }

    /// The same for a call that has nothing else to do.
    pub(crate) async fn sync_for(&self, group: &Group, signature: Signature) -> Result<()> {
        let wire = self.wire(group);
        gathered(group, signature).await?;
        if group.me() == 0 {
            let k = self.n_hosts();
            for round in 0..rounds(k) {
                let distance = 1 << round;
                let to = self.leader((self.party + distance) % k);
                let from = self.leader((self.party + k - distance) % k);
                wire.exchange(to, Buffer::new(0), from, 0, round.into()).await?;
            }
        }
        release(group, signature).await
    }
}
