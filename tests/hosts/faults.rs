//! PEs of another host that stop for a while, or die.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use crate::common::{
    self, Job, assert_nothing_left, has_ucx, kill, reaches_hosts, shared_names, soon, stop, test_name,
    time_limit, with_device,
};
use oxshmem::{Error, Result, prelude::*};

/// For how long a PE is stopped: `OXSHMEM_TEST_STALL` seconds, or 3.
fn stall() -> Duration {
    let asked = std::env::var("OXSHMEM_TEST_STALL").ok().and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(asked.unwrap_or(3))
}

/// Stops the process of a PE for a while, from a thread of another.
fn stop_for(pid: u32, time: Duration) -> std::thread::JoinHandle<()> {
    stop(pid);
    std::thread::spawn(move || {
        std::thread::sleep(time);
        kill(pid, libc::SIGCONT);
    })
}

/// The processes of all PEs.
async fn pids(world: &World) -> Result<Vec<u32>> {
    let pids = world.alloc_zeroed::<u32>(world.n_pes()).await?;
    for pe in 0..world.n_pes() {
        world.context().p(pids.at(world.my_pe()), std::process::id(), pe).await?;
    }
    world.barrier_all().await?;
    Ok(pids.view().to_vec())
}

#[test]
fn a_pe_that_is_stopped_for_a_while_has_missed_nothing_when_it_goes_on() {
    let _limit = time_limit(90);
    if !reaches_hosts() {
        return;
    }
    Job::new(test_name!(), 4).hosts("2").run(|world| async move {
        const VICTIM: usize = 3;
        const LEN: usize = 1 << 19;
        let (me, n, ctx) = (world.my_pe(), world.n_pes(), world.context());
        let rows = world.alloc_zeroed::<u64>(n * LEN).await?;
        let small = world.alloc_zeroed::<u64>(n * 1000).await?;
        let words = world.alloc_zeroed::<u64>(3).await?;
        let row = |pe: usize| rows.slice(pe * LEN..(pe + 1) * LEN);
        let pids = pids(&world).await?;
        let begin = Instant::now();
        let stopped = (me == 0).then(|| stop_for(pids[VICTIM], stall()));
        if me != VICTIM {
            let value = me as u64 + 1;
            // Long and short puts, gets of what was there before, atomics of all kinds, and a
            // session.
            let put = ctx.put_nbi(row(me), vec![value; LEN], VICTIM);
            for i in 0..1000 {
                ctx.p(small.at(me * 1000 + i), value + i as u64, VICTIM).await?;
                ctx.add(words.at(0), value, VICTIM).await?;
            }
            let tickets: Vec<_> = (0..100).map(|_| ctx.fetch_inc_nbi(words.at(1), VICTIM)).collect();
            let got = ctx.get_nbi(vec![1u64; LEN], row(VICTIM), VICTIM);
            let session = ctx.session(oxshmem::SessionOptions::new().batch());
            for _ in 0..1000 {
                session.inc(words.at(2), VICTIM).await?;
            }
            drop(session);
            assert_eq!(put.await?, vec![value; LEN]);
            assert_eq!(got.await?, vec![0; LEN]);
            let mut seen = Vec::new();
            for ticket in tickets {
                seen.push(ticket.await?);
            }
            assert!(seen.iter().all(|&ticket| ticket < 300), "{seen:?}");
            ctx.quiet().await?;
            if me < 2 {
                let elapsed = begin.elapsed();
                assert!(elapsed + Duration::from_millis(500) > stall(), "nobody was stopped: {elapsed:?}");
            }
            assert_eq!(ctx.g(small.at(me * 1000 + 999), VICTIM).await?, value + 999);
        }
        world.barrier_all().await?;
        if me == VICTIM {
            for pe in 0..n - 1 {
                assert_eq!(row(pe).to_vec(), vec![pe as u64 + 1; LEN]);
                let expected: Vec<u64> = (0..1000).map(|i| pe as u64 + 1 + i).collect();
                assert_eq!(small.slice(pe * 1000..(pe + 1) * 1000).to_vec(), expected);
            }
            assert_eq!(words.view().to_vec(), [6000, 300, 3000]);
        }
        if let Some(stopped) = stopped {
            stopped.join().unwrap();
        }
        Ok(())
    });
}

