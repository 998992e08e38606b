//! What a thing costs when there are ten and a hundred times as many: `--growth`.
//!
//! Each row makes and uses some things of a kind, then ten and a hundred times as many, and shows
//! what one of them took. A row whose things cost more in the end than n log n in all allows
//! is marked.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    task::Poll,
    time::Instant,
};

use futures::{
    StreamExt,
    future::{join_all, poll_fn, try_join},
    stream::FuturesUnordered,
};
use oxshmem::{LocalCluster, Lock, SessionOptions, SymSlice, World, prelude::*, settings::Settings};

use crate::Outcome;

/// One kind of thing, and what one of each count took, in ns.
#[derive(Debug)]
struct GrowthRow {
    name: &'static str,
    counts: [usize; 3],
    each: [f64; 3],
}

/// The rows so far.
struct Table<'a> {
    world: &'a World,
    rows: Vec<GrowthRow>,
    rounds: usize,
    /// How much more than n log n is noise: caches hold a hundred of most things and not ten
    /// thousand.
    slack: f64,
}

impl Table<'_> {
    /// Adds the row of what `measure` returns, the least of several times. All PEs measure.
    async fn row(
        &mut self,
        name: &'static str,
        counts: [usize; 3],
        mut measure: impl AsyncFnMut(usize) -> Outcome<f64>,
    ) -> Outcome {
        let mut each = [f64::INFINITY; 3];
        for _ in 0..=self.rounds {
            for (least, count) in each.iter_mut().zip(counts) {
                self.world.barrier_all().await?;
                *least = least.min(measure(count).await?);
            }
        }
        self.rows.push(GrowthRow { name, counts, each });
        Ok(())
    }

    /// Whether all rows are within n log n.
    fn print(&self) -> bool {
        println!("{:<44} {:>31}  {:>27}  ratio", "", "how many", "ns each");
        let mut good = true;
        for GrowthRow { name, counts, each } in &self.rows {
            let allowed = self.slack * (counts[2] as f64).ln() / (counts[0] as f64).ln().max(1.0);
            let ratio = each[2] / each[0];
            let mark = if ratio > allowed { "  grows faster than n log n" } else { "" };
            let [few, some, many] = counts;
            let [a, b, c] = each;
            println!(
                "{name:<44} {few:>9}, {some:>9}, {many:>9}  {a:>8.1} {b:>9.1} {c:>9.1}  {ratio:.2}{mark}"
            );
            good &= ratio <= allowed;
        }
        good
    }
}

/// Everything of which a program may have many, with as many PEs as there are. Returns whether all
/// of it stays within n log n.
pub(crate) async fn growth(world: &World, quick: bool) -> Outcome<bool> {
    let (rounds, slack, most) = if quick { (1, 6.0, 10_000) } else { (4, 2.0, 100_000) };
    let counts = [most / 100, most / 10, most];
    let mut table = Table { world, rows: Vec::new(), rounds, slack };
    for (name, order) in [
        ("blocks, freed as they were made", Order::Forward),
        ("blocks, the last one freed first", Order::Backward),
        ("blocks, every other one freed first", Order::EveryOther),
        ("blocks, freed in a random order", Order::Random),
    ] {
        table.row(name, counts, async |n| blocks(world, n, order).await).await?;
    }
    table.row("blocks, dropped and made again", counts, async |n| dropped(world, n).await).await?;
    table.row("teams, split off and destroyed", [5, 50, 500], async |n| teams(world, n).await).await?;
    table.row("contexts, with a put on each", counts, async |n| contexts(world, n).await).await?;
    table
        .row("sessions at a time, with an update in each", counts, async |n| sessions(world, n).await)
        .await?;
    let words = world.alloc_zeroed::<u64>(most + 1).await?;
    table.row("operations of a session", counts, async |n| session(world, &words, n).await).await?;
    table.row("puts under way", counts, async |n| puts(world, &words, n).await).await?;
    table.row("fetches under way, a future each", counts, async |n| fetches(world, &words, n).await).await?;
    table.row("words of a slice that is watched", counts, async |n| watched(world, &words, n).await).await?;
    if world.n_pes() > 1 {
        table.row("tasks that wait, a wake and its answer", counts, async |n| waits(world, n).await).await?;
    }
    table.row("locks that are held", counts, async |n| locks(world, &words, n).await).await?;
    table.row("partitions, a block and a put in each", [1, 3, 7], async |n| partitions(n).await).await?;
    if let Some(oshrun) = beside("oshrun") {
        let recorded = [most / 25, most / 5 * 2, most * 4];
        let folder = std::env::temp_dir().join(format!("shmem-perf-growth-{}", std::process::id()));
        let each = async |n, read| recorded_operations(world, &folder, &oshrun, n, read).await;
        let wrote = table.row("operations that are recorded", recorded, async |n| each(n, false).await).await;
        let read =
            table.row("records, put together by oshrun", recorded, async |n| each(n, true).await).await;
        let _ = std::fs::remove_dir_all(&folder);
        wrote.and(read)?;
    }
    Ok(world.my_pe() != 0 || table.print())
}

