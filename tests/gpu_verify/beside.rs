//! Operations by oxshmem beside those by NVSHMEM: by one process, and by two that share the device.
//!
//! NVSHMEM's come from a program of its own (`benches/peer/nvshmem.cu`), which `cargo xtask device
//! --pack` packs with its library beside this one. Both print rows of an operation, its bytes and
//! microseconds.

use std::{
    future::Future,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use oxshmem::{Result, prelude::*};

use super::common::with_device;

/// The pack that has NVSHMEM's program.
const PACK: &str = "nvshmem.tar.gz";

/// What is measured of us, as PE 0 of a job that does it.
pub(crate) fn ours(quick: bool) {
    let mut settings = with_device();
    settings.gpu_symmetric_size = Some(if quick { 8 << 20 } else { 256 << 20 });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("tokio");
    let outcome = runtime.block_on(async {
        let world = oxshmem::init_with(settings).await?;
        measure(&world, quick).await?;
        world.finalize().await
    });
    if let Err(error) = outcome {
        eprintln!("the measurements fail: {error}");
        std::process::exit(1);
    }
}

/// The median time of some runs, after a few that do not count.
async fn median<F: Future<Output = Result<()>>>(runs: usize, mut one: impl FnMut() -> F) -> Result<Duration> {
    let mut times = Vec::new();
    for i in 0..runs + 3 {
        let begin = Instant::now();
        one().await?;
        if i >= 3 {
            times.push(begin.elapsed());
        }
    }
    times.sort();
    Ok(times[times.len() / 2])
}

async fn measure(world: &World, quick: bool) -> Result<()> {
    let (me, n) = (world.my_pe(), world.n_pes());
    let (ctx, other) = (world.context(), n - 1 - me);
    let most = if quick { 1 << 20 } else { 64 << 20 };
    let runs = |count: usize| if quick { 5 } else { count };
    let gpu = world.space(SpaceKind::Gpu)?;
    let (from, to) = (gpu.alloc_zeroed::<f32>(most / 4).await?, gpu.alloc_zeroed::<f32>(most / 4).await?);
    let words = gpu.alloc_zeroed::<u64>(16).await?;
    let row = |what: &str, bytes: usize, time: Duration| {
        if me == 0 {
            println!("{what} | {bytes} | {:.2}", time.as_secs_f64() * 1e6);
        }
    };
    let part = |bytes: usize| from.slice(..bytes / 4).to_owned();
    world.barrier_all().await?;
    if me == 0 {
        let time = median(runs(300), || async {
            drop(ctx.put_nbi(to.slice(..2), part(8), other));
            ctx.quiet().await
        });
        row("put and quiet", 8, time.await?);
        row("get", 8, median(runs(300), || async { ctx.g(words.at(0), other).await.map(drop) }).await?);
        for bytes in [1 << 20, most] {
            let time = median(runs(20), || async {
                drop(ctx.put_nbi(to.slice(..bytes / 4), part(bytes), other));
                ctx.quiet().await
            });
            row("put and quiet", bytes, time.await?);
        }
        for bytes in [1 << 20, (4 << 20).min(most), most] {
            let many = if bytes == most { 4 } else { 16 };
            let time = median(runs(10), || async {
                for _ in 0..many {
                    drop(ctx.put_nbi(to.slice(..bytes / 4), part(bytes), other));
                }
                ctx.quiet().await
            });
            row("puts, many under way, each", bytes, time.await? / many);
        }
    }
    world.barrier_all().await?;
    row("barrier", 0, median(runs(200), || world.barrier_all()).await?);
    if n == 2 {
        let turn = std::cell::Cell::new(0);
        let time = median(runs(50), || {
            turn.set(turn.get() + 1);
            let i = turn.get();
            let (mine, theirs) = (words.at(8 + me), words.at(8 + other));
            async move {
                if me == 0 {
                    ctx.signal_set(theirs, i, other).await?;
                }
                mine.wait_until(Cmp::Ge, i).await?;
                if me == 1 {
                    ctx.signal_set(theirs, i, other).await?;
                }
                Ok(())
            }
        });
        row("signal there and back", 8, time.await?);
    }
    for bytes in [8, most] {
        world.barrier_all().await?;
        let time = median(runs(if bytes == most { 10 } else { 50 }), || async {
            world.team().sum_reduce(to.slice(..bytes / 4), from.slice(..bytes / 4)).await.map(drop)
        });
        row("sum of f32", bytes, time.await?);
    }
    world.barrier_all().await
}

/// A row of either.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    what: String,
    bytes: usize,
    micros: f64,
}

