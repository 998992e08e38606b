//! Random updates of a table that is spread over all PEs, as in HPC Challenge's RandomAccess, in
//! giga-updates per second.
//!
//! An update is an `xor` of a random number into a random word of the table, on any PE. Updates are
//! issued without waiting for them, and completed by one `quiet` per batch. They are atomic, so
//! none may be lost, which is checked twice: the exclusive or of the whole table must be that of
//! all updates, and after the same updates again, the table must be as it was. (The random numbers
//! are another sequence than HPCC's, so that any PE can begin anywhere.)
//!
//! ```text
//! oshrun -np 4 target/release/examples/gups [--log2-table 18] [--updates 1048576] [--batch 1024] [--session]
//! ```
//!
//! With `--session` each batch is a session: updates of PEs on other hosts travel together. Try it
//! on hosts that are only simulated: `oshrun -np 4 --fake-hosts 2 ...`.

use std::{
    error::Error,
    process::ExitCode,
    time::{Duration, Instant},
};

use clap::{Parser, value_parser};
use oxshmem::prelude::*;

#[derive(Parser)]
#[command(about = "Random updates of a table that is spread over all PEs")]
struct Options {
    /// Words in the whole table, as a power of two
    #[arg(long, default_value_t = 18, value_parser = value_parser!(u32).range(1..=40))]
    log2_table: u32,

    /// Updates by all PEs together; four for each word of the table if not given
    #[arg(long)]
    updates: Option<u64>,

    /// Updates that a PE issues before it waits for them
    #[arg(long, default_value_t = 1024, value_parser = value_parser!(u64).range(1..))]
    batch: u64,

    /// Let the updates of a batch travel together
    #[arg(long)]
    session: bool,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let options = Options::parse();
    oxshmem::run(async |world| run(world, options).await).await
}

async fn run(world: &World, options: Options) -> Result<(), Box<dyn Error>> {
    let (me, n) = (world.my_pe(), world.n_pes() as u64);
    let size = 1u64 << options.log2_table;
    let updates = options.updates.unwrap_or(4 * size);

    let Options { batch, session, .. } = options;
    let table = Table { words: world.alloc(size.div_ceil(n) as usize).await?, size, session };
    let sums = world.alloc_zeroed::<u64>(2).await?;
    let (of_table, of_updates) = (sums.at(0), sums.at(1));
    table.reset(world);

    // The numbers from here to there are this PE's part of the sequence.
    let share = |pe: u64| (u128::from(updates) * u128::from(pe) / u128::from(n)) as u64;
    let mine = share(me as u64)..share(me as u64 + 1);

    let first = table.update(world, mine.clone(), batch).await?;
    world.context().xor(of_updates, mine.clone().fold(0, |sum, i| sum ^ random(i)), 0).await?;
    world.context().xor(of_table, table.words.view().to_vec().into_iter().fold(0, |a, b| a ^ b), 0).await?;
    world.barrier_all().await?;
    if me == 0 {
        // The table began with its own indices, whose exclusive or goes in as well.
        of_updates.store((0..size).fold(of_updates.load(), |sum, index| sum ^ index));
    }

    let second = table.update(world, mine, batch).await?;
    let mismatches = world.alloc_zeroed::<u64>(1).await?;
    world.context().add(mismatches.at(0), table.mismatches(world), 0).await?;
    world.barrier_all().await?;

    if me == 0 {
        let gups = |elapsed: Duration| updates as f64 / elapsed.as_secs_f64().max(1e-9) / 1e9;
        println!("table of 2^{} words on {n} PEs, {updates} updates, twice", options.log2_table);
        println!("{:.6} GUPS, and {:.6} GUPS with a warm table", gups(first), gups(second));
        let mismatches = mismatches.at(0).load();
        println!("{mismatches} words differ after the same updates again");
        if mismatches != 0 || of_table.load() != of_updates.load() {
            return Err("updates were lost".into());
        }
    }
    Ok(())
}

/// Words with indices from 0 to `size`, of which each PE has a block.
struct Table {
    words: SymSlice<u64>,
    size: u64,
    session: bool,
}

impl Table {
    /// Sets every word of this PE's block to its index; what is behind the table's end, to 0.
    fn reset(&self, world: &World) {
        let indices: Vec<_> =
            self.block(world).map(|index| if index < self.size { index } else { 0 }).collect();
        self.words.view().write(&indices);
    }

    /// How many words of this PE's block are not their index.
    fn mismatches(&self, world: &World) -> u64 {
        let words = self.words.view().to_vec();
        let differs = |&(index, word): &(u64, u64)| word != if index < self.size { index } else { 0 };
        self.block(world).zip(words).filter(differs).count() as u64
    }

    /// Performs the updates of the sequence that are in `mine`, and returns how long all PEs took
    /// for theirs.
    async fn update(
        &self,
        world: &World,
        mine: std::ops::Range<u64>,
        batch: u64,
    ) -> oxshmem::Result<Duration> {
        let ctx = world.context();
        let len = self.words.len() as u64;
        world.barrier_all().await?;
        let begin = Instant::now();
        let mut next = mine.start;
        while next < mine.end {
            let end = next.saturating_add(batch).min(mine.end);
            let hints = SessionOptions::new().batch().total_ops((end - next) as usize);
            let session = self.session.then(|| ctx.session(hints));
            for value in (next..end).map(random) {
                let index = value % self.size;
                // The future may be dropped: the update has begun, and `quiet` reports what becomes
                // of it.
                drop(ctx.xor(self.words.at((index % len) as usize), value, (index / len) as usize));
            }
            drop(session);
            ctx.quiet().await?;
            next = end;
        }
        world.barrier_all().await?;
        Ok(begin.elapsed())
    }

    fn block(&self, world: &World) -> std::ops::Range<u64> {
        let len = self.words.len() as u64;
        world.my_pe() as u64 * len..(world.my_pe() as u64 + 1) * len
    }
}

/// The `i`-th number of a random sequence (SplitMix64).
fn random(i: u64) -> u64 {
    let mut z = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
