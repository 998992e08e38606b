//! The measurements.

use std::{
    error::Error,
    hint::black_box,
    process::{Command, Stdio},
    sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst},
    time::{Duration, Instant},
};

use oxshmem::{Cmp, LocalCluster, Signal, SymSlice, Wait, World};

use crate::{
    raw::{address, memcpy, spin, word},
    report::{Report, Row, median},
};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// A cache line transfer, one way, below which two cores count as near each other.
const NEAR_NS: f64 = 130.0;

/// Everything there is to measure with 2 PEs.
pub(crate) async fn all(world: &World, report: &mut Report) -> Outcome {
    let words = world.alloc_zeroed::<u64>(4096).await?;
    if report.wants("single") {
        single(world, report, &words).await?;
    }
    if report.wants("atomics") {
        atomics(world, report, &words).await?;
    }
    if report.wants("copies") {
        copies(world, report).await?;
    }
    if report.wants("pingpong") {
        ping_pong(world, report).await?;
    }
    if report.wants("barrier") {
        barrier_pair(world, report, &words).await?;
    }
    if report.wants("waiting") {
        waiting(world, report).await?;
    }
    world.barrier_all().await?;
    if world.my_pe() == 0 {
        if report.wants("jobs") {
            jobs(report)?;
        }
        if report.wants("cluster") {
            cluster(report)?;
        }
    }
    world.barrier_all().await?;
    Ok(())
}

/// Runs `bound` and `measured` in turns, after a warm-up, and returns the median of each, in ns per repetition.
macro_rules! in_turns {
    ($rounds:expr, $repeat:expr, $bound:expr, $measured:expr) => {{
        let (mut bounds, mut values) = (Vec::new(), Vec::new());
        for round in 0..$rounds + 2 {
            let start = Instant::now();
            $bound;
            let bound = start.elapsed();
            let start = Instant::now();
            $measured;
            let value = start.elapsed();
            if round >= 2 {
                bounds.push(bound.as_nanos() as f64 / $repeat as f64);
                values.push(value.as_nanos() as f64 / $repeat as f64);
            }
        }
        (median(&mut bounds), median(&mut values))
    }};
}

/// Eight bytes at a time, from PE 0 to PE 1.
async fn single(world: &World, report: &mut Report, words: &SymSlice<u64>) -> Outcome {
    const REPEAT: usize = 200_000;
    let ctx = world.context();
    if world.my_pe() == 0 {
        let rounds = report.rounds;
        let mut row = |name: &str, (reference, value): (f64, f64)| {
            report.push(Row {
                name: name.into(),
                bytes: 8,
                pes: 2,
                value,
                unit: "ns",
                reference,
                placement: "",
            });
        };
        let source = [7u64];
        let remote = |i: usize| word(words.slice(i & 1023..), 1);
        macro_rules! stores {
            ($name:literal, |$i:ident| $operation:expr) => {
                row(
                    $name,
                    in_turns!(
                        rounds,
                        REPEAT,
                        for $i in 0..REPEAT {
                            remote($i).store($i as u64, Relaxed);
                        },
                        for $i in 0..REPEAT {
                            $operation.await?;
                        }
                    ),
                );
            };
        }
        macro_rules! loads {
            ($name:literal, |$i:ident| $operation:expr) => {
                row(
                    $name,
                    in_turns!(
                        rounds,
                        REPEAT,
                        for $i in 0..REPEAT {
                            black_box(remote($i).load(Relaxed));
                        },
                        for $i in 0..REPEAT {
                            black_box($operation.await?);
                        }
                    ),
                );
            };
        }
        stores!("p", |i| ctx.p(words.at(i & 1023), i as u64, 1));
        stores!("put", |i| ctx.put(words.at(i & 1023), &source[..], 1));
        stores!("put_nbi", |i| ctx.put_nbi(words.at(i & 1023), &source[..], 1));
        loads!("g", |i| ctx.g(words.at(i & 1023), 1));
        let own = words.slice(4095..);
        loads!("get", |i| ctx.get_into(own, words.at(i & 1023), 1));
    }
    world.barrier_all().await?;
    Ok(())
}

