//! Broadcast of bytes that only the root knows the number of.
//!
//! They flow down a tree in chunks. A PE passes a chunk on as soon as it has it, and has room for two, so
//! that sending and passing on overlap.

use std::{
    future::poll_fn,
    sync::{Arc, atomic::Ordering},
};

use oxshmem_base::{Error, Result};

use crate::{
    group::{Flag, Group, NumberWait},
    queue::Outcome,
    span::Span,
    sync::sync_here,
    team::Team,
    tree::Tree,
};

/// The name of the call.
const CALL: &str = "broadcast_bytes";
/// Bytes of one chunk.
const CHUNK: usize = 6 << 10;
/// Chunks that a PE has room for.
const SLOTS: u64 = 2;
/// The end of what this uses of the scratch memory.
pub(crate) const SCRATCH_END: usize = CHUNK * SLOTS as usize;
/// Bytes before the data of the first chunk: the length of the whole.
const HEADER: usize = size_of::<u64>();

impl Team {
    /// Gives the bytes of `root` to every PE. The root gives `Some`, all others what they like. Collective.
    ///
    /// # Errors
    /// [`Error::PeOutOfRange`], on every PE alike, and those of [`sync`](Self::sync). At the root,
    /// [`Error::LengthMismatch`] if there are no bytes to give; the others then get an empty vector.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use oxshmem_runtime::Pe;
    /// # use oxshmem_job::Local;
    /// # use oxshmem_base::settings::Settings;
    /// # use oxshmem_teams::Team;
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    /// # runtime.block_on(async {
    /// # let mut cluster = Local::cluster(2).into_iter().map(Arc::new);
    /// # let (a, b) = (cluster.next().unwrap(), cluster.next().unwrap());
    /// # let (a, b) = tokio::try_join!(Pe::join(a, Settings::default()), Pe::join(b, Settings::default()))?;
    /// let (a, b) = (Team::world(&a), Team::world(&b)); // one on each PE
    /// let (got_a, got_b) = tokio::try_join!(a.broadcast_bytes(None, 1), b.broadcast_bytes(Some(vec![1, 2, 3]), 1))?;
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

/// Gives the bytes of `root`, by its number among the PEs of this host, to these.
pub(crate) async fn broadcast_here(group: &Group, bytes: Option<Vec<u8>>, root: usize) -> Result<Vec<u8>> {
    let (me, n) = (group.me(), group.n());
    // Another root makes another tree, in which other PEs write the same flags of the same parents: nobody may
    // begin with it before everybody has ended with the one before.
    if group.last_root.swap(root, Ordering::Relaxed) != root {
        sync_here(group).await?;
    }
    let tree = Tree::new(me, n, root);
    let base = group.chunks.load(Ordering::Relaxed);
    let parent = tree.parent();
    if let Some((parent, place)) = parent {
        // All chunks of earlier broadcasts are taken: the parent, whoever it was then, may send.
        group.set(Flag::ChunkTaken(place), base, parent);
    }

    let mut whole = match parent {
        None => bytes.unwrap_or_default(),
        Some(_) => Vec::new(),
    };
    let mut total = whole.len();
    let mut done = 0;
    let mut number = base;
    let mut chunk = Vec::with_capacity(CHUNK);
    while number == base || done < total {
        number += 1;
        let header = if number == base + 1 { HEADER } else { 0 };
        chunk.clear();
        let slot = |len: usize| slot(group, number, len);
        if parent.is_none() {
            if header > 0 {
                chunk.extend_from_slice(&(total as u64).to_ne_bytes());
            }
            let len = (CHUNK - header).min(total - done);
            chunk.extend_from_slice(&whole[done..done + len]);
        } else {
            wait(group, Flag::Chunk, number).await?;
            if header > 0 {
                let mut len = [0; HEADER];
                group.memory.read(slot(HEADER), &mut len);
                total = u64::from_ne_bytes(len) as usize;
                let no_room = |_| Error::LengthMismatch { call: CALL, source_len: total, dest_len: 0 };
                whole.try_reserve_exact(total).map_err(no_room)?;
            }
            chunk.resize(header + (CHUNK - header).min(total - done), 0);
            group.memory.read(slot(chunk.len()), &mut chunk);
        }
        for (place, child) in tree.children().enumerate() {
            // The chunk that had this slot before is taken.
            wait(group, Flag::ChunkTaken(place), base.max(number.saturating_sub(SLOTS))).await?;
            group.put_bytes(slot(chunk.len()), &chunk, Flag::Chunk, number, child);
        }
        if let Some((parent, place)) = parent {
            whole.extend_from_slice(&chunk[header..]);
            group.set(Flag::ChunkTaken(place), number, parent);
        }
        done += chunk.len() - header;
    }
    group.chunks.store(number, Ordering::Relaxed);
    Ok(whole)
}

async fn wait(group: &Group, flag: Flag, number: u64) -> Result<()> {
    let mut wait = NumberWait::default();
    poll_fn(|cx| wait.poll(group, flag.place(), number, || cx.waker().clone())).await
}

fn slot(group: &Group, number: u64, len: usize) -> Span {
    group.general((number % SLOTS) as usize * CHUNK, len)
}
