//! PEs that are bound to processors which they share.

use std::time::Duration;

use crate::common::{Job, Random, cpu_time, reaches_hosts, soon, test_name, time_limit};
use crate::mismatch::differ;
use crate::model::{Arena, FORCED, Made, Way, forced_variables, teams};
use oxshmem::{Error, Result, prelude::*};

/// `n` PEs bound in turn to two processors. None, with the reason, where there are fewer.
fn bound(test: &'static str, n: usize) -> Option<Job> {
    Job::new(test, n).env("SHMEM_SYMMETRIC_SIZE=64M").on_two_processors()
}

/// Random calls on teams of every shape.
async fn sequence(world: World, seed: u64, rounds: usize) -> Result<()> {
    const WAYS: [Way; 5] = [Way::Await, Way::Later, Way::Drop, Way::PollAndDrop, Way::Forget];
    let (mut calls, mut ways) = (Random::new(seed), Random::new(seed * 64 + world.my_pe() as u64 + 1));
    let teams = teams(&world).await?;
    let arena = Arena::new(&world, 8 << 20).await?;
    for round in 0..rounds {
        let most_bytes = if round % 4 == 3 { 60_000 } else { 3000 };
        let round = Made::some(&mut calls, &mut ways, [20, teams.len() as u64], most_bytes, &WAYS);
        arena.round(&world, &teams, &round).await?;
    }
    Ok(())
}

#[test]
fn sequences_come_to_what_the_model_says() {
    let _limit = time_limit(120);
    for (n, spin) in [(3, 2000), (4, 0), (8, 2000), (16, 0)] {
        let Some(job) = bound(test_name!(), n) else { return };
        let rounds = if n > 8 { 10 } else { 20 };
        job.env(&format!("SHMEM_SPIN_NS={spin}")).run(|world| sequence(world, 7, rounds));
    }
}

#[test]
fn sequences_come_to_what_the_model_says_with_each_algorithm() {
    let _limit = time_limit(120);
    for name in FORCED {
        let Some(mut job) = bound(test_name!(), 5) else { return };
        for variable in forced_variables(name) {
            job = job.env(&variable);
        }
        job.run(|world| sequence(world, 3, 10));
    }
}

#[test]
fn sequences_of_two_hosts_come_to_what_the_model_says() {
    let _limit = time_limit(60);
    if !reaches_hosts() {
        return;
    }
    let Some(job) = bound(test_name!(), 8) else { return };
    job.hosts("2").run(|world| sequence(world, 9, 10));
}

#[test]
fn a_pe_that_sleeps_is_woken_by_the_last_one_to_come() {
    let _limit = time_limit(60);
    for n in [4, 7] {
        let Some(job) = bound(test_name!(), n) else { return };
        job.run(|world| async move {
            let (team, me, n) = (world.team(), world.my_pe(), world.n_pes());
            let sums = world.alloc::<u64>(200).await?;
            let before = cpu_time();
            for round in 0..3 * n {
                // Long enough for all others to sleep, on its own processor and on the other.
                if round % n == me {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                let what = format!("round {round}");
                match round / n {
                    0 => soon(&what, team.sync()).await?,
                    // Through scratch memory, and where it lies.
                    kind => {
                        let len = if kind == 1 { 1 } else { 200 };
                        sums.view().fill(1);
                        team.sync().await?;
                        if round % n == me {
                            tokio::time::sleep(Duration::from_millis(20)).await;
                        }
                        soon(&what, team.sum_reduce(sums.slice(..len), sums.slice(..len))).await?;
                        assert_eq!(sums.at(len - 1).load(), n as u64);
                    }
                }
            }
            // 20 ms for each PE in each of five waits.
            let used = cpu_time() - before;
            assert!(
                used < Duration::from_millis(20 * n as u64 * 5 / 4),
                "{used:?} of the processor for waiting"
            );
            world.barrier_all().await
        });
    }
}

#[test]
fn a_pe_that_calls_something_else_wakes_those_that_sleep() {
    let _limit = time_limit(120);
    for n in [3, 6] {
        let Some(job) = bound(test_name!(), n) else { return };
        job.env("SHMEM_SPIN_NS=0").run(|world| differ(world, 1));
    }
    let Some(job) = bound(test_name!(), 6) else { return };
    job.run(|world| async move {
        let team = world.team().split_strided(0, 1, 6).await?.expect("all are in it");
        let word = world.alloc_zeroed::<u64>(1).await?;
        let outcome = if world.my_pe() == 5 {
            // The others sleep.
            tokio::time::sleep(Duration::from_millis(100)).await;
            soon("the sum", team.sum_reduce(&word, &word)).await
        } else {
            soon("the sync", team.sync()).await
        };
        assert!(matches!(outcome, Err(Error::CollectiveMismatch { .. })), "{outcome:?}");
        world.barrier_all().await
    });
}