/// Atomics from PE 0 on PE 1.
async fn atomics(world: &World, report: &mut Report, words: &SymSlice<u64>) -> Outcome {
    const REPEAT: usize = 100_000;
    let ctx = world.context();
    if world.my_pe() == 0 {
        let rounds = report.rounds;
        let at = words.at(0);
        let bare = word(words.slice(..), 1);
        macro_rules! row {
            ($name:literal, |$i:ident| $bound:expr, $operation:expr) => {{
                let (reference, value) = in_turns!(
                    rounds,
                    REPEAT,
                    for $i in 0..REPEAT as u64 {
                        black_box($bound);
                    },
                    for $i in 0..REPEAT as u64 {
                        black_box($operation.await?);
                    }
                );
                report.push(Row {
                    name: $name.into(),
                    bytes: 8,
                    pes: 2,
                    value,
                    unit: "ns",
                    reference,
                    placement: "",
                });
            }};
        }
        row!("fetch_add", |i| bare.fetch_add(i, AcqRel), ctx.fetch_add(at, i, 1));
        row!(
            "compare_swap",
            |i| bare.compare_exchange(i, i + 1, AcqRel, Acquire).unwrap_or_else(|before| before),
            ctx.compare_swap(at, i, i + 1, 1)
        );
        row!("swap", |i| bare.swap(i, AcqRel), ctx.swap(at, i, 1));
        // What is fetched says where to fetch next: the time until the value is there, not the rate at which
        // loads of an unchanging word can be begun.
        let (mut next, mut next_bare) = (0u64, 0u64);
        let remote = |i: u64| word(words.slice(i as usize & 1023..), 1);
        let (reference, value) = in_turns!(
            rounds,
            REPEAT,
            for _ in 0..REPEAT {
                next_bare = remote(next_bare).load(Acquire);
            },
            for _ in 0..REPEAT {
                next = ctx.fetch(words.at(next as usize & 1023), 1).await?;
            }
        );
        black_box((next, next_bare));
        report.push(Row {
            name: "fetch".into(),
            bytes: 8,
            pes: 2,
            value,
            unit: "ns",
            reference,
            placement: "",
        });
        row!("add", |i| bare.fetch_add(i, AcqRel), ctx.add(at, i, 1));
        // The atomic store of C and Rust by default, sequentially consistent.
        row!("set", |i| bare.store(i, SeqCst), ctx.set(at, i, 1));
    }
    world.barrier_all().await?;
    Ok(())
}

/// Blocks between the two PEs' symmetric memory, both ways.
async fn copies(world: &World, report: &mut Report) -> Outcome {
    const LARGEST: usize = 16 << 20;
    let (here, there) = (world.alloc_zeroed::<u8>(LARGEST).await?, world.alloc_zeroed::<u8>(LARGEST).await?);
    here.view().fill(world.my_pe() as u8);
    there.view().fill(0);
    world.barrier_all().await?;
    if world.my_pe() == 0 {
        let ctx = world.context();
        let rounds = report.rounds;
        let mut bytes = 4096;
        while bytes <= LARGEST {
            let repeat = ((16 << 20) / bytes).clamp(1, 2000);
            let own = here.slice(..bytes);
            let (mine, theirs) = (address(here.slice(..bytes), 0), address(there.slice(..bytes), 1));
            let put = in_turns!(
                rounds,
                repeat,
                for _ in 0..repeat {
                    // SAFETY: both are `bytes` long, and nobody else touches them now.
                    unsafe { memcpy(theirs, mine, bytes) };
                },
                for _ in 0..repeat {
                    ctx.put(there.slice(..bytes), own, 1).await?;
                }
            );
            let get = in_turns!(
                rounds,
                repeat,
                for _ in 0..repeat {
                    // SAFETY: as above.
                    unsafe { memcpy(mine, theirs, bytes) };
                },
                for _ in 0..repeat {
                    ctx.get_into(own, there.slice(..bytes), 1).await?;
                }
            );
            for (name, (reference, value)) in [("put", put), ("get", get)] {
                // Bytes a nanosecond are GB/s.
                let (value, reference) = (bytes as f64 / value, bytes as f64 / reference);
                report.push(Row {
                    name: name.into(),
                    bytes,
                    pes: 2,
                    value,
                    unit: "GB/s",
                    reference,
                    placement: "",
                });
            }
            bytes *= 4;
        }
    }
    world.barrier_all().await?;
    Ok(())
}

/// Samples kept apart by whether the cores were near or far when they were taken.
#[derive(Default)]
struct Placed {
    near: (Vec<f64>, Vec<f64>),
    far: (Vec<f64>, Vec<f64>),
}

