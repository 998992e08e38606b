//! Locks and tasks: several of one PE, ones that go away while they wait or hold, and the ends of
//! jobs.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use crate::common::{
    Job, PeRuntime, Random, cluster, is_pending, offloading, on_pes, settings, soon, test_name, time_limit,
};
use oxshmem::{ClusterOptions, Error, Result, prelude::*};
use tokio::task::JoinSet;

/// Tasks of every PE want the lock, through handles of their own, and some give up.
async fn crowd(world: World) -> Result<()> {
    let n = world.n_pes();
    let word = world.alloc_zeroed::<u64>(1).await?;
    let holder = world.alloc_zeroed::<u64>(1).await?;
    let mut tasks = JoinSet::new();
    for task in 0..6u64 {
        let (world, word, holder) = (world.clone(), word.clone(), holder.clone());
        tasks.spawn(async move {
            let (ctx, me) = (world.context(), world.my_pe() as u64 * 100 + task + 1);
            let mut random = Random::new(me);
            let mut got = 0;
            while got < 40 {
                let lock = Lock::new(ctx, word.at(0))?;
                let guard = match random.below(4) {
                    0 => {
                        let patience = Duration::from_micros(random.below(300));
                        tokio::time::timeout(patience, lock.lock()).await.ok().transpose()?
                    }
                    1 => lock.try_lock().await?,
                    2 => {
                        // Queued up and given up at once, or after a look.
                        let mut locking = lock.lock();
                        if random.below(2) == 0 && !is_pending(&mut locking).await {
                            got += 1;
                        }
                        None
                    }
                    _ => Some(lock.lock().await?),
                };
                let Some(guard) = guard else {
                    tokio::task::yield_now().await;
                    continue;
                };
                assert_eq!(ctx.swap(holder.at(0), me, 0).await?, 0, "two tasks hold the lock");
                if random.below(3) == 0 {
                    tokio::task::yield_now().await;
                }
                assert_eq!(ctx.swap(holder.at(0), 0, 0).await?, me);
                got += 1;
                match random.below(3) {
                    0 => guard.unlock().await?,
                    1 => drop(guard.unlock()),
                    _ => drop(guard),
                }
            }
            Ok::<_, Error>(())
        });
    }
    while let Some(task) = tasks.join_next().await {
        task.expect("no panic")?;
    }
    world.barrier_all().await?;
    // Tasks that went away have left nothing behind.
    let guard = soon("the lock", Lock::new(world.context(), word.at(0))?.lock()).await?;
    guard.unlock().await?;
    world.barrier_all().await?;
    assert_eq!(word.at(0).load(), 0, "{n} PEs");
    world.barrier_all().await
}

#[test]
fn tasks_of_all_pes_exclude_each_other_though_some_give_up() {
    let _limit = time_limit(120);
    on_pes(settings(), crowd);
    on_pes(offloading(), crowd);
}

#[test]
fn tasks_of_processes_exclude_each_other_though_some_give_up() {
    let _limit = time_limit(120);
    for runtime in [PeRuntime::CurrentThread, PeRuntime::MultiThread] {
        Job::new(test_name!(), 3).runtime(runtime).run(crowd);
    }
}

