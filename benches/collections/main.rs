//! shmem-collections: what collections cost, beside the same by hand.
//!
//! `oshrun -np 2 --bind-to core target/release/shmem-collections [--only PART,…] [--work N]`
//!
//! Both are measured in turns, and the best of each is printed: other programs slow down the rest.
//! With `--fake-hosts 2` the PEs reach each other over TCP, and need less work.
//!
//! | part | what it is |
//! |---|---|
//! | [`messages`] | a channel beside puts with signals |
//! | [`tables`] | histogram, index gather and random permutation of bale, by an `Array` |
//! | [`words`] | a `Map`, by batches beside single calls |

mod messages;
mod tables;
mod words;

use std::{error::Error, process::ExitCode, time::Instant};

use clap::Parser;
use oxshmem::World;

/// Measures collections on this machine.
#[derive(Parser)]
struct BenchOptions {
    /// Measure only these parts: tables, words, messages.
    #[arg(long, value_name = "PART,…", value_delimiter = ',')]
    only: Vec<String>,
    /// Operations of each PE at a time.
    #[arg(long, default_value_t = 1_000_000)]
    work: usize,
    /// How often each is measured.
    #[arg(long, default_value_t = 7)]
    rounds: usize,
}

/// What a measurement returns.
type BenchResult<T = ()> = Result<T, Box<dyn Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let options = BenchOptions::parse();
    oxshmem::run(async |world| run(world, &options).await).await
}

async fn run(world: &World, options: &BenchOptions) -> BenchResult {
    let is_wanted = |part: &str| options.only.is_empty() || options.only.iter().any(|only| only == part);
    let bench = Bench { world, work: options.work, rounds: options.rounds };
    bench.print(["ns an operation", "collection", "otherwise", "times"]);
    if is_wanted("tables") {
        tables::histogram(&bench).await?;
        tables::gather(&bench).await?;
        tables::permutation(&bench).await?;
    }
    if is_wanted("words") {
        words::words(&bench).await?;
    }
    if is_wanted("messages") {
        messages::ping_pong(&bench).await?;
        messages::stream(&bench).await?;
    }
    Ok(())
}

struct Bench<'a> {
    world: &'a World,
    work: usize,
    rounds: usize,
}

impl Bench<'_> {
    /// Measures two things in turns, and prints what an operation takes at best: the time from
    /// a barrier to the next, by the number of operations of a PE.
    async fn compare(
        &self,
        name: &str,
        mut collection: impl AsyncFnMut() -> BenchResult,
        mut otherwise: impl AsyncFnMut() -> BenchResult,
    ) -> BenchResult {
        let mut best = [f64::INFINITY; 2];
        for _ in 0..self.rounds {
            self.world.barrier_all().await?;
            let begun = Instant::now();
            collection().await?;
            self.world.barrier_all().await?;
            best[0] = best[0].min(begun.elapsed().as_nanos() as f64);
            let begun = Instant::now();
            otherwise().await?;
            self.world.barrier_all().await?;
            best[1] = best[1].min(begun.elapsed().as_nanos() as f64);
        }
        let [collection, otherwise] = best.map(|best| best / self.work as f64);
        let ratio = format!("{:.2}", collection / otherwise);
        self.print([name, &format!("{collection:.1}"), &format!("{otherwise:.1}"), &ratio]);
        Ok(())
    }

    fn print(&self, [name, collection, otherwise, ratio]: [&str; 4]) {
        if self.world.my_pe() == 0 {
            println!("{name:<30} {collection:>12} {otherwise:>12} {ratio:>8}");
        }
    }
}

/// The `i`-th number of a random sequence (SplitMix64).
fn random(i: usize) -> usize {
    let mut z = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ z >> 31) as usize
}
