//! Semaphores, locks, cells and notices between PEs: what tasks of all PEs do at random, and drop
//! meanwhile, near, far and over a modelled network.

mod common;

use std::time::Duration;

use common::{for_a_while, options, random};
use futures::{FutureExt, future::try_join_all};
use oxshmem::{
    ClusterOptions, Error, LocalCluster, Result, World,
    collections::{Notify, OnceCell, RwLock, Semaphore},
};
use proptest::prelude::*;

/// Waits until the permits of the semaphore are there again, which tasks have dropped.
async fn has(semaphore: &Semaphore, permits: usize) -> Result<()> {
    let back = async {
        while semaphore.available_permits().await? != permits {
            tokio::task::yield_now().await;
        }
        Ok(())
    };
    match tokio::time::timeout(Duration::from_secs(20), back).await {
        Ok(back) => back,
        Err(_) => panic!("{} permits of {permits}", semaphore.available_permits().await?),
    }
}

#[derive(Clone, Debug)]
struct Case {
    n: usize,
    hosts: usize,
    link: bool,
    permits: u32,
    tasks: usize,
    rounds: usize,
    seed: u64,
}

fn cases() -> impl Strategy<Value = Case> {
    let place = (1_usize..8, 1_usize..4, any::<bool>(), 1_u32..5, 1_usize..4);
    (place, 1_usize..20, any::<u64>()).prop_map(|((n, hosts, link, permits, tasks), rounds, seed)| Case {
        n,
        hosts: hosts.min(n),
        link,
        permits,
        tasks,
        rounds,
        seed,
    })
}

impl Case {
    /// A seed for each task of a PE.
    fn seeds(&self, world: &World) -> impl Iterator<Item = u64> {
        let (first, me) = (self.seed, world.my_pe() as u64);
        (0..self.tasks as u64).map(move |task| first ^ (me * 100 + task) << 40)
    }
}

/// Tasks get permits, by waiting, trying or giving up, and give them back in all ways. Those that
/// have some count themselves.
async fn permits(world: World, case: Case) -> Result<()> {
    let all = case.permits as usize;
    let semaphore = Semaphore::new(&world, all).await?;
    let inside = world.alloc_zeroed::<u64>(1).await?;
    let ctx = world.context();
    let task = async |mut seed: u64| {
        for _ in 0..case.rounds {
            let count = 1 + random(&mut seed) as u32 % case.permits;
            let permit = match random(&mut seed) % 3 {
                0 => Some(semaphore.acquire_many(count).await?),
                1 => semaphore.try_acquire_many(count).await?,
                _ => for_a_while(semaphore.acquire_many(count), random(&mut seed) % 6).await.transpose()?,
            };
            let Some(permit) = permit else { continue };
            assert_eq!(permit.num_permits(), count as usize);
            let count = u64::from(count);
            let before = ctx.fetch_add(inside.at(0), count, 0).await?;
            assert!(before + count <= all as u64, "{before} permits were in use, and {count} more");
            for _ in 0..random(&mut seed) % 3 {
                tokio::task::yield_now().await;
            }
            ctx.fetch_add(inside.at(0), count.wrapping_neg(), 0).await?;
            match random(&mut seed) % 4 {
                0 => drop(permit),
                1 => permit.release().await?,
                2 => drop(for_a_while(permit.release(), random(&mut seed) % 3).await),
                _ => {
                    permit.forget();
                    semaphore.add_permits(count as usize).await?;
                }
            }
        }
        Ok::<(), Error>(())
    };
    try_join_all(case.seeds(&world).map(task)).await?;
    world.barrier_all().await?;
    has(&semaphore, all).await?;
    world.finalize().await
}