#[test]
fn tasks_of_one_pe_get_the_lock_in_the_order_of_their_calls() {
    let _limit = time_limit(60);
    cluster(2, settings(), |world| async move {
        let word = world.alloc_zeroed::<u64>(1).await?;
        let lock = Lock::new(world.context(), word.at(0))?;
        let guard = lock.lock().await?;
        let served = Arc::new(AtomicUsize::new(0));
        let mut tasks = JoinSet::new();
        for i in 0..20 {
            let (locking, served) = (lock.lock(), Arc::clone(&served));
            tasks.spawn(async move {
                let guard = locking.await?;
                assert_eq!(served.fetch_add(1, SeqCst), i);
                guard.unlock().await
            });
        }
        guard.unlock().await?;
        while let Some(task) = tasks.join_next().await {
            task.expect("no panic")?;
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_place_that_is_given_up_in_the_queue_holds_nobody_up() {
    let _limit = time_limit(60);
    cluster(5, settings(), |world| async move {
        let (me, n, ctx) = (world.my_pe(), world.n_pes(), world.context());
        let word = world.alloc_zeroed::<u64>(1).await?;
        let came = world.alloc_zeroed::<u64>(1).await?;
        let lock = Lock::new(ctx, word.at(0))?;
        for round in 0..50u64 {
            // One after the other, so that PEs 1 to 3 are in the queue between 0 and 4.
            came.at(0).wait_until(Cmp::Ge, round * n as u64 + me as u64).await?;
            let mut locking = lock.lock();
            for pe in 0..n {
                ctx.inc(came.at(0), pe).await?;
            }
            came.at(0).wait_until(Cmp::Ge, (round + 1) * n as u64).await?;
            match me {
                0 => {
                    let guard = locking.await?;
                    world.barrier_all().await?;
                    drop(guard);
                }
                4 => {
                    world.barrier_all().await?;
                    drop(soon("the lock", locking).await?);
                }
                _ => {
                    assert!(is_pending(&mut locking).await);
                    drop(locking);
                    world.barrier_all().await?;
                }
            }
            world.barrier_all().await?;
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn hundreds_of_places_given_up_in_a_row_need_no_stack_each() {
    let _limit = time_limit(120);
    let options = ClusterOptions { settings: settings(), threads: 1, ..ClusterOptions::default() };
    LocalCluster::run_with(600, options, |world| async move {
        let (me, n, ctx) = (world.my_pe(), world.n_pes(), world.context());
        let word = world.alloc_zeroed::<u64>(1).await?;
        let lock = Lock::new(ctx, word.at(0))?;
        let guard = if me == 0 { Some(lock.lock().await?) } else { None };
        world.barrier_all().await?;
        if me > 0 && me < n - 1 {
            let mut locking = lock.lock();
            assert!(is_pending(&mut locking).await);
        }
        world.barrier_all().await?;
        let last = if me == n - 1 { Some(lock.lock()) } else { None };
        world.barrier_all().await?;
        drop(guard);
        if let Some(last) = last {
            drop(soon("the lock", last).await?);
        }
        world.finalize().await
    })
    .unwrap();
}

/// A guard that a task drops when it is aborted frees the lock for other PEs.
#[test]
fn a_task_that_is_aborted_frees_the_lock() {
    let _limit = time_limit(60);
    cluster(2, settings(), |world| async move {
        let word = world.alloc_zeroed::<u64>(1).await?;
        let lock = Lock::new(world.context(), word.at(0))?;
        if world.my_pe() == 0 {
            let guard = lock.lock().await?;
            let task = tokio::spawn(async move {
                let _guard = guard;
                std::future::pending::<()>().await
            });
            world.barrier_all().await?;
            tokio::time::sleep(Duration::from_millis(20)).await;
            task.abort();
        } else {
            world.barrier_all().await?;
            soon("the lock", lock.lock()).await?.unlock().await?;
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_lock_whose_future_is_forgotten_stays_set_and_nothing_else_breaks() {
    let _limit = time_limit(60);
    cluster(2, settings(), |world| async move {
        let words = world.alloc_zeroed::<u64>(2).await?;
        let [forgotten, other] = [0, 1].map(|i| Lock::new(world.context(), words.at(i)));
        let (forgotten, other) = (forgotten?, other?);
        if world.my_pe() == 0 {
            std::mem::forget(forgotten.lock());
        }
        world.barrier_all().await?;
        let mut locking = forgotten.lock();
        assert!(is_pending(&mut locking).await);
        assert!(forgotten.try_lock().await?.is_none());
        drop(soon("another lock", other.lock()).await?);
        world.barrier_all().await
    })
    .unwrap();
}

#[test]
fn a_lock_is_of_no_use_after_finalize_and_its_guard_may_still_be_dropped() {
    let _limit = time_limit(60);
    LocalCluster::run(2, |world| async move {
        let words = world.alloc_zeroed::<u64>(2).await?;
        let lock = Lock::new(world.context(), words.at(0))?;
        let own = Lock::new(world.context(), words.at(1))?;
        let guard = if world.my_pe() == 0 { Some(lock.lock().await?) } else { None };
        world.barrier_all().await?;
        let waiting = if world.my_pe() == 1 { Some(lock.lock()) } else { None };
        world.finalize().await?;
        if let Some(waiting) = waiting {
            assert!(matches!(soon("the end", waiting).await, Err(Error::Finalized { .. })));
        }
        drop(guard);
        assert!(matches!(own.lock().await, Err(Error::Finalized { .. })));
        assert!(matches!(own.try_lock().await, Err(Error::Finalized { .. })));
        assert!(matches!(own.set().await, Err(Error::Finalized { .. })));
        assert!(matches!(own.clear().await, Err(Error::Finalized { .. })));
        assert!(matches!(Lock::new(world.context(), words.at(0)), Err(Error::Finalized { .. })));
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_task_that_waits_learns_that_the_job_has_ended() {
    let _limit = time_limit(60);
    let ended = cluster(3, settings(), |world| async move {
        let word = world.alloc_zeroed::<u64>(1).await?;
        let lock = Lock::new(world.context(), word.at(0))?;
        let guard = if world.my_pe() == 0 { Some(lock.lock().await?) } else { None };
        world.barrier_all().await?;
        match world.my_pe() {
            // One waits for another PE, one for another task of its own.
            0 | 1 => {
                let waiting = lock.lock();
                let error = soon("the end", waiting).await.map(drop).unwrap_err();
                assert!(matches!(error, Error::GlobalExit { pe: 2, status: 7 }), "{error}");
                drop(guard);
            }
            _ => {
                tokio::time::sleep(Duration::from_millis(20)).await;
                world.global_exit(7).await.unwrap_err();
            }
        }
        Ok(())
    });
    assert!(matches!(ended, Err(Error::GlobalExit { pe: 2, status: 7 })), "{ended:?}");
}

#[test]
fn a_lock_of_another_pe_or_job_is_refused() {
    let _limit = time_limit(60);
    let words = cluster(2, settings(), |world| async move { world.alloc_zeroed::<u64>(1).await }).unwrap();
    cluster(1, settings(), move |world| {
        let word = words[0].clone();
        async move {
            let error = Lock::new(world.context(), word.at(0)).unwrap_err();
            assert!(matches!(error, Error::ForeignMemory { .. }), "{error}");
            Ok(())
        }
    })
    .unwrap();
}

#[test]
fn a_lock_that_is_let_go_of_keeps_nothing_of_its_world() {
    let _limit = time_limit(60);
    let pes = cluster(2, settings(), |world| async move {
        let word = world.alloc_zeroed::<u64>(2).await?;
        let lock = Lock::new(world.context(), word.at(0))?;
        lock.lock().await?.unlock().await?;
        // Still waited for at the end, and still set.
        let _waiting = (lock.lock(), lock.lock());
        Lock::new(world.context(), word.at(1))?.test().await?;
        Ok(Arc::downgrade(world.pe()))
    })
    .unwrap();
    for pe in pes {
        assert_eq!(pe.strong_count(), 0);
    }
}

/// What PE `world` is shown to wait for; without the lock's place.
fn shown_waits(world: &World) -> Vec<String> {
    let seen = world.pe().board().seen();
    seen.iter()
        .map(|seen| seen.activity.to_string().split(", ").last().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn a_pe_is_shown_to_wait_for_a_lock_for_as_long_as_one_of_its_tasks_does() {
    let _limit = time_limit(60);
    let pes = cluster(2, settings(), |world| async move {
        let word = world.alloc_zeroed::<u64>(2).await?;
        let lock = Lock::new(world.context(), word.at(0))?;
        let turn = word.at(1);
        if world.my_pe() == 0 {
            let guard = lock.lock().await?;
            for _ in 0..2 {
                assert!(shown_waits(&world).is_empty());
                let mut again = [lock.lock(), lock.lock()];
                assert!(is_pending(&mut again[0]).await && is_pending(&mut again[1]).await);
                assert_eq!(shown_waits(&world), ["which this PE has)"], "for all of its tasks");
                let [first, second] = again;
                drop(first);
                assert_eq!(shown_waits(&world).len(), 1);
                drop(second);
                assert!(shown_waits(&world).is_empty(), "they have gone away");
            }
            world.context().p(turn, 1, 1).await?;
            turn.wait_until(Cmp::Eq, 1).await?;
            guard.unlock().await?;
            return Ok(());
        }
        turn.wait_until(Cmp::Eq, 1).await?;
        for _ in 0..2 {
            let mut waiting = lock.lock();
            assert!(is_pending(&mut waiting).await);
            // On another host the word of who is in the queue takes its time.
            while shown_waits(&world).is_empty() {
                assert!(is_pending(&mut waiting).await);
                tokio::task::yield_now().await;
            }
            assert_eq!(shown_waits(&world), ["behind PE 0)"]);
            drop(waiting);
            assert!(shown_waits(&world).is_empty(), "the PE keeps its place, but nobody waits");
        }
        let waiting = lock.lock();
        assert_eq!(shown_waits(&world).len(), 1);
        world.context().p(turn, 1, 0).await?;
        let guard = waiting.await?;
        assert!(shown_waits(&world).is_empty());
        guard.unlock().await
    });
    pes.unwrap();
}

#[test]
fn handles_guards_and_futures_go_to_every_thread() {
    fn is_all<T: Send + Sync + Unpin + 'static>() {}
    is_all::<Lock>();
    is_all::<LockGuard>();
    is_all::<oxshmem::Locking>();
    is_all::<oxshmem::TryLocking>();
}

/// A process that ends while it holds a lock takes the job down, and nobody waits for ever.
#[test]
fn processes_do_not_wait_for_a_lock_whose_holder_is_gone() {
    let _limit = time_limit(60);
    let ended = Job::new(test_name!(), 2).end(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("tokio");
        runtime.block_on(async {
            let world = oxshmem::init().await.expect("init");
            let word = world.alloc_zeroed::<u64>(1).await.expect("memory");
            let lock = Lock::new(world.context(), word.at(0)).expect("a lock");
            let guard = if world.my_pe() == 0 { Some(lock.lock().await.expect("the lock")) } else { None };
            world.barrier_all().await.expect("all");
            if guard.is_some() {
                std::process::exit(3);
            }
            let _ = lock.lock().await;
            tokio::time::sleep(Duration::from_secs(30)).await;
        });
    });
    assert_ne!(ended.status, 0);
}

/// Panics when it is woken.
struct Falls;

impl std::task::Wake for Falls {
    fn wake(self: Arc<Self>) {
        panic!("the task that waited is out of memory");
    }
}

#[test]
fn a_task_that_panics_when_it_gets_the_lock_keeps_it_from_no_other() {
    let _limit = time_limit(60);
    on_pes(settings(), |world| async move {
        let word = world.alloc_zeroed::<u64>(1).await?;
        let (lock, behind) = (Lock::new(world.context(), word.at(0))?, word.clone());
        for _ in 0..10 {
            let guard = soon("the lock", lock.lock()).await?;
            let waker = std::task::Waker::from(Arc::new(Falls));
            let mut falls = Box::pin(lock.lock());
            assert!(falls.as_mut().poll(&mut std::task::Context::from_waker(&waker)).is_pending());
            let next = tokio::spawn({
                let (world, word) = (world.clone(), behind.clone());
                async move {
                    let lock = Lock::new(world.context(), word.at(0))?;
                    soon("the lock behind who panics", lock.lock()).await?.unlock().await
                }
            });
            tokio::task::yield_now().await;
            // The thread that wakes it has the panic, on this PE or on another.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(guard)));
            while !falls
                .as_mut()
                .poll(&mut std::task::Context::from_waker(std::task::Waker::noop()))
                .is_ready()
            {
                tokio::task::yield_now().await;
            }
            drop(falls);
            next.await.expect("it does not panic")?;
        }
        Ok(())
    });
}
