//! What drives: waits end in every kind of runtime, and without any, also when a runtime goes away.

use std::{
    sync::mpsc,
    time::{Duration, Instant},
};

use crate::common::{self, Job, PeRuntime, test_name, time_limit};
use oxshmem::prelude::*;

/// A ring of signals with sleep in between, so that every PE is woken from sleep several times;
/// every wait in a task of its own where there is a runtime.
async fn ring(world: World) -> oxshmem::Result<()> {
    let (me, n) = (world.my_pe(), world.n_pes());
    let token = world.alloc_zeroed::<u64>(1).await?;
    for round in 1..=6 {
        if me == 0 {
            std::thread::sleep(Duration::from_millis(5));
            world.context().signal_set(token.at(0), round, (me + 1) % n).await?;
        }
        token.at(0).wait_until(Cmp::Ge, round).await?;
        if me != 0 {
            world.context().signal_set(token.at(0), round, (me + 1) % n).await?;
        }
    }
    world.barrier_all().await?;
    let bytes = world.broadcast_bytes((me == 0).then(|| vec![7; 30_000]), 0).await?;
    assert_eq!(bytes, vec![7; 30_000]);
    Ok(())
}

#[test]
fn waits_end_in_every_runtime_and_without_one() {
    let _limit = time_limit(120);
    for runtime in PeRuntime::ALL {
        for n in [2, 3] {
            let ended = Job::new(test_name!(), n).runtime(runtime).run(ring);
            // A program that does nothing wrong prints nothing that it did not ask for. Tokio tells
            // that it has no I/O by a panic, once a PE, which is caught; its message cannot be.
            let probe = |line: &str| {
                runtime == PeRuntime::WithoutIo
                    && ["readable.rs", "IO is disabled", "RUST_BACKTRACE"]
                        .iter()
                        .any(|text| line.contains(text))
            };
            let stray: Vec<_> =
                ended.stderr.lines().filter(|line| !line.is_empty() && !probe(line)).collect();
            assert!(ended.stderr.matches("panicked").count() <= n, "the probe is made once a PE");
            assert!(stray.is_empty(), "in {runtime:?} with {n} PEs: {stray:#?}");
        }
    }
}

#[test]
fn waits_end_with_the_helper_thread_inside_of_tokio() {
    let _limit = time_limit(60);
    for runtime in [PeRuntime::CurrentThread, PeRuntime::MultiThread] {
        Job::new(test_name!(), 3).runtime(runtime).env("SHMEM_DRIVER=thread").run(ring);
    }
}

#[test]
fn a_driver_that_cannot_be_is_refused() {
    let _limit = time_limit(60);
    let ended = Job::new(test_name!(), 1).env("SHMEM_DRIVER=tokio").end(|| {
        let error = futures::executor::block_on(oxshmem::init()).map(drop).unwrap_err();
        println!("{error}");
        std::process::exit(4);
    });
    assert_eq!(ended.status, 4, "{ended:?}");
    assert!(
        ended.stdout.contains("SHMEM_DRIVER=\"tokio\": init was not called in a tokio runtime"),
        "{ended:?}"
    );
}

#[test]
fn a_wait_survives_the_runtime_that_init_ran_in() {
    let _limit = time_limit(60);
    let ended = Job::new(test_name!(), 2).end(|| {
        let first =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let world = first.block_on(oxshmem::init()).unwrap();
        let words = first.block_on(world.alloc_zeroed::<u64>(2)).unwrap();
        let waiter = {
            let words = words.clone();
            std::thread::spawn(move || futures::executor::block_on(words.at(0).wait_until(Cmp::Eq, 1)))
        };
        // Long enough that the runtime's task drives the wait and sleeps.
        std::thread::sleep(Duration::from_millis(50));
        drop(first);
        std::thread::sleep(Duration::from_millis(50));
        let other = 1 - world.my_pe();
        futures::executor::block_on(world.context().signal_set(words.at(0), 1, other)).unwrap();
        assert_eq!(waiter.join().unwrap().unwrap(), 1);
        futures::executor::block_on(world.finalize()).unwrap();
    });
    assert_eq!(ended.status, 0, "{ended:?}");
}