/// In which order blocks are freed.
#[derive(Clone, Copy)]
enum Order {
    Forward,
    Backward,
    EveryOther,
    Random,
}

async fn blocks(world: &World, n: usize, order: Order) -> Outcome<f64> {
    let start = Instant::now();
    let mut made = Vec::with_capacity(n);
    for _ in 0..n {
        made.push(Some(world.alloc::<u64>(8).await?));
    }
    let places: Vec<usize> = match order {
        Order::Forward => (0..n).collect(),
        Order::Backward => (0..n).rev().collect(),
        Order::EveryOther => (0..n).step_by(2).chain((1..n).step_by(2)).collect(),
        Order::Random => shuffled(n),
    };
    for place in places {
        if let Some(block) = made[place].take() {
            world.free(block).await?;
        }
    }
    Ok(ns_each(start, n))
}

/// The numbers below `n` in an order that is the same on all PEs.
fn shuffled(n: usize) -> Vec<usize> {
    let mut all: Vec<usize> = (0..n).collect();
    let mut state = 1_u64;
    for i in (1..n).rev() {
        // Knuth's generator: any order will do that is none of the others.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        all.swap(i, (state >> 33) as usize % (i + 1));
    }
    all
}

/// What one PE has dropped is freed by the allocations to come.
async fn dropped(world: &World, n: usize) -> Outcome<f64> {
    let mut made = Vec::with_capacity(n);
    for _ in 0..n {
        made.push(world.alloc::<u64>(8).await?);
    }
    let start = Instant::now();
    for block in &mut made {
        *block = world.alloc::<u64>(8).await?;
    }
    let each = ns_each(start, n);
    drop(made);
    world.reclaim().await?;
    Ok(each)
}

async fn teams(world: &World, n: usize) -> Outcome<f64> {
    let start = Instant::now();
    let mut teams = Vec::with_capacity(n);
    for _ in 0..n {
        teams.extend(world.team().split_strided(0, 1, world.n_pes()).await?);
    }
    for team in &teams {
        team.destroy().await?;
    }
    Ok(ns_each(start, n))
}

async fn contexts(world: &World, n: usize) -> Outcome<f64> {
    let word = world.alloc_zeroed::<u64>(1).await?;
    let start = Instant::now();
    let contexts = (0..n).map(|_| world.create_context(ContextOptions::new()));
    let contexts = contexts.collect::<oxshmem::Result<Vec<_>>>()?;
    for context in &contexts {
        context.p(word.at(0), 1, next(world)).await?;
    }
    // With all of them open.
    world.barrier_all().await?;
    for context in contexts {
        context.destroy().await?;
    }
    Ok(ns_each(start, n))
}

