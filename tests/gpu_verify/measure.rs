//! How fast operations on device memory are, beside what the driver does with the same bytes.

use std::{
    io::Write,
    time::{Duration, Instant},
};

use oxshmem::{ClusterOptions, LocalCluster, Result, prelude::*, settings::Settings};

use super::common::with_device;

/// Bytes, for people.
fn show(bytes: usize) -> String {
    if bytes < 1 << 20 { format!("{bytes} B") } else { format!("{} MiB", bytes >> 20) }
}

/// The driver by itself, where there is one.
struct Bare {
    #[cfg(feature = "cuda")]
    driver: Option<oxshmem_spaces::device::cuda::Bare>,
}

/// Ends of a copy: addresses on devices, and on the host if it is not the driver's own memory.
#[derive(Clone, Copy)]
enum Ends {
    In(u64),
    From(*mut u8, u64),
    Out(u64),
    Within(u64, u64),
}

impl Bare {
    fn new(emulated: bool, len: usize) -> Result<Self> {
        #[cfg(feature = "cuda")]
        {
            let driver = if emulated { None } else { Some(oxshmem_spaces::device::cuda::Bare::new(len)?) };
            Ok(Self { driver })
        }
        #[cfg(not(feature = "cuda"))]
        {
            let _ = (emulated, len);
            Ok(Self {})
        }
    }

    /// How long some copies take, if there is a driver.
    fn time(&self, ends: Ends, len: usize, times: usize, rounds: usize) -> Result<Option<Duration>> {
        #[cfg(feature = "cuda")]
        if let Some(driver) = &self.driver {
            let mut all = Vec::new();
            for _ in 0..=rounds {
                let begin = Instant::now();
                // SAFETY: the callers' ends have `len` bytes, as the driver's has.
                unsafe {
                    match ends {
                        Ends::In(to) => driver.copy_in(driver.pinned(), to, len, times)?,
                        Ends::From(from, to) => driver.copy_in(from, to, len, times)?,
                        Ends::Out(from) => driver.copy_out(from, driver.pinned(), len, times)?,
                        Ends::Within(from, to) => driver.copy_within(from, to, len, times)?,
                    }
                }
                all.push(begin.elapsed());
            }
            return Ok(Some(median(all)));
        }
        let _ = (ends, len, times, rounds);
        Ok(None)
    }
}

/// That of all but the first.
pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.remove(0);
    times.sort_unstable();
    times[times.len() / 2]
}

fn line(text: &str) {
    println!("{text}");
    let _ = std::io::stdout().flush();
}

/// A row: what took how long, beside what, and what is wanted of the ratio.
pub(crate) fn row(
    what: &str,
    size: usize,
    times: usize,
    ours: Duration,
    bare: Option<Duration>,
    wanted: Option<f64>,
) {
    let each = |time: Duration| {
        let seconds = time.as_secs_f64() / times as f64;
        match size {
            0..1_000_000 => format!("{:.2} us", seconds * 1e6),
            _ => format!("{:.1} us, {:.1} GB/s", seconds * 1e6, size as f64 / seconds / 1e9),
        }
    };
    let ratio = bare.map(|bare| bare.as_secs_f64() / ours.as_secs_f64());
    let verdict = match (ratio, wanted) {
        (Some(ratio), Some(wanted)) if ratio >= wanted => format!("at least {wanted:.2}: met"),
        (Some(_), Some(wanted)) => format!("at least {wanted:.2}: **missed**"),
        _ => String::new(),
    };
    let ratio = ratio.map_or(String::new(), |ratio| format!("{ratio:.2}"));
    let bare = bare.map_or(String::new(), each);
    line(&format!("| {what} | {} | {} | {bare} | {ratio} | {verdict} |", show(size), each(ours)));
}

/// Measures, as a PE or with PEs of its own.
pub(crate) fn run(emulated: bool, quick: bool, cluster: bool) {
    let mut settings: Settings = with_device();
    let (host, device) = if quick { (16 << 20, 32 << 20) } else { (192 << 20, 384 << 20) };
    (settings.symmetric_size, settings.gpu_symmetric_size) = (host, Some(device));
    let body = move |world: World| async move {
        measure(&world, emulated, quick).await?;
        world.finalize().await
    };
    let outcome = if cluster {
        LocalCluster::run_with(2, ClusterOptions { settings, ..ClusterOptions::default() }, body).map(drop)
    } else {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("tokio");
        runtime.block_on(async { body(oxshmem::init_with(settings).await?).await })
    };
    if let Err(error) = outcome {
        eprintln!("the measurements fail: {error}");
        std::process::exit(1);
    }
}

