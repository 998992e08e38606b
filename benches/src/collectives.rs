//! Collectives, one call after the other, beside the bare copies and additions that they cannot do
//! without.
//!
//! The time of a call is that of a batch of calls without anything in between, from when all PEs
//! have come to when all are done, divided by their number: what a program pays that calls them in
//! a loop. Where PEs need not wait for each other, as in a broadcast, one may be in a later call
//! than another. `peer/collectives.c` has the same loops for other implementations; where these
//! have broadcasts over active sets only, the root's own destination is not written, so it is not
//! here either.

use std::time::Instant;

use oxshmem::{SymSlice, World};
use rustix::thread::{CpuSet, sched_getaffinity};

use crate::{
    Outcome,
    bare::{APART, Shares, one_way, synchronisation},
    latency::NEAR_NS,
    measured::{Op, SIZES},
    report::{Report, Row, median},
};

/// The least that a batch takes, in ns, and the least calls of one.
const BATCH_NS: f64 = 2e6;
const BATCH_CALLS: usize = 8;
/// Fewer samples than this with the cores near, or far, are no figure.
const FEW: usize = 3;

/// Which of them to measure; what is empty means all.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    pub(crate) ops: Vec<String>,
    pub(crate) sizes: Vec<usize>,
}

impl Selection {
    /// `OP,…` or nothing, with `BYTES,…` or nothing.
    pub(crate) fn parse(ops: &str, sizes: &[usize]) -> Outcome<Self> {
        let ops: Vec<String> = ops.split(',').filter(|op| !op.is_empty()).map(str::to_owned).collect();
        let names: Vec<_> = Op::ALL.iter().map(|(_, name)| *name).collect();
        match ops.iter().find(|op| !names.contains(&op.as_str())) {
            Some(op) => Err(format!("there is no collective {op}; there are {}", names.join(", ")).into()),
            None => Ok(Self { ops, sizes: sizes.to_vec() }),
        }
    }
}

/// What the collectives work on.
struct Buffers {
    dest: SymSlice<f64>,
    source: SymSlice<f64>,
    /// Flags of the bare exchanges and synchronisations, and how many calls PE 0 wants in a batch.
    words: SymSlice<u64>,
    agreed: SymSlice<u64>,
    /// Whether all PEs can load and store each other's: without, there is no bound.
    one_host: bool,
}

/// Measures the collectives with as many PEs as there are.
pub(crate) async fn collectives(world: &World, report: &mut Report, selection: &Selection) -> Outcome {
    let n = world.n_pes();
    let largest = *selection.sizes.iter().max().unwrap_or(&SIZES[SIZES.len() - 1]);
    let elements = n * largest.div_ceil(8);
    let buffers = Buffers {
        dest: world.alloc_zeroed(elements).await?,
        // Blocks of `alltoalls` have gaps in the source.
        source: world.alloc_zeroed(2 * elements).await?,
        words: world.alloc_zeroed((n * APART).max(64)).await?,
        agreed: world.alloc_zeroed(1).await?,
        one_host: world.team_shared().n_pes() == n,
    };
    buffers.source.view().fill(1.0);
    let mut flags = 0;
    let cores = cores(world).await?;
    for (op, name) in Op::ALL {
        if !selection.ops.is_empty() && !selection.ops.iter().any(|wanted| wanted == name) {
            continue;
        }
        let chosen = selection.sizes.as_slice();
        for &bytes in if op.sizes() == [0] || chosen.is_empty() { op.sizes() } else { chosen } {
            measure(world, report, &buffers, cores, &mut flags, (op, name), bytes).await?;
        }
    }
    Ok(())
}

