//! Large collectives among PEs that can load and store each other's memory.
//!
//! Where PEs read each other's source they meet before, so that it is there, and sync after, so
//! that it may be changed again. Destinations are ready before any PE calls
//! (`OpenSHMEM 1.6 §9.10`), so that blocks that only their owner knows are written straight to
//! where they belong, and one exchange ends it.

use std::{ops::Range, pin::Pin, sync::Arc};

use oxshmem_base::Result;
use smallvec::SmallVec;

use crate::{
    algorithm::{
        called::{Called, chunk, total_of},
        exchange::{combine_bytes, meet},
        lengths::lengths,
        share::Share,
        sync::sync_here,
        tree_broadcast::{ToRoot, TreeBroadcast},
    },
    group::{Flag, Group},
    memory::span::Span,
    operation::Operation,
    reduction::Kernel,
};

/// What a scan combines at a time in private memory, aligned for every kernel.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Partial([u8; 1 << 10]);

/// A collective that owns what it needs.
pub(crate) type Task = Pin<Box<dyn Future<Output = Result<()>> + Send>>;

/// The collective that was called. Each is boxed on its own, so that a short one is not as large as
/// the largest.
pub(crate) fn direct(group: Arc<Group>, call: Called) -> Task {
    match call.operation {
        Operation::Meet => Box::pin(async move { meet(&group, call.signature).await }),
        Operation::Broadcast { root, to_root } => {
            Box::pin(async move { broadcast(&group, &call, root, to_root).await })
        }
        Operation::Reduce(kernel) => Box::pin(async move { reduce(&group, &call, kernel).await }),
        Operation::Scan { kernel, inclusive } => {
            Box::pin(async move { scan(&group, &call, kernel, inclusive).await })
        }
        Operation::Fcollect => {
            let start = group.me() * call.source.len();
            Box::pin(async move { collect(&group, &call, start).await })
        }
        Operation::Collect => Box::pin(async move { collect_any(&group, &call).await }),
        Operation::Alltoall => Box::pin(async move { alltoall(&group, &call).await }),
        Operation::Alltoalls { dst, sst, nelems } => {
            Box::pin(async move { alltoalls(&group, &call, [dst, sst], nelems).await })
        }
    }
}

/// Broadcast: once the root is ready, each PE copies what comes to itself, and the root what the
/// others have not taken yet.
pub(crate) async fn broadcast(group: &Group, call: &Called, root: usize, to_root: ToRoot) -> Result<()> {
    let is_root = group.me() == root;
    let share = Share::new(group, call.source.len());
    if let Some(share) = share.filter(|_| is_root) {
        share.begin(group);
    }
    TreeBroadcast::root_ready(group, call.signature, root).run(group).await?;
    if is_root && to_root {
        group.memory.copy_here(call.dest, call.source);
    }
    match share {
        Some(share) if is_root => group.wait(Flag::Taken, help(group, call, share)).await,
        Some(share) => group.wait(Flag::Given, serve(group, call, share, root)).await,
        None => {
            if !is_root {
                group.memory.copy(call.dest, group.here(), call.source, group.block(root));
            }
            sync_here(group).await
        }
    }
}

/// The root copies what the others have not taken yet, for each in turn, if their destinations are
/// ready: on several hosts what was done before may still be at work on them. Returns what its flag
/// comes to when the others have copied what they took.
fn help(group: &Group, call: &Called, share: Share) -> u64 {
    let me = group.me();
    let mut given = 0;
    let helped = if group.wide().is_none() { group.n() } else { 1 };
    for distance in 1..helped {
        let pe = (me + distance) % group.n();
        let taken = |units| group.add(Flag::Given, units, pe);
        given += share.copy(group, [me, pe], [call.source, call.dest], taken);
    }
    let others = group.n() as u64 - 1;
    group.state.shares.taken.add(share.units() * others - given)
}

/// A PE that is not the root copies what comes to itself. Returns what its flag comes to when the
/// root has copied the rest.
fn serve(group: &Group, call: &Called, share: Share, root: usize) -> u64 {
    let taken = share.copy(group, [root, group.me()], [call.source, call.dest], |_| {});
    if taken > 0 {
        group.add(Flag::Taken, taken, root);
    }
    group.state.shares.given.add(share.units() - taken)
}

/// Reduction: each PE combines its chunk, and hands it to all PEs; on several hosts to the first
/// alone, which goes on with it. What the others have in their destinations is unspecified then.
pub(crate) async fn reduce(group: &Group, call: &Called, kernel: &'static Kernel) -> Result<()> {
    meet(group, call.signature).await?;
    reduce_chunk(group, call, kernel);
    sync_here(group).await
}

