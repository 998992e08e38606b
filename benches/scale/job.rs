//! One simulated job.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use oxshmem::{ClusterOptions, Error, LocalCluster, Result, World, settings::Settings};
use serde_json::{Value, json};

use crate::{
    formula::{Call, Network, Shape},
    line,
};

/// What a call took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Measured {
    /// From when all PEs began until the last one was done.
    pub(crate) time: Duration,
    /// Messages of the PE that sent most.
    messages: u64,
}

/// What a process has at some moments.
#[derive(Debug, Default)]
struct Moments {
    init_micros: AtomicU64,
    after_init: AtomicU64,
    after_short: AtomicU64,
}

/// Runs all collectives, and prints a line of JSON for each.
pub(crate) fn simulate(network: Network, shape: Shape) -> Result<Vec<Value>> {
    let before = resident();
    let moments = Arc::new(Moments::default());
    // A vector a PE, and three that are on their way from and to leaders, must fit into half of the
    // memory that there is.
    let vectors = shape.pes + 3 * shape.hosts();
    let fits = |call: &Call| 2 * vectors * call.bytes() <= memory("/proc/meminfo", "MemAvailable:") as usize;
    let (calls, others): (Vec<Call>, Vec<Call>) = Call::ALL.into_iter().partition(fits);
    let measured = run(network, shape, &calls, |_| (), Arc::clone(&moments))?;
    let mut lines = Vec::new();
    for (call, measured) in calls.into_iter().zip(measured) {
        let mut line = call.line(network, shape);
        line["simulated"] = json!(measured.time.as_nanos() as f64 / 1e3);
        line["messages"] = json!(measured.messages);
        lines.push(line);
    }
    lines.extend(others.into_iter().map(|call| call.line(network, shape)));
    // Relaxed: the job is over.
    let at = |moment: &AtomicU64| moment.load(Ordering::Relaxed);
    let each = |bytes: u64| bytes.saturating_sub(before) as f64 / shape.pes as f64 / 1024.0;
    lines.push(line(
        network,
        shape,
        json!({
            "init_ms": at(&moments.init_micros) as f64 / 1e3,
            "after_init": each(at(&moments.after_init)),
            "after_short": each(at(&moments.after_short)),
        }),
    ));
    Ok(lines)
}

/// Runs these collectives, with the settings that are asked for.
pub(crate) fn measure(
    network: Network,
    shape: Shape,
    calls: &[Call],
    ask: impl FnOnce(&mut Settings),
) -> Result<Vec<Measured>> {
    run(network, shape, calls, ask, Arc::default())
}

fn run(
    network: Network,
    shape: Shape,
    calls: &[Call],
    ask: impl FnOnce(&mut Settings),
    moments: Arc<Moments>,
) -> Result<Vec<Measured>> {
    let mut options = ClusterOptions::default().hosts(shape.hosts()).link(network.link());
    // Room for the largest: two vectors of 1 MiB, or blocks for all PEs.
    options.settings.symmetric_size = (2 << 20).max(64 * shape.pes) * 2 + (1 << 20);
    ask(&mut options.settings);
    let start = Instant::now();
    let measured = LocalCluster::run_with(shape.pes, options, move |world| {
        let (moments, calls) = (Arc::clone(&moments), calls.to_vec());
        async move {
            if world.my_pe() == 0 {
                // Relaxed: they are read when the job is over.
                moments.init_micros.store(start.elapsed().as_micros() as u64, Ordering::Relaxed);
                moments.after_init.store(resident(), Ordering::Relaxed);
            }
            let mut measured = Vec::new();
            for call in calls {
                measured.push(once(&world, call).await?);
                if world.my_pe() == 0 && call == Call::SHORT {
                    moments.after_short.store(resident(), Ordering::Relaxed);
                }
            }
            world.finalize().await?;
            Ok(measured)
        }
    })?;
    let most = |i: usize| {
        let all = measured.iter().map(|calls| calls[i]);
        all.fold(Measured::default(), |a, b| Measured {
            time: a.time.max(b.time),
            messages: a.messages.max(b.messages),
        })
    };
    Ok((0..calls.len()).map(most).collect())
}

/// What a call takes this PE.
async fn once(world: &World, call: Call) -> Result<Measured> {
    let simulation =
        world.simulation().ok_or_else(|| Error::Unsupported { what: "a simulation on one host".into() })?;
    let blocks = if matches!(call, Call::Alltoall(_)) { world.n_pes() } else { 1 };
    let words = (call.bytes() / size_of::<u64>() * blocks).max(1);
    // Sources that no PE reads take no memory.
    let dest = world.alloc_zeroed::<u64>(words).await?;
    let source = world.alloc_zeroed::<u64>(words).await?;
    let start = simulation.align().await?;
    let before = simulation.sent().messages;
    let team = world.team();
    match call {
        Call::Sync => team.sync().await?,
        Call::Broadcast(_) => team.broadcast(&dest, &source, 0).await?,
        Call::Sum(_) => team.sum_reduce(&dest, &dest).await?,
        Call::Alltoall(_) => team.alltoall(&dest, &source).await?,
    }
    let measured = Measured { time: simulation.now() - start, messages: simulation.sent().messages - before };
    simulation.align().await?;
    Ok(measured)
}

/// Bytes of memory that this process has.
fn resident() -> u64 {
    memory("/proc/self/status", "VmRSS:")
}

/// Bytes by a line of a file of the kernel's.
fn memory(file: &str, name: &str) -> u64 {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(name));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).unwrap_or_default() * 1024
}
