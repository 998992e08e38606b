//! What one PE does alone to another's memory: single words, atomics and blocks.

use std::{
    hint::black_box,
    sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst},
};

use oxshmem::{SymSlice, World};

use crate::{
    Outcome,
    collectives::{Selection, collectives},
    jobs::{cluster, jobs, leave_core},
    latency::{barrier_pair, exchanges, ping_pong, waiting},
    raw::{address, memcpy, word},
    report::{Report, Row, in_turns},
    spaces::spaces,
};

/// Everything there is to measure with 2 PEs.
pub(crate) async fn all(world: &World, report: &mut Report, selection: &Selection) -> Outcome {
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
        exchanges(world, report).await?;
    }
    if report.wants("barrier") {
        barrier_pair(world, report, &words).await?;
    }
    if report.wants("collectives") {
        collectives(world, report, selection).await?;
    }
    if report.wants("waiting") {
        waiting(world, report).await?;
    }
    world.barrier_all().await?;
    if world.my_pe() == 0 {
        leave_core()?;
        if report.wants("spaces") {
            spaces(report)?;
        }
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
        // What is fetched says where to fetch next: the time until the value is there, not the rate
        // at which loads of an unchanging word can be begun.
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
                    // SAFETY: both are `bytes` long, and no other PE touches them now.
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
