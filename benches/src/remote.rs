//! Two PEs on different hosts, beside bare UCX and a bare socket between the same two processes:
//! `--remote`.
//!
//! `oshrun -np 2 --fake-hosts 2 --bind-to core target/release/shmem-perf --remote`
//!
//! And how long one of them waits for the other that computes: `--serving`.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use oxshmem::{Cmp, SessionOptions, Signal, SymSlice, Wait, World};

use crate::{
    Outcome,
    raw_socket::RawSocket,
    raw_ucx::RawUcx,
    report::{Report, Row, median},
};

/// Bytes of the long transfers.
const LONG: [usize; 3] = [16 << 10, 64 << 10, 1 << 20];
/// Bytes of those that are under way at a time.
const TOGETHER: usize = 16 << 20;

/// Measures everything.
pub(crate) async fn remote(world: &World, report: &mut Report) -> Outcome {
    let (me, other) = (world.my_pe(), 1 - world.my_pe());
    let most = LONG[LONG.len() - 1];
    let words = world.alloc_zeroed::<u64>(most / 8).await?;
    if words.view().ptr(other).is_some() {
        return Err("both PEs are on one host: add --fake-hosts 2".into());
    }
    let raw = RawUcx::connect(world, most).await?;
    let mut socket = RawSocket::connect(world, most).await?;
    let ctx = world.context();
    let short = words.slice(..1);
    let word = words.at(0);
    let mut one = [[1u64]];

    /// The target's part: waits while the other PE does its own, then serves the other's bare UCX,
    /// and its bare socket.
    macro_rules! row {
        ($name:literal, $bytes:expr, $repeat:expr, $unit:literal, |$count:ident| $ours:expr, $ucx:expr
         $(, $socket:expr)?) => {{
            let $count: usize = $repeat;
            let mut times = [const { Vec::new() }; 3];
            for _ in 0..report.rounds + 2 {
                world.barrier_all().await?;
                if me == 0 {
                    let start = Instant::now();
                    $ours;
                    times[0].push(start.elapsed());
                    world.barrier_all().await?;
                    let start = Instant::now();
                    $ucx?;
                    times[1].push(start.elapsed());
                    raw.release()?;
                    $(
                        let start = Instant::now();
                        $socket?;
                        times[2].push(start.elapsed());
                    )?
                    socket.release()?;
                } else {
                    world.barrier_all().await?;
                    raw.serve()?;
                    socket.serve()?;
                }
            }
            if me == 0 {
                push(report, $name, $bytes, $unit, times, $count);
            }
        }};
    }

    row!(
        "remote put, quiet",
        8,
        300,
        "us",
        |count| for _ in 0..count {
            ctx.p(word, 1, other).await?;
            ctx.quiet().await?;
        },
        raw.put(&one, count, true),
        socket.ping(count)
    );
    row!(
        "remote get",
        8,
        300,
        "us",
        |count| for _ in 0..count {
            ctx.g(word, other).await?;
        },
        raw.get(&mut one, count, true),
        socket.ping(count)
    );
    row!(
        "remote fetch_add",
        8,
        300,
        "us",
        |count| for _ in 0..count {
            ctx.fetch_add(word, 1, other).await?;
        },
        raw.fetch_add(count),
        socket.ping(count)
    );
    row!(
        "remote put_nbi",
        8,
        20_000,
        "M/s",
        |count| {
            for _ in 0..count {
                drop(ctx.put_nbi(short, 1, other));
            }
            ctx.quiet().await?;
        },
        raw.put(&one, count, false)
    );
    for bytes in LONG {
        // Both sides use the same buffers: whether those are in a cache decides more than the rest.
        let blocks = (TOGETHER / bytes).min(256);
        let mut lent = vec![vec![1u64; bytes / 8]; blocks];
        let there = words.slice(..bytes / 8);
        row!(
            "remote put_nbi",
            bytes,
            blocks,
            "GB/s",
            |count| {
                let mut under_way = Vec::with_capacity(count);
                for block in lent.drain(..) {
                    under_way.push(ctx.put_nbi(there, block, other));
                }
                ctx.quiet().await?;
                for put in under_way {
                    lent.push(put.await?);
                }
            },
            raw.put(&lent, count, false),
            socket.put(&lent)
        );
        row!(
            "remote get_nbi",
            bytes,
            blocks,
            "GB/s",
            |count| {
                let mut under_way = Vec::with_capacity(count);
                for block in lent.drain(..) {
                    under_way.push(ctx.get_nbi(block, there, other));
                }
                for get in under_way {
                    lent.push(get.await?);
                }
            },
            raw.get(&mut lent, count, false),
            socket.get(&mut lent)
        );
    }
    both_ways(world, report, &words, &raw, &mut socket).await?;
    pipelined(world, report, &words).await?;
    updates(world, report, &words).await?;
    world.barrier_all().await?;
    Ok(())
}

