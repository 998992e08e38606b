//! Jobs that a launcher with PMIx starts on two hosts, which are network namespaces joined by a virtual cable. Both have
//! this machine's name, and each a server of PMIx. Under Slurm each has a daemon of its own.

mod common;
#[path = "common/namespaces.rs"]
mod namespaces;
#[path = "common/slurm.rs"]
mod slurm;

use std::time::{Duration, Instant};

use common::{Job, Launcher, has_ucx, kill, test_name, time_limit};
use namespaces::Hosts;
use oxshmem::prelude::*;
use oxshmem_runtime::bootstrap::{Bootstrap, Pmix, suite};
use slurm::Slurm;

/// Makes a job for each launcher, and looks at its end; a PE runs `test` with any job.
fn on_two_hosts(name: &'static str, test: impl Fn(Launcher, Job)) {
    if std::env::var_os("OXSHMEM_TEST_BODY").is_some() {
        return test(Launcher::Mpirun, Job::new(name, 4));
    }
    let launchers = Launcher::with_pmix();
    if launchers.is_empty() {
        return;
    }
    let Some(hosts) = Hosts::join(name) else { return };
    for launcher in launchers {
        test(launcher, hosts.job(name, launcher));
    }
    if let Some(slurm) = Slurm::start(&hosts) {
        test(Launcher::Srun, slurm.job(name));
    }
}

#[test]
fn the_bootstrap_passes_the_suite_across_network_namespaces() {
    let _limit = time_limit(120);
    on_two_hosts(test_name!(), |launcher, job| {
        let ended = job.end(|| {
            suite::runtime().block_on(async {
                let pe = Pmix::from_env().await.unwrap().expect("the launcher offers PMIx");
                let placement = pe.placement();
                assert_eq!((placement.hosts.n_hosts(), placement.local.len()), (2, 2));
                suite::check(&pe).await;
                pe.finalized();
            });
        });
        assert_eq!(ended.status, 0, "{launcher:?}: {ended:?}");
    });
}

#[test]
fn pes_reach_each_other_across_network_namespaces() {
    let _limit = time_limit(120);
    if !has_ucx() {
        return;
    }
    on_two_hosts(test_name!(), |launcher, job| {
        let ended = job.run(|world| async move {
            let (me, n, ctx) = (world.my_pe(), world.n_pes(), world.context());
            assert_eq!((n, world.pe().placement().hosts.n_hosts()), (4, 2));
            assert!(world.pe().net().is_some());
            let inbox = world.alloc_zeroed::<u64>(n).await?;
            let sum = world.alloc_zeroed::<u64>(1).await?;
            for pe in 0..n {
                ctx.put(inbox.at(me), 100 + me as u64, pe).await?;
                ctx.add(sum.at(0), 1 << (8 * me), pe).await?;
            }
            world.barrier_all().await?;
            assert!((0..n).all(|pe| inbox.at(pe).load() == 100 + pe as u64));
            assert_eq!(sum.at(0).load(), 0x0101_0101);
            println!("PE {me} has all");
            Ok(())
        });
        assert_eq!(ended.stdout.matches("has all").count(), 4, "{launcher:?}: {ended:?}");
    });
}

#[test]
fn a_killed_pe_ends_those_in_the_other_network_namespace_too() {
    let _limit = time_limit(120);
    if !has_ucx() {
        return;
    }
    on_two_hosts(test_name!(), |launcher, job| {
        let running = job.start(|| {
            let outcome = suite::runtime().block_on(async {
                let world = oxshmem::init().await?;
                let word = world.alloc_zeroed::<u64>(1).await?;
                word.at(0).wait_until(Cmp::Eq, 1).await.map(drop)
            });
            if let Err(error) = outcome {
                eprintln!("{error}");
                std::process::exit(1);
            }
        });
        let pes = running.pes(4);
        std::thread::sleep(Duration::from_secs(1));
        let begin = Instant::now();
        kill(pes[0], libc::SIGKILL);
        let ended = running.end();
        println!("{launcher:?}: over after {:?}", begin.elapsed());
        assert_ne!(ended.status, 0, "{launcher:?}: {ended:?}");
        assert!(begin.elapsed() < Duration::from_secs(10));
    });
}

#[test]
fn global_exit_ends_the_job_on_both_hosts_with_its_status() {
    let _limit = time_limit(120);
    if !has_ucx() {
        return;
    }
    on_two_hosts(test_name!(), |launcher, job| {
        let ended = job.end(|| {
            let outcome = suite::runtime().block_on(async {
                let world = oxshmem::init().await?;
                let word = world.alloc_zeroed::<u64>(1).await?;
                if world.my_pe() == 3 {
                    world.global_exit(7).await?;
                }
                word.at(0).wait_until(Cmp::Eq, 1).await.map(drop)
            });
            // What the others are told is no failure of their own.
            outcome.expect_err("nobody sets the word");
        });
        assert_eq!(ended.status, 7, "{launcher:?}: {ended:?}");
    });
}