impl Placed {
    /// A bound before, a value, and the bound after. Dropped if the cores have moved in between.
    fn add(&mut self, before: f64, value: f64, after: f64, one_way: impl Fn(f64) -> f64) {
        let side = |bound: f64| one_way(bound) < NEAR_NS;
        if side(before) != side(after) {
            return;
        }
        let kept = if side(before) { &mut self.near } else { &mut self.far };
        kept.0.push((before + after) / 2.0);
        kept.1.push(value);
    }

    fn report(mut self, report: &mut Report, name: &str, bytes: usize) {
        for (placement, (bounds, values)) in [("near", &mut self.near), ("far", &mut self.far)] {
            if !values.is_empty() {
                let (reference, value) = (median(bounds), median(values));
                report.push(Row {
                    name: name.into(),
                    bytes,
                    pes: 2,
                    value,
                    unit: "ns",
                    reference,
                    placement,
                });
            }
        }
    }
}

/// There and back with data and a signal, half of it.
async fn ping_pong(world: &World, report: &mut Report) -> Outcome {
    const REPEAT: usize = 2000;
    let ctx = world.context();
    let (me, other) = (world.my_pe(), 1 - world.my_pe());
    let signals = world.alloc_zeroed::<u64>(64).await?;
    let data = world.alloc_zeroed::<u64>(512).await?;
    let (signal, flag) = (signals.at(0), signals.slice(32..));
    let mut number = 0;
    let mut bare_number = 0;
    for bytes in [8, 4096] {
        let there = data.slice(..bytes / 8);
        let mut block = vec![1u64; bytes / 8];
        let mut placed = Placed::default();
        let (mine, theirs) = (word(flag, me), word(flag, other));
        let target = address(there, other);
        for _ in 0..report.rounds * 4 {
            let mut bound = || {
                let start = Instant::now();
                for _ in 0..REPEAT {
                    bare_number += 1;
                    let send = || {
                        // SAFETY: `target` and `block` have `bytes` bytes.
                        unsafe { memcpy(target, block.as_ptr().cast(), bytes) };
                        theirs.store(bare_number, Release);
                    };
                    if me == 0 {
                        send();
                        spin(mine, bare_number);
                    } else {
                        spin(mine, bare_number);
                        send();
                    }
                }
                start.elapsed().as_nanos() as f64 / REPEAT as f64 / 2.0
            };
            let before = bound();
            let start = Instant::now();
            for _ in 0..REPEAT {
                number += 1;
                if me == 0 {
                    block = ctx.put_signal(there, block, signal, Signal::Set(number), other).await?;
                    signal.wait_until(Cmp::Ge, number).await?;
                } else {
                    signal.wait_until(Cmp::Ge, number).await?;
                    block = ctx.put_signal(there, block, signal, Signal::Set(number), other).await?;
                }
            }
            let value = start.elapsed().as_nanos() as f64 / REPEAT as f64 / 2.0;
            let mut bound = || {
                let start = Instant::now();
                for _ in 0..REPEAT {
                    bare_number += 1;
                    let send = || {
                        // SAFETY: as above.
                        unsafe { memcpy(target, block.as_ptr().cast(), bytes) };
                        theirs.store(bare_number, Release);
                    };
                    if me == 0 {
                        send();
                        spin(mine, bare_number);
                    } else {
                        spin(mine, bare_number);
                        send();
                    }
                }
                start.elapsed().as_nanos() as f64 / REPEAT as f64 / 2.0
            };
            let after = bound();
            // A copy of 4 KiB adds its own time to the way.
            placed.add(before, value, after, |bound| if bytes > 8 { bound / 8.0 } else { bound });
        }
        if me == 0 {
            placed.report(report, "put_signal_pingpong", bytes);
        }
        world.barrier_all().await?;
    }
    Ok(())
}

