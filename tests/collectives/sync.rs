//! Barriers and syncs: nobody leaves before everybody has come, with each algorithm, for few and
//! many PEs.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};

use crate::common::{
    Job, Random, cluster, is_pending, pe_counts, poll_once, settings, soon, test_name, time_limit,
};
use oxshmem::{prelude::*, settings::SyncAlgorithm};

const ALGORITHMS: [SyncAlgorithm; 3] =
    [SyncAlgorithm::Auto, SyncAlgorithm::Dissemination, SyncAlgorithm::Counter];

/// Syncs in which PEs come at random times; the count of those that have come is kept outside.
fn nobody_leaves_early(n: usize, algorithm: SyncAlgorithm, rounds: u64) {
    let mut settings = settings();
    settings.symmetric_size = 1 << 16;
    settings.sync_algorithm = algorithm;
    let come = Arc::new(AtomicU64::new(0));
    let done = cluster(n, settings, |world| {
        let come = Arc::clone(&come);
        async move {
            let mut random = Random::new(world.my_pe() as u64 + 3);
            for round in 1..=rounds {
                match random.below(4) {
                    0 => tokio::task::yield_now().await,
                    1 => random.spin(3000),
                    2 if n < 20 => tokio::time::sleep(Duration::from_micros(random.below(200))).await,
                    _ => {}
                }
                come.fetch_add(1, SeqCst);
                if round % 2 == 0 {
                    world.sync_all().await?
                } else {
                    world.barrier_all().await?
                }
                let seen = come.load(SeqCst);
                assert!(seen >= round * n as u64, "round {round}: {seen} have come");
            }
            Ok(())
        }
    });
    done.unwrap_or_else(|e| panic!("{n} PEs, {algorithm}: {e}"));
}

#[test]
fn nobody_leaves_a_sync_before_everybody_has_come() {
    let _limit = time_limit(90);
    for algorithm in ALGORITHMS {
        for n in 1..=17 {
            nobody_leaves_early(n, algorithm, 60);
        }
    }
}

#[test]
fn nobody_leaves_a_sync_of_many_pes_before_everybody_has_come() {
    let _limit = time_limit(90);
    for algorithm in ALGORITHMS {
        nobody_leaves_early(64, algorithm, 20);
        nobody_leaves_early(256, algorithm, 4);
    }
}

#[test]
fn processes_sync_with_each_algorithm() {
    let _limit = time_limit(90);
    for algorithm in ["dissemination", "counter"] {
        Job::new(test_name!(), 4).env(&format!("SHMEM_SYNC_ALGORITHM={algorithm}")).run(|world| async move {
            let n = world.n_pes() as u64;
            let come = world.alloc_zeroed::<u64>(1).await?;
            let mut random = Random::new(world.my_pe() as u64 + 3);
            for round in 1..=150 {
                random.spin(10_000);
                world.context().inc(come.at(0), 0).await?;
                if round % 2 == 0 {
                    // Which a sync does not do for PEs of other hosts.
                    world.context().quiet().await?;
                    world.sync_all().await?
                } else {
                    world.barrier_all().await?
                }
                assert!(world.context().fetch(come.at(0), 0).await? >= round * n);
            }
            Ok(())
        });
    }
}

/// Each way to let go of a future.
#[derive(Clone, Copy, Debug)]
enum LetGo {
    Drop,
    Forget,
    PollOnceAndDrop,
    PollOnceAndForget,
}

const WAYS: [LetGo; 4] = [LetGo::Drop, LetGo::Forget, LetGo::PollOnceAndDrop, LetGo::PollOnceAndForget];

impl LetGo {
    fn of<F: Future + Unpin>(self, mut future: F) {
        if matches!(self, Self::PollOnceAndDrop | Self::PollOnceAndForget) {
            let _ = poll_once(&mut future);
        }
        if matches!(self, Self::Forget | Self::PollOnceAndForget) {
            std::mem::forget(future);
        }
    }
}

