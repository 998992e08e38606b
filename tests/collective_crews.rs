//! PEs that are bound to processors which they share: each processor's count themselves, and go to the others as one.
//!
//! Every job here runs on two processors, however many there are, so that 3 PEs are two crews of different sizes, 4 and 8 two of the same
//! size, and 16 large ones.

mod common;
#[path = "common/mismatch.rs"]
mod mismatch;
#[path = "common/model.rs"]
mod model;

use std::time::Duration;

use common::{Job, Random, cpu_time, has_ucx, is_pending, kill, on_one_host, soon, test_name, time_limit};
use mismatch::differ;
use model::{Arena, FORCED, Made, Way, forced_variables, teams};
use oxshmem::{Error, Result, prelude::*};
use rustix::{
    process::getppid,
    thread::{CpuSet, sched_getaffinity, sched_setaffinity},
};

/// `n` PEs bound in turn to two processors. None, with the reason, where there are not so many.
fn bound(test: &'static str, n: usize) -> Option<Job> {
    Job::new(test, n).env("SHMEM_SYMMETRIC_SIZE=64M").on_two_processors()
}

/// How many messages all PEs of a team send in `calls` calls of `call`.
async fn messages<F: Future<Output = Result<()>>>(
    world: &World,
    team: &Team,
    calls: u64,
    call: impl Fn() -> F,
) -> Result<u64> {
    let sent = world.alloc::<u64>(1).await?;
    let before = team.messages_sent();
    for _ in 0..calls {
        call().await?;
    }
    sent.at(0).store(team.messages_sent() - before);
    world.team().sum_reduce(&sent, &sent).await?;
    Ok(sent.at(0).load())
}

#[test]
fn a_crew_goes_to_the_others_once() {
    let _limit = time_limit(60);
    // The same in the jobs that this starts, which are on as many hosts.
    if !on_one_host("what leaders send each other is counted too") {
        return;
    }
    for n in [3, 4, 8, 16] {
        let Some(job) = bound(test_name!(), n) else { return };
        job.run(|world| async move {
            let n = world.n_pes() as u64;
            let team = world.team().split_strided(0, 1, n as usize).await?.expect("all are in it");
            // Everybody counts, and two go on to the team's counter; the last sets a word for each crew.
            let sent = messages(&world, &team, 50, || async { team.sync().await }).await?;
            assert_eq!(sent, 50 * (n + 2 + 2));
            // PEs of one processor are a crew, and no more.
            let evens = world.team().split_strided(0, 2, (n as usize).div_ceil(2)).await?;
            if let Some(evens) = evens {
                let members = evens.n_pes() as u64;
                let before = evens.messages_sent();
                (0..50).map(|_| evens.sync()).collect::<Vec<_>>().pop().expect("there are some").await?;
                let most = evens.messages_sent() - before;
                assert!(members < 2 || most <= 50 * 3, "{most} messages of one of {members} PEs");
            }
            // A PE for each processor: there is nobody to share it with.
            if let Some(two) = world.team().split_strided(0, 1, 2).await? {
                let before = two.messages_sent();
                two.sync().await?;
                assert_eq!(two.messages_sent() - before, 1);
            }
            world.barrier_all().await
        });
    }
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
fn they_do_with_each_algorithm() {
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
fn those_of_two_hosts_are_crews_of_their_own() {
    let _limit = time_limit(60);
    if !has_ucx() {
        return;
    }
    let Some(job) = bound(test_name!(), 8) else { return };
    job.hosts("2").run(|world| sequence(world, 9, 10));
}

#[test]
fn who_sleeps_is_woken_by_whoever_comes_last() {
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
fn who_calls_something_else_wakes_those_who_sleep() {
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
            // The others sleep for their crew's word.
            tokio::time::sleep(Duration::from_millis(100)).await;
            soon("the sum", team.sum_reduce(&word, &word)).await
        } else {
            soon("the sync", team.sync()).await
        };
        assert!(matches!(outcome, Err(Error::CollectiveMismatch { .. })), "{outcome:?}");
        world.barrier_all().await
    });
}