async fn sessions(world: &World, n: usize) -> Outcome<f64> {
    let word = world.alloc_zeroed::<u64>(1).await?;
    let contexts = (0..n).map(|_| world.create_context(ContextOptions::new()));
    let contexts = contexts.collect::<oxshmem::Result<Vec<_>>>()?;
    let start = Instant::now();
    for context in &contexts {
        context.session_start(SessionOptions::new().batch());
        context.add(word.at(0), 1, next(world)).await?;
    }
    for context in &contexts {
        context.session_stop();
        context.quiet().await?;
    }
    Ok(ns_each(start, n))
}

async fn session(world: &World, words: &SymSlice<u64>, n: usize) -> Outcome<f64> {
    let start = Instant::now();
    let session = world.context().session(SessionOptions::new().batch().total_ops(n));
    for i in 0..n {
        session.add(words.at(i), 1, next(world)).await?;
    }
    session.finish().await?;
    Ok(ns_each(start, n))
}

async fn puts(world: &World, words: &SymSlice<u64>, n: usize) -> Outcome<f64> {
    let source = [1_u64];
    let start = Instant::now();
    for i in 0..n {
        // It is complete with what `quiet` waits for.
        drop(world.context().put_nbi(words.at(i), &source[..], next(world)));
    }
    world.context().quiet().await?;
    Ok(ns_each(start, n))
}

async fn fetches(world: &World, words: &SymSlice<u64>, n: usize) -> Outcome<f64> {
    let start = Instant::now();
    let fetched = join_all((0..n).map(|i| world.context().fetch_add(words.at(i), 1, next(world)))).await;
    fetched.into_iter().collect::<oxshmem::Result<Vec<_>>>()?;
    Ok(ns_each(start, n))
}

/// The last word of many is set, and a task that waits for any of them sees it.
async fn watched(world: &World, words: &SymSlice<u64>, n: usize) -> Outcome<f64> {
    let (me, n_pes) = (world.my_pe(), world.n_pes());
    words.view().fill(0);
    world.barrier_all().await?;
    let start = Instant::now();
    if me == n_pes - 1 {
        world.context().p(words.at(n - 1), 1, 0).await?;
    }
    if me == 0 {
        words.slice(..n).wait_until_any(Cmp::Eq, 1).await?;
    }
    world.barrier_all().await?;
    Ok(ns_each(start, n))
}

/// Tasks wait for a word each; random ones are woken, one after the other, and answer.
async fn waits(world: &World, n: usize) -> Outcome<f64> {
    const WAKES: usize = 2000;
    let words = world.alloc_zeroed::<u64>(n).await?;
    let answers = world.alloc_zeroed::<u64>(1).await?;
    let places: Vec<usize> = shuffled(n).into_iter().cycle().take(WAKES).collect();
    world.barrier_all().await?;
    let mut each = f64::NAN;
    if world.my_pe() == 1 {
        let (words, answers) = (&words, &answers);
        let task = async |place: usize| {
            let mut seen = 0;
            loop {
                seen = words.at(place).wait_until(Cmp::Gt, seen).await?;
                if seen == u64::MAX {
                    return Ok::<_, oxshmem::Error>(());
                }
                world.context().p(answers.at(0), seen, 0).await?;
            }
        };
        let mut tasks: FuturesUnordered<_> = (0..n).map(task).collect();
        // Each begins to wait.
        let _pending = poll_fn(|context| Poll::Ready(tasks.poll_next_unpin(context))).await;
        world.context().p(answers.at(0), 1, 0).await?;
        while let Some(ended) = tasks.next().await {
            ended?;
        }
    } else if world.my_pe() == 0 {
        let wake = async |place: usize, round: usize| {
            world.context().p(words.at(place), round as u64, 1).await?;
            answers.at(0).wait_until(Cmp::Ge, round as u64).await
        };
        answers.at(0).wait_until(Cmp::Eq, 1).await?;
        let start = Instant::now();
        for (round, &place) in places.iter().enumerate() {
            wake(place, round + 2).await?;
        }
        each = ns_each(start, WAKES);
        for place in 0..n {
            world.context().p(words.at(place), u64::MAX, 1).await?;
        }
    }
    world.barrier_all().await?;
    Ok(each)
}