#[test]
fn a_sync_that_one_pe_lets_go_of_ends_for_all_others_without_its_help() {
    let _limit = time_limit(120);
    for algorithm in ALGORITHMS {
        for way in WAYS {
            for n in pe_counts() {
                for quitter in 0..n {
                    let mut settings = settings();
                    settings.sync_algorithm = algorithm;
                    let done = cluster(n, settings, move |world| async move {
                        let passed = world.alloc_zeroed::<u64>(1).await?;
                        let come = world.my_pe() == quitter;
                        if come {
                            way.of(world.barrier_all());
                            // From here on it waits for the others, which are in the barrier, and
                            // calls nothing else.
                            let all = passed.at(0).wait_until(Cmp::Eq, n as u64 - 1);
                            soon("the barrier of the others", all).await?;
                        } else {
                            world.barrier_all().await?;
                            world.context().inc(passed.at(0), quitter).await?;
                        }
                        world.barrier_all().await
                    });
                    done.unwrap_or_else(|e| panic!("{n} PEs, {algorithm}, PE {quitter}, {way:?}: {e}"));
                }
            }
        }
    }
}

#[test]
fn collectives_that_all_pes_let_go_of_hinder_none_that_follow() {
    let _limit = time_limit(90);
    for way in WAYS {
        for n in pe_counts() {
            let done = cluster(n, settings(), move |world| async move {
                for round in 0..20 {
                    way.of(world.sync_all());
                    way.of(world.barrier_all());
                    way.of(world.broadcast_bytes(Some(vec![round; 20_000]), round as usize % n));
                    way.of(Box::pin(world.alloc_zeroed::<u64>(1000)));
                    way.of(Box::pin(world.reclaim()));
                    let bytes = world.broadcast_bytes((world.my_pe() == 0).then(|| vec![round + 1; 10]), 0);
                    assert_eq!(soon("a broadcast", bytes).await?, vec![round + 1; 10]);
                    soon("a barrier", world.barrier_all()).await?;
                }
                let slice = soon("an allocation", world.alloc::<u64>(5)).await?;
                world.free(slice).await?;
                world.reclaim().await?;
                // A forgotten allocation is a forgotten handle, which keeps its memory.
                if !matches!(way, LetGo::Forget | LetGo::PollOnceAndForget) {
                    assert_eq!(world.heap_use().used, 0);
                }
                Ok(())
            });
            done.unwrap_or_else(|e| panic!("{n} PEs, {way:?}: {e}"));
        }
    }
}

#[test]
fn a_barrier_that_loses_a_select_goes_on() {
    let _limit = time_limit(60);
    for n in pe_counts() {
        let done = cluster(n, settings(), move |world| async move {
            let me = world.my_pe();
            for round in 0..10 {
                if me == round % n {
                    tokio::time::sleep(Duration::from_millis(3)).await;
                } else {
                    let early = tokio::time::timeout(Duration::from_millis(1), world.barrier_all()).await;
                    if let Ok(end) = early {
                        end?;
                    }
                }
                if me == round % n {
                    world.barrier_all().await?;
                }
                // A PE that gave up is in the next one all the same.
                soon("the next barrier", world.barrier_all()).await?;
            }
            Ok(())
        });
        done.unwrap();
    }
}

#[test]
fn several_syncs_of_a_pe_may_be_pending_at_once() {
    let _limit = time_limit(60);
    for n in pe_counts() {
        let done = cluster(n, settings(), move |world| async move {
            for _ in 0..10 {
                let mut syncs: Vec<_> = (0..5).map(|_| world.sync_all()).collect();
                if n > 1 && world.my_pe() == 0 {
                    let _ = is_pending(&mut syncs[4]).await;
                }
                // The last first.
                for sync in syncs.into_iter().rev() {
                    soon("a sync", sync).await?;
                }
            }
            Ok(())
        });
        done.unwrap();
    }
}