/// Tasks read and write a value of several words, and give up at times.
async fn values(world: World, case: Case) -> Result<()> {
    let lock = RwLock::new(&world, [7_u64; 5]).await?;
    let task = async |mut seed: u64| {
        let mut written = 0;
        for _ in 0..case.rounds {
            let polls = random(&mut seed) % 6;
            if random(&mut seed).is_multiple_of(2) {
                let value = match random(&mut seed) % 3 {
                    0 => Some(lock.read().await?),
                    1 => lock.try_read().await?,
                    _ => for_a_while(lock.read(), polls).await.transpose()?,
                };
                let Some(value) = value else { continue };
                assert!(value.iter().all(|word| *word == value[0]), "{:?}", *value);
                if random(&mut seed).is_multiple_of(2) {
                    value.unlock().await?;
                }
                continue;
            }
            let value = match random(&mut seed) % 3 {
                0 => Some(lock.write().await?),
                1 => lock.try_write().await?,
                _ => for_a_while(lock.write(), polls).await.transpose()?,
            };
            let Some(mut value) = value else { continue };
            assert!(value.iter().all(|word| *word == value[0]), "{:?}", *value);
            for word in value.iter_mut() {
                *word += 1;
            }
            written += 1;
            match random(&mut seed) % 3 {
                0 => value.unlock().await?,
                1 => drop(for_a_while(value.unlock(), 1).await),
                _ => drop(value),
            }
        }
        Ok::<u64, Error>(written)
    };
    let written: u64 = try_join_all(case.seeds(&world).map(task)).await?.iter().sum();
    let total = world.alloc_zeroed::<u64>(1).await?;
    world.context().add(total.at(0), written, 0).await?;
    world.barrier_all().await?;
    // Behind all that were dropped.
    let value = lock.write().await?;
    assert_eq!(*value, [7 + world.context().g(total.at(0), 0).await?; 5]);
    value.unlock().await?;
    world.finalize().await
}

/// Tasks ask for a value, some of them give up, and one computes it.
async fn once(world: World, case: Case) -> Result<()> {
    let cell = OnceCell::<[u64; 3]>::new(&world).await?;
    let task = async |mut seed: u64| {
        let mine = [seed, !seed, seed];
        let compute = async |yields: u64| {
            for _ in 0..yields {
                tokio::task::yield_now().await;
            }
            mine
        };
        let (polls, yields) = (random(&mut seed) % 8, random(&mut seed) % 4);
        match random(&mut seed) % 4 {
            0 => drop(for_a_while(cell.get_or_init(|| compute(yields)), polls).await),
            1 => {
                let failed = cell.get_or_try_init(async || Err("it cannot be computed")).await?;
                assert!(failed.is_err() || cell.get().await?.is_some());
            }
            2 => {
                let first = cell.set(mine).await?;
                assert!(!first || cell.get().await? == Some(&mine));
            }
            _ => {}
        }
        Ok::<[u64; 3], Error>(*cell.get_or_init(|| compute(yields)).await?)
    };
    let seen = try_join_all(case.seeds(&world).map(task)).await?;
    let all = world.alloc_zeroed::<u64>(3 * world.n_pes()).await?;
    let mine = world.alloc_zeroed::<u64>(3).await?;
    mine.view().write(&seen[0]);
    world.team().fcollect(&all, &mine).await?;
    for other in all.view().to_vec().chunks(3) {
        assert!(seen.iter().all(|value| value == other), "{seen:?} here, {other:?} there");
    }
    world.finalize().await
}

