//! Programs that a launcher with PMIx starts, `mpirun` or `prterun`, as far as they are installed.

use std::time::{Duration, Instant};

use oxshmem::{Result, World, prelude::*};
use oxshmem_job::{Bootstrap, Pmix, suite};

use crate::busy;
use crate::common::{
    Ended, Job, Launcher, PeRuntime, assert_nothing_left, kill, shared_names, test_name, time_limit,
};

/// Whether this process is a PE, and its test need not look for launchers.
fn is_pe() -> bool {
    std::env::var_os("OXSHMEM_TEST_BODY").is_some()
}

fn launchers() -> Vec<Launcher> {
    if is_pe() { vec![Launcher::Mpirun] } else { Launcher::with_pmix() }
}

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
fn assert_well(ended: &Ended) {
    assert_eq!(ended.status, 0, "{}\n{}", ended.stdout, ended.stderr);
}

#[test]
fn the_bootstrap_passes_the_suite() {
    let _limit = time_limit(90);
    let before = shared_names();
    for launcher in launchers() {
        for n in [1, 2, 4] {
            let ended = Job::new(test_name!(), n).under(launcher).end(|| {
                suite::runtime().block_on(async {
                    let pe = Pmix::from_env().await.unwrap().expect("the launcher offers PMIx");
                    suite::check(&pe).await;
                    pe.finalized();
                });
            });
            assert_well(&ended);
        }
    }
    assert_nothing_left(&before);
}

#[test]
fn pes_of_one_host_find_each_other_and_share_memory_in_every_runtime() {
    let _limit = time_limit(120);
    for launcher in launchers() {
        for runtime in PeRuntime::ALL {
            let ended = Job::new(test_name!(), 4).under(launcher).runtime(runtime).run(|world| async move {
                let (me, n) = (world.my_pe(), world.n_pes());
                assert_eq!(n, 4);
                assert_eq!(*world.pe().placement().local, [0, 1, 2, 3]);
                assert!(world.pe().net().is_none());
                let inbox = world.alloc_zeroed::<u64>(n).await?;
                for pe in 0..n {
                    world.context().put(inbox.at(me), 100 + me as u64, pe).await?;
                }
                world.barrier_all().await?;
                assert!((0..n).all(|pe| inbox.at(pe).load() == 100 + pe as u64));
                println!("PE {me} has all");
                Ok(())
            });
            assert_eq!(ended.stdout.matches("has all").count(), 4, "{}", ended.stdout);
        }
    }
}

#[test]
fn a_process_can_be_a_pe_again_after_finalize_and_after_a_world_that_was_dropped() {
    let _limit = time_limit(60);
    for launcher in launchers() {
        let ended = Job::new(test_name!(), 3).under(launcher).end(|| {
            suite::runtime().block_on(async {
                for round in 0..4 {
                    let world = oxshmem::init().await.unwrap();
                    let refused = oxshmem::init().await.err().map(|error| error.to_string());
                    let text = format!("init: this process is already PE {} of a running job", world.my_pe());
                    assert!(refused.is_some_and(|error| error.starts_with(&text)));
                    let word = world.alloc_zeroed::<u64>(1).await.unwrap();
                    world.context().add(word.at(0), 1, 0).await.unwrap();
                    world.barrier_all().await.unwrap();
                    assert!(world.my_pe() > 0 || word.at(0).load() == 3);
                    if round != 1 {
                        world.finalize().await.unwrap();
                    }
                }
            });
        });
        assert_well(&ended);
    }
}

#[test]
fn a_pe_that_is_killed_takes_the_job_with_it() {
    let _limit = time_limit(90);
    let before = shared_names();
    for launcher in launchers() {
        for what in ["wait", "init"] {
            let job = Job::new(test_name!(), 3).under(launcher).env(&format!("WAIT_IN={what}"));
            let running = job.start(|| {
                let wait_in_init = std::env::var("WAIT_IN").is_ok_and(|what| what == "init");
                if wait_in_init && std::env::var("PMIX_RANK").is_ok_and(|rank| rank == "1") {
                    std::thread::sleep(Duration::from_secs(100));
                }
                main_of(|world| async move {
                    let word = world.alloc_zeroed::<u64>(1).await?;
                    word.at(0).wait_until(Cmp::Eq, 1).await.map(drop)
                })
            });
            let pes = running.pes(3);
            std::thread::sleep(Duration::from_millis(500));
            let is_first = |pid: &u32| {
                let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
                environment.split(|&byte| byte == 0).any(|variable| variable == b"PMIX_RANK=1")
            };
            let victim = pes.into_iter().find(is_first).expect("PE 1");
            let since = Instant::now();
            kill(victim, libc::SIGKILL);
            let ended = running.end();
            println!("{launcher:?}, others in {what}: over after {:?}", since.elapsed());
            assert_eq!(ended.status, 137, "{ended:?}");
            assert!(since.elapsed() < Duration::from_secs(8));
        }
    }
    assert_nothing_left(&before);
}