/// Adds a row of what ours, bare UCX and a bare socket took for `count` operations. The first two
/// rounds do not count.
fn push(
    report: &mut Report,
    name: &str,
    bytes: usize,
    unit: &'static str,
    times: [Vec<Duration>; 3],
    count: usize,
) {
    let [value, reference, socket] = times.map(|times| {
        let mut each: Vec<_> =
            times.iter().skip(2).map(|time| time.as_nanos() as f64 / count as f64).collect();
        let ns = median(&mut each);
        match unit {
            "GB/s" => bytes as f64 / ns,
            "M/s" => 1e3 / ns,
            _ => ns / 1e3,
        }
    });
    let row = Row { name: name.into(), bytes, pes: 2, value, unit, reference, placement: "hosts" };
    report.push_with_socket(row, Some(socket).filter(|socket| !socket.is_nan()));
}

/// Puts of the longest blocks by both PEs at a time: bytes of both ways.
async fn both_ways(
    world: &World,
    report: &mut Report,
    words: &SymSlice<u64>,
    raw: &RawUcx,
    socket: &mut RawSocket,
) -> Outcome {
    let (ctx, other) = (world.context(), 1 - world.my_pe());
    let bytes = LONG[LONG.len() - 1];
    let count = TOGETHER / bytes;
    let mut lent = vec![vec![1u64; bytes / 8]; count];
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..report.rounds + 2 {
        world.barrier_all().await?;
        let start = Instant::now();
        let mut under_way = Vec::with_capacity(count);
        for block in lent.drain(..) {
            under_way.push(ctx.put_nbi(words, block, other));
        }
        ctx.quiet().await?;
        for put in under_way {
            lent.push(put.await?);
        }
        world.barrier_all().await?;
        times[0].push(start.elapsed());
        let start = Instant::now();
        raw.put(&lent, count, false)?;
        // Each lets the other go, which may still need this one.
        raw.release()?;
        raw.serve()?;
        times[1].push(start.elapsed());
        let start = Instant::now();
        socket.exchange(&lent)?;
        times[2].push(start.elapsed());
    }
    if world.my_pe() == 0 {
        push(report, "remote put_nbi, both ways", bytes, "GB/s", times, 2 * count);
    }
    Ok(())
}

/// Nonblocking operations that are started one after the other, and completed together.
const PIPELINED: usize = 20_000;
/// Elements of strided transfers.
const STRIDED: usize = 1000;