async fn measure(world: &World, emulated: bool, quick: bool) -> Result<()> {
    let first = world.my_pe() == 0;
    let most = if quick { 1 << 20 } else { 64 << 20 };
    let gpu = world.space(SpaceKind::Gpu)?;
    let host = world.alloc_aligned::<u8>(most, 4096).await?;
    let (a, b) = (gpu.alloc_aligned::<u8>(most, 4096).await?, gpu.alloc_aligned::<u8>(most, 4096).await?);
    let words = gpu.alloc_zeroed::<u64>(16).await?;
    for memory in [&host, &a, &b] {
        memory.view().fill(1);
    }
    world.barrier_all().await?;
    let bare = if first { Some(Bare::new(emulated, most)?) } else { None };
    if let Some(bare) = &bare {
        line("| operation | bytes | oxshmem | the driver alone | driver's time by ours | wanted |");
        line("|---|---|---|---|---|---|");
        let sizes: &[usize] = if quick { &[1 << 20] } else { &[1 << 20, 4 << 20, 16 << 20, 64 << 20] };
        copies(world, bare, [&host, &a, &b], sizes).await?;
        words_of(world, bare, &words, quick).await?;
    }
    world.barrier_all().await?;
    answers(world, &words, quick).await?;
    #[cfg(feature = "cuda")]
    if !emulated {
        super::busy::measure(world, &words, [&a, &b]).await?;
    }
    collectives(world, bare.as_ref(), [&a, &b], most / 4).await?;
    reductions(world, bare.as_ref(), [&a, &b], most, quick).await
}

/// The address of this host's PE's instance for the driver.
fn address<T: Element>(world: &World, memory: &SymSlice<T>, pe: usize) -> u64 {
    let place = memory.view().device_place(world.pe(), pe);
    place
        .zip(world.pe().device())
        .and_then(|(place, device)| device.address(world.pe().local_pe(), place))
        .unwrap_or(0)
}

/// Long copies, several of them under way.
async fn copies(world: &World, bare: &Bare, [host, a, b]: [&SymSlice<u8>; 3], sizes: &[usize]) -> Result<()> {
    let ctx = world.context();
    for &len in sizes {
        let (times, rounds) = (((64 << 20) / len).clamp(4, 16), 10);
        let part = |memory: &SymSlice<u8>| memory.slice(..len).to_owned();
        for pe in [0, 1] {
            let to = if pe == 0 { "own device memory" } else { "that of another PE" };
            for kind in 0..3 {
                let mut ours = Vec::new();
                for _ in 0..=rounds {
                    let begin = Instant::now();
                    for _ in 0..times {
                        match kind {
                            0 => drop(ctx.put_nbi(a.slice(..len), part(host), pe)),
                            1 => drop(ctx.get_nbi(part(host), a.slice(..len), pe)),
                            _ => drop(ctx.put_nbi(b.slice(..len), part(a), pe)),
                        }
                    }
                    ctx.quiet().await?;
                    ours.push(begin.elapsed());
                }
                let there = address(world, a, pe);
                let (ends, what) = match kind {
                    0 => (Ends::In(there), format!("put from the host to {to}")),
                    1 => (Ends::Out(there), format!("get to the host from {to}")),
                    _ => (
                        Ends::Within(address(world, a, 0), address(world, b, pe)),
                        format!("put from the device to {to}"),
                    ),
                };
                row(&what, len, times, median(ours), bare.time(ends, len, times, rounds)?, Some(0.9));
            }
        }
    }
    // From memory that the driver does not know, which it copies itself.
    let len = sizes[sizes.len() - 1];
    let mut ours = Vec::new();
    let mut buffer = vec![3u8; len];
    for _ in 0..=5 {
        let begin = Instant::now();
        buffer = ctx.put(a.slice(..len), buffer, 1).await?;
        ctx.quiet().await?;
        ours.push(begin.elapsed());
    }
    let bare = bare.time(Ends::From(buffer.as_mut_ptr(), address(world, a, 1)), len, 1, 5)?;
    row("put from a vector to that of another PE", len, 1, median(ours), bare, None);
    Ok(())
}

