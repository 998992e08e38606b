//! Random sequences of collectives on several teams at once, some of whose futures are dropped or
//! forgotten.

use std::{future::poll_fn, pin::Pin, sync::Arc, task::Poll};

use crate::common::{Job, PeRuntime, Random, cluster, settings, soon, test_name, time_limit};
use crate::model::{Arena, Call, FORCED, Kind, Made, Ty, Way, forced, forced_variables, teams};
use oxshmem::{Collective, Result, prelude::*, settings::Settings};
use proptest::{prelude::*, test_runner::TestRunner};

const WAYS: [Way; 6] = [Way::Await, Way::Later, Way::Later, Way::Drop, Way::PollAndDrop, Way::Forget];

fn roomy() -> Settings {
    let mut settings = settings();
    settings.symmetric_size = 64 << 20;
    settings
}

/// `rounds` rounds of random calls: the calls come from the seed, and what becomes of their futures
/// from the PE.
async fn sequence(world: World, seed: u64, rounds: usize, most: u64) -> Result<()> {
    let (mut calls, mut ways) = (Random::new(seed), Random::new(seed * 64 + world.my_pe() as u64 + 1));
    for _ in 0..4 {
        ways.next();
    }
    let teams = teams(&world).await?;
    let arena = Arena::new(&world, 8 << 20).await?;
    for _ in 0..rounds {
        let round = Made::some(&mut calls, &mut ways, [most, teams.len() as u64], 6000, &WAYS);
        arena.round(&world, &teams, &round).await?;
    }
    Ok(())
}

#[test]
fn sequences_come_to_what_the_model_says() {
    let _limit = time_limit(120);
    for n in 1..=17 {
        cluster(n, roomy(), |world| sequence(world, n as u64, if n < 10 { 12 } else { 4 }, 20))
            .unwrap_or_else(|e| panic!("{n} PEs: {e}"));
    }
}

#[test]
fn sequences_come_to_what_the_model_says_with_each_algorithm() {
    let _limit = time_limit(120);
    for name in FORCED {
        for n in [3, 7] {
            cluster(n, forced(name, roomy()), |world| sequence(world, n as u64, 10, 20))
                .unwrap_or_else(|e| panic!("{n} PEs, {name}: {e}"));
        }
    }
}

#[test]
fn sequences_of_processes_come_to_what_the_model_says() {
    let _limit = time_limit(120);
    for (n, name, spin) in
        [(2, "auto", 2000), (3, "slots", 2000), (4, "auto", 0), (4, "tree", 2000), (8, "auto", 0)]
    {
        let mut job =
            Job::new(test_name!(), n).env("SHMEM_SYMMETRIC_SIZE=64M").env(&format!("SHMEM_SPIN_NS={spin}"));
        for variable in forced_variables(name) {
            job = job.env(&variable);
        }
        job.run(|world| sequence(world, 5, 20, 20));
    }
}

#[test]
fn many_broadcasts_in_a_row_from_any_root_with_others_between() {
    let _limit = time_limit(60);
    for n in [2, 5, 9] {
        let done = cluster(n, roomy(), |world| async move {
            let all = [Some(world.team().clone())];
            let arena = Arena::new(&world, 4 << 20).await?;
            let (mut calls, mut ways) = (Random::new(9), Random::new(world.my_pe() as u64 + 9));
            for _ in 0..25 {
                // More than the stream has slots for, from one root or several.
                let root = calls.below(20) as usize;
                let round: Vec<Made> = (0..30)
                    .map(|i| {
                        let kind = [Kind::Broadcast, Kind::Sync, Kind::Sum]
                            [if calls.below(9) == 0 { i % 3 } else { 0 }];
                        let len = [1, 13, 14, 512][calls.below(4) as usize];
                        let root = if calls.below(3) == 0 { calls.below(20) as usize } else { root };
                        let call = Call { root, seed: calls.next(), ..Call::new(kind, Ty::U64, len) };
                        Made { team: 0, call, way: WAYS[ways.below(6) as usize] }
                    })
                    .collect();
                arena.round(&world, &all, &round).await?;
            }
            Ok(())
        });
        done.unwrap_or_else(|e| panic!("{n} PEs: {e}"));
    }
}

/// A call as proptest makes and shrinks it.
fn call() -> impl Strategy<Value = (usize, usize, usize, usize, usize, bool)> {
    (0..7usize, 0..Kind::ALL.len(), 0..Ty::ALL.len(), 0..700usize, 0..8usize, any::<bool>())
}

