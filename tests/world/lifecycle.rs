//! The life of a world: who its PEs are, how it begins and ends, once or several times, and what is
//! left to call afterwards.

use crate::common::{self, Job, cluster, on_pes, pe_counts, settings, test_name, time_limit};
use oxshmem::{ClusterOptions, Error, LocalCluster, ThreadLevel, prelude::*};

#[test]
fn every_pe_has_a_number_of_its_own_below_the_number_of_pes() {
    let _limit = time_limit(60);
    for n in pe_counts() {
        let pes = cluster(n, settings(), move |world| async move {
            assert_eq!(world.n_pes(), n);
            assert!(world.pe_accessible(n - 1) && !world.pe_accessible(n));
            assert!(!world.host().is_empty());
            Ok(world.my_pe())
        });
        assert_eq!(pes.unwrap(), (0..n).collect::<Vec<_>>());
    }
}

#[test]
fn a_world_says_which_library_it_is_of_and_allows_all_threads() {
    let _limit = time_limit(60);
    on_pes(settings(), |world| async move {
        assert_eq!(world.version(), (1, 6));
        assert!(world.name().to_lowercase().contains("oxshmem"));
        assert_eq!(world.thread_level(), ThreadLevel::Multiple);
        assert!(
            ThreadLevel::Single < ThreadLevel::Funneled && ThreadLevel::Serialized < ThreadLevel::Multiple
        );
        Ok(())
    });
}

#[test]
fn clones_on_other_threads_are_the_same_pe() {
    let _limit = time_limit(60);
    on_pes(settings(), |world| async move {
        let sum = world.alloc_zeroed::<u64>(1).await?;
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let (world, sum) = (world.clone(), sum.clone());
                std::thread::spawn(move || {
                    let add = async {
                        for pe in 0..world.n_pes() {
                            world.context().add(sum.at(0), world.my_pe() as u64 + 1, pe).await?;
                        }
                        Ok::<_, oxshmem::Error>(world.my_pe())
                    };
                    world.block_on(add).unwrap()
                })
            })
            .collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), world.my_pe());
        }
        world.barrier_all().await?;
        let n = world.n_pes() as u64;
        assert_eq!(sum.at(0).load(), 3 * n * (n + 1) / 2);
        Ok(())
    });
}

#[test]
fn whatever_is_called_after_finalize_says_so() {
    let _limit = time_limit(60);
    for n in pe_counts() {
        let ends = LocalCluster::run(n, |world| async move {
            let slice = world.alloc_zeroed::<u64>(4).await?;
            let ctx = world.create_context(ContextOptions::new())?;
            let early = slice.at(0).wait_until(Cmp::Eq, 1);
            world.finalize().await?;
            assert!(world.is_finalized());

            let mut wrong = Vec::new();
            let mut check = |what: &'static str, outcome: Result<(), Error>| {
                if !matches!(outcome, Err(Error::Finalized { .. })) {
                    wrong.push(format!("{what}: {outcome:?}"));
                }
            };
            check("finalize", world.finalize().await);
            check("alloc", world.alloc::<u8>(1).await.map(drop));
            check("alloc_zeroed", world.alloc_zeroed::<u8>(1).await.map(drop));
            check("reclaim", world.reclaim().await);
            check("create_context", world.create_context(ContextOptions::new()).map(drop));
            for ctx in [&ctx, world.context()] {
                check("p", ctx.p(slice.at(0), 1, 0).await);
                check("g", ctx.g(slice.at(0), 0).await.map(drop));
                check("put", ctx.put(slice.slice(..1), vec![1], 0).await.map(drop).map_err(Error::from));
                check("get", ctx.get(&slice, 0).await.map(drop));
                check("fetch_add", ctx.fetch_add(slice.at(0), 1, 0).await.map(drop));
                check("signal_set", ctx.signal_set(slice.at(0), 1, 0).await);
            }
            check("wait_until", slice.at(0).wait_until(Cmp::Eq, 1).await.map(drop));
            check("a wait from before", early.await.map(drop));
            check("wait_until_any", slice.wait_until_any(Cmp::Eq, 1).await.map(drop));
            check("free", world.free(slice.clone()).await.map_err(Error::from));
            check("realloc", world.realloc(slice, 9).await.map(drop).map_err(Error::from));
            assert_eq!(wrong, Vec::<String>::new());
            Ok(())
        });
        ends.unwrap();
    }
}

