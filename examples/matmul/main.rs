//! A dense matrix product, C = A·B, by SUMMA: the PEs are a grid, and each has a block of all three
//! matrices.
//!
//! The inner dimension is cut into panels. For each of them the PEs of a row of the grid need a
//! piece of A, which one of them has and broadcasts, and those of a column a piece of B: `split_2d`
//! makes a team of each row and each column. What a PE then adds to its block of C is the product
//! of the two pieces.
//!
//! While a PE computes with one panel, the next one is under way: two broadcasts and the product in
//! a `join!`. How much that helps is measured, by the same product with one after the other.
//!
//! The result is checked by Freivalds' method: C·x = A·(B·x) for a random vector x takes two
//! products of a matrix and a vector on each side, and holds for a wrong C with a probability of
//! 2⁻¹⁶ at most. All numbers are small integers, so that there is no rounding, and it must hold
//! exactly.
//!
//! ```text
//! oshrun -np 4 target/release/examples/matmul [--size 256] [--panel 64] [--no-check]
//! ```

mod kernel;
mod summa;

use std::{
    error::Error,
    process::ExitCode,
    time::{Duration, Instant},
};

use clap::{Parser, value_parser};
use oxshmem::prelude::*;
use summa::Product;

#[derive(Parser)]
#[command(about = "Multiplies two matrices on a grid of PEs")]
struct Options {
    /// Rows and columns of the matrices
    #[arg(long, default_value_t = 256, value_parser = value_parser!(u32).range(1..))]
    size: u32,

    /// Columns of A, and rows of B, that are broadcast at a time
    #[arg(long, default_value_t = 64, value_parser = value_parser!(u32).range(1..))]
    panel: u32,

    /// Leaves out the check of the result
    #[arg(long)]
    no_check: bool,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let options = Options::parse();
    oxshmem::run(async |world| multiply(world, options).await).await
}

async fn multiply(world: &World, options: Options) -> Result<(), Box<dyn Error>> {
    let (size, n) = (options.size as usize, world.n_pes());
    let mut product = Product::new(world, size, options.panel as usize).await?;
    let (rows, columns) = product.grid();
    // The first time memory is touched for the first time.
    product.compute(true).await?;
    let mut runs = Vec::new();
    for overlap in [false, true] {
        world.barrier_all().await?;
        let begin = Instant::now();
        let computing = product.compute(overlap).await?;
        world.barrier_all().await?;
        let elapsed = begin.elapsed();
        runs.push((elapsed, mean_idle(world, elapsed, computing).await?));
    }
    if world.my_pe() == 0 {
        println!("{size} x {size} on {rows} x {columns} PEs, panels of {}", options.panel);
        for (what, (elapsed, idle)) in
            ["broadcast, then multiply", "broadcast while multiplying"].iter().zip(runs)
        {
            let rate = 2.0 * (size as f64).powi(3) / elapsed.as_secs_f64() / 1e9;
            let idle = 100.0 * idle / elapsed.as_secs_f64();
            println!(
                "{what}: {rate:.2} GFLOP/s, {:.2} on each PE, {idle:.0} % not computing",
                rate / n as f64
            );
        }
    }
    if !options.no_check {
        product.check().await?;
        if world.my_pe() == 0 {
            println!("C·x = A·(B·x), exactly");
        }
    }
    Ok(())
}

/// Seconds that a PE did not compute, on average. Collective.
async fn mean_idle(world: &World, elapsed: Duration, computing: Duration) -> oxshmem::Result<f64> {
    let idle = world.alloc::<f64>(1).await?;
    idle.at(0).store(elapsed.saturating_sub(computing).as_secs_f64());
    world.team().sum_reduce(&idle, &idle).await?;
    Ok(idle.at(0).load() / world.n_pes() as f64)
}