/// The rows in what one of them has printed.
pub(crate) fn rows(text: &str) -> Vec<Row> {
    let parse = |line: &str| {
        let mut parts = line.split('|').map(str::trim);
        let (what, bytes, micros) = (parts.next()?, parts.next()?, parts.next()?);
        let nothing = parts.next().is_none();
        let row = Row { what: what.to_owned(), bytes: bytes.parse().ok()?, micros: micros.parse().ok()? };
        nothing.then_some(row)
    };
    text.lines().filter_map(parse).collect()
}

/// The table of all: of NVSHMEM and of us with one PE, then with two.
pub(crate) fn table(all: &[Vec<Row>; 4]) -> String {
    let mut lines = vec![
        "| operation | bytes | NVSHMEM, 1 PE | oxshmem, 1 PE | NVSHMEM, 2 PEs | oxshmem, 2 PEs |".to_owned(),
        "|---|---|---|---|---|---|".to_owned(),
    ];
    let mut known: Vec<&Row> = Vec::new();
    for row in [&all[3], &all[1], &all[2], &all[0]].into_iter().flatten() {
        if !known.iter().any(|it| it.what == row.what && it.bytes == row.bytes) {
            known.push(row);
        }
    }
    for row in known {
        let of = |rows: &Vec<Row>| {
            let found = rows.iter().find(|it| it.what == row.what && it.bytes == row.bytes);
            found.map_or("–".to_owned(), |it| format!("{:.1}", it.micros))
        };
        let cells: Vec<String> = all.iter().map(of).collect();
        let bytes = match row.bytes {
            0 => String::new(),
            bytes if bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
            bytes => format!("{bytes} B"),
        };
        lines.push(format!("| {} | {bytes} | {} |", row.what, cells.join(" | ")));
    }
    lines.join("\n")
}

/// NVSHMEM's program, unpacked in a folder of its own that is there until this is dropped.
pub(crate) struct Peer(PathBuf);

impl Peer {
    /// If there is a pack beside this program; the error says that it cannot be unpacked.
    pub(crate) fn find() -> Option<std::io::Result<Self>> {
        let program = std::env::current_exe().ok()?;
        let pack = program.parent().map(|folder| folder.join(PACK)).filter(|pack| pack.is_file())?;
        Some(Self::unpack(&pack))
    }

    fn unpack(pack: &Path) -> std::io::Result<Self> {
        let peer = Self(std::env::temp_dir().join(format!("oxshmem-nvshmem-{}", std::process::id())));
        std::fs::create_dir_all(&peer.0)?;
        let status = Command::new("tar").arg("xzf").arg(pack).arg("-C").arg(&peer.0).status()?;
        if !status.success() {
            return Err(std::io::Error::other(format!("tar fails: {status}")));
        }
        Ok(peer)
    }

    /// The program for this many PEs, all of which share the device.
    pub(crate) fn command(&self, n: usize) -> Command {
        let mut command = Command::new(self.0.join("nvshmem"));
        // There is one host; what would reach others is not packed.
        command.arg(n.to_string()).env("LD_LIBRARY_PATH", &self.0).env("NVSHMEM_REMOTE_TRANSPORT", "none");
        command
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
