//! Sleep and waking between processes: no wakeup is lost, on whichever side the fence is and
//! whatever drives, and a PE that waits uses no processor.

use std::time::{Duration, Instant};

use crate::common::{Job, PeRuntime, Random, cpu_time, on_one_host, soon, test_name, time_limit};
use oxshmem::{Result, prelude::*};

const RUNTIMES: [PeRuntime; 4] =
    [PeRuntime::CurrentThread, PeRuntime::MultiThread, PeRuntime::Futures, PeRuntime::BlockOn];

async fn slow_writer(world: World) -> Result<()> {
    let me = world.my_pe();
    let word = world.alloc_zeroed::<u64>(2).await?;
    for round in 1..=3u64 {
        if me == 0 {
            std::thread::sleep(Duration::from_millis(50));
            world.context().p(word.at(0), round, 1).await?;
        } else {
            let started = Instant::now();
            assert_eq!(word.at(0).wait_until(Cmp::Ge, round).await?, round);
            assert!(started.elapsed() < Duration::from_secs(2));
        }
        world.barrier_all().await?;
    }
    Ok(())
}

#[test]
fn a_store_wakes_a_pe_that_sleeps_on_either_side_of_the_fence_and_with_every_driver() {
    let _limit = time_limit(120);
    for fence in ["writer", "membarrier"] {
        for runtime in RUNTIMES {
            Job::new(test_name!(), 2).runtime(runtime).env(&format!("SHMEM_FENCE={fence}")).run(slow_writer);
        }
    }
}

