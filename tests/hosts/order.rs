//! What PEs of other hosts may conclude from what they see: order and completion under load,
//! signals, sessions, and contexts of many threads.

use std::time::Duration;

use crate::common::{Job, PeRuntime, Random, has_ucx, reaches_hosts, test_name, time_limit};
use oxshmem::{ClusterOptions, Link, Result, SessionOptions, Signal, prelude::*};

/// A context that orders: by `fence`, `quiet` or `pe_quiet`, in a session or not.
async fn order(ctx: &Context, how: u64, pe: usize) -> Result<()> {
    match how % 3 {
        0 => ctx.fence().await,
        1 => ctx.quiet().await,
        _ => ctx.pe_quiet(&[pe]).await,
    }
}

/// Data of every form, then an order, then a flag: a PE that sees the flag sees the data.
async fn litmus(world: World, ctx: Context, rounds: u64) -> Result<()> {
    const LEN: usize = 3000;
    let (me, n) = (world.my_pe(), world.n_pes());
    let data = world.alloc_zeroed::<u64>(LEN).await?;
    let words = world.alloc_zeroed::<u64>(64).await?;
    let (single, sum, flag, back) = (words.at(0), words.at(16), words.at(32), words.at(48));
    let (left, right) = ((me + n - 1) % n, (me + 1) % n);
    let mut random = Random::new(me as u64 + 1);
    for round in 1..=rounds {
        let len = (1 + random.below(LEN as u64) as usize) >> random.below(12);
        drop(ctx.put_nbi(data.slice(..len.max(1)), vec![round; len.max(1)], right));
        // A load of other traffic, to the same PE and to others.
        for _ in 0..random.below(20) {
            ctx.inc(words.at(63), random.below(n as u64) as usize).await?;
        }
        ctx.p(single, round, right).await?;
        ctx.add(sum, 1, right).await?;
        order(&ctx, round, right).await?;
        match round % 2 {
            0 => ctx.p(flag, round, right).await?,
            _ => ctx.signal_set(flag, round, right).await?,
        }
        let seen = flag.wait_until(Cmp::Ge, round).await?;
        assert_eq!((single.load(), sum.load(), data.at(0).load()), (seen, seen, seen), "round {round}");
        ctx.set(back, round, left).await?;
        back.wait_until(Cmp::Ge, round).await?;
    }
    ctx.quiet().await?;
    world.barrier_all().await
}

#[test]
fn a_pe_that_sees_a_flag_sees_what_was_ordered_before_it() {
    let _limit = time_limit(90);
    if !reaches_hosts() {
        return;
    }
    for hosts in ["3", "2:cyclic"] {
        Job::new(test_name!(), 3).hosts(hosts).run(|world| async move {
            let ctx = world.create_context(ContextOptions::new())?;
            litmus(world, ctx, 200).await
        });
    }
}

#[test]
fn in_sessions_a_pe_that_sees_a_flag_sees_what_was_ordered_before_it() {
    let _limit = time_limit(90);
    if !reaches_hosts() {
        return;
    }
    for hosts in ["3", "2:cyclic"] {
        Job::new(test_name!(), 3).hosts(hosts).run(|world| async move {
            let ctx = world.create_context(ContextOptions::new())?;
            ctx.session_start(SessionOptions::new().batch());
            litmus(world, ctx, 200).await
        });
    }
}

/// Updates in sessions in sessions, on far and on near PEs, and signals behind them.
async fn nested(world: World) -> Result<()> {
    const N: usize = 500;
    let (me, n) = (world.my_pe(), world.n_pes());
    let ctx = world.create_context(ContextOptions::new())?;
    let slots = world.alloc_zeroed::<u64>(n * N).await?;
    let sums = world.alloc_zeroed::<u64>(2).await?;
    let signals = world.alloc_zeroed::<u64>(n).await?;
    for round in 1..=5u64 {
        let outer = ctx.session(SessionOptions::new().batch().total_ops(n * N));
        for i in 0..N {
            for pe in 0..n {
                outer.p(slots.at(me * N + i), round * 10_000 + i as u64, pe).await?;
                outer.add(sums.at(0), 1, pe).await?;
            }
            if i == N / 2 {
                // It ends with the first stop, and begins anew.
                let inner = outer.session(SessionOptions::new().batch());
                inner.inc(sums.at(1), (me + 1) % n).await?;
                drop(inner);
                ctx.session_start(SessionOptions::new().batch().total_ops(8));
            }
        }
        outer.fence().await?;
        for pe in 0..n {
            outer.signal_add(signals.at(me), 1, pe).await?;
        }
        // Nobody ends the session, or calls quiet: waiting sends what was gathered.
        for pe in 0..n {
            signals.at(pe).wait_until(Cmp::Ge, round).await?;
            let expected: Vec<u64> = (0..N as u64).map(|i| round * 10_000 + i).collect();
            assert_eq!(slots.slice(pe * N..(pe + 1) * N).to_vec(), expected, "of PE {pe}");
        }
        outer.finish().await?;
        world.barrier_all().await?;
        assert_eq!(sums.view().to_vec(), [round * (n * N) as u64, round]);
        world.barrier_all().await?;
    }
    Ok(())
}

