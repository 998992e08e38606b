//! Large collectives by messages alone: puts into destinations, and flags that count them.
//!
//! They need no loads from other PEs' memory, so they suit every transport; on one host the ones that reach into each
//! other's memory are faster, and these are for those who ask for them. Every PE's messages of one *lane* come in a
//! known number, so that waiting for a count is enough. A meeting ends each, in which PEs compare what they called.

use std::{future::poll_fn, ops::Range};

use oxshmem_base::Result;

use crate::{
    direct::{chunk, meet},
    exchange::{Buffers, combine_bytes},
    group::{Flag, Group, LANES, NumberWait},
    reduction::Kernel,
    signature::Signature,
    span::Span,
};

/// Lanes below this are for the rounds of [`bruck`].
const BRUCK: usize = LANES - 3;
const RING: usize = LANES - 3;
const PAIRS: usize = LANES - 2;
const SCATTER: usize = LANES - 1;

/// The most PEs whose rounds have a lane each.
pub(crate) const MOST_FOR_BRUCK: usize = 1 << BRUCK;

/// Puts `from` of this PE to `to` on a PE, and counts it there.
fn put(group: &Group, to: Span, from: Span, pe: usize, lane: usize) {
    group.memory.copy(to, group.block(pe), from, group.here());
    group.add(Flag::Lane(lane), 1, pe);
}

/// Waits for so many more messages of a lane.
async fn arrivals(group: &Group, lane: usize, count: usize) -> Result<()> {
    let number = group.expect(lane, count as u64);
    let mut wait = NumberWait::default();
    poll_fn(|cx| wait.poll(group, Flag::Lane(lane).place(), number, || cx.waker().clone())).await
}

/// Hands the parts of `dest` around a ring, beginning with this PE's own, until all PEs have all.
async fn circulate(
    group: &Group,
    dest: Span,
    part: impl Fn(usize) -> Range<usize>,
    first: usize,
) -> Result<()> {
    let (me, n) = (group.me(), group.n());
    let right = (me + 1) % n;
    for step in 0..n - 1 {
        if step > 0 {
            arrivals(group, RING, 1).await?;
        }
        let part = dest.part(part((first + n - step) % n));
        put(group, part, part, right, RING);
    }
    if n > 1 {
        arrivals(group, RING, 1).await?;
    }
    Ok(())
}

/// Collect by a ring: each block goes around once.
pub(crate) async fn ring_collect(
    group: &Group,
    signature: Signature,
    source: Span,
    dest: Span,
) -> Result<()> {
    let (me, len) = (group.me(), source.len());
    let here = group.here();
    group.memory.copy(dest.part(me * len..(me + 1) * len), here, source, here);
    circulate(group, dest, |block| block * len..(block + 1) * len, me).await?;
    meet(group, signature).await
}

/// Reduction by a ring: chunks go around once to be combined, in the destinations, and once to be handed out. The
/// source must not be the destination.
pub(crate) async fn ring_reduce(
    group: &Group,
    signature: Signature,
    kernel: &'static Kernel,
    source: Span,
    dest: Span,
) -> Result<()> {
    let (me, n, here) = (group.me(), group.n(), group.here());
    let right = (me + 1) % n;
    let part = |index: usize| chunk(source.len(), index % n, n);
    let mut buffers = Buffers::default();
    if n == 1 {
        group.memory.copy(dest, here, source, here);
        return Ok(());
    }
    put(group, dest.part(part(me)), source.part(part(me)), right, RING);
    for step in 1..n {
        arrivals(group, RING, 1).await?;
        let index = me + n - step;
        combine_into(group, kernel, dest.part(part(index)), source.part(part(index)), &mut buffers);
        if step < n - 1 {
            let part = dest.part(part(index));
            put(group, part, part, right, RING);
        }
    }
    // The chunk that came last is complete: it began at the right neighbour.
    circulate(group, dest, part, right).await?;
    meet(group, signature).await
}

/// `total = total op own`, both in this PE's memory.
fn combine_into(group: &Group, kernel: &Kernel, total: Span, own: Span, buffers: &mut Buffers) {
    const BLOCK: usize = 4 << 10;
    for start in (0..total.len()).step_by(BLOCK) {
        let block = start..(start + BLOCK).min(total.len());
        let [acc, next, ..] = buffers.get(block.len());
        group.memory.read(total.part(block.clone()), acc);
        group.memory.read(own.part(block.clone()), next);
        combine_bytes(kernel, acc, next);
        group.memory.write(total.part(block), acc);
    }
}

/// Collect in log₂ n rounds, in each of which a PE passes on all blocks that it has. They lie in the destination
/// beginning with the PE's own, and are put in order at the end.
pub(crate) async fn bruck(group: &Group, signature: Signature, source: Span, dest: Span) -> Result<()> {
    let (me, n, len, here) = (group.me(), group.n(), source.len(), group.here());
    group.memory.copy(dest.part(0..len), here, source, here);
    let mut have = 1;
    for lane in 0.. {
        if have >= n {
            break;
        }
        let count = have.min(n - have);
        let (to, from) = (dest.part(have * len..(have + count) * len), dest.part(0..count * len));
        put(group, to, from, (me + n - have) % n, lane);
        arrivals(group, lane, 1).await?;
        have += count;
    }
    // Nobody writes here before all have called the next collective.
    let mut all = vec![0; n * len];
    group.memory.read(dest, &mut all);
    all.rotate_right(me * len);
    group.memory.write(dest, &all);
    meet(group, signature).await
}

/// All-to-all in n rounds: in round k each PE sends to the k-th behind it, and hears from the k-th before it.
pub(crate) async fn pairwise(group: &Group, signature: Signature, source: Span, dest: Span) -> Result<()> {
    let (me, n, here) = (group.me(), group.n(), group.here());
    let len = source.len() / n;
    let block = |pe: usize| pe * len..(pe + 1) * len;
    group.memory.copy(dest.part(block(me)), here, source.part(block(me)), here);
    for round in 1..n {
        let pe = (me + round) % n;
        put(group, dest.part(block(me)), source.part(block(pe)), pe, PAIRS);
        arrivals(group, PAIRS, 1).await?;
    }
    meet(group, signature).await
}

/// Broadcast: the root gives each PE a part, and the parts go around a ring.
pub(crate) async fn scatter(
    group: &Group,
    signature: Signature,
    root: usize,
    source: Span,
    dest: Span,
) -> Result<()> {
    let (me, n, here) = (group.me(), group.n(), group.here());
    let part = |pe: usize| chunk(source.len(), pe, n);
    if me == root {
        group.memory.copy(dest.part(part(me)), here, source.part(part(me)), here);
        for pe in (0..n).filter(|&pe| pe != root) {
            put(group, dest.part(part(pe)), source.part(part(pe)), pe, SCATTER);
        }
    } else {
        arrivals(group, SCATTER, 1).await?;
    }
    circulate(group, dest, part, me).await?;
    meet(group, signature).await
}