/// Thousands of handovers, with pauses around the moment where the other side goes to sleep.
async fn ping_pong(world: World) -> Result<()> {
    let rounds: u64 = std::env::var("ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(4000);
    let (me, n, ctx) = (world.my_pe(), world.n_pes(), world.context());
    let token = world.alloc_zeroed::<u64>(1).await?;
    let mut random = Random::new(me as u64 + 17);
    for round in 1..=rounds {
        if me == 0 {
            random.spin(30_000 >> (round % 8));
            ctx.signal_set(token.at(0), round, 1 % n).await?;
        }
        token.at(0).wait_until(Cmp::Ge, round).await?;
        if me != 0 {
            random.spin(30_000 >> (round % 8));
            // Kinds of stores that ring after different instructions.
            match round % 3 {
                0 => ctx.p(token.at(0), round, (me + 1) % n).await?,
                1 => ctx.signal_set(token.at(0), round, (me + 1) % n).await?,
                _ => drop(ctx.swap(token.at(0), round, (me + 1) % n).await?),
            }
        }
    }
    Ok(())
}

#[test]
fn no_wakeup_is_lost_in_thousands_of_handovers() {
    let _limit = time_limit(150);
    for fence in ["writer", "membarrier"] {
        for (runtime, yields) in [
            (PeRuntime::CurrentThread, 0),
            (PeRuntime::CurrentThread, 1),
            (PeRuntime::MultiThread, 0),
            (PeRuntime::BlockOn, 0),
            (PeRuntime::BlockOn, 1),
            (PeRuntime::Futures, 0),
        ] {
            Job::new(test_name!(), 2)
                .runtime(runtime)
                .env(&format!("SHMEM_FENCE={fence}"))
                .env(&format!("SHMEM_YIELD_ROUNDS={yields}"))
                .env("SHMEM_SPIN_NS=0")
                .run(ping_pong);
        }
    }
}

#[test]
fn no_wakeup_is_lost_where_waits_spin_yield_or_share_processors() {
    let _limit = time_limit(120);
    for (n, spin, rounds) in [(2, "auto", 6000), (2, "500", 6000), (3, "auto", 1500), (5, "0", 800)] {
        Job::new(test_name!(), n)
            .env(&format!("SHMEM_SPIN_NS={spin}"))
            .env(&format!("ROUNDS={rounds}"))
            .run(ping_pong);
    }
}

/// Threads of a PE of which some wait in `block_on`, where they drive, and one waits elsewhere, for
/// which the helper does: they take the duty from each other thousands of times. None begins the
/// next round before all have ended theirs, so that none drives for one that was left alone.
#[test]
fn no_wakeup_is_lost_between_threads_that_drive_and_the_helper() {
    let _limit = time_limit(150);
    for (yields, drivers) in [(0, 1), (1, 1), (0, 2), (1, 2), (1000, 2)] {
        let ended = Job::new(test_name!(), 2)
            .env(&format!("SHMEM_YIELD_ROUNDS={yields}"))
            .env(&format!("DRIVERS={drivers}"))
            .env("SHMEM_SPIN_NS=0")
            .end(|| {
                let drivers: usize = std::env::var("DRIVERS").unwrap().parse().unwrap();
                let world = futures::executor::block_on(oxshmem::init()).unwrap();
                let tokens = world.block_on(world.alloc_zeroed::<u64>(8 * (drivers + 1))).unwrap();
                let (me, other) = (world.my_pe(), 1 - world.my_pe());
                let all = std::sync::Barrier::new(drivers + 1);
                std::thread::scope(|scope| {
                    for thread in 0..=drivers {
                        let all = &all;
                        let (world, token) = (world.clone(), tokens.at(8 * thread));
                        scope.spawn(move || {
                            let mut random = Random::new((2 * thread + me) as u64 + 29);
                            for round in 1..=1500 {
                                if me == 0 {
                                    random.spin(10_000 >> (round % 8));
                                    futures::executor::block_on(world.context().p(token, round, other))
                                        .unwrap();
                                }
                                let wait = token.wait_until(Cmp::Ge, round);
                                let seen = match thread {
                                    0 => futures::executor::block_on(wait),
                                    _ => world.block_on(wait),
                                };
                                assert!(seen.unwrap() >= round);
                                if me == 1 {
                                    random.spin(10_000 >> (round % 8));
                                    futures::executor::block_on(world.context().p(token, round, other))
                                        .unwrap();
                                }
                                all.wait();
                            }
                        });
                    }
                });
                world.block_on(world.finalize()).unwrap();
            });
        assert_eq!(ended.status, 0, "{yields} yields, {drivers} threads: {ended:?}");
    }
}

/// Barriers whose PEs come at random times, with no patience at all before sleep.
#[test]
fn no_wakeup_is_lost_in_barriers_of_processes() {
    let _limit = time_limit(120);
    for algorithm in ["dissemination", "counter"] {
        for (n, runtime) in [(3, PeRuntime::CurrentThread), (4, PeRuntime::BlockOn), (2, PeRuntime::Futures)]
        {
            Job::new(test_name!(), n)
                .runtime(runtime)
                .env(&format!("SHMEM_SYNC_ALGORITHM={algorithm}"))
                .env("SHMEM_SPIN_NS=0")
                .env("SHMEM_YIELD_ROUNDS=0")
                .run(|world| async move {
                    let n = world.n_pes() as u64;
                    let count = world.alloc_zeroed::<u64>(1).await?;
                    let mut random = Random::new(world.my_pe() as u64 + 23);
                    for round in 1..=300u64 {
                        random.spin(20_000);
                        world.context().inc(count.at(0), 0).await?;
                        world.barrier_all().await?;
                        assert_eq!(world.context().g(count.at(0), 0).await?, round * n);
                        world.sync_all().await?;
                    }
                    Ok(())
                });
        }
    }
}

#[test]
fn silent_stores_reach_processes_that_sleep() {
    let _limit = time_limit(90);
    if !on_one_host("PEs of another host have no address here") {
        return;
    }
    for runtime in [PeRuntime::CurrentThread, PeRuntime::BlockOn, PeRuntime::Futures, PeRuntime::WithoutIo] {
        Job::new(test_name!(), 2).runtime(runtime).run(|world| async move {
            let word = world.alloc_zeroed::<u64>(2).await?;
            if world.my_pe() == 0 {
                // PE 1 sleeps already when it learns that such stores may come.
                std::thread::sleep(Duration::from_millis(50));
                for round in 1..=10u64 {
                    let address = word.view().ptr(1).expect("one host").cast::<u64>();
                    // SAFETY: an aligned element, mapped while the slice lives; all access to it is
                    // atomic.
                    unsafe { std::sync::atomic::AtomicU64::from_ptr(address) }
                        .store(round, std::sync::atomic::Ordering::Release);
                    word.at(1).wait_until(Cmp::Ge, round).await?;
                }
            } else {
                for round in 1..=10u64 {
                    word.at(0).wait_until(Cmp::Ge, round).await?;
                    world.context().p(word.at(1), round, 0).await?;
                }
            }
            Ok(())
        });
    }
}

#[test]
fn a_pe_that_waits_uses_no_processor() {
    let _limit = time_limit(90);
    for (runtime, n) in [
        (PeRuntime::CurrentThread, 2),
        (PeRuntime::CurrentThread, 4),
        (PeRuntime::MultiThread, 2),
        (PeRuntime::Futures, 2),
        (PeRuntime::BlockOn, 2),
    ] {
        Job::new(test_name!(), n).runtime(runtime).run(|world| async move {
            let word = world.alloc_zeroed::<u64>(8).await?;
            world.barrier_all().await?;
            if world.my_pe() == 0 {
                std::thread::sleep(Duration::from_millis(1000));
                for pe in 1..world.n_pes() {
                    world.context().p(word.at(7), 1, pe).await?;
                }
                return Ok(());
            }
            let before = cpu_time();
            if world.my_pe() == 1 {
                word.at(7).wait_until(Cmp::Eq, 1).await?;
            } else {
                word.wait_until_any(Cmp::Eq, 1).await?;
            }
            let used = cpu_time() - before;
            assert!(used < Duration::from_millis(20), "used {used:?} in a second of waiting");
            Ok(())
        });
    }
}

#[test]
fn a_thousand_waits_of_a_process_are_pending_at_once() {
    let _limit = time_limit(60);
    for runtime in [PeRuntime::CurrentThread, PeRuntime::MultiThread] {
        Job::new(test_name!(), 2).runtime(runtime).run(|world| async move {
            let words = world.alloc_zeroed::<u64>(1000).await?;
            let mut tasks = tokio::task::JoinSet::new();
            for i in 0..1000 {
                let words = words.clone();
                tasks.spawn(async move { words.at(i).wait_until(Cmp::Eq, i as u64 + 1).await });
            }
            tokio::time::sleep(Duration::from_millis(30)).await;
            world.barrier_all().await?;
            for i in (0..1000).map(|i| i * 377 % 1000) {
                world.context().p(words.at(i), i as u64 + 1, 1 - world.my_pe()).await?;
            }
            let mut sum = 0;
            while let Some(seen) = soon("a wake", tasks.join_next()).await {
                sum += seen.expect("no panic")?;
            }
            assert_eq!(sum, 500_500);
            Ok(())
        });
    }
}

#[test]
fn waits_of_processes_are_cancelled_and_taken_up_again() {
    let _limit = time_limit(60);
    for runtime in [PeRuntime::CurrentThread, PeRuntime::MultiThread] {
        Job::new(test_name!(), 2).runtime(runtime).env("SHMEM_SPIN_NS=0").env("SHMEM_YIELD_ROUNDS=0").run(
            |world| async move {
                let (other, ctx) = (1 - world.my_pe(), world.context());
                let words = world.alloc_zeroed::<u64>(1).await?;
                let mut random = Random::new(world.my_pe() as u64 + 31);
                for round in 1..=500u64 {
                    // Given up at about the moment at which the store comes.
                    let early = tokio::time::timeout(
                        Duration::from_micros(random.below(60)),
                        words.at(0).wait_until(Cmp::Ge, round),
                    );
                    if random.below(2) == 0 {
                        let _ = early.await;
                    }
                    random.spin(20_000);
                    ctx.signal_set(words.at(0), round, other).await?;
                    words.at(0).wait_until(Cmp::Ge, round).await?;
                }
                Ok(())
            },
        );
    }
}