/// Short operations, one after the other.
async fn words_of(world: &World, bare: &Bare, words: &SymSlice<u64>, quick: bool) -> Result<()> {
    let (ctx, rounds) = (world.context(), if quick { 20 } else { 1000 });
    for kind in 0..4 {
        let mut ours = Vec::new();
        for i in 0..=rounds {
            let begin = Instant::now();
            match kind {
                0 => {
                    ctx.p(words.at(0), i as u64, 1).await?;
                    ctx.quiet().await?;
                }
                1 => drop(ctx.g(words.at(0), 1).await?),
                2 => drop(ctx.fetch_add(words.at(1), 1, 1).await?),
                _ => {
                    ctx.add(words.at(2), 1, 1).await?;
                    ctx.quiet().await?;
                }
            }
            ours.push(begin.elapsed());
        }
        let there = address(world, words, 1);
        let (what, ends, wanted) = match kind {
            0 => ("put and quiet", Some(Ends::In(there)), Some(0.5)),
            1 => ("get", Some(Ends::Out(there)), None),
            2 => ("fetch-add", None, None),
            _ => ("add and quiet", None, None),
        };
        let bare = ends.map(|ends| bare.time(ends, 8, 1, rounds)).transpose()?.flatten();
        row(what, 8, 1, median(ours), bare, wanted);
    }
    Ok(())
}

/// A signal to the other PE in device memory, and one back.
async fn answers(world: &World, words: &SymSlice<u64>, quick: bool) -> Result<()> {
    let (ctx, me, rounds) = (world.context(), world.my_pe(), if quick { 5 } else { 200 });
    let mut ours = Vec::new();
    for i in 1..=rounds + 1 {
        let begin = Instant::now();
        if me == 0 {
            ctx.signal_set(words.at(8), i, 1).await?;
            words.at(9).wait_until(Cmp::Ge, i).await?;
        } else if me == 1 {
            words.at(8).wait_until(Cmp::Ge, i).await?;
            ctx.signal_set(words.at(9), i, 0).await?;
        }
        ours.push(begin.elapsed());
    }
    if me == 0 {
        row("signal in device memory and one back", 8, 1, median(ours), None, None);
    }
    world.barrier_all().await
}

/// Collectives of `len` bytes that move data, beside as many copies within the device.
async fn collectives(
    world: &World,
    bare: Option<&Bare>,
    [a, b]: [&SymSlice<u8>; 2],
    len: usize,
) -> Result<()> {
    let (n, team) = (world.n_pes(), world.team());
    for (what, copies) in [("broadcast", n), ("fcollect", n * n), ("alltoall", n)] {
        let mut ours = Vec::new();
        for _ in 0..=10 {
            world.barrier_all().await?;
            let begin = Instant::now();
            match what {
                "broadcast" => team.broadcast(b.slice(..len), a.slice(..len), 0).await?,
                "fcollect" => team.fcollect(b.slice(..n * len), a.slice(..len)).await?,
                _ => team.alltoall(b.slice(..len / n * n), a.slice(..len / n * n)).await?,
            }
            ours.push(begin.elapsed());
        }
        if let Some(bare) = bare {
            let ends = Ends::Within(address(world, a, 0), address(world, b, 0));
            let bound = bare.time(ends, len, copies, 10)?;
            row(&format!("{what}, beside {copies} copies"), len, 1, median(ours), bound, Some(0.66));
        }
    }
    world.barrier_all().await
}

/// Sums of vectors in device memory.
async fn reductions(
    world: &World,
    bare: Option<&Bare>,
    [a, b]: [&SymSlice<u8>; 2],
    most: usize,
    quick: bool,
) -> Result<()> {
    let gpu = world.space(SpaceKind::Gpu)?;
    let (times, rounds) = if quick { (1, 2) } else { (8, 10) };
    let floats = (gpu.alloc_zeroed::<f32>(most / 4).await?, gpu.alloc_zeroed::<f32>(most / 4).await?);
    let mut ours = Vec::new();
    for _ in 0..=rounds {
        world.barrier_all().await?;
        let begin = Instant::now();
        for _ in 0..times {
            world.team().sum_reduce(&floats.1, &floats.0).await?;
        }
        ours.push(begin.elapsed());
    }
    let mut small = Vec::new();
    for _ in 0..=rounds {
        world.barrier_all().await?;
        let begin = Instant::now();
        for _ in 0..times {
            world.team().sum_reduce(floats.1.slice(..2), floats.0.slice(..2)).await?;
        }
        small.push(begin.elapsed());
    }
    if let Some(bare) = bare {
        let ends = Ends::Within(address(world, a, 0), address(world, b, 0));
        // A copy reads its bytes and writes them. Of the sum of two, two are read and two are
        // written.
        let bound = bare.time(ends, most, times, rounds)?.map(|copy| copy * 2);
        row(
            "sum of f32 of all PEs, beside the bandwidth bound of 2",
            most,
            times,
            median(ours),
            bound,
            Some(0.6),
        );
        row("sum of f32 of all PEs", 8, times, median(small), None, None);
    }
    world.barrier_all().await
}