#[test]
fn a_killed_launcher_takes_pes_that_compute_wait_and_sleep_with_it_within_three_seconds() {
    let _limit = time_limit(90);
    let before = shared_names();
    for launcher in launchers() {
        let running = Job::new(test_name!(), 3).under(launcher).start(|| main_of(busy::for_ever));
        let pes = running.pes(3);
        busy::await_all(&pes);
        running.kill_launcher();
        busy::assert_gone_soon(&pes);
        let ended = running.end();
        println!("{launcher:?}: {}", ended.stderr);
    }
    assert_nothing_left(&before);
}

#[test]
fn global_exit_ends_the_job_with_its_status() {
    let _limit = time_limit(90);
    for launcher in launchers() {
        for (status, expected) in [(7, 7), (0, 0), (300, 44)] {
            let job = Job::new(test_name!(), 3).under(launcher).env(&format!("STATUS={status}"));
            let since = Instant::now();
            let ended = job.end(|| {
                let status = std::env::var("STATUS").unwrap().parse().unwrap();
                main_of(|world| async move {
                    let word = world.alloc_zeroed::<u64>(1).await?;
                    world.barrier_all().await?;
                    if world.my_pe() == 1 {
                        world.global_exit(status).await?;
                    }
                    word.at(0).wait_until(Cmp::Eq, 1).await.map(drop)
                });
            });
            assert_eq!(ended.status, expected, "{launcher:?}: {ended:?}");
            assert!(since.elapsed() < Duration::from_secs(8));
        }
    }
}

#[test]
fn a_pe_that_leaves_without_finalize_fails_the_job() {
    let _limit = time_limit(60);
    for launcher in launchers() {
        let ended = Job::new(test_name!(), 2).under(launcher).end(|| {
            main_of(|world| async move {
                world.barrier_all().await?;
                if world.my_pe() == 1 {
                    return Ok(());
                }
                let word = world.alloc_zeroed::<u64>(1).await?;
                word.at(0).wait_until(Cmp::Eq, 1).await.map(drop)
            });
        });
        assert_ne!(ended.status, 0, "{launcher:?}: {ended:?}");
    }
}

#[test]
fn an_example_is_one_job() {
    let _limit = time_limit(60);
    let program = std::env::current_exe().expect("this program's path");
    // target/PROFILE/deps/this-program
    let example = program.ancestors().nth(2).expect("a target folder").join("examples/hello");
    if !example.exists() {
        return println!("skipped: cargo was not asked to build the examples");
    }
    for launcher in launchers() {
        let ended = Job::of_program(&example, 4).under(launcher).end(|| ());
        assert_well(&ended);
        println!("{}", ended.stdout);
        for pe in 0..4 {
            assert!(ended.stdout.contains(&format!("PE {pe} of 4")), "{}", ended.stdout);
        }
    }
}

#[test]
fn without_the_launcher_that_the_environment_names_init_fails_and_says_so() {
    let _limit = time_limit(60);
    if !is_pe() && Launcher::with_pmix().is_empty() {
        return;
    }
    let name = test_name!();
    let job = |variable| {
        Job::alone(name).env("PMIX_NAMESPACE=gone").env("PMIX_RANK=0").env(variable).end(|| {
            let error = futures::executor::block_on(oxshmem::init()).expect_err("there is nobody");
            println!("{error}");
        })
    };
    let ended = job("NOTHING=else");
    assert!(ended.stdout.contains("init: PMIX_NAMESPACE and PMIX_RANK say"), "{ended:?}");
    assert!(ended.stdout.contains("its server cannot be reached"), "{ended:?}");
    let ended = job("OXSHMEM_PMIX_LIBRARY=/nowhere/libpmix.so.2");
    assert!(ended.stdout.contains("PMIx cannot be loaded from /nowhere/libpmix.so.2"), "{ended:?}");
    let ended = job("PMIX_RANK=first");
    assert!(ended.stdout.contains("PMIX_RANK=\"first\" is no number"), "{ended:?}");
}
