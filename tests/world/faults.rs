//! Programs that fail under `oshrun`: each ends soon, with one message that says what happened, and
//! leaves no process and no file behind.

use std::time::{Duration, Instant};

use crate::common::{Ended, Job, PeRuntime, assert_nothing_left, kill, shared_names, test_name, time_limit};
use oxshmem::{Result, World, prelude::*};

/// Runs `body` as the main function of a PE, without `finalize` unless it calls that.
fn main_of<F: Future<Output = Result<()>>>(body: impl FnOnce(World) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let end = runtime.block_on(async { body(oxshmem::init().await?).await });
    if let Err(error) = end {
        eprintln!("Error: {error}");
        std::process::exit(1);
    }
}

#[track_caller]
fn assert_ended(ended: &Ended, status: i32, parts: &[&str]) {
    assert_eq!(ended.status, status, "{ended:?}");
    for part in parts {
        assert!(ended.stderr.contains(part), "{part:?} is not in {}", ended.stderr);
    }
    assert_eq!(ended.stderr.matches("oshrun: ").count(), 1, "{}", ended.stderr);
}

#[test]
fn a_pe_that_is_killed_takes_those_that_wait_with_it_within_a_second() {
    let _limit = time_limit(90);
    let before = shared_names();
    for runtime in [PeRuntime::CurrentThread, PeRuntime::BlockOn] {
        for what in ["wait", "barrier", "broadcast", "alloc"] {
            let job = Job::new(test_name!(), 3).runtime(runtime).env(&format!("WAIT_IN={what}"));
            let running = job.start(|| {
                let block_on = std::env::var("OXSHMEM_TEST_RUNTIME").is_ok_and(|name| name == "BlockOn");
                let body = |world: World| async move {
                    let word = world.alloc_zeroed::<u64>(1).await?;
                    world.barrier_all().await?;
                    if world.my_pe() == 1 {
                        println!("pid {} is here", std::process::id());
                        std::thread::sleep(Duration::from_secs(100));
                    }
                    match std::env::var("WAIT_IN").unwrap().as_str() {
                        "wait" => word.at(0).wait_until(Cmp::Eq, 1).await.map(drop),
                        "barrier" => world.barrier_all().await,
                        "broadcast" => world.broadcast_bytes(None, 1).await.map(drop),
                        _ => world.alloc::<u8>(1).await.map(drop),
                    }
                };
                if block_on {
                    let world = futures::executor::block_on(oxshmem::init()).unwrap();
                    let _ = world.clone().block_on(body(world));
                } else {
                    main_of(body);
                }
            });
            running.pes(3);
            std::thread::sleep(Duration::from_millis(150));
            // The one that is PE 1, by its own environment.
            let is_first = |pid: &u32| {
                let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
                String::from_utf8_lossy(&environment).contains("pe=1,")
            };
            let victim = running.pes(3).into_iter().find(is_first).expect("PE 1");
            let started = Instant::now();
            kill(victim, libc::SIGKILL);
            let ended = running.end();
            assert!(started.elapsed() < Duration::from_millis(1500), "{:?}", started.elapsed());
            assert_ended(
                &ended,
                137,
                &[&format!("PE 1 (pid {victim}, host "), "was killed by signal 9 (SIGKILL)"],
            );
        }
    }
    assert_nothing_left(&before);
}

#[test]
fn a_panic_of_one_pe_ends_the_job() {
    let _limit = time_limit(60);
    let before = shared_names();
    let ended = Job::new(test_name!(), 3).end(|| {
        main_of(|world| async move {
            if world.my_pe() == 2 {
                panic!("the disk is full");
            }
            world.barrier_all().await
        });
    });
    assert_ended(&ended, 101, &["the disk is full", "oshrun: PE 2 (pid ", "exited with status 101"]);
    assert_nothing_left(&before);
}

#[test]
fn an_early_return_of_one_pe_ends_the_job() {
    let _limit = time_limit(60);
    let before = shared_names();
    let ended = Job::new(test_name!(), 3).end(|| {
        main_of(|world| async move {
            if world.my_pe() == 1 {
                return Ok(());
            }
            world.finalize().await
        });
    });
    assert_ended(&ended, 1, &["oshrun: PE 1 (pid ", "exited with status 0 without finalize"]);
    assert_nothing_left(&before);
}