#[test]
fn any_sequence_comes_to_what_the_model_says() {
    let _limit = time_limit(120);
    let mut runner =
        TestRunner::new(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() });
    let property = runner.run(
        &(1..6usize, proptest::collection::vec(call(), 1..25), any::<u64>()),
        |(n, list, seed)| {
            let done = cluster(n, roomy(), |world| {
                let list = list.clone();
                async move {
                    let teams = teams(&world).await?;
                    let arena = Arena::new(&world, 8 << 20).await?;
                    let mut ways = Random::new(seed ^ world.my_pe() as u64);
                    let calls =
                        list.iter().enumerate().filter_map(|(i, &(team, kind, ty, len, root, in_place))| {
                            let (kind, ty) = (Kind::ALL[kind], Ty::ALL[ty]);
                            let call = Call {
                                root,
                                strides: [1 + root % 3, 1 + len % 2],
                                seed: i as u64,
                                ..Call::new(kind, ty, len)
                            };
                            let call = if in_place { call.in_place() } else { call };
                            let way = WAYS[ways.below(6) as usize];
                            ty.takes(kind).then_some(Made { team, call, way })
                        });
                    arena.round(&world, &teams, &calls.collect::<Vec<_>>()).await
                }
            });
            done.map(drop).map_err(|error| TestCaseError::fail(error.to_string()))
        },
    );
    property.unwrap();
}

#[test]
fn a_team_may_be_used_by_two_tasks_in_turn_and_two_teams_at_once() {
    let _limit = time_limit(60);
    let done = cluster(4, roomy(), |world| async move {
        let teams = [world.team().split_strided(3, -1, 4).await?, world.team().split_strided(0, 1, 4).await?];
        let sums = world.alloc::<u64>(2).await?;
        world.barrier_all().await?;
        let tasks = teams.into_iter().enumerate().map(|(i, team)| {
            let (team, sums) = (team.expect("all are in it"), sums.clone());
            tokio::spawn(async move {
                for round in 0..500 {
                    sums.at(i).store(round + team.my_pe() as u64);
                    team.sum_reduce(sums.at(i), sums.at(i)).await?;
                    assert_eq!(sums.at(i).load(), 4 * round + 6);
                }
                team.destroy().await
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await.expect("no panic")?;
        }
        Ok(())
    });
    done.unwrap();
}

/// Polls all until they are over, the last one first each time.
async fn backwards(mut futures: Vec<Collective<'_>>) -> Result<()> {
    poll_fn(|cx| {
        for i in (0..futures.len()).rev() {
            if let Poll::Ready(outcome) = Pin::new(&mut futures[i]).poll(cx) {
                outcome?;
                drop(futures.remove(i));
            }
        }
        if futures.is_empty() { Poll::Ready(Ok(())) } else { Poll::Pending }
    })
    .await
}

/// Random calls on all teams, in flight at once. Two tasks of each PE make them, of which each has
/// teams of its own, other ones each time.
async fn two_tasks(world: World, seed: u64, rounds: usize) -> Result<()> {
    let (me, n) = (world.my_pe(), world.n_pes());
    let mut calls = Random::new(seed);
    let shared = Arc::new((teams(&world).await?, Arena::new(&world, 4 << 20).await?));
    let (teams, arena) = &*shared;
    for round in 0..rounds {
        let call = |_| Made {
            team: calls.below(teams.len() as u64) as usize,
            call: Call::random(&mut calls, 6000),
            way: Way::Later,
        };
        let made: Arc<[Made]> = (0..24).map(call).collect();
        let split = calls.next();
        let ours = || {
            let slots = made.iter().zip(arena.slots(n, &made));
            slots.filter_map(|(made, slot)| Some((made.call, teams[made.team].as_ref()?, slot)))
        };
        for (call, team, slot) in ours() {
            call.prepare(team, slot);
        }
        world.barrier_all().await?;
        let tasks = [0, 1].map(|task| {
            let (shared, made) = (Arc::clone(&shared), Arc::clone(&made));
            let mut own = Random::new(seed ^ (round * 2 * n + 2 * me + task) as u64);
            tokio::spawn(async move {
                let (teams, arena) = &*shared;
                let mut futures = Vec::new();
                for (made, slot) in made.iter().zip(arena.slots(n, &made)) {
                    let Some(team) = &teams[made.team] else { continue };
                    if (split >> made.team) as usize % 2 == task {
                        futures.push(made.call.start(team, slot));
                        if own.below(4) == 0 {
                            tokio::task::yield_now().await;
                        }
                    }
                }
                soon(&format!("round {round} of task {task} on PE {me}"), backwards(futures)).await
            })
        });
        for task in tasks {
            task.await.expect("no panic")?;
        }
        for team in teams.iter().flatten() {
            soon("the sync after a round", team.sync()).await?;
        }
        for (call, team, slot) in ours() {
            call.check(team, slot);
        }
    }
    Ok(())
}

#[test]
fn calls_of_two_tasks_on_their_own_teams_come_to_what_the_model_says_in_any_order_of_polls() {
    let _limit = time_limit(60);
    for (name, seed) in FORCED.into_iter().zip(40..) {
        cluster(4, forced(name, roomy()), |world| two_tasks(world, seed, 15))
            .unwrap_or_else(|e| panic!("{name}: {e}"));
    }
    for runtime in [PeRuntime::CurrentThread, PeRuntime::MultiThread] {
        let job = Job::new(test_name!(), 4).runtime(runtime).env("SHMEM_SYMMETRIC_SIZE=64M");
        job.run(|world| two_tasks(world, 50, 30));
    }
}