#[test]
fn block_on_waits_while_a_tokio_runtime_that_nobody_runs_has_a_wait_pending() {
    let _limit = time_limit(60);
    let ended = Job::new(test_name!(), 2).end(|| {
        // The driver task of a current-thread runtime stands still between calls of its `block_on`.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let world = runtime.block_on(oxshmem::init()).unwrap();
        let words = runtime.block_on(world.alloc_zeroed::<u64>(2)).unwrap();
        let pending = words.clone();
        runtime.block_on(async {
            tokio::spawn(async move { pending.at(1).wait_until(Cmp::Eq, 1).await });
            tokio::time::sleep(Duration::from_millis(20)).await;
        });
        if world.my_pe() == 1 {
            std::thread::sleep(Duration::from_millis(200));
            runtime.block_on(world.context().signal_set(words.at(0), 1, 0)).unwrap();
            runtime.block_on(world.finalize()).unwrap();
            return;
        }
        let (done, is_done) = mpsc::channel();
        let waiter = {
            let (world, words) = (world.clone(), words.clone());
            std::thread::spawn(move || {
                let seen = world.block_on(words.at(0).wait_until(Cmp::Eq, 1));
                let _ = done.send(seen.map_err(|e| e.to_string()));
            })
        };
        let seen = is_done.recv_timeout(Duration::from_secs(5));
        assert_eq!(seen.ok(), Some(Ok(1)), "block_on was not woken");
        waiter.join().unwrap();
        runtime.block_on(world.finalize()).unwrap();
    });
    assert_eq!(ended.status, 0, "{ended:?}");
}

/// PE 0 waits in a thread, with another executor than the runtime that `init` ran in, which stands
/// still; PE 1 signals. When the runtime runs again the wait ends. `at_once` it has ended before.
fn waits_beside_a_runtime_that_stands_still(at_once: bool) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let world = runtime.block_on(oxshmem::init()).unwrap();
    let words = runtime.block_on(world.alloc_zeroed::<u64>(1)).unwrap();
    if world.my_pe() == 1 {
        std::thread::sleep(Duration::from_millis(100));
        runtime.block_on(world.context().signal_set(words.at(0), 1, 0)).unwrap();
    } else {
        let (done, is_done) = mpsc::channel();
        let waiter = std::thread::spawn(move || {
            let seen = futures::executor::block_on(words.at(0).wait_until(Cmp::Eq, 1));
            let _ = done.send(seen.map_err(|e| e.to_string()));
        });
        let mut seen = is_done.recv_timeout(Duration::from_millis(if at_once { 10_000 } else { 300 })).ok();
        assert!(!at_once || seen.is_some(), "the wait did not end by itself");
        for _ in 0..100 {
            if seen.is_some() {
                break;
            }
            runtime.block_on(async { tokio::time::sleep(Duration::from_millis(100)).await });
            seen = is_done.try_recv().ok();
        }
        assert_eq!(seen, Some(Ok(1)), "the wait did not end when the runtime ran again");
        waiter.join().unwrap();
    }
    runtime.block_on(world.finalize()).unwrap();
}

#[test]
fn a_wait_beside_a_runtime_that_stands_still_ends_when_it_runs_again_and_at_once_with_a_thread_as_driver() {
    let _limit = time_limit(90);
    let name = test_name!();
    let ended = Job::new(name, 2).env("SHMEM_DRIVER=auto").end(|| {
        waits_beside_a_runtime_that_stands_still(std::env::var("SHMEM_DRIVER").as_deref() == Ok("thread"));
    });
    assert_eq!(ended.status, 0, "{ended:?}");
    let ended = Job::new(name, 2).env("SHMEM_DRIVER=thread").end(|| {
        waits_beside_a_runtime_that_stands_still(std::env::var("SHMEM_DRIVER").as_deref() == Ok("thread"));
    });
    assert_eq!(ended.status, 0, "{ended:?}");
}