/// Nonblocking operations on single words beside the same ones one by one, and strided transfers
/// beside contiguous ones. The other PE waits.
async fn pipelined(world: &World, report: &mut Report, words: &SymSlice<u64>) -> Outcome {
    let (ctx, other) = (world.context(), 1 - world.my_pe());
    let (word, short, row) = (words.at(0), words.slice(..1), words.slice(..STRIDED));
    let mut times = [const { Vec::new() }; 8];
    for round in 0..report.rounds + 2 {
        world.barrier_all().await?;
        if world.my_pe() == 0 {
            let mut row_here = vec![1u64; STRIDED];
            for (way, times) in times.iter_mut().enumerate() {
                let count = match way {
                    0 | 2 => PIPELINED,
                    1 | 3 => PIPELINED / 100,
                    _ => 20,
                };
                let start = Instant::now();
                for _ in 0..count {
                    match way {
                        0 => drop(ctx.get_nbi([0], short, other)),
                        1 => drop(ctx.g(word, other).await?),
                        2 => drop(ctx.fetch_add_nbi(word, 1, other)),
                        3 => drop(ctx.fetch_add(word, 1, other).await?),
                        4 => row_here = ctx.iget(row_here, words, 1, 2, STRIDED, other).await?,
                        5 => row_here = ctx.get_into(row_here, row, other).await?,
                        6 => {
                            row_here = ctx.iput(words, row_here, 2, 1, STRIDED, other).await?;
                            ctx.quiet().await?;
                        }
                        _ => {
                            row_here = ctx.put(row, row_here, other).await?;
                            ctx.quiet().await?;
                        }
                    }
                }
                ctx.quiet().await?;
                if round >= 2 {
                    times.push(start.elapsed().as_nanos() as f64 / count as f64);
                }
            }
        }
        world.barrier_all().await?;
    }
    if world.my_pe() == 0 {
        let times = times.each_mut().map(|times| median(times));
        for (at, name) in ["get_nbi, vs one by one", "fetch_add_nbi, vs one by one"].into_iter().enumerate() {
            report.push(Row {
                name: format!("remote {name}"),
                bytes: 8,
                pes: 2,
                value: 1e3 / times[2 * at],
                unit: "M/s",
                reference: 1e3 / times[2 * at + 1],
                placement: "hosts",
            });
        }
        for (at, name) in ["iget, vs contiguous", "iput, quiet, vs contiguous"].into_iter().enumerate() {
            report.push(Row {
                name: format!("remote {name}"),
                bytes: 8 * STRIDED,
                pes: 2,
                value: times[4 + 2 * at] / 1e3,
                unit: "us",
                reference: times[5 + 2 * at] / 1e3,
                placement: "hosts",
            });
        }
    }
    Ok(())
}

/// How long each operation is measured, and the other PE computes for all of them.
const SERVED: Duration = Duration::from_secs(1);

/// A PE that does nothing but compute, and what it still does for the other; beside it, how long
/// that takes while the PE waits.
pub(crate) async fn serving(world: &World, report: &mut Report) -> Outcome {
    let ctx = world.context();
    let words = world.alloc_zeroed::<u64>(2).await?;
    let (word, other) = (words.at(0), 1);
    let mut times = [const { Vec::new() }; 2];
    for (computes, times) in [false, true].into_iter().zip(&mut times) {
        world.barrier_all().await?;
        if world.my_pe() == 1 {
            if computes {
                compute(4 * SERVED);
            }
            world.barrier_all().await?;
            continue;
        }
        for operation in 0..3 {
            let (start, mut taken) = (Instant::now(), Vec::new());
            while start.elapsed() < SERVED {
                let start = Instant::now();
                match operation {
                    0 => {
                        ctx.p(word, 1, other).await?;
                        ctx.quiet().await?;
                    }
                    1 => drop(ctx.g(word, other).await?),
                    _ => drop(ctx.fetch_add(word, 1, other).await?),
                }
                taken.push(start.elapsed().as_nanos() as f64 / 1e3);
            }
            times.push(median(&mut taken));
        }
        world.barrier_all().await?;
    }
    if world.my_pe() == 0 {
        let [waits, computes] = times;
        for (name, (value, reference)) in
            ["put, quiet", "get", "fetch_add"].into_iter().zip(computes.into_iter().zip(waits))
        {
            report.push(Row {
                name: format!("served {name}"),
                bytes: 8,
                pes: 2,
                value,
                unit: "us",
                reference,
                placement: "hosts",
            });
        }
    }
    Ok(())
}