#[test]
fn collectives_after_finalize_say_so() {
    let _limit = time_limit(60);
    for n in pe_counts() {
        let ends = LocalCluster::run(n, |world| async move {
            world.finalize().await?;
            let mut wrong = Vec::new();
            let mut check = |what: &'static str, outcome: Result<(), Error>| {
                if !matches!(outcome, Err(Error::Finalized { .. })) {
                    wrong.push(format!("{what}: {outcome:?}"));
                }
            };
            check("barrier_all", common::soon("a barrier after finalize", world.barrier_all()).await);
            check("sync_all", common::soon("a sync after finalize", world.sync_all()).await);
            let broadcast = world.broadcast_bytes(Some(vec![1]), 0);
            check("broadcast", common::soon("a broadcast after finalize", broadcast).await.map(drop));
            assert_eq!(wrong, Vec::<String>::new());
            Ok(())
        });
        ends.unwrap_or_else(|e| panic!("with {n} PEs: {e}"));
    }
}

#[test]
fn a_wait_that_is_pending_at_finalize_ends_with_finalized() {
    let _limit = time_limit(60);
    on_pes(settings(), |world| async move {
        let never = world.alloc_zeroed::<u64>(1).await?;
        let waiting = tokio::spawn(async move { never.at(0).wait_until(Cmp::Ne, 0).await });
        tokio::task::yield_now().await;
        tokio::spawn(async move {
            let ended = common::soon("the end of the wait", waiting).await.unwrap();
            assert!(matches!(ended, Err(Error::Finalized { .. })), "{ended:?}");
        });
        Ok(())
    });
}

#[test]
fn global_exit_ends_what_all_pes_of_a_cluster_wait_for() {
    let _limit = time_limit(60);
    for n in pe_counts().into_iter().filter(|&n| n > 1) {
        // What PEs saw, since a panic of theirs would only be one more reason for the end.
        let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let end = LocalCluster::run(n, |world| {
            let seen = std::sync::Arc::clone(&seen);
            async move {
                let flag = world.alloc_zeroed::<u64>(1).await?;
                let note = |what, outcome| seen.lock().unwrap().push((what, outcome));
                if world.my_pe() == 1 {
                    let exit = world.global_exit(7).await;
                    note("global_exit", exit);
                } else {
                    note("a wait", flag.at(0).wait_until(Cmp::Eq, 1).await.map(drop));
                }
                note("a barrier", world.barrier_all().await);
                note("an allocation", world.alloc::<u8>(1).await.map(drop));
                world.barrier_all().await
            }
        });
        for (what, outcome) in &*seen.lock().unwrap() {
            let exited = matches!(outcome, Err(Error::GlobalExit { pe: 1, status: 7 }));
            assert!(exited, "with {n} PEs, {what}: {outcome:?}");
        }
        assert!(matches!(end, Err(Error::GlobalExit { pe: 1, status: 7 })), "{end:?}");
    }
}

#[test]
fn a_process_of_another_launcher_says_once_that_it_is_alone() {
    let _limit = time_limit(60);
    let job = Job::alone(test_name!()).env("PMI_RANK=1").env("PMI_SIZE=2");
    let ended = job.end(|| {
        for _ in 0..2 {
            let world = futures::executor::block_on(oxshmem::init()).unwrap();
            assert_eq!((world.my_pe(), world.n_pes()), (0, 1));
            world.block_on(world.finalize()).unwrap();
        }
    });
    assert_eq!(ended.status, 0, "{ended:?}");
    let start = "oxshmem: warning: PMI_RANK=1 and PMI_SIZE=2 say that";
    assert_eq!(ended.stderr.matches(start).count(), 1, "{}", ended.stderr);
    assert_eq!(ended.stderr.matches("warning").count(), 1, "{}", ended.stderr);
}