#[test]
fn sessions_in_sessions_and_on_near_pes_lose_and_reorder_nothing() {
    let _limit = time_limit(90);
    if !reaches_hosts() {
        return;
    }
    Job::new(test_name!(), 4).hosts("2").run(nested);
}

/// Batches of many sizes; a signal comes after all of them.
async fn batches_of_many_sizes(world: World) -> Result<()> {
    /// Words of one put, several of which fit into a batch.
    const WORDS: usize = 16;
    const PUTS: usize = 200;
    let (me, n) = (world.my_pe(), world.n_pes());
    let (left, right) = ((me + n - 1) % n, (me + 1) % n);
    let ctx = world.create_context(ContextOptions::new())?;
    let data = world.alloc_zeroed::<u64>(PUTS * WORDS).await?;
    let words = world.alloc_zeroed::<u64>(3).await?;
    let (arrived, taken, sum) = (words.at(0), words.at(1), words.at(2));
    for round in 1..=50u64 {
        let session = ctx.session(SessionOptions::new().batch());
        let puts = 1 + (round as usize * 37) % PUTS;
        for i in 0..puts {
            drop(session.put_nbi(data.slice(i * WORDS..(i + 1) * WORDS), vec![round; WORDS], right));
        }
        drop(session.add(sum, 1, right));
        session.fence().await?;
        drop(session.signal_set(arrived, round, right));
        session.finish().await?;
        arrived.wait_until(Cmp::Ge, round).await?;
        assert!(data.slice(..puts * WORDS).to_vec() == vec![round; puts * WORDS], "round {round}");
        assert_eq!(sum.load(), round);
        ctx.signal_set(taken, round, left).await?;
        taken.wait_until(Cmp::Ge, round).await?;
    }
    world.barrier_all().await
}

#[test]
fn what_is_ordered_stays_so_in_batches_of_many_sizes() {
    let _limit = time_limit(90);
    if !has_ucx() {
        return;
    }
    Job::new(test_name!(), 2)
        .hosts("2")
        .env("SHMEM_NET=ucx")
        .env("SHMEM_NET_SECURITY=auth")
        .env("UCX_RNDV_THRESH=1k")
        .run(batches_of_many_sizes);
}

#[test]
fn a_signal_comes_after_its_data_whatever_their_size() {
    let _limit = time_limit(90);
    if !reaches_hosts() {
        return;
    }
    // Up to 8 KiB data travels with its signal; beyond that the signal follows.
    const SIZES: [usize; 9] = [1, 2, 31, 1000, 1023, 1024, 1025, 9000, 300_001];
    Job::new(test_name!(), 2).hosts("2").run(|world| async move {
        let (me, other, ctx) = (world.my_pe() as u64, 1 - world.my_pe(), world.context());
        let data = world.alloc_zeroed::<u64>(SIZES[8]).await?;
        let words = world.alloc_zeroed::<u64>(2).await?;
        let (arrived, taken) = (words.at(0), words.at(1));
        let mut round = 0;
        for _ in 0..3 {
            for (i, len) in SIZES.into_iter().enumerate() {
                for form in 0..4 {
                    round += 1;
                    let (to, block) = (data.slice(..len), vec![round << 8 | me; len]);
                    match form {
                        0 => drop(ctx.put_signal(to, block, arrived, Signal::Add(1), other).await?),
                        1 => drop(ctx.put_signal_nbi(to, block, arrived, Signal::Set(round), other)),
                        2 => ctx.put_signal(to, &block[..], arrived, Signal::Add(1), other).await?,
                        _ => {
                            let session = ctx.session(SessionOptions::new().batch());
                            drop(session.put_signal(to, block, arrived, Signal::Set(round), other));
                        }
                    }
                    assert_eq!(arrived.wait_until(Cmp::Ge, round).await?, round, "size {i}, form {form}");
                    assert!(
                        data.slice(..len).to_vec() == vec![round << 8 | other as u64; len],
                        "{len} words"
                    );
                    ctx.signal_set(taken, round, other).await?;
                    taken.wait_until(Cmp::Ge, round).await?;
                }
            }
        }
        world.barrier_all().await
    });
}

