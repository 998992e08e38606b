//! A PE that computes serves others, and one that has nothing to do uses no processor: over TCP,
//! where puts, gets and atomics are messages that somebody at the target has to answer.

use std::time::{Duration, Instant};

use crate::common::{Job, PeRuntime, cpu_time, reaches_hosts, test_name, time_limit, turns, turns_of_others};
use oxshmem::{Result, prelude::*};

/// Computes for so long, without a call to the library.
fn compute(time: Duration) -> u64 {
    let (end, mut result) = (Instant::now() + time, 1u64);
    while Instant::now() < end {
        for i in 0..1000 {
            result = std::hint::black_box(result.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ i);
        }
    }
    result
}

/// Times of some hundred operations, for at most a second.
async fn times<F: Future<Output = Result<()>>>(operation: impl Fn() -> F) -> Result<Vec<Duration>> {
    let (begin, mut times) = (Instant::now(), Vec::new());
    while times.len() < 500 && begin.elapsed() < Duration::from_secs(1) {
        let start = Instant::now();
        operation().await?;
        times.push(start.elapsed());
    }
    times.sort_unstable();
    Ok(times)
}

#[test]
fn a_pe_that_computes_serves_puts_gets_and_atomics() {
    let _limit = time_limit(60);
    if !reaches_hosts() {
        return;
    }
    let ended = Job::new(test_name!(), 2).hosts("2").run(|world| async move {
        let words = world.alloc_zeroed::<u64>(4).await?;
        let (ctx, at) = (world.context(), |i| words.at(i));
        world.barrier_all().await?;
        if world.my_pe() == 1 {
            compute(Duration::from_secs(4));
            return world.barrier_all().await;
        }
        let begin = Instant::now();
        let puts = times(|| async {
            ctx.p(at(0), 7, 1).await?;
            ctx.quiet().await
        });
        let (puts, gets) = (puts.await?, times(|| async { ctx.g(at(0), 1).await.map(drop) }).await?);
        let atomics = times(|| async { ctx.fetch_inc(at(1), 1).await.map(drop) }).await?;
        // What is gathered leaves, though nobody here calls anything either: the target sees it.
        ctx.session_start(oxshmem::SessionOptions::new().batch());
        ctx.inc(at(2), 1).await?;
        ctx.session_stop();
        let elapsed = begin.elapsed();
        for (what, times) in [("put and quiet", &puts), ("get", &gets), ("fetch_inc", &atomics)] {
            let median = times[times.len() / 2];
            println!("{what}: {median:?} median, {:?} at most, of {}", times[times.len() - 1], times.len());
            // Processors are shared with whatever else is tested: this is far from the figure that
            // is to be met.
            assert!(median < Duration::from_millis(20), "{what} took {median:?}");
        }
        assert!(elapsed < Duration::from_secs(4), "the target was not there any more: {elapsed:?}");
        assert_eq!(ctx.fetch(at(1), 1).await?, atomics.len() as u64);
        ctx.quiet().await?;
        assert_eq!(ctx.g(at(2), 1).await?, 1);
        world.barrier_all().await
    });
    println!("{}", ended.stdout);
}

#[test]
fn the_helper_of_a_pe_that_waits_for_answers_leaves_them_to_it() {
    const ROUNDS: u64 = 10;
    const GETS: u64 = 200;
    const HELPER: &str = "oxshmem-engine";
    let _limit = time_limit(120);
    if !reaches_hosts() {
        return;
    }
    // Where the thread drives, and where the task does.
    for runtime in [PeRuntime::BlockOn, PeRuntime::CurrentThread, PeRuntime::MultiThread] {
        let job = Job::new(test_name!(), 2).hosts("2").runtime(runtime);
        let ended = job.run(|world| async move {
            let word = world.alloc_zeroed::<u64>(1).await?;
            world.barrier_all().await?;
            if world.my_pe() == 0 {
                let (mut woken, mut away, mut taken) = (0, 0, Duration::ZERO);
                for _ in 0..ROUNDS {
                    // Meanwhile the helper goes to sleep on the descriptor, of which the kernel
                    // wakes it for each message.
                    compute(Duration::from_millis(10));
                    let before = (turns(HELPER), turns_of_others(HELPER));
                    let start = Instant::now();
                    for _ in 0..GETS {
                        world.context().g(word.at(0), 1).await?;
                    }
                    taken += start.elapsed();
                    woken += turns(HELPER) - before.0;
                    away += turns_of_others(HELPER) - before.1;
                }
                println!(
                    "\n{:?} each\n{woken} turns while the PE was away {away} times",
                    taken / (ROUNDS * GETS) as u32
                );
            }
            world.barrier_all().await
        });
        println!("{runtime:?}: {}", ended.stdout);
        let counted = ended.stdout.lines().find_map(|line| {
            let (turns, away) = line.strip_suffix(" times")?.split_once(" turns while the PE was away ")?;
            Some((turns.parse::<u64>().ok()?, away.parse::<u64>().ok()?))
        });
        let (turns, away) = counted.unwrap_or_else(|| panic!("{ended:?}"));
        // It may look now and then whether it is needed, and is where the PE's threads have lost
        // their processors to other programs.
        let most = ROUNDS * GETS / 8 + 2 * away;
        assert!(turns < most, "{runtime:?}: the helper was woken {turns} times, of {most} at most");
    }
}