#[test]
fn pes_that_put_to_each_other_while_each_is_stopped_in_turn_lose_nothing() {
    let _limit = time_limit(90);
    if !reaches_hosts() {
        return;
    }
    Job::new(test_name!(), 2).hosts("2").run(|world| async move {
        const LEN: usize = 200_003;
        let (me, ctx) = (world.my_pe(), world.context());
        let data = world.alloc_zeroed::<u64>(LEN).await?;
        let signal = world.alloc_zeroed::<u64>(1).await?;
        let pids = pids(&world).await?;
        let other = 1 - me;
        for round in 1..=6u64 {
            let stopped = (round % 2 == me as u64).then(|| stop_for(pids[other], Duration::from_millis(400)));
            let block = vec![round << 32 | me as u64; LEN];
            ctx.put_signal_nbi(&data, block, signal.at(0), Signal::Set(round), other).await?;
            signal.at(0).wait_until(Cmp::Ge, round).await?;
            assert_eq!(data.view().to_vec(), vec![round << 32 | other as u64; LEN]);
            if let Some(stopped) = stopped {
                stopped.join().unwrap();
            }
            world.barrier_all().await?;
        }
        Ok(())
    });
}

#[test]
fn a_pe_of_another_host_that_is_killed_takes_the_job_down_with_one_sentence() {
    let _limit = time_limit(90);
    if !reaches_hosts() {
        return;
    }
    let before = shared_names();
    let on_device = ["device put", "device get", "device fetch", "device quiet"];
    for what in ["put", "get", "fetch", "quiet", "wait", "barrier", "compute"].into_iter().chain(on_device) {
        // It is there once this process knows the victim.
        let known = std::env::temp_dir().join(format!("victim-{}", std::process::id()));
        let (doing, file) = (format!("DOING={what}"), format!("KNOWN={}", known.display()));
        let running = Job::new(test_name!(), 4).hosts("2").env(&doing).env(&file).start(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let outcome = runtime.block_on(async {
                let doing = std::env::var("DOING").unwrap();
                let (world, words) = match doing.strip_prefix("device") {
                    None => {
                        let world = oxshmem::init().await?;
                        let words = world.alloc_zeroed::<u64>(1 << 20).await?;
                        (world, words)
                    }
                    Some(_) => {
                        let world = oxshmem::init_with(with_device()).await?;
                        let words = world.space(SpaceKind::Gpu)?.alloc_zeroed::<u64>(1 << 19).await?;
                        (world, words)
                    }
                };
                let pids = pids(&world).await?;
                let ctx = world.context();
                if world.my_pe() == 3 {
                    std::thread::sleep(Duration::from_secs(100));
                }
                if world.my_pe() == 2 {
                    while !Path::new(&std::env::var("KNOWN").unwrap()).exists() {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                    // So that the others are in the midst of it.
                    tokio::time::sleep(Duration::from_millis(300)).await;
                    kill(pids[3], libc::SIGKILL);
                }
                loop {
                    match doing.trim_start_matches("device ") {
                        "put" => drop(ctx.put(&words, vec![1; words.view().len()], 3).await?),
                        "get" => drop(ctx.get(&words, 3).await?),
                        "fetch" => drop(ctx.fetch_inc(words.at(0), 3).await?),
                        "quiet" => {
                            ctx.p(words.at(world.my_pe()), 1, 3).await?;
                            ctx.quiet().await?;
                        }
                        "wait" => drop(words.at(0).wait_until(Cmp::Eq, 1).await?),
                        "barrier" => world.barrier_all().await?,
                        _ => std::thread::sleep(Duration::from_millis(10)),
                    }
                }
                #[expect(unreachable_code, reason = "it says what the block returns")]
                Result::Ok(())
            });
            if let Err(error) = outcome {
                assert!(matches!(error, Error::PeLost { pe: 3, .. } | Error::GlobalExit { .. }), "{error}");
                std::thread::sleep(Duration::from_secs(100));
            }
        });
        let victim = running.pe(3);
        std::fs::write(&known, "").unwrap();
        let started = Instant::now();
        while common::is_alive(victim) {
            assert!(started.elapsed() < Duration::from_secs(30), "{what}: PE 3 is not killed");
            std::thread::sleep(Duration::from_millis(1));
        }
        let killed = Instant::now();
        let ended = running.end();
        let took = killed.elapsed();
        std::fs::remove_file(&known).unwrap();
        assert!(took < Duration::from_secs(2), "{what}: the others took {took:?} to end");
        assert_eq!(ended.status, 137, "{what}: {ended:?}");
        let sentence = format!("oshrun: PE 3 (pid {victim}, host ");
        assert!(ended.stderr.contains(&sentence), "{what}: {}", ended.stderr);
        assert!(ended.stderr.contains("was killed by signal 9 (SIGKILL)"), "{what}: {}", ended.stderr);
        assert_eq!(ended.stderr.matches("oshrun: ").count(), 1, "{what}: {}", ended.stderr);
    }
    assert_nothing_left(&before);
}

