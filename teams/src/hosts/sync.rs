//! Sync: the PEs of a host meet, the leaders signal each other in log₂ k rounds, and release their
//! hosts.

use oxshmem_base::Result;

use super::{gathered, release};
use crate::{
    algorithm::sync::sync_here,
    group::Group,
    message::{Wide, buffer::Buffer},
    signature::Signature,
    tuning::rounds,
};

impl Wide {
    /// A sync, or what another call does that has nothing else to do.
    pub(crate) async fn sync_for(&self, group: &Group, signature: Signature) -> Result<()> {
        let wire = self.wire(group);
        gathered(group, signature).await?;
        if group.me() == 0 {
            let k = self.n_hosts();
            for round in 0..rounds(k) {
                let distance = 1 << round;
                let to = self.leader((self.node + distance) % k);
                let from = self.leader((self.node + k - distance) % k);
                wire.exchange([to, from], Buffer::zeros(0), 0..1, round.into()).await?;
            }
        }
        release(group, signature).await
    }
}

/// Waits inside of a [`Team::run`](crate::Team::run) for every PE to come to the same point.
///
/// ```
/// # use std::sync::Arc;
/// # use oxshmem_spaces::Pe;
/// # use oxshmem_job::Local;
/// # use oxshmem_base::settings::Settings;
/// # use oxshmem_teams::Team;
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// # let mut cluster = Local::cluster(2).into_iter().map(Arc::new);
/// # let (a, b) = (cluster.next().unwrap(), cluster.next().unwrap());
/// # let (a, b) = tokio::try_join!(Pe::join(a, Settings::default()), Pe::join(b, Settings::default()))?;
/// use oxshmem_teams::sync::sync_in;
///
/// let (a, b) = (Team::world(&a), Team::world(&b)); // one on each PE
/// let a = a.run("meet", |group| async move { sync_in(&group).await });
/// let b = b.run("meet", |group| async move { sync_in(&group).await });
/// assert!(tokio::try_join!(a, b).is_ok());
/// # Ok::<(), oxshmem_base::Error>(())
/// # })?;
/// # Ok::<(), oxshmem_base::Error>(())
/// ```
pub async fn sync_in(group: &Group) -> Result<()> {
    match group.wide() {
        None => sync_here(group).await,
        Some(wide) => wide.sync_for(group, Signature::named("sync")).await,
    }
}