#[test]
fn global_exit_in_a_cluster_of_one_returns_as_in_any_cluster() {
    let _limit = time_limit(60);
    // In a process of its own, since what is to be shown is that the process goes on.
    let ended = Job::alone(test_name!()).end(|| {
        let end = LocalCluster::run(1, |world| async move { world.global_exit(7).await });
        assert!(matches!(end, Err(Error::GlobalExit { pe: 0, status: 7 })), "{end:?}");
        println!("went on");
    });
    assert_eq!((ended.status, ended.stdout.contains("went on")), (0, true), "{ended:?}");
}

#[test]
fn global_exit_of_a_process_is_the_status_of_the_job() {
    let _limit = time_limit(90);
    for (status, code) in [(0, 0), (3, 3)] {
        let job = Job::new(test_name!(), 3).env(&format!("EXIT_STATUS={status}"));
        let ended = job.end(|| {
            let status = std::env::var("EXIT_STATUS").unwrap().parse().unwrap();
            futures::executor::block_on(async {
                let world = oxshmem::init().await.unwrap();
                let never = world.alloc_zeroed::<u64>(1).await.unwrap();
                if world.my_pe() == 1 {
                    let _ = world.global_exit(status).await;
                }
                let _ = never.at(0).wait_until(Cmp::Ne, 0).await;
            });
        });
        assert_eq!(ended.status, code, "{ended:?}");
        if status != 0 {
            assert!(ended.stderr.contains("PE 1 called global_exit(3)"), "{}", ended.stderr);
        }
    }
}

#[test]
fn an_empty_cluster_is_refused() {
    let _limit = time_limit(60);
    let none = LocalCluster::run_with(0, ClusterOptions::default(), |_| async { Ok(()) });
    assert!(none.unwrap_err().to_string().contains("at least one PE"));
}

#[test]
fn clusters_run_one_after_the_other_and_side_by_side() {
    let _limit = time_limit(60);
    let run = || {
        cluster(3, settings(), |world| async move {
            let word = world.alloc_zeroed::<u64>(1).await?;
            world.context().inc(word.at(0), (world.my_pe() + 1) % 3).await?;
            world.barrier_all().await?;
            Ok(word.at(0).load())
        })
    };
    let threads: Vec<_> =
        (0..2).map(|_| std::thread::spawn(move || (run().unwrap(), run().unwrap()))).collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), (vec![1; 3], vec![1; 3]));
    }
}

async fn three_worlds() {
    for round in 0..3 {
        let world = oxshmem::init().await.unwrap();
        let word = world.alloc_zeroed::<u64>(1).await.unwrap();
        world.context().add(word.at(0), round + 1, 0).await.unwrap();
        world.barrier_all().await.unwrap();
        let sum = world.context().g(word.at(0), 0).await.unwrap();
        assert_eq!(sum, (round + 1) * world.n_pes() as u64);
        drop(word);
        world.finalize().await.unwrap();
        assert!(matches!(world.finalize().await, Err(Error::Finalized { .. })));
    }
}

#[test]
fn a_process_can_be_a_pe_three_times() {
    let _limit = time_limit(90);
    let body = || {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(three_worlds());
    };
    let ended = Job::new(test_name!(), 3).end(body);
    assert_eq!(ended.status, 0, "{ended:?}");
}

#[test]
fn a_process_without_launcher_can_be_a_pe_three_times() {
    let _limit = time_limit(60);
    futures::executor::block_on(three_worlds());
}