#[test]
fn contexts_of_many_threads_do_not_disturb_each_other() {
    let _limit = time_limit(90);
    if !reaches_hosts() {
        return;
    }
    const THREADS: usize = 6;
    const LEN: usize = 2000;
    const ROUNDS: u64 = 30;
    for runtime in [PeRuntime::MultiThread, PeRuntime::BlockOn] {
        Job::new(test_name!(), 2).hosts("2").runtime(runtime).run(|world| async move {
            let other = 1 - world.my_pe();
            let rows = world.alloc_zeroed::<u64>(THREADS * LEN).await?;
            let count = world.alloc_zeroed::<u64>(1).await?;
            let thread = |thread: usize| {
                let (world, rows, count) = (world.clone(), rows.clone(), count.clone());
                std::thread::spawn(move || {
                    let ctx = world.create_context(ContextOptions::new().private())?;
                    let row = rows.slice(thread * LEN..(thread + 1) * LEN);
                    for round in 1..=ROUNDS {
                        let len = LEN >> (round % 11);
                        let value = (thread as u64) << 32 | round;
                        drop(ctx.put_nbi(row.slice(..len), vec![value; len], other));
                        world.block_on(ctx.quiet())?;
                        let got = world.block_on(ctx.get_into(vec![0; len], row.slice(..len), other))?;
                        assert_eq!(got, vec![value; len]);
                        let _ = world.block_on(ctx.fetch_inc(count.at(0), other))?;
                        world.block_on(ctx.inc(count.at(0), other))?;
                    }
                    world.block_on(ctx.destroy())
                })
            };
            let threads: Vec<_> = (0..THREADS).map(thread).collect();
            for thread in threads {
                thread.join().unwrap()?;
            }
            world.barrier_all().await?;
            assert_eq!(count.at(0).load(), 2 * ROUNDS * THREADS as u64);
            world.barrier_all().await
        });
    }
}

#[test]
fn a_job_of_two_hosts_can_begin_three_times() {
    let _limit = time_limit(90);
    if !reaches_hosts() {
        return;
    }
    let ended = Job::new(test_name!(), 3).hosts("2:cyclic").end(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            for round in 1..=3u64 {
                let world = oxshmem::init().await.unwrap();
                let (me, n, ctx) = (world.my_pe(), world.n_pes(), world.context());
                let data = world.alloc_zeroed::<u64>(20_000).await.unwrap();
                assert!(data.view().to_vec() == [0; 20_000], "an earlier world has left something");
                world.barrier_all().await.unwrap();
                drop(ctx.put_nbi(&data, vec![round * 10 + me as u64; 20_000], (me + 1) % n));
                world.barrier_all().await.unwrap();
                let left = (me + n - 1) % n;
                assert!(data.view().to_vec() == [round * 10 + left as u64; 20_000]);
                assert!(data.view().ptr(me).is_some());
                let near = |pe: usize| pe % 2 == me % 2;
                assert!(
                    (0..n).all(|pe| data.view().ptr(pe).is_some() == near(pe)),
                    "far memory has no address here"
                );
                world.barrier_all().await.unwrap();
                // Nobody waits for what is under way at the end.
                for _ in 0..500 {
                    ctx.inc(data.at(0), left).await.unwrap();
                }
                world.finalize().await.unwrap();
            }
        });
    });
    assert_eq!(ended.status, 0, "{ended:?}");
}

#[test]
fn what_was_put_to_memory_that_all_have_dropped_does_not_come_to_its_next_owner() {
    const LEN: usize = 4000;
    let _limit = time_limit(60);
    let (latency, jitter) = (Duration::from_millis(5), Duration::from_millis(60));
    let link = Link { latency, jitter, seed: 5, ..Link::default() };
    for what in 0..5 {
        let late =
            LocalCluster::run_with(2, ClusterOptions::default().hosts(2).link(link), |world| async move {
                let (ctx, next) = (world.context(), 1 - world.my_pe());
                let dest = world.alloc_zeroed::<u64>(LEN).await?;
                match what {
                    0 => drop(ctx.put(dest.slice(..100), [7; 100], next)),
                    1 => drop(ctx.put_nbi(&dest, vec![7; LEN], next)),
                    2 => drop(ctx.add(dest.at(0), 7, next)),
                    3 => drop(ctx.fetch_add_nbi(dest.at(0), 7, next)),
                    _ => {
                        let signal = dest.at(LEN - 1);
                        let put = ctx.put_signal_nbi(
                            dest.slice(1..),
                            vec![7; LEN - 1],
                            signal,
                            Signal::Add(1),
                            next,
                        );
                        drop(put);
                    }
                }
                drop(dest);
                let others = world.alloc_zeroed::<u64>(LEN).await?;
                let mut late = false;
                for _ in 0..4 {
                    world.barrier_all().await?;
                    late |= others.view().to_vec() != [0; LEN];
                }
                world.finalize().await?;
                Ok(late)
            });
        assert_eq!(late.unwrap(), [false, false], "operation {what}");
    }
}
