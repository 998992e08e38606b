//! Broadcast of bytes that only the root knows the number of.
//!
//! They flow down a tree in chunks. A PE passes a chunk on as soon as it has it, and has room for
//! two, so that sending and passing on overlap.

use oxshmem_base::{Error, Result};

use crate::{
    algorithm::{sync::sync_here, tree::Tree},
    group::{Flag, Group},
    memory::span::Span,
};

/// The name of the call.
pub(crate) const CALL: &str = "broadcast_bytes";
/// Bytes of one chunk.
const CHUNK: usize = 6 << 10;
/// Chunks that a PE has room for.
const SLOTS: u64 = 2;
/// The end of what this uses of the scratch memory.
pub(crate) const SCRATCH_END: usize = CHUNK * SLOTS as usize;
/// Bytes before the data of the first chunk: the length of the whole.
const HEADER: usize = size_of::<u64>();

/// Gives the bytes of `root`, by its number among the PEs of this host, to these.
pub(crate) async fn broadcast_here(group: &Group, bytes: Option<Vec<u8>>, root: usize) -> Result<Vec<u8>> {
    let (me, n) = (group.me(), group.n());
    // Another root makes another tree, in which other PEs write the same flags of the same parents:
    // no PE may begin with it before all PEs have ended with the one before.
    if !group.state.chunks.leads_again(root) {
        sync_here(group).await?;
    }
    let tree = Tree::new(me, n, root);
    let base = group.state.chunks.sent.get();
    let parent = tree.parent();
    if let Some((parent, place)) = parent {
        // All chunks of earlier broadcasts are taken: the parent, whichever it was then, may send.
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
            group.wait(Flag::Chunk, number).await?;
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
            group.wait(Flag::ChunkTaken(place), base.max(number.saturating_sub(SLOTS))).await?;
            group.memory.write_to(slot(chunk.len()), group.block(child), &chunk);
            group.set(Flag::Chunk, number, child);
        }
        if let Some((parent, place)) = parent {
            whole.extend_from_slice(&chunk[header..]);
            group.set(Flag::ChunkTaken(place), number, parent);
        }
        done += chunk.len() - header;
    }
    group.state.chunks.sent.set(number);
    Ok(whole)
}

fn slot(group: &Group, number: u64, len: usize) -> Span {
    group.general((number % SLOTS) as usize * CHUNK, len)
}