#[test]
fn who_moves_to_another_processor_is_still_counted() {
    let _limit = time_limit(60);
    let Some(job) = bound(test_name!(), 6) else { return };
    job.run(|world| async move {
        let homes = sched_getaffinity(None).expect("the processor of this PE");
        sequence(world.clone(), 11, 3).await?;
        // All to that of PE 0, and back.
        let home = world.alloc::<u64>(1).await?;
        home.at(0).store((0..CpuSet::MAX_CPU).find(|&cpu| homes.is_set(cpu)).expect("there is one") as u64);
        world.team().broadcast(&home, &home, 0).await?;
        let mut first = CpuSet::new();
        first.set(home.at(0).load() as usize);
        sched_setaffinity(None, &first).expect("the processor of PE 0");
        sequence(world.clone(), 12, 5).await?;
        sched_setaffinity(None, &homes).expect("its own");
        sequence(world, 13, 3).await
    });
}

#[test]
fn if_one_pe_is_not_bound_there_are_no_crews() {
    let _limit = time_limit(60);
    if !on_one_host("what leaders send each other is counted too") {
        return;
    }
    let Some(job) = bound(test_name!(), 4) else { return };
    // This comes before init in the PEs of the job, one of which may go wherever its launcher may.
    if std::env::vars().any(|(_, job)| job.contains("pe=1,")) {
        let both = sched_getaffinity(getppid()).expect("the processors of the launcher");
        sched_setaffinity(None, &both).expect("more processors than its own");
    }
    job.run(|world| async move {
        let team = world.team().split_strided(0, 1, 4).await?.expect("all are in it");
        let sent = messages(&world, &team, 50, || async { team.sync().await }).await?;
        assert_eq!(sent, 50 * 4 * 3, "everybody tells everybody");
        sequence(world, 14, 5).await
    });
}

#[test]
fn a_head_that_leaves_a_team_first_keeps_its_memory_until_its_crew_has_left_too() {
    let _limit = time_limit(60);
    let Some(job) = bound(test_name!(), 4) else { return };
    job.run(|world| async move {
        let me = world.my_pe();
        let process = world.alloc::<u64>(1).await?;
        process.at(0).store(u64::from(std::process::id()));
        world.team().broadcast(&process, &process, 2).await?;
        let stopped = process.at(0).load() as u32;
        let evens = world.team().split_strided(0, 2, 2).await?;
        let firsts = world.team().split_strided(0, 1, 2).await?;
        world.barrier_all().await?;
        for round in 0..5 {
            let what = format!("round {round}");
            let made = match &evens {
                Some(evens) => {
                    Some(soon(&what, evens.split_strided(0, 1, 2)).await?.expect("both are in it"))
                }
                None => None,
            };
            match (me, made) {
                (0, Some(team)) => {
                    // The last to come, so that the other one has been let go when this one has.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    soon(&what, team.destroy()).await?;
                }
                (_, Some(team)) => {
                    let mut leaves = team.destroy();
                    assert!(is_pending(&mut leaves).await);
                    kill(std::process::id(), libc::SIGSTOP);
                    soon(&what, leaves).await?;
                }
                (3, None) => {
                    tokio::time::sleep(Duration::from_millis(200)).await;
                    kill(stopped, libc::SIGCONT);
                }
                (_, None) => {}
            }
            if let Some(firsts) = &firsts {
                let other = soon(&what, firsts.split_strided(0, 1, 2)).await?.expect("both are in it");
                soon(&what, other.sync()).await?;
                soon(&what, other.destroy()).await?;
            }
            world.barrier_all().await?;
        }
        Ok(())
    });
}

#[test]
fn teams_of_crews_come_and_go() {
    let _limit = time_limit(60);
    let Some(job) = bound(test_name!(), 5) else { return };
    job.run(|world| async move {
        let (n, word) = (world.n_pes(), world.alloc_zeroed::<u64>(1).await?);
        for round in 0..1500 {
            let (start, stride) = if round % 2 == 0 { (0, 1) } else { (n - 1, -1) };
            let team = world.team().split_strided(start, stride, n - round % 3).await?;
            if let Some(team) = team {
                team.sync().await?;
                word.at(0).store(1);
                team.sum_reduce(&word, &word).await?;
                assert_eq!(word.at(0).load(), team.n_pes() as u64);
                team.destroy().await?;
            }
        }
        world.barrier_all().await
    });
}