#[test]
fn init_follows_finalize_while_handles_of_the_old_world_are_still_held() {
    let _limit = time_limit(90);
    let body = || {
        futures::executor::block_on(async {
            let world = oxshmem::init().await.unwrap();
            let word = world.alloc_zeroed::<u64>(1).await.unwrap();
            world.finalize().await.unwrap();
            let second = oxshmem::init().await.expect("init after finalize");
            assert_ne!(second.alloc_zeroed::<u64>(1).await.unwrap().len(), 0);
            // Memory of the world before is foreign to this one.
            let error = second.context().p(word.at(0), 1, 0).await.unwrap_err();
            assert!(matches!(error, Error::ForeignMemory { .. }), "{error}");
            second.finalize().await.unwrap();
        });
    };
    let ended = Job::new(test_name!(), 2).end(body);
    assert_eq!(ended.status, 0, "{ended:?}");
}

#[test]
fn init_in_a_process_that_is_a_pe_already_is_an_error() {
    let _limit = time_limit(90);
    Job::new(test_name!(), 2).run(|world| async move {
        let again = oxshmem::init().await.map(drop);
        let me = world.my_pe();
        assert!(matches!(again, Err(Error::AlreadyInitialized { pe }) if pe == me), "{again:?}");
        Ok(())
    });
}

#[test]
fn pes_with_different_settings_get_an_error_that_names_them() {
    let _limit = time_limit(90);
    let body = || {
        futures::executor::block_on(async {
            let job = std::env::var("OXSHMEM_JOB").unwrap();
            let mut settings = common::settings();
            if job.contains("pe=2,") {
                settings.symmetric_size = 8 << 20;
            }
            let error = oxshmem::init_with(settings).await.map(drop).unwrap_err();
            println!("{error}");
            std::process::exit(5);
        });
    };
    let ended = Job::new(test_name!(), 3).end(body);
    assert_eq!(ended.status, 5, "{ended:?}");
    let line = ended.stdout.lines().find(|line| line.contains("differs")).expect("a message");
    for part in ["SHMEM_SYMMETRIC_SIZE", "16M on PE 0", "8M on PE 2"] {
        assert!(line.contains(part), "{line}");
    }
}

#[test]
fn a_finalize_that_was_cancelled_can_be_called_again() {
    let _limit = time_limit(60);
    for n in pe_counts() {
        let ends = LocalCluster::run(n, |world| async move {
            if world.my_pe() == 0 && world.n_pes() > 1 {
                // The others come later, so this one gives up once.
                let early =
                    tokio::time::timeout(std::time::Duration::from_millis(10), world.finalize()).await;
                assert!(early.is_err());
            } else {
                tokio::time::sleep(std::time::Duration::from_millis(60)).await;
            }
            common::soon("finalize", world.finalize()).await
        });
        ends.unwrap_or_else(|e| panic!("with {n} PEs: {e}"));
    }
}

#[test]
fn a_finalize_whose_future_was_dropped_gives_its_outcome_to_the_next_call() {
    let _limit = time_limit(60);
    for hosts in [1, 2] {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let options = ClusterOptions { settings: settings(), ..ClusterOptions::default() }.hosts(hosts);
            let worlds = LocalCluster::start_with(4, options).await.unwrap();
            let mut polled = Box::pin(worlds[0].finalize());
            assert!(futures::poll!(polled.as_mut()).is_pending());
            drop(polled);
            let mut forgotten = Box::pin(worlds[1].finalize());
            assert!(futures::poll!(forgotten.as_mut()).is_pending());
            std::mem::forget(forgotten);
            drop(worlds[2].finalize());
            let ended = common::soon("finalize", worlds[3].finalize()).await;
            assert!(ended.is_ok(), "{ended:?}");
            // Nobody goes on with the one that was forgotten.
            while !(worlds[0].is_finalized() && worlds[2].is_finalized()) {
                tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            }
            for (pe, world) in worlds.iter().enumerate() {
                let again = common::soon("finalize again", world.finalize()).await;
                // The last one has had its outcome.
                assert_eq!(again.is_ok(), pe != 3, "PE {pe}: {again:?}");
                assert!(matches!(world.finalize().await, Err(Error::Finalized { .. })));
            }
        });
    }
}