#[test]
fn a_pe_that_leaves_as_another_is_killed_is_not_to_blame() {
    let _limit = time_limit(60);
    let before = shared_names();
    for way in ["return", "fail", "abort"] {
        let ended = Job::new(test_name!(), 2).env(&format!("LEAVE_BY={way}")).end(|| {
            main_of(|world| async move {
                let words = world.alloc_zeroed::<u64>(2).await?;
                let ctx = world.context();
                if world.my_pe() == 1 {
                    // What it takes a while to give back.
                    let memory = vec![1u8; 512 << 20];
                    ctx.put(words.slice(..1), [std::process::id().into()], 0).await?;
                    words.at(1).wait_until(Cmp::Eq, u64::from(memory[12_345])).await?;
                    unreachable!("nobody sets it");
                }
                let pid = words.at(0).wait_until(Cmp::Ne, 0).await?;
                kill(pid as u32, libc::SIGKILL);
                // Like one who hears of it by a connection that is closed: before the kernel tells
                // oshrun.
                std::thread::sleep(Duration::from_millis(5));
                match std::env::var("LEAVE_BY").as_deref() {
                    Ok("return") => Ok(()),
                    Ok("fail") => std::process::exit(3),
                    _ => world.global_exit(4).await,
                }
            });
        });
        assert_ended(&ended, 137, &["PE 1 (pid ", "was killed by signal 9 (SIGKILL)"]);
    }
    assert_nothing_left(&before);
}

#[test]
fn a_pe_that_takes_its_time_to_end_is_to_blame() {
    let _limit = time_limit(60);
    let before = shared_names();
    // Those of the other host see that it is gone, and end sooner.
    let ended = Job::new(test_name!(), 3).launcher_args(&["--fake-hosts", "2"]).end(|| {
        let outcome = std::panic::catch_unwind(|| {
            main_of(|world| async move {
                world.barrier_all().await?;
                assert_ne!(world.my_pe(), 2, "the disk is full");
                world.barrier_all().await
            })
        });
        assert!(outcome.is_err(), "the others have ended by now");
        std::thread::sleep(Duration::from_millis(300));
        std::process::exit(7);
    });
    assert_ended(&ended, 7, &["the disk is full", "oshrun: PE 2 (pid ", "exited with status 7"]);
    assert_nothing_left(&before);
}

#[test]
fn an_exhausted_heap_ends_the_job_with_what_to_raise() {
    let _limit = time_limit(60);
    let before = shared_names();
    let ended = Job::new(test_name!(), 2).env("SHMEM_SYMMETRIC_SIZE=1M").end(|| {
        main_of(|world| async move {
            world.alloc::<u64>(1 << 20).await?;
            world.finalize().await
        });
    });
    let parts =
        ["no room for 8388608 bytes", "1048576 of 1048576 bytes are free", "raise SHMEM_SYMMETRIC_SIZE"];
    assert_ended(&ended, 1, &parts);
    assert_nothing_left(&before);
}

#[test]
fn a_pe_out_of_range_ends_the_job_with_the_range() {
    let _limit = time_limit(60);
    let before = shared_names();
    let ended = Job::new(test_name!(), 2).end(|| {
        main_of(|world| async move {
            let word = world.alloc_zeroed::<u64>(1).await?;
            world.context().p(word.at(0), 1, 2).await?;
            world.finalize().await
        });
    });
    assert_ended(&ended, 1, &["Error: p: PE 2 is out of range, this job has PEs 0 to 1"]);
    assert_nothing_left(&before);
}

#[test]
fn an_unaligned_typed_access_is_refused() {
    let _limit = time_limit(60);
    let before = shared_names();
    let ended = Job::new(test_name!(), 2).end(|| {
        main_of(|world| async move {
            let bytes = world.alloc_zeroed::<u8>(64).await?;
            let word = bytes.slice(1..9).cast::<u64>()?;
            world.context().inc(word.at(0), 0).await?;
            world.finalize().await
        });
    });
    assert_ended(
        &ended,
        1,
        &["Error: cast: 8 bytes at offset", "cannot be seen as elements of 8 bytes aligned to 8"],
    );
    assert_nothing_left(&before);
}

#[test]
fn a_setting_that_cannot_be_used_ends_the_job_with_its_name_and_value() {
    let _limit = time_limit(60);
    let before = shared_names();
    let ended = Job::new(test_name!(), 2).env("SHMEM_SYMMETRIC_SIZE=lots").end(|| {
        main_of(|world| async move { world.finalize().await });
    });
    assert_ended(&ended, 1, &["SHMEM_SYMMETRIC_SIZE=\"lots\""]);
    assert_nothing_left(&before);
}

#[test]
fn a_killed_launcher_leaves_nothing() {
    let _limit = time_limit(60);
    let before = shared_names();
    let job = Job::new(test_name!(), 3);
    let running = job.start(|| {
        main_of(|world| async move {
            let word = world.alloc_zeroed::<u64>(1).await?;
            word.at(0).wait_until(Cmp::Eq, 1).await.map(drop)
        });
    });
    running.pes(3);
    std::thread::sleep(Duration::from_millis(100));
    let started = Instant::now();
    running.kill_launcher();
    let ended = running.end();
    assert!(started.elapsed() < Duration::from_millis(1500), "{:?}", started.elapsed());
    assert_eq!(ended.status, 137, "{ended:?}");
    assert_nothing_left(&before);
}