fn reduce_chunk(group: &Group, call: &Called, kernel: &Kernel) {
    let to_first = if group.wide().is_none() { group.n() } else { 1 };
    let all: SmallVec<[usize; 16]> = group.blocks().collect();
    for [from, to] in blocks(group, call, group.choices.block()) {
        // In place, this overwrites this PE's part of the sources after it has been read, element
        // by element.
        group.memory.fold(kernel, to, from, &all);
        for pe in group.others().filter(|&pe| pe < to_first) {
            group.memory.copy(to, group.block(pe), to, group.here());
        }
    }
}

/// Scan: each PE computes its chunk of all PEs' sums.
async fn scan(group: &Group, call: &Called, kernel: &'static Kernel, inclusive: bool) -> Result<()> {
    meet(group, call.signature).await?;
    // In place, an exclusive scan writes where it has yet to read.
    if kernel.fused().is_some() && (inclusive || !call.dest.overlaps(call.source)) {
        scan_in_destinations(group, call, kernel, inclusive);
    } else {
        scan_in_private(group, call, kernel, inclusive);
    }
    sync_here(group).await
}

/// Sums where they belong: that of each PE from that of the one before, where it still is in the
/// innermost cache.
fn scan_in_destinations(group: &Group, call: &Called, kernel: &Kernel, inclusive: bool) {
    for [from, to] in blocks(group, call, group.choices.block()) {
        match inclusive {
            true => group.memory.copy(to, group.block(0), from, group.block(0)),
            false => group.memory.clear_of(to, group.block(0)),
        }
        for pe in 1..group.n() {
            let (before, here) = (group.block(pe - 1), group.block(pe));
            match (inclusive, pe) {
                (true, _) => group.memory.combine_of(kernel, (to, here), [(to, before), (from, here)]),
                (false, 1) => group.memory.copy(to, here, from, before),
                (false, _) => group.memory.combine_of(kernel, (to, here), [(to, before), (from, before)]),
            }
        }
    }
}

/// Sums by way of private memory, for what cannot be computed in place.
fn scan_in_private(group: &Group, call: &Called, kernel: &Kernel, inclusive: bool) {
    let [mut total, mut next] = [Partial([0; _]); 2];
    for [from, to] in blocks(group, call, size_of::<Partial>()) {
        let [total, next] = [&mut total, &mut next].map(|partial| &mut partial.0[..from.len()]);
        total.fill(0);
        for pe in 0..group.n() {
            let at = group.block(pe);
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
}

/// Collect: each PE writes what it gives to all destinations, where it begins `start` bytes behind
/// the beginning.
pub(crate) async fn collect(group: &Group, call: &Called, start: usize) -> Result<()> {
    let to = call.dest.part(start..start + call.source.len());
    for pe in pes(group) {
        group.memory.copy(to, group.block(pe), call.source, group.here());
    }
    meet(group, call.signature).await
}

/// Collect of blocks of any length, which the PEs learn first.
async fn collect_any(group: &Group, call: &Called) -> Result<()> {
    let (lengths, _) = lengths(group, call, 0).await?;
    call.check_room(group, &lengths)?;
    collect(group, call, total_of(&lengths[..group.me()])).await
}

/// All-to-all: each PE writes a block of its source to each destination.
async fn alltoall(group: &Group, call: &Called) -> Result<()> {
    let block = call.given();
    let range = |pe: usize| pe * block..(pe + 1) * block;
    let to = call.dest.part(range(group.me()));
    for pe in pes(group) {
        group.memory.copy(to, group.block(pe), call.source.part(range(pe)), group.here());
    }
    meet(group, call.signature).await
}

/// All-to-all of elements with strides.
async fn alltoalls(group: &Group, call: &Called, strides: [usize; 2], nelems: usize) -> Result<()> {
    let steps = strides.map(|stride| stride * call.size);
    let part = |span: Span, pe: usize, step: usize| {
        let first = pe * nelems * step;
        span.part(first..first + (nelems - 1) * step + call.size)
    };
    for pe in pes(group).filter(|_| nelems > 0) {
        let spans = [part(call.dest, group.me(), steps[0]), part(call.source, pe, steps[1])];
        group.memory.copy_strided(spans, [group.block(pe), group.here()], steps, call.size);
    }
    meet(group, call.signature).await
}

/// All PEs. Each begins with the next one, so that they do not all write to the same.
fn pes(group: &Group) -> impl Iterator<Item = usize> {
    group.others().chain([group.me()])
}

/// The source and the destination of this PE's chunk, `step` bytes at a time.
#[inline(always)]
fn blocks(group: &Group, call: &Called, step: usize) -> impl Iterator<Item = [Span; 2]> {
    let (spans, Range { start, end }) =
        ([call.source, call.dest], chunk(call.source.len(), group.me(), group.n()));
    let block = move |start: usize| start..(start + step).min(end);
    (start..end).step_by(step).map(move |start| spans.map(|span| span.part(block(start))))
}
