//! Cholesky's factorisation of a matrix, A = L·Lᵀ, as a graph of tasks.
//!
//! L is computed in tiles. Each tile of a PE is a future: it awaits the tiles that it needs,
//! computes, and puts what comes out, with a signal, to the PEs that need it. There are no
//! barriers: a PE computes whatever it has all of, while the rest is under way. What that gains is
//! measured, by the same computation in steps that end with a barrier.
//!
//! The result is compared with a plain factorisation.
//!
//! With `--simulate N`, and without `oshrun`, N PEs are threads of this process on two hosts, whose
//! link has the given latency and bandwidth; by default that of Gigabit Ethernet.
//!
//! ```text
//! oshrun -np 4 target/release/examples/cholesky [--size 256] [--tile 32] [--no-check]
//! target/release/examples/cholesky --simulate 2 --size 2048 --tile 64
//! ```

mod graph;
#[path = "../matmul/kernel.rs"]
mod kernel;
mod tile;
mod turns;

use std::{
    error::Error,
    process::ExitCode,
    time::{Duration, Instant},
};

use clap::{Parser, value_parser};
use graph::Factorisation;
use oxshmem::{ClusterOptions, Link, prelude::*};

#[derive(Clone, Parser)]
#[command(about = "Factorises a matrix as a graph of tasks, and in steps")]
struct Options {
    /// Rows and columns of the matrix
    #[arg(long, default_value_t = 256, value_parser = value_parser!(u32).range(1..=1 << 16))]
    size: u32,

    /// Rows and columns of a tile
    #[arg(long, default_value_t = 32, value_parser = value_parser!(u32).range(1..=1 << 10))]
    tile: u32,

    /// Times that each of the two ways is measured
    #[arg(long, default_value_t = 3, value_parser = value_parser!(u32).range(1..))]
    rounds: u32,

    /// Leaves out the comparison with a plain factorisation
    #[arg(long)]
    no_check: bool,

    /// Runs this many PEs in this process, on two hosts with a slow link
    #[arg(long, value_name = "PES", value_parser = value_parser!(u16).range(2..))]
    simulate: Option<u16>,

    /// Latency of the simulated link in microseconds
    #[arg(long, default_value_t = 100)]
    latency: u64,

    /// Bandwidth of the simulated link in megabytes a second
    #[arg(long, default_value_t = 125)]
    bandwidth: u64,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let outcome = match options.simulate {
        Some(pes) => simulate(pes.into(), options),
        None => match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => {
                return runtime.block_on(oxshmem::run(async |world| factorise(world, &options).await));
            }
            Err(error) => Err(error.into()),
        },
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cholesky: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the PEs in this process.
fn simulate(pes: usize, options: Options) -> Result<(), Box<dyn Error + Send + Sync>> {
    let link = Link {
        latency: Duration::from_micros(options.latency),
        bandwidth: options.bandwidth * 1_000_000,
        ..Link::default()
    };
    let mut cluster = ClusterOptions::default().hosts(2).link(link);
    let tile = options.tile as usize;
    let room = graph::tiles_of(options.size as usize, tile) * tile * tile * size_of::<f64>();
    cluster.settings.symmetric_size += room;
    println!("two hosts, {} µs and {} MB/s apart", options.latency, options.bandwidth);
    let outcomes = LocalCluster::run_with(pes, cluster, move |world| {
        let options = options.clone();
        async move {
            let outcome = factorise(&world, &options).await.map_err(|error| error.to_string());
            world.finalize().await?;
            Ok(outcome)
        }
    })?;
    outcomes.into_iter().collect::<Result<(), String>>().map_err(Into::into)
}

async fn factorise(world: &World, options: &Options) -> Result<(), Box<dyn Error + Send + Sync>> {
    let (size, tile) = (options.size as usize, options.tile as usize);
    let mut factorisation = Factorisation::new(world, size, tile).await?;
    // The first time memory is touched for the first time.
    factorisation.in_steps().await?;
    let mut best = [(Duration::MAX, Duration::ZERO); 2];
    for round in 0..2 * options.rounds {
        let as_graph = round % 2 == 1;
        world.barrier_all().await?;
        let begin = Instant::now();
        let computing = match as_graph {
            true => factorisation.as_graph().await?,
            false => factorisation.in_steps().await?,
        };
        let best = &mut best[usize::from(as_graph)];
        *best = (*best).min((begin.elapsed(), computing));
    }
    if world.my_pe() == 0 {
        let (rows, columns) = factorisation.grid();
        println!("{size} x {size} in tiles of {tile} on {rows} x {columns} PEs");
        for (what, (elapsed, computing)) in ["in steps", "as a graph"].iter().zip(best) {
            let rate = (size as f64).powi(3) / 3.0 / elapsed.as_secs_f64() / 1e9;
            let (elapsed, idle) = (elapsed.as_secs_f64(), elapsed.saturating_sub(computing).as_secs_f64());
            let idle = 100.0 * idle / elapsed;
            println!(
                "{what}: {:.2} ms, {rate:.2} GFLOP/s, {idle:.0} % of PE 0's time not computing",
                1e3 * elapsed
            );
        }
        println!("the graph is {:.2} times as fast", best[0].0.as_secs_f64() / best[1].0.as_secs_f64());
        if !options.no_check {
            let error = factorisation.largest_error().await?;
            // The elements of L are at most the root of the matrix's largest.
            let allowed = 1e-13 * (size as f64).sqrt();
            if error > allowed {
                return Err(format!("an element is {error:e} off, more than {allowed:e}").into());
            }
            println!("equal to the plain factorisation, but for {error:.1e}");
        }
    }
    // PE 0 has read the tiles of the others before they go.
    world.barrier_all().await?;
    Ok(())
}