/// Tasks put things onto a heap and notify; others are notified, or give up, and take them.
async fn notices(world: World, case: Case) -> Result<()> {
    let notify = Notify::new(&world).await?;
    // Things that are there, and those that were taken.
    let things = world.alloc_zeroed::<u64>(2).await?;
    let ctx = world.context();
    let all = (case.rounds * case.tasks * world.n_pes()) as u64;
    let puts = async |mut seed: u64| {
        for _ in 0..case.rounds {
            ctx.fetch_inc(things.at(0), 0).await?;
            match random(&mut seed) % 2 {
                0 => notify.notify_one().await?,
                // It goes on.
                _ => drop(for_a_while(notify.notify_one(), 0).await),
            }
        }
        Ok(())
    };
    let takes = async |mut seed: u64| {
        while ctx.fetch(things.at(1), 0).await? < all {
            let there = ctx.fetch(things.at(0), 0).await?;
            if there > 0 {
                if ctx.compare_swap(things.at(0), there, there - 1, 0).await? == there {
                    ctx.fetch_inc(things.at(1), 0).await?;
                }
            } else if random(&mut seed).is_multiple_of(2) {
                notify.notified().await?;
            } else {
                drop(for_a_while(notify.notified(), random(&mut seed) % 8).await);
            }
        }
        // The next one, which ends then too.
        notify.notify_one().await
    };
    let (put, taken): (Result<Vec<()>>, Result<Vec<()>>) = futures::join!(
        try_join_all(case.seeds(&world).map(puts)),
        try_join_all(case.seeds(&world).map(takes))
    );
    put.and(taken)?;
    world.barrier_all().await?;
    world.finalize().await
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_more_permits_are_in_use_than_there_are_and_all_come_back(case in cases()) {
        LocalCluster::run_with(case.n, options(case.hosts, case.link), |world| permits(world, case.clone())).unwrap();
    }

    #[test]
    fn one_task_writes_or_some_read(case in cases()) {
        LocalCluster::run_with(case.n, options(case.hosts, case.link), |world| values(world, case.clone())).unwrap();
    }

    #[test]
    fn all_pes_see_the_value_that_one_has_computed(case in cases()) {
        LocalCluster::run_with(case.n, options(case.hosts, case.link), |world| once(world, case.clone())).unwrap();
    }

    #[test]
    fn a_notice_comes_to_a_task_that_waits_whatever_others_drop(case in cases()) {
        LocalCluster::run_with(case.n, options(case.hosts, case.link), |world| notices(world, case.clone())).unwrap();
    }
}

#[test]
fn futures_may_be_dropped_at_each_of_their_polls() {
    for hosts in [1, 2] {
        let options = ClusterOptions::default().hosts(hosts);
        let played = LocalCluster::run_with(2, options, async |world| {
            let semaphore = Semaphore::new(&world, 2).await?;
            let lock = RwLock::new(&world, 0_u64).await?;
            let notify = Notify::new(&world).await?;
            if world.my_pe() == 1 {
                for polls in 0..30 {
                    drop(for_a_while(semaphore.acquire(), polls).await);
                    drop(for_a_while(semaphore.try_acquire_many(2), polls).await);
                    drop(for_a_while(lock.read(), polls).await);
                    drop(for_a_while(lock.write(), polls).await);
                    let all = semaphore.acquire_many(2).await?;
                    let value = lock.write().await?;
                    // These wait.
                    drop(for_a_while(semaphore.acquire(), polls).await);
                    drop(for_a_while(lock.read(), polls).await);
                    drop(for_a_while(lock.write(), polls).await);
                    drop((all, value));
                    has(&semaphore, 2).await?;
                    // It goes away before there is a notice, with it, or behind it.
                    let mut notified = Box::pin(for_a_while(notify.notified(), polls));
                    let before = (&mut notified).now_or_never();
                    notify.notify_one().await?;
                    let got = before.unwrap_or(notified.await);
                    if got.is_none() {
                        // Then it is for another.
                        let other = tokio::time::timeout(Duration::from_secs(20), notify.notified());
                        other.await.expect("the notice is there")?;
                    }
                    assert!(for_a_while(notify.notified(), 20).await.is_none());
                }
            }
            world.barrier_all().await?;
            world.finalize().await
        });
        played.unwrap();
    }
}

