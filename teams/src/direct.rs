//! Large collectives among PEs that can load and store each other's memory.
//!
//! Where PEs read each other's source they meet before, so that it is there, and sync after, so that it may be
//! changed again. Destinations are ready before any PE calls (`OpenSHMEM 1.6 §9.10`), so that blocks that only
//! their owner knows are written straight to where they belong, and one meeting ends it.

use std::{future::poll_fn, ops::Range};

use oxshmem_runtime::Result;

use crate::{
    exchange::{Buffers, Exchange, combine_bytes},
    group::{Flag, Group, NumberWait},
    reduction::Kernel,
    signature::Signature,
    span::Span,
    stream::Stream,
    sync::sync_in,
};

/// Where in the general scratch memory the length of a block is.
const LENGTH_AT: usize = 20 << 10;
/// Bytes that are combined at a time: small enough for the innermost cache.
const BLOCK: usize = 4 << 10;
/// Bytes that are handed to several PEs at a time: few enough for the innermost caches, and enough for a fast copy.
const PIECE: usize = 16 << 10;
/// What chunks of PEs are aligned to, so that two PEs do not write the same cache line.
const ALIGN: usize = 64;
/// The most PEs that a root counts one by one.
const FEW: usize = 64;

/// Waits for every PE to come here, and compares what they call.
pub(crate) async fn meet(group: &Group, signature: Signature) -> Result<()> {
    let mut meeting = Exchange::meeting(group, signature);
    let mut buffers = Buffers::default();
    poll_fn(|cx| meeting.poll(group, &mut buffers, || cx.waker().clone())).await
}

/// The bytes of `len` that are PE `pe`'s part, of `n`: whole elements, as `ALIGN` is a multiple of all sizes.
pub(crate) fn chunk(len: usize, pe: usize, n: usize) -> Range<usize> {
    let each = len.div_ceil(n).next_multiple_of(ALIGN);
    (pe * each).min(len)..((pe + 1) * each).min(len)
}

/// The pieces of a range, of at most [`BLOCK`] bytes.
fn blocks(range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = range.end;
    range.step_by(BLOCK).map(move |start| start..(start + BLOCK).min(end))
}

/// The pieces in which what goes to several PEs is read.
fn pieces(len: usize) -> impl Iterator<Item = Range<usize>> {
    (0..len).step_by(PIECE).map(move |start| start..(start + PIECE).min(len))
}

/// Broadcast: everybody copies from the root.
pub(crate) async fn broadcast(
    group: &Group,
    signature: Signature,
    root: usize,
    source: Span,
    dest: Span,
) -> Result<()> {
    let (here, others) = (group.pe().me(), group.n() as u64 - 1);
    let mut notice = Stream::notice(group, signature, root);
    poll_fn(|cx| notice.poll(group, || cx.waker().clone())).await?;
    group.memory.copy(dest, here, source, group.world_pe(root));
    if group.n() > FEW {
        return sync_in(group).await;
    }
    if group.me() != root {
        return group.add(Flag::Taken, 1, root);
    }
    let taken = group.expect_taken(others);
    let mut wait = NumberWait::default();
    poll_fn(|cx| wait.poll(group, group.flag(Flag::Taken), taken, || cx.waker().clone())).await
}

/// Reduction: each PE combines its chunk of all sources, and writes it to all destinations.
pub(crate) async fn reduce(
    group: &Group,
    signature: Signature,
    kernel: &'static Kernel,
    source: Span,
    dest: Span,
) -> Result<()> {
    meet(group, signature).await?;
    let mine = chunk(source.len(), group.me(), group.n());
    let all: Vec<usize> = group.members.iter().collect();
    let here = group.pe().me();
    for block in blocks(mine) {
        let (from, to) = (source.part(block.clone()), dest.part(block));
        // In place, this overwrites this PE's part of the sources after it has been read, element by element.
        group.memory.fold(kernel, to, from, &all);
        for distance in 1..group.n() {
            let pe = (group.me() + distance) % group.n();
            group.memory.copy(to, group.world_pe(pe), to, here);
        }
    }
    sync_in(group).await
}