#[test]
fn a_thread_that_computes_inside_of_block_on_does_not_hold_up_the_waits_of_others() {
    let _limit = time_limit(60);
    let ended = Job::new(test_name!(), 2).end(|| {
        let world = futures::executor::block_on(oxshmem::init()).unwrap();
        let words = world.block_on(world.alloc_zeroed::<u64>(1)).unwrap();
        if world.my_pe() == 1 {
            std::thread::sleep(Duration::from_millis(100));
            world.block_on(world.context().signal_set(words.at(0), 1, 0)).unwrap();
        } else {
            let computing = {
                let world = world.clone();
                std::thread::spawn(move || {
                    world.block_on(async { std::thread::sleep(Duration::from_millis(1500)) });
                })
            };
            std::thread::sleep(Duration::from_millis(20));
            let started = Instant::now();
            world.block_on(words.at(0).wait_until(Cmp::Eq, 1)).unwrap();
            let waited = started.elapsed();
            assert!(waited < Duration::from_millis(800), "the wait took {waited:?}");
            computing.join().unwrap();
        }
        world.block_on(world.finalize()).unwrap();
    });
    assert_eq!(ended.status, 0, "{ended:?}");
}

#[test]
fn several_threads_of_a_pe_block_at_once() {
    let _limit = time_limit(60);
    let ended = Job::new(test_name!(), 2).end(|| {
        let world = futures::executor::block_on(oxshmem::init()).unwrap();
        let words = world.block_on(world.alloc_zeroed::<u64>(4 * 16)).unwrap();
        let other = 1 - world.my_pe();
        let threads: Vec<_> = (0..4)
            .map(|i| {
                let (world, words) = (world.clone(), words.clone());
                std::thread::spawn(move || {
                    let word = words.at(i * 16);
                    for round in 1..=200u64 {
                        world.block_on(async {
                            world.context().signal_set(word, round, other).await?;
                            word.wait_until(Cmp::Ge, round).await
                        })?;
                    }
                    Ok::<_, oxshmem::Error>(())
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap().unwrap();
        }
        world.block_on(world.finalize()).unwrap();
    });
    assert_eq!(ended.status, 0, "{ended:?}");
}

#[test]
fn waits_go_with_timers_and_channels_of_the_runtime() {
    let _limit = time_limit(60);
    Job::new(test_name!(), 2).run(|world| async move {
        let other = 1 - world.my_pe();
        let word = world.alloc_zeroed::<u64>(1).await?;
        let never = tokio::time::timeout(Duration::from_millis(20), word.at(0).wait_until(Cmp::Eq, 1)).await;
        assert!(never.is_err());
        world.barrier_all().await?;
        let (sender, mut receiver) = tokio::sync::mpsc::channel(1);
        let waiting = word.clone();
        tokio::spawn(async move {
            let seen = waiting.at(0).wait_until(Cmp::Eq, 1).await;
            let _ = sender.send(seen).await;
        });
        tokio::time::sleep(Duration::from_millis(20)).await;
        world.context().p(word.at(0), 1, other).await?;
        assert_eq!(receiver.recv().await.expect("sent")?, 1);
        Ok(())
    });
}

#[test]
fn a_barrier_goes_on_after_the_block_on_that_began_it_has_returned() {
    let _limit = time_limit(60);
    let ended = Job::new(test_name!(), 3).env("SHMEM_SYNC_ALGORITHM=dissemination").end(|| {
        let world = futures::executor::block_on(oxshmem::init()).unwrap();
        let passed = world.block_on(world.alloc_zeroed::<u64>(1)).unwrap();
        if world.my_pe() == 0 {
            // Left pending by a future that is ready at its first poll; from then on nobody here
            // waits for anything.
            let pending = world.block_on(async { common::is_pending(&mut world.barrier_all()).await });
            assert!(pending, "the others come later");
            let deadline = Instant::now() + Duration::from_secs(5);
            while !passed.at(0).test(Cmp::Eq, 2) {
                assert!(Instant::now() < deadline, "the others are still in the barrier");
                std::thread::sleep(Duration::from_millis(5));
            }
        } else {
            std::thread::sleep(Duration::from_millis(100));
            world.block_on(world.barrier_all()).unwrap();
            world.block_on(world.context().inc(passed.at(0), 0)).unwrap();
        }
        world.block_on(world.finalize()).unwrap();
    });
    assert_eq!(ended.status, 0, "{ended:?}");
}
