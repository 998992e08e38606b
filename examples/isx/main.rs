//! Integer sort, as in the benchmark ISx: random keys, spread over all PEs, end up sorted across
//! them.
//!
//! Every PE makes as many keys (so the work grows with the PEs: weak scaling) and owns one of n
//! equal ranges of their values, its *bucket*. A sort has four phases:
//!
//! 1. *group*: a PE brings its keys into the order of the PEs that they go to, and counts them.
//! 2. *offsets*: the PE adds each count to the number of keys in that bucket. What the number was
//!    before is where its keys begin there.
//! 3. *exchange*: the PE writes its keys to each bucket, in one piece.
//! 4. *sort*: each PE sorts its bucket.
//!
//! Buckets and numbers are each an [`Array`](oxshmem::collections::Array) over all PEs. After every
//! sort it is checked that the keys of each bucket are sorted and in its range, and that the keys
//! are still the same: their number, sum and exclusive or. The program marks the phases, so the
//! report of a recording (`oshrun --trace`) has the times of each.
//!
//! ```text
//! oshrun -np 4 target/release/examples/isx [--keys 65536] [--iterations 5] [--seed N]
//! ```

mod keys;
mod sort;

use std::{error::Error, process::ExitCode, time::Duration};

use clap::{Parser, value_parser};
use keys::Generator;
use oxshmem::{collections::Array, prelude::*};
use sort::{PHASES, Sorter};

#[derive(Parser)]
#[command(about = "Sorts random integers that are spread over all PEs")]
struct Options {
    /// Keys of each PE
    #[arg(long, default_value_t = 1 << 16, value_parser = value_parser!(u32).range(1..))]
    keys: u32,

    /// How often other keys are sorted; once more before, which is not counted
    #[arg(long, default_value_t = 5, value_parser = value_parser!(u32).range(1..))]
    iterations: u32,

    /// Where the random numbers begin
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let options = Options::parse();
    oxshmem::run(async |world| run(world, options).await).await
}

async fn run(world: &World, options: Options) -> Result<(), Box<dyn Error>> {
    let (n, keys) = (world.n_pes(), options.keys as usize);
    let mut sorter = Sorter::new(world, keys).await?;
    let mut generator = Generator::new(options.seed, world.my_pe());
    let times = Array::<[f64; PHASES.len() + 1]>::new(world, n).await?;

    // The first sort touches memory for the first time.
    let mut all = vec![Vec::new(); PHASES.len() + 1];
    for iteration in 0..=options.iterations {
        world.phase("make keys");
        let made = generator.keys(keys);
        world.team().sync().await?;
        let phases = sorter.sort(&made).await?;
        world.phase("verify");
        sorter.verify(&made).await?;
        world.phase("");

        // A phase takes as long as it does on the slowest PE.
        let total = phases.iter().sum::<Duration>();
        let seconds: Vec<f64> = phases.iter().chain([&total]).map(Duration::as_secs_f64).collect();
        times.fill_with(|_| std::array::from_fn(|phase| seconds[phase])).await?;
        let slowest = |a: [f64; _], b: [f64; _]| std::array::from_fn(|phase| a[phase].max(b[phase]));
        let slowest = times.reduce([0.0; _], slowest).await?;
        if iteration > 0 {
            all.iter_mut().zip(slowest).for_each(|(all, time)| all.push(time));
        }
    }

    if world.my_pe() == 0 {
        let medians: Vec<f64> = all.into_iter().map(median).collect();
        let total = medians[PHASES.len()];
        println!("{keys} keys on each of {n} PEs, {} sorts; medians of the slowest PE", options.iterations);
        for (name, time) in PHASES.into_iter().zip(&medians) {
            println!("{name:>10} {:>10.3} ms", time * 1e3);
        }
        println!("{:>10} {:>10.3} ms", "all", total * 1e3);
        let (here, everywhere) = (keys as f64 / total / 1e6, (keys * n) as f64 / total / 1e6);
        println!("{everywhere:.2} M keys/s, {here:.2} M keys/s on each PE");
        println!("sorted, and none lost");
    }
    Ok(())
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
