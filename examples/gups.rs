//! Random updates of a table that is spread over all PEs, as in HPC Challenge's RandomAccess, in
//! giga-updates per second.
//!
//! An update is an `xor` of a random number into a random word of the table, on any PE. The table
//! is an [`Array`], which issues updates without waiting for each, and completes them batch by
//! batch. They are atomic, so none may be lost, which is checked twice: the exclusive or of the
//! whole table must be that of all updates, and after the same updates again, the table must be as
//! it was. (The random numbers are another sequence than HPCC's, so that any PE can begin
//! anywhere.)
//!
//! ```text
//! oshrun -np 4 target/release/examples/gups [--log2-table 18] [--updates 1048576]
//! ```
//!
//! Updates of PEs on other hosts travel together. Try it on hosts that are only simulated: `oshrun
//! -np 4 --fake-hosts 2 ...`.

use std::{
    error::Error,
    process::ExitCode,
    time::{Duration, Instant},
};

use clap::{Parser, value_parser};
use oxshmem::{collections::Array, prelude::*};

#[derive(Parser)]
#[command(about = "Random updates of a table that is spread over all PEs")]
struct Options {
    /// Words in the whole table, as a power of two
    #[arg(long, default_value_t = 18, value_parser = value_parser!(u32).range(1..=40))]
    log2_table: u32,

    /// Updates by all PEs together; four for each word of the table if not given
    #[arg(long)]
    updates: Option<u64>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let options = Options::parse();
    oxshmem::run(async |world| run(world, options).await).await
}

async fn run(world: &World, options: Options) -> Result<(), Box<dyn Error>> {
    let (me, n) = (world.my_pe() as u64, world.n_pes() as u64);
    let size = 1u64 << options.log2_table;
    let updates = options.updates.unwrap_or(4 * size);
    let table = Array::<u64>::new(world, size as usize).await?;
    table.fill_with(|index| index as u64).await?;

    // The numbers from here to there are this PE's part of the sequence.
    let share = |pe: u64| (u128::from(updates) * u128::from(pe) / u128::from(n)) as u64;
    let mine = share(me)..share(me + 1);
    // What the updates of each PE come to.
    let of_updates = Array::<u64>::new(world, world.n_pes()).await?;
    of_updates.fill_with(|_| mine.clone().fold(0, |sum, i| sum ^ random(i))).await?;

    let xor = |a, b| a ^ b;
    let before = table.reduce(0, xor).await?;
    let first = update(&table, mine.clone()).await?;
    let is_right = table.reduce(0, xor).await? == of_updates.reduce(before, xor).await?;
    let second = update(&table, mine).await?;

    let differs = Array::<u64>::new(world, 1).await?;
    let mut mismatches = 0;
    table.for_each_local(|(index, word)| mismatches += u64::from(word != index as u64));
    differs.add(0, mismatches).await?;
    differs.sync().await?;
    let mismatches = differs.get(0).await?;
    if me == 0 {
        let gups = |elapsed: Duration| updates as f64 / elapsed.as_secs_f64().max(1e-9) / 1e9;
        println!("table of 2^{} words on {n} PEs, {updates} updates, twice", options.log2_table);
        println!("{:.6} GUPS, and {:.6} GUPS with a warm table", gups(first), gups(second));
        println!("{mismatches} words differ after the same updates again");
    }
    if mismatches != 0 || !is_right {
        return Err("updates were lost".into());
    }
    Ok(())
}

/// Performs the updates of the sequence that are in `mine`, and returns how long all PEs took for
/// theirs.
async fn update(table: &Array<u64>, mine: std::ops::Range<u64>) -> oxshmem::Result<Duration> {
    let size = table.len() as u64;
    table.sync().await?;
    let begin = Instant::now();
    table.xor_all(mine.map(random).map(|value| ((value % size) as usize, value))).await?;
    table.sync().await?;
    Ok(begin.elapsed())
}

/// The `i`-th number of a random sequence (SplitMix64).
fn random(i: u64) -> u64 {
    let mut z = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
