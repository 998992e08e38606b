//! What takes two PEs: answers, barriers and waiting. These depend on how near the two cores are.

use std::{
    sync::atomic::Ordering::{Acquire, Release},
    time::{Duration, Instant},
};

use oxshmem::{Cmp, Signal, SymSlice, Wait, World};

use crate::{
    Outcome,
    bare::one_way,
    raw::{address, memcpy, spin, word},
    report::{Report, Row, median},
};

/// A cache line transfer, one way, below which two cores count as near each other.
pub(crate) const NEAR_NS: f64 = 130.0;

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
pub(crate) async fn ping_pong(world: &World, report: &mut Report) -> Outcome {
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
        let bare_block = block.clone();
        let mut bound = || {
            let start = Instant::now();
            for _ in 0..REPEAT {
                bare_number += 1;
                let send = || {
                    // SAFETY: `target` and `bare_block` have `bytes` bytes.
                    unsafe { memcpy(target, bare_block.as_ptr().cast(), bytes) };
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
        for _ in 0..report.rounds * 4 {
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

/// A ping-pong with data that its target reads each time, as a halo is read: what is written then
/// lies in the caches of the other PE. Beside a bare `memcpy`, there and out of there, and a flag.
pub(crate) async fn exchanges(world: &World, report: &mut Report) -> Outcome {
    const MOST: usize = 64 << 10;
    let ctx = world.context();
    let (me, other) = (world.my_pe(), 1 - world.my_pe());
    let words = world.alloc_zeroed::<u64>(64).await?;
    let probes = world.alloc_zeroed::<u64>(64).await?;
    let data = world.alloc_zeroed::<u64>(MOST / 8).await?;
    let (signal, flag) = (words.at(0), words.slice(32..));
    let (mine, theirs) = (word(flag, me), word(flag, other));
    let (mut number, mut bare_number, mut probe_number) = (0, 0, 0);
    for bytes in [4 << 10, 16 << 10, MOST] {
        let repeat = (4 << 20) / bytes;
        let there = data.slice(..bytes / 8);
        let (mut block, mut read) = (vec![1u64; bytes / 8], vec![0u64; bytes / 8]);
        let mut placed = Placed::default();
        for _ in 0..report.rounds * 4 {
            world.barrier_all().await?;
            let before = one_way(&probes, me, &mut probe_number);
            let start = Instant::now();
            for _ in 0..repeat {
                number += 1;
                if me == 1 {
                    signal.wait_until(Cmp::Ge, number).await?;
                    there.read(&mut read);
                }
                block = ctx.put_signal(there, block, signal, Signal::Set(number), other).await?;
                if me == 0 {
                    signal.wait_until(Cmp::Ge, number).await?;
                    there.read(&mut read);
                }
            }
            let value = start.elapsed().as_nanos() as f64 / repeat as f64 / 2.0;
            let start = Instant::now();
            for _ in 0..repeat {
                bare_number += 1;
                let take = |read: &mut Vec<u64>| {
                    spin(mine, bare_number);
                    // SAFETY: both have `bytes` bytes, and the other PE has written its.
                    unsafe { memcpy(read.as_mut_ptr().cast(), address(there, me), bytes) };
                };
                if me == 1 {
                    take(&mut read);
                }
                // SAFETY: both have `bytes` bytes.
                unsafe { memcpy(address(there, other), block.as_ptr().cast(), bytes) };
                theirs.store(bare_number, Release);
                if me == 0 {
                    take(&mut read);
                }
            }
            let bare = start.elapsed().as_nanos() as f64 / repeat as f64 / 2.0;
            let after = one_way(&probes, me, &mut probe_number);
            if (before < NEAR_NS) == (after < NEAR_NS) {
                placed.add(bare, value, bare, |_| before);
            }
        }
        if me == 0 {
            placed.report(report, "put_read_pingpong", bytes);
        }
    }
    world.barrier_all().await?;
    Ok(())
}

/// barrier_all beside a bare exchange of flags.
pub(crate) async fn barrier_pair(world: &World, report: &mut Report, words: &SymSlice<u64>) -> Outcome {
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
pub(crate) async fn waiting(world: &World, report: &mut Report) -> Outcome {
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

fn nanoseconds() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn cpu_seconds() -> f64 {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    used.tv_sec as f64 + used.tv_nsec as f64 / 1e9
}