#[test]
fn of_worlds_that_are_dropped_without_finalize_nothing_is_left() {
    let _limit = time_limit(90);
    // In a process of its own, as what it has is counted.
    let ended = Job::alone(test_name!()).end(|| {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let mut first: Option<[usize; 3]> = None;
            for round in 0..6 {
                for hosts in [1, 2] {
                    for what in 0..6 {
                        abandon(hosts, what).await;
                    }
                }
                let first = *first.get_or_insert_with(counted);
                let is_more = || counted().iter().zip(first).any(|(now, first)| *now > first);
                let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
                // Threads that are ending end.
                while is_more() && std::time::Instant::now() < deadline {
                    tokio::time::sleep(std::time::Duration::from_millis(10)).await;
                }
                assert!(!is_more(), "in round {round} there were {first:?}, and are {:?}", counted());
            }
        });
    });
    assert_eq!(ended.status, 0, "{ended:?}");
}

/// Mappings of jobs, descriptors and threads.
fn counted() -> [usize; 3] {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap().matches("memfd:oxshmem").count();
    let entries = |folder| std::fs::read_dir(folder).unwrap().count();
    [maps, entries("/proc/self/fd"), entries("/proc/self/task")]
}

/// Two PEs whose worlds are dropped in the middle of something.
async fn abandon(hosts: usize, what: usize) {
    let options = ClusterOptions { settings: settings(), ..ClusterOptions::default() }.hosts(hosts);
    let worlds = LocalCluster::start_with(2, options).await.unwrap();
    let words = futures::future::try_join_all(worlds.iter().map(|world| world.alloc_zeroed::<u64>(100)));
    let words = words.await.unwrap();
    match what {
        0 => assert!(futures::poll!(Box::pin(words[0].at(0).wait_until(Cmp::Eq, 1))).is_pending()),
        1 => assert!(futures::poll!(Box::pin(worlds[0].team().sync())).is_pending()),
        2 => assert!(futures::poll!(Box::pin(worlds[0].alloc::<u64>(10))).is_pending()),
        3 => assert!(futures::poll!(Box::pin(worlds[0].finalize())).is_pending()),
        4 => {
            let locks = [0, 1].map(|pe| Lock::new(worlds[pe].context(), words[pe].at(0)).unwrap());
            let _guard = locks[0].lock().await.unwrap();
            assert!(futures::poll!(Box::pin(locks[1].lock())).is_pending());
        }
        _ => _ = words[0].view().ptr(1),
    }
    // What waits in a task ends.
    let waiting = tokio::spawn({
        let words = words[1].clone();
        async move { words.at(1).wait_until(Cmp::Eq, 1).await }
    });
    tokio::task::yield_now().await;
    drop((words, worlds));
    let ended = common::soon("the wait", waiting).await.unwrap();
    assert!(matches!(ended, Err(Error::PeLost { .. })), "{ended:?}");
}

#[test]
fn processes_with_different_settings_all_get_an_error_on_one_host_and_on_several() {
    let _limit = time_limit(60);
    for hosts in ["1", "2", "4"] {
        let ended = Job::new(test_name!(), 4).hosts(hosts).end(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let is_odd = std::env::var("OXSHMEM_JOB").is_ok_and(|job| job.contains("pe=3,"));
            let mut settings = oxshmem::settings::Settings::from_env().unwrap();
            settings.symmetric_size = if is_odd { 2 << 20 } else { 1 << 20 };
            if let Err(error) = runtime.block_on(oxshmem::init_with(settings)) {
                eprintln!("refused: {error}");
            }
            // The first to end ends the others.
            std::thread::sleep(std::time::Duration::from_millis(500));
        });
        assert_ne!(ended.status, 0, "{ended:?}");
        let errors: Vec<_> = ended.stderr.lines().filter(|line| line.contains("refused: ")).collect();
        let is_right = |line: &&str| {
            line.contains("SHMEM_SYMMETRIC_SIZE") && line.contains("on PE 0") && line.contains("on PE 3")
        };
        assert!(errors.len() == 4 && errors.iter().all(is_right), "on {hosts} hosts: {}", ended.stderr);
    }
}
