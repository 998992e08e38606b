//! Broadcast of bytes that only the root knows the number of.

use std::sync::Arc;

use oxshmem_base::{Error, Result};

use crate::{
    algorithm::chunks::{CALL, broadcast_here},
    group::Group,
    queue::Outcome,
    team::Team,
};

impl Team {
    /// Gives the bytes of `root` to every PE. The root gives `Some`, all others what they like.
    /// Collective.
    ///
    /// # Errors
    /// [`Error::PeOutOfRange`], on every PE alike, and those of [`sync`](Self::sync). At the root,
    /// [`Error::LengthMismatch`] if there are no bytes to give; the others then get an empty
    /// vector.
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
    /// let (a, b) = (Team::world(&a), Team::world(&b)); // one on each PE
    /// let given = Some(vec![1, 2, 3]);
    /// let both = tokio::try_join!(a.broadcast_bytes(None, 1), b.broadcast_bytes(given, 1));
    /// let (got_a, got_b) = both?;
    /// assert_eq!((got_a, got_b), (vec![1, 2, 3], vec![1, 2, 3]));
    /// # Ok::<(), oxshmem_base::Error>(())
    /// # })?;
    /// # Ok::<(), oxshmem_base::Error>(())
    /// ```
    pub fn broadcast_bytes(&self, bytes: Option<Vec<u8>>, root: usize) -> Outcome<Vec<u8>> {
        let n_pes = self.n_pes();
        if root >= n_pes {
            return self.core().refuse_run(CALL, Error::PeOutOfRange { call: CALL, pe: root, n_pes });
        }
        self.run(CALL, move |group| broadcast(group, bytes, root))
    }
}

async fn broadcast(group: Arc<Group>, bytes: Option<Vec<u8>>, root: usize) -> Result<Vec<u8>> {
    let missing = group.my_pe() == root && bytes.is_none();
    let whole = match group.wide() {
        None => broadcast_here(&group, bytes, root).await?,
        Some(wide) => wide.broadcast_bytes(&group, bytes, root).await?,
    };
    if missing {
        return Err(Error::LengthMismatch { call: CALL, source_len: 0, dest_len: 0 });
    }
    Ok(whole)
}