/// The names of this process's threads that the library has started.
fn threads() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let names = tasks.map(|task| std::fs::read_to_string(task.path().join("comm")).unwrap_or_default());
    let mut names: Vec<_> =
        names.map(|name| name.trim().to_owned()).filter(|name| name.starts_with("oxshmem-")).collect();
    names.sort_unstable();
    names
}

#[test]
fn a_process_with_a_net_and_a_device_has_one_thread_that_polls() {
    let _limit = time_limit(60);
    if !reaches_hosts() {
        return;
    }
    for runtime in [PeRuntime::BlockOn, PeRuntime::MultiThread] {
        let job = Job::new(test_name!(), 4).hosts("2").runtime(runtime);
        let job = job.env("SHMEM_ENABLE_GPU_SPACE=1").env("SHMEM_GPU_EMULATE=1");
        let ended = job.run(|world| async move {
            let gpu = world.space(SpaceKind::Gpu)?;
            let there = gpu.alloc_zeroed::<u64>(1).await?;
            let here = world.alloc_zeroed::<u64>(1).await?;
            let (ctx, next) = (world.context(), (world.my_pe() + 1) % world.n_pes());
            for pe in 0..world.n_pes() {
                ctx.inc(there.at(0), pe).await?;
                ctx.inc(here.at(0), pe).await?;
            }
            ctx.quiet().await?;
            // Waits for words in host memory and in device memory, at the same time.
            let n = world.n_pes() as u64;
            let host = here.at(0).wait_until(Cmp::Ge, n);
            let device = there.at(0).wait_until(Cmp::Ge, n);
            let (host, device) = tokio::join!(host, device);
            assert_eq!((host?, device?), (n, n));
            assert!(ctx.fetch(there.at(0), next).await? <= n);
            // The emulated device itself and the watchdog poll nothing.
            let mut threads = threads();
            threads.retain(|name| !["oxshmem-emulate", "oxshmem-watchdo"].contains(&&**name));
            assert_eq!(threads, ["oxshmem-engine"]);
            world.barrier_all().await
        });
        println!("{runtime:?}: {}", ended.stdout);
    }
}

#[test]
fn idle_pes_of_two_hosts_use_hardly_any_processor() {
    let _limit = time_limit(60);
    if !reaches_hosts() {
        return;
    }
    let ended = Job::new(test_name!(), 4).hosts("2").run(|world| async move {
        const IDLE: Duration = Duration::from_secs(3);
        let word = world.alloc_zeroed::<u64>(1).await?;
        let (me, n) = (world.my_pe(), world.n_pes());
        // All connections there are.
        for pe in 0..n {
            assert!(world.context().fetch_inc(word.at(0), pe).await? < n as u64);
        }
        world.barrier_all().await?;
        tokio::time::sleep(Duration::from_millis(300)).await;
        let before = cpu_time();
        // One waits for the others, one has gone to sleep, one blocks its thread.
        match me {
            0 => {
                tokio::time::sleep(IDLE).await;
                for pe in 1..n {
                    world.context().inc(word.at(0), pe).await?;
                }
                world.context().quiet().await?;
            }
            1 => std::thread::sleep(IDLE),
            _ => drop(word.at(0).wait_until(Cmp::Gt, n as u64).await?),
        }
        let share = (cpu_time() - before).as_secs_f64() / IDLE.as_secs_f64();
        println!("PE {me} used {:.2} % of a processor", 100.0 * share);
        assert!(share < 0.01, "PE {me} used {:.2} % of a processor", 100.0 * share);
        world.barrier_all().await
    });
    println!("{}", ended.stdout);
}