/// Keeps a processor busy.
fn compute(time: Duration) {
    let (start, mut state) = (Instant::now(), 1u64);
    while start.elapsed() < time {
        for i in 0..1000 {
            state = black_box(state.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ i);
        }
    }
}

/// Updates of one kind of measurement.
const UPDATES: usize = 40_000;
/// Updates that aggregation by hand sends together.
const BLOCK: usize = 1024;

/// Atomic updates of random words on the other host: one by one, in a session, and aggregated by
/// hand, which is to send their places and values in blocks that the other PE applies.
async fn updates(world: &World, report: &mut Report, words: &SymSlice<u64>) -> Outcome {
    let (me, other) = (world.my_pe(), 1 - world.my_pe());
    let ctx = world.context();
    let blocks = world.alloc_zeroed::<u64>(2 * 2 * BLOCK).await?;
    let signals = world.alloc_zeroed::<u64>(2).await?;
    let (sent, taken) = (signals.at(0), signals.at(1));
    let place = |i: usize| (i * 7919 + 13) % words.len();
    let mut times = [const { Vec::new() }; 3];
    let mut number = 0;
    for round in 0..report.rounds + 2 {
        for (way, times) in times.iter_mut().enumerate() {
            world.barrier_all().await?;
            let start = Instant::now();
            match (me, way) {
                (0, 0) => {
                    for i in 0..UPDATES / 10 {
                        ctx.xor(words.at(place(i)), i as u64, other).await?;
                    }
                    ctx.quiet().await?;
                }
                (0, 1) => {
                    let session = ctx.session(SessionOptions::new().batch().total_ops(UPDATES));
                    for i in 0..UPDATES {
                        session.xor(words.at(place(i)), i as u64, other).await?;
                    }
                    session.finish().await?;
                }
                (0, _) => {
                    let mut block = Vec::with_capacity(2 * BLOCK);
                    for i in 0..UPDATES {
                        block.extend([place(i) as u64, i as u64]);
                        if block.len() == 2 * BLOCK || i + 1 == UPDATES {
                            // The block before the last was taken, so its place is free.
                            taken.wait_until(Cmp::Ge, number.max(1) - 1).await?;
                            let at = (number as usize % 2) * 2 * BLOCK;
                            number += 1;
                            let to = blocks.slice(at..at + block.len());
                            ctx.put_signal(to, &block[..], sent, Signal::Set(number), other).await?;
                            block.clear();
                        }
                    }
                    taken.wait_until(Cmp::Ge, number).await?;
                }
                (_, 2) => {
                    let mut left = UPDATES;
                    while left > 0 {
                        number += 1;
                        sent.wait_until(Cmp::Ge, number).await?;
                        let count = left.min(BLOCK);
                        let at = ((number as usize - 1) % 2) * 2 * BLOCK;
                        let block = blocks.slice(at..at + 2 * count).to_vec();
                        for update in block.chunks_exact(2) {
                            ctx.xor(words.at(update[0] as usize), update[1], me).await?;
                        }
                        left -= count;
                        ctx.p(taken, number, other).await?;
                    }
                }
                _ => {}
            }
            let time = start.elapsed().as_nanos() as f64;
            if me == 0 && round >= 2 {
                let count = if way == 0 { UPDATES / 10 } else { UPDATES };
                times.push(time / count as f64);
            }
        }
    }
    if me == 0 {
        let [one_by_one, session, by_hand] = times.each_mut().map(|times| 1e3 / median(times));
        for (name, reference) in [("session, vs one by one", one_by_one), ("session, vs by hand", by_hand)] {
            report.push(Row {
                name: format!("remote xor: {name}"),
                bytes: 8,
                pes: 2,
                value: session,
                unit: "M/s",
                reference,
                placement: "hosts",
            });
        }
    }
    Ok(())
}