#[test]
fn requests_are_served_in_their_order_and_one_that_goes_away_leaves_its_place() {
    let played = LocalCluster::run_with(1, ClusterOptions::default(), async |world| {
        let semaphore = Semaphore::new(&world, 3).await?;
        let all = semaphore.acquire_many(3).await?;
        let mut many = Box::pin(semaphore.acquire_many(3));
        assert!((&mut many).now_or_never().is_none());
        let mut one = Box::pin(semaphore.acquire());
        assert!((&mut one).now_or_never().is_none());
        all.release().await?;
        // The permits are those of the first, which has not been polled since.
        assert!((&mut one).now_or_never().is_none());
        assert!(semaphore.try_acquire().await?.is_none());
        let many = many.await?;
        let mut two = Box::pin(semaphore.acquire_many(2));
        assert!((&mut two).now_or_never().is_none());
        drop(one);
        many.release().await?;
        let two = two.await?;
        let last = semaphore.try_acquire().await?.expect("the one that is left");
        assert_eq!(semaphore.available_permits().await?, 0);

        let mut waiting = Box::pin(semaphore.acquire());
        assert!((&mut waiting).now_or_never().is_none());
        semaphore.close().await?;
        assert!(matches!(waiting.await, Err(Error::Closed { what: "semaphore" })));
        assert!(matches!(semaphore.acquire_many(0).await, Err(Error::Closed { .. })));
        assert!(matches!(semaphore.try_acquire().await, Err(Error::Closed { .. })));
        assert!(semaphore.is_closed().await?);
        drop((two, last));
        world.finalize().await
    });
    played.unwrap();
}

#[test]
fn all_that_wait_are_notified_together_and_others_are_not() {
    let played = LocalCluster::run_with(1, ClusterOptions::default(), async |world| {
        let notify = Notify::new(&world).await?;
        // Nothing waits: it is not kept.
        notify.notify_waiters().await?;
        let mut waiting: Vec<_> = (0..5).map(|_| Box::pin(notify.notified())).collect();
        assert!(waiting.iter_mut().all(|notified| notified.now_or_never().is_none()));
        notify.notify_waiters().await?;
        let mut late = Box::pin(notify.notified());
        assert!((&mut late).now_or_never().is_none());
        try_join_all(waiting).await?;
        assert!((&mut late).now_or_never().is_none());
        // Two notices: one for it, and one that is kept, as are two more.
        for _ in 0..4 {
            notify.notify_one().await?;
        }
        late.await?;
        notify.notified().await?;
        assert!(for_a_while(notify.notified(), 20).await.is_none());
        world.finalize().await
    });
    played.unwrap();
}

#[test]
fn what_waits_for_a_lost_pe_fails() {
    for hosts in [1, 3] {
        let options = ClusterOptions::default().hosts(hosts).survive_loss();
        let ends = LocalCluster::run_each(3, options, async |world| {
            let semaphore = Semaphore::new(&world, 1).await?;
            let lock = RwLock::new(&world, 0_u64).await?;
            let notify = Notify::new(&world).await?;
            if world.my_pe() == 2 {
                // It has them when it is lost.
                let _both = (semaphore.acquire().await?, lock.write().await?);
                world.barrier_all().await?;
                tokio::time::sleep(Duration::from_millis(20)).await;
                LocalCluster::lose(&world, "it is a test")?;
                return world.finalize().await;
            }
            // It may end well on the one that is about to be lost alone.
            let _ = world.barrier_all().await;
            for _ in 0..2 {
                assert!(matches!(semaphore.acquire().await, Err(Error::PeLost { pe: 2, .. })));
                assert!(matches!(lock.read().await, Err(Error::PeLost { pe: 2, .. })));
                assert!(matches!(notify.notified().await, Err(Error::PeLost { pe: 2, .. })));
            }
            world.survivors().await?;
            // What need not wait goes on.
            notify.notify_one().await?;
            world.finalize().await
        });
        let ends = ends.unwrap();
        assert_eq!(ends.iter().filter(|end| end.is_ok()).count(), 2, "{hosts} hosts: {ends:?}");
    }
}