#[test]
fn what_waits_for_a_pe_that_died_fails_and_names_it() {
    let _limit = time_limit(60);
    if !reaches_hosts() {
        return;
    }
    // Without the launcher's help: PE 1 leaves without a word, and PE 0 learns of it from the net
    // or from the launcher, whichever is first.
    let ended = Job::new(test_name!(), 2).hosts("2").end(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let world = oxshmem::init().await.unwrap();
            let words = world.alloc_zeroed::<u64>(1).await.unwrap();
            world.barrier_all().await.unwrap();
            if world.my_pe() == 1 {
                kill(std::process::id(), libc::SIGKILL);
            }
            let fetches = async {
                loop {
                    if let Err(error) = world.context().fetch_inc(words.at(0), 1).await {
                        return error;
                    }
                }
            };
            let error = soon("the loss of PE 1", fetches).await;
            assert!(matches!(error, Error::PeLost { pe: 1, .. }), "{error}");
            eprintln!("PE 0 says: {error}");
        });
    });
    assert_eq!(ended.status, 137, "{ended:?}");
    assert!(ended.stderr.contains("oshrun: PE 1 (pid "), "{}", ended.stderr);
}

#[test]
fn ucx_that_is_to_encrypt_is_refused_with_a_sentence() {
    let _limit = time_limit(60);
    let job = Job::new(test_name!(), 2).hosts("2").env("SHMEM_NET=ucx").env("SHMEM_NET_SECURITY=encrypt");
    let ended = job.end(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        eprintln!("{}", runtime.block_on(oxshmem::init()).unwrap_err());
        std::process::exit(1);
    });
    assert_eq!(ended.status, 1, "{ended:?}");
    let sentence = "SHMEM_NET_SECURITY=encrypt asks for what UCX does not do; take TCP (SHMEM_NET=tcp)";
    assert!(ended.stderr.contains(sentence), "{}", ended.stderr);
}

#[test]
fn pes_that_cannot_be_reached_end_the_job_with_a_sentence() {
    let _limit = time_limit(60);
    if !has_ucx() {
        return;
    }
    let ended = Job::new(test_name!(), 2)
        .hosts("2")
        .env("SHMEM_NET=ucx")
        .env("SHMEM_NET_SECURITY=auth")
        .env("UCX_TLS=self")
        .end(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let world = oxshmem::init().await.unwrap();
                let lost = soon("an error", async { world.barrier_all().await.unwrap_err() }).await;
                assert!(matches!(lost, Error::PeLost { .. }), "{lost}");
                eprintln!("{lost}");
                std::process::exit(1);
            });
        });
    assert_eq!(ended.status, 1, "{ended:?}");
    assert!(ended.stderr.contains("is lost: it cannot be reached: "), "{}", ended.stderr);
    assert_eq!(ended.stderr.matches("oshrun: ").count(), 1, "{}", ended.stderr);
}