async fn measure(
    world: &World,
    report: &mut Report,
    buffers: &Buffers,
    cores: usize,
    flags: &mut u64,
    (op, name): (Op, &str),
    bytes: usize,
) -> Outcome {
    let (me, n) = (world.my_pe(), world.n_pes());
    let elements = bytes / 8;
    let shares =
        buffers.one_host.then(|| Shares::new(op, world, cores, [&buffers.dest, &buffers.source], elements));

    let mut calls = BATCH_CALLS;
    batch(world, buffers, op, elements, calls).await?;
    for _ in 0..2 {
        let each = batch(world, buffers, op, elements, calls).await?;
        calls = agree(world, buffers, ((BATCH_NS / each) as usize).clamp(BATCH_CALLS, 100_000)).await?;
    }

    // Near, far, and anything where there are more cores than two, or PEs than cores.
    let mut samples = [(); 3].map(|()| (Vec::new(), Vec::new()));
    for _ in 0..report.rounds {
        let mut probe = || match n {
            _ if !buffers.one_host => f64::NAN,
            2 => one_way(&buffers.words, me, flags),
            _ if bytes == 0 && n > cores => synchronisation(&buffers.words, me, n, flags),
            _ => f64::NAN,
        };
        world.barrier_all().await?;
        let before = probe();
        let value = batch(world, buffers, op, elements, calls).await?;
        let bare = shares.as_ref().map_or(f64::NAN, |shares| shares.time(calls.div_ceil(4)));
        world.barrier_all().await?;
        let after = probe();
        let side = match (before < NEAR_NS, after < NEAR_NS) {
            _ if n != 2 || !buffers.one_host => 2,
            (true, true) => 0,
            (false, false) => 1,
            // The cores have moved in between.
            _ => continue,
        };
        let bound = if bytes == 0 { (before + after) / 2.0 } else { bare };
        samples[side].0.push(value);
        samples[side].1.push(bound);
    }
    for (placement, (values, bounds)) in ["near", "far", ""].into_iter().zip(&mut samples) {
        if me == 0 && values.len() >= FEW {
            let (value, reference) = (median(values), median(bounds));
            report.push(Row { name: name.into(), bytes, pes: n, value, unit: "ns", reference, placement });
        }
    }
    Ok(())
}

/// How many PEs can run at the same time.
async fn cores(world: &World) -> Outcome<usize> {
    let cpus = world.alloc_zeroed::<u64>(CpuSet::MAX_CPU.div_ceil(64)).await?;
    let own = sched_getaffinity(None)?;
    let mut words = vec![0; cpus.len()];
    (0..CpuSet::MAX_CPU).filter(|&cpu| own.is_set(cpu)).for_each(|cpu| words[cpu / 64] |= 1 << (cpu % 64));
    cpus.view().write(&words);
    world.team().or_reduce(&cpus, &cpus).await?;
    let count: u32 = cpus.view().to_vec().iter().map(|word| word.count_ones()).sum();
    Ok((count as usize).clamp(1, world.n_pes()))
}

/// What PE 0 wants, on all PEs.
async fn agree(world: &World, buffers: &Buffers, wanted: usize) -> Outcome<usize> {
    if world.my_pe() == 0 {
        for pe in 0..world.n_pes() {
            world.context().p(buffers.agreed.at(0), wanted as u64, pe).await?;
        }
    }
    world.barrier_all().await?;
    Ok(buffers.agreed.at(0).load() as usize)
}

/// The time of one call, in ns, in a batch of `calls`.
async fn batch(world: &World, buffers: &Buffers, op: Op, elements: usize, calls: usize) -> Outcome<f64> {
    let (team, n) = (world.team(), world.n_pes());
    let (dest, source) = (buffers.dest.slice(..elements), buffers.source.slice(..elements));
    let (all_dest, all_source) = (buffers.dest.slice(..n * elements), buffers.source.slice(..n * elements));
    let gaps = buffers.source.slice(..2 * n * elements);
    macro_rules! repeat {
        (|$i:pat_param| $call:expr) => {
            for $i in 0..calls {
                $call.await?;
            }
        };
    }
    world.barrier_all().await?;
    let start = Instant::now();
    match op {
        Op::Barrier => repeat!(|_| world.barrier_all()),
        Op::Sync => repeat!(|_| world.sync_all()),
        Op::Sum => repeat!(|_| team.sum_reduce(dest, source)),
        Op::Inscan => repeat!(|_| team.sum_inscan(dest, source)),
        Op::Broadcast => repeat!(|_| team.broadcast_to_others(dest, source, 0)),
        Op::BroadcastRotating => repeat!(|i| team.broadcast_to_others(dest, source, i % n)),
        Op::Collect => repeat!(|_| team.collect(all_dest, source)),
        Op::Fcollect => repeat!(|_| team.fcollect(all_dest, source)),
        Op::Alltoall => repeat!(|_| team.alltoall(all_dest, all_source)),
        Op::Alltoalls => repeat!(|_| team.alltoalls(all_dest, gaps, 1, 2, elements)),
    }
    world.barrier_all().await?;
    Ok(start.elapsed().as_nanos() as f64 / calls as f64)
}