/// barrier_all beside a bare exchange of flags.
async fn barrier_pair(world: &World, report: &mut Report, words: &SymSlice<u64>) -> Outcome {
    const REPEAT: usize = 2000;
    let (me, other) = (world.my_pe(), 1 - world.my_pe());
    let (mine, theirs) = (word(words.slice(2048..), me), word(words.slice(2048..), other));
    let base = mine.load(Acquire).max(theirs.load(Acquire));
    world.barrier_all().await?;
    let mut number = base;
    let mut placed = Placed::default();
    for _ in 0..report.rounds * 4 {
        let mut bound = || {
            let start = Instant::now();
            for _ in 0..REPEAT {
                number += 1;
                theirs.store(number, Release);
                spin(mine, number);
            }
            start.elapsed().as_nanos() as f64 / REPEAT as f64
        };
        let before = bound();
        let start = Instant::now();
        for _ in 0..REPEAT {
            world.barrier_all().await?;
        }
        let value = start.elapsed().as_nanos() as f64 / REPEAT as f64;
        let after = bound();
        placed.add(before, value, after, |bound| bound / 1.5);
    }
    if me == 0 {
        placed.report(report, "barrier_all", 0);
    }
    world.barrier_all().await?;
    Ok(())
}

/// Waiting asleep and awake: its delay and its price.
async fn waiting(world: &World, report: &mut Report) -> Outcome {
    const REPEAT: usize = 2000;
    let ctx = world.context();
    let (me, other) = (world.my_pe(), 1 - world.my_pe());
    let flags = world.alloc_zeroed::<u64>(256).await?;
    let flag = flags.at(0);

    // Spinning: a word there and back, beside bare polling.
    let (mine, theirs) = (word(flags.slice(64..), me), word(flags.slice(64..), other));
    let (mut number, mut bare_number) = (0, 0);
    let mut placed = Placed::default();
    for _ in 0..report.rounds * 4 {
        let mut bound = || {
            let start = Instant::now();
            for _ in 0..REPEAT {
                bare_number += 1;
                if me == 1 {
                    spin(mine, bare_number);
                }
                theirs.store(bare_number, Release);
                if me == 0 {
                    spin(mine, bare_number);
                }
            }
            start.elapsed().as_nanos() as f64 / REPEAT as f64 / 2.0
        };
        let before = bound();
        let start = Instant::now();
        for _ in 0..REPEAT {
            number += 1;
            if me == 1 {
                flag.wait_until(Cmp::Ge, number).await?;
            }
            ctx.p(flag, number, other).await?;
            if me == 0 {
                flag.wait_until(Cmp::Ge, number).await?;
            }
        }
        let value = start.elapsed().as_nanos() as f64 / REPEAT as f64 / 2.0;
        let after = bound();
        placed.add(before, value, after, |bound| bound);
    }
    if me == 0 {
        placed.report(report, "wait_until_spinning", 8);
    }

    // Asleep: from the store to the moment the waiter is back.
    let wakes = report.rounds * 10;
    let stamp = flags.at(128);
    let mut delays = Vec::new();
    world.barrier_all().await?;
    for i in 1..=wakes as u64 {
        if me == 0 {
            std::thread::sleep(Duration::from_millis(2));
            ctx.p(stamp, nanoseconds(), 1).await?;
            ctx.p(flags.at(160), i, 1).await?;
        } else {
            flags.at(160).wait_until(Cmp::Ge, i).await?;
            delays.push((nanoseconds() - stamp.load()) as f64);
        }
        world.barrier_all().await?;
    }
    if me == 1 {
        ctx.p(flags.at(192), median(&mut delays) as u64, 0).await?;
    }
    world.barrier_all().await?;
    if me == 0 {
        let value = flags.at(192).load() as f64;
        let row = Row {
            name: "wait_until_asleep".into(),
            bytes: 8,
            pes: 2,
            value,
            unit: "ns",
            reference: 60_000.0,
            placement: "",
        };
        report.push(row);
    }

    // The price of 5 s of waiting.
    let pause = Duration::from_secs(5);
    if me == 0 {
        std::thread::sleep(pause);
        ctx.p(flags.at(224), 1, 1).await?;
    } else {
        let (cpu, start) = (cpu_seconds(), Instant::now());
        flags.at(224).wait_until(Cmp::Ge, 1).await?;
        let share = (cpu_seconds() - cpu) / start.elapsed().as_secs_f64();
        ctx.p(flags.at(192), (share * 1e6) as u64, 0).await?;
    }
    world.barrier_all().await?;
    if me == 0 {
        let value = flags.at(192).load() as f64 / 1e4;
        report.push(Row {
            name: "wait_until_cpu".into(),
            bytes: 8,
            pes: 2,
            value,
            unit: "%",
            reference: 0.5,
            placement: "",
        });
    }
    Ok(())
}

