//! Counts the words of files in one hash table that is spread over the symmetric memory of all PEs.
//!
//! Every PE reads its share of the bytes, whatever the number of files, and counts it in a hash map
//! of its own. Then it adds each word's count where the table keeps it, which is on any PE, in a
//! session, so that what goes to another host goes together: `table.rs` says how that is correct
//! without a lock. At the end PE 0 counts the same files by itself, with the same hash map, and
//! the two results must be equal.
//!
//! ```text
//! oshrun -np 4 wordcount [--slots N] [--top N] [--times N] [FILES OR FOLDERS...]
//! ```
//!
//! Without files it counts the text files of this repository, or of the current folder.

mod input;
mod table;

use std::{
    collections::HashMap,
    error::Error,
    path::PathBuf,
    process::ExitCode,
    time::{Duration, Instant},
};

use clap::Parser;
use input::Plan;
use oxshmem::prelude::*;
use table::WordTable;

/// Different words that a PE counts by itself before it adds them to the table, so that its hash
/// map stays small whatever there is to count.
const WORDS_AT_ONCE: usize = 1 << 18;

#[derive(Parser)]
#[command(about = "Counts words in a hash table that is spread over all PEs")]
struct Options {
    /// Text files, and folders whose *.rs, *.md, *.toml and *.txt files are counted
    files: Vec<PathBuf>,

    /// Places for different words in the whole table. By default they follow from the size of the
    /// files
    #[arg(long)]
    slots: Option<usize>,

    /// How many of the most frequent words are printed
    #[arg(long, default_value_t = 10)]
    top: usize,

    /// How often the files are counted, for measurements
    #[arg(long, default_value_t = 1)]
    times: usize,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let options = Options::parse();
    oxshmem::run(async |world| run(world, options).await).await
}

async fn run(world: &World, options: Options) -> Result<(), Box<dyn Error>> {
    let (me, n) = (world.my_pe(), world.n_pes());

    // PE 0 looks which files there are, so that all PEs divide the same list.
    let plan = if me == 0 { Some(Plan::of(&options.files)?.encode()) } else { None };
    let plan = Plan::decode(&world.broadcast_bytes(plan, 0).await?)?;

    // About one word in sixteen bytes is new in small files, far fewer in large ones.
    let slots = options.slots.unwrap_or_else(|| (plan.bytes() / 16).clamp(1 << 14, 1 << 22) as usize);
    let table = WordTable::new(world, slots).await?;
    let totals = world.alloc_zeroed::<u64>(3).await?;

    world.barrier_all().await?;
    let begin = Instant::now();
    let (mut words, mut counted) = (0, HashMap::new());
    plan.each_block(me, n, options.times, async |text| {
        words += count(text, &mut counted);
        if counted.len() >= WORDS_AT_ONCE {
            table.add_all(std::mem::take(&mut counted)).await?;
        }
        Ok(())
    })
    .await?;
    table.add_all(counted).await?;
    let (operations, remote) = table.operations();
    for (total, value) in [words, operations, remote].into_iter().enumerate() {
        world.context().add(totals.at(total), value, 0).await?;
    }
    world.barrier_all().await?;
    let elapsed = begin.elapsed();

    if me == 0 {
        report(&plan, &table, &totals, &options, n, elapsed).await?;
    }
    // The others keep their parts of the table until PE 0 has read them.
    world.barrier_all().await?;
    Ok(())
}

/// Prints the result on PE 0, and compares it with a sequential count.
async fn report(
    plan: &Plan,
    table: &WordTable,
    totals: &SymSlice<u64>,
    options: &Options,
    n: usize,
    elapsed: Duration,
) -> Result<(), Box<dyn Error>> {
    let counts = table.collect().await?;
    let begin = Instant::now();
    let mut sequential = HashMap::new();
    plan.each_block(0, 1, options.times, async |text| {
        count(text, &mut sequential);
        Ok(())
    })
    .await?;
    let alone = begin.elapsed();

    let [words, operations, remote] = [0, 1, 2].map(|total| totals.at(total).load());
    println!("{} files, {} bytes, {words} words, {} different", plan.files(), plan.bytes(), counts.len());
    let mut top: Vec<_> = counts.iter().collect();
    top.sort_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
    for (word, count) in top.into_iter().take(options.top) {
        println!("{count:>10}  {word:.60}");
    }
    println!(
        "{n} PEs: {:.3} s, {} words/s; one PE by itself: {} words/s; {:.2} times as fast",
        elapsed.as_secs_f64(),
        rate(words, elapsed),
        rate(words, alone),
        alone.as_secs_f64() / elapsed.as_secs_f64(),
    );
    println!("{operations} operations on symmetric memory, {remote} of them on other PEs");

    let wrong = difference(&counts, &sequential);
    if words != sequential.values().sum() || wrong.is_some() {
        let wrong = wrong.unwrap_or_else(|| "the totals".into());
        return Err(format!("the table differs from the sequential count: {wrong}").into());
    }
    println!("equal to the sequential count");
    Ok(())
}

/// Counts the words of `text` in a hash map of this PE alone. Returns how many they are.
fn count(text: &str, counts: &mut HashMap<String, u64>) -> u64 {
    let mut words = 0;
    for word in input::words(text) {
        words += 1;
        match counts.get_mut(word) {
            Some(count) => *count += 1,
            None => _ = counts.insert(word.to_owned(), 1),
        }
    }
    words
}

/// The first word, in their order, whose counts differ.
fn difference(table: &HashMap<String, u64>, sequential: &HashMap<String, u64>) -> Option<String> {
    let differing =
        table.keys().chain(sequential.keys()).filter(|&word| table.get(word) != sequential.get(word));
    let word = differing.min()?;
    let count = |counts: &HashMap<String, u64>| counts.get(word).copied().unwrap_or(0);
    Some(format!("{word:?} is counted {} times, not {}", count(table), count(sequential)))
}

fn rate(count: u64, elapsed: Duration) -> String {
    let rate = count as f64 / elapsed.as_secs_f64().max(1e-9);
    match rate {
        1e6.. => format!("{:.2} M", rate / 1e6),
        1e3.. => format!("{:.1} k", rate / 1e3),
        _ => format!("{rate:.0}"),
    }
}