async fn locks(world: &World, words: &SymSlice<u64>, n: usize) -> Outcome<f64> {
    words.view().fill(0);
    world.barrier_all().await?;
    let start = Instant::now();
    // Each PE has its own ones.
    let mine = (0..n).filter(|place| place % world.n_pes() == world.my_pe());
    let locks = mine.map(|place| Lock::new(world.context(), words.at(place)));
    let locks = locks.collect::<oxshmem::Result<Vec<_>>>()?;
    let mut guards = Vec::with_capacity(locks.len());
    for lock in &locks {
        guards.push(lock.lock().await?);
    }
    for guard in guards {
        guard.unlock().await?;
    }
    Ok(ns_each(start, locks.len()))
}

/// In a cluster of two, as a job's partitions are there from its start.
async fn partitions(n: usize) -> Outcome<f64> {
    const ROUNDS: usize = 1000;
    let mut settings = Settings::default();
    for id in 1..=n {
        settings.add_partition(id, "size=1M".parse()?)?;
    }
    let use_all = async |world: &World| -> oxshmem::Result<f64> {
        world.barrier_all().await?;
        let start = Instant::now();
        for _ in 0..ROUNDS {
            for id in 1..=n {
                let block = world.partition(id)?.alloc::<u64>(8).await?;
                world.context().p(block.at(0), 1, next(world)).await?;
                world.free(block).await?;
            }
        }
        let each = ns_each(start, ROUNDS * n);
        world.finalize().await?;
        Ok(each)
    };
    in_cluster(settings, use_all).await
}

/// What `program` returns on the first of two PEs in this process.
async fn in_cluster<T>(
    settings: Settings,
    program: impl AsyncFn(&World) -> oxshmem::Result<T>,
) -> Outcome<T> {
    let worlds = LocalCluster::start(2, settings).await?;
    let [first, second] = &worlds[..] else { return Err("a cluster of two has two PEs".into()) };
    Ok(try_join(program(first), program(second)).await?.0)
}

/// What it takes to record an operation, or to read its record.
async fn recorded_operations(
    world: &World,
    folder: &Path,
    oshrun: &Path,
    n: usize,
    read: bool,
) -> Outcome<f64> {
    if world.my_pe() != 0 {
        return Ok(f64::NAN);
    }
    let _ = std::fs::remove_dir_all(folder);
    let mut settings = Settings::default();
    settings.trace = Some(folder.to_owned());
    let put = async |world: &World| {
        let word = world.alloc_zeroed::<u64>(1).await?;
        let start = Instant::now();
        for _ in 0..n {
            world.context().p(word.at(0), 1, next(world)).await?;
        }
        let each = ns_each(start, n);
        world.finalize().await?;
        Ok(each)
    };
    let written = in_cluster(settings, put).await?;
    if !read {
        return Ok(written);
    }
    let start = Instant::now();
    let mut command = Command::new(oshrun);
    let status = command.arg("--trace-report").arg(folder).stderr(Stdio::null()).status()?;
    match status.success() {
        true => Ok(ns_each(start, n)),
        false => Err(format!("{command:?} ended with {status}").into()),
    }
}

fn next(world: &World) -> usize {
    (world.my_pe() + 1) % world.n_pes()
}

fn ns_each(start: Instant, n: usize) -> f64 {
    start.elapsed().as_nanos() as f64 / n.max(1) as f64
}

/// A program in the folder of this one.
fn beside(name: &str) -> Option<PathBuf> {
    let path = std::env::current_exe().ok()?.with_file_name(name);
    path.exists().then_some(path)
}