/// barrier_all with as many PEs as there are: `--barrier`.
pub(crate) async fn barriers(world: &World, report: &mut Report) -> Outcome {
    let n = world.n_pes();
    let repeat = if n > 16 { 200 } else { 2000 };
    let mut samples = Vec::new();
    for round in 0..report.rounds + 2 {
        world.barrier_all().await?;
        let start = Instant::now();
        for _ in 0..repeat {
            world.barrier_all().await?;
        }
        if round >= 2 {
            samples.push(start.elapsed().as_nanos() as f64 / repeat as f64);
        }
    }
    let reference = match n {
        ..=4 => 3_000.0,
        5..=8 => 8_000.0,
        _ => 1_000_000.0,
    };
    let value = median(&mut samples);
    report.push(Row {
        name: "barrier_all".into(),
        bytes: 0,
        pes: n,
        value,
        unit: "ns",
        reference,
        placement: "",
    });
    Ok(())
}

/// Jobs of their own: barriers of more PEs, and what starting costs.
fn jobs(report: &mut Report) -> Outcome {
    let own = std::env::current_exe()?;
    let oshrun = own.with_file_name("oshrun");
    let folder = tempfile()?;
    for n in [4, 8, 64] {
        let file = format!("{folder}-{n}");
        let status = Command::new(&oshrun)
            .args(["-np", &n.to_string(), "--timeout", "60", "--"])
            .arg(&own)
            .args(["--barrier", "--quick", "--json", &file])
            .stdout(Stdio::null())
            .status()?;
        let text = std::fs::read_to_string(&file);
        // It may not exist if the job failed, which the status tells better.
        let _ = std::fs::remove_file(&file);
        if !status.success() {
            return Err(format!("barriers of {n} PEs ended with {status}").into());
        }
        let row: serde_json::Value = serde_json::from_str(&text?)?;
        let number = |key: &str| row[key].as_f64().unwrap_or(f64::NAN);
        report.push(Row {
            name: "barrier_all".into(),
            bytes: 0,
            pes: n,
            value: number("value"),
            unit: "ns",
            reference: number("reference"),
            placement: "",
        });
    }
    let hello = own.with_file_name("examples").join("hello");
    if !hello.exists() {
        eprintln!("shmem-perf: no start_hello row: build it with cargo build --release --example hello");
        return Ok(());
    }
    let (alone, launched) = in_turns!(
        report.rounds,
        1,
        run(Command::new(&hello).env_remove("OXSHMEM_JOB"))?,
        run(Command::new(&oshrun).args(["-np", "2", "--"]).arg(&hello))?
    );
    let (value, reference) = ((launched - alone) / 1e6, 20.0);
    report.push(Row {
        name: "start_hello".into(),
        bytes: 0,
        pes: 2,
        value,
        unit: "ms",
        reference,
        placement: "",
    });
    Ok(())
}

/// A thousand PEs in this process.
fn cluster(report: &mut Report) -> Outcome {
    let before = peak_memory();
    let start = Instant::now();
    // On a thread of its own, as this one is busy in `block_on`.
    let run = std::thread::spawn(|| {
        LocalCluster::run(1000, |world| async move {
            for _ in 0..100 {
                world.barrier_all().await?;
            }
            world.finalize().await
        })
    });
    run.join().map_err(|_| "the cluster panicked")??;
    let seconds = start.elapsed().as_secs_f64();
    let mut row = |name: &str, value, unit, reference| {
        report.push(Row { name: name.into(), bytes: 0, pes: 1000, value, unit, reference, placement: "" });
    };
    row("cluster_100_barriers", seconds, "s", 10.0);
    row("cluster_memory", (peak_memory() - before) / 1e6, "MB", 2147.0);
    Ok(())
}

fn run(command: &mut Command) -> Outcome {
    let status = command.stdout(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} ended with {status}").into()) }
}

/// A name for temporary files of this process.
fn tempfile() -> Outcome<String> {
    let name = format!("shmem-perf-{}", std::process::id());
    Ok(std::env::temp_dir().join(name).to_str().ok_or("the temporary folder is not UTF-8")?.to_owned())
}

fn nanoseconds() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn cpu_seconds() -> f64 {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    used.tv_sec as f64 + used.tv_nsec as f64 / 1e9
}

/// The most memory this process has had, in bytes.
fn peak_memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    kilobytes.unwrap_or(f64::NAN) * 1024.0
}
