//! Counts the words of files in one hash map over all PEs.
//!
//! Every PE reads its share of the bytes, whatever the number of files, and counts it in a hash map
//! of its own. Then it adds its counts to a [`Map`], which keeps each word on one of the PEs. Many
//! words are under way at a time, and no PE waits for another. Each PE sends the most frequent
//! words of its part to PE 0 over a [`Channel`]. At the end PE 0 counts the same files by itself,
//! and the map must have the same words with the same counts.
//!
//! ```text
//! oshrun -np 4 target/release/examples/wordcount [--slots N] [--top N] [--times N] [FILES...]
//! ```
//!
//! Without files it counts the text files of this repository, or of the current folder.

mod input;
mod word;

use std::{
    cmp::Reverse,
    collections::HashMap,
    error::Error,
    path::PathBuf,
    process::ExitCode,
    time::{Duration, Instant},
};

use clap::Parser;
use futures::TryStreamExt;
use input::Plan;
use oxshmem::{
    Pod, Zeroable,
    collections::{Channel, Map},
    prelude::*,
};
use word::Word;

/// Different words that a PE counts by itself before it adds them to the map, so that its own hash
/// map stays small whatever there is to count.
const WORDS_AT_ONCE: usize = 1 << 18;
/// Messages that a PE may have on their way to PE 0.
const ON_THEIR_WAY: usize = 256;

#[derive(Parser)]
#[command(about = "Counts words in a hash map over all PEs")]
struct Options {
    /// Text files, and folders whose *.rs, *.md, *.toml and *.txt files are counted
    files: Vec<PathBuf>,

    /// Different words that the map has room for. By default they follow from the size of the files
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
    let table = Map::new(world, slots).await?;

    world.barrier_all().await?;
    let begin = Instant::now();
    let mut counted = HashMap::new();
    plan.each_block(me, n, options.times, async |text| {
        count(text, &mut counted);
        if counted.len() >= WORDS_AT_ONCE {
            add_all(&table, &counted).await?;
            counted.clear();
        }
        Ok(())
    })
    .await?;
    add_all(&table, &counted).await?;
    world.barrier_all().await?;
    let elapsed = begin.elapsed();

    let different = table.len().await?;
    let top = most_frequent(world, &table, options.top).await?;
    if me == 0 {
        println!("{} files, {} bytes, {different} different words", plan.files(), plan.bytes());
        top.iter().for_each(|Entry { word, count }| println!("{count:>10}  {word}"));
        check(&plan, &table, different, options.times, elapsed).await?;
    }
    // The others keep their parts of the map until PE 0 has read them.
    world.barrier_all().await?;
    Ok(())
}

/// Counts the words of `text` in a hash map of this PE alone.
fn count(text: &str, counts: &mut HashMap<String, u64>) {
    for word in input::words(text) {
        match counts.get_mut(word) {
            Some(count) => *count += 1,
            None => _ = counts.insert(word.to_owned(), 1),
        }
    }
}

/// Adds what this PE has counted by itself.
async fn add_all(table: &Map<Word, u64>, counted: &HashMap<String, u64>) -> Result<(), Box<dyn Error>> {
    let counts = counted.iter().map(|(word, &count)| (Word::new(word), count));
    table.add_all(counts).await.map_err(|error| match error {
        oxshmem::Error::CollectionFull { capacity, .. } => {
            format!("{error}: run with --slots {} or more", capacity.saturating_mul(4)).into()
        }
        error => error.into(),
    })
}

/// A word with its count, as a message.
#[derive(Clone, Copy, Pod, Zeroable)]
#[bytemuck(crate = "oxshmem::bytemuck")]
#[repr(C)]
struct Entry {
    word: Word,
    count: u64,
}

/// The `top` most frequent words of all, on PE 0. Collective.
async fn most_frequent(
    world: &World,
    table: &Map<Word, u64>,
    top: usize,
) -> Result<Vec<Entry>, Box<dyn Error>> {
    let best = |mut entries: Vec<Entry>| {
        entries.sort_unstable_by_key(|&Entry { word, count }| (Reverse(count), word));
        entries.truncate(top);
        entries
    };
    let (sender, receiver) = Channel::to(world, 0, ON_THEIR_WAY).await?;
    let mine = best(table.local().map(|(word, count)| Entry { word, count }).collect());
    let send = async move {
        for entry in mine {
            sender.send(entry).await?;
        }
        Ok(())
    };
    let receive = async {
        match receiver {
            Some(receiver) => receiver.try_collect().await,
            None => Ok(Vec::new()),
        }
    };
    let ((), all) = tokio::try_join!(send, receive)?;
    Ok(best(all))
}

/// Compares the map with a sequential count, on PE 0, and prints how long both took.
async fn check(
    plan: &Plan,
    table: &Map<Word, u64>,
    different: usize,
    times: usize,
    elapsed: Duration,
) -> Result<(), Box<dyn Error>> {
    let begin = Instant::now();
    let mut sequential = HashMap::new();
    plan.each_block(0, 1, times, async |text| {
        count(text, &mut sequential);
        Ok(())
    })
    .await?;
    let alone = begin.elapsed();

    let words = sequential.values().sum();
    println!(
        "{} PEs: {:.3} s for {words} words, {} words/s; one PE by itself: {} words/s; {:.2} times as fast",
        table.team().n_pes(),
        elapsed.as_secs_f64(),
        rate(words, elapsed),
        rate(words, alone),
        alone.as_secs_f64() / elapsed.as_secs_f64(),
    );

    let found = table.get_all(sequential.keys().map(|word| Word::new(word))).await?;
    for ((word, &count), found) in sequential.iter().zip(found) {
        if found != Some(count) {
            return Err(format!("{word:?} is counted {} times, not {count}", found.unwrap_or(0)).into());
        }
    }
    if different != sequential.len() {
        return Err(format!("the map has {different} words, not {}", sequential.len()).into());
    }
    println!("equal to the sequential count");
    Ok(())
}

fn rate(count: u64, elapsed: Duration) -> String {
    let rate = count as f64 / elapsed.as_secs_f64().max(1e-9);
    match rate {
        1e6.. => format!("{:.2} M", rate / 1e6),
        1e3.. => format!("{:.1} k", rate / 1e3),
        _ => format!("{rate:.0}"),
    }
}