/// Scan: each PE computes its chunk of everybody's sums, and writes it to them.
pub(crate) async fn scan(
    group: &Group,
    signature: Signature,
    kernel: &'static Kernel,
    inclusive: bool,
    source: Span,
    dest: Span,
) -> Result<()> {
    meet(group, signature).await?;
    let mine = chunk(source.len(), group.me(), group.n());
    let mut buffers = Buffers::default();
    for block in blocks(mine) {
        let [total, next, ..] = buffers.get(block.len());
        let (from, to) = (source.part(block.clone()), dest.part(block));
        total.fill(0);
        for pe in 0..group.n() {
            let at = group.world_pe(pe);
            // Before the destination is written: it may be the source.
            group.memory.read_from(from, at, next);
            if !inclusive {
                group.memory.write_to(to, at, total);
            }
            if pe == 0 {
                total.copy_from_slice(next);
            } else {
                combine_bytes(kernel, total, next);
            }
            if inclusive {
                group.memory.write_to(to, at, total);
            }
        }
    }
    sync_in(group).await
}

/// Collect: everybody writes its block to everybody, `start` bytes behind the beginning.
pub(crate) async fn collect(
    group: &Group,
    signature: Signature,
    source: Span,
    dest: Span,
    start: usize,
) -> Result<()> {
    let to = dest.part(start..start + source.len());
    // Piece by piece, so that the source comes out of the innermost caches but for the first time.
    for piece in pieces(source.len()) {
        let (from, to) = (source.part(piece.clone()), to.part(piece));
        for distance in 0..group.n() {
            let pe = (group.me() + distance) % group.n();
            group.memory.copy(to, group.world_pe(pe), from, group.pe().me());
        }
    }
    meet(group, signature).await
}

/// Lengths: everybody's, where there are too many PEs for an exchange of them. Each PE leaves its own in its general
/// scratch memory, where all read it before they meet again.
pub(crate) async fn lengths(group: &Group, signature: Signature, len: usize) -> Result<Vec<usize>> {
    let word = group.general(LENGTH_AT, size_of::<u64>());
    group.memory.write(word, &(len as u64).to_ne_bytes());
    meet(group, signature).await?;
    let lengths = (0..group.n()).map(|pe| {
        let mut len = [0; size_of::<u64>()];
        group.memory.read_from(word, group.world_pe(pe), &mut len);
        u64::from_ne_bytes(len) as usize
    });
    let lengths = lengths.collect();
    // Nobody writes the next one's length before all have read this.
    sync_in(group).await?;
    Ok(lengths)
}

/// All-to-all: everybody writes each block to its PE.
pub(crate) async fn alltoall(group: &Group, signature: Signature, source: Span, dest: Span) -> Result<()> {
    let block = source.len() / group.n();
    let range = |pe: usize| pe * block..(pe + 1) * block;
    let to = dest.part(range(group.me()));
    for distance in 0..group.n() {
        let pe = (group.me() + distance) % group.n();
        group.memory.copy(to, group.world_pe(pe), source.part(range(pe)), group.pe().me());
    }
    meet(group, signature).await
}

/// All-to-all with strides, of elements of `size` bytes.
pub(crate) async fn alltoalls(
    group: &Group,
    signature: Signature,
    source: Span,
    dest: Span,
    [size, dst, sst]: [usize; 3],
) -> Result<()> {
    let elements = signature.len();
    for distance in 0..group.n() {
        let pe = (group.me() + distance) % group.n();
        for i in 0..elements {
            let from = (pe * elements + i) * sst * size;
            let to = (group.me() * elements + i) * dst * size;
            let (from, to) = (source.part(from..from + size), dest.part(to..to + size));
            group.memory.copy(to, group.world_pe(pe), from, group.pe().me());
        }
    }
    meet(group, signature).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_and_blocks_cover_everything_once_in_whole_elements() {
        for len in [0, 1, 63, 64, 65, 4096, 70_001, 70_000 * 16] {
            for n in 1..20 {
                let chunks: Vec<_> = (0..n).map(|pe| chunk(len, pe, n)).collect();
                assert!(chunks[0].start == 0 && chunks[n - 1].end == len);
                assert!(chunks.windows(2).all(|pair| pair[0].end == pair[1].start));
                assert!(chunks.iter().all(|chunk| chunk.start % ALIGN == 0 || chunk.start == len));
                let covered: usize = chunks.into_iter().flat_map(blocks).map(|block| block.len()).sum();
                assert_eq!(covered, len);
            }
        }
    }
}
